// SPDX-License-Identifier: BSD-3-Clause
// The emulated wide area: sites, their uplinks, and what lies between them.
//
//   site a --[egress of a]--(pair a>b: rate, loss, delay)--[ingress of b]-- site b
//
// Pure: no sockets, no clock (`now` is an argument), so a test can run a second
// of traffic in a millisecond. Packets of one pair never overtake each other,
// also when the delay is shortened meanwhile, or drawn shorter (jitter): who is faster waits. Next: daemon.h gives it TUNs.
#pragma once

#include <array>
#include <cstdint>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "lateness.h"
#include "link.h"
#include "packet.h"

namespace wan::lab {

struct PairSettings {
    double delay_ms = 0;   ///< one way
    double loss = 0;       ///< probability that a packet is lost, 0..1
    double jitter = 0;     ///< each packet's delay is drawn from delay * (1 - jitter) to delay * (1 + jitter)
};

struct PairCounters {
    std::uint64_t packets = 0;       ///< delivered; a super-packet counts its frames
    std::uint64_t bytes = 0;         ///< delivered, on the wire
    std::uint64_t lost = 0;          ///< frames lost by `loss`
    std::uint64_t queue_drops = 0;   ///< frames dropped by a full queue
    time_ns late_max_ns = 0;
};

struct Pair {
    PairSettings settings;
    Link link;                   ///< optional own rate of this pair
    PairCounters counters;
    std::mt19937_64 random;      ///< own stream: one pair's traffic leaves the others' loss alone
    std::mt19937_64 random_delay;    ///< and jitter leaves the loss alone
    time_ns last_due_ns = 0;     ///< keeps the pair in order
};

struct Site {
    std::string name;
    std::uint32_t net = 0;       ///< IPv4 prefix, host byte order
    std::uint32_t mask = 0;
    Link egress;                 ///< towards the WAN
    Link ingress;                ///< from the WAN
};

class Path {
public:
    /// At most 255 sites; call before any packet.
    void site_add(Site site);
    void seed_set(std::uint64_t seed);

    std::vector<Site>& sites() { return sites_; }
    Pair& pair(std::size_t from, std::size_t to) { return pairs_[from * sites_.size() + to]; }
    /// Index of a site by name or by address; -1 if there is none.
    int site_by_name(const std::string& name) const;
    int site_by_address(std::uint32_t address) const;

    /// Takes over the packet (its slot included). False: dropped or lost, and
    /// the slot is still the caller's.
    bool admit(time_ns now, const Packet& packet);

    /// When there is something to do next; INT64_MAX when nothing is in flight.
    time_ns next_due() const { return queue_.empty() ? INT64_MAX : queue_.top().when; }

    /// The next packet that is due at `now`, its lateness counted; false when
    /// there is none. A packet that the destination's uplink must drop comes
    /// out with `dropped` set: give its slot back.
    bool take_due(time_ns now, Packet& packet, bool& dropped);

    const Lateness& lateness() const { return lateness_; }
    std::size_t in_flight() const { return queue_.size(); }
    bool lossy_from(std::size_t site);
    void counters_reset();

private:
    struct Event {
        time_ns when;
        std::uint64_t order;   ///< ties leave in the order they came
        bool at_ingress;       ///< still has to pass the destination's uplink
        Packet packet;
        bool operator<(const Event& other) const
        {
            return when != other.when ? when > other.when : order > other.order;
        }
    };

    std::vector<Site> sites_;
    std::vector<Pair> pairs_;
    std::priority_queue<Event> queue_;
    Lateness lateness_;
    std::uint64_t order_ = 0;
    std::uint64_t seed_ = 1;
};

}  // namespace wan::lab
