/*
 * What the endpoint needs of one peer's protocol.  Two implement it: modern.hpp
 * and strict.hpp.  What comes in has been authenticated and is fresh; what goes
 * out is sealed and sent by others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_CONNECTION_HPP
#define UDP_CORE_CONNECTION_HPP

#include "arrivals.hpp"
#include "grants.hpp"
#include "types.hpp"

namespace udp {

class connection {
public:
    connection(uint32_t peer, const config &c, events &up, grants &permits) : peer_(peer), config_(c), up_(up), permits_(permits) {}
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    virtual ~connection() = default;

    virtual void submit(outgoing &o, time_ns now) = 0;
    /** `frames` came in datagram `number`, which is not yet marked in `seen` and `taken`; false: not to be marked in `taken`, as some of it must come again. */
    virtual bool receive(std::span<const uint8_t> frames, uint64_t number, time_ns now) = 0;
    /** Frames of the next datagram into `to` (room for datagram_max()), with its number; 0: nothing now. */
    virtual size_t transmit(uint8_t *to, uint64_t &number, time_ns now) = 0;
    /** When transmit has something to do; <= now: at once. */
    virtual time_ns deadline(time_ns now) = 0;
    /** Our permission for the peer grew by what others did. */
    virtual void permission_grew() {}
    /** The device refused a datagram of so many bytes. */
    virtual void too_large(uint32_t, time_ns) {}
    /** Sends again at once what a round trip has not acknowledged; returns its datagrams.  The path is not blamed. */
    virtual size_t push(time_ns now) = 0;
    /** Whether `bytes` more would leave at once, or as many of them as the path takes at a time. */
    virtual bool may_write(uint64_t bytes) const = 0;
    /** Bytes that the peer may have under way to us from now on; what it was permitted before stays permitted. */
    virtual void window_set(uint64_t bytes) = 0;
    /** Above 0: this peer's turn comes before that of others, here and where permission is shared out. */
    virtual void priority_set(unsigned level) = 0;
    /** Everything that is queued is given up, or taken as arrived. */
    virtual void abandon(bool arrived) = 0;
    /** Tells the peer, a few times, that nobody will be here; whoever calls has finished. */
    void farewell() { farewells_ = 3; }
    virtual bool idle() const = 0;
    /** For a while nothing was sent: what can be had again at the next datagram is given back. */
    virtual bool resting() const { return false; }
    /** After several timeouts without an answer: true after every fourth one. */
    virtual bool in_vain() const = 0;
    virtual peer_view view() const = 0;
    virtual size_t memory_bytes() const = 0;

    bool dead() const { return dead_; }
    /** When a silent peer is asked for a sign of life; never, unless the dead are to be reported. */
    time_ns alive_at() const { return config_.dead == never || dead_ || heard_ == 0 ? never : heard_ + config_.dead / 3; }
    arrivals seen;      // the endpoint looks before it opens a seal, and marks after
    arrivals_of<64 * (wire::ack_words_max + 1)> taken;      // of these, what may be named in Acks

protected:
    static constexpr unsigned vain_turn = 4;    // timeouts

    /** Something has waited for an answer since then. */
    void look_whether_heard(time_ns now, time_ns since)
    {
        if (heard_ == 0 && !told_unheard_ && since && now - since >= config_.unheard) {
            told_unheard_ = true;
            up_.unheard(peer_);
        }
    }

    const uint32_t peer_;
    const config &config_;
    events &up_;
    grants &permits_;
    bool dead_ = false;
    unsigned farewells_ = 0;
    time_ns heard_ = 0;     // last sign of life; 0: none yet
    bool told_unheard_ = false;
};

} // namespace udp

#endif
