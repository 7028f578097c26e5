/*
 * Allreduce of short messages in one WAN latency (not two): reduce to a leader
 * along a postal tree in each site; leaders send their site's part to some
 * hosts of every site at once (`entries`: 1 is the leader alone), each of
 * which combines the parts of all sites in their order and passes the result
 * down its share of a postal tree.
 *
 *     \|/                    \|/
 *      a  =================>  b        T = L + two shallow trees of a site,
 *      a  <=================  b            the second the shallower the more
 *     /|\                    /|\           hosts combine
 *
 * Source: MagPIe's one-latency allreduce; postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/fold.hpp"
#include "algo/sites.hpp"
#include "model/cost.hpp"

#include <map>

namespace wan {

namespace {

/** Parents on the way down; those who have none combine. */
std::vector<int> combiner_tree(uint32_t hosts, const plan &p)
{
    return postal_tree(hosts, p.lambda, p.entries, 1);
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int leader = node_leader(t, me);
    const int mine = static_cast<int>(value(t.site_of(me)));
    b.copy(buffer::in, buffer::out, whole());
    node_reduce(b, t, leader, buffer::out);
    if (leader == me) {
        const team own = site_team(t, site_at(mine), me);
        tree_reduce(b, own, postal_tree(own.size(), p.lambda), buffer::out, label::tree_up);
        const auto down = combiner_tree(own.size(), p);
        // The site's own part goes to its other combiners while the WAN is crossed; far ones come first.
        std::map<uint32_t, std::vector<uint32_t>> combiners;
        if (own.me == 0)
            for (int k = 1; k <= t.site_count(); ++k) {
                const team there = site_team(t, site_at((mine + k) % t.site_count()), me);
                auto &list = combiners[there.size()];       // sites of the same size have the same tree
                if (list.empty())
                    list = entries_of(combiner_tree(there.size(), p));
                for (uint32_t c : list)
                    if (const int to = there.rank(c); to != me)
                        b.send(buffer::out, whole(), to, label::cross);
            }
        if (down[static_cast<size_t>(own.me)] < 0) {
            std::vector<buffer> from_site;
            for (int s = 0; s < t.site_count(); ++s)
                from_site.push_back(s == mine && own.me == 0 ? buffer::out : b.scratch());
            for (int s = 0; s < t.site_count(); ++s)
                if (const int from = t.rank_at(site_at(s), 0); from != me)
                    b.recv(from_site[static_cast<size_t>(s)], whole(), from, label::cross);
            fold(b, from_site, buffer::out, whole());
        }
        tree_broadcast(b, own, down, buffer::out, label::tree_down);
    }
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const int64_t far = f.widest_ns();
    const int64_t hosts = widest_site(t), combining = std::min<int64_t>(p.entries, hosts);
    // A combiner hears from every site; the leader sends to all of them, the last of which waits for the rest.
    return far + tree_ns(f, r.bytes, hosts, p.lambda) + tree_ns(f, r.bytes, (hosts + combining - 1) / combining, p.lambda)
           + sends_ns(f, r.bytes, (t.site_count() - 1) * (combining + 1)) / 2
           + 2 * steps(widest_node(t)) * f.message_ns;
}

} // namespace

extern const algorithm allreduce_leaders;
const algorithm allreduce_leaders = {
    .collective = WAN_ALLREDUCE,
    .name = "leaders",
    .summary = "one WAN latency: tree to a leader in each site, leaders exchange, tree down; for short messages",
    .source = "coll/wan; MagPIe, postal model of Bar-Noy and Kipnis",
    .parameters = uses_entries | uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = false,
    .senders = one_sender,
    .serves = [](const topology &t, const request &r) { return r.commutative && t.site_count() <= 150; },
    .buffers = [](const topology &t, const plan &) { return tree_buffers(widest_site(t)) + tree_buffers(widest_node(t)) + static_cast<uint32_t>(t.site_count()); },
    .cost = cost,
    .build = build,
};

} // namespace wan
