/*
 * Scan and Exscan in one WAN latency for any placement of ranks: what runs of
 * neighbouring ranks in a site add up to is exchanged between sites, and every
 * site computes what stands before each of its ranks.
 *
 *     site 0:  owners collect blocks, add up runs --- exchange --- prefixes, back to the ranks
 *                                                  ||  n WAN links
 *     site 1:  owners collect blocks, add up runs --- exchange --- prefixes, back to the ranks
 *
 * `runs` (long): a host owns a block, every rank of the site sends it its share
 * and gets back the same block of its result.
 *
 *     T = L + (2 + runs of a site / n) M/B
 *
 * `collect` (short): the first rank of a site owns everything.
 *
 *     T = L + receptions, totals and results of a site
 *
 * A total crosses to sites only where ranks follow it, once.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/runs.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** Who owns blocks, site by site. */
std::vector<team> owners_of(const topology &t, const plan &p, int me)
{
    std::vector<team> all;
    for (int s = 0; s < t.site_count(); ++s)
        all.push_back(p.algo->long_messages ? site_team(t, site_at(s), me) : team({t.rank_at(site_at(s), 0)}, me));
    return all;
}

/** The last run of each site. */
std::vector<size_t> last_runs(const topology &t, const std::vector<run> &runs)
{
    std::vector<size_t> last(static_cast<size_t>(t.site_count()));
    for (size_t k = 0; k < runs.size(); ++k)
        last[static_cast<size_t>(runs[k].site)] = k;
    return last;
}

/** Totals of my site's runs cross; returns those of the others', up to my site's last run. */
std::vector<buffer> exchange(builder &b, const plan &p, const std::vector<team> &owners, int mine, const std::vector<run> &runs,
                             const std::vector<size_t> &last, const std::vector<buffer> &from_rank)
{
    const gateways gates(p.links, owners);
    const team &own = owners[static_cast<size_t>(mine)];
    const team across = gates.of(own, b.me());
    std::vector<buffer> totals(runs.size(), buffer::in);
    for (size_t k = 0; k < runs.size(); ++k) {
        const auto [first, end, site] = runs[k];
        const int label = label::run + static_cast<int>(k);
        if (site != mine) {
            if (k < last[static_cast<size_t>(mine)]) {
                totals[k] = b.scratch();
                reshare(b, gates.of(owners[static_cast<size_t>(site)], b.me()), own, totals[k], totals[k], label);
            }
            continue;
        }
        if (k + 1 == runs.size())       // nobody follows
            continue;
        buffer total = from_rank[static_cast<size_t>(end)];
        if (first < end) {
            total = b.scratch();
            b.copy(from_rank[static_cast<size_t>(end)], total, own.own());
            for (int r = end; r-- > first;)
                b.reduce(from_rank[static_cast<size_t>(r)], total, own.own());
        }
        if (!gates.direct())
            reshare(b, own, across, total, total, label);
        for (size_t s = 0; s < owners.size(); ++s)
            if (static_cast<int>(s) != mine && k < last[s])
                reshare(b, across, owners[s], total, total, label);
    }
    return totals;
}

void build(const topology &t, const plan &p, builder &b)
{
    const bool inclusive = p.algo->collective == WAN_SCAN;
    const int me = b.me(), mine = static_cast<int>(value(t.site_of(me)));
    const auto owners = owners_of(t, p, me);
    const team &own = owners[static_cast<size_t>(mine)];
    const std::vector<buffer> from_rank = collect_blocks(b, t, own, mine);
    if (own.has_me()) {
        const auto runs = runs_of(t);
        const auto last = last_runs(t, runs);
        const auto totals = exchange(b, p, owners, mine, runs, last, from_rank);
        auto deliver = [&](buffer x, int rank) {
            if (rank == me)
                b.copy(x, buffer::out, own.own());
            else
                b.send(x, own.own(), rank, label::gather);
        };
        bool any = false;           // before this rank
        buffer before = buffer::in;
        auto add = [&](buffer x) {
            if (any)
                b.reduce(before, x, own.own());
            before = x;
            any = true;
        };
        for (size_t k = 0; k <= last[static_cast<size_t>(mine)]; ++k) {
            if (runs[k].site != mine) {
                add(totals[k]);
                continue;
            }
            for (int r = runs[k].first; r <= runs[k].last; ++r) {
                if (!inclusive && any)
                    deliver(before, r);
                add(from_rank[static_cast<size_t>(r)]);
                if (inclusive)
                    deliver(before, r);
            }
        }
    }
    for (uint32_t j = 0; j < own.blocks && (inclusive || me > 0); ++j)
        if (own.rank(j) != me)
            b.recv(buffer::out, block(j, own.blocks), own.rank(j), label::gather);
}

