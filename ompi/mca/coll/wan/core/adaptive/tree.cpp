/*
 * See tree.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/tree.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Rounds of questions in a row that change nothing, until a process is content; each twice as late as the one before. */
constexpr unsigned content_after = 4;
/** Parents one after the other; a connected process stays with each further one twice as long as with the one before, at
 *  last (after four seconds) for good: two can pull each other's children away, and many run from one to another and back. */
constexpr unsigned free_moves = 24, paced_moves = 11;
/** Who has no parent goes on asking, at last with a pause of so many doublings; until then, who is a gate. */
constexpr unsigned slowest = 8;
/** To begin with, those are asked as well who cannot be the parent: their neighbourhood's gate may. */
constexpr unsigned rounds_to_all = 4;
/** How often each of several children may try to go elsewhere, with pauses that get twice as long. */
constexpr unsigned turns_each = 8;
/** How often, while the tree is used, a parent that is far is asked again, and the bandwidth of one that is near but seems slow
 *  is measured again, with pauses that get twice as long. */
constexpr unsigned most_looks = 8;
constexpr int64_t look_pause_ns = 50'000'000;
constexpr int64_t least_round_ns = 2'000'000;
/** So long who takes up a former place waits to be connected there: what says so comes from the root, hop by hop, behind what
 *  operations send. */
constexpr int64_t least_former_ns = 1'000'000'000, most_former_ns = 2'000'000'000, former_round_trips = 4;
/** Questions of which it is known when they were asked, until one is answered: who does not look may never be. */
constexpr size_t most_asked = 64;
/** So long an answer may say that a question has waited. */
constexpr int64_t most_waited_ns = 3'600'000'000'000;
/** Who looks later than that after it was due has an answer that waits, perhaps: a few times it looks once more before it gives up. */
constexpr int64_t away_ns = 100'000'000;
constexpr int most_away = 4;

} // namespace

tree::tree(const adaptive_options &o, tree_name name, int me, neighbours &near, tree_host &host, former_place former)
    : options_(o), name_(name), me_(me), near_(near), host_(host), under_(rank_set::one(me)), seen_news_(near.news().size())
{
    mine_.gate = mine_.tip = mine_.end = me;
    if (me == name.root) {
        mine_.connected = true;
        mine_.est = unbounded;
        resumed_ = o.has(variant_places) && former.known;
        return;
    }
    fixed_ = place_on_host();
    if (o.has(variant_hints) || fixed_ >= 0)
        near_.hint(fixed_ >= 0 ? fixed_ : name.root, true);
    if (o.has(variant_places) && former.known && fits(former)) {
        resumed_ = true;
        former_ = std::move(former);
        between_ = former_.ancestors.size();
        mine_.ancestors = former_.ancestors;
    }
}

/** The parent of one who is not the first on its host; else -1. */
int tree::place_on_host() const
{
    const rank_set &beside = near_.beside();
    if (beside.empty())
        return -1;
    const int first = beside.contains(name_.root) ? name_.root : beside.first();
    std::vector<int> order{first};
    (beside - rank_set::one(first)).each([&](int rank) { order.push_back(rank); });
    const auto i = static_cast<size_t>(std::find(order.begin(), order.end(), me_) - order.begin());
    return i == 0 ? -1 : order[name_.bandwidth ? i - 1 : (i - 1) / 2];
}

void tree::post(int to, tell_message m) const
{
    m.tree = name_;
    host_.send(to, m);
}

void tree::tell(int to, uint32_t id) const
{
    tell_message m;
    m.id = id;
    m.what = tell_kind::tell;
    m.value_ns = id ? host_.waited_ns() : 0;
    m.view = mine_;
    post(to, m);
}

/** Tells the parent who is below, where that ends, and how fast the way is, which it need not have measured. */
void tree::tell_under()
{
    tell_message m;
    m.what = tell_kind::under;
    m.ranks = under_;
    m.hint = told_tip_ = mine_.tip;
    m.end = told_end_ = end_for_parent();
    m.bytes = told_bandwidth_ = near_.bandwidth(parent_);
    post(parent_, m);
}

