// SPDX-License-Identifier: BSD-3-Clause
// A TUN device inside another network namespace, and the sizes of what it carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "packet.h"

namespace wan::lab {

class Tun {
public:
    Tun() = default;
    Tun(const Tun&) = delete;
    Tun& operator=(const Tun&) = delete;
    Tun(Tun&& other) noexcept : fd_(other.fd_), segments_(other.segments_) { other.fd_ = -1; }
    ~Tun();

    /// Makes `name` in the namespace file `netns` (such as /proc/PID/ns/net);
    /// on failure false, and `why` says what failed. The device goes away with us.
    bool open(const std::string& netns, const std::string& name, std::string& why);

    /// True: the kernel hands over TCP super-packets; false: single frames.
    bool segments_together(bool yes);

    /// Bytes read into buffer, 0 when there is nothing, -1 on failure.
    long read(std::uint8_t* buffer, std::size_t size);
    /// False when the kernel refused the packet.
    bool write(const std::uint8_t* data, std::size_t size);
    int fd() const { return fd_; }

private:
    int fd_ = -1;
    bool segments_ = false;
};

/// What a read gave: destination and the bytes and frames it stands for on a
/// wire. False: not IPv4.
bool packet_measure(const std::uint8_t* data, std::size_t size, std::uint32_t& destination,
                    Packet& packet);

}  // namespace wan::lab
