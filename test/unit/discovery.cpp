/*
 * Discovery of sites on simulated networks: seeded shapes, round trips with
 * jitter, connections that take their time, processes that start late, and
 * processes that compute and do not look for messages meanwhile.  The sites
 * found must be the simulated ones, on every rank.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "discovery_network.hpp"
#include "unit.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace wan_test;

/** The simulated sites, numbered by their lowest ranks. */
std::vector<int> truth(const network &n)
{
    std::map<int, int> number;
    std::vector<int> site;
    for (int h : n.host_of_rank)
        site.push_back(number.try_emplace(n.site_of_host[static_cast<size_t>(h)], static_cast<int>(number.size())).first->second);
    return site;
}

/** Where each rank is, down to parts: numbered from 1 by their lowest hosts; a level with one part is none. */
std::vector<wan::site_finder::place> true_places(const network &n)
{
    const std::vector<int> site = truth(n);
    std::vector<wan::site_finder::place> places(site.size());
    std::map<std::vector<int>, std::map<int, uint16_t>> number;     // of the parts of what encloses them
    const auto visit = [&](auto &&use) {        // in the order of hosts
        std::map<int, std::vector<size_t>> ranks;
        for (size_t r = 0; r < site.size(); ++r)
            ranks[n.host_of_rank[r]].push_back(r);
        std::vector<std::pair<size_t, const std::vector<size_t> *>> order;
        for (const auto &[host, some] : ranks)
            order.push_back({some.front(), &some});
        std::sort(order.begin(), order.end());
        for (const auto &[first, some] : order)
            for (size_t r : *some) {
                std::vector<int> path{site[r]};
                for (size_t level = 0; level < n.apart_ns.size(); ++level) {
                    const int part = n.part_of_host[static_cast<size_t>(n.host_of_rank[r])][level];
                    use(r, level, path, part);
                    path.push_back(part);
                }
            }
    };
    visit([&](size_t, size_t, const auto &path, int part) { number[path].try_emplace(part, static_cast<uint16_t>(number[path].size() + 1)); });
    visit([&](size_t r, size_t level, const auto &path, int part) {
        if (const auto &parts = number[path]; parts.size() > 1)
            places[r].inside[level > 0 && places[r].inside[0] > 0] = parts.at(part);
    });
    for (size_t r = 0; r < site.size(); ++r)
        places[r].site = static_cast<uint16_t>(site[r]);
    return places;
}

std::string check(const network &n, const outcome &o, const std::string &what)
{
    const std::vector<int> right = truth(n);
    const auto places = true_places(n);
    for (int r = 0; r < n.ranks(); ++r) {
        const auto &found = o.site[static_cast<size_t>(r)];
        WAN_CHECK_THAT(!found.empty(), what + ": rank " + std::to_string(r) + " never knows");
        WAN_CHECK_THAT(found == right, what + ": rank " + std::to_string(r) + " has other sites");
        WAN_CHECK_THAT(o.place[static_cast<size_t>(r)] == places, what + ": rank " + std::to_string(r) + " has other parts of sites");
    }
    WAN_CHECK_THAT(o.sites == 1 + *std::max_element(right.begin(), right.end()), what);
    return "";
}

enum class placement { block, roundrobin, shuffled };

network regular(int sites, int hosts, int ranks_a_host, int64_t far_one_way, int64_t near_one_way, placement p, std::mt19937_64 &random)
{
    network n;
    for (int s = 0; s < sites; ++s)
        for (int h = 0; h < hosts; ++h)
            n.site_of_host.push_back(p == placement::roundrobin ? static_cast<int>(n.site_of_host.size()) % sites : s);
    if (p == placement::shuffled)
        std::shuffle(n.site_of_host.begin(), n.site_of_host.end(), random);
    n.one_way_ns.assign(static_cast<size_t>(sites), std::vector<int64_t>(static_cast<size_t>(sites), far_one_way));
    for (int s = 0; s < sites; ++s)
        n.one_way_ns[static_cast<size_t>(s)][static_cast<size_t>(s)] = near_one_way;
    for (size_t h = 0; h < n.site_of_host.size(); ++h)
        for (int r = 0; r < ranks_a_host; ++r)
            n.host_of_rank.push_back(static_cast<int>(h));
    n.habits.resize(n.host_of_rank.size());
    return n;
}

