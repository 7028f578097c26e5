// See wb_operation.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "wb_operation.hpp"

#include <numeric>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include "wb_pattern.hpp"

namespace wb {

namespace {

// Bytes of the operation's own, or lent by who asked for it.
class buffer {
public:
    void take(std::size_t bytes, const request &q, int which) {
        size_ = bytes;
        if (q.memory) {
            at_ = q.memory(bytes, which);
        } else {
            own_.resize(bytes);
            at_ = own_.data();
        }
    }
    std::byte *data() const { return at_; }
    std::size_t size() const { return size_; }

private:
    std::vector<std::byte> own_;
    std::byte *at_ = nullptr;
    std::size_t size_ = 0;
};

std::size_t as_size(std::int64_t n) { return static_cast<std::size_t>(n); }

/** A call in one of its forms: `now` blocks, `later` gives a request, which is waited for. */
template <typename F, typename G> void call(const request &q, F now, G later) {
    if (!q.nonblocking) {
        now();
        return;
    }
    MPI_Request pending = MPI_REQUEST_NULL;
    later(&pending);
    if (q.slice_us == 0) {
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
        return;
    }
    for (int done = 0; !done; MPI_Test(&pending, &done, MPI_STATUS_IGNORE))
        usleep(static_cast<useconds_t>(q.slice_us));
}
#define CALL(name, ...)                                                         \
    call(what_, [&] { MPI_##name(__VA_ARGS__, comm); },                         \
         [&](MPI_Request *r) { MPI_I##name(__VA_ARGS__, comm, r); })
// MPI's names of the non-blocking forms.
#define MPI_IBcast MPI_Ibcast
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_INeighbor_alltoall MPI_Ineighbor_alltoall
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block

class nothing_operation : public operation {
public:
    nothing_operation(bool barrier, const request &q) : barrier_(barrier), what_(q) {}
    void fill(std::uint64_t) override {}
    void run(MPI_Comm comm) override {
        if (barrier_)
            call(what_, [&] { MPI_Barrier(comm); }, [&](MPI_Request *r) { MPI_Ibarrier(comm, r); });
    }
    bool verify(std::uint64_t) override { return true; }    // a barrier is checked by its times
    std::uint64_t digest() const override { return 0; }
    call_view view() const override { return {}; }

private:
    bool barrier_;
    request what_;
};

// ---- data that only moves ------------------------------------------------

enum move_variant { v_bcast, v_gather, v_gatherv, v_scatter, v_scatterv, v_allgather,
                    v_allgatherv, v_alltoall, v_alltoallv, v_alltoallw, v_neighbor };

class move_operation : public operation {
public:
    move_operation(int variant, const request &q, int rank, int size)
        : what_(q), variant_(variant), bytes_(as_size(q.bytes)), count_(static_cast<int>(q.bytes)),
          root_(q.root) {
        const bool at_root = rank == root_;
        switch (variant) {
        case v_bcast:
            in_place_ = true;
            if (at_root)
                sends_ = {{root_, 0}};
            expects_ = {{root_, 0}};
            break;
        case v_gather:
        case v_gatherv:
            sends_ = {{rank, root_}};
            for (int r = 0; at_root && r < size; ++r)
                expects_.emplace_back(r, root_);
            break;
        case v_scatter:
        case v_scatterv:
            for (int r = 0; at_root && r < size; ++r)
                sends_.emplace_back(root_, r);
            expects_ = {{root_, rank}};
            break;
        case v_allgather:
        case v_allgatherv:
            sends_ = {{rank, 0}};
            for (int r = 0; r < size; ++r)
                expects_.emplace_back(r, 0);
            break;
        case v_neighbor: {
            // A torus, as square as may be, in the order of ranks; what goes one way comes from the other.
            MPI_Dims_create(size, 2, torus_);
            const int row = rank / torus_[1], column = rank % torus_[1];
            const auto at = [&](int r, int c) {
                return (r + torus_[0]) % torus_[0] * torus_[1] + (c + torus_[1]) % torus_[1];
            };
            const int others[] = {at(row - 1, column), at(row + 1, column), at(row, column - 1), at(row, column + 1)};
            for (int k = 0; k < 4; ++k) {
                sends_.emplace_back(rank, k);
                expects_.emplace_back(others[k], k ^ 1);
            }
            break;
        }
        default:
            for (int r = 0; r < size; ++r) {
                sends_.emplace_back(rank, r);
                expects_.emplace_back(r, rank);
            }
        }
        in_.take(bytes_ * sends_.size(), q, 0);
        out_.take(bytes_ * expects_.size(), q, 1);
        counts_.assign(as_size(size), count_);
        offsets_.resize(as_size(size));
        for (int r = 0; r < size; ++r)
            offsets_[as_size(r)] = r * count_;
        types_.assign(as_size(size), MPI_BYTE);
    }
    ~move_operation() override {
        if (grid_ != MPI_COMM_NULL)
            MPI_Comm_free(&grid_);
    }

    void fill(std::uint64_t round) override {
        std::byte *at = in_place_ ? out_.data() : in_.data();
        for (std::size_t k = 0; k < sends_.size(); ++k)
            block_fill(at + k * bytes_, bytes_,
                       block_seed(round, sends_[k].first, sends_[k].second));
    }

    bool verify(std::uint64_t round) override {
        bool right = true;
        for (std::size_t k = 0; k < expects_.size(); ++k)
            right &= block_matches(out_.data() + k * bytes_, bytes_,
                                   block_seed(round, expects_[k].first, expects_[k].second));
        return right;
    }

    std::uint64_t digest() const override { return wb::digest(out_.data(), out_.size()); }
    call_view view() const override {
        return {in_place_ ? out_.data() : in_.data(), out_.data(), bytes_, MPI_BYTE, MPI_OP_NULL, 1};
    }

    void run(MPI_Comm comm) override {
        const int n = count_;
        void *in = in_.data(), *out = out_.data();
        const int *counts = counts_.data(), *offsets = offsets_.data();
        switch (variant_) {
        case v_bcast: CALL(Bcast, out, n, MPI_BYTE, root_); break;
        case v_gather: CALL(Gather, in, n, MPI_BYTE, out, n, MPI_BYTE, root_); break;
        case v_gatherv:
            CALL(Gatherv, in, n, MPI_BYTE, out, counts, offsets, MPI_BYTE, root_);
            break;
        case v_scatter: CALL(Scatter, in, n, MPI_BYTE, out, n, MPI_BYTE, root_); break;
        case v_scatterv:
            CALL(Scatterv, in, counts, offsets, MPI_BYTE, out, n, MPI_BYTE, root_);
            break;
        case v_allgather: CALL(Allgather, in, n, MPI_BYTE, out, n, MPI_BYTE); break;
        case v_allgatherv:
            CALL(Allgatherv, in, n, MPI_BYTE, out, counts, offsets, MPI_BYTE);
            break;
        case v_alltoall: CALL(Alltoall, in, n, MPI_BYTE, out, n, MPI_BYTE); break;
        case v_alltoallv:
            CALL(Alltoallv, in, counts, offsets, MPI_BYTE, out, counts, offsets, MPI_BYTE);
            break;
        case v_neighbor: {
            if (grid_of_ != comm) {     // in the first, untimed round
                const int periodic[] = {1, 1};
                MPI_Cart_create(comm, 2, torus_, periodic, 0, &grid_);
                grid_of_ = comm;
            }
            comm = grid_;
            CALL(Neighbor_alltoall, in, n, MPI_BYTE, out, n, MPI_BYTE);
            break;
        }
        default:
            CALL(Alltoallw, in, counts, offsets, types_.data(), out, counts, offsets,
                          types_.data());
        }
    }

private:
    request what_;
    int variant_;
    std::size_t bytes_;
    int count_, root_;
    bool in_place_ = false;
    std::vector<std::pair<int, int>> sends_, expects_;      // (from, to) of each block
    buffer in_, out_;
    std::vector<int> counts_, offsets_;
    std::vector<MPI_Datatype> types_;
    int torus_[2] = {0, 0};
    MPI_Comm grid_ = MPI_COMM_NULL, grid_of_ = MPI_COMM_NULL;
};

// ---- data that is reduced ------------------------------------------------

enum reduce_variant { v_reduce, v_allreduce, v_scan, v_exscan, v_reduce_scatter,
                      v_reduce_scatter_block };

enum class element { f64, i64, i32, xor8 };

element element_choose(const request &q) {
    if (q.type == "double")
        return element::f64;
    if (q.type == "int64")
        return element::i64;
    if (q.type == "int32")
        return element::i32;
    if (q.type == "xor")
        return element::xor8;
    if (q.type != "auto")
        throw std::invalid_argument("unknown type " + q.type);
    // 8-bit sums are no alternative: some builds saturate them, which makes
    // the result depend on the order.
    return q.bytes % 8 == 0 ? element::f64 : q.bytes % 4 == 0 ? element::i32 : element::xor8;
}

class reduce_operation : public operation {
public:
    reduce_operation(int variant, const request &q, int rank, int size)
        : what_(q), variant_(variant), element_(element_choose(q)), root_(q.root), rank_(rank), size_(size) {
        constexpr std::size_t widths[] = {8, 8, 4, 1};
        const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT64_T, MPI_INT32_T, MPI_UINT8_T};
        width_ = widths[static_cast<int>(element_)];
        type_ = types[static_cast<int>(element_)];
        op_ = element_ == element::xor8 ? MPI_BXOR : MPI_SUM;
        if (as_size(q.bytes) % width_ != 0)
            throw std::invalid_argument("size is no multiple of the type");
        count_ = static_cast<int>(as_size(q.bytes) / width_);
        total_ = held_ = as_size(count_);
        from_ = 0;
        until_ = size;
        switch (variant) {
        case v_reduce: held_ = rank == root_ ? held_ : 0; break;
        case v_scan: until_ = rank + 1; break;
        case v_exscan:
            until_ = rank;
            held_ = rank == 0 ? 0 : held_;      // undefined by the standard
            break;
        case v_reduce_scatter:
        case v_reduce_scatter_block:
            total_ *= as_size(size);
            first_ = held_ * as_size(rank);
            break;
        default: break;
        }
        in_.take(total_ * width_, q, 0);
        out_.take(as_size(count_) * width_, q, 1);
        counts_.assign(as_size(size), count_);
    }

    void fill(std::uint64_t round) override {
        const std::int64_t w = element_ == element::xor8 ? mask(round, rank_)
                                                         : weight(round, rank_, size_);
        dispatch([&](auto *tag) {
            using T = std::remove_pointer_t<decltype(tag)>;
            const value_pattern g(round);
            T *at = reinterpret_cast<T *>(in_.data());
            for (std::size_t i = 0; i < total_; ++i)
                at[i] = value<T>(w, g.at(i));
            return true;
        });
    }

    bool verify(std::uint64_t round) override {
        std::int64_t w = 0;
        for (int r = from_; r < until_; ++r)
            w = element_ == element::xor8 ? w ^ mask(round, r) : w + weight(round, r, size_);
        return dispatch([&](auto *tag) {
            using T = std::remove_pointer_t<decltype(tag)>;
            const value_pattern g(round);
            const T *at = reinterpret_cast<const T *>(out_.data());
            bool right = true;
            for (std::size_t i = 0; i < held_; ++i)
                right &= at[i] == value<T>(w, g.at(first_ + i));
            return right;
        });
    }

    std::uint64_t digest() const override { return wb::digest(out_.data(), held_ * width_); }
    call_view view() const override {
        return {in_.data(), out_.data(), as_size(count_), type_, op_, width_};
    }

    void run(MPI_Comm comm) override {
        const int n = count_;
        const void *in = in_.data();
        void *out = out_.data();
        switch (variant_) {
        case v_reduce: CALL(Reduce, in, out, n, type_, op_, root_); break;
        case v_scan: CALL(Scan, in, out, n, type_, op_); break;
        case v_exscan: CALL(Exscan, in, out, n, type_, op_); break;
        case v_reduce_scatter:
            CALL(Reduce_scatter, in, out, counts_.data(), type_, op_);
            break;
        case v_reduce_scatter_block:
            CALL(Reduce_scatter_block, in, out, n, type_, op_);
            break;
        default: CALL(Allreduce, in, out, n, type_, op_);
        }
    }

private:
    template <typename T> static T value(std::int64_t w, std::int32_t g) {
        if constexpr (sizeof(T) == 1)
            return static_cast<T>(w & g);
        else
            return static_cast<T>(static_cast<T>(w) * static_cast<T>(g));
    }

    template <typename F> bool dispatch(F &&f) {
        switch (element_) {
        case element::f64: return f(static_cast<double *>(nullptr));
        case element::i64: return f(static_cast<std::int64_t *>(nullptr));
        case element::i32: return f(static_cast<std::int32_t *>(nullptr));
        default: return f(static_cast<std::uint8_t *>(nullptr));
        }
    }

    request what_;
    int variant_;
    element element_;
    int root_, rank_, size_;
    std::size_t width_ = 8;
    MPI_Datatype type_;
    MPI_Op op_;
    int count_ = 0;
    std::size_t total_ = 0, held_ = 0, first_ = 0;      // elements: in, checked, offset
    int from_ = 0, until_ = 0;                          // contributing ranks
    buffer in_, out_;
    std::vector<int> counts_;
};

// ---- the table -----------------------------------------------------------

using made = std::unique_ptr<operation>;

made make_nothing(const operation_kind &k, const request &q, int, int) {
    return std::make_unique<nothing_operation>(k.variant != 0, q);
}
made make_move(const operation_kind &k, const request &q, int rank, int size) {
    return std::make_unique<move_operation>(k.variant, q, rank, size);
}
made make_reduce(const operation_kind &k, const request &q, int rank, int size) {
    return std::make_unique<reduce_operation>(k.variant, q, rank, size);
}

}  // namespace

const std::vector<operation_kind> &operation_table() {
    using enum bound_kind;
    static const std::vector<operation_kind> table = {
        {"empty", nothing, false, make_nothing, 0},
        {"barrier", latency, false, make_nothing, 1},
        {"bcast", one_way, true, make_move, v_bcast},
        {"gather", blocks, true, make_move, v_gather},
        {"gatherv", blocks, true, make_move, v_gatherv},
        {"scatter", blocks, true, make_move, v_scatter},
        {"scatterv", blocks, true, make_move, v_scatterv},
        {"allgather", blocks, false, make_move, v_allgather},
        {"allgatherv", blocks, false, make_move, v_allgatherv},
        {"alltoall", blocks, false, make_move, v_alltoall},
        {"alltoallv", blocks, false, make_move, v_alltoallv},
        {"alltoallw", blocks, false, make_move, v_alltoallw},
        {"neighbor_alltoall", neighbors, false, make_move, v_neighbor},
        {"reduce", one_way, true, make_reduce, v_reduce},
        {"allreduce", both_ways, false, make_reduce, v_allreduce},
        {"scan", one_way, false, make_reduce, v_scan},
        {"exscan", one_way, false, make_reduce, v_exscan},
        {"reduce_scatter", blocks, false, make_reduce, v_reduce_scatter},
        {"reduce_scatter_block", blocks, false, make_reduce, v_reduce_scatter_block},
    };
    return table;
}

const operation_kind *operation_find(const std::string &name, bool *nonblocking) {
    const bool prefixed = nonblocking && name.starts_with('i');
    for (const auto &kind : operation_table())
        if (name == kind.name || (prefixed && name.substr(1) == kind.name)) {
            if (nonblocking)
                *nonblocking = name != kind.name;
            return &kind;
        }
    return nullptr;
}

}  // namespace wb
