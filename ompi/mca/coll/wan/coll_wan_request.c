/*
 * Requests of the non-blocking and persistent forms of a call.
 *
 * A non-blocking call may not wait, not even for the agreement of a new
 * communicator: it gets its request, and stands in line (coll_wan_line.c).  What then
 * turns out not to be ours is started with the saved module, inside the same request.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan_request.h"

#include <stddef.h>
#include <string.h>

OBJ_CLASS_DECLARATION(mca_coll_wan_request_t);

static wan_step_t request_step(wan_item_t *item);
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
    request->base.super.req_free = mca_coll_wan_request_free;
    request->base.super.req_cancel = request_cancel;
    request->base.super.req_start = request_start;
    request->item.step = request_step;
    request->item.call = true;
    request->item.prompt = false;
    request->next = NULL;
    request->run = NULL;
    request->inner = NULL;
    request->passed_on = request->standing = false;
    request->starts = 0;
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
    if (OMPI_SUCCESS != mca_coll_wan_args_keep(&request->kept, args, module->comm)) {
        OBJ_RELEASE(request);
        return NULL;
    }
    OMPI_REQUEST_INIT(&request->base.super, persistent);
    request->base.super.req_mpi_object.comm = module->comm;
    request->base.super.req_status.MPI_ERROR = OMPI_SUCCESS;
    request->base.super.req_status.MPI_SOURCE = MPI_ANY_SOURCE;
    request->base.super.req_status.MPI_TAG = MPI_ANY_TAG;
    request->module = module;
    OBJ_RETAIN(module->comm);
    return request;
}

/* wan_call_t's. */
static unsigned request_stream(const mca_coll_wan_request_t *request)
{
    return request->number < WAN_TAGS_NONBLOCKING ? 1 : 2 + request->number - WAN_TAGS_NONBLOCKING;
}

int mca_coll_wan_request_free(ompi_request_t **handle)
{
    mca_coll_wan_request_t *request = (mca_coll_wan_request_t *) *handle;
    struct ompi_communicator_t *comm = request->module->comm;

    if (!mca_coll_wan_compat_complete(&request->base.super)) {
        return MPI_ERR_REQUEST;
    }
    if (mca_coll_wan_line_orphan(request)) {
        *handle = MPI_REQUEST_NULL;
        return OMPI_SUCCESS;
    }
    if (NULL != request->inner) {
        ompi_request_free(&request->inner);
    }
    if (request->base.super.req_persistent && NULL != request->module->serving) {
        wan_comm_end_stream(request->module->view, request_stream(request));
    }
    mca_coll_wan_args_drop(&request->kept, comm);
    OMPI_REQUEST_FINI(&request->base.super);
    OBJ_RELEASE(request);
    mca_coll_wan_trees_release(comm);
    *handle = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

void mca_coll_wan_request_done(mca_coll_wan_request_t *request, int rc)
{
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_wan_bound_finish(&request->bound);
    }
    mca_coll_wan_bound_release(&request->bound);
    mca_coll_wan_line_done(request);
    request->base.super.req_status.MPI_ERROR = rc;
    ompi_request_complete(&request->base.super, true);
}

/* The saved module's request inside ours: when it has ended, ours has, too. */
static wan_step_t inner_step(mca_coll_wan_request_t *request)
{
    int ended = 0, rc;

    if (!mca_coll_wan_compat_complete(request->inner)) {
        return WAN_STEP_IDLE;
    }
    if (request->base.super.req_persistent) {
        rc = ompi_request_test(&request->inner, &ended, MPI_STATUS_IGNORE);
    } else {
        rc = request->inner->req_status.MPI_ERROR;
        ompi_request_free(&request->inner);
        request->inner = NULL;
    }
    mca_coll_wan_request_done(request, rc);
    return WAN_STEP_OVER;
}

static wan_step_t request_step(wan_item_t *item)
{
    mca_coll_wan_request_t *request =
        (mca_coll_wan_request_t *) ((char *) item - offsetof(mca_coll_wan_request_t, item));

    if (request->passed_on) {
        return inner_step(request);
    }
    if (NULL != request->run) {
        int code;

        if (mca_coll_wan_trees_sending() && wan_run_along_trees(request->run)) {
            return WAN_STEP_IDLE;
        }
        if (!wan_run_pending(request->run)) {
            (void) mca_coll_wan_port_reap(&request->port);
            if (0 == ++request->passes % WAN_SWEEP_PASSES
                || OMPI_SUCCESS != mca_coll_wan_compat_broken(request->port.comm)) {
                mca_coll_wan_port_sweep(&request->port);
            }
            return WAN_STEP_IDLE;
        }
        code = wan_run_progress(request->run);
        if (WAN_OK == code) {
            (void) mca_coll_wan_port_reap(&request->port);
            return WAN_STEP_WORKED;
        }
        request->base.super.req_status.MPI_ERROR = mca_coll_wan_run_close(request->run, &request->port,
                                                                           &request->bound, code);
        request->run = NULL;
    }
    /* Callbacks may still be on their last line. */
    if (!mca_coll_wan_port_reap(&request->port)) {
        mca_coll_wan_port_sweep(&request->port);
        return WAN_STEP_IDLE;
    }
    mca_coll_wan_port_destruct(&request->port);
    mca_coll_wan_request_done(request, request->base.super.req_status.MPI_ERROR);
    return WAN_STEP_OVER;
}

