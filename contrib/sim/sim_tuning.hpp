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
    tuning(runner &with, MPI_Comm comm, double lead_s) : with_(with), comm_(comm), lead_s_(lead_s) {}

    struct call {
        std::string how;        // words; empty: as the model chooses
        bool timed = false;     // a trial, with its words
        double us = 0;          // from a common instant to the end of the last rank, words and scores included
        bool wrong = false;     // this rank's result
    };
    /** The first calls of a class, to the one that settles it and one after that: the same on all ranks, but for `wrong`. */
    std::vector<call> settle(operation &what, int root, const wan::wishes &wish, const wan::tune_options &options);
    /** Of the class that was settled last. */
    const wan::tuner::state &state() const { return tuner_.classes().back(); }

private:
    runner &with_;
    MPI_Comm comm_;
    double lead_s_;
    wan::tuner tuner_;
    unsigned epoch_ = 0;

    call one(operation &what, int root, const wan::wishes &wish, const wan::tune_options &options, uint64_t number);
};

/** The largest of all ranks', at rank 0 or everywhere. */
double latest(double mine, bool everywhere, MPI_Comm comm);
/** Sleeps until an instant of the common clock; smpicxx makes it simulated time. */
void sleep_until(double instant_s);

} // namespace sim

#endif
