/*
 * The planner, of collectives with a block for each rank: predictions beside
 * lower bounds, what is chosen, and who sends what to whom.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "model/cost.hpp"

#include "matrix.hpp"
#include "planned.hpp"
#include "unit.hpp"

namespace {

using namespace wan;
using namespace wan_test;

/** Messages to other sites at once: enough for the interface while one is on its way, not many more, fewer for each of a host's ranks. */
std::string check_far_limit()
{
    const int equal[] = {16, 16};
    const topology alone = topology::blocks(equal), shared = lay_out({16, 16}, placement::block, 4, 0);
    const facts f = facts_of(alone);
    uint32_t before = UINT32_MAX;
    for (uint64_t bytes : {0ull, 1ull, 256ull, 4096ull, 65536ull, 1ull << 20, 1ull << 30}) {
        const uint32_t limit = far_limit(alone, f, bytes), each = far_limit(shared, f, bytes);
        const int64_t fills = f.widest_ns() + f.wire_ns(bytes);
        WAN_CHECK(std::has_single_bit(limit) && limit >= 2 && limit <= 1 << 14);
        WAN_CHECK(limit == 1 << 14 || static_cast<int64_t>(limit) * f.wire_ns(bytes) >= fills);
        // Where receivers must consent, there are some to wait for.
        const uint32_t least = exchange_waits(f, bytes) ? 8 : 2;
        WAN_CHECK(limit >= least && limit <= std::max(before, least) && each <= limit);
        // Rounded up to a power of two, and what an idle connection loses: a few round trips.
        WAN_CHECK(limit == least || static_cast<int64_t>(limit / 2) * f.wire_ns(bytes) < fills + 40 * f.widest_ns());
        before = limit;
    }
    return "";
}

/** Whom the operations of a kind with a label are about, rank by rank, in the order in which they are posted. */
std::vector<std::vector<int>> peers_of(const topology &t, const plan &p, op_kind kind, int label)
{
    std::vector<std::vector<int>> all(static_cast<size_t>(t.size()));
    for (int me = 0; me < t.size(); ++me)
        for (const op &o : build_schedule(t, p, me).ops)
            if (o.kind == kind && o.label == label)
                all[static_cast<size_t>(me)].push_back(o.peer);
    return all;
}

/** What stays in a site is posted evenly between what does not, so that neither waits for all of the other. */
std::string check_alltoall_order()
{
    for (const std::vector<int> &sites : {std::vector<int>{8, 8}, {5, 12}, {3, 1, 6}}) {
        const topology t = topology::blocks(sites);
        plan p;
        p.algo = algorithm_named(WAN_ALLTOALL, "direct");
        p.links = p.entries = 1024;
        const auto sent = peers_of(t, p, op_kind::send, label::direct);
        for (int me = 0; me < t.size(); ++me) {
            const int near = t.rank_count(t.site_of(me)) - 1, far = t.size() - 1 - near;
            int inside = 0, outside = 0;
            for (int to : sent[static_cast<size_t>(me)]) {
                ++(t.site_of(to) == t.site_of(me) ? inside : outside);
                WAN_CHECK(std::abs(inside * far - outside * near) <= std::max(near, far));
            }
            WAN_CHECK(inside == near && outside == far);
        }
    }
    return "";
}

/** Contributions that cross uncombined are shared evenly by the hosts that add them. */
std::string check_counterparts()
{
    for (const std::vector<int> &sites : {std::vector<int>{8, 8}, {3, 7}, {7, 3}, {1, 5, 4}}) {
        const topology t = topology::blocks(sites);
        plan p;
        p.algo = algorithm_named(WAN_REDUCE_SCATTER, "swap");
        const auto received = peers_of(t, p, op_kind::recv, label::share_across);
        for (int me = 0; me < t.size(); ++me)
            for (int s = 0; s < t.site_count(); ++s) {
                const site_id from{static_cast<uint32_t>(s)};
                const int theirs = t.node_count(from), mine = t.node_count(t.site_of(me));
                int n = 0;
                for (int peer : received[static_cast<size_t>(me)])
                    n += t.site_of(peer) == from;
                WAN_CHECK(from == t.site_of(me) ? n == 0 : n <= (theirs + mine - 1) / mine && n >= theirs / mine);
            }
    }
    return "";
}

/**
 * Blocks that a lone host sends to other sites, in pieces: none waits until another one has left, nothing is copied again and
 * again; and sites do not all begin with the same receiver.
 */
