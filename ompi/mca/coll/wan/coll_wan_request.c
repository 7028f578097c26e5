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

/* The base is what Open MPI's functions take all requests of collectives for. */
struct mca_coll_wan_request {
    ompi_coll_base_nbc_request_t base;
    wan_item_t item;
    mca_coll_wan_request_t *next;   /* in line */
    mca_coll_wan_module_t *module;
    wan_kept_args_t kept;
    unsigned number;                /* of the run: its tags; WAN_NUMBER_NONE: only keeps its place in line */
    mca_coll_wan_bound_t bound;
    mca_coll_wan_port_t port;
    wan_run_t *run;
    ompi_request_t *inner;          /* the saved module's form: of a call that turned out not to be ours, or a standing one */
    bool passed_on;                 /* inner is what is under way */
    bool standing;                  /* persistent, made while sites are discovered: has inner from the beginning */
    uint64_t starts;                /* of a standing one: ours beyond an agreed number */
    unsigned passes;
    unsigned epoch;                 /* the module's when it was made, 0 where Open MPI may have made it itself */
    bool settling;                  /* persistent, and in line for the answer whose it is; */
    bool wanted, orphan;            /* started, or freed, meanwhile; all three under the line's lock */
};

OBJ_CLASS_DECLARATION(mca_coll_wan_request_t);

#define WAN_NUMBER_NONE (WAN_TAGS_NONBLOCKING + WAN_TAGS_PERSISTENT)
#define WAN_NUMBER_NEIGHBOR (WAN_NUMBER_NONE + 1)      /* and more: of the neighbourhood collectives' tags */

static opal_mutex_t line_lock;
static wan_step_t request_step(wan_item_t *item);
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
    request->item.call = true;
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
    if (request->base.super.req_persistent && NULL != request->module->serving) {
        wan_comm_end_stream(request->module->view, request_stream(request));
    }
    mca_coll_wan_args_drop(&request->kept, comm);
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
static wan_step_t inner_step(mca_coll_wan_request_t *request)
{
    int ended = 0, rc;

    if (!REQUEST_COMPLETE(request->inner)) {
        return WAN_STEP_IDLE;
    }
    if (request->base.super.req_persistent) {
        rc = ompi_request_test(&request->inner, &ended, MPI_STATUS_IGNORE);
    } else {
        rc = request->inner->req_status.MPI_ERROR;
        ompi_request_free(&request->inner);
        request->inner = NULL;
    }
    request_done(request, rc);
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
    request_done(request, request->base.super.req_status.MPI_ERROR);
    return WAN_STEP_OVER;
}

static bool request_is_neighbor(const mca_coll_wan_request_t *request)
{
    return WAN_NUMBER_NEIGHBOR <= request->number;
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
        const int tag = request_is_neighbor(request)
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
        request_done(request, OMPI_SUCCESS);
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
    return request_is_neighbor(request)
           || (WAN_STATE_SERVING == request->module->state && WAN_NUMBER_NONE != request->number);
}

/* Starts are counted, since ranks may come to them before and after the call in which the module begins to serve. */
static bool request_stays_saved(const mca_coll_wan_request_t *request)
{
    return NULL != request->inner && !(request->standing && request->module->saved_starts < request->starts);
}

/* A call for which there is a request already: what is not ours goes on inside it. */
static void request_go(mca_coll_wan_request_t *request)
{
    mca_coll_wan_module_t *module = request->module;
    const bool persistent = request->base.super.req_persistent;
    const int broken = mca_coll_wan_compat_broken(module->comm);
    int rc = WAN_NOT_OURS;

    request->passed_on = false;
    if (OMPI_SUCCESS != broken) {
        rc = broken;
    } else if (WAN_STATE_BROKEN == module->state && !request_is_neighbor(request)) {
        rc = module->error;
    } else if (request_may_run(request) && !request_stays_saved(request)) {
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
        request_done(request, rc);
    }
}

/* ---- the line ------------------------------------------------------------------------ */

/* Lines are short and rare: one lock for all.  Nothing is started under it. */
static opal_mutex_t line_lock = OPAL_MUTEX_STATIC_INIT;

