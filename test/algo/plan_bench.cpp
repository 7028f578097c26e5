/*
 * How long planning and building take: microseconds at 32 ranks (aim: 100 us)
 * and milliseconds at 100,000 ranks in 64 sites (aim: 10 ms), for the ranks
 * that have the most to do.  Prints median and spread; asserts nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "exec/engine.hpp"
#include "plan/planner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace wan;

double quantile(std::vector<double> &v, double q)
{
    std::sort(v.begin(), v.end());
    return v[static_cast<size_t>(q * static_cast<double>(v.size() - 1))];
}

double now_us()
{
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void measure(const char *shape, const topology &t, wan_collective_t c, uint64_t bytes, int root, int me, int repeats, double unit, const char *unit_name)
{
    facts f;
    f.sites = t.site_count();
    const request r{.collective = c, .root = root, .bytes = bytes, .element_bytes = 4, .commutative = true};
    std::vector<double> choosing, building;
    std::string what;
    size_t ops = 0;
    for (int i = 0; i < repeats; ++i) {
        const double a = now_us();
        const auto p = choose(t, f, {}, r);
        const double b = now_us();
        const program code(build_schedule(t, *p, me));
        const double d = now_us();
        choosing.push_back((b - a) / unit);
        building.push_back((d - b) / unit);
        what = p->algo->name;
        ops = code.size();
    }
    std::printf("%-22s %-9s %9llu B rank %6d %-13s %5zu ops  choose %8.2f (%.2f-%.2f)  build %8.2f (%.2f-%.2f) %s\n", shape,
                wan_collective_name(c), static_cast<unsigned long long>(bytes), me, what.c_str(), ops, quantile(choosing, 0.5),
                quantile(choosing, 0.05), quantile(choosing, 0.95), quantile(building, 0.5), quantile(building, 0.05),
                quantile(building, 0.95), unit_name);
}

void measure_all(const char *shape, const topology &t, int repeats, double unit, const char *unit_name)
{
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE})
        for (uint64_t bytes : {uint64_t{4}, uint64_t{65536}, uint64_t{16} << 20})
            for (int me : {0, 1, t.size() / 2, t.size() - 1})
                measure(shape, t, c, bytes, 0, me, repeats, unit, unit_name);
}

} // namespace

int main(int argc, char **argv)
{
    const int scale = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
    std::printf("median (5%%-95%%)\n");
    const std::vector<int> two(2, 16), many(64, 1563), dense(64, 25), eight(8, 4);
    measure_all("2x16", topology::blocks(two), 500 * scale, 1, "us");
    measure_all("8x4", topology::blocks(eight), 500 * scale, 1, "us");
    measure_all("64x1563", topology::blocks(many), 11 * scale, 1000, "ms");
    measure_all("64x25 of 64 ranks", topology::blocks(dense, 64), 11 * scale, 1000, "ms");
    return 0;
}
