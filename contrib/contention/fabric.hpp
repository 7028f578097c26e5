/*
 * A fat tree as a file describes it: Slurm's topology.conf, which tells leaf switches and their
 * hosts, with what it does not tell in comments that Slurm skips.  Next: fat_tree.hpp.
 *
 *     #wan: uplinks=4                                 every leaf switch has four
 *     SwitchName=leaf1 Nodes=n[01-20]
 *     SwitchName=leaf2 Nodes=n[21-40]  #wan: uplinks=8      but this one
 *     SwitchName=core  Switches=leaf[1-2]
 *     #wan: routing=position
 *
 *  - uplinks: of a leaf to the switches above, all as fast as a host's link.  Not told: as many as the leaf has hosts.
 *  - routing: which of its uplinks a message comes down by to a leaf: the number of its receiver modulo how many
 *    there are.  `position`, the default: among all hosts, in the order of the file, from 0; `name`: the last
 *    digits of the host's name.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CONTENTION_FABRIC_HPP
#define CONTENTION_FABRIC_HPP

#include "contention/fat_tree.hpp"
#include "input_error.hpp"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wan {

struct fabric {
    struct leaf {
        int line = 0;               // of the file
        int hosts = 0;
        int uplinks = 0;
        bool told = false;          // how many
    };
    enum class routing_rule { position, name };

    std::vector<leaf> leaves;
    routing_rule routing = routing_rule::position;
    std::unordered_map<std::string, fat_tree_node> hosts;       // of one under several leaves, the first counts

    /** False, with FILE:LINE, for what Slurm would refuse, and for words after "#wan:" that are none of the above. */
    static bool parse(std::string_view text, const std::string &file, fabric &out, input_error &error);
    static bool read(const std::string &file, fabric &out, input_error &error);

    /** As fat_tree_share(), with the leaves' own uplinks. */
    double share(std::span<const fat_tree_node> nodes, int processes) const
    {
        return fat_tree_share(nodes, [this](int at) { return leaves[static_cast<size_t>(at)].uplinks; }, processes);
    }
};

} // namespace wan

#endif
