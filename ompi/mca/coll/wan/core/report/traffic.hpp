/*
 * Who sends how much to whom under a plan: from the schedules of all ranks, as they would
 * build them, not from what an algorithm says of itself.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_REPORT_TRAFFIC_HPP
#define WAN_REPORT_TRAFFIC_HPP

#include "algo/registry.hpp"

#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace wan {

struct flow {
    uint64_t bytes = 0, messages = 0;
};

struct traffic {
    std::map<std::pair<int, int>, flow> flows;      // by ranks: from, to
    flow across, inside;                            // between sites; between hosts of a site
    uint32_t senders = 0;                           // most ranks of a site that send to other sites

    traffic(const topology &t, const plan &p, const request &r);
};

/** A host: its site, its number there. */
using host_place = std::pair<int, int>;
/** From, to; up to `most` of them, beyond that none at all. */
struct host_flows {
    size_t most;
    std::map<std::pair<host_place, host_place>, flow> all = {};
    bool too_many = false;
};

/**
 * What crosses between sites, alone; nullopt: `enough` said so, which is asked before each rank.  hosts: if not nullptr,
 * what hosts send each other.
 */
std::optional<flow> crossing_flow(const topology &t, const plan &p, const request &r, const std::function<bool()> &enough,
                                  host_flows *hosts = nullptr);

} // namespace wan

#endif
