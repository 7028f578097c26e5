/*
 * Allreduce of short messages in one WAN latency (not two): reduce to a leader
 * along a postal tree in each site, leaders send their partial result to all
 * other leaders at once, each combines them in the order of sites, and a
 * postal tree brings the result down.
 *
 *     \|/                    \|/
 *      a  =================>  b        T = L + two shallow trees of a site
 *      a  <=================  b
 *     /|\                    /|\
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
    node_reduce(b, t, leader, buffer::out);
    if (leader == me) {
        const team own = site_team(t, site_at(mine), me);
        const auto parent = postal_tree(own.size(), p.lambda);
        tree_reduce(b, own, parent, buffer::out, label::tree_up);
        if (own.me == 0) {
            std::vector<buffer> from_site;
            for (int s = 0; s < t.site_count(); ++s)
                from_site.push_back(s == mine ? buffer::out : b.scratch());
            for (int k = 1; k < t.site_count(); ++k)
                b.send(buffer::out, whole(), t.rank_at(site_at((mine + k) % t.site_count()), 0), label::cross);
            for (int s = 0; s < t.site_count(); ++s)
                if (s != mine)
                    b.recv(from_site[static_cast<size_t>(s)], whole(), t.rank_at(site_at(s), 0), label::cross);
            fold(b, from_site, buffer::out, whole());
        }
        tree_broadcast(b, own, parent, buffer::out, label::tree_down);
    }
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    int64_t far = 0;
    for (int s = 0; s < t.site_count(); ++s)
        far = std::max(far, f.farthest_ns(site_at(s)));
    const int64_t gap = f.wire_ns(r.bytes) + f.message_ns;
    return far + 2 * tree_ns(f, r.bytes, widest_site(t), p.lambda) + (t.site_count() - 1) * gap
           + 2 * steps(widest_node(t)) * f.message_ns;
}

} // namespace

extern const algorithm allreduce_leaders;
const algorithm allreduce_leaders = {
    .collective = WAN_ALLREDUCE,
    .name = "leaders",
    .summary = "one WAN latency: tree to a leader in each site, leaders exchange, tree down; for short messages",
    .source = "coll/wan; MagPIe, postal model of Bar-Noy and Kipnis",
    .parameters = uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = false,
    .senders = one_sender,
    .serves = [](const topology &t, const request &r) { return r.commutative && t.site_count() <= 150; },
    .cost = cost,
    .build = build,
};

} // namespace wan
