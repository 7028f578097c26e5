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
#include "counters.hpp"

#include <cstdio>

#define ROUNDS 3
#define COUNT 257

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

int main(int argc, char **argv)
{
    int provided, rank, size;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wan_counters calls, communicators;
    const bool there = calls.open({"served_bcast", "served_allreduce", "passed", "wan_messages"})
                       && communicators.open({"communicators", "refused_one_site", "refused_intercommunicator"});
    const int wrong = rounds_run(rank, size);
    if (there)
        std::printf("rank %d: bcast %llu allreduce %llu passed %llu wan_messages %llu\n", rank, calls[0], calls[1], calls[2], calls[3]);
    else
        std::printf("rank %d: absent\n", rank);
    if (0 != wrong)
        std::printf("rank %d: %d wrong values\n", rank, wrong);
    std::fflush(stdout);
    const unsigned long long before[] = {communicators[0], communicators[1], communicators[2]};
    communicators_make(rank);
    if (there) {
        std::printf("rank %d: then served %llu one_site %llu intercommunicator %llu\n", rank, communicators[0] - before[0],
                    communicators[1] - before[1], communicators[2] - before[2]);
        std::fflush(stdout);
    }
    calls.close();
    communicators.close();
    /* 4.1.4 crashes when this comes after MPI_Finalize. */
    MPI_T_finalize();
    MPI_Finalize();
    return 0 != wrong;
}
