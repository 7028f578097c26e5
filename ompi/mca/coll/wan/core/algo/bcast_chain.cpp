/*
 * Broadcast along a chain of hosts, pipelined, that crosses the WAN over n links.
 *
 *     root -> a1 -> a2 -> ... -> am        one message a segment and host
 *                                / | \     stripes
 *                              x1 -- xk    gateways: swap stripes, and
 *                              |     |     send their own across at once
 *     ==========================================================  WAN
 *                              |     |
 *                              e1 -- ek    swap stripes, all of them to b1
 *                                \ | /
 *                                 b1 -> b2 -> ... -> bm
 *
 * Every host but the last sends the message once, and every interface works
 * from the first segment to the last:
 *
 *     T = L + M/B + hops * (S/B of a lone segment + one message)
 *
 * A host handles two messages a segment, where an allgather takes a message
 * for each host: fewest messages of all forms, so that it wins where the
 * processor's time for a message counts.  A lone segment below the burst that
 * a rate limit lets pass (clouds, shaped links) costs a hop next to nothing.
 * One WAN flow that has been idle starts slowly; k of them start k times as
 * fast: that is what n is for here.  k = all owners: extended van de Geijn.
 * Source: coll/wan; GridMPI's n links (Matsuda et al., section 3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

/** The hosts of a site in the order in which the message passes them, by one rank each. */
class stations {
public:
    stations(const topology &t, const plan &p, const site_route &route, int s, uint32_t k, int me)
        : hosts_(site_team(t, site_at(s), me, p.root, s == route.home)), root_(p.root)
    {
        const bool home = s == route.home, forwards = !route.children(s).empty();
        const uint32_t n = hosts_.size();
        entries_ = home ? 0 : k;
        exits_ = !forwards ? exits::none : home && n == 0 ? exits::root : !home && n < 2 * k ? exits::entries : exits::own;
        links_ = n - entries_ - (exits_ == exits::own ? k : 0);
    }

    /** Stripe j comes in at entry(j): not in the root's site. */
    bool has_entries() const { return entries_ > 0; }
    int entry(uint32_t j) const { return hosts_.rank(j); }
    /** Then whole segments pass along these. */
    uint32_t links() const { return links_; }
    int link(uint32_t i) const { return hosts_.rank(entries_ + i); }
    /** Stripe j leaves for other sites from exit(j), who may be an entry too, or the root. */
    bool has_own_exits() const { return exits_ == exits::own; }
    int exit(uint32_t j) const
    {
        return exits_ == exits::root ? root_ : hosts_.rank(j + (exits_ == exits::own ? entries_ + links_ : 0));
    }

    /** Which of them I am, -1: none. */
    int my_entry() const { return hosts_.has_me() && me() < entries_ ? hosts_.me : -1; }
    int my_link() const { return hosts_.has_me() && me() >= entries_ && me() < entries_ + links_ ? static_cast<int>(me() - entries_) : -1; }
    int my_exit() const
    {
        if (exits_ == exits::entries)
            return my_entry();
        return exits_ == exits::own && hosts_.has_me() && me() >= entries_ + links_ ? static_cast<int>(me() - entries_ - links_) : -1;
    }

private:
    uint32_t me() const { return static_cast<uint32_t>(hosts_.me); }

    team hosts_;
    int root_;
    uint32_t entries_ = 0, links_ = 0;
    enum class exits { none, own, entries, root } exits_;
};

/** Holders of a stripe each give it to the others: I hold stripe j of k. */
template <typename F> void swap_stripes(builder &b, uint32_t j, uint32_t k, F holder)
{
    for (uint32_t i = 1; i < k; ++i)
        b.send(buffer::out, block(j, k), holder((j + i) % k), label::allgather);
    for (uint32_t i = 1; i < k; ++i)
        b.recv(buffer::out, block((j + k - i) % k, k), holder((j + k - i) % k), label::allgather);
}

