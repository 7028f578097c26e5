/*
 * The test matrix, derived from the registry: every algorithm on many shapes
 * of sites, placements, roots, counts, links and segmentations, through the
 * verifier and the in-memory port; and what must cross the WAN, said here
 * once more and independently of the algorithms.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_ALGO_MATRIX_HPP
#define TEST_ALGO_MATRIX_HPP

#include "algo/registry.hpp"
#include "algo/sites.hpp"
#include "exec/memory_port.hpp"
#include "plan/shared_ways.hpp"
#include "sched/verifier.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace wan_test {

using namespace wan;

enum class placement { block, roundrobin, shuffled };

/** Ranks of `sizes` sites laid out; `lanes` ranks share a host (the last host of a site may have fewer); half of the shuffled ones have switches. */
inline topology lay_out(const std::vector<int> &sizes, placement how, int lanes, uint64_t seed)
{
    static const char *names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"};
    std::vector<place> order;
    std::vector<std::vector<place>> sites(sizes.size());
    for (size_t s = 0; s < sizes.size(); ++s)
        for (int i = 0; i < sizes[s]; ++i)
            sites[s].push_back({names[s % std::size(names)], 1000 * s + static_cast<uint64_t>(i / lanes)});
    if (how == placement::roundrobin) {
        const size_t all = static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), 0));
        for (size_t i = 0; order.size() < all; ++i)
            for (auto &s : sites)
                if (i < s.size())
                    order.push_back(s[i]);
    } else {
        for (auto &s : sites)
            order.insert(order.end(), s.begin(), s.end());
        if (how == placement::shuffled) {
            std::mt19937_64 random(seed);
            std::shuffle(order.begin(), order.end(), random);
            static const char *switches[] = {"z", "y/2", "y/1", "y", ""};
            if (random() % 2 == 0)      // hosts of a site in another order than their lowest ranks
                for (place &p : order)
                    p.inside = switches[p.node % 5];
        }
    }
    return topology(order);
}

using programs = std::vector<std::shared_ptr<const program>>;

inline programs build_all(const topology &t, const plan &p, bool scattered = false)
{
    programs all;
    for (int r = 0; r < t.size(); ++r)
        all.push_back(std::make_shared<program>(build_schedule(t, p, r, scattered)));
    return all;
}

inline std::string describe(const topology &t, const plan &p, const verify_options &o)
{
    std::ostringstream s;
    s << print(p) << "; sites";
    for (int i = 0; i < t.site_count(); ++i) {
        s << (i ? " | " : " ");
        for (int n = 0; n < t.node_count(site_at(i)); ++n)
            for (int l = 0; l < t.lane_count(site_at(i), n); ++l)
                s << (l ? "+" : n ? " " : "") << t.rank_at(site_at(i), n, l);
    }
    s << "; count " << o.count << " segment " << o.segment << " window " << o.window << (o.in_place ? " in place" : "")
      << (o.commutative ? "" : " non-commutative");
    for (size_t i = 0; i < o.sizes.size(); ++i)
        s << (i ? " " : " sizes ") << o.sizes[i];
    s << (o.scattered ? " scattered" : "") << " seed " << o.seed;
    return s.str();
}

/* ---- what must cross --------------------------------------------------------------------- */

/** Hosts of a site that the root enters: by simulation of the postal model, message by message. */
inline int postal_entries(int hosts, const plan &p, int gap)
{
    // Everyone who has the message sends one a unit; the root one each `gap`; arrivals lambda later.
    // Written as a search over time instead of a queue: who can deliver the next message first?
    struct source {
        uint64_t next;      // arrival of its next message
        bool outside;
    };
    std::vector<source> sources{{p.lambda, false}};     // the first host has it at time 0
    int entries = 1;
    if (p.entries > 1)
        sources.push_back({static_cast<uint64_t>(gap), true});
    for (int served = 1; served < hosts; ++served) {
        size_t best = 0;
        for (size_t i = 1; i < sources.size(); ++i)
            if (sources[i].next < sources[best].next || (sources[i].next == sources[best].next && sources[i].outside))
                best = i;
        const uint64_t arrival = sources[best].next;
        sources[best].next += sources[best].outside ? static_cast<uint64_t>(gap) : 1;
        if (sources[best].outside && ++entries >= static_cast<int>(p.entries))
            sources[best].next = UINT64_MAX;
        sources.push_back({arrival + p.lambda, false});
    }
    return entries;
}

