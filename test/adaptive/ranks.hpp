/*
 * Sets of ranks, written down.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_ADAPTIVE_RANKS_HPP
#define TEST_ADAPTIVE_RANKS_HPP

#include "adaptive/rank_set.hpp"

#include <initializer_list>

namespace adaptive_test {

inline wan::rank_set ranks(std::initializer_list<int> those)
{
    wan::rank_set r;
    for (int x : those)
        r |= wan::rank_set::one(x);
    return r;
}

} // namespace adaptive_test

#endif
