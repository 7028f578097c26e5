/*
 * Runs of the core over the PML, from their begin to their end, and the
 * blocking form of a call, which drives its run itself.  Posting happens in
 * wan_run_progress() alone, completions only mark operations ready.  Requests
 * open and close runs by the same functions: coll_wan_request.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stddef.h>
#include <stdio.h>

int mca_coll_wan_code(int code, const wan_run_t *run, const mca_coll_wan_port_t *port)
{
    int error;

    switch (code) {
    case WAN_OK:
    case WAN_DONE:
        return OMPI_SUCCESS;
    case WAN_DECLINED:
        return OMPI_ERR_NOT_AVAILABLE;
    case WAN_ERR_NOMEM:
        return OMPI_ERR_OUT_OF_RESOURCE;
    case WAN_ERR_INPUT:
        return OMPI_ERR_BAD_PARAM;
    case WAN_ERR_PORT:
        error = NULL != run ? wan_run_error(run) : OMPI_SUCCESS;
        if (OMPI_SUCCESS == error && NULL != port) {
            error = OMPI_SUCCESS != port->error ? port->error : mca_coll_wan_compat_broken(port->comm);
        }
        return OMPI_SUCCESS != error ? error : OMPI_ERROR;
    default:
        return OMPI_ERROR;
    }
}

void mca_coll_wan_run_say(mca_coll_wan_module_t *module, const wan_run_t *run)
{
    char text[256];
    uint64_t hash;

    if (3 > mca_coll_wan_component.params.verbose || 0 != ompi_comm_rank(module->comm)) {
        return;
    }
    wan_run_describe(run, text, sizeof(text));
    hash = mca_coll_wan_hash(text);
    for (unsigned i = 0; i < module->plans && i < WAN_PLANS_SAID; ++i) {
        if (hash == module->plans_said[i]) {
            return;
        }
    }
    module->plans_said[module->plans++ % WAN_PLANS_SAID] = hash;
    WAN_VERBOSE(3, "communicator %u: %s", (unsigned) mca_coll_wan_compat_cid(module->comm), text);
}

static void say_internal(void)
{
    wan_message_t message;

    snprintf(message.where, sizeof(message.where), "the engine of a collective");
    snprintf(message.what, sizeof(message.what), "broken invariant");
    snprintf(message.remedy, sizeof(message.remedy),
             "report it with the call, its size and the sites; --mca coll ^wan runs without us");
    mca_coll_wan_message_show("internal", &message);
}

int mca_coll_wan_run_open(mca_coll_wan_module_t *module, const mca_coll_wan_bound_t *bound,
                          int tag, mca_coll_wan_port_t *port, wan_run_t **run)
{
    int code;

    mca_coll_wan_port_construct(port, module->comm, bound->datatype, bound->op);
    code = wan_run_begin(module->view, &bound->call, &mca_coll_wan_port_pml, port, run);
    if (WAN_OK != code) {
        int rc = WAN_DECLINED == code ? WAN_NOT_OURS : mca_coll_wan_code(code, NULL, port);

        mca_coll_wan_port_destruct(port);
        return rc;
    }
    mca_coll_wan_port_bind(port, *run, tag);
    return OMPI_SUCCESS;
}

int mca_coll_wan_run_close(wan_run_t *run, mca_coll_wan_port_t *port, mca_coll_wan_bound_t *bound,
                           int code)
{
    int rc = mca_coll_wan_code(code, run, port);

    if (WAN_DONE != code) {
        if (WAN_ERR_INTERNAL == code) {
            say_internal();
        }
        if (mca_coll_wan_port_cancel(port) && NULL != bound) {
            mca_coll_wan_bound_abandon(bound);
        }
    }
    wan_run_release(run);
    port->run = NULL;
    return rc;
}

/* One pass of a run of its own thread; false once it has ended, with the code of the core. */
static bool run_goes_on(wan_run_t *run, mca_coll_wan_port_t *port, int *code)
{
    *code = wan_run_progress(run);
    if (WAN_OK == *code) {
        (void) mca_coll_wan_port_reap(port);
    }
    return WAN_OK == *code;
}

/* Lets others progress, and after many idle passes looks for lost callbacks. */
static void idle_pass(mca_coll_wan_port_t *port, unsigned pass)
{
    opal_progress();
    if (0 == pass % WAN_SWEEP_PASSES || OMPI_SUCCESS != mca_coll_wan_compat_broken(port->comm)) {
        mca_coll_wan_port_sweep(port);
    }
}

/* Ends it, and frees its port. */
static int run_settle(wan_run_t *run, mca_coll_wan_port_t *port, mca_coll_wan_bound_t *bound, int code)
{
    const int rc = mca_coll_wan_run_close(run, port, bound, code);

    while (!mca_coll_wan_port_reap(port)) {
        opal_progress();
        mca_coll_wan_port_sweep(port);
    }
    mca_coll_wan_port_destruct(port);
    return rc;
}

