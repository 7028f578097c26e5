/*
 * What CG and IS share: the generator of the NAS Parallel Benchmarks, timing,
 * the report.  Written from the rules of NPB, not from its sources.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NPB_NPB_HPP
#define NPB_NPB_HPP

#include "clock.hpp"

#include <cstdint>
#include <cstdio>

namespace npb {

/** x <- 5^13 x mod 2^46, exactly; values are x / 2^46. */
class generator {
public:
    explicit generator(uint64_t seed = 314159265) : x_(seed) {}

    double next()
    {
        x_ = x_ * multiplier & mask;
        return static_cast<double>(x_) * 0x1p-46;
    }
    /** As if next() had been called n times. */
    void skip(uint64_t n)
    {
        for (uint64_t a = multiplier; n; n >>= 1, a = a * a & mask)
            if (n & 1)
                x_ = x_ * a & mask;
    }

private:
    static constexpr uint64_t multiplier = 1220703125, mask = (uint64_t(1) << 46) - 1;
    uint64_t x_;
};

struct report {
    const char *name;
    const char *on;             // MPI, MTTL
    char size;                  // S, W, A, B, C
    uint64_t elements;
    int iterations, processes;
    double time_s, mops;
    bool verified;
    uint64_t messages;          // sent by process 0 in the timed part
    uint64_t looks, waits;      // of process 0 there: probes and tests; waits
};

inline void print(const report &r)
{
    std::printf("\n\n %s Benchmark Completed on %s\n"
                " Class           = %24c\n"
                " Size            = %24llu\n"
                " Iterations      = %24d\n"
                " Time in seconds = %24.4f\n"
                " Total processes = %24d\n"
                " Mop/s total     = %24.2f\n"
                " Mop/s/process   = %24.2f\n"
                " Verification    = %24s\n"
                " Messages sent   = %24llu\n"
                " Probes, tests   = %24llu\n"
                " Waits           = %24llu\n",
                r.name, r.on, r.size, static_cast<unsigned long long>(r.elements), r.iterations, r.time_s, r.processes, r.mops,
                r.mops / r.processes, r.verified ? "SUCCESSFUL" : "UNSUCCESSFUL", static_cast<unsigned long long>(r.messages),
                static_cast<unsigned long long>(r.looks), static_cast<unsigned long long>(r.waits));
}

} // namespace npb

#endif
