/*
 * Who sends to the root, or hears from it, and in what order: what Gather and
 * Scatter share.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_TURNS_HPP
#define WAN_ALGO_TURNS_HPP

#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

/**
 * Ranks of a vector that one rank handles block by block, in at most four operations each: far
 * below the 65,535 of a schedule, as each is compared with all before it (a tenth of a second).
 */
constexpr int most_slots = 4096;

/** The ranks of a site but one: the first of every host, then the second. */
inline std::vector<int> ranks_by_lane(const topology &t, site_id s, int without = -1)
{
    std::vector<int> ranks;
    ranks.reserve(static_cast<size_t>(t.rank_count(s)));
    for (int lane = 0; lane < t.most_lanes(); ++lane)
        for (int node = 0; node < t.node_count(s); ++node)
            if (lane < t.lane_count(s, node))
                if (const int r = t.rank_at(s, node, lane); r != without)
                    ranks.push_back(r);
    return ranks;
}

/** My place where the ranks of my site (but one) take turns, `at_once` of them at a time. */
class turns {
public:
    turns(const topology &t, int me, int without, uint32_t at_once)
    {
        const auto ranks = ranks_by_lane(t, t.site_of(me), without);
        const auto i = static_cast<size_t>(std::find(ranks.begin(), ranks.end(), me) - ranks.begin());
        before_ = i >= at_once ? ranks[i - at_once] : -1;
        next_ = i + at_once < ranks.size() ? ranks[i + at_once] : -1;
    }

    /** After whom it is my turn, -1: at once. */
    int before() const { return before_; }
    /** Whose turn it is after mine, -1: nobody's. */
    int next() const { return next_; }

private:
    int before_, next_;
};

/** Blocks that pass the root's interface straight from or to all ranks. */
struct rooted_load {
    int64_t latency_ns, block_bytes;
    int64_t far, own;           // ranks: of other sites, of the root's without it
    int64_t far_ns, own_ns;     // their blocks through an interface

    rooted_load(const topology &t, const facts &f, const request &r)
    {
        const site_id home = t.site_of(r.root);
        latency_ns = f.farthest_ns(home);
        block_bytes = static_cast<int64_t>(r.bytes) / t.size();
        own = t.rank_count(home) - 1;
        far = t.size() - 1 - own;
        const int64_t on_host = t.lane_count(home, t.locate(r.root).node);
        // (The root's interface rests while the far ones are under way.)
        far_ns = f.wire_ns(static_cast<uint64_t>(std::max<int64_t>(0, block_bytes * far - f.burst_bytes)));
        own_ns = f.wire_ns(static_cast<uint64_t>(block_bytes * (own + 1 - on_host)));
    }

    /** Own site's blocks, `at_once` under way: the next begins when it is known that one has arrived. */
    int64_t own_site_ns(const facts &f, int64_t at_once) const
    {
        const int64_t rounds = (own + at_once - 1) / at_once;
        const int64_t waiting = rounds > 1 ? rounds * 2 * hop_ns(f, 0) : hop_ns(f, 0);
        // More at once share the interface unevenly, and a switch's queue may not hold what they send.
        return std::max(own_ns, rounds * f.wire_ns(static_cast<uint64_t>(block_bytes))) + waiting
               + own_ns / 64 * std::max<int64_t>(0, std::min(at_once, own) - 2);
    }

    /** All blocks, if other sites' take `others_ns` by themselves. */
    int64_t end_ns(const facts &f, int64_t others_ns, int64_t at_once) const
    {
        const int64_t site_ns = own_site_ns(f, at_once);
        return std::max({others_ns, site_ns, far_ns + own_ns + (far + 2 * own) * f.message_ns / 8}) + site_ns / 16 + f.message_ns;
    }
};

} // namespace wan

#endif
