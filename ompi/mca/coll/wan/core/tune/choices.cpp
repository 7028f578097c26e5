/*
 * See choices.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune/choices.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Each in place of that for the same calls. */
void put(std::vector<rule> &into, const std::vector<rule> &more)
{
    for (const rule &r : more) {
        const auto at = std::find_if(into.begin(), into.end(), [&](const rule &x) { return same_calls(x, r); });
        if (at == into.end())
            into.push_back(r);
        else
            *at = r;
    }
    std::sort(into.begin(), into.end(), [](const rule &a, const rule &b) { return print(a) < print(b); });
}

} // namespace

void choices::keep(const topology &t, const std::string &sites, const std::vector<rule> &learned)
{
    if (learned.empty())
        return;
    std::lock_guard hold(lock_);
    known &k = by_shape_[t.digest()];
    k.sites = sites;
    put(k.learned, learned);
}

std::vector<rule> choices::of(const topology &t) const
{
    std::lock_guard hold(lock_);
    const auto at = by_shape_.find(t.digest());
    return at == by_shape_.end() ? std::vector<rule>{} : at->second.learned;
}

std::vector<rule> choices::all() const
{
    std::lock_guard hold(lock_);
    std::vector<rule> found;
    for (const auto &[shape, k] : by_shape_)
        put(found, k.learned);
    return found;
}

void choices::forget(const std::string &sites)
{
    std::lock_guard hold(lock_);
    std::erase_if(by_shape_, [&](const auto &x) { return x.second.sites == sites; });
}

choices &chosen()
{
    static choices c;
    return c;
}

} // namespace wan
