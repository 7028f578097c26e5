/*
 * Runs a schedule over a port: the one engine for blocking, non-blocking and
 * persistent calls, for Open MPI and for the tests.  Completions only mark
 * operations ready (from any thread); progress() alone posts.  There are no
 * rounds: an operation runs as soon as what it depends on has completed, so
 * a slow link holds up nothing that does not need its data.
 *
 * A message is cut into segments; the schedule is repeated for each, up to
 * `window` of them at a time.  Segment k+window begins when segment k has
 * completed here, which bounds scratch memory and what a receiver that lags
 * behind must buffer.  Where the schedule has a turn, what waits for nothing
 * else in k+1 (receives apart) waits until k has come so far.  An operation is
 * posted for segment k before it is posted for k+1, so that messages of a pair
 * and label match in order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_EXEC_ENGINE_HPP
#define WAN_EXEC_ENGINE_HPP

#include "sched/schedule.hpp"
#include "wan_core.h"

#include <atomic>
#include <memory>
#include <vector>

namespace wan {

/** A schedule with the successors of each operation, ready to run; shared by runs. */
class program {
public:
    explicit program(schedule s);

    const schedule &text() const { return schedule_; }
    size_t size() const { return schedule_.ops.size(); }
    std::span<const uint16_t> successors(size_t i) const
    {
        return {succ_.data() + succ_begin_[i], succ_begin_[i + 1] - succ_begin_[i]};
    }
    /** Operations that wait for the turn of the segment before; none if the schedule has no turn. */
    std::span<const uint16_t> starters() const { return starters_; }
    size_t memory_bytes() const;

private:
    schedule schedule_;
    std::vector<uint16_t> starters_;
    std::vector<uint32_t> succ_begin_;
    std::vector<uint16_t> succ_;
};

/** How long the blocks of a vector are and where a buffer holds them, in elements. */
struct layout {
    size_t each = 0;                // elements of every block, where `ends` is empty
    std::vector<size_t> ends;       // [block]: elements of it and all before it
    std::vector<ptrdiff_t> at;      // [block]: its first element in the buffer; empty: one after the other, from
    uint32_t first = 0;             // this block on

    /** Elements of the vector before a bound. */
    size_t before(const fraction &f) const
    {
        if (ends.empty())
            return f.block * each + f.of(each);
        const size_t begin = f.block ? ends[f.block - 1] : 0;
        return f.num ? begin + f.of(ends[f.block] - begin) : begin;
    }
    size_t length(const span_of &part) const { return before(part.hi) - before(part.lo); }
    /** Of a part's first element in the buffer. */
    ptrdiff_t offset(const fraction &f) const
    {
        const size_t base = before({0, 1, at.empty() ? first : f.block});
        return static_cast<ptrdiff_t>(before(f) - base) + (at.empty() ? 0 : at[f.block]);
    }
};

/** One call's buffers and sizes, in elements of `extent` bytes. */
struct binding {
    const void *in = nullptr;
    void *out = nullptr;
    size_t count = 0;       // elements in the whole message
    size_t segment = 0;     // elements in a segment; at least 1
    uint32_t window = 1;    // segments under way at once
    ptrdiff_t extent = 1;
    layout blocks[3] = {};  // of `in`, `out` and scratch (`first` counts for the caller's only); where parts are of blocks
};

class engine {
public:
    engine(std::shared_ptr<const program> p, binding b, const wan_port_t *port, void *port_ctx);

    /** Posts what is ready: WAN_OK while running, WAN_DONE, or an error code. */
    int progress();

    /** Marks a posted operation complete; code 0 or the owner's error.  From any thread. */
    void complete(uint32_t token, int code);

    bool pending() const { return completed_.load(std::memory_order_acquire) != none || fresh_; }
    int error() const { return error_.load(std::memory_order_acquire); }
    /** Posted operations that have not completed. */
    uint32_t outstanding() const { return outstanding_; }

    const program &running() const { return *program_; }
    const binding &bound() const { return binding_; }

    /** How far it came, for people who look at a job that hangs. */
    std::string describe() const;

private:
    static constexpr uint32_t none = UINT32_MAX;

    std::shared_ptr<const program> program_;
    binding binding_;
    const wan_port_t *port_;
    void *ctx_;

    size_t segments_ = 0;
    uint32_t window_ = 1;
    size_t head_ = 0;                       // first segment that has not completed
    size_t tail_ = 0;                       // first segment that has not begun
    std::vector<uint32_t> waiting_;         // [slot][op]: predecessors to go
    std::vector<uint32_t> left_;            // [slot]: operations to go
    std::vector<bool> passed_;              // [slot]: its turn is done
    std::vector<size_t> next_;              // [op]: segment to be posted next
    std::vector<uint64_t> ready_;           // heap of segment * ops + op, lowest first
    std::vector<char *> scratch_;           // [tmp]: window segments each
    std::unique_ptr<std::atomic<uint32_t>[]> link_;     // [token]: stack of completed ones
    std::atomic<uint32_t> completed_{none};
    std::atomic<int> error_{0};
    uint32_t outstanding_ = 0;
    bool fresh_ = true;
    int failed_ = WAN_OK;

    size_t slot(size_t segment) const { return segment % window_; }
    char *address(buffer b, size_t segment, const fraction &from) const;
    size_t length_of(const op &o, size_t segment) const;
    int prepare();
    void begin_segments();
    void offer(size_t op_index, size_t segment);
    void post(uint64_t key);
    void finish(size_t op_index, size_t segment);
    void pass_turn(size_t segment);
    void drain();
};

} // namespace wan

#endif
