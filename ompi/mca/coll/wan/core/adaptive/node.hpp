/*
 * One process of a communicator that uses adaptive trees: what it has measured, its
 * place in the tree of each root in use, its operations under way.  A state
 * machine: it is fed with messages and with time, answers with messages, and
 * never waits; it works for the others also while its own caller does something
 * else.
 *
 * All processes begin the same operations in the same order; nothing else is
 * agreed on.
 *
 * Where to read next: tree.hpp (who is whose parent), operation.hpp (how a
 * message travels), ahead.hpp (how far one may be ahead of another), message.hpp (what it says).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_NODE_HPP
#define WAN_ADAPTIVE_NODE_HPP

#include "adaptive/ahead.hpp"
#include "adaptive/operation.hpp"
#include "adaptive/pace.hpp"

#include <memory>

namespace wan {

/** Carries messages: in order between two processes; some may come once more, later. */
class adaptive_port {
public:
    /** Takes a copy of both parts. */
    virtual void send(int to, std::span<const std::byte> head, std::span<const std::byte> payload) = 0;
    /** Bytes for there that are on their way. */
    virtual uint64_t under_way(int to) const = 0;
    /** bytes/s that have come there, as far as has been seen lately; 0: nothing has. */
    virtual uint64_t delivered(int to) const = 0;
    /** What the least took to go there, and its answer, as far as one has been seen lately that went alone; 0: none has. */
    virtual int64_t round_trip_ns(int to) const = 0;
    /** What has just come may have waited here for so long, since this process did not look. */
    virtual int64_t waited_ns() const = 0;
    /** More would be sent there now, but enough is under way. */
    virtual void limited(int to) = 0;
    /** Bytes that were sent there of operations that have not begun there, on all communicators. */
    virtual uint64_t ahead(int to) const = 0;
    /** So many more, or fewer. */
    virtual void ahead_by(int to, int64_t more) = 0;
    /** adaptive_node::longest_ns(), of all communicators. */
    virtual int64_t longest_ns() const = 0;
    /** Where this process was in such a tree of another communicator. */
    virtual former_place former(tree_name tree) const = 0;

protected:
    ~adaptive_port() = default;
};

/** What is known of where processes are before anything is measured. */
struct adaptive_places {
    rank_set beside;            // those on this process's host, with it
    std::vector<int> order;     // of all, the same on all: neighbours follow each other, as those of a host do; empty: that of ranks
    uint64_t most_bandwidth = 0;                // bytes/s: the fastest way to any process, as far as is known
};

class adaptive_node final : public tree_host, public operation_host {
public:
    adaptive_node(const adaptive_options &o, int size, int me, adaptive_port &port, adaptive_places where = {});

    // Each begins an operation and returns its number; buffers stay until done(number), then end(number).
    uint64_t broadcast_begin(int root, std::span<std::byte> buffer);
    /** How contributions are combined. */
    struct operation_rules {
        combiner combine;
        uint64_t element_bytes = 1;
        joining how = joining::any;
    };
    /** out: as many bytes, at the root. */
    uint64_t reduce_begin(int root, std::span<const std::byte> in, std::byte *out, operation_rules rules);
    /** Reduction to rank 0 and a broadcast from there, whose number this is. */
    uint64_t allreduce_begin(std::span<const std::byte> in, std::byte *out, operation_rules rules);
    /** place(rank), at the root: where as many bytes of each rank go; `in` may be there already. */
    uint64_t gather_begin(int root, std::span<const std::byte> in, std::function<std::byte *(int rank)> place);
    bool done(uint64_t op) const;
    void end(uint64_t op);
    /** Forgets all operations, with their buffers. */
    void abandon();
    /** Nothing is begun here any more that others may wait for: they are told. */
    void begins_nothing();

    /** Measured before, for another communicator. */
    void know(int rank, const measured_way &way) { near_.know(rank, way); }
    /** Links are said to have changed. */
    void measure_again();
    /** While more waited than the way there holds, so much came there. */
    void paced(int to, const pace::seen &seen, int64_t now_ns);
    /** A short message, with nothing that takes time before it, and word of it, took so long; waited_ns() of that it may have waited here. */
    void went(int to, int64_t took_ns, int64_t now_ns);
    void receive(int from, std::span<const std::byte> bytes, int64_t now_ns);
    void step(int64_t now_ns);
    /** When step() has something to do even if no message comes; INT64_MAX: never. */
    int64_t deadline() const { return next_ns_; }

