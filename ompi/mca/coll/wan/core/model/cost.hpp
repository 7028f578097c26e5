/*
 * Terms that the algorithms' cost formulas share.  Hockney's model, widened by
 * what decides across sites: one-way latency per level (steps wait for the
 * farthest hosts of a site, chains and rings pass along its order), bytes through a
 * host's interface, and the processor's time per message and for each byte
 * that it combines or copies (30 ps, where an interface of 40 Mb/s takes
 * 209,000 and one of 100 Gb/s 80).  Integers only.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MODEL_COST_HPP
#define WAN_MODEL_COST_HPP

#include "model/facts.hpp"
#include "plan/plan.hpp"

#include <bit>
#include <numeric>
#include <vector>

namespace wan {

/**
 * What a message carries beside its bytes: Open MPI's headers (24), and half of those of a packet (66), which it fills half in the
 * mean. Measured in the lab (chain, 1 MB broadcast, 2 x 4 hosts): segments of 1 and 2 KB take 10.5 and 7.0 ms more than those of
 * 4 and 8 KB, which take the same; 10.7 and 4.6 by this, and 1.5.
 */
constexpr int64_t header_bytes = 57;

/** Smallest q with 2^q >= p. */
constexpr int64_t steps(int64_t p) { return p < 2 ? 0 : std::bit_width(static_cast<uint64_t>(p - 1)); }

/** A message cut into segments. */
struct cut {
    int64_t segments;
    int64_t segment_bytes;
    cut(uint64_t bytes, uint64_t segment)
    {
        const uint64_t s = std::max<uint64_t>(1, std::min(bytes, segment));
        segments = static_cast<int64_t>(std::max<uint64_t>(1, (bytes + s - 1) / s));
        segment_bytes = static_cast<int64_t>(s);
    }
};

/** Time of bytes * num / den through an interface. */
inline int64_t wire_part(const facts &f, int64_t bytes, int64_t num, int64_t den)
{
    return static_cast<int64_t>(static_cast<__int128>(f.wire_ns(static_cast<uint64_t>(bytes))) * num / std::max<int64_t>(1, den));
}

/**
 * Time of bytes * num / den on the one connection by which a chain or a ring goes on to another rack or zone, where that is
 * slower than an interface by more than noise; else 0.
 */
inline int64_t level_part(const facts &f, int64_t bytes, int64_t num = 1, int64_t den = 1)
{
    if (f.level_byte_ps <= f.byte_ps + f.byte_ps / 8)
        return 0;
    return static_cast<int64_t>(static_cast<__int128>(bytes) * f.level_byte_ps / 1000 * num / std::max<int64_t>(1, den));
}

/** Time of the headers of so many messages through an interface. */
inline int64_t headers_ns(const facts &f, int64_t messages) { return f.wire_ns(static_cast<uint64_t>(messages * header_bytes)); }

/** A processor's time for so many bytes. */
inline int64_t processed_ns(int64_t bytes, int64_t byte_ps)
{
    return static_cast<int64_t>(std::min<__int128>(static_cast<__int128>(bytes) * byte_ps / 1000, INT64_MAX / 8));
}
/** Combining so many bytes with as many. */
inline int64_t combine_ns(const facts &f, int64_t bytes) { return processed_ns(bytes, f.reduce_ps); }
/** Copying them: into and out of bundles, or from rank to rank of a host. */
inline int64_t copied_ns(const facts &f, int64_t bytes) { return processed_ns(bytes, f.copy_ps); }

/** What work that interface and processor do by turns, in so many pieces, takes beyond the interface's: all of it if there is one piece. */
inline int64_t beside_ns(int64_t wire_ns, int64_t work_ns, int64_t pieces)
{
    return std::max<int64_t>(0, work_ns - wire_ns) + std::min(wire_ns, work_ns) / std::max<int64_t>(1, pieces);
}

/**
 * A stage whose work repeats for each segment: bound by the interface or by
 * the processor; a message that waits for a processor leaves the interface
 * idle now and then, the more the busier that is (root of squares, near
 * enough).  Measured in the lab (1 MB broadcast, 2 x 16 hosts, 430 us a step:
 * a chain, 56 ms of messages a host, 11 ms over the bound; a ring, 103 ms of
 * messages, 29 ms over).
 */
