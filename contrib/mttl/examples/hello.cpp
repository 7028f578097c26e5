/*
 * A function on every node, and what it returns.
 *
 *   mpirun -np 4 hello
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

std::string greet(const std::string &who)
{
    return "hello " + who + ", from node " + std::to_string(mttl::my_node());
}

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, [](int, char **) {     // on node 0; the others serve
        for (int node = 0; node < mttl::nodes(); ++node)
            std::puts(mttl::invoke(node, mttl::fn<greet>, "world").c_str());
        return 0;
    });
}
