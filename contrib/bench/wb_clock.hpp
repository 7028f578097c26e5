// Time for wanbench_worker: one clock for all ranks, and waiting for an instant.
//
// All instants that ranks exchange are nanoseconds of rank 0's CLOCK_MONOTONIC.
// Ranks that run under the same kernel (equal boot_id: a lab of network
// namespaces, or one host) share that clock; every other kernel's clock is
// mapped by an offset found with a minimum-RTT ping-pong.  Must not use
// collectives: they are what is measured.  Next: wb_control.hpp, wb_point.hpp.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef WB_CLOCK_HPP
#define WB_CLOCK_HPP

#include <cstdint>
#include <string>

namespace wb {

using ns_t = std::int64_t;

constexpr ns_t millisecond_ns = 1'000'000;
constexpr ns_t second_ns = 1'000'000'000;

// This kernel's CLOCK_MONOTONIC.
ns_t local_now_ns();

// Sleeps until `local_ns`, spinning for the last `spin_ns` (0 where ranks share
// cores: a spinning rank would delay the waking of the others).
void local_sleep_until(ns_t local_ns, ns_t spin_ns);

// Identity of the running kernel, "" if unknown.
std::string kernel_boot_id();

// Wakes as exactly as the kernel can: the default slack of 50 us would show.
void timer_slack_minimize();

// Maps this rank's clock to rank 0's.
struct clock_map {
    ns_t offset_ns = 0;         // rank 0's clock minus ours
    ns_t error_ns = 0;          // half of the shortest round trip seen

    ns_t now_ns() const { return local_now_ns() + offset_ns; }
    ns_t to_local(ns_t common_ns) const { return common_ns - offset_ns; }
};

}  // namespace wb
#endif
