/*
 * One process's place in a tree: the rules by which it takes a parent, whom it asks, and who is waited for in which operation.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ranks.hpp"
#include "single.hpp"
#include "unit.hpp"

#include <map>
#include <memory>

namespace {

using namespace wan;
using namespace wan_test;
using namespace adaptive_test;

constexpr int64_t ms = 1'000'000;

/** Both conditions, each by itself not enough. */
std::string check_latency_rule()
{
    bench b(false);
    for (const auto &[rank, rtt] : {std::pair(1, 20), {2, 5}, {3, 5}, {4, 30}, {6, 4}})
        b.measured(rank, rtt * ms);
    b.told(1, 10 * ms);
    WAN_CHECK(b.asked() == 1);          // the first that is connected
    b.told(2, 1 * ms);
    WAN_CHECK(b.asked() == -1);         // one question at a time
    b.answer(1, tell_kind::accept);
    WAN_CHECK(b.it.parent() == 1 && b.it.view().connected && b.it.view().dist_ns == 30 * ms);
    WAN_CHECK(b.it.view().ancestors == (rank_set::one(0) | rank_set::one(1)));
    b.asked();
    b.told(4, 1 * ms);
    WAN_CHECK(b.asked() == -1);         // nearer to the root, but farther than the parent
    b.told(3, 30 * ms);
    WAN_CHECK(b.asked() == -1);         // nearer than the parent, but as far from the root
    b.told(6, 3 * ms, 1, 0, rank_set::one(0) | rank_set::one(5));
    WAN_CHECK(b.asked() == -1);         // below this process
    b.told(3, 30 * ms - 1);
    WAN_CHECK(b.asked() == 3);
    b.answer(3, tell_kind::refuse);
    b.told(2, 29 * ms);
    WAN_CHECK(b.asked() == 2);
    b.next = 7;
    b.answer(2, tell_kind::accept, 9);          // it is ahead
    WAN_CHECK(b.it.parent() == 2 && b.last(1, tell_kind::detach) && b.last(1, tell_kind::detach)->op == 9);
    WAN_CHECK(b.last(2, tell_kind::confirm)->op == 9 && b.it.parent_for(8) == 1 && b.it.parent_for(9) == 2);
    b.told(2, 29 * ms, 1, 1, rank_set::one(5) | rank_set::one(0));
    WAN_CHECK(b.it.parent() == -1 && !b.it.view().connected && b.it.cycles() == 1 && b.it.parent_for(9) == 0);     // out of a cycle
    return "";
}

std::string check_bandwidth_rule()
{
    bench b(true);
    for (const auto &[rank, bandwidth] : {std::pair(1, 100), {2, 100}, {3, 90}, {4, 400}})
        b.measured(rank, ms, static_cast<uint64_t>(bandwidth) * 1'000'000);
    b.told(1, 0, 40'000'000, 1);
    WAN_CHECK(b.asked() == 1);
    b.answer(1, tell_kind::accept);
    b.told(1, 0, 40'000'000, 2);        // this process is one of the two
    WAN_CHECK(b.it.view().est == 40'000'000);
    b.told(1, 0, 60'000'000, 2);
    const uint64_t half = b.it.view().est;
    WAN_CHECK_THAT(half > 49'900'000 && half < 50'100'000, std::to_string(half));      // min(60, 100 / 2)
    b.asked();
    b.told(2, 0, 200'000'000, 1);
    WAN_CHECK(b.asked() == -1);         // 100 / (1 + 1) is no more
    b.told(3, 0, 45'000'000, 0);
    WAN_CHECK(b.asked() == -1);         // it does not get more itself
    b.told(4, 0, 200'000'000, 7);
    WAN_CHECK(b.asked() == -1);         // 400 / 8
    b.told(4, 0, 200'000'000, 6);
    WAN_CHECK(b.asked() == 4);          // 400 / 7
    return "";
}

/** What would have been a better parent says yes when it is none any more, and counted on this process from an operation on that
 *  has begun here: it is told not to, from that one on. */
