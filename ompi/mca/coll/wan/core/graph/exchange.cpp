/*
 * See exchange.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "graph/exchange.hpp"

#include "algo/sites.hpp"
#include "model/cost.hpp"

#include <algorithm>

namespace wan {

namespace {

struct message {
    int rank;
    span_of part;
};

/** Parts that a message to another host is cut into (a bound has 16 bits: beyond 4 GB, longer ones), and how many go without consent. */
uint32_t parts_of(const edge &e)
{
    return !exchange_waits(e.bytes) ? 1
                                    : static_cast<uint32_t>(std::min<uint64_t>(UINT16_MAX, (e.bytes + exchange_piece_bytes - 1) / exchange_piece_bytes));
}
uint32_t front_of(const edge &e) { return std::min(parts_of(e), exchange_pieces); }

/**
 * Messages to or from other hosts, in the order in which both ends of a pair post them: what needs
 * consent, then pieces, one of each edge after the other.
 */
std::vector<message> messages_of(const std::vector<const edge *> &edges)
{
    std::vector<message> messages;
    for (const edge *e : edges)
        if (front_of(*e) < parts_of(*e))
            messages.push_back({e->rank, {{front_of(*e), parts_of(*e), e->block}, {0, 1, e->block + 1}}});
    for (uint32_t k = 0; k < exchange_pieces; ++k)
        for (const edge *e : edges)
            if (k < front_of(*e))
                messages.push_back({e->rank, piece_of(e->block, k, parts_of(*e))});
    return messages;
}

} // namespace

schedule build_exchange(const topology &t, int me, const edges &e)
{
    // Not by the builder: nothing depends on anything, and there may be more operations than it can name.
    schedule s;
    s.me = me;
    s.by_blocks = true;
    const auto here = t.locate(me);
    const int sites = t.site_count();
    auto post = [&](op_kind kind, int peer, span_of part) {
        s.ops.push_back({.kind = kind, .src = buffer::in, .dst = buffer::out, .peer = peer, .part = part});
    };
    // Far sites: the next one first.  Then the site's other hosts; then what stays on this one.
    const int own_site = sites, own_host = sites + 1;
    auto distance = [&](const edge &x) {
        const auto there = t.locate(x.rank);
        if (there.site != here.site)
            return (static_cast<int>(value(there.site)) + sites - static_cast<int>(value(here.site))) % sites;
        return there.node == here.node ? own_host : own_site;
    };
    auto post_all = [&](op_kind kind, const std::vector<edge> &all) {
        std::vector<std::vector<const edge *>> by(static_cast<size_t>(own_host) + 1);
        for (const edge &x : all)
            if (x.bytes)
                by[static_cast<size_t>(distance(x))].push_back(&x);
        std::vector<const edge *> far;
        for (int d = 1; d < own_site; ++d)
            far.insert(far.end(), by[static_cast<size_t>(d)].begin(), by[static_cast<size_t>(d)].end());
        for (const auto &part : {far, by[static_cast<size_t>(own_site)]})
            for (const message &m : messages_of(part))
                post(kind, m.rank, m.part);
        for (const edge *x : by[static_cast<size_t>(own_host)])
            post(kind, x->rank, block_at(static_cast<int>(x->block)));
    };
    post_all(op_kind::recv, e.from);
    post_all(op_kind::send, e.to);
    return s;
}

} // namespace wan
