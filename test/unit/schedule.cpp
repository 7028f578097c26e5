/*
 * The text of schedules: back and forth for every algorithm, reasons for what
 * is malformed, and a few small schedules as golden text.  To write that anew
 * after a change that is meant, in the build directory, and look at the diff:
 *
 *     make check TESTS=test/unit/schedule WAN_GOLDEN_WRITE=1
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/registry.hpp"
#include "matrix.hpp"

#include "unit.hpp"

namespace {

using namespace wan;
using namespace wan_test;

std::string check_round_trip()
{
    std::set<const algorithm *> seen;
    for (const auto &sizes : {std::vector<int>{3, 2}, {4, 1, 2}, {2, 2, 2}})
        for (const auto &[how, lanes] : {std::pair{placement::shuffled, 1}, {placement::shuffled, 2}, {placement::block, 2}}) {
            const topology t = lay_out(sizes, how, lanes, test_seed());
            for (const algorithm *a : algorithms()) {
                if (!a->serves(t, {.collective = a->collective, .bytes = 8, .element_bytes = 1, .commutative = true}))
                    continue;   // perhaps it wants ranks in blocks
                seen.insert(a);
                for (const plan &p : plans_of(*a, t))
                    for (int r = 0; r < t.size(); ++r) {
                        const schedule s = build_schedule(t, p, r);
                        const std::string text = print(s);
                        std::string why;
                        const auto back = parse_schedule(text, &why);
                        WAN_CHECK_THAT(back, why + "\n" + text);
                        WAN_CHECK(print(*back) == text && back->me == s.me && back->tmp_count == s.tmp_count && back->turn == s.turn && back->preds == s.preds);
                        for (size_t i = 0; i < s.ops.size(); ++i) {
                            const op &x = s.ops[i], &y = back->ops[i];
                            WAN_CHECK(x.kind == y.kind && x.label == y.label && x.src == y.src && x.dst == y.dst && x.peer == y.peer
                                      && x.part.lo.num == y.part.lo.num && x.part.hi.den == y.part.hi.den);
                        }
                    }
            }
        }
    for (const algorithm *a : algorithms())
        WAN_CHECK_THAT(seen.contains(a), std::string("none of these shapes is served by ") + a->name);
    return "";
}

std::string check_malformed()
{
    const std::string head = "schedule rank 0 tmp 1\n";
    const struct {
        std::string text;
        const char *says;
    } rows[] = {
        {"", "line 1: empty"},
        {"\n", "line 1: expected 'schedule rank R tmp T'"},
        {"schedule rank x tmp 0\n", "line 1: expected 'schedule"},
        {"schedule rank 0\n", "line 1: expected 'schedule"},
        {"plan rank 0 tmp 0\n", "line 1: expected 'schedule"},
        {head + "1 copy in out 0/1..1/1\n", "line 2: expected the number of the operation"},
        {head + "copy in out 0/1..1/1\n", "line 2: expected the number"},
        {head + "0\n", "line 2: expected the number"},
        {head + "0 copy in out 0/1..1/1\n0 copy in out 0/1..1/1\n", "line 3: expected the number"},
        {head + "0 move in out 0/1..1/1\n", "expected send, recv, reduce, copy, signal or await"},
        {head + "0 copy in 0/1..1/1\n", "expected two buffers"},
        {head + "0 send tmpx 0/1..1/1 to 1 label 0\n", "expected a buffer"},
        {head + "0 send tmp 0/1..1/1 to 1 label 0\n", "expected a buffer"},
        {head + "0 send tmp250 0/1..1/1 to 1 label 0\n", "expected a buffer"},
        {head + "0 copy in out\n", "expected a part"},
        {head + "0 copy in out 0..1\n", "expected a part"},
        {head + "0 copy in out 0/1-1/1\n", "expected a part"},
        {head + "0 copy in out 0/0..1/1\n", "expected a part"},
        {head + "0 copy in out 0/1..2/1\n", "expected a part"},
        {head + "0 copy in out -1/2..1/2\n", "expected a part"},
        {head + "0 copy in out 0/4294967296..1/1\n", "expected a part"},
        {head + "0 send in 0/1..1/1 from 1 label 0\n", "expected 'to' or 'from'"},
        {head + "0 recv out 0/1..1/1 to 1 label 0\n", "expected 'to' or 'from'"},
        {head + "0 recv out 0/1..1/1 from -1 label 0\n", "expected 'to' or 'from'"},
        {head + "0 recv out 0/1..1/1 from 1\n", "expected 'label'"},
        {head + "0 recv out 0/1..1/1 from 1 label 65536\n", "expected 'label'"},
        {head + "0 copy in out 0/1..1/1 before 1\n", "expected 'after'"},
        {head + "0 copy in out 0/1..1/1 after 0\n", "expected the number of an earlier"},
        {head + "0 copy in out 0/1..1/1 after x\n", "expected the number of an earlier"},
        {head + "turn 0\n", "line 2: expected one turn"},
        {head + "0 copy in out 0/1..1/1\nturn 1\n", "line 3: expected one turn"},
        {head + "0 copy in out 0/1..1/1\nturn 0\nturn 0\n", "line 4: expected one turn"},
    };
    for (const auto &r : rows) {
        std::string why;
        WAN_CHECK_THAT(!parse_schedule(r.text, &why), r.text);
        WAN_CHECK_THAT(why.find(r.says) != why.npos, "'" + r.text + "' says: " + why);
        WAN_CHECK(!parse_schedule(r.text, nullptr));
    }
    std::string why;
    WAN_CHECK_THAT(parse_schedule(head + "\n0 copy in out 0/1..1/1\n\n", &why), why);
    const std::string moved = "schedule rank 0 tmp 1 blocks 4..9\n0 copy in tmp0 1+0/1..2+0/1 shift 5\n1 copy tmp0 out 6+0/1..7+0/1 shift -6 after 0\n";
    const auto s = parse_schedule(moved, &why);
    WAN_CHECK_THAT(s && print(*s) == moved, why);
    WAN_CHECK(!parse_schedule(head + "\n0 copy in out 0/1..1/1 shift\n", &why) && why.find("'shift'") != why.npos);
    WAN_CHECK(!parse_schedule(head + "\n0 reduce in out 0/1..1/1 shift 1\n", &why));
    return "";
}

/** Damaged text must give a schedule or a reason, never anything else. */
std::string check_damaged()
{
    const int sizes[] = {3, 2};
    const topology t = topology::blocks(sizes);
    std::mt19937_64 random(test_seed());
    plan p;
    p.algo = algorithm_named(WAN_ALLREDUCE, "rabenseifner");
    p.links = 1;
    const std::string good = print(build_schedule(t, p, 0));
    const std::string letters = "0123456789 /.\nabcdefglmnoprstu-";
    for (int i = 0; i < 20'000; ++i) {
        std::string text = good;
        for (int k = 1 + static_cast<int>(random() % 3); k > 0; --k)
            switch (const size_t at = random() % text.size(); random() % 3) {
            case 0: text[at] = letters[random() % letters.size()]; break;
            case 1: text.erase(at, 1 + random() % 4); break;
            case 2: text.insert(at, 1, letters[random() % letters.size()]); break;
            }
        std::string why;
        const auto s = parse_schedule(text, &why);
        WAN_CHECK_THAT(s || !why.empty(), text);
        if (s)
            verify_static(*s);
    }
    return "";
}

