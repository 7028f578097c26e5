/*
 * Where datagrams go when a peer's address has changed, by its own doing (NAT) or somebody else's: a genuine datagram that is
 * delivered from elsewhere moves its peer there, and if both are moved so, each talks to nobody.  Then every
 * fourth try goes where the peer said it would be.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "simulator.hpp"

#include "unit.hpp"

using namespace udp_test;

namespace {

address at_host(uint32_t n)
{
    address a;
    a.length = 4;
    std::memcpy(a.bytes, &n, 4);
    return a;
}

constexpr uint32_t nowhere = 77, elsewhere = 99;

config form(bool strict)
{
    config c;
    c.strict = strict;
    return c;
}

/** Where the datagram goes that host `from` has made last. */
address goes_to(simulator &sim, uint32_t from, uint32_t to) { return sim[from].end.to(sim[from].peer_of[to]); }

/** Somebody on the path delivers one datagram of each from an address where nobody is. */
std::string by_somebody_else(bool strict)
{
    simulator sim(form(strict), 2, 5);
    bool redirected[2] = {};
    unsigned wrong_way[2] = {}, home_way[2] = {}, before = 0;
    sim.tap = [&](uint32_t from, uint32_t to, std::vector<uint8_t> &d) {
        const bool home = goes_to(sim, from, to) == at_host(to);
        if (sim.now < second) {
            before += !home;
            return false;
        }
        if (!redirected[from]) {
            redirected[from] = true;
            std::vector<uint8_t> copy = d;
            sim[to].end.receive(at_host(nowhere), copy, sim.now);
            return true;
        }
        if (!redirected[to])
            return true;        // a later one would move it back
        ++(home ? home_way : wrong_way)[from];
        return !home;
    };
    for (uint32_t h = 0; h < 2; ++h) {
        sim.at(ms, [&sim, h] { sim[h].send(1 - h, 2, 5000); });
        // More of it than goes in one datagram: something stays to be asked for.
        sim.at(second, [&sim, h] { sim[h].send(1 - h, 2, 50000); });
    }
    WAN_CHECK_THAT(sim.run(60 * second), "after a minute " + std::to_string(sim[0].delivered) + " and " + std::to_string(sim[1].delivered) + " of 2 blocks were there, strict "
                                             + std::to_string(strict));
    WAN_CHECK(sim[0].wrong.empty() && sim[1].wrong.empty() && sim[0].delivered == 2 && sim[1].delivered == 2);
    WAN_CHECK_THAT(before == 0 && redirected[0] && redirected[1] && wrong_way[0] + wrong_way[1] > 0, std::to_string(before));
    std::printf("strict %d: both moved to nowhere, found again after %.2f s; to nowhere %u and %u, to where they are %u and %u\n", strict,
                static_cast<double>(sim.now) / second - 1, wrong_way[0], wrong_way[1], home_way[0], home_way[1]);
    return "";
}

/** One is somewhere else from some time on, and where it was nobody is. */
std::string by_itself(bool strict)
{
    simulator sim(form(strict), 2, 5);
    unsigned home_way = 0;
    bool heard = false;
    sim.tap = [&](uint32_t from, uint32_t to, std::vector<uint8_t> &d) {
        if (sim.now < second)
            return false;
        if (from == 1) {
            heard = true;
            sim[to].end.receive(at_host(elsewhere), d, sim.now);
            return true;
        }
        const bool home = goes_to(sim, from, to) == at_host(to);
        home_way += heard && home;
        return home;
    };
    sim.at(ms, [&] { sim[0].send(1, 2, 5000); });
    sim.at(second, [&] { sim[1].send(0, 2, 50000); });
    sim.at(second + 100 * ms, [&] { sim[0].send(1, 2, 50000); });
    WAN_CHECK_THAT(sim.run(60 * second) && sim[0].delivered == 1 && sim[1].delivered == 2, "strict " + std::to_string(strict));
    WAN_CHECK_THAT(home_way == 0 && sim[0].end.count().moves == 1, std::to_string(home_way) + " to where it was");
    return "";
}

std::string moved()
{
    for (const bool strict : {false, true})
        for (const auto &test : {by_somebody_else, by_itself})
            if (std::string why = test(strict); !why.empty())
                return why;
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test_prestate(wan_test::test<moved>, nullptr)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
