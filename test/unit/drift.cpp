/*
 * When links are measured again: what ranks see of collectives, put together at
 * calls that all of them count alike.  Times are made up; late processes and
 * noise must not be taken for links that changed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/deferral.hpp"
#include "measure/drift.hpp"
#include "unit.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

namespace {

using namespace wan;

constexpr int64_t ms = 1'000'000, second = 1000 * ms;

constexpr int64_t one_way = 10 * ms;

/** Ranks of a job whose calls take what `time(rank, call)` says. */
struct job {
    using times = std::function<int64_t(int rank, int call)>;
    struct rank {
        drift seen;
        drift_checks checks;
        int64_t now = 0;
    };
    std::vector<rank> ranks;
    int kinds = 1;              // of calls, by turns
    int64_t between = 0;        // of computing, from call to call
    int64_t cost = 12 * ms;
    std::string wrong;
    int checks = 0;

    job(int n, int64_t interval) { ranks.assign(static_cast<size_t>(n), {{}, drift_checks(interval)}); }

    /** Runs calls [from, to); at which call they wanted to measure again, -1: not.  *at_ns: when. */
    int run(int from, int to, const times &time, int64_t *at_ns = nullptr)
    {
        for (int call = from; call < to; ++call) {
            std::vector<drift_votes> votes;
            for (auto &r : ranks)
                if (r.checks.due(r.now, cost))
                    votes.push_back(r.checks.votes(r.seen.look(one_way, r.checks.whole())));
            if (!votes.empty() && votes.size() != ranks.size()) {
                wrong = "ranks ask at different calls";
                return -2;
            }
            if (!votes.empty()) {
                ++checks;
                drift_votes all = votes[0];
                for (const auto &v : votes)
                    for (size_t i = 0; i < all.size(); ++i)
                        all[i] = std::min(all[i], v[i]);
                std::vector<bool> answers;
                for (auto &r : ranks) {
                    answers.push_back(r.checks.answer(all));
                    r.now += cost;
                }
                if (std::count(answers.begin(), answers.end(), answers[0]) != static_cast<long>(answers.size())) {
                    wrong = "ranks come to different answers";
                    return -2;
                }
                if (answers[0]) {
                    if (at_ns)
                        *at_ns = ranks[0].now;
                    return call;
                }
            }
            for (size_t r = 0; r < ranks.size(); ++r) {
                const int64_t t = time(static_cast<int>(r), call);
                ranks[r].seen.record(static_cast<uint64_t>(call % kinds), t);
                ranks[r].now += t + between;
            }
        }
        return -1;
    }
    void looked(bool changed)
    {
        for (auto &r : ranks) {
            r.seen.forget();
            r.checks.looked(changed);
        }
    }
};

std::string check_steady()
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        job j(6, second);
        // Up to three times as long now and then; mostly as ever.
        const int at = j.run(0, 20000, [&](int, int) { return 11 * ms + static_cast<int64_t>(random() % (random() % 4 ? 1 : 22)) * ms; });
        WAN_CHECK_THAT(at == -1, j.wrong + " noise, seed " + std::to_string(seed) + " at call " + std::to_string(at));
        // 1% of the time at most, once it knows how long calls take.
        const double asking = static_cast<double>(j.checks) * 12e6 / static_cast<double>(j.ranks[0].now);
        WAN_CHECK_THAT(asking < 0.011 && j.checks > 20, std::to_string(asking) + " of the time is asking, " + std::to_string(j.checks) + " times");
    }
    return "";
}

