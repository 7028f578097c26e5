/*
 * Choice by trial, after Nanri: what the model predicts to be not much slower
 * than its own choice is tried in the first calls of a class, and the fastest
 * is kept.  Calls of a class have one collective, and sizes, roots and operators
 * that are alike.
 *
 *      counting ---> opening ---> timing ---> the best, where it looks quicker, and what serves once more ---> settled
 *          ^                                                                                                     |
 *          +-------------- links were measured anew, or calls take far longer: a few times <---------------------+
 *
 * What is known already, from an earlier job or another communicator, is taken for settled, until calls take far longer.
 *
 * What serves has its connections, and what differs from the model's choice by segments alone needs none but that one's: these are
 * timed at once.  (What was learned elsewhere may have served in place of the model's choice all the time.)  Of all others the first call opens connections, and its time counts against them only: what takes more than
 * twice as long as the best so far, connections aside, is not called again.
 *
 * Trials wait until they have added no more than a share of the time of the class's calls, all as predicted,
 * so that all ranks wait alike: a program that calls seldom pays little.  And where the model's choice takes
 * hardly longer than anything could, nothing else is tried.
 *
 * When ranks come says nothing of what is tried, so a call that is timed begins at one instant on all of them, by a clock that they
 * have in common: see coll_wan_tune.c.  The slowest rank's time is the score.  Of what takes hardly longer than anything could, each
 * rank's own time shows that, as long as others do not come late each time: that costs nothing.
 * What was not quicker in both rounds does not take the place of what serves, since of several equal ones some look
 * quick by chance; and only what looks quicker is called again for that.  Scores go to all ranks once in a round, so that all decide alike, in
 * the same call.  No call has more than one of these beside it: word of the clock, a common beginning, scores.
 *
 * State and decisions alone; who measures and combines is elsewhere.  Every rank makes
 * the same calls of begin(), record() and decide(), in the same order.
 *
 * Source: Nanri, Inadomi: dynamic selection of collective algorithms, pruned by
 * models of the topology.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TUNE_TUNER_HPP
#define WAN_TUNE_TUNER_HPP

#include "tune/manner.hpp"

#include <array>
#include <functional>
#include <optional>
#include <vector>

namespace wan {

struct call_class {
    wan_collective_t collective = WAN_BCAST;
    uint32_t root_site = 0;
    unsigned size = 0;              // bits of the number of bytes: 4 for 8 to 15
    bool commutative = true, counts_vary = false;

    friend bool operator==(const call_class &, const call_class &) = default;
};

/** Combined over ranks by MAX. */
using tune_scores = std::array<int64_t, WAN_TUNE_SCORES>;

class tuner {
public:
    /** Timed calls of other ways than what serves, at most, without those that open connections: one of them is a second time, so that a round has no more turns, and scores one place for how late ranks were. */
    static constexpr unsigned most_trials = WAN_TUNE_SCORES - 1;
    /** So many times trials of a class begin in a communicator's life, however often links change. */
    static constexpr unsigned most_starts = 4;
    /** Of a communicator; later ones are the model's: to forget one would have to be agreed. */
    static constexpr size_t most_classes = 64;

    struct candidate {
        manner how;
        int64_t predicted_ns = 0;
        int64_t words_ns = 0;           // what a timed call waits before it begins, as predicted
        int64_t exchange_ns = 0;        // what scores take; word of the clock takes as long, and words_ns
        int64_t opening_ns = 0;         // what its first call takes to open connections, as predicted; 0: they are there
        int64_t least_ns = 0;           // of the first: no score can be much less; 0: that is far from what is predicted
        int64_t opened_ns = 0;          // by the call that opened connections; 0: none
        int64_t measured_ns = 0;        // the best of the others; 0: none
        int64_t first_ns = 0;           // of the first round
        int64_t again_ns = 0;           // once more, when it was not chosen for its time; 0: none
        unsigned trials = 0;            // timed calls
        unsigned late = 0;              // of them, that some rank began so late that nothing is known of them
    };

    /** Per cent of the time of a class's calls that trials may add; 100: no limit.  And how many may be timed, without those of what serves. */
    void limit(unsigned percent, unsigned trials = most_trials)
    {
        percent_ = percent;
        trials_ = trials;
    }

    /** How a call is served. */
    struct service {
        std::optional<manner> how;      // none: as the model chooses
        int trial = 0;                  // WAN_TRIAL_, what is done beside it: record() comes next; 0: nothing
    };

