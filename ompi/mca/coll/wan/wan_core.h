/*
 * The C boundary of coll/wan's core.
 *
 * Files that see Open MPI's headers are C and decide nothing; everything that
 * decides is C++ behind this header.  It holds plain structs and functions
 * that return codes: no exception crosses it, the core prints nothing, and
 * it knows neither a datatype nor an operator, only counts and a port.
 *
 * Where to read next: core/core.cpp (the other side), coll_wan_port_pml.c
 * (the port that Open MPI's PML is behind), coll_wan_module.c (who calls what
 * when a communicator is made and first used).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_CORE_H
#define WAN_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- return codes ------------------------------------------------------ */

enum wan_code {
    WAN_OK = 0,             /* done, or: go on */
    WAN_DONE = 1,           /* a run has completed */
    WAN_DECLINED = -1,      /* not ours: call the module that was there before us */
    WAN_ERR_NOMEM = -2,
    WAN_ERR_INPUT = -3,     /* the user's file or parameter is wrong: see the message */
    WAN_ERR_PORT = -4,      /* the port reported an error: see wan_run_error() */
    WAN_ERR_INTERNAL = -5   /* broken invariant: a defect of ours */
};

/* ---- collectives ------------------------------------------------------- */

/* The v- and w-forms are the same collectives with counts of the caller's. */
typedef enum wan_collective {
    WAN_BCAST,
    WAN_ALLREDUCE,
    WAN_REDUCE,
    WAN_BARRIER,
    WAN_SCAN,
    WAN_EXSCAN,
    WAN_ALLGATHER,
    WAN_GATHER,
    WAN_SCATTER,
    WAN_REDUCE_SCATTER,
    WAN_ALLTOALL,
    WAN_COLLECTIVES,        /* how many there are to choose algorithms for; and */
    WAN_NEIGHBOR = WAN_COLLECTIVES,     /* neighbourhood collectives, along the edges of a graph (core/graph/exchange.hpp) */
    WAN_COUNTED             /* how many in all */
} wan_collective_t;

const char *wan_collective_name(wan_collective_t collective);   /* "bcast", ... */

/* ---- parameters: every knob is defined once, in core/knobs.cpp ---------- */

typedef struct wan_params {
    int priority;
    char *cluster_id;           /* site of this process, "" if not given */
    char *cluster_id_file;      /* file of this host that holds its site, "" for none */
    char *cluster_map;          /* path, "" if not given */
    int64_t threshold;          /* bytes; 0: automatic */
    int64_t links;              /* n per site pair and direction; 0: automatic */
    int64_t segment;            /* bytes; 0: automatic */
    int discover;               /* 1: sites of processes without a name are found by measuring */
    int64_t check_interval;     /* ms; 0: links are measured once */
    int64_t measure_share;      /* of the time that measuring links may take, per cent */
    int64_t ping_bytes;         /* of a message that measures a round trip in the background, beside headers */
    int64_t measure_bytes;      /* of a transfer that tells a bandwidth; 0: ways between sites are not measured */
    int64_t tree_threshold;     /* bytes */
    int64_t tree_peers;
    int tree_phoenix;
    int64_t reduce_timeout;     /* us; 0: automatic */
    int stable;                 /* 1: reductions evaluate one expression whatever the plan */
    int64_t tune_trials;        /* timed calls of others than the model's choice; 0: none */
    int64_t tune_excess;        /* per cent */
    int64_t tune_share;         /* per cent */
    int tune_trees;             /* adaptive trees are tried, too */
    char *tune_file;            /* path, "" if not given */
    char *links_file;           /* path, "" if not given */
    char *rules;                /* path, "" if not given */
    int explain;                /* 1: what was tried and chosen is told at the end */
    int algorithm[WAN_COLLECTIVES];     /* enumerators; 0: automatic */
    char *report;               /* file, "" for none: see wan_report.h */
    int verbose;
} wan_params_t;

typedef enum wan_knob_type {
    WAN_KNOB_INT,               /* int in wan_params_t */
    WAN_KNOB_INT64,             /* int64_t */
    WAN_KNOB_STRING,            /* char * */
    WAN_KNOB_ENUM               /* int; allowed values by wan_knob_enumerator() */
} wan_knob_type_t;

