/*
 * Fuzzing of permission: many senders to one receiver behind a shallow queue.  One
 * input is a play: a setting, then steps: blocks in both directions, time that passes,
 * datagrams lost and repeated, priorities, windows, peers that leave in the middle, one
 * that went mad and demands, sends and acknowledges what it likes, under its own seal.
 * Then the network is honest: whatever the play did, those who stayed must get
 * everything across, and everybody comes to rest.
 *
 *   test/udp/libfuzzer; or WAN_TEST_SEED=n UDP_FUZZ=100000 fuzz_crowd
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "endpoint.hpp"

#include "fuzz.hpp"

#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

using namespace udp;
using udp_test::broken, udp_test::reader;

namespace {

constexpr uint32_t senders_most = 6;

struct member : udp_test::fuzzed {
    using fuzzed::fuzzed;
    void deliver(uint32_t peer, uint8_t, uint8_t, std::span<const uint8_t>) override { ++delivered[peer]; }
    void dead(uint32_t) override { broken("a peer was taken for dead"); }
    void send(uint32_t peer, uint8_t stream, uint32_t length, time_ns now)
    {
        ++submitted[peer];
        fuzzed::send(peer, stream, length, now);
    }
    std::map<uint32_t, unsigned> submitted, delivered;      // by peer
    bool gone = false;
};

/** Host 0 receives; of it, peer k is host k + 1; of all others it is peer 0. */
class crowd {
public:
    crowd(const config &c, uint32_t senders, bool far_one) : c_(c), senders_(senders), far_(far_one)
    {
        address at;
        at.length = 1;
        for (uint32_t h = 0; h <= senders; ++h)
            host_.push_back(std::make_unique<member>(c, h));
        for (uint32_t h = 1; h <= senders; ++h) {
            const pair_keys keys{{}, {}, h};
            host_[0]->end.peer_add(h, keys, at);
            host_[h]->end.peer_add(0, keys, at);
        }
    }

    member &operator[](uint32_t h) { return *host_[h]; }
    time_ns now = 1;
    unsigned lose = 0, repeat = 0;      // of the datagrams that leave next

    void leave(uint32_t h)
    {
        member &m = *host_[h];
        if (m.gone)
            return;
        m.gone = true;
        m.end.farewell(now);
        drain();
        m.end.abandon();
        drain();
    }
    /** Until then, or until nothing is left to happen. */
    void run(time_ns until)
    {
        for (unsigned events = 0;; ++events) {
            if (events > 2'000'000)
                broken("it does not come to rest");
            drain();
            time_ns next = wire_.empty() ? never : wire_.top().at;
            for (auto &m : host_)
                if (!m->gone)
                    next = std::min(next, std::max(m->end.deadline(now), now + 1));
            if (next > until)
                break;
            now = std::max(now, next);
            while (!wire_.empty() && wire_.top().at <= now) {
                datagram d = wire_.top();
                wire_.pop();
                arrive(d);
            }
        }
        now = std::max(now, until);
    }
    bool settled()
    {
        for (uint32_t h = 1; h <= senders_; ++h)
            if (!host_[h]->gone && (!host_[h]->flying.empty() || host_[0]->delivered[h - 1] != host_[h]->submitted[0]
                                    || host_[h]->delivered[0] != host_[0]->submitted[h - 1]))
                return false;
        return true;
    }
    void check_memory()
    {
        for (uint32_t p = 0; p < senders_; ++p)
            if (host_[0]->end.memory_bytes(p) > 8'000'000)
                broken("memory grows");
    }

private:
    struct datagram {
        time_ns at;
        uint64_t serial;
        uint32_t from, to;
        bool queued;
        std::vector<uint8_t> bytes;
        bool operator<(const datagram &o) const { return at != o.at ? at > o.at : serial > o.serial; }
    };

    void drain()
    {
        for (uint32_t h = 0; h <= senders_; ++h) {
            uint8_t b[endpoint::datagram_room];
            uint32_t peer;
            for (unsigned pass = 0; const size_t n = host_[h]->end.transmit(b, peer, now); ++pass) {
                if (pass > 20000)
                    broken("transmit does not end");
                if (!wire::well_formed({b + wire::header_bytes, n - wire::header_bytes}))
                    broken("a malformed datagram was sent");
                if (lose) {
                    --lose;
                    continue;
                }
                const uint32_t to = h ? 0 : peer + 1;
                for (int copies = repeat ? --repeat, 2 : 1; copies--;)
                    wire_.push({now + (far_ && (h == 1 || to == 1) ? 10 * ms : 50 * us), ++serial_, h, to, false, {b, b + n}});
            }
        }
    }
    void arrive(datagram &d)
    {
        constexpr double rate = 25e6, queue = 48000;    // bytes/s, bytes
        if (d.to == 0 && !d.queued) {
            const time_ns start = std::max(now, busy_until_);
            if (static_cast<double>(start - now) * rate / second + static_cast<double>(d.bytes.size()) > queue)
                return;
            d.at = busy_until_ = start + static_cast<time_ns>(static_cast<double>(d.bytes.size()) * second / rate);
            d.queued = true;
            wire_.push(std::move(d));
            return;
        }
        address at;
        at.length = 1;
        if (!host_[d.to]->gone)
            host_[d.to]->end.receive(at, d.bytes, now);
    }

