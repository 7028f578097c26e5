/*
 * What a process measures of others, answered as a test likes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_ADAPTIVE_KNOWER_HPP
#define TEST_ADAPTIVE_KNOWER_HPP

#include "adaptive/neighbours.hpp"
#include "job.hpp"

#include <utility>
#include <vector>

namespace adaptive_test {

using namespace wan;

/** A process that knows another one 20 ms away, and answers of that one. */
struct knower {
    std::vector<std::pair<int, tell_message>> sent;
    int64_t now = second_ns;
    bool loaded = false;
    neighbours n{{}, 10, 5, [this](int to, const tell_message &m) { sent.emplace_back(to, m); }, {}, [this] { return loaded; }};
    knower()
    {
        n.know(1, {20 * ms, 1'000'000, 0});
        n.know(2, {100 * us, 1'000'000, 0});
        n.step(now, false);
        for (const auto &[to, m] : std::exchange(sent, {}))
            for (int i = 0; i < 3; ++i)
                pong(to, 30 * ms);
        sent.clear();
    }
    void pong(int from, int64_t waited_ns = 0)
    {
        tell_message m;
        m.what = tell_kind::pong;
        m.value_ns = waited_ns;
        n.receive(from, m, now);
    }
    /** Answers to its pings to 1; how many there were.  loaded_there: of so many, who answers has long operations under way. */
    int answers(int64_t rtt_ns, int64_t waited_there_ns = 0, int64_t waited_here_ns = 0, int loaded_there = 0)
    {
        int pings = 0;
        n.step(now, false);
        for (bool more = true; more;) {
            more = false;
            for (const auto &[to, m] : std::exchange(sent, {}))
                if (to == 1 && m.what == tell_kind::ping) {
                    now += rtt_ns;
                    tell_message pong;
                    pong.what = tell_kind::pong;
                    pong.value_ns = waited_there_ns;
                    pong.slow = pings < loaded_there;
                    n.receive(1, pong, now, waited_here_ns);
                    ++pings, more = true;
                } else
                    told_ns = m.what == tell_kind::distance ? m.value_ns : told_ns;
        }
        return pings;
    }
    int64_t told_ns = 0;
};

} // namespace adaptive_test

#endif
