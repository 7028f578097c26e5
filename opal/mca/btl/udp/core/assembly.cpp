/* SPDX-License-Identifier: BSD-3-Clause */
#include "assembly.hpp"

#include <algorithm>
#include <cstring>

namespace udp {

uint64_t assembly::partial::add(const wire::frame &f)
{
    uint64_t fresh = 0;
    if (f.offset == 0 && !begun) {
        begun = true;
        fresh += block_charge;
    }
    uint32_t from = f.offset;
    const uint32_t to = f.offset + static_cast<uint32_t>(f.payload.size());
    if (from == to)
        return fresh;
    std::memcpy(data.get() + from, f.payload.data(), f.payload.size());
    // In the common case it continues the last range.
    if (!ranges.empty() && ranges.back().second == from) {
        ranges.back().second = to;
        have += to - from;
        return fresh + (to - from);
    }
    auto first = std::lower_bound(ranges.begin(), ranges.end(), from, [](const auto &r, uint32_t v) { return r.second < v; });
    uint32_t lower = from, upper = to, known = 0;
    auto last = first;
    for (; last != ranges.end() && last->first <= to; ++last) {
        const uint32_t begin = std::max(last->first, from), end = std::min(last->second, to);
        known += end > begin ? end - begin : 0;
        lower = std::min(lower, last->first);
        upper = std::max(upper, last->second);
    }
    const uint32_t added = to - from - known;
    if (first == last) {
        ranges.insert(first, {from, to});
    } else {
        *first = {lower, upper};
        ranges.erase(first + 1, last);
    }
    have += added;
    return fresh + added;
}

} // namespace udp