typedef struct wan_knob {
    const char *name;           /* "links": Open MPI shows it as coll_wan_links */
    wan_knob_type_t type;
    size_t offset;              /* in wan_params_t */
    int64_t minimum, maximum;   /* inclusive; INT and INT64 only */
    int64_t initial;            /* default; STRING: always "" */
    int level;                  /* 1..9 as MPI_T: 1..3 user, 4..6 tuner, 7..9 developer */
    bool shapes_plans;          /* must be the same on all ranks of a communicator */
    const char *help;           /* a sentence, with unit and range */
} wan_knob_t;

size_t wan_knob_count(void);
const wan_knob_t *wan_knob_get(size_t i);
/* Enumerator k of an ENUM knob (k = its value), NULL past the end; *help may be NULL. */
const char *wan_knob_enumerator(const wan_knob_t *knob, int k, const char **help);

/* ---- messages for users ------------------------------------------------- */

/* Filled where a call returns WAN_ERR_INPUT, shown by the glue through opal_show_help. */
typedef struct wan_message {
    char where[512];            /* "FILE:LINE" or the parameter */
    char what[512];             /* what is wrong */
    char remedy[512];           /* what to do */
} wan_message_t;

/* ---- why not --------------------------------------------------------------- */

/* Why a communicator is not ours: for counters a name, for people a sentence. */
typedef enum wan_reason {
    WAN_REASON_NONE,
    WAN_REASON_INTERCOMMUNICATOR,
    WAN_REASON_ONE_SITE,
    WAN_REASON_UNKNOWN_SITE,
    WAN_REASON_NO_NAMES,
    WAN_REASON_NOT_FOUND,       /* nor will be */
    WAN_REASON_NO_PLUGIN,
    WAN_REASON_OTHER_BUILD,
    WAN_REASON_OTHER_PRIORITY,
    WAN_REASON_OTHER_DISCOVER,
    WAN_REASON_OTHER_ARCHITECTURE,
    WAN_REASON_NO_CARD,         /* what a process published cannot be read */
    WAN_REASON_OTHER_SITES,
    WAN_REASON_OTHER_LINKS,
    WAN_REASON_OTHER_RULES,
    WAN_REASON_OTHER_PARAMETERS,
    WAN_REASON_NO_MEMORY,
    WAN_REASON_NO_TAGS,
    WAN_REASON_NO_MODULE,
    WAN_REASONS                 /* how many */
} wan_reason_t;

const char *wan_reason_name(wan_reason_t reason);   /* "one_site", ... */
const char *wan_reason_text(wan_reason_t reason);   /* a clause for "because ..." */
const char *wan_reason_remedy(wan_reason_t reason); /* what to do */

/* Starts as all zero. */
typedef struct wan_refusal {
    wan_reason_t reason;
    bool has_rank;
    int rank;                   /* of the communicator: the first one that it is about */
    const char *knob;           /* which parameter differs; NULL: no parameter's matter */
    bool has_other;             /* `rank` and `other` differ in it: the first ones with the least and the most */
    int other;
    char held[2][32];           /* what each of these two has of the parameter */
    const char *site;           /* WAN_REASON_ONE_SITE: which one, NULL where it has no name; must outlive the refusal */
} wan_refusal_t;

/*
 * For a refusal because refusal->rank has another value of a parameter (WAN_REASON_OTHER_PRIORITY, WAN_REASON_OTHER_DISCOVER)
 * than rank `mine`: what each of them has.
 */
void wan_refusal_differs(wan_refusal_t *refusal, int mine, int mine_has, int other_has);

/*
 * The clause, with the site, or the parameter and what two ranks have of it; where there is one rank alone, it is left to who
 * knows its host.  Length as by snprintf.
 */
int wan_refusal_describe(const wan_refusal_t *refusal, char *text, size_t size);

/*
 * A job begins: reads the files that parameters name, besides those about sites, for all its communicators.  WAN_ERR_INPUT: one
 * cannot be read.  WAN_OK with message->what: lines of the file of what was learned are left out ("": none).
 */
int wan_params_check(const wan_params_t *params, wan_message_t *message);
/*
 * Then, of the process that will call wan_comm_save(): whether the file `which` (from 0) could be written now, so that a user learns it before
 * hours of a job, not after; nothing is made.  WAN_ERR_INPUT: not; WAN_OK: it could, or nothing will be written; WAN_DECLINED: there are no more.
 */
