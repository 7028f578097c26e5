/*
 * Forged, repeated, cut and changed datagrams in great number at one endpoint in
 * the middle of a transfer: nothing that can be looked at changes, no answer
 * leaves, no memory is taken, and those that a look at the header can tell do not get as far as the seal.
 *
 *   UDP_FORGED=10000000 forged      default 1,000,000, with WAN_TEST_LONG=1 ten times that; prints ns of CPU for each kind
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "endpoint.hpp"

#include "unit.hpp"

#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

using namespace udp;

namespace {

using datagram = std::vector<uint8_t>;

double cpu_ns()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

struct side : events {
    explicit side(const config &c, uint32_t id) : end(c, id, *this) {}
    void deliver(uint32_t, uint8_t, uint8_t, std::span<const uint8_t> b) override { delivered += b.size(); }
    void sent(uint32_t, outgoing &, bool) override { ++freed; }
    void dead(uint32_t) override { ++deaths; }
    time_ns unknown(uint32_t, time_ns now) override
    {
        ++asked;
        return now;
    }
    endpoint end;
    uint64_t delivered = 0, freed = 0, deaths = 0, asked = 0;
};

bool same(const peer_view &a, const peer_view &b) { return std::memcmp(&a, &b, sizeof a) == 0; }

address place(uint8_t n)
{
    address a;
    a.length = 1;
    a.bytes[0] = n;
    return a;
}

enum kind { random_bytes, wrong_token, repeated, ancient, changed, cut, longer, other_key, other_number, kinds };
const char *const names[kinds] = {"random", "token", "repeated", "ancient", "changed", "cut", "longer", "other key", "other number"};

std::string forged_in(wire::security mode)
{
    const char *text = std::getenv("UDP_FORGED");
    const uint64_t usual = std::getenv("WAN_TEST_LONG") ? 10'000'000 : 1'000'000;
    const uint64_t all = (text ? std::strtoull(text, nullptr, 0) : usual) / 2;
    config c;
    c.security = mode;
    c.mtu_max = 1472;
    c.ids = 4;
    c.unscheduled = 4 << 20;
    side a(c, 0), b(c, 1);
    secret s0, s1, s2;
    s0.fill(1), s1.fill(2), s2.fill(3);
    a.end.peer_add(1, pair_derive(s0, 0, s1, 1, {}), place(1), 1472);
    b.end.peer_add(0, pair_derive(s1, 1, s0, 0, {}), place(0), 1472);
    // Genuine traffic; the last datagrams are withheld, so that b is in the middle of blocks.
    std::vector<uint8_t> data(600'000, 7);
    std::vector<outgoing> blocks(8);
    std::vector<datagram> seen, held;
    time_ns now = 1;
    double genuine_ns = 0;
    uint64_t genuine = 0;
    for (outgoing &o : blocks) {
        o.data = data.data();
        o.length = static_cast<uint32_t>(data.size());
        a.end.submit(0, o, now);
    }
    uint8_t buffer[endpoint::datagram_room];
    uint32_t peer;
    while (a.end.view(0).queue > 1) {
        while (const size_t n = a.end.transmit(buffer, peer, now))
            held.emplace_back(buffer, buffer + n);
        std::vector<datagram> copies = held;
        const double began = cpu_ns();
        for (datagram &d : copies)
            WAN_CHECK(b.end.receive(place(0), d, now));
        genuine_ns += cpu_ns() - began;
        genuine += copies.size();
        seen.insert(seen.end(), held.begin(), held.end());
        held.clear();
        while (const size_t n = b.end.transmit(buffer, peer, now))
            WAN_CHECK(a.end.receive(place(1), {buffer, n}, now));
        WAN_CHECK(now < 100 * second);
        now += 1 * ms;
    }
    while (const size_t n = a.end.transmit(buffer, peer, now))
        held.emplace_back(buffer, buffer + n);
    WAN_CHECK_THAT(seen.size() > 2000 && !held.empty(), std::to_string(seen.size()) + " " + std::to_string(held.size()));

    const peer_view view = b.end.view(0);
    const size_t memory = b.end.memory_bytes(0);
    const endpoint::counters before = b.end.count();
    const uint64_t delivered = b.delivered;
    std::mt19937_64 r(wan_test::test_seed());
    seal stranger(pair_derive(s1, 1, s2, 2, {}).out);
    double spent[kinds] = {};
    uint64_t made[kinds] = {};
    constexpr size_t batch = 512;
    std::vector<datagram> wave(batch);
    for (uint64_t done = 0; done < all; done += batch) {
        const kind k = static_cast<kind>(done / batch % kinds);
        for (datagram &f : wave) {
            // Half of them from what never arrived: fresh numbers, so that only the seal can tell.
            const std::vector<datagram> &from = k == repeated || k == ancient ? seen : held;
            f = from[k == repeated ? from.size() - 1 - r() % 1000 : k == ancient ? r() % 1000 : r() % from.size()];
            switch (k) {
            case random_bytes:
                for (size_t i = 0; i < f.size(); i += 8) {
                    const uint64_t x = r();
                    std::memcpy(&f[i], &x, std::min<size_t>(8, f.size() - i));
                }
                break;
            case wrong_token: f[12 + r() % 4] ^= static_cast<uint8_t>(1 + r() % 255); break;
            case changed: f[wire::header_bytes + r() % (f.size() - wire::header_bytes)] ^= static_cast<uint8_t>(1 + r() % 255); break;
            case cut: f.resize(wire::header_bytes + wire::tag_bytes + r() % (f.size() - wire::header_bytes - wire::tag_bytes)); break;
            case longer: f.resize(f.size() + 1 + r() % 30); break;
            case other_key: {
                wire::header h;
                WAN_CHECK(wire::get_header(f, h));
                WAN_CHECK(stranger.close({f.data(), f.size() - wire::tag_bytes}, h));
                break;
            }
            case other_number: f[22 - r() % 4] ^= static_cast<uint8_t>(1 + r() % 255); break;
            default: break;
            }
        }
        uint64_t taken = 0;
        const double began = cpu_ns();
        for (datagram &f : wave)
            taken += b.end.receive(place(static_cast<uint8_t>(9 + k)), f, now);
        spent[k] += cpu_ns() - began;
        made[k] += batch;
        WAN_CHECK_THAT(taken == 0, names[k]);
        WAN_CHECK_THAT(b.end.transmit(buffer, peer, now) == 0, std::string("an answer to: ") + names[k]);
    }
    const endpoint::counters after = b.end.count();
    uint64_t total = 0;
    for (uint64_t n : made)
        total += n;
    WAN_CHECK(same(view, b.end.view(0)) && memory == b.end.memory_bytes(0) && delivered == b.delivered);
    WAN_CHECK(after.received == before.received && after.moves == before.moves && b.deaths == 0 && b.freed == 0);
    WAN_CHECK(after.strangers + after.replays + after.forgeries - before.strangers - before.replays - before.forgeries == total);
    WAN_CHECK_THAT(b.asked <= c.ids, "an id is asked for once");
    WAN_CHECK(after.replays - before.replays >= made[repeated] + made[ancient]);
    WAN_CHECK(after.strangers - before.strangers >= made[random_bytes] + made[wrong_token]);
    WAN_CHECK(b.end.where(0) == place(0));
    // What was withheld is still accepted: nobody has used up its numbers.
    for (datagram &d : held)
        WAN_CHECK(b.end.receive(place(0), d, now));
    for (int i = 0; i < 100 && a.end.view(0).queue; ++i, now += 1 * ms) {
        while (const size_t n = b.end.transmit(buffer, peer, now))
            a.end.receive(place(1), {buffer, n}, now);
        while (const size_t n = a.end.transmit(buffer, peer, now))
            b.end.receive(place(0), {buffer, n}, now);
    }
    WAN_CHECK(a.freed == blocks.size() && b.delivered == blocks.size() * data.size());

    std::printf("%s: %llu forged, CPU of each in ns (a genuine one: %.0f):", mode == wire::security::encrypt ? "encrypt" : "authenticate",
                static_cast<unsigned long long>(total), genuine_ns / static_cast<double>(genuine));
    for (int k = 0; k < kinds; ++k)
        std::printf(" %s %.0f", names[k], spent[k] / static_cast<double>(std::max<uint64_t>(made[k], 1)));
    std::printf("\n");
    return "";
}

std::string authenticated() { return forged_in(wire::security::authenticate); }
std::string encrypted() { return forged_in(wire::security::encrypt); }

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test_prestate(wan_test::test<authenticated>, nullptr),
        cmocka_unit_test_prestate(wan_test::test<encrypted>, nullptr),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
