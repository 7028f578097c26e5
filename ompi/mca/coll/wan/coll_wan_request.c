/*
 * Driving runs to their end, in the three forms of a call.  Posting happens in
 * wan_run_progress() alone, completions only mark operations ready.  A blocking
 * call drives its run itself; requests are driven by Open MPI's progress.
 *
 * A non-blocking call may not wait, not even for the agreement of a new
 * communicator: it gets its request, and stands in line.  What then turns out
 * not to be ours is started with the saved module, inside the same request.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* ---- blocking ---------------------------------------------------------------- */

/* True where the saved function is to be called instead. */
static bool not_ours(mca_coll_wan_module_t *module)
{
    if (WAN_STATE_SERVING == module->state) {
        return false;
    }
    if (WAN_STATE_OFF == module->state || module->asking.inside) {
        ++module->passed;
        return true;
    }
    return false;
}

int mca_coll_wan_call(mca_coll_wan_module_t *module, const wan_args_t *args)
{
    mca_coll_wan_bound_t bound;
    mca_coll_wan_port_t port;
    wan_run_t *run = NULL;
    unsigned number;
    int code, rc;

    if (not_ours(module)) {
        return WAN_NOT_OURS;
    }
    if (WAN_STATE_FIRST == module->state || WAN_STATE_ASKING == module->state) {
        rc = mca_coll_wan_module_ask(module);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        if (not_ours(module)) {
            return WAN_NOT_OURS;
        }
    }
    if (WAN_STATE_BROKEN == module->state) {
        return module->error;
    }
    number = module->blocking++ % WAN_TAGS_BLOCKING;    /* whatever happens: ranks stay in step */
    rc = mca_coll_wan_bind(&bound, args, module->comm);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (bound.nothing) {
        goto release;
    }
    mca_coll_wan_port_construct(&port, module->comm, bound.datatype, bound.op);
    code = wan_run_begin(module->serving, &bound.call, &mca_coll_wan_port_pml, &port, &run);
    if (WAN_OK != code) {
        rc = WAN_DECLINED == code ? WAN_NOT_OURS : mca_coll_wan_code(code, NULL, &port);
        mca_coll_wan_port_destruct(&port);
        goto release;
    }
    mca_coll_wan_run_say(module, run);
    mca_coll_wan_port_bind(&port, run, mca_coll_wan_module_tag(module, number));
    rc = mca_coll_wan_run_wait(run, &port);
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_wan_bound_finish(&bound);
    }

release:
    mca_coll_wan_bound_release(&bound);
    return rc;
}

/* ---- what progresses by itself -------------------------------------------------- */

/*
 * Items are added from anywhere, without a lock, and stepped by one thread at a time: who finds
 * another one at it leaves.  (Also a step that comes back here through the PML.)
 */
static wan_item_t *added;           /* stack; atomic */
static wan_item_t *under_way;       /* of who holds `busy` */
static int busy;                    /* atomic */
static int registered;              /* atomic */

static int progress(void)
{
    wan_item_t *item, *next, **link;
    int steps = 0;

    if (NULL == __atomic_load_n(&added, __ATOMIC_RELAXED)
        && NULL == __atomic_load_n(&under_way, __ATOMIC_RELAXED)) {
        return 0;
    }
    if (0 != __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        return 0;
    }
    /* The oldest first. */
    for (link = &under_way; NULL != *link; link = &(*link)->next) {
        continue;
    }
    for (item = __atomic_exchange_n(&added, NULL, __ATOMIC_ACQUIRE); NULL != item; item = next) {
        next = item->next;
        item->next = *link;
        *link = item;
    }
    for (link = &under_way; NULL != (item = *link);) {
        next = item->next;
        if (item->step(item)) {
            *link = next;       /* the item may be gone */
            ++steps;
        } else {
            link = &item->next;
        }
    }
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return steps;
}

void mca_coll_wan_progress_add(wan_item_t *item)
{
    if (0 == __atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL)) {
        opal_progress_register(progress);
    }
    item->next = __atomic_load_n(&added, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&added, &item->next, item, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
        continue;
    }
}

void mca_coll_wan_progress_close(void)
{
    if (0 != __atomic_exchange_n(&registered, 0, __ATOMIC_ACQ_REL)) {
        opal_progress_unregister(progress);
    }
}

/* ---- requests --------------------------------------------------------------------- */

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

static bool request_step(wan_item_t *item)
{
    mca_coll_wan_request_t *request =
        (mca_coll_wan_request_t *) ((char *) item - offsetof(mca_coll_wan_request_t, item));
    int code, rc = OMPI_SUCCESS;

    if (NULL != request->inner) {
        int ended = 0;

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
    if (NULL != request->run) {
        if (!wan_run_pending(request->run)) {
            (void) mca_coll_wan_port_reap(&request->port);
            if (0 == ++request->passes % SWEEP_PASSES) {
                mca_coll_wan_port_sweep(&request->port);
            }
            return false;
        }
        code = wan_run_progress(request->run);
        if (WAN_OK == code) {
            (void) mca_coll_wan_port_reap(&request->port);
            return false;
        }
        if (WAN_DONE != code) {
            rc = mca_coll_wan_code(code, request->run, &request->port);
            if (WAN_ERR_INTERNAL == code) {
                say_internal();
            }
            mca_coll_wan_port_cancel(&request->port);
            request->base.super.req_status.MPI_ERROR = rc;
        }
        wan_run_release(request->run);
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
    int code, rc = mca_coll_wan_bind(&request->bound, &request->args, module->comm);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (request->bound.nothing) {
        if (!probe) {
            request_done(request, OMPI_SUCCESS);
        } else {
            mca_coll_wan_bound_release(&request->bound);
        }
        return OMPI_SUCCESS;
    }
    mca_coll_wan_port_construct(&request->port, module->comm, request->bound.datatype,
                                request->bound.op);
    code = wan_run_begin(module->serving, &request->bound.call, &mca_coll_wan_port_pml,
                         &request->port, &request->run);
    if (WAN_OK != code || probe) {
        rc = WAN_DECLINED == code ? WAN_NOT_OURS : mca_coll_wan_code(code, NULL, &request->port);
        if (WAN_OK == code) {
            wan_run_release(request->run);
        }
        request->run = NULL;
        mca_coll_wan_port_destruct(&request->port);
        mca_coll_wan_bound_release(&request->bound);
        return rc;
    }
    mca_coll_wan_run_say(module, request->run);
    mca_coll_wan_port_bind(&request->port, request->run,
                           mca_coll_wan_module_tag(module, WAN_TAGS_BLOCKING + request->number));
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

    if (not_ours(module)) {
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
