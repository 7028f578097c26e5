/*
 * Single networks with one question each: does the modern form use a lossy link,
 * does permission keep an incast out of the queue, do small blocks pass bulk, do
 * forgeries leave no trace, is a dead peer reported.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "path_mtu.hpp"
#include "simulator.hpp"

#include "unit.hpp"

#include <malloc.h>

using namespace udp_test;

namespace {

/** Share of the link that one long transfer of 30 s reaches, start included, after 2 s of small talk. */
double share(config c, double mbits, time_ns one_way, double loss)
{
    c.window = 64 << 20;
    c.block_max = 1 << 20;
    c.mtu_max = 1472;
    simulator sim(c, 2, 7);
    sim.way.delay = one_way;
    sim.way.loss = loss;
    sim[1].rate = mbits * 1e6 / 8;
    sim[1].queue_limit = static_cast<uint64_t>(sim[1].rate * 2 * static_cast<double>(one_way) / second);
    const unsigned blocks = static_cast<unsigned>(30 * mbits * 1e6 / 8 / (1 << 20));
    for (int i = 0; i < 20; ++i)
        sim.at(i * 100 * ms, [&] { sim[0].send(1, 1, 50); });
    sim.at(2 * second, [&] {
        for (unsigned i = 0; i < blocks; ++i)
            sim[0].send(1, 2, 1 << 20);
    });
    sim.run(600 * second);
    if (!sim[1].wrong.empty() || sim[1].delivered != blocks + 20)
        return 0;
    return static_cast<double>(sim[1].delivered_bytes) / (static_cast<double>(sim[1].last_delivery) / second - 2) / sim[1].rate;
}

std::string uses_the_link()
{
    struct { controller control; double loss, least; } cases[] = {
        {controller::tolerant, 0, 0.9}, {controller::tolerant, 0.01, 0.85}, {controller::tolerant, 0.05, 0.7},
        {controller::bbr, 0, 0.85}, {controller::bbr, 0.01, 0.85}, {controller::bbr, 0.05, 0.7}, {controller::cubic, 0, 0.9},
    };
    std::string wrong;
    for (const auto &k : cases) {
        config c;
        c.control = k.control;
        const double s = share(c, 200, 25 * ms, k.loss);
        std::printf("control %d, loss %.3f: %.1f%% of the link\n", static_cast<int>(k.control), k.loss, 100 * s);
        if (s < k.least)
            wrong += "control " + std::to_string(static_cast<int>(k.control)) + " loss " + std::to_string(k.loss) + ": " + std::to_string(s) + "; ";
    }
    return wrong;
}

/** Messages of several round trips, one now and then: none waits in its middle until the peer permits the rest. */
std::string long_ones_now_and_then()
{
    simulator sim(job_of_eight(), 2, 3);
    sim.way.delay = 10 * ms;
    sim[1].rate = 40e6 / 8;
    sim[1].queue_limit = 1'000'000;
    constexpr uint32_t bytes = 256 << 10;
    double longest = 0;
    for (int round = 0; round < 10; ++round) {
        const time_ns begins = round * 400 * ms;
        sim.at(begins, [&] { sim[0].send(1, 2, bytes); });
        sim.at(begins + 399 * ms, [&, begins, round] {
            if (round >= 2)     // the first ones find the rate
                longest = std::max(longest, static_cast<double>(sim[1].last_delivery - begins - sim.way.delay) / second);
        });
    }
    sim.run(10 * second);
    const double takes = bytes / sim[1].rate;
    std::printf("256 KB now and then, 40 Mb/s, 20 ms: %.1f ms, %.2f of what the bytes take\n", 1000 * longest, longest / takes);
    WAN_CHECK_THAT(sim[1].delivered == 10 && longest < 1.08 * takes, std::to_string(longest / takes));   // headers and seal are 4%
    return "";
}

/**
 * 200 Mb/s, 100 ms, a queue of one product: how much of the link a long transfer has from its tenth round trip on, in whole messages
 * in their order, and the price.  Also where the process of one side has the core only now and then.
 */