int64_t cost_runs(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const int64_t widest = widest_site(t), lanes = widest_node(t), remote = t.site_count() - 1;
    const int64_t ranks = most_ranks(t), links = std::min<int64_t>(p.links, narrowest_site(t));
    const int64_t runs = t.most_runs() * remote;
    const int64_t bytes = static_cast<int64_t>(r.bytes);
    const int64_t wire = std::max(2 * wire_part(f, lanes * bytes, widest - 1, widest) + wire_part(f, bytes, runs, links), f.wire_ns(r.bytes));
    const int64_t messages = 4 * ranks + 2 * runs;
    const int64_t work = combine_ns(f, bytes / widest * 2 * (ranks - 1) + bytes / narrowest_site(t) * runs);    // ranks' shares twice
    return crossing_ns(f, f.widest_ns(), longest_part(t, r, p.links, c.segment_bytes)) + pipeline(f, shared_wire(wire, widest), c.segments, messages, work) + wire_part(f, c.segment_bytes, 1, 1)
           + (3 + lanes) * hop_ns(f, 0);
}

int64_t cost_collect(const topology &t, const facts &f, const request &r, const plan &)
{
    const int64_t ranks = most_ranks(t), runs = t.run_count();
    return crossing_ns(f, f.widest_ns(), static_cast<int64_t>(r.bytes)) + f.lan_ns + incast_ns(f, r.bytes, ranks - 1, 0, 0) + sends_ns(f, r.bytes, runs) + sends_ns(f, r.bytes, ranks - 1)
           + combine_ns(f, static_cast<int64_t>(r.bytes) * (ranks - 1 + runs));
}

bool serves(const topology &t, const request &) { return few_enough(t, 8) && runs_fit(t); }

/**
 * Operations of a host of `site`, at most, where hosts own blocks: totals of its runs go to all
 * owners elsewhere, from one gateway where that makes most of it.
 */
int64_t operations(const topology &t, int site)
{
    const int64_t hosts = t.node_count(site_at(site)), ranks = t.rank_count(site_at(site));
    const int64_t mine = t.run_count(site_at(site));
    int64_t crossing = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t there = t.node_count(site_at(s));
        crossing += mine * there + t.run_count(site_at(s)) * parts_of(hosts, there);    // sent, received
    }
    const int64_t ranks_of_site = 2 * hosts + 4 * ranks;        // collected, combined twice, delivered
    return ranks_of_site + mine * (hosts + 3) + crossing + t.run_count();
}

bool serves_runs(const topology &t, const request &r)
{
    if (!serves(t, r))
        return false;
    for (int s = 0; s < t.site_count(); ++s)
        if (operations(t, s) > most_operations)
            return false;
    return true;
}

constexpr algorithm long_form(wan_collective_t collective)
{
    return {
        .collective = collective,
        .name = "runs",
        .summary = "any placement: runs of neighbouring ranks are added up in their site and exchanged over n links; one WAN latency",
        .source = "coll/wan; GridMPI's n links (Matsuda et al.)",
        .parameters = uses_links | uses_segment,
        .automatic = true,
        .long_messages = true,
        .keeps_order = true,
        .senders = gateway_senders,
        .serves = serves_runs,
        .buffers = run_buffers,
        .cost = cost_runs,
        .build = build,
        .groupings = computes(association::prefix),
    };
}

constexpr algorithm short_form(wan_collective_t collective)
{
    algorithm a = long_form(collective);
    a.name = "collect";
    a.summary = "any placement, short messages: a rank of each site computes everything for it; one WAN latency";
    a.source = "coll/wan";
    a.parameters = uses_nothing;
    a.long_messages = false;
    a.senders = one_sender;
    a.serves = serves;      // one owner a site
    a.cost = cost_collect;
    return a;
}

} // namespace

extern const algorithm scan_runs, exscan_runs, scan_collect, exscan_collect;
const algorithm scan_runs = long_form(WAN_SCAN), exscan_runs = long_form(WAN_EXSCAN);
const algorithm scan_collect = short_form(WAN_SCAN), exscan_collect = short_form(WAN_EXSCAN);

} // namespace wan
