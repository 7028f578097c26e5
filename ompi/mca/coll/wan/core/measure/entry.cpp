/*
 * The C boundary of discovery (wan_core.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "guarded.hpp"
#include "measure/discovery.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

static_assert(wan::discovery::message_max == WAN_DISCOVERY_MESSAGE_MAX);

struct wan_discovery {
    wan::discovery machine;
};

extern "C" {

int wan_discovery_open(const wan_peer_t *peers, int size, int me, wan_discovery_send_t send, void *ctx, wan_discovery_t **d)
{
    *d = nullptr;
    return wan::guarded([&]() -> int {
        std::vector<uint64_t> nodes(static_cast<size_t>(size));
        std::transform(peers, peers + size, nodes.begin(), [](const wan_peer_t &p) { return p.node; });
        *d = new wan_discovery{wan::discovery(nodes, me, [send, ctx](int rank, const void *bytes, size_t n) { send(ctx, rank, bytes, n); })};
        return static_cast<size_t>((*d)->machine.hosts()) <= wan::discovery::most_hosts ? WAN_OK : WAN_DECLINED;
    });
}

int wan_discovery_look(wan_discovery_t *d, int64_t now_ns)
{
    return wan::guarded([&]() -> int {
        d->machine.look(now_ns);
        return d->machine.finished() ? WAN_DONE : WAN_OK;
    });
}

int wan_discovery_receive(wan_discovery_t *d, int rank, const void *bytes, size_t size)
{
    return wan::guarded([&]() -> int {
        d->machine.receive(rank, bytes, size);
        return d->machine.finished() ? WAN_DONE : WAN_OK;
    });
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

void wan_discovery_close(wan_discovery_t *d)
{
    delete d;
}

} // extern "C"
