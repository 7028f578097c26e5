/*
 * The small parts of btl/udp's core, each alone: wire, arrivals, assembly, round
 * trips, pacer, controllers, permission, seals.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "arrivals.hpp"
#include "assembly.hpp"
#include "congestion.hpp"
#include "grants.hpp"
#include "pacer.hpp"
#include "ring.hpp"
#include "seal.hpp"

#include "unit.hpp"

#include <cstring>
#include <random>

using namespace udp;

namespace {

std::string wire_frames()
{
    const uint8_t text[] = "payload";
    uint8_t b[512];
    size_t n = 0;
    wire::frame f;
    f.what = wire::kind::data, f.stream = 2, f.user = 77, f.block = 0xfffffffe, f.offset = 3, f.total = 20, f.payload = {text, 7};
    n += wire::put_frame(b + n, f);
    f = {};
    f.what = wire::kind::ack, f.words = 2, f.largest = 1ull << 40, f.amount = 99, f.delay_us = 5, f.received[0] = 6, f.received[1] = 1ull << 63;
    n += wire::put_frame(b + n, f);
    f = {};
    f.what = wire::kind::packet, f.last = true, f.sequence = 7, f.block = 5, f.window = 1000, f.payload = {text, 4};
    n += wire::put_frame(b + n, f);
    f = {};
    f.what = wire::kind::answer, f.nack = true, f.sequence = 8, f.window = 9;
    n += wire::put_frame(b + n, f);
    WAN_CHECK(wire::well_formed({b, n}));
    std::span<const uint8_t> rest(b, n);
    WAN_CHECK(wire::get_frame(rest, f) && f.what == wire::kind::data && f.stream == 2 && f.user == 77 && f.block == 0xfffffffe
              && f.offset == 3 && f.total == 20 && f.payload.size() == 7 && std::memcmp(f.payload.data(), text, 7) == 0);
    WAN_CHECK(wire::get_frame(rest, f) && f.what == wire::kind::ack && f.words == 2 && f.largest == 1ull << 40 && f.amount == 99
              && f.delay_us == 5 && f.received[0] == 6 && f.received[1] == 1ull << 63);
    WAN_CHECK(wire::get_frame(rest, f) && f.what == wire::kind::packet && f.last && f.sequence == 7 && f.block == 5 && f.window == 1000 && f.payload.size() == 4);
    WAN_CHECK(wire::get_frame(rest, f) && f.what == wire::kind::answer && f.nack && f.sequence == 8 && f.window == 9);
    WAN_CHECK(rest.empty());
    // Cut anywhere inside a frame it is refused; random bytes never run over the end (sanitizers look).
    WAN_CHECK(!wire::well_formed({b, n - 1}) && !wire::well_formed({b, 5}));
    std::mt19937_64 r(wan_test::test_seed());
    for (int i = 0; i < 200000; ++i) {
        std::vector<uint8_t> noise(r() % 64);
        for (uint8_t &x : noise)
            x = static_cast<uint8_t>(r());
        if (!noise.empty() && i % 2)
            noise[0] = static_cast<uint8_t>(1 + r() % 10);
        std::span<const uint8_t> s(noise);
        while (wire::get_frame(s, f))
            WAN_CHECK(f.what != wire::kind::data || f.offset + f.payload.size() <= f.total);
    }
    wire::header h{wire::security::encrypt, 1, 2, 3, 4}, g;
    wire::put_header(b, h);
    WAN_CHECK(wire::get_header({b, 40}, g) && g.mode == h.mode && g.destination == 1 && g.source == 2 && g.token == 3 && g.number == 4);
    WAN_CHECK(!wire::get_header({b, 39}, g) && !wire::get_header({b, 23}, g));
    b[0] ^= 0x20;
    WAN_CHECK(!wire::get_header({b, 40}, g));
    return "";
}

std::string arrivals_window()
{
    // Against a set: random numbers, jumps over the width, repeats.
    std::mt19937_64 r(wan_test::test_seed());
    arrivals a;
    arrivals_of<128> few;       // what is too old for it changes nothing
    std::vector<bool> known(2000000);
    uint64_t top = 0;
    for (int i = 0; i < 100000; ++i) {
        uint64_t n = r() % 50 == 0 ? top + r() % 6000 : top + 1 + r() % 3 - std::min<uint64_t>(top, r() % 5000);
        n = std::min<uint64_t>(std::max<uint64_t>(n, 1), known.size() - 1);
        const bool fresh = n > top || (top - n < arrivals::width && !known[n]);
        WAN_CHECK_THAT(a.fresh(n) == fresh, "number " + std::to_string(n) + " at " + std::to_string(top));
        if (fresh) {
            a.mark(n);
            few.mark(n);
            known[n] = true;
            top = std::max(top, n);
        }
        WAN_CHECK(a.largest() == top && !a.fresh(n) && !a.fresh(0));
        const uint64_t bits = a.below(top);
        for (unsigned k = 0; k < 64 && top > k; ++k)
            WAN_CHECK((bits >> k & 1) == known[top - k]);
        WAN_CHECK(few.largest() == top && few.below(top) == bits && few.below(top - std::min<uint64_t>(top, 64)) == a.below(top - std::min<uint64_t>(top, 64)));
    }
    return "";
}

std::string assembly_random()
{
    // Blocks cut at random into overlapping frames, shuffled, repeated: each once, in order if that is promised.
    std::mt19937_64 r(wan_test::test_seed());
    for (int round = 0; round < 400; ++round) {
        config c;
        c.ordered = round % 2;
        c.block_max = 3000;
        assembly a;
        std::vector<std::vector<uint8_t>> blocks(1 + r() % 12);
        std::vector<wire::frame> frames;
        uint64_t charge = 0;
        for (size_t i = 0; i < blocks.size(); ++i) {
            blocks[i].resize(r() % 4 == 0 ? 0 : r() % 3000);
            for (uint8_t &x : blocks[i])
                x = static_cast<uint8_t>(r());
            charge += blocks[i].size() + block_charge;
            const auto add = [&](size_t from, size_t to) {
                wire::frame f;
                f.what = wire::kind::data;
                f.block = static_cast<uint32_t>(i);
                f.user = static_cast<uint8_t>(i);
                f.offset = static_cast<uint32_t>(from);
                f.total = static_cast<uint32_t>(blocks[i].size());
                f.payload = std::span<const uint8_t>(blocks[i]).subspan(from, to - from);
                frames.push_back(f);
            };
            if (blocks[i].empty()) {
                add(0, 0);
                continue;
            }
            for (size_t at = 0; at < blocks[i].size();) {
                const size_t to = std::min(blocks[i].size(), at + 1 + r() % 700);
                add(at, to);
                at = to;
            }
            for (int extra = 0; extra < 5; ++extra) {
                const size_t from = r() % blocks[i].size();
                add(from, std::min(blocks[i].size(), from + 1 + r() % 1500));
            }
        }
        std::shuffle(frames.begin(), frames.end(), r);
        std::vector<int> seen(blocks.size());
        size_t next = 0;
        uint64_t arrived = 0, consumed = 0;
        std::string wrong;
        for (const wire::frame &f : frames) {
            const auto g = a.accept(f, c, ~uint64_t(0), [&](uint8_t user, std::span<const uint8_t> b) {
                if (++seen[user] != 1 || std::vector<uint8_t>(b.begin(), b.end()) != blocks[user])
                    wrong = "block " + std::to_string(user);
                if (c.ordered && user != next++)
                    wrong = "order";
            });
            WAN_CHECK(!g.refused && !g.left);
            arrived += g.arrived;
            consumed += g.consumed;
            WAN_CHECK(consumed <= arrived);
        }
        WAN_CHECK_THAT(wrong.empty(), wrong);
        WAN_CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<long>(seen.size()));
        WAN_CHECK_THAT(arrived == charge && consumed == charge, std::to_string(arrived) + " " + std::to_string(charge));
        WAN_CHECK(a.empty());
        wire::frame huge = frames[0];
        huge.block = 1000000000;
        WAN_CHECK(a.accept(huge, c, ~uint64_t(0), [](uint8_t, std::span<const uint8_t>) {}).left);
        huge.block = static_cast<uint32_t>(blocks.size());
        huge.total = 4000;
        WAN_CHECK(a.accept(huge, c, ~uint64_t(0), [](uint8_t, std::span<const uint8_t>) {}).refused && a.empty());
        WAN_CHECK(a.held() == 0);
    }
    return "";
}

std::string pacer_rate()
{
    pacer p;
    time_ns now = second;
    uint64_t sent = 0;
    while (now < 2 * second) {
        if (p.allowed(now) <= now) {
            p.sent(now, 1500, 10'000'000, 1500, 0);
            sent += 1500;
        } else {
            now = std::max(now + 1, p.allowed(now));
        }
    }
    WAN_CHECK_THAT(sent >= 10'000'000 && sent <= 10'050'000, std::to_string(sent));
    // Looked at every 10 ms only: over 100 ms nothing is lost of the rate, over 10 ms no more than 2 ms' worth leave at once.
    for (const time_ns trip : {100 * ms, 10 * ms}) {
        pacer rare;
        uint64_t bytes = 0;
        for (time_ns t = second; t < 2 * second; t += 10 * ms)
            for (; rare.allowed(t) <= t; bytes += 1500)
                rare.sent(t, 1500, 10'000'000, 1500, trip);
        WAN_CHECK_THAT(trip == 100 * ms ? bytes > 9'900'000 && bytes < 10'150'000 : bytes > 1'900'000 && bytes < 2'300'000, std::to_string(bytes));
    }
    return "";
}

std::string overstated_delay()
{
    rtt trip;
    trip.sample(second, 5 * ms, 1 * ms);
    WAN_CHECK(trip.smallest() == 4 * ms && trip.latest() == 4 * ms);
    // An Ack delay longer than the round trip cannot be: the trip as it was measured counts.
    trip.sample(second, 100 * us, 3 * ms);
    WAN_CHECK(trip.smallest() == 100 * us);
    trip.sample(second, 0, 0);
    WAN_CHECK(trip.smallest() == 1);
    return "";
}

/** One round trip that is far too long hardly counts; a path that has become so long is known after some. */
std::string outliers()
{
    rtt trip;
    for (int i = 0; i < 100; ++i)
        trip.sample(i * ms, 20 * ms, 0);
    trip.sample(21 * second, 20 * second, 0);
    WAN_CHECK_THAT(trip.probe_timeout(ms, 0) < 1500 * ms && trip.reorder_time() < 1500 * ms, std::to_string(trip.probe_timeout(ms, 0)) + ", " + std::to_string(trip.reorder_time()));
    for (int i = 0; i < 50; ++i)
        trip.sample((22 + i) * second, 3 * second, 0);
    WAN_CHECK_THAT(trip.smoothed() > 2900 * ms && trip.smallest() > 2900 * ms, std::to_string(trip.smoothed()));
    rtt late;       // the first one
    late.sample(20 * second, 20 * second, 0);
    WAN_CHECK(late.probe_timeout(ms, 0) < 4 * second);
    return "";
}

