/*
 * Two engines with real sockets on loopback and a relay between them, as a NAT and
 * a bad path would be: it loses, repeats, delays and changes datagrams, is silent
 * for a while, and speaks from another port in the middle of it all.  Every message
 * must arrive once and unchanged, in both directions.
 *
 *   relay modern|strict SECURITY    off, authenticate or encrypt; ends with "all right"
 *   relay kept SECURITY             one side submits, and another thread than its caller's keeps it going
 *   relay sends SECURITY [ADDRESS]  without the relay: one side submits and does nothing else
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "default_params.hpp"

#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

using datagram = std::vector<uint8_t>;

[[noreturn]] void give_up(const std::string &why)
{
    std::printf("failed: %s\n", why.c_str());
    std::exit(1);
}

int64_t now_ms()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

std::vector<uint8_t> message_bytes(uint32_t from, uint32_t index, size_t length)
{
    std::vector<uint8_t> b(length);
    uint32_t x = from * 7919 + index;
    for (uint8_t &v : b)
        v = static_cast<uint8_t>((x = x * 1664525 + 1013904223) >> 24);
    for (size_t i = 0; i < 4; ++i)
        b[i] = static_cast<uint8_t>(index >> 8 * i);
    return b;
}

struct side {
    struct message {
        udp_outgoing_t record{};
        std::vector<uint8_t> bytes;
    };
    udp_engine_t *engine = nullptr;
    uint32_t id = 0, peer = 0;
    std::map<udp_outgoing_t *, std::unique_ptr<message>> flying;
    std::vector<bool> seen;
    std::map<uint32_t, size_t> lengths;
    unsigned delivered = 0, freed = 0, asked = 0;
    uint32_t next = 0;

    void open(int mode, int security, const char *address = "127.0.0.1")
    {
        std::string told = address;
        udp_params_t p = default_params();
        p.mode = mode;
        p.security = security;
        p.address = told.data();
        p.linger = 1;
        static const udp_events_t calls = {
            [](void *c, uint32_t, uint8_t user, const void *block, size_t length) { static_cast<side *>(c)->deliver(user, block, length); },
            [](void *c, uint32_t, udp_outgoing_t *record, bool arrived) {
                side *s = static_cast<side *>(c);
                if (!arrived || s->flying.erase(record) != 1)
                    give_up("a message was given up, or freed twice");
                ++s->freed;
            },
            [](void *c, uint32_t) { ++static_cast<side *>(c)->asked; },
            [](void *, uint32_t) { give_up("a peer was taken for one that nobody can hear"); },
            [](void *, uint32_t) { give_up("a living peer was reported as dead"); },
        };
        udp_message_t m;
        if (udp_engine_open(&engine, &p, 7ull << 32 | id, 2, id, &calls, this, &m) != UDP_OK)
            give_up(m.what);
    }
    void send(size_t length)
    {
        auto m = std::make_unique<message>();
        m->bytes = message_bytes(id, next, length);
        message *const raw = m.get();
        flying[&raw->record] = std::move(m);
        udp_engine_send(engine, peer, &raw->record, raw->bytes.data(), length, length < 1000 ? 1 : 2, static_cast<uint8_t>(next++));
    }
    void deliver(uint8_t user, const void *block, size_t length)
    {
        uint32_t index = 0;
        for (size_t i = 0; i < 4 && length >= 4; ++i)
            index |= static_cast<uint32_t>(static_cast<const uint8_t *>(block)[i]) << 8 * i;
        if (index >= 100000 || user != static_cast<uint8_t>(index))
            give_up("a message has a wrong number");
        if (seen.size() <= index)
            seen.resize(index + 1);
        if (seen[index])
            give_up("a message came twice");
        seen[index] = true;
        ++delivered;
        const std::vector<uint8_t> expected = message_bytes(1 - id, index, length);
        if (std::memcmp(expected.data(), block, length) != 0)
            give_up("a message has changed");
    }
};

/** A socket of the relay, and where its datagrams go. */
struct door {
    int fd = -1;
    uint16_t port = 0;
    void open()
    {
        if (fd >= 0)
            close(fd);
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        sockaddr_in a = {};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t n = sizeof a;
        const int bytes = 4 << 20;
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        if (bind(fd, reinterpret_cast<sockaddr *>(&a), n) != 0 || getsockname(fd, reinterpret_cast<sockaddr *>(&a), &n) != 0)
            give_up("no socket on loopback");
        port = ntohs(a.sin_port);
    }
    void send(const datagram &d, uint16_t to) const
    {
        sockaddr_in a = {};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        a.sin_port = htons(to);
        (void) sendto(fd, d.data(), d.size(), 0, reinterpret_cast<sockaddr *>(&a), sizeof a);
    }
};

