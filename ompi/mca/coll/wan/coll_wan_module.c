/*
 * The module of one communicator: when do we stand in the path of its
 * collectives, and how do all ranks come to the same answer.
 *
 *   comm_query  -> no inter-communicator, not alone
 *   enable      -> what peers published: foreign, or one site: all refuse, and
 *                  the communicator is as if we were not installed; where it
 *                  cannot be read, the job ends
 *                  (no names, and coll_wan_discover: all watch, until the sites are known)
 *   first call  -> one exchange over the module that would serve without us:
 *                  same version, sites, parameters? then the links are measured
 *   later calls -> coll_wan_entry.c, by module->serving alone
 *
 * enable must not communicate: selection is per process.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---------------------------------------------------------------- */

static int module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm);
static void module_abort(struct ompi_communicator_t *comm, const wan_refusal_t *why);
static int tags_reserve(struct ompi_communicator_t *comm);
static bool tags_reach(int64_t first);

static void module_construct(mca_coll_wan_module_t *module)
{
    OBJ_CONSTRUCT(&module->item, opal_list_item_t);
    module->comm = NULL;
    module->view = NULL;
    module->serving = NULL;
    module->state = WAN_STATE_FIRST;
    module->error = OMPI_SUCCESS;
    module->passed = 0;
    module->tag = 0;
    module->blocking = module->nonblocking = module->persistent = 0;
    memset(module->slots, 0, sizeof(module->slots));
    module->first = module->last = NULL;
    module->moving = module->later.set = module->early = module->changed = module->watched = false;
    module->starts = module->saved_starts = 0;
    module->epoch = 0;
    module->calls = module->look = 0;
    memset(&module->trial, 0, sizeof(module->trial));
    memset(&module->neighbors, 0, sizeof(module->neighbors));
    memset(&module->asking, 0, sizeof(module->asking));
    module->plans = 0;
    memset(&module->saved, 0, sizeof(module->saved));
}

static void module_destruct(mca_coll_wan_module_t *module)
{
    if (NULL != module->view) {
        wan_comm_leave_trees(module->view);     /* what it counts is complete */
    }
    mca_coll_wan_trials_say(module);
    mca_coll_wan_trials_keep(module);
    mca_coll_wan_counters_remove(module);
    mca_coll_wan_report_ends(module);
    mca_coll_wan_discover_end(module->comm);
    mca_coll_wan_trees_end(module->comm);
    module->serving = NULL;
    wan_comm_close(module->view);
    module->view = NULL;
    mca_coll_wan_neighbors_close(module);
#define RELEASE_SLOT(name)                              \
    if (NULL != module->saved.coll_##name##_module) {   \
        OBJ_RELEASE(module->saved.coll_##name##_module);\
    }
#define RELEASE(name, core) RELEASE_SLOT(name) RELEASE_SLOT(i##name) RELEASE_SLOT(name##_init)
    WAN_EACH(RELEASE)
#undef RELEASE
#undef RELEASE_SLOT
    OBJ_DESTRUCT(&module->item);
}

OBJ_CLASS_INSTANCE(mca_coll_wan_module_t, mca_coll_base_module_t, module_construct,
                   module_destruct);

mca_coll_base_module_t *mca_coll_wan_comm_query(struct ompi_communicator_t *comm, int *priority)
{
    mca_coll_wan_module_t *module;

    *priority = -1;
    mca_coll_wan_finalize_query(comm);
    if (!mca_coll_wan_component.active) {
        return NULL;
    }
    if (OMPI_COMM_IS_INTER(comm)) {
        const wan_refusal_t why = { .reason = WAN_REASON_INTERCOMMUNICATOR };

        mca_coll_wan_counters_communicator(why.reason);
        mca_coll_wan_report_refused(comm, &why);
        return NULL;
    }
    if (2 > ompi_comm_size(comm)) {
        return NULL;
    }
    module = OBJ_NEW(mca_coll_wan_module_t);
    if (NULL == module) {
        const wan_refusal_t why = { .reason = WAN_REASON_NO_MEMORY };

        module_abort(comm, &why);           /* the others may stay in, and would wait */
        return NULL;
    }
    module->super.coll_module_enable = module_enable;
#define INSTALL(name, core)                                     \
    module->super.coll_##name = mca_coll_wan_##name;            \
    module->super.coll_i##name = mca_coll_wan_i##name;          \
    module->super.coll_##name##_init = mca_coll_wan_##name##_init;
    WAN_EACH(INSTALL)
#undef INSTALL
    *priority = mca_coll_wan_component.params.priority;
    return &module->super;
}

/* ---- enable -------------------------------------------------------------- */

/* To be freed; NULL: not known here. */
static char *rank_host(struct ompi_communicator_t *comm, int rank)
{
    opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);
    char *host = NULL;

    return OMPI_SUCCESS == mca_coll_wan_compat_lookup(WAN_LOOKUP_OPTIONAL, WAN_PMIX_HOSTNAME, &name, &host) ? host : NULL;
}