int wan_params_keep(const wan_params_t *params, int which, wan_message_t *message);
/* A file as a whole: where that fails, WAN_ERR_INPUT with errno, what was there stays. */
int wan_file_write(const char *file, const char *text);
/* What to do then: a sentence. */
const char *wan_write_remedy(int error);

/* ---- sites -------------------------------------------------------------- */

/* What the runtime offers about this process; NULL or "" where absent. */
typedef struct wan_runtime_hints {
    const char *hostname;
    const char *pmix_cluster_id;        /* PMIX_CLUSTER_ID */
    const char *pmix_switch_peers;      /* PMIX_SWITCH_PEERS: ranks at the same switch, "0-3,8" */
    int rank;                           /* of this process in its job: switch peers may leave it out */
} wan_runtime_hints_t;

#define WAN_SITE_MAX 256                /* bytes of a site name, with its final NUL */

/*
 * The nested site name of this process, such as "eu/paris/rack3", from (in
 * this order) cluster_id, cluster_id_file, cluster_map, the runtime.
 * "" when nothing is known: message->what says why, and message->where which
 * file places other hosts but not this one ("": nothing was asked for).
 * WAN_ERR_INPUT for a malformed name or map, also one that is not asked for the
 * site: it may tell links.
 */
int wan_site_resolve(const wan_params_t *params, const wan_runtime_hints_t *hints,
                     char site[WAN_SITE_MAX], wan_message_t *message);

/*
 * A number for the package and NUMA node in `text`, PMIx's locality string of
 * a bound process ("SK0:L30:NM1:CR4:HT8-9", perhaps after "hwloc:"); a process
 * bound to several of a kind, or to none, counts as being in none.
 */
uint64_t wan_locality_domain(const char *text);

/* ---- what processes publish, and what follows from it -------------------- */

/*
 * A process's card: what others must know of it before the first collective.
 * Two processes whose build, priority, discover or arch differ are foreign to each other,
 * both ways: neither takes part in the other's agreement.
 */
typedef struct wan_card {
    int priority;                       /* with another one, another component may win on that host */
    int discover;                       /* the parameter */
    uint32_t arch;                      /* of the runtime: byte order, sizes of types */
    uint64_t node;                      /* see wan_peer_t */
    uint64_t domain;
    const char *site;                   /* nested name, "" if unknown */
} wan_card_t;

#define WAN_CARD_MAX (WAN_SITE_MAX + 128)

void wan_card_print(const wan_card_t *card, char text[WAN_CARD_MAX]);
/* Why `text` is foreign to `mine`, or WAN_REASON_NONE.  card->site points into text. */
wan_reason_t wan_card_read(const wan_card_t *mine, const char *text, wan_card_t *card);

typedef enum wan_peer_state {
    WAN_PEER_KNOWN,                     /* its card was read */
    WAN_PEER_FOREIGN,                   /* it definitely published none, or one that is foreign */
    WAN_PEER_UNKNOWN                    /* its card could not be looked up: it may be either */
} wan_peer_state_t;

/* What is known of a communicator's ranks.  Starts as all zero; takes no memory. */
typedef struct wan_census {
    wan_refusal_t foreign, unknown, nameless;   /* by the first such rank */
    bool several;                       /* sites, of those that have names */
    const char *site;                   /* of the first one of them; must outlive the census */
    bool any, nodes;                    /* any known rank; on several hosts */
    uint64_t node;                      /* of the first known rank */
} wan_census_t;

typedef enum wan_stand {
    WAN_STAND_ASK,                      /* every rank comes to this: the first collective asks all */
    WAN_STAND_WATCH,                    /* every rank comes to this: not ours until sites are discovered */
    WAN_STAND_REFUSE,                   /* every rank comes to this: not ours */
    WAN_STAND_ABORT                     /* what the others came to cannot be told */
} wan_stand_t;

/* site and node: where KNOWN; reason: where FOREIGN. */
void wan_census_add(wan_census_t *census, int rank, wan_peer_state_t state, const char *site, uint64_t node,
                    wan_reason_t reason);
/* discovers: whether sites are.  *refusal where REFUSE or ABORT. */
wan_stand_t wan_census_decide(const wan_census_t *census, bool discovers, wan_refusal_t *refusal);

