/*
 * Who sends how much to whom under a plan: from the schedules of all ranks, as the plugin would
 * build them, not from what an algorithm says of itself.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_TRAFFIC_HPP
#define INFO_TRAFFIC_HPP

#include "algo/registry.hpp"

#include <map>
#include <utility>

namespace info {

struct flow {
    uint64_t bytes = 0, messages = 0;
};

struct traffic {
    std::map<std::pair<int, int>, flow> flows;      // by ranks: from, to
    flow across, inside;                            // between sites; between hosts of a site
    uint32_t senders = 0;                           // most ranks of a site that send to other sites

    traffic(const wan::topology &t, const wan::plan &p, const wan::request &r);
};

} // namespace info

#endif
