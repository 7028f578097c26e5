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
            m.seen.mark(number);
        return whole;
    };
    constexpr uint32_t blocks = 300;
    for (uint32_t i = 0; i < blocks; ++i)
        taken += comes(i, 0, 1);
    WAN_CHECK_THAT(m.memory_bytes() < 2 * c.window + wire::streams * c.block_max, std::to_string(m.memory_bytes()));
    WAN_CHECK_THAT(taken >= wire::streams && taken < 8, std::to_string(taken));
    // Those that were taken end, and with each another one may begin.
    for (uint32_t i = 0; i < blocks; ++i)
        WAN_CHECK_THAT(comes(i, 0, 1) && comes(i, 1, bytes.size() - 1), std::to_string(i));
    WAN_CHECK_THAT(up.delivered == blocks, std::to_string(up.delivered));
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(far_behind), TEST(more_than_permitted)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
