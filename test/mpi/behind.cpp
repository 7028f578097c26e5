/*
 * One process looks, but is behind with its calls: the last rank polls while the others make so many of 1 MB (or BYTES), first broadcasts, then
 * reductions to it; then it makes them, too.  It tells how much its memory has grown meanwhile, and whether the others got through without it:
 *
 *     bcast: 4 MB more in memory, the others wait
 *     reduce: 12 MB more in memory, the others wait
 *     0 wrong values
 *
 * Usage: behind CALLS [BYTES]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

/** MB in memory. */
static long in_memory()
{
    std::ifstream f("/proc/self/statm");
    long all = 0, resident = 0;
    f >> all >> resident;
    return resident >> 8;       // pages of 4 KB
}

/** Until the others are through, or nothing more has come for long, longer if hardly anything has of what is large. */
static bool poll(long &most, bool large)
{
    const long before = most;
    int through = 0;
    for (double changed = MPI_Wtime(); !through && MPI_Wtime() < changed + (large && most < before + 3 ? 30 : 3);) {
        MPI_Iprobe(0, 1, MPI_COMM_WORLD, &through, MPI_STATUS_IGNORE);
        if (const long now = in_memory(); now > most)
            most = now, changed = MPI_Wtime();
    }
    return through;
}

int main(int argc, char **argv)
{
    const int calls = argc > 1 ? std::atoi(argv[1]) : 200, n = argc > 2 ? std::atoi(argv[2]) : 1 << 20;
    int rank, size;
    long wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<unsigned char> in(n), out(n);
    for (bool reduces : {false, true}) {
        const auto call = [&](int i) {
            const auto value = [&](int r) { return static_cast<unsigned char>(3 * i + r + 1); };
            std::fill(in.begin(), in.end(), value(rank));
            std::fill(out.begin(), out.end(), value(0) + (rank > 0));
            if (reduces) {
                MPI_Reduce(in.data(), out.data(), n, MPI_UNSIGNED_CHAR, MPI_MAX, size - 1, MPI_COMM_WORLD);
                for (int r = 0; r < size && rank == size - 1; ++r)
                    in[0] = std::max(in[0], value(r));
                wrong += rank == size - 1 && std::count(out.begin(), out.end(), in[0]) != n;
            } else {
                MPI_Bcast(out.data(), n, MPI_UNSIGNED_CHAR, 0, MPI_COMM_WORLD);
                wrong += std::count(out.begin(), out.end(), value(0)) != n;
            }
        };
        for (int i = 0; i < 20; ++i)        // what all have to agree on is done
            call(i);
        if (rank == size - 1) {
            (void) malloc_trim(0);      // what was freed would be taken again
            const long before = in_memory();
            long most = before;
            const bool through = poll(most, n >= 1 << 20);
            std::printf("%s: %ld MB more in memory, the others %s\n", reduces ? "reduce" : "bcast", most - before, through ? "are through" : "wait");
        }
        for (int i = 1; i <= calls; ++i)
            call(i);
        int token = 0;
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
        if (rank == size - 1)
            MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    long all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, size - 1, MPI_COMM_WORLD);
    if (rank == size - 1)
        std::printf("%ld wrong values\n", all);
    MPI_Finalize();
    return 0;
}
