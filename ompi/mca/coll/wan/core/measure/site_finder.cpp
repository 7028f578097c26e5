/*
 * See site_finder.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/site_finder.hpp"

#include "measure/way_times.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace wan {

namespace {

/** Landmarks of the first round; each further one has twice as many as that before, but never more than this. */
constexpr size_t first_landmarks = 8, most_landmarks = 64;
/** Of more, twice as many: where ranks are shuffled, a site without any takes two rounds more. */
constexpr int many_hosts = 128;
/** Rounds after which there is one site where all ways take at most what they may inside one, and none is known to take long. */
constexpr uint32_t enough_rounds = 4;
/** Where no way is known to be far, but some may take so long, other sites may be as near as that: so many rounds more, which are made patiently. */
constexpr int64_t may_hide_ns = 1'000'000;
constexpr int patient_rounds = 4;
/** After so many, far and near ways are told apart without a gap between them, by what is never inside a site. */
constexpr uint32_t busy_rounds = 4;
/** Hosts that are far from each other, without which that says nothing of those that are silent. */
constexpr size_t least_telling = 3;
/** After so many that change nothing, or so many in all, what is in doubt is decided without knowing; so many are measured by others at most. */
constexpr uint32_t most_vain = 12, most_rounds = 18;
constexpr size_t most_doubtful = 16;

std::vector<int> everybody(int hosts)
{
    std::vector<int> all(static_cast<size_t>(hosts));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

} // namespace

site_finder::site_finder(int hosts)
    : cells_{{.hosts = everybody(hosts), .targets = first_targets(hosts), .homeless = everybody(hosts)}}, parent_(everybody(hosts)),
      awaited_(static_cast<size_t>(hosts))
{
}

std::vector<int> site_finder::first_targets(int hosts)
{
    return spread(everybody(hosts), hosts > many_hosts ? 2 * first_landmarks : first_landmarks);
}

/** So many hosts at most, spread over all of those given, in blocks as well as round robin. */
std::vector<int> site_finder::spread(const std::vector<int> &hosts, size_t most)
{
    std::vector<int> some;
    const size_t all = hosts.size(), n = std::min(all, most);
    for (size_t k = 0; k < n; ++k)
        some.push_back(hosts[k * all / n + k % (all / n)]);
    return some;
}

int site_finder::root_of(int host)
{
    int &up = parent_[static_cast<size_t>(host)];
    return up == host ? host : up = root_of(up);
}

/** The lower one is the root: groups are known by their first host. */
void site_finder::unite(int a, int b)
{
    const int x = root_of(a), y = root_of(b);
    parent_[static_cast<size_t>(std::max(x, y))] = std::min(x, y);
}

bool site_finder::is_in(const std::vector<int> &sorted, int host) { return std::binary_search(sorted.begin(), sorted.end(), host); }

bool site_finder::makes_sense(int host, const std::vector<int> &targets, std::span<const int64_t> times)
{
    if (times.size() != targets.size())
        return false;
    for (size_t k = 0; k < times.size(); ++k)
        if (targets[k] == host ? times[k] != 0 : times[k] == 0 || times[k] < unknown_ns)
            return false;
    return true;
}

bool site_finder::take(int host, uint32_t round, std::span<const int64_t> times)
{
    if (finished() || round != round_)
        return false;
    for (const cell &c : cells_)
        if (const bool helps = is_in(c.helpers, host); helps || is_in(c.homeless, host)) {
            if (!makes_sense(host, helps ? c.doubtful : c.targets, times) || !times_.try_emplace(host, times.begin(), times.end()).second || times_.size() < awaited_)
                return false;
            decide();
            return true;
        }
    return false;
}

void site_finder::ask(const std::function<void(int host, std::span<const int> targets)> &tell) const
{
    for (const cell &c : cells_) {
        for (int h : c.homeless)
            tell(h, c.targets);
        for (int h : c.helpers)
            tell(h, c.doubtful);
    }
}

/** Ways that hosts measured in the round: both ends, the lower one first, and the time. */
template <typename Use> void site_finder::each_way(const std::vector<int> &hosts, const std::vector<int> &targets, Use use)
{
    for (int h : hosts)
        for (size_t k = 0; k < targets.size(); ++k)
            if (targets[k] != h)
                use(std::pair(std::min(h, targets[k]), std::max(h, targets[k])), times_[h][k]);
}

