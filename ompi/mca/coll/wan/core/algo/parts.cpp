/*
 * See parts.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/parts.hpp"

#include <algorithm>
#include <bit>
#include <queue>

namespace wan {

int node_leader(const topology &t, int me, int root)
{
    const auto mine = t.locate(me);
    if (root >= 0) {
        const auto r = t.locate(root);
        if (r.site == mine.site && r.node == mine.node)
            return root;
    }
    return t.rank_at(mine.site, mine.node);
}

team::team(std::vector<int> ranks, int my_rank)
    : blocks(static_cast<uint32_t>(ranks.size())), size_(blocks), listed_(std::move(ranks)), hosts_(size_)
{
    me = index_of(my_rank);
}

uint32_t team::position(uint32_t i) const
{
    const uint32_t at = spread_over_ ? static_cast<uint32_t>((2ull * i + 1) * spread_over_ / (2ull * size_)) : i;
    return (at + first_) % hosts_;
}

int team::rank(uint32_t i) const
{
    const uint32_t at = position(i);
    if (!listed_.empty())
        return listed_[at];
    const int node = static_cast<int>(at) + (without_root_ && static_cast<int>(at) >= root_node_ ? 1 : 0);
    return node == root_node_ ? root_ : topo_->rank_at(site_, node);
}

int team::index_of(int rank) const
{
    if (rank < 0 || size_ == 0)
        return -1;
    uint32_t at = 0;
    if (!listed_.empty()) {
        at = static_cast<uint32_t>(std::find(listed_.begin(), listed_.end(), rank) - listed_.begin());
        if (at == listed_.size())
            return -1;
    } else {
        const auto where = topo_->locate(rank);
        if (where.site != site_ || (without_root_ && where.node == root_node_))
            return -1;
        at = static_cast<uint32_t>(where.node - (without_root_ && where.node > root_node_ ? 1 : 0));
    }
    at = (at + hosts_ - first_) % hosts_;
    if (spread_over_)       // the inverse of position(), or one beside it
        at = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{at} * size_ / spread_over_, size_ - 1));
    for (uint32_t i : {at, at + 1})
        if (i < size_ && this->rank(i) == rank)
            return static_cast<int>(i);
    return -1;
}

team team::rotated(uint32_t first) const
{
    team g = *this;
    g.first_ = (first_ + first) % hosts_;
    if (has_me())
        g.me = static_cast<int>((static_cast<uint32_t>(me) + size_ - first) % size_);
    return g;
}

team team::spread(uint32_t n, int my_rank) const
{
    team g = *this;
    g.spread_over_ = blocks;
    g.size_ = g.blocks = n;
    g.me = g.index_of(my_rank);
    return g;
}

team site_team(const topology &t, site_id s, int me, int root, bool without_root)
{
    team g;
    g.topo_ = &t;
    g.site_ = s;
    if (const auto r = root >= 0 ? t.locate(root) : topology::position{s, -1, 0}; root >= 0 && r.site == s) {
        g.root_ = root;
        g.root_node_ = r.node;
        g.without_root_ = without_root;
    }
    g.hosts_ = g.size_ = g.blocks = static_cast<uint32_t>(t.node_count(s) - (g.without_root_ ? 1 : 0));
    g.me = g.index_of(me);
    return g;
}

std::vector<uint32_t> circulant_skips(uint32_t p)
{
    std::vector<uint32_t> skips{p};
    while (skips.back() > 1)
        skips.push_back((skips.back() + 1) / 2);
    return skips;
}

namespace {

/** Calls f(part, piece) for the one or two parts that make up blocks b .. b+k-1 around the ring. */
template <typename F> void ring_parts(const team &g, uint32_t b, uint32_t k, F f)
{
    const uint32_t p = g.size();
    b %= p;
    auto clip = [&](uint32_t x) { return std::min(x, g.blocks); };
    const uint32_t end = std::min(b + k, p);
    f(block_range(clip(b), clip(end), g.blocks), 0);
    if (b + k > p)
        f(block_range(0, clip(b + k - p), g.blocks), 1);
}

/** Whether g can halve: then no step's blocks wrap around, and each is one message. */
bool halves(const team &g) { return std::has_single_bit(g.size()); }

