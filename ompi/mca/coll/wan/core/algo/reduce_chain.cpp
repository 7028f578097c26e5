/*
 * Reduce along chains of hosts, pipelined, that crosses the WAN over n links.
 *
 *     y1 .. yk -> b1 -> ... -> bm -> y1 .. yk      other sites: each y starts the stripe of
 *                                    |      |      another one and ends its own, which it sends
 *     ===============================================================================  WAN
 *                                    |      |
 *     x1 .. xk -> a1 -> ... -> am -> x1 .. xk      site of the root, without the root: the
 *                                     \    /       same, while the WAN is crossed
 *                                      root        combines k stripes
 *
 * Every host receives the message once and sends it once, and handles the
 * fewest messages of all forms (two a segment, 2k where stripes end):
 *
 *     T = L + M/B + hops * (S/B of a lone segment + one message)
 *
 * hops: those of the largest site.  With one stripe nobody in the root's site
 * could take in both a chain and what crossed, so that the latter enters at
 * the beginning of the chain, which adds the hops of the root's site.
 *
 * From C sites at once the root's site takes in (C-1)/k of the message more
 * than its chains; where sites pass it on to each other (order chain) it does
 * not, but their latencies add up: for the longest messages.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Labels of stripes: two hosts may hand each other several. */
constexpr uint32_t most_stripes = 64;

/** The hosts of the root's site but the root's. */
team home_team(const topology &t, const plan &p, int me) { return site_team(t, t.site_of(p.root), me, p.root, true); }

/**
 * Where I stand in the chains of my site: stripe j passes the hosts j+1 .. k-1, 0 .. j-1 (each the first
 * of one stripe), then all those beyond k, which pass segments on in one piece, and ends at host j.
 */
struct chain {
    const team &g;
    uint32_t k;
    uint32_t me() const { return static_cast<uint32_t>(g.me); }
    uint32_t others() const { return g.size() - k; }
    bool ends_stripe() const { return me() < k; }

    static constexpr int none = -1;
    int rank(uint32_t i) const { return g.rank(i); }
    /** Of stripe j at an end of stripes: who is before and after me. */
    int before(uint32_t j) const
    {
        if (me() == (j + 1) % k && k > 1)
            return none;
        if (me() == j && others() > 0)
            return rank(g.size() - 1);
        return k > 1 ? rank((me() + k - 1) % k) : none;
    }
    int after(uint32_t j) const
    {
        if (me() == j)
            return none;
        if (others() > 0 && (me() + 1) % k == j)
            return rank(k);
        return rank((me() + 1) % k);
    }
};

/** My part of the chains; `late`, if any, come from other sites and are combined here.  Returns what holds my stripe. */
buffer pass(builder &b, const chain &at, buffer mine, const std::vector<buffer> &late)
{
    const uint32_t k = at.k;
    const buffer sum = b.scratch();
    const auto label = [](uint32_t j) { return label::stripe + static_cast<int>(j); };
    // What came, and mine with it; or mine alone.
    auto combine = [&](span_of part, bool came) {
        if (came)
            b.reduce(mine, sum, part);
        else
            b.copy(mine, sum, part);
        for (buffer x : late)
            b.reduce(x, sum, part);
    };
    if (at.ends_stripe()) {
        for (uint32_t i = 1; i <= k; ++i) {         // what I start first, what ends here last
            const uint32_t j = (at.me() + k - i) % k;
            const int from = at.before(j), to = at.after(j);
            if (from != chain::none)
                b.recv(sum, block(j, k), from, label(j));
            combine(block(j, k), from != chain::none);
            if (to != chain::none)
                b.send(sum, block(j, k), to, label(j));
        }
        return sum;
    }
    const uint32_t i = at.me() - k;
    const bool starts = i == 0 && k == 1;
    if (i > 0)
        b.recv(sum, whole(), at.rank(at.me() - 1), label(0));
    for (uint32_t j = 0; i == 0 && j < k && !starts; ++j)
        b.recv(sum, block(j, k), at.rank((j + k - 1) % k), label(j));
    for (uint32_t j = 0; j < (i == 0 ? k : 1); ++j)
        combine(i == 0 ? block(j, k) : whole(), !starts);
    if (i + 1 < at.others())
        b.send(sum, whole(), at.rank(at.me() + 1), label(0));
    else
        for (uint32_t j = 0; j < k; ++j)
            b.send(sum, block(j, k), at.rank(j), label(j));
    return sum;
}

/** With one stripe: where the only chain of a site takes in the site that comes `place`-th: at its beginning, and so on. */
uint32_t entry(const team &g, uint32_t place) { return (place + 1) % g.size(); }

void build_root(const topology &t, builder &b, const site_route &route, const team &home, uint32_t k)
{
    auto take = [&](const team &g, int label) {
        const buffer x = b.scratch();
        for (uint32_t j = 0; j < k; ++j)
            b.recv(x, block(j, k), g.rank(j), label);
        for (uint32_t j = 0; j < k; ++j)
            b.reduce(x, buffer::out, block(j, k));
    };
    if (home.size() > 0)
        return take(home, label::gather);
    for (int s : route.children(route.home))
        take(site_team(t, site_at(s), b.me()), label::cross);
}

