/*
 * Requests of the non-blocking and persistent forms of a call.
 *
 * A non-blocking call may not wait, not even for the agreement of a new
 * communicator: it gets its request, and stands in line.  What then turns out
 * not to be ours is started with the saved module, inside the same request.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stddef.h>
#include <string.h>

/* Open MPI's functions keep datatypes and operator alive, in the base that they know. */
struct mca_coll_wan_request {
    ompi_coll_base_nbc_request_t base;
    wan_item_t item;
    mca_coll_wan_request_t *next;   /* in line */
    mca_coll_wan_module_t *module;
    wan_args_t args;
    unsigned number;                /* of the run: its tags */
    mca_coll_wan_bound_t bound;
    mca_coll_wan_port_t port;
    wan_run_t *run;
    ompi_request_t *inner;          /* the saved module's, where the call turned out not to be ours */
    unsigned passes;
    bool settling;                  /* persistent, and in line for the answer whose it is; */
    bool wanted, orphan;            /* started, or freed, meanwhile; all three under the line's lock */
};

OBJ_CLASS_DECLARATION(mca_coll_wan_request_t);

static opal_mutex_t line_lock;
static bool request_step(wan_item_t *item);
static int request_free(ompi_request_t **request);
static int request_start(size_t count, ompi_request_t **requests);

static int request_cancel(ompi_request_t *request, int complete)
{
    (void) request;
    (void) complete;
    return MPI_ERR_REQUEST;     /* collectives cannot be cancelled */
}

static void request_construct(mca_coll_wan_request_t *request)
{
    request->base.super.req_type = OMPI_REQUEST_COLL;
    request->base.super.req_status._cancelled = 0;
    request->base.super.req_free = request_free;
    request->base.super.req_cancel = request_cancel;
    request->base.super.req_start = request_start;
    request->item.step = request_step;
    request->next = NULL;
    request->run = NULL;
    request->inner = NULL;
    request->passes = 0;
    request->settling = request->wanted = request->orphan = false;
    memset(&request->bound, 0, sizeof(request->bound));
}

OBJ_CLASS_INSTANCE(mca_coll_wan_request_t, ompi_coll_base_nbc_request_t, request_construct, NULL);

static mca_coll_wan_request_t *request_new(mca_coll_wan_module_t *module, const wan_args_t *args,
                                           bool persistent)
{
    mca_coll_wan_request_t *request = OBJ_NEW(mca_coll_wan_request_t);

    if (NULL == request) {
        return NULL;
    }
    OMPI_REQUEST_INIT(&request->base.super, persistent);
    request->base.super.req_mpi_object.comm = module->comm;
    request->base.super.req_status.MPI_ERROR = OMPI_SUCCESS;
    request->base.super.req_status.MPI_SOURCE = MPI_ANY_SOURCE;
    request->base.super.req_status.MPI_TAG = MPI_ANY_TAG;
    request->module = module;
    request->args = *args;
    OBJ_RETAIN(module->comm);
    return request;
}

static int request_free(ompi_request_t **handle)
{
    mca_coll_wan_request_t *request = (mca_coll_wan_request_t *) *handle;
    struct ompi_communicator_t *comm = request->module->comm;
    bool settling;

    if (!REQUEST_COMPLETE(&request->base.super)) {
        return MPI_ERR_REQUEST;
    }
    opal_mutex_lock(&line_lock);
    settling = request->orphan = request->settling;
    opal_mutex_unlock(&line_lock);
    if (settling) {
        *handle = MPI_REQUEST_NULL;     /* freed when its turn comes */
        return OMPI_SUCCESS;
    }
    if (NULL != request->inner) {
        ompi_request_free(&request->inner);
    }
    OMPI_REQUEST_FINI(&request->base.super);
    OBJ_RELEASE(request);
    OBJ_RELEASE(comm);
    *handle = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static void slot_set(mca_coll_wan_module_t *module, unsigned number, bool taken)
{
    const uint64_t bit = (uint64_t) 1 << (number % 64);

    if (number >= WAN_TAGS_NONBLOCKING) {
        return;     /* a persistent request's own */
    }
    if (taken) {
        __atomic_fetch_or(&module->slots[number / 64], bit, __ATOMIC_ACQ_REL);
    } else {
        __atomic_fetch_and(&module->slots[number / 64], ~bit, __ATOMIC_ACQ_REL);
    }
}

static bool slot_taken(const mca_coll_wan_module_t *module, unsigned number)
{
    return number < WAN_TAGS_NONBLOCKING
           && 0 != (__atomic_load_n(&module->slots[number / 64], __ATOMIC_ACQUIRE)
                    & ((uint64_t) 1 << (number % 64)));
}

/* The last of a run: after this the request is its owner's. */
static void request_done(mca_coll_wan_request_t *request, int rc)
{
    mca_coll_wan_module_t *module = request->module;

    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_wan_bound_finish(&request->bound);
    }
    mca_coll_wan_bound_release(&request->bound);
    slot_set(module, request->number, false);
    mca_coll_wan_line_move(module);
    request->base.super.req_status.MPI_ERROR = rc;
    ompi_request_complete(&request->base.super, true);
}

