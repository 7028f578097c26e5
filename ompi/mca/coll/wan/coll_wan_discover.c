/*
 * Discovery of the sites of a job: carries the messages of the core's state
 * machine (wan_core.h) over MPI_COMM_WORLD, from Open MPI's progress, and keeps
 * what it finds.
 *
 * One receive from any source is posted, under a tag at the far end of those
 * for collectives, until the sites and the ways between them are known; then nothing of this is left but a
 * table.  A job that ends earlier takes it back.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    wan_item_t item;
    struct ompi_communicator_t *comm;   /* NULL: not under way */
    wan_discovery_t *machine;
    wan_mail_t mail;
    char (*names)[WAN_DISCOVERY_NAME_MAX];      /* of places, once known */
    int known;                          /* atomic */
    bool sent;                          /* atomic; all, since MPI_Finalize began */
    bool complete;                      /* and what is measured beyond that */
    int64_t began_ns;                   /* when MPI_COMM_WORLD was made */
} discover;

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

/* ---- messages ---------------------------------------------------------------- */

/* What cannot be sent is lost: then the sites stay unknown, and calls Open MPI's own. */
static void letter_send(void *ctx, int rank, const void *bytes, size_t size)
{
    (void) ctx;
    mca_coll_wan_mail_send(&discover.mail, rank, bytes, size, NULL, 0, 0);
}

static int letter_take(void *ctx, int rank, const void *bytes, size_t size)
{
    (void) ctx;
    return wan_discovery_receive(discover.machine, rank, bytes, size, now_ns());
}

static int letter_drop(void *ctx, int rank, const void *bytes, size_t size)
{
    (void) ctx, (void) rank, (void) bytes, (void) size;
    return WAN_OK;
}

/* ---- the machine ------------------------------------------------------------------ */

static bool job_ends(void)
{
    return OMPI_MPI_STATE_FINALIZE_STARTED <= ompi_mpi_state;
}

static void sites_keep(void)
{
    const int places = wan_discovery_places(discover.machine);
    char text[512];

    discover.names = calloc(places, sizeof(*discover.names));
    if (NULL == discover.names) {
        return;     /* this rank never knows, and says so in every exchange */
    }
    for (int i = 0; i < places; ++i) {
        wan_discovery_name(discover.machine, i, discover.names[i]);
    }
    if (0 == ompi_comm_rank(discover.comm)) {
        wan_discovery_describe(discover.machine, text, sizeof(text));
        WAN_VERBOSE(1, "measured: %s; this took %lld ms", text,
                    (long long) (now_ns() - discover.began_ns) / 1000000);
        mca_coll_wan_report_event("sites_found", text);
    }
    __atomic_store_n(&discover.known, 1, __ATOMIC_RELEASE);
}

static void ways_say(void)
{
    char *text = NULL;
    int size;

    if (0 != ompi_comm_rank(discover.comm)) {
        return;
    }
    size = wan_discovery_describe_ways(discover.machine, NULL, 0) + 1;
    if (1 < size && NULL != (text = malloc(size))) {
        (void) wan_discovery_describe_ways(discover.machine, text, size);
        WAN_VERBOSE(2, "measured: %s", text);
        mca_coll_wan_report_event("ways_measured", text);
    }
    free(text);
}

/* WAN_OK: goes on; WAN_DONE: nothing comes any more. */
static int messages_take(void)
{
    unsigned taken = 0;
    int code = wan_discovery_look(discover.machine, now_ns(), mca_coll_wan_progress_read());

    if (WAN_OK == code) {
        code = mca_coll_wan_mail_take(&discover.mail, letter_take, NULL, &taken);
    }
    if (WAN_OK == code && 0 == discover.known && wan_discovery_known(discover.machine)) {
        sites_keep();
    }
    return WAN_OK == code && wan_discovery_complete(discover.machine) ? WAN_DONE : code;
}

