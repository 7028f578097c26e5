/*
 * The test matrix, derived from the registry: every algorithm on many shapes
 * of sites, placements, roots, counts, links and segmentations, through the
 * verifier and the in-memory port.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_ALGO_MATRIX_HPP
#define TEST_ALGO_MATRIX_HPP

#include "algo/registry.hpp"
#include "algo/sites.hpp"
#include "sched/verifier.hpp"

#include <random>
#include <sstream>
#include <string>

namespace wan_test {

using namespace wan;

enum class placement { block, roundrobin, shuffled };

/** Ranks of `sizes` sites laid out; `lanes` ranks share a host (the last host of a site may have fewer). */
inline topology lay_out(const std::vector<int> &sizes, placement how, int lanes, uint64_t seed)
{
    static const char *names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    std::vector<place> by_site;
    std::vector<std::vector<place>> sites(sizes.size());
    for (size_t s = 0; s < sizes.size(); ++s)
        for (int i = 0; i < sizes[s]; ++i)
            sites[s].push_back({names[s % 10], 1000 * s + static_cast<uint64_t>(i / lanes)});
    std::vector<place> order;
    if (how == placement::roundrobin) {
        for (size_t i = 0; order.size() < static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), 0)); ++i)
            for (auto &s : sites)
                if (i < s.size())
                    order.push_back(s[i]);
    } else {
        for (auto &s : sites)
            order.insert(order.end(), s.begin(), s.end());
        if (how == placement::shuffled) {
            std::mt19937_64 random(seed);
            std::shuffle(order.begin(), order.end(), random);
        }
    }
    return topology(order);
}

struct trial {
    topology topo;
    plan p;
    verify_options o;
    std::string text;
};

/** "" or what is wrong; checks the limit n and that plans without waste cross once. */
inline std::string try_one(const trial &x, wan_traffic *out = nullptr)
{
    std::vector<std::shared_ptr<const program>> programs;
    for (int r = 0; r < x.topo.size(); ++r)
        programs.push_back(std::make_shared<program>(build_schedule(x.topo, x.p, r)));
    wan_traffic traffic;
    std::string why = verify(x.topo, programs, x.o, &traffic);
    if (why.empty())
        for (int a = 0; a < x.topo.site_count(); ++a)
            for (int b = 0; b < x.topo.site_count(); ++b)
                if (const auto n = traffic.at(site_at(a), site_at(b)).senders.size(); n > x.p.algo->senders(x.topo, x.p))
                    why = std::to_string(n) + " processes of site " + std::to_string(a) + " sent to site "
                          + std::to_string(b) + ", declared " + std::to_string(x.p.algo->senders(x.topo, x.p));
    if (out)
        *out = traffic;
    return why.empty() ? "" : x.text + ": " + why;
}

inline std::string describe(const algorithm &a, const topology &t, const std::vector<int> &sizes, placement how,
                            const plan &p, const verify_options &o)
{
    std::ostringstream s;
    s << wan_collective_name(a.collective) << '/' << a.name << " sites";
    for (int n : sizes)
        s << ' ' << n;
    s << " ranks " << t.size() << " placement " << static_cast<int>(how) << " root " << p.root << " links " << p.links
      << " lambda " << p.lambda << " entries " << p.entries << " order " << static_cast<int>(p.order) << " count "
      << o.count << " segment " << o.segment << " window " << o.window << " in_place " << o.in_place << " seed " << o.seed;
    return s.str();
}

} // namespace wan_test

#endif
