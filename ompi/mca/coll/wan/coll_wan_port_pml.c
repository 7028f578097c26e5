/*
 * The port of a run over Open MPI's point-to-point layer: isend and irecv with
 * completion callbacks, reduction by Open MPI's operators, copies by its
 * datatypes, scratch memory.  It must not decide anything, nor post anything
 * that the core did not ask for.
 *
 * Threads: posts are made by the owner of the run alone.  A completion may
 * come from any thread; the callback hands the token to the core and puts the
 * post on the list `landed`, after which it touches nothing of ours.  The owner
 * frees requests when it reaps that list.  (Freeing them inside the callback
 * saves an atomic, but ompi_request_set_callback() reads the request again
 * after another thread may have called back.)
 *
 * That function also has a window in which a completion by another thread
 * calls nobody: the owner therefore looks through what is flying now and then,
 * in processes that use threads.  `claimed` makes either of them the one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

typedef struct wan_post {
    struct wan_post *next, *previous;   /* in `flying` */
    struct wan_post *landed;            /* next in `landed` */
    mca_coll_wan_port_t *port;
    ompi_request_t *request;
    uint32_t token;
    bool receive;
    int claimed;        /* atomic */
} wan_post_t;

typedef struct wan_scratch {
    struct wan_scratch *next;
    max_align_t data[];
} wan_scratch_t;

/* ---- posts ----------------------------------------------------------------- */

static wan_post_t *post_alloc(mca_coll_wan_port_t *port, uint32_t token, bool receive)
{
    wan_post_t *post = port->spare;

    if (NULL != post) {
        port->spare = post->next;
    } else if (NULL == (post = malloc(sizeof(*post)))) {
        return NULL;
    }
    post->port = port;
    post->request = MPI_REQUEST_NULL;
    post->token = token;
    post->receive = receive;
    __atomic_store_n(&post->claimed, 0, __ATOMIC_RELAXED);
    post->previous = NULL;
    post->next = port->flying;
    if (NULL != post->next) {
        post->next->previous = post;
    }
    port->flying = post;
    return post;
}

static void post_release(wan_post_t *post)
{
    mca_coll_wan_port_t *port = post->port;

    if (NULL != post->previous) {
        post->previous->next = post->next;
    } else {
        port->flying = post->next;
    }
    if (NULL != post->next) {
        post->next->previous = post->previous;
    }
    post->next = port->spare;
    port->spare = post;
}

/* Any thread.  The last thing it does to the port is to push the post. */
static void post_land(wan_post_t *post, int error)
{
    mca_coll_wan_port_t *port = post->port;

    wan_run_complete(port->run, post->token, error);
    post->landed = __atomic_load_n(&port->landed, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&port->landed, &post->landed, post, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        continue;
    }
}

static int post_completed(ompi_request_t *request)
{
    wan_post_t *post = request->req_complete_cb_data;

    if (0 == __atomic_exchange_n(&post->claimed, 1, __ATOMIC_ACQ_REL)) {
        post_land(post, request->req_status.MPI_ERROR);
    }
    return 0;   /* the request lives on, until it is reaped */
}

/* The request may be one of Open MPI's shared, always complete ones: no callback on those. */
static int post_follow(wan_post_t *post, int rc)
{
    mca_coll_wan_port_t *port = post->port;
    ompi_request_t *request = post->request;

    if (OMPI_SUCCESS != rc) {
        if (OMPI_SUCCESS == port->error) {
            port->error = rc;
        }
        post_release(post);
        return WAN_ERR_PORT;
    }
    if (mca_coll_wan_compat_complete(request)) {
        int error = request->req_status.MPI_ERROR;
        uint32_t token = post->token;

        ompi_request_free(&post->request);
        post_release(post);
        wan_run_complete(port->run, token, error);
    } else {
        ompi_request_set_callback(request, post_completed, post);
    }
    return WAN_OK;
}

static int port_post_send(void *ctx, const void *buf, size_t count, int peer, int label,
                          uint32_t token)
{
    mca_coll_wan_port_t *port = ctx;
    wan_post_t *post = post_alloc(port, token, false);

    if (NULL == post) {
        return WAN_ERR_NOMEM;
    }
    return post_follow(post, MCA_PML_CALL(isend(buf, count, port->datatype, peer,
                                                port->tag - label, MCA_PML_BASE_SEND_STANDARD,
                                                port->comm, &post->request)));
}

static int port_post_recv(void *ctx, void *buf, size_t count, int peer, int label, uint32_t token)
{
    mca_coll_wan_port_t *port = ctx;
    wan_post_t *post = post_alloc(port, token, true);

    if (NULL == post) {
        return WAN_ERR_NOMEM;
    }
    return post_follow(post, MCA_PML_CALL(irecv(buf, count, port->datatype, peer,
                                                port->tag - label, port->comm, &post->request)));
}

