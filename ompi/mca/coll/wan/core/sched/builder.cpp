/*
 * See builder.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sched/builder.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace wan {

namespace {

/** What the operation that is being added touches; earlier ones are asked, thousands of times, whether they do too. */
class access {
public:
    access(const op &o, bool apart)
        : apart_(apart), reads_(o.reads()), writes_(o.writes()), read_(one(o.src)), written_(one(o.dst)), from_(o.part), to_(o.written())
    {
    }
    bool reads() const { return reads_; }
    bool writes() const { return writes_; }
    /** Whether they touch the same bytes and one of the two writes. */
    bool conflicts(const op &earlier) const
    {
        if (earlier.writes()) {
            const buffer b = one(earlier.dst);
            if ((writes_ && b == written_ && to_.overlaps(earlier.written())) || (reads_ && b == read_ && from_.overlaps(earlier.written())))
                return true;
        }
        return writes_ && earlier.reads() && one(earlier.src) == written_ && to_.overlaps(earlier.part);
    }

private:
    buffer one(buffer b) const { return b == buffer::in && !apart_ ? buffer::out : b; }

    bool apart_, reads_, writes_;
    buffer read_, written_;
    span_of from_, to_;
};

} // namespace

buffer builder::scratch()
{
    if (schedule_.tmp_count >= UINT8_MAX - static_cast<int>(buffer::tmp))
        throw std::length_error("schedule with more than 253 scratch buffers");
    return tmp(schedule_.tmp_count++);
}

void builder::by_blocks(bool apart, bool scattered)
{
    schedule_.by_blocks = true;
    apart_ = apart;
    scattered_ = scattered;
}

buffer builder::scratch_blocks(uint32_t first, uint32_t blocks)
{
    const buffer b = scratch();
    schedule_.rooms.push_back({first, blocks});
    return b;
}

void builder::after(int operation)
{
    if (operation != none)
        after_.push_back(static_cast<uint16_t>(operation));
}

int builder::add(op o)
{
    const auto also = std::exchange(after_, {});
    if ((o.reads() || o.writes()) && o.part.empty())
        return none;
    if (schedule_.ops.size() >= UINT16_MAX)
        throw std::length_error("schedule with more than 65535 operations");
    if (schedule_.ops.empty()) {        // most schedules are short: no growing by one, two, four
        schedule_.ops.reserve(16);
        schedule_.preds.reserve(32);
    }
    const access mine(o, apart_);
    o.pred_begin = static_cast<uint32_t>(schedule_.preds.size());
    // From the last backwards: what one of the found ones waits for itself need not be named.
    implied_.assign(schedule_.ops.size(), false);
    auto look = [&](size_t i) {
        const op &earlier = schedule_.ops[i];
        if (!implied_[i]) {
            if (!mine.conflicts(earlier))
                return;
            schedule_.preds.push_back(static_cast<uint16_t>(i));
        }
        for (uint16_t p : schedule_.preds_of(earlier))
            implied_[p] = true;
    };
    if (mine.writes())
        for (size_t i = schedule_.ops.size(); i-- > 0;)
            look(i);
    else if (mine.reads())                // thousands of sends need not look at each other
        for (size_t k = writers_.size(); k-- > 0;)
            look(writers_[k]);
    for (uint16_t i : also)
        if (!implied_[i])
            schedule_.preds.push_back(i);
    const auto found = schedule_.preds.begin() + o.pred_begin;
    std::sort(found, schedule_.preds.end());
    schedule_.preds.erase(std::unique(found, schedule_.preds.end()), schedule_.preds.end());
    o.pred_count = static_cast<uint16_t>(schedule_.preds.size() - o.pred_begin);
    if (mine.writes())
        writers_.push_back(static_cast<uint16_t>(schedule_.ops.size()));
    schedule_.ops.push_back(o);
    return static_cast<int>(schedule_.ops.size()) - 1;
}

int builder::send(buffer src, span_of part, int peer, int label)
{
    return add({.kind = op_kind::send, .src = src, .label = static_cast<uint16_t>(label), .peer = peer, .part = part});
}

int builder::recv(buffer dst, span_of part, int peer, int label)
{
    return add({.kind = op_kind::recv, .dst = dst, .label = static_cast<uint16_t>(label), .peer = peer, .part = part});
}

int builder::reduce(buffer src, buffer dst, span_of part)
{
    return add({.kind = op_kind::reduce, .src = src, .dst = dst, .part = part});
}

int builder::copy(buffer src, buffer dst, span_of part)
{
    return add({.kind = op_kind::copy, .src = src, .dst = dst, .part = part});
}

int builder::copy_shifted(buffer src, buffer dst, span_of part, int blocks)
{
    return add({.kind = op_kind::copy, .src = src, .dst = dst, .shift = blocks, .part = part});
}

int builder::signal(int peer, int label)
{
    return add({.kind = op_kind::signal, .label = static_cast<uint16_t>(label), .peer = peer, .part = {}});
}

int builder::await(int peer, int label)
{
    return add({.kind = op_kind::await, .label = static_cast<uint16_t>(label), .peer = peer, .part = {}});
}

schedule builder::finish()
{
    schedule_.ops.shrink_to_fit();
    schedule_.preds.shrink_to_fit();
    return std::exchange(schedule_, {});
}

} // namespace wan
