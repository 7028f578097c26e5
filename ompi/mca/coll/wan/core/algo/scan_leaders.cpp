/*
 * Scan and Exscan of short messages in one WAN latency, for ranks in blocks
 * (each site's ranks are neighbours, sites follow each other).
 *
 *     a -> total   b -> total   c           up an ordered tree in each site
 *     a =======>  b, c   b =======> c       totals to all later sites at once
 *      prefixes inside each site            meanwhile, down the same tree
 *                 b -> all     c -> all     what stands before a site, down a
 *                                           postal tree; everyone combines
 *
 *     T = L + two shallow trees of a site
 *
 * A subtree holds neighbouring ranks, so that the order of ranks is kept: it
 * is part of what a Scan means.
 * Source: coll/wan; prefix over trees: Blelloch; postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/runs.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/**
 * A postal tree whose nodes are numbered so that a subtree is a run that begins with its root, the
 * smallest subtrees first: they are done first.
 */
std::vector<int> ordered_tree(uint32_t nodes, uint32_t lambda)
{
    const std::vector<int> postal = postal_tree(nodes, lambda);
    std::vector<uint32_t> below(nodes, 1);
    std::vector<std::vector<uint32_t>> children(nodes);
    for (uint32_t i = nodes; i-- > 1;) {        // parents come before their children
        below[static_cast<size_t>(postal[i])] += below[i];
        children[static_cast<size_t>(postal[i])].push_back(i);
    }
    std::vector<int> parent(nodes, -1);
    auto number = [&](auto &self, uint32_t i, uint32_t at) -> void {
        auto &list = children[i];
        std::stable_sort(list.begin(), list.end(), [&](uint32_t x, uint32_t y) { return below[x] < below[y]; });
        uint32_t next = at + 1;
        for (uint32_t c : list) {
            parent[next] = static_cast<int>(at);
            self(self, c, next);
            next += below[c];
        }
    };
    if (nodes > 0)
        number(number, 0, 0);
    return parent;
}

/** Every child takes a buffer: a flat tree is as flat as these allow. */
std::vector<int> narrow_tree(uint32_t nodes, uint32_t lambda)
{
    constexpr int most_children = 60;
    for (;; lambda /= 2) {
        auto parent = ordered_tree(nodes, lambda);
        std::vector<int> children(nodes);
        for (int p : parent)
            if (p >= 0)
                ++children[static_cast<size_t>(p)];
        if (lambda <= 1 || *std::max_element(children.begin(), children.end()) <= most_children)
            return parent;
    }
}

/** Over the ranks of a site, `first` and its successors: hosts, and the lanes of each where those are neighbours. */
std::vector<int> site_tree(const topology &t, site_id s, int first, uint32_t lambda)
{
    const int ranks = t.rank_count(s), hosts = t.node_count(s);
    std::vector<int> begin;         // of each host
    for (int i = 0; i < ranks; ++i)
        if (const auto at = t.locate(first + i); at.node == static_cast<int>(begin.size()))
            begin.push_back(i);
        else if (at.node + 1 != static_cast<int>(begin.size()))
            return narrow_tree(static_cast<uint32_t>(ranks), lambda);
    std::vector<int> parent(static_cast<size_t>(ranks), -1);
    const auto over_hosts = narrow_tree(static_cast<uint32_t>(hosts), lambda);
    for (int h = 0; h < hosts; ++h) {
        const auto from = static_cast<size_t>(begin[static_cast<size_t>(h)]);
        const auto inside = ordered_tree(static_cast<uint32_t>(t.lane_count(s, h)), 1);
        for (size_t l = 1; l < inside.size(); ++l)
            parent[from + l] = static_cast<int>(from) + inside[l];
        if (h > 0)
            parent[from] = begin[static_cast<size_t>(over_hosts[static_cast<size_t>(h)])];
    }
    return parent;
}

/** Totals of the earlier sites come in and are handed to everyone; returns where the combination is. */
buffer receive_base(const topology &t, const plan &p, builder &b, int mine)
{
    const team own = site_team(t, site_at(mine), b.me());
    const auto down = entry_tree(own.size(), p);
    std::vector<buffer> totals{b.scratch()};
    if (own.has_me() && down[static_cast<size_t>(own.me)] < 0) {
        while (static_cast<int>(totals.size()) < mine)
            totals.push_back(b.scratch());
        for (int s = 0; s < mine; ++s)
            b.recv(totals[static_cast<size_t>(s)], whole(), t.rank_at(site_at(s), 0), label::cross);
        fold(b, totals, totals.back(), whole());
    }
    if (own.has_me())
        tree_broadcast(b, own, down, totals.back(), label::tree_down);
    node_broadcast(b, t, node_leader(t, b.me()), totals.back());
    return totals.back();
}

