/*
 * What the coordinator of a discovery makes of round trips (measure/site_finder.hpp), without a network: hosts that are late,
 * ways of which is only known what they take at most, or nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "finder_rounds.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace wan_test;

/** As long as no way between sites is known, nothing says that there is one site only: a host that is late is not near all. */
std::string check_unknown()
{
    constexpr int late = 6;
    wan::site_finder f(8);
    const std::string why = find_all(f, 8, [](int h, int t, int round) {
        const bool near = t / 4 == h / 4;
        return round < 2 && (!near || h == late || t == late) ? wan::site_finder::unknown_ns : near ? 60 * us : 40 * ms;
    }, 5);
    if (!why.empty())
        return why;
    for (int h = 0; h < 8; ++h)
        WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h / 4, std::to_string(h));
    return "";
}

/** Nor where all ways take at most what they may inside a site, for some rounds: sites may be as near to each other. */
std::string check_unknown_and_short()
{
    wan::site_finder f(8);
    const std::string why = find_all(f, 8, [](int h, int t, int round) {
        const bool near = t / 4 == h / 4;
        return round < 4 ? near ? -400 * us : -4400 * us : near ? 60 * us : 4 * ms;
    }, 6);
    if (!why.empty())
        return why;
    for (int h = 0; h < 8; ++h)
        WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h / 4, std::to_string(h));
    return "";
}

/**
 * Processors so busy that ways inside a site seem to be of any length up to that between sites: no gap, but no single site either. Later rounds
 * show it; where none does, one short way is enough for a host, also where all are in one site.
 */
std::string check_busy()
{
    for (const auto &[sites, until] : {std::pair{4, 2}, {4, 100}, {1, 100}}) {
        wan::site_finder f(64);
        const std::string why = find_all(f, 64, [&, most = until](int a, int b, int round) {
            const int64_t late = (a * 7919 + b * 104'729 + round * 1'299'709) % 1000 * (round < most ? 20 : 2) * us;
            return (a % sites == b % sites ? 300 * us : 20 * ms) + late;
        }, sites == 1 ? 12 : 8);
        WAN_CHECK_THAT(why.empty(), why);
        for (int h = 0; h < 64; ++h)
            WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h % sites, std::to_string(h) + " in " + std::to_string(f.places()[static_cast<size_t>(h)].site));
    }
    return "";
}

/**
 * Near sites of a program whose own messages fill the ways at first: no way is short, none as long as between sites that are always told apart. That is
 * no single site at once. Where ways are short nobody is patient, nor where sites are found.
 */
