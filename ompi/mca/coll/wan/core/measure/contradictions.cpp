/*
 * See contradictions.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/contradictions.hpp"

#include <algorithm>
#include <cstdio>

namespace wan {

namespace {

/** Latencies are off by half of the lesser and by more than hosts take to look; rates, measured by few bytes, by twice. */
constexpr int64_t least_apart_ns = 250'000;
/** One way: below that nobody's sites are apart (discovery.hpp: 0.5 ms there and back). */
constexpr int64_t never_far_ns = 250'000;
/** And that is a few switches: racks, whatever hosts of a rack take. */
constexpr int64_t surely_near_ns = 50'000;

std::string ms_text(int64_t ns)
{
    char text[40];
    std::snprintf(text, sizeof text, ns < 10'000 ? "%.4f ms" : "%.2f ms", static_cast<double>(ns) / 1e6);
    return text;
}

std::string mbit_text(double bytes_per_s)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.1f Mb/s", bytes_per_s * 8e-6);
    return text;
}

struct found {
    double times;
    std::string text;
};

} // namespace

std::string contradictions::text(size_t most) const
{
    std::string s;
    size_t left = links.size() + sites.size();
    for (const auto *of : {&links, &sites})
        for (const std::string &clause : *of) {
            const std::string more = "; and " + std::to_string(left) + " more";
            if (s.size() + clause.size() + 2 + more.size() > most)
                return s + more;
            s += (s.empty() ? "" : "; ") + clause;
            --left;
        }
    return s;
}

contradictions contradictions_of(const topology &t, const link_hints &given, const fact_vector &measured, bool pretended)
{
    const facts f = facts_from(t, measured);
    const bool rate_known = measured[fact::byte_ps] > 0, inside_known = measured[fact::inside_ns] > 0;
    std::vector<found> links;
    contradictions c;
    for (int a = 0; a < t.site_count(); ++a) {
        const site_id at{static_cast<uint32_t>(a)};
        const std::string &name = t.site_name(at);
        const int64_t nic = given.nic_bytes_per_s(name);
        // What a lone host of a site sends may be as slow as the way.
        if (const double rate = 1e12 / static_cast<double>(f.byte_ps); nic > 0 && rate_known && t.node_count(at) > 1) {
            // One rate is measured, the slowest: it says nothing of interfaces that are given as faster than another's.
            const double times = static_cast<double>(nic) / rate;
            bool slowest = true;
            for (int b = 0; b < t.site_count(); ++b)
                if (const int64_t other = given.nic_bytes_per_s(t.site_name(site_id{static_cast<uint32_t>(b)})); other == 0 || other < nic)
                    slowest = false;
            if (slowest && (times > 2 || times < 0.5))
                links.push_back({std::max(times, 1 / times),
                                 "the interfaces of " + name + ": " + mbit_text(static_cast<double>(nic)) + " given, " + mbit_text(rate) + " measured"});
        }
        for (int b = a + 1; b < t.site_count(); ++b) {
            const site_id to{static_cast<uint32_t>(b)};
            const size_t pair = static_cast<size_t>(a) * static_cast<size_t>(f.sites) + static_cast<size_t>(b);
            const int64_t ns = pair < f.pair_ns.size() ? f.pair_ns[pair] : 0;
            if (ns <= 0)
                continue;
            const std::string both = name + " and " + t.site_name(to);
            const link_hint *h = given.link(name, t.site_name(to));
            const int64_t said = h ? h->latency_ns : 0;
            if (const int64_t most = std::max(said, ns), least = std::min(said, ns); said > 0 && 2 * most > 3 * least && most - least > least_apart_ns)
                links.push_back({static_cast<double>(most) / static_cast<double>(least),
                                 "between " + both + ": " + ms_text(said) + " one way given, " + ms_text(ns) + " measured"});
            if (inside_known && ns < never_far_ns && ns < 2 * f.lan_ns)
                c.sites.push_back(both + " are given as two sites, and are " + ms_text(ns) + " apart, hosts of a site " + ms_text(f.lan_ns));
            else if (ns < surely_near_ns && !h && !pretended)
                c.sites.push_back(both + " are given as two sites, and are " + ms_text(ns) + " apart");
        }
    }
    std::stable_sort(links.begin(), links.end(), [](const found &x, const found &y) { return x.times > y.times; });
    for (found &f : links)
        c.links.push_back(std::move(f.text));
    return c;
}

} // namespace wan
