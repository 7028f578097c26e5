/*
 * What the files of the glue share: the component, the module of one
 * communicator, the port of one run.  The glue moves MPI arguments to the core
 * and messages to the PML and decides nothing; what decides is behind
 * wan_core.h.
 *
 * To add a collective: one line in WAN_SLOTS, one entry function in
 * coll_wan_entry.c, one line in wan_collective_t.
 *
 * Where to read next: coll_wan_module.c (when do we serve a communicator),
 * coll_wan_entry.c (one call), coll_wan_port_pml.c (one message).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COLL_WAN_H
#define COLL_WAN_H

#include "coll_wan_compat.h"

#include "wan_core.h"

BEGIN_C_DECLS

/* The collectives we fill in: SLOT(name in Open MPI's tables, name in the core). */
#define WAN_SLOTS(SLOT)             \
    SLOT(bcast, WAN_BCAST)          \
    SLOT(allreduce, WAN_ALLREDUCE)

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

/* ---- what peers published: coll_wan_peers.c ------------------------------ */

bool mca_coll_wan_peers_open(void);     /* false: no memory */
void mca_coll_wan_peers_close(void);
int mca_coll_wan_peers_publish(void);   /* this process's card, from the component */
uint64_t mca_coll_wan_hash(const char *text);
/* What the cards of all ranks mean for a communicator; *reason has no owner. */
wan_stand_t mca_coll_wan_peers_decide(struct ompi_communicator_t *comm, const char **reason);
/* After ASK: fills peers[size of comm], whose texts live until close.  False: no memory. */
bool mca_coll_wan_peers_fill(struct ompi_communicator_t *comm, wan_peer_t *peers);

/* ---- module of one communicator ------------------------------------------ */

#define WAN_SAVED_SLOT(name, collective)              \
    mca_coll_base_module_##name##_fn_t coll_##name;   \
    mca_coll_base_module_t *coll_##name##_module;

#define WAN_PLANS_SAID 32

/* Tags of a communicator are for so many runs in turn; see tags_vote() in coll_wan_module.c. */
#define WAN_TAG_RUNS 1024

typedef enum wan_state {
    WAN_STATE_FIRST,        /* the first collective will ask all ranks */
    WAN_STATE_ASKING,       /* it is asking: calls made by that pass through */
    WAN_STATE_SERVING,
    WAN_STATE_OFF,          /* all ranks know: this communicator is not ours */
    WAN_STATE_BROKEN        /* this rank failed while others may serve: every call ends with that error */
} wan_state_t;

typedef struct mca_coll_wan_module {
    mca_coll_base_module_t super;
    opal_list_item_t item;          /* in the list of coll_wan_counters.c */
    struct ompi_communicator_t *comm;
    wan_comm_t *view;               /* NULL: vote no */
    wan_comm_t *serving;            /* == view while SERVING, else NULL: the one check of a call */
    wan_state_t state;
    int error;                      /* while BROKEN */
    unsigned long long passed;
    int tag;                        /* first of the tags that are ours, downwards; agreed */
    unsigned runs;                  /* that have taken tags: the same on all ranks */
    uint64_t plans_said[WAN_PLANS_SAID];    /* hashes of the plans already printed, in a ring */
    unsigned plans;
    struct {
        WAN_SLOTS(WAN_SAVED_SLOT)
    } saved;                        /* who would serve without us */
} mca_coll_wan_module_t;

OBJ_CLASS_DECLARATION(mca_coll_wan_module_t);

/* Agreement; call it before a blocking collective while state is FIRST. */
int mca_coll_wan_module_ask(mca_coll_wan_module_t *module);
/* The first tag of the next run: the same order of calls on all ranks. */
int mca_coll_wan_module_tag(mca_coll_wan_module_t *module);

/* ---- entries: coll_wan_entry.c -------------------------------------------- */

int mca_coll_wan_bcast(void *buffer, int count, struct ompi_datatype_t *datatype, int root,
                       struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_wan_allreduce(const void *in, void *out, int count, struct ompi_datatype_t *datatype,
                           struct ompi_op_t *op, struct ompi_communicator_t *comm,
                           mca_coll_base_module_t *module);

/* ---- one run over the PML: coll_wan_port_pml.c ----------------------------- */

struct wan_post;
struct wan_scratch;

typedef struct mca_coll_wan_port {
    struct ompi_communicator_t *comm;
    struct ompi_datatype_t *datatype;
    struct ompi_op_t *op;           /* NULL where there is none */
    int tag;                        /* of label 0; label k has tag - k */
    wan_run_t *run;
    struct wan_post *flying;        /* posted and not yet reaped; the owner's alone */
    struct wan_post *landed;        /* completed by some thread, to be reaped by the owner */
    struct wan_post *spare;
    struct wan_scratch *scratch;
    int error;                      /* first error code of Open MPI that a post returned */
} mca_coll_wan_port_t;

extern const wan_port_t mca_coll_wan_port_pml;

void mca_coll_wan_port_construct(mca_coll_wan_port_t *port, struct ompi_communicator_t *comm,
                                 struct ompi_datatype_t *datatype, struct ompi_op_t *op);
/* Label k of the run travels as tag - k. */
void mca_coll_wan_port_bind(mca_coll_wan_port_t *port, wan_run_t *run, int tag);
/* Frees the requests of posts that have completed; true when none is left. */
bool mca_coll_wan_port_reap(mca_coll_wan_port_t *port);
/* Where processes use threads, finds completions that called nobody back. */
void mca_coll_wan_port_sweep(mca_coll_wan_port_t *port);
/* After an error: cancels what can be cancelled and gives up the rest. */
void mca_coll_wan_port_cancel(mca_coll_wan_port_t *port);
void mca_coll_wan_port_destruct(mca_coll_wan_port_t *port);

/* ---- driving a run: coll_wan_request.c ------------------------------------- */

/* Runs to the end and releases it, whatever happens.  Returns an OMPI_ code. */
int mca_coll_wan_run_wait(wan_run_t *run, mca_coll_wan_port_t *port);
/* At coll_wan_verbose 3: one line for each plan that this communicator has not had before. */
void mca_coll_wan_run_say(mca_coll_wan_module_t *module, const wan_run_t *run);
/* The one place that maps codes of the core to Open MPI's. */
int mca_coll_wan_code(int code, const wan_run_t *run, const mca_coll_wan_port_t *port);

/* ---- counters: coll_wan_counters.c ----------------------------------------- */

void mca_coll_wan_counters_register(void);
void mca_coll_wan_counters_open(void);
void mca_coll_wan_counters_close(void);
void mca_coll_wan_counters_add(mca_coll_wan_module_t *module);
void mca_coll_wan_counters_remove(mca_coll_wan_module_t *module);   /* keeps its sums */

END_C_DECLS

#endif
