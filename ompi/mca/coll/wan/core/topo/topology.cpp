/*
 * See topology.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/topology.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace wan {

namespace {

/** The order of hosts, by each one's lowest rank, and how many levels each shares with the one before it. */
struct host_order {
    std::vector<uint32_t> number;
    std::vector<uint8_t> shared;
};

/**
 * An order of hosts in which those of a switch or rack follow each other, and those of an outer level (first[r] of all ranks:
 * the lowest one of its host).  Levels come in the order of their lowest ranks, so that a site begins with its own.
 * Empty where no host is in any: the order of lowest ranks.
 */
host_order hosts_by_switch(std::span<const place> places, const std::vector<uint32_t> &site, const std::vector<uint32_t> &first)
{
    if (std::all_of(places.begin(), places.end(), [](const place &p) { return p.inside.empty(); }))
        return {};
    using level = std::tuple<size_t, uint32_t, std::string_view>;      // how deep, the lowest rank of what it is in, its name
    std::map<level, uint32_t> lowest;
    std::vector<std::vector<uint32_t>> paths;       // the site, the lowest ranks of a host's levels, its own at the end
    for (uint32_t r = 0; r < places.size(); ++r) {
        if (first[r] != r)
            continue;
        auto &path = paths.emplace_back(1, site[r]);
        for (std::string_view rest = places[r].inside; !rest.empty();) {
            const size_t end = std::min(rest.find_first_of("/:"), rest.size());
            path.push_back(lowest.try_emplace({path.size(), path.back(), rest.substr(0, end)}, r).first->second);
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        path.push_back(r);
    }
    std::sort(paths.begin(), paths.end());
    host_order order{std::vector<uint32_t>(places.size()), std::vector<uint8_t>(paths.size())};
    for (uint32_t k = 0; k < paths.size(); ++k) {
        order.number[paths[k].back()] = k;
        auto apart = paths[k].end() - 1;
        if (k > 0 && paths[k][0] == paths[k - 1][0])
            apart = std::mismatch(paths[k].begin(), paths[k].end(), paths[k - 1].begin(), paths[k - 1].end()).first;
        order.shared[k] = static_cast<uint8_t>(std::min<std::ptrdiff_t>(apart - paths[k].begin() - 1, UINT8_MAX));
    }
    return order;
}

} // namespace

topology::topology(std::span<const place> places) : size_(static_cast<int>(places.size()))
{
    std::unordered_map<std::string_view, uint32_t> site_number;
    std::vector<uint32_t> site(places.size());
    for (size_t r = 0; r < places.size(); ++r) {
        auto [it, fresh] = site_number.try_emplace(places[r].site, static_cast<uint32_t>(site_number.size()));
        if (fresh)
            names_.emplace_back(places[r].site);
        site[r] = it->second;
    }

    // Hosts are numbered by their lowest rank; one host name in two sites is two hosts.
    struct key {
        uint32_t site;
        uint64_t node;
        bool operator==(const key &) const = default;
    };
    struct hash {
        size_t operator()(const key &k) const { return k.node * 0x9e3779b97f4a7c15ull + k.site; }
    };
    std::unordered_map<key, uint32_t, hash> host_first;
    std::vector<uint32_t> first(places.size());
    for (size_t r = 0; r < places.size(); ++r)
        first[r] = host_first.try_emplace(key{site[r], places[r].node}, static_cast<uint32_t>(r)).first->second;

    site_runs_.assign(names_.size(), 0);
    site_stays_.assign(names_.size(), 0);
    std::vector<uint32_t> stays(places.size()), last(names_.size(), UINT32_MAX);     // of a host, by its lowest rank; of a site, where it was
    for (size_t r = 0; r < places.size(); ++r) {
        const uint32_t s = site[r];
        if (r == 0 || s != site[r - 1]) {
            ++runs_;
            most_runs_ = std::max(most_runs_, static_cast<int>(++site_runs_[s]));
        }
        if (last[s] != first[r]) {
            ++site_stays_[s];
            most_stays_ = std::max(most_stays_, static_cast<int>(++stays[first[r]]));
        }
        last[s] = first[r];
    }
    stays = {};

    host_order by_switch = hosts_by_switch(places, site, first);
    shared_levels_ = std::move(by_switch.shared);
    const auto host_number = [&](uint32_t r) { return by_switch.number.empty() ? first[r] : by_switch.number[first[r]]; };

    // Domains of a host likewise; where there is one each, nothing is held for them.
    struct inner_key {
        uint32_t first;
        uint64_t domain;
        bool operator==(const inner_key &) const = default;
    };
    struct inner_hash {
        size_t operator()(const inner_key &k) const { return k.domain * 0x9e3779b97f4a7c15ull + k.first; }
    };
    std::unordered_map<inner_key, uint32_t, inner_hash> domain_first;
    std::vector<uint32_t> inner;
    for (size_t r = 0; r < places.size(); ++r)
        if (places[r].domain != places[first[r]].domain) {
            inner.resize(places.size());
            break;
        }
    for (size_t r = 0; r < inner.size(); ++r)
        inner[r] = domain_first.try_emplace(inner_key{first[r], places[r].domain}, static_cast<uint32_t>(r)).first->second;

    order_.resize(places.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
        if (site[a] != site[b])
            return site[a] < site[b];
        if (first[a] != first[b])
            return host_number(a) < host_number(b);
        if (!inner.empty() && inner[a] != inner[b])
            return inner[a] < inner[b];
        return a < b;
    });

    site_node_.assign(names_.size() + 1, 0);
    uint32_t hosts = 0;
    for (size_t p = 0; p < order_.size(); ++p) {
        if (p == 0 || first[order_[p]] != first[order_[p - 1]]) {
            node_start_.push_back(static_cast<uint32_t>(p));
            ++hosts;
        }
        site_node_[site[order_[p]] + 1] = hosts;
    }
    node_start_.push_back(static_cast<uint32_t>(order_.size()));

    for (uint32_t n = 0; n < hosts; ++n)
        most_lanes_ = std::max(most_lanes_, static_cast<int>(node_start_[n + 1] - node_start_[n]));
    const uint32_t lanes = static_cast<uint32_t>(order_.size()) / hosts;
    bool regular = lanes * hosts == order_.size();
    for (uint32_t n = 0; regular && n < hosts; ++n)
        regular = node_start_[n + 1] - node_start_[n] == lanes;
    if (regular) {
        lanes_ = lanes;
        node_start_ = {};
    }
    node_start_.shrink_to_fit();

    if (std::is_sorted(order_.begin(), order_.end())) {
        order_ = std::vector<uint32_t>();       // `= {}` would keep the memory
    } else {
        position_.resize(order_.size());
        for (uint32_t p = 0; p < order_.size(); ++p)
            position_[order_[p]] = p;
    }
}

