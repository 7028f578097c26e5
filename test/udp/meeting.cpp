/*
 * How processes meet and part: ids of two jobs, addresses that are not the peer's
 * alone, which host this is, peers that are gone or never there.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "default_params.hpp"
#include "endpoint.hpp"
#include "modern.hpp"
#include "simulator.hpp"

#include "unit.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace udp;

namespace {

struct nobody : events {
    void deliver(uint32_t peer, uint8_t, uint8_t, std::span<const uint8_t>) override { from = peer, ++delivered; }
    void sent(uint32_t, outgoing &, bool) override {}
    void dead(uint32_t) override {}
    time_ns unknown(uint32_t id, time_ns now) override
    {
        if (on_unknown)
            on_unknown(id);
        return now + takes;
    }
    std::function<void(uint32_t)> on_unknown;
    time_ns takes = 0;      // a look-up
    uint32_t from = 0;
    int delivered = 0;
};

/** The datagram that says a byte to the first peer; o is under way from then on. */
std::vector<uint8_t> one_byte(endpoint &from, outgoing &o, time_ns now)
{
    static uint8_t byte = 7;
    o.data = &byte, o.length = 1;
    from.submit(0, o, now);
    std::vector<uint8_t> b(endpoint::datagram_room);
    uint32_t peer;
    b.resize(from.transmit(b.data(), peer, now));
    return b;
}

/** Process 3 of another job is known already; process 3 of our own, which sends first, must be met all the same. */
std::string same_id_in_two_jobs()
{
    config c;
    c.security = wire::security::authenticate;
    c.ids = 4;
    secret s[3];
    s[0].fill(1), s[1].fill(2), s[2].fill(3);
    constexpr uint64_t we = 1ull << 32, ours = 1ull << 32 | 3, theirs = 2ull << 32 | 3;
    address at;
    at.length = 1;
    nobody up, up_there;
    endpoint here(c, 0, up), there(c, 3, up_there);
    WAN_CHECK(here.peer_add(3, pair_derive(s[0], we, s[2], theirs, {}), at, 0, ~uint64_t(0), false, false) == 0);
    WAN_CHECK(there.peer_add(0, pair_derive(s[1], ours, s[0], we, {}), at) == 0);
    uint32_t met = ~0u;
    up.on_unknown = [&](uint32_t id) { met = here.peer_add(id, pair_derive(s[0], we, s[1], ours, {}), at); };
    outgoing o;
    std::vector<uint8_t> word = one_byte(there, o, second);
    WAN_CHECK(!word.empty());
    WAN_CHECK_THAT(here.receive(at, word, second) && met == 1 && up.delivered == 1 && up.from == 1, std::to_string(met));
    return "";
}

/**
 * A datagram that bears the number of a process that is not known makes us look for it.  Anybody can send such: then the
 * look-ups are few, and who is there and has something to say does not wait for those who are not.
 */
