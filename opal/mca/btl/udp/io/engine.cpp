/*
 * The other side of udp_core.h: one socket, one endpoint.
 *
 * Must not: print, throw to C.
 * Next: socket.hpp, devices.hpp, card.hpp, ../core/endpoint.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "udp_core.h"

#include "card.hpp"
#include "devices.hpp"
#include "socket.hpp"
#include "timer.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <utility>

using namespace udp;

static_assert(sizeof(outgoing) <= sizeof(udp_outgoing_t) && alignof(outgoing) <= alignof(udp_outgoing_t));

namespace {

time_ns clock_now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * second + t.tv_nsec;
}

void say(udp_message_t *m, std::string_view where, std::string_view what, std::string_view remedy)
{
    const auto put = [](char (&to)[256], std::string_view text) { to[text.copy(to, sizeof to - 1)] = '\0'; };
    put(m->where, where);
    put(m->what, what);
    put(m->remedy, remedy);
}

struct key_fault {
    std::string what, remedy;
};

/** A secret of 16 to 65536 bytes that not everybody may read and others may not write; or what is wrong with it. */
template <class Bytes> std::optional<key_fault> key_read(const char *file, Bytes &key)
{
    const std::string make = "make one with: head -c 32 /dev/urandom >FILE; chmod 600 FILE; and copy it to all hosts";
    struct stat s;
    if (::stat(file, &s) != 0)
        return key_fault{std::string("cannot be read: ") + std::strerror(errno), make};
    if (!S_ISREG(s.st_mode))        // opening a pipe would wait for who writes
        return key_fault{"is no regular file", make};
    if (s.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
        return key_fault{s.st_mode & S_IROTH ? "can be read by everybody" : "can be written by others", "chmod 600 " + std::string(file) + ", on all hosts"};
    errno = 0;
    std::ifstream f(file, std::ios::binary);
    if (!f)
        return key_fault{std::string("cannot be read: ") + std::strerror(errno), make};
    key.assign(std::istreambuf_iterator<char>(f), {});
    if (f.bad() || key.size() < 16 || key.size() > 65536)
        return key_fault{"has " + std::to_string(key.size()) + " bytes, and a key 16 to 65536", make};
    return std::nullopt;
}

void say_memory(udp_message_t *m) { say(m, "memory", "there is not enough", "run fewer processes on a host"); }

} // namespace

struct udp_engine : public udp::events {
    udp_events_t calls{};
    void *context = nullptr;
    config c;
    uint64_t id = 0, host = 0;
    int mode = 0, linger = 0;
    uint64_t buffer = 0;
    uint32_t mtu_local = 0;     // bytes of a datagram inside this host; 0: as elsewhere
    std::vector<uint8_t> shared;
    secret own{};
    devices here;
    udp::socket wire;
    udp::timer alarm;
    std::unique_ptr<endpoint> end;
    bool inside = false, closing = false;   // in a callback: what is sent leaves afterwards
    bool told_unheard = false;

    // Who submits without pause would leave Acks unread, and so stand still: the socket is read then, too.
    // Blocks that come wait for progress: a caller that sends expects no calls.
    static constexpr time_ns unread_most = 200 * us;
    static constexpr uint64_t early_most = 1 << 20;     // bytes
    struct block {
        uint32_t peer;
        uint8_t user;
        std::vector<uint8_t> bytes;
    };
    bool sending = false;
    time_ns read_at = 0;
    std::vector<block> early;
    uint64_t early_bytes = 0;

    // And who keeps the engine going in the caller's place calls nobody: all that there is to tell waits for progress.
    struct told {
        enum { sent, not_sent, unheard, dead } what;
        uint32_t peer;
        outgoing *o;
    };
    bool keeping = false;
    std::vector<told> untold;

