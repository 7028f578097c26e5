/*
 * Predictions for exchanges step by step: in each, a rank sends to another one
 * and goes on when it has what a third one sends.  Who waits for whom decides
 * how many WAN latencies come one after the other (2 x 16 ranks, 31 steps:
 * `ring` 17, `pair` 16; 12 and 20 ranks: 17 and 27), so ranks are followed
 * through their steps; ranks * steps in time.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_STEP_TIMES_HPP
#define WAN_ALGO_STEP_TIMES_HPP

#include "algo/sites.hpp"

#include <algorithm>
#include <vector>

namespace wan {

/** When each rank, by slot, has done its steps so far. */
class step_times {
public:
    step_times(const topology &t, const facts &f)
        : facts_(f), sites_(static_cast<size_t>(t.site_count())), at_(static_cast<size_t>(t.size())), next_(at_)
    {
        for (size_t a = 0; a < sites_; ++a) {
            site_.insert(site_.end(), static_cast<size_t>(t.rank_count(site_at(static_cast<int>(a)))), a);
            for (size_t b = 0; b < sites_; ++b) {
                const int64_t ns = f.latency_ns(site_at(static_cast<int>(a)), site_at(static_cast<int>(b)));
                // Each pair of ranks has a connection of its own.
                latency_.push_back(std::min(most_ns, a != b && f.between_sites == connections::closed ? 5 * ns : ns));
            }
        }
        // A step of all hosts keeps their processors longer than a message and an answer that others idle.
        handled_ = std::max(2 * f.message_ns, f.step_ns - f.lan_ns);
    }

    int size() const { return static_cast<int>(at_.size()); }
    /** Around once at most. */
    int slot(int i) const { return i < 0 ? i + size() : i < size() ? i : i - size(); }

    /** Slot s sends `bytes` to to(s), which is another one or itself: no step; `ready`: when it has heard that to(s) has come. */
    template <typename To, typename From> void step(To to, From from, int64_t bytes, int64_t busy_ns, bool ready)
    {
        const bool waits = bytes > 0 && exchange_waits(facts_, static_cast<uint64_t>(bytes));
        for (int s = 0; s < size(); ++s) {
            const int next = to(s), before = from(s);
            if (next == s) {
                set(s, at(s));
                continue;
            }
            const int64_t forth = latency(s, next), back = latency(before, s);
            const int64_t leaves = ready ? std::max(at(s), at(next) + forth) : at(s);
            const int64_t coming = ready ? std::max(at(before), at(s) + back) : at(before);
            // Asked for consent, which is given when the step of the receiver has begun.
            const int64_t came = waits ? std::max(at(s), coming + back) + 2 * back : coming + back;
            const int64_t left = waits ? std::max(at(next), leaves + forth) + forth : leaves;
            set(s, std::max({at(s), came, left}) + handled_ + (ready ? 2 * facts_.message_ns : 0) + busy_ns);
        }
        at_.swap(next_);
    }

    /** By dissemination. */
    void barrier()
    {
        for (int d = 1; d < size(); d *= 2) {
            for (int s = 0; s < size(); ++s)
                set(s, std::max(at(s), at(slot(s - d)) + latency(slot(s - d), s)) + handled_);
            at_.swap(next_);
        }
    }

    /** Of the slowest; the planner counts one connection that opens. */
    int64_t end_ns() const
    {
        const int64_t opened = facts_.between_sites == connections::closed ? 4 * facts_.widest_ns() : 0;
        return std::max<int64_t>(0, *std::max_element(at_.begin(), at_.end()) - opened);
    }

private:
    static constexpr int64_t most_ns = INT64_MAX / 16;

    int64_t at(int s) const { return at_[static_cast<size_t>(s)]; }
    void set(int s, int64_t ns) { next_[static_cast<size_t>(s)] = std::min(most_ns, ns); }
    int64_t latency(int a, int b) const { return latency_[site_[static_cast<size_t>(a)] * sites_ + site_[static_cast<size_t>(b)]]; }

    const facts &facts_;
    size_t sites_;
    std::vector<size_t> site_;          // [slot]
    std::vector<int64_t> latency_;      // [site * sites + site]
    std::vector<int64_t> at_, next_;    // [slot]
    int64_t handled_;
};

} // namespace wan

#endif
