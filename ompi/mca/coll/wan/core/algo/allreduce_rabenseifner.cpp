/*
 * Allreduce: GridMPI's extension of Rabenseifner's algorithm, pipelined.
 *
 *     site 0:  reduce-scatter --- counter-reduce --- allgather
 *                                      ||  n WAN links, both directions
 *     site 1:  reduce-scatter --- counter-reduce --- allgather
 *
 * Inside each site every host ends with the reduction of one block; owners of
 * the same block exchange it with the other sites and combine what they got
 * in the order of sites (all get the same bits); then everyone in a site
 * gathers.  While a segment crosses the WAN, others are being reduced, one
 * after the other:
 *
 *     T = max(2(p-1)/p M/B, L + M/B) + S/B + small
 *
 * where the paper's form (one segment) takes L + M/(nB) + 2M/B.  Where n is
 * less than the p hosts of a site, the n gateways are handed what crosses and
 * hand out the result: their interfaces carry (p-n)/p M/(nB) more each way.
 *
 * `counterpart`, for more than two sites of as many hosts each: the S owners of
 * a block combine a share of it each, and hand each other what comes of that.
 * A host sends 2(S-1)/S of a block across, not S-1 blocks, in two latencies:
 *
 *     T = max(2(pS-1)/(pS) M/B, 2L + M/B) + a segment's bytes/B + small
 *
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

/** How sites combine what each has of a block. */
enum class across_sites : uint8_t {
    each,       // every site has all of the others' and combines them by itself
    shared      // each combines its share, for all
};

/** Share s of the block that `own` has, where each of so many sites combines one. */
span_of share(const team &own, int s, int sites)
{
    const auto n = static_cast<uint32_t>(sites);
    return block(static_cast<uint32_t>(own.me) * n + static_cast<uint32_t>(s), own.blocks * n);
}

/** An owner's block, of which it has this site's `part`, to `out`: with those who own it in the other sites. */
void combine_shares(builder &b, const std::vector<team> &owners, int mine, buffer part)
{
    const int sites = static_cast<int>(owners.size());
    const team &own = owners[static_cast<size_t>(mine)];
    if (static_cast<uint32_t>(own.me) >= own.blocks)
        return;
    const auto counterpart = [&](int s) { return owners[static_cast<size_t>(s)].rank(static_cast<uint32_t>(own.me)); };
    std::vector<buffer> from_site;
    for (int s = 0; s < sites; ++s)
        from_site.push_back(s == mine ? part : b.scratch());
    for (int k = 1; k < sites; ++k) {
        const int to = (mine + k) % sites, from = (mine + sites - k) % sites;
        b.send(part, share(own, to, sites), counterpart(to), label::cross);
        b.recv(from_site[static_cast<size_t>(from)], share(own, mine, sites), counterpart(from), label::cross);
    }
    fold(b, from_site, buffer::out, share(own, mine, sites));
    for (int k = 1; k < sites; ++k) {
        const int to = (mine + k) % sites, from = (mine + sites - k) % sites;
        b.send(buffer::out, share(own, mine, sites), counterpart(to), label::cross_out);
        b.recv(buffer::out, share(own, from, sites), counterpart(from), label::cross_out);
    }
}

/** What the hosts of a site have of blocks goes to all other sites, over gateways; each combines the same, and its hosts gather. */
void combine_each(builder &b, const std::vector<team> &owners, int mine, const plan &p, buffer part)
{
    const int me = b.me(), sites = static_cast<int>(owners.size());
    const gateways gates(p.links, owners);
    const team &own = owners[static_cast<size_t>(mine)];
    const team across = gates.of(own, me);
    if (!gates.direct()) {
        const buffer mine_alone = part;
        part = b.scratch();
        reshare(b, own, across, mine_alone, part, label::cross_in);
    }
    std::vector<buffer> from_site;
    for (int s = 0; s < sites; ++s)
        from_site.push_back(s == mine ? part : b.scratch());
    for (int k = 1; k < sites; ++k) {
        const int to = (mine + k) % sites;
        const int from = (mine + sites - k) % sites;
        const team there = gates.of(owners[static_cast<size_t>(to)], me);
        const team here = gates.of(owners[static_cast<size_t>(from)], me);
        reshare(b, across, there, part, part, label::cross);
        reshare(b, here, across, from_site[static_cast<size_t>(from)], from_site[static_cast<size_t>(from)], label::cross);
    }
    fold_and_gather(b, from_site, owners, gates, own, p.inner);
}

