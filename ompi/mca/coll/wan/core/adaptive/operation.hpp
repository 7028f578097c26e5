/*
 * One broadcast or reduction of one process, along a tree that may be as stale as
 * it likes.
 *
 * Broadcast.  A message lists the ranks that are still to be served, its
 * receiver among them.  Who gets it serves itself, passes to each child that is
 * listed those listed below it, and to one or two of the rest, point to point,
 * what remains (variant `relays`; else to each of the rest).  So the lists of all messages under way are apart, each rank gets
 * one message, and there are as many as ranks but one, whatever trees look like.
 * Long messages are cut: the first segment makes the way, the others follow it.
 *
 * Reduction.  A process waits for its children (tree.hpp: it knows who they are)
 * and passes on what they and it have, with the ranks that are in it.  It waits
 * no longer than a timeout, set when the operation begins here for its first
 * segment, for each further one when the one before it has gone up: then it
 * passes on what it has, what comes later at once, and asks the children that
 * have not finished to send the rest to the root.  It has done its part when each child has finished or said so.  What comes
 * round to a process that has passed it on before goes to the root.
 *
 * Before there is a tree: a long broadcast goes from one to the next, host by host and site by site, and so does the first long
 * reduction with a tree (all know which that is), in place of all contributions straight to the root.  With more behind a process it
 * waits longer, so that of a chain only the one before who is late gives up.
 *
 * Where the order of operands counts, contributions of neighbouring ranks alone are combined (parts.hpp); what
 * cannot yet be combined travels side by side.  Long ones then take a chain in the order of ranks, towards the root
 * from both ends, and wait for whoever is late.  A Gather is a reduction that combines nothing; relays
 * keep what comes, so that long ones are not for trees (wan_comm::trees_refuse()).
 *
 * Source: as neighbours.hpp, sections 3.4 and 3.5; that messages list their
 * receiver, and that children are told where to send, is ours.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_OPERATION_HPP
#define WAN_ADAPTIVE_OPERATION_HPP

#include "adaptive/parts.hpp"
#include "adaptive/tree.hpp"

#include <algorithm>
#include <deque>

namespace wan {

/** How a message travels: in so many segments, of which the last may be shorter.  One without bytes is one segment. */
struct segments_of {
    uint64_t bytes = 0, each = 1;
    uint64_t count() const { return bytes ? (bytes + each - 1) / each : 1; }
    uint64_t from(uint64_t index) const { return index * each; }
    uint64_t length(uint64_t index) const { return std::min(each, bytes - from(index)); }
};

struct adaptive_counters {
    uint64_t along_tree = 0, direct = 0;        // broadcasts: first segments sent to children, to others
    uint64_t slowed = 0;                        // ways that turned out slow
    uint64_t timeouts = 0, late = 0, redirected = 0, round = 0, twice = 0;
};

class operation_host {
public:
    virtual void send(int to, const tell_message &m) = 0;
    /** Whether one more segment of this operation may be sent there now. */
    virtual bool room(int to, uint64_t op) = 0;
    virtual tree &tree_of(tree_name name) = 0;
    virtual adaptive_counters &counters() = 0;
    virtual int64_t timeout_ns(tree_name name, uint64_t bytes) const = 0;
    virtual int me() const = 0;
    virtual int size() const = 0;
    virtual const adaptive_options &options() const = 0;
    /** All ranks, neighbours after each other; the same on all. */
    virtual const std::vector<int> &order() const = 0;

protected:
    ~operation_host() = default;
};

class operation {
public:
    operation(operation_host &host, uint64_t op) : host_(host), op_(op) {}
    virtual ~operation() = default;
    virtual void receive(int from, const tell_message &m, int64_t now_ns) = 0;
    virtual void child_gone(tree_name, int, uint64_t, uint64_t) {}
    /** Sends what there is to be sent. */
    virtual void step(int64_t now_ns) = 0;
    /** Whether the caller may go on: nothing here needs this process any more. */
    virtual bool done() const = 0;
    virtual int64_t deadline() const { return INT64_MAX; }
    /** Along a bandwidth tree. */
    virtual bool is_long() const = 0;
    /** Bytes that have come for a caller that has not. */
    virtual uint64_t kept() const { return 0; }

protected:
    operation_host &host_;
    uint64_t op_;
};

