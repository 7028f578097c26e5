/*
 * Discovery and messages that should not be: of every kind, from whoever says such things or does not, with numbers at and
 * beyond their limits, twice, too late, of rounds that are over.  Nothing of that may crash a process or make it talk
 * without end, and those that know sites know the same ones.
 *
 * What nobody can help is a coordinator that says in good order what is not so: such tables are not made up here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "discovery_network.hpp"
#include "unit.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace wan_test;
using place = wan::site_finder::place;

/** As discovery's, which are nobody's business but for who makes up messages. */
enum kind : uint32_t { ping, pong, report, ask, table, part, done, way_report, way_table, kinds };
struct header {
    uint32_t what, number;
    int64_t value;
};

template <typename T> std::vector<char> message(header h, const std::vector<T> &more)
{
    std::vector<char> bytes(sizeof h + more.size() * sizeof(T));
    std::memcpy(bytes.data(), &h, sizeof h);
    if (!more.empty())
        std::memcpy(bytes.data() + sizeof h, more.data(), more.size() * sizeof(T));
    return bytes;
}

/** Draws what lies at limits, and beyond. */
class absurd {
public:
    explicit absurd(uint64_t seed) : random_(seed) {}

    uint64_t below(uint64_t n) { return random_() % n; }
    bool one_in(uint64_t n) { return below(n) == 0; }
    template <typename T, size_t n> T one_of(const std::array<T, n> &all) { return all[below(n)]; }

    int64_t value()
    {
        static constexpr std::array<int64_t, 24> all{0, 1, -1, 2, -2, 3, 999, 60 * us, -60 * us, 499'999, 500'000, 5 * ms - 1, 5 * ms, 5 * ms + 1, -5 * ms - 1,
                                                     40 * ms, -40 * ms, 32'768, 32'769, 1ll << 32, INT64_MAX / 4 + 1, INT64_MAX, INT64_MIN, INT64_MIN + 1};
        return one_of(all);
    }
    /** One of n things, or just none. */
    int64_t index(int64_t n)
    {
        const std::array<int64_t, 6> edges{-1, n, n + 1, 0xffff, INT32_MAX, INT32_MIN};
        return one_in(8) ? one_of(edges) : static_cast<int64_t>(below(static_cast<uint64_t>(n)));
    }
    /** Of a round, way and ping; of a transfer and its part. */
    uint32_t number()
    {
        static constexpr std::array<uint32_t, 9> odd{0, 1, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff, 0xffffffff, 0xffff0001};
        const auto round = static_cast<uint32_t>(below(3)), way = static_cast<uint32_t>(below(5)), which = static_cast<uint32_t>(below(4));
        return one_in(4) ? one_of(odd) : round << 16 | way << 8 | which;
    }

    /** A table of so many hosts from `first` on: in order, or with numbers that are left out, too great, or anything. */
    std::vector<place> places(size_t hosts)
    {
        std::vector<place> some(hosts);
        uint16_t next = 0;
        for (place &p : some) {
            p.site = next > 0 && one_in(2) ? static_cast<uint16_t>(below(next)) : next++;
            if (one_in(6))
                next = static_cast<uint16_t>(next + 1);       // a hole
            if (one_in(12))
                p.site = static_cast<uint16_t>(index(static_cast<int64_t>(hosts)));
            if (one_in(4))
                p.inside = {static_cast<uint16_t>(below(4)), static_cast<uint16_t>(one_in(3) ? 0xffff : below(3))};
        }
        if (!some.empty() && one_in(3))
            some.resize(below(some.size() + 1));
        return some;
    }

    std::vector<discovery::way_between> ways(int sites)
    {
        std::vector<discovery::way_between> some(one_in(6) ? 0 : 1 + below(static_cast<uint64_t>(sites)));
        for (auto &w : some) {
            w.from = static_cast<uint16_t>(one_in(8) ? index(sites) : static_cast<int64_t>(below(3)));
            w.to = static_cast<uint16_t>(one_in(8) ? index(sites) : static_cast<int64_t>(below(3)));
            w.what = !one_in(4) ? wan::site_way{40 * ms, 5'000'000, 1'000'000} : wan::site_way{value(), value(), value()};
        }
        return some;
    }

