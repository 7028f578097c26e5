/*
 * Runs of neighbouring ranks in one site: what may be combined there where the
 * order of ranks must be kept.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_RUNS_HPP
#define WAN_ALGO_RUNS_HPP

#include "topo/topology.hpp"

#include <algorithm>
#include <vector>

namespace wan {

/** Ranks first .. last, all in one site, and neither neighbour is. */
struct run {
    int first, last, site;
};

inline std::vector<run> runs_of(const topology &t)
{
    std::vector<run> all;
    for (int r = 0; r < t.size(); ++r) {
        const int s = static_cast<int>(value(t.site_of(r)));
        if (all.empty() || all.back().site != s)
            all.push_back({r, r, s});
        all.back().last = r;
    }
    return all;
}

inline int most_runs(const topology &t, const std::vector<run> &runs)
{
    std::vector<int> of_site(static_cast<size_t>(t.site_count()));
    for (const run &r : runs)
        ++of_site[static_cast<size_t>(r.site)];
    return *std::max_element(of_site.begin(), of_site.end());
}

} // namespace wan

#endif
