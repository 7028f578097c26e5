/*
 * Permission by the receiver: Suci's answer to congestion, for all traffic.
 *
 * Every peer may have `unscheduled` bytes under way to us without asking: less, of what
 * is renewed, in a crowd, and before anything is known (`first`).  Without a crowd also what came
 * from it in a round trip of late, of all peers together no more than a budget (below): else each long message
 * over a far path would wait for the answer in its middle.  For more it says how much
 * it wants, and gets it.  While one peer wants, it gets as much as the window allows.  While several do, all of them together get a budget:
 * twice what arrives in a shortest round trip (the largest rate of late), so that
 * the link stays busy and the queue before it short.  Each takes of it in proportion to
 * its own round trip, so that who is far may have more under way than who is near, and
 * nobody more than twice what came from it in a round trip: that is as fast as its
 * own window grows.  It goes in turns to the peer that wants least, so that short
 * transfers end early; those that want much share; peers of a higher priority come before.
 * Who is far has an equal part at least: near ones, to whom what goes unasked is
 * enough, would leave nothing to it.
 *
 * A crowd is several that want at once, or an overrun: many datagrams missing while several
 * send.  What chance loses is few in proportion, and each sender's own window deals with that.
 * Of a crowd of near peers the receiver stays wary for a minute, and at the beginning of a job of
 * many processes: what goes unasked is then a part of what the path holds, and who wants more asks.
 * To ask costs a short trip; what a burst loses costs timeouts.  Far peers are trusted again
 * sooner, for there asking is dear.  So is it to who hands on block after block, and would stop at
 * each for an answer: who asks several times with nobody else between may have a little more unasked,
 * of all that did so together no more than a turn, as they may all come back at once.
 *
 * Who is alone gets more than it wants: small messages that were submitted since take of what bulk
 * asked for, and the end of a block would wait as long as they keep coming.
 *
 * Permission is a number of bytes since the start and never taken back; one that
 * stays unused (its peer is silent, or only asks) leaves the budget after a while; sooner, while
 * nothing comes from anybody, others that have none get some: processes may have no core.  The
 * part of it that bulk leaves to what is more urgent counts as unused at once: many
 * peers with nothing but that would keep the budget used up for good.
 *
 * Must not: know datagrams; modern.cpp tells what is wanted and what arrived.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_GRANTS_HPP
#define UDP_CORE_GRANTS_HPP

#include "types.hpp"

#include <algorithm>
#include <vector>

namespace udp {

class grants {
public:
    static constexpr uint64_t quantum = 16 << 10;   // bytes given in one turn, if that is no more than a quarter of the budget
    static constexpr uint64_t turn_least = 2048;    // whatever btl_udp_incast says: a block must be able to begin
    static constexpr uint64_t much = 1 << 20;       // bytes: who wants more, or more than a budget, is one of many long ones
    static constexpr uint64_t budget_least = 32 << 10;  // the Ack of a few datagrams must be able to come back
    static constexpr unsigned crowd = 4;                // peers that send at once
    static constexpr time_ns crowd_slot = 100 * ms;     // in which those count as at once
    static constexpr time_ns crowd_memory = 1 * second; // after they asked at once, or overran the queue
    static constexpr time_ns wary_memory = 60 * second; // in which a crowd of near peers that was there may come back
    static constexpr time_ns near_trip = 4 * ms;        // asking costs no more, and what a burst loses costs more
    static constexpr uint64_t overrun_least = 8, overrun_part = 6;  // datagrams missing, and one in so many: more than chance loses
    static constexpr int alike = 4;                     // trips that differ by less, or by the time of a shallow queue, are alike
    static constexpr uint64_t queue_shallow = 64 << 10; // bytes
    static constexpr time_ns queue_wait_most = 4 * near_trip;   // a rate that is low because little is sent tells nothing of the queue
    static constexpr time_ns rate_slot = 1 * ms;        // and a turn's bytes: the rate in it is a rate of arrival
    static constexpr time_ns part_trip = 100 * us;      // shorter round trips are one
    static constexpr time_ns rate_memory = 1 * second;
    static constexpr time_ns part_memory = 10 * second; // as round trips
    static constexpr uint64_t part_least = 256;         // small messages still go unasked; 31 of them hardly fill a queue
    static constexpr unsigned asks_least = 4;           // in a row: one sends block after block
    static constexpr uint64_t ahead_part = 8 << 10, ahead_all = quantum;    // bytes beyond its part that such a one may have, all such ones
    static constexpr uint64_t block_room = 8 << 10;     // beside a block: its charge, and what bulk leaves to others
    static constexpr unsigned beside_most = 8;      // budgets, beside the one that nobody makes use of
    static constexpr time_ns silence = 20 * ms;     // and four round trips: then its part goes to others

    /** What one peer may send to us; lives in its connection. */
    struct account {
        uint32_t peer = 0;
        uint64_t wanted = 0;        // bytes since the start, as the peer said
        uint64_t consumed = 0;      // arrived and handed up (in order: out of our hands)
        uint64_t arrived = 0;
        uint64_t permitted = 0;     // told to the peer; it never falls
        uint64_t told = 0;          // the part of it that an Ack has carried
        time_ns heard = 0;
        time_ns moved = 0;          // when something arrived or its permission grew
        time_ns trip = 0;           // its shortest round trip, 0: unknown
        uint64_t window = 0;        // it may have so much under way
        uint32_t largest = 0;       // bytes of its largest block
        unsigned priority = 0;      // more: first, when several want
        bool waiting = false;       // in the list
        bool local = false;         // on our host: no network's queue lies between
        uint64_t alone = 0;         // so much was permitted because nobody else wanted
        time_ns part_at = 0;        // when its present round trip began
        uint64_t part_bytes = 0, part_before = 0;   // that arrived in it and in the one before
        uint64_t part_most = 0;     // the most in one of late,
        time_ns part_most_at = 0;   // when that was
        uint64_t ahead = 0;         // bytes that it may have unasked beyond its part in a crowd that may come back
        uint64_t lent = 0;          // bytes that it may have under way unasked beyond `unscheduled`
        unsigned slot = 0;          // the crowd_slot in which something arrived last
    };

    /** Bulk leaves so much of the permission to what is more urgent. */
    static uint64_t reserve(const config &c) { return std::min<uint64_t>(c.unscheduled / 4, 4096); }
    /** What a peer may send before it was heard of; what is left to small messages, at least. */
    static uint64_t first(const config &c) { return c.senders < crowd ? c.unscheduled : std::max(reserve(c), c.unscheduled / c.senders); }

    explicit grants(const config &c) : config_(c), crowd_size_(c.senders < crowd ? 0 : c.senders) {}

    /** A peer's first permission, which both sides know without a word. */
    void open(account &a) const
    {
        a.window = config_.window;
        a.permitted = a.told = std::min(a.local ? config_.unscheduled : first(config_), config_.window);
    }
    /** It will send no more; what it leaves is given to others at the next look. */
    void close(account &a);

    /** Something arrived or was asked for: gives what can be given now, to any peer. */
    void update(account &a, time_ns now, uint64_t new_bytes);

    /** So many datagrams should have come from a peer before the one that did. */
    void arrival(uint64_t missing) { ++came_, missing_ += missing; }
    /** One that had counted as missing came after all. */
    void late() { missing_ -= missing_ > 0; }
    /** What a peer may have under way without asking, as it is renewed at present. */
    uint64_t renewed(const account &a) const;

    /** Peers whose permission grew by somebody else's doing and must be told. */
    std::vector<account *> &grown() { return grown_; }
    /** For peers of this round trip. */
    uint64_t budget(time_ns trip) const;
    size_t wanting() const { return waiting_.size(); }
    /** When the part of a silent peer, or of one that is gone, is given to others; `never` if nobody waits. */
    time_ns deadline() const { return waiting_.empty() ? never : next_look_; }
    void look(time_ns now);

    /** Strict mode: what one of those who ask at present may have of the budget. */
    uint64_t share_asked(time_ns now);

