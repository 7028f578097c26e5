/*
 * A communicator over several sites: its sites, its links, how its calls are served, the
 * plans chosen so far and their schedules.  Behind wan_comm_t of wan_core.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_COMM_HPP
#define WAN_COMM_HPP

#include "adaptive/service.hpp"
#include "exec/engine.hpp"
#include "graph/exchange.hpp"
#include "measure/comm_links.hpp"
#include "plan/planner.hpp"
#include "report/record.hpp"
#include "tune/common_clock.hpp"
#include "tune/explain.hpp"
#include "tune/rules.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>

struct wan_comm final : private wan::links_user {
    /** pretended: sites have hosts in common. */
    wan_comm(wan::topology t, int me, const wan_params_t &params, bool pretended);
    ~wan_comm();

    wan::topology topo;
    int me;
    mutable std::mutex lock;            // counters, what is known of links, what is cached: runs of several threads
    wan::comm_links links;
    wan::wishes wish[WAN_COLLECTIVES];
    bool wants_trees[WAN_COLLECTIVES] = {};     // adaptive ones
    uint64_t tree_threshold;            // bytes of a block
    wan::adaptive_service *trees = nullptr;     // while there are nodes; set with both locks
    wan::adaptive_service::member *node = nullptr;                  // of the first stream (wan_call_t)
    std::function<wan::adaptive_service::member *(unsigned stream, int64_t now_ns)> node_open;    // one more; with the lock of `trees`
    std::map<unsigned, wan::adaptive_service::member *> more_nodes;        // of other streams
    std::vector<std::pair<const wan_knob_t *, int64_t>> shaping;    // what shapes plans, as given to this rank
    static constexpr size_t fixed_votes = 10;    // besides those of parameters
    static constexpr size_t lone_votes = 4;     // after the pairs
    wan::tune_options tune;
    wan::tuner tuning;
    std::vector<wan::rule> given, learned_before;       // for communicators like this: rules; by an earlier job,
    std::vector<wan::rule> learned_here;                // by this one
    int trial = 0;                      // of the call begun last: see wan_comm_trial()
    int64_t trial_ahead_ns = 0;         // of one that is timed
    int64_t trial_waits_ns = 0;         // of one that is watched: what takes less says nothing
    wan::common_clock clock;
    std::optional<int64_t> clock_told_ns;       // by rank 0, here
    int64_t trial_predicted_ns = 0;     // where Open MPI's own module serves it, of the model's choice
    uint64_t left = 0;                  // of a call left to Open MPI's own module, which is timed: of drift; 0: says nothing of links
    wan_counters_t counters{};
    std::unique_ptr<wan::record> report;        // where one is asked for

    /** A plan's schedule for this rank, from the cache or built; with what it sends to other sites. */
    struct prepared {
        std::shared_ptr<const wan::program> code;
        std::vector<uint32_t> crossing;         // operations that send to another site
        uint64_t serial = 0;                    // no two of a communicator have the same
    };
    /** How a call is served; no plan: not by us. */
    struct decision {
        std::optional<wan::plan> plan{};
        std::shared_ptr<const prepared> how{};
        bool left = false;      // to the module before, by choice
        bool along_trees = false;   // adaptive ones serve, likewise, or as a parameter says
    };
    /** What is of this rank or this call alone, and beside a request decides. */
    struct circumstances {
        bool scattered;     // see build_schedule(): plans do not depend on it
        unsigned epoch;     // which of what was known, see wan_call_t
        bool internal;      // not the program's: as the model chooses
        bool blocks;        // and may be a trial
        bool asks = false;  // no call: whether there were one
        const char *unfit = "";     // trees_unfit()
    };
    /**
     * Calls like earlier ones are found, not planned again; any thread.  Plans do not depend on the
     * bytes of a block for another site where only this rank knows them, but its limit does.
     */
    decision decide(const wan::request &r, circumstances c, uint64_t far_block_bytes);
    /** A neighbourhood collective's, likewise. */
    std::shared_ptr<const prepared> prepare(const wan::edges &e);

    /** What a file, or what was learned on another communicator, says of a call. */
    struct ruling {
        wan::manner how;
        const char *knob;           // or who else says so
        bool learned;               // by trial: until calls take far longer
        std::optional<wan::misfit> misfit{};    // on other links than these, as measured: it does not count
    };
    /** Why adaptive trees do not serve such a call where a name, a rule or a trial gives it to them; "": they do, as far as its size and kind go. */
    std::string trees_refuse(const wan::request &r) const;
    /** Whether adaptive trees serve some calls of a collective where a rule, or a trial, gives them to them; this one.  unfit: trees_unfit(). */
    bool trees_might_serve(wan_collective_t c) const;
    bool trees_serve(const wan::request &r, const char *unfit) const;
    /** Whether they serve this one because a parameter names them. */
    bool trees_named(const wan::request &r, const circumstances &c) const;
    /** Whether it counts or not; nothing where a parameter names the collective's algorithm.  blocks: a blocking call; era: which facts are known. */
    std::optional<ruling> any_rule(const wan::request &r, bool blocks, size_t era) const;
    /** Where it counts. */
    std::optional<ruling> ruled(const wan::request &r, bool blocks, size_t era) const;
    /** Of that what counts: not what trials have taken the place of. */
    std::optional<ruling> said(const wan::request &r, bool blocks, size_t era) const;

    /** What a call takes as the model chooses, as predicted; 0: nothing serves it. */
    int64_t usually_ns(const wan::request &r, unsigned epoch);

    // What people are told of it: comm_explain.cpp.

    /**
     * Why a call is served as it is, where that is not that it is predicted to be the fastest: as serve() decides; "".  how: none: along trees.
     * unfit: trees_unfit().
     */
    std::string why(const wan::request &r, bool blocks, size_t era, const std::optional<wan::plan> &how, const char *unfit) const;
    /** What an earlier job learned of such a call where that does not count, and why; "". */
    std::string unused(const wan::request &r, bool blocks, size_t era) const;
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
        const char *unfit = "";
    };
    bool explains = false;
    std::vector<calls_seen> seen_calls;
    uint64_t not_seen = 0;              // calls of further classes
    /** With the lock held. */
    void saw(const wan::request &r, bool blocks, size_t era, const std::optional<wan::plan> &how, calls_seen::served by, const char *unfit);
    /** See wan_comm_explain(). */
    std::string explain() const;

    /** Of drift, of a call that Open MPI's own module serves by choice; 0: its time says nothing of links. */
    static uint64_t left_kind(const wan::request &r);
    /** See wan_comm_left(). */
    void left_took(int64_t elapsed_ns);
    /** Of all ranks: see wan_comm_tune(). */
    bool decide_trials(const wan::tune_scores &scores);

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