class broadcast : public operation {
public:
    using operation::operation;
    /** The root's; `buffer` must stay until done(). */
    void begin_root(tree_name tree, std::span<std::byte> buffer, uint64_t segment_bytes);
    /** Of the others.  What came before is kept. */
    void begin(std::span<std::byte> buffer);
    void receive(int from, const tell_message &m, int64_t now_ns) override;
    void step(int64_t now_ns) override;
    bool done() const override;
    bool is_long() const override { return tree_.bandwidth; }
    uint64_t kept() const override { return begun_ ? 0 : kept_.size() + have_ * host_.options().message_room_bytes; }

private:
    struct target {
        int rank;
        rank_set listed;
        uint64_t next = 0;      // segment
    };
    void route(rank_set listed);
    std::vector<int> in_turn(const rank_set &listed) const;
    std::span<const std::byte> part(uint64_t index) const;
    void take(std::span<const std::byte> payload);
    void hand_over();

    tree_name tree_;
    bool begun_ = false, routed_ = false;
    std::vector<std::byte> kept_;           // until begin()
    std::byte *at_ = nullptr, *out_ = nullptr;      // the bytes; where the caller wants them
    segments_of cut_;
    uint64_t wanted_ = 0, have_ = 0;        // bytes of the caller's buffer; segments
    std::vector<target> targets_;
};

/** What a process gives to a reduction or a Gather, and how it goes on. */
struct contribution {
    tree_name tree;
    std::span<const std::byte> in;      // copied
    uint64_t segment_bytes = 1;
    joining how = joining::any;
    combiner combine;
    std::function<std::byte *(int rank)> place;         // at the root, until done(): of the result; of Gather, of each rank's block
    bool in_turn = false;               // from one to the next in place of along the tree
};

class reduction : public operation {
public:
    using operation::operation;
    void begin(contribution mine);
    void receive(int from, const tell_message &m, int64_t now_ns) override;
    void child_gone(tree_name tree, int child, uint64_t first, uint64_t end) override;
    void step(int64_t now_ns) override;
    bool done() const override;
    bool is_long() const override { return mine_.tree.bandwidth; }
    int64_t deadline() const override
    {
        return begun_ && !timed_out_ && !am_root() && !fixed_order() && finished_ < segments_.size() ? deadline_ns_ : INT64_MAX;
    }
    uint64_t kept() const override;

private:
    struct child {
        int rank;
        bool gone = false;
        std::vector<bool> finished;     // segments
    };
    struct segment {
        parts held;                     // and not passed on; at the root, all
        rank_set have;                  // who is in that
        rank_set passed;                // contributions that were passed on
        bool finished = false;          // "final" is in line
    };
    struct outgoing {
        uint64_t index;
        bool last;
        rank_set ranks;
        std::vector<std::byte> bytes;
        int to = -1;                    // -1: the parent
    };
    struct early {
        int from;
        tell_message m;
        std::vector<std::byte> payload;
    };
    bool am_root() const { return host_.me() == mine_.tree.root; }
    bool fixed_order() const { return mine_.in_turn && mine_.how != joining::any; }
    void relatives(size_t segments);
    void take(int from, const tell_message &m);
    void hold(uint64_t index, const tell_message &m);
    void settle(uint64_t index);
    void settle_all();
    void pass(uint64_t index, bool last);
    bool waits(uint64_t index) const;
    void expire();

    contribution mine_;
    bool begun_ = false, timed_out_ = false;
    std::vector<early> early_;
    std::vector<int> redirecting_;      // who want nothing of this process
    segments_of cut_;
    int parent_ = -1;
    std::vector<child> children_;
    std::vector<segment> segments_;
    std::deque<outgoing> line_;
    size_t complete_ = 0;               // root: segments with everybody's
    size_t finished_ = 0;               // others: those of which the last word is said
    uint64_t due_ = 0;                  // others: the first of which it is not
    static constexpr int64_t at_once = INT64_MIN;       // to be set by the next step()
    int64_t deadline_ns_ = at_once, timeout_ns_ = 0;    // of that one
    int behind_ = 0;                    // in a chain
};

} // namespace wan

#endif