std::string check_declined()
{
    bench b(false, false);
    for (const auto &[rank, rtt] : {std::pair(1, 20), {2, 5}})
        b.measured(rank, rtt * ms);
    b.told(1, 10 * ms);
    WAN_CHECK(b.asked() == 1);
    b.answer(1, tell_kind::accept, 3);
    b.told(2, 10 * ms);
    WAN_CHECK(b.asked() == 2);
    b.next = 9;
    b.told(2, 900 * ms);
    b.answer(2, tell_kind::accept, 4);
    WAN_CHECK(b.it.parent() == 1 && !b.last(2, tell_kind::confirm) && b.last(2, tell_kind::detach) && b.last(2, tell_kind::detach)->op == 4);
    WAN_CHECK(!b.last(1, tell_kind::detach) && b.it.parent_for(8) == 1 && b.it.parent_for(9) == 1);
    // The other end of that: nothing is waited for.
    b.answer(7, tell_kind::attach, 0, rank_set::one(7));
    WAN_CHECK(b.last(7, tell_kind::accept) && b.last(7, tell_kind::accept)->op == 9 && b.it.children_for(9) == std::vector{7});
    b.next = 12;
    b.answer(7, tell_kind::detach, 9);
    WAN_CHECK(b.gone.size() == 1 && b.gone[0] == std::tuple(7, uint64_t{9}, tree::always) && b.it.children_for(11).empty());
    return "";
}

/**
 * Who leads to a process without children is followed, on from one to the next; but where what they know is old, as round a cycle
 * while somebody in it does not look, that ends: nobody is asked for ever, nor who leads nowhere.
 */
std::string check_hints()
{
    struct place {
        bool connected;
        int children, tip;
    };
    const auto asked = [](std::map<int, place> others) {
        bench b(true, false);
        for (const auto &[rank, rtt] : {std::pair(1, 40), {2, 1}, {3, 1}, {4, 1}, {6, 1}})
            b.measured(rank, rtt * ms, 50'000'000);
        b.told(1, 40 * ms, 50'000'000);
        b.answer(1, tell_kind::accept);
        const auto tell = [&](int rank, uint32_t id) {
            const auto &[connected, children, tip] = others.at(rank);
            tell_message m;
            m.what = tell_kind::tell;
            m.id = id;
            m.tree = b.it.name();
            m.view = {connected, 100 * ms, 1'000'000, children, rank_set::one(0), rank, 100 * ms, tip, rank, -1};
            b.it.receive(rank, m, b.now);
        };
        for (const auto &[rank, where] : others)
            tell(rank, 0);
        b.sent.clear();
        std::vector<int> all;
        tell(2, 0);
        for (size_t i = 0; i < b.sent.size() && all.size() < 1000; ++i)
            if (const auto [to, m] = b.sent[i]; m.what == tell_kind::ask) {
                all.push_back(to);
                tell(to, m.id);
            }
        return all;
    };
    WAN_CHECK((asked({{2, {true, 1, 3}}, {3, {true, 1, 4}}, {4, {true, 1, 6}}, {6, {true, 0, 6}}}) == std::vector{3, 4}));
    WAN_CHECK(asked({{2, {true, 1, 2}}}).empty());
    WAN_CHECK(asked({{2, {false, 1, 3}}, {3, {true, 1, 4}}}).empty());
    const size_t round = asked({{2, {true, 1, 3}}, {3, {true, 1, 2}}}).size();
    WAN_CHECK_THAT(round >= 2 && round < 20, std::to_string(round));
    return "";
}

