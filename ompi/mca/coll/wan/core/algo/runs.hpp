/*
 * Runs of neighbouring ranks in one site: what can be combined before it
 * crosses where the order of ranks counts.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_RUNS_HPP
#define WAN_ALGO_RUNS_HPP

#include "algo/fold.hpp"
#include "algo/parts.hpp"
#include "algo/sites.hpp"

#include <algorithm>
#include <vector>

namespace wan {

/** Scratch of a schedule that holds a buffer for each rank and run: of the 253 it may have; memory is a window of segments for each. */
constexpr int most_buffers = 240;

/** Ranks first .. last, all in one site, and neither neighbour is. */
struct run {
    int first, last, site;
};

/** All of them, in the order of ranks: for schedules.  How many there are, the topology knows. */
inline std::vector<run> runs_of(const topology &t)
{
    std::vector<run> all;
    for (int r = 0; r < t.size(); ++r) {
        const int s = static_cast<int>(value(t.site_of(r)));
        if (all.empty() || all.back().site != s)
            all.push_back({r, r, s});
        all.back().last = r;
    }
    return all;
}

/** What came from the ranks of a run (x, by rank), combined on `part` in the last one's buffer, which is returned. */
inline buffer fold_run(builder &b, const run &r, const std::vector<buffer> &x, span_of part)
{
    const std::vector<buffer> of_run(x.begin() + r.first, x.begin() + r.last + 1);
    fold(b, of_run, of_run.back(), part);
    return of_run.back();
}

/**
 * association::runs of what came from every rank (x, by rank; the last one of each run is overwritten) on `part`;
 * association::any: x0 (x1 (x2 ...)) over all of them.
 */
inline void fold_ranks(builder &b, const topology &t, const std::vector<buffer> &x, buffer result, span_of part, association grouping)
{
    if (grouping != association::runs)
        return fold(b, x, result, part);
    std::vector<buffer> partial;
    for (const run &r : runs_of(t))
        partial.push_back(fold_run(b, r, x, part));
    fold(b, partial, result, part);
}

/** Whether every site's ranks are neighbours: then sites follow each other in the order of ranks, too. */
inline bool sites_are_runs(const topology &t)
{
    if (t.run_count() != t.site_count())
        return false;
    for (int s = 0, first = 0; s < t.site_count(); first += t.rank_count(site_at(s++)))
        if (t.rank_at(site_at(s), 0) != first)     // the lowest of a site; ranks below the next site's belong to no later one
            return false;
    return true;
}

/** Whether a buffer for each rank of a site and for each run is not too many. */
inline bool runs_fit(const topology &t)
{
    return most_ranks(t) <= most_buffers && most_ranks(t) + t.run_count() <= most_buffers;
}

/** That many: for algorithm::buffers. */
inline uint32_t run_buffers(const topology &t, const plan &)
{
    return static_cast<uint32_t>(most_ranks(t)) + static_cast<uint32_t>(t.run_count());
}

/** Everyone's share of each block goes to the block's owner: a buffer for each rank of my site (by rank), if I am one. */
inline std::vector<buffer> collect_blocks(builder &b, const topology &t, const team &own, int mine)
{
    for (uint32_t k = 0; k < own.blocks; ++k) {
        const uint32_t j = (static_cast<uint32_t>(b.me()) + k) % own.blocks;     // not all to the first at first
        if (own.rank(j) != b.me())
            b.send(buffer::in, block(j, own.blocks), own.rank(j), label::direct);
    }
    std::vector<buffer> from_rank;
    if (!own.has_me())
        return from_rank;
    from_rank.assign(static_cast<size_t>(t.size()), buffer::out);
    for (int node = 0; node < t.node_count(site_at(mine)); ++node)
        for (int lane = 0; lane < t.lane_count(site_at(mine), node); ++lane) {
            const int r = t.rank_at(site_at(mine), node, lane);
            from_rank[static_cast<size_t>(r)] = b.scratch();
            if (r == b.me())
                b.copy(buffer::in, from_rank[static_cast<size_t>(r)], own.own());
            else
                b.recv(from_rank[static_cast<size_t>(r)], own.own(), r, label::direct);
        }
    return from_rank;
}

} // namespace wan

#endif
