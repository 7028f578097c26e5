/*
 * The C boundary of discovery (wan_core.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "guarded.hpp"
#include "measure/discovery.hpp"
#include "ms_text.hpp"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

static_assert(wan::discovery::message_max == WAN_DISCOVERY_MESSAGE_MAX);

namespace {

/** Of a site that was found: a name for users, longer for a part of one. */
std::string site_name(int site) { return "measured/" + std::to_string(site); }

} // namespace

struct wan_discovery {
    wan::discovery machine;
    bool kept = false;
    std::vector<wan::site_finder::place> places = {};   // that are not alike, in the order of their first ranks
    std::vector<int> place_of_rank = {};

    /** What is to be done once, when the sites are known. */
    void number_places()
    {
        if (!machine.finished() || !places.empty())
            return;
        std::map<wan::site_finder::place, int> number;
        for (int r = 0; r < machine.ranks(); ++r) {
            const auto [at, added] = number.try_emplace(machine.place_of(r), static_cast<int>(places.size()));
            if (added)
                places.push_back(at->first);
            place_of_rank.push_back(at->second);
        }
    }

    /** And when the ways between them are: for all that measure. */
    void keep_ways()
    {
        if (!machine.complete() || std::exchange(kept, true))
            return;
        for (const auto &w : machine.ways_between()) {
            wan::measured().keep(site_name(w.from), site_name(w.to), w.what);
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
        o.ping = static_cast<uint64_t>(params->ping_bytes);
        o.others = static_cast<int>(std::min<int64_t>(params->tree_peers, wan::discovery::most_sites_with_ways));
        *d = new wan_discovery{wan::discovery(
            nodes, me, [send, ctx](int rank, const void *bytes, size_t n) { send(ctx, rank, bytes, n); }, o,
            [job](int rank, int64_t rtt_ns, int64_t bytes_per_s, int64_t now_ns) {
                wan::measured().keep(wan::process_of(job, static_cast<uint32_t>(rank)), {rtt_ns, static_cast<uint64_t>(bytes_per_s), now_ns});
            })};
        return static_cast<size_t>((*d)->machine.hosts()) <= wan::discovery::most_hosts ? WAN_OK : WAN_DECLINED;
    });
}

int wan_discovery_look(wan_discovery_t *d, int64_t now_ns, int64_t read_ns)
{
    return wan::guarded([&]() -> int {
        d->machine.look(now_ns, read_ns);
        d->number_places();
        d->keep_ways();
        return WAN_OK;
    });
}

int wan_discovery_receive(wan_discovery_t *d, int rank, const void *bytes, size_t size, int64_t now_ns)
{
    return wan::guarded([&]() -> int {
        d->machine.receive(rank, bytes, size, now_ns);
        d->number_places();
        d->keep_ways();
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

int wan_discovery_places(const wan_discovery_t *d)
{
    return static_cast<int>(d->places.size());
}

int wan_discovery_place(const wan_discovery_t *d, int rank)
{
    return d->place_of_rank[static_cast<size_t>(rank)];
}

void wan_discovery_name(const wan_discovery_t *d, int place, char name[WAN_DISCOVERY_NAME_MAX])
{
    const wan::site_finder::place &p = d->places[static_cast<size_t>(place)];
    int length = std::snprintf(name, WAN_DISCOVERY_NAME_MAX, "%s", site_name(p.site).c_str());
    for (size_t i = 0; i < p.inside.size() && p.inside[i] > 0; ++i)
        length += std::snprintf(name + length, static_cast<size_t>(WAN_DISCOVERY_NAME_MAX - length), "/%d", p.inside[i]);
}

int wan_discovery_describe(const wan_discovery_t *d, char *text, size_t size)
{
    const wan::discovery &m = d->machine;
    const wan::site_finder *times = m.finder();
    if (times == nullptr)
        return std::snprintf(text, size, "%d hosts are %d sites", m.hosts(), m.sites());
    char unknown[256] = "", parts[384] = "";
    if (times->undecided() > 0)
        std::snprintf(unknown, sizeof unknown, "; %d host%s looked for messages too seldom for any time to tell where they are: %s", times->undecided(),
                      times->undecided() == 1 ? "" : "s", m.sites() == 1 ? "nothing far is known" : "each is taken for a site");
    if (m.sites() == 1)
        return std::snprintf(text, size, "%d hosts are one site: round trips of at most %s%s", m.hosts(), wan::ms_text(times->near_ns()).c_str(), unknown);
    if (times->parted() > 0)
        std::snprintf(parts, sizeof parts, "; %d of them %s parts, at least %s from each other", times->parted(),
                      times->parted() == 1 ? "has" : "have", wan::ms_text(times->apart_ns()).c_str());
    return std::snprintf(text, size, "%d hosts are %d sites: round trips of at most %s inside, at least %s between them%s%s", m.hosts(),
                         m.sites(), wan::ms_text(times->near_ns()).c_str(), wan::ms_text(times->far_ns()).c_str(), parts, unknown);
}

int wan_discovery_describe_ways(const wan_discovery_t *d, char *text, size_t size)
{
    std::ostringstream s;
    s << std::fixed;
    const int code = wan::guarded([&]() -> int {
        for (const auto &w : d->machine.ways_between()) {
            const auto mbit = [](int64_t bytes_per_s) { return static_cast<double>(bytes_per_s) * 8e-6; };
            s << (s.tellp() > 0 ? "; " : "") << site_name(w.from) << " to " << site_name(w.to) << ' ' << std::setprecision(2) << static_cast<double>(w.what.rtt_ns) / 1e6
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
