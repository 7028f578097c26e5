/*
 * Reduce_scatter in one WAN latency with any operator and any placement:
 * everyone sends each block straight to its owner, far ones first, who
 * combines them in the order of ranks.
 *
 *     all -> owner of block j        T = L + (P-1)/P M/B + P messages
 *
 * Contributions of a site cross one by one: P_s times the bytes that a
 * commuting operator needs there.
 *
 * Source: coll/wan; the linear reduce-scatter.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/runs.hpp"
#include "algo/shares.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** A buffer for each rank: more than these a schedule cannot have. */
constexpr int most_senders = 250;

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me(), mine = t.slot_of(me), all = t.size();
    const span_of own = block_at(mine);
    std::vector<buffer> from_rank;
    for (int r = 0; r < all; ++r)
        from_rank.push_back(b.scratch_blocks(static_cast<uint32_t>(mine), 1));
    for (int k = 1; k < all; ++k)
        if (const int from = t.rank_of((mine + all - k) % all); t.site_of(from) != t.site_of(me))
            b.recv(from_rank[static_cast<size_t>(from)], own, from, label::direct);
    for (int k = 1; k < all; ++k)
        if (const int to = t.rank_of((mine + k) % all); t.site_of(to) != t.site_of(me))
            b.send(buffer::in, block_at((mine + k) % all), to, label::direct);
    b.copy(buffer::in, from_rank[static_cast<size_t>(me)], own);

    const int first = t.first_slot(t.site_of(me)), near = t.rank_count(t.site_of(me)), at = mine - first;
    pace turns(4);
    for (int k = 1; k < near; ++k) {
        const int to = first + (at + k) % near, from = t.rank_of(first + (at + near - k) % near);
        b.after(turns.before());
        b.send(buffer::in, block_at(to), t.rank_of(to), label::direct);
        turns.turn(b.recv(from_rank[static_cast<size_t>(from)], own, from, label::direct));
    }
    fold_ranks(b, t, from_rank, buffer::out, own, p.grouping);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &)
{
    const int64_t all = t.size(), lanes = widest_node(t), bytes = static_cast<int64_t>(r.bytes);
    const int64_t consent = consent_ns(f, bytes / all, f.widest_ns());
    int64_t uplink = 0;
    for (int s = 0; s < t.site_count(); ++s)
        uplink = std::max(uplink, untold_uplink_ns(f, site_at(s), bytes, t.rank_count(site_at(s)) * (all - t.rank_count(site_at(s))), all));
    const int64_t wire = shared_wire(wire_part(f, bytes, lanes * (all - lanes), all), std::min<int64_t>(64, all - 1));
    // All that goes far at once, over as many connections (measured: allgather_direct.cpp).
    return f.widest_ns() + consent + pipeline(f, std::max(wire, uplink), 2 * lanes * (all - 1)) + 2 * (all - 1) * f.message_ns
           + combine_ns(f, bytes / all * (all - 1));
}

} // namespace

extern const algorithm reduce_scatter_direct;
const algorithm reduce_scatter_direct = {
    .collective = WAN_REDUCE_SCATTER,
    .name = "direct",
    .summary = "each block straight to its owner, who combines in rank order; for the shortest, and operators that do not commute",
    .source = "coll/wan; the linear reduce-scatter",
    .parameters = uses_nothing,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = all_senders,
    .serves = [](const topology &t, const request &) { return t.size() <= most_senders; },
    .buffers = [](const topology &, const plan &) { return 1u; },      // a block of everyone
    .cost = cost,
    .build = build,
    .any_counts = true,
    .crosses = crossing::by_rank,
    .groupings = computes(association::runs),
};

} // namespace wan
