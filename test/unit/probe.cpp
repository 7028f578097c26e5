/*
 * The probe over the in-memory port: on any topology it ends everywhere after
 * the same number of runs, and what it measured becomes facts.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "model/probe.hpp"

#include "matrix.hpp"
#include "unit.hpp"

#include <random>

namespace {

using namespace wan;
using namespace wan_test;

/** Runs step k of all ranks together; each rank's clock says `ns(step)`. */
std::string run(const topology &t, std::vector<fact_vector> &measured, int *runs_made = nullptr)
{
    const size_t ranks = static_cast<size_t>(t.size());
    std::vector<std::unique_ptr<probe>> all;
    for (size_t r = 0; r < ranks; ++r)
        all.push_back(std::make_unique<probe>(t, static_cast<int>(r)));
    for (int step = 0;; ++step) {
        std::vector<std::unique_ptr<engine>> engines;
        std::vector<std::vector<char>> data(ranks);
        memory_fabric fabric(static_cast<int>(ranks), 1, static_cast<uint64_t>(step), [](const void *, void *, size_t) {});
        size_t ended = 0;
        std::vector<bool> busy(ranks);
        for (size_t r = 0; r < ranks; ++r) {
            auto s = all[r]->next();
            if (!s) {
                ++ended;
                continue;
            }
            const std::string why = verify_static(*s);
            WAN_CHECK_THAT(why.empty(), why);
            busy[r] = !s->ops.empty();
            // What answers a measured message must wait for it, or nothing is measured.
            const bool starts = !s->ops.empty() && s->ops[0].kind == op_kind::send;
            for (const op &o : s->ops)
                WAN_CHECK_THAT(starts || o.kind != op_kind::send || o.pred_count > 0, "step " + std::to_string(step) + " answers before it heard");
            const size_t bytes = all[r]->message_bytes();
            data[r].resize(bytes);
            engines.push_back(std::make_unique<engine>(std::make_shared<const program>(std::move(*s)),
                binding{.in = data[r].data(), .out = data[r].data(), .count = bytes, .segment = bytes, .window = 1, .extent = 1},
                fabric.port(), fabric.context(static_cast<int>(r))));
        }
        WAN_CHECK_THAT(ended == 0 || ended == ranks, "ranks do not agree on the number of runs: " + std::to_string(ended) + " ended at " + std::to_string(step));
        if (runs_made)
            *runs_made = step;
        if (ended)
            break;
        const std::string why = fabric.run(engines);
        WAN_CHECK_THAT(why.empty(), "step " + std::to_string(step) + ": " + why);
        for (size_t r = 0; r < ranks; ++r)
            all[r]->record(busy[r] ? 2'000'000 + 1000 * step : 1);
        WAN_CHECK(step < 1000);
    }
    for (auto &p : all)
        measured.push_back(p->measured());
    return "";
}

fact_vector combine(const std::vector<fact_vector> &all)
{
    fact_vector v{};
    for (const auto &x : all)
        for (size_t i = 0; i < v.size(); ++i)
            v[i] = std::max(v[i], x[i]);
    return v;
}

std::string check_shapes()
{
    for (const auto &sizes : {std::vector<int>{1, 1}, {2, 1}, {4, 4}, {3, 1, 5}, {1, 1, 1, 1, 1}, std::vector<int>(10, 2), std::vector<int>(11, 1), std::vector<int>(16, 3)})
        for (auto how : {placement::block, placement::roundrobin, placement::shuffled})
            for (int lanes : {1, 2}) {
                const topology t = lay_out(sizes, how, lanes, 5);
                std::vector<fact_vector> measured;
                int runs = 0;
                if (std::string why = run(t, measured, &runs); !why.empty())
                    return "sites " + std::to_string(sizes.size()) + ", placement " + std::to_string(static_cast<int>(how)) + ": " + why;
                WAN_CHECK_THAT(runs < 80, std::to_string(runs) + " runs");
                const fact_vector v = combine(measured);
                const facts f = facts_from(t, v);
                WAN_CHECK(f.sites == t.site_count() && f.lan_ns > 0 && f.message_ns > 0 && f.step_ns > 0 && f.byte_ps > 0 && f.wan_ns > 0);
                WAN_CHECK(v[fact::farthest_ns] >= 1'000'000 && v[fact::farthest_ns] < 1'100'000);
                WAN_CHECK(f.wan_ns == v[fact::farthest_ns]);
                bool wide = false;
                for (int s = 0; s < t.site_count(); ++s)
                    wide |= t.node_count(site_at(s)) > 1;
                if (wide)
                    WAN_CHECK(f.lan_ns >= 1'000'000 && f.lan_ns < 1'100'000);
                else
                    WAN_CHECK(f.lan_ns == facts{}.lan_ns);      // nothing to measure: the default
                for (int a = 0; a < f.sites && f.sites <= 10; ++a)
                    for (int b = 0; b < f.sites; ++b)
                        if (a != b) {
                            const int64_t ns = f.pair_ns[static_cast<size_t>(a * f.sites + b)];
                            WAN_CHECK_THAT(ns >= 1'000'000 && ns == f.latency_ns(site_at(b), site_at(a)), "pair " + std::to_string(a) + " " + std::to_string(b));
                        }
                if (f.sites > 10)
                    WAN_CHECK(f.pair_ns.empty() && f.latency_ns(site_at(0), site_at(1)) == f.wan_ns);
            }
    return "";
}