/** What was measured in the first calls kept a fork, and a parent seemed far: that is looked at again while the tree is used, and only then. */
std::string check_used()
{
    bench b(true, false);
    for (const auto &[rank, rtt] : {std::pair(1, 40), {2, 1}, {7, 1}, {8, 1}, {3, 100}})
        b.measured(rank, rtt * ms, 50'000'000);
    b.told(1, 40 * ms, 50'000'000);
    b.answer(1, tell_kind::accept);
    for (int child : {7, 8}) {
        tell_message m;
        m.what = tell_kind::attach;
        m.tree = b.it.name();
        m.children = child - 7;         // who knows how many there are is not refused
        m.ranks = rank_set::one(child);
        b.it.receive(child, m, b.now);
    }
    const auto rest = [&] {
        for (int k = 0; k < 1000 && b.it.deadline() < INT64_MAX; ++k) {
            b.now = std::max(b.now, b.it.deadline());
            b.near.step(b.now, false);
            b.it.step(b.now);
        }
        b.sent.clear();
        return b.it.deadline() == INT64_MAX;
    };
    WAN_CHECK(b.it.parent() == 1 && !b.near.near(1) && b.it.view().children == 2 && rest());
    std::set<int> movers;
    for (int call = 0; call < 4; ++call) {
        b.now += 60'000 * ms;
        b.it.step(b.now);
        WAN_CHECK(b.sent.empty() && b.it.deadline() == INT64_MAX);
        b.it.used(b.now);
        WAN_CHECK(b.it.deadline() < INT64_MAX);
        WAN_CHECK((b.last(1, tell_kind::ask) != nullptr) == (call == 0));       // by then it is near
        if (const tell_message *m = b.last(1, tell_kind::ask)) {
            tell_message answer;
            answer.what = tell_kind::tell;
            answer.tree = b.it.name();
            answer.id = m->id;
            answer.view = {true, 40 * ms, 50'000'000, 1, rank_set::one(0), 1, 40 * ms, 1, 1, -1};
            b.now += ms;
            b.it.receive(1, answer, b.now);
            WAN_CHECK(b.near.near(1));
        }
        for (int k = 0; k < 4 && b.it.deadline() < INT64_MAX; ++k) {
            b.it.step(b.now = std::max(b.now, b.it.deadline()));
            for (int child : {7, 8})
                if (const tell_message *m = b.last(child, tell_kind::tell); m && m->view.mover == child)
                    movers.insert(child);
        }
        WAN_CHECK(rest());
    }
    WAN_CHECK(movers == (std::set{7, 8}));
    return "";
}

/**
 * Near links are measured once, while all others are measuring: one that seems so slow that it keeps others off is measured again
 * while the tree is used, the better figure holds, and children are told; one that is as fast as others is left alone.
 */
std::string check_slow()
{
    for (const bool slow : {true, false}) {
        bench b(true, false);
        // Round trips of 1 ms, but for rank 3's of 100; transfers of 2 ms, that to rank 1 of 100 until `clear`.
        bool clear = !slow;
        int bulks = 0;      // to rank 1
        const auto measure = [&] {
            for (size_t k = 0; k < 60; ++k) {
                b.near.step(b.now, false);
                for (const auto &[to, m] : std::exchange(b.sent, {})) {
                    tell_message answer;
                    answer.what = m.what == tell_kind::bulk ? tell_kind::bulk_done : tell_kind::pong;
                    b.now += to == 3 ? 100 * ms : ms;
                    bulks += m.what == tell_kind::bulk && m.last && to == 1;
                    if (m.what == tell_kind::bulk)
                        answer.value_ns = to == 1 && !clear ? 100 * ms : 2 * ms;
                    if (m.what == tell_kind::bulk && m.last)
                        b.now += std::max<int64_t>(0, answer.value_ns - 8 * ms);        // its parts took a millisecond each
                    if (m.what == tell_kind::ping || (m.what == tell_kind::bulk && m.last))
                        b.near.receive(to, answer, b.now);
                }
                if (b.sent.empty() && b.near.deadline() < INT64_MAX)
                    b.now = std::max(b.now, b.near.deadline());
            }
            b.it.step(b.now);
        };
        measure();
        b.told(1, ms, 50'000'000);
        b.answer(1, tell_kind::accept);
        b.answer(7, tell_kind::attach, 0, rank_set::one(7));
        measure();
        WAN_CHECK(b.near.quiet() && b.it.parent() == 1 && b.near.near(1) && (b.it.view().est < 10'000'000) == slow);
        bulks = 0;
        for (int call = 0; call < 20; ++call) {
            b.now += 60'000 * ms;
            measure();
            WAN_CHECK(bulks == (slow ? std::min(call, 3) : 0));        // nobody uses it
            clear = clear || call == 2;
            b.it.used(b.now);
            b.sent.clear();
            measure();
            WAN_CHECK_THAT(bulks == (slow ? std::min(call + 1, 3) : 0), std::to_string(bulks) + " in call " + std::to_string(call) + (slow ? " slow" : ""));
            WAN_CHECK_THAT((b.it.view().est > 15'000'000) == clear, std::to_string(slow) + ", call " + std::to_string(call) + ": " + std::to_string(b.it.view().est) + " of " + std::to_string(b.near.bandwidth(1)));
        }
    }
    return "";
}

