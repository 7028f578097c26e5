/*
 * See choices.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune/choices.hpp"

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
}

} // namespace

void choices::keep(const topology &t, const std::vector<rule> &learned)
{
    std::lock_guard hold(lock_);
    put(by_shape_[t.digest()], learned);
}

std::vector<rule> choices::of(const topology &t) const
{
    std::lock_guard hold(lock_);
    const auto at = by_shape_.find(t.digest());
    return at == by_shape_.end() ? std::vector<rule>{} : at->second;
}

std::vector<rule> choices::all() const
{
    std::lock_guard hold(lock_);
    std::vector<rule> found;
    for (const auto &[shape, learned] : by_shape_)
        put(found, learned);
    return found;
}

void choices::forget()
{
    std::lock_guard hold(lock_);
    by_shape_.clear();
}

choices &chosen()
{
    static choices c;
    return c;
}

} // namespace wan