/* The next one that may go: the answer is known, and its tags are free.  Under the lock. */
static mca_coll_wan_request_t *line_pop(mca_coll_wan_module_t *module)
{
    mca_coll_wan_request_t *request = module->first;

    if (NULL == request || WAN_STATE_ASKING == module->state || slot_taken(module, request->number)) {
        return NULL;
    }
    module->first = request->next;
    if (NULL == module->first) {
        module->last = NULL;
    }
    request->next = NULL;
    slot_set(module, request->number, true);
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
 * Whether a new call would overtake one that has not been started yet.  A watched module asks in a
 * blocking call alone; what comes meanwhile is Open MPI's own, and others may wait for it before
 * they get to that call.
 */
static bool line_waits(mca_coll_wan_module_t *module)
{
    bool waits;

    opal_mutex_lock(&line_lock);
    waits = NULL != module->first || module->moving || (WAN_STATE_ASKING == module->state && !module->watched);
    opal_mutex_unlock(&line_lock);
    return waits;
}

/*
 * Starts of another thread during the exchange are the saved module's without waiting for it,
 * since other ranks may wait for them before they come to the exchange: so many are foreseen.
 */
#define WAN_STARTS_FORESEEN 1024

bool mca_coll_wan_line_claim(mca_coll_wan_module_t *module)
{
    bool first;

    opal_mutex_lock(&line_lock);
    first = WAN_STATE_FIRST == module->state;
    if (first) {
        module->state = WAN_STATE_ASKING;
        module->saved_starts = module->starts + (opal_using_threads() ? WAN_STARTS_FORESEEN : 0);
    }
    opal_mutex_unlock(&line_lock);
    return first;
}

/* Counts a start of a standing request; whether the saved module gets it whatever the answer will be.  Under the lock. */
static bool standing_start(mca_coll_wan_request_t *request)
{
    mca_coll_wan_module_t *module = request->module;

    if (!request->standing) {
        return false;
    }
    if (module->starts < ++request->starts) {
        module->starts = request->starts;
    }
    return WAN_STATE_WATCHING == module->state || WAN_STATE_FIRST == module->state || request_stays_saved(request);
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
    } else if (request_may_run(request)) {
        rc = request_run(request, true);
    }
    if (WAN_NOT_OURS == rc) {
        rc = mca_coll_wan_saved_start(module, &request->kept.args, true, &request->inner);
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

static wan_step_t later_step(wan_item_t *item)
{
    mca_coll_wan_module_t *module = (mca_coll_wan_module_t *) ((char *) item - offsetof(mca_coll_wan_module_t, later.item));
    struct ompi_communicator_t *comm = module->comm;

    if (mca_coll_wan_trees_sending()) {
        return WAN_STEP_IDLE;
    }
    opal_mutex_lock(&line_lock);
    module->later.set = false;
    opal_mutex_unlock(&line_lock);
    mca_coll_wan_line_move(module);
    OBJ_RELEASE(comm);
    return WAN_STEP_OVER;
}

/* By progress, when this thread has sent: what starts may go along trees. */
static void line_move_later(mca_coll_wan_module_t *module)
{
    bool first;

    opal_mutex_lock(&line_lock);
    first = NULL != module->first && !module->later.set;
    module->later.set = module->later.set || first;
    opal_mutex_unlock(&line_lock);
    if (first) {
        OBJ_RETAIN(module->comm);
        module->later.item.step = later_step;
        module->later.item.call = true;
        mca_coll_wan_progress_add(&module->later.item);
    }
}

/*
 * One thread at a time: requests start in their order.  Who comes meanwhile (also this thread,
 * by a request that ended at once) leaves it to the one that moves, who looks again.
 */
void mca_coll_wan_line_move(mca_coll_wan_module_t *module)
{
    struct ompi_communicator_t *comm = module->comm;
    mca_coll_wan_request_t *request;

    if (mca_coll_wan_trees_sending()) {
        line_move_later(module);
        return;
    }
    opal_mutex_lock(&line_lock);
    if (module->moving || NULL == module->first) {
        opal_mutex_unlock(&line_lock);
        return;
    }
    module->moving = true;
    OBJ_RETAIN(comm);       /* the last one may end, and its communicator be freed by another thread */
    while (NULL != (request = line_pop(module))) {
        opal_mutex_unlock(&line_lock);
        if (request->settling) {
            request_settle(request);
        } else {
            request_go(request);
        }
        opal_mutex_lock(&line_lock);
    }
    module->moving = false;
    opal_mutex_unlock(&line_lock);
    OBJ_RELEASE(comm);
}

static int request_start(size_t count, ompi_request_t **requests)
{
    mca_coll_wan_compat_listen();       /* of it request_go() asks, for each */
    for (size_t i = 0; i < count; ++i) {
        mca_coll_wan_request_t *request = (mca_coll_wan_request_t *) requests[i];
        bool settling, saved;

        if (NULL == requests[i] || OMPI_REQUEST_COLL != requests[i]->req_type) {
            continue;
        }
        request->base.super.req_complete = REQUEST_PENDING;
        request->base.super.req_state = OMPI_REQUEST_ACTIVE;
        request->base.super.req_status.MPI_ERROR = OMPI_SUCCESS;
        opal_mutex_lock(&line_lock);
        settling = request->settling;
        request->wanted = settling;
        saved = standing_start(request);
        opal_mutex_unlock(&line_lock);
        if (saved || request_is_neighbor(request)) {
            request_go(request);
        } else if (!settling) {
            line_push(request);
        }
    }
    return OMPI_SUCCESS;
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
    return WAN_STATE_FIRST == module->state ? mca_coll_wan_module_ask_begin(module) : OMPI_SUCCESS;
}

/* A persistent one: what is known not to be ours is the saved module's from the start. */
static int request_probe(ompi_request_t **handle)
{
    int rc = request_run((mca_coll_wan_request_t *) *handle, true);

    if (OMPI_SUCCESS != rc) {
        request_free(handle);
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
        request_go(request);
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
        request_free(handle);
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
    if (persistent && !neighbor && WAN_STATE_WATCHING == module->state && module->persistent < WAN_TAGS_PERSISTENT / 2) {
        return standing_icall(module, args, handle);
    }
    if (ours && OMPI_SUCCESS != (rc = icall_ask(module))) {
        return rc;
    }
    if (WAN_STATE_BROKEN == module->state && ours) {
        return module->error;
    }
    if (WAN_STATE_FIRST == module->state || (persistent && WAN_TAGS_PERSISTENT <= module->persistent)) {
        ours = false;
    }
    waits = line_waits(module);
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
        line_push(request);
        return OMPI_SUCCESS;
    }
    if (waits) {
        request->settling = true;
        line_push(request);
        return OMPI_SUCCESS;
    }
    return request_probe(handle);
}
