/*
 * A descriptor that becomes readable when something is due, for who sleeps until
 * one is ready.  It may come early, never late by more than `coarse`: so it is
 * hardly ever set.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_IO_TIMER_HPP
#define UDP_IO_TIMER_HPP

#include "types.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/timerfd.h>
#include <unistd.h>

namespace udp {

class timer {
public:
    static constexpr time_ns coarse = 50 * us;

    timer() = default;
    timer(const timer &) = delete;
    timer &operator=(const timer &) = delete;
    ~timer()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }

    /** "" or what the system says. */
    std::string open()
    {
        fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        return fd_ >= 0 ? "" : std::string("timerfd_create: ") + std::strerror(errno);
    }
    int fd() const { return fd_; }

    /** Everything that was due has been done; what comes next is due then. */
    void set(time_ns now, time_ns due)
    {
        due = std::max(due, now + coarse);
        if (fd_ < 0 || (set_ > now ? set_ <= due : set_ == due))
            return;
        itimerspec t = {};      // none: no longer readable
        if (due != never)
            t.it_value = {due / second, due % second};
        timerfd_settime(fd_, TFD_TIMER_ABSTIME, &t, nullptr);
        set_ = due;
    }

private:
    int fd_ = -1;
    time_ns set_ = never;
};

} // namespace udp

#endif