std::string check_filled_ways()
{
    for (const auto &[sites, filled] : {std::pair{2, 3}, {2, 0}, {1, 3}, {1, 100}, {1, 0}}) {
        wan::site_finder f(8);
        int rounds = 0;
        const std::string where = std::to_string(sites) + " filled " + std::to_string(filled) + ": ";
        const std::string why = find_all(f, 8, [&, in = filled, all = sites](int a, int b, int round) {
            rounds = round + 1;
            return (a * all / 8 == b * all / 8 ? 60 * us : 1400 * us) + (round < in ? 2 * ms + (a * 7919 + b * 104'729) % 1000 * us : 0);
        });
        WAN_CHECK_THAT(why.empty(), where + why);
        for (int h = 0; h < 8; ++h)
            WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h * sites / 8, where + std::to_string(h));
        WAN_CHECK_THAT(rounds == (filled == 0 ? 1 : filled == 3 ? 4 : 5) && f.patience() == rounds - 1, where + std::to_string(rounds) + " rounds");
    }
    // Some of the ways far longer, with no gap anywhere.
    wan::site_finder f(8);
    const std::string why = find_all(f, 8, [](int a, int b, int round) {
        return (a / 4 == b / 4 ? 60 * us : 1400 * us) + (round < 6 ? (a * 7919 + b * 104'729 + round * 1'299'709) % 1000 * 8 * us : 0);
    });
    WAN_CHECK_THAT(why.empty(), why);
    for (int h = 0; h < 8; ++h)
        WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h / 4, std::to_string(h) + " of ways of all lengths");
    return "";
}

/** A small site near a large one, beside one far away: round trips that long are never inside, few though they are. */
std::string check_neighbours()
{
    for (const int64_t far : {40 * ms, 300 * ms}) {
        const auto site = [](int h) { return h < 32 ? 0 : h < 34 ? 1 : 2; };
        wan::site_finder f(40);
        const std::string why = find_all(f, 40, [&](int a, int b, int) {
            return site(a) == site(b) ? 300 * us : site(a) + site(b) == 1 ? wan::site_finder::most_near_ns + ms : far;
        });
        WAN_CHECK_THAT(why.empty(), why);
        for (int h = 0; h < 40; ++h)
            WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == site(h), std::to_string(far / ms) + " ms: " + std::to_string(h));
    }
    return "";
}

/** Two that are near to each other are no site as long as others may be near them: some of their ways take at most, or nothing is known. */
std::string check_doubts()
{
    for (const int64_t doubt : {wan::site_finder::unknown_ns, -3 * ms, -30 * ms}) {
        const auto rare = [](int h) { return h == 2 || h == 3; };
        WAN_CHECK(rare(wan::site_finder::first_targets(16)[1]));
        wan::site_finder f(16);
        const std::string why = find_all(f, 16, [&](int a, int b, int round) {
            return a / 8 != b / 8 ? 40 * ms : round < 3 && rare(a) != rare(b) ? doubt : 60 * us;
        });
        WAN_CHECK_THAT(why.empty(), why);
        for (int h = 0; h < 16; ++h)
            WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h / 8, std::to_string(doubt) + ": " + std::to_string(h));
        WAN_CHECK(f.far_ns() == 40 * ms);
    }
    // Where nobody seems far for certain, they are one site in the end; not at once, and later where ways may be far.
    wan::site_finder one(16);
    int last = 0;
    const std::string why = find_all(one, 16, [&](int a, int b, int round) { return last = round, a % 4 && b % 4 ? 60 * us : -4 * ms; });
    WAN_CHECK_THAT(why.empty() && last > 0, why);
    for (const auto &p : one.places())
        WAN_CHECK(p == wan::site_finder::place{});
    for (const int silent : {4, 12}) {
        wan::site_finder late(16);
        const auto tells = [&](int h) { return h % 16 >= silent; };
        const std::string unknown = find_all(late, 16, [&](int a, int b, int round) { return last = round, tells(a) && tells(b) ? 60 * us : -40 * ms; });
        WAN_CHECK_THAT(unknown.empty() && last >= 8, unknown);
        for (const auto &p : late.places())
            WAN_CHECK(p == wan::site_finder::place{});
        WAN_CHECK(late.undecided() == silent && one.undecided() == 0);
    }
    return "";
}

/** Where sites are known, of whom no time ever tells is a site alone, be it more than half of all. */
std::string check_silent()
{
    for (const int silent : {1, 2, 8, 9})
        for (const int64_t at_most : {-30 * ms, wan::site_finder::unknown_ns}) {
            wan::site_finder f(16);
            const std::string why = find_all(f, 16, [&](int a, int b, int) { return a < silent || b < silent ? at_most : a % 2 == b % 2 ? 60 * us : 40 * ms; }, 40);
            WAN_CHECK_THAT(why.empty(), why);
            std::set<int> seen;
            for (int h = 0; h < 16; ++h)
                if (const int site = f.places()[static_cast<size_t>(h)].site; h < silent)
                    seen.insert(site);
                else
                    WAN_CHECK_THAT(site == f.places()[static_cast<size_t>(14 + h % 2)].site && !seen.contains(site), std::to_string(silent) + " silent: " + std::to_string(h));
            WAN_CHECK_THAT(static_cast<int>(seen.size()) == silent, std::to_string(silent) + " silent are " + std::to_string(seen.size()) + " sites");
            WAN_CHECK(f.undecided() == silent);
        }
    // Nor do those that are silent, few or most, make one site of hosts that are all far from each other.
    for (const int silent : {1, 12}) {
        wan::site_finder f(16);
        const std::string why = find_all(f, 16, [&](int a, int b, int) { return a < silent || b < silent ? -30 * ms : 40 * ms; }, 40);
        WAN_CHECK_THAT(why.empty(), why);
        for (int h = 0; h < 16; ++h)
            WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h, std::to_string(silent) + " silent: " + std::to_string(h));
        WAN_CHECK(f.undecided() == silent);
    }
    return "";
}

/** A busy host of which no time tells, but that it is much nearer to one site than any two sites are to each other, is there. */
std::string check_much_nearer()
{
    wan::site_finder f(16);
    const std::string why = find_all(f, 16, [](int a, int b, int) {
        const bool same = a % 2 == b % 2;
        return std::max(a, b) == 15 ? (same ? -8 * ms : -30 * ms) : same ? 60 * us : 40 * ms;
    }, 40);
    WAN_CHECK_THAT(why.empty(), why);
    WAN_CHECK(f.places()[15].site == f.places()[13].site && f.places()[15].site != f.places()[14].site);
    return "";
}

