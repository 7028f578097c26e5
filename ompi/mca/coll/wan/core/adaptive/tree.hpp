/*
 * One process's place in one tree: its parent, its children, who is below each.
 *
 * Parents by Phoenix's rules.  Latency tree: the first process found that is
 * connected to the root; then to a candidate that is both nearer than the parent
 * and nearer to the root.  Bandwidth tree: to a candidate that promises more,
 *
 *      est(p, cand) = min(est(cand), bandwidth(p, cand) / (children(cand) + 1))
 *
 * Beyond them (options.variants; hints: neighbours.hpp):
 *   gates    the nearest to the root of each neighbourhood (`gate`) is told of in views
 *            and becomes a candidate of all who hear of it, also of the gate of who hears
 *            of it, so that a neighbourhood ends with one edge to the rest.  A way to the
 *            root that is half as long is better, though the candidate is farther: the
 *            gate may have become slow.  In the bandwidth tree a candidate that promises
 *            about as much but is much nearer is better, if its gate is nearer to the root;
 *   hops     inside a neighbourhood the parent in the latency tree is the one whose message
 *            comes first, the time to send to its other children counted;
 *   same     bandwidths within a factor of three count as the same: other transfers were in
 *            the way of this one;
 *   chains   of several children of one process in the bandwidth tree, the farthest (`mover`),
 *            then the others by turns, goes to one without children (`tip`) that promises
 *            about as much: a process that serves three has a third for each, and for all
 *            below, who cannot better it by their own rule.  Where the tips are far away, it goes
 *            to the last one of another child's chain that is still near (`end`), whose children
 *            in other neighbourhoods then go to tips.  Who would be somebody's child is refused
 *            where that one has more children by then than were told of, so that not all run to
 *            one leaf at once;
 *   pace     who is told by its parent that operations come far slower than was known counts that way as what it is; all below
 *            forget how fast other far ways were (they may be the same one), and gates of neighbourhoods measure the way to one process of
 *            each neighbourhood that promises half as much again;
 *   order    of several children those far away are served first, then those with the
 *            most below;
 *   places   who was in a tree of that root in another communicator takes up its place again (`returns`): it says whom it was
 *            below, of those that are here, and goes to the one of them that says so of all the others, though neither is connected
 *            yet.  Where one of these has been nowhere, two are not one below the other, or it is not connected after a second
 *            or two, it is as any other.
 * Processes on one host, as the runtime tells, measure nothing of that: the first of them (the root, if it is there) looks
 * for a parent, the others have their places below it, a chain in the bandwidth tree, two below each in the latency tree.
 *
 * An edge holds from an operation on that both ends agree on: attach -> accept(op)
 * -> confirm(op), and detach(op) to the parent before.  So a process knows for
 * each operation exactly who will send to it; views may be as stale as they like.
 * A cycle, which stale views can make, shows as an ancestor that is the process
 * itself; then it leaves its parent.
 *
 * Source: as neighbours.hpp, sections 3.2 and 3.3.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_TREE_HPP
#define WAN_ADAPTIVE_TREE_HPP

#include "adaptive/neighbours.hpp"

#include <utility>

namespace wan {

/** What a tree needs of its process. */
class tree_host {
public:
    virtual void send(int to, const tell_message &m) = 0;
    /** The first operation that has not begun here. */
    virtual uint64_t next_op() const = 0;
    /** Nothing of the operations from `first` to before `end` will come from this child. */
    virtual void child_gone(tree_name tree, int child, uint64_t first, uint64_t end) = 0;

    /** adaptive_port::waited_ns() */
    virtual int64_t waited_ns() const { return 0; }

protected:
    ~tree_host() = default;
};

/** Where a process was in a tree of the same root, in another communicator: below whom of these, and how far from the root. */
struct former_place {
    bool known = false;
    rank_set ancestors;         // the root's: none
    int64_t dist_ns = 0;
};

class tree {
public:
    static constexpr uint64_t always = UINT64_MAX;

    tree(const adaptive_options &o, tree_name name, int me, neighbours &near, tree_host &host, former_place former = {});

    /** One of ask, tell, attach, accept, refuse, confirm, detach, under. */
    void receive(int from, const tell_message &m, int64_t now_ns);
    void step(int64_t now_ns);
    /** Links are said to have changed: who was content no longer is. */
    void look_again();
    /**
     * An operation goes along it.  What was measured while others sent may be wrong, and a fork halves what all get: so where
     * processes are content while it is used, now and then its several children try again, who has a far parent asks it, and who has a
     * near one that seems slow measures that again: it was measured once, while all others were measuring.
     */
    void used(int64_t now_ns);
    /** When step() is to be called next; INT64_MAX: nothing is to be done. */
    int64_t deadline() const
    {
        return std::min({me_ == name_.root ? INT64_MAX : next_round_ns_, turns_left() ? turn_ns_ : INT64_MAX, returns() ? former_until_ns_ : INT64_MAX});
    }

