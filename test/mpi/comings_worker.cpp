/*
 * Processes that come and go, with adaptive trees: a job spawns others, is merged with them, and
 * frees what they had in common, again and again; two spawned jobs connect to each other.  On each communicator
 * broadcasts and sums are made, and verified, until no message of a broadcast has to go past the
 * trees any more, in 20 rounds in a row.  What has been merged is freed, and merged once more.  The first process tells of each:
 *
 *     merged 1, 8 ranks: direct 17, then none
 *
 * and "right" at the end.  Each process is in site rank % 2 of its job.
 *
 * Usage: comings_worker SECONDS TIMES ROLE EACH    (for each communicator, of spawning)
 *   ROLE   connect: also two that connect; none
 *   EACH   so many processes of a site are on one host, by its name; 0: all are where they are
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.hpp"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace {

wan_counters counters;
double seconds = 0;
const char *each = "0";         // processes a host
bool wrong = false;

__attribute__((format(printf, 1, 2))) void tell(const char *format, ...)
{
    va_list all;
    va_start(all, format);
    std::vprintf(format, all);
    va_end(all);
    std::printf("\n");
    std::fflush(stdout);
}

/** Rounds until trees are settled. */
void settle(MPI_Comm comm, const std::string &name, bool changes)
{
    constexpr int count = 300, quiet_rounds = 20;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const unsigned long long first = counters[0], served = counters[1] + counters[2];
    int64_t before = 0;
    int quiet = 0, calls = 0;
    const double began = MPI_Wtime();
    for (int go = 1; go; ++calls) {
        std::vector<int64_t> data(count);
        const int root = calls % 2 ? size - 1 : 0;
        const auto value = [&](int i) { return int64_t{calls} * 1000 + root * 7 + i; };
        for (int i = 0; i < count; ++i)
            data[static_cast<size_t>(i)] = rank == root ? value(i) : -1;
        MPI_Bcast(data.data(), count, MPI_INT64_T, root, comm);
        for (int i = 0; i < count; ++i)
            wrong = wrong || data[static_cast<size_t>(i)] != value(i);
        const int64_t mine[] = {static_cast<int64_t>(counters[0] - first), rank + 1, MPI_Wtime() - began > seconds};
        int64_t all[3] = {};
        MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, comm);
        wrong = wrong || all[1] != int64_t{size} * (size + 1) / 2;
        quiet = all[0] == before ? quiet + 1 : 0;
        before = all[0];
        go = quiet < quiet_rounds && all[2] == 0;
    }
    const bool ours = counters[1] + counters[2] - served == 2ULL * static_cast<unsigned>(calls);
    if (!ours)
        tell("%s: rank %d: %llu of %d calls were served", name.c_str(), rank, counters[1] + counters[2] - served, 2 * calls);
    if (quiet < quiet_rounds && rank == 0)
        tell("%s: messages go past the trees after %g s", name.c_str(), seconds);
    if (changes && before == 0 && rank == 0)
        tell("%s: no message went past the trees, which were not there", name.c_str());
    if (rank == 0)
        tell("%s, %d ranks: direct %lld, then none", name.c_str(), size, static_cast<long long>(before));
    wrong = wrong || !ours || quiet < quiet_rounds || (changes && before == 0);
}

/** Parts of it, while what is known is of the whole. */
void parts(MPI_Comm whole, const std::string &name)
{
    int rank, size;
    MPI_Comm_rank(whole, &rank);
    MPI_Comm_size(whole, &size);
    MPI_Comm copy, half;
    MPI_Comm_dup(whole, &copy);
    settle(copy, name + ", copy", true);
    MPI_Comm_free(&copy);
    // (Both halves have ranks of both sites.)
    MPI_Comm_split(whole, rank / 2 % 2, size - rank, &half);
    settle(half, name + ", half", true);
    MPI_Comm_free(&half);
}

/**
 * A communicator that is freed while its last operation is under way is gone with that: it keeps nobody who waits for that
 * operation, though others do so only when they have heard of it.
 */
void freed_early(MPI_Comm whole)
{
    int rank, size, word = 0;
    MPI_Comm_rank(whole, &rank);
    MPI_Comm_size(whole, &size);
    MPI_Comm copy;
    MPI_Comm_dup(whole, &copy);
    MPI_Barrier(copy);
    MPI_Request last;
    MPI_Ibarrier(copy, &last);
    MPI_Comm_free(&copy);
    constexpr int word_tag = 6;
    if (rank != 0)
        MPI_Recv(&word, 1, MPI_INT, 0, word_tag, whole, MPI_STATUS_IGNORE);
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    for (int r = 1; rank == 0 && r < size; ++r)
        MPI_Send(&word, 1, MPI_INT, r, word_tag, whole);
}

