/*
 * What adaptive trees can be told, and where the defaults are from.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_OPTIONS_HPP
#define WAN_ADAPTIVE_OPTIONS_HPP

#include <algorithm>
#include <array>
#include <cstdint>

namespace wan {

/** What is ours beyond Phoenix's rules (tree.hpp, neighbours.hpp). */
enum tree_variant : unsigned {
    variant_hints = 1,      // near processes are named to each other, and measured next
    variant_gates = 2,      // a neighbourhood has one edge to the rest
    variant_hops = 4,       // the time to send to several children is part of the distance
    variant_chains = 8,     // of the bandwidth tree: children go below each other
    variant_same = 16,      // bandwidths within a factor of three count as the same
    variant_order = 32,     // far children are served first, then those with the most below
    variant_pace = 64,      // a way that turns out slow during an operation counts as what it is
    variant_places = 128,   // who was in a tree of that root before, in another communicator, begins where it was
    variant_relays = 256,   // of a broadcast what fits no child is shared by one or two, in place of a message to each from this process
    variant_watch = 512,    // a way that seems to have got farther or nearer, as messages show, is measured again
};

struct variant_name {
    tree_variant variant;
    const char *name;
};
inline constexpr std::array<variant_name, 10> tree_variants = {{{variant_hints, "hints"},
                                                                {variant_gates, "gates"},
                                                                {variant_hops, "hops"},
                                                                {variant_chains, "chains"},
                                                                {variant_same, "same"},
                                                                {variant_order, "order"},
                                                                {variant_pace, "pace"},
                                                                {variant_places, "places"},
                                                                {variant_relays, "relays"},
                                                                {variant_watch, "watch"}}};
inline constexpr unsigned all_variants = 2 * variant_watch - 1;

struct adaptive_options {
    /** Those in use; none: Phoenix's rules alone, random peers, parents by their two conditions. */
    unsigned variants = all_variants;
    bool has(tree_variant v) const { return variants & v; }
    /** Random peers that a process measures (Phoenix); by hints up to three times as many. */
    int peers = 10;
    /** Carried by a message, and by its answer, that measure a round trip, beside their headers (Phoenix); not more than a part of a transfer. */
    uint64_t ping_bytes = 1;
    /** Measures a peer's bandwidth (Phoenix). */
    uint64_t bulk_bytes = 128 << 10;
    /** Of a message, from which the bandwidth tree carries it (Phoenix). */
    uint64_t threshold_bytes = 256 << 10;
    /** 0: by what is known of the way (adaptive_node::timeout_ns). */
    int64_t reduce_timeout_ns = 0;
    /** 0: so that filling a chain of all processes adds 4%. */
    uint64_t segment_bytes = 0;
    /** Of operations that have not begun at another process it is sent so much, and has to keep it; 0: a few MB, and what the way
     *  there holds (adaptive_node::most_ahead). */
    uint64_t ahead_bytes = 0;
    /** What a message on its way takes up besides its payload, in memory and of what a transport holds: a process that does not
     *  look is not sent thousands. */
    uint64_t message_room_bytes = 512;
    uint64_t seed = 1;
};

/** The same where processes may die: what they have not taken then never comes back (Open MPI's shared memory has room for
 *  about 500 messages to all). */
constexpr uint64_t adaptive_mortal_room_bytes = 2048;

/** Of the payload of a message: below the eager limit of Open MPI's btl/tcp, 64 KB, with its header. */
constexpr uint64_t adaptive_most_payload = 60 << 10;
/** Of a communicator: a set of ranks at its worst and the payload fit into one message. */
constexpr int adaptive_most_ranks = 16'384;
/** Of less, messages cost more than the pipeline gains (lab, 2x16: 1 MB in 278 ms; with 4 KB 350). */
constexpr uint64_t adaptive_least_segment = 8 << 10;
/** Of a message, that filling a chain of all processes takes: one of so many parts. */
constexpr uint64_t adaptive_filling_part = 25;
/** How a message is cut for so many processes. */
constexpr uint64_t adaptive_segment(uint64_t bytes, uint64_t processes)
{
    return std::clamp(bytes / (adaptive_filling_part * processes), adaptive_least_segment, adaptive_most_payload);
}

} // namespace wan

#endif
