/*
 * Slurm's topology.conf as a cluster map: forests, several spines and rails,
 * lone leaf switches, Slurm's spelling, and what Slurm would refuse.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/slurm_topology.hpp"

#include "topo/site_name.hpp"

#include <cstdlib>
#include <set>
#include <string>

#include "unit.hpp"

namespace {

using namespace wan_test;

std::string data(const std::string &file) { return test_file("data/" + file); }

std::string show(const wan::input_error &e) { return e.where + " | " + e.what + " | " + e.remedy; }

std::string check_52_leaves()
{
    wan::cluster_map map;
    wan::input_error error;
    if (!wan::cluster_map::read(data("topo_slurm_52_leaves.conf"), map, error))
        return show(error);
    if (map.entries().size() != 52)
        return std::to_string(map.entries().size()) + " leaf switches";
    std::set<std::string> sites, leaves;
    size_t hosts = 0;
    for (const auto &e : map.entries()) {
        sites.insert(std::string(wan::wan_site(e.site)));
        leaves.insert(e.site);
        e.hosts.for_each([&](const std::string &) { return ++hosts != 0; });
    }
    if (sites != std::set<std::string>{"upper1"} || leaves.size() != 52 || hosts != 1024)
        return std::to_string(sites.size()) + " sites, " + std::to_string(leaves.size()) + " leaves, "
               + std::to_string(hosts) + " hosts";
    if (map.site_of("r0021") != "upper1:leaf02" || map.site_of("r1024.x.org") != "upper1:leaf52"
        || map.site_of("r1025"))
        return "a node is under the wrong leaf";
    return {};
}

std::string check_good()
{
    const struct {
        const char *text, *host, *site;     // "(unknown)": the file does not list the host
    } table[] = {
        // two roots are two sites, three levels deep
        {"SwitchName=s1 Nodes=a[1-4]\nSwitchName=m1 Switches=s1\nSwitchName=r1 Switches=m1\n"
         "SwitchName=s2 Nodes=b[1-4]\nSwitchName=r2 Switches=s2\n", "a3", "r1:m1:s1"},
        {"SwitchName=s1 Nodes=a[1-4]\nSwitchName=r1 Switches=s1\n"
         "SwitchName=s2 Nodes=b[1-4]\nSwitchName=r2 Switches=s2\n", "b1", "r2:s2"},
        {"SwitchName=r Switches=s[1-2]\nSwitchName=s1 Nodes=a\nSwitchName=s2 Nodes=b\n", "b", "r:s2"},  // root first
        // leaf switches are no sites: alone, or beside a tree
        {"SwitchName=s1 Nodes=a1\nSwitchName=s2 Nodes=a2\n", "a1", ""},
        {"SwitchName=s1 Nodes=a1\nSwitchName=s2 Nodes=b\nSwitchName=r Switches=s2\n", "a1", ""},
        {"SwitchName=s1 Nodes=a1\nSwitchName=s2 Nodes=b\nSwitchName=r Switches=s2\n", "a2", "(unknown)"},
        // a root above switches may have nodes of its own
        {"SwitchName=r Nodes=a Switches=s\nSwitchName=s Nodes=b\n", "a", "r"},
        {"SwitchName=r Switches=s\nSwitchName=s\n SwitchName=t Nodes=b\nSwitchName=q Switches=t\n", "b", "q:t"},
        // two spines, two rails: one fabric
        {"SwitchName=s1 Nodes=a\nSwitchName=s2 Nodes=b\nSwitchName=x Switches=s1\nSwitchName=y Switches=s[1-2]\n",
         "b", "x:s2"},
        {"SwitchName=s1 Nodes=a[1-9]\nSwitchName=x Switches=s1\nSwitchName=s2 Nodes=a[9-12]\nSwitchName=y Switches=s2\n",
         "a12", "x:s2"},
        {"SwitchName=s1 Nodes=a[1-9]\nSwitchName=x Switches=s1\nSwitchName=s2 Nodes=a[9-12]\n", "a12", "x:s2"},
        // spelling
        {"# c\nSWITCHNAME = s1   nodes=\"a[01-04]\" LinkSpeed=100 # c\r\nswitchName=r \\\r\n\t switches=s1\r\n", "a01",
         "r:s1"},
        {"SwitchName=ib/sw:1 Nodes=a\nSwitchName=core+1 Switches=x\nSwitchName=x Nodes=b", "b", "core_1:x"},
        {"\xef\xbb\xbfSwitchName=s1 Nodes=a\nSwitchName=r Switches=s1\\", "a", "r:s1"},
    };
    for (const auto &t : table) {
        wan::cluster_map map;
        wan::input_error error;
        if (!wan::cluster_map::parse(t.text, "T", map, error))
            return std::string(t.text) + ": " + show(error);
        if (map.site_of(t.host).value_or("(unknown)") != t.site)
            return std::string(t.text) + ": " + t.host + " is in '" + map.site_of(t.host).value_or("(unknown)") + "'";
    }
    return {};
}

std::string check_malformed()
{
    const struct {
        std::string text;
        const char *where, *what;
    } table[] = {
        {"SwitchName=s1 Nodes=a\n\nSwitchName=r Switches=s[1-2]\n", "T:3", "switch 's2' is not defined"},
        {"SwitchName=r Switches=s[0-999999999]\nSwitchName=s0 Nodes=a\n", "T:1", "'s1' is not defined"},
        {"SwitchName=a Switches=a Nodes=n1\n", "T:1", "'a' lists 'a'"},
        {"SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c \\\n Switches=a\n", "T:3", "above it"},
        {"SwitchName=r Switches=a\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n", "T:3", "above it"},
        {"SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "T:2", "also defined in line 1"},
        {"SwitchName=a Nodes=n[2-1]\n", "T:1", "bad list in Nodes="},
        {"SwitchName=a Nodes=\n", "T:1", "bad list in Nodes="},
        {"SwitchName=a Switches=b[1\n", "T:1", "bad list in Switches="},
        {"SwitchName=a Nodes=n1 Nodes=n2\n", "T:1", "given twice"},
        {"SwitchName=a SwitchName=b Nodes=n2\n", "T:1", "given twice"},
        {"SwitchName= Nodes=n2\n", "T:1", "no switch has nodes"},      // Slurm, too, reads the name 'Nodes=n2'
        {"SwitchName=s1 Nodes=a\nSwitchName=r \\\n # c\nSwitches=s1", "T:4", "without SwitchName="},
        {"SwitchName=\"\" Nodes=n2\n", "T:1", "is empty"},
        {"SwitchName=s Nodes=\"n2\n", "T:1", "not KEY=VALUE"},
        {"SwitchName=a Nodes=n1\nNodes=n2\n", "T:2", "without SwitchName="},
        {"SwitchName=a Nodes=n1 Colour=red\n", "T:1", "unknown key 'colour'"},
        {"SwitchName=a Nodes=n1 stray\n", "T:1", "'stray' is not KEY=VALUE"},
        {"SwitchName=a Nodes=n1, n2\n", "T:1", "bad list"},
        {"SwitchName=a Nodes=n1\nn[2-3] paris\n", "T:2", "not KEY=VALUE"},
        {"SwitchName=a\n", "T:1", "no switch has nodes"},
        {"BlockName=b1 Nodes=n[1-8]\nBlockSizes=4\n", "T:1", "topology/block"},
        {"SwitchName=a+b Switches=x\nSwitchName=a-b Switches=y\nSwitchName=a*b Switches=z\nSwitchName=x Nodes=n1\n"
         "SwitchName=y Nodes=n2\nSwitchName=z Nodes=n3\n", "T:3", "the same site name 'a_b'"},
        {"SwitchName=" + std::string(256, 'r') + " Switches=x\nSwitchName=x Nodes=n\n", "T:1", "longer than 255"},
    };
    for (const auto &t : table) {
        wan::cluster_map map;
        wan::input_error error;
        if (wan::cluster_map::parse(t.text, "T", map, error))
            return "accepted " + t.text;
        if (error.where != t.where || error.what.find(t.what) == error.what.npos || error.remedy.empty())
            return t.text + ": " + show(error);
    }
    return {};
}

/* Levels that do not fit are left out; the site stays. */
std::string check_deep()
{
    std::string text;
    for (int i = 0; i < 40; ++i)
        text += "SwitchName=switch" + std::to_string(i) + " Switches=switch" + std::to_string(i + 1) + "\n";
    text += "SwitchName=switch40 Nodes=n1\n";
    wan::cluster_map map;
    wan::input_error error;
    if (!wan::cluster_map::parse(text, "T", map, error))
        return show(error);
    const std::string site = map.site_of("n1").value_or("");
    std::string what;
    return wan::site_name_check(site, what) && wan::wan_site(site) == "switch0" && site.size() > 240 ? "" : site;
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_52_leaves>), cmocka_unit_test(test<check_good>),
        cmocka_unit_test(test<check_malformed>), cmocka_unit_test(test<check_deep>),
    };
    return cmocka_run_group_tests_name("topo_slurm_topology", tests, nullptr, nullptr);
}