inline int64_t pipelined(int64_t wire_ns, int64_t processor_ns)
{
    const auto [less, more] = std::minmax(wire_ns, processor_ns);
    return more + static_cast<int64_t>(static_cast<__int128>(less) * less / std::max<int64_t>(1, 2 * more));
}
/** Processor time of so many messages, so many halves of it each; as much as a file of links may say. */
inline int64_t handled_ns(const facts &f, int64_t messages, int64_t halves)
{
    return static_cast<int64_t>(std::min<__int128>(static_cast<__int128>(messages) * halves * f.handling_ns() / 2, INT64_MAX / 4));
}
inline int64_t pipeline(const facts &f, int64_t wire_ns, int64_t messages)
{
    return pipelined(wire_ns, handled_ns(f, messages, 2));
}

/**
 * The same of a message in segments, each of which is so many messages of a host: those of the first find the
 * processors idle half of the time (measured at 1 KB, 2 x 16 hosts: 0 to 120 us a message, where a step takes 430).
 * work_ns: of a host's processor besides, for all segments; one of them waits for it, or it for one of them.
 */
inline int64_t pipeline(const facts &f, int64_t wire_ns, int64_t segments, int64_t messages, int64_t work_ns)
{
    return pipelined(wire_ns, handled_ns(f, messages, 2 * segments - 1) + work_ns) + std::min(wire_ns, work_ns) / segments;
}

/** The longest of Open MPI's headers, for which what is sent at once leaves room (sizeof(mca_pml_ob1_hdr_t): 56 in 4.1, 80 in 5.0). */
constexpr int64_t longest_header_bytes = 80;

/**
 * Whether two hosts that send each other messages of this size wait for each other's consent
 * (rendezvous): where the limit of what Open MPI sends at once (btl_eager_limit) has no room for message and header.
 */
inline bool exchange_waits(const facts &f, uint64_t bytes)
{
    return bytes > static_cast<uint64_t>(std::max<int64_t>(0, f.eager_bytes - longest_header_bytes));
}

/** What asking for that consent takes across a latency: there and back. */
inline int64_t consent_ns(const facts &f, int64_t bytes, int64_t latency_ns)
{
    return exchange_waits(f, static_cast<uint64_t>(bytes)) ? 2 * latency_ns : 0;
}

/** The way of a message across a latency, beside its bytes (measured: 60 KB over 10 ms in 14.8 ms, 64 KB in 35.6). */
inline int64_t crossing_ns(const facts &f, int64_t latency_ns, int64_t bytes) { return latency_ns + consent_ns(f, bytes, latency_ns); }

/** A message from one host of a site to another, so far away, that finds the interfaces idle. */
inline int64_t hop_ns(const facts &f, int64_t bytes, int64_t latency_ns)
{
    return f.lone_ns(static_cast<uint64_t>(bytes)) - f.lan_ns + latency_ns + consent_ns(f, bytes, latency_ns) + f.message_ns;
}
inline int64_t hop_ns(const facts &f, int64_t bytes) { return hop_ns(f, bytes, f.lan_ns); }

/**
 * The same in a ring, where the blocks of all hosts go round at once, one right behind another: of a
 * rate limit's burst a block has what the one before it left.  (Chains, whose segments are as long as
 * all of that, are near enough without: 256 KB, segments of 8 KB, 75 ms predicted, 71 measured.)  Measured in the lab (256 KB broadcast,
 * 2 x 16 hosts, rings of 4.4, 8.7 and 17 KB: 86, 99 and 122 ms).
 */
inline int64_t passing_hop_ns(const facts &f, int64_t bytes)
{
    const int64_t free = std::clamp<int64_t>(f.burst_bytes - bytes, 0, bytes);
    return crossing_ns(f, f.next_host_ns(), bytes) + f.wire_ns(static_cast<uint64_t>(bytes - free)) + f.message_ns;
}

/**
 * Time of num / den of `bytes` over a site's uplink, for algorithms that let more cross than must:
 * where nothing is told of uplinks, one is taken to be as wide as four interfaces, or as the widest link from
 * that site that was measured.  (Else plan/shared_ways.hpp knows.)
 */
