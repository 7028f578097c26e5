/*
 * Adaptive trees (wan_core.h): which communicators have them, and their steps, from
 * Open MPI's progress.  Messages do not go over the communicator that they are about: what
 * is under way when that is freed would meet the next one of the same number.
 *
 * Communicators of one job share a way over MPI_COMM_WORLD, from the first that uses
 * trees to its end: others may wait for a word of this process even in MPI_Finalize, of one kind (wan_trees_quiet()).
 * One of several jobs (spawned, connected) has no such communicator: it gets a way
 * over a copy of its own, made in its first blocking collective.  Its processes have numbers of that way there, which go with it; what is
 * measured of them is kept by Open MPI's names of them, for all communicators in which they are met.
 *
 * Next: coll_wan_ways.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan_ways.h"

#include <pthread.h>
#include <stdlib.h>

static struct {
    wan_item_t item;
    wan_trees_t *trees;
    bool world;             /* MPI_COMM_WORLD has a module of ours */
    bool under_way;
    int processes;          /* numbers given, by which messages go: this job's own, then those of ranks of ways over copies */
    int64_t numbers;        /* of communicators: given away; */
    int asking;             /* of these, nobody knows yet whose they are; both under `lock` */
    bool late;              /* they are settled, and the core is not told yet; atomic */
} all;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

/*
 * Where nobody asks any more, those of the numbers so far that are not in use here never will be.  Who is sending has the lock
 * that telling takes: the next step tells.
 */
static void pass_if_settled(void)
{
    const bool late = mca_coll_wan_trees_sending();
    int64_t over = 0;

    pthread_mutex_lock(&lock);
    if (0 == all.asking && NULL != all.trees) {
        __atomic_store_n(&all.late, late, __ATOMIC_RELAXED);
        over = late ? 0 : all.numbers + 1;
    }
    pthread_mutex_unlock(&lock);
    if (0 < over) {
        (void) wan_trees_pass(all.trees, over, now_ns());
    }
}

static void close_ways(void)
{
    all.under_way = false;
    mca_coll_wan_ways_close();
}

static wan_step_t step(wan_item_t *item)
{
    unsigned taken = 0;

    (void) item;
    if (!all.under_way) {
        return WAN_STEP_OVER;
    }
    if (__atomic_load_n(&all.late, __ATOMIC_RELAXED)) {
        pass_if_settled();
    }
    if (!mca_coll_wan_ways_enter()) {
        return WAN_STEP_IDLE;
    }
    if (!mca_coll_wan_ways_step(&taken)) {      /* what we can do for the others is over; calls end with an error */
        wan_trees_fail(all.trees);
        close_ways();
    }
    if (all.under_way && WAN_OK != wan_trees_step(all.trees, now_ns())) {
        wan_trees_fail(all.trees);
    }
    mca_coll_wan_ways_leave();
    return !all.under_way ? WAN_STEP_OVER : 0 < taken ? WAN_STEP_WORKED : WAN_STEP_IDLE;
}

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
    if (WAN_OK != wan_trees_open(&mca_coll_wan_component.params, OPAL_PROC_MY_NAME.jobid, mca_coll_wan_ways_send, NULL,
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

/* The one of this job, once made, or a new one over `copy`. */
static wan_way_t *way_for(struct ompi_communicator_t *of, struct ompi_communicator_t *copy)
{
    wan_way_t *way = NULL;

    pthread_mutex_lock(&lock);
    if (begin_locked()) {
        if (NULL != copy) {
            way = mca_coll_wan_ways_open(all.trees, of, copy, all.processes);
            all.processes += NULL == way ? 0 : ompi_comm_size(copy);
        } else if (NULL == (way = mca_coll_wan_ways_find(NULL))) {
            way = mca_coll_wan_ways_open(all.trees, NULL, &ompi_mpi_comm_world.comm, 0);
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
    if (INT64_MAX == asked) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (INT64_MAX != agreed && all.numbers < agreed) {
        all.numbers = agreed;
    }
    --all.asking;
    pthread_mutex_unlock(&lock);
    pass_if_settled();
}

int mca_coll_wan_trees_use(mca_coll_wan_module_t *module, int64_t number, bool waits)
{
    struct ompi_communicator_t *comm = module->comm, *copy = NULL;
    const int size = ompi_comm_size(comm);
    const bool one_job = of_this_job(comm);
    wan_tree_peer_t *peers;
    wan_way_t *way;
    int known, rc;

    if (INT64_MAX == number) {
        return OMPI_SUCCESS;
    }
    if (!wan_comm_wants_trees(module->view) || (!one_job && !waits)) {
        return OMPI_SUCCESS;
    }
    if (!one_job && OMPI_SUCCESS != (rc = mca_coll_wan_module_copy(module, &copy))) {
        return rc;
    }
    peers = malloc(size * sizeof(*peers));
    way = NULL == peers ? NULL : way_for(comm, copy);
    if (NULL == way) {
        free(peers);
        return OMPI_ERR_OUT_OF_RESOURCE;    /* a copy stays: others may use theirs */
    }
    for (int r = 0; r < size; ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);

        peers[r].process = mca_coll_wan_ways_process(way, one_job ? (int) name.vpid : r);
        peers[r].job = name.jobid;
        peers[r].rank = name.vpid;
    }
    rc = mca_coll_wan_code(wan_comm_use_trees(module->view, all.trees,
                                              (uint64_t) number, mca_coll_wan_compat_cid_everywhere(comm), peers,
                                              now_ns(), &known), NULL, NULL);
    free(peers);
    if (OMPI_SUCCESS == rc && 0 == ompi_comm_rank(comm) && 3 <= mca_coll_wan_component.params.verbose) {
        char name[WAN_COMMUNICATOR_MAX];

        WAN_VERBOSE(3, "%s: adaptive trees: %d of %d other processes are known from before", mca_coll_wan_message_communicator(comm, name),
                    known, size - 1);
    }
    return rc;
}

void mca_coll_wan_trees_finalize(void)
{
    const int64_t until_ns = now_ns() + WAN_LEAVES_WITHIN_NS;

    if (!all.under_way) {
        return;
    }
    wan_trees_quiet(all.trees);
    while (all.under_way && !mca_coll_wan_ways_sent() && now_ns() < until_ns) {
        opal_progress();
    }
}

void mca_coll_wan_trees_end(struct ompi_communicator_t *comm)
{
    wan_way_t *way;

    if (&ompi_mpi_comm_world.comm == comm) {
        all.world = false;
        if (all.under_way) {
            close_ways();
        }
        return;
    }
    way = NULL == comm ? NULL : mca_coll_wan_ways_find(comm);
    if (NULL != way && all.under_way) {
        mca_coll_wan_ways_end(way);
    }
}

void mca_coll_wan_trees_close(void)
{
    wan_trees_close(all.trees);
    all.trees = NULL;
}
