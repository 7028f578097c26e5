/*
 * Reduce of the shortest messages: every rank sends its contribution straight
 * to the root, which combines all of them in the order of ranks.
 *
 *     . . . .  . . . .
 *      \ \ \ \/ / / /        T = L + p receptions
 *           root
 *
 * Right for operators that do not commute, with any placement.  It puts as
 * many messages on the WAN as there are ranks in a site: only where n (links)
 * allows it.
 * Source: coll/wan; the linear reduce.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/runs.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

void build(const topology &t, const plan &p, builder &b)
{
    if (b.me() != p.root) {
        b.send(buffer::in, whole(), p.root, label::direct);
        return;
    }
    std::vector<buffer> from_rank;
    for (int r = 0; r < t.size(); ++r)
        if (r != p.root) {
            from_rank.push_back(b.scratch());
            b.recv(from_rank.back(), whole(), r, label::direct);
        } else if (r + 1 < t.size() && (p.grouping == association::any || t.site_of(r + 1) == t.site_of(r))) {
            from_rank.push_back(buffer::in);
        } else {        // the last one, or the last one of a run, is overwritten
            from_rank.push_back(b.scratch());
            b.copy(buffer::in, from_rank.back(), whole());
        }
    fold_ranks(b, t, from_rank, buffer::out, whole(), p.grouping);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const site_id home = t.site_of(p.root);
    return incast_ns(f, r.bytes, t.rank_count(home) - 1, t.size() - t.rank_count(home), f.farthest_ns(home))
           + combine_ns(f, static_cast<int64_t>(r.bytes) * (t.size() - 1));
}

} // namespace

extern const algorithm reduce_flat;
const algorithm reduce_flat = {
    .collective = WAN_REDUCE,
    .name = "flat",
    .summary = "every rank sends to the root, which combines in rank order; for the shortest messages",
    .source = "coll/wan; the linear reduce",
    .parameters = uses_nothing,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = all_senders,
    .serves = [](const topology &t, const request &) { return t.size() <= 240; },
    .buffers = [](const topology &t, const plan &) { return static_cast<uint32_t>(t.size()); },
    .cost = cost,
    .build = build,
    .crosses = crossing::by_rank,
    .groupings = computes(association::runs),
};

} // namespace wan
