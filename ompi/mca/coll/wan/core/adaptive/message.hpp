/*
 * What processes of adaptive trees tell each other, all of it, and its bytes.
 *
 * A message is its kind, its number among those from its sender to its receiver, the fields of that kind as numbers (wire.hpp), then
 * the payload.  Messages between two processes arrive in order; one that comes once more is dropped (adaptive_node::receive).
 *
 *   measuring    ping, pong        a round trip
 *                bulk, bulk_done   a few in a row, and how fast they came
 *                pace              how fast operations come to you from me, now that this is far slower than was known, or slower still by half, or no longer so
 *                distance          how far it is between us, now that this has turned out to have changed
 *   a tree       ask, tell         what a process is in it; also told by a parent to its children
 *                attach            "take me, with these below me"
 *                accept, refuse    "from this operation on", "no"
 *                confirm           "I come from this operation on"
 *                detach            "I leave from this operation on"
 *                under             "these are below me", one of them that has no children, and the end of
 *                                  the chain in the parent's neighbourhood (-1: this is another one)
 *                gate              "that one is nearer to the root than you, and near to you"
 *   being ahead  when              "tell me when you have begun this operation"
 *                begun             "I have begun all before this operation"
 *   operations   deliver           a broadcast, to those listed: its first segment
 *                segment           the others, along the same way, in order
 *                contribute        of a reduction, of those listed; `final`: no more of this segment
 *                redirect          "send what remains of this operation to the root"
 *                redirected        "nothing more of it will come from me"
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_MESSAGE_HPP
#define WAN_ADAPTIVE_MESSAGE_HPP

#include "adaptive/rank_set.hpp"

#include <compare>

namespace wan {

/** One latency and one bandwidth tree a root. */
struct tree_name {
    int root = 0;
    bool bandwidth = false;
    auto operator<=>(const tree_name &) const = default;
};

/** What a process is in a tree. */
struct tree_view {
    bool connected = false;     // to the root
    int64_t dist_ns = 0;        // round trips to the root, hop by hop
    uint64_t est = 0;           // bytes/s from the root, estimated; the root's is unbounded
    int children = 0;
    rank_set ancestors;         // parent to root
    int gate = -1;              // the process of its neighbourhood that is nearest to the root
    int64_t gate_dist_ns = 0;
    int tip = -1;               // a process below that has no children, through the nearest child
    int end = -1;               // the last of a chain below that has not left its neighbourhood
    int mover = -1;             // of several children the one whose turn it is to go elsewhere
    bool slowed = false;        // a way from the root to it has turned out slow
    bool operator==(const tree_view &) const = default;
};

enum class tell_kind : uint8_t {
    ping, pong, bulk, bulk_done, pace, distance,
    ask, tell, attach, accept, refuse, confirm, detach, under, gate,
    when, begun,
    deliver, segment, contribute, redirect, redirected,
    kinds
};

struct tell_message {
    tell_kind what = tell_kind::ping;
    uint64_t number = 0;        // 0: it has none, and may come again (answers of communicators that are closed)
    uint32_t id = 0;            // ask, tell: of the question, 0: unasked
    int hint = -1;              // pong: somebody near the one who answers; under: the tip; gate: that one
    int end = -1;               // under
    int64_t value_ns = 0;       // ping, distance: how far, as known so far; pong, tell (of a question's answer): so long it may have waited there; bulk_done: from the first to the last; pace: bytes/s
    bool last = false;          // bulk: the last one; contribute: final
    bool slow = false;          // pace: far slower than was known; pong: long operations are under way there
    tree_name tree;             // all of trees and operations
    tree_view view;             // tell, ask
    uint64_t op = 0;            // accept, confirm, detach, when, begun, operations
    int children = 0;           // attach: how many it believes the other has
    rank_set ranks;             // attach, under, deliver, contribute
    uint64_t bytes = 0;         // deliver: of the whole broadcast; under: bytes/s of the way there, as measured; 0: not known
    uint64_t segment_bytes = 0; // deliver
    uint32_t index = 0;         // contribute: which segment
    std::span<const std::byte> payload;     // ping, pong, bulk, deliver, segment, contribute
};

/** To `redirect`. */
inline tell_message redirected_answer(const tell_message &m)
{
    tell_message answer;
    answer.what = tell_kind::redirected;
    answer.tree = m.tree;
    answer.op = m.op;
    return answer;
}

/** The bytes before the payload. */
std::vector<std::byte> message_put(const tell_message &m, uint64_t number);
inline std::vector<std::byte> message_put(const tell_message &m) { return message_put(m, m.number); }
/** False: malformed.  m.payload points into bytes. */
bool message_get(tell_message &m, std::span<const std::byte> bytes, int ranks);

} // namespace wan

#endif
