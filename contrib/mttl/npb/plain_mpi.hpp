/*
 * What the benchmarks' versions on plain MPI share: mpi.h without its old C++
 * bindings, and a main program.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NPB_PLAIN_MPI_HPP
#define NPB_PLAIN_MPI_HPP

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <exception>

/** Runs `run` between MPI_Init and MPI_Finalize; what it throws ends the job.  Returns the exit code. */
inline int plain_mpi(int argc, char **argv, int (*run)(int, char **))
{
    MPI_Init(&argc, &argv);
    int code = 1;
    try {
        code = run(argc, argv);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return code;
}

#endif
