/*
 * The report of a job (coll_wan_report): which process writes one, where, and
 * what of Open MPI's it tells.  What is in it is the core's matter (wan_report.h).
 *
 * Rank 0 alone knows of all that it takes part in; nobody communicates for a
 * report.  It is written when the component is closed, late in MPI_Finalize, or
 * before all else there where the component will not be closed, since the program
 * has MPI_T open.  A job that is aborted leaves none.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    wan_report_t *book;         /* NULL: this process writes none */
    char file[PATH_MAX];        /* absolute: programs change their directory */
    int ranks;                  /* of the job, once a communicator has told; 0 before */
} report;

static void refuse(const wan_message_t *message)
{
    mca_coll_wan_message_show("bad-parameter", message);
}

/* What stands there is an earlier report, or a part of one, or nothing. */
static bool is_ours(void)
{
    static const char mark[] = "\"report of coll/wan\"";
    char begins[256];
    FILE *file = fopen(report.file, "r");
    const size_t length = NULL == file ? 0 : fread(begins, 1, sizeof(begins) - 1, file);

    if (NULL != file) {
        fclose(file);
    }
    begins[length] = '\0';
    return 0 == length || NULL != strstr(begins, mark);
}

/* Whether the file can be written is found out now: not after hours. */
static bool file_fits(wan_message_t *message)
{
    struct stat there;
    char directory[PATH_MAX];
    char *slash;

    snprintf(directory, sizeof(directory), "%s", report.file);
    slash = strrchr(directory, '/');
    slash[slash == directory ? 1 : 0] = '\0';
    snprintf(message->where, sizeof(message->where), "coll_wan_report");
    if (0 == access(directory, W_OK | X_OK) && (0 == access(report.file, W_OK) || ENOENT == errno)) {
        if (0 != stat(report.file, &there) || (S_ISREG(there.st_mode) && is_ours())) {
            return true;
        }
        snprintf(message->what, sizeof(message->what), "'%.400s' is there, and is no report of coll/wan", report.file);
        snprintf(message->remedy, sizeof(message->remedy), "name another file, or remove that one: nothing is written into it");
        return false;
    }
    snprintf(message->what, sizeof(message->what), "'%.400s' cannot be written: %s", report.file, strerror(errno));
    snprintf(message->remedy, sizeof(message->remedy),
             "name a file in a directory that exists on the host of rank %d, and that you may write to",
             (int) OPAL_PROC_MY_NAME.vpid);
    return false;
}

static int file_find(int spawned, wan_message_t *message)
{
    char name[PATH_MAX], here[PATH_MAX];
    const int code = wan_report_file(mca_coll_wan_component.params.report, (int) OPAL_PROC_MY_NAME.vpid, spawned, name,
                                     sizeof(name), message);

    if (WAN_OK != code) {
        return code;
    }
    if ('/' == name[0] || NULL == getcwd(here, sizeof(here))) {
        here[0] = '\0';
    }
    if (snprintf(report.file, sizeof(report.file), "%s%s%s", here, '\0' == here[0] ? "" : "/", name)
        >= (int) sizeof(report.file) - 16) {
        snprintf(message->where, sizeof(message->where), "coll_wan_report");
        snprintf(message->what, sizeof(message->what), "the path is too long");
        snprintf(message->remedy, sizeof(message->remedy), "give the report a shorter name");
        return WAN_ERR_INPUT;
    }
    return file_fits(message) ? WAN_OK : WAN_ERR_INPUT;
}

/* Program and arguments, blanks between them; where that is not known, nothing. */
static void command_find(char *text, size_t size)
{
    FILE *file = fopen("/proc/self/cmdline", "r");
    const size_t length = NULL == file ? 0 : fread(text, 1, size - 1, file);

    if (NULL != file) {
        fclose(file);
    }
    for (size_t i = 0; i + 1 < length; ++i) {
        if ('\0' == text[i]) {
            text[i] = ' ';
        }
    }
    text[length] = '\0';
}

/* The job of the batch system, by what that leaves in the environment. */
static void batch_find(char *text, size_t size)
{
    static const struct {
        const char *variable, *system;
    } known[] = { { "SLURM_JOB_ID", "Slurm" }, { "PBS_JOBID", "PBS" }, { "LSB_JOBID", "LSF" }, { "FLUX_JOB_ID", "Flux" },
                  { "OAR_JOB_ID", "OAR" }, { "JOB_ID", "Grid Engine" } };

    text[0] = '\0';
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && '\0' == text[0]; ++i) {
        const char *id = getenv(known[i].variable);

        if (NULL != id && '\0' != *id) {
            snprintf(text, size, "%s %s", known[i].system, id);
        }
    }
}

