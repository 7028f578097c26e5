/*
 * What a communicator over several sites knows: its sites, its links, the
 * plans chosen so far and their schedules.  Behind wan_comm_t of wan_core.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_COMM_HPP
#define WAN_COMM_HPP

#include "adaptive/service.hpp"
#include "exec/engine.hpp"
#include "graph/exchange.hpp"
#include "measure/contradictions.hpp"
#include "measure/deferral.hpp"
#include "measure/drift.hpp"
#include "measure/links_file.hpp"
#include "model/widths.hpp"
#include "plan/planner.hpp"
#include "report/record.hpp"
#include "topo/cluster_map.hpp"
#include "tune/explain.hpp"
#include "tune/rules.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>

struct wan_comm {
    wan_comm(wan::topology t, int me, const wan_params_t &params);
    ~wan_comm();

    wan::topology topo;
    int me;
    wan::wishes wish[WAN_COLLECTIVES];
    bool wants_trees[WAN_COLLECTIVES] = {};     // adaptive ones
    uint64_t tree_threshold;            // bytes of a block
    wan::adaptive_service *trees = nullptr;     // once they are open
    wan::adaptive_service::member *node = nullptr;                  // of the first stream (wan_call_t)
    std::function<wan::adaptive_service::member *(unsigned stream, int64_t now_ns)> node_open;    // one more; with the lock of `trees`
    std::map<unsigned, wan::adaptive_service::member *> more_nodes;        // of other streams
    std::vector<std::pair<const wan_knob_t *, int64_t>> shaping;    // what shapes plans, as given to this rank
    std::vector<wan::facts> known;      // one after the other, as links were measured; empty before
    wan::fact_vector learned{};         // what the last of them was made from; all 0 before
    wan::fact_vector found{};           // what this rank measured last
    static constexpr size_t fixed_votes = 10;    // besides those of parameters
    static constexpr size_t lone_votes = 4;     // after the pairs
    wan_machine_t machine{wan::facts{}.eager_bytes, wan::facts{}.copy_ps, wan::facts{}.reduce_ps};     // this process's; once agreed, of all
    wan::tune_options tune;
    wan::tuner tuning;
    std::vector<wan::rule> given, learned_before;       // for communicators like this: rules; by an earlier job,
    std::vector<wan::rule> learned_here;                // by this one
    int trial = 0, trial_root = 0;      // of the call begun last: see wan_comm_trial()
    int64_t trial_pause_ns = 0;
    int64_t trial_predicted_ns = 0;     // where Open MPI's own module serves it, of the model's choice
    uint64_t left = 0;                  // of a call left to Open MPI's own module, which is timed: of drift; 0: says nothing of links
    wan::drift seen;
    wan::drift_checks checks;
    std::unique_ptr<wan::measurement> measuring;        // or what is to be measured
    bool measures;                              // links, ever
    std::atomic<int64_t> *spent_everywhere = nullptr;       // by calls between these sites, in this process
    wan::deferral deferred;                     // with `measuring`, as long as links are not known or a file's
    bool asked_for_time = false;                // ranks asked last whether to measure, not whether links have changed
    wan::fact_vector offered{};                 // what measured() held then, if it was something new
    std::vector<char> probe_buffer;
    wan_counters_t counters{};
    std::mutex lock;                    // counters and what is cached: runs of several threads
    std::unique_ptr<wan::record> report;        // where one is asked for
    bool probed = false;                // what is known was measured here, not on another communicator
    bool from_file = false;             // `learned` is what an earlier job wrote
    bool in_use = false;                // calls may have been planned by what a file told, or was assumed
    std::string links_file;
    bool pretended = false;             // sites have hosts in common
    wan::contradictions doubts;         // of what was given, by what was measured last

    /** In measured(): the names of its sites, each with a line's end. */
    std::string sites_key() const;
    /** Whether links that are known are others than so. */
    bool changed_to(const wan::fact_vector &v) const;
    std::vector<std::string> site_names() const;
    /** What is known of its links; nothing where none is. */
    std::optional<wan::known_links> links() const;

    /** A plan's schedule for this rank, from the cache or built; with what it sends to other sites. */
    struct prepared {
        std::shared_ptr<const wan::program> code;
        std::vector<uint32_t> crossing;         // operations that send to another site
        uint64_t serial = 0;                    // no two of a communicator have the same
    };
    /** How a call is served; no plan: not by us. */
    struct decision {
        std::optional<wan::plan> plan;
        std::shared_ptr<const prepared> how;
        bool left = false;      // to the module before, by choice
    };
    /** What is of this rank or this call alone, and beside a request decides. */
    struct circumstances {
        bool scattered;     // see build_schedule(): plans do not depend on it
        unsigned epoch;     // which of what was known, see wan_call_t
        bool internal;      // not the program's: as the model chooses
        bool blocks;        // and may be a trial
        bool asks = false;  // no call: whether there were one
    };
    /**
     * Calls like earlier ones are found, not planned again; any thread.  Plans do not depend on the
     * bytes of a block for another site where only this rank knows them, but its limit does.
     */
    decision decide(const wan::request &r, circumstances c, uint64_t far_block_bytes);

    /** Which of `known` counts for calls of an epoch. */
    size_t era_of(unsigned epoch) const { return facts_of_[std::min<size_t>(epoch, facts_of_.size() - 1)]; }

    /** What a file, or what was learned on another communicator, says of a call. */
    struct ruling {
        wan::manner how;
        const char *knob;           // or who else says so
        bool learned;               // by trial: until calls take far longer
    };
    /** Why adaptive trees do not serve such a call where a name or a rule gives it to them; "": they do, as far as its size and kind go. */
    std::string trees_refuse(const wan::request &r) const;
    /** Whether a file asks for adaptive trees. */
    bool ruled_along_trees(const wan::request &r, bool blocks, unsigned epoch);
    /** Nothing where a parameter names the collective's algorithm.  blocks: a blocking call; era: which of `known`. */
    std::optional<ruling> ruled(const wan::request &r, bool blocks, size_t era) const;
    /** Of that what counts: not what trials have taken the place of. */
    std::optional<ruling> said(const wan::request &r, bool blocks, size_t era) const;

    /** What a call takes as the model chooses, as predicted; 0: nothing serves it. */
    int64_t usually_ns(const wan::request &r, unsigned epoch);

    // What people are told of it: comm_explain.cpp.

    /** Why a call is served as it is, where that is not that it is predicted to be the fastest: as serve() decides; "".  how: none: along trees. */
    std::string why(const wan::request &r, bool blocks, size_t era, const std::optional<wan::plan> &how) const;
    /** Calls of a class, where coll_wan_explain asks for them. */
    struct calls_seen {
        wan::call_class what;
        bool sizes_local;
        uint64_t blocking = 0, others = 0;
        // The last one that blocks, or the last one.
        wan::request like{};
        size_t era = 0;
        std::optional<wan::plan> how{};
        enum class served : uint8_t { by_plan, along_trees, left, not_at_all } by = served::by_plan;
    };
    bool explains = false;
    std::vector<calls_seen> seen_calls;
    uint64_t not_seen = 0;              // calls of further classes
    /** With the lock held. */
    void saw(const wan::request &r, bool blocks, size_t era, const std::optional<wan::plan> &how, calls_seen::served by);
    /** See wan_comm_explain(). */
    std::string explain() const;

    /** Of drift, of a call that Open MPI's own module serves by choice; 0: its time says nothing of links. */
    static uint64_t left_kind(const wan::request &r);
    /** See wan_comm_left(). */
    void left_took(int64_t elapsed_ns);
    /** Of all ranks: see wan_comm_tune(). */
    bool decide_trials(const wan::tune_scores &scores);

    /** A neighbourhood collective's, likewise. */
    std::shared_ptr<const prepared> prepare(const wan::edges &e);

    void leave_trees();
    /** Its counts are kept; with the lock of `trees`. */
    void leave_node(wan::adaptive_service::member &n);
    /** Its adaptive nodes; with the lock of `trees`. */
    template <typename F> void each_node(F f) const
    {
        if (node)
            f(*node);
        for (const auto &[stream, more] : more_nodes)
            f(*more);
    }
    /** Of what the map says of the links between these sites. */
    uint64_t links_digest() const;

    /** Takes what all ranks hold in `learned`, corrected by what the map says of the links, as known. */
    /** changed: links are no longer those of the beginning. */
    void learn(bool changed = false);
    /** Measures links, next. */
    void measure() { measure_for(purpose::learn); }
    /** Measures briefly, next, whether links have changed. */
    void look() { measure_briefly(purpose::look, "calls take much more or less time than before: are the links as they were?"); }
    /** Likewise, whether they are as a file tells. */
    void believe() { measure_briefly(purpose::believe, "links are known from a file: are they as they were?"); }
    /** It is agreed how long calls between these sites have taken so far. */
    void defer(int64_t spent_ns);
    /** Of a call; with the lock held. */
    void took(int64_t elapsed_ns);
    /** Whether links are not known yet, or not as they are any more; else what is measured next adds to that. */
    bool unsure() const { return measuring && measuring_to_ != purpose::widen && measuring_to_ != purpose::look_wide; }
    /** Whether they seem to have changed. */
    bool doubtful() const { return measuring && measuring_to_ == purpose::look; }
    /** What was measured on another communicator, as all ranks know: in place of measuring. */
    void adopt(const wan::fact_vector &v);
    /** Measures how wide links are, where nobody has, once calls have taken so long. */
    void widen_later();
    /** What was measured last, by all ranks together: see wan_comm_learn(). */
    int take(const wan::fact_vector &v);

