/*
 * wanalltoall_sim: what the model of a fat tree (contention/fat_tree.hpp) says of the ten ways of
 * exchanging all with all, and what they then take on a simulated one (alltoall_network.hpp).
 * Started by `wansim alltoall`; prints one JSON object a line: the placement, all predictions, and
 * only then points, as they are simulated.  A prediction knows nodes, latency and rates, nothing else;
 * `kept_blindly` is what would be tried without knowing the placement.
 *
 * All ranks begin at one instant; a point's time is from there to the end of the last one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "alltoall_rank.hpp"
#include "sim_engine.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace {

namespace sg4 = simgrid::s4u;
using json = nlohmann::ordered_json;

constexpr size_t ways = static_cast<size_t>(wan::exchange::exchanges);
constexpr const auto &names = wan::exchange_names;

struct settings {
    sim::alltoall_network network;
    uint64_t eager_bytes = 12288;
    double excess = 2;
    std::vector<uint64_t> sizes;
};

void print(const json &line)
{
    std::puts(line.dump().c_str());
    std::fflush(stdout);
}

void predict(const settings &s)
{
    const auto places = s.network.places();
    std::set<int> leaves;
    for (const auto &p : places)
        leaves.insert(p.leaf);
    const double share = wan::fat_tree_share(places, s.network.uplinks, s.network.per_node);
    print({{"type", "placement"}, {"nodes", s.network.nodes}, {"leaves", leaves.size()}, {"share", share},
           {"latency_us", s.network.latency_us()}});
    const auto all = [&](double mb_us) {
        std::array<double, ways> us;
        for (size_t w = 0; w < ways; ++w)
            us[w] = wan::exchange_time(static_cast<wan::exchange>(w), s.network.ranks(), s.network.latency_us(), mb_us);
        return us;
    };
    for (uint64_t bytes : s.sizes) {
        const double alone_us = s.network.bytes_us(static_cast<double>(bytes));
        const auto us = all(alone_us / share), blind = all(alone_us);
        const double best = *std::min_element(us.begin(), us.end()), best_blind = *std::min_element(blind.begin(), blind.end());
        json line{{"type", "prediction"}, {"bytes", bytes}, {"us", json::object()}, {"kept", json::array()},
                  {"kept_blindly", json::array()}};
        for (size_t w = 0; w < ways; ++w) {
            line["us"][names[w]] = us[w];
            if (wan::worth_a_trial(us[w], best, s.excess))
                line["kept"].push_back(names[w]);
            if (wan::worth_a_trial(blind[w], best_blind, s.excess))
                line["kept_blindly"].push_back(names[w]);
        }
        print(line);
    }
}

/** All points, one after the other; what is wrong in any. */
class experiment {
public:
    explicit experiment(const settings &s)
        : set_(s), all_(s.network, s.eager_bytes), together_(sg4::Barrier::create(static_cast<unsigned>(all_.ranks)))
    {
    }

    void rank(int me)
    {
        sim::alltoall_rank mine(all_, me);
        for (uint64_t bytes : set_.sizes)
            for (size_t w = 0; w < ways; ++w) {
                if (me == 0) {
                    wrong_ = 0;
                    all_.messages = 0;
                    all_.block_bytes = bytes;
                }
                together_->wait();
                const double began_s = sg4::Engine::get_clock();
                const bool right = mine.exchange(static_cast<wan::exchange>(w));
                wrong_ += !right;
                together_->wait();
                if (me != 0)
                    continue;
                print({{"type", "point"}, {"bytes", bytes}, {"way", names[w]}, {"us", (sg4::Engine::get_clock() - began_s) * 1e6},
                       {"messages", all_.messages}, {"wrong", wrong_}});
                ++points_;
                wrong_ever_ += wrong_;
            }
    }

    bool over() const { return points_ == ways * set_.sizes.size(); }
    uint64_t wrong() const { return wrong_ever_; }
    int ranks() const { return all_.ranks; }

private:
    const settings &set_;
    sim::alltoall_ranks all_;
    sg4::BarrierPtr together_;
    uint64_t wrong_ = 0, wrong_ever_ = 0;
    size_t points_ = 0;
};

settings settings_parse(int argc, char **argv)
{
    settings s;
    CLI::App app{"Ways of exchanging all with all on a simulated fat tree, beside what a model says of them"};
    app.add_option("--nodes", s.network.nodes, "numbers of the job's nodes, in the order of ranks, as in 0,1,20")->delimiter(',')
        ->required()->allow_extra_args(false)->check(CLI::NonNegativeNumber);
    app.add_option("--per-node", s.network.per_node, "processes of a node")->check(CLI::PositiveNumber);
    app.add_option("--ports", s.network.ports, "nodes of a leaf switch")->check(CLI::PositiveNumber);
    app.add_option("--uplinks", s.network.uplinks, "of a leaf switch")->check(CLI::PositiveNumber);
    app.add_option("--nic", s.network.nic_mbps, "Mb/s of a node's link")->check(CLI::PositiveNumber);
    app.add_option("--uplink", s.network.uplink_mbps, "Mb/s of one uplink")->check(CLI::PositiveNumber);
    app.add_option("--lan", s.network.lan_us, "us one way")->check(CLI::PositiveNumber);
    app.add_option("--overhead", s.network.overhead_us, "us of a process for a message, at either end")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--jitter", s.network.jitter, "of a message's way, at most, as a part of it")->check(CLI::Range(0.0, 10.0));
    app.add_option("--seed", s.network.seed, "of the jitter");
    app.add_option("--eager", s.eager_bytes, "messages of up to so many bytes do not wait for their receiver");
    app.add_option("--excess", s.excess, "a way is dropped whose prediction is more than so many times the best one")
        ->check(CLI::Range(1.0, 1e9));
    app.add_option("sizes", s.sizes, "bytes of a block")->required()->check(CLI::PositiveNumber);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        std::exit(app.exit(e) ? 2 : 0);
    }
    if (std::set<int>(s.network.nodes.begin(), s.network.nodes.end()).size() != s.network.nodes.size())
        throw std::invalid_argument("--nodes: a node is there twice (--per-node says how many processes each has)");
    if (s.network.ranks() < 2)
        throw std::invalid_argument("two processes at least");
    return s;
}

} // namespace

int main(int argc, char **argv)
{
    sim::engine engine(argv[0], {"--cfg=network/model:CM02"});
    try {
        const settings set = settings_parse(argc, argv);
        predict(set);
        const auto hosts = set.network.build();
        experiment x(set);
        for (int r = 0; r < x.ranks(); ++r)
            sg4::Actor::create("r" + std::to_string(r), hosts[static_cast<size_t>(r / set.network.per_node)],
                               [&x, r] { x.rank(r); });
        engine.run();
        if (!x.over())
            throw std::runtime_error("the simulation came to a stop before its end");
        print({{"type", "end"}, {"wrong", x.wrong()}});
        if (x.wrong())
            std::fprintf(stderr, "wanalltoall_sim: %s wrong results\n", std::to_string(x.wrong()).c_str());
        return x.wrong() ? 1 : 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "wanalltoall_sim: %s\n", e.what());
        return 2;
    }
}
