/*
 * Reduce_scatter in one WAN latency, for operators that commute: the hosts of
 * a site combine in few steps (halving, circulant), for short blocks, or
 * around a ring, for long ones.
 *
 *     T = L + (H-1)/H M_remote/B + M_remote/(nB) + steps         short
 *     T = (P-1)/P M/B + steps                                    long
 *
 * H hosts in a site, of which n send; M_remote: the blocks of ranks elsewhere.
 * See reduce_scatter_by_sites.hpp.
 *
 * Source: GridMPI (Matsuda et al.), reduce-scatter inside, then the WAN;
 * remote blocks first, any number of sites and hosts are ours.  Circulant
 * steps: Traeff 2024.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/reduce_scatter_by_sites.hpp"

namespace wan {

namespace {

combining way(const plan &p) { return p.inner == inner_steps::ring ? combining::ring : combining::circulant; }

} // namespace

extern const algorithm reduce_scatter_sites;
const algorithm reduce_scatter_sites = {
    .collective = WAN_REDUCE_SCATTER,
    .name = "sites",
    .summary = "each site combines other sites' blocks, sends them to their owners, and combines its own meanwhile; in few steps or around rings",
    .source = "GridMPI (Matsuda et al.), reduce-scatter inside, then the WAN; remote blocks first is ours",
    .parameters = uses_links | uses_inner | uses_pieces,
    .automatic = true,
    .long_messages = false,
    .keeps_order = false,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &r) { return serves_by_sites(t, r, combining::circulant) && serves_by_sites(t, r, combining::ring); },
    .buffers = [](const topology &t, const plan &p) { return buffers_by_sites(t, p, way(p)); },
    .cost = [](const topology &t, const facts &f, const request &r, const plan &p) { return cost_by_sites(t, f, r, p, way(p)); },
    .build = [](const topology &t, const plan &p, builder &b) { build_by_sites(t, p, b, way(p)); },
    .any_counts = true,
};

} // namespace wan
