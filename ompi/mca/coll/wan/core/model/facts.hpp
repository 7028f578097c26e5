/*
 * What is known about the links, in integers: every rank holds the same facts
 * (they are distributed when a communicator is agreed on) and computes with
 * them exactly, so every rank derives the same plan.  Never an N x N table:
 * sites, not ranks.  Next: plan/planner.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MODEL_FACTS_HPP
#define WAN_MODEL_FACTS_HPP

#include "topo/topology.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace wan {

/** What connections between sites have done before a call: what is usual in a job, all have just carried something, all have rested, none is there yet. */
enum class connections { usual, warm, rested, closed };

/** 100 s, 8 kb/s: beyond, predictions of calls of a few GB do not fit their integers. */
inline constexpr int64_t most_fact_ns = 100'000'000'000, most_fact_byte_ps = 1'000'000'000;

struct facts {
    int64_t lan_ns = 50'000;        // one way, a small message inside a site: between its farthest hosts, as far as levels are known
    int64_t message_ns = 5'000;     // what a process spends on a message, others idle
    int64_t step_ns = 55'000;       // a step in which all hosts of a site exchange messages and wait for them
    int64_t byte_ps = 8'000;        // picoseconds a byte through one host's interface (8000: 1 Gb/s)
    int64_t burst_bytes = 0;        // that an interface lets pass at once after a pause
    int64_t wan_ns = 10'000'000;    // one way between sites where no pair is known
    int64_t eager_bytes = 64 << 10; // of what is sent to another host at once, with Open MPI's header (btl/tcp's default)
    int64_t copy_ps = 30;           // picoseconds that copying a byte takes a processor, and combining two; lab: 8 to 34 each
    int64_t reduce_ps = 30;
    bool assumed = false;           // not measured yet
    connections between_sites = connections::usual;
    int sites = 0;
    static constexpr int levels = 4;                    // told apart: hosts that share no level of their site, one, two, more
    std::array<int64_t, levels> level_ns{};             // one way between such hosts; 0: not known
    int64_t level_byte_ps = 0;      // a byte through one connection between hosts that share the fewest; 0: not known
    std::vector<int64_t> next_ns;   // one way from a host to the next in a site's order, the mean, by site; empty: no levels are known
    std::vector<int64_t> pair_ns;   // one way by site pair [a * sites + b], 0: unknown; may be empty
    // A byte through what all hosts of a site share: on the way to all others, by site; to one of them, by pair; the same.
    std::vector<int64_t> uplink_ps, link_ps;
    std::vector<int64_t> flow_ps;   // and through one connection, where the hosts of two sites get more than one and a half times as much together; by pair

    /** Of a pair, 0: nothing is known. */
    int64_t pair(const std::vector<int64_t> &of, int a, int b) const
    {
        const size_t i = static_cast<size_t>(a) * static_cast<size_t>(sites) + static_cast<size_t>(b);
        return i < of.size() ? of[i] : 0;
    }
    /** Both ways of it. */
    void set_pair(std::vector<int64_t> &of, int a, int b, int64_t x) const
    {
        const auto n = static_cast<size_t>(sites);
        of.resize(n * n);
        of[static_cast<size_t>(a) * n + static_cast<size_t>(b)] = of[static_cast<size_t>(b) * n + static_cast<size_t>(a)] = x;
    }

    int64_t latency_ns(site_id a, site_id b) const
    {
        if (a == b)
            return lan_ns;
        const size_t i = value(a) * static_cast<size_t>(sites) + value(b);
        return i < pair_ns.size() && pair_ns[i] > 0 ? pair_ns[i] : wan_ns;
    }
    /** From a host of a site to the next in its order, in the mean: as chains go, of whose hops few leave a rack. */
    int64_t next_host_ns(site_id s) const { return next_ns.empty() ? lan_ns : next_ns[value(s)]; }
    /** In the site where it is longest. */
    int64_t next_host_ns() const { return next_ns.empty() ? lan_ns : *std::max_element(next_ns.begin(), next_ns.end()); }
    std::vector<int64_t> far_ns;    // by site, to the farthest other, then the most of them: settle() fills it in, else empty

