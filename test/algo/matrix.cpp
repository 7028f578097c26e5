/*
 * Runs the matrix (matrix.hpp).  Up to 9 ranks: every partition into sites,
 * every placement, 1 to 3 ranks a host, all roots, all parameters; each with
 * one to nine of the cuts of the message (its count, segment, window, in place or
 * not; counts of 0 and 1 are among them), so that over the plans of an algorithm all come up (with
 * WAN_TEST_LONG=1: with all of them; with WAN_TEST_SHORT=1 up to 7 ranks).
 * More ranks: matrix_random.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "matrix.hpp"

#include "unit.hpp"

#include <chrono>
#include <map>

namespace {

using namespace wan_test;

struct tally {
    size_t topologies = 0, plans = 0, runs = 0;
};

std::string try_topology(const topology &t, size_t cuts_each, std::mt19937_64 &random, std::map<std::string, tally> &counts)
{
    for (const algorithm *a : algorithms()) {
        auto cuts = cuts_of(*a, t.size());
        std::erase_if(cuts, [&](const verify_options &o) { return !serves(*a, t, o); });
        if (cuts.empty())
            continue;
        tally &n = counts[name_of(*a)];
        ++n.topologies;
        const auto plans = plans_of(*a, t);
        for (const plan &p : plans) {
            programs built[2];      // blocks one after the other, scattered; when they are needed
            ++n.plans;
            // Few plans, many cuts, and the other way round.
            const bool many = plans.size() > 24 || a->parameters & (uses_entries | uses_order | uses_pieces) || kind_of(a->collective).root;
            const size_t some = many ? cuts_each : cuts_each * 3;
            const size_t stride = cuts_each >= cuts.size() ? 1 : std::max<size_t>(1, cuts.size() / some);
            for (size_t i = stride > 1 ? random() % stride : 0; i < cuts.size(); i += stride) {
                verify_options o = cuts[i];
                o.root = p.root;
                o.seed = random();
                ++n.runs;
                programs &all = built[o.scattered];
                const bool known = !all.empty();
                if (!known)
                    all = build_all(t, p, o.scattered);
                if (std::string why = try_one(t, p, all, o, known); !why.empty())
                    return why;
            }
        }
    }
    return "";
}

void report(const char *what, const std::map<std::string, tally> &counts, std::chrono::steady_clock::time_point since)
{
    size_t runs = 0;
    for (const auto &[name, n] : counts) {
        std::printf("%s: %-28s %6zu topologies %8zu plans %9zu runs\n", what, name.c_str(), n.topologies, n.plans, n.runs);
        runs += n.runs;
    }
    std::printf("%s: %zu runs in %.1f s\n", what, runs, std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count());
}

std::string check_exhaustive()
{
    const auto since = std::chrono::steady_clock::now();
    std::mt19937_64 random(test_seed());
    std::map<std::string, tally> counts;
    std::set<uint64_t> seen;
    for (int ranks = 2; ranks <= (is_short() ? 7 : 9); ++ranks)
        for (auto sizes : partitions(ranks))
            for (bool ascending : {false, true}) {
                if (ascending)
                    std::reverse(sizes.begin(), sizes.end());
                for (auto how : {placement::block, placement::roundrobin, placement::shuffled})
                    for (int lanes : {1, 2, 3}) {
                        const topology t = lay_out(sizes, how, lanes, random());
                        if (!seen.insert(t.digest()).second)
                            continue;
                        if (std::string why = try_topology(t, is_long() ? SIZE_MAX : ranks < 7 ? 3 : 1, random, counts); !why.empty())
                            return why;
                    }
            }
    report("exhaustive", counts, since);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_exhaustive>),
    };
    return cmocka_run_group_tests_name("matrix", tests, nullptr, nullptr);
}