void tree::ask(int whom, unsigned hints)
{
    question &q = asked_[whom];
    ++q.id;
    q.hints = hints;
    q.at_ns.emplace_back(q.id, now_ns_);
    if (q.at_ns.size() > most_asked)
        q.at_ns.pop_front();
    tell_message m;
    m.what = tell_kind::ask;
    m.id = q.id;
    m.view = mine_;
    post(whom, m);
}

/** Those before it have been, too: answers come in order, but for those that come once more. */
void tree::answered(int by, question &q, const tell_message &m)
{
    while (!q.at_ns.empty() && q.at_ns.front().first <= m.id) {
        const int64_t took_ns = now_ns_ - q.at_ns.front().second;
        if (q.at_ns.front().first == q.id)
            near_.answered(by, took_ns);
        if (q.at_ns.front().first == m.id
            && near_.departs(by, took_ns, host_.waited_ns() + std::clamp<int64_t>(m.value_ns, 0, most_waited_ns)) > 0)
            near_.doubt(by, 1, now_ns_);        // it has got farther, perhaps, since it was measured
        q.at_ns.pop_front();
    }
}

void tree::look_again()
{
    rounds_ = moves_ = turn_ = pulls_ = looks_ = 0;
    next_look_ns_ = 0;
    turn_ns_ = now_ns_ + turn_pause_ns();
    stays_until_ns_ = 0;
    measured_for_.clear();
    if (parent_ >= 0)
        near_.want_bandwidth(parent_);      // the link that changed may be this one
    restless();
}

void tree::used(int64_t now_ns)
{
    now_ns_ = now_ns;
    if (!name_.bandwidth || !options_.has(variant_chains))
        return;
    if (mine_.children > 1 && !turns_left() && now_ns >= turn_ns_)
        turn_ -= static_cast<unsigned>(mine_.children);
    const bool near = parent_ >= 0 && near_.near(parent_);
    if (parent_ >= 0 && looks_ < most_looks && now_ns >= next_look_ns_ && (!near || slow())) {
        if (near)
            near_.try_bandwidth(parent_);
        else
            ask(parent_);
        next_look_ns_ = now_ns + (look_pause_ns << looks_++);
    }
}

void tree::restless()
{
    quiet_rounds_ = 0;
    next_round_ns_ = std::min(next_round_ns_, stays() ? stays_until_ns_ : now_ns_ + least_round_ns);
}

// ---- the parent ------------------------------------------------------------------------

/** From `op` on there is no parent, unless take_accept() says who. */
void tree::leave(uint64_t op)
{
    if (parent_ < 0)
        return;
    tell_message m;
    m.what = tell_kind::detach;
    m.op = op;
    post(parent_, m);
    parent_ = -1;
}

void tree::edge_set(uint64_t from, int parent)
{
    while (!edges_.empty() && edges_.back().from >= from)
        edges_.pop_back();
    edges_.push_back({from, parent});
    while (edges_.size() > 1 && edges_[1].from <= host_.next_op())
        edges_.erase(edges_.begin());
}

/** Another one has taken it. */
void tree::moved()
{
    if (++moves_ > free_moves + paced_moves)
        stays_until_ns_ = INT64_MAX;
    else if (moves_ > free_moves)
        stays_until_ns_ = now_ns_ + (least_round_ns << (moves_ - free_moves));
}

void tree::take_accept(int from, uint64_t op)
{
    const uint64_t last = edges_.empty() ? 0 : edges_.back().from;
    const uint64_t holds = std::max({op, last, host_.next_op()});
    pending_ = -1;
    tell_message m;
    if (options_.has(variant_gates) && parent_ >= 0 && !better(from, told_[from])) {        // by now
        m.what = tell_kind::detach;
        m.op = op;      // from the first one on for which it counts on this process
        post(from, m);
        // What this one's coming did to the other's children may come round to it, and make it come again when it has left.
        moved();
        return;
    }
    m.op = holds;
    pulls_ += parent_ >= 0 && near_.near(parent_) && closer(from);
    leave(holds);
    parent_ = from;
    edge_set(holds, from);
    m.what = tell_kind::confirm;
    post(from, m);
    ++changes_;
    moved();
    parents_ = told_[from];
    looks_ = 0;
    near_.want_bandwidth(from);
    tell_under();
    follow_parent();
    restless();
}

