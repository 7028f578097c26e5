// SPDX-License-Identifier: BSD-3-Clause
// A packet in flight and the pool its bytes live in.
//
// Packets are copied once, from the read buffer into a slot of the smallest of
// three size classes, and stay there until they leave. Slots are never given
// back to the system: after a warm-up the daemon does not allocate, so that no
// page fault makes a departure late. Next: path.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace wan::lab {

using time_ns = std::int64_t;   ///< CLOCK_MONOTONIC

/// Largest thing a TUN can hand over: virtio header plus one IPv4 datagram.
inline constexpr std::size_t max_packet_bytes = 10 + 65535;

struct Packet {
    std::uint8_t* data = nullptr;   ///< virtio_net_hdr, then the IPv4 packet
    std::uint32_t size_bytes = 0;   ///< of data
    std::uint32_t wire_bytes = 0;   ///< as counted on a wire: every frame with its headers
    std::uint16_t frames = 1;       ///< frames a super-packet stands for
    std::uint8_t from = 0;          ///< site it came from
    std::uint8_t to = 0;            ///< site it goes to
    std::uint8_t slot_class = 0;
};

/// Owns every slot. Not thread-safe: the daemon has one thread.
class PacketPool {
public:
    /// A slot holding a copy of `size` bytes. Aborts by std::bad_alloc only
    /// (memory exhausted); size must not exceed max_packet_bytes.
    std::uint8_t* take(const std::uint8_t* bytes, std::size_t size, std::uint8_t& slot_class)
    {
        slot_class = size <= class_bytes[0] ? 0 : size <= class_bytes[1] ? 1 : 2;
        auto& free = free_[slot_class];
        if (free.empty()) {
            grow(slot_class);
        }
        std::uint8_t* slot = free.back();
        free.pop_back();
        std::memcpy(slot, bytes, size);
        return slot;
    }

    void give_back(const Packet& packet) { free_[packet.slot_class].push_back(packet.data); }

private:
    // An MTU-sized frame, a super-packet of the default 8000 bytes, anything.
    static constexpr std::size_t class_bytes[3] = {2048, 8192, 65792};
    static constexpr std::size_t slab_bytes = 1 << 20;

    void grow(std::uint8_t slot_class)
    {
        const std::size_t slot = class_bytes[slot_class];
        auto slab = std::make_unique<std::uint8_t[]>(slab_bytes);
        for (std::size_t at = 0; at + slot <= slab_bytes; at += slot) {
            free_[slot_class].push_back(slab.get() + at);
        }
        slabs_.push_back(std::move(slab));
    }

    std::vector<std::uint8_t*> free_[3];
    std::vector<std::unique_ptr<std::uint8_t[]>> slabs_;
};

}  // namespace wan::lab
