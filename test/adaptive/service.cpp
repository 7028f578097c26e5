/*
 * The adaptive trees of processes with several communicators: messages that come
 * before a communicator is opened or after it was closed, what is known from one
 * to the next, and how much may be under way.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
#include "unit.hpp"

namespace {

using namespace adaptive_test;
using namespace wan_test;

/** An allreduce and a broadcast on one communicator, checked. */
struct calls {
    calls(job &j, std::vector<adaptive_service::member *> m, size_t bytes) : in(m.size()), out(m.size()), members(std::move(m)), job_(j)
    {
        for (size_t r = 0; r < members.size(); ++r) {
            in[r].assign(bytes, static_cast<std::byte>(r + 1));
            out[r].resize(bytes);
        }
    }
    void begin(size_t r)
    {
        if (!members[r])
            return;
        adaptive_node &n = members[r]->node();
        ops.emplace_back(r, n.allreduce_begin(in[r], out[r].data(), {add, 1}));
        n.step(job_.now);
    }
    bool done() const
    {
        return std::all_of(ops.begin(), ops.end(), [&](const auto &o) { return members[o.first]->node().done(o.second); });
    }
    bool right() const
    {
        const auto expected = static_cast<std::byte>(members.size() * (members.size() + 1) / 2);
        return std::all_of(out.begin(), out.end(), [&](const auto &o) {
            return std::all_of(o.begin(), o.end(), [&](std::byte b) { return b == expected; });
        });
    }
    void end()
    {
        for (const auto &[r, op] : ops)
            members[r]->node().end(op);
    }
    std::vector<std::vector<std::byte>> in, out;
    std::vector<adaptive_service::member *> members;
    std::vector<std::pair<size_t, uint64_t>> ops;

private:
    job &job_;
};

/** Whether this says that operation 3 of that one has nothing to come. */
bool answers(std::span<const std::byte> bytes, uint64_t number, uint64_t stream)
{
    wire_reader r(bytes);
    tell_message m;
    return r.number() == number && r.number() == 0 && r.number() == stream && message_get(m, r.rest(), 2)
           && m.what == tell_kind::redirected && m.op == 3 && m.tree == (tree_name{1, true});
}

/** One process opens and calls long after the others' messages have come. */
std::string check_early()
{
    job j(6, test_seed());
    std::vector<adaptive_service::member *> m(6, nullptr);
    for (int p = 0; p < 5; ++p)
        m[static_cast<size_t>(p)] = j.open(p, 7, up_to(6));
    calls c(j, m, 5000);
    for (size_t r = 0; r < 5; ++r)
        c.begin(r);
    WAN_CHECK(!j.run([&] { return c.done(); }));
    c.members[5] = j.open(5, 7, up_to(6));
    c.begin(5);
    WAN_CHECK(j.run([&] { return c.done(); }) && c.right());
    return "";
}

