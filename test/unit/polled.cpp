/*
 * Plans of non-blocking calls: of those that are about as fast as a blocking
 * one's the one with few steps, and all segments under way, so that a program
 * that calls MPI rarely does not wait for a call of its own at each segment's
 * each step.  Rounds of progress are counted, no time.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "exec/memory_port.hpp"

#include "planned.hpp"
#include "unit.hpp"

#include <numeric>

namespace {

using namespace wan;
using namespace wan_test;

constexpr wan_collective_t in_segments[] = {WAN_BCAST, WAN_ALLREDUCE, WAN_REDUCE, WAN_SCAN, WAN_EXSCAN};
constexpr uint64_t sizes[] = {1024, 64 << 10, 256 << 10, 1 << 20};

request polled(request r) { return r.polled = true, r; }

uint64_t cuts(const plan &p, uint64_t bytes) { return (bytes + p.segment_bytes - 1) / p.segment_bytes; }

uint64_t scratch(const topology &t, const plan &p) { return p.segment_bytes * (p.algo->buffers ? p.algo->buffers(t, p) : 0); }

std::string check_window()
{
    const topology t = two_sites(16);
    for (auto c : in_segments)
        for (uint64_t bytes : {uint64_t{0}, uint64_t{4}, uint64_t{64} << 10, uint64_t{1} << 20, uint64_t{16} << 20, uint64_t{1} << 30})
            for (bool stable : {false, true}) {
                wishes w;
                w.stable = stable;
                const auto blocking = candidates(t, lab_facts(t), w, call(c, bytes)), all = candidates(t, lab_facts(t), w, polled(call(c, bytes)));
                WAN_CHECK(blocking.size() == all.size() && !all.empty());
                for (size_t i = 0; i < all.size(); ++i) {
                    plan same = all[i];
                    same.window = blocking[i].window;
                    WAN_CHECK_THAT(print(same) == print(blocking[i]) && same.predicted_ns == blocking[i].predicted_ns, print(all[i]));
                    WAN_CHECK_THAT(all[i].window >= blocking[i].window && all[i].window <= 64, print(all[i]));
                    // All segments, but where there are too many of them, or scratch would not fit.
                    const bool fits = (all[i].window + 1) * scratch(t, all[i]) <= 64u << 20;
                    WAN_CHECK_THAT(all[i].window >= std::min<uint64_t>(64, cuts(all[i], bytes)) || !fits, print(all[i]));
                    WAN_CHECK_THAT(all[i].window == blocking[i].window || all[i].window * scratch(t, all[i]) <= 64u << 20, print(all[i]));
                }
            }
    return "";
}

/** Rounds in which all ranks make progress once, until a call by this plan is over.  A byte stands for 64 of long messages. */
std::string rounds_of(const topology &t, const plan &p, uint64_t message_bytes, size_t &rounds)
{
    const uint64_t scale = message_bytes >= 64 << 10 ? 64 : 1, bytes = message_bytes / scale, segment = (p.segment_bytes + scale - 1) / scale;
    memory_fabric f(t.size(), 1, test_seed(), [](const void *src, void *dst, size_t n) {
        for (size_t i = 0; i < n; ++i)
            static_cast<char *>(dst)[i] = static_cast<char>(static_cast<char *>(dst)[i] + static_cast<const char *>(src)[i]);
    });
    const auto ranks = static_cast<size_t>(t.size());
    std::vector<std::vector<char>> in(ranks, std::vector<char>(bytes, 1)), out = in;
    std::vector<std::unique_ptr<engine>> engines;
    for (size_t r = 0; r < ranks; ++r)
        engines.push_back(std::make_unique<engine>(
            std::make_shared<program>(build_schedule(t, p, static_cast<int>(r))),
            binding{.in = p.algo->collective == WAN_BCAST ? out[r].data() : in[r].data(), .out = out[r].data(), .count = bytes,
                    .segment = segment, .window = p.window, .extent = 1},
            f.port(), f.context(static_cast<int>(r))));
    return f.run_in_rounds(engines, rounds);
}

/** As measured in the lab at different times: by these, other algorithms are chosen. */
std::vector<facts> both(const topology &t)
{
    facts other = lab_facts(t);
    other.lan_ns = 207'000, other.message_ns = 18'000, other.step_ns = 684'000, other.burst_bytes = 9204;
    facts quiet = other;
    quiet.lan_ns = 150'000, quiet.step_ns = 430'000, quiet.message_ns = 20'000;
    return {lab_facts(t), other, quiet};
}

/** All segments take their steps in the same rounds, but where they take turns. */
std::string check_rounds()
{
    const topology t = two_sites(16);
    size_t most_saved = 0, by_plan = 0;
    for (const facts &f : both(t))
        for (auto c : in_segments)
            for (uint64_t bytes : sizes)
                for (bool stable : {false, true}) {
                    wishes w;
                    w.stable = stable;
                    const request r = call(c, bytes, true, 1);
                    const auto blocking = choose(t, f, w, r), rare = choose(t, f, w, polled(r));
                    WAN_CHECK(blocking && rare);
                    plan one = *rare, wide = *blocking;
                    one.segment_bytes = bytes;
                    wide.window = 64;
                    size_t before = 0, widened = 0, rounds = 0, least = 0;
                    WAN_CHECK(rounds_of(t, *blocking, bytes, before) == "");
                    WAN_CHECK(rounds_of(t, wide, bytes, widened) == "");
                    WAN_CHECK(rounds_of(t, *rare, bytes, rounds) == "");
                    WAN_CHECK(rounds_of(t, one, bytes, least) == "");
                    const std::string what = print(*blocking) + ": " + std::to_string(before) + " rounds; polled " + print(*rare) + ": "
                                             + std::to_string(rounds) + ", uncut " + std::to_string(least);
                    WAN_CHECK_THAT(least > 0 && rounds <= before, what);
                    // A program that does nothing but wait must not lose by it.
                    WAN_CHECK_THAT(rare->predicted_ns <= blocking->predicted_ns + blocking->predicted_ns / 20, what);
                    by_plan = std::max(by_plan, widened - std::min(widened, rounds));
                    if (is_long())
                        std::printf("%s\n", what.c_str());
                    const bool turns = build_schedule(t, *rare, t.size() - 1).turn != schedule::no_turn;
                    WAN_CHECK_THAT(turns || cuts(*rare, bytes) > 64 || rounds == least, what);
                    most_saved = std::max(most_saved, before - rounds);
                }
    WAN_CHECK_THAT(by_plan >= 10, "no plan was chosen for its few steps: " + std::to_string(by_plan));
    WAN_CHECK_THAT(most_saved >= 20, "nothing here is about windows: " + std::to_string(most_saved));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_window>), cmocka_unit_test(test<check_rounds>)};
    return cmocka_run_group_tests_name("polled", tests, nullptr, nullptr);
}
