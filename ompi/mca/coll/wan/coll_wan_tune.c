/*
 * Trials: a blocking call that is served in a way to be tried is timed, by
 * this module or by the saved one.  The core decides what is tried and what the times
 * mean (core/tune/tuner.hpp); here are the clock, the common beginning
 * and the exchange of scores, each inside a call that all ranks make.
 *
 * A rank's own time in a call says more about when the others came.  So a call that is timed begins everywhere at one instant, by the time of
 * rank 0's clock, which it has told the others: the latest of what they say when they come, and what telling that takes.
 *
 * A call that the saved module serves by choice is timed on each rank alone, as ours are: by that links are seen to change.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdlib.h>
#include <string.h>

/* Where processes outnumber processors, others have a rank's processor for some milliseconds now and then, while it waits as well as in the call: that is noise, as it is
 * in all calls.  What takes longer than this is not. */
#define SLICES_NS 10000000

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

/* Once all wait for it: who comes to it late would take that for the way. */
static int clock_tell(mca_coll_wan_module_t *module)
{
    int64_t told;
    int i, rc = OMPI_SUCCESS;

    for (i = 0; i < WAN_CLOCK_WORDS && OMPI_SUCCESS == rc; ++i) {
        told = now_ns();
        rc = mca_coll_wan_run_internal(module, WAN_BCAST, 0, &told, 1, &ompi_mpi_op_max.op);
        if (OMPI_SUCCESS == rc && 0 != ompi_comm_rank(module->comm)) {
            wan_comm_clock_heard(module->serving, told, now_ns());
        }
    }
    if (0 == ompi_comm_rank(module->comm) && OMPI_SUCCESS == rc) {
        wan_comm_clock_told(module->serving, now_ns());
    }
    return WAN_NOT_OURS == rc ? OMPI_SUCCESS : rc;      /* on no rank: the clock is this rank's */
}

/* When: trial.began_ns, here, and by how much that was too late: the next ones wait longer. */
static int begin_together(mca_coll_wan_module_t *module, int64_t ahead)
{
    int64_t when[2], begin, now;
    int rc;

    when[0] = wan_comm_clock(module->serving, now_ns());
    when[1] = module->trial.jumped ? INT64_MAX : wan_comm_clock_age(module->serving, now_ns());
    module->trial.jumped = false;
    rc = mca_coll_wan_combine(module, when, 2, &ompi_mpi_op_max.op);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (0 != wan_comm_clock_instead(module->serving, when[1])) {
        rc = clock_tell(module);
        module->trial.began_ns = now_ns();
        return rc;
    }
    now = now_ns();
    begin = wan_comm_clock_here(module->serving, when[0]) + ahead;
    if (begin > now + 2 * ahead || begin < now - 2 * ahead) {   /* a clock has jumped, or that took far too long */
        module->trial.late_ns = INT64_MAX / 4;
        module->trial.jumped = true;        /* the next one has word of the clock first */
        begin = now;
    }
    if (now > begin) {
        module->trial.late_ns = now - begin;
    }
    while (now < begin) {
        opal_progress();
        now = now_ns();
        if (now - begin > SLICES_NS) {
            module->trial.late_ns = now - begin;
        }
    }
    module->trial.began_ns = begin;
    return OMPI_SUCCESS;
}

static int left_begin(mca_coll_wan_module_t *module, wan_collective_t collective)
{
    const int rc = mca_coll_wan_links_ask_left(module, collective, &module->trial.question);

    if (OMPI_SUCCESS == rc) {
        module->trial.flags = WAN_TRIAL_LEFT;
        module->trial.began_ns = now_ns();
    }
    return rc;
}

/* With what the call ended. */
static int left_end(mca_coll_wan_module_t *module, int rc)
{
    (void) wan_comm_left(module->serving, now_ns() - module->trial.began_ns);
    return mca_coll_wan_links_answer(module, &module->trial.question, rc);
}

