/*
 * The C boundary of the report of a job (core/report/), beside wan_core.h: a
 * process that is to write one opens it before anything else, tells it what
 * happens, and asks for its text when all is over.  Without one nothing of this
 * is called, and calls cost nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_REPORT_H
#define WAN_REPORT_H

#include "wan_core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wan_report wan_report_t;

typedef struct wan_report_process {
    int rank;                   /* in its job */
    int spawned;                /* the how-manieth job that the first one, or a spawned one, spawned; 0: the first one */
    const char *host;           /* "" where not known */
    int64_t began_s;            /* of the calendar: time() */
    /* NULL or "": not known. */
    const char *job;            /* the runtime's name of it, the same for all its ranks */
    const char *batch;          /* the batch system's: "Slurm 4711" */
    const char *command;        /* program and arguments, as long as they fit */
} wan_report_process_t;

/*
 * Which job of one mpirun this is, see above, from its name: "prterun-host-17@2" is the first that was spawned.
 * 0 where the name does not say.
 */
int wan_report_spawned(const char *job);
/*
 * The name of the file that process `rank` writes, from coll_wan_report: of a spawned job run-spawned1.json beside
 * run.json.  WAN_OK; WAN_DECLINED: this process writes none; WAN_ERR_INPUT, with *message, on rank 0: no report
 * can have such a name.
 */
int wan_report_file(const char *parameter, int rank, int spawned, char *file, size_t size, wan_message_t *message);

int wan_report_open(const wan_report_process_t *process, const wan_params_t *params, int64_t (*now_ns)(void *ctx),
                    wan_report_t **report);
/* Something happened, now.  what: a word for programs. */
void wan_report_event(wan_report_t *report, const char *what, const char *text);
/* A communicator is not served, and why. */
void wan_report_refused(wan_report_t *report, uint32_t communicator, int ranks, wan_reason_t reason, const char *why);
/* A communicator is served from now on; it ends when it is closed. */
int wan_report_serves(wan_report_t *report, wan_comm_t *comm, uint32_t communicator);
/*
 * Before one is closed that is served, or is not; comm: NULL where there is no view of it.  name: of the program's
 * giving, ""; passed: calls that were handed to the module before.
 */
void wan_report_ends(wan_report_t *report, wan_comm_t *comm, const char *name, uint64_t passed);
/* The program calls nothing any more: communicators that end from now on may take longer. */
void wan_report_finalizes(wan_report_t *report);
/* Once, when all is over.  ranks: of the job, 0 where not known.  Both are the report's, until it is closed. */
int wan_report_text(wan_report_t *report, int ranks, const char **json, char **summary);
void wan_report_close(wan_report_t *report);

#ifdef __cplusplus
}
#endif
#endif
