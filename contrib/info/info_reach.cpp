/*
 * See info_reach.hpp.  A datagram: 16 bytes that say what it is, a number, zeros up to its size.
 * The answer is the same but for one byte.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_reach.hpp"

#include "info_words.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace info {

namespace {

using clock = std::chrono::steady_clock;

constexpr char question[17] = "wan-info reach ?", answer[17] = "wan-info reach !";
constexpr size_t head_bytes = 16 + sizeof(uint32_t);

class socket_of {
public:
    explicit socket_of(int family) : fd_(socket(family, SOCK_DGRAM, 0)) {}
    ~socket_of()
    {
        if (fd_ >= 0)
            close(fd_);
    }
    socket_of(const socket_of &) = delete;
    int fd() const { return fd_; }

private:
    int fd_;
};

using addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/** nullptr, with `why`. */
addresses addresses_of(const std::string &host, const std::string &port, std::string &why)
{
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_socktype = SOCK_DGRAM;
    if (const int code = getaddrinfo(host.c_str(), port.c_str(), &wanted, &found))
        why = gai_strerror(code);
    return {found, freeaddrinfo};
}

std::vector<char> datagram(size_t bytes, uint32_t number)
{
    std::vector<char> d(std::max(bytes, head_bytes));
    std::memcpy(d.data(), question, 16);
    std::memcpy(d.data() + 16, &number, sizeof number);
    return d;
}

class asker {
public:
    explicit asker(int fd) : fd_(fd) {}
    /** Its number; it counts as sent also where the kernel refuses it. */
    uint32_t ask(size_t bytes)
    {
        const uint32_t n = next_++;
        const auto d = datagram(bytes, n);
        asked_[n] = clock::now();
        (void) send(fd_, d.data(), d.size(), 0);
        return n;
    }
    /** Until all of so many after `from` are there, or the time is over. */
    void listen(uint32_t from, std::chrono::milliseconds most)
    {
        const auto until = clock::now() + most;
        std::vector<char> d(65536);
        while (back_.size() < next_ && count(from) < next_ - from) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
            pollfd p{fd_, POLLIN, 0};
            if (left <= 0 || poll(&p, 1, static_cast<int>(left)) <= 0)
                return;
            const ssize_t got = recv(fd_, d.data(), d.size(), 0);
            uint32_t n;
            if (got < static_cast<ssize_t>(head_bytes) || std::memcmp(d.data(), answer, 16) != 0)
                continue;
            std::memcpy(&n, d.data() + 16, sizeof n);
            if (n < next_)
                back_.try_emplace(n, clock::now() - asked_[n]);
        }
    }
    size_t count(uint32_t from) const { return static_cast<size_t>(std::distance(back_.lower_bound(from), back_.end())); }
    bool came(uint32_t n) const { return back_.contains(n); }
    /** Of all so far. */
    int64_t median_ns() const
    {
        std::vector<int64_t> all;
        for (const auto &[n, t] : back_)
            all.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(t).count());
        if (all.empty())
            return 0;
        std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(all.size() / 2), all.end());
        return all[all.size() / 2];
    }

private:
    int fd_;
    uint32_t next_ = 0;
    std::map<uint32_t, clock::time_point> asked_;
    std::map<uint32_t, clock::duration> back_;
};

/** Fragments hide how large a datagram may be: what does not fit is not sent. */
void fragments_forbid(int fd, int family)
{
    const int always = family == AF_INET6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
    (void) setsockopt(fd, family == AF_INET6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP),
                      family == AF_INET6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &always, sizeof always);
}

} // namespace

std::pair<std::string, std::string> reach_place(const std::string &where)
{
    const size_t colon = where.rfind(':');
    std::string host = where.substr(0, std::min(colon, where.size()));
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    if (colon == where.npos || host.empty() || colon + 1 == where.size())
        throw wrong_word("--udp: '" + where + "' is no HOST:PORT: give the one that `wan-info doctor --answer PORT` runs on");
    const std::string port = where.substr(colon + 1);
    int number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535)
        throw wrong_word("--udp: '" + port + "' is no port: a number from 1 to 65535, the one that `wan-info doctor --answer PORT` has on " + host);
    return {host, port};
}