MPI_Comm spawn(const char *program, const char *role, int processes)
{
    std::string words[] = {std::to_string(seconds), "0", role, each};
    char *arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    std::vector<int> codes(static_cast<size_t>(processes));
    MPI_Comm children;
    MPI_Comm_spawn(program, arguments, processes, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes.data());
    return children;
}

void merge(MPI_Comm inter, bool high, const std::string &name)
{
    MPI_Comm merged;
    MPI_Intercomm_merge(inter, high, &merged);
    settle(merged, name, true);
    parts(merged, name);
    freed_early(merged);
    MPI_Comm_free(&merged);
    // The same processes once more, by another way.
    MPI_Intercomm_merge(inter, high, &merged);
    settle(merged, name + ", again", false);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
}

constexpr int port_tag = 5;

/** Of two spawned jobs, one of which opens a port. */
void connect(MPI_Comm parent, bool opens)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm inter;
    if (opens) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Send(port, sizeof port, MPI_CHAR, 0, port_tag, parent);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    } else {
        if (rank == 0)
            MPI_Recv(port, sizeof port, MPI_CHAR, 0, port_tag, parent, MPI_STATUS_IGNORE);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    }
    merge(inter, !opens, "connected");
    if (opens && rank == 0)
        MPI_Close_port(port);
}

/** Tells the parent how it went. */
void child(MPI_Comm parent, const std::string &role)
{
    if (role == "merge") {
        merge(parent, true, "merged");
        if (wrong)
            MPI_Abort(MPI_COMM_WORLD, 3);
        return;
    }
    connect(parent, role == "accept");
    if (wrong)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_disconnect(&parent);
}

void job(const char *program, int times, bool connects_too)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    settle(MPI_COMM_WORLD, "alone", true);
    for (int i = 0; i < times; ++i) {
        merge(spawn(program, "merge", 4 - i % 2), false, "merged " + std::to_string(i + 1));
        settle(MPI_COMM_WORLD, "alone again", false);
    }
    if (!connects_too)
        return;
    MPI_Comm accepts = spawn(program, "accept", 4), connects = spawn(program, "connect", 4);
    if (rank == 0) {
        char port[MPI_MAX_PORT_NAME];
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, port_tag, accepts, MPI_STATUS_IGNORE);
        MPI_Send(port, sizeof port, MPI_CHAR, 0, port_tag, connects);
    }
    MPI_Comm_disconnect(&accepts);
    MPI_Comm_disconnect(&connects);
    settle(MPI_COMM_WORLD, "alone at the end", false);
}

/** Spawned ones have no wrapper that tells them where they are. */
bool place()
{
    const char *number = std::getenv("OMPI_COMM_WORLD_RANK");
    const int rank = number ? std::atoi(number) : 0, on_host = std::atoi(each);
    setenv("OMPI_MCA_coll_wan_cluster_id", rank % 2 ? "b" : "a", 1);
    const std::string name = std::string(rank % 2 ? "b" : "a") + std::to_string(on_host ? rank / 2 / on_host : 0);
    return on_host == 0 || (unshare(CLONE_NEWUTS) == 0 && sethostname(name.data(), name.size()) == 0);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 5) {
        std::fprintf(stderr, "usage: comings_worker SECONDS TIMES ROLE EACH\n");
        return 2;
    }
    seconds = std::atof(argv[1]);
    const int times = std::atoi(argv[2]);
    const std::string role = argv[3];
    each = argv[4];
    if (!place()) {
        std::perror("comings_worker: a host name of its own");
        return 2;
    }
    setenv("OMPI_MCA_coll_wan_verbose", "3", 1);        // of whom something is known from before
    for (const char *collective : {"bcast", "reduce", "allreduce", "barrier"})
        setenv((std::string("OMPI_MCA_coll_wan_") + collective + "_algorithm").c_str(), "adaptive", 1);
    MPI_Init(&argc, &argv);
    int provided, rank;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!counters.open({"tree_direct", "served_bcast", "served_allreduce"})) {
        tell("coll/wan is not loaded");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        child(parent, role);
    else
        job(argv[0], times, role == "connect");
    if (wrong)
        tell("rank %d is wrong", rank);
    else if (parent == MPI_COMM_NULL && rank == 0)
        tell("right");
    counters.close();
    MPI_T_finalize();
    MPI_Finalize();
    return wrong;
}
