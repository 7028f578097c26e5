/*
 * The parts of a report: percentiles against sorted truth, JSON whatever the texts
 * are, what must cross and how long that must take against numbers worked out by
 * hand.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boundary_job.hpp"

#include "comm.hpp"
#include "report/bounds.hpp"
#include "report/json.hpp"
#include "report/traffic.hpp"

#include <cmath>

using namespace wan;
using namespace wan_test;

namespace {

// ---- times ------------------------------------------------------------------------

std::string check_percentiles()
{
    std::mt19937_64 random(test_seed());
    std::lognormal_distribution<double> spread(13, 2);
    const auto uniform = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
    for (const size_t n : {size_t{1}, size_t{2}, size_t{3}, size_t{19}, size_t{20}, size_t{21}, size_t{1000}, size_t{20000}})
        for (int kind = 0; kind < 4; ++kind) {
            log_histogram h;
            std::vector<int64_t> all;
            for (size_t i = 0; i < n; ++i) {
                const int64_t v = kind == 0   ? static_cast<int64_t>(spread(random))
                                  : kind == 1 ? uniform(40)
                                  : kind == 2 ? int64_t{1} << uniform(62)    // a wrong place in the order is a factor of two
                                              : 5'000'000'000 + uniform(1000);
                h.add(v);
                all.push_back(v);
            }
            std::sort(all.begin(), all.end());
            for (const unsigned percent : {1u, 5u, 50u, 95u, 99u, 100u}) {
                const int64_t truth = all[(n * percent + 99) / 100 - 1], got = h.percentile(percent);
                WAN_CHECK_THAT(std::abs(got - truth) <= truth / log_histogram::precision,
                               std::to_string(n) + " times of kind " + std::to_string(kind) + ", " + std::to_string(percent)
                                   + "%: " + std::to_string(got) + ", not " + std::to_string(truth));
            }
            WAN_CHECK(h.count() == n && h.least() == all.front() && h.most() == all.back());
            WAN_CHECK(h.percentile(0) == h.percentile(1) || n > 100);
        }
    log_histogram none, odd;
    WAN_CHECK(none.percentile(50) == 0 && none.mean() == 0 && none.memory_bytes() == 0);
    odd.add(-5);
    odd.add(INT64_MAX);
    WAN_CHECK(odd.percentile(50) == 0 && odd.least() == 0 && odd.most() == INT64_MAX && odd.percentile(95) > INT64_MAX / 33 * 32);
    return "";
}

// ---- text ----------------------------------------------------------------------------

std::string check_json()
{
    json_text out;
    out.object().member("a\"b", "x\\y\n\x01\x7f<&>").key("n").array().value(-3).value(uint64_t{18446744073709551615ull});
    out.value(true)
        .value(std::optional<int>())
        .value(std::optional<int>(4))
        .thousandth(1234)
        .thousandth(-5)
        .thousandth(INT64_MIN);
    out.object().end().array().end().end().member("u", std::string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")).end();
    WAN_CHECK_THAT(
        out.text()
            == "{\"a\\\"b\":\"x\\\\y\\u000a\\u0001\\u007f<&>\",\"n\":[-3,18446744073709551615,true,null,4,1.234,-0.005,"
               "-9223372036854775.808,\n{},[]],\"u\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}",
        out.text());
    // Not UTF-8: cut off, too long, half of a pair, beyond the last, alone.
    for (const char *wrong :
         {"\xc3", "\xe2\x82", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5", "\x80", "\xff"}) {
        json_text one;
        one.value(wrong);
        for (char c : one.text())
            WAN_CHECK_THAT(c > 0, one.text());
        WAN_CHECK_THAT(one.text().starts_with("\"\\ufffd"), one.text());
    }
    return "";
}

// ---- bounds ----------------------------------------------------------------------------

request request_for(wan_collective_t c, uint64_t bytes, int root = 0)
{
    return {.collective = c, .root = root, .bytes = bytes, .element_bytes = 1};
}

/** By hand: sites of 3, 1 and 2 hosts, two ranks each; blocks of 10 bytes (alltoall: a pair's). */
std::string check_least_bytes()
{
    const std::vector<int> sizes{3, 1, 2};
    const topology t = topology::blocks(sizes, 2);    // ranks 0-5, 6-7, 8-11
    const uint64_t all = 12 * 10;
    const auto least = [&](wan_collective_t c, uint64_t bytes, int root = 0) {
        return least_crossing_bytes(t, request_for(c, bytes, root));
    };
    WAN_CHECK(least(WAN_BCAST, 1000, 7) == 2000);
    WAN_CHECK(least(WAN_REDUCE, 1000, 11) == 2000);
    WAN_CHECK(least(WAN_ALLREDUCE, 1000) == 4000);
    WAN_CHECK(least(WAN_BARRIER, 0) == 0);
    WAN_CHECK(least(WAN_SCAN, 1000) == 2000 && least(WAN_EXSCAN, 1000) == 2000);
    WAN_CHECK(least(WAN_ALLGATHER, all) == 60 + 100 + 80);
    WAN_CHECK(least(WAN_GATHER, all, 0) == 60 && least(WAN_GATHER, all, 6) == 100);
    WAN_CHECK(least(WAN_SCATTER, all, 9) == 80);
    WAN_CHECK(least(WAN_REDUCE_SCATTER, all) == 2 * all);
    WAN_CHECK(least(WAN_ALLTOALL, all) == 10 * (6 * 6 + 2 * 10 + 4 * 8));
    // A scan in which the sites' ranks take turns: the first rank's site has to be told, too.
    std::vector<place> places;
    for (int r = 0; r < 6; ++r)
        places.push_back({r % 2 ? "b" : "a", static_cast<uint64_t>(r)});
    const topology turns{places};
    WAN_CHECK(least_crossing_bytes(turns, request_for(WAN_SCAN, 1000)) == 2000);
    WAN_CHECK(least_crossing_bytes(topology::blocks(std::vector<int>{3, 3}), request_for(WAN_SCAN, 1000)) == 1000);
    return "";
}

