/*
 * All peers of one process: finds whom a datagram is from, opens and makes seals,
 * decides whose turn it is to send.  No socket: datagrams come and go as bytes.
 *
 * What is received changes nothing of a peer and is not answered before its token, its
 * number (replay) and its seal have been checked, in this order, so that
 * forgeries cost less than what is genuine.  A peer is where its newest genuine
 * datagram came from.  One thing comes before: the key of a process of this job that
 * is not known yet has to be looked for.  That goes by its number alone, which anybody can
 * write; so the next look-up waits a little unless what came proves to be genuine,
 * and that of a process that was not found ever longer.  Who was found stays known: each once.
 *
 * Must not: know what frames mean (modern.hpp, strict.hpp do).
 * Next: ../io/ (the socket, and the C boundary: engine.cpp).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_ENDPOINT_HPP
#define UDP_CORE_ENDPOINT_HPP

#include "connection.hpp"
#include "grants.hpp"
#include "seal.hpp"
#include "types.hpp"

#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

namespace udp {

/** Where a peer is: a socket address, opaque here. */
struct address {
    uint8_t length = 0;
    uint8_t bytes[28] = {};
    bool operator==(const address &o) const { return length == o.length && std::memcmp(bytes, o.bytes, length) == 0; }
};

class endpoint {
public:
    struct counters {
        uint64_t received = 0;      // genuine datagrams
        uint64_t strangers = 0;     // no such peer, or no datagram of ours
        uint64_t replays = 0;
        uint64_t forgeries = 0;     // the seal did not hold
        uint64_t moves = 0;         // peers whose address changed
    };

    /** Room that transmit() needs. */
    static constexpr size_t datagram_room = 65536;

    endpoint(const config &c, uint32_t self, events &up);
    ~endpoint();

    /** The index of a new peer, with the largest datagram to try (0: as configured) and what it permits at first (~0: as we do); local: on our host; ours: of our job; ~0: it cannot be told from another one. */
    uint32_t peer_add(uint32_t id, const pair_keys &keys, const address &at, uint32_t mtu_most = 0, uint64_t first = ~uint64_t(0), bool local = false, bool ours = true);
    size_t peers() const { return peers_.size(); }
    const address &where(uint32_t peer) const { return peers_[peer]->at; }
    /**
     * Where the datagram goes that transmit() gave last: where the peer is; if it does not answer there, by turns
     * where it said it would be, as somebody may have moved it.
     */
    const address &to(uint32_t peer) const { return peers_[peer]->link->in_vain() ? peers_[peer]->home : peers_[peer]->at; }

    void submit(uint32_t peer, outgoing &o, time_ns now);
    /** True: genuine.  The bytes may be changed (decrypted in place). */
    bool receive(const address &from, std::span<uint8_t> datagram, time_ns now);
    /** The next datagram (at most datagram_room bytes), or 0. */
    size_t transmit(uint8_t *to, uint32_t &peer, time_ns now);
    time_ns deadline(time_ns now);
    void too_large(uint32_t peer, uint32_t bytes, time_ns now);

    /** Nothing is queued for any living peer. */
    bool drained() const;
    /** Tells every peer that was ever talked to that we leave. */
    void farewell(time_ns now);
    /** Gives up what is queued: for the end. */
    void abandon();

    /** The application's say, per peer; see connection.hpp. */
    size_t push(uint32_t peer, time_ns now);
    bool may_write(uint32_t peer, uint64_t bytes) { return link(peer).may_write(bytes); }
    void window_set(uint32_t peer, uint64_t bytes) { link(peer).window_set(bytes); }
    void priority_set(uint32_t peer, unsigned level);
    unsigned priority(uint32_t peer) const { return peers_[peer]->priority; }

    peer_view view(uint32_t peer) const;
    const counters &count() const { return count_; }
    /** Of one peer. */
    size_t memory_bytes(uint32_t peer) const;

private:
    struct member {
        uint32_t id = 0, token = 0;
        size_t heap = ~size_t(0);   // its place in heap_
        time_ns key = never;
        uint32_t mtu_most = 0;
        uint64_t first = 0;         // bytes that it permits us before it has heard of us
        bool local = false;
        unsigned burst = 0;         // datagrams since others had their turn
        unsigned priority = 0;      // more: its turn comes before that of others
        address at, home;       // now, and as it was told
        seal in, out;
        std::unique_ptr<connection> link;   // once something was sent or came
    };

    connection &link(uint32_t peer);
    void reschedule(uint32_t peer, time_ns key);
    void sift(size_t at);
    bool next_due(time_ns now, uint32_t &peer) const;
    void tell_grown(time_ns now);
    bool may_ask(uint32_t id, time_ns now) const;
    void ask(uint32_t id, time_ns now);

    config config_;
    uint32_t self_;
    events &up_;
    grants permits_;
    std::vector<std::unique_ptr<member>> peers_;
    std::unordered_map<uint64_t, uint32_t> by_name_;    // source and token
    std::vector<bool> known_;                           // ids of this job that were added
    // A look-up costs the caller time and cannot be sealed.
    static constexpr time_ns ask_apart = 10 * ms, ask_first = 100 * ms, ask_last = 60 * second;
    struct asked {
        time_ns again_at = 0, wait = ask_first;
    };
    std::unordered_map<uint32_t, asked> in_vain_;       // by id: who was not found, each on its own
    time_ns ask_at_ = 0;                                // when anybody may be looked for
    std::vector<uint32_t> heap_;                        // smallest key first
    std::vector<uint32_t> preferred_;                   // of a priority above 0, highest first
    counters count_;
};

} // namespace udp

#endif