void send_total(const topology &t, const plan &p, builder &b, int mine, buffer total)
{
    site_entries entries(p);
    for (int s = t.site_count(); --s > mine;) {
        const team there = site_team(t, site_at(s), b.me());
        for (uint32_t e : entries.of(there.size()))
            b.send(total, whole(), there.rank(e), label::cross);
    }
}

void build(const topology &t, const plan &p, builder &b)
{
    const bool inclusive = p.algo->collective == WAN_SCAN;
    const int me = b.me(), mine = static_cast<int>(value(t.site_of(me)));
    const int first = t.rank_at(site_at(mine), 0), place = me - first;
    const auto parent = site_tree(t, site_at(mine), first, p.lambda);
    const int up = parent[static_cast<size_t>(place)];

    std::vector<int> children;
    std::vector<buffer> so_far{buffer::in};     // of my ranks, before each child and after the last
    for (int i = place + 1; i < static_cast<int>(parent.size()); ++i)
        if (parent[static_cast<size_t>(i)] == place) {
            const buffer x = b.scratch();
            b.recv(x, whole(), first + i, label::tree_up);
            b.reduce(so_far.back(), x, whole());
            so_far.push_back(x);
            children.push_back(first + i);
        }
    if (up >= 0)
        b.send(so_far.back(), whole(), first + up, label::tree_up);
    else
        send_total(t, p, b, mine, so_far.back());

    // What stands before each child in the site; the first of the site has nothing before it.
    const buffer before = up >= 0 ? b.scratch() : buffer::in;
    if (up >= 0) {
        b.recv(before, whole(), first + up, label::direct);
        for (size_t i = 1; i < children.size(); ++i)
            b.reduce(before, so_far[i], whole());
        if (inclusive || !children.empty()) {
            so_far[0] = inclusive ? buffer::out : b.scratch();
            b.copy(buffer::in, so_far[0], whole());
            b.reduce(before, so_far[0], whole());
        }
    }
    for (size_t i = children.size(); i-- > 0;)      // the largest subtree first
        b.send(so_far[i], whole(), children[i], label::direct);

    if (inclusive && up < 0)
        b.copy(buffer::in, buffer::out, whole());
    else if (!inclusive && up >= 0)
        b.copy(before, buffer::out, whole());
    if (mine == 0)
        return;
    const buffer base = receive_base(t, p, b, mine);
    if (!inclusive && up < 0)
        b.copy(base, buffer::out, whole());
    else
        b.reduce(base, buffer::out, whole());
}

/** Of a site's tree: hosts, or all ranks where these do not follow each other (site_tree()). */
int tree_nodes(const topology &t) { return t.most_stays() > 1 ? most_ranks(t) : widest_site(t); }

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const auto bytes = static_cast<int64_t>(r.bytes);
    const int64_t lanes = steps(widest_node(t)) * f.message_ns + lanes_up_ns(t, f, bytes), tree = tree_up_ns(f, r.bytes, tree_nodes(t), p.lambda) + lanes;
    const int64_t base = crossing_ns(f, f.widest_ns(), bytes) + entries_down_ns(t, f, r.bytes, p) + lanes;
    return tree + std::max(tree, base) + combine_ns(f, bytes);
}

/** A child of the tree takes one; narrow_tree() and the tree inside a host have no more children than tree_buffers() says. */
uint32_t buffers(const topology &t, const plan &p)
{
    return site_buffers(t, p) - tree_buffers(widest_site(t)) + tree_buffers(tree_nodes(t));
}

bool serves(const topology &t, const request &)
{
    return t.site_count() <= 150 && few_enough(t, 4) && sites_are_runs(t);
}

constexpr algorithm descriptor(wan_collective_t collective)
{
    return {
        .collective = collective,
        .name = "leaders",
        .summary = "one WAN latency, ranks in blocks: totals up a tree and to all later sites, prefixes down; for short messages",
        .source = "coll/wan; Blelloch; postal model of Bar-Noy and Kipnis",
        .parameters = uses_entries | uses_tree,
        .automatic = true,
        .long_messages = false,
        .keeps_order = true,
        .senders = one_sender,
        .serves = serves,
        .buffers = buffers,
        .cost = cost,
        .build = build,
    };
}

} // namespace

extern const algorithm scan_leaders, exscan_leaders;
const algorithm scan_leaders = descriptor(WAN_SCAN), exscan_leaders = descriptor(WAN_EXSCAN);

} // namespace wan