    std::vector<char> any(int hosts)
    {
        header h{static_cast<uint32_t>(one_in(40) ? kinds + below(3) : below(kinds)), number(), value()};
        std::vector<char> bytes;
        if (h.what == ask) {
            h.number = one_in(2) ? 1 + static_cast<uint32_t>(below(3)) : h.number;
            std::vector<int32_t> targets(one_in(10) ? one_of(std::array<uint64_t, 3>{0, 192, 193}) : below(5));
            for (int32_t &t : targets)
                t = static_cast<int32_t>(one_in(6) ? index(hosts) : static_cast<int64_t>(below(static_cast<uint64_t>(hosts))));
            bytes = message(h, targets);
        } else if (h.what == report) {
            h.number = one_in(2) ? static_cast<uint32_t>(below(3)) : h.number;
            std::vector<int64_t> times(one_in(3) ? below(6) : static_cast<uint64_t>(hosts));
            for (int64_t &t : times)
                t = value();
            if (times.size() == static_cast<size_t>(hosts) && !one_in(4))
                times[below(times.size())] = 0;
            bytes = message(h, times);
        } else if (h.what == table) {
            h.number = one_in(2) ? 0 : static_cast<uint32_t>(index(hosts));
            bytes = message(h, places(static_cast<size_t>(hosts)));
        } else if (h.what == way_report || h.what == way_table) {
            h.number = one_in(2) ? 0 : h.number;
            const auto some = ways(one_in(2) ? 1 : hosts);
            h.value = one_in(2) ? static_cast<int64_t>(some.size()) : h.value;
            bytes = message(h, some);
        } else {
            if (h.what == part && one_in(2))
                h.value = 1 + static_cast<int64_t>(below(4));
            bytes = message(h, std::vector<char>(below(3)));
        }
        if (one_in(30))
            bytes.resize(below(bytes.size() + 1));
        return bytes;
    }

private:
    std::mt19937_64 random_;
};

/** Sites, and parts in each, in the order of their lowest hosts, none left out. */
std::string in_order(const discovery &d)
{
    std::map<std::pair<size_t, place>, std::set<int>> seen;
    std::set<int> sites;
    for (int r = 0; r < d.ranks(); ++r) {
        const place &p = d.place_of(r);
        WAN_CHECK_THAT(p.site < d.sites() && p.site <= static_cast<int>(sites.size()), "site " + std::to_string(p.site) + " of rank " + std::to_string(r));
        sites.insert(p.site);
        place within{.site = p.site};
        for (size_t level = 0; level < p.inside.size(); ++level) {
            auto &parts = seen[{level, within}];
            const int x = p.inside[level];
            WAN_CHECK_THAT(x == 0 ? parts.empty() || parts.contains(0) : !parts.contains(0) && x <= static_cast<int>(parts.size()) + 1, "part " + std::to_string(x) + " of rank " + std::to_string(r));
            parts.insert(x);
            within.inside[level] = p.inside[level];
        }
    }
    WAN_CHECK_THAT(static_cast<int>(sites.size()) == d.sites(), std::to_string(d.sites()) + " sites, some without hosts");
    return "";
}

/** What is known of ways is something: sites that there are, no way twice, times and rates. */
std::string are_ways(const std::vector<discovery::way_between> &ways, int sites)
{
    std::set<std::pair<int, int>> seen;
    for (const auto &w : ways) {
        WAN_CHECK(w.from < sites && w.to < sites && w.from != w.to);
        WAN_CHECK(w.what.rtt_ns > 0 && w.what.bytes_per_s >= 0 && w.what.cold_bytes_per_s >= 0);
        WAN_CHECK_THAT(seen.insert({w.from, w.to}).second, "a way is there twice");
    }
    return "";
}