/** What the parent told last says what this process is. */
void tree::follow_parent()
{
    tree_view v;
    v.children = mine_.children;
    v.tip = mine_.tip;
    v.end = mine_.end;
    v.mover = mine_.mover;
    v.gate = me_;
    if (parent_ >= 0 && parents_.ancestors.contains(me_)) {
        const uint64_t holds = std::max(host_.next_op(), edges_.back().from);
        leave(holds);
        edge_set(holds, -1);
        ++changes_, ++cycles_;
    }
    if (parent_ >= 0 && parents_.connected) {
        const int64_t rtt = near_.rtt_ns(parent_);
        v.connected = true;
        v.dist_ns = parents_.dist_ns + hop_ns(parent_, parents_.children);
        v.est = promised(parent_, parents_, parents_.children);
        v.ancestors = parents_.ancestors | rank_set::one(parent_);
        // (Along a chain distances add up to more than the way to any other site.)
        const bool inside = near_.near(parent_) || (!name_.bandwidth && elsewhere * rtt < parents_.dist_ns);
        v.gate = inside ? parents_.gate : me_;
        v.gate_dist_ns = inside ? parents_.gate_dist_ns : v.dist_ns;
        v.slowed = name_.bandwidth && (parents_.slowed || near_.slowed(parent_));
    }
    if (v.connected)
        former_ = {};
    else if (returns())
        v.ancestors = former_.ancestors;
    if (v.slowed && !mine_.slowed) {
        near_.forget_far(parent_);      // the way to those may be the same one
        measured_for_.clear();
    }
    view_set(v);
    if (parent_ >= 0 && (end_for_parent() != told_end_ || near_.bandwidth(parent_) != told_bandwidth_))
        tell_under();           // it has turned out to be nearer or farther, or another way
}

void tree::view_set(tree_view v)
{
    if (v == mine_)
        return;
    // Who is better off than before has not more to gain than then.
    const bool worse = v.connected != mine_.connected || v.dist_ns > mine_.dist_ns + mine_.dist_ns / 8 || v.est < mine_.est - mine_.est / 8;
    mine_ = std::move(v);
    if (mine_.connected)
        for (int other : std::exchange(waiting_, {}))
            tell(other);
    if (worse)
        restless();
    for (const child &c : children_)
        if (!c.leaving())
            tell(c.rank);
}

// ---- a former place ----------------------------------------------------------------------

/** Whether it can be taken up: it leads to the root, not through this process, and as processes of a host have their places now. */
bool tree::fits(const former_place &p) const
{
    return p.ancestors.contains(name_.root) && !p.ancestors.contains(me_)
           && (fixed_ >= 0 ? p.ancestors.contains(fixed_) : !p.ancestors.intersects(near_.beside()));
}

/** It is one of those it was below, but has been nowhere or given up; or another one of them is neither above nor below it. */
bool tree::contradicts_place(int from, const tree_view &v) const
{
    if (!former_.ancestors.contains(from))
        return false;
    if (!v.connected)
        return v.ancestors.empty();
    return std::any_of(told_.begin(), told_.end(), [&](const auto &t) {
        const auto &[who, w] = t;
        return who != from && former_.ancestors.contains(who) && w.connected && !w.ancestors.contains(from) && !v.ancestors.contains(who);
    });
}

void tree::wait_for_place(int64_t now_ns)
{
    if (!returns())
        return;
    if (former_until_ns_ == 0)
        former_until_ns_ = now_ns + std::clamp(former_round_trips * former_.dist_ns, least_former_ns, most_former_ns);
    else if (now_ns - deadline() > away_ns && away_ < most_away) {
        ++away_;
        former_until_ns_ = std::max(former_until_ns_, now_ns + away_ns);
    } else if (now_ns >= former_until_ns_)
        give_up_place();
}

/** It is as one that was nowhere. */
void tree::give_up_place()
{
    former_ = {};
    resumed_ = false;
    restless();
    follow_parent();
    consider_all(-1);
}

// ---- children ---------------------------------------------------------------------------

