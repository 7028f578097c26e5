/*
 * Discovery of the sites of a job: carries the messages of the core's state
 * machine (wan_core.h) over MPI_COMM_WORLD, from Open MPI's progress, and keeps
 * what it finds.
 *
 * One receive from any source is posted, under a tag at the far end of those
 * for collectives, until the sites are known; then nothing of this is left but a
 * table.  A job that ends earlier takes it back.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wan_letter {
    struct wan_letter *next;
    ompi_request_t *request;
    char bytes[];
} wan_letter_t;

static struct {
    wan_item_t item;
    struct ompi_communicator_t *comm;   /* NULL: not under way */
    wan_discovery_t *machine;
    ompi_request_t *receive;
    wan_letter_t *letters;
    char incoming[WAN_DISCOVERY_MESSAGE_MAX];
    char (*names)[24];                  /* of sites, once known */
    int known;                          /* atomic */
    int64_t began_ns;                   /* when MPI_COMM_WORLD was made */
} discover;

/* Open MPI's own collectives on MPI_COMM_WORLD count from the other end, or from half of it. */
static int letter_tag(void)
{
    return 2 - mca_pml.pml_max_tag;
}

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

/* ---- messages ---------------------------------------------------------------- */

/* What cannot be sent is lost: then the sites stay unknown, and calls Open MPI's own. */
static void letter_send(void *ctx, int rank, const void *bytes, size_t size)
{
    wan_letter_t *letter = malloc(sizeof(*letter) + size);

    (void) ctx;
    if (NULL == letter) {
        return;
    }
    memcpy(letter->bytes, bytes, size);
    if (OMPI_SUCCESS != MCA_PML_CALL(isend(letter->bytes, size, &ompi_mpi_byte.dt, rank, letter_tag(),
                                           MCA_PML_BASE_SEND_STANDARD, discover.comm, &letter->request))) {
        free(letter);
        return;
    }
    letter->next = discover.letters;
    discover.letters = letter;
}

static void letters_reap(void)
{
    for (wan_letter_t **link = &discover.letters, *letter; NULL != (letter = *link);) {
        if (REQUEST_COMPLETE(letter->request)) {
            *link = letter->next;
            ompi_request_free(&letter->request);
            free(letter);
        } else {
            link = &letter->next;
        }
    }
}

static bool receive_post(void)
{
    return OMPI_SUCCESS == MCA_PML_CALL(irecv(discover.incoming, sizeof(discover.incoming), &ompi_mpi_byte.dt,
                                              MPI_ANY_SOURCE, letter_tag(), discover.comm, &discover.receive));
}

static void receive_cancel(void)
{
    ompi_request_t *receive = discover.receive;

    discover.receive = NULL;
    if (NULL != receive) {
        (void) ompi_request_cancel(receive);
        ompi_request_free(&receive);    /* at once, or when it completes */
    }
}

/* ---- the machine ------------------------------------------------------------------ */

static bool job_ends(void)
{
    return OMPI_MPI_STATE_FINALIZE_STARTED <= ompi_mpi_state;
}

static void sites_keep(void)
{
    const int sites = wan_discovery_sites(discover.machine);
    char text[256];

    discover.names = calloc(sites, sizeof(*discover.names));
    if (NULL == discover.names) {
        return;     /* this rank never knows, and says so in every exchange */
    }
    for (int i = 0; i < sites; ++i) {
        snprintf(discover.names[i], sizeof(*discover.names), "measured/%d", i);
    }
    if (0 == ompi_comm_rank(discover.comm)) {
        wan_discovery_describe(discover.machine, text, sizeof(text));
        WAN_VERBOSE(1, "measured: %s; this took %lld ms", text,
                    (long long) (now_ns() - discover.began_ns) / 1000000);
    }
    __atomic_store_n(&discover.known, 1, __ATOMIC_RELEASE);
}

/* WAN_OK: goes on. */
static int messages_take(void)
{
    int code = wan_discovery_look(discover.machine, now_ns());

    if (WAN_OK == code && NULL == discover.receive && !receive_post()) {
        return WAN_ERR_PORT;
    }
    while (WAN_OK == code && REQUEST_COMPLETE(discover.receive)) {
        ompi_status_public_t status;
        char bytes[WAN_DISCOVERY_MESSAGE_MAX];

        __atomic_thread_fence(__ATOMIC_ACQUIRE);    /* another thread may have completed it */
        status = discover.receive->req_status;
        if (MPI_SUCCESS != status.MPI_ERROR) {
            return WAN_ERR_PORT;
        }
        memcpy(bytes, discover.incoming, status._ucount);
        ompi_request_free(&discover.receive);
        discover.receive = NULL;
        if (!receive_post()) {
            return WAN_ERR_PORT;
        }
        code = wan_discovery_receive(discover.machine, status.MPI_SOURCE, bytes, status._ucount);
    }
    return code;
}

static bool discover_step(wan_item_t *item)
{
    int code = WAN_ERR_PORT;

    (void) item;
    if (NULL == discover.comm) {
        return true;
    }
    if (!job_ends()) {
        letters_reap();
        code = 0 == discover.known ? messages_take() : WAN_DONE;
        if (WAN_OK == code) {
            return false;
        }
        if (WAN_DONE == code && 0 == discover.known) {
            receive_cancel();
            sites_keep();
        }
        if (WAN_DONE == code && NULL != discover.letters) {
            return false;       /* what is to be passed on */
        }
    }
    mca_coll_wan_discover_end(discover.comm);
    return true;
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
        || WAN_OK != wan_discovery_open(peers, size, ompi_comm_rank(comm), letter_send, NULL, &discover.machine)) {
        wan_discovery_close(discover.machine);
        discover.machine = NULL;
    } else {
        discover.comm = comm;
        discover.began_ns = now_ns();
        discover.item.step = discover_step;
        mca_coll_wan_progress_add(&discover.item);
    }
    free(peers);
}

void mca_coll_wan_discover_end(struct ompi_communicator_t *comm)
{
    if (NULL == discover.comm || comm != discover.comm) {
        return;
    }
    discover.comm = NULL;
    receive_cancel();
    letters_reap();
    discover.letters = NULL;    /* what is still under way is leaked: the job ends */
}

void mca_coll_wan_discover_close(void)
{
    discover.comm = NULL;
    __atomic_store_n(&discover.known, 0, __ATOMIC_RELEASE);
    free(discover.names);
    discover.names = NULL;
    wan_discovery_close(discover.machine);
    discover.machine = NULL;
}

bool mca_coll_wan_discover_known(void)
{
    return 0 != __atomic_load_n(&discover.known, __ATOMIC_ACQUIRE);
}

const char *mca_coll_wan_discover_site(opal_process_name_t name)
{
    if (!mca_coll_wan_discover_known() || name.jobid != OPAL_PROC_MY_NAME.jobid
        || name.vpid >= (unsigned) ompi_comm_size(&ompi_mpi_comm_world.comm)) {
        return "";
    }
    return discover.names[wan_discovery_site(discover.machine, (int) name.vpid)];
}
