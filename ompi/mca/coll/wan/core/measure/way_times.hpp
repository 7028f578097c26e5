/*
 * Times of ways as hosts tell them to a coordinator (site_finder.hpp), in ns: below 0, what a way takes at most; and the steps in them
 * from near ways to far ones.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_WAY_TIMES_HPP
#define WAN_MEASURE_WAY_TIMES_HPP

#include "measure/site_finder.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace wan {

/** A step from near to far times. */
struct gap {
    double wide;            // far is so many times near
    int64_t limit_ns;       // between them
};

/** How long a way takes at most. */
inline int64_t at_most(int64_t ns) { return std::abs(ns); }
inline bool only_at_most(int64_t ns) { return ns < 0; }

/** What two times tell of one way: the shorter one, which tells if one of them does. */
inline int64_t both_tell(int64_t a, int64_t b)
{
    const int64_t least = std::min(at_most(a), at_most(b));
    return only_at_most(a) && only_at_most(b) ? -least : least;
}

/**
 * Steps from the times below, but for the longest of those, one of so many: what is near can seem far for a while,
 * never the other way round.  From the shortest times on.
 */
inline std::vector<gap> gaps_in(std::vector<int64_t> &times, int64_t least_far_ns, double least_gap, size_t late = site_finder::late_one_in)
{
    std::sort(times.begin(), times.end(), [](int64_t a, int64_t b) { return at_most(a) < at_most(b); });
    std::vector<gap> gaps;
    bool on = false;        // the same step still, looked at from further above
    for (size_t i = 1; i < times.size(); ++i) {
        if (only_at_most(times[i]))
            continue;
        const auto far = static_cast<double>(times[i]), near = static_cast<double>(at_most(times[(i - 1) - (i - 1) / late]));
        const bool wide = times[i] >= least_far_ns && near <= static_cast<double>(site_finder::most_near_ns) && far / near >= least_gap;
        if (wide && !std::exchange(on, true))
            gaps.push_back({});
        on = wide;
        if (wide && far / near >= gaps.back().wide)
            gaps.back() = {far / near, std::min(static_cast<int64_t>(std::sqrt(far * near)), site_finder::most_near_ns)};
    }
    return gaps;
}

} // namespace wan

#endif
