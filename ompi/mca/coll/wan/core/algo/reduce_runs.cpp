/*
 * Reduce with an operator that does not commute, for any placement of ranks: a
 * run of neighbouring ranks in one site is combined before it crosses, and
 * only what lies between the runs of other sites stays apart.
 *
 *     other sites:        owners collect blocks, combine runs ---\
 *                                                                 ||  n WAN links
 *     site of the root:   owners collect blocks, combine runs --- combine all --- root
 *
 * A host owns a block: every rank of the site sends it its share, it combines
 * each run in the order of ranks.  Owners in the root's site (without the root,
 * whose interface takes the result) combine the runs of all sites.
 *
 *     T = L + (2 + runs of a site / n) M/B
 *
 * Ranks in blocks make one run a site: the bytes of an operator that commutes.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/runs.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** Who owns blocks of a site: its hosts; not the root's where there is another. */
team owners_of(const topology &t, int site, int root, int me)
{
    const bool home = site_at(site) == t.site_of(root);
    return site_team(t, site_at(site), me, root, home && t.node_count(site_at(site)) > 1);
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int mine = static_cast<int>(value(t.site_of(me))), home = static_cast<int>(value(t.site_of(p.root)));
    std::vector<team> owners, remote;
    for (int s = 0; s < t.site_count(); ++s) {
        owners.push_back(owners_of(t, s, p.root, me));
        if (s != home)
            remote.push_back(owners.back());
    }
    const team &own = owners[static_cast<size_t>(mine)], &at_home = owners[static_cast<size_t>(home)];
    const std::vector<buffer> from_rank = collect_blocks(b, t, own, mine);
    const gateways gates(p.links, remote);
    const auto runs = runs_of(t);
    std::vector<buffer> partial;            // of each run, in the order of ranks
    for (size_t k = 0; k < runs.size() && own.has_me(); ++k) {
        const int label = label::run + static_cast<int>(k);
        if (runs[k].site == mine) {
            partial.push_back(fold_run(b, runs[k], from_rank, own.own()));
        } else if (mine == home) {
            partial.push_back(b.scratch());
            reshare(b, gates.of(owners[static_cast<size_t>(runs[k].site)], me), own, partial[k], partial[k], label);
        } else {
            partial.push_back(buffer::in);      // not for me
        }
        if (runs[k].site != mine || mine == home)
            continue;
        const team across = gates.of(own, me);
        if (!gates.direct())
            reshare(b, own, across, partial[k], partial[k], label);
        reshare(b, across, at_home, partial[k], partial[k], label);
    }
    if (mine != home)
        return;
    if (own.has_me())
        fold(b, partial, me == p.root ? buffer::out : partial.back(), own.own());
    gather_blocks(b, own, me == p.root ? buffer::out : own.has_me() ? partial.back() : buffer::in, p.root);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const int64_t widest = widest_site(t), lanes = widest_node(t), remote = t.site_count() - 1;
    const int64_t ranks = most_ranks(t), links = std::min<int64_t>(p.links, narrowest_site(t));
    const int64_t runs = t.most_runs() * remote;
    const int64_t bytes = static_cast<int64_t>(r.bytes), home = std::max(1, t.node_count(t.site_of(p.root)) - 1);
    const int64_t wire = wire_part(f, lanes * bytes, widest - 1, widest) + std::max(wire_part(f, bytes, runs, links), wire_part(f, bytes, runs, home))
                         + wire_part(f, bytes, 1, 1);
    const int64_t messages = 2 * ranks + 2 * runs + home;
    const int64_t work = combine_ns(f, bytes / widest * (ranks - 1) + bytes / home * runs);     // of an owner in the root's site
    return crossing_ns(f, f.farthest_ns(t.site_of(p.root)), longest_part(t, r, p.links, c.segment_bytes)) + pipeline(f, shared_wire(wire, widest), c.segments, messages, work)
           + wire_part(f, c.segment_bytes, 1, 1) + (3 + lanes) * hop_ns(f, 0);
}

} // namespace

extern const algorithm reduce_runs;
const algorithm reduce_runs = {
    .collective = WAN_REDUCE,
    .name = "runs",
    .summary = "runs of neighbouring ranks are combined in their site and cross over n links; for operators that do not commute",
    .source = "coll/wan; GridMPI's n links (Matsuda et al.)",
    .parameters = uses_links | uses_segment,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .only_ordered = true,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &) { return few_enough(t, 8) && runs_fit(t); },
    .buffers = run_buffers,
    .cost = cost,
    .build = build,
    .crosses = crossing::by_run,
    .groupings = computes(association::runs),
};

} // namespace wan
