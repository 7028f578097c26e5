/*
 * Choice by trial: the common clock, ranks that begin late, and the share of the time that trials may add.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trial_ranks.hpp"
#include "tune/common_clock.hpp"
#include "unit.hpp"

#include <cstdlib>
#include <random>

namespace {

using namespace wan;
using namespace wan_test;

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
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<check_old_clock>), cmocka_unit_test(wan_test::test<check_late>),
        cmocka_unit_test(wan_test::test<check_share>), cmocka_unit_test(wan_test::test<check_clock>),
    };
    return cmocka_run_group_tests_name("tuner_clock", tests, nullptr, nullptr);
}
