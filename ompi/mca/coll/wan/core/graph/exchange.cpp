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

/** Between two hosts: what goes along an edge; cut: something comes back. */
struct passage {
    const edge *e;
    bool cut;
};

/** Parts that it is cut into (a bound has 16 bits: beyond 4 GB, longer ones), and how many go without consent. */
uint32_t parts_of(const passage &p)
{
    if (!p.cut || p.e->bytes < exchange_cut_bytes)
        return 1;
    return static_cast<uint32_t>(std::min<uint64_t>(UINT16_MAX, (p.e->bytes + exchange_piece_bytes - 1) / exchange_piece_bytes));
}
uint32_t front_of(const passage &p) { return std::min(parts_of(p), exchange_pieces); }

/** Ranks that edges with bytes are about, in order. */
std::vector<int> others_of(const std::vector<edge> &edges)
{
    std::vector<int> ranks;
    for (const edge &e : edges)
        if (e.bytes)
            ranks.push_back(e.rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

/**
 * Messages to or from other hosts, in the order in which both ends of a pair post them: what needs
 * consent, then pieces, one of each edge after the other.
 */
std::vector<message> messages_of(const std::vector<passage> &passages)
{
    std::vector<message> messages;
    for (const passage &p : passages)
        if (front_of(p) < parts_of(p))
            messages.push_back({p.e->rank, {{front_of(p), parts_of(p), p.e->block}, {0, 1, p.e->block + 1}}});
    for (uint32_t k = 0; k < exchange_pieces; ++k)
        for (const passage &p : passages)
            if (k < front_of(p))
                messages.push_back({p.e->rank, piece_of(p.e->block, k, parts_of(p))});
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
    auto post_all = [&](op_kind kind, const std::vector<edge> &all, const std::vector<int> &other_way) {
        std::vector<std::vector<passage>> by(static_cast<size_t>(own_host) + 1);
        for (const edge &x : all)
            if (x.bytes)
                by[static_cast<size_t>(distance(x))].push_back({&x, std::binary_search(other_way.begin(), other_way.end(), x.rank)});
        std::vector<passage> far;
        for (int d = 1; d < own_site; ++d)
            far.insert(far.end(), by[static_cast<size_t>(d)].begin(), by[static_cast<size_t>(d)].end());
        for (const auto &part : {far, by[static_cast<size_t>(own_site)]})
            for (const message &m : messages_of(part))
                post(kind, m.rank, m.part);
        for (const passage &x : by[static_cast<size_t>(own_host)])
            post(kind, x.e->rank, block_at(static_cast<int>(x.e->block)));
    };
    post_all(op_kind::recv, e.from, others_of(e.to));
    post_all(op_kind::send, e.to, others_of(e.from));
    return s;
}

} // namespace wan
