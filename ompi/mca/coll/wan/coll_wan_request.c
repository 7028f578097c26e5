/*
 * Driving a run to its end.  Blocking calls for now: posting happens in
 * wan_run_progress() alone, completions only mark operations ready, and
 * opal_progress() is called where there is nothing to post.  Requests of
 * non-blocking and persistent forms will use the same three steps.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

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
            error = port->error;
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

/* Idle passes between looks for lost callbacks: rare, and a look costs all that is flying. */
#define SWEEP_PASSES 1024

int mca_coll_wan_run_wait(wan_run_t *run, mca_coll_wan_port_t *port)
{
    int code, rc;

    for (;;) {
        code = wan_run_progress(run);
        if (WAN_OK != code) {
            break;
        }
        (void) mca_coll_wan_port_reap(port);
        for (unsigned idle = 1; !wan_run_pending(run); ++idle) {
            opal_progress();
            if (0 == idle % SWEEP_PASSES) {
                mca_coll_wan_port_sweep(port);
            }
        }
    }
    if (WAN_DONE != code) {
        rc = mca_coll_wan_code(code, run, port);
        if (WAN_ERR_INTERNAL == code) {
            say_internal();
        }
        mca_coll_wan_port_cancel(port);
        goto release;
    }
    rc = OMPI_SUCCESS;
    while (!mca_coll_wan_port_reap(port)) {
        opal_progress();
        mca_coll_wan_port_sweep(port);
    }

release:
    wan_run_release(run);
    mca_coll_wan_port_destruct(port);
    return rc;
}
