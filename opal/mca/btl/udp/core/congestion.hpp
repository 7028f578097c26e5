/*
 * Congestion control as callbacks: told what was acknowledged and lost, it says
 * how much may be under way and how fast it may leave.  One small file for each
 * controller (cubic.cpp, bbr.cpp, fixed.cpp).
 *
 * A new one: its file, a line in `make_congestion` (congestion.cpp), an
 * enumerator in types.hpp and knobs.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_CONGESTION_HPP
#define UDP_CORE_CONGESTION_HPP

#include "rtt.hpp"
#include "types.hpp"

#include <memory>

namespace udp {

struct ack_event {
    time_ns now;
    uint64_t bytes;             // newly acknowledged
    uint64_t under_way;         // before this Ack
    uint64_t delivered;         // bytes since the start
    uint64_t rate;              // bytes/s, of the newest datagram acknowledged; 0: no sample
    uint64_t prior_delivered;   // when that datagram left
    time_ns sent;               // when that datagram left
    bool app_limited;           // the sample was limited by what there was to send
    bool full;                  // the window was used up
    const rtt &trip;
};

struct loss_event {
    time_ns now;
    uint64_t bytes;
    time_ns newest;             // when the newest of what was lost had left
    uint64_t under_way;
    bool silence;               // found by a timeout, not by later Acks
    const rtt &trip;
};

class congestion {
public:
    virtual ~congestion() = default;
    virtual void acked(const ack_event &e) = 0;
    virtual void lost(const loss_event &e) = 0;
    /** Bytes that may be under way. */
    virtual uint64_t window() const = 0;
    /** Bytes under way with which the path is busy and its queue short; all there are where this is not known. */
    virtual uint64_t enough(const rtt &) const { return ~uint64_t(0); }
    /** Bytes/s. */
    virtual uint64_t pace(const rtt &trip) const = 0;
    /** After a loss that turned out to be a late arrival. */
    virtual void spurious() {}
};

/** The first window of RFC 6928. */
constexpr uint64_t window_initial(uint32_t mtu) { return 10ull * mtu; }

std::unique_ptr<congestion> make_congestion(const config &c, uint32_t mtu);
std::unique_ptr<congestion> make_cubic(uint32_t mtu, bool tolerant);
std::unique_ptr<congestion> make_bbr(uint32_t mtu);
std::unique_ptr<congestion> make_fixed(uint32_t mtu, uint64_t rate);

} // namespace udp

#endif
