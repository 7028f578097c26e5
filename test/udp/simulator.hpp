/*
 * A seeded network for endpoints: delay, loss, duplication, reordering, a rate with
 * a drop-tail queue before each host, blackouts, a largest datagram.  Time is a
 * number; nothing else is random but the seed.
 *
 * Every block carries where it is from, its stream and its index, and bytes that
 * follow from these; hosts check what they are handed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_UDP_SIMULATOR_HPP
#define TEST_UDP_SIMULATOR_HPP

#include "endpoint.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace udp_test {

using namespace udp;

struct path {
    time_ns delay = 5 * ms;         // one way
    double loss = 0, duplicate = 0, reorder = 0;
    time_ns late = 3 * ms;          // of a datagram that is overtaken
    uint32_t mtu = 65535;           // larger ones vanish
    bool dark = false;
};

class simulator;

class host : public events {
public:
    host(simulator &s, uint32_t id, const config &c);
    void deliver(uint32_t peer, uint8_t stream, uint8_t user, std::span<const uint8_t> block) override;
    void sent(uint32_t peer, outgoing &o, bool arrived) override;
    void unheard(uint32_t) override { ++unheard_of; }
    void dead(uint32_t) override { ++deaths; }
    void send(uint32_t to, uint8_t stream, uint32_t length);

    simulator &sim;
    uint32_t id;
    endpoint end;
    std::map<uint32_t, uint32_t> peer_of;       // host -> index
    std::vector<uint32_t> host_of;
    std::string wrong;
    uint64_t delivered = 0, delivered_bytes = 0, freed = 0, lost = 0, deaths = 0, unheard_of = 0;
    std::function<void(uint32_t, std::span<const uint8_t>)> on_deliver;
    time_ns last_delivery = 0;

    double rate = 0;                // bytes/s into this host; 0: unlimited
    double rate_out = 0;            // and out of it, in a queue that never overflows
    time_ns out_until = 0;
    time_ns away = 0;               // further from all others than the path says, one way
    time_ns turn = 0;               // its process has the core only at multiples of this; 0: always
    uint64_t queue_limit = ~uint64_t(0), queue_peak = 0, drops = 0;
    time_ns busy_until = 0;
    uint64_t datagrams_out = 0, bytes_out = 0;
    time_ns next_turn(time_ns t) const { return turn == 0 || t == never ? t : (t + turn - 1) / turn * turn; }

private:
    struct message {
        outgoing o;
        std::vector<uint8_t> bytes;
    };
    std::map<std::pair<uint32_t, uint8_t>, uint32_t> next_out_, next_in_;
    std::map<std::pair<uint32_t, uint8_t>, std::set<uint32_t>> early_;
    std::map<outgoing *, std::unique_ptr<message>> flying_;
    friend class simulator;
};

/** Bytes of block `index`: its identity, then what follows from it. */
inline std::vector<uint8_t> block_bytes(uint32_t from, uint8_t stream, uint32_t index, uint32_t length)
{
    std::vector<uint8_t> b(length);
    const uint32_t head[3] = {from, stream, index};
    uint64_t x = (uint64_t(from) << 40 ^ uint64_t(stream) << 32 ^ index) * 0x9e3779b97f4a7c15ull + length;
    for (uint32_t i = 0; i < length; ++i) {
        if (i < sizeof head) {
            b[i] = reinterpret_cast<const uint8_t *>(head)[i];
        } else {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            b[i] = static_cast<uint8_t>(x);
        }
    }
    return b;
}

/** As Open MPI has it: its messages come in any order, over Ethernet. */
inline config job_of_eight()
{
    config c;
    c.ordered = false;
    c.mtu_max = 1472;
    c.unscheduled = 64 << 10;
    c.senders = 7;
    return c;
}

