/*
 * See contradictions.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/contradictions.hpp"

#include "algo/sites.hpp"
#include "measure/site_finder.hpp"
#include "model/widths.hpp"
#include "ms_text.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace wan {

namespace {

/** Latencies are off by half of the lesser and by more than hosts take to look; rates, measured by few bytes, by twice. */
constexpr int64_t least_apart_ns = 250'000;
/** One way: below that nobody's sites are apart (discovery.hpp: 0.5 ms there and back). */
constexpr int64_t never_far_ns = 250'000;
/** And that is a few switches: racks, whatever hosts of a rack take. */
constexpr int64_t surely_near_ns = 50'000;
/** One way: above that nobody's hosts are in one site. */
constexpr int64_t never_near_ns = site_finder::most_near_ns / 2;
/** Of sites that may be meant, so many by name. */
constexpr int most_names = 3;

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

/** Two hosts of each site are measured, and the longest of these ways is known: of which site it is may be open. */
std::string wide_text(const topology &t, int64_t ns)
{
    std::vector<std::string> names;
    for (int a = 0; a < t.site_count(); ++a)
        if (const site_id at{static_cast<uint32_t>(a)}; t.node_count(at) > 1)
            names.push_back(t.site_name(at));
    std::string which;
    for (size_t i = 0; i < names.size() && i < most_names; ++i)
        which += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
    if (names.size() > most_names)
        which += " or one of " + std::to_string(names.size() - most_names) + " more";
    return "hosts that are given as one site, " + which + ", are " + ms_text(ns) + " apart, and no site is wider than " + ms_text(never_near_ns);
}

/**
 * What hosts of two sites got from each other is the least that lies between them.  It is the most, too, where more of them got
 * no more: of what a few did not fill nobody knows how much more it carries.
 */
std::vector<found> compare_widths(const topology &t, const link_hints &given, const fact_vector &measured)
{
    std::vector<found> out;
    std::vector<double> most(static_cast<size_t>(t.site_count()));     // that a site's hosts got to or from another's
    const auto add = [&](double times, const std::string &what, int64_t said, double rate) {
        if (times > 2)
            out.push_back({times, what + ": " + mbit_text(static_cast<double>(said)) + " given, " + mbit_text(rate) + " measured"});
    };
    for (int a = 0; a < t.site_count(); ++a)
        for (int b = a + 1; b < t.site_count(); ++b) {
            const width_bounds got = widths::bounds(t, measured, a, b);
            if (got.least_bytes_per_s <= 0)
                continue;
            const auto rate = static_cast<double>(got.least_bytes_per_s);
            const std::string &from = t.site_name(site_id{static_cast<uint32_t>(a)}), &to = t.site_name(site_id{static_cast<uint32_t>(b)});
            const link_hint *h = given.link(from, to);
            int64_t narrowest = h ? h->bandwidth_bytes_per_s : 0;
            for (int site : {a, b})
                most[static_cast<size_t>(site)] = std::max(most[static_cast<size_t>(site)], rate);
            if (narrowest <= 0)
                continue;
            add(rate / static_cast<double>(narrowest), "between " + from + " and " + to, h->bandwidth_bytes_per_s, rate);
            for (const std::string *site : {&from, &to})
                if (const int64_t uplink = given.uplink_bytes_per_s(*site); uplink > 0)
                    narrowest = std::min(narrowest, uplink);        // and that is what was full
            if (got.filled)
                add(static_cast<double>(narrowest) / rate, "between " + from + " and " + to, h->bandwidth_bytes_per_s, rate);
        }
    for (int a = 0; a < t.site_count(); ++a) {
        const std::string &name = t.site_name(site_id{static_cast<uint32_t>(a)});
        const double rate = most[static_cast<size_t>(a)];
        if (const int64_t said = given.uplink_bytes_per_s(name); said > 0)
            add(rate / static_cast<double>(said), "the uplink of " + name, said, rate);
    }
    return out;
}

} // namespace

std::string contradictions::text(size_t most) const
{
    std::string s;
    size_t left = links.size() + widths.size() + wide.size() + near.size();
    for (const auto *of : {&links, &widths, &wide, &near})
        for (const std::string &clause : *of) {
            const std::string more = "; and " + std::to_string(left) + " more";
            if (s.size() + clause.size() + 2 + more.size() > most)
                return s + more;
            s += (s.empty() ? "" : "; ") + clause;
            --left;
        }
    return s;
}

std::string contradictions::remedy() const
{
    std::string s;
    const auto add = [&](bool some, const char *what) {
        if (some)
            s += (s.empty() ? "" : "; ") + std::string(what);
    };
    add(!links.empty() || !widths.empty(), "correct the map or the names of the sites, or leave out what can be measured: what was given counts until then");
    add(!wide.empty(), "coll/wan takes all ways inside a site for short ones: name hosts so far apart as different sites, or none at all, and sites are "
                       "measured (more processes than processors can make hosts seem far apart)");
    add(!near.empty(), "coll/wan treats the way between sites as a slow one, which few messages cross: where they are "
                       "racks or halls of one site, name them SITE:RACK; where they are meant as sites, nothing has to be done");
    return s;
}

contradictions contradictions_of(const topology &t, const link_hints &given, const fact_vector &measured, bool pretended)
{
    const facts f = facts_from(t, measured);
    const bool rate_known = measured[fact::byte_ps] > 0, inside_known = measured[fact::inside_ns] > 0 && widest_site(t) > 1;
    std::vector<found> links, widths = compare_widths(t, given, measured);
    contradictions c;
    if (inside_known && f.lan_ns > never_near_ns && !pretended)
        c.wide.push_back(wide_text(t, f.lan_ns));
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
            const link_hint *h = given.link(name, t.site_name(to));
            const size_t pair = static_cast<size_t>(a) * static_cast<size_t>(f.sites) + static_cast<size_t>(b);
            const int64_t ns = pair < f.pair_ns.size() ? f.pair_ns[pair] : 0;
            if (ns <= 0)
                continue;
            const std::string both = name + " and " + t.site_name(to);
            const int64_t said = h ? h->latency_ns : 0;
            if (const int64_t most = std::max(said, ns), least = std::min(said, ns); said > 0 && 2 * most > 3 * least && most - least > least_apart_ns)
                links.push_back({static_cast<double>(most) / static_cast<double>(least),
                                 "between " + both + ": " + ms_text(said) + " one way given, " + ms_text(ns) + " measured"});
            // Who tells a link means two sites.
            if (!h && inside_known && ns < never_far_ns && ns < 2 * std::min(f.lan_ns, surely_near_ns))     // (processors may be busy)
                c.near.push_back(both + " are given as two sites, and are " + ms_text(ns) + " apart, hosts of a site " + ms_text(f.lan_ns));
            else if (ns < surely_near_ns && !h && !pretended)
                c.near.push_back(both + " are given as two sites, and are " + ms_text(ns) + " apart");
        }
    }
    for (auto [of, to] : {std::pair{&links, &c.links}, {&widths, &c.widths}}) {
        std::stable_sort(of->begin(), of->end(), [](const found &x, const found &y) { return x.times > y.times; });
        for (found &x : *of)
            to->push_back(std::move(x.text));
    }
    return c;
}

} // namespace wan
