/*
 * Package, NUMA node and level-3 cache of bound processes, on synthetic
 * machines, on two exported ones and on one captured from a virtual machine.
 *
 * The fixtures were made by lstopo 2.9 (the descriptions are in the files),
 * the captured one with --no-io and without what names a host or a kernel.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/locality.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "unit.hpp"
#include "wan_core.h"

namespace {

using namespace wan_test;

std::string data(const std::string &file) { return test_file("data/" + file); }

std::string content(const std::string &file) { return read_all(data(file)); }

std::string show(const wan::locality &l)
{
    return std::to_string(l.package) + "," + std::to_string(l.numa) + "," + std::to_string(l.l3);
}

std::string check_machines()
{
    const struct {
        const char *machine;    // a fixture, or a synthetic description
        const char *cpuset;
        wan::locality expected;
    } table[] = {
        {"topo_two_packages.xml", "0", {0, 0, 0}},
        {"topo_two_packages.xml", "8-15", {0, 1, 1}},
        {"topo_two_packages.xml", "0x00000300", {0, 1, 1}},
        {"topo_two_packages.xml", "31", {1, 3, 3}},
        {"topo_two_packages.xml", "7-8", {0, -1, -1}},          // across NUMA nodes
        {"topo_two_packages.xml", "0,31", {-1, -1, -1}},        // across packages
        {"topo_two_packages.xml", "0x0000ffff", {0, -1, -1}},
        {"topo_two_packages.xml", "16-1000", {1, -1, -1}},      // processors it does not have
        {"topo_hbm_four_caches.xml", "2-3", {0, 0, 1}},         // DRAM stands for both memories
        {"topo_hbm_four_caches.xml", "0x000000c0", {0, 0, 3}},
        {"topo_hbm_four_caches.xml", "3-4", {0, 0, -1}},
        {"topo_captured_vm.xml", "1", {0, 0, 0}},
        {"topo_captured_vm.xml", "0-1", {0, 0, 0}},
        {"pack:2 numa:2 l3:1 core:4 pu:2", "24-31", {1, 3, 3}},
        {"pack:4 core:2 pu:1", "6", {3, 0, -1}},                // no level-3 cache
        {"numa:2 core:2 pu:1", "3", {-1, 1, -1}},               // no package
        {"numa:2 pack:2 l3:2 core:2 pu:1", "5", {1, 0, 2}},     // several packages in a NUMA node
    };
    for (const auto &t : table) {
        const std::string name = t.machine;
        wan::machine machine;
        std::string what;
        const bool xml = name.find(".xml") != name.npos;
        if (!(xml ? wan::machine::from_xml(content(name), machine, what)
                  : wan::machine::from_synthetic(name, machine, what)))
            return name + ": " + what;
        wan::locality l;
        if (!machine.locate(t.cpuset, l, what))
            return name + " " + t.cpuset + ": " + what;
        if (!(l == t.expected))
            return name + " " + t.cpuset + " is at " + show(l) + ", not " + show(t.expected);
    }
    return {};
}

std::string check_processors()
{
    wan::machine machine;
    std::string what;
    if (!wan::machine::from_xml(content("topo_two_packages.xml"), machine, what))
        return what;
    for (unsigned pu = 0; pu < 32; ++pu) {
        wan::locality l;
        const int numa = static_cast<int>(pu / 8);
        if (!machine.locate_pu(pu, l, what) || !(l == wan::locality{numa / 2, numa, numa}))
            return "processor " + std::to_string(pu) + " is at " + show(l);
    }
    return {};
}

std::string check_malformed()
{
    wan::machine machine;
    wan::locality l;
    std::string what;
    if (machine.locate("0", l, what) || what.empty())
        return "a machine that was not loaded has processors";
    for (const std::string &bad : {std::string(), std::string("<"), std::string("<topology/>"), std::string("pack:2"),
                                   content("topo_two_packages.xml").substr(0, 2000)})
        if (wan::machine::from_xml(bad, machine, what) || what.empty())
            return "XML accepted: " + bad;
    for (const char *bad : {"", "pack", "pack:0 pu:1", "nonsense:2 pu:1"})
        if (wan::machine::from_synthetic(bad, machine, what))
            return std::string("description accepted: ") + bad;
    if (!wan::machine::from_synthetic("pack:1 core:2 pu:1", machine, what))
        return what;
    for (const char *bad : {"", "x", "2", "99", "0x0", "0xzz"})
        if (machine.locate(bad, l, what) || what.empty())
            return std::string("cpuset accepted: ") + bad;
    return machine.locate_pu(2, l, what) ? "processor 2 of 2" : "";
}

/** PMIx's text of a place, made as prrte and orte make it. */
std::string pmix_text(const wan::locality &l, const char *prefix)
{
    std::string text = prefix;
    if (l.numa >= 0)
        text += "NM" + std::to_string(l.numa) + ":";
    if (l.package >= 0)
        text += "SK" + std::to_string(l.package) + ":";
    if (l.l3 >= 0)
        text += "L3" + std::to_string(l.l3) + ":";
    return text + "L20:CR0-1:HT0-3";
}

/** Processes share a domain exactly if hwloc finds them in one package and one NUMA node. */
std::string check_domain_of_text()
{
    for (const char *description : {"pack:2 numa:2 l3:1 core:4 pu:2", "pack:4 core:2 pu:1", "numa:2 core:2 pu:1", "numa:2 pack:2 l3:2 core:2 pu:1",
                                    "pack:12 core:1 pu:1"}) {
        wan::machine machine;
        std::string what;
        if (!wan::machine::from_synthetic(description, machine, what))
            return what;
        std::vector<wan::locality> all;
        wan::locality l;
        for (unsigned pu = 0; machine.locate_pu(pu, l, what); ++pu)
            all.push_back(l);
        if (all.size() < 4)
            return "processors are missing";
        for (const auto &a : all)
            for (const auto &b : all) {
                const bool same = a.package == b.package && a.numa == b.numa;
                if (same != (wan_locality_domain(pmix_text(a, "").c_str()) == wan_locality_domain(pmix_text(b, "hwloc:").c_str())))
                    return std::string(description) + ": " + show(a) + " and " + show(b);
            }
    }
    // Bound to several, to none, or text of another kind: nowhere in particular.
    for (const char *none : {"", ":", "SK", "SK0-1:NM0,1", "SKx:NMy", "hwloc:", "HT0-3", "SK0-1:L30-1:HT0-7", "SK99999999999:NM-1"})
        if (wan_locality_domain(none) != 0)
            return std::string("a domain from: ") + none;
    if (wan_locality_domain("SK0") == 0 || wan_locality_domain("NM0") == 0 || wan_locality_domain("SK1") == wan_locality_domain("NM1"))
        return "package and NUMA node are mixed up";
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_machines>),
        cmocka_unit_test(test<check_processors>),
        cmocka_unit_test(test<check_malformed>),
        cmocka_unit_test(test<check_domain_of_text>),
    };
    return cmocka_run_group_tests_name("topo_locality", tests, nullptr, nullptr);
}
