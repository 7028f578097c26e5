/*
 * What coll/wan costs a blocking call that it hands to the module before it: while sites are
 * being discovered (watching), and when there is one site only (off).  In place of that module
 * stands a function that does nothing, so that nothing else is in the time, neither messages.
 *
 * Each round times the same calls of that function straight, then through coll/wan; the lines tell
 * the median of the differences over rounds, the least and the most.  Run it on two hosts that have no names:
 *
 *     mpirun -np 2 ... pass_bench [ROUNDS [CALLS]]
 *     rank 0: watching 2.10 ns a call (1.90 to 2.60), off 2.00 ns a call (1.80 to 2.50), 20 rounds of 1000000
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned long done;

static int nothing(void *buffer, int count, struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                   mca_coll_base_module_t *module)
{
    (void) buffer, (void) count, (void) type, (void) root, (void) comm, (void) module;
    ++done;
    return OMPI_SUCCESS;
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double) t.tv_sec + (double) t.tv_nsec;
}

typedef int (*bcast_t)(void *, int, struct ompi_datatype_t *, int, struct ompi_communicator_t *, mca_coll_base_module_t *);

static double calls_time(bcast_t volatile bcast, struct ompi_communicator_t *comm, mca_coll_base_module_t *module, long calls)
{
    const double began = now_ns();

    for (long i = 0; i < calls; ++i) {
        bcast(NULL, 0, &ompi_mpi_byte.dt, 0, comm, module);
    }
    return (now_ns() - began) / (double) calls;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Prints; 1: a call did not go where it should. */
static int state_time(const char *name, mca_coll_wan_module_t *module, wan_state_t state, int rounds, long calls, double *differences)
{
    struct ompi_communicator_t *comm = module->comm;
    mca_coll_base_module_t *saved = module->saved.coll_bcast_module;
    const uint64_t passed = module->passed;
    const unsigned long before = done;

    module->state = state;
    for (int i = 0; i < rounds; ++i) {
        const double straight = calls_time(nothing, comm, saved, calls);

        differences[i] = calls_time(comm->c_coll->coll_bcast, comm, comm->c_coll->coll_bcast_module, calls) - straight;
    }
    qsort(differences, rounds, sizeof(*differences), compare);
    printf("%s %.2f ns a call (%.2f to %.2f), ", name, differences[rounds / 2], differences[0], differences[rounds - 1]);
    return done - before != 2ul * rounds * calls || module->passed - passed != (uint64_t) rounds * calls;
}

int main(int argc, char **argv)
{
    const int rounds = 1 < argc ? atoi(argv[1]) : 20;
    const long calls = 2 < argc ? atol(argv[2]) : 1000000;
    struct ompi_communicator_t *comm = &ompi_mpi_comm_world.comm;
    mca_coll_wan_module_t *module;
    double *differences;
    int rank, wrong;

    if (1 > rounds || 1 > calls) {
        fprintf(stderr, "pass_bench: give numbers of rounds and calls, both at least 1\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    module = (mca_coll_wan_module_t *) comm->c_coll->coll_bcast_module;
    differences = malloc(rounds * sizeof(*differences));
    /* (A module of others is no shorter than what tells whose it is.) */
    if (NULL == differences || 0 != strcmp("mca_coll_wan_module_t", module->super.super.obj_class->cls_name)
        || WAN_STATE_WATCHING != module->state) {
        fprintf(stderr, "pass_bench: coll/wan does not wait for the sites of this job: run it on several hosts without names\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    {
        const bcast_t saved = module->saved.coll_bcast;
        const unsigned look = module->look;

        module->saved.coll_bcast = nothing;
        module->look = UINT_MAX;      /* nobody is asked whether sites are known */
        printf("rank %d: ", rank);
        wrong = state_time("watching", module, WAN_STATE_WATCHING, rounds, calls, differences);
        wrong |= state_time("off", module, WAN_STATE_OFF, rounds, calls, differences);
        printf("%d rounds of %ld%s\n", rounds, calls, wrong ? ": WRONG, calls went elsewhere" : "");
        module->saved.coll_bcast = saved;
        module->look = look;
        module->state = WAN_STATE_WATCHING;
    }
    free(differences);
    fflush(stdout);
    MPI_Finalize();
    return wrong;
}
