/* SPDX-License-Identifier: BSD-3-Clause */
#include "devices.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstdio>
#include <ifaddrs.h>
#include <net/if.h>
#include <sstream>
#include <sys/ioctl.h>
#include <system_error>
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

bool address_in(const std::string &text, place &p)
{
    in_addr v4;
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
        p = place::of(v4, 32);
        return true;
    }
    return inet_pton(AF_INET6, text.c_str(), &p.ip) == 1;
}

/** What stands between two commas: the name of a device, or a network such as 10.0.0.0/8. */
struct entry {
    std::string text;
    place network;
    std::string fault = {};     // what is wrong with it
    bool is_network = false, found = false;

    explicit entry(std::string t) : text(std::move(t))
    {
        const size_t slash = text.find('/');
        unsigned bits = 0;
        if (!address_in(text.substr(0, slash), network)) {
            if (slash != std::string::npos)
                fault = "'" + text + "' is no network: an address and its bits, as in 10.0.0.0/8";
            return;
        }
        const unsigned most = network.is_v4() ? 32 : 128;
        if (slash == std::string::npos) {
            fault = "'" + text + "' is an address: as a network of its own it is " + text + "/" + std::to_string(most);
            return;
        }
        const char *const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, bits);
        if (error != std::errc() || stop != end || bits > most) {
            fault = "'" + text + "': behind the '/' stand a network's bits, 0 to " + std::to_string(most);
            return;
        }
        network.prefix = static_cast<uint8_t>(network.is_v4() ? 96 + bits : bits);
        is_network = true;
    }
    bool matches(const char *name, const place &p) const { return is_network ? network.is_v4() == p.is_v4() && network.near(p) : text == name; }
};

std::vector<entry> entries_of(const std::string &list)
{
    std::vector<entry> all;
    std::istringstream in(list);
    for (std::string text; std::getline(in, text, ',');)
        if (!text.empty())
            all.emplace_back(text);
    return all;
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

place devices::best_of(const std::vector<place> &theirs) const
{
    place best;
    int rank = -1;
    for (const place &p : theirs) {
        const auto any_of_ours = [&](auto &&holds) { return std::any_of(places.begin(), places.end(), holds); };
        // What is ours (a bridge of containers, the same on all hosts) is last: there we should only find ourselves,
        // unless somebody said that it is the address of both.
        const int r = !told && any_of_ours([&](const place &mine) { return IN6_ARE_ADDR_EQUAL(&mine.ip, &p.ip); }) ? 0
                      : any_of_ours([&](const place &mine) { return mine.near(p); })                               ? 2
                                                                                                                   : 1;
        if (r > rank) {
            best = p;
            rank = r;
        }
    }
    return best;
}

std::string devices::look(const std::string &list, const std::string &address_told)
{
    std::vector<entry> wanted = entries_of(list);
    for (const entry &e : wanted)
        if (!e.fault.empty())
            return e.fault;
    ifaddrs *all = nullptr;
    if (getifaddrs(&all) != 0)
        return "the devices cannot be listed";
    std::vector<place> kinds[4];        // IPv4, IPv6, loopback of IPv4, of IPv6: the first that there is
    uint32_t most = 0, least = 65535;
    std::string narrow;                 // devices that are of no use
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (ifaddrs *i = all; i; i = i->ifa_next) {
        place p;
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || !place_of(*i, p))
            continue;
        bool listed = list.empty();
        for (entry &e : wanted)
            if (e.matches(i->ifa_name, p))
                listed = e.found = true;
        if (!listed)
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
    for (const entry &e : wanted)
        if (!e.found)
            unmatched += (unmatched.empty() ? "'" : ", '") + e.text + "'";
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
        parameter = "address";
        if (!address_in(address_told, p))
            return "'" + address_told + "' is no IPv4 or IPv6 address";
        places.assign(1, p);
        told = true;
    }
    if (!places.empty())
        return "";
    return (list.empty() ? "no device that is up has an address" : "no device that is up and in '" + list + "' has an address")
           + (narrow.empty() ? "" : ", but for devices whose packets are too small for a datagram: " + narrow);
}

} // namespace udp
