/*
 * The algorithms, one file each.  A descriptor at the end of the file says
 * what the algorithm is; MCA enumerators, ompi_info's text, the planner's
 * search space, the test matrix and the documentation table come from it.
 * A new algorithm: its file, a line in registry.cpp, a line in core/local.mk.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_REGISTRY_HPP
#define WAN_ALGO_REGISTRY_HPP

#include "collective.hpp"
#include "model/facts.hpp"
#include "plan/plan.hpp"
#include "sched/builder.hpp"

#include <span>

namespace wan {

/** What the planner knows of a call: equal on all ranks. */
struct request {
    wan_collective_t collective = WAN_BCAST;
    int root = 0;
    uint64_t bytes = 0;             // of the message; of all blocks of the vector (alltoall: of a rank's)
    uint64_t element_bytes = 1;
    bool commutative = true;
    bool counts_vary = false;       // blocks differ in size
    bool counts_local = false;      // and not all ranks know all sizes: `bytes` is 0
    bool stable = false;            // the same expression whatever the plan: coll_wan_stable
    bool polled = false;            // the program looks after it now and then, maybe rarely: non-blocking forms

    friend bool operator==(const request &, const request &) = default;
};

/** Which of a plan's parameters an algorithm looks at: the planner searches those. */
enum uses : uint16_t {
    uses_nothing = 0,
    uses_links = 1,
    uses_segment = 2,
    uses_tree = 4,      // lambda
    uses_entries = 8,
    uses_order = 16,
    uses_inner = 32,
    uses_stripes = 64,  // links: fewer than allowed may be better
    uses_pieces = 128,
    uses_far_limit = 256    // entries: from far_limit(), not searched
};

/**
 * How often what crosses does: as seldom as it can, to each entry of a site, from or to each rank, for each run of them, from each host;
 * each of the S sites' shares of it, to the site that combines it, and from there: 2/S times, one after the other; an Alltoall's
 * blocks as often as their hops of 1, 2, 4, ... slots do.
 */
enum class crossing : uint8_t { once, by_entries, by_rank, by_run, by_host, by_share, by_hops };
constexpr size_t crossings = static_cast<size_t>(crossing::by_hops) + 1;

/** A set of associations. */
constexpr uint8_t computes(association a) { return static_cast<uint8_t>(1u << static_cast<unsigned>(a)); }

struct algorithm {
    wan_collective_t collective;
    const char *name;
    const char *summary;        // one sentence
    const char *source;         // paper and section, or "coll/wan"
    uint16_t parameters;        // of `uses`
    bool automatic;             // false: reference, chosen only by name
    bool long_messages;         // on which side of coll_wan_threshold it stands
    bool keeps_order;           // right for operators that do not commute
    bool only_ordered = false;  // and only for those: commuting ones have faster forms

    /** Most processes of one site that send to another one: the planner keeps it within n. */
    uint32_t (*senders)(const topology &t, const plan &p);
    /** Whether it can serve the call at all on this topology. */
    bool (*serves)(const topology &t, const request &r);
    /** Most scratch buffers of a rank, each of a segment's size, or as long as the whole vector; nullptr: none. */
    uint32_t (*buffers)(const topology &t, const plan &p) = nullptr;
    /** Predicted time of the slowest rank in ns; integers only. */
    int64_t (*cost)(const topology &t, const facts &f, const request &r, const plan &p);
    /** Rank me's operations. */
    void (*build)(const topology &t, const plan &p, builder &b);
    /** Right for blocks of different sizes, and where not every rank knows all of them. */
    bool any_counts = false, local_counts = false;
    /** Ranks send one after the other: `senders` counts those with payload under way at once. */
    bool takes_turns = false;
    crossing crosses = crossing::once;
    /** The associations that it computes where the plan names them, whatever else is in the plan. */
    uint8_t groupings = 0;
};

/** All of them; per collective in the order of their enumerators (1, 2, ...). */
std::span<const algorithm *const> algorithms();

/** Enumerator k >= 1 of a collective; nullptr past the end. */
const algorithm *algorithm_at(wan_collective_t collective, int k);
int algorithm_count(wan_collective_t collective);
const algorithm *algorithm_named(wan_collective_t collective, std::string_view name);
/** Of whoever names one that cannot serve a call. */
inline std::string serves_not(const std::string &who, const algorithm &a) { return who + " names " + std::string(a.name) + ", which does not serve it here"; }

/** `senders` of algorithms that go through gateways, through one rank a site, or straight from all ranks. */
uint32_t gateway_senders(const topology &t, const plan &p);
uint32_t one_sender(const topology &t, const plan &p);
uint32_t all_senders(const topology &t, const plan &p);

/**
 * Rank me's schedule for a plan.  `scattered`: blocks of neighbouring slots do not follow each
 * other in the caller's buffers, so that operations on these name one block at a time.
 */
schedule build_schedule(const topology &t, const plan &p, int me, bool scattered = false);

} // namespace wan

#endif
