/*
 * Messages of state machines between the processes of a job, over
 * MPI_COMM_WORLD: sent from anywhere, received from any source, both without
 * waiting.
 *
 * Letters on their way hang in a stack that threads add to and one at a time
 * looks through; from the first look on one receive is posted, into one of two
 * buffers by turns.
 *
 * Processes of one host have few buffers for what they send each other through
 * memory, all of one process's from one list.  Where none is left, Open MPI (4.1,
 * and 5.0 before 5.0.9) mutilates what it answers: a hang, or a process that dies.
 * So no more than some letters are on their way to others of this host, and the
 * rest is held here, in its order.  Short ones have gone, for Open MPI, while their
 * buffers are still taken: one in some is sent such that it goes when it has been
 * received, and those before it with it.
 *
 * What is for a process that is dead goes nowhere, and nobody misses it; what one
 * was sending when it died may never end: its receive is left to it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdlib.h>
#include <string.h>

typedef struct wan_letter {
    struct wan_letter *next;
    ompi_request_t *request;
    int rank;
    bool here;              /* to a process of this host, or as if */
    uint32_t ends;          /* so many are not under way any more when it goes: those before it, and it */
    size_t size, counted;
    char bytes[];
} wan_letter_t;

/*
 * Letters to a process, the others than `held` if it is on this host; all atomic.  `held` counts one until the PML has it: what follows must not pass it;
 * `unasked` those under way since the last one that says when it was received.
 */
struct wan_mail_here {
    uint32_t under_way, held, unasked;
    uint32_t stopped;       /* in this walk along the line: of who walks */
};

/* Of Open MPI's 512 buffers as many may be taken by letters, and by answers to those of others; the rest is the program's, and other mails'. */
#define MOST_HERE 128

static void letter_push(wan_letter_t **stack, wan_letter_t *letter)
{
    letter->next = __atomic_load_n(stack, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(stack, &letter->next, letter, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        continue;
    }
}

static wan_letter_t *letters_take(wan_letter_t **stack)
{
    return NULL == __atomic_load_n(stack, __ATOMIC_RELAXED) ? NULL : __atomic_exchange_n(stack, NULL, __ATOMIC_ACQUIRE);
}

static bool receive_post(wan_mail_t *mail)
{
    return OMPI_SUCCESS == MCA_PML_CALL(irecv(mail->incoming[mail->turn], mail->most, &ompi_mpi_byte.dt, MPI_ANY_SOURCE,
                                              mail->tag, mail->comm, &mail->receive));
}

static bool buffers_alloc(wan_mail_t *mail)
{
    mail->incoming[0] = malloc(2 * mail->most);
    if (NULL == mail->incoming[0]) {
        return false;
    }
    mail->incoming[1] = mail->incoming[0] + mail->most;
    return true;
}

static bool is_here(const wan_mail_t *mail, int rank)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(mail->comm, rank);

    return NULL != proc && OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
}

/* Others of this host: of this job, as the runtime counts them, or of whatever jobs there are. */
static int others_here(const wan_mail_t *mail)
{
    int others = 0;

    if (&ompi_mpi_comm_world.comm == mail->comm) {
        return (int) opal_process_info.num_local_peers;
    }
    for (int r = 0; r < ompi_comm_size(mail->comm); ++r) {
        others += r != ompi_comm_rank(mail->comm) && is_here(mail, r);
    }
    return others;
}

static bool here_alloc(wan_mail_t *mail)
{
    const int others = others_here(mail), size = ompi_comm_size(mail->comm);

    mail->here = calloc(size < 1 ? 1 : (size_t) size, sizeof(*mail->here));     /* (GCC 14 takes it for negative) */
    mail->most_here = 1 < others ? MOST_HERE / others : MOST_HERE;
    if (0 == mail->most_here) {
        mail->most_here = 1;
    }
    return NULL != mail->here;
}

bool mca_coll_wan_mail_open(wan_mail_t *mail, struct ompi_communicator_t *comm, int tag, size_t most)
{
    mail->comm = comm;
    mail->tag = tag;
    mail->most = most;
    mail->turn = 0;
    mail->lost = 0;
    mail->arrived = NULL;
    mail->ctx = NULL;
    mail->again = 0;
    mail->walk = 0;
    mail->letters = mail->held = mail->line = NULL;
    mail->receive = NULL;
    mail->incoming[0] = NULL;
    if (!here_alloc(mail) || !buffers_alloc(mail)) {
        mca_coll_wan_mail_release(mail);
        return false;
    }
    return true;
}

