// See wb_clock.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "wb_clock.hpp"

#include <cerrno>
#include <ctime>
#include <fstream>
#include <sys/prctl.h>

namespace wb {

ns_t local_now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ns_t{t.tv_sec} * second_ns + t.tv_nsec;
}

void local_sleep_until(ns_t local_ns, ns_t spin_ns) {
    const ns_t wake = local_ns - spin_ns;
    if (wake > local_now_ns()) {
        timespec t{};
        t.tv_sec = static_cast<time_t>(wake / second_ns);
        t.tv_nsec = static_cast<long>(wake % second_ns);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
        }
    }
    while (local_now_ns() < local_ns) {
    }
}

std::string kernel_boot_id() {
    std::string id;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, id);
    return id;
}

void timer_slack_minimize() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace wb
