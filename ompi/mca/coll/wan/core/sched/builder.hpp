/*
 * How algorithms write schedules: as a plain sequence of operations for one
 * rank, in an order that would be right one by one.  The builder finds what
 * really depends on what (an operation waits for earlier ones whose bytes it
 * touches, where one of the two writes) and leaves the rest to run at once.
 *
 *     builder b(me);
 *     buffer t = b.scratch();
 *     b.recv(t, block(0, 2), peer, 1);
 *     b.reduce(t, buffer::out, block(0, 2));      // waits for the recv only
 *     schedule s = b.finish();
 *
 * What follows from other dependencies is left out.
 *
 * `in` and `out` count as one buffer here, because they are when a call is in
 * place.  Empty parts make no operation.  Next: algo/parts.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_SCHED_BUILDER_HPP
#define WAN_SCHED_BUILDER_HPP

#include "sched/schedule.hpp"

namespace wan {

class builder {
public:
    explicit builder(int me) { schedule_.me = me; }

    int me() const { return schedule_.me; }

    /** One more scratch buffer, of a segment's size. */
    buffer scratch();

    /**
     * Parts are of a vector of blocks; `apart`: the caller's two buffers have no blocks in common
     * even if these have the same numbers; `scattered`: in the caller's buffers blocks do not
     * follow each other by number.
     */
    void by_blocks(bool apart, bool scattered);
    bool scattered() const { return scattered_; }
    /** One more scratch buffer, for the blocks [first, first + blocks). */
    buffer scratch_blocks(uint32_t first, uint32_t blocks);

    /** Each returns the number of its operation, `none` if the part was empty. */
    static constexpr int none = -1;
    int send(buffer src, span_of part, int peer, int label);
    int recv(buffer dst, span_of part, int peer, int label);
    int reduce(buffer src, buffer dst, span_of part);
    int copy(buffer src, buffer dst, span_of part);
    /** dst's part is so many blocks further on: between scratch and the caller's, where blocks are of one size. */
    int copy_shifted(buffer src, buffer dst, span_of part, int blocks);
    /** An empty message: for order in time where no bytes say it. */
    int signal(int peer, int label);
    int await(int peer, int label);
    /** What is added next also waits for this operation (`none`: for nothing). */
    void after(int operation);

    /**
     * The next segment starts when this one has done what was added last.  For a phase that is
     * better finished than shared: segments that all start at once arrive all at once, late.
     */
    void turn() { schedule_.turn = static_cast<int>(schedule_.ops.size()) - 1; }

    /** Room for `more` operations, for those who add thousands: doubling would take the memory twice. */
    void reserve(size_t more) { schedule_.ops.reserve(schedule_.ops.size() + more); }

    /** The schedule; the builder is spent. */
    schedule finish();

private:
    int add(op o);

    schedule schedule_;
    bool apart_ = false, scattered_ = false;
    std::vector<uint16_t> after_;   // for the next operation
    std::vector<uint16_t> writers_; // operations that write
    std::vector<bool> implied_;     // [operation]: comes before the one being added in any case
};

} // namespace wan

#endif