std::string check_lone_senders()
{
    const auto blocks_in = [](const span_of &x) { return x.hi.block - x.lo.block + static_cast<double>(x.hi.num) / x.hi.den - static_cast<double>(x.lo.num) / x.lo.den; };
    for (const std::vector<int> &sites : {std::vector<int>{1, 1}, {1, 3, 9}, std::vector<int>(16, 1)})
        for (int lanes : {1, 2}) {
            const topology t = topology::blocks(sites, lanes);
            for (const char *name : {"sites", "pairwise"})
                for (inner_steps inner : {inner_steps::circulant, inner_steps::ring})
                    for (uint32_t pieces : {1u, 4u, 16u}) {
                        plan p;
                        p.algo = algorithm_named(WAN_REDUCE_SCATTER, name);
                        p.links = 1024, p.inner = inner, p.pieces = pieces;
                        std::set<int> first;
                        for (int s = 0; s < t.site_count(); ++s) {
                            if (t.node_count(site_at(s)) > 1)
                                continue;
                            const schedule code = build_schedule(t, p, t.rank_at(site_at(s), 0));
                            std::vector<bool> after_send(code.ops.size());
                            double copied = 0;
                            int sent = 0;
                            for (size_t i = 0; i < code.ops.size(); ++i) {
                                const op &o = code.ops[i];
                                for (uint16_t before : code.preds_of(o))
                                    after_send[i] = after_send[i] || after_send[before] || code.ops[before].kind == op_kind::send;
                                copied += o.kind == op_kind::copy ? blocks_in(o.part) : 0;
                                if (o.kind == op_kind::send && t.site_of(o.peer) != site_at(s)) {
                                    WAN_CHECK_THAT(!after_send[i], print(p) + "\n" + print(code));
                                    if (sent++ == 0 && sites.size() == 16)
                                        WAN_CHECK_THAT(first.insert(t.slot_of(o.peer) / lanes).second, print(p));
                                }
                            }
                            WAN_CHECK(sent > 0);
                            WAN_CHECK_THAT(copied <= 2 * t.size() + 1.001, print(p) + " " + std::to_string(copied));
                        }
                    }
        }
    return "";
}

/** Vectors of blocks: what other sites have must cross and pass one interface, and all of it what a host does not have. */
std::string check_vector_bounds()
{
    const int lone[] = {1, 1}, one_sided[] = {1, 16}, many[] = {3, 1, 5, 2};
    for (const topology &t : {topology::blocks(lone), topology::blocks(one_sided), topology::blocks(many), two_sites(16), two_sites(8, 2)})
        for (int64_t byte_ps : {8'000, 200'000})
            for (uint64_t block : {uint64_t{0}, uint64_t{1}, uint64_t{1024}, uint64_t{16384}, uint64_t{131072}})
                for (auto c : {WAN_ALLGATHER, WAN_GATHER, WAN_SCATTER})
                    for (int root : {0, t.size() - 1})
                        for (uint32_t links : {0u, 1u, 2u}) {
                            facts f = facts_of(t);
                            f.byte_ps = byte_ps;
                            wishes w;
                            w.links = links;
                            request r = call(c, block * static_cast<uint64_t>(t.size()), true, 1);
                            r.root = kind_of(c).root ? root : 0;
                            int64_t bound = 0;
                            for (int s = 0; s < t.site_count(); ++s) {
                                if (kind_of(c).root && site_at(s) != t.site_of(r.root))
                                    continue;
                                const auto far = static_cast<uint64_t>(t.size() - t.rank_count(site_at(s)));
                                const auto host = static_cast<uint64_t>(t.lane_count(site_at(s), 0));
                                bound = std::max({bound, f.wan_ns + f.wire_ns(block * far), f.wire_ns(block * (static_cast<uint64_t>(t.size()) - host))});
                            }
                            const auto all = candidates(t, f, w, r);
                            WAN_CHECK(!all.empty());
                            for (const plan &p : all)
                                WAN_CHECK_THAT(p.predicted_ns >= bound, print(p) + " " + std::to_string(p.predicted_ns) + " < " + std::to_string(bound));
                        }
    return "";
}

