/*
 * The largest datagram that the path carries, found by probes (RFC 8899): a
 * probe that arrives raises the value, one that does not lowers the ceiling, and
 * nothing depends on ICMP.  When everything of the present size vanishes, the
 * value falls back to what every path carries and the search begins anew.
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
    static constexpr uint32_t common[] = {1400, 1452, 1472, 8952, 8972};

    path_mtu(uint32_t start, uint32_t most) : base_(start), value_(start), most_(std::max(start, most)), ceiling_(most_) {}

    uint32_t value() const { return value_; }
    /** What every path carries. */
    uint32_t base() const { return base_; }

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
        most_ = std::max(base_, std::min(most_, bytes - 1));
        ceiling_ = std::min(ceiling_, most_);
        value_ = std::min(value_, ceiling_);
        settle(now);
    }
    /**
     * What became of ordinary datagrams: many large ones lost, and none that left
     * after them arrives, is a path that has become narrower.  Small ones prove
     * nothing, they get through; nor does a queue that overflowed.
     */
    void fared(time_ns now, uint32_t bytes, time_ns sent, bool arrived)
    {
        if (bytes <= base_)
            return;
        if (arrived) {
            vanished_ = 0;
            proven_ = std::max(proven_, sent);
        } else if (sent > proven_ && ++vanished_ >= narrow) {
            black_hole(now);
        }
    }
    /** Nothing has arrived for several timeouts. */
    void black_hole(time_ns now)
    {
        vanished_ = 0;
        if (value_ == base_)
            return;
        ceiling_ = std::max(base_, value_ - 1);
        value_ = base_;
        tried_ = 0;
        next_ = now;
        restart_ = now + again;
    }

private:
    /** The ceiling first, as it is mostly right; then sizes in common use; then halves. */
    uint32_t candidate(uint32_t ceiling) const
    {
        if (ceiling < value_ + step && !(ceiling == most_ && value_ < most_))
            return 0;
        if (ceiling == most_)
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

    uint32_t base_, value_, most_, ceiling_;
    uint32_t pending_ = 0;
    unsigned tried_ = 0, vanished_ = 0;
    time_ns next_ = 0, restart_ = never;
    time_ns proven_ = -1;       // when the latest large one that arrived had left
};

} // namespace udp

#endif
