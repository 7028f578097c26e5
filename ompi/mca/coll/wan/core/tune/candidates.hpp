/*
 * What is worth a trial: the model's choice, then others in the order of their predictions: of each other algorithm its best plan,
 * of the model's own one with other parameters, shorter and longer segments among them; then more of these.  None beyond
 * an excess (coll_wan_tune_excess) over the least that is predicted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TUNE_CANDIDATES_HPP
#define WAN_TUNE_CANDIDATES_HPP

#include "plan/planner.hpp"
#include "tune/tuner.hpp"

namespace wan {

struct tune_options {
    unsigned trials = 3;            // timed calls of other ways than the model's choice, without those that open connections; 0: nothing is tried
    unsigned excess_percent = 50;   // of predicted time over the least
    unsigned share_percent = 2;     // of the time of a class's calls: what trials may add; 100: no limit
    bool trees = false;             // adaptive trees are tried, too, and begun for that
    uint64_t tree_threshold = 256 << 10;    // bytes from which they are bandwidth trees

    /** Other ways: each is timed once, and one of them once more. */
    unsigned others() const { return trials > 1 ? trials - 1 : trials; }
};

/**
 * The model's choice first; empty: none of our algorithms serves.  standing: what serves, in place of the last one if it is not among them.
 * along_trees: adaptive trees may serve such calls, too.
 */
std::vector<tuner::candidate> candidates_for(const topology &t, const facts &f, const wishes &w, const request &r,
                                             const tune_options &o, const std::optional<manner> &standing = std::nullopt, const wishes &of_allreduce = {},
                                             bool along_trees = false);

/** As the model chooses within a manner, or, where that does not go with this call, with its algorithm. */
std::optional<plan> choose(const topology &t, const facts &f, const wishes &w, const request &r, const manner &m);

/**
 * What Open MPI's own module takes for a short call, in ns, by the steps between sites that its
 * usual algorithm takes one after the other over the ranks in their order; nullopt: not known, too long for that, or not to be used.
 *   Bcast, Reduce, Gather, Scatter: binomial trees; Scan, Exscan: from rank to rank; all others: doubling distances
 */
std::optional<int64_t> own_module_ns(const topology &t, const facts &f, const request &r);

/**
 * What a call takes along adaptive trees that have been measured, in ns, at most, about: their form is not known to all ranks.
 *   below tree_threshold    as the fastest of ours, and what the bytes for all hosts of a site take through one interface, since a
 *                           latency tree's process may have them all for children; Allreduce, Barrier: to a root and back
 *   from there on           as the algorithm `chain`, which the bandwidth tree's form comes near
 * nullopt: not known.
 */
std::optional<int64_t> trees_ns(const topology &t, const facts &f, const request &r, uint64_t tree_threshold);

/** What the fastest way and another one, far slower, are predicted to take of a call of so many bytes. */
struct misfit {
    uint64_t bytes = 0;
    int64_t predicted_ns = 0, least_ns = 0;
};

/**
 * Whether a way that was learned on some network could not have been learned on this one: it is predicted to be too slow to be
 * tried of any call of r's class from its root, the shortest and the longest one alike, since trials go by the first that comes.
 * nullopt: it could, or there is no telling: nothing is predicted for it, or its algorithm does not serve here.
 *
 * Looks at r's class and root alone, so that it is the same for all ranks, in whatever types they call, and for calls that block and others.
 */
std::optional<misfit> misfit_of(const topology &t, const facts &f, const wishes &w, const request &r, const tune_options &o, const manner &m);

/** Whether a call may be left to Open MPI's own module, which keeps to no wishes and in stable mode would give other results. */
bool may_leave(const wishes &w, wan_collective_t c);

/** How long before a timed call begins, by the common clock, the last rank must have come: what they ask each other takes less. */
int64_t trial_ahead_ns(const topology &t, const facts &f, const wishes &of_allreduce = {});
/** How long a rank waits for other sites in such a call, at least, if it waits for any, in ns: what takes less says nothing of the way. */
int64_t waits_ns(const topology &t, const facts &f, const request &r, int rank);
/**
 * What a score would be of a call like the first of its class, others of which are up to twice as large: by what both are
 * predicted to take in the way that is tried (Open MPI's own module: in the model's choice); 0: not known.
 */
int64_t score_as_usual(int64_t score_ns, int64_t predicted_ns, int64_t usual_ns);

/** Which class a call belongs to. */
call_class class_of(const topology &t, const request &r);

} // namespace wan

#endif
