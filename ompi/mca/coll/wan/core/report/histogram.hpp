/*
 * Times in few numbers: a histogram whose steps grow with the times, 16 between
 * powers of two, so that a percentile is found within a 32nd of it.  Holds
 * memory for the powers of two that occurred only.
 *
 * Not safe between threads.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_REPORT_HISTOGRAM_HPP
#define WAN_REPORT_HISTOGRAM_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace wan {

class log_histogram {
public:
    /** A percentile differs from the true one by less than this part of it. */
    static constexpr int64_t precision = 32;

    /** Below 0 counts as 0. */
    void add(int64_t ns)
    {
        const uint64_t v = static_cast<uint64_t>(std::max<int64_t>(0, ns));
        least_ = count_ ? std::min(least_, v) : v;
        most_ = std::max(most_, v);
        sum_ += v;
        ++count_;
        const uint8_t octave = octave_of(ns);
        uint32_t &step = find(octave)->counts[step_of(v, octave)];
        step += step != UINT32_MAX;
    }
    uint64_t count() const { return count_; }
    int64_t least() const { return static_cast<int64_t>(least_); }
    int64_t most() const { return static_cast<int64_t>(most_); }
    int64_t mean() const { return count_ ? static_cast<int64_t>(sum_ / count_) : 0; }

    /** The smallest time that is not exceeded by `percent` of all; 0 where there are none. */
    int64_t percentile(unsigned percent) const
    {
        if (!count_)
            return 0;
        const uint64_t wanted =
            std::max<uint64_t>(1, static_cast<uint64_t>((static_cast<unsigned __int128>(count_) * percent + 99) / 100));
        uint64_t seen = 0;
        for (const page &p : pages_)
            for (unsigned s = 0; s < steps; ++s)
                if ((seen += p.counts[s]) >= wanted)
                    return static_cast<int64_t>(std::clamp(middle_of(p.octave, s), least_, most_));
        return most();
    }

    size_t memory_bytes() const { return pages_.capacity() * sizeof(page); }
    /** What add() takes of memory for this time. */
    size_t more_bytes(int64_t ns) const
    {
        const auto octave = octave_of(ns);
        return std::any_of(pages_.begin(), pages_.end(), [=](const page &p) { return p.octave == octave; }) ? 0 : sizeof(page);
    }

private:
    static constexpr unsigned steps = 16, step_bits = 4;
    struct page {
        uint8_t octave;
        std::array<uint32_t, steps> counts;
    };
    std::vector<page> pages_;    // ascending
    uint64_t count_ = 0, sum_ = 0, least_ = 0, most_ = 0;

    static uint8_t octave_of(int64_t ns)
    {
        return static_cast<uint8_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(0, ns))));
    }
    page *find(uint8_t octave)
    {
        auto it = std::find_if(pages_.begin(), pages_.end(), [=](const page &p) { return p.octave >= octave; });
        if (it != pages_.end() && it->octave == octave)
            return &*it;
        const auto at = it - pages_.begin();
        pages_.reserve(pages_.size() + 1);    // no more than that
        return &*pages_.insert(pages_.begin() + at, page{octave, {}});
    }
    /** Which of the steps of [2^(octave-1), 2^octave); each value below 16 has one of its own. */
    static unsigned step_of(uint64_t v, unsigned octave)
    {
        return static_cast<unsigned>(octave > step_bits + 1 ? v >> (octave - 1 - step_bits) : v) % steps;
    }
    static uint64_t middle_of(unsigned octave, unsigned step)
    {
        if (octave <= step_bits + 1)
            return octave == step_bits + 1 ? steps + step : step;
        const unsigned shift = octave - 1 - step_bits;
        return ((uint64_t{steps} + step) << shift) + (uint64_t{1} << shift) / 2;
    }
};

} // namespace wan

#endif
