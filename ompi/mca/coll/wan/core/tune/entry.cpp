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

int wan_comm_trial(const wan_comm_t *comm, int64_t *ahead_ns)
{
    *ahead_ns = comm->trial_ahead_ns;
    return comm->trial;
}

void wan_comm_clock_heard(wan_comm_t *comm, int64_t sent_ns, int64_t arrived_ns)
{
    const auto site = [&](int rank) { return comm->topo.site_of(rank); };
    comm->clock.heard(sent_ns, arrived_ns, comm->links.known.back().latency_ns(site(0), site(comm->me)));
}

int64_t wan_comm_clock_age(const wan_comm_t *comm, int64_t now_ns)
{
    return comm->me != 0 ? 0 : comm->clock_told_ns ? now_ns - *comm->clock_told_ns : INT64_MAX;
}

void wan_comm_clock_told(wan_comm_t *comm, int64_t now_ns) { comm->clock_told_ns = now_ns; }

int wan_comm_clock_instead(wan_comm_t *comm, int64_t age_ns)
{
    std::lock_guard hold(comm->lock);
    if (!comm->tuning.clock_instead(age_ns > wan::common_clock::holds_for(comm->links.known.back().widest_ns())))
        return 0;
    comm->trial = WAN_TRIAL_CLOCK;
    return 1;
}

int64_t wan_comm_clock(const wan_comm_t *comm, int64_t here_ns) { return comm->clock.common_ns(here_ns); }

int64_t wan_comm_clock_here(const wan_comm_t *comm, int64_t common_ns) { return comm->clock.here_ns(common_ns); }

int wan_comm_tried(wan_comm_t *comm, int64_t elapsed_ns, int64_t late_ns, int64_t scores[WAN_TUNE_SCORES])
{
    return guarded([&]() -> int {
        std::lock_guard hold(comm->lock);
        const int what = std::exchange(comm->trial, 0);
        comm->counters.trials += what == WAN_TRIAL_TIMED;
        // Who has not waited for another site came after its messages, or goes before them.
        const bool says_nothing = what == WAN_TRIAL_WATCHED && elapsed_ns < comm->trial_waits_ns;
        if (!comm->tuning.record(says_nothing ? 0 : std::max<int64_t>(1, wan::score_as_usual(elapsed_ns, comm->trial_predicted_ns, comm->tuning.usual_ns())), late_ns))
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
