/*
 * Small questions about sites that several algorithms ask.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_SITES_HPP
#define WAN_ALGO_SITES_HPP

#include "algo/parts.hpp"
#include "algo/registry.hpp"
#include "model/cost.hpp"

#include <bit>
#include <map>
#include <set>
#include <utility>

namespace wan {

constexpr site_id site_at(int i) { return site_id{static_cast<uint32_t>(i)}; }

/** The block of the rank at a slot. */
constexpr span_of block_at(int slot) { return blocks_of(static_cast<uint32_t>(slot), static_cast<uint32_t>(slot) + 1); }

/** Most hosts in a site. */
inline int widest_site(const topology &t)
{
    int most = 0;
    for (int s = 0; s < t.site_count(); ++s)
        most = std::max(most, t.node_count(site_at(s)));
    return most;
}

/** Fewest hosts in a site. */
inline int narrowest_site(const topology &t)
{
    int least = t.size();
    for (int s = 0; s < t.site_count(); ++s)
        least = std::min(least, t.node_count(site_at(s)));
    return least;
}

/** Most ranks in a site. */
inline int most_ranks(const topology &t)
{
    int most = 0;
    for (int s = 0; s < t.site_count(); ++s)
        most = std::max(most, t.rank_count(site_at(s)));
    return most;
}

/** Of a schedule: below the 65,535 there can be, as what algorithms count is rounded here and there. */
constexpr int64_t most_operations = 60'000;

/**
 * Whether every schedule stays below the number of its operations: where one
 * narrow site talks to all hosts of the others, a host of it has `for_each`
 * operations for each of its share.
 */
inline bool few_enough(const topology &t, int64_t for_each)
{
    int64_t hosts = 0, narrowest = INT32_MAX;
    for (int s = 0; s < t.site_count(); ++s) {
        hosts += t.node_count(site_at(s));
        narrowest = std::min<int64_t>(narrowest, t.node_count(site_at(s)));
    }
    return widest_site(t) <= 4096 && for_each * (hosts / std::max<int64_t>(1, narrowest)) <= most_operations;
}

/** For algorithm::serves: where the hosts of a site reduce blocks in steps, and each site's result is combined by itself. */
inline bool blocks_combine(const topology &t, const request &r)
{
    return r.commutative && few_enough(t, 5) && t.site_count() <= 200;
}

/** Most ranks on a host of any site: asked for each candidate, so never counted here. */
inline int widest_node(const topology &t) { return t.most_lanes(); }

/**
 * Messages of a rank to other sites under way at once that fill its share of the host's
 * interface: as many as pass it while one is on its way, over a connection that has been idle
 * (three latencies where receivers must consent), and a quarter more, since others share the
 * interface; a power of two, and 8 at least where receivers must consent.
 *
 * Measured, alltoall of 8 to 256 KB: at 2 x 8 hosts half of that costs 2 to 8% and twice as many
 * change nothing; at 2 x 16, whose uplink is narrower than the interfaces together, twice as many
 * cost up to a half.
 */
inline uint32_t far_limit(const topology &t, const facts &f, uint64_t message_bytes)
{
    const bool waits = exchange_waits(f, message_bytes);
    const int64_t one = std::max<int64_t>(1, f.wire_ns(message_bytes) * widest_node(t)), latency = f.widest_ns();
    const int64_t alone = (waits ? 3 : 1) * latency + one + slow_start_ns(f, message_bytes, latency, 1);
    return std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>((5 * alone / 4 + one - 1) / one, waits ? 8 : 2, 1 << 14)));
}

/** Of the ranks of a host, which hand on a message: what copying it takes on the way to the last one; combining, too, on the way from there. */
inline int64_t lanes_down_ns(const topology &t, const facts &f, int64_t bytes) { return steps(widest_node(t)) * copied_ns(f, bytes); }
inline int64_t lanes_up_ns(const topology &t, const facts &f, int64_t bytes)
{
    return steps(widest_node(t)) * (copied_ns(f, bytes) + combine_ns(f, bytes));
}

/** Blocks that travel together are copied one by one where ranks are not in the order of slots. */
inline int64_t sorted_ns(const topology &t, const facts &f, int64_t bytes) { return t.in_slot_order() ? 0 : copied_ns(f, bytes); }

/** Of the blocks for the ranks 0, 1, ... further on, those that go `d` of it, a power of two, in one hop. */
constexpr int64_t hopping(int64_t ranks, int64_t d) { return ranks / (2 * d) * d + std::max<int64_t>(0, ranks % (2 * d) - d); }