std::string opens(time_ns turn_sender, time_ns turn_receiver)
{
    config c;
    c.window = 32 << 20;
    c.unscheduled = 64 << 10;
    c.mtu_max = 1472;
    c.ordered = false;
    simulator sim(c, 2, 7);
    sim.way.delay = 50 * ms;
    sim[0].turn = turn_sender;
    sim[1].turn = turn_receiver;
    sim[1].rate = 200e6 / 8;
    sim[1].queue_limit = 2'500'000;
    constexpr size_t trips = 25;
    double got[trips] = {};
    uint32_t next = 0;
    std::set<uint32_t> early;
    sim[1].on_deliver = [&](uint32_t, std::span<const uint8_t> b) {
        const time_ns t = sim.now - 2 * second - 50 * ms;
        if (b.size() != 61440 || t < 0)
            return;
        uint32_t head[3];
        std::memcpy(head, b.data(), sizeof head);
        for (early.insert(head[2]); early.erase(next); ++next)      // as MPI hands them on
            got[std::min<size_t>(trips - 1, static_cast<size_t>(t / (100 * ms)))] += static_cast<double>(b.size());
    };
    for (int i = 0; i < 20; ++i)
        sim.at(i * 100 * ms, [&] { sim[0].send(1, 1, 50); });
    sim.at(2 * second, [&] {
        for (int i = 0; i < 1500; ++i)
            sim[0].send(1, 2, 61440);
    });
    WAN_CHECK(sim.run(60 * second) && sim[1].wrong.empty());
    const peer_view v = sim[0].end.view(0);
    // A message more or less in one of them: 2.4% of it.
    const double share = got[9] / 0.1 / sim[1].rate, least = *std::min_element(got + 9, got + trips - 1) / 0.1 / sim[1].rate;
    const double again = static_cast<double>(v.sent_again) / static_cast<double>(v.sent);
    std::printf("turns of %.0f and %.0f ms: in the tenth round trip %.0f%% of the link, later at least %.0f%%; all in %.2f s, %.1f%% sent again\n",
                static_cast<double>(turn_sender) / ms, static_cast<double>(turn_receiver) / ms, 100 * share, 100 * least,
                static_cast<double>(sim[1].last_delivery) / second - 2, 100 * again);
    // Slow start that looks at the first trips of a round alone overruns the queue: 3.6% sent again, and nothing for two round trips.
    // What comes in a trip is what is there at the receiver's turns: one more or less.
    const double turn = static_cast<double>(turn_receiver) / (100 * ms);
    WAN_CHECK_THAT(share >= 0.95 && least >= 0.93 - turn && again < 0.001, std::to_string(share) + " " + std::to_string(least) + " " + std::to_string(again));
    return "";
}
std::string opens_soon() { return opens(0, 0); }
std::string opens_soon_now_and_then() { return opens(8 * ms, 0) + opens(0, 8 * ms); }

/** A transfer that its window holds back finds the size that the path carries, and when that shrinks loses little time. */
std::string size_of_the_path()
{
    config c;
    c.window = 32 << 20;
    c.mtu_max = 1472;
    c.ordered = false;
    simulator sim(c, 2, 7);
    sim.way.delay = 10 * ms;
    sim[1].rate = 100e6 / 8;
    sim[1].queue_limit = 250'000;
    for (int i = 0; i < 1500; ++i)
        sim[0].send(1, 2, 65536);
    uint32_t wide = 0;
    uint64_t before = 0;
    sim.at(2 * second, [&] {
        wide = sim[0].end.view(0).mtu;
        before = sim[1].delivered_bytes;
        sim.way.mtu = 1300;
    });
    sim.run(5 * second);
    const double share = static_cast<double>(sim[1].delivered_bytes - before) / 3 / sim[1].rate;
    const uint32_t narrow = sim[0].end.view(0).mtu;
    std::printf("size of the path: %u bytes; from when it carries 1300 on %.0f%% of the link in 3 s, with %u\n", wide, 100 * share, narrow);
    WAN_CHECK_THAT(wide == 1472 && narrow > 1300 - path_mtu::step && narrow <= 1300 && share >= 0.88, std::to_string(wide) + " " + std::to_string(narrow) + " " + std::to_string(share));
    return "";
}

