/*
 * Reduce_scatter of short blocks, for operators that commute: every host sends
 * its contributions to another site's blocks across at once, to its
 * counterpart there; then the hosts of a site combine everything in few steps.
 *
 *     site 0:  every host --+                +-- add what came -- halving, or circulant
 *                            \ /  its vector's blocks
 *                             X   of the other site
 *                            / \   .
 *     site 1:  every host --+                +-- add what came -- halving, or circulant
 *
 *     T = L + max(M_remote, h M_local)/B + ceil(log2 H) steps + (H-1)/H M_local/B
 *
 * H hosts in a site, each with h counterparts elsewhere.  One message of a host before the WAN, where `sites` has
 * log2 H, each of which waits for others, and as many again for its own blocks
 * meanwhile: half the messages.  The price: contributions cross uncombined,
 * H times the bytes that have to.
 *
 * Source: coll/wan; recursive halving (Thakur, Rabenseifner, Gropp) begins
 * with the farthest step, too.  Circulant steps: Traeff 2024.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/host_combiner.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** Buffers for what arrives: beyond, a receive waits for one. */
constexpr size_t most_arriving = 8;

/** Beyond, all hosts of a small site would hear from very many. */
constexpr int most_sites = 200;

uint32_t hosts_of(const topology &t, int s) { return static_cast<uint32_t>(t.node_count(site_at(s))); }

/** Most contributions that a host of site s gets from other sites. */
int64_t most_received(const topology &t, int s)
{
    int64_t n = 0;
    for (int x = 0; x < t.site_count(); ++x)
        if (x != s)
            n += (hosts_of(t, x) + hosts_of(t, s) - 1) / hosts_of(t, s);
    return n;
}

void build(const topology &t, const plan &, builder &b)
{
    const int me = b.me(), slot = t.slot_of(me), sites = t.site_count();
    const auto at = t.locate(me);
    const int mine = static_cast<int>(value(at.site)), lanes = t.lane_count(at.site, at.node);
    const shares remote = shares::remote(t, at.site, 1), local = shares::local(t, at.site, 1);

    host_combiner on_host(b, t);
    on_host.combine(remote);
    if (at.lane != 0) {
        on_host.combine(local);
        b.recv(buffer::out, block_at(slot), t.rank_at(at.site, at.node), label::node_out);
        return;
    }

    const auto host = static_cast<uint32_t>(at.node);
    staging across(b, on_host.data(), remote);
    for (int d = 1; d < sites; ++d) {
        const int to = (mine + d) % sites, first = t.first_slot(site_at(to));
        const uint32_t there = sharer_of(host, hosts_of(t, mine), hosts_of(t, to));
        across.send(blocks_of(static_cast<uint32_t>(first), static_cast<uint32_t>(first + t.rank_count(site_at(to)))),
                    t.rank_at(site_at(to), static_cast<int>(there)), label::share_across, builder::none);
    }

    on_host.combine(local);
    const span_of own_blocks = local.all().front();
    const buffer sum = local.scratch_for(b, 0, local.members());
    copy_from(b, on_host.data(), sum, own_blocks);
    std::vector<buffer> arriving;
    size_t arrived = 0;
    for (int d = 1; d < sites; ++d) {
        const int from = (mine + sites - d) % sites;
        const uint32_t end = first_shared(host + 1, hosts_of(t, from), hosts_of(t, mine));
        for (uint32_t h = first_shared(host, hosts_of(t, from), hosts_of(t, mine)); h < end; ++h, ++arrived) {
            if (arriving.size() < most_arriving)
                arriving.push_back(local.scratch_for(b, 0, local.members()));
            const buffer x = arriving[arrived % most_arriving];
            b.recv(x, own_blocks, t.rank_at(site_at(from), static_cast<int>(h)), label::share_across);
            b.reduce(x, sum, own_blocks);
        }
    }

    const team g = site_team(t, at.site, me);
    pace turns(1);
    const auto inward = make_phase(combining::circulant, b, g, local, operand{sum, false}, label::share_local, turns);
    inward->piece(0);
    b.copy(inward->result(), buffer::out, block_at(slot));
    for (int l = 1; l < lanes; ++l)
        b.send(inward->result(), block_at(slot + l), t.rank_at(at.site, at.node, l), label::node_out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &)
{
    const int64_t all = t.size(), bytes = static_cast<int64_t>(r.bytes), lanes = widest_node(t);
    int64_t worst = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t hosts = t.node_count(site_at(s)), ranks = t.rank_count(site_at(s)), received = most_received(t, s);
        const int64_t far = wire_part(f, bytes, all - ranks, all), uplink = untold_uplink_ns(f, site_at(s), bytes, (all - ranks) * hosts, all);
        const int64_t near = wire_part(f, bytes, ranks, all);
        // What comes in one message: it may need consent, and an idle connection begins slowly.
        const auto message = static_cast<uint64_t>(static_cast<__int128>(bytes) * ranks / all);
        const int64_t latency = f.farthest_ns(site_at(s)), waits = consent_ns(f, static_cast<int64_t>(message), latency) + slow_start_ns(f, message, latency, 1);
        const int64_t halved = wire_part(f, bytes, ranks * (hosts - 1) * (exchange_waits(f, message / 2) ? 2 : 1), all * hosts);
        // Of what an interface's rate limit lets pass at once, the far message has its part first.
        const int64_t crossed = std::max(far, near * received), spared = f.wire_ns(static_cast<uint64_t>(f.burst_bytes));
        const int64_t own = std::max<int64_t>(0, crossed - spared), across = std::max(own, uplink);
        const int64_t within = std::max<int64_t>(0, halved - (spared - (crossed - own)));
        const int64_t combined = pipeline(f, within, 2 * steps(hosts)) + steps(hosts) * f.lan_ns;
        const int64_t on_host = lanes > 1 ? 2 * steps(lanes) * hop_ns(f, 0) + lanes * f.message_ns + lanes_up_ns(t, f, bytes) : 0;
        const int64_t work = combine_ns(f, bytes / all * ranks * received + bytes / all * ranks * (hosts - 1) / hosts);
        worst = std::max(worst, latency + waits + across + (t.site_count() - 1 + received) * f.message_ns
                                    + combined + work + on_host + hop_ns(f, 0));
    }
    return worst;
}

