/*
 * An allocation that fails when a test wants it: one of at least so many bytes,
 * after as many that do not, on the node that runs now.  For one source file of a program.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_MTTL_NO_MEMORY_HPP
#define TEST_MTTL_NO_MEMORY_HPP

#include <mttl/node.hpp>

#include <cstdlib>
#include <new>

namespace mttl_test {

struct {
    size_t least = ~size_t(0);      // bytes
    int after = 0;
    const void *where = nullptr;    // the node, or on any
} inline no_memory;

/** The allocation of `least` bytes or more that comes after so many others throws; all before and behind it succeed. */
inline void fail_allocation(size_t least, int after = 0)
{
    no_memory = {};
    no_memory.after = after;
    no_memory.where = mttl::node::current();
    no_memory.least = least;
}
/** Whether it has come. */
inline bool allocation_failed()
{
    const bool failed = no_memory.least == ~size_t(0);
    no_memory.least = ~size_t(0);
    return failed;
}

} // namespace mttl_test

[[gnu::noinline]] void *operator new(size_t bytes)
{
    auto &n = mttl_test::no_memory;
    if (bytes >= n.least && mttl::node::current() == n.where && n.after-- == 0) {
        n.least = ~size_t(0);
        throw std::bad_alloc();
    }
    if (void *p = std::malloc(bytes ? bytes : 1))
        return p;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, size_t) noexcept { std::free(p); }

#endif