/** One process, in whatever place, told anything by anybody: six hosts, of which one has two ranks. */
std::string check_anything()
{
    const std::vector<uint64_t> nodes{1, 2, 3, 4, 4, 5, 6};
    constexpr int hosts = 6;
    const auto ranks = static_cast<int>(nodes.size());
    const int trials = is_long() ? 400'000 : is_short() ? 5'000 : 40'000;
    int finished = 0, complete = 0, parted = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const std::string what = "seed " + std::to_string(test_seed()) + ", trial " + std::to_string(trial);
        absurd draw(test_seed() * 1'000'003 + static_cast<uint64_t>(trial));
        const auto me = static_cast<int>(draw.below(nodes.size()));
        size_t sent = 0;
        std::string wrong;
        discovery d(nodes, me, [&](int to, const void *, size_t size) {
            ++sent;
            if (to < 0 || to >= ranks || size > discovery::message_max)
                wrong = "sends " + std::to_string(size) + " bytes to " + std::to_string(to);
        }, {.bytes = 8192});
        int64_t now = 1;
        d.look(now);
        for (int k = 0; k < 40; ++k) {
            sent = 0;
            const std::vector<char> bytes = draw.any(hosts);
            // The coordinator, to whom most listens; the others in turn, so that a round ends; anybody, and nobody.
            const int from = draw.one_in(12) ? static_cast<int>(draw.index(ranks)) : me == 0 || draw.one_in(3) ? k % ranks : 0;
            d.receive(from, bytes.data(), bytes.size());
            // Pings to as many as a round may have, or to all who are to be asked, or a table for all in one message.
            WAN_CHECK_THAT(sent <= wan::site_finder::most_targets, what + ": " + std::to_string(sent) + " messages for one");
            sent = 0;
            now += draw.one_in(4) ? draw.one_of(std::array<int64_t, 3>{1, 2'000 * ms, 100'000 * ms}) : static_cast<int64_t>(draw.below(30 * ms));
            d.look(now);
            WAN_CHECK_THAT(sent <= wan::site_finder::most_targets, what + ": " + std::to_string(sent) + " messages at a look");
            WAN_CHECK_THAT(wrong.empty(), what + ": " + wrong);
        }
        if (!d.finished())
            continue;
        ++finished;
        if (std::string why = in_order(d); !why.empty())
            return what + ": " + why;
        for (int r = 0; r < ranks; ++r)
            parted += d.place_of(r).inside[0] > 0;
        if (d.complete()) {
            complete += !d.ways_between().empty();
            if (std::string why = are_ways(d.ways_between(), d.sites()); !why.empty())
                return what + ": " + why;
        }
    }
    std::printf("told anything: %d processes know sites, %d of them ways; %d ranks in parts\n", finished, complete, parted);
    WAN_CHECK_THAT(finished > trials / 50 && complete > trials / 1000 && parted > trials / 1000, "what is told is hardly ever taken");
    return "";
}