private:
    struct schedule_entry {
        wan::plan key;
        bool scattered;
        std::shared_ptr<const prepared> value;
    };
    struct decision_entry {
        wan::request key;
        bool scattered;
        size_t facts;                           // of `known`
        std::optional<wan::manner> manner;      // none: as the model chooses
        uint32_t limit;                         // of messages to other sites; 0: the plan's
        decision value;
    };
    static constexpr size_t cached_ = 64;
    /**
     * What links are measured for; a change that a brief look finds must be in the full measurement, too.  What is as it
     * was by those may still carry less or more, which must be seen twice.
     */
    enum class purpose { learn, believe, look, confirm, look_wide, confirm_wide, widen } measuring_to_ = purpose::learn;
    bool suspected_ = false;                    // that they have changed; else they are known from a file
    wan::fact_vector seen_wide_{};              // by the first look at widths
    size_t changed_from_ = SIZE_MAX;            // of `known`, the first of links that have changed
    int width_round_ = 0;                       // of widths, to be measured next
    void measure_for(purpose p, bool brief = false);
    /** why: for the report. */
    void measure_briefly(purpose p, const char *why);
    /** Measures widths from a round on, next, if there is anything to find. */
    bool widen(int round);
    /** What of them was measured, by all ranks together. */
    int take_widths(const wan::fact_vector &v);
    /** Looks, next, whether those known are as they were, or as a file tells. */
    void look_wide(purpose p, const wan::fact_vector &seen = {});
    int take_wide_look(const wan::fact_vector &v, purpose why);
    /** Links are as they were, by a look that has seen that; or what they are now. */
    int unchanged(const wan::fact_vector &seen_now);
    void links_are(const wan::fact_vector &v, bool changed);
    /** Links have changed: adaptive trees measure them, those of all communicators. */
    void trees_measure();
    int64_t look_cost_ns() const;
    /** Compares what was given with that. */
    void doubt(const wan::fact_vector &measured);
    /** What `v` and, if wanted, the map say. */
    wan::facts told(const wan::fact_vector &v, bool map = true) const;
    wan::link_hints hints_;
    std::vector<size_t> facts_of_;              // which of `known`, by epoch
    uint64_t prepared_ = 0;                     // schedules so far
    std::vector<schedule_entry> schedules_;     // both: most recent first
    std::vector<decision_entry> decisions_;
    struct exchange_entry {
        wan::edges key;
        std::shared_ptr<const prepared> value;
    };
    std::vector<exchange_entry> exchanges_;

    wan::tuner::service serve(const wan::request &r, const circumstances &c, size_t era);
    std::shared_ptr<const prepared> prepare(const wan::plan &p, bool scattered);
    std::shared_ptr<const prepared> prepare(wan::schedule s);
};

struct wan_run {
    wan_comm *comm;
    std::optional<wan::plan> plan;      // none: a probe, or
    std::shared_ptr<const wan_comm::prepared> prepared;
    std::optional<wan::engine> engine;
    const wan_port_t *port;
    void *port_ctx;
    size_t element_bytes = 1;
    int64_t started_ns = -1;
    bool finished = false;
    bool internal = false, waits = false;       // see wan_call_t: the latter is its `blocks`
    bool blocks = false;        // and its time says something of links
    bool by_edges = false;      // a neighbourhood collective
    struct by_trees {
        wan_collective_t collective;
        int root;
        uint64_t bytes;
        wan::adaptive_service::member *node;
        uint64_t op;            // of it
    };
    std::optional<by_trees> trees{};    // in place of an engine

    wan::record::noted noted{};         // for the report

    void account(int64_t elapsed_ns);
};

#endif
