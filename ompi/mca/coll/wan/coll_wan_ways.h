/*
 * The ways that messages of adaptive trees take, for coll_wan_trees.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COLL_WAN_WAYS_H
#define COLL_WAN_WAYS_H

#include "coll_wan.h"

BEGIN_C_DECLS

typedef struct wan_way wan_way_t;

/*
 * One over `comm`, whose processes the core knows by numbers from `first` on; for `of` alone, or, NULL, for all
 * communicators of this job.  By one thread at a time.  NULL: no memory.
 */
wan_way_t *mca_coll_wan_ways_open(wan_trees_t *trees, struct ompi_communicator_t *of, struct ompi_communicator_t *comm,
                                  int first);
/* That of `of`; of this job where it is NULL.  NULL: there is none. */
wan_way_t *mca_coll_wan_ways_find(const struct ompi_communicator_t *of);
/* By which the core knows a rank of it. */
int mca_coll_wan_ways_process(const wan_way_t *way, int rank);
/* wan_trees_send_t. */
void mca_coll_wan_ways_send(void *ctx, int process, const void *head, size_t head_size, const void *payload,
                            size_t payload_size, size_t counted);
/* Between these one thread steps.  False: another one does, or this one is sending. */
bool mca_coll_wan_ways_enter(void);
void mca_coll_wan_ways_leave(void);
/* Meanwhile: hands on what has come.  False: something was lost. */
bool mca_coll_wan_ways_step(unsigned *taken);
/* Whether everything that was sent has left, and ways that end are over. */
bool mca_coll_wan_ways_sent(void);
/* All processes of its communicator free that; waits until nothing is on its way, where it may. */
void mca_coll_wan_ways_end(wan_way_t *way);
/* Nothing is sent or received any more, on any. */
void mca_coll_wan_ways_close(void);

END_C_DECLS

#endif
