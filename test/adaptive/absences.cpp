/*
 * Processes that look for messages seldom, or never: who measures ways to them waits for none, and takes no absence for a distance.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/arrivals.hpp"
#include "knower.hpp"
#include "unit.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace adaptive_test;
using namespace wan_test;

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
    // Who looks every 10 ms, some times each, has at the second look what came after the look before the first.
    looks rare;
    for (int64_t now = second_ns; now < second_ns + 100 * ms; now += 10 * ms)
        rare.at(now), rare.at(now + 5 * us), rare.at(now + 10 * us);
    WAN_CHECK(rare.away_ns(second_ns + 90 * ms) >= 19 * ms && rare.away_ns(second_ns + 90 * ms) <= 20 * ms);
    // An absence is over, however often it looks since.
    looks once;
    once.at(second_ns), once.at(2 * second_ns);
    for (int64_t now = 2 * second_ns; now < 3 * second_ns; now += 500 * us)
        once.at(now);
    WAN_CHECK(once.away_ns(3 * second_ns - 500 * us) <= ms);
    // Not who looks all the time in between.
    looks often;
    for (int64_t now = second_ns; now < second_ns + 100 * ms; now += now % (10 * ms) < 2 * ms ? 10 * us : 8 * ms)
        often.at(now);
    WAN_CHECK(often.away_ns(second_ns + 90 * ms + 10 * us) <= 8 * ms);
    return "";
}

/** Processes that do not look keep nobody waiting: neither who measures others, nor who is to measure all again. */
std::string check_deaf()
{
    std::vector<std::pair<int, tell_message>> sent;
    int64_t now = second_ns;
    adaptive_options o;
    o.peers = 9;
    neighbours n{o, 10, 9, [&](int to, const tell_message &m) { sent.emplace_back(to, m); }};
    const std::set<int> deaf{0, 1, 2, 3, 4};
    std::map<int, int> owes;
    const auto pong = [&](int from) {
        tell_message m;
        m.what = tell_kind::pong;
        n.receive(from, m, now);
    };
    /** Until it has nothing to do for now; who answers does so after a millisecond. */
    const auto run = [&](int64_t until, bool all) {
        while (now < until) {
            n.step(now, false);
            now += ms;
            for (const auto &[to, m] : std::exchange(sent, {})) {
                if (m.what == tell_kind::ping && deaf.count(to) && !all)
                    ++owes[to];
                else if (m.what == tell_kind::ping)
                    pong(to);
                else if (m.what == tell_kind::bulk && m.last) {
                    tell_message done;
                    done.what = tell_kind::bulk_done;
                    n.receive(to, done, now);
                }
            }
        }
    };
    run(now + 6 * second_ns, false);
    WAN_CHECK_THAT(n.known().size() == 4 && n.quiet() && n.deadline() == INT64_MAX && owes.size() == 5, std::to_string(n.known().size()) + " known");
    // They look: what came so late says nothing of how far they are.
    for (const auto &[who, pings] : std::exchange(owes, {})) {
        WAN_CHECK_THAT(pings == 1, std::to_string(pings) + " pings");
        pong(who);
        WAN_CHECK(n.rtt_ns(who) == 0);
    }
    run(now + second_ns, true);
    WAN_CHECK(n.known().size() == 9 && n.quiet());
    for (int who : n.known())
        WAN_CHECK_THAT(n.rtt_ns(who) == ms, std::to_string(n.rtt_ns(who)));
    // Measured again, all hold what they had but for those who answer.
    n.measure_again();
    run(now + 6 * second_ns, false);
    WAN_CHECK(n.quiet() && owes.size() == 5);
    for (int who : n.known())
        WAN_CHECK(n.rtt_ns(who) == ms);
    // An answer that nobody waits for changes nothing.
    now += 50 * ms;
    pong(7);
    WAN_CHECK(n.rtt_ns(7) == ms && n.quiet());
    // A way that is doubted is believed as it was, and may be doubted again.
    knower k;
    k.n.doubt(1, 1, k.now);
    k.n.step(k.now, false);
    k.sent.clear();
    WAN_CHECK(k.n.doubted(1) && k.n.deadline() == k.now + 2 * second_ns);
    k.now += 2 * second_ns;
    k.n.step(k.now, false);
    WAN_CHECK(!k.n.doubted(1) && k.n.rtt_ns(1) == 20 * ms);
    k.now += 100 * ms;
    k.pong(1);
    WAN_CHECK(k.n.rtt_ns(1) == 20 * ms && k.answers(0) == 0);
    k.now += 3 * second_ns;
    k.n.doubt(1, 1, k.now);
    WAN_CHECK(k.answers(90 * ms) == 3 && k.n.rtt_ns(1) == 90 * ms);
    return "";
}

