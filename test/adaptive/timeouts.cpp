/*
 * How long a process waits for contributions: set once for each segment, along trees and along chains, whatever comes meanwhile; and
 * what it is where coll_wan_reduce_timeout does not say it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
#include "single.hpp"
#include "unit.hpp"

namespace {

using namespace adaptive_test;
using namespace wan_test;

/** Process 5 of 10, below 1, with children 7 and 8 in the latency tree of root 0; a reduction of it. */
struct waiting final : operation_host {
    explicit waiting(int64_t reduce_timeout_ns = 10 * ms) : given(bench::options(false)), it(*this, 0), order_(up_to(10))
    {
        given.reduce_timeout_ns = reduce_timeout_ns;
        b.measured(1, ms);
        b.told(1, ms);
        b.answer(1, tell_kind::accept);
        for (int child : {7, 8})
            b.answer(child, tell_kind::attach, 0, rank_set::one(child));
        b.sent.clear();
    }
    /** 1000 bytes in segments of ten. */
    void begin(bool in_turn = false, joining how = joining::any)
    {
        const std::vector<std::byte> in(1000);
        it.begin({{0, false}, in, 10, how, [](const std::byte *, std::byte *, size_t) {}, {}, in_turn});
        it.step(now);
    }
    void comes(int from, uint32_t index)
    {
        const std::vector<std::byte> bytes(10);
        tell_message m;
        m.what = tell_kind::contribute;
        m.index = index;
        m.last = true;
        m.ranks = rank_set::one(from);
        m.payload = bytes;
        it.receive(from, m, now);
        it.step(now);
    }
    void says(int from, tell_kind what)
    {
        tell_message m;
        m.what = what;
        it.receive(from, m, now);
        it.step(now);
    }
    void at(int64_t when)
    {
        now = when;
        it.step(now);
    }
    /** Contributions that were sent since. */
    std::vector<std::pair<int, rank_set>> passed()
    {
        std::vector<std::pair<int, rank_set>> those;
        for (const auto &[to, m] : std::exchange(b.sent, {}))
            if (m.what == tell_kind::contribute && !m.ranks.empty())
                those.emplace_back(to, m.ranks);
        return those;
    }

    void send(int to, const tell_message &m) override { b.send(to, m); }
    bool room(int, uint64_t) override { return true; }
    tree &tree_of(tree_name) override { return b.it; }
    adaptive_counters &counters() override { return counters_; }
    int64_t timeout_ns(tree_name, uint64_t) const override { return 10 * ms; }
    int me() const override { return 5; }
    int size() const override { return 10; }
    const adaptive_options &options() const override { return given; }
    const std::vector<int> &order() const override { return order_; }

    adaptive_options given;
    bench b{false, false};
    reduction it;
    int64_t now = 0;

private:
    adaptive_counters counters_;
    std::vector<int> order_;
};

/** A child that goes on sending does not make another one's silence longer. */
std::string check_not_moved()
{
    waiting w;
    w.begin();
    w.at(9 * ms);
    w.comes(7, 0);
    WAN_CHECK(w.it.deadline() == 10 * ms && w.passed().empty());
    w.at(10 * ms);
    const auto passed = w.passed();
    WAN_CHECK_THAT(passed.size() == 100 && passed[0].first == 1 && passed[0].second == (rank_set::one(5) | rank_set::one(7)), std::to_string(passed.size()));
    WAN_CHECK(w.counters().timeouts == 1 && w.it.deadline() == INT64_MAX);
    return {};
}

/** Each segment's begins when the one before it has gone up: a long message may take many. */
std::string check_segments()
{
    waiting w;
    w.begin();
    for (uint32_t i = 0; i < 50; ++i) {
        w.at(w.now + 4 * ms);
        w.comes(7, i);
        WAN_CHECK_THAT(w.it.deadline() == (i * 9 + 10) * ms, std::to_string(i) + ": " + std::to_string(w.it.deadline()));
        w.at(w.now + 5 * ms);
        w.comes(8, i);
        WAN_CHECK_THAT(w.it.deadline() == w.now + 10 * ms && w.passed().size() == 1, std::to_string(i));
    }
    // What is far ahead of that changes nothing.
    const int64_t due = w.it.deadline();
    w.at(due - 1);
    for (uint32_t i = 50; i < 100; ++i)
        w.comes(7, i);
    WAN_CHECK(w.it.deadline() == due && w.counters().timeouts == 0);
    w.at(due);
    WAN_CHECK(w.counters().timeouts == 1 && w.passed().size() == 50);
    return {};
}

/** After that, what comes goes on in the same step, though another child has not said anything yet. */
std::string check_late()
{
    waiting w;
    w.begin();
    w.at(10 * ms);
    WAN_CHECK(w.passed().size() == 100);
    w.at(30 * ms);
    w.comes(8, 3);
    const auto passed = w.passed();
    WAN_CHECK(passed.size() == 1 && passed[0].first == 1 && passed[0].second == rank_set::one(8));
    WAN_CHECK(w.counters().late == 1 && !w.it.done());
    return {};
}

/** From one to the next, before there is a tree, too; where nothing says how long, longer where more are behind, so that one who is late
 *  is found by the one he is next to.  Where the order is fixed, who waits must wait. */
