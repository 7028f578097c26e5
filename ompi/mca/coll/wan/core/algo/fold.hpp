/*
 * Combining the partial results of all sites in one canonical order, so that
 * every site evaluates the same expression and gets the same bits.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_FOLD_HPP
#define WAN_ALGO_FOLD_HPP

#include "algo/parts.hpp"
#include "model/cost.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace wan {

/**
 * x[0] op (x[1] op (... op x[n-1])) on `part`, x[k] the buffers; the result
 * goes to `result`, which may be one of them.  The last buffer is overwritten.
 */
inline void fold(builder &b, const std::vector<buffer> &x, buffer result, span_of part)
{
    for (size_t k = x.size() - 1; k-- > 0;)
        b.reduce(x[k], x.back(), part);
    if (result != x.back())
        b.copy(x.back(), result, part);
}

/**
 * `part` cut at every bound between blocks of any team.  An operator may treat the end of a long
 * call differently from its middle (vector instructions: op/avx saturates, or picks the other of
 * two zeros, in whole vectors only), so that all sites must combine the same pieces.
 */
inline std::vector<span_of> pieces_of(const span_of &part, const std::vector<team> &teams)
{
    std::vector<fraction> bounds{part.lo, part.hi};
    for (const team &g : teams)
        for (uint32_t k = 1; k < g.blocks; ++k)
            if (const fraction f{k, g.blocks}; part.lo < f && f < part.hi)
                bounds.push_back(f);
    std::sort(bounds.begin(), bounds.end());
    std::vector<span_of> pieces;
    for (size_t i = 1; i < bounds.size(); ++i)
        if (bounds[i - 1] < bounds[i])
            pieces.push_back({bounds[i - 1], bounds[i]});
    return pieces;
}

/** Parts of a block of one partition that another one cuts it into, at most. */
constexpr int64_t parts_of(int64_t hosts, int64_t others) { return (others + hosts - 1) / hosts + 1; }

/** Operations of fold_and_gather, at most, in a site of so many hosts among sites of these sizes, for so many buffers. */
inline int64_t fold_operations(const std::set<int> &sizes, int64_t hosts, int64_t buffers)
{
    int64_t pieces = 1;
    for (int size : sizes)
        pieces += parts_of(hosts, size) - 1;
    // A gateway hands out the result; steps of the gathering have two messages each, sent and received.
    return pieces * buffers + hosts + 3 + std::max<int64_t>(4 * steps(hosts), 2 * largest_ring);
}

/**
 * What all sites end with: who crossed combines x, what came from everywhere, in the same pieces
 * in every site, and the hosts of `own` gather the result.
 */
inline void fold_and_gather(builder &b, const std::vector<buffer> &x, const std::vector<team> &owners, const gateways &gates,
                            const team &own, inner_steps inner)
{
    const team across = gates.of(own, b.me());
    if (across.has_me()) {
        std::vector<team> crossing;
        for (const team &g : owners)
            crossing.push_back(gates.of(g, b.me()));
        for (const span_of &piece : pieces_of(across.own(), crossing))
            fold(b, x, buffer::out, piece);
    }
    if (!gates.direct())
        reshare(b, across, own, buffer::out, buffer::out, label::cross_out);
    allgather(b, own, buffer::out, inner);
}

} // namespace wan

#endif
