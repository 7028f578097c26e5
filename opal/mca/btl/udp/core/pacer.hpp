/*
 * Spreads datagrams over time in user space: each may leave when those before
 * it have had their time at the given rate.  After a pause what should have left
 * in it may leave at once, up to an eighth of a round trip: a process that has the
 * core only from time to time would otherwise send only then, and so much less.
 * At least 2 ms: timers are coarser than datagrams.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_PACER_HPP
#define UDP_CORE_PACER_HPP

#include "types.hpp"

#include <algorithm>

namespace udp {

class pacer {
public:
    static constexpr time_ns burst = 2 * ms;        // of the present rate
    static constexpr int burst_part = 8;            // of a round trip
    static constexpr unsigned burst_datagrams = 10; // but at least these

    /** When the next datagram may leave: <= now means now. */
    time_ns allowed(time_ns now) const { return next_ - slack_ <= now ? now : next_ - slack_; }

    void sent(time_ns now, uint64_t bytes, uint64_t rate, uint32_t mtu, time_ns trip)
    {
        rate = std::max<uint64_t>(rate, 1);
        slack_ = std::max<time_ns>(std::max(burst, trip / burst_part), static_cast<time_ns>(static_cast<double>(burst_datagrams) * mtu * second / static_cast<double>(rate)));
        slack_ = std::min(slack_, second);
        const time_ns cost = static_cast<time_ns>(static_cast<double>(bytes) * second / static_cast<double>(rate));
        next_ = std::max(next_, now) + std::min<time_ns>(cost, second);
    }

private:
    time_ns next_ = 0, slack_ = 0;
};

} // namespace udp

#endif