std::string check_changes()
{
    for (const double factor : {1.6, 2.2, 3.0, 10.0, 0.6, 0.3})
        for (const int64_t between : {int64_t{0}, 30 * ms}) {
            job j(5, second);
            j.between = between;
            const int warm = 2000;
            WAN_CHECK_THAT(j.run(0, warm, [](int, int) { return 12 * ms; }) == -1, "nothing has changed");
            const int64_t changed = j.ranks[0].now;
            int64_t noticed = 0;
            const int at = j.run(warm, 3 * warm, [&](int, int) { return static_cast<int64_t>(12e6 * factor); }, &noticed);
            const std::string what = std::to_string(factor) + " times: noticed at call " + std::to_string(at) + " after "
                                     + std::to_string((noticed - changed) / ms) + " ms";
            WAN_CHECK_THAT(j.wrong.empty() && at > warm, j.wrong + what);
            // Two periods: the one in which it happens may have calls as before.
            WAN_CHECK_THAT(static_cast<double>(noticed - changed) < 2 * 1.4e9 * std::max(1.0, factor), what);
            j.looked(true);
            WAN_CHECK_THAT(j.run(at, at + 4000, [&](int, int) { return static_cast<int64_t>(12e6 * factor); }) == -1, "the new links are usual now");
        }
    return "";
}

/**
 * A link that carries a third, or three times as much, at the same distance, whenever in a period that happens: seen by calls of which transfers
 * take enough of the time, half more or a third less in all.  Others are nearly as long as before, and say nothing.  Ranks ask after so many calls, not after
 * a time, which they do not share: where a period, 1.3 s by what asking costs here, was to be of calls that take three times as long now, it is three
 * times as long.  So what is wider is seen within three seconds, what is narrower within that two times in three, and within four and two calls in all.
 */
std::string check_bandwidth()
{
    constexpr int64_t by_default = 50 * ms, period = 110 * 12 * ms;     // one call in that time asks: share of drift.cpp, and cost
    int64_t slowest_ns[2] = {};
    int seen = 0, soon = 0;
    for (const bool wider : {false, true})
        for (const double part : {0.1, 0.2, 0.3, 0.55, 0.7, 0.95})      // of transfers, before
            for (const double usual_ms : {12.0, 40.0, 120.0})
                for (int phase = 0; phase < 40; ++phase) {
                    job j(5, by_default);
                    const double factor = 1 - part + part * (wider ? 1.0 / 3 : 3);
                    const auto usual = static_cast<int64_t>(usual_ms * 1e6);
                    const int warm = static_cast<int>(20e3 / usual_ms) + phase * std::max(1, static_cast<int>(1000 / usual_ms / 40)), later = static_cast<int>(8e3 / usual_ms / factor);
                    std::mt19937_64 random(static_cast<uint64_t>(phase));
                    const auto takes = [&](double times) { return static_cast<int64_t>(static_cast<double>(usual) * times * (0.95 + 0.1 * static_cast<double>(random() % 1000) / 1000)); };
                    WAN_CHECK_THAT(j.run(0, warm, [&](int, int) { return takes(1); }) == -1, "nothing has changed");
                    const int64_t changed = j.ranks[0].now;
                    int64_t noticed = changed;
                    const int at = j.run(warm, warm + later, [&](int, int) { return takes(factor); }, &noticed);
                    const std::string what = std::string(wider ? "wider" : "narrower") + ", transfers " + std::to_string(part) + " of " + std::to_string(usual_ms) + " ms, phase "
                                             + std::to_string(phase) + ": call " + std::to_string(at - warm) + ", after " + std::to_string((noticed - changed) / ms) + " ms";
                    WAN_CHECK_THAT(j.wrong.empty() && (at >= warm) == (factor > 1.55 || factor < 0.64), j.wrong + what);
                    // Half a period does not tell yet; the next one is planned by what calls took in it, before and after.
                    const double periods = std::max(1.0, 0.5 + 2 / (1 + factor)) * period, most = std::max(1.0, factor) * 1.06 * (periods + 2.0 * static_cast<double>(usual));
                    WAN_CHECK_THAT(static_cast<double>(noticed - changed) <= most, what);
                    WAN_CHECK_THAT(!wider || noticed - changed <= 3 * second, what);
                    seen += at >= warm && !wider;
                    soon += at >= warm && !wider && noticed - changed <= 3 * second;
                    slowest_ns[wider] = std::max(slowest_ns[wider], noticed - changed);
                }
    std::printf("a third of the bandwidth is seen within %.2f s, %d of %d times within 3 s, three times of it within %.2f s\n", static_cast<double>(slowest_ns[0]) / 1e9, soon, seen,
                static_cast<double>(slowest_ns[1]) / 1e9);
    WAN_CHECK_THAT(2 * soon >= seen, "mostly late");
    return "";
}