static void refusal_describe(struct ompi_communicator_t *comm, const wan_refusal_t *why, char *text,
                             size_t size)
{
    const int length = wan_refusal_describe(why, text, size);
    char *host;

    if (0 > length || (size_t) length >= size) {
        return;
    }
    if (WAN_REASON_ONE_SITE == why->reason && '\0' == mca_coll_wan_component.site[0]
        && '\0' != mca_coll_wan_component.params.cluster_map[0]) {
        snprintf(text + length, size - length, "; the map %s has no site for this host", mca_coll_wan_component.params.cluster_map);
        return;
    }
    if (WAN_REASON_NO_MODULE == why->reason) {
        snprintf(text + length, size - length, " (coll_wan_priority is %d)", mca_coll_wan_component.params.priority);
    }
    if (!why->has_rank) {
        return;
    }
    host = rank_host(comm, why->rank);
    if (why->has_other) {
        char *other = rank_host(comm, why->other);

        if (NULL != host && NULL != other) {
            snprintf(text + length, size - length, "; rank %d is on %s, rank %d on %s", why->rank, host, why->other, other);
        }
        free(other);
    } else if (NULL != host) {
        snprintf(text + length, size - length, " (the first is rank %d on %s)", why->rank, host);
    } else {
        snprintf(text + length, size - length, " (the first is rank %d)", why->rank);
    }
    free(host);
}

static void not_served(struct ompi_communicator_t *comm, const wan_refusal_t *why)
{
    mca_coll_wan_counters_communicator(why->reason);
    mca_coll_wan_report_refused(comm, why);
    if (1 <= mca_coll_wan_component.params.verbose && mca_coll_wan_peers_first(comm)) {
        char text[512], name[WAN_COMMUNICATOR_MAX];

        refusal_describe(comm, why, text, sizeof(text));
        WAN_VERBOSE(1, "%s is not served: %s", mca_coll_wan_message_communicator(comm, name), text);
    }
}

/*
 * What nobody would serve without us we leave empty; false where that is what the agreement needs.
 */
