/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that meet, part and meet again: a job of three spawns three, which have the same numbers as its own.
 * All of one job exchange bytes with all of the other, are merged and exchange bytes with all, part, and then those of each
 * job do so among themselves; that three times, connected anew.  Open MPI gives processes up in between, and makes new
 * objects of them.  Rank 0 prints "all right".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 100000, TIMES = 3, PROCESSES = 3 };
static unsigned char out[BYTES], in[BYTES];
static int wrong = 0;

static void fill(int from, int to, int round)
{
    unsigned x = (unsigned) (from * 31 + to * 17 + round * 7 + 1);

    for (int i = 0; i < BYTES; ++i) {
        out[i] = (unsigned char) ((x = x * 1664525u + 1013904223u) >> 24);
    }
}

static void take(MPI_Comm comm, int from, int to, int round, int count)
{
    memset(in, 0, (size_t) count);
    MPI_Recv(in, count, MPI_BYTE, from, round, comm, MPI_STATUS_IGNORE);
    fill(from, to, round);
    wrong += 0 != memcmp(in, out, (size_t) count);
}

static void give(MPI_Comm comm, int from, int to, int round, int count)
{
    fill(from, to, round);
    MPI_Send(out, count, MPI_BYTE, to, round, comm);
}

/* The new ones speak first: the others meet them when something comes. */
static void exchange(MPI_Comm other, int new_one, int round)
{
    int rank;

    MPI_Comm_rank(other, &rank);
    for (int step = 0; step < PROCESSES; ++step) {
        if (new_one) {
            give(other, rank, (rank + step) % PROCESSES, round, 0 == step ? 8 : BYTES);
            take(other, (rank + step) % PROCESSES, rank, round, BYTES);
        } else {
            take(other, (rank + PROCESSES - step) % PROCESSES, rank, round, 0 == step ? 8 : BYTES);
            give(other, rank, (rank + PROCESSES - step) % PROCESSES, round, BYTES);
        }
    }
}

/* All with all. */
static void turn(MPI_Comm comm, int round)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int step = 1; step < size; ++step) {
        const int to = (rank + step) % size, from = (rank + size - step) % size;

        fill(rank, to, round);
        MPI_Sendrecv(out, BYTES, MPI_BYTE, to, round, in, BYTES, MPI_BYTE, from, round, comm, MPI_STATUS_IGNORE);
        fill(from, rank, round);
        wrong += 0 != memcmp(in, out, BYTES);
    }
}

/* MPI_Comm_disconnect of Open MPI 4.1 waits without progress: nothing may be left to send. */
static void part(MPI_Comm *other)
{
    MPI_Barrier(*other);
    MPI_Comm_disconnect(other);
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm other;
    int rank, new_one, all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&other);
    new_one = MPI_COMM_NULL != other;
    if (new_one) {
        strncpy(port, argv[1], sizeof(port) - 1);
    } else {
        char *arguments[] = { port, NULL };

        if (0 == rank) {
            MPI_Open_port(MPI_INFO_NULL, port);
        }
        MPI_Comm_spawn(argv[0], arguments, PROCESSES, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    }
    for (int round = 0; round < 3 * TIMES; round += 3) {
        MPI_Comm merged;

        if (round > 0 && new_one) {
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
        } else if (round > 0) {
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
        }
        exchange(other, new_one, round);
        MPI_Intercomm_merge(other, new_one, &merged);
        turn(merged, round + 1);
        MPI_Comm_free(&merged);
        part(&other);
        turn(MPI_COMM_WORLD, round + 2);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!new_one && 0 == rank) {
        puts(0 == all ? "all right" : "WRONG");
    }
    MPI_Finalize();
    return 0 != all;
}