reach reach_try(const std::string &where)
{
    reach r;
    const auto [host, port] = reach_place(where);
    const auto to = addresses_of(host, port, r.error);
    if (!to)
        return r;
    const socket_of s(to->ai_family);
    if (s.fd() < 0 || connect(s.fd(), to->ai_addr, to->ai_addrlen) != 0) {
        r.error = std::strerror(errno);
        return r;
    }
    fragments_forbid(s.fd(), to->ai_family);
    using namespace std::chrono_literals;
    asker a(s.fd());
    uint32_t first = 0;
    r.sent = 20;
    for (int i = 0; i < r.sent; ++i) {
        a.ask(64);
        a.listen(first, 20ms);      // of those that came up to now
    }
    a.listen(first, 1000ms);
    r.answered = static_cast<int>(a.count(first));
    r.median_ns = a.median_ns();
    if (!r.answered)
        return r;
    for (const int bytes : {548, 1200, 1372, 1472, 8972}) {
        r.sizes.push_back(bytes);
        bool came = false;
        for (int attempt = 0; attempt < 3 && !came; ++attempt) {
            const uint32_t n = a.ask(static_cast<size_t>(bytes));
            a.listen(n, 100ms + std::chrono::duration_cast<std::chrono::milliseconds>(3 * std::chrono::nanoseconds(r.median_ns)));
            came = a.came(n);
        }
        if (came)
            r.back.push_back(bytes);
    }
    r.burst = 64;
    for (int i = 0; i < r.burst; ++i) {
        const uint32_t n = a.ask(1200);
        first = i == 0 ? n : first;
    }
    a.listen(first, 1000ms + std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(r.median_ns)));
    r.burst_answered = static_cast<int>(a.count(first));
    return r;
}

int reach_answer(int port, int seconds)
{
    const socket_of both(AF_INET6), four_only(both.fd() < 0 ? AF_INET : -1);
    const int fd = both.fd() >= 0 ? both.fd() : four_only.fd(), no = 0;
    sockaddr_in6 six{};
    sockaddr_in four{};
    six.sin6_family = AF_INET6;
    four.sin_family = AF_INET;
    six.sin6_port = four.sin_port = htons(static_cast<uint16_t>(port));
    (void) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);      // IPv4, too
    if ((both.fd() >= 0 ? bind(fd, reinterpret_cast<sockaddr *>(&six), sizeof six) : bind(fd, reinterpret_cast<sockaddr *>(&four), sizeof four))
        != 0)
        throw wrong_word("--answer " + std::to_string(port) + ": " + std::strerror(errno) + ": give another port");
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    std::cout << "answering on UDP port " << port << " for " << seconds << " s; on the other host:\n"
              << "    wan-info doctor --udp " << name << ":" << port << std::endl;
    const auto until = clock::now() + std::chrono::seconds(seconds);
    std::vector<char> d(65536);
    uint64_t answered = 0;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
        pollfd p{fd, POLLIN, 0};
        if (left <= 0 || poll(&p, 1, static_cast<int>(left)) <= 0)
            break;
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        const ssize_t got = recvfrom(fd, d.data(), d.size(), 0, reinterpret_cast<sockaddr *>(&from), &length);
        if (got < static_cast<ssize_t>(head_bytes) || std::memcmp(d.data(), question, 16) != 0)
            continue;
        std::memcpy(d.data(), answer, 16);
        answered += sendto(fd, d.data(), static_cast<size_t>(got), 0, reinterpret_cast<sockaddr *>(&from), length) == got;
    }
    std::cout << answered << " datagrams were answered\n";
    return 0;
}

} // namespace info
