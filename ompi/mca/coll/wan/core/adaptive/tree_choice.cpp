/*
 * Whom a process takes for a better parent, and whom it asks or measures to find one.
 *
 * See tree.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/tree.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Messages that a process sends one after the other while one goes to the nearest other process and back; taken from the lab. */
constexpr int64_t sends_in_a_round_trip = 4;
/** Measured bandwidths that differ by less may be the same: transfers of others were in the way. */
constexpr uint64_t same_bandwidth = 3;
/** Who gets all by a way that has turned out slow goes where half as much again is promised. */
constexpr uint64_t slowed_gain_above = 3, slowed_gain_below = 2;
/** Moves to who is nearer than a parent that is near as well: round trips of a busy machine differ by more than that, and who
 *  goes to the nearest again and again undoes what others have moved. */
constexpr unsigned free_pulls = 3;
/** Of those who may be nearer than who is known. */
constexpr int looked_at_once = 8;

} // namespace

/** The way from the parent seems slower than others by so much that nobody whom a fork sends here comes. */
bool tree::slow() const
{
    const uint64_t bandwidth = near_.bandwidth(parent_);
    return bandwidth > 0 && same() * bandwidth < std::max(near_.most_bandwidth(), parents_.est == unbounded ? 0 : parents_.est);
}

uint64_t tree::promised(int candidate, const tree_view &v, int children) const
{
    return std::min(v.est, near_.bandwidth_or_most(candidate) / static_cast<uint64_t>(std::max(1, children)));
}

/** The way into its neighbourhood goes through it; if another one does, too, one of the two should not. */
bool tree::is_gate() const
{
    return options_.has(variant_gates) && parent_ >= 0 && mine_.gate == me_ && !near_.near(parent_);
}

/** Bandwidths that differ by less are the same. */
uint64_t tree::same() const
{
    return options_.has(variant_same) ? same_bandwidth : 1;
}

/** So much more than now that it is no chance.  What a way that has turned out slow carries is no guess: what was measured beside
 *  operations and other transfers is at least as much as that says. */
bool tree::far_more(uint64_t est) const
{
    return mine_.slowed ? slowed_gain_below * est > slowed_gain_above * mine_.est : est / same() > mine_.est;
}

/** Not much farther than the parent. */
bool tree::comparable(int candidate) const
{
    return near_.near(candidate) || near_.rtt_ns(candidate) <= elsewhere * near_.rtt_ns(parent_);
}

/** In a nearer neighbourhood than the parent. */
bool tree::closer(int candidate) const
{
    const bool near = near_.near(candidate), near_now = near_.near(parent_);
    return (near && !near_now)
           || (near == near_now && (!near || pulls_ < free_pulls) && elsewhere * near_.rtt_ns(candidate) < near_.rtt_ns(parent_));
}

/** From a parent with so many children: beside the round trip the time that it takes to send to them, one after the other. */
int64_t tree::hop_ns(int parent, int children) const
{
    const int64_t rtt = near_.rtt_ns(parent);
    return name_.bandwidth || !options_.has(variant_hops) ? rtt : rtt + children * near_.least_rtt_ns() / sends_in_a_round_trip;
}

/** Than the parent. */
bool tree::better(int candidate, const tree_view &v) const
{
    const int64_t rtt = near_.rtt_ns(candidate), rtt_now = near_.rtt_ns(parent_);
    if (parent_ < 0 || !mine_.connected)
        return true;
    if (!name_.bandwidth) {
        if (options_.has(variant_gates) && v.dist_ns + hop_ns(candidate, v.children + 1) < mine_.dist_ns / 2)
            return true;        // whatever the neighbourhood: its way out has got long
        if (!options_.has(variant_hops) || elsewhere * rtt < rtt_now)
            return rtt < rtt_now && v.dist_ns < mine_.dist_ns;
        // As near as the parent: whose message comes sooner.
        return comparable(candidate) && v.dist_ns + hop_ns(candidate, v.children + 1) < mine_.dist_ns - rtt / 4;
    }

    // Who leaves a fork leaves its part of it to those below the others.
    tree_view then = v;
    if (moves() && v.ancestors.contains(parent_) && v.est < unbounded)
        then.est = v.est / static_cast<uint64_t>(parents_.children - 1) * static_cast<uint64_t>(parents_.children);
    const uint64_t est = promised(candidate, then, v.children + 1), now = mine_.est;
    if (options_.has(variant_hints) && near_.bandwidth(candidate) == 0 && !(moves() && comparable(candidate)))
        return false;           // (else taken for as good as the best)
    if (far_more(est))
        return true;
    // (Back to a way that has turned out slow only where it would not be left for this one.)
    if (v.slowed || near_.slowed(candidate) ? slowed_gain_below * now > slowed_gain_above * est : est < now / same())
        return false;
    if (moves() && v.children + (v.end != candidate) < parents_.children && comparable(candidate))
        return true;
    return options_.has(variant_gates) && closer(candidate) && v.gate != me_
           && std::pair(v.gate_dist_ns, v.gate) < std::pair(mine_.gate_dist_ns, mine_.gate);
}

