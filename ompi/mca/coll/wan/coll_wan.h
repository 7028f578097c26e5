/*
 * What the files of the glue share: the component, the module of one
 * communicator, the port of one run.  The glue moves MPI arguments to the core
 * and messages to the PML and decides nothing; what decides is behind
 * wan_core.h.
 *
 * To add a collective: coll_wan_args.h, its case in coll_wan_call.c, one line in
 * wan_collective_t.
 *
 * Where to read next: coll_wan_module.c (when do we serve a communicator),
 * coll_wan_entry.c (one call), coll_wan_run.c, coll_wan_request.c and coll_wan_line.c (its forms),
 * coll_wan_port_pml.c (one message).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COLL_WAN_H
#define COLL_WAN_H

#include "coll_wan_run.h"

#include <pthread.h>

BEGIN_C_DECLS

/* ---- component ---------------------------------------------------------- */

typedef struct mca_coll_wan_component {
    wan_coll_base_component_t super;
    wan_params_t variables;     /* storage of the MCA variables: Open MPI's, strings may be NULL */
    wan_params_t params;        /* what the core gets: taken when the component is opened */
    char site[WAN_SITE_MAX];    /* of this process */
    uint64_t node;              /* of this process: hash of the host's name */
    uint64_t domain;            /* of this process: package and NUMA node */
    bool active;                /* published: modules may be made */
} mca_coll_wan_component_t;

/* Exported: Open MPI looks it up by name. */
OMPI_DECLSPEC extern mca_coll_wan_component_t mca_coll_wan_component;

mca_coll_base_module_t *mca_coll_wan_comm_query(struct ompi_communicator_t *comm, int *priority);

/* One line at coll_wan_verbose >= level. */
#define WAN_VERBOSE(level, ...)                                   \
    do {                                                          \
        if (mca_coll_wan_component.params.verbose >= (level)) {   \
            opal_output(0, "coll/wan: " __VA_ARGS__);             \
        }                                                         \
    } while (0)

/* ---- messages for users: coll_wan_message.c ------------------------------ */

/* topic: a section of help-mpi-coll-wan.txt whose text takes where, what, remedy. */
void mca_coll_wan_message_show(const char *topic, const wan_message_t *message);

/*
 * "communicator 3 of 16 ranks (the first is rank 8 of the job)": several that have no rank in common may have one number.
 * Returns text.
 */
#define WAN_COMMUNICATOR_MAX 96
const char *mca_coll_wan_message_communicator(struct ompi_communicator_t *comm, char text[WAN_COMMUNICATOR_MAX]);

/* ---- what this process's machine is like: coll_wan_machine.c ------------- */

void mca_coll_wan_machine_tell(wan_comm_t *comm);

/* ---- what peers published: coll_wan_peers.c ------------------------------ */

bool mca_coll_wan_peers_open(void);     /* false: no memory */
void mca_coll_wan_peers_close(void);
int mca_coll_wan_peers_publish(void);   /* this process's card, from the component */
uint64_t mca_coll_wan_hash(const char *text);
/* What the cards of all ranks mean for a communicator; discovered: with the sites found for those without a name. */
wan_stand_t mca_coll_wan_peers_decide(struct ompi_communicator_t *comm, bool discovered,
                                      wan_refusal_t *refusal);
/*
 * After ASK or WATCH: fills peers[size of comm], whose texts live until close; sites without a name
 * are "" until they are discovered.  False: no memory.
 */
bool mca_coll_wan_peers_fill(struct ompi_communicator_t *comm, wan_peer_t *peers);
/* Whether this rank is the first of those whose cards it can read, and among the first five: it speaks for all. */
bool mca_coll_wan_peers_first(struct ompi_communicator_t *comm);

/* ---- messages of state machines: coll_wan_mail.c ---------------------------- */

