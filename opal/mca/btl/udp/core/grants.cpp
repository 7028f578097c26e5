/* SPDX-License-Identifier: BSD-3-Clause */
#include "grants.hpp"

#include <algorithm>

namespace udp {

uint64_t grants::budget() const
{
    if (config_.incast)
        return config_.incast;
    const uint64_t product = static_cast<uint64_t>(static_cast<double>(rate_) * static_cast<double>(trip_) / second);
    return std::max(2 * product, budget_least);
}

uint64_t grants::renewed(time_ns now) const
{
    if (now >= crowded_until_)
        return config_.unscheduled;
    return std::clamp(budget() / 2 / std::max({active_, active_before_, 1u}), std::min(part_least, config_.unscheduled), config_.unscheduled);
}

uint64_t grants::under_way(const account &a, time_ns now) const
{
    const uint64_t end = std::min(a.permitted, a.wanted), rest = a.arrived + reserve(config_);
    if (end <= rest || now - a.moved > silence + 4 * a.trip)
        return 0;
    return end - rest;
}

void grants::leave(account &a)
{
    if (!a.waiting)
        return;
    a.waiting = false;
    std::erase(waiting_, &a);
    std::erase(grown_, &a);
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
        missing_ = 0;
        crowd_at_ = now;
        ++crowd_slot_;
    }
    if (new_bytes && a.slot != crowd_slot_) {
        a.slot = crowd_slot_;
        ++active_;
    }
    if (missing_ && std::max(active_, active_before_) >= crowd)
        crowded_until_ = now + crowd_memory;
}

void grants::update(account &a, time_ns now, uint64_t new_bytes)
{
    a.heard = now;
    a.arrived += new_bytes;
    if (new_bytes)
        a.moved = now;
    // The rate at which things arrive: the best of the last slots, each a few round trips long.
    slot_bytes_ += new_bytes;
    const time_ns slot = std::max<time_ns>(trip_, 1 * ms);
    if (now - slot_at_ >= slot) {
        rates_[++slot_ % 8] = static_cast<uint64_t>(static_cast<double>(slot_bytes_) * second / static_cast<double>(now - slot_at_));
        rate_ = *std::max_element(rates_, rates_ + 8);
        slot_bytes_ = 0;
        slot_at_ = now;
        trip_ = a.trip ? a.trip : trip_;
    } else if (a.trip && (trip_ == 0 || a.trip < trip_)) {
        trip_ = a.trip;
    }

    look_for_crowd(a, now, new_bytes);
    give(a, a.consumed + renewed(now));
    const bool wants = a.wanted > a.arrived && a.wanted > config_.unscheduled && (wants_more(a) || a.waiting);
    if (wants && !a.waiting) {
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
    if (waiting_.size() == 1 && config_.incast == 0 && now >= crowded_until_) {
        account &a = *waiting_.front();
        const uint64_t before = a.permitted;
        give(a, a.wanted);
        if (a.permitted > before)
            grown_.push_back(&a);
        return;
    }
    uint64_t used = 0;
    for (const account *a : waiting_)
        used += under_way(*a, now);
    const uint64_t all = budget();
    while (used < all) {
        account *least = nullptr;
        for (account *a : waiting_) {
            if (!wants_more(*a) || a->permitted >= a->consumed + room(*a))
                continue;
            if (now - a->heard > silence + 4 * a->trip && least)
                continue;
            if (!least || a->priority > least->priority
                || (a->priority == least->priority && a->wanted - a->arrived < least->wanted - least->arrived))
                least = a;
        }
        if (!least)
            break;
        const uint64_t before = least->permitted;
        least->moved = now;
        give(*least, std::min(least->wanted, before + quantum));
        used += std::max<uint64_t>(least->permitted - before, 1);
        if (std::find(grown_.begin(), grown_.end(), least) == grown_.end())
            grown_.push_back(least);
    }
    next_look_ = now + silence;
}

uint64_t grants::share_asked(time_ns now)
{
    if (now - asked_at_ > silence) {
        asked_before_ = now - asked_at_ > 2 * silence ? 0 : asked_;
        asked_ = 0;
        asked_at_ = now;
    }
    ++asked_;
    return budget() / std::max(asked_, asked_before_);
}

} // namespace udp
