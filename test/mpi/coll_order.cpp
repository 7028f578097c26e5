/*
 * Groups about who calls and when: communicators, the first collective, calls
 * without synchronisation, other traffic on the same communicator, threads.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_groups.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <malloc.h>
#include <numeric>
#include <thread>
#include <unistd.h>

namespace groups {

using check::now;
using check::random;
using check::target;

namespace {

/** Sleeps up to `most` microseconds, another time on each rank. */
void nap(random &r, uint64_t most)
{
    if (r.below(3) == 0)
        usleep(static_cast<useconds_t>(r.below(most)));
}

random private_random(uint64_t what)
{
    return {now.seed, what, 10000 + static_cast<uint64_t>(now.rank)};
}

/** The same on all ranks. */
random common_random(uint64_t what)
{
    return {now.seed, what, 1};
}

constexpr uint64_t calls_of_few = 12;

void few(const target &t)
{
    for (int count : {1, 0, 257, t.size}) {
        check::bcast(t, ints(), count, count % t.size);
        check::allreduce(t, int_sum(), count, (count & 1) != 0);
        check::allreduce(t, matrix_product(), count, false);
    }
}

void few_and_free(MPI_Comm comm, const std::string &name)
{
    if (comm == MPI_COMM_NULL) {
        now.calls += calls_of_few;  // the others' numbers are the same
        return;
    }
    few(check::target_of(comm, name));
    MPI_Comm_free(&comm);
}

void fail_unless(bool good, const char *what)
{
    if (!good)
        check::fail(what);
}

/** Non-blocking calls by hand, beside blocking ones. */
struct pending {
    static constexpr int count = 301;
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<uint32_t> in, out;
    int root = 0;
    uint32_t salt = 0;

    void ibcast(const target &t, int r)
    {
        root = r;
        salt = static_cast<uint32_t>(now.calls);
        out.assign(count, 0);
        if (t.rank == root)
            std::iota(out.begin(), out.end(), salt);
        MPI_Ibcast(out.data(), count, MPI_UINT32_T, root, t.comm, &request);
    }
    void iallreduce(const target &t)
    {
        root = -1;
        salt = static_cast<uint32_t>(now.calls);
        in.assign(count, static_cast<uint32_t>(t.rank));
        out.assign(count, 0);
        MPI_Iallreduce(in.data(), out.data(), count, MPI_UINT32_T, MPI_SUM, t.comm, &request);
    }
    void finish(const target &t)
    {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const uint32_t sum = static_cast<uint32_t>(t.size) * static_cast<uint32_t>(t.size - 1) / 2;
        for (uint32_t i = 0; i < count; ++i)
            if (out[i] != (root < 0 ? sum : salt + i))
                return check::fail("a non-blocking collective is wrong");
    }
};

/** World, or a fresh duplicate: the first collective of each is ours. */
template <typename F> void on_fresh(F first)
{
    const target world = check::target_of(MPI_COMM_WORLD, "world");
    now.background = true;      // the first call may be non-blocking
    first(world);
    few(world);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    const target t = check::target_of(copy, "fresh duplicate");
    first(t);
    few(t);
    MPI_Comm_free(&copy);
    now.background = false;
}

} // namespace

/* ---- the first collective -------------------------------------------------- */

void first_bcast(int)
{
    on_fresh([](const target &t) { check::bcast(t, ints(), 5, t.size - 1); });
}

void first_allreduce(int)
{
    on_fresh([](const target &t) { check::allreduce(t, int_sum(), 5, true); });
}

void first_barrier(int)
{
    on_fresh([](const target &t) {
        check::doing("barrier");
        MPI_Barrier(t.comm);
    });
}

void first_ibcast(int)
{
    on_fresh([](const target &t) {
        check::doing("ibcast first");
        pending a, b;
        a.ibcast(t, t.size - 1);
        b.ibcast(t, 0);
        check::allreduce(t, int_sum(), 5, true);    // asks and measures while those are under way
        b.finish(t);
        a.finish(t);
    });
}

void first_iallreduce(int)
{
    on_fresh([](const target &t) {
        check::doing("iallreduce first");
        pending a, b;
        a.iallreduce(t);
        b.iallreduce(t);
        check::bcast(t, ints(), 5, 0);
        a.finish(t);
        b.finish(t);
    });
}

/* ---- communicators -------------------------------------------------------------- */

