/*
 * Alltoall of short blocks: what the ranks of a site have for a rank elsewhere
 * is bundled by its counterpart, one of n ranks, and crosses in one message.
 *
 *     site 0:  all -> counterpart of j  ==== a message with the blocks of site 0 ===>  j
 *              meanwhile: all -> all inside
 *
 *     T = L + M_far/B + (P_s - 1) messages + M_far/(nB) P_s/ranks
 *
 * P_s - 1 short messages inside the site before the WAN, and a few across,
 * where `direct` has one across for each rank elsewhere.
 *
 * Source: coll/wan; MagPIe's alltoall bundles by sites, too.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/shares.hpp"
#include "algo/turns.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** The targets of a counterpart, site by site: slots that follow each other. */
struct target_range {
    int first, count, before;   // how many of its other targets come before
};

std::vector<target_range> targets_of(const topology &t, int mine, const spread_ranks &us, uint32_t k)
{
    std::vector<target_range> all;
    int before = 0;
    for (int d = 1; d < t.site_count(); ++d) {
        const int s = (mine + d) % t.site_count(), there = t.rank_count(site_at(s));
        const auto bound = [&](uint32_t x) { return static_cast<int>(first_shared(x, static_cast<uint32_t>(there), us.count)); };
        if (const int n = bound(k + 1) - bound(k); n > 0) {
            all.push_back({t.first_slot(site_at(s)) + bound(k), n, before});
            before += n;
        }
    }
    return all;
}

int count_of(const std::vector<target_range> &targets) { return targets.empty() ? 0 : targets.back().before + targets.back().count; }

/** `count` blocks from `slot` on, of the caller's buffer. */
template <typename F> void each_run(bool scattered, int slot, int count, F f)
{
    for (int k = 0; k < count; k += scattered ? 1 : count)
        f(blocks_of(static_cast<uint32_t>(slot + k), static_cast<uint32_t>(slot + (scattered ? k + 1 : count))));
}

constexpr span_of numbers(int from, int count) { return blocks_of(static_cast<uint32_t>(from), static_cast<uint32_t>(from + count)); }

/** To each counterpart one message with the blocks for its targets. */
void hand_over(builder &b, const topology &t, int mine, const spread_ranks &us, int at)
{
    buffer packed{};
    bool packs = false;
    int used = 0;
    for (int d = 1; d < us.ranks; ++d) {
        const int to = us.first + (at + d) % us.ranks, k = us.number(to);
        if (k < 0)
            continue;
        const auto targets = targets_of(t, mine, us, static_cast<uint32_t>(k));
        const int n = count_of(targets);
        if (n == 0)
            continue;
        if (targets.size() == 1 && (!b.scattered() || n == 1)) {
            b.send(buffer::in, numbers(targets[0].first, n), t.rank_of(to), label::share_hand);
            continue;
        }
        if (!packs)
            packed = b.scratch_blocks(0, static_cast<uint32_t>(t.size() - us.ranks));
        packs = true;
        for (const target_range &x : targets)
            each_run(b.scattered(), x.first, x.count, [&](const span_of &part) {
                b.copy_shifted(buffer::in, packed, part, used + x.before - x.first);
            });
        b.send(packed, numbers(used, n), t.rank_of(to), label::share_hand);
        used += n;
    }
}