    config c_;
    uint32_t senders_;
    bool far_;
    std::vector<std::unique_ptr<member>> host_;
    std::priority_queue<datagram> wire_;
    uint64_t serial_ = 0;
    time_ns busy_until_ = 0;
};

/** One frame that a peer which went mad could send. */
size_t mad_frame(reader &in, uint8_t *to)
{
    static const uint8_t text[256] = {};
    wire::frame f;
    switch (in.byte() % 4) {
    case 0:
        f.what = wire::kind::demand;
        f.amount = uint64_t(in.number()) << (in.byte() & 47);
        break;
    case 1:
        f.what = wire::kind::data;
        f.stream = static_cast<uint8_t>(in.byte() % 3);
        f.block = in.byte();
        f.payload = {text, 1 + in.byte() / 2u};
        f.total = static_cast<uint32_t>(f.payload.size()) + in.number();
        break;
    case 2:
        f.what = wire::kind::ack;
        f.largest = in.byte();
        f.amount = uint64_t(in.number()) << (in.byte() & 31);
        break;
    default:
        f.what = wire::kind::request;
        f.amount = uint64_t(in.number()) << (in.byte() & 47);
    }
    return wire::put_frame(to, f);
}

void play(const uint8_t *p, size_t n)
{
    reader in(p, n);
    config c;
    const uint8_t how = in.byte(), size = in.byte();
    c.ordered = how & 1;
    c.strict = (how & 6) == 6;
    c.unscheduled = how & 8 ? 64 << 10 : 2000;
    c.incast = (how >> 4 & 3) == 3 ? 1 : uint64_t(how >> 4 & 3) * 20'000;
    c.control = static_cast<controller>(how >> 6);
    c.senders = size & 8 ? 31 : 1;
    c.window = size & 16 ? 4 << 20 : 200'000;
    c.block_max = 60'000;
    c.mtu_max = 1472;
    const uint32_t senders = 2 + (size & 7) % (senders_most - 1), mad = senders;    // the last one
    crowd net(c, senders, size & 32);
    const bool has_mad = size & 64;
    net[mad].gone = has_mad;
    uint64_t number = 0;
    unsigned blocks = 0;
    for (unsigned steps = 0; !in.empty() && steps < 200; ++steps) {
        const uint8_t op = in.byte();
        const uint32_t who = 1 + (op >> 4) % senders;
        switch (op & 15) {
        case 0: case 1: case 2: case 3:
            if (!net[who].gone && blocks++ < 60)
                net[who].send(0, static_cast<uint8_t>((op & 3) % 3), in.number() % 60'000, net.now);
            break;
        case 4:
            if (!net[who].gone && blocks++ < 60)
                net[0].send(who - 1, static_cast<uint8_t>(in.byte() % 3), in.number() % 20'000, net.now);
            break;
        case 5: case 6: net.run(net.now + (in.byte() + 1) * 20 * us); break;
        case 7: net.run(net.now + (in.byte() + 1) * 5 * ms); break;
        case 8: net.lose = in.byte() % 64; break;
        case 9: net.repeat = in.byte() % 16; break;
        case 10: net[0].end.priority_set(who - 1, in.byte() % 8); break;
        case 11: net[0].end.window_set(who - 1, in.number() * 16u); break;
        case 12:
            if (in.byte() % 4 == 0)
                net.leave(who);
            break;
        case 13: (void) net[who].end.push(0, net.now); break;
        default:
            if (has_mad) {
                std::vector<uint8_t> d(wire::header_bytes + 4 * 300);
                wire::put_header(d.data(), {wire::security::off, 0, mad, mad, number += 1 + in.byte() % 40u});
                size_t used = wire::header_bytes;
                for (unsigned frames = 1 + (op & 1); frames; --frames)
                    used += mad_frame(in, &d[used]);
                d.resize(used);
                address at;
                at.length = 1;
                net[0].end.receive(at, d, net.now);
            }
        }
        net.check_memory();
    }
    // The longest: a timeout that has grown to half a second, again and again for each part of a second's worth of bytes.
    net.lose = net.repeat = 0;
    for (int tens = 0; !net.settled(); ++tens) {
        if (tens == 30)
            broken("a sender waits for ever");
        net.run(net.now + 10 * second);
    }
    for (uint32_t h = 0; h <= senders; ++h) {
        net[h].end.abandon();
        uint8_t b[endpoint::datagram_room];
        uint32_t peer;
        while (net[h].end.transmit(b, peer, net.now)) {}
        if (!net[h].flying.empty())
            broken("a block was not freed");
    }
}

} // namespace

#ifndef UDP_LIBFUZZER

namespace {

/** A play from the generator: bytes of the lengths that the steps take. */
std::vector<uint8_t> one_play(std::mt19937_64 &r)
{
    std::vector<uint8_t> p{static_cast<uint8_t>(r()), static_cast<uint8_t>(r())};
    for (unsigned steps = 5 + static_cast<unsigned>(r() % 60); steps; --steps) {
        const uint8_t op = static_cast<uint8_t>(r());
        p.push_back(op);
        const unsigned more = (op & 15) <= 3 || (op & 15) == 11 ? 2 : (op & 15) == 4 ? 3 : (op & 15) == 13 ? 0 : (op & 15) >= 14 ? 6 : 1;
        for (unsigned i = 0; i < more; ++i)
            p.push_back(static_cast<uint8_t>(r()));
    }
    return p;
}

} // namespace

#endif

UDP_FUZZ_MAIN("seeds_crowd", 500)
