/*
 * Reduce_scatter with an operator that does not commute: a run of neighbouring
 * ranks in one site is combined before it crosses.
 *
 *     site 0:  blocks of site 1, by runs --+-- own blocks --+-- owners combine
 *                                           \ /  n senders     in the order
 *     site 1:  blocks of site 0, by runs --+-X- own blocks --+-- of ranks
 *
 * Some n ranks of a site share the blocks of ranks elsewhere: everyone sends
 * them its contributions, they combine each run in the order of ranks and send
 * it to the block's owner.  Contributions to a block of the own site go
 * straight to its owner, after those.
 *
 *     T = max((P-1)/P M/B, L + (M_remote + runs M_remote/n)/B)
 *
 * Ranks in blocks make one run a site: the bytes of an operator that commutes.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/runs.hpp"
#include "algo/shares.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** Of the 253 a schedule may have: two for each rank of the site, one for each run elsewhere. */
constexpr int most_copies = 250;

/**
 * Operations of a rank of `site`, at most: of one that combines all blocks of others by itself, as
 * it does with one link, and sends each run's part of each of them.
 */
int64_t operations(const topology &t, int site)
{
    const int64_t ranks = t.rank_count(site_at(site)), elsewhere = t.size() - ranks, mine = t.run_count(site_at(site));
    int64_t received = 0;       // my block of every run, and combined
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t there = t.rank_count(site_at(s));
        if (s != site)
            received += t.run_count(site_at(s)) * (parts_of(t.size() - there, there) + 1);
    }
    const int64_t copied = 2 * (elsewhere + ranks);     // where blocks are scattered
    const int64_t handed = 2 * 3 * ranks;               // before and after the own blocks: sent, received, combined
    return copied + handed + mine * (elsewhere + 2) + received + 3 * ranks + 1;     // and the site's own blocks
}

bool serves(const topology &t, const request &)
{
    if (t.size() > 4096)
        return false;
    if (2 * most_ranks(t) + t.run_count() > most_copies || t.most_runs() > label::share_steps)
        return false;
    for (int s = 0; s < t.site_count(); ++s)
        if (operations(t, s) > most_operations)
            return false;
    return true;
}

/** Contributions of my site to others' blocks: each run combined, and sent to the owner. */
void combine_for_others(builder &b, const topology &t, const plan &p, const std::vector<run> &runs, pace &turns)
{
    const int slot = t.slot_of(b.me()), site = static_cast<int>(value(t.site_of(b.me())));
    const spread_ranks us(t, site_at(site), p.links);
    const shares remote = shares::remote(t, site_at(site), 1, us.count);
    const int mine = us.number(slot);
    const auto parts = mine < 0 ? std::vector<span_of>{} : remote.part(static_cast<uint32_t>(mine), 0);
    const operand in{buffer::in, b.scattered()};
    staging send_from(b, in, remote);
    std::vector<buffer> from_rank;
    if (mine >= 0) {
        from_rank.assign(static_cast<size_t>(t.size()), buffer::out);
        for (int k = 0; k < us.ranks; ++k)
            from_rank[static_cast<size_t>(t.rank_of(us.first + k))] =
                remote.scratch_for(b, static_cast<uint32_t>(mine), static_cast<uint32_t>(mine) + 1);
        for (const span_of &part : parts)
            copy_from(b, in, from_rank[static_cast<size_t>(b.me())], part);
    }
    for (int d = 1; d < us.ranks; ++d) {
        const int to = us.first + (slot - us.first + d) % us.ranks, from = t.rank_of(us.first + (slot - us.first + us.ranks - d) % us.ranks);
        int label = label::share_hand, received = builder::none;
        if (const int k = us.number(to); k >= 0)
            for (const span_of &part : remote.part(static_cast<uint32_t>(k), 0))
                send_from.send(part, t.rank_of(to), label++, turns.before());
        label = label::share_hand;
        for (const span_of &part : parts)
            received = b.recv(from_rank[static_cast<size_t>(from)], part, from, label++);
        turns.turn(received);
    }
    int label = label::share_remote;
    for (const run &r : runs) {
        if (r.site != site || mine < 0)
            continue;
        for (const span_of &part : parts) {
            const buffer sum = fold_run(b, r, from_rank, part);
            each_block(part, [&](const span_of &one, uint32_t j) { b.send(sum, one, t.rank_of(static_cast<int>(j)), label); });
        }
        ++label;
    }
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me(), slot = t.slot_of(me), site = static_cast<int>(value(t.site_of(me)));
    const span_of own = block_at(slot);
    const auto runs = runs_of(t);
    pace turns(2);
    combine_for_others(b, t, p, runs, turns);

    std::vector<buffer> x;      // of each run
    std::vector<buffer> from_rank(static_cast<size_t>(t.size()), buffer::out);
    std::vector<int> number(static_cast<size_t>(t.site_count()));
    for (const run &r : runs) {
        if (r.site == site) {
            for (int k = r.first; k <= r.last; ++k)
                from_rank[static_cast<size_t>(k)] = b.scratch_blocks(static_cast<uint32_t>(slot), 1);
            x.push_back(from_rank[static_cast<size_t>(r.last)]);
            continue;
        }
        x.push_back(b.scratch_blocks(static_cast<uint32_t>(slot), 1));
        const spread_ranks them(t, site_at(r.site), p.links);
        const shares theirs = shares::remote(t, site_at(r.site), 1, them.count);
        const auto [lo, hi] = theirs.touching(static_cast<uint32_t>(slot));
        const int label = label::share_remote + number[static_cast<size_t>(r.site)]++;
        for (uint32_t u = lo; u < hi; ++u)
            for (const span_of &part : theirs.part(u, 0))
                b.recv(x.back(), common(part, own), t.rank_of(them.slot(u)), label);
    }
    const int first = t.first_slot(site_at(site)), near = t.rank_count(site_at(site));
    b.copy(buffer::in, from_rank[static_cast<size_t>(me)], own);
    for (int d = 1; d < near; ++d) {
        const int to = first + (slot - first + d) % near, from = t.rank_of(first + (slot - first + near - d) % near);
        b.after(turns.before());
        b.send(buffer::in, block_at(to), t.rank_of(to), label::direct);
        turns.turn(b.recv(from_rank[static_cast<size_t>(from)], own, from, label::direct));
    }
    for (const run &r : runs)
        if (r.site == site)
            fold_run(b, r, from_rank, own);
    fold(b, x, buffer::out, own);
}

