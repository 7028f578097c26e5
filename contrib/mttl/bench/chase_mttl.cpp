/*
 * Walkers on mttl: each reads what it needs through a global pointer.
 *
 *   one        a walker after the other
 *   threads    a thread for each walker; the code of a walker is the same
 *
 *   mpirun -np N chase_mttl one|threads [WALKERS [STEPS]]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "chase.hpp"

#include <mttl/mttl.hpp>

using namespace chase;

namespace {

std::vector<entry> part;
std::vector<mttl::GlobalPtr<entry>> parts;      // of each process

uint64_t walk(uint64_t at, int steps)
{
    uint64_t sum = 0;
    for (int s = 0; s < steps; ++s) {
        const entry e = parts[static_cast<size_t>(owner(at))][static_cast<ptrdiff_t>(at % entries_each)];
        sum += e.value;
        at = e.next;
    }
    return sum;
}

int run(int argc, char **argv)
{
    const int me = mttl::my_node(), np = mttl::nodes();
    const std::string how = argc > 1 ? argv[1] : "";
    if (how != "one" && how != "threads")
        throw std::runtime_error("usage: chase_mttl one|threads [WALKERS [STEPS]]");
    const plan p(argc, argv);
    mttl::Barrier all;
    part = part_of(me, np);
    all.exec();
    for (int k = 0; k < np; ++k)
        parts.push_back(mttl::invoke(k, [] { return mttl::GlobalPtr<entry>(part.data()); }));
    all.exec();
    const double t = seconds();
    uint64_t sum = 0;
    if (how == "one") {
        for (int w = 0; w < p.walkers; ++w)
            sum += walk(start_of(w, me, np), p.steps);
    } else {
        std::vector<mttl::thread_handle> walkers;
        for (int w = 0; w < p.walkers; ++w)
            walkers.push_back(mttl::spawn([&, w] { sum += walk(start_of(w, me, np), p.steps); }));
        for (auto &w : walkers)
            w.join();
    }
    all.exec();     // as on plain MPI, where a process serves until all are done
    const double time = seconds() - t;
    const double longest = mttl::Reduction<double>().exec(time, [](double a, double b) { return std::max(a, b); });
    const int good = mttl::Reduction<int>().exec(sum == expected(p, me, np), [](int a, int b) { return std::min(a, b); });
    if (me == 0)
        print(how.c_str(), p, np, longest, good);
    return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, run, mttl::start::spmd);
}