/** Whatever it is in the tree by now. */
bool tree::may_be_better(int candidate) const
{
    if (parent_ < 0 || !mine_.connected)
        return true;
    const int64_t rtt = near_.rtt_ns(candidate), rtt_now = near_.rtt_ns(parent_);
    if (!name_.bandwidth)
        return rtt < rtt_now || (options_.has(variant_hops) && comparable(candidate))
               || (options_.has(variant_gates) && rtt < mine_.dist_ns / 2);
    return near_.bandwidth(candidate) >= mine_.est / same() || closer(candidate)
           || (moves() && comparable(candidate));
}

/** If the other's neighbourhood is ours, and has a gate nearer to the root, then that is one for our gate. */
void tree::compare_gates(const tree_view &v)
{
    if (!options_.has(variant_gates) || !v.connected || !mine_.connected || mine_.gate == v.gate || mine_.gate < 0 || mine_.gate == me_
        || std::pair(v.gate_dist_ns, v.gate) > std::pair(mine_.gate_dist_ns, mine_.gate))
        return;
    if (told_gate_ == std::pair(mine_.gate, v.gate))
        return;
    told_gate_ = {mine_.gate, v.gate};
    tell_message m;
    m.what = tell_kind::gate;
    m.hint = v.gate;
    post(mine_.gate, m);
}

/** The nearest of those that were above this process: below all the others, or about to be again. */
bool tree::came_from(int candidate, const tree_view &v) const
{
    return parent_ < 0 && former_.ancestors.contains(candidate) && (former_.ancestors - rank_set::one(candidate) - v.ancestors).empty();
}

/** Those who were between that one and this process; of many some, from all over, whose answers leave fewer.  (Who has its place on
 *  its host goes nowhere else.) */
void tree::look_between(int candidate, const tree_view &v)
{
    if (!returns() || fixed_ >= 0 || parent_ >= 0 || !former_.ancestors.contains(candidate))
        return;
    const rank_set between = former_.ancestors - rank_set::one(candidate) - v.ancestors;
    if (between.size() >= between_)
        return;
    between_ = between.size();
    const int step = std::max(1, between_ / looked_at_once);
    int n = 0;
    between.each([&](int rank) {
        if (n++ % step == 0)
            near_.hint(rank, true);
    });
}

void tree::consider_all(int but)
{
    for (const auto &[who, v] : std::map(told_))
        if (who != but)
            consider(who, v);
}

void tree::consider(int candidate, const tree_view &v)
{
    if (returns() && fixed_ < 0 ? !came_from(candidate, v) : !v.connected)
        return;
    if (pending_ >= 0 || me_ == name_.root || candidate == parent_ || (fixed_ >= 0 && candidate != fixed_) || near_.rtt_ns(candidate) == 0
        || near_.doubted(candidate) || v.ancestors.contains(me_) || under_.contains(candidate) || !better(candidate, v))
        return;
    if (stays()) {
        next_round_ns_ = std::min(next_round_ns_, stays_until_ns_);
        return;
    }
    pending_ = candidate;
    tell_message m;
    m.what = tell_kind::attach;
    m.children = v.children;
    m.ranks = under_;
    post(candidate, m);
}

/** Where there may be one to go to: without children, or without any in its neighbourhood.  `hints`: that were followed to `from`. */
void tree::follow_hint(int from, const tree_view &v, int whom, unsigned hints)
{
    if (!options_.has(variant_chains) || !name_.bandwidth || fixed_ >= 0 || parent_ < 0 || whom < 0 || under_.contains(whom) || whom == parent_
        || whom == from || !v.connected || hints >= hints_in_a_row)
        return;
    if (!moves() && !(from != parent_ && whom == v.tip && closer(from)))
        return;
    near_.hint(whom, true);
    if (!moves())
        near_.want_bandwidth(whom);
    if (!told_.count(whom) || told_[whom].children > 0 || from == parent_)
        ask(whom, hints + 1);
}

/** Bandwidths of ways to other neighbourhoods are not measured, but by the gate of one that gets all by a slow one: of one process each. */
void tree::measure_way_out(int candidate, const tree_view &v)
{
    if (!mine_.slowed || !is_gate() || !mine_.connected || !v.connected || v.ancestors.contains(me_)
        || under_.contains(candidate) || near_.rtt_ns(candidate) == 0 || near_.bandwidth(candidate) > 0
        || !far_more(promised(candidate, v, v.children + 1)))
        return;
    if (measured_for_.insert(v.gate).second)
        near_.want_bandwidth_now(candidate);
}

} // namespace wan
