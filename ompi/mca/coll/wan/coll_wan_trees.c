/*
 * Adaptive trees: carries the messages of the core's nodes (wan_core.h) from Open
 * MPI's progress.  Not over the communicator that they are about: what is under
 * way when that is freed would meet the next one of the same number.
 *
 * Communicators of one job share a way over MPI_COMM_WORLD, from the first that uses
 * trees to its end: others may wait for a word of this process even in MPI_Finalize, of one kind (wan_trees_quiet()).
 * One of several jobs (spawned, connected) has no such communicator: it gets a way
 * over a copy of its own, made in its first blocking collective.  That copy must be
 * gone on all processes before any of them leaves MPI_Comm_disconnect or
 * MPI_Comm_free, so two words go from each to each there:
 *
 *      "closed"    I begin nothing any more, nor ask
 *      "done"      all have closed: I answer nothing any more
 *
 * After the second from everyone nothing is on its way.  Nothing may follow it: a letter that asks whether it was received would wait for ever.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <pthread.h>
#include <stdlib.h>

enum { WORD_CLOSED = 1, WORD_DONE = 2 };    /* a message of one byte; those of trees are longer */

typedef struct wan_way {
    struct wan_way *next;
    wan_mail_t mail;
    int first;                          /* its processes have numbers from here on, for the core */
    struct ompi_communicator_t *of;     /* that it is for; NULL: more than one, or none any more */
    bool of_job;                        /* over MPI_COMM_WORLD, which is not ours */
    bool leaving;                       /* atomic */
    bool alone;                         /* nobody waits until it is over */
    bool over;                          /* atomic; nothing is on its way */
    int said;                           /* words, by this process */
    unsigned char *heard;               /* words of each rank */
} wan_way_t;

static struct {
    wan_item_t item;
    wan_trees_t *trees;
    wan_way_t *ways;        /* under `lock`, and changed by who is `stepping` alone */
    bool world;             /* MPI_COMM_WORLD has a module of ours */
    bool under_way;
    int processes;          /* numbers given: this job's own, then those of ranks of ways over copies */
    int64_t numbers;        /* of communicators: given away; */
    int asking;             /* of these, nobody knows yet whose they are; both under `lock` */
    int stepping;           /* atomic */
} all;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* This thread is in the PML with the lock of the trees: their messages wait if that comes back here by progress. */
static __thread bool sending;
/* It is in step(). */
static __thread bool inside;

bool mca_coll_wan_trees_sending(void)
{
    return sending;
}

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

/* ---- ways ------------------------------------------------------------------- */