struct relay {
    door front, back;               // what side 0 and side 1 take for their peer
    uint16_t real[2] = {};          // the sides' own ports
    bool dark = false, clean = false;
    size_t mtu = 1300;              // larger ones vanish, and no ICMP says so
    bool forges = false;
    uint64_t forged = 0;
    std::mt19937_64 random{20260101};
    std::multimap<int64_t, std::pair<int, datagram>> late;

    void pump()
    {
        uint8_t b[65536];
        for (int from = 0; from < 2; ++from)
            for (ssize_t n; (n = recv((from ? back : front).fd, b, sizeof b, 0)) >= 0 || errno == ECONNREFUSED;) {
                if (n < 0 || dark)
                    continue;
                take(from, datagram(b, b + n));
            }
        while (!late.empty() && late.begin()->first <= now_ms()) {
            auto [from, d] = std::move(late.begin()->second);
            late.erase(late.begin());
            pass(from, d);
        }
    }
    void pass(int from, const datagram &d) { (from ? front : back).send(d, real[1 - from]); }
    void take(int from, datagram d)
    {
        if (clean) {
            pass(from, d);
            return;
        }
        if (forges && !d.empty() && random() % 2) {
            datagram f = d;
            if (random() % 3)
                f[random() % f.size()] ^= static_cast<uint8_t>(1 + random() % 255);
            else
                f.resize(random() % f.size());
            ++forged;
            pass(from, f);
        }
        if (random() % 100 < 3 || d.size() > mtu)
            return;
        const int copies = random() % 20 ? 1 : 2;
        for (int i = 0; i < copies; ++i) {
            if (random() % 10)
                pass(from, d);
            else
                late.emplace(now_ms() + 1 + static_cast<int64_t>(random() % 5), std::pair(from, d));
        }
    }
};

constexpr size_t card_port = 2 + 2 + 5 * 8 + 32;     // see io/card.hpp

/**
 * Side 0 submits without a call for progress: what the first window does not hold leaves only if
 * it reads Acks meanwhile.  What side 1 sends in this time is handed up when side 0 asks, and not before.
 */
void only_sends(int security, const char *address)
{
    side s[2];
    uint8_t card[2][UDP_CARD_MAX];
    size_t length[2];
    for (uint32_t i = 0; i < 2; ++i) {
        s[i].id = i;
        s[i].open(0, security, address);
        length[i] = udp_engine_card(s[i].engine, card[i]);
    }
    for (uint32_t i = 0; i < 2; ++i) {
        udp_message_t m;
        if (udp_engine_peer(s[i].engine, card[1 - i], length[1 - i], &s[i].peer, &m) != UDP_OK)
            give_up(m.what);
    }
    constexpr unsigned count = 300;
    const timespec nap = {0, 500000};
    for (unsigned i = 0; i < count; ++i) {
        s[0].send(60000);
        if (i % 10 == 0)
            s[1].send(5000);
        udp_engine_progress(s[1].engine);
        nanosleep(&nap, nullptr);
    }
    std::printf("while it only sent: %u of %u messages arrived, %u were freed\n", s[1].delivered, count, s[0].freed);
    if (s[1].delivered < count / 2 || s[0].freed < count / 2)
        give_up("who only sends leaves Acks unread");
    if (s[0].delivered != 0)
        give_up("a message was handed up in the middle of a send");
    for (const int64_t began = now_ms(); s[0].delivered < count / 10 || s[1].delivered < count || s[0].freed < count || s[1].freed < count / 10;) {
        if (now_ms() - began > 20000)
            give_up("it hangs");
        for (side &x : s)
            udp_engine_progress(x.engine);
    }
    // Who has addresses of the other kind only is refused, with a reason.
    side other;
    other.id = 0;
    other.open(0, security, std::strchr(address, ':') ? "127.0.0.1" : "::1");
    udp_message_t m = {};
    if (udp_engine_peer(other.engine, card[1], length[1], &other.peer, &m) != UDP_ERR_PEER || !std::strstr(m.what, "IPv6"))
        give_up("addresses of two kinds: " + std::string(m.what));
    udp_engine_close(other.engine);
    for (side &x : s)
        udp_engine_close(x.engine);
    std::puts("all right");
}

int security_of(const std::string &name) { return name == "off" ? 0 : name == "authenticate" ? 1 : 2; }

