/*
 * Where a process sits on its host, as the runtime tells it: PMIx hands out
 * what hwloc found as text, the same on all hwlocs that an Open MPI may carry.
 * Source: PMIx standard, PMIX_LOCALITY_STRING; hwloc's object types.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "wan_core.h"

#include <charconv>
#include <ranges>
#include <string_view>

namespace {

/** The number after `kind`, plus 1; 0 for a list, a range or nothing. */
uint64_t only_one(std::string_view text, std::string_view kind)
{
    for (const auto part : std::views::split(text, ':')) {
        std::string_view token(part.begin(), part.end());
        if (!token.starts_with(kind))
            continue;
        token.remove_prefix(kind.size());
        uint32_t number = 0;
        const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
        return error == std::errc() && end == token.data() + token.size() ? uint64_t{number} + 1 : 0;
    }
    return 0;
}

} // namespace

uint64_t wan_locality_domain(const char *text)
{
    return only_one(text, "SK") << 32 | only_one(text, "NM");
}