inline int64_t untold_uplink_ns(const facts &f, site_id from, int64_t bytes, int64_t num, int64_t den)
{
    if (!f.uplink_ps.empty())
        return 0;
    int64_t byte_ps = (f.byte_ps + 3) / 4;
    for (int to = 0; to < f.sites && !f.link_ps.empty(); ++to)
        if (const int64_t link = f.pair(f.link_ps, static_cast<int>(value(from)), to); link > 0)
            byte_ps = std::min(byte_ps, link);
    const auto ns = static_cast<__int128>(bytes) * num / std::max<int64_t>(1, den) * byte_ps / 1000;
    return static_cast<int64_t>(std::min<__int128>(ns, INT64_MAX / 4));
}

/** What handing blocks around inside a site takes: allgather, or reduce-scatter, of one segment. */
struct inner_cost {
    int64_t messages;       // sent and received by a host
    int64_t last_ns;        // from when a segment's blocks are there until everyone has it
    int64_t connections;    // that share a host's interface
    int64_t steps_ns;       // waiting for one another in a segment's steps, beside the wire
};

inline inner_cost inner_of(const facts &f, int64_t hosts, int64_t segment_bytes, inner_steps how)
{
    if (how == inner_steps::ring)   // blocks go round as they come: only the last one's way counts
        return {2 * (hosts - 1), (hosts - 1) * passing_hop_ns(f, segment_bytes / std::max<int64_t>(1, hosts)), 1,
                (hosts - 1) * f.step_ns};
    // The last segment is gathered while the one before still shares the interface: twice its time.  A step is a message, at least.
    const int64_t steps_ns = steps(hosts) * std::max(f.step_ns, f.lan_ns);
    return {2 * steps(hosts), 2 * wire_part(f, segment_bytes, hosts - 1, hosts) + steps_ns, steps(hosts), steps_ns / 2};
}

/**
 * Time through an interface that several connections share.  They do not share
 * it evenly, and each sends smaller bursts: a 32nd more for each, measured in
 * the lab (16 MB broadcast, 2 x 16 hosts: 1.2 times the bound over 2
 * connections a host, 1.34 times over 5).
 */
inline int64_t shared_wire(int64_t wire_ns, int64_t connections) { return wire_ns + wire_ns / 32 * connections; }

/**
 * Time of `bytes` over `flows` TCP connections across `latency_ns`: each has
 * at most a window under way in a round trip (Linux: tcp_wmem's 4 MB, of which
 * half is payload).
 */
inline int64_t flows_ns(uint64_t bytes, int64_t latency_ns, int64_t flows)
{
    constexpr int64_t window_bytes = 2 << 20;
    return static_cast<int64_t>(static_cast<__int128>(bytes) * 2 * latency_ns / (window_bytes * std::max<int64_t>(1, flows)));
}

/** What a TCP connection sends after a rest before it hears from the receiver (RFC 6928). */
constexpr uint64_t first_window_bytes = 10 * 1448;

/**
 * What a message loses against the interface's rate when it crosses over
 * `flows` TCP connections that have been idle: each may send ten packets in
 * the first round trip, and twice as many in every further one (RFC 6928, 2861).
 */
inline int64_t slow_start_ns(const facts &f, uint64_t bytes, int64_t latency_ns, int64_t flows)
{
    if (f.between_sites == connections::warm)
        return 0;
    const int64_t round_trip = 2 * latency_ns;
    int64_t lost = 0;
    uint64_t window = first_window_bytes * static_cast<uint64_t>(std::max<int64_t>(1, flows)), sent = 0;
    while (sent + window < bytes && f.wire_ns(window) < round_trip) {
        lost += round_trip - f.wire_ns(window);
        sent += window;
        window *= 2;
    }
    return lost;
}

/**
 * What connections add to a call that is known to find windows open: usually, one in eight calls begins after a rest.  A
 * connection that is not there takes two round trips (Open MPI over TCP).
 */
inline int64_t opening_ns(const facts &f, uint64_t bytes, int64_t latency_ns, int64_t flows)
{
    const int64_t slow = slow_start_ns(f, bytes, latency_ns, flows);
    switch (f.between_sites) {
    case connections::usual:
        return slow / 8;
    case connections::closed:
        return slow + 4 * latency_ns;
    default:
        return slow;
    }
}

/**
 * What the next message of a tree waits for the one before: processor and
 * interface.  Of what a rate limit lets pass at once each of a host's few
 * messages has an eighth.
 */
inline int64_t gap_ns(const facts &f, uint64_t bytes)
{
    const uint64_t free = static_cast<uint64_t>(f.burst_bytes) / 8;
    return f.message_ns + (bytes > free ? f.wire_ns(bytes - free) : 0);
}