/** The same for transfers: whose answer is late counts by itself; one that nobody asked for does not. */
std::string check_deaf_to_transfers()
{
    std::vector<std::pair<int, tell_message>> sent;
    int64_t now = second_ns;
    adaptive_options o;
    o.peers = 2;
    o.bulk_bytes = 128 << 10;
    neighbours n{o, 3, 2, [&](int to, const tell_message &m) { sent.emplace_back(to, m); }};
    const auto done = [&](int from, int64_t value_ns) {
        tell_message m;
        m.what = tell_kind::bulk_done;
        m.value_ns = value_ns;
        n.receive(from, m, now);
    };
    std::vector<int> transfers(2);
    const auto run = [&](int64_t until) {
        for (; now < until; now += ms) {
            n.step(now, false);
            for (const auto &[to, m] : std::exchange(sent, {})) {
                tell_message pong;
                pong.what = tell_kind::pong;
                if (m.what == tell_kind::ping)
                    n.receive(to, pong, now + 100 * us);
                else if (m.what == tell_kind::bulk && m.last)
                    ++transfers[static_cast<size_t>(to)];
            }
        }
    };
    run(now + 5 * second_ns);
    WAN_CHECK(transfers[0] + transfers[1] == 1 && !n.quiet());
    const int first = transfers[1], other = 1 - first;
    for (int64_t value : {int64_t{0}, INT64_MAX, INT64_MIN})
        done(other, value);
    WAN_CHECK(n.bandwidth(other) == 0 && !n.quiet());
    run(now + 7 * second_ns);
    WAN_CHECK(transfers[0] + transfers[1] == 2);
    // 128 KB in 2 s, whatever the other one says.
    run(now + second_ns);
    const int64_t took_ns = n.deadline() == INT64_MAX ? 0 : (int64_t{128} << 10) * 80 * us - (n.deadline() - now);
    done(other, INT64_MIN);
    const auto rate = static_cast<int64_t>(n.bandwidth(other));
    WAN_CHECK_THAT(took_ns > second_ns && std::abs(rate - (int64_t{128} << 10) * second_ns / took_ns) < rate / 100, std::to_string(rate) + " bytes/s");
    WAN_CHECK(n.quiet() && n.deadline() == INT64_MAX);
    // Until it has answered it gets no other one.
    const auto to_first = [&] { return transfers[static_cast<size_t>(first)]; };
    n.measure_again();
    run(now + second_ns);
    WAN_CHECK(to_first() == 1 && transfers[static_cast<size_t>(other)] == 2 && n.bandwidth(first) == 0);
    done(other, 1);
    done(first, 1);
    WAN_CHECK(n.bandwidth(first) > 0 && n.bandwidth(first) < 16'000);
    done(first, 1);
    done(other, INT64_MAX);
    WAN_CHECK(n.bandwidth(first) < 16'000 && !n.quiet());
    // It was away for most of that, perhaps: a second one tells.
    run(now + second_ns);
    WAN_CHECK(to_first() == 2);
    done(first, 1);
    WAN_CHECK(n.bandwidth(first) > 100'000 && n.quiet());
    return "";
}

/** Process 0 of some measures the others, each so far away, who look so often, and take so long for a transfer. */
struct world {
    struct other {
        int64_t one_way_ns = 50 * us;
        int64_t every_ns = 1;           // 0: it never looks
        int64_t transfer_ns = ms;       // as it sees that come
        int64_t waits_ns = 0;           // before it looks, at least
        int64_t looks_ns = 1, period_ns = 1;    // it looks for so long, at the beginning of each period

        int64_t seen_ns(int64_t comes_ns) const { return comes_ns % period_ns < looks_ns ? comes_ns : (comes_ns / period_ns + 1) * period_ns; }
    };
    std::vector<other> others;          // by rank; the first is not used
    bool busy = false;
    int64_t looks_ns = 1, period_ns = 1;        // as of others
    int64_t now = second_ns;
    std::map<int, int> pings, transfers, answers;
    int told = 0;       // how far they are
    std::vector<std::pair<int, tell_message>> sent;
    std::multimap<int64_t, std::pair<int, tell_message>> coming;
    neighbours n;

    explicit world(int size, adaptive_options o = {}, rank_set beside = {})
        : others(static_cast<size_t>(size)), n((o.peers = size, o), size, 0, [this](int to, const tell_message &m) { sent.emplace_back(to, m); }, std::move(beside))
    {
    }
    other &at(int rank) { return others[static_cast<size_t>(rank)]; }
    void run(int64_t for_ns, const std::function<bool()> &stop = [] { return false; })
    {
        for (const int64_t end = now + for_ns; now < end && !stop(); now += ms) {
            if (now % period_ns >= looks_ns)
                continue;
            for (; !coming.empty() && coming.begin()->first <= now; coming.erase(coming.begin())) {
                ++answers[coming.begin()->second.first];
                n.receive(coming.begin()->second.first, coming.begin()->second.second, now);
            }
            n.step(now, busy);
            for (const auto &[to, m] : std::exchange(sent, {})) {
                const other &o = at(to);
                const bool ping = m.what == tell_kind::ping, transfer = m.what == tell_kind::bulk && m.last;
                pings[to] += ping, transfers[to] += transfer, told += m.what == tell_kind::distance;
                if ((!ping && !transfer) || !o.every_ns)
                    continue;
                tell_message answer;
                answer.what = ping ? tell_kind::pong : tell_kind::bulk_done;
                const int64_t comes_ns = now + o.one_way_ns, seen_ns = o.seen_ns((comes_ns + o.waits_ns + o.every_ns - 1) / o.every_ns * o.every_ns);
                answer.value_ns = ping ? std::max(o.every_ns + o.waits_ns, seen_ns - comes_ns) : o.transfer_ns;
                coming.emplace(seen_ns + o.one_way_ns + (ping ? 0 : o.transfer_ns), std::pair{to, answer});
            }
        }
    }
    bool knows(int rank, int64_t rtt_ns) const { return n.rtt_ns(rank) >= rtt_ns && n.rtt_ns(rank) <= rtt_ns + 2 * ms; }
    std::string text(int rank) { return std::to_string(n.rtt_ns(rank) / us) + " us, " + std::to_string(pings[rank]) + " pings, " + std::to_string(transfers[rank]) + " transfers"; }
};

/** Who looks seldom is not far: what its answers say that they may have waited for that does not get known, or not for long. */
std::string check_rare()
{
    for (int64_t every_ns : {700 * ms, 1500 * ms, 3 * second_ns, 5 * second_ns, 12 * second_ns}) {
        world w(4);
        w.at(1) = {5 * ms, every_ns};
        w.at(2) = {5 * ms};
        w.run(120 * second_ns);
        WAN_CHECK_THAT(w.knows(2, 10 * ms) && w.n.rtt_ns(1) <= every_ns + 10 * ms, w.text(1));
        w.at(1).every_ns = 1;
        w.run(90 * second_ns);
        // (A tenth of a second is left as it is.)
        const auto nearly = [&] { return w.n.rtt_ns(1) >= 10 * ms && w.n.rtt_ns(1) <= 110 * ms; };
        WAN_CHECK_THAT(nearly(), w.text(1));
        const int before = w.pings[1];
        w.run(600 * second_ns);
        WAN_CHECK_THAT(w.pings[1] == before && nearly(), w.text(1));
    }
    // As long as that may be so it is asked once a minute.
    world w(3);
    w.at(1) = {5 * ms, 200 * ms, ms, 500 * ms};
    w.run(300 * second_ns);
    const int before = w.pings[1];
    w.run(960 * second_ns);
    WAN_CHECK_THAT(before <= 30 && w.pings[1] - before <= 3 * 16 && w.pings[1] - before >= 3 * 12, w.text(1) + ", before " + std::to_string(before));
    // The other one, who may know better, is not told how far that seems to be.
    world v(3);
    v.at(1) = {5 * ms, 200 * ms, ms, 1500 * ms};
    v.run(10 * second_ns);
    v.at(1) = {5 * ms, 10 * ms, ms, 290 * ms};
    v.run(300 * second_ns);
    WAN_CHECK_THAT(v.n.changes() > 0 && v.told == 0 && v.n.rtt_ns(1) < 310 * ms, v.text(1));
    return "";
}

/** Who looks for little longer than a round trip now and then is known as well, or nearly so: not every ping falls into an absence. */
std::string check_windows()
{
    for (int64_t period_ns : {3 * second_ns, 10 * second_ns}) {
        world w(5);
        for (int r = 1; r < 5; ++r) {
            w.at(r) = {25 * ms};
            w.at(r).looks_ns = 60 * ms, w.at(r).period_ns = period_ns;
        }
        w.looks_ns = 60 * ms, w.period_ns = period_ns;
        w.run(1200 * second_ns);
        for (int r = 1; r < 5; ++r)
            WAN_CHECK_THAT(w.knows(r, 50 * ms), w.text(r));
    }
    return "";
}

/** Of what is known once for an absence nothing stays: not where the next answers come at once and the last one never, nor beside, nor for
 *  another communicator. */
std::string check_absence_ends()
{
    world w(3);
    w.at(1) = {5 * ms, 1500 * ms};
    w.at(2) = {5 * ms};
    w.run(9 * second_ns);
    WAN_CHECK_THAT(w.n.rtt_ns(1) > 100 * ms && w.n.unsure(1), w.text(1));
    w.at(1) = {5 * ms, 1, ms, 0, 15 * ms, 3 * second_ns};
    w.run(60 * second_ns);
    w.at(1) = {5 * ms};
    w.run(70 * second_ns);
    WAN_CHECK_THAT(w.knows(1, 10 * ms) && !w.n.unsure(1), w.text(1));
    // Answers that come at once say so also where the last one never comes.
    world u(2);
    tell_message pong;
    pong.what = tell_kind::pong;
    const auto answers = [&](int count, int64_t rtt_ns) {
        u.at(1).every_ns = 0;
        u.run(u.period_ns);
        pong.value_ns = rtt_ns - 10 * ms;
        for (int i = 0; i < count; ++i) {
            u.now += rtt_ns;
            u.n.receive(1, pong, u.now);
        }
    };
    answers(3, 1500 * ms);
    WAN_CHECK_THAT(u.n.rtt_ns(1) == 1500 * ms && u.n.unsure(1), u.text(1));
    u.n.step(u.now, false);
    u.now += 2 * second_ns;
    u.sent.clear();
    u.run(100 * second_ns, [&] { return u.n.doubted(1); });
    WAN_CHECK(u.n.doubted(1));
    answers(2, 20 * ms);
    u.run(3 * second_ns);
    WAN_CHECK_THAT(u.n.rtt_ns(1) == 20 * ms && u.n.unsure(1), u.text(1));
    // Nor where nobody had doubted that.
    world again(2);
    again.at(1).every_ns = 0;
    again.run(ms);
    const auto answer = [&](int64_t rtt_ns) {
        again.now += rtt_ns;
        pong.value_ns = rtt_ns - 10 * ms;
        again.n.receive(1, pong, again.now);
    };
    for (int i = 0; i < 3; ++i)
        answer(1500 * ms);
    WAN_CHECK_THAT(again.n.rtt_ns(1) == 1500 * ms && again.n.unsure(1), again.text(1));
    for (int i = 0; i < 2; ++i) {       // the first one waits for a transfer to end
        again.n.measure_again();
        again.run(500 * ms);
    }
    answer(20 * ms), answer(20 * ms);
    again.run(100 * second_ns);
    WAN_CHECK_THAT(again.n.rtt_ns(1) == 20 * ms, again.text(1));
    // On this host, where no distance is doubted.
    world b(4, {}, rank_set::of({0, 1}));
    b.n.hint(1, true);
    b.at(1).every_ns = 1500 * ms;
    b.run(12 * second_ns);
    WAN_CHECK_THAT(b.n.rtt_ns(1) > 100 * ms, b.text(1));
    b.at(1).every_ns = 1;
    b.run(70 * second_ns);
    WAN_CHECK_THAT(b.n.rtt_ns(1) <= 2 * ms && b.n.largest_rtt_ns() <= 2 * ms, b.text(1));
    return "";
}

/** Those who look seldom keep waiting neither who is to be known, nor transfers, nor who is to be measured again. */
std::string check_many_rare()
{
    world w(21);
    for (int r = 1; r < 21; ++r)
        w.at(r) = {2 * ms, r <= 16 ? 1500 * ms : 1};
    const auto lively = [&](auto known) { return [&w, known] { return known(17) && known(18) && known(19) && known(20); }; };
    w.run(1000 * second_ns, lively([&](int r) { return w.n.rtt_ns(r) > 0; }));
    WAN_CHECK_THAT(w.now <= 16 * second_ns, std::to_string(w.now / ms) + " ms");
    w.run(1000 * second_ns, lively([&](int r) { return w.n.bandwidth(r) > 0; }));
    WAN_CHECK_THAT(w.now <= 30 * second_ns, std::to_string(w.now / ms) + " ms");
    for (int again = 0; again < 5; ++again) {
        w.run(7 * second_ns + again * 137 * ms);
        const int64_t then = w.now;
        w.n.measure_again();
        for (int r = 17; r < 21; ++r)
            w.at(r).one_way_ns = again % 2 ? 2 * ms : 4 * ms;
        w.run(1000 * second_ns, lively([&](int r) { return w.n.rtt_ns(r) == 2 * w.at(r).one_way_ns; }));
        WAN_CHECK_THAT(w.now - then <= 40 * second_ns, std::to_string((w.now - then) / ms) + " ms");
    }
    // Nor do pauses of transfers.
    world v(11);
    v.busy = true;
    for (auto &x : v.others)
        x.transfer_ns = second_ns;
    v.run(5 * second_ns);
    for (auto &x : v.others)
        x.one_way_ns = 2 * ms;
    const int64_t then = v.now;
    v.n.measure_again();
    v.run(1000 * second_ns, [&] { return std::all_of(v.n.known().begin(), v.n.known().end(), [&](int r) { return v.n.rtt_ns(r) >= 4 * ms; }); });
    WAN_CHECK_THAT(v.now - then <= 3 * second_ns, std::to_string((v.now - then) / ms) + " ms");
    // Nor transfers that trees want: one under way, and others that wait for it or are wanted once more when all is to be measured.
    world t(11);
    for (int r = 1; r < 11; ++r)
        t.at(r) = {r < 3 ? ms : 20 * ms, 1, second_ns};
    t.run(20 * second_ns);
    t.busy = true;
    t.n.want_bandwidth_now(10);
    t.run(200 * ms);
    t.n.want_bandwidth(6), t.n.want_bandwidth(7);
    t.run(300 * ms);
    const int64_t wanted = t.now;
    for (int r = 1; r < 11; ++r)
        t.at(r).one_way_ns *= 2;
    t.n.measure_again();
    for (int i = 0; i < 3; ++i)
        t.n.want_bandwidth(6), t.n.want_bandwidth(7);
    t.transfers.clear();
    t.run(1000 * second_ns, [&] { return std::all_of(t.n.known().begin(), t.n.known().end(), [&](int r) { return t.n.rtt_ns(r) >= 2 * t.at(r).one_way_ns; }); });
    WAN_CHECK_THAT(t.now - wanted <= 4 * second_ns, std::to_string((t.now - wanted) / ms) + " ms");
    t.run(600 * second_ns);
    WAN_CHECK_THAT(t.transfers[6] >= 1 && t.transfers[7] >= 1, t.text(6) + "; " + t.text(7));
    // Of many that are in doubt only those that are asked cannot be parents.
    world d(17);
    d.busy = true;
    for (int r = 1; r < 17; ++r)
        d.at(r) = {2 * ms, 1500 * ms};
    d.run(60 * second_ns);
    for (int i = 0; i < 600; ++i) {
        d.run(100 * ms);
        int doubted = 0;
        for (int r = 1; r < 17; ++r)
            doubted += d.n.doubted(r);
        WAN_CHECK_THAT(doubted <= 8, std::to_string(doubted) + " doubted");
    }
    return "";
}

/** Answers that come when nobody counts on them any more are no answers to what was asked since. */
std::string check_answers_in_order()
{
    world w(3);
    w.at(1) = w.at(2) = {50 * ms};
    w.run(3 * second_ns);
    w.at(1).every_ns = 0;
    for (int i = 0; i < 3; ++i) {
        w.n.measure_again();
        w.run(i < 2 ? 2500 * ms : 10 * ms);
    }
    tell_message late;
    late.what = tell_kind::pong;
    for (int i = 0; i < 2; ++i)
        w.n.receive(1, late, w.now);
    w.at(1).every_ns = 1;
    w.run(90 * ms);
    w.n.receive(1, late, w.now);
    w.run(5 * second_ns);
    WAN_CHECK_THAT(w.knows(1, 100 * ms), w.text(1));
    // However often nothing comes, there is a time by which something may.
    w.at(1).every_ns = 0;
    for (int i = 0; i < 70; ++i) {
        w.n.measure_again();
        w.run(65 * second_ns, [&] { return w.n.deadline() == INT64_MAX; });
        WAN_CHECK(w.n.deadline() > w.now && w.n.quiet());
    }
    return "";
}

/** A way that takes longer than people wait for an answer is known at last. */
std::string check_far()
{
    for (int64_t rtt_ns : {3 * second_ns, 9 * second_ns, 20 * second_ns}) {
        world w(3);
        w.at(1) = {rtt_ns / 2};
        w.run(300 * second_ns, [&] { return w.n.rtt_ns(1) > 0; });
        WAN_CHECK_THAT(w.knows(1, rtt_ns), w.text(1));
    }
    return "";
}

/** However often they do not answer, others are measured as soon as before. */
std::string check_deaf_again()
{
    world w(10);
    w.run(5 * second_ns);
    WAN_CHECK(w.n.known().size() == 9 && w.n.quiet());
    for (size_t i = 0; i < 4; ++i)      // who is asked first
        w.at(w.n.known()[i]).every_ns = 0;
    for (int time = 0; time < 6; ++time) {
        w.n.measure_again();
        w.answers.clear();
        const int64_t then = w.now;
        w.run(100 * second_ns, [&] { return w.answers.size() >= 5; });
        WAN_CHECK_THAT(w.now - then <= 5 * second_ns, std::to_string((w.now - then) / ms) + " ms");
        w.run(100 * second_ns, [&] { return w.n.quiet(); });
        WAN_CHECK_THAT(w.n.quiet() && w.now - then <= 20 * second_ns, std::to_string((w.now - then) / ms) + " ms");
    }
    // Nor is a transfer waited for longer than a minute, whatever its length.
    adaptive_options o;
    o.bulk_bytes = 16 << 20;
    world v(3, o);
    v.at(1).transfer_ns = v.at(2).transfer_ns = 4000 * second_ns;
    v.run(100 * second_ns);
    WAN_CHECK_THAT(v.transfers[1] == 1 && v.transfers[2] == 1, v.text(1) + "; " + v.text(2));
    return "";
}

/** Those of which the answer is late take their part of the time, as others do; and are tried once more, not twice. */
std::string check_late_transfers()
{
    world w(11);
    w.busy = true;
    for (auto &x : w.others)
        x.transfer_ns = 12 * second_ns;
    w.run(400 * second_ns);
    int all = 0;
    for (const auto &[rank, n] : w.transfers)
        all += n;
    WAN_CHECK_THAT(all >= 1 && all <= 3, std::to_string(all) + " transfers");
    // Who was away does not make others wait for that.
    world a(11);
    a.busy = true;
    a.at(3).every_ns = 0;
    a.run(100 * second_ns);
    for (int r = 1; r < 11; ++r)
        WAN_CHECK_THAT((a.n.bandwidth(r) > 0) == (r != 3), a.text(r));
    // All is measured again just when it comes.
    world v(3);
    v.at(1).transfer_ns = v.at(2).transfer_ns = 11 * second_ns;
    v.run(5 * second_ns);
    const int first = v.transfers[1] ? 1 : 2;
    v.run(second_ns * 11 / 2);
    v.coming.clear();       // of the other one, too
    tell_message done;
    done.what = tell_kind::bulk_done;
    v.n.receive(3 - first, done, v.now);
    v.at(1).transfer_ns = v.at(2).transfer_ns = ms;
    v.run(second_ns);
    v.transfers.clear();
    v.n.measure_again();
    v.n.receive(first, done, v.now);
    v.run(5 * second_ns);
    WAN_CHECK_THAT(v.transfers[first] == 1 && v.n.quiet(), v.text(first));
    // One that comes when nobody wants that any more says nothing of what is measured later.
    adaptive_options o;
    o.bulk_bytes = 128 << 10;
    world old(3, o);
    old.at(1) = {20 * ms};
    old.run(3 * second_ns);
    old.n.want_bandwidth(1);
    old.run(5 * second_ns);
    WAN_CHECK(old.n.bandwidth(1) > 100'000'000);
    old.n.measure_again();
    old.n.want_bandwidth(1);
    old.run(100 * ms, [&] { return old.transfers[1] > 2; });
    old.at(1).every_ns = 0;
    old.run(20 * second_ns);
    old.n.measure_again();
    old.run(3 * second_ns);
    done.value_ns = 500 * ms;
    old.n.receive(1, done, old.now);
    old.at(1) = {20 * ms, 1, 500 * ms};
    old.n.want_bandwidth(1);
    old.run(10 * second_ns);
    WAN_CHECK_THAT(old.n.bandwidth(1) < 300'000, std::to_string(old.n.bandwidth(1)) + " bytes/s; " + old.text(1));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_looks>), cmocka_unit_test(test<check_deaf>), cmocka_unit_test(test<check_deaf_to_transfers>),
                                cmocka_unit_test(test<check_rare>), cmocka_unit_test(test<check_windows>), cmocka_unit_test(test<check_absence_ends>), cmocka_unit_test(test<check_many_rare>), cmocka_unit_test(test<check_answers_in_order>),
                                cmocka_unit_test(test<check_far>), cmocka_unit_test(test<check_deaf_again>), cmocka_unit_test(test<check_late_transfers>)};
    return cmocka_run_group_tests_name("adaptive absences", tests, nullptr, nullptr);
}
