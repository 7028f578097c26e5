/*
 * The planner: wishes, what may serve a call, determinism, segments.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plan/planner.hpp"

#include "matrix.hpp"
#include "unit.hpp"

namespace {

using namespace wan;
using namespace wan_test;

topology two_sites(int hosts = 8, int lanes = 1)
{
    const std::vector<int> sizes(2, hosts);
    return topology::blocks(sizes, lanes);
}

facts facts_of(const topology &t)
{
    facts f;
    f.sites = t.site_count();
    return f;
}

const uint64_t sizes_tried[] = {0, 1, 4, 8, 1000, 1024, 65536, 262144, 1 << 20, 16 << 20, uint64_t{1} << 32};

request call(wan_collective_t c, uint64_t bytes, bool commutative = true, uint64_t element = 4)
{
    return {.collective = c, .root = 0, .bytes = bytes / element * element, .element_bytes = element, .commutative = commutative};
}

std::string check_forced()
{
    const topology t = two_sites();
    for (const algorithm *a : algorithms()) {
        wishes w;
        w.algo = a;
        for (bool commutative : {true, false})
            for (uint64_t bytes : sizes_tried) {
                const request r = call(a->collective, bytes, commutative);
                const auto p = choose(t, facts_of(t), w, r);
                WAN_CHECK_THAT(p, a->name);
                const bool can = a->serves(t, r) && (commutative || a->keeps_order);
                WAN_CHECK_THAT((p->algo == a) == can || (!can && p->algo->automatic), a->name);
                WAN_CHECK_THAT(p->algo->collective == a->collective && p->algo->serves(t, r), a->name);
                WAN_CHECK_THAT(commutative || p->algo->keeps_order, a->name);
                if (!can)
                    WAN_CHECK_THAT(p->algo->automatic && p->algo != a, a->name);
                // The wish overrules the threshold.
                w.threshold_bytes = a->long_messages ? UINT64_MAX : 1;
                if (can)
                    WAN_CHECK_THAT(choose(t, facts_of(t), w, r)->algo == a, a->name);
                w.threshold_bytes = 0;
            }
    }
    // References are never chosen unasked.
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE})
        for (uint64_t bytes : sizes_tried)
            for (const plan &p : candidates(t, facts_of(t), {}, call(c, bytes)))
                WAN_CHECK(p.algo->automatic);
    return "";
}

std::string check_links()
{
    for (int hosts : {1, 2, 5, 16})
        for (int lanes : {1, 3})
            for (uint32_t links : {1u, 2u, 4u, 16u, 1000u}) {
                const topology t = two_sites(hosts, lanes);
                wishes w;
                w.links = links;
                for (auto c : {WAN_BCAST, WAN_ALLREDUCE})
                    for (uint64_t bytes : sizes_tried) {
                        WAN_CHECK(choose(t, facts_of(t), w, call(c, bytes)));
                        for (const plan &p : candidates(t, facts_of(t), w, call(c, bytes)))
                            WAN_CHECK_THAT(p.algo->senders(t, p) <= links, print(p));
                        // An algorithm whose every rank sends is not for small n, even when asked for.
                        if (c == WAN_ALLREDUCE) {
                            w.algo = algorithm_named(c, "flat");
                            const auto p = choose(t, facts_of(t), w, call(c, bytes));
                            WAN_CHECK((p->algo == w.algo) == (static_cast<uint32_t>(hosts * lanes) <= links));
                            w.algo = nullptr;
                        }
                    }
                // Operators that do not commute go through gateways where not all ranks may send.
                const auto p = choose(t, facts_of(t), w, call(WAN_ALLREDUCE, 1024, false));
                WAN_CHECK(p && (static_cast<uint32_t>(hosts * lanes) <= links || std::string(p->algo->name) == "runs"));
            }
    // 0: as many as there are hosts, where the algorithm uses links.
    const topology t = two_sites(16);
    wishes w;
    w.algo = algorithm_named(WAN_BCAST, "vandegeijn");
    WAN_CHECK(choose(t, facts_of(t), w, call(WAN_BCAST, 1 << 20))->links >= 1);
    return "";
}

std::string check_threshold()
{
    const topology t = two_sites();
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE})
        for (uint64_t threshold : {uint64_t{1}, uint64_t{1024}, uint64_t{262144}, uint64_t{1} << 40})
            for (uint64_t bytes : sizes_tried) {
                wishes w;
                w.threshold_bytes = threshold;
                const request r = call(c, bytes);
                for (const plan &p : candidates(t, facts_of(t), w, r))
                    WAN_CHECK_THAT(p.algo->long_messages == (r.bytes >= threshold), print(p));
                WAN_CHECK(choose(t, facts_of(t), w, r));
            }
    // It yields where nothing else serves: more ranks than the short form for such operators takes.
    wishes w;
    w.threshold_bytes = 1;
    const auto p = choose(t, facts_of(t), w, call(WAN_ALLREDUCE, 0, false));
    WAN_CHECK(p && p->algo->keeps_order);
    return "";
}

std::string check_order()
{
    for (int hosts : {1, 3, 8, 64, 65, 200, 300})
        for (uint64_t bytes : sizes_tried) {
            const topology t = two_sites(hosts);
            for (const plan &p : candidates(t, facts_of(t), {}, call(WAN_ALLREDUCE, bytes, false)))
                WAN_CHECK_THAT(p.algo->keeps_order, print(p));
            WAN_CHECK(choose(t, facts_of(t), {}, call(WAN_ALLREDUCE, bytes, false)).has_value() == (hosts < 240));
            // Ranks in turn over the sites make too many runs to be exchanged one by one.
            const topology mixed = lay_out({hosts, hosts}, placement::roundrobin, 1, 1);
            const auto p = choose(mixed, facts_of(mixed), {}, call(WAN_ALLREDUCE, bytes, false));
            WAN_CHECK(p.has_value() == (2 * hosts <= 128));
            WAN_CHECK(!p || hosts <= 26 || std::string(p->algo->name) != "runs");
            WAN_CHECK(choose(t, facts_of(t), {}, call(WAN_ALLREDUCE, bytes, true)));
        }
    return "";
}

std::string check_segments()
{
    const topology t = two_sites();
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE})
        for (uint64_t element : {1, 3, 4, 8, 12, 1000, 4096})
            for (uint64_t bytes : sizes_tried)
                for (uint64_t segment : {uint64_t{0}, uint64_t{1}, uint64_t{100}, uint64_t{8192}, uint64_t{1} << 30}) {
                    wishes w;
                    w.segment_bytes = segment;
                    const request r = call(c, bytes, true, element);
                    for (const plan &p : candidates(t, facts_of(t), w, r)) {
                        WAN_CHECK_THAT(p.segment_bytes % element == 0 && p.segment_bytes >= element, print(p));
                        WAN_CHECK_THAT(p.segment_bytes <= std::max(element, r.bytes), print(p));
                        WAN_CHECK_THAT(p.window >= 1, print(p));
                        WAN_CHECK_THAT(p.predicted_ns >= 0, print(p));
                        if (segment && (p.algo->parameters & uses_segment))
                            WAN_CHECK_THAT(p.segment_bytes <= std::max(segment, element), print(p));
                        if (!(p.algo->parameters & uses_segment))
                            WAN_CHECK_THAT(p.segment_bytes + element > r.bytes, print(p));
                        // Scratch is a window of segments: bounded but for unsegmented messages.
                        if (p.segment_bytes < r.bytes && p.segment_bytes <= 32u << 20)
                            WAN_CHECK_THAT(static_cast<uint64_t>(p.window) * p.segment_bytes <= 64u << 20, print(p));
                    }
                }
    return "";
}

/** Same facts, same plan; the same on every machine: integers, so the text can be compared with constants. */
std::string check_determinism()
{
    std::mt19937_64 random(test_seed());
    std::string all;
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<int> sizes(2 + random() % 4);
        for (int &s : sizes)
            s = 1 + static_cast<int>(random() % 20);
        const topology t = lay_out(sizes, static_cast<placement>(random() % 3), 1 + static_cast<int>(random() % 3), random()), again = t;
        facts f = facts_of(t);
        f.lan_ns = 1000 + static_cast<int64_t>(random() % 1'000'000);
        f.wan_ns = f.lan_ns * (1 + static_cast<int64_t>(random() % 500));
        f.message_ns = 100 + static_cast<int64_t>(random() % 100'000);
        f.step_ns = f.message_ns + static_cast<int64_t>(random() % 1'000'000);
        f.byte_ps = 10 + static_cast<int64_t>(random() % 300'000);
        for (int i = 0; i < f.sites * f.sites; ++i)
            f.pair_ns.push_back(static_cast<int64_t>(random() % 3) * f.wan_ns);
        const facts copy = f;
        const auto c = random() % 2 ? WAN_BCAST : WAN_ALLREDUCE;
        request r = call(c, random() % (uint64_t{1} << (random() % 26)));
        if (c == WAN_BCAST)
            r.root = static_cast<int>(random() % static_cast<uint64_t>(t.size()));
        const auto p = choose(t, f, {}, r), q = choose(again, copy, {}, r);
        WAN_CHECK(p && q && print(*p) == print(*q) && p->predicted_ns == q->predicted_ns);
        const auto list = candidates(t, f, {}, r);
        WAN_CHECK(!list.empty() && print(list.front()) == print(*p));
        for (size_t i = 0; i + 1 < list.size(); ++i)
            WAN_CHECK(list[i].predicted_ns <= list[i + 1].predicted_ns);
        WAN_CHECK(p->root == r.root);
    }
    return "";
}

/** Extremes neither overflow nor divide by zero (watch under UBSan). */
std::string check_extremes()
{
    const int lone[] = {1, 1}, uneven[] = {1, 300, 2};
    for (const topology &t : {topology::blocks(lone), topology::blocks(uneven), two_sites(2, 64)})
        for (int64_t ns : {int64_t{1}, int64_t{1'000'000'000}})
            for (int64_t ps : {int64_t{1}, int64_t{1'000'000'000}})
                for (uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40})
                    for (auto c : {WAN_BCAST, WAN_ALLREDUCE}) {
                        if (bytes > (uint64_t{1} << 32) && ps > 1'000'000)
                            continue;       // centuries
                        facts f = facts_of(t);
                        f.lan_ns = f.wan_ns = f.message_ns = f.step_ns = ns;
                        f.byte_ps = ps;
                        const auto p = choose(t, f, {}, call(c, bytes, true, 1));
                        WAN_CHECK(p && p->predicted_ns > 0);
                    }
    return "";
}

/** No prediction is below what the links allow, whatever the shape: L + M/B, or what an Allreduce must move. */
std::string check_bounds()
{
    const int lone[] = {1, 1}, one_sided[] = {1, 16}, many[] = {3, 1, 5, 2};
    for (const topology &t : {topology::blocks(lone), topology::blocks(one_sided), topology::blocks(many), two_sites(16), two_sites(8, 2)})
        for (int64_t byte_ps : {8'000, 200'000})
            for (uint64_t bytes : {uint64_t{1}, uint64_t{4096}, uint64_t{65536}, uint64_t{1} << 20, uint64_t{1} << 24})
                for (auto c : {WAN_BCAST, WAN_ALLREDUCE})
                    for (uint32_t links : {0u, 1u, 2u}) {
                        facts f = facts_of(t);
                        f.byte_ps = byte_ps;
                        wishes w;
                        w.links = links;
                        for (const plan &p : candidates(t, f, w, call(c, bytes)))
                            WAN_CHECK_THAT(p.predicted_ns >= f.wan_ns + f.wire_ns(bytes), print(p) + " " + std::to_string(p.predicted_ns));
                    }
    return "";
}

/**
 * Vectors: one latency; of a Reduce_scatter, each block's contributions of all hosts but one must move,
 * shared by all hosts at best; of an Alltoall, what a host has for others.
 */
std::string check_vector_bounds()
{
    const int lone[] = {1, 1}, one_sided[] = {1, 16}, many[] = {3, 1, 5, 2};
    for (const topology &t : {topology::blocks(lone), topology::blocks(one_sided), topology::blocks(many), two_sites(16), two_sites(8, 2)})
        for (int64_t byte_ps : {8'000, 200'000})
            for (uint64_t block : {uint64_t{1}, uint64_t{1024}, uint64_t{16384}, uint64_t{131072}, uint64_t{1} << 20})
                for (auto c : {WAN_REDUCE_SCATTER, WAN_ALLTOALL})
                    for (bool commutative : {true, false})
                        for (uint32_t links : {0u, 1u, 2u}) {
                            facts f = facts_of(t);
                            f.byte_ps = byte_ps;
                            wishes w;
                            w.links = links;
                            const uint64_t ranks = static_cast<uint64_t>(t.size()), lanes = static_cast<uint64_t>(t.most_lanes()), hosts = ranks / lanes;
                            const uint64_t through = c == WAN_ALLTOALL ? lanes * (ranks - lanes) * block : ranks * block * (hosts - 1) / hosts;
                            const auto plans = candidates(t, f, w, call(c, ranks * block, commutative, 1));
                            WAN_CHECK(!plans.empty() || !commutative);
                            for (const plan &p : plans)
                                WAN_CHECK_THAT(p.predicted_ns >= std::max(f.wan_ns + f.wire_ns(block), f.wire_ns(through)),
                                               print(p) + " " + std::to_string(p.predicted_ns));
                        }
    return "";
}

/** What the model is for: short messages by trees, long ones cut and spread. */
std::string check_sense()
{
    const topology t = two_sites(16);
    facts f = facts_of(t);
    f.byte_ps = 200'000;    // 40 Mb/s, as in the lab
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE}) {
        WAN_CHECK(!choose(t, f, {}, call(c, 4))->algo->long_messages);
        const auto p = choose(t, f, {}, call(c, 16 << 20));
        WAN_CHECK(p->algo->long_messages && p->segment_bytes < 1 << 20 && p->window > 1);
        // Within a factor of two of the bound: L + M/B, or 2(p-1)/p M/B.
        const int64_t bound = c == WAN_BCAST ? f.wan_ns + f.wire_ns(16 << 20) : 2 * f.wire_ns(16 << 20) * 31 / 32;
        WAN_CHECK_THAT(p->predicted_ns > bound && p->predicted_ns < 2 * bound, print(*p) + " " + std::to_string(p->predicted_ns) + " bound " + std::to_string(bound));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_forced>),      cmocka_unit_test(test<check_links>),    cmocka_unit_test(test<check_threshold>),
        cmocka_unit_test(test<check_order>),       cmocka_unit_test(test<check_segments>), cmocka_unit_test(test<check_determinism>),
        cmocka_unit_test(test<check_extremes>),    cmocka_unit_test(test<check_sense>),
        cmocka_unit_test(test<check_bounds>),      cmocka_unit_test(test<check_vector_bounds>),
    };
    return cmocka_run_group_tests_name("planner", tests, nullptr, nullptr);
}
