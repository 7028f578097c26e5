/*
 * Allgather of short blocks in one WAN latency: everyone sends its block
 * straight to everyone, other sites first.
 *
 *     T = L + (P-1) m/B + (P-1) messages
 *
 * Source: coll/wan; the linear allgather.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/sites.hpp"
#include "model/cost.hpp"

namespace wan {

namespace {

void build(const topology &t, const plan &, builder &b)
{
    const int me = b.me(), mine = t.slot_of(me), all = t.size();
    const auto own = block_at(mine);
    b.reserve(2 * static_cast<size_t>(all));
    for (int k = 1; k < all; ++k) {
        const int slot = (mine + all - k) % all;
        b.recv(buffer::out, block_at(slot), t.rank_of(slot), label::direct);
    }
    for (bool far : {true, false})
        for (int k = 1; k < all; ++k)
            if (const int to = t.rank_of((mine + k) % all); (t.site_of(to) != t.site_of(me)) == far)
                b.send(buffer::in, own, to, label::direct);
    b.copy(buffer::in, buffer::out, own);
}

int64_t cost(const topology &t, const facts &f, const request &r, const plan &)
{
    // All at once: as many connections (measured, 2 x 16 hosts: 1 KB 20 to 27 ms, 16 KB 145 to 173, 64 KB 975, 128 KB 1572).
    const int64_t others = t.size() - 1, lanes = widest_node(t), block = static_cast<int64_t>(r.bytes) / t.size();
    const int64_t alone = wire_part(f, static_cast<int64_t>(r.bytes), lanes * (t.size() - lanes), t.size());
    const int64_t wire = sharing_ns(f, static_cast<uint64_t>(block), alone, shared_wire(alone, std::min<int64_t>(others, 64)));
    return crossing_ns(f, f.widest_ns(), block) + pipeline(f, wire, 2 * lanes * others);
}

} // namespace

extern const algorithm allgather_direct;
const algorithm allgather_direct = {
    .collective = WAN_ALLGATHER,
    .name = "direct",
    .summary = "every rank sends its block to every other, far ones first; for the shortest blocks",
    .source = "coll/wan; the linear allgather",
    .parameters = uses_nothing,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = all_senders,
    .serves = [](const topology &t, const request &) { return t.size() <= 4096; },
    .cost = cost,
    .build = build,
    .any_counts = true,
    .crosses = crossing::by_rank,
};

} // namespace wan