/** Calls f(partner, mine, theirs, label) for each step: blocks [lo, hi) that stay with me and that the partner keeps. */
template <typename F> void each_halving(const team &g, F f)
{
    const uint32_t me = static_cast<uint32_t>(g.me);
    auto clip = [&](uint32_t x) { return std::min(x, g.blocks); };
    int step = 0;
    for (uint32_t half = std::bit_floor(g.size()) / 2; half > 0; half /= 2, ++step) {
        const uint32_t mine = me / half * half, theirs = mine ^ half;
        f(g.rank(me ^ half), block_range(clip(mine), clip(mine + half), g.blocks),
          block_range(clip(theirs), clip(theirs + half), g.blocks), step);
    }
}

/** `ordered`: what came from the higher member stands left, as in canonical_tree(). */
void halving_reduce_scatter(builder &b, const team &g, buffer acc, bool ordered = false)
{
    const buffer scratch[2] = {b.scratch(), b.scratch()};
    each_halving(g, [&](int partner, span_of mine, span_of theirs, int step) {
        const buffer t = scratch[step % 2];
        b.send(acc, theirs, partner, label::reduce_scatter + step);
        b.recv(t, mine, partner, label::reduce_scatter + step);
        if (ordered && g.index_of(partner) < g.me) {
            b.reduce(acc, t, mine);
            b.copy(t, acc, mine);
        } else {
            b.reduce(t, acc, mine);
        }
    });
}

void doubling_allgather(builder &b, const team &g, buffer data)
{
    struct step {
        int partner;
        span_of mine, theirs;
        int number;
    };
    std::vector<step> steps;
    each_halving(g, [&](int partner, span_of mine, span_of theirs, int number) { steps.push_back({partner, mine, theirs, number}); });
    for (size_t k = steps.size(); k-- > 0;) {
        const step &s = steps[k];
        b.recv(data, s.theirs, s.partner, label::allgather + s.number);
        b.send(data, s.mine, s.partner, label::allgather + s.number);
    }
}

/** Of a halving_team: the member that hands in and gets whole segments, or to which it does; -1: none. */
int other_half(const team &g)
{
    const uint32_t core = std::bit_floor(g.size()), me = static_cast<uint32_t>(g.me);
    if (me >= core)
        return g.rank(me - core);
    return me + core < g.size() ? g.rank(me + core) : -1;
}
constexpr int handing = 24;     // a label behind those of the steps

void handing_reduce_scatter(builder &b, const team &g, buffer acc)
{
    const bool extra = static_cast<uint32_t>(g.me) >= std::bit_floor(g.size());
    if (const int other = other_half(g); extra) {
        b.send(acc, whole(), other, label::reduce_scatter + handing);
        return;
    } else if (other >= 0) {
        const buffer t = b.scratch();
        b.recv(t, whole(), other, label::reduce_scatter + handing);
        b.reduce(t, acc, whole());
    }
    halving_reduce_scatter(b, g, acc, true);
}

void handing_allgather(builder &b, const team &g, buffer data)
{
    const bool extra = static_cast<uint32_t>(g.me) >= std::bit_floor(g.size());
    if (!extra)
        doubling_allgather(b, g, data);
    if (const int other = other_half(g); extra)
        b.recv(data, whole(), other, label::allgather + handing);
    else if (other >= 0)
        b.send(data, whole(), other, label::allgather + handing);
}

void ring_reduce_scatter(builder &b, const team &g, buffer acc)
{
    const uint32_t p = g.size(), me = static_cast<uint32_t>(g.me);
    const int to = g.rank((me + 1) % p), from = g.rank((me + p - 1) % p);
    const buffer t = b.scratch();
    auto part = [&](uint32_t i) { return i % p < g.blocks ? block(i % p, g.blocks) : block_range(0, 0, 1); };
    for (uint32_t k = 0; k + 1 < p; ++k) {
        b.send(acc, part(me + 2 * p - k - 1), to, label::reduce_scatter + static_cast<int>(k));
        b.recv(t, part(me + 2 * p - k - 2), from, label::reduce_scatter + static_cast<int>(k));
        b.reduce(t, acc, part(me + 2 * p - k - 2));
    }
}

void ring_allgather(builder &b, const team &g, buffer data)
{
    const uint32_t p = g.size(), me = static_cast<uint32_t>(g.me);
    const int to = g.rank((me + 1) % p), from = g.rank((me + p - 1) % p);
    auto part = [&](uint32_t i) { return i % p < g.blocks ? block(i % p, g.blocks) : block_range(0, 0, 1); };
    for (uint32_t k = 0; k + 1 < p; ++k) {
        b.send(data, part(me + p - k), to, label::allgather + static_cast<int>(k));
        b.recv(data, part(me + p - k - 1), from, label::allgather + static_cast<int>(k));
    }
}

} // namespace