template <across_sites how> void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int leader = node_leader(t, me);
    const int mine = static_cast<int>(value(t.site_of(me)));
    b.copy(buffer::in, buffer::out, whole());
    node_reduce(b, t, leader, buffer::out, p.grouping);
    if (leader == me) {
        std::vector<team> owners;
        for (int s = 0; s < t.site_count(); ++s)
            owners.push_back(block_owners(p, site_team(t, site_at(s), me)));
        const team &own = owners[static_cast<size_t>(mine)];

        const bool exchanging = exchanges(p);
        buffer part = buffer::out;
        if (exchanging)
            part = exchange_reduce(b, own, own, buffer::out);
        else
            reduce_scatter(b, own, buffer::out, p.inner);
        // Segments that were reduced at once would all cross at once, late.  (A ring keeps its order by itself.)
        if (exchanging || p.inner != inner_steps::ring)
            b.turn();

        if constexpr (how == across_sites::shared) {
            combine_shares(b, owners, mine, part);
            allgather(b, own, buffer::out, p.inner);
        } else
            combine_each(b, owners, mine, p, part);
    }
    node_broadcast(b, t, leader, buffer::out);
}

/** Operations of a host of `site`, at most: what each part of build() adds. */
int64_t operations(const topology &t, const request &r, const std::set<int> &sizes, int site)
{
    const int64_t hosts = block_owners(r, t.node_count(site_at(site)));
    int64_t crossing = 0;
    for (int s = 0; s < t.site_count(); ++s)
        crossing += 2 * parts_of(hosts, block_owners(r, t.node_count(site_at(s))));      // sent, received
    // (Halving: at most 4 a step; exchanging, where hosts are few: 3 a host.)
    const int64_t reducing = std::max<int64_t>({6 * steps(hosts), 3 * largest_ring, r.stable ? 3 * most_exchanging : 0});
    return 5 + 3 * t.most_lanes() + reducing + hosts + 3 + crossing + fold_operations(sizes, hosts, t.site_count());
}

/** Sites of unlike sizes cut each other's blocks at all their bounds, and every piece is combined by itself. */
bool serves(const topology &t, const request &r)
{
    if (!blocks_combine(t, r))
        return false;
    const auto sizes = site_sizes(t, r);
    for (int s = 0; s < t.site_count(); ++s)
        if (operations(t, r, sizes, s) > most_operations)
            return false;
    return true;
}

/** As many hosts in every site: each has one counterpart in every other.  (Of two sites, each has half of a block then, in twice the latency.) */
bool serves_counterparts(const topology &t, const request &r)
{
    return t.site_count() > 2 && widest_site(t) == narrowest_site(t) && int64_t{widest_site(t)} * t.site_count() <= UINT16_MAX && serves(t, r);
}