std::string check_late_processes()
{
    // Rank 2 always comes last, and sees no change: the others do.
    job j(5, second);
    const auto last = [](int rank, int call) { return rank == 2 ? ms : call < 1000 ? 12 * ms : 52 * ms; };
    WAN_CHECK_THAT(j.run(0, 1000, last) == -1 && j.run(1000, 6000, last) > 0, j.wrong + " who never waits hides a change");
    // Who came after the others' messages in the first calls, and waits as all do later, has seen no link change.
    job c(5, second);
    const auto soon = [](int rank, int call) { return rank == 2 && call < 300 ? ms / 2 : 12 * ms; };
    WAN_CHECK_THAT(c.run(0, 4000, soon) == -1 && c.checks > 20, c.wrong + " a process that was late at first is taken for slow links");
    WAN_CHECK_THAT(c.run(4000, 8000, [](int, int) { return 30 * ms; }) > 0, c.wrong + " and afterwards hides slow links");
    // Who comes late in one call of five, with nearly nothing to wait for, does not make the links fast.
    job f(5, second);
    const auto now_and_then = [](int rank, int call) { return call > 500 && call % 5 == rank ? 2 * ms : 12 * ms; };
    WAN_CHECK_THAT(f.run(0, 8000, now_and_then) == -1, f.wrong + " late processes are taken for fast links");
    // Who was always late and is later still has not seen faster links.
    job l(5, second);
    WAN_CHECK_THAT(l.run(0, 8000, [](int rank, int call) { return rank != 2 ? 12 * ms : call < 1000 ? 8 * ms : 2 * ms; }) == -1, l.wrong + " later still");
    // Connections that get up to speed in the first calls are no links that became faster.
    job g(5, second);
    WAN_CHECK_THAT(g.run(0, 4000, [](int, int call) { return call < 10 ? 40 * ms : 12 * ms; }) == -1, g.wrong + " cold connections are taken for links that became faster");
    // What first calls took, before they make half an interval, is compared with nothing.
    job e(5, 10 * second);
    WAN_CHECK_THAT(e.run(0, 4000, [](int, int call) { return call < 30 ? 12 * ms : 40 * ms; }) == -1, e.wrong + " a handful of calls is taken for a period");
    // Sites that come nearer than the way was: calls of one passage.
    job h(5, second);
    WAN_CHECK_THAT(h.run(0, 8000, [](int rank, int call) { return rank == 2 ? ms : call < 1000 ? 11 * ms : 3 * ms; }) > 0, h.wrong + " not noticed that sites are nearer");
    // Where calls take longer now and then and it is not the links, ranks look in vain, and then more seldom.
    job b(5, second);
    int measured = 0, call = 0;
    while ((call = b.run(call, 20000, [](int rank, int c) { return c % 2000 < 1000 || rank == 2 ? 12 * ms : 112 * ms; })) >= 0) {
        b.looked(false);
        ++measured;
    }
    WAN_CHECK_THAT(b.wrong.empty() && measured >= 1 && measured <= 12, b.wrong + " measured in vain " + std::to_string(measured) + " times");
    return "";
}

