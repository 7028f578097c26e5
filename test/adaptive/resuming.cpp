/*
 * A process that was in a tree of the same root before, in another communicator: what it does for its place there, by itself.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
#include "ranks.hpp"
#include "single.hpp"
#include "unit.hpp"

namespace {

using namespace adaptive_test;
using namespace wan_test;

/** Notes whom a broadcast is begun with, and who is to be served through that one. */
struct recorder final : adaptive_port {
    void send(int to, std::span<const std::byte> head, std::span<const std::byte> payload) override
    {
        std::vector<std::byte> bytes(head.begin(), head.end());
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        tell_message m;
        if (message_get(m, bytes, 6) && m.what == tell_kind::deliver)
            begun.emplace_back(to, m.ranks);
    }
    uint64_t under_way(int) const override { return 0; }
    uint64_t delivered(int) const override { return 0; }
    int64_t round_trip_ns(int) const override { return 0; }
    int64_t waited_ns() const override { return 0; }
    void limited(int) override {}
    uint64_t ahead(int) const override { return 0; }
    void ahead_by(int, int64_t) override {}
    int64_t longest_ns() const override { return 0; }
    former_place former(tree_name) const override { return {resumed, {}, 0}; }
    bool resumed = true;
    std::vector<std::pair<int, rank_set>> begun;
};

/** The root of six has one child, with one below it, or two; the others have no parent yet.  Where all were in such a tree before, a long message is
 *  not sent twice for that: they get it behind the only child's.  Else it goes to one of them as well, of a short one two, who share them. */
std::string check_unattached()
{
    for (const auto &[bytes, resumed, children] : {std::tuple{size_t{4} << 20, true, 1}, {size_t{4} << 20, false, 1}, {size_t{4} << 20, true, 2}, {size_t{8}, true, 1}}) {
        recorder port;
        port.resumed = resumed;
        adaptive_node node({}, 6, 0, port);
        tell_message m;
        m.what = tell_kind::attach;
        m.tree = node.tree_for(0, bytes);
        m.ranks = ranks({3, 4});
        node.receive(3, message_put(m), 0);
        m.ranks = ranks({5});
        m.children = 1;
        if (children == 2)
            node.receive(5, message_put(m), 0);
        std::vector<std::byte> buffer(bytes);
        node.broadcast_begin(0, buffer);
        node.step(0);
        const auto &to = port.begun;
        const rank_set others = ranks({1, 2, 5}), all = ranks({1, 2, 3, 4, 5});
        if (children == 2)
            WAN_CHECK(to.size() == 3 && to[0].first == 3 && to[0].second == ranks({3, 4}) && to[1].second == ranks({5}) && to[2].second == ranks({1, 2}));
        else if (!m.tree.bandwidth)
            WAN_CHECK(to.size() == 3 && to[0].first == 3 && to[0].second == ranks({3, 4}) && (to[1].second | to[2].second) == others);
        else if (resumed)
            WAN_CHECK(to.size() == 1 && to[0].first == 3 && to[0].second == all);
        else
            WAN_CHECK(to.size() == 2 && to[0].first == 3 && to[0].second == ranks({3, 4}) && to[1].second == others);
    }
    return "";
}

void tell_unconnected(bench &b, int rank, rank_set above)
{
    tell_message m;
    m.what = tell_kind::tell;
    m.tree = b.it.name();
    m.view = {false, 0, 0, 0, std::move(above), rank, 0, rank, rank, -1};
    b.it.receive(rank, m, b.now);
}

/** Who was in such a tree goes to the nearest of those it was below before that one is connected, gives that up when one of them has
 *  been nowhere or time is over, tells those below, and takes then whom it has heard of meanwhile. */