    /** Whom an operation's contributions go to; the root where there is no parent. */
    int parent_for(uint64_t op) const;
    std::vector<int> children_for(uint64_t op) const;
    /**
     * Takes what goes to children out of `listed`: of each child that is listed itself, those listed
     * below it.  Far children first, then those with most below.
     */
    std::vector<std::pair<int, rank_set>> shares(rank_set &listed) const;

    tree_name name() const { return name_; }
    int parent() const { return parent_; }
    const tree_view &view() const { return mine_; }
    const rank_set &under() const { return under_; }
    /** Changes of the parent so far. */
    unsigned changes() const { return changes_; }
    /** How often it found itself among its ancestors. */
    unsigned cycles() const { return cycles_; }
    /** All that are in it were in one of that root before, and take up their places again, or have. */
    bool resumed() const { return resumed_; }

private:
    static constexpr uint64_t unbounded = UINT64_MAX / 2;
    /** So many times as far is another neighbourhood. */
    static constexpr int64_t elsewhere = 3;
    /** Hints followed one after the other: where views are old, and somebody does not look who could mend them, they lead round. */
    static constexpr unsigned hints_in_a_row = 8;

    struct child {
        int rank;
        rank_set under;
        int tip, end;
        uint64_t from, until = always;
        bool leaving() const { return until != always; }
    };
    struct edge {
        uint64_t from;
        int parent;         // -1: the root
    };
    struct question {
        uint32_t id = 0;
        unsigned hints = 0;                 // that led to it, one after the other
        std::deque<std::pair<uint32_t, int64_t>> at_ns;     // when it was asked, and those before it that are not answered yet
    };

    void post(int to, tell_message m) const;
    void tell(int to, uint32_t id = 0) const;
    void tell_under();
    void ask(int whom, unsigned hints = 0);
    void answered(int by, question &q, const tell_message &m);
    int place_on_host() const;
    void consider(int candidate, const tree_view &v);
    bool better(int candidate, const tree_view &v) const;
    bool may_be_better(int candidate) const;
    bool comparable(int candidate) const;
    bool came_from(int candidate, const tree_view &v) const;
    void look_between(int candidate, const tree_view &v);
    bool fits(const former_place &p) const;
    bool contradicts_place(int from, const tree_view &v) const;
    void wait_for_place(int64_t now_ns);
    void give_up_place();
    void consider_all(int but);
    bool returns() const { return !former_.ancestors.empty(); }
    bool closer(int candidate) const;
    uint64_t same() const;
    bool far_more(uint64_t est) const;
    bool is_gate() const;
    bool slow() const;
    int64_t hop_ns(int parent, int children) const;
    uint64_t promised(int candidate, const tree_view &v, int children) const;
    void take_attach(int from, const tell_message &m);
    void moved();
    void take_accept(int from, uint64_t op);
    void leave(uint64_t op);
    void edge_set(uint64_t from, int parent);
    void follow_parent();
    void view_set(tree_view v);
    void children_changed();
    void restless();
    bool stays() const { return mine_.connected && now_ns_ < stays_until_ns_; }
    bool turns_left() const;
    int64_t turn_pause_ns() const;
    void compare_gates(const tree_view &v);
    void follow_hint(int from, const tree_view &v, int whom, unsigned hints);
    void measure_way_out(int candidate, const tree_view &v);
    int end_for_parent() const { return parent_ >= 0 && near_.near(parent_) ? mine_.end : -1; }
    bool moves() const { return options_.has(variant_chains) && parent_ >= 0 && parents_.mover == me_ && parents_.children > 1; }

    adaptive_options options_;
    tree_name name_;
    int me_;
    neighbours &near_;
    tree_host &host_;

    int fixed_ = -1;                        // the only one that may be its parent; -1: whoever is best
    int parent_ = -1, pending_ = -1;
    std::pair<int, int> told_gate_;         // whom of whom, last
    int told_tip_ = -1, told_end_ = -1;     // the parent
    uint64_t told_bandwidth_ = 0;
    std::vector<edge> edges_;               // rising; the last one holds for all later operations
    std::vector<child> children_;
    rank_set under_;
    tree_view mine_, parents_;              // as last told
    std::map<int, tree_view> told_;         // of candidates
    std::map<int, question> asked_;         // last
    std::set<int> waiting_;                 // on this host, until this process is connected
    former_place former_;                   // until it is connected, or no longer waits for that; then: nobody
    int64_t former_until_ns_ = 0;
    int away_ = 0;                          // so often it did not look meanwhile
    bool resumed_ = false;
    int between_ = 0;                       // so many are nearer than the nearest of them that is known

    int64_t now_ns_ = 0, next_round_ns_ = 0;
    int64_t turn_ns_ = 0;
    size_t seen_news_ = 0;                  // of neighbours: those are asked at once
    int64_t stays_until_ns_ = 0;            // with its parent, whoever else there is
    unsigned turn_ = 0;                     // whose it is to move
    int64_t next_look_ns_ = 0;              // at a far parent
    unsigned looks_ = 0;
    std::set<int> measured_for_;            // neighbourhoods, by gate, that promise more
    unsigned quiet_rounds_ = 0, rounds_ = 0, moves_ = 0, pulls_ = 0, changes_ = 0, cycles_ = 0;
};

} // namespace wan

#endif
