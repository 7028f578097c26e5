/*
 * Adaptive trees: carries the messages of the core's nodes (wan_core.h) over
 * MPI_COMM_WORLD, from Open MPI's progress.  Not over the communicator that they
 * are about: what is under way when that is freed would meet the next one of the
 * same number.
 *
 * From the first communicator that uses trees to the end of MPI_COMM_WORLD:
 * others may wait for a word of this process even in MPI_Finalize.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <pthread.h>
#include <stdlib.h>

static struct {
    wan_item_t item;
    wan_trees_t *trees;
    wan_mail_t mail;
    bool world;             /* MPI_COMM_WORLD has a module of ours */
    bool under_way;
    int64_t numbers;        /* of communicators: given away; atomic */
} all;

/* This thread is in the PML with the lock of the trees: their messages wait if that comes back here by progress. */
static __thread bool sending;

bool mca_coll_wan_trees_sending(void)
{
    return sending;
}

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

static void message_send(void *ctx, int process, const void *head, size_t head_size, const void *payload, size_t payload_size,
                         size_t counted)
{
    (void) ctx;
    sending = true;
    mca_coll_wan_mail_send(&all.mail, process, head, head_size, payload, payload_size, counted);
    sending = false;
}

static void message_arrived(int process, size_t counted)
{
    (void) wan_trees_arrived(all.trees, process, counted, now_ns());
}

static int message_take(void *ctx, int rank, const void *bytes, size_t size)
{
    (void) ctx;
    return wan_trees_receive(all.trees, rank, bytes, size, now_ns());
}

static wan_step_t step(wan_item_t *item)
{
    unsigned taken = 0;

    (void) item;
    if (!all.under_way) {
        return WAN_STEP_OVER;
    }
    if (sending) {
        return WAN_STEP_IDLE;
    }
    (void) mca_coll_wan_mail_reap(&all.mail);
    if (0 != __atomic_load_n(&all.mail.lost, __ATOMIC_RELAXED)
        || WAN_OK != mca_coll_wan_mail_take(&all.mail, message_take, NULL, &taken)) {
        /* What we can do for the others is over; calls end with an error. */
        wan_trees_fail(all.trees);
        all.under_way = false;
        mca_coll_wan_mail_close(&all.mail);
        return WAN_STEP_OVER;
    }
    if (WAN_OK != wan_trees_step(all.trees, now_ns())) {
        wan_trees_fail(all.trees);
    }
    return 0 < taken ? WAN_STEP_WORKED : WAN_STEP_IDLE;
}

/* ---- communicators ---------------------------------------------------------- */

void mca_coll_wan_trees_world(struct ompi_communicator_t *comm)
{
    all.world = all.world || &ompi_mpi_comm_world.comm == comm;
}

/* One job, whose messages go over its MPI_COMM_WORLD: every rank comes to the same. */
static bool in_world(struct ompi_communicator_t *comm)
{
    if (!all.world) {
        return false;
    }
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        if (OPAL_PROC_MY_NAME.jobid != ompi_group_get_proc_name(comm->c_local_group, r).jobid) {
            return false;
        }
    }
    return true;
}

int64_t mca_coll_wan_trees_number(struct ompi_communicator_t *comm)
{
    if (!in_world(comm)) {
        return INT64_MAX;       /* the highest: for nobody */
    }
    return __atomic_add_fetch(&all.numbers, 1, __ATOMIC_RELAXED);
}

static bool begin_locked(void)
{
    if (NULL != all.trees) {
        return all.under_way;
    }
    if (WAN_OK != wan_trees_open(&mca_coll_wan_component.params, OPAL_PROC_MY_NAME.jobid, message_send, NULL, &all.trees)) {
        return false;
    }
    if (!mca_coll_wan_mail_open(&all.mail, &ompi_mpi_comm_world.comm, mca_coll_wan_mail_tag_trees(), WAN_TREES_MESSAGE_MAX)) {
        return false;
    }
    all.mail.arrived = message_arrived;
    all.under_way = true;
    all.item.step = step;
    mca_coll_wan_progress_add(&all.item);
    return true;
}

static bool begin(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool begun;

    pthread_mutex_lock(&lock);
    begun = begin_locked();
    pthread_mutex_unlock(&lock);
    return begun;
}

int mca_coll_wan_trees_use(mca_coll_wan_module_t *module, int64_t number)
{
    struct ompi_communicator_t *comm = module->comm;
    const int size = ompi_comm_size(comm);
    int64_t numbers = __atomic_load_n(&all.numbers, __ATOMIC_RELAXED);
    int *processes;
    int rc;

    if (INT64_MAX == number) {
        return OMPI_SUCCESS;
    }
    while (numbers < number && !__atomic_compare_exchange_n(&all.numbers, &numbers, number, true, __ATOMIC_RELAXED,
                                                            __ATOMIC_RELAXED)) {
        continue;
    }
    if (!wan_comm_wants_trees(module->view)) {
        return OMPI_SUCCESS;
    }
    processes = malloc(size * sizeof(*processes));
    if (NULL == processes || !begin()) {
        free(processes);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int r = 0; r < size; ++r) {
        processes[r] = (int) ompi_group_get_proc_name(comm->c_local_group, r).vpid;
    }
    rc = mca_coll_wan_code(wan_comm_use_trees(module->view, all.trees,
                                              (uint64_t) number << 32 | mca_coll_wan_compat_cid_everywhere(comm),
                                              processes, now_ns()), NULL, NULL);
    free(processes);
    return rc;
}

void mca_coll_wan_trees_end(struct ompi_communicator_t *comm)
{
    if (&ompi_mpi_comm_world.comm == comm) {
        all.world = false;
    }
    if (all.under_way && comm == all.mail.comm) {
        all.under_way = false;
        mca_coll_wan_mail_close(&all.mail);
    }
}

void mca_coll_wan_trees_close(void)
{
    wan_trees_close(all.trees);
    all.trees = NULL;
}
