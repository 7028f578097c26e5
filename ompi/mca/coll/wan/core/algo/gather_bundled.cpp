/*
 * Gather of short blocks: the blocks of neighbouring hosts of a remote site
 * come up a tree and cross as one message, n of them from a site; a tree in
 * the root's site, too, while the WAN is crossed.
 *
 *     b1 b2   b3 b4        root      T = L + a shallow tree + max(M_far/B, M_s/(nB))
 *       \|      \|        / |  \         + n messages for each remote site
 *        g1 ===  g2 ===> r  a1  a3
 *                           |   |
 *                           a2  a4
 *
 * At most n processes of a site send across; in pieces, a bundle crosses while
 * the rest of it is gathered.  Fewest messages for the root.
 * Source: MagPIe's gather and the bundling of Karonis et al. (MPICH-G2);
 * postal trees: Bar-Noy, Kipnis.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/bundles.hpp"

namespace wan {

namespace {

void build_root(const topology &t, const bundles &all, builder &b)
{
    // A part of several blocks comes as one message, however they lie in the caller's buffer.
    const bool scattered = b.scattered();
    const buffer data = scattered ? b.scratch_blocks(0, static_cast<uint32_t>(t.size())) : buffer::out;
    auto receive = [&](span_of part, int from, int label) {
        const bool apart = scattered && part.hi.block - part.lo.block > 1;
        b.recv(apart ? data : buffer::out, part, from, label);
        for (uint32_t s = part.lo.block; apart && s < part.hi.block; ++s)
            b.copy(data, buffer::out, blocks_of(s, s + 1));
    };
    b.copy(buffer::in, buffer::out, block_at(t.slot_of(b.me())));
    for (const branch &x : all.near())
        receive(x.all(), x.rank, label::tree_up);
    for (const branch &x : all.far())
        for (uint32_t k = 0; k < all.parts(x); ++k)
            receive(x.part(k, all.parts(x)), x.rank, label::piece + static_cast<int>(k));
}

void build(const topology &t, const plan &p, builder &b)
{
    const bundles all(t, p, p.links, b.me());
    if (b.me() == p.root)
        return build_root(t, all, b);
    const tree_place at = all.place();
    const bool alone = at.mine.size() == 1;
    const buffer data = alone ? buffer::in : b.scratch_blocks(at.mine.first, at.mine.size());
    if (!alone)
        b.copy(buffer::in, data, block_at(t.slot_of(b.me())));
    for (size_t k = at.children.size(); k-- > 0;)
        b.recv(data, at.children[k].all(), at.children[k].rank, label::tree_up);
    if (at.parent >= 0) {
        b.send(data, at.mine.all(), at.parent, label::tree_up);
        return;
    }
    for (uint32_t k = 0; k < all.parts(at.mine); ++k)
        b.send(data, at.mine.part(k, all.parts(at.mine)), p.root, label::piece + static_cast<int>(k));
}

} // namespace

extern const algorithm gather_bundled;
const algorithm gather_bundled = {
    .collective = WAN_GATHER,
    .name = "bundled",
    .summary = "trees in each site; a remote site's blocks cross in n bundles; for short blocks and many ranks",
    .source = "coll/wan; MagPIe, MPICH-G2 (Karonis et al.)",
    .parameters = uses_links | uses_stripes | uses_tree | uses_pieces,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = gateway_senders,
    .serves = [](const topology &t, const request &) { return t.size() <= most_slots; },
    .cost = [](const topology &t, const facts &f, const request &r, const plan &p) { return bundled_cost(t, f, r, p, p.links, p.pieces, true); },
    .build = build,
};

} // namespace wan
