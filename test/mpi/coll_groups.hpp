/*
 * Groups of calls by name: coll_data.cpp (types, operators, counts) and
 * coll_order.cpp (communicators, order of calls, threads).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_COLL_GROUPS_HPP
#define WAN_TEST_COLL_GROUPS_HPP

#include "coll_check.hpp"

#include <string_view>

namespace groups {

struct group {
    const char *name;
    void (*run)(int n);     // n: how often, where that makes sense
    bool threads;           // needs MPI_THREAD_MULTIPLE
};
const group *named(std::string_view name);

extern bool wide;

/** 32-bit integers, sums modulo 2^32: what most calls here use. */
const check::layout &ints();
const check::reduction &int_sum();
/** 2x2 matrices modulo 2^32: associative, does not commute. */
const check::reduction &matrix_product();

void types(int);
void operators(int);
void user_operators(int);
void roots(int);
void counts(int);
void big(int);
void floats(int);
void sums(int);

void first_bcast(int);
void first_allreduce(int);
void first_barrier(int);
void first_ibcast(int);
void first_iallreduce(int);
void communicators(int);
void many(int);
void burst(int);
void traffic(int);
void nonblocking(int);
void duplicating(int);
void threads(int);
void storm(int);
void killed(int);

} // namespace groups

#endif
