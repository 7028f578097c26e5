/*
 * Sending; settling is in modern_settle.cpp, receiving in modern_receive.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "modern.hpp"

#include "writer.hpp"

#include <algorithm>

namespace udp {

modern::modern(uint32_t peer, const config &c, events &up, grants &permits, uint32_t mtu_most, uint64_t first, bool local)
    : connection(peer, c, up, permits), mtu_(c.mtu_floor, c.mtu_start, mtu_most), control_(make_congestion(c, c.mtu_start)),
      permitted_(std::min(local ? c.unscheduled : first, c.window))
{
    account_.peer = peer;
    account_.local = local;
    permits_.open(account_);
}

modern::~modern() { permits_.close(account_); }

void modern::submit(outgoing &o, time_ns now)
{
    o.settled = o.begun = 0;
    o.next = nullptr;
    if (dead_) {
        finished_.emplace_back(&o, false);
        return;
    }
    if (idle() && under_way_ == 0)
        last_eliciting_ = now;      // timeouts count from here, not from some earlier time
    list &q = queue_[o.stream];
    o.block = q.next_block++;
    (q.last ? q.last->next : q.first) = &o;
    q.last = &o;
    queued_charge_ += frame_charge(0, o.length);
    queue_bytes_ += o.length;
    ++queue_blocks_;
    last_activity_ = now;
    trim_due_ = true;
    if (o.stream < 2 && o.length <= small_most) {
        if (small_at_ && trip_.known() && now - small_at_ < often * trip_.smoothed())
            brisk_until_ = now + brisk_trips * trip_.smoothed();
        small_at_ = now;
    }
}

// ---- what may leave ---------------------------------------------------------

/** Bytes that may be under way. */
uint64_t modern::window(time_ns now) const
{
    const uint64_t most = control_->window();
    return now < brisk_until_ && now >= others_until_ ? std::min(most, control_->enough(trip_)) : most;
}

/**
 * A queue that stays long although ours is short is that of others: to leave the path to them would
 * help nobody.  The shortest of some round trips tells: a host that is busy makes single ones long.
 */
void modern::look_for_others(time_ns now)
{
    if (now >= brisk_until_ || now < others_until_ || control_->enough(trip_) >= control_->window()) {
        held_since_ = 0;
        return;
    }
    if (held_since_ == 0 || now - held_since_ > others_trips * trip_.smoothed()) {
        if (held_since_ && held_least_ > trip_.smallest() * 3 / 2 + 2 * ms)
            others_until_ = now + others_memory;
        held_least_ = never;
        held_since_ = now;
    }
    held_least_ = std::min(held_least_, trip_.latest());
}

uint64_t modern::may_begin(unsigned stream) const
{
    // What urgent ones took since bulk asked came out of what is kept for them: else its last bytes would always be one small block short.
    const uint64_t kept = stream == 2 ? grants::reserve(config_) - std::min(urgent_charge_, grants::reserve(config_)) : 0;
    return permitted_ > begun_charge_ + kept ? permitted_ - begun_charge_ - kept : 0;
}

bool modern::sendable(unsigned stream) const
{
    if (!lost_[stream].empty())
        return true;
    const outgoing *o = queue_[stream].first;
    if (!o)
        return false;
    const uint64_t least = o->begun == 0 ? block_charge + (o->length ? 1 : 0) : 1;
    return may_begin(stream) >= least;
}

uint64_t modern::wanted() const
{
    return begun_charge_ + queued_charge_ + (queued_charge_ ? grants::reserve(config_) : 0);
}

bool modern::blocked() const
{
    return queued_charge_ != 0 && !sendable(0) && !sendable(1) && !sendable(2);
}

/** When a request may leave without data: who submits much at once asks for it together, the sooner the nearer. */
time_ns modern::asks_at() const
{
    return asked_at_ + (under_way_ ? std::max(asks_apart, hold()) : asks_apart);
}

