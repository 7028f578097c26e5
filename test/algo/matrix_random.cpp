/*
 * The matrix (matrix.hpp) beyond 9 ranks: up to 65 by chance, seeded (with
 * WAN_TEST_LONG=1 so many that every pair of values of two dimensions comes up
 * for each algorithm; else for all of them together); the numbers of links
 * on shapes as in the lab; teams as wide as labels allow.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "matrix.hpp"

#include "unit.hpp"

namespace {

using namespace wan_test;

/** Random values in every dimension; sites of like and unlike sizes. */
std::string check_random()
{
    std::mt19937_64 random(test_seed() ^ 0x5eed);
    std::map<std::string, size_t> counts;
    auto pick = [&](auto... v) {
        const size_t list[] = {static_cast<size_t>(v)...};
        return list[random() % std::size(list)];
    };
    // Algorithms in turn; some serve part of the topologies only.
    const size_t all = algorithms().size(), trials = all * (is_long() ? 2'000 : 64);
    for (size_t trial = 0; trial < trials; ++trial) {
        int ranks = 10 + static_cast<int>(random() % 56);
        const int sites = 2 + static_cast<int>(random() % static_cast<uint64_t>(std::min(15, ranks - 1)));
        std::vector<int> sizes(static_cast<size_t>(sites), 1);
        const auto shape = random() % 3;
        for (int left = ranks - sites; left > 0; --left)
            ++sizes[shape == 0   ? static_cast<size_t>(left % sites)                               // equal
                    : shape == 1 ? random() % static_cast<uint64_t>(sites)                         // by chance
                                 : std::min(random() % static_cast<uint64_t>(sites), random() % static_cast<uint64_t>(sites))];
        std::shuffle(sizes.begin(), sizes.end(), random);
        const algorithm *a = algorithms()[trial % all];
        const auto how = static_cast<placement>(random() % 3);
        const int lanes = static_cast<int>(pick(1, 1, 2, 3, 5, 64));
        topology t = lay_out(sizes, how, lanes, random());
        verify_options asked;
        asked.collective = a->collective;
        asked.commutative = !a->keeps_order;
        if (!serves(*a, t, asked))      // perhaps it wants ranks in blocks
            t = lay_out(sizes, placement::block, lanes, 0);
        if (!serves(*a, t, asked)) {    // perhaps sites of as many hosts
            sizes.assign(static_cast<size_t>(std::max(3, sites)), std::max(1, ranks / sites));
            t = lay_out(sizes, how, lanes, random());
            ranks = t.size();
        }
        plan p;
        p.algo = a;
        p.root = kind_of(a->collective).root ? static_cast<int>(random() % static_cast<uint64_t>(ranks)) : 0;
        if (a->parameters & uses_links)
            p.links = static_cast<uint32_t>(pick(1, 2, 3, 4, 8, 16, widest_site(t)));
        if (a->parameters & uses_tree)
            p.lambda = static_cast<uint32_t>(1 + random() % 12);
        if (a->parameters & uses_entries)
            p.entries = static_cast<uint32_t>(1 + random() % static_cast<uint64_t>(widest_site(t)));
        if (a->parameters & uses_far_limit)
            p.entries = static_cast<uint32_t>(pick(1, 2, 3, 8, 1000));
        if (a->parameters & uses_order)
            p.order = random() % 2 ? site_order::star : site_order::chain;
        if (a->parameters & uses_inner)
            p.inner = random() % 2 ? inner_steps::circulant : inner_steps::ring;
        verify_options o;
        o.collective = a->collective;
        o.root = p.root;
        o.count = pick(0, 1, ranks - 1, ranks, ranks + 1, 3 * ranks + 2, 300, 1009);
        o.segment = (a->parameters & uses_segment) ? std::max<size_t>(pick(1, 7, ranks, 64, 100, o.count), o.count / 15 + 1)
                                                   : std::max<size_t>(1, o.count);
        o.window = static_cast<uint32_t>(pick(1, 2, 4, 64));
        o.in_place = random() % 2;
        o.commutative = !kind_of(a->collective).operation || !a->keeps_order || (random() % 2 && !a->only_ordered);
        o.seed = random();
        if (a->parameters & uses_pieces)
            p.pieces = static_cast<uint32_t>(pick(1, 2, 3, 8));
        if (kind_of(a->collective).blocks) {
            auto vectors = vectors_of(*a);
            std::erase_if(vectors, [&](const verify_options &v) { return !serves(*a, t, v); });
            if (vectors.empty())
                continue;
            auto [seed, root] = std::pair{o.seed, o.root};
            o = vectors[random() % vectors.size()];
            o.seed = seed;
            o.root = root;
        }
        if (!serves(*a, t, o))
            continue;
        ++counts[name_of(*a)];
        if (std::string why = try_one(t, p, build_all(t, p, o.scattered), o); !why.empty())
            return why;
    }
    for (const algorithm *a : algorithms())
        WAN_CHECK_THAT(counts[name_of(*a)] > 30, a->name);
    for (const auto &[name, n] : counts)
        std::printf("random: %-28s %5zu runs\n", name.c_str(), n);
    return "";
}

/** n = 1, 2, 4 and the site's size: how many processes put payload on the WAN, on shapes as in the lab. */
std::string check_links()
{
    std::mt19937_64 random(test_seed() + 1);
    for (const auto &sizes : {std::vector<int>{16, 16}, {11, 11, 11}, {8, 8, 8, 8}, {16, 5}, {4, 9, 16}})
        for (auto how : {placement::block, placement::roundrobin, placement::shuffled})
            for (int lanes : {1, 2})
                for (const algorithm *a : algorithms()) {
                    if (!(a->parameters & uses_links) || (kind_of(a->collective).blocks && (lanes > 1 || how == placement::roundrobin || sizes.size() > 2)))
                        continue;
                    const topology t = lay_out(sizes, how, lanes, random());
                    // Beyond `most`, more links are no other plan.
                    const auto widest = static_cast<uint32_t>(widest_site(t)), most = a->takes_turns ? all_senders(t, {}) : widest;
                    for (uint32_t links : std::set<uint32_t>{1, std::min(2u, most), std::min(4u, most), std::min(8u, most), widest}) {
                        plan p;
                        p.algo = a;
                        p.links = links;
                        p.root = kind_of(a->collective).root ? static_cast<int>(random() % static_cast<uint64_t>(t.size())) : 0;
                        verify_options o;
                        o.collective = a->collective;
                        o.root = p.root;
                        // Just enough for a block of each gateway in each block (check_traffic); slots are used again, the end is shorter.
                        o.segment = size_t{widest} * widest;
                        o.count = 3 * o.segment + 5;
                        o.window = 3;
                        o.commutative = !a->only_ordered;
                        o.seed = random();
                        if (kind_of(a->collective).blocks)
                            o.count = o.segment = 16;
                        if (!serves(*a, t, o))
                            continue;
                        if (std::string why = try_one(t, p, build_all(t, p), o); !why.empty())
                            return why;
                    }
                }
    return "";
}

/** Limits of messages under way that differ from rank to rank: never a circle of ranks that wait; and limits that limit. */
std::string check_far_limits()
{
    std::mt19937_64 random(test_seed() + 3);
    const algorithm *direct = algorithm_named(WAN_ALLTOALL, "direct");
    for (const auto &sizes : {std::vector<int>{5, 5}, {1, 9}, {9, 2}, {4, 4, 4}, {1, 7, 3}, {6, 1, 2, 5}})
        for (int trial = 0; trial < 12; ++trial) {
            const topology t = lay_out(sizes, static_cast<placement>(trial % 3), 1 + trial % 2, random());
            const uint32_t equal = trial % 4 < 2 ? 0 : 1 + static_cast<uint32_t>(random() % 3);
            plan p;
            p.algo = direct;
            p.links = 1000;
            programs all;
            for (int r = 0; r < t.size(); ++r) {
                p.entries = equal ? equal : static_cast<uint32_t>(1) << random() % 6;
                all.push_back(std::make_shared<program>(build_schedule(t, p, r)));
                size_t at_once = 0, far = 0;
                for (const op &o : all.back()->text().ops)
                    if (o.kind == op_kind::send && t.site_of(o.peer) != t.site_of(r)) {
                        ++far;
                        at_once += o.pred_count == 0;
                    }
                // Sites of one size: each send but the first ones waits.
                if (std::all_of(sizes.begin(), sizes.end(), [&](int n) { return n == sizes[0]; }))
                    WAN_CHECK_THAT(at_once == std::min<size_t>(far, p.entries), std::to_string(at_once) + " at once");
                WAN_CHECK(at_once >= std::min<size_t>(far, p.entries));
            }
            verify_options o;
            o.collective = WAN_ALLTOALL;
            o.count = o.segment = 3;
            o.seed = random();
            if (std::string why = try_one(t, p, all, o); !why.empty())
                return why;
        }
    return "";
}

/** Runs of a site have a label each: all of them used, over gateways and a ring; one more is refused. */
std::string check_most_runs()
{
    const algorithm *runs = algorithm_named(WAN_ALLREDUCE, "runs");
    for (int hosts : {26, 27}) {
        for (int lanes : {1, 2}) {
            const topology t = lay_out({hosts * lanes, hosts * lanes}, placement::roundrobin, lanes, 1);
            verify_options o;
            o.collective = WAN_ALLREDUCE;
            o.count = 1500;
            o.segment = 700;
            o.window = 2;
            o.commutative = false;
            WAN_CHECK(serves(*runs, t, o) == (hosts * lanes == 26));
            if (!serves(*runs, t, o))
                continue;
            for (uint32_t links : {1u, 5u, 26u})
                for (auto inner : {inner_steps::circulant, inner_steps::ring}) {
                    plan p;
                    p.algo = runs;
                    p.links = links;
                    p.inner = inner;
                    if (std::string why = try_one(t, p, build_all(t, p), o); !why.empty())
                        return why;
                }
        }
    }
    return "";
}

/** Nearly all the scratch buffers there can be, and as many as are declared. */
std::string check_most_buffers()
{
    const algorithm *runs = algorithm_named(WAN_ALLREDUCE, "runs");
    verify_options o;
    o.collective = WAN_ALLREDUCE;
    o.count = 900;
    o.segment = 500;
    o.commutative = false;
    // 238 ranks on few hosts and 2 runs: 240.  Then one more.
    for (int ranks : {238, 239}) {
        const topology t = lay_out({ranks, 3}, placement::block, 40, 1);
        WAN_CHECK(serves(*runs, t, o) == (ranks == 238));
        if (ranks != 238)
            continue;
        for (uint32_t links : {1u, 6u}) {
            plan p;
            p.algo = runs;
            p.links = links;
            const programs all = build_all(t, p);
            int most = 0;
            for (const auto &one : all)
                most = std::max(most, one->text().tmp_count);
            WAN_CHECK(most >= 238 && static_cast<uint32_t>(most) <= runs->buffers(t, p));
            if (std::string why = try_one(t, p, all, o); !why.empty())
                return why;
        }
    }
    return "";
}

/** What is declared of scratch is enough, for every algorithm. */
std::string check_buffers()
{
    std::mt19937_64 random(test_seed() + 2);
    for (int trial = 0; trial < 60; ++trial) {
        std::vector<int> sizes(2 + random() % 4);
        for (int &s : sizes)
            s = 1 + static_cast<int>(random() % 24);
        const topology t = lay_out(sizes, static_cast<placement>(random() % 3), 1 + static_cast<int>(random() % 6), random());
        for (const algorithm *a : algorithms()) {
            const request r{.collective = a->collective, .commutative = !a->only_ordered};
            // Of vectors only what is held of whole ones is declared; buffers of blocks are as large as their rooms.
            const bool blocks = kind_of(a->collective).blocks;
            if (!a->serves(t, r) || (blocks && (!a->buffers || trial % 4)))
                continue;
            auto plans = plans_of(*a, t);
            std::shuffle(plans.begin(), plans.end(), random);
            plans.resize(std::min<size_t>(plans.size(), 4));
            if ((a->parameters & uses_tree) && a->buffers)
                plans[0].lambda = 64;       // as flat as the planner makes them
            for (const plan &p : plans)
                for (int rank = 0; rank < t.size(); ++rank) {
                    const schedule text = build_schedule(t, p, rank, blocks);
                    int has = text.tmp_count;
                    if (blocks) {
                        const auto ranks = static_cast<size_t>(t.size());
                        size_t held = 0;
                        for (const room &x : text.rooms)
                            held += x.blocks;
                        has = static_cast<int>((held + ranks - 1) / ranks);
                    }
                    const uint32_t declared = a->buffers ? a->buffers(t, p) : 0;
                    WAN_CHECK_THAT(static_cast<uint32_t>(has) <= declared, describe(t, p, {}) + ": " + std::to_string(has) + " of " + std::to_string(declared));
                }
        }
    }
    return "";
}

/** Shapes near the number of operations that a schedule can have: what is served can be built. */
std::string check_most_operations()
{
    const algorithm *runs = algorithm_named(WAN_ALLREDUCE, "runs");
    const request r{.collective = WAN_ALLREDUCE, .bytes = 1 << 20, .commutative = false};
    int served = 0, refused = 0;
    size_t longest = 0;
    for (int sites : {2, 8, 20})
        for (int hosts : {40, 80, 130})
            for (int scattered : {1, 8, 26}) {
                // One host with ranks scattered among the blocks of all others.
                std::vector<place> places;
                std::vector<std::string> names;
                for (int s = 0; s < sites; ++s)
                    names.push_back("s" + std::to_string(s));
                const int all = sites * hosts;
                for (int k = 0; k < all; ++k) {
                    if (k % (all / scattered) == 0 && k / (all / scattered) < scattered)
                        places.push_back({"lone", 9'999'999});
                    places.push_back({names[static_cast<size_t>(k / hosts)], static_cast<uint64_t>(k)});
                }
                const topology t(places);
                if (!runs->serves(t, r)) {
                    ++refused;
                    continue;
                }
                ++served;
                for (uint32_t links : {1u, 4096u}) {
                    plan p;
                    p.algo = runs;
                    p.links = links;
                    for (int rank : {0, 1, all / 2})
                        longest = std::max(longest, build_schedule(t, p, rank).ops.size());     // throws where it is too long
                }
            }
    WAN_CHECK_THAT(served == 26 && refused == 1 && longest > 50'000,
                   std::to_string(served) + " served, " + std::to_string(refused) + " refused, longest " + std::to_string(longest));
    return "";
}

/** Each site has its own n gateways: a narrow one does not make others narrow. */
std::string check_unlike_sites()
{
    const topology t = topology::blocks(std::vector<int>{8, 8, 1});
    for (const auto &[collective, name] : {std::pair{WAN_BCAST, "vandegeijn"}, {WAN_ALLREDUCE, "rabenseifner"}, {WAN_ALLREDUCE, "runs"}}) {
        plan p;
        p.algo = algorithm_named(collective, name);
        p.links = 4;
        verify_options o;
        o.collective = collective;
        o.count = o.segment = 500;
        o.commutative = !p.algo->only_ordered;
        const programs all = build_all(t, p);
        if (std::string why = try_one(t, p, all, o); !why.empty())
            return why;
        observations traffic;
        WAN_CHECK(verify(t, all, o, &traffic).empty());
        const auto senders = traffic.at(site_at(0), site_at(1)).senders.size();
        WAN_CHECK_THAT(senders == 4, std::string(name) + ": " + std::to_string(senders));
    }
    return "";
}

/** For each rank in order its site and host. */
topology placed(const std::vector<std::pair<int, int>> &ranks)
{
    std::vector<std::string> names;
    for (const auto &[site, host] : ranks)
        while (static_cast<int>(names.size()) <= site)
            names.push_back("s" + std::to_string(names.size()));
    std::vector<place> places;
    for (const auto &[site, host] : ranks)
        places.push_back({names[static_cast<size_t>(site)], static_cast<uint64_t>(host)});
    return topology(places);
}

/** A site of one host among others of least, least + 1, ... hosts: no two sites cut a message alike. */
topology uneven(int sites, int least)
{
    std::vector<int> sizes{1};
    for (int s = 0; s < sites; ++s)
        sizes.push_back(least + s);
    return topology::blocks(sizes);
}

/** One host with a rank before each of the other sites' blocks, as far as it has ranks. */
topology woven(int lone_ranks, int sites, int hosts, int lanes = 1)
{
    std::vector<std::pair<int, int>> ranks;
    for (int s = 0, lone = 0; s < sites; ++s) {
        for (const int until = lone_ranks * (s + 1) / sites; lone < until; ++lone)
            ranks.push_back({0, 0});
        for (int k = 0; k < hosts * lanes; ++k)
            ranks.push_back({s + 1, k / lanes});
    }
    return placed(ranks);
}

/** Ranks in turn over the hosts of their site: scratch of flat trees over all of them. */
std::string check_cyclic_hosts()
{
    std::vector<std::pair<int, int>> ranks;
    for (int site : {0, 1})
        for (int k = 0; k < 56; ++k)
            ranks.push_back({site, k % 7});
    const topology t = placed(ranks);
    for (const algorithm *a : algorithms())
        if ((a->parameters & uses_tree) && a->buffers && a->serves(t, {.collective = a->collective})) {
            plan p;
            p.algo = a;
            p.lambda = 64;
            for (int rank = 0; rank < t.size(); ++rank) {
                const auto has = static_cast<uint32_t>(build_schedule(t, p, rank).tmp_count);
                WAN_CHECK_THAT(has <= a->buffers(t, p), name_of(*a) + ": " + std::to_string(has) + " of " + std::to_string(a->buffers(t, p)));
            }
        }
    return "";
}

/** What is served can be built: every algorithm where few hosts talk to many, in sites of unlike sizes and in many runs. */
std::string check_nasty_shapes()
{
    std::map<std::string, int> served;
    std::string failed;
    size_t longest = 0;
    const topology shapes[] = {uneven(3, 4), uneven(8, 30), woven(60, 30, 40), woven(60, 59, 40), woven(50, 50, 1, 50),
                               topology::blocks(std::vector<int>{1, 300, 30, 3})};
    for (const topology &t : shapes)
        for (const algorithm *a : algorithms()) {
            const request r{.collective = a->collective, .bytes = 1024 * static_cast<uint64_t>(t.size()), .commutative = !a->only_ordered};
            if (!a->serves(t, r))
                continue;
            ++served[name_of(*a)];
            for (uint32_t links : {1u, 5000u}) {
                plan p;
                p.algo = a;
                p.links = links;
                p.entries = 64;
                p.root = t.rank_at(site_at(0), 0);
                for (int rank : {p.root, t.rank_at(site_at(t.site_count() - 1), 0)}) {
                    if (t.size() > 1000 && (rank != p.root || links > 1))
                        continue;       // takes long
                    try {
                        longest = std::max(longest, build_schedule(t, p, rank, kind_of(a->collective).blocks).ops.size());
                    } catch (const std::length_error &e) {
                        failed += print(p) + ": " + e.what() + ", " + std::to_string(t.size()) + " ranks in " + std::to_string(t.site_count()) + " sites\n";
                    }
                }
            }
        }
    for (const algorithm *a : algorithms())
        WAN_CHECK_THAT(served[name_of(*a)] > 0, a->name);
    WAN_CHECK_THAT(longest > 30'000, std::to_string(longest));
    // Too long to be built here: the pieces of a gateway, cut at the bounds of all sites, for each of them.
    const algorithm *pieces = algorithm_named(WAN_ALLREDUCE, "rabenseifner");
    const request r{.collective = WAN_ALLREDUCE, .bytes = 1 << 20};
    WAN_CHECK(!pieces->serves(uneven(10, 600), r) && !pieces->serves(uneven(16, 250), r) && pieces->serves(uneven(8, 500), r));
    WAN_CHECK(pieces->serves(topology::blocks(std::vector<int>(64, 1563)), r));
    // One wide site beside few ranks hands blocks to all of itself: as many as other vectors have, at most.
    const request blocks{.collective = WAN_ALLTOALL, .bytes = 1 << 20};
    for (int hosts : {2000, 16'000}) {
        const topology t = topology::blocks(std::vector<int>{hosts, 1});
        WAN_CHECK(algorithm_named(WAN_ALLTOALL, "bundled")->serves(t, blocks) == (hosts < 4096));
    }
    return failed;
}

/** Labels of steps at the largest team that is promised, and one step below and above powers of two. */
std::string check_wide()
{
    for (int width : {26, 27, 28, 63, 64, 65, 127, 129}) {
        const topology unlike = topology::blocks(std::vector<int>{width, 2}), alike = topology::blocks(std::vector<int>{width, width, width});
        for (const algorithm *a : algorithms()) {
            verify_options o;
            o.collective = a->collective;
            o.count = o.segment = static_cast<size_t>(2 * width + 1);
            o.commutative = !kind_of(a->collective).operation || !a->keeps_order;
            if (kind_of(a->collective).blocks)
                o.count = o.segment = 2;
            const topology &t = serves(*a, unlike, o) ? unlike : alike;
            if (!serves(*a, t, o))
                continue;
            plan p;
            p.algo = a;
            p.links = static_cast<uint32_t>(width);
            p.lambda = 200;     // a flat tree: more children than scratch buffers
            for (auto inner : {inner_steps::circulant, inner_steps::ring}) {
                if (inner == inner_steps::ring && !(a->parameters & uses_inner))
                    continue;
                p.inner = inner;
                if (std::string why = try_one(t, p, build_all(t, p), o); !why.empty())
                    return why;
            }
        }
    }
    // The most hosts that an algorithm takes: only the text is looked at, at some ranks.
    std::set<std::string> looked_at;
    for (int hosts : {4096, 700, 239, 120, 64}) {
        const topology unlike = topology::blocks(std::vector<int>{hosts, hosts - 1}), alike = topology::blocks(std::vector<int>(3, hosts));
        for (const algorithm *a : algorithms()) {
            const bool needs_alike = std::string_view(a->name) == "counterpart" && a->collective == WAN_ALLREDUCE;
            const topology &t = needs_alike ? alike : unlike;
            const request r{.collective = a->collective, .root = 0, .bytes = kind_of(a->collective).blocks ? 1024 * static_cast<uint64_t>(t.size()) : 1 << 20, .element_bytes = 1,
                            .commutative = !a->only_ordered};
            // (The look is quadratic in operations, of which vectors have one for each rank.)
            if (!a->serves(t, r) || (hosts > 700 && kind_of(a->collective).blocks) || !looked_at.insert(name_of(*a)).second)
                continue;
            for (uint32_t links : {1u, static_cast<uint32_t>(hosts)}) {
                plan p;
                p.algo = a;
                p.links = links;
                for (int rank : {1, hosts - 1, hosts, 2 * hosts - 2})
                    if (std::string why = verify_static(build_schedule(t, p, rank), kind_of(a->collective).apart); !why.empty())
                        return std::string(a->name) + " rank " + std::to_string(rank) + ": " + why;
            }
        }
    }
    WAN_CHECK_THAT(looked_at.size() == algorithms().size(), "an algorithm that serves none of these");
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_random>),
        cmocka_unit_test(test<check_links>),
        cmocka_unit_test(test<check_far_limits>),
        cmocka_unit_test(test<check_wide>),
        cmocka_unit_test(test<check_most_runs>),
        cmocka_unit_test(test<check_most_buffers>),
        cmocka_unit_test(test<check_buffers>),
        cmocka_unit_test(test<check_most_operations>),
        cmocka_unit_test(test<check_nasty_shapes>),
        cmocka_unit_test(test<check_unlike_sites>),
        cmocka_unit_test(test<check_cyclic_hosts>),
    };
    return cmocka_run_group_tests_name("matrix_random", tests, nullptr, nullptr);
}
