/*
 * Gather straight to the root, whose interface is the limit: every byte passes
 * it once, and what the own site has arrives while the WAN is crossed.
 *
 *     site 0:   a1  a2  a3 ...          site 1:   b1  b2 | b3  b4 | ...
 *                \  |  /  granted:               \   \     n at a time: who is
 *                 root   `entries` at a time      \===\==> done tells the n-th
 *                                                          after it
 *
 *     T = max(L + M_far/B, M/B)
 *
 * At most n processes of a site have payload for the root under way: the others
 * wait for a token (GridMPI's limit).  In its own site the root itself tells
 * the next to begin when a block has come, so that what hosts send at once fits
 * in the switch's queue; across the WAN that would cost a round trip.  Tokens
 * pass between ranks of a host first: memory is nearer than the network.
 * Source: Matsuda et al., Efficient Collective Algorithms for Grid
 * Environment, section 3 (Gather); turns are coll/wan's.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/turns.hpp"

namespace wan {

namespace {

/** What the root does for its own site: everyone's block, `entries` of them at once. */
void receive_own_site(builder &b, const std::vector<int> &others, const topology &t, uint32_t at_once)
{
    std::vector<int> came;
    for (int r : others)
        came.push_back(b.recv(buffer::out, block_at(t.slot_of(r)), r, label::direct));
    for (size_t k = at_once; k < others.size(); ++k) {
        b.after(came[k - at_once]);
        b.signal(others[k], label::grant);
    }
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const site_id home = t.site_of(p.root);
    if (me == p.root) {
        b.reserve(static_cast<size_t>(t.size()) + 2);
        b.copy(buffer::in, buffer::out, block_at(t.slot_of(me)));
        for (int s = 0; s < t.site_count(); ++s)
            if (site_at(s) != home)
                for (int r : ranks_by_lane(t, site_at(s)))
                    b.recv(buffer::out, block_at(t.slot_of(r)), r, label::direct);
        receive_own_site(b, ranks_by_lane(t, home, me), t, p.entries);
        return;
    }
    const bool far = t.site_of(me) != home;
    const uint32_t at_once = far ? p.links : p.entries;
    const turns mine(t, me, far ? -1 : p.root, at_once);
    if (mine.before() >= 0)
        b.after(b.await(far ? mine.before() : p.root, far ? label::turn : label::grant));
    const int sent = b.send(buffer::in, block_at(t.slot_of(me)), p.root, label::direct);
    if (far && mine.next() >= 0) {
        b.after(sent);
        b.signal(mine.next(), label::turn);
    }
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const rooted_load load(t, f, r);
    int64_t ranks = 0;      // of the largest remote site
    for (int s = 0; s < t.site_count(); ++s)
        if (site_at(s) != t.site_of(r.root))
            ranks = std::max<int64_t>(ranks, t.rank_count(site_at(s)));
    // A turn ends when the message has left, which takes the root's consent where it is long.
    const int64_t rounds = (ranks + p.links - 1) / p.links;
    const int64_t token = hop_ns(f, 0) + consent_ns(f, load.block_bytes, load.latency_ns);
    const int64_t leaving = rounds * f.wire_ns(static_cast<uint64_t>(load.block_bytes)) + (rounds - 1) * token;
    const int64_t far = crossing_ns(f, load.latency_ns, load.block_bytes) + std::max({load.far_ns, leaving, load.far * f.message_ns});
    return load.end_ns(f, far, p.entries);
}

} // namespace

extern const algorithm gather_direct;
const algorithm gather_direct = {
    .collective = WAN_GATHER,
    .name = "direct",
    .summary = "every rank sends its block to the root, n of a remote site at once; own site's blocks come while the WAN is crossed",
    .source = "GridMPI (Matsuda et al.), Gather; turns are ours",
    .parameters = uses_links | uses_entries,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .senders = [](const topology &t, const plan &p) { return std::min(p.links, all_senders(t, p)); },
    .serves = [](const topology &t, const request &) { return t.size() <= most_slots; },
    .cost = cost,
    .build = build,
    .any_counts = true,
    .local_counts = true,
    .takes_turns = true,
};

} // namespace wan
