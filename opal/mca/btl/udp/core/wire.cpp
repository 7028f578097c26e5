/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.hpp"

#include <cstring>

namespace udp::wire {
namespace {

void put16(uint8_t *p, unsigned v) { p[0] = static_cast<uint8_t>(v >> 8), p[1] = static_cast<uint8_t>(v); }
void put32(uint8_t *p, uint32_t v) { put16(p, v >> 16), put16(p + 2, v & 0xffff); }
void put64(uint8_t *p, uint64_t v) { put32(p, static_cast<uint32_t>(v >> 32)), put32(p + 4, static_cast<uint32_t>(v)); }
unsigned get16(const uint8_t *p) { return static_cast<unsigned>(p[0] << 8 | p[1]); }
uint32_t get32(const uint8_t *p) { return static_cast<uint32_t>(get16(p)) << 16 | get16(p + 2); }
uint64_t get64(const uint8_t *p) { return static_cast<uint64_t>(get32(p)) << 32 | get32(p + 4); }

// First byte of a frame: kind in the low four bits, stream or a flag above.
constexpr uint8_t flag = 0x10;

size_t put_payload(uint8_t *to, size_t at, std::span<const uint8_t> payload)
{
    if (!payload.empty())
        std::memcpy(to + at, payload.data(), payload.size());
    return at + payload.size();
}

size_t fixed_bytes(kind k)
{
    switch (k) {
    case kind::data: return data_bytes;
    case kind::ack: return ack_bytes;
    case kind::demand: return demand_bytes;
    case kind::probe: return 4;
    case kind::ping: case kind::close: return 1;
    case kind::packet: return packet_bytes;
    case kind::answer: return 12;
    case kind::request: case kind::permission: return demand_bytes;
    }
    return 0;
}

} // namespace

void put_header(uint8_t *to, const header &h)
{
    to[0] = static_cast<uint8_t>(version << 4 | static_cast<uint8_t>(h.mode));
    to[1] = to[2] = to[3] = 0;
    put32(to + 4, h.destination);
    put32(to + 8, h.source);
    put32(to + 12, h.token);
    put64(to + 16, h.number);
}

bool get_header(std::span<const uint8_t> from, header &h)
{
    if (from.size() < header_bytes || from[0] >> 4 != version || (from[0] & 15) > 2)
        return false;
    if (from[1] | from[2] | from[3])
        return false;
    h.mode = static_cast<security>(from[0] & 15);
    h.destination = get32(&from[4]);
    h.source = get32(&from[8]);
    h.token = get32(&from[12]);
    h.number = get64(&from[16]);
    return h.number != 0 && (h.mode == security::off || from.size() >= header_bytes + tag_bytes);
}

size_t put_frame(uint8_t *to, const frame &f)
{
    to[0] = static_cast<uint8_t>(f.what);
    const size_t fixed = fixed_bytes(f.what);
    switch (f.what) {
    case kind::data:
        to[0] = static_cast<uint8_t>(to[0] | f.stream << 4);
        to[1] = f.user;
        put16(to + 2, static_cast<unsigned>(f.payload.size()));
        put32(to + 4, f.block);
        put32(to + 8, f.offset);
        put32(to + 12, f.total);
        return put_payload(to, fixed, f.payload);
    case kind::ack:
        to[1] = f.words;
        put16(to + 2, 0);
        put32(to + 4, f.delay_us);
        put64(to + 8, f.largest);
        put64(to + 16, f.amount);
        for (size_t w = 0; w < f.words; ++w)
            put64(to + fixed + 8 * w, f.received[w]);
        return fixed + 8u * f.words;
    case kind::probe:
        to[1] = 0;
        put16(to + 2, static_cast<unsigned>(f.payload.size()));
        std::memset(to + fixed, 0, f.payload.size());
        return fixed + f.payload.size();
    case kind::ping:
    case kind::close:
        return fixed;
    case kind::packet:
        to[0] = static_cast<uint8_t>(to[0] | (f.last ? flag : 0));
        to[1] = f.user;
        put16(to + 2, static_cast<unsigned>(f.payload.size()));
        put32(to + 4, f.sequence);
        put32(to + 8, f.block);
        put32(to + 12, f.window);
        return put_payload(to, fixed, f.payload);
    case kind::answer:
        to[0] = static_cast<uint8_t>(to[0] | (f.nack ? flag : 0));
        to[1] = to[2] = to[3] = 0;
        put32(to + 4, f.sequence);
        put32(to + 8, f.window);
        return fixed;
    case kind::demand:
    case kind::request:
    case kind::permission:
        to[1] = to[2] = to[3] = 0;
        put64(to + 4, f.amount);
        return fixed;
    }
    return 0;
}

bool get_frame(std::span<const uint8_t> &rest, frame &f)
{
    if (rest.empty())
        return false;
    const uint8_t *p = rest.data();
    const kind what = static_cast<kind>(p[0] & 15);
    const unsigned high = p[0] >> 4;
    size_t bytes = fixed_bytes(what);
    if (bytes == 0 || rest.size() < bytes)
        return false;
    f.what = what;
    size_t payload = 0;
    switch (what) {
    case kind::data:
        payload = get16(p + 2);
        f.stream = static_cast<uint8_t>(high);
        f.user = p[1];
        f.block = get32(p + 4);
        f.offset = get32(p + 8);
        f.total = get32(p + 12);
        if (high >= streams || f.offset > f.total || payload > f.total - f.offset || (payload == 0 && f.total != 0))
            return false;
        break;
    case kind::ack:
        f.words = p[1];
        if (high || f.words > ack_words_max || rest.size() < bytes + 8u * f.words)
            return false;
        f.delay_us = get32(p + 4);
        f.largest = get64(p + 8);
        f.amount = get64(p + 16);
        for (size_t w = 0; w < f.words; ++w)
            f.received[w] = get64(p + bytes + 8 * w);
        bytes += 8u * f.words;
        break;
    case kind::probe:
        if (high)
            return false;
        payload = get16(p + 2);
        break;
    case kind::ping:
    case kind::close:
        if (high)
            return false;
        break;
    case kind::packet:
        if (high > 1)
            return false;
        payload = get16(p + 2);
        f.last = high;
        f.user = p[1];
        f.sequence = get32(p + 4);
        f.block = get32(p + 8);
        f.window = get32(p + 12);
        break;
    case kind::answer:
        if (high > 1)
            return false;
        f.nack = high;
        f.sequence = get32(p + 4);
        f.window = get32(p + 8);
        break;
    case kind::demand:
    case kind::request:
    case kind::permission:
        if (high)
            return false;
        f.amount = get64(p + 4);
        break;
    default:
        return false;
    }
    if (rest.size() - bytes < payload)
        return false;
    f.payload = rest.subspan(bytes, payload);
    rest = rest.subspan(bytes + payload);
    return true;
}

bool well_formed(std::span<const uint8_t> frames)
{
    frame f;
    while (get_frame(frames, f)) {}
    return frames.empty();
}

} // namespace udp::wire
