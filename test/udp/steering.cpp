/*
 * What an application may ask of the protocol, per peer: whether something would
 * leave at once, that what is unanswered be sent again, how much a peer may have
 * under way to us, and who comes first.  In the simulated network.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "simulator.hpp"

#include "unit.hpp"

using namespace udp_test;

namespace {

config usual()
{
    config c;
    c.mtu_max = 1472;
    c.ordered = false;
    return c;
}

uint32_t index_of(simulator &sim, uint32_t at, uint32_t of) { return sim[at].peer_of[of]; }

std::string would_leave_at_once()
{
    for (int strict = 0; strict < 2; ++strict) {
        config c = usual();
        c.strict = strict;
        if (strict)
            c.window = 64 << 10;
        simulator sim(c, 2, 3);
        sim.way.delay = 10 * ms;
        const uint32_t peer = index_of(sim, 0, 1);
        WAN_CHECK(sim[0].end.may_write(peer, 100) && sim[0].end.may_write(peer, 1ull << 40) && sim[0].end.may_write(peer, SIZE_MAX));
        for (int i = 0; i < 8; ++i)
            sim[0].send(1, 2, 60000);
        sim.at(5 * ms, [] {});
        sim.run(5 * ms);
        // What is under way fills the window; nothing more fits, however small.
        WAN_CHECK_THAT(!sim[0].end.may_write(peer, 10000) && !sim[0].end.may_write(peer, SIZE_MAX), "strict " + std::to_string(strict));
        WAN_CHECK(sim.run(10 * second));
        sim.at(sim.now + second, [] {});
        sim.run(sim.now + second);      // the last Acks
        WAN_CHECK_THAT(sim[0].end.may_write(peer, 10000) && sim[0].end.may_write(peer, 1ull << 40), "strict " + std::to_string(strict));
        WAN_CHECK(sim[0].wrong.empty() && sim[1].wrong.empty());
    }
    return "";
}

/** With a part of the window taken a little more fits, and the largest number does not pass for a little. */
std::string more_than_fits()
{
    simulator sim(usual(), 2, 3);
    sim.way.delay = 10 * ms;
    const uint32_t peer = index_of(sim, 0, 1);
    sim[0].send(1, 2, 5000);
    sim.run(5 * ms);
    WAN_CHECK(sim[0].end.may_write(peer, 100) && !sim[0].end.may_write(peer, 1ull << 40) && !sim[0].end.may_write(peer, SIZE_MAX));
    return "";
}

std::string pushed()
{
    for (int strict = 0; strict < 2; ++strict) {
        config c = usual();
        c.strict = strict;
        simulator sim(c, 2, 3);
        sim.way.delay = 10 * ms;
        const uint32_t peer = index_of(sim, 0, 1);
        sim.at(ms, [&] { sim[0].send(1, 2, 1000); });
        WAN_CHECK(sim.run(second));
        // Everything is lost from here on; five packets, then silence.
        sim.way.dark = true;
        const time_ns dark = sim.now;
        for (int i = 0; i < 5; ++i)
            sim[0].send(1, 2, 1000);
        sim.run(dark + 2 * ms);
        const uint64_t window = sim[0].end.view(peer).window, before = sim[0].end.view(peer).sent_again;
        WAN_CHECK_THAT(sim[0].end.push(peer, sim.now) == 0, "an Ack may still come: nothing is to be pushed");
        sim.run(dark + 23 * ms);        // a round trip, and no timeout yet
        sim.way.dark = false;
        const size_t n = sim[0].end.push(peer, sim.now);
        WAN_CHECK_THAT(n >= 4 && n <= 6, std::to_string(n));
        WAN_CHECK(sim.run(dark + 35 * ms) || sim[1].delivered == 6);
        WAN_CHECK_THAT(sim[1].delivered == 6, "strict " + std::to_string(strict) + ": " + std::to_string(sim[1].delivered) + " of 6 arrived in time");
        WAN_CHECK(sim.run(dark + 10 * second));
        const peer_view v = sim[0].end.view(peer);
        WAN_CHECK_THAT(v.sent_again > before && v.queue == 0 && (strict || v.window >= window), std::to_string(v.sent_again));
        WAN_CHECK(sim[0].freed == 6 && sim[0].lost == 0 && sim[0].wrong.empty() && sim[1].wrong.empty());
        WAN_CHECK(sim[0].end.push(peer, sim.now) == 0);
    }
    return "";
}

/** Calls push each ms until all is settled. */
struct pusher {
    simulator &sim;
    uint32_t peer;
    uint64_t calls = 0, pushed = 0;
    void operator()()
    {
        ++calls;
        pushed += sim[0].end.push(peer, sim.now);
        if (sim.queued)
            sim.at(sim.now + ms, [this] { (*this)(); });
    }
};

