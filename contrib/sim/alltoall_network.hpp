/*
 * The simulated fat tree of wanalltoall: those nodes of a machine that a job has, all
 * switches' ports full duplex.  A leaf switch has `ports` nodes with consecutive numbers and
 * `uplinks` links to upper switches, which never block; whatever its direction, a message takes
 * the uplink of the number of the node that it is for, modulo `uplinks`:
 *
 *      upper switches     0: links 0, 1    1: links 2, 3
 *                          | | ...          up and down of every leaf
 *      leaf switches      0          1        ...
 *      nodes              0 .. 19    20 .. 39
 *
 * Messages that share a link share its rate equally, as those of several connections of an
 * InfiniBand port do.  Other jobs send nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_ALLTOALL_NETWORK_HPP
#define SIM_ALLTOALL_NETWORK_HPP

#include "contention/fat_tree.hpp"

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <vector>

namespace sim {

struct alltoall_network {
    std::vector<int> nodes;                 // the job's, in the order of ranks
    int per_node = 1;                       // processes of each: ranks 0, 1, ... are on the first
    int ports = 20, uplinks = 4;            // of a leaf
    double nic_mbps = 16000, uplink_mbps = 16000;   // of a node, of one uplink; each direction
    double lan_us = 3.5, overhead_us = 1;   // one way; of a process for a message, at either end
    double jitter = 0.1;                    // at most, of a message's way
    uint64_t seed = 1;

    int ranks() const { return static_cast<int>(nodes.size()) * per_node; }
    /** Of a message: the model's L and, for so many bytes alone on all links, its M B. */
    double latency_us() const { return lan_us + 2 * overhead_us; }
    double bytes_us(double bytes) const { return bytes * 8 / nic_mbps; }
    std::vector<wan::fat_tree_node> places() const;
    /** In the order of nodes. */
    std::vector<simgrid::s4u::Host *> build() const;
};

} // namespace sim

#endif
