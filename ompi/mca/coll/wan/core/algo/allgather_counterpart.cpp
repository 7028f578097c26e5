/*
 * Allgather that takes each block across the WAN once for each other site,
 * between counterparts, while the own site's blocks already go round.
 *
 *     site 0:  a1 - a2 - a3 - a4   own blocks round, at once
 *               |    |    |    |   n hosts of a site swap what they stand for
 *              =====================================================  WAN
 *               |    |    |    |
 *     site 1:  b1 - b2 - b3 - b4   remote blocks round as they come
 *
 * All hosts cross (n is large enough): each sends its own blocks at once, and
 *
 *     T = max(L + M_remote/B, (P-1)/P M/B) + steps inside a site.
 *
 * Fewer: n gateways cross with shares of what their site has gathered by then,
 * which adds the steps of a site (and (H-1)/H M_site/B) before the WAN.
 * Either way a remote site's blocks are cut evenly over those of a site who
 * receive them, so that sites of different sizes need nothing more.  On every
 * host one rank acts for all.  Round: in ceil(log2 H) steps for short blocks,
 * in a ring for long ones, in pieces where a host should pass on the beginning
 * of a block before it has the end.
 * Source: Matsuda et al., Efficient Collective Algorithms for Grid
 * Environment, section 3 (Allgather: the exchange first, then the site, with
 * L + M/(nB) + M/B); both at once, and shares, are coll/wan's.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/turns.hpp"

#include <bit>

namespace wan {

namespace {

constexpr int ring_labels = WAN_LABELS - label::vector;
constexpr int most_sites = 128;

/** The slots of a site, and its hosts with those of them who cross. */
struct party {
    team hosts;
    uint32_t first, ranks;      // slots
    uint32_t crossing;          // hosts that exchange with other sites, evenly spread
    bool everyone;              // all hosts

    party(const topology &t, site_id s, uint32_t links, int me)
        : hosts(site_team(t, s, me)), first(static_cast<uint32_t>(t.first_slot(s))), ranks(static_cast<uint32_t>(t.rank_count(s))),
          crossing(std::min(std::max(1u, links), hosts.size())), everyone(crossing == hosts.size())
    {
    }
    /** The host that is the u-th to cross. */
    uint32_t host(uint32_t u) const { return static_cast<uint32_t>((2ull * u + 1) * hosts.size() / (2ull * crossing)); }
    /** How many of them come before host j. */
    uint32_t before(uint32_t j) const
    {
        uint32_t u = static_cast<uint32_t>(uint64_t{j} * crossing / hosts.size());
        while (u > 0 && host(u - 1) >= j)
            --u;
        while (u < crossing && host(u) < j)
            ++u;
        return u;
    }
    /** Bound k of n equal shares of the site's blocks. */
    fraction bound(uint32_t k, uint32_t n) const
    {
        const uint64_t at = uint64_t{ranks} * k;
        return {static_cast<uint32_t>(at % n), n, first + static_cast<uint32_t>(at / n)};
    }
};

/** Who holds what of one site's blocks inside a site: neighbouring shares for neighbouring hosts. */
struct holding {
    const topology &t;
    const party &data, &holders;
    site_id site;           // of data
    uint32_t pieces;

    bool home() const { return data.first == holders.first; }
    /** Where host j's share begins; piece k of it. */
    fraction bound(uint32_t j, uint32_t k = 0) const
    {
        if (home()) {       // every host its own blocks
            const auto begin = slot(j), end = j < holders.hosts.size() ? slot(j + 1) : begin;
            const uint64_t at = uint64_t{end - begin} * k;
            return {static_cast<uint32_t>(at % pieces), pieces, begin + static_cast<uint32_t>(at / pieces)};
        }
        const uint32_t u = holders.before(j), more = k && holders.before(j + 1) > u ? k : 0;
        return data.bound(u * pieces + more, holders.crossing * pieces);
    }
    span_of hosts(uint32_t i, uint32_t j) const { return {bound(i), bound(j)}; }
    span_of piece(uint32_t j, uint32_t k) const { return {bound(j, k), k + 1 < pieces ? bound(j, k + 1) : bound(j + 1)}; }

private:
    uint32_t slot(uint32_t j) const
    {
        return j < holders.hosts.size() ? static_cast<uint32_t>(t.first_slot(site, static_cast<int>(j))) : data.first + data.ranks;
    }
};

