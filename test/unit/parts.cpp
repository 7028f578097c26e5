/*
 * What the algorithms are made of: trees, skips, partitions, gateways.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/parts.hpp"

#include "matrix.hpp"
#include "unit.hpp"

namespace {

using namespace wan;
using namespace wan_test;

std::string show(const std::vector<int> &v)
{
    std::string s;
    for (int x : v)
        s += std::to_string(x) + " ";
    return s;
}

std::string check_range_tree()
{
    WAN_CHECK_THAT((range_tree(8, 0) == std::vector<int>{-1, 0, 0, 2, 0, 4, 4, 6}), show(range_tree(8, 0)));
    WAN_CHECK_THAT((range_tree(6, 3) == std::vector<int>{3, 0, 3, -1, 3, 4}), show(range_tree(6, 3)));
    for (uint32_t nodes = 1; nodes <= 70; ++nodes)
        for (uint32_t root = 0; root < nodes; ++root) {
            const auto parent = range_tree(nodes, root);
            WAN_CHECK(parent[root] == -1 && std::count(parent.begin(), parent.end(), -1) == 1);
            for (uint32_t i = 0; i < nodes; ++i) {
                int depth = 0;
                for (int at = static_cast<int>(i); parent[static_cast<size_t>(at)] >= 0; at = parent[static_cast<size_t>(at)])
                    WAN_CHECK(++depth <= static_cast<int>(std::bit_width(nodes - 1)));
            }
        }
    return "";
}

/** Messages that leave a package: one for each other package, where those are of a power of two. */
std::string check_domains()
{
    for (int packages : {1, 2, 4})
        for (int root : {0, 5, 15, 22}) {
            std::vector<place> places;
            for (int r = 0; r < 32; ++r)        // dealt round robin, as --map-by socket does
                places.push_back({r < 16 ? "a" : "b", 1, static_cast<uint64_t>(r % packages)});
            const topology t(places);
            for (bool down : {true, false}) {
                int left = 0, messages = 0;
                for (int me = 0; me < 32; ++me) {
                    builder b(me);
                    const int leader = node_leader(t, me, root);
                    down ? node_broadcast(b, t, leader, buffer::out) : node_reduce(b, t, leader, buffer::out);
                    const schedule s = b.finish();
                    for (const op &o : s.ops)
                        if (o.kind == op_kind::send) {
                            ++messages;
                            left += o.peer % packages != me % packages;
                        }
                }
                WAN_CHECK_THAT(messages == 30 && left == 2 * (packages - 1),
                               std::to_string(left) + " of " + std::to_string(messages) + " leave one of " + std::to_string(packages) + " packages, root " + std::to_string(root));
            }
        }
    return "";
}

std::string check_postal_tree()
{
    WAN_CHECK(postal_tree(0, 1).empty());
    WAN_CHECK(postal_tree(1, 1) == std::vector<int>{-1});
    WAN_CHECK_THAT((postal_tree(8, 1) == std::vector<int>{-1, 0, 0, 1, 0, 1, 2, 3}), show(postal_tree(8, 1)));   // binomial
    WAN_CHECK((postal_tree(5, 100) == std::vector<int>{-1, 0, 0, 0, 0}));                                          // flat
    for (uint32_t lambda : {1u, 2u, 3u, 7u, 64u})
        for (uint32_t outside : {0u, 1u, 2u, 5u, 100u})
            for (uint32_t gap : {1u, 3u, 63u})
                for (uint32_t nodes = 1; nodes <= 140; nodes += nodes < 20 ? 1 : 17) {
                    const auto parent = postal_tree(nodes, lambda, outside, gap);
                    WAN_CHECK(parent.size() == nodes && parent[0] == -1);
                    // A tree: parents before children.  Times as the model says; no message later than it could be.
                    std::vector<uint64_t> time(nodes, 0), sent(nodes, 0);
                    uint64_t entries = 1, last = 0;
                    for (uint32_t i = 1; i < nodes; ++i) {
                        WAN_CHECK(parent[i] < static_cast<int>(i));
                        if (parent[i] < 0) {
                            time[i] = gap * entries++;
                        } else {
                            const auto p = static_cast<size_t>(parent[i]);
                            time[i] = time[p] + sent[p]++ + lambda;
                        }
                        WAN_CHECK_THAT(time[i] >= last, "in the order of arrival");
                        last = time[i];
                    }
                    WAN_CHECK(entries <= std::max(1u, outside));
                    // Optimal: nobody could have served the last one earlier.
                    for (uint32_t i = 0; i + 1 < nodes; ++i)
                        WAN_CHECK(time[i] + sent[i] + lambda >= last);
                    plan p;
                    p.lambda = lambda;
                    p.entries = std::max(1u, outside);
                    WAN_CHECK(static_cast<uint64_t>(postal_entries(static_cast<int>(nodes), p, static_cast<int>(gap))) == entries);
                }
    return "";
}

