/*
 * Which datagram numbers have arrived: the replay window, and the source of
 * selective Acks.  What is older than the window counts as arrived.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_ARRIVALS_HPP
#define UDP_CORE_ARRIVALS_HPP

#include <cstddef>
#include <cstdint>

namespace udp {

template <uint64_t numbers> class arrivals_of {
public:
    static constexpr uint64_t width = numbers;
    static_assert(width % 64 == 0);

    uint64_t largest() const { return largest_; }

    bool fresh(uint64_t number) const
    {
        if (number > largest_)
            return true;
        return number != 0 && largest_ - number < width && !bit(number);
    }

    void mark(uint64_t number)
    {
        if (largest_ >= width && number <= largest_ - width)
            return;
        if (number > largest_) {
            const uint64_t gap = number - largest_;
            if (gap >= width) {
                for (uint64_t &w : words_)
                    w = 0;
            } else {
                for (uint64_t n = largest_ + 1; n < number; ++n)
                    words_[n / 64 % words] &= ~(uint64_t(1) << n % 64);
            }
            largest_ = number;
        }
        words_[number / 64 % words] |= uint64_t(1) << number % 64;
    }

    /** Bit k: highest - k has arrived; 0 for what is out of the window. */
    uint64_t below(uint64_t highest) const
    {
        uint64_t r = 0;
        for (unsigned k = 0; k < 64 && highest > k; ++k)
            if (largest_ - (highest - k) < width && bit(highest - k))
                r |= uint64_t(1) << k;
        return r;
    }

private:
    static constexpr size_t words = width / 64;
    bool bit(uint64_t n) const { return words_[n / 64 % words] >> n % 64 & 1; }
    uint64_t largest_ = 0;
    uint64_t words_[words] = {};
};

// 512 bytes a peer: 4096 datagrams late, 48 ms of 1500 bytes at 1 Gb/s.
using arrivals = arrivals_of<4096>;

} // namespace udp

#endif
