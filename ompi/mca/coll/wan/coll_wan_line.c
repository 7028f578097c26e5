/*
 * The line of a communicator: requests that wait until it is known whether it is served, or until
 * their tags are free, and then start in the order of their calls.  Nothing is started under the lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan_request.h"

#include <stddef.h>

/* Lines are short and rare: one lock for all. */
static opal_mutex_t line_lock = OPAL_MUTEX_STATIC_INIT;

/*
 * Starts of another thread during the exchange are the saved module's without waiting for it,
 * since other ranks may wait for them before they come to the exchange: so many are foreseen.
 */
#define WAN_STARTS_FORESEEN 1024

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

/* The next one that may go: the answer is known, and its tags are free.  Under the lock. */
static mca_coll_wan_request_t *line_pop(mca_coll_wan_module_t *module)
{
    mca_coll_wan_request_t *request = module->first;

    if (NULL == request || WAN_STATE_ASKING == mca_coll_wan_module_state(module) || slot_taken(module, request->number)) {
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

void mca_coll_wan_line_push(mca_coll_wan_request_t *request)
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
 * A watched module asks in a blocking call alone; what comes meanwhile is Open MPI's own, and others may
 * wait for it before they get to that call.
 */
bool mca_coll_wan_line_waits(mca_coll_wan_module_t *module)
{
    bool waits;

    opal_mutex_lock(&line_lock);
    waits = NULL != module->first || module->moving || (WAN_STATE_ASKING == mca_coll_wan_module_state(module) && !module->watched);
    opal_mutex_unlock(&line_lock);
    return waits;
}

bool mca_coll_wan_line_claim(mca_coll_wan_module_t *module)
{
    bool first;

    opal_mutex_lock(&line_lock);
    first = WAN_STATE_FIRST == mca_coll_wan_module_state(module);
    if (first) {
        module->saved_starts = module->starts + (opal_using_threads() ? WAN_STARTS_FORESEEN : 0);
        mca_coll_wan_module_become(module, WAN_STATE_ASKING);
    }
    opal_mutex_unlock(&line_lock);
    return first;
}

/* Starts are counted, since ranks may come to them before and after the call in which the module begins to serve. */
bool mca_coll_wan_line_stays_saved(const mca_coll_wan_request_t *request)
{
    return NULL != request->inner
           && !(request->standing && __atomic_load_n(&request->module->saved_starts, __ATOMIC_RELAXED) < request->starts);
}

/* Counts a start of a standing request; whether the saved module gets it whatever the answer will be.  Under the lock. */
static bool standing_start(mca_coll_wan_request_t *request)
{
    mca_coll_wan_module_t *module = request->module;
    wan_state_t state;

    if (!request->standing) {
        return false;
    }
    if (module->starts < ++request->starts) {
        module->starts = request->starts;
    }
    state = mca_coll_wan_module_state(module);
    return WAN_STATE_WATCHING == state || WAN_STATE_FIRST == state || mca_coll_wan_line_stays_saved(request);
}

void mca_coll_wan_line_start(mca_coll_wan_request_t *request)
{
    bool settling, saved;

    opal_mutex_lock(&line_lock);
    settling = request->settling;
    request->wanted = settling;
    saved = standing_start(request);
    opal_mutex_unlock(&line_lock);
    if (saved || mca_coll_wan_request_is_neighbor(request)) {
        mca_coll_wan_request_go(request);
    } else if (!settling) {
        mca_coll_wan_line_push(request);
    }
}

bool mca_coll_wan_line_orphan(mca_coll_wan_request_t *request)
{
    bool settling;

    opal_mutex_lock(&line_lock);
    settling = request->orphan = request->settling;
    opal_mutex_unlock(&line_lock);
    return settling;
}

void mca_coll_wan_line_done(mca_coll_wan_request_t *request)
{
    slot_set(request->module, request->number, false);
    mca_coll_wan_line_move(request->module);
}

/*
 * A persistent request that was made before the answer: whose it is, is decided in the order in
 * which requests were made, since the saved module may take tags then.
 */
static void line_settle(mca_coll_wan_request_t *request)
{
    ompi_request_t *handle = &request->base.super;
    const int rc = mca_coll_wan_request_decide(request);
    bool wanted, orphan;

    opal_mutex_lock(&line_lock);
    request->settling = false;
    wanted = request->wanted;
    orphan = request->orphan;
    opal_mutex_unlock(&line_lock);
    if (orphan) {
        mca_coll_wan_request_free(&handle);
    } else if (wanted) {
        if (OMPI_SUCCESS == rc) {
            mca_coll_wan_request_go(request);
        } else {
            mca_coll_wan_request_done(request, rc);
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
        module->later.item.prompt = false;
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
            line_settle(request);
        } else {
            mca_coll_wan_request_go(request);
        }
        opal_mutex_lock(&line_lock);
    }
    module->moving = false;
    opal_mutex_unlock(&line_lock);
    mca_coll_wan_trees_release(comm);
}