/** Subtrees are runs; nobody has it later than in the best tree of the same nodes. */
std::string check_postal_runs()
{
    WAN_CHECK(postal_runs(0, 1).empty());
    WAN_CHECK_THAT((postal_runs(8, 1) == std::vector<int>{-1, 0, 0, 2, 0, 4, 4, 6}), show(postal_runs(8, 1)));
    WAN_CHECK((postal_runs(5, 100) == std::vector<int>{-1, 0, 0, 0, 0}));
    auto finish = [](const std::vector<int> &parent, uint32_t lambda, bool last_first) {
        const size_t n = parent.size();
        std::vector<uint64_t> time(n, 0);
        for (size_t i = 0; i < n; ++i) {
            uint64_t sent = 0;
            for (size_t k = 1; k < n; ++k)
                if (const size_t c = last_first ? n - k : k; parent[c] == static_cast<int>(i))
                    time[c] = time[i] + sent++ + lambda;
        }
        return n ? *std::max_element(time.begin(), time.end()) : 0;
    };
    for (uint32_t lambda : {1u, 2u, 3u, 7u, 64u})
        for (uint32_t nodes = 1; nodes <= 140; nodes += nodes < 20 ? 1 : 17) {
            const auto runs = postal_runs(nodes, lambda), best = postal_tree(nodes, lambda);
            WAN_CHECK(runs.size() == nodes && runs[0] == -1);
            for (uint32_t i = 1; i < nodes; ++i) {
                int at = static_cast<int>(i) - 1;       // the one before, or one above it
                WAN_CHECK(runs[i] >= 0 && runs[i] < static_cast<int>(i));
                while (at >= 0 && at != runs[i])
                    at = runs[static_cast<size_t>(at)];
                WAN_CHECK_THAT(at == runs[i], show(runs));
            }
            WAN_CHECK_THAT(finish(runs, lambda, true) == finish(best, lambda, false), std::to_string(nodes) + " " + std::to_string(lambda) + ": " + show(runs));
        }
    return "";
}

std::string check_circulant_skips()
{
    for (uint32_t p = 1; p <= 5000; ++p) {
        const auto s = circulant_skips(p);
        WAN_CHECK(s.front() == p && s.back() == 1);
        WAN_CHECK(s.size() == 1 + static_cast<size_t>(p > 1 ? std::bit_width(p - 1) : 0));
        for (size_t k = 0; k + 1 < s.size(); ++k)
            WAN_CHECK(s[k + 1] == (s[k] + 1) / 2);
    }
    // Two labels a step fit in the range of each part up to 2^12 hosts.
    const auto most = 2 * static_cast<int>(circulant_skips(4096).size() - 1);
    WAN_CHECK(label::reduce_scatter + most <= label::allgather && label::allgather + most <= WAN_LABELS);
    WAN_CHECK(label::cross_out < label::reduce_scatter);
    // One label a step of a ring.
    const auto ring = static_cast<int>(largest_ring) - 1;
    WAN_CHECK(label::reduce_scatter + ring <= label::allgather && label::allgather + ring <= WAN_LABELS);
    return "";
}

