/*
 * Numbers and bytes of messages: numbers in groups of seven bits, the lowest
 * first, so that small ones take one byte.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_WIRE_HPP
#define WAN_ADAPTIVE_WIRE_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wan {

class wire_writer {
public:
    void number(uint64_t x)
    {
        for (; x >= 0x80; x >>= 7)
            bytes_.push_back(static_cast<std::byte>(x | 0x80));
        bytes_.push_back(static_cast<std::byte>(x));
    }
    void append(std::span<const std::byte> more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

/** After the end, and after what is malformed, numbers are 0 and good() is false. */
class wire_reader {
public:
    explicit wire_reader(std::span<const std::byte> bytes) : left_(bytes) {}
    uint64_t number()
    {
        uint64_t x = 0;
        for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
            const auto group = static_cast<uint64_t>(left_.front());
            left_ = left_.subspan(1);
            x |= (group & 0x7f) << shift;
            if (group < 0x80)
                return x;
        }
        good_ = false;
        return 0;
    }
    std::span<const std::byte> take(uint64_t size)
    {
        if (size > left_.size()) {
            good_ = false;
            return {};
        }
        const auto part = left_.first(static_cast<size_t>(size));
        left_ = left_.subspan(static_cast<size_t>(size));
        return part;
    }
    std::span<const std::byte> rest() const { return left_; }
    bool good() const { return good_; }

private:
    std::span<const std::byte> left_;
    bool good_ = true;
};

} // namespace wan

#endif