/** Paths narrower than what nearly every path carries, from the start and from the middle of a transfer on: it goes on, in the size that passes. */
std::string narrow_path(uint32_t width, time_ns from, uint32_t length)
{
    config c;
    c.mtu_max = 1472;
    c.ordered = false;
    c.security = wire::security::authenticate;
    simulator sim(c, 2, 7);
    sim.way.delay = 10 * ms;
    sim[1].rate = 100e6 / 8;
    sim[1].queue_limit = 250'000;
    sim.at(from, [&] { sim.way.mtu = width; });
    constexpr uint64_t all = 80 << 20;
    uint64_t before = 0;
    sim.at(from + second, [&] { before = sim[1].delivered_bytes; });
    for (uint64_t n = 0; n < all; n += length)
        sim[0].send(1, length <= 1024, length);
    sim.run(from + 3 * second);
    const uint32_t found = sim[0].end.view(0).mtu;
    const double share = static_cast<double>(sim[1].delivered_bytes - before) / 2 / sim[1].rate;
    std::printf("a path of %u from %.0f s on, blocks of %u: %.0f%% of the link in the second and third second after, with %u\n",
                width, static_cast<double>(from) / second, length, 100 * share, found);
    // Who has always something urgent does not probe.
    WAN_CHECK_THAT(found <= width && (length <= 1024 || found + path_mtu::step >= width) && share >= 0.8, std::to_string(found) + " " + std::to_string(share));
    return "";
}
std::string narrow_paths() { return narrow_path(1000, 0, 65536) + narrow_path(600, 0, 65536) + narrow_path(900, 2 * second, 65536) + narrow_path(700, 0, 1000); }

/** A thousand peers that have talked and fallen silent: bytes of the heap for each, seals and all. */
std::string a_thousand_idle()
{
    constexpr uint32_t peers = 1000;
    config c;
    c.mtu_max = 1472;
    c.security = wire::security::authenticate;
    c.senders = peers;
    simulator sim(c, peers + 1, 3, true);
    sim[0].rate = 1e9 / 8;
    for (uint32_t h = 1; h <= peers; ++h) {
        sim[h].send(0, 2, 20000);
        sim[0].send(h, 2, 20000);
    }
    WAN_CHECK(sim.run(60 * second) && sim[0].delivered == peers && sim[0].wrong.empty());
    sim.at(sim.now + 10 * second, [] {});
    sim.run(sim.now + 11 * second);
    size_t told = 0;
    for (uint32_t p = 0; p < peers; ++p)
        told = std::max(told, sim[0].end.memory_bytes(p));
    // What is given back when such an endpoint goes, without the addresses that the test keeps.
    const size_t before = mallinfo2().uordblks;
    sim.forget(0);
    const size_t each = (before - mallinfo2().uordblks) / peers;
    std::printf("an idle peer takes %zu bytes of the heap (its own count: at most %zu)\n", each, told);
    // Under a sanitizer the heap does not tell.
    WAN_CHECK_THAT((before == 0 || (each > 500 && each <= 4096)) && told <= 4096, std::to_string(each) + " " + std::to_string(told));
    return "";
}

std::string incast()
{
    // 31 to 1, 64 KB each, a queue of 32 packets; with and without permission by the receiver.
    double again[2] = {};
    for (int granted = 0; granted < 2; ++granted) {
        config c;
        c.mtu_max = 1472;
        c.unscheduled = granted ? 1500 : 1 << 20;
        simulator sim(c, 32, 3);
        sim.way.delay = 50 * us;
        sim[0].rate = 1e9 / 8;
        sim[0].queue_limit = 32 * 1500;
        for (uint32_t h = 1; h < 32; ++h)
            sim[h].send(0, 2, 65536);
        WAN_CHECK(sim.run(60 * second));
        uint64_t sent = 0, twice = 0;
        for (uint32_t h = 1; h < 32; ++h) {
            const peer_view v = sim[h].end.view(sim[h].peer_of[0]);
            sent += v.sent, twice += v.sent_again;
        }
        again[granted] = static_cast<double>(twice) / static_cast<double>(sent);
        std::printf("incast, %s: %.2f ms, %llu drops, %.1f%% sent again\n", granted ? "permission" : "no permission",
                    static_cast<double>(sim[0].last_delivery) / 1e6, static_cast<unsigned long long>(sim[0].drops), 100 * again[granted]);
    }
    WAN_CHECK_THAT(again[1] < 0.05 && again[1] < again[0] / 4, std::to_string(again[0]) + " " + std::to_string(again[1]));
    return "";
}

