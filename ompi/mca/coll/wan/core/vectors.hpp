/*
 * From a call to what the core needs of it: the request that all ranks plan
 * alike, and where this rank's bytes lie.  Next: comm.hpp, exec/engine.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_VECTORS_HPP
#define WAN_VECTORS_HPP

#include "algo/registry.hpp"
#include "exec/engine.hpp"

namespace wan {

/** Equal on all ranks if the calls belong together. */
request request_of(const topology &t, const wan_call_t &call);

/** Buffers and sizes; the cut of the message is the plan's. */
struct bound_call {
    binding where;
    bool scattered = false;     // see build_schedule()
    uint64_t far_block_bytes = 0;   // of what this rank has for one of another site, where nobody else knows it
};
bound_call bind_call(const topology &t, int me, const wan_call_t &call);

} // namespace wan

#endif