/* ---- the port: how the core communicates -------------------------------- */

/*
 * Counts are elements of the call's type.  post_* return WAN_OK and later,
 * exactly once per token, wan_run_complete() is called (from any thread,
 * possibly before post_* returns).  Another code means nothing was posted.
 * label < WAN_LABELS: messages between two ranks match in order per label.
 */
#define WAN_LABELS 1024

typedef struct wan_port {
    int (*post_send)(void *ctx, const void *buf, size_t count, int peer, int label, uint32_t token);
    int (*post_recv)(void *ctx, void *buf, size_t count, int peer, int label, uint32_t token);
    int (*reduce)(void *ctx, const void *src, void *dst, size_t count);   /* dst = src op dst */
    int (*copy)(void *ctx, const void *src, void *dst, size_t count);
    void *(*scratch)(void *ctx, size_t count);  /* count elements, freed after wan_run_release(); NULL: no memory */
    int64_t (*now_ns)(void *ctx);               /* monotonic */
} wan_port_t;

/* ---- communicators ------------------------------------------------------ */

typedef struct wan_comm wan_comm_t;

/*
 * What one rank published, in the order of ranks.  site: nested name; node:
 * a number that is equal for ranks on one host (hash of the host name);
 * domain: one that is equal for those of them that share a package and a NUMA
 * node (wan_locality_domain()).
 */
typedef struct wan_peer {
    const char *site;
    uint64_t node;
    uint64_t domain;
} wan_peer_t;

/*
 * Makes the view of a communicator.  WAN_DECLINED, with *refusal, when it
 * lies in one site or has ranks of unknown site; then *comm is NULL.  peers is
 * not kept.
 */
int wan_comm_open(const wan_params_t *params, const wan_peer_t *peers, int size, int me,
                  wan_comm_t **comm, wan_refusal_t *refusal);
void wan_comm_close(wan_comm_t *comm);

/* What a process knows of itself; 0: it does not. */
typedef struct wan_machine {
    int64_t eager_bytes;        /* of a message that Open MPI sends to another host at once, with its header, at most */
    int64_t copy_ps, reduce_ps; /* picoseconds that copying a byte takes, and combining two */
} wan_machine_t;

/* The latter: once in a process, in less than a millisecond; others are left as they are. */
int wan_machine_measure(wan_machine_t *machine);
/* Before the votes: of all ranks the least limit counts, and the slowest processor. */
void wan_comm_machine(wan_comm_t *comm, const wan_machine_t *machine);

/*
 * Agreement at the first collective: fill votes, combine them over all ranks
 * with MIN, hand the result back.  WAN_OK: all ranks run the same plugin on
 * the same sites with the same parameters.  WAN_DECLINED, with *refusal: stay out for good.
 * A rank that has no view of the communicator votes INT64_MIN in every slot; then
 * nobody is asked to agree, so that wan_comm_vote() must never use that value.
 */
#define WAN_VOTES 70
void wan_comm_vote(const wan_comm_t *comm, int64_t votes[WAN_VOTES]);
int wan_comm_agree(wan_comm_t *comm, const int64_t votes[WAN_VOTES], wan_refusal_t *refusal);

/*
 * Then the links are measured in passing: run what wan_comm_probe() returns
 * until it answers WAN_DONE; fill facts, combine with MAX over all ranks, hand
 * the result back.  From then on wan_run_begin() may be called.
 */
typedef struct wan_run wan_run_t;
#define WAN_FACTS 192
int wan_comm_probe(wan_comm_t *comm, const wan_port_t *port, void *port_ctx, wan_run_t **run);
/* Whether there is something to be measured, the same on all ranks. */
bool wan_comm_measures(const wan_comm_t *comm);
/* Whether links that were known seem to have changed. */
bool wan_comm_doubts(const wan_comm_t *comm);
/* And whether it is time to, as agreed last: when it takes no more than coll_wan_measure_share of the time; the same on all ranks. */
bool wan_comm_affords(const wan_comm_t *comm);
/*
 * For the time being, where nobody can wait for measurements, or it is too early for them: what the map says, and for the rest
 * any network's.  They can be made later; calls of an earlier epoch are planned as before even then.
 */