/** Any number of sites, unequal, with any ways between them; late and busy processes, some of which look seldom and never for long. */
std::string draw_random(uint64_t seed, int trials)
{
    std::mt19937_64 random(seed);
    int64_t slowest = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const auto pick = [&](int64_t low, int64_t high) { return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1)); };
        const int sites = static_cast<int>(pick(1, 12));
        network n;
        for (int s = 0; s < sites; ++s)
            n.site_of_host.insert(n.site_of_host.end(), static_cast<size_t>(pick(1, trial % 3 ? 6 : 20)), s);
        if (n.site_of_host.size() < 2)
            n.site_of_host.push_back(0);
        if (trial % 2)
            std::shuffle(n.site_of_host.begin(), n.site_of_host.end(), random);
        // All ways alike is what landmarks cannot tell apart.
        const int64_t base = pick(8 * ms, 80 * ms);
        n.one_way_ns.assign(static_cast<size_t>(sites), std::vector<int64_t>(static_cast<size_t>(sites)));
        for (size_t a = 0; a < static_cast<size_t>(sites); ++a)
            for (size_t b = 0; b <= a; ++b)
                n.one_way_ns[a][b] = n.one_way_ns[b][a] = a == b ? pick(15 * us, 120 * us) : trial % 4 ? pick(base / 2, base * 2) : base;
        for (size_t h = 0; h < n.site_of_host.size(); ++h)
            n.host_of_rank.insert(n.host_of_rank.end(), static_cast<size_t>(pick(1, 3)), static_cast<int>(h));
        if (trial % 5 == 0)
            std::shuffle(n.host_of_rank.begin(), n.host_of_rank.end(), random);
        for (int r = 0; r < n.ranks(); ++r) {
            habit h{.starts = pick(0, 300 * ms)};
            h.pause = pick(1 * us, 2 * ms);
            if (random() % 4 == 0) {
                h.busy = pick(4 * ms, 60 * ms);
                h.idle = pick(1 * ms, 30 * ms);
            }
            n.habits.push_back(h);
        }
        // A site of one host is told from its neighbours by nothing but their ways.
        const outcome o = simulation(n, random()).run();
        if (std::string why = check(n, o, "seed " + std::to_string(seed) + ", trial " + std::to_string(trial)); !why.empty())
            return why;
        slowest = std::max(slowest, o.ended_ns);
    }
    std::printf("any sites: known after at most %.0f ms\n", static_cast<double>(slowest) / 1e6);
    WAN_CHECK_THAT(slowest <= 20'000 * ms, "too late");     // simulated time
    return "";
}

/** In the sixth of seed 23 a process looks every 55 ms for one, and no host of its site is among those that it has to find. */
std::string check_random()
{
    const std::string why = draw_random(23, 8);
    return why.empty() ? draw_random(test_seed(), 400) : why;
}

/**
 * 64 hosts in 4 sites, ways of 10 and 50 ms, a fifth of jitter: right in 100 of 100, and soon.  Two round trips make the
 * connections, one is for the first ping, one for all others, two for what is told: the seventh is for jitter.
 */
std::string check_four_sites()
{
    std::mt19937_64 random(test_seed());
    for (const int64_t far : {10 * ms, 50 * ms}) {
        int64_t slowest = 0;
        uint64_t most = 0;
        for (int trial = 0; trial < 100; ++trial) {
            const auto n = regular(4, 16, 1, far, 40 * us, trial % 2 ? placement::block : placement::roundrobin, random);
            const outcome o = simulation(n, random()).run();
            if (std::string why = check(n, o, "trial " + std::to_string(trial)); !why.empty())
                return why;
            slowest = std::max(slowest, o.ended_ns);
            most = std::max(most, o.most_sent);
        }
        std::printf("64 hosts, 4 sites, %lld ms one way: known after at most %.0f ms; at most %llu messages from one process\n",
                    static_cast<long long>(far / ms), static_cast<double>(slowest) / 1e6, static_cast<unsigned long long>(most));
        WAN_CHECK_THAT(slowest <= 7 * 2 * far, "too late");     // simulated time
    }
    return "";
}

