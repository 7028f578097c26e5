/*
 * Neighbourhood collectives behind wan_run_t.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_GRAPH_RUN_HPP
#define WAN_GRAPH_RUN_HPP

#include "comm.hpp"

namespace wan {

wan_run *exchange_begin(wan_comm &comm, const wan_call_t &call, const wan_port_t *port, void *port_ctx);
std::string exchange_describe(const wan_run &run);

} // namespace wan

#endif
