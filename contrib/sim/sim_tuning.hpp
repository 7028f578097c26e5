/*
 * Choice by trial in a simulation: the core's tuner, the calls it asks for, and the
 * words and scores around them as coll/wan's component has them (coll_wan_tune.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_TUNING_HPP
#define SIM_TUNING_HPP

#include "sim_runner.hpp"
#include "tune/candidates.hpp"
#include "tune/common_clock.hpp"

#include <limits>
#include <string>
#include <vector>

namespace sim {

/** All that can serve a call, each manner once with its best plan, as predicted; the fastest first. */
std::vector<wan::plan> ways_of(runner &with, const operation &what, const wan::wishes &wish);

/** A call's `as=`: a manner's words with '/' between them. */
std::string words_of(const wan::manner &m);
std::optional<wan::manner> manner_from(wan_collective_t c, std::string words);

class tuning {
public:
    tuning(runner &with, MPI_Comm comm, double lead_s, const wan::tune_options &options)
        : with_(with), comm_(comm), lead_s_(lead_s), options_(options)
    {
        tuner_.limit(options.share_percent, options.trials);
    }

    struct call {
        std::string how;        // words; empty: as the model chooses
        bool timed = false;     // a trial, with its words
        double us = 0;          // from a common instant to the end of the last rank, words and scores included
        bool wrong = false;     // this rank's result
        uint64_t count = 1;     // of such calls in a row: all but the first two are not simulated
    };
    /** The first calls of a class, to the one that settles it and one after that, 100000 at most: the same on all ranks, but for `wrong`. */
    std::vector<call> settle(operation &what, const wan::wishes &wish);
    /** Of the class that was settled last. */
    const wan::tuner::state &state() const { return tuner_.classes().back(); }

private:
    runner &with_;
    MPI_Comm comm_;
    double lead_s_;
    wan::tune_options options_;
    wan::tuner tuner_;
    unsigned epoch_ = 0;
    double counted_s_ = 0;              // of calls that were not simulated
    double told_s_ = -std::numeric_limits<double>::infinity();      // when ranks had word of the clock

    wan::tuner::service begin(const operation &what, const wan::wishes &wish);
    call one(operation &what, const wan::wishes &wish, const wan::tuner::service &service, uint64_t number);
};

/** Calls from a change of the links to the one that looks at them. */
struct noticed {
    double mean = 0;
    uint64_t most = 0;
};
/**
 * By the core's watch (measure/drift.hpp), which a rank feeds with calls of `before_ns`, after the change `after_ns`;
 * over changes in each of the calls between two questions.  `most` 0: never, in 100000 calls.
 */
noticed calls_until_noticed(const wan::facts &f, int64_t one_way_ns, int64_t before_ns, int64_t after_ns, int64_t interval_ns);

/** The largest of all ranks', at rank 0 or everywhere. */
double latest(double mine, bool everywhere, MPI_Comm comm);
/** Sleeps until an instant of the common clock; smpicxx makes it simulated time. */
void sleep_until(double instant_s);

} // namespace sim

#endif
