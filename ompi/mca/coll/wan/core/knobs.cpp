/*
 * Every knob, once: Open MPI's parameters, ompi_info and the documentation
 * come from here.  Enumerators of the algorithms come from the registry.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/registry.hpp"
#include "wan_core.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace {

constexpr int64_t gib = int64_t{1} << 30;

const std::array<wan_knob_t, 10> knobs{{
    {"priority", WAN_KNOB_INT, offsetof(wan_params_t, priority), -1, 100, 50, 3,
     "Priority of the component, -1 to 100. Above tuned (30) and han (35); keep it below 78, so that the "
     "components for accelerators come first. -1 takes coll/wan out of the job. Processes with different ones are not "
     "served together"},
    {"cluster_id", WAN_KNOB_STRING, offsetof(wan_params_t, cluster_id), 0, 0, 0, 2,
     "Site of this process, a nested name such as eu/paris or eu/paris/rack3 (region/site/switch; one part alone "
     "names a site). May differ per host or application context. Empty: see cluster_id_file and cluster_map"},
    {"cluster_id_file", WAN_KNOB_STRING, offsetof(wan_params_t, cluster_id_file), 0, 0, 0, 2,
     "File on each host whose first line is the site of that host, for runtimes that give every host the "
     "parameters of the launching one. Empty: none"},
    {"cluster_map", WAN_KNOB_STRING, offsetof(wan_params_t, cluster_map), 0, 0, 0, 2,
     "File with lines 'HOSTS SITE' such as 'n[001-064] eu/paris', or Slurm's topology.conf. Empty: none"},
    {"threshold", WAN_KNOB_INT64, offsetof(wan_params_t, threshold), 0, gib * 1024, 0, 5,
     "Bytes of a message from which the algorithms for long messages take over, 0 to 2^40. 0: chosen for each call "
     "from the measured links (the Phoenix paper uses 262144)"},
    {"links", WAN_KNOB_INT64, offsetof(wan_params_t, links), 0, 1 << 20, 0, 4,
     "Processes of a site that may have bytes on the way to another site at once, 0 to 1048576. 0: all hosts of a site, "
     "or fewer where that is predicted to be faster, 1: one gateway a site"},
    {"segment", WAN_KNOB_INT64, offsetof(wan_params_t, segment), 0, gib, 0, 5,
     "Bytes of a segment of the pipelined algorithms, 0 to 2^30. 0: chosen for each call from the measured links"},
    {"bcast_algorithm", WAN_KNOB_ENUM, offsetof(wan_params_t, bcast_algorithm), 0, 0, 0, 5,
     "Algorithm of MPI_Bcast; where it cannot serve a call, the choice is automatic"},
    {"allreduce_algorithm", WAN_KNOB_ENUM, offsetof(wan_params_t, allreduce_algorithm), 0, 0, 0, 5,
     "Algorithm of MPI_Allreduce; where it cannot serve a call, the choice is automatic"},
    {"verbose", WAN_KNOB_INT, offsetof(wan_params_t, verbose), 0, 9, 0, 3,
     "What rank 0 tells of a communicator, 0 to 9. 1: whether it is served and why, 2: also the measured links, 3: "
     "also each new plan, 4: also, by every process, where it is bound on its host"},
}};

} // namespace

extern "C" size_t wan_knob_count(void)
{
    return knobs.size();
}

extern "C" const wan_knob_t *wan_knob_get(size_t i)
{
    return i < knobs.size() ? &knobs[i] : nullptr;
}

extern "C" const char *wan_knob_enumerator(const wan_knob_t *knob, int k, const char **help)
{
    if (help)
        *help = nullptr;
    if (knob->type != WAN_KNOB_ENUM || k < 0)
        return nullptr;
    if (k == 0) {
        if (help)
            *help = "chosen for each call from the measured links";
        return "automatic";
    }
    const auto collective = knob->offset == offsetof(wan_params_t, bcast_algorithm) ? WAN_BCAST : WAN_ALLREDUCE;
    const wan::algorithm *a = wan::algorithm_at(collective, k);
    if (a && help)
        *help = a->summary;
    return a ? a->name : nullptr;
}
