/*
 * The first calls of a program: so many of one collective on MPI_COMM_WORLD, from MPI_Init on.
 *
 * Usage: first_calls_worker bcast|allreduce BYTES CALLS
 * Prints the time of them all in ms, of the rank on which they took longest.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, bytes, calls;
    double began, mine, longest;
    char *in, *out;

    MPI_Init(&argc, &argv);
    if (4 != argc || (strcmp(argv[1], "bcast") && strcmp(argv[1], "allreduce")) || 1 > (bytes = atoi(argv[2])) || 1 > (calls = atoi(argv[3]))) {
        fprintf(stderr, "usage: first_calls_worker bcast|allreduce BYTES CALLS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    in = calloc(1, (size_t) bytes + sizeof(double));
    out = calloc(1, (size_t) bytes + sizeof(double));
    if (NULL == in || NULL == out) {
        fprintf(stderr, "first_calls_worker: no memory for %d bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    /* All have come, by a ring: no collective before those that count. */
    MPI_Sendrecv(in, 1, MPI_CHAR, (rank + 1) % size, 0, out, 1, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    began = MPI_Wtime();
    for (int i = 0; i < calls; ++i) {
        if (!strcmp(argv[1], "bcast")) {
            MPI_Bcast(in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        } else {
            MPI_Allreduce(in, out, (bytes + (int) sizeof(double) - 1) / (int) sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    mine = MPI_Wtime() - began;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (0 == rank) {
        printf("%s %d %d: %.1f ms\n", argv[1], bytes, calls, longest * 1e3);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
