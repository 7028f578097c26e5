/*
 * What all hosts of a site share on their way to other sites: uplinks (a map's rates; nobody
 * measures them), and links between two sites (a map's, or measured); and what one connection
 * gets of a link, where that is less.  The algorithms' costs know of interfaces only.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_PLAN_SHARED_WAYS_HPP
#define WAN_PLAN_SHARED_WAYS_HPP

#include "algo/registry.hpp"

namespace wan {

/**
 * Bytes that go from site a to site b, as if blocks were of one size, by algorithms that let
 * nothing cross twice; `order`: whether sites pass a message on to each other.  `home`: the root's
 * site, where there is one.
 */
uint64_t least_crossing(const topology &t, const request &r, int home, site_order order, int a, int b);

/** How often that is multiplied by what an algorithm says of itself; crossing::by_entries: once for each, by_share: its shares, by_hops: rounded up. */
int64_t crossing_copies(const topology &t, wan_collective_t c, crossing kind, int a, int b);

/** Of one call; empty where no rate is known. */
class shared_ways {
public:
    shared_ways(const topology &t, const facts &f, const request &r);

    /**
     * A prediction for a plan whose message goes in `cuts` segments, from one that knows of
     * interfaces only: of the slowest shared way and the rest, the faster is hidden behind the
     * slower, but for the first segment's part of it where both take long.
     */
    int64_t with(const plan &p, int64_t predicted_ns, uint64_t cuts) const;

    /** So many connections fill every link whose rate is known; 0: none is. */
    static uint32_t enough_links(const facts &f);

private:
    static constexpr size_t kinds = crossings;

    bool any_ = false;
    int64_t widest_ = 1;                // hosts
    int64_t far_ns_[2] = {0, 0};        // star, chain
    int64_t busiest_ns_[2][kinds] = {}; // and by crossing
    int64_t lone_ns_[2][kinds] = {};    // as if all of a link's went over one connection
    int64_t narrowest_ = 1;             // hosts, of the sites with such links
    const topology &topo_;
};

} // namespace wan

#endif