void tree::take_attach(int from, const tell_message &m)
{
    const bool crowded = options_.has(variant_chains) && name_.bandwidth && mine_.children > m.children;
    const bool mutual = pending_ == from && me_ < from;     // one of the two takes the other
    tell_message answer;
    if (mine_.ancestors.contains(from) || parent_ == from || mutual || m.ranks.contains(me_) || !(mine_.connected || returns()) || crowded) {
        answer.what = tell_kind::refuse;
        post(from, answer);
        tell(from);         // why: what it goes by is old
        return;
    }
    uint64_t holds = host_.next_op();
    for (const child &c : children_)
        if (c.rank == from && c.leaving())
            holds = std::max(holds, c.until);       // it has been here before, and may still owe something
    children_.push_back({from, m.ranks, from, -1, holds});
    if (options_.has(variant_hints))
        near_.hint(from, true);     // who is far is served and moved first
    answer.what = tell_kind::accept;
    answer.op = children_.back().from;
    post(from, answer);
    children_changed();
    tell(from);
}

/** The farthest child may have nobody to go to: then the next one. */
bool tree::turns_left() const
{
    return name_.bandwidth && options_.has(variant_chains) && mine_.children > 1 && turn_ < turns_each * static_cast<unsigned>(mine_.children);
}

int64_t tree::turn_pause_ns() const
{
    return std::max(2 * least_round_ns, near_.largest_rtt_ns()) << turn_ / static_cast<unsigned>(std::max(1, mine_.children));
}

void tree::children_changed()
{
    const uint64_t next = host_.next_op();
    std::erase_if(children_, [&](const child &c) { return c.until <= next; });
    rank_set under = rank_set::one(me_);
    std::vector<const child *> those;       // the farthest first
    for (const child &c : children_)
        if (!c.leaving()) {
            under |= c.under;
            those.push_back(&c);
        }
    const auto rtt = [&](const child *c) { return near_.beside().contains(c->rank) ? 0 : near_.rtt_or_largest_ns(c->rank); };
    std::stable_sort(those.begin(), those.end(), [&](const child *x, const child *y) { return rtt(x) > rtt(y); });
    tree_view v = mine_;
    v.children = static_cast<int>(those.size());
    v.tip = those.empty() ? me_ : those.back()->tip;
    v.mover = -1;
    const auto movable = static_cast<size_t>(std::count_if(those.begin(), those.end(), [&](const child *c) { return !near_.beside().contains(c->rank); }));
    if (those.size() > 1 && movable > 0) {
        if (v.children != mine_.children)
            turn_ = 0, turn_ns_ = now_ns_ + turn_pause_ns();
        const size_t moves = turn_ % movable;
        v.mover = those[moves]->rank;
        if (moves + 1 == those.size())
            v.tip = those[moves - 1]->tip;
    }
    v.end = me_;
    for (const child *c : those)
        if (c->end >= 0 && (v.end == me_ || c->rank != v.mover))
            v.end = c->end;     // of another one than the mover, if there is
    const bool news = under != under_;
    under_ = under;
    view_set(v);
    if (parent_ >= 0 && (news || mine_.tip != told_tip_ || end_for_parent() != told_end_))
        tell_under();
}

int tree::parent_for(uint64_t op) const
{
    int parent = -1;
    for (const edge &e : edges_)
        if (e.from <= op)
            parent = e.parent;
    return parent < 0 ? name_.root : parent;
}

std::vector<int> tree::children_for(uint64_t op) const
{
    std::vector<int> those;
    for (const child &c : children_)
        if (c.from <= op && op < c.until)
            those.push_back(c.rank);
    return those;
}

std::vector<std::pair<int, rank_set>> tree::shares(rank_set &listed) const
{
    std::vector<std::pair<int, rank_set>> all;
    for (const child &c : children_)
        if (!c.leaving() && listed.contains(c.rank)) {
            rank_set share = (c.under & listed) | rank_set::one(c.rank);
            listed -= share;
            all.emplace_back(c.rank, std::move(share));
        }
    if (!options_.has(variant_order))
        return all;
    // Far away first, then those with the most below.
    const int64_t far = elsewhere * near_.least_rtt_ns();
    const auto weight = [&](const auto &x) { return std::pair(near_.rtt_or_largest_ns(x.first) > far, x.second.size()); };
    std::stable_sort(all.begin(), all.end(), [&](const auto &a, const auto &b) { return weight(a) > weight(b); });
    return all;
}

// ---- messages, time ------------------------------------------------------------------------

