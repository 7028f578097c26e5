/*
 * Which rank sits where: numbering, its inverse, the digest, memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/topology.hpp"

#include "unit.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

namespace {

using namespace wan;
using namespace wan_test;

site_id site(int i) { return site_id{static_cast<uint32_t>(i)}; }

std::vector<place> places_of(const std::vector<std::pair<const char *, uint64_t>> &list)
{
    std::vector<place> p;
    for (auto [s, n] : list)
        p.push_back({s, n});
    return p;
}

/** Compares a topology with what the places say, by the definition in topology.hpp. */
std::string compare(const std::vector<place> &places)
{
    const topology t(places);
    const int p = static_cast<int>(places.size());
    WAN_CHECK(t.size() == p);
    std::vector<std::string> names;             // sites by lowest rank
    std::map<std::string, std::vector<uint64_t>> hosts;
    std::map<std::pair<std::string, uint64_t>, std::vector<int>> ranks;
    for (int r = 0; r < p; ++r) {
        const std::string name(places[static_cast<size_t>(r)].site);
        const uint64_t node = places[static_cast<size_t>(r)].node;
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
        auto &h = hosts[name];
        if (std::find(h.begin(), h.end(), node) == h.end())
            h.push_back(node);
        ranks[{name, node}].push_back(r);
    }
    WAN_CHECK(t.site_count() == static_cast<int>(names.size()));
    std::set<int> seen;
    for (int s = 0; s < t.site_count(); ++s) {
        const std::string &name = names[static_cast<size_t>(s)];
        WAN_CHECK(t.site_name(site(s)) == name);
        WAN_CHECK(t.node_count(site(s)) == static_cast<int>(hosts[name].size()));
        int in_site = 0;
        for (int n = 0; n < t.node_count(site(s)); ++n) {
            const auto &mine = ranks[{name, hosts[name][static_cast<size_t>(n)]}];
            WAN_CHECK(t.lane_count(site(s), n) == static_cast<int>(mine.size()));
            for (int l = 0; l < t.lane_count(site(s), n); ++l, ++in_site) {
                const int r = t.rank_at(site(s), n, l);
                WAN_CHECK_THAT(r == mine[static_cast<size_t>(l)], "site " + name + " host " + std::to_string(n));
                seen.insert(r);
                const auto at = t.locate(r);
                WAN_CHECK(at.site == site(s) && at.node == n && at.lane == l);
                WAN_CHECK(t.site_of(r) == site(s));
            }
        }
        WAN_CHECK(t.rank_count(site(s)) == in_site);
    }
    WAN_CHECK(static_cast<int>(seen.size()) == p);
    return "";
}

std::string check_small()
{
    using list = std::vector<std::pair<const char *, uint64_t>>;
    const list all[] = {
        {{"a", 1}},
        {{"a", 1}, {"b", 2}},
        {{"b", 1}, {"a", 1}},                                           // one host name in two sites
        {{"a", 1}, {"a", 1}, {"b", 2}, {"b", 2}},                       // regular
        {{"a", 1}, {"b", 2}, {"a", 1}, {"b", 2}},                       // round robin
        {{"a", 1}, {"a", 1}, {"a", 2}, {"b", 3}},                       // irregular
        {{"a", 2}, {"b", 3}, {"a", 1}, {"b", 3}, {"a", 2}},             // irregular, mixed
        {{"c", 0}, {"a", ~0ull}, {"b", 0}, {"a", 0}, {"c", ~0ull}},
        {{"a", 1}, {"a", 2}, {"a", 1}, {"a", 2}},                       // cyclic over hosts
    };
    for (const auto &l : all)
        if (std::string why = compare(places_of(l)); !why.empty())
            return why;
    return "";
}