void mca_coll_wan_report_open(void)
{
    wan_report_process_t process = { .rank = (int) OPAL_PROC_MY_NAME.vpid, .spawned = mca_coll_wan_compat_spawned(),
                                     .began_s = (int64_t) time(NULL) };
    char host[256] = "", job[256], batch[256], command[512];
    wan_message_t message;
    int code;

    report.book = NULL;
    report.ranks = 0;
    code = file_find(process.spawned, &message);
    if (WAN_ERR_INPUT == code) {
        refuse(&message);
    }
    if (WAN_OK != code) {
        return;
    }
    gethostname(host, sizeof(host) - 1);
    mca_coll_wan_compat_job(job, sizeof(job));
    batch_find(batch, sizeof(batch));
    command_find(command, sizeof(command));
    process.host = host;
    process.job = job;
    process.batch = batch;
    process.command = command;
    if (WAN_OK != wan_report_open(&process, &mca_coll_wan_component.params, mca_coll_wan_port_pml.now_ns, &report.book)) {
        report.book = NULL;
    }
}

/* ---- what happens --------------------------------------------------------------- */

void mca_coll_wan_report_event(const char *what, const char *text)
{
    if (NULL != report.book) {
        wan_report_event(report.book, what, text);
    }
}

static void ranks_take(void)
{
    report.ranks = ompi_comm_size(&ompi_mpi_comm_world.comm);
}

void mca_coll_wan_report_serves(const mca_coll_wan_module_t *module)
{
    if (NULL == report.book) {
        return;
    }
    ranks_take();
    if (WAN_OK != wan_report_serves(report.book, module->view, mca_coll_wan_compat_cid(module->comm))) {
        wan_report_event(report.book, "no_memory", "a communicator that is served is not in this report");
    }
}

void mca_coll_wan_report_refused(struct ompi_communicator_t *comm, const wan_refusal_t *why)
{
    char text[512];

    if (NULL == report.book) {
        return;
    }
    ranks_take();
    wan_refusal_describe(why, text, sizeof(text));
    wan_report_refused(report.book, mca_coll_wan_compat_cid(comm), ompi_comm_size(comm), why->reason, text);
}

void mca_coll_wan_report_ends(const mca_coll_wan_module_t *module)
{
    const wan_state_t state = mca_coll_wan_module_state(module);
    const char *why = NULL;

    if (NULL == report.book || NULL == module->comm) {
        return;
    }
    if (WAN_STATE_WATCHING == state) {
        why = "its sites were not known before it ended";
    } else if (WAN_STATE_FIRST == state) {
        why = "no collective was called on it";
    } else if (WAN_STATE_BROKEN == state && NULL == module->serving) {
        why = "its first collective failed";
    }
    if (module->comm == &ompi_mpi_comm_world.comm) {    /* nobody frees it but MPI_Finalize, after all others */
        wan_report_finalizes(report.book);
    }
    if (NULL != why) {
        wan_report_refused(report.book, mca_coll_wan_compat_cid(module->comm), ompi_comm_size(module->comm),
                           WAN_STATE_WATCHING == state ? WAN_REASON_UNKNOWN_SITE : WAN_REASON_NONE, why);
    }
    wan_report_ends(report.book, module->view, mca_coll_wan_compat_name(module->comm), module->passed);
}

/* Whoever has MPI_T open holds the framework, and with it our component: it will not be closed. */
void mca_coll_wan_report_finalizes(void)
{
    if (NULL != report.book && 1 < ompi_coll_base_framework.framework_refcnt) {
        wan_report_finalizes(report.book);
        mca_coll_wan_counters_each(mca_coll_wan_report_ends);
        mca_coll_wan_report_close();
    }
}

/* ---- the end -------------------------------------------------------------------------- */

static void summary_say(char *lines)
{
    char *next;

    for (char *line = lines; '\0' != *line; line = next) {
        next = line + strcspn(line, "\n");
        if ('\0' != *next) {
            *next++ = '\0';
        }
        WAN_VERBOSE(0, "%s", line);
    }
}

void mca_coll_wan_report_close(void)
{
    const char *json = NULL;
    char *summary = NULL;

    if (NULL == report.book) {
        return;
    }
    if (WAN_OK != wan_report_text(report.book, report.ranks, &json, &summary)) {
        WAN_VERBOSE(0, "no memory for the report: %s is not written", report.file);
    } else if (WAN_OK != wan_file_write(report.file, json)) {
        const int why = errno;

        WAN_VERBOSE(0, "the report %s cannot be written: %s. %s", report.file, strerror(why), wan_write_remedy(why));
    } else if (0 == OPAL_PROC_MY_NAME.vpid) {
        summary_say(summary);
        WAN_VERBOSE(0, "the report is %s; wan-info report shows it, with --html FILE as a page", report.file);
    }
    wan_report_close(report.book);
    report.book = NULL;
}