/** Puts together what a round, those before and both ends tell of ways: the shortest time, which tells if one of them does. */
void site_finder::recall(const cell &c)
{
    const auto keep = [this](const std::pair<int, int> &ends, int64_t ns) {
        const auto known = known_.find(ends);
        if (known == known_.end()) {
            if (only_at_most(ns))
                known_.emplace(ends, ns);
        } else {
            known->second = both_tell(ns, known->second);
        }
    };
    each_way(c.homeless, c.targets, keep);
    each_way(c.helpers, c.doubtful, keep);
    each_way(c.homeless, c.targets, [&](const std::pair<int, int> &ends, int64_t &ns) {
        if (const auto known = known_.find(ends); known != known_.end()) {
            keep(ends, ns);     // one end may have told before the other one was in doubt
            ns = known->second;
        }
    });
}

/** Keeps what hosts told in the round, and those who helped, of ways whose ends have not both a group by now: they are measured again. */
void site_finder::remember(const cell &c, const std::vector<int> &hosts, const std::vector<int> &doubtful)
{
    if (c.homeless.empty())
        return;
    const auto keep = [&](const std::pair<int, int> &ends, int64_t ns) {
        if (is_in(c.homeless, ends.first) || is_in(c.homeless, ends.second))
            known_.try_emplace(ends, ns);
    };
    each_way(hosts, c.targets, keep);
    each_way(c.helpers, doubtful, keep);
}

/** Whether it is known how long some way of a host to the targets takes. */
bool site_finder::tells_some(const cell &c, int host) const
{
    const auto &times = times_.at(host);
    for (size_t k = 0; k < times.size(); ++k)
        if (!only_at_most(times[k]) && c.targets[k] != host)
            return true;
    return false;
}

/**
 * Targets of which no time of anybody tells, nor that they are near: it is they who are in doubt, not all who measured them.
 * (One among the landmarks would otherwise have all hosts measure on.)
 */
std::vector<bool> site_finder::dark_targets(const cell &c) const
{
    std::vector<bool> dark(c.targets.size());
    for (size_t k = 0; k < dark.size(); ++k)
        dark[k] = is_in(c.homeless, c.targets[k]) && std::ranges::all_of(c.homeless, [&](int h) {
            const int64_t t = times_.at(h)[k];
            return h == c.targets[k] || (only_at_most(t) && at_most(t) >= c.limit_ns);
        });
    return dark;
}

/** Whom a host may be near to, by the shortest of the times that it takes at most, and far less than any to another site; -1: nobody. */
int site_finder::perhaps_near(const cell &c, int host) const
{
    const auto &times = times_.at(host);
    int found = -1;
    int64_t least = std::max(most_near_ns, far_ns_ / 2);
    for (size_t k = 0; k < times.size(); ++k)
        if (c.targets[k] != host && only_at_most(times[k]) && at_most(times[k]) <= least)
            least = at_most(times[k]), found = c.targets[k];
    return found;
}

/**
 * Whether all hosts are one group by the limit, but some of their ways take so long that other sites may be as near: the program's own messages may
 * fill the ways.  As the shortest times of ways come down, there may be a gap.
 */
bool site_finder::may_hide_sites(const cell &c, const std::vector<int64_t> &times)
{
    if (std::ranges::none_of(times, [&](int64_t t) { return at_most(t) < c.limit_ns && at_most(t) >= may_hide_ns; }))
        return false;
    for (int h : c.homeless)
        for (size_t k = 0; k < c.targets.size(); ++k)
            if (at_most(times_.at(h)[k]) < c.limit_ns)
                unite(h, c.targets[k]);
    const bool one = std::ranges::all_of(c.homeless, [&](int h) { return root_of(h) == root_of(c.homeless.front()); });
    parent_ = everybody(static_cast<int>(parent_.size()));      // no groups are known before the limit is
    return one;
}

