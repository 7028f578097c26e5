/* SPDX-License-Identifier: BSD-3-Clause */
#include "grants.hpp"

#include <algorithm>
#include <utility>

namespace udp {

uint64_t grants::budget(time_ns trip) const
{
    if (config_.incast)
        return config_.incast;
    // In a crowd a trip that is somewhat longer than the shortest has waited in the queue that is to be kept short.
    if (trip == 0 || (crowded_ && is_near(trip)))
        trip = trip_;
    const double rate = static_cast<double>(std::max(rate_, rate_before_));
    return std::max(static_cast<uint64_t>(2 * rate * static_cast<double>(trip) / second), budget_least);
}

/** Whether a trip is as the shortest, but for what it waited in the queue that is to be kept short. */
bool grants::is_near(time_ns trip) const
{
    const uint64_t rate = std::max(rate_, rate_before_);
    const time_ns waits = rate ? static_cast<time_ns>(queue_shallow * uint64_t(second) / rate) : queue_wait_most;
    return trip < std::max(alike * trip_, trip_ + std::min(waits, queue_wait_most));
}

uint64_t grants::renewed(const account &a) const
{
    return std::min(part(a) + (crowded_ ? 0 : a.ahead), std::max(part(a), config_.unscheduled));
}

/** Without what it may have ahead. */
uint64_t grants::part(const account &a) const
{
    const unsigned all = std::max(crowded_ ? std::max({active_, active_before_, 1u}) : 0, is_wary(a) ? crowd_size_ : 0);
    if (all == 0)
        return config_.unscheduled + a.lent;
    return std::clamp(budget(a.trip) / 2 / all, std::min(part_least, config_.unscheduled), config_.unscheduled);
}

uint64_t grants::under_way(const account &a, time_ns now) const
{
    const uint64_t end = std::min(a.permitted, a.wanted), rest = a.arrived + reserve(config_);
    if (end <= rest || now - a.moved > silence + 4 * a.trip)
        return 0;
    return end - rest;
}

/** Its part of the budget; of what it was permitted while alone, only what it makes use of. */
double grants::used(const account &a, time_ns now) const
{
    const uint64_t all = under_way(a, now);
    return static_cast<double>(a.arrived < a.alone ? std::min(all, pace(a)) : all) / static_cast<double>(budget(a.trip));
}

/** Makes no use of what it has: more would be kept from others again and again. */
bool grants::is_silent(const account &a, time_ns now) const
{
    return now - a.heard > silence + 4 * a.trip && a.permitted > a.arrived + reserve(config_);
}

/** Whose turn comes first: who wants less, but of those who want much, who has less. */
bool grants::before(const account &a, const account &b, time_ns now) const
{
    if (is_silent(a, now) != is_silent(b, now))
        return is_silent(b, now);
    if (a.priority != b.priority)
        return a.priority > b.priority;
    const uint64_t left_a = std::min(a.wanted - a.arrived, std::max(budget(a.trip), much));
    const uint64_t left_b = std::min(b.wanted - b.arrived, std::max(budget(b.trip), much));
    if (left_a != left_b)
        return left_a < left_b;
    const double used_a = used(a, now), used_b = used(b, now);
    return used_a != used_b ? used_a < used_b : a.moved < b.moved;
}

void grants::leave(account &a)
{
    if (!a.waiting)
        return;
    a.waiting = false;
    std::erase(waiting_, &a);
    std::erase(grown_, &a);
}

void grants::close(account &a)
{
    if (a.waiting)
        next_look_ = 0;
    leave(a);
    lent_ -= std::exchange(a.lent, 0);
    a.ahead = 0;
    std::erase(ahead_, &a);
    if (asker_ == &a)
        asker_ = nullptr;
}

/** It asks for more. */
void grants::let_ahead(account &a, time_ns now)
{
    if (asker_ != &a) {
        asker_ = &a;
        asks_ = 0;
    }
    if (++asks_ < asks_least || a.ahead || crowded_ || waiting_.size() > 1 || !is_wary(a))
        return;
    // What those before it hold may come at any time, but they get no more of it once they are silent.
    uint64_t held = 0;
    for (account *b : ahead_) {
        if (now - b->heard > crowd_memory)
            b->ahead = 0;
        const uint64_t most = b->consumed + part(*b);
        held += std::max(b->ahead, b->permitted - std::min(b->permitted, most));
    }
    std::erase_if(ahead_, [&](const account *b) { return b->ahead == 0 && b->permitted <= b->consumed + part(*b); });
    if (held + ahead_part > ahead_all)
        return;
    a.ahead = ahead_part;
    if (std::find(ahead_.begin(), ahead_.end(), &a) == ahead_.end())
        ahead_.push_back(&a);
}

/** To whom asking is dear: what its path holds, by what came of late. */
void grants::lend(account &a)
{
    lent_ -= a.lent;
    const uint64_t most = a.trip && !crowded_ && !is_wary(a) && config_.incast == 0 ? budget(a.trip) : 0;
    a.lent = std::min(a.part_most, most - std::min(most, lent_));
    lent_ += a.lent;
}

void grants::give(account &a, uint64_t to)
{
    to = std::min(to, a.consumed + room(a));
    if (to > a.permitted)
        a.permitted = to;
}

/** Who ends early no longer sends, but will be back in the next round: so all of a while count. */
void grants::look_for_crowd(account &a, time_ns now, uint64_t new_bytes)
{
    if (now - crowd_at_ >= crowd_slot) {
        active_before_ = now - crowd_at_ < 2 * crowd_slot ? active_ : 0;
        active_ = 0;
        came_ = missing_ = 0;
        crowd_at_ = now;
        ++crowd_slot_;
    }
    if (new_bytes && a.slot != crowd_slot_) {
        a.slot = crowd_slot_;
        ++active_;
    }
    const bool overrun = missing_ >= overrun_least && missing_ * overrun_part > came_ + missing_ && std::max(active_, active_before_) >= crowd;
    // Peers of our own host share no network's queue.
    const auto remote = std::count_if(waiting_.begin(), waiting_.end(), [](const account *w) { return !w->local; });
    if (overrun || remote >= static_cast<std::ptrdiff_t>(crowd) || (crowded_ && waiting_.size() >= crowd))
        crowded_until_ = now + crowd_memory;
    crowded_ = now < crowded_until_;
    if (crowded_) {
        crowd_size_ = std::max({crowd_size_, active_, active_before_, crowd});
        wary_until_ = now + wary_memory;
    } else if (crowd_size_ && wary_until_ == never) {
        wary_until_ = now + wary_memory;    // of a crowd that may come: nothing is known yet
    } else if (now >= wary_until_) {
        crowd_size_ = 0;
    }
}

/** At what rate things arrive when they do, and how much comes from this peer in a round trip. */
void grants::measure(account &a, time_ns now, uint64_t new_bytes)
{
    if (a.trip && (trip_ == 0 || a.trip < trip_))
        trip_ = a.trip;
    if (a.trip && (trip_next_ == 0 || a.trip < trip_next_))
        trip_next_ = a.trip;
    if (now - rate_at_ >= rate_memory) {
        rate_before_ = rate_;
        rate_ = 0;
        rate_at_ = now;
        trip_ = trip_next_ ? trip_next_ : trip_;
        trip_next_ = a.trip;
    }
    slot_bytes_ += new_bytes;
    if (now - slot_at_ >= rate_slot && (slot_bytes_ >= quantum || now - slot_at_ >= crowd_slot)) {
        rate_ = std::max(rate_, static_cast<uint64_t>(static_cast<double>(slot_bytes_) * second / static_cast<double>(now - slot_at_)));
        slot_bytes_ = 0;
        slot_at_ = now;
    }
    const time_ns trip = std::max(a.trip ? a.trip : trip_, part_trip);
    if (now - a.part_at >= trip) {
        a.part_before = now - a.part_at < 2 * trip ? a.part_bytes : 0;
        a.part_bytes = 0;
        a.part_at = now;
    }
    a.part_bytes += new_bytes;
    if (a.part_bytes >= a.part_most || now - a.part_most_at > part_memory) {
        a.part_most = a.part_bytes;
        a.part_most_at = now;
    }
}

void grants::update(account &a, time_ns now, uint64_t new_bytes)
{
    a.heard = now;
    a.arrived += new_bytes;
    if (new_bytes) {
        a.moved = came_at_ = now;
        beside_ = 0;
    }
    measure(a, now, new_bytes);
    look_for_crowd(a, now, new_bytes);
    lend(a);
    if (new_bytes == 0 && wants_more(a))
        let_ahead(a, now);
    give(a, a.consumed + renewed(a));
    // What it says it wants includes the part that bulk leaves to others.
    const bool wants = a.wanted > a.arrived + reserve(config_) && a.wanted > first(config_) && (wants_more(a) || a.waiting);
    if (wants && !a.waiting) {
        if (waiting_.empty())
            came_at_ = now;
        a.waiting = true;
        waiting_.push_back(&a);
    } else if (!wants && a.waiting) {
        leave(a);
    }
    if (!waiting_.empty())
        share(now);
}

void grants::look(time_ns now)
{
    share(now);
}

void grants::share(time_ns now)
{
    next_look_ = never;
    if (waiting_.size() == 1 && config_.incast == 0 && !crowded_) {
        account &a = *waiting_.front();
        const uint64_t before = a.permitted;
        give(a, a.wanted + renewed(a));
        a.alone = a.permitted;
        if (a.permitted > before)
            grown_.push_back(&a);
        return;
    }
    // Who has permission may have no core: the link is not to lie idle for that.
    if (now - came_at_ >= idle()) {
        beside_ = std::min(beside_ + 1, beside_most);
        came_at_ = now;
    }
    double all = -static_cast<double>(beside_);
    for (const account *a : waiting_)
        all += used(*a, now);
    for (;;) {
        account *least = nullptr;
        for (account *a : waiting_) {
            if (!wants_more(*a) || a->permitted >= a->consumed + room(*a))
                continue;
            if (all >= 1 && (is_near(a->trip) || under_way(*a, now) + turn(*a) > budget(a->trip) / waiting_.size()))
                continue;
            // What is given beside goes to those that have none.
            if (beside_ && all + beside_ >= 1 && (under_way(*a, now) >= turn(*a) || is_silent(*a, now)))
                continue;
            // More than it can use by its own window would only be kept from others.
            if (a->priority == 0 && under_way(*a, now) >= 2 * pace(*a))
                continue;
            if (!least || before(*a, *least, now))
                least = a;
        }
        if (!least)
            break;
        const uint64_t before = least->permitted;
        least->moved = now;
        all -= used(*least, now);
        give(*least, std::min(least->wanted, before + turn(*least)));
        all += used(*least, now) + 1e-9;
        if (std::find(grown_.begin(), grown_.end(), least) == grown_.end())
            grown_.push_back(least);
    }
    if (waiting_.size() > 1)
        next_look_ = std::min(now + silence, beside_ < beside_most ? came_at_ + idle() : never);
}

uint64_t grants::share_asked(time_ns now)
{
    if (now - asked_at_ > silence) {
        asked_before_ = now - asked_at_ > 2 * silence ? 0 : asked_;
        asked_ = 0;
        asked_at_ = now;
    }
    ++asked_;
    return budget(trip_) / std::max(asked_, asked_before_);
}

} // namespace udp