static wan_way_t *way_to(int process)
{
    wan_way_t *way;

    pthread_mutex_lock(&lock);
    for (way = all.ways; NULL != way; way = way->next) {
        if (way->first <= process && process - way->first < ompi_comm_size(way->mail.comm)) {
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return way;
}

static void message_send(void *ctx, int process, const void *head, size_t head_size, const void *payload, size_t payload_size,
                         size_t counted)
{
    wan_way_t *way = way_to(process);

    (void) ctx;
    if (NULL == way) {
        return;     /* it is over: all have closed what this is about */
    }
    sending = true;
    mca_coll_wan_mail_send(&way->mail, process - way->first, head, head_size, payload, payload_size, counted);
    sending = false;
}

static void message_arrived(void *ctx, int rank, size_t counted)
{
    (void) wan_trees_arrived(all.trees, ((wan_way_t *) ctx)->first + rank, counted, now_ns());
}

static int message_take(void *ctx, int rank, const void *bytes, size_t size)
{
    wan_way_t *way = ctx;

    if (1 == size) {
        way->heard[rank] |= *(const unsigned char *) bytes;
        return WAN_OK;
    }
    return wan_trees_receive(all.trees, way->first + rank, bytes, size, now_ns());
}

/* Whether all others have said it; who is dead need not. */
static bool way_heard(const wan_way_t *way, int word)
{
    for (int r = 0; r < ompi_comm_size(way->mail.comm); ++r) {
        if (0 == (way->heard[r] & word) && !mca_coll_wan_compat_dead(way->mail.comm, r)) {
            return false;
        }
    }
    return true;
}

static void way_say(wan_way_t *way, unsigned char word)
{
    way->said |= word;
    way->heard[ompi_comm_rank(way->mail.comm)] |= word;
    for (int r = 0; r < ompi_comm_size(way->mail.comm); ++r) {
        if (r != ompi_comm_rank(way->mail.comm)) {
            mca_coll_wan_mail_send(&way->mail, r, &word, sizeof(word), NULL, 0, 0);
        }
    }
}

static void way_leave(wan_way_t *way, bool gone)
{
    if (0 == (way->said & WORD_CLOSED)) {
        way_say(way, WORD_CLOSED);
    }
    if (0 == (way->said & WORD_DONE) && way_heard(way, WORD_CLOSED)) {
        way_say(way, WORD_DONE);
        gone = false;
    }
    if (gone && 0 != (way->said & WORD_DONE) && way_heard(way, WORD_DONE)) {
        mca_coll_wan_mail_stop(&way->mail);
        __atomic_store_n(&way->over, true, __ATOMIC_RELEASE);
    }
}

/* Hands on what has come.  False: something was lost. */
static bool way_step(wan_way_t *way, unsigned *taken)
{
    const bool gone = mca_coll_wan_mail_reap(&way->mail);

    if (0 != __atomic_load_n(&way->mail.lost, __ATOMIC_RELAXED)
        || WAN_OK != mca_coll_wan_mail_take(&way->mail, message_take, way, taken)) {
        return false;
    }
    if (__atomic_load_n(&way->leaving, __ATOMIC_ACQUIRE)) {
        way_leave(way, gone);
    }
    return true;
}

/* By who is stepping.  Its communicator is gone with it, but for MPI_COMM_WORLD. */
static void way_remove(wan_way_t *way)
{
    struct ompi_communicator_t *copy = way->mail.comm;
    wan_way_t **link = &all.ways;

    pthread_mutex_lock(&lock);
    while (*link != way) {
        link = &(*link)->next;
    }
    *link = way->next;
    pthread_mutex_unlock(&lock);
    mca_coll_wan_mail_release(&way->mail);
    free(way->heard);
    free(way);
    (void) ompi_comm_free(&copy);
}

/* What we can do for the others is over; calls end with an error. */
static void all_fail(void)
{
    wan_trees_fail(all.trees);
    all.under_way = false;
    for (wan_way_t *way = all.ways; NULL != way; way = way->next) {
        mca_coll_wan_mail_close(&way->mail);
        __atomic_store_n(&way->over, true, __ATOMIC_RELEASE);
    }
}

static void step_ways(unsigned *taken)
{
    wan_way_t *way, *next;

    for (way = all.ways; NULL != way; way = next) {
        next = way->next;
        if (!way->over && !way_step(way, taken)) {
            all_fail();
            return;
        }
        if (way->over && way->alone) {
            way_remove(way);
        }
    }
}

static wan_step_t step(wan_item_t *item)
{
    unsigned taken = 0;

    (void) item;
    if (!all.under_way) {
        return WAN_STEP_OVER;
    }
    if (sending || 0 != __atomic_exchange_n(&all.stepping, 1, __ATOMIC_ACQUIRE)) {
        return WAN_STEP_IDLE;
    }
    inside = true;
    step_ways(&taken);
    if (all.under_way && WAN_OK != wan_trees_step(all.trees, now_ns())) {
        wan_trees_fail(all.trees);
    }
    inside = false;
    __atomic_store_n(&all.stepping, 0, __ATOMIC_RELEASE);
    return !all.under_way ? WAN_STEP_OVER : 0 < taken ? WAN_STEP_WORKED : WAN_STEP_IDLE;
}

/* ---- communicators ---------------------------------------------------------- */

void mca_coll_wan_trees_world(struct ompi_communicator_t *comm)
{
    all.world = all.world || &ompi_mpi_comm_world.comm == comm;
}

static bool of_this_job(struct ompi_communicator_t *comm)
{
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        if (OPAL_PROC_MY_NAME.jobid != ompi_group_get_proc_name(comm->c_local_group, r).jobid) {
            return false;
        }
    }
    return true;
}

int64_t mca_coll_wan_trees_number(struct ompi_communicator_t *comm)
{
    int64_t number;

    if (!all.world && of_this_job(comm)) {
        return INT64_MAX;       /* the highest: for nobody */
    }
    pthread_mutex_lock(&lock);
    ++all.asking;
    number = ++all.numbers;
    pthread_mutex_unlock(&lock);
    return number;
}

static bool begin_locked(void)
{
    if (NULL != all.trees) {
        return all.under_way;
    }
    if (WAN_OK != wan_trees_open(&mca_coll_wan_component.params, OPAL_PROC_MY_NAME.jobid, message_send, NULL,
                                 mca_coll_wan_compat_peers_fail(), &all.trees)) {
        return false;
    }
    all.processes = ompi_comm_size(&ompi_mpi_comm_world.comm);
    all.under_way = true;
    all.item.step = step;
    mca_coll_wan_progress_add(&all.item);
    return true;
}

/* Whose is `of`, over `comm`.  NULL: no memory. */
static wan_way_t *way_open_locked(struct ompi_communicator_t *of, struct ompi_communicator_t *comm)
{
    wan_way_t *way = calloc(1, sizeof(*way));

    if (NULL == way) {
        return NULL;
    }
    way->heard = calloc(ompi_comm_size(comm), 1);
    if (NULL == way->heard || !mca_coll_wan_mail_open(&way->mail, comm, mca_coll_wan_mail_tag_trees(), WAN_TREES_MESSAGE_MAX)) {
        free(way->heard);
        free(way);
        return NULL;
    }
    way->mail.arrived = message_arrived;
    way->mail.ctx = way;
    way->of = of;
    way->of_job = NULL == of;
    /* Processes of this job have their own numbers, by which they are known to the rest of the core. */
    way->first = way->of_job ? 0 : all.processes;
    if (!way->of_job) {
        all.processes += ompi_comm_size(comm);
    }
    way->next = all.ways;
    all.ways = way;
    return way;
}

/* The one of this job, once made, or a new one over `copy`. */
static wan_way_t *way_for(struct ompi_communicator_t *of, struct ompi_communicator_t *copy)
{
    wan_way_t *way = NULL;

    pthread_mutex_lock(&lock);
    if (begin_locked()) {
        for (way = NULL == copy ? all.ways : NULL; NULL != way && !way->of_job; way = way->next) {
            continue;
        }
        if (NULL == way) {
            way = NULL == copy ? way_open_locked(NULL, &ompi_mpi_comm_world.comm) : way_open_locked(of, copy);
        }
    }
    pthread_mutex_unlock(&lock);
    return way;
}

void mca_coll_wan_trees_settle(int64_t asked, int64_t agreed)
{
    int64_t over = 0;

    if (INT64_MAX == asked) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (INT64_MAX != agreed && all.numbers < agreed) {
        all.numbers = agreed;
    }
    if (0 == --all.asking && NULL != all.trees) {
        over = all.numbers + 1;
    }
    pthread_mutex_unlock(&lock);
    if (0 < over) {
        (void) wan_trees_pass(all.trees, over, now_ns());
    }
}

int mca_coll_wan_trees_use(mca_coll_wan_module_t *module, int64_t number, bool waits)
{
    struct ompi_communicator_t *comm = module->comm, *copy = NULL;
    const int size = ompi_comm_size(comm);
    const bool one_job = of_this_job(comm);
    wan_way_t *way;
    int *processes;
    int rc;

    if (INT64_MAX == number) {
        return OMPI_SUCCESS;
    }
    if (!wan_comm_wants_trees(module->view) || (!one_job && !waits)) {
        return OMPI_SUCCESS;
    }
    if (!one_job && OMPI_SUCCESS != (rc = mca_coll_wan_module_copy(module, &copy))) {
        return rc;
    }
    processes = malloc(size * sizeof(*processes));
    way = NULL == processes ? NULL : way_for(comm, copy);
    if (NULL == way) {
        free(processes);
        return OMPI_ERR_OUT_OF_RESOURCE;    /* a copy stays: others may use theirs */
    }
    for (int r = 0; r < size; ++r) {
        processes[r] = way->first + (one_job ? (int) ompi_group_get_proc_name(comm->c_local_group, r).vpid : r);
    }
    rc = mca_coll_wan_code(wan_comm_use_trees(module->view, all.trees,
                                              (uint64_t) number, mca_coll_wan_compat_cid_everywhere(comm), processes,
                                              now_ns()), NULL, NULL);
    free(processes);
    return rc;
}

/* Whether everything that was sent has left. */
static bool all_sent(void)
{
    bool sent = true;

    if (0 != __atomic_exchange_n(&all.stepping, 1, __ATOMIC_ACQUIRE)) {
        return false;
    }
    for (wan_way_t *way = all.ways; NULL != way; way = way->next) {
        sent = (way->over || mca_coll_wan_mail_reap(&way->mail)) && sent;
    }
    __atomic_store_n(&all.stepping, 0, __ATOMIC_RELEASE);
    return sent;
}

void mca_coll_wan_trees_finalize(void)
{
    const int64_t until_ns = now_ns() + WAN_LEAVES_WITHIN_NS;

    if (!all.under_way) {
        return;
    }
    wan_trees_quiet(all.trees);
    while (all.under_way && !all_sent() && now_ns() < until_ns) {
        opal_progress();
    }
}

static wan_way_t *way_of(const struct ompi_communicator_t *comm)
{
    wan_way_t *way;

    pthread_mutex_lock(&lock);
    for (way = all.ways; NULL != way && comm != way->of; way = way->next) {
        continue;
    }
    pthread_mutex_unlock(&lock);
    return way;
}

/*
 * All of its processes free the communicator.  Where somebody is dead it may not be all: the copy is
 * left behind, and so it is where MPI ends.
 */
static void way_end(wan_way_t *way)
{
    way->of = NULL;
    if (OMPI_MPI_STATE_FINALIZE_STARTED <= ompi_mpi_state || OMPI_SUCCESS != mca_coll_wan_compat_broken(way->mail.comm)) {
        return;
    }
    way->alone = inside;
    __atomic_store_n(&way->leaving, true, __ATOMIC_RELEASE);
    if (inside) {
        return;
    }
    while (!__atomic_load_n(&way->over, __ATOMIC_ACQUIRE)
           && OMPI_SUCCESS == mca_coll_wan_compat_broken(way->mail.comm)) {
        opal_progress();
    }
    if (!way->over) {
        return;
    }
    while (0 != __atomic_exchange_n(&all.stepping, 1, __ATOMIC_ACQUIRE)) {
        opal_progress();
    }
    way_remove(way);
    __atomic_store_n(&all.stepping, 0, __ATOMIC_RELEASE);
}

void mca_coll_wan_trees_end(struct ompi_communicator_t *comm)
{
    wan_way_t *way;

    if (&ompi_mpi_comm_world.comm == comm) {
        all.world = false;
        if (all.under_way) {
            all.under_way = false;
            for (way = all.ways; NULL != way; way = way->next) {
                mca_coll_wan_mail_close(&way->mail);
            }
        }
        return;
    }
    way = NULL == comm ? NULL : way_of(comm);
    if (NULL != way && all.under_way) {
        way_end(way);
    }
}

void mca_coll_wan_trees_close(void)
{
    wan_trees_close(all.trees);
    all.trees = NULL;
}
