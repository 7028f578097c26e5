/*
 * Settling: what an Ack, a loss, a timeout or the end does to what was sent.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "modern.hpp"

#include <algorithm>

namespace udp {

void modern::finish(outgoing &o, bool arrived)
{
    queue_bytes_ -= o.length;
    --queue_blocks_;
    finished_.emplace_back(&o, arrived);
}

void modern::report()
{
    while (!finished_.empty()) {
        reporting_.swap(finished_);
        for (auto [o, arrived] : reporting_)
            up_.sent(peer_, *o, arrived);
        reporting_.clear();
    }
}

void modern::settle(entry &e)
{
    e.state = fate::settled;
    under_way_ -= e.bytes;
    for (unsigned i = 0; i < e.pieces; ++i) {
        const piece &p = pieces_[e.first_piece - pieces_base_ + i];
        p.block->settled += p.length;
        if (p.block->settled == p.block->length)
            finish(*p.block, true);
    }
}

uint64_t modern::lose(uint64_t number, time_ns now)
{
    entry &e = at(number);
    e.state = fate::lost;
    under_way_ -= e.bytes;
    if (e.probe) {
        mtu_.lost(now, e.probe);
        return 0;
    }
    narrower_ |= mtu_.fared(now, e.bytes, e.sent, false);
    hand_back(e);
    return e.bytes;
}

/** What it carried is to be sent again. */
void modern::hand_back(entry &e)
{
    for (unsigned i = 0; i < e.pieces; ++i) {
        const piece p = pieces_[e.first_piece - pieces_base_ + i];
        lost_[p.block->stream].push_back(p);
    }
}

void modern::acked(const wire::frame &f, time_ns now)
{
    if (f.largest >= next_number_)
        return;     // names what was never sent
    permitted_ = std::max(permitted_, f.amount);
    uint64_t bytes = 0, newest = 0;
    const uint64_t before = under_way_;
    const auto take = [&](uint64_t n) {
        entry &e = at(n);
        if (e.state == fate::under_way) {
            bytes += e.bytes;
            newest = std::max(newest, n);
            if (e.probe)
                mtu_.arrived(now, e.probe);
            mtu_.fared(now, e.bytes, e.sent, true);
            settle(e);
        } else if (e.state == fate::lost) {
            // It was late only; its pieces are on their way again and stay so.
            e.state = fate::settled;
            reorder_ = std::min<unsigned>(reorder_most, std::max<unsigned>(reorder_, static_cast<unsigned>(f.largest - n) + 1));
            control_->spurious();
        } else if (e.state == fate::pushed) {
            // Its pieces are on their way again, too; but it tells that the round trip has grown.
            e.state = fate::settled;
            if (n == f.largest)
                trip_.sample(now, now - e.sent, std::min<time_ns>(f.delay_us * us, second));
        }
    };
    if (f.largest >= base_)
        take(f.largest);
    for (unsigned w = 0; w < f.words && f.largest > base_ + 64 * w; ++w)
        for (uint64_t bits = f.received[w]; bits; bits &= bits - 1) {
            const uint64_t down = 1 + 64 * w + static_cast<unsigned>(__builtin_ctzll(bits));
            if (f.largest < base_ + down)
                break;
            take(f.largest - down);
        }
    if (newest == 0)
        return;
    const entry e = at(newest);
    if (newest == f.largest)
        trip_.sample(now, now - e.sent, std::min<time_ns>(f.delay_us * us, second));
    if (newest > largest_acked_) {
        largest_acked_ = newest;
        largest_acked_sent_ = e.sent;
    }
    const bool was_silent = backoff_ >= 2;
    backoff_ = 0;
    unanswered_ = under_way_ ? now : 0;
    delivered_ += bytes;
    const time_ns elapsed = std::max({e.sent - e.first_sent, now - e.delivered_at, time_ns(1)});
    const uint64_t rate = static_cast<uint64_t>(static_cast<double>(delivered_ - e.delivered) * second / static_cast<double>(elapsed));
    delivered_at_ = now;
    first_sent_ = e.sent;
    const bool free = window(now) == control_->window();
    control_->acked({now, bytes, before, delivered_, rate, e.delivered, e.sent, e.app_limited,
                     free && (!e.app_limited || 2 * before > control_->window()), trip_});
    look_for_others(now);
    detect(now);
    if (was_silent && e.bytes <= mtu_.floor() && mtu_.only_small(now))
        control_ = make_congestion(config_, config_.mtu_start);
    retire(now);
}

