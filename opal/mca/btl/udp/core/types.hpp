/*
 * What the files of the core share: time, what is to be sent, what happens to
 * the caller, the numbers that steer it all.
 *
 * Must not: know sockets, clocks, Open MPI.
 * Next: endpoint.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_TYPES_HPP
#define UDP_CORE_TYPES_HPP

#include "wire.hpp"

#include <cstdint>
#include <limits>
#include <span>

namespace udp {

using time_ns = int64_t;
constexpr time_ns never = std::numeric_limits<time_ns>::max();
constexpr time_ns us = 1000, ms = 1000 * us, second = 1000 * ms;

/**
 * A block on its way out.  The caller owns it and its data until events::sent:
 * that comes once, when the peer has all of it or is given up.
 */
struct outgoing {
    const uint8_t *data = nullptr;
    uint32_t length = 0;
    uint8_t stream = 2;         // 0 control, 1 small, 2 bulk: lower goes first
    uint8_t user = 0;           // arrives with the block
    // The core's:
    uint32_t block = 0;
    uint32_t settled = 0;       // bytes the peer has
    uint32_t begun = 0;         // bytes sent at least once
    outgoing *next = nullptr;
};

/** What the core tells its caller; a call may submit, and nothing else. */
class events {
public:
    virtual ~events() = default;
    virtual void deliver(uint32_t peer, uint8_t stream, uint8_t user, std::span<const uint8_t> block) = 0;
    virtual void sent(uint32_t peer, outgoing &o, bool arrived) = 0;
    /**
     * Somebody unknown uses the id of a process that may be of this job; the caller
     * may add it now.  For ids below config::ids; of one that is not added ever less often.
     * Returns the time afterwards: a look-up may be long; never: nobody was asked.
     */
    virtual time_ns unknown(uint32_t, time_ns now) { return now; }
    /** Nobody takes blocks now, and no more can be kept: they are to come again. */
    virtual bool full() const { return false; }
    /** Of all that was sent for config::unheard nothing was ever answered; once per peer. */
    virtual void unheard(uint32_t) {}
    /** Nothing was heard for as long as config::dead allows; once per peer. */
    virtual void dead(uint32_t peer) = 0;
};

enum class controller : uint8_t { tolerant, cubic, bbr, fixed };

struct config {
    bool strict = false;                // Suci as in the paper: go-back-N
    bool ordered = true;                // blocks of a stream are delivered in order
    wire::security security = wire::security::off;
    controller control = controller::tolerant;
    uint32_t ids = 0;                   // of this job: below; others are never looked up
    uint64_t rate = 125'000'000;        // bytes/s of the fixed controller
    uint32_t mtu_floor = 548;           // bytes of a datagram without IP and UDP that any path carries; at least wire::datagram_least
    uint32_t mtu_start = 1200;          // and nearly any
    uint32_t mtu_max = 1472;            // the largest that is tried
    uint64_t window = 16 << 20;         // bytes a peer may have under way to us
    uint64_t unscheduled = 16 << 10;    // of these, without being asked for
    uint32_t senders = 1;               // that may send to us: before anything is known of them they share `unscheduled`
    uint64_t incast = 0;                // bytes that all peers together may have under way when several want to; 0: measured
    uint32_t block_max = 1 << 20;       // bytes
    uint32_t retransmit_pass = 64;      // datagrams sent again to a peer before others have their turn
    time_ns ack_delay = 1 * ms;         // the longest an Ack waits for company
    uint32_t ack_every = 8;             // datagrams
    time_ns dead = never;
    time_ns unheard = 10 * second;      // longer than processes take to start, and compute before they first look
};

/** What an application may look at, per peer. */
struct peer_view {
    time_ns delay = 0;          // smoothed round trip; 0: not measured
    time_ns delay_min = 0;
    uint64_t window = 0;        // bytes that the controller lets be under way
    uint64_t window_own = 0;    // bytes that the peer may have under way to us
    uint64_t permitted = 0;     // bytes that the receiver permits beyond what was sent
    uint64_t under_way = 0;     // bytes
    uint64_t queue = 0;         // blocks not yet acknowledged
    uint64_t queue_bytes = 0;   // bytes not yet acknowledged
    uint64_t sent = 0, sent_again = 0;      // datagrams with data
    uint64_t received = 0, duplicates = 0;  // datagrams; frames that brought nothing new
    uint32_t mtu = 0;
};

} // namespace udp

#endif
