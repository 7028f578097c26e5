/*
 * One nonblocking UDP socket: many datagrams in a call, several as one where the
 * kernel can (GSO, GRO) and one by one where a device refuses.
 *
 * Must not: know the protocol; engine.cpp connects both.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_IO_SOCKET_HPP
#define UDP_IO_SOCKET_HPP

#include "endpoint.hpp"

#include <functional>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace udp {

/** An IPv4 or IPv6 address and port, as the kernel takes it; `v6.sin6_family` tells which. */
union socket_name {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
};
address address_of(const socket_name &a);
/** Its bytes that count. */
socklen_t name_of(const address &a, socket_name &to);

class socket {
public:
    socket();
    socket(const socket &) = delete;
    socket &operator=(const socket &) = delete;
    ~socket();

    /** "" or what the system says. */
    std::string open(bool v6, int port_min, int port_range, size_t buffer, bool gso);
    int fd() const { return fd_; }
    uint16_t port() const { return port_; }
    /** Bytes that the kernel gave, in the direction that got less. */
    size_t buffer() const { return buffer_; }

    /** Datagrams that are there, at most a batch; returns how many. */
    template <class F> int receive(F &&take);
    bool more() const { return more_; }     // the last batch was full

    /** Where to put the next datagram (endpoint::datagram_room bytes); nullptr: the kernel has no room, and ours is full. */
    uint8_t *slot();
    /** It is filled; leaves with the next flush at the latest. */
    void put(size_t bytes, const address &to, uint32_t peer);
    /**
     * Sends what was put; false: the kernel has no room for all, and what is left waits for the next flush.  `too_large`
     * hears of datagrams that the device refused for their size.
     */
    bool flush();
    bool waits() const { return !messages_.empty(); }
    std::function<void(uint32_t peer, uint32_t bytes)> too_large;
    uint64_t refused() const { return refused_; }

private:
    static constexpr size_t batch = 32;             // messages in a call
    static constexpr size_t segments = 44;          // datagrams in a message: 64 KB of 1472 bytes
    static constexpr size_t together = 65000;       // bytes of a message

    struct message {
        size_t at, bytes, segment, count;
        address to;
        uint32_t peer;
    };
    static constexpr size_t out_bytes = batch * 65536 + endpoint::datagram_room;

    bool send_one(const message &m, size_t from, size_t bytes);
    bool send_apart(message &m);
    size_t send_batch(size_t first);

    int fd_ = -1;
    uint16_t port_ = 0;
    size_t buffer_ = 0;
    bool gso_ = false, gro_ = false, more_ = false, refused_size_ = false;
    uint64_t refused_ = 0;
    std::unique_ptr<uint8_t[]> out_, in_;       // pages that are never used are never taken
    size_t used_ = 0, next_ = 0;                // bytes of out_; the first of messages_ that has not left
    std::vector<message> messages_;

    int receive_batch();
    struct inbox;
    std::unique_ptr<inbox> inbox_;
    bool busy_ = false;     // the last look found something
    struct arrival {
        uint8_t *at;
        size_t bytes, segment;
        address from;
    };
    arrival arrivals_[batch];
};

template <class F> int socket::receive(F &&take)
{
    const int n = receive_batch();
    int datagrams = 0;
    for (int i = 0; i < n; ++i) {
        arrival &a = arrivals_[i];
        const size_t segment = a.segment ? a.segment : a.bytes;
        for (size_t at = 0; at < a.bytes; at += segment) {
            take(a.from, std::span<uint8_t>(a.at + at, std::min(segment, a.bytes - at)));
            ++datagrams;
        }
    }
    return datagrams;
}

} // namespace udp

#endif