    /** From one site to the farthest other. */
    int64_t farthest_ns(site_id from) const
    {
        if (!far_ns.empty())
            return far_ns[value(from)];
        if (pair_ns.empty())
            return sites > 1 ? std::max<int64_t>(0, wan_ns) : 0;
        int64_t worst = 0;
        for (int t = 0; t < sites; ++t)
            if (site_id{static_cast<uint32_t>(t)} != from)
                worst = std::max(worst, latency_ns(from, site_id{static_cast<uint32_t>(t)}));
        return worst;
    }
    /** Between the two sites that are farthest apart. */
    int64_t widest_ns() const
    {
        if (!far_ns.empty())
            return far_ns.back();
        if (pair_ns.empty())
            return farthest_ns({});
        int64_t worst = 0;
        for (int s = 0; s < sites; ++s)
            worst = std::max(worst, farthest_ns(site_id{static_cast<uint32_t>(s)}));
        return worst;
    }
    /** Looks at all pairs once, where each of a thousand candidates would ask: after the last change of the above. */
    void settle()
    {
        far_ns.clear();
        std::vector<int64_t> all;
        for (int s = 0; s < sites; ++s)
            all.push_back(farthest_ns(site_id{static_cast<uint32_t>(s)}));
        all.push_back(all.empty() ? 0 : *std::max_element(all.begin(), all.end()));
        far_ns = std::move(all);
    }
    /**
     * What a message takes of a processor while all hosts of a site are busy.  Where ranks share processors, a step takes
     * longer than its message, most of which is work (lab, 2 x 16 hosts on 2 processors: 100 us one way, 430 us a step, 215 us
     * for each of a step's two messages); where they do not, it is the same, and all of that may be under way at once.  Of
     * what others idle answer, half is done while answers are on their way.
     */
    int64_t handling_ns() const { return std::max(2 * message_ns, 2 * (step_ns - lan_ns) / 3); }
    /** One way inside a site for a message that finds the interfaces idle: a rate limit's burst is free. */
    int64_t lone_ns(uint64_t bytes) const
    {
        const uint64_t free = static_cast<uint64_t>(burst_bytes);
        return lan_ns + (bytes > free ? wire_ns(bytes - free) : 0);
    }
    /** Time of `bytes` through one interface. */
    int64_t wire_ns(uint64_t bytes) const
    {
        return static_cast<int64_t>(static_cast<__int128>(bytes) * byte_ps / 1000);
    }
};

/**
 * Whether what was measured of links differs by more than noise: by half of the lesser; between levels of a site, too, by more
 * than a processor may take.  What b knows of levels and a does not differs.
 */
inline bool differ(const facts &a, const facts &b)
{
    const auto apart = [](int64_t x, int64_t y) { return 2 * std::max(x, y) > 3 * std::min(x, y); };
    if (apart(a.widest_ns(), b.widest_ns()) || apart(a.byte_ps, b.byte_ps) || a.pair_ns.size() != b.pair_ns.size())
        return true;
    for (size_t i = 0; i < a.pair_ns.size(); ++i)
        if (a.pair_ns[i] > 0 && apart(a.pair_ns[i], b.pair_ns[i]))
            return true;
    for (size_t i = 0; i < a.level_ns.size(); ++i)
        if (const auto [less, more] = std::minmax(a.level_ns[i], b.level_ns[i]);
            less > 0 ? apart(less, more) && more - less > std::max(a.handling_ns(), b.handling_ns()) : b.level_ns[i] > 0)
            return true;
    return a.level_byte_ps > 0 && b.level_byte_ps > 0 && apart(a.level_byte_ps, b.level_byte_ps);
}

} // namespace wan

#endif