/** Rounds of 31 to 1 as a collective makes them, the first among peers that have never met, the last after a pause. */
std::string incast_again()
{
    config c;
    c.mtu_max = 1472;
    c.ordered = false;
    c.unscheduled = 64 << 10;
    c.senders = 31;
    struct { double rate; time_ns delay; unsigned queue; uint32_t bytes; double goodput, again; int from; } cases[] = {
        {1e9, 50 * us, 32, 64 << 10, 0.9, 0.01, 0},
        {1e9, 50 * us, 32, 1 << 20, 0.95, 0.01, 0},
        {40e6, 100 * us, 32, 64 << 10, 0.9, 0.01, 0},
        {40e6, 10 * ms, 100, 64 << 10, 0.8, 0.05, 2},      // far: the first and the last come as a surprise, what was permitted then is used up in the second
    };
    for (const auto &k : cases) {
        simulator sim(c, 32, 3);
        sim.way.delay = k.delay;
        sim[0].rate = k.rate / 8;
        sim[0].queue_limit = k.queue * 1500;
        uint64_t sent = 0, twice = 0;
        for (int round = 0; round < 5; ++round) {
            const time_ns began = sim.now;
            for (uint32_t h = 1; h < 32; ++h)
                sim[h].send(0, 2, k.bytes);
            WAN_CHECK_THAT(sim.run(began + 60 * second), "31 to 1 does not end");
            uint64_t s = 0, t = 0;
            for (uint32_t h = 1; h < 32; ++h) {
                const peer_view v = sim[h].end.view(sim[h].peer_of[0]);
                s += v.sent, t += v.sent_again;
            }
            const double goodput = 31.0 * k.bytes / (static_cast<double>(sim[0].last_delivery - began) / second) / sim[0].rate;
            const double again = static_cast<double>(t - twice) / static_cast<double>(s - sent);
            std::printf("31 to 1, %u KB, %.0f Mb/s, round %d: %.0f%% of the link, %.1f%% sent again\n", k.bytes >> 10, k.rate / 1e6, round,
                        100 * goodput, 100 * again);
            // After the pause all windows are wide, and the first of them finds nobody else asking.
            const double less = round == 4 ? 0.1 : 0, more = round == 4 ? 0.05 : 0;
            WAN_CHECK_THAT(round < k.from || (k.from && round == 4) || (goodput > k.goodput - less && again < k.again + more), std::to_string(goodput) + " " + std::to_string(again));
            sent = s, twice = t;
            const time_ns pause = round == 3 ? 5 * second : 5 * ms;
            sim.at(sim.now + pause, [] {});
            sim.run(sim.now + pause);
        }
    }
    return "";
}

/**
 * Several long transfers to one receiver over a long path that loses datagrams by chance:
 * no overrun, so that each may have what its window allows.  Bytes of the first four of six seconds.
 */
std::string chance_is_no_overrun()
{
    for (double loss : {0.01, 0.05})
        for (uint32_t peers : {4u, 8u, 31u}) {
            config c;
            c.mtu_max = 1472;
            c.ordered = false;
            c.unscheduled = 64 << 10;
            simulator sim(c, peers + 1, 7);
            sim.way.delay = 25 * ms;
            sim.way.loss = loss;
            sim[0].rate = 200e6 / 8;
            sim[0].queue_limit = 1'250'000;
            for (uint32_t h = 1; h <= peers; ++h)
                for (unsigned b = 0; b < 600 / peers; ++b)
                    sim[h].send(0, 2, 256 << 10);
            sim.run(4 * second);
            const double share = static_cast<double>(sim[0].delivered_bytes) / 4 / sim[0].rate;
            std::printf("%u to 1, %.0f%% lost by chance: %.0f%% of the link\n", peers, 100 * loss, 100 * share);
            WAN_CHECK_THAT(sim[0].wrong.empty() && share >= 0.85, std::to_string(peers) + ": " + std::to_string(share));
        }
    return "";
}

/**
 * One far peer among near ones, all with long transfers: its permission is measured by its own
 * round trip, so that it keeps a part of the link; and near ones are not kept waiting by it.
 */
