/*
 * The parts of adaptive trees by themselves: sets of ranks against std::set,
 * messages there and back and mutilated, who is near.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/neighbours.hpp"
#include "unit.hpp"

#include <memory>
#include <random>
#include <set>

namespace {

using namespace wan;
using namespace wan_test;

rank_set as_set(const std::set<int> &s)
{
    rank_set r;
    for (int x : s)
        r |= rank_set::one(x);
    return r;
}

std::set<int> members(const rank_set &r)
{
    std::set<int> s;
    r.each([&](int x) { s.insert(x); });
    return s;
}

std::string check_rank_sets()
{
    std::mt19937_64 random(test_seed());
    for (int i = 0; i < 3000; ++i) {
        const int n = 1 + static_cast<int>(random() % 80);
        std::set<int> a, b, both, either, only;
        for (int r = 0; r < n; ++r) {
            const auto x = random() % 8;        // runs as well as single ranks
            if (x < 2 || (a.count(r - 1) && x < 6))
                a.insert(r);
            if (x > 5 || (b.count(r - 1) && x > 2))
                b.insert(r);
            if (a.count(r) && b.count(r))
                both.insert(r);
            if (a.count(r) || b.count(r))
                either.insert(r);
            if (a.count(r) && !b.count(r))
                only.insert(r);
        }
        const rank_set x = as_set(a), y = as_set(b);
        WAN_CHECK(members(x) == a && x.size() == static_cast<int>(a.size()) && x.empty() == a.empty());
        WAN_CHECK(members(x & y) == both && members(x | y) == either && members(x - y) == only);
        WAN_CHECK((x & y) == as_set(both) && (x | y) == as_set(either) && x.intersects(y) == !both.empty());
        for (int r = -1; r <= n; ++r)
            WAN_CHECK(x.contains(r) == (a.count(r) == 1));
        wire_writer w;
        x.put(w);
        rank_set back;
        wire_reader reader(w.bytes());
        WAN_CHECK(back.get(reader, n) && back == x && reader.rest().empty());
        wire_reader narrow(w.bytes());
        WAN_CHECK(a.empty() || !back.get(narrow, *a.rbegin()));     // a rank that is none
    }
    // Worst and best of 4096.
    rank_set odd;
    for (int r = 0; r < 4096; r += 2)
        odd |= rank_set::one(r);
    wire_writer scattered, block;
    odd.put(scattered);
    rank_set::range(512, 1024).put(block);
    WAN_CHECK(scattered.bytes().size() <= 515 && block.bytes().size() <= 5);
    return "";
}

std::string check_messages()
{
    std::mt19937_64 random(test_seed());
    const int ranks = 300;
    const auto rank = [&] { return static_cast<int>(random() % ranks); };
    for (int i = 0; i < 4000; ++i) {
        tell_message m;
        m.what = static_cast<tell_kind>(static_cast<int>(random() % static_cast<int>(tell_kind::kinds)));
        m.id = static_cast<uint32_t>(random());
        m.value_ns = static_cast<int64_t>(random() >> (1 + random() % 60));
        m.last = random() % 2;
        m.hint = rank() - 1;
        m.tree = {rank(), random() % 2 == 1};
        m.view = {random() % 2 == 1, static_cast<int64_t>(random() >> 20), random() >> 1, rank(), rank_set::range(rank() / 2, rank()), rank() - 1,
                  static_cast<int64_t>(random() >> 30), rank(), rank() - 1, rank() - 1};
        m.end = rank() - 1;
        m.op = random() >> (random() % 64);
        m.children = rank();
        m.ranks = rank_set::range(0, rank()) - rank_set::range(rank(), ranks);
        m.bytes = random() >> 20;
        m.segment_bytes = random() >> 40;
        m.index = static_cast<uint32_t>(random());
        const auto bytes = message_put(m);
        tell_message back;
        WAN_CHECK(message_get(back, bytes, ranks) && back.what == m.what && back.payload.empty());
        WAN_CHECK(message_put(back) == bytes);      // every field of that kind has come
        if (m.what == tell_kind::deliver)
            WAN_CHECK(back.tree == m.tree && back.op == m.op && back.ranks == m.ranks && back.bytes == m.bytes
                      && back.segment_bytes == m.segment_bytes);
        if (m.what == tell_kind::tell)
            WAN_CHECK(back.view == m.view && back.tree == m.tree);
        if (m.what == tell_kind::contribute)
            WAN_CHECK(back.last == m.last && back.index == m.index && back.ranks == m.ranks && back.op == m.op);
        for (size_t cut = 0; cut < bytes.size(); ++cut)
            WAN_CHECK_THAT(!message_get(back, std::span(bytes).first(cut), ranks), "kind " + std::to_string(static_cast<int>(m.what)));
        auto spoilt = bytes;
        for (int k = 0; k < 20; ++k) {
            spoilt[random() % spoilt.size()] = static_cast<std::byte>(random());
            if (message_get(back, spoilt, ranks)) {     // then it means something
                WAN_CHECK(back.tree.root >= 0 && back.tree.root < ranks && back.children < ranks && back.view.children < ranks);
                for (int r : {back.hint, back.end, back.view.gate, back.view.tip, back.view.end, back.view.mover})
                    WAN_CHECK(r >= -1 && r < ranks);
                back.ranks.each([&](int r) { if (r < 0 || r >= ranks) std::abort(); });
            }
        }
    }
    return "";
}

/** A round trip that was too long, as that of a ping behind somebody's transfer, makes nobody near once it is known better; and
 *  another site is not near, however far the farthest is. */
