/*
 * Allreduce with an operator that does not commute, for any placement of
 * ranks: a run of neighbouring ranks in one site is combined before it
 * crosses, and only what lies between the runs of other sites stays apart.
 *
 *     site 0:  owners collect blocks, combine runs --- exchange runs --- combine all, allgather
 *                                                    ||  n WAN links, both directions
 *     site 1:  owners collect blocks, combine runs --- exchange runs --- combine all, allgather
 *
 * A host owns a block: every rank of the site sends it its share, it combines
 * each run in the order of ranks, swaps the partial results with the owners in
 * the other sites, and combines those in the order of ranks, too.
 *
 *     T = L + (2 + runs of a site / n) M/B        n hosts of a site send across
 *
 * Ranks in blocks make one run a site: the bytes of an operator that commutes.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/runs.hpp"
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** Labels for the runs of a site: crossing, and to the gateways, which are never the same pair of hosts. */
constexpr int run_label = label::reduce_scatter, most_labels = label::allgather - label::reduce_scatter;
/** Of the 253 a schedule may have; memory is a window of segments for each. */
constexpr int most_buffers = 240;

bool serves(const topology &t, const request &r)
{
    if (r.commutative || !few_enough(t, 8) || t.site_count() > most_buffers)
        return false;
    int ranks = 0;
    for (int s = 0; s < t.site_count(); ++s)
        ranks = std::max(ranks, t.rank_count(site_at(s)));
    if (ranks > most_buffers)
        return false;
    const auto runs = runs_of(t);
    return most_runs(t, runs) <= most_labels && ranks + static_cast<int>(runs.size()) <= most_buffers;
}

/** Everyone's share of each block goes to the block's owner: a buffer for each rank of my site, if I am one. */
std::vector<buffer> collect(builder &b, const topology &t, const team &own, int mine)
{
    for (uint32_t k = 0; k < own.blocks; ++k) {
        const uint32_t j = (static_cast<uint32_t>(b.me()) + k) % own.blocks;     // not all to the first at first
        if (own.rank(j) != b.me())
            b.send(buffer::in, block(j, own.blocks), own.rank(j), label::direct);
    }
    std::vector<buffer> from_rank;
    if (!own.has_me())
        return from_rank;
    from_rank.assign(static_cast<size_t>(t.size()), buffer::out);
    for (int node = 0; node < t.node_count(site_at(mine)); ++node)
        for (int lane = 0; lane < t.lane_count(site_at(mine), node); ++lane) {
            const int r = t.rank_at(site_at(mine), node, lane);
            from_rank[static_cast<size_t>(r)] = b.scratch();
            if (r == b.me())
                b.copy(buffer::in, from_rank[static_cast<size_t>(r)], own.own());
            else
                b.recv(from_rank[static_cast<size_t>(r)], own.own(), r, label::direct);
        }
    return from_rank;
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int leader = node_leader(t, me);
    const int mine = static_cast<int>(value(t.site_of(me)));
    std::vector<team> owners;
    for (int s = 0; s < t.site_count(); ++s)
        owners.push_back(site_team(t, site_at(s), me));
    const team &own = owners[static_cast<size_t>(mine)];
    const std::vector<buffer> from_rank = collect(b, t, own, mine);
    if (leader == me) {
        const gateways gates(p.links, owners);
        const team across = gates.of(own, me);

        const auto runs = runs_of(t);
        std::vector<buffer> partial;            // of each run, in the order of ranks
        std::vector<int> number(runs.size());   // among the runs of its site
        std::vector<int> seen(static_cast<size_t>(t.site_count()));
        for (size_t k = 0; k < runs.size(); ++k) {
            number[k] = seen[static_cast<size_t>(runs[k].site)]++;
            if (runs[k].site != mine) {
                partial.push_back(b.scratch());
                continue;
            }
            const std::vector<buffer> x(from_rank.begin() + runs[k].first, from_rank.begin() + runs[k].last + 1);
            fold(b, x, x.back(), own.own());
            partial.push_back(x.back());
            if (!gates.direct())
                reshare(b, own, across, partial[k], partial[k], run_label + number[k]);
        }
        for (int d = 1; d < t.site_count(); ++d) {
            const int to = (mine + d) % t.site_count();
            const int from = (mine + t.site_count() - d) % t.site_count();
            const team there = gates.of(owners[static_cast<size_t>(to)], me);
            const team here = gates.of(owners[static_cast<size_t>(from)], me);
            for (size_t k = 0; k < runs.size(); ++k)
                if (runs[k].site == mine)
                    reshare(b, across, there, partial[k], partial[k], run_label + number[k]);
                else if (runs[k].site == from)
                    reshare(b, here, across, partial[k], partial[k], run_label + number[k]);
        }
        fold_and_gather(b, partial, owners, gates, own, p.inner);
    }
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const int64_t widest = widest_site(t), lanes = widest_node(t), remote = t.site_count() - 1;
    int64_t narrowest = widest, ranks = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        narrowest = std::min<int64_t>(narrowest, t.node_count(site_at(s)));
        ranks = std::max<int64_t>(ranks, t.rank_count(site_at(s)));
    }
    const int64_t links = std::min<int64_t>(p.links, narrowest);
    const int64_t runs = most_runs(t, runs_of(t)) * remote;
    const int64_t bytes = static_cast<int64_t>(r.bytes);
    const inner_cost inner = inner_of(f, widest, c.segment_bytes, p.inner);
    const int64_t wire = wire_part(f, lanes * bytes, widest - 1, widest) + wire_part(f, bytes, runs, links)
                         + wire_part(f, bytes, widest - 1, widest);
    const int64_t messages = 2 * ranks + inner.messages + 2 * runs + 2 * lanes;
    const int64_t last = inner.last_ns + wire_part(f, c.segment_bytes, 1, 1) + (3 + lanes) * hop_ns(f, 0);
    return f.widest_ns() + pipeline(f, shared_wire(wire, widest), c.segments * messages) + last;
}

} // namespace

extern const algorithm allreduce_runs;
const algorithm allreduce_runs = {
    .collective = WAN_ALLREDUCE,
    .name = "runs",
    .summary = "runs of neighbouring ranks are combined in their site and exchanged over n links; for operators that do not commute",
    .source = "coll/wan; GridMPI's n links (Matsuda et al.)",
    .parameters = uses_links | uses_segment | uses_inner,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .senders = gateway_senders,
    .serves = serves,
    .cost = cost,
    .build = build,
};

} // namespace wan