private:
    struct schedule_entry {
        wan::plan key;
        bool scattered;
        std::shared_ptr<const prepared> value;
    };
    struct decision_entry {
        wan::request key;
        bool scattered;
        size_t era;
        std::optional<wan::manner> manner;      // none: as the model chooses
        uint32_t limit;                         // of messages to other sites; 0: the plan's
        decision value;
    };
    static constexpr size_t cached_ = 64;
    uint64_t prepared_ = 0;                     // schedules so far
    std::vector<schedule_entry> schedules_;     // both: most recent first
    std::vector<decision_entry> decisions_;
    struct exchange_entry {
        wan::edges key;
        std::shared_ptr<const prepared> value;
    };
    std::vector<exchange_entry> exchanges_;
    struct misfit_entry {
        wan::request key;
        size_t era;
        wan::manner how;
        std::optional<wan::misfit> value;
    };
    mutable std::vector<misfit_entry> misfits_;

    /** Whether a way that an earlier job learned is of other links than those of an era; worked out once for each kind of calls. */
    std::optional<wan::misfit> misfit_of(const wan::request &r, size_t era, const wan::manner &how) const;

    void links_looked_at(const char *why) override;
    void links_unchanged() override;
    void links_measured(bool changed, bool news) override;
    void links_learned(unsigned epoch) override;
    void links_known(bool changed) override;
    void links_changed() override;

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
        uint64_t op;            // of it, once begun
        std::function<uint64_t(int64_t now_ns)> begin{};     // by the first step: before a trial ranks wait for each other; with the lock of the trees
    };
    std::optional<by_trees> trees{};    // in place of an engine

    wan::record::noted noted{};         // for the report

    void account(int64_t elapsed_ns);
};

#endif
