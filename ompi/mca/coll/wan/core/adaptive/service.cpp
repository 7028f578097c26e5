/*
 * See service.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/service.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Of a job: what a message for a communicator that is gone may name. */
constexpr int any_ranks = 1 << 24;
/** Bytes to a process after which it is asked whether they are there; well below a window. */
constexpr uint64_t count_every = 32 << 10;
/** The same for messages, however short. */
constexpr uint64_t count_every_messages = 16;
/** A message of no more, so long after the one before it, with no more than that under way, takes no longer for what goes there. */
constexpr uint64_t brief_bytes = 8 << 10, brief_line_bytes = 32 << 10;
constexpr int64_t brief_after_ns = 1'000'000;
/** Communicators of whose trees it is kept where this process was, and of how many. */
constexpr size_t most_places = 8, most_trees = 64;

void put(wire_writer &w, const adaptive_stream &name)
{
    w.number(name.number);
    w.number(name.more);
    w.number(name.stream);
}

} // namespace

adaptive_service::member::member(adaptive_service &s, adaptive_stream name, std::vector<int> processes, std::vector<process_id> who, int me, observer seen,
                                 adaptive_places where)
    : service_(s), name_(name), processes_(std::move(processes)), who_(std::move(who)), seen_(std::move(seen)),
      node_(s.options_, static_cast<int>(processes_.size()), me, *this, std::move(where))
{
    for (size_t r = 0; r < processes_.size(); ++r) {
        rank_of_[processes_[r]] = static_cast<int>(r);
        if (who_[r] != nobody)
            rank_of_who_[who_[r]] = static_cast<int>(r);
    }
}

void adaptive_service::member::send(int to, std::span<const std::byte> head, std::span<const std::byte> payload)
{
    wire_writer w;
    put(w, name_);
    w.append(head);
    if (static_cast<tell_kind>(head[0]) >= tell_kind::deliver)
        seen_(to, payload.size());
    const int process = processes_[static_cast<size_t>(to)];
    traffic &t = service_.traffic_[process];
    const uint64_t bytes = std::max<uint64_t>(1, payload.size());
    t.under_way += bytes;
    t.uncounted += bytes;
    ++t.messages;
    ++t.uncounted_messages;
    const int64_t now_ns = node_.now_ns();
    const bool brief = bytes <= brief_bytes && t.under_way <= brief_line_bytes && now_ns - t.last_ns >= brief_after_ns;
    const bool counted = t.uncounted >= count_every || t.uncounted_messages >= count_every_messages || (brief && now_ns - t.counted_ns >= tells_every_ns);
    if (counted) {
        t.seen.sent(now_ns, t.under_way == t.uncounted, brief);
        t.counted_ns = now_ns;
        t.asked_for.push_back(std::exchange(t.uncounted_messages, 0));
    }
    t.last_ns = now_ns;
    service_.send_(process, w.bytes(), payload, counted ? std::exchange(t.uncounted, 0) : 0);
}

void adaptive_service::member::abandon() noexcept
{
    failed_ = true;
    begins_nothing();
    forget();
}

/** Who asks from now on is answered by receive(). */
void adaptive_service::member::begins_nothing() noexcept
{
    try {
        node_.begins_nothing();
    } catch (...) {
        service_.failed = true;
    }
}

/** Nothing of it is ahead of anybody or waits any more: of what goes to a process that is dead nothing arrives, which would show that. */
void adaptive_service::member::forget()
{
    node_.abandon();
    for (int process : processes_)
        if (const auto at = service_.traffic_.find(process); at != service_.traffic_.end() && at->second.calls.is_limited()) {
            at->second.calls.unlimited();       // (others of its communicators say so again)
            --service_.limited_;
        }
}

uint64_t adaptive_service::member::under_way(int to) const
{
    const auto at = service_.traffic_.find(processes_[static_cast<size_t>(to)]);
    return at == service_.traffic_.end() ? 0 : at->second.under_way + at->second.messages * service_.options_.message_room_bytes;
}