/* A letter could not be sent. */
static void mail_lost(wan_mail_t *mail, int rank)
{
    if (!mca_coll_wan_compat_dead(mail->comm, rank)) {
        __atomic_store_n(&mail->lost, 1, __ATOMIC_RELAXED);
    }
}

/* How a letter to a process of this host is sent, and what it ends: where nobody may receive at the end (discovery), each itself. */
static bool letter_asks(wan_mail_t *mail, wan_letter_t *letter)
{
    struct wan_mail_here *here = &mail->here[letter->rank];
    const uint32_t unasked = __atomic_add_fetch(&here->unasked, 1, __ATOMIC_RELAXED);

    letter->ends = 0;
    if (NULL != mail->arrived && 0 == letter->counted && unasked < mail->most_here / 2) {
        return false;
    }
    letter->ends = __atomic_exchange_n(&here->unasked, 0, __ATOMIC_RELAXED);
    return NULL != mail->arrived;
}

/* Whether it may be under way: then it is. */
static bool letter_begins(wan_mail_t *mail, const wan_letter_t *letter)
{
    uint32_t *here = &mail->here[letter->rank].under_way;

    if (!letter->here) {
        return true;
    }
    if (mail->most_here <= __atomic_load_n(here, __ATOMIC_RELAXED)) {
        return false;
    }
    __atomic_add_fetch(here, 1, __ATOMIC_RELAXED);
    return true;
}

/* It is under way no more, with those that it ends. */
static void letter_over(wan_mail_t *mail, const wan_letter_t *letter)
{
    if (letter->here && 0 < letter->ends) {
        __atomic_sub_fetch(&mail->here[letter->rank].under_way, letter->ends, __ATOMIC_RELAXED);
        __atomic_store_n(&mail->again, 1, __ATOMIC_RELEASE);
    }
}

/* To the PML, which takes those to one process in this order. */
static void letter_post(wan_mail_t *mail, wan_letter_t *letter)
{
    const int rank = letter->rank;

    letter->ends = 1;
    if (!mca_coll_wan_compat_dead(mail->comm, rank)) {
        const bool asks = letter->here ? letter_asks(mail, letter) : 0 < letter->counted;

        if (OMPI_SUCCESS == MCA_PML_CALL(isend(letter->bytes, letter->size, &ompi_mpi_byte.dt, rank, mail->tag,
                                               asks ? MCA_PML_BASE_SEND_SYNCHRONOUS : MCA_PML_BASE_SEND_STANDARD,
                                               mail->comm, &letter->request))) {
            letter_push(&mail->letters, letter);
            return;
        }
        mail_lost(mail, rank);
    }
    letter_over(mail, letter);
    free(letter);
}

void mca_coll_wan_mail_send(wan_mail_t *mail, int rank, const void *head, size_t head_size, const void *rest,
                            size_t rest_size, size_t counted)
{
    wan_letter_t *letter;

    if (mca_coll_wan_compat_dead(mail->comm, rank)) {
        return;
    }
    letter = malloc(sizeof(*letter) + head_size + rest_size);
    if (NULL == letter) {
        mail_lost(mail, rank);
        return;
    }
    letter->rank = rank;
    letter->here = is_here(mail, rank);
    letter->size = head_size + rest_size;
    letter->counted = counted;
    memcpy(letter->bytes, head, head_size);
    if (0 < rest_size) {
        memcpy(letter->bytes + head_size, rest, rest_size);
    }
    if (0 < __atomic_load_n(&mail->here[rank].held, __ATOMIC_ACQUIRE) || !letter_begins(mail, letter)) {
        __atomic_add_fetch(&mail->here[rank].held, 1, __ATOMIC_RELAXED);
        letter_push(&mail->held, letter);
        return;
    }
    letter_post(mail, letter);
}

/* What was held goes where there is room again. */
static void held_post(wan_mail_t *mail)
{
    wan_letter_t *letter, *next, *come = NULL, **link = &mail->line;

    for (letter = letters_take(&mail->held); NULL != letter; letter = next) {     /* the last one first */
        next = letter->next;
        letter->next = come;
        come = letter;
    }
    while (NULL != *link) {
        link = &(*link)->next;
    }
    *link = come;
    ++mail->walk;
    for (link = &mail->line; NULL != (letter = *link);) {
        struct wan_mail_here *here = &mail->here[letter->rank];

        if (mail->walk == here->stopped || !letter_begins(mail, letter)) {
            here->stopped = mail->walk;     /* if there is room meanwhile, it is not for those behind it */
            link = &letter->next;
            continue;
        }
        *link = letter->next;
        letter_post(mail, letter);
        __atomic_sub_fetch(&here->held, 1, __ATOMIC_RELEASE);
    }
}