typedef struct wan_mail {
    struct ompi_communicator_t *comm;
    int tag;
    size_t most;                    /* bytes of a message */
    struct wan_letter *letters;     /* sent, not yet gone; atomic */
    struct wan_letter *held;        /* to be sent when there is room; atomic */
    struct wan_letter *line;        /* the same, in order, of who reaps */
    struct wan_mail_here *here;     /* letters to each rank, if it is on this host */
    uint32_t most_here;             /* under way to one of them */
    uint32_t walk;                  /* along the line */
    int again;                      /* there is room, though nothing has gone; atomic */
    ompi_request_t *receive;
    char *incoming[2];
    int turn;
    int lost;                       /* something could not be sent; atomic */
    void (*arrived)(void *ctx, int rank, size_t counted);   /* a letter that was sent with a number */
    void *ctx;
} wan_mail_t;

/* Open MPI's own collectives on MPI_COMM_WORLD count from the other end, or from half of it. */
static inline int mca_coll_wan_mail_tag_discover(void)
{
    return 2 - mca_pml.pml_max_tag;
}
static inline int mca_coll_wan_mail_tag_trees(void)
{
    return mca_coll_wan_compat_lasting_tag(3 - mca_pml.pml_max_tag);
}

bool mca_coll_wan_mail_open(wan_mail_t *mail, struct ompi_communicator_t *comm, int tag, size_t most);
/* Copies both parts; any thread.  counted > 0: when it was received, `arrived` is called with it. */
void mca_coll_wan_mail_send(wan_mail_t *mail, int rank, const void *head, size_t head_size, const void *rest,
                            size_t rest_size, size_t counted);
/* These two by one thread at a time.  True: nothing is on its way out. */
bool mca_coll_wan_mail_reap(wan_mail_t *mail);
/* Hands over what has come, and counts it; stops at a code other than WAN_OK, and returns it. */
int mca_coll_wan_mail_take(wan_mail_t *mail, int (*take)(void *ctx, int rank, const void *bytes, size_t size), void *ctx,
                           unsigned *taken);
/* Whether nothing is on its way out; by who reaps. */
bool mca_coll_wan_mail_sent(const wan_mail_t *mail);
/* Receives nothing more. */
void mca_coll_wan_mail_stop(wan_mail_t *mail);
void mca_coll_wan_mail_close(wan_mail_t *mail);
/* In its place, once it was stopped and nothing is on its way in or out. */
void mca_coll_wan_mail_release(wan_mail_t *mail);

/* ---- sites by measuring: coll_wan_discover.c ------------------------------- */

/* Begins, if this is MPI_COMM_WORLD: the rest is done by progress. */
void mca_coll_wan_discover_begin(struct ompi_communicator_t *comm);
/* MPI_Finalize begins: nothing is sent any more, and what was has left. */
void mca_coll_wan_discover_finalize(void);
/* The communicator goes. */
void mca_coll_wan_discover_end(struct ompi_communicator_t *comm);
void mca_coll_wan_discover_close(void);
/* 1: this process knows the sites of its job, others may not; 0: not yet; -1: it never will. */
int mca_coll_wan_discover_known(void);
/* Of a process, "" if it is not known. */
const char *mca_coll_wan_discover_site(opal_process_name_t name);

/* ---- module of one communicator ------------------------------------------ */

