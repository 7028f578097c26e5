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
        inside_ns,      // one way between the first two hosts of a site
        message_ns,     // what a process spends on a message
        byte_ps,        // of an interface
        farthest_ns,    // one way between the sites that are farthest apart
        lone_ns,        // short passages after a rest, which tell bursts
        step_ns,        // of all hosts of a site
        first_pair_ns,  // from here on: one way between each two sites, where there are few
        pairs = 45,
        first_flow_ps = first_pair_ns + pairs,      // likewise: of one connection between them (model/widths.hpp),
        first_link_ps = first_flow_ps + pairs,      // of all hosts of a site to those of the other,
        first_link_hosts = first_link_ps + pairs,   // or of so many at once
        pairs_end = first_link_hosts + pairs,
        first_level_ns = pairs_end,                 // one way between hosts of a site by the levels they share, see facts::level_ns;
        level_byte_ps = first_level_ns + facts::levels,     // of a connection between those that share the fewest
        end
    };
    static constexpr int most_sites = 10;           // so many pairs; beyond, the worst latency stands for all
};
static_assert(fact::pairs == fact::most_sites * (fact::most_sites - 1) / 2 && fact::end <= WAN_FACTS);

/** Something to be measured, by all ranks together. */
class measurement {
public:
    virtual ~measurement() = default;

    /**
     * The next schedule to run, nullopt at the end.  Every rank gets the same
     * number of them, empty ones where it takes no part: each run takes labels
     * that all ranks must count alike.
     */
    virtual std::optional<schedule> next() = 0;
    /** Elements, of one byte, in a message of the current step. */
    virtual size_t message_bytes() const = 0;
    /** The time of the schedule that next() returned last. */
    virtual void record(int64_t elapsed_ns) = 0;
    /** What this rank measured; 0 where it took no part. */
    virtual fact_vector measured() const = 0;
};

class probe : public measurement {
public:
    /** brief: twice, what differ() compares; a few round trips. */
    probe(const topology &t, int me, bool brief = false);

    std::optional<schedule> next() override;
    size_t message_bytes() const override { return bytes_; }
    void record(int64_t elapsed_ns) override;
    fact_vector measured() const override;

    /** What it takes, about, by what is known or assumed: all ranks come to the same. */
    static int64_t cost_ns(const topology &t, const facts &f, bool brief);

private:
    enum class kind { site_pair, inside, lone, bulk, level, level_bulk, fan, barrier };
    struct step {
        kind what;
        int a = 0, b = 0;   // site pair, of this rank's site; a: level
        bool timed = true;  // false: opens connections
    };
    void level_steps(bool brief);
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
    int64_t lan_ns_ = 0, lone_ns_ = 0, bulk_ns_ = 0, fan_ns_ = 0, level_bulk_ns_ = 0;
    std::array<int64_t, facts::levels> level_ns_{};
    std::vector<int64_t> barrier_ns_;
};

/** Where the way between two sites stands, or what else is kept of it; nullopt: there are too many sites for that. */
std::optional<size_t> fact_of_pair(int a, int b, int sites, fact::place first = fact::first_pair_ns);

/** Facts from the combined vector. */
facts facts_from(const topology &t, const fact_vector &v);

} // namespace wan

#endif