/** Two communicators with the same processes in other orders, calls on both at once; one goes, the other goes on. */
std::string check_two()
{
    job j(7, test_seed() + 1);
    const std::vector<int> first = up_to(7), second{4, 2, 6, 0, 5};
    std::vector<adaptive_service::member *> a, b;
    for (int p : first)
        a.push_back(j.open(p, 1, first));
    j.run([] { return false; });        // measured and quiet
    const uint64_t before = j.sent;
    for (int p : second)
        b.push_back(j.open(p, 2, second));
    for (size_t r = 0; r < b.size(); ++r) {
        const adaptive_node &n = b[r]->node();
        WAN_CHECK(n.near().known().size() == b.size() - 1);     // from the first one
        for (int other : n.near().known())
            WAN_CHECK(n.near().rtt_ns(other) == a[static_cast<size_t>(second[r])]->node().near().rtt_ns(second[static_cast<size_t>(other)]));
    }
    j.run([] { return false; });
    WAN_CHECK_THAT(j.sent == before, "what is known is measured once more");
    for (int round = 0; round < 3; ++round) {
        calls x(j, a, 300'000), y(j, b, 7);
        for (size_t r = 0; r < a.size(); ++r) {
            x.begin(r);
            if (r < b.size())
                y.begin(b.size() - 1 - r);
        }
        WAN_CHECK(j.run([&] { return x.done() && y.done(); }) && x.right() && y.right());
        x.end(), y.end();
    }
    for (size_t r = 0; r < a.size(); ++r)
        j.services[r]->close(a[r]);     // some of its messages may still be on their way
    calls z(j, b, 100'000);
    for (size_t r = 0; r < b.size(); ++r)
        z.begin(r);
    WAN_CHECK(j.run([&] { return z.done(); }) && z.right());
    return "";
}

/** What a second communicator gets before the first has measured bandwidths, it measures itself. */
std::string check_inherited()
{
    job j(5, test_seed() + 4);
    std::vector<adaptive_service::member *> a, b;
    for (int p = 0; p < 5; ++p)
        a.push_back(j.open(p, 1, up_to(5)));
    j.run([&] { return j.now >= 100 * ms; });
    for (size_t r = 0; r < 5; ++r) {
        WAN_CHECK(a[r]->node().near().known().size() == 4 && a[r]->node().near().bandwidth(r == 0) == 0);
        b.push_back(j.open(static_cast<int>(r), 2, up_to(5)));
        j.services[r]->close(a[r]);
    }
    j.run([] { return false; });
    for (size_t r = 0; r < 5; ++r)
        for (size_t other = 0; other < 5; ++other)
            WAN_CHECK(r == other || b[r]->node().near().bandwidth(static_cast<int>(other)) > 0);
    return "";
}

/** Of two communicators that know the same process, what was measured last is passed on; a bandwidth in any case. */
std::string check_newest()
{
    for (bool first : {false, true}) {
        job j(2, test_seed() + 5);
        auto *a = j.open(0, 1, up_to(2)), *b = j.open(0, 2, up_to(2));
        (first ? a : b)->node().know(1, {3 * ms, 0, 900});
        (first ? b : a)->node().know(1, {7 * ms, 5'000'000, 100});
        const measured_way way = j.open(0, 3, up_to(2))->node().near().way(1);
        WAN_CHECK(way.rtt_ns == 3 * ms && way.at_ns == 900 && way.bandwidth == 5'000'000);
        j.services[0]->close((first ? b : a));
        WAN_CHECK(j.open(0, 4, up_to(2))->node().near().way(1).rtt_ns == 3 * ms);
    }
    return "";
}

/** What something else has measured of a process is not measured again, only a bandwidth that it lacks; trees tell the table, too. */
std::string check_shared_table()
{
    job j(3, test_seed() + 6);
    const auto named = [](int p) { return process_of(1, static_cast<uint32_t>(p)); };
    j.known[0]->keep(named(1), {9 * ms, 4'000'000, 50});
    j.known[0]->keep(process_of(2, 2), {8 * ms, 4'000'000, 50});        // of another job
    std::vector<adaptive_service::member *> a;
    for (int p = 0; p < 3; ++p)
        a.push_back(j.open(p, 1, up_to(3)));
    WAN_CHECK(a[0]->node().near().rtt_ns(1) == 9 * ms && a[0]->node().near().rtt_ns(2) == 0);
    j.run([] { return false; });
    WAN_CHECK_THAT(a[0]->node().near().rtt_ns(1) == 9 * ms, "what is known was measured once more");
    WAN_CHECK(a[0]->node().near().rtt_ns(2) > 0 && a[0]->node().near().rtt_ns(2) < 9 * ms);
    j.services[0]->close(a[0]);
    WAN_CHECK(j.known[0]->way(named(2)).rtt_ns > 0 && j.known[0]->way(named(2)).bandwidth > 0);
    return "";
}

/** What may have been an absence is nobody's distance in the next one. */
std::string check_unsure()
{
    job j(3, test_seed() + 7);
    j.away = [](int process, int64_t now) { return process == 1 && now % (400 * ms) >= step; };
    std::vector<adaptive_service::member *> a;
    for (int p = 0; p < 3; ++p)
        a.push_back(j.open(p, 1, up_to(3)));
    const auto &near = a[0]->node().near();
    j.run([&] { return near.rtt_ns(1) > 0 && near.rtt_ns(2) > 0; });
    WAN_CHECK_THAT(near.rtt_ns(1) > 100 * ms && near.unsure(1) && near.rtt_ns(2) < ms && !near.unsure(2), std::to_string(near.rtt_ns(1)));
    WAN_CHECK(j.open(0, 2, up_to(3))->node().near().known() == std::vector{2});
    return "";
}

/** One that process 0 opens on its own, with these numbers; it is the last. */
adaptive_service::member *open_as(job &j, uint64_t number, std::vector<int> numbers, std::vector<process_id> who)
{
    const int me = static_cast<int>(who.size()) - 1;
    return j.services[0]->open({number, 0, 0}, std::move(numbers), me, [](int, size_t) {}, j.now, {}, std::move(who));
}

/** What is known of a process is known in each communicator, whatever its rank and its number; others of its number begin from nothing. */
std::string check_identity()
{
    job j(4, test_seed() + 10);
    j.delay_of = [](int a, int b) { return (a + b) * ms; };
    std::vector<adaptive_service::member *> a;
    for (int p = 0; p < 4; ++p)
        a.push_back(j.open(p, 1, up_to(4)));
    WAN_CHECK(a[0]->known_before() == 0);
    j.run([] { return false; });
    const auto known = [&](process_id p) { return j.known[0]->way(p); };
    const std::vector<process_id> others{process_of(1, 2), process_of(1, 3), process_of(1, 1), process_of(1, 0)};
    for (const bool closed : {false, true}) {
        auto *m = open_as(j, closed ? 3 : 2, {100, 101, 102, 103}, others);
        const auto &near = m->node().near();
        WAN_CHECK_THAT(m->known_before() == 3, std::to_string(m->known_before()));
        const std::array far{2, 3, 1};
        for (int r = 0; r < 3; ++r)
            WAN_CHECK_THAT(near.rtt_ns(r) / ms == 2 * far[static_cast<size_t>(r)] && near.bandwidth(r) > 0, std::to_string(near.rtt_ns(r)));
        if (!closed)
            j.services[0]->close(a[0]);
        j.services[0]->close(m);
        j.services[0]->forget(100, 4);
    }
    // A job that another mpirun, or a later one, has given the same numbers.
    auto *m = open_as(j, 4, {1, 2, 3, 0}, {process_of(2, 1), process_of(2, 2), process_of(2, 3), process_of(1, 0)});
    WAN_CHECK(m->known_before() == 0 && m->node().near().known().empty());
    j.services[0]->close(m);
    // Which of two of one name this is nobody knows.
    const measured_way before = known(process_of(1, 1));
    m = open_as(j, 5, {200, 201, 202, 203}, {process_of(1, 1), process_of(1, 1), process_of(1, 2), process_of(1, 0)});
    WAN_CHECK(m->known_before() == 1 && m->node().near().rtt_ns(2) > 0);
    m->node().know(0, {77 * ms, 1'000'000, INT64_MAX});
    j.services[0]->close(m);
    WAN_CHECK(known(process_of(1, 1)).rtt_ns == before.rtt_ns && known(nobody).rtt_ns == 0);
    return "";
}

/** Whoever gets the number of one that has gone is sent as much as if nobody had had it. */
std::string check_number_again()
{
    job j(2, test_seed() + 11);
    j.deaf = 1;
    std::vector<std::byte> bytes(1 << 20);
    const auto sent = [&](uint64_t number, process_id to) {
        auto *m = open_as(j, number, {1, 0}, {to, process_of(1, 0)});
        m->node().broadcast_begin(1, bytes);
        m->node().step(j.now);
        const size_t n = j.at(0, 1).size();
        j.services[0]->close(m);
        return n;
    };
    const size_t first = sent(1, process_of(1, 1));
    WAN_CHECK(first > 1 && j.services[0]->sent_to() == 1);
    j.services[0]->forget(2, 5);
    j.services[0]->forget(0, 1);
    WAN_CHECK(j.services[0]->sent_to() == 1);
    j.at(0, 1).clear();
    j.services[0]->forget(1, 1);
    WAN_CHECK(j.services[0]->sent_to() == 0);
    const size_t again = sent(2, process_of(2, 1));
    WAN_CHECK_THAT(again == first, std::to_string(again) + " messages, at first " + std::to_string(first));
    return "";
}

/** Of processes of many jobs that come and go the last ones are known; those of a communicator that stays, too. */
std::string check_many_jobs()
{
    job j(2, test_seed() + 12);
    adaptive_service &s = *j.services[0];
    auto *stays = j.open(0, 1, up_to(2));
    stays->node().know(1, {5 * ms, 1'000'000, 1});
    constexpr uint32_t jobs = 4000, each = 3;
    int number = 2;
    for (uint32_t i = 2; i < jobs; ++i, number += each + 1) {
        std::vector<int> numbers;
        std::vector<process_id> who;
        for (uint32_t r = 0; r <= each; ++r) {
            numbers.push_back(number + static_cast<int>(r));
            who.push_back(r == each ? process_of(1, 0) : process_of(i, r));
        }
        auto *m = s.open({i, 0, 0}, numbers, each, [](int, size_t) {}, j.now, {}, who);
        for (int r = 0; r < static_cast<int>(each); ++r)
            m->node().know(r, {ms * (r + 1), 1'000'000, i});
        s.close(m);
        s.pass(i + 1, j.now);
        s.forget(number, each + 1);
        if (const size_t known = j.known[0]->processes(); known > measured_table::most_processes)
            return std::to_string(known) + " processes are known";
    }
    WAN_CHECK(s.kept() == 0 && s.sent_to() == 0 && s.remembered() <= 8);
    for (uint32_t r = 0; r < each; ++r)
        WAN_CHECK(j.known[0]->way(process_of(jobs - 1, r)).rtt_ns > 0 && j.known[0]->way(process_of(2, r)).rtt_ns == 0);
    WAN_CHECK(j.known[0]->way(process_of(1, 1)).rtt_ns == 5 * ms);
    return "";
}

/** Who has closed a communicator answers the questions that somebody may wait for, and no other. */
std::string check_closed()
{
    job j(2, test_seed() + 2);
    auto *m = j.open(1, 5, up_to(2));
    j.services[1]->close(m);
    j.run([] { return false; });
    for (auto &q : j.way)
        q.clear();
    for (tell_kind what : {tell_kind::ask, tell_kind::redirect, tell_kind::when}) {
        tell_message t;
        t.what = what;
        t.tree = {1, true};
        t.op = 3;
        j.services[1]->receive(0, message(5, 0, t), j.now);
    }
    WAN_CHECK(j.at(1, 0).size() == 2 && answers(j.at(1, 0)[0].bytes, 5, 0));
    wire_reader r(j.at(1, 0)[1].bytes);
    tell_message begun;
    WAN_CHECK(r.number() == 5 && r.number() == 0 && r.number() == 0 && message_get(begun, r.rest(), 2) && begun.what == tell_kind::begun && begun.op > 3);
    return "";
}

/** Of many communicators and streams that come and go, next to nothing is kept; who asks about one gets an answer, sooner or later. */
std::string check_kept()
{
    job j(2, test_seed() + 7);
    adaptive_service &s = *j.services[1];
    auto *stays = j.open(1, 1, up_to(2));
    for (uint64_t number = 2; number < 500; ++number) {
        for (uint64_t stream = 0; stream < 3; ++stream)
            j.open(1, number, up_to(2), stream);
        for (uint64_t stream = 3; stream-- > 0;)
            j.close(1, number, stream);
        s.pass(number + 1, j.now);
    }
    WAN_CHECK_THAT(s.kept() == 0, std::to_string(s.kept()) + " are kept");
    // Of one that is open, streams that are closed.
    j.open(1, 1, up_to(2), 7);
    j.close(1, 1, 7);
    WAN_CHECK(s.kept() == 1);
    const auto asked = [&](uint64_t number, uint64_t stream) {
        j.at(1, 0).clear();
        for (tell_kind what : {tell_kind::ask, tell_kind::redirect}) {
            tell_message t;
            t.what = what;
            t.tree = {1, true};
            t.op = 3;
            s.receive(0, message(number, stream, t), j.now);
        }
        return !j.at(1, 0).empty() && answers(j.at(1, 0)[0].bytes, number, stream);
    };
    WAN_CHECK(asked(1, 7) && asked(400, 0) && asked(400, 9));
    WAN_CHECK(!asked(1, 8) && !asked(500, 0) && s.kept() == 5);    // to come, perhaps
    j.at(1, 0).clear();
    s.pass(501, j.now);         // one of them will not
    WAN_CHECK(s.kept() == 3 && j.at(1, 0).size() == 1 && answers(j.at(1, 0)[0].bytes, 500, 0));
    // One that is closed before it is passed; with it its streams.
    j.open(1, 510, up_to(2));
    j.close(1, 510, 0);
    WAN_CHECK(asked(510, 0));
    s.pass(511, j.now);
    WAN_CHECK(asked(510, 0) && s.kept() == 3);
    s.close(stays);
    s.pass(511, j.now);
    WAN_CHECK(s.kept() == 0);
    return "";
}

/** To a process that takes nothing not more is sent than a window; then the rest. */
std::string check_window()
{
    job j(2, test_seed() + 3);
    std::vector<adaptive_service::member *> m;
    for (int p = 0; p < 2; ++p)
        m.push_back(j.open(p, 1, up_to(2)));
    j.run([] { return false; });
    const size_t bytes = 8 << 20;
    std::vector<std::byte> from(bytes, std::byte{3}), to(bytes);
    j.deaf = 1;
    const uint64_t a = m[0]->node().broadcast_begin(0, from), b = m[1]->node().broadcast_begin(0, to);
    j.run([&, then = j.now + 100 * ms] { return j.now >= then; });      // (the deaf one goes on asking)
    uint64_t waiting = 0;
    for (const auto &x : j.at(0, 1))
        waiting += x.bytes.size();
    const auto &near = m[0]->node().near();
    const uint64_t holds = near.bandwidth_or_most(1) * static_cast<uint64_t>(near.rtt_or_largest_ns(1)) / 1'000'000'000;
    const uint64_t window = std::max<uint64_t>(128 << 10, 2 * holds), one = 70 << 10;      // (one: the last, and heads)
    WAN_CHECK_THAT(holds > 0 && waiting > window / 2 && waiting < window + one && window + one < bytes / 2,
                   std::to_string(waiting) + " of " + std::to_string(window));
    WAN_CHECK(!m[0]->node().done(a));
    j.deaf = -1;
    WAN_CHECK(j.run([&] { return m[0]->node().done(a) && m[1]->node().done(b); }) && to == from);
    return "";
}

/** A way that was measured while others were in the way: what comes there shows how much it holds. */
std::string check_wider()
{
    job j(2, test_seed() + 6);
    j.delay = 20 * ms;
    std::vector<adaptive_service::member *> m;
    for (int p = 0; p < 2; ++p) {
        m.push_back(j.open(p, 1, up_to(2)));
        m.back()->node().know(1 - p, {20 * ms, 1'000'000, 1});
    }
    const size_t bytes = 8 << 20;
    std::vector<std::byte> from(bytes, std::byte{3}), to(bytes);
    const uint64_t a = m[0]->node().broadcast_begin(0, from), b = m[1]->node().broadcast_begin(0, to);
    WAN_CHECK(j.run([&] { return m[0]->node().done(a) && m[1]->node().done(b); }) && to == from);
    const int64_t in_windows = static_cast<int64_t>(bytes / (128 << 10)) * 20 * ms;
    WAN_CHECK_THAT(j.now < in_windows / 3, std::to_string(j.now / ms) + " ms, by windows of 128 KB " + std::to_string(in_windows / ms));
    return "";
}

/** A way that gets five times as long while it is used holds five times as much. */
std::string check_farther()
{
    job j(2, test_seed() + 8);
    j.words_travel = false;     // (the delay is there and back)
    j.delay = 20 * ms;
    j.rate = 5'000'000;
    std::vector<adaptive_service::member *> m;
    for (int p = 0; p < 2; ++p) {
        m.push_back(j.open(p, 1, up_to(2)));
        m.back()->node().know(1 - p, {20 * ms, 5'000'000, 1});
    }
    const size_t bytes = 4 << 20;
    std::vector<std::byte> from(bytes, std::byte{3}), to(bytes);
    const auto call = [&] {
        const int64_t began = j.now;
        const uint64_t a = m[0]->node().broadcast_begin(0, from), b = m[1]->node().broadcast_begin(0, to);
        j.run([&] { return m[0]->node().done(a) && m[1]->node().done(b); });
        m[0]->node().end(a), m[1]->node().end(b);
        return j.now - began;
    };
    const int64_t before = call();
    call();
    j.delay = 100 * ms;
    int64_t last = 0;
    for (int i = 0; i < 4; ++i)
        last = call();
    // (By windows for the way as it was 1.9 s.)
    WAN_CHECK_THAT(last < before + 3 * j.delay, std::to_string(last / ms) + " ms, before " + std::to_string(before / ms));
    return "";
}

/** A communicator that failed here takes and sends nothing more; another one over the same processes goes on. */
std::string check_failed()
{
    job j(3, 5);
    std::vector<adaptive_service::member *> broken, whole;
    for (int p = 0; p < 3; ++p) {
        broken.push_back(j.open(p, 1, {0, 1, 2}));
        whole.push_back(j.open(p, 2, {0, 1, 2}));
    }
    calls first(j, broken, 1000), second(j, whole, 1000);
    first.begin(0);
    first.begin(1);             // the third one is dead, to this one
    for (adaptive_service::member *m : broken)
        m->abandon();
    WAN_CHECK(broken[0]->failed() && !whole[0]->failed() && broken[0]->node().open() == 0);
    for (size_t r = 0; r < 3; ++r)
        second.begin(r);
    WAN_CHECK(j.run([&] { return second.done(); }) && second.right());
    WAN_CHECK(broken[0]->node().open() == 0 && broken[1]->node().open() == 0);     // what came for it was dropped
    return {};
}

/** Where MPI_Finalize has begun nothing is begun or answered any more, but the question that somebody may wait for; others go on. */
std::string check_quiet()
{
    job j(4, test_seed() + 8);
    std::vector<adaptive_service::member *> m;
    for (int p = 0; p < 4; ++p)
        m.push_back(j.open(p, 1, up_to(4)));
    calls all(j, m, 1000);
    for (size_t r = 0; r < 4; ++r)
        all.begin(r);
    WAN_CHECK(j.run([&] { return all.done(); }) && all.right());
    // In the middle of measuring anew, and with the ways of a communicator that others begin to use.
    for (adaptive_service::member *x : m)
        x->node().measure_again();
    j.services[0]->quiet();
    WAN_CHECK(j.services[0]->deadline() == INT64_MAX);
    uint64_t words = 0, answers = 0;
    const auto from_quiet = [&] {
        uint64_t n = 0;
        for (int to = 1; to < 4; ++to)
            n += j.at(0, to).size();
        return n;
    };
    const uint64_t before = from_quiet();
    j.run([&, until = j.now + 300 * ms] {        // (others go on asking now and then)
        words = std::max(words, from_quiet());
        return j.now >= until;
    });
    WAN_CHECK_THAT(words <= before, std::to_string(words));
    wire_writer w;
    w.number(1), w.number(0), w.number(0);
    tell_message question;
    question.what = tell_kind::redirect;
    question.tree = {1, true};
    question.op = 1;
    w.append(message_put(question));
    j.services[0]->receive(2, w.bytes(), j.now);
    for (const job::message &x : j.at(0, 2)) {
        wire_reader r(x.bytes);
        (void) r.number(), (void) r.number(), (void) r.number();
        tell_message told;
        answers += message_get(told, r.rest(), 4) && told.what == tell_kind::redirected && told.op == 1;
    }
    WAN_CHECK(answers == 1 && from_quiet() == 1 && j.services[0]->kept() == 0);
    return {};
}

/** A process that takes nothing is not sent all of many short messages. */
std::string check_bounded()
{
    job j(2, 6);
    adaptive_service::member *root = j.open(0, 1, {0, 1});
    j.open(1, 1, {0, 1});
    j.deaf = 1;
    constexpr int many = 2000;
    std::vector<std::byte> byte(1);
    for (int i = 0; i < many; ++i) {
        root->node().broadcast_begin(0, byte);
        root->node().step(j.now);
    }
    WAN_CHECK(j.at(0, 1).size() > 50 && j.at(0, 1).size() < many / 4);
    return {};
}

/** Who wants less than the root sends, which no program may, gets no more than that, whenever it begins: before, in the middle and after. */
std::string check_shorter()
{
    for (int64_t begins : {int64_t{0}, 3 * ms, 300 * ms}) {
        job j(2, test_seed() + 9);
        j.rate = 100'000'000;
        adaptive_service::member *root = j.open(0, 1, {0, 1}), *other = j.open(1, 1, {0, 1});
        std::vector<std::byte> from(1 << 20, std::byte{1}), to(1 << 20);
        const auto wait = [&](int64_t ns) { j.run([&, until = j.now + ns] { return j.now >= until; }); };
        const uint64_t a = root->node().broadcast_begin(0, from);
        wait(begins);
        const uint64_t b = other->node().broadcast_begin(0, std::span(to).first(1000));
        WAN_CHECK(j.run([&] { return root->node().done(a) && other->node().done(b); }));
        WAN_CHECK_THAT(std::count(to.begin() + 1000, to.end(), std::byte{1}) == 0, std::to_string(begins));
    }
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_early>),
        cmocka_unit_test(test<check_two>),
        cmocka_unit_test(test<check_inherited>),
        cmocka_unit_test(test<check_newest>), cmocka_unit_test(test<check_shared_table>),
        cmocka_unit_test(test<check_unsure>), cmocka_unit_test(test<check_identity>), cmocka_unit_test(test<check_number_again>), cmocka_unit_test(test<check_many_jobs>),
        cmocka_unit_test(test<check_closed>),
        cmocka_unit_test(test<check_kept>),
        cmocka_unit_test(test<check_window>),
        cmocka_unit_test(test<check_wider>),
        cmocka_unit_test(test<check_farther>),
        cmocka_unit_test(test<check_failed>),
        cmocka_unit_test(test<check_bounded>),
        cmocka_unit_test(test<check_quiet>),
        cmocka_unit_test(test<check_shorter>),
    };
    return cmocka_run_group_tests_name("adaptive service", tests, nullptr, nullptr);
}
