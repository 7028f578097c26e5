/*
 * What a run of the core needs from its begin to its end: the call that is bound
 * to it, the port that carries its messages, what moves it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COLL_WAN_RUN_H
#define COLL_WAN_RUN_H

#include "coll_wan_args.h"
#include "coll_wan_compat.h"

#include "wan_core.h"

BEGIN_C_DECLS

typedef struct mca_coll_wan_module mca_coll_wan_module_t;

/* What a call that the core declines gets, the same on all ranks: nothing was sent. */
#define WAN_NOT_OURS 1

/* ---- items that progress by themselves: coll_wan_progress.c --------------------- */

typedef enum wan_step {
    WAN_STEP_IDLE,
    WAN_STEP_WORKED,        /* what somebody waits for may have come: not the time to sleep */
    WAN_STEP_OVER           /* it is not to be called again, and may be gone */
} wan_step_t;

typedef struct wan_item {
    struct wan_item *next;
    wan_step_t (*step)(struct wan_item *item);
    bool call;              /* of the program's: where that calls rarely, its steps follow each other */
    bool prompt;            /* takes times: after a pause of the program's, what has come is read before its step */
} wan_item_t;

void mca_coll_wan_progress_add(wan_item_t *item);
/* Whether this thread is stepping one. */
bool mca_coll_wan_progress_inside(void);
/* In a step: since when that has been done just before it; 0: it has not. */
int64_t mca_coll_wan_progress_read(void);
void mca_coll_wan_progress_close(void);

/* ---- a call: coll_wan_call.c ------------------------------------------------ */

/* One buffer of the caller in blocks, and what the core is told of it, in bytes. */
typedef struct wan_side {
    char *user;
    int blocks;
    int count;
    const int *counts, *displs;
    const MPI_Aint *offsets;        /* in place of displs, in bytes */
    struct ompi_datatype_t *type;
    struct ompi_datatype_t *const *types;
    const wan_edges_t *edges;       /* NULL, or along which blocks go: others are nobody's */
    int only;               /* block to be packed, -1: all */
    char *base;             /* of what the core sees */
    size_t each, total;
    size_t *bytes;          /* of each block; NULL: `each` */
    ptrdiff_t *at;          /* where each begins; NULL: one after the other */
    char *packed;           /* NULL: the core works in the caller's memory */
} wan_side_t;

typedef struct mca_coll_wan_bound {
    wan_call_t call;
    struct ompi_datatype_t *datatype;   /* of the elements that the core counts */
    struct ompi_op_t *op;
    bool nothing;           /* no bytes on any rank: done without a run */
    bool unpack;            /* recv, if packed */
    wan_side_t send, recv;
    void *temporary;
    size_t *counts;
    char token[1];          /* a barrier's buffer */
} mca_coll_wan_bound_t;

/* Which of the core's a blocking collective is. */
wan_collective_t mca_coll_wan_core_of(wan_mpi_t what);
/* Of a block, or of all where there are none; 0 where ranks need not all give the same. */
size_t mca_coll_wan_common_bytes(const wan_args_t *args);
/* Describes a call and packs what must be packed; OMPI_ code, nothing is held on error. */
int mca_coll_wan_bind(mca_coll_wan_bound_t *bound, const wan_args_t *args,
                      mca_coll_wan_module_t *module);
/* After the run: to where the caller wants it. */
int mca_coll_wan_bound_finish(mca_coll_wan_bound_t *bound);
void mca_coll_wan_bound_release(mca_coll_wan_bound_t *bound);

/* What was bound is still read or written by somebody: its memory is leaked. */
void mca_coll_wan_bound_abandon(mca_coll_wan_bound_t *bound);

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
/* After an error: cancels what can be cancelled and gives up the rest; whether there was a rest. */
bool mca_coll_wan_port_cancel(mca_coll_wan_port_t *port);
void mca_coll_wan_port_destruct(mca_coll_wan_port_t *port);

/* ---- runs: coll_wan_run.c --------------------------------------------------------- */

/* Idle passes between looks for lost callbacks: rare, and a look costs all that is flying. */
#define WAN_SWEEP_PASSES 1024

/* A run of a call, with its port, from `tag` on downwards; OMPI_ code or WAN_NOT_OURS, nothing is held then. */
int mca_coll_wan_run_open(mca_coll_wan_module_t *module, const mca_coll_wan_bound_t *bound,
                          int tag, mca_coll_wan_port_t *port, wan_run_t **run);
/*
 * Releases a run that ended with `code`; its port may still be reaped.  bound: what it works on,
 * NULL where that is not the caller's.  Returns an OMPI_ code.
 */
int mca_coll_wan_run_close(wan_run_t *run, mca_coll_wan_port_t *port, mca_coll_wan_bound_t *bound,
                           int code);
/* Runs to the end and releases it, whatever happens.  Returns an OMPI_ code. */
int mca_coll_wan_run_wait(wan_run_t *run, mca_coll_wan_port_t *port, mca_coll_wan_bound_t *bound);
/* Ours, in a blocking call while SERVING: combines values[count] over all ranks; in no counter.  OMPI_ code or WAN_NOT_OURS. */
int mca_coll_wan_run_combine(mca_coll_wan_module_t *module, int64_t *values, int count, ompi_op_t *op);
/* The same for any collective with that root, in which all ranks may give the same values. */
int mca_coll_wan_run_internal(mca_coll_wan_module_t *module, wan_collective_t collective, int root,
                              int64_t *values, int count, ompi_op_t *op);
/*
 * The same Allreduce, beside the next blocking call, which moves it: begin, make the call, end, which waits for the rest.
 * The values are the caller's until then.  begin: as above, nothing is under way unless OMPI_SUCCESS.
 */
typedef struct mca_coll_wan_beside {
    wan_item_t item;
    bool left;              /* progress moves it; atomic */
    unsigned passes;        /* idle ones, of that */
    mca_coll_wan_bound_t bound;
    mca_coll_wan_port_t port;
    wan_run_t *run;         /* NULL: nothing is under way */
    bool ended;
    int code;               /* of the core, the last */
} mca_coll_wan_beside_t;
/* Whether links are to be measured: what ranks ask each other beside a blocking call. */
typedef struct mca_coll_wan_question {
    mca_coll_wan_beside_t beside;
    int64_t votes[WAN_CHECK_VOTES];
} mca_coll_wan_question_t;
int mca_coll_wan_beside_begin(mca_coll_wan_module_t *module, mca_coll_wan_beside_t *beside, int64_t *values, int count,
                              ompi_op_t *op);
/* From now on progress moves it, beside a call of the saved module. */
void mca_coll_wan_beside_leave(mca_coll_wan_beside_t *beside);
int mca_coll_wan_beside_end(mca_coll_wan_beside_t *beside);
/* At coll_wan_verbose 3: one line for each plan that this communicator has not had before. */
void mca_coll_wan_run_say(mca_coll_wan_module_t *module, const wan_run_t *run);
/* The one place that maps codes of the core to Open MPI's. */
int mca_coll_wan_code(int code, const wan_run_t *run, const mca_coll_wan_port_t *port);

END_C_DECLS

#endif