std::string check_place()
{
    for (const int why : {0, 1, 2}) {
        const int64_t far = why == 2 ? 1000 * ms : 0, wait = why == 2 ? 2000 * ms : 1000 * ms;
        bench b(true, false, {true, ranks({0, 2, 3}), far});
        for (int rank : {1, 2, 3})
            b.measured(rank, ms, 50'000'000);
        const int64_t began = b.now;
        b.it.step(b.now);
        const auto unconnected = [&](int rank, rank_set above) { tell_unconnected(b, rank, std::move(above)); };
        b.sent.clear();
        b.told(1, ms, 50'000'000);
        unconnected(2, ranks({0}));
        WAN_CHECK(b.asked() == -1);
        unconnected(3, ranks({0, 2}));
        WAN_CHECK(b.asked() == 3);
        b.answer(3, tell_kind::accept);
        b.answer(7, tell_kind::attach, 0, rank_set::one(7));
        WAN_CHECK(b.last(7, tell_kind::accept) && b.it.resumed() && b.it.view().ancestors == ranks({0, 2, 3}));
        b.sent.clear();
        unconnected(2, ranks({0, 3}));
        WAN_CHECK(b.asked() == -1);
        if (why == 0)
            unconnected(2, {});
        else {
            while (b.now + 50 * ms < began + wait)
                b.it.step(b.now += 50 * ms);
            b.it.step(b.now = began + wait - 1);
            WAN_CHECK(b.it.resumed() && b.it.parent() == 3);
            WAN_CHECK(b.it.deadline() <= began + wait);
            b.it.step(b.now = began + wait);
        }
        const tell_message *told = b.last(7, tell_kind::tell);
        WAN_CHECK(!b.it.resumed() && b.it.view().ancestors.empty() && told && told->view.ancestors.empty() && b.asked() == 1);
        tell_message m;
        m.what = tell_kind::attach;
        m.tree = b.it.name();
        m.children = 1;
        m.ranks = rank_set::one(8);
        b.it.receive(8, m, b.now);
        WAN_CHECK(b.last(8, tell_kind::refuse));
    }
    // Who computes meanwhile looks once more before it gives up.
    bench away(true, false, {true, ranks({0, 3}), 0});
    away.measured(3, ms, 50'000'000);
    away.it.step(away.now);
    away.it.step(away.now += 3000 * ms);
    WAN_CHECK(away.it.resumed());
    away.told(3, ms, 50'000'000);
    WAN_CHECK(away.asked() == 3);
    // Those who are nearer than the nearest that is known are looked for.
    bench far(true, false, {true, ranks({0, 2, 3, 4}), 0}, 0);
    far.measured(2, ms, 50'000'000);
    far.sent.clear();
    far.told(2, ms, 50'000'000);
    far.near.step(far.now, false);
    WAN_CHECK(far.last(3, tell_kind::ping) && far.last(4, tell_kind::ping) && far.asked() == -1);
    // Two of them that are not one below the other.
    bench side(true, false, {true, ranks({0, 2, 3}), 0});
    for (int rank : {2, 3})
        side.measured(rank, ms, 50'000'000);
    side.told(2, ms, 50'000'000);
    WAN_CHECK(side.asked() == -1 && side.it.resumed());
    side.told(3, ms, 50'000'000);
    WAN_CHECK(!side.it.resumed() && side.asked() >= 2);
    // Who has been connected has no former place any more.
    bench b(true, false, {true, ranks({0, 3}), 0});
    for (int rank : {1, 3})
        b.measured(rank, ms, 50'000'000);
    b.told(3, ms, 50'000'000);
    b.answer(3, tell_kind::accept);
    WAN_CHECK(b.it.view().connected && b.it.resumed());
    b.told(3, ms, 50'000'000, 1, ranks({0, 5}));
    WAN_CHECK(b.it.parent() == -1 && b.it.view().ancestors.empty());
    b.sent.clear();
    b.told(1, ms, 50'000'000);
    WAN_CHECK(b.asked() == 1);
    // Not below itself, nor below none of the root's.
    for (rank_set above : {ranks({0, 5}), ranks({2})})
        WAN_CHECK(bench(true, false, {true, above, 0}).it.view().ancestors.empty());
    return "";
}

/** What says nothing against a place: others that have been nowhere, who is not connected yet beside who is, and who has got one more
 *  above it.  Who is above is not taken for a child. */
std::string check_kept_places()
{
    bench b(true, false, {true, ranks({0, 2, 3}), 0});
    for (int rank : {1, 2, 3})
        b.measured(rank, ms, 50'000'000);
    b.it.step(b.now);
    b.sent.clear();
    tell_unconnected(b, 1, {});
    tell_unconnected(b, 2, ranks({0}));
    WAN_CHECK(b.it.resumed() && b.asked() == -1);
    b.answer(2, tell_kind::attach, 0, rank_set::one(2));
    WAN_CHECK(b.last(2, tell_kind::refuse) && !b.last(2, tell_kind::accept));
    b.told(3, ms, 50'000'000);      // below the root alone; where 2 comes is not known yet
    WAN_CHECK(b.it.resumed() && b.asked() == -1);
    b.told(3, ms, 50'000'000, 0, ranks({0, 2, 4}));
    WAN_CHECK(b.it.resumed() && b.asked() == 3);
    // Those who are no farther up than is known lead to nobody, nor do others.
    bench far(true, false, {true, ranks({0, 2, 3}), 0}, 0);
    for (int rank : {0, 1})
        far.measured(rank, ms, 50'000'000);
    far.sent.clear();
    far.told(1, ms, 50'000'000);
    far.near.step(far.now, false);
    WAN_CHECK(!far.last(2, tell_kind::ping) && !far.last(3, tell_kind::ping));
    return "";
}

