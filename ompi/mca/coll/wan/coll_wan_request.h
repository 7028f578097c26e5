/*
 * A request of a non-blocking or persistent call: what coll_wan_request.c, which runs it, and
 * coll_wan_line.c, where it waits for its turn, know of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COLL_WAN_REQUEST_H
#define COLL_WAN_REQUEST_H

#include "coll_wan.h"

BEGIN_C_DECLS

/* The base is what Open MPI's functions take all requests of collectives for. */
struct mca_coll_wan_request {
    ompi_coll_base_nbc_request_t base;
    wan_item_t item;
    mca_coll_wan_request_t *next;   /* in line */
    mca_coll_wan_module_t *module;
    wan_kept_args_t kept;
    unsigned number;                /* of the run: its tags; WAN_NUMBER_NONE: only keeps its place in line */
    mca_coll_wan_bound_t bound;
    mca_coll_wan_port_t port;
    wan_run_t *run;
    ompi_request_t *inner;          /* the saved module's form: of a call that turned out not to be ours, or a standing one */
    bool passed_on;                 /* inner is what is under way */
    bool standing;                  /* persistent, made while sites are discovered: has inner from the beginning */
    uint64_t starts;                /* of a standing one: ours beyond an agreed number */
    unsigned passes;
    unsigned epoch;                 /* the module's when it was made, 0 where Open MPI may have made it itself */
    bool settling;                  /* persistent, and in line for the answer whose it is; */
    bool wanted, orphan;            /* started, or freed, meanwhile; all three under the line's lock */
};

#define WAN_NUMBER_NONE (WAN_TAGS_NONBLOCKING + WAN_TAGS_PERSISTENT)
#define WAN_NUMBER_NEIGHBOR (WAN_NUMBER_NONE + 1)      /* and more: of the neighbourhood collectives' tags */

static inline bool mca_coll_wan_request_is_neighbor(const mca_coll_wan_request_t *request)
{
    return WAN_NUMBER_NEIGHBOR <= request->number;
}

/* ---- coll_wan_request.c ------------------------------------------------------- */

/* Starts it: what is not ours goes on inside it. */
void mca_coll_wan_request_go(mca_coll_wan_request_t *request);
/* A persistent one: whose it is.  OMPI_ code. */
int mca_coll_wan_request_decide(mca_coll_wan_request_t *request);
/* The last of a run: after this the request is its owner's. */
void mca_coll_wan_request_done(mca_coll_wan_request_t *request, int rc);
int mca_coll_wan_request_free(ompi_request_t **handle);

/* ---- coll_wan_line.c ---------------------------------------------------------- */

/* Whether a new call would overtake one that has not been started yet. */
bool mca_coll_wan_line_waits(mca_coll_wan_module_t *module);
void mca_coll_wan_line_push(mca_coll_wan_request_t *request);
/* A persistent one is started: it goes, or gets its place. */
void mca_coll_wan_line_start(mca_coll_wan_request_t *request);
/* Whether a start of it is the saved module's, whatever the answer is. */
bool mca_coll_wan_line_stays_saved(const mca_coll_wan_request_t *request);
/* It is to be freed.  True: when its turn has come, by the line. */
bool mca_coll_wan_line_orphan(mca_coll_wan_request_t *request);
/* Its tags are free, for who waits for them. */
void mca_coll_wan_line_done(mca_coll_wan_request_t *request);

END_C_DECLS

#endif
