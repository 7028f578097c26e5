/*
 * Calls that report_check.py knows of, for four ranks in two sites that take
 * turns; then one line per rank with what its counters say:
 *
 *     rank 0: wan_bytes 123 wan_messages 45
 *
 * Leaves its directory: a report's relative name is one of where the job began.
 *
 * Usage: report_worker [open]
 *        open: leaves MPI_T open, and a communicator
 * WAN_TEST_LATE: the root comes to one call 200 ms later than the others, so that links are worth measuring.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

void ordered(void *in, void *inout, int *count, MPI_Datatype *)
{
    for (int i = 0; i < *count; ++i)
        static_cast<int *>(inout)[i] += static_cast<int *>(in)[i];
}

void calls_of_blocks(int rank, int size, std::vector<char> &in, std::vector<char> &out)
{
    for (int i = 0; i < 2; ++i)
        MPI_Alltoall(in.data(), 1000, MPI_BYTE, out.data(), 1000, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Gather(in.data(), 300, MPI_BYTE, out.data(), 300, MPI_BYTE, 2, MPI_COMM_WORLD);
    std::vector<int> counts, displs;
    for (int r = 0, at = 0; r < size; at += counts.back(), ++r) {
        counts.push_back(100 * (r + 1));
        displs.push_back(at);
    }
    for (int i = 0; i < 2; ++i)
        MPI_Allgatherv(in.data(), counts[static_cast<size_t>(rank)], MPI_BYTE, out.data(), counts.data(), displs.data(), MPI_BYTE,
                       MPI_COMM_WORLD);
    MPI_Gatherv(in.data(), counts[static_cast<size_t>(rank)], MPI_BYTE, out.data(), counts.data(), displs.data(), MPI_BYTE, 0,
                MPI_COMM_WORLD);
}

/* One that is freed, with a name that pages must not take for markup; one in a site. */
void communicators(int rank)
{
    MPI_Comm second, half, between;
    int one = 1, sum;

    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &second);
    MPI_Comm_set_name(second, "<b>second</b> & \"last\"");
    for (int i = 0; i < 40; ++i)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, second);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
    MPI_Barrier(half);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Comm_free(&second);
}

} // namespace

int main(int argc, char **argv)
{
    int provided, rank, size;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wan_counters counters;
    const bool there = counters.open({"wan_bytes", "wan_messages"});
    std::vector<char> in(1 << 20), out(1 << 20);
    for (int i = 0; i < 3; ++i) {
        if (i == 1 && rank == 0 && std::getenv("WAN_TEST_LATE"))
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        MPI_Bcast(in.data(), 1 << 20, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 2; ++i)
        MPI_Bcast(in.data(), 100000, MPI_BYTE, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 5; ++i)
        MPI_Allreduce(in.data(), out.data(), 8192, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 7; ++i)
        MPI_Allreduce(in.data(), out.data(), 25, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 4; ++i) {
        MPI_Request request;
        MPI_Iallreduce(in.data(), out.data(), 65536, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Op op;
    MPI_Op_create(ordered, 0, &op);
    MPI_Reduce(in.data(), out.data(), 4096, MPI_INT, op, 3, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    for (int i = 0; i < 3; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
    calls_of_blocks(rank, size, in, out);
    communicators(rank);
    if (there)
        std::printf("rank %d: wan_bytes %llu wan_messages %llu\n", rank, counters[0], counters[1]);
    std::fflush(stdout);
    counters.close();
    if (argc > 1) {
        MPI_Comm kept;
        MPI_Comm_dup(MPI_COMM_WORLD, &kept);
        MPI_Comm_set_name(kept, "kept");
        MPI_Barrier(kept);
    } else {
        MPI_T_finalize();
    }
    const int left = chdir("/");
    MPI_Finalize();
    return left;
}