void reduce_scatter(builder &b, const team &g, buffer acc, inner_steps how)
{
    if (!g.has_me() || g.size() < 2)
        return;
    if (how == inner_steps::ring && g.size() <= largest_ring)
        return ring_reduce_scatter(b, g, acc);
    if (how == inner_steps::halving)
        return handing_reduce_scatter(b, g, acc);
    if (halves(g))
        return halving_reduce_scatter(b, g, acc);
    const uint32_t p = g.size(), me = static_cast<uint32_t>(g.me);
    const auto skips = circulant_skips(p);
    const buffer scratch[2] = {b.scratch(), b.scratch()};
    for (size_t k = 0; k + 1 < skips.size(); ++k) {
        const uint32_t s = skips[k], half = skips[k + 1];
        const int to = g.rank((me + half) % p), from = g.rank((me + p - half) % p);
        const int step = label::reduce_scatter + 2 * static_cast<int>(k);
        const buffer t = scratch[k % 2];
        ring_parts(g, me + half, s - half, [&](span_of part, int piece) { b.send(acc, part, to, step + piece); });
        ring_parts(g, me, s - half, [&](span_of part, int piece) { b.recv(t, part, from, step + piece); });
        ring_parts(g, me, s - half, [&](span_of part, int) { b.reduce(t, acc, part); });
    }
}

void allgather(builder &b, const team &g, buffer data, inner_steps how)
{
    if (!g.has_me() || g.size() < 2)
        return;
    if (how == inner_steps::ring && g.size() <= largest_ring)
        return ring_allgather(b, g, data);
    if (how == inner_steps::halving)
        return handing_allgather(b, g, data);
    if (halves(g))
        return doubling_allgather(b, g, data);
    const uint32_t p = g.size(), me = static_cast<uint32_t>(g.me);
    const auto skips = circulant_skips(p);
    for (size_t k = skips.size() - 1; k-- > 0;) {
        const uint32_t s = skips[k], half = skips[k + 1];
        const int to = g.rank((me + p - half) % p), from = g.rank((me + half) % p);
        const int step = label::allgather + 2 * static_cast<int>(k);
        ring_parts(g, me + half, s - half, [&](span_of part, int piece) { b.recv(data, part, from, step + piece); });
        ring_parts(g, me, s - half, [&](span_of part, int piece) { b.send(data, part, to, step + piece); });
    }
}

void scatter_blocks(builder &b, const team &g, buffer data, int from_rank)
{
    if (b.me() == from_rank) {
        b.reserve(g.blocks);
        for (uint32_t i = 0; i < g.blocks; ++i)
            if (g.rank(i) != from_rank)
                b.send(data, block(i, g.blocks), g.rank(i), label::scatter);
    } else if (g.has_me()) {
        b.recv(data, g.own(), from_rank, label::scatter);
    }
}

void gather_blocks(builder &b, const team &g, buffer data, int to_rank)
{
    if (b.me() == to_rank) {
        b.reserve(g.blocks);
        for (uint32_t i = 0; i < g.blocks; ++i)
            if (g.rank(i) != to_rank)
                b.recv(data, block(i, g.blocks), g.rank(i), label::gather);
    } else if (g.has_me()) {
        b.send(data, g.own(), to_rank, label::gather);
    }
}

std::vector<int> postal_tree(uint32_t nodes, uint32_t lambda, uint32_t outside, uint32_t outside_gap)
{
    struct sender {
        uint32_t arrival;   // of its next message; lambda times the depth, plus the nodes
        int index;          // -1: outside
        bool operator>(const sender &o) const { return arrival != o.arrival ? arrival > o.arrival : index > o.index; }
    };
    std::vector<int> parent(nodes, -1);
    if (nodes == 0)
        return parent;
    lambda = std::min(lambda, UINT32_MAX / 64);
    std::priority_queue<sender, std::vector<sender>, std::greater<>> next;
    next.push({lambda, 0});
    if (outside > 1)
        next.push({outside_gap, -1});
    uint32_t served_outside = 1;
    for (uint32_t i = 1; i < nodes; ++i) {
        sender s = next.top();
        next.pop();
        parent[i] = s.index;
        next.push({s.arrival + lambda, static_cast<int>(i)});
        if (s.index >= 0)
            next.push({s.arrival + 1, s.index});
        else if (++served_outside < outside)
            next.push({s.arrival + outside_gap, -1});
    }
    return parent;
}