/** Who looks when something is due waits as long as there is to be waited, however seldom that is; who looks later looks a few times more. */
std::string check_waits()
{
    for (const int64_t far : {0, 300, 1000, 100'000}) {
        const int64_t wait = std::clamp(4 * far * ms, 1000 * ms, 2000 * ms);
        bench b(true, false, {true, ranks({0, 2, 3}), far * ms});
        b.measured(3, ms, 50'000'000);
        const int64_t began = b.now;
        b.it.step(b.now);
        while (b.it.resumed() && b.now <= began + wait)
            b.it.step(b.now = std::max(b.now, b.it.deadline()) + us);
        WAN_CHECK_THAT(!b.it.resumed() && b.now >= began + wait && b.now <= began + wait + ms, std::to_string((b.now - began) / ms) + " ms in place of " + std::to_string(wait / ms));
        WAN_CHECK(b.it.deadline() <= b.now + 2 * ms);
        bench away(true, false, {true, ranks({0, 2, 3}), far * ms});
        away.it.step(away.now);
        int looks = 0;
        for (; away.it.resumed() && looks < 100; ++looks)
            away.it.step(away.now += 5000 * ms);
        WAN_CHECK_THAT(looks == 5, std::to_string(looks) + " looks");
        // Late early on, it has no less time than others; late at the end, as much as who was not.
        for (const int64_t late : {int64_t{0}, 300 * ms}) {
            bench once(true, false, {true, ranks({0, 2, 3}), far * ms});
            once.it.step(once.now);
            for (once.now += late; once.now < wait; once.now += 50 * ms)
                once.it.step(once.now);
            once.it.step(once.now += 5000 * ms);
            WAN_CHECK(once.it.resumed());
        }
    }
    return "";
}

/** On a host with another process, which is its parent: it goes nowhere else, looks for nobody else and waits until that one is connected;
 *  its place is the former one only if that was so there.  The first on a host has none below another one there. */
std::string check_beside()
{
    const auto resumed = [](rank_set above, rank_set beside) { return bench(true, false, {true, std::move(above), 0}, 10, std::move(beside)).it.resumed(); };
    WAN_CHECK(resumed(ranks({0, 2, 4}), ranks({4, 5})) && !resumed(ranks({0, 2}), ranks({4, 5})));
    WAN_CHECK(resumed(ranks({0, 2}), ranks({5, 6})) && !resumed(ranks({0, 6}), ranks({5, 6})));
    bench b(true, false, {true, ranks({0, 2, 3, 4}), 0}, 10, ranks({4, 5}));
    b.measured(4, us, 50'000'000);
    b.it.step(b.now);
    b.sent.clear();
    tell_unconnected(b, 4, ranks({0, 2, 3}));
    WAN_CHECK(b.asked() == -1);
    b.told(4, ms, 50'000'000, 0, ranks({0, 6}));        // it has gone elsewhere
    WAN_CHECK(b.asked() == 4);
    b.answer(4, tell_kind::accept);
    WAN_CHECK(b.it.view().connected);
    bench other(true, false, {true, ranks({0, 2, 3, 4}), 0}, 10, ranks({4, 5}));
    other.measured(4, us, 50'000'000);
    other.told(4, ms, 50'000'000, 0, ranks({0, 6}));
    other.near.step(other.now, false);
    WAN_CHECK(!other.last(2, tell_kind::ping) && !other.last(3, tell_kind::ping));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_unattached>), cmocka_unit_test(test<check_place>), cmocka_unit_test(test<check_kept_places>),
                                cmocka_unit_test(test<check_waits>), cmocka_unit_test(test<check_beside>)};
    return cmocka_run_group_tests_name("adaptive resuming", tests, nullptr, nullptr);
}