uint64_t adaptive_service::member::delivered(int to) const
{
    const auto at = service_.traffic_.find(processes_[static_cast<size_t>(to)]);
    return at == service_.traffic_.end() ? 0 : at->second.seen.rate(node_.now_ns());
}

int64_t adaptive_service::member::round_trip_ns(int to) const
{
    const auto at = service_.traffic_.find(processes_[static_cast<size_t>(to)]);
    return at == service_.traffic_.end() ? 0 : at->second.seen.round_trip_ns(node_.now_ns());
}

void adaptive_service::member::limited(int to)
{
    pace &p = service_.traffic_[processes_[static_cast<size_t>(to)]].calls;
    service_.limited_ += !p.is_limited();
    p.limited(node_.now_ns());
}

uint64_t adaptive_service::member::ahead(int to) const
{
    const auto at = service_.traffic_.find(processes_[static_cast<size_t>(to)]);
    return at == service_.traffic_.end() ? 0 : at->second.ahead;
}

void adaptive_service::member::ahead_by(int to, int64_t more)
{
    service_.traffic_[processes_[static_cast<size_t>(to)]].ahead += static_cast<uint64_t>(more);
    service_.room_again_ = service_.room_again_ || more < 0;        // for others of its communicators, too
}

int64_t adaptive_service::member::longest_ns() const
{
    int64_t longest = 0;
    for (const auto &[name, m] : service_.open_)
        longest = std::max(longest, m->node_.longest_ns());
    return longest;
}

void adaptive_service::arrived(int process, uint64_t payload, int64_t now_ns)
{
    traffic &t = traffic_[process];
    looks_.at(now_ns);
    t.under_way -= payload;
    const uint64_t waiting = limited_;      // they share what leaves here
    limited_ -= t.calls.is_limited();
    const bool news = t.calls.came(now_ns, payload, waiting);
    const int64_t took_ns = count(t, payload, now_ns);
    if ((!news && took_ns == 0) || quiet_)
        return;
    for (auto &[name, m] : open_)
        if (const auto rank = m->rank_of_.find(process); rank != m->rank_of_.end() && !m->failed_) {
            if (news)
                m->node_.paced(rank->second, t.calls.rate(), now_ns);
            if (took_ns > 0)
                m->node_.went(rank->second, took_ns, now_ns);
        }
}

/** What the message took there and back, if that shows how far it is. */
int64_t adaptive_service::count(traffic &t, uint64_t payload, int64_t now_ns)
{
    room_again_ = true;
    const int64_t took_ns = t.seen.came(now_ns, payload);
    if (t.asked_for.empty())
        return 0;       // of before
    t.messages -= t.asked_for.front();
    t.asked_for.pop_front();
    return took_ns;
}

void adaptive_service::measure_again()
{
    for (auto &[name, m] : open_)
        m->node_.measure_again();
}

/** What it has measured, for communicators to come. */
void adaptive_service::learn(const member &m)
{
    most_bandwidth_ = std::max(most_bandwidth_, m.node_.near().most_bandwidth());
    for (int rank : m.node_.near().known())
        if (!m.node_.near().unsure(rank))
            known_.keep(m.who_[static_cast<size_t>(rank)], m.node_.near().way(rank));
}

/** And where it was in its trees. */
void adaptive_service::remember(const member &m)
{
    places mine;
    m.node_.each_tree([&](const tree &t) {
        if (t.view().connected && mine.trees.size() < most_trees)
            mine.trees[t.name()] = {true, t.view().ancestors, t.view().dist_ns};
    });
    if (mine.trees.empty())
        return;
    mine.who = m.who_;
    places_[m.name_] = std::move(mine);
    if (places_.size() > most_places)
        places_.erase(places_.begin());
}

bool adaptive_service::member::has_all(const std::vector<process_id> &who) const
{
    return who.size() <= who_.size() && std::all_of(who.begin(), who.end(), [&](process_id p) { return rank_of(p) >= 0; });
}

int adaptive_service::member::rank_of(process_id p) const
{
    const auto at = rank_of_who_.find(p);
    return at == rank_of_who_.end() ? -1 : at->second;
}