std::string far_among_near()
{
    constexpr uint32_t peers = 5, far = 3;
    config c;
    c.mtu_max = 1472;
    c.ordered = false;
    c.unscheduled = 16 << 10;
    simulator sim(c, peers + 1, 7);
    sim.way.delay = 50 * us;
    sim[far].away = 10 * ms;
    sim[0].rate = 200e6 / 8;
    sim[0].queue_limit = 500'000;
    std::map<uint32_t, uint64_t> got;
    for (uint32_t h = 1; h <= peers; ++h)
        for (unsigned b = 0; b < 40; ++b)
            sim[h].send(0, 2, 1 << 20);
    sim[0].on_deliver = [&](uint32_t from, std::span<const uint8_t> b) { got[from] += b.size(); };
    sim.run(5 * second);
    const double all = sim[0].rate * 5;
    std::printf("far among near:");
    for (uint32_t h = 1; h <= peers; ++h)
        std::printf(" %.1f%%", 100 * static_cast<double>(got[h]) / all);
    std::printf(" of the link (far: the third)\n");
    for (uint32_t h = 1; h <= peers; ++h)
        WAN_CHECK_THAT(static_cast<double>(got[h]) > 0.06 * all, std::to_string(h));
    WAN_CHECK(sim[0].wrong.empty() && static_cast<double>(sim[0].delivered_bytes) > 0.85 * all);
    return "";
}

/** Peers that have used up all but what bulk leaves to others keep asking: they must not keep each other from being permitted more. */
std::string all_but_the_reserve()
{
    for (uint32_t peers : {4u, 16u, 64u}) {
        config c;
        c.mtu_max = 1472;
        c.unscheduled = 16 << 10;
        simulator sim(c, peers + 1, 3);
        sim[0].rate = 1e9 / 8;
        sim[0].queue_limit = 48000;
        for (uint32_t h = 1; h <= peers; ++h)
            sim[h].send(0, 2, 65536);
        WAN_CHECK_THAT(sim.run(60 * second) && sim[0].delivered == peers, std::to_string(sim[0].delivered) + " of " + std::to_string(peers));
    }
    return "";
}

std::string small_passes_bulk()
{
    config c;
    c.mtu_max = 1472;
    simulator sim(c, 2, 3);
    sim.way.delay = 5 * ms;
    sim[1].rate = 100e6 / 8;
    sim[1].queue_limit = 125000;
    for (int i = 0; i < 64; ++i)
        sim[0].send(1, 2, 1 << 20);
    time_ns worst = 0, submitted = 0;
    sim[1].on_deliver = [&](uint32_t, std::span<const uint8_t> b) {
        if (b.size() < 100)
            worst = std::max(worst, sim.now - submitted);
    };
    for (int k = 1; k <= 20; ++k)
        sim.at(k * 200 * ms, [&] {
            submitted = sim.now;
            sim[0].send(1, 1, 50);
        });
    sim.run(4100 * ms);
    std::printf("small behind 64 MB: at worst %.1f ms one way (path 5, full queue 10)\n", static_cast<double>(worst) / 1e6);
    WAN_CHECK(worst > 0 && worst < 20 * ms && sim[1].delivered > 20);
    return "";
}

/**
 * 200 Mb/s, 20 ms, a queue of one product, which a long transfer fills otherwise: round trips of a small
 * message behind 64 MB, and behind a second transfer after a pause: what the path takes is known then.  Beside another's
 * long transfer they are long in any case, and the own one keeps its part.
 */