/** What may leave is bulk that does not fill a datagram, and one like it is under way. */
bool modern::partly() const
{
    const size_t room = mtu_.value() - wire::header_bytes - (config_.security == wire::security::off ? 0 : wire::tag_bytes);
    return unfilled_ >= base_ && unfilled_ < next_number_ && sent_[unfilled_ - base_].state == fate::under_way && !has_lost() && !sendable(0) && !sendable(1) && sendable(2)
           && may_begin(2) >= queued_charge_ && queued_charge_ + wire::data_bytes < room;
}

/** Whether it waits for more. */
bool modern::holds(time_ns now)
{
    if (!partly())
        return false;
    if (held_from_ == 0)
        held_from_ = now;
    return now < held_from_ + hold();
}

bool modern::probes_path(time_ns now) const
{
    // Only where much is sent: many peers' first probes at once would fill a queue.
    return trip_.known() && delivered_ >= probes_from && now - last_activity_ < trim_after && mtu_.wants(now) != 0 && under_way_ < window(now);
}

time_ns modern::probe_at() const
{
    if (under_way_ == 0 && !blocked())
        return never;
    return last_eliciting_ + trip_.probe_timeout(config_.ack_delay, backoff_);
}

time_ns modern::deadline(time_ns now)
{
    if (farewells_ || !finished_.empty())
        return now;
    if (dead_)
        return never;
    if (probes_owed_)
        return now;
    time_ns t = std::min({ack_at_, probe_at(), loss_at_, unanswered_ ? never : alive_at()});
    const bool urgent = sendable(0) || sendable(1);
    const uint64_t window = this->window(now);
    if (urgent && under_way_ < window + beyond_window * mtu_.value())
        return now;
    if ((urgent || sendable(2)) && under_way_ < window)
        t = std::min(t, std::max(pacer_.allowed(now), held_from_ && partly() ? held_from_ + hold() : 0));
    if (blocked() && wanted() > wanted_told_)
        t = std::min(t, std::max(now, asks_at()));
    if (probes_path(now))
        t = std::min(t, now);
    if (trim_due_ && idle() && under_way_ == 0)
        t = std::min(t, last_activity_ + trim_after);
    return t;
}

// ---- one datagram -----------------------------------------------------------

void modern::put_demand(writer &w, time_ns now)
{
    wire::frame f;
    f.what = wire::kind::demand;
    f.amount = wanted();
    if (!w.put(f))
        return;
    w.eliciting = true;
    wanted_told_ = f.amount;
    asked_at_ = now;
    urgent_charge_ = 0;
}

bool modern::fill_lost(writer &w, unsigned stream)
{
    ring<piece> &lost = lost_[stream];
    while (!lost.empty()) {
        piece &p = lost.front();
        const size_t most = w.data_room(p.length);
        if (most == 0 && p.length != 0)
            return false;
        if (w.room() < wire::data_bytes)
            return false;
        const uint32_t length = static_cast<uint32_t>(std::min<size_t>(most, p.length));
        w.put_data(*p.block, p.offset, length);
        w.again = true;
        pieces_.push_back({p.block, p.offset, length});
        ++w.pieces;
        if (length == p.length) {
            lost.pop_front();
        } else {
            p.offset += length;
            p.length -= length;
        }
    }
    return true;
}

bool modern::fill_new(writer &w, unsigned stream)
{
    list &q = queue_[stream];
    while (q.first) {
        outgoing &o = *q.first;
        if (!sendable(stream))
            return true;
        const uint32_t left = o.length - o.begun;
        uint64_t most = w.data_room(left);
        if (w.room() < wire::data_bytes || (most == 0 && left != 0))
            return false;
        const uint64_t start = o.begun == 0 ? block_charge : 0;
        most = std::min(most, may_begin(stream) - start);
        const uint32_t length = static_cast<uint32_t>(std::min<uint64_t>(most, left));
        w.put_data(o, o.begun, length);
        pieces_.push_back({&o, o.begun, length});
        ++w.pieces;
        begun_charge_ += start + length;
        urgent_charge_ += stream == 2 ? 0 : start + length;
        queued_charge_ -= start + length;
        o.begun += length;
        if (o.begun == o.length) {
            q.first = o.next;
            if (!q.first)
                q.last = nullptr;
        }
    }
    return true;
}