static bool saved_take(mca_coll_wan_module_t *module, struct ompi_communicator_t *comm)
{
#define TAKE_SLOT(name)                                                             \
    module->saved.coll_##name = comm->c_coll->coll_##name;                          \
    module->saved.coll_##name##_module = comm->c_coll->coll_##name##_module;        \
    if (NULL == module->saved.coll_##name                                           \
        || NULL == module->saved.coll_##name##_module) {                            \
        module->saved.coll_##name##_module = NULL;                                  \
        module->super.coll_##name = NULL;                                           \
    } else {                                                                        \
        OBJ_RETAIN(module->saved.coll_##name##_module);                             \
    }
#define TAKE(name, core) TAKE_SLOT(name) TAKE_SLOT(i##name) TAKE_SLOT(name##_init)
    WAN_EACH(TAKE)
#undef TAKE
#undef TAKE_SLOT
    return NULL != module->super.coll_allreduce;
}

/*
 * Nobody can be told: whoever stood back is in the user's collective by then, whoever did not
 * waits for this rank.
 */
static void module_abort(struct ompi_communicator_t *comm, const wan_refusal_t *why)
{
    wan_message_t message;

    snprintf(message.where, sizeof(message.where), "rank %d of communicator %u, %d ranks",
             ompi_comm_rank(comm), (unsigned) mca_coll_wan_compat_cid(comm), ompi_comm_size(comm));
    refusal_describe(comm, why, message.what, sizeof(message.what));
    snprintf(message.remedy, sizeof(message.remedy),
             "start the job again; where it happens again, run it without coll/wan");
    mca_coll_wan_message_show("no-common-decision", &message);
    (void) ompi_mpi_abort(comm, 1);
}

/* Without memory there is no view, and this rank votes no. */
static void view_open(mca_coll_wan_module_t *module, struct ompi_communicator_t *comm)
{
    wan_peer_t *peers = calloc(ompi_comm_size(comm), sizeof(*peers));
    wan_comm_t *view = NULL;
    wan_refusal_t ignored;      /* what the cards of all ranks say was decided by them */

    if (NULL == peers || !mca_coll_wan_peers_fill(comm, peers)
        || WAN_OK != wan_comm_open(&mca_coll_wan_component.params, peers, ompi_comm_size(comm),
                                   ompi_comm_rank(comm), &view, &ignored)) {
        view = NULL;
    }
    __atomic_store_n(&module->view, view, __ATOMIC_RELEASE);     /* a tool may be counting */
    free(peers);
}

static int module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    mca_coll_wan_module_t *module = (mca_coll_wan_module_t *) base;
    wan_refusal_t why = { .reason = WAN_REASON_NO_MODULE };

    if (!saved_take(module, comm)) {
        goto refuse;
    }
    switch (mca_coll_wan_peers_decide(comm, false, &why)) {
    case WAN_STAND_ASK:
        mca_coll_wan_neighbors_open(module, comm);
        view_open(module, comm);
        break;
    case WAN_STAND_WATCH:
        mca_coll_wan_module_become(module, WAN_STATE_WATCHING);
        module->watched = true;
        mca_coll_wan_neighbors_open(module, comm);      /* above those whose reach is looked at */
        module->tag = tags_reserve(comm);       /* now, while all ranks are at the same one */
        if (!tags_reach(module->tag)) {
            why.reason = WAN_REASON_NO_TAGS;
            goto refuse;
        }
        mca_coll_wan_discover_begin(comm);
        break;
    case WAN_STAND_ABORT:
        module_abort(comm, &why);
        goto refuse;
    case WAN_STAND_REFUSE:
        goto refuse;
    }
    module->comm = comm;
    mca_coll_wan_trees_world(comm);
    mca_coll_wan_counters_add(module);
    return OMPI_SUCCESS;

refuse:
    /* Open MPI releases the module, which releases what it has taken. */
    not_served(comm, &why);
    return OMPI_ERR_NOT_AVAILABLE;
}

/* ---- first call ----------------------------------------------------------- */

/* What the saved module calls on this communicator, in this thread, is not for us. */
static void inside_begin(mca_coll_wan_module_t *module)
{
    module->asking.thread = pthread_self();
    __atomic_store_n(&module->asking.inside, true, __ATOMIC_RELEASE);
}

bool mca_coll_wan_module_inside(const mca_coll_wan_module_t *module)
{
    return __atomic_load_n(&module->asking.copying, __ATOMIC_ACQUIRE)
           || (__atomic_load_n(&module->asking.inside, __ATOMIC_ACQUIRE)
               && pthread_equal(module->asking.thread, pthread_self()));
}

int mca_coll_wan_module_copy(mca_coll_wan_module_t *module, struct ompi_communicator_t **copy)
{
    int rc;

    __atomic_store_n(&module->asking.copying, true, __ATOMIC_RELEASE);
    rc = ompi_comm_create(module->comm, module->comm->c_local_group, copy);
    __atomic_store_n(&module->asking.copying, false, __ATOMIC_RELEASE);
    return rc;
}

static int exchange_begin(mca_coll_wan_module_t *module, int64_t *values, int count, ompi_op_t *op,
                          ompi_request_t **request)
{
    int rc;

    inside_begin(module);
    rc = module->saved.coll_iallreduce(MPI_IN_PLACE, values, count, &ompi_mpi_int64_t.dt, op,
                                       module->comm, request, module->saved.coll_iallreduce_module);
    __atomic_store_n(&module->asking.inside, false, __ATOMIC_RELEASE);
    return rc;
}

