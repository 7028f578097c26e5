/*
 * The parts of sites that the coordinator of a discovery finds (measure/site_finder.hpp), without a network: zones, buildings, and busy hosts
 * that seem to be far.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "finder_rounds.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace wan_test;

/**
 * Two sites of two zones, in one of which a host answers late for a while: asked again, it finds its zone; alone it makes none.
 * Nor do sites wait for the zone of one of which nothing more is known.
 */
std::string check_late_host()
{
    for (const auto &[recovers, lost] : {std::pair{true, false}, {false, false}, {false, true}}) {
        wan::site_finder f(32);
        constexpr int late = 6;
        const auto time = [&](int a, int b, bool slow) -> int64_t {
            const int64_t is = a == b ? 0 : a / 16 != b / 16 ? 40 * ms : a / 8 != b / 8 ? 600 * us : 60 * us;
            return slow && a != b && (a == late || b == late) ? std::max(is, 3 * ms) : is;
        };
        std::map<int, std::vector<int>> targets;
        for (int h = 0; h < 32; ++h)
            targets[h] = wan::site_finder::first_targets(32);
        WAN_CHECK_THAT(std::find(targets[0].begin(), targets[0].end(), late) == targets[0].end(), "the late one is a landmark");
        int rounds = 0;
        for (; !f.finished(); ++rounds) {
            WAN_CHECK_THAT(rounds < 10, "asks for ever");
            const auto now = std::exchange(targets, {});
            const uint32_t round = f.round();
            size_t answers = 0;
            for (const auto &[h, some] : now) {
                std::vector<int64_t> times;
                for (int t : some)
                    times.push_back(lost && rounds > 0 && h == late && t != late ? wan::site_finder::unknown_ns : time(h, t, rounds == 0 || !recovers));
                WAN_CHECK(!f.take(h, round + 1, times) && !f.take(h, round, std::vector<int64_t>(times.size() + 1)));
                WAN_CHECK(f.take(h, round, times) == (++answers == now.size()));
            }
            f.ask([&](int h, std::span<const int> some) { targets[h].assign(some.begin(), some.end()); });
            WAN_CHECK(f.finished() == targets.empty());
        }
        WAN_CHECK_THAT(rounds > 1, "never asked again");
        for (int h = 0; h < 32; ++h) {
            const auto &p = f.places()[static_cast<size_t>(h)];
            const bool alone = !recovers && h == late;
            WAN_CHECK_THAT(p.site == h / 16 && p.inside[1] == 0, std::to_string(h));
            // (Parts are numbered by their lowest host: the late one comes before the other zone.)
            WAN_CHECK_THAT(p.inside[0] == (alone ? 2 : h % 16 < 8 ? 1 : !recovers && h < 16 ? 3 : 2), std::to_string(h) + " is in part " + std::to_string(p.inside[0]));
        }
        WAN_CHECK(f.parted() == 2 && f.apart_ns() == 600 * us && f.far_ns() == 40 * ms && f.near_ns() == 3 * ms);
    }
    return "";
}

/**
 * Two sites of two zones where some ways, drawn anew in each round, seem long because somebody was late, as on a machine with other work: by one round
 * alone, without an allowance for few ways, 40 to 95 of such 100 jobs have parts. Where there are no zones, no lateness makes any, nor more than a round
 * for who was near nobody.
 */
