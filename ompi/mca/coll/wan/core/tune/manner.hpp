/*
 * How calls of one class are served, whatever their exact size: what of a plan
 * is the same for all of them.  Segments, windows and what follows from the
 * size are left to the planner.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TUNE_MANNER_HPP
#define WAN_TUNE_MANNER_HPP

#include "plan/plan.hpp"

#include <string>

namespace wan {

struct manner {
    const algorithm *algo = nullptr;    // nullptr: Open MPI's own module serves
    uint32_t links = 1, entries = 1, pieces = 1;
    site_order order = site_order::star;
    inner_steps inner = inner_steps::circulant;

    friend bool operator==(const manner &, const manner &) = default;
};

manner manner_of(const plan &p);

/** "vandegeijn links 8 order star inner ring entries 1 pieces 1", "open_mpi". */
std::string print(const manner &m);

} // namespace wan

#endif
