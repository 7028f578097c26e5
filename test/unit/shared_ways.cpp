/*
 * Rates of uplinks and links in plans.  (What crosses them: test/algo/matrix.)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plan/shared_ways.hpp"
#include "planned.hpp"
#include "unit.hpp"

namespace {

using namespace wan;
using namespace wan_test;

/** What a site's hosts share on their way to the others: told by a map. */
std::string check_uplinks()
{
    const auto all_uplinks = [](facts f, int64_t times) {     // so many times slower than an interface
        f.uplink_ps.assign(static_cast<size_t>(f.sites), times * f.byte_ps);
        return f;
    };
    const topology four = topology::blocks(std::vector<int>(4, 8), 1), two = two_sites(), three = topology::blocks(std::vector<int>{4, 8, 5}, 1);
    const request r = call(WAN_BCAST, 16 << 20);
    const auto fast = choose(four, facts_of(four), {}, r), slow = choose(four, all_uplinks(facts_of(four), 10), {}, r);
    const int64_t least = facts_of(four).wan_ns + 10 * facts_of(four).wire_ns(r.bytes);
    // One copy leaves each site, not three, and in segments.
    WAN_CHECK_THAT(slow->order == site_order::chain && slow->segment_bytes <= r.bytes / 8, print(*slow));
    WAN_CHECK(slow->predicted_ns >= least && slow->predicted_ns < least + least / 4 && fast->predicted_ns < least / 2);
    const auto summed = choose(four, all_uplinks(facts_of(four), 10), {}, call(WAN_ALLREDUCE, 16 << 20));
    const int64_t one_ns = least - facts_of(four).wan_ns;
    // A quarter to each of three others, and what comes of its own; where sites have unlike numbers of hosts, all to both others.
    WAN_CHECK_THAT(summed->algo->crosses == crossing::by_share && summed->predicted_ns >= 2 * 3 * one_ns / 4 && summed->predicted_ns < 2 * one_ns, print(*summed));
    const auto unlike = choose(three, all_uplinks(facts_of(three), 10), {}, call(WAN_ALLREDUCE, 16 << 20));
    WAN_CHECK_THAT(unlike->algo->crosses == crossing::once && unlike->predicted_ns >= 2 * one_ns, print(*unlike));
    for (wan_collective_t c : {WAN_BCAST, WAN_ALLREDUCE, WAN_REDUCE}) {
        const auto p = choose(two, all_uplinks(facts_of(two), 10), {}, call(c, 16 << 20));
        WAN_CHECK_THAT(p->algo->long_messages && p->segment_bytes <= 2 << 20, print(*p));
    }
    const auto gathered = choose(two, all_uplinks(facts_of(two), 10), {}, {.collective = WAN_ALLGATHER, .bytes = 16 << 20});
    WAN_CHECK_THAT(gathered->algo->crosses == crossing::once, gathered->algo->name);

    // The uplink of one site is slow: it carries one copy.  A link is: there is a way around it.
    facts leaf = facts_of(four);
    leaf.uplink_ps = {0, 0, 0, 10 * leaf.byte_ps};
    facts pair = facts_of(four);
    pair.link_ps.assign(16, 0);
    pair.link_ps[3] = pair.link_ps[12] = 10 * pair.byte_ps;
    const auto to_leaf = choose(four, leaf, {}, r), around = choose(four, pair, {}, r);
    WAN_CHECK_THAT(to_leaf->predicted_ns >= least && to_leaf->predicted_ns < least + least / 4, print(*to_leaf));
    WAN_CHECK_THAT(around->order == site_order::chain && around->predicted_ns < least / 2, print(*around));

    // A way that nobody takes with copies costs none: two ranks send to a root among sixteen.
    const topology unequal = topology::blocks(std::vector<int>{16, 2}, 1);
    facts small = facts_of(unequal);
    small.uplink_ps = {0, 100 * small.byte_ps};
    const auto few = choose(unequal, small, {}, call(WAN_REDUCE, 4096));
    WAN_CHECK_THAT(few->predicted_ns < small.wan_ns + 2 * 4096 * small.uplink_ps[1] / 1000 + 5'000'000, print(*few));

    // Wide enough for all interfaces of a site: nothing changes, wherever the root is.
    facts known = facts_of(three), enough = known;
    known.pair_ns = {0, 5'000'000, 40'000'000, 5'000'000, 0, 12'000'000, 40'000'000, 12'000'000, 0};
    enough.pair_ns = known.pair_ns;
    enough.uplink_ps.assign(3, known.byte_ps / 1024);
    enough.link_ps.assign(9, known.byte_ps / 1024);
    for (wan_collective_t c : {WAN_BCAST, WAN_ALLREDUCE, WAN_REDUCE, WAN_BARRIER, WAN_SCAN, WAN_ALLGATHER, WAN_GATHER, WAN_SCATTER, WAN_REDUCE_SCATTER,
                               WAN_ALLTOALL})
        for (uint64_t bytes : sizes_tried)
            for (int root : {0, 6, 16}) {
                request asked = call(c, bytes);
                asked.root = kind_of(c).root ? root : 0;
                const auto without = choose(three, known, {}, asked), with = choose(three, enough, {}, asked);
                WAN_CHECK_THAT(without.has_value() == with.has_value(), wan_collective_name(c));
                if (with)
                    WAN_CHECK_THAT(with->predicted_ns >= without->predicted_ns && with->predicted_ns - without->predicted_ns <= without->predicted_ns / 100,
                                   print(*with) + " " + std::to_string(with->predicted_ns) + " instead of " + print(*without) + " " + std::to_string(without->predicted_ns));
            }
    return "";
}