/** Hundreds that are silent wait no longer than one that is: nobody will tell more of the last of them than of the first. */
std::string check_many_silent()
{
    std::map<int, int> rounds;
    for (const int silent : {1, 200, 500}) {
        const auto tells = [&](int h) { return h % 8 == 0 || h >= silent; };
        wan::site_finder f(512);
        const std::string why = find_all(f, 512, [&](int a, int b, int round) {
            rounds[silent] = round;
            return !tells(a) || !tells(b) ? wan::site_finder::unknown_ns : a / 256 == b / 256 ? 60 * us : 40 * ms;
        }, 40);
        WAN_CHECK_THAT(why.empty(), why);
        int alone = 0;
        for (int h = 0; h < 512; ++h)
            if (tells(h))
                WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == f.places()[static_cast<size_t>(h < 256 ? 0 : 504)].site, std::to_string(h));
            else
                ++alone;
        WAN_CHECK_THAT(f.undecided() == alone, std::to_string(f.undecided()) + " undecided of " + std::to_string(alone));
        WAN_CHECK_THAT(rounds[silent] <= 18, std::to_string(alone) + " silent: " + std::to_string(rounds[silent]) + " rounds");
    }
    return "";
}

/** What a round tells for certain is still known in later ones, which tell only at most. */
std::string check_remembered()
{
    for (const bool near_first : {true, false}) {
        wan::site_finder f(16);
        const std::string why = find_all(f, 16, [&](int a, int b, int round) {
            const bool near = a % 2 == b % 2;
            return near != (near_first == (round == 0)) ? -80 * ms : near ? 60 * us : 40 * ms;     // one kind in the first round, the other one later
        }, 3);
        WAN_CHECK_THAT(why.empty(), why);
        for (int h = 0; h < 16; ++h)
            WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h % 2, std::to_string(h));
        WAN_CHECK(f.undecided() == 0 && f.near_ns() == 60 * us && f.far_ns() == 40 * ms);
    }
    return "";
}

/** A landmark of which nobody learns anything is in doubt itself, and nobody else: only it and those who help it measure on. */
std::string check_dark()
{
    for (const int64_t at_most : {-80 * ms, wan::site_finder::unknown_ns})
        for (const int dark : {0, 1, 63}) {
            const auto first = wan::site_finder::first_targets(64);
            if (std::find(first.begin(), first.end(), dark) == first.end())
                continue;
            wan::site_finder f(64);
            std::map<int, std::vector<int>> targets;
            for (int h = 0; h < 64; ++h)
                targets[h] = first;
            int rounds = 0;
            for (; !f.finished(); ++rounds) {
                WAN_CHECK_THAT(rounds < 6, "asks for ever");
                WAN_CHECK_THAT(rounds == 0 || targets.size() <= 3, std::to_string(targets.size()) + " hosts measure in round " + std::to_string(rounds));
                const uint32_t round = f.round();
                for (const auto &[h, some] : std::exchange(targets, {})) {
                    std::vector<int64_t> times;
                    for (int t : some)
                        times.push_back(t == h ? 0 : (t == dark || h == dark) && rounds < 3 ? at_most : h / 32 != t / 32 ? 40 * ms : 60 * us);
                    f.take(h, round, times);
                }
                f.ask([&](int h, std::span<const int> some) { targets[h].assign(some.begin(), some.end()); });
            }
            for (int h = 0; h < 64; ++h)
                WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h / 32, std::to_string(dark) + " is dark: " + std::to_string(h));
            WAN_CHECK(rounds > 3 && f.undecided() == 0);
        }
    return "";
}

/** Who looks every few milliseconds only, whatever is measured: far hosts are known to be far, and of near ones it is known that they may be near. */
std::string check_slow()
{
    for (const int64_t at_most : {3 * ms, 5 * ms})
        for (const int slow : {3, 5}) {
            wan::site_finder f(16);
            const std::string why = find_all(f, 16, [&](int a, int b, int) { return a / 8 != b / 8 ? 40 * ms : a == slow || b == slow ? -at_most + b : 60 * us; }, 40);
            WAN_CHECK_THAT(why.empty(), why);
            for (int h = 0; h < 16; ++h)
                WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h / 8, std::to_string(slow) + " is slow: " + std::to_string(h));
            WAN_CHECK(f.undecided() == 0 && f.far_ns() == 40 * ms);
        }
    return "";
}

/** A way of which one end tells is known, in the same round, whichever of both comes first. */
std::string check_both_ends()
{
    for (const int rare : {0, 3, 4, 7}) {       // all are landmarks
        wan::site_finder f(8);
        const std::string why = find_all(f, 8, [&](int a, int b, int) { return a == rare ? -80 * ms : a / 4 != b / 4 ? 40 * ms : 60 * us; }, 1);
        WAN_CHECK_THAT(why.empty(), std::to_string(rare) + ": " + why);
        for (int h = 0; h < 8; ++h)
            WAN_CHECK_THAT(f.places()[static_cast<size_t>(h)].site == h / 4, std::to_string(rare) + ": " + std::to_string(h));
    }
    return "";
}

