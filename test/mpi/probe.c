/*
 * Who served?  Three rounds of Bcast (every root) and Allreduce with changing,
 * verified data, then one line per rank with coll/wan's counters, read through
 * MPI_T alone:
 *
 *     rank 0: bcast 12 allreduce 3 passed 0 wan_messages 9
 *     rank 0: then served 1 one_site 1 intercommunicator 1     (communicators made after that)
 *     rank 0: absent                              (no such counters)
 *
 * Exit code 1 when a result is wrong.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define COUNTERS 7
#define ROUNDS 3
#define COUNT 257

static const char *const names[COUNTERS] = {
    "coll_wan_served_bcast", "coll_wan_served_allreduce", "coll_wan_passed",
    "coll_wan_wan_messages", "coll_wan_communicators", "coll_wan_refused_one_site",
    "coll_wan_refused_intercommunicator",
};

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[COUNTERS];

static int counters_open(void)
{
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < COUNTERS; ++i) {
        int index, count;

        if (MPI_SUCCESS != MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index)
            || MPI_SUCCESS != MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count)) {
            return 0;
        }
    }
    return 1;
}

static int rounds_run(int rank, int size)
{
    int wrong = 0;

    for (int round = 0; round < ROUNDS; ++round) {
        int values[COUNT], sums[COUNT];

        for (int root = 0; root < size; ++root) {
            for (int i = 0; i < COUNT; ++i) {
                values[i] = rank == root ? 1000 * root + i + round : -1;
            }
            MPI_Bcast(values, COUNT, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < COUNT; ++i) {
                wrong += values[i] != 1000 * root + i + round;
            }
        }
        for (int i = 0; i < COUNT; ++i) {
            values[i] = rank + i * round;
        }
        MPI_Allreduce(values, sums, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; ++i) {
            wrong += sums[i] != size * (size - 1) / 2 + size * i * round;
        }
    }
    return wrong;
}

/* More communicators: of several sites, of one, and between the sites. */
static void communicators_make(int rank)
{
    MPI_Comm all, half, between;

    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Barrier(all);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, all, 1 - rank % 2, 7, &between);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Comm_free(&all);
}

static void counters_read(unsigned long long *values)
{
    for (int i = 0; i < COUNTERS; ++i) {
        MPI_T_pvar_read(session, handles[i], &values[i]);
    }
}

int main(int argc, char **argv)
{
    unsigned long long values[COUNTERS], later[COUNTERS];
    char line[256];
    int provided, rank, size, wrong, open;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    open = counters_open();
    wrong = rounds_run(rank, size);
    if (open) {
        counters_read(values);
        snprintf(line, sizeof(line), "rank %d: bcast %llu allreduce %llu passed %llu wan_messages %llu\n",
                 rank, values[0], values[1], values[2], values[3]);
    } else {
        snprintf(line, sizeof(line), "rank %d: absent\n", rank);
    }
    fputs(line, stdout);
    if (0 != wrong) {
        printf("rank %d: %d wrong values\n", rank, wrong);
    }
    fflush(stdout);
    communicators_make(rank);
    if (open) {
        counters_read(later);
        printf("rank %d: then served %llu one_site %llu intercommunicator %llu\n", rank,
               later[4] - values[4], later[5] - values[5], later[6] - values[6]);
        fflush(stdout);
    }
    MPI_T_pvar_session_free(&session);
    /* 4.1.4 crashes when this comes after MPI_Finalize. */
    MPI_T_finalize();
    MPI_Finalize();
    return 0 != wrong;
}
