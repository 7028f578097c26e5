/*
 * What is acknowledged, and how often: nothing that its receiver has not taken; several datagrams at a time, after
 * a while, or beside data.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "modern.hpp"
#include "simulator.hpp"

#include "unit.hpp"

using namespace udp_test;

namespace {

/** Calls f for the frames of a datagram without a seal. */
template <class F> void for_frames(const std::vector<uint8_t> &datagram, F &&f)
{
    std::span<const uint8_t> rest(datagram.data() + wire::header_bytes, datagram.size() - wire::header_bytes);
    wire::frame one;
    while (wire::get_frame(rest, one))
        f(one);
}

/** Small blocks that others overtake: each is handed up, and so what was overtaken may be any number of blocks behind. */
std::string far_behind()
{
    config c;
    c.ordered = false;
    c.window = 100 * block_charge;
    simulator sim(c, 2, 3);
    unsigned lost = 0;
    sim.tap = [&](uint32_t from, uint32_t, std::vector<uint8_t> &d) {
        bool first = false;
        if (from == 0)
            for_frames(d, [&](const wire::frame &f) { first |= f.what == wire::kind::data && f.block == 0; });
        lost += first && sim.now < 3 * second;
        return first && sim.now < 3 * second;
    };
    constexpr uint32_t blocks = 400;
    for (uint32_t i = 0; i < blocks; ++i)
        sim.at(second + i * 2 * ms, [&] { sim[0].send(1, 1, 12); });
    sim.run(60 * second);
    WAN_CHECK_THAT(sim[1].wrong.empty(), sim[1].wrong);
    WAN_CHECK_THAT(lost > 1 && sim[1].delivered == blocks && sim[0].freed == blocks && sim[0].lost == 0,
                   std::to_string(sim[1].delivered) + " have come, " + std::to_string(sim[0].freed) + " are said to have come");
    // What was left meanwhile does not hide for long that the last of what was overtaken is lost.
    WAN_CHECK_THAT(sim[1].last_delivery < 4 * second, std::to_string(sim[1].last_delivery / ms));
    return "";
}

/** Who begins more blocks than it was permitted fills no memory; what did not fit is not acknowledged, and fits later. */
std::string more_than_permitted()
{
    config c;
    c.ordered = false;
    c.window = 200'000;
    c.unscheduled = 20'000;
    c.block_max = 50'000;
    grants g(c);
    struct : events {
        void deliver(uint32_t, uint8_t, uint8_t, std::span<const uint8_t>) override { ++delivered; }
        void sent(uint32_t, outgoing &, bool) override {}
        void dead(uint32_t) override {}
        int delivered = 0;
    } up;
    modern m(0, c, up, g, 1472, c.unscheduled, false);
    // Others send, too: what is missing of what they all sent tells that they overran a queue.
    std::vector<grants::account> others(grants::crowd);
    for (grants::account &o : others) {
        o.peer = static_cast<uint32_t>(&o - others.data()) + 1;
        g.open(o);
        g.update(o, second, 1);
    }
    const uint64_t usual = g.renewed(others[0]);
    const std::vector<uint8_t> bytes(c.block_max);
    std::vector<uint8_t> b(bytes.size() + wire::data_bytes);
    uint64_t number = 0, taken = 0;
    const auto comes = [&](uint32_t block, uint32_t from, size_t length) {
        wire::frame f;
        f.what = wire::kind::data;
        f.stream = static_cast<uint8_t>(block % wire::streams);
        f.block = block / wire::streams;
        f.total = static_cast<uint32_t>(bytes.size());
        f.offset = from;
        f.payload = {bytes.data(), length};
        const bool whole = m.receive({b.data(), wire::put_frame(b.data(), f)}, ++number, second);
        if (whole)
            m.taken.mark(number);
        m.seen.mark(number);
        return whole;
    };
    constexpr uint32_t blocks = 300;
    for (uint32_t i = 0; i < blocks; ++i)
        taken += comes(i, 0, 1);
    WAN_CHECK_THAT(m.memory_bytes() < 2 * c.window + wire::streams * c.block_max, std::to_string(m.memory_bytes()));
    WAN_CHECK_THAT(taken >= wire::streams && taken < 8, std::to_string(taken));
    // It is left, not missing.
    g.update(others[0], second, 1);
    WAN_CHECK_THAT(g.renewed(others[0]) == usual, std::to_string(g.renewed(others[0])) + ", not " + std::to_string(usual));
    for (grants::account &o : others)
        g.close(o);
    // Those that were taken end, and with each another one may begin.
    for (uint32_t i = 0; i < blocks; ++i)
        WAN_CHECK_THAT(comes(i, 0, 1) && comes(i, 1, bytes.size() - 1), std::to_string(i));
    WAN_CHECK_THAT(up.delivered == blocks, std::to_string(up.delivered));
    return "";
}

