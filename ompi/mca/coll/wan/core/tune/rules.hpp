/*
 * Which calls are served how, in a file: rules that are given (coll_wan_rules),
 * and what an earlier job has learned by trial (coll_wan_tune_file).  One a line,
 * '#' begins a comment, the first that fits a call counts:
 *
 *     allreduce bytes 1024-2047 ranks 32 sites 2 ranks-per-host 1 placement blocks: leaders entries 1
 *     bcast bytes 1M-: vandegeijn
 *     scan bytes 0-4K sites 2: open_mpi
 *
 * What is left out fits all; a rule with bytes fits no call whose sizes not all ranks know (Gatherv, Scatterv,
 * Alltoallv, Alltoallw).  bytes: of the message, in collectives with a block for each
 * rank of all blocks together (alltoall: of one rank's); K, M, G are 2^10, 2^20, 2^30.  ranks-per-host:
 * the most that any host has.  placement: `blocks` where ranks of a site follow each other, else `mixed`.  After the colon an algorithm,
 * with the parameters that the planner shall not choose, `open_mpi`, or `adaptive`: adaptive trees, of what they serve.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TUNE_RULES_HPP
#define WAN_TUNE_RULES_HPP

#include "topo/cluster_map.hpp"
#include "topo/topology.hpp"
#include "tune/tuner.hpp"

namespace wan {

struct request;

struct whole_range {
    uint64_t least = 0, most = UINT64_MAX;
    bool holds(uint64_t x) const { return least <= x && x <= most; }
    friend bool operator==(const whole_range &, const whole_range &) = default;
};

struct rule {
    wan_collective_t collective = WAN_BCAST;
    whole_range bytes, ranks, sites, ranks_per_host;
    std::optional<bool> blocks;         // placement
    manner how;
};

class rules {
public:
    /** learned: what cannot be understood is left out, and the first of it told in `error`; a file that is not there has none. */
    static bool parse(std::string_view text, const std::string &file, rules &out, input_error &error, bool learned = false);
    static bool read(const std::string &file, bool learned, rules &out, input_error &error);

    /** Those for communicators like this one, in their order. */
    std::vector<rule> of(const topology &t) const;
    bool empty() const { return all_.empty(); }
    size_t size() const { return all_.size(); }
    /** Lines. */
    size_t left_out() const { return left_out_; }

private:
    std::vector<rule> all_;
    size_t left_out_ = 0;
};

/** Of those of a communicator the first that fits a call; nullptr: none does. */
const rule *find(const std::vector<rule> &of, const request &r);

/** A number for all of them, 0 for none. */
uint64_t digest(const std::vector<rule> &of);

/** Whether they are about the same calls, however served. */
bool same_calls(const rule &a, const rule &b);

/** As a line of a file. */
std::string print(const rule &r);

/** What was learned by trial on such communicators: one for each class that has settled. */
std::vector<rule> learned_rules(const topology &t, const std::vector<tuner::state> &classes);

/** Adds them to a file in place of those there for the same calls; all else in it stays, also what other jobs add meanwhile: see text_file_change(). */
bool rules_save(const std::string &file, const std::vector<rule> &learned, input_error &error);
/** Whether that could be done now: see text_file_changeable(); not where the file holds something else, either. */
bool rules_savable(const std::string &file, input_error &error);

} // namespace wan

#endif