std::vector<int> canonical_tree(uint32_t nodes)
{
    std::vector<int> parent(nodes, -1);
    for (uint32_t i = 1; i < nodes; ++i)
        parent[i] = static_cast<int>(i - std::bit_floor(i));
    return parent;
}

buffer exchange_reduce(builder &b, const team &contributors, const team &owners, buffer acc)
{
    if (contributors.has_me())
        for (uint32_t k = 0; k < owners.blocks; ++k) {
            const uint32_t j = (static_cast<uint32_t>(contributors.me) + k) % owners.blocks;     // not all to the first at first
            if (owners.rank(j) != b.me())
                b.send(acc, block(j, owners.blocks), owners.rank(j), label::exchange);
        }
    if (!owners.has_me() || static_cast<uint32_t>(owners.me) >= owners.blocks)
        return acc;
    const uint32_t n = contributors.size();
    std::vector<buffer> x;
    for (uint32_t i = 0; i < n; ++i)
        x.push_back(contributors.rank(i) == b.me() ? acc : b.scratch());
    for (uint32_t k = 1; k <= n; ++k) {
        const uint32_t i = (static_cast<uint32_t>(std::max(0, contributors.me)) + n - k) % n;
        if (contributors.rank(i) != b.me())
            b.recv(x[i], owners.own(), contributors.rank(i), label::exchange);
    }
    const auto parent = canonical_tree(n);
    for (uint32_t i = n; i-- > 1;)
        b.reduce(x[i], x[static_cast<size_t>(parent[i])], owners.own());
    return x[0];
}

team halving_team(team g)
{
    g.blocks = std::bit_floor(g.size());
    return g;
}

std::vector<int> range_tree(uint32_t nodes, uint32_t root)
{
    std::vector<int> parent(nodes, -1);
    // The root of a run leads its half; the first of the other half hears from it.
    auto halve = [&](auto &self, uint32_t first, uint32_t end, uint32_t leader) -> void {
        if (end - first < 2)
            return;
        const uint32_t middle = first + std::bit_floor(end - first - 1);
        const bool low = leader < middle;
        const uint32_t other = low ? middle : first;
        parent[other] = static_cast<int>(leader);
        self(self, first, middle, low ? leader : other);
        self(self, middle, end, low ? other : leader);
    };
    halve(halve, 0, nodes, root);
    return parent;
}

namespace {

/** My children in a tree, those with most below them first. */
std::vector<uint32_t> children_of(const team &g, const std::vector<int> &parent)
{
    struct child {
        uint32_t index, below;
    };
    std::vector<child> all;
    for (uint32_t i = 0; i < parent.size(); ++i)
        if (parent[i] == g.me)
            all.push_back({i, 0});
    if (all.empty())
        return {};
    for (uint32_t i = 0; i < parent.size(); ++i) {
        int at = static_cast<int>(i);
        while (at >= 0 && parent[static_cast<size_t>(at)] != g.me)
            at = parent[static_cast<size_t>(at)];
        if (at >= 0)
            ++std::lower_bound(all.begin(), all.end(), static_cast<uint32_t>(at), [](const child &c, uint32_t x) { return c.index < x; })->below;
    }
    std::stable_sort(all.begin(), all.end(), [](const child &x, const child &y) { return x.below > y.below; });
    std::vector<uint32_t> sorted;
    for (const child &c : all)
        sorted.push_back(c.index);
    return sorted;
}

} // namespace

void tree_broadcast(builder &b, const team &g, const std::vector<int> &parent, buffer data, int label)
{
    if (!g.has_me())
        return;
    if (int p = parent[static_cast<size_t>(g.me)]; p >= 0)
        b.recv(data, whole(), g.rank(static_cast<uint32_t>(p)), label);
    for (uint32_t i : children_of(g, parent))
        b.send(data, whole(), g.rank(i), label);
}

