/*
 * Allreduce of short messages in one WAN latency (not two): reduce to a leader
 * along a postal tree in each site; leaders send their site's part to some
 * hosts of every site at once (`entries`: 1 is the leader alone), each of
 * which combines the parts of all sites in their order and passes the result
 * down its share of a postal tree.
 *
 *     \|/                    \|/
 *      a  =================>  b        T = L + two shallow trees of a site,
 *      a  <=================  b            the second the shallower the more
 *     /|\                    /|\           hosts combine
 *
 * Source: MagPIe's one-latency allreduce; postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int leader = node_leader(t, me);
    const int mine = static_cast<int>(value(t.site_of(me)));
    b.copy(buffer::in, buffer::out, whole());
    node_reduce(b, t, leader, buffer::out, p.grouping);
    if (leader == me) {
        const team own = site_team(t, site_at(mine), me);
        tree_reduce(b, own, upward_tree(own.size(), p), buffer::out, label::tree_up);
        const auto down = entry_tree(own.size(), p);
        if (own.me == 0)
            each_entry(t, p, me, [&](int to) { b.send(buffer::out, whole(), to, label::cross); });
        if (down[static_cast<size_t>(own.me)] < 0) {
            std::vector<buffer> from_site;
            for (int s = 0; s < t.site_count(); ++s)
                from_site.push_back(s == mine && own.me == 0 ? buffer::out : b.scratch());
            for (int s = 0; s < t.site_count(); ++s)
                if (const int from = t.rank_at(site_at(s), 0); from != me)
                    b.recv(from_site[static_cast<size_t>(s)], whole(), from, label::cross);
            fold(b, from_site, buffer::out, whole());
        }
        tree_broadcast(b, own, down, buffer::out, label::tree_down);
    }
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    return leaders_ns(t, f, r.bytes, p);
}

} // namespace

extern const algorithm allreduce_leaders;
const algorithm allreduce_leaders = {
    .collective = WAN_ALLREDUCE,
    .name = "leaders",
    .summary = "one WAN latency: tree to a leader in each site, leaders exchange, tree down; for short messages",
    .source = "coll/wan; MagPIe, postal model of Bar-Noy and Kipnis",
    .parameters = uses_entries | uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = false,
    .senders = one_sender,
    .serves = [](const topology &t, const request &r) { return r.commutative && t.site_count() <= 150; },
    .buffers = [](const topology &t, const plan &) { return tree_buffers(widest_site(t)) + tree_buffers(widest_node(t)) + static_cast<uint32_t>(t.site_count()); },
    .cost = cost,
    .build = build,
    .crosses = crossing::by_entries,
    .groupings = computes(association::tree),
};

} // namespace wan
