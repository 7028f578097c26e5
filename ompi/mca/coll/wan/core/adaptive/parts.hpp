/*
 * Contributions to one segment of a reduction, or of a Gather, as far as they may be combined: those of all ranks
 * that have come, or of neighbouring ranks alone, one part for each run of them.
 *
 * Parts travel side by side, in the order of ranks, with the set of all their ranks: that says which parts there are.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_PARTS_HPP
#define WAN_ADAPTIVE_PARTS_HPP

#include "adaptive/rank_set.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace wan {

/** inout = in op inout, of so many bytes. */
using combiner = std::function<void(const std::byte *in, std::byte *inout, size_t bytes)>;

/** What may be combined. */
enum class joining : uint8_t {
    any,            // all, in any order
    neighbours,     // runs of neighbouring ranks, in their order
    halves,         // the same, but of 2^k ranks from a multiple of 2^k on only both halves: one expression, whatever the tree
    none            // nothing: Gather
};

class parts {
public:
    /** Combines what can be, of a communicator of `size`.  bytes: of all their parts, side by side; shorter: the rest is 0. */
    void add(joining how, const rank_set &ranks, std::span<const std::byte> bytes, size_t part_bytes, int size, const combiner &combine);
    /** f(ranks, bytes) for each, in the order of ranks; nothing is left. */
    template <typename F> void take(F f)
    {
        for (auto &[first, p] : all_)
            f(p.ranks, p.bytes);
        all_.clear();
    }

private:
    struct part {
        rank_set ranks;         // of joining::any; else the run from its key
        int end;
        std::vector<std::byte> bytes;
    };
    void join(joining how, int first, part p, int size, const combiner &combine);

    std::map<int, part> all_;   // by the first rank
};

} // namespace wan

#endif
