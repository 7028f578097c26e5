/*
 * Allgather of the shortest blocks in one WAN latency and few messages: up a
 * tree to a leader in each site; leaders send their site's blocks as one
 * message to some hosts of every site (`entries`: 1 is the leader alone), each
 * of which passes all blocks down its share of a tree.
 *
 *     \|/                    \|/
 *      a  =================>  b        T = L + two shallow trees of a site,
 *      a  <=================  b            the second with all M bytes a hop
 *     /|\                    /|\
 *
 * Two messages a host, where an exchange among hosts takes two a step: what
 * counts where processors are slow or shared.
 * Source: MagPIe's one-latency allreduce; postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/bundles.hpp"

namespace wan {

namespace {

span_of site_blocks(const topology &t, int s)
{
    const auto first = static_cast<uint32_t>(t.first_slot(site_at(s)));
    return blocks_of(first, first + static_cast<uint32_t>(t.rank_count(site_at(s))));
}

/** The whole vector from host to host, and to the other ranks of each. */
void pass_down(builder &b, const topology &t, const team &own, const std::vector<int> &parent, buffer data)
{
    const span_of all = blocks_of(0, static_cast<uint32_t>(t.size()));
    const auto at = t.locate(b.me());
    if (at.lane == 0) {
        if (const int up = parent[static_cast<size_t>(own.me)]; up >= 0)
            b.recv(data, all, own.rank(static_cast<uint32_t>(up)), label::tree_down);
        for (uint32_t i = 0; i < parent.size(); ++i)
            if (parent[i] == own.me)
                b.send(data, all, own.rank(i), label::tree_down);
    }
    const auto lanes = range_tree(static_cast<uint32_t>(t.lane_count(at.site, at.node)), 0);
    if (at.lane > 0)
        b.recv(data, all, t.rank_at(at.site, at.node, lanes[static_cast<size_t>(at.lane)]), label::node_out);
    for (size_t l = lanes.size(); l-- > 1;)
        if (lanes[l] == at.lane)
            b.send(data, all, t.rank_at(at.site, at.node, static_cast<int>(l)), label::node_out);
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int mine = static_cast<int>(value(t.site_of(me)));
    const buffer data = b.scattered() ? b.scratch_blocks(0, static_cast<uint32_t>(t.size())) : buffer::out;
    b.copy(buffer::in, data, block_at(t.slot_of(me)));

    const tree_place up(t, run_of(t, site_at(mine), 0, 1), p.lambda, me);
    for (size_t k = up.children.size(); k-- > 0;)
        b.recv(data, up.children[k].all(), up.children[k].rank, label::tree_up);
    if (up.parent >= 0)
        b.send(data, up.mine.all(), up.parent, label::tree_up);
    else
        each_entry(t, p, me, [&](int to) { b.send(data, site_blocks(t, mine), to, label::cross); });

    const team own = site_team(t, site_at(mine), me);
    const auto parent = entry_tree(own.size(), p);
    if (own.has_me() && parent[static_cast<size_t>(own.me)] < 0)
        for (int s = 0; s < t.site_count(); ++s)
            if (const int from = t.rank_at(site_at(s), 0); from != me)
                b.recv(data, site_blocks(t, s), from, label::cross);
    pass_down(b, t, own, parent, data);
    for (uint32_t s = 0; data != buffer::out && s < static_cast<uint32_t>(t.size()); ++s)
        b.copy(data, buffer::out, blocks_of(s, s + 1));
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const int64_t hosts = widest_site(t), entries = std::min<int64_t>(p.entries, hosts);
    const uint64_t site = r.bytes / static_cast<uint64_t>(t.size()) * static_cast<uint64_t>(most_ranks(t));
    // The leader sends its site's blocks to every entry of the others, of whom each then has all.
    const int64_t sending = std::max<int64_t>(sends_ns(f, site, (t.site_count() - 1) * entries), f.wire_ns(r.bytes));
    return crossing_ns(f, f.widest_ns(), static_cast<int64_t>(site)) + tree_ns(f, 0, hosts, p.lambda) + f.wire_ns(site) + sending
           + tree_down_ns(f, r.bytes, (hosts + entries - 1) / entries, p.lambda) + 2 * steps(widest_node(t)) * f.message_ns
           + (entries > 1 ? sends_ns(f, site, entries) : 0) + lanes_down_ns(t, f, static_cast<int64_t>(r.bytes)) + sorted_ns(t, f, static_cast<int64_t>(r.bytes));
}

} // namespace

extern const algorithm allgather_leaders;
const algorithm allgather_leaders = {
    .collective = WAN_ALLGATHER,
    .name = "leaders",
    .summary = "one WAN latency: tree to a leader in each site, leaders exchange, tree down; for the shortest blocks",
    .source = "coll/wan; MagPIe, postal model of Bar-Noy and Kipnis",
    .parameters = uses_entries | uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = one_sender,
    .serves = [](const topology &t, const request &) { return t.size() <= most_slots; },
    .cost = cost,
    .build = build,
    .any_counts = true,
    .crosses = crossing::by_entries,
};

} // namespace wan
