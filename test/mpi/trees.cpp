/*
 * Adaptive trees in a job: broadcasts and reductions of one byte and of 300000,
 * verified, again and again until each crosses between sites no more often than
 * it must, three times in a row, or so many seconds have passed; and Gathers of 700 bytes.  The first rank tells:
 *
 *     0.8 s: bytes across sites, of the fewest: bcast 3.00 1.42, reduce 1.00 1.00
 *     0 wrong values; fewest after 2.1 s
 *
 * Usage: trees SECONDS SITES [ROOT]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

/**
 * Not a collective, so that it counts nothing: before and after a call, since who is behind forwards
 * a broadcast before its own call begins, or that of the next one before it has read its counters.
 * Whether any rank says so.
 */
static bool any_of_all(bool here, int rank, int size)
{
    int any = here, heard = 0;
    for (int step = 1; step < size; step *= 2) {
        MPI_Sendrecv(&any, 1, MPI_INT, (rank + step) % size, 1, &heard, 1, MPI_INT, (rank + size - step) % size, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        any |= heard;
    }
    return any != 0;
}

/** All are behind a call, and nobody sends any more of it: what is late, or sent again, is not the next one's. */
static unsigned long long settled_count(const wan_counters &counters, int rank, int size)
{
    unsigned long long count = counters[0];
    for (bool more = any_of_all(true, rank, size); more;) {
        for (const double until = MPI_Wtime() + 0.002; MPI_Wtime() < until;) {
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        const unsigned long long before = count;
        count = counters[0];
        more = any_of_all(count != before, rank, size);
    }
    return count;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
    const int sites = argc > 2 ? std::atoi(argv[2]) : 2, root = argc > 3 ? std::atoi(argv[3]) : 0;
    MPI_Init(&argc, &argv);
    int provided, rank, size;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wan_counters counters;
    if (!counters.open({"wan_bytes"}))
        MPI_Abort(MPI_COMM_WORLD, 2);

    constexpr std::array<int, 2> sizes{1, 300000};
    long wrong = 0;
    double settled = -1;
    int in_a_row = 0;
    const double began = MPI_Wtime();
    for (int round = 0, go = 1; go; ++round) {
        std::array<unsigned long long, 4> crossed{}, all{};
        for (size_t k = 0; k < 4; ++k) {
            const bool reduces = k >= 2;
            const int n = sizes[k % 2];
            const auto value = [&](int r, int i) { return static_cast<unsigned char>((r + 1) * (i % 50 + 1) + round); };
            std::vector<unsigned char> in(static_cast<size_t>(n)), out(in.size());
            const unsigned long long before = settled_count(counters, rank, size);
            for (int i = 0; i < n; ++i)
                in[static_cast<size_t>(i)] = reduces || rank == root ? value(reduces ? rank : root, i) : 0;
            if (reduces)
                MPI_Reduce(in.data(), out.data(), n, MPI_UNSIGNED_CHAR, MPI_BXOR, root, MPI_COMM_WORLD);
            else
                MPI_Bcast(in.data(), n, MPI_UNSIGNED_CHAR, root, MPI_COMM_WORLD);
            crossed[k] = settled_count(counters, rank, size) - before;
            for (int i = 0; i < n; ++i) {
                unsigned char expected = reduces ? 0 : value(root, i);
                for (int r = 0; reduces && r < size; ++r)
                    expected ^= value(r, i);
                if (!reduces || rank == root)
                    wrong += (reduces ? out : in)[static_cast<size_t>(i)] != expected;
            }
        }
        constexpr int each = 700;
        std::vector<int> own(each / sizeof(int), rank + round), gathered(own.size() * static_cast<size_t>(size));
        MPI_Gather(own.data(), each, MPI_BYTE, gathered.data(), each, MPI_BYTE, root, MPI_COMM_WORLD);
        for (size_t i = 0; rank == root && i < gathered.size(); ++i)
            wrong += gathered[i] != static_cast<int>(i / own.size()) + round;
        MPI_Allreduce(crossed.data(), all.data(), 4, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        const double now = MPI_Wtime() - began;
        bool fewest = true;
        for (size_t k = 0; k < 4; ++k)
            fewest = fewest && all[k] == static_cast<unsigned long long>(sizes[k % 2]) * static_cast<unsigned>(sites - 1);
        in_a_row = fewest ? in_a_row + 1 : 0;
        fewest = in_a_row >= 3;
        go = now < seconds && !fewest;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (fewest && !go && settled < 0)
            settled = now;
        if (rank == 0) {
            std::printf("%.1f s: bytes across sites, of the fewest: bcast %.2f %.2f, reduce %.2f %.2f\n", now,
                        static_cast<double>(all[0]) / (sites - 1), static_cast<double>(all[1]) / sizes[1] / (sites - 1),
                        static_cast<double>(all[2]) / (sites - 1), static_cast<double>(all[3]) / sizes[1] / (sites - 1));
            std::fflush(stdout);
        }
    }
    long sum = 0;
    MPI_Reduce(&wrong, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf(settled < 0 ? "%ld wrong values; more than the fewest to the end\n" : "%ld wrong values; fewest after %.1f s\n", sum, settled);
    }
    counters.close();
    MPI_T_finalize();
    MPI_Finalize();
    return sum != 0;
}