/** Two sides that take the relay for each other. */
void meet_by(relay &r, side (&s)[2], int mode, int security)
{
    uint8_t card[2][UDP_CARD_MAX];
    size_t length[2];
    r.front.open();
    r.back.open();
    r.forges = security != 0;
    for (uint32_t i = 0; i < 2; ++i) {
        s[i].id = i;
        s[i].open(mode, security);
        length[i] = udp_engine_card(s[i].engine, card[i]);
        r.real[i] = static_cast<uint16_t>(card[i][card_port] << 8 | card[i][card_port + 1]);
        const uint16_t seen_as = i ? r.front.port : r.back.port;
        card[i][card_port] = static_cast<uint8_t>(seen_as >> 8);
        card[i][card_port + 1] = static_cast<uint8_t>(seen_as);
    }
    for (uint32_t i = 0; i < 2; ++i) {
        udp_message_t m;
        if (udp_engine_peer(s[i].engine, card[1 - i], length[1 - i], &s[i].peer, &m) != UDP_OK)
            give_up(m.what);
    }
}

/**
 * Side 0 submits over the bad path and is not called again, as a process that computes: what is lost is sent again, what comes is
 * acknowledged, and nothing of it is told before it calls.
 */
void kept(int security)
{
    side s[2];
    relay r;
    meet_by(r, s, 0, security);
    constexpr unsigned count = 40, back = 10;
    for (unsigned i = 0; i < count; ++i)
        s[0].send(i % 4 ? 900 : 60000);
    for (unsigned i = 0; i < back; ++i)
        s[1].send(5000);
    const unsigned freed = s[0].freed, delivered = s[0].delivered;
    const timespec nap = {0, 500000};
    for (const int64_t began = now_ms(); s[1].delivered < count || s[1].freed < back;) {
        if (now_ms() - began > 20000)
            give_up("it hangs: " + std::to_string(s[1].delivered) + " of " + std::to_string(count) + " arrived, " + std::to_string(s[1].freed) + " of "
                    + std::to_string(back) + " were acknowledged");
        if (udp_engine_keep(s[0].engine) == UDP_KEPT_ALL && s[1].delivered < count)
            give_up("nothing more to do, while messages are missing");
        r.pump();
        udp_engine_progress(s[1].engine);
        nanosleep(&nap, nullptr);
    }
    if (s[0].freed != freed || s[0].delivered != delivered)
        give_up("somebody was called who did not call");
    for (const int64_t began = now_ms(); s[0].delivered < back || s[0].freed < count;) {
        if (now_ms() - began > 20000)
            give_up("what happened meanwhile is not told");
        for (side &x : s)
            udp_engine_progress(x.engine);
        r.pump();
    }
    for (const int64_t began = now_ms(); udp_engine_keep(s[0].engine) != UDP_KEPT_ALL;) {
        if (now_ms() - began > 20000)
            give_up("it says that there is something to do, when all is done");
        udp_engine_progress(s[1].engine);
        r.pump();
        nanosleep(&nap, nullptr);
    }
    r.clean = true;
    for (side &x : s)
        udp_engine_close(x.engine);
    std::puts("all right");
}

/** Who is not known yet speaks while nobody calls: he is asked for as soon as somebody does, and what he said is not lost. */
void unknown(int security)
{
    side s[2];
    uint8_t card[2][UDP_CARD_MAX];
    size_t length[2];
    udp_message_t m;
    const timespec nap = {0, 20'000'000};
    for (uint32_t i = 0; i < 2; ++i) {
        s[i].id = i;
        s[i].open(0, security);
        length[i] = udp_engine_card(s[i].engine, card[i]);
    }
    if (udp_engine_peer(s[1].engine, card[0], length[0], &s[1].peer, &m) != UDP_OK)
        give_up(m.what);
    s[1].send(900);
    udp_totals_t t;
    do {
        udp_engine_keep(s[0].engine);
        udp_engine_progress(s[1].engine);
        udp_engine_totals(s[0].engine, &t);
        nanosleep(&nap, nullptr);
    } while (t.strangers < 6);
    if (s[0].asked != 0)
        give_up("somebody was asked who did not call");
    for (const uint64_t before = t.strangers; s[0].asked == 0;) {
        for (side &x : s)
            udp_engine_progress(x.engine);
        udp_engine_totals(s[0].engine, &t);
        if (t.strangers > before && s[0].asked == 0)
            give_up("one who spoke while nobody called is not asked for");
    }
    if (udp_engine_peer(s[0].engine, card[1], length[1], &s[0].peer, &m) != UDP_OK)
        give_up(m.what);
    while (s[0].delivered == 0)
        for (side &x : s)
            udp_engine_progress(x.engine);
    for (side &x : s)
        udp_engine_close(x.engine);
}

