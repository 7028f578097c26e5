/*
 * The model of a fat tree: the report's ten predictions, and the average
 * bandwidth of placements against a mean that is taken peer by peer.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "model/fat_tree.hpp"
#include "unit.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace {

using namespace wan;
using namespace wan_test;

/** Milliseconds, and whether the report tried it: its table. */
std::string check_predictions()
{
    struct row {
        exchange algorithm;
        double predicted;
        bool kept;
    };
    const std::vector<row> table{
        {exchange::simple, 0.606, true}, {exchange::pair, 0.606, true}, {exchange::ring, 0.606, true},
        {exchange::pair_light_barrier, 0.776, true}, {exchange::ring_light_barrier, 0.776, true},
        {exchange::pair_one_barrier, 0.661, true}, {exchange::ring_one_barrier, 0.661, true},
        {exchange::pair_mpi_barrier, 2.366, false}, {exchange::ring_mpi_barrier, 2.366, false}, {exchange::bruck, 1.150, true}};
    WAN_CHECK(table.size() == static_cast<size_t>(exchange::exchanges));
    double best = 1e9;
    for (const row &r : table)
        best = std::min(best, exchange_time(r.algorithm, 32, 5.5e-3, 14.035e-3));
    for (const row &r : table) {
        const double got = exchange_time(r.algorithm, 32, 5.5e-3, 14.035e-3);
        WAN_CHECK_THAT(std::round(got * 1000) / 1000 == r.predicted, std::to_string(got) + " in place of " + std::to_string(r.predicted));
        WAN_CHECK(worth_a_trial(got, best) == r.kept);
    }
    return "";
}

/** The mean over a process's peers, one by one; its slowest process. */
double peer_by_peer(const std::vector<fat_tree_node> &nodes, int uplinks, int processes)
{
    double least = 1;
    const double peers = static_cast<double>(nodes.size()) * processes - 1;
    for (const fat_tree_node &mine : nodes) {
        double sharing = 0, elsewhere = 0, slowness = 0;
        for (const fat_tree_node &n : nodes) {
            sharing += n.leaf == mine.leaf && n.number % uplinks == mine.number % uplinks ? processes : 0;
            elsewhere += n.leaf != mine.leaf ? processes : 0;
        }
        const double received = 1 + (sharing - 1) * elsewhere / peers;
        for (const fat_tree_node &n : nodes)
            for (int p = 0; p < processes; ++p) {
                if (n.number == mine.number)
                    slowness += p == 0 ? 0 : 1;         // p 0: this process itself
                else
                    slowness += n.leaf == mine.leaf ? processes : received;
            }
        if (peers > 0)
            least = std::min(least, peers / slowness);
    }
    return least;
}

std::string check_shares()
{
    std::mt19937_64 random(test_seed());
    for (int i = 0; i < 500; ++i) {
        // RICC: 1024 nodes under 52 leaves of 20, 4 uplinks.
        std::vector<fat_tree_node> nodes;
        const int uplinks = 1 + static_cast<int>(random() % 6), processes = 1 + static_cast<int>(random() % 8);
        const uint64_t one_in = 1 + random() % 40;
        for (int n = 0; n < 1024; ++n)
            if (random() % one_in == 0 && nodes.size() < 60)
                nodes.push_back({n / 20, n});
        if (nodes.empty())
            continue;
        const double got = fat_tree_share(nodes, uplinks, processes), expected = peer_by_peer(nodes, uplinks, processes);
        WAN_CHECK_THAT(std::abs(got - expected) < 1e-12, std::to_string(got) + " in place of " + std::to_string(expected));
    }
    // By hand: nothing shared; all of a leaf by one uplink; the same spread over four.
    WAN_CHECK(fat_tree_share(std::vector<fat_tree_node>{{0, 3}}, 4, 1) == 1);
    std::vector<fat_tree_node> one_leaf, spread, together;
    for (int n = 0; n < 8; ++n) {
        one_leaf.push_back({0, n});
        spread.push_back({n / 4, n});
        together.push_back({n / 4, 4 * n});
    }
    WAN_CHECK(fat_tree_share(one_leaf, 4, 1) == 1);
    WAN_CHECK(fat_tree_share(spread, 4, 1) == 1);
    const double received = 1 + 3 * 4.0 / 7;
    WAN_CHECK(std::abs(fat_tree_share(together, 4, 1) - 7 / (3 + 4 * received)) < 1e-12);
    WAN_CHECK(fat_tree_share(spread, 4, 2) < 1 && fat_tree_share(one_leaf, 4, 2) < 1);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_predictions>),
                                cmocka_unit_test(test<check_shares>)};
    return cmocka_run_group_tests_name("fat_tree", tests, nullptr, nullptr);
}
