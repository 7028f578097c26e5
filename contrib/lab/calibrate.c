/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the lab does to an MPI job, without any collective under test: latency of a
 * short message across the WAN and inside a site while all other ranks are idle, how
 * late the last of all ranks wakes at one clock instant, and the rates of a NIC and
 * of an uplink. Build and run:
 *
 *   mpicc -O2 -o calibrate contrib/lab/calibrate.c && lab run --stat ./calibrate
 *
 * Ranks must be placed in blocks (the default): rank 0 and the last rank lie in
 * different sites, ranks 0 and 1 in the same.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 100, WAKES = 60, MAX_BYTES = 16 << 20 };

static int rank, ranks;
static char *buffer;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* one machine, one clock */
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int smaller_first(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static void show(const char *what, double *values, int count, const char *unit)
{
    qsort(values, count, sizeof *values, smaller_first);
    printf("%-28s median %8.3f  p10 %8.3f  p90 %8.3f  max %8.3f %s\n", what, values[count / 2],
           values[count / 10], values[count * 9 / 10], values[count - 1], unit);
    fflush(stdout);
}

static void ping_pong(const char *what, int peer)
{
    double one_way[ROUNDS];
    for (int i = 0; i < ROUNDS + 5; ++i) {
        if (rank == 0) {
            double start = now_ms();
            MPI_Send(buffer, 4, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(buffer, 4, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (i >= 5) {
                one_way[i - 5] = (now_ms() - start) / 2;
            }
        } else if (rank == peer) {
            MPI_Recv(buffer, 4, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, 4, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        show(what, one_way, ROUNDS, "ms");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void wake_up(void)
{
    double late[WAKES], all = 0;
    for (int i = 0; i < WAKES + 3; ++i) {
        double start = now_ms() + 150, mine;
        MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        struct timespec at = {(time_t) (start / 1e3), 0};
        at.tv_nsec = (long) ((start - at.tv_sec * 1e3) * 1e6);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        mine = now_ms() - start;
        MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (i >= 3) {
            late[i - 3] = all;
        }
    }
    if (rank == 0) {
        show("last of all ranks awake", late, WAKES, "ms");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Pairs (i, ranks/2 + i), i < pairs, send at once; rate of the whole. */
static void flow(const char *what, int pairs, int bytes, int rounds)
{
    double rate[16];
    char byte = 0;
    for (int i = 0; i < rounds; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_ms(), took, longest;
        if (rank < pairs) {
            MPI_Send(buffer, bytes, MPI_BYTE, ranks / 2 + rank, 2, MPI_COMM_WORLD);
            MPI_Recv(&byte, 1, MPI_BYTE, ranks / 2 + rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank >= ranks / 2 && rank < ranks / 2 + pairs) {
            MPI_Recv(buffer, bytes, MPI_BYTE, rank - ranks / 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&byte, 1, MPI_BYTE, rank - ranks / 2, 3, MPI_COMM_WORLD);
        }
        took = now_ms() - start;
        MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        rate[i] = (double) bytes * pairs / longest / 1e3;
    }
    if (rank == 0) {
        show(what, rate, rounds, "MB/s");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    buffer = calloc(1, MAX_BYTES);
    if (ranks < 4 || buffer == NULL) {
        fprintf(stderr, "calibrate: needs 4 ranks and 16 MB each\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    ping_pong("4 B across the WAN, one way", ranks - 1);
    ping_pong("4 B inside a site, one way", 1);
    wake_up();
    if (argc < 2) { /* any argument: without the flows */
        flow("16 MB, one pair", 1, MAX_BYTES, 3);
        flow("4 MB, every pair at once", ranks / 2, 4 << 20, 3);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