void tree::receive(int from, const tell_message &m, int64_t now_ns)
{
    now_ns_ = now_ns;
    switch (m.what) {
    case tell_kind::ask:
        compare_gates(m.view);
        tell(from, m.id);
        if (!mine_.connected && near_.beside().contains(from))
            waiting_.insert(from);      // it may go nowhere else
        return;
    case tell_kind::gate: near_.hint(m.hint, true); return;
    case tell_kind::tell: {
        told_[from] = m.view;
        if (contradicts_place(from, m.view))
            give_up_place();
        unsigned hints = 0;
        if (const auto asked = asked_.find(from); m.id != 0 && asked != asked_.end()) {
            hints = asked->second.hints;        // (of an old answer: most likely the same)
            answered(from, asked->second, m);
        }
        if (from == parent_) {
            parents_ = m.view;
            follow_parent();
            follow_hint(from, m.view, m.view.tip, hints);
            if (m.view.end != m.view.tip)
                follow_hint(from, m.view, m.view.end, hints);
        } else {
            if (options_.has(variant_gates) && fixed_ < 0)
                near_.hint(m.view.gate, near_.near(from));
            follow_hint(from, m.view, m.view.tip, hints);
            compare_gates(m.view);
            look_between(from, m.view);
            consider(from, m.view);
            measure_way_out(from, m.view);
        }
        return;
    }
    case tell_kind::attach: take_attach(from, m); return;
    case tell_kind::accept:
        if (from == pending_)
            take_accept(from, m.op);
        return;
    case tell_kind::refuse:
        if (from != pending_)
            return;
        pending_ = -1;
        consider_all(from);     // what was told meanwhile; the one who refuses tells why
        return;
    case tell_kind::confirm:
        for (child &c : children_)
            if (c.rank == from && !c.leaving() && c.from < m.op) {
                const uint64_t before = c.from;
                c.from = m.op;
                host_.child_gone(name_, from, before, m.op);
            }
        return;
    case tell_kind::detach:
        for (child &c : children_)
            if (c.rank == from && !c.leaving()) {
                c.until = m.op;
                host_.child_gone(name_, from, std::max(c.from, m.op), always);
            }
        children_changed();
        return;
    case tell_kind::under:
        for (child &c : children_)
            if (c.rank == from && !c.leaving())
                c.under = m.ranks, c.tip = m.hint, c.end = m.end;
        near_.told(from, m.bytes);
        children_changed();
        return;
    default: return;
    }
}

void tree::step(int64_t now_ns)
{
    now_ns_ = now_ns;
    if (turns_left() && now_ns >= turn_ns_) {
        ++turn_;
        turn_ns_ = now_ns + turn_pause_ns();
        const tree_view before = mine_;
        children_changed();
        if (mine_ == before && mine_.mover >= 0)
            tell(mine_.mover);      // the only one that may go elsewhere: once more
    }
    if (me_ == name_.root)
        return;
    wait_for_place(now_ns);
    if (const auto &news = near_.news(); seen_news_ < news.size()) {
        if (parent_ >= 0)
            follow_parent();        // its bandwidth may be known by now
        for (; seen_news_ < news.size(); ++seen_news_)
            if (news[seen_news_] != parent_ && (fixed_ < 0 || news[seen_news_] == fixed_))
                ask(news[seen_news_]);
    }
    if (now_ns < next_round_ns_)
        return;
    const bool gate = is_gate(), all = gate || (options_.has(variant_gates) && rounds_ < rounds_to_all);
    int64_t farthest_ns = 0;
    for (int other : near_.known())
        if (other != parent_ && !under_.contains(other) && (fixed_ < 0 || other == fixed_) && (all || may_be_better(other))) {
            ask(other);
            farthest_ns = std::max(farthest_ns, near_.rtt_ns(other));
        }
    const int64_t pause_ns = std::max(least_round_ns, 2 * farthest_ns) << quiet_rounds_;
    if (++rounds_ > content_after && !mine_.connected && fixed_ < 0)
        near_.hint(name_.root, true);   // whom it knows may know nobody who is connected
    const bool content = mine_.connected && quiet_rounds_ >= (gate ? slowest : content_after);
    quiet_rounds_ = std::min(quiet_rounds_ + 1, slowest);
    next_round_ns_ = content ? INT64_MAX : stays() ? stays_until_ns_ : now_ns + pause_ns;
}

} // namespace wan
