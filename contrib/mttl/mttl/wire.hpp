/*
 * What stands in messages: records, one after the other; a record is a header
 * and a payload.  A payload that does not fit a small message (`apart`) travels
 * by itself on channel 0, in the order of the headers, and its length stands
 * behind the header; the payload of a write goes from and to the memory itself.
 *
 *   header    bytes  payload
 *   invoke       12  arguments
 *   reply         8  result, or an exception
 *   write        16  data (apart: `ticket` counts bytes, `length` is a transfer)
 *   written       8  none: a write apart has arrived; `ticket` is its transfer
 *   read         24  none (apart: the data goes on channel `length`)
 *   collective   16  a contribution
 *   credit        8  none: `ticket` messages have been taken
 *   gone          8  number of writes that landed; `ticket` is a landing that has gone
 *   late          8  number of those on their way; `ticket` is that landing
 *
 * Functions are named by a hash of their name: there are no addresses of code
 * here.  Addresses of data are those of a GlobalPtr, and belong to the node
 * that they are sent to.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_WIRE_HPP
#define MTTL_WIRE_HPP

#include "serial.hpp"

namespace mttl::wire {

enum kind : uint8_t { invoke = 1, reply, write, written, read, collective, credit, gone, late };

enum flag : uint8_t {
    apart = 1,      // the payload is not in this message
    failed = 2,     // a reply that is an exception
    credited = 4,   // the receiver gives the sender credit back for this message
    system = 8,     // not counted when the end of all work is looked for
    ahead = 16,     // does not stand behind what the sender keeps for want of credit
};

struct head {
    uint8_t kind;
    uint8_t flags;
    uint16_t length;    // of the payload, bytes
    uint32_t ticket;    // whom the reply is for; 0: nobody
};

/** Of a record that has nothing else. */
struct plain_head {
    head h;
};

struct invoke_head {
    head h;
    uint32_t function;
};

struct write_head {
    head h;
    uint64_t address;
};

struct read_head {
    head h;
    uint64_t address;
    uint64_t bytes;
};

struct collective_head {
    head h;             // ticket: the group
    uint32_t number;    // of the collective in its group
    uint32_t step;
};

static_assert(sizeof(head) == 8 && sizeof(invoke_head) == 12 && sizeof(collective_head) == 16);
static_assert(sizeof(write_head) <= 16, "the paper's header of a remote write");
static_assert(sizeof(read_head) <= 24, "the paper's header of a remote read");

/** The header H at the beginning; throws wire_error where there are not so many bytes. */
template <class H> H get(const std::byte *data, size_t bytes)
{
    H h;
    if (bytes < sizeof h)
        throw wire_error("a message of " + std::to_string(bytes) + " bytes");
    std::memcpy(&h, data, sizeof h);
    return h;
}
/** The payload behind a header of `head` bytes; throws wire_error where the record does not hold it. */
inline std::span<const std::byte> payload(const std::byte *data, size_t bytes, size_t head, size_t length)
{
    if (bytes < head + length)
        throw wire_error("a record is longer than its message");
    return {data + head, length};
}

} // namespace mttl::wire

#endif