class simulator {
public:
    /** star: all know host 0, and it knows all; otherwise everybody knows everybody. */
    simulator(const config &c, uint32_t hosts, uint64_t seed, bool star = false) : config_(c), random(seed)
    {
        for (uint32_t h = 0; h < hosts; ++h)
            host_.push_back(std::make_unique<host>(*this, h, c));
        std::vector<secret> secrets(hosts);
        for (uint32_t h = 0; h < hosts; ++h)
            secrets[h].fill(static_cast<uint8_t>(h + 1));
        for (uint32_t a = 0; a < hosts; ++a)
            for (uint32_t b = 0; b < hosts; ++b) {
                if (a == b || (star && a && b))
                    continue;
                address at;
                at.length = 4;
                std::memcpy(at.bytes, &b, 4);
                const uint32_t index = host_[a]->end.peer_add(b, pair_derive(secrets[a], a, secrets[b], b, {}), at);
                host_[a]->peer_of[b] = index;
                host_[a]->host_of.push_back(b);
            }
    }

    host &operator[](uint32_t h) { return *host_[h]; }
    /** Its endpoint goes; the simulation must not go on. */
    void forget(uint32_t h) { host_[h].reset(); }
    uint32_t size() const { return static_cast<uint32_t>(host_.size()); }

    /** Runs until `until` or until everything is delivered and freed. */
    bool run(time_ns until)
    {
        for (;;) {
            for (auto &h : host_)
                if (h->next_turn(now) == now)
                    drain(*h);
            if (done())
                return true;
            time_ns next = events_.empty() ? never : events_.top().at;
            for (auto &h : host_)
                next = std::min(next, h->next_turn(std::max(h->end.deadline(now), now + 1)));
            while (!timers_.empty() && timers_.begin()->first <= std::min(next, until)) {
                now = std::max(now, timers_.begin()->first);
                auto f = std::move(timers_.begin()->second);
                timers_.erase(timers_.begin());
                f();
                next = now;
            }
            if (next > until || next == never) {
                now = until;
                return done();
            }
            now = std::max(now, next);
            while (!events_.empty() && events_.top().at <= now) {
                event e = events_.top();
                events_.pop();
                arrive(e);
            }
        }
    }
    void at(time_ns t, std::function<void()> f) { timers_.emplace(t, std::move(f)); }
    bool done() const
    {
        return queued == 0 && timers_.empty();
    }

    const path &path_of(uint32_t, uint32_t) const { return way; }

    path way;
    time_ns now = 0;
    uint64_t queued = 0;        // blocks submitted and neither freed nor delivered: counted twice down
    config config_;
    std::mt19937_64 random;
    bool chance(double p) { return p > 0 && std::uniform_real_distribution<>(0, 1)(random) < p; }
    /** Every datagram passes here first; true: swallow it. */
    std::function<bool(uint32_t from, uint32_t to, std::vector<uint8_t> &)> tap;

    void inject(uint32_t from, uint32_t to, std::vector<uint8_t> bytes, time_ns when) { events_.push({when, ++serial_, from, to, true, std::move(bytes)}); }

private:
    struct event {
        time_ns at;
        uint64_t serial;
        uint32_t from, to;
        bool queued;        // has passed the queue before the host
        std::vector<uint8_t> bytes;
        bool operator<(const event &o) const { return at != o.at ? at > o.at : serial > o.serial; }
    };