static int exchange_end(ompi_request_t **request)
{
    int rc = (*request)->req_status.MPI_ERROR;

    ompi_request_free(request);
    return rc;
}

/*
 * In the same form as where nobody waits, since ranks may come by different ways (see
 * WAN_TAGS_BLOCKING): except where Open MPI has none, or nobody comes by another way: a watched
 * module's must not take tags from non-blocking operations, which take theirs in no common order.
 */
int mca_coll_wan_module_exchange(mca_coll_wan_module_t *module, int64_t *values, int count, ompi_op_t *op)
{
    ompi_request_t *request = NULL;
    int rc;

    if (NULL == module->saved.coll_iallreduce_module || module->watched) {
        inside_begin(module);
        rc = module->saved.coll_allreduce(MPI_IN_PLACE, values, count, &ompi_mpi_int64_t.dt, op,
                                          module->comm, module->saved.coll_allreduce_module);
        __atomic_store_n(&module->asking.inside, false, __ATOMIC_RELEASE);
        return mca_coll_wan_compat_failure(module->comm, rc);
    }
    rc = exchange_begin(module, values, count, op, &request);
    if (OMPI_SUCCESS == rc) {
        while (!mca_coll_wan_compat_complete(request)) {
            opal_progress();
        }
        rc = exchange_end(&request);
    }
    return mca_coll_wan_compat_failure(module->comm, rc);
}

/*
 * Tags come out of those for non-blocking collectives, once for all runs.  Other operations take
 * theirs from the same counter when they get so far, not when they are called (MPI_Comm_idup
 * does), so that counters of ranks can differ for a while: the lowest one is agreed on, and what
 * a rank reserves reaches below the window even if its own is higher by TAG_SLACK.
 *
 * Calls are blocking and in the same order everywhere, so that runs could even share their tags;
 * taking turns keeps messages of neighbouring runs apart.
 */
#define TAG_SLACK 1024
#define TAG_WINDOW ((WAN_TAGS_BLOCKING + WAN_TAGS_NONBLOCKING + WAN_TAGS_PERSISTENT) * WAN_LABELS)

static int tags_reserve(struct ompi_communicator_t *comm)
{
    return ompi_coll_base_nbc_reserve_tags(comm, TAG_WINDOW + TAG_SLACK);
}

static void tags_vote(mca_coll_wan_module_t *module, int64_t votes[2])
{
    votes[0] = module->watched ? module->tag : tags_reserve(module->comm);
    votes[1] = -votes[0];
}

/* Some transports have fewer bits for a tag. */
static bool tags_reach(int64_t first)
{
    return TAG_WINDOW + TAG_SLACK - first <= mca_pml.pml_max_tag;
}

static bool tags_agree(mca_coll_wan_module_t *module, const int64_t votes[2])
{
    module->tag = (int) votes[0];
    return -votes[1] - votes[0] <= TAG_SLACK;
}

int mca_coll_wan_module_tag(const mca_coll_wan_module_t *module, unsigned run)
{
    return module->tag - (int) run * WAN_LABELS;
}

/* waits: this rank stands in a blocking call.  Where all do, links can be timed. */
static void votes_fill(mca_coll_wan_module_t *module, bool waits)
{
    int64_t *votes = module->asking.votes;

    for (int i = 0; i < WAN_VOTES; ++i) {
        votes[i] = INT64_MIN;   /* no */
    }
    tags_vote(module, votes + WAN_VOTES);
    if (NULL != module->view) {
        mca_coll_wan_machine_tell(module->view);
        wan_comm_vote(module->view, votes);
    }
    votes[WAN_VOTES + 2] = waits;
    module->asking.number = mca_coll_wan_trees_number(module);
    votes[WAN_VOTES + 3] = -module->asking.number;
    votes[WAN_VOTES + 4] = -(int64_t) module->saved_starts;
}