int wan_comm_assume(wan_comm_t *comm);
void wan_comm_facts(const wan_comm_t *comm, int64_t facts[WAN_FACTS]);
/* WAN_OK: learned; WAN_DONE: links have changed, measure once more; WAN_DECLINED: they have not. */
int wan_comm_learn(wan_comm_t *comm, const int64_t facts[WAN_FACTS]);

/*
 * After wan_comm_learn(): where what was given and what was measured contradict each other, in the message (starts as all
 * zero), each kind once in a process.  WAN_DONE: for everybody; WAN_OK with message->what: for who wants words; "": nothing.
 */
int wan_comm_contradiction(const wan_comm_t *comm, wan_message_t *message);

/*
 * Whether links are to be measured by now, while they are assumed (core/measure/deferral.hpp): at each blocking call, whoever
 * serves it and whatever becomes of it; of so many bytes where all ranks know how many, else 0.  Whether they are still as they
 * were measured (drift.hpp): at each blocking call that is served, no trial.  WAN_OK, or WAN_DONE where ranks are to ask each
 * other: combine votes with MIN over all ranks, beside that call, hand them back before the next one.  WAN_DONE then: measure as
 * above.  WAN_DECLINED: they are known now, from another communicator, for calls of the next epoch.
 */
#define WAN_CHECK_VOTES 4
int wan_comm_defers(wan_comm_t *comm, uint64_t bytes, int64_t votes[WAN_CHECK_VOTES]);
int wan_comm_check(wan_comm_t *comm, wan_collective_t collective, int64_t now_ns, int64_t votes[WAN_CHECK_VOTES]);
int wan_comm_check_answer(wan_comm_t *comm, const int64_t votes[WAN_CHECK_VOTES]);

/*
 * Choice by trial (core/tune/tuner.hpp).  A blocking call for which wan_run_begin() was called, WAN_OK or
 * WAN_DECLINED, may have something of that beside it, the same on all ranks:
 *
 *      WATCHED     it takes so long on each rank
 *      TIMED       before it, ranks put together, with MAX, what the common clock says, and how old rank 0's last word of it is; where that
 *                  is too old (wan_comm_clock_instead()) the call is another one:
 *      CLOCK       rank 0 tells all others what its clock says, WAN_CLOCK_WORDS times (wan_comm_clock_heard() on those), and the call is not timed;
 *                  else they begin *ahead_ns after that
 *      SCORES      after it, scores are combined
 *
 * At its end wan_comm_tried() gets what it took, from where it began, and how late that was for this rank.  WAN_DONE: combine scores with MAX over all ranks, hand them back.
 * wan_comm_tune() then: WAN_DONE: calls made from now on are served otherwise; they are of the next epoch.
 */
#define WAN_TUNE_SCORES 8
enum wan_trial {
    WAN_TRIAL_CLOCK = 1,
    WAN_TRIAL_WATCHED = 2,
    WAN_TRIAL_TIMED = 4,
    WAN_TRIAL_LEFT = 8,             /* no trial, but one that Open MPI's own module serves by choice, timed on each rank for wan_comm_left() */
    WAN_TRIAL_SCORES = 16
};
/* Of the call that was begun last; 0: nothing. */
int wan_comm_trial(const wan_comm_t *comm, int64_t *ahead_ns);
#define WAN_CLOCK_WORDS 4       /* of which the quickest counts */
void wan_comm_clock_heard(wan_comm_t *comm, int64_t sent_ns, int64_t arrived_ns);
/* By rank 0, when it has told; how long that is ago: INT64_MAX: never; 0 on all others. */
void wan_comm_clock_told(wan_comm_t *comm, int64_t now_ns);
int64_t wan_comm_clock_age(const wan_comm_t *comm, int64_t now_ns);
/* By the greatest age of all ranks: 1: the call that is timed is one of CLOCK instead, on all of them. */
int wan_comm_clock_instead(wan_comm_t *comm, int64_t age_ns);
/* What the common clock says, and the other way round. */
int64_t wan_comm_clock(const wan_comm_t *comm, int64_t here_ns);
int64_t wan_comm_clock_here(const wan_comm_t *comm, int64_t common_ns);
int wan_comm_tried(wan_comm_t *comm, int64_t elapsed_ns, int64_t late_ns, int64_t scores[WAN_TUNE_SCORES]);
int wan_comm_left(wan_comm_t *comm, int64_t elapsed_ns);
int wan_comm_tune(wan_comm_t *comm, const int64_t scores[WAN_TUNE_SCORES]);
/* For people: candidates, predictions, times, choices and why, class by class; a line where there were no calls.  Length as by snprintf. */
int wan_comm_explain(const wan_comm_t *comm, char *text, size_t size);

