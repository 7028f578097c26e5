/*
 * Receiving: what a datagram's frames do, and when an Ack is due.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "modern.hpp"

#include "writer.hpp"

namespace udp {

bool modern::receive(std::span<const uint8_t> frames, uint64_t number, time_ns now)
{
    if (!wire::well_formed(frames))
        return true;
    const bool misplaced = number != taken.largest() + 1;
    if (number > seen.largest())
        permits_.arrival(number - seen.largest() - 1);
    else
        permits_.late();
    last_activity_ = heard_ = now;
    trim_due_ = true;
    if (unanswered_)
        unanswered_ = now;
    bool eliciting = false, closed = false, whole = true;
    wire::frame f;
    while (wire::get_frame(frames, f)) {
        switch (f.what) {
        case wire::kind::data:
            eliciting = true;
            whole &= data(f, now);
            break;
        case wire::kind::ack:
            if (!dead_)
                acked(f, now);
            break;
        case wire::kind::demand:
            eliciting = true;
            if (dead_)
                break;      // what it were permitted would be kept from others
            account_.wanted = std::max(account_.wanted, f.amount);
            // How much to permit depends on the round trip, which who only receives does not know.
            if (!trip_.known() && under_way_ == 0)
                probes_owed_ = 1;
            account_.trip = trip_.known() ? trip_.smallest() : 0;
            permits_.update(account_, now, 0);
            if (account_.permitted > account_.told)
                ack_at_ = now;
            break;
        case wire::kind::probe:
        case wire::kind::ping:
            eliciting = true;
            break;
        case wire::kind::close:
            closed = true;
            break;
        default:
            break;      // strict frames: the peer runs another mode, which the endpoints compare when they meet
        }
    }
    if (eliciting) {
        ++count_received_;
        ++unacked_;
        if (misplaced || unacked_ >= config_.ack_every)
            ack_at_ = now;
        else
            ack_at_ = std::min(ack_at_, now + config_.ack_delay);
    }
    if (whole && number > taken.largest())
        largest_at_ = now;
    if (closed)
        abandon(true);
    report();
    return whole;
}

/**
 * Bytes that blocks may take until they are whole: what was permitted and has not been handed up, and of each stream one that is
 * begun only.  Who keeps to its permission never needs more.
 */
uint64_t modern::room() const
{
    const uint64_t permitted = std::max(account_.permitted, config_.unscheduled);
    uint64_t all = permitted - std::min(permitted, account_.consumed) + wire::streams * frame_charge(0, config_.block_max);
    for (const assembly &s : streams_)
        all -= std::min(all, s.held());
    return all;
}

/** False: it must come again, so that its datagram is not to be acknowledged. */
bool modern::data(const wire::frame &f, time_ns now)
{
    if (up_.full())
        return false;
    if (f.total <= config_.block_max)
        account_.largest = std::max(account_.largest, f.total);
    const assembly::gain g = streams_[f.stream].accept(f, config_, room(), [&](uint8_t user, std::span<const uint8_t> block) {
        up_.deliver(peer_, f.stream, user, block);
    });
    count_duplicate_ += g.duplicate || g.refused;
    if (dead_ || g.left)
        return !g.left;
    account_.consumed += g.consumed;
    account_.trip = trip_.known() ? trip_.smallest() : 0;
    permits_.update(account_, now, g.arrived);
    // The peer may be about to run out of what it knows to be permitted.
    if (account_.permitted > account_.told && account_.told < account_.arrived + permits_.renewed(account_) / 2)
        ack_at_ = now;
    return true;
}

void modern::put_ack(writer &w, time_ns now)
{
    const uint64_t largest = taken.largest();
    wire::frame f;
    f.what = wire::kind::ack;
    f.largest = largest;
    f.delay_us = static_cast<uint32_t>(std::min<time_ns>((now - largest_at_) / us, 0xffffffff));
    f.amount = account_.permitted;
    if (largest > 1) {
        const uint64_t range = largest - named_[acks_ % ack_memory];
        f.words = static_cast<uint8_t>(std::min<uint64_t>(wire::ack_words_max, std::min(range, largest - 1) / 64 + 1));
    }
    for (unsigned i = 0; i < f.words; ++i)
        f.received[i] = largest - 1 >= 64 * i ? taken.below(largest - 1 - 64 * i) : 0;
    if (!w.put(f))
        return;
    named_[acks_++ % ack_memory] = largest;
    account_.told = account_.permitted;
    ack_at_ = never;
    unacked_ = 0;
}

} // namespace udp
