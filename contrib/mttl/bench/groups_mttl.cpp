/*
 * Barriers, or reductions of one number, over all nodes, one after the other.
 * Time is that of one, on node 0, which has verified the results.
 *
 *   groups_mttl barrier | reduction [TIMES]     default 20
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "../npb/clock.hpp"

#include <mttl/mttl.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace mttl;

int measure(int argc, char **argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    const int times = argc > 2 ? std::atoi(argv[2]) : 20;
    if ((what != "barrier" && what != "reduction") || times < 1)
        throw error("usage: groups_mttl barrier | reduction [TIMES]");
    Barrier all;
    Reduction<int> sum;
    bool right = true;
    const auto once = [&](int i) {
        if (what == "barrier")
            all.exec();
        else
            right &= sum.exec(my_node() + i) == nodes() * (nodes() - 1) / 2 + nodes() * i;
    };
    for (int i = 0; i < 3; ++i)
        once(i);
    all.exec();
    const double begin = seconds();
    for (int i = 0; i < times; ++i)
        once(i);
    const double time = (seconds() - begin) / times;
    if (my_node() == 0)
        std::printf(" Time in seconds = %.6f\n Verification = %s\n", time, right ? "SUCCESSFUL" : "FAILED");
    return !right;
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, measure, mttl::start::spmd);
}
