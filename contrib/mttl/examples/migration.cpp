/*
 * Migration: a random walk over virtual nodes goes on while processes leave the
 * work and come back.  No step is lost, and nobody who sends knows who is where.
 *
 *   mpirun -np 4 migration [STEPS]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

namespace {

struct place {          // its bytes travel: trivially copyable
    long visits = 0;
};
using places = mttl::VirtualNodes<place>;

mttl::Sync<int> arrived;    // of node 0

void walk(place &here, places all, unsigned state, int left)
{
    ++here.visits;
    if (left == 0)
        mttl::post(0, [] { arrived.write(1); });
    else
        all.post((state >> 8) % all.count(), mttl::fn<walk>, all, state * 1664525u + 1013904223u, left - 1);
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, [](int n, char **a) {
        const int steps = n > 1 ? std::atoi(a[1]) : 2000;
        constexpr int walkers = 8;
        const auto all = places::create(64);
        for (unsigned w = 0; w < walkers; ++w)
            all.post(w, mttl::fn<walk>, all, 12345u + w, steps);
        for (int process = 1; process < mttl::nodes(); ++process) {
            all.leave(process);             // its virtual nodes go to the others, with the walkers on them
            std::printf("process %d has left, process 0 has %zu of %u\n", process, all.here().size(), all.count());
        }
        for (int process = 1; process < mttl::nodes(); ++process)
            all.take_back(process);
        for (int w = 0; w < walkers; ++w)
            arrived.read();
        long visits = 0;
        for (unsigned v = 0; v < all.count(); ++v)
            visits += mttl::VirtualPtr<&place::visits>(all, v).get();
        std::printf("%ld visits of %ld\n", visits, long(walkers) * (steps + 1));
        return visits == long(walkers) * (steps + 1) ? 0 : 1;
    });
}
