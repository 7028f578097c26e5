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
 * and, where n is less than the p hosts of a site, (p-n)/p (runs of the site)
 * M/(nB) more: gateways are handed the runs, and hand out the result meanwhile.
 * Ranks in blocks make one run a site: the bytes of an operator that commutes.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/runs.hpp"
#include "algo/sites.hpp"
#include "model/cost.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Labels for the runs of a site: crossing, and to the gateways, which are never the same pair of hosts. */
constexpr int run_label = label::reduce_scatter, most_labels = label::allgather - label::reduce_scatter;

/**
 * Operations of a host of `site`, at most, where sites have these `sizes`: what each function
 * below adds, with one gateway where that makes most of it (hand-in and hand-out) and with all
 * hosts where that does.
 */
int64_t operations(const topology &t, const std::set<int> &sizes, int site)
{
    const int64_t hosts = t.node_count(site_at(site)), ranks = t.rank_count(site_at(site));
    const int64_t mine = t.run_count(site_at(site));
    int64_t crossing = 0;
    for (int s = 0; s < t.site_count(); ++s)
        if (s != site)
            crossing += (mine + t.run_count(site_at(s))) * parts_of(hosts, t.node_count(site_at(s)));
    const int64_t collecting = hosts + ranks + ranks;               // sent, received, combined
    const int64_t handing = mine * (hosts + 3);                     // in
    return collecting + handing + crossing + fold_operations(sizes, hosts, t.run_count()) + t.most_lanes();
}

bool serves(const topology &t, const request &)
{
    if (t.site_count() > most_buffers)
        return false;
    const int ranks = most_ranks(t);
    if (ranks > most_buffers)
        return false;
    if (t.most_runs() > most_labels || ranks + t.run_count() > most_buffers)
        return false;
    const auto sizes = site_sizes(t, {});
    for (int s = 0; s < t.site_count(); ++s)
        if (operations(t, sizes, s) > UINT16_MAX)
            return false;
    return true;
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
    const std::vector<buffer> from_rank = collect_blocks(b, t, own, mine);
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
                partial.push_back(across.has_me() ? b.scratch() : buffer::out);     // others never see it
                continue;
            }
            partial.push_back(fold_run(b, runs[k], from_rank, own.own()));
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
    const int64_t links = std::min<int64_t>(p.links, narrowest_site(t)), ranks = most_ranks(t);
    const int64_t mine = t.most_runs(), runs = mine * remote;
    const int64_t bytes = static_cast<int64_t>(r.bytes);
    const inner_cost inner = inner_of(f, widest, c.segment_bytes, p.inner);
    // Through a gateway's interface, from and to the hosts of its site: runs come in, the result goes out.
    const bool gateways = p.links < static_cast<uint64_t>(widest);
    const int64_t n = std::min<int64_t>(p.links, widest);      // of the widest site, where gateways hand most in and out
    const int64_t hand = gateways ? wire_part(f, bytes, widest - n, n * widest) : 0;
    const int64_t hands = gateways ? (mine + 1) * ((widest + n - 1) / n) : 0;
    const int64_t gathered = std::max(wire_part(f, bytes, widest - 1, widest), p.inner == inner_steps::ring ? level_part(f, bytes, widest - 1, widest) : 0);
    const int64_t wire = wire_part(f, lanes * bytes, widest - 1, widest) + wire_part(f, bytes, runs, links) + gathered + mine * hand;
    const int64_t messages = 2 * ranks + inner.messages + 2 * runs + 2 * lanes + hands;
    const int64_t work = combine_ns(f, bytes / widest * (ranks - 1) + bytes / narrowest_site(t) * runs) + lanes_down_ns(t, f, bytes);
    const int64_t last = inner.last_ns + wire_part(f, c.segment_bytes, 1, 1) + (3 + lanes + (gateways ? 2 : 0)) * hop_ns(f, 0)
                         + (mine + 1) * hand / c.segments;
    return crossing_ns(f, f.widest_ns(), longest_part(t, r, p.links, c.segment_bytes)) + pipeline(f, shared_wire(wire, widest), c.segments, messages, work) + last;
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
    .only_ordered = true,
    .senders = gateway_senders,
    .serves = serves,
    .buffers = run_buffers,
    .cost = cost,
    .build = build,
    .crosses = crossing::by_run,
    .groupings = computes(association::runs),
};

} // namespace wan