/** What `n` messages, one after the other, keep a host's processor and interface: what a rate limit lets pass at once is free. */
inline int64_t sends_ns(const facts &f, uint64_t bytes, int64_t n)
{
    const int64_t all = static_cast<int64_t>(bytes) * n;
    return n * f.message_ns + (all > f.burst_bytes ? f.wire_ns(static_cast<uint64_t>(all - f.burst_bytes)) : 0);
}

/**
 * What messages to one host take that are sent at once, `near` ones of its own site and `far` ones across `latency_ns`: the
 * near ones have gone through its interface while the far ones are under way, and what a rate limit lets pass at once is free.
 */
inline int64_t incast_ns(const facts &f, uint64_t bytes, int64_t near, int64_t far, int64_t latency_ns)
{
    const auto size = static_cast<int64_t>(bytes);
    return std::max(crossing_ns(f, latency_ns, size) + sends_ns(f, bytes, far), crossing_ns(f, f.lan_ns, size) + sends_ns(f, bytes, near + far));
}

/**
 * What is sent to several at once shares the interface if it is long: none has it before all have (`together`).  Messages
 * that a connection sends whole after a rest follow each other (`alone`: when the first has left), those between do half of both.
 */
inline int64_t sharing_ns(const facts &f, uint64_t bytes, int64_t alone, int64_t together)
{
    if (bytes <= first_window_bytes || f.wire_ns(bytes) <= f.message_ns)
        return alone;
    return exchange_waits(f, bytes) ? together : (alone + together) / 2;
}

inline int64_t sum(const std::vector<int64_t> &of) { return std::accumulate(of.begin(), of.end(), int64_t{0}); }

/** A postal tree of n nodes, level by level: what each node that has the message sends before the next level begins. */
inline std::vector<int64_t> tree_levels(int64_t nodes, uint32_t lambda)
{
    // With degree d a level serves d+1 times as many; lambda says how many sends fit in a hop.
    std::vector<int64_t> levels;
    const int64_t fan = std::max<int64_t>(1, lambda);
    for (int64_t reached = 1; reached < nodes; reached *= levels.back() + 1)
        levels.push_back(std::min<int64_t>(fan, (nodes - reached + reached - 1) / reached));
    return levels;
}

/**
 * One copy of a small message down a postal tree of n nodes: each level waits
 * for the last of a node's sends to leave and to arrive.
 */
inline int64_t tree_ns(const facts &f, uint64_t bytes, int64_t nodes, uint32_t lambda)
{
    const auto levels = tree_levels(nodes, lambda);
    return static_cast<int64_t>(levels.size()) * crossing_ns(f, f.lan_ns, static_cast<int64_t>(bytes)) + sends_ns(f, bytes, sum(levels));
}

/** What the root of such a tree sends, or receives. */
inline int64_t root_sends(int64_t nodes, uint32_t lambda) { return sum(tree_levels(nodes, lambda)); }

/** Up such a tree, where each node combines what it receives. */
inline int64_t tree_up_ns(const facts &f, uint64_t bytes, int64_t nodes, uint32_t lambda)
{
    return tree_ns(f, bytes, nodes, lambda) + combine_ns(f, static_cast<int64_t>(bytes) * root_sends(nodes, lambda));
}

/**
 * The same where every node sends to all of its children at once, which share its interface.  Measured in the lab (128 KB
 * broadcast, 2 x 16 hosts: 403 ms, one after the other it were 145).
 */
inline int64_t tree_down_ns(const facts &f, uint64_t bytes, int64_t nodes, uint32_t lambda)
{
    const auto levels = tree_levels(nodes, lambda);
    int64_t left = sum(levels), together = 0;
    for (int64_t sends : levels) {
        together += crossing_ns(f, f.lan_ns, static_cast<int64_t>(bytes)) + sends_ns(f, bytes, left);
        left -= sends;
    }
    return sharing_ns(f, bytes, tree_ns(f, bytes, nodes, lambda), together);
}

/** lambda of a postal tree for messages of this size. */
inline uint32_t postal_lambda(const facts &f, uint64_t bytes)
{
    const int64_t gap = std::max<int64_t>(1, gap_ns(f, bytes));
    return static_cast<uint32_t>(std::clamp<int64_t>((gap + f.lan_ns + gap / 2) / gap, 1, 64));
}

} // namespace wan

#endif