/**
 * Sites one host each, one way `far(a, b)` apart; each rank goes from step to step by itself, and a
 * ping waits for its partner: what the probe makes of that must be the distances.
 */
std::string check_distances()
{
    constexpr int64_t ms = 1'000'000;
    for (bool brief : {false, true})
        for (int sites : {2, 3, 4, 5, 7, 10})
            for (uint64_t seed = 1; seed <= 20; ++seed) {
                std::mt19937_64 random(seed);
                const std::vector<int> sizes(static_cast<size_t>(sites), 1);
                const topology t = topology::blocks(sizes);
                std::vector<std::vector<int64_t>> far(static_cast<size_t>(sites), std::vector<int64_t>(static_cast<size_t>(sites)));
                for (size_t a = 0; a < far.size(); ++a)
                    for (size_t b = 0; b < a; ++b)
                        far[a][b] = far[b][a] = seed == 1 ? 10 * ms : static_cast<int64_t>(1 + random() % 40) * ms;
                std::vector<std::unique_ptr<probe>> all;
                std::vector<int64_t> clock(far.size());
                for (size_t r = 0; r < far.size(); ++r) {
                    all.push_back(std::make_unique<probe>(t, static_cast<int>(r), brief));
                    clock[r] = static_cast<int64_t>(random() % 30) * ms;
                }
                for (bool more = true; more;) {
                    std::vector<std::optional<schedule>> steps;
                    for (auto &p : all)
                        steps.push_back(p->next());
                    more = steps[0].has_value();
                    std::vector<int64_t> then = clock;
                    for (size_t r = 0; r < far.size() && more; ++r)
                        for (const op &o : steps[r]->ops)
                            if (const auto peer = static_cast<size_t>(o.peer); o.kind == op_kind::send && steps[r]->ops[0].kind == op_kind::send) {
                                // There when the other looks, back as long after.
                                const int64_t heard = std::max(clock[r] + far[r][peer], clock[peer]);
                                then[r] = heard + far[r][peer];
                                then[peer] = heard;
                            }
                    for (size_t r = 0; r < far.size() && more; ++r)
                        all[r]->record(then[r] - clock[r]);
                    clock = then;
                }
                std::vector<fact_vector> measured;
                for (auto &p : all)
                    measured.push_back(p->measured());
                const facts f = facts_from(t, combine(measured));
                for (size_t a = 0; a < far.size(); ++a)
                    for (size_t b = 0; b < a; ++b) {
                        const int64_t ns = f.latency_ns(site_at(static_cast<int>(a)), site_at(static_cast<int>(b)));
                        WAN_CHECK_THAT(ns == far[a][b], std::to_string(sites) + " sites, seed " + std::to_string(seed) + (brief ? ", brief" : "") + ": "
                                                            + std::to_string(ns / 1000) + " us instead of " + std::to_string(far[a][b] / 1000));
                    }
            }
    return "";
}

std::string check_facts_from()
{
    const int sizes[] = {2, 2, 2};
    const topology t = topology::blocks(sizes);
    const facts nothing = facts_from(t, fact_vector{});
    const facts standard;
    WAN_CHECK(nothing.lan_ns == standard.lan_ns && nothing.message_ns == standard.message_ns && nothing.step_ns == nothing.lan_ns + nothing.message_ns && nothing.byte_ps == standard.byte_ps && nothing.wan_ns == standard.wan_ns);
    WAN_CHECK(nothing.latency_ns(site_at(0), site_at(2)) == standard.wan_ns && nothing.latency_ns(site_at(1), site_at(1)) == standard.lan_ns);
    const fact_vector v{11, 22, 33, 99, 44, 55, 70, 80, 90};
    const facts f = facts_from(t, v);
    WAN_CHECK(f.lan_ns == 11 && f.message_ns == 22 && f.step_ns == 55 && f.byte_ps == 33 && f.wan_ns == 99);
    WAN_CHECK(f.latency_ns(site_at(0), site_at(1)) == 70 && f.latency_ns(site_at(2), site_at(0)) == 80 && f.latency_ns(site_at(1), site_at(2)) == 90);
    WAN_CHECK(f.farthest_ns(site_at(0)) == 80 && f.farthest_ns(site_at(1)) == 90);
    WAN_CHECK(f.wire_ns(1'000'000) == 33'000);
    // 32 KB took 44 ns beyond the round trip, at 33 ps a byte: all but 1333 bytes passed at once.
    WAN_CHECK(f.burst_bytes == 32768 - 1333);
    WAN_CHECK(f.lone_ns(10'000) == 11 && f.lone_ns(1'031'435) == 11 + 33'000);
    fact_vector even = v;
    even[4] = 2'000;        // slower than the interface's rate, by noise: no burst
    WAN_CHECK(facts_from(t, even).burst_bytes == 0);
    // A pair that nobody measured: the worst known.
    fact_vector partly = v;
    partly[7] = 0;
    WAN_CHECK(facts_from(t, partly).latency_ns(site_at(0), site_at(2)) == 99);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_shapes>), cmocka_unit_test(test<check_distances>), cmocka_unit_test(test<check_facts_from>)};
    return cmocka_run_group_tests_name("probe", tests, nullptr, nullptr);
}