    /** What serves, if that is not the model's choice, among them. */
    using makes = std::function<std::vector<candidate>(const std::optional<manner> &standing)>;
    /**
     * A blocking call of a class.  `make`: the candidates of its trials, what the model chooses
     * first; asked for only where trials begin.  One candidate: nothing is tried.  `known`: what was learned elsewhere of
     * such a call serves, and nothing is tried until reopen().
     */
    service begin(const call_class &c, const makes &make, const std::optional<manner> &known = std::nullopt);

    /**
     * What the trial that has begun is predicted to take, of a call like the first of its class; 0: there is none, or not any more.
     * Open MPI's own module and adaptive trees are taken to be as much slower for longer calls as the model's choice is, for which that is.
     */
    int64_t usual_ns() const;
    /**
     * In place of a call that is timed ranks have word of the clock, and the next one is timed, if what they know of it is old; not twice: who
     * calls so seldom is timed by what they know. All ranks alike: whether this one has.
     */
    bool clock_instead(bool old);
    /** It has ended here, after so long; 0: that says nothing.  late_ns: it began so late, which may be too late to tell.  Whether scores are to be combined now. */
    bool record(int64_t elapsed_ns, int64_t late_ns = 0);
    tune_scores scores() const;
    /** So late some rank has begun, as far as all know; half of that when trials of a class begin. */
    int64_t late_ns() const { return late_ns_; }
    /** Of all ranks.  Whether calls made from now on, in `epoch` or later, are served otherwise than before. */
    bool decide(const tune_scores &combined, unsigned epoch);

    /**
     * A call that does not block, made in an epoch: as was decided before that, or is known of it, never Open MPI's own module, which
     * serves such calls by other functions than those that were tried.
     */
    std::optional<manner> chosen(const call_class &c, unsigned epoch, const std::optional<manner> &known = std::nullopt) const;
    /** Whether what is known elsewhere of a class does not count any more, or is being tried. */
    bool doubted(const call_class &c) const;

    /** From `epoch` on nothing is known, and the model's choices serve: links have changed. */
    void forget(unsigned epoch);
    /** Trials begin again where a choice has stood for long, as often as they may; what was chosen stays until they end. */
    void reopen();

    struct state {
        call_class what;
        uint64_t calls = 0;
        enum class phase : uint8_t { counting, trying, settled } phase = phase::counting;
        std::vector<candidate> candidates{};
        size_t standing = 0;            // candidate that serves
        unsigned starts = 0;            // of trials
        int64_t trials_ns = 0;          // this rank's, of all trials
    };
    /** For people: every class in the order of its first call. */
    const std::vector<state> &classes() const { return classes_; }

private:
    struct learned {
        unsigned since;                 // epoch
        std::optional<manner> how, ours;    // of blocking calls; of others; none: as the model chooses
        bool doubted = false;           // in place of what is known elsewhere, too
    };
    struct slot {
        enum class round : uint8_t { alone, first, warm, again } round = round::first;     // alone: the model's choice, watched; warm: what needed connections
        std::vector<unsigned> turns;    // candidates to be called, in this order
        size_t at = 0;                  // whose turn it is; at the end: scores are combined
        bool pressing = false;          // the next call is timed, whatever that adds
        bool pressed = false;           // that was since anything was counted
        bool repeated = false;          // calls that began late are being made once more
        unsigned watched = 0;           // calls
        unsigned waited = 0;
        int64_t added_ns = 0;           // by trials, as predicted
        uint64_t settled = 0;           // at which call of the class
        bool uses_known = false;        // it has served
        bool doubted = false;           // but calls take longer, or less
        std::optional<manner> known;    // of the last call
        std::vector<learned> history;
        std::vector<int64_t> samples;   // of this round, by turn; watched: the two least
    };
    std::vector<state> classes_;
    std::vector<slot> slots_;           // by class
    unsigned percent_ = 100, trials_ = most_trials;
    size_t trying_ = SIZE_MAX;          // class of the trial under way, and what that is
    int now_ = 0;
    int64_t late_ns_ = 0, late_here_ns_ = 0;

    size_t find(const call_class &c) const;
    /** What serves now. */
    static learned serving(const slot &s);
    static size_t ours_instead(const state &x);
    static size_t best_of(const state &x, size_t standing, bool ours);
    static bool too_slow(const state &x, const candidate &c);
    void round_begin(size_t i, enum slot::round which, std::vector<unsigned> candidates);
};

} // namespace wan

#endif