    void drain(host &h)
    {
        static thread_local uint8_t buffer[endpoint::datagram_room];
        uint32_t peer;
        size_t n;
        unsigned pass = 0;
        // Who has the core only at times makes several passes then.
        for (time_ns t = now; (n = h.end.transmit(buffer, peer, t)) != 0 || (h.turn && h.end.deadline(t) <= t + 1 && t < now + us); t += n == 0) {
            if (n == 0)
                continue;
            const uint32_t to = h.host_of[peer];
            ++h.datagrams_out;
            h.bytes_out += n;
            std::vector<uint8_t> bytes(buffer, buffer + n);
            if (h.rate_out > 0)
                h.out_until = std::max(now, h.out_until) + static_cast<time_ns>(static_cast<double>(n) * second / h.rate_out);
            if (++pass > 100000)
                throw std::runtime_error("transmit does not end");
            if (tap && tap(h.id, to, bytes))
                continue;
            if (way.dark || n > way.mtu || chance(way.loss))
                continue;
            for (int copies = chance(way.duplicate) ? 2 : 1; copies--;)
                events_.push({std::max(now, h.out_until) + way.delay + h.away + host_[to]->away + (chance(way.reorder) ? 1 + static_cast<time_ns>(random() % static_cast<uint64_t>(way.late)) : 0),
                              ++serial_, h.id, to, false, bytes});
        }
    }
    void arrive(event &e)
    {
        host &h = *host_[e.to];
        if (!e.queued && h.rate > 0) {
            const time_ns start = std::max(now, h.busy_until);
            const uint64_t waiting = static_cast<uint64_t>(static_cast<double>(start - now) * h.rate / second);
            h.queue_peak = std::max(h.queue_peak, waiting);
            if (waiting + e.bytes.size() > h.queue_limit) {
                ++h.drops;
                return;
            }
            h.busy_until = start + static_cast<time_ns>(static_cast<double>(e.bytes.size()) * second / h.rate);
            e.at = h.busy_until;
            e.queued = true;
            events_.push(std::move(e));
            return;
        }
        if (h.next_turn(now) != now) {
            e.at = h.next_turn(now);
            e.queued = true;
            events_.push(std::move(e));
            return;
        }
        address from;
        from.length = 4;
        std::memcpy(from.bytes, &e.from, 4);
        h.end.receive(from, e.bytes, now);
    }

    std::vector<std::unique_ptr<host>> host_;
    std::priority_queue<event> events_;
    std::multimap<time_ns, std::function<void()>> timers_;
    uint64_t serial_ = 0;
    friend class host;
};

inline host::host(simulator &s, uint32_t i, const config &c) : sim(s), id(i), end(c, i, *this) {}

inline void host::send(uint32_t to, uint8_t stream, uint32_t length)
{
    // In strict mode all blocks to a peer are one stream.
    const uint8_t s = sim.config_.strict ? 0 : stream;
    auto m = std::make_unique<message>();
    m->bytes = block_bytes(id, s, next_out_[{to, s}]++, std::max<uint32_t>(length, 12));
    m->o.data = m->bytes.data();
    m->o.length = static_cast<uint32_t>(m->bytes.size());
    m->o.stream = stream;
    m->o.user = static_cast<uint8_t>(length);
    outgoing *const o = &m->o;
    flying_[o] = std::move(m);
    sim.queued += 2;
    end.submit(peer_of[to], *o, sim.now);
}

inline void host::sent(uint32_t, outgoing &o, bool arrived)
{
    const auto f = flying_.find(&o);
    if (f == flying_.end()) {
        wrong = "a block was freed twice";
        return;
    }
    std::fill(f->second->bytes.begin(), f->second->bytes.end(), 0xee);   // whoever still looks, fails
    flying_.erase(f);
    ++freed;
    lost += !arrived;
    --sim.queued;
}

inline void host::deliver(uint32_t peer, uint8_t, uint8_t user, std::span<const uint8_t> block)
{
    uint32_t head[3] = {};
    if (block.size() >= sizeof head)
        std::memcpy(head, block.data(), sizeof head);
    const uint32_t from = host_of[peer], index = head[2];
    const uint8_t stream = static_cast<uint8_t>(head[1]);
    if (head[0] != from)
        wrong = "a block of host " + std::to_string(head[0]) + " came from " + std::to_string(from);
    else if (block_bytes(from, stream, index, static_cast<uint32_t>(block.size())) != std::vector<uint8_t>(block.begin(), block.end()))
        wrong = "a block has changed";
    else if (block.size() > 12 && user != static_cast<uint8_t>(block.size()))
        wrong = "a block lost its user byte";
    uint32_t &next = next_in_[{from, stream}];
    auto &early = early_[{from, stream}];
    if (sim.config_.ordered || sim.config_.strict) {
        if (index != next)
            wrong = "block " + std::to_string(index) + " came when " + std::to_string(next) + " was due";
        next = index + 1;
    } else {
        if (index < next || !early.insert(index).second)
            wrong = "block " + std::to_string(index) + " came twice";
        while (early.erase(next))
            ++next;
    }
    ++delivered;
    delivered_bytes += block.size();
    last_delivery = sim.now;
    --sim.queued;
    if (on_deliver)
        on_deliver(from, block);
}

} // namespace udp_test

#endif
