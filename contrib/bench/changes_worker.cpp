/*
 * Bcasts again and again while processes come and go, or links change (contrib/bench/changes).
 *
 * Usage: changes_worker ALGORITHM BYTES CALLS members TIMES SEED
 *        changes_worker ALGORITHM BYTES CALLS processes TIMES HOSTS
 *        changes_worker ALGORITHM BYTES SECONDS links
 *   members     so many calls of all processes, of a half drawn anew each time, of all again, ..., TIMES halves in all;
 *               each time in a new communicator
 *   processes   the same; the other half are jobs of their own, a process on each of HOSTS (a,b,...), which end
 *   links       calls of all for so long
 *
 * Rank 0 is the root.  All start a call after an Allreduce, its time is from the root's start to the end of the last
 * process (who all have the same clock), and each of them looks at what it got.  Rank 0 prints a line of each call:
 *
 *     call 3 32 12.345678 0.912345            communicator, processes, start and time in seconds
 *     changed 3 12.300000                     when processes began to come or go for it (links: when it began)
 *     right
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

int wrong = 0, comms = 0;
std::vector<unsigned char> buffer;
const char *algorithm, *bytes;

double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

unsigned char pattern(int comm, int call, size_t i)
{
    return static_cast<unsigned char>(static_cast<size_t>(comm) * 31 + static_cast<size_t>(call) * 7 + i * 13 + (i >> 8));
}

/** What rank 0 says, when all have come. */
bool goes_on(MPI_Comm comm, bool says)
{
    int rank, go;
    MPI_Comm_rank(comm, &rank);
    const int mine = rank == 0 && says;
    MPI_Allreduce(&mine, &go, 1, MPI_INT, MPI_MAX, comm);
    return go;
}

/** So many calls, or for so long. */
void calls(MPI_Comm comm, int number, int most, double seconds)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    std::vector<double> starts, ends;
    const double until = now() + seconds;
    for (int call = 0;; ++call) {
        for (size_t i = 0; i < buffer.size(); ++i)
            buffer[i] = rank == 0 ? pattern(number, call, i) : static_cast<unsigned char>(~pattern(number, call, i));
        if (!goes_on(comm, call < most && now() < until))
            break;
        starts.push_back(now());
        MPI_Bcast(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, 0, comm);
        ends.push_back(now());
        for (size_t i = 0; i < buffer.size(); ++i)
            wrong |= buffer[i] != pattern(number, call, i);
    }
    std::vector<double> last(ends.size());
    MPI_Reduce(ends.data(), last.data(), static_cast<int>(ends.size()), MPI_DOUBLE, MPI_MAX, 0, comm);
    int any = 0;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, comm);
    wrong = any;
    for (size_t i = 0; rank == 0 && i < last.size(); ++i)
        std::printf("call %d %d %.6f %.6f\n", number, size, starts[i], last[i] - starts[i]);
    if (rank == 0)
        std::fflush(stdout);
}

void changed()
{
    ++comms;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        std::printf("changed %d %.6f\n", comms, now());
        std::fflush(stdout);
    }
}

/** The half that stays: rank 0 and others, drawn alike everywhere. */
bool stays(int rank, int size, unsigned seed)
{
    std::vector<int> others(static_cast<size_t>(size - 1));
    std::iota(others.begin(), others.end(), 1);
    std::mt19937_64 random(seed);
    for (size_t i = others.size(); i > 1; --i)
        std::swap(others[i - 1], others[random() % i]);
    return rank == 0 || std::find(others.begin(), others.begin() + (size + 1) / 2 - 1, rank) != others.begin() + (size + 1) / 2 - 1;
}

void members(int each, int times, unsigned seed)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int k = 0; k <= 2 * times; ++k) {
        const bool all = k % 2 == 0;
        changed();
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, all || stays(rank, size, seed + static_cast<unsigned>(k)) ? 0 : MPI_UNDEFINED, rank, &comm);
        if (comm == MPI_COMM_NULL)
            continue;       // it waits for the next one
        calls(comm, comms, each, 1e9);
        MPI_Comm_free(&comm);
    }
}

/** In what it and the other job have in common. */
void together(MPI_Comm inter, bool high, int number, int each)
{
    MPI_Comm comm;
    MPI_Intercomm_merge(inter, high, &comm);
    calls(comm, number, each, 1e9);
    MPI_Comm_free(&comm);
    MPI_Comm_disconnect(&inter);
}

void processes(const char *program, int each, int times, const std::string &hosts)
{
    // Each has its own word on where: of one word for all, Open MPI 4.1.4 puts two on every other host.
    std::vector<MPI_Info> where;
    for (size_t from = 0; from < hosts.size();) {
        const size_t end = std::min(hosts.find(',', from), hosts.size());
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "host", hosts.substr(from, end - from).c_str());
        where.push_back(info);
        from = end + 1;
    }
    std::vector<int> codes(where.size()), one(where.size(), 1);
    std::string name = program;
    std::vector<char *> programs(where.size(), name.data());
    for (int k = 0; k <= 2 * times; ++k) {
        changed();
        if (k % 2) {
            calls(MPI_COMM_WORLD, comms, each, 1e9);
            continue;
        }
        std::string words[] = {algorithm, bytes, std::to_string(each), "processes", std::to_string(comms), ""};
        std::vector<char *> arguments;
        for (std::string &word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        MPI_Comm others;
        std::vector<char **> all_arguments(where.size(), arguments.data());
        MPI_Comm_spawn_multiple(static_cast<int>(where.size()), programs.data(), all_arguments.data(), one.data(), where.data(), 0, MPI_COMM_WORLD, &others,
                                codes.data());
        together(others, false, comms, each);
    }
    for (MPI_Info &info : where)
        MPI_Info_free(&info);
}

} // namespace

int main(int argc, char **argv)
{
    const std::string mode = argc > 4 ? argv[4] : "";
    const int each = argc > 3 ? std::atoi(argv[3]) : 0, more = argc > 5 ? std::atoi(argv[5]) : 0;
    if (!((mode == "links" && argc == 5) || ((mode == "members" || mode == "processes") && argc == 7)) || std::atoi(argv[2]) < 1) {
        std::fprintf(stderr, "usage: changes_worker ALGORITHM BYTES CALLS members TIMES SEED | processes TIMES HOSTS; ALGORITHM BYTES SECONDS links\n");
        return 2;
    }
    algorithm = argv[1], bytes = argv[2];
    setenv("OMPI_MCA_coll_wan_bcast_algorithm", algorithm, 1);     // (spawned ones do not have what mpirun was told)
    if (mode == "processes") {      // and have the site of who spawned them; the lab's hosts are called by it
        char host[2] = "";
        gethostname(host, sizeof host);
        host[1] = '\0';
        setenv("OMPI_MCA_coll_wan_cluster_id", host, 1);
    }
    buffer.resize(static_cast<size_t>(std::atoi(bytes)));
    MPI_Init(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        together(parent, true, more, each);
    else if (mode == "members")
        members(each, more, static_cast<unsigned>(std::atoi(argv[6])));
    else if (mode == "processes")
        processes(argv[0], each, more, argv[6]);
    else {
        // Sites are found first: calls before that are Open MPI's own.
        for (const double until = now() + 1; goes_on(MPI_COMM_WORLD, now() < until);) {
        }
        changed();
        calls(MPI_COMM_WORLD, comms, INT32_MAX, each);
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (parent == MPI_COMM_NULL && rank == 0)
        std::printf(wrong ? "wrong\n" : "right\n");
    MPI_Finalize();
    return wrong;
}
