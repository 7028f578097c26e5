/*
 * The matrix (matrix.hpp) beyond 9 ranks: up to 65 by chance, seeded, so that
 * every pair of values of two dimensions comes up often; the numbers of links
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
    const int trials = is_long() ? 20'000 : 70 * static_cast<int>(algorithms().size());
    for (int trial = 0; trial < trials; ++trial) {
        const int ranks = 10 + static_cast<int>(random() % 56);
        const int sites = 2 + static_cast<int>(random() % static_cast<uint64_t>(std::min(15, ranks - 1)));
        std::vector<int> sizes(static_cast<size_t>(sites), 1);
        const auto shape = random() % 3;
        for (int left = ranks - sites; left > 0; --left)
            ++sizes[shape == 0   ? static_cast<size_t>(left % sites)                               // equal
                    : shape == 1 ? random() % static_cast<uint64_t>(sites)                         // by chance
                                 : std::min(random() % static_cast<uint64_t>(sites), random() % static_cast<uint64_t>(sites))];
        std::shuffle(sizes.begin(), sizes.end(), random);
        const topology t = lay_out(sizes, static_cast<placement>(random() % 3), static_cast<int>(pick(1, 1, 2, 3, 5, 64)), random());
        const algorithm *a = algorithms()[random() % algorithms().size()];
        plan p;
        p.algo = a;
        p.root = kind_of(a->collective).root ? static_cast<int>(random() % static_cast<uint64_t>(ranks)) : 0;
        if (a->parameters & uses_links)
            p.links = static_cast<uint32_t>(pick(1, 2, 3, 4, 8, 16, widest_site(t)));
        if (a->parameters & uses_tree)
            p.lambda = static_cast<uint32_t>(1 + random() % 12);
        if (a->parameters & uses_entries)
            p.entries = static_cast<uint32_t>(1 + random() % static_cast<uint64_t>(widest_site(t)));
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
        o.commutative = !kind_of(a->collective).operation || !a->keeps_order || (random() % 2 && !only_ordered(*a));
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
        std::printf("random: %-24s %5zu runs\n", name.c_str(), n);
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
                    if (!(a->parameters & uses_links))
                        continue;
                    const topology t = lay_out(sizes, how, lanes, random());
                    for (uint32_t links : {1u, 2u, 4u, 8u, static_cast<uint32_t>(widest_site(t))}) {
                        plan p;
                        p.algo = a;
                        p.links = links;
                        p.root = kind_of(a->collective).root ? static_cast<int>(random() % static_cast<uint64_t>(t.size())) : 0;
                        verify_options o;
                        o.collective = a->collective;
                        o.root = p.root;
                        o.count = 2048;
                        o.segment = 512;
                        o.window = 3;
                        o.seed = random();
                        if (kind_of(a->collective).blocks)
                            o.count = o.segment = 64;
                        if (std::string why = try_one(t, p, build_all(t, p), o); !why.empty())
                            return why;
                    }
                }
    return "";
}

/** Labels of steps at the largest team that is promised, and one step below and above powers of two. */
std::string check_wide()
{
    for (int width : {26, 27, 28, 63, 64, 65, 127, 129}) {
        const int sizes[] = {width, 2};
        const topology t = topology::blocks(sizes);
        for (const algorithm *a : algorithms()) {
            verify_options o;
            o.collective = a->collective;
            o.count = o.segment = static_cast<size_t>(2 * width + 1);
            o.commutative = !kind_of(a->collective).operation || !a->keeps_order;
            if (kind_of(a->collective).blocks)
                o.count = o.segment = 2;
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
    // 4096 hosts: only the text is looked at, at some ranks.
    const int sizes[] = {4096, 4095};
    const topology t = topology::blocks(sizes);
    for (const algorithm *a : algorithms()) {
        plan p;
        p.algo = a;
        p.links = 4096;
        const request r{.collective = a->collective, .root = 0, .bytes = 1 << 20, .element_bytes = 1, .commutative = true};
        if (!a->serves(t, r))
            continue;
        const bool apart = a->collective == WAN_ALLTOALL || a->collective == WAN_REDUCE_SCATTER;
        for (int rank : {1, 4095, 4096, 8190})
            if (std::string why = verify_static(build_schedule(t, p, rank), apart); !why.empty())
                return std::string(a->name) + " rank " + std::to_string(rank) + ": " + why;
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_random>),
        cmocka_unit_test(test<check_links>),
        cmocka_unit_test(test<check_wide>),
    };
    return cmocka_run_group_tests_name("matrix_random", tests, nullptr, nullptr);
}