    void deliver(uint32_t peer, uint8_t, uint8_t user, std::span<const uint8_t> b) override
    {
        if (sending || keeping) {
            early.push_back({peer, user, {b.begin(), b.end()}});
            early_bytes += b.size();
        } else if (!closing) {
            calls.deliver(context, peer, user, b.data(), b.size());
        }
    }
    void sent(uint32_t peer, outgoing &o, bool arrived) override
    {
        if (keeping)
            untold.push_back({arrived ? told::sent : told::not_sent, peer, &o});
        else
            calls.sent(context, peer, reinterpret_cast<udp_outgoing_t *>(&o), arrived);
    }
    time_ns unknown(uint32_t who, time_ns now) override
    {
        if (keeping)
            return udp::never;
        if (closing)
            return now;
        calls.unknown(context, who);
        return clock_now();
    }
    bool full() const override { return keeping && early_bytes >= early_most; }
    void unheard(uint32_t peer) override
    {
        if (keeping)
            untold.push_back({told::unheard, peer, nullptr});
        else if (!closing && !std::exchange(told_unheard, true))
            calls.unheard(context, peer);
    }
    void dead(uint32_t peer) override
    {
        if (keeping)
            untold.push_back({told::dead, peer, nullptr});
        else if (!closing)
            calls.dead(context, peer);
    }

    int leave(time_ns now);
    void wake(time_ns now);
    int take(time_ns &now, int batches);
    void hand_up();
    void before_sending(time_ns &now);
    int progress();
    int keep();
    /** Nothing is under way, owed or untold. */
    bool rests(time_ns now) const { return end->drained() && early.empty() && untold.empty() && end->deadline(now) == udp::never; }
};

/** Sends what may leave; returns how many datagrams. */
int udp_engine::leave(time_ns now)
{
    int datagrams = 0;
    uint32_t peer;
    size_t n;
    uint8_t *to;
    // What the kernel has no room for waits in its order, and nothing new joins it.
    if (wire.flush())
        while ((to = wire.slot()) && (n = end->transmit(to, peer, now)) != 0)
            wire.put(n, end->to(peer), peer), ++datagrams;
    wire.flush();
    return datagrams;
}

/** Sets when to be called again though nothing comes: soon, for what the kernel had no room for, or who was not told yet. */
void udp_engine::wake(time_ns now) { alarm.set(now, wire.waits() || !early.empty() || !untold.empty() ? now : end->deadline(now)); }

/** What has come, so many batches at most; now: after it. */
int udp_engine::take(time_ns &now, int batches)
{
    int datagrams = 0;
    while (batches-- > 0) {
        bool first = true;      // after the call that took them: they must not seem to have come earlier than they did
        datagrams += wire.receive([&](const address &from, std::span<uint8_t> d) {
            if (first)
                now = clock_now();
            first = false;
            end->receive(from, d, now);
        });
        if (!wire.more())
            break;
    }
    if (datagrams)
        now = clock_now();
    read_at = now;
    return datagrams;
}

void udp_engine::hand_up()
{
    std::vector<block> all;
    all.swap(early);
    early_bytes = 0;
    for (const block &b : all)
        deliver(b.peer, 2, b.user, b.bytes);
    for (const told &t : std::exchange(untold, {}))
        switch (t.what) {
        case told::sent:
        case told::not_sent:
            sent(t.peer, *t.o, t.what == told::sent);
            break;
        case told::unheard:
            unheard(t.peer);
            break;
        case told::dead:
            dead(t.peer);
            break;
        }
}

void udp_engine::before_sending(time_ns &now)
{
    if (inside || now - read_at < unread_most || early_bytes >= early_most)
        return;
    inside = sending = true;
    take(now, 1);
    inside = sending = false;
}

int udp_engine::progress()
{
    if (inside)
        return 0;
    inside = true;
    const int handed = static_cast<int>(early.size() + untold.size());
    if (handed)
        hand_up();
    time_ns now = clock_now();
    const int datagrams = take(now, 4);
    const int left = leave(now);    // counts, too: who finds nothing to do may give the core to others, while the next pass waits
    wake(now);
    inside = false;
    return datagrams + handed + left;
}

int udp_engine::keep()
{
    constexpr int most_batches = 64;
    if (inside)
        return UDP_KEPT;
    inside = keeping = true;
    time_ns now = clock_now();
    // All of it: what is known of one peer must not be late because of another.
    int came = 0;
    for (int i = 0, n; i < most_batches && (n = take(now, 1)) > 0; ++i)
        came += n;
    leave(now);
    keeping = inside = false;
    wake(now);
    return came ? UDP_KEPT_SOON : rests(now) ? UDP_KEPT_ALL : UDP_KEPT;
}

