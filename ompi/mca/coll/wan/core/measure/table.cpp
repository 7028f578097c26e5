/*
 * See table.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/table.hpp"

#include <algorithm>
#include <vector>

namespace wan {

namespace {

template <class M, class K> auto find(const M &map, const K &key)
{
    const auto at = map.find(key);
    return at == map.end() ? typename M::mapped_type{} : at->second;
}

} // namespace

void measured_table::keep(process_id p, const measured_way &way)
{
    if (p == nobody)
        return;
    std::lock_guard hold(lock_);
    kept_way &entry = ways_[p];
    entry.kept = ++kept_;
    measured_way &known = entry.way;
    const uint64_t other = way.at_ns >= known.at_ns ? known.bandwidth : way.bandwidth;
    if (way.at_ns >= known.at_ns)
        known = way;
    if (!known.bandwidth)
        known.bandwidth = other;
    if (ways_.size() > most_processes)
        forget_oldest();
}

/** A quarter at once: it looks at all of them. */
void measured_table::forget_oldest()
{
    std::vector<uint64_t> times;
    for (const auto &[p, entry] : ways_)
        times.push_back(entry.kept);
    const auto last = times.begin() + most_processes / 4;
    std::nth_element(times.begin(), last, times.end());
    std::erase_if(ways_, [from = *last](const auto &w) { return w.second.kept < from; });
}

measured_way measured_table::way(process_id p) const
{
    std::lock_guard hold(lock_);
    return find(ways_, p).way;
}

size_t measured_table::processes() const
{
    std::lock_guard hold(lock_);
    return ways_.size();
}

void measured_table::keep(const std::string &from, const std::string &to, const site_way &way)
{
    std::lock_guard hold(lock_);
    between_[{from, to}] = way;
}

site_way measured_table::way(const std::string &from, const std::string &to) const
{
    std::lock_guard hold(lock_);
    return find(between_, std::pair{from, to});
}

void measured_table::keep(const std::string &sites, const fact_vector &links)
{
    std::lock_guard hold(lock_);
    links_[sites] = links;
}

std::optional<fact_vector> measured_table::links(const std::string &sites) const
{
    std::lock_guard hold(lock_);
    const auto at = links_.find(sites);
    return at == links_.end() ? std::nullopt : std::optional(at->second);
}

std::atomic<int64_t> &measured_table::spent_ns(const std::string &sites)
{
    std::lock_guard hold(lock_);
    return spent_[sites];
}

measured_table &measured()
{
    static measured_table t;
    return t;
}

} // namespace wan
