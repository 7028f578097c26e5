/*
 * What adaptive trees can be told, and where the defaults are from.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_OPTIONS_HPP
#define WAN_ADAPTIVE_OPTIONS_HPP

#include <cstdint>

namespace wan {

struct adaptive_options {
    /** Phoenix's rules alone: random peers, no hints, parents by their two conditions. */
    bool phoenix = false;
    /** Random peers that a process measures (Phoenix); by hints up to three times as many. */
    int peers = 10;
    /** Measures a peer's bandwidth (Phoenix). */
    uint64_t bulk_bytes = 128 << 10;
    /** Of a message, from which the bandwidth tree carries it (Phoenix). */
    uint64_t threshold_bytes = 256 << 10;
    /** 0: the longest known time to a root. */
    int64_t reduce_timeout_ns = 0;
    /** 0: so that filling a chain of all processes adds 4%. */
    uint64_t segment_bytes = 0;
    uint64_t seed = 1;
};

/** Of the payload of a message: below the eager limit of Open MPI's btl/tcp, 64 KB, with its header. */
constexpr uint64_t adaptive_most_payload = 60 << 10;
/** Of a communicator: a set of ranks at its worst and the payload fit into one message. */
constexpr int adaptive_most_ranks = 16'384;
/** Of less, messages cost more than the pipeline gains (lab, 2x16: 1 MB in 278 ms; with 4 KB 350). */
constexpr uint64_t adaptive_least_segment = 8 << 10;

} // namespace wan

#endif