namespace {

/** What a peer must have as we do, and has not. */
void say_differs(udp_message_t *m, const udp_engine &e, const card &peer)
{
    const auto enumerator = [](const char *name, int value) -> std::string {
        for (size_t i = 0; i < udp_knob_count(); ++i)
            if (const udp_knob_t *k = udp_knob_get(i); std::string(k->name) == name && value >= 0 && value <= k->maximum)
                return udp_knob_enumerator(k, value);
        return std::to_string(value);
    };
    const auto both = [&](const char *knob, const std::string &here, const std::string &there) {
        say(m, std::string("btl_udp_") + knob, "it differs: " + here + " here, " + there + " there", "give all processes the same");
    };
    if (peer.mode != e.mode)
        both("mode", enumerator("mode", e.mode), enumerator("mode", peer.mode));
    else if (peer.shared_name != secret_name(e.shared))
        both("key_file", e.shared.empty() ? "no file" : "a file", peer.shared_name == secret_name({}) ? "none" : e.shared.empty() ? "a file" : "another secret in it");
    else if (peer.unscheduled != e.c.unscheduled)
        both("unscheduled", std::to_string(e.c.unscheduled), std::to_string(peer.unscheduled));
    else
        both("security", enumerator("security", static_cast<int>(e.c.security)), enumerator("security", peer.security));
}

} // namespace

