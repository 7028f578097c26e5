/*
 * Fills one datagram with frames, never beyond its room.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_WRITER_HPP
#define UDP_CORE_WRITER_HPP

#include "modern.hpp"

namespace udp {

class modern::writer {
public:
    writer(uint8_t *to, size_t room) : to_(to), room_(room) {}

    size_t used() const { return used_; }
    size_t room() const { return room_ - used_; }
    /** Bytes of a block with `left` to go that fit; 0 rather than a crumb of it. */
    size_t data_room(uint32_t left) const
    {
        constexpr size_t crumb = 64;
        if (room() <= wire::data_bytes)
            return 0;
        const size_t fits = std::min<size_t>(room() - wire::data_bytes, 65535);
        return fits < left && fits < crumb ? 0 : fits;
    }
    bool put(const wire::frame &f)
    {
        const size_t most = 4 + 8 + 8 + 4 + 8u * f.words + f.payload.size();
        if (room() < most && !(f.what == wire::kind::probe && room() >= 4 + f.payload.size()))
            return false;
        used_ += wire::put_frame(to_ + used_, f);
        return true;
    }
    void put_data(const outgoing &o, uint32_t offset, uint32_t length)
    {
        wire::frame f;
        f.what = wire::kind::data;
        f.stream = o.stream;
        f.user = o.user;
        f.block = o.block;
        f.offset = offset;
        f.total = o.length;
        f.payload = {o.data + offset, length};
        used_ += wire::put_frame(to_ + used_, f);
        eliciting = true;
    }

    bool eliciting = false;     // asks for an Ack
    bool again = false;         // carries what was sent before
    unsigned pieces = 0;

private:
    uint8_t *to_;
    size_t room_, used_ = 0;
};

} // namespace udp

#endif