/** A program that polls with push while the path becomes slower: it ends, and does not flood. */
std::string pushed_while_the_delay_grows()
{
    for (int strict = 0; strict < 2; ++strict)
        for (int grown : {2, 5}) {
            const std::string which = "strict " + std::to_string(strict) + ", delay x " + std::to_string(grown);
            config c = usual();
            c.strict = strict;
            uint64_t needed = 0;
            for (const bool pushes : {false, true}) {
                simulator sim(c, 2, 3);
                sim.way.delay = 10 * ms;
                sim.at(ms, [&] { sim[0].send(1, 2, 100000); });
                WAN_CHECK(sim.run(2 * second));
                sim.way.delay = grown * 10 * ms;
                const uint64_t before = sim[0].datagrams_out;
                pusher p{sim, index_of(sim, 0, 1)};
                for (int i = 0; i < 40; ++i)
                    sim[0].send(1, 2, 50000);
                if (pushes)
                    sim.at(sim.now + ms, [&] { p(); });
                const time_ns start = sim.now;
                const bool all = sim.run(start + 30 * second);
                const uint64_t sent = sim[0].datagrams_out - before;
                std::printf("%s, %s: %.0f ms, %llu datagrams, %llu pushed in %llu calls\n", which.c_str(), pushes ? "push" : "no push",
                            static_cast<double>(sim.now - start) / 1e6, static_cast<unsigned long long>(sent),
                            static_cast<unsigned long long>(p.pushed), static_cast<unsigned long long>(p.calls));
                WAN_CHECK_THAT(all && sim[0].freed == 41 && sim[0].lost == 0 && sim[0].wrong.empty() && sim[1].wrong.empty(), which);
                if (!pushes)
                    needed = sent;
                WAN_CHECK_THAT(sent <= 3 * needed, which + ": " + std::to_string(sent) + " datagrams, " + std::to_string(needed) + " needed");
            }
        }
    return "";
}

/** push does not keep a peer alive that is silent. */
std::string pushed_to_the_dead()
{
    for (int strict = 0; strict < 2; ++strict) {
        config c = usual();
        c.strict = strict;
        c.dead = 2 * second;
        simulator sim(c, 2, 3);
        sim.at(ms, [&] { sim[0].send(1, 2, 1000); });
        WAN_CHECK(sim.run(second));
        sim.way.dark = true;
        pusher p{sim, index_of(sim, 0, 1)};
        for (int i = 0; i < 20; ++i)
            sim[0].send(1, 2, 60000);
        sim.at(sim.now + ms, [&] { p(); });
        sim.run(sim.now + 8 * second);
        WAN_CHECK_THAT(p.pushed > 0 && sim[0].deaths == 1 && sim[0].lost == 20 && sim[0].wrong.empty(), "strict " + std::to_string(strict));
    }
    return "";
}

/** Most bytes that were under way to host 1 while 0 sent 32 MB; 0: something went wrong. */
uint64_t most_under_way(uint64_t window, uint32_t block, unsigned blocks, bool strict)
{
    config c = usual();
    c.strict = strict;
    c.block_max = std::max<uint32_t>(block, 128 << 10);
    simulator sim(c, 2, 3);
    sim.way.delay = 10 * ms;
    sim[1].rate = 1e9 / 8;
    if (window)
        sim[1].end.window_set(index_of(sim, 1, 0), window);
    for (unsigned i = 0; i < blocks; ++i)
        sim[0].send(1, i % 7 == 6 ? 1 : 2, block);
    uint64_t most = 0;
    for (int k = 1; k <= 20000; ++k)
        sim.at(k * 100 * us, [&] { most = std::max(most, sim[0].end.view(index_of(sim, 0, 1)).under_way); });
    const bool all = sim.run(60 * second);
    return all && sim[1].delivered == blocks && sim[1].wrong.empty() && sim[0].wrong.empty() ? most : 0;
}

std::string window_of_a_peer()
{
    const uint64_t free = most_under_way(0, 128 << 10, 256, false);
    const uint64_t bound = most_under_way(600 << 10, 128 << 10, 256, false);
    std::printf("most under way: %.0f KB, with a window of 600 KB %.0f\n", static_cast<double>(free) / 1e3, static_cast<double>(bound) / 1e3);
    WAN_CHECK_THAT(free > 1500 << 10 && bound > 300 << 10 && bound < 640 << 10, std::to_string(free) + " " + std::to_string(bound));
    // More than btl_udp_window is as much as that, and stops nobody.
    const uint64_t endless = most_under_way(SIZE_MAX, 128 << 10, 256, false);
    WAN_CHECK_THAT(endless == free && most_under_way(SIZE_MAX, 128 << 10, 256, true) != 0, std::to_string(endless));
    // Windows too small for the blocks do not stop them.
    for (uint32_t block : {100u, 70000u, 1u << 20})
        for (bool strict : {false, true})
            WAN_CHECK_THAT(most_under_way(1, block, 20, strict) != 0, "blocks of " + std::to_string(block) + ", strict " + std::to_string(strict));
    return "";
}

