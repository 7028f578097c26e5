/*
 * Choice by trial: ranks with made-up times, which differ from what was predicted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "matrix.hpp"
#include "planned.hpp"
#include "tune/common_clock.hpp"
#include "tune/explain.hpp"
#include "unit.hpp"

#include <bit>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

namespace {

using namespace wan;
using namespace wan_test;

constexpr int64_t ms = 1'000'000;

manner made_up(unsigned k)
{
    manner m;
    m.algo = algorithms()[0];
    m.links = k + 1;
    return m;
}

/** So many candidates, each predicted to be slower than the one before. */
std::vector<tuner::candidate> ladder(unsigned n)
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

const call_class allreduce{.collective = WAN_ALLREDUCE, .size = 11}, bcast{.collective = WAN_BCAST, .size = 11};

/** The best is found where the model says otherwise, within few calls; each far slower one costs one. */
std::string check_finds()
{
    for (unsigned best = 0; best < 4; ++best)
        for (unsigned bad = 0; bad < 4; ++bad) {
            if (bad == best)
                continue;
            job j(5);
            j.opening_ns = 5 * ms;
            j.calls(allreduce, 40, 4, [&](int rank, unsigned k, int) { return (k == best ? 10 : k == bad ? 60 : 12) * ms + rank * 1000; });
            WAN_CHECK_THAT(j.wrong.empty(), j.wrong);
            WAN_CHECK_THAT(j.served.back() == best && j.served[20] == best, "kept " + std::to_string(j.served.back()));
            WAN_CHECK(j.served[0] == 0 && j.served[1] == 0 && !j.trials[1] && j.trials[2]);        // nothing is tried for who calls twice
            WAN_CHECK_THAT(j.timed(bad) == (bad == 0 ? 2 : 1) && (bad == 0 || std::count(j.served.begin(), j.served.end(), bad) == 1),  // what serves: beside the quicker one
                           std::to_string(bad) + " was called again");
            // That are timed: all, those that opened connections once more, but for the slow one, then what looks quicker, and what served.
            WAN_CHECK(j.tried() == 4 + (bad ? 2u : 3u) + (best ? 2u : 0u));
            WAN_CHECK(j.epoch == (best ? 1u : 0u));
            // A call has one thing beside it: word of the clock before the first that is timed, scores after them.
            WAN_CHECK(std::find(j.trials.begin(), j.trials.end(), WAN_TRIAL_TIMED) == std::find(j.trials.begin(), j.trials.end(), WAN_TRIAL_CLOCK) + 1);
            WAN_CHECK(std::count(j.trials.begin(), j.trials.end(), WAN_TRIAL_CLOCK) == 1);
            for (size_t i = 1; i < j.trials.size(); ++i)
                WAN_CHECK(j.trials[i - 1] != WAN_TRIAL_TIMED || j.trials[i] == WAN_TRIAL_TIMED || j.trials[i] == WAN_TRIAL_SCORES);
        }
    return "";
}

/** Word of the clock is there before a call is timed, however long ago the last one was; who calls so seldom that it is old at once is timed all the same. */
std::string check_old_clock()
{
    job j(3);
    j.always_old = true;
    j.opening_ns = 5 * ms;
    for (tuner &t : j.ranks)
        t.limit(5);
    j.words_ns = 5 * ms, j.exchange_ns = 10 * ms;
    j.calls(allreduce, 2000, 3, [](int, unsigned k, int) { return (k == 2 ? 8 : 10) * ms; });
    WAN_CHECK_THAT(j.wrong.empty() && j.served.back() == 2 && j.tried() == 5, j.wrong + std::to_string(j.tried()) + " tried");
    for (size_t i = 1; i < j.trials.size(); ++i)
        WAN_CHECK((j.trials[i] == WAN_TRIAL_TIMED) == (j.trials[i - 1] == WAN_TRIAL_CLOCK));
    // What serves does so meanwhile.
    for (size_t i = 0; i < j.trials.size(); ++i)
        WAN_CHECK(j.trials[i] != WAN_TRIAL_CLOCK || i > 30);
    return "";
}

/**
 * A rank that begins a call late says so, and all wait longer: not for good, nor for longer than a word takes. What began too late says
 * nothing of the way, and is called once more.
 */