void communicators(int)
{
    MPI_Comm c;
    const int p = now.size, me = now.rank;
    few(check::target_of(MPI_COMM_SELF, "MPI_COMM_SELF"));
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    few_and_free(c, "duplicate");
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &c);
    few_and_free(c, "split by parity");
    MPI_Comm_split(MPI_COMM_WORLD, me * 2 / p, me, &c);
    few_and_free(c, "split in halves");
    MPI_Comm_split(MPI_COMM_WORLD, 0, p - me, &c);
    few_and_free(c, "in reverse");
    MPI_Comm_split(MPI_COMM_WORLD, 0, me * 5 % 7, &c);
    few_and_free(c, "reordered");
    // One site each: coll/wan must not be in the path.
    const auto &sites = now.sites.names;
    const int color = static_cast<int>(std::find(sites.begin(), sites.end(), sites[static_cast<size_t>(me)]) - sites.begin());
    MPI_Comm_split(MPI_COMM_WORLD, color, me, &c);
    few_and_free(c, "one site");
    for (int other = 1; other < p; ++other) {
        MPI_Comm_split(MPI_COMM_WORLD, me == 0 || me == other ? 0 : MPI_UNDEFINED, -me, &c);
        few_and_free(c, "pair of rank 0 and " + std::to_string(other));
    }
    MPI_Group world, odd;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int range[1][3] = {{p - 1, 0, -2}};
    MPI_Group_range_incl(world, 1, range, &odd);
    MPI_Comm_create(MPI_COMM_WORLD, odd, &c);
    few_and_free(c, "comm_create");
    c = MPI_COMM_NULL;
    if ((p - 1 - me) % 2 == 0)
        MPI_Comm_create_group(MPI_COMM_WORLD, odd, 5, &c);
    few_and_free(c, "comm_create_group");
    MPI_Group_free(&odd);
    MPI_Group_free(&world);

    // An inter-communicator passes by untouched; what is merged from it is ours again.
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    check::doing("inter-communicator");
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 3, &inter);
    uint32_t mine = static_cast<uint32_t>(me), sum = 0, wanted = 0;
    for (int r = 1 - me % 2; r < p; r += 2)
        wanted += static_cast<uint32_t>(r);
    MPI_Allreduce(&mine, &sum, 1, MPI_UINT32_T, MPI_SUM, inter);
    fail_unless(sum == wanted, "allreduce on an inter-communicator is wrong");
    uint32_t word = me == 0 ? 4711 : 0;
    MPI_Bcast(&word, 1, MPI_UINT32_T, me % 2 ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    fail_unless(word == (me % 2 || me == 0 ? 4711u : 0u), "bcast on an inter-communicator is wrong");
    MPI_Intercomm_merge(inter, me % 2, &c);
    few_and_free(c, "merged");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

void many(int n)
{
    // What leaks grows all the time; Open MPI's pools grow now and then. So the part counts that grows least.
    constexpr int parts = 4;
    const int rounds = std::max(n, 800), part = rounds / 2 / parts;
    size_t memory = 0, least = SIZE_MAX;
    for (int i = 0; i < rounds; ++i) {
        MPI_Comm c;
        check::doing("communicator " + std::to_string(i));
        if (i % 4 == 0)
            MPI_Comm_split(MPI_COMM_WORLD, 0, i % 8 ? now.rank : -now.rank, &c);
        else
            MPI_Comm_dup(MPI_COMM_WORLD, &c);
        const target t = check::target_of(c, "communicator of many");
        if (i % 3)
            check::bcast(t, ints(), i, i % t.size);
        if (i % 5)
            check::allreduce(t, int_sum(), i, false);
        MPI_Comm_free(&c);
        if (i + 1 < rounds / 2 || (i + 1 - rounds / 2) % part)
            continue;
        const size_t after = mallinfo2().uordblks;
        if (memory)
            least = std::min(least, after > memory ? after - memory : 0);
        memory = after;
    }
    if (now.rank == 0)
        std::printf("memory in use grew by %zu bytes a communicator\n", least / static_cast<size_t>(part));
    fail_unless(least < static_cast<size_t>(part) * 128, "memory grows with each communicator");
}

/* ---- calls without synchronisation ------------------------------------------------ */

void burst(int n)
{
    const target t = check::target_of(MPI_COMM_WORLD, "world");
    random naps = private_random(1), sizes = common_random(2);
    // The root runs ahead: nothing makes it wait.
    for (int i = 0; i < 1000 * n; ++i) {
        if (t.rank != 0)
            nap(naps, 500);
        check::bcast(t, ints(), static_cast<int>(sizes.below(i % 50 ? 64 : 20000)), 0);
    }
    for (int i = 0; i < 300 * n; ++i) {
        nap(naps, 1000);
        const int count = static_cast<int>(sizes.below(i % 20 ? 64 : 20000));
        switch (sizes.below(3)) {
        case 0:
            check::bcast(t, ints(), count, static_cast<int>(sizes.below(static_cast<uint64_t>(t.size))));
            break;
        case 1:
            check::allreduce(t, int_sum(), count, sizes.below(2));
            break;
        default:
            check::allreduce(t, matrix_product(), count / 8, sizes.below(2));
            break;
        }
    }
}

void traffic(int n)
{
    const target t = check::target_of(MPI_COMM_WORLD, "world");
    random naps = private_random(3), sizes = common_random(4);
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    constexpr int length = 3000;
    std::vector<int> in(length), out(length);
    for (int i = 0; i < 150 * n; ++i) {
        const int used = i % 3 ? 8 : length;
        std::iota(out.begin(), out.end(), i + t.rank);
        MPI_Request receive, send;
        const bool early = naps.below(2);
        if (early)
            MPI_Irecv(in.data(), length, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, t.comm, &receive);
        MPI_Isend(out.data(), used, MPI_INT, right, i, t.comm, &send);
        nap(naps, 300);
        check::allreduce(t, int_sum(), static_cast<int>(sizes.below(3000)), false);
        check::bcast(t, ints(), static_cast<int>(sizes.below(3000)), i % t.size);
        if (!early)
            MPI_Irecv(in.data(), length, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, t.comm, &receive);
        check::doing("point-to-point");
        MPI_Status status;
        int got;
        MPI_Wait(&receive, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Get_count(&status, MPI_INT, &got);
        bool good = status.MPI_SOURCE == left && status.MPI_TAG == i && got == used;
        for (int k = 0; good && k < used; ++k)
            good = in[static_cast<size_t>(k)] == i + left + k;
        fail_unless(good, "a point-to-point message is wrong");
    }
}

void nonblocking(int n)
{
    const target t = check::target_of(MPI_COMM_WORLD, "world");
    random naps = private_random(5), order = common_random(6);
    unsigned long long bcasts = 0, allreduces = 0;
    now.background = true;
    check::look();
    for (int i = 0; i < 60 * n; ++i) {
        pending all[4];
        MPI_Request barrier;
        for (auto &one : all) {
            check::doing("non-blocking calls");
            const bool first = order.below(2);
            if (first)
                one.ibcast(t, static_cast<int>(order.below(static_cast<uint64_t>(t.size))));
            else
                one.iallreduce(t);
            nap(naps, 300);
            const bool second = order.below(2);
            if (second)
                check::allreduce(t, int_sum(), 33, false);
            else
                check::bcast(t, ints(), 33, i % t.size);
            bcasts += (first ? 1u : 0u) + (second ? 0u : 1u);
            allreduces += (first ? 0u : 1u) + (second ? 1u : 0u);
        }
        ++bcasts;       // beside the barrier
        MPI_Ibarrier(t.comm, &barrier);
        check::bcast(t, ints(), 1500, i % t.size);
        check::doing("end of non-blocking calls");
        for (size_t k = 4; k-- > 0;)
            all[k].finish(t);
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    }
    now.background = false;
    check::expect_total(bcasts, allreduces);
}

/* Making a communicator in the background takes tags of the parent at times that differ by rank. */
void duplicating(int n)
{
    const target t = check::target_of(MPI_COMM_WORLD, "world");
    random naps = private_random(7);
    now.background = true;
    for (int i = 0; i < 30 * n; ++i) {
        MPI_Comm copy, second;
        MPI_Request request, other;
        check::doing("idup");
        MPI_Comm_idup(t.comm, &copy, &request);
        nap(naps, 2000);
        for (int k = 0; k < 3; ++k) {
            int flag;
            if (naps.below(2))
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            check::allreduce(t, int_sum(), 5, false);
            check::bcast(t, ints(), 5, k % t.size);
        }
        check::doing("end of idup");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        // The first call of a communicator, with such a duplication under way on it.
        const target c = check::target_of(copy, "idup");
        MPI_Comm_idup(copy, &second, &other);
        nap(naps, 2000);
        check::allreduce(c, int_sum(), 7, false);
        check::doing("end of the second idup");
        MPI_Wait(&other, MPI_STATUS_IGNORE);
        check::bcast(c, ints(), 7, 0);
        MPI_Comm_free(&second);
        MPI_Comm_free(&copy);
    }
    now.background = false;
}

/* ---- threads --------------------------------------------------------------------- */

void threads(int n)
{
    constexpr int count = 2;
    MPI_Comm comms[count];
    for (auto &c : comms)
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
    check::look();
    check::state states[count];
    matrix_product();   // made before threads use it
    std::vector<std::thread> all;
    for (int k = 0; k < count; ++k)
        all.emplace_back([&, k, whole = now] {
            now = whole;
            now.plugin = false;     // counters are the process's: the sum is checked below
            now.calls += static_cast<uint64_t>(k) * 100000;
            now.compared = now.wrong = now.digest = 0;
            const target t = check::target_of(comms[k], "thread " + std::to_string(k));
            random sizes = common_random(20 + static_cast<uint64_t>(k)), naps = private_random(30 + static_cast<uint64_t>(k));
            for (int i = 0; i < 150 * n; ++i) {
                nap(naps, 300);
                const int length = static_cast<int>(sizes.below(i % 10 ? 100 : 30000));
                check::bcast(t, ints(), length + 1, i % t.size);
                check::allreduce(t, int_sum(), length + 1, i & 1);
                check::allreduce(t, matrix_product(), length / 8 + 1, i & 1);
            }
            states[k] = now;
        });
    for (auto &one : all)
        one.join();
    for (int k = 0; k < count; ++k) {
        now.compared += states[k].compared;
        now.wrong += states[k].wrong;
        now.digest += states[k].digest;
        MPI_Comm_free(&comms[k]);
    }
    now.calls += 900ull * static_cast<uint64_t>(n);
    check::expect_total(300ull * static_cast<uint64_t>(n), 600ull * static_cast<uint64_t>(n));
}

/* ---- stress ----------------------------------------------------------------------- */

void storm(int n)
{
    few(check::target_of(MPI_COMM_WORLD, "world"));
    for (int i = 0; i < n; ++i) {
        MPI_Comm c;
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        few_and_free(c, "storm");
        const target t = check::target_of(MPI_COMM_WORLD, "world");
        random naps = private_random(40 + static_cast<uint64_t>(i)), sizes = common_random(50 + static_cast<uint64_t>(i));
        for (int k = 0; k < 20; ++k) {
            nap(naps, 3000);
            const int count = static_cast<int>(sizes.below(k % 7 ? 50 : 50000));
            check::allreduce(t, int_sum(), count, k & 1);
            check::bcast(t, ints(), count, k % t.size);
        }
    }
}

void killed(int)
{
    const target t = check::target_of(MPI_COMM_WORLD, "world");
    for (int i = 0;; ++i) {
        if (i == 20 && t.rank == t.size - 1)
            std::raise(SIGKILL);
        check::allreduce(t, int_sum(), 1000, false);
    }
}

/* ---- names ------------------------------------------------------------------------- */

const group *named(std::string_view name)
{
    static const group all[] = {
        {"types", types, false},
        {"operators", operators, false},
        {"user_operators", user_operators, false},
        {"roots", roots, false},
        {"counts", counts, false},
        {"big", big, false},
        {"floats", floats, false},
        {"sums", sums, false},
        {"first_bcast", first_bcast, false},
        {"first_allreduce", first_allreduce, false},
        {"first_barrier", first_barrier, false},
        {"first_ibcast", first_ibcast, false},
        {"first_iallreduce", first_iallreduce, false},
        {"communicators", communicators, false},
        {"many", many, false},
        {"burst", burst, false},
        {"traffic", traffic, false},
        {"nonblocking", nonblocking, false},
        {"duplicating", duplicating, false},
        {"threads", threads, true},
        {"storm", storm, false},
        {"killed", killed, false},
    };
    for (const auto &g : all)
        if (name == g.name)
            return &g;
    return nullptr;
}

} // namespace groups
