/*
 * Calls of a few kinds again and again, so that ways to serve them are tried and
 * one is chosen: results are right in each of them, in requests that are begun
 * before a choice and end after it, and with a rank that comes late.
 * Rank 0 prints, for each collective,
 *
 *     allreduce: 60 calls, 40 served, 20 left
 *
 * --copy: and once more on a copy of MPI_COMM_WORLD; --part: on a communicator without the last rank alone.
 * --behind: a rank that is no root comes 40 ms late each time, of Allreduce and Bcast alone.  --slow: such a rank has what is sent to it 20 ms
 * late, of Bcast alone.  --farther: Allreduce alone, a rank comes 3 ms late, after 60 calls 30 ms; how often links were looked at is printed.
 * --longer: four times as many calls.
 *
 * Usage: tuning_worker [--late|--copy|--part|--behind|--slow|--farther|--longer]
 * Exit code 1 when a result is wrong.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <numeric>
#include <thread>

namespace {

constexpr int rounds = 60, flying = 8;
int me, ranks;
MPI_Comm comm = MPI_COMM_WORLD;       // what is called on
long wrong;

void expect(bool right) { wrong += !right; }

struct kind {
    const char *name;
    void (*call)(int round, std::vector<int> &in, std::vector<int> &out);
    int in, out;        // elements; negative: of each rank's block
};

int sum_of(int round) { return ranks * (ranks - 1) / 2 + ranks * round; }

/** Root of a round: of both sites. */
int root_of(int round) { return round % 2 ? ranks - 1 : 0; }

const kind kinds[] = {
    {"barrier", [](int, auto &, auto &) { MPI_Barrier(comm); }, 1, 1},
    {"bcast",
     [](int round, auto &in, auto &) {
         const int root = root_of(round);
         std::fill(in.begin(), in.end(), me == root ? round : -1);
         MPI_Bcast(in.data(), static_cast<int>(in.size()), MPI_INT, root, comm);
         expect(in.front() == round && in.back() == round);
     }, 300, 1},
    {"allreduce",
     [](int round, auto &in, auto &out) {
         std::fill(in.begin(), in.end(), me + round);
         MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, MPI_SUM, comm);
         expect(out.front() == sum_of(round) && out.back() == sum_of(round));
     }, 300, 300},
    {"reduce",
     [](int round, auto &in, auto &out) {
         std::fill(in.begin(), in.end(), me + round);
         MPI_Reduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, MPI_SUM, root_of(round), comm);
         expect(me != root_of(round) || out.back() == sum_of(round));
     }, 30, 30},
    {"scan",
     [](int round, auto &in, auto &out) {
         std::fill(in.begin(), in.end(), me + round);
         MPI_Scan(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, MPI_SUM, comm);
         expect(out.back() == me * (me + 1) / 2 + (me + 1) * round);
     }, 30, 30},
    {"reduce_scatter",
     [](int round, auto &in, auto &out) {
         std::fill(in.begin(), in.end(), me + round);
         MPI_Reduce_scatter_block(in.data(), out.data(), static_cast<int>(out.size()), MPI_INT, MPI_SUM, comm);
         expect(out.back() == sum_of(round));
     }, -20, 20},
    {"gather",
     [](int round, auto &in, auto &out) {
         std::fill(in.begin(), in.end(), me + round);
         MPI_Gather(in.data(), static_cast<int>(in.size()), MPI_INT, out.data(), static_cast<int>(in.size()), MPI_INT,
                    root_of(round), comm);
         for (size_t r = 0; me == root_of(round) && r < static_cast<size_t>(ranks); ++r)
             expect(out[r * in.size()] == static_cast<int>(r) + round);
     }, 20, -20},
    {"scatter",
     [](int round, auto &in, auto &out) {
         for (size_t i = 0; i < in.size(); ++i)
             in[i] = static_cast<int>(i) + round;
         MPI_Scatter(in.data(), static_cast<int>(out.size()), MPI_INT, out.data(), static_cast<int>(out.size()), MPI_INT,
                     root_of(round), comm);
         expect(out.front() == me * static_cast<int>(out.size()) + round);
     }, -20, 20},
    {"alltoall",
     [](int round, auto &in, auto &out) {
         const size_t each = in.size() / static_cast<size_t>(ranks);
         for (size_t i = 0; i < in.size(); ++i)
             in[i] = me + round + static_cast<int>(i / each);
         MPI_Alltoall(in.data(), static_cast<int>(each), MPI_INT, out.data(), static_cast<int>(each), MPI_INT, comm);
         for (size_t r = 0; r < static_cast<size_t>(ranks); ++r)
             expect(out[r * each] == static_cast<int>(r) + round + me);
     }, -20, -20},
};

