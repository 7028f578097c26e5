/*
 * Alltoall in one WAN latency, of blocks of any size that only their sender
 * and receiver need to know: everyone sends straight to everyone.
 *
 * What goes far goes in turns: it begins at another receiver at each
 * sender, and a send waits for a receive of some turns before, because what all
 * ranks send at once does not fit into the queue of an uplink.  As both sides
 * began together, that is in time: a limit of w messages lets w cross in one
 * latency, not in two.
 *
 *     turn          1    2    3    4    5          w = 2
 *     sends         a'   b'   c'   d'   e'
 *     wait for      -    -    a'   b'   c'         (from a', ...: one latency ago)
 *
 * What stays in the site goes in turns between, so that short round trips do
 * not crowd out long ones, and there is something to receive while the first of
 * what comes from far is on its way; on a host, at once.
 *
 *     T = max(L + M_far/B, M/B, L far messages/w) + P messages
 *
 * With fewer senders n than ranks in a site, a rank begins when the one n
 * before it has sent all that goes far, and then all at once; what stays in the
 * site waits for nobody.
 *
 *     rank 0 ====>|            n = 2
 *     rank 1 ===>| |
 *     rank 2     |====>|       T = L + ceil(P_s/n) M_far/B
 *     rank 3       |====>|
 *
 * Source: coll/wan; GridMPI's limit n (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/shares.hpp"
#include "algo/turns.hpp"

#include <tuple>

namespace wan {

namespace {

/** A message to or from another site, in the order in which its sender posts it. */
struct far_message {
    int distance, turn;     // sites further on, from 1; then one receiver after the other, from 0
    int operation;
    friend bool operator<(const far_message &a, const far_message &b)
    {
        return std::tie(a.distance, a.turn) < std::tie(b.distance, b.turn);
    }
};

/**
 * What the i-th send waits for: what has come `limit` messages before, of what was posted in
 * earlier turns.  So no circle of ranks waits, whatever their limits and the sizes of sites.
 */
int clock_of(const std::vector<far_message> &arrivals, const far_message &next, size_t i, uint32_t limit)
{
    const auto earlier = static_cast<size_t>(std::lower_bound(arrivals.begin(), arrivals.end(), next) - arrivals.begin());
    return i < limit || earlier == 0 ? builder::none : arrivals[std::min(i - limit, earlier - 1)].operation;
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me(), slot = t.slot_of(me), mine = static_cast<int>(value(t.site_of(me))), sites = t.site_count();
    const int first = t.first_slot(site_at(mine)), near = t.rank_count(site_at(mine)), at = slot - first;
    const int links = static_cast<int>(std::min<uint32_t>(p.links, static_cast<uint32_t>(near)));
    b.reserve(2 * static_cast<size_t>(t.size()) + 2);

    for (int s = 0; s < t.size(); ++s)
        if (s != slot)
            b.recv(buffer::out, block_at(s), t.rank_of(s), label::direct);
    const auto first_near = static_cast<int>(slot);     // receives are numbered by slot, without the own one
    auto receive_of = [&](int s) { return s < first_near ? s : s - 1; };

    std::vector<far_message> arrivals;
    if (links == near)      // where ranks take turns, the one before must not wait for the one after
        for (int d = 1; d < sites; ++d) {
            const int from = (mine + sites - d) % sites;
            for (int k = 0; k < t.rank_count(site_at(from)); ++k)
                arrivals.push_back({d, (at + near - k % near) % near, receive_of(t.first_slot(site_at(from)) + k)});
        }
    std::sort(arrivals.begin(), arrivals.end());

    const auto here = t.locate(me);
    auto on_my_host = [&](int s) { return t.locate(t.rank_of(s)).node == here.node; };
    pace turns(4);
    int k = 1;      // the next turn inside the site
    auto stay = [&] {
        const int to = first + (at + k) % near, from = first + (at + near - k) % near;
        if (!on_my_host(to))
            b.after(turns.before());
        b.send(buffer::in, block_at(to), t.rank_of(to), label::direct);
        if (!on_my_host(from))
            turns.turn(receive_of(from));
        ++k;
    };

    const int token = at >= links ? b.await(t.rank_of(slot - links), label::share_turn) : builder::none;
    const int64_t elsewhere = t.size() - near;
    std::vector<int> far;
    for (int d = 1; d < sites; ++d) {
        const int to = (mine + d) % sites, there = t.rank_count(site_at(to));
        for (int i = 0; i < there; ++i) {
            while (k < near && (k - 1) * elsewhere <= static_cast<int64_t>(far.size()) * (near - 1))
                stay();
            const int s = t.first_slot(site_at(to)) + (at + i) % there;
            b.after(token);
            b.after(clock_of(arrivals, {d, i, builder::none}, far.size(), p.entries));
            far.push_back(b.send(buffer::in, block_at(s), t.rank_of(s), label::direct));
        }
    }
    while (k < near)
        stay();
    if (at + links < near) {
        for (int sent : far)
            b.after(sent);
        b.signal(t.rank_of(slot + links), label::share_turn);
    }
    b.copy(buffer::in, buffer::out, block_at(slot));
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const int64_t all = t.size(), lanes = widest_node(t), bytes = static_cast<int64_t>(r.bytes);
    int64_t worst = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t ranks = t.rank_count(site_at(s)), links = std::min<int64_t>(p.links, ranks);
        const int64_t rounds = (ranks + links - 1) / links, at_once = std::min(lanes, std::max<int64_t>(1, links * lanes / ranks));
        // Those of a host that send at once share its interface; all do, sooner or later.
        const int64_t far_once = wire_part(f, bytes, at_once * (all - ranks), all);
        const int64_t far = std::max(wire_part(f, bytes, lanes * (all - ranks), all),
                                     f.farthest_ns(site_at(s)) * (all - ranks) / std::max<int64_t>(1, p.entries));
        const int64_t near = wire_part(f, bytes, lanes * std::max<int64_t>(0, ranks - lanes), all);
        const int64_t consent = consent_ns(f, bytes / all, f.farthest_ns(site_at(s)));
        const int64_t sent = std::max(rounds * (far_once + consent) + (rounds - 1) * hop_ns(f, 0), far) + std::min(near, far / 2);
        worst = std::max(worst, std::max(f.farthest_ns(site_at(s)) + sent, far + near));
    }
    return worst + 2 * (all - 1) * f.message_ns;
}

} // namespace

extern const algorithm alltoall_direct;
const algorithm alltoall_direct = {
    .collective = WAN_ALLTOALL,
    .name = "direct",
    .summary = "every rank straight to every other, in turns; others of the site between those far away",
    .source = "coll/wan; GridMPI's limit n (Matsuda et al.)",
    .parameters = uses_links | uses_far_limit,
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
