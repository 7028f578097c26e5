/*
 * The C boundary of discovery (wan_core.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "guarded.hpp"
#include "measure/discovery.hpp"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <sstream>
#include <utility>
#include <vector>

static_assert(wan::discovery::message_max == WAN_DISCOVERY_MESSAGE_MAX);

struct wan_discovery {
    wan::discovery machine;
    bool kept = false;

    /** Once: for all that measure. */
    void keep()
    {
        if (!machine.complete() || std::exchange(kept, true))
            return;
        for (const auto &w : machine.ways_between()) {
            char from[WAN_DISCOVERY_NAME_MAX], to[WAN_DISCOVERY_NAME_MAX];
            wan_discovery_name(w.from, from);
            wan_discovery_name(w.to, to);
            wan::measured().keep(from, to, w.what);
        }
    }
};

extern "C" {

int wan_discovery_open(const wan_params_t *params, uint32_t job, const wan_peer_t *peers, int size, int me, wan_discovery_send_t send,
                       void *ctx, wan_discovery_t **d)
{
    *d = nullptr;
    return wan::guarded([&]() -> int {
        std::vector<uint64_t> nodes(static_cast<size_t>(size));
        std::transform(peers, peers + size, nodes.begin(), [](const wan_peer_t &p) { return p.node; });
        wan::site_ways::options o;
        o.bytes = static_cast<uint64_t>(params->measure_bytes);
        o.others = static_cast<int>(std::min<int64_t>(params->tree_peers, wan::discovery::most_sites_with_ways));
        *d = new wan_discovery{wan::discovery(
            nodes, me, [send, ctx](int rank, const void *bytes, size_t n) { send(ctx, rank, bytes, n); }, o,
            [job](int rank, int64_t rtt_ns, int64_t bytes_per_s, int64_t now_ns) {
                wan::measured().keep(wan::process_of(job, static_cast<uint32_t>(rank)), {rtt_ns, static_cast<uint64_t>(bytes_per_s), now_ns});
            })};
        return static_cast<size_t>((*d)->machine.hosts()) <= wan::discovery::most_hosts ? WAN_OK : WAN_DECLINED;
    });
}

int wan_discovery_look(wan_discovery_t *d, int64_t now_ns)
{
    return wan::guarded([&]() -> int {
        d->machine.look(now_ns);
        d->keep();
        return WAN_OK;
    });
}

int wan_discovery_receive(wan_discovery_t *d, int rank, const void *bytes, size_t size)
{
    return wan::guarded([&]() -> int {
        d->machine.receive(rank, bytes, size);
        d->keep();
        return WAN_OK;
    });
}

bool wan_discovery_known(const wan_discovery_t *d)
{
    return d->machine.finished();
}

bool wan_discovery_complete(const wan_discovery_t *d)
{
    return d->machine.complete();
}

void wan_discovery_name(int site, char name[WAN_DISCOVERY_NAME_MAX])
{
    std::snprintf(name, WAN_DISCOVERY_NAME_MAX, "measured/%d", site);
}

int wan_discovery_sites(const wan_discovery_t *d)
{
    return d->machine.sites();
}

int wan_discovery_site(const wan_discovery_t *d, int rank)
{
    return d->machine.site_of(rank);
}

int wan_discovery_describe(const wan_discovery_t *d, char *text, size_t size)
{
    const auto &m = d->machine;
    if (m.sites() == 1)
        return std::snprintf(text, size, "%d hosts are one site: round trips of at most %.2f ms", m.hosts(), static_cast<double>(m.near_ns()) / 1e6);
    return std::snprintf(text, size, "%d hosts are %d sites: round trips of at most %.2f ms inside, at least %.2f ms between them", m.hosts(),
                         m.sites(), static_cast<double>(m.near_ns()) / 1e6, static_cast<double>(m.far_ns()) / 1e6);
}

int wan_discovery_describe_ways(const wan_discovery_t *d, char *text, size_t size)
{
    std::ostringstream s;
    s << std::fixed;
    const int code = wan::guarded([&]() -> int {
        for (const auto &w : d->machine.ways_between()) {
            char from[WAN_DISCOVERY_NAME_MAX], to[WAN_DISCOVERY_NAME_MAX];
            wan_discovery_name(w.from, from);
            wan_discovery_name(w.to, to);
            const auto mbit = [](int64_t bytes_per_s) { return static_cast<double>(bytes_per_s) * 8e-6; };
            s << (s.tellp() > 0 ? "; " : "") << from << " to " << to << ' ' << std::setprecision(2) << static_cast<double>(w.what.rtt_ns) / 1e6
              << " ms there and back, " << std::setprecision(1) << mbit(w.what.bytes_per_s) << " Mb/s a flow, " << mbit(w.what.cold_bytes_per_s)
              << " after a rest";
        }
        if (s.tellp() > 0)
            s << " (" << d->machine.spent_ns() / 1'000'000 << " ms of transfers here)";
        return WAN_OK;
    });
    return std::snprintf(text, size, "%s", code == WAN_OK ? s.str().c_str() : "out of memory");
}

void wan_discovery_close(wan_discovery_t *d)
{
    delete d;
}

} // extern "C"
