/* SPDX-License-Identifier: BSD-3-Clause */
#include "strict.hpp"

#include <algorithm>

namespace udp {

strict::strict(uint32_t peer, const config &c, events &up, grants &permits)
    : connection(peer, c, up, permits), window_(static_cast<uint32_t>(std::min<uint64_t>(c.window, window_most))), window_own_(window_)
{
}

void strict::submit(outgoing &o, time_ns now)
{
    o.settled = o.begun = 0;
    o.next = nullptr;
    if (dead_) {
        finished_.emplace_back(&o, false);
        return;
    }
    if (idle())
        last_sent_ = now;
    (last_ ? last_->next : first_) = &o;
    last_ = &o;
    ++queue_blocks_;
    queue_bytes_ += o.length;
}

// ---- sending ------------------------------------------------------------------

/** Cuts the next packet off the blocks that wait. */
bool strict::cut()
{
    if (!first_)
        return false;
    outgoing &o = *first_;
    const size_t fixed = wire::header_bytes + wire::tag_bytes + wire::packet_bytes + 12;
    packet p;
    p.block = &o;
    p.offset = o.begun;
    p.length = static_cast<uint32_t>(std::min<size_t>(o.length - o.begun, config_.mtu_start - fixed));
    const uint32_t sequence = base_ + static_cast<uint32_t>(unacked_.size());
    if (p.offset == 0)
        block_start_ = sequence;
    p.start = block_start_;
    o.begun += p.length;
    p.last = o.begun == o.length;
    if (p.last) {
        first_ = o.next;
        if (!first_)
            last_ = nullptr;
    }
    unacked_.push_back(p);
    return true;
}

bool strict::may_send() const
{
    if (state_ == state::asking || (at_ == unacked_.size() && (!first_ || state_ == state::permitted)))
        return false;
    if (under_way_ == 0 && state_ == state::sending)
        return true;        // one packet finds out whether a closed window has opened
    const uint32_t next = at_ < unacked_.size() ? unacked_[at_].length : config_.mtu_start;
    if (state_ == state::permitted && next > permitted_)
        return false;
    return under_way_ + next <= window_;
}

time_ns strict::timeout_at() const
{
    if (idle())
        return never;
    return last_sent_ + trip_.probe_timeout(0, backoff_);
}

time_ns strict::deadline(time_ns now)
{
    if (!finished_.empty() || farewells_)
        return now;
    if (dead_)
        return never;
    if (ack_owed_ || nack_owed_ || permission_owed_ || request_owed_ || may_send())
        return now;
    return idle() ? std::max(alive_at(), ask_alive_at_) : timeout_at();
}

void strict::ask(time_ns now)
{
    state_ = state::asking;
    at_ = 0;
    under_way_ = 0;
    permitted_ = 0;
    recover_ = base_ + static_cast<uint32_t>(unacked_.size());
    // What is acknowledged now may be so in answer to this: its time says nothing of the path (Karn).
    for (size_t i = 0; i < unacked_.size(); ++i)
        unacked_[i].again = true;
    request_owed_ = true;
    last_sent_ = now;
}

size_t strict::transmit(uint8_t *to, uint64_t &number, time_ns now)
{
    if (!dead_ && timeout_at() <= now) {
        if (unanswered_ && now - unanswered_ > config_.dead) {
            up_.dead(peer_);
            abandon(false);
        } else {
            look_whether_heard(now, unanswered_);
            ++backoff_;
            if (unacked_.empty())
                cut();
            ask(now);
        }
    }
    report();
    size_t used = 0;
    wire::frame f;
    // Not of the paper, and only where the dead are to be reported: a sign of life from those who owe nothing.
    if (idle() && std::max(alive_at(), ask_alive_at_) <= now) {
        if (now - heard_ > config_.dead) {
            up_.dead(peer_);
            abandon(false);
            report();
            return 0;
        }
        ask_alive_at_ = now + config_.dead / 9 + 1;
        f.what = wire::kind::ping;
        used += wire::put_frame(to, f);
    }
    if (farewells_) {
        --farewells_;
        f.what = wire::kind::close;
        used += wire::put_frame(to + used, f);
    } else if (dead_) {
        return 0;
    }
    if (ack_owed_ || nack_owed_) {
        f = {};
        f.what = wire::kind::answer;
        f.nack = nack_owed_;
        f.sequence = nack_owed_ ? expected_ : expected_ - 1;
        f.window = room();
        used += wire::put_frame(to + used, f);
        ack_owed_ = nack_owed_ = false;
    }
    if (permission_owed_) {
        f = {};
        f.what = wire::kind::permission;
        f.amount = permission_owed_;
        used += wire::put_frame(to + used, f);
        permission_owed_ = 0;
    } else if (request_owed_) {
        f = {};
        f.what = wire::kind::request;
        for (size_t i = 0; i < unacked_.size(); ++i)
            f.amount += unacked_[i].length;
        used += wire::put_frame(to + used, f);
        request_owed_ = false;
        if (unanswered_ == 0)
            unanswered_ = now;
    } else if (may_send() && (at_ < unacked_.size() || cut())) {
        packet &p = unacked_[at_];
        f = {};
        f.what = wire::kind::packet;
        f.user = p.block->user;
        f.last = p.last;
        f.sequence = base_ + static_cast<uint32_t>(at_);
        f.block = p.start;
        f.window = room();
        f.payload = {p.block->data + p.offset, p.length};
        used += wire::put_frame(to + used, f);
        ++count_sent_;
        if (p.sent) {
            p.again = true;
            ++count_again_;
        }
        p.sent = last_sent_ = now;
        under_way_ += p.length;
        ++at_;
        if (state_ == state::permitted)
            permitted_ -= std::min<uint64_t>(permitted_, p.length);
        if (unanswered_ == 0)
            unanswered_ = now;
    }
    if (used)
        number = next_number_++;
    return used;
}

void strict::acked(uint32_t sequence, uint32_t window, time_ns now)
{
    window_ = window;
    const int32_t n = static_cast<int32_t>(sequence + 1 - base_);
    if (n <= 0 || static_cast<size_t>(n) > unacked_.size())
        return;
    for (int32_t i = 0; i < n; ++i) {
        packet &p = unacked_.front();
        if (at_ > 0) {
            --at_;
            under_way_ -= p.length;
        }
        if (!p.again && p.sent && i == n - 1)
            trip_.sample(now, now - p.sent, 0);     // Karn: only what was sent once
        if (p.last) {
            --queue_blocks_;
            queue_bytes_ -= p.block->length;
            finished_.emplace_back(p.block, true);
        }
        unacked_.pop_front();
        ++base_;
    }
    backoff_ = 0;
    unanswered_ = idle() ? 0 : now;
    last_sent_ = now;
    if (state_ != state::sending && static_cast<int32_t>(base_ - recover_) >= 0)
        state_ = state::sending;
    else if (state_ == state::permitted && under_way_ == 0 && !may_send())
        ask(now);       // the permission was for less than there is
}

size_t strict::push(time_ns now)
{
    const size_t waiting = unacked_.size();
    if (unanswered_ && now - unanswered_ > config_.dead)
        return 0;       // the next timeout reports it
    if (waiting == 0 || state_ == state::permitted || last_sent_ + trip_.smoothed() > now)
        return 0;
    if (waiting > congested || state_ == state::asking) {
        ask(now);
    } else {
        at_ = 0;
        under_way_ = 0;
    }
    return waiting;
}

bool strict::may_write(uint64_t bytes) const
{
    const uint64_t most = std::min<uint64_t>(bytes, std::max<uint32_t>(window_, config_.mtu_start));
    return !dead_ && !first_ && at_ == unacked_.size() && state_ == state::sending && under_way_ + most <= window_;
}

void strict::nacked(uint32_t sequence, uint32_t window, time_ns now)
{
    if (sequence - base_ > unacked_.size())
        return;
    acked(sequence - 1, window, now);
    window_ = window;
    if (sequence != base_ || state_ == state::asking)
        return;
    if (unacked_.size() > congested) {
        ask(now);
        return;
    }
    at_ = 0;
    under_way_ = 0;
}

// ---- receiving ----------------------------------------------------------------

uint32_t strict::room() const
{
    return window_own_ - static_cast<uint32_t>(std::min<uint64_t>(window_own_, input_.size()));
}

/** A block must fit, as it stays in the queue until it is whole. */
void strict::window_set(uint64_t bytes)
{
    window_own_ = static_cast<uint32_t>(std::min<uint64_t>(std::max<uint64_t>(bytes, config_.block_max), window_most));
}

void strict::packet_in(const wire::frame &f)
{
    const int32_t ahead = static_cast<int32_t>(f.sequence - expected_);
    if (ahead < 0) {                                        // R3
        ++count_duplicate_;
        ack_owed_ = true;
        return;
    }
    if (ahead > 0) {                                        // R4
        nack_owed_ |= !nacked_;
        nacked_ = true;
        return;
    }
    const bool begins = f.block == f.sequence;
    if (begins != input_.empty() && !(input_.empty() && f.last))
        return;     // contradicts what came before
    if (up_.full() || f.payload.size() > room() || input_.size() + f.payload.size() > config_.block_max) {   // R2
        nack_owed_ = true;
        return;
    }
    ++count_received_;
    ++expected_;                                            // R1
    nacked_ = false;
    nack_owed_ = false;
    ack_owed_ = true;
    if (f.last && input_.empty()) {
        up_.deliver(peer_, 0, f.user, f.payload);
        return;
    }
    input_.insert(input_.end(), f.payload.begin(), f.payload.end());
    if (f.last) {
        const std::vector<uint8_t> block = std::move(input_);
        input_.clear();
        up_.deliver(peer_, 0, f.user, block);
    }
}

bool strict::receive(std::span<const uint8_t> frames, uint64_t, time_ns now)
{
    if (!wire::well_formed(frames))
        return true;
    heard_ = now;
    ask_alive_at_ = 0;
    if (unanswered_)
        unanswered_ = now;
    wire::frame f;
    while (wire::get_frame(frames, f)) {
        switch (f.what) {
        case wire::kind::packet:
            packet_in(f);
            break;
        case wire::kind::answer:
            f.nack ? nacked(f.sequence, f.window, now) : acked(f.sequence, f.window, now);
            break;
        case wire::kind::request:
            // What it has ready, what our queue holds, what arrives in a round trip shared by all who ask.
            permission_owed_ = std::min<uint64_t>({std::max<uint64_t>(f.amount, 1), std::max<uint64_t>(room(), config_.mtu_start),
                                                   permits_.share_asked(now)});
            permission_owed_ = std::max<uint64_t>(permission_owed_, config_.mtu_start);
            nacked_ = false;
            ack_owed_ = true;       // so that it does not send what has come
            break;
        case wire::kind::permission:
            if (state_ == state::asking || state_ == state::permitted) {
                state_ = state::permitted;
                permitted_ += f.amount;
                last_sent_ = now;
            }
            break;
        case wire::kind::ping:
            ack_owed_ = true;
            break;
        case wire::kind::close:
            abandon(true);
            break;
        default:
            break;
        }
    }
    report();
    return true;    // what it drops it does not acknowledge: its packets have numbers of their own
}

void strict::report()
{
    while (!finished_.empty()) {
        std::vector<std::pair<outgoing *, bool>> list;
        list.swap(finished_);
        for (auto [o, arrived] : list)
            up_.sent(peer_, *o, arrived);
    }
}

void strict::abandon(bool arrived)
{
    dead_ = true;
    for (size_t i = 0; i < unacked_.size(); ++i)
        if (unacked_[i].last)
            finished_.emplace_back(unacked_[i].block, arrived);
    for (outgoing *o = first_; o; o = o->next)
        finished_.emplace_back(o, arrived);
    first_ = last_ = nullptr;
    unacked_.release();
    at_ = 0;
    under_way_ = queue_blocks_ = queue_bytes_ = 0;
    ack_owed_ = nack_owed_ = request_owed_ = false;
    permission_owed_ = 0;
}

peer_view strict::view() const
{
    peer_view v;
    v.delay = trip_.known() ? trip_.smoothed() : 0;
    v.delay_min = trip_.known() ? trip_.smallest() : 0;
    v.window = window_;
    v.window_own = window_own_;
    v.permitted = permitted_;
    v.under_way = under_way_;
    v.queue = queue_blocks_;
    v.queue_bytes = queue_bytes_;
    v.sent = count_sent_;
    v.sent_again = count_again_;
    v.received = count_received_;
    v.duplicates = count_duplicate_;
    v.mtu = config_.mtu_start;
    return v;
}

size_t strict::memory_bytes() const
{
    return sizeof *this + unacked_.memory_bytes() + input_.capacity() + finished_.capacity() * sizeof finished_[0];
}

} // namespace udp