std::string check_chains()
{
    {
        waiting w;
        w.begin(true);
        WAN_CHECK(w.it.deadline() == 10 * ms);
        w.at(10 * ms);
        WAN_CHECK(w.passed().size() == 100 && w.counters().timeouts == 1);
        w.comes(6, 0);
        const auto passed = w.passed();
        WAN_CHECK(passed.size() == 1 && passed[0] == std::pair(4, rank_set::one(6)));
        w.says(6, tell_kind::redirected);
        WAN_CHECK(w.it.done());
    }
    {   // Those behind are 6 to 9.
        waiting w(0);
        w.begin(true);
        WAN_CHECK_THAT(w.it.deadline() == 40 * ms, std::to_string(w.it.deadline()));
    }
    {   // The one before it has waited long enough for this one, which has only just come.
        waiting w;
        w.says(4, tell_kind::redirect);
        WAN_CHECK(w.b.last(4, tell_kind::redirected));
        w.begin(true);
        for (uint32_t i = 0; i < 100; ++i)
            w.comes(6, i);
        const auto passed = w.passed();
        WAN_CHECK(passed.size() == 100 && w.it.done());
        for (const auto &[to, ranks] : passed)
            WAN_CHECK(to == 0 && ranks.size() == 2);
    }
    for (joining how : {joining::neighbours, joining::halves}) {
        waiting w;
        w.begin(true, how);
        w.at(second_ns);
        WAN_CHECK(w.it.deadline() == INT64_MAX && w.passed().empty() && w.counters().timeouts == 0);
    }
    return {};
}

/** Nothing known, round trips known, one tree and two, another communicator's; long messages; given. */
std::string check_automatic()
{
    const auto timeout = [](const adaptive_node &n, tree_name name, uint64_t bytes) { return static_cast<const operation_host &>(n).timeout_ns(name, bytes); };
    const tree_name latency{0, false}, bandwidth{0, true};
    {
        job j(4, test_seed() + 21);
        j.delay_of = [](int from, int to) { return from / 2 == to / 2 ? 100 * us : from + to == 3 ? 10 * ms : 20 * ms; };
        std::vector<adaptive_node *> n;
        for (int p = 0; p < 4; ++p)
            n.push_back(&j.open(p, 1, up_to(4))->node());
        WAN_CHECK(timeout(*n[3], latency, 0) == 200 * ms);
        j.run([] { return false; });
        WAN_CHECK(timeout(*n[3], latency, 0) == 4 * n[3]->near().largest_rtt_ns() && n[3]->near().largest_rtt_ns() > 30 * ms);
        const auto call = [&](int root) {
            std::vector<std::vector<std::byte>> bytes(4, std::vector<std::byte>(1));
            for (size_t p = 0; p < 4; ++p)
                n[p]->broadcast_begin(root, bytes[p]);
            j.run([] { return false; });
        };
        call(2);
        const int64_t near_ns = n[3]->tree_at({2, false})->view().dist_ns;
        WAN_CHECK_THAT(near_ns > 0 && near_ns < 5 * ms && timeout(*n[3], latency, 0) == near_ns, std::to_string(near_ns));
        call(0);
        const int64_t far_ns = n[3]->tree_at(latency)->view().dist_ns;
        WAN_CHECK(far_ns > 15 * ms && timeout(*n[3], latency, 0) == far_ns && timeout(*n[3], {2, false}, 0) == far_ns);
        // Those of its other communicators and streams, too, which may have none yet.
        for (uint64_t number : {1, 2}) {
            const adaptive_node &other = j.open(3, number, up_to(4), number == 1 ? 5 : 0)->node();
            WAN_CHECK_THAT(timeout(other, latency, 0) == far_ns, std::to_string(number));
        }
    }
    {   // By a bandwidth tree, as long as its bytes take, and more.
        job j(2, test_seed() + 22);
        j.rate = 10'000'000;
        std::vector<adaptive_node *> n;
        std::vector<std::vector<std::byte>> bytes(2, std::vector<std::byte>(300'000));
        for (int p = 0; p < 2; ++p)
            n.push_back(&j.open(p, 1, up_to(2))->node());
        for (size_t p = 0; p < 2; ++p)
            n[p]->broadcast_begin(0, bytes[p]);
        j.run([] { return false; });
        const tree *t = n[1]->tree_at(bandwidth);
        WAN_CHECK(t && t->parent() == 0 && t->view().est > 0);
        const auto takes_ns = static_cast<int64_t>(10'000'000 * 1e9 / static_cast<double>(t->view().est));
        const int64_t more_ns = timeout(*n[1], bandwidth, 10'000'000) - timeout(*n[1], latency, 0);
        WAN_CHECK_THAT(more_ns >= takes_ns && more_ns < takes_ns + takes_ns / 10, std::to_string(more_ns) + " for " + std::to_string(takes_ns));
    }
    {
        adaptive_options o;
        o.reduce_timeout_ns = 7 * ms;
        job j(2, test_seed() + 23, o);
        const adaptive_node &n = j.open(0, 1, up_to(2))->node();
        WAN_CHECK(timeout(n, latency, 0) == 7 * ms && timeout(n, bandwidth, 1 << 20) == 7 * ms);
    }
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_not_moved>), cmocka_unit_test(test<check_segments>), cmocka_unit_test(test<check_late>),
                                cmocka_unit_test(test<check_chains>), cmocka_unit_test(test<check_automatic>)};
    return cmocka_run_group_tests_name("adaptive timeouts", tests, nullptr, nullptr);
}
