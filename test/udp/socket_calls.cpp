/*
 * What the socket does when the kernel says no: a device without segments, a path
 * that takes smaller ones only, no room.  The calls that send are the test's own and
 * refuse as it says; what they let through arrives at a plain socket, and every datagram once.  Who sleeps meanwhile
 * is woken up.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "default_params.hpp"
#include "socket.hpp"

#include "unit.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <netinet/udp.h>
#include <poll.h>
#include <set>
#include <unistd.h>

using udp::address;

namespace {

/** Whether a message may leave: 0 or the error; segment: 0 for a plain one. */
std::function<int(size_t bytes, size_t segment)> allowed;
unsigned calls = 0, segmented = 0;

size_t bytes_of(const msghdr &m)
{
    size_t n = 0;
    for (size_t i = 0; i < m.msg_iovlen; ++i)
        n += m.msg_iov[i].iov_len;
    return n;
}
size_t segment_of(const msghdr &m)
{
    uint16_t s = 0;
    if (m.msg_control)
        std::memcpy(&s, CMSG_DATA(reinterpret_cast<const cmsghdr *>(m.msg_control)), sizeof s);
    return s;
}

} // namespace

extern "C" int sendmmsg(int fd, mmsghdr *m, unsigned n, int flags)
{
    static const auto real = reinterpret_cast<int (*)(int, mmsghdr *, unsigned, int)>(dlsym(RTLD_NEXT, "sendmmsg"));
    ++calls;
    for (unsigned i = 0; i < n; ++i) {
        const size_t segment = segment_of(m[i].msg_hdr);
        segmented += segment != 0;
        if (const int e = allowed(bytes_of(m[i].msg_hdr), segment)) {
            errno = e;
            return i ? static_cast<int>(i) : -1;
        }
        if (real(fd, &m[i], 1, flags) != 1)
            return i ? static_cast<int>(i) : -1;
    }
    return static_cast<int>(n);
}

extern "C" ssize_t sendto(int fd, const void *p, size_t n, int flags, const sockaddr *to, socklen_t length)
{
    static const auto real = reinterpret_cast<ssize_t (*)(int, const void *, size_t, int, const sockaddr *, socklen_t)>(dlsym(RTLD_NEXT, "sendto"));
    ++calls;
    if (const int e = allowed(n, 0)) {
        errno = e;
        return -1;
    }
    return real(fd, p, n, flags, to, length);
}

namespace {

struct place {
    udp::socket out;
    int in = -1;
    address to;
    std::set<uint32_t> got;
    uint32_t next = 0;
    bool twice = false;