/** In the lab (2 x 16, 40 Mb/s, 10 ms) the plans are predicted to come as near to the bound as they must. */
std::string check_vector_sense()
{
    const topology t = two_sites(16);
    const facts f = lab_facts(t);
    for (auto c : {WAN_ALLGATHER, WAN_GATHER, WAN_SCATTER})
        for (auto [block, percent] : {std::pair<uint64_t, int>{4, 130}, {1024, 130}, {16384, c == WAN_ALLGATHER ? 120 : 105}, {131072, c == WAN_ALLGATHER ? 108 : 104}}) {
            const auto p = choose(t, f, {}, call(c, 32 * block, true, 1));
            const int64_t bound = std::max(f.wan_ns + f.wire_ns(16 * block), f.wire_ns(31 * block));
            WAN_CHECK_THAT(p->predicted_ns * 100 <= bound * percent, print(*p) + " " + std::to_string(p->predicted_ns) + " bound " + std::to_string(bound));
            if (block > 4096)
                WAN_CHECK_THAT(std::string(p->algo->name) == (c == WAN_ALLGATHER ? "counterpart" : "direct"), print(*p));
        }
    // Thousands of ranks: the root cannot hear from each.
    const topology wide = two_sites(2048);
    for (auto c : {WAN_GATHER, WAN_SCATTER})
        WAN_CHECK(std::string(choose(wide, facts_of(wide), {}, call(c, 8192, true, 1))->algo->name) == "bundled");
    // What commutes crosses combined where blocks are long, however many hosts combine it.
    for (int hosts : {16, 28, 64})
        for (const facts &known : {lab_facts(two_sites(hosts)), facts_of(two_sites(hosts))}) {
            const auto p = choose(two_sites(hosts), known, {}, call(WAN_REDUCE_SCATTER, static_cast<uint64_t>(2 * hosts) << 20));
            WAN_CHECK_THAT(p->algo->crosses == crossing::once, print(*p));
        }
    // Uncombined only the shortest, where ranks share processors; a fast interface is no reason.
    WAN_CHECK(std::string(choose(t, f, {}, call(WAN_REDUCE_SCATTER, 32 * 8))->algo->name) == "swap");
    facts fast = facts_of(t), wide_link = f;
    fast.byte_ps = 800;
    // A link that was measured to be ten interfaces wide holds nothing up (lab, 64 B: 13.2 ms, sites 14.1, direct 15.9).
    wide_link.burst_bytes = 10'240;
    wide_link.set_pair(wide_link.link_ps, 0, 1, f.byte_ps / 10);
    for (uint64_t block : {16, 64}) {
        const request r = call(WAN_REDUCE_SCATTER, 32 * block);
        const auto p = choose(t, wide_link, {}, r);
        WAN_CHECK_THAT(std::string(p->algo->name) == "swap", std::to_string(block) + ": " + print(*p));
        // As wide as four, it would.
        facts narrow_link = wide_link;
        narrow_link.set_pair(narrow_link.link_ps, 0, 1, f.byte_ps / 3);
        const auto q = choose(t, narrow_link, {.algo = p->algo}, r);
        WAN_CHECK_THAT(q->predicted_ns > p->predicted_ns + f.wire_ns(block * 16 * 16) / 8, std::to_string(block) + ": " + std::to_string(q->predicted_ns));
    }
    for (uint64_t block : {1024, 4096, 16384})
        for (const facts &known : {f, fast, wide_link}) {
            const auto p = choose(t, known, {}, call(WAN_REDUCE_SCATTER, 32 * block));
            WAN_CHECK_THAT(p->algo->crosses == crossing::once, print(*p));
        }
    // Sizes that only their owners know.
    request local = call(WAN_GATHER, 0);
    local.counts_vary = local.counts_local = true;
    for (uint32_t links : {0u, 1u}) {
        wishes w;
        w.links = links;
        WAN_CHECK(std::string(choose(t, f, w, local)->algo->name) == "direct");
    }
    return "";
}

/**
 * Vectors: one latency; of a Reduce_scatter, each block's contributions of all hosts but one must move,
 * shared by all hosts at best; of an Alltoall, what a host has for others.
 */
std::string check_exchange_bounds()
{
    const int lone[] = {1, 1}, one_sided[] = {1, 16}, many[] = {3, 1, 5, 2};
    for (const topology &t : {topology::blocks(lone), topology::blocks(one_sided), topology::blocks(many), two_sites(16), two_sites(8, 2)})
        for (int64_t byte_ps : {8'000, 200'000})
            for (uint64_t block : {uint64_t{1}, uint64_t{1024}, uint64_t{16384}, uint64_t{131072}, uint64_t{1} << 20})
                for (auto c : {WAN_REDUCE_SCATTER, WAN_ALLTOALL})
                    for (bool commutative : {true, false})
                        for (uint32_t links : {0u, 1u, 2u}) {
                            facts f = facts_of(t);
                            f.byte_ps = byte_ps;
                            wishes w;
                            w.links = links;
                            const uint64_t ranks = static_cast<uint64_t>(t.size()), lanes = static_cast<uint64_t>(t.most_lanes()), hosts = ranks / lanes;
                            const uint64_t through = c == WAN_ALLTOALL ? lanes * (ranks - lanes) * block : ranks * block * (hosts - 1) / hosts;
                            const auto plans = candidates(t, f, w, call(c, ranks * block, commutative, 1));
                            WAN_CHECK(!plans.empty() || !commutative || c == WAN_ALLTOALL);
                            for (const plan &p : plans)
                                WAN_CHECK_THAT(p.predicted_ns >= std::max(f.wan_ns + f.wire_ns(block), f.wire_ns(through)),
                                               print(p) + " " + std::to_string(p.predicted_ns));
                        }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_far_limit>), cmocka_unit_test(test<check_alltoall_order>), cmocka_unit_test(test<check_counterparts>), cmocka_unit_test(test<check_lone_senders>),
        cmocka_unit_test(test<check_vector_bounds>), cmocka_unit_test(test<check_vector_sense>), cmocka_unit_test(test<check_exchange_bounds>),
    };
    return cmocka_run_group_tests_name("planner_vectors", tests, nullptr, nullptr);
}
