/*
 * Reduce, reference of the GridMPI paper: reduce to a leader in each site, who
 * sends everything to the root.
 *
 *     reduce-scatter, gather  ->  leader ====== root  <-  reduce-scatter, gather
 *
 *     T = L + M/B + M/B + M/B
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
    const site_id mine = t.site_of(me), home = t.site_of(p.root);
    const buffer acc = me == p.root ? buffer::out : b.scratch();
    b.copy(buffer::in, acc, whole());
    node_reduce(b, t, leader, acc);
    if (leader != me)
        return;
    const team own = site_team(t, mine, me, p.root);
    const int head = mine == home ? p.root : own.rank(0);
    reduce_scatter(b, own, acc);
    gather_blocks(b, own, acc, head);
    if (me == head && me != p.root)
        b.send(acc, whole(), p.root, label::cross);
    for (int s = 0; s < t.site_count() && me == p.root; ++s)
        if (site_at(s) != home) {
            const buffer x = b.scratch();
            b.recv(x, whole(), t.rank_at(site_at(s), 0), label::cross);
            b.reduce(x, buffer::out, whole());
        }
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const int64_t messages = widest_site(t) + 2 * steps(widest_site(t)) + t.site_count();
    // In a site every host a block, leaders those of others whole.
    const auto bytes = static_cast<int64_t>(r.bytes);
    const int64_t work = combine_ns(f, bytes / widest_site(t) * (widest_site(t) - 1) + bytes * (t.site_count() - 1)) + lanes_up_ns(t, f, bytes);
    return crossing_ns(f, f.farthest_ns(t.site_of(p.root)), c.segment_bytes) + pipeline(f, (2 + t.site_count() - 1) * f.wire_ns(r.bytes), c.segments, messages, work)
           + steps(widest_site(t)) * f.lan_ns;
}

} // namespace

extern const algorithm reduce_twotier;
const algorithm reduce_twotier = {
    .collective = WAN_REDUCE,
    .name = "twotier",
    .summary = "reduce to one leader a site, who sends everything to the root (reference)",
    .source = "GridMPI (Matsuda et al.), twotier",
    .parameters = uses_segment,
    .automatic = false,
    .long_messages = true,
    .keeps_order = false,
    .senders = one_sender,
    .serves = blocks_combine,
    .buffers = site_buffers,
    .cost = cost,
    .build = build,
};

} // namespace wan
