/*
 * The memory of planning: at 100,000 ranks in 64 sites a process keeps at most
 * 64 KiB beside the rank-to-site map; with WAN_PEAK, it needs no more while it
 * chooses and builds either.  Every allocation is counted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "exec/engine.hpp"
#include "plan/planner.hpp"

#include "unit.hpp"

#include <atomic>
#include <new>

namespace {

std::atomic<size_t> held{0}, peak{0};

void *counted_or_null(size_t n) noexcept
{
    // The size stands before the block; 16 bytes keep its alignment.
    auto *p = static_cast<char *>(std::malloc(n + 16));
    if (!p)
        return nullptr;
    *reinterpret_cast<size_t *>(p) = n;
    const size_t now = held += n;
    if (now > peak)
        peak = now;
    return p + 16;
}

void *counted(size_t n)
{
    if (void *p = counted_or_null(n))
        return p;
    throw std::bad_alloc();
}

void uncount(void *q)
{
    if (!q)
        return;
    char *p = static_cast<char *>(q) - 16;
    held -= *reinterpret_cast<size_t *>(p);
    std::free(p);
}

} // namespace

void *operator new(size_t n) { return counted(n); }
void *operator new[](size_t n) { return counted(n); }
void *operator new(size_t n, const std::nothrow_t &) noexcept { return counted_or_null(n); }     // what sorting takes
void *operator new[](size_t n, const std::nothrow_t &) noexcept { return counted_or_null(n); }
void operator delete(void *p) noexcept { uncount(p); }
void operator delete[](void *p) noexcept { uncount(p); }
void operator delete(void *p, size_t) noexcept { uncount(p); }
void operator delete[](void *p, size_t) noexcept { uncount(p); }

namespace {

using namespace wan;
using namespace wan_test;

constexpr size_t budget = 64 * 1024;
#ifdef WAN_PEAK
constexpr bool peak_too = true;
#else
constexpr bool peak_too = false;
#endif

struct use {
    size_t held, peak;
};

use measure(const topology &t, const facts &f, const request &r, const wishes &w, int me, std::string *what)
{
    const size_t before = held;
    peak = before;
    auto p = choose(t, f, w, r);
    auto code = std::make_shared<const program>(build_schedule(t, *p, me));
    const use u{held - before, peak - before};
    *what = p->algo->name + std::string(" with ") + std::to_string(code->size()) + " operations";
    return u;
}

std::string check(const topology &t, const char *shape)
{
    facts f;
    f.sites = t.site_count();
    WAN_CHECK(t.size() >= 100'000 && t.site_count() == 64);
    std::string over;
    size_t most_held = 0, most_peak = 0;
    const int second = t.rank_count(site_id{0});     // leader of the second site
    const std::vector<int> roots{0, second + 17, t.size() - 1};
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE})
        for (uint32_t links : {0u, 4u})
            for (uint64_t bytes : {uint64_t{4}, uint64_t{65536}, uint64_t{16} << 20})
                for (int root : c == WAN_BCAST ? roots : std::vector<int>{0})
                    for (int me : {root, 0, 1, second, second + 1, second + 700, t.size() / 2, t.size() - 1}) {
                        const request r{.collective = c, .root = root, .bytes = bytes, .element_bytes = 4, .commutative = true};
                        wishes w;
                        w.links = links;
                        std::string what;
                        const use u = measure(t, f, r, w, me, &what);
                        most_held = std::max(most_held, u.held);
                        most_peak = std::max(most_peak, u.peak);
                        if ((peak_too ? u.peak : u.held) > budget && over.size() < 3000)
                            over += "\n" + std::string(wan_collective_name(c)) + " of " + std::to_string(bytes) + " B, links " + std::to_string(links)
                                    + ", root " + std::to_string(root) + ", rank " + std::to_string(me) + ": " + what + ", keeps "
                                    + std::to_string(u.held) + ", needs " + std::to_string(u.peak);
                    }
    std::printf("%s: keeps at most %zu bytes, needs at most %zu, the map has %zu\n", shape, most_held, most_peak, t.memory_bytes());
    return over.empty() ? "" : std::string(shape) + ", more than " + std::to_string(budget) + " bytes:" + over;
}

std::string check_one_rank_a_host()
{
    const std::vector<int> sizes(64, 1563);
    return check(topology::blocks(sizes), "64 sites of 1563 hosts");
}

std::string check_many_ranks_a_host()
{
    const std::vector<int> sizes(64, 25);
    return check(topology::blocks(sizes, 64), "64 sites of 25 hosts of 64 ranks");
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_one_rank_a_host>), cmocka_unit_test(test<check_many_ranks_a_host>)};
    return cmocka_run_group_tests_name("plan_memory", tests, nullptr, nullptr);
}
