/*
 * Barrier in one WAN latency (not two): signals up a tree to a leader in each
 * site, leaders signal some hosts of every site at once (`entries`: 1 is the
 * leader alone), each of which waits for all leaders and then signals down its
 * share of a tree.
 *
 *     \|/                    \|/
 *      a  -----------------  b        T = L + two shallow trees of a site,
 *      a  -----------------  b            the second the shallower the more
 *     /|\                    /|\           hosts hear from the leaders
 *
 * Nothing but empty messages: order comes from signals and what waits for them.
 * Source: coll/wan; MagPIe's one-latency pattern; postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** Operations that must have ended. */
using ends = std::vector<int>;

void signal_after(builder &b, const ends &done, int peer, int label)
{
    for (int i : done)
        b.after(i);
    b.signal(peer, label);
}

/** Waits for those below me in a tree, then tells who is above. */
void signals_up(builder &b, const team &g, const std::vector<int> &parent, ends &below, int label)
{
    for (uint32_t i = 0; i < parent.size(); ++i)
        if (parent[i] == g.me)
            below.push_back(b.await(g.rank(i), label));
    if (const int up = parent[static_cast<size_t>(g.me)]; up >= 0)
        signal_after(b, below, g.rank(static_cast<uint32_t>(up)), label);
}

/** Waits for who is above me, then tells those below. */
void signals_down(builder &b, const team &g, const std::vector<int> &parent, ends &above, int label)
{
    if (const int up = parent[static_cast<size_t>(g.me)]; up >= 0)
        above = {b.await(g.rank(static_cast<uint32_t>(up)), label)};
    for (uint32_t i = 0; i < parent.size(); ++i)
        if (parent[i] == g.me)
            signal_after(b, above, g.rank(i), label);
}

/** Leaders tell the hosts that wait for all of them; what I wait for if I am one of those. */
ends cross(const topology &t, const plan &p, builder &b, const team &own, const std::vector<int> &down, const ends &below)
{
    if (own.me == 0)
        each_entry(t, p, b.me(), [&](int to) { signal_after(b, below, to, label::cross); });
    ends all = own.me == 0 ? below : ends{};
    for (int s = 0; s < t.site_count() && down[static_cast<size_t>(own.me)] < 0; ++s)
        if (const int from = t.rank_at(site_at(s), 0); from != b.me())
            all.push_back(b.await(from, label::cross));
    return all;
}

void build(const topology &t, const plan &p, builder &b)
{
    const auto at = t.locate(b.me());
    std::vector<int> lanes;
    for (int l = 0; l < t.lane_count(at.site, at.node); ++l)
        lanes.push_back(t.rank_at(at.site, at.node, l));
    const team host(std::move(lanes), b.me());
    const auto lane_tree = range_tree(host.size(), 0);
    ends reached;
    signals_up(b, host, lane_tree, reached, label::node_in);
    if (host.me == 0) {
        const team own = site_team(t, at.site, b.me());
        signals_up(b, own, postal_tree(own.size(), p.lambda), reached, label::tree_up);
        const auto down = entry_tree(own.size(), p);
        reached = cross(t, p, b, own, down, reached);
        signals_down(b, own, down, reached, label::tree_down);
    }
    signals_down(b, host, lane_tree, reached, label::node_out);
}

int64_t cost(const topology &t, const facts &f, const request &, const plan &p)
{
    return leaders_ns(t, f, 0, p);
}

/** A leader's signals to at most 64 hosts of each site (the planner's limit), its trees, and the way down. */
bool serves(const topology &t, const request &)
{
    return 65 * static_cast<int64_t>(t.site_count()) + 2 * widest_site(t) + 2 * widest_node(t) <= 60'000;
}

} // namespace

extern const algorithm barrier_leaders;
const algorithm barrier_leaders = {
    .collective = WAN_BARRIER,
    .name = "leaders",
    .summary = "one WAN latency: signals up to a leader in each site, leaders signal every site, signals down",
    .source = "coll/wan; MagPIe, postal model of Bar-Noy and Kipnis",
    .parameters = uses_entries | uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = one_sender,
    .serves = serves,
    .cost = cost,
    .build = build,
};

} // namespace wan