uint32_t buffers(const topology &t, const plan &)
{
    const int64_t all = t.size();
    int64_t most = 0;
    for (int s = 0; s < t.site_count(); ++s)
        // Sum, result, two of halving, what arrives; what is sent of blocks that do not follow each other.
        most = std::max(most, t.rank_count(site_at(s)) * (4 + std::min<int64_t>(most_received(t, s), most_arriving)) + remote_room(t, site_at(s)));
    return static_cast<uint32_t>((most + all - 1) / all + (widest_node(t) > 1 ? 3 : 0));
}

bool serves(const topology &t, const request &r)
{
    if (!r.commutative || t.site_count() > most_sites)
        return false;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t hosts = t.node_count(site_at(s)), on_host = widest_node(t) > 1 ? t.size() + 8 * steps(widest_node(t)) + 2 * widest_node(t) : 0;
        const int64_t blocks = t.size();    // named one by one where they are scattered
        if (hosts > 4096 || on_host + blocks + 2 * most_received(t, s) + t.site_count() + 12 * steps(hosts) > most_operations)
            return false;
    }
    return true;
}

} // namespace

extern const algorithm reduce_scatter_swap;
const algorithm reduce_scatter_swap = {
    .collective = WAN_REDUCE_SCATTER,
    .name = "swap",
    .summary = "every host's contributions to other sites' blocks cross at once, uncombined; then each site combines in few steps; for short blocks",
    .source = "coll/wan; recursive halving, farthest step first",
    .parameters = uses_nothing,
    .automatic = true,
    .long_messages = false,
    .keeps_order = false,
    .senders = [](const topology &t, const plan &) { return static_cast<uint32_t>(widest_site(t)); },
    .serves = serves,
    .buffers = buffers,
    .cost = cost,
    .build = build,
    .any_counts = true,
    .crosses = crossing::by_host,
};

} // namespace wan