int mca_coll_wan_trial_begin(mca_coll_wan_module_t *module, wan_collective_t collective, mca_coll_wan_question_t *question)
{
    int64_t ahead;
    const int flags = wan_comm_trial(module->serving, &ahead);
    int rc = OMPI_SUCCESS;

    if (0 == flags) {
        return OMPI_SUCCESS;
    }
    if (WAN_TRIAL_LEFT == flags || WAN_TRIAL_TIMED == flags) {      /* what ranks ask each other would be timed, too */
        rc = mca_coll_wan_links_answer(module, question, OMPI_SUCCESS);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    if (WAN_TRIAL_LEFT == flags) {
        return left_begin(module, collective);
    }
    module->trial.flags = flags;
    module->trial.began_ns = now_ns();
    module->trial.late_ns = 0;
    if (WAN_TRIAL_TIMED == flags) {
        rc = begin_together(module, ahead);
    }
    if (OMPI_SUCCESS != rc) {
        module->trial.flags = 0;
        mca_coll_wan_module_break(module, rc);
    }
    return rc;
}

static int trial_end(mca_coll_wan_module_t *module)
{
    int64_t scores[WAN_TUNE_SCORES];
    int code, rc;

    code = wan_comm_tried(module->serving, now_ns() - module->trial.began_ns, module->trial.late_ns, scores);
    if (WAN_DONE != code) {
        return mca_coll_wan_code(code, NULL, NULL);
    }
    rc = mca_coll_wan_combine(module, scores, WAN_TUNE_SCORES, &ompi_mpi_op_max.op);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    code = wan_comm_tune(module->serving, scores);
    if (WAN_DONE == code) {
        __atomic_add_fetch(&module->epoch, 1, __ATOMIC_RELEASE);
    }
    return mca_coll_wan_code(code, NULL, NULL);
}

int mca_coll_wan_trial_end(mca_coll_wan_module_t *module, int rc)
{
    const int flags = module->trial.flags;
    int after;

    if (0 < module->trial.nested) {     /* a call that the saved module has made */
        --module->trial.nested;
        return rc;
    }
    module->trial.flags = 0;
    if (WAN_TRIAL_LEFT == flags) {
        return left_end(module, rc);
    }
    /* Also after an error, which the other ranks may not have: they wait. */
    after = trial_end(module);
    if (OMPI_SUCCESS != after) {
        mca_coll_wan_module_break(module, after);
    }
    return OMPI_SUCCESS != rc ? rc : after;
}

void mca_coll_wan_trials_keep(const mca_coll_wan_module_t *module)
{
    wan_message_t message;

    if (('\0' == *mca_coll_wan_component.params.tune_file && '\0' == *mca_coll_wan_component.params.links_file) || NULL == module->view || NULL == module->comm
        || 0 != ompi_comm_rank(module->comm) || module->comm != &ompi_mpi_comm_world.comm) {
        return;
    }
    if (WAN_ERR_INPUT == wan_comm_save(module->view, &mca_coll_wan_component.params, &message)) {
        /* Not by opal_show_help: the launcher is leaving, too. */
        opal_output(0, "coll/wan: %s: %s. %s", message.where, message.what, message.remedy);
    }
}

void mca_coll_wan_trials_say(const mca_coll_wan_module_t *module)
{
    static bool said_nothing;
    size_t size = 1 << 16, length;
    char *text, *more, name[WAN_COMMUNICATOR_MAX];

    if (0 == mca_coll_wan_component.params.explain || NULL == module->view || NULL == module->comm
        || 0 != ompi_comm_rank(module->comm)) {
        return;
    }
    text = malloc(size);
    length = NULL != text ? (size_t) wan_comm_explain(module->view, text, size) : 0;
    if (length >= size && NULL != (more = realloc(text, length + 1))) {
        text = more;
        (void) wan_comm_explain(module->view, text, length + 1);
    }
    /* What is one line says that there were no calls: once. */
    if (NULL != text && (NULL != strchr(text, '\n') || !said_nothing)) {
        said_nothing = said_nothing || NULL == strchr(text, '\n');
        opal_output(0, "coll/wan: %s, how calls were served: %s", mca_coll_wan_message_communicator(module->comm, name), text);
    }
    free(text);
}