/** Blocks of a site that hosts of a site hold in shares go to all of them. */
void round_ring(builder &b, const holding &h, buffer data, int labels)
{
    const team &g = h.holders.hosts;
    const uint32_t p = g.size(), me = static_cast<uint32_t>(g.me);
    const int to = g.rank((me + 1) % p), from = g.rank((me + p - 1) % p);
    for (uint32_t step = 0; step + 1 < p; ++step)
        for (uint32_t k = 0; k < h.pieces; ++k) {
            const int l = labels + static_cast<int>(step * h.pieces + k);
            b.send(data, h.piece((me + p - step) % p, k), to, l);
            b.recv(data, h.piece((me + 2 * p - step - 1) % p, k), from, l);
        }
}

void round_doubling(builder &b, const holding &h, buffer data, int labels)
{
    const team &g = h.holders.hosts;
    const uint32_t p = g.size(), me = static_cast<uint32_t>(g.me);
    for (uint32_t half = 1; half < p; half *= 2) {
        const uint32_t mine = me / half * half, theirs = mine ^ half;
        b.recv(data, h.hosts(theirs, theirs + half), g.rank(me ^ half), labels);
        b.send(data, h.hosts(mine, mine + half), g.rank(me ^ half), labels);
    }
}

void round_circulant(builder &b, const holding &h, buffer data, int labels)
{
    const team &g = h.holders.hosts;
    const uint32_t p = g.size(), me = static_cast<uint32_t>(g.me);
    const auto skips = circulant_skips(p);
    for (size_t k = skips.size() - 1; k-- > 0;) {
        const uint32_t half = skips[k + 1], count = skips[k] - half;
        const int to = g.rank((me + p - half) % p), from = g.rank((me + half) % p);
        auto parts = [&](uint32_t i, auto f) {
            i %= p;
            f(h.hosts(i, std::min(i + count, p)), 0);
            if (i + count > p)
                f(h.hosts(0, i + count - p), 1);
        };
        parts(me + half, [&](span_of part, int l) { b.recv(data, part, from, labels + l); });
        parts(me, [&](span_of part, int l) { b.send(data, part, to, labels + l); });
    }
}

/** Whether blocks go in a ring, and in how many pieces: as far as labels reach. */
struct manner {
    bool ring = false;
    uint32_t pieces = 1;
    int labels = 2;         // of a site's blocks

    manner(const topology &t, const plan &p)
    {
        const auto widest = static_cast<uint32_t>(widest_site(t)), sites = static_cast<uint32_t>(t.site_count());
        if (p.inner != inner_steps::ring || widest > largest_ring || widest < 2 || sites * (widest - 1) > ring_labels)
            return;
        ring = true;
        pieces = std::clamp(p.pieces, 1u, std::min<uint32_t>(label::most_pieces, ring_labels / (sites * (widest - 1))));
        labels = static_cast<int>((widest - 1) * pieces);
    }
};

class exchange {
public:
    exchange(const topology &t, const plan &p, builder &b)
        : t_(t), b_(b), how_(t, p), mine_(static_cast<int>(value(t.site_of(b.me()))))
    {
        for (int s = 0; s < t.site_count(); ++s)
            parties_.emplace_back(t, site_at(s), p.links, b.me());
        data_ = b.scattered() ? b.scratch_blocks(0, static_cast<uint32_t>(t.size())) : buffer::out;
    }

    void run()
    {
        const int leader = node_leader(t_, b_.me());
        b_.copy(buffer::in, data_, block_at(t_.slot_of(b_.me())));
        collect(leader);
        if (leader == b_.me()) {
            if (own().everyone)
                send_across();
            go_round(mine_);
            if (!own().everyone)
                send_across();
            for (int d = 1; d < t_.site_count(); ++d) {
                const int from = (mine_ + t_.site_count() - d) % t_.site_count();
                receive_from(from);
                go_round(from);
            }
        }
        hand_out(leader);
        for (uint32_t s = 0; data_ != buffer::out && s < static_cast<uint32_t>(t_.size()); ++s)
            b_.copy(data_, buffer::out, blocks_of(s, s + 1));
    }

private:
    const topology &t_;
    builder &b_;
    manner how_;
    int mine_;
    std::vector<party> parties_;
    buffer data_;