#define WAN_SAVED_SLOT(name)                                                    \
    __typeof__(((mca_coll_base_comm_coll_t *) NULL)->coll_##name) coll_##name;  \
    mca_coll_base_module_t *coll_##name##_module;
#define WAN_SAVED(name, core) WAN_SAVED_SLOT(name) WAN_SAVED_SLOT(i##name) WAN_SAVED_SLOT(name##_init)

#define WAN_PLANS_SAID 32

/*
 * Tags of a communicator, agreed on once: so many runs at a time have WAN_LABELS each.  Blocking
 * runs and non-blocking ones count apart, since Open MPI itself starts non-blocking ones from its
 * progress (MPI_Comm_idup), in no order that ranks share with their blocking calls.
 */
#define WAN_TAGS_BLOCKING 64
#define WAN_TAGS_NONBLOCKING 4096
#define WAN_TAGS_PERSISTENT 1024    /* requests made in the life of a communicator */

typedef enum wan_state {
    WAN_STATE_WATCHING,     /* sites are being discovered: not ours so far */
    WAN_STATE_FIRST,        /* the first collective will ask all ranks */
    WAN_STATE_ASKING,       /* the answer is on its way: non-blocking calls wait for it in line */
    WAN_STATE_SERVING,
    WAN_STATE_OFF,          /* all ranks know: this communicator is not ours */
    WAN_STATE_BROKEN        /* this rank failed while others may serve: every call ends with that error */
} wan_state_t;

/* The core's, and five of the module: tags, whether ranks wait, a number for its trees, starts of persistent requests. */
#define WAN_MODULE_VOTES (WAN_VOTES + 5)

/* The topology of a communicator, as this rank sees it, and what its collectives need: coll_wan_neighbors.c. */
typedef struct wan_neighbors {
    int tag;                /* first of WAN_TAGS_NEIGHBOR, downwards */
    unsigned inits;         /* persistent requests made */
    int outs, ins;          /* blocks of what is sent and received, those for nobody included */
    wan_edges_t to, from;
    const int *first_block; /* in place of to.blocks, where all get the same */
    int *memory;            /* of all of these; NULL: not yet looked at */
} wan_neighbors_t;

/*
 * Of neighbourhood collectives: all blocking ones have one tag, all non-blocking ones another, since messages of a pair
 * stay in order and empty ones are none; persistent requests have one each.
 */
#define WAN_TAGS_NEIGHBOR (2 + WAN_TAGS_PERSISTENT)

typedef struct mca_coll_wan_request mca_coll_wan_request_t;

struct mca_coll_wan_module {
    mca_coll_base_module_t super;
    opal_list_item_t item;          /* in the list of coll_wan_counters.c */
    struct ompi_communicator_t *comm;
    wan_comm_t *view;               /* NULL: vote no; atomic while WATCHING */
    wan_comm_t *serving;            /* == view while SERVING, else NULL: the one check of a call */
    wan_state_t state;              /* atomic */
    int error;                      /* while BROKEN */
    unsigned long long passed;
    int tag;                        /* first of the tags that are ours, downwards; agreed */
    unsigned blocking, nonblocking, persistent;     /* runs that have taken tags: the same on all ranks */
    uint64_t slots[WAN_TAGS_NONBLOCKING / 64];      /* tags of non-blocking runs under way */
    mca_coll_wan_request_t *first, *last;           /* in line: for the answer, or for tags */
    bool moving;                    /* a thread starts what stands in line; like it, under the line's lock */
    bool watched;                   /* was WATCHING: what Open MPI may call itself at any time stays with the saved module */
    uint64_t starts, saved_starts;  /* of a persistent request made while WATCHING: most on this rank; up to which they stay
                                       with the saved module: until that is agreed on under the line's lock */
    unsigned calls, look;           /* while WATCHING: blocking calls so far, and at which one ranks ask each other */
    bool early;                     /* something of the links is assumed, until a blocking call measures it */
    bool changed;                   /* ranks find that links have changed: the next blocking call looks at them */
    unsigned epoch;                 /* how often links have been measured since it serves: for calls and handles made after
                                       that; atomic */
    struct {
        int flags;                  /* WAN_TRIAL_: of the blocking call under way; 0: it is none */
        int nested;                 /* calls in it that the saved module makes */
        int64_t began_ns, late_ns;
        bool jumped;                /* by the common clock, which did not agree with the others: word of it comes before the next one */
        mca_coll_wan_question_t question;           /* beside one that is left by choice */
    } trial;
    struct {
        wan_item_t item;
        ompi_request_t *exchange;   /* of the votes */
        int64_t votes[WAN_MODULE_VOTES];
        int64_t number;             /* for trees, asked for */
        bool copying;               /* all calls pass through: Open MPI's own, by any thread that makes progress */
        bool inside;                /* what the saved module calls in there passes through: */
        pthread_t thread;           /* of who is inside */
    } asking;
    struct {
        wan_item_t item;            /* moves the line */
        bool set;                   /* under the line's lock */
    } later;
    wan_neighbors_t neighbors;
    uint64_t plans_said[WAN_PLANS_SAID];    /* hashes of the plans already printed, in a ring */
    unsigned plans;
    struct {
        WAN_EACH(WAN_SAVED)
    } saved;                        /* who would serve without us; NULL where nobody does */
};

OBJ_CLASS_DECLARATION(mca_coll_wan_module_t);

/* Who reads a state sees what was written before it was set. */
static inline wan_state_t mca_coll_wan_module_state(const mca_coll_wan_module_t *module)
{
    return __atomic_load_n(&module->state, __ATOMIC_ACQUIRE);
}

static inline void mca_coll_wan_module_become(mca_coll_wan_module_t *module, wan_state_t state)
{
    __atomic_store_n(&module->state, state, __ATOMIC_RELEASE);
}

/* True where the saved function is to be called instead. */
bool mca_coll_wan_module_passes(mca_coll_wan_module_t *module);
/* Combines values[count] over all ranks in a blocking call, by the saved module. */
int mca_coll_wan_module_exchange(mca_coll_wan_module_t *module, int64_t *values, int count, ompi_op_t *op);
/* From now on every call on this rank ends with `error`. */
void mca_coll_wan_module_break(mca_coll_wan_module_t *module, int error);
/* In a blocking call while ASKING: a communicator of the same processes, without its attributes. */
int mca_coll_wan_module_copy(mca_coll_wan_module_t *module, struct ompi_communicator_t **copy);
/* Called by the saved module, while it serves us. */
bool mca_coll_wan_module_inside(const mca_coll_wan_module_t *module);
/*
 * Before a blocking collective while the state is FIRST or ASKING: asks, or waits for the answer.
 * Then the state is SERVING or OFF.
 */
int mca_coll_wan_module_ask(mca_coll_wan_module_t *module);
/* Before a non-blocking one while the state is FIRST: asks; the answer comes by progress. */
int mca_coll_wan_module_ask_begin(mca_coll_wan_module_t *module);
/*
 * Before a blocking collective while the state is WATCHING, which it may end: with FIRST or OFF, on
 * all ranks at the same call.
 */
int mca_coll_wan_module_watch(mca_coll_wan_module_t *module);
/* The one who may ask: true once, and the state is ASKING. */
bool mca_coll_wan_line_claim(mca_coll_wan_module_t *module);
/* The first tag of a run: the same order of calls on all ranks. */
int mca_coll_wan_module_tag(const mca_coll_wan_module_t *module, unsigned run);

/* ---- its topology: coll_wan_neighbors.c ------------------------------------ */

/* While the communicator is being made. */
void mca_coll_wan_neighbors_open(mca_coll_wan_module_t *module, struct ompi_communicator_t *comm);
void mca_coll_wan_neighbors_close(mca_coll_wan_module_t *module);
/* Whether its neighbourhood collectives are ours, now: the same for a call on all its ranks that come. */
bool mca_coll_wan_neighbors_ours(const mca_coll_wan_module_t *module);
/* Reads the topology, once.  OMPI_ code. */
int mca_coll_wan_neighbors_take(mca_coll_wan_module_t *module);

/* ---- its links: coll_wan_links.c ------------------------------------------ */

/*
 * Combines values[count] over all ranks, in a blocking call: by us where we serve already, since the saved module's tags
 * are in the order of its own calls, and by that one where we cannot.
 */
int mca_coll_wan_combine(mca_coll_wan_module_t *module, int64_t *values, int count, ompi_op_t *op);
/* Measures what the core wants measured.  *anew, which may be NULL: whether links were learned, not only looked at. */
int mca_coll_wan_links_measure(mca_coll_wan_module_t *module, bool *anew);
/*
 * Before a blocking collective while SERVING: measures links while `changed`, or `early` and it is time.  OMPI_ code; the state is
 * BROKEN on error.
 */
int mca_coll_wan_links_refresh(mca_coll_wan_module_t *module);
/*
 * A few times while links are assumed, whatever becomes of the call: whether it is time by now.  Begins *question in any case.
 * OMPI_ code; on error the state is BROKEN, and nothing is under way.
 */
int mca_coll_wan_links_defer(mca_coll_wan_module_t *module, const wan_args_t *args, mca_coll_wan_question_t *question);
/*
 * Then, where nothing is asked, whether they have changed: now and then, beside a blocking call that is ours and no trial, the same on all ranks: there it costs least, and others tell
 * nothing of links.  OMPI_ code; on error the state is BROKEN, and nothing is under way.
 */
int mca_coll_wan_links_ask(mca_coll_wan_module_t *module, wan_collective_t collective, mca_coll_wan_question_t *question);
/* Likewise beside a call that the saved module serves by choice; begins *question in any case. */
int mca_coll_wan_links_ask_left(mca_coll_wan_module_t *module, wan_collective_t collective, mca_coll_wan_question_t *question);
/*
 * After that call: whether the next blocking call is to look at links.  Returns call_rc, or what
 * failed here; the state is BROKEN then.
 */
int mca_coll_wan_links_answer(mca_coll_wan_module_t *module, mca_coll_wan_question_t *question, int call_rc);
/* Tells who wants to know: sites and links. */
void mca_coll_wan_links_say(const mca_coll_wan_module_t *module);

/* ---- choice by trial: coll_wan_tune.c ------------------------------------------ */

/* The call that was begun last is timed from here on, if it is a trial or left by choice; before what is timed, what ranks ask each other is answered. */
int mca_coll_wan_trial_begin(mca_coll_wan_module_t *module, wan_collective_t collective, mca_coll_wan_question_t *question);
/* It ended with rc.  Returns that, or what failed since. */
int mca_coll_wan_trial_end(mca_coll_wan_module_t *module, int rc);
/* After any blocking call. */
static inline int mca_coll_wan_tried(mca_coll_wan_module_t *module, int rc)
{
    return 0 == module->trial.flags ? rc : mca_coll_wan_trial_end(module, rc);
}
/* With coll_wan_tune_file or coll_wan_links_file: keeps what was learned on MPI_COMM_WORLD. */
void mca_coll_wan_trials_keep(const mca_coll_wan_module_t *module);
/* At coll_wan_explain 1: how calls were served, and what was tried. */
void mca_coll_wan_trials_say(const mca_coll_wan_module_t *module);

/* ---- adaptive trees: coll_wan_trees.c, coll_wan_ways.c ------------------------ */

/* This communicator gets a module: is it the one that messages go over? */
void mca_coll_wan_trees_world(struct ompi_communicator_t *comm);
/* A number for a communicator: the highest of all its ranks' is the one.  It is settled. */
int64_t mca_coll_wan_trees_number(const mca_coll_wan_module_t *module);
/* What came of the number asked for; agreed: INT64_MAX, none.  If it is used, it is in use. */
void mca_coll_wan_trees_settle(int64_t asked, int64_t agreed);
/* All ranks have agreed, on this number among other things; waits: all of them, in a blocking call. */
int mca_coll_wan_trees_use(mca_coll_wan_module_t *module, int64_t number, bool waits);
/* Whether this thread is sending for trees, with their lock: nothing that wants that may be begun. */
bool mca_coll_wan_trees_sending(void);
/* MPI_Finalize begins: when what this process has sent has left it, it only answers who may wait for it. */
void mca_coll_wan_trees_finalize(void);
/* Gives back a reference in a call that waits for no other process: if it was the last one, progress ends its way, later. */
void mca_coll_wan_trees_release(struct ompi_communicator_t *comm);
/* The communicator goes. */
void mca_coll_wan_trees_end(struct ompi_communicator_t *comm);
void mca_coll_wan_trees_close(void);

/* ---- arguments that outlive the call: coll_wan_keep.c ------------------------- */

typedef struct wan_kept_args {
    wan_args_t args;
    void *arrays;
} wan_kept_args_t;

/* Copies arrays and holds datatypes and operator; OMPI_ code, nothing is held on error. */
int mca_coll_wan_args_keep(wan_kept_args_t *kept, const wan_args_t *args,
                           struct ompi_communicator_t *comm);
void mca_coll_wan_args_drop(wan_kept_args_t *kept, struct ompi_communicator_t *comm);

/* ---- entries: coll_wan_entry.c -------------------------------------------- */

#define WAN_DECLARE(name, core)                                                             \
    int mca_coll_wan_##name(WAN_PARAMS_##name struct ompi_communicator_t *comm,             \
                            mca_coll_base_module_t *base);                                  \
    int mca_coll_wan_i##name(WAN_PARAMS_##name struct ompi_communicator_t *comm,            \
                             ompi_request_t **request, mca_coll_base_module_t *base);       \
    int mca_coll_wan_##name##_init(WAN_PARAMS_##name struct ompi_communicator_t *comm,      \
                                   struct ompi_info_t *info, ompi_request_t **request,      \
                                   mca_coll_base_module_t *base);
