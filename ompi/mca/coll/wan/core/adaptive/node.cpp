/*
 * See node.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/node.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace wan {

namespace {

/** Before there is a tree; where nothing is measured, any network's. */
constexpr int64_t rtts_before_trees = 4, any_timeout_ns = 200'000'000;
/** Where little is known of the way, and for processes that look now and then only. */
constexpr uint64_t least_window = 128 << 10;
/** Of operations that have not begun at a process all others together send it about so much, each at least and at most so much. */
constexpr uint64_t ahead_of_all = 64 << 20, least_ahead = 256 << 10, most_ahead_near = 4 << 20;
/** More by a way that holds more, since it takes a round trip to learn that they have begun; but never more than that. */
constexpr uint64_t most_ahead_far = 16 << 20;
/** By a way that is known to be far, and nothing else: 40 ms of 100 Mb/s; of a wide way two round trips less until it is full. */
constexpr uint64_t first_window = 512 << 10;
/** Behind so much nothing is asked. */
constexpr uint64_t most_asked_behind = 2 * least_window;
/** Calls that come by a way so many times as slowly as was known, seen so often in a row, show that it has changed. */
constexpr uint64_t slow_part = 5;
constexpr unsigned slow_in_a_row = 4;
/** Who takes longer than so many times what was measured has not got farther: it does not look. */
constexpr int64_t most_farther = 8;
/** Short messages, one after the other, that show that a way has got farther or nearer. */
constexpr int departs_in_a_row = 3;
/** However small one is asked for: each has its state and its message. */
constexpr uint64_t smallest_segment = 64;

} // namespace

adaptive_node::adaptive_node(const adaptive_options &o, int size, int me, adaptive_port &port, adaptive_places where)
    : options_(o), size_(size), me_(me), order_(std::move(where.order)), port_(port),
      near_(o, size, me, [this](int to, const tell_message &m) { send(to, m); }, std::move(where.beside), [this] { return is_loaded(); })
{
    near_.know_most(where.most_bandwidth);
    if (order_.empty()) {
        order_.resize(static_cast<size_t>(size));
        std::iota(order_.begin(), order_.end(), 0);
    }
}

void adaptive_node::send(int to, const tell_message &m)
{
    // A question of who does not look is asked again; many new trees would ask it hundreds.
    if (m.what == tell_kind::ask && port_.under_way(to) >= most_asked_behind)
        return;
    port_.send(to, message_put(m, ++sent_[to]), m.payload);
    if (m.what != tell_kind::deliver && m.what != tell_kind::segment && m.what != tell_kind::contribute)
        return;
    const uint64_t bytes = m.payload.size() + options_.message_room_bytes;
    if (!lead_.sent(to, m.op, bytes))
        return;
    port_.ahead_by(to, static_cast<int64_t>(bytes));
    if (port_.ahead(to) > most_ahead(to) / 2)
        ask_when(to, m.op);
}

void adaptive_node::post(int to, tell_kind what, uint64_t op)
{
    tell_message m;
    m.what = what;
    m.op = op;
    send(to, m);
}

void adaptive_node::ask_when(int to, uint64_t op)
{
    if (lead_.ask(to, op))
        post(to, tell_kind::when, op);
}

uint64_t adaptive_node::most_ahead(int to) const
{
    if (options_.ahead_bytes)
        return options_.ahead_bytes;
    const uint64_t near = std::clamp(ahead_of_all / static_cast<uint64_t>(size_), least_ahead, most_ahead_near);
    return std::max(near, std::min(window(to), most_ahead_far));
}

/** Of all far ways, as far as is known: one that nobody has measured may be as fast. */
uint64_t adaptive_node::far_bandwidth() const
{
    uint64_t most = 0;
    for (int other : near_.known())
        if (!near_.near(other))
            most = std::max({most, near_.bandwidth_or_told(other), port_.delivered(other)});
    return most;
}

/** Twice what the way there holds, as measured, there or from here, or as what comes there shows: more would only wait, and what else
 *  there is to say behind it; with less what goes in segments would wait for room.  It may hold more than was measured, when others
 *  were in the way or it was shorter: twice as much as comes is tried each time.  Where nothing is known, what other far ways hold,
 *  never what near ones do. */
