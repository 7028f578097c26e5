/*
 * Allreduce of long messages with an operator that does not commute, for any
 * placement of ranks: rank j collects block j of everyone, combines in the
 * order of ranks, and sends the result to everyone.
 *
 *     all -> owner of block j -> all        T = 2L + 2M/B for each rank of a host
 *
 * It moves P/2 times the bytes across the WAN that a commuting operator needs:
 * contributions of a site cannot be combined before they cross, unless the
 * site's ranks are neighbours.
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
    const int me = b.me(), all = t.size();
    auto of = [all](int r) { return block(static_cast<uint32_t>(r), static_cast<uint32_t>(all)); };
    std::vector<buffer> from_rank;
    for (int r = 0; r < all; ++r)
        from_rank.push_back(b.scratch());
    b.copy(buffer::in, from_rank[static_cast<size_t>(me)], of(me));
    for (int k = 1; k < all; ++k) {
        const int to = (me + k) % all, from = (me + all - k) % all;
        b.send(buffer::in, of(to), to, label::direct);
        b.recv(from_rank[static_cast<size_t>(from)], of(me), from, label::direct);
    }
    fold_ranks(b, t, from_rank, buffer::out, of(me), p.grouping);
    for (int k = 1; k < all; ++k) {
        const int to = (me + k) % all, from = (me + all - k) % all;
        b.send(buffer::out, of(me), to, label::gather);
        b.recv(buffer::out, of(from), from, label::gather);
    }
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const int64_t all = t.size(), lanes = widest_node(t);
    // Every rank has all but its host's blocks to send, then its own one to all but its host.
    const int64_t wire = 2 * wire_part(f, static_cast<int64_t>(r.bytes), lanes * (all - lanes), all);
    return 2 * crossing_ns(f, f.widest_ns(), c.segment_bytes / all) + pipeline(f, wire, c.segments, 4 * all, combine_ns(f, static_cast<int64_t>(r.bytes) / all * (all - 1)));
}

} // namespace

extern const algorithm allreduce_ordered;
const algorithm allreduce_ordered = {
    .collective = WAN_ALLREDUCE,
    .name = "ordered",
    .summary = "each rank combines one block of everyone in rank order; for operators that do not commute",
    .source = "coll/wan",
    .parameters = uses_segment,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .only_ordered = true,
    .senders = all_senders,
    .serves = [](const topology &t, const request &) { return t.size() <= 128; },
    .buffers = [](const topology &t, const plan &) { return static_cast<uint32_t>(t.size()); },
    .cost = cost,
    .build = build,
    .crosses = crossing::by_rank,
    .groupings = computes(association::runs),
};

} // namespace wan
