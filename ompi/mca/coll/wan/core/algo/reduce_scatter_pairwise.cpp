/*
 * Reduce_scatter of long blocks, for operators that commute: inside a site
 * every host sends its share of a block straight to the host that combines it,
 * in turns, each send after the receive of two turns before, so that few
 * connections share an interface and the blocks of other sites leave first.
 *
 *     T = max((P-1)/P M/B, L + (M_remote + M_remote/n)/B) + a message
 *
 * Nothing waits for a step to end, nor goes around all hosts, of whom there may be
 * too many for a ring; several connections share an interface unevenly, though, and
 * the price is as many messages as hosts.  See reduce_scatter_by_sites.hpp.
 *
 * Source: coll/wan; the pairwise exchange.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/reduce_scatter_by_sites.hpp"

namespace wan {

extern const algorithm reduce_scatter_pairwise;
const algorithm reduce_scatter_pairwise = {
    .collective = WAN_REDUCE_SCATTER,
    .name = "pairwise",
    .summary = "the same, with each share sent straight to the host that combines it, in turns; for long blocks",
    .source = "coll/wan; the pairwise exchange",
    .parameters = uses_links | uses_pieces,
    .automatic = true,
    .long_messages = true,
    .keeps_order = false,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &r) { return serves_by_sites(t, r, combining::pairwise); },
    .buffers = [](const topology &t, const plan &p) { return buffers_by_sites(t, p, combining::pairwise); },
    .cost = [](const topology &t, const facts &f, const request &r, const plan &p) { return cost_by_sites(t, f, r, p, combining::pairwise); },
    .build = [](const topology &t, const plan &p, builder &b) { build_by_sites(t, p, b, combining::pairwise); },
    .any_counts = true,
};

} // namespace wan
