/*
 * See run.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "graph/run.hpp"

#include <algorithm>

namespace wan {

namespace {

std::vector<edge> edges_of(const wan_edges_t &of, const wan_vector_t &v)
{
    std::vector<edge> all(static_cast<size_t>(of.count));
    for (size_t i = 0; i < all.size(); ++i) {
        const auto block = static_cast<uint32_t>(of.blocks[i]);
        all[i] = {of.ranks[i], block, v.counts[block]};
    }
    return all;
}

/** Of all blocks up to the last one that an edge is about. */
layout layout_of(const wan_edges_t &of, const wan_vector_t &v)
{
    layout l;
    const int blocks = of.count ? *std::max_element(of.blocks, of.blocks + of.count) + 1 : 0;
    size_t sum = 0;
    for (int i = 0; i < blocks; ++i)
        l.ends.push_back(sum += v.counts[i]);
    if (v.displs)
        l.at.assign(v.displs, v.displs + blocks);
    return l;
}

} // namespace

wan_run *exchange_begin(wan_comm &comm, const wan_call_t &call, const wan_port_t *port, void *port_ctx)
{
    const edges e{edges_of(call.to, call.in_vector), edges_of(call.from, call.out_vector)};
    auto prepared = comm.prepare(e);
    binding b;
    b.in = call.in;
    b.out = call.out;
    b.count = b.segment = 1;
    b.extent = call.extent;
    b.blocks[0] = layout_of(call.to, call.in_vector);
    b.blocks[1] = layout_of(call.from, call.out_vector);
    auto code = prepared->code;
    auto *run = new wan_run{&comm, std::nullopt, prepared, std::optional<engine>(std::in_place, code, std::move(b), port, port_ctx), port, port_ctx};
    run->internal = call.internal;
    run->waits = call.blocks;
    run->by_edges = true;
    return run;
}

std::string exchange_describe(const wan_run &run)
{
    const auto &ops = run.prepared->code->text().ops;
    const auto sends = std::count_if(ops.begin(), ops.end(), [](const op &o) { return o.kind == op_kind::send; });
    return "neighbor direct: " + std::to_string(sends) + " messages, " + std::to_string(run.prepared->crossing.size()) + " to other sites";
}

} // namespace wan
