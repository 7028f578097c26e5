/*
 * Thousands of networks from seeds, both modes: every block arrives exactly
 * once, unchanged, in order where order is promised; every block is freed; memory
 * stays within the window; nothing hangs, also after a blackout.
 *
 *   random_runs [SEEDS]        default 1500 (UDP_SEEDS)
 *   WAN_TEST_SEED=n UDP_SEEDS=1 repeats one run
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "simulator.hpp"

#include "unit.hpp"

using namespace udp_test;

namespace {

struct setting {
    std::string text;
    config c;
    path p;
    uint32_t hosts = 2, blocks = 50, longest = 20000;
    double rate = 0;
    uint64_t queue = 0;
    bool blackout = false, mtu_falls = false;
};

setting random_setting(std::mt19937_64 &r)
{
    const auto one_of = [&](auto... v) {
        const std::common_type_t<decltype(v)...> list[] = {v...};
        return list[r() % sizeof...(v)];
    };
    setting s;
    s.c.strict = r() % 4 == 0;
    s.c.ordered = r() % 2;
    s.c.security = one_of(wire::security::off, wire::security::off, wire::security::authenticate, wire::security::encrypt);
    s.c.control = one_of(controller::tolerant, controller::cubic, controller::bbr, controller::fixed);
    s.c.rate = one_of(1'000'000ull, 20'000'000ull);
    s.c.mtu_floor = one_of(300u, 548u);
    s.c.mtu_start = one_of(300u, 1200u);
    s.c.mtu_max = one_of(300u, 1472u, 9000u);
    s.c.block_max = 100000;
    s.c.window = one_of(500'000ull, 4'000'000ull);
    s.c.unscheduled = one_of(500ull, 4096ull, 65536ull);
    s.c.incast = one_of(0ull, 0ull, 20000ull);
    s.c.ack_every = one_of(1u, 2u, 8u, 32u);
    s.p.delay = one_of(20 * us, 1 * ms, 10 * ms, 50 * ms);
    s.p.loss = one_of(0.0, 0.001, 0.01, 0.05, 0.2);
    s.p.duplicate = one_of(0.0, 0.0, 0.01, 0.2);
    s.p.reorder = one_of(0.0, 0.0, 0.02, 0.3);
    s.p.late = one_of(50 * us, 2 * ms, 30 * ms);
    // Suci's form knows one size.
    const uint32_t least = s.c.strict ? s.c.mtu_start : std::min(s.c.mtu_floor, s.c.mtu_start);
    s.p.mtu = std::max<uint32_t>(least, one_of(300u, 800u, 1300u, 1472u, 65535u));
    s.hosts = one_of(2u, 2u, 3u, 6u);
    s.c.senders = one_of(1u, s.hosts - 1, 31u);
    s.blocks = one_of(1u, 20u, 100u);
    s.longest = one_of(12u, 200u, 5000u, 100000u);
    s.rate = one_of(0.0, 1e6, 25e6);
    s.queue = one_of(20'000ull, 200'000ull);
    s.blackout = r() % 6 == 0;
    s.mtu_falls = r() % 8 == 0 && s.p.mtu > least;
    if (s.c.strict) {       // go-back-N without reason is slow: keep its runs short
        s.blocks = std::min(s.blocks, 20u);
        s.p.loss = std::min(s.p.loss, 0.05);
        s.p.reorder = std::min(s.p.reorder, 0.02);
    }
    char b[400];
    std::snprintf(b, sizeof b, "strict %d ordered %d security %d control %d mtu %u, %u..%u window %llu unscheduled %llu senders %u incast %llu ack %u "
                  "delay %lld loss %g dup %g reorder %g/%lld path mtu %u hosts %u blocks %u longest %u rate %g queue %llu dark %d falls %d",
                  s.c.strict, s.c.ordered, int(s.c.security), int(s.c.control), s.c.mtu_floor, s.c.mtu_start, s.c.mtu_max, (unsigned long long) s.c.window,
                  (unsigned long long) s.c.unscheduled, s.c.senders, (unsigned long long) s.c.incast, s.c.ack_every, (long long) s.p.delay, s.p.loss,
                  s.p.duplicate, s.p.reorder, (long long) s.p.late, s.p.mtu, s.hosts, s.blocks, s.longest, s.rate,
                  (unsigned long long) s.queue, s.blackout, s.mtu_falls);
    s.text = b;
    return s;
}

std::string one_run(uint64_t seed)
{
    std::mt19937_64 r(seed);
    const setting s = random_setting(r);
    const std::string where = "seed " + std::to_string(seed) + ": " + s.text;
    simulator sim(s.c, s.hosts, seed);
    sim.way = s.p;
    for (uint32_t h = 0; h < s.hosts; ++h) {
        sim[h].rate = s.rate;
        sim[h].queue_limit = std::max<uint64_t>(s.queue, 3 * 9000);
    }
    // Hosts send to any other, some at once, some later; half of the replies follow a delivery.
    uint64_t blocks = 0;
    for (uint32_t h = 0; h < s.hosts; ++h)
        for (uint32_t i = 0; i < s.blocks; ++i) {
            const uint32_t to = (h + 1 + static_cast<uint32_t>(r() % (s.hosts - 1))) % s.hosts;
            const uint8_t stream = static_cast<uint8_t>(r() % 3);
            const uint32_t length = 12 + static_cast<uint32_t>(r() % s.longest);
            ++blocks;
            if (r() % 3)
                sim[h].send(to, stream, std::min(length, s.c.block_max));
            else
                sim.at(static_cast<time_ns>(r() % static_cast<uint64_t>(300 * ms)), [&sim, h, to, stream, length, &s] {
                    sim[h].send(to, stream, std::min(length, s.c.block_max));
                });
        }
    if (s.blackout) {
        sim.at(30 * ms, [&] { sim.way.dark = true; });
        sim.at(10 * second, [&] { sim.way.dark = false; });
    }
    if (s.mtu_falls)
        sim.at(100 * ms, [&] { sim.way.mtu = s.c.strict ? s.c.mtu_start : std::min(s.c.mtu_floor, s.c.mtu_start); });
    const bool drained = sim.run(2000 * second);
    uint64_t delivered = 0, freed = 0;
    for (uint32_t h = 0; h < s.hosts; ++h) {
        WAN_CHECK_THAT(sim[h].wrong.empty(), sim[h].wrong + "; " + where);
        WAN_CHECK_THAT(sim[h].deaths == 0, where);
        WAN_CHECK_THAT(sim[h].lost == 0, where);
        delivered += sim[h].delivered;
        freed += sim[h].freed;
    }
    WAN_CHECK_THAT(drained, where + ", " + std::to_string(delivered) + " of " + std::to_string(blocks) + " delivered, " + std::to_string(freed) + " freed");
    WAN_CHECK_THAT(delivered == blocks && freed == blocks, where);
    // Late acknowledgements still fly; then all is quiet and memory is given back.
    sim.at(sim.now + 10 * second, [] {});
    sim.run(sim.now + 11 * second);
    for (uint32_t h = 0; h < s.hosts; ++h) {
        WAN_CHECK_THAT(sim[h].wrong.empty(), sim[h].wrong + "; " + where);
        for (uint32_t p = 0; p + 1 < s.hosts; ++p) {
            const peer_view v = sim[h].end.view(p);
            WAN_CHECK_THAT(v.queue == 0 && v.queue_bytes == 0 && v.under_way == 0, "not quiet; " + where);
            if (!s.c.strict)
                WAN_CHECK_THAT(sim[h].end.memory_bytes(p) <= 4096, "an idle peer takes " + std::to_string(sim[h].end.memory_bytes(p)) + " bytes; " + where);
        }
    }
    return "";
}

std::string random_runs()
{
    const char *n = std::getenv("UDP_SEEDS");
    const uint64_t seeds = n ? std::strtoull(n, nullptr, 0) : 1500;
    for (uint64_t i = 0; i < seeds; ++i) {
        std::string why = one_run(wan_test::test_seed() + i);
        if (!why.empty())
            return why;
    }
    std::printf("%llu networks\n", static_cast<unsigned long long>(seeds));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test_prestate(wan_test::test<random_runs>, nullptr),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