/** A counterpart sorts what it has by targets, and sends each its bundle. */
void cross(builder &b, const topology &t, int mine, const spread_ranks &us, uint32_t number, int at)
{
    const auto targets = targets_of(t, mine, us, number);
    const int n = count_of(targets);
    if (n == 0)
        return;
    const auto room = static_cast<uint32_t>(n * us.ranks);
    const buffer by_source = b.scratch_blocks(0, room);
    for (int d = 1; d < us.ranks; ++d) {
        const int from = (at + us.ranks - d) % us.ranks;
        b.recv(by_source, numbers(from * n, n), t.rank_of(us.first + from), label::share_hand);
    }
    for (const target_range &x : targets)
        each_run(b.scattered(), x.first, x.count, [&](const span_of &part) {
            b.copy_shifted(buffer::in, by_source, part, at * n + x.before - x.first);
        });
    buffer by_target = by_source;
    if (n > 1) {
        by_target = b.scratch_blocks(0, room);
        for (int source = 0; source < us.ranks; ++source)
            for (int k = 0; k < n; ++k)
                b.copy_shifted(by_source, by_target, numbers(source * n + k, 1), k * us.ranks + source - (source * n + k));
    }
    for (const target_range &x : targets)
        for (int k = 0; k < x.count; ++k)
            b.send(by_target, numbers((x.before + k) * us.ranks, us.ranks), t.rank_of(x.first + k), label::share_across);
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me(), slot = t.slot_of(me), mine = static_cast<int>(value(t.site_of(me))), sites = t.site_count();
    const spread_ranks us(t, site_at(mine), p.links);
    const int at = slot - us.first;

    const buffer bundles = b.scattered() ? b.scratch_blocks(0, static_cast<uint32_t>(t.size())) : buffer::out;
    for (int d = 1; d < sites; ++d) {
        const int s = (mine + sites - d) % sites;
        const spread_ranks them(t, site_at(s), p.links);
        const uint32_t k = sharer_of(static_cast<uint32_t>(at), static_cast<uint32_t>(us.ranks), them.count);     // who bundles for me there
        b.recv(bundles, numbers(them.first, them.ranks), t.rank_of(them.slot(k)), label::share_across);
    }
    hand_over(b, t, mine, us, at);
    if (const int k = us.number(slot); k >= 0)
        cross(b, t, mine, us, static_cast<uint32_t>(k), at);
    for (int d = 1; d < us.ranks; ++d) {
        const int to = us.first + (at + d) % us.ranks, from = us.first + (at + us.ranks - d) % us.ranks;
        b.recv(buffer::out, block_at(from), t.rank_of(from), label::direct);
        b.send(buffer::in, block_at(to), t.rank_of(to), label::direct);
    }
    b.copy(buffer::in, buffer::out, block_at(slot));
    if (b.scattered())
        for (int s = 0; s < t.size(); ++s)
            if (t.site_of(t.rank_of(s)) != site_at(mine))
                b.copy(bundles, buffer::out, block_at(s));
}

/** With one sender a site it sorts all blocks of its site by itself, and a copy is an operation. */
bool serves(const topology &t, const request &r)
{
    constexpr int64_t most_copies = 16'384;
    // Longer ones fill the queue of an uplink (measured: 2 x 16 hosts, 16 KB, four times the bound).
    constexpr uint64_t longest_block = 2048;
    if (t.size() > most_slots || r.bytes > longest_block * static_cast<uint64_t>(t.size()))
        return false;
    if (r.counts_vary)
        return false;
    for (int s = 0; s < t.site_count(); ++s)
        if (int64_t ranks = t.rank_count(site_at(s)); ranks * (t.size() - ranks) > most_copies)
            return false;
    return true;
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const int64_t all = t.size(), lanes = widest_node(t), bytes = static_cast<int64_t>(r.bytes);
    int64_t worst = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t ranks = t.rank_count(site_at(s)), links = std::min<int64_t>(p.links, ranks), elsewhere = all - ranks;
        const int64_t sharing = std::max<int64_t>(1, links * lanes / ranks);    // counterparts on a host
        const int64_t far = wire_part(f, bytes, elsewhere, all);        // of a rank
        const int64_t near = wire_part(f, bytes, lanes * std::max<int64_t>(0, ranks - lanes), all);
        const int64_t handed = std::max(far * lanes * std::max<int64_t>(0, ranks - lanes) / ranks, far * sharing * (ranks - 1) / links);
        const int64_t across = std::max(far * sharing * ranks / links, far * lanes);
        const int64_t targets = (elsewhere + links - 1) / links;
        const int64_t crossed = handed + across + f.farthest_ns(site_at(s)) + consent_ns(f, bytes / all * ranks, f.farthest_ns(site_at(s)));
        // Into bundles of counterparts, by target there, and out of what comes.
        const int64_t far_bytes = bytes / all * elsewhere, sorted = copied_ns(f, far_bytes + far_bytes / links * ranks) + sorted_ns(t, f, far_bytes);
        worst = std::max(worst, std::max(crossed, handed + across + near) + sorted
                                    + ((links < ranks ? ranks : 2 * (ranks - 1)) + targets + t.site_count()) * f.message_ns + hop_ns(f, 0));
    }
    return worst;
}

} // namespace

extern const algorithm alltoall_bundled;
const algorithm alltoall_bundled = {
    .collective = WAN_ALLTOALL,
    .name = "bundled",
    .summary = "what a site has for a rank elsewhere is bundled by one of n ranks and crosses in one message; for short blocks",
    .source = "coll/wan; MagPIe bundles by sites",
    .parameters = uses_links,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = [](const topology &t, const plan &p) { return std::min(p.links, all_senders(t, p)); },
    .serves = serves,
    .cost = cost,
    .build = build,
};

} // namespace wan
