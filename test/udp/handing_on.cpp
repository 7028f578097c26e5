/*
 * A long message that near processes hand on to each other in small blocks, as coll/wan's chain does: every
 * host sends on each block that came.  What that costs beyond the bytes: datagrams that are not
 * full, requests for permission, Acks.  Hosts as near as in one site, the last one far.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "simulator.hpp"

#include "unit.hpp"

using namespace udp_test;

namespace {

constexpr double rate = 40e6 / 8;
constexpr uint32_t block = 2062, blocks = 512;

struct outcome {
    double takes;           // s, of the last of some messages
    uint64_t datagrams[4];  // of it, out of each host
};

/** Four hosts of a job of eight, of which one after the other sends to the next. */
outcome hand_on(bool crowd_before)
{
    simulator sim(job_of_eight(), 5, 5);
    sim.way.delay = 20 * us;
    sim[3].away = 10 * ms;
    for (uint32_t h = 0; h < 5; ++h) {
        sim[h].rate = sim[h].rate_out = rate;
        sim[h].queue_limit = 2'000'000;
    }
    if (crowd_before)       // all to each, as where links are measured
        for (uint32_t h = 0; h < 5; ++h)
            for (uint32_t to = 0; to < 5; ++to)
                if (h != to)
                    sim.at(ms, [&sim, h, to] { sim[h].send(to, 2, 128 << 10); });
    for (uint32_t h = 1; h < 3; ++h)
        sim[h].on_deliver = [&sim, h](uint32_t from, std::span<const uint8_t> b) {
            if (from == h - 1 && b.size() == block)
                sim[h].send(h + 1, 2, block);
        };
    outcome o{};
    constexpr time_ns apart = 400 * ms;
    for (int message = 1; message <= 5; ++message)
        sim.at(message * apart + second, [&, message] {
            for (uint32_t h = 0; h < 4; ++h)
                o.datagrams[h] = sim[h].datagrams_out;
            for (unsigned i = 0; i < blocks; ++i)
                sim[0].send(1, 2, block);
        });
    sim.run(10 * second);
    for (uint32_t h = 0; h < 4; ++h) {
        o.datagrams[h] = sim[h].datagrams_out - o.datagrams[h];
        if (!sim[h].wrong.empty())
            return {};
    }
    o.takes = static_cast<double>(sim[3].last_delivery - second - 5 * apart) / second;
    return o;
}

std::string block_after_block()
{
    const double least = block * blocks / rate + 0.01;
    for (const bool crowd : {false, true}) {
        const outcome o = hand_on(crowd);
        WAN_CHECK_THAT(o.takes > least, "something did not come");
        std::printf("1 MB handed on in 2 KB: %.1f ms, %.3f of the least; datagrams out of each host: %llu %llu %llu %llu\n", 1000 * o.takes, o.takes / least,
                    static_cast<unsigned long long>(o.datagrams[0]), static_cast<unsigned long long>(o.datagrams[1]),
                    static_cast<unsigned long long>(o.datagrams[2]), static_cast<unsigned long long>(o.datagrams[3]));
        // Full datagrams would be 746, with 190 Acks of what comes.
        WAN_CHECK_THAT(o.takes < 1.13 * least && o.datagrams[1] < 1400 && o.datagrams[2] < 1400, std::to_string(o.takes / least));
    }
    return "";
}

/** A block that does not fill a datagram waits for company behind one like it, but not behind a short message. */
std::string behind_a_short_one()
{
    for (const uint32_t before : {100u, 1100u}) {
        config c;
        c.mtu_max = 1472;
        simulator sim(c, 2, 5);
        sim.way.delay = 10 * ms;
        sim.at(ms, [&] { sim[0].send(1, 2, 100'000); });
        sim.at(second, [&] { sim[0].send(1, before > 1024 ? 2 : 1, before); });
        sim.at(second + 100 * us, [&] { sim[0].send(1, 2, 1100); });
        WAN_CHECK(sim.run(10 * second) && sim[1].wrong.empty() && sim[1].delivered == 3);
        const time_ns took = sim[1].last_delivery - second - 100 * us;
        WAN_CHECK_THAT(before > 1024 ? took > 10'900 * us && took < 11'200 * us : took < 10'100 * us,
                       std::to_string(took / us) + " us behind " + std::to_string(before) + " bytes");
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test_prestate(wan_test::test<block_after_block>, nullptr),
                                cmocka_unit_test_prestate(wan_test::test<behind_a_short_one>, nullptr)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
