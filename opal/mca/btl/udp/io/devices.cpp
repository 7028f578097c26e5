/* SPDX-License-Identifier: BSD-3-Clause */
#include "devices.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdio>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace udp {
namespace {

constexpr size_t addresses_max = 24;

/** The address of a device, or "": not one that peers could use. */
bool place_of(const ifaddrs &i, place &p)
{
    unsigned bits = 0;
    if (i.ifa_addr->sa_family == AF_INET) {
        if (i.ifa_netmask)
            bits = static_cast<unsigned>(__builtin_popcount(reinterpret_cast<sockaddr_in *>(i.ifa_netmask)->sin_addr.s_addr));
        p = place::of(reinterpret_cast<sockaddr_in *>(i.ifa_addr)->sin_addr, i.ifa_netmask ? bits : 32);
        return true;
    }
    if (i.ifa_addr->sa_family != AF_INET6)
        return false;
    p.ip = reinterpret_cast<sockaddr_in6 *>(i.ifa_addr)->sin6_addr;
    for (unsigned k = 0; i.ifa_netmask && k < 16; ++k)
        bits += static_cast<unsigned>(__builtin_popcount(reinterpret_cast<sockaddr_in6 *>(i.ifa_netmask)->sin6_addr.s6_addr[k]));
    p.prefix = static_cast<uint8_t>(i.ifa_netmask ? bits : 128);
    return !IN6_IS_ADDR_LINKLOCAL(&p.ip);
}

bool listed(const std::string &list, const std::string &name)
{
    return list.empty() || ("," + list + ",").find("," + name + ",") != std::string::npos;
}

} // namespace

address place::at(uint16_t port) const
{
    socket_name a;
    if (is_v4()) {
        a.v4 = {};
        a.v4.sin_family = AF_INET;
        std::memcpy(&a.v4.sin_addr, ip.s6_addr + 12, 4);
        a.v4.sin_port = htons(port);
    } else {
        a.v6 = {};
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_addr = ip;
        a.v6.sin6_port = htons(port);
    }
    return address_of(a);
}

place loopback(bool v6)
{
    place p;
    p.ip = in6addr_loopback;
    return v6 ? p : place::of({htonl(INADDR_LOOPBACK)}, 32);
}

std::string devices::look(const std::string &list, const std::string &address_told)
{
    ifaddrs *all = nullptr;
    if (getifaddrs(&all) != 0)
        return "the devices cannot be listed";
    std::vector<place> kinds[4];        // IPv4, IPv6, loopback of IPv4, of IPv6: the first that there is
    uint32_t most = 0, least = 65535;
    std::string narrow;                 // devices that are of no use
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (ifaddrs *i = all; i; i = i->ifa_next) {
        place p;
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || !listed(list, i->ifa_name) || !place_of(*i, p))
            continue;
        const bool loop = i->ifa_flags & IFF_LOOPBACK;
        ifreq r = {};
        std::snprintf(r.ifr_name, sizeof r.ifr_name, "%s", i->ifa_name);
        if (!loop && ioctl(fd, SIOCGIFMTU, &r) == 0) {
            const uint32_t carries = static_cast<uint32_t>(r.ifr_mtu);
            if (carries < wire::datagram_least + (p.is_v4() ? headers_v4 : headers_v6)) {
                narrow += std::string(narrow.empty() ? "" : ", ") + i->ifa_name + " (MTU " + std::to_string(carries) + ")";
                continue;
            }
            most = std::max(most, carries);
            least = std::min(least, carries);
        }
        kinds[(loop ? 2 : 0) + (p.is_v4() ? 0 : 1)].push_back(p);
    }
    if (fd >= 0)
        ::close(fd);
    freeifaddrs(all);
    // Loopback reaches nobody elsewhere: not in place of devices that are of no use.
    for (int k = 0; k < (narrow.empty() ? 4 : 2); ++k)
        if (places.empty())
            places = std::move(kinds[k]);
    if (places.size() > addresses_max)
        places.resize(addresses_max);
    if (most) {
        mtu = std::min(most, 65535u);
        mtu_least = least;
    }
    if (!address_told.empty()) {
        place p;
        in_addr v4;
        if (inet_pton(AF_INET, address_told.c_str(), &v4) == 1)
            p = place::of(v4, 32);
        else if (inet_pton(AF_INET6, address_told.c_str(), &p.ip) != 1)
            return "'" + address_told + "' is no IPv4 or IPv6 address";
        places.assign(1, p);
        told = true;
    }
    if (!places.empty())
        return "";
    return "no device that is up and allowed has an address"
           + (narrow.empty() ? "" : ", but for devices whose packets are too small for a datagram: " + narrow);
}

} // namespace udp