/** Elements that cross from site a to site b: exactly.  `sites_of`: of ranks, looked up once for all pairs. */
inline uint64_t expected_crossing(const topology &t, const std::vector<site_id> &sites_of, const plan &p, const verify_options &o, int a, int b)
{
    const std::string_view name = p.algo->name;
    const int sites = t.site_count();
    auto site_of = [&](int r) { return sites_of[static_cast<size_t>(r)]; };
    auto site_at_rank = [&](int r) { return static_cast<int>(value(site_of(r))); };
    if (p.algo->collective == WAN_BARRIER)
        return 0;
    if (p.algo->collective == WAN_REDUCE) {
        uint64_t runs = 0;      // as often as a rank of a follows one that is not
        for (int r = 0; r < t.size(); ++r)
            runs += site_at_rank(r) == a && (r == 0 || site_at_rank(r - 1) != a);
        const uint64_t times = name == "flat" ? static_cast<uint64_t>(t.rank_count(site_at(a))) : name == "runs" ? runs : 1;
        const int home = site_at_rank(p.root);
        if (name == "chain" && p.order == site_order::chain)     // each to the one before it, counted from the root's
            return a != home && b == (a + sites - 1) % sites ? o.count : 0;
        return b == home ? times * o.count : 0;
    }
    if (p.algo->collective == WAN_SCAN || p.algo->collective == WAN_EXSCAN) {
        if (name == "chain" && p.order == site_order::chain)
            return b == a + 1 ? o.count : 0;
        // What ranks of a without one of another site between them add up to, once, where ranks of b follow.
        uint64_t totals = 0, pending = 0;
        for (int r = 0; r < t.size(); ++r) {
            if (site_at_rank(r) == a && (r == 0 || site_at_rank(r - 1) != a))
                ++pending;
            if (site_at_rank(r) == b)
                totals += std::exchange(pending, 0);
        }
        return totals * o.count * (name == "leaders" ? static_cast<uint64_t>(postal_entries(t.node_count(site_at(b)), p, 1)) : 1);
    }
    if (p.algo->collective == WAN_ALLGATHER) {
        uint64_t of_a = 0;
        for (int r = 0; r < t.size(); ++r)
            if (site_of(r) == site_at(a))
                of_a += o.sizes.empty() ? o.count : o.sizes[static_cast<size_t>(r) % o.sizes.size()];
        if (name == "leaders")      // to each host that hears from leaders
            return of_a * static_cast<uint64_t>(postal_entries(t.node_count(site_at(b)), p, 1));
        return of_a * (name == "direct" ? static_cast<uint64_t>(t.rank_count(site_at(b))) : 1);
    }
    if (p.algo->collective == WAN_GATHER || p.algo->collective == WAN_SCATTER) {
        // What ranks of the one site have for the root, or the root for them.
        const site_id home = site_of(p.root), there = site_at(p.algo->collective == WAN_GATHER ? a : b);
        if (home != site_at(p.algo->collective == WAN_GATHER ? b : a))
            return 0;
        uint64_t sum = 0;
        for (int r = 0; r < t.size(); ++r)
            if (site_of(r) == there)
                sum += o.sizes.empty() ? o.count : o.sizes[static_cast<size_t>(r) % o.sizes.size()];
        return sum;
    }
    const auto size_of = [&](int from, int to) {    // of a block: by rank, or by the two ranks
        const auto i = static_cast<size_t>(p.algo->collective == WAN_ALLTOALL ? 2 * from + to : to);
        return static_cast<uint64_t>(o.sizes.empty() ? o.count : o.sizes[i % o.sizes.size()]);
    };
    if (p.algo->collective == WAN_ALLTOALL || p.algo->collective == WAN_REDUCE_SCATTER) {
        // Alltoall: every block once; else the blocks of b's ranks once for what can be combined in a.
        uint64_t sum = 0;
        int runs = 0;
        for (int from = 0; from < t.size(); ++from) {
            if (site_of(from) != site_at(a))
                continue;
            runs += from == 0 || site_of(from - 1) != site_at(a);
            for (int to = 0; to < t.size(); ++to)
                if (site_of(to) == site_at(b))
                    sum += size_of(from, to);
        }
        if (name == "bruck") {      // each block hop by hop, by slots
            sum = 0;
            for (int from = 0; from < t.size(); ++from)
                for (int to = 0; to < t.size(); ++to) {
                    const int distance = (t.slot_of(to) - t.slot_of(from) + t.size()) % t.size();
                    int at = t.slot_of(from);
                    for (int bit = 1; bit <= distance; bit *= 2)
                        if (distance & bit) {
                            const int next = (at + bit) % t.size();
                            sum += site_of(t.rank_of(at)) == site_at(a) && site_of(t.rank_of(next)) == site_at(b) ? o.count : 0;
                            at = next;
                        }
                }
            return sum;
        }
        if (p.algo->collective == WAN_ALLTOALL || name == "direct")
            return sum;
        return sum / static_cast<uint64_t>(t.rank_count(site_at(a)))
               * static_cast<uint64_t>(name == "runs" ? runs : name == "swap" ? t.node_count(site_at(a)) : 1);
    }
    if (p.algo->collective == WAN_BCAST) {
        const int home = static_cast<int>(value(site_of(p.root)));
        if ((name == "vandegeijn" || name == "chain") && p.order == site_order::chain)
            return b == (a + 1) % sites && b != home ? o.count : 0;
        if (a != home)
            return 0;
        if (name == "tree")
            return static_cast<uint64_t>(postal_entries(t.node_count(site_at(b)), p, sites - 1)) * o.count;
        return o.count;     // vandegeijn, chain, farfirst
    }
    if (name == "flat")
        return static_cast<uint64_t>(t.rank_count(site_at(a))) * o.count;
    if (name == "ordered") {
        // Every rank of a: its contribution to each block of b's, and its own block to each rank of b.
        uint64_t sum = 0;
        const auto ranks = static_cast<uint32_t>(t.size());
        for (size_t from = 0; from < o.count; from += o.segment) {
            const size_t length = std::min(o.segment, o.count - from);
            uint64_t of_a = 0, of_b = 0;
            for (uint32_t r = 0; r < ranks; ++r) {
                const span_of mine = block(r, ranks);
                const uint64_t n = mine.hi.of(length) - mine.lo.of(length);
                const int s = static_cast<int>(value(site_of(static_cast<int>(r))));
                of_a += s == a ? n : 0;
                of_b += s == b ? n : 0;
            }
            sum += of_b * static_cast<uint64_t>(t.rank_count(site_at(a))) + of_a * static_cast<uint64_t>(t.rank_count(site_at(b)));
        }
        return sum;
    }
    if (name == "runs") {   // as often as a rank of a follows one that is not
        uint64_t runs = 0;
        for (int r = 0; r < t.size(); ++r)
            runs += static_cast<int>(value(site_of(r))) == a && (r == 0 || static_cast<int>(value(site_of(r - 1))) != a);
        return runs * o.count;
    }
    if (name == "counterpart") {    // of each host's block: b's share, and what a's comes to
        uint64_t sum = 0;
        const auto hosts = static_cast<uint32_t>(t.node_count(site_at(a)));
        const uint32_t owners = p.inner == inner_steps::halving ? std::bit_floor(hosts) : hosts;
        for (size_t from = 0; from < o.count; from += o.segment)
            for (uint32_t i = 0; i < owners; ++i)
                for (int s : {a, b}) {
                    const span_of one = block(i * static_cast<uint32_t>(sites) + static_cast<uint32_t>(s), owners * static_cast<uint32_t>(sites));
                    const size_t length = std::min(o.segment, o.count - from);
                    sum += one.hi.of(length) - one.lo.of(length);
                }
        return sum;
    }
    if (name == "leaders")  // the leader to each host that combines
        return static_cast<uint64_t>(postal_entries(t.node_count(site_at(b)), p, 1)) * o.count;
    return o.count;         // rabenseifner, twotier
}

