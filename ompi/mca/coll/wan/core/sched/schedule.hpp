/*
 * One rank's operations for one plan: an immutable value that can be printed,
 * parsed, checked and run any number of times.  It holds no pointers, sizes
 * or requests, and must not know how messages travel.
 *
 * Operations name symbolic buffers and parts of what they hold.  Of a message:
 * fractions, and the whole list is repeated for each of its segments by the
 * engine (exec/engine.hpp).  Of a vector with a block for each rank: blocks and
 * fractions of blocks, numbered in the order of the topology (sites, hosts,
 * lanes), so that what belongs to a site is one part; how long blocks are and
 * where they lie in the caller's buffers is bound later.
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
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace wan {

/**
 * A bound: num/den of the elements of block `block`, rounded down.  A message that is not made of
 * blocks is block 0.
 */
struct fraction {
    uint32_t block = 0;
    uint16_t num = 0;
    uint16_t den = 1;

    constexpr fraction() = default;
    constexpr fraction(uint32_t n, uint32_t d, uint32_t b = 0)
        : block(b), num(static_cast<uint16_t>(n)), den(static_cast<uint16_t>(d))
    {
        if (n > UINT16_MAX || d > UINT16_MAX)
            throw std::length_error("a block in more than 65535 parts");
    }

    /** First element at or after this bound, of a block of `length` elements. */
    constexpr size_t of(size_t length) const
    {
        if (length >> 48 == 0)      // num has 16 bits
            return length * num / den;
        return static_cast<size_t>(static_cast<unsigned __int128>(length) * num / den);
    }
    friend constexpr bool operator<(fraction a, fraction b) { return a.scaled() * b.den < b.scaled() * a.den; }
    friend constexpr bool operator==(fraction a, fraction b) { return a.scaled() * b.den == b.scaled() * a.den; }

private:
    constexpr uint64_t scaled() const { return uint64_t{block} * den + num; }
};

/** Half-open part [lo, hi) of a segment, or of a vector of blocks. */
struct span_of {
    fraction lo{0, 1};
    fraction hi{1, 1};

    constexpr bool empty() const { return !(lo < hi); }
    constexpr bool overlaps(const span_of &o) const { return lo < o.hi && o.lo < hi; }
};

/** Part i of `blocks` equal ones of a message; the parts [i, j) together. */
constexpr span_of block(uint32_t i, uint32_t blocks) { return {{i, blocks}, {i + 1, blocks}}; }
constexpr span_of block_range(uint32_t i, uint32_t j, uint32_t blocks) { return {{i, blocks}, {j, blocks}}; }
constexpr span_of whole() { return {}; }

/** Blocks [i, j) of a vector; part k of n of block i. */
constexpr span_of blocks_of(uint32_t i, uint32_t j) { return {{0, 1, i}, {0, 1, j}}; }
constexpr span_of piece_of(uint32_t i, uint32_t k, uint32_t n) { return {{k, n, i}, {k + 1, n, i}}; }

/** A part so many blocks further on. */
constexpr span_of shifted(span_of s, int32_t blocks)
{
    s.lo.block += static_cast<uint32_t>(blocks);
    s.hi.block += static_cast<uint32_t>(blocks);
    return s;
}

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
    copy,   // dst[part] = src[part], or with a shift in blocks dst[part + shift] = src[part]
    signal, // an empty message to peer
    await   // one from peer
};

struct op {
    op_kind kind;
    buffer src = buffer::in;    // send, reduce, copy
    buffer dst = buffer::in;    // recv, reduce, copy
    uint16_t label = 0;         // messages of a pair match per label
    uint16_t pred_count = 0;
    uint32_t pred_begin = 0;    // into schedule::preds
    int32_t peer = -1;          // rank
    int32_t shift = 0;          // copy, where all blocks are of one size
    span_of part;

    bool reads() const { return kind == op_kind::send || kind == op_kind::reduce || kind == op_kind::copy; }
    bool writes() const { return kind == op_kind::recv || kind == op_kind::reduce || kind == op_kind::copy; }
    bool sends() const { return kind == op_kind::send || kind == op_kind::signal; }
    bool receives() const { return kind == op_kind::recv || kind == op_kind::await; }
    bool carries() const { return kind == op_kind::send || kind == op_kind::recv; }
    /** What is written, of dst. */
    span_of written() const { return shifted(part, shift); }
};

/** The blocks that a scratch buffer has room for. */
struct room {
    uint32_t first = 0;
    uint32_t blocks = 0;
};

/** Operations in an order in which running them one by one would be right. */
struct schedule {
    static constexpr int no_turn = -1;

    int me = 0;
    int tmp_count = 0;              // scratch buffers, each of a segment's size, or
    std::vector<room> rooms;        // as large as these
    bool by_blocks = false;         // parts are of a vector of blocks; not cut into segments
    int turn = no_turn;             // operation whose end lets the next segment start: see starts()
    std::vector<op> ops;
    std::vector<uint16_t> preds;    // indices of operations that must have completed before

    /**
     * Whether an operation is where a segment starts: it waits for nothing and is no receive (those
     * are always posted early).  In the next segment it also waits for this one's `turn`.
     */
    static bool starts(const op &o) { return o.pred_count == 0 && !o.receives(); }
    std::span<const uint16_t> preds_of(const op &o) const { return {preds.data() + o.pred_begin, o.pred_count}; }
    size_t memory_bytes() const;
};

/** One operation a line; `parse` reads the same text back (nullopt and a reason if it cannot). */
std::string print(const schedule &s);
std::optional<schedule> parse_schedule(std::string_view text, std::string *why);

} // namespace wan

#endif
