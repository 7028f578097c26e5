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
 * Messages are sent with the trees' lock.  Where Open MPI's lists have an end it may wait in there for an entry, as other
 * processes do; then its progress comes back here.  Nothing is begun or stepped then, but each process still takes what has come, and
 * keeps it, and frees what has gone: so those that wait are served by each other, and nobody's wait depends on a lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_CLOSED = 1, WORD_DONE = 2 };    /* a message of one byte; those of trees are longer */

/* It came while nobody could be told. */
typedef struct wan_waiting {
    struct wan_waiting *next;
    int rank;
    size_t size;
    char bytes[];
} wan_waiting_t;

typedef struct wan_way {
    struct wan_way *next;
    wan_mail_t mail;
    wan_waiting_t *first_waiting, **last_waiting;   /* while `taking` */
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
    wan_way_t *ways;        /* atomic: added to under `lock`; one goes under that, by who is `stepping` and `taking` */
    bool world;             /* MPI_COMM_WORLD has a module of ours */
    bool under_way;
    int processes;          /* numbers given: this job's own, then those of ranks of ways over copies */
    int64_t numbers;        /* of communicators: given away; */
    int asking;             /* of these, nobody knows yet whose they are; both under `lock` */
    int stepping;           /* atomic */
    int taking;             /* atomic: receives, or changes what is received from.  While it is held nobody waits for a lock. */
} all;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* This thread may be in the PML with the lock of the trees, or in step(): their messages wait if that comes back here by progress. */
static __thread bool sending;

bool mca_coll_wan_trees_sending(void)
{
    return sending;
}

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

static bool taking_try(void)
{
    return 0 == __atomic_exchange_n(&all.taking, 1, __ATOMIC_ACQUIRE);
}

static void taking_wait(void)
{
    while (!taking_try()) {
        continue;
    }
}

static void taking_end(void)
{
    __atomic_store_n(&all.taking, 0, __ATOMIC_RELEASE);
}

/* ---- ways ------------------------------------------------------------------- */

static wan_way_t *ways_first(void)
{
    return __atomic_load_n(&all.ways, __ATOMIC_ACQUIRE);
}

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
    const bool before = sending;

    (void) ctx;
    if (NULL == way) {
        return;     /* it is over: all have closed what this is about */
    }
    sending = true;
    mca_coll_wan_mail_send(&way->mail, process - way->first, head, head_size, payload, payload_size, counted);
    sending = before;
}

static void message_arrived(void *ctx, int rank, size_t counted)
{
    (void) wan_trees_arrived(all.trees, ((wan_way_t *) ctx)->first + rank, counted, now_ns());
}

/* By who is stepping, and taking, which others may meanwhile. */
static int message_hand_on(wan_way_t *way, int rank, const void *bytes, size_t size)
{
    int code;

    if (1 == size) {
        way->heard[rank] |= *(const unsigned char *) bytes;
        return WAN_OK;
    }
    taking_end();
    code = wan_trees_receive(all.trees, way->first + rank, bytes, size, now_ns());
    taking_wait();
    return code;
}

static wan_waiting_t *waiting_pop(wan_way_t *way)
{
    wan_waiting_t *message = way->first_waiting;

    if (NULL != message) {
        way->first_waiting = message->next;
        if (NULL == way->first_waiting) {
            way->last_waiting = &way->first_waiting;
        }
    }
    return message;
}

static int waiting_hand_on(wan_way_t *way, unsigned *taken)
{
    wan_waiting_t *message;
    int code = WAN_OK;

    while (WAN_OK == code && NULL != (message = waiting_pop(way))) {
        code = message_hand_on(way, message->rank, message->bytes, message->size);
        free(message);
        ++*taken;
    }
    return code;
}

static int message_take(void *ctx, int rank, const void *bytes, size_t size)
{
    unsigned more = 0;
    const int code = message_hand_on(ctx, rank, bytes, size);

    return WAN_OK == code ? waiting_hand_on(ctx, &more) : code;
}

static int message_keep(void *ctx, int rank, const void *bytes, size_t size)
{
    wan_way_t *way = ctx;
    wan_waiting_t *message = malloc(sizeof(*message) + size);

    if (NULL == message) {
        return WAN_ERR_NOMEM;
    }
    message->next = NULL;
    message->rank = rank;
    message->size = size;
    memcpy(message->bytes, bytes, size);
    *way->last_waiting = message;
    way->last_waiting = &message->next;
    return WAN_OK;
}

