/*
 * What the benchmarks share: quantiles of what was measured, and how often a
 * process was preempted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_BENCH_SPREAD_HPP
#define MTTL_BENCH_SPREAD_HPP

#include <algorithm>
#include <vector>

#include <sys/resource.h>

/** Measured values; at least one where it is asked. */
struct spread {
    std::vector<double> v;

    /** The quantile q, 0 to 1. */
    double at(double q) const
    {
        std::vector<double> s = v;
        std::sort(s.begin(), s.end());
        return s[static_cast<size_t>(q * static_cast<double>(s.size() - 1))];
    }
    double median() const { return at(.5); }
};

/** How often this process has been preempted. */
inline long preempted()
{
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_nivcsw;
}

#endif
