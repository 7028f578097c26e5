/*
 * Discovery of sites (core/measure/discovery.hpp) on SimGrid, at sizes that no lab has: one process on each
 * host of a star of clusters (trees_network.hpp), whose messages take what its links let them, with jitter.
 * The sites that all find must be the clusters.
 *
 * Prints an object: whether they are, after how long the last process knew, and how many messages that took.
 * Processes look for messages all the time, as in MPI_Wait; that some compute meanwhile is test/unit/discovery's.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/discovery.hpp"
#include "sim_engine.hpp"
#include "trees_network.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <string>
#include <unordered_set>

namespace {

namespace sg4 = simgrid::s4u;
using json = nlohmann::ordered_json;

constexpr double header_bytes = 66 + 32;        // of TCP and of Open MPI
constexpr double tick_s = 0.005;                // a process that nothing comes to looks at its clock
constexpr int64_t glance_ns = 20'000;           // between two looks of one that looks all the time

struct settings {
    sim::trees_network network{.clusters = {}, .wan_ms = 20, .jitter = 0.4};
    std::string placement = "block";
    double late_ms = 20;
    uint64_t ways_bytes = 0;
    double limit_s = 120;
};

struct letter {
    int from, to;
    std::vector<char> bytes;
    double at_s = 0;                    // when it leaves
    double size() const { return header_bytes + static_cast<double>(bytes.size()); }
};

struct world;

struct process {
    std::unique_ptr<wan::discovery> machine;
    sg4::SemaphorePtr come = sg4::Semaphore::create(0);
    std::deque<letter> inbox;
    uint64_t sent = 0;
    double free_s = 0;                  // its interface sends one message after the other: SimGrid would let them share it
};

/** Everything that actors share. */
struct world {
    settings set;
    std::vector<sg4::Host *> hosts;         // of ranks
    std::vector<int> site;                  // of ranks
    std::vector<process> processes;
    size_t finished = 0;                    // know all that is to be known
    std::vector<double> known_s;
    double complete_s = 0;

    /** Actors that take one message at a time to where it goes. */
    struct carrier {
        sg4::SemaphorePtr wake = sg4::Semaphore::create(0);
        letter load;
    };
    std::vector<std::unique_ptr<carrier>> carriers;
    std::vector<carrier *> idle;

    static double now_s() { return sg4::Engine::get_clock(); }
    static int64_t now_ns() { return static_cast<int64_t>(now_s() * 1e9); }

    /**
     * Messages wait for their latency here, and only then for SimGrid, which takes it before the bandwidth, too, but looks
     * through all that are under way at the end of each.
     */
    std::mt19937_64 drawn{};
    std::vector<double> latencies{};        // of ways from rank to rank, but for jitter; 0: not looked up yet

    double latency_s(int from, int to)
    {
        double &known = latencies[static_cast<size_t>(from) * hosts.size() + static_cast<size_t>(to)];
        if (known == 0) {
            std::vector<sg4::Link *> links;
            hosts[static_cast<size_t>(from)]->route_to(hosts[static_cast<size_t>(to)], links, &known);
        }
        return known * (1 + std::uniform_real_distribution<double>(0, set.network.jitter)(drawn));
    }

    void carry(letter l)
    {
        // (Other actors run while one is made, or woken.)
        double &free_s = processes[static_cast<size_t>(l.from)].free_s;
        l.at_s = std::max(free_s, now_s());
        free_s = l.at_s + l.size() / set.network.nic_rate();
        carrier *c = nullptr;
        if (idle.empty()) {
            carriers.push_back(std::make_unique<carrier>());
            c = carriers.back().get();
            sg4::Actor::create("carrier", hosts[0], [this, c] {
                for (;;) {
                    c->wake->acquire();
                    letter l = std::move(c->load);
                    sg4::this_actor::sleep_until(l.at_s);
                    sg4::this_actor::sleep_for(latency_s(l.from, l.to));
                    sg4::Comm::sendto(hosts[static_cast<size_t>(l.from)], hosts[static_cast<size_t>(l.to)], static_cast<uint64_t>(l.size()));
                    process &p = processes[static_cast<size_t>(l.to)];
                    p.inbox.push_back(std::move(l));
                    p.come->release();
                    idle.push_back(c);
                }
            })->daemonize();
        } else {
            c = idle.back();
            idle.pop_back();
        }
        c->load = std::move(l);
        c->wake->release();
    }

    /** Rank `me`, until all know. */
    void live(int me)
    {
        process &p = processes[static_cast<size_t>(me)];
        std::mt19937_64 random(set.network.seed * 1'000'003 + static_cast<uint64_t>(me));
        sg4::this_actor::sleep_for(std::uniform_real_distribution<double>(0, set.late_ms * 1e-3)(random));
        bool knew = false, done = false;
        while (finished < processes.size() && now_s() < set.limit_s) {
            p.machine->look(std::max<int64_t>(0, now_ns() - glance_ns));
            p.machine->look(now_ns());
            while (!p.inbox.empty()) {
                const letter l = std::move(p.inbox.front());
                p.inbox.pop_front();
                p.machine->receive(l.from, l.bytes.data(), l.bytes.size());
            }
            if (p.machine->finished() && !std::exchange(knew, true))
                known_s.push_back(now_s());
            if (p.machine->complete() && !std::exchange(done, true)) {
                complete_s = now_s();
                ++finished;
            }
            p.come->acquire_timeout(tick_s);
        }
    }
};