std::string golden_text()
{
    std::string text = "Schedules of all ranks for a few small plans. Written by test/unit/schedule.cpp, which says how.\n";
    const int two[] = {2, 2}, three[] = {3, 2, 1}, wider[] = {4, 3}, five[] = {5, 5}, even[] = {2, 2, 2};
    auto show = [&](const char *title, const topology &t, const char *line) {
        const auto p = parse_plan(line);
        text += "\n# " + std::string(title) + "\n# " + line + "\n";
        for (int r = 0; r < t.size(); ++r)
            text += print(build_schedule(t, *p, r));
    };
    const topology a = topology::blocks(two), b = topology::blocks(three), c = topology::blocks(two, 2), d = topology::blocks(wider),
                   e = topology::blocks(five), f = topology::blocks(even);
    show("2 sites of 2 hosts", a, "bcast tree root 0");
    show("2 sites of 2 hosts", a, "bcast vandegeijn root 0 links 2");
    show("2 sites of 2 hosts", a, "bcast farfirst root 1");
    show("2 sites of 2 hosts", a, "allreduce flat");
    show("2 sites of 2 hosts", a, "allreduce leaders");
    show("2 sites of 2 hosts", a, "allreduce rabenseifner links 2");
    show("2 sites of 2 hosts, one gateway", a, "allreduce rabenseifner links 1");
    show("2 sites of 2 hosts", a, "allreduce twotier");
    show("2 sites of 2 hosts", a, "allreduce ordered");
    show("sites of 3, 2 and 1 hosts", b, "bcast vandegeijn root 3 links 3 order chain");
    show("sites of 4 and 3 hosts", d, "allreduce rabenseifner links 4");
    show("sites of 4 and 3 hosts", d, "allreduce rabenseifner links 2 inner ring");
    show("2 sites of 5 hosts: 4 blocks in both", e, "bcast vandegeijn root 0 links 5");
    show("3 sites of 2 hosts", f, "allreduce counterpart");
    show("2 sites of 2 hosts", a, "alltoall pair_light_barrier");
    show("2 sites of 2 hosts", a, "alltoall ring_one_barrier");
    show("2 sites of 2 hosts", a, "alltoall bruck");
    show("2 sites of 2 hosts with 2 ranks each", c, "bcast tree root 3 lambda 2 entries 2");
    return text;
}