/** Blocks that hop from site a to site b, or inside of it, where all ranks' go 1, 2, 4, ... slots further, around. */
inline int64_t hops_across(const topology &t, int a, int b)
{
    const int64_t all = t.size(), first_a = t.first_slot(site_at(a)), first_b = t.first_slot(site_at(b));
    const auto common = [&](int64_t from, int64_t to) {
        return std::max<int64_t>(0, std::min(from + t.rank_count(site_at(a)), to + t.rank_count(site_at(b))) - std::max(from, to));
    };
    int64_t sum = 0;
    for (int64_t d = 1; d < all; d *= 2)
        sum += hopping(all, d) * (common(first_a + d, first_b) + common(first_a + d, first_b + all));
    return sum;
}

/** How a broadcast from `home` goes from site to site. */
struct site_route {
    int home, sites;
    site_order order;

    /** The k-th site on the way; 0 is home. */
    int at(int k) const { return (home + k) % sites; }
    int place(int site) const { return (site - home + sites) % sites; }
    /** Who hands the message to `site`; -1 for home. */
    int parent(int site) const
    {
        const int k = place(site);
        return k == 0 ? -1 : at(order == site_order::chain ? k - 1 : 0);
    }
    std::vector<int> children(int site) const
    {
        std::vector<int> c;
        for (int k = 1; k < sites; ++k)
            if (parent(at(k)) == site)
                c.push_back(at(k));
        return c;
    }
    /** WAN latencies one after the other. */
    int64_t latency_ns(const facts &f) const
    {
        if (order == site_order::star)
            return f.farthest_ns(site_at(home));
        int64_t sum = 0;
        for (int k = 1; k < sites; ++k)
            sum += f.latency_ns(site_at(at(k - 1)), site_at(at(k)));
        return sum;
    }
    int most_children() const { return order == site_order::star ? sites - 1 : 1; }
};

/** Stripes that cross between two sites, each from and to another host but the root's: alone in its site, that has all. */
inline uint32_t stripes_of(const topology &t, const plan &p, uint32_t most = UINT32_MAX)
{
    const site_id home = t.site_of(p.root);
    uint32_t k = std::clamp(p.links, 1u, most);
    for (int s = 0; s < t.site_count(); ++s)
        if (const int hosts = t.node_count(site_at(s)) - (site_at(s) == home ? 1 : 0); hosts > 0)
            k = std::min(k, static_cast<uint32_t>(hosts));
    return k;
}

/**
 * In how many parts a message at least crosses that up to n hosts of each site (without the root's, if it is not alone there)
 * send to those of another one: each host of the larger site has one of its own, where sizes are not nearly equal.
 */
inline int64_t fewest_parts(const topology &t, const request &r, uint32_t links)
{
    const site_id home = kind_of(r.collective).root ? t.site_of(r.root) : site_id{UINT32_MAX};
    int64_t least = INT32_MAX, next = INT32_MAX;
    for (int s = 0; s < t.site_count(); ++s)
        if (const int64_t n = std::clamp<int64_t>(t.node_count(site_at(s)) - (site_at(s) == home), 1, std::max(1u, links)); n < least)
            next = std::exchange(least, n);
        else
            next = std::min(next, n);
    return 4 * least >= 3 * next || least + 1 == next ? least : next;
}

/** What the longest of them carries. */
inline int64_t longest_part(const topology &t, const request &r, uint32_t links, int64_t bytes) { return bytes / fewest_parts(t, r, links); }

/** The tree of a site which others' messages reach at `entries` hosts at once, one each `gap`: parents, -1 for those. */
inline std::vector<int> entry_tree(uint32_t hosts, const plan &p, uint32_t gap = 1)
{
    return postal_tree(hosts, p.lambda, p.entries, gap);
}

/** To the first of a site's hosts. */
inline std::vector<int> upward_tree(uint32_t hosts, const plan &p)
{
    return p.grouping == association::tree ? canonical_tree(hosts) : postal_tree(hosts, p.lambda);
}

/** Whether a site's hosts hand each other their shares of blocks at once: inner steps are for gathering then. */
inline bool exchanges(const plan &p) { return p.grouping == association::tree && p.inner != inner_steps::halving; }

