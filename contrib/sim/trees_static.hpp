/*
 * What the Phoenix paper compares adaptive trees with: MPICH's algorithms, which see no
 * clusters; the same inside clusters behind one message to each (MagPIe); one list
 * through all processes, cluster by cluster.  Messages without contents.
 *
 * Source: Saito, Taura, Chikayama, section 5.1; Thakur, Rabenseifner, Gropp for MPICH.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_TREES_STATIC_HPP
#define SIM_TREES_STATIC_HPP

#include "trees_process.hpp"

namespace sim {

/** What the calling process does in a broadcast or reduction of so many bytes; order[0] is the root. */
void mpich_broadcast(trees_process &p, int me, const std::vector<int> &order, uint64_t bytes);
void mpich_reduce(trees_process &p, int me, const std::vector<int> &order, uint64_t bytes);

/** site[i]: of process i. */
void magpie_broadcast(trees_process &p, int me, const std::vector<int> &order, const std::vector<int> &site, uint64_t bytes);
void magpie_reduce(trees_process &p, int me, const std::vector<int> &order, const std::vector<int> &site, uint64_t bytes);

/** In segments, cut as those of adaptive trees. */
void list_broadcast(trees_process &p, int me, const std::vector<int> &order, const std::vector<int> &site, uint64_t bytes);

} // namespace sim

#endif
