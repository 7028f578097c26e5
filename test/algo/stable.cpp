/*
 * coll_wan_stable: whatever plan is chosen, each element of a reduction is the
 * same expression.  The verifier's symbols say which one it is.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "matrix.hpp"
#include "plan/planner.hpp"
#include "unit.hpp"

#include <map>

namespace {

using namespace wan;
using namespace wan_test;

constexpr wan_collective_t reductions[] = {WAN_ALLREDUCE, WAN_REDUCE, WAN_REDUCE_SCATTER, WAN_SCAN, WAN_EXSCAN};

facts facts_drawn(const topology &t, std::mt19937_64 &random)
{
    facts f;
    f.sites = t.site_count();
    f.byte_ps = std::array<int64_t, 3>{80, 8'000, 250'000}[random() % 3];
    f.message_ns = std::array<int64_t, 3>{500, 5'000, 50'000}[random() % 3];
    return f;
}

topology topology_drawn(std::mt19937_64 &random)
{
    std::vector<int> sizes(2 + random() % 3);
    for (int &s : sizes)
        s = 1 + static_cast<int>(random() % 13);
    if (random() % 3 == 0)      // some algorithms want as many hosts in each
        std::fill(sizes.begin(), sizes.end(), sizes[0]);
    return lay_out(sizes, static_cast<placement>(random() % 3), 1 + static_cast<int>(random() % 3), random());
}

/** The expression behind a plan's result, 0 with `why` where the plan is wrong. */
uint64_t expression_of(const topology &t, const plan &p, const verify_options &o, std::string &why)
{
    observations seen;
    if (std::string wrong = verify(t, build_all(t, p), o, &seen); !wrong.empty())
        why = describe(t, p, o) + ": " + wrong;
    else if (seen.expression == 0)
        why = describe(t, p, o) + ": elements are different expressions";
    return why.empty() ? seen.expression : 0;
}

std::string check_one_expression()
{
    std::mt19937_64 random(test_seed());
    for (int trial = 0; trial < (is_short() ? 10 : 40); ++trial) {
        const topology t = topology_drawn(random);
        for (const bool commutative : {true, false}) {
            std::map<wan_collective_t, std::pair<uint64_t, std::string>> first;     // of those that must agree
            for (const wan_collective_t c : reductions) {
                for (int round = 0; round < 12; ++round) {
                    const wishes w{.threshold_bytes = random() % 3 ? 0 : 1 + random() % 100'000, .links = static_cast<uint32_t>(random() % 4),
                                   .segment_bytes = random() % 2 ? 0 : 1 + random() % 5000, .stable = true};
                    const request r{.collective = c, .root = static_cast<int>(random() % static_cast<uint64_t>(t.size())),
                                    .bytes = uint64_t{1} << random() % 24, .commutative = commutative};
                    const auto plans = candidates(t, facts_drawn(t, random), w, r);
                    WAN_CHECK_THAT(!plans.empty(), std::string("nothing serves ") + wan_collective_name(c));
                    const plan p = plans[random() % plans.size()];
                    verify_options o{.collective = c, .root = r.root, .count = 1 + random() % 40, .commutative = commutative, .seed = random()};
                    if (kind_of(c).blocks)
                        o.count = 1 + random() % 5;
                    o.segment = kind_of(c).blocks ? o.count * static_cast<size_t>(t.size()) : 1 + random() % o.count;
                    o.window = 1 + static_cast<uint32_t>(random() % 3);
                    std::string why;
                    const uint64_t found = expression_of(t, p, o, why);
                    if (!why.empty())
                        return why;
                    // Those of an Allreduce and a Reduce with each other, where order counts of a Reduce_scatter too.
                    const bool scan = c == WAN_SCAN || c == WAN_EXSCAN, alone = scan || (commutative && c == WAN_REDUCE_SCATTER);
                    const auto [it, fresh] = first.try_emplace(alone ? c : WAN_ALLREDUCE, found, describe(t, p, o));
                    WAN_CHECK_THAT(it->second.first == found, describe(t, p, o) + " is another expression than " + it->second.second);
                    // What is declared of scratch is enough.
                    if (!kind_of(c).blocks && p.algo->buffers)
                        for (int rank = 0; rank < t.size(); ++rank)
                            WAN_CHECK_THAT(build_schedule(t, p, rank).tmp_count <= static_cast<int>(p.algo->buffers(t, p)), describe(t, p, o));
                }
            }
        }
    }
    return "";
}

