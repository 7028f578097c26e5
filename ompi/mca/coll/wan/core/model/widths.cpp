/*
 * See widths.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "model/widths.hpp"

#include "sched/builder.hpp"

#include <algorithm>
#include <utility>

namespace wan {

namespace {

constexpr int64_t ms = 1'000'000;
/** Of a train, if what carried the one before does no more; the first one's bytes, where connections may get far less than an interface. */
constexpr int64_t most_first_bytes = 224 << 10;
constexpr int64_t first_ns = 20 * ms, most_ns = 70 * ms, look_ns = 20 * ms;
/** Less than what Open MPI sends over TCP without asking the receiver. */
constexpr int64_t most_piece_bytes = 56 << 10, least_piece_bytes = 1 << 10;
constexpr int64_t least_pieces = 4, most_pieces = 64;
/** Trains: of one pair of hosts; of several, the first of which opens connections. */
constexpr int flow_trains = 2, cross_trains = 3, look_trains = 2;
constexpr int most_pairs[widths::rounds] = {1, 2, 8, 64};

struct site_pair {
    int a, b;
    int64_t flow_ps, link_ps;       // as known, 0: not
    int64_t by_pairs;               // of hosts; 0: by an older file
    int hosts;
};

site_pair pair_at(const topology &t, const fact_vector &v, int a, int b)
{
    const auto at = [&](fact::place first) {
        const auto place = fact_of_pair(a, b, t.site_count(), first);
        return place ? v[*place] : 0;
    };
    return {a, b, at(fact::first_flow_ps), at(fact::first_link_ps), at(fact::first_link_hosts),
            std::min(t.node_count(site_id{static_cast<uint32_t>(a)}), t.node_count(site_id{static_cast<uint32_t>(b)}))};
}

/** Of hosts; in a look as many as what limits a way is known of, where there are so many. */
int pairs_in(const site_pair &p, int round)
{
    if (round == widths::a_look)
        return p.by_pairs > 1 && p.by_pairs <= p.hosts && 2 * p.flow_ps > 3 * p.link_ps ? static_cast<int>(p.by_pairs) : 1;
    return std::min(p.hosts, most_pairs[round]);
}

/** Where the rate stands that a look is about. */
size_t looked_at(const topology &t, const site_pair &p)
{
    return *fact_of_pair(p.a, p.b, t.site_count(), pairs_in(p, widths::a_look) > 1 ? fact::first_link_ps : fact::first_flow_ps);
}

/** More pairs of hosts than have been measured, which got nearly as many times one's rate. */
bool more_pay(const site_pair &p, int pairs)
{
    return p.link_ps > 0 && p.by_pairs > 0 && p.by_pairs < pairs && static_cast<__int128>(10) * p.flow_ps >= static_cast<__int128>(7) * p.by_pairs * p.link_ps;
}

/** Whether a pair of sites has anything to find in a round. */
bool wanted(const site_pair &p, int round)
{
    if (p.hosts < 2)
        return false;       // the way carries what those hosts send, anyway
    switch (round) {
    case widths::a_look: return p.flow_ps > 0;
    case 0: return p.flow_ps == 0;
    case 1: return p.flow_ps > 0 && (p.link_ps == 0 || p.by_pairs == 0);
    default: return more_pay(p, pairs_in(p, round));
    }
}

/** Calls f(pair) for each two sites, where there are few enough for that; whether it was true of one of them: the rest are left out then. */
template <typename F> bool any_pair(const topology &t, const fact_vector &known, F f)
{
    for (int a = 0; a < t.site_count() && t.site_count() <= fact::most_sites; ++a)
        for (int b = a + 1; b < t.site_count(); ++b)
            if (f(pair_at(t, known, a, b)))
                return true;
    return false;
}

/** So many bytes of each pair of hosts. */
widths::train train_of(int pairs, __int128 bytes)
{
    const auto all = static_cast<int64_t>(std::clamp<__int128>(bytes, least_pieces * least_piece_bytes, most_pieces * most_piece_bytes));
    const int64_t piece = std::clamp(all / (2 * least_pieces), least_piece_bytes, most_piece_bytes);
    return {pairs, std::clamp((all + piece / 2) / piece, least_pieces, most_pieces), piece};
}

/** What passes ps a byte in a time. */
__int128 bytes_in(int64_t ns, int64_t ps) { return static_cast<__int128>(ns) * 1000 / std::max<int64_t>(1, ps); }

/** Calls f(a, b), a below b, for the pairs of sites of each round of a tournament, then round_over(). */
template <typename F, typename G> void tournament(int sites, F f, G round_over)
{
    const int even = sites + sites % 2;
    for (int round = 0; round < even - 1; ++round) {
        const auto seat = [&](int k) { return k == 0 ? 0 : 1 + (k - 1 + round) % (even - 1); };
        for (int i = 0; i < even / 2; ++i)
            if (const auto [a, b] = std::minmax({seat(i), seat(even - 1 - i)}); b < sites)
                f(a, b);
        round_over();
    }
}

} // namespace

