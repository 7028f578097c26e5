/*
 * A rank fails in one call, and the calls after it are right: ranks must not
 * get out of step.  The rank that preloads faults.c has no memory for packing.
 *
 *   in_step        a Bcast of 3711 bytes in pieces fails at that rank, three more follow
 *   in_step first  the first Bcast of all fails at that rank; so must its second one,
 *                  because others may serve by then
 *
 * Each rank tells "rank N: STATUS STATUS ...": ok, error, or wrong.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECES 1237     /* of 3 bytes out of 4: the packed form has 3711 */

static char buffer[4 * PIECES];

static const char *bcast_try(int round, int rank, MPI_Datatype type)
{
    int rc;

    for (int i = 0; i < 4 * PIECES; ++i) {
        buffer[i] = 0 == rank ? (char) (round + i) : 0;
    }
    rc = MPI_Bcast(buffer, 1, type, 0, MPI_COMM_WORLD);
    if (MPI_SUCCESS != rc) {
        return "error";
    }
    for (int i = 0; i < 4 * PIECES; ++i) {
        if (i % 4 < 3 && buffer[i] != (char) (round + i)) {
            return "wrong";
        }
    }
    return "ok";
}

int main(int argc, char **argv)
{
    volatile int *armed = dlsym(RTLD_DEFAULT, "wan_fault_armed");
    int first = 2 == argc && 0 == strcmp(argv[1], "first");
    const char *said[4];
    MPI_Datatype type;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(PIECES, 3, 4, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    if (!first) {
        (void) bcast_try(100, rank, type);      /* agree and measure */
    }
    for (int round = 0; round < 4; ++round) {
        if (NULL != armed) {
            *armed = 0 == round;
        }
        said[round] = bcast_try(round, rank, type);
        if (first && NULL != armed && 1 == round) {
            printf("rank %d: %s %s\n", rank, said[0], said[1]);
            fflush(stdout);
            sleep(1);
            MPI_Abort(MPI_COMM_WORLD, 3);       /* the others wait in their first call */
        }
    }
    printf("rank %d: %s %s %s %s\n", rank, said[0], said[1], said[2], said[3]);
    fflush(stdout);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
