/*
 * What all hosts of a site share on their way to other sites: uplinks, and
 * links between two sites, as far as their rates are known (a map's; nobody
 * measures them).  The algorithms' costs know of interfaces only.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_PLAN_SHARED_WAYS_HPP
#define WAN_PLAN_SHARED_WAYS_HPP

#include "algo/registry.hpp"

#include <algorithm>

namespace wan {

/**
 * Bytes that go from site a to site b at least, blocks being of one size; `order`: whether sites
 * pass a message on to each other.  Never more than an algorithm sends, but for rounding.
 */
uint64_t least_crossing(const topology &t, const request &r, site_order order, int a, int b);

/** Of one call; empty, and free, where no rate is known. */
class shared_ways {
public:
    shared_ways(const topology &t, const facts &f, const request &r);

    /**
     * A prediction for a plan whose message goes in `cuts` segments, from one that knows of
     * interfaces only: of the slowest shared way and the rest, the faster is hidden behind the
     * slower, but for the first segment's part of it where both take long.
     */
    int64_t with(const plan &p, int64_t predicted_ns, uint64_t cuts) const
    {
        const int64_t wire = busiest_ns_[p.order == site_order::chain] * copies(p);
        if (wire == 0)
            return predicted_ns;
        const int64_t far = std::min(far_ns_, predicted_ns);     // there may be a shorter way round
        const int64_t rest = std::max<int64_t>(1, predicted_ns - far);
        const auto [less, more] = std::minmax(wire, rest);
        const auto seen = static_cast<__int128>(less) * less / more / static_cast<int64_t>(std::max<uint64_t>(1, cuts));
        return std::max(predicted_ns, far + more + static_cast<int64_t>(seen));
    }

private:
    const topology &t_;
    int64_t far_ns_ = 0;
    int64_t busiest_ns_[2] = {0, 0};    // star, chain

    int64_t copies(const plan &p) const;
};

} // namespace wan

#endif
