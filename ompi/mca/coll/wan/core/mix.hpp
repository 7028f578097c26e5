/*
 * One number from several, in their order: for digests and keys.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MIX_HPP
#define WAN_MIX_HPP

#include <cstdint>

namespace wan {

constexpr uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdull ^ (h >> 33);
}

} // namespace wan

#endif
