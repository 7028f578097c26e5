/*
 * What udpbench runs: one MPI program that measures transports.  Rank 0 prints one
 * JSON object a line.  Bytes of every message are a function of its number and
 * are compared at its end, outside the times.
 *
 *   udpbench_worker OP SIZE[,SIZE...] SECONDS
 *
 *   pingpong   ranks 0 and 1, half a round trip in us
 *   stream     0 to 1 for SECONDS, 8 messages under way, Mb/s
 *   burst      0 to 1, 2 MB at most in messages of SIZE, then one answer, Mb/s
 *   start      0 to 1, one message of SIZE per job after the connection is made, Mb/s
 *   incast     all to 0 at once, ms until the last is there
 *   gather     MPI_Gather to 0, ms
 *   bcast      MPI_Bcast from 0, ms until rank 0 has heard of all
 *   peers      every rank exchanges SIZE with every other: sockets that this took a process,
 *              and kernel memory of all sockets of the machine after it, in KB
 *   behind     round trips in us of 8 bytes: alone, then while 0 sends SIZE to 1
 *   opening    0 to 1, messages of SIZE after a little talk: Mb/s in the 5th, 8th, 10th, 12th,
 *              15th and 20th round trip
 *   idle       after one exchange of SIZE between all, nothing comes any more: ns that a look for messages
 *              (MPI_Iprobe) takes, and ms of processor time that a process uses in each second in which it sleeps
 *   fair       0 to 1 for SECONDS, as stream, beside a plain TCP CUBIC connection between the
 *              same hosts: both rates in Mb/s, and Jain's index of the two
 *
 * Next: udpbench; ub_two.cpp and ub_all.cpp (the operations).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ub_rounds.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace ub;

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || ranks < 2) {
        std::fprintf(stderr, "usage: udpbench_worker OP SIZE[,SIZE...] SECONDS, with two ranks at least\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const std::string op = argv[1];
    limit = std::atof(argv[3]);
    sockets_first = sockets_open();
    MPI_Barrier(MPI_COMM_WORLD);
    for (const char *p = argv[2]; *p;) {
        char *end;
        const size_t size = std::strtoull(p, &end, 10);
        p = *end ? end + 1 : end;
        if (op == "pingpong")
            pingpong(size);
        else if (op == "stream")
            stream(size);
        else if (op == "burst")
            burst(size, "burst", 2 << 20, 5000);
        else if (op == "start")
            burst(size, "start", size, 1);
        else if (op == "incast" || op == "gather")
            to_root(size, op == "gather");
        else if (op == "bcast")
            bcast(size);
        else if (op == "peers")
            peers(size);
        else if (op == "behind")
            behind(size);
        else if (op == "opening")
            opening(size);
        else if (op == "idle")
            idle(size);
        else if (op == "fair")
            fair(size);
        else
            MPI_Abort(MPI_COMM_WORLD, 2);
        if (rank == 0)
            std::fflush(stdout);
    }
    uint64_t all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("{\"wrong\": %llu}\n", static_cast<unsigned long long>(all));
    MPI_Finalize();
    return 0;
}
