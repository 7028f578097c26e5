/*
 * See sim_operation.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim_operation.hpp"

#include "../bench/wb_pattern.hpp"
#include "collective.hpp"

namespace sim {

namespace {

/** Where a rank's second buffer begins in folded memory. */
constexpr size_t second_buffer = size_t{1} << 35;

template <typename T> T value_at(int64_t weight, int32_t g)
{
    if constexpr (sizeof(T) == 1)
        return static_cast<T>(weight & g);
    else
        return static_cast<T>(weight) * static_cast<T>(g);
}

template <typename T> void values_fill(std::byte *at, size_t n, uint64_t round, int64_t weight)
{
    const wb::value_pattern g(round);
    for (size_t i = 0; i < n; ++i) {
        const T v = value_at<T>(weight, g.at(i));
        std::memcpy(at + i * sizeof(T), &v, sizeof(T));
    }
}

template <typename T> bool values_match(const std::byte *at, size_t first, size_t n, uint64_t round, int64_t weight)
{
    const wb::value_pattern g(round);
    bool right = true;
    for (size_t i = 0; i < n; ++i) {
        const T v = value_at<T>(weight, g.at(first + i));
        right &= std::memcmp(at + i * sizeof(T), &v, sizeof(T)) == 0;
    }
    return right;
}

} // namespace

operation::operation(wan_collective_t collective, size_t bytes, int root, int me, int ranks, bool folded)
    : collective_(collective), root_(root), me_(me), ranks_(ranks), reduces_(wan::kind_of(collective).operation)
{
    const auto p = static_cast<size_t>(ranks);
    if (reduces_)
        element_ = bytes % 8 == 0 ? element{MPI_INT64_T, MPI_SUM, 8} : element{MPI_UINT8_T, MPI_BXOR, 1};
    count_ = bytes / element_.bytes;
    until_ = ranks;
    held_ = given_ = count_;
    switch (collective) {
    case WAN_BCAST:
        if (me == root)
            sends_ = {{root, 0}};
        expects_ = {{root, 0}};
        break;
    case WAN_GATHER:
        sends_ = {{me, root}};
        for (int r = 0; me == root && r < ranks; ++r)
            expects_.emplace_back(r, root);
        break;
    case WAN_SCATTER:
        for (int r = 0; me == root && r < ranks; ++r)
            sends_.emplace_back(root, r);
        expects_ = {{root, me}};
        break;
    case WAN_ALLGATHER:
        sends_ = {{me, 0}};
        for (int r = 0; r < ranks; ++r)
            expects_.emplace_back(r, 0);
        break;
    case WAN_ALLTOALL:
        for (int r = 0; r < ranks; ++r) {
            sends_.emplace_back(me, r);
            expects_.emplace_back(r, me);
        }
        break;
    case WAN_REDUCE:
        held_ = me == root ? count_ : 0;
        break;
    case WAN_SCAN:
        until_ = me + 1;
        break;
    case WAN_EXSCAN:
        until_ = me;
        held_ = me ? count_ : 0;
        break;
    case WAN_REDUCE_SCATTER:
        given_ = count_ * p;
        first_ = count_ * static_cast<size_t>(me);
        counts_.assign(p, static_cast<int>(count_));
        break;
    default:
        break;
    }
    const size_t in_bytes = reduces_ ? given_ * element_.bytes : sends_.size() * bytes;
    const size_t out_bytes = reduces_ ? count_ * element_.bytes : expects_.size() * bytes;
    in_ = memory(in_bytes, folded);
    out_ = memory(out_bytes, folded, second_buffer);
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

void operation::fill(uint64_t round)
{
    if (reduces_) {
        if (element_.bytes == 1)
            values_fill<uint8_t>(in_.data(), given_, round, wb::mask(round, me_));
        else
            values_fill<int64_t>(in_.data(), given_, round, wb::weight(round, me_, ranks_));
        return;
    }
    std::byte *at = collective_ == WAN_BCAST ? out_.data() : in_.data();
    for (size_t k = 0; k < sends_.size(); ++k)
        wb::block_fill(at + k * count_, count_, wb::block_seed(round, sends_[k].first, sends_[k].second));
}

bool operation::verify(uint64_t round) const
{
    bool right = true;
    if (!reduces_) {
        for (size_t k = 0; k < expects_.size(); ++k)
            right &= wb::block_matches(out_.data() + k * count_, count_, wb::block_seed(round, expects_[k].first, expects_[k].second));
        return right;
    }
    int64_t weight = 0;
    for (int r = from_; r < until_; ++r)
        weight = element_.bytes == 1 ? weight ^ wb::mask(round, r) : weight + wb::weight(round, r, ranks_);
    return element_.bytes == 1 ? values_match<uint8_t>(out_.data(), first_, held_, round, weight)
                               : values_match<int64_t>(out_.data(), first_, held_, round, weight);
}

wan_call_t operation::call() const
{
    wan_call_t c{};
    c.collective = collective_;
    c.root = root_;
    c.count = collective_ == WAN_BARRIER ? 1 : count_;
    c.element_bytes = element_.bytes;
    c.extent = static_cast<ptrdiff_t>(element_.bytes);
    c.in = collective_ == WAN_BARRIER ? out_.data() : in_.data();
    c.out = out_.data();
    c.commutative = true;
    c.own_count = count_;
    return c;
}

int operation::by_mpi(MPI_Comm comm) const
{
    const int n = static_cast<int>(count_);
    void *in = in_.data(), *out = out_.data();
    const MPI_Datatype type = element_.type;
    const MPI_Op op = element_.op;
    switch (collective_) {
    case WAN_BCAST: return MPI_Bcast(out, n, type, root_, comm);
    case WAN_ALLREDUCE: return MPI_Allreduce(in, out, n, type, op, comm);
    case WAN_REDUCE: return MPI_Reduce(in, out, n, type, op, root_, comm);
    case WAN_BARRIER: return MPI_Barrier(comm);
    case WAN_SCAN: return MPI_Scan(in, out, n, type, op, comm);
    case WAN_EXSCAN: return MPI_Exscan(in, out, n, type, op, comm);
    case WAN_ALLGATHER: return MPI_Allgather(in, n, type, out, n, type, comm);
    case WAN_GATHER: return MPI_Gather(in, n, type, out, n, type, root_, comm);
    case WAN_SCATTER: return MPI_Scatter(in, n, type, out, n, type, root_, comm);
    case WAN_REDUCE_SCATTER: return MPI_Reduce_scatter(in, out, counts_.data(), type, op, comm);
    case WAN_ALLTOALL: return MPI_Alltoall(in, n, type, out, n, type, comm);
    default: return MPI_ERR_OTHER;
    }
}

} // namespace sim
