/*
 * Fuzzing of seals and of peers that move.  One input is a play between two processes
 * with keys, of which one's address changes (NAT): blocks, time, datagrams that arrive,
 * get lost, come twice, come from elsewhere, are changed, cut, or kept and played again.
 * What was changed or has come before is refused, without an answer and without a trace; where a
 * peer is follows the newest genuine datagram and nothing else; and when the network is
 * honest again everything gets across.
 *
 *   test/udp/libfuzzer; or WAN_TEST_SEED=n UDP_FUZZ=100000 fuzz_seal
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "endpoint.hpp"

#include "fuzz.hpp"

#include <deque>
#include <set>
#include <string>
#include <vector>

using namespace udp;
using udp_test::broken, udp_test::reader;

namespace {

struct side : udp_test::fuzzed {
    using fuzzed::fuzzed;
    void deliver(uint32_t, uint8_t, uint8_t, std::span<const uint8_t>) override { ++delivered; }
    void dead(uint32_t) override { broken("a peer was taken for dead"); }
    unsigned delivered = 0, submitted = 0;
    uint64_t largest = 0;           // number of what came
    std::set<uint64_t> came;
    address other;                  // where it must believe its peer is
};

address place(unsigned port)
{
    address a;
    a.length = 2;
    a.bytes[0] = static_cast<uint8_t>(port);
    a.bytes[1] = static_cast<uint8_t>(port >> 8);
    return a;
}

class pair {
public:
    explicit pair(const config &c) : s_{{c, 0}, {c, 1}}
    {
        const secret a = {1}, b = {2};
        s_[0].end.peer_add(1, pair_derive(a, 0, b, 1, {}), at_[1]);
        s_[1].end.peer_add(0, pair_derive(b, 1, a, 0, {}), at_[0]);
        s_[0].other = at_[1];
        s_[1].other = at_[0];
    }

    struct datagram {
        unsigned to;
        address where;          // it was sent to
        std::vector<uint8_t> bytes;
    };
    void send(unsigned who, uint8_t stream, uint32_t length)
    {
        ++s_[who].submitted;
        s_[who].send(0, stream, length, now);
    }
    void move(unsigned port) { at_[1] = place(port); }
    address at(unsigned who) const { return at_[who]; }

    /** As it was sent, and so genuine: taken if it did not come before. */
    void arrive(const datagram &d, const address &from)
    {
        side &s = s_[d.to];
        wire::header h;
        if (!wire::get_header(d.bytes, h))
            broken("a datagram without a header was sent");
        const bool again = s.came.count(h.number) != 0;
        std::vector<uint8_t> copy = d.bytes;
        const bool taken = s.end.receive(from, copy, now);
        if (taken && again)
            broken("a replay was taken");
        if (!taken && !again && s.largest < h.number + 512)     // older ones may be refused
            broken("a genuine datagram was refused");
        if (taken) {
            s.came.insert(h.number);
            if (h.number > s.largest) {
                s.largest = h.number;
                s.other = from;
            }
        }
        look(s);
    }
    /** Not as any was sent: refused, and nothing changes. */
    void forged(unsigned to, std::vector<uint8_t> bytes, const address &from)
    {
        side &s = s_[to];
        const uint64_t received = s.end.count().received;
        const peer_view before = s.end.view(0);
        const size_t memory = s.end.memory_bytes(0);
        if (s.end.receive(from, bytes, now) || s.end.count().received != received)
            broken("a forgery was taken");
        const peer_view after = s.end.view(0);
        if (after.under_way != before.under_way || after.permitted != before.permitted || after.queue != before.queue || after.received != before.received
            || s.end.memory_bytes(0) != memory)
            broken("a forgery left a trace");
        look(s);
    }
    void drain()
    {
        uint8_t b[endpoint::datagram_room];
        for (unsigned k = 0; k < 2; ++k) {
            uint32_t peer;
            for (unsigned pass = 0; const size_t n = s_[k].end.transmit(b, peer, now); ++pass) {
                if (pass > 20000)
                    broken("transmit does not end");
                if (wire.size() < 400)
                    wire.push_back({1 - k, s_[k].end.to(0), {b, b + n}});
            }
        }
    }
    /** The network is honest: what goes to where somebody is arrives. */
    void end()
    {
        wire.clear();
        send(0, 1, 10);     // each is heard from its place
        send(1, 1, 10);
        for (const time_ns until = now + 300 * second; now < until && !(settled(0) && settled(1));) {
            drain();
            while (!wire.empty()) {
                const datagram d = wire.front();
                wire.pop_front();
                if (d.where == at_[d.to])
                    arrive(d, at_[1 - d.to]);
            }
            now = std::max(now + 20 * us, std::min({s_[0].end.deadline(now), s_[1].end.deadline(now), now + second}));
        }
        if (!settled(0) || !settled(1))
            broken("something never arrived");
    }
    bool few(unsigned who) const { return s_[who].flying.size() < 20; }

    time_ns now = 1;
    std::deque<datagram> wire;