/** Zones inside sites, and rooms inside those: found, beside sites without any; by every rank. */
std::string draw_levels(uint64_t seed)
{
    std::mt19937_64 random(seed);
    int64_t slowest = 0;
    for (int trial = 0; trial < 120; ++trial) {
        const auto pick = [&](int64_t low, int64_t high) { return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1)); };
        const int sites = static_cast<int>(pick(2, 4));
        network n = regular(sites, static_cast<int>(pick(4, 20)), 1 + trial % 2, 40 * ms, pick(20 * us, 25 * us),
                            trial % 3 ? placement::block : placement::shuffled, random);
        n.apart_ns = {pick(500 * us, 600 * us), pick(130 * us, 140 * us)};
        const int zones = static_cast<int>(pick(1, 3)), rooms = trial % 4 ? 1 : 2;
        // Two hosts at least in each: of one alone nothing can be said.
        std::map<int, int> seen;
        std::map<int, int> all;
        for (int s : n.site_of_host)
            ++all[s];
        for (int s : n.site_of_host) {
            const int k = seen[s]++, here = s % 2 ? 1 : std::min(zones, all[s] / 2), within = std::min(rooms, all[s] / here / 4 + 1);
            const int zone = trial % 5 ? k % here : k * here / all[s];
            const int of_zone = trial % 5 ? k / here : k - (zone * all[s] + here - 1) / here;
            n.part_of_host.push_back({s * 10 + zone, (s * 10 + zone) * 10 + of_zone % within});
        }
        for (auto &h : n.habits)
            h.starts = pick(0, 100 * ms);
        const outcome o = simulation(n, random()).run();
        if (std::string why = check(n, o, "seed " + std::to_string(seed) + ", trial " + std::to_string(trial)); !why.empty())
            return why;
        slowest = std::max(slowest, o.ended_ns);
    }
    std::printf("parts of sites: known after at most %.0f ms\n", static_cast<double>(slowest) / 1e6);
    return "";
}

/** In two of those seeds jitter makes a room seem far and the next zone near: 0.28 and 0.83 ms. */
std::string check_levels()
{
    for (const uint64_t seed : {test_seed(), uint64_t{24}, uint64_t{28}})
        if (std::string why = draw_levels(seed); !why.empty())
            return why;
    return "";
}