/** Who owns blocks of a site that its hosts reduce in steps. */
inline team block_owners(const plan &p, team g) { return p.inner == inner_steps::halving ? halving_team(std::move(g)) : g; }
inline int block_owners(const request &r, int hosts) { return r.stable ? static_cast<int>(std::bit_floor(static_cast<uint32_t>(hosts))) : hosts; }

/** Whether every site has as many hosts as can halve. */
inline bool halving_all(const topology &t)
{
    for (int s = 0; s < t.site_count(); ++s)
        if (!std::has_single_bit(static_cast<uint32_t>(t.node_count(site_at(s)))))
            return false;
    return true;
}

/** The numbers of owners of blocks that sites have: equal ones cut at the same bounds.  (Not stable: all hosts own.) */
inline std::set<int> site_sizes(const topology &t, const request &r)
{
    std::set<int> sizes;
    for (int s = 0; s < t.site_count(); ++s)
        sizes.insert(block_owners(r, t.node_count(site_at(s))));
    return sizes;
}

/** Those hosts of one site after the other; sites of the same size have the same tree. */
class site_entries {
public:
    explicit site_entries(const plan &p, uint32_t gap = 1) : plan_(p), gap_(gap) {}
    const std::vector<uint32_t> &of(uint32_t hosts)
    {
        auto &list = known_[hosts];
        if (list.empty())
            list = entries_of(entry_tree(hosts, plan_, gap_));
        return list;
    }

private:
    const plan &plan_;
    uint32_t gap_;
    std::map<uint32_t, std::vector<uint32_t>> known_;
};

/** Calls f(rank) for the entries of all sites but me: other sites' first, my own's while the WAN is crossed. */
template <typename F> void each_entry(const topology &t, const plan &p, int me, F f)
{
    const int mine = static_cast<int>(value(t.site_of(me)));
    site_entries entries(p);
    for (int k = 1; k <= t.site_count(); ++k) {
        const team there = site_team(t, site_at((mine + k) % t.site_count()), me);
        for (uint32_t e : entries.of(there.size()))
            if (const int to = there.rank(e); to != me)
                f(to);
    }
}

/**
 * From when the leaders of sites have their parts until all hosts have the result, beside the latency: an entry hears from
 * every site and combines what it hears, the leader sends to all of them, the last of which waits for the rest; then trees.
 */
inline int64_t entries_down_ns(const topology &t, const facts &f, uint64_t bytes, const plan &p)
{
    const int64_t hosts = widest_site(t), entries = std::min<int64_t>(p.entries, hosts), below = (hosts + entries - 1) / entries;
    const int64_t alone = sends_ns(f, bytes, (t.site_count() - 1) * (entries + 1)) / 2;
    const int64_t together = sends_ns(f, bytes, t.site_count() * entries - 1 + root_sends(below, p.lambda));
    return sharing_ns(f, bytes, alone, together) + combine_ns(f, static_cast<int64_t>(bytes) * (t.site_count() - 1))
           + tree_down_ns(f, bytes, below, p.lambda);
}

/** Up a tree to a leader in each site, from there to the entries of all sites, and down from these, `bytes` at each hop. */
inline int64_t leaders_ns(const topology &t, const facts &f, uint64_t bytes, const plan &p)
{
    const auto size = static_cast<int64_t>(bytes);
    return crossing_ns(f, f.widest_ns(), size) + tree_up_ns(f, bytes, widest_site(t), p.lambda) + entries_down_ns(t, f, bytes, p)
           + 2 * steps(widest_node(t)) * f.message_ns + lanes_up_ns(t, f, size) + lanes_down_ns(t, f, size);
}

/** For algorithm::buffers: a tree inside a host, a part of each site, and what a step of reducing holds. */
inline uint32_t exchange_buffers(const topology &t, const plan &)
{
    return tree_buffers(widest_node(t)) + 3 + static_cast<uint32_t>(t.site_count());
}

/** For algorithm::buffers: what exchange_reduce() takes. */
inline uint32_t exchanged_buffers(const topology &t, const plan &p) { return exchanges(p) ? static_cast<uint32_t>(widest_site(t)) : 0; }

/** For algorithm::buffers: trees inside a host and a site, a part of each site, and what a step holds. */
inline uint32_t site_buffers(const topology &t, const plan &)
{
    return tree_buffers(widest_site(t)) + tree_buffers(widest_node(t)) + 2 * static_cast<uint32_t>(t.site_count()) + 6;
}

} // namespace wan

#endif
