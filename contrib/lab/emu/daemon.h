// SPDX-License-Identifier: BSD-3-Clause
// The event loop: TUNs, the path, the control socket, and when to sleep.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "flat_json.h"
#include "path.h"
#include "tun.h"

namespace wan::lab {

struct DaemonSettings {
    std::string socket_path;
    int tick_us = 100;           ///< at most one wake-up per tick while busy
    int realtime_priority = 50;  ///< SCHED_FIFO; 0: ordinary scheduling
    std::uint64_t seed = 1;
};

class Daemon {
public:
    ~Daemon();

    /// One configuration or control line; the answer is one line of JSON.
    std::string command(const std::string& line);

    /// Opens the control socket and becomes a real-time process as configured.
    bool start(std::string& why);
    void run(const std::atomic<bool>& stop);

    DaemonSettings settings;

private:
    std::string site_command(const FlatJson& line);
    std::string uplink_set(const FlatJson& line);
    std::string pair_set(const FlatJson& line);
    std::string stat(bool reset);
    void offload_update();

    void control_accept();
    void control_read(int client);
    void packets_read(std::size_t site);
    void packets_deliver();
    time_ns wake_wanted(time_ns now) const;

    Path path_;
    PacketPool pool_;
    std::vector<Tun> tuns_;
    std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(max_packet_bytes);
    Lateness wake_;                    ///< of every wake-up at a wanted instant
    std::uint64_t no_route_ = 0;
    std::uint64_t write_errors_ = 0;
    std::uint64_t wakeups_ = 0;
    time_ns last_packet_ = 0;
    time_ns since_ = 0;                ///< start of the counters
    std::map<int, std::string> clients_;   ///< descriptor, what it sent so far
    int control_ = -1;
    int epoll_ = -1;
    bool started_ = false;
};

time_ns now_ns();

}  // namespace wan::lab
