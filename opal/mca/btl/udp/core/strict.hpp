/*
 * One peer, Suci as in the paper (Yabiku and Kono): go-back-N.
 *
 *   S1 packets have consecutive sequence numbers and are kept until Acked
 *   S2 an Ack frees them                 S3 a Nack sends them again from there
 *   R1 the next in order: queued, Acked  R2 queue full: dropped, Nacked
 *   R3 an old one: Acked again           R4 a gap: dropped, the missing one Nacked
 *                                           once, all dropped until it comes
 *
 * Every Ack carries the window (size of the input queue less what is in it).
 *
 *            few Nacked: again from there
 *            +----+
 *            v    |        timeout, or many not Acked
 *        sending -+------------------------------------> asking
 *            ^                                              | permission for n bytes
 *            |  all that was in the queue is Acked          v
 *            +---------------------------------------- sending n bytes again
 *
 * The paper leaves open: the timeout (here RFC 6298), how many un-Acked packets
 * are "congestion" (here `congested`), when an unanswered request is repeated (at
 * the timeout), how one Ack may stand for several packets (it acknowledges all up
 * to its number, so the newest is enough).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_STRICT_HPP
#define UDP_CORE_STRICT_HPP

#include "connection.hpp"
#include "ring.hpp"
#include "rtt.hpp"

#include <vector>

namespace udp {

class strict : public connection {
public:
    static constexpr unsigned congested = 16;   // packets in the retransmit queue

    strict(uint32_t peer, const config &c, events &up, grants &permits);

    void submit(outgoing &o, time_ns now) override;
    bool receive(std::span<const uint8_t> frames, uint64_t number, time_ns now) override;
    size_t transmit(uint8_t *to, uint64_t &number, time_ns now) override;
    time_ns deadline(time_ns now) override;
    size_t push(time_ns now) override;
    bool may_write(uint64_t bytes) const override;
    void window_set(uint64_t bytes) override;
    void priority_set(unsigned) override {}     // the paper's answer to a request knows no order
    void abandon(bool arrived) override;
    bool idle() const override { return unacked_.empty() && !first_; }
    bool in_vain() const override { return backoff_ % vain_turn == vain_turn - 1; }
    peer_view view() const override;
    size_t memory_bytes() const override;

private:
    struct packet {
        outgoing *block = nullptr;
        uint32_t offset = 0, length = 0, start = 0;     // start: sequence of the block's first packet
        time_ns sent = 0;
        bool last = false, again = false;
    };
    static constexpr uint32_t window_most = 1u << 30;
    enum class state { sending, asking, permitted };

    void acked(uint32_t sequence, uint32_t window, time_ns now);
    void nacked(uint32_t sequence, uint32_t window, time_ns now);
    void packet_in(const wire::frame &f);
    void ask(time_ns now);
    bool may_send() const;
    bool cut();
    time_ns timeout_at() const;
    void report();
    uint32_t room() const;

    // sending
    outgoing *first_ = nullptr, *last_ = nullptr;   // not wholly cut
    ring<packet> unacked_;                          // sequence base_ ...; the retransmit queue
    uint32_t base_ = 0, block_start_ = 0;
    size_t at_ = 0;                                 // index in unacked_ of the next to send
    uint64_t under_way_ = 0;                        // bytes of unacked_ before at_
    uint32_t window_;                               // the peer's, as last told
    state state_ = state::sending;
    uint64_t permitted_ = 0;
    uint32_t recover_ = 0;                          // Acked up to here, normal sending resumes
    bool request_owed_ = false;
    rtt trip_;
    unsigned backoff_ = 0;
    time_ns last_sent_ = 0, unanswered_ = 0, ask_alive_at_ = 0;
    uint64_t next_number_ = 1, queue_blocks_ = 0, queue_bytes_ = 0;
    std::vector<std::pair<outgoing *, bool>> finished_;

    // receiving
    uint32_t window_own_;                           // as we tell it, before what is in our queue
    uint32_t expected_ = 0;
    bool ack_owed_ = false, nack_owed_ = false, nacked_ = false;
    uint64_t permission_owed_ = 0;
    std::vector<uint8_t> input_;                    // the block being put together

    uint64_t count_sent_ = 0, count_again_ = 0, count_received_ = 0, count_duplicate_ = 0;
};

} // namespace udp

#endif
