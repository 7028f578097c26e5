/*
 * Round trips without the Ack's own delay, which it tells: smoothed value and
 * variation as in RFC 6298, the smallest of the last ten seconds (who may send
 * to us is not a stranger, so unlike RFC 9002 it is believed there, too), and the
 * time after which the last datagram is probed for.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_RTT_HPP
#define UDP_CORE_RTT_HPP

#include "types.hpp"

#include <algorithm>

namespace udp {

class rtt {
public:
    static constexpr time_ns unknown = 100 * ms;    // until measured: a round trip between continents
    static constexpr time_ns memory = 10 * second;
    static constexpr time_ns growth = second;       // at most, from one to the next: who had no processor read the Ack late

    void sample(time_ns now, time_ns measured, time_ns ack_delay)
    {
        // A delay longer than the whole trip is an error (of a process that did not run for a while): not believed.
        measured = std::clamp<time_ns>(measured > ack_delay ? measured - ack_delay : measured, 1, smoothed() + growth);
        if (min_ == 0 || measured <= min_ || now - min_at_ > memory) {
            min_ = measured;
            min_at_ = now;
        }
        latest_ = measured;
        if (smoothed_ == 0) {
            smoothed_ = measured;
            variation_ = measured / 2;
        } else {
            variation_ += (std::abs(smoothed_ - measured) - variation_) / 4;
            smoothed_ += (measured - smoothed_) / 8;
        }
    }
    bool known() const { return smoothed_ != 0; }
    time_ns smoothed() const { return smoothed_ ? smoothed_ : unknown; }
    time_ns latest() const { return latest_; }
    time_ns smallest() const { return min_ ? min_ : smoothed(); }

    /** After so long without any Ack something is sent to ask for one. */
    time_ns probe_timeout(time_ns ack_delay, unsigned backoff) const
    {
        const time_ns t = smoothed() + std::max<time_ns>(4 * variation_, 1 * ms) + ack_delay;
        return std::min<time_ns>(t << std::min(backoff, 10u), std::max<time_ns>(500 * ms, 2 * t));
    }
    /** A datagram that is so much older than one that arrived is lost. */
    time_ns reorder_time() const { return std::max<time_ns>(std::max(smoothed(), latest_) * 9 / 8, 50 * us); }

private:
    time_ns smoothed_ = 0, variation_ = 0, latest_ = 0, min_ = 0, min_at_ = 0;
};

} // namespace udp

#endif