std::string check_site_team()
{
    const topology t = lay_out({5, 4, 1}, placement::roundrobin, 2, 1);
    for (int root = -1; root < t.size(); ++root)
        for (int s = 0; s < 3; ++s)
            for (bool without : {false, true})
                for (int me = 0; me < t.size(); ++me) {
                    if (without && root < 0)
                        continue;
                    const team g = site_team(t, site_at(s), me, root, without);
                    std::set<int> hosts;
                    WAN_CHECK(g.blocks == g.size());
                    for (uint32_t i = 0; i < g.size(); ++i) {
                        const auto at = t.locate(g.rank(i));
                        WAN_CHECK(at.site == site_at(s) && hosts.insert(at.node).second);
                        WAN_CHECK(at.lane == 0 || g.rank(i) == root);
                        WAN_CHECK(g.index_of(g.rank(i)) == static_cast<int>(i));
                        for (uint32_t first = 0; first < g.size(); ++first) {
                            const team turned = g.rotated(first);
                            WAN_CHECK(turned.rank(i) == g.rank((i + first) % g.size()) && turned.index_of(turned.rank(i)) == static_cast<int>(i));
                            WAN_CHECK(turned.me == turned.index_of(me));
                        }
                        WAN_CHECK((g.me == static_cast<int>(i)) == (g.rank(i) == me));
                    }
                    const bool left_out = without && t.site_of(root) == site_at(s);
                    WAN_CHECK(static_cast<int>(hosts.size()) == t.node_count(site_at(s)) - left_out);
                    if (root >= 0 && t.site_of(root) == site_at(s))
                        WAN_CHECK((g.index_of(root) >= 0) == !without);
                }
    WAN_CHECK(node_leader(t, 3) == t.rank_at(t.locate(3).site, t.locate(3).node));
    for (int r = 0; r < t.size(); ++r)
        WAN_CHECK(node_leader(t, r, r) == r);
    return "";
}

