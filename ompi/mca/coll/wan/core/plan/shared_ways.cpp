/*
 * See shared_ways.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plan/shared_ways.hpp"

#include "algo/sites.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Far beyond any prediction, and sums of a few fit. */
constexpr int64_t most_ns = INT64_MAX / 4;

constexpr int64_t clamped(__int128 ns) { return ns > most_ns ? most_ns : static_cast<int64_t>(ns); }

/**
 * What a connection gets of a pair's link, 0: as much as an interface lets it, near enough, which costs know.  (Lab, 2 x 16 hosts of
 * 40 Mb/s, a link of 320: Scatter of 16 KB took 105 ms, the bound; with its one sender's bytes counted once more, 137 were predicted.)
 */
int64_t narrow_flow_ps(const facts &f, size_t pair)
{
    const int64_t ps = pair < f.flow_ps.size() ? f.flow_ps[pair] : 0;
    return ps > f.byte_ps + f.byte_ps / 8 ? ps : 0;
}

constexpr site_order order_of(int chain) { return chain ? site_order::chain : site_order::star; }

} // namespace

uint64_t least_crossing(const topology &t, const request &r, int home, site_order order, int a, int b)
{
    const bool chain = order == site_order::chain;
    const int next = (a + 1) % t.site_count();
    const auto ranks = [&](int s) { return static_cast<uint64_t>(t.rank_count(site_at(s))); };
    const auto blocks = [&](uint64_t n) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(r.bytes) * n / static_cast<uint64_t>(t.size()));
    };
    if (a == b)
        return 0;
    switch (r.collective) {
    case WAN_BCAST:
        return chain ? (b == next && b != home ? r.bytes : 0) : a == home ? r.bytes : 0;
    case WAN_REDUCE:
        return chain ? (a == (b + 1) % t.site_count() && a != home ? r.bytes : 0) : b == home ? r.bytes : 0;
    case WAN_ALLREDUCE:
        return r.bytes;
    case WAN_SCAN:
    case WAN_EXSCAN:
        return b == a + 1 ? r.bytes : 0;        // more, where their ranks take turns
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
    case WAN_NEIGHBOR:      // not planned
    case WAN_COUNTED:
        break;
    }
    return 0;
}

int64_t crossing_copies(const topology &t, wan_collective_t c, crossing kind, int a, int b)
{
    switch (kind) {
    case crossing::by_rank: return t.rank_count(site_at(c == WAN_ALLGATHER ? b : a));    // straight to each, or from each
    case crossing::by_run: return t.run_count(site_at(a));
    case crossing::by_host: return t.node_count(site_at(a));
    case crossing::by_share: return 2;
    case crossing::by_hops: {
        const int64_t pairs = int64_t{t.rank_count(site_at(a))} * t.rank_count(site_at(b));
        return c == WAN_ALLTOALL ? (hops_across(t, a, b) + pairs - 1) / pairs : 1;
    }
    case crossing::once:
    case crossing::by_entries: break;
    }
    return 1;
}

uint32_t shared_ways::enough_links(const facts &f)
{
    int64_t most = 0;
    for (size_t i = 0; i < f.link_ps.size(); ++i)
        if (f.link_ps[i] > 0) {
            const int64_t one_ps = std::max(f.byte_ps, i < f.flow_ps.size() ? f.flow_ps[i] : 0);
            most = std::max(most, (one_ps + f.link_ps[i] - 1) / f.link_ps[i]);
        }
    return static_cast<uint32_t>(std::min<int64_t>(most, 1 << 12));
}