    place()
    {
        in = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        const int room = 4 << 20;
        setsockopt(in, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        udp::socket_name a;
        a.v4 = {};
        a.v4.sin_family = AF_INET;
        a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t n = sizeof a.v4;
        const std::string why = out.open(false, 0, 1, 1 << 20, true);
        if (!why.empty() || bind(in, &a.any, n) != 0 || getsockname(in, &a.any, &n) != 0)
            throw std::runtime_error("no socket on loopback: " + why);
        to = udp::address_of(a);
    }
    ~place() { close(in); }
    bool put(size_t bytes)
    {
        uint8_t *const at = out.slot();
        if (!at)
            return false;
        std::memset(at, 0, bytes);
        std::memcpy(at, &next, sizeof next);
        ++next;
        out.put(bytes, to, 0);
        return true;
    }
    /** Numbers of the datagrams that came. */
    size_t take()
    {
        uint8_t b[65536];
        pollfd look = {in, POLLIN, 0};
        while (poll(&look, 1, 100) == 1) {
            uint32_t n;
            while (recv(in, b, sizeof b, 0) >= static_cast<ssize_t>(sizeof n)) {
                std::memcpy(&n, b, sizeof n);
                twice |= !got.insert(n).second;
            }
        }
        return got.size();
    }
};

std::string all_together()
{
    place p;
    allowed = [](size_t, size_t) { return 0; };
    calls = segmented = 0;
    for (int i = 0; i < 80; ++i)
        WAN_CHECK(p.put(1000));
    WAN_CHECK(p.out.flush() && p.take() == 80 && !p.twice && p.out.refused() == 0);
    WAN_CHECK_THAT(segmented == 2 && calls == 1, std::to_string(segmented) + " in " + std::to_string(calls));
    return "";
}

/** A device that knows no segments: everything goes all the same, and they are not tried again. */
std::string without_segments()
{
    for (const int error : {EIO, EINVAL, EOPNOTSUPP}) {
        place p;
        allowed = [&](size_t, size_t segment) { return segment ? error : 0; };
        for (int round = 0; round < 3; ++round) {
            segmented = 0;
            for (int i = 0; i < 60; ++i)
                WAN_CHECK(p.put(i % 20 == 0 ? 500 : 1000));
            WAN_CHECK(p.out.flush());
            WAN_CHECK_THAT(round ? segmented == 0 : segmented > 0, std::to_string(round) + ": " + std::to_string(segmented));
        }
        WAN_CHECK_THAT(p.take() == 180 && !p.twice && p.out.refused() == 0, std::to_string(p.got.size()));
    }
    return "";
}

/** Too large for the device: that is told, of each; the others go, and segments are still used. */
std::string too_large_for_the_device()
{
    for (const int error : {EMSGSIZE, EINVAL}) {
        place p;
        unsigned told = 0;
        p.out.too_large = [&](uint32_t, uint32_t bytes) { told += bytes == 1400; };
        allowed = [&](size_t bytes, size_t segment) { return segment > 1300 ? error : segment == 0 && bytes > 1300 ? EMSGSIZE : 0; };
        for (int i = 0; i < 10; ++i)
            WAN_CHECK(p.put(1400));
        for (int i = 0; i < 10; ++i)
            WAN_CHECK(p.put(1200));
        WAN_CHECK(p.out.flush());
        segmented = 0;
        for (int i = 0; i < 10; ++i)
            WAN_CHECK(p.put(1200));
        WAN_CHECK(p.out.flush());
        WAN_CHECK_THAT(told >= 10 && segmented == 1, std::to_string(told) + " " + std::to_string(segmented));
        WAN_CHECK_THAT(p.take() == 20 && !p.twice && p.out.refused() == 0, std::to_string(p.got.size()));
    }
    return "";
}

/** The kernel has no room: what was put waits, in our own room until that is full, and goes later. */
std::string no_room()
{
    for (const bool segments : {true, false}) {
        place p;
        int left = 3;   // messages until there is no room
        allowed = [&](size_t, size_t segment) { return segment && !segments ? EIO : left-- > 0 ? 0 : EAGAIN; };
        uint32_t put = 0;
        for (bool room = true; room && put < 100'000; put += room)
            room = p.put(put % 50 == 7 ? 700 : 1000);
        WAN_CHECK_THAT(put > 1000 && put < 4000, std::to_string(put));      // 2 MB of ours
        WAN_CHECK(!p.out.flush() && !p.put(1000));
        while (!p.out.flush()) {
            left = 7;
            (void) p.take();
        }
        WAN_CHECK_THAT(p.take() == put && !p.twice && p.out.refused() == 0, std::to_string(p.got.size()) + " of " + std::to_string(put));
        left = 1000;
        WAN_CHECK(p.put(1000) && p.out.flush() && p.take() == put + 1);
    }
    return "";
}

/** Who sleeps until its timer is ready is to try again at once, not when the peer's answer is overdue. */
std::string no_room_and_asleep()
{
    static char device[] = "lo", place[] = "127.0.0.1";
    udp_params_t params = default_params();
    params.interfaces = device;
    params.address = place;
    params.timer = 1;
    params.linger = 0;
    udp_engine_t *e[2] = {};
    udp_message_t m;
    uint8_t card[UDP_CARD_MAX];
    uint32_t peer;
    udp_outgoing_t record = {};
    for (uint64_t i = 0; i < 2; ++i)
        WAN_CHECK_THAT(udp_engine_open(&e[i], &params, i + 1, 3, i + 1, &no_events, nullptr, &m) == UDP_OK, m.what);
    WAN_CHECK_THAT(udp_engine_peer(e[0], card, udp_engine_card(e[1], card), &peer, &m) == UDP_OK, m.what);
    int refusals = 0;
    allowed = [&](size_t, size_t) { return ++refusals, EAGAIN; };
    udp_engine_send(e[0], peer, &record, "x", 1, 1, 0);
    pollfd timer = {udp_engine_timer_fd(e[0]), POLLIN, 0}, there = {udp_engine_fd(e[1]), POLLIN, 0};
    for (int i = 0; i < 3; ++i) {       // an answer is overdue after 102 ms
        WAN_CHECK(poll(&timer, 1, 50) == 1);
        udp_engine_progress(e[0]);
    }
    WAN_CHECK_THAT(refusals > 1, std::to_string(refusals));
    allowed = [](size_t, size_t) { return 0; };
    WAN_CHECK(poll(&timer, 1, 50) == 1);
    udp_engine_progress(e[0]);
    WAN_CHECK(poll(&there, 1, 5000) == 1);
    for (udp_engine_t *one : e)
        udp_engine_close(one);
    return "";
}

} // namespace

#define TEST(name) cmocka_unit_test_prestate(wan_test::test<name>, nullptr)

int main()
{
    const CMUnitTest tests[] = {TEST(all_together), TEST(without_segments), TEST(too_large_for_the_device), TEST(no_room), TEST(no_room_and_asleep)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
