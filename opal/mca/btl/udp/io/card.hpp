/*
 * The card by which a process tells its peers where it is and what they must have in common:
 *
 *   'u' 3  mode  security  unscheduled(8)  first(8)  id(8)  host(8)  name of the shared secret(8)
 *   secret(32)  port(2)  count(1)  count x (address(16) prefix(1))
 *
 * Addresses as IPv6, those of IPv4 mapped into it (RFC 4291).  A process has one kind: IPv4 where it has any.
 *
 * Must not: decide whether a card fits.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_IO_CARD_HPP
#define UDP_IO_CARD_HPP

#include "devices.hpp"
#include "seal.hpp"

#include <span>
#include <vector>

namespace udp {

struct card {
    uint8_t mode = 0, security = 0;
    uint64_t unscheduled = 0;
    uint64_t first = 0;         // bytes that a peer may send at first: see grants::first(), differs where its job has another size
    uint64_t id = 0, host = 0;
    uint64_t shared_name = 0;   // of the shared secret
    secret own{};
    uint16_t port = 0;

    /** Returns its bytes. */
    size_t write(void *to, std::span<const place> places) const;
    enum class fault { none, version, cut };
    /** cut: in its places, what is before them is there. */
    fault read(const void *from, size_t length, std::vector<place> &places);
};

} // namespace udp

#endif