/** When the way from a far parent turns out slow, what was measured of other far ways is forgotten, and those below are told. */
std::string check_slowed()
{
    bench b(true, false);
    const auto measure = [&] {
        for (int i = 0; i < 20; ++i) {
            if (b.sent.empty() && b.near.deadline() < INT64_MAX)
                b.now = std::max(b.now, b.near.deadline());
            b.near.step(b.now, true);
            for (const auto &[to, x] : std::exchange(b.sent, {})) {
                tell_message answer;
                answer.what = x.what == tell_kind::bulk ? tell_kind::bulk_done : tell_kind::pong;
                answer.value_ns = 2 * ms;
                if (x.what == tell_kind::ping || (x.what == tell_kind::bulk && x.last))
                    b.near.receive(to, answer, b.now += to == 1 ? ms : 100 * ms);
            }
        }
    };
    b.measured(1, ms, 50'000'000);
    for (int far : {3, 4, 6})
        b.measured(far, 100 * ms, 50'000'000);
    b.sent.clear();
    b.told(3, 100 * ms, 50'000'000);
    b.answer(3, tell_kind::accept);
    measure();
    b.it.step(b.now);
    WAN_CHECK(b.it.parent() == 3 && !b.it.view().slowed && b.near.bandwidth(4) > 0 && b.near.near(1) && !b.near.near(4));
    b.answer(7, tell_kind::attach, 0, rank_set::one(7));
    measure();
    tell_message m;
    m.what = tell_kind::pace;
    m.value_ns = 1'000'000;
    m.slow = true;
    b.near.receive(3, m, b.now);
    b.sent.clear();
    b.it.step(b.now);
    const tell_message *told = b.last(7, tell_kind::tell);
    WAN_CHECK(b.it.view().slowed && b.it.view().est <= 1'000'000 && told && told->view.slowed);
    WAN_CHECK(b.near.bandwidth(4) == 0 && b.near.bandwidth(6) == 0 && b.near.bandwidth(3) == 1'000'000 && b.near.bandwidth(1) > 40'000'000);
    // Below, where the parent is near, what it says counts.
    bench c(true, false);
    c.measured(1, ms, 50'000'000);
    c.told(1, ms, 50'000'000);
    c.answer(1, tell_kind::accept);
    c.it.step(c.now);
    WAN_CHECK(c.it.parent() == 1 && !c.it.view().slowed);
    m = {};
    m.what = tell_kind::tell;
    m.tree = c.it.name();
    m.view = {true, ms, 1'000'000, 1, rank_set::one(0), 1, ms, 1, 1, -1, true};
    c.it.receive(1, m, c.now);
    WAN_CHECK(c.it.view().slowed);
    return "";
}

/** Then who is as far and promises half as much again is measured, beside operations, and is better; who promises less is neither, nor
 *  is it where the way has not turned out slow. */
