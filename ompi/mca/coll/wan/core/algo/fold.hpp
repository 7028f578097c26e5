/*
 * Combining the partial results of all sites in one canonical order, so that
 * every site evaluates the same expression and gets the same bits.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_FOLD_HPP
#define WAN_ALGO_FOLD_HPP

#include "sched/builder.hpp"

#include <vector>

namespace wan {

/**
 * x[0] op (x[1] op (... op x[n-1])) on `part`, x[k] the buffers; the result
 * goes to `result`, which may be one of them.  The last buffer is overwritten.
 */
inline void fold(builder &b, const std::vector<buffer> &x, buffer result, span_of part)
{
    for (size_t k = x.size() - 1; k-- > 0;)
        b.reduce(x[k], x.back(), part);
    if (result != x.back())
        b.copy(x.back(), result, part);
}

} // namespace wan

#endif
