/*
 * When links are measured for the first time: not before calls have taken long enough for that
 * to be a small part of the time, as one rents skis until one has paid their price.  Who calls little
 * never pays for plans of which there is little to be had.  Likewise who sends little: no plan saves the way
 * to the other sites, so what counts is what a call takes beyond it, or a sixteenth of its time where that is more
 * (the way may be shorter than it is thought to be).  Of calls so short that they cross once, whatever links are like,
 * a 64th counts, however long they take, unless that shows that the way is far shorter: then steps inside sites matter.
 *
 * How long calls take only each rank knows, the one that waits longest best; ranks ask each other
 * beside a call, at the second one and then when the rest must have passed, so a few times in all.  The largest
 * calls, as far as all ranks know of their bytes, are counted apart, likewise: after thousands of short ones the
 * next question would be far.  All hold the same numbers, but for their own part, and come to the same.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_DEFERRAL_HPP
#define WAN_MEASURE_DEFERRAL_HPP

#include <algorithm>
#include <bit>
#include <cstdint>

namespace wan {

class deferral {
public:
    /** share: per cent of the time of calls and of measuring that this may take; 100: any. */
    explicit deferral(int64_t share) : share_(share) {}

    /** Agreed on: what measuring takes, what calls that count have taken before, elsewhere, and what no plan saves. */
    void begin(int64_t cost_ns, int64_t before_ns, int64_t way_ns = 0)
    {
        cost_ns_ = cost_ns;
        way_ns_ = way_ns;
        carried_ns_ = 0;
        agreed_ns_ = mine_ns_ = before_ns;
        calls_ = asked_ = longest_ns_ = large_ = size_ = 0;
        next_ = large_next_ = first_question;
    }

    /** Counts a call, of so many bytes, of which all ranks know (0 where they do not); whether ranks ask each other in it. */
    bool due(uint64_t bytes)
    {
        if (share_ <= 0)
            return false;
        const int size = std::bit_width(bytes) / 2;
        if (size > size_)
            size_ = size, large_ = 0, large_next_ = first_question;
        return (++calls_ >= next_) | (size_ > 0 && size == size_ && ++large_ >= large_next_);
    }
    /** A call took so long on this rank, and crosses once in any plan or not; how much of it counts. */
    int64_t took(int64_t ns, bool crosses_once = false)
    {
        // Of calls of which each waits for the one before to cross, one takes a round trip on this rank and the next nothing.
        const int64_t beyond_ns = ns - way_ns_ + carried_ns_;
        const int64_t counts_ns = crosses_once && ns >= way_ns_ / 4 ? ns / part_of_short : std::max<int64_t>({0, ns / least_part, beyond_ns});
        carried_ns_ = std::clamp<int64_t>(beyond_ns, -way_ns_, 0);
        mine_ns_ += counts_ns;
        longest_ns_ = std::max(longest_ns_, counts_ns);
        return counts_ns;
    }
    /** This rank's part, to be combined by MIN: of all calls, of the longest since the last question. */
    struct words {
        int64_t all, longest;
    };
    words vote() const { return {-mine_ns_, -longest_ns_}; }
    /** Of all ranks, in the call in which they asked: whether it is time. */
    bool answer(words combined)
    {
        const int64_t before_ns = agreed_ns_, calls = calls_ - 1 - asked_;
        agreed_ns_ = std::max(agreed_ns_, -combined.all);
        // As many calls again as the rest takes; twice as many at most, since the first ones take longest.
        const auto again = [this](int64_t made, int64_t each_ns) {
            return made + std::clamp<int64_t>(each_ns > 0 ? missing_ns() / each_ns : made, 1, 2 * std::max<int64_t>(1, made));
        };
        next_ = again(calls_, calls > 0 ? (agreed_ns_ - before_ns) / calls : 0);
        large_next_ = again(large_, -combined.longest);
        asked_ = calls_ - 1;
        longest_ns_ = 0;
        return over();
    }
    /** What calls have taken, as far as it counts, as agreed last. */
    int64_t agreed_ns() const { return agreed_ns_; }
    /** Whether it is time, as agreed last. */
    bool over() const { return missing_ns() <= 0; }

private:
    static constexpr int64_t first_question = 2, least_part = 16, part_of_short = 64;
    int64_t missing_ns() const
    {
        return share_ <= 0 ? INT64_MAX : static_cast<int64_t>(static_cast<__int128>(100 - share_) * cost_ns_ / share_) - agreed_ns_;
    }
    int64_t share_, cost_ns_ = 0, way_ns_ = 0;
    int64_t carried_ns_ = 0;            // what the call before took less than the way
    int64_t agreed_ns_ = 0, mine_ns_ = 0;
    int64_t longest_ns_ = 0;            // on this rank, since the last question
    int64_t calls_ = 0, asked_ = 0, next_ = first_question;
    // Of the largest calls so far, by the number of bits, in twos.
    int size_ = 0;
    int64_t large_ = 0, large_next_ = first_question;
};

} // namespace wan

#endif