/* The saved module's request inside ours: true when it has ended, and ours with it. */
static bool inner_step(mca_coll_wan_request_t *request)
{
    int ended = 0, rc;

    if (!REQUEST_COMPLETE(request->inner)) {
        return false;
    }
    if (request->base.super.req_persistent) {
        rc = ompi_request_test(&request->inner, &ended, MPI_STATUS_IGNORE);
    } else {
        rc = request->inner->req_status.MPI_ERROR;
        ompi_request_free(&request->inner);
        request->inner = NULL;
    }
    request_done(request, rc);
    return true;
}

static bool request_step(wan_item_t *item)
{
    mca_coll_wan_request_t *request =
        (mca_coll_wan_request_t *) ((char *) item - offsetof(mca_coll_wan_request_t, item));

    if (NULL != request->inner) {
        return inner_step(request);
    }
    if (NULL != request->run) {
        int code;

        if (!wan_run_pending(request->run)) {
            (void) mca_coll_wan_port_reap(&request->port);
            if (0 == ++request->passes % WAN_SWEEP_PASSES) {
                mca_coll_wan_port_sweep(&request->port);
            }
            return false;
        }
        code = wan_run_progress(request->run);
        if (WAN_OK == code) {
            (void) mca_coll_wan_port_reap(&request->port);
            return false;
        }
        request->base.super.req_status.MPI_ERROR = mca_coll_wan_run_close(request->run, &request->port, code);
        request->run = NULL;
    }
    /* Callbacks may still be on their last line. */
    if (!mca_coll_wan_port_reap(&request->port)) {
        mca_coll_wan_port_sweep(&request->port);
        return false;
    }
    mca_coll_wan_port_destruct(&request->port);
    request_done(request, request->base.super.req_status.MPI_ERROR);
    return true;
}

/* Binds and posts.  OMPI_ code or WAN_NOT_OURS, with nothing under way; `probe`: only whether it is ours. */
static int request_run(mca_coll_wan_request_t *request, bool probe)
{
    mca_coll_wan_module_t *module = request->module;
    int rc = mca_coll_wan_bind(&request->bound, &request->args, module->comm);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (!request->bound.nothing) {
        rc = mca_coll_wan_run_open(module, &request->bound, WAN_TAGS_BLOCKING + request->number,
                                   &request->port, &request->run);
    }
    if (OMPI_SUCCESS != rc || probe) {
        if (NULL != request->run) {
            wan_run_release(request->run);
            request->run = NULL;
            mca_coll_wan_port_destruct(&request->port);
        }
        mca_coll_wan_bound_release(&request->bound);
        return rc;
    }
    if (request->bound.nothing) {
        request_done(request, OMPI_SUCCESS);
        return OMPI_SUCCESS;
    }
    mca_coll_wan_run_say(module, request->run);
    if (!request_step(&request->item)) {
        mca_coll_wan_progress_add(&request->item);
    }
    return OMPI_SUCCESS;
}

/* A call for which there is a request already: what is not ours goes on inside it. */
static void request_go(mca_coll_wan_request_t *request)
{
    mca_coll_wan_module_t *module = request->module;
    const bool persistent = request->base.super.req_persistent;
    int rc = WAN_NOT_OURS;

    if (WAN_STATE_BROKEN == module->state) {
        rc = module->error;
    } else if (NULL == request->inner && WAN_STATE_SERVING == module->state) {
        rc = request_run(request, false);
    }
    if (WAN_NOT_OURS == rc) {
        rc = OMPI_SUCCESS;
        if (NULL == request->inner) {
            rc = mca_coll_wan_saved_start(module, &request->args, persistent, &request->inner);
        }
        if (OMPI_SUCCESS == rc && persistent) {
            rc = request->inner->req_start(1, &request->inner);
        }
        if (OMPI_SUCCESS == rc) {
            mca_coll_wan_progress_add(&request->item);
        }
    }
    if (OMPI_SUCCESS != rc) {
        request_done(request, rc);
    }
}

/* ---- the line ------------------------------------------------------------------------ */

/* Lines are short and rare: one lock for all.  Nothing is started under it. */
static opal_mutex_t line_lock = OPAL_MUTEX_STATIC_INIT;