std::string check_random()
{
    std::mt19937_64 random(test_seed());
    static const char *names[] = {"a", "b", "eu/paris", "eu/rome", "us", "x1", "x2"};
    for (int trial = 0; trial < 400; ++trial) {
        const size_t sites = 1 + random() % 7, hosts = 1 + random() % 5, ranks = 1 + random() % 70;
        std::vector<place> p;
        for (size_t r = 0; r < ranks; ++r)
            p.push_back({names[random() % sites], random() % hosts});
        switch (random() % 3) {
        case 0:
            break;
        case 1:
            std::sort(p.begin(), p.end(), [](auto &a, auto &b) { return std::tie(a.site, a.node) < std::tie(b.site, b.node); });
            break;
        case 2:
            std::sort(p.begin(), p.end(), [](auto &a, auto &b) { return a.site < b.site; });
        }
        if (std::string why = compare(p); !why.empty())
            return "trial " + std::to_string(trial) + ": " + why;
    }
    return "";
}

std::string check_blocks()
{
    const int sizes[] = {3, 1, 2};
    const topology t = topology::blocks(sizes, 4);
    WAN_CHECK(t.size() == 24 && t.site_count() == 3);
    for (int r = 0; r < 24; ++r) {
        const auto at = t.locate(r);
        WAN_CHECK(at.lane == r % 4);
        WAN_CHECK(t.rank_at(at.site, at.node, at.lane) == r);
    }
    WAN_CHECK(t.node_count(site(0)) == 3 && t.node_count(site(1)) == 1 && t.rank_count(site(2)) == 8);
    WAN_CHECK(t.site_of(11) == site(0) && t.site_of(12) == site(1) && t.site_of(16) == site(2));
    return "";
}

std::string check_digest()
{
    using list = std::vector<std::pair<const char *, uint64_t>>;
    auto digest = [](const list &l) { return topology(places_of(l)).digest(); };
    const list base{{"a", 1}, {"a", 2}, {"b", 3}, {"b", 4}};
    WAN_CHECK(digest(base) == digest(base));
    // Numbers of hosts are names only.
    WAN_CHECK(digest(base) == digest({{"a", 9}, {"a", 8}, {"b", 7}, {"b", 6}}));
    const list others[] = {
        {{"a", 1}, {"a", 2}, {"b", 3}},
        {{"a", 1}, {"a", 1}, {"b", 3}, {"b", 3}},
        {{"a", 1}, {"a", 1}, {"b", 3}, {"b", 4}},
        {{"a", 1}, {"a", 2}, {"b", 3}, {"b", 3}},
        {{"a", 1}, {"a", 2}, {"a", 3}, {"b", 4}},
        {{"a", 1}, {"b", 2}, {"b", 3}, {"b", 4}},
        {{"a", 1}, {"b", 3}, {"a", 2}, {"b", 4}},
        {{"a", 1}, {"b", 3}, {"b", 4}, {"a", 2}},
        {{"b", 1}, {"b", 2}, {"a", 3}, {"a", 4}},
        {{"a", 1}, {"a", 2}, {"c", 3}, {"c", 4}},
        {{"ab", 1}, {"ab", 2}, {"", 3}, {"", 4}},
        {{"a", 1}, {"a", 2}, {"a", 3}, {"a", 4}},
    };
    std::set<uint64_t> seen{digest(base)};
    for (size_t i = 0; i < std::size(others); ++i)
        WAN_CHECK_THAT(seen.insert(digest(others[i])).second, "list " + std::to_string(i));
    // Every assignment of 5 ranks to at most 3 sites with one host each: equal digests for equal structure only.
    std::map<uint64_t, std::string> by_digest;
    static const char *names[] = {"x", "y", "z"};
    for (int code = 0; code < 243; ++code) {
        std::vector<place> p;
        std::string text;
        for (int i = 0, c = code; i < 5; ++i, c /= 3) {
            p.push_back({names[c % 3], static_cast<uint64_t>(c % 3)});
            text += names[c % 3];
        }
        const auto [it, fresh] = by_digest.try_emplace(topology(p).digest(), text);
        WAN_CHECK_THAT(fresh || it->second == text, text + " and " + it->second);
    }
    // A fixed value: it must be equal on all machines and compilers.
    WAN_CHECK_THAT(digest(base) == 5105141873934859765ull, "digest is " + std::to_string(digest(base)));
    return "";
}

