/*
 * Where stacks lie: guards below them that are never open, and what becomes of
 * them when the kernel gives no more mappings.  The calls that map are watched.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <map>

namespace {

/** What has been asked of the kernel, and how many more times it says yes. */
struct {
    std::map<std::byte *, size_t> mapped;
    int maps = 1000000, opens = 1000000;        // that succeed from now on
    bool opened_at_once = false, opened_below = false;
} kernel;
constexpr size_t guard = 64 * 1024;

void *watched_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (kernel.maps-- <= 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *p = mmap(at, bytes, protection, flags, file, offset);
    kernel.opened_at_once |= protection != PROT_NONE;
    kernel.mapped[static_cast<std::byte *>(p)] = bytes;
    return p;
}

int watched_munmap(void *p, size_t bytes)
{
    kernel.mapped.erase(static_cast<std::byte *>(p));
    return munmap(p, bytes);
}

int watched_mprotect(void *p, size_t bytes, int protection)
{
    if (kernel.opens-- <= 0) {
        errno = ENOMEM;
        return -1;
    }
    const auto *at = static_cast<std::byte *>(p);
    for (const auto &[from, size] : kernel.mapped)
        kernel.opened_below |= protection != PROT_NONE && at >= from && at < from + guard;
    return mprotect(p, bytes, protection);
}

} // namespace

#define mmap watched_mmap
#define munmap watched_munmap
#define mprotect watched_mprotect
#include <mttl/stack.hpp>
#undef mmap
#undef munmap
#undef mprotect

#include "unit.hpp"

namespace {

using namespace mttl;

static_assert(guard == stack_source::guard_bytes);

void as_new()
{
    kernel = {};
}

/** Whether the page there is this process's, and nobody may touch it. */
bool closed(std::byte *at)
{
    int ends[2];
    auto *page = reinterpret_cast<std::byte *>(reinterpret_cast<uintptr_t>(at) / 4096 * 4096);
    if (msync(page, 1, MS_ASYNC) != 0 || pipe(ends) != 0)
        return false;
    const bool refused = write(ends[1], at, 1) < 0 && errno == EFAULT;
    close(ends[0]), close(ends[1]);
    return refused;
}

/** What is wrong with a stack, or "". */
std::string looked_at(const stack &s, size_t bytes)
{
    WAN_CHECK(s.top - s.bottom == static_cast<ptrdiff_t>(bytes));
    WAN_CHECK(s.intact());
    s.top[-1] = std::byte{1};
    s.bottom[16] = std::byte{1};
    if (s.guarded) {
        s.bottom[0] = std::byte{1};
        WAN_CHECK(closed(s.bottom - 1) && closed(s.bottom - guard));
    } else {
        s.bottom[0] ^= std::byte{1};
        WAN_CHECK(!s.intact());
        s.bottom[0] ^= std::byte{1};
    }
    return "";
}

std::string guards()
{
    as_new();
    constexpr size_t bytes = 16384;
    {
        stack_source source({.bytes = bytes - 100, .guarded = 3});
        WAN_CHECK(source.stack_bytes() == bytes);
        size_t guarded = 0, lowest = 0;
        std::byte *below = nullptr;
        // Three of their own, and three mappings of 256.
        for (size_t i = 0; i < 3 + 600; ++i) {
            const stack s = source.make();
            const std::string wrong = looked_at(s, bytes);
            if (!wrong.empty())
                return std::to_string(i) + ": " + wrong;
            guarded += s.guarded;
            if (i >= 3 && s.guarded)
                ++lowest;
            else if (i >= 3)
                WAN_CHECK(s.bottom == below + bytes);      // no room is lost between them
            below = s.bottom;
        }
        WAN_CHECK_THAT(guarded == 6 && lowest == 3 && source.guarded() == 3, std::to_string(guarded));
        WAN_CHECK(kernel.mapped.size() == 6);
        WAN_CHECK(!kernel.opened_at_once && !kernel.opened_below);
    }
    WAN_CHECK(kernel.mapped.empty());
    return "";
}

// The kernel's limit of mappings: stacks without guards of their own, and then none; nothing is left mapped for nothing.
std::string limits()
{
    constexpr size_t bytes = 16384;
    for (const bool at_open : {false, true}) {
        as_new();
        (at_open ? kernel.opens : kernel.maps) = 2;
        {
            stack_source source({.bytes = bytes, .guarded = 10});
            source.make(), source.make();
            bool none = false;
            try {
                source.make();
            } catch (const std::bad_alloc &) {
                none = true;
            }
            WAN_CHECK(none && source.guarded() == 2 && kernel.mapped.size() == 2);
            kernel.maps = kernel.opens = 1;
            for (int i = 0; i < 256; ++i) {
                const stack s = source.make();
                const std::string wrong = looked_at(s, bytes);
                if (!wrong.empty())
                    return std::to_string(i) + ": " + wrong;
                WAN_CHECK(s.guarded == (i == 0));
            }
            WAN_CHECK(source.guarded() == 2 && kernel.mapped.size() == 3);
        }
        WAN_CHECK(kernel.mapped.empty());
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<guards>),
        cmocka_unit_test(wan_test::test<limits>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