std::string check_least_time()
{
    const topology t = topology::blocks(std::vector<int>{4, 4});
    facts f;
    f.sites = 2;
    f.wan_ns = 10'000'000;
    f.byte_ps = 1000;    // a byte a ns
    f.settle();
    const auto least = [&](wan_collective_t c, uint64_t bytes, int root = 0) {
        return least_ns(t, f, request_for(c, bytes, root), 0);
    };
    WAN_CHECK(least(WAN_BARRIER, 1) == 10'000'000);
    WAN_CHECK(least(WAN_BCAST, 1000) == 10'001'000);
    WAN_CHECK(least(WAN_ALLREDUCE, 1000) == 10'001'000);
    WAN_CHECK(least(WAN_ALLREDUCE, 80'000'000) == 140'000'000);    // 2 (8-1)/8 of it through each interface
    WAN_CHECK(least(WAN_ALLGATHER, 8 * 1000) == 10'004'000);
    WAN_CHECK(least(WAN_ALLGATHER, 8 * 10'000'000) == 70'000'000);
    WAN_CHECK(least(WAN_ALLTOALL, 8 * 1000) == 10'004'000);
    WAN_CHECK(least(WAN_GATHER, 8 * 1000, 5) == 10'004'000);
    f.uplink_ps = {0, 2000};
    WAN_CHECK(least(WAN_ALLTOALL, 8 * 1000) == 10'000'000 + 2 * 16 * 1000);    // 4 x 4 pairs through it
    f.link_ps = {0, 5000, 5000, 0};
    WAN_CHECK(least(WAN_BCAST, 1000) == 10'005'000);
    f.burst_bytes = 600;
    f.uplink_ps.clear();
    f.link_ps.clear();
    WAN_CHECK(least(WAN_BCAST, 1000) == 10'000'400 && least(WAN_BCAST, 500) == 10'000'000);
    return "";
}

/** No algorithm is predicted to beat the bound on bytes, which its own schedules say. */
std::string check_plans_keep_bounds()
{
    for (const std::vector<int> &sizes : {std::vector<int>{2, 2}, {3, 1, 2}, {4, 4, 4, 4}}) {
        const topology t = topology::blocks(sizes);
        facts f;
        f.sites = t.site_count();
        f.settle();
        for (int c = 0; c < WAN_COLLECTIVES; ++c)
            for (const uint64_t bytes : {uint64_t{12 * 16 * 8}, uint64_t{12 * 16 * 4096}}) {
                const auto collective = collective_at(c);
                request r = request_for(collective, collective == WAN_BARRIER ? 1
                                                                              : bytes / static_cast<uint64_t>(t.size())
                                                                                    * static_cast<uint64_t>(t.size()));
                for (const plan &p : candidates(t, f, {}, r)) {
                    const auto crossed = crossing_flow(t, p, r, [] { return false; });
                    WAN_CHECK_THAT(crossed && crossed->bytes + (c == WAN_BARRIER) >= least_crossing_bytes(t, r),
                                   print(p) + ": " + std::to_string(crossed->bytes));
                    WAN_CHECK_THAT(p.predicted_ns >= least_ns(t, f, r, 0) * 9 / 10, print(p));
                }
            }
    }
    int asked = 0;
    const topology t = topology::blocks(std::vector<int>{4, 4});
    facts f;
    f.sites = 2;
    f.settle();
    const request r = request_for(WAN_BCAST, 1000);
    WAN_CHECK(!crossing_flow(t, *choose(t, f, {}, r), r, [&] { return ++asked == 3; }) && asked == 3);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_percentiles>),
        cmocka_unit_test(test<check_json>),
        cmocka_unit_test(test<check_least_bytes>),
        cmocka_unit_test(test<check_least_time>),
        cmocka_unit_test(test<check_plans_keep_bounds>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
