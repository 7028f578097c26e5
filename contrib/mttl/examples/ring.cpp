/*
 * A token goes round; each node adds its number.  Nobody waits on the way: a
 * node posts to the next one, and the last one writes to a Sync of node 0.
 *
 *   mpirun -np 4 ring [ROUNDS]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

mttl::Sync<long> home;      // of node 0

void pass(long token, int hops)
{
    if (hops == 0)
        home.write(token);
    else
        mttl::post((mttl::my_node() + 1) % mttl::nodes(), mttl::fn<pass>, token + mttl::my_node(), hops - 1);
}

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, [](int n, char **a) {
        const int rounds = n > 1 ? std::atoi(a[1]) : 10, nodes = mttl::nodes();
        pass(0, rounds * nodes);
        const long sum = home.read();       // blocks this thread, the process serves
        std::printf("%d rounds of %d nodes: %ld\n", rounds, nodes, sum);
        return sum == long(rounds) * nodes * (nodes - 1) / 2 ? 0 : 1;
    });
}
