/* SPDX-License-Identifier: BSD-3-Clause */
#include "socket.hpp"

#include <cerrno>
#include <cstring>
#include <netinet/udp.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace udp {

address address_of(const socket_name &a)
{
    address r;
    if (a.any.sa_family == AF_INET6) {
        r.length = 18;
        std::memcpy(r.bytes, &a.v6.sin6_addr, 16);
        std::memcpy(r.bytes + 16, &a.v6.sin6_port, 2);
    } else {
        r.length = 6;
        std::memcpy(r.bytes, &a.v4.sin_addr, 4);
        std::memcpy(r.bytes + 4, &a.v4.sin_port, 2);
    }
    return r;
}

socklen_t name_of(const address &a, socket_name &to)
{
    if (a.length == 18) {
        to.v6 = {};
        to.v6.sin6_family = AF_INET6;
        std::memcpy(&to.v6.sin6_addr, a.bytes, 16);
        std::memcpy(&to.v6.sin6_port, a.bytes + 16, 2);
        return sizeof to.v6;
    }
    to.v4 = {};
    to.v4.sin_family = AF_INET;
    std::memcpy(&to.v4.sin_addr, a.bytes, 4);
    std::memcpy(&to.v4.sin_port, a.bytes + 4, 2);
    return sizeof to.v4;
}

/** Where the kernel puts what it has, laid out once: a look that finds nothing should cost no more than the call. */
struct socket::inbox {
    mmsghdr m[batch];
    iovec v[batch];
    socket_name from[batch];
    alignas(cmsghdr) char control[batch][64];

    inbox(uint8_t *to, bool control_wanted)
    {
        for (size_t i = 0; i < batch; ++i) {
            v[i] = {to + i * 65536, 65536};
            m[i] = {};
            m[i].msg_hdr.msg_name = &from[i];
            m[i].msg_hdr.msg_iov = &v[i];
            m[i].msg_hdr.msg_iovlen = 1;
            m[i].msg_hdr.msg_control = control_wanted ? control[i] : nullptr;
            renew(i);
        }
    }
    /** The kernel has written into it. */
    void renew(size_t i)
    {
        m[i].msg_hdr.msg_namelen = sizeof from[i];
        m[i].msg_hdr.msg_controllen = m[i].msg_hdr.msg_control ? sizeof control[i] : 0;
    }
};

socket::socket() = default;
socket::~socket()
{
    if (fd_ >= 0)
        ::close(fd_);
}

std::string socket::open(bool v6, int port_min, int port_range, size_t buffer, bool gso)
{
    fd_ = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0)
        return std::string("socket: ") + std::strerror(errno);
    const int probe = IP_PMTUDISC_PROBE, probe_v6 = IPV6_PMTUDISC_PROBE, one = 1;
    if (v6)
        setsockopt(fd_, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    address any;
    any.length = v6 ? 18 : 6;
    socket_name a;
    socklen_t length = name_of(any, a);
    int rc = -1;
    for (int i = 0; rc != 0 && i < (port_min ? port_range : 1) && port_min + i < 65536; ++i) {
        (v6 ? a.v6.sin6_port : a.v4.sin_port) = htons(static_cast<uint16_t>(port_min + i));
        rc = bind(fd_, &a.any, length);
        if (rc != 0 && errno != EADDRINUSE)
            break;
    }
    if (rc != 0) {
        const int last = std::min(port_min + port_range, 65536) - 1;
        return std::string("bind: ") + std::strerror(errno)
               + (!port_min        ? ""
                  : last == port_min ? ": port " + std::to_string(port_min)
                                     : ": " + std::to_string(last - port_min + 1) + " ports, " + std::to_string(port_min) + " to " + std::to_string(last));
    }
    getsockname(fd_, &a.any, &length);
    port_ = ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port);
    // Never fragment; sizes come from our own probes, not from ICMP.
    if (v6)
        setsockopt(fd_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe_v6, sizeof probe_v6);
    else
        setsockopt(fd_, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe);
    buffer_ = buffer;
    for (int which : {SO_RCVBUF, SO_SNDBUF}) {
        int bytes = static_cast<int>(std::min<size_t>(buffer, 1 << 30)), got = 0;
        setsockopt(fd_, SOL_SOCKET, which, &bytes, sizeof bytes);
        length = sizeof got;
        getsockopt(fd_, SOL_SOCKET, which, &got, &length);
        buffer_ = std::min<size_t>(buffer_, static_cast<size_t>(got) / 2);     // Linux tells the double
    }
    gso_ = gso;
    gro_ = gso && setsockopt(fd_, IPPROTO_UDP, UDP_GRO, &one, sizeof one) == 0;
    in_ = std::make_unique_for_overwrite<uint8_t[]>(batch * 65536);
    out_ = std::make_unique_for_overwrite<uint8_t[]>(out_bytes);
    inbox_ = std::make_unique<inbox>(in_.get(), gro_);
    return "";
}