int widths::next_round(const topology &t, const fact_vector &known, int first)
{
    for (int round = first; round < rounds; ++round)
        if (any_pair(t, known, [&](const site_pair &p) { return wanted(p, round); }))
            return round;
    return rounds;
}

bool widths::narrower_than_hosts(const topology &t, const fact_vector &known, int a, int b)
{
    const site_pair p = pair_at(t, known, a, b);
    return more_pay(p, pairs_in(p, rounds - 1));
}

width_bounds widths::bounds(const topology &t, const fact_vector &known, int a, int b)
{
    if (t.site_count() > fact::most_sites)
        return {};
    const site_pair p = pair_at(t, known, a, b);
    width_bounds w;
    for (const int64_t ps : {p.flow_ps, p.link_ps})
        if (ps > 0)
            w.least_bytes_per_s = std::max<int64_t>(w.least_bytes_per_s, 1'000'000'000'000 / ps);
    // (Two that shared unevenly, or of which one was busy, got less than twice as much, too.)
    w.filled = p.flow_ps > 0 && p.link_ps > 0 && p.by_pairs > 1 && static_cast<__int128>(10) * p.by_pairs * p.link_ps >= static_cast<__int128>(17) * p.flow_ps;
    return w;
}

widths::widths(const topology &t, int me, const fact_vector &known, int round, const fact_vector &seen) : topo_(t), me_(me)
{
    const int mine = static_cast<int>(value(t.site_of(me)));
    const int64_t byte_ps = facts_from(t, known).byte_ps;
    std::vector<site_pair> at_once;
    const auto steps_add = [&](int trains, bool cold, auto what) {
        for (bool back : {false, true})
            for (int i = 0; i < trains; ++i)
                for (bool ahead : {true, false}) {
                    step s{ahead, !cold || i > 0};
                    for (const site_pair &p : at_once)
                        if (p.a == mine || p.b == mine) {
                            s.from = back ? p.b : p.a;
                            s.to = back ? p.a : p.b;
                            s.what = what(p);
                        }
                    steps_.push_back(s);
                }
    };
    tournament(
        t.site_count(),
        [&](int a, int b) {
            if (const site_pair p = pair_at(t, known, a, b); wanted(p, round))
                at_once.push_back(p);
        },
        [&] {
            if (!at_once.empty() && round == 0)
                steps_add(flow_trains, false, [&](const site_pair &) { return train_of(1, std::min<__int128>(most_first_bytes, bytes_in(first_ns, byte_ps))); });
            if (!at_once.empty() && round == 1)
                steps_add(flow_trains, false, [&](const site_pair &p) { return train_of(1, bytes_in(most_ns / pairs_in(p, 1), p.flow_ps)); });
            if (!at_once.empty() && round == a_look)
                steps_add(look_trains, false, [&](const site_pair &p) {
                    const int pairs = pairs_in(p, round);
                    return train_of(pairs, bytes_in(look_ns, std::max(known[looked_at(t, p)], seen[looked_at(t, p)])) / pairs);
                });
            if (!at_once.empty() && round > 0)
                steps_add(cross_trains, true, [&](const site_pair &p) {
                    const int pairs = pairs_in(p, round);
                    return train_of(pairs, bytes_in(most_ns, round == 1 ? p.flow_ps : p.link_ps) / pairs);
                });
            at_once.clear();
        });
}

int widths::lane_of(const step &s) const
{
    const auto at = topo_.locate(me_);
    const int site = static_cast<int>(value(at.site));
    return (site == s.from || site == s.to) && at.lane == 0 && at.node < s.what.pairs ? at.node : -1;
}

schedule widths::open(const step &s) const
{
    builder b(me_);
    const int lane = lane_of(s);
    if (lane < 0)
        return b.finish();
    const bool sends = static_cast<int>(value(topo_.site_of(me_))) == s.from;
    const int peer = rank_of(sends ? s.to : s.from, lane);
    if (!sends) {
        b.signal(peer, 0);
        b.recv(b.scratch(), whole(), peer, 1);
        return b.finish();
    }
    // All receivers are there, as the first sender hears from each of the others.
    std::vector<int> ready{b.await(peer, 0)};
    for (int i = 1; i < s.what.pairs; ++i)
        if (lane == 0) {
            ready.push_back(b.await(rank_of(s.from, i), 2));
        } else if (i == lane) {
            b.after(ready[0]);
            b.signal(rank_of(s.from, 0), 2);
            ready = {b.await(rank_of(s.from, 0), 3)};
        }
    for (int i = 1; i < s.what.pairs && lane == 0; ++i) {
        for (int r : ready)
            b.after(r);
        b.signal(rank_of(s.from, i), 3);
    }
    for (int r : ready)
        b.after(r);
    b.send(buffer::out, whole(), peer, 1);
    return b.finish();
}