void modern::detect(time_ns now)
{
    loss_at_ = never;
    uint64_t bytes = 0;
    time_ns newest = 0;
    while (first_open_ < next_number_ && (first_open_ < base_ || at(first_open_).state != fate::under_way))
        ++first_open_;
    for (uint64_t n = first_open_; n < largest_acked_; ++n) {
        if (at(n).state != fate::under_way)
            continue;
        const time_ns limit = at(n).sent + trip_.reorder_time();
        if (largest_acked_ - n >= reorder_ || limit <= now) {
            newest = std::max(newest, at(n).sent);
            bytes += lose(n, now);
        } else {
            loss_at_ = std::min(loss_at_, limit);
        }
    }
    if (bytes)
        tell_lost(now, bytes, newest, false);
}

void modern::tell_lost(time_ns now, uint64_t bytes, time_ns newest, bool timeout)
{
    if (narrower_)      // what was too large for the path says nothing of its queue
        control_ = make_congestion(config_, config_.mtu_start);
    else
        control_->lost({now, bytes, newest, under_way_, timeout, trip_});
    narrower_ = false;
}

void modern::retire(time_ns now)
{
    while (!sent_.empty()) {
        const entry &e = sent_.front();
        if (e.state == fate::under_way || (e.state == fate::lost && now - e.sent < 2 * trip_.smoothed())
            || (e.state == fate::pushed && now - e.sent < pushed_memory))
            break;
        for (unsigned i = 0; i < e.pieces; ++i)
            pieces_.pop_front();
        pieces_base_ += e.pieces;
        sent_.pop_front();
        ++base_;
    }
}

void modern::timers(time_ns now)
{
    if (dead_)
        return;
    if (loss_at_ <= now) {
        detect(now);
        retire(now);
    }
    if (!unanswered_ && alive_at() <= now && !probes_owed_)
        probes_owed_ = 1;
    if (probe_at() <= now) {
        if (unanswered_ && now - unanswered_ > config_.dead) {
            die();
            return;
        }
        look_whether_heard(now, unanswered_);
        ++backoff_;
        probes_owed_ = backoff_ < 3 ? 2 : 1;
        last_eliciting_ = now;
        wanted_told_ = 0;       // the request may have been lost, or its answer
        while (first_open_ < next_number_ && (first_open_ < base_ || at(first_open_).state != fate::under_way))
            ++first_open_;
        if (first_open_ < next_number_) {
            const time_ns sent = at(first_open_).sent;
            const uint64_t bytes = lose(first_open_, now);
            tell_lost(now, bytes, sent, true);
        }
        if (backoff_ >= 3)
            mtu_.silent(now);
    }
    if (trim_due_ && idle() && under_way_ == 0 && now - last_activity_ >= trim_after) {
        trim_due_ = false;
        base_ += sent_.size();
        pieces_base_ += pieces_.size();
        sent_.release();
        pieces_.release();
        for (unsigned s = 0; s < wire::streams; ++s) {
            lost_[s].release();
            streams_[s].trim();
        }
        std::vector<std::pair<outgoing *, bool>>().swap(reporting_);
        if (finished_.empty())
            std::vector<std::pair<outgoing *, bool>>().swap(finished_);
    }
}

void modern::die()
{
    dead_ = true;
    up_.dead(peer_);
    abandon(false);
    report();
}

void modern::abandon(bool arrived)
{
    dead_ = true;
    // Every block that is not finished hangs on a list, on a lost piece or on an entry; each is named once.
    const auto drop = [&](outgoing *o) {
        if (o->settled != ~uint32_t(0)) {
            o->settled = ~uint32_t(0);
            finish(*o, arrived);
        }
    };
    for (uint64_t n = base_; n < next_number_; ++n)
        if (at(n).state == fate::under_way)
            for (unsigned i = 0; i < at(n).pieces; ++i)
                drop(pieces_[at(n).first_piece - pieces_base_ + i].block);
    for (unsigned s = 0; s < wire::streams; ++s) {
        for (size_t i = 0; i < lost_[s].size(); ++i)
            drop(lost_[s][i].block);
        for (outgoing *o = queue_[s].first; o;) {
            outgoing *const next = o->next;
            drop(o);
            o = next;
        }
        lost_[s].release();
        queue_[s].first = queue_[s].last = nullptr;
    }
    base_ = next_number_;
    sent_.release();
    pieces_base_ += pieces_.size();
    pieces_.release();
    under_way_ = queued_charge_ = 0;
    probes_owed_ = 0;
    loss_at_ = ack_at_ = never;
    permits_.close(account_);
}

} // namespace udp
