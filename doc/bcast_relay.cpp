/*
 * The example of doc/add-an-algorithm.md, compiled and verified by test/unit/documentation; not
 * part of the plugin.  Broadcast by relays: the root sends the message to the first host of each
 * other site, which hands it to its neighbours, one after the other.
 *
 *     root ======> relay ----> host        T = L + sites * M/B + hosts * M/B
 *      |             '-------> host
 *      '----> host
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** The rank that speaks for a site. */
int relay_of(const topology &t, site_id s, int root)
{
    return t.site_of(root) == s ? root : t.rank_at(s, 0);
}

void build(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const site_id home = t.site_of(p.root), mine = t.site_of(me);
    const int relay = relay_of(t, mine, p.root), leader = node_leader(t, me, relay);
    if (me == relay) {
        if (me != p.root)
            b.recv(buffer::out, whole(), p.root, label::direct);
        for (int s = 0; me == p.root && s < t.site_count(); ++s)
            if (site_at(s) != home)
                b.send(buffer::out, whole(), relay_of(t, site_at(s), p.root), label::direct);
        for (int n = 0; n < t.node_count(mine); ++n)
            if (const int other = node_leader(t, t.rank_at(mine, n), relay); other != me)
                b.send(buffer::out, whole(), other, label::scatter);
    } else if (me == leader) {
        b.recv(buffer::out, whole(), relay, label::scatter);
    }
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const int64_t messages = t.site_count() - 1 + widest_site(t) - 1;
    return f.farthest_ns(t.site_of(p.root)) + messages * gap_ns(f, r.bytes);
}

} // namespace

extern const algorithm bcast_relay;
const algorithm bcast_relay = {
    .collective = WAN_BCAST,
    .name = "relay",
    .summary = "the root sends to one host a site, which hands the message on to each of the others",
    .source = "doc/add-an-algorithm.md",
    .parameters = uses_segment,
    .automatic = false,
    .long_messages = false,
    .keeps_order = true,
    .senders = one_sender,
    .serves = [](const topology &t, const request &) { return few_enough(t, 2); },
    .cost = cost,
    .build = build,
};

} // namespace wan
