/*
 * Bcast and Allreduce on pretended sites: groups of calls, each compared byte
 * by byte (coll_check.hpp).  Started by the script `collectives`.
 *
 * Usage: collectives_worker [--seed N] [--unserved REASON] [--wide] [--patience SECONDS] [--with KNOBS] GROUP[:N] ...
 *   --unserved REASON  no communicator of this job is served, and why
 *   --wide             8- and 16-bit sums overflow (wrong in op/avx of Open MPI 4.1)
 *   --with KNOBS       begins a phase: NAME=VALUE,... of coll/wan for the groups that follow, on a duplicate of
 *                      MPI_COMM_WORLD (groups of coll_data.cpp), or `-`: as the job, on itself.  Calls are counted
 *                      from 0 again, and the digests of the Kth phase are named K:GROUP
 *
 * Exit code 1: something was wrong; 3: a call did not return.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_groups.hpp"
#include "coll_knobs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <string>

namespace {

struct phase {
    std::string knobs;
    std::vector<std::pair<const groups::group *, int>> todo;
};

void set(const std::string &knobs)
{
    for (size_t at = 0; at < knobs.size();) {
        const size_t end = std::min(knobs.find(',', at), knobs.size()), is = knobs.find('=', at);
        if (is >= end || coll_knob_set(knobs.substr(at, is - at).c_str(), knobs.substr(is + 1, end - is - 1).c_str()))
            check::fail("no such value: " + knobs.substr(at, end - at));
        at = end + 1;
    }
}

} // namespace

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    const char *unserved = nullptr;
    unsigned patience = 20;
    std::vector<phase> phases(1);       // the first one: what comes before any --with
    bool threads = false;

    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        if (a == "--seed" && i + 1 < argc) {
            seed = std::strtoull(argv[++i], nullptr, 0);
        } else if (a == "--unserved" && i + 1 < argc) {
            unserved = argv[++i];
        } else if (a == "--wide") {
            groups::wide = true;
        } else if (a == "--with" && i + 1 < argc) {
            phases.push_back({argv[++i], {}});
        } else if (a == "--patience" && i + 1 < argc) {
            patience = static_cast<unsigned>(std::atoi(argv[++i]));
        } else {
            const auto colon = a.find(':');
            const auto *g = groups::named(a.substr(0, colon));
            if (!g) {
                std::fprintf(stderr, "collectives_worker: no group %s\n", a.c_str());
                return 2;
            }
            threads |= g->threads;
            phases.back().todo.emplace_back(g, colon == a.npos ? 1 : std::atoi(a.c_str() + colon + 1));
        }
    }
    // Large buffers come and go with each call: to map and unmap them would be much of the time.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    check::open(seed, unserved);
    check::watch(patience);
    if (threads && provided != MPI_THREAD_MULTIPLE)
        check::fail("this Open MPI has no MPI_THREAD_MULTIPLE");
    for (size_t k = 0; k < phases.size(); ++k) {
        if (k > 0)
            check::begin_phase(k, phases[k].knobs);
        if (k > 0 && phases[k].knobs != "-") {
            set(phases[k].knobs);
            MPI_Comm_dup(MPI_COMM_WORLD, &check::whole_comm);
        }
        if (k > 0 && check::now.rank == 0)
            std::printf("phase %zu: communicator %u\n", k, coll_number(check::whole_comm));
        for (auto [g, n] : phases[k].todo) {
            g->run(n);
            check::end_group((k > 0 ? std::to_string(k) + ":" : "") + g->name);
        }
        // (Duplicates stay until the end: their numbers tell them apart.)
        check::whole_comm = MPI_COMM_WORLD;
        coll_knobs_reset();
    }
    const int code = check::close();
    MPI_T_finalize();   // 4.1.4 crashes when this comes after MPI_Finalize
    MPI_Finalize();
    return code;
}