/** What is far among all hosts; false: that cannot be said yet. */
bool site_finder::find_limit(cell &c)
{
    std::vector<int> silent;        // who has told nothing for long does not count
    if (c.vain >= most_vain)
        std::copy_if(c.homeless.begin(), c.homeless.end(), std::back_inserter(silent), [&](int h) { return !tells_some(c, h); });
    std::vector<int64_t> all;       // but for those that may be anything
    bool anything = false, may_be_near = false, some_far = false;
    for (int h : c.homeless)
        for (size_t k = 0; k < c.targets.size(); ++k) {
            const int64_t t = times_[h][k];
            if (is_in(silent, h) || is_in(silent, c.targets[k]))
                continue;
            if (only_at_most(t) && at_most(t) > most_near_ns)
                anything = true;
            else if (c.targets[k] != h)
                all.push_back(t);
            may_be_near |= only_at_most(t) && at_most(t) >= least_far_ns;
            some_far |= !only_at_most(t) && t > most_near_ns;
        }
    std::vector<gap> gaps = gaps_in(all, least_far_ns, least_gap);
    if (gaps.empty() && may_be_near) {      // some of those are far
        std::vector<int64_t> known;
        std::copy_if(all.begin(), all.end(), std::back_inserter(known), [](int64_t t) { return !only_at_most(t); });
        gaps = gaps_in(known, least_far_ns, least_gap);
    }
    // Far ways and near ones, without a gap: processors are so busy that these seem to be of any length.  Each round brings the least of them down,
    // and one short way is enough for a host.
    const bool any_near = !all.empty() && at_most(all.front()) <= most_near_ns, without_gap = gaps.empty() && some_far && any_near;
    if (gaps.empty() && c.vain < most_vain && (anything || (without_gap && c.rounds < busy_rounds) || (may_be_near && c.rounds < enough_rounds)))
        return false;
    const auto widest = std::max_element(gaps.begin(), gaps.end(), [](const gap &a, const gap &b) { return a.wide < b.wide; });
    c.limit_ns = widest == gaps.end() ? std::numeric_limits<int64_t>::max() : widest->limit_ns;
    const bool enough_tell = silent.empty() || c.homeless.size() >= silent.size() + least_telling;
    if (!all.empty() && !anything && !any_near && enough_tell)
        c.limit_ns = most_near_ns / 2;      // nobody is near anybody
    if (without_gap)
        c.limit_ns = most_near_ns;
    if (patience_ < patient_rounds && may_hide_sites(c, all)) {
        ++patience_;
        c.limit_ns = 0;
        return false;
    }
    if (c.limit_ns == std::numeric_limits<int64_t>::max())
        undecided_ = static_cast<int>(silent.size());
    for (int64_t t : all)
        if (at_most(t) < c.limit_ns)
            near_ns_ = std::max(near_ns_, at_most(t));
        else if (!only_at_most(t))
            far_ns_ = far_ns_ ? std::min(far_ns_, t) : t;
    return true;
}

/** Who in a cell is where, after a round. */
void site_finder::settle(cell &c)
{
    if (c.repeat == cell::repeats::asked) {
        // Who had no group was a target of few, and is one of all now: of a way of which nothing was known only a short
        // time tells something, or a host that is late would count as often as there are hosts.
        std::set<std::pair<int, int>> known;
        for (const way &w : ways_inside(c))
            known.insert(std::minmax(w.host, w.to));
        for (int h : c.homeless)
            for (size_t k = 0; k < c.targets.size(); ++k)
                if (const int64_t t = times_[h][k]; c.targets[k] != h && t != unknown_ns && (at_most(t) < c.limit_ns || known.contains(std::minmax(h, c.targets[k]))))
                    near_.push_back({h, c.targets[k], t});
        c.homeless.clear();
        return;
    }
    recall(c);
    const std::vector<int> measured = c.homeless, helped = std::exchange(c.doubtful, {});
    if (c.limit_ns == 0 && !find_limit(c))      // of all hosts
        std::copy_if(c.homeless.begin(), c.homeless.end(), std::back_inserter(c.doubtful), [&](int h) {
            return std::any_of(times_[h].begin(), times_[h].end(), only_at_most);
        });
    else
        group(c);
    remember(c, measured, helped);
}

/** Groups of a cell whose limit is known. */
void site_finder::group(cell &c)
{
    const bool all_near = c.limit_ns == std::numeric_limits<int64_t>::max();
    const std::vector<bool> dark = dark_targets(c);
    std::set<int> grouped, certain;     // hosts; roots of groups of which all ways are known, of one host at least
    std::set<int> alone;                // hosts of which nothing is known
    for (int h : c.homeless) {
        const auto &times = times_[h];
        const bool tells = tells_some(c, h);
        bool all_known = true, near_some = false;
        for (size_t k = 0; k < times.size(); ++k) {
            const bool near = at_most(times[k]) < c.limit_ns;
            all_known &= near || !only_at_most(times[k]) || (dark[k] && tells);
            if (c.targets[k] == h || times[k] == unknown_ns)
                continue;
            near_some |= near;
            if (near) {
                unite(h, c.targets[k]);
                grouped.insert({h, c.targets[k]});
            }
            if (c.level > 0 || near)
                near_.push_back({h, c.targets[k], times[k]});
        }
        if (!all_known && c.level == 0) {       // (a part is not worth waiting for)
            if (c.vain < most_vain) {
                c.doubtful.push_back(h);
                continue;
            }
            if (all_near) {
                unite(h, c.hosts.front());
                grouped.insert(h);
            } else if (const int nearest = near_some ? h : perhaps_near(c, h); nearest >= 0) {
                unite(h, nearest);
                grouped.insert({h, nearest});
            } else if (!tells) {
                alone.insert(h);
                grouped.insert(h);
            }
        }
        certain.insert(h);
        if (std::find(c.targets.begin(), c.targets.end(), h) != c.targets.end())
            grouped.insert(h);      // a landmark, alone or not
    }
    // Of whom others may still be near, that is no group yet.
    for (int h : c.hosts)
        if (certain.contains(h) || !is_in(c.homeless, h))
            certain.insert(root_of(h));
    std::erase_if(c.homeless, [&](int h) { return grouped.contains(h) && certain.contains(root_of(h)); });
    undecided_ += static_cast<int>(std::count_if(alone.begin(), alone.end(), [&](int h) { return !is_in(c.homeless, h); }));
}

