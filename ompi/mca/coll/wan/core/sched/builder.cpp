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

struct access {
    buffer read = buffer::out, written = buffer::out;
    bool reads = false, writes = false;
    span_of from, to;
};

access access_of(const op &o, bool apart)
{
    auto alias = [&](buffer b) { return b == buffer::in && !apart ? buffer::out : b; };
    access a;
    a.reads = o.reads();
    a.writes = o.writes();
    a.read = alias(o.src);
    a.written = alias(o.dst);
    a.from = o.part;
    a.to = o.written();
    return a;
}

bool conflict(const access &a, const access &b)
{
    if (a.writes && b.writes && a.written == b.written && a.to.overlaps(b.to))
        return true;
    if (a.writes && b.reads && a.written == b.read && a.to.overlaps(b.from))
        return true;
    return a.reads && b.writes && a.read == b.written && a.from.overlaps(b.to);
}

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
    const access mine = access_of(o, apart_);
    o.pred_begin = static_cast<uint32_t>(schedule_.preds.size());
    // From the last backwards: what one of the found ones waits for itself need not be named.
    implied_.assign(schedule_.ops.size(), false);
    auto look = [&](size_t i) {
        const op &earlier = schedule_.ops[i];
        if (!implied_[i]) {
            if (!conflict(mine, access_of(earlier, apart_)))
                return;
            schedule_.preds.push_back(static_cast<uint16_t>(i));
        }
        for (uint16_t p : schedule_.preds_of(earlier))
            implied_[p] = true;
    };
    if (mine.writes)
        for (size_t i = schedule_.ops.size(); i-- > 0;)
            look(i);
    else if (mine.reads)                // thousands of sends need not look at each other
        for (size_t k = writers_.size(); k-- > 0;)
            look(writers_[k]);
    for (uint16_t i : also)
        if (!implied_[i])
            schedule_.preds.push_back(i);
    const auto found = schedule_.preds.begin() + o.pred_begin;
    std::sort(found, schedule_.preds.end());
    schedule_.preds.erase(std::unique(found, schedule_.preds.end()), schedule_.preds.end());
    o.pred_count = static_cast<uint16_t>(schedule_.preds.size() - o.pred_begin);
    if (mine.writes)
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