/** Lanes of one package or NUMA node follow each other, the lowest rank's first. */
std::string check_domains()
{
    // Two hosts of 8 ranks, dealt to four domains in turn, or in blocks.
    for (int turn : {1, 2, 4, 8}) {
        std::vector<place> p;
        for (int r = 0; r < 16; ++r)
            p.push_back({r < 8 ? "a" : "b", 7, static_cast<uint64_t>(9 - (r % 8) / turn % 4)});
        const topology t(p);
        std::vector<int> expected;
        for (int d = 0; d < 4; ++d)
            for (int r = 0; r < 8; ++r)
                if (r / turn % 4 == d)
                    expected.push_back(r);
        for (int l = 0; l < 8; ++l)
            for (int s : {0, 1}) {
                WAN_CHECK_THAT(t.rank_at(site(s), 0, l) == 8 * s + expected[static_cast<size_t>(l)],
                               "turn " + std::to_string(turn) + ", lane " + std::to_string(l) + ": " + std::to_string(t.rank_at(site(s), 0, l)));
                const auto at = t.locate(t.rank_at(site(s), 0, l));
                WAN_CHECK(at.site == site(s) && at.node == 0 && at.lane == l);
            }
    }
    // The same number on two hosts is no domain of both.
    std::vector<place> p;
    for (int r = 0; r < 8; ++r)
        p.push_back({"a", static_cast<uint64_t>(r % 2), static_cast<uint64_t>(r / 2 % 2)});
    const topology t(p);
    WAN_CHECK(t.node_count(site(0)) == 2 && t.rank_at(site(0), 0, 1) == 4 && t.rank_at(site(0), 1, 1) == 5 && t.rank_at(site(0), 1, 2) == 3);
    return "";
}

/** Hosts of a switch follow each other, those of an outer level too; a block placement stays as it is. */
std::string check_switches()
{
    const auto order = [](const std::vector<place> &p) {
        const topology t(p);
        std::string hosts;
        for (int s = 0; s < t.site_count(); ++s)
            for (int n = 0; n < t.node_count(site(s)); ++n)
                hosts += std::to_string(t.rank_at(site(s), n)) + (n + 1 < t.node_count(site(s)) ? " " : "|");
        return hosts;
    };
    // Hosts dealt to three racks in turn: rack after rack, by the lowest rank in it.
    static const char *racks[] = {"z", "x", "y"};
    std::vector<place> p;
    for (uint64_t r = 0; r < 9; ++r)
        p.push_back({"a", r, 0, racks[r % 3]});
    p.push_back({"b", 0, 0, "x"});
    WAN_CHECK_THAT(order(p) == "0 3 6 1 4 7 2 5 8|9|", order(p));
    // Two ranks a host, the second in no rack: a host is where its lowest rank is.
    for (uint64_t r = 0; r < 9; ++r)
        p.push_back({"a", r, 0, ""});
    WAN_CHECK_THAT(order(p) == "0 3 6 1 4 7 2 5 8|9|", order(p));
    WAN_CHECK(topology(p).rank_at(site(0), 1, 1) == 13);
    // Levels: halls with racks, hosts directly in a hall and directly in the site.
    const std::vector<place> nested{{"a", 0, 0, "h1/r1"}, {"a", 1, 0, "h2/r1"}, {"a", 2, 0, ""},      {"a", 3, 0, "h1/r2"},
                                    {"a", 4, 0, "h1"},    {"a", 5, 0, "h2/r1"}, {"a", 6, 0, "h1/r1"}, {"a", 7, 0, "h2"}};
    WAN_CHECK_THAT(order(nested) == "0 6 3 4 1 5 7 2|", order(nested));
    // The same rack's name in another site is another rack; names are names only.
    const std::vector<place> two{{"a", 0, 0, "r"}, {"b", 1, 0, "r"}, {"a", 2, 0, "q"}, {"a", 3, 0, "r"}, {"b", 4, 0, "q"}, {"b", 5, 0, "r"}};
    WAN_CHECK_THAT(order(two) == "0 3 2|1 5 4|", order(two));
    // Racks in blocks change no order.
    std::vector<place> blocks, plain;
    for (uint64_t r = 0; r < 8; ++r) {
        blocks.push_back({r < 4 ? "a" : "b", r, 0, racks[r / 2 % 2]});
        plain.push_back({r < 4 ? "a" : "b", r});
    }
    WAN_CHECK(topology(blocks).digest() != topology(plain).digest() && topology(blocks).in_slot_order());
    WAN_CHECK(topology(two).digest() != topology(std::vector<place>{{"a", 0}, {"b", 1}, {"a", 2}, {"a", 3}, {"b", 4}, {"b", 5}}).digest());
    return "";
}