std::string check_late()
{
    job j(3);
    j.words_ns = 40 * ms;
    std::vector<int64_t> waited;        // by call that is timed
    int64_t needs_ns = 5 * ms;
    j.late = [&](int rank, int) {
        if (rank == 0)
            waited.push_back(j.ranks[0].late_ns());
        return rank == 1 ? std::max<int64_t>(0, needs_ns - j.ranks[1].late_ns()) : 0;
    };
    const auto time = [&](int, unsigned k, int) { return (k == 1 ? 8 : 10) * ms + (j.ranks[0].late_ns() < needs_ns ? 30 * ms : 0); };
    j.calls(allreduce, 30, 2, time);
    WAN_CHECK_THAT(j.wrong.empty() && j.served.back() == 1, j.wrong);
    // Both once more, with that wait; then again, both.
    WAN_CHECK_THAT(waited == (std::vector<int64_t>{0, 0, 5 * ms, 5 * ms, 5 * ms, 5 * ms}), std::to_string(waited.size()) + " timed");
    // With those of another kind of calls, for half as long; what is needed then is that and what was missing.
    needs_ns = 8 * ms;
    j.calls(bcast, 30, 2, time);
    WAN_CHECK_THAT(j.wrong.empty() && j.ranks[0].late_ns() == 8 * ms && j.tried() == 12, std::to_string(j.ranks[0].late_ns()));
    needs_ns = ms;
    call_class larger = bcast;
    ++larger.size;
    j.calls(larger, 30, 2, time);
    WAN_CHECK(j.wrong.empty() && j.ranks[0].late_ns() == 4 * ms && j.tried() == 16);
    const auto &x = j.ranks[0].classes()[0];
    WAN_CHECK_THAT(x.candidates[0].measured_ns == 10 * ms && x.candidates[1].measured_ns == 8 * ms, std::to_string(x.candidates[1].measured_ns));
    // Where it is late each time nothing is known, and nothing changes; nobody waits for ever longer.
    job never(3);
    never.words_ns = 40 * ms;
    int64_t most = 0;
    never.late = [&](int rank, int) { return most = std::max(most, never.ranks[0].late_ns()), rank == 2 ? 1000 * ms : 0; };
    never.calls(allreduce, 40, 2, [](int, unsigned k, int) { return (k == 1 ? 8 : 10) * ms; });
    WAN_CHECK_THAT(never.wrong.empty() && never.served.back() == 0 && never.tried() == 4 && most == 40 * ms && never.ranks[1].late_ns() == most, std::to_string(never.tried()) + " tried");
    WAN_CHECK(never.ranks[0].classes()[0].phase == tuner::state::phase::settled && never.epoch == 0);
    // Also where that is so of what serves alone, from the beginning or when it is tried again.
    for (const unsigned good : {0u, 1u}) {
        job one(3);
        one.words_ns = 40 * ms;
        one.late = [&](int rank, int) { return rank == 2 && one.served.back() == 0 && one.timed(0) > good ? 1000 * ms : 0; };
        one.calls(allreduce, 40, 2, [](int, unsigned k, int) { return (k == 1 ? 8 : 10) * ms; });
        WAN_CHECK_THAT(one.wrong.empty() && one.served.back() == 0 && one.epoch == 0 && one.timed(0) == 2 + good, std::to_string(good) + ": " + std::to_string(one.timed(0)));
    }
    // Each round once more, if it has to be.
    job rounds(3);
    rounds.opening_ns = 5 * ms;
    unsigned begun = 0;
    rounds.late = [&](int rank, int) { return begun += rank == 0, rank == 2 && (begun == 1 || begun == 4 || begun == 6) ? 1000 * ms : 0; };
    rounds.calls(allreduce, 40, 2, [](int, unsigned k, int) { return (k == 1 ? 8 : 10) * ms; });
    WAN_CHECK_THAT(rounds.wrong.empty() && rounds.served.back() == 1 && begun == 8, std::to_string(begun) + " timed");
    WAN_CHECK_THAT(rounds.ranks[1].classes()[0].candidates[0].late == 2 && rounds.ranks[0].classes()[0].candidates[1].late == 1, "how often that was");
    // What waking takes is nobody's fault; and where calls take less than that, ranks wait for those that have no processor just now.
    for (const int64_t late_ns : {int64_t{10'000}, int64_t{11'000}, 5 * ms}) {
        job quick(3);
        quick.quicker = 100;
        quick.words_ns = 20'000;
        quick.late = [&](int rank, int) { return rank == 1 ? late_ns : 0; };
        quick.calls(allreduce, 40, 2, [](int, unsigned k, int) { return k == 1 ? 80'000 : 100'000; });
        WAN_CHECK_THAT(quick.wrong.empty() && quick.tried() == 4 && quick.served.back() == (late_ns == 10'000), std::to_string(late_ns));
        WAN_CHECK_THAT(quick.ranks[0].late_ns() == (late_ns == 10'000 ? 0 : std::min(2 * late_ns, ms)), std::to_string(quick.ranks[0].late_ns()));
    }
    // One that is late by less than what counts is no reason for either.
    job little(3);
    little.words_ns = 40 * ms;
    little.late = [](int rank, int) { return rank == 1 ? ms / 7 : 0; };
    little.calls(allreduce, 30, 2, [](int, unsigned k, int) { return (k == 1 ? 8 : 10) * ms; });
    WAN_CHECK(little.served.back() == 1 && little.tried() == 4 && little.ranks[0].late_ns() == 0);
    // Over other links all begins anew, also where a round was being made once more.
    job others(3);
    others.words_ns = 40 * ms;
    others.late = [&](int rank, int) { return rank == 1 && others.epoch == 0 && others.tried() < 3 ? 1000 * ms : 0; };
    for (int i = 0; i < 40 && others.tried() < 3; ++i)
        others.call(allreduce, 2, [](int, unsigned, int) { return 10 * ms; });
    WAN_CHECK(others.ranks[0].late_ns() == 40 * ms);
    for (tuner &t : others.ranks)
        t.forget(2);
    WAN_CHECK(others.ranks[0].late_ns() == 0);
    const unsigned before = others.tried();
    others.late = [&](int rank, int) { return rank == 1 && others.tried() <= before + 2 ? 1000 * ms : 0; };
    others.calls(allreduce, 40, 2, [](int, unsigned k, int) { return (k == 1 ? 8 : 10) * ms; });
    WAN_CHECK_THAT(others.served.back() == 1 && others.tried() == before + 6, std::to_string(others.tried() - before) + " tried");
    // Of what serves nothing is known: what opened connections is called again all the same.
    job unknown(3);
    unknown.opening_ns = 5 * ms;
    unknown.late = [&](int rank, int) { return rank == 1 && unknown.served.back() == 0 ? 1000 * ms : 0; };
    unknown.calls(allreduce, 40, 2, [](int, unsigned, int) { return 10 * ms; });
    WAN_CHECK(unknown.served.back() == 0 && unknown.timed(0) == 2 && unknown.ranks[0].classes()[0].candidates[1].measured_ns == 10 * ms);
    return "";
}

/** What is not 3% faster is not changed for; what takes long at first, since it connects, is not thrown away, but for what takes far longer. */
std::string check_careful()
{
    job same(3);
    same.calls(allreduce, 40, 3, [](int, unsigned k, int) { return 10 * ms - k * ms / 10; });
    WAN_CHECK(same.served.back() == 0 && same.epoch == 0);
    for (const int64_t opened : {60, 61}) {
        job cold(3);
        cold.opening_ns = 40 * ms;
        bool first = true;
        cold.calls(allreduce, 40, 3, [&](int, unsigned k, int) { return (k == 2 ? std::exchange(first, false) ? opened : 8 : 10) * ms; });
        WAN_CHECK_THAT(cold.served.back() == (opened == 60 ? 2 : 0), "a first call that connects");
        WAN_CHECK((std::count(cold.served.begin(), cold.served.end(), 2) == 1) == (opened == 61));
        WAN_CHECK(cold.ranks[0].classes()[0].candidates[2].opened_ns == opened * ms);
    }
    return "";
}

/** However often links change, and calls seem to: so many times trials begin. */
std::string check_starts()
{
    for (const bool links : {true, false}) {
        job j(2);
        j.opening_ns = ms;
        const auto time = [](int, unsigned k, int) { return (k == 1 ? 9 : 10) * ms; };
        const unsigned others = tune_options{}.others();
        for (tuner &t : j.ranks)
            t.limit(100, 3);
        std::vector<unsigned> tried;
        for (int change = 0; change < 10; ++change) {
            // Sometimes before trials have ended.
            j.calls(allreduce, links && change == 1 ? 5 : 250, others + 1, time);
            tried.push_back(j.tried());
            j.epoch += links;
            for (tuner &t : j.ranks)
                links ? t.forget(j.epoch) : t.reopen();
        }
        const tuner::state &x = j.ranks[0].classes()[0];
        WAN_CHECK(j.wrong.empty() && x.starts == tuner::most_starts && tried[0] > 0 && tried[3] > tried[2]);
        WAN_CHECK_THAT(tried[3] == tried[9], std::to_string(tried[9] - tried[3]) + " more trials");
        unsigned of_others = 0;
        for (size_t i = 0; i < j.served.size(); ++i)
            of_others += j.trials[i] == WAN_TRIAL_TIMED && j.served[i] != 0;
        WAN_CHECK(of_others <= tuner::most_starts * (3 + others));
        // After links have changed the model's choice serves, else what was chosen last.
        WAN_CHECK(j.served.back() == (links ? 0u : 1u) && (links ? x.candidates.size() == 1 : x.candidates.size() == 3));
    }
    return "";
}

/** Noise by which a call may take twice as long. */
std::string check_noise()
{
    unsigned found = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        const unsigned best = seed % 4;
        job j(6);
        j.opening_ns = 5 * ms;
        j.calls(bcast, 40, 4, [&](int rank, unsigned k, int call) {     // the slowest rank's time counts, which may be any
            std::mt19937_64 random(seed * 1000 + static_cast<uint64_t>(call));
            return (k == best ? 10 : 13) * ms * static_cast<int64_t>(random() % 10 == 0 ? 2 : 1) / (rank == call % 6 ? 1 : 4);
        });
        WAN_CHECK_THAT(j.wrong.empty(), j.wrong);
        found += j.served.back() == best;
    }
    WAN_CHECK_THAT(found > 300, std::to_string(found) + " of 400");
    return "";
}

/** After each call, trials have added no more than their share as predicted; in the end all the same is tried. */
std::string check_share()
{
    for (const bool always_old : {false, true}) {
        for (unsigned percent : {1, 5, 30, 100}) {
            job j(3);
            j.always_old = always_old;
            for (tuner &t : j.ranks)
                t.limit(percent);
            j.words_ns = 20 * ms;
            j.exchange_ns = 30 * ms;
            j.opening_ns = 4 * ms;
            int64_t added = 0;
            std::set<unsigned> opened{0};
            size_t settled = 0;
            for (size_t call = 0; call < 6000; ++call) {
                j.call(allreduce, 3, [](int, unsigned k, int) { return (k == 2 ? 9 : 10) * ms; });
                const bool timed = j.trials[call] == WAN_TRIAL_TIMED;
                added += j.trials[call] == WAN_TRIAL_CLOCK ? j.words_ns + j.exchange_ns : j.trials[call] == WAN_TRIAL_SCORES ? j.exchange_ns : 0;
                added += (timed || j.trials[call] == WAN_TRIAL_CLOCK) && opened.insert(j.served[call]).second ? j.opening_ns : 0;
                added += j.served[call] * ms * (call < 2 || settled ? 0 : 1) + (timed ? 20 * ms : 0);
                WAN_CHECK_THAT(percent == 100 || 100 * added <= static_cast<int64_t>(percent * (call + 1)) * 10 * ms,
                               std::to_string(percent) + "%: " + std::to_string(added) + " after " + std::to_string(call));
                if (!settled && j.epoch == 1)
                    settled = call;
            }
            WAN_CHECK_THAT(j.wrong.empty() && j.served.back() == 2 && j.tried() == (always_old ? 5 : 7), std::to_string(percent) + "%: " + j.wrong);
            if (always_old)
                continue;
            // What is tried adds 296 ms to calls of 10 ms, and the last one may have had word of the clock as well.
            const size_t soonest = percent == 100 ? 12 : 31 * 100 / percent;
            WAN_CHECK_THAT(settled >= soonest && settled <= soonest + soonest / 10 + 2, std::to_string(percent) + "%: settled after " + std::to_string(settled));
        }
    }
    // Who calls a dozen times pays nothing.
    job few(2);
    for (tuner &t : few.ranks)
        t.limit(5);
    few.words_ns = 20 * ms;
    few.calls(allreduce, 12, 3, [](int, unsigned, int) { return 10 * ms; });
    WAN_CHECK(few.tried() == 0);
    return "";
}

/** Where the model's choice takes no longer than anything must nothing is timed, whenever ranks come; where it does, it and the others are. */
std::string check_least()
{
    enum class ranks { together, late_by_turns, one_slow, nobody_waits, one_waits_once };
    for (const bool as_predicted : {true, false})
        for (const ranks come : {ranks::together, ranks::late_by_turns, ranks::one_slow, ranks::nobody_waits, ranks::one_waits_once}) {
            job j(3);
            j.least_ns = 10 * ms;
            j.opening_ns = 5 * ms;
            bool waited = false;
            j.calls(allreduce, 40, 3, [&](int rank, unsigned k, int call) {
                if (j.trials.back() == WAN_TRIAL_WATCHED && (come == ranks::nobody_waits || (come == ranks::one_waits_once && (rank != 1 || std::exchange(waited, true)))))
                    return int64_t{0};
                const bool waits = j.trials.back() != WAN_TRIAL_TIMED && (come == ranks::late_by_turns ? call % 3 != rank : come == ranks::one_slow && rank == 1);
                return (k == 2 ? 10 * ms : as_predicted ? 10 * ms + ms / 5 : 12 * ms) + (waits ? 7 * ms : 0);
            });
            // (Who has waited each time may have to.)
            const bool quick = as_predicted && (come == ranks::together || come == ranks::late_by_turns);
            WAN_CHECK_THAT(j.wrong.empty(), j.wrong);
            WAN_CHECK_THAT(j.served.back() == (as_predicted ? 0u : 2u), std::to_string(j.served.back()) + " serves");
            WAN_CHECK_THAT(j.tried() == (quick ? 0u : as_predicted ? 5u : 7u), std::to_string(j.tried()) + " tried");
            WAN_CHECK(std::count(j.trials.begin(), j.trials.end(), WAN_TRIAL_WATCHED) == 8);
            const auto &x = j.ranks[0].classes()[0];
            WAN_CHECK(x.phase == tuner::state::phase::settled && x.candidates[0].measured_ns < 13 * ms && j.ranks[0].chosen(allreduce, 9) == (as_predicted ? std::nullopt : std::optional(made_up(2))));
        }
    return "";
}

/** What a rank waits for, at least: in calls with a root for that one, or it for the farthest of them. */
std::string check_waits()
{
    const topology t = topology::blocks(std::vector<int>{2, 2, 2});
    facts f = facts_of(t);
    f.set_pair(f.pair_ns, 0, 1, 50 * ms);
    f.set_pair(f.pair_ns, 0, 2, 100 * ms);
    f.set_pair(f.pair_ns, 1, 2, 120 * ms);
    const auto waits = [&](wan_collective_t c, int root, int rank) { return waits_ns(t, f, {.collective = c, .root = root, .bytes = 8}, rank) / ms; };
    for (const auto c : {WAN_BCAST, WAN_SCATTER})
        WAN_CHECK(waits(c, 1, 4) == 100 && waits(c, 1, 3) == 50 && waits(c, 1, 0) == 100 && waits(c, 3, 5) == 120);
    for (const auto c : {WAN_REDUCE, WAN_GATHER})
        WAN_CHECK(waits(c, 1, 1) == 100 && waits(c, 1, 5) == 100 && waits(c, 2, 2) == 120);
    for (const auto c : {WAN_ALLREDUCE, WAN_BARRIER, WAN_SCAN})
        WAN_CHECK(waits(c, 0, 0) == 100 && waits(c, 0, 2) == 120 && waits(c, 0, 4) == 120);
    return "";
}

/** No more calls of other ways are timed than was said, and what looks quicker once only is not kept where it may be tried again. */
std::string check_limit()
{
    for (unsigned trials = 1; trials <= tuner::most_trials; ++trials)
        for (unsigned flukes = 0; flukes <= 1; ++flukes) {
            const unsigned others = tune_options{.trials = trials}.others();
            job j(3);
            for (tuner &t : j.ranks)
                t.limit(100, trials);
            std::vector<unsigned> timed(8);
            // The last one takes half as long; or did, the first time that counts.
            j.calls(allreduce, 60, others + 1, [&](int rank, unsigned k, int) {
                timed[k] += rank == 0 && j.trials.back() == WAN_TRIAL_TIMED;
                return (k < others || (flukes && timed[k] > 1) ? 10 : 5) * ms;
            });
            const auto of_others = static_cast<unsigned>(std::accumulate(timed.begin() + 1, timed.end(), 0u));
            const std::string name = std::to_string(trials) + (flukes ? ", a fluke" : "");
            WAN_CHECK_THAT(j.wrong.empty() && of_others == trials && timed[0] == std::min(trials, 2u), name + ": " + std::to_string(of_others) + " timed");
            WAN_CHECK_THAT(j.served.back() == (flukes && trials > 1 ? 0 : others), name + ": " + std::to_string(j.served.back()) + " serves");
            WAN_CHECK(j.ranks[0].classes()[0].phase == tuner::state::phase::settled);
        }
    return "";
}

/** Calls of other epochs get what was chosen then; classes are apart. */
std::string check_epochs()
{
    job j(2);
    const auto time = [](int, unsigned k, int) { return (k == 1 ? 5 : 10) * ms; };
    j.calls(allreduce, 40, 2, time);
    const tuner &t = j.ranks[0];
    WAN_CHECK(j.epoch == 1 && !t.chosen(allreduce, 0) && t.chosen(allreduce, 1) == made_up(1) && t.chosen(allreduce, 9) == made_up(1));
    WAN_CHECK(!t.chosen(bcast, 9));
    call_class larger = allreduce;
    ++larger.size;
    WAN_CHECK(!t.chosen(larger, 9));
    // Links change: all begins again, but for calls of before.
    for (tuner &r : j.ranks)
        r.forget(2);
    j.epoch = 2;
    WAN_CHECK(t.chosen(allreduce, 1) == made_up(1) && !t.chosen(allreduce, 2));
    // Nothing that was measured over other links is told as if it served, or held.
    const auto &forgotten = t.classes()[0];
    WAN_CHECK(forgotten.standing == 0 && forgotten.candidates.size() == 2);
    for (const auto &x : forgotten.candidates)
        WAN_CHECK(!x.measured_ns && !x.first_ns && !x.again_ns);
    j.calls(allreduce, 40, 2, [](int, unsigned k, int) { return (k == 1 ? 20 : 10) * ms; });
    WAN_CHECK(j.served.back() == 0 && !t.chosen(allreduce, 99) && t.chosen(allreduce, 1) == made_up(1));
    // Something else has changed: what was chosen serves until other trials have ended.
    job k(2);
    k.calls(allreduce, 40, 3, time);
    for (tuner &r : k.ranks)
        r.reopen();
    const unsigned tried = k.tried();
    k.calls(allreduce, 200, 3, [](int, unsigned c, int) { return (c == 2 ? 5 : 10) * ms; });
    WAN_CHECK(k.tried() == tried && k.served.back() == 1);     // too soon
    for (tuner &r : k.ranks)
        r.reopen();
    const size_t before = k.served.size();
    k.calls(allreduce, 40, 3, [](int, unsigned c, int) { return (c == 2 ? 5 : 10) * ms; });
    WAN_CHECK(k.served[before] == 1 && k.served.back() == 2 && k.wrong.empty());
    return "";
}

/** Where Open MPI's own module is the fastest, calls that do not block get the best of ours. */
std::string check_own()
{
    const auto make = [](const std::optional<manner> &) {
        auto all = ladder(3);
        all[1].how = manner{};
        return all;
    };
    tuner t;
    std::optional<manner> last;
    for (int call = 0; call < 40; ++call) {
        const auto s = t.begin(allreduce, make);
        last = s.how;
        if (s.trial && t.record((s.how && !s.how->algo ? 5 : s.how == made_up(2) ? 8 : 10) * ms))
            t.decide(t.scores(), 1);
    }
    WAN_CHECK(last && !last->algo);
    for (int call = 0; call < 64; ++call) {
        const auto s = t.begin(allreduce, make);
        WAN_CHECK(s.how && !s.how->algo && !s.trial);       // all: what it takes is seen, too
    }
    WAN_CHECK(t.chosen(allreduce, 1) == made_up(2));
    return "";
}

/** What is known from elsewhere serves, and is tried when calls take longer over the same links, as what was chosen here is. */
std::string check_known()
{
    for (const unsigned best : {0u, 1u, 2u}) {
        const auto time = [&](int, unsigned k, int) { return (k == best ? 5 : 10) * ms; };
        const auto last = [&](const job &j) { return j.ranks[0].chosen(allreduce, 99, j.known); };
        job j(3);
        j.opening_ns = ms;
        j.known = made_up(2);
        j.calls(allreduce, 199, 3, time);
        const auto reopen = [&] {
            for (tuner &t : j.ranks)
                t.reopen();
        };
        reopen();               // too soon
        j.calls(allreduce, 20, 3, time);
        WAN_CHECK(j.tried() == 0 && j.epoch == 0 && std::count(j.served.begin(), j.served.end(), 2) == 219 && last(j) == j.known);
        WAN_CHECK(!j.ranks[0].doubted(allreduce) && j.ranks[0].chosen(bcast, 0, j.known) == j.known);
        reopen();
        j.words_ns = 100 * ms;
        for (tuner &t : j.ranks)
            t.limit(10);        // not all of these calls are trials
        const size_t before = j.served.size();
        j.calls(allreduce, 600, 3, time);
        unsigned served_between = 0;
        size_t end = j.trials.size(), call = before;
        while (!j.trials[end - 1])
            --end;
        for (; call < end; ++call)
            served_between += !j.trials[call] && j.served[call] == 2;
        WAN_CHECK(j.wrong.empty() && j.tried() > 3 && served_between > 3 && j.served_before == made_up(2));
        for (; call < j.served.size(); ++call)
            WAN_CHECK_THAT(j.served[call] == best && !j.trials[call], std::to_string(best) + ": " + std::to_string(j.served[call]) + " serves");
        WAN_CHECK(j.ranks[0].classes()[0].standing == best && j.ranks[0].doubted(allreduce));
        // Calls that do not block: of before as before, then as decided, also where that is as the model chooses.
        WAN_CHECK(j.epoch == (best == 2 ? 0u : 1u) && j.ranks[0].chosen(allreduce, 0, j.known) == j.known);
        WAN_CHECK(last(j) == (best == 0 ? std::nullopt : std::optional(made_up(best))));
        // As often as any.
        for (int change = 0; change < 10; ++change) {
            reopen();
            j.calls(allreduce, 250, 3, time);
        }
        WAN_CHECK(j.ranks[0].classes()[0].starts == tuner::most_starts && j.wrong.empty());
    }
    // More was learned of the same links: it holds.  They are others: the caller knows nothing any more, and all begins.
    job j(2);
    const auto time = [](int, unsigned k, int) { return (k == 1 ? 5 : 10) * ms; };
    j.known = made_up(2);
    j.calls(allreduce, 30, 3, time);
    const auto forget = [&] {
        ++j.epoch;
        for (tuner &t : j.ranks)
            t.forget(j.epoch);
    };
    forget();
    j.calls(allreduce, 30, 3, time);
    WAN_CHECK(j.tried() == 0 && j.served.back() == 2 && j.ranks[0].chosen(allreduce, 99, j.known) == j.known);
    forget();
    j.known = std::nullopt;
    j.call(allreduce, 3, time);
    WAN_CHECK(j.served.back() == 0);
    j.calls(allreduce, 30, 3, time);
    WAN_CHECK(j.served.back() == 1 && j.tried() > 2 && j.wrong.empty() && !j.ranks[0].chosen(allreduce, j.epoch - 1));
    // Of half a class: the rest is tried, and what is known serves the calls that it is about.
    job half(2);
    const auto some = [&](int n) {
        for (int i = 0; i < n; ++i) {
            half.known = i % 2 ? std::nullopt : std::optional(made_up(2));
            half.call(allreduce, 3, time);
            const bool other = half.known && half.served.back() != 2;
            if (other)
                half.wrong = "what is known does not serve";
        }
    };
    some(80);
    WAN_CHECK_THAT(half.wrong.empty() && half.tried() > 2, half.wrong);
    WAN_CHECK(half.served.back() == 1 && half.ranks[0].chosen(allreduce, 99, made_up(2)) == made_up(2) && half.ranks[0].chosen(allreduce, 99) == made_up(1));
    // Of more classes than are kept.
    job many(2);
    many.known = made_up(2);
    for (unsigned size = 0; size < 70; ++size)
        many.calls({.collective = WAN_BCAST, .size = size}, 3, 3, time);
    WAN_CHECK(many.wrong.empty() && std::count(many.served.begin(), many.served.end(), 2) == 210);
    return "";
}

/**
 * What an earlier job learned serves from the first call on, and the model's choice never has, when it comes to trials: its first call
 * opens connections as any other's does, and that does not count as its time.
 */
std::string check_doubted()
{
    const topology t = two_sites(16);
    const facts f = facts_of(t);
    unsigned near_the_way = 0;
    for (const uint64_t bytes : {uint64_t{8}, uint64_t{1} << 20}) {
        const request r{.collective = WAN_ALLREDUCE, .bytes = bytes};
        const tune_options o{.trials = 3, .excess_percent = 1000};
        const auto usual = candidates_for(t, f, {}, r, o);
        const manner first = usual[0].how;
        const auto other = std::find_if(usual.begin(), usual.end(), [&](const auto &x) { return x.how.algo && x.how.algo != first.algo; });
        WAN_CHECK(other != usual.end());
        near_the_way += usual[0].least_ns > 0;
        const manner known = other->how;
        const int64_t opening_ns = 4 * f.widest_ns();
        manner longer = first;
        longer.cuts = 2;
        WAN_CHECK(usual[0].opening_ns == 0 && candidates_for(t, f, {}, r, o, known)[0].opening_ns == opening_ns);
        WAN_CHECK(candidates_for(t, f, {}, r, o, manner{})[0].opening_ns == opening_ns);        // Open MPI's own module has others
        for (const manner &same : {first, longer})
            WAN_CHECK(candidates_for(t, f, {}, r, o, same)[0].opening_ns == 0);
        for (const bool better : {true, false}) {
            tuner tune;
            std::vector<manner> open{known};
            std::optional<manner> last;
            unsigned of_first = 0;
            for (int call = 0; call < 260; ++call) {
                if (call == 210)
                    tune.reopen();
                const auto s = tune.begin(class_of(t, r), [&](const auto &standing) { return candidates_for(t, f, {}, r, o, standing); }, known);
                last = s.how;
                WAN_CHECK_THAT(call >= 210 || s.how == known, "another way than what is known, before it is doubted");
                manner as = s.how.value_or(first);
                as.cuts = 0;
                const bool opens = std::find(open.begin(), open.end(), as) == open.end();
                if (opens)
                    open.push_back(as);
                of_first += s.trial == WAN_TRIAL_TIMED && s.how == first;
                // A way as fast as any, one that takes a fifth longer, and others, that take twice as long.
                const int64_t least_ns = 11 * f.widest_ns() / 10, ns = (as == first) == better ? least_ns : as == first || as == known ? 6 * least_ns / 5 : 2 * least_ns;
                if (s.trial && tune.record((as == known && !better ? least_ns : ns) + (opens ? opening_ns : 0)))
                    tune.decide(tune.scores(), 1);
            }
            const std::string name = std::to_string(bytes) + (better ? " bytes, better" : " bytes, worse");
            const auto &x = tune.classes()[0];
            WAN_CHECK_THAT(x.phase == tuner::state::phase::settled && (!last || last == first) == better && (last == known) != better,
                           name + ": " + print(last.value_or(manner{})) + " serves");
            WAN_CHECK_THAT(of_first >= 2 && x.candidates[0].opened_ns > opening_ns && x.candidates[0].measured_ns > 0 && x.candidates[0].measured_ns < opening_ns,
                           name + ": " + std::to_string(x.candidates[0].measured_ns) + " ns");
        }
    }
    WAN_CHECK(near_the_way == 1);
    // Of ours one that was far slower at first is not measured; another one of ours serves what does not block, beside Open MPI's own.
    tuner tune;
    const manner own{};
    for (int call = 0; call < 260; ++call) {
        if (call == 210)
            tune.reopen();
        const auto s = tune.begin(allreduce, [&](const auto &) {
            auto all = ladder(3);
            all[0].opening_ns = all[1].opening_ns = ms;
            all[2].how = own;
            return all;
        }, own);
        if (s.trial && tune.record((*s.how == own ? 5 : *s.how == made_up(1) ? 8 : 100) * ms))
            tune.decide(tune.scores(), 1);
    }
    WAN_CHECK(tune.classes()[0].phase == tuner::state::phase::settled && tune.classes()[0].candidates[0].measured_ns == 0);
    WAN_CHECK(tune.chosen(allreduce, 1, own) == made_up(1));
    return "";
}

/** What people are told: both times of what was called twice over, why a quicker one is not chosen, what was dropped, and why nothing was tried. */
std::string check_explained()
{
    const topology t = two_sites(16);
    const facts f = facts_of(t);
    const request r{.collective = WAN_ALLREDUCE, .bytes = 1500};
    const auto all = candidates(t, f, {}, r);
    const auto told = [&](const tuner::state *state, unsigned trials, calls_told c) {
        c.what = allreduce;
        c.ways = all;
        c.tried = state;
        return explain({c}, {.trials = trials}, 0);
    };
    const auto has = [](const std::string &text, std::initializer_list<const char *> lines) -> std::string {
        for (const char *words : lines)
            WAN_CHECK_THAT(text.find(words) != std::string::npos, text + " does not have " + words);
        return "";
    };
    job j(2);
    std::optional<int> once;
    j.calls(allreduce, 60, 2, [&](int, unsigned k, int call) {
        if (k == 0)
            return 10 * ms;
        once = once.value_or(call);
        return call == *once ? 5 * ms : 20 * ms;
    });
    const tuner::state state = j.ranks[0].classes()[0];
    calls_told c{.blocking = 60, .others = 3, .how = print(made_up(0)), .how_predicted_ns = 10 * ms, .why = "the fastest of 2 ways that were tried"};
    if (std::string why = has(told(&state, 3, c), {"\nallreduce, 1024 to 2047 bytes: 60 blocking calls, 3 that do not block\n  * tree links 1 ",
                              ", measured    10.00 ms (2.00 of the best), of 10.00 ms and then 10.00 ms, 2 calls  (the model's choice)\n",
                              ", measured     5.00 ms (1.00 of the best), of 5.00 ms and then 20.00 ms, 2 calls\n",
                              "\n  chosen: the fastest of 2 ways that were tried\n  a quickest time that is not chosen: it is less than 3% shorter, or was not so both times\n",
                              "\n  regret, estimated: 5.00 ms a call, 100.0% (by what was measured)\n"}); !why.empty())
        return why;
    // Calls inside a host take microseconds, and that is told, too.
    job near(2);
    near.calls(allreduce, 60, 2, [](int, unsigned k, int) { return k == 0 ? 4200 : 2100; });
    if (std::string why = has(told(&near.ranks[0].classes()[0], 3, c), {"measured   0.0042 ms (2.00 of the best)", "measured   0.0021 ms (1.00 of the best)"}); !why.empty())
        return why;
    job slow(2);
    slow.opening_ns = ms;
    slow.calls(allreduce, 60, 2, [](int, unsigned k, int) { return (k == 0 ? 10 : 80) * ms; });
    if (std::string why = has(told(&slow.ranks[0].classes()[0], 3, c), {", not called again: its first call took 80.00 ms, 1 call\n", "regret, estimated: 0.00 ms a call, 0.0% (by what was measured)\n"}); !why.empty())
        return why;
    // Of what was not tried: all of it, with each algorithm's best, and why.
    const plan &first = all[0];
    c = {.blocking = 2, .how = print(manner_of(first)), .how_predicted_ns = first.predicted_ns};
    std::set<std::string> ways, algorithms;
    for (const plan &p : all)
        ways.insert(print(manner_of(p))), algorithms.insert(p.algo->name);
    const std::string text = told(nullptr, 0, c), others = "\n  not tried: " + std::to_string(ways.size() - 1) + " other ways; predicted, the best of each other algorithm: ";
    if (std::string why = has(text, {"\n  * ", others.c_str(), "\n  chosen: predicted to be the fastest; nothing was tried: coll_wan_tune_trials is 0\n",
                                     "\n  regret, estimated: 0.00 ms a call, 0.0% (as predicted)\n"}); !why.empty())
        return why;
    for (const std::string &name : algorithms)
        WAN_CHECK_THAT((text.find(" " + name + " ") != std::string::npos), text + " does not have " + name);
    WAN_CHECK(algorithms.size() > 2);
    job few(2);
    few.calls(allreduce, 2, 2, [](int, unsigned, int) { return ms; });
    job one(2);
    one.calls(allreduce, 30, 1, [](int, unsigned, int) { return ms; });
    calls_told local = c, flying = c, ruled = c, unused = c;
    unused.unused = "what was learned was not used: all of it";
    local.sizes_local = true;
    flying.blocking = 0, flying.others = 4;
    calls_told single = c;
    single.blocking = single.others = 1;
    ruled.why = "coll_wan_rules says so";
    ruled.how_predicted_ns = 2 * first.predicted_ns;
    for (const auto &[said, words] : {std::pair{told(&few.ranks[0].classes()[0], 3, c), "; nothing was tried: trials begin with the third blocking call of a kind, once links are measured\n"},
                                      {told(&one.ranks[0].classes()[0], 3, c), "; nothing was tried: nothing else is predicted to come near\n"},
                                      {told(nullptr, 3, local), "; nothing was tried: where not all ranks know the sizes, nothing is\n"},
                                      {told(nullptr, 3, local), "allreduce, sizes that not all ranks know: 2 blocking calls\n"},
                                      {told(nullptr, 3, flying), "allreduce, 1024 to 2047 bytes: 4 that do not block\n"},
                                      {told(nullptr, 3, single), "allreduce, 1024 to 2047 bytes: 1 blocking call, 1 that does not block\n"},
                                      {told(nullptr, 3, flying), "; nothing was tried: only calls that block are\n"},
                                      {told(nullptr, 3, unused), " of calls\n  what was learned was not used: all of it\n  regret, estimated: "},
                                      {told(nullptr, 3, ruled), "\n  chosen: coll_wan_rules says so\n  regret, estimated: "},
                                      {told(nullptr, 3, ruled), " 100.0% (as predicted)\n"},
                                      {told(nullptr, 3, c), "; nothing was tried: links were not measured, or there are more than 64 kinds of calls\n"}})
        WAN_CHECK_THAT(said.find(words) != std::string::npos, said + " does not have " + words);
    WAN_CHECK(explain({}, {}, 0) == "no calls" && explain({c}, {}, 7).ends_with("calls of other kinds, of which nothing is told: 7\n"));
    return "";
}

/** More classes than are kept: the later ones are as the model chooses, on all ranks. */
std::string check_many()
{
    job j(2);
    for (unsigned size = 0; size < 40; ++size)
        for (uint32_t site = 0; site < 3; ++site)
            j.calls({.collective = WAN_BCAST, .root_site = site, .size = size}, 30, 2, [](int, unsigned k, int) { return (k ? 5 : 10) * ms; });
    WAN_CHECK_THAT(j.wrong.empty(), j.wrong);
    WAN_CHECK(j.ranks[0].classes().size() == 64 && j.served.back() == 0 && j.served[29] == 1);
    // One candidate: nothing is tried.
    job one(2);
    one.calls(allreduce, 30, 1, [](int, unsigned, int) { return ms; });
    WAN_CHECK(one.tried() == 0);
    return "";
}

/** What is tried on a network: the model's choice first, then what is predicted to be the fastest, nothing beyond the excess. */
std::string check_candidates()
{
    const topology blocks = two_sites(16), mixed = lay_out({16, 16}, placement::roundrobin, 1, 1);
    const facts f = facts_of(blocks);
    // A link that a few hosts fill: of what is as fast, the model takes what fewest send.
    facts narrow = f;
    narrow.set_pair(narrow.link_ps, 0, 1, f.byte_ps / 2);
    unsigned several = 0, not_first = 0, recut = 0, parameters_first = 0;
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        for (uint64_t bytes = 8; bytes <= 8 << 20; bytes *= 8) {
            const request r{.collective = collective_at(c), .bytes = bytes};
            const auto usual = choose(blocks, narrow, {}, r);
            const auto found = candidates_for(blocks, narrow, {}, r, {});
            WAN_CHECK_THAT(!found.empty() && found[0].how == manner_of(*usual) && found[0].predicted_ns == usual->predicted_ns,
                           kind_of(r.collective).name + std::string(" of ") + std::to_string(bytes) + ": first is " + print(found[0].how) + ", the model takes " + print(*usual));
            not_first += !(manner_of(candidates(blocks, narrow, {}, r)[0]) == manner_of(*usual));
        }
    WAN_CHECK_THAT(not_first > 5, std::to_string(not_first));
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        for (uint64_t bytes : {8, 1024, 65536, 1 << 18, 1 << 20}) {
            request r{.collective = collective_at(c), .bytes = bytes};
            const tune_options o{.trials = 3, .excess_percent = 40};
            const auto found = candidates_for(blocks, f, {}, r, o);
            const auto all = candidates(blocks, f, {}, r);
            const std::string name = kind_of(r.collective).name + std::string(" ") + std::to_string(bytes);
            WAN_CHECK_THAT(!found.empty() && found.size() <= 3 && found[0].how == manner_of(all[0]), name);
            several += found.size() > 1;
            // By prediction, of each algorithm one before any has two: none that is predicted to be slower takes a faster one's place.
            WAN_CHECK_THAT(found.size() < 3 || found[1].predicted_ns <= found[2].predicted_ns || found[1].how.algo == found[2].how.algo, name + ": not by prediction");
            for (const plan &p : all)
                if (found.size() == 3 && p.predicted_ns < found[2].predicted_ns && 10 * all[0].predicted_ns > 13 * f.widest_ns() && !(manner_of(p) == found[0].how))
                    WAN_CHECK_THAT(p.algo == found[1].how.algo || p.algo == found[2].how.algo, name + ": not " + print(p) + ", but " + print(found[2].how));
            parameters_first += found.size() == 3 && found[1].how.algo == all[0].algo && found[2].how.algo != all[0].algo;
            for (const auto &x : found) {
                WAN_CHECK_THAT(x.predicted_ns <= all[0].predicted_ns * 14 / 10 + 100, name + ": " + print(x.how));
                WAN_CHECK_THAT(x.how.algo || bytes < 8192, name + ": Open MPI's own");
                if (x.how.algo) {
                    const auto p = choose(blocks, f, {}, r, x.how);
                    manner chosen = manner_of(*p);
                    chosen.cuts = x.how.cuts;
                    WAN_CHECK_THAT(p && chosen == x.how, name + ": " + print(x.how));
                    // Other segments than the model's: a quarter, or four times as long, of its own way.
                    if (x.how.cuts) {
                        const uint64_t longer = std::max(p->segment_bytes, all[0].segment_bytes), shorter = std::min(p->segment_bytes, all[0].segment_bytes);
                        WAN_CHECK_THAT(manner_of(*p) == found[0].how && std::abs(x.how.cuts) == 2 && longer >= 3 * shorter && longer <= 5 * shorter
                                           && (x.how.cuts > 0) == (shorter == p->segment_bytes) && x.predicted_ns == p->predicted_ns,
                                       name + ": " + print(x.how) + " is " + print(*p));
                        ++recut;
                    }
                    // Half as long or twice: as long as the algorithm serves.
                    for (uint64_t other : {bytes / 2 + 1, 2 * bytes - 1}) {
                        request q = r;
                        q.bytes = other;
                        const auto same = choose(blocks, f, {}, q, x.how);
                        if (!x.how.algo->serves(blocks, q))
                            continue;
                        WAN_CHECK_THAT(same && same->algo == x.how.algo, name + " of " + std::to_string(other));
                    }
                }
            }
            // What serves is tried, too, in place of the last one.
            for (const plan &p : {all.front(), all.back()}) {
                const auto beside = candidates_for(blocks, f, {}, r, o, manner_of(p));
                WAN_CHECK_THAT(beside.size() <= 3 && beside[0].how == found[0].how && std::any_of(beside.begin(), beside.end(), [&](const auto &x) { return x.how == manner_of(p); }),
                               name + ": not " + print(p));
            }
            wishes stable;
            stable.stable = true;
            if (kind_of(r.collective).operation)
                for (const auto &x : candidates_for(blocks, f, stable, r, {.trials = 7, .excess_percent = 1000})) {
                    const auto p = x.how.algo ? choose(blocks, f, stable, r, x.how) : std::nullopt;
                    WAN_CHECK_THAT(p && p->grouping == choose(blocks, f, stable, r)->grouping, name + ", stable: " + print(x.how));
                }
            WAN_CHECK(candidates_for(blocks, f, {}, r, {.trials = 0, .excess_percent = 1000}).size() == 1);
        }
    WAN_CHECK_THAT(several >= 20, "several candidates in " + std::to_string(several));
    WAN_CHECK_THAT(parameters_first >= 5, "parameters before algorithms in " + std::to_string(parameters_first));
    WAN_CHECK_THAT(recut >= 5, "other segments in " + std::to_string(recut));
    // What a class's first call lets Open MPI's own module serve, all of it may be served by.
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        for (uint64_t bytes = 1; bytes <= 1 << 16; bytes *= 2) {
            const request first{.collective = collective_at(c), .bytes = bytes}, last{.collective = collective_at(c), .bytes = 2 * bytes - 1};
            WAN_CHECK(class_of(blocks, first) == class_of(blocks, last));
            const bool most = own_module_ns(blocks, f, last).has_value();
            WAN_CHECK_THAT(own_module_ns(blocks, f, first).has_value() == most && (!most || 2 * bytes - 1 <= (c == WAN_BCAST ? 1024u : 8192u)),
                           kind_of(collective_at(c)).name + std::string(" of ") + std::to_string(bytes));
        }
    // Ranks in blocks: a binomial tree crosses once; hosts of the sites by turns: in each step.
    const request small{.collective = WAN_BCAST, .bytes = 8};
    const auto once = own_module_ns(blocks, f, small), often = own_module_ns(mixed, f, small);
    WAN_CHECK(once && *once < 2 * f.wan_ns && often && *often >= f.wan_ns);
    request scan = small;
    scan.collective = WAN_SCAN;
    WAN_CHECK(*own_module_ns(blocks, f, scan) == f.wan_ns + 30 * f.lan_ns && *own_module_ns(mixed, f, scan) == 31 * f.wan_ns);
    return "";
}

/** Within a manner that leaves parameters open, as the model chooses: of what is as fast, what waits least for late looks, or what fewest send. */
std::string check_within()
{
    const topology t = two_sites(16);
    facts narrow = facts_of(t);
    narrow.set_pair(narrow.link_ps, 0, 1, narrow.byte_ps / 2);
    unsigned not_fastest = 0;
    for (const facts &f : {facts_of(t), narrow})
        for (const bool polled : {false, true})
            for (int c = 0; c < WAN_COLLECTIVES; ++c)
                for (uint64_t bytes = 8; bytes <= 8 << 20; bytes *= 8) {
                    request r{.collective = collective_at(c), .bytes = bytes};
                    r.polled = polled;
                    const auto usual = choose(t, f, {}, r);
                    WAN_CHECK(usual);
                    wishes named;
                    named.algo = usual->algo;
                    const auto by_name = choose(t, f, named, r), within = choose(t, f, {}, r, {.algo = usual->algo});
                    const std::string name = kind_of(r.collective).name + std::string(polled ? ", polled, of " : " of ") + std::to_string(bytes);
                    WAN_CHECK_THAT(by_name && within && print(*by_name) == print(*within) && by_name->window == within->window, name + ": " + print(*within));
                    not_fastest += within->predicted_ns > candidates(t, f, named, r)[0].predicted_ns;
                }
    WAN_CHECK_THAT(not_fastest >= 20, std::to_string(not_fastest));
    return "";
}

/** What was learned on another network: what is far slower here by prediction, and nothing that could have been learned here. */
std::string check_misfits()
{
    // Eight sites of a rank each: Open MPI's own module takes three ways one after the other, ours one.
    const topology eight = topology::blocks(std::vector<int>(8, 1));
    const facts far = facts_of(eight);
    const request small{.collective = WAN_ALLREDUCE, .bytes = 8};
    const int64_t least_ns = candidates(eight, far, {}, small)[0].predicted_ns, own_ns = *own_module_ns(eight, far, small);
    WAN_CHECK(own_ns == 3 * far.wan_ns && least_ns < 12 * far.wan_ns / 10);
    const auto own = misfit_of(eight, far, {}, small, {}, {});
    WAN_CHECK(own && own->predicted_ns == own_ns && own->bytes >= 8 && own->bytes < 16 && own->least_ns >= least_ns && own->least_ns < 12 * far.wan_ns / 10);
    // As far as trials may go, and no farther.
    const auto within = static_cast<unsigned>((own_ns - least_ns + least_ns / 100 - 1) / (least_ns / 100));
    for (const unsigned excess : {0u, 50u, within - 3, within + 3, 1000u})
        WAN_CHECK_THAT(misfit_of(eight, far, {}, small, {.excess_percent = excess}, {}).has_value() == (excess < within), std::to_string(excess));
    // Where its steps lead elsewhere they take as long as ours: one pair is far apart.
    facts one_far = far;
    for (int a = 0; a < 8; ++a)
        for (int b = 0; b < a; ++b)
            one_far.set_pair(one_far.pair_ns, a, b, a == 1 && b == 0 ? far.wan_ns : far.wan_ns / 100);
    WAN_CHECK(!misfit_of(eight, one_far, {}, small, {}, {}));
    // No telling: too long for Open MPI's own module to be predicted, an algorithm that does not serve, adaptive trees.
    WAN_CHECK(!misfit_of(eight, far, {}, {.collective = WAN_ALLREDUCE, .bytes = 1 << 20}, {.excess_percent = 0}, {}));
    WAN_CHECK(!misfit_of(eight, far, {}, small, {.excess_percent = 0}, {.along_trees = true}));
    const topology two = two_sites(16), mixed = lay_out({5, 7, 4}, placement::roundrobin, 2, 1);
    unsigned none = 0;
    const request scan{.collective = WAN_SCAN, .bytes = 8};
    for (const algorithm *a : algorithms())
        if (a->collective == WAN_SCAN && !a->serves(mixed, scan)) {
            ++none;
            WAN_CHECK(!misfit_of(mixed, facts_of(mixed), {}, scan, {.excess_percent = 0}, {.algo = a}));
        }
    WAN_CHECK(none > 0);

    // What trials of some call of a class could choose counts for all of them; what is far slower for all of them, for none.
    unsigned could = 0, of_others = 0, dropped = 0;
    for (const topology *t : {&eight, &two, &mixed})
        for (const facts &f : {facts_of(*t), lab_facts(*t)})
            for (int c = 0; c < WAN_COLLECTIVES; ++c)
                for (uint64_t unit : {4, 96, 1000, 1 << 14, 1 << 18}) {
                    const tune_options o{.trials = 7, .excess_percent = 40};
                    const auto of = [&](uint64_t bytes) { return request{.collective = collective_at(c), .bytes = bytes}; };
                    const auto ranks = static_cast<uint64_t>(kind_of(collective_at(c)).blocks ? t->size() : 1);
                    const uint64_t least = std::bit_floor(unit * ranks), first = (least + ranks - 1) / ranks * ranks, last = (2 * least - 1) / ranks * ranks;
                    const std::string name = std::string(kind_of(collective_at(c)).name) + " " + std::to_string(unit) + " x " + std::to_string(ranks);
                    for (const uint64_t tried : {first, last})
                        for (const auto &x : candidates_for(*t, f, {}, of(tried), o))
                            for (const uint64_t bytes : {first, unit * ranks, last}) {
                                request r = of(bytes);
                                r.element_bytes = bytes % 8 ? 1 : 8;
                                r.polled = bytes == last;
                                WAN_CHECK_THAT(!misfit_of(*t, f, {}, r, o, x.how), name + ": " + print(x.how) + " of " + std::to_string(tried) + ", as told of " + std::to_string(bytes));
                                const auto as = x.how.algo ? choose(*t, f, {}, r, x.how) : std::nullopt;
                                of_others += as && as->predicted_ns > candidates(*t, f, {}, r)[0].predicted_ns * 14 / 10 + 100;
                                ++could;
                            }
                    const plan slowest = candidates(*t, f, {}, of(unit * ranks)).back();
                    // The same for all calls of the class.
                    std::set<std::tuple<uint64_t, int64_t, int64_t>> told;
                    for (const uint64_t bytes : {first, unit * ranks, last})
                        for (const bool polled : {false, true}) {
                            request r = of(bytes);
                            r.element_bytes = polled ? 8 : 1;
                            r.polled = polled;
                            const auto found = misfit_of(*t, f, {}, r, {.excess_percent = 0}, manner_of(slowest));
                            told.insert(found ? std::tuple(found->bytes, found->predicted_ns, found->least_ns) : std::tuple(uint64_t{0}, int64_t{0}, int64_t{0}));
                            dropped += found.has_value();
                        }
                    WAN_CHECK_THAT(told.size() == 1, name + ": " + print(manner_of(slowest)));
                }
    WAN_CHECK_THAT(could > 1000 && of_others > 0 && dropped > 100, std::to_string(could) + " could, " + std::to_string(of_others) + " of others, " + std::to_string(dropped) + " dropped");
    return "";
}

/** Words that come late do not make a clock wrong, as long as one of those that come at once did not; nor do clocks that go apart slowly, however
 *  long nobody had told. */
std::string check_clock()
{
    std::mt19937_64 random(test_seed());
    for (const int64_t apart_ns : {int64_t{0}, -3600 * 1000 * ms, 86'400 * 1000 * ms})
        for (const int64_t pause_ns : {2000 * ms, 600'000 * ms}) {
            common_clock c;
            int64_t now_ns = 0;
            for (int word = 0; word < 200; ++word) {
                now_ns += static_cast<int64_t>(random() % static_cast<uint64_t>(pause_ns));
                const int on_time = static_cast<int>(random() % common_clock::words);
                const auto drift_ns = [&] { return now_ns / 50'000; };      // 20 us a second
                for (int i = 0; i < common_clock::words; ++i) {
                    const int64_t late_ns = i == on_time ? 0 : static_cast<int64_t>(random() % 500) * ms;
                    c.heard(now_ns, now_ns + apart_ns + drift_ns() + 10 * ms + late_ns, 10 * ms);
                    now_ns += ms / 100;
                }
                const int64_t here_ns = now_ns + apart_ns + drift_ns(), off_ns = now_ns - c.common_ns(here_ns);
                WAN_CHECK_THAT(std::abs(off_ns) <= 60 * 1000, std::to_string(off_ns) + " ns off");
                WAN_CHECK(c.here_ns(c.common_ns(here_ns)) == here_ns);
            }
        }
    // Over other ways.
    common_clock c;
    c.heard(0, 10 * ms, 10 * ms);
    c.forget();
    c.heard(1000 * ms, 1050 * ms, 40 * ms);
    WAN_CHECK(c.common_ns(1010 * ms) == 1000 * ms);
    WAN_CHECK(common_clock{}.common_ns(7) == 7);        // rank 0's
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(wan_test::test<check_finds>), cmocka_unit_test(wan_test::test<check_careful>),
                                cmocka_unit_test(wan_test::test<check_starts>), cmocka_unit_test(wan_test::test<check_noise>), cmocka_unit_test(wan_test::test<check_epochs>),
                                cmocka_unit_test(wan_test::test<check_share>), cmocka_unit_test(wan_test::test<check_old_clock>), cmocka_unit_test(wan_test::test<check_late>), cmocka_unit_test(wan_test::test<check_least>), cmocka_unit_test(wan_test::test<check_waits>),
                                cmocka_unit_test(wan_test::test<check_limit>), cmocka_unit_test(wan_test::test<check_own>), cmocka_unit_test(wan_test::test<check_known>), cmocka_unit_test(wan_test::test<check_doubted>), cmocka_unit_test(wan_test::test<check_explained>), cmocka_unit_test(wan_test::test<check_many>),
                                cmocka_unit_test(wan_test::test<check_candidates>), cmocka_unit_test(wan_test::test<check_within>), cmocka_unit_test(wan_test::test<check_misfits>), cmocka_unit_test(wan_test::test<check_clock>)};
    return cmocka_run_group_tests_name("tuner", tests, nullptr, nullptr);
}
