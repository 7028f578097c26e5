/*
 * Where what was given about sites and links, and what was measured, contradict each other: for
 * people, with the figures.  What was given counts all the same.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_CONTRADICTIONS_HPP
#define WAN_MEASURE_CONTRADICTIONS_HPP

#include "model/probe.hpp"
#include "topo/cluster_map.hpp"

#include <string>
#include <vector>

namespace wan {

struct contradictions {
    std::vector<std::string> links;     // of the map's figures: latencies and interfaces, worst first
    std::vector<std::string> widths;    // bandwidths between sites, which are measured later (model/widths.hpp), likewise
    std::vector<std::string> wide;      // of names: a site that is wider than any
    std::vector<std::string> near;      // of names: sites that are nearer to each other than hosts of one
    bool any() const { return !links.empty() || !widths.empty() || !wide.empty() || !near.empty(); }
    /** A clause for each, as many as fit. */
    std::string text(size_t most) const;
    /** What to do about them. */
    std::string remedy() const;
};

/**
 * Only what is both given and measured: zeros in `measured` are not, nor is anything inside sites of one host, nor what hosts
 * could not fill, of a bandwidth that is given as more than they got.  pretended: sites have hosts in common, so that who named
 * them knows that they are near.
 */
contradictions contradictions_of(const topology &t, const link_hints &given, const fact_vector &measured, bool pretended = false);

} // namespace wan

#endif
