/*
 * See reduce_scatter_by_sites.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/reduce_scatter_by_sites.hpp"

#include "algo/fold.hpp"
#include "algo/host_combiner.hpp"
#include "model/cost.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Which hosts of a site send to other sites: all, or n of them for the others. */
struct senders_of {
    uint32_t hosts, senders;
    senders_of(const topology &t, site_id s, uint32_t links)
        : hosts(static_cast<uint32_t>(t.node_count(s))), senders(std::clamp(links, 1u, hosts))
    {
    }
    bool direct() const { return senders == hosts; }
    uint32_t for_host(uint32_t h) const { return sharer_of(h, hosts, senders); }
    /** First host that sender k sends for: itself. */
    uint32_t host(uint32_t k) const { return first_shared(k, hosts, senders); }
};

/**
 * Operations of a rank at the most, and buffers.  Blocks are named one by one where they are
 * scattered: once in each phase, and where parts end.
 */
int64_t operations(const topology &t, site_id s, combining how, int64_t pieces)
{
    const int64_t hosts = t.node_count(s), lanes = t.most_lanes(), all = t.size(), parts = hosts * pieces;
    int64_t inside = 0;
    switch (way_of(how, static_cast<uint32_t>(hosts))) {
    case combining::circulant:
        inside = 2 * 12 * steps(hosts);
        break;
    case combining::ring:
        inside = 2 * 4 * parts + all + 2 * parts;
        break;
    case combining::pairwise:
        inside = 2 * 6 * parts + all;
        break;
    }
    int64_t from_elsewhere = 0;     // receives for the own block, or those of a host of one
    for (int x = 0; x < t.site_count(); ++x)
        from_elsewhere += t.node_count(site_at(x)) * pieces + 2;
    const int64_t on_host = lanes > 1 ? all + 3 * 2 * steps(lanes) + 2 * lanes : 0;
    return on_host + all + 2 * parts + inside + (all + parts) + 4 * parts + from_elsewhere + 3 * t.site_count();
}

constexpr int most_sites = 200;     // a buffer for each

/** Pieces in a site: what the plan asks for where that can be written down. */
uint32_t pieces_in(const topology &t, site_id s, const plan &p, combining how)
{
    const auto hosts = static_cast<uint32_t>(t.node_count(s));
    uint32_t k = pieces_within(how, hosts, p.pieces);
    while (k > 1 && (k * hosts > UINT16_MAX || operations(t, s, how, k) > most_operations))
        --k;
    return k;
}

/** A site's part of a block, or a piece of that, on its way to who owns the block. */
struct crossing_part {
    uint32_t sender;    // of the site's
    int label;
    span_of part;
};

/** What a site sends to the owner of a slot elsewhere. */
std::vector<crossing_part> crossing_parts(const shares &s, const senders_of &gates, uint32_t slot)
{
    std::vector<crossing_part> all;
    const uint32_t k = s.pieces();
    auto [u, end] = s.touching(slot);
    while (u < end) {
        const uint32_t sender = gates.for_host(u / k);
        const uint32_t last = std::min(end, (sender + 1 < gates.senders ? gates.host(sender + 1) : gates.hosts) * k);
        const uint32_t chunk = (last - u + k - 1) / k;
        for (int label = label::share_across; u < last; u += chunk, ++label)
            for (const span_of &part : s.spans(u, std::min(u + chunk, last)))
                if (const span_of mine = common(part, block_at(static_cast<int>(slot))); !mine.empty())
                    all.push_back({sender, label, mine});
        u = last;
    }
    return all;
}

/**
 * How much longer than its bytes a phase takes, in eighths.  Halving and its like wait for each other's consent
 * behind each other's bytes, once per step, a ring some of the time; straight to their owner, shares come from
 * several at once.  Measured: 2 x 16 hosts, ring of 128 and 64 KB 1.2 and 1.25 times, of 32 KB 1.05, pairwise
 * 1.33 to 1.43.
 */
int64_t slower_eighths(const facts &f, combining how, int64_t phase_bytes, int64_t parts)
{
    switch (how) {
    case combining::circulant: return exchange_waits(f, static_cast<uint64_t>(phase_bytes / 2)) ? 8 : 0;
    case combining::ring: return exchange_waits(f, static_cast<uint64_t>(phase_bytes / parts)) ? 2 : 0;
    case combining::pairwise: return 3;
    }
    return 0;
}

} // namespace

