/*
 * See registry.hpp.  The order here is the order of the enumerators.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/registry.hpp"

#include "algo/sites.hpp"

#include <array>

namespace wan {

extern const algorithm bcast_tree, bcast_vandegeijn, bcast_farfirst, bcast_chain;
extern const algorithm allreduce_flat, allreduce_leaders, allreduce_rabenseifner, allreduce_twotier, allreduce_ordered,
    allreduce_runs, allreduce_counterpart;
extern const algorithm reduce_flat, reduce_leaders, reduce_rabenseifner, reduce_chain, reduce_twotier, reduce_runs;
extern const algorithm barrier_leaders;
extern const algorithm scan_leaders, scan_collect, scan_chain, scan_runs;
extern const algorithm exscan_leaders, exscan_collect, exscan_chain, exscan_runs;
extern const algorithm allgather_direct, allgather_counterpart, allgather_leaders;
extern const algorithm gather_direct, gather_bundled, scatter_direct, scatter_bundled;
extern const algorithm reduce_scatter_direct, reduce_scatter_sites, reduce_scatter_pairwise, reduce_scatter_runs, reduce_scatter_swap;
extern const algorithm alltoall_direct, alltoall_bundled, alltoall_simple, alltoall_pair, alltoall_ring, alltoall_pair_light_barrier,
    alltoall_ring_light_barrier, alltoall_pair_one_barrier, alltoall_ring_one_barrier, alltoall_pair_mpi_barrier,
    alltoall_ring_mpi_barrier, alltoall_bruck;

std::span<const algorithm *const> algorithms()
{
    static constexpr std::array all{
        &bcast_tree,
        &bcast_vandegeijn,
        &bcast_farfirst,
        &bcast_chain,
        &allreduce_flat,
        &allreduce_leaders,
        &allreduce_rabenseifner,
        &allreduce_twotier,
        &allreduce_ordered,
        &allreduce_runs,
        &allreduce_counterpart,
        &reduce_flat,
        &reduce_leaders,
        &reduce_rabenseifner,
        &reduce_chain,
        &reduce_twotier,
        &reduce_runs,
        &barrier_leaders,
        &scan_leaders,
        &scan_collect,
        &scan_chain,
        &scan_runs,
        &exscan_leaders,
        &exscan_collect,
        &exscan_chain,
        &exscan_runs,
        &allgather_direct,
        &allgather_counterpart,
        &allgather_leaders,
        &gather_direct,
        &gather_bundled,
        &scatter_direct,
        &scatter_bundled,
        &reduce_scatter_direct,
        &reduce_scatter_sites,
        &reduce_scatter_pairwise,
        &reduce_scatter_runs,
        &reduce_scatter_swap,
        &alltoall_direct,
        &alltoall_bundled,
        &alltoall_simple,
        &alltoall_pair,
        &alltoall_ring,
        &alltoall_pair_light_barrier,
        &alltoall_ring_light_barrier,
        &alltoall_pair_one_barrier,
        &alltoall_ring_one_barrier,
        &alltoall_pair_mpi_barrier,
        &alltoall_ring_mpi_barrier,
        &alltoall_bruck,
    };
    return all;
}

const algorithm *algorithm_at(wan_collective_t collective, int k)
{
    for (const algorithm *a : algorithms())
        if (a->collective == collective && --k == 0)
            return a;
    return nullptr;
}

int algorithm_count(wan_collective_t collective)
{
    const auto all = algorithms();
    return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const algorithm *a) { return a->collective == collective; }));
}

const algorithm *algorithm_named(wan_collective_t collective, std::string_view name)
{
    for (const algorithm *a : algorithms())
        if (a->collective == collective && name == a->name)
            return a;
    return nullptr;
}

uint32_t gateway_senders(const topology &t, const plan &p)
{
    return std::min(p.links, static_cast<uint32_t>(widest_site(t)));
}

uint32_t one_sender(const topology &, const plan &)
{
    return 1;
}

uint32_t all_senders(const topology &t, const plan &)
{
    return static_cast<uint32_t>(most_ranks(t));
}

schedule build_schedule(const topology &t, const plan &p, int me, bool scattered)
{
    builder b(me);
    if (const auto &kind = kind_of(p.algo->collective); kind.blocks)
        b.by_blocks(kind.apart, scattered);
    p.algo->build(t, p, b);
    return b.finish();
}

} // namespace wan