/** In whole vectors, rounded up: everyone's share in the hands of one that combines, or what is packed for it. */
uint32_t buffers(const topology &t, const plan &p)
{
    int64_t most = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t ranks = t.rank_count(site_at(s)), links = std::clamp<int64_t>(p.links, 1, ranks), room = remote_room(t, site_at(s));
        const int64_t across = room > t.size() - ranks ? ranks : 0;
        most = std::max(most, ranks * std::min(room, (t.size() - ranks) / links + 2 + across) + room + ranks + t.run_count());
    }
    return static_cast<uint32_t>((most + t.size() - 1) / t.size());
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const int64_t all = t.size(), lanes = widest_node(t), bytes = static_cast<int64_t>(r.bytes), runs = t.most_runs();
    int64_t worst = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t ranks = t.rank_count(site_at(s)), elsewhere = all - ranks, links = std::min<int64_t>(p.links, ranks);
        const int64_t far = wire_part(f, bytes, elsewhere, all);    // a rank's contributions to blocks elsewhere
        const int64_t sharing = std::max<int64_t>(1, links * lanes / ranks);    // who combine, on a host
        // To those who combine, who take in everyone's share, and what they send on.
        const int64_t collected = std::max(far * lanes * std::max<int64_t>(1, links - 1) / links, far * sharing * (ranks - 1) / links);
        const int64_t across = far * runs * sharing / links;
        const int64_t near = lanes * wire_part(f, bytes, ranks - 1, all);
        const int64_t sent = runs * ((elsewhere + links - 1) / links + 1);
        const int64_t consent = consent_ns(f, bytes / all, f.farthest_ns(site_at(s)));
        const int64_t crossed = pipeline(f, shared_wire(collected, 1), 2 * lanes * ranks) + across + sent * f.message_ns + f.farthest_ns(site_at(s)) + consent;
        const int64_t busy = pipeline(f, shared_wire(collected + across + near, 1), lanes * (4 * ranks + 2 * sent));
        // Who combine do so with everyone's share, owners with what their site and the runs of others have.
        const int64_t work = combine_ns(f, bytes / all * elsewhere / links * (ranks - 1)), own_work = combine_ns(f, bytes / all * (ranks - 1 + t.run_count()));
        worst = std::max(worst, std::max(crossed, busy) + work + own_work + runs * t.site_count() * f.message_ns + hop_ns(f, 0));
    }
    return worst;
}

} // namespace

extern const algorithm reduce_scatter_runs;
const algorithm reduce_scatter_runs = {
    .collective = WAN_REDUCE_SCATTER,
    .name = "runs",
    .summary = "runs of neighbouring ranks are combined in their site and sent to the owners by n ranks; for operators that do not commute",
    .source = "coll/wan; GridMPI's n links (Matsuda et al.)",
    .parameters = uses_links,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .only_ordered = true,
    .senders = [](const topology &t, const plan &p) { return std::min(p.links, all_senders(t, p)); },
    .serves = serves,
    .buffers = buffers,
    .cost = cost,
    .build = build,
    .any_counts = true,
    .crosses = crossing::by_run,
    .groupings = computes(association::runs),
};

} // namespace wan
