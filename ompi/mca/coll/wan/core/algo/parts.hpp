/*
 * The parts that algorithms are put together from.  Each appends operations
 * of one rank to a builder; none knows about bytes or time.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_PARTS_HPP
#define WAN_ALGO_PARTS_HPP

#include "plan/plan.hpp"
#include "sched/builder.hpp"
#include "topo/topology.hpp"

#include <span>
#include <vector>

namespace wan {

/**
 * Labels: one range per part, so that parts never mix up messages of a pair.
 * The circulant parts take two labels a step, for up to 2^12 hosts in a site.
 */
namespace label {
constexpr int node_in = 0, node_out = 1;        // between ranks of a host
constexpr int share_node = 72, share_turn = 76, share_across = 960, share_hand = 980;   // shares.hpp: + range, or piece
constexpr int share_remote = 96, share_local = 528, share_steps = 432;
constexpr int scatter = 2, gather = 3, direct = 4;
constexpr int tree_up = 5, tree_down = 6;
constexpr int cross_in = 8, cross = 9, cross_out = 10;  // to the gateway, across, from the gateway
constexpr int reduce_scatter = 12, allgather = 38;
constexpr int stripe = 128;                     // one each for 64 stripes
constexpr int run = 256;                        // one each for 240 runs of neighbouring ranks
constexpr int turn = 70, grant = 71;            // who sends next
constexpr int exchange = 68;                    // to the owners of blocks
constexpr int node_hand = 11;                   // from lane 0 to who speaks for the host
constexpr int piece = 80, most_pieces = 16;     // + k: part of a block, or of a bundle
constexpr int barrier = 128;                    // + step
constexpr int vector = 128;                     // blocks round a site: + part * (site * steps + step)
} // namespace label

/**
 * Ranks that act together, and where I am among them.  A view of the topology
 * wherever there can be many: its size does not grow with the ranks.  Must not
 * outlive the topology.
 */
class team {
public:
    team() = default;
    /** These ranks, in this order; for a few. */
    team(std::vector<int> ranks, int me);

    int me = -1;            // index, -1: not a member
    uint32_t blocks = 0;    // a segment is cut into this many; member i owns block i, members beyond own none

    uint32_t size() const { return size_; }
    bool has_me() const { return me >= 0; }
    int rank(uint32_t i) const;
    /** Index of a rank, -1: not a member. */
    int index_of(int rank) const;
    span_of own() const { return static_cast<uint32_t>(me) < blocks ? block(static_cast<uint32_t>(me), blocks) : span_of{{0, 1}, {0, 1}}; }

    /** The same ranks, beginning with member `first`. */
    team rotated(uint32_t first) const;
    /** n of the owners of blocks, evenly spread, owning a block each. */
    team spread(uint32_t n, int me) const;

private:
    friend team site_team(const topology &t, site_id s, int me, int root, bool without_root);
    uint32_t position(uint32_t i) const;

    uint32_t size_ = 0;
    std::vector<int> listed_;           // or a site's hosts:
    const topology *topo_ = nullptr;
    site_id site_{};
    int root_ = -1, root_node_ = -1;    // who speaks for that host
    bool without_root_ = false;
    uint32_t hosts_ = 0, first_ = 0;    // members before rotation and spreading
    uint32_t spread_over_ = 0;          // 0: every one
};

/**
 * The hosts of a site, each by one rank: `root` where it is on that host,
 * else lane 0.  Leaves out root's host if `without_root`.  blocks = size.
 */
team site_team(const topology &t, site_id s, int me, int root = -1, bool without_root = false);

/** Skips of the circulant graph on p members: p, ceil(p/2), ..., 1 (source: Traeff 2024). */
std::vector<uint32_t> circulant_skips(uint32_t p);

/** Largest team that can use a ring: a label a step. */
constexpr uint32_t largest_ring = 27;

/**
 * Every member ends with the reduction of its own block in `acc`; (p-1)/p of a
 * segment sent by each, any p, in ceil(log2 p) steps (powers of two: by
 * recursive halving, a message a step) or around a ring.  For operators that
 * commute.  `halving` is for a halving_team(): every block is combined along
 * canonical_tree().
 */
void reduce_scatter(builder &b, const team &g, buffer acc, inner_steps how = inner_steps::circulant);

