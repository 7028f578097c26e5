/*
 * See vectors.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "vectors.hpp"

#include <algorithm>
#include <numeric>

namespace wan {

namespace {

/** Whose counts every rank knows. */
const wan_vector_t &known_vector(const wan_call_t &call)
{
    return call.collective == WAN_REDUCE_SCATTER ? call.in_vector : call.out_vector;
}

bool counts_are_local(const wan_call_t &call)
{
    return call.counts_vary && !kind_of(call.collective).counts_shared;
}

/** Blocks of a vector that a buffer holds all of. */
layout vector_layout(const topology &t, const wan_call_t &call, const wan_vector_t &v)
{
    layout l;
    const auto ranks = static_cast<size_t>(t.size());
    auto count_of = [&](int rank) { return v.counts ? v.counts[rank] : call.count; };
    l.each = call.count;
    if (v.counts) {
        l.ends.reserve(ranks);
        size_t sum = 0;
        for (int slot = 0; slot < t.size(); ++slot)
            l.ends.push_back(sum += count_of(t.rank_of(slot)));
    }
    if (!v.displs && t.in_slot_order())
        return l;
    l.at.resize(ranks);
    ptrdiff_t next = 0;
    for (int rank = 0; rank < t.size(); ++rank) {
        l.at[static_cast<size_t>(t.slot_of(rank))] = v.displs ? v.displs[rank] : next;
        next += static_cast<ptrdiff_t>(count_of(rank));
    }
    // One after the other from address 0 on: as if nobody had said where they are.
    ptrdiff_t sum = 0;
    bool dense = true;
    for (int slot = 0; slot < t.size() && dense; ++slot) {
        const auto elements = static_cast<ptrdiff_t>(count_of(t.rank_of(slot)));
        dense = elements == 0 || l.at[static_cast<size_t>(slot)] == sum;
        sum += elements;
    }
    if (dense)
        l.at.clear();
    return l;
}

/** The own block alone. */
layout own_layout(const topology &t, int me, const wan_call_t &call)
{
    layout l;
    l.each = counts_are_local(call) ? call.own_count : call.count;
    l.first = static_cast<uint32_t>(t.slot_of(me));
    return l;
}

/** Elements of a vector for ranks of other sites. */
size_t far_elements(const topology &t, int me, const layout &vector)
{
    const auto ranks = static_cast<uint32_t>(t.size()), first = static_cast<uint32_t>(t.first_slot(t.site_of(me)));
    const uint32_t end = first + static_cast<uint32_t>(t.rank_count(t.site_of(me)));
    return vector.length(blocks_of(0, ranks)) - vector.length(blocks_of(first, end));
}

layout own_of(layout vector, const topology &t, int me)
{
    vector.at.clear();
    vector.first = static_cast<uint32_t>(t.slot_of(me));
    return vector;
}

} // namespace

request request_of(const topology &t, const wan_call_t &call)
{
    request r{.collective = call.collective, .root = call.root, .bytes = call.count * call.element_bytes,
              .element_bytes = std::max<size_t>(1, call.element_bytes), .commutative = call.commutative};
    if (!kind_of(call.collective).blocks)
        return r;
    r.counts_local = counts_are_local(call);
    r.counts_vary = call.counts_vary;
    const auto ranks = static_cast<size_t>(t.size());
    if (r.counts_local) {
        r.bytes = 0;
    } else if (const size_t *counts = call.counts_vary ? known_vector(call).counts : nullptr) {
        r.bytes = std::accumulate(counts, counts + ranks, size_t{0}) * call.element_bytes;
        r.counts_vary = !std::all_of(counts, counts + ranks, [&](size_t c) { return c == counts[0]; });
    } else {
        r.bytes *= ranks;
    }
    return r;
}

bound_call bind_call(const topology &t, int me, const wan_call_t &call)
{
    bound_call b;
    b.where.in = call.collective == WAN_BCAST ? call.out : call.in;
    b.where.out = call.out;
    b.where.count = call.collective == WAN_BARRIER ? 1 : call.count;    // nothing travels, but a segment of it does
    b.where.extent = call.extent;
    if (!kind_of(call.collective).blocks)
        return b;
    layout &in = b.where.blocks[0], &out = b.where.blocks[1], &tmp = b.where.blocks[2];
    switch (call.collective) {
    case WAN_ALLGATHER:
        out = vector_layout(t, call, call.out_vector);
        in = own_of(out, t, me);
        break;
    case WAN_REDUCE_SCATTER:
        in = vector_layout(t, call, call.in_vector);
        out = own_of(in, t, me);
        break;
    case WAN_GATHER:
        in = own_layout(t, me, call);
        if (me == call.root)
            out = vector_layout(t, call, call.out_vector);
        break;
    case WAN_SCATTER:
        out = own_layout(t, me, call);
        if (me == call.root)
            in = vector_layout(t, call, call.in_vector);
        break;
    default:
        in = vector_layout(t, call, call.in_vector);
        out = vector_layout(t, call, call.out_vector);
    }
    b.scattered = !in.at.empty() || !out.at.empty();
    if (counts_are_local(call)) {
        if (call.collective == WAN_ALLTOALL)
            b.far_block_bytes = far_elements(t, me, in) * call.element_bytes / static_cast<size_t>(t.size() - t.rank_count(t.site_of(me)));
        tmp.each = 0;       // algorithms that serve such calls have no scratch
    } else {
        tmp.each = call.count;
        tmp.ends = call.collective == WAN_REDUCE_SCATTER ? in.ends : out.ends;
    }
    return b;
}

} // namespace wan
