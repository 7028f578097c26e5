/*
 * See trees_static.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trees_static.hpp"

#include <algorithm>

namespace sim {

namespace {

/** MPICH's: from here on a broadcast scatters, and a reduction halves. */
constexpr uint64_t scatter_from = 12 << 10, halve_from = 2 << 10;
constexpr size_t scatter_processes = 8;

size_t place_of(int me, const std::vector<int> &order)
{
    return static_cast<size_t>(std::find(order.begin(), order.end(), me) - order.begin());
}

/** Messages down (or, from the leaves, up) a binomial tree; each the bytes of so many of n blocks as are below. */
void binomial(trees_process &p, size_t i, const std::vector<int> &order, bool down, uint64_t bytes, bool blocks)
{
    const size_t n = order.size();
    const auto size = [&](size_t child, size_t mask) { return blocks ? bytes * std::min(mask, n - child) / n : bytes; };
    size_t mask = 1;
    while (mask < n && !(i & mask)) {
        if (!down && i + mask < n)
            p.receive(order[i + mask]);
        mask <<= 1;
    }
    if (i != 0 && down)
        p.receive(order[i - mask]);
    else if (i != 0)
        p.send(order[i - mask], size(i, mask));
    for (mask >>= 1; down && mask > 0; mask >>= 1)
        if (i + mask < n)
            p.send(order[i + mask], size(i + mask, mask));
}

/** Of a member's cluster: all members in order, the coordinator first. */
std::vector<int> cluster_of(int member, const std::vector<int> &order, const std::vector<int> &site)
{
    std::vector<int> those;
    for (int other : order)
        if (site[static_cast<size_t>(other)] == site[static_cast<size_t>(member)])
            those.push_back(other);
    return those;
}

/** One of each cluster: the first in order. */
std::vector<int> coordinators(const std::vector<int> &order, const std::vector<int> &site)
{
    std::vector<int> those;
    for (int other : order)
        if (cluster_of(other, order, site)[0] == other)
            those.push_back(other);
    return those;
}

} // namespace

void mpich_broadcast(trees_process &p, int me, const std::vector<int> &order, uint64_t bytes)
{
    const size_t n = order.size(), i = place_of(me, order);
    if (bytes < scatter_from || n < scatter_processes) {
        binomial(p, i, order, true, bytes, false);
        return;
    }
    binomial(p, i, order, true, bytes, true);
    for (size_t step = 1; step < n; ++step) {       // a ring
        p.send(order[(i + 1) % n], bytes / n);
        p.receive(order[(i + n - 1) % n]);
    }
}

void mpich_reduce(trees_process &p, int me, const std::vector<int> &order, uint64_t bytes)
{
    const size_t n = order.size(), i = place_of(me, order);
    if (bytes < halve_from || n < 2) {
        binomial(p, i, order, false, bytes, false);
        return;
    }
    // As many as a power of two take part; the others' operands go to one of them first.
    size_t half = 1;
    while (2 * half <= n)
        half *= 2;
    const size_t rest = n - half;
    std::vector<int> those;
    for (size_t k = 0; k < n; ++k)
        if (k >= 2 * rest || k % 2 == 0)
            those.push_back(order[k]);
    if (i < 2 * rest && i % 2) {
        p.send(order[i - 1], bytes);
        return;
    }
    if (i < 2 * rest)
        p.receive(order[i + 1]);
    const size_t place = place_of(me, those);
    uint64_t share = bytes / 2;
    for (size_t mask = half / 2; mask > 0; mask /= 2, share /= 2) {
        p.send(those[place ^ mask], share);
        p.receive(those[place ^ mask]);
    }
    binomial(p, place, those, false, bytes, true);
}

void magpie_broadcast(trees_process &p, int me, const std::vector<int> &order, const std::vector<int> &site, uint64_t bytes)
{
    const auto first = coordinators(order, site), here = cluster_of(me, order, site);
    if (me == order[0]) {
        for (int other : first)
            if (other != me)
                p.send(other, bytes);
    } else if (me == here[0])
        p.receive(order[0]);
    mpich_broadcast(p, me, here, bytes);
}

void magpie_reduce(trees_process &p, int me, const std::vector<int> &order, const std::vector<int> &site, uint64_t bytes)
{
    const auto first = coordinators(order, site), here = cluster_of(me, order, site);
    mpich_reduce(p, me, here, bytes);
    if (me == order[0]) {
        for (int other : first)
            if (other != me)
                p.receive(other);
    } else if (me == here[0])
        p.send(order[0], bytes);
}

void list_broadcast(trees_process &p, int me, const std::vector<int> &order, const std::vector<int> &site, uint64_t bytes)
{
    std::vector<int> list;
    for (int first : coordinators(order, site))
        for (int other : cluster_of(first, order, site))
            list.push_back(other);
    const size_t i = place_of(me, list);
    const wan::segments_of cut{bytes, wan::adaptive_segment(bytes, list.size())};
    for (uint64_t k = 0; k < cut.count(); ++k) {
        if (i > 0)
            p.receive(list[i - 1]);
        if (i + 1 < list.size())
            p.send(list[i + 1], cut.length(k));
    }
}

} // namespace sim