/** How many levels hosts share with the one before them: told, and counted once more. */
std::string check_levels()
{
    const auto shared = [](const topology &t) {
        std::string s;
        for (int i = 0; i < t.site_count(); ++i)
            for (int n = 0; n < t.node_count(site(i)); ++n)
                s += std::to_string(t.shared_levels(site(i), n)) + (n + 1 < t.node_count(site(i)) ? " " : "|");
        return s;
    };
    // As in check_switches(): hosts 0 6 3 4 1 5 7 2, of which one is in no hall and two are in no rack.
    const std::vector<place> nested{{"a", 0, 0, "h1/r1"}, {"a", 1, 0, "h2/r1"}, {"a", 2, 0, ""},      {"a", 3, 0, "h1/r2"},
                                    {"a", 4, 0, "h1"},    {"a", 5, 0, "h2/r1"}, {"a", 6, 0, "h1/r1"}, {"a", 7, 0, "h2"}};
    WAN_CHECK_THAT(shared(topology(nested)) == "2 2 1 1 0 2 1 0|" && topology(nested).has_levels(site(0)), shared(topology(nested)));
    // A level ends at either sign.
    const std::vector<place> signs{{"a", 0, 0, "h:r"}, {"a", 1, 0, "h/r"}, {"a", 2, 0, "h:q/x"}, {"a", 3, 0, "h/q:x"}, {"a", 4, 0, "hr"}};
    WAN_CHECK_THAT(shared(topology(signs)) == "2 2 1 3 0|", shared(topology(signs)));
    // All share as many: one rack, or a rack each; a rack's name says nothing across sites.
    const std::vector<place> alike{{"a", 0, 0, "r"}, {"a", 1, 0, "r"}, {"a", 2, 0, "r"}, {"b", 3, 0, "r"}, {"b", 4, 0, "q"}, {"b", 5, 0, "p"}, {"c", 6, 0, "r"}};
    WAN_CHECK_THAT(shared(topology(alike)) == "1 1 1|1 0 0|1|", shared(topology(alike)));
    for (int s : {0, 1, 2})
        WAN_CHECK(!topology(alike).has_levels(site(s)));
    const int sizes[] = {3, 4};
    WAN_CHECK(shared(topology::blocks(sizes)) == "0 0 0|0 0 0 0|" && !topology::blocks(sizes).has_levels(site(1)));

    std::mt19937_64 random(test_seed());
    static const char *insides[] = {"", "z1", "z1/r1", "z1:r1", "z1/r2/s1", "z1/r2/s2", "z2", "z2/r1", "z1r1"};
    for (int trial = 0; trial < 300; ++trial) {
        const size_t hosts = 1 + random() % 12, ranks = hosts * (1 + random() % 3);
        std::vector<std::string_view> of(hosts);
        for (auto &inside : of)
            inside = insides[random() % std::size(insides)];
        std::vector<place> p;
        const bool blocks = trial % 2;
        for (size_t r = 0; r < ranks; ++r) {
            const size_t host = blocks ? r * hosts / ranks : random() % hosts;
            p.push_back({host % 3 ? "a" : "b", host, 0, of[host]});
        }
        const topology t(p);
        for (int s = 0; s < t.site_count(); ++s)
            for (int i = 0; i < t.node_count(site(s)); ++i)
                for (int j = i + 1, told = UINT8_MAX; j < t.node_count(site(s)); ++j) {
                    told = std::min(told, t.shared_levels(site(s), j));
                    const auto levels = [&](int n) {
                        std::vector<std::string> all;
                        std::string inside(p[static_cast<size_t>(t.rank_at(site(s), n))].inside), level;
                        std::replace(inside.begin(), inside.end(), ':', '/');
                        for (std::istringstream in(inside); std::getline(in, level, '/');)
                            all.push_back(level);
                        return all;
                    };
                    const auto x = levels(i), y = levels(j);
                    const auto apart = std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin();
                    WAN_CHECK_THAT(told == apart, "trial " + std::to_string(trial) + ", hosts " + std::to_string(i) + " and " + std::to_string(j) + ": " + std::to_string(told));
                }
    }
    return "";
}

