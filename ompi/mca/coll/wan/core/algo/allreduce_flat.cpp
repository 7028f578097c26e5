/*
 * Allreduce of the shortest messages: every rank sends its contribution to a
 * leader of each site at once, so that nothing is waited for before the WAN is
 * crossed; each leader combines all contributions in the order of ranks and
 * sends the result down a postal tree.
 *
 *     . . . .  ==\ /==  . . . .       T = L + p receptions + a shallow tree
 *      \|/ /      X      \ \|/
 *       a  <=====/ \=====> b
 *
 * Right for operators that do not commute, with any placement.  It puts as
 * many messages on the WAN as there are ranks in a site: only where n (links)
 * allows it.
 * Source: coll/wan.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/runs.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int mine = static_cast<int>(value(t.site_of(me)));
    const team own = site_team(t, site_at(mine), me);
    const bool collector = own.me == 0;
    for (int k = 1; k <= t.site_count(); ++k) {
        const int to = t.rank_at(site_at((mine + k) % t.site_count()), 0);
        if (to != me)
            b.send(buffer::in, whole(), to, label::direct);
    }
    if (collector) {
        std::vector<buffer> from_rank;
        for (int r = 0; r < t.size(); ++r)
            from_rank.push_back(b.scratch());
        for (int r = 0; r < t.size(); ++r)
            if (r == me)
                b.copy(buffer::in, from_rank[static_cast<size_t>(r)], whole());
            else
                b.recv(from_rank[static_cast<size_t>(r)], whole(), r, label::direct);
        fold_ranks(b, t, from_rank, buffer::out, whole(), p.grouping);
    }
    const int leader = node_leader(t, me);
    if (leader == me)
        tree_broadcast(b, own, postal_tree(own.size(), p.lambda), buffer::out, label::tree_down);
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    int64_t received = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t near = t.rank_count(site_at(s));
        received = std::max(received, incast_ns(f, r.bytes, near - 1, t.size() - near, f.farthest_ns(site_at(s))));
    }
    const auto bytes = static_cast<int64_t>(r.bytes);
    return received + combine_ns(f, bytes * (t.size() - 1)) + tree_down_ns(f, r.bytes, widest_site(t), p.lambda)
           + steps(widest_node(t)) * f.message_ns + lanes_down_ns(t, f, bytes);
}

} // namespace

extern const algorithm allreduce_flat;
const algorithm allreduce_flat = {
    .collective = WAN_ALLREDUCE,
    .name = "flat",
    .summary = "every rank sends to a leader of each site, which combines in rank order; for the shortest messages",
    .source = "coll/wan",
    .parameters = uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = all_senders,
    .serves = [](const topology &t, const request &) { return t.size() <= 128; },
    .buffers = [](const topology &t, const plan &) { return static_cast<uint32_t>(t.size()); },
    .cost = cost,
    .build = build,
    .crosses = crossing::by_rank,
    .groupings = computes(association::runs),
};

} // namespace wan