/** Two sites, 10 ms apart, in calls of one passage: who enters when makes the times of both. */
std::string check_skew()
{
    for (const int64_t skew : {int64_t{0}, 3 * ms, 6 * ms, 9 * ms})
        for (const bool farther : {false, true}) {
            std::mt19937_64 random(static_cast<uint64_t>(skew) + 1);
            job j(2, second);
            int64_t at[2] = {0, skew}, took[2] = {0, 0};
            const auto time = [&](int rank, int call) {
                const int64_t way = farther && call >= 3000 ? 25 * ms : one_way;
                // Now and then a call of another kind between, so that it is not always the same ones that are short.
                for (int calls = rank == 0 ? 1 + (random() % 50 == 0) : 0; calls > 0; --calls) {
                    const int64_t left[2] = {std::max(at[0], at[1] + way), std::max(at[1], at[0] + way)};
                    for (const int r : {0, 1})
                        took[r] = left[r] - std::exchange(at[r], left[r]);
                }
                return took[rank];
            };
            const int looked = j.run(0, 9000, time);
            WAN_CHECK_THAT(j.wrong.empty() && j.checks > 20 && (looked >= 3000) == farther && (farther || looked == -1),
                           j.wrong + " sites that enter " + std::to_string(skew / ms) + " ms apart: looked at call " + std::to_string(looked));
        }
    return "";
}

/** Long computing, then a burst of calls: every other check has seen too little. */
std::string check_bursts()
{
    job j(4, second);
    int64_t usual = 12 * ms;
    const auto time = [&](int, int call) {
        if (call % 20 == 0)
            for (auto &r : j.ranks)
                r.now += call % 20 == 0 ? 10 * second / static_cast<int64_t>(j.ranks.size()) : 0;
        return usual;
    };
    WAN_CHECK_THAT(j.run(0, 2000, time) == -1 && j.checks > 20, j.wrong + " nothing has changed");
    j.looked(false);
    WAN_CHECK_THAT(j.run(2000, 4000, time) == -1, j.wrong + " nothing has changed");
    usual = 36 * ms;
    WAN_CHECK_THAT(j.run(4000, 8000, time) > 0, j.wrong + " not noticed after a vain look");
    return "";
}

std::string check_kinds()
{
    // Only long messages take longer: the others do not hide it, nor a kind with too few calls.
    drift d;
    const auto period = [&](int64_t longer) {
        for (int i = 0; i < 5; ++i) {
            d.record(1, 12 * ms);
            d.record(2, longer);
        }
        d.record(4, 2 * longer);
        return d.look(one_way, true);
    };
    WAN_CHECK(period(100 * ms).slower == 1000);
    const drift::seen same = period(100 * ms), slow = period(300 * ms), fast = period(40 * ms);
    WAN_CHECK(same.slower == 1000 && same.faster == 1000);
    WAN_CHECK(slow.slower == 3000 && slow.faster == 1000);
    WAN_CHECK(fast.slower == 1000 && fast.faster == 400);
    // A period without calls enough says what the one before said.
    d.record(2, 40 * ms);
    WAN_CHECK(d.look(one_way, true).faster == 400);
    d.forget();
    WAN_CHECK(period(900 * ms).slower == 1000 && period(900 * ms).slower == 1000);
    drift_checks never(0);
    for (int i = 0; i < 1000; ++i)
        WAN_CHECK(!never.due(i * second, ms));
    return "";
}

/** Ever other sizes of long calls: in a period, few of each. */
std::string check_many_kinds()
{
    for (const int kinds : {2, 12}) {
        job j(4, second);
        j.kinds = kinds;
        const auto steady = [](int, int) { return 300 * ms; };
        WAN_CHECK_THAT(j.run(0, 400, steady) == -1, "nothing has changed");
        const int vain = j.run(400, 800, [](int, int) { return 700 * ms; });
        WAN_CHECK_THAT(vain > 0, std::to_string(kinds) + " kinds: not noticed");
        j.looked(false);
        WAN_CHECK_THAT(j.run(vain, vain + 400, steady) < vain + 400, "");
        j.looked(false);
        const int again = j.run(vain + 400, vain + 800, [](int, int) { return 700 * ms; });
        const int once_more = again > 0 ? again : j.run(vain + 800, vain + 1600, [](int, int) { return 1500 * ms; });
        WAN_CHECK_THAT(once_more > 0, std::to_string(kinds) + " kinds: not noticed after a vain look");
    }
    return "";
}

