/*
 * Reduce: GridMPI's form (reduce-scatter, then to the root), pipelined, with
 * the root left out of everything but the end.
 *
 *     site of the root:  reduce-scatter --- combine --- root
 *                        (without the root)    ||  n WAN links
 *     other sites:       reduce-scatter -------//
 *
 * Inside each site every host ends with the reduction of one block.  Owners in
 * the other sites send theirs to the owners in the root's site, who combine
 * what they have in the order of sites and hand it to the root.  The root's
 * interface receives the message once and sends nothing: what bounds any
 * Reduce.  Owners receive (p-2)/(p-1) of the message from their site and
 * 1/(p-1) from each other one.
 *
 *     T = L + M/B + S/B + steps inside a site        S a segment
 *
 * where the paper's form (one segment) takes L + M/(nB) + 2M/B.
 * Source: Matsuda et al., Efficient Collective Algorithms for Grid
 * Environment, section 3; inner steps: circulant graphs (Traeff), any p.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/sites.hpp"
#include "model/cost.hpp"

#include <algorithm>

namespace wan {

namespace {

/**
 * Who owns blocks, site by site: nobody in the root's site where the root is alone.  Where hosts
 * halve segments, the root is one of its site's.
 */
struct owners_of_sites {
    int home;
    std::vector<team> owners;
    std::vector<team> remote;

    owners_of_sites(const topology &t, const plan &p, int me) : home(static_cast<int>(value(t.site_of(p.root))))
    {
        const bool halving = p.inner == inner_steps::halving;
        const team at_home = site_team(t, site_at(home), me, p.root, !halving);
        for (int s = 0; s < t.site_count(); ++s) {
            team g = block_owners(p, s == home ? at_home : site_team(t, site_at(s), me));
            // Sites of one size: one of them owns nothing, so that every other has one counterpart.
            if (!halving && s != home && at_home.size() > 0 && g.size() == at_home.size() + 1)
                g.blocks = at_home.size();
            owners.push_back(g);
            if (s != home)
                remote.push_back(g);
        }
    }
    const team &at(int site) const { return owners[static_cast<size_t>(site)]; }
    /** Who takes in what crosses: the root where it is alone in its site. */
    team takers(int root, int me) const { return at(home).size() > 0 ? at(home) : team({root}, me); }
};

/** What comes from the other sites' owners to `to`, a buffer for each, in the order of sites. */
std::vector<buffer> receive_sites(builder &b, const owners_of_sites &who, const gateways &gates, const team &to)
{
    std::vector<buffer> from_site;
    for (const team &g : who.remote) {
        from_site.push_back(b.scratch());
        reshare(b, gates.of(g, b.me()), to, from_site.back(), from_site.back(), label::cross);
    }
    return from_site;
}

/** What the hosts of a site have of their blocks (in `acc`) leaves for `to`, over the gateways. */
void send_across(builder &b, const team &own, const gateways &gates, buffer acc, const team &to)
{
    const team across = gates.of(own, b.me());
    buffer part = acc;
    if (!gates.direct()) {
        part = b.scratch();
        reshare(b, own, across, acc, part, label::cross_in);
    }
    reshare(b, across, to, part, part, label::cross);
}

void build_root(builder &b, const owners_of_sites &who, const gateways &gates)
{
    const team &home = who.at(who.home);
    if (home.size() == 0) {
        for (buffer x : receive_sites(b, who, gates, team({b.me()}, b.me())))
            b.reduce(x, buffer::out, whole());
        return;
    }
    const buffer sum = b.scratch();
    gather_blocks(b, home, sum, b.me());
    for (uint32_t i = 0; i < home.blocks; ++i)
        b.reduce(sum, buffer::out, block(i, home.blocks));
}

/**
 * association::tree: the root's host is one of its site's.  Where hosts hand each other their shares
 * at once, the root owns no block, so that its interface takes in the result alone; where they halve
 * segments, it does.  Who combined a block in the root's site hands it to the root.
 */
void build_tree(const topology &t, const plan &p, builder &b)
{
    const int me = b.me(), leader = node_leader(t, me, p.root);
    const int mine = static_cast<int>(value(t.site_of(me)));
    const buffer acc = me == p.root ? buffer::out : b.scratch();
    b.copy(buffer::in, acc, whole());
    node_reduce(b, t, leader, acc, p.grouping);
    if (leader != me)
        return;
    const owners_of_sites who(t, p, me);
    const gateways gates(p.links, who.remote);
    const team &own = who.at(mine), takers = who.takers(p.root, me);
    buffer sum = acc;
    if (exchanges(p))
        sum = exchange_reduce(b, site_team(t, site_at(mine), me, p.root), mine == who.home ? takers : own, acc);
    else
        reduce_scatter(b, own, acc, p.inner);
    b.turn();
    if (mine != who.home)
        return send_across(b, own, gates, sum, takers);
    if (takers.has_me()) {
        std::vector<buffer> from_site = receive_sites(b, who, gates, takers);
        from_site.insert(from_site.begin() + who.home, sum);
        sum = me == p.root ? buffer::out : from_site.back();
        fold(b, from_site, sum, takers.own());
    }
    gather_blocks(b, takers, me == p.root ? buffer::out : sum, p.root);
}

