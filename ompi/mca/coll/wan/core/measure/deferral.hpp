/*
 * When links are measured for the first time: not before calls have taken long enough for that
 * to be a small part of the time, as one rents skis until one has paid their price.  Who calls little
 * never pays for plans of which there is little to be had.
 *
 * How long calls take only each rank knows, the one that waits longest best; ranks ask each other
 * beside a call, at the second one and then when the rest must have passed, so a few times in all.
 * All of them hold the same numbers, but for their own part, and come to the same.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_DEFERRAL_HPP
#define WAN_MEASURE_DEFERRAL_HPP

#include <algorithm>
#include <cstdint>

namespace wan {

class deferral {
public:
    /** share: per cent of the time of calls and of measuring that this may take; 100: any. */
    explicit deferral(int64_t share) : share_(share) {}

    /** Agreed on: what measuring takes, and how long calls have taken before, elsewhere. */
    void begin(int64_t cost_ns, int64_t before_ns)
    {
        cost_ns_ = cost_ns;
        agreed_ns_ = mine_ns_ = before_ns;
        calls_ = 0;
        next_ = first_question;
    }

    /** Counts a call; whether ranks ask each other in it. */
    bool due() { return share_ > 0 && ++calls_ >= next_; }
    /** A call took so long on this rank. */
    void took(int64_t ns) { mine_ns_ += std::max<int64_t>(0, ns); }
    /** This rank's part, to be combined by MIN. */
    int64_t vote() const { return -mine_ns_; }
    /** Of all ranks, in the call in which they asked: whether it is time. */
    bool answer(int64_t combined)
    {
        const int64_t before_ns = agreed_ns_;
        agreed_ns_ = std::max(agreed_ns_, -combined);
        // As many calls again as the rest takes; twice as many at most, since the first ones take longest.
        const int64_t calls = calls_ - 1 - asked_, took_ns = agreed_ns_ - before_ns;
        const int64_t rest = calls > 0 && took_ns > 0 ? static_cast<int64_t>(static_cast<__int128>(missing_ns()) * calls / took_ns) : calls_;
        asked_ = calls_ - 1;
        next_ = calls_ + std::clamp<int64_t>(rest, 1, 2 * calls_);
        return over();
    }
    /** How long calls have taken, as agreed last. */
    int64_t agreed_ns() const { return agreed_ns_; }
    /** Whether it is time, as agreed last. */
    bool over() const { return missing_ns() <= 0; }

private:
    static constexpr int64_t first_question = 2;
    int64_t missing_ns() const
    {
        return share_ <= 0 ? INT64_MAX : static_cast<int64_t>(static_cast<__int128>(100 - share_) * cost_ns_ / share_) - agreed_ns_;
    }
    int64_t share_, cost_ns_ = 0;
    int64_t agreed_ns_ = 0, mine_ns_ = 0;
    int64_t calls_ = 0, asked_ = 0, next_ = first_question;
};

} // namespace wan

#endif