extern "C" {

int udp_engine_open(udp_engine_t **engine, const udp_params_t *p, uint64_t id, uint32_t ids, uint64_t host,
                    const udp_events_t *events, void *context, udp_message_t *message)
{
    try {
        say(message, "", "", "");
        auto e = std::make_unique<udp_engine>();
        e->calls = *events;
        e->context = context;
        e->id = id;
        e->host = host;
        e->mode = p->mode;
        e->linger = p->linger;
        e->buffer = static_cast<uint64_t>(p->buffer);
        config &c = e->c;
        c.ids = ids;
        c.senders = ids > 1 ? ids - 1 : 1;
        c.strict = p->mode == 1;
        c.ordered = false;      // Open MPI numbers its messages itself
        c.security = static_cast<wire::security>(p->security);
        c.control = static_cast<controller>(p->control);
        c.rate = static_cast<uint64_t>(p->rate) * 125000;
        c.window = static_cast<uint64_t>(p->window);
        c.unscheduled = static_cast<uint64_t>(p->unscheduled);
        c.incast = static_cast<uint64_t>(p->incast);
        c.ack_delay = p->ack_delay * us;
        c.ack_every = static_cast<uint32_t>(p->ack_every);
        c.retransmit_pass = static_cast<uint32_t>(p->retransmit_pass);
        c.block_max = UDP_BLOCK_MAX;
        c.dead = p->dead ? p->dead * second : never;
        if (p->key_file && *p->key_file) {
            if (const auto fault = key_read(p->key_file, e->shared)) {
                say(message, "btl_udp_key_file", "'" + std::string(p->key_file) + "' " + fault->what, fault->remedy);
                return UDP_ERR_INPUT;
            }
        }
        std::string why = e->here.look(p->interfaces ? p->interfaces : "", p->address ? p->address : "");
        if (!why.empty()) {
            say(message, std::string("btl_udp_") + e->here.parameter, why, "correct it, or leave it out; devices and their addresses: ip -brief address");
            return UDP_ERR_INPUT;
        }
        why = e->wire.open(e->here.v6(), p->port_min, p->port_range, static_cast<size_t>(p->socket_buffer), p->gso);
        if (!why.empty()) {
            say(message, "UDP socket", why,
                p->port_min ? "let btl_udp_port_range be as many as there are processes on a host, those of other jobs included, or leave btl_udp_port_min out: then any "
                              "free port is taken"
                            : "leave btl_udp_interfaces and btl_udp_address out, and look for limits of the system (ulimit -n)");
            return UDP_ERR_SYSTEM;
        }
        if (p->timer)
            why = e->alarm.open();
        if (!why.empty()) {
            say(message, "timer", why, "leave btl_udp_timer out");
            return UDP_ERR_SYSTEM;
        }
        const uint32_t least = static_cast<uint32_t>(wire::datagram_least) + e->here.headers();
        if (p->mtu && static_cast<uint32_t>(p->mtu) < least) {
            say(message, "btl_udp_mtu", std::to_string(p->mtu) + " bytes are too few", "give " + std::to_string(least) + " to 65535, or leave it out");
            return UDP_ERR_INPUT;
        }
        if (p->mtu) {
            e->here.mtu = static_cast<uint32_t>(p->mtu);
            e->here.mtu_least = std::min(e->here.mtu_least, e->here.mtu);
        }
        c.mtu_start = std::min(c.mtu_start, e->here.mtu_least - e->here.headers());
        c.mtu_floor = std::min(c.mtu_floor, c.mtu_start);
        c.mtu_max = std::max(c.mtu_start, e->here.mtu - e->here.headers());
        e->mtu_local = p->mtu ? 0 : 65535 - e->here.headers();
        if (e->wire.buffer() < static_cast<size_t>(p->socket_buffer))
            say(message, "socket buffers", "asked for " + std::to_string(p->socket_buffer) + " bytes, got " + std::to_string(e->wire.buffer()),
                "as root: sysctl net.core.rmem_max=" + std::to_string(p->socket_buffer) + " net.core.wmem_max=" + std::to_string(p->socket_buffer)
                    + "; or ask for less with btl_udp_socket_buffer");
        if (!e->here.unmatched.empty())
            say(message, "btl_udp_interfaces", "no device that is up and has an address is " + e->here.unmatched,
                "the others are used now; devices and their addresses: ip -brief address");
        e->own = secret_make();
        e->end = std::make_unique<endpoint>(c, static_cast<uint32_t>(id), *e);
        udp_engine *raw = e.get();
        e->wire.too_large = [raw](uint32_t peer, uint32_t bytes) { raw->end->too_large(peer, bytes, clock_now()); };
        *engine = e.release();
        return UDP_OK;
    } catch (const std::bad_alloc &) {
        say_memory(message);
        return UDP_ERR_NOMEM;
    } catch (const std::exception &x) {
        say(message, "btl/udp", x.what(), "report this");
        return UDP_ERR_SYSTEM;
    }
}

size_t udp_engine_card(const udp_engine_t *e, void *to)
{
    card c;
    c.mode = static_cast<uint8_t>(e->mode);
    c.security = static_cast<uint8_t>(e->c.security);
    c.unscheduled = e->c.unscheduled;
    c.first = grants::first(e->c);
    c.id = e->id;
    c.host = e->host;
    c.shared_name = secret_name(e->shared);
    c.own = e->own;
    c.port = e->wire.port();
    return c.write(to, e->here.places);
}

int udp_engine_fd(const udp_engine_t *e) { return e->wire.fd(); }
int udp_engine_timer_fd(const udp_engine_t *e) { return e->alarm.fd(); }

int udp_engine_peer(udp_engine_t *e, const void *from, size_t length, uint32_t *peer, udp_message_t *message)
{
    try {
        card theirs;
        std::vector<place> places;
        const card::fault fault = theirs.read(from, length, places);
        if (fault == card::fault::version) {
            say(message, "card of a peer", "it was written by another version", "install the same version on all hosts");
            return UDP_ERR_PEER;
        }
        if (theirs.mode != e->mode || theirs.security != static_cast<uint8_t>(e->c.security) || theirs.unscheduled != e->c.unscheduled
            || theirs.shared_name != secret_name(e->shared)) {
            say_differs(message, *e, theirs);
            return UDP_ERR_PEER;
        }
        if (fault == card::fault::cut) {
            say(message, "card of a peer", "it is cut", "report this");
            return UDP_ERR_PEER;
        }
        const bool local = theirs.host == e->host;
        const place best = e->here.best_of(places);
        if (best.is_v4() == e->here.v6()) {
            say(message, "addresses", best.is_v4() ? "it has IPv4 addresses, this process only IPv6" : "it has only IPv6 addresses, this process IPv4",
                "give both an address of the same kind: btl_udp_interfaces, btl_udp_address");
            return UDP_ERR_PEER;
        }
        const address at = (local ? loopback(e->here.v6()) : best).at(theirs.port);
        const pair_keys keys = pair_derive(e->own, e->id, theirs.own, theirs.id, e->shared);
        *peer = e->end->peer_add(static_cast<uint32_t>(theirs.id), keys, at, local ? e->mtu_local : 0, theirs.first, local, theirs.id >> 32 == e->id >> 32);
        if (*peer == ~uint32_t(0)) {
            say(message, "peer", "it is there twice", "report this");
            return UDP_ERR_PEER;
        }
        return UDP_OK;
    } catch (const std::bad_alloc &) {
        say_memory(message);
        return UDP_ERR_NOMEM;
    } catch (const std::exception &x) {
        say(message, "btl/udp", x.what(), "report this");
        return UDP_ERR_SYSTEM;
    }
}

void udp_engine_where(const udp_engine_t *e, uint32_t peer, char *text, size_t room)
{
    const address &at = e->end->where(peer);
    char host[INET6_ADDRSTRLEN] = "?";
    const size_t ip = at.length - sizeof(uint16_t);     // as socket.hpp keeps it
    uint16_t port;
    std::memcpy(&port, at.bytes + ip, sizeof port);
    inet_ntop(ip == sizeof(in_addr) ? AF_INET : AF_INET6, at.bytes, host, sizeof host);
    std::snprintf(text, room, "UDP from port %u to %s port %u", unsigned(e->wire.port()), host, unsigned(ntohs(port)));
}

void udp_engine_send(udp_engine_t *e, uint32_t peer, udp_outgoing_t *record, const void *data, size_t length, int stream, uint8_t user)
{
    outgoing *o = new (record) outgoing();
    o->data = static_cast<const uint8_t *>(data);
    o->length = static_cast<uint32_t>(length);
    o->stream = static_cast<uint8_t>(stream);
    o->user = user;
    time_ns now = clock_now();
    e->before_sending(now);
    e->end->submit(peer, *o, now);
    if (!e->inside) {
        e->inside = true;
        e->leave(now);
        e->wake(now);
        e->inside = false;
    }
}

int udp_engine_progress(udp_engine_t *e) { return e->progress(); }

int udp_engine_keep(udp_engine_t *e) { return e->keep(); }

bool udp_engine_rests(const udp_engine_t *e) { return e->rests(clock_now()); }

void udp_engine_close(udp_engine_t *e)
{
    e->closing = true;
    const time_ns start = clock_now();
    while (!e->end->drained() && clock_now() - start < e->linger * second) {
        if (e->progress() == 0) {
            const timespec nap = {0, 100000};
            nanosleep(&nap, nullptr);
        }
    }
    e->end->farewell(clock_now());
    e->progress();
    e->end->abandon();
    e->progress();
    delete e;
}

void udp_engine_view(const udp_engine_t *e, uint32_t peer, udp_view_t *v)
{
    const peer_view p = e->end->view(peer);
    *v = {p.delay, p.delay_min, p.window, p.window_own, p.permitted, p.under_way, p.queue, p.queue_bytes,
          p.sent, p.sent_again, p.received, p.duplicates, p.mtu, e->end->priority(peer)};
}

bool udp_engine_may_write(udp_engine_t *e, uint32_t peer, uint64_t bytes) { return e->end->may_write(peer, bytes); }

uint64_t udp_engine_push(udp_engine_t *e, uint32_t peer)
{
    const time_ns now = clock_now();
    const uint64_t n = e->end->push(peer, now);
    if (!e->inside) {
        e->inside = true;
        e->leave(now);
        e->wake(now);
        e->inside = false;
    }
    return n;
}

void udp_engine_window_set(udp_engine_t *e, uint32_t peer, uint64_t bytes) { e->end->window_set(peer, bytes); }
void udp_engine_priority_set(udp_engine_t *e, uint32_t peer, unsigned level) { e->end->priority_set(peer, level); }

bool udp_engine_room(const udp_engine_t *e, uint32_t peer, uint64_t bytes)
{
    // What waits must last for a round trip in which the peer permits it; more would only keep the caller busy with copies.
    constexpr uint64_t at_least = 1 << 20, windows = 4;
    const peer_view v = e->end->view(peer);
    return v.queue_bytes + bytes <= std::min(e->buffer, at_least + windows * v.window);
}

void udp_engine_totals(const udp_engine_t *e, udp_totals_t *t)
{
    *t = {};
    const endpoint::counters &n = e->end->count();
    t->received = n.received, t->strangers = n.strangers, t->replays = n.replays, t->forgeries = n.forgeries, t->moves = n.moves;
    t->refused_by_kernel = e->wire.refused();
    t->peers = e->end->peers();
    for (uint32_t p = 0; p < e->end->peers(); ++p) {
        const peer_view v = e->end->view(p);
        t->sent += v.sent, t->sent_again += v.sent_again;
        t->queue += v.queue, t->queue_bytes += v.queue_bytes;
        t->delay_max_ns = std::max(t->delay_max_ns, v.delay);
    }
}

}
