/*
 * Scatter of short blocks: one message for some neighbouring hosts of a remote
 * site, `entries` of them for each site, then down a tree that splits it; the
 * own site by a tree, too, while the WAN is crossed.
 *
 *     root ===> g1    g2 <=== root      T = L + a shallow tree + M_far/B
 *              /|      |\                   + entries for each remote site
 *            b1 b2    b3 b4
 *
 * Source: MagPIe's scatter and the bundling of Karonis et al. (MPICH-G2);
 * postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/bundles.hpp"

namespace wan {

namespace {

void build_root(const topology &t, const bundles &all, builder &b)
{
    const bool scattered = b.scattered();
    const buffer data = scattered ? b.scratch_blocks(0, static_cast<uint32_t>(t.size())) : buffer::in;
    auto send = [&](span_of part, int to, int label) {
        const bool apart = scattered && part.hi.block - part.lo.block > 1;
        for (uint32_t s = part.lo.block; apart && s < part.hi.block; ++s)
            b.copy(buffer::in, data, blocks_of(s, s + 1));
        b.send(apart ? data : buffer::in, part, to, label);
    };
    for (const branch &x : all.far())
        send(x.all(), x.rank, label::cross);
    for (const branch &x : all.near())
        send(x.all(), x.rank, label::tree_down);
    b.copy(buffer::in, buffer::out, block_at(t.slot_of(b.me())));
}

void build(const topology &t, const plan &p, builder &b)
{
    const bundles all(t, p, p.entries, b.me());
    if (b.me() == p.root)
        return build_root(t, all, b);
    const tree_place at = all.place();
    const bool alone = at.mine.size() == 1;
    const buffer data = alone ? buffer::out : b.scratch_blocks(at.mine.first, at.mine.size());
    b.recv(data, at.mine.all(), at.parent >= 0 ? at.parent : p.root, at.parent >= 0 ? label::tree_down : label::cross);
    for (const branch &x : at.children)
        b.send(data, x.all(), x.rank, label::tree_down);
    if (!alone)
        b.copy(data, buffer::out, block_at(t.slot_of(b.me())));
}

} // namespace

extern const algorithm scatter_bundled;
const algorithm scatter_bundled = {
    .collective = WAN_SCATTER,
    .name = "bundled",
    .summary = "the blocks of a remote site cross in a few messages that trees split; for short blocks and many ranks",
    .source = "coll/wan; MagPIe, MPICH-G2 (Karonis et al.)",
    .parameters = uses_entries | uses_tree,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = one_sender,
    .serves = [](const topology &t, const request &) { return t.size() <= most_slots; },
    .cost = [](const topology &t, const facts &f, const request &r, const plan &p) { return bundled_cost(t, f, r, p, p.entries, 1, false); },
    .build = build,
};

} // namespace wan
