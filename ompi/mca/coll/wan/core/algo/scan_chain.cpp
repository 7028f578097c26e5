/*
 * Scan and Exscan of long messages for ranks in blocks: segments pass from
 * rank to rank, each of which adds its own, and cross in n stripes.
 *
 *     a1 -> a2 -> ... -> am
 *                      / | \     stripes
 *                    x1 -- xk
 *     =========================  WAN
 *                    e1 -- ek
 *                      \ | /
 *                        b1 -> b2 -> ... -> bm
 *
 * Every interface takes the message in once and gives it out once, from the
 * first segment to the last:
 *
 *     T = L + M/B + p hops                          two sites, or sites in a chain
 *
 * where a host's ranks follow each other; else a hop is from rank to rank, and
 * every byte passes a host's interface as often as the chain comes by.
 *
 * In a chain of C sites the latencies add up.  In a star a site in the middle
 * adds its ranks up at once and sends the total to all later sites; what
 * stands before the site passes its ranks when it comes:
 *
 *     T = L + 2M/B + 2 hops for each rank of a site
 *
 * With one stripe the last rank of a site sends to the first of the next one.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/runs.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

class sites_in_line {
public:
    sites_in_line(const topology &t, const plan &p, int me)
        : t_(t), me_(me), k_(std::min(p.links, static_cast<uint32_t>(narrowest_site(t)))),
          star_(p.order == site_order::star && t.site_count() > 2)
    {
    }
    int first(int s) const { return t_.rank_at(site_at(s), 0); }
    int last(int s) const { return first(s) + t_.rank_count(site_at(s)) - 1; }

    /** The sites whose totals make up what stands before s. */
    int earliest(int s) const { return star_ ? 0 : std::max(0, s - 1); }
    bool sends(int from, int to) const { return from < to && from >= earliest(to); }
    /** Whether its total must not wait for what stands before it. */
    bool twice(int s) const { return star_ && s > 0 && s + 1 < t_.site_count(); }

    /** Who holds stripes on the way out (the last rank first) and on the way in (the first rank first). */
    team exits(int s) const
    {
        const team g = site_team(t_, site_at(s), me_, last(s));
        return some(g, static_cast<uint32_t>(g.index_of(last(s))), g.size() - 1);
    }
    team entries(int s) const { return some(site_team(t_, site_at(s), me_), 0, 1); }
    team alone(int rank) const { return team({rank}, me_); }

private:
    team some(const team &g, uint32_t begin, uint32_t stride) const
    {
        std::vector<int> ranks;
        for (uint32_t i = 0; i < k_; ++i)
            ranks.push_back(g.rank((begin + i * stride) % g.size()));
        return team(std::move(ranks), me_);
    }

    const topology &t_;
    int me_;
    uint32_t k_;
    bool star_;
};

/** What stands before my site comes in and ends in `base` of its first rank. */
void receive_base(builder &b, const sites_in_line &line, int mine, buffer base)
{
    const team in = line.entries(mine);
    std::vector<buffer> totals;
    for (int s = line.earliest(mine); s < mine; ++s) {
        totals.push_back(in.has_me() ? b.scratch() : base);
        if (in.has_me())
            reshare(b, line.exits(s), in, totals.back(), totals.back(), label::cross);
    }
    if (in.has_me())
        fold(b, totals, totals.back(), in.own());
    reshare(b, in, line.alone(line.first(mine)), totals.back(), base, label::cross_out);
}

/** The total leaves. */
void send_total(builder &b, const sites_in_line &line, int sites, int mine, buffer total)
{
    const team out = line.exits(mine);
    const bool last = b.me() == line.last(mine);
    if (mine + 1 == sites || (!last && !out.has_me()))
        return;
    const buffer part = out.size() == 1 ? total : b.scratch();
    reshare(b, line.alone(line.last(mine)), out, total, part, label::cross_in);
    for (int s = mine + 1; s < sites; ++s)
        if (line.sends(mine, s))
            reshare(b, out, line.entries(s), part, part, label::cross);
}

