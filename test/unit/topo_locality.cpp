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

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
extern "C" {
#include <cmocka.h>
}

namespace {

/* cmocka leaves a failed assertion by longjmp: no destructor may be pending there. */
template <std::string (*check)()>
void test(void **)
{
    static char message[4096];
    {
        const std::string m = check();
        std::snprintf(message, sizeof message, "%s", m.c_str());
    }
    if (message[0])
        fail_msg("%s", message);
}


/* test/data/ is found from the top of the sources (srcdir in make check) or from here. */
std::string data(const std::string &file)
{
    const char *srcdir = std::getenv("srcdir");
    return std::string(srcdir ? srcdir : ".") + "/test/data/" + file;
}

std::string content(const std::string &file)
{
    std::ifstream in(data(file));
    return {std::istreambuf_iterator<char>(in), {}};
}

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

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_machines>),
        cmocka_unit_test(test<check_processors>),
        cmocka_unit_test(test<check_malformed>),
    };
    return cmocka_run_group_tests_name("topo_locality", tests, nullptr, nullptr);
}