/* *agreed is the same on all ranks unless an error is returned. */
static int votes_count(mca_coll_wan_module_t *module, bool *agreed)
{
    const int64_t *votes = module->asking.votes;
    wan_refusal_t why = { .reason = WAN_REASON_NO_MEMORY };
    int rc;

    *agreed = false;
    if (INT64_MIN == votes[0] || NULL == module->view) {
        rc = WAN_DECLINED;
    } else if (!tags_reach(votes[WAN_VOTES]) || !tags_agree(module, votes + WAN_VOTES)) {
        why.reason = WAN_REASON_NO_TAGS;
        rc = WAN_DECLINED;
    } else {
        rc = wan_comm_agree(module->view, votes, &why);
    }
    if (WAN_DECLINED == rc) {
        not_served(module->comm, &why);
        return OMPI_SUCCESS;
    }
    *agreed = WAN_OK == rc;
    return mca_coll_wan_code(rc, NULL, NULL);
}

void mca_coll_wan_module_break(mca_coll_wan_module_t *module, int error)
{
    /* Others may have agreed: what they send must not meet calls of another module. */
    module->error = error;
    mca_coll_wan_module_become(module, WAN_STATE_BROKEN);
}

/* The votes are in.  Nothing can be timed where a rank does not wait, or is yet: known facts, or those of any network. */
static void ask_answer(mca_coll_wan_module_t *module, int rc)
{
    bool agreed = false;
    const int64_t number = OMPI_SUCCESS == rc ? -module->asking.votes[WAN_VOTES + 3] : INT64_MAX;

    if (OMPI_SUCCESS == rc) {
        rc = votes_count(module, &agreed);
    }
    if (OMPI_SUCCESS == rc && agreed && wan_comm_measures(module->view)) {
        module->early = 0 == module->asking.votes[WAN_VOTES + 2] || !wan_comm_affords(module->view);
        rc = module->early ? mca_coll_wan_code(wan_comm_assume(module->view), NULL, NULL)
                           : mca_coll_wan_links_measure(module, NULL);
        module->early = wan_comm_measures(module->view);
    }
    if (OMPI_SUCCESS == rc && agreed) {
        rc = mca_coll_wan_trees_use(module, number, 0 != module->asking.votes[WAN_VOTES + 2]);
    }
    mca_coll_wan_trees_settle(module->asking.number, number);
    if (OMPI_SUCCESS == rc && agreed) {
        __atomic_store_n(&module->saved_starts, (uint64_t) -module->asking.votes[WAN_VOTES + 4], __ATOMIC_RELAXED);
        mca_coll_wan_report_serves(module);     /* both before another thread can call */
        mca_coll_wan_links_say(module);
        mca_coll_wan_counters_communicator(WAN_REASON_NONE);
        module->serving = module->view;
        mca_coll_wan_module_become(module, WAN_STATE_SERVING);
    } else if (OMPI_SUCCESS == rc) {
        mca_coll_wan_module_become(module, WAN_STATE_OFF);
    } else {
        mca_coll_wan_module_break(module, rc);
    }
    mca_coll_wan_line_move(module);
}

static wan_step_t ask_step(wan_item_t *item)
{
    mca_coll_wan_module_t *module =
        (mca_coll_wan_module_t *) ((char *) item - offsetof(mca_coll_wan_module_t, asking.item));
    struct ompi_communicator_t *comm = module->comm;

    if (!mca_coll_wan_compat_complete(module->asking.exchange) || mca_coll_wan_trees_sending()) {
        return WAN_STEP_IDLE;
    }
    ask_answer(module, mca_coll_wan_compat_failure(comm, exchange_end(&module->asking.exchange)));
    OBJ_RELEASE(comm);
    return WAN_STEP_OVER;
}

bool mca_coll_wan_module_passes(mca_coll_wan_module_t *module)
{
    const wan_state_t state = mca_coll_wan_module_state(module);

    if (WAN_STATE_OFF == state || WAN_STATE_WATCHING == state || mca_coll_wan_module_inside(module)) {
        ++module->passed;
        return true;
    }
    return false;
}

