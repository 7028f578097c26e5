/*
 * Barrier and Reduction through MPI's own collectives, when the job asks for
 * it (options.collectives, MTTL_COLLECTIVES): a communicator for each object,
 * so that objects do not depend on each other's order.
 *
 *   mpi_nonblocking   MPI_Ibarrier, MPI_Iallreduce.  Only the thread waits.
 *   mpi               MPI_Ibarrier; and MPI_Allreduce, for components that
 *                     serve, or measure links in, blocking collectives only.
 *                     The process waits inside it and serves nobody, so all
 *                     members meet before.  Two threads of a process must not
 *                     reduce at the same time: the second gets an error.
 *
 * Either way, an object is made by MPI_Comm_create_group, which waits; MPI has
 * no other one for a group.  So it is entered when all members are ready and in
 * no other one (group.hpp), and takes some latencies, in which they serve nobody.
 *
 * Sums of arithmetic types are MPI_SUM; any other operator without state is
 * given to MPI as one that does not commute.  One with state stays with the
 * library's own messages.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_MPI_COLLECTIVES_HPP
#define MTTL_MPI_COLLECTIVES_HPP

#include "port.hpp"

// The C++ bindings are gone from the standard, and would have to be linked.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <functional>
#include <map>
#include <memory>

namespace [[gnu::visibility("default")]] mttl {

/** Datatypes and operators that MPI was told of; freed before it ends. */
class mpi_operators {
public:
    mpi_operators() = default;
    mpi_operators(const mpi_operators &) = delete;
    mpi_operators &operator=(const mpi_operators &) = delete;

    MPI_Datatype type(const native_operation &o)
    {
        switch (o.sum) {
        case native_operation::int32: return MPI_INT32_T;
        case native_operation::uint32: return MPI_UINT32_T;
        case native_operation::int64: return MPI_INT64_T;
        case native_operation::uint64: return MPI_UINT64_T;
        case native_operation::float32: return MPI_FLOAT;
        case native_operation::float64: return MPI_DOUBLE;
        case native_operation::none: break;
        }
        const auto it = types_.find(o.element_bytes);
        if (it != types_.end())
            return it->second;
        MPI_Datatype t;
        MPI_Type_contiguous(static_cast<int>(o.element_bytes), MPI_BYTE, &t);
        MPI_Type_commit(&t);
        return types_[o.element_bytes] = t;
    }
    MPI_Op op(const native_operation &o)
    {
        if (o.sum != native_operation::none)
            return MPI_SUM;
        const auto it = ops_.find(o.apply);
        if (it != ops_.end())
            return it->second;
        MPI_Op made;
        // MPI_Datatype * is a pointer to an object like any other: the call is the same.
        MPI_Op_create(reinterpret_cast<MPI_User_function *>(reinterpret_cast<void *>(o.apply)), 0, &made);
        return ops_[o.apply] = made;
    }
    /** After this, groups that live on do nothing any more. */
    void finish()
    {
        for (auto &[bytes, t] : types_)
            MPI_Type_free(&t);
        for (auto &[f, op] : ops_)
            MPI_Op_free(&op);
        types_.clear(), ops_.clear();
        finished = true;
    }
    bool finished = false;

private:
    std::map<size_t, MPI_Datatype> types_;
    std::map<native_operation::function, MPI_Op> ops_;
};

class mpi_group final : public native_group {
public:
    /** `track` is told requests, and tells their completions; `waits`: reductions wait inside MPI. */
    using tracker = std::function<void(MPI_Request, completion *)>;

    mpi_group(MPI_Comm all, const std::vector<int> &members, int tag, std::shared_ptr<mpi_operators> o, tracker track,
              bool waits, uint64_t &calls)
        : operators_(std::move(o)), track_(std::move(track)), waits_(waits), calls_(calls)
    {
        MPI_Group everyone, group;
        MPI_Comm_group(all, &everyone);
        MPI_Group_incl(everyone, static_cast<int>(members.size()), members.data(), &group);
        const int code = MPI_Comm_create_group(all, group, tag, &comm_);
        MPI_Group_free(&group);
        MPI_Group_free(&everyone);
        if (code != MPI_SUCCESS)
            throw error("MPI_Comm_create_group failed with code " + std::to_string(code));
    }
    ~mpi_group() override
    {
        if (!operators_->finished)
            MPI_Comm_free(&comm_);
    }

    void barrier(completion *c) override
    {
        ++calls_;
        MPI_Request r;
        check(MPI_Ibarrier(comm_, &r), "barrier");
        track_(r, c);
    }
    void allreduce(void *values, size_t n, const native_operation &o, completion *c) override
    {
        if (n > INT32_MAX)
            throw error("a reduction of more than 2^31 - 1 elements");
        const MPI_Datatype t = operators_->type(o);
        const MPI_Op op = operators_->op(o);
        ++calls_;
        if (waits_) {
            check(MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(n), t, op, comm_), "allreduce");
            c->done();
        } else {
            MPI_Request r;
            check(MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(n), t, op, comm_, &r), "allreduce");
            track_(r, c);
        }
    }

private:
    static void check(int code, const char *what)
    {
        if (code != MPI_SUCCESS)
            throw error(std::string("MPI's ") + what + " failed with code " + std::to_string(code));
    }

    std::shared_ptr<mpi_operators> operators_;
    tracker track_;
    bool waits_;
    uint64_t &calls_;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

} // namespace mttl

#endif