shared_ways::shared_ways(const topology &t, const facts &f, const request &r)
    : any_(!f.uplink_ps.empty() || !f.link_ps.empty() || !f.flow_ps.empty()), topo_(t)
{
    if (!any_)
        return;
    const bool rooted = kind_of(r.collective).root;
    const int sites = t.site_count(), home = rooted ? static_cast<int>(value(t.site_of(r.root))) : 0;
    widest_ = widest_site(t);
    far_ns_[0] = rooted ? f.farthest_ns(site_at(home)) : f.widest_ns();
    far_ns_[1] = rooted ? site_route{home, sites, site_order::chain}.latency_ns(f) : far_ns_[0];
    const auto rate = [](const std::vector<int64_t> &of, size_t i) { return of.empty() ? 0 : of[i]; };
    for (int chain : {0, 1}) {
        struct load {
            std::vector<unsigned __int128> out, in;
            __int128 busiest = 0, lone = 0;
        } of[kinds];
        for (load &l : of)
            l.out.resize(static_cast<size_t>(sites)), l.in.resize(static_cast<size_t>(sites));
        for (int a = 0; a < sites; ++a)
            for (int b = 0; b < sites; ++b) {
                const auto from = static_cast<size_t>(a), to = static_cast<size_t>(b);
                const uint64_t least = least_crossing(t, r, home, order_of(chain), a, b);
                const size_t pair = from * static_cast<size_t>(sites) + to;
                for (size_t kind = 0; least && kind < kinds; ++kind) {
                    const auto copies = static_cast<uint64_t>(crossing_copies(t, r.collective, static_cast<crossing>(kind), a, b));
                    const auto shares = static_cast<crossing>(kind) == crossing::by_share ? static_cast<uint64_t>(sites) : 1;
                    const auto bytes = static_cast<unsigned __int128>(least) * copies / shares;
                    of[kind].out[from] += bytes;
                    of[kind].in[to] += bytes;
                    of[kind].busiest = std::max(of[kind].busiest, static_cast<__int128>(bytes) * rate(f.link_ps, pair));
                    of[kind].lone = std::max(of[kind].lone, static_cast<__int128>(bytes) * narrow_flow_ps(f, pair));
                }
            }
        for (size_t kind = 0; kind < kinds; ++kind) {
            load &l = of[kind];
            for (size_t s = 0; s < l.out.size(); ++s)
                l.busiest = std::max(l.busiest, static_cast<__int128>(std::max(l.out[s], l.in[s])) * rate(f.uplink_ps, s));
            busiest_ns_[chain][kind] = clamped(l.busiest / 1000);
            lone_ns_[chain][kind] = clamped(l.lone / 1000);
        }
    }
    narrowest_ = widest_;
    for (int a = 0; a < sites; ++a)
        for (int b = 0; b < sites; ++b)
            if (narrow_flow_ps(f, static_cast<size_t>(a) * static_cast<size_t>(sites) + static_cast<size_t>(b)) > 0)
                narrowest_ = std::min<int64_t>(narrowest_, t.node_count(site_at(a)));
}

int64_t shared_ways::with(const plan &p, int64_t predicted_ns, uint64_t cuts) const
{
    if (!any_)
        return predicted_ns;
    const int chain = p.order == site_order::chain;
    const int64_t entries = p.algo->crosses == crossing::by_entries ? std::clamp<int64_t>(p.entries, 1, widest_) : 1;
    const auto kind = static_cast<size_t>(p.algo->crosses);
    const int64_t lone = lone_ns_[chain][kind] > 0 ? lone_ns_[chain][kind] / std::clamp<int64_t>(p.algo->senders(topo_, p), 1, narrowest_) : 0;
    const int64_t wire = clamped(static_cast<__int128>(std::max(busiest_ns_[chain][kind], lone)) * entries);
    if (wire == 0)
        return predicted_ns;
    const int64_t far = std::min(far_ns_[chain], predicted_ns);     // there may be a shorter way round
    const int64_t rest = std::max<int64_t>(1, predicted_ns - far);
    const auto [less, more] = std::minmax(wire, rest);
    const auto seen = static_cast<__int128>(less) * less / more / static_cast<int64_t>(std::max<uint64_t>(1, cuts));
    return std::max(predicted_ns, clamped(static_cast<__int128>(far) + more + seen));
}

} // namespace wan
