/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ring and collectives with every byte checked; rank 0 prints "all right".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong = 0;

int main(int argc, char **argv)
{
    int rank, size, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t bytes = 1; bytes <= 4 << 20; bytes *= 7) {
        unsigned char *out = malloc(bytes), *in = malloc(bytes);
        const int before = (rank + size - 1) % size;

        for (int round = 0; round < 4; ++round) {
            for (size_t i = 0; i < bytes; ++i) {
                out[i] = (unsigned char) (i * 31 + rank * 7 + round);
                in[i] = 0;
            }
            MPI_Sendrecv(out, (int) bytes, MPI_BYTE, (rank + 1) % size, 1, in, (int) bytes, MPI_BYTE, before, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (size_t i = 0; i < bytes; ++i) {
                wrong += in[i] != (unsigned char) (i * 31 + before * 7 + round);
            }
            MPI_Bcast(out, (int) bytes, MPI_BYTE, round % size, MPI_COMM_WORLD);
            for (size_t i = 0; i < bytes; ++i) {
                wrong += out[i] != (unsigned char) (i * 31 + round % size * 7 + round);
            }
        }
        free(out);
        free(in);
    }
    for (int n = 1; n <= 100000; n *= 10) {
        long *v = malloc(sizeof(long) * (size_t) n), *sum = malloc(sizeof(long) * (size_t) n);

        for (int i = 0; i < n; ++i) {
            v[i] = i + rank;
        }
        MPI_Allreduce(v, sum, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; ++i) {
            wrong += sum[i] != (long) i * size + size * (size - 1) / 2;
        }
        free(v);
        free(sum);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        puts(all == 0 ? "all right" : "wrong bytes");
    }
    MPI_Finalize();
    return all != 0;
}