void build_leader(const topology &t, const plan &p, builder &b)
{
    const int me = b.me();
    const int mine = static_cast<int>(value(t.site_of(me)));
    const site_route route{static_cast<int>(value(t.site_of(p.root))), t.site_count(), p.order};
    const uint32_t k = stripes_of(t, p);
    const stations at(t, p, route, mine, k, me);

    auto scatter = [&] {
        for (uint32_t j = 0; j < k; ++j)
            b.send(buffer::out, block(j, k), at.exit(j), label::scatter);
    };
    auto cross = [&](uint32_t first, uint32_t last) {
        for (int c : route.children(mine)) {
            const stations there(t, p, route, c, k, me);
            for (uint32_t j = first; j < last; ++j)
                b.send(buffer::out, block(j, k), there.entry(j), label::cross);
        }
    };

    if (me == p.root) {
        if (at.links() > 0)
            b.send(buffer::out, whole(), at.link(0), label::direct);
        else if (at.has_own_exits())
            scatter();
        else
            cross(0, k);        // alone in its site
    } else if (at.my_entry() >= 0) {
        const uint32_t j = static_cast<uint32_t>(at.my_entry());
        b.recv(buffer::out, block(j, k), stations(t, p, route, route.parent(mine), k, me).exit(j), label::cross);
        if (at.my_exit() >= 0)
            cross(j, j + 1);
        if (at.links() > 0)
            b.send(buffer::out, block(j, k), at.link(0), label::cross_out);
        else if (at.has_own_exits())
            b.send(buffer::out, block(j, k), at.exit(j), label::scatter);
        swap_stripes(b, j, k, [&](uint32_t i) { return at.entry(i); });
    } else if (at.my_link() >= 0) {
        const uint32_t i = static_cast<uint32_t>(at.my_link());
        if (i > 0)
            b.recv(buffer::out, whole(), at.link(i - 1), label::direct);
        else if (!at.has_entries())
            b.recv(buffer::out, whole(), p.root, label::direct);
        else
            for (uint32_t j = 0; j < k; ++j)
                b.recv(buffer::out, block(j, k), at.entry(j), label::cross_out);
        if (i + 1 < at.links())
            b.send(buffer::out, whole(), at.link(i + 1), label::direct);
        else if (at.has_own_exits())
            scatter();
    } else {
        const uint32_t j = static_cast<uint32_t>(at.my_exit());
        const int from = at.links() > 0 ? at.link(at.links() - 1) : at.has_entries() ? at.entry(j) : p.root;
        b.recv(buffer::out, block(j, k), from, label::scatter);
        cross(j, j + 1);
        swap_stripes(b, j, k, [&](uint32_t i) { return at.exit(i); });
    }
}

void build(const topology &t, const plan &p, builder &b)
{
    const int leader = node_leader(t, b.me(), p.root);
    if (leader == b.me())
        build_leader(t, p, b);
    node_broadcast(b, t, leader, buffer::out);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &p)
{
    const site_route route{static_cast<int>(value(t.site_of(p.root))), t.site_count(), p.order};
    const cut c(r.bytes, p.segment_bytes);
    const int64_t k = stripes_of(t, p);
    const int64_t children = route.most_children();
    const int64_t home = t.node_count(site_at(route.home)) - 1;
    const int64_t lanes = widest_node(t) - 1;
    const auto hops_ns = [&](int s, int64_t hops) {
        return hops * (hop_ns(f, c.segment_bytes, f.next_host_ns(site_at(s))) + f.message_ns * steps(lanes + 1) + lanes_down_ns(t, f, c.segment_bytes));
    };
    int64_t far = 0;
    for (int s = 0; s < t.site_count(); ++s)
        if (s != route.home) {
            const int64_t one = hops_ns(s, t.node_count(site_at(s)) - k + 1);
            far = route.order == site_order::chain ? far + one : std::max(far, one);
        }
    const int64_t fill = hops_ns(route.home, std::max<int64_t>(0, home - k) + 2) + far;
    const int64_t bytes = static_cast<int64_t>(r.bytes);
    const int64_t busiest = home > 0 ? std::max(bytes, bytes * (k - 1 + children) / k) : bytes * children;
    const int64_t messages = std::max({2 + lanes, 2 * k - 1 + children, home > 0 ? 0 : k * children});
    const int64_t sent = c.segments * (home > 0 ? std::max<int64_t>(1, k - 1 + children) : k * children);
    const int64_t across = flows_ns(r.bytes, f.farthest_ns(site_at(route.home)), k);
    const int64_t wire = std::max({across, level_part(f, bytes), shared_wire(f.wire_ns(static_cast<uint64_t>(busiest)) + headers_ns(f, sent), k - 1)});
    return crossing_ns(f, route.latency_ns(f), c.segment_bytes / k) + pipeline(f, wire, c.segments, messages, lanes_down_ns(t, f, bytes)) + fill;
}

} // namespace

extern const algorithm bcast_chain;
const algorithm bcast_chain = {
    .collective = WAN_BCAST,
    .name = "chain",
    .summary = "segments pass from host to host and cross in n stripes; fewest messages, for long messages",
    .source = "coll/wan; GridMPI's n links (Matsuda et al.)",
    .parameters = uses_links | uses_stripes | uses_segment | uses_order,
    .automatic = true,
    .long_messages = true,
    .keeps_order = true,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &) { return few_enough(t, 2); },
    .cost = cost,
    .build = build,
};

} // namespace wan