schedule widths::follow(const step &s) const
{
    builder b(me_);
    const int lane = lane_of(s);
    const bool sends = static_cast<int>(value(topo_.site_of(me_))) == s.from;
    for (int i = 0; i < s.what.pieces && lane >= 0; ++i)
        if (sends)
            b.send(buffer::out, whole(), rank_of(s.to, lane), i);
        else
            b.recv(b.scratch(), whole(), rank_of(s.from, lane), i);
    return b.finish();
}

std::optional<schedule> widths::next()
{
    if (at_ >= steps_.size())
        return std::nullopt;
    const step &s = steps_[at_];
    bytes_ = static_cast<size_t>(std::max<int64_t>(1, s.what.piece_bytes));
    return s.ahead ? open(s) : follow(s);
}

void widths::record(int64_t elapsed_ns)
{
    const step &s = steps_[at_++];
    if (s.ahead || !s.timed || lane_of(s) < 0 || static_cast<int>(value(topo_.site_of(me_))) != s.to)
        return;
    const auto place = fact_of_pair(s.from, s.to, topo_.site_count(), s.what.pairs > 1 ? fact::first_link_ps : fact::first_flow_ps);
    // Windows that are still opening, and other traffic, only make it slower.
    const int64_t ps = std::max<int64_t>(1, static_cast<int64_t>(static_cast<__int128>(elapsed_ns) * 1000 / s.what.bytes()));
    int64_t &least = least_ps_[*place];
    least = least > 0 ? std::min(least, ps) : ps;
    if (s.what.pairs > 1)
        pairs_[*fact_of_pair(s.from, s.to, topo_.site_count(), fact::first_link_hosts)] = s.what.pairs;
}

fact_vector widths::measured() const
{
    fact_vector v{};
    for (const auto *of : {&least_ps_, &pairs_})
        for (const auto &[place, value] : *of)
            v[place] = value;
    return v;
}

bool widths::any(const topology &t, const fact_vector &known)
{
    return any_pair(t, known, [](const site_pair &p) { return wanted(p, a_look); });
}

std::optional<fact_vector> widths::corrected(const topology &t, const fact_vector &known, const fact_vector &seen)
{
    fact_vector now = known;
    any_pair(t, known, [&](const site_pair &was) {
        const int64_t before = known[looked_at(t, was)], ps = seen[looked_at(t, was)];
        if (!wanted(was, a_look) || ps <= 0 || (ps <= 2 * before && before <= 2 * ps))
            return false;
        const auto at = [&](fact::place first) -> int64_t & { return now[*fact_of_pair(was.a, was.b, t.site_count(), first)]; };
        int64_t &flow_ps = at(fact::first_flow_ps), &link_ps = at(fact::first_link_ps);
        if (pairs_in(was, a_look) > 1) {
            link_ps = ps;
            flow_ps = std::max(flow_ps, ps);
        } else {
            flow_ps = ps;
            link_ps = link_ps > 0 ? std::max<int64_t>(1, static_cast<int64_t>(static_cast<__int128>(link_ps) * ps / before)) : 0;
        }
        at(fact::first_link_hosts) = 0;
        return false;
    });
    return now == known ? std::nullopt : std::optional(now);
}

fact_vector widths::agreed(const fact_vector &known, const fact_vector &first, const fact_vector &second)
{
    fact_vector both = known;
    for (size_t i = fact::first_flow_ps; i < fact::first_link_hosts; ++i)
        if (const auto [least, most] = std::minmax(first[i], second[i]); least > 0)
            both[i] = least > known[i] ? least : std::min(most, known[i]);
    return both;
}

fact_vector widths::without(fact_vector known)
{
    std::fill(known.begin() + fact::first_flow_ps, known.begin() + fact::pairs_end, 0);
    return known;
}

int64_t widths::look_cost_ns(const topology &t, const facts &f)
{
    const int sites = t.site_count();
    return 2 * (sites + sites % 2 - 1) * look_trains * (2 * f.widest_ns() + look_ns);
}

int64_t widths::cost_ns(const topology &t, const facts &f)
{
    const int sites = t.site_count();
    const int64_t turns = 2 * (sites + sites % 2 - 1), trains = (rounds - 1) * cross_trains, flows = 2 * flow_trains;
    return turns * ((trains + flows) * 2 * f.widest_ns() + trains * most_ns + flows * first_ns);
}

} // namespace wan