unsigned mca_coll_wan_trees_make_room(void)
{
    const bool before = sending;
    unsigned taken = 0;

    if (!all.under_way || !taking_try()) {
        return 0;
    }
    sending = true;     /* whatever comes by the receive */
    for (wan_way_t *way = ways_first(); NULL != way; way = way->next) {
        if (__atomic_load_n(&way->over, __ATOMIC_RELAXED)) {
            continue;
        }
        mca_coll_wan_mail_free(&way->mail);
        if (WAN_OK != mca_coll_wan_mail_keep(&way->mail, message_keep, way, &taken)) {
            __atomic_store_n(&way->mail.lost, 1, __ATOMIC_RELAXED);
        }
    }
    sending = before;
    taking_end();
    return taken;
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
        taking_wait();
        mca_coll_wan_mail_stop(&way->mail);
        __atomic_store_n(&way->over, true, __ATOMIC_RELEASE);
        taking_end();
    }
}

/* Hands on what has come.  False: something was lost. */
static bool way_step(wan_way_t *way, unsigned *taken)
{
    const bool gone = mca_coll_wan_mail_reap(&way->mail);
    int code = WAN_OK;

    if (taking_try()) {
        code = waiting_hand_on(way, taken);
        if (WAN_OK == code) {
            code = mca_coll_wan_mail_take(&way->mail, message_take, way, taken);
        }
        taking_end();
    }
    if (WAN_OK != code || 0 != __atomic_load_n(&way->mail.lost, __ATOMIC_RELAXED)) {
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
    wan_waiting_t *message;

    taking_wait();
    pthread_mutex_lock(&lock);      /* for some lines only, by anyone */
    while (*link != way) {
        link = &(*link)->next;
    }
    __atomic_store_n(link, way->next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    taking_end();
    while (NULL != (message = waiting_pop(way))) {
        free(message);      /* after an error */
    }
    mca_coll_wan_mail_release(&way->mail);
    free(way->heard);
    free(way);
    (void) ompi_comm_free(&copy);
}

/* Nothing is sent or received any more. */
static void ways_close(void)
{
    all.under_way = false;
    taking_wait();
    for (wan_way_t *way = ways_first(); NULL != way; way = way->next) {
        mca_coll_wan_mail_close(&way->mail);
        __atomic_store_n(&way->over, true, __ATOMIC_RELEASE);
    }
    taking_end();
}

/* What we can do for the others is over; calls end with an error. */
static void all_fail(void)
{
    wan_trees_fail(all.trees);
    ways_close();
}

static void step_ways(unsigned *taken)
{
    wan_way_t *way, *next;

    for (way = ways_first(); NULL != way; way = next) {
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
    sending = true;
    step_ways(&taken);
    if (all.under_way && WAN_OK != wan_trees_step(all.trees, now_ns())) {
        wan_trees_fail(all.trees);
    }
    sending = false;
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

static bool begin_locked(void)
{
    if (NULL != all.trees) {
        return all.under_way;
    }
    if (WAN_OK != wan_trees_open(&mca_coll_wan_component.params, OPAL_PROC_MY_NAME.jobid, message_send, NULL,
                                 mca_coll_wan_compat_peers_fail(), &all.trees)) {
        return false;
    }
    if (0 == ompi_comm_rank(&ompi_mpi_comm_world.comm)) {
        WAN_VERBOSE(3, "adaptive trees: random peers by the seed %u, the number of the job", (unsigned) OPAL_PROC_MY_NAME.jobid);
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
    way->last_waiting = &way->first_waiting;
    way->next = all.ways;
    __atomic_store_n(&all.ways, way, __ATOMIC_RELEASE);     /* somebody may be walking along them */
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

int64_t mca_coll_wan_trees_number(const mca_coll_wan_module_t *module)
{
    const bool one_job = of_this_job(module->comm);
    int64_t number;

    if (!all.world && one_job) {
        return INT64_MAX;       /* the highest: for nobody */
    }
    if (one_job && NULL != module->view && wan_comm_wants_trees(module->view)) {
        (void) way_for(NULL, NULL);     /* others may know sooner, and what they send then is received */
    }
    pthread_mutex_lock(&lock);
    ++all.asking;
    number = ++all.numbers;
    pthread_mutex_unlock(&lock);
    return number;
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
    sending = true;
    for (wan_way_t *way = ways_first(); NULL != way; way = way->next) {
        sent = (way->over || mca_coll_wan_mail_reap(&way->mail)) && sent;
    }
    sending = false;
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
 * left behind, and so it is where MPI ends.  Where the last that knows it is our own progress, that ends the way, later.
 */
static void way_end(wan_way_t *way)
{
    const bool alone = sending || mca_coll_wan_progress_inside();

    way->of = NULL;
    if (OMPI_MPI_STATE_FINALIZE_STARTED <= ompi_mpi_state || OMPI_SUCCESS != mca_coll_wan_compat_broken(way->mail.comm)) {
        return;
    }
    way->alone = alone;
    __atomic_store_n(&way->leaving, true, __ATOMIC_RELEASE);
    if (alone) {
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
            ways_close();
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
