/*
 * Bcast and Allreduce on pretended sites: groups of calls, each compared byte
 * by byte (coll_check.hpp).  Started by the script `collectives`.
 *
 * Usage: collectives_worker [--seed N] [--unserved REASON] [--wide] [--patience SECONDS] GROUP[:N] ...
 *   --unserved REASON  no communicator of this job is served, and why
 *   --wide             8- and 16-bit sums overflow (wrong in op/avx of Open MPI 4.1)
 *
 * Exit code 1: something was wrong; 3: a call did not return.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_groups.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    const char *unserved = nullptr;
    unsigned patience = 20;
    std::vector<std::pair<const groups::group *, int>> todo;
    bool threads = false;

    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        if (a == "--seed" && i + 1 < argc) {
            seed = std::strtoull(argv[++i], nullptr, 0);
        } else if (a == "--unserved" && i + 1 < argc) {
            unserved = argv[++i];
        } else if (a == "--wide") {
            groups::wide = true;
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
            todo.emplace_back(g, colon == a.npos ? 1 : std::atoi(a.c_str() + colon + 1));
        }
    }
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    check::open(seed, unserved);
    check::watch(patience);
    if (threads && provided != MPI_THREAD_MULTIPLE)
        check::fail("this Open MPI has no MPI_THREAD_MULTIPLE");
    for (auto [g, n] : todo) {
        g->run(n);
        check::end_group(g->name);
    }
    const int code = check::close();
    MPI_T_finalize();   // 4.1.4 crashes when this comes after MPI_Finalize
    MPI_Finalize();
    return code;
}
