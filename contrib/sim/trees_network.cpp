/*
 * See trees_network.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trees_network.hpp"

#include <memory>
#include <numeric>
#include <random>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <string>
#include <unordered_set>

namespace sg4 = simgrid::s4u;

namespace sim {

int trees_network::processes() const
{
    return std::accumulate(clusters.begin(), clusters.end(), 0);
}

std::vector<int> trees_network::sites() const
{
    std::vector<int> all;
    for (size_t c = 0; c < clusters.size(); ++c)
        all.insert(all.end(), static_cast<size_t>(clusters[c]), static_cast<int>(c));
    return all;
}

std::vector<sg4::Host *> trees_network::build() const
{
    std::mt19937_64 random(seed);
    const auto about = [&](double value) { return value * (1 + spread * std::uniform_real_distribution<double>(-1, 1)(random)); };
    std::vector<sg4::Host *> hosts;
    auto *world = sg4::create_star_zone("wan");
    for (size_t c = 0; c < clusters.size(); ++c) {
        const std::string name = "c" + std::to_string(c);
        auto *cluster = sg4::create_star_zone(name);
        cluster->set_parent(world);
        for (int h = 0; h < clusters[c]; ++h) {
            const std::string host_name = "h" + std::to_string(h) + "." + name;
            auto *host = cluster->create_host(host_name, 1e9);
            auto *nic = cluster->create_split_duplex_link("nic-" + host_name, nic_rate());
            nic->set_latency(about(lan_us * 1e-6 / 2));
            nic->seal();
            cluster->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{nic, sg4::LinkInRoute::Direction::UP}}, true);
            host->seal();
            hosts.push_back(host);
        }
        auto *gateway = cluster->create_router("switch." + name);
        cluster->seal();
        auto *uplink = world->create_split_duplex_link("uplink-" + name, uplink_mbps * 1e6 / 8);
        uplink->set_latency(about(wan_ms * 1e-3 / 2))->seal();
        world->add_route(cluster->get_netpoint(), nullptr, gateway, nullptr, {{uplink, sg4::LinkInRoute::Direction::UP}}, true);
    }
    world->seal();
    auto drawn = std::make_shared<std::mt19937_64>(seed ^ 0x5eed);
    world->get_network_model()->set_lat_factor_cb(
        [drawn, most = jitter](double, const sg4::Host *, const sg4::Host *, const std::vector<sg4::Link *> &,
                               const std::unordered_set<sg4::NetZone *> &) {
            return 1 + std::uniform_real_distribution<double>(0, most)(*drawn);
        });
    world->get_network_model()->set_bw_factor_cb(
        [](double, const sg4::Host *, const sg4::Host *, const std::vector<sg4::Link *> &, const std::unordered_set<sg4::NetZone *> &) {
            return 1.0;
        });
    return hosts;
}

} // namespace sim
