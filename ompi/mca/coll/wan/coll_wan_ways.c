/*
 * Ways of adaptive trees' messages: over MPI_COMM_WORLD, or over a copy of a communicator, which must be gone on
 * all processes before any of them leaves MPI_Comm_disconnect or MPI_Comm_free.  So two words go from each to each
 * there:
 *
 *      "closed"    I begin nothing any more, nor ask
 *      "done"      all have closed: I answer nothing any more
 *
 * After the second from everyone nothing is on its way.  Nothing may follow it: a letter that asks whether it was received would wait for ever.
 *
 * Messages are sent with the trees' lock.  Should Open MPI make progress in there, which comes back here, nothing is begun or stepped.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan_ways.h"

#include <pthread.h>
#include <stdlib.h>

enum { WORD_CLOSED = 1, WORD_DONE = 2 };    /* a message of one byte; those of trees are longer */

struct wan_way {
    struct wan_way *next;
    wan_mail_t mail;
    wan_trees_t *trees;
    int first;                          /* its processes have numbers from here on, for the core; nobody else has them, ever */
    struct ompi_communicator_t *of;     /* that it is for; NULL: more than one, or none any more */
    bool of_job;                        /* over MPI_COMM_WORLD, which is not ours */
    bool leaving;                       /* atomic */
    bool alone;                         /* nobody waits until it is over */
    bool over;                          /* atomic; nothing is on its way */
    int said;                           /* words, by this process */
    unsigned char *heard;               /* words of each rank */
};

static struct {
    wan_way_t *ways;        /* atomic: added to under `lock`; one goes under that, by who is `stepping` */
    int stepping;           /* atomic */
} all;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* This thread may be in the PML with the lock of the trees, or stepping: their messages wait if that comes back here by progress. */
static __thread bool sending;

/* This thread is in a call that waits for no other process. */
static __thread bool releasing;

void mca_coll_wan_trees_release(struct ompi_communicator_t *comm)
{
    const bool before = releasing;

    releasing = true;
    OBJ_RELEASE(comm);
    releasing = before;
}

bool mca_coll_wan_trees_sending(void)
{
    return sending;
}

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

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

void mca_coll_wan_ways_send(void *ctx, int process, const void *head, size_t head_size, const void *payload,
                            size_t payload_size, size_t counted)
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
    wan_way_t *way = ctx;

    (void) wan_trees_arrived(way->trees, way->first + rank, counted, now_ns());
}

static int message_take(void *ctx, int rank, const void *bytes, size_t size)
{
    wan_way_t *way = ctx;

    if (1 == size) {
        way->heard[rank] |= *(const unsigned char *) bytes;
        return WAN_OK;
    }
    return wan_trees_receive(way->trees, way->first + rank, bytes, size, now_ns());
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

    if (WAN_OK != mca_coll_wan_mail_take(&way->mail, message_take, way, taken) || 0 != __atomic_load_n(&way->mail.lost, __ATOMIC_RELAXED)) {
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

    pthread_mutex_lock(&lock);      /* for some lines only, by anyone */
    while (*link != way) {
        link = &(*link)->next;
    }
    __atomic_store_n(link, way->next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    wan_trees_forget(way->trees, way->first, ompi_comm_size(copy));
    mca_coll_wan_mail_release(&way->mail);
    free(way->heard);
    free(way);
    (void) ompi_comm_free(&copy);
}

bool mca_coll_wan_ways_step(unsigned *taken)
{
    wan_way_t *way, *next;

    for (way = ways_first(); NULL != way; way = next) {
        next = way->next;
        if (!way->over && !way_step(way, taken)) {
            return false;
        }
        if (way->over && way->alone) {
            way_remove(way);
        }
    }
    return true;
}

bool mca_coll_wan_ways_enter(void)
{
    if (sending || 0 != __atomic_exchange_n(&all.stepping, 1, __ATOMIC_ACQUIRE)) {
        return false;
    }
    sending = true;
    return true;
}

void mca_coll_wan_ways_leave(void)
{
    sending = false;
    __atomic_store_n(&all.stepping, 0, __ATOMIC_RELEASE);
}

wan_way_t *mca_coll_wan_ways_open(wan_trees_t *trees, struct ompi_communicator_t *of, struct ompi_communicator_t *comm,
                                  int first)
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
    way->trees = trees;
    way->first = first;
    way->of = of;
    way->of_job = NULL == of;
    pthread_mutex_lock(&lock);
    way->next = all.ways;
    __atomic_store_n(&all.ways, way, __ATOMIC_RELEASE);     /* somebody may be walking along them */
    pthread_mutex_unlock(&lock);
    return way;
}

wan_way_t *mca_coll_wan_ways_find(const struct ompi_communicator_t *of)
{
    wan_way_t *way;

    pthread_mutex_lock(&lock);
    way = all.ways;
    while (NULL != way && !(NULL == of ? way->of_job : of == way->of)) {
        way = way->next;
    }
    pthread_mutex_unlock(&lock);
    return way;
}

int mca_coll_wan_ways_process(const wan_way_t *way, int rank)
{
    return way->first + rank;
}

bool mca_coll_wan_ways_sent(void)
{
    bool sent = true;

    if (0 != __atomic_exchange_n(&all.stepping, 1, __ATOMIC_ACQUIRE)) {
        return false;
    }
    sending = true;
    for (wan_way_t *way = ways_first(); NULL != way; way = way->next) {
        const bool leaves = __atomic_load_n(&way->leaving, __ATOMIC_ACQUIRE);       /* others may wait for our words */

        sent = (way->over || (mca_coll_wan_mail_reap(&way->mail) && !leaves)) && sent;
    }
    mca_coll_wan_ways_leave();
    return sent;
}

/*
 * All of its processes free the communicator.  Where somebody is dead it may not be all: the copy is
 * left behind, and so it is where MPI ends.  Where the last that knows it is our own progress, or a request, progress ends the
 * way, later.
 */
void mca_coll_wan_ways_end(wan_way_t *way)
{
    const bool alone = sending || releasing || mca_coll_wan_progress_inside();

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

void mca_coll_wan_ways_close(void)
{
    for (wan_way_t *way = ways_first(); NULL != way; way = way->next) {
        mca_coll_wan_mail_close(&way->mail);
        __atomic_store_n(&way->over, true, __ATOMIC_RELEASE);
    }
}
