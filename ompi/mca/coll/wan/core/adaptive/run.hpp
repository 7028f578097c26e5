/*
 * Calls that travel along adaptive trees, behind wan_run_t: which ones may, and
 * how they go on.  Which ones do: wan_comm::decide().
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_RUN_HPP
#define WAN_ADAPTIVE_RUN_HPP

#include "comm.hpp"

namespace wan {

/**
 * Why a call's type, blocks or communicator are not for trees, whoever asks for them, as "which ..." goes on; "": they are.  Beside
 * wan_comm::trees_refuse(), which needs no call.  (That an operator does not commute is no reason.)
 */
const char *trees_unfit(const wan_comm &comm, const wan_call_t &call);
/** A trial's begins with its first step. */
wan_run *trees_begin(wan_comm &comm, const wan_call_t &call, const wan_port_t *port, void *port_ctx);
int trees_progress(wan_run &run);
bool trees_pending(const wan_run &run);
/** It, and all that come on its communicator, end with WAN_ERR_PORT. */
void trees_abandon(wan_run &run);
/** Nothing is predicted: to be compared with it, no time is counted either; what it says of links is. */
void trees_account(wan_run &run, int64_t elapsed_ns);
void trees_release(wan_run &run);
std::string trees_describe(const wan_run &run);

} // namespace wan

#endif
