/*
 * Reduce of short messages in one WAN latency: reduce to a leader along a
 * postal tree in each site, leaders send to the root, whose own site reduces
 * while the WAN is crossed.
 *
 *     \|/     \|/
 *      a       b   \|/
 *       \======\===> root        T = L + a shallow tree of a site
 *
 * From many sites at once they go to some hosts of the root's site first
 * (`entries`), each of which combines those of its sites.
 * Source: MagPIe; postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** The sites other than the root's, by number, and which host of the root's site combines each: 0 is the root's. */
struct routes {
    int home, sites;
    uint32_t combiners;

    routes(const topology &t, const plan &p)
        : home(static_cast<int>(value(t.site_of(p.root)))), sites(t.site_count()),
          combiners(std::min({p.entries, static_cast<uint32_t>(t.node_count(site_at(home))), static_cast<uint32_t>(sites - 1)}))
    {
    }
    uint32_t combiner(int site) const { return static_cast<uint32_t>((site - home + sites) % sites - 1) % combiners; }
};

/** The hosts of the root's site, the root's first. */
team home_team(const topology &t, const plan &p, int me)
{
    const team g = site_team(t, t.site_of(p.root), me, p.root);
    return g.rotated(static_cast<uint32_t>(g.index_of(p.root)));
}

/** association::tree: each site to its first host, to that of the root's site, from there to the root. */
void build_tree(const topology &t, const plan &p, builder &b)
{
    const int me = b.me(), leader = node_leader(t, me, p.root);
    const int mine = static_cast<int>(value(t.site_of(me))), home = static_cast<int>(value(t.site_of(p.root)));
    const buffer acc = me == p.root ? buffer::out : b.scratch();
    b.copy(buffer::in, acc, whole());
    node_reduce(b, t, leader, acc, p.grouping);
    if (leader != me)
        return;
    const team own = site_team(t, site_at(mine), me, p.root);
    tree_reduce(b, own, canonical_tree(own.size()), acc, label::tree_up);
    const int head = site_team(t, site_at(home), me, p.root).rank(0);
    if (mine != home && own.me == 0)
        b.send(acc, whole(), head, label::cross);
    if (me == head) {
        std::vector<buffer> from_site;
        for (int s = 0; s < t.site_count(); ++s) {
            from_site.push_back(s == home ? acc : b.scratch());
            if (s != home)
                b.recv(from_site.back(), whole(), t.rank_at(site_at(s), 0), label::cross);
        }
        const buffer sum = me == p.root ? buffer::out : from_site.back();
        fold(b, from_site, sum, whole());
        if (me != p.root)
            b.send(sum, whole(), p.root, label::cross_out);
    } else if (me == p.root) {
        b.recv(buffer::out, whole(), head, label::cross_out);
    }
}

void build(const topology &t, const plan &p, builder &b)
{
    if (p.grouping == association::tree)
        return build_tree(t, p, b);
    const int me = b.me();
    const int leader = node_leader(t, me, p.root);
    const int mine = static_cast<int>(value(t.site_of(me)));
    const routes route(t, p);
    const buffer acc = me == p.root ? buffer::out : b.scratch();
    b.copy(buffer::in, acc, whole());
    node_reduce(b, t, leader, acc);
    if (leader != me)
        return;
    const team home = home_team(t, p, me);
    const team own = mine == route.home ? home : site_team(t, site_at(mine), me);
    tree_reduce(b, own, postal_tree(own.size(), p.lambda), acc, label::tree_up);
    if (mine != route.home) {
        if (own.me == 0)
            b.send(acc, whole(), home.rank(route.combiner(mine)), label::cross);
        return;
    }
    if (static_cast<uint32_t>(home.me) >= route.combiners)
        return;
    std::vector<buffer> parts;
    auto expect = [&](int from, int label) {
        parts.push_back(b.scratch());
        b.recv(parts.back(), whole(), from, label);
    };
    for (int s = 0; s < t.site_count(); ++s)
        if (s != route.home && route.combiner(s) == static_cast<uint32_t>(home.me))
            expect(t.rank_at(site_at(s), 0), label::cross);
    if (me != p.root) {
        fold(b, parts, parts.back(), whole());
        b.send(parts.back(), whole(), p.root, label::cross_out);
        return;
    }
    for (uint32_t i = 1; i < route.combiners; ++i)
        expect(home.rank(i), label::cross_out);
    for (buffer x : parts)
        b.reduce(x, buffer::out, whole());
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const routes route(t, p);
    const int64_t remote = t.site_count() - 1, combiners = route.combiners;
    const int64_t last = combiners > 1 ? hop_ns(f, 0) + sends_ns(f, r.bytes, combiners - 1) : 0;
    const int64_t bytes = static_cast<int64_t>(r.bytes), each = (remote + combiners - 1) / combiners;
    return crossing_ns(f, f.farthest_ns(site_at(route.home)), bytes) + tree_up_ns(f, r.bytes, widest_site(t), p.lambda)
           + sends_ns(f, r.bytes, each) + last + combine_ns(f, bytes * (each + combiners - 1)) + steps(widest_node(t)) * f.message_ns
           + lanes_up_ns(t, f, bytes);
}

} // namespace

extern const algorithm reduce_leaders;
const algorithm reduce_leaders = {
    .collective = WAN_REDUCE,
    .name = "leaders",
    .summary = "one WAN latency: tree to a leader in each site, leaders send to the root; for short messages",
    .source = "coll/wan; MagPIe, postal model of Bar-Noy and Kipnis",
    .parameters = uses_entries | uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = false,
    .senders = one_sender,
    .serves = [](const topology &t, const request &r) { return r.commutative && t.site_count() <= 150; },
    .buffers = site_buffers,
    .cost = cost,
    .build = build,
    .groupings = computes(association::tree),
};

} // namespace wan
