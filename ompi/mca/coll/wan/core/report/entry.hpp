/*
 * Where the core's ways meet the report: nothing happens there without one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_REPORT_ENTRY_HPP
#define WAN_REPORT_ENTRY_HPP

#include "comm.hpp"

namespace wan {

/** A call of the program has its run. */
inline void report_note(wan_run &run, const wan_call_t &call, const request &r)
{
    if (!run.comm->report || call.internal)
        return;
    std::lock_guard hold(run.comm->lock);
    run.noted = run.comm->report->note(call, r, run.plan ? &*run.plan : nullptr);
}

/** A call that is not ours; left: by choice. */
inline void report_declined(wan_comm &comm, const wan_call_t &call, const request &r, bool left)
{
    if (!comm.report || call.internal)
        return;
    std::lock_guard hold(comm.lock);
    comm.report->declined(r, left);
}

} // namespace wan

#endif
