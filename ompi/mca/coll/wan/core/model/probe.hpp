/*
 * Measuring the links in passing, when a communicator over several sites is
 * used for the first time.  A probe is a list of small schedules that are run
 * and timed like any other; their times become facts.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MODEL_PROBE_HPP
#define WAN_MODEL_PROBE_HPP

#include "model/facts.hpp"
#include "sched/schedule.hpp"
#include "wan_core.h"

#include <array>
#include <optional>

namespace wan {

/** Facts as they travel: MAX over all ranks of each number. */
using fact_vector = std::array<int64_t, WAN_FACTS>;

/** What stands where in a fact_vector; 0: not measured. */
struct fact {
    enum place : size_t {
        inside_ns,      // one way inside a site
        message_ns,     // what a process spends on a message
        byte_ps,        // of an interface
        farthest_ns,    // one way between the sites that are farthest apart
        lone_ns,        // short passages after a rest, which tell bursts
        step_ns,        // of all hosts of a site
        first_pair_ns   // from here on: one way between each two sites, where there are few
    };
};

class probe {
public:
    /** brief: twice, what differ() compares; a few round trips. */
    probe(const topology &t, int me, bool brief = false);

    /**
     * The next schedule to run, nullopt at the end.  Every rank gets the same
     * number of them, empty ones where it takes no part: each run takes labels
     * that all ranks must count alike.
     */
    std::optional<schedule> next();
    /** Elements, of one byte, in a message of the current step. */
    size_t message_bytes() const { return bytes_; }
    /** The time of the schedule that next() returned last. */
    void record(int64_t elapsed_ns);

    /** What it takes, about, by what is known or assumed: all ranks come to the same. */
    static int64_t cost_ns(const topology &t, const facts &f, bool brief);

    /** What this rank measured; 0 where it took no part. */
    fact_vector measured() const;

private:
    enum class kind { site_pair, inside, lone, bulk, fan, barrier };
    struct step {
        kind what;
        int a = 0, b = 0;   // site pair, of this rank's site
        bool timed = true;  // false: opens connections
    };
    schedule ping(int from, int to) const;
    schedule bulk(int from, int to, int messages) const;
    schedule fan() const;
    schedule barriers() const;

    const topology &topo_;
    int me_;
    std::vector<step> steps_;
    size_t at_ = 0;
    size_t bytes_ = 1;
    bool part_ = false;             // whether this rank times the current step
    std::vector<int64_t> pair_ns_;
    int64_t lan_ns_ = 0, lone_ns_ = 0, bulk_ns_ = 0, fan_ns_ = 0;
    std::vector<int64_t> barrier_ns_;
};

/** Where the way between two sites stands; nullopt: there are too many sites for that. */
std::optional<size_t> fact_of_pair(int a, int b, int sites);

/** Facts from the combined vector. */
facts facts_from(const topology &t, const fact_vector &v);

} // namespace wan

#endif