void build_by_sites(const topology &t, const plan &p, builder &b, combining how)
{
    const int me = b.me(), slot = t.slot_of(me), sites = t.site_count();
    const auto at = t.locate(me);
    const site_id site = at.site;
    const int mine = static_cast<int>(value(site)), lanes = t.lane_count(site, at.node);
    const span_of own_block = block_at(slot);
    const uint32_t pieces = pieces_in(t, site, p, how);
    const shares remote = shares::remote(t, site, pieces), local = shares::local(t, site, pieces);

    host_combiner on_host(b, t);
    on_host.combine(remote);

    buffer own{};       // what my site has of my block
    if (at.lane == 0) {
        const team g = site_team(t, site, me);
        const auto host = static_cast<uint32_t>(g.me);
        const senders_of gates(t, site, p.links);
        const uint32_t sender = gates.for_host(host), gate = gates.host(sender);
        const uint32_t next = sender + 1 < gates.senders ? gates.host(sender + 1) : gates.hosts;

        // What is to cross leaves before what stays: a ring, or steps, begins when the one before it ends.
        pace turns(how == combining::pairwise || (how == combining::ring && pieces > 1) ? 2 : 1);
        const auto outward = make_phase(how, b, g, remote, on_host.data(), label::share_remote, turns);
        buffer crossing = outward->result();
        if (!gates.direct() && gate == host)
            crossing = remote.scratch_for(b, host * pieces, next * pieces);
        // Each site begins elsewhere: what all send to the same host at first, it has last.
        const auto first_of = [&](size_t n) { return sites > 2 && n > 0 ? n * static_cast<size_t>(mine + 1) / static_cast<size_t>(sites) % n : 0; };
        auto cross = [&](auto ready) {
            if (gate != host)
                return;
            std::vector<uint32_t> to;
            for (const span_of &share : remote.of_members(host, next))
                each_block(share, [&](const span_of &, uint32_t j) { to.push_back(j); });
            std::rotate(to.begin(), to.begin() + static_cast<ptrdiff_t>(first_of(to.size())), to.end());
            for (uint32_t j : to)
                for (const crossing_part &c : crossing_parts(remote, gates, j))
                    if (c.sender == sender && ready(c))
                        b.send(crossing, c.part, t.rank_of(static_cast<int>(j)), c.label);
        };
        for (uint32_t i = 0; i < pieces; ++i) {
            const auto q = static_cast<uint32_t>((i + first_of(pieces)) % pieces);
            outward->piece(q);
            int label = label::share_hand + 2 * static_cast<int>(q);
            if (gates.direct()) {
                const auto parts = remote.part(host, q);
                cross([&](const crossing_part &c) {
                    return std::any_of(parts.begin(), parts.end(), [&](const span_of &x) { return x.lo < c.part.hi && !(x.hi < c.part.hi); });
                });
            } else if (gate != host) {
                for (const span_of &part : remote.part(host, q))
                    b.send(outward->result(), part, g.rank(gate), label++);
            } else {
                for (const span_of &part : remote.part(host, q))
                    b.copy(outward->result(), crossing, part);
                for (uint32_t h = host + 1; h < next; ++h) {
                    label = label::share_hand + 2 * static_cast<int>(q);
                    for (const span_of &part : remote.part(h, q))
                        b.recv(crossing, part, g.rank(h), label++);
                }
            }
        }
        if (!gates.direct())
            cross([](const crossing_part &) { return true; });
        on_host.combine(local);
        const auto inward = make_phase(how, b, g, local, on_host.data(), label::share_local, turns);
        for (uint32_t q = 0; q < pieces; ++q)
            inward->piece(q);
        own = inward->result();
        for (int l = 1; l < lanes; ++l)
            b.send(own, block_at(slot + l), t.rank_at(site, at.node, l), label::node_out);
    } else {
        on_host.combine(local);
        own = b.scratch_blocks(static_cast<uint32_t>(slot), 1);
        b.recv(own, own_block, t.rank_at(site, at.node), label::node_out);
    }

    std::vector<buffer> from_site;
    for (int s = 0; s < sites; ++s)
        from_site.push_back(s == mine ? own : b.scratch_blocks(static_cast<uint32_t>(slot), 1));
    for (int k = 1; k < sites; ++k) {
        const int s = (mine + k) % sites;
        const shares theirs = shares::remote(t, site_at(s), pieces_in(t, site_at(s), p, how));
        const senders_of gates(t, site_at(s), p.links);
        for (const crossing_part &c : crossing_parts(theirs, gates, static_cast<uint32_t>(slot)))
            b.recv(from_site[static_cast<size_t>(s)], c.part, t.rank_at(site_at(s), static_cast<int>(gates.host(c.sender))), c.label);
    }
    fold(b, from_site, buffer::out, own_block);
}