std::string check_near()
{
    neighbours n({}, 10, 5, [](int, const tell_message &) {});
    n.know(1, {50'000, 0, 0});
    n.know(2, {2'000'000, 0, 0});
    n.know(3, {200'000'000, 0, 0});
    n.know(6, {10'000'000, 0, 0});
    WAN_CHECK(n.near(1) && n.near(2) && !n.near(3) && !n.near(6));
    n.answered(3, 11'000'000);
    WAN_CHECK(n.near(1) && !n.near(2) && n.largest_rtt_ns() == 11'000'000 && n.rtt_or_largest_ns(4) == 11'000'000);
    return "";
}

/** Process 5 of 100 measures: whom it pings, in that order, as others answer. */
struct pinging {
    std::vector<int> order;
    int64_t now = 0;
    neighbours n;

    explicit pinging(unsigned variants)
        : n(options(variants), 100, 5, [this](int to, const tell_message &m) {
              if (m.what == tell_kind::ping && (order.empty() || std::find(order.begin(), order.end(), to) == order.end()))
                  order.push_back(to);
          })
    {
        n.step(now, false);
    }
    static adaptive_options options(unsigned variants)
    {
        adaptive_options o;
        o.variants = variants;
        return o;
    }
    void answers(int from, int64_t rtt_ns, int hint)
    {
        tell_message pong;
        pong.what = tell_kind::pong;
        pong.hint = hint;
        for (int k = 0; k < 3; ++k)
            n.receive(from, pong, now += rtt_ns);
        n.step(now, false);
    }
};

/** Whom near ones name, and who is near and says so, is measured before the rest of those picked at random; Phoenix knows those ten alone. */
std::string check_near_first()
{
    pinging picks(0);
    for (size_t i = 0; i < picks.order.size(); ++i)
        picks.answers(picks.order[i], 100'000, -1);
    const std::vector<int> p = picks.order;
    WAN_CHECK_THAT(p.size() == 10, std::to_string(p.size()) + " are measured");
    std::vector<int> others;
    for (int r = 0; r < 100; ++r)
        if (r != 5 && std::find(p.begin(), p.end(), r) == p.end())
            others.push_back(r);
    for (unsigned variants : {0u, all_variants}) {
        pinging b(variants);
        b.answers(p[0], 100'000, others[0]);
        b.answers(p[1], 100'000, p[9]);             // one of the last to be picked
        b.answers(p[2], 50'000'000, others[1]);     // from far away
        tell_message ping;
        ping.value_ns = 100'000;
        b.n.receive(others[2], ping, b.now);
        b.answers(p[3], 100'000, others[0]);        // once more
        for (size_t i = 4; i < b.order.size(); ++i)
            b.answers(b.order[i], 100'000, -1);
        const std::vector<int> hinted{p[0], p[1], p[2], p[3], others[0], p[9], p[4], others[2], p[5], p[6], p[7], p[8]};
        std::string got;
        for (int r : b.order)
            got += " " + std::to_string(r);
        WAN_CHECK_THAT(b.order == (variants ? hinted : p), std::to_string(variants) + ":" + got);
    }
    // What is known already, or no longer wanted, leaves the order of the rest.
    pinging b(all_variants);
    b.n.know(others[0], {100'000, 0, 0});
    b.n.know(p[9], {100'000, 0, 0});
    b.answers(p[0], 100'000, others[1]);
    b.answers(p[1], 100'000, others[2]);
    for (size_t i = 2; i < b.order.size(); ++i)
        b.answers(b.order[i], 100'000, -1);
    WAN_CHECK((b.order == std::vector{p[0], p[1], p[2], p[3], others[1], others[2], p[4], p[5], p[6], p[7]}));
    return "";
}

/** Transfers while operations are under way: a twentieth of the time until all took half a second, then a hundredth; anew when links have changed. */
std::string check_transfers_share()
{
    constexpr int64_t ms = 1'000'000, takes = 50 * ms;
    std::vector<std::pair<int, tell_kind>> sent;
    adaptive_options o;
    o.peers = 40;
    neighbours n(o, 60, 0, [&](int to, const tell_message &m) {
        if (m.what == tell_kind::ping || (m.what == tell_kind::bulk && m.last))
            sent.emplace_back(to, m.what);
    });
    std::vector<int64_t> begun;
    int64_t now = 0;
    const auto go_on = [&](size_t transfers) {
        while (begun.size() < transfers) {
            n.step(now, true);
            if (sent.empty()) {
                now = std::max(now + 1, n.deadline());
                continue;
            }
            const auto [to, what] = sent.back();
            sent.pop_back();
            tell_message answer;
            answer.what = what == tell_kind::bulk ? tell_kind::bulk_done : tell_kind::pong;
            answer.hint = -1;
            if (what == tell_kind::bulk)
                begun.push_back(now);
            now += what == tell_kind::bulk ? takes : ms / 10;
            answer.value_ns = takes;
            n.receive(to, answer, now);
        }
    };
    go_on(14);
    for (size_t i = 1; i < begun.size(); ++i) {
        const int64_t pause = begun[i] - begun[i - 1] - takes;
        WAN_CHECK_THAT(pause == (i < 10 ? 20 : 100) * takes, std::to_string(i) + ": " + std::to_string(pause / ms) + " ms");
    }
    begun.clear();
    n.measure_again();
    go_on(4);
    WAN_CHECK_THAT(begun[3] - begun[2] == 21 * takes, "links that may have changed are measured as slowly as those that are known");
    return "";
}

/** A ping carries as much as it is told to, and its answer as much as it did. */
std::string check_ping_bytes()
{
    std::vector<std::pair<tell_kind, size_t>> sent;
    adaptive_options o;
    o.ping_bytes = 700;
    neighbours n(o, 3, 0, [&](int, const tell_message &m) { sent.emplace_back(m.what, m.payload.size()); });
    n.step(0, false);
    WAN_CHECK(!sent.empty());
    for (const auto &[what, bytes] : sent)
        WAN_CHECK(what == tell_kind::ping && bytes == 700);
    const std::array<std::byte, 33> carried{};
    tell_message ping;
    ping.payload = carried;
    sent.clear();
    n.receive(2, ping, 10);
    WAN_CHECK(sent.front() == std::pair(tell_kind::pong, carried.size()));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_rank_sets>),
        cmocka_unit_test(test<check_messages>),
        cmocka_unit_test(test<check_near>),
        cmocka_unit_test(test<check_near_first>),
        cmocka_unit_test(test<check_transfers_share>),
        cmocka_unit_test(test<check_ping_bytes>),
    };
    return cmocka_run_group_tests_name("adaptive parts", tests, nullptr, nullptr);
}
