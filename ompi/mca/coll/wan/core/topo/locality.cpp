/*
 * See locality.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/locality.hpp"

#include <functional>
#include <limits>

#include <hwloc.h>

namespace wan {

namespace {

struct bitmap_free {
    void operator()(hwloc_bitmap_t b) const { hwloc_bitmap_free(b); }
};
using bitmap = std::unique_ptr<hwloc_bitmap_s, bitmap_free>;

/* Number of the only object of a type that holds all of `set`; of several, the first. */
int covering(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_bitmap_t set)
{
    for (hwloc_obj_t o = hwloc_get_next_obj_by_type(topology, type, nullptr); o;
         o = hwloc_get_next_obj_by_type(topology, type, o))
        if (o->cpuset && hwloc_bitmap_isincluded(set, o->cpuset))
            return static_cast<int>(o->logical_index);
    return -1;
}

bool locate_set(hwloc_topology_t topology, hwloc_bitmap_t set, locality &out, std::string &what)
{
    if (!topology) {
        what = "no machine was loaded";
        return false;
    }
    hwloc_bitmap_and(set, set, hwloc_topology_get_topology_cpuset(topology));
    if (hwloc_bitmap_iszero(set)) {
        what = "the machine has none of these processors";
        return false;
    }
    out = {covering(topology, HWLOC_OBJ_PACKAGE, set), covering(topology, HWLOC_OBJ_NUMANODE, set),
           covering(topology, HWLOC_OBJ_L3CACHE, set)};
    return true;
}

using loaded = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;

loaded load(const std::function<int(hwloc_topology_t)> &source)
{
    hwloc_topology_t t = nullptr;
    if (hwloc_topology_init(&t) != 0)
        return {nullptr, hwloc_topology_destroy};
    loaded topology(t, hwloc_topology_destroy);
    if (source(t) != 0 || hwloc_topology_load(t) != 0)
        topology.reset();
    return topology;
}

} // namespace

void machine::close::operator()(hwloc_topology *t) const { hwloc_topology_destroy(t); }

bool machine::from_xml(const std::string &xml, machine &out, std::string &what)
{
    what = "this is not an XML topology of hwloc";
    if (xml.size() >= static_cast<size_t>(std::numeric_limits<int>::max()))
        return false;
    out.topology_.reset(load([&](hwloc_topology_t t) {
        return hwloc_topology_set_xmlbuffer(t, xml.c_str(), static_cast<int>(xml.size() + 1));
    }).release());
    return out.topology_ != nullptr;
}

bool machine::from_synthetic(const std::string &description, machine &out, std::string &what)
{
    what = "this is not a synthetic topology of hwloc";
    out.topology_.reset(load([&](hwloc_topology_t t) {
        return hwloc_topology_set_synthetic(t, description.c_str());
    }).release());
    return out.topology_ != nullptr;
}

bool machine::locate(const std::string &cpuset, locality &out, std::string &what) const
{
    const bitmap set(hwloc_bitmap_alloc());
    if (!set) {
        what = "no memory for a bitmap";
        return false;
    }
    const bool hex = cpuset.find("0x") != cpuset.npos;
    if (cpuset.empty() || (hex ? hwloc_bitmap_sscanf(set.get(), cpuset.c_str())
                               : hwloc_bitmap_list_sscanf(set.get(), cpuset.c_str())) != 0) {
        what = "this is not a set of processors";
        return false;
    }
    return locate_set(topology_.get(), set.get(), out, what);
}

bool machine::locate_pu(unsigned os_index, locality &out, std::string &what) const
{
    const bitmap set(hwloc_bitmap_alloc());
    if (!set || hwloc_bitmap_set(set.get(), os_index) != 0) {
        what = "no memory for a bitmap";
        return false;
    }
    return locate_set(topology_.get(), set.get(), out, what);
}

} // namespace wan