/** Runs of a site, stays on a host: counted once more. */
std::string check_runs()
{
    static const char *names[] = {"a", "b", "c", "d"};
    for (unsigned trial = 0, x = 1; trial < 200; ++trial) {
        auto next = [&](unsigned n) { return (x = x * 1103515245u + 12345u) / 65536u % n; };
        std::vector<place> p;
        const unsigned ranks = 1 + next(30), sites = 1 + next(4), hosts = 1 + next(4);
        for (unsigned r = 0; r < ranks; ++r)
            p.push_back({names[next(sites)], next(hosts)});
        const topology t(p);
        int runs = 0, most_runs = 0, most_stays = 0;
        for (int s = 0; s < t.site_count(); ++s) {
            int of_site = 0, stays = 0, at = -1;
            std::vector<int> of_host(static_cast<size_t>(t.node_count(site(s))));
            for (int r = 0; r < t.size(); ++r) {
                if (t.site_of(r) != site(s))
                    continue;
                of_site += r == 0 || t.site_of(r - 1) != site(s);
                const int node = t.locate(r).node;
                stays += node != at;
                of_host[static_cast<size_t>(node)] += node != at;
                at = node;
            }
            WAN_CHECK(t.run_count(site(s)) == of_site && t.stay_count(site(s)) == stays);
            runs += of_site;
            most_runs = std::max(most_runs, of_site);
            for (int n : of_host)
                most_stays = std::max(most_stays, n);
        }
        WAN_CHECK(t.run_count() == runs && t.most_runs() == most_runs && t.most_stays() == most_stays);
    }
    return "";
}

std::string check_memory()
{
    const std::vector<int> one(64, 1563), lanes(64, 25);
    const topology a = topology::blocks(one), b = topology::blocks(lanes, 64);
    WAN_CHECK_THAT(a.size() >= 100'000 && a.memory_bytes() < 8192, std::to_string(a.memory_bytes()));
    WAN_CHECK_THAT(b.size() >= 100'000 && b.memory_bytes() < 8192, std::to_string(b.memory_bytes()));
    // Racks in blocks: a byte a host.
    std::vector<std::string> inside;
    std::vector<place> racks;
    for (int k = 0; k < 100'000 / 16; ++k)
        inside.push_back("rack" + std::to_string(k / 16));
    for (uint32_t r = 0; r < 100'000; ++r)
        racks.push_back({"a", r / 16, 0, inside[r / 16]});
    WAN_CHECK_THAT(topology(racks).memory_bytes() <= 100'000 / 16 + 512, std::to_string(topology(racks).memory_bytes()));
    // Round robin: 8 bytes a rank; irregular hosts: 4 a host more.
    std::vector<std::string> names;
    for (int s = 0; s < 64; ++s)
        names.push_back("site" + std::to_string(s));
    std::vector<place> p;
    for (uint32_t r = 0; r < 100'000; ++r)
        p.push_back({names[r % 64], r});
    WAN_CHECK_THAT(topology(p).memory_bytes() <= 8 * 100'000 + 8192, std::to_string(topology(p).memory_bytes()));
    p.push_back({names[0], 0});
    WAN_CHECK_THAT(topology(p).memory_bytes() <= 12 * 100'001 + 8192, std::to_string(topology(p).memory_bytes()));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_small>),  cmocka_unit_test(test<check_random>), cmocka_unit_test(test<check_blocks>),
        cmocka_unit_test(test<check_digest>), cmocka_unit_test(test<check_domains>), cmocka_unit_test(test<check_switches>),
        cmocka_unit_test(test<check_levels>), cmocka_unit_test(test<check_runs>),   cmocka_unit_test(test<check_memory>),
    };
    return cmocka_run_group_tests_name("topology", tests, nullptr, nullptr);
}