/** More comes than is kept for a caller who is away: the rest comes again when he is back, and what he sent is known to have arrived. */
void overrun(int security, int mode)
{
    side s[2];
    relay r;
    meet_by(r, s, mode, security);
    r.clean = true;
    constexpr unsigned count = 120, back = 20;
    const timespec nap = {0, 500000};
    for (unsigned i = 0; i < back; ++i)
        s[0].send(900);
    for (unsigned i = 0; i < count; ++i)
        s[1].send(60000);
    unsigned quiet = 0, freed = 0;
    for (const int64_t began = now_ms(); (s[1].delivered < back || quiet < 400) && now_ms() - began < 20000; quiet = freed == s[1].freed ? quiet + 1 : 0) {
        freed = s[1].freed;
        udp_engine_keep(s[0].engine);
        udp_engine_progress(s[1].engine);
        r.pump();
        nanosleep(&nap, nullptr);
    }
    if (s[1].delivered != back || s[1].freed >= count / 2)
        give_up("for a caller who is away all is kept: " + std::to_string(s[1].freed) + " of " + std::to_string(count));
    for (const int64_t began = now_ms(); s[0].delivered < count || s[1].freed < count || s[0].freed < back;) {
        if (now_ms() - began > 20000)
            give_up("what was not kept does not come again");
        for (side &x : s)
            udp_engine_progress(x.engine);
        r.pump();
    }
    for (side &x : s)
        udp_engine_close(x.engine);
}

} // namespace

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "modern", security = argc > 2 ? argv[2] : "authenticate";
    if (mode == "sends") {
        only_sends(security_of(security), argc > 3 ? argv[3] : "127.0.0.1");
        return 0;
    }
    if (mode == "kept") {
        unknown(security_of(security));
        overrun(security_of(security), 0);
        if (security == "off")
            overrun(0, 1);
        kept(security_of(security));
        return 0;
    }
    side s[2];
    relay r;
    meet_by(r, s, mode == "strict", security_of(security));
    const int64_t began = now_ms();
    const unsigned count = mode == "strict" ? 60 : 400;
    constexpr unsigned ports = 4;       // that the relay uses one after the other
    unsigned sent = 0, changed = 0;
    uint64_t moves = 0;
    int64_t dark_until = 0;
    for (int step = 0; sent < count || moves < ports || s[0].delivered < sent || s[1].delivered < sent || s[0].freed < sent || s[1].freed < sent;
         ++step) {
        if (now_ms() - began > 100000)
            give_up("it hangs: " + std::to_string(s[0].delivered) + " and " + std::to_string(s[1].delivered) + " of " + std::to_string(sent)
                    + " were delivered, " + std::to_string(moves) + " changes of the port noticed");
        // Not more than a path like this can bear, however fast the loop is.
        if ((sent < count || moves < ports) && step % 20 == 0 && s[0].flying.size() < 40 && s[1].flying.size() < 40) {
            for (side &x : s)
                x.send(4 + r.random() % (sent % 8 == 0 ? 200000 : 3000));
            ++sent;
            if (sent == count / 2) {
                r.dark = true;
                dark_until = now_ms() + 2000;
            }
        }
        if (r.dark && now_ms() >= dark_until)
            r.dark = false;
        udp_totals_t t;
        udp_engine_totals(s[1].engine, &t);
        moves = t.moves;
        if (sent >= (changed + 1) * count / (ports + 1) && changed < ports && moves == changed) {
            r.back.open();          // a NAT that forgot us: another port, the old one is closed
            ++changed;
        }
        for (side &x : s)
            udp_engine_progress(x.engine);
        r.pump();
    }
    udp_totals_t t[2];
    for (int i = 0; i < 2; ++i)
        udp_engine_totals(s[i].engine, &t[i]);
    std::printf("%s, %s: %u messages each way in %.1f s, sent %llu and %llu datagrams, again %llu and %llu; moves %llu, replays %llu, "
                "forged %llu, found %llu\n", mode.c_str(), security.c_str(), sent, static_cast<double>(now_ms() - began) / 1e3,
                static_cast<unsigned long long>(t[0].sent), static_cast<unsigned long long>(t[1].sent),
                static_cast<unsigned long long>(t[0].sent_again), static_cast<unsigned long long>(t[1].sent_again),
                static_cast<unsigned long long>(t[0].moves + t[1].moves), static_cast<unsigned long long>(t[0].replays + t[1].replays),
                static_cast<unsigned long long>(r.forged),
                static_cast<unsigned long long>(t[0].forgeries + t[1].forgeries + t[0].strangers + t[1].strangers));
    for (side &x : s) {
        udp_view_t v;
        udp_engine_view(x.engine, x.peer, &v);
        if (v.mtu > r.mtu)
            give_up("datagrams of " + std::to_string(v.mtu) + " bytes do not pass");
    }
    if (t[0].replays + t[1].replays == 0)
        give_up("nothing was repeated");
    if (r.forges && t[0].forgeries + t[1].forgeries == 0)
        give_up("no forgery was found");
    r.clean = true;
    for (side &x : s)
        udp_engine_close(x.engine);
    std::puts("all right");
    return 0;
}