std::string check_way_out()
{
    for (const bool slowed : {true, false})
        for (const auto &[children, more] : {std::pair(3, false), {2, true}}) {
            bench b(true, false, {}, 0);
            const uint64_t rate = 5'000'000;
            const auto answer_all = [&] {
                for (int i = 0; i < 200; ++i) {
                    b.near.step(b.now += 100 * ms, true);
                    for (const auto &[to, x] : std::exchange(b.sent, {}))
                        if ((x.what == tell_kind::ping && to == 0) || (x.what == tell_kind::bulk && x.last)) {     // (others' pings are answered)
                            tell_message answer = bench::bulk_done(rate);
                            if (x.what == tell_kind::ping)
                                answer.what = tell_kind::pong;
                            b.near.receive(to, answer, b.now += 100 * ms);
                        }
                }
            };
            b.measured(1, ms, 50'000'000);
            for (int far : {3, 4})
                b.measured(far, 100 * ms);
            b.told(3, 100 * ms, 50'000'000);
            b.answer(3, tell_kind::accept);
            answer_all();
            tell_message m;
            m.what = tell_kind::pace;
            m.value_ns = 1'000'000;
            m.slow = slowed;
            b.near.receive(3, m, b.now);
            b.it.step(b.now);
            WAN_CHECK(b.it.parent() == 3 && b.it.view().est == 1'000'000 && b.it.view().slowed == slowed);
            b.told(4, 100 * ms, 2'000'000, children);
            if (!slowed)
                b.near.want_bandwidth(4);
            answer_all();
            WAN_CHECK_THAT(b.near.quiet() && b.near.bandwidth(4) > rate * 9 / 10, std::to_string(slowed) + ": " + std::to_string(b.near.bandwidth(4)));
            b.told(4, 100 * ms, 2'000'000, children);
            WAN_CHECK_THAT((b.asked() == 4) == (slowed && more), std::to_string(children) + " children: " + std::to_string(b.near.bandwidth(4)));
        }
    return "";
}

/** Who has left a way that has turned out slow for one that promises twice as much does not come back to it because it is nearer, or has fewer
 *  children, and "about as much" is a third: it would leave it again.  Measured anew, since yet another one is slow, it is not slow any more. */
std::string check_no_return()
{
    for (const bool mover : {true, false}) {
        bench b(true, false, {}, 0);
        const auto told = [&](int rank, int64_t dist_ns, int children, int moves = -1, bool slowed = false) {
            tell_message m;
            m.what = tell_kind::tell;
            m.tree = b.it.name();
            m.view = {true, dist_ns, 50'000'000, children, rank_set::one(0), rank, dist_ns, rank, rank, moves, slowed};
            b.it.receive(rank, m, b.now);
        };
        const auto paced = [&](int rank, uint64_t rate) {
            tell_message m;
            m.what = tell_kind::pace;
            m.value_ns = static_cast<int64_t>(rate);
            m.slow = true;
            b.near.receive(rank, m, b.now);
            b.it.step(b.now);
        };
        const auto known = [&](int rank, uint64_t bandwidth) {
            b.near.know(rank, {b.near.rtt_ns(rank), bandwidth, b.now});
            b.near.step(b.now, false);
        };
        b.measured(0, 100 * ms);
        b.measured(1, ms, 50'000'000);
        b.measured(3, (mover ? 100 : 20) * ms, 5'000'000);
        b.measured(4, 100 * ms);
        b.measured(6, (mover ? 100 : 20) * ms, 5'000'000);
        told(3, 20 * ms, 0);
        b.answer(3, tell_kind::accept);
        told(3, 20 * ms, 1);
        paced(3, 1'000'000);
        WAN_CHECK(b.it.parent() == 3 && b.it.view().est == 1'000'000 && b.it.view().slowed && b.near.bandwidth(6) == 0);
        known(4, 5'000'000);
        b.asked();
        told(4, 100 * ms, 1);
        WAN_CHECK(b.asked() == 4);
        b.answer(4, tell_kind::accept);
        told(4, 100 * ms, 2, mover ? 5 : -1);
        WAN_CHECK(b.it.parent() == 4 && !b.it.view().slowed && b.it.view().est > 2'400'000);
        told(3, 20 * ms, 0);
        WAN_CHECK_THAT(b.asked() == -1, std::to_string(mover));
        // Nor to one that is below such a way; but to another one that is as far and has as much.
        known(6, 1'000'000);
        b.asked();
        told(6, 20 * ms, 0, -1, true);
        WAN_CHECK_THAT(b.asked() == -1, std::to_string(mover));
        told(6, 20 * ms, 0);
        WAN_CHECK_THAT(b.asked() == 6, std::to_string(mover));
        b.answer(6, tell_kind::refuse);
        b.asked();
        // Where it is hardly slower than this one, it would not be left for this one.
        paced(3, 2'000'000);
        told(3, 20 * ms, 0);
        WAN_CHECK_THAT(b.asked() == 3, std::to_string(mover));
        b.answer(3, tell_kind::refuse);
        WAN_CHECK(b.near.slowed(3));
        paced(4, 1'000'000);
        WAN_CHECK(b.it.parent() == 4 && b.it.view().slowed && b.near.slowed(4) && !b.near.slowed(3) && b.near.bandwidth(3) == 0);
    }
    return "";
}

