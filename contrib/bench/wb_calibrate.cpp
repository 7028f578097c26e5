// See wb_calibrate.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "wb_calibrate.hpp"

#include <algorithm>
#include <map>

namespace wb {

namespace {

constexpr int clock_pings = 10;
constexpr int latency_pings = 10;
constexpr int survey_pings = 3;
constexpr std::int64_t chunk_bytes = 32 * 1024;     // below btl/tcp's eager limit
constexpr double shortest_flow_ns = 0.3e9;          // longer flows on faster networks

// Half of the shortest round trip of 4 bytes.
double one_way_ns(const world &w, int to, int pings) {
    std::int32_t token = 0;
    command_send(w, to, {verb::ping, {pings}});
    ns_t best = 0;
    for (int i = 0; i < pings; ++i) {
        const ns_t start = local_now_ns();
        MPI_Send(&token, sizeof token, MPI_BYTE, to, tag_ping, w.control);
        MPI_Recv(&token, sizeof token, MPI_BYTE, to, tag_ping, w.control, MPI_STATUS_IGNORE);
        const ns_t trip = local_now_ns() - start;
        best = i == 0 ? trip : std::min(best, trip);
    }
    return static_cast<double>(best) / 2;
}

double flow_once(const world &w, int to, std::int64_t chunks) {
    std::vector<std::byte> chunk(static_cast<std::size_t>(chunk_bytes));
    std::vector<std::int64_t> arrivals(static_cast<std::size_t>(chunks));
    command_send(w, to, {verb::flow, {chunks}});
    for (std::int64_t i = 0; i < chunks; ++i)
        MPI_Send(chunk.data(), chunk_bytes, MPI_BYTE, to, tag_flow, w.control);
    MPI_Recv(arrivals.data(), static_cast<int>(chunks), MPI_INT64_T, to, tag_report, w.control,
             MPI_STATUS_IGNORE);
    const auto from = static_cast<std::size_t>(chunks / 4);
    const auto duration = static_cast<double>(arrivals.back() - arrivals[from]);
    const auto bytes = static_cast<double>((chunks - 1 - static_cast<std::int64_t>(from)) *
                                           chunk_bytes);
    return bytes / std::max(duration, 1.0);
}

// The second repetition counts: the first opens connections and windows.
double flow_bytes_per_ns(const world &w, int to, std::int64_t bytes) {
    std::int64_t chunks = std::max<std::int64_t>(bytes / chunk_bytes, 16);
    const double first = flow_once(w, to, chunks);
    const double expected_ns = static_cast<double>(chunks * chunk_bytes) / first;
    if (expected_ns < shortest_flow_ns)
        chunks = std::min<std::int64_t>(
            static_cast<std::int64_t>(static_cast<double>(chunks) * shortest_flow_ns / expected_ns),
            1 << 14);
    return flow_once(w, to, chunks);
}

// Without names: whoever is farther than half of the farthest is elsewhere.
std::vector<std::string> sites_by_latency(const world &w) {
    std::vector<double> latency(static_cast<std::size_t>(w.size), 0);
    for (int r = 1; r < w.size; ++r)
        latency[static_cast<std::size_t>(r)] = one_way_ns(w, r, survey_pings);
    const double farthest = *std::max_element(latency.begin(), latency.end());
    std::vector<std::string> names;
    for (double l : latency)
        names.push_back(farthest > 1e6 && l > farthest / 2 ? "far" : "near");
    return names;
}

void offset_find(world &w, int to, command &answer) {
    std::int64_t stamp = 0;
    ns_t best = 0;
    command_send(w, to, {verb::clock, {clock_pings}});
    for (int i = 0; i < clock_pings; ++i) {
        const ns_t start = local_now_ns();
        MPI_Send(&stamp, 1, MPI_INT64_T, to, tag_ping, w.control);
        MPI_Recv(&stamp, 1, MPI_INT64_T, to, tag_ping, w.control, MPI_STATUS_IGNORE);
        const ns_t end = local_now_ns();
        if (i == 0 || end - start < best) {
            best = end - start;
            answer = {verb::offset, {start + best / 2 - stamp, best / 2}};
        }
    }
}

}  // namespace

double facts::bandwidth_bytes_per_ns() const {
    return std::max(near_bytes_per_ns, far_bytes_per_ns);
}

double bound_ns(const facts &f, bound_kind kind, std::int64_t bytes, int root) {
    const auto p = static_cast<double>(f.site_of.size());
    const double L = f.latency_ns, B = std::max(f.bandwidth_bytes_per_ns(), 1e-12);
    const auto m = static_cast<double>(bytes);
    if (p < 2)
        return 0;
    switch (kind) {
    case bound_kind::nothing: return 0;
    case bound_kind::latency: return L;
    case bound_kind::one_way: return L + m / B;
    case bound_kind::both_ways: return std::max(2 * (p - 1) / p * m / B, L + m / B);
    case bound_kind::neighbors: return std::max(4 * m / B, L + m / B);
    case bound_kind::blocks: break;
    }
    const int here = root >= 0 ? f.site_ranks[static_cast<std::size_t>(
                                     f.site_of[static_cast<std::size_t>(root)])]
                               : *std::min_element(f.site_ranks.begin(), f.site_ranks.end());
    return std::max((p - 1) * m / B, L + (p - here) * m / B);
}

ns_t clocks_map(world &w, const std::vector<std::string> &boot_ids, bool force) {
    std::map<std::string, command> known;       // ranks of one kernel share an offset
    ns_t worst = 0;
    for (int r = 1; r < w.size; ++r) {
        const std::string &id = boot_ids[static_cast<std::size_t>(r)];
        if (!force && !id.empty() && id == boot_ids[0])
            continue;
        const std::string key = force || id.empty() ? std::to_string(r) : id;
        auto found = known.find(key);
        if (found == known.end()) {
            command answer;
            offset_find(w, r, answer);
            found = known.emplace(key, answer).first;
            worst = std::max(worst, ns_t{answer.a[1]});
        }
        command_send(w, r, found->second);
    }
    return worst;
}

facts network_calibrate(world &w, const std::vector<std::string> &site_names,
                        std::int64_t flow_bytes) {
    facts f;
    const bool named = std::none_of(site_names.begin(), site_names.end(),
                                    [](const std::string &s) { return s.empty(); });
    const auto names = named ? site_names : sites_by_latency(w);
    f.sites_from = named ? "names" : "latency";
    std::map<std::string, int> numbers;
    std::vector<int> first_rank;
    for (int r = 0; r < w.size; ++r) {
        const auto [at, fresh] = numbers.emplace(names[static_cast<std::size_t>(r)],
                                                 static_cast<int>(numbers.size()));
        if (fresh) {
            f.site_ranks.push_back(0);
            first_rank.push_back(r);
        }
        f.site_of.push_back(at->second);
        ++f.site_ranks[static_cast<std::size_t>(at->second)];
        if (r > 0 && at->second == 0 && f.near_rank < 0)
            f.near_rank = r;
    }
    for (std::size_t s = 1; s < first_rank.size(); ++s) {
        const double l = one_way_ns(w, first_rank[s], latency_pings);
        if (l > f.latency_ns) {
            f.latency_ns = l;
            f.far_rank = first_rank[s];
        }
    }
    if (f.near_rank > 0) {
        if (f.far_rank < 0)
            f.latency_ns = one_way_ns(w, f.near_rank, latency_pings);
        f.near_bytes_per_ns = flow_bytes_per_ns(w, f.near_rank, flow_bytes);
    }
    if (f.far_rank > 0)
        f.far_bytes_per_ns = flow_bytes_per_ns(w, f.far_rank, flow_bytes);
    return f;
}

bool calibration_answer(world &w, const command &c) {
    std::int64_t stamp = 0;
    switch (c.what) {
    case verb::clock:
        for (std::int64_t i = 0; i < c.a[0]; ++i) {
            MPI_Recv(&stamp, 1, MPI_INT64_T, 0, tag_ping, w.control, MPI_STATUS_IGNORE);
            stamp = local_now_ns();
            MPI_Send(&stamp, 1, MPI_INT64_T, 0, tag_ping, w.control);
        }
        return true;
    case verb::offset:
        w.clock = {c.a[0], c.a[1]};
        return true;
    case verb::ping:
        for (std::int64_t i = 0; i < c.a[0]; ++i) {
            std::int32_t token = 0;
            MPI_Recv(&token, sizeof token, MPI_BYTE, 0, tag_ping, w.control, MPI_STATUS_IGNORE);
            MPI_Send(&token, sizeof token, MPI_BYTE, 0, tag_ping, w.control);
        }
        return true;
    case verb::flow: {
        std::vector<std::byte> chunk(static_cast<std::size_t>(chunk_bytes));
        std::vector<std::int64_t> arrivals;
        for (std::int64_t i = 0; i < c.a[0]; ++i) {
            MPI_Recv(chunk.data(), chunk_bytes, MPI_BYTE, 0, tag_flow, w.control,
                     MPI_STATUS_IGNORE);
            arrivals.push_back(local_now_ns());
        }
        MPI_Send(arrivals.data(), static_cast<int>(arrivals.size()), MPI_INT64_T, 0, tag_report,
                 w.control);
        return true;
    }
    default: return false;
    }
}

}  // namespace wb