void build(const topology &t, const plan &p, builder &b)
{
    const bool inclusive = p.algo->collective == WAN_SCAN;
    const int me = b.me(), mine = static_cast<int>(value(t.site_of(me)));
    const sites_in_line line(t, p, me);
    const bool first = me == line.first(mine), last = me == line.last(mine), twice = line.twice(mine);
    const bool base_first = mine > 0 && !twice;     // what stands before the site is the chain's beginning

    // What stands before me, as far as it comes along the chain; then what stands before the next one.
    const bool any = !first || base_first;
    buffer before = buffer::out, with_me = buffer::in;
    if (inclusive) {
        before = b.scratch();
        b.copy(buffer::in, buffer::out, whole());
        with_me = buffer::out;
    } else if (any && (!last || mine + 1 < t.site_count())) {
        with_me = b.scratch();
        b.copy(buffer::in, with_me, whole());
    }
    if (base_first)
        receive_base(b, line, mine, before);
    if (!first)
        b.recv(before, whole(), me - 1, label::direct);
    if (any && with_me != buffer::in)
        b.reduce(before, with_me, whole());
    if (!last)
        b.send(with_me, whole(), me + 1, label::direct);
    send_total(b, line, t.site_count(), mine, with_me);

    if (!twice)
        return;
    const buffer base = b.scratch();
    receive_base(b, line, mine, base);
    if (!first)
        b.recv(base, whole(), me - 1, label::tree_down);
    if (!last)
        b.send(base, whole(), me + 1, label::tree_down);
    if (inclusive || any)
        b.reduce(base, buffer::out, whole());
    else
        b.copy(base, buffer::out, whole());
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const cut c(r.bytes, p.segment_bytes);
    const int sites = t.site_count();
    const bool star = p.order == site_order::star && sites > 2;
    const int64_t k = std::min<int64_t>(p.links, narrowest_site(t));
    // Hops between hosts, each of which has the message pass it as often as the chain comes by.
    const int64_t passes = t.most_stays();
    const int64_t one = combine_ns(f, c.segment_bytes);
    const auto hops_ns = [&](int s, int64_t hops) {     // ranks follow each other, and may go by other racks than hosts do
        return hops * (hop_ns(f, c.segment_bytes, t.in_slot_order() ? f.next_host_ns(site_at(s)) : f.lan_ns) + one);
    };
    int64_t far = f.widest_ns(), hosts = 0, most = 0, own = 0, ranks = 2 * most_ranks(t), ends = 0;
    for (int s = 0; s < sites; ++s) {
        most = std::max<int64_t>(most, t.stay_count(site_at(s)));
        own = std::max(own, hops_ns(s, t.stay_count(site_at(s))));
        ends = std::max(ends, hops_ns(s, 2));
    }
    hosts = 2 * most;
    int64_t fill = 2 * own;
    if (!star) {
        far = hosts = fill = 0;
        ranks = t.size();
        for (int s = 0; s < sites; ++s) {
            hosts += t.stay_count(site_at(s));
            fill += hops_ns(s, t.stay_count(site_at(s)));
            far += s > 0 ? f.latency_ns(site_at(s - 1), site_at(s)) : 0;
        }
    }
    const int64_t bytes = static_cast<int64_t>(r.bytes), crossing = star ? sites - 1 : 1;
    // A host at an end of stripes takes them in beside the chain, or alone instead of it.
    const int64_t through = (star ? 2 : 1) * passes * bytes + (k > 1 || star ? bytes * crossing / k : 0);
    const int64_t messages = (star ? 4 : 2) * passes + (k > 1 ? 2 * k + crossing : crossing - 1);
    const int64_t turns = k > 1 ? c.segments * own / p.window : 0;      // as in reduce_chain.cpp
    const int64_t wire = std::max({flows_ns(r.bytes, f.widest_ns(), k), turns, level_part(f, bytes, star ? 2 : 1), shared_wire(f.wire_ns(static_cast<uint64_t>(through)) + headers_ns(f, c.segments * messages / 2), k - 1)});
    return crossing_ns(f, far, c.segment_bytes / k) + pipeline(f, wire, c.segments, messages, combine_ns(f, through)) + fill + (k > 1 ? ends : 0)
           + (ranks - std::min(ranks, hosts)) * (f.message_ns + one + copied_ns(f, c.segment_bytes));
}

bool serves(const topology &t, const request &)
{
    return t.site_count() <= 150 && few_enough(t, 4) && sites_are_runs(t);
}

constexpr algorithm descriptor(wan_collective_t collective)
{
    return {
        .collective = collective,
        .name = "chain",
        .summary = "segments pass from rank to rank in blocks and cross in n stripes; fewest bytes, for long messages",
        .source = "coll/wan; GridMPI's n links (Matsuda et al.)",
        .parameters = uses_links | uses_stripes | uses_segment | uses_order,
        .automatic = true,
        .long_messages = true,
        .keeps_order = true,
        .senders = gateway_senders,
        .serves = serves,
        .buffers = site_buffers,
        .cost = cost,
        .build = build,
        .groupings = computes(association::line),
    };
}

} // namespace

extern const algorithm scan_chain, exscan_chain;
const algorithm scan_chain = descriptor(WAN_SCAN), exscan_chain = descriptor(WAN_EXSCAN);

} // namespace wan
