/*
 * Walkers on a table that is spread over all processes: an entry says where
 * the next one is, so a walker knows its next step only when it has read the
 * last one.  All that such a program waits for is latency.  Here: the table,
 * what the walkers must find, the report.  It must not communicate.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CHASE_HPP
#define CHASE_HPP

#include "../npb/clock.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace chase {

struct entry {
    uint64_t next, value;
};

/** The arguments [WALKERS [STEPS]]: of each process, and of each walker. */
struct plan {
    int walkers = 32, steps = 20;

    plan(int argc, char **argv)
    {
        const auto take = [&](int i, int &to) {
            if (argc > i)
                to = std::atoi(argv[i]);
            if (to < 1)
                throw std::runtime_error("usage: chase one|threads|by_hand [WALKERS [STEPS]]");
        };
        take(2, walkers), take(3, steps);
    }
};

inline constexpr uint64_t entries_each = 4096;      // on each process

/** Steele, Lea, Flood: SplitMix64's finalizer. */
inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}
inline entry entry_at(uint64_t i, int np) { return {mix(i) % (entries_each * static_cast<uint64_t>(np)), mix(~i) >> 8}; }
inline std::vector<entry> part_of(int me, int np)
{
    std::vector<entry> part;
    for (uint64_t i = 0; i < entries_each; ++i)
        part.push_back(entry_at(entries_each * static_cast<uint64_t>(me) + i, np));
    return part;
}
inline int owner(uint64_t i) { return static_cast<int>(i / entries_each); }
inline uint64_t start_of(int walker, int me, int np)
{
    return mix(static_cast<uint64_t>(me) << 32 | static_cast<uint64_t>(walker)) % (entries_each * static_cast<uint64_t>(np));
}

/** The sum of all values on the ways of all walkers of a process. */
inline uint64_t expected(const plan &p, int me, int np)
{
    uint64_t sum = 0;
    for (int w = 0; w < p.walkers; ++w) {
        uint64_t at = start_of(w, me, np);
        for (int s = 0; s < p.steps; ++s) {
            const entry e = entry_at(at, np);
            sum += e.value;
            at = e.next;
        }
    }
    return sum;
}

/** Says what bench/sites reads. */
inline void print(const char *how, const plan &p, int np, double time_s, bool good)
{
    std::printf("chase %s: %d walkers of %d steps on each of %d processes\n"
                " Time in seconds = %24.4f\n"
                " Verification    = %24s\n",
                how, p.walkers, p.steps, np, time_s, good ? "SUCCESSFUL" : "UNSUCCESSFUL");
}

} // namespace chase

#endif