std::string check_late_ways()
{
    for (const auto &[per, near, late] : {std::tuple{3, 90 * us, 2400 * us}, {4, 90 * us, 2400 * us}, {16, 90 * us, 2400 * us}, {4, 250 * us, 1200 * us}, {8, 250 * us, 1200 * us}, {16, 250 * us, 1200 * us}})
        for (const bool zones : {true, false}) {
            const std::string where = std::to_string(per) + (zones ? " of a zone, " : " of no zone, ") + std::to_string(near);
            int right = 0;
            for (unsigned seed = 0; seed < 100; ++seed) {
                std::mt19937 draws(1000 * seed + static_cast<unsigned>(per));
                const auto drawn = [&draws](int64_t most) { return static_cast<int64_t>(draws() % static_cast<uint64_t>(most)); };
                const auto zone = [per = per](int h) { return h / per; };
                int rounds = 0;
                wan::site_finder f(4 * per);
                const std::string why = find_all(f, 4 * per, [&, near = near, late = late](int a, int b, int round) {
                    rounds = round + 1;
                    const bool apart = zones && zone(a) != zone(b);
                    const int64_t is = zone(a) / 2 != zone(b) / 2 ? 40 * ms + drawn(500 * us) : apart ? 1230 * us + drawn(150 * us) : near + drawn(near);
                    return is + (drawn(20) ? 0 : 100 * us + drawn(late));
                });
                WAN_CHECK_THAT(why.empty(), where + ", seed " + std::to_string(seed) + ": " + why);
                bool all = true;
                for (int h = 0; h < 4 * per; ++h) {
                    const auto &p = f.places()[static_cast<size_t>(h)];
                    WAN_CHECK_THAT(p.site == zone(h) / 2, where + ", seed " + std::to_string(seed) + ": " + std::to_string(h));
                    all &= p.inside[0] == (zones ? zone(h) % 2 + 1 : 0) && p.inside[1] == 0;
                }
                right += all;
                WAN_CHECK_THAT(zones || (rounds <= 2 && all), where + ", seed " + std::to_string(seed) + ": " + std::to_string(rounds));
                WAN_CHECK_THAT(!zones || !all || (f.parted() == 2 && f.apart_ns() >= 1230 * us && f.apart_ns() < 1600 * us), where);
            }
            WAN_CHECK_THAT(right >= 97, where + ": " + std::to_string(right));
        }
    return "";
}

/**
 * Sites of which two hosts, those that all measure first, are late in most of what is measured of them, and no zones: where what one end tells is refuted
 * by the other at once, they are a part of their own in half of such jobs, where ways between parts are not measured again, in 41 of 100; 24 are left.
 */
std::string check_late_hosts()
{
    constexpr int per = 6, hosts = 4 * per;
    const auto first = wan::site_finder::first_targets(hosts);
    const auto is_late = [&](int h) { return std::find(first.begin(), first.end(), h) != first.end(); };
    int parted = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 draws(31 * seed + 6);
        const auto drawn = [&draws](int64_t most) { return static_cast<int64_t>(draws() % static_cast<uint64_t>(most)); };
        wan::site_finder f(hosts);
        const std::string why = find_all(f, hosts, [&](int a, int b, int) {
            const bool late = (is_late(a) || is_late(b)) && drawn(100) < 85;
            const int64_t is = (a / per != b / per ? 40 * ms : 100 * us) + drawn(50 * us);
            return is + (late ? 300 * us + drawn(1200 * us) : 0);
        }, 5);
        WAN_CHECK_THAT(why.empty(), why);
        for (int h = 0; h < hosts; ++h)
            WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h / per, std::to_string(seed) + ": " + std::to_string(h));
        parted += f.parted() > 0;
    }
    WAN_CHECK_THAT(parted <= 28, std::to_string(parted));
    return "";
}

/** What is drawn of a seed, below the number asked for. */
struct lots {
    std::mt19937 draws;
    int64_t operator()(int64_t most) { return static_cast<int64_t>(draws() % static_cast<uint64_t>(most)); }
};

/**
 * Large zones of which some hosts are busy all the time.  These are among the targets when ways are measured again, though few had measured them before:
 * where all of those ways count, both sites of 6 in 20 such jobs have their zones, and else of all.
 */
