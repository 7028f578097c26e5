/*
 * Allreduce, reference of the GridMPI paper: reduce to a leader in each site,
 * leaders exchange everything, broadcast inside.
 *
 *     reduce-scatter, gather  ->  leader ====== leader  ->  scatter, allgather
 *
 *     T = L + M/B + 4M/B                     two sites; (C-1)M/B + 4M/B: C sites
 *
 * Source: Matsuda et al., section 3.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

void build(const topology &t, const plan &, builder &b)
{
    const int me = b.me();
    const int leader = node_leader(t, me);
    const int mine = static_cast<int>(value(t.site_of(me)));
    b.copy(buffer::in, buffer::out, whole());
    node_reduce(b, t, leader, buffer::out);
    if (leader == me) {
        const team own = site_team(t, site_at(mine), me);
        const int head = own.rank(0);
        reduce_scatter(b, own, buffer::out);
        gather_blocks(b, own, buffer::out, head);
        if (me == head) {
            std::vector<buffer> from_site;
            for (int s = 0; s < t.site_count(); ++s)
                from_site.push_back(s == mine ? buffer::out : b.scratch());
            for (int s = 0; s < t.site_count(); ++s)
                if (s != mine)
                    b.send(buffer::out, whole(), t.rank_at(site_at(s), 0), label::cross);
            for (int s = 0; s < t.site_count(); ++s)
                if (s != mine)
                    b.recv(from_site[static_cast<size_t>(s)], whole(), t.rank_at(site_at(s), 0), label::cross);
            fold(b, from_site, buffer::out, whole());
        }
        scatter_blocks(b, own, buffer::out, head);
        allgather(b, own, buffer::out);
    }
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const int64_t messages = 2 * widest_site(t) + 4 * steps(widest_site(t)) + t.site_count();
    const auto bytes = static_cast<int64_t>(r.bytes);
    const int64_t work = combine_ns(f, bytes / widest_site(t) * (widest_site(t) - 1) + bytes * (t.site_count() - 1)) + lanes_up_ns(t, f, bytes)
                         + lanes_down_ns(t, f, bytes);
    // A leader sends to each other site what it also gathers and scatters.
    return crossing_ns(f, f.widest_ns(), c.segment_bytes) + pipeline(f, (4 + t.site_count() - 1) * f.wire_ns(r.bytes), c.segments, messages, work)
           + 2 * steps(widest_site(t)) * f.lan_ns;
}

} // namespace

extern const algorithm allreduce_twotier;
const algorithm allreduce_twotier = {
    .collective = WAN_ALLREDUCE,
    .name = "twotier",
    .summary = "reduce to one leader a site, leaders exchange everything, broadcast inside (reference)",
    .source = "GridMPI (Matsuda et al.), twotier",
    .parameters = uses_segment,
    .automatic = false,
    .long_messages = true,
    .keeps_order = false,
    .senders = one_sender,
    .serves = blocks_combine,
    .buffers = exchange_buffers,
    .cost = cost,
    .build = build,
};

} // namespace wan
