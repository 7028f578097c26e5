/*
 * The simulated platform, loaded by smpirun (-platform sim_platform.so): sites
 * of hosts, each host with a full-duplex interface to its site's switch, each
 * site with a full-duplex uplink; the delay between sites is in the uplinks.
 *
 *     h0.s0 --nic-- switch --uplink-- (wan) --uplink-- switch --nic-- h0.s1
 *
 * WANSIM_PLATFORM in the environment holds "KEY=NUMBER ...":
 *   sites, hosts   of hosts per site
 *   nic, uplink    bytes/s of payload, in each direction
 *   lan, wan       seconds one way, host to host in a site; between sites, besides
 *   fifo           1: an interface sends one message after the other
 *
 * fifo: SimGrid lets messages that are under way at once share a link, also those
 * of one connection, which TCP delivers in turn.  Segments of a pipeline would
 * then all arrive when the last one does.  With a limit of one, an interface
 * sends them in the order in which they were posted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <simgrid/s4u.hpp>

#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace sg4 = simgrid::s4u;

namespace {

using values = std::map<std::string, double>;

values values_read(const char *text)
{
    values v;
    std::istringstream words(text ? text : "");
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos)
            throw std::invalid_argument("WANSIM_PLATFORM: '" + word + "' is not KEY=NUMBER");
        v[word.substr(0, equals)] = std::strtod(word.c_str() + equals + 1, nullptr);
    }
    for (const char *key : {"sites", "hosts", "nic", "uplink", "lan", "wan", "fifo"})
        if (!v.count(key))
            throw std::invalid_argument(std::string("WANSIM_PLATFORM: no ") + key);
    return v;
}

/** Adds a site; its switch, where the uplink goes to, in `gateway`. */
sg4::NetZone *site_create(const sg4::NetZone *world, int number, values &v, simgrid::kernel::routing::NetPoint *&gateway)
{
    const std::string name = "s" + std::to_string(number);
    auto *site = sg4::create_star_zone(name);
    site->set_parent(world);
    for (int h = 0; h < static_cast<int>(v["hosts"]); ++h) {
        const std::string host_name = "h" + std::to_string(h) + "." + name;
        auto *host = site->create_host(host_name, 1e9);
        auto *nic = site->create_split_duplex_link("nic-" + host_name, v["nic"]);
        nic->set_latency(v["lan"] / 2);
        if (v["fifo"] > 0)
            nic->get_link_up()->set_concurrency_limit(static_cast<int>(v["fifo"]));
        nic->seal();
        site->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{nic, sg4::LinkInRoute::Direction::UP}}, true);
        host->seal();
    }
    gateway = site->create_router("switch." + name);
    site->seal();
    return site;
}

} // namespace

extern "C" __attribute__((visibility("default"))) void load_platform(const sg4::Engine &)
{
    values v = values_read(std::getenv("WANSIM_PLATFORM"));
    auto *world = sg4::create_star_zone("wan");
    for (int s = 0; s < static_cast<int>(v["sites"]); ++s) {
        simgrid::kernel::routing::NetPoint *gateway = nullptr;
        auto *site = site_create(world, s, v, gateway);
        auto *uplink = world->create_split_duplex_link("uplink-s" + std::to_string(s), v["uplink"]);
        uplink->set_latency(v["wan"] / 2)->seal();
        world->add_route(site->get_netpoint(), nullptr, gateway, nullptr, {{uplink, sg4::LinkInRoute::Direction::UP}}, true);
    }
    world->seal();
}
