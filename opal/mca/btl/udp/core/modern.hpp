/*
 * One peer, modern form.  Sending: every datagram has a new number and an entry
 * in the ledger that says which pieces of which blocks it carried; an Ack settles
 * entries, what is lost goes back to be sent under another number.  So each byte
 * of a block is in one place at any time: not begun, under way in one entry, lost
 * and waiting, or settled.
 *
 *              begin             Ack names it
 *   not begun --------> under way ----------> settled
 *                        |    ^
 *    3 later ones arrived|    | sent again (new number, perhaps cut anew)
 *    or 9/8 round trip,  v    |
 *    or probe timeout    lost +
 *    or the application asks
 *
 * What may leave: what the congestion window, the pacer and the receiver's
 * permission allow; control and small blocks before bulk.  Lost bytes need no new
 * permission.  What does not fill a datagram waits a little if one like it is under way: more may come to fill
 * it, as blocks that are handed on one by one would take two each.
 * In the queue of the path small blocks cannot pass: while they come often
 * with bulk, no more is under way than keeps the path busy, unless others fill that queue.
 *
 * Receiving: frames go to the assembly of their stream; Acks are delayed, come
 * at once when something is missing, and ride on data whenever there is some.
 *
 * Must not: seal, send, read a clock.
 * Next: modern.cpp (sending), modern_settle.cpp, modern_receive.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_MODERN_HPP
#define UDP_CORE_MODERN_HPP

#include "assembly.hpp"
#include "congestion.hpp"
#include "connection.hpp"
#include "pacer.hpp"
#include "path_mtu.hpp"
#include "ring.hpp"
#include "rtt.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace udp {

class modern : public connection {
public:
    modern(uint32_t peer, const config &c, events &up, grants &permits, uint32_t mtu_most, uint64_t first, bool local);
    ~modern() override;

    void submit(outgoing &o, time_ns now) override;
    bool receive(std::span<const uint8_t> frames, uint64_t number, time_ns now) override;
    size_t transmit(uint8_t *to, uint64_t &number, time_ns now) override;
    time_ns deadline(time_ns now) override;
    void permission_grew() override { ack_at_ = 0; }
    void too_large(uint32_t bytes, time_ns now) override { mtu_.refused(now, bytes); }
    size_t push(time_ns now) override;
    bool may_write(uint64_t bytes) const override;
    void window_set(uint64_t bytes) override { account_.window = std::min(bytes, config_.window); }   // assembly refuses what is further ahead
    void priority_set(unsigned level) override { account_.priority = level; }
    void abandon(bool arrived) override;
    bool idle() const override { return queue_bytes_ == 0 && queue_blocks_ == 0; }
    bool resting() const override { return !trim_due_ && idle() && under_way_ == 0; }
    bool in_vain() const override { return backoff_ % vain_turn == vain_turn - 1; }
    peer_view view() const override;
    size_t memory_bytes() const override;

private:
    static constexpr unsigned reorder_least = 3, reorder_most = 300;    // datagrams
    static constexpr unsigned beyond_window = 8;    // datagrams of control and small blocks
    static constexpr uint64_t probes_from = 16 << 10;   // bytes delivered
    static constexpr unsigned ack_memory = 8;       // Acks in which an arrival is named
    static constexpr unsigned often = 4, brisk_trips = 8;   // round trips: from one small block to the next; after the last
    static constexpr uint32_t small_most = 1024;    // bytes: Open MPI starts long messages with urgent blocks, too
    static constexpr unsigned others_trips = 6;     // in which our own part of the queue goes
    static constexpr time_ns others_memory = rtt::memory;
    static constexpr time_ns trim_after = 1 * second;
    static constexpr time_ns hold_most = 1 * ms;    // what waits for company
    static constexpr int hold_part = 8;             // of a round trip
    static constexpr time_ns asks_apart = 100 * us;
    static constexpr time_ns pushed_memory = 1 * second;    // in which the Ack of what was pushed tells the round trip

    struct piece {
        outgoing *block = nullptr;
        uint32_t offset = 0, length = 0;
    };
    enum class fate : uint8_t { nothing, under_way, settled, lost, pushed };    // pushed: sent again as the application asked
    struct entry {
        time_ns sent = 0, first_sent = 0, delivered_at = 0;
        uint64_t delivered = 0, first_piece = 0;
        uint32_t bytes = 0, probe = 0;
        uint16_t pieces = 0;
        fate state = fate::nothing;
        bool app_limited = false;
    };
    struct list {
        outgoing *first = nullptr, *last = nullptr;
        uint32_t next_block = 0;
    };
    class writer;

    // sending
    bool has_lost() const { return !lost_[0].empty() || !lost_[1].empty() || !lost_[2].empty(); }
    bool has_new(unsigned stream) const { return queue_[stream].first != nullptr; }
    uint64_t window(time_ns now) const;
    void look_for_others(time_ns now);
    uint64_t may_begin(unsigned stream) const;
    bool sendable(unsigned stream) const;
    uint64_t wanted() const;
    bool probes_path(time_ns now) const;
    bool blocked() const;
    time_ns asks_at() const;
    bool partly() const;
    bool holds(time_ns now);
    time_ns hold() const { return std::min(hold_most, trip_.smoothed() / hold_part); }
    void die();
    void fill(writer &w, unsigned streams_allowed);
    bool fill_lost(writer &w, unsigned stream);
    bool fill_new(writer &w, unsigned stream);
    size_t commit(writer &w, uint64_t &number, time_ns now, uint32_t probe);
    size_t transmit_probe(uint8_t *to, uint64_t &number, time_ns now, uint32_t bytes);
    void put_ack(writer &w, time_ns now);
    void put_demand(writer &w, time_ns now);

    // settling
    void acked(const wire::frame &f, time_ns now);
    void settle(entry &e);
    void hand_back(entry &e);
    uint64_t lose(uint64_t number, time_ns now);
    void detect(time_ns now);
    void tell_lost(time_ns now, uint64_t bytes, time_ns newest, bool timeout);
    void retire(time_ns now);
    void timers(time_ns now);
    time_ns probe_at() const;
    void finish(outgoing &o, bool arrived);
    void report();
    entry &at(uint64_t number) { return sent_[number - base_]; }

    // receiving
    uint64_t room() const;
    bool data(const wire::frame &f, time_ns now);

    list queue_[wire::streams];             // blocks not wholly begun
    ring<piece> lost_[wire::streams];
    ring<entry> sent_;                      // number base_, base_ + 1, ...
    ring<piece> pieces_;                    // of the entries, in their order
    uint64_t pieces_base_ = 0;              // pieces that have left pieces_
    uint64_t base_ = 1, next_number_ = 1;
    uint64_t largest_acked_ = 0;
    time_ns largest_acked_sent_ = 0;
    uint64_t first_open_ = 1;               // no number below is under way
    std::vector<std::pair<outgoing *, bool>> finished_, reporting_;

    rtt trip_;
    path_mtu mtu_;
    pacer pacer_;
    std::unique_ptr<congestion> control_;
    uint64_t under_way_ = 0;                // bytes
    unsigned reorder_ = reorder_least, backoff_ = 0, probes_owed_ = 0;
    time_ns loss_at_ = never, last_eliciting_ = 0, unanswered_ = 0, last_activity_ = 0;
    bool trim_due_ = false, narrower_ = false;
    time_ns small_at_ = 0, brisk_until_ = 0, others_until_ = 0, held_since_ = 0, held_least_ = never;
    uint64_t delivered_ = 0, app_limited_until_ = 0;
    time_ns delivered_at_ = 0, first_sent_ = 0;

    uint64_t begun_charge_ = 0, queued_charge_ = 0, permitted_, wanted_told_ = 0;
    uint64_t urgent_charge_ = 0;            // begun since the last request
    time_ns asked_at_ = -asks_apart;
    time_ns held_from_ = 0;                 // 0: nothing is held
    uint64_t unfilled_ = 0;                 // the last datagram with bulk that was not full
    uint64_t queue_bytes_ = 0, queue_blocks_ = 0;

    assembly streams_[wire::streams];
    grants::account account_;
    time_ns ack_at_ = never, largest_at_ = 0;
    unsigned unacked_ = 0, acks_ = 0;
    uint64_t named_[ack_memory] = {};

    uint64_t count_sent_ = 0, count_again_ = 0, count_received_ = 0, count_duplicate_ = 0;
};

} // namespace udp

#endif
