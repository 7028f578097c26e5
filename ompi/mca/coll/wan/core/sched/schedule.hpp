/*
 * One rank's operations for one plan: an immutable value that can be printed,
 * parsed, checked and run any number of times.  It holds no pointers, sizes
 * or requests: operations name symbolic buffers and fractions of a segment,
 * and the whole list is repeated for each segment of the message by the
 * engine (exec/engine.hpp).  It must not know how messages travel.
 * Next: sched/builder.hpp, sched/verifier.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_SCHED_SCHEDULE_HPP
#define WAN_SCHED_SCHEDULE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wan {

/** A bound inside a segment: num/den of its elements, rounded down. */
struct fraction {
    uint32_t num = 0;
    uint32_t den = 1;

    /** First element at or after this bound, of a segment of `length` elements. */
    constexpr size_t of(size_t length) const
    {
        return static_cast<size_t>(static_cast<unsigned __int128>(length) * num / den);
    }
    friend constexpr bool operator<(fraction a, fraction b) { return uint64_t{a.num} * b.den < uint64_t{b.num} * a.den; }
    friend constexpr bool operator==(fraction a, fraction b) { return uint64_t{a.num} * b.den == uint64_t{b.num} * a.den; }
};

/** Half-open part [lo, hi) of a segment. */
struct span_of {
    fraction lo{0, 1};
    fraction hi{1, 1};

    constexpr bool empty() const { return !(lo < hi); }
    constexpr bool overlaps(const span_of &o) const { return lo < o.hi && o.lo < hi; }
};

/** Block i of `blocks` equal ones; the blocks [i, j) together. */
constexpr span_of block(uint32_t i, uint32_t blocks) { return {{i, blocks}, {i + 1, blocks}}; }
constexpr span_of block_range(uint32_t i, uint32_t j, uint32_t blocks) { return {{i, blocks}, {j, blocks}}; }
constexpr span_of whole() { return {}; }

/** What two parts have in common (possibly empty). */
constexpr span_of common(const span_of &a, const span_of &b)
{
    return {a.lo < b.lo ? b.lo : a.lo, a.hi < b.hi ? a.hi : b.hi};
}

/** Symbolic buffers: the caller's two, then scratch 0, 1, ... */
enum class buffer : uint8_t { in = 0, out = 1, tmp = 2 };
constexpr buffer tmp(int k) { return static_cast<buffer>(static_cast<int>(buffer::tmp) + k); }

enum class op_kind : uint8_t {
    send,   // src[part] to peer
    recv,   // dst[part] from peer
    reduce, // dst[part] = src[part] (operator) dst[part]
    copy    // dst[part] = src[part]
};

struct op {
    op_kind kind;
    uint8_t label = 0;          // send, recv: messages of a pair match per label
    buffer src = buffer::in;    // send, reduce, copy
    buffer dst = buffer::in;    // recv, reduce, copy
    int32_t peer = -1;          // send, recv: rank
    span_of part;
    uint32_t pred_begin = 0;    // into schedule::preds
    uint32_t pred_count = 0;

    bool reads(buffer b) const { return kind != op_kind::recv && (src == b || (kind == op_kind::reduce && dst == b)); }
    bool writes(buffer b) const { return kind != op_kind::send && dst == b; }
};

/** Operations in an order in which running them one by one would be right. */
struct schedule {
    static constexpr int no_turn = -1;

    int me = 0;
    int tmp_count = 0;              // scratch buffers, each of a segment's size
    int turn = no_turn;             // operation whose end lets the next segment start: see starts()
    std::vector<op> ops;
    std::vector<uint16_t> preds;    // indices of operations that must have completed before

    /**
     * Whether an operation is where a segment starts: it waits for nothing and is no receive (those
     * are always posted early).  In the next segment it also waits for this one's `turn`.
     */
    static bool starts(const op &o) { return o.pred_count == 0 && o.kind != op_kind::recv; }
    std::span<const uint16_t> preds_of(const op &o) const { return {preds.data() + o.pred_begin, o.pred_count}; }
    size_t memory_bytes() const;
};

/** One operation a line; `parse` reads the same text back (nullopt and a reason if it cannot). */
std::string print(const schedule &s);
std::optional<schedule> parse_schedule(std::string_view text, std::string *why);

} // namespace wan

#endif
