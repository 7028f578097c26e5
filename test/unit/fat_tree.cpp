/*
 * The model of a fat tree: the report's ten predictions, and the average
 * bandwidth of placements against a mean that is taken peer by peer; files that describe such trees.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "contention/fabric.hpp"
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
    // Whole steps where ranks are no power of two: 24 take as many as 32.
    WAN_CHECK(exchange_time(exchange::bruck, 24, 1, 1) == 5 * (1 + 12) && exchange_time(exchange::pair_one_barrier, 24, 1, 0) == 23 + 2 * 5);
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

const char *const sample = "# a comment, and #wan: uplinks=7 in it\n"
                           "#wan: uplinks=2\n"
                           "SwitchName=leaf1 Nodes=n[08-11]\n"
                           "SwitchName=leaf2 Nodes=n[12-15],m1  #wan: uplinks=3\n"
                           "SwitchName=core Switches=leaf[1-2]\n";

/** Leaves, hosts, uplinks and routing of a file; without any word of the latter. */
std::string check_file()
{
    fabric f;
    input_error error;
    WAN_CHECK_THAT(fabric::parse(sample, "f", f, error), error.where + ": " + error.what);
    WAN_CHECK(f.leaves.size() == 2 && f.leaves[0].hosts == 4 && f.leaves[1].hosts == 5 && f.leaves[0].told && f.leaves[1].line == 4);
    WAN_CHECK(f.leaves[0].uplinks == 2 && f.leaves[1].uplinks == 3 && f.routing == fabric::routing_rule::position);
    WAN_CHECK(f.hosts.size() == 9 && f.hosts.at("n08").leaf == 0 && f.hosts.at("n08").number == 0 && f.hosts.at("n12").leaf == 1 && f.hosts.at("m1").number == 8);
    // By the number in its name; as many uplinks as hosts where none are told.
    WAN_CHECK_THAT(fabric::parse("#wan: routing=name\nSwitchName=a Nodes=rack2-n[098-101],x7.c9\n", "f", f, error), error.where + ": " + error.what);
    WAN_CHECK(f.leaves.size() == 1 && f.leaves[0].uplinks == 5 && !f.leaves[0].told && f.hosts.at("rack2-n101").number == 101 && f.hosts.at("x7.c9").number == 7);
    // Hosts of a leaf on one uplink each: nothing is shared; all on one: as by hand.
    const auto share = [&](const char *text, const std::vector<const char *> &names) {
        std::vector<fat_tree_node> nodes;
        if (!fabric::parse(text, "f", f, error))
            return -1.0;
        for (const char *name : names)
            nodes.push_back(f.hosts.at(name));
        return f.share(nodes, 1);
    };
    const char *const two = "SwitchName=a Nodes=n[0-15]\nSwitchName=b Nodes=n[16-31]\n#wan: uplinks=4 routing=position\n";
    WAN_CHECK(share(two, {"n0", "n1", "n2", "n3", "n16", "n17", "n18", "n19"}) == 1);
    const double received = 1 + 3 * 4.0 / 7;
    WAN_CHECK(std::abs(share(two, {"n0", "n4", "n8", "n12", "n16", "n20", "n24", "n28"}) - 7 / (3 + 4 * received)) < 1e-12);
    // Only the second leaf has few: its hosts are the slow ones.
    const char *const uneven = "SwitchName=a Nodes=n[0-3] #wan: uplinks=4\nSwitchName=b Nodes=n[4-7] #wan: uplinks=1\n";
    // (A statement may go on in the next line, whose comment is the statement's.)
    const char *const continued = "SwitchName=a Nodes=n[0-3] #wan: uplinks=4\nSwitchName=b \\\n Nodes=n[4-7] #wan: uplinks=1\n";
    for (const char *text : {uneven, continued})
        WAN_CHECK(std::abs(share(text, {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"}) - 7 / (3 + 4 * received)) < 1e-12);
    return "";
}

std::string check_faults()
{
    const struct {
        const char *text, *where, *what;
    } cases[] = {
        {"n[1-4] paris\n", "f:1", "no topology.conf"},
        {"SwitchName=a Nodes=n[1-16]\nSwitchName=b Nodes=n[10-32]\n", "f:2", "the host n10 is under two leaf switches"},
        {"SwitchName=a Nodes=n[1-\n", "f:1", "bad list"},
        {"SwitchName=a Nodes=n1\n#wan: uplinks=0\n", "f:2", "1 to 1024 uplinks"},
        {"SwitchName=a Nodes=n1\n#wan: uplinks=4x\n", "f:2", "1 to 1024 uplinks"},
        {"SwitchName=a Nodes=n1\n#wan: uplinks=99999999999\n", "f:2", "1 to 1024 uplinks"},
        {"SwitchName=a Nodes=n1\n#wan: routing=adaptive\n", "f:2", "no rule of routing"},
        {"SwitchName=a Nodes=n1\n#wan: routing=name\n#wan: routing=name\n", "f:3", "told twice"},
        {"#wan: uplinks=2\nSwitchName=a Nodes=n1\n#wan: uplinks=2\n", "f:3", "told twice"},
        {"SwitchName=a Nodes=n1 #wan: uplinks=2 uplinks=3\n", "f:1", "told twice"},
        {"SwitchName=a Nodes=n1\n#wan: uplink=2\n", "f:2", "'uplink=2' after '#wan:' is not known"},
        {"SwitchName=a Nodes=n1\n#wan:  \n", "f:2", "nothing follows"},
        {"SwitchName=a Nodes=n1\n\nSwitchName=c Switches=a #wan: uplinks=2\n", "f:3", "none of a leaf switch"},
        {"#wan: routing=name\nSwitchName=a Nodes=n1,gateway\n", "f:2", "gateway has no number"},
        {"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[2-2000001]\n", "f:2", "more than 1000000 hosts"},
    };
    for (const auto &c : cases) {
        fabric f;
        input_error error;
        WAN_CHECK_THAT(!fabric::parse(c.text, "f", f, error), c.text);
        WAN_CHECK_THAT(error.where == c.where && error.what.find(c.what) != std::string::npos && !error.remedy.empty(), c.text + error.where + ": " + error.what);
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_predictions>),
                                cmocka_unit_test(test<check_shares>), cmocka_unit_test(test<check_file>), cmocka_unit_test(test<check_faults>)};
    return cmocka_run_group_tests_name("fat_tree", tests, nullptr, nullptr);
}
