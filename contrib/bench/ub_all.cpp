/*
 * Of udpbench_worker, what all ranks take part in.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ub_rounds.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace ub {

void to_root(size_t size, bool collective)
{
    bytes out(size), in(rank == 0 ? size * static_cast<size_t>(ranks) : 0);
    std::vector<double> ms;
    std::vector<MPI_Request> r(static_cast<size_t>(ranks), MPI_REQUEST_NULL);
    fill(out, static_cast<uint32_t>(rank));
    const datagrams before = datagrams::count();
    const double began = now();
    while (again(began, ms.size(), 10, 5000)) {
        if (!collective && rank == 0)
            for (int p = 1; p < ranks; ++p)
                MPI_Irecv(&in[size * static_cast<size_t>(p)], static_cast<int>(size), MPI_BYTE, p, 1, MPI_COMM_WORLD, &r[static_cast<size_t>(p)]);
        MPI_Barrier(MPI_COMM_WORLD);
        const double t = now();
        if (collective)
            MPI_Gather(out.data(), static_cast<int>(size), MPI_BYTE, in.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
        else if (rank == 0)
            MPI_Waitall(ranks, r.data(), MPI_STATUSES_IGNORE);
        else
            MPI_Send(out.data(), static_cast<int>(size), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        ms.push_back((now() - t) * 1e3);
        for (int p = 1; rank == 0 && p < ranks; ++p)
            compare(bytes(in.begin() + static_cast<long>(size) * p, in.begin() + static_cast<long>(size) * (p + 1)), static_cast<uint32_t>(p));
    }
    const datagrams after = datagrams::count();
    const double first = ms.front();
    ms.erase(ms.begin());
    report(collective ? "gather" : "incast", size, "ms", ms, first, after.sent > before.sent ? (after.again - before.again) / (after.sent - before.sent) : 0);
}

void bcast(size_t size)
{
    bytes b(size);
    std::vector<double> ms;
    int sum = 0, one = 1;
    const double began = now();
    while (again(began, ms.size(), 10, 5000)) {
        fill(b, rank == 0 ? 9 : 0);
        MPI_Barrier(MPI_COMM_WORLD);
        const double t = now();
        MPI_Bcast(b.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        ms.push_back((now() - t) * 1e3);
        compare(b, 9);
    }
    ms.erase(ms.begin());
    report("bcast", size, "ms", ms);
}

namespace {

double processor_seconds()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

} // namespace

void idle(size_t size)
{
    constexpr int looks = 1000;
    const bytes out(size);
    bytes in(size * static_cast<size_t>(ranks));
    MPI_Allgather(out.data(), static_cast<int>(size), MPI_BYTE, in.data(), static_cast<int>(size), MPI_BYTE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<double> each;
    // Ranks by turns: others must not take the processor.  They sleep.
    for (int turn = 0; turn < ranks; ++turn) {
        const double end = now() + limit;
        if (turn == rank)
            while (now() < end) {
                int there;
                const double t = now();
                for (int i = 0; i < looks; ++i)
                    MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
                each.push_back((now() - t) / looks * 1e9);
            }
        else
            std::this_thread::sleep_for(std::chrono::duration<double>(limit));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    report("idle", size, "ns", each);
    const double before = processor_seconds(), began = now();
    std::this_thread::sleep_for(std::chrono::duration<double>(limit));
    report("asleep", size, "ms/s", {(processor_seconds() - before) / (now() - began) * 1e3});
    MPI_Barrier(MPI_COMM_WORLD);
}

int sockets_open()
{
    int n = 0;
    for (const auto &fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        n += std::filesystem::read_symlink(fd.path(), gone).string().starts_with("socket:");
    }
    return n;
}

namespace {

/** KB of all TCP and UDP sockets, as the kernel counts them (in pages of 4 KB). */
double socket_memory()
{
    std::ifstream file("/proc/net/sockstat");
    double pages = 0;
    for (std::string line; std::getline(file, line);)
        if (const size_t at = line.find(" mem "); at != std::string::npos)
            pages += std::atof(line.c_str() + at + 5);
    return 4 * pages;
}

} // namespace

void peers(size_t size)
{
    bytes out(size), in(size);
    const double before = socket_memory();
    for (int away = 1; away < ranks; ++away) {
        const int to = (rank + away) % ranks, from = (rank + ranks - away) % ranks;
        fill(out, static_cast<uint32_t>(rank));
        MPI_Sendrecv(out.data(), static_cast<int>(size), MPI_BYTE, to, 1, in.data(), static_cast<int>(size), MPI_BYTE, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        compare(in, static_cast<uint32_t>(from));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int mine = sockets_open() - sockets_first;
    std::vector<int> all(static_cast<size_t>(ranks));
    MPI_Gather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    report("peers", size, "sockets", std::vector<double>(all.begin(), all.end()));
    report("memory", size, "KB", {std::max(0.0, socket_memory() - before)});
}

} // namespace ub
