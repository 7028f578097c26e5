/*
 * The search for the largest datagram that a path carries, alone.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "path_mtu.hpp"

#include "unit.hpp"

#include <random>

using namespace udp;

namespace {

std::string path_mtu_search()
{
    // Any true width is found to within a step; never exceeded when probes are lost by chance as well.
    std::mt19937_64 r(wan_test::test_seed());
    for (int round = 0; round < 500; ++round) {
        const uint32_t most = 1300 + static_cast<uint32_t>(r() % 64000), width = 1200 + static_cast<uint32_t>(r() % (most - 1199));
        path_mtu m(548, 1200, most);
        time_ns now = 0;
        int probes = 0;
        while (const uint32_t p = m.wants(now)) {
            WAN_CHECK(p > m.value() && p <= most && ++probes < 200);
            m.sent(now, p);
            WAN_CHECK(m.wants(now) == 0);
            if (p <= width && (round % 2 || r() % 20))
                m.arrived(now, p);
            else
                m.lost(now, p);
            now += ms;
        }
        WAN_CHECK_THAT(m.value() <= width, "too large");
        WAN_CHECK_THAT(m.value() + path_mtu::step >= width || round % 2 == 0, std::to_string(m.value()) + " of " + std::to_string(width));
        if (m.value() > 1200) {
            for (unsigned i = 0; i < path_mtu::narrow; ++i) {
                WAN_CHECK(m.value() > 1200);
                m.fared(now, m.value(), now + i, false);
                m.fared(now, 100, now + 50, true);     // small ones prove nothing
            }
            WAN_CHECK(m.value() == 1200);
        }
    }
    // A queue that overflows: many in a row are lost, but one that left later arrives.
    path_mtu queue(548, 1200, 1472);
    queue.sent(0, 1472);
    queue.arrived(1, 1472);
    queue.fared(200, 1472, 150, true);
    for (unsigned i = 0; i < 50; ++i)
        queue.fared(200, 1472, 100 + i, false);
    WAN_CHECK(queue.value() == 1472);
    path_mtu exact(548, 1200, 1472);
    exact.sent(0, exact.wants(0));
    exact.arrived(1, 1472);
    WAN_CHECK(exact.value() == 1472 && exact.wants(1000 * second) == 0);
    return "";
}

/** What becomes of a size on a path of `width`; whoever loses many in a row there falls back. */
void meet(path_mtu &m, uint32_t bytes, uint32_t width, time_ns at) { m.fared(at, bytes, at, bytes <= width); }

std::string path_mtu_narrow()
{
    // Where not even what nearly every path carries arrives, the search begins below it.
    std::mt19937_64 r(wan_test::test_seed());
    for (int round = 0; round < 500; ++round) {
        const uint32_t width = 548 + static_cast<uint32_t>(r() % 652);
        path_mtu m(548, 1200, 1472);
        time_ns now = 0;
        // Messages of any size that the path does not carry are a reason, too, with smaller ones in between that it does.
        const uint32_t bytes = round % 2 ? 1200 : width + 1 + static_cast<uint32_t>(r() % (1200 - width));
        for (unsigned i = 0; i < path_mtu::narrow; ++i, now += ms) {
            WAN_CHECK(m.value() == 1200);
            meet(m, bytes, width, now);
            meet(m, width, width, now);
        }
        WAN_CHECK_THAT(m.value() == 548, std::to_string(m.value()) + " on a path of " + std::to_string(width));
        int probes = 0;
        for (uint32_t p; (p = m.wants(now)) != 0 && ++probes < 60; now += ms) {
            m.sent(now, p);
            if (p <= width)
                m.arrived(now, p);
            else
                m.lost(now, p);
        }
        WAN_CHECK_THAT(m.value() <= width && m.value() + path_mtu::step >= width && probes < 60, std::to_string(m.value()) + " of " + std::to_string(width));
        for (unsigned i = 0; i < 100; ++i, now += ms)
            meet(m, m.value(), width, now);
        WAN_CHECK(m.value() + path_mtu::step >= width);
    }
    // Nobody answers for a while: that says nothing of small ones.
    path_mtu dark(548, 1200, 1472);
    for (int i = 0; i < 50; ++i)
        dark.silent(i);
    WAN_CHECK(dark.value() == 1200);
    // Then a small one is the first that does: also nothing, without any large one that did not.
    dark.only_small(60);
    WAN_CHECK(dark.value() == 1200);
    for (unsigned i = 0; i < path_mtu::tries; ++i)
        dark.fared(70, 1200, 61 + i, false);
    dark.only_small(71);
    WAN_CHECK(dark.value() == 548 && dark.wants(72) == 1472);      // it may have been chance: all sizes are tried
    // Random loss of one in five: it takes more than that.
    path_mtu unlucky(548, 1200, 1200);
    for (int i = 0; i < 20000; ++i)
        unlucky.fared(i, 1200, i, r() % 5 != 0);
    WAN_CHECK(unlucky.value() == 1200);
    // A device that refuses: its size is found in few probes, and the verdict on a refused probe changes nothing more.
    for (const uint32_t width : {600u, 1000u, 1472u, 8972u}) {
        path_mtu refused(548, 1200, 65507);
        if (width < 1200) {
            refused.refused(0, 1200);
            WAN_CHECK(refused.value() == 548 && refused.base() == 548);
        }
        int probes = 0;
        time_ns now = 0;
        for (uint32_t p; (p = refused.wants(now)) != 0 && ++probes < 60; ++now) {
            refused.sent(now, p);
            if (p > width) {
                refused.refused(now, p);
                refused.lost(now, p);
            } else {
                refused.arrived(now, p);
            }
        }
        WAN_CHECK_THAT(refused.value() <= width && refused.value() + path_mtu::step >= width && probes < 60, std::to_string(refused.value()) + " of " + std::to_string(width) + ", probes: " + std::to_string(probes));
    }
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(path_mtu_search), TEST(path_mtu_narrow)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