/** The reverse: own blocks to everyone, same steps and bytes. */
void allgather(builder &b, const team &g, buffer data, inner_steps how = inner_steps::circulant);

/** One rank, of the team or not, hands each other member i its block, or collects them. */
void scatter_blocks(builder &b, const team &g, buffer data, int from_rank);
void gather_blocks(builder &b, const team &g, buffer data, int to_rank);

/**
 * A tree in the postal model: a node sends one message a unit of time, each
 * arrives lambda units after its start; every node forwards as soon as and as
 * often as it helps.  lambda 1: binomial, large: flat.  parent[0] = -1.  An
 * outside source that serves the same nodes every `outside_gap` units from
 * time 0 on, at most `outside` of them, makes more entries with parent -1.
 */
std::vector<int> postal_tree(uint32_t nodes, uint32_t lambda, uint32_t outside = 0, uint32_t outside_gap = 1);

/**
 * A tree as deep as a binomial one from `root` on (its parent is -1), whose
 * subtrees are runs of members that start at multiples of powers of two: where
 * neighbours in the team are near each other (a package, a NUMA node), few
 * edges leave a run.
 */
std::vector<int> range_tree(uint32_t nodes, uint32_t root);

/**
 * A postal tree from member 0 whose subtrees are runs of neighbours [i, i + below): what a subtree
 * holds of a vector is one part of it.  Reaches as many as a postal tree does, each as late at most.
 */
std::vector<int> postal_runs(uint32_t nodes, uint32_t lambda);

/**
 * The tree of association::tree: i's parent is i without its highest bit, and the child with the
 * highest bit is combined first, each child standing left of what its parent has.  (tree_reduce() takes the child with the fewest below it first,
 * which is the same.)
 */
std::vector<int> canonical_tree(uint32_t nodes);

/**
 * Every contributor hands each owner its block of `acc`; owners combine what came along
 * canonical_tree() of the contributors.  Returns what holds the result of the own block (an owner's),
 * else `acc`.  As many bytes as a reduce-scatter in steps, for any number of hosts, in one step.
 */
buffer exchange_reduce(builder &b, const team &contributors, const team &owners, buffer acc);
/** Scratch and messages grow with the hosts: for sites of up to so many. */
constexpr int most_exchanging = 128;

/** The same ranks; the first of them, as many as the largest power of two, own blocks. */
team halving_team(team g);

/** Members whose parent is outside. */
std::vector<uint32_t> entries_of(const std::vector<int> &parent);

/** Sends data[whole] down a tree, to the child with most below it first. */
void tree_broadcast(builder &b, const team &g, const std::vector<int> &parent, buffer data, int label);

/** Scratch buffers of tree_reduce, at most, whatever the shape of the tree. */
constexpr uint32_t tree_buffers(int nodes) { return nodes < 65 ? static_cast<uint32_t>(nodes - 1) : 64; }

/** Reduces acc of all members into the root's; a fixed order of evaluation. */
void tree_reduce(builder &b, const team &g, const std::vector<int> &parent, buffer acc, int label);

/**
 * The ranks of a host hand their contribution to its leader / get the result
 * from it, along a tree that leaves a package or NUMA node as rarely as it can;
 * for association::tree by way of lane 0.
 */
void node_reduce(builder &b, const topology &t, int leader, buffer acc, association grouping = association::any);
void node_broadcast(builder &b, const topology &t, int leader, buffer data);

/** Who speaks for the host of `me`: root if it is there, else lane 0. */
int node_leader(const topology &t, int me, int root = -1);

/**
 * Moves a segment from one partition to another: each member of `from` holds
 * its block of `src`, each member of `to` gets its block into `dst`.  Members
 * of both teams keep what they have (copied if the buffers differ).
 */
void reshare(builder &b, const team &from, const team &to, buffer src, buffer dst, int label);

/**
 * Who of a site speaks to other sites: everyone who owns a block if n (links)
 * is at least as large as the largest of `all` teams, else n gateways, evenly
 * spread over the owners (GridMPI's limit on simultaneous WAN senders); all
 * owners of a site that has fewer.
 */
class gateways {
public:
    gateways(uint32_t links, std::span<const team> all);

    /** The team that crosses for `owners`: itself, or the gateways. */
    team of(const team &owners, int me) const;
    bool direct() const { return direct_; }

private:
    uint32_t links_;
    bool direct_;
};

} // namespace wan

#endif