/** One long call that is disturbed now and then, of four or more in a period, is no link that changed. */
std::string check_hiccups()
{
    for (const int64_t usual : {60 * ms, 110 * ms, 250 * ms, 700 * ms})
        for (const int apart : {9, 13, 30}) {
            job j(4, second / 2);
            j.cost = ms;
            const auto disturbed = [&](int, int call) { return call % apart == 4 ? 5 * usual / 2 : usual; };
            const int at = j.run(0, 3000, disturbed);
            WAN_CHECK_THAT(at == -1, j.wrong + std::to_string(usual / ms) + " ms, one of " + std::to_string(apart) + " disturbed: noticed at call " + std::to_string(at));
            WAN_CHECK_THAT(j.run(3000, 3100, [&](int, int) { return 3 * usual; }) > 0, std::to_string(usual / ms) + " ms: three times as long is not noticed");
        }
    return "";
}

/** Who looks in vain again and again looks ever less often: the longer a look takes, the less. */
std::string check_patience()
{
    const auto questions_until_look = [](int64_t look_ns) {
        drift_checks c(second);
        for (int vain = 0; vain < 30; ++vain)
            c.looked(false, look_ns);
        int n = 0;
        for (int64_t now = 0; n < 100'000; now += second)
            if (c.due(now, ms)) {
                ++n;
                if (c.answer({-3000, 1000, -4 * second}))
                    break;
            }
        return n;
    };
    const int brief = questions_until_look(ms), lengthy = questions_until_look(10 * second);
    WAN_CHECK_THAT(brief == 64, std::to_string(brief) + " questions before another look");
    WAN_CHECK_THAT(lengthy >= 1000, std::to_string(lengthy) + " questions of a second before another look of 10 s");
    return "";
}

/** A rank that is disturbed once after each quiet while, and looks in vain each time: that takes a hundredth of the time, too. */
std::string check_quiet()
{
    for (const int64_t interval : {50 * ms, second / 2})
        for (const int64_t look : {20 * ms, 200 * ms, second, 4 * second})
            for (const int quiet : {60, 128, 500}) {
                drift_checks c(interval);
                int64_t now = 0, looking = 0;
                int looks = 0, since = 0;
                while (now < 3600 * second) {
                    now += interval / 5;
                    if (!c.due(now, ms / 100))
                        continue;
                    const bool tells = ++since > quiet && c.whole();
                    if (c.answer(c.votes({tells ? 2000 : 1000, 1000}))) {
                        c.looked(false, look);
                        now += look;
                        looking += look;
                        ++looks;
                    }
                    if (tells)
                        since = 0;
                }
                const double share = static_cast<double>(looking) / static_cast<double>(now);
                WAN_CHECK_THAT(share < 0.013, std::to_string(share) + " of the time is " + std::to_string(looks) + " looks of " + std::to_string(look / ms)
                                                  + " ms, " + std::to_string(quiet) + " quiet checks apart, every " + std::to_string(interval / ms) + " ms");
            }
    return "";
}

/** Calls until measuring is affordable; what they took on the rank that waits longest; -1 where ranks disagree. */
struct deferred_job {
    int calls = 0, questions = 0;
    int64_t took_ns = 0;
};
using call_bytes = std::function<uint64_t(int call)>;
deferred_job defer(int ranks, int64_t share, int64_t cost, int64_t before, const job::times &time, const call_bytes &bytes = {}, int64_t way = 0,
                   const std::function<bool(int call)> &crosses_once = {})
{
    std::vector<deferral> all(static_cast<size_t>(ranks), deferral(share));
    std::vector<int64_t> sums(all.size(), before);
    deferred_job made;
    for (auto &d : all)
        d.begin(cost, before, way);
    while (!all[0].over() && made.calls < 100'000) {
        deferral::words votes{};
        size_t asked = 0;
        for (auto &d : all)
            if (d.due(bytes ? bytes(made.calls) : 0)) {
                votes = {std::min(votes.all, d.vote().all), std::min(votes.longest, d.vote().longest)};
                ++asked;
            }
        if (asked > 0 && asked < all.size())
            return {-1};
        made.questions += asked > 0;
        made.took_ns = *std::max_element(sums.begin(), sums.end());
        for (size_t r = 0; r < all.size(); ++r) {
            const int64_t t = time(static_cast<int>(r), made.calls);
            all[r].took(t, crosses_once && crosses_once(made.calls));
            sums[r] += t;
        }
        ++made.calls;
        if (asked)
            for (auto &d : all)
                d.answer(votes);
        for (auto &d : all)
            if (d.over() != all[0].over())
                return {-1};
    }
    return made;
}

std::string check_deferral()
{
    // Once calls have taken four times the cost, or what the share says; the root of broadcasts waits for nobody.
    for (auto [share, times] : {std::pair{20, 4}, {50, 1}, {5, 19}}) {
        const deferred_job j = defer(3, share, 200 * ms, 0, [](int rank, int) { return rank == 0 ? 0 : 20 * ms; });
        WAN_CHECK_THAT(j.calls > 0 && j.took_ns >= times * 200 * ms && j.took_ns <= times * 200 * ms + 40 * ms,
                       std::to_string(share) + "%: " + std::to_string(j.took_ns / ms) + " ms");
        WAN_CHECK_THAT(j.questions <= 6, std::to_string(j.questions) + " questions");
    }
    // The first call opens connections; nothing is concluded from that for long.
    const deferred_job slow_first = defer(2, 20, 200 * ms, 0, [](int, int call) { return call == 0 ? 300 * ms : 2 * ms; });
    WAN_CHECK_THAT(slow_first.took_ns >= 800 * ms && slow_first.took_ns < 900 * ms && slow_first.questions <= 8,
                   std::to_string(slow_first.took_ns / ms) + " ms, " + std::to_string(slow_first.questions) + " questions");
    // One call can be enough; what was spent elsewhere counts.
    WAN_CHECK(defer(2, 20, 200 * ms, 0, [](int, int) { return second; }).calls == 2);
    WAN_CHECK(defer(2, 20, 200 * ms, 800 * ms, [](int, int) { return second; }).calls == 0);
    WAN_CHECK(defer(2, 100, 200 * ms, 0, [](int, int) { return second; }).calls == 0);
    WAN_CHECK(defer(2, 0, 200 * ms, 0, [](int, int) { return second; }).calls == 100'000);
    // No plan saves the way: who sends little pays sixteen times as late; of long calls what they take beyond it counts.
    for (auto [takes, counts] : {std::pair{11 * ms, 11 * ms / 16}, {2 * ms, 2 * ms / 16}, {50 * ms, 39 * ms}, {500 * ms, 489 * ms}}) {
        const deferred_job j = defer(3, 20, 200 * ms, 0, [takes](int rank, int) { return rank == 0 ? 0 : takes; }, {}, 11 * ms);
        const int64_t needed = (800 * ms + counts - 1) / counts;
        WAN_CHECK_THAT(j.calls > needed && j.calls <= needed + 2 && j.questions <= 10, std::to_string(takes / ms) + " ms: " + std::to_string(j.calls) + " calls, not "
                       + std::to_string(needed) + "; " + std::to_string(j.questions) + " questions");
    }
    // Of calls that cross once in any plan a 64th, whether the way is what it was thought to be or longer; where it is far shorter, a sixteenth.  Longer ones count
    // as ever beside them.
    for (auto [takes, counts] : {std::pair{11 * ms, 11 * ms / 64}, {100 * ms, 100 * ms / 64}, {2 * ms, 2 * ms / 16}}) {
        const deferred_job j = defer(3, 20, 200 * ms, 0, [takes](int rank, int) { return rank == 0 ? 0 : takes; }, {}, 11 * ms, [](int) { return true; });
        const int64_t needed = (800 * ms + counts - 1) / counts;
        WAN_CHECK_THAT(j.calls > needed && j.calls <= needed + 2, std::to_string(takes / ms) + " ms: " + std::to_string(j.calls) + " calls, not " + std::to_string(needed));
    }
    const deferred_job beside = defer(3, 20, 200 * ms, 0, [](int rank, int call) { return rank == 0 ? 0 : call % 2 ? 51 * ms : 11 * ms; }, {}, 11 * ms,
                                      [](int call) { return call % 2 == 0; });
    WAN_CHECK_THAT(beside.calls >= 40 && beside.calls <= 100, std::to_string(beside.calls) + " calls, not some 2 * 800 / (51 - 11)");
    // On a rank, one of them takes a round trip and the next next to nothing.
    const deferred_job in_turn = defer(3, 20, 200 * ms, 0, [](int rank, int call) { return (rank + call) % 2 ? 2 * ms : 20 * ms; }, {}, 11 * ms);
    WAN_CHECK_THAT(in_turn.calls > 1100 && in_turn.calls < 1200, std::to_string(in_turn.calls) + " calls, not 800 ms / (11 ms / 16)");
    // After thousands of short ones, long ones: at their second call ranks ask, and find out in a few more.
    for (int every : {1, 50}) {
        const auto is_long = [every](int call) { return call >= 5000 && call % every == 0; };
        const deferred_job j = defer(
            3, 20, 600 * ms, 0, [&](int rank, int call) { return rank == 0 ? 0 : is_long(call) ? 150 * ms : 20'000; },
            [&](int call) { return is_long(call) ? uint64_t{1} << 20 : 64; });
        WAN_CHECK_THAT(j.calls > 5000 && j.calls <= 5000 + 24 * every && j.questions <= 30,
                       std::to_string(j.calls) + " calls, " + std::to_string(j.questions) + " questions");
    }
    // Calls of any lengths, seen by each rank in its own way.
    std::mt19937_64 random(wan_test::test_seed());
    for (int run = 0; run < 2000; ++run) {
        const int ranks = 2 + static_cast<int>(random() % 6);
        const int64_t cost = static_cast<int64_t>(random() % 500 + 1) * ms, share = static_cast<int64_t>(random() % 99 + 1);
        const auto most = static_cast<int64_t>(random() % 100 + 1) * ms;
        int64_t longest = 0;
        const deferred_job j = defer(ranks, share, cost, 0, [&](int, int) {
            const int64_t t = static_cast<int64_t>(random() % static_cast<uint64_t>(most));
            longest = std::max(longest, t);
            return t;
        });
        const int64_t needed = (100 - share) * cost / share;
        WAN_CHECK(j.calls > 0 && j.calls < 100'000);
        WAN_CHECK_THAT(j.took_ns >= needed && j.took_ns <= 4 * needed + 4 * longest, std::to_string(needed) + " needed, " + std::to_string(j.took_ns));
        WAN_CHECK_THAT(j.questions <= 20, std::to_string(j.questions) + " questions in " + std::to_string(j.calls) + " calls");
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(wan_test::test<check_deferral>), cmocka_unit_test(wan_test::test<check_steady>), cmocka_unit_test(wan_test::test<check_changes>),
                                cmocka_unit_test(wan_test::test<check_bandwidth>),
                                cmocka_unit_test(wan_test::test<check_late_processes>), cmocka_unit_test(wan_test::test<check_skew>),
                                cmocka_unit_test(wan_test::test<check_bursts>), cmocka_unit_test(wan_test::test<check_kinds>),
                                cmocka_unit_test(wan_test::test<check_many_kinds>),
                                cmocka_unit_test(wan_test::test<check_hiccups>), cmocka_unit_test(wan_test::test<check_patience>), cmocka_unit_test(wan_test::test<check_quiet>)};
    return cmocka_run_group_tests_name("drift", tests, nullptr, nullptr);
}