bool mca_coll_wan_mail_sent(const wan_mail_t *mail)
{
    return NULL == __atomic_load_n(&mail->letters, __ATOMIC_RELAXED) && NULL == mail->line
           && NULL == __atomic_load_n(&mail->held, __ATOMIC_RELAXED);
}

bool mca_coll_wan_mail_reap(wan_mail_t *mail)
{
    wan_letter_t *letter, *next;

    for (letter = letters_take(&mail->letters); NULL != letter; letter = next) {
        next = letter->next;
        if (mca_coll_wan_compat_peers_fail()) {
            mca_coll_wan_compat_fail(letter->request);
        }
        if (mca_coll_wan_compat_complete(letter->request)) {
            const int error = letter->request->req_status.MPI_ERROR;

            if (MPI_SUCCESS != error && !mca_coll_wan_compat_is_failure(error)) {
                mail_lost(mail, letter->rank);
            }
            ompi_request_free(&letter->request);
            letter_over(mail, letter);
            if (0 < letter->counted && NULL != mail->arrived) {
                mail->arrived(mail->ctx, letter->rank, letter->counted);
            }
            free(letter);
        } else {
            letter_push(&mail->letters, letter);
        }
    }
    if (NULL != __atomic_load_n(&mail->held, __ATOMIC_RELAXED) || 0 != __atomic_exchange_n(&mail->again, 0, __ATOMIC_ACQUIRE)) {
        held_post(mail);
    }
    return mca_coll_wan_mail_sent(mail);
}

/* Whether what is being received is of a process that is dead now; unless it has come. */
static bool receive_stuck(const wan_mail_t *mail)
{
    const int source = mail->receive->req_status.MPI_SOURCE;

    return mca_coll_wan_compat_peers_fail() && 0 <= source && mca_coll_wan_compat_dead(mail->comm, source)
           && !mca_coll_wan_compat_complete(mail->receive);
}

/* Its buffer stays where a part of it may still land. */
static bool receive_leave(wan_mail_t *mail)
{
    ompi_request_free(&mail->receive);      /* when it ends, if it does */
    mail->receive = NULL;
    return buffers_alloc(mail);
}

/* It is complete.  False: with an error. */
static bool receive_end(wan_mail_t *mail, ompi_status_public_t *status)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);    /* another thread may have completed it */
    *status = mail->receive->req_status;
    if (MPI_SUCCESS != status->MPI_ERROR && !mca_coll_wan_compat_peers_fail()) {
        return false;
    }
    ompi_request_free(&mail->receive);
    mail->receive = NULL;
    return true;
}

int mca_coll_wan_mail_take(wan_mail_t *mail, int (*take)(void *ctx, int rank, const void *bytes, size_t size), void *ctx,
                           unsigned *taken)
{
    int code = WAN_OK;

    if (NULL != mail->receive && receive_stuck(mail) && !receive_leave(mail)) {
        return WAN_ERR_NOMEM;
    }
    if (NULL == mail->receive && !receive_post(mail)) {
        return WAN_ERR_PORT;
    }
    while (WAN_OK == code && NULL != mail->receive && mca_coll_wan_compat_complete(mail->receive)) {
        ompi_status_public_t status;
        const char *bytes = mail->incoming[mail->turn];

        if (!receive_end(mail, &status)) {
            return WAN_ERR_PORT;
        }
        mail->turn = !mail->turn;
        if (!receive_post(mail)) {
            return WAN_ERR_PORT;
        }
        if (MPI_SUCCESS != status.MPI_ERROR) {
            continue;       /* a dead one's */
        }
        code = take(ctx, status.MPI_SOURCE, bytes, status._ucount);
        ++*taken;
    }
    return code;
}

void mca_coll_wan_mail_stop(wan_mail_t *mail)
{
    ompi_request_t *receive = mail->receive;

    mail->receive = NULL;
    if (NULL != receive) {
        (void) ompi_request_cancel(receive);
        ompi_request_free(&receive);    /* at once, or when it completes */
    }
}

void mca_coll_wan_mail_close(wan_mail_t *mail)
{
    mca_coll_wan_mail_stop(mail);
    mail->held = mail->line = NULL;     /* nothing is sent any more; leaked, as what is still under way: the job ends */
    mail->arrived = NULL;
    (void) mca_coll_wan_mail_reap(mail);
    mail->letters = NULL;
    /* So are the buffers: a receive that could not be taken back may still land there. */
}

void mca_coll_wan_mail_release(wan_mail_t *mail)
{
    free(mail->incoming[0]);
    free(mail->here);
    mail->incoming[0] = mail->incoming[1] = NULL;
    mail->here = NULL;
}