/** Hosts of site s that can carry payload to other sites. */
inline int possible_gateways(const topology &t, const plan &p, int s)
{
    const int hosts = t.node_count(site_at(s));
    if (kind_of(p.algo->collective).root && !kind_of(p.algo->collective).blocks && s == static_cast<int>(value(t.site_of(p.root))))
        return std::max(1, hosts - 1);      // the root is left out where there is another host
    return hosts;
}

/**
 * Whether shared_ways knows exactly what an algorithm lets cross: not of those whose shares are rounded
 * ("ordered", "counterpart", "bruck"), or that hear by other trees ("leaders", bcast "tree"), nor of Scan.
 */
inline bool crossing_is_told(const algorithm &a)
{
    return a.crosses != crossing::by_entries && a.crosses != crossing::by_share && a.crosses != crossing::by_hops && std::string_view(a.name) != "ordered" && a.collective != WAN_SCAN && a.collective != WAN_EXSCAN;
}

/** "" or what is wrong with the traffic: bytes exactly, senders at most n, and n where there are n gateways. */
inline std::string check_traffic(const topology &t, const plan &p, const verify_options &o, const observations &seen)
{
    const uint32_t declared = p.algo->senders(t, p);
    const bool gateways = (p.algo->parameters & uses_links) != 0;
    if (gateways && declared > p.links)
        return "declares " + std::to_string(declared) + " senders with " + std::to_string(p.links) + " links";
    // Of a Reduce_scatter, what goes to all other sites together is shared, not what goes to each.
    const bool shared = p.algo->collective == WAN_REDUCE_SCATTER;
    const int home = kind_of(p.algo->collective).root ? static_cast<int>(value(t.site_of(p.root))) : 0;
    const bool blocks_each = kind_of(p.algo->collective).blocks;
    const request asked{.collective = p.algo->collective, .root = p.root,
                        .bytes = blocks_each ? o.count * static_cast<uint64_t>(t.size()) : o.count};
    std::vector<site_id> sites_of;
    for (int r = 0; r < t.size(); ++r)
        sites_of.push_back(t.site_of(r));
    int least = INT32_MAX, blocks = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        least = std::min(least, possible_gateways(t, p, s));
        blocks = std::max(blocks, possible_gateways(t, p, s));
    }
    for (int a = 0; a < t.site_count(); ++a) {
        std::vector<int> of_site;
        for (int b = 0; b < t.site_count(); ++b) {
            if (a == b)
                continue;
            const auto &d = seen.at(site_at(a), site_at(b));
            const auto where = [&] { return "from site " + std::to_string(a) + " to site " + std::to_string(b) + ": "; };
            const uint64_t expected = expected_crossing(t, sites_of, p, o, a, b);
            if (d.elements != expected)
                return where() + std::to_string(d.elements) + " elements crossed, expected " + std::to_string(expected);
            // What the planner takes to cross, but for what is rounded, and entries that a site does not have.
            const uint64_t copies = static_cast<uint64_t>(crossing_copies(t, p.algo->collective, p.algo->crosses, a, b))
                                    * (p.algo->crosses == crossing::by_entries ? std::min<uint64_t>(p.entries, static_cast<uint64_t>(t.node_count(site_at(b)))) : 1);
            const uint64_t told = least_crossing(t, asked, home, p.order, a, b) * copies;
            if (o.sizes.empty() && told != d.elements && crossing_is_told(*p.algo))
                return where() + "the planner counts on " + std::to_string(told) + " elements";
            if (p.algo->takes_turns)
                continue;
            of_site.insert(of_site.end(), d.senders.begin(), d.senders.end());
            if (d.senders.size() > declared)
                return where() + std::to_string(d.senders.size()) + " senders, declared " + std::to_string(declared);
            // With enough elements for everyone's block, exactly n where n gateways exist.
            if (gateways && expected && !shared && o.sizes.empty() && p.links <= static_cast<uint32_t>(least)
                && std::min(o.segment, o.count) >= static_cast<size_t>(blocks) * static_cast<size_t>(blocks)
                && d.senders.size() != p.links)
                return where() + std::to_string(d.senders.size()) + " senders, " + std::to_string(p.links) + " links";
        }
        std::sort(of_site.begin(), of_site.end());
        of_site.erase(std::unique(of_site.begin(), of_site.end()), of_site.end());
        if (seen.at_once[static_cast<size_t>(a)] > static_cast<int>(declared))
            return "site " + std::to_string(a) + ": " + std::to_string(seen.at_once[static_cast<size_t>(a)]) + " send at once, declared "
                   + std::to_string(declared);
        if (shared && gateways && o.sizes.empty() && p.links <= static_cast<uint32_t>(least)
            && o.count >= static_cast<size_t>(blocks) * static_cast<size_t>(blocks) && of_site.size() != p.links)
            return "site " + std::to_string(a) + ": " + std::to_string(of_site.size()) + " senders, " + std::to_string(p.links) + " links";
        if (of_site.size() > declared)
            return "site " + std::to_string(a) + ": " + std::to_string(of_site.size()) + " senders to all sites, declared "
                   + std::to_string(declared);
    }
    return "";
}

