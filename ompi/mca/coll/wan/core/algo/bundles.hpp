/*
 * Trees over neighbouring hosts of a site in which what a branch holds of a
 * vector of blocks is one part of it: one message a branch.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_BUNDLES_HPP
#define WAN_ALGO_BUNDLES_HPP

#include "algo/turns.hpp"

namespace wan {

/** A rank and all below it: slots [first, last). */
struct branch {
    int rank = -1;
    uint32_t first = 0, last = 0;

    span_of all() const { return blocks_of(first, last); }
    uint32_t size() const { return last - first; }
    /** Part k of n in which it travels: whole blocks. */
    span_of part(uint32_t k, uint32_t n) const
    {
        return blocks_of(first + static_cast<uint32_t>(uint64_t{size()} * k / n), first + static_cast<uint32_t>(uint64_t{size()} * (k + 1) / n));
    }
};

/** Hosts [begin, end) of a site. */
struct host_run {
    site_id site;
    int begin, end;
};

/** The run's share k of n of a site's hosts. */
inline host_run run_of(const topology &t, site_id s, uint32_t k, uint32_t n)
{
    const auto hosts = static_cast<uint64_t>(t.node_count(s));
    return {s, static_cast<int>(hosts * k / n), static_cast<int>(hosts * (k + 1) / n)};
}

/** Slots of a run, led by its first rank. */
inline branch branch_of(const topology &t, const host_run &run)
{
    const int end = run.end < t.node_count(run.site) ? t.first_slot(run.site, run.end) : t.first_slot(run.site) + t.rank_count(run.site);
    return {t.rank_at(run.site, run.begin), static_cast<uint32_t>(t.first_slot(run.site, run.begin)), static_cast<uint32_t>(end)};
}

/** A rank's place in the tree over a run: below the run's first rank, or below `outside` where there is one. */
struct tree_place {
    branch mine;                    // rank -1: not in the tree
    int parent = -1;                // -1: none
    std::vector<branch> children;   // most below first

    tree_place(const topology &t, const host_run &run, uint32_t lambda, int me, int outside = -1)
    {
        const auto where = t.locate(me);
        const bool inside = where.site == run.site && where.node >= run.begin && where.node < run.end;
        if ((!inside && me != outside) || run.begin >= run.end)
            return;
        const int slot = t.slot_of(me);
        mine = {me, static_cast<uint32_t>(slot), static_cast<uint32_t>(slot) + 1};
        if (inside && where.lane > 0) {
            parent = t.rank_at(run.site, where.node);
            return;
        }
        // Node of the tree: a host, after the one outside.
        const int shift = outside >= 0 ? 1 : 0;
        const auto above = postal_runs(static_cast<uint32_t>(run.end - run.begin + shift), lambda);
        const int me_at = inside ? where.node - run.begin + shift : 0;
        auto below = [&](int i) {
            int end = i + 1;
            while (end < static_cast<int>(above.size()) && above[static_cast<size_t>(end)] >= i)
                ++end;
            return branch_of(t, {run.site, run.begin + i - shift, run.begin + end - shift});
        };
        if (inside) {
            mine = below(me_at);
            if (const int up = above[static_cast<size_t>(me_at)]; up >= 0)
                parent = up == 0 && shift ? outside : t.rank_at(run.site, run.begin + up - shift);
        }
        for (int i = static_cast<int>(above.size()) - 1; i > me_at; --i)
            if (above[static_cast<size_t>(i)] == me_at)
                children.push_back(below(i));
        for (int lane = 1; inside && lane < t.lane_count(run.site, where.node); ++lane) {
            const int r = t.rank_at(run.site, where.node, lane);
            children.push_back({r, static_cast<uint32_t>(t.slot_of(r)), static_cast<uint32_t>(t.slot_of(r)) + 1});
        }
    }
};

/**
 * The trees of Gather and Scatter: `entries` runs of each remote site's hosts, and in the root's
 * site, below the root, the hosts before and after its own.
 */
class bundles {
public:
    bundles(const topology &t, const plan &p, uint32_t entries, int me) : t_(t), p_(p), entries_(entries), me_(me), root_(t.locate(p.root)) {}

    /** Where I am; not for the root. */
    tree_place place() const
    {
        const auto at = t_.locate(me_);
        if (at.site != root_.site) {
            const uint32_t n = runs(at.site), hosts = static_cast<uint32_t>(t_.node_count(at.site));
            uint32_t k = static_cast<uint32_t>(uint64_t{static_cast<uint32_t>(at.node)} * n / hosts);
            while (run_of(t_, at.site, k, n).end <= at.node)
                ++k;
            return tree_place(t_, run_of(t_, at.site, k, n), p_.lambda, me_);
        }
        if (at.node == root_.node) {
            tree_place leaf(t_, {root_.site, 0, 0}, 1, me_);
            leaf.mine = {me_, static_cast<uint32_t>(t_.slot_of(me_)), static_cast<uint32_t>(t_.slot_of(me_)) + 1};
            leaf.parent = p_.root;
            return leaf;
        }
        return tree_place(t_, around_root(at.node > root_.node), p_.lambda, me_, p_.root);
    }

