/*
 * See engine.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "exec/engine.hpp"

#include <algorithm>
#include <functional>
#include <sstream>
#include <stdexcept>

namespace wan {

program::program(schedule s) : schedule_(std::move(s)), succ_begin_(schedule_.ops.size() + 1, 0)
{
    // Counted, summed up to the ends, and filled from the back, which turns the ends into beginnings.
    for (const op &o : schedule_.ops)
        for (uint16_t p : schedule_.preds_of(o))
            ++succ_begin_[p];
    for (size_t i = 1; i < succ_begin_.size(); ++i)
        succ_begin_[i] += succ_begin_[i - 1];
    succ_.resize(schedule_.preds.size());
    for (size_t i = schedule_.ops.size(); i-- > 0;)
        for (uint16_t p : schedule_.preds_of(schedule_.ops[i]))
            succ_[--succ_begin_[p]] = static_cast<uint16_t>(i);
    if (schedule_.turn >= static_cast<int>(schedule_.ops.size()))
        throw std::out_of_range("schedule whose turn is not one of its operations");
    if (schedule_.turn != schedule::no_turn)
        for (size_t i = 0; i < schedule_.ops.size(); ++i)
            if (schedule::starts(schedule_.ops[i]))
                starters_.push_back(static_cast<uint16_t>(i));
}

size_t program::memory_bytes() const
{
    return schedule_.memory_bytes() + sizeof *this + succ_begin_.capacity() * sizeof(uint32_t)
           + (succ_.capacity() + starters_.capacity()) * sizeof(uint16_t);
}

engine::engine(std::shared_ptr<const program> p, binding b, const wan_port_t *port, void *port_ctx)
    : program_(std::move(p)), binding_(std::move(b)), port_(port), ctx_(port_ctx)
{
    binding_.segment = std::max<size_t>(1, binding_.segment);
    segments_ = program_->text().by_blocks ? 1 : (binding_.count + binding_.segment - 1) / binding_.segment;
    window_ = static_cast<uint32_t>(std::clamp<size_t>(binding_.window, 1, std::max<size_t>(1, segments_)));
    const size_t ops = program_->size();
    waiting_.resize(window_ * ops);
    left_.resize(window_);
    passed_.resize(window_);
    next_.resize(ops);
    ready_.reserve(window_ * ops);
    link_ = std::make_unique<std::atomic<uint32_t>[]>(window_ * ops);
}

int engine::prepare()
{
    const schedule &s = program_->text();
    const size_t of_segments = std::min(binding_.count, binding_.segment * window_);
    for (size_t k = 0; k < static_cast<size_t>(s.tmp_count); ++k) {
        const size_t elements =
            s.by_blocks ? binding_.blocks[2].length(blocks_of(s.rooms[k].first, s.rooms[k].first + s.rooms[k].blocks)) : of_segments;
        scratch_.push_back(elements ? static_cast<char *>(port_->scratch(ctx_, elements)) : nullptr);
        if (elements && !scratch_.back())
            return WAN_ERR_NOMEM;
    }
    begin_segments();
    return WAN_OK;
}

char *engine::address(buffer b, size_t segment, const fraction &from) const
{
    const auto k = static_cast<size_t>(b) - static_cast<size_t>(buffer::tmp);
    char *base = b == buffer::out ? static_cast<char *>(binding_.out)
                 : b == buffer::in ? const_cast<char *>(static_cast<const char *>(binding_.in)) : scratch_[k];
    if (program_->text().by_blocks) {
        if (b == buffer::in || b == buffer::out)
            return base + binding_.blocks[static_cast<size_t>(b)].offset(from) * binding_.extent;
        const layout &l = binding_.blocks[2];
        return base + static_cast<ptrdiff_t>(l.before(from) - l.before({0, 1, program_->text().rooms[k].first})) * binding_.extent;
    }
    const size_t length = std::min(binding_.segment, binding_.count - segment * binding_.segment);
    const size_t place = b == buffer::in || b == buffer::out ? segment : slot(segment);
    return base + static_cast<ptrdiff_t>(place * binding_.segment + from.of(length)) * binding_.extent;
}

/* Elements that an operation is about. */
size_t engine::length_of(const op &o, size_t segment) const
{
    if (program_->text().by_blocks)
        return binding_.blocks[std::min<size_t>(2, static_cast<size_t>(o.writes() ? o.dst : o.src))].length(o.part);
    const size_t length = std::min(binding_.segment, binding_.count - segment * binding_.segment);
    return o.part.hi.of(length) - o.part.lo.of(length);
}

void engine::begin_segments()
{
    const auto &ops = program_->text().ops;
    while (tail_ < segments_ && tail_ - head_ < window_) {
        const size_t segment = tail_++;
        const size_t base = slot(segment) * ops.size();
        const bool held = segment > head_ && !passed_[slot(segment - 1)];
        passed_[slot(segment)] = false;
        left_[slot(segment)] = static_cast<uint32_t>(ops.size());
        for (size_t i = 0; i < ops.size(); ++i)
            waiting_[base + i] = ops[i].pred_count;
        if (held)
            for (uint16_t i : program_->starters())
                ++waiting_[base + i];
        for (size_t i = 0; i < ops.size(); ++i)
            if (waiting_[base + i] == 0)
                offer(i, segment);
        if (ops.empty())
            head_ = tail_;
    }
}