/** `texts_known`: these schedules have been here before, with the same root. */
inline std::string try_one(const topology &t, const plan &p, const programs &all, const verify_options &o, bool texts_known = false)
{
    observations traffic;
    std::string why = texts_known ? verify_run(t, all, o, &traffic) : verify(t, all, o, &traffic);
    if (why.empty())
        why = check_traffic(t, p, o, traffic);
    return why.empty() ? "" : describe(t, p, o) + ": " + why;
}

inline bool serves(const algorithm &a, const topology &t, const verify_options &o)
{
    const bool vary = !o.sizes.empty(), local = vary && !kind_of(a.collective).counts_shared;
    const request r{.collective = a.collective, .root = 0, .bytes = o.count, .element_bytes = 1, .commutative = o.commutative,
                    .counts_vary = vary, .counts_local = local};
    return a.serves(t, r) && (o.commutative ? !a.only_ordered : a.keeps_order) && (!vary || a.any_counts) && (!local || a.local_counts);
}

inline std::string name_of(const algorithm &a) { return std::string(wan_collective_name(a.collective)) + " " + a.name; }

/* ---- dimensions ---------------------------------------------------------------------------- */

/** All partitions of n into at least two parts, largest first. */
inline std::vector<std::vector<int>> partitions(int n)
{
    std::vector<std::vector<int>> all;
    std::vector<int> part;
    auto extend = [&](auto &self, int left, int most) -> void {
        if (left == 0) {
            if (part.size() > 1)
                all.push_back(part);
            return;
        }
        for (int k = std::min(left, most); k >= 1; --k) {
            part.push_back(k);
            self(self, left - k, k);
            part.pop_back();
        }
    };
    extend(extend, n, n);
    return all;
}

