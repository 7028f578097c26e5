/*
 * Fuzzing of the wire parser and of both state machines.  One input is a play: the
 * first bytes choose a setting, then come steps: frames of the input handed in as a
 * genuine datagram (what a peer that went mad could send), datagrams of raw bytes,
 * blocks to send, time that passes, datagrams that two honest sides exchange.
 * Nothing may crash, every block is freed once, and memory stays within the window.
 *
 * With clang, for as long as wanted, from the seeds in test/udp/seeds: test/udp/libfuzzer.
 * Otherwise a test: the seeds, then changes of them from a seed of the generator.
 *   WAN_TEST_SEED=n UDP_FUZZ=100000 fuzz
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "endpoint.hpp"

#include "fuzz.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace udp;
using udp_test::broken, udp_test::reader;

namespace {

struct side : udp_test::fuzzed {
    using fuzzed::fuzzed;
    void deliver(uint32_t, uint8_t, uint8_t, std::span<const uint8_t> b) override
    {
        for (uint8_t x : b)
            sum += x;
    }
    void dead(uint32_t) override {}
    uint64_t sum = 0, number = 0;
};

void play(const uint8_t *p, size_t n)
{
    reader in(p, n);
    config c;
    const uint8_t how = in.byte();
    c.strict = how & 1;
    c.ordered = how & 2;
    c.control = static_cast<controller>(how >> 2 & 3);
    c.dead = how & 16 ? 2 * second : never;
    c.unscheduled = how & 32 ? 500 : 20000;
    c.incast = how & 64 ? 5000 : 0;
    c.senders = how & 128 ? 31 : 1;
    c.window = 200'000;
    c.block_max = 50'000;
    c.mtu_start = 300;
    c.mtu_max = 1472;
    side s[2] = {{c, 0}, {c, 1}};
    address at;
    at.length = 1;
    const pair_keys keys{{}, {}, 5};
    s[0].end.peer_add(1, keys, at);
    s[1].end.peer_add(0, keys, at);
    time_ns now = 1;
    uint8_t b[endpoint::datagram_room];
    std::deque<std::pair<unsigned, std::vector<uint8_t>>> wire;
    for (unsigned steps = 0; !in.empty() && steps < 400; ++steps) {
        const uint8_t op = in.byte();
        const unsigned who = op >> 7;
        switch (op & 7) {
        case 0:
        case 1: {       // a genuine datagram with these frames
            const std::span<const uint8_t> frames = in.bytes(in.number() % 1400);
            std::vector<uint8_t> d(wire::header_bytes);
            s[who].number += 1 + (op >> 3 & 3);
            wire::put_header(d.data(), {wire::security::off, who, 1 - who, 5, s[who].number});
            d.insert(d.end(), frames.begin(), frames.end());
            s[who].end.receive(at, d, now);
            break;
        }
        case 2: {       // raw
            const std::span<const uint8_t> raw = in.bytes(in.byte());
            std::vector<uint8_t> d(raw.begin(), raw.end());
            s[who].end.receive(at, d, now);
            break;
        }
        case 3:
            if (s[who].flying.size() < 20)
                s[who].send(0, static_cast<uint8_t>((op >> 3 & 7) % 3), in.number() % 50'000, now);
            break;
        case 4:
            now += (in.byte() + 1) * (op & 8 ? 20 * ms : 20 * us);
            break;
        case 5:         // an honest datagram arrives, twice, or gets lost
            if (!wire.empty()) {
                auto [to, d] = wire.front();
                wire.pop_front();
                for (int copies = op >> 3 & 3; copies > 0; --copies) {
                    std::vector<uint8_t> copy = d;
                    s[to].end.receive(at, copy, now);
                }
            }
            break;
        default:
            break;
        }
        for (unsigned k = 0; k < 2; ++k) {
            uint32_t peer;
            for (unsigned pass = 0; const size_t bytes = s[k].end.transmit(b, peer, now); ++pass) {
                if (pass > 20000)
                    broken("transmit does not end");
                wire::header h;
                if (!wire::get_header({b, bytes}, h) || !wire::well_formed({b + wire::header_bytes, bytes - wire::header_bytes}))
                    broken("a malformed datagram was sent");
                if (wire.size() < 200)
                    wire.emplace_back(1 - k, std::vector<uint8_t>(b, b + bytes));
            }
            if (s[k].end.memory_bytes(0) > 4'000'000)
                broken("memory grows");
        }
    }
    for (side &x : s) {
        x.end.abandon();
        uint32_t peer;
        while (x.end.transmit(b, peer, now)) {}
        if (!x.flying.empty())
            broken("a block was not freed");
    }
}

} // namespace

#ifndef UDP_LIBFUZZER

namespace {

std::vector<uint8_t> one_frame(std::mt19937_64 &r)
{
    wire::frame f;
    static const uint8_t text[1300] = {};
    f.what = static_cast<wire::kind>(1 + r() % 10);
    f.stream = static_cast<uint8_t>(r() % 3);
    f.user = static_cast<uint8_t>(r());
    f.last = r() % 2;
    f.nack = r() % 2;
    f.block = static_cast<uint32_t>(r() % 4 ? r() % 8 : r());
    f.sequence = static_cast<uint32_t>(r() % 4 ? r() % 8 : r());
    f.window = static_cast<uint32_t>(r() % 3 ? r() % 100000 : r());
    f.amount = r() % 4 ? r() % 100000 : r();
    f.largest = r() % 4 ? r() % 30 : r();
    f.delay_us = static_cast<uint32_t>(r());
    f.words = static_cast<uint8_t>(r() % 17);
    for (uint64_t &w : f.received)
        w = r() & r();
    const size_t payload = r() % 300;
    f.payload = {text, f.what == wire::kind::data || f.what == wire::kind::packet || f.what == wire::kind::probe ? payload : 0};
    f.offset = static_cast<uint32_t>(r() % 3 ? 0 : r() % 1000);
    f.total = f.offset + static_cast<uint32_t>(payload) + static_cast<uint32_t>(r() % 3 ? 0 : r() % 60000);
    std::vector<uint8_t> b(wire::ack_bytes + 8 * wire::ack_words_max + payload);
    b.resize(wire::put_frame(b.data(), f));
    return b;
}

/** A play from the generator: mostly sensible steps. */
std::vector<uint8_t> one_play(std::mt19937_64 &r)
{
    std::vector<uint8_t> p{static_cast<uint8_t>(r())};
    for (unsigned steps = 5 + static_cast<unsigned>(r() % 60); steps; --steps) {
        const uint8_t op = static_cast<uint8_t>((r() & 0xf8) | r() % 6);
        p.push_back(op);
        if ((op & 7) <= 1) {
            std::vector<uint8_t> frames;
            for (unsigned k = 1 + static_cast<unsigned>(r() % 3); k; --k) {
                const std::vector<uint8_t> f = one_frame(r);
                frames.insert(frames.end(), f.begin(), f.end());
            }
            p.push_back(static_cast<uint8_t>(frames.size()));
            p.push_back(static_cast<uint8_t>(frames.size() >> 8));
            p.insert(p.end(), frames.begin(), frames.end());
        } else if ((op & 7) <= 4) {
            p.push_back(static_cast<uint8_t>(r()));
            p.push_back(static_cast<uint8_t>(r()));
        }
    }
    return p;
}

} // namespace

#endif

UDP_FUZZ_MAIN("seeds", 20000)
