/*
 * The time of rank 0's clock on other ranks, by words that it has sent, several at once: of what they took beyond the way, the least of those
 * counts, since a word may be late and never early.  (Where all are, as on a host that gave its processor away meanwhile, this rank begins later than
 * the others, in each trial alike.)
 *
 * Source: Cristian: Probabilistic clock synchronization (Distributed Computing 3, 1989), one way, with the model's latency in place of half a
 * round trip.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TUNE_COMMON_CLOCK_HPP
#define WAN_TUNE_COMMON_CLOCK_HPP

#include "wan_core.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace wan {

class common_clock {
public:
    /** So many words at once. */
    static constexpr int words = WAN_CLOCK_WORDS;
    /** So old it is off by no more than three hundredths of a way, by 20 us a second, which clocks do that nobody corrects. */
    static int64_t holds_for(int64_t way_ns) { return 1500 * way_ns; }
    /** A word that was sent at an instant of rank 0's clock came at one of this rank's, over a way of so many ns. */
    void heard(int64_t sent_ns, int64_t arrived_ns, int64_t way_ns)
    {
        last_[words_++ % last_.size()] = arrived_ns - sent_ns - way_ns;
        ahead_ns_ = *std::min_element(last_.begin(), last_.begin() + std::min<ptrdiff_t>(words_, words));
    }
    /** The ways are others. */
    void forget() { words_ = 0; }
    int64_t common_ns(int64_t here_ns) const { return here_ns - ahead_ns_; }
    int64_t here_ns(int64_t common_ns) const { return common_ns + ahead_ns_; }

private:
    std::array<int64_t, words> last_{};     // of each word, what it tells
    unsigned words_ = 0;
    int64_t ahead_ns_ = 0;          // of this rank's clock, before rank 0's
};

} // namespace wan

#endif