std::string check_golden() { return golden_compare(test_file("golden/schedules.txt"), golden_text()); }

std::string check_plans()
{
    for (const algorithm *a : algorithms()) {
        plan p;
        p.algo = a;
        p.root = 17;
        p.links = 15;
        p.lambda = 3;
        p.entries = 4;
        p.order = site_order::chain;
        p.segment_bytes = 8192;
        p.window = 8;
        const std::string text = print(p);
        const auto back = parse_plan(text);
        WAN_CHECK_THAT(back && print(*back) == text, text);
        WAN_CHECK(back->algo == a && back->root == 17 && back->links == 15 && back->lambda == 3 && back->entries == 4
                  && back->order == site_order::chain && back->segment_bytes == 8192 && back->window == 8);
        WAN_CHECK(algorithm_named(a->collective, a->name) == a);
    }
    const auto p = parse_plan("bcast vandegeijn root 0 links 15 lambda 1 entries 1 order star inner ring pieces 1 segment 8192 window 8");
    WAN_CHECK(p && print(*p) == "bcast vandegeijn root 0 links 15 lambda 1 entries 1 order star inner ring pieces 1 segment 8192 window 8");
    const auto least = parse_plan("allreduce flat");
    WAN_CHECK(least && least->links == 1 && least->window == 1 && least->segment_bytes == UINT64_MAX);
    for (const char *bad : {"", "bcast", "bcast nothing", "gather tree", "allreduce tree", "bcast tree root", "bcast tree root x", "bcast tree links 0",
                            "bcast tree lambda 0", "bcast tree entries 0", "bcast tree segment 0", "bcast tree window 0", "bcast tree order ring",
                            "bcast tree order", "bcast tree speed 3", "bcast tree links 4294967296", "bcast tree links 1 x", "bcast tree root -1",
                            "bcast tree links -1", "bcast tree window -1"})
        WAN_CHECK_THAT(!parse_plan(bad), bad);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_round_trip>), cmocka_unit_test(test<check_malformed>), cmocka_unit_test(test<check_damaged>),
        cmocka_unit_test(test<check_golden>),     cmocka_unit_test(test<check_plans>),
    };
    return cmocka_run_group_tests_name("schedule", tests, nullptr, nullptr);
}