bool drags;             // this rank's progress takes long

/** False where Open MPI's progress cannot be told to. */
bool drag()
{
    const auto add = reinterpret_cast<int (*)(int (*)())>(dlsym(RTLD_DEFAULT, "opal_progress_register"));
    return add && add([] {
        if (drags)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return 0;
    }) == 0;
}

} // namespace

int main(int argc, char **argv)
{
    const auto asked = [&](const char *word) { return argc > 1 && !std::strcmp(argv[1], word); };
    const bool late = asked("--late"), copy = asked("--copy"), part = asked("--part");
    const bool behind = asked("--behind"), slow = asked("--slow"), farther = asked("--farther"), longer = asked("--longer");
    int provided;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (part) {
        const bool out = me == ranks - 1;
        MPI_Comm_split(MPI_COMM_WORLD, out ? MPI_UNDEFINED : 0, me, &comm);
        --ranks;
        if (out) {
            MPI_T_finalize();
            MPI_Finalize();
            return 0;
        }
    }
    std::vector<std::string> names;
    for (const kind &k : kinds)
        for (const char *what : {"served_", "left_", "declined_"})
            names.push_back(what + std::string(k.name));
    names.push_back("links_looked_at");
    wan_counters counters;
    if (!counters.open(names)) {
        std::fprintf(stderr, "tuning_worker: coll/wan is not there\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    // Begun before anything is known, ended after all choices.
    std::vector<std::vector<int>> sent(flying), got(flying);
    std::vector<MPI_Request> requests(flying);
    for (size_t i = 0; i < flying; ++i) {
        sent[i].assign(300, me + static_cast<int>(i));
        got[i].assign(300, -1);
    }
    const auto begin = [&](size_t i) {
        MPI_Iallreduce(sent[i].data(), got[i].data(), 300, MPI_INT, MPI_SUM, comm, &requests[i]);
    };
    MPI_Barrier(comm);
    for (size_t i = 0; i < flying; ++i)
        begin(i);
    const int odd = 1;      // no root
    if (slow && me == odd && !drag()) {
        std::fprintf(stderr, "tuning_worker: no opal_progress_register\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const auto elements = [](int n) { return static_cast<size_t>(n < 0 ? -n * ranks : n); };
    for (const kind &k : kinds) {
        std::vector<int> in(elements(k.in)), out(elements(k.out));
        const size_t at = static_cast<size_t>(&k - kinds) * 3;
        const auto is = [&](const char *name) { return !std::strcmp(k.name, name); };
        if ((behind && !is("allreduce") && !is("bcast")) || (slow && !is("bcast")) || (farther && !is("allreduce")))
            continue;
        drags = slow && me == odd;
        const unsigned long long before[] = {counters[at], counters[at + 1], counters[at + 2]};
        const int calls = farther ? 2 * rounds : longer ? 4 * rounds : rounds;
        for (int round = 0; round < calls; ++round) {
            if (me == odd && (behind || farther))
                std::this_thread::sleep_for(std::chrono::milliseconds(behind ? 40 : round < rounds ? 3 : 30));
            if (late && round % ranks == me)
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            k.call(round, in, out);
        }
        if (me == 0)
            std::printf("%s: %d calls, %llu served, %llu left, %llu declined\n", k.name, calls, counters[at] - before[0],
                        counters[at + 1] - before[1], counters[at + 2] - before[2]);
        drags = false;
    }
    if (me == 0 && farther)
        std::printf("links looked at: %llu\n", counters[names.size() - 1]);
    MPI_Waitall(flying, requests.data(), MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < flying; ++i)
        expect(got[i].front() == sum_of(static_cast<int>(i)) && got[i].back() == sum_of(static_cast<int>(i)));
    // And by what was chosen.
    for (size_t i = 0; i < flying; ++i)
        begin(i);
    MPI_Waitall(flying, requests.data(), MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < flying; ++i)
        expect(got[i].back() == sum_of(static_cast<int>(i)));
    if (copy) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (const kind &k : kinds) {
            std::vector<int> in(elements(k.in)), out(elements(k.out));
            for (int round = 0; round < rounds; ++round)
                k.call(round, in, out);
        }
    }
    if (comm != MPI_COMM_WORLD)
        MPI_Comm_free(&comm);
    if (wrong)
        std::printf("rank %d: %ld wrong\n", me, wrong);
    counters.close();
    MPI_T_finalize();
    MPI_Finalize();
    return wrong != 0;
}
