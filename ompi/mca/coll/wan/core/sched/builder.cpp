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

constexpr buffer alias(buffer b) { return b == buffer::in ? buffer::out : b; }

struct access {
    buffer read = buffer::out, written = buffer::out;
    bool reads = false, writes = false;
};

access access_of(const op &o)
{
    access a;
    a.reads = o.kind != op_kind::recv;
    a.writes = o.kind != op_kind::send;
    a.read = alias(o.src);
    a.written = alias(o.dst);
    return a;
}

bool conflict(const access &a, const access &b)
{
    if (a.writes && b.writes && a.written == b.written)
        return true;
    if (a.writes && b.reads && a.written == b.read)
        return true;
    return a.reads && b.writes && a.read == b.written;
}

} // namespace

buffer builder::scratch()
{
    if (schedule_.tmp_count >= UINT8_MAX - static_cast<int>(buffer::tmp))
        throw std::length_error("schedule with more than 253 scratch buffers");
    return tmp(schedule_.tmp_count++);
}

void builder::add(op o)
{
    if (o.part.empty())
        return;
    if (schedule_.ops.size() >= UINT16_MAX)
        throw std::length_error("schedule with more than 65535 operations");
    const access mine = access_of(o);
    o.pred_begin = static_cast<uint32_t>(schedule_.preds.size());
    // From the last backwards: what one of the found ones waits for itself need not be named.
    implied_.assign(schedule_.ops.size(), false);
    auto look = [&](size_t i) {
        const op &earlier = schedule_.ops[i];
        if (!implied_[i]) {
            if (!o.part.overlaps(earlier.part) || !conflict(mine, access_of(earlier)))
                return;
            schedule_.preds.push_back(static_cast<uint16_t>(i));
        }
        for (uint16_t p : schedule_.preds_of(earlier))
            implied_[p] = true;
    };
    if (mine.writes)
        for (size_t i = schedule_.ops.size(); i-- > 0;)
            look(i);
    else                                // thousands of sends need not look at each other
        for (size_t k = writers_.size(); k-- > 0;)
            look(writers_[k]);
    std::reverse(schedule_.preds.begin() + o.pred_begin, schedule_.preds.end());
    o.pred_count = static_cast<uint32_t>(schedule_.preds.size()) - o.pred_begin;
    if (mine.writes)
        writers_.push_back(static_cast<uint16_t>(schedule_.ops.size()));
    schedule_.ops.push_back(o);
}

void builder::send(buffer src, span_of part, int peer, int label)
{
    add({.kind = op_kind::send, .label = static_cast<uint8_t>(label), .src = src, .peer = peer, .part = part});
}

void builder::recv(buffer dst, span_of part, int peer, int label)
{
    add({.kind = op_kind::recv, .label = static_cast<uint8_t>(label), .dst = dst, .peer = peer, .part = part});
}

void builder::reduce(buffer src, buffer dst, span_of part)
{
    add({.kind = op_kind::reduce, .src = src, .dst = dst, .part = part});
}

void builder::copy(buffer src, buffer dst, span_of part)
{
    add({.kind = op_kind::copy, .src = src, .dst = dst, .part = part});
}

schedule builder::finish()
{
    schedule_.ops.shrink_to_fit();
    schedule_.preds.shrink_to_fit();
    return std::exchange(schedule_, {});
}

} // namespace wan
