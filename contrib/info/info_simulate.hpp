/*
 * What a call takes by a plan, by running it: the engines of all ranks, with the schedules that
 * jobs run, over a network in simulated time.  It shares no formula with the planner's
 * predictions, only what is known of the links (model/facts.hpp).
 *
 * The network: a process spends `message` on each message that it sends or receives, one after the
 * other.  A host's interface (both directions), a site's way to all others (both) and its way to
 * one other let messages pass in turn, each at its rate; the next one begins when the first byte
 * is there.  A message beyond Open MPI's eager limit waits for its receiver's consent.
 * Inside a host nothing but `message` counts.  No computation, no loss, no window of TCP.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_SIMULATE_HPP
#define INFO_SIMULATE_HPP

#include "info_cluster.hpp"

namespace info {

struct simulated {
    int64_t ns = 0;                 // from a common start to the end of the last rank
    uint64_t messages = 0;
    uint64_t bytes_across = 0;      // between sites
};

/** Ranks times messages beyond which it would take minutes. */
inline constexpr int most_simulated_ranks = 4096;

/** Throws wrong_word for too many ranks, std::logic_error where a schedule does not end. */
simulated simulate(const cluster &c, const wan::plan &p, const wan_call_t &call);

} // namespace info

#endif