/* The next one that may go: the answer is known, and its tags are free. */
static mca_coll_wan_request_t *line_pop(mca_coll_wan_module_t *module)
{
    mca_coll_wan_request_t *request;

    opal_mutex_lock(&line_lock);
    request = module->first;
    if (NULL != request) {
        if (WAN_STATE_ASKING == module->state || slot_taken(module, request->number)) {
            request = NULL;
        } else {
            module->first = request->next;
            if (NULL == module->first) {
                module->last = NULL;
            }
            request->next = NULL;
            slot_set(module, request->number, true);
        }
    }
    opal_mutex_unlock(&line_lock);
    return request;
}

static void line_push(mca_coll_wan_request_t *request)
{
    mca_coll_wan_module_t *module = request->module;

    opal_mutex_lock(&line_lock);
    if (NULL != module->last) {
        module->last->next = request;
    } else {
        module->first = request;
    }
    module->last = request;
    opal_mutex_unlock(&line_lock);
    mca_coll_wan_line_move(module);
}

/*
 * A persistent request that was made before the answer: whose it is, is decided in the order in
 * which requests were made, since the saved module may take tags then.
 */
static void request_settle(mca_coll_wan_request_t *request)
{
    mca_coll_wan_module_t *module = request->module;
    ompi_request_t *handle = &request->base.super;
    int rc = WAN_NOT_OURS;
    bool wanted, orphan;

    if (WAN_STATE_BROKEN == module->state) {
        rc = module->error;
    } else if (WAN_STATE_SERVING == module->state) {
        rc = request_run(request, true);
    }
    if (WAN_NOT_OURS == rc) {
        rc = mca_coll_wan_saved_start(module, &request->args, true, &request->inner);
    }
    opal_mutex_lock(&line_lock);
    request->settling = false;
    wanted = request->wanted;
    orphan = request->orphan;
    opal_mutex_unlock(&line_lock);
    if (orphan) {
        request_free(&handle);
    } else if (wanted) {
        if (OMPI_SUCCESS == rc) {
            request_go(request);
        } else {
            request_done(request, rc);
        }
    }
}

void mca_coll_wan_line_move(mca_coll_wan_module_t *module)
{
    mca_coll_wan_request_t *request;

    while (NULL != (request = line_pop(module))) {
        if (request->settling) {
            request_settle(request);
        } else {
            request_go(request);
        }
    }
}

static int request_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        mca_coll_wan_request_t *request = (mca_coll_wan_request_t *) requests[i];
        bool settling;

        if (NULL == requests[i] || OMPI_REQUEST_COLL != requests[i]->req_type) {
            continue;
        }
        request->base.super.req_complete = REQUEST_PENDING;
        request->base.super.req_state = OMPI_REQUEST_ACTIVE;
        request->base.super.req_status.MPI_ERROR = OMPI_SUCCESS;
        opal_mutex_lock(&line_lock);
        settling = request->settling;
        request->wanted = settling;
        opal_mutex_unlock(&line_lock);
        if (!settling) {
            line_push(request);
        }
    }
    return OMPI_SUCCESS;
}

int mca_coll_wan_icall(mca_coll_wan_module_t *module, const wan_args_t *args, bool persistent,
                       ompi_request_t **handle)
{
    mca_coll_wan_request_t *request;
    int rc;

    if (mca_coll_wan_module_passes(module)) {
        return WAN_NOT_OURS;
    }
    if (WAN_STATE_FIRST == module->state) {
        rc = mca_coll_wan_module_ask_begin(module);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        if (WAN_STATE_FIRST == module->state) {     /* nobody to ask without waiting */
            ++module->passed;
            return WAN_NOT_OURS;
        }
    }
    if (WAN_STATE_BROKEN == module->state) {
        return module->error;
    }
    if (persistent && WAN_TAGS_PERSISTENT <= module->persistent) {
        ++module->passed;
        return WAN_NOT_OURS;
    }
    request = request_new(module, args, persistent);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->number = persistent ? WAN_TAGS_NONBLOCKING + module->persistent++
                                 : module->nonblocking++ % WAN_TAGS_NONBLOCKING;
    *handle = &request->base.super;
    if (!persistent) {
        request->base.super.req_state = OMPI_REQUEST_ACTIVE;
        line_push(request);
        return OMPI_SUCCESS;
    }
    if (WAN_STATE_ASKING == module->state) {
        request->settling = true;
        line_push(request);
        return OMPI_SUCCESS;
    }
    /* What is known not to be ours is the saved module's from the start. */
    rc = request_run(request, true);
    if (OMPI_SUCCESS != rc) {
        request_free(handle);
    }
    return rc;
}