static wan_step_t discover_step(wan_item_t *item)
{
    int code = WAN_ERR_PORT;
    unsigned dropped = 0;
    bool sent;

    (void) item;
    if (NULL == discover.comm) {
        return WAN_STEP_OVER;
    }
    sent = mca_coll_wan_mail_reap(&discover.mail);
    if (job_ends()) {
        /* Others may be sending still, and wait until it has come: to the end of MPI_COMM_WORLD. */
        if (discover.complete || WAN_OK == mca_coll_wan_mail_take(&discover.mail, letter_drop, NULL, &dropped)) {
            __atomic_store_n(&discover.sent, sent, __ATOMIC_RELEASE);
            return WAN_STEP_IDLE;
        }
    } else {
        code = discover.complete ? WAN_DONE : messages_take();
        if (WAN_OK == code) {
            return WAN_STEP_IDLE;
        }
        if (WAN_DONE == code && !discover.complete) {
            discover.complete = true;
            mca_coll_wan_mail_stop(&discover.mail);
            ways_say();
        }
        if (WAN_DONE == code && !sent) {
            return WAN_STEP_IDLE;       /* what is to be passed on */
        }
    }
    mca_coll_wan_discover_end(discover.comm);
    return WAN_STEP_OVER;
}

void mca_coll_wan_discover_begin(struct ompi_communicator_t *comm)
{
    const int size = ompi_comm_size(comm);
    wan_peer_t *peers;

    if (&ompi_mpi_comm_world.comm != comm || NULL != discover.machine) {
        return;
    }
    peers = calloc(size, sizeof(*peers));
    if (NULL == peers || !mca_coll_wan_peers_fill(comm, peers)
        || !mca_coll_wan_mail_open(&discover.mail, comm, mca_coll_wan_mail_tag_discover(), WAN_DISCOVERY_MESSAGE_MAX)
        || WAN_OK != wan_discovery_open(&mca_coll_wan_component.params, OPAL_PROC_MY_NAME.jobid, peers, size,
                                         ompi_comm_rank(comm), letter_send, NULL, &discover.machine)) {
        wan_discovery_close(discover.machine);
        discover.machine = NULL;
    } else {
        discover.comm = comm;
        discover.began_ns = now_ns();
        discover.item.step = discover_step;
        discover.item.prompt = true;
        mca_coll_wan_progress_add(&discover.item);
    }
    free(peers);
}

void mca_coll_wan_discover_finalize(void)
{
    const int64_t until_ns = now_ns() + WAN_LEAVES_WITHIN_NS;

    while (NULL != discover.comm && !__atomic_load_n(&discover.sent, __ATOMIC_ACQUIRE) && now_ns() < until_ns) {
        opal_progress();
    }
}

void mca_coll_wan_discover_end(struct ompi_communicator_t *comm)
{
    if (NULL == discover.comm || comm != discover.comm) {
        return;
    }
    __atomic_store_n(&discover.comm, NULL, __ATOMIC_RELEASE);
    mca_coll_wan_mail_close(&discover.mail);
}

void mca_coll_wan_discover_close(void)
{
    discover.comm = NULL;
    __atomic_store_n(&discover.known, 0, __ATOMIC_RELEASE);
    free(discover.names);
    discover.names = NULL;
    wan_discovery_close(discover.machine);
    discover.machine = NULL;
    discover.complete = discover.sent = false;
}

int mca_coll_wan_discover_known(void)
{
    /* In this order: who ends it has set `known` before. */
    const bool over = NULL == __atomic_load_n(&discover.comm, __ATOMIC_ACQUIRE);

    return __atomic_load_n(&discover.known, __ATOMIC_ACQUIRE) ? 1 : over ? -1 : 0;
}

const char *mca_coll_wan_discover_site(opal_process_name_t name)
{
    if (1 != mca_coll_wan_discover_known() || name.jobid != OPAL_PROC_MY_NAME.jobid
        || name.vpid >= (unsigned) ompi_comm_size(&ompi_mpi_comm_world.comm)) {
        return "";
    }
    return discover.names[wan_discovery_place(discover.machine, (int) name.vpid)];
}