/** Programs that call MPI every few milliseconds only: that is how long ways to them seem.  Hosts of one site stay one. */
std::string check_pauses()
{
    std::mt19937_64 random(test_seed());
    for (const int sites : {1, 2})
        for (const int64_t every : {800 * us, 1500 * us, 2500 * us, 3500 * us})
            for (int trial = 0; trial < 8; ++trial) {
                network n = regular(sites, 16 / sites, 1, 10 * ms, 40 * us, placement::block, random);
                for (auto &h : n.habits)
                    if (static_cast<int>(random() % 8) < trial)
                        h = {.starts = static_cast<int64_t>(random() % (5 * ms)), .busy = every, .idle = 1 * us};
                const outcome o = simulation(n, random(), 5'000 * ms).run();
                for (const auto &found : o.site)        // (longer pauses may hide ways between sites from all)
                    WAN_CHECK_THAT(found == truth(n) || (found.empty() && every > 2000 * us), std::to_string(sites) + " sites, every " + std::to_string(every / us) + " us, trial " + std::to_string(trial)
                                                          + (found.empty() ? ": never known" : ": other sites"));
            }
    return "";
}

/** Who looks so seldom that none of its own times counts is found by others; where all do, nothing is known, and they are one site before long. */
std::string check_rare_looks()
{
    std::mt19937_64 random(test_seed());
    for (const std::vector<int> &rare : {std::vector<int>{5}, {0}, {0, 1, 2, 3, 4, 5, 6, 7}})
        for (const int sites : {1, 2}) {
            network n = regular(sites, 8 / sites, 1, 10 * ms, 40 * us, placement::block, random);
            for (int r : rare)
                n.habits[static_cast<size_t>(r)] = {.starts = 0, .busy = 100 * ms, .idle = 20 * us};
            const outcome o = simulation(n, random()).run();
            if (rare.size() > 1)
                std::fill(n.site_of_host.begin(), n.site_of_host.end(), 0);
            if (std::string why = check(n, o, std::to_string(rare.size()) + " rare lookers, " + std::to_string(sites) + " sites"); !why.empty())
                return why;
            WAN_CHECK_THAT(o.ended_ns <= (rare.size() > 1 ? 40'000 : 15'000) * ms, "too late");    // simulated time
            n.site_of_host = regular(sites, 8 / sites, 1, 10 * ms, 40 * us, placement::block, random).site_of_host;
            // Longer looks, as seldom.
            for (int r : rare)
                n.habits[static_cast<size_t>(r)] = {.starts = 0, .busy = 100 * ms, .idle = 5 * ms};
            if (std::string why = check(n, simulation(n, random()).run(), "now and then, but for longer"); !why.empty())
                return why;
        }
    return "";
}

/** Two hosts of one process each; what a process does, and when messages come to it, is the test's. */
struct pair_of_hosts {
    struct letter {
        int64_t at_ns;
        int from, to;
        std::vector<char> bytes;
    };
    std::vector<letter> under_way;
    size_t sent = 0;
    int64_t now = 0, way = 40 * us;
    std::vector<std::unique_ptr<wan::discovery>> it;

    pair_of_hosts()
    {
        for (int r : {0, 1})
            it.push_back(std::make_unique<wan::discovery>(std::vector<uint64_t>{11, 22}, r, [this, r](int to, const void *bytes, size_t size) {
                const char *first = static_cast<const char *>(bytes);
                under_way.push_back({now + way, r, to, {first, first + size}});
                ++sent;
            }));
    }

    /** A process takes all that has come. */
    void take(int rank)
    {
        std::vector<letter> come;
        std::erase_if(under_way, [&](const letter &l) {
            const bool here = l.to == rank && l.at_ns <= now;
            if (here)
                come.push_back(l);
            return here;
        });
        for (const letter &l : come)
            it[static_cast<size_t>(rank)]->receive(l.from, l.bytes.data(), l.bytes.size(), now);
    }

    bool finished() const { return it[0]->finished() && it[1]->finished(); }
};

/**
 * What came during a pause is taken some looks later, when Open MPI has read it: that does not make the way long.  By turns of 2 ms it is
 * known after two dozen answers that it is as short as one inside a site, though not how short.
 */
std::string check_late_reads()
{
    for (const auto &[reads, every] : {std::pair{false, 15 * ms}, {true, 15 * ms}, {true, 2 * ms}}) {
        pair_of_hosts two;
        for (int64_t turn = 0; turn < 4000 && !two.finished(); ++turn) {
            two.now = turn * every;
            const int rank = static_cast<int>(turn % 2);
            for (size_t k = 0; k <= wan::discovery::looks_a_read; ++k, two.now += us) {
                two.it[static_cast<size_t>(rank)]->look(two.now, reads && k == 0 ? two.now : 0);
                if (k == (reads ? 0 : wan::discovery::looks_a_read))
                    two.take(rank);
            }
        }
        WAN_CHECK_THAT(two.finished() && two.it[0]->sites() == 1, std::to_string(two.it[0]->sites()) + " sites");
        WAN_CHECK_THAT(every > 2 * ms || two.sent <= 1000, std::to_string(two.sent) + " messages");
        // Last rounds are only to be sure that there is one site, and come later and later.
        WAN_CHECK_THAT(every > 2 * ms || two.now >= 1500 * ms, std::to_string(two.now / ms) + " ms");
    }
    return "";
}

/** Nor do a few messages that wait though both processes look all the time: one may lose its processor just before it sends. */
std::string check_late_sends()
{
    pair_of_hosts two;
    int answers[2] = {};
    for (; two.now < 10'000 * ms && !two.finished(); two.now += 10 * us)
        for (int rank : {0, 1}) {
            two.it[static_cast<size_t>(rank)]->look(two.now);
            const size_t before = two.sent;
            two.take(rank);
            if (two.sent > before && ++answers[rank] <= 2)
                two.under_way.back().at_ns += 20 * ms;
        }
    WAN_CHECK_THAT(answers[0] > 2 && answers[1] > 2 && two.finished() && two.it[0]->sites() == 1, std::to_string(two.it[0]->sites()) + " sites");
    return "";
}

/** Who loses its processor between looking and taking, while another thread reads the network, takes no far host for a near one, nor a near one for far. */
std::string check_late_takes()
{
    for (const auto &[way, sites] : {std::pair{10 * ms, 2}, {40 * us, 1}}) {
        pair_of_hosts two;
        two.way = way;
        int64_t until[2] = {};
        int lost = 0;
        bool spoke[2] = {};
        for (; two.now < 10'000 * ms && !two.finished(); two.now += 10 * us)
            for (int rank : {0, 1}) {
                if (two.now < until[rank])
                    continue;
                if (until[rank] == 0) {
                    two.it[static_cast<size_t>(rank)]->look(two.now);
                    if (std::exchange(spoke[rank], false) && rank == 0 && lost++ < 6) {
                        until[rank] = two.now + 25 * ms;        // an answer to what was just sent is there by then
                        continue;
                    }
                }
                until[rank] = 0;
                const size_t before = two.sent;
                two.take(rank);
                spoke[rank] = two.sent > before;
            }
        WAN_CHECK_THAT(lost >= 3 && two.finished() && two.it[0]->sites() == sites, std::to_string(two.it[0]->sites()) + " sites");
    }
    return "";
}

/**
 * Processors shared by so many that each process looks now and then only: far ways are known for what they are by their third answers all
 * the same, and ways that two dozen answers show to be as short as one inside a site are not asked about two hundred times.
 */
std::string check_busy_hosts()
{
    std::mt19937_64 random(test_seed());
    for (const auto &[busy, most] : {std::pair{13 * ms, 4000 * ms}, {4 * ms, 1800 * ms}}) {
        int64_t slowest = 0;
        for (int trial = 0; trial < 40; ++trial) {
            network n = regular(4, 16, 1, 50 * ms, 40 * us, trial % 2 ? placement::block : placement::shuffled, random);
            for (auto &h : n.habits)
                h = {.starts = static_cast<int64_t>(random() % (20 * ms)), .busy = busy, .idle = 300 * us};
            const outcome o = simulation(n, random()).run();
            if (std::string why = check(n, o, "trial " + std::to_string(trial)); !why.empty())
                return why;
            slowest = std::max(slowest, o.ended_ns);
        }
        std::printf("hosts that are busy for %lld ms each time: known after at most %lld ms\n", static_cast<long long>(busy / ms), static_cast<long long>(slowest / ms));
        WAN_CHECK_THAT(slowest <= most, "too late");        // simulated time
    }
    return "";
}

/**
 * Messages grow with the hosts, not with their square, but with the sites, too, where those are many: see discovery.hpp.  Ever
 * more landmarks find many sites in a few rounds.  WAN_TEST_LONG: all shapes, as doc/figures.md has them.
 */
std::string check_scale()
{
    std::mt19937_64 random(test_seed());
    std::vector<std::pair<int, int>> shapes{{4, 256}, {80, 4}, {1, 1000}, {300, 1}, {16, 16}, {32, 8}, {64, 4}, {64, 16}};
    if (is_long())
        for (int hosts : {16, 64, 256, 1024})
            for (int sites : {1, 2, 4, 8, 16, 32, 64, 128, 256})
                if (2 * sites <= hosts)
                    shapes.push_back({sites, hosts / sites});
    for (const auto &[sites, hosts] : shapes) {
        const auto n = regular(sites, hosts, 2, 20 * ms, 40 * us, placement::shuffled, random);
        const outcome o = simulation(n, random()).run();
        if (std::string why = check(n, o, std::to_string(sites) + " sites"); !why.empty())
            return why;
        std::printf("%4d hosts, %3d sites of %4d: %.1f probes and %.1f messages a host, at most %llu of one process, known after %.0f ms\n", sites * hosts, sites, hosts,
                    static_cast<double>(o.probes) / (sites * hosts), static_cast<double>(o.messages) / (sites * hosts), static_cast<unsigned long long>(o.most_sent),
                    static_cast<double>(o.ended_ns) / 1e6);
        WAN_CHECK_THAT(o.ended_ns <= 2000 * ms, "too late");    // simulated time
        WAN_CHECK_THAT(o.probes <= static_cast<uint64_t>((100 + 7 * sites) * sites * hosts), "probes");
        WAN_CHECK_THAT(o.messages <= 2 * o.probes + static_cast<uint64_t>((20 + sites) * sites * hosts), "messages");
        if (sites <= 4)
            WAN_CHECK_THAT(o.messages <= static_cast<uint64_t>(250 * sites * hosts), "messages");
    }
    return "";
}

/** What is no site: switches a few microseconds apart, hosts that are slow to answer. */
std::string check_one_site()
{
    std::mt19937_64 random(test_seed());
    for (int trial = 0; trial < 50; ++trial) {
        network n = regular(3, 8, 1, 150 * us, 5 * us, placement::shuffled, random);    // far: 0.3 ms there and back
        for (auto &h : n.habits)
            if (random() % 3 == 0)
                h = {.starts = 0, .busy = 20 * ms, .idle = 2 * ms};
        std::fill(n.site_of_host.begin(), n.site_of_host.end(), 0);
        if (std::string why = check(n, simulation(n, random()).run(), "trial " + std::to_string(trial)); !why.empty())
            return why;
    }
    // Slow inside, 0.7 ms there and back: still one site, and two where the way between them is long.
    for (int sites : {1, 2}) {
        const network n = regular(sites, 8, 1, 40 * ms, 350 * us, placement::block, random);
        if (std::string why = check(n, simulation(n, random()).run(), "slow inside"); !why.empty())
            return why;
    }
    // Two hosts: near, and far.
    for (int64_t way : {int64_t{60} * us, int64_t{5} * ms}) {
        const network n = regular(way > ms ? 2 : 1, way > ms ? 1 : 2, 2, way, way, placement::block, random);
        if (std::string why = check(n, simulation(n, random()).run(), "two hosts"); !why.empty())
            return why;
    }
    return "";
}

/**
 * Bandwidths and round trips between sites, each direction its own: within a tenth of what was simulated, the same on all
 * ranks, though rate limits let bursts through, times jitter and some processes compute; not before a second has passed.
 */
std::string check_ways()
{
    std::mt19937_64 random(test_seed());
    double worst = 0, worst_rtt = 0;
    for (int trial = 0; trial < 30; ++trial) {
        const int sites = 2 + trial % 5;
        network n = regular(sites, 3, 2, 10 * ms, 40 * us, trial % 2 ? placement::shuffled : placement::block, random);
        n.ways = {.bytes = 128 << 10};
        n.burst_bytes = 10'000;
        const auto some = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
        n.bytes_per_ns.assign(static_cast<size_t>(sites), std::vector<double>(static_cast<size_t>(sites)));
        for (size_t a = 0; a < static_cast<size_t>(sites); ++a)
            for (size_t b = 0; b < static_cast<size_t>(sites); ++b) {
                n.bytes_per_ns[a][b] = some(0.002, 0.01);       // 16 to 80 Mb/s
                if (a < b)
                    n.one_way_ns[a][b] = n.one_way_ns[b][a] = static_cast<int64_t>(some(4, 30) * static_cast<double>(ms));
            }
        n.jitter = 0.05;
        if (trial % 3 == 0)
            for (auto &h : n.habits)
                if (random() % 4 == 0)
                    h = {.starts = 0, .busy = 8 * ms, .idle = 60 * ms};
        const std::vector<int> right = truth(n);
        const outcome o = simulation(n, random()).run();
        const std::string what = "trial " + std::to_string(trial);
        if (std::string why = check(n, o, what); !why.empty())
            return why;
        WAN_CHECK_THAT(o.complete_ns > o.ended_ns + 900 * ms, what + ": began at once");
        std::map<int, int> host_site;       // by the number of the site
        std::map<int, int> gateway;
        for (int r = n.ranks() - 1; r >= 0; --r) {
            host_site[right[static_cast<size_t>(r)]] = n.site_of_host[static_cast<size_t>(n.host_of_rank[static_cast<size_t>(r)])];
            gateway[right[static_cast<size_t>(r)]] = r;
        }
        for (const auto &ways : o.ways) {
            std::set<std::pair<int, int>> pairs;
            for (const auto &w : ways) {
                const auto a = static_cast<size_t>(host_site[w.from]), b = static_cast<size_t>(host_site[w.to]);
                const double rate = n.bytes_per_ns[a][b] * 1e9, rtt = 2.0 * static_cast<double>(n.one_way_ns[a][b]);
                const double off = std::abs(static_cast<double>(w.what.bytes_per_s) / rate - 1);
                worst = std::max(worst, off);
                const double off_rtt = std::abs(static_cast<double>(w.what.rtt_ns) / rtt - 1);
                worst_rtt = std::max(worst_rtt, off_rtt);
                WAN_CHECK_THAT(off_rtt < 0.1, what + ": " + std::to_string(w.what.rtt_ns) + " ns there and back in place of " + std::to_string(rtt));
                WAN_CHECK_THAT(off < 0.1, what + ": " + std::to_string(w.what.bytes_per_s) + " bytes/s in place of " + std::to_string(rate));
                WAN_CHECK_THAT(w.what.cold_bytes_per_s > 0, what);
                WAN_CHECK(a != b && pairs.insert({w.from, w.to}).second);
                const auto told = o.learned.find({gateway[w.from], gateway[w.to]});
                WAN_CHECK_THAT(told != o.learned.end() && told->second == w.what.bytes_per_s, what + ": not told to who shares the table");
            }
            WAN_CHECK_THAT(pairs.size() == static_cast<size_t>(sites * (sites - 1)), what + ": ways are missing");
        }
    }
    std::printf("ways between sites: bandwidths off by %.1f%% at most, round trips by %.1f%%\n", 100 * worst, 100 * worst_rtt);
    return "";
}

/** What tells a round trip between gateways carries as much as it is told to, there and back. */
std::string check_ways_ping()
{
    std::vector<std::pair<wan::site_ways::kind, size_t>> sent;
    wan::site_ways w({.bytes = 4096, .ping = 500}, [&](int, wan::site_ways::kind what, uint32_t, int64_t, size_t filler) { sent.emplace_back(what, filler); });
    w.begin(std::vector{0, 1}, 0, 0);
    w.look(wan::site_ways::rest_ns, 0);
    WAN_CHECK((sent == std::vector{std::pair(wan::site_ways::kind::part, size_t{500})}));
    w.receive(1, wan::site_ways::kind::part, 1 << 16, 1);
    WAN_CHECK((sent.size() == 2 && sent[1] == std::pair(wan::site_ways::kind::done, size_t{500})));
    return "";
}

/** What is measured of each link takes half a second of it, then a hundredth of the time. */
std::string check_ways_cost()
{
    std::mt19937_64 random(test_seed());
    network n = regular(8, 1, 1, 5 * ms, 40 * us, placement::block, random);
    n.ways = {.bytes = 128 << 10};
    n.bytes_per_ns.assign(8, std::vector<double>(8, 0.001));        // 0.13 s a transfer: the budget is gone with the first site
    const outcome o = simulation(n, random()).run();
    if (std::string why = check(n, o, "cost"); !why.empty())
        return why;
    const double transfers = 7 * 4, seconds = static_cast<double>(o.complete_ns - o.ended_ns) / 1e9;
    std::printf("a slow network's ways: %.0f s of transfers in %.0f s\n", transfers * 0.131, seconds);
    WAN_CHECK_THAT(seconds > (transfers - 6) * 0.131 * 99, "too much of the links' time");
    for (const auto &ways : o.ways)
        WAN_CHECK(ways.size() == 7 * 8);
    // Not at all, on request; nor where there are too many sites.
    for (int sites : {4, 33}) {
        n = regular(sites, 1, 1, 5 * ms, 40 * us, placement::block, random);
        n.ways.bytes = sites == 4 ? 0 : 128 << 10;
        const outcome none = simulation(n, random()).run();
        if (std::string why = check(n, none, "none"); !why.empty())
            return why;
        WAN_CHECK(none.ways[0].empty() && none.complete_ns <= none.ended_ns);
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_random>), cmocka_unit_test(test<check_four_sites>), cmocka_unit_test(test<check_scale>),
        cmocka_unit_test(test<check_one_site>), cmocka_unit_test(test<check_ways>), cmocka_unit_test(test<check_ways_ping>), cmocka_unit_test(test<check_ways_cost>),
        cmocka_unit_test(test<check_levels>), cmocka_unit_test(test<check_rare_looks>),
        cmocka_unit_test(test<check_pauses>), cmocka_unit_test(test<check_late_reads>), cmocka_unit_test(test<check_late_sends>),
        cmocka_unit_test(test<check_late_takes>),        cmocka_unit_test(test<check_busy_hosts>),
    };
    return cmocka_run_group_tests_name("discovery", tests, nullptr, nullptr);
}
