/*
 * Ways that turn out slow, or fast again, while operations use them: what is seen of that, what is told, and when.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
#include "unit.hpp"

namespace {

using namespace adaptive_test;
using namespace wan_test;

/** How fast a way takes what waits for it: nothing is said of one for which nothing waits, and who comes late now and then does not count. */
std::string check_pace()
{
    for (int stalls : {0, 1}) {
        pace p, idle;
        int64_t now = second_ns;
        for (int i = 0; i < 100; ++i) {
            p.limited(now);
            now += stalls && i % 12 == 5 ? 1500 * ms : 32 * ms;
            p.came(now, 32'000, 1);
            idle.came(now, 32'000, 1);
            WAN_CHECK(i >= 10 || p.rate().rate == 0);
            const uint64_t rate = p.rate().rate;
            WAN_CHECK_THAT(i < 50 || (rate > 900'000 && rate < 1'100'000), std::to_string(stalls) + ", " + std::to_string(i) + ": " + std::to_string(rate));
        }
        WAN_CHECK(idle.rate().rate == 0);
        for (int i = 0; i < 20; ++i) {       // ten times as slow, two waiting
            p.limited(now);
            p.came(now += 320 * ms, 32'000, 2);
        }
        WAN_CHECK_THAT(p.rate().rate > 90'000 && p.rate().rate < 110'000 && p.rate().with_others == 2 * p.rate().rate, std::to_string(p.rate().rate));
    }
    return {};
}

/** How fast bytes come, and how far that is: what comes at once to one who did not look came no faster than it was sent; who waited behind
 *  others was no farther; what is long ago is nothing. */
std::string check_arrivals()
{
    arrivals a;
    std::deque<int64_t> line;
    int64_t now = second_ns;
    const auto come = [&] {
        a.came(now, 10'000);
        line.pop_front();
    };
    for (int i = 0; i < 500; ++i) {     // 10 MB/s, 10 ms there and back; the other one does not look for 30 ms now and then
        now += ms;
        const auto due = [&] { return !line.empty() && line.front() <= now && i % 100 > 30; };
        if (due())
            come();
        a.sent(now, line.empty());
        line.push_back(now + 10 * ms);
        while (due())
            come();
        WAN_CHECK_THAT(a.rate(now) < 10'500'000, std::to_string(i) + ": " + std::to_string(a.rate(now)));
        WAN_CHECK(i < 60 || (a.rate(now) > 9'500'000 && a.round_trip_ns(now) == 10 * ms));
    }
    for (; !line.empty(); now += ms)
        come();
    WAN_CHECK(a.rate(now + second_ns) > 0 && a.rate(now + 5 * second_ns) == 0 && a.round_trip_ns(now + 5 * second_ns) == 0);
    // Farther than it was: as soon as one goes alone.
    now += 5 * second_ns;
    a.sent(now, true);
    a.came(now + 50 * ms, 10'000);
    WAN_CHECK(a.round_trip_ns(now + 50 * ms) == 50 * ms);
    return {};
}

/** Who is told that a way is fast again believes it, though it had once been measured as faster. */
std::string check_told()
{
    neighbours n({}, 10, 5, [](int, const tell_message &) {});
    n.know(1, {50'000, 100'000'000, 0});
    tell_message m;
    m.what = tell_kind::pace;
    for (bool slow : {true, false}) {
        m.value_ns = slow ? 5'000'000 : 40'000'000;
        m.slow = slow;
        const auto bytes = message_put(m);
        tell_message come;
        WAN_CHECK(message_get(come, bytes, 10));
        n.receive(1, come, 7 * ms);
        WAN_CHECK(n.slowed(1) == slow && n.bandwidth(1) == static_cast<uint64_t>(m.value_ns) && n.way(1).at_ns == 7 * ms);
    }
    m.value_ns = 50'000'000;        // and slow though it is no less than before
    m.slow = true;
    n.receive(1, m, 8 * ms);
    WAN_CHECK(n.slowed(1));
    return {};
}

/** Nor is a way slow any more that is measured anew. */
std::string check_measured_again()
{
    job j(2, test_seed() + 16);
    adaptive_node &n = j.open(0, 1, {0, 1})->node();
    j.open(1, 1, {0, 1});
    j.run([] { return false; });
    tell_message m;
    m.what = tell_kind::pace;
    m.value_ns = 1'000'000;
    m.slow = true;
    j.services[0]->receive(1, message(1, 0, m), j.now);
    WAN_CHECK(n.near().slowed(1));
    n.measure_again();
    WAN_CHECK(!n.near().slowed(1));
    return {};
}

/** A fork's child is told what it would get alone, as far as others waited meanwhile that share with it: it divides that itself. */
std::string check_share()
{
    for (const auto &[with_others, told] : {std::pair{2'000'000, 2'000'000}, {5'000'000, 2'000'000}, {1'000'000, 1'000'000}}) {
        job j(4, test_seed() + 12);
        adaptive_node &n = j.open(0, 1, up_to(4))->node();
        for (int child : {1, 2}) {
            n.know(child, {ms, 100'000'000, 1});
            tell_message m;
            m.what = tell_kind::attach;
            m.tree = {0, true};
            m.ranks = rank_set::one(child);
            m.children = child - 1;
            j.services[0]->receive(child, message(1, 0, m), j.now);
        }
        for (auto &q : j.way)
            q.clear();
        for (int i = 0; i < 8; ++i)         // (one of many gets a part)
            n.paced(1, {1'000'000, 50'000'000}, j.now);
        WAN_CHECK(n.seen().slowed == 0 && j.at(0, 1).empty());
        for (int i = 0; i < 4; ++i)
            n.paced(1, {1'000'000, static_cast<uint64_t>(with_others)}, j.now);
        WAN_CHECK(j.at(0, 2).empty() && j.at(0, 1).size() == 1);
        wire_reader r(j.at(0, 1)[0].bytes);
        tell_message m;
        WAN_CHECK(r.number() == 1 && r.number() == 0 && r.number() == 0 && message_get(m, r.rest(), 4));
        WAN_CHECK_THAT(m.what == tell_kind::pace && m.slow && m.value_ns == told, std::to_string(m.value_ns));
        // Again where that has become less than half, seen as often; not before, nor where it has become a little more.
        const auto later = [&, first = static_cast<uint64_t>(told)](uint64_t percent, int times) {
            const uint64_t rate = first * percent / 100;
            for (auto &q : j.way)
                q.clear();
            for (int i = 0; i < times; ++i)
                n.paced(1, {rate, rate}, j.now);
            return j.at(0, 1).size();
        };
        WAN_CHECK(later(110, 20) == 0 && later(60, 20) == 0);
        WAN_CHECK(later(20, 3) == 0 && later(20, 1) == 1 && later(20, 20) == 0);
        WAN_CHECK(later(9, 20) == 1 && n.seen().slowed == 1);
        // When ways are measured anew, it has to be seen anew.
        n.measure_again();
        for (int i = 0; i < 4; ++i)
            n.paced(1, {1'000'000, static_cast<uint64_t>(with_others)}, j.now);
        WAN_CHECK(n.seen().slowed == 2);
    }
    return {};
}

/** What is said of a way when something has come there is said at that time, and when it has been counted. */
std::string check_when()
{
    job j(2, test_seed() + 13);
    bool counted = true;
    uint64_t told = 0;
    j.rate = 10'000'000;
    std::vector<adaptive_node *> n;
    for (int p = 0; p < 2; ++p)
        n.push_back(&j.open(p, 1, up_to(2))->node());
    j.sends = [&](int from, std::span<const std::byte> head) {
        wire_reader r(head);
        tell_message m;
        if (from == 0 && r.number() == 1 && r.number() == 0 && r.number() == 0 && message_get(m, r.rest(), 2) && m.what == tell_kind::pace) {
            ++told;
            counted = counted && j.services[0]->deadline() == 0;        // it will look whether there is room
        }
    };
    std::vector<std::byte> bytes(1 << 20), large(20 << 20), other(20 << 20);
    const auto both = [&](std::span<std::byte> a, std::span<std::byte> b, int root) {
        const uint64_t x = n[0]->broadcast_begin(root, a), y = n[1]->broadcast_begin(root, b);
        int64_t at_ns = n[0]->near().way(1).at_ns, wrong = 0;
        j.run([&] {
            if (const int64_t now_ns = n[0]->near().way(1).at_ns; now_ns != std::exchange(at_ns, now_ns))
                wrong += now_ns != j.now;
            return n[0]->done(x) && n[1]->done(y);
        });
        n[0]->end(x), n[1]->end(y);
        return wrong;
    };
    std::vector<std::byte> small(300'000);
    for (int i = 0; i < 5; ++i)
        both(bytes, small, 0), both(small, bytes, 1);
    // As the root, it is above the other one; of what it sends up, below.
    j.rate = 500'000;
    WAN_CHECK(both(large, other, 0) == 0);
    WAN_CHECK_THAT(told == 1 && counted, std::to_string(told) + " times told");
    j.rate = 10'000'000;
    const uint64_t a = n[0]->reduce_begin(1, large, other.data(), {add, 1}), b = n[1]->reduce_begin(1, large, other.data(), {add, 1});
    int64_t at_ns = n[0]->near().way(1).at_ns, changes = 0, wrong = 0;
    j.run([&] {
        if (const int64_t now_ns = n[0]->near().way(1).at_ns; now_ns != std::exchange(at_ns, now_ns))
            ++changes, wrong += now_ns != j.now;
        return n[0]->done(a) && n[1]->done(b);
    });
    WAN_CHECK_THAT(changes > 0 && wrong == 0, std::to_string(wrong) + " of " + std::to_string(changes));
    return {};
}

/** Who has died waits no more: others that share what leaves a process with it do not, and are as slow as they are. */
std::string check_dead()
{
    job j(6, test_seed() + 14);
    j.rate = 10'000'000;
    std::vector<adaptive_service::member *> whole, left;
    for (int p = 0; p < 6; ++p)
        whole.push_back(j.open(p, 1, up_to(6)));
    for (int p = 0; p < 2; ++p)
        left.push_back(j.open(p, 2, {0, 1}));
    j.run([] { return false; });
    std::vector<std::byte> from(20 << 20), to(20 << 20);
    // Calls that wait for processes that take nothing any more.
    j.dead = {2, 3, 4, 5};
    for (int root : {2, 3, 4, 5})       // (short: straight there)
        whole[0]->node().reduce_begin(root, std::span(from).first(250'000), nullptr, {add, 1});
    j.run([&, until = j.now + 300 * ms] { return j.now > until; });
    for (int p = 0; p < 2; ++p)
        whole[static_cast<size_t>(p)]->abandon();
    const auto call = [&] {
        const uint64_t a = left[0]->node().broadcast_begin(0, from), b = left[1]->node().broadcast_begin(0, to);
        j.run([&] { return left[0]->node().done(a) && left[1]->node().done(b); });
        left[0]->node().end(a), left[1]->node().end(b);
    };
    call();
    WAN_CHECK(left[0]->node().seen().slowed == 0);
    j.rate = 1'250'000;     // an eighth
    call();
    WAN_CHECK_THAT(left[0]->node().seen().slowed == 1, std::to_string(left[0]->node().seen().slowed) + " ways are slow");
    return {};
}

/** Calls with computing in between: the time without any is not the way's. */
std::string check_pauses()
{
    for (size_t bytes : {300'000, 2 << 20}) {
        job j(2, test_seed() + 15);
        j.rate = 100'000'000;
        j.delay = 100 * us;
        std::vector<adaptive_node *> n;
        for (int p = 0; p < 2; ++p)
            n.push_back(&j.open(p, 1, up_to(2))->node());
        n[0]->know(1, {200 * us, 100'000'000, 1});
        std::vector<std::byte> from(bytes), to(bytes);
        for (int call = 0; call < 100; ++call) {
            const uint64_t a = n[0]->broadcast_begin(0, from), b = n[1]->broadcast_begin(0, to);
            WAN_CHECK(j.run([&] { return n[0]->done(a) && n[1]->done(b); }));
            n[0]->end(a), n[1]->end(b);
            j.run([&, until = j.now + 300 * ms] { return j.now > until; });
        }
        WAN_CHECK_THAT(n[0]->seen().slowed == 0, std::to_string(bytes) + ": " + std::to_string(n[0]->seen().slowed) + " ways are slow");
    }
    return {};
}

/** Who does not look has not got farther, whatever the answers took: no more is on its way to it for that. */
std::string check_away()
{
    job j(2, test_seed() + 17);
    j.rate = 100'000'000;
    adaptive_node &n = j.open(0, 1, {0, 1})->node(), &other = j.open(1, 1, {0, 1})->node();
    j.run([] { return false; });
    n.know(1, {200 * us, 100'000'000, 1});
    std::vector<std::byte> from(300'000), to(300'000);
    for (int call = 0; call < 10; ++call) {
        const uint64_t a = n.broadcast_begin(0, from), b = other.broadcast_begin(0, to);
        j.deaf = 1;
        j.run([&, until = j.now + 300 * ms] { return j.now > until; });
        j.deaf = -1;
        WAN_CHECK(j.run([&] { return n.done(a) && other.done(b); }));
        n.end(a), other.end(b);
        WAN_CHECK_THAT(n.most_ahead(1) < 8 << 20, std::to_string(n.most_ahead(1)));
    }
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_pace>), cmocka_unit_test(test<check_arrivals>), cmocka_unit_test(test<check_told>), cmocka_unit_test(test<check_measured_again>), cmocka_unit_test(test<check_share>), cmocka_unit_test(test<check_when>), cmocka_unit_test(test<check_dead>), cmocka_unit_test(test<check_pauses>), cmocka_unit_test(test<check_away>)};
    return cmocka_run_group_tests_name("adaptive pace", tests, nullptr, nullptr);
}