/** Hosts 1, 2, 3 send 1 MB each at once through one queue: who has permission first. */
std::string first_come()
{
    for (int preferred = 0; preferred < 2; ++preferred) {
        config c = usual();
        c.unscheduled = 16 << 10;
        simulator sim(c, 4, 3);
        sim.way.delay = 1 * ms;
        sim[0].rate = 100e6 / 8;
        sim[0].queue_limit = 64 << 10;
        if (preferred)
            sim[0].end.priority_set(index_of(sim, 0, 3), 1);
        std::map<uint32_t, time_ns> last;
        sim[0].on_deliver = [&](uint32_t from, std::span<const uint8_t>) { last[from] = sim.now; };
        for (uint32_t h = 1; h < 4; ++h)
            for (int i = 0; i < 16; ++i)
                sim[h].send(0, 2, 65536);
        WAN_CHECK(sim.run(20 * second) && sim[0].wrong.empty());
        // Host 1 asked while nobody else did, and was permitted all.
        std::printf("1 MB each, ms: %.0f, %.0f, %.0f%s\n", static_cast<double>(last[1]) / 1e6, static_cast<double>(last[2]) / 1e6,
                    static_cast<double>(last[3]) / 1e6, preferred ? " (preferred)" : "");
        WAN_CHECK_THAT(preferred ? last[3] + 50 * ms < last[2] : std::abs(last[2] - last[3]) < 50 * ms, std::to_string(last[2]) + " " + std::to_string(last[3]));
    }
    return "";
}

std::string turns_at_the_sender()
{
    // The same blocks to 1, 2, 3; the datagrams to the preferred one are the first to leave.
    for (int level = 0; level < 3; ++level) {
        simulator sim(usual(), 4, 3);
        std::vector<uint32_t> order;
        sim.tap = [&](uint32_t from, uint32_t to, std::vector<uint8_t> &) {
            if (from == 0)
                order.push_back(to);
            return false;
        };
        if (level)
            sim[0].end.priority_set(index_of(sim, 0, 3), 2);
        if (level == 2) {
            sim[0].end.priority_set(index_of(sim, 0, 2), 3);
            sim[0].end.priority_set(index_of(sim, 0, 1), 1);
            sim[0].end.priority_set(index_of(sim, 0, 1), 0);
        }
        for (uint32_t h = 1; h < 4; ++h)
            sim[0].send(h, 2, 10000);
        WAN_CHECK(sim.run(second) && order.size() >= 6);
        const uint32_t first = level == 0 ? 1 : level == 1 ? 3 : 2;
        WAN_CHECK_THAT(order[0] == first && order[1] == first, std::to_string(level) + ": " + std::to_string(order[0]));
        if (level == 2) {
            const auto third = std::find(order.begin(), order.end(), 3u), last = std::find(order.begin(), order.end(), 1u);
            WAN_CHECK(third < last);
        }
    }
    return "";
}

/** Peers have their turn after so many datagrams to one of them; one with a priority has all it wants before. */
std::string turns()
{
    for (const bool priority : {false, true}) {
        config c;
        c.retransmit_pass = 3;
        c.unscheduled = 1 << 20;
        simulator sim(c, 4, 3);
        std::vector<uint32_t> order;
        sim.tap = [&](uint32_t from, uint32_t to, std::vector<uint8_t> &) {
            if (from == 0 && sim.now < ms)
                order.push_back(to);
            return false;
        };
        if (priority)
            sim[0].end.priority_set(index_of(sim, 0, 3), 1);
        for (uint32_t to = 1; to < 4; ++to)
            sim[0].send(to, 2, 10'000);      // a first window has it: 9 datagrams
        sim.run(10 * second);
        std::string text;
        for (const uint32_t to : order)
            text += std::to_string(to);
        WAN_CHECK_THAT(order.size() == 27, text);
        if (priority)
            WAN_CHECK_THAT(text.starts_with("333333333"), text);
        else
            for (size_t i = 0; i < order.size(); i += 9) {      // three of each in every round
                std::sort(&order[i], &order[i] + 9);
                WAN_CHECK_THAT(std::equal(&order[i], &order[i] + 9, std::begin({1u, 1u, 1u, 2u, 2u, 2u, 3u, 3u, 3u})), text);
            }
    }
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(would_leave_at_once), TEST(more_than_fits), TEST(pushed), TEST(pushed_while_the_delay_grows), TEST(pushed_to_the_dead),
                                TEST(window_of_a_peer), TEST(first_come), TEST(turns_at_the_sender), TEST(turns)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
