/*
 * How calls of one class are served, whatever their exact size: by adaptive trees, or an algorithm,
 * and what of a plan's parameters is the same for all of them.  Windows and what else
 * follows from the size are left to the planner; segments may be so many times as many as it would make.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TUNE_MANNER_HPP
#define WAN_TUNE_MANNER_HPP

#include "plan/plan.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace wan {

/** Parameters of 0, or without a value, are the planner's. */
struct manner {
    const algorithm *algo = nullptr;    // nullptr: Open MPI's own module serves, or
    bool along_trees = false;           // adaptive ones do
    uint32_t links = 0, entries = 0, pieces = 0;
    std::optional<site_order> order{};
    std::optional<inner_steps> inner{};
    int cuts = 0;                       // segments: 2^cuts times as many as the planner's

    /** Not Open MPI's own module. */
    bool ours() const { return algo || along_trees; }

    friend bool operator==(const manner &, const manner &) = default;
};

/** With the parameters that its algorithm looks at, and the planner's segments. */
manner manner_of(const plan &p);
/** But for segments. */
bool fits(const manner &m, const plan &p);
/** How many of its parameters, but for segments, a plan of its algorithm has. */
int agreed(const manner &m, const plan &p);

/** "vandegeijn links 8 order star inner ring cuts 4", "open_mpi", "adaptive". */
std::string print(const manner &m);
/** For an algorithm of a collective, in any order of parameters; nullopt, with what is wrong in `fault`. */
std::optional<manner> parse_manner(wan_collective_t c, std::string_view text, std::string &fault);

} // namespace wan

#endif
