/*
 * Below the host: in which package, NUMA node and level-3 cache a process
 * sits, asked of hwloc.  The machine comes as text (hwloc's XML export or a
 * synthetic description), never as a pointer: an Open MPI may carry an hwloc
 * of its own, whose structures are not those of the library linked here.
 * It decides nothing about algorithms.  hwloc's header stays in locality.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TOPO_LOCALITY_HPP
#define WAN_TOPO_LOCALITY_HPP

#include <memory>
#include <string>

struct hwloc_topology;

namespace wan {

/**
 * hwloc's logical numbers; -1 where the machine has none, or where the
 * process may move between several.  Of NUMA nodes with the same processors
 * (DRAM beside high-bandwidth memory) the first stands for all.
 */
struct locality {
    int package = -1;
    int numa = -1;
    int l3 = -1;
    bool operator==(const locality &) const = default;
};

class machine {
public:
    /** From `lstopo --of xml` or hwloc_topology_export_xmlbuffer(); false with a clause in `what`. */
    static bool from_xml(const std::string &xml, machine &out, std::string &what);

    /** From "pack:2 numa:2 l3:1 core:4 pu:2" and the like (hwloc's synthetic topologies). */
    static bool from_synthetic(const std::string &description, machine &out, std::string &what);

    /**
     * Of a process bound to `cpuset`: hwloc's text of a bitmap ("0x000000f0")
     * or a list ("4-7").  Processors that the machine does not have are
     * ignored; false when none remain.
     */
    bool locate(const std::string &cpuset, locality &out, std::string &what) const;

    /** Of a process bound to the processor with this number of the operating system. */
    bool locate_pu(unsigned os_index, locality &out, std::string &what) const;

private:
    struct close {
        void operator()(hwloc_topology *t) const;
    };
    std::unique_ptr<hwloc_topology, close> topology_;
};

} // namespace wan

#endif