private:
    bool wants_more(const account &a) const { return a.wanted > a.permitted; }
    /** One of each stream must be able to end: what is consumed is told only then. */
    static uint64_t room(const account &a) { return std::max(a.window, 3 * (uint64_t(a.largest) + block_room)); }
    uint64_t under_way(const account &a, time_ns now) const;
    uint64_t part(const account &a) const;
    void let_ahead(account &a, time_ns now);
    /** What came from it in a round trip; at least a turn. */
    static uint64_t pace(const account &a) { return std::max({quantum, a.part_bytes, a.part_before}); }
    bool is_near(time_ns trip) const;
    /** Whether others as near may be expected to send at once. */
    bool is_wary(const account &a) const { return crowd_size_ && !a.local && trip_ < near_trip && (a.trip == 0 || is_near(a.trip)); }
    bool is_silent(const account &a, time_ns now) const;
    bool before(const account &a, const account &b, time_ns now) const;
    uint64_t turn(const account &a) const { return std::clamp<uint64_t>(budget(a.trip) / 4, turn_least, quantum); }
    double used(const account &a, time_ns now) const;
    void measure(account &a, time_ns now, uint64_t new_bytes);
    void look_for_crowd(account &a, time_ns now, uint64_t new_bytes);
    void lend(account &a);
    /** After so long without anything from anybody those that have permission are busy elsewhere. */
    time_ns idle() const { return 2 * trip_ + 1 * ms; }
    void leave(account &a);
    void share(time_ns now);
    void give(account &a, uint64_t to);

    const config &config_;
    std::vector<account *> waiting_;    // want more than the unscheduled part, or still use what they were given
    std::vector<account *> grown_;
    uint64_t rate_ = 0, rate_before_ = 0;   // bytes/s: the best of this rate_memory and of the last
    uint64_t slot_bytes_ = 0;
    uint64_t lent_ = 0;                     // to all
    std::vector<account *> ahead_;          // who have more than their part, or may still make use of it
    const account *asker_ = nullptr;        // the last
    unsigned asks_ = 0;                     // of it, in a row
    time_ns came_at_ = 0;                   // when something came last, or a budget was added
    unsigned beside_ = 0;                   // budgets given beside one that lies idle
    unsigned crowd_slot_ = 1, active_ = 0, active_before_ = 0;  // peers that sent in this crowd_slot and the last
    uint64_t came_ = 0, missing_ = 0;                           // datagrams in this crowd_slot
    time_ns crowd_at_ = 0;
    time_ns crowded_until_ = 0, wary_until_ = never;
    bool crowded_ = false;
    unsigned crowd_size_;                                       // the largest of near peers that is remembered, 0: none
    time_ns slot_at_ = 0, rate_at_ = 0, trip_ = 0, trip_next_ = 0, next_look_ = never;
    unsigned asked_ = 0, asked_before_ = 0;     // requests in this slot and the last
    time_ns asked_at_ = 0;
};

} // namespace udp

#endif