std::string small_beside_bulk()
{
    double own = 0;
    for (int others = 0; others < 2; ++others) {
        config c;
        c.mtu_max = 1472;
        c.ordered = false;
        c.unscheduled = 64 << 10;
        c.window = 32 << 20;
        simulator sim(c, 3, 7);
        sim.way.delay = 10 * ms;
        sim[1].rate = 200e6 / 8;
        sim[1].queue_limit = 500'000;
        constexpr unsigned blocks = 512;
        std::vector<double> trips;
        time_ns asked = 0, over = 0;
        double later = 0;       // the worst behind the second transfer
        uint64_t first = 0, second_one = 0;
        unsigned bulk = 0;
        const unsigned all = others ? 3 * blocks : blocks;
        const auto transfer = [&](uint32_t from) {
            for (unsigned i = 0; i < all; ++i)
                sim[from].send(1, 2, 131000);
        };
        sim[1].on_deliver = [&](uint32_t from, std::span<const uint8_t> b) {
            if (b.size() == 50) {
                sim[1].send(0, 1, 50);
                return;
            }
            if (sim.now < 10 * second)
                (from == 0 ? first : second_one) += b.size();
            if (from == 0 && ++bulk == all) {
                over = sim.now;
                if (!others)
                    sim.at(sim.now + 300 * ms, [&] { transfer(0); });
            }
        };
        sim[0].on_deliver = [&](uint32_t, std::span<const uint8_t>) {
            const double trip = static_cast<double>(sim.now - asked) / 1e6;
            if (over && asked > over)
                later = std::max(later, trip);
            else if (asked >= 2 * second)
                trips.push_back(trip);
            asked = sim.now;
            if (others ? !over : bulk < 2 * all)
                sim[0].send(1, 1, 50);
        };
        sim[0].send(1, 1, 50);
        sim.at(2 * second, [&] {
            transfer(0);
            if (others)
                transfer(2);
        });
        WAN_CHECK_THAT(sim.run(60 * second) && sim[1].wrong.empty(), std::to_string(sim.queued) + " " + sim[1].wrong);
        std::sort(trips.begin(), trips.end());
        const double median = trips[trips.size() / 2], most = trips[trips.size() * 97 / 100];
        own = static_cast<double>(first) / static_cast<double>(first + second_one);
        const double share = blocks * 131000. / (static_cast<double>(over - 2 * second) / second) / sim[1].rate;
        std::printf("small beside 64 MB%s: median %.1f, 97%% within %.1f ms, worst %.1f, of a second transfer %.1f (alone 20); the transfer had %.0f%%%s\n", others ? " and another's" : "", median,
                    most, trips.back(), later, others ? 100 * own : 100 * share, others ? " of both" : " of the link");
        if (!others)
            WAN_CHECK_THAT(median < 28 && most < 30 && share > 0.9 && later > 25 && later < 30, std::to_string(median) + " " + std::to_string(most) + " " + std::to_string(later) + " " + std::to_string(share));
    }
    WAN_CHECK_THAT(own > 0.35, std::to_string(own));
    return "";
}

std::string forgeries()
{
    // Everything that can be done to a datagram: cut, changed, sent again, from strangers.  Nothing comes of it.
    config c;
    c.security = wire::security::authenticate;
    c.mtu_max = 1472;
    simulator sim(c, 2, 5);
    std::mt19937_64 r(wan_test::test_seed());
    uint64_t made = 0;
    sim.tap = [&](uint32_t from, uint32_t to, std::vector<uint8_t> &d) {
        for (int i = 0; i < 20; ++i) {
            std::vector<uint8_t> f = d;
            switch (r() % 4) {
            case 0: f.resize(r() % f.size()); break;
            case 1: f[r() % f.size()] ^= static_cast<uint8_t>(1 + r() % 255); break;
            case 2: f.resize(f.size() + 1 + r() % 100); break;
            default:
                for (uint8_t &x : f)
                    x = static_cast<uint8_t>(r());
            }
            ++made;
            sim.inject(from, to, std::move(f), sim.now + static_cast<time_ns>(r() % static_cast<uint64_t>(20 * ms)));
        }
        sim.inject(from, to, d, sim.now + 50 * ms);     // a replay
        return false;
    };
    for (int i = 0; i < 200; ++i)
        sim[0].send(1, static_cast<uint8_t>(i % 3), 20000);
    WAN_CHECK(sim.run(60 * second) && sim[1].wrong.empty() && sim[1].delivered == 200);
    sim.at(sim.now + second, [] {});
    sim.run(sim.now + 2 * second);
    const endpoint::counters n = sim[1].end.count();
    std::printf("%llu forged: strangers %llu, forgeries %llu, replays %llu; genuine %llu of %llu\n", static_cast<unsigned long long>(made),
                static_cast<unsigned long long>(n.strangers), static_cast<unsigned long long>(n.forgeries),
                static_cast<unsigned long long>(n.replays), static_cast<unsigned long long>(n.received),
                static_cast<unsigned long long>(sim[0].datagrams_out));
    WAN_CHECK(n.received == sim[0].datagrams_out && n.replays > 0 && n.forgeries > 0 && n.strangers > 0 && n.moves == 0);
    return "";
}

