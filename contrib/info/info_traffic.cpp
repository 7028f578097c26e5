/*
 * See info_traffic.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_traffic.hpp"

#include <algorithm>
#include <set>

namespace info {

traffic::traffic(const wan::topology &t, const wan::plan &p, const wan::request &r)
{
    // All blocks are of one size; what is no vector of blocks is one block, cut into segments.
    const bool blocks = wan::kind_of(r.collective).blocks;
    const uint64_t elements = r.bytes / r.element_bytes / (blocks ? static_cast<uint64_t>(t.size()) : 1);
    const uint64_t segment = std::max<uint64_t>(1, std::min(p.segment_bytes / r.element_bytes, elements));
    std::vector<std::set<int>> sending(static_cast<size_t>(t.site_count()));
    for (int rank = 0; rank < t.size(); ++rank) {
        const wan::schedule s = wan::build_schedule(t, p, rank);
        const auto from = t.locate(rank);
        const auto at = [](wan::fraction f, uint64_t length) { return f.block * length + f.of(length); };
        const auto length = [&](const wan::span_of &part, uint64_t of) { return at(part.hi, of) - at(part.lo, of); };
        for (const wan::op &o : s.ops) {
            if (!o.sends())
                continue;
            flow sent;
            if (!o.carries()) {
                sent.messages = 1;
            } else if (s.by_blocks) {
                sent = {length(o.part, elements) * r.element_bytes, 1};
                sent.messages = sent.bytes > 0;
            } else {
                const uint64_t whole = length(o.part, segment), rest = length(o.part, elements % segment);
                sent.bytes = (whole * (elements / segment) + rest) * r.element_bytes;
                sent.messages = (whole ? elements / segment : 0) + (rest ? 1 : 0);
            }
            if (!sent.messages)
                continue;
            const auto to = t.locate(o.peer);
            flow *const sums[] = {&flows[{rank, o.peer}],
                                  from.site != to.site   ? &across
                                  : from.node != to.node ? &inside
                                                         : nullptr};
            for (flow *f : sums)
                if (f) {
                    f->bytes += sent.bytes;
                    f->messages += sent.messages;
                }
            if (from.site != to.site)
                sending[value(from.site)].insert(rank);
        }
    }
    for (const auto &ranks : sending)
        senders = std::max(senders, static_cast<uint32_t>(ranks.size()));
}

} // namespace info