/** Process 1 is the parent in a bandwidth tree, near, and each transfer to it takes `took`; those are counted. */
struct slow_link {
    bench b{true, false};
    std::vector<std::unique_ptr<tree>> others;      // of other roots
    int64_t took = 100 * ms;
    int transfers = 0;
    bool answers;

    explicit slow_link(bool answered = true) : answers(answered)
    {
        rest();
        under(b.it);
        rest();
    }
    void under(tree &t)
    {
        tell_message m;
        m.tree = t.name();
        m.what = tell_kind::tell;
        m.view = {true, ms, 50'000'000, 0, rank_set::one(0), 1, ms, 1, 1, -1};
        t.receive(1, m, b.now);
        m.what = tell_kind::accept;
        t.receive(1, m, b.now);
    }
    void rest()
    {
        for (int k = 0; k < 60; ++k) {
            b.near.step(b.now, false);
            for (const auto &[to, m] : std::exchange(b.sent, {})) {
                tell_message answer;
                if (m.what == tell_kind::ping) {
                    answer.what = tell_kind::pong;
                    b.near.receive(to, answer, b.now += to == 3 ? 100 * ms : ms);
                } else if (m.what == tell_kind::bulk && m.last) {
                    transfers += to == 1;
                    if (to != 1 || answers)
                        done(to);
                }
            }
            if (b.sent.empty() && b.near.deadline() < INT64_MAX)
                b.now = std::max(b.now, b.near.deadline());
        }
        b.it.step(b.now);
    }
    void done(int to)
    {
        tell_message m;
        m.what = tell_kind::bulk_done;
        m.value_ns = to == 1 ? took : 2 * ms;
        b.near.receive(to, m, b.now += m.value_ns);
    }
    /** So many calls, far from each other. */
    int use(int calls)
    {
        const int before = transfers;
        for (int k = 0; k < calls; ++k) {
            b.now += 60'000 * ms;
            b.it.used(b.now);
            for (auto &t : others)
                t->used(b.now);
            rest();
        }
        return transfers - before;
    }
};

/** What is slow is not measured for ever, whatever many trees ask for; but in any case when it may have been wrong. */
std::string check_tries()
{
    {   // Links that are said to have changed have their tries again.
        slow_link s;
        WAN_CHECK(s.b.it.parent() == 1 && s.b.near.near(1) && s.b.near.bandwidth(1) > 0 && s.b.near.bandwidth(1) < 2'000'000);
        WAN_CHECK(s.use(30) == 8 && s.use(30) == 0);
        s.b.near.measure_again();
        s.b.it.look_again();
        s.rest();
        WAN_CHECK(s.use(30) == 8);
    }
    {   // A tree for each of many roots.
        slow_link s;
        for (int root : {2, 3, 4, 6, 8})
            s.under(*s.others.emplace_back(std::make_unique<tree>(bench::options(false), tree_name{root, true}, 5, s.b.near, s.b)));
        s.rest();
        WAN_CHECK(s.use(60) == 8);
    }
    {   // Not yet known: none of the tries is lost on it.
        slow_link s(false);
        WAN_CHECK(s.b.it.parent() == 1 && s.transfers == 1 && s.b.near.bandwidth(1) == 0);
        WAN_CHECK(s.use(20) == 0);
        s.answers = true;
        s.done(1);
        WAN_CHECK(s.b.near.bandwidth(1) > 0 && s.use(20) == 8);
    }
    {   // Known from another communicator: the better figure holds there, too, until all is measured again.
        slow_link s;
        s.b.near.know(1, {.rtt_ns = ms, .bandwidth = 50'000'000});
        s.b.near.try_bandwidth(1);
        s.rest();
        WAN_CHECK(s.transfers == 2 && s.b.near.bandwidth(1) == 50'000'000);
        s.b.near.measure_again();
        s.rest();
        WAN_CHECK(s.transfers == 3 && s.b.near.bandwidth(1) < 2'000'000);
    }
    return "";
}