topology topology::blocks(std::span<const int> sizes, int lanes)
{
    std::vector<std::string> names;
    for (size_t s = 0; s < sizes.size(); ++s)
        names.push_back("s" + std::to_string(s));
    std::vector<place> places;
    uint64_t node = 0;
    for (size_t s = 0; s < sizes.size(); ++s)
        for (int n = 0; n < sizes[s]; ++n, ++node)
            for (int l = 0; l < lanes; ++l)
                places.push_back({names[s], node});
    return topology(places);
}

int topology::node_count(site_id s) const
{
    return static_cast<int>(site_node_[value(s) + 1] - site_node_[value(s)]);
}

int topology::lane_count(site_id s, int node) const
{
    const uint32_t n = site_node_[value(s)] + static_cast<uint32_t>(node);
    return static_cast<int>(start_of(n + 1) - start_of(n));
}

uint32_t topology::node_of(uint32_t pos) const
{
    if (lanes_)
        return pos / lanes_;
    auto it = std::upper_bound(node_start_.begin(), node_start_.end(), pos);
    return static_cast<uint32_t>(it - node_start_.begin()) - 1;
}

topology::position topology::locate(int rank) const
{
    const uint32_t p = position_.empty() ? static_cast<uint32_t>(rank) : position_[static_cast<size_t>(rank)];
    const uint32_t n = node_of(p);
    auto it = std::upper_bound(site_node_.begin(), site_node_.end(), n);
    const uint32_t s = static_cast<uint32_t>(it - site_node_.begin()) - 1;
    return {site_id{s}, static_cast<int>(n - site_node_[s]), static_cast<int>(p - start_of(n))};
}

int topology::rank_at(site_id s, int node, int lane) const
{
    const uint32_t p = start_of(site_node_[value(s)] + static_cast<uint32_t>(node)) + static_cast<uint32_t>(lane);
    return static_cast<int>(order_.empty() ? p : order_[p]);
}

bool topology::has_levels(site_id s) const
{
    for (int n = 2; n < node_count(s); ++n)
        if (shared_levels(s, n) != shared_levels(s, 1))
            return true;
    return false;
}

int topology::rank_count(site_id s) const
{
    return static_cast<int>(start_of(site_node_[value(s) + 1]) - start_of(site_node_[value(s)]));
}

namespace {

struct fnv {
    uint64_t h = 0xcbf29ce484222325ull;
    void byte(uint8_t b) { h = (h ^ b) * 0x100000001b3ull; }
    void word(uint64_t v)
    {
        for (int i = 0; i < 8; ++i)
            byte(static_cast<uint8_t>(v >> (8 * i)));
    }
};

} // namespace

uint64_t topology::digest() const
{
    fnv f;
    f.word(static_cast<uint64_t>(size_));
    for (const auto &name : names_) {
        for (char c : name)
            f.byte(static_cast<uint8_t>(c));
        f.byte(0);
    }
    for (uint32_t n : site_node_)
        f.word(n);
    f.word(lanes_);
    for (uint32_t n : node_start_)
        f.word(n);
    for (uint32_t r : order_)
        f.word(r);
    for (uint8_t n : shared_levels_)
        f.byte(n);
    return f.h;
}

size_t topology::memory_bytes() const
{
    size_t bytes = sizeof *this + sizeof(uint32_t) * (site_node_.capacity() + node_start_.capacity()
                                                      + site_runs_.capacity() + site_stays_.capacity()
                                                      + order_.capacity() + position_.capacity())
                   + shared_levels_.capacity();
    for (const auto &name : names_)
        bytes += sizeof name + (name.size() > 15 ? name.capacity() : 0);
    return bytes;
}

} // namespace wan
