/*
 * Ways that seem to have got farther or nearer: which messages show that, when such a way is measured again, what is made of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
#include "knower.hpp"
#include "unit.hpp"

#include <algorithm>

namespace {

using namespace adaptive_test;
using namespace wan_test;

/** Services count messages themselves: a Bcast every 12 ms from one of two processes, or a Reduce, on a communicator beside
 *  another one; what both know of the way, and how often they measured. */
struct pair_of {
    adaptive_test::job j{2, test_seed() + 5};
    int64_t one_way_ns = 10 * ms;
    std::vector<adaptive_node *> nodes;
    std::vector<std::byte> bytes[2];

    pair_of()
    {
        j.delay_of = [this](int, int) { return one_way_ns; };
        for (int p = 0; p < 2; ++p)
            j.open(p, 1, up_to(2)), nodes.push_back(&j.open(p, 2, up_to(2))->node());
        run(100, true, 1), run(100, false, 1);
    }
    /** Two Bcasts, the second at once, in 150 ms. */
    void run_pair()
    {
        const int64_t next = j.now + 150 * ms;
        uint64_t ops[2][2];
        for (size_t p = 0; p < 2; ++p)
            for (int i = 0; i < 2; ++i) {
                bytes[p].resize(2);
                ops[p][i] = nodes[p]->broadcast_begin(0, std::span(bytes[p]).subspan(static_cast<size_t>(i), 1));
            }
        j.run([&] { return j.now >= next && std::all_of(ops[0], ops[0] + 2, [&](uint64_t op) { return nodes[0]->done(op); }) && std::all_of(ops[1], ops[1] + 2, [&](uint64_t op) { return nodes[1]->done(op); }); });
        for (size_t p = 0; p < 2; ++p)
            nodes[p]->end(ops[p][0]), nodes[p]->end(ops[p][1]);
    }
    /** So many calls. */
    void run(int calls, bool reduces, size_t size)
    {
        for (int i = 0; i < calls; ++i) {
            const int64_t next = j.now + 12 * ms;
            uint64_t ops[2];
            for (size_t p = 0; p < 2; ++p) {
                bytes[p].resize(size);
                ops[p] = reduces ? nodes[p]->reduce_begin(1, bytes[p], bytes[1].data(), {[](const std::byte *, std::byte *, size_t) {}, 1}) : nodes[p]->broadcast_begin(0, bytes[p]);
            }
            j.run([&] { return j.now >= next && nodes[0]->done(ops[0]) && nodes[1]->done(ops[1]); });
            for (size_t p = 0; p < 2; ++p)
                nodes[p]->end(ops[p]);
        }
    }
    std::string text() const
    {
        std::string s;
        for (int p = 0; p < 2; ++p) {
            const auto &near = nodes[static_cast<size_t>(p)]->near();
            s += std::to_string(p) + ": " + std::to_string(near.rtt_ns(1 - p) / us) + " us, " + std::to_string(near.doubts()) + " doubts, " + std::to_string(near.changes()) + " changes; ";
        }
        return s;
    }
    uint64_t doubts() const { return nodes[0]->near().doubts() + nodes[1]->near().doubts(); }
    bool both_know(int64_t rtt_ns) const
    {
        return std::all_of(nodes.begin(), nodes.end(), [&](const adaptive_node *n) {
            const int64_t known_ns = n->near().rtt_ns(1 - static_cast<int>(n == nodes[1]));
            return known_ns > rtt_ns - 2 * ms && known_ns < rtt_ns + 2 * ms;
        });
    }
};

