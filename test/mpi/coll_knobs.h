/*
 * Knobs of coll/wan by communicator: values that the next communicators get, in the middle of a job.
 * Only for what wan_comm takes from them (core/comm.cpp); what a job takes once stays as it was given.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_COLL_KNOBS_H
#define WAN_TEST_COLL_KNOBS_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/** `name` without coll_wan_, `value` as in a parameter file.  0: set; where the plugin is not there, too. */
int coll_knob_set(const char *name, const char *value);
/** All as the job was given them. */
void coll_knobs_reset(void);
/** By which coll/wan names it with coll_wan_verbose. */
unsigned coll_number(MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
