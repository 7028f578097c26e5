/*
 * Which devices' addresses are told to peers: all that are up, or those that btl_udp_interfaces names, by
 * their whole names or their networks; loopback only where there is no other; the sizes of packets of these alone.
 * In a network of the test's own, where that can be had.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "devices.hpp"

#include "unit.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using udp::devices;

namespace {

/** The addresses that are told, with the sizes of packets and what of the list is no device; or why there are none. */
std::string chosen(const std::string &list, const std::string &address_told = "")
{
    devices d;
    if (std::string why = d.look(list, address_told); !why.empty())
        return why;
    std::vector<std::string> texts;
    for (const udp::place &p : d.places) {
        char name[INET6_ADDRSTRLEN];
        if (p.is_v4())
            inet_ntop(AF_INET, p.ip.s6_addr + 12, name, sizeof name);
        else
            inet_ntop(AF_INET6, &p.ip, name, sizeof name);
        texts.push_back(std::string(name) + "/" + std::to_string(p.is_v4() ? p.prefix - 96 : p.prefix) + " ");
    }
    std::sort(texts.begin(), texts.end());
    std::string text;
    for (const std::string &t : texts)
        text += t;
    return text + std::to_string(d.mtu_least) + "-" + std::to_string(d.mtu) + (d.unmatched.empty() ? "" : " " + d.unmatched);
}

std::string differs(const std::string &list, const std::string &expected, const std::string &address_told = "")
{
    const std::string is = chosen(list, address_told);
    return is == expected ? "" : "'" + list + "': " + is + ", not " + expected;
}

/** In a network where nothing is yet; "no" if that is not to be had. */
std::string look_around()
{
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return "no";
    if (const std::string why = differs("", "no device that is up has an address"); !why.empty())
        return why;
    if (std::system("{ ip link set lo up && ip link add w1 type veth peer name w10 && ip link set w10 mtu 1400 && ip link set w1 mtu 9000; } >/dev/null 2>&1") != 0)
        return "no";
    // Loopback where nothing else is; devices that are down do not count.
    std::string why = differs("", "127.0.0.1/8 1500-1500");
    if (why.empty() && std::system("ip addr add 192.0.2.1/24 dev w1 && ip addr add 198.51.100.1/25 dev w10 && ip addr add 198.51.100.200/25 dev w10 && ip link set w1 up") != 0)
        return "no";
    if (why.empty())
        why = differs("", "192.0.2.1/24 9000-9000");
    if (why.empty() && std::system("ip link set w10 up") != 0)
        return "no";
    const std::string two = "198.51.100.1/25 198.51.100.200/25 ";
    for (const auto &[list, expected] : {std::pair<std::string, std::string>{"", "192.0.2.1/24 " + two + "1400-9000"},
                                         {"w1", "192.0.2.1/24 9000-9000"},
                                         {"w10", two + "1400-1400"},
                                         {"w10,w1", "192.0.2.1/24 " + two + "1400-9000"},
                                         {"lo,w1", "192.0.2.1/24 9000-9000"},
                                         {"lo", "127.0.0.1/8 1500-1500"},
                                         {"w", "no device that is up and in 'w' has an address"},
                                         {"w1,nowhere,192.0.3.0/24", "192.0.2.1/24 9000-9000 'nowhere', '192.0.3.0/24'"},
                                         {"192.0.0.0/22", "192.0.2.1/24 9000-9000"},
                                         {"198.51.100.128/25,w1", "192.0.2.1/24 198.51.100.200/25 1400-9000"},
                                         {"192.0.2.0/33", "'192.0.2.0/33': behind the '/' stand a network's bits, 0 to 32"},
                                         {"w1,192.0.2.0/", "'192.0.2.0/': behind the '/' stand a network's bits, 0 to 32"},
                                         {"192.0.2.0/99999999999", "'192.0.2.0/99999999999': behind the '/' stand a network's bits, 0 to 32"},
                                         {"::/129", "'::/129': behind the '/' stand a network's bits, 0 to 128"},
                                         {"w1,300.0.0.0/8", "'300.0.0.0/8' is no network: an address and its bits, as in 10.0.0.0/8"},
                                         {"192.0.2.1", "'192.0.2.1' is an address: as a network of its own it is 192.0.2.1/32"},
                                         {"192.0.7.0/24", "no device that is up and in '192.0.7.0/24' has an address"},
                                         {"::8000:0:0/81", "no device that is up and in '::8000:0:0/81' has an address"},
                                         {"0.0.0.0/0", "192.0.2.1/24 " + two + "1400-9000"}})
        if (why.empty())
            why = differs(list, expected);
    if (why.empty())        // what is told replaces addresses, but not what the devices carry
        why = differs("w10", "203.0.113.5/32 1400-1400", "203.0.113.5");
    if (why.empty())
        why = differs("w10", "'here' is no IPv4 or IPv6 address", "here");
    return why;
}

std::string which_devices()
{
    int channel[2];
    WAN_CHECK(pipe(channel) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const std::string why = look_around();
        _exit(write(channel[1], why.data(), why.size()) != static_cast<ssize_t>(why.size()));
    }
    close(channel[1]);
    char text[4096];
    std::string why;
    for (ssize_t n; (n = read(channel[0], text, sizeof text)) > 0;)
        why.append(text, static_cast<size_t>(n));
    close(channel[0]);
    int code = -1;
    WAN_CHECK(waitpid(child, &code, 0) == child && code == 0);
    if (why == "no") {
        std::printf("no network of its own to be had: not tried\n");
        return "";
    }
    return why;
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test_prestate(wan_test::test<which_devices>, nullptr)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