std::string check_services()
{
    for (bool reduces : {false, true}) {
        pair_of p;
        WAN_CHECK_THAT(p.both_know(20 * ms) && p.doubts() == 0, p.text());
        p.run(250, reduces, 1);         // 3 s or more
        WAN_CHECK_THAT(p.both_know(20 * ms) && p.doubts() == 0, p.text());
        for (int64_t one_way_ns : {50 * ms, 10 * ms}) {
            p.one_way_ns = one_way_ns;
            const int64_t then = p.j.now;
            while (p.j.now < then + 3000 * ms && !p.both_know(2 * one_way_ns))
                p.run(1, reduces, 1);
            WAN_CHECK_THAT(p.both_know(2 * one_way_ns), p.text());
        }
    }
    // The same where calls are rare, and come in pairs, of which the second is right behind the first.
    for (int64_t one_way_ns : {50 * ms, 10 * ms}) {
        pair_of pairs;
        pairs.one_way_ns = 60 * ms - one_way_ns;
        for (const int64_t then = pairs.j.now; pairs.j.now < then + 4000 * ms;)
            pairs.run_pair();
        WAN_CHECK_THAT(pairs.both_know(2 * pairs.one_way_ns), pairs.text());
        pairs.one_way_ns = one_way_ns;
        for (const int64_t then = pairs.j.now; pairs.j.now < then + 2000 * ms && !pairs.both_know(2 * one_way_ns);)
            pairs.run_pair();
        WAN_CHECK_THAT(pairs.both_know(2 * one_way_ns), pairs.text());
    }
    // What waits behind others, or in an interface, does not show how far it is.
    pair_of p;
    p.j.rate = 300'000;
    p.run(60, false, 20'000);
    WAN_CHECK_THAT(p.both_know(20 * ms) && p.doubts() == 0, p.text());
    // The root computes: what has come is seen late.  That it has got farther is seen all the same.
    pair_of q;
    q.j.away = [](int process, int64_t now) { return process == 0 && now % (50 * ms) > ms; };
    q.run(200, false, 1);
    WAN_CHECK_THAT(q.doubts() == 0, q.text());
    q.one_way_ns = 100 * ms;
    q.run(100, false, 1);
    WAN_CHECK_THAT(q.nodes[0]->near().changes() > 0, q.text());
    // The other one does: it is asked some times.
    pair_of o;
    const auto then = o.j.now;
    o.j.away = [](int process, int64_t now) { return process == 1 && now % (50 * ms) > ms; };
    while (o.j.now < then + 60'000 * ms)
        o.run(10, false, 1);
    std::printf("who computes, by services: %s\n", o.text().c_str());
    WAN_CHECK_THAT(o.both_know(20 * ms) && o.doubts() > 1 && o.doubts() <= 6, o.text());
    return "";
}

std::string check_doubts()
{
    {
        knower k;
        WAN_CHECK(k.n.departs(1, 30 * ms) == 0 && k.n.departs(1, 31 * ms) == 1 && k.n.departs(1, 14 * ms) == 0 && k.n.departs(1, 12 * ms) == -1);
        WAN_CHECK(k.n.departs(1, 60 * ms, 31 * ms) == 0 && k.n.departs(1, 60 * ms, 20 * ms) == 1 && k.n.departs(1, 12 * ms, 10 * ms) == -1);
        WAN_CHECK(k.n.departs(2, 60 * ms) == 0 && k.n.departs(3, 60 * ms) == 0);      // near, and not known
        // Three pings say so, and the shortest counts; the other one is told.
        k.n.doubt(1, 1, k.now);
        WAN_CHECK(k.n.doubted(1) && k.n.rtt_ns(1) == 20 * ms);
        WAN_CHECK(k.answers(90 * ms) == 3 && !k.n.doubted(1) && k.n.rtt_ns(1) == 90 * ms && k.told_ns == 90 * ms && k.n.changes() == 1);
        WAN_CHECK(k.n.changed() == std::vector{1} && k.n.changed().empty());
        // Who is told believes it.
        tell_message m;
        m.what = tell_kind::distance;
        m.value_ns = 20 * ms;
        k.n.receive(1, m, k.now);
        WAN_CHECK(k.n.rtt_ns(1) == 20 * ms && k.n.changed() == std::vector{1} && k.answers(ms) == 0);
        m.value_ns = 21 * ms;
        k.n.receive(1, m, k.now);
        m.value_ns = 0;
        k.n.receive(1, m, k.now);
        WAN_CHECK(k.n.rtt_ns(1) == 20 * ms && k.n.changed().empty());
    }
    // One that says that it is where it was is enough; nor does what it may have waited count, there or here.
    for (const auto &[rtt, there, here, pings] : {std::tuple{22 * ms, 0 * ms, 0 * ms, 1}, {90 * ms, 61 * ms, 0 * ms, 1}, {90 * ms, 30 * ms, 31 * ms, 1}, {90 * ms, 20 * ms, 20 * ms, 3}}) {
        knower k;
        k.n.doubt(1, 1, k.now);
        WAN_CHECK(k.answers(rtt, there, here) == pings && k.n.rtt_ns(1) == (pings == 3 ? 50 * ms : 20 * ms));
    }
    knower nearer;
    nearer.n.doubt(1, -1, nearer.now);
    WAN_CHECK(nearer.answers(4 * ms, 3 * ms) == 3 && nearer.n.rtt_ns(1) == 4 * ms);
    // Doubted all the time, it is measured a few times in the first minute, and once in each later one.
    knower k;
    std::vector<int> in_minute(5);
    for (const int64_t began = k.now; k.now < began + 300 * second_ns; k.now += 100 * ms) {
        const uint64_t before = k.n.doubts();
        const auto minute = static_cast<size_t>((k.now - began) / (60 * second_ns));
        k.n.doubt(1, 1, k.now);
        k.answers(20 * ms);
        in_minute[minute] += static_cast<int>(k.n.doubts() - before);
    }
    WAN_CHECK_THAT(in_minute[0] >= 3 && in_minute[0] <= 5 && in_minute[1] == 1 && in_minute[4] <= 1, std::to_string(in_minute[0]) + ", then " + std::to_string(in_minute[1]));
    // After a few quiet minutes it is as it was.
    k.now += 200 * second_ns;
    k.n.doubt(1, 1, k.now);
    WAN_CHECK(k.answers(20 * ms) == 1);
    k.now += 3 * second_ns;
    k.n.doubt(1, 1, k.now);
    WAN_CHECK(k.answers(20 * ms) == 1);
    return "";
}

/** What went behind long operations, here or there, does not show that a way has got farther; that it has got nearer shows anywhere. */
std::string check_loaded()
{
    {
        knower k;
        k.loaded = true;
        k.n.doubt(1, 1, k.now);
        WAN_CHECK(!k.n.doubted(1) && k.n.doubts() == 0);
        k.n.doubt(1, -1, k.now);
        WAN_CHECK(k.answers(4 * ms) == 3 && k.n.rtt_ns(1) == 4 * ms && k.n.changes() == 1);
    }
    for (bool here : {false, true}) {
        knower k;
        k.n.doubt(1, 1, k.now);
        k.loaded = here;
        WAN_CHECK(k.answers(90 * ms, 0, 0, here ? 0 : 12) == 12 && k.n.rtt_ns(1) == 20 * ms && !k.n.doubted(1) && k.n.changes() == 0 && k.told_ns == 0);
        // Soon it is asked again, and then believed: one that nothing was in front of is enough.
        k.loaded = false;
        k.now += 300 * ms;
        k.n.doubt(1, 1, k.now);
        WAN_CHECK(k.answers(90 * ms, 0, 0, here ? 2 : 5) == (here ? 3 : 6) && k.n.rtt_ns(1) == 90 * ms && k.n.changes() == 1);
        // What has turned out to be so is trusted as at first.
        k.now += 1900 * ms;
        k.n.doubt(1, -1, k.now);
        WAN_CHECK(k.answers(20 * ms) == 0);
        k.now += 200 * ms;
        k.n.doubt(1, -1, k.now);
        WAN_CHECK(k.answers(20 * ms) == 3 && k.n.rtt_ns(1) == 20 * ms);
        // Also when it is doubted for nothing after that.
        for (int i = 0; i < 2; ++i) {
            k.now += 2100 * ms;
            k.n.doubt(1, 1, k.now);
            WAN_CHECK(k.answers(20 * ms) == 1);
        }
    }
    // All that a pong says gets there.
    tell_message pong;
    pong.what = tell_kind::pong;
    pong.value_ns = 7;
    pong.hint = 3;
    for (bool slow : {false, true}) {
        pong.slow = slow;
        const std::vector<std::byte> bytes = message_put(pong);
        tell_message got;
        WAN_CHECK(message_get(got, bytes, 10) && got.what == tell_kind::pong && got.value_ns == 7 && got.hint == 3 && got.slow == slow);
    }
    // While that goes on it is not doubted once more, however long it takes.
    knower again;
    again.n.doubt(1, 1, again.now);
    again.n.step(again.now, false);
    for (int ping = 0; ping < 6; ++ping) {
        again.sent.clear();
        again.now += 900 * ms;
        tell_message pong;
        pong.what = tell_kind::pong;
        pong.slow = true;
        again.n.receive(1, pong, again.now);
        again.n.doubt(1, 1, again.now);
        WAN_CHECK(again.n.doubted(1) && again.n.doubts() == 1);
    }
    // One behind them that took no longer is as good as any.
    knower fine;
    fine.n.doubt(1, 1, fine.now);
    WAN_CHECK(fine.answers(22 * ms, 0, 0, 1) == 1 && fine.n.rtt_ns(1) == 20 * ms);
    // What another one says is trusted, too.
    knower k;
    tell_message m;
    m.what = tell_kind::distance;
    m.value_ns = 90 * ms;
    k.n.receive(1, m, k.now);
    k.n.doubt(1, -1, k.now);
    WAN_CHECK(k.n.rtt_ns(1) == 90 * ms && k.answers(20 * ms) == 0);
    return "";
}

/** What came before its communicator was open here has waited for that. */
std::string check_opens_late()
{
    for (bool reduces : {false, true}) {
        pair_of p;
        for (uint64_t number = 3; number < 43; ++number) {
            std::vector<std::byte> bytes[2] = {std::vector<std::byte>(1), std::vector<std::byte>(1)};
            adaptive_node *both[2] = {};
            uint64_t ops[2] = {};
            for (int r : {static_cast<int>(number % 2), 1 - static_cast<int>(number % 2)}) {
                const auto i = static_cast<size_t>(r);
                both[i] = &p.j.open(r, number, up_to(2))->node();
                ops[i] = reduces ? both[i]->reduce_begin(1, bytes[i], bytes[1].data(), {[](const std::byte *, std::byte *, size_t) {}, 1}) : both[i]->broadcast_begin(0, bytes[i]);
                const int64_t until = p.j.now + static_cast<int64_t>(number) * 5 * ms;
                p.j.run([&] { return p.j.now >= until; });
            }
            p.j.run([&] { return both[0]->done(ops[0]) && both[1]->done(ops[1]); });
            uint64_t doubts = 0;
            for (size_t i = 0; i < 2; ++i) {
                doubts += both[i]->near().doubts();
                both[i]->end(ops[i]);
            }
            WAN_CHECK_THAT(doubts == 0, std::to_string(doubts) + " doubts in communicator " + std::to_string(number));
        }
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_doubts>), cmocka_unit_test(test<check_loaded>), cmocka_unit_test(test<check_services>), cmocka_unit_test(test<check_opens_late>)};
    return cmocka_run_group_tests_name("adaptive doubts", tests, nullptr, nullptr);
}