int mca_coll_wan_module_ask_begin(mca_coll_wan_module_t *module)
{
    int rc;

    if (NULL == module->saved.coll_iallreduce_module || !mca_coll_wan_line_claim(module)) {
        return OMPI_SUCCESS;
    }
    votes_fill(module, false);
    rc = exchange_begin(module, module->asking.votes, WAN_MODULE_VOTES, &ompi_mpi_op_min.op,
                        &module->asking.exchange);
    if (OMPI_SUCCESS != rc) {
        rc = mca_coll_wan_compat_failure(module->comm, rc);
        mca_coll_wan_trees_settle(module->asking.number, INT64_MAX);
        mca_coll_wan_module_break(module, rc);
        mca_coll_wan_line_move(module);
        return rc;
    }
    module->asking.item.step = ask_step;
    module->asking.item.call = true;
    OBJ_RETAIN(module->comm);
    mca_coll_wan_progress_add(&module->asking.item);
    return OMPI_SUCCESS;
}

int mca_coll_wan_module_ask(mca_coll_wan_module_t *module)
{
    if (!mca_coll_wan_line_claim(module)) {
        while (WAN_STATE_ASKING == mca_coll_wan_module_state(module)) {
            opal_progress();
        }
        return OMPI_SUCCESS;
    }
    votes_fill(module, true);
    ask_answer(module, mca_coll_wan_module_exchange(module, module->asking.votes, WAN_MODULE_VOTES, &ompi_mpi_op_min.op));
    return WAN_STATE_BROKEN == mca_coll_wan_module_state(module) ? module->error : OMPI_SUCCESS;
}

/*
 * All ranks know that this communicator is not ours: its calls go to the module before at once, as if we were not installed.
 * Not where another thread may read which function it calls and which module it hands that, one after the other; nor what a
 * component of a higher priority has.  Open MPI keeps the module until the communicator is freed.
 */
static void path_leave(mca_coll_wan_module_t *module)
{
    struct mca_coll_base_comm_coll_t *table = module->comm->c_coll;

    mca_coll_wan_module_become(module, WAN_STATE_OFF);
    if (ompi_mpi_thread_multiple) {
        return;
    }
#define LEAVE_SLOT(name)                                                        \
    if (&module->super == table->coll_##name##_module) {                        \
        OBJ_RETAIN(module->saved.coll_##name##_module);                         \
        table->coll_##name = module->saved.coll_##name;                         \
        table->coll_##name##_module = module->saved.coll_##name##_module;       \
        OBJ_RELEASE(module);                                                    \
    }
#define LEAVE(name, core) LEAVE_SLOT(name) LEAVE_SLOT(i##name) LEAVE_SLOT(name##_init)
    WAN_EACH(LEAVE)
#undef LEAVE
#undef LEAVE_SLOT
}

/*
 * Whether all ranks know the sites is asked at blocking calls number 1, 2, 4, 7, 11, 17, ...: a
 * number that all ranks count alike.  (What the saved module calls of this communicator meanwhile
 * counts too, on all ranks alike.)
 */
int mca_coll_wan_module_watch(mca_coll_wan_module_t *module)
{
    wan_refusal_t why;
    int64_t known;
    int rc;

    if (++module->calls < module->look) {
        return OMPI_SUCCESS;
    }
    module->look = module->calls + module->calls / 2 + 1;
    known = mca_coll_wan_discover_known();
    rc = mca_coll_wan_module_exchange(module, &known, 1, &ompi_mpi_op_min.op);
    if (OMPI_SUCCESS != rc) {
        mca_coll_wan_module_break(module, rc);
        return rc;
    }
    if (0 == known) {
        return OMPI_SUCCESS;
    }
    if (0 > known) {
        why = (wan_refusal_t) { .reason = WAN_REASON_NOT_FOUND };
        path_leave(module);
        not_served(module->comm, &why);
        return OMPI_SUCCESS;
    }
    /* As for names: without memory, so that all ranks come to the same. */
    if (WAN_STAND_ASK == mca_coll_wan_peers_decide(module->comm, true, &why)) {
        view_open(module, module->comm);
        mca_coll_wan_module_become(module, WAN_STATE_FIRST);
    } else {
        path_leave(module);
        not_served(module->comm, &why);
    }
    return OMPI_SUCCESS;
}