/**
 * In the last communicator before this one that had all of its processes, and a tree of that root in which this process was connected:
 * mostly the same one for all.  (Beside those who have been nowhere, who keep their places are in the way: simulated, it took more
 * than half as long again until a chain went through all.)
 */
former_place adaptive_service::former(const member &asks, tree_name tree) const
{
    const process_id root = asks.who_[static_cast<size_t>(tree.root)];
    const auto here = [&](const std::vector<process_id> &who, const former_place &there) {
        std::vector<int> ranks;
        there.ancestors.each([&](int rank) {
            if (const int r = asks.rank_of(who[static_cast<size_t>(rank)]); r >= 0)
                ranks.push_back(r);
        });
        return former_place{true, rank_set::of(std::move(ranks)), there.dist_ns};
    };
    adaptive_stream last;
    former_place found;
    for (auto at = open_.lower_bound(asks.name_); at != open_.begin() && !found.known;) {
        const member &m = *(--at)->second;
        const int there = m.rank_of(root);
        const wan::tree *t = there < 0 ? nullptr : m.node_.tree_at({there, tree.bandwidth});
        if (t && t->view().connected && m.has_all(asks.who_))
            last = at->first, found = here(m.who_, {true, t->view().ancestors, t->view().dist_ns});
    }
    for (auto at = places_.lower_bound(asks.name_); at != places_.begin();) {
        const auto &[name, p] = *--at;
        if (found.known && name < last)
            break;
        const auto there = std::find(p.who.begin(), p.who.end(), root);
        const auto place = there == p.who.end() ? p.trees.end() : p.trees.find({static_cast<int>(there - p.who.begin()), tree.bandwidth});
        if (place == p.trees.end() || p.who.size() < asks.who_.size())
            continue;
        const auto common = std::count_if(p.who.begin(), p.who.end(), [&](process_id who) { return asks.rank_of(who) >= 0; });
        if (static_cast<size_t>(common) == asks.who_.size())
            return here(p.who, place->second);
    }
    return found;
}

std::vector<process_id> adaptive_service::named(std::vector<process_id> who, const std::vector<int> &processes) const
{
    if (who.empty())
        for (int process : processes)
            who.push_back(process_of(job_, static_cast<uint32_t>(process)));
    std::vector<process_id> sorted = who;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        for (process_id &p : who)
            if (const auto [from, to] = std::equal_range(sorted.begin(), sorted.end(), p); to - from > 1)
                p = nobody;
    return who;
}

adaptive_service::member *adaptive_service::open(adaptive_stream name, std::vector<int> processes, int me, observer seen, int64_t now_ns, adaptive_places where,
                                                 std::vector<process_id> who)
{
    for (auto &[other, m] : open_)
        learn(*m);
    where.most_bandwidth = most_bandwidth_;
    who = named(std::move(who), processes);
    std::unique_ptr<member> made(new member(*this, name, std::move(processes), std::move(who), me, std::move(seen), std::move(where)));
    auto &m = open_[name] = std::move(made);
    for (size_t r = 0; r < m->processes_.size(); ++r)
        if (const measured_way way = known_.way(m->who_[r]); way.rtt_ns > 0)
            m->node_.know(static_cast<int>(r), way);
    m->known_before_ = static_cast<int>(m->node_.near().known().size());
    if (auto come = early_.extract(name))
        receive_kept(come.mapped(), now_ns);
    return m.get();
}

void adaptive_service::close(member *m) noexcept
{
    const adaptive_stream name = m->name_;
    try {
        learn(*m);
        remember(*m);
        if (name.stream == 0)
            std::erase_if(closed_, [&](const adaptive_stream &s) { return s.beside(name) && s.number < passed_; });
        if (name.stream != 0 || name.number >= passed_)
            closed_.insert(name);
    } catch (...) {
        failed = true;      // what comes for it would wait for ever
    }
    m->begins_nothing();
    m->forget();
    open_.erase(name);
}

void adaptive_service::forget(int first, int count) noexcept
{
    const auto from = traffic_.lower_bound(first), to = traffic_.lower_bound(first + count);
    for (auto at = from; at != to; ++at)
        limited_ -= at->second.calls.is_limited();
    traffic_.erase(from, to);
}

