/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes: rank 0 sends a message, and calls nothing of MPI until rank 1 has made FILE, which it does when the message has
 * come.  "all right" from rank 0.
 *
 *   away FILE
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct timespec nap = { 0, 10000000 };
    int rank, number = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (0 == rank) {
        number = 42;
        MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        for (int i = 0; i < 3000 && 0 != access(argv[1], F_OK); ++i) {
            nanosleep(&nap, NULL);
        }
        puts(0 == access(argv[1], F_OK) ? "all right" : "failed: what was sent did not come while its sender was away");
    } else {
        FILE *file;

        MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (42 == number && NULL != (file = fopen(argv[1], "w"))) {
            fclose(file);
        }
    }
    MPI_Finalize();
    return 0;
}