void tree_reduce(builder &b, const team &g, const std::vector<int> &parent, buffer acc, int label)
{
    if (!g.has_me())
        return;
    // The lightest is ready first.
    std::vector<uint32_t> children = children_of(g, parent);
    std::reverse(children.begin(), children.end());
    // Scratch is limited: beyond this many children, a receive waits for a buffer.
    constexpr size_t most = 64;
    std::vector<buffer> t;
    for (size_t k = 0; k < std::min(children.size(), most); ++k)
        t.push_back(b.scratch());
    for (size_t first = 0; first < children.size(); first += most) {
        const size_t end = std::min(first + most, children.size());
        for (size_t k = first; k < end; ++k)
            b.recv(t[k - first], whole(), g.rank(children[k]), label);
        for (size_t k = first; k < end; ++k)
            b.reduce(t[k - first], acc, whole());
    }
    if (int p = parent[static_cast<size_t>(g.me)]; p >= 0)
        b.send(acc, whole(), g.rank(static_cast<uint32_t>(p)), label);
}

std::vector<int> postal_runs(uint32_t nodes, uint32_t lambda)
{
    std::vector<int> parent(nodes, -1);
    std::vector<uint64_t> reach;        // [time]: who can have it by then, the first one included
    lambda = std::max(1u, lambda);
    while (nodes > 0 && (reach.empty() || reach.back() < nodes))
        reach.push_back(reach.size() < lambda ? 1 : reach.back() + reach[reach.size() - lambda]);
    auto serve = [&](auto &self, uint32_t first, uint32_t size, size_t time) -> void {
        for (; size > 1; --time) {      // the last run first: the farther a child, the more are below it
            const uint32_t below = static_cast<uint32_t>(std::min<uint64_t>(size - 1, reach[time - lambda]));
            size -= below;
            parent[first + size] = static_cast<int>(first);
            self(self, first + size, below, time - lambda);
        }
    };
    if (nodes > 0)
        serve(serve, 0, nodes, reach.size() - 1);
    return parent;
}

std::vector<uint32_t> entries_of(const std::vector<int> &parent)
{
    std::vector<uint32_t> all;
    for (size_t i = 0; i < parent.size(); ++i)
        if (parent[i] < 0)
            all.push_back(static_cast<uint32_t>(i));
    return all;
}

namespace {

/** The ranks of leader's host, as lanes follow each other. */
team node_team(const topology &t, int me, int leader)
{
    const auto at = t.locate(leader);
    std::vector<int> ranks;
    for (int l = 0; l < t.lane_count(at.site, at.node); ++l)
        ranks.push_back(t.rank_at(at.site, at.node, l));
    return team(std::move(ranks), me);
}

std::vector<int> node_tree(const topology &t, const team &g, int leader)
{
    return range_tree(g.size(), static_cast<uint32_t>(t.locate(leader).lane));
}

} // namespace

void node_reduce(builder &b, const topology &t, int leader, buffer acc, association grouping)
{
    const team g = node_team(t, b.me(), leader);
    if (grouping == association::tree) {
        tree_reduce(b, g, canonical_tree(g.size()), acc, label::node_in);
        if (g.rank(0) == leader)
            return;
        if (b.me() == leader)
            b.recv(acc, whole(), g.rank(0), label::node_hand);
        else if (g.me == 0)
            b.send(acc, whole(), leader, label::node_hand);
        return;
    }
    tree_reduce(b, g, node_tree(t, g, leader), acc, label::node_in);
}

void node_broadcast(builder &b, const topology &t, int leader, buffer data)
{
    const team g = node_team(t, b.me(), leader);
    tree_broadcast(b, g, node_tree(t, g, leader), data, label::node_out);
}

void reshare(builder &b, const team &from, const team &to, buffer src, buffer dst, int label)
{
    // Start with the member opposite, so that not everyone sends to the first one first.
    if (from.has_me())
        for (uint32_t turn = 0; turn < to.blocks; ++turn) {
            const uint32_t j = (static_cast<uint32_t>(from.me) + turn) % to.blocks;
            const span_of part = common(from.own(), block(j, to.blocks));
            if (to.rank(j) != b.me())
                b.send(src, part, to.rank(j), label);
            else if (src != dst)
                b.copy(src, dst, part);
        }
    if (to.has_me())
        for (uint32_t i = 0; i < from.blocks; ++i)
            if (from.rank(i) != b.me())
                b.recv(dst, common(to.own(), block(i, from.blocks)), from.rank(i), label);
}

gateways::gateways(uint32_t links, std::span<const team> all)
{
    uint32_t most = 0;
    for (const team &g : all)
        most = std::max(most, g.blocks);
    direct_ = links >= most;
    links_ = std::max(1u, links);
}

team gateways::of(const team &owners, int me) const
{
    return direct_ ? owners : owners.spread(std::min(links_, owners.blocks), me);
}

} // namespace wan