/* Moves what may be under way beside a call. */
static void beside_step(mca_coll_wan_beside_t *beside)
{
    if (NULL != beside && NULL != beside->run && !beside->ended && wan_run_pending(beside->run)) {
        beside->ended = !run_goes_on(beside->run, &beside->port, &beside->code);
    }
}

/* beside: NULL, or what goes on meanwhile, and need not end. */
static int run_wait_beside(wan_run_t *run, mca_coll_wan_port_t *port, mca_coll_wan_bound_t *bound,
                           mca_coll_wan_beside_t *beside)
{
    int code;

    while (run_goes_on(run, port, &code)) {
        for (unsigned pass = 1; !wan_run_pending(run); ++pass) {
            beside_step(beside);
            idle_pass(port, pass);
        }
    }
    return run_settle(run, port, bound, code);
}

int mca_coll_wan_run_wait(wan_run_t *run, mca_coll_wan_port_t *port, mca_coll_wan_bound_t *bound)
{
    return run_wait_beside(run, port, bound, NULL);
}

/* ---- blocking ---------------------------------------------------------------- */

int mca_coll_wan_run_combine(mca_coll_wan_module_t *module, int64_t *values, int count, ompi_op_t *op)
{
    return mca_coll_wan_run_internal(module, WAN_ALLREDUCE, 0, values, count, op);
}

static int internal_open(mca_coll_wan_module_t *module, wan_collective_t collective, int root, int64_t *values, int count,
                         ompi_op_t *op, mca_coll_wan_bound_t *bound, mca_coll_wan_port_t *port, wan_run_t **run)
{
    *bound = (mca_coll_wan_bound_t) {
        .call = { .collective = collective, .root = root, .count = count, .element_bytes = sizeof(*values),
                  .extent = sizeof(*values), .in = values, .out = values, .commutative = true,
                  .epoch = module->epoch, .internal = true },
        .datatype = &ompi_mpi_int64_t.dt, .op = op
    };
    return mca_coll_wan_run_open(module, bound, mca_coll_wan_module_tag(module, module->blocking++ % WAN_TAGS_BLOCKING), port, run);
}

int mca_coll_wan_run_internal(mca_coll_wan_module_t *module, wan_collective_t collective, int root,
                              int64_t *values, int count, ompi_op_t *op)
{
    mca_coll_wan_bound_t bound;
    mca_coll_wan_port_t port;
    wan_run_t *run = NULL;
    int rc = internal_open(module, collective, root, values, count, op, &bound, &port, &run);

    return OMPI_SUCCESS == rc ? mca_coll_wan_run_wait(run, &port, &bound) : rc;
}

int mca_coll_wan_beside_begin(mca_coll_wan_module_t *module, mca_coll_wan_beside_t *beside, int64_t *values, int count,
                              ompi_op_t *op)
{
    int rc;

    beside->run = NULL;
    beside->left = false;
    rc = internal_open(module, WAN_ALLREDUCE, 0, values, count, op, &beside->bound, &beside->port, &beside->run);
    if (OMPI_SUCCESS == rc) {
        beside->ended = !run_goes_on(beside->run, &beside->port, &beside->code);
    }
    return rc;
}

static wan_step_t left_step(wan_item_t *item)
{
    mca_coll_wan_beside_t *beside = (mca_coll_wan_beside_t *) ((char *) item - offsetof(mca_coll_wan_beside_t, item));

    if (!wan_run_pending(beside->run)) {
        (void) mca_coll_wan_port_reap(&beside->port);
        if (0 == ++beside->passes % WAN_SWEEP_PASSES || OMPI_SUCCESS != mca_coll_wan_compat_broken(beside->port.comm)) {
            mca_coll_wan_port_sweep(&beside->port);
        }
        return WAN_STEP_IDLE;
    }
    if (run_goes_on(beside->run, &beside->port, &beside->code)) {
        return WAN_STEP_WORKED;
    }
    beside->ended = true;
    __atomic_store_n(&beside->left, false, __ATOMIC_RELEASE);       /* the item may be gone */
    return WAN_STEP_OVER;
}

void mca_coll_wan_beside_leave(mca_coll_wan_beside_t *beside)
{
    if (beside->ended || mca_coll_wan_progress_inside()) {
        return;
    }
    beside->item.step = left_step;
    beside->item.call = beside->item.prompt = false;
    beside->passes = 0;
    beside->left = true;
    mca_coll_wan_progress_add(&beside->item);
}

int mca_coll_wan_beside_end(mca_coll_wan_beside_t *beside)
{
    wan_run_t *run = beside->run;

    while (__atomic_load_n(&beside->left, __ATOMIC_ACQUIRE)) {
        opal_progress();
    }
    beside->run = NULL;
    return beside->ended ? run_settle(run, &beside->port, &beside->bound, beside->code)
                         : mca_coll_wan_run_wait(run, &beside->port, &beside->bound);
}