std::string check_busy_hosts()
{
    constexpr int per = 64, hosts = 6 * per;
    int right = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
        lots drawn{std::mt19937(seed)};
        std::vector<bool> busy(hosts);
        for (int h = 0; h < hosts; ++h)
            busy[static_cast<size_t>(h)] = drawn(100) < 3;
        const auto is_busy = [&](int h) { return busy[static_cast<size_t>(h)]; };
        wan::site_finder f(hosts);
        const std::string why = find_all(f, hosts, [&](int a, int b, int) {
            const int64_t is = a / per / 3 != b / per / 3 ? 40 * ms : a / per != b / per ? 1230 * us + drawn(150 * us) : 90 * us + drawn(60 * us);
            return is + ((is_busy(a) || is_busy(b)) && drawn(100) < 70 ? 300 * us + drawn(2000 * us) : 0);
        });
        WAN_CHECK_THAT(why.empty(), why);
        std::map<int, wan::site_finder::place> zones;       // (busy ones may be alone)
        bool all = f.parted() == 2;
        for (int h = 0; h < hosts; ++h)
            if (!is_busy(h))
                all &= f.places()[static_cast<size_t>(h)] == zones.try_emplace(h / per, f.places()[static_cast<size_t>(h)]).first->second;
        for (int z = 1; z < 6; ++z)
            all &= zones[z - 1] != zones[z];
        right += all;
    }
    WAN_CHECK_THAT(right >= 18, std::to_string(right));
    return "";
}

/** Sites without zones in which some hosts are late nearly always: 2 to 9 of 100 such jobs seem to have some. */
std::string check_no_zones()
{
    for (const int busy_ones : {10, 20, 35})
        for (const int64_t late : {1200 * us, 4000 * us}) {
            constexpr int per = 32;
            int parted = 0;
            for (unsigned seed = 0; seed < 100; ++seed) {
                lots drawn{std::mt19937(77 * seed + per)};
                std::vector<bool> busy(2 * per);
                for (int h = 0; h < 2 * per; ++h)
                    busy[static_cast<size_t>(h)] = drawn(100) < busy_ones;
                wan::site_finder f(2 * per);
                const std::string why = find_all(f, 2 * per, [&, late = late](int a, int b, int) {
                    const bool is_late = (busy[static_cast<size_t>(a)] || busy[static_cast<size_t>(b)]) && drawn(100) < 98;
                    const int64_t is = (a / per != b / per ? 40 * ms : 100 * us) + drawn(50 * us);
                    return is + (is_late ? 300 * us + drawn(late) : 0);
                });
                WAN_CHECK_THAT(why.empty(), why);
                parted += f.parted() > 0;
            }
            WAN_CHECK_THAT(parted <= 12, std::to_string(busy_ones) + " busy: " + std::to_string(parted));
        }
    return "";
}

/** Hosts are in order of their zones, each of so many hosts; and each site has so many zones. */
std::string zones_are(const wan::site_finder &f, int hosts, int per, int zones)
{
    for (int h = 0; h < hosts; ++h) {
        const auto &p = f.places()[static_cast<size_t>(h)];
        WAN_CHECK_THAT(p.site == h / per / zones && p.inside[0] == h / per % zones + 1, std::to_string(h) + " is in part " + std::to_string(p.inside[0]));
    }
    return "";
}

/**
 * Buildings in zones, where each fifth way is late: they are judged by what both ends and all rounds tell, as the zones are.  17 of 50 such jobs show all
 * of them, and else none.
 */
std::string check_late_buildings()
{
    constexpr int per = 8, hosts = 8 * per;
    int right = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
        lots drawn{std::mt19937(seed)};
        wan::site_finder f(hosts);
        std::string why = find_all(f, hosts, [&](int a, int b, int) {
            const int x = a / per, y = b / per;
            const int64_t is = x / 4 != y / 4 ? 40 * ms + drawn(500 * us) : x / 2 != y / 2 ? 1230 * us + drawn(150 * us) : x != y ? 320 * us + drawn(30 * us) : 50 * us + drawn(20 * us);
            return is + (drawn(5) ? 0 : 100 * us + drawn(2400 * us));
        });
        WAN_CHECK_THAT(why.empty(), why);
        bool all = zones_are(f, hosts, 2 * per, 2).empty();
        for (int h = 0; h < hosts; ++h)
            all &= f.places()[static_cast<size_t>(h)].inside[1] == h / per % 2 + 1;
        right += all;
    }
    WAN_CHECK_THAT(right >= 12, std::to_string(right));
    return "";
}

