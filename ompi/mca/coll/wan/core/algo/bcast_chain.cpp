/*
 * Broadcast along a chain of hosts, pipelined, that crosses the WAN over n links.
 *
 *     root -> a1 -> a2 -> ... -> am        one message a segment and host
 *                                / | \     stripes
 *                              x1 -- xk    gateways: swap stripes, and
 *                              |     |     send their own across at once
 *     ==========================================================  WAN
 *                              |     |
 *                              e1 -- ek    swap stripes, all of them to b1
 *                                \ | /
 *                                 b1 -> b2 -> ... -> bm
 *
 * Every host but the last sends the message once, and every interface works
 * from the first segment to the last:
 *
 *     T = L + M/B + hops * (S/B of a lone segment + one message)
 *
 * A host handles two messages a segment, where an allgather takes a message
 * for each host: fewest messages of all forms, so that it wins where the
 * processor's time for a message counts.  A lone segment below the burst that
 * a rate limit lets pass (clouds, shaped links) costs a hop next to nothing.
 * One WAN flow that has been idle starts slowly; k of them start k times as
 * fast: that is what n is for here.  k = all owners: extended van de Geijn.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** The hosts of a site in the order in which the message passes them, by one rank each. */
struct stations {
    std::vector<int> entry;     // stripe j comes in at entry[j]; empty in the root's site
    std::vector<int> chain;     // then whole segments pass along these
    std::vector<int> exit;      // stripe j leaves for other sites from exit[j]; empty if none does
};

/** How many stripes cross between two sites. */
uint32_t stripes(const topology &t, const plan &p)
{
    const int home = static_cast<int>(value(t.site_of(p.root)));
    uint32_t k = std::max(1u, p.links);
    for (int s = 0; s < t.site_count(); ++s) {
        const int hosts = t.node_count(site_at(s)) - (s == home ? 1 : 0);
        if (hosts > 0)      // the root alone in its site sends all stripes itself
            k = std::min(k, static_cast<uint32_t>(hosts));
    }
    return k;
}

stations stations_of(const topology &t, const plan &p, const site_route &route, int s, uint32_t k)
{
    stations at;
    std::vector<int> hosts = site_team(t, site_at(s), -1, p.root, s == route.home).ranks;
    const bool forwards = !route.children(s).empty();
    if (s == route.home) {
        if (forwards && hosts.empty())
            at.exit.assign(k, p.root);
    } else {
        at.entry.assign(hosts.begin(), hosts.begin() + k);
        hosts.erase(hosts.begin(), hosts.begin() + k);
        if (forwards && hosts.size() < k)
            at.exit = at.entry;
    }
    if (forwards && at.exit.empty()) {
        at.exit.assign(hosts.end() - k, hosts.end());
        hosts.resize(hosts.size() - k);
    }
    at.chain = std::move(hosts);
    return at;
}

int index_of(const std::vector<int> &ranks, int rank)
{
    const auto it = std::find(ranks.begin(), ranks.end(), rank);
    return it == ranks.end() ? -1 : static_cast<int>(it - ranks.begin());
}

/** Holders of a stripe each give it to the others. */
void swap_stripes(builder &b, const std::vector<int> &holders, uint32_t j)
{
    const uint32_t k = static_cast<uint32_t>(holders.size());
    for (uint32_t i = 1; i < k; ++i)
        b.send(buffer::out, block(j, k), holders[(j + i) % k], label::allgather);
    for (uint32_t i = 1; i < k; ++i)
        b.recv(buffer::out, block((j + k - i) % k, k), holders[(j + k - i) % k], label::allgather);
}