void modern::fill(writer &w, unsigned streams_allowed)
{
    for (unsigned s = 0; s < streams_allowed; ++s)
        if (!fill_lost(w, s) || !fill_new(w, s))
            return;
}

size_t modern::commit(writer &w, uint64_t &number, time_ns now, uint32_t probe)
{
    const size_t frames = w.used();
    number = next_number_++;
    entry e;
    e.sent = now;
    e.bytes = static_cast<uint32_t>(frames + wire::header_bytes + (config_.security == wire::security::off ? 0 : wire::tag_bytes));
    e.probe = probe;
    e.first_piece = pieces_base_ + pieces_.size() - w.pieces;
    e.pieces = static_cast<uint16_t>(w.pieces);
    if (w.eliciting) {
        if (under_way_ == 0)
            first_sent_ = delivered_at_ = now;
        e.state = fate::under_way;
        e.first_sent = first_sent_;
        e.delivered = delivered_;
        e.delivered_at = delivered_at_;
        e.app_limited = app_limited_until_ > delivered_;
        under_way_ += e.bytes;
        last_eliciting_ = last_activity_ = now;
        trim_due_ = true;
        if (unanswered_ == 0)
            unanswered_ = now;
        if (w.pieces) {
            ++count_sent_;
            count_again_ += w.again;
        }
        pacer_.sent(now, e.bytes, control_->pace(trip_), mtu_.value(), trip_.known() ? trip_.smallest() : 0);
    }
    sent_.push_back(e);
    if (e.state == fate::nothing && sent_.front().state != fate::under_way)
        retire(now);    // who only sends Acks has no other occasion
    return frames;
}

size_t modern::transmit_probe(uint8_t *to, uint64_t &number, time_ns now, uint32_t bytes)
{
    const size_t fixed = wire::header_bytes + (config_.security == wire::security::off ? 0 : wire::tag_bytes);
    writer w(to, bytes - fixed);
    wire::frame f;
    f.what = wire::kind::probe;
    static const uint8_t nothing[65536] = {};
    f.payload = {nothing, w.room() - 4};
    w.put(f);
    w.eliciting = true;
    mtu_.sent(now, bytes);
    return commit(w, number, now, bytes);
}

size_t modern::transmit(uint8_t *to, uint64_t &number, time_ns now)
{
    timers(now);
    report();
    if (farewells_) {
        --farewells_;
        writer w(to, mtu_.value() - wire::header_bytes - wire::tag_bytes);
        wire::frame f;
        f.what = wire::kind::close;
        w.put(f);
        return commit(w, number, now, 0);
    }
    if (dead_)
        return 0;
    const uint64_t window = this->window(now);
    unsigned allowed = 0;
    if (probes_owed_)
        allowed = 3;
    else if (under_way_ < window && pacer_.allowed(now) <= now)
        allowed = 3;
    else if (under_way_ < window + beyond_window * mtu_.value())
        allowed = 2;
    bool any = false;
    for (unsigned s = 0; s < allowed; ++s)
        any |= sendable(s);
    // Small ones ask when half of what is theirs is used up, not each.
    const uint64_t kept = grants::reserve(config_) / (queue_[2].first ? 1 : 2);
    const bool asks = wanted() > wanted_told_ && begun_charge_ + queued_charge_ + kept > permitted_;
    const bool ack_due = now >= ack_at_;
    const bool due = probes_owed_ || ack_due;
    // Before data, too: who has always more than the window takes would never probe.
    if (!due && probes_path(now) && (allowed == 3 || !any))
        return transmit_probe(to, number, now, mtu_.wants(now));
    if (!any && !due && !(asks && blocked() && now >= asks_at()))
        return 0;
    if (any && !due && holds(now))
        return 0;
    held_from_ = 0;

    // After a timeout in a size that gets through where the path has become narrower, by turns in the one that does everywhere:
    // its Ack tells that larger ones vanish.
    const size_t fixed = wire::header_bytes + (config_.security == wire::security::off ? 0 : wire::tag_bytes);
    const uint32_t asks_in = std::min(mtu_.value(), backoff_ % 2 ? mtu_.base() : mtu_.floor());
    writer w(to, (probes_owed_ && backoff_ ? asks_in : mtu_.value()) - fixed);
    if (ack_at_ != never)
        put_ack(w, now);
    if (asks || probes_owed_)
        put_demand(w, now);
    // By these turns one carries nothing that the receiver may have to leave: its Ack tells what was lost before it.
    if (allowed && !(probes_owed_ == 1 && backoff_ && backoff_ % 2 == 0))
        fill(w, allowed);
    if (probes_owed_) {
        --probes_owed_;
        if (!w.eliciting) {
            wire::frame f;
            f.what = wire::kind::ping;
            w.put(f);
            w.eliciting = true;
        }
    }
    if (w.pieces && pieces_.back().block->stream == 2 && w.room() > wire::data_bytes && queue_[2].first == nullptr)
        unfilled_ = next_number_;
    if (!sendable(0) && !sendable(1) && !sendable(2))
        app_limited_until_ = delivered_ + under_way_ + 1;
    return commit(w, number, now, 0);
}