/* Binds and posts.  OMPI_ code or WAN_NOT_OURS, with nothing under way; `probe`: only whether it is ours. */
static int request_run(mca_coll_wan_request_t *request, bool probe)
{
    mca_coll_wan_module_t *module = request->module;
    int rc = mca_coll_wan_bind(&request->bound, &request->kept.args, module);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    request->bound.call.epoch = request->epoch;
    request->bound.call.stream = request_stream(request);
    request->bound.call.asks = probe;
    if (!request->bound.nothing) {
        const int tag = mca_coll_wan_request_is_neighbor(request)
                            ? module->neighbors.tag - (int) (request->number - WAN_NUMBER_NEIGHBOR)
                            : mca_coll_wan_module_tag(module, WAN_TAGS_BLOCKING + request->number);

        rc = mca_coll_wan_run_open(module, &request->bound, tag, &request->port, &request->run);
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
        mca_coll_wan_request_done(request, OMPI_SUCCESS);
        return OMPI_SUCCESS;
    }
    mca_coll_wan_run_say(module, request->run);
    if (WAN_STEP_OVER != request_step(&request->item)) {
        mca_coll_wan_progress_add(&request->item);
    }
    return OMPI_SUCCESS;
}

/* As MPI_Start does it: a saved form that has nothing to do cannot be started. */
static int inner_begin(ompi_request_t *inner)
{
    if (OMPI_REQUEST_NOOP == inner->req_type) {
        inner->req_state = OMPI_REQUEST_ACTIVE;
        return OMPI_SUCCESS;
    }
    return inner->req_start(1, &inner);
}

static bool request_may_run(const mca_coll_wan_request_t *request)
{
    return mca_coll_wan_request_is_neighbor(request)
           || (WAN_STATE_SERVING == mca_coll_wan_module_state(request->module) && WAN_NUMBER_NONE != request->number);
}

void mca_coll_wan_request_go(mca_coll_wan_request_t *request)
{
    mca_coll_wan_module_t *module = request->module;
    const bool persistent = request->base.super.req_persistent;
    const int broken = mca_coll_wan_compat_broken(module->comm);
    int rc = WAN_NOT_OURS;

    request->passed_on = false;
    if (OMPI_SUCCESS != broken) {
        rc = broken;
    } else if (WAN_STATE_BROKEN == mca_coll_wan_module_state(module) && !mca_coll_wan_request_is_neighbor(request)) {
        rc = module->error;
    } else if (request_may_run(request) && !mca_coll_wan_line_stays_saved(request)) {
        rc = request_run(request, false);
    }
    if (WAN_NOT_OURS == rc) {
        rc = OMPI_SUCCESS;
        if (NULL == request->inner) {
            rc = mca_coll_wan_saved_start(module, &request->kept.args, persistent, &request->inner);
        }
        if (OMPI_SUCCESS == rc && persistent) {
            rc = inner_begin(request->inner);
        }
        if (OMPI_SUCCESS == rc) {
            request->passed_on = true;
            mca_coll_wan_progress_add(&request->item);
        }
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_wan_request_done(request, rc);
    }
}

static int request_start(size_t count, ompi_request_t **requests)
{
    mca_coll_wan_compat_listen();       /* what mca_coll_wan_request_go() asks of, for each */
    for (size_t i = 0; i < count; ++i) {
        mca_coll_wan_request_t *request = (mca_coll_wan_request_t *) requests[i];

        if (NULL == requests[i] || OMPI_REQUEST_COLL != requests[i]->req_type) {
            continue;
        }
        request->base.super.req_complete = REQUEST_PENDING;
        request->base.super.req_state = OMPI_REQUEST_ACTIVE;
        request->base.super.req_status.MPI_ERROR = OMPI_SUCCESS;
        mca_coll_wan_line_start(request);
    }
    return OMPI_SUCCESS;
}

int mca_coll_wan_request_decide(mca_coll_wan_request_t *request)
{
    mca_coll_wan_module_t *module = request->module;
    int rc = WAN_NOT_OURS;

    if (WAN_STATE_BROKEN == mca_coll_wan_module_state(module)) {
        rc = module->error;
    } else if (request_may_run(request)) {
        rc = request_run(request, true);
    }
    if (WAN_NOT_OURS == rc) {
        rc = mca_coll_wan_saved_start(module, &request->kept.args, true, &request->inner);
    }
    return rc;
}

/*
 * Ranks make their calls in one order, but what Open MPI calls itself from its progress, at any time:
 * Allreduces of one int by which MPI_Comm_idup agrees on a number, for an inter-communicator a
 * Reduce and a Bcast in its groups.  What may be such a call is treated alike at all times: it is
 * planned by what was known first, and passed on where sites were unknown once.
 */