/** Whom those without a group measure, and who helps them. */
void site_finder::look_again(cell &c)
{
    c.helpers.clear();
    if (c.homeless.empty() || c.repeat == cell::repeats::asked)
        return;
    // Their own landmarks, those in doubt, and the groups that there are: a first time may have been misleading.
    // As long as it is not known what is far, the same ones again: more would keep busy hosts busier.
    ++c.rounds;
    c.targets = c.limit_ns == 0 ? first_targets(static_cast<int>(c.hosts.size())) : spread(c.homeless, std::min(first_landmarks << std::min(c.rounds, 8u), most_landmarks));
    std::erase_if(c.doubtful, [&](int h) { return !is_in(c.homeless, h); });
    if (c.doubtful.size() > most_doubtful) {        // in turn: the first ones may never tell
        std::ranges::rotate(c.doubtful, c.doubtful.begin() + static_cast<std::ptrdiff_t>(c.rounds * most_doubtful % c.doubtful.size()));
        c.doubtful.resize(most_doubtful);
    }
    for (int h : c.doubtful)
        if (std::find(c.targets.begin(), c.targets.end(), h) == c.targets.end())
            c.targets.push_back(h);
    for (int h : c.hosts)
        if (c.targets.size() < most_targets && root_of(h) == h && !is_in(c.homeless, h)) {
            c.targets.push_back(h);
            if (!c.doubtful.empty())
                c.helpers.push_back(h);
        }
}

void site_finder::decide()
{
    ++round_;
    for (;;) {
        awaited_ = 0;
        for (cell &c : cells_) {
            if (c.homeless.empty())
                continue;
            if (const size_t before = c.homeless.size(); !times_.empty()) {
                settle(c);
                if (c.rounds >= most_rounds)
                    c.vain = most_vain;
                else if (c.homeless.size() == before)
                    ++c.vain;
                else if (c.vain < most_vain)
                    c.vain = 0;
            }
            look_again(c);
            awaited_ += c.homeless.size() + c.helpers.size();
        }
        times_.clear();
        if (awaited_ > 0)
            return;
        close();
        if (finished())
            return;
    }
}

/** All have their groups: what those mean, and which may have parts. */
void site_finder::close()
{
    std::vector<cell> next, again;
    coming_.resize(parent_.size());
    for (cell &c : cells_) {
        if (c.level > 0) {
            std::vector<way> ways = ways_inside(c);
            if (c.repeat != cell::repeats::never)       // before, a way that was late once refutes what may be there by chance
                put_together(ways);
            if (c.repeat == cell::repeats::asked) {
                c.repeat = cell::repeats::done;
                if (find_limits(c, ways))
                    open(again.emplace_back(std::move(c)), ways);
                continue;
            }
            const verdict are = judge(c, ways);
            if (are == verdict::doubtful) {
                ask_again(again.emplace_back(std::move(c)), ways);
                continue;
            }
            if (are == verdict::none) {
                if (!c.limits_ns.empty())
                    open(again.emplace_back(std::move(c)), ways);
                else if (perhaps(c, ways))
                    again.push_back(std::move(c));
                continue;
            }
            if (c.level == 1) {
                ++parted_;
                for (const way &w : ways)
                    if (root_of(w.host) != root_of(w.to) && !only_at_most(w.ns))
                        apart_ns_ = apart_ns_ ? std::min(apart_ns_, w.ns) : w.ns;
            }
        }
        const auto number = [&](int h) -> uint16_t & {
            place &p = coming_[static_cast<size_t>(h)];
            return c.level == 0 ? p.site : p.inside[c.level - 1];
        };
        uint16_t next_number = c.level == 0 ? 0 : 1;
        for (int h : c.hosts)
            number(h) = root_of(h) == h ? next_number++ : number(root_of(h));
        if (c.level < levels && (c.level > 0 || next_number > 1))
            std::ranges::move(cells_inside(c), std::back_inserter(next));
    }
    std::ranges::move(again, std::back_inserter(next));
    cells_ = std::move(next);
    if (cells_.empty()) {
        place_ = std::move(coming_);
        near_.clear();
        near_.shrink_to_fit();
    }
}

} // namespace wan