/** A connection that is as fast as an interface is no limit of its own; one that is slower is, where one rank sends. */
std::string check_connections()
{
    const topology two = two_sites();
    facts wide = facts_of(two);
    wide.link_ps.assign(4, wide.byte_ps / 8);
    for (wan_collective_t c : {WAN_BCAST, WAN_SCATTER, WAN_GATHER, WAN_ALLGATHER, WAN_REDUCE_SCATTER, WAN_ALLREDUCE, WAN_SCAN})
        for (uint64_t bytes : sizes_tried) {
            facts fed = wide, narrow = wide;
            fed.flow_ps.assign(4, wide.byte_ps + wide.byte_ps / 20);       // measured, so not to the last digit
            narrow.flow_ps.assign(4, 8 * wide.byte_ps);
            const auto all = candidates(two, wide, {}, call(c, bytes)), as_fast = candidates(two, fed, {}, call(c, bytes)), slower = candidates(two, narrow, {}, call(c, bytes));
            WAN_CHECK(all.size() == as_fast.size() && all.size() == slower.size() && !all.empty());
            for (size_t i = 0; i < all.size(); ++i)
                WAN_CHECK_THAT(print(all[i]) == print(as_fast[i]) && all[i].predicted_ns == as_fast[i].predicted_ns, print(as_fast[i]));
            const auto one = std::find_if(slower.begin(), slower.end(), [&](const plan &p) { return p.algo->senders(two, p) == 1; });
            const uint64_t crosses = least_crossing(two, call(c, bytes), 0, site_order::star, 0, 1);
            if (one != slower.end() && crosses > 0)
                WAN_CHECK_THAT(one->predicted_ns >= wide.wan_ns + static_cast<int64_t>(crosses) * narrow.flow_ps[1] / 1000, print(*one));
        }
    return "";
}

/** A link that one host fills: however many send, nothing is predicted to cross it faster; a wide one several fill. */
std::string check_filled()
{
    const topology two = topology::blocks(std::vector<int>(2, 4), 1);
    const request r = call(WAN_ALLREDUCE, 16 << 20);
    facts full = facts_of(two), wide = facts_of(two);
    full.link_ps.assign(4, 5 * full.byte_ps);
    wide.link_ps.assign(4, wide.byte_ps / 4);
    const auto one = choose(two, full, {}, r), many = choose(two, wide, {}, r);
    const int64_t least_ns = full.wan_ns + static_cast<int64_t>(r.bytes) * full.link_ps[1] / 1000;
    WAN_CHECK_THAT(one->predicted_ns >= least_ns && one->predicted_ns < least_ns + least_ns / 10, print(*one));
    WAN_CHECK_THAT(many->links > 1 && many->predicted_ns < least_ns / 2, print(*many) + " " + std::to_string(many->predicted_ns));
    for (const plan &p : candidates(two, full, {}, r))
        WAN_CHECK_THAT(p.predicted_ns >= least_ns, print(p));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_uplinks>), cmocka_unit_test(test<check_connections>), cmocka_unit_test(test<check_filled>)};
    return cmocka_run_group_tests_name("shared_ways", tests, nullptr, nullptr);
}