static bool may_be_open_mpi(const wan_args_t *args, bool persistent)
{
    const size_t agreement = 64;
    size_t size = 0;

    if (persistent
        || (WAN_MPI_allreduce != args->what && WAN_MPI_reduce != args->what && WAN_MPI_bcast != args->what)) {
        return false;
    }
    ompi_datatype_type_size(args->rtype, &size);
    return args->rcount * size <= agreement;
}

/* Asks first, where nobody has yet.  OMPI_ code; the state may be what it was: nobody to ask without waiting. */
static int icall_ask(mca_coll_wan_module_t *module)
{
    return WAN_STATE_FIRST == mca_coll_wan_module_state(module) ? mca_coll_wan_module_ask_begin(module) : OMPI_SUCCESS;
}

/* A persistent one: what is known not to be ours is the saved module's from the start. */
static int request_probe(ompi_request_t **handle)
{
    int rc = request_run((mca_coll_wan_request_t *) *handle, true);

    if (OMPI_SUCCESS != rc) {
        mca_coll_wan_request_free(handle);
    }
    return rc;
}

/* Waits in no line: its tags are not the saved module's, nor of those that need an answer. */
static int neighbor_icall(mca_coll_wan_module_t *module, const wan_args_t *args, bool persistent, ompi_request_t **handle)
{
    const unsigned tag = persistent ? 2 + module->neighbors.inits++ : 1;        /* whatever happens: ranks stay in step */
    mca_coll_wan_request_t *request = request_new(module, args, persistent);

    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->number = WAN_NUMBER_NEIGHBOR + tag;
    request->epoch = 0;
    *handle = &request->base.super;
    if (!persistent) {
        request->base.super.req_state = OMPI_REQUEST_ACTIVE;
        mca_coll_wan_request_go(request);
        return OMPI_SUCCESS;
    }
    return request_probe(handle);
}

/* The saved module takes its tags now, and ours are kept for when it is our turn. */
static int standing_icall(mca_coll_wan_module_t *module, const wan_args_t *args, ompi_request_t **handle)
{
    const unsigned number = WAN_TAGS_NONBLOCKING + module->persistent++;        /* whatever happens: ranks stay in step */
    mca_coll_wan_request_t *request = request_new(module, args, true);
    int rc;

    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->number = number;
    request->epoch = 0;
    request->standing = true;
    *handle = &request->base.super;
    rc = mca_coll_wan_saved_start(module, &request->kept.args, true, &request->inner);
    if (OMPI_SUCCESS != rc) {
        mca_coll_wan_request_free(handle);
    }
    return rc;
}

int mca_coll_wan_icall(mca_coll_wan_module_t *module, const wan_args_t *args, bool persistent,
                       ompi_request_t **handle)
{
    mca_coll_wan_request_t *request;
    const bool any_time = may_be_open_mpi(args, persistent);
    const bool neighbor = WAN_NEIGHBOR == mca_coll_wan_core_of(args->what);
    bool ours, waits;
    int rc = mca_coll_wan_compat_heard(module->comm);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (neighbor && mca_coll_wan_neighbors_ours(module) && !(persistent && WAN_TAGS_PERSISTENT <= module->neighbors.inits)) {
        return neighbor_icall(module, args, persistent, handle);
    }
    ours = !neighbor && !(any_time && module->watched) && !mca_coll_wan_module_passes(module);
    if (mca_coll_wan_module_inside(module)) {
        return WAN_NOT_OURS;
    }
    /* Half of the tags are for those that are made when it serves. */
    if (persistent && !neighbor && WAN_STATE_WATCHING == mca_coll_wan_module_state(module)
        && module->persistent < WAN_TAGS_PERSISTENT / 2) {
        return standing_icall(module, args, handle);
    }
    if (ours && OMPI_SUCCESS != (rc = icall_ask(module))) {
        return rc;
    }
    if (WAN_STATE_BROKEN == mca_coll_wan_module_state(module) && ours) {
        return module->error;
    }
    if (WAN_STATE_FIRST == mca_coll_wan_module_state(module) || (persistent && WAN_TAGS_PERSISTENT <= module->persistent)) {
        ours = false;
    }
    waits = mca_coll_wan_line_waits(module);
    if (!ours && !waits) {
        return WAN_NOT_OURS;
    }
    request = request_new(module, args, persistent);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->number = !ours        ? WAN_NUMBER_NONE
                      : persistent ? WAN_TAGS_NONBLOCKING + module->persistent++
                                   : module->nonblocking++ % WAN_TAGS_NONBLOCKING;
    request->epoch = any_time ? 0 : __atomic_load_n(&module->epoch, __ATOMIC_ACQUIRE);
    *handle = &request->base.super;
    if (!persistent) {
        request->base.super.req_state = OMPI_REQUEST_ACTIVE;
        mca_coll_wan_line_push(request);
        return OMPI_SUCCESS;
    }
    if (waits) {
        request->settling = true;
        mca_coll_wan_line_push(request);
        return OMPI_SUCCESS;
    }
    return request_probe(handle);
}
