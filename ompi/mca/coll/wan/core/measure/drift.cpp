/*
 * See drift.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/drift.hpp"
#include "recent.hpp"
#include <algorithm>

namespace wan {

namespace {

/** Kinds of calls that are watched at a time. */
constexpr size_t most_kinds = 32;
/** Calls of a kind in a period, for them to mean anything. */
constexpr unsigned enough_calls = 4;
/** Reason enough, per mille: as differ() of links. */
constexpr int64_t much_slower = 1500, much_faster = 667;
/** Asking may take one part in so many of the time. */
constexpr int64_t share = 110;
constexpr uint64_t least_calls = 4, most_growth = 4;
constexpr unsigned most_patience = 64, least_quiet = 128, most_checks = 1 << 20;

int64_t per_mille(int64_t now, int64_t before)
{
    return static_cast<int64_t>(static_cast<__int128>(now) * 1000 / before);
}

} // namespace

drift::drift()
{
    kinds_.reserve(most_kinds + 1);     // record() allocates nothing
}

void drift::record(uint64_t kind, int64_t elapsed_ns)
{
    kind_of_call *k = most_recent(kinds_, [&](const auto &x) { return x.kind == kind; });
    if (!k) {
        keep(kinds_, {.kind = kind}, most_kinds);
        k = &kinds_.front();
    }
    k->recent_us[k->calls++ % k->recent_us.size()] = static_cast<uint32_t>(std::clamp<int64_t>(elapsed_ns / 1000, 1, UINT32_MAX));
}

int64_t drift::kind_of_call::usual_ns() const
{
    const size_t n = std::min<size_t>(calls, recent_us.size());
    int64_t sum_us = 0;
    for (size_t turn : {0, 1}) {
        std::array<uint32_t, recent_calls / 2> sorted = {};
        size_t count = 0;
        for (size_t i = turn; i < n; i += 2)
            sorted[count++] = recent_us[i];
        // Of an even number the shorter: of two, one that was disturbed must not count.
        const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
        std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count));
        sum_us += *middle;
    }
    return sum_us * 500;
}

drift::seen drift::look(int64_t one_way_ns, bool whole)
{
    seen s;
    for (kind_of_call &k : kinds_) {
        if (whole && k.calls >= enough_calls) {
            const int64_t now = k.usual_ns();
            if (k.first_ns == 0)
                k.first_ns = now;
            k.last.slower = per_mille(std::max(now, one_way_ns), std::max(k.first_ns, one_way_ns));
            k.last.faster = k.first_ns < one_way_ns ? 1000 : per_mille(now, k.first_ns);
            k.calls = 0;
        }
        s.slower = std::max(s.slower, k.last.slower);
        s.faster = std::min(s.faster, k.last.faster);
    }
    return s;
}

bool drift_checks::due(int64_t now_ns, int64_t cost_ns)
{
    if (interval_ns_ <= 0)
        return false;
    if (calls_ == asked_)
        began_ns_ = now_ns;
    if (++calls_ < next_)
        return false;
    elapsed_ns_ = now_ns - began_ns_;
    cost_ns_ = cost_ns;
    return true;
}

drift_votes drift_checks::votes(const drift::seen &s) const
{
    // The least of all ranks, and the greatest as the negative of the least negative.
    return {-s.slower, s.faster, -std::max<int64_t>(1, elapsed_ns_)};
}

bool drift_checks::answer(const drift_votes &combined)
{
    const int64_t slower = -combined[0], faster = combined[1], elapsed_ns = -combined[2];
    const uint64_t calls = calls_ - asked_;
    const auto wanted = static_cast<__int128>(calls) * std::max(interval_ns_, share * cost_ns_) / elapsed_ns;
    const auto least = static_cast<__int128>(std::max(least_calls, calls / most_growth)), most = static_cast<__int128>(most_growth * calls);
    asked_ = calls_;
    next_ = calls_ + static_cast<uint64_t>(std::clamp(wanted, least, std::max(least, most)));
    if (2 * elapsed_ns < interval_ns_)      // tells how often to ask, and nothing of links
        return false;
    const bool changed = slower >= much_slower || faster <= much_faster;
    seen_ = changed ? seen_ + 1 : 0;
    quiet_ = changed ? 0 : quiet_ + 1;
    if (quiet_ >= enough_quiet_) {      // the last vain look was long ago
        patience_ = std::max(1u, patience_ / 2);
        quiet_ = 0;
    }
    return seen_ >= patience_;
}

void drift_checks::looked(bool changed, int64_t look_ns)
{
    seen_ = 0;
    quiet_ = 0;
    // In the end vain looks, too, take one part in so many of the time: so many checks are that.
    const auto enough = share * look_ns / std::max<int64_t>(1, std::max(interval_ns_, share * cost_ns_));
    const auto most = static_cast<unsigned>(std::clamp<int64_t>(enough, most_patience, most_checks));
    enough_quiet_ = static_cast<unsigned>(std::clamp<int64_t>(enough, least_quiet, most_checks));
    patience_ = changed ? 1 : std::min(most, 2 * patience_);
}

} // namespace wan
