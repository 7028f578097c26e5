/*
 * Broadcast, reference of the GridMPI paper: the root sends everything across
 * first, to one host of each other site; then van de Geijn inside each site.
 *
 *     root ======> leader of the other site      T = L + M/B + 2M/B
 *      |                |
 *      scatter + allgather in each site
 *
 * Source: Matsuda et al., section 3.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int leader = node_leader(t, me, p.root);
    if (leader == me) {
        const int home = static_cast<int>(value(t.site_of(p.root)));
        const int mine = static_cast<int>(value(t.site_of(me)));
        const int head = mine == home ? p.root : t.rank_at(site_at(mine), 0);
        if (me == p.root) {
            for (int s = 0; s < t.site_count(); ++s)
                if (s != home)
                    b.send(buffer::out, whole(), t.rank_at(site_at(s), 0), label::direct);
        } else if (me == head) {
            b.recv(buffer::out, whole(), p.root, label::direct);
        }
        const team others = site_team(t, site_at(mine), me, head, true);
        scatter_blocks(b, others, buffer::out, head);
        allgather(b, others, buffer::out);
    }
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const int64_t messages = widest_site(t) + t.site_count() + 2 * steps(widest_site(t));
    const int64_t wire = f.wire_ns(r.bytes * static_cast<uint64_t>(t.site_count()));
    return crossing_ns(f, f.farthest_ns(t.site_of(p.root)), c.segment_bytes) + pipeline(f, wire, c.segments, messages, lanes_down_ns(t, f, static_cast<int64_t>(r.bytes)))
           + 2 * f.wire_ns(static_cast<uint64_t>(c.segment_bytes)) + steps(widest_site(t)) * f.lan_ns;
}

} // namespace

extern const algorithm bcast_farfirst;
const algorithm bcast_farfirst = {
    .collective = WAN_BCAST,
    .name = "farfirst",
    .summary = "the root sends everything across first, then van de Geijn inside each site (reference)",
    .source = "GridMPI (Matsuda et al.), farfirst",
    .parameters = uses_segment,
    .automatic = false,
    .long_messages = true,
    .keeps_order = true,
    .senders = one_sender,
    .serves = [](const topology &t, const request &) { return few_enough(t, 2); },
    .cost = cost,
    .build = build,
};

} // namespace wan
