/*
 * Trials: a blocking call that is served in a way to be tried is timed, by
 * this module or by the saved one.  The core decides what is tried and what the times
 * mean (core/tune/tuner.hpp); here are the clock, the words before and after it,
 * and the exchange of scores, all inside the call that all ranks make.
 *
 * Each begins with a word from all to the root: all have come.  Then the root times a round trip:
 *
 *      Bcast, Scatter      the call, then a word from all to the root
 *      Reduce, Gather      a word from the root to all, then the call
 *      all others          both, rank 0 being the root
 *
 * since a rank's own time in a call says more about when the others came.
 *
 * A call that the saved module serves by choice is timed on each rank alone, as ours are: by that links are seen to change.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdlib.h>
#include <string.h>

static int word(mca_coll_wan_module_t *module, wan_collective_t collective)
{
    int64_t nothing = 0;
    const int rc = mca_coll_wan_run_internal(module, collective, module->trial.root, &nothing, 1, &ompi_mpi_op_max.op);

    return WAN_NOT_OURS == rc ? OMPI_SUCCESS : rc;      /* on no rank */
}

static int left_begin(mca_coll_wan_module_t *module, wan_collective_t collective)
{
    const int rc = mca_coll_wan_links_ask_left(module, collective, &module->trial.question);

    if (OMPI_SUCCESS == rc) {
        module->trial.flags = WAN_TRIAL_LEFT;
        module->trial.began_ns = mca_coll_wan_port_pml.now_ns(NULL);
    }
    return rc;
}

/* With what the call ended. */
static int left_end(mca_coll_wan_module_t *module, int rc)
{
    (void) wan_comm_left(module->serving, mca_coll_wan_port_pml.now_ns(NULL) - module->trial.began_ns);
    return mca_coll_wan_links_answer(module, &module->trial.question, rc);
}

int mca_coll_wan_trial_begin(mca_coll_wan_module_t *module, wan_collective_t collective, mca_coll_wan_question_t *question)
{
    int64_t pause, until;
    const int flags = wan_comm_trial(module->serving, &module->trial.root, &pause);
    int rc;

    if (0 == flags) {
        return OMPI_SUCCESS;
    }
    if (WAN_TRIAL_LEFT == flags) {
        rc = mca_coll_wan_links_answer(module, question, OMPI_SUCCESS);
        return OMPI_SUCCESS == rc ? left_begin(module, collective) : rc;
    }
    /* What ranks ask each other would be timed, too. */
    rc = mca_coll_wan_links_answer(module, question, OMPI_SUCCESS);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    module->trial.flags = flags;
    rc = word(module, WAN_REDUCE);
    module->trial.began_ns = mca_coll_wan_port_pml.now_ns(NULL);
    if (OMPI_SUCCESS == rc && 0 != (module->trial.flags & WAN_TRIAL_WORD_BEFORE)) {
        rc = word(module, WAN_BCAST);
        /* Segments that sites exchange would wait for the site that began last, some ways of serving the call longer than others. */
        until = mca_coll_wan_port_pml.now_ns(NULL) + pause;
        while (OMPI_SUCCESS == rc && mca_coll_wan_port_pml.now_ns(NULL) < until) {
            opal_progress();
        }
    }
    if (OMPI_SUCCESS != rc) {
        module->trial.flags = 0;
        mca_coll_wan_module_break(module, rc);
    }
    return rc;
}

static int trial_end(mca_coll_wan_module_t *module, int flags)
{
    int64_t scores[WAN_TUNE_SCORES], elapsed;
    int code, rc;

    if (0 != (flags & WAN_TRIAL_WORD_AFTER)) {
        rc = word(module, WAN_REDUCE);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    elapsed = mca_coll_wan_port_pml.now_ns(NULL) - module->trial.began_ns;
    code = wan_comm_tried(module->serving, elapsed, scores);
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
    after = trial_end(module, flags);
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