WAN_EACH(WAN_DECLARE)
#undef WAN_DECLARE

/* The saved module's form of a call that was put off; 0 for both forms where it has none. */
int mca_coll_wan_saved_start(mca_coll_wan_module_t *module, const wan_args_t *args,
                             bool persistent, ompi_request_t **request);

/* ---- a call that is ours: coll_wan_run.c, coll_wan_request.c, coll_wan_line.c --- */

/* The three forms of a call on a communicator that is served, or might be; an OMPI_ code or WAN_NOT_OURS. */
int mca_coll_wan_call(mca_coll_wan_module_t *module, const wan_args_t *args);
int mca_coll_wan_icall(mca_coll_wan_module_t *module, const wan_args_t *args, bool persistent,
                       ompi_request_t **request);
/* Starts what waits in line, if it may. */
void mca_coll_wan_line_move(mca_coll_wan_module_t *module);

/* ---- counters: coll_wan_counters.c ----------------------------------------- */

void mca_coll_wan_counters_register(void);
void mca_coll_wan_counters_open(void);
void mca_coll_wan_counters_close(void);
void mca_coll_wan_counters_add(mca_coll_wan_module_t *module);
void mca_coll_wan_counters_remove(mca_coll_wan_module_t *module);   /* keeps its sums */
/* Modules of communicators that are there; f adds and removes none. */
void mca_coll_wan_counters_each(void (*f)(const mca_coll_wan_module_t *module));
/* A communicator is served (WAN_REASON_NONE) or is not ours. */
void mca_coll_wan_counters_communicator(wan_reason_t reason);

/* ---- MPI_Finalize: coll_wan_finalize.c ----------------------------------------- */

/* For so long what is on its way is waited for there: others may compute, or not receive any more. */
#define WAN_LEAVES_WITHIN_NS INT64_C(2000000000)
/* MPI_COMM_SELF among those that Open MPI asks about. */
void mca_coll_wan_finalize_query(struct ompi_communicator_t *comm);

/* ---- report: coll_wan_report.c; nothing, where this process writes none --------- */

/* Before anything else happens that could be told. */
void mca_coll_wan_report_open(void);
/* Writes it. */
void mca_coll_wan_report_close(void);
/* MPI_Finalize begins. */
void mca_coll_wan_report_finalizes(void);
void mca_coll_wan_report_event(const char *what, const char *text);
/* This communicator is served, is not and why, goes. */
void mca_coll_wan_report_serves(const mca_coll_wan_module_t *module);
void mca_coll_wan_report_refused(struct ompi_communicator_t *comm, const wan_refusal_t *why);
void mca_coll_wan_report_ends(const mca_coll_wan_module_t *module);

END_C_DECLS

#endif
