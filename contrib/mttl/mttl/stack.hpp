/*
 * Stacks for threads, kept for the next one when a thread ends.  The first
 * ones have guard pages each, so that an overflow is a fault where it happens
 * (and says so: overflow.hpp).  Guard pages cost the kernel two mappings, of which
 * a process may have 65530 by default (vm.max_map_count); beyond the budget, stacks
 * are cut from slabs, large mappings with one guard below all of them, and carry a
 * canary, which is looked at when a thread is switched from.  Memory is touched, and
 * so used, only as deep as a thread got.  A guard is never writable: mappings are
 * made without access, and what is above their guard is opened.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_STACK_HPP
#define MTTL_STACK_HPP

#include "context.hpp"
#include "port.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace [[gnu::visibility("default")]] mttl {

struct stack_options {
    size_t bytes = 64 * 1024;       // of a stack: MPI's own calls need about 10 KB
    /** Least where threads call MPI's collectives and make communicators: MPICH 4.0 takes more than 64 KB. */
    static constexpr size_t for_collectives = 256 * 1024;
    size_t guarded = 8192;          // stacks with a guard page: a quarter of the kernel's default of mappings
    bool report = true;             // an overflow says who and why, by a handler of SIGSEGV (overflow.hpp)
};

/** One stack: [bottom, top).  The canary, if there is one, is the lowest word. */
struct stack {
    std::byte *bottom;
    std::byte *top;
    bool guarded;       // a guard lies right below it

    static constexpr uint64_t canary = 0x6D74746C20737461;

    bool intact() const
    {
        if (guarded)
            return true;
        uint64_t word;
        std::memcpy(&word, bottom, sizeof word);
        return word == canary;
    }
};

class stack_source {
public:
    /** Below a guarded stack, bytes that must not be touched: more than a page, so that a large frame does not jump
     *  over it; they cost addresses only. */
    static constexpr size_t guard_bytes = 64 * 1024;

    explicit stack_source(const stack_options &o = {}) : options_(o)
    {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        options_.bytes = (options_.bytes + page - 1) / page * page;
    }
    stack_source(const stack_source &) = delete;
    stack_source &operator=(const stack_source &) = delete;
    ~stack_source()
    {
        for (const mapping &m : mappings_) {
#ifdef MTTL_ASAN
            __asan_unpoison_memory_region(m.at, m.bytes);   // frames of threads that were given up
#endif
            munmap(m.at, m.bytes);
        }
    }

    /** A stack that lives as long as this; throws std::bad_alloc. */
    stack make()
    {
        if (guarded_ < options_.guarded) {
            if (std::byte *p = map(options_.bytes)) {
                ++guarded_;
                return {p, p + options_.bytes, true};
            }
            options_.guarded = guarded_;        // the kernel's limit came first
        }
        const bool lowest = slab_left_ == 0;
        if (lowest) {
            slab_ = map(slab_stacks * options_.bytes);
            if (!slab_)
                throw std::bad_alloc();
            slab_left_ = slab_stacks;
        }
        std::byte *p = slab_;
        slab_ += options_.bytes;
        --slab_left_;
        if (!lowest)
            std::memcpy(p, &stack::canary, sizeof stack::canary);
        return {p, p + options_.bytes, lowest};
    }

    /** Stacks that have a guard each. */
    size_t guarded() const { return guarded_; }
    size_t stack_bytes() const { return options_.bytes; }

private:
    struct mapping {
        void *at;
        size_t bytes;
    };
    static constexpr size_t slab_stacks = 256;      // 10^5 stacks in 400 mappings

    /** So many bytes above a guard; null: the kernel has no more. */
    std::byte *map(size_t bytes)
    {
        mappings_.push_back({nullptr, guard_bytes + bytes});       // first: it may throw
        mapping &m = mappings_.back();
        m.at = mmap(nullptr, m.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (m.at != MAP_FAILED) {
            std::byte *open = static_cast<std::byte *>(m.at) + guard_bytes;
            if (mprotect(open, bytes, PROT_READ | PROT_WRITE) == 0)
                return open;
            munmap(m.at, m.bytes);
        }
        mappings_.pop_back();
        return nullptr;
    }

    stack_options options_;
    size_t guarded_ = 0;
    std::byte *slab_ = nullptr;
    size_t slab_left_ = 0;
    std::vector<mapping> mappings_;
};

} // namespace mttl

#endif
