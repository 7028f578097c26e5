// SPDX-License-Identifier: BSD-3-Clause
// See tun.h. Every packet carries a virtio header both ways, so that checksums
// stay unfinished and TCP super-packets whole from one site's stack to the other's.
#include "tun.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wan::lab {
namespace {

// linux/virtio_net.h has a member named `class`, so C++ cannot include it.
struct VnetHeader {
    std::uint8_t flags, gso_type;
    std::uint16_t header_bytes, gso_size, checksum_start, checksum_offset;
};
constexpr std::size_t vnet_bytes = sizeof(VnetHeader);
static_assert(vnet_bytes == 10);
constexpr std::uint8_t gso_none = 0;
constexpr std::uint32_t ethernet_bytes = 14;   // tbf on the hosts counts these too

}  // namespace

Tun::~Tun()
{
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

bool Tun::open(const std::string& netns, const std::string& name, std::string& why)
{
    // A TUN is born in the namespace of the thread that makes it.
    const int home = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = ::open(netns.c_str(), O_RDONLY | O_CLOEXEC);
    if (home < 0 || there < 0 || ::setns(there, CLONE_NEWNET) != 0) {
        why = "cannot enter " + netns + ": " + std::strerror(errno);
    } else {
        fd_ = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
        ifreq request{};
        request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
        std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
        if (fd_ < 0) {
            why = std::string("cannot open /dev/net/tun: ") + std::strerror(errno);
        } else if (::ioctl(fd_, TUNSETIFF, &request) != 0) {
            why = "cannot make the TUN device " + name + ": " + std::strerror(errno);
            ::close(fd_);
            fd_ = -1;
        }
    }
    if (home >= 0) {
        if (there >= 0 && ::setns(home, CLONE_NEWNET) != 0) {
            why = std::string("cannot return from ") + netns + ": " + std::strerror(errno);
        }
        ::close(home);
    }
    if (there >= 0) {
        ::close(there);
    }
    return why.empty() && segments_together(true);
}

bool Tun::segments_together(bool yes)
{
    segments_ = yes;
    const unsigned long offload = TUN_F_CSUM | (yes ? TUN_F_TSO4 | TUN_F_TSO_ECN : 0u);
    return ::ioctl(fd_, TUNSETOFFLOAD, offload) == 0;
}

long Tun::read(std::uint8_t* buffer, std::size_t size)
{
    const ssize_t got = ::read(fd_, buffer, size);
    return got >= 0 ? got : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

bool Tun::write(const std::uint8_t* data, std::size_t size)
{
    return ::write(fd_, data, size) == static_cast<ssize_t>(size);
}

bool packet_measure(const std::uint8_t* data, std::size_t size, std::uint32_t& destination,
                    Packet& packet)
{
    if (size < vnet_bytes + 20 || data[vnet_bytes] >> 4 != 4) {
        return false;
    }
    VnetHeader header;
    std::memcpy(&header, data, vnet_bytes);
    std::memcpy(&destination, data + vnet_bytes + 16, 4);
    destination = ntohl(destination);

    const auto bytes = static_cast<std::uint32_t>(size - vnet_bytes);
    packet.frames = 1;
    packet.wire_bytes = bytes + ethernet_bytes;
    if (header.gso_type != gso_none && header.gso_size > 0) {
        // Each frame of a super-packet has its own IP and TCP header. hdr_len is
        // only a hint, so the lengths are taken from the packet.
        const std::uint8_t* ip = data + vnet_bytes;
        const std::uint32_t ip_bytes = (ip[0] & 15u) * 4u;
        if (bytes < ip_bytes + 20) {
            return false;
        }
        const std::uint32_t headers = ip_bytes + (ip[ip_bytes + 12] >> 4) * 4u;
        const std::uint32_t payload = bytes > headers ? bytes - headers : 0;
        const std::uint32_t frames = (payload + header.gso_size - 1) / header.gso_size;
        packet.frames = static_cast<std::uint16_t>(frames ? frames : 1);
        packet.wire_bytes = payload + packet.frames * (headers + ethernet_bytes);
    }
    return true;
}

}  // namespace wan::lab
