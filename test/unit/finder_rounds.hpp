/*
 * Rounds of a site_finder (measure/site_finder.hpp), without a network: what tests of it and of its parts of sites have in common.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_FINDER_ROUNDS_HPP
#define WAN_TEST_FINDER_ROUNDS_HPP

#include "measure/site_finder.hpp"
#include "unit.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace wan_test {

constexpr int64_t us = 1'000, ms = 1'000'000;

using asks = std::map<int, std::vector<int>>;       // who measures whom

/** Asks and answers until the sites are known, in so many rounds: time(from, to, round).  Of each round is asked(who measures whom). */
inline std::string find_all(wan::site_finder &f, int hosts, const std::function<int64_t(int, int, int)> &time, int most = 20,
                            const std::function<void(const asks &)> &asked = [](const asks &) {})
{
    asks targets;
    for (int h = 0; h < hosts; ++h)
        targets[h] = wan::site_finder::first_targets(hosts);
    for (int rounds = 0; !f.finished(); ++rounds) {
        WAN_CHECK_THAT(rounds < most, "asks for ever");
        asked(targets);
        const uint32_t round = f.round();
        for (const auto &[h, some] : std::exchange(targets, {})) {
            std::vector<int64_t> times;
            for (int t : some)
                times.push_back(t == h ? 0 : time(h, t, rounds));
            f.take(h, round, times);
        }
        f.ask([&](int h, std::span<const int> some) { targets[h].assign(some.begin(), some.end()); });
    }
    return "";
}

} // namespace wan_test

#endif
