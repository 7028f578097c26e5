/*
 * Verified collectives for so many seconds, while somebody changes the network:
 * Allreduce of COUNT ints, by turns blocking, non-blocking and persistent, and a
 * Bcast.  The first rank tells every half second how long a blocking Allreduce
 * took, and at the end how many values were wrong:
 *
 *     3.5 s: 42 calls, allreduce 11.62 ms
 *     0 wrong values in 400 calls
 *
 * Usage: long_run SECONDS [COUNT [LATE]]
 *
 * LATE: the first rank comes to each blocking Allreduce so many milliseconds later than the others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "persistent.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    const int count = argc > 2 ? std::atoi(argv[2]) : 4;
    const std::chrono::milliseconds late(argc > 3 ? std::atoi(argv[3]) : 0);
    MPI_Init(&argc, &argv);
    int rank, size, wrong = 0, calls = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto n = static_cast<size_t>(count);
    std::vector<int> in(n), out(n), later(n), kept_in(n), kept(n);
    const auto fill = [&](std::vector<int> &v, int salt) {
        for (size_t i = 0; i < n; ++i)
            v[i] = rank * static_cast<int>(i % 1000) + salt;
    };
    const auto check = [&](const std::vector<int> &v, int salt) {
        for (size_t i = 0; i < n; ++i)
            wrong += v[i] != size * (size - 1) / 2 * static_cast<int>(i % 1000) + size * salt;
    };
    fill(in, 0);
    MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    // Made now, and started again and again, also after links have been measured anew.
    MPI_Request handle;
    PERSISTENT(Allreduce)(kept_in.data(), kept.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &handle);
    std::vector<double> took;
    const double began = MPI_Wtime();
    double told = began;
    for (int go = 1; go; ++calls) {
        fill(in, calls);
        fill(kept_in, calls + 1);
        MPI_Request request;
        const bool start_first = (rank + calls) % 2;
        if (start_first)
            MPI_Start(&handle);
        MPI_Iallreduce(in.data(), later.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (rank == 0)
            std::this_thread::sleep_for(late);
        const double t = MPI_Wtime();
        MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        took.push_back(1e3 * (MPI_Wtime() - t));
        if (!start_first)
            MPI_Start(&handle);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&handle, MPI_STATUS_IGNORE);
        check(out, calls);
        check(later, calls);
        check(kept, calls + 1);
        const double now = MPI_Wtime();
        go = now < began + seconds;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 0 && now > told + 0.5) {
            told = now;
            std::nth_element(took.begin(), took.begin() + static_cast<long>(took.size() / 2), took.end());
            std::printf("%.1f s: %zu calls, allreduce %.2f ms\n", now - began, took.size(), took[took.size() / 2]);
            std::fflush(stdout);
            took.clear();
        }
    }
    MPI_Request_free(&handle);
    int all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("%d wrong values in %d calls\n", all, calls);
    MPI_Finalize();
    return all != 0;
}
