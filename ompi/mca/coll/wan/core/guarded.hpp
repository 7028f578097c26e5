/*
 * The border of the C boundary: no exception leaves.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_GUARDED_HPP
#define WAN_GUARDED_HPP

#include "wan_core.h"

#include <new>

namespace wan {

/** What f returns, or the code of what it throws. */
template <typename F> int guarded(F f) noexcept
{
    try {
        return f();
    } catch (const std::bad_alloc &) {
        return WAN_ERR_NOMEM;
    } catch (...) {
        return WAN_ERR_INTERNAL;
    }
}

} // namespace wan

#endif
