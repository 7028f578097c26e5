/*
 * The largest datagram that the path carries, found by probes (RFC 8899): a
 * probe that arrives raises the value, one that does not lowers the ceiling, and
 * nothing depends on ICMP.  When everything of the present size vanishes, the
 * value falls back to what nearly every path carries, and where even that vanishes while
 * smaller ones get through, to what all do; then the search begins anew.
 *
 * Must not: send; modern.cpp asks `wants` and tells what became of a probe.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_PATH_MTU_HPP
#define UDP_CORE_PATH_MTU_HPP

#include "types.hpp"

#include <algorithm>

namespace udp {

class path_mtu {
public:
    static constexpr unsigned tries = 3;            // a probe lost three times was too large
    static constexpr unsigned narrow = 10;          // at 20% of random loss once in ten million
    static constexpr uint32_t step = 32;            // a finer search is not worth its probes
    static constexpr time_ns again = 60 * second;   // the path may have become wider
    static constexpr uint32_t crumb = 128;          // bytes that a full datagram may be short of the present size
    static constexpr uint32_t common[] = {1400, 1452, 1472, 8952, 8972};

    path_mtu(uint32_t floor, uint32_t start, uint32_t most)
        : floor_(std::min(floor, start)), base_(start), value_(start), most_(std::max(start, most)), ceiling_(most_) {}

    uint32_t value() const { return value_; }
    /** What nearly every path carries. */
    uint32_t base() const { return base_; }
    /** What every path carries. */
    uint32_t floor() const { return floor_; }

    /** Bytes of a probe to be sent now; 0: none. */
    uint32_t wants(time_ns now) const
    {
        if (pending_ || now < next_)
            return 0;
        return candidate(now >= restart_ ? most_ : ceiling_);
    }
    void sent(time_ns now, uint32_t bytes)
    {
        if (now >= restart_) {
            ceiling_ = most_;
            tried_ = 0;
            restart_ = never;
        }
        pending_ = bytes;
    }
    void arrived(time_ns now, uint32_t bytes)
    {
        if (bytes > value_)
            value_ = std::min(bytes, most_);
        tried_ = 0;
        pending_ = 0;
        settle(now);
    }
    void lost(time_ns now, uint32_t bytes)
    {
        if (bytes > most_)
            return;     // it had been refused
        pending_ = 0;
        if (++tried_ >= tries) {
            ceiling_ = std::max(value_, std::min(ceiling_, bytes - 1));
            tried_ = 0;
        }
        settle(now);
    }
    /** The device itself refused this size. */
    void refused(time_ns now, uint32_t bytes)
    {
        pending_ = 0;
        tried_ = 0;
        refused_ = true;
        if (bytes <= base_)
            base_ = floor_;
        most_ = std::max(base_, std::min(most_, bytes - 1));
        ceiling_ = std::min(ceiling_, most_);
        if (bytes <= value_)
            value_ = base_;
        settle(now);
    }
    /**
     * What became of ordinary datagrams: many lost, and none as large that left
     * after them arrives, is a path that has become narrower.  Smaller ones prove
     * nothing, they get through; nor does a queue that overflowed.  True: to the floor.
     */
    bool fared(time_ns now, uint32_t bytes, time_ns sent, bool arrived)
    {
        if (arrived && bytes >= (vanished_ ? vanished_least_ : value_ - std::min(value_, crumb))) {
            vanished_ = 0;
            vanished_least_ = ~uint32_t(0);
            proven_ = std::max(proven_, sent);
        } else if (!arrived && bytes > floor_ && bytes <= value_ && sent > proven_) {
            vanished_least_ = std::min(vanished_least_, bytes);
            if (++vanished_ >= narrow)
                return black_hole(now);
        }
        return false;
    }
    /** Nothing has arrived for several timeouts: with nobody there, what every path carries would arrive no better. */
    void silent(time_ns now)
    {
        if (value_ > base_)
            (void) black_hole(now);
    }
    /** After timeouts the first that arrives is a small one, and all large ones before it are lost.  True: to the floor. */
    bool only_small(time_ns now) { return vanished_ >= tries && black_hole(now); }

private:
    bool black_hole(time_ns now)
    {
        vanished_ = 0;
        vanished_least_ = ~uint32_t(0);
        if (value_ == floor_)
            return false;
        // What falls to the floor may have been an unlucky start: the ceiling stays.
        if (value_ > base_)
            ceiling_ = std::max(base_, value_ - 1);
        value_ = value_ > base_ ? base_ : floor_;
        tried_ = 0;
        next_ = now;
        restart_ = now + again;
        return value_ == floor_;
    }

    /** The ceiling first, as it is mostly right; then sizes in common use; then halves. */
    uint32_t candidate(uint32_t ceiling) const
    {
        const bool untried = ceiling == most_ && value_ < most_ && !refused_;
        if (ceiling < value_ + step && !untried)
            return 0;
        if (untried)
            return most_;
        for (size_t i = std::size(common); i-- > 0;)
            if (common[i] > value_ && common[i] <= ceiling)
                return common[i];
        return value_ + (ceiling - value_ + 1) / 2;
    }
    void settle(time_ns now)
    {
        next_ = now;
        if (candidate(ceiling_) == 0 && value_ < most_ && restart_ == never)
            restart_ = next_ = now + again;
        else if (candidate(ceiling_) == 0)
            next_ = restart_;
    }

    const uint32_t floor_;
    uint32_t base_, value_, most_, ceiling_;
    uint32_t pending_ = 0;
    bool refused_ = false;      // most_ is one less than what a device refused
    unsigned tried_ = 0, vanished_ = 0;
    uint32_t vanished_least_ = ~uint32_t(0);    // bytes of the smallest of these
    time_ns next_ = 0, restart_ = never;
    time_ns proven_ = -1;       // when the latest large one that arrived had left
};

} // namespace udp

#endif
