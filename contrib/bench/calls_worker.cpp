/*
 * Calls of a program, one after the other on MPI_COMM_WORLD, from MPI_Init on: first_calls and replay start it.
 *
 * Usage: calls_worker FILE
 * A line of FILE is 'OP BYTES [TIMES]'; bytes are of one rank's block where there is one for each, else of the
 * vector.  'pause MS [TIMES]': all sleep, and connections rest.  Prints what all calls of an operation and size took, in ms, on the rank on which that was longest; then
 * 'all', likewise from the first call's beginning to the last one's end.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct call {
    std::string op;
    int bytes;
};

/** What is summed: as many as fit. */
std::pair<MPI_Datatype, int> elements(int bytes) {
    return bytes % 8 == 0   ? std::pair{MPI_DOUBLE, bytes / 8}
           : bytes % 4 == 0 ? std::pair{MPI_INT, bytes / 4}
                            : std::pair{MPI_SIGNED_CHAR, bytes};
}

using operation = std::function<void(const char *in, char *out, int bytes)>;
using reduction = int (*)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

operation reduce_with(reduction f) {
    return [f](const char *in, char *out, int bytes) {
        const auto [type, count] = elements(bytes);
        f(in, out, count, type, MPI_SUM, MPI_COMM_WORLD);
    };
}

const std::map<std::string, operation> operations = {
    {"barrier", [](const char *, char *, int) { MPI_Barrier(MPI_COMM_WORLD); }},
    {"bcast", [](const char *, char *out, int n) { MPI_Bcast(out, n, MPI_BYTE, 0, MPI_COMM_WORLD); }},
    {"reduce",
     [](const char *in, char *out, int n) {
         const auto [type, count] = elements(n);
         MPI_Reduce(in, out, count, type, MPI_SUM, 0, MPI_COMM_WORLD);
     }},
    {"allreduce", reduce_with(MPI_Allreduce)},
    {"scan", reduce_with(MPI_Scan)},
    {"exscan", reduce_with(MPI_Exscan)},
    {"reduce_scatter", reduce_with(MPI_Reduce_scatter_block)},
    {"allgather", [](const char *in, char *out, int n) { MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD); }},
    {"alltoall", [](const char *in, char *out, int n) { MPI_Alltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD); }},
    {"gather", [](const char *in, char *out, int n) { MPI_Gather(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, MPI_COMM_WORLD); }},
    {"scatter", [](const char *in, char *out, int n) { MPI_Scatter(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, MPI_COMM_WORLD); }},
};

/** The calls of a file; a message where it is none. */
std::vector<call> calls_read(const char *path, std::string &wrong) {
    std::vector<call> calls;
    std::ifstream file(path);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        std::istringstream words(line);
        call c;
        long times = 1;
        if (!(words >> c.op >> c.bytes) || (c.op != "pause" && !operations.contains(c.op)) || c.bytes < 0 || (!words.eof() && !(words >> times))) {
            wrong = std::string(path) + ":" + std::to_string(number) + ": '" + line + "' is no call: write 'OP BYTES [TIMES]'";
            return {};
        }
        calls.insert(calls.end(), static_cast<std::size_t>(std::max(0L, times)), c);
    }
    if (calls.empty())
        wrong = std::string(path) + ": no calls";
    return calls;
}

double longest(double mine) {
    double all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return all * 1e3;
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::string wrong = "usage: calls_worker FILE";
    const auto calls = argc == 2 ? (wrong.clear(), calls_read(argv[1], wrong)) : std::vector<call>{};
    if (!wrong.empty()) {
        std::fprintf(stderr, "calls_worker: %s\n", wrong.c_str());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    std::size_t most = 1;
    for (const call &c : calls)
        most = std::max(most, c.op == "pause" ? 0 : static_cast<std::size_t>(c.bytes) * static_cast<std::size_t>(size));
    std::vector<char> in(most), out(most);
    // All have come, by a ring: no collective before those that count.
    MPI_Sendrecv(in.data(), 1, MPI_CHAR, (rank + 1) % size, 0, out.data(), 1, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::vector<std::pair<call, std::pair<int, double>>> classes;       // calls and seconds, in the order of their first calls
    const double began = MPI_Wtime();
    double now = began;
    for (const call &c : calls) {
        if (c.op == "pause") {
            std::this_thread::sleep_for(std::chrono::milliseconds(c.bytes));
            now = MPI_Wtime();
            continue;
        }
        operations.at(c.op)(in.data(), out.data(), c.bytes);
        auto it = std::find_if(classes.begin(), classes.end(), [&](const auto &x) { return x.first.op == c.op && x.first.bytes == c.bytes; });
        if (it == classes.end())
            it = classes.insert(it, {c, {0, 0.0}});
        const double end = MPI_Wtime();
        ++it->second.first;
        it->second.second += end - now;
        now = end;
    }
    for (const auto &[c, spent] : classes) {
        const double ms = longest(spent.second);
        if (rank == 0)
            std::printf("%s %d x %d: %.1f ms\n", c.op.c_str(), c.bytes, spent.first, ms);
    }
    const double ms = longest(now - began);
    if (rank == 0)
        std::printf("all: %.1f ms\n", ms);
    MPI_Finalize();
    return 0;
}