/** The plans of an algorithm on a topology: every parameter it declares, over what can make a difference. */
inline std::vector<plan> plans_of(const algorithm &a, const topology &t)
{
    const uint32_t widest = static_cast<uint32_t>(widest_site(t));
    std::set<uint32_t> links{1}, lambdas{1}, entries{1};
    const uint32_t crossing = a.takes_turns ? all_senders(t, {}) : widest;
    if (a.parameters & uses_links)
        links = {1, 2, 4, crossing};
    if (a.parameters & uses_tree)
        lambdas = widest <= 2 ? std::set<uint32_t>{1} : widest == 3 ? std::set<uint32_t>{1, 5} : std::set<uint32_t>{1, 2, 5};
    if (a.parameters & uses_entries)
        entries = {1, 2, std::max(1u, widest)};
    if (a.parameters & uses_far_limit)
        entries = {1, 2, 1000};
    std::vector<site_order> orders{site_order::star};
    if ((a.parameters & uses_order) && t.site_count() > 2)
        orders.push_back(site_order::chain);
    std::vector<inner_steps> inners{inner_steps::circulant};
    if ((a.parameters & uses_inner) && widest > 2)
        inners.push_back(inner_steps::ring);
    std::vector<plan> all;
    const std::set<uint32_t> pieces = a.parameters & uses_pieces ? std::set<uint32_t>{1, 3} : std::set<uint32_t>{1};
    for (int root = 0; root < (kind_of(a.collective).root ? t.size() : 1); ++root)
        for (uint32_t n : links)
            for (uint32_t l : lambdas)
                for (uint32_t e : entries)
                    for (site_order o : orders)
                        for (inner_steps inner : inners)
                            for (uint32_t k : pieces) {
                                if (n > std::max(crossing, 1u) && n != 1)
                                    continue;
                                if (k > 1 && l != *lambdas.rbegin())    // pieces of bundles: where most hosts wait for them
                                    continue;
                                plan p;
                                p.algo = &a;
                                p.inner = inner;
                                p.root = root;
                                p.links = n;
                                p.lambda = l;
                                p.entries = e;
                                p.order = o;
                                p.pieces = k;
                                all.push_back(p);
                            }
    return all;
}