/** Where one after the other is found, far apart, the rest does not wait for all of them. */
std::string check_one_by_one()
{
    const auto silent = [](int h, int round) { return h % 8 == 3 && round < 8 * (1 + h / 8); };      // no landmarks
    wan::site_finder f(32);
    const std::string why = find_all(f, 32, [&](int a, int b, int round) { return silent(a, round) || silent(b, round) ? -80 * ms : a % 2 == b % 2 ? 60 * us : 40 * ms; }, 22);
    WAN_CHECK_THAT(why.empty(), why);
    for (int h = 0; h < 32; ++h)
        WAN_CHECK_THAT(silent(h, 17) || f.places()[static_cast<size_t>(h)].site == f.places()[static_cast<size_t>(h % 2)].site, std::to_string(h));
    return "";
}

/** Where more are in doubt than others help at a time, each has its turn: the first ones may never tell. */
std::string check_turns()
{
    const auto rare = [](int h) { return h % 4 == 3 && h % 17; };      // no landmarks
    const auto silent = [&](int h) { return rare(h) && h < 72; };
    wan::site_finder f(128);
    const std::string why = find_all(f, 128, [&](int a, int b, int) { return rare(a) || silent(b) ? -80 * ms : a / 4 % 2 != b / 4 % 2 ? 40 * ms : 60 * us; });
    WAN_CHECK_THAT(why.empty(), why);
    for (int h = 0; h < 128; ++h)
        WAN_CHECK_THAT(silent(h) || f.places()[static_cast<size_t>(h)].site == f.places()[static_cast<size_t>(h / 4 % 2 * 4)].site, std::to_string(h) + " is alone");
    WAN_CHECK_THAT(f.undecided() == 17, std::to_string(f.undecided()));
    return "";
}

/** Whose own times tell nothing, that of others do: they are asked, once; and what was known of some ways in one round is still in the next. */
std::string check_helped()
{
    for (const int rare : {2, 3, 9})
        for (const bool near : {false, true}) {
            int helped = 0;
            const auto is = [&](int a, int b) { return (a == rare || b == rare) && !near ? 40 * ms : a / 8 != b / 8 ? 40 * ms : 60 * us; };
            wan::site_finder f(16);
            std::string why = find_all(f, 16, [&](int a, int b, int round) {
                if (a != rare && b == rare && round > 0)
                    ++helped;
                return a == rare || (b == rare && round == 0) ? -80 * ms : is(a, b);
            }, 6);
            WAN_CHECK_THAT(why.empty(), why);
            WAN_CHECK_THAT(helped > 0 && helped < 16, std::to_string(helped) + " times of others");
            wan::site_finder g(16);
            why = find_all(g, 16, [&](int a, int b, int round) {       // of each way one round in two tells, not the same of all
                return (a == rare || b == rare) && (a + b + round) % 2 ? -80 * ms : is(a, b);
            }, 6);
            WAN_CHECK_THAT(why.empty(), why);
            for (int h = 0; h < 16; ++h)
                for (const auto *x : {&f, &g}) {
                    const auto site = [x](int i) { return x->places()[static_cast<size_t>(i)].site; };
                    WAN_CHECK_THAT(h == rare || (site(h) == site(h / 8 * 8 + 7)), std::to_string(h));
                    WAN_CHECK_THAT(h == rare || (site(h) == site(rare)) == (near && h / 8 == rare / 8), std::to_string(rare) + " is with " + std::to_string(h));
                }
            WAN_CHECK(f.undecided() == 0 && g.undecided() == 0);
        }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_unknown>), cmocka_unit_test(test<check_unknown_and_short>), cmocka_unit_test(test<check_busy>), cmocka_unit_test(test<check_filled_ways>),
        cmocka_unit_test(test<check_neighbours>), cmocka_unit_test(test<check_doubts>), cmocka_unit_test(test<check_silent>),
        cmocka_unit_test(test<check_much_nearer>), cmocka_unit_test(test<check_many_silent>), cmocka_unit_test(test<check_remembered>),
        cmocka_unit_test(test<check_dark>), cmocka_unit_test(test<check_slow>), cmocka_unit_test(test<check_both_ends>),
        cmocka_unit_test(test<check_one_by_one>), cmocka_unit_test(test<check_turns>), cmocka_unit_test(test<check_helped>),
    };
    return cmocka_run_group_tests_name("site_finder", tests, nullptr, nullptr);
}
