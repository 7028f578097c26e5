/*
 * See operation.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/operation.hpp"

#include <algorithm>
#include <cstring>

namespace wan {

std::span<std::byte> reduction::part(uint64_t index)
{
    return std::span(acc_).subspan(static_cast<size_t>(cut_.from(index)), static_cast<size_t>(cut_.length(index)));
}

void reduction::begin(tree_name tree, std::span<const std::byte> in, std::byte *out, uint64_t segment_bytes, combiner combine)
{
    tree_ = tree;
    begun_ = true;
    acc_.assign(in.begin(), in.end());
    out_ = out;
    cut_ = {in.size(), segment_bytes};
    combine_ = std::move(combine);
    const auto n = static_cast<size_t>(cut_.count());
    segment own;
    own.have = rank_set::one(host_.me());
    segments_.assign(n, own);
    const class tree &t = host_.tree_of(tree);
    if (!am_root()) {
        parent_ = t.parent_for(op_);
        if (std::count(redirecting_.begin(), redirecting_.end(), parent_))
            parent_ = tree.root;
        for (int rank : t.children_for(op_))
            children_.push_back({rank, false, std::vector<bool>(n)});
    } else if (host_.size() == 1) {
        complete_ = n;
        std::copy(in.begin(), in.end(), out);
    }
    timeout_ns_ = host_.timeout_ns(tree, cut_.bytes);
    for (const early &e : early_) {
        tell_message m = e.m;
        m.payload = e.payload;
        take(e.from, m, 0);
    }
    early_.clear();
    settle_all();
}

bool reduction::waits(uint64_t index) const
{
    return std::any_of(children_.begin(), children_.end(), [&](const child &c) { return !c.gone && !c.finished[index]; });
}

/** What is held of a segment goes up, with the word that it is all. */
void reduction::pass(uint64_t index, bool last)
{
    segment &s = segments_[index];
    s.finished = last;
    finished_ += last;
    outgoing o{index, last, s.have, {}, !s.have.empty(), -1};
    if (!last && o.held) {      // what comes later must not find it changed
        const auto p = part(index);
        o.bytes.assign(p.begin(), p.end());
        o.held = false;
    }
    s.passed |= s.have;
    s.have = {};
    line_.push_back(std::move(o));
}

/** Passes a segment on for which nobody is waited any more. */
void reduction::settle(uint64_t index)
{
    if (begun_ && !am_root() && index < segments_.size() && !segments_[index].finished && !waits(index))
        pass(index, true);
}

void reduction::settle_all()
{
    for (uint64_t i = 0; i < segments_.size(); ++i)
        settle(i);
}

void reduction::expire()
{
    timed_out_ = true;
    ++host_.counters().timeouts;
    for (uint64_t i = 0; i < segments_.size(); ++i)
        if (!segments_[i].finished && !segments_[i].have.empty())
            pass(i, false);
    tell_message m;
    m.what = tell_kind::redirect;
    m.tree = tree_;
    m.op = op_;
    for (const child &c : children_)
        if (!c.gone && !std::all_of(c.finished.begin(), c.finished.end(), [](bool f) { return f; }))
            host_.send(c.rank, m);
}

void reduction::take(int from, const tell_message &m, int64_t now_ns)
{
    if (m.index >= segments_.size())
        return;
    segment &s = segments_[m.index];
    if (!am_root() && !timed_out_ && deadline_ns_ != at_once)
        deadline_ns_ = std::max(deadline_ns_, now_ns + timeout_ns_);
    if (!m.ranks.empty()) {
        const auto here = part(m.index);
        const size_t n = std::min(here.size(), m.payload.size());
        // Behind a head of any length; operators want operands where their types may lie.
        std::vector<std::byte> aligned;
        const std::byte *there = m.payload.data();
        if (reinterpret_cast<uintptr_t>(there) % alignof(std::max_align_t) && n) {
            aligned.assign(there, there + n);
            there = aligned.data();
        }
        if (am_root() && s.have.intersects(m.ranks)) {
            ++host_.counters().twice;       // never: what is there is not spoilt
        } else if (am_root()) {
            combine_(there, here.data(), n);
            s.have |= m.ranks;
            if (s.have.size() == host_.size() && ++complete_ == segments_.size() && cut_.bytes)
                std::memcpy(out_, acc_.data(), cut_.bytes);
        } else if (timed_out_ || s.finished) {
            const bool seen = s.passed.intersects(m.ranks);
            ++(seen ? host_.counters().round : host_.counters().late);
            line_.push_back({m.index, false, m.ranks, {m.payload.begin(), m.payload.end()}, false, seen ? tree_.root : -1});
            s.passed |= m.ranks;
        } else {
            combine_(there, here.data(), n);
            s.have |= m.ranks;
        }
    }
    if (m.last)
        for (child &c : children_)
            if (c.rank == from)
                c.finished[m.index] = true;
}

void reduction::receive(int from, const tell_message &m, int64_t now_ns)
{
    tree_ = m.tree;
    switch (m.what) {
    case tell_kind::contribute:
        if (!begun_) {
            early_.push_back({from, m, {m.payload.begin(), m.payload.end()}});
            return;
        }
        take(from, m, now_ns);
        settle(m.index);
        return;
    case tell_kind::redirect: {
        redirecting_.push_back(from);
        if (begun_ && parent_ == from)
            parent_ = tree_.root;
        ++host_.counters().redirected;
        host_.send(from, redirected_answer(m));
        return;
    }
    case tell_kind::redirected:
        for (child &c : children_)
            if (c.rank == from)
                c.gone = true;
        settle_all();
        return;
    default: return;
    }
}

void reduction::child_gone(tree_name tree, int rank, uint64_t first, uint64_t end)
{
    if (!begun_ || tree != tree_ || op_ < first || op_ >= end)
        return;
    for (child &c : children_)
        if (c.rank == rank)
            c.gone = true;
    settle_all();
}

void reduction::step(int64_t now_ns)
{
    if (!begun_)
        return;
    if (deadline_ns_ == at_once)
        deadline_ns_ = now_ns + timeout_ns_;
    if (now_ns >= deadline())
        expire();
    size_t sent = 0;
    for (; sent < line_.size(); ++sent) {
        const outgoing &o = line_[sent];
        const int to = o.to < 0 ? parent_ : o.to;
        if (o.ranks.empty() && to == tree_.root)
            continue;           // it counts contributions
        if (!host_.room(to))
            break;
        tell_message m;
        m.what = tell_kind::contribute;
        m.tree = tree_;
        m.op = op_;
        m.index = static_cast<uint32_t>(o.index);
        m.last = o.last;
        m.ranks = o.ranks;
        m.payload = o.held ? part(o.index) : std::span<const std::byte>(o.bytes);
        host_.send(to, m);
    }
    line_.erase(line_.begin(), line_.begin() + static_cast<std::ptrdiff_t>(sent));
}

bool reduction::done() const
{
    if (!begun_)
        return false;
    if (am_root())
        return complete_ == segments_.size();
    return line_.empty() && finished_ == segments_.size();
}

} // namespace wan
