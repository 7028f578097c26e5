/*
 * Checks that the schedules of all ranks together compute their collective.
 * The bytes that move are symbols: a leaf (rank, element) or the application
 * of the operator to two symbols, numbered so that equal numbers mean equal
 * expressions.  So one run on the in-memory port shows
 *   - that every message has its counterpart of equal size, and nothing hangs,
 *   - that each rank ends with what the collective promises, every
 *     contribution in it once, in the right order where the operator does not
 *     commute,
 *   - that all ranks evaluated the same expression: identical bits.
 * A static look at each schedule adds that no two operations that may run at
 * once touch the same bytes, and that labels are unambiguous.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_SCHED_VERIFIER_HPP
#define WAN_SCHED_VERIFIER_HPP

#include "collective.hpp"
#include "exec/engine.hpp"
#include "topo/topology.hpp"

#include <functional>

namespace wan {

struct verify_options {
    wan_collective_t collective = WAN_BCAST;
    int root = 0;
    size_t count = 1;           // elements of the message
    size_t segment = 1;         // elements of a segment
    uint32_t window = 1;
    bool in_place = false;
    bool commutative = true;
    uint64_t seed = 1;          // order of delivery
    /**
     * Collectives with a block for each rank: elements of the block of rank r is sizes[r % n], of the one
     * from rank r to rank q sizes[(2r + q) % n]; empty: `count`.
     */
    std::vector<size_t> sizes = {};
    bool scattered = false;     // blocks lie in the order of ranks, with gaps: else in slot order, without
};

/** What a run showed: what crossed between sites, per direction, and the expression of the result. */
struct observations {
    struct direction {
        uint64_t messages = 0;
        uint64_t elements = 0;
        std::vector<int> senders;   // of payload: ranks, ascending, each once
    };
    int sites = 0;
    std::vector<direction> between; // [from * sites + to]
    std::vector<int> at_once;       // [site]: most of its ranks with payload for other sites under way at once
    /**
     * Reductions: a number for the expression that all elements of the result share; scans: for those of all ranks together; 0: elements differ.
     */
    uint64_t expression = 0;
    const direction &at(site_id from, site_id to) const
    {
        return between[value(from) * static_cast<size_t>(sites) + value(to)];
    }
};

/**
 * schedules[r] is rank r's.  Returns "" if all is well, else what is wrong in
 * a sentence.  `traffic`, if given, is filled with what crossed between sites.
 */
std::string verify(const topology &topo, const std::vector<std::shared_ptr<const program>> &schedules,
                   const verify_options &options, observations *traffic = nullptr);

/**
 * Two parts of it: the look at each text by itself, for which only the collective and the root matter
 * in `options`; and the run.  For those who have verified the same schedules with another call.
 */
std::string verify_texts(const topology &topo, const std::vector<std::shared_ptr<const program>> &schedules, const verify_options &options);
std::string verify_run(const topology &topo, const std::vector<std::shared_ptr<const program>> &schedules,
                       const verify_options &options, observations *traffic = nullptr);

/** The static part for one rank; `apart`: the caller's two buffers have nothing in common. */
std::string verify_static(const schedule &s, bool apart = false);

} // namespace wan

#endif