/** What is left counts as come all the same: a copy of it is a replay. */
std::string left_and_copied()
{
    config c;
    c.ordered = false;
    c.window = 8 * block_charge;
    constexpr uint32_t hosts = 6;
    simulator sim(c, hosts, 3);
    uint64_t copies = 0;
    sim.tap = [&](uint32_t from, uint32_t to, std::vector<uint8_t> &d) {
        bool first = false;
        for_frames(d, [&](const wire::frame &f) { first |= f.what == wire::kind::data && f.block == 0; });
        if (to != 0 || (first && sim.now < 2 * second))
            return first;
        sim.inject(from, to, d, sim.now + 50 * ms);
        ++copies;
        return false;
    };
    for (uint32_t h = 1; h < hosts; ++h)
        for (uint32_t i = 0; i < 20; ++i)
            sim.at(second + i * 2 * ms, [&, h] { sim[h].send(0, 1, 12); });
    sim.run(10 * second);
    sim.at(sim.now + second, [] {});
    sim.run(20 * second);
    WAN_CHECK_THAT(sim[0].wrong.empty(), sim[0].wrong);
    WAN_CHECK(sim[0].delivered == 20 * (hosts - 1));
    WAN_CHECK_THAT(copies > 0 && sim[0].end.count().replays == copies, std::to_string(sim[0].end.count().replays) + " of " + std::to_string(copies));
    return "";
}

/** One Ack for several datagrams, none of its own where data goes back, and the last one after a while. */
std::string several_at_a_time()
{
    config c;
    c.ordered = false;
    c.unscheduled = 4 << 20;    // nobody asks, so that nothing else has to be told
    c.ack_every = 8;
    c.ack_delay = 3 * ms;
    {
        simulator sim(c, 2, 3);
        sim[1].rate = 100e6 / 8;
        for (unsigned i = 0; i < 20; ++i)
            sim.at(i * 50 * ms, [&] { sim[0].send(1, 2, 50'000); });
        sim.run(60 * second);
        WAN_CHECK(sim[1].delivered == 20 && sim[0].freed == 20);
        const uint64_t data = sim[0].datagrams_out, acks = sim[1].datagrams_out;
        WAN_CHECK_THAT(data > 600 && acks >= data / c.ack_every && acks < data / 4, std::to_string(acks) + " Acks of " + std::to_string(data));
    }
    {
        simulator sim(c, 2, 3);
        time_ns came = 0, left = 0;
        sim[1].on_deliver = [&](uint32_t, std::span<const uint8_t>) { came = sim.now; };
        sim.tap = [&](uint32_t from, uint32_t, std::vector<uint8_t> &) {
            left = from == 1 && left == 0 ? sim.now : left;
            return false;
        };
        sim[0].send(1, 1, 50);
        sim.run(second);
        WAN_CHECK_THAT(came && left == came + c.ack_delay && sim[1].datagrams_out == 1, std::to_string(left - came));
    }
    {
        simulator sim(c, 2, 3);
        constexpr unsigned trips = 200;
        unsigned done = 0;
        sim[1].on_deliver = [&](uint32_t, std::span<const uint8_t>) { sim[1].send(0, 1, 50); };
        sim[0].on_deliver = [&](uint32_t, std::span<const uint8_t>) {
            if (++done < trips)
                sim[0].send(1, 1, 50);
        };
        sim[0].send(1, 1, 50);
        sim.run(60 * second);
        const uint64_t all = sim[0].datagrams_out + sim[1].datagrams_out;
        WAN_CHECK_THAT(done == trips && all >= 2 * trips && all < 2 * trips + 10, std::to_string(all));
    }
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(far_behind), TEST(more_than_permitted), TEST(left_and_copied), TEST(several_at_a_time)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
