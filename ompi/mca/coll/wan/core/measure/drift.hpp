/*
 * Whether the links are still what they were measured to be, seen from the
 * blocking collectives that run anyway: those in which each rank waits for all
 * others.  (How long a broadcast takes says when its ranks came, and nothing of links.)
 *
 * drift: what one rank sees.  Of the last calls of each kind in a period the median
 * is compared with that of its first period: now and then a call is disturbed, or this
 * rank comes late and has nothing to wait for.  Where two sites enter call after call
 * apart, by less than the way between them, each waits longer and shorter by turns, and
 * the sum stays: so it is the mean of two medians, of every second call and of those
 * between.  Who has waited less than the way from the farthest site came after others'
 * messages: what it takes later, when it waits as all do, is not slower for that, and
 * less still not faster.
 *
 * drift_checks: at which calls ranks put together what they saw, and when that is
 * reason enough to look at the links.  One rank's word is enough, since who comes
 * last never waits; a process that comes late from some time on looks the same.
 * So a look is short, and who looked in vain waits longer before the next.  All
 * ranks hold the same numbers and come to the same.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_DRIFT_HPP
#define WAN_MEASURE_DRIFT_HPP

#include "wan_core.h"

#include <array>
#include <cstdint>
#include <vector>

namespace wan {

/** Combined over ranks by MIN. */
using drift_votes = std::array<int64_t, 3>;
static_assert(std::tuple_size_v<drift_votes> < WAN_CHECK_VOTES);

class drift {
public:
    drift();
    /** A call of a kind took so long on this rank. */
    void record(uint64_t kind, int64_t elapsed_ns);
    /** Most and least per mille of their first period, of all kinds as they were seen last.  1000: nothing to compare. */
    struct seen {
        int64_t slower = 1000, faster = 1000;
    };
    /**
     * Ends the period of the kinds that had calls enough, if it was long enough (whole); else it goes on.
     * `one_way_ns`: to this rank from the farthest site.
     */
    seen look(int64_t one_way_ns, bool whole);
    /** The next period is the first. */
    void forget() { kinds_.clear(); }

private:
    static constexpr size_t recent_calls = 62;      // even
    struct kind_of_call {
        uint64_t kind;
        int64_t first_ns = 0;           // usual in the first period
        seen last = {};
        unsigned calls = 0;             // of this period
        std::array<uint32_t, recent_calls> recent_us = {};

        int64_t usual_ns() const;
    };
    std::vector<kind_of_call> kinds_;   // most recent first
};

class drift_checks {
public:
    /** About `interval_ns` between two checks, once it is known how long calls take; 0: there are none. */
    explicit drift_checks(int64_t interval_ns) : interval_ns_(interval_ns) {}

    /** Counts a call; whether ranks ask each other in it.  `cost_ns`: of asking, the same on all ranks. */
    bool due(int64_t now_ns, int64_t cost_ns);
    /** Whether the period since the last check was long enough to tell. */
    bool whole() const { return 2 * elapsed_ns_ >= interval_ns_; }
    /** This rank's part. */
    drift_votes votes(const drift::seen &s) const;
    /** Of all ranks: whether links are to be looked at. */
    bool answer(const drift_votes &combined);
    /** They were, and have changed or not; what a look takes, the same on all ranks. */
    void looked(bool changed, int64_t look_ns = 0);

private:
    int64_t interval_ns_, cost_ns_ = 0;
    int64_t began_ns_ = 0, elapsed_ns_ = 0;     // of the period; this rank's
    uint64_t calls_ = 0, asked_ = 0, next_ = 8;
    unsigned patience_ = 1, seen_ = 0, quiet_ = 0;      // checks in a row that must tell, told, did not tell of a change
    unsigned enough_quiet_ = UINT32_MAX;                // of the latter: half the patience will do
};

} // namespace wan

#endif