/* Keeps what was learned, by trial on any communicator of this process, in params->tune_file and params->links_file.  WAN_ERR_INPUT: one cannot be written, or both. */
int wan_comm_save(const wan_comm_t *comm, const wan_params_t *params, wan_message_t *message);

/* ---- adaptive trees: core/adaptive/service.hpp ------------------------------ */

/*
 * What processes need who find their trees by themselves: one of these each, with ways for
 * messages between all processes of the job, by their rank there, and those of other jobs, by numbers above these.
 */
typedef struct wan_trees wan_trees_t;
#define WAN_TREES_MESSAGE_MAX (64 * 1024 - 512)
/*
 * Sends a copy of both parts as one message, in order to each process; where counted > 0, wan_trees_arrived()
 * is called with it once the message has been matched there.
 */
typedef void (*wan_trees_send_t)(void *ctx, int process, const void *head, size_t head_size, const void *payload,
                                 size_t payload_size, size_t counted);

/*
 * job: a number of this job's, as in wan_tree_peer_t; trees' random choices come from it.  mortal: processes may die,
 * and the others go on.
 */
int wan_trees_open(const wan_params_t *params, uint32_t job, wan_trees_send_t send, void *ctx, bool mortal, wan_trees_t **trees);
void wan_trees_close(wan_trees_t *trees);       /* after all communicators */
int wan_trees_arrived(wan_trees_t *trees, int process, size_t counted, int64_t now_ns);
/*
 * The way to so many processes from number `first` on is over, after all communicators that used these numbers: nothing comes from there, or
 * is said to have arrived.  They may name others from now on.  What was measured of the processes is kept: they may come back.
 */
void wan_trees_forget(wan_trees_t *trees, int first, int count);
/*
 * What was sent may not come, or cannot be: calls under way along trees, and later ones, end with WAN_ERR_PORT.
 * Any thread, also inside the function that sends.
 */
void wan_trees_fail(wan_trees_t *trees);
/* No operation is under way here, and none comes: nothing is begun any more, nor asked; only who may wait for an answer gets it. */
void wan_trees_quiet(wan_trees_t *trees);
int wan_trees_receive(wan_trees_t *trees, int process, const void *bytes, size_t size, int64_t now_ns);
/* Now and then; where another thread is at it, it is left to that one. */
int wan_trees_step(wan_trees_t *trees, int64_t now_ns);

/* Whether the parameters, or the files that they name, ask for trees, the same on all ranks once they agreed. */
bool wan_comm_wants_trees(const wan_comm_t *comm);
/* A rank of a communicator: the number by which messages go there; and who it is, in whatever communicator it is met: its job, and its rank in that. */
typedef struct wan_tree_peer {
    int process;
    uint32_t job, rank;
} wan_tree_peer_t;

/*
 * From now on: peers[r] is rank r; number and more are of this communicator alone, ever, on all its ranks,
 * and `number` is higher than that of each that one of its processes opened before it was agreed on.  *known: so many others need not be
 * measured here, since they have been.
 */
int wan_comm_use_trees(wan_comm_t *comm, wan_trees_t *trees, uint64_t number, uint64_t more, const wan_tree_peer_t *peers, int64_t now_ns, int *known);
/* No communicator of a lower number is opened here from now on: what is kept for such is not needed. */
int wan_trees_pass(wan_trees_t *trees, uint64_t number, int64_t now_ns);
/* No calls of this stream (wan_call_t), not the first one, are under way here, or come. */
void wan_comm_end_stream(wan_comm_t *comm, unsigned stream);
/* No calls are under way or come.  Closing does it, too. */
void wan_comm_leave_trees(wan_comm_t *comm);

/* ---- discovery: core/measure/discovery.hpp --------------------------------- */

/*
 * Finds the sites of a job's processes from round trips between its hosts, in
 * the background.  Every process has one, fed with messages that the others'
 * send; nothing waits.
 */
