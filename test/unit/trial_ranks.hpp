/*
 * The ranks of a job that choose by trial: calls with made-up times, which differ from what was predicted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_TRIAL_RANKS_HPP
#define WAN_TEST_TRIAL_RANKS_HPP

#include "tune/candidates.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wan_test {

using namespace wan;

constexpr int64_t ms = 1'000'000;

inline manner made_up(unsigned k)
{
    manner m;
    m.algo = algorithms()[0];
    m.links = k + 1;
    return m;
}

/** So many candidates, each predicted to be slower than the one before. */
inline std::vector<tuner::candidate> ladder(unsigned n)
{
    std::vector<tuner::candidate> all;
    for (unsigned k = 0; k < n; ++k)
        all.push_back({.how = made_up(k), .predicted_ns = (10 + k) * ms});
    return all;
}

/** The ranks of a job; a call takes what `time(rank, manner's number, call)` says on each. */
struct job {
    using times = std::function<int64_t(int rank, unsigned candidate, int call)>;
    std::vector<tuner> ranks;
    unsigned epoch = 0;
    std::vector<unsigned> served;       // number of the manner, by call
    std::vector<int> trials;            // WAN_TRIAL_
    std::string wrong;
    int64_t words_ns = 0, exchange_ns = 0, least_ns = 0, opening_ns = 0;    // of candidates; the last of all but the first
    unsigned exchanges = 0;             // of scores
    std::optional<manner> known{};      // from elsewhere, of the calls to come
    std::optional<manner> served_before{};      // when trials began last
    int64_t quicker = 1;                // so many times, by prediction
    bool always_old = false;            // who calls seldom
    bool clock_old = true;              // until they have had word of it
    std::function<int64_t(int rank, int call)> late = [](int, int) { return 0; };       // so late it begins what is timed

    explicit job(int n) : ranks(static_cast<size_t>(n)) {}

    void call(const call_class &c, unsigned candidates, const times &time)
    {
        const int number = static_cast<int>(served.size());
        std::vector<tuner::service> how;
        for (tuner &t : ranks)
            how.push_back(t.begin(c, [&](const std::optional<manner> &standing) {
                auto all = ladder(candidates);
                served_before = standing;
                for (auto &x : all)
                    x.predicted_ns /= quicker, x.words_ns = words_ns, x.exchange_ns = exchange_ns;
                for (size_t k = 1; k < all.size(); ++k)
                    all[k].opening_ns = opening_ns;
                all[0].least_ns = least_ns;
                return all;
            }, known));
        for (const auto &h : how)
            if (h.how != how[0].how || h.trial != how[0].trial)
                wrong = "ranks serve a call in different ways";
        const unsigned k = how[0].how ? how[0].how->links - 1 : 0;
        served.push_back(k);
        trials.push_back(how[0].trial);
        if (!how[0].trial)
            return;
        std::set<bool> instead;
        for (tuner &t : ranks)
            instead.insert(t.clock_instead(clock_old));
        if (instead.size() != 1 || (instead.contains(true) && how[0].trial != WAN_TRIAL_TIMED))
            wrong = "ranks have word of the clock in different calls";
        if (instead.contains(true)) {
            trials.back() = WAN_TRIAL_CLOCK;
            clock_old = always_old;
        }
        std::vector<bool> due;
        for (size_t r = 0; r < ranks.size(); ++r)
            due.push_back(ranks[r].record(time(static_cast<int>(r), k, number), trials.back() == WAN_TRIAL_TIMED ? late(static_cast<int>(r), number) : 0));
        if (std::set<bool>(due.begin(), due.end()).size() != 1)
            wrong = "ranks combine at different calls";
        if (due[0] != (how[0].trial == WAN_TRIAL_SCORES))
            wrong = "ranks combine in another call";
        if (!due[0])
            return;
        ++exchanges;
        tune_scores all = ranks[0].scores();
        for (tuner &t : ranks) {
            const tune_scores mine = t.scores();
            for (size_t i = 0; i < all.size(); ++i)
                all[i] = std::max(all[i], mine[i]);
        }
        std::set<bool> changed;
        for (tuner &t : ranks)
            changed.insert(t.decide(all, epoch + 1));
        if (changed.size() != 1)
            wrong = "ranks decide differently";
        epoch += changed.contains(true);
    }
    void calls(const call_class &c, int n, unsigned candidates, const times &time)
    {
        for (int i = 0; i < n; ++i)
            call(c, candidates, time);
    }
    unsigned timed(unsigned candidate) const
    {
        unsigned n = 0;
        for (size_t i = 0; i < served.size(); ++i)
            n += trials[i] == WAN_TRIAL_TIMED && served[i] == candidate;
        return n;
    }
    unsigned tried() const { return static_cast<unsigned>(std::count(trials.begin(), trials.end(), WAN_TRIAL_TIMED)); }
};

inline const call_class allreduce{.collective = WAN_ALLREDUCE, .size = 11}, bcast{.collective = WAN_BCAST, .size = 11};

} // namespace wan_test

#endif
