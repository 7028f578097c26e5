/*
 * What kind each collective of wan_core.h is.  The v-forms of MPI are the same
 * collective with block sizes of the caller's.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_COLLECTIVE_HPP
#define WAN_COLLECTIVE_HPP

#include "wan_core.h"

#include <array>
#include <cstdint>
#include <string>

namespace wan {

/** Which buffers hold one block of the vector, the own one. */
enum class single_block : uint8_t { none, in, out };

struct collective_kind {
    const char *name;
    bool root;              // it has one
    bool operation;         // it has an operator
    bool blocks;            // it is about a vector with a block for each rank (sched/schedule.hpp); then:
    single_block own = single_block::none;
    bool counts_shared = false;     // all ranks know all sizes, even where they vary
    bool apart = false;             // the caller's two buffers never hold the same block
};

inline constexpr std::array<collective_kind, WAN_COUNTED> collective_kinds{{
    {"bcast", true, false, false},
    {"allreduce", false, true, false},
    {"reduce", true, true, false},
    {"barrier", false, false, false},
    {"scan", false, true, false},
    {"exscan", false, true, false},
    {"allgather", false, false, true, single_block::in, true, false},
    {"gather", true, false, true, single_block::in, false, false},
    {"scatter", true, false, true, single_block::out, false, false},
    {"reduce_scatter", false, true, true, single_block::out, true, true},
    {"alltoall", false, false, true, single_block::none, false, true},
    {"neighbor", false, false, true, single_block::none, false, true},
}};

constexpr const collective_kind &kind_of(wan_collective_t c) { return collective_kinds[static_cast<size_t>(c)]; }

/** Whether no rank can have its result before all ranks have come. */
constexpr bool everyone_waits(wan_collective_t c)
{
    return !kind_of(c).root && c != WAN_SCAN && c != WAN_EXSCAN && c != WAN_NEIGHBOR;
}

/** The parameter that names its algorithm. */
inline std::string algorithm_knob(wan_collective_t c) { return std::string("coll_wan_") + kind_of(c).name + "_algorithm"; }

constexpr wan_collective_t collective_at(int i) { return static_cast<wan_collective_t>(i); }

} // namespace wan

#endif
