// SPDX-License-Identifier: BSD-3-Clause
// How late the emulator was: real departure minus due departure.
//
// Linear buckets of 10 us up to 20 ms, so a quantile is exact to 10 us in the
// range that matters (more than 1 ms). When it was later than that is kept for a
// while, so that a bench can tell which rounds it spoilt.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "packet.h"

namespace wan::lab {

class Lateness {
public:
    void add(time_ns at, time_ns late)
    {
        late = std::max<time_ns>(late, 0);
        if (late > notable_ns) {
            spell_note(at - late, at, late);
        }
        max_ns_ = std::max(max_ns_, late);
        sum_ns_ += late;
        ++count_;
        ++bucket_[std::min<std::size_t>(static_cast<std::size_t>(late / bucket_ns), buckets - 1)];
    }

    /// The notable spells that touched [from, to], each with its worst, summed.
    /// Survives reset(). Nothing is known of times that are forgotten: -1.
    time_ns sum_between(time_ns from, time_ns to) const
    {
        if (from < forgotten_until_) {
            return -1;
        }
        time_ns sum = 0;
        for (const Spell& spell : spells_) {
            if (spell.begin <= to && spell.end >= from) {
                sum += spell.worst;
            }
        }
        return sum;
    }

    /// Upper edge of the bucket that holds the q-quantile (0 < q <= 1), capped
    /// by the maximum; 0 when nothing was counted.
    time_ns quantile_ns(double q) const
    {
        const auto wanted = static_cast<std::uint64_t>(q * static_cast<double>(count_));
        std::uint64_t seen = 0;
        for (std::size_t b = 0; b < buckets; ++b) {
            seen += bucket_[b];
            if (seen >= wanted && seen > 0) {
                return b + 1 == buckets
                           ? max_ns_
                           : std::min(max_ns_, static_cast<time_ns>(b + 1) * bucket_ns);
            }
        }
        return max_ns_;
    }

    time_ns max_ns() const { return max_ns_; }
    std::uint64_t count() const { return count_; }
    double mean_ns() const
    {
        return count_ ? static_cast<double>(sum_ns_) / static_cast<double>(count_) : 0.0;
    }
    void reset()
    {
        max_ns_ = sum_ns_ = 0;
        count_ = 0;
        bucket_.fill(0);
    }

private:
    struct Spell {
        time_ns begin, end, worst;
    };

    void spell_note(time_ns begin, time_ns end, time_ns late)
    {
        if (!spells_.empty() && begin <= spells_.back().end) {
            Spell& last = spells_.back();
            last = {std::min(last.begin, begin), end, std::max(last.worst, late)};
            return;
        }
        if (spells_.size() == spells_kept) {
            forgotten_until_ = spells_.front().end;
            spells_.pop_front();
        }
        spells_.push_back({begin, end, late});
    }

    static constexpr time_ns notable_ns = 1'000'000;
    static constexpr std::size_t spells_kept = 4096;
    static constexpr time_ns bucket_ns = 10'000;
    static constexpr std::size_t buckets = 2001;
    time_ns max_ns_ = 0;
    time_ns sum_ns_ = 0;
    std::uint64_t count_ = 0;
    std::array<std::uint32_t, buckets> bucket_{};
    std::deque<Spell> spells_;
    time_ns forgotten_until_ = INT64_MIN;
};

}  // namespace wan::lab
