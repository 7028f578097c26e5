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
 *   burst          bytes that an interface lets pass at once after a pause, as rate
 *                  limits of clouds and of tc's token bucket do; 0: none
 *   cores, core    0, or processors that all hosts share, as in the emulated lab, and
 *                  their seconds for a message; it waits until one is free
 *
 * fifo: SimGrid lets messages that are under way at once share a link, also those
 * of one connection, which TCP delivers in turn.  Segments of a pipeline would
 * then all arrive when the last one does.  With a limit of one, an interface
 * sends them in the order in which they were posted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

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
    for (const char *key : {"sites", "hosts", "nic", "uplink", "lan", "wan", "fifo", "burst", "cores", "core"})
        if (!v.count(key))
            throw std::invalid_argument(std::string("WANSIM_PLATFORM: no ") + key);
    return v;
}

/** Token buckets of all interfaces: what of a message passes at once. */
class buckets {
public:
    buckets(double bytes_per_s, double burst_bytes) : rate_(bytes_per_s), burst_(burst_bytes) {}

    /** A message from one host to another begins: what its rate is to be multiplied with. */
    double factor(double bytes, const sg4::Host *from, const sg4::Host *to)
    {
        if (burst_ <= 0 || bytes <= 0 || from == to)
            return 1;
        const double now = sg4::Engine::get_clock();
        const double free = std::min(take(sends_[from], bytes, now), take(receives_[to], bytes, now));
        return bytes / std::max(1.0, bytes - free);
    }

private:
    struct bucket {
        double tokens = 0, filled_s = -1;
    };
    double rate_, burst_;
    std::unordered_map<const sg4::Host *, bucket> sends_, receives_;

    /** Bytes that pass at once.  Tokens below zero: bytes that wait before the interface. */
    double take(bucket &b, double bytes, double now) const
    {
        b.tokens = b.filled_s < 0 ? burst_ : std::min(burst_, b.tokens + rate_ * (now - b.filled_s));
        b.filled_s = now;
        const double free = std::clamp(b.tokens, 0.0, bytes);
        b.tokens -= bytes;
        return free;
    }
};

/** Processors that all messages go through, one after the other. */
class processors {
public:
    processors(int count, double message_s) : free_s_(static_cast<size_t>(count)), message_s_(message_s) {}

    /** A message begins whose way takes `latency_s`: what that is to be multiplied with. */
    double factor(double latency_s)
    {
        if (free_s_.empty() || latency_s <= 0)
            return 1;
        const double now = sg4::Engine::get_clock();
        double &first = *std::min_element(free_s_.begin(), free_s_.end());
        const double begins = std::max(now, first);
        first = begins + message_s_;
        return 1 + (begins - now) / latency_s;
    }

private:
    std::vector<double> free_s_;
    double message_s_;
};

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
    auto limits = std::make_shared<buckets>(v["nic"], v["burst"]);
    auto shared = std::make_shared<processors>(static_cast<int>(v["cores"]), v["core"]);
    world->get_network_model()->set_lat_factor_cb(
        [shared](double, const sg4::Host *, const sg4::Host *, const std::vector<sg4::Link *> &links,
                 const std::unordered_set<sg4::NetZone *> &) {
            double latency_s = 0;
            for (const sg4::Link *link : links)
                latency_s += link->get_latency();
            return shared->factor(latency_s);
        });
    world->get_network_model()->set_bw_factor_cb(
        [limits](double bytes, const sg4::Host *from, const sg4::Host *to, const std::vector<sg4::Link *> &,
                 const std::unordered_set<sg4::NetZone *> &) { return limits->factor(bytes, from, to); });
}
