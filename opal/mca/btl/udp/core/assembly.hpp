/*
 * Puts the blocks of one stream together from frames that come in any order,
 * any number of times and cut in any way, and hands up each block once: in order,
 * or as soon as it is complete.  A block that is whole in one frame is handed up
 * from where it lies.
 *
 * Must not: trust a frame; what contradicts earlier ones is refused, and what is too far ahead, or takes more memory
 * than it may, is left: it has to come again.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_ASSEMBLY_HPP
#define UDP_CORE_ASSEMBLY_HPP

#include "ring.hpp"
#include "types.hpp"

#include <memory>
#include <vector>

namespace udp {

/** What a block costs beside its bytes: bounds how many small ones may be under way. */
constexpr uint32_t block_charge = 64;
/** What a frame takes of the permission. */
constexpr uint64_t frame_charge(uint32_t offset, size_t bytes) { return bytes + (offset == 0 ? block_charge : 0); }

class assembly {
public:
    struct gain {
        uint64_t arrived = 0;       // charge of what was new
        uint64_t consumed = 0;      // charge of what was handed up
        bool duplicate = false;     // nothing new
        bool refused = false;       // impossible
        bool left = false;          // not now: as if it had not come
    };

    /** room: bytes, with their charge, that a block which is not whole may take. */
    template <class Deliver> gain accept(const wire::frame &f, const config &c, uint64_t room, Deliver &&deliver)
    {
        gain g;
        const int32_t ahead = static_cast<int32_t>(f.block - base_);
        if (ahead < 0) {
            g.duplicate = true;
            return g;
        }
        if (f.total > c.block_max) {
            g.refused = true;
            return g;
        }
        const size_t at = static_cast<size_t>(ahead);
        const bool known = at < slots_.size();
        if (known && slots_[at].done) {
            g.duplicate = true;
            return g;
        }
        const bool begun = known && slots_[at].part;
        const bool whole = !begun && f.payload.size() == f.total && (!c.ordered || at == 0);
        if (at > c.window / block_charge || (!begun && !whole && frame_charge(0, f.total) > room)) {
            g.left = true;
            return g;
        }
        while (slots_.size() <= at)
            slots_.push_back({});
        if (whole) {
            g.arrived = g.consumed = frame_charge(0, f.total);
            slots_[at].done = true;
            deliver(f.user, f.payload);
        } else {
            if (!begun) {
                slots_[at].part = std::make_unique<partial>(f.total, f.user);
                held_ += frame_charge(0, f.total);
            }
            partial &p = *slots_[at].part;
            if (p.total != f.total || p.user != f.user) {
                g.refused = true;
                return g;
            }
            g.arrived = p.add(f);
            g.duplicate = g.arrived == 0;
            if (p.complete() && !c.ordered)
                g.consumed += hand_up(at, deliver);
        }
        while (!slots_.empty() && (slots_.front().done || (c.ordered && slots_.front().part && slots_.front().part->complete()))) {
            if (!slots_.front().done)
                g.consumed += hand_up(0, deliver);
            slots_.pop_front();
            ++base_;
        }
        return g;
    }

    bool empty() const { return slots_.empty(); }
    /** Bytes of blocks that have begun to come, with their charge. */
    uint64_t held() const { return held_; }
    void trim()
    {
        if (slots_.empty())
            slots_.release();
    }
    size_t memory_bytes() const
    {
        size_t n = slots_.memory_bytes();
        for (size_t i = 0; i < slots_.size(); ++i)
            if (slots_[i].part)
                n += sizeof(partial) + slots_[i].part->total;
        return n;
    }

private:
    struct partial {
        partial(uint32_t t, uint8_t u) : total(t), user(u), data(new uint8_t[t ? t : 1]) {}
        uint32_t total, have = 0;
        uint8_t user;
        bool begun = false;     // its first byte is here
        std::vector<std::pair<uint32_t, uint32_t>> ranges;  // sorted, apart
        std::unique_ptr<uint8_t[]> data;

        bool complete() const { return begun && have == total; }
        uint64_t add(const wire::frame &f);
    };
    struct slot {
        std::unique_ptr<partial> part;
        bool done = false;      // handed up
    };

    template <class Deliver> uint64_t hand_up(size_t at, Deliver &deliver)
    {
        const std::unique_ptr<partial> p = std::move(slots_[at].part);
        slots_[at].done = true;
        held_ -= frame_charge(0, p->total);
        deliver(p->user, std::span<const uint8_t>(p->data.get(), p->total));
        return frame_charge(0, p->total);
    }

    ring<slot> slots_;      // block base_, base_ + 1, ...
    uint32_t base_ = 0;     // the first block that is not handed up
    uint64_t held_ = 0;
};

} // namespace udp

#endif