/** Blocks of one size and of several, none among them, where they lie, in place or not. */
inline std::vector<verify_options> vectors_of(const algorithm &a)
{
    std::vector<verify_options> all;
    const bool apart = kind_of(a.collective).apart;
    for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{7}})
        for (const std::vector<size_t> &sizes : {std::vector<size_t>{}, std::vector<size_t>{count, 0, 2 * count + 1}})
            for (bool scattered : {false, true})
                for (bool in_place : {false, true})
                    for (bool commutative : {true, false}) {
                        verify_options o;
                        o.collective = a.collective;
                        o.count = count;
                        o.segment = std::max<size_t>(1, count);
                        o.sizes = sizes;
                        o.scattered = scattered;
                        o.in_place = in_place;
                        o.commutative = commutative;
                        if ((in_place && apart) || (!commutative && (!kind_of(a.collective).operation || !a.keeps_order)))
                            continue;
                        all.push_back(o);
                    }
    return all;
}

/** How a message is cut: counts around the number of ranks, segments that divide and that do not, windows. */
inline std::vector<verify_options> cuts_of(const algorithm &a, int ranks)
{
    if (kind_of(a.collective).blocks)
        return vectors_of(a);
    const size_t p = static_cast<size_t>(ranks);
    std::vector<verify_options> all;
    const bool segmented = a.parameters & uses_segment;
    for (size_t count : {size_t{0}, size_t{1}, p - 1, p, p + 1, p * p + 3}) {
        std::set<size_t> segments{std::max<size_t>(1, count)};
        if (segmented)
            segments.insert({1, 2, p, std::max<size_t>(1, count / 2)});
        for (size_t segment : segments) {
            if (segment > std::max<size_t>(1, count) || (segment == 1 && count > 2 * p))
                continue;
            for (uint32_t window : {1u, 3u}) {
                if (window > 1 && segment >= count)
                    continue;
                for (bool in_place : {false, true})
                    for (bool commutative : {true, false}) {
                        verify_options o;
                        o.collective = a.collective;
                        o.count = count;
                        o.segment = segment;
                        o.window = window;
                        o.in_place = in_place;
                        o.commutative = commutative;
                        if (!commutative && (!kind_of(a.collective).operation || !a.keeps_order))
                            continue;
                        all.push_back(o);
                    }
            }
        }
    }
    return all;
}

} // namespace wan_test

#endif