settings settings_parse(int argc, char **argv)
{
    settings s;
    CLI::App app{"coll/wan's discovery of sites on a simulated network"};
    s.network.options(app);
    app.add_option("--jitter", s.network.jitter, "a message's latency is up to so much more, as a part of it");
    app.add_option("--seed", s.network.seed, "of the network and of messages");
    app.add_option("--late", s.late_ms, "ms within which processes begin");
    app.add_option("--measure", s.ways_bytes, "also the ways between sites, by so many bytes");
    app.add_option("--placement", s.placement, "ranks over clusters: block, roundrobin, shuffled")
        ->check(CLI::IsMember({"block", "roundrobin", "shuffled"}));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        std::exit(app.exit(e));
    }
    if (s.network.processes() < 2)
        throw std::invalid_argument("two hosts at least");
    return s;
}

/** Hosts of ranks, as indices in the order of clusters. */
std::vector<size_t> order_of(const settings &s, const std::vector<int> &site)
{
    std::vector<size_t> order(site.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (s.placement == "shuffled")
        std::shuffle(order.begin(), order.end(), std::mt19937_64(s.network.seed));
    if (s.placement == "roundrobin") {
        std::vector<size_t> number(site.size());
        std::map<int, size_t> next;
        for (size_t i = 0; i < site.size(); ++i)
            number[i] = next[site[i]]++;
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return number[a] < number[b]; });
    }
    return order;
}

/** How many ranks know other sites than there are, or none. */
size_t wrong_of(const world &w)
{
    std::map<int, int> number;
    std::vector<int> right;
    for (int s : w.site)
        right.push_back(number.try_emplace(s, static_cast<int>(number.size())).first->second);
    size_t wrong = 0;
    for (const process &p : w.processes) {
        bool same = p.machine->finished();
        for (size_t r = 0; same && r < right.size(); ++r)
            same = p.machine->site_of(static_cast<int>(r)) == right[r];
        wrong += !same;
    }
    return wrong;
}

json ways_of(const world &w)
{
    json ways = json::array();
    for (const auto &x : w.processes.back().machine->ways_between())
        ways.push_back({{"from", x.from}, {"to", x.to}, {"rtt_ns", x.what.rtt_ns}, {"bytes_per_s", x.what.bytes_per_s}});
    return ways;
}

} // namespace

int main(int argc, char **argv)
{
    sim::engine engine(argv[0]);
    try {
        world w{.set = settings_parse(argc, argv), .hosts = {}, .site = {}, .processes = {}, .known_s = {}, .carriers = {}, .idle = {}};
        const auto hosts = w.set.network.build();
        const auto sites = w.set.network.sites();
        for (size_t i : order_of(w.set, sites)) {
            w.hosts.push_back(hosts[i]);
            w.site.push_back(sites[i]);
        }
        w.drawn.seed(w.set.network.seed ^ 0x5eed);
        w.latencies.resize(w.hosts.size() * w.hosts.size());
        w.hosts[0]->get_englobing_zone()->get_network_model()->set_lat_factor_cb(
            [](double, const sg4::Host *, const sg4::Host *, const std::vector<sg4::Link *> &, const std::unordered_set<sg4::NetZone *> &) {
                return 0.0;
            });
        std::vector<uint64_t> nodes(w.hosts.size());
        std::iota(nodes.begin(), nodes.end(), uint64_t{1});
        w.processes.resize(w.hosts.size());
        for (size_t r = 0; r < w.hosts.size(); ++r)
            w.processes[r].machine = std::make_unique<wan::discovery>(
                nodes, static_cast<int>(r),
                [&w, r](int to, const void *bytes, size_t size) {
                    ++w.processes[r].sent;
                    const char *text = static_cast<const char *>(bytes);
                    w.carry({static_cast<int>(r), to, {text, text + size}});
                },
                wan::site_ways::options{.bytes = w.set.ways_bytes});
        for (size_t r = 0; r < w.hosts.size(); ++r)
            sg4::Actor::create("p" + std::to_string(r), w.hosts[r], [&w, r] { w.live(static_cast<int>(r)); });
        engine.run();
        const size_t wrong = wrong_of(w);
        uint64_t messages = 0, most = 0;
        for (const process &p : w.processes) {
            messages += p.sent;
            most = std::max(most, p.sent);
        }
        std::sort(w.known_s.begin(), w.known_s.end());
        std::puts(json{{"type", "end"}, {"seed", w.set.network.seed}, {"hosts", w.hosts.size()}, {"wrong", wrong},
                       {"known_ms", w.known_s.empty() ? 0 : 1e3 * w.known_s.back()}, {"complete_ms", 1e3 * w.complete_s},
                       {"messages", messages}, {"most_messages", most}, {"ways", ways_of(w)}}
                      .dump()
                      .c_str());
        if (wrong)
            std::fprintf(stderr, "wandiscovery_sim: %zu of %zu ranks have other sites\n", wrong, w.hosts.size());
        return wrong ? 1 : 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "wandiscovery_sim: %s\n", e.what());
        return 2;
    }
}
