/*
 * See sim_operation.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim_operation.hpp"

#include "collective.hpp"

namespace sim {

namespace {

/** Where a rank's second buffer begins in folded memory. */
constexpr size_t second_buffer = size_t{1} << 35;

std::byte *folded_memory(size_t bytes, int which)
{
    return memory(bytes, true, which ? second_buffer : 0).data();       // common memory stays
}

} // namespace

operation::operation(wan_collective_t collective, size_t bytes, int root, int me, int ranks, bool folded)
    : collective_(collective), root_(root)
{
    const wb::operation_kind *kind = wb::operation_find(wan_collective_name(collective));
    wb::request what{.bytes = static_cast<int64_t>(bytes), .root = root};
    if (wan::kind_of(collective).operation)
        what.type = bytes % 8 == 0 ? "int64" : "xor";
    if (folded)
        what.memory = folded_memory;
    measured_ = kind->make(*kind, what, me, ranks);
}

uint64_t operation::footprint(wan_collective_t collective, uint64_t bytes, uint64_t ranks)
{
    switch (collective) {
    case WAN_ALLTOALL:
        return 2 * bytes * ranks * ranks;
    case WAN_ALLGATHER:
    case WAN_REDUCE_SCATTER:
        return bytes * ranks * ranks;
    default:
        return 2 * bytes * ranks;
    }
}

element operation::elements() const
{
    const wb::call_view v = measured_->view();
    return {v.type == MPI_DATATYPE_NULL ? MPI_BYTE : v.type, v.op, v.element_bytes};
}

wan_call_t operation::call() const
{
    const wb::call_view v = measured_->view();
    static std::byte nothing;       // a barrier's
    wan_call_t c{};
    c.collective = collective_;
    c.root = root_;
    c.count = collective_ == WAN_BARRIER ? 1 : v.count;
    c.element_bytes = v.element_bytes;
    c.extent = static_cast<ptrdiff_t>(v.element_bytes);
    c.in = collective_ == WAN_BARRIER ? &nothing : v.in;
    c.out = collective_ == WAN_BARRIER ? &nothing : v.out;
    c.commutative = true;
    c.own_count = v.count;
    return c;
}

} // namespace sim
