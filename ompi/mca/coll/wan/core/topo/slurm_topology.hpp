/*
 * Slurm's topology.conf (topology/tree) read as a cluster map.  It places
 * hosts only; the file holds no rates that mean anything (Slurm says that
 * LinkSpeed is informational).  Called by topo/cluster_map.hpp.
 *
 *     SwitchName=leaf1 Nodes=n[01-20]
 *     SwitchName=leaf2 Nodes=n[21-40]        n01 -> core:leaf1
 *     SwitchName=core  Switches=leaf[1-2]    n21 -> core:leaf2
 *
 * Each root of the forest of switches is a WAN site and names it; the way
 * down to the leaf is the inside of the site, after a ':' because a site
 * named by a single level ends there (topo/site_name.hpp).
 *
 *  - Roots that share a switch below them, or a node (several spines, several
 *    rails), are one fabric: one site, named after the first of them in the
 *    file.  The way down follows the first line that lists a switch.
 *  - A root without switches below is a leaf, and leaf switches are never
 *    WAN sites by themselves: its nodes are known, but in no WAN site ("").
 *  - Other characters than a site name's become '_'.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TOPO_SLURM_TOPOLOGY_HPP
#define WAN_TOPO_SLURM_TOPOLOGY_HPP

#include "topo/cluster_map.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace wan {

/** True when the first statement of the text is one of topology.conf. */
bool slurm_topology_detect(std::string_view text);

/**
 * One entry per switch with nodes, in the order of the file.  Accepted as
 * Slurm does: keys in any case, '=' with blanks around, values in quotes,
 * lines continued by '\', comments.  False with FILE:LINE of the statement
 * for anything Slurm would refuse: a switch that is undefined, defined twice
 * or above itself, a bad range, an unknown key; and for topology/block files.
 */
bool slurm_topology_parse(std::string_view text, const std::string &file, std::vector<map_entry> &out,
                          input_error &error);

} // namespace wan

#endif