typedef struct wan_discovery wan_discovery_t;
#define WAN_DISCOVERY_MESSAGE_MAX 2048
/* Sends a copy of so many bytes, in order. */
typedef void (*wan_discovery_send_t)(void *ctx, int rank, const void *bytes, size_t size);

/*
 * Of peers[size], which is not kept, only the hosts matter; job: as in wan_trees_open().  WAN_DECLINED: too many
 * hosts.
 */
int wan_discovery_open(const wan_params_t *params, uint32_t job, const wan_peer_t *peers, int size, int me,
                       wan_discovery_send_t send, void *ctx, wan_discovery_t **discovery);
/* Whenever this process looks for messages, before it takes them; read_ns: what had come by then has been read from the network; 0: that is not known. */
int wan_discovery_look(wan_discovery_t *discovery, int64_t now_ns, int64_t read_ns);
/* now_ns: when it is taken, which may be later than that this process looked. */
int wan_discovery_receive(wan_discovery_t *discovery, int rank, const void *bytes, size_t size, int64_t now_ns);
/* The sites are known; and what is measured of the ways between them, too: nothing comes any more. */
bool wan_discovery_known(const wan_discovery_t *discovery);
bool wan_discovery_complete(const wan_discovery_t *discovery);
/* Once they are known: how many places there are (a site, or a part of one), which one a rank is in, from 0; its nested name. */
int wan_discovery_places(const wan_discovery_t *discovery);
int wan_discovery_place(const wan_discovery_t *discovery, int rank);
#define WAN_DISCOVERY_NAME_MAX 24
void wan_discovery_name(const wan_discovery_t *discovery, int place, char name[WAN_DISCOVERY_NAME_MAX]);
/* For people, on rank 0, which knows the times; ways: once it is complete, "" where there are none.  Length as by snprintf. */
int wan_discovery_describe(const wan_discovery_t *discovery, char *text, size_t size);
int wan_discovery_describe_ways(const wan_discovery_t *discovery, char *text, size_t size);
void wan_discovery_close(wan_discovery_t *discovery);

/* ---- calls and runs ------------------------------------------------------ */

/*
 * Blocks of a vector in a buffer, by rank, in elements.  counts NULL: `count` of the call each;
 * displs NULL: one after the other in the order of ranks.  Kept until the run begins.
 */
typedef struct wan_vector {
    const size_t *counts;
    const ptrdiff_t *displs;
} wan_vector_t;

/*
 * Edges of a graph that end, or begin, at this rank: to which rank, and with which block.  Of several between two ranks
 * the k-th here is the k-th there.
 */
typedef struct wan_edges {
    int count;
    const int *ranks, *blocks;
} wan_edges_t;

typedef struct wan_call {
    wan_collective_t collective;
    int root;                   /* rank in the communicator; 0 where there is none */
    size_t count;               /* elements, of each block where there are blocks: equal on all ranks */
    size_t element_bytes;       /* of one element on the wire */
    ptrdiff_t extent;           /* bytes from one element to the next in memory */
    const void *in;             /* == out when in place; see below */
    void *out;                  /* bcast: the buffer (in is ignored) */
    bool commutative;           /* of the operator; true where there is none */
    bool dense;                 /* `count` elements are the count * element_bytes bytes at the address, on all ranks */
    /*
     * Collectives with a block for each rank.  In place: allgather, gather: in is the own block in
     * out; scatter: out the own block in `in`; reduce_scatter, alltoall: the buffers must be apart.
     *   allgather, reduce_scatter: the vector of out, of in, the same on all ranks
     *   gather, scatter: the vector of out, of in, at the root; others give their own
     *                    block's elements in own_count
     *   alltoall: both
     *   neighbor: both, by block of the edges below, with counts; in bytes, apart, and edges of no bytes are none
     */
    wan_vector_t in_vector, out_vector;
    wan_edges_t to, from;       /* neighbor: before agreement, too, and where not all ranks come; labels: 0 alone */
    size_t own_count;           /* gather, scatter with counts: elements of the own block */
    bool counts_vary;           /* counts are the caller's: said by all ranks alike */
    unsigned epoch;             /* how often links have been learned anew, when all ranks made the call: it is planned
                                   by what was known then */
    bool internal;              /* not one of the program's: it is not counted */
    bool blocks;                /* the caller waits from beginning to end: how long says something of the links */
    unsigned stream;            /* calls of one of these begin in one order on all ranks: 0 blocking, 1 non-blocking ones,
                                   more: the starts of one persistent request */
    bool asks;                  /* only whether it is served: it is released, and nothing else */
} wan_call_t;