void build_leader(const topology &t, const plan &p, builder &b, buffer mine)
{
    const int me = b.me(), my_site = static_cast<int>(value(t.site_of(me)));
    const site_route route{static_cast<int>(value(t.site_of(p.root))), t.site_count(), p.order};
    const uint32_t k = stripes_of(t, p, most_stripes);
    auto hosts = [&](int s) { return s == route.home ? home_team(t, p, me) : site_team(t, site_at(s), me); };
    const team own = hosts(my_site);
    if (me == p.root)
        return build_root(t, b, route, own, k);
    const chain at{own, k};
    std::vector<buffer> late;
    const auto children = route.children(my_site);
    for (uint32_t place = 0; place < children.size(); ++place) {
        if (k > 1 ? !at.ends_stripe() : at.me() != entry(own, place))
            continue;
        const uint32_t j = k > 1 ? at.me() : 0;
        late.push_back(b.scratch());
        b.recv(late.back(), block(j, k), hosts(children[place]).rank(j), label::cross);
    }
    const buffer sum = pass(b, at, mine, k > 1 ? std::vector<buffer>{} : late);
    if (!at.ends_stripe())
        return;
    const span_of stripe = block(at.me(), k);
    for (buffer x : k > 1 ? late : std::vector<buffer>{})
        b.reduce(x, sum, stripe);
    if (my_site == route.home)
        return void(b.send(sum, stripe, p.root, label::gather));
    const int parent = route.parent(my_site);
    const team up = hosts(parent);
    const auto siblings = route.children(parent);
    const auto place = static_cast<uint32_t>(std::find(siblings.begin(), siblings.end(), my_site) - siblings.begin());
    b.send(sum, stripe, up.size() == 0 ? p.root : up.rank(k > 1 ? at.me() : entry(up, place)), label::cross);
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me(), leader = node_leader(t, me, p.root);
    const auto at = t.locate(me);
    buffer mine = buffer::in;
    if (me == p.root || t.lane_count(at.site, at.node) > 1) {
        mine = me == p.root ? buffer::out : b.scratch();
        b.copy(buffer::in, mine, whole());
        node_reduce(b, t, leader, mine);
    }
    if (leader == me)
        build_leader(t, p, b, mine);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const site_id home_site = t.site_of(p.root);
    const site_route route{static_cast<int>(value(home_site)), t.site_count(), p.order};
    const int64_t k = stripes_of(t, p, most_stripes), remote = route.most_children(), lanes = widest_node(t) - 1;
    const int64_t home = t.node_count(home_site) - 1;
    const auto hops_ns = [&](site_id s, int64_t hops) {
        return hops * (hop_ns(f, c.segment_bytes, f.next_host_ns(s)) + combine_ns(f, c.segment_bytes) + f.message_ns * steps(lanes + 1) + lanes_up_ns(t, f, c.segment_bytes));
    };
    int64_t fill = 0, own = hops_ns(home_site, home - 1);
    for (int s = 0; s < t.site_count(); ++s)
        if (site_at(s) != home_site) {
            const int64_t hosts = t.node_count(site_at(s)), passed = hops_ns(site_at(s), hosts - 1);
            own = std::max(own, passed);
            fill = k == 1 && p.order == site_order::chain ? fill + hops_ns(site_at(s), hosts) : std::max(fill, passed);
        }
    fill += hops_ns(home_site, 1 + (home == 0 ? 0 : k > 1 ? t.site_count() - 1 : home));
    const int64_t bytes = static_cast<int64_t>(r.bytes);
    // At the root; where the stripes of all sites end, or one chain takes in a site at each host.
    const int64_t entering = k > 1 ? bytes * (k + remote - 1) / k
                                   : bytes * ((remote + home - 1) / std::max<int64_t>(1, home) + (remote > 1 && home > 1));
    const int64_t busiest = home > 0 ? std::max(bytes, entering) : bytes * remote;
    const int64_t messages = lanes + std::max({2 * k - 1 + remote, k + 1, home > 0 ? 0 : k * remote});
    const int64_t received = c.segments * std::max(k - 1 + remote, home > 0 ? 1 : k * remote);
    const int64_t far = crossing_ns(f, route.latency_ns(f), c.segment_bytes / k);
    const int64_t across = flows_ns(r.bytes, f.widest_ns(), k);
    const int64_t turns = k > 1 ? c.segments * own / p.window : 0;     // who begins a stripe and ends another has a segment for as long
    const int64_t wire = std::max({across, turns, level_part(f, bytes), shared_wire(f.wire_ns(static_cast<uint64_t>(busiest)) + headers_ns(f, received), k - 1)});
    return far + pipeline(f, wire, c.segments, messages, combine_ns(f, busiest) + lanes_up_ns(t, f, bytes)) + fill;
}

} // namespace

extern const algorithm reduce_chain;
const algorithm reduce_chain = {
    .collective = WAN_REDUCE,
    .name = "chain",
    .summary = "segments are combined from host to host and cross in n stripes; fewest messages, for long messages",
    .source = "coll/wan; GridMPI's n links (Matsuda et al.)",
    .parameters = uses_links | uses_stripes | uses_segment | uses_order,
    .automatic = true,
    .long_messages = true,
    .keeps_order = false,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &r) { return r.commutative && few_enough(t, 2) && t.site_count() <= 200; },
    .buffers = site_buffers,
    .cost = cost,
    .build = build,
};

} // namespace wan
