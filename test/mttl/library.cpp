/*
 * See library.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "library.hpp"

#include <mttl/mttl.hpp>

int library_square(int x)
{
    return x * x;
}

int library_ask(int node)
{
    return mttl::invoke(node, [](int x) { return x + mttl::my_node(); }, 1000);
}
