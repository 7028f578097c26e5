/*
 * How fast bytes come somewhere while more of them wait here than the way holds: of a way that turns out slow, or fast
 * again, during one long call.
 *
 * Only time counts in which that was so (`limited`), from when something came to when the next did: a sender with nothing to send says
 * nothing of its way, also if it has much to send afterwards.  Nor does who comes late: a quarter of what was seen, the slowest, is left out.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_PACE_HPP
#define WAN_ADAPTIVE_PACE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace wan {

class pace {
public:
    /** More would be sent, but as much as the way holds has been and has not come. */
    void limited(int64_t now_ns)
    {
        if (!limited_)
            since_ns_ = now_ns;
        limited_ = true;
    }
    bool is_limited() const { return limited_; }
    /** Nothing waits here any more. */
    void unlimited() { limited_ = false; }
    /** bytes/s; 0: not enough has been seen.  `with_others`: had those not been that waited meanwhile, too. */
    struct seen {
        uint64_t rate = 0, with_others = 0;
    };
    /** So much has come; so many wait, with this one.  True: rate() is news. */
    bool came(int64_t now_ns, uint64_t bytes, uint64_t waiting)
    {
        const int64_t gap_ns = now_ns - last_ns_;
        const bool waited = limited_ && since_ns_ - last_ns_ < soon_ns, at_one_look = counted_ && gap_ns < at_once_ns;
        const bool counts = last_ns_ >= 0 && (waited || at_one_look);
        last_ns_ = now_ns;
        limited_ = false;
        counted_ = counts;
        if (!counts)
            return false;
        part &p = parts_[next_ % kept];
        p.took_ns += gap_ns;
        p.bytes += bytes;
        p.shared += bytes * std::max<uint64_t>(1, waiting);
        if (p.took_ns < part_ns)
            return false;
        parts_[++next_ % kept] = {};
        return rate().rate > 0;
    }
    seen rate() const
    {
        std::array<part, kept> those;
        size_t n = 0;
        int64_t all_ns = 0;
        for (size_t i = next_ - std::min(next_, kept - 1); i < next_; ++i)
            those[n++] = parts_[i % kept], all_ns += those[n - 1].took_ns;
        if (n < least_parts || all_ns < least_ns)
            return {};
        std::sort(those.begin(), those.begin() + static_cast<std::ptrdiff_t>(n), [](const part &a, const part &b) {
            return static_cast<double>(a.bytes) * static_cast<double>(b.took_ns) > static_cast<double>(b.bytes) * static_cast<double>(a.took_ns);
        });
        part sum;
        for (size_t i = 0; i < n - n / 4; ++i)
            sum.bytes += those[i].bytes, sum.shared += those[i].shared, sum.took_ns += those[i].took_ns;
        const auto rate_of = [&](uint64_t n) { return static_cast<uint64_t>(static_cast<double>(n) * 1e9 / static_cast<double>(sum.took_ns)); };
        return {rate_of(sum.bytes), rate_of(sum.shared)};
    }

private:
    static constexpr int64_t soon_ns = 100'000;         // it sends more as soon as it sees that something has come
    static constexpr int64_t at_once_ns = 1'000'000, part_ns = 62'500'000, least_ns = 1'000'000'000;
    static constexpr size_t kept = 17, least_parts = 6;        // with the one that is being filled
    struct part {
        uint64_t bytes = 0, shared = 0;
        int64_t took_ns = 0;
    };
    std::array<part, kept> parts_ = {};
    size_t next_ = 0;
    int64_t last_ns_ = -1, since_ns_ = 0;       // something came last; limited
    bool limited_ = false, counted_ = false;
};

} // namespace wan

#endif
