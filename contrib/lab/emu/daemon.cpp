// SPDX-License-Identifier: BSD-3-Clause
// The loop of daemon.h; what the control lines mean is in control.cpp.
//
// The daemon shares its cores with the ranks, so it wakes at most once per tick
// while packets flow: after a wake-up it first sleeps out the tick, then waits
// for packets or for the next due departure. A lone packet is thus forwarded at
// the exact instant, a stream in batches of one tick.
#include "daemon.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace wan::lab {
namespace {

constexpr time_ns ms = 1'000'000;
// While packets flow the daemon wakes at least this often: each such wake-up
// measures how long a packet may have lain unread in a TUN, which no departure
// time can show.
constexpr time_ns heartbeat = ms;
constexpr time_ns quiet_after = 200 * ms;
constexpr int reads_per_site = 64;
constexpr std::uint64_t control_tag = 1000;

void sleep_until(time_ns when)
{
    const timespec at{static_cast<time_t>(when / 1'000'000'000),
                      static_cast<long>(when % 1'000'000'000)};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
    }
}

}  // namespace

time_ns now_ns()
{
    timespec t;
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<time_ns>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

Daemon::~Daemon()
{
    if (control_ >= 0) {
        ::close(control_);
        ::unlink(settings.socket_path.c_str());
    }
    if (epoll_ >= 0) {
        ::close(epoll_);
    }
}

bool Daemon::start(std::string& why)
{
    if (tuns_.empty()) {
        why = "no site is configured";
        return false;
    }
    path_.seed_set(settings.seed);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (settings.socket_path.empty() || settings.socket_path.size() >= sizeof address.sun_path) {
        why = "the control socket's path is missing or too long: '" + settings.socket_path + "'";
        return false;
    }
    std::strcpy(address.sun_path, settings.socket_path.c_str());
    ::unlink(settings.socket_path.c_str());
    control_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (control_ < 0 || epoll_ < 0 ||
        ::bind(control_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(control_, 8) != 0) {
        why = "cannot listen on " + settings.socket_path + ": " + std::strerror(errno);
        return false;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = control_tag;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, control_, &event);
    for (std::size_t i = 0; i < tuns_.size(); ++i) {
        event.data.u64 = i;
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, tuns_[i].fd(), &event);
    }
    if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        std::fprintf(stderr, "wanemu: memory is not locked (%s)\n", std::strerror(errno));
    }
    if (settings.realtime_priority > 0) {
        const sched_param priority{settings.realtime_priority};
        if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
            std::fprintf(stderr, "wanemu: no SCHED_FIFO (%s): expect lateness\n",
                         std::strerror(errno));
        }
    }
    offload_update();
    since_ = now_ns();
    started_ = true;
    return true;
}

time_ns Daemon::wake_wanted(time_ns now) const
{
    const time_ns due = path_.next_due();
    const bool busy = path_.in_flight() > 0 || now - last_packet_ < quiet_after;
    return busy ? std::min(due, now + heartbeat) : due;
}

void Daemon::run(const std::atomic<bool>& stop)
{
    const time_ns tick = settings.tick_us * 1000LL;
    epoll_event events[64];
    while (!stop) {
        const time_ns before = now_ns();
        const time_ns wanted = wake_wanted(before);
        timespec wait{};
        if (wanted != INT64_MAX && wanted > before) {
            wait.tv_sec = (wanted - before) / 1'000'000'000;
            wait.tv_nsec = (wanted - before) % 1'000'000'000;
        }
        const int ready = ::epoll_pwait2(epoll_, events, 64,
                                         wanted == INT64_MAX ? nullptr : &wait, nullptr);
        const time_ns woken = now_ns();
        ++wakeups_;
        if (wanted > before && woken > wanted) {
            wake_.add(woken, woken - wanted);
        }
        packets_deliver();
        for (int i = 0; i < ready; ++i) {
            const std::uint64_t tag = events[i].data.u64;
            if (tag == control_tag) {
                control_accept();
            } else if (tag > control_tag) {
                control_read(static_cast<int>(tag - control_tag - 1));
            } else {
                packets_read(static_cast<std::size_t>(tag));
            }
        }
        packets_deliver();
        if (tick > 0 && (ready > 0 || path_.in_flight() > 0) && now_ns() < woken + tick) {
            sleep_until(woken + tick);
            const time_ns slept = now_ns();
            wake_.add(slept, slept - (woken + tick));
        }
    }
}

void Daemon::packets_read(std::size_t site)
{
    for (int i = 0; i < reads_per_site; ++i) {
        const long got = tuns_[site].read(buffer_.data(), buffer_.size());
        if (got <= 0) {
            return;
        }
        const time_ns now = now_ns();
        Packet packet;
        std::uint32_t destination = 0;
        if (!packet_measure(buffer_.data(), static_cast<std::size_t>(got), destination, packet)) {
            ++no_route_;
            continue;
        }
        const int to = path_.site_by_address(destination);
        if (to < 0 || static_cast<std::size_t>(to) == site) {
            ++no_route_;
            continue;
        }
        last_packet_ = now;
        packet.from = static_cast<std::uint8_t>(site);
        packet.to = static_cast<std::uint8_t>(to);
        packet.size_bytes = static_cast<std::uint32_t>(got);
        packet.data = pool_.take(buffer_.data(), packet.size_bytes, packet.slot_class);
        if (!path_.admit(now, packet)) {
            pool_.give_back(packet);
        }
    }
}

void Daemon::packets_deliver()
{
    Packet packet;
    bool dropped = false;
    while (path_.take_due(now_ns(), packet, dropped)) {
        if (!dropped && !tuns_[packet.to].write(packet.data, packet.size_bytes)) {
            ++write_errors_;
        }
        pool_.give_back(packet);
    }
}

void Daemon::control_accept()
{
    const int client = ::accept4(control_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) {
        return;
    }
    // The client may be slow on a busy machine; the packets must not wait for it.
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = control_tag + 1 + static_cast<std::uint64_t>(client);
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, client, &event);
    clients_[client].clear();
}

/// One line in, one line out, then the connection ends.
void Daemon::control_read(int client)
{
    std::string& line = clients_[client];
    char chunk[4096];
    const ssize_t got = ::recv(client, chunk, sizeof chunk, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got > 0) {
        line.append(chunk, static_cast<std::size_t>(got));
        if (line.find('\n') == std::string::npos && line.size() < 65536) {
            return;
        }
        const std::string answer = command(line.substr(0, line.find('\n'))) + "\n";
        // Answers fit into the socket's buffer (26 sites: about 200 KB at most).
        (void)!::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    clients_.erase(client);
    ::close(client);
}

}  // namespace wan::lab