std::string look_ups()
{
    constexpr uint32_t ids = 100, absent = 90;
    config c;
    c.security = wire::security::authenticate;
    c.ids = ids;
    address at;
    at.length = 1;
    const auto secret_of = [](uint32_t id) {
        secret s;
        s.fill(static_cast<uint8_t>(id + 1));
        return s;
    };
    const auto keys = [&](uint32_t self, uint32_t peer) { return pair_derive(secret_of(self), self, secret_of(peer), peer, {}); };
    const auto first_word = [&](uint32_t from, time_ns now) {
        nobody up;
        endpoint there(c, from, up);
        there.peer_add(0, keys(from, 0), at);
        outgoing o;
        return one_byte(there, o, now);
    };
    const auto forged = [](uint32_t from) {
        std::vector<uint8_t> b(wire::header_bytes + wire::tag_bytes + 1);
        wire::put_header(b.data(), {wire::security::authenticate, 0, from, 12345, 1});
        return b;
    };
    time_ns now = second;
    std::vector<unsigned> asked(ids);
    const auto meets = [&](endpoint &here) {
        return [&](uint32_t id) {
            ++asked[id];
            if (id < absent)
                here.peer_add(id, keys(0, id), at);
        };
    };
    const auto all = [&] { return std::accumulate(asked.begin(), asked.end(), 0u); };
    // A job that starts: all come at once, and nobody waits.
    nobody up;
    endpoint start(c, 0, up);
    up.on_unknown = meets(start);
    for (uint32_t id = 1; id < absent; ++id) {
        std::vector<uint8_t> b = first_word(id, now);
        WAN_CHECK_THAT(start.receive(at, b, now), std::to_string(id));
    }
    WAN_CHECK(all() == absent - 1);
    // Forged in all their names, again and again for ten minutes.
    endpoint here(c, 0, up);
    up.on_unknown = meets(here);
    asked.assign(ids, 0);
    for (uint32_t id = 1; id < ids; ++id) {
        std::vector<uint8_t> b = forged(id);
        WAN_CHECK(!here.receive(at, b, now));
    }
    WAN_CHECK_THAT(all() <= 1, std::to_string(all()));
    const time_ns end = now + 600 * second;
    for (uint32_t id = absent; now < end; now += ms, id = id + 1 < ids ? id + 1 : absent) {
        std::vector<uint8_t> b = forged(id);
        WAN_CHECK(!here.receive(at, b, now));
    }
    for (uint32_t id = absent; id < ids; ++id)
        WAN_CHECK_THAT(asked[id] >= 5 && asked[id] < 25, std::to_string(id) + ": " + std::to_string(asked[id]));
    // Meanwhile each who is there is met soon.
    for (uint32_t id = 2; id < absent; ++id) {
        std::vector<uint8_t> b = first_word(id, now);
        const time_ns since = now;
        for (std::vector<uint8_t> copy = b; !here.receive(at, copy, now); copy = b) {
            std::vector<uint8_t> beside = forged(absent + id % (ids - absent));
            here.receive(at, beside, now);
            now += ms;
            WAN_CHECK_THAT(now - since < 100 * ms, std::to_string(id));
        }
        WAN_CHECK(asked[id] <= 1);
    }
    // A long one counts from its end: what came meanwhile does not lead to the next.
    endpoint slow(c, 0, up);
    up.on_unknown = meets(slow);
    up.takes = second;
    asked.assign(ids, 0);
    for (unsigned k = 0; k < 1009; ++k) {
        std::vector<uint8_t> b = forged(absent + k % 2);
        slow.receive(at, b, now + k * ms);
    }
    WAN_CHECK_THAT(all() == 1, std::to_string(all()));
    now += 1011 * ms;
    for (uint32_t id = absent; id < absent + 2; ++id) {
        std::vector<uint8_t> b = forged(id);
        slow.receive(at, b, now);
    }
    WAN_CHECK(asked[absent] == 1 && asked[absent + 1] == 1);
    return "";
}

/** What a peer that left had been permitted goes to the one that still waits, without waiting for its next timeout. */
std::string part_of_one_that_left()
{
    config c;
    c.unscheduled = 10000;
    c.senders = 31;
    c.incast = 20000;
    grants g(c);
    grants::account a[2];
    for (uint32_t i = 0; i < 2; ++i) {
        a[i].peer = i;
        a[i].priority = 1 - i;      // the first takes all there is
        g.open(a[i]);
        a[i].wanted = 500'000;
        g.update(a[i], ms, 0);
    }
    while (g.deadline() <= ms)
        g.look(ms);
    g.grown().clear();
    const uint64_t before = a[1].permitted;
    g.close(a[0]);
    WAN_CHECK_THAT(g.deadline() <= 2 * ms, std::to_string(g.deadline()));
    g.look(2 * ms);
    WAN_CHECK_THAT(a[1].permitted > before && g.grown().size() == 1 && g.grown()[0] == &a[1], std::to_string(a[1].permitted) + " " + std::to_string(before));
    WAN_CHECK(g.deadline() == never);       // who is alone tells by itself what it needs
    g.close(a[1]);
    WAN_CHECK(g.deadline() == never && g.wanting() == 0);
    return "";
}