void adaptive_service::quiet() noexcept
{
    quiet_ = true;
    for (auto &[name, m] : open_)
        m->begins_nothing();
}

void adaptive_service::pass(uint64_t number, int64_t now_ns)
{
    passed_ = std::max(passed_, number);
    std::erase_if(closed_, [&](const adaptive_stream &s) { return s.number < passed_ && !open_.count({s.number, s.more, 0}); });
    std::vector<adaptive_stream> over;
    for (const auto &[name, come] : early_)
        if (closed(name))
            over.push_back(name);
    for (const adaptive_stream &name : over) {
        const auto come = early_.extract(name);
        receive_kept(come.mapped(), now_ns);
    }
}

void adaptive_service::receive_kept(const std::vector<waiting> &those, int64_t now_ns)
{
    for (const waiting &w : those) {
        kept_ns_ = now_ns - w.come_ns;
        receive(w.process, w.bytes, now_ns);
    }
    kept_ns_ = 0;
}

bool adaptive_service::closed(adaptive_stream name) const
{
    return quiet_ || closed_.count(name) || (name.number < passed_ && !open_.count({name.number, name.more, 0}));
}

size_t adaptive_service::kept() const
{
    size_t n = closed_.size();
    for (const auto &[name, come] : early_)
        n += come.size();
    return n;
}

uint64_t adaptive_service::kept_bytes() const
{
    uint64_t n = 0;
    for (const auto &[name, come] : early_)
        for (const waiting &w : come)
            n += w.bytes.size();
    for (const auto &[name, m] : open_)
        n += m->node_.kept();
    return n;
}

void adaptive_service::receive(int process, std::span<const std::byte> bytes, int64_t now_ns)
{
    looks_.at(now_ns);
    wire_reader r(bytes);
    adaptive_stream name;
    name.number = r.number();
    name.more = r.number();
    name.stream = r.number();
    if (!r.good())
        return;
    const auto at = open_.find(name);
    const bool broken = at != open_.end() && at->second->failed_;
    if (at != open_.end() && !quiet_ && !broken) {
        member &m = *at->second;
        if (const auto from = m.rank_of_.find(process); from != m.rank_of_.end()) {
            m.node_.receive(from->second, r.rest(), now_ns);
            m.node_.step(now_ns);
        }
        return;
    }
    tell_message m;
    const bool good = message_get(m, r.rest(), any_ranks);
    if (!closed(name) && !broken) {
        std::vector<waiting> &those = early_[name];
        // Who gets no answer asks again: the last question is enough.
        if (good && m.what == tell_kind::ask)
            std::erase_if(those, [&](const waiting &w) { return w.process == process && w.asks == m.tree; });
        those.push_back({process, good && m.what == tell_kind::ask ? std::optional(m.tree) : std::nullopt, {bytes.begin(), bytes.end()}, now_ns});
        return;
    }
    if (!good || !((m.what == tell_kind::redirect && (quiet_ || !broken)) || m.what == tell_kind::when))
        return;
    tell_message answer = redirected_answer(m);
    if (m.what == tell_kind::when) {        // (nobody waits with what is needed here)
        answer.what = tell_kind::begun;
        answer.op = UINT64_MAX;     // (as begins_nothing() does)
    }
    wire_writer w;
    put(w, name);
    w.append(message_put(answer));
    send_(process, w.bytes(), {}, 0);
}

int64_t adaptive_service::deadline() const
{
    int64_t first = room_again_ ? 0 : INT64_MAX;
    if (quiet_)
        return INT64_MAX;
    for (const auto &[id, m] : open_)
        if (!m->failed_)
            first = std::min(first, m->node_.deadline());
    return first;
}

void adaptive_service::step(int64_t now_ns)
{
    const bool all = std::exchange(room_again_, false);
    looks_.at(now_ns);
    if (quiet_)
        return;
    for (auto &[id, m] : open_)
        if (!m->failed_ && (all || m->node_.deadline() <= now_ns))
            m->node_.step(now_ns);
}

} // namespace wan