std::string controllers()
{
    rtt trip;
    trip.sample(0, 50 * ms, 0);
    uint64_t delivered = 0;
    const auto ack = [&](congestion &c, time_ns now, uint64_t bytes, uint64_t rate) {
        delivered += bytes;
        c.acked({now, bytes, c.window(), delivered, rate, delivered - bytes, now - 50 * ms, false, true, trip});
    };
    auto cubic = make_cubic(1500, false), tolerant = make_cubic(1500, true), fixed = make_fixed(1500, 1'000'000), bbr = make_bbr(1500);
    for (congestion *c : {cubic.get(), tolerant.get()}) {
        for (int i = 0; i < 200; ++i)
            ack(*c, 100 * ms + i * ms, 3000, 0);
        WAN_CHECK(c->window() > 400'000);       // slow start: doubled in each round
    }
    const uint64_t before = cubic->window();
    const loss_event one{400 * ms, 1500, 390 * ms, before, false, trip};
    cubic->lost(one);
    tolerant->lost(one);
    WAN_CHECK(cubic->window() < before * 72 / 100 && cubic->window() > before * 68 / 100);
    WAN_CHECK(tolerant->window() == before);     // trips are short: the loss is random
    const uint64_t reduced = cubic->window();
    cubic->lost(one);
    WAN_CHECK(cubic->window() == reduced);       // once a round trip
    cubic->spurious();
    WAN_CHECK(cubic->window() == before);
    // With a queue in sight the tolerant one reduces too.
    for (int i = 0; i < 300; ++i) {
        trip.sample(500 * ms + i * ms, 90 * ms, 0);
        ack(*tolerant, 500 * ms + i * ms, 3000, 0);
    }
    const uint64_t queued = tolerant->window();
    tolerant->lost({900 * ms, 1500, 890 * ms, queued, false, trip});
    WAN_CHECK(tolerant->window() < queued * 72 / 100);
    fixed->lost(one);
    WAN_CHECK(fixed->pace(trip) == 1'000'000);
    for (int i = 0; i < 400; ++i)
        ack(*bbr, second + i * 10 * ms, 30000, 3'000'000);
    bbr->lost({5 * second, 15000, 5 * second, 0, false, trip});
    // Startup has ended at the plateau: about the rate, and about two products of window.
    WAN_CHECK(bbr->pace(trip) >= 3'000'000 * 3 / 4 && bbr->pace(trip) <= 3'000'000 * 13 / 10);
    WAN_CHECK_THAT(bbr->window() > 100'000 && bbr->window() < 1'200'000, std::to_string(bbr->window()));
    return "";
}

/** So many bytes come from a peer, and are handed on at once. */
void comes(grants &g, grants::account &a, time_ns now, uint64_t bytes)
{
    a.consumed += bytes;
    g.update(a, now, bytes);
}

/**
 * A path of 1 MB/s and 100 ms that begins to queue within a round: its first trips are short, the
 * later ones long.  Slow start stops at one and a half products (and 2 ms of late processes),
 * before the round ends, and goes on when the trips become short again.
 */
std::string slow_start_sees_a_queue()
{
    constexpr uint64_t rate = 1'000'000, step = 1000;
    constexpr uint64_t most = rate / 10 * 3 / 2 + rate / 1000 * 2;
    for (bool forgiving : {false, true}) {
        auto c = make_cubic(1500, forgiving);
        rtt trip;
        trip.sample(ms, 100 * ms, 0);
        uint64_t delivered = 0;
        time_ns now = second;
        const auto ack = [&](time_ns measured, uint64_t prior, uint64_t at) {
            now += ms;
            delivered += step;
            trip.sample(now, measured, 0);
            c->acked({now, step, c->window(), delivered, at, prior, now - measured, false, true, trip});
        };
        for (int i = 0; i < 110; ++i)       // one round of short trips: 15 KB at first, and doubled
            ack(100 * ms, 0, rate);
        WAN_CHECK_THAT(c->window() > 120'000 && c->window() < most, std::to_string(c->window()));
        for (int i = 0; i < 7; ++i)         // a few late ones among them tell nothing
            ack(150 * ms, 0, rate);
        ack(100 * ms, 0, rate);
        const uint64_t before = c->window();
        ack(150 * ms, 0, rate);
        WAN_CHECK(c->window() == before + step);
        for (int i = 0; i < 300; ++i)       // the same round still, whose shortest trip was a short one
            ack(150 * ms, 0, rate);
        WAN_CHECK_THAT(c->window() == most, std::to_string(c->window()));
        for (int i = 0; i < 50; ++i)        // what the path delivers has doubled: so has what may be under way
            ack(150 * ms, 0, 2 * rate);
        WAN_CHECK_THAT(c->window() == most + 50 * step, std::to_string(c->window()));
        for (int i = 0; i < 300; ++i)
            ack(100 * ms, 0, rate);
        WAN_CHECK_THAT(c->window() == most + 350 * step, std::to_string(c->window()));
    }
    return "";
}

std::string permission()
{
    config c;
    c.unscheduled = 10000;
    c.window = 1 << 20;
    c.incast = 100'000;
    grants g(c);
    std::vector<grants::account> a(31);
    for (uint32_t i = 0; i < a.size(); ++i) {
        a[i].peer = i;
        g.open(a[i]);
        WAN_CHECK(a[i].permitted == 10000);
        a[i].wanted = 200'000;
        g.update(a[i], ms, 0);
    }
    // Together they never have more under way than the budget and a turn; all end.
    time_ns now = ms;
    const auto ended = [&] { return std::all_of(a.begin(), a.end(), [](const auto &x) { return x.arrived == x.wanted; }); };
    for (int step = 0; step < 100000 && !ended(); ++step) {
        now += 10 * us;
        uint64_t given = 0;
        for (auto &x : a)
            given += x.permitted - std::max<uint64_t>(x.arrived, 10000);
        WAN_CHECK_THAT(given <= 100'000 + 31 * 10000 + grants::quantum, std::to_string(given));
        auto &x = a[static_cast<size_t>(step) % a.size()];
        const uint64_t n = std::min<uint64_t>(1500, std::min(x.permitted, x.wanted) - x.arrived);
        comes(g, x, now, n);
        g.grown().clear();
    }
    for (auto &x : a)
        WAN_CHECK(x.arrived == 200'000 && x.permitted >= 200'000);
    WAN_CHECK(g.wanting() == 0);
    // One alone is not held up, as soon as the crowd is past.
    c.incast = 0;
    now += 2 * grants::crowd_memory;
    a[0].wanted = 700'000;
    g.update(a[0], now, 0);
    WAN_CHECK(a[0].permitted == 700'000 + g.renewed(a[0]) && g.renewed(a[0]) >= grants::part_least);    // what was submitted meanwhile goes unasked
    // Of many that may send each has a part at first, but on our own host; there nobody is a crowd.
    c.senders = 31;
    c.unscheduled = 64 << 10;
    grants many(c);
    grants::account far, near;
    near.local = true;
    many.open(far);
    many.open(near);
    WAN_CHECK(far.permitted == grants::first(c) && far.permitted < 5000 && near.permitted == c.unscheduled);
    near.consumed = near.arrived = 1000;
    far.consumed = far.arrived = 1000;
    many.update(near, ms, 0);
    many.update(far, ms, 0);
    WAN_CHECK(near.permitted == 1000 + c.unscheduled && far.permitted < 5000);
    // Who is far is none of a crowd of near ones, however little comes from all.
    grants thin(c);
    grants::account distant, close;
    distant.trip = 100 * ms;
    close.trip = 100 * us;
    thin.open(distant);
    thin.open(close);
    for (time_ns t = ms; t < 3 * second; t += 50 * ms)
        for (auto *x : {&close, &distant}) {
            comes(thin, *x, t, 1000);
        }
    WAN_CHECK_THAT(distant.lent == 2000 && distant.permitted == distant.consumed + c.unscheduled + distant.lent, std::to_string(distant.permitted - distant.consumed));
    WAN_CHECK_THAT(close.permitted < close.consumed + c.unscheduled / 2, std::to_string(close.permitted - close.consumed));
    // Of what comes in a round trip each has as much unasked, all together no more than a budget; nobody in a crowd.
    c.senders = 3;
    grants lends(c);
    std::vector<grants::account> three(6);
    for (auto &x : three) {
        x.trip = 20 * ms;
        lends.open(x);
    }
    const auto lent = [&] {
        uint64_t all = 0;
        for (const auto &x : three)
            all += x.lent;
        return all;
    };
    for (now = 3 * second; now < 4 * second; now += ms)
        for (size_t i = 0; i < 3; ++i) {
            comes(lends, three[i], now, 10'000);
        }
    WAN_CHECK_THAT(three[0].lent == 200'000 && three[2].lent == 200'000 && three[0].permitted == three[0].consumed + c.unscheduled + 200'000, std::to_string(three[0].lent));
    for (; now < 5 * second; now += ms)     // by turns each has the whole rate
        for (size_t i = 0; i < 3; ++i) {
            auto &x = three[static_cast<size_t>(now / (300 * ms)) % 3];
            comes(lends, x, now, 10'000);
        }
    WAN_CHECK_THAT(lent() <= lends.budget(20 * ms) && lent() > lends.budget(20 * ms) / 2, std::to_string(lent()) + " of " + std::to_string(lends.budget(20 * ms)));
    for (auto &x : three)
        x.wanted = 1'000'000'000;
    for (int twice = 0; twice < 2; ++twice)
        for (auto &x : three)
            lends.update(x, now, 1000);
    WAN_CHECK_THAT(lent() == 0, std::to_string(lent()));
    // Who has permission and no core does not keep the link idle: others get as much once nothing has come for two trips.
    c.senders = 31;
    c.unscheduled = 2000;
    grants late(c);
    std::vector<grants::account> busy(10);
    for (auto &x : busy) {
        x.trip = 100 * us;
        late.open(x);
        x.wanted = 100'000;
    }
    for (auto &x : busy)
        late.update(x, ms, 0);
    const auto with_permission = [&] { return std::count_if(busy.begin(), busy.end(), [&](const auto &x) { return x.permitted > c.unscheduled + 1000; }); };
    const auto at_first = with_permission();
    late.look(ms + 300 * us);
    WAN_CHECK_THAT(at_first > 0 && at_first < 8 && with_permission() == at_first, std::to_string(at_first));
    WAN_CHECK_THAT(late.deadline() <= ms + 1200 * us, std::to_string(late.deadline()));
    for (now = ms; now < 8 * ms; now += 100 * us)
        if (late.deadline() <= now)
            late.look(now);
    WAN_CHECK_THAT(with_permission() > at_first + 2, std::to_string(with_permission()) + ", at first " + std::to_string(at_first));
    // Many of our own host that want at once are no crowd either.
    c.unscheduled = 64 << 10;
    grants host(c);
    std::vector<grants::account> own(6);
    for (auto &x : own) {
        x.local = true;
        x.wanted = 1'000'000;
        host.open(x);
    }
    for (now = ms; own[0].arrived < 900'000; now += 100 * us)
        for (auto &x : own) {
            comes(host, x, now, 1500);
            host.grown().clear();
            WAN_CHECK_THAT(x.permitted >= std::min<uint64_t>(x.consumed + c.unscheduled, x.wanted), std::to_string(x.permitted - x.consumed));
        }
    // A budget that is too small for a block holds nobody up for ever.
    for (const uint64_t incast : {1, 3, 50}) {
        c.incast = incast;
        grants tiny(c);
        std::vector<grants::account> few(5);
        for (auto &x : few) {
            tiny.open(x);
            x.wanted = 200'000;
            tiny.update(x, ms, 0);
        }
        int steps = 0;
        for (now = ms; steps < 100'000 && std::any_of(few.begin(), few.end(), [](const auto &x) { return x.arrived < x.wanted; }); ++steps, now += 10 * us) {
            auto &x = few[static_cast<size_t>(steps) % few.size()];
            const uint64_t n = std::min<uint64_t>(1500, std::min(x.permitted, x.wanted) - x.arrived);
            comes(tiny, x, now, n);
            tiny.grown().clear();
        }
        WAN_CHECK_THAT(steps < 100'000, "a budget of " + std::to_string(incast));
    }
    return "";
}

/** The size of a crowd of near peers that may come (the job's, at first) or came is remembered for a minute, and divides what goes unasked. */
std::string crowd_is_remembered()
{
    config c;
    c.senders = 31;
    c.unscheduled = 64 << 10;
    grants g(c);
    std::vector<grants::account> a(5);
    for (uint32_t i = 0; i < a.size(); ++i) {
        a[i].peer = i;
        a[i].trip = 100 * us;
        g.open(a[i]);
    }
    const auto unasked = [&](time_ns now) {
        g.update(a[0], now, 0);
        g.grown().clear();
        return g.renewed(a[0]);
    };
    const auto part_of = [&](uint64_t all) { return g.budget(a[0].trip) / 2 / all; };
    WAN_CHECK_THAT(unasked(ms) == part_of(31), std::to_string(g.renewed(a[0])));
    WAN_CHECK(unasked(grants::wary_memory) == part_of(31));
    WAN_CHECK(unasked(grants::wary_memory + 2 * ms) == c.unscheduled);     // nobody came
    time_ns now = 2 * grants::wary_memory;
    for (auto &x : a) {
        x.wanted = 1'000'000;
        comes(g, x, now, 1000);
    }
    WAN_CHECK_THAT(g.wanting() == 5 && g.renewed(a[0]) == part_of(5), std::to_string(g.wanting()) + " " + std::to_string(g.renewed(a[0])));
    for (auto &x : a)
        g.close(x), x.wanted = 0;
    now += 2 * grants::crowd_memory;
    WAN_CHECK_THAT(unasked(now) == part_of(5), std::to_string(g.renewed(a[0])));    // gone, but may come back
    grants::account stranger;       // whose trip is long: none of them
    stranger.trip = 50 * ms;
    WAN_CHECK(g.renewed(stranger) == c.unscheduled);
    WAN_CHECK(unasked(now + grants::wary_memory) == c.unscheduled);
    // Who asks again and again, with nobody between, may have more; one more such one; no third, and nobody in a crowd.
    grants h(c);
    std::vector<grants::account> b(5);
    for (auto &x : b) {
        x.trip = 100 * us;
        h.open(x);
    }
    const auto asks = [&](grants::account &x, time_ns t) {
        x.consumed = x.arrived = x.permitted;
        x.wanted = x.permitted + 6000;
        h.update(x, t, 0);
        comes(h, x, t, 6000);
        h.grown().clear();
    };
    const auto more = [&](const grants::account &x) { return h.renewed(x) - h.budget(x.trip) / 2 / 31; };
    for (unsigned i = 0; i < 3 * grants::asks_least; ++i)
        asks(b[i % 2], ms + i * us);
    WAN_CHECK_THAT(more(b[0]) == 0 && more(b[1]) == 0, std::to_string(more(b[0])));      // by turns
    for (int i = 0; i < 3; ++i)
        for (unsigned k = 0; k < grants::asks_least; ++k)
            asks(b[static_cast<size_t>(i)], 2 * ms + (i * 10 + static_cast<int>(k)) * us);
    WAN_CHECK_THAT(more(b[0]) == grants::ahead_part && more(b[1]) == grants::ahead_part && more(b[2]) == 0, std::to_string(more(b[2])));
    h.close(b[0]);      // it is gone, and what it had is free
    for (unsigned k = 0; k < grants::asks_least; ++k)
        asks(b[2], 3 * ms + k * us);
    WAN_CHECK_THAT(more(b[2]) == grants::ahead_part, std::to_string(more(b[2])));
    for (int i = 1; i < 5; ++i) {
        b[static_cast<size_t>(i)].wanted = b[static_cast<size_t>(i)].permitted + 100'000;
        h.update(b[static_cast<size_t>(i)], 4 * ms, 0);
    }
    h.update(b[1], 4 * ms, 0);
    WAN_CHECK_THAT(h.wanting() == 4 && h.renewed(b[2]) < grants::ahead_part, std::to_string(h.renewed(b[2])));
    return "";
}

std::string seals()
{
    const secret s1 = secret_make(), s2 = secret_make();
    WAN_CHECK(s1 != s2);
    const uint8_t shared[] = "shared by the whole job";
    const pair_keys a = pair_derive(s1, 1, s2, 2, shared), b = pair_derive(s2, 2, s1, 1, shared), other = pair_derive(s2, 2, s1, 1, {});
    WAN_CHECK(a.in == b.out && a.out == b.in && a.in != a.out && a.token == b.token);
    WAN_CHECK(other.in != b.in && secret_name(shared) != secret_name({}));
    for (wire::security mode : {wire::security::authenticate, wire::security::encrypt}) {
        seal out(a.out), in(b.in);
        for (uint64_t number = 1; number < 50; ++number) {
            const wire::header h{mode, 2, 1, a.token, number};
            std::vector<uint8_t> d(wire::header_bytes + 20 * number + wire::tag_bytes), clear;
            wire::put_header(d.data(), h);
            for (size_t i = wire::header_bytes; i < d.size(); ++i)
                d[i] = static_cast<uint8_t>(i);
            clear = d;
            WAN_CHECK(out.close({d.data(), d.size() - wire::tag_bytes}, h));
            WAN_CHECK((std::memcmp(&d[wire::header_bytes], &clear[wire::header_bytes], 20) == 0) == (mode == wire::security::authenticate));
            for (int bit = 0; bit < 40; ++bit) {
                std::vector<uint8_t> forged = d;
                const size_t at = (static_cast<size_t>(bit) * 7919 + number * 31) % forged.size();
                forged[at] ^= static_cast<uint8_t>(1 << bit % 8);
                wire::header fh = h;
                if (wire::get_header(forged, fh))
                    WAN_CHECK_THAT(!in.open(forged, fh), "byte " + std::to_string(at));
            }
            wire::header replayed = h;
            replayed.number += 1;
            std::vector<uint8_t> moved = d;
            WAN_CHECK(!in.open(moved, replayed));
            WAN_CHECK(in.open(d, h));
            WAN_CHECK(std::memcmp(d.data(), clear.data(), d.size() - wire::tag_bytes) == 0);
        }
    }
    return "";
}

std::string ring_order()
{
    ring<int> q;
    WAN_CHECK(q.memory_bytes() == 0);
    int in = 0, out = 0;
    std::mt19937 r(1);
    for (int i = 0; i < 10000; ++i) {
        if (r() % 5 < 3)
            q.push_back(in++);
        else if (!q.empty()) {
            WAN_CHECK(q.front() == out && q.back() == in - 1 && q[q.size() / 2] == out + static_cast<int>(q.size() / 2));
            q.pop_front();
            ++out;
        }
    }
    q.release();
    WAN_CHECK(q.empty() && q.memory_bytes() == 0);
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(wire_frames), TEST(arrivals_window), TEST(assembly_random), TEST(pacer_rate),
                                TEST(overstated_delay), TEST(outliers), TEST(controllers), TEST(slow_start_sees_a_queue), TEST(permission), TEST(crowd_is_remembered), TEST(seals), TEST(ring_order)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
