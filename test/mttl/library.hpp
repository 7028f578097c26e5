/*
 * Functions in a shared library that is compiled with hidden symbols.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_MTTL_LIBRARY_HPP
#define TEST_MTTL_LIBRARY_HPP

[[gnu::visibility("default")]] int library_square(int x);
/** Invokes a lambda of the library on a node: 1000 + node. */
[[gnu::visibility("default")]] int library_ask(int node);

#endif