/* Where not all ranks may come: no other rank is asked, and no call numbered. */
static int neighbor_call(mca_coll_wan_module_t *module, const wan_args_t *args)
{
    mca_coll_wan_bound_t bound;
    mca_coll_wan_port_t port;
    wan_run_t *run = NULL;
    int rc;

    if (!mca_coll_wan_neighbors_ours(module)) {
        ++module->passed;
        return WAN_NOT_OURS;
    }
    rc = mca_coll_wan_bind(&bound, args, module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    bound.call.blocks = true;
    rc = mca_coll_wan_run_open(module, &bound, module->neighbors.tag, &port, &run);
    if (OMPI_SUCCESS == rc) {
        mca_coll_wan_run_say(module, run);
        rc = mca_coll_wan_run_wait(run, &port, &bound);
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_wan_bound_finish(&bound);
    }
    mca_coll_wan_bound_release(&bound);
    return rc;
}

/* Runs a call that is ours, beside which ranks may ask each other about links. */
static int run_watched(mca_coll_wan_module_t *module, wan_collective_t what, wan_run_t *run, mca_coll_wan_port_t *port,
                       mca_coll_wan_bound_t *bound, mca_coll_wan_question_t *question)
{
    const int rc = mca_coll_wan_links_ask(module, what, question);

    if (OMPI_SUCCESS != rc) {
        wan_run_release(run);
        mca_coll_wan_port_destruct(port);
        return rc;
    }
    return run_wait_beside(run, port, bound, &question->beside);
}

/* All ranks agree on who serves. */
static int serve(mca_coll_wan_module_t *module, const wan_args_t *args)
{
    const unsigned number = module->blocking++ % WAN_TAGS_BLOCKING;     /* whatever happens: ranks stay in step */
    mca_coll_wan_bound_t bound;
    mca_coll_wan_port_t port;
    mca_coll_wan_question_t question;
    wan_run_t *run = NULL;
    int rc, begun;

    rc = mca_coll_wan_links_defer(module, args, &question);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    rc = mca_coll_wan_bind(&bound, args, module);
    if (OMPI_SUCCESS != rc) {
        return mca_coll_wan_links_answer(module, &question, rc);
    }
    bound.call.epoch = module->epoch;
    bound.call.blocks = true;
    if (bound.nothing) {
        goto release;
    }
    rc = mca_coll_wan_run_open(module, &bound, mca_coll_wan_module_tag(module, number), &port, &run);
    if (OMPI_SUCCESS != rc && WAN_NOT_OURS != rc) {
        goto release;
    }
    begun = mca_coll_wan_trial_begin(module, mca_coll_wan_core_of(args->what), &question);
    if (WAN_NOT_OURS == rc) {
        rc = OMPI_SUCCESS == begun ? WAN_NOT_OURS : begun;      /* whose saved module serves, ends the trial */
        goto release;
    }
    mca_coll_wan_run_say(module, run);
    rc = 0 == module->trial.flags ? run_watched(module, mca_coll_wan_core_of(args->what), run, &port, &bound, &question)
                                  : run_wait_beside(run, &port, &bound, &question.beside);
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_wan_bound_finish(&bound);
    }
    rc = mca_coll_wan_tried(module, OMPI_SUCCESS == rc ? begun : rc);

release:
    mca_coll_wan_bound_release(&bound);
    return mca_coll_wan_links_answer(module, &question, rc);
}

int mca_coll_wan_call(mca_coll_wan_module_t *module, const wan_args_t *args)
{
    int rc = mca_coll_wan_compat_heard(module->comm);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (WAN_NEIGHBOR == mca_coll_wan_core_of(args->what)) {
        return neighbor_call(module, args);
    }
    if (0 != module->trial.flags) {     /* the saved module, which is tried or chosen, calls its neighbours */
        ++module->trial.nested;
        return WAN_NOT_OURS;
    }
    if (WAN_STATE_WATCHING == mca_coll_wan_module_state(module) && !mca_coll_wan_module_inside(module)) {
        rc = mca_coll_wan_module_watch(module);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    if (mca_coll_wan_module_passes(module)) {
        return WAN_NOT_OURS;
    }
    if (WAN_STATE_FIRST == mca_coll_wan_module_state(module) || WAN_STATE_ASKING == mca_coll_wan_module_state(module)) {
        rc = mca_coll_wan_module_ask(module);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        if (mca_coll_wan_module_passes(module)) {
            return WAN_NOT_OURS;
        }
    }
    if (WAN_STATE_BROKEN == mca_coll_wan_module_state(module)) {
        return module->error;
    }
    rc = mca_coll_wan_links_refresh(module);
    return OMPI_SUCCESS == rc ? serve(module, args) : rc;
}