    const party &at(int s) const { return parties_[static_cast<size_t>(s)]; }
    const party &own() const { return at(mine_); }
    holding held(int data, int holders) const { return {t_, at(data), at(holders), site_at(data), how_.pieces}; }

    /** What a host that crosses sends of its site `a`: its own blocks, or the u-th share. */
    span_of outgoing(int a, uint32_t u) const
    {
        const party &g = at(a);
        return g.everyone ? held(a, a).hosts(u, u + 1) : span_of{g.bound(u, g.crossing), g.bound(u + 1, g.crossing)};
    }

    /** Which of n shares of site a's blocks the bound lies in, or one before. */
    uint32_t share_at(int a, const fraction &f, uint32_t n) const
    {
        return static_cast<uint32_t>(std::min<uint64_t>(n - 1, uint64_t{f.block - at(a).first} * n / at(a).ranks));
    }

    void send_across()
    {
        const uint32_t me = static_cast<uint32_t>(own().hosts.me), u = own().before(me);
        if (u == own().crossing || own().host(u) != me)
            return;
        const span_of all = outgoing(mine_, u);
        for (int d = 1; d < t_.site_count(); ++d) {
            const int to = (mine_ + d) % t_.site_count();
            const uint32_t n = at(to).crossing * how_.pieces;
            for (uint32_t q = share_at(mine_, all.lo, n); q < n && own().bound(q, n) < all.hi; ++q)
                b_.send(data_, common(all, {own().bound(q, n), own().bound(q + 1, n)}), at(to).hosts.rank(at(to).host(q / how_.pieces)),
                        label::piece + static_cast<int>(q % how_.pieces));
        }
    }

    void receive_from(int a)
    {
        const holding h = held(a, mine_);
        const uint32_t me = static_cast<uint32_t>(own().hosts.me);
        for (uint32_t k = 0; k < how_.pieces; ++k) {
            const span_of all = h.piece(me, k);
            if (all.empty())
                continue;
            const party &there = at(a);
            uint32_t u = there.everyone ? static_cast<uint32_t>(t_.locate(t_.rank_of(static_cast<int>(all.lo.block))).node)
                                        : share_at(a, all.lo, there.crossing);
            for (; u < there.crossing && outgoing(a, u).lo < all.hi; ++u)
                b_.recv(data_, common(all, outgoing(a, u)), there.hosts.rank(there.host(u)), label::piece + static_cast<int>(k));
        }
    }

    /** The blocks of site `a` to all hosts of mine. */
    void go_round(int a)
    {
        const holding h = held(a, mine_);
        const int labels = label::vector + a * how_.labels;
        if (own().hosts.size() < 2)
            return;
        if (how_.ring)
            round_ring(b_, h, data_, labels);
        else if (std::has_single_bit(own().hosts.size()))
            round_doubling(b_, h, data_, labels);
        else
            round_circulant(b_, h, data_, labels);
    }

    /** The other ranks of a host give their blocks to its leader. */
    void collect(int leader)
    {
        if (leader != b_.me()) {
            b_.send(data_, block_at(t_.slot_of(b_.me())), leader, label::node_in);
            return;
        }
        const auto where = t_.locate(leader);
        for (int lane = 1; lane < t_.lane_count(where.site, where.node); ++lane) {
            const int r = t_.rank_at(where.site, where.node, lane);
            b_.recv(data_, block_at(t_.slot_of(r)), r, label::node_in);
        }
    }

    /** They get the blocks of each site when these are complete. */
    void hand_out(int leader)
    {
        const auto where = t_.locate(leader);
        const auto lanes = static_cast<uint32_t>(t_.lane_count(where.site, where.node));
        if (lanes < 2)
            return;
        const auto parent = range_tree(lanes, 0);
        const auto lane = static_cast<uint32_t>(t_.locate(b_.me()).lane);
        for (int d = 0; d < t_.site_count(); ++d) {
            const int a = (mine_ + t_.site_count() - d) % t_.site_count();
            const span_of all = blocks_of(at(a).first, at(a).first + at(a).ranks);
            if (lane > 0)
                b_.recv(data_, all, t_.rank_at(where.site, where.node, parent[lane]), label::vector + a);
            for (uint32_t l = lanes; l-- > 1;)
                if (parent[l] == static_cast<int>(lane))
                    b_.send(data_, all, t_.rank_at(where.site, where.node, static_cast<int>(l)), label::vector + a);
        }
    }
};

