/*
 * One collective with its buffers: known contents to send, the call as MPI's and
 * as coll/wan's core sees it, and whether the result is right, which every rank
 * tells for itself (contents as in the benchmark: ../bench/wb_pattern.hpp).
 *
 * `bytes` means the whole vector for bcast, reduce, allreduce, scan and exscan,
 * the block of one rank (alltoall: of a pair) for the others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_OPERATION_HPP
#define SIM_OPERATION_HPP

#include "sim_port.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

class operation {
public:
    /** Throws std::bad_alloc. */
    operation(wan_collective_t collective, size_t bytes, int root, int me, int ranks, bool folded);

    /** Bytes of all buffers of all ranks. */
    static uint64_t footprint(wan_collective_t collective, uint64_t bytes, uint64_t ranks);

    void fill(uint64_t round);
    bool verify(uint64_t round) const;

    const element &elements() const { return element_; }
    wan_call_t call() const;
    /** By the MPI library itself; MPI's error code. */
    int by_mpi(MPI_Comm comm) const;

private:
    wan_collective_t collective_;
    int root_, me_, ranks_;
    bool reduces_;
    element element_;
    size_t count_ = 0;                                      // elements of the vector or of a block
    std::vector<std::pair<int, int>> sends_, expects_;      // blocks that move: (from, to)
    size_t given_ = 0, held_ = 0, first_ = 0;               // reduced: elements of in, of the result, where in the vector
    int from_ = 0, until_ = 0;                              // whose contributions are in it
    memory in_, out_;
    std::vector<int> counts_;
};

} // namespace sim

#endif
