/*
 * A short list of what was used last, most recent first.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_RECENT_HPP
#define WAN_RECENT_HPP

#include <algorithm>
#include <vector>

namespace wan {

/** The entry that `matches`, moved to the front; nullptr: none. */
template <typename T, typename F> T *most_recent(std::vector<T> &entries, F matches)
{
    const auto it = std::find_if(entries.begin(), entries.end(), matches);
    if (it == entries.end())
        return nullptr;
    std::rotate(entries.begin(), it, it + 1);
    return &entries.front();
}

/** Adds one in front, and forgets the last one where there are more than `most`. */
template <typename T> void keep(std::vector<T> &entries, T entry, size_t most)
{
    entries.insert(entries.begin(), std::move(entry));
    if (entries.size() > most)
        entries.pop_back();
}

} // namespace wan

#endif
