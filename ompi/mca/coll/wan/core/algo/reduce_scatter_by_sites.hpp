/*
 * Reduce_scatter over sites for operators that commute: what the algorithms
 * that differ in how the hosts of a site combine have in common.
 *
 *     site 0:  combine blocks of site 1 --+ combine own blocks --+-- combine both
 *                                          \ /  n WAN links,
 *                                           X   both directions
 *                                          / \   .
 *     site 1:  combine blocks of site 0 --+ combine own blocks --+-- combine both
 *
 * The WAN is fed first: the hosts of a site combine the blocks of ranks
 * elsewhere, each its share, and send the site's part of a block straight to
 * the rank that owns it, so that a block crosses once for each pair of sites.
 * While that flies, they combine the blocks of their own ranks.  The owner
 * combines what comes from all sites, in their order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_REDUCE_SCATTER_BY_SITES_HPP
#define WAN_ALGO_REDUCE_SCATTER_BY_SITES_HPP

#include "algo/shares.hpp"

namespace wan {

void build_by_sites(const topology &t, const plan &p, builder &b, combining how);

/**
 * T = max((P-1)/P M/B, L + (M_remote + M_remote/n)/B) + steps inside a site;
 * M_remote: the blocks of ranks elsewhere.  n of a site's hosts send.
 */
int64_t cost_by_sites(const topology &t, const facts &f, const request &r, const plan &p, combining how);

/** Scratch of a rank in whole vectors, rounded up. */
uint32_t buffers_by_sites(const topology &t, const plan &p, combining how);

bool serves_by_sites(const topology &t, const request &r, combining how);

} // namespace wan

#endif
