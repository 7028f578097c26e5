/*
 * The C boundary of trials (wan_core.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm.hpp"
#include "guarded.hpp"

#include <algorithm>
#include <utility>

using wan::guarded;

extern "C" {

int wan_comm_trial(const wan_comm_t *comm, int *root, int64_t *pause_ns)
{
    *root = comm->trial_root;
    *pause_ns = comm->trial_pause_ns;
    return comm->trial;
}

int wan_comm_tried(wan_comm_t *comm, int64_t elapsed_ns, int64_t scores[WAN_TUNE_SCORES])
{
    return guarded([&]() -> int {
        std::lock_guard hold(comm->lock);
        const int flags = std::exchange(comm->trial, 0);
        ++comm->counters.trials;
        const int64_t word_ns = wan::trial_word_ns(comm->topo, comm->links.known.back(), comm->trial_root);
        const int64_t score_ns = wan::score_as_usual(word_ns, flags, wan::trial_score(word_ns, elapsed_ns), comm->trial_predicted_ns, comm->tuning.usual_ns());
        if (!comm->tuning.record(comm->me == comm->trial_root ? score_ns : 0))
            return WAN_OK;
        const wan::tune_scores mine = comm->tuning.scores();
        std::copy(mine.begin(), mine.end(), scores);
        return WAN_DONE;
    });
}

int wan_comm_left(wan_comm_t *comm, int64_t elapsed_ns)
{
    return guarded([&]() -> int {
        comm->left_took(elapsed_ns);
        return WAN_OK;
    });
}

int wan_comm_tune(wan_comm_t *comm, const int64_t scores[WAN_TUNE_SCORES])
{
    return guarded([&]() -> int {
        wan::tune_scores combined;
        std::copy(scores, scores + WAN_TUNE_SCORES, combined.begin());
        return comm->decide_trials(combined) ? WAN_DONE : WAN_OK;
    });
}

} // extern "C"