// ---- what an application may ask for ------------------------------------------

size_t modern::push(time_ns now)
{
    size_t pushed = 0;
    if (dead_ || (unanswered_ && now - unanswered_ > config_.dead))
        return 0;       // the next timeout reports it
    // The smoothed round trip lags behind one that grows; an Ack may wait for company.
    const time_ns wait = std::max(trip_.smoothed(), trip_.latest()) + config_.ack_delay;
    for (uint64_t n = std::max(first_open_, base_); n < next_number_ && pushed < config_.retransmit_pass; ++n) {
        entry &e = at(n);
        if (e.state != fate::under_way || e.pieces == 0 || e.sent + wait > now)
            continue;
        // Not a loss, as nobody knows; its Ack, should there be one, tells the round trip.
        e.state = fate::pushed;
        under_way_ -= e.bytes;
        hand_back(e);
        ++pushed;
    }
    if (blocked() && last_eliciting_ + wait <= now)
        wanted_told_ = 0;       // the request may have been lost, or its answer
    return pushed;
}

bool modern::may_write(uint64_t bytes) const
{
    const uint64_t window = this->window(last_activity_), most = std::min({std::min(bytes, config_.window) + block_charge, window, config_.unscheduled, config_.window});
    if (dead_ || has_lost() || queued_charge_ != 0)
        return false;
    // With nothing under way all that the peer ever permits unasked is there, be it less than usual.
    return under_way_ == 0 || (under_way_ + most <= window && may_begin(0) >= most);
}

peer_view modern::view() const
{
    peer_view v;
    v.delay = trip_.known() ? trip_.smoothed() : 0;
    v.delay_min = trip_.known() ? trip_.smallest() : 0;
    v.window = window(last_activity_);
    v.window_own = account_.window;
    v.permitted = may_begin(0);
    v.under_way = under_way_;
    v.queue = queue_blocks_;
    v.queue_bytes = queue_bytes_;
    v.sent = count_sent_;
    v.sent_again = count_again_;
    v.received = count_received_;
    v.duplicates = count_duplicate_;
    v.mtu = mtu_.value();
    return v;
}

size_t modern::memory_bytes() const
{
    size_t n = sizeof(modern) + sent_.memory_bytes() + pieces_.memory_bytes();
    for (unsigned s = 0; s < wire::streams; ++s)
        n += lost_[s].memory_bytes() + streams_[s].memory_bytes();
    return n + (finished_.capacity() + reporting_.capacity()) * sizeof finished_[0];
}

} // namespace udp