    /** Branches of the root: of all other sites in turn. */
    std::vector<branch> far() const
    {
        std::vector<branch> all;
        uint32_t most = 0;
        for (int s = 0; s < t_.site_count(); ++s)
            if (site_at(s) != root_.site)
                most = std::max(most, runs(site_at(s)));
        for (uint32_t k = 0; k < most; ++k)
            for (int s = 0; s < t_.site_count(); ++s)
                if (site_at(s) != root_.site && k < runs(site_at(s)))
                    all.push_back(branch_of(t_, run_of(t_, site_at(s), k, runs(site_at(s)))));
        return all;
    }
    /** And of its own. */
    std::vector<branch> near() const
    {
        std::vector<branch> all;
        for (bool after : {false, true}) {
            const tree_place at(t_, around_root(after), p_.lambda, p_.root, p_.root);
            all.insert(all.end(), at.children.begin(), at.children.end());
        }
        for (int lane = 0; lane < t_.lane_count(root_.site, root_.node); ++lane)
            if (const int r = t_.rank_at(root_.site, root_.node, lane); r != p_.root)
                all.push_back({r, static_cast<uint32_t>(t_.slot_of(r)), static_cast<uint32_t>(t_.slot_of(r)) + 1});
        return all;
    }

    /** In how many parts a branch in a remote site crosses. */
    uint32_t parts(const branch &far_one) const
    {
        return std::clamp(p_.pieces, 1u, std::min<uint32_t>(far_one.size(), label::most_pieces));
    }

private:
    const topology &t_;
    const plan &p_;
    uint32_t entries_;
    int me_;
    topology::position root_;

    uint32_t runs(site_id s) const { return std::clamp(entries_, 1u, static_cast<uint32_t>(t_.node_count(s))); }
    host_run around_root(bool after) const
    {
        return after ? host_run{root_.site, root_.node + 1, t_.node_count(root_.site)} : host_run{root_.site, 0, root_.node};
    }
};

/** What both take: `runs` bundles a site, each in `parts`, cross after a tree or before one. */
inline int64_t bundled_cost(const topology &t, const facts &f, const request &r, const plan &p, int64_t runs, int64_t parts, bool up)
{
    const rooted_load load(t, f, r);
    const site_id home = t.site_of(r.root);
    int64_t worst = 0, messages = 0;
    for (int s = 0; s < t.site_count(); ++s) {
        if (site_at(s) == home)
            continue;
        const int64_t hosts = t.node_count(site_at(s)), n = std::min(runs, hosts), in_run = (hosts + n - 1) / n;
        const int64_t ranks = (t.rank_count(site_at(s)) + n - 1) / n, cut = std::min(parts, ranks);
        const int64_t bundle = f.wire_ns(static_cast<uint64_t>(std::max<int64_t>(0, load.block_bytes * ranks - f.burst_bytes)));
        // A run's bundle is gathered, or split, but for the part that waits for nothing.
        const int64_t tree = in_run > 1 ? tree_ns(f, 0, in_run, p.lambda) + bundle / cut : 0;
        worst = std::max(worst, crossing_ns(f, f.latency_ns(home, site_at(s)), load.block_bytes * ((ranks + cut - 1) / cut)) + tree + std::max(bundle, load.far_ns)
                                    + (widest_node(t) - 1) * f.message_ns / 2);
        messages += n * cut;
    }
    // The root's largest branch has half of what its site has, and passes it on.
    const int64_t hosts = t.node_count(home);
    const int64_t own = hosts > 1 ? load.own_ns + load.own_ns / 2 + tree_ns(f, 0, hosts, p.lambda) : load.own_ns;
    // Down, the root's own branches share its interface with the others, a connection each.
    const int64_t near = std::min<int64_t>(hosts - 1, std::max<int64_t>(p.lambda, steps(hosts)));
    const int64_t shared = up ? 0 : std::min(load.own_ns, load.far_ns * near / std::max<int64_t>(1, messages));
    return std::max({worst + shared + messages * f.message_ns, own, load.far_ns + load.own_ns}) + own / 16 + f.message_ns
           + sorted_ns(t, f, load.block_bytes * (t.size() - 1));
}

} // namespace wan

#endif
