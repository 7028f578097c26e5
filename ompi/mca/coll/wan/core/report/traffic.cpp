/*
 * See traffic.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/traffic.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace wan {

namespace {

/** Calls f(rank, from, peer, to, flow) for each operation of all ranks that sends; false: enough. */
template <typename F> bool each_sent(const topology &t, const plan &p, const request &r, const std::function<bool()> &enough, F f)
{
    // All blocks are of one size; what is no vector of blocks is one block, cut into segments.
    const bool blocks = kind_of(r.collective).blocks;
    const uint64_t elements = r.bytes / r.element_bytes / (blocks ? static_cast<uint64_t>(t.size()) : 1);
    const uint64_t segment = std::max<uint64_t>(1, std::min(p.segment_bytes / r.element_bytes, elements));
    for (int rank = 0; rank < t.size(); ++rank) {
        if (enough())
            return false;
        const schedule s = build_schedule(t, p, rank);
        const auto from = t.locate(rank);
        const auto at = [](fraction x, uint64_t length) { return x.block * length + x.of(length); };
        const auto length = [&](const span_of &part, uint64_t of) { return at(part.hi, of) - at(part.lo, of); };
        for (const op &o : s.ops) {
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
            if (sent.messages)
                f(rank, from, o.peer, t.locate(o.peer), sent);
        }
    }
    return true;
}

void add(flow &sum, const flow &f)
{
    sum.bytes += f.bytes;
    sum.messages += f.messages;
}

} // namespace

traffic::traffic(const topology &t, const plan &p, const request &r)
{
    std::vector<std::set<int>> sending(static_cast<size_t>(t.site_count()));
    const auto never = [] { return false; };
    each_sent(t, p, r, never, [&](int rank, topology::position from, int peer, topology::position to, const flow &sent) {
        add(flows[{rank, peer}], sent);
        if (from.site != to.site) {
            add(across, sent);
            sending[value(from.site)].insert(rank);
        } else if (from.node != to.node) {
            add(inside, sent);
        }
    });
    for (const auto &ranks : sending)
        senders = std::max(senders, static_cast<uint32_t>(ranks.size()));
}

std::optional<flow> crossing_flow(const topology &t, const plan &p, const request &r, const std::function<bool()> &enough,
                                  host_flows *hosts)
{
    flow across;
    const auto place = [](topology::position at) { return host_place{static_cast<int>(value(at.site)), at.node}; };
    const bool all = each_sent(t, p, r, enough, [&](int, topology::position from, int, topology::position to, const flow &sent) {
        if (from.site != to.site)
            add(across, sent);
        if (!hosts || hosts->too_many || place(from) == place(to))
            return;
        add(hosts->all[{place(from), place(to)}], sent);
        hosts->too_many = hosts->all.size() > hosts->most;
    });
    return all ? std::optional(across) : std::nullopt;
}

} // namespace wan
