/*
 * See info_contention.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_contention.hpp"

#include "contention/fabric.hpp"
#include "info_table.hpp"
#include "info_words.hpp"
#include "topo/hostlist.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <climits>
#include <cmath>
#include <iostream>
#include <set>
#include <vector>

namespace info {

namespace {

struct prediction {
    const char *algorithm;
    double ns;
    bool worth;         // a trial, beside the best
};

std::vector<wan::fat_tree_node> places_of(const wan::fabric &f, const contention_words &words)
{
    wan::hostlist list;
    std::string what;
    if (!wan::hostlist::parse(words.hosts, list, what))
        throw wrong_word("hosts '" + words.hosts + "': " + what + "; write names and ranges, such as n[001-016],gw1");
    std::vector<wan::fat_tree_node> places;
    std::set<std::string> seen;
    list.for_each([&](const std::string &name) {
        const auto at = f.hosts.find(name);
        if (at == f.hosts.end())
            throw wrong_word("the host " + name + " is under no switch of " + words.topology);
        if (seen.insert(name).second)
            places.push_back(at->second);
        return true;
    });
    return places;
}

std::vector<prediction> predicted(int ranks, double latency_ns, double bytes_ns)
{
    std::vector<prediction> all;
    for (size_t e = 0; e < wan::exchange_names.size(); ++e)
        all.push_back({wan::exchange_names[e], wan::exchange_time(static_cast<wan::exchange>(e), ranks, latency_ns, bytes_ns), false});
    std::stable_sort(all.begin(), all.end(), [](const prediction &a, const prediction &b) { return a.ns < b.ns; });
    for (prediction &p : all)
        p.worth = wan::worth_a_trial(p.ns, all.front().ns);
    return all;
}

} // namespace

int contention_run(const contention_words &words)
{
    wan::fabric f;
    wan::input_error error;
    if (!wan::fabric::read(words.topology, f, error))
        throw wrong_word(error.where + ": " + error.what + "\n" + error.remedy);
    if (words.per_host < 1 || words.per_host > 4096)
        throw wrong_word("--ranks-per-host: 1 to 4096");
    const std::vector<wan::fat_tree_node> places = places_of(f, words);
    const int64_t all_ranks = static_cast<int64_t>(places.size()) * words.per_host;
    if (all_ranks > INT_MAX)
        throw wrong_word("an exchange of " + std::to_string(all_ranks) + " ranks is more than MPI has: name fewer hosts, or fewer --ranks-per-host");
    const int ranks = static_cast<int>(all_ranks);
    if (ranks < 2)
        throw wrong_word("an exchange takes two ranks: name more hosts, or --ranks-per-host");
    const auto bytes = static_cast<double>(size_parse(words.size, "--size"));
    const auto rate = static_cast<double>(rate_of(words.rate, "--rate")), latency_ns = static_cast<double>(latency_of(words.latency, "--latency"));
    const double share = f.share(places, words.per_host);
    const auto all = predicted(ranks, latency_ns, bytes / rate * 1e9 / share);
    const auto bandwidth = [&](const prediction &p) { return (ranks - 1) * bytes / p.ns * 1e9; };

    std::set<int> leaves;
    int least = INT_MAX, most = 0;
    bool told = true;
    for (const wan::fat_tree_node &n : places) {
        const wan::fabric::leaf &l = f.leaves[static_cast<size_t>(n.leaf)];
        leaves.insert(n.leaf);
        least = std::min(least, l.uplinks);
        most = std::max(most, l.uplinks);
        told = told && l.told;
    }
    const bool by_name = f.routing == wan::fabric::routing_rule::name;
    if (words.json) {
        nlohmann::ordered_json out{{"hosts", places.size()}, {"leaves", leaves.size()}, {"ranks", ranks}, {"share", share}, {"routing", by_name ? "name" : "position"},
                                   {"algorithms", nlohmann::ordered_json::array()}};
        for (const prediction &p : all)
            out["algorithms"].push_back({{"name", p.algorithm}, {"predicted_ns", std::llround(p.ns)}, {"bytes_per_s", std::llround(bandwidth(p))}, {"worth_a_trial", p.worth}});
        std::cout << out.dump(2) << "\n";
        return 0;
    }
    std::cout << places.size() << (places.size() == 1 ? " host" : " hosts") << " under " << leaves.size() << (leaves.size() == 1 ? " leaf switch" : " leaf switches") << " of "
              << least << (most > least ? " to " + std::to_string(most) : "") << " uplinks" << (told ? "" : " (as many as hosts, where the file tells none: '#wan: uplinks=N')")
              << ", routing by " << (by_name ? "the number in a host's name" : "a host's position in the file") << "\n"
              << format("each of %d ranks has %.0f%% of a link on average, or more: %s of %s\n", ranks, 100 * share, rate_text(share * rate).c_str(), rate_text(rate).c_str())
              << "exchange of all with all, " << size_text(static_cast<uint64_t>(bytes)) << " a pair, predicted:\n";
    table t(1);
    t.row({"algorithm", "time", "a rank sends", "worth a trial"});
    for (const prediction &p : all)
        t.row({p.algorithm, time_text(std::llround(p.ns)), rate_text(bandwidth(p)), p.worth ? "yes" : "no"});
    std::cout << t.text();
    return 0;
}

} // namespace info