static int64_t port_now_ns(void *ctx)
{
    struct timespec now;

    (void) ctx;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- reaping ---------------------------------------------------------------- */

bool mca_coll_wan_port_reap(mca_coll_wan_port_t *port)
{
    wan_post_t *post = NULL, *next;

    if (NULL != __atomic_load_n(&port->landed, __ATOMIC_RELAXED)) {
        post = __atomic_exchange_n(&port->landed, NULL, __ATOMIC_ACQUIRE);
    }
    for (; NULL != post; post = next) {
        next = post->landed;
        while (!mca_coll_wan_compat_complete(post->request)) {
            sched_yield();      /* to another thread, which is between the callback and its next line */
        }
        ompi_request_free(&post->request);
        post_release(post);
    }
    return NULL == port->flying;
}

void mca_coll_wan_port_sweep(mca_coll_wan_port_t *port)
{
    int error;

    if (!opal_using_threads() && !mca_coll_wan_compat_peers_fail()) {
        return;
    }
    error = mca_coll_wan_compat_broken(port->comm);
    if (OMPI_SUCCESS != error) {
        if (OMPI_SUCCESS == port->error) {
            port->error = error;
        }
        if (NULL != port->run) {
            wan_run_abandon(port->run);
        }
    }
    for (wan_post_t *post = port->flying; NULL != post; post = post->next) {
        mca_coll_wan_compat_fail(post->request);
        if (mca_coll_wan_compat_complete(post->request)
            && 0 == __atomic_exchange_n(&post->claimed, 1, __ATOMIC_ACQ_REL)) {
            post_land(post, post->request->req_status.MPI_ERROR);
        }
    }
}

/*
 * How long what is under way gets to end by itself after an error.  Where others have died, those who live and have begun to
 * take a message of the caller's buffer go on as soon as they get a processor: it must not be given back before.
 */
#define CANCEL_PASSES 1000
#define CANCEL_NS INT64_C(1000000000)

bool mca_coll_wan_port_cancel(mca_coll_wan_port_t *port)
{
    const int64_t until = mca_coll_wan_compat_peers_fail() ? port_now_ns(port) + CANCEL_NS : 0;
    wan_post_t *post, *next;
    bool rest = false;

    for (post = port->flying; NULL != post; post = post->next) {
        if (post->receive && !mca_coll_wan_compat_complete(post->request)) {
            ompi_request_cancel(post->request);
        }
    }
    for (int i = 0; !mca_coll_wan_port_reap(port) && (i < CANCEL_PASSES || port_now_ns(port) < until); ++i) {
        opal_progress();
        mca_coll_wan_port_sweep(port);
    }
    /*
     * What still flies is given up: the request is freed by the PML when it ends, and its
     * memory may be read or written until then, so that post and scratch are leaked.
     */
    for (post = port->flying; NULL != post; post = next) {
        next = post->next;
        if (0 == __atomic_exchange_n(&post->claimed, 1, __ATOMIC_ACQ_REL)) {
            wan_run_complete(port->run, post->token, OMPI_ERR_UNREACH);
            ompi_request_free(&post->request);
            post_release(post);
            port->spare = post->next;
            rest = true;
        }
    }
    while (!mca_coll_wan_port_reap(port)) {
        continue;   /* claimed by another thread, which is about to push it */
    }
    if (rest) {
        port->scratch = NULL;
    }
    return rest;
}

/* ---- memory ----------------------------------------------------------------- */

static int port_reduce(void *ctx, const void *src, void *dst, size_t count)
{
    mca_coll_wan_port_t *port = ctx;

    ompi_op_reduce(port->op, (void *) src, dst, count, port->datatype);
    return WAN_OK;
}

static int port_copy(void *ctx, const void *src, void *dst, size_t count)
{
    mca_coll_wan_port_t *port = ctx;

    if (src == dst || 0 == count) {
        return WAN_OK;
    }
    return 0 <= ompi_datatype_copy_content_same_ddt(port->datatype, count, dst, (char *) src)
               ? WAN_OK
               : WAN_ERR_PORT;
}

/* Elements may begin before or after their address: the address is shifted, the memory fits. */
static void *port_scratch(void *ctx, size_t count)
{
    mca_coll_wan_port_t *port = ctx;
    ptrdiff_t gap = 0;
    ptrdiff_t span = opal_datatype_span(&port->datatype->super, count, &gap);
    wan_scratch_t *scratch = malloc(sizeof(*scratch) + (0 < span ? span : 1));

    if (NULL == scratch) {
        return NULL;
    }
    scratch->next = port->scratch;
    port->scratch = scratch;
    return (char *) scratch->data - gap;
}

const wan_port_t mca_coll_wan_port_pml = {
    .post_send = port_post_send,
    .post_recv = port_post_recv,
    .reduce = port_reduce,
    .copy = port_copy,
    .scratch = port_scratch,
    .now_ns = port_now_ns,
};

/* ---- life -------------------------------------------------------------------- */

void mca_coll_wan_port_construct(mca_coll_wan_port_t *port, struct ompi_communicator_t *comm,
                                 struct ompi_datatype_t *datatype, struct ompi_op_t *op)
{
    port->comm = comm;
    port->datatype = datatype;
    port->op = op;
    port->tag = 0;
    port->run = NULL;
    port->flying = NULL;
    port->landed = NULL;
    port->spare = NULL;
    port->scratch = NULL;
    port->error = OMPI_SUCCESS;
}

void mca_coll_wan_port_bind(mca_coll_wan_port_t *port, wan_run_t *run, int tag)
{
    port->run = run;
    port->tag = tag;
}

void mca_coll_wan_port_destruct(mca_coll_wan_port_t *port)
{
    wan_post_t *post, *next_post;
    wan_scratch_t *scratch, *next_scratch;

    for (post = port->spare; NULL != post; post = next_post) {
        next_post = post->next;
        free(post);
    }
    for (scratch = port->scratch; NULL != scratch; scratch = next_scratch) {
        next_scratch = scratch->next;
        free(scratch);
    }
    port->spare = NULL;
    port->scratch = NULL;
}
