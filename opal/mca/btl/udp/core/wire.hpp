/*
 * The wire format, all of it.  A datagram is a header in clear, then frames
 * (encrypted or not), then a tag unless security is off.  Integers are big
 * endian.
 *
 *   header   0 version<<4 | security   1..3 zero   4 destination   8 source
 *           12 token   16 number (64 bits)
 *
 * `number` counts the datagrams of one direction between two processes and is
 * never used twice: it is the nonce of the seal, what an Ack names and what the
 * replay window looks at.  What is lost is sent again under a new number.  `token`
 * comes from the pair's key and turns strangers away before any cryptography.
 *
 * Frames of the modern form: data, ack, demand, probe, ping, close.  Suci's own
 * form (strict): packet (sequence, start of block, window, data), answer (Ack
 * or Nack: the number in the sequence field, window), request and permission.
 *
 * Must not: keep state, allocate, believe a length.
 * Next: endpoint.hpp (who seals and opens), modern.hpp and strict.hpp (who fills frames).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_WIRE_HPP
#define UDP_CORE_WIRE_HPP

#include <cstddef>
#include <cstdint>
#include <span>

namespace udp::wire {

constexpr uint8_t version = 1;
constexpr size_t header_bytes = 24;
constexpr size_t tag_bytes = 16;
constexpr size_t data_bytes = 16;       // of a data frame before its payload
constexpr size_t packet_bytes = 16;     // of a strict packet before its payload
constexpr size_t ack_bytes = 24;        // of an ack before its words
constexpr size_t ack_words_max = 16;    // 64 numbers each
constexpr size_t demand_bytes = 12;
constexpr size_t datagram_least = 300;  // the largest Ack, a demand and some data fit
constexpr unsigned streams = 3;

enum class security : uint8_t { off, authenticate, encrypt };

struct header {
    security mode = security::off;
    uint32_t destination = 0, source = 0, token = 0;
    uint64_t number = 0;
};

enum class kind : uint8_t {
    data = 1, ack, demand, probe, ping, close,
    packet, answer, request, permission
};

/** One frame, decoded; only the fields of its kind mean something. */
struct frame {
    kind what = kind::ping;
    uint8_t stream = 0;         // data
    uint8_t user = 0;           // data, packet: the caller's byte
    bool last = false;          // packet: ends its block
    bool nack = false;          // answer
    uint32_t block = 0;         // data: its number in the stream; packet: sequence of the block's first packet
    uint32_t offset = 0;        // data
    uint32_t total = 0;         // data: bytes of the whole block
    uint32_t sequence = 0;      // packet, answer
    uint32_t window = 0;        // packet, answer: bytes
    uint64_t amount = 0;        // ack: bytes permitted since the start; demand: bytes wanted since the start; request, permission: bytes
    uint64_t largest = 0;       // ack: highest number that arrived
    uint32_t delay_us = 0;      // ack: since `largest` arrived
    uint8_t words = 0;          // ack: how many in received[]
    uint64_t received[ack_words_max] = {};   // ack: bit k of word w: largest - 1 - 64 w - k has arrived
    std::span<const uint8_t> payload;       // data, packet; probe: padding
};

void put_header(uint8_t *to, const header &h);
/** False: not ours; nothing was read beyond the header. */
bool get_header(std::span<const uint8_t> from, header &h);

/** Writes the frame (with its payload, for data and packet: at `payload`) and returns its bytes. */
size_t put_frame(uint8_t *to, const frame &f);

/** Takes the next frame off `rest`; false at its end, and with `rest` not empty if it is malformed. */
bool get_frame(std::span<const uint8_t> &rest, frame &f);

/** Whether all of it is frames. */
bool well_formed(std::span<const uint8_t> frames);

} // namespace udp::wire

#endif
