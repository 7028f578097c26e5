/*
 * See fat_tree.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "contention/fat_tree.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace wan {

double fat_tree_share(std::span<const fat_tree_node> nodes, const std::function<int(int leaf)> &uplinks, int processes)
{
    const double all = static_cast<double>(nodes.size()), each = processes, peers = all * each - 1;
    if (peers < 1)
        return 1;
    std::map<int, double> under;                            // N_i
    std::map<std::pair<int, int>, double> by_uplink;        // NL_ij
    for (const fat_tree_node &n : nodes) {
        ++under[n.leaf];
        ++by_uplink[{n.leaf, n.number % uplinks(n.leaf)}];
    }
    double least = 1;
    for (const auto &[way, sharing] : by_uplink) {
        const double here = under[way.first], elsewhere = (all - here) * each;
        const double received = 1 + (sharing * each - 1) * elsewhere / peers;
        const double slowness = (each - 1) + (here - 1) * each * each + elsewhere * received;
        least = std::min(least, peers / slowness);
    }
    return least;
}

double exchange_time(exchange algorithm, int ranks, double latency, double bytes_time)
{
    // Steps of doubling distances: of 24 ranks five, too.
    const double steps = std::bit_width(static_cast<unsigned>(ranks - 1)), others = ranks - 1, barrier = 2 * steps * latency;
    const double plain = others * (latency + bytes_time);
    switch (algorithm) {
    case exchange::pair_light_barrier:
    case exchange::ring_light_barrier: return plain + others * latency;
    case exchange::pair_one_barrier:
    case exchange::ring_one_barrier: return plain + barrier;
    case exchange::pair_mpi_barrier:
    case exchange::ring_mpi_barrier: return plain + ranks * barrier;
    case exchange::bruck: return steps * (latency + ranks / 2.0 * bytes_time);
    default: return plain;
    }
}

} // namespace wan
