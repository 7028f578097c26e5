/*
 * A plan: which algorithm with which parameters.  A small value that is equal
 * on all ranks, can be printed and parsed, and determines the schedules
 * together with the topology.  Next: algo/registry.hpp, plan/planner.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_PLAN_PLAN_HPP
#define WAN_PLAN_PLAN_HPP

#include "wan_core.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wan {

struct algorithm;

/** How sites hand a broadcast on. */
enum class site_order : uint8_t {
    star,   // the root's site sends to every other: one latency
    chain   // each site sends to the next: every uplink carries the message once
};

/** How the hosts of a site hand blocks around. */
enum class inner_steps : uint8_t {
    circulant,  // ceil(log2 p) steps, a new peer each (powers of two: halving and doubling)
    ring,       // p-1 steps, always to the same neighbour: fewer, fuller connections
    halving     // the largest power of two halves, the others hand in and get whole segments
};

/**
 * In which groups and order contributions are combined: the expression behind each element of a result.
 */
enum class association : uint8_t {
    any,        // may depend on the element, the plan, the measured links
    tree,       // canonical_tree() over the ranks of a host, over a site's hosts; then x0 (x1 (x2 ...)) over sites
    runs,       // x0 (x1 (x2 ...)) over neighbouring ranks of one site, the same over these runs; in the order of ranks
    prefix,     // scans by runs: what stands before a rank in its run, after the totals of the runs before
    line        // scans along a chain of all ranks
};

struct plan {
    const algorithm *algo = nullptr;
    int root = 0;
    uint32_t links = 1;             // n: processes of a site that send to another site
    uint32_t lambda = 1;            // trees: latency of a hop in units of the time a send takes, >= 1
    uint32_t entries = 1;           // trees: hosts of a site that another site's messages reach directly, >= 1
                                    // gather, scatter direct: blocks of the root's site under way at once
                                    // alltoall direct: a rank's messages to other sites under way at once
    site_order order = site_order::star;
    inner_steps inner = inner_steps::circulant;
    association grouping = association::any;    // reductions; what coll_wan_stable asks for
    uint32_t pieces = 1;            // vectors: parts in which a block travels, >= 1

    // How the message is cut; the schedule does not depend on these.
    uint64_t segment_bytes = UINT64_MAX;
    uint32_t window = 1;

    int64_t predicted_ns = 0;
};

/** "bcast vandegeijn root 0 links 15 lambda 1 entries 1 order star inner ring pieces 1 segment 8192 window 8", and "grouping tree" where that is not `any`. */
std::string print(const plan &p);
std::optional<plan> parse_plan(std::string_view text);

} // namespace wan

#endif
