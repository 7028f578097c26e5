/*
 * Broadcast: GridMPI's extension of van de Geijn's algorithm, pipelined.
 *
 *        root ---> owners of the root's site ===> owners of the next site
 *        scatter     |  counter-copy over n WAN links   |
 *                    v                                  v
 *                 allgather                          allgather
 *
 * The root cuts a segment into one block for each other host of its site.
 * Owners send their block across at once, then everyone in a site gathers.
 * The root takes no part in the gathering (it has everything), so that its
 * interface sends every byte once: with enough segments the root's interface
 * is the limit and all the rest is hidden behind it,
 *
 *     T = L + M/B + S/B + small,   S a segment,
 *
 * where the paper's form (one segment) takes L + M/(nB) + 2M/B.
 * With more than two sites the owners send to every other site (star), or
 * each site passes blocks on as they come (chain: more latency, fewer bytes
 * out of the root's site).
 * Source: Matsuda et al., Efficient Collective Algorithms for Grid
 * Environment, section 3; van de Geijn's scatter + allgather.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** The hosts of each site on the route that own blocks, in the order of the route. */
std::vector<team> owner_teams(const topology &t, const plan &p, const site_route &route, int me)
{
    std::vector<team> owners(static_cast<size_t>(t.site_count()));
    for (int k = 0; k < t.site_count(); ++k) {
        const int s = route.at(k);
        team g = site_team(t, site_at(s), me, p.root, s == route.home);
        if (g.size() == 0)
            g = team({p.root}, me);
        // Sites of nearly equal size use equal blocks: one message an owner instead of two.
        if (k > 0) {
            const uint32_t before = owners[static_cast<size_t>(route.parent(s))].blocks;
            if (before <= g.blocks && 4 * before >= 3 * g.blocks)
                g.blocks = before;
        }
        owners[static_cast<size_t>(s)] = std::move(g);
    }
    return owners;
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int leader = node_leader(t, me, p.root);
    if (leader == me) {
        const site_route route{static_cast<int>(value(t.site_of(p.root))), t.site_count(), p.order};
        const auto owners = owner_teams(t, p, route, me);
        const gateways gates(p.links, owners);
        const int mine = static_cast<int>(value(t.site_of(me)));
        const team &own = owners[static_cast<size_t>(mine)];
        const team across = gates.of(own, me);

        if (mine == route.home) {
            scatter_blocks(b, own, buffer::out, p.root);
        } else {
            const team &from = owners[static_cast<size_t>(route.parent(mine))];
            reshare(b, gates.of(from, me), across, buffer::out, buffer::out, label::cross);
            if (!gates.direct())
                reshare(b, across, own, buffer::out, buffer::out, label::cross_out);
        }
        const auto children = route.children(mine);
        // A site that was served by its gateways passes on from them: they hold the stripes already.
        if (!children.empty() && !gates.direct() && mine == route.home)
            reshare(b, own, across, buffer::out, buffer::out, label::cross_in);
        for (int c : children)
            reshare(b, across, gates.of(owners[static_cast<size_t>(c)], me), buffer::out, buffer::out, label::cross);
        allgather(b, own, buffer::out, p.inner);
    }
    node_broadcast(b, t, leader, buffer::out);
}

/**
 * Through the interface of a gateway of another site: in, what crosses and what the others gather;
 * out, what it hands them, gathers and sends on to `children` sites.
 */
int64_t gateway_bytes(int64_t bytes, int64_t hosts, uint32_t links, int64_t children)
{
    const int64_t n = std::min<int64_t>(links, hosts), gathered = bytes / hosts * (hosts - 1), crossed = bytes / n;
    return gathered + std::max(crossed, crossed - bytes / hosts + children * crossed);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const site_route route{static_cast<int>(value(t.site_of(p.root))), t.site_count(), p.order};
    const cut c(r.bytes, p.segment_bytes);
    const int64_t hosts = t.node_count(site_at(route.home));
    const int64_t owners = std::max<int64_t>(1, hosts - 1);
    const int64_t links = std::min<int64_t>(p.links, owners);
    const int64_t children = route.most_children();
    // Interfaces: the root's, an owner's (gather and across), a gateway's that carries more than its block.
    const int64_t root = hosts > 1 ? r.bytes : r.bytes * static_cast<uint64_t>(children);
    const int64_t owner = static_cast<int64_t>(r.bytes) * (owners - 1) / owners
                          + static_cast<int64_t>(r.bytes) * children / links;
    int64_t bytes = std::max(root, hosts > 1 ? owner : 0);
    for (int s = 0; s < t.site_count(); ++s)
        if (s != route.home)
            bytes = std::max(bytes, gateway_bytes(static_cast<int64_t>(r.bytes), t.node_count(site_at(s)), p.links,
                                                  route.order == site_order::chain && route.place(s) + 1 < route.sites ? 1 : 0));
    const int64_t widest = widest_site(t);
    const int64_t passing = p.inner == inner_steps::ring ? level_part(f, static_cast<int64_t>(r.bytes), widest - 1, widest) : 0;
    const int64_t wire = std::max(f.wire_ns(static_cast<uint64_t>(bytes)), passing);
    const int64_t lanes = widest_node(t) - 1;
    const inner_cost inner = inner_of(f, widest, c.segment_bytes, p.inner);
    const int64_t messages = std::max(owners, inner.messages + 1 + children + lanes);
    const int64_t fill = inner.last_ns + wire_part(f, c.segment_bytes, 1, owners) + (3 + lanes) * hop_ns(f, 0) + lanes_down_ns(t, f, c.segment_bytes);
    return crossing_ns(f, route.latency_ns(f), longest_part(t, r, p.links, c.segment_bytes)) + pipeline(f, shared_wire(wire, inner.connections + children), c.segments, messages, lanes_down_ns(t, f, static_cast<int64_t>(r.bytes))) + fill;
}

} // namespace

extern const algorithm bcast_vandegeijn;
const algorithm bcast_vandegeijn = {
    .collective = WAN_BCAST,
    .name = "vandegeijn",
    .summary = "scatter in the root's site, copy across over n links, allgather in each site; pipelined by segments",
    .source = "GridMPI (Matsuda et al.), extended van de Geijn; pipelining and idle root are ours",
    .parameters = uses_links | uses_segment | uses_order | uses_inner,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &) { return few_enough(t, 2); },
    .cost = cost,
    .build = build,
};

} // namespace wan
