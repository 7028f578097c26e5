/*
 * See shared_ways.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plan/shared_ways.hpp"

#include "algo/sites.hpp"

namespace wan {

uint64_t least_crossing(const topology &t, const request &r, site_order order, int a, int b)
{
    const int sites = t.site_count();
    const bool chain = order == site_order::chain;
    const auto ranks = [&](int s) { return static_cast<uint64_t>(t.rank_count(site_at(s))); };
    const auto blocks = [&](uint64_t n) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(r.bytes) * n / static_cast<uint64_t>(t.size()));
    };
    const int home = kind_of(r.collective).root ? static_cast<int>(value(t.site_of(r.root))) : 0;
    if (a == b || r.counts_vary)
        return 0;       // blocks may all be where they are wanted
    switch (r.collective) {
    case WAN_BCAST:
        return chain ? (b == (a + 1) % sites && b != home ? r.bytes : 0) : a == home ? r.bytes : 0;
    case WAN_REDUCE:
        return chain ? (a == (b + 1) % sites && a != home ? r.bytes : 0) : b == home ? r.bytes : 0;
    case WAN_ALLREDUCE:     // Rabenseifner's, among sites
        return 2 * (r.bytes / static_cast<uint64_t>(sites));
    case WAN_SCAN:
    case WAN_EXSCAN:
        return 0;           // depends on where ranks stand
    case WAN_GATHER:
        return b == home ? blocks(ranks(a)) : 0;
    case WAN_SCATTER:
        return a == home ? blocks(ranks(b)) : 0;
    case WAN_ALLGATHER:
        return blocks(ranks(a));
    case WAN_REDUCE_SCATTER:
        return blocks(ranks(b));
    case WAN_ALLTOALL:
        return ranks(a) * blocks(ranks(b));
    case WAN_BARRIER:
    case WAN_COLLECTIVES:
        break;
    }
    return 0;
}

shared_ways::shared_ways(const topology &t, const facts &f, const request &r) : t_(t)
{
    if (f.uplink_ps.empty() && f.link_ps.empty())
        return;
    far_ns_ = kind_of(r.collective).root ? f.farthest_ns(t.site_of(r.root)) : f.widest_ns();
    const auto sites = static_cast<size_t>(t.site_count());
    const auto time = [](uint64_t bytes, int64_t byte_ps) { return static_cast<int64_t>(static_cast<__int128>(bytes) * byte_ps / 1000); };
    for (site_order o : {site_order::star, site_order::chain}) {
        int64_t &busiest = busiest_ns_[o == site_order::chain];
        std::vector<uint64_t> out(sites), in(sites);
        for (size_t a = 0; a < sites; ++a)
            for (size_t b = 0; b < sites; ++b) {
                const uint64_t bytes = least_crossing(t, r, o, static_cast<int>(a), static_cast<int>(b));
                out[a] += bytes;
                in[b] += bytes;
                if (!f.link_ps.empty())
                    busiest = std::max(busiest, time(bytes, f.link_ps[a * sites + b]));
            }
        for (size_t s = 0; s < sites && !f.uplink_ps.empty(); ++s)
            busiest = std::max(busiest, time(std::max(out[s], in[s]), f.uplink_ps[s]));
    }
}

int64_t shared_ways::copies(const plan &p) const
{
    switch (p.algo->crosses) {
    case crossing::once: return 1;
    case crossing::by_entries: return std::min<int64_t>(p.entries, widest_site(t_));
    case crossing::by_rank: return most_ranks(t_);
    case crossing::by_run: return t_.most_runs();
    }
    return 1;
}

} // namespace wan
