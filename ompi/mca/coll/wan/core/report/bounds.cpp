/*
 * See bounds.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/bounds.hpp"

#include <algorithm>
#include <vector>

namespace wan {

namespace {

site_id site(int s) { return site_id{static_cast<uint32_t>(s)}; }

/** What must enter a site, and leave it. */
struct need {
    uint64_t in = 0, out = 0;
};

/** Scans: whether a site has a rank behind one of another site, before one of another site. */
std::vector<need> scan_needs(const topology &t, uint64_t bytes)
{
    std::vector<need> needs(static_cast<size_t>(t.site_count()));
    int head = 0, tail = t.size() - 1;      // ranks of the first one's site at the front, of the last one's at the end
    const site_id first = t.site_of(0), last = t.site_of(tail);
    while (head < t.size() && t.site_of(head) == first)
        ++head;
    while (tail >= 0 && t.site_of(tail) == last)
        --tail;
    for (int r = head; r < t.size(); ++r)
        needs[value(t.site_of(r))].in = bytes;
    for (int r = 0; r <= tail; ++r)
        needs[value(t.site_of(r))].out = bytes;
    return needs;
}

std::vector<need> needs_of(const topology &t, const request &r)
{
    const auto sites = static_cast<uint64_t>(t.site_count()), p = static_cast<uint64_t>(t.size());
    const uint64_t bytes = r.collective == WAN_BARRIER ? 0 : r.bytes, block = bytes / p;
    if (r.collective == WAN_SCAN || r.collective == WAN_EXSCAN)
        return scan_needs(t, bytes);
    const bool rooted = kind_of(r.collective).root;
    const uint32_t root = rooted ? value(t.site_of(r.root)) : 0;
    std::vector<need> needs(sites);
    for (uint32_t s = 0; s < sites; ++s) {
        const auto here = static_cast<uint64_t>(t.rank_count(site_id{s})), far = p - here;
        const bool at_root = s == root;
        switch (r.collective) {
        case WAN_BCAST: needs[s] = at_root ? need{0, bytes} : need{bytes, 0}; break;
        case WAN_REDUCE: needs[s] = at_root ? need{bytes, 0} : need{0, bytes}; break;
        case WAN_GATHER: needs[s] = at_root ? need{far * block, 0} : need{0, here * block}; break;
        case WAN_SCATTER: needs[s] = at_root ? need{0, far * block} : need{here * block, 0}; break;
        case WAN_ALLGATHER: needs[s] = {far * block, here * block}; break;
        case WAN_REDUCE_SCATTER: needs[s] = {here * block, far * block}; break;
        case WAN_ALLTOALL: needs[s] = {here * far * block, here * far * block}; break;
        default: needs[s] = {bytes, bytes};
        }
    }
    return needs;
}

/** Most that the interface of a host must let pass: of all ranks on it, and of that what comes from other sites or goes there. */
struct interface_need {
    uint64_t bytes = 0, far_bytes = 0;
};

interface_need interface_needs(const topology &t, const request &r)
{
    const auto p = static_cast<uint64_t>(t.size());
    const uint64_t block = r.bytes / p;
    uint64_t hosts = 0;
    interface_need most;
    for (int s = 0; s < t.site_count(); ++s)
        hosts += static_cast<uint64_t>(t.node_count(site(s)));
    switch (r.collective) {
    case WAN_BARRIER: return {};
    case WAN_ALLREDUCE:
        return {static_cast<uint64_t>(static_cast<unsigned __int128>(2 * (hosts - 1)) * r.bytes / hosts), r.bytes};
    case WAN_BCAST:
    case WAN_REDUCE:
    case WAN_SCAN:
    case WAN_EXSCAN: return {r.bytes, r.bytes};
    case WAN_GATHER:
    case WAN_SCATTER: {
        const auto at = t.locate(r.root);
        return {(p - static_cast<uint64_t>(t.lane_count(at.site, at.node))) * block,
                (p - static_cast<uint64_t>(t.rank_count(at.site))) * block};
    }
    default:
        for (int s = 0; s < t.site_count(); ++s)
            for (int n = 0; n < t.node_count(site(s)); ++n) {
                const auto lanes = static_cast<uint64_t>(t.lane_count(site(s), n));
                const uint64_t each = r.collective == WAN_ALLTOALL ? lanes * block : block;
                most.bytes = std::max(most.bytes, (p - lanes) * each);
                most.far_bytes = std::max(most.far_bytes, (p - static_cast<uint64_t>(t.rank_count(site(s)))) * each);
            }
        return most;
    }
}

int64_t time_of(uint64_t bytes, int64_t byte_ps) { return static_cast<int64_t>(static_cast<__int128>(bytes) * byte_ps / 1000); }

} // namespace

uint64_t least_crossing_bytes(const topology &t, const request &r)
{
    const auto sites = static_cast<uint64_t>(t.site_count());
    if (r.collective == WAN_ALLREDUCE)
        return 2 * (sites - 1) * r.bytes;
    if (r.collective == WAN_REDUCE_SCATTER)
        return (sites - 1) * r.bytes;       // each block: a contribution of each other site, or those before it in one
    need all;
    for (const need &n : needs_of(t, r)) {
        all.in += n.in;
        all.out += n.out;
    }
    return std::max(all.in, all.out);
}

int64_t least_ns(const topology &t, const facts &f, const request &r, int me)
{
    const int64_t latency = f.farthest_ns(t.site_of(kind_of(r.collective).root ? r.root : me));
    const interface_need host = interface_needs(t, r);
    const auto burst = static_cast<uint64_t>(std::max<int64_t>(0, f.burst_bytes));
    const auto wire = [&](uint64_t bytes) { return f.wire_ns(bytes > burst ? bytes - burst : 0); };
    int64_t least = std::max(wire(host.bytes), latency + wire(host.far_bytes));
    const std::vector<need> needs = needs_of(t, r);
    for (size_t s = 0; s < needs.size(); ++s)
        if (s < f.uplink_ps.size() && f.uplink_ps[s] > 0)
            least = std::max(least, latency + time_of(std::max(needs[s].in, needs[s].out), f.uplink_ps[s]));
    if (needs.size() == 2 && f.link_ps.size() == 4 && f.link_ps[1] > 0)
        least = std::max(least, latency + time_of(std::max(needs[0].in, needs[0].out), f.link_ps[1]));
    return least;
}

} // namespace wan