/*
 * Chooses the plan, builds or finds its schedule, binds it.  Posts nothing.
 * WAN_DECLINED: no algorithm of ours serves this call (the same answer on
 * every rank).  Each run has WAN_LABELS labels for itself.  Threads may begin
 * and progress runs of one communicator at a time, each its own.
 */
int wan_run_begin(wan_comm_t *comm, const wan_call_t *call, const wan_port_t *port, void *port_ctx,
                  wan_run_t **run);
/* Posts what is ready.  WAN_OK: still running; WAN_DONE; or an error. */
int wan_run_progress(wan_run_t *run);
/* Called by the port's owner, once per token; code: 0 or the owner's error code. */
void wan_run_complete(wan_run_t *run, uint32_t token, int code);
/* True when wan_run_progress() would find something to do. */
bool wan_run_pending(const wan_run_t *run);
/* True when that, and the rest, take the lock of trees. */
bool wan_run_along_trees(const wan_run_t *run);
/* The owner's error code behind WAN_ERR_PORT; 0: it knows. */
int wan_run_error(const wan_run_t *run);
/*
 * A process of the communicator is dead, or it may not be used any more.  A run whose operations were posted ends by
 * their errors; one along trees, whose messages are not the port's, by this: with WAN_ERR_PORT, as all later ones there.
 */
void wan_run_abandon(wan_run_t *run);
/* After WAN_DONE, or after an error once no token is outstanding. */
void wan_run_release(wan_run_t *run);

/* ---- seeing -------------------------------------------------------------- */

/* Numbers of 64 bits and nothing else, of a communicator or summed over those of a process: see core/counters.cpp. */
typedef struct wan_counters {
    uint64_t served[WAN_COUNTED];
    uint64_t declined[WAN_COLLECTIVES];
    uint64_t left[WAN_COLLECTIVES];     /* to the module before us, in trials and after them */
    uint64_t blocking_ns[WAN_COUNTED];  /* in blocking calls served, from beginning to end */
    uint64_t wan_messages;      /* sent by this process to another site */
    uint64_t wan_bytes;
    uint64_t elapsed_ns;        /* sums over the calls served by a plan: from beginning to end, and as predicted */
    uint64_t predicted_ns;
    uint64_t trials;            /* calls that were trials, by us or by the module before us */
    uint64_t links_measured;    /* how often what is known of links came from a measurement on this communicator */
    uint64_t links_looked_at;
    uint64_t links_changed;
    uint64_t tree_calls;        /* served along adaptive trees */
    uint64_t tree_changes;      /* of parents, in adaptive trees */
    uint64_t tree_direct;       /* messages that fitted no tree */
    /* The glue's: calls handed to the module before, communicators. */
    uint64_t passed;
    uint64_t communicators;
    uint64_t refused[WAN_REASONS];
} wan_counters_t;

/* The core's part; what adaptive trees count is in it once they are left: wan_comm_count() has it at any time. */
const wan_counters_t *wan_comm_counters(const wan_comm_t *comm);
/* Adds all of them, as they are now, to *sum.  Any thread. */
void wan_comm_count(const wan_comm_t *comm, wan_counters_t *sum);

/* What a tool is told of one of them: the sum of `members` numbers of wan_counters_t from `offset` on. */
typedef struct wan_counter {
    char name[48];              /* "served_bcast": Open MPI shows it as coll_wan_served_bcast */
    char help[192];             /* a sentence */
    size_t offset;              /* in wan_counters_t */
    size_t members;
    bool of_communicator;       /* of the one that a tool names; else of all of this process */
} wan_counter_t;

size_t wan_counter_count(void);
void wan_counter_get(size_t i, wan_counter_t *counter);
uint64_t wan_counter_value(const wan_counter_t *counter, const wan_counters_t *of);

/* Text for people; returns the length it wants, like snprintf. */
int wan_comm_describe(const wan_comm_t *comm, char *text, size_t size);         /* sites, links */
int wan_run_describe(const wan_run_t *run, char *text, size_t size);            /* the plan */

#ifdef __cplusplus
}
#endif
#endif
