/*
 * Parts of sites: see site_finder.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/site_finder.hpp"

#include "measure/way_times.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace wan {

namespace {

/** A site or part with fewer hosts has no parts: two of two hosts are the least. */
constexpr size_t least_to_part = 4;
/** Of the ways inside the parts so many may seem far. */
constexpr double most_misfits = 0.1;
/** Where more do, but not so many, all are measured again, once: who is late now is rarely late then. Of processors that are busier no parts are to be known. */
constexpr double most_to_repeat = 0.35;
/** Where no parts show, those that show if the longest one of so many of the shorter times may be late ones are in doubt. */
constexpr size_t perhaps_late_one_in = 2;

} // namespace

/** What the groups of a cell are by its ways, as they are told. */
site_finder::verdict site_finder::judge(const cell &c, const std::vector<way> &ways)
{
    std::map<int, int> sizes;
    for (int h : c.hosts)
        ++sizes[root_of(h)];
    if (std::ranges::count_if(sizes, [](const auto &s) { return s.second > 1; }) < 2)
        return verdict::none;
    const auto inside = [this](const way &w) { return root_of(w.host) == root_of(w.to); };
    const auto all = static_cast<double>(std::ranges::count_if(ways, inside));
    const auto misfits = static_cast<double>(std::ranges::count_if(ways, [&](const way &w) { return inside(w) && w.ns >= c.limit_ns; }));
    const bool alone = std::ranges::any_of(sizes, [](const auto &s) { return s.second == 1; });     // perhaps late
    if (c.level == 1 && c.repeat == cell::repeats::never && misfits <= most_to_repeat * all && (alone || misfits > most_misfits * all))
        return verdict::doubtful;
    // (Hosts may fall apart for want of exact times alone.)
    if (std::ranges::none_of(ways, [&](const way &w) { return !inside(w) && w.ns >= c.limit_ns; }))
        return verdict::none;
    return misfits <= most_misfits * all ? verdict::parts : verdict::none;
}

/** Has the ways of a cell measured again: those inside groups, and those between them, which may only seem far. */
void site_finder::ask_again(cell &c, const std::vector<way> &ways)
{
    std::set<int> hosts, targets;
    for (const way &w : ways)
        hosts.insert(w.host), targets.insert(w.to);
    c.homeless.assign(hosts.begin(), hosts.end());
    // (The lowest ones are often of the first zones only.)
    c.targets = spread({targets.begin(), targets.end()}, most_targets);
    c.repeat = cell::repeats::asked;
}

/** What is known of each way, of both directions and all rounds together, in the order of ways. */
void site_finder::put_together(std::vector<way> &ways)
{
    const auto ends = [](const way &w) { return std::minmax(w.host, w.to); };
    std::ranges::sort(ways, [&](const way &a, const way &b) { return std::pair(ends(a), a.host) < std::pair(ends(b), b.host); });
    for (auto from = ways.begin(); from != ways.end();) {
        const auto to = std::find_if(from, ways.end(), [&](const way &w) { return ends(w) != ends(*from); });
        int64_t ns = from->ns;
        for (auto w = from; w != to; ++w)
            ns = both_tell(ns, w->ns);
        for (; from != to; ++from)
            from->ns = ns;
    }
    const auto same = [](const way &a, const way &b) { return a.host == b.host && a.to == b.to; };
    ways.erase(std::unique(ways.begin(), ways.end(), same), ways.end());
}

/** The groups of a cell, as far as there is a gap in the times of theirs that are known. */
std::vector<site_finder::cell> site_finder::cells_inside(const cell &c)
{
    std::map<int, cell> groups;
    for (int h : c.hosts)
        groups[root_of(h)].hosts.push_back(h);
    std::map<int, std::vector<way>> ways;
    for (const way &w : near_)
        if (const int r = root_of(w.host); r == root_of(w.to) && groups.contains(r))
            ways[r].push_back(w);
    std::vector<cell> found;
    for (auto &[root, g] : groups) {
        g.level = c.level + 1;
        g.repeat = c.repeat;        // their ways were measured again with those of the site
        if (c.repeat == cell::repeats::done)
            put_together(ways[root]);
        if (g.hosts.size() >= least_to_part)
            found.push_back(std::move(g));
    }
    // (Roots are others once a cell is open.)
    std::erase_if(found, [&](cell &g) {
        const std::vector<way> &of = ways[g.hosts.front()];
        if (!find_limits(g, of))
            return !perhaps(g, of);
        open(g, of);
        return false;
    });
    return found;
}

/** Whether a site that shows no parts may have some all the same: then its ways are measured again. */
bool site_finder::perhaps(cell &c, const std::vector<way> &ways)
{
    if (c.level != 1 || c.repeat != cell::repeats::never || !find_limits(c, ways, perhaps_late_one_in))
        return false;
    while (!c.limits_ns.empty()) {
        open(c, ways);
        if (judge(c, ways) != verdict::none) {
            ask_again(c, ways);
            return true;
        }
    }
    return false;
}

/** Whether there is a gap in the times of ways in a cell. */
bool site_finder::find_limits(cell &c, const std::vector<way> &ways, size_t late)
{
    std::vector<int64_t> times;
    for (const way &w : ways)
        times.push_back(w.ns);
    c.limits_ns.clear();
    std::vector<gap> gaps = gaps_in(times, least_apart_ns, least_gap_apart, late);
    // What takes at most nearly as long as far ones is not near for that. (Of parts of parts, which are never measured again, too many would be false.)
    if (gaps.empty() && c.level == 1 && std::erase_if(times, only_at_most) > 0)
        gaps = gaps_in(times, least_apart_ns, least_gap_apart, late);
    for (const gap &some : gaps)
        c.limits_ns.push_back(some.limit_ns);
    return !c.limits_ns.empty();
}

/** Groups of a cell from what is known, by the farthest of the gaps that are left. */
void site_finder::open(cell &c, const std::vector<way> &ways)
{
    c.limit_ns = c.limits_ns.back();
    c.limits_ns.pop_back();
    c.rounds = 0;
    for (int h : c.hosts)
        parent_[static_cast<size_t>(h)] = h;
    std::set<int> housed;
    for (const way &w : ways) {
        housed.insert(w.to);        // a landmark
        if (at_most(w.ns) < c.limit_ns) {
            housed.insert(w.host);
            unite(w.host, w.to);
        }
    }
    c.homeless.clear();
    std::copy_if(c.hosts.begin(), c.hosts.end(), std::back_inserter(c.homeless), [&](int h) { return !housed.contains(h); });
}

/** What is known of the ways inside a cell. */
std::vector<site_finder::way> site_finder::ways_inside(const cell &c) const
{
    std::vector<way> ways;
    std::copy_if(near_.begin(), near_.end(), std::back_inserter(ways), [&](const way &w) { return is_in(c.hosts, w.host) && is_in(c.hosts, w.to); });
    return ways;
}

} // namespace wan