/* Operation is free of predecessors: ready if the earlier segments have posted it. */
void engine::offer(size_t op_index, size_t segment)
{
    if (next_[op_index] != segment)
        return;
    ready_.push_back(segment * program_->size() + op_index);
    std::push_heap(ready_.begin(), ready_.end(), std::greater<>{});
}

void engine::post(uint64_t key)
{
    const size_t ops = program_->size();
    const size_t i = key % ops, segment = key / ops;
    const op &o = program_->text().ops[i];

    next_[i] = segment + 1;
    if (segment + 1 < tail_ && waiting_[slot(segment + 1) * ops + i] == 0)
        offer(i, segment + 1);

    const size_t length = o.reads() || o.writes() ? length_of(o, segment) : 0;
    if ((o.reads() || o.writes()) && length == 0)
        return finish(i, segment);

    const uint32_t token = static_cast<uint32_t>(slot(segment) * ops + i);
    char *const from = o.reads() ? address(o.src, segment, o.part.lo) : nullptr;
    char *const to = o.writes() ? address(o.dst, segment, o.written().lo) : nullptr;
    int rc = WAN_OK;
    switch (o.kind) {
    case op_kind::send:
    case op_kind::signal:
        rc = port_->post_send(ctx_, from, length, o.peer, o.label, token);
        break;
    case op_kind::recv:
    case op_kind::await:
        rc = port_->post_recv(ctx_, to, length, o.peer, o.label, token);
        break;
    case op_kind::reduce:
        rc = port_->reduce(ctx_, from, to, length);
        break;
    case op_kind::copy:
        if (from != to)
            rc = port_->copy(ctx_, from, to, length);
        break;
    }
    if (rc != WAN_OK) {
        failed_ = rc;
        return;
    }
    if (o.sends() || o.receives())
        ++outstanding_;
    else
        finish(i, segment);
}

void engine::finish(size_t op_index, size_t segment)
{
    const size_t base = slot(segment) * program_->size();
    for (uint16_t j : program_->successors(op_index))
        if (--waiting_[base + j] == 0)
            offer(j, segment);
    if (static_cast<int>(op_index) == program_->text().turn)
        pass_turn(segment);
    if (--left_[slot(segment)] != 0)
        return;
    while (head_ < tail_ && left_[slot(head_)] == 0)
        ++head_;
    begin_segments();
}

void engine::pass_turn(size_t segment)
{
    passed_[slot(segment)] = true;
    if (segment + 1 == tail_)
        return;
    const size_t base = slot(segment + 1) * program_->size();
    for (uint16_t i : program_->starters())
        if (--waiting_[base + i] == 0)
            offer(i, segment + 1);
}

void engine::complete(uint32_t token, int code)
{
    if (code != 0) {
        int expected = 0;
        error_.compare_exchange_strong(expected, code, std::memory_order_acq_rel);
    }
    uint32_t top = completed_.load(std::memory_order_relaxed);
    do
        link_[token].store(top, std::memory_order_relaxed);
    while (!completed_.compare_exchange_weak(top, token, std::memory_order_release, std::memory_order_relaxed));
}

void engine::drain()
{
    uint32_t token = completed_.exchange(none, std::memory_order_acquire);
    const size_t ops = program_->size();
    while (token != none) {
        // A finished segment may hand its slot, and so this token, on: read the link first.
        const uint32_t next = link_[token].load(std::memory_order_relaxed);
        const size_t in_slot = token / ops;
        const size_t segment = head_ + (in_slot + window_ - slot(head_)) % window_;
        --outstanding_;
        finish(token % ops, segment);
        token = next;
    }
}

int engine::progress()
{
    if (fresh_) {
        fresh_ = false;
        failed_ = prepare();
    }
    for (;;) {
        if (completed_.load(std::memory_order_relaxed) != none)
            drain();
        if (error_.load(std::memory_order_acquire) != 0 && failed_ == WAN_OK)
            failed_ = WAN_ERR_PORT;
        if (failed_ != WAN_OK)
            return failed_;
        if (ready_.empty()) {
            if (completed_.load(std::memory_order_acquire) == none)
                break;
            continue;
        }
        std::pop_heap(ready_.begin(), ready_.end(), std::greater<>{});
        const uint64_t key = ready_.back();
        ready_.pop_back();
        post(key);
    }
    return head_ == segments_ ? WAN_DONE : WAN_OK;
}

std::string engine::describe() const
{
    std::ostringstream text;
    text << "segments " << head_ << ".." << tail_ << " of " << segments_ << " under way, " << outstanding_
         << " operations posted\n";
    const size_t ops = program_->size();
    for (size_t segment = head_; segment < std::min(tail_, head_ + 1); ++segment)
        for (size_t i = 0; i < ops; ++i)
            if (next_[i] <= segment || waiting_[slot(segment) * ops + i])
                text << "segment " << segment << ": operation " << i << " waits for "
                     << waiting_[slot(segment) * ops + i] << '\n';
    return text.str();
}

} // namespace wan