/** More small zones than a host may measure: a repeat takes some all over the site, of those that were measured before. */
std::string check_many_targets()
{
    constexpr int per = 2, site = 500;
    lots drawn{std::mt19937(3)};
    std::set<int> before;
    size_t largest = 0;
    int repeats = 0;
    std::string bad;
    wan::site_finder f(2 * site);
    const std::string why = find_all(f, 2 * site, [&](int a, int b, int) {
        const int64_t is = a / site != b / site ? 40 * ms : a / per != b / per ? 1230 * us + drawn(150 * us) : 90 * us + drawn(60 * us);
        return is + (drawn(100) < 3 ? 300 * us + drawn(2000 * us) : 0);
    }, 12, [&](const asks &of) {
        for (const auto &[h, some] : of)
            largest = std::max(largest, some.size());
        for (const int first : {0, site}) {
            const auto from = of.lower_bound(first), to = of.lower_bound(first + site);
            if (before.empty() || std::distance(from, to) < site)
                continue;
            ++repeats;
            const std::vector<int> &some = from->second;
            std::vector<int> known;
            std::copy_if(before.begin(), before.end(), std::back_inserter(known), [&](int h) { return h / site == first / site; });
            if (known.size() <= wan::site_finder::most_targets || some.size() < wan::site_finder::most_targets)
                bad = std::to_string(some.size()) + " of " + std::to_string(known.size());
            if (!std::ranges::all_of(some, [&](int h) { return before.contains(h); }))
                bad = "some were never measured before";
            for (size_t k = 0; k + 8 < known.size(); ++k)
                if (std::ranges::none_of(some, [&](int h) { return h >= known[k] && h <= known[k + 8]; }))
                    bad = "none from " + std::to_string(known[k]) + " to " + std::to_string(known[k + 8]);
        }
        for (const auto &[h, some] : of)
            before.insert(some.begin(), some.end());
    });
    WAN_CHECK_THAT(why.empty(), why);
    WAN_CHECK_THAT(bad.empty(), bad);
    WAN_CHECK_THAT(repeats == 2 && largest == wan::site_finder::most_targets, std::to_string(repeats) + " repeats, of at most " + std::to_string(largest));
    return "";
}

/** Whose ways are late for ever are not measured for ever: whatever a repeat shows, there is no other one. */
std::string check_always_late()
{
    int longest = 0, false_ones = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        lots drawn{std::mt19937(seed)};
        const int per = 4 + static_cast<int>(seed % 16);
        std::vector<bool> busy(static_cast<size_t>(2 * per));
        for (size_t h = 0; h < busy.size(); ++h)
            busy[h] = drawn(100) < seed % 5 * 15;
        wan::site_finder f(2 * per);
        const std::string why = find_all(f, 2 * per, [&](int a, int b, int round) {
            longest = std::max(longest, round + 1);
            const uint32_t mixed = (static_cast<uint32_t>(a) * 7919u + static_cast<uint32_t>(b) * 104'729u + seed * 31u) * 2'654'435'761u >> 8;
            const bool late = busy[static_cast<size_t>(a)] || busy[static_cast<size_t>(b)] || mixed % 100 < 30;
            return a / per != b / per ? 40 * ms : 100 * us + (late ? mixed % 2000 * us : 0);
        }, 6);
        WAN_CHECK_THAT(why.empty(), std::to_string(seed) + ": " + why);
        false_ones += f.parted();
    }
    WAN_CHECK_THAT(longest > 2 && false_ones <= 8, std::to_string(longest) + " rounds, parts of " + std::to_string(false_ones) + " sites");
    return "";
}

/** Of what ways between zones take at most, be it a little less than others take, nothing follows: it hides no zones. */
std::string check_at_most_between_zones()
{
    for (const bool late : {false, true}) {     // two hosts at first: then the ways are measured again
        int rounds = 0;
        wan::site_finder f(12);
        std::string why = find_all(f, 12, [&](int h, int t, int round) {
            rounds = round + 1;
            return h / 6 != t / 6                          ? 40 * ms
                   : late && round == 0 && h % 6 == 1      ? 2 * ms
                   : h / 3 == t / 3                        ? 60 * us
                   : h % 6 == 0 || t % 6 == 0              ? -1400 * us
                                                           : 1450 * us;
        });
        if (why.empty())
            why = zones_are(f, 12, 3, 2);
        WAN_CHECK_THAT(why.empty(), std::to_string(late) + ": " + why);
        WAN_CHECK(rounds == (late ? 2 : 1));
    }
    return "";
}

