// The collectives that can be measured: one table, two families.
//
// An operation owns its buffers and knows how to fill them for a round, how to
// call MPI, and how to check the result alone, without talking to other ranks.
// A new collective is one row of the table in wb_operation.cpp: which blocks a
// rank sends and must hold afterwards ("move"), or which ranks' contributions
// to which range it must hold ("reduce"), and the MPI call.
//
// `bytes` means, as in the tables of the project: the whole vector for bcast,
// reduce, allreduce, scan, exscan; the block of one rank (for alltoall, of one
// pair; for neighbor_alltoall, of one of the four neighbours in a torus) for the others.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef WB_OPERATION_HPP
#define WB_OPERATION_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace wb {

enum class bound_kind {
    nothing,    // empty: 0
    latency,    // barrier: L
    one_way,    // bcast, reduce, scan: L + M/B
    both_ways,  // allreduce: max(2(p-1)/p M/B, L + M/B)
    neighbors,  // max(4 m/B, L + m/B)
    blocks      // the others: max((p-1) m/B, L + (ranks of other sites) m/B)
};

struct request {
    std::int64_t bytes = 0;
    int root = 0;
    std::string type = "auto";  // double, int64, int32, xor; reductions only
    bool nonblocking = false;   // MPI_I... and MPI_Wait
    int slice_us = 0;           // instead of MPI_Wait: sleep so long, MPI_Test, and so on
    // Where the buffers lie (0: to send, 1: the result); default: in memory of the operation's own.
    std::byte *(*memory)(std::size_t bytes, int which) = nullptr;
};

// A call as MPI sees it.  Without elements (a barrier): no type.  In a broadcast `in` is `out`.
struct call_view {
    void *in = nullptr, *out = nullptr;
    std::size_t count = 0;      // elements of the vector, or of a block
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    std::size_t element_bytes = 1;
};

class operation {
public:
    virtual ~operation() = default;
    virtual void fill(std::uint64_t round) = 0;
    virtual void run(MPI_Comm comm) = 0;
    virtual bool verify(std::uint64_t round) = 0;   // result as it must be on this rank?
    virtual std::uint64_t digest() const = 0;       // of the result, to compare between settings
    virtual call_view view() const = 0;             // for those who carry it out themselves
};

struct operation_kind {
    const char *name;
    bound_kind bound;
    bool rooted;
    std::unique_ptr<operation> (*make)(const operation_kind &, const request &, int rank, int size);
    int variant;                // for the family's switch

    /** coll/wan's name: forms with counts, types or one block size count as the plain one. */
    std::string counter() const {
        std::string n = name;
        if (n == "reduce_scatter_block")
            return "reduce_scatter";
        if (n.starts_with("neighbor_"))
            return "neighbor";
        if (n.ends_with('v') || n.ends_with('w'))
            n.pop_back();
        return n;
    }
};

const std::vector<operation_kind> &operation_table();
/** "bcast", or "ibcast": then `nonblocking`. */
const operation_kind *operation_find(const std::string &name, bool *nonblocking = nullptr);

}  // namespace wb
#endif