private:
    void look(const side &s) const
    {
        if (!(s.end.where(0) == s.other))
            broken("a peer is not where its newest datagram came from");
    }
    bool settled(unsigned k) const { return s_[k].flying.empty() && s_[1 - k].delivered == s_[k].submitted; }

    address at_[2] = {place(1), place(2)};
    side s_[2];
};

void play(const uint8_t *p, size_t n)
{
    reader in(p, n);
    config c;
    const uint8_t how = in.byte();
    c.security = how & 1 ? wire::security::encrypt : wire::security::authenticate;
    c.strict = how & 2;
    c.ordered = how & 4;
    c.window = 200'000;
    c.block_max = 20'000;
    c.mtu_max = 1472;
    pair net(c);
    std::deque<pair::datagram> kept;
    for (unsigned steps = 0; !in.empty() && steps < 200; ++steps) {
        const uint8_t op = in.byte();
        const unsigned who = op >> 7;
        switch (op & 7) {
        case 0:
            if (net.few(who))
                net.send(who, static_cast<uint8_t>((op >> 3 & 7) % 3), in.number() % 20'000);
            break;
        case 1:
            net.now += (in.byte() + 1) * (op & 8 ? 20 * ms : 20 * us);
            break;
        case 2:
        case 3:         // arrives so often, or is lost; from elsewhere
            if (!net.wire.empty()) {
                const pair::datagram d = net.wire.front();
                net.wire.pop_front();
                kept.push_back(d);
                if (kept.size() > 64)
                    kept.pop_front();
                const address from = op & 32 ? place(100 + in.byte() % 8u) : net.at(1 - d.to);
                for (int copies = op >> 3 & 3; copies > 0; --copies)
                    net.arrive(d, from);
            }
            break;
        case 4:         // changed in one byte or two, or cut
        case 5: {
            const size_t all = kept.size() + net.wire.size();
            if (all == 0)
                break;
            const size_t which = in.byte() % all;
            pair::datagram d = which < kept.size() ? kept[which] : net.wire[which - kept.size()];
            const std::vector<uint8_t> genuine = d.bytes;
            for (unsigned k = 0; k < 1u + (op >> 3 & 1); ++k)
                d.bytes[in.number() % d.bytes.size()] ^= in.byte();
            if (op & 16)
                d.bytes.resize(in.number() % (d.bytes.size() + 1));
            if (d.bytes != genuine)
                net.forged(op & 32 ? 1 - d.to : d.to, d.bytes, place(100 + in.byte() % 8u));
            break;
        }
        case 6:         // kept, and played again
            if (!kept.empty())
                net.arrive(kept[in.byte() % kept.size()], place(100 + in.byte() % 8u));
            break;
        default:
            net.move(2 + in.byte() % 8u);
        }
        net.drain();
    }
    net.end();
}

} // namespace

#ifndef UDP_LIBFUZZER

namespace {

std::vector<uint8_t> one_play(std::mt19937_64 &r)
{
    std::vector<uint8_t> p{static_cast<uint8_t>(r())};
    for (unsigned steps = 5 + static_cast<unsigned>(r() % 60); steps; --steps) {
        const uint8_t op = static_cast<uint8_t>(r() % 3 ? (r() & 0xb8) | 2 : r());
        p.push_back(op);
        for (unsigned more = (op & 7) == 0 ? 2 : (op & 6) == 4 ? 5 : (op & 6) == 2 ? (op & 32 ? 1 : 0) : 1; more; --more)
            p.push_back(static_cast<uint8_t>(r()));
    }
    return p;
}

} // namespace

#endif

UDP_FUZZ_MAIN("seeds_seal", 300)
