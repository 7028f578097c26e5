/*
 * The rules of the Suci paper, one by one, as strict.hpp lists them: what a sender does with Acks (S1, S2) and Nacks (S3), what a
 * receiver answers to the next packet (R1), to one that has no room (R2), to an old one (R3) and behind a gap (R4), and the
 * window that each answer tells.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "strict.hpp"

#include "unit.hpp"

#include <vector>

using namespace udp;

namespace {

struct side : events {
    explicit side(const config &c) : permits(c), peer(0, c, *this, permits) {}
    void deliver(uint32_t, uint8_t, uint8_t, std::span<const uint8_t> b) override { delivered.push_back(b.size()); }
    void sent(uint32_t, outgoing &, bool) override { ++freed; }
    void dead(uint32_t) override {}

    void comes(const wire::frame &f)
    {
        std::vector<uint8_t> b(wire::packet_bytes + f.payload.size() + 64);
        peer.receive({b.data(), wire::put_frame(b.data(), f)}, ++number, now);
    }
    /** A packet; first: that of its block. */
    void packet(uint32_t sequence, uint32_t first, size_t bytes, bool last)
    {
        static const uint8_t text[2000] = {};
        wire::frame f;
        f.what = wire::kind::packet;
        f.sequence = sequence;
        f.block = first;
        f.last = last;
        f.window = 1 << 20;
        f.payload = {text, bytes};
        comes(f);
    }
    void answer(bool nack, uint32_t sequence, uint32_t window = 1 << 20)
    {
        wire::frame f;
        f.what = wire::kind::answer;
        f.nack = nack;
        f.sequence = sequence;
        f.window = window;
        comes(f);
    }
    /** What it sends now: "Ack 3 of 1000", "packet 7", one behind the other. */
    std::string says()
    {
        std::string all;
        uint8_t b[65536];
        uint64_t n;
        while (const size_t bytes = peer.transmit(b, n, now)) {
            std::span<const uint8_t> rest(b, bytes);
            wire::frame f;
            while (wire::get_frame(rest, f)) {
                all += all.empty() ? "" : ", ";
                if (f.what == wire::kind::answer)
                    all += (f.nack ? "Nack " : "Ack ") + std::to_string(static_cast<int32_t>(f.sequence)) + " of " + std::to_string(f.window);
                else if (f.what == wire::kind::packet)
                    all += "packet " + std::to_string(f.sequence);
                else
                    all += f.what == wire::kind::request ? "request" : "?";
            }
        }
        return all;
    }

    grants permits;
    strict peer;
    std::vector<size_t> delivered;
    unsigned freed = 0;
    uint64_t number = 0;
    time_ns now = second;
};

std::string differs(const std::string &is, const std::string &expected) { return is == expected ? "" : "'" + is + "', not '" + expected + "'"; }

#define SAYS(s, expected) \
    do { \
        const std::string why = differs((s).says(), expected); \
        WAN_CHECK_THAT(why.empty(), why); \
    } while (0)

config strict_config()
{
    config c;
    c.strict = true;
    c.window = 1000;
    return c;
}

std::string sender()
{
    config c = strict_config();
    c.window = 1 << 20;
    side s(c);
    const std::vector<uint8_t> data(100);
    std::vector<outgoing> blocks(9);
    for (outgoing &o : blocks) {
        o.data = data.data();
        o.length = static_cast<uint32_t>(data.size());
        s.peer.submit(o, s.now);
    }
    // S1: numbered one after the other, and kept.
    SAYS(s, "packet 0, packet 1, packet 2, packet 3, packet 4, packet 5, packet 6, packet 7, packet 8");
    WAN_CHECK(s.freed == 0 && s.peer.view().queue == 9);
    // S2: an Ack frees all up to its number; once.
    s.answer(false, 2);
    WAN_CHECK(s.freed == 3 && s.peer.view().queue == 6);
    s.answer(false, 1);
    WAN_CHECK(s.freed == 3);
    SAYS(s, "");
    // S3: a Nack frees what is before, and sends again from there on: all, in their order.
    s.answer(true, 5);
    WAN_CHECK(s.freed == 5 && s.peer.view().sent_again == 0);
    SAYS(s, "packet 5, packet 6, packet 7, packet 8");
    WAN_CHECK_THAT(s.peer.view().sent_again == 4, std::to_string(s.peer.view().sent_again));
    // No more than the window that the peer tells; one packet looks whether it has opened.
    s.answer(true, 5, 250);
    SAYS(s, "packet 5, packet 6");
    s.answer(true, 5, 0);
    SAYS(s, "packet 5");
    // Of what was never sent nothing is believed.
    s.answer(false, 20);
    s.answer(true, 20);
    WAN_CHECK(s.freed == 5);
    s.answer(false, 8);
    WAN_CHECK(s.freed == 9 && s.peer.idle());
    return "";
}

std::string receiver()
{
    const config c = strict_config();
    side s(c);
    // R1: the next one is taken and Acked; a block that is whole leaves all of the window.
    s.packet(0, 0, 100, true);
    SAYS(s, "Ack 0 of 1000");
    WAN_CHECK(s.delivered.size() == 1);
    // What waits for its block takes of the window.
    s.packet(1, 1, 600, false);
    SAYS(s, "Ack 1 of 400");
    // R2: no room: dropped and Nacked, each time; the next that fits is taken.
    for (int i = 0; i < 2; ++i) {
        s.packet(2, 1, 500, true);
        SAYS(s, "Nack 2 of 400");
    }
    WAN_CHECK(s.delivered.size() == 1);
    s.packet(2, 1, 300, true);
    SAYS(s, "Ack 2 of 1000");
    WAN_CHECK(s.delivered.size() == 2 && s.delivered[1] == 900);
    // R3: old ones are Acked again, each, by the number of the newest, and not handed up.
    for (const uint32_t old : {0u, 2u}) {
        s.packet(old, old, 100, true);
        SAYS(s, "Ack 2 of 1000");
    }
    WAN_CHECK(s.delivered.size() == 2);
    // R4: behind a gap: the missing one is Nacked once, and all are dropped until it comes.
    s.packet(5, 5, 100, true);
    SAYS(s, "Nack 3 of 1000");
    for (uint32_t later = 4; later < 9; ++later) {
        s.packet(later, later, 100, true);
        SAYS(s, "");
    }
    s.packet(3, 3, 100, true);
    SAYS(s, "Ack 3 of 1000");
    WAN_CHECK(s.delivered.size() == 3);
    // The next gap is Nacked again.
    s.packet(5, 5, 100, true);
    SAYS(s, "Nack 4 of 1000");
    // Several in one go, one Ack of the newest.
    s.packet(4, 4, 100, true);
    s.packet(5, 5, 100, true);
    s.packet(6, 6, 100, true);
    SAYS(s, "Ack 6 of 1000");
    WAN_CHECK(s.delivered.size() == 6);
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(sender), TEST(receiver)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