/** Two hosts that tell only at most what the others of their site take are no zone, though one way among the others is late: nothing is known to be far. */
std::string check_nothing_far()
{
    constexpr int per = 8;
    int asked = 0;
    for (int rare = 0; rare < per; ++rare)
        for (int late = 0; late < per; ++late)
            for (int to = 0; to < per; ++to) {
                const int other = (rare + 1) % per;
                if (late == to || late == rare || late == other || to == rare || to == other)
                    continue;
                wan::site_finder f(2 * per);
                const std::string why = find_all(f, 2 * per, [&](int h, int t, int) {
                    const auto tells_little = [&](int a) { return a == rare || a == other; };
                    asked += h == late && t == to;
                    return h / per != t / per                                ? 40 * ms
                           : h < per && tells_little(h) != tells_little(t)   ? -900 * us
                           : h == late && t == to                            ? 1200 * us
                                                                             : 60 * us;
                });
                WAN_CHECK_THAT(why.empty() && f.parted() == 0, std::to_string(rare) + ", " + std::to_string(late) + " to " + std::to_string(to) + ": parts " + why);
            }
    WAN_CHECK_THAT(asked > 100, "no way that is late was measured");
    return "";
}

/**
 * Busy hosts, most of whose ways tell at most what they take, and others that are late now and then. Where there are no zones few jobs may have some; where
 * there are, hardly any of the others misses its own; of zones without buildings hardly any has some.
 */
std::string check_busy_and_late()
{
    struct job {
        bool zones_right, parted, buildings;
    };
    const auto run = [](int per, int zones, int busy, int late, int64_t longest, unsigned seed) {
        std::mt19937 draw(seed * 13 + static_cast<unsigned>(per));
        const auto below = [&](int64_t most) { return static_cast<int64_t>(draw() % static_cast<uint64_t>(most)); };
        const int site = per * zones, hosts = 2 * site;
        std::vector<bool> rare(static_cast<size_t>(hosts));
        for (size_t h = 0; h < rare.size(); ++h)
            rare[h] = below(100) < busy;
        wan::site_finder f(hosts);
        const std::string why = find_all(f, hosts, [&](int a, int b, int) {
            if (a / site != b / site)
                return 40 * ms + below(500 * us);
            const int64_t is = a / per != b / per ? 1230 * us + below(100 * us) : 60 * us + below(50 * us);
            if ((rare[static_cast<size_t>(a)] || rare[static_cast<size_t>(b)]) && below(100) < 85)
                return -(is + 250 * us + below(longest));
            return below(100) < late ? is + 300 * us + below(longest) : is;
        });
        job is{why.empty() && f.parted() > 0, f.parted() > 0, false};
        std::map<int, int> parts;       // of those that are not busy, by zone
        for (int h = 0; h < hosts; ++h) {
            const auto &p = f.places()[static_cast<size_t>(h)];
            is.buildings = is.buildings || p.inside[1] > 0;
            if (!rare[static_cast<size_t>(h)])
                is.zones_right = is.zones_right && p.inside[0] > 0 && parts.try_emplace(h / per, p.inside[0]).first->second == p.inside[0];
        }
        for (int site_of = 0; zones == 2 && site_of < 2; ++site_of)
            if (parts.contains(2 * site_of) && parts.contains(2 * site_of + 1))
                is.zones_right = is.zones_right && parts[2 * site_of] != parts[2 * site_of + 1];
        return is;
    };
    int none = 0, all = 0, right = 0, zones = 0, buildings = 0;
    for (const int busy : {10, 25, 40})
        for (const int late : {0, 2, 5})
            for (unsigned seed = 0; seed < 40; ++seed) {
                for (const int per : {6, 8, 16, 32})
                    none += run(per, 1, busy, late, 1500 * us, seed).parted, ++all;
                for (const int per : {4, 8, 16}) {
                    right += run(per, 2, busy, late, 1500 * us, seed).zones_right, ++zones;
                    buildings += run(per, 2, busy, late, 400 * us, seed).buildings;     // shorter than from zone to zone
                }
            }
    const std::string counts = "parted " + std::to_string(none) + " of " + std::to_string(all) + ", zones right " + std::to_string(right) + ", buildings "
                               + std::to_string(buildings) + " of " + std::to_string(zones);
    if (std::getenv("WAN_TEST_LONG"))
        print_message("%s\n", counts.c_str());
    WAN_CHECK_THAT(none * 50 <= all, counts);
    WAN_CHECK_THAT(right * 10 >= zones * 9, counts);
    WAN_CHECK_THAT(buildings * 50 <= zones, counts);
    return "";
}

