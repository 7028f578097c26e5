/*
 * A library that test/mttl/worker loads while it runs.  It is compiled twice,
 * with another WAN_MTTL_PLUGIN each; all names in both are the same, and only
 * what plugin_ask returns tells which of them ran.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

namespace {
int unnamed() { return WAN_MTTL_PLUGIN; }
} // namespace
int global() { return WAN_MTTL_PLUGIN; }

/** Asks a node with every kind of function that a library can have: how many answers come from this library there. */
extern "C" [[gnu::visibility("default")]] int plugin_ask(int node)
{
    using namespace mttl;
    int mine = invoke(node, fn<unnamed>) == WAN_MTTL_PLUGIN;
    mine += invoke(node, fn<global>) == WAN_MTTL_PLUGIN;
    mine += invoke(node, [] { return WAN_MTTL_PLUGIN; }) == WAN_MTTL_PLUGIN;
    mine += invoke(node, [] { return my_node(); }) == node;
    mine += invoke(node, std::plus<>(), 2, 3) == 5;     // of both libraries
    return mine;
}

/** Where a function of this library is in this process. */
extern "C" [[gnu::visibility("default")]] uint64_t plugin_place()
{
    return reinterpret_cast<uint64_t>(&unnamed);
}