/** Where runs have too many ranks a scan goes along a chain, in one order of sites whatever is faster. */
std::string check_chains()
{
    const int wide[] = {130, 130, 130}, narrow[] = {4, 3, 5};
    facts f;
    f.sites = 3;
    for (uint64_t bytes : {uint64_t{8}, uint64_t{1} << 20, uint64_t{1} << 28})
        for (uint32_t links : {0u, 1u, 3u}) {
            const auto p = choose(topology::blocks(wide, 2), f, {.links = links, .stable = true}, {.collective = WAN_SCAN, .bytes = bytes});
            WAN_CHECK_THAT(p && std::string(p->algo->name) == "chain" && p->order == site_order::chain && p->grouping == association::line,
                           p ? print(*p) : "none");
        }
    const topology t = topology::blocks(narrow);
    std::set<uint64_t> seen;
    for (uint32_t links : {1u, 2u, 3u})
        for (size_t segment : {1u, 3u, 10u}) {
            plan p{.algo = algorithm_named(WAN_SCAN, "chain"), .links = links, .order = site_order::chain, .grouping = association::line};
            std::string why;
            seen.insert(expression_of(t, p, {.collective = WAN_SCAN, .count = 10, .segment = segment, .commutative = false}, why));
            WAN_CHECK_THAT(why.empty(), why);
        }
    WAN_CHECK(seen.size() == 1);
    return "";
}

/** Without it expressions do differ, or the test above would show nothing. */
std::string check_otherwise_differs()
{
    const int sizes[] = {5, 4};
    const topology t = topology::blocks(sizes);
    const verify_options o{.collective = WAN_ALLREDUCE, .count = 40, .segment = 20};
    std::set<uint64_t> seen;
    bool elements_differ = false;
    for (const algorithm *a : algorithms()) {
        if (a->collective != WAN_ALLREDUCE || a->only_ordered || !a->serves(t, {.collective = WAN_ALLREDUCE, .bytes = 40, .commutative = true}))
            continue;
        plan p{.algo = a, .links = 5};
        observations traffic;
        const std::string why = verify(t, build_all(t, p), o, &traffic);
        WAN_CHECK_THAT(why.empty(), why);
        elements_differ = elements_differ || traffic.expression == 0;
        seen.insert(traffic.expression);
    }
    WAN_CHECK(elements_differ && seen.size() > 2);
    return "";
}

/** The tree is what it says it is: ((0 4) 2) (1 3) of five hosts, and so on; found again by hand. */
std::string check_tree()
{
    const std::vector<int> five{-1, 0, 0, 1, 0};
    WAN_CHECK(canonical_tree(5) == five && canonical_tree(1) == std::vector<int>{-1} && canonical_tree(0).empty());
    for (uint32_t nodes : {2u, 3u, 7u, 8u, 100u}) {
        const auto parent = canonical_tree(nodes);
        for (uint32_t i = 1; i < nodes; ++i) {
            uint32_t high = 1;
            while (high * 2 <= i)
                high *= 2;
            WAN_CHECK(parent[i] == static_cast<int>(i - high));
        }
    }
    return "";
}

/** An algorithm asked for by name yields to stability; what cannot be served stably is not served. */
std::string check_wishes()
{
    const int sizes[] = {4, 4};
    const topology t = topology::blocks(sizes);
    facts f;
    f.sites = 2;
    wishes w{.stable = true};
    for (const algorithm *a : algorithms()) {
        if (!kind_of(a->collective).operation)
            continue;
        w.algo = a;
        for (const bool commutative : {true, false}) {
            const auto p = choose(t, f, w, {.collective = a->collective, .bytes = 1000, .commutative = commutative});
            WAN_CHECK_THAT(p && p->grouping != association::any && (p->algo->groupings & computes(p->grouping)), name_of(*a));
            WAN_CHECK(commutative || p->grouping != association::tree);
            const auto again = parse_plan(print(*p));
            WAN_CHECK_THAT(again && again->grouping == p->grouping && again->inner == p->inner, print(*p));
        }
    }
    w.algo = algorithm_named(WAN_ALLREDUCE, "rabenseifner");
    WAN_CHECK(choose(t, f, w, {.collective = WAN_ALLREDUCE, .bytes = 4})->algo == w.algo);
    w.algo = algorithm_named(WAN_ALLREDUCE, "twotier");
    WAN_CHECK(choose(t, f, w, {.collective = WAN_ALLREDUCE, .bytes = 4})->algo != w.algo);
    w.algo = nullptr;
    const auto bcast = choose(t, f, w, {.collective = WAN_BCAST, .bytes = 1000});
    WAN_CHECK(bcast && bcast->grouping == association::any);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_one_expression>),
        cmocka_unit_test(test<check_chains>),
        cmocka_unit_test(test<check_otherwise_differs>),
        cmocka_unit_test(test<check_tree>),
        cmocka_unit_test(test<check_wishes>),
    };
    return cmocka_run_group_tests_name("stable", tests, nullptr, nullptr);
}