    /** Which one carries so many bytes. */
    tree_name tree_for(int root, uint64_t bytes) const { return {root, bytes >= options_.threshold_bytes}; }
    const tree *tree_at(tree_name name) const;
    /** f(tree), for each. */
    template <typename F> void each_tree(F f) const
    {
        for (const auto &[name, t] : trees_)
            f(std::as_const(*t));
    }
    /** To a root, in its trees; 0: there is none. */
    int64_t longest_ns() const;
    const adaptive_counters &seen() const { return counters_; }
    const neighbours &near() const { return near_; }
    /** Of parents, in all its trees. */
    uint64_t tree_changes() const;
    /** As it was told last. */
    int64_t now_ns() const { return now_ns_; }
    /** Operations under way. */
    size_t open() const { return operations_.size(); }
    /** Bytes that have come for operations that have not begun here. */
    uint64_t kept() const;
    /** Bytes that may be sent there of operations that have not begun there: kept there until they do. */
    uint64_t most_ahead(int to) const;
    /** Messages of operations that are over, or malformed: none, ever. */
    uint64_t stray() const { return stray_; }
    /** Messages that came once more. */
    uint64_t repeated() const { return repeated_; }

private:
    void send(int to, const tell_message &m) override;
    bool room(int to, uint64_t op) override;
    uint64_t next_op() const override { return next_op_; }
    void child_gone(tree_name tree, int child, uint64_t first, uint64_t end) override;
    tree &tree_of(tree_name name) override;
    adaptive_counters &counters() override { return counters_; }
    int64_t timeout_ns(tree_name name, uint64_t bytes) const override;
    int64_t waited_ns() const override { return port_.waited_ns(); }
    int me() const override { return me_; }
    int size() const override { return size_; }
    const adaptive_options &options() const override { return options_; }
    const std::vector<int> &order() const override { return order_; }

    /** nullptr: it is of another kind. */
    template <typename T> T *operation_at(uint64_t op);
    uint64_t contribute(contribution mine);
    uint64_t segment_for(uint64_t bytes, uint64_t element_bytes) const;
    uint64_t window(int to) const;
    uint64_t far_bandwidth() const;
    void post(int to, tell_kind what, uint64_t op);
    void ask_when(int to, uint64_t op);
    void operation_message(int from, const tell_message &m);
    void begin_behind();
    int64_t next_deadline() const;
    bool is_loaded() const;
    bool is_next_to(int other) const;
    void look_again_behind(const std::vector<int> &changed);

    adaptive_options options_;
    int size_, me_;
    std::vector<int> order_;
    adaptive_port &port_;
    neighbours near_;
    std::map<tree_name, std::unique_ptr<tree>> trees_;
    std::set<tree_name> used_;                  // by operations that have begun, here as on all
    std::map<uint64_t, std::unique_ptr<operation>> operations_;
    std::map<uint64_t, uint64_t> before_;       // of an allreduce: its reduction
    struct known_pace {
        uint64_t most = 0, told = 0;
        unsigned in_a_row = 0;      // that say that it is slow now, or far slower than was told
        bool slow = false;
    };
    std::map<int, known_pace> paces_;           // to whom operations were sent faster than the way took them
    std::map<int, int> departed_;               // so many messages in a row say that a way is farther, or (below 0) nearer, than was measured
    lead lead_;
    std::map<uint64_t, std::span<std::byte>> behind_;   // at its root: the broadcast that waits for that
    /** Numbers that have come from a process: the highest, and which of those 64 before it (bit 0: the last but one). */
    struct numbers {
        uint64_t last = 0, before = 0;
        /** False: it has come, or is so old that it has. */
        bool take(uint64_t number);
    };
    std::map<int, uint64_t> sent_;              // messages to a process
    std::map<int, numbers> come_;
    uint64_t next_op_ = 0, stray_ = 0, repeated_ = 0;
    int64_t now_ns_ = 0, next_ns_ = 0;      // next: when step() is due
    adaptive_counters counters_;
};

} // namespace wan

#endif
