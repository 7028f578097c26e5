/*
 * Topologies, facts and calls that tests of planning share.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_UNIT_PLANNED_HPP
#define TEST_UNIT_PLANNED_HPP

#include "plan/planner.hpp"

namespace wan_test {

using namespace wan;

inline topology two_sites(int hosts = 8, int lanes = 1)
{
    const std::vector<int> sizes(2, hosts);
    return topology::blocks(sizes, lanes);
}

inline facts facts_of(const topology &t)
{
    facts f;
    f.sites = t.site_count();
    return f;
}

inline constexpr uint64_t sizes_tried[] = {0, 1, 4, 8, 1000, 1024, 65536, 262144, 1 << 20, 16 << 20, uint64_t{1} << 32};

/** As probed in the lab: 40 Mb/s, 10 ms. */
inline facts lab_facts(const topology &t)
{
    facts f = facts_of(t);
    f.byte_ps = 209'000;
    f.lan_ns = 100'000;
    f.message_ns = 20'000;
    f.step_ns = 430'000;
    return f;
}

/** Collectives about one message. */
inline constexpr wan_collective_t whole_messages[] = {WAN_BCAST, WAN_ALLREDUCE, WAN_REDUCE, WAN_BARRIER, WAN_SCAN, WAN_EXSCAN};

inline request call(wan_collective_t c, uint64_t bytes, bool commutative = true, uint64_t element = 4)
{
    return {.collective = c, .root = 0, .bytes = bytes / element * element, .element_bytes = element, .commutative = commutative};
}

} // namespace wan_test

#endif
