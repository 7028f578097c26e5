/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of every process, one for each other process: all meet at once, exchange messages of all sizes, and some
 * that nobody expects.  Every byte is checked; rank 0 prints "all right".
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 20, most = 300000 };
static int rank, size;
static pthread_barrier_t start;

static void *talks_to(void *argument)
{
    const int peer = *(int *) argument;
    unsigned char *out = malloc(most), *in = malloc(most);
    long wrong = 0;

    pthread_barrier_wait(&start);
    for (int round = 0; round < rounds; ++round) {
        const int bytes = 0 == round ? most : 1 + (round * 7919 + round * round * 211) % most;

        memset(out, rank * 16 + round, (size_t) bytes);
        if (0 == round && peer < rank) {
            /* Who gets a long message answers before it has sent anything itself: while others of its threads meet other processes. */
            MPI_Recv(in, bytes, MPI_BYTE, peer, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_BYTE, peer, round, MPI_COMM_WORLD);
        } else {
            MPI_Sendrecv(out, bytes, MPI_BYTE, peer, round, in, bytes, MPI_BYTE, peer, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < bytes; ++i) {
            wrong += in[i] != (unsigned char) (peer * 16 + round);
        }
    }
    free(out);
    free(in);
    return (void *) wrong;
}

int main(int argc, char **argv)
{
    int provided, all, wrong = 0, n = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pthread_t *threads = calloc((size_t) size, sizeof(*threads));
    int *peers = calloc((size_t) size, sizeof(*peers));

    wrong += MPI_THREAD_MULTIPLE != provided;
    pthread_barrier_init(&start, NULL, (unsigned) size - 1);
    for (int peer = 0; peer < size; ++peer) {
        if (peer != rank) {
            peers[n] = peer;
            wrong += 0 != pthread_create(&threads[n], NULL, talks_to, &peers[n]);
            ++n;
        }
    }
    for (int i = 0; i < n; ++i) {
        void *result;

        pthread_join(threads[i], &result);
        wrong += 0 != (long) result;
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (0 == rank) {
        puts(0 == all ? "all right" : "wrong");
    }
    free(threads);
    free(peers);
    MPI_Finalize();
    return all != 0;
}
