/*
 * What bandwidth a placement leaves to an exchange of all with all on a fat tree
 * with static routing, and what Alltoall algorithms take by it.
 *
 * Leaf switches have several uplinks; which one a message comes down by follows
 * from the number of the node that it is for, modulo how many there are.  Only
 * that direction is modelled: each sends to each, so that the messages for nodes
 * of one leaf that share an uplink share its bandwidth, as do those of a node's
 * processes its link.
 *
 *   leaf       o o o o  uplinks      peers of a process        bandwidth to each
 *            /  |  |  \              in its node               B
 *       node node node node          under its leaf            B / P_n
 *                                    elsewhere                 B / RCV_ij
 *
 * with i the leaf, j the uplink, N nodes, N_i of them under leaf i, NL_ij of
 * those by uplink j, P_n processes a node:
 *
 *      RCV_ij = 1 + (NL_ij P_n - 1) (N - N_i) P_n / (N P_n - 1)
 *
 * and the harmonic mean over the N P_n - 1 peers.  (The report prints the last
 * term of that mean without its P_n; both are the same at P_n = 1.)
 *
 * Source: Nanri, Inadomi: RICC report on dynamic selection with topology-based
 * models.  Its formulas of the algorithms did not survive; those here give all
 * ten predictions of its table for P = 32, L = 5.5 us, M B = 14.035 us.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CONTENTION_FAT_TREE_HPP
#define CONTENTION_FAT_TREE_HPP

#include <array>
#include <functional>
#include <span>

namespace wan {

struct fat_tree_node {
    int leaf;           // switch
    int number;         // of the node in the network: routing goes by it
};

/**
 * The least average bandwidth of a process, over leaves and uplinks, as a part of a link's, 0 to 1.
 * nodes: those that the job has, at least one; uplinks of each leaf, and processes of a node: at least 1.
 */
double fat_tree_share(std::span<const fat_tree_node> nodes, const std::function<int(int leaf)> &uplinks, int processes);
inline double fat_tree_share(std::span<const fat_tree_node> nodes, int uplinks, int processes)
{
    return fat_tree_share(nodes, [uplinks](int) { return uplinks; }, processes);
}

/** Ways of an exchange of all with all inside one network. */
enum class exchange { simple, pair, ring, pair_light_barrier, ring_light_barrier, pair_one_barrier, ring_one_barrier,
                      pair_mpi_barrier, ring_mpi_barrier, bruck, exchanges };
/** As the report writes them. */
inline constexpr std::array<const char *, static_cast<size_t>(exchange::exchanges)> exchange_names{
    "Simple", "Pair", "Ring", "Pair_light_barrier", "Ring_light_barrier", "Pair_one_barrier", "Ring_one_barrier",
    "Pair_mpi_barrier", "Ring_mpi_barrier", "Bruck"};

/** Time of an algorithm with `ranks`, in the unit of the two times: latency of a message, and what its bytes take. */
double exchange_time(exchange algorithm, int ranks, double latency, double bytes_time);

/** Whether a candidate of so much predicted time is tried, beside the best prediction (the report tried 1.9 times it, not 3.9). */
constexpr bool worth_a_trial(double predicted, double best, double excess = 2) { return predicted <= excess * best; }

} // namespace wan

#endif