int64_t cost_by_sites(const topology &t, const facts &f, const request &r, const plan &p, combining wanted)
{
    const int64_t all = t.size(), bytes = static_cast<int64_t>(r.bytes), lanes = widest_node(t);
    int64_t worst = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t hosts = t.node_count(site_at(s)), ranks = t.rank_count(site_at(s)), elsewhere = all - ranks;
        const int64_t senders = std::min<int64_t>(p.links, hosts), k = pieces_in(t, site_at(s), p, wanted);
        const combining how = way_of(wanted, static_cast<uint32_t>(hosts));
        const int64_t remote = static_cast<int64_t>(static_cast<__int128>(bytes) * elsewhere / all), local = bytes - remote;
        const int64_t handed = senders < hosts ? wire_part(f, remote, (hosts + senders - 1) / senders - 1, hosts) : 0;
        auto phase_ns = [&](int64_t phase_bytes) {
            return wire_part(f, phase_bytes, (hosts - 1) * (8 + slower_eighths(f, how, phase_bytes, hosts * k)), hosts * 8);
        };
        const int64_t outward = phase_ns(remote) + handed, inward = phase_ns(local);
        const int64_t across = wire_part(f, remote, 1, senders);
        const int64_t sent = (elsewhere + senders - 1) / senders * (elsewhere < hosts ? 1 : k), received = (t.site_count() - 1) * k;

        int64_t messages = 2 * (hosts - 1) * k, connections = 2, waiting = k * f.message_ns, between = 0, passing = 0;
        if (how == combining::circulant) {
            messages = 2 * steps(hosts);
            connections = steps(hosts);
            waiting = steps(hosts) * f.lan_ns;
            // Hosts that are ahead begin with their own blocks: where ranks share processors, which is why a step takes
            // longer than its message, that comes in between (measured, 2 x 16 hosts on 2 processors, 1 to 256 B: 1 to
            // 4 ms behind `swap`, which has nothing there; 512 B: even).
            between = steps(hosts) * std::max<int64_t>(0, f.step_ns - f.lan_ns - 2 * f.message_ns);
        } else if (how == combining::ring) {
            connections = 1;
            const bool lone = exchange_waits(f, static_cast<uint64_t>(remote / (hosts * k)));
            waiting = (hosts - 1) * (lone ? 3 : 1) * f.next_host_ns(site_at(s)) / std::min<int64_t>(k, 2);    // pieces overlap
            passing = level_part(f, bytes, hosts - 1, hosts);
        }
        const int64_t on_host = lanes > 1 ? 2 * steps(lanes) * hop_ns(f, 0) + lanes_up_ns(t, f, bytes) : 0;
        const int64_t work = combine_ns(f, remote / hosts * (hosts - 1)), inner_work = combine_ns(f, local / hosts * (hosts - 1));
        const int64_t pieces = how == combining::circulant ? 1 : k;     // which come in while others are combined
        const int64_t consent = consent_ns(f, std::min(bytes / all, remote / (hosts * k)), f.farthest_ns(site_at(s)));
        const int64_t crossed = pipeline(f, shared_wire(outward, connections - 1), messages) + waiting + between + across + sent * f.message_ns
                                + f.farthest_ns(site_at(s)) + consent + beside_ns(outward, work, pieces);
        const int64_t busy = pipeline(f, std::max(passing, shared_wire(outward + across + inward, connections - 1)), 2 * messages + sent + received) + 2 * waiting
                             + beside_ns(outward, work, pieces) + beside_ns(inward, inner_work, pieces);
        worst = std::max(worst, std::max(crossed, busy) + received * f.message_ns + combine_ns(f, bytes / all * (t.site_count() - 1)) + on_host + hop_ns(f, 0));
    }
    return worst;
}

uint32_t buffers_by_sites(const topology &t, const plan &p, combining wanted)
{
    const int64_t all = t.size(), lanes = widest_node(t);
    int64_t most = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t hosts = t.node_count(site_at(s)), own = t.rank_count(site_at(s)), room = remote_room(t, site_at(s));
        int64_t held = (p.links < hosts ? room : 0) + t.site_count() + 1;      // a gateway's; what comes from each site
        switch (way_of(wanted, static_cast<uint32_t>(hosts))) {
        case combining::circulant:
            held += (hosts > 1 ? 3 : 1) * (room + own);
            break;
        case combining::ring:
            held += 2 * (room + own);       // one of them where blocks are scattered
            break;
        case combining::pairwise: {
            const int64_t parts = std::min<int64_t>(5, hosts), across = room > all - own ? own : 0;
            held += room + own + parts * ((all - own) / hosts + 2 + across + lanes);
            break;
        }
        }
        most = std::max(most, held + (lanes > 1 ? 3 * all : 0));    // a host's ranks combine whole vectors
    }
    return static_cast<uint32_t>((most + all - 1) / all);
}

bool serves_by_sites(const topology &t, const request &r, combining how)
{
    if (!r.commutative || t.site_count() > most_sites)
        return false;
    for (int s = 0; s < t.site_count(); ++s)
        if (t.node_count(site_at(s)) > (how == combining::pairwise ? 1024 : 4096) || operations(t, site_at(s), how, 1) > most_operations)
            return false;
    return true;
}

} // namespace wan
