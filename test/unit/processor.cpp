/*
 * What combining and copying take in predictions: much beside fast interfaces, nothing beside slow ones; and how both
 * are measured.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/processor.hpp"

#include "algo/sites.hpp"
#include "planned.hpp"
#include "unit.hpp"

namespace {

using namespace wan;
using namespace wan_test;

constexpr wan_collective_t reductions[] = {WAN_REDUCE, WAN_ALLREDUCE, WAN_SCAN, WAN_EXSCAN, WAN_REDUCE_SCATTER};

/** Interfaces of 100 Gb/s. */
facts fast_facts(const topology &t)
{
    facts f = facts_of(t);
    f.byte_ps = 80;
    return f;
}
facts with(facts f, int64_t copy_ps, int64_t reduce_ps)
{
    f.copy_ps = copy_ps, f.reduce_ps = reduce_ps;
    return f;
}
int64_t cost(const topology &t, const facts &f, const request &r, const plan &p) { return p.algo->cost(t, f, r, p); }

std::string said(const plan &p, int64_t before_ns, int64_t now_ns)
{
    return std::string(wan_collective_name(p.algo->collective)) + ' ' + print(p) + ": " + std::to_string(before_ns) + ", then " + std::to_string(now_ns);
}

std::string check_terms()
{
    facts f;
    WAN_CHECK(f.copy_ps == 30 && f.reduce_ps == 30);
    f = with(f, 7, 11);
    WAN_CHECK(combine_ns(f, 1'000'000) == 11'000 && copied_ns(f, 1'000'000) == 7'000 && combine_ns(f, 0) == 0);
    WAN_CHECK(combine_ns(f, INT64_MAX) > 0 && combine_ns(with(f, 1, INT64_MAX), INT64_MAX) > 0);
    // One piece: first the one, then the other; many: what takes longer.
    WAN_CHECK(beside_ns(100, 40, 1) == 40 && beside_ns(40, 100, 1) == 100 && beside_ns(100, 40, 4) == 10 && beside_ns(40, 100, 4) == 70);
    f.message_ns = f.lan_ns = f.step_ns = 0;
    WAN_CHECK(pipeline(f, 1000, 1, 0, 0) == 1000 && pipeline(f, 1000, 1, 0, 500) >= 1500);
    WAN_CHECK(pipeline(f, 1000, 100, 0, 500) < 1500 && pipeline(f, 500, 100, 0, 1000) < 1500 && pipeline(f, 500, 100, 0, 1000) >= 1000);
    WAN_CHECK(tree_up_ns(f, 1'000'000, 8, 1) - tree_ns(f, 1'000'000, 8, 1) == 3 * 11'000);
    return "";
}

/** Each way of reducing has a host that combines nearly all of a vector: before it sends on, or while it takes in what is next. */
std::string check_reductions()
{
    const topology t = two_sites();
    const facts fast = fast_facts(t), slow = lab_facts(t);
    size_t whole = 0, cut_ones = 0;
    for (wan_collective_t c : reductions)
        for (uint64_t bytes : {64u << 10, 1u << 20, 16u << 20})
            for (const bool commutative : {true, false}) {
                const request r = call(c, bytes, commutative);
                const int64_t nearly = static_cast<int64_t>(r.bytes) * 7 / 8;
                for (const plan &p : candidates(t, fast, {}, r)) {
                    const int64_t never = cost(t, with(fast, 0, 0), r, p), now = cost(t, with(fast, 0, 30), r, p);
                    const bool one = p.segment_bytes >= r.bytes && p.pieces == 1;
                    ++(one ? whole : cut_ones);
                    // (Of blocks, those that stay in the site are combined while the others cross.)
                    const int64_t least = c == WAN_REDUCE_SCATTER ? nearly / 2 : nearly;
                    WAN_CHECK_THAT(now > never && (!one || now >= never + least * 30 / 1000), said(p, never, now));
                    const int64_t bound = cost(t, with(fast, 0, 10'000), r, p);
                    WAN_CHECK_THAT(bound >= nearly * 10, said(p, never, bound));
                    // 40 Mb/s: not even a 500th.
                    const int64_t lab = cost(t, with(slow, 0, 0), r, p), lab_now = cost(t, with(slow, 30, 30), r, p);
                    WAN_CHECK_THAT(lab_now >= lab && lab_now - lab <= lab / 500, said(p, lab, lab_now));
                }
            }
    WAN_CHECK_THAT(whole > 20 && cut_ones > 200, std::to_string(whole) + " " + std::to_string(cut_ones));
    return "";
}

/** Flat: one combines all of them; leaders: those that it hears from, with one message more than a broadcast down the same tree at least. */
std::string check_shapes()
{
    const topology t = two_sites();
    const facts f = with(fast_facts(t), 0, 30);
    const uint64_t bytes = 32 << 10;
    size_t seen = 0;
    for (wan_collective_t c : {WAN_REDUCE, WAN_ALLREDUCE})
        for (const plan &p : candidates(t, f, {}, call(c, bytes))) {
            const int64_t never = cost(t, with(f, 0, 0), call(c, bytes), p), now = cost(t, f, call(c, bytes), p), one = combine_ns(f, bytes);
            const std::string name = p.algo->name;
            seen += name == "flat" || name == "leaders";
            WAN_CHECK_THAT(name != "flat" || now - never == (t.size() - 1) * one, said(p, never, now));
            WAN_CHECK_THAT(name != "leaders" || (now - never >= 2 * one && now - never < (t.size() - 1) * one), said(p, never, now));
        }
    WAN_CHECK(seen > 3);
    for (const plan &p : candidates(t, f, {}, call(WAN_BCAST, bytes)))
        WAN_CHECK_THAT(cost(t, with(f, 30, 30), call(WAN_BCAST, bytes), p) == cost(t, with(f, 0, 0), call(WAN_BCAST, bytes), p), print(p));
    // A reduction along a chain and the broadcast along it: the hops' combining, and one's beside the interface.
    const request up = call(WAN_REDUCE, 16 << 20), down = call(WAN_BCAST, 16 << 20);
    for (plan p : candidates(t, f, {}, up))
        if (std::string(p.algo->name) == "chain" && p.links == 1 && p.segment_bytes == up.bytes) {
            plan q = p;
            for (const plan &x : candidates(t, f, {}, down))
                if (std::string(x.algo->name) == "chain" && x.links == 1 && x.segment_bytes == down.bytes)
                    q = x;
            const int64_t reduced = cost(t, f, up, p), sent = cost(t, f, down, q);
            WAN_CHECK_THAT(reduced >= sent + combine_ns(f, 16 << 20), said(p, sent, reduced));
            ++seen;
        }
    WAN_CHECK(seen > 4);
    return "";
}

/** Ranks of a host copy what they hand on; bundles are sorted where ranks are not in the order of slots, Alltoall's always. */
std::string check_copies()
{
    const topology alone = two_sites(), shared = two_sites(8, 4);
    std::vector<place> mixed;
    for (int r = 0; r < 16; ++r)
        mixed.push_back({r % 2 ? "a" : "b", static_cast<uint64_t>(r), 0});
    const topology turns(mixed);
    WAN_CHECK(alone.in_slot_order() && !turns.in_slot_order());
    const auto grows = [](const topology &t, wan_collective_t c, const char *name) {
        const facts f = with(fast_facts(t), 0, 0);
        const request r = call(c, 1024 * static_cast<uint64_t>(t.size()));
        size_t all = 0, more = 0;
        for (const plan &p : candidates(t, f, {}, r))
            if (std::string(p.algo->name) == name) {
                const int64_t before = cost(t, f, r, p), now = cost(t, with(f, 1000, 0), r, p);
                ++all;
                more += now > before;
                if (now < before)
                    return -1;
            }
        return all == 0 ? -1 : more == all ? 1 : more == 0 ? 0 : -1;
    };
    for (const char *name : {"tree", "chain", "vandegeijn"})
        WAN_CHECK_THAT(grows(alone, WAN_BCAST, name) == 0 && grows(shared, WAN_BCAST, name) == 1, name);
    for (const char *name : {"leaders", "rabenseifner"})
        WAN_CHECK_THAT(grows(alone, WAN_ALLREDUCE, name) == 0 && grows(shared, WAN_ALLREDUCE, name) == 1, name);
    WAN_CHECK(grows(alone, WAN_ALLTOALL, "bundled") == 1 && grows(alone, WAN_ALLTOALL, "bruck") == 1 && grows(alone, WAN_ALLTOALL, "direct") == 0);
    for (wan_collective_t c : {WAN_GATHER, WAN_SCATTER})
        WAN_CHECK(grows(alone, c, "bundled") == 0 && grows(turns, c, "bundled") == 1 && grows(turns, c, "direct") == 0);
    for (const char *name : {"leaders", "counterpart"})
        WAN_CHECK_THAT(grows(alone, WAN_ALLGATHER, name) == 0 && grows(turns, WAN_ALLGATHER, name) == 1 && grows(shared, WAN_ALLGATHER, name) == 1, name);
    return "";
}

/** From a picosecond to a tenth of a microsecond for a byte, on any processor; once in a process. */
std::string check_measured()
{
    const processor &here = processor_here();
    const std::string what = std::to_string(here.copy_ps) + " and " + std::to_string(here.reduce_ps) + " ps";
    WAN_CHECK_THAT(here.copy_ps >= 1 && here.copy_ps < 100'000 && here.reduce_ps >= 1 && here.reduce_ps < 100'000, what);
    WAN_CHECK(&processor_here() == &here);
    std::printf("copying and combining: %s a byte\n", what.c_str());
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_terms>), cmocka_unit_test(test<check_reductions>), cmocka_unit_test(test<check_shapes>),
                                cmocka_unit_test(test<check_copies>), cmocka_unit_test(test<check_measured>)};
    return cmocka_run_group_tests_name("processor", tests, nullptr, nullptr);
}
