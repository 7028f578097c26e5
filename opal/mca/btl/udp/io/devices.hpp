/*
 * Where this host is: the addresses of its devices and how large their packets may be.
 *
 * Must not: know peers.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_IO_DEVICES_HPP
#define UDP_IO_DEVICES_HPP

#include "socket.hpp"

#include <string>
#include <vector>

namespace udp {

/** An address as IPv6, those of IPv4 mapped into it, and its network. */
struct place {
    in6_addr ip{};
    uint8_t prefix = 128;

    bool is_v4() const { return IN6_IS_ADDR_V4MAPPED(&ip); }
    static place of(const in_addr &a, unsigned prefix)
    {
        place p;
        p.ip.s6_addr[10] = p.ip.s6_addr[11] = 0xff;
        std::memcpy(p.ip.s6_addr + 12, &a, 4);
        p.prefix = static_cast<uint8_t>(96 + prefix);
        return p;
    }
    bool near(const place &o) const
    {
        for (unsigned i = 0; i < prefix; ++i)
            if ((ip.s6_addr[i / 8] ^ o.ip.s6_addr[i / 8]) >> (7 - i % 8) & 1)
                return false;
        return true;
    }
    address at(uint16_t port) const;
};
place loopback(bool v6);

struct devices {
    static constexpr uint32_t headers_v4 = 28, headers_v6 = 48;     // bytes of IP and UDP

    std::vector<place> places;      // all of one kind
    bool told = false;              // which address to tell
    uint32_t mtu = 1500, mtu_least = 1500;      // of an IP packet, of the device with the largest and of that with the smallest

    bool v6() const { return !places.front().is_v4(); }
    uint32_t headers() const { return v6() ? headers_v6 : headers_v4; }
    const char *parameter = "interfaces";       // what the words of look() are about: btl_udp_...
    std::string unmatched;          // of the list: what is no device, in quotes
    /** Finds all of it; "" or what is missing.  `list`: names of devices or networks, empty: all.  `address_told`: in place of theirs. */
    std::string look(const std::string &list, const std::string &address_told);
    /** Of a peer's addresses one in a network of ours, else the first. */
    place best_of(const std::vector<place> &theirs) const;
};

} // namespace udp

#endif
