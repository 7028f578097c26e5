/*
 * Ways that seem to have got farther or nearer: which messages show that, when such a way is measured again, what is made of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
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

/** A process that knows another one 20 ms away, and answers of that one. */
struct knower {
    std::vector<std::pair<int, tell_message>> sent;
    int64_t now = second_ns;
    neighbours n{{}, 10, 5, [this](int to, const tell_message &m) { sent.emplace_back(to, m); }};
    knower()
    {
        n.know(1, {20 * ms, 1'000'000, 0});
        n.know(2, {100 * us, 1'000'000, 0});
        n.step(now, false);
        for (const auto &[to, m] : std::exchange(sent, {}))
            for (int i = 0; i < 3; ++i)
                pong(to, 30 * ms);
        sent.clear();
    }
    void pong(int from, int64_t waited_ns = 0)
    {
        tell_message m;
        m.what = tell_kind::pong;
        m.value_ns = waited_ns;
        n.receive(from, m, now);
    }
    /** Answers to its pings to 1; how many there were. */
    int answers(int64_t rtt_ns, int64_t waited_there_ns = 0, int64_t waited_here_ns = 0)
    {
        int pings = 0;
        n.step(now, false);
        for (bool more = true; more;) {
            more = false;
            for (const auto &[to, m] : std::exchange(sent, {}))
                if (to == 1 && m.what == tell_kind::ping) {
                    now += rtt_ns;
                    tell_message pong;
                    pong.what = tell_kind::pong;
                    pong.value_ns = waited_there_ns;
                    n.receive(1, pong, now, waited_here_ns);
                    ++pings, more = true;
                } else
                    told_ns = m.what == tell_kind::distance ? m.value_ns : told_ns;
        }
        return pings;
    }
    int64_t told_ns = 0;
};

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

/** Who was away has what came meanwhile in one look, also where that takes a millisecond_ns. */
std::string check_looks()
{
    looks l;
    l.at(second_ns);
    WAN_CHECK(l.away_ns(second_ns) == 0);
    for (int64_t now = second_ns; now < second_ns + ms; now += 10 * us)
        l.at(now);
    WAN_CHECK(l.away_ns(second_ns + ms) == 0);
    const int64_t back = second_ns + 51 * ms;
    l.at(back), l.at(back + 900 * us);
    WAN_CHECK(l.away_ns(back) >= 50 * ms && l.away_ns(back + 900 * us) >= 50 * ms);
    for (int64_t now = back + ms; now < back + 3 * ms; now += 10 * us)
        l.at(now);
    WAN_CHECK(l.away_ns(back + 3 * ms) == 0);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_looks>), cmocka_unit_test(test<check_doubts>), cmocka_unit_test(test<check_services>)};
    return cmocka_run_group_tests_name("adaptive doubts", tests, nullptr, nullptr);
}
