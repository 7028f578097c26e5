/*
 * See operation.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/operation.hpp"

#include <algorithm>
#include <cstring>

namespace wan {

std::span<const std::byte> broadcast::part(uint64_t index) const
{
    return {at_ + cut_.from(index), static_cast<size_t>(cut_.length(index))};
}

void broadcast::begin_root(tree_name tree, std::span<std::byte> buffer, uint64_t segment_bytes)
{
    tree_ = tree;
    begun_ = true;
    at_ = out_ = buffer.data();
    cut_ = {buffer.size(), segment_bytes};
    have_ = cut_.count();
    route(rank_set::range(0, host_.size()) - rank_set::one(host_.me()));
}

void broadcast::begin(std::span<std::byte> buffer)
{
    begun_ = true;
    out_ = buffer.data();
    wanted_ = buffer.size();
    if (!routed_)
        cut_.bytes = wanted_;
    hand_over();
}

/** In the order of all, towards its nearer end first: of two sites, a chain leaves the first one when it has been to all of it. */
std::vector<int> broadcast::in_turn(const rank_set &listed) const
{
    const std::vector<int> &order = host_.order();
    const auto me = std::find(order.begin(), order.end(), host_.me());
    std::vector<int> ranks;
    const auto take = [&](int rank) {
        if (listed.contains(rank))
            ranks.push_back(rank);
    };
    const auto down = [&] { std::for_each(std::make_reverse_iterator(me), order.rend(), take); };
    const bool down_first = me - order.begin() < order.end() - me;
    if (down_first)
        down();
    std::for_each(me, order.end(), take);
    if (!down_first)
        down();
    return ranks;
}

/** Children first; then one or two of the rest, with what remains shared among them: one, where sending twice takes longer than
 *  to go through all of them in turn, and none, where all are about to be below the one child again, as in another communicator: the rest
 *  is behind those that are.  (Where a tree is only being made it is in pieces, each across sites, and a way through all of them long.)
 *  By Phoenix's rules each of the rest from here. */
void broadcast::route(rank_set listed)
{
    routed_ = true;
    adaptive_counters &n = host_.counters();
    for (auto &[child, share] : host_.tree_of(tree_).shares(listed)) {
        targets_.push_back({child, std::move(share)});
        ++n.along_tree;
    }
    const bool chain = tree_.bandwidth && host_.options().has(variant_chains)
                       && static_cast<uint64_t>(listed.size()) * cut_.each < cut_.bytes;
    if (chain && targets_.size() == 1 && host_.tree_of(tree_).resumed()) {
        targets_[0].listed |= listed;
        return;
    }
    const std::vector<int> rest = in_turn(listed);
    const size_t share = chain ? rest.size() : host_.options().has(variant_relays) ? (rest.size() + 1) / 2 : 1;
    for (size_t from = 0; from < rest.size(); from += share) {
        rank_set those;
        for (size_t i = from; i < std::min(from + share, rest.size()); ++i)
            those |= rank_set::one(rest[i]);
        targets_.push_back({rest[from], std::move(those)});
        ++n.direct;
    }
}

/** What came before the caller did; what comes later goes where the caller wants it, if it fits there. */
void broadcast::hand_over()
{
    if (const uint64_t n = std::min<uint64_t>(kept_.size(), wanted_))
        std::memcpy(out_, kept_.data(), n);
    if (wanted_ < cut_.bytes)
        return;
    at_ = out_;
    kept_ = {};
}

void broadcast::take(std::span<const std::byte> payload)
{
    const uint64_t from = cut_.from(have_);
    if (from + payload.size() <= cut_.bytes && !payload.empty()) {
        if (!begun_ || at_ != out_) {
            kept_.resize(from + payload.size());
            at_ = kept_.data();
        }
        std::memcpy(at_ + from, payload.data(), payload.size());
    }
    if (++have_ == cut_.count() && begun_ && at_ != out_)
        hand_over();
}

void broadcast::receive(int, const tell_message &m, int64_t)
{
    if (m.what == tell_kind::deliver) {
        tree_ = m.tree;
        cut_.each = std::max<uint64_t>(1, m.segment_bytes);
        if (!begun_)
            cut_.bytes = m.bytes;
        route(m.ranks - rank_set::one(host_.me()));
    }
    take(m.payload);
}

void broadcast::step(int64_t)
{
    for (bool more = true; more;) {
        more = false;
        for (target &t : targets_) {        // by turns
            if (t.next >= have_ || !host_.room(t.rank, op_))
                continue;
            tell_message m;
            m.tree = tree_;
            m.op = op_;
            m.payload = part(t.next);
            if (t.next == 0) {
                m.what = tell_kind::deliver;
                m.ranks = t.listed;
                m.bytes = cut_.bytes;
                m.segment_bytes = cut_.each;
            } else
                m.what = tell_kind::segment;
            host_.send(t.rank, m);
            ++t.next;
            more = true;
        }
    }
}

bool broadcast::done() const
{
    if (!begun_ || !routed_ || have_ < cut_.count())
        return false;
    return std::all_of(targets_.begin(), targets_.end(), [&](const target &t) { return t.next == cut_.count(); });
}

} // namespace wan