std::vector<int> consecutive(int first, uint32_t size)
{
    std::vector<int> ranks(size);
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

/** Every byte of the segment reaches its new owner once, by at most one message a pair. */
std::string check_reshare()
{
    constexpr size_t length = 5040;
    auto make = [](uint32_t size, uint32_t blocks, int first, int me) {
        team g(consecutive(first, size), me);
        g.blocks = blocks;
        return g;
    };
    for (uint32_t p = 1; p <= 9; ++p)
        for (uint32_t q = 1; q <= 9; ++q)
            for (uint32_t fewer : {0u, 1u})
                for (int second : {100, 0, 1}) {        // separate teams, the same ranks, some ranks in both
                    if (fewer && p < 2)
                        continue;
                    const uint32_t blocks = p - fewer;
                    std::map<std::pair<int, int>, std::vector<span_of>> sent, received;
                    std::map<int, std::vector<char>> got;
                    for (int me = 0; me < 120; ++me) {
                        const team from = make(p, blocks, 0, me), to = make(q, q, second, me);
                        if (!from.has_me() && !to.has_me())
                            continue;
                        builder b(me);
                        const buffer src = b.scratch(), dst = b.scratch();
                        reshare(b, from, to, src, dst, 9);
                        auto &mine = got[me];
                        mine.resize(length);
                        const schedule s = b.finish();
                        WAN_CHECK(verify_static(s).empty());
                        for (const op &o : s.ops) {
                            if (o.kind == op_kind::send)
                                sent[std::pair{me, o.peer}].push_back(o.part);
                            else if (o.kind == op_kind::recv)
                                received[std::pair{o.peer, me}].push_back(o.part);
                            if (o.kind != op_kind::send)
                                for (size_t e = o.part.lo.of(length); e < o.part.hi.of(length); ++e)
                                    ++mine[e];
                            WAN_CHECK(o.kind != op_kind::reduce);
                            if (o.kind != op_kind::recv)
                                for (size_t e = o.part.lo.of(length); e < o.part.hi.of(length); ++e)
                                    WAN_CHECK_THAT(e >= from.own().lo.of(length) && e < from.own().hi.of(length), "sends what it does not own");
                        }
                    }
                    WAN_CHECK(sent.size() == received.size());
                    for (const auto &[pair, parts] : sent)
                        WAN_CHECK(parts.size() == 1 && received[pair].size() == 1 && parts[0].lo == received[pair][0].lo && parts[0].hi == received[pair][0].hi);
                    const team to = make(q, q, second, -1);
                    for (uint32_t j = 0; j < q; ++j) {
                        const span_of own = block(j, q);
                        const auto &mine = got[to.rank(j)];
                        for (size_t e = 0; e < length; ++e)
                            WAN_CHECK(mine[e] == (e >= own.lo.of(length) && e < own.hi.of(length) ? 1 : 0));
                    }
                }
    return "";
}

std::string check_gateways()
{
    for (uint32_t a = 1; a <= 17; ++a)
        for (uint32_t b = 1; b <= 17; ++b)
            for (uint32_t links = 1; links <= 20; ++links) {
                const std::vector<team> all{team(consecutive(0, a), -1), team(consecutive(100, b), -1)};
                const gateways g(links, all);
                WAN_CHECK(g.direct() == (links >= std::max(a, b)));
                for (const team &owners : all) {
                    const team across = g.of(owners, owners.rank(0));
                    const uint32_t wanted = g.direct() ? owners.blocks : std::min(links, owners.blocks);
                    WAN_CHECK(across.blocks == wanted && across.size() == wanted && wanted <= std::max(links, 1u));
                    std::set<int> distinct;
                    for (uint32_t i = 0; i < across.size(); ++i) {
                        distinct.insert(across.rank(i));
                        WAN_CHECK(owners.index_of(across.rank(i)) >= 0);
                        if (!g.direct())
                            WAN_CHECK(g.of(owners, across.rank(i)).me == static_cast<int>(i));
                    }
                    WAN_CHECK(distinct.size() == wanted);
                    WAN_CHECK(g.of(owners, 999).me == (g.direct() ? owners.me : -1));
                    // Evenly spread: neighbours are as far apart as the numbers allow.
                    if (!g.direct())
                        for (uint32_t i = 0; i + 1 < across.size(); ++i)
                            WAN_CHECK(across.rank(i + 1) - across.rank(i) >= static_cast<int>(owners.blocks / wanted));
                }
            }
    return "";
}

/** Scratch buffers are numbered in a byte: asking for more must not give one twice. */
std::string check_scratch_limit()
{
    builder b(0);
    std::set<buffer> seen;
    try {
        for (int i = 0; i < 300; ++i)
            WAN_CHECK_THAT(seen.insert(b.scratch()).second && !seen.contains(buffer::in) && !seen.contains(buffer::out),
                           "scratch " + std::to_string(i) + " is another buffer again");
    } catch (const std::length_error &) {
        WAN_CHECK(seen.size() >= 250);
        return "";
    }
    return "300 scratch buffers";
}

/** An algorithm that says it serves must not run out of scratch, at the ends of what it declares. */
std::string check_scratch_of_algorithms()
{
    struct shape {
        int sites, hosts, lanes;
    };
    for (const auto &[sites, hosts, lanes] : {shape{150, 60, 1}, {64, 1563, 1}, {64, 25, 64}, {2, 4096, 1}, {200, 3, 2}, {150, 700, 1}, {100, 2, 500}, {150, 2000, 1}, {2, 50000, 1}, {64, 8000, 1}, {17, 4096, 1}, {8, 4096, 1}, {1100, 2, 1}}) {
      for (bool lone : {false, true}) {      // one host beside wide sites
        std::vector<int> sizes(static_cast<size_t>(sites), hosts);
        if (lone)
            sizes[0] = 1;
        const topology t = topology::blocks(sizes, lanes);
        for (const algorithm *a : algorithms()) {
            const request r{.collective = a->collective, .root = 0, .bytes = 8, .element_bytes = 8, .commutative = !a->only_ordered};
            if (!a->serves(t, r))
                continue;
            for (uint32_t lambda : {1u, 64u}) {
                plan p;
                p.algo = a;
                p.lambda = lambda;
                p.links = static_cast<uint32_t>(hosts);
                try {
                    build_schedule(t, p, 0);
                } catch (const std::length_error &e) {
                    return print(p) + " on " + std::to_string(sites) + " sites of " + std::to_string(hosts) + " hosts of "
                           + std::to_string(lanes) + (lone ? ", one host in the first: " : ": ") + e.what();
                }
            }
        }
      }
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_postal_tree>), cmocka_unit_test(test<check_postal_runs>), cmocka_unit_test(test<check_range_tree>), cmocka_unit_test(test<check_domains>), cmocka_unit_test(test<check_circulant_skips>), cmocka_unit_test(test<check_site_team>),
        cmocka_unit_test(test<check_reshare>),     cmocka_unit_test(test<check_gateways>),        cmocka_unit_test(test<check_scratch_limit>),
        cmocka_unit_test(test<check_scratch_of_algorithms>),
    };
    return cmocka_run_group_tests_name("parts", tests, nullptr, nullptr);
}