/** Who asked for much, comes first and fell silent is not given the part of the others again and again. */
std::string silent_and_preferred()
{
    config c;
    c.unscheduled = 2000;
    c.incast = 20000;
    grants g(c);
    grants::account silent, other;
    silent.priority = 7, other.peer = 1;
    g.open(silent), g.open(other);
    silent.wanted = 100'000'000;
    g.update(silent, ms, 0);
    time_ns now = 2 * ms;
    for (int step = 0; step < 400 && other.arrived < 500'000; ++step, now += 5 * ms) {
        other.wanted = 500'000 + grants::reserve(c);
        // One long block: nothing is consumed, and so nothing renewed, before all of it is there.
        g.update(other, now, std::min<uint64_t>(8000, other.permitted - other.arrived));
        if (g.deadline() <= now)
            g.look(now);
        g.grown().clear();
    }
    WAN_CHECK_THAT(other.arrived >= 500'000, std::to_string(other.arrived));
    // It is heard again: its turn comes as before.
    const uint64_t before = silent.permitted;
    silent.consumed += 10'000;
    g.update(silent, now, 10'000);
    WAN_CHECK_THAT(silent.permitted > before, std::to_string(silent.permitted));
    return "";
}

/** Late datagrams of a peer that said farewell are taken, but it is permitted nothing more. */
std::string gone_want_nothing()
{
    config c;
    c.ordered = false;
    nobody up;
    grants g(c);
    modern m(0, c, up, g, 1472, c.unscheduled, false);
    uint8_t b[200], byte = 9;
    wire::frame f;
    f.what = wire::kind::close;
    m.receive({b, wire::put_frame(b, f)}, 5, second);
    WAN_CHECK(m.dead());
    f = {};
    f.what = wire::kind::demand, f.amount = 1'000'000;
    size_t n = wire::put_frame(b, f);
    f = {};
    f.what = wire::kind::data, f.total = 50'000, f.payload = {&byte, 1}, f.block = 1;
    n += wire::put_frame(b + n, f);
    f = {};
    f.what = wire::kind::data, f.total = 1, f.payload = {&byte, 1};
    n += wire::put_frame(b + n, f);
    m.receive({b, n}, 4, second);
    WAN_CHECK_THAT(g.wanting() == 0 && up.delivered == 1, std::to_string(g.wanting()) + " " + std::to_string(up.delivered));
    return "";
}

/** A network that lets nothing through is told of once, while it is asked on; not of a peer that has answered before. */
std::string never_heard()
{
    for (const bool strict : {false, true}) {
        config c;
        c.strict = strict;
        const std::string form = strict ? "strict" : "modern";
        udp_test::simulator sim(c, 3, 5);
        sim.tap = [&](uint32_t from, uint32_t to, std::vector<uint8_t> &) {
            return sim.now < 60 * second && ((from == 1 && to == 0) || (sim.now > second && from + to == 2));   // 1's answers; what 0 and 2 say
        };
        sim[0].send(1, 2, 5000), sim[0].send(1, 1, 50);
        sim[0].send(2, 2, 5000);
        sim.at(2 * second, [&] { sim[0].send(2, 2, 5000); });
        sim.at(70 * second, [] {});
        sim.run(9 * second);
        WAN_CHECK_THAT(sim[0].unheard_of == 0 && sim[0].freed == 1, form);
        sim.run(59 * second);
        WAN_CHECK_THAT(sim[0].unheard_of == 1 && sim[1].unheard_of == 0 && sim[2].unheard_of == 0, form + ", " + std::to_string(sim[0].unheard_of));
        sim.run(70 * second);
        WAN_CHECK_THAT(sim[0].freed == 4 && sim[0].unheard_of == 1 && sim[0].deaths == 0, form + ", " + std::to_string(sim[0].freed));
    }
    return "";
}

std::string which_host()
{
    const uint64_t here = udp_engine_host();
    WAN_CHECK(here == udp_engine_host());
    for (const bool own_network : {false, true}) {
        int channel[2];
        WAN_CHECK(pipe(channel) == 0);
        const pid_t child = fork();
        if (child == 0) {
            uint64_t h = 0;
            if (!own_network || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 || unshare(CLONE_NEWNET) == 0)
                h = udp_engine_host();
            _exit(write(channel[1], &h, sizeof h) != sizeof h);
        }
        uint64_t h = 0;
        WAN_CHECK(read(channel[0], &h, sizeof h) == sizeof h);
        waitpid(child, nullptr, 0);
        close(channel[0]), close(channel[1]);
        if (own_network && h == 0)
            std::printf("no network of its own to be had: not tried\n");
        else
            WAN_CHECK((h == here) == !own_network);
    }
    return "";
}

struct engine {
    udp_engine_t *e = nullptr;
    udp_message_t m;
    explicit engine(uint64_t id, const char *address, bool timer = false)
    {
        std::string told = address, devices = "lo";
        udp_params_t p = default_params();
        p.address = told.data();
        p.interfaces = devices.data();
        p.linger = 0;
        p.timer = timer;
        if (udp_engine_open(&e, &p, id, 2, id, &no_events, nullptr, &m) != UDP_OK)
            throw std::runtime_error(m.what);
    }
    ~engine()
    {
        if (e)
            udp_engine_close(e);
    }
};

/** A socket at the address, and at that port if it is not 0. */
int socket_at(const char *address, uint16_t &port)
{
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in a = {};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    inet_pton(AF_INET, address, &a.sin_addr);
    socklen_t n = sizeof a;
    if (bind(fd, reinterpret_cast<sockaddr *>(&a), n) != 0 || getsockname(fd, reinterpret_cast<sockaddr *>(&a), &n) != 0)
        throw std::runtime_error(std::string("no socket at ") + address);
    port = ntohs(a.sin_port);
    return fd;
}

/**
 * A peer on another host tells two addresses; the first is one that this host has, too, as bridges of
 * containers have everywhere: the other one is its own.  But where an address was told, it may be that of both (NAT).
 */
std::string not_our_own_address()
{
    for (const bool told : {false, true}) {
        uint16_t port = 0;
        const int first = socket_at("127.0.0.1", port), other = socket_at("127.0.0.2", port);
        udp_outgoing_t record = {};     // outlives the engines
        engine here(1, told ? "127.0.0.1" : ""), there(2, "127.0.0.1");
        uint8_t card[UDP_CARD_MAX];
        size_t n = udp_engine_card(there.e, card);
        constexpr size_t place = 17;    // address and prefix, at the end; before it their number and the port
        WAN_CHECK(card[n - place - 1] == 1);
        card[n - place - 1] = 2;
        card[n - place - 3] = static_cast<uint8_t>(port >> 8);
        card[n - place - 2] = static_cast<uint8_t>(port);
        std::memcpy(card + n, card + n - place, place);
        card[n + 15] = 2;
        uint32_t peer;
        WAN_CHECK(udp_engine_peer(here.e, card, n + place, &peer, &here.m) == UDP_OK);
        udp_engine_send(here.e, peer, &record, "x", 1, 1, 0);
        pollfd look[2] = {{first, POLLIN, 0}, {other, POLLIN, 0}};
        WAN_CHECK(poll(look, 2, 5000) == 1);
        WAN_CHECK_THAT((look[1].revents != 0) == !told, told ? "told" : "not told");
        // A card that is cut is refused, with a word.
        WAN_CHECK(udp_engine_peer(here.e, card, n + place - 1, &peer, &here.m) == UDP_ERR_PEER && here.m.what[0]);
        close(first), close(other);
    }
    return "";
}

/** Ports one after the other from port_min on, as many as port_range says; an address that is told; buffers that the kernel does not give. */
std::string ports_and_buffers()
{
    // Three ports in a row that are free now.
    uint16_t first = 0;
    for (bool found = false; !found;) {
        uint16_t any = 0;
        close(socket_at("0.0.0.0", any));
        found = any < 65000;
        first = any;
        try {
            for (uint16_t next = first; found && next < first + 3; ++next) {
                uint16_t port = next;
                close(socket_at("0.0.0.0", port));
            }
        } catch (const std::runtime_error &) {
            found = false;
        }
    }
    static char address[] = "192.0.2.7", devices[] = "lo";
    udp_params_t p = default_params();
    p.interfaces = devices;
    p.address = address;
    p.port_min = first;
    p.port_range = 2;
    p.linger = 0;
    udp_engine_t *e[3] = {};
    udp_message_t m;
    engine other(9, "127.0.0.1");
    for (uint16_t i = 0; i < 2; ++i) {
        WAN_CHECK_THAT(udp_engine_open(&e[i], &p, i + 1u, 3, i + 1u, &no_events, nullptr, &m) == UDP_OK, m.what);
        uint8_t card[UDP_CARD_MAX];
        uint32_t peer;
        char where[160];
        WAN_CHECK_THAT(udp_engine_peer(other.e, card, udp_engine_card(e[i], card), &peer, &m) == UDP_OK, m.what);
        udp_engine_where(other.e, peer, where, sizeof where);
        const std::string expected = " to 192.0.2.7 port " + std::to_string(first + i);
        WAN_CHECK_THAT(std::string(where).ends_with(expected), where);
    }
    WAN_CHECK(udp_engine_open(&e[2], &p, 3, 3, 3, &no_events, nullptr, &m) == UDP_ERR_SYSTEM);
    WAN_CHECK_THAT(std::strstr(m.remedy, "btl_udp_port_range"), m.remedy);
    for (int i = 0; i < 2; ++i)
        udp_engine_close(e[i]);
    // More than the kernel gives (but where somebody allowed a gigabyte): the job runs, and is told of it.
    uint64_t most = 0;
    std::ifstream("/proc/sys/net/core/rmem_max") >> most;
    if (most >= 1 << 30)
        return "";
    p.port_min = 0;
    p.socket_buffer = 1 << 30;
    WAN_CHECK(udp_engine_open(&e[0], &p, 1, 3, 1, &no_events, nullptr, &m) == UDP_OK);
    udp_engine_close(e[0]);
    WAN_CHECK_THAT(std::strstr(m.where, "socket buffers") && std::strstr(m.remedy, "net.core.rmem_max=1073741824"), m.remedy);
    return "";
}

/** Who sends much has room until the path is busy and some more waits, and again before everything has been acknowledged. */
std::string room_to_send()
{
    constexpr size_t bytes = 100'000;
    std::vector<uint8_t> data(bytes);
    std::vector<udp_outgoing_t> records(200);       // 20 MB, more than btl_udp_buffer; they outlive the engines
    engine here(1, "127.0.0.1"), there(2, "127.0.0.1");
    uint8_t card[UDP_CARD_MAX];
    uint32_t peer, back;
    WAN_CHECK(udp_engine_peer(here.e, card, udp_engine_card(there.e, card), &peer, &here.m) == UDP_OK);
    WAN_CHECK(udp_engine_peer(there.e, card, udp_engine_card(here.e, card), &back, &there.m) == UDP_OK);
    size_t n = 0;
    for (; udp_engine_room(here.e, peer, bytes) && n < records.size(); ++n)
        udp_engine_send(here.e, peer, &records[n], data.data(), bytes, 2, 0);
    WAN_CHECK_THAT(n >= 10 && n < 50, std::to_string(n));   // a megabyte and four windows of a path of which nothing is known
    udp_view_t v;
    do {
        udp_engine_progress(there.e);
        udp_engine_progress(here.e);
        udp_engine_view(here.e, peer, &v);
    } while (!udp_engine_room(here.e, peer, 0) || v.queue == n);
    WAN_CHECK_THAT(v.queue > n / 2, std::to_string(v.queue));
    return "";
}

/** btl_udp_mtu holds inside a host, too; without it datagrams there are as large as they can be. */
std::string size_inside_a_host()
{
    static char device[] = "lo", place[] = "127.0.0.1";
    for (const int mtu : {0, 1500}) {
        udp_params_t p = default_params();
        p.interfaces = device;
        p.address = place;
        p.linger = 0;
        p.mtu = mtu;
        udp_engine_t *e[2] = {};
        udp_message_t m;
        uint8_t card[UDP_CARD_MAX];
        uint32_t to, back;
        const std::vector<uint8_t> data(1 << 20);
        std::vector<udp_outgoing_t> records(8);
        for (uint64_t i = 0; i < 2; ++i)
            WAN_CHECK_THAT(udp_engine_open(&e[i], &p, i + 1, 3, 1, &no_events, nullptr, &m) == UDP_OK, m.what);
        WAN_CHECK(udp_engine_peer(e[0], card, udp_engine_card(e[1], card), &to, &m) == UDP_OK);
        WAN_CHECK(udp_engine_peer(e[1], card, udp_engine_card(e[0], card), &back, &m) == UDP_OK);
        for (udp_outgoing_t &r : records)
            udp_engine_send(e[0], to, &r, data.data(), data.size(), 2, 0);
        udp_view_t v;
        do {
            udp_engine_progress(e[1]);
            udp_engine_progress(e[0]);
            udp_engine_view(e[0], to, &v);
        } while (v.queue);
        for (udp_engine_t *one : e)
            udp_engine_close(one);
        WAN_CHECK_THAT(mtu ? v.mtu == 1472 : v.mtu > 9000, std::to_string(mtu) + ": " + std::to_string(v.mtu));
    }
    return "";
}

/** Who sleeps until a descriptor is ready wakes up to acknowledge, also where nothing more comes; and then sleeps on. */
std::string timer_tells()
{
    udp_outgoing_t record = {};     // outlives the engines
    engine here(1, "127.0.0.1"), there(2, "127.0.0.1", true);
    uint8_t card[UDP_CARD_MAX];
    uint32_t peer, back;
    WAN_CHECK(udp_engine_peer(here.e, card, udp_engine_card(there.e, card), &peer, &here.m) == UDP_OK);
    WAN_CHECK(udp_engine_peer(there.e, card, udp_engine_card(here.e, card), &back, &there.m) == UDP_OK);
    pollfd socket = {udp_engine_fd(there.e), POLLIN, 0}, timer = {udp_engine_timer_fd(there.e), POLLIN, 0};
    WAN_CHECK(udp_engine_timer_fd(here.e) == -1 && timer.fd >= 0 && poll(&timer, 1, 0) == 0);
    udp_engine_send(here.e, peer, &record, "x", 1, 1, 0);
    WAN_CHECK(poll(&socket, 1, 5000) == 1);
    udp_engine_progress(there.e);
    pollfd answer = {udp_engine_fd(here.e), POLLIN, 0};
    while (poll(&answer, 1, 0) == 0) {      // the Ack waits for company: until the timer says that it has waited long enough
        WAN_CHECK(poll(&timer, 1, 5000) == 1);
        udp_engine_progress(there.e);
    }
    udp_engine_progress(here.e);
    udp_view_t v;
    udp_engine_view(here.e, peer, &v);
    WAN_CHECK(v.queue == 0);
    int wakes = 0;      // soon there is nothing to do
    for (; wakes < 100 && poll(&timer, 1, 1500) == 1; ++wakes)
        udp_engine_progress(there.e);
    WAN_CHECK_THAT(wakes < 100, std::to_string(wakes));
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(same_id_in_two_jobs), TEST(look_ups), TEST(part_of_one_that_left), TEST(silent_and_preferred), TEST(gone_want_nothing), TEST(never_heard), TEST(which_host), TEST(not_our_own_address), TEST(ports_and_buffers), TEST(room_to_send), TEST(size_inside_a_host), TEST(timer_tells)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