void build(const topology &t, const plan &p, builder &b) { exchange(t, p, b).run(); }

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const manner how(t, p);
    const int64_t block = static_cast<int64_t>(r.bytes) / t.size(), all = static_cast<int64_t>(r.bytes);
    const int64_t lanes = widest_node(t), remote = t.site_count() - 1, receivers = std::min<int64_t>(p.links, narrowest_site(t));
    int64_t worst = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        const int64_t hosts = t.node_count(site_at(s)), own = block * t.rank_count(site_at(s)), far = all - own;
        const int64_t crossing = std::min<int64_t>(p.links, hosts);
        // A host sends what crosses, and hands on all of the vector but a host's share.
        const int64_t across = own / crossing * remote;
        const int64_t sent = across + all / hosts * (hosts - 1), received = all - own / hosts;
        const int64_t piece = std::max(own, far / std::max<int64_t>(1, remote)) / hosts / how.pieces;
        const int64_t inner = how.ring ? hosts - 1 : steps(hosts);
        // A step is a message; it waits for the other side where that must consent first: in a ring a little, as it
        // has other blocks to pass on; where hosts exchange half of a site's blocks, behind each other's bytes
        // (measured, 2 x 16 hosts, 16 to 128 KB: 1.6 to 1.75 times as long as the bytes take, in a ring up to 1.1).
        const bool waits = hosts > 1 && exchange_waits(f, static_cast<uint64_t>(how.ring ? piece : piece * hosts / 2));
        const int64_t one_way = how.ring ? f.next_host_ns(site_at(s)) : f.lan_ns;
        const int64_t step = (how.ring ? one_way + 2 * f.message_ns : f.step_ns) + (waits ? 2 * one_way : 0);
        // In a ring the own site's blocks go round before there is much else to do: two thirds of its messages cost
        // nothing (measured, 2 x 16 hosts, 4 KB in 1, 2 and 4 pieces: 33.5, 31.5 and 38.5 ms).
        const int64_t passed = how.ring ? inner * how.pieces * (6 * t.site_count() - 4) / 3 : 2 * inner * t.site_count();
        const int64_t messages = passed + 2 * remote * how.pieces + 2 * lanes;
        const int64_t connections = how.ring ? 1 : steps(hosts);
        const int64_t busy = shared_wire(f.wire_ns(static_cast<uint64_t>(std::max(sent, received))), connections - 1);
        const int64_t passing = how.ring ? level_part(f, all, hosts - 1, hosts) : 0;
        const int64_t wire = pipeline(f, std::max(waits ? busy + busy * (how.ring ? 1 : 7) / 12 : busy, passing), messages);
        // The last that comes across goes on to the others, all but the burst of a lone message after it.
        const int64_t first = crossing == hosts ? 0 : f.wire_ns(static_cast<uint64_t>(own / hosts * (hosts - 1))) + inner * step;
        const int64_t last = crossing_ns(f, f.widest_ns(), own / std::max<int64_t>(crossing, receivers * how.pieces)) + first + std::max(f.wire_ns(static_cast<uint64_t>(far)), f.wire_ns(static_cast<uint64_t>(across)));
        // What is short goes round by itself, and waits for each host to have its turn (measured: 256 B in a ring of 16, 20 ms).
        const int64_t round = inner * (how.ring ? std::max(step, f.step_ns) : step);
        worst = std::max(worst, std::max(last + round, wire + inner * step) + (how.ring ? f.lone_ns(static_cast<uint64_t>(piece)) - f.lan_ns + one_way : 0));
    }
    return worst + 2 * steps(lanes) * f.message_ns + lanes_down_ns(t, f, all) + sorted_ns(t, f, all);
}

} // namespace

extern const algorithm allgather_counterpart;
const algorithm allgather_counterpart = {
    .collective = WAN_ALLGATHER,
    .name = "counterpart",
    .summary = "n hosts of each site exchange shares across the WAN while the site's own blocks go round; then the remote ones do",
    .source = "GridMPI (Matsuda et al.), Allgather; both phases at once and shares are ours",
    .parameters = uses_links | uses_inner | uses_pieces,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &) {
        return t.size() <= most_slots && t.site_count() <= most_sites && widest_site(t) <= 4096;
    },
    .cost = cost,
    .build = build,
    .any_counts = true,
};

} // namespace wan
