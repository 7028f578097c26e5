/*
 * One collective of the benchmark (../bench/wb_operation.hpp: buffers, contents, the
 * call by MPI, whether the result is right), as coll/wan's core sees it.
 *
 * `bytes` means the whole vector for bcast, reduce, allreduce, scan and exscan,
 * the block of one rank (alltoall: of a pair) for the others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_OPERATION_HPP
#define SIM_OPERATION_HPP

#include "../bench/wb_operation.hpp"
#include "sim_port.hpp"

#include <cstdint>
#include <memory>

namespace sim {

class operation {
public:
    /** Throws std::bad_alloc. */
    operation(wan_collective_t collective, size_t bytes, int root, int me, int ranks, bool folded);

    /** Bytes of all buffers of all ranks. */
    static uint64_t footprint(wan_collective_t collective, uint64_t bytes, uint64_t ranks);

    void fill(uint64_t round) { measured_->fill(round); }
    bool verify(uint64_t round) const { return measured_->verify(round); }

    element elements() const;
    wan_call_t call() const;
    /** By the MPI library itself. */
    void by_mpi(MPI_Comm comm) const { measured_->run(comm); }

private:
    wan_collective_t collective_;
    int root_;
    std::unique_ptr<wb::operation> measured_;
};

} // namespace sim

#endif
