/*
 * See alltoall_network.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "alltoall_network.hpp"

#include <map>
#include <memory>
#include <random>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <string>
#include <unordered_set>

namespace sg4 = simgrid::s4u;

namespace sim {

std::vector<wan::fat_tree_node> alltoall_network::places() const
{
    std::vector<wan::fat_tree_node> all;
    for (int number : nodes)
        all.push_back({number / ports, number});
    return all;
}

std::vector<sg4::Host *> alltoall_network::build() const
{
    auto *zone = sg4::create_full_zone("fat_tree");
    const auto link = [&](const std::string &name, double mbps, double latency_s = 0) {
        return zone->create_link(name, mbps * 1e6 / 8)->set_latency(latency_s)->seal();
    };
    struct duplex {
        sg4::Link *up, *down;
    };
    // All of a way's latency is in the two nodes' links: what shares a link shares it equally then.
    const double half_s = lan_us * 1e-6 / 2;
    std::vector<sg4::Host *> hosts;
    std::vector<duplex> nics;
    std::map<std::pair<int, int>, duplex> leaves;      // leaf, uplink
    const auto places = this->places();
    for (const wan::fat_tree_node &n : places) {
        const std::string name = std::to_string(n.number);
        hosts.push_back(zone->create_host("n" + name, 1e9)->seal());
        nics.push_back({link("up-" + name, nic_mbps, half_s), link("down-" + name, nic_mbps, half_s)});
        for (int j = 0; j < uplinks; ++j) {
            const std::string uplink = std::to_string(n.leaf) + "." + std::to_string(j);
            if (!leaves.count({n.leaf, j}))
                leaves[{n.leaf, j}] = {link("leaf-up-" + uplink, uplink_mbps), link("leaf-down-" + uplink, uplink_mbps)};
        }
    }
    for (size_t a = 0; a < hosts.size(); ++a)
        for (size_t b = 0; b < hosts.size(); ++b) {
            std::vector<sg4::LinkInRoute> way;
            if (a == b) {       // the processes of a node do not disturb each other
                way.emplace_back(zone->create_link("in-" + std::to_string(places[a].number), nic_mbps * 1e6 / 8)
                                     ->set_latency(2 * half_s)->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE)->seal());
            } else {
                const int j = places[b].number % uplinks;
                way.emplace_back(nics[a].up);
                if (places[a].leaf != places[b].leaf) {
                    way.emplace_back(leaves.at({places[a].leaf, j}).up);
                    way.emplace_back(leaves.at({places[b].leaf, j}).down);
                }
                way.emplace_back(nics[b].down);
            }
            zone->add_route(hosts[a]->get_netpoint(), hosts[b]->get_netpoint(), nullptr, nullptr, way, false);
        }
    zone->seal();
    zone->get_network_model()->set_lat_factor_cb(
        [drawn = std::make_shared<std::mt19937_64>(seed), most = jitter](double, const sg4::Host *, const sg4::Host *,
                                                                         const std::vector<sg4::Link *> &,
                                                                         const std::unordered_set<sg4::NetZone *> &) {
            return 1 + (most > 0 ? std::uniform_real_distribution<double>(0, most)(*drawn) : 0);
        });
    return hosts;
}

} // namespace sim
