/*
 * Neighbourhood collectives: messages along the edges of a graph, of which a
 * rank knows its own.  Both ends of an edge know how long its message is, and
 * nobody else does; where it is empty, Open MPI may not even ask us.  So nothing is
 * planned or agreed on, no rank waits for one that is not its neighbour, and each makes
 * its schedule from its edges.
 *
 * Messages on a host travel as they are.  A message to another host of 64 KB
 * or more would wait for its receiver's consent, one round trip, and that consent, also
 * one from the same site, behind what the receiver itself sends.  It goes in pieces that need none; of a
 * very long one, the first so many, while consent is asked for the rest:
 *
 *     rest  |RTS|..........|consent|==========>
 *     front     |====|====|====|====|
 *
 * That front is what a receiver that comes late has to keep.  It has an end, since nothing is cut
 * unless something comes back from there in the same call: a sender is one call ahead at most.  What
 * goes far goes first, the next site before those behind it, pieces of all edges in
 * turn, so that edges share the way.
 *
 *     T = max(L + M_far/B, M/B)
 *
 * Source: coll/wan.  Next: graph/run.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_GRAPH_EXCHANGE_HPP
#define WAN_GRAPH_EXCHANGE_HPP

#include "sched/schedule.hpp"
#include "topo/topology.hpp"

namespace wan {

/** What goes along an edge: block `block` of the caller's buffer, to or from this rank. */
struct edge {
    int rank;
    uint32_t block;
    uint64_t bytes;
    friend bool operator==(const edge &, const edge &) = default;
};

/** Several edges between two ranks: the k-th of those at their sender is the k-th at their receiver. */
struct edges {
    std::vector<edge> to, from;
    friend bool operator==(const edges &, const edges &) = default;
};

/** A message of so many is cut: both ends must come to this, and they agree on nothing, so that Open MPI's default stands for its limit. */
inline constexpr uint64_t exchange_cut_bytes = 64 * 1024;
/** Bytes of a piece, at most: less than what Open MPI asks consent for by default (model/cost.hpp). */
inline constexpr uint64_t exchange_piece_bytes = 63 * 1024;
/** Of a message, before what needs consent: 2 MB. */
inline constexpr uint32_t exchange_pieces = 32;

/**
 * For rank `me`, by blocks of `in` and `out`; of any number of operations, which wait for nothing.
 * All messages have label 0.  Edges of no bytes make no message.
 */
schedule build_exchange(const topology &t, int me, const edges &e);

} // namespace wan

#endif