int socket::receive_batch()
{
    mmsghdr *const m = inbox_->m;
    int n;
    if (busy_) {
        n = recvmmsg(fd_, m, batch, MSG_DONTWAIT, nullptr);
    } else {
        // Who polls mostly finds nothing, and after that one message: the plain call is the cheaper one.
        const ssize_t bytes = recvmsg(fd_, &m[0].msg_hdr, MSG_DONTWAIT);
        n = bytes < 0 ? 0 : 1;
        m[0].msg_len = static_cast<unsigned>(std::max<ssize_t>(bytes, 0));
    }
    busy_ = n > 0;
    more_ = n == static_cast<int>(batch);
    for (int i = 0; i < n; ++i) {
        arrivals_[i] = {in_.get() + i * 65536, m[i].msg_len, 0, address_of(inbox_->from[i])};
        if (gro_)
            for (cmsghdr *c = CMSG_FIRSTHDR(&m[i].msg_hdr); c; c = CMSG_NXTHDR(&m[i].msg_hdr, c))
                if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
                    int size = 0;
                    std::memcpy(&size, CMSG_DATA(c), sizeof size);
                    arrivals_[i].segment = size > 0 ? static_cast<size_t>(size) : 0;
                }
        inbox_->renew(static_cast<size_t>(i));
    }
    return n < 0 ? 0 : n;
}

uint8_t *socket::slot()
{
    if (used_ + endpoint::datagram_room > out_bytes && !flush())
        return nullptr;
    return out_.get() + used_;
}

void socket::put(size_t bytes, const address &to, uint32_t peer)
{
    // Joins the last message if it goes to the same peer, and none before it is shorter.
    if (gso_ && !messages_.empty()) {
        message &m = messages_.back();
        if (m.peer == peer && m.to == to && m.bytes == m.segment * m.count && bytes <= m.segment && m.count < segments
            && m.bytes + bytes <= together) {
            m.bytes += bytes;
            ++m.count;
            used_ += bytes;
            return;
        }
    }
    messages_.push_back({used_, bytes, bytes, 1, to, peer});
    used_ += bytes;
}

/** False: it has to wait. */
bool socket::send_one(const message &m, size_t from, size_t bytes)
{
    socket_name to;
    const socklen_t length = name_of(m.to, to);
    if (sendto(fd_, out_.get() + from, bytes, MSG_DONTWAIT, &to.any, length) >= 0)
        return true;
    if (errno == EAGAIN)
        return false;
    if (errno == EMSGSIZE) {
        if (too_large)
            too_large(m.peer, static_cast<uint32_t>(bytes));
        refused_size_ = true;
    } else {
        ++refused_;     // as if lost
    }
    return true;
}

/** One by one; false: what is left of it has to wait. */
bool socket::send_apart(message &m)
{
    while (m.bytes) {
        const size_t bytes = std::min(m.segment, m.bytes);
        if (!send_one(m, m.at, bytes))
            return false;
        m.at += bytes;
        m.bytes -= bytes;
        m.count -= 1;
    }
    return true;
}

/** Sends from message `first` on; returns how many are dealt with, 0: they have to wait. */
size_t socket::send_batch(size_t first)
{
    mmsghdr h[batch];
    iovec v[batch];
    socket_name to[batch];
    alignas(cmsghdr) char control[batch][CMSG_SPACE(sizeof(uint16_t))];
    size_t n = std::min(batch, messages_.size() - first);
    if (messages_[first].count == 1 ? n == 1 : !gso_)     // the cheapest call, for what is waited for
        return send_apart(messages_[first]);
    for (size_t i = 1; i < n && !gso_; ++i)
        if (messages_[first + i].count > 1)
            n = i;
    for (size_t i = 0; i < n; ++i) {
        const message &m = messages_[first + i];
        v[i] = {out_.get() + m.at, m.bytes};
        h[i] = {};
        h[i].msg_hdr.msg_name = &to[i];
        h[i].msg_hdr.msg_namelen = name_of(m.to, to[i]);
        h[i].msg_hdr.msg_iov = &v[i];
        h[i].msg_hdr.msg_iovlen = 1;
        if (m.count > 1) {
            h[i].msg_hdr.msg_control = control[i];
            h[i].msg_hdr.msg_controllen = sizeof control[i];
            cmsghdr *c = CMSG_FIRSTHDR(&h[i].msg_hdr);
            c->cmsg_level = IPPROTO_UDP;
            c->cmsg_type = UDP_SEGMENT;
            c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
            const uint16_t segment = static_cast<uint16_t>(m.segment);
            std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
        }
    }
    const int sent = sendmmsg(fd_, h, static_cast<unsigned>(n), MSG_DONTWAIT);
    if (sent > 0)
        return static_cast<size_t>(sent);
    message &m = messages_[first];
    if (errno == EAGAIN)
        return 0;
    if (errno == ENOBUFS) {
        refused_ += m.count;    // a queue of the host has dropped it: as if lost
        return 1;
    }
    if (m.count > 1) {
        // Some devices refuse segments (EIO) or their number (EINVAL): one by one, from now on.  But not where it was their size.
        const bool given_up = errno == EIO || errno == EINVAL || errno == EOPNOTSUPP;
        refused_size_ = false;
        const bool gone = send_apart(m);
        gso_ = !given_up || refused_size_;
        return gone;
    }
    return send_apart(m);
}

bool socket::flush()
{
    while (next_ < messages_.size()) {
        const size_t n = send_batch(next_);
        if (n == 0)
            return false;
        next_ += n;
    }
    messages_.clear();
    used_ = next_ = 0;
    return true;
}

} // namespace udp