template <across_sites how> int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    constexpr bool shared = how == across_sites::shared;
    const cut c(r.bytes, p.segment_bytes);
    const int64_t widest = widest_site(t), narrowest = narrowest_site(t);
    const int64_t links = shared || p.links >= static_cast<uint64_t>(widest) ? narrowest : std::min<int64_t>(p.links, narrowest);
    const int64_t bytes = static_cast<int64_t>(r.bytes);
    const int64_t remote = t.site_count() - 1, times = shared ? 2 : 1, sharers = shared ? t.site_count() : 1;
    const bool gateways = !shared && p.links < static_cast<uint64_t>(widest);
    const int64_t n = std::min<int64_t>(p.links, widest);      // of the widest site, where gateways hand most in and out
    const int64_t hand = gateways ? wire_part(f, bytes, widest - n, n * widest) : 0;
    const int64_t hands = gateways ? (widest + n - 1) / n : 0;      // hosts of a gateway
    const int64_t across = wire_part(f, bytes, times * remote, sharers * links);
    const int64_t wire = 2 * wire_part(f, bytes, widest - 1, widest) + across + hand;
    const int64_t lanes = widest_node(t) - 1;
    const inner_cost inner = inner_of(f, widest, c.segment_bytes, p.inner);
    const int64_t handed_in = p.inner == inner_steps::halving && !halving_all(t) ? f.wire_ns(r.bytes) : 0;
    const int64_t messages = 2 * inner.messages + 2 * times * remote + 2 * lanes + 2 * hands;
    const int64_t far = times * crossing_ns(f, f.widest_ns(), longest_part(t, r, shared ? UINT32_MAX : p.links, c.segment_bytes) / sharers);
    const int64_t connections = inner.connections + std::min(remote, inner.connections);
    const int64_t last_hops = (2 + 2 * lanes + (gateways ? 2 : 0)) * hop_ns(f, 0);
    // An owner combines its site's shares of a block, and what comes of it from other sites: most where hosts are fewest.
    const int64_t work = combine_ns(f, bytes / narrowest * (narrowest - 1) + bytes / (narrowest * sharers) * remote) + lanes_up_ns(t, f, bytes) + lanes_down_ns(t, f, bytes);
    if (exchanges(p)) {
        const int64_t outward = wire_part(f, bytes, widest - 1, widest) + across + hand;
        const int64_t through = shared_wire(outward, widest - 1 + remote), all = shared_wire(wire, widest - 1 + connections);
        const int64_t sent = 2 * (widest - 1) + 2 * times * remote + 2 * lanes + 2 * hands;
        return std::max(pipeline(f, all, c.segments, sent + inner.messages, work), pipeline(f, through, c.segments, sent, work) + far)
               + 2 * hand / c.segments + inner.last_ns + f.step_ns + last_hops;
    }
    if (p.inner == inner_steps::ring) {
        // Everything that must cross, then the latency, then the last segment's gathering.
        const int64_t outward = wire_part(f, bytes, widest - 1, widest) + across + hand;
        const int64_t passing = level_part(f, bytes, widest - 1, widest);
        const int64_t busy = pipeline(f, std::max(2 * passing, shared_wire(wire, connections)), c.segments, messages, work);
        const int64_t through = pipeline(f, std::max(passing, shared_wire(outward, connections)), c.segments, messages, work) + far;
        // (Half of the steps' waiting hides behind other segments: 256 KB, 2 x 16 hosts: 121 to 138 ms; 64 KB, 3 x 11: 38 to 42.)
        return std::max(busy, through) + 2 * hand / c.segments + inner.last_ns + (widest - 1) * f.step_ns / 2 + last_hops;
    }
    // Reducing and gathering hold each other up on the same connections (1 MB, 2 x 16 hosts: 1.35
    // times the wire's time), and partners whose messages wait for their receivers do so behind
    // each other's bytes (from 128 KB a segment on: twice the time).  What comes from several sites
    // meets what goes round in this one, as long as that does (64 KB, 4 x 8 hosts: 46 to 58 ms, 43 to 50 in a ring;
    // 3 x 11: 47 to 55, 39 to 42; 8 x 2: 77, 1 MB 1032, where what crosses alone takes 51 and 734).
    const bool waits = exchange_waits(f, static_cast<uint64_t>(c.segment_bytes * (widest / 2) / widest));
    const int64_t inside = (waits ? 2 : 1) * wire_part(f, bytes, widest - 1, widest) + handed_in;
    const int64_t met = remote > 1 ? std::min(across, 2 * inside) : 0;
    const int64_t busy = pipeline(f, shared_wire(2 * inside + across + met + hand, 2 * connections), c.segments, messages, work);
    // While the last segment is on its way, gathering the others keeps the interfaces busy, or not.
    const int64_t gather = inside / c.segments;
    const int64_t idle = std::max<int64_t>(0, far - (c.segments - 1) * pipeline(f, shared_wire(gather, 2 * connections), inner.messages));
    // Segments take turns in reducing: the first one's latency hides the others' reducing, or the
    // last one's comes after it.
    const int64_t reduce = gather + inner.steps_ns;
    const int64_t handed = hand / c.segments;
    const int64_t forward = reduce + handed + (across + work) / c.segments + (times * remote + lanes + hands) * f.handling_ns();
    const int64_t first_back = forward + far + c.segments * (gather + handed) + inner.steps_ns;
    const int64_t last_back = c.segments * forward + far + handed + reduce;
    return std::max({busy + idle, first_back, last_back}) + last_hops;
}

} // namespace

extern const algorithm allreduce_rabenseifner;
const algorithm allreduce_rabenseifner = {
    .collective = WAN_ALLREDUCE,
    .name = "rabenseifner",
    .summary = "reduce-scatter in each site, exchange over n links, allgather in each site; pipelined by segments",
    .source = "GridMPI (Matsuda et al.), extended Rabenseifner; pipelining and any number of hosts are ours",
    .parameters = uses_links | uses_segment | uses_inner,
    .automatic = true,
    .long_messages = true,
    .keeps_order = false,
    .senders = gateway_senders,
    .serves = serves,
    .buffers = [](const topology &t, const plan &p) { return exchange_buffers(t, p) + exchanged_buffers(t, p); },
    .cost = cost<across_sites::each>,
    .build = build<across_sites::each>,
    .groupings = computes(association::tree),
};

extern const algorithm allreduce_counterpart;
const algorithm allreduce_counterpart = {
    .collective = WAN_ALLREDUCE,
    .name = "counterpart",
    .summary = "rabenseifner, but the hosts that own a block, one in each site, combine a share of it each; for three sites or more of as many hosts",
    .source = "coll/wan",
    .parameters = uses_segment | uses_inner,
    .automatic = true,
    .long_messages = true,
    .keeps_order = false,
    .senders = [](const topology &t, const plan &) { return static_cast<uint32_t>(widest_site(t)); },
    .serves = serves_counterparts,
    .buffers = [](const topology &t, const plan &p) { return exchange_buffers(t, p) + exchanged_buffers(t, p); },
    .cost = cost<across_sites::shared>,
    .build = build<across_sites::shared>,
    .crosses = crossing::by_share,
    .groupings = computes(association::tree),
};

} // namespace wan