void build_leader(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int mine = static_cast<int>(value(t.site_of(me)));
    const site_route route{static_cast<int>(value(t.site_of(p.root))), t.site_count(), p.order};
    const uint32_t k = stripes(t, p);
    const stations at = stations_of(t, p, route, mine, k);
    const int entry = index_of(at.entry, me), exit = index_of(at.exit, me), link = index_of(at.chain, me);
    const bool passes = !at.exit.empty() && at.exit != at.entry;    // the chain ends in stripes

    auto scatter = [&] {
        for (uint32_t j = 0; j < k; ++j)
            if (at.exit[j] != me)
                b.send(buffer::out, block(j, k), at.exit[j], label::scatter);
    };
    auto cross = [&](int j) {
        for (int c : route.children(mine)) {
            const stations there = stations_of(t, p, route, c, k);
            b.send(buffer::out, block(static_cast<uint32_t>(j), k), there.entry[static_cast<size_t>(j)], label::cross);
        }
    };

    if (me == p.root) {
        if (!at.chain.empty())
            b.send(buffer::out, whole(), at.chain[0], label::direct);
        else if (passes && exit < 0)
            scatter();
        else if (exit >= 0)     // alone in its site
            for (uint32_t j = 0; j < k; ++j)
                cross(static_cast<int>(j));
        return;
    }
    if (entry >= 0) {
        const uint32_t j = static_cast<uint32_t>(entry);
        const stations before = stations_of(t, p, route, route.parent(mine), k);
        b.recv(buffer::out, block(j, k), before.exit[j], label::cross);
        if (exit >= 0)
            cross(entry);
        if (!at.chain.empty())
            b.send(buffer::out, block(j, k), at.chain[0], label::cross_out);
        else if (passes)
            b.send(buffer::out, block(j, k), at.exit[j], label::scatter);
        swap_stripes(b, at.entry, j);
    } else if (link >= 0) {
        const size_t i = static_cast<size_t>(link);
        if (i > 0)
            b.recv(buffer::out, whole(), at.chain[i - 1], label::direct);
        else if (at.entry.empty())
            b.recv(buffer::out, whole(), p.root, label::direct);
        else
            for (uint32_t j = 0; j < k; ++j)
                b.recv(buffer::out, block(j, k), at.entry[j], label::cross_out);
        if (i + 1 < at.chain.size())
            b.send(buffer::out, whole(), at.chain[i + 1], label::direct);
        else if (passes)
            scatter();
    } else if (exit >= 0) {
        const uint32_t j = static_cast<uint32_t>(exit);
        const int from = !at.chain.empty() ? at.chain.back() : at.entry.empty() ? p.root : at.entry[j];
        b.recv(buffer::out, block(j, k), from, label::scatter);
        cross(exit);
        swap_stripes(b, at.exit, j);
    }
}

void build(const topology &t, const plan &p, builder &b)
{
    const int leader = node_leader(t, b.me(), p.root);
    if (leader == b.me())
        build_leader(t, p, b);
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const site_route route{static_cast<int>(value(t.site_of(p.root))), t.site_count(), p.order};
    const cut c(r.bytes, p.segment_bytes);
    const int64_t k = stripes(t, p);
    const int64_t children = route.most_children();
    const int64_t home = t.node_count(site_at(route.home)) - 1;
    const int64_t lanes = widest_node(t) - 1;
    int64_t hops = std::max<int64_t>(0, home - k) + 2, far = 0;
    for (int s = 0; s < t.site_count(); ++s)
        if (s != route.home) {
            const int64_t one = t.node_count(site_at(s)) - k + 1;
            far = route.order == site_order::chain ? far + one : std::max(far, one);
        }
    hops += far;
    const int64_t bytes = static_cast<int64_t>(r.bytes);
    const int64_t busiest = home > 0 ? std::max(bytes, bytes * (k - 1 + children) / k) : bytes * children;
    const int64_t messages = std::max(2 + lanes, 2 * k + children);
    const int64_t hop = hop_ns(f, c.segment_bytes) + f.message_ns * steps(lanes + 1);
    const int64_t across = flows_ns(r.bytes, f.farthest_ns(site_at(route.home)), k);
    const int64_t wire = std::max(across, shared_wire(f.wire_ns(static_cast<uint64_t>(busiest)), k));
    return route.latency_ns(f) + pipeline(f, wire, c.segments * messages) + hops * hop
           + slow_start_ns(f, r.bytes, route.latency_ns(f), k) / 4;
}

} // namespace

extern const algorithm bcast_chain;
const algorithm bcast_chain = {
    .collective = WAN_BCAST,
    .name = "chain",
    .summary = "segments pass from host to host and cross in n stripes; fewest messages, for long messages",
    .source = "coll/wan; GridMPI's n links (Matsuda et al.)",
    .parameters = uses_links | uses_stripes | uses_segment | uses_order,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &) { return widest_site(t) <= 4096; },
    .cost = cost,
    .build = build,
};

} // namespace wan