void build(const topology &t, const plan &p, builder &b)
{
    if (p.grouping == association::tree)
        return build_tree(t, p, b);
    const int me = b.me();
    const int leader = node_leader(t, me, p.root);
    const int mine = static_cast<int>(value(t.site_of(me)));
    const buffer acc = me == p.root ? buffer::out : b.scratch();
    b.copy(buffer::in, acc, whole());
    node_reduce(b, t, leader, acc);
    if (leader != me)
        return;
    const owners_of_sites who(t, p, me);
    const gateways gates(p.links, who.remote);
    if (me == p.root)
        return build_root(b, who, gates);

    const team &own = who.at(mine);
    reduce_scatter(b, own, acc, p.inner);
    // Segments that were reduced at once would all cross at once, late.  (A ring keeps its order by itself.)
    if (p.inner != inner_steps::ring)
        b.turn();
    if (mine != who.home)
        return send_across(b, own, gates, acc, who.takers(p.root, me));
    for (buffer x : receive_sites(b, who, gates, own))
        b.reduce(x, acc, own.own());
    gather_blocks(b, own, acc, p.root);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const site_id home_site = t.site_of(p.root);
    const int64_t bytes = static_cast<int64_t>(r.bytes), home = t.node_count(home_site) - 1, remote = t.site_count() - 1;
    int64_t widest = 1, narrowest = INT32_MAX;
    for (int s = 0; s < t.site_count(); ++s)
        if (site_at(s) != home_site) {
            widest = std::max<int64_t>(widest, t.node_count(site_at(s)));
            narrowest = std::min<int64_t>(narrowest, t.node_count(site_at(s)));
        }
    const int64_t links = std::min<int64_t>(p.links, narrowest), lanes = widest_node(t) - 1;
    const int64_t far = crossing_ns(f, f.farthest_ns(home_site), longest_part(t, r, p.links, c.segment_bytes));
    const inner_cost inner = inner_of(f, std::max(widest, home), c.segment_bytes, p.inner);
    const int64_t inside = wire_part(f, bytes, widest - 1, widest), across = wire_part(f, bytes, 1, links);
    const int64_t at_home = home > 0 ? wire_part(f, bytes, home - 1 + remote, home) : 0;
    const int64_t at_root = wire_part(f, bytes, home > 0 ? 1 : remote, 1);
    const int64_t connections = inner.connections + 1;
    // Owners combine what they receive; the root its own with the result, or, alone in its site, what comes from each other one.
    const int64_t on_host = lanes_up_ns(t, f, bytes), at_root_work = combine_ns(f, home > 0 ? bytes : remote * bytes) + on_host;
    const int64_t inside_work = combine_ns(f, bytes / widest * (widest - 1));
    const int64_t work = std::max(inside_work, home > 0 ? combine_ns(f, bytes / home * (home - 1 + remote)) : 0) + on_host;
    if (p.grouping == association::tree) {
        // Owners in the root's site take in everyone's shares and what crosses; where hosts halve segments the
        // root is one of them, and then gets the result.
        const bool steps_taken = !exchanges(p);
        const int64_t handed_in = steps_taken && !halving_all(t) ? f.wire_ns(r.bytes) : 0;
        const int64_t shares = (steps_taken && exchange_waits(f, static_cast<uint64_t>(c.segment_bytes * (widest / 2) / widest)) ? 2 : 1)
                               * wire_part(f, bytes, std::max(widest, home + 1) - 1, std::max<int64_t>(1, std::min(widest, home + 1)));
        const int64_t owner = shares + handed_in + wire_part(f, bytes, remote, std::max<int64_t>(1, home));
        const int64_t busiest = steps_taken ? owner + at_root : std::max(owner, at_root);
        const int64_t sent = (steps_taken ? inner.messages : 2 * (widest - 1)) + 2 * remote + 2 * lanes + home;
        return far + pipeline(f, shared_wire(busiest, steps_taken ? connections : widest), c.segments, sent, std::max(work, at_root_work))
               + (owner + at_root) / c.segments + f.step_ns + 3 * hop_ns(f, 0);
    }
    // The root hears from every owner; from when the first segment comes until the last has.
    const int64_t root_busy = pipeline(f, at_root, c.segments, std::max<int64_t>(1, home + lanes), at_root_work);
    const int64_t last_segment = (at_root + at_root_work) / c.segments + 2 * hop_ns(f, 0) + 2 * lanes * hop_ns(f, 0);
    const int64_t messages = inner.messages + 2 * remote + 2 * lanes;
    if (p.inner == inner_steps::ring) {
        const int64_t passing = level_part(f, bytes, widest - 1, widest);
        const int64_t busy = pipeline(f, std::max(passing, shared_wire(std::max(inside + across, at_home), connections)), c.segments, messages, work);
        return far + std::max(busy + last_segment, root_busy + 2 * hop_ns(f, 0)) + inner.last_ns;
    }
    const bool waits = exchange_waits(f, static_cast<uint64_t>(c.segment_bytes * (widest / 2) / widest));
    const int64_t stage = ((waits ? 2 : 1) * inside + inside_work + on_host + across) / c.segments + inner.steps_ns;
    const int64_t busy = std::max(c.segments * stage,
                                  pipeline(f, shared_wire(std::max(inside + across, at_home), connections), c.segments, messages, work));
    return far + std::max(busy + last_segment, stage + root_busy + 2 * hop_ns(f, 0));
}

} // namespace

extern const algorithm reduce_rabenseifner;
const algorithm reduce_rabenseifner = {
    .collective = WAN_REDUCE,
    .name = "rabenseifner",
    .summary = "reduce-scatter in each site, over n links to the owners in the root's site, who hand it to the root; pipelined",
    .source = "GridMPI (Matsuda et al.), Reduce; pipelining, leaving the root out and any number of hosts are ours",
    .parameters = uses_links | uses_segment | uses_inner,
    .automatic = true,
    .long_messages = true,
    .keeps_order = false,
    .senders = gateway_senders,
    .serves = blocks_combine,
    .buffers = [](const topology &t, const plan &p) { return site_buffers(t, p) + exchanged_buffers(t, p); },
    .cost = cost,
    .build = build,
    .groupings = computes(association::tree),
};

} // namespace wan
