/*
 * See operation.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/operation.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wan {

void reduction::relatives(size_t segments)
{
    const auto child_is = [&](int rank) { children_.push_back({rank, false, std::vector<bool>(segments)}); };
    if (mine_.in_turn) {
        const std::vector<int> &order = host_.order();
        const bool by_rank = mine_.how != joining::any;
        const auto place_of = [&](int rank) { return by_rank ? rank : static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin()); };
        const auto rank_at = [&](int place) { return by_rank ? place : order[static_cast<size_t>(place)]; };
        const int me = place_of(host_.me()), root = place_of(mine_.tree.root);
        parent_ = rank_at(me < root ? me + 1 : me - 1);
        behind_ = me < root ? me : host_.size() - 1 - me;
        if (me >= root && me + 1 < host_.size())
            child_is(rank_at(me + 1));
        if (me <= root && me > 0)
            child_is(rank_at(me - 1));
    } else {
        const tree &t = host_.tree_of(mine_.tree);
        parent_ = t.parent_for(op_);
        for (int rank : t.children_for(op_))
            child_is(rank);
    }
    if (std::count(redirecting_.begin(), redirecting_.end(), parent_))
        parent_ = mine_.tree.root;
}

void reduction::begin(contribution mine)
{
    mine_ = std::move(mine);
    begun_ = true;
    cut_ = {mine_.in.size(), mine_.segment_bytes};
    const auto n = static_cast<size_t>(cut_.count());
    segments_.resize(n);
    if (!mine_.in_turn)
        host_.tree_of(mine_.tree);      // comes into being
    if (!am_root())
        relatives(n);
    tell_message own;
    own.ranks = rank_set::one(host_.me());
    for (size_t i = 0; i < n; ++i) {
        own.payload = mine_.in.subspan(cut_.from(i), cut_.length(i));
        hold(i, own);
    }
    mine_.in = {};
    timeout_ns_ = host_.timeout_ns(mine_.tree, cut_.bytes * static_cast<uint64_t>(mine_.how == joining::none ? host_.size() : 1));
    if (mine_.in_turn && host_.options().reduce_timeout_ns == 0)
        timeout_ns_ *= std::max(1, behind_);
    for (const early &e : early_) {
        tell_message m = e.m;
        m.payload = e.payload;
        take(e.from, m);
    }
    early_.clear();
    settle_all();
}

/** What has come, or is its own; at the root of a Gather where it belongs. */
void reduction::hold(uint64_t index, const tell_message &m)
{
    segment &s = segments_[index];
    const auto length = static_cast<size_t>(cut_.length(index));
    if (am_root() && mine_.how == joining::none) {
        auto rest = m.payload;
        m.ranks.each([&](int rank) {
            const auto block = rest.first(std::min(length, rest.size()));
            if (!block.empty())
                std::memmove(mine_.place(rank) + cut_.from(index), block.data(), block.size());
            rest = rest.subspan(block.size());
        });
    } else
        s.held.add(mine_.how, m.ranks, m.payload, length, host_.size(), mine_.combine);
    s.have |= m.ranks;
    if (!am_root() || s.have.size() < host_.size())
        return;
    ++complete_;
    s.held.take([&](const rank_set &, const std::vector<std::byte> &bytes) {
        if (length)
            std::memcpy(mine_.place(mine_.tree.root) + cut_.from(index), bytes.data(), length);
    });
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
    for (; due_ < segments_.size() && segments_[due_].finished; ++due_)
        deadline_ns_ = at_once;
    s.passed |= s.have;
    s.have = {};
    outgoing o{index, false, {}, {}};
    s.held.take([&](const rank_set &ranks, std::vector<std::byte> &bytes) {
        if (!o.ranks.empty() && o.bytes.size() + bytes.size() > adaptive_most_payload)
            line_.push_back(std::exchange(o, {index, false, {}, {}}));
        o.ranks |= ranks;
        if (o.bytes.empty()) {
            o.bytes = std::move(bytes);
        } else {    // (GCC 14 warns of an insert here)
            const size_t at = o.bytes.size();
            o.bytes.resize(at + bytes.size());
            std::memcpy(o.bytes.data() + at, bytes.data(), bytes.size());
        }
    });
    o.last = last;
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
    m.tree = mine_.tree;
    m.op = op_;
    for (const child &c : children_)
        if (!c.gone && !std::all_of(c.finished.begin(), c.finished.end(), [](bool f) { return f; }))
            host_.send(c.rank, m);
}

void reduction::take(int from, const tell_message &m)
{
    if (m.index >= segments_.size())
        return;
    segment &s = segments_[m.index];
    if (!m.ranks.empty()) {
        if (am_root() && s.have.intersects(m.ranks)) {
            ++host_.counters().twice;       // never: what is there is not spoilt
        } else if (!am_root() && (timed_out_ || s.finished)) {
            const bool seen = s.passed.intersects(m.ranks);
            ++(seen ? host_.counters().round : host_.counters().late);
            line_.push_back({m.index, false, m.ranks, {m.payload.begin(), m.payload.end()}, seen ? mine_.tree.root : -1});
            s.passed |= m.ranks;
        } else
            hold(m.index, m);
    }
    if (m.last)
        for (child &c : children_)
            if (c.rank == from)
                c.finished[m.index] = true;
}

void reduction::receive(int from, const tell_message &m, int64_t)
{
    switch (m.what) {
    case tell_kind::contribute:
        if (!begun_) {
            early_.push_back({from, m, {m.payload.begin(), m.payload.end()}});
            return;
        }
        take(from, m);
        settle(m.index);
        return;
    case tell_kind::redirect: {
        redirecting_.push_back(from);
        if (begun_ && parent_ == from)
            parent_ = mine_.tree.root;
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
    if (!begun_ || mine_.in_turn || tree != mine_.tree || op_ < first || op_ >= end)
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
    for (; !line_.empty(); line_.pop_front()) {
        const outgoing &o = line_.front();
        const int to = o.to < 0 ? parent_ : o.to;
        if (o.ranks.empty() && to == mine_.tree.root)
            continue;           // it counts contributions
        if (!host_.room(to, op_))
            break;
        tell_message m;
        m.what = tell_kind::contribute;
        m.tree = mine_.tree;
        m.op = op_;
        m.index = static_cast<uint32_t>(o.index);
        m.last = o.last;
        m.ranks = o.ranks;
        m.payload = o.bytes;
        host_.send(to, m);
    }
}

uint64_t reduction::kept() const
{
    uint64_t bytes = 0;
    for (const early &e : early_)
        bytes += e.payload.size() + host_.options().message_room_bytes;
    return bytes;
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