/** The finder alone, answered with times of which many are none: it ends in bounded rounds, or waits; its sites are in order. */
std::string check_times()
{
    const int trials = is_long() ? 100'000 : is_short() ? 1'000 : 10'000;
    int ended = 0;
    for (int trial = 0; trial < trials; ++trial) {
        absurd draw(test_seed() * 999'983 + static_cast<uint64_t>(trial));
        const int hosts = 2 + static_cast<int>(draw.below(14));
        const bool few = draw.one_in(2);        // absurd ones
        wan::site_finder f(hosts);
        std::map<int, std::vector<int>> targets;
        for (int h = 0; h < hosts; ++h)
            targets[h] = wan::site_finder::first_targets(hosts);
        int rounds = 0;
        for (bool on = true; on && !f.finished(); ++rounds) {
            WAN_CHECK_THAT(rounds < 120, "asks for ever, trial " + std::to_string(trial));
            const uint32_t round = f.round();
            on = false;
            for (const auto &[h, some] : std::exchange(targets, {})) {
                std::vector<int64_t> times;
                for (int t : some)
                    times.push_back(t == h ? 0 : few && !draw.one_in(6) ? (t % 3 == h % 3 ? 60 * us : 40 * ms) : draw.value());
                f.take(static_cast<int>(draw.index(hosts)), round + static_cast<uint32_t>(draw.below(2)), std::vector<int64_t>(draw.below(9), draw.value()));
                on |= f.take(h, round, times);
                // Twice counts once; and what was no time may still come as one.
                on |= f.round() == round && f.take(h, round, std::vector<int64_t>(times.size(), 60 * us));
                for (size_t k = 0; k < some.size(); ++k)
                    times[k] = some[k] == h ? 0 : 60 * us;
                on |= f.round() == round && f.take(h, round, times);
            }
            f.ask([&](int h, std::span<const int> some) { targets[h].assign(some.begin(), some.end()); });
        }
        ended += f.finished();
        if (!f.finished())
            continue;
        int sites = 0;
        for (const place &p : f.places()) {
            WAN_CHECK_THAT(p.site <= sites, "sites are not in order, trial " + std::to_string(trial));
            sites = std::max(sites, p.site + 1);
        }
    }
    WAN_CHECK_THAT(ended > trials / 2, "rounds hardly ever end: " + std::to_string(ended));
    return "";
}

/** Small networks in which sites, and some ways between them, are found: 2 or 3 sites of 1 to 3 hosts. */
network small(absurd &draw)
{
    network n;
    const auto sites = 1 + static_cast<int>(draw.below(3));
    for (int s = 0; s < sites; ++s)
        n.site_of_host.insert(n.site_of_host.end(), 1 + draw.below(3), s);
    if (n.site_of_host.size() < 2)
        n.site_of_host.push_back(0);
    n.one_way_ns.assign(static_cast<size_t>(sites), std::vector<int64_t>(static_cast<size_t>(sites), 10 * ms));
    for (size_t s = 0; s < static_cast<size_t>(sites); ++s)
        n.one_way_ns[s][s] = 40 * us;
    for (size_t h = 0; h < n.site_of_host.size(); ++h)
        n.host_of_rank.insert(n.host_of_rank.end(), 1 + draw.below(2), static_cast<int>(h));
    n.habits.resize(n.host_of_rank.size());
    n.bytes_per_ns.assign(static_cast<size_t>(sites), std::vector<double>(static_cast<size_t>(sites), 0.002));
    n.ways = {.bytes = 16'384};
    return n;
}

header header_of(const std::vector<char> &bytes)
{
    header h;
    std::memcpy(&h, bytes.data(), sizeof h);
    return h;
}

/** Everything comes twice, once more much later, and to others: all come to what they would without that. */
std::string check_repeats()
{
    uint64_t repeats = 0;
    for (int trial = 0; trial < (is_long() ? 4'000 : is_short() ? 50 : 300); ++trial) {
        const std::string what = "seed " + std::to_string(test_seed()) + ", trial " + std::to_string(trial);
        absurd draw(test_seed() * 7'919 + static_cast<uint64_t>(trial));
        const network n = small(draw);
        simulation s(n, draw.below(UINT64_MAX), 60'000 * ms);
        const uint64_t often = 1 + draw.below(6);
        uint64_t more = 0;
        s.on_arrival = [&](int64_t now, int from, int to, std::vector<char> &bytes) {
            if (draw.one_in(often)) {
                ++more;
                // (A ping or pong that another process gets is as good as made up: it may be one that is waited for.)
                const kind k = static_cast<kind>(header_of(bytes).what);
                int other = k == ping || k == pong || draw.one_in(2) ? to : static_cast<int>(draw.below(static_cast<uint64_t>(n.ranks())));
                const bool answers_all = k == part || k == done || k == ask || k == report;     // who gets them from another one believes that one
                if (other == from || (answers_all && other != to))
                    other = to;
                s.inject(now + static_cast<int64_t>(draw.below(draw.one_in(3) ? 3'000 * ms : 30 * ms)), from, other, bytes);
            }
            return true;
        };
        const outcome o = s.run();
        repeats += more;
        std::set<std::pair<int, int>> sites_of;
        for (int r = 0; r < n.ranks(); ++r) {
            const auto at = static_cast<size_t>(r);
            WAN_CHECK_THAT(!o.site[at].empty(), what + ": rank " + std::to_string(r) + " never knows");
            for (int x = 0; x < n.ranks(); ++x) {
                const auto site = [&](int y) { return n.site_of_host[static_cast<size_t>(n.host_of_rank[static_cast<size_t>(y)])]; };
                WAN_CHECK_THAT((o.site[at][static_cast<size_t>(x)] == o.site[at][at]) == (site(x) == site(r)), what + ": other sites");
            }
            WAN_CHECK_THAT(o.ways[at].size() == static_cast<size_t>(o.sites * (o.sites - 1)), what + ": ways are missing");
            if (std::string why = are_ways(o.ways[at], o.sites); !why.empty())
                return what + ": " + why;
        }
        // Each is answered at most: a ping, a part of one.
        WAN_CHECK_THAT(o.messages <= 4'000 * static_cast<uint64_t>(n.ranks()) + more, what + ": " + std::to_string(o.messages) + " messages");
    }
    std::printf("%llu messages came once more\n", static_cast<unsigned long long>(repeats));
    WAN_CHECK(repeats > 1000);
    return "";
}

/** Messages on their way are changed, or something absurd comes from those who are listened to: who knows sites knows the same as all who do. */
std::string check_lies()
{
    const int trials = is_long() ? 20'000 : is_short() ? 200 : 1'000;
    int all_know = 0, none = 0, some = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const std::string what = "seed " + std::to_string(test_seed()) + ", trial " + std::to_string(trial);
        absurd draw(test_seed() * 104'729 + static_cast<uint64_t>(trial));
        const network n = small(draw);
        simulation s(n, draw.below(UINT64_MAX), 40'000 * ms);
        const uint64_t often = draw.one_of(std::array<uint64_t, 4>{3, 10, 50, 200});
        const auto hosts = static_cast<int>(n.site_of_host.size());
        uint64_t more = 0;
        s.on_arrival = [&](int64_t now, int from, int to, std::vector<char> &bytes) {
            if (!draw.one_in(often))
                return true;
            if (draw.one_in(2)) {
                std::vector<char> extra = draw.any(hosts);
                if (extra.size() >= sizeof(header) && header_of(extra).what != table && header_of(extra).what != way_table) {
                    ++more;
                    s.inject(now + static_cast<int64_t>(draw.below(20 * ms)), from, to, std::move(extra));
                }
                return true;
            }
            header h = header_of(bytes);
            if (h.what == table || h.what == way_table)
                h.what = draw.one_in(2) ? static_cast<uint32_t>(draw.index(kinds)) : h.what;        // (not what it says)
            else if (draw.one_in(2))
                h.value = draw.value();
            else
                h.number = draw.number();
            if (h.what != table && h.what != way_table && bytes.size() >= sizeof h + sizeof(int64_t) && draw.one_in(2)) {
                const int64_t v = draw.value();
                std::memcpy(bytes.data() + sizeof h + draw.below((bytes.size() - sizeof h) / sizeof v) * sizeof v, &v, sizeof v);
            }
            std::memcpy(bytes.data(), &h, sizeof h);
            return !draw.one_in(4);     // or it is lost
        };
        const outcome o = s.run();
        int know = 0;
        const std::vector<place> *first = nullptr;
        const std::vector<discovery::way_between> *ways = nullptr;
        for (size_t r = 0; r < o.place.size(); ++r) {
            if (o.place[r].empty())
                continue;
            ++know;
            if (first == nullptr)
                first = &o.place[r];
            WAN_CHECK_THAT(o.place[r] == *first, what + ": ranks know other sites");
            if (o.ways[r].empty())
                continue;
            if (ways == nullptr)
                ways = &o.ways[r];
            WAN_CHECK_THAT(o.ways[r].size() == ways->size() && std::memcmp(o.ways[r].data(), ways->data(), ways->size() * sizeof(*ways->data())) == 0, what + ": ranks know other ways");
        }
        ++(know == n.ranks() ? all_know : know == 0 ? none : some);
        WAN_CHECK_THAT(o.messages <= 20'000 * static_cast<uint64_t>(n.ranks()) + 200 * more, what + ": " + std::to_string(o.messages) + " messages");
    }
    std::printf("lies: all know the same in %d jobs, none in %d, some in %d\n", all_know, none, some);
    WAN_CHECK(all_know > trials / 4);
    return "";
}

/** A table in three messages, of which one comes twice, one from somebody else, one with a number that no site has: nothing is known before all is. */
std::string check_table()
{
    constexpr size_t hosts = 800, most = (discovery::message_max - sizeof(header)) / sizeof(place);
    std::vector<uint64_t> nodes(hosts);
    std::vector<place> places(hosts);
    for (size_t h = 0; h < hosts; ++h) {
        nodes[h] = h + 1;
        places[h].site = static_cast<uint16_t>(h % 2);
    }
    discovery d(nodes, 7, [](int, const void *, size_t) {});
    const auto tell = [&](int from, size_t first, const std::vector<place> &of) {
        const auto bytes = message({table, static_cast<uint32_t>(first), 0}, std::vector<place>(of.begin() + static_cast<std::ptrdiff_t>(first), of.begin() + static_cast<std::ptrdiff_t>(std::min(hosts, first + most))));
        d.receive(from, bytes.data(), bytes.size());
    };
    d.look(1);
    auto hole = places;
    for (place &p : hole)
        p.site = static_cast<uint16_t>(3 * p.site);
    for (int round = 0; round < 3; ++round)
        for (size_t first = 0; first < hosts; first += most) {
            tell(1, first, hole);       // of three sites one has hosts
            tell(2, first, places);     // no first host of rank 7's site
        }
    for (size_t first = 0; first < hosts; first += most)
        tell(2, first, places);
    WAN_CHECK_THAT(!d.finished(), "takes a table from anybody, or of sites without hosts");
    for (size_t first : {size_t{0}, size_t{0}, most, most, size_t{0}}) {
        tell(1, first, places);
        WAN_CHECK_THAT(!d.finished(), "knows before all is told");
    }
    tell(1, 2 * most, places);
    WAN_CHECK(d.finished() && d.sites() == 2 && d.site_of(7) == 1 && d.site_of(798) == 0);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_anything>), cmocka_unit_test(test<check_times>), cmocka_unit_test(test<check_table>),
        cmocka_unit_test(test<check_repeats>), cmocka_unit_test(test<check_lies>),
    };
    return cmocka_run_group_tests_name("discovery_garbage", tests, nullptr, nullptr);
}
