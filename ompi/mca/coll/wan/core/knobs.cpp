/*
 * Every knob, once: Open MPI's parameters, ompi_info and the documentation
 * come from here.  Enumerators of the algorithms come from the registry.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "knobs.hpp"

#include "adaptive/service.hpp"
#include "algo/registry.hpp"
#include "tune/tuner.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace {

constexpr int64_t gib = int64_t{1} << 30;

const std::array<wan_knob_t, 27 + WAN_COLLECTIVES> knobs{{
    {"priority", WAN_KNOB_INT, offsetof(wan_params_t, priority), -1, 100, 50, 3, false,
     "Priority of the component, -1 to 100. Above tuned (30) and han (35); keep it below 78, so that the "
     "components for accelerators come first. -1 takes coll/wan out of the job. Processes with different ones are not "
     "served together"},
    {"cluster_id", WAN_KNOB_STRING, offsetof(wan_params_t, cluster_id), 0, 0, 0, 2, false,
     "Site of this process, a nested name such as eu/paris or eu/paris/rack3 (region/site/switch; one part alone "
     "names a site). May differ per host or application context. Empty: see cluster_id_file and cluster_map"},
    {"cluster_id_file", WAN_KNOB_STRING, offsetof(wan_params_t, cluster_id_file), 0, 0, 0, 2, false,
     "File on each host whose first line is the site of that host, for runtimes that give every host the "
     "parameters of the launching one. Empty: none"},
    {"cluster_map", WAN_KNOB_STRING, offsetof(wan_params_t, cluster_map), 0, 0, 0, 2, false,
     "File with lines 'HOSTS SITE' such as 'n[001-064] eu/paris', or Slurm's topology.conf. Empty: none"},
    {"discover", WAN_KNOB_INT, offsetof(wan_params_t, discover), 0, 1, 1, 2, false,
     "With 1, where no process of a job has a site by name, its hosts measure round trips in the background, from MPI_Init on: "
     "those between sites are at least 0.5 ms and 3 times as long as those inside, or above 5 ms. Until the sites are known, and then a "
     "blocking call is made on the communicator, collectives are those of other components; those that Open MPI calls itself at "
     "any time (non-blocking, of up to 64 bytes) remain so. The same for all processes. 0: sites need names"},
    {"check_interval", WAN_KNOB_INT64, offsetof(wan_params_t, check_interval), 0, 3'600'000, 50, 5, true,
     "Milliseconds after which, about, blocking calls ask all ranks whether collectives take much more or less time than they did, 0 to "
     "3600000; more where asking would take more than a hundredth of the time, less until it is known how long calls take. Then links "
     "are looked at, and measured again if they have changed. 0: never"},
    {"measure_share", WAN_KNOB_INT64, offsetof(wan_params_t, measure_share), 0, 100, 20, 4, true,
     "Per cent of the time of the calls so far and its own that measuring the links between sites, as predicted, may take, 0 to 100. What "
     "counts of a call is what it takes beyond the way between sites, at least a sixteenth of its time; of up to 256 B between two sites, which cross once in any plan, a 64th of its time (not of blocks for each rank); how wide the ways are, too, may take a fifth of that. Until "
     "then what a map or a file says counts, and for the rest one way between sites of 10 ms and interfaces of 1 Gb/s. 100: they are measured "
     "in the first blocking call, 0: never, so that coll_wan_check_interval has nothing to ask, and a file is believed"},
    {"ping_bytes", WAN_KNOB_INT64, offsetof(wan_params_t, ping_bytes), 1, 1024, 1, 6, false,
     "Bytes that a message by which a round trip is measured in the background carries, as its answer does, beside their headers, 1 to 1024 (default: the "
     "Phoenix paper's): of adaptive trees, and between sites that were found by measuring (coll_wan_measure_bytes)"},
    {"measure_bytes", WAN_KNOB_INT64, offsetof(wan_params_t, measure_bytes), 0, 16 << 20, 0, 5, false,
     "Bytes of a transfer by which the bandwidth of a way is measured in the background, 0 to 2^24 (131072: the Phoenix paper's): between "
     "sites that were found by measuring (coll_wan_discover), from a second after that on, for half a second of each sender's time and then a "
     "hundredth; and for adaptive trees. 0: ways between sites are not measured, those of trees by 131072"},
    {"threshold", WAN_KNOB_INT64, offsetof(wan_params_t, threshold), 0, gib * 1024, 0, 5, true,
     "Bytes of a message from which the algorithms for long messages take over, 0 to 2^40. 0: chosen for each call "
     "from the measured links (the Phoenix paper uses 262144)"},
    {"links", WAN_KNOB_INT64, offsetof(wan_params_t, links), 0, 1 << 20, 0, 4, true,
     "Processes of a site that may have bytes on the way to another site at once, 0 to 1048576. 0: all hosts of a site, "
     "or fewer where that is predicted to be faster, 1: one gateway a site"},
    {"segment", WAN_KNOB_INT64, offsetof(wan_params_t, segment), 0, gib, 0, 5, true,
     "Bytes of a segment of the pipelined algorithms, 0 to 2^30. 0: chosen for each call from the measured links"},
    {"stable", WAN_KNOB_INT, offsetof(wan_params_t, stable), 0, 1, 0, 2, true,
     "With 1, on a communicator each element of a reduction's result is the same expression of the contributions, whatever the "
     "size of the message, the measured links, coll_wan_links, coll_wan_segment and coll_wan_threshold, so that runs with the "
     "same placement give the same bits; Allreduce and Reduce give those of each other. Long reductions take longer. 0: "
     "whatever is fastest. (Open MPI's vectorised operators treat the end of a vector unlike its middle: see README)"},
    {"tune_trials", WAN_KNOB_INT64, offsetof(wan_params_t, tune_trials), 0, wan::tuner::most_trials, 0, 4, true,
     "Early blocking calls of a collective and a size that are served in other ways than the one that is predicted to be fastest, and timed, at "
     "most (coll_wan_tune_share), 0 to 7, without a first call of each that needs other connections, which opens them; 3 is a good number: two other "
     "ways once each, the quicker one once more where it seems better. What takes more than twice as long as the best so far in its first call is not "
     "called again. The fastest is kept. After changes all begins again, three times at most. While that lasts, reductions of "
     "the same contributions may be rounded differently from call to call (see coll_wan_stable). 0: what is predicted is never tried"},
    {"tune_excess", WAN_KNOB_INT64, offsetof(wan_params_t, tune_excess), 0, 1000, 50, 5, true,
     "Per cent by which a way may be predicted to be slower than the fastest one and still be tried, or be used because coll_wan_tune_file says so, "
     "0 to 1000 (Nanri's report tried up to 90)"},
    {"tune_share", WAN_KNOB_INT64, offsetof(wan_params_t, tune_share), 1, 100, 2, 5, true,
     "Per cent of the time of the calls of a collective and a size that trials may add to it, both as predicted, 1 to 100: trials wait until "
     "calls have taken so long. 100: no limit, each call is a trial until all have ended"},
    {"tune_trees", WAN_KNOB_INT, offsetof(wan_params_t, tune_trees), 0, 1, 0, 5, true,
     "With 1, and coll_wan_tune_trials, each communicator begins adaptive trees, which measure and send in the background, and they are among what is "
     "tried. 0: they are not"},
    {"tune_file", WAN_KNOB_STRING, offsetof(wan_params_t, tune_file), 0, 0, 0, 4, false,
     "File in which the first rank of a job keeps what was learned by trial, for later jobs, which try nothing where it tells until calls take far longer. What "
     "could not have been learned on the links that these measure, as coll_wan_tune_excess has it, is not used. Read by every process: where they do not all read the same, nobody "
     "uses it. Empty: none"},
    {"links_file", WAN_KNOB_STRING, offsetof(wan_params_t, links_file), 0, 0, 0, 4, false,
     "File in which the first rank of a job keeps what was measured of the links between its sites, for later jobs, which then have a "
     "short look at them in place of measuring all; wan-info links shows and compares such files. Read by every process: where they do not all "
     "read the same, links are measured. Empty: none"},
    {"rules", WAN_KNOB_STRING, offsetof(wan_params_t, rules), 0, 0, 0, 4, false,
     "File with lines 'CALLS: ALGORITHM' such as 'bcast bytes 1M-: vandegeijn', which come before what is predicted and tried; the same on "
     "all hosts. Empty: none"},
    {"explain", WAN_KNOB_INT, offsetof(wan_params_t, explain), 0, 1, 0, 3, false,
     "With 1, the first rank of each communicator tells when that is freed, of each kind of calls, how it was served and why, what was predicted, tried, measured and dropped, and what a "
     "call takes longer than by the best that is known, as estimated. 0: nothing"},
    {"tree_threshold", WAN_KNOB_INT64, offsetof(wan_params_t, tree_threshold), 0, gib * 1024, 256 << 10, 5, true,
     "Bytes of a message from which the algorithm 'adaptive' takes bandwidth trees in place of latency trees, and leaves a Gather of such "
     "blocks to the others, 0 to 2^40 (default: the Phoenix paper's)"},
    {"tree_peers", WAN_KNOB_INT64, offsetof(wan_params_t, tree_peers), 1, 1 << 20, 10, 5, false,
     "Other processes, picked at random, that a process measures for adaptive trees, 1 to 1048576; by what those tell up to three "
     "times as many (default: the Phoenix paper's). And other sites that a site measures its ways to, see coll_wan_measure_bytes"},
    {"tree_phoenix", WAN_KNOB_INT, offsetof(wan_params_t, tree_phoenix), 0, 1, 0, 6, true,
     "With 1, adaptive trees follow the rules of the Phoenix paper alone, for comparison: longer ways, and more of them between sites. 0: with "
     "what goes beyond them"},
    {"reduce_timeout", WAN_KNOB_INT64, offsetof(wan_params_t, reduce_timeout), 0, 3'600'000'000, 0, 5, false,
     "Microseconds from the call after which a process of an adaptive tree passes on what it has of a reduction, and what comes later at once, "
     "0 to 3600000000. 0: the longest time to a root that it knows, on any communicator, four of the longest measured round trips before there is a "
     "tree, 200 ms where nothing is measured; "
     "for long messages besides what their bytes take, and the first of them through a chain of all processes below"},
#define NOT_BY_TREES ""
#define BY_TREES "; 'adaptive' needs two sites at least"
#define ALGORITHM(lower, CAPITALS, function, more)                                                        \
    {lower "_algorithm", WAN_KNOB_ENUM, offsetof(wan_params_t, algorithm) + WAN_##CAPITALS * sizeof(int), 0, 0, 0, 5, true, \
     "Algorithm of " function "; where it cannot serve a call, the choice is automatic" more},
    ALGORITHM("bcast", BCAST, "MPI_Bcast", BY_TREES)
    ALGORITHM("allreduce", ALLREDUCE, "MPI_Allreduce", BY_TREES)
    ALGORITHM("reduce", REDUCE, "MPI_Reduce", BY_TREES)
    ALGORITHM("barrier", BARRIER, "MPI_Barrier", BY_TREES)
    ALGORITHM("scan", SCAN, "MPI_Scan", NOT_BY_TREES)
    ALGORITHM("exscan", EXSCAN, "MPI_Exscan", NOT_BY_TREES)
    ALGORITHM("allgather", ALLGATHER, "MPI_Allgather and MPI_Allgatherv", NOT_BY_TREES)
    ALGORITHM("gather", GATHER, "MPI_Gather and MPI_Gatherv", BY_TREES)
    ALGORITHM("scatter", SCATTER, "MPI_Scatter and MPI_Scatterv", NOT_BY_TREES)
    ALGORITHM("reduce_scatter", REDUCE_SCATTER, "MPI_Reduce_scatter and MPI_Reduce_scatter_block", NOT_BY_TREES)
    ALGORITHM("alltoall", ALLTOALL, "MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw", NOT_BY_TREES)
#undef ALGORITHM
#undef BY_TREES
#undef NOT_BY_TREES
    {"report", WAN_KNOB_STRING, offsetof(wan_params_t, report), 0, 0, 0, 2, false,
     "File, with a name that ends in .json, into which rank 0 of the job writes at its end what coll/wan did: sites, links, calls and their "
     "times, plans and why, what was not served; wan-info report FILE shows it and makes a page of it. With %r in the name each rank "
     "writes its own, with its number in place of that. Empty: none"},
    {"verbose", WAN_KNOB_INT, offsetof(wan_params_t, verbose), 0, 9, 0, 3, false,
     "What the first rank (of five) that has coll/wan tells of a communicator, 0 to 9. 1: whether it is served and why, 2: also the "
     "measured links, and by every process whose host a map leaves out, that it does, 3: also each new plan, 4: also, by "
     "every process, its site and where it is bound on its host"},
}};

} // namespace

namespace wan {

int64_t knob_value(const wan_knob_t &knob, const wan_params_t &params)
{
    const char *at = reinterpret_cast<const char *>(&params) + knob.offset;
    switch (knob.type) {
    case WAN_KNOB_INT64: return *reinterpret_cast<const int64_t *>(at);
    case WAN_KNOB_STRING: return 0;
    default: return *reinterpret_cast<const int *>(at);
    }
}

} // namespace wan

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
    const auto collective = wan::collective_at(static_cast<int>((knob->offset - offsetof(wan_params_t, algorithm)) / sizeof(int)));
    const wan::algorithm *a = wan::algorithm_at(collective, k);
    if (!a && wan::adaptive_serves(collective) && k == wan::adaptive_enumerator(collective)) {
        if (help)
            *help = wan::adaptive_summary(collective);
        return wan::adaptive.name;
    }
    if (a && help)
        *help = a->summary;
    return a ? a->name : nullptr;
}