/** What had been received is acknowledged seconds later, when the sender asks: that is no round trip, by which it would wait from then on. */
std::string late_answers()
{
    config c;
    c.strict = true;
    simulator sim(c, 2, 5);
    for (int i = 0; i < 2; ++i) {
        sim[0].send(1, 2, 500);
        WAN_CHECK(sim.run(10 * second));
    }
    const time_ns before = sim[0].end.view(sim[0].peer_of[1]).delay, dark_until = sim.now + 5 * second;
    sim.tap = [&](uint32_t from, uint32_t, std::vector<uint8_t> &) { return from == 1 && sim.now < dark_until; };
    for (int i = 0; i < 3; ++i)
        sim[0].send(1, 2, 500);
    WAN_CHECK(sim.run(100 * second) && sim[1].delivered == 5 && sim.now > dark_until);
    const time_ns after = sim[0].end.view(sim[0].peer_of[1]).delay;
    WAN_CHECK_THAT(before > 0 && after < 2 * before, std::to_string(before) + " ns before, " + std::to_string(after) + " after");
    return "";
}

/** A process without a processor reads an answer late by twenty seconds: it does not wait as long for the next one, of which nothing comes. */
std::string lost_processor()
{
    for (int strict = 0; strict < 2; ++strict) {
        config c;
        c.strict = strict;
        simulator sim(c, 2, 5);
        for (int i = 0; i < 5; ++i) {
            sim[0].send(1, 2, 500);
            WAN_CHECK(sim.run(sim.now + 5 * second));
        }
        sim[0].send(1, 2, 500);
        const time_ns asleep = sim.now + ms;
        sim.at(asleep, [&] { sim[0].turn = 20 * second; });
        WAN_CHECK(sim.run(sim.now + 60 * second) && sim.now % (20 * second) == 0 && sim.now > asleep + second);
        sim[0].turn = 0;
        int swallowed = 0;
        sim.tap = [&](uint32_t from, uint32_t, std::vector<uint8_t> &) { return from == 0 && swallowed++ == 0; };
        sim[0].send(1, 2, 500);
        const time_ns sent = sim.now;
        WAN_CHECK(sim.run(sent + 100 * second) && swallowed > 1 && sim[1].delivered == 7);
        WAN_CHECK_THAT(sim[1].last_delivery - sent < 2 * second, "strict " + std::to_string(strict) + ": " + std::to_string(sim[1].last_delivery - sent) + " ns");
    }
    return "";
}

std::string dead_peer()
{
    for (int strict = 0; strict < 2; ++strict) {
        config c;
        c.strict = strict;
        c.dead = 5 * second;
        simulator sim(c, 2, 5);
        sim.way.dark = true;
        for (int i = 0; i < 10; ++i)
            sim[0].send(1, 2, 5000);
        sim.run(20 * second);
        WAN_CHECK(sim[0].deaths == 1 && sim[0].freed == 10 && sim[0].lost == 10);
        // A living one that has nothing to say is not dead; one that falls silent is, though nothing waits for it.
        simulator quiet(c, 2, 6);
        quiet[0].send(1, 2, 5000);
        quiet.at(100 * second, [] {});
        quiet.run(99 * second);
        WAN_CHECK_THAT(quiet[0].deaths == 0 && quiet[1].deaths == 0 && quiet[0].freed == 1, "strict " + std::to_string(strict));
        quiet.way.dark = true;
        quiet.at(131 * second, [] {});
        quiet.run(130 * second);
        WAN_CHECK_THAT(quiet[0].deaths == 1 && quiet[1].deaths == 1, "strict " + std::to_string(strict));
    }
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(uses_the_link), TEST(long_ones_now_and_then), TEST(opens_soon), TEST(opens_soon_now_and_then), TEST(size_of_the_path), TEST(narrow_paths), TEST(a_thousand_idle), TEST(incast), TEST(incast_again), TEST(chance_is_no_overrun), TEST(far_among_near), TEST(all_but_the_reserve), TEST(small_passes_bulk), TEST(small_beside_bulk), TEST(forgeries), TEST(late_answers), TEST(lost_processor), TEST(dead_peer)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
