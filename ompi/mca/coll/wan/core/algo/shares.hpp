/*
 * How the hosts of a site share the work on a vector with a block for each
 * rank: which blocks of other sites' ranks, and of its own, a host combines;
 * and the ways in which the hosts of a site combine them, for operators that
 * commute.  Next: reduce_scatter_sites.cpp, which puts them together.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_SHARES_HPP
#define WAN_ALGO_SHARES_HPP

#include "algo/sites.hpp"

#include <memory>
#include <vector>

namespace wan {

/** Calls f(part, slot) for what `part` has of each block. */
template <typename F> void each_block(const span_of &part, F f)
{
    for (uint32_t j = part.lo.block; fraction{0, 1, j} < part.hi; ++j)
        if (const span_of one = common(part, blocks_of(j, j + 1)); !one.empty())
            f(one, j);
}

/** Of n things that m share evenly, in order: who has thing i, and the first that sharer k has. */
constexpr uint32_t sharer_of(uint32_t i, uint32_t n, uint32_t m) { return static_cast<uint32_t>(uint64_t{i} * m / n); }
constexpr uint32_t first_shared(uint32_t k, uint32_t n, uint32_t m) { return static_cast<uint32_t>((uint64_t{k} * n + m - 1) / m); }

/** A vector that a rank reads: where `scattered`, one block at a time. */
struct operand {
    buffer data;
    bool scattered;
};

/** src's part into dst, by copy or by the operator. */
void copy_from(builder &b, const operand &src, buffer dst, const span_of &part);
void reduce_from(builder &b, const operand &src, buffer dst, const span_of &part);

/**
 * The blocks of ranks outside a site (remote), or in it (local), cut into
 * parts that follow each other in the order of slots: host i of the site
 * combines parts i * pieces up to (i + 1) * pieces.  Remote blocks are shared
 * evenly, split where there are fewer than hosts; of local ones each host has
 * its own ranks'.
 */
class shares {
public:
    static shares remote(const topology &t, site_id s, uint32_t pieces) { return {t, s, pieces, true}; }
    /** Shared by so many members, whoever they are. */
    static shares remote(const topology &t, site_id s, uint32_t pieces, uint32_t members)
    {
        shares x{t, s, pieces, true};
        x.members_ = members;
        return x;
    }
    static shares local(const topology &t, site_id s, uint32_t pieces) { return {t, s, pieces, false}; }

    uint32_t members() const { return members_; }
    uint32_t pieces() const { return pieces_; }

    /** Parts [lo, hi): one span, or the two on either side of the site's own blocks (then empty ones are left out). */
    std::vector<span_of> spans(uint32_t lo, uint32_t hi) const;
    /** The same of members [lo, hi). */
    std::vector<span_of> of_members(uint32_t lo, uint32_t hi) const { return spans(lo * pieces_, hi * pieces_); }
    std::vector<span_of> part(uint32_t member, uint32_t piece) const { return spans(member * pieces_ + piece, member * pieces_ + piece + 1); }
    std::vector<span_of> all() const { return of_members(0, members_); }

    /** Remote ones: the parts [lo, hi) that have something of a block. */
    struct range {
        uint32_t lo, hi;
    };
    range touching(uint32_t slot) const;

    /** Scratch for whole blocks around parts [lo, hi). */
    buffer scratch_for(builder &b, uint32_t lo, uint32_t hi) const;

private:
    shares(const topology &t, site_id s, uint32_t pieces, bool remote);
    /** Where part u begins: remote ones count without the site's own blocks. */
    fraction bound(uint32_t u) const;

    const topology *topo_;
    site_id site_;
    bool remote_;
    uint32_t members_, pieces_, blocks_, own_first_, own_blocks_;
};

/** Blocks between the first and the last one that is not a site's: its own ones, too, where they are in the middle. */
inline int64_t remote_room(const topology &t, site_id s)
{
    const int first = t.first_slot(s), ranks = t.rank_count(s);
    return first > 0 && first + ranks < t.size() ? t.size() : t.size() - ranks;
}

/** n ranks of a site, evenly spread, that do something for all of it. */
struct spread_ranks {
    int first, ranks;
    uint32_t count;
    spread_ranks(const topology &t, site_id s, uint32_t links)
        : first(t.first_slot(s)), ranks(t.rank_count(s)), count(std::clamp(links, 1u, static_cast<uint32_t>(ranks)))
    {
    }
    int slot(uint32_t k) const { return first + static_cast<int>(uint64_t{k} * static_cast<uint32_t>(ranks) / count); }
    /** Which of them a slot is, or -1. */
    int number(int slot_) const
    {
        const auto at = static_cast<uint64_t>(slot_ - first);
        const auto k = static_cast<uint32_t>((at * count + static_cast<uint32_t>(ranks) - 1) / static_cast<uint32_t>(ranks));
        return k < count && slot(k) == slot_ ? static_cast<int>(k) : -1;
    }
};

/** How hosts combine what they share. */
enum class combining : uint8_t {
    circulant,  // ceil(log2 p) steps (powers of two: halving), each with what half of the hosts will own
    ring,       // p-1 steps, always to the same neighbour
    pairwise    // everyone straight to the owner, in turns
};

/** Hosts too many for a ring go by circulant steps. */
inline combining way_of(combining wanted, uint32_t hosts)
{
    return wanted == combining::ring && hosts > largest_ring ? combining::circulant : wanted;
}
/** Pieces that a way of combining can tell apart. */
uint32_t pieces_within(combining how, uint32_t hosts, uint32_t wanted);

/**
 * Receives that sends wait for: hosts that hand blocks to many others do so in
 * turns, each send after the receive of some turns before.  So an interface
 * has few connections busy, nobody is hit by all at once, and what is to leave
 * first does, without a message for it.
 */
class pace {
public:
    explicit pace(size_t window) : window_(window) {}
    /** The receive that a send of the next turn waits for, or none. */
    int before() const { return received_.size() < window_ ? builder::none : received_[received_.size() - window_]; }
    void turn(int received) { received_.push_back(received); }

private:
    size_t window_;
    std::vector<int> received_;
};

/** Sends parts of a vector; blocks that do not follow each other there are put into scratch first. */
class staging {
public:
    staging(builder &b, operand src, const shares &s) : b_(b), src_(src), s_(s) {}
    /** After an operation (or none). */
    void send(const span_of &part, int to, int label, int after);

private:
    builder &b_;
    operand src_;
    const shares &s_;
    buffer stage_{};
    bool staged_ = false;
};

/** One phase: the hosts of `g` combine what `s` gives them, piece by piece. */
class phase {
public:
    phase(builder &b, const team &g, const shares &s, operand src, int label)
        : b_(b), g_(g), s_(s), src_(src), from_src_(b, src, s), label_(label)
    {
    }
    virtual ~phase() = default;
    /** Afterwards my part of this piece is combined in result(), which is scratch. */
    virtual void piece(uint32_t q) = 0;
    buffer result() const { return result_; }

protected:
    builder &b_;
    const team &g_;
    const shares &s_;
    operand src_;
    staging from_src_;
    int label_;
    buffer result_{};
};

/** `turns` goes through all phases of a rank, so that the first ones leave first. */
std::unique_ptr<phase> make_phase(combining how, builder &b, const team &g, const shares &s, operand src, int label, pace &turns);

} // namespace wan

#endif