/** Who counts on whom, operation by operation. */
std::string check_edges()
{
    bench b(false);
    b.measured(1, ms);
    b.told(1, ms);
    b.answer(1, tell_kind::accept);
    b.asked();
    b.next = 4;
    b.answer(7, tell_kind::attach, 0, rank_set::range(7, 9));
    WAN_CHECK(b.last(7, tell_kind::accept) && b.last(7, tell_kind::accept)->op == 4);
    WAN_CHECK(b.it.children_for(3).empty() && b.it.children_for(4) == std::vector{7});
    WAN_CHECK(b.last(1, tell_kind::under) && b.last(1, tell_kind::under)->ranks == ranks({5, 7, 8}));
    b.answer(7, tell_kind::confirm, 6);         // it was ahead
    WAN_CHECK(b.gone.size() == 1 && b.gone[0] == std::tuple(7, uint64_t{4}, uint64_t{6}));
    WAN_CHECK(b.it.children_for(5).empty() && b.it.children_for(6) == std::vector{7});
    rank_set listed = rank_set::range(6, 10);
    const auto shares = b.it.shares(listed);
    WAN_CHECK(shares.size() == 1 && shares[0].first == 7 && shares[0].second == ranks({7, 8}) && listed == ranks({6, 9}));
    rank_set served = rank_set::one(8);
    WAN_CHECK(b.it.shares(served).empty() && served == ranks({8}));      // through a child that has it already: never
    b.answer(7, tell_kind::detach, 9);
    WAN_CHECK(b.gone.size() == 2 && b.gone[1] == std::tuple(7, uint64_t{9}, tree::always));
    WAN_CHECK(b.it.children_for(8) == std::vector{7} && b.it.children_for(9).empty() && b.it.under() == ranks({5}));
    // It comes back while what it owes from its first time is open.
    b.answer(7, tell_kind::attach, 0, rank_set::one(7));
    WAN_CHECK(b.last(7, tell_kind::accept)->op == 9);
    b.answer(7, tell_kind::confirm, 12);
    WAN_CHECK(b.it.children_for(8) == std::vector{7} && b.it.children_for(11).empty() && b.it.children_for(12) == std::vector{7});
    // Those above are refused.
    b.sent.clear();
    b.answer(1, tell_kind::attach, 0, rank_set::one(1));
    WAN_CHECK(b.last(1, tell_kind::refuse) && b.it.children_for(20) == std::vector{7});
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_latency_rule>),
        cmocka_unit_test(test<check_bandwidth_rule>),
        cmocka_unit_test(test<check_declined>),
        cmocka_unit_test(test<check_hints>),
        cmocka_unit_test(test<check_used>),
        cmocka_unit_test(test<check_slow>), cmocka_unit_test(test<check_slowed>), cmocka_unit_test(test<check_way_out>), cmocka_unit_test(test<check_no_return>),
        cmocka_unit_test(test<check_tries>),
        cmocka_unit_test(test<check_edges>),
    };
    return cmocka_run_group_tests_name("adaptive rules", tests, nullptr, nullptr);
}