/** A host that tells only what its ways take at most has its zone all the same, also where those of others are measured once more. */
std::string check_at_most_in_zone()
{
    for (const int rare : {2, 6, 20})
        for (const bool late : {false, true}) {
            int rounds = 0;
            wan::site_finder f(32);
            std::string why = find_all(f, 32, [&](int a, int b, int round) {
                rounds = round + 1;
                if (a / 16 != b / 16)
                    return 40 * ms;
                const auto one_is = [&](int h) { return a == h || b == h; };
                const int64_t is = late && round == 0 && (one_is(9) || one_is(25)) ? 3 * ms : a / 8 != b / 8 ? 1230 * us : 60 * us;
                return one_is(rare) ? -is - is / 10 : is;
            }, 3);
            if (why.empty())
                why = zones_are(f, 32, 8, 2);
            WAN_CHECK_THAT(why.empty(), std::to_string(rare) + ": " + why);
            WAN_CHECK(f.parted() == 2 && f.apart_ns() == 1230 * us && rounds == (late ? 2 : 1));
        }
    return "";
}

/**
 * A third of the ways inside zones was late at first, by any time up to that between zones, and one between them by far more: the only gap that shows is
 * above all zones, and makes one group; that which shows if half of the times may be late ones makes two.
 */
std::string check_perhaps()
{
    // To one landmark of each zone; those of a site are 0, 5, 10 and 15.
    const auto late = [](int from, int to) -> int64_t {
        constexpr int64_t times[] = {190 * us, 450 * us, 1000 * us};
        return to == 0 && from >= 1 && from <= 4 ? times[from % 3] : to == 15 && from >= 8 && from <= 12 ? times[from % 3] : 0;
    };
    int rounds = 0;
    wan::site_finder f(32);
    std::string why = find_all(f, 32, [&](int a, int b, int round) {
        rounds = round + 1;
        if (a / 16 != b / 16)
            return 40 * ms;
        if (a / 8 != b / 8)
            return round == 0 && a % 16 == 1 && b % 16 == 10 ? 4 * ms : 1230 * us;
        return round == 0 && late(a % 16, b % 16) ? late(a % 16, b % 16) : 60 * us;
    }, 4);
    if (why.empty())
        why = zones_are(f, 32, 8, 2);
    WAN_CHECK_THAT(why.empty(), why);
    WAN_CHECK_THAT(rounds == 2, std::to_string(rounds));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_late_host>), cmocka_unit_test(test<check_late_ways>), cmocka_unit_test(test<check_late_hosts>),
        cmocka_unit_test(test<check_busy_hosts>), cmocka_unit_test(test<check_no_zones>), cmocka_unit_test(test<check_late_buildings>),
        cmocka_unit_test(test<check_many_targets>), cmocka_unit_test(test<check_always_late>),
        cmocka_unit_test(test<check_at_most_in_zone>), cmocka_unit_test(test<check_at_most_between_zones>), cmocka_unit_test(test<check_perhaps>),
        cmocka_unit_test(test<check_nothing_far>), cmocka_unit_test(test<check_busy_and_late>),
    };
    return cmocka_run_group_tests_name("site_parts", tests, nullptr, nullptr);
}
