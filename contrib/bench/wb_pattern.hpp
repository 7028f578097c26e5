// Contents of buffers: a function of round, ranks and position, cheap to make
// and to check (memory speed), so that stale, dropped, doubled, misplaced and
// reordered data all show.
//
// Moved data: word i of the block from rank s to rank d is h(round, s, d) + i*K.
// Reduced data: rank r contributes w(round, r) * g(round, i) with small
// integers, so that every sum is exact also in double, and equals W * g with
// W = the sum of the weights: no rank needs the others' data to check it.
// Exclusive or: mask(round, r) & g, as AND distributes over XOR.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef WB_PATTERN_HPP
#define WB_PATTERN_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wb {

inline std::uint64_t mix(std::uint64_t x) {     // splitmix64's finalizer
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

inline std::uint64_t block_seed(std::uint64_t round, int source, int target) {
    return mix(mix(round) ^ (static_cast<std::uint64_t>(source) << 32) ^
               static_cast<std::uint32_t>(target));
}

constexpr std::uint64_t word_step = 0x9e3779b97f4a7c15ULL;

inline void block_fill(std::byte *at, std::size_t bytes, std::uint64_t seed) {
    const std::size_t words = bytes / 8;
    for (std::size_t i = 0; i < words; ++i) {
        const std::uint64_t v = seed + i * word_step;
        std::memcpy(at + 8 * i, &v, 8);
    }
    const std::uint64_t last = seed + words * word_step;
    std::memcpy(at + 8 * words, &last, bytes % 8);
}

inline bool block_matches(const std::byte *at, std::size_t bytes, std::uint64_t seed) {
    const std::size_t words = bytes / 8;
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t v;
        std::memcpy(&v, at + 8 * i, 8);
        wrong |= v ^ (seed + i * word_step);
    }
    const std::uint64_t last = seed + words * word_step;
    return wrong == 0 && std::memcmp(at + 8 * words, &last, bytes % 8) == 0;
}

inline std::uint64_t digest(const std::byte *at, std::size_t bytes) {
    std::uint64_t sum = bytes;
    for (std::size_t i = 0; i < bytes; i += 8) {
        std::uint64_t v = 0;
        std::memcpy(&v, at + i, std::min<std::size_t>(8, bytes - i));
        sum = (sum ^ v) * 0x9e3779b97f4a7c15ULL + (sum >> 29);
    }
    return mix(sum);
}

// g: 17 bits, never 0.
struct value_pattern {
    std::uint32_t start;

    explicit value_pattern(std::uint64_t round) : start(static_cast<std::uint32_t>(mix(~round))) {}
    std::int32_t at(std::size_t i) const {
        const std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761U + start;
        return static_cast<std::int32_t>(x >> 15) | 1;
    }
};

// w: 1..63, less in large jobs so that 32-bit sums stay exact (W * g < 2^31).
inline std::int64_t weight(std::uint64_t round, int rank, int ranks) {
    const auto most = static_cast<std::uint64_t>(std::clamp(16383 / ranks, 1, 63));
    return 1 + static_cast<std::int64_t>(block_seed(round, rank, -1) % most);
}

inline std::uint8_t mask(std::uint64_t round, int rank) {
    return static_cast<std::uint8_t>(block_seed(round, rank, -2));
}

}  // namespace wb
#endif
