/*
 * Time for the benchmarks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NPB_CLOCK_HPP
#define NPB_CLOCK_HPP

#include <chrono>

/** From an arbitrary beginning. */
inline double seconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

#endif
