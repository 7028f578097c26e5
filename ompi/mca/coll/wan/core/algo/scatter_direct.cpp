/*
 * Scatter straight from the root, whose interface is the limit: every byte
 * leaves it once, those for other sites first, so that the WAN is crossed
 * while the own site is served.
 *
 *     root  ====b1====b2==== ... =====>  T = max(L + M_far/B, M/B)
 *        \--a1----a2---- ...
 *
 * Sent all at once, messages to near ranks would overtake: their connections
 * hear from the receivers a hundred times as often.  So only `entries` blocks
 * for the own site are under way at a time, the next when one of them has
 * arrived: whatever the WAN leaves of the interface is theirs.
 * Source: Matsuda et al., Efficient Collective Algorithms for Grid
 * Environment, section 3 (Scatter); the order is coll/wan's.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/turns.hpp"

namespace wan {

namespace {

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const site_id home = t.site_of(p.root);
    if (me != p.root) {
        const int came = b.recv(buffer::out, block_at(t.slot_of(me)), p.root, label::direct);
        if (t.site_of(me) == home && turns(t, me, p.root, p.entries).next() >= 0) {
            b.after(came);
            b.signal(p.root, label::grant);
        }
        return;
    }
    b.reserve(static_cast<size_t>(t.size()) + 2);
    // To all other sites alike: the first rank of each, then the second.
    std::vector<std::vector<int>> far;
    size_t most = 0;
    for (int s = 0; s < t.site_count(); ++s)
        if (site_at(s) != home) {
            far.push_back(ranks_by_lane(t, site_at(s)));
            most = std::max(most, far.back().size());
        }
    for (size_t k = 0; k < most; ++k)
        for (const auto &ranks : far)
            if (k < ranks.size())
                b.send(buffer::in, block_at(t.slot_of(ranks[k])), ranks[k], label::direct);
    const auto own = ranks_by_lane(t, home, me);
    for (size_t k = 0; k < own.size(); ++k) {
        if (k >= p.entries)
            b.after(b.await(own[k - p.entries], label::grant));
        b.send(buffer::in, block_at(t.slot_of(own[k])), own[k], label::direct);
    }
    b.copy(buffer::in, buffer::out, block_at(t.slot_of(me)));
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const rooted_load load(t, f, r);
    // Own site's blocks under way take their share of the interface from the far ones.
    const int64_t shared = std::min(load.own_ns, load.far_ns * std::min<int64_t>(p.entries, load.own) / std::max<int64_t>(1, load.far));
    const int64_t far = crossing_ns(f, load.latency_ns, load.block_bytes) + std::max(load.far_ns + shared, load.far * f.message_ns);
    return load.end_ns(f, far, p.entries);
}

} // namespace

extern const algorithm scatter_direct;
const algorithm scatter_direct = {
    .collective = WAN_SCATTER,
    .name = "direct",
    .summary = "the root sends every rank its block, to other sites first; the own site's leave while the WAN is crossed",
    .source = "GridMPI (Matsuda et al.), Scatter; the order is ours",
    .parameters = uses_entries,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .senders = one_sender,
    .serves = [](const topology &t, const request &) { return t.size() <= most_slots; },
    .cost = cost,
    .build = build,
    .any_counts = true,
    .local_counts = true,
};

} // namespace wan