uint64_t adaptive_node::window(int to) const
{
    const uint64_t come = port_.delivered(to), told = near_.bandwidth_or_told(to);
    const bool nothing = come == 0 && told == 0;
    const uint64_t rate = nothing ? far_bandwidth() : 2 * std::max(come, told);
    const int64_t known_ns = near_.rtt_or_largest_ns(to), seen_ns = std::min(port_.round_trip_ns(to), most_farther * known_ns);
    const auto bytes = static_cast<uint64_t>(static_cast<__int128>(rate) * (seen_ns ? seen_ns : known_ns) / 1'000'000'000);
    return std::max(nothing && near_.rtt_ns(to) > 0 && !near_.near(to) ? first_window : least_window, bytes);
}

bool adaptive_node::room(int to, uint64_t op)
{
    if (port_.under_way(to) >= window(to)) {
        port_.limited(to);
        return false;
    }
    if (lead_.has_begun(to, op) || port_.ahead(to) < most_ahead(to))
        return true;
    ask_when(to, op);
    return false;
}

tree &adaptive_node::tree_of(tree_name name)
{
    auto &t = trees_[name];
    if (!t)
        t = std::make_unique<tree>(options_, name, me_, near_, *this, port_.former(name));
    return *t;
}

const tree *adaptive_node::tree_at(tree_name name) const
{
    const auto at = trees_.find(name);
    return at == trees_.end() ? nullptr : at->second.get();
}

uint64_t adaptive_node::tree_changes() const
{
    uint64_t n = 0;
    for (const auto &[name, t] : trees_)
        n += t->changes();
    return n;
}

template <typename T> T *adaptive_node::operation_at(uint64_t op)
{
    auto &o = operations_[op];
    if (!o)
        o = std::make_unique<T>(*this, op);
    return dynamic_cast<T *>(o.get());
}

uint64_t adaptive_node::segment_for(uint64_t bytes, uint64_t element_bytes) const
{
    const uint64_t s = options_.segment_bytes ? std::clamp(options_.segment_bytes, smallest_segment, adaptive_most_payload)
                                              : adaptive_segment(bytes, static_cast<uint64_t>(size_));
    return std::max(element_bytes, s / element_bytes * element_bytes);
}

int64_t adaptive_node::longest_ns() const
{
    int64_t longest = 0;
    for (const auto &[name, t] : trees_)
        longest = std::max(longest, t->view().dist_ns);
    return longest;
}

/** The longest known time to a root, what so many bytes take there, and the first of them through a chain of all that are below. */
int64_t adaptive_node::timeout_ns(tree_name name, uint64_t bytes) const
{
    if (options_.reduce_timeout_ns)
        return options_.reduce_timeout_ns;
    int64_t longest = std::max(longest_ns(), port_.longest_ns());
    if (longest == 0)
        longest = near_.largest_rtt_ns() ? rtts_before_trees * near_.largest_rtt_ns() : any_timeout_ns;
    const tree *t = tree_at(name);
    const auto takes_ns = [](uint64_t n, uint64_t rate) { return static_cast<int64_t>(static_cast<__int128>(n) * 1'000'000'000 / rate); };
    if (t && name.bandwidth && t->view().est) {
        const auto below = static_cast<uint64_t>(t->under().size());
        longest += static_cast<int64_t>(below) * near_.least_rtt_ns() + takes_ns(bytes + below * segment_for(bytes, 1), t->view().est);
    } else if (const uint64_t rate = t && !name.bandwidth ? near_.bandwidth_or_most(t->parent()) : 0)
        longest += takes_ns(bytes, rate);
    return longest;
}

// ---- operations ------------------------------------------------------------------------

uint64_t adaptive_node::broadcast_begin(int root, std::span<std::byte> buffer)
{
    const uint64_t op = next_op_++;
    next_ns_ = 0;
    const tree_name name = tree_for(root, buffer.size());
    tree_of(name).used(now_ns_);
    used_.insert(name);
    broadcast *b = operation_at<broadcast>(op);
    if (b && me_ == root)
        b->begin_root(name, buffer, segment_for(buffer.size(), 1));
    else if (b)
        b->begin(buffer);
    return op;
}

uint64_t adaptive_node::contribute(contribution mine)
{
    const uint64_t op = next_op_++;
    next_ns_ = 0;
    if (reduction *r = operation_at<reduction>(op))
        r->begin(std::move(mine));
    return op;
}

uint64_t adaptive_node::reduce_begin(int root, std::span<const std::byte> in, std::byte *out, operation_rules rules)
{
    const tree_name name = tree_for(root, in.size());
    tree_of(name).used(now_ns_);
    const bool first = used_.insert(name).second && options_.has(variant_chains);
    return contribute({name, in, segment_for(in.size(), rules.element_bytes), rules.how, std::move(rules.combine),
                       [out](int) { return out; }, name.bandwidth && (first || rules.how != joining::any)});
}

uint64_t adaptive_node::gather_begin(int root, std::span<const std::byte> in, std::function<std::byte *(int rank)> place)
{
    return contribute({{root, false}, in, segment_for(in.size(), 1), joining::none, {}, std::move(place)});
}

uint64_t adaptive_node::allreduce_begin(std::span<const std::byte> in, std::byte *out, operation_rules rules)
{
    const std::span<std::byte> result(out, in.size());
    const uint64_t reduce = reduce_begin(0, in, out, std::move(rules));
    const uint64_t op = me_ == 0 ? next_op_++ : broadcast_begin(0, result);
    before_[op] = reduce;
    if (me_ != 0)
        return op;
    operation_at<broadcast>(op);
    behind_[op] = result;
    return op;
}

void adaptive_node::begin_behind()
{
    std::erase_if(behind_, [&](const auto &b) {
        const auto &[op, buffer] = b;
        if (!done(before_.at(op)))
            return false;
        operations_.erase(before_.at(op));
        operation_at<broadcast>(op)->begin_root(tree_for(me_, buffer.size()), buffer, segment_for(buffer.size(), 1));
        return true;
    });
}

void adaptive_node::measure_again()
{
    near_.measure_again();
    paces_.clear();         // what was usual before is not what is known now
    for (auto &[name, t] : trees_)
        t->look_again();
    next_ns_ = 0;
}

/** Who sends is the one that knows; who chooses is the one below. */
void adaptive_node::paced(int to, const pace::seen &seen, int64_t now_ns)
{
    if (!options_.has(variant_pace))
        return;
    now_ns_ = now_ns;
    known_pace &p = paces_[to];
    const uint64_t rate = seen.with_others;
    p.most = std::max(p.most, seen.rate);
    // (Along a chain nobody waits before.  What it has been told was measured while others sent, perhaps.)
    const uint64_t known = near_.bandwidth(to), usual = std::max(p.most, known ? known : std::max(near_.bandwidth_or_told(to), far_bandwidth()));
    // (One of three children gets a third, and has nothing to complain of.)  A slow one may become slower still.
    p.in_a_row = (p.slow ? 2 * rate < p.told : slow_part * seen.rate < usual && 2 * rate < usual) ? p.in_a_row + 1 : 0;
    const bool fallen = p.in_a_row >= slow_in_a_row, slow = p.slow ? 2 * rate < usual : fallen;
    if (slow == p.slow && !fallen)
        return;
    bool above = false;
    size_t below = 0;           // children of a tree, with that one
    for (const auto &[name, t] : trees_)
        if (name.bandwidth) {
            const std::vector<int> children = t->children_for(next_op_);
            above = above || t->parent() == to;
            if (std::count(children.begin(), children.end(), to))
                below = std::max(below, children.size());
        }
    if (!above && below == 0)
        return;             // not any more
    counters_.slowed += slow && !p.slow;
    p.slow = slow;
    // What it would get alone: it divides that by the children who share it.
    p.told = below > 0 ? std::min(seen.with_others, seen.rate * below) : seen.rate;
    p.in_a_row = 0;
    if (below > 0) {
        tell_message m;
        m.what = tell_kind::pace;
        m.value_ns = static_cast<int64_t>(p.told);
        m.slow = slow;
        send(to, m);
    }
    if (above)
        near_.paced(to, seen.rate, slow, now_ns);
    next_ns_ = 0;
}

/** What others have sent by a link on the way is part of the same operations. */
bool adaptive_node::is_loaded() const
{
    return std::any_of(operations_.begin(), operations_.end(), [](const auto &o) { return o.second->is_long() && !o.second->done(); })
           || std::any_of(near_.known().begin(), near_.known().end(), [&](int other) { return port_.under_way(other) >= least_window; });
}

/** In a tree. */
bool adaptive_node::is_next_to(int other) const
{
    return std::any_of(trees_.begin(), trees_.end(), [&](const auto &t) {
        const std::vector<int> children = t.second->children_for(next_op_);
        return t.second->parent() == other || std::count(children.begin(), children.end(), other);
    });
}

/** Only the ways that trees use are watched: of the others those who ask there take care (neighbours::answered). */
void adaptive_node::went(int to, int64_t took_ns, int64_t now_ns)
{
    now_ns_ = now_ns;
    const int departs = near_.departs(to, took_ns, port_.waited_ns());
    int &in_a_row = departed_[to];
    in_a_row = departs == 0 || (departs > 0) != (in_a_row > 0) ? departs : in_a_row + departs;
    if (std::abs(in_a_row) < departs_in_a_row)
        return;
    in_a_row = 0;
    if (!is_next_to(to))
        return;
    near_.doubt(to, departs, now_ns);
    next_ns_ = 0;
}

/** Others may be nearer now than a parent that is not where it was. */
void adaptive_node::look_again_behind(const std::vector<int> &changed)
{
    for (int parent : changed)
        for (auto &[name, t] : trees_)
            if (t->parent() == parent)
                t->look_again();
}

bool adaptive_node::done(uint64_t op) const
{
    const auto at = operations_.find(op);
    if (at != operations_.end() && !at->second->done())
        return false;
    const auto first = before_.find(op);
    return first == before_.end() || done(first->second);
}

void adaptive_node::end(uint64_t op)
{
    if (const auto first = before_.extract(op))
        operations_.erase(first.mapped());
    behind_.erase(op);
    operations_.erase(op);
    if (operations_.empty())
        next_ns_ = 0;       // there is room for measuring
}

void adaptive_node::abandon()
{
    behind_.clear();
    before_.clear();
    operations_.clear();
    lead_.forget([&](int to, uint64_t bytes) { port_.ahead_by(to, -static_cast<int64_t>(bytes)); });
}

void adaptive_node::begins_nothing()
{
    lead_.answer(UINT64_MAX, [&](int to) { post(to, tell_kind::begun, UINT64_MAX); });
}

uint64_t adaptive_node::kept() const
{
    uint64_t bytes = 0;
    for (const auto &[op, o] : operations_)
        bytes += o->kept();
    return bytes;
}

void adaptive_node::child_gone(tree_name tree, int child, uint64_t first, uint64_t end)
{
    for (auto &[number, o] : operations_)
        o->child_gone(tree, child, first, end);
}

// ---- messages, time ------------------------------------------------------------------------

void adaptive_node::operation_message(int from, const tell_message &m)
{
    const bool reduces = m.what == tell_kind::contribute || m.what == tell_kind::redirect || m.what == tell_kind::redirected;
    if (m.op < next_op_ && !operations_.count(m.op)) {
        if (m.what == tell_kind::redirect)          // true of what is over
            send(from, redirected_answer(m));
        else if (m.what != tell_kind::redirected)
            ++stray_;
        return;
    }
    operation *o = reduces ? static_cast<operation *>(operation_at<reduction>(m.op)) : operation_at<broadcast>(m.op);
    if (o)
        o->receive(from, m, now_ns_);
    else
        ++stray_;
}

bool adaptive_node::numbers::take(uint64_t number)
{
    constexpr uint64_t bits = 64;
    if (number > last) {
        const uint64_t further = number - last;
        before = further < bits ? before << further : 0;
        if (further <= bits)
            before |= uint64_t{1} << (further - 1);
        last = number;
        return true;
    }
    const uint64_t behind = last - number;
    if (behind == 0 || behind > bits || before >> (behind - 1) & 1)
        return false;
    before |= uint64_t{1} << (behind - 1);
    return true;
}

void adaptive_node::receive(int from, std::span<const std::byte> bytes, int64_t now_ns)
{
    tell_message m;
    now_ns_ = now_ns;
    next_ns_ = 0;       // it has to look at what this changes
    if (!message_get(m, bytes, size_)) {
        ++stray_;
        return;
    }
    if (m.number && !come_[from].take(m.number)) {
        ++repeated_;
        return;
    }
    if (m.what <= tell_kind::distance)
        near_.receive(from, m, now_ns, port_.waited_ns());
    else if (m.what <= tell_kind::gate)
        tree_of(m.tree).receive(from, m, now_ns);
    else if (m.what == tell_kind::when)
        lead_.asked(from, m.op);
    else if (m.what == tell_kind::begun)
        port_.ahead_by(from, -static_cast<int64_t>(lead_.told(from, m.op)));
    else
        operation_message(from, m);
}

void adaptive_node::step(int64_t now_ns)
{
    now_ns_ = now_ns;
    near_.step(now_ns, std::any_of(operations_.begin(), operations_.end(), [](const auto &o) { return !o.second->done(); }));
    look_again_behind(near_.changed());
    for (auto &[name, t] : trees_)
        t->step(now_ns);
    begin_behind();
    lead_.answer(next_op_, [&](int to) { post(to, tell_kind::begun, next_op_); });
    for (auto &[number, o] : operations_)
        o->step(now_ns);
    next_ns_ = next_deadline();
}

int64_t adaptive_node::next_deadline() const
{
    int64_t first = near_.deadline();
    for (const auto &[name, t] : trees_)
        first = std::min(first, t->deadline());
    for (const auto &[number, o] : operations_)
        first = std::min(first, o->deadline());
    return first;
}

} // namespace wan
