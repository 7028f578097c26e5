/*
 * Broadcast of short messages in one WAN latency.  The root sends to each
 * other site first (to `entries` hosts of it, taking turns between sites),
 * then serves its own; inside a site a postal tree does the rest.
 *
 *                 root
 *               /  |   \ \
 *     site 1:  a   b    . .   site 0: its own tree, hidden behind L
 *             /|   |
 *
 *     T = L + a few sends + a shallow tree of one site
 *
 * Source: one-WAN-latency trees as in MagPIe; postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int leader = node_leader(t, me, p.root);
    if (leader == me) {
        const int home = static_cast<int>(value(t.site_of(p.root)));
        const int mine = static_cast<int>(value(t.site_of(me)));
        const uint32_t gap = static_cast<uint32_t>(t.site_count() - 1);
        if (mine == home) {
            team g = site_team(t, site_at(home), me, p.root);
            // The root is member 0 of its site's tree.
            g = g.rotated(static_cast<uint32_t>(g.index_of(p.root)));
            if (me == p.root) {
                site_entries entries(p, gap);
                std::vector<team> remote;
                for (int k = 1; k < t.site_count(); ++k)
                    remote.push_back(site_team(t, site_at((home + k) % t.site_count()), me));
                for (size_t turn = 0, sent = 1; sent > 0; ++turn) {
                    sent = 0;
                    for (const team &there : remote)
                        if (const auto &list = entries.of(there.size()); turn < list.size()) {
                            b.send(buffer::out, whole(), there.rank(list[turn]), label::direct);
                            ++sent;
                        }
                }
            }
            tree_broadcast(b, g, postal_tree(g.size(), p.lambda), buffer::out, label::tree_down);
        } else {
            const team g = site_team(t, site_at(mine), me);
            const auto parent = entry_tree(g.size(), p, gap);
            if (parent[static_cast<size_t>(g.me)] < 0)
                b.recv(buffer::out, whole(), p.root, label::direct);
            tree_broadcast(b, g, parent, buffer::out, label::tree_down);
        }
    }
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const int home = static_cast<int>(value(t.site_of(p.root)));
    const int64_t remote = t.site_count() - 1;
    const int64_t entries = std::min<int64_t>(p.entries, widest_site(t));
    const int64_t per_entry = (widest_site(t) + entries - 1) / entries;
    const int64_t own = t.node_count(site_at(home)), first = sends_ns(f, r.bytes, remote * entries);
    const int64_t far = crossing_ns(f, f.farthest_ns(site_at(home)), static_cast<int64_t>(r.bytes)) + tree_down_ns(f, r.bytes, per_entry, p.lambda)
                        + sharing_ns(f, r.bytes, first, sends_ns(f, r.bytes, remote * entries + root_sends(own, p.lambda)));
    const int64_t near = first + tree_down_ns(f, r.bytes, own, p.lambda);
    return std::max(far, near) + steps(widest_node(t)) * f.message_ns + lanes_down_ns(t, f, static_cast<int64_t>(r.bytes));
}

} // namespace

extern const algorithm bcast_tree;
const algorithm bcast_tree = {
    .collective = WAN_BCAST,
    .name = "tree",
    .summary = "one WAN latency: the root serves every site itself, a postal tree inside each; for short messages",
    .source = "coll/wan; MagPIe's one-latency trees, postal model of Bar-Noy and Kipnis",
    .parameters = uses_entries | uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = one_sender,
    .serves = [](const topology &t, const request &) { return t.site_count() <= 900; },
    .cost = cost,
    .build = build,
    .crosses = crossing::by_entries,
};

} // namespace wan
