/*
 * Differential fuzzing: draws communicator, collective, form (blocking,
 * non-blocking, persistent), block sizes, datatypes, operator, root, in place
 * or not; several requests are under way at once and end in any order.  Every
 * value is a function of (call, rank, position), so that each rank knows what
 * all others put in: the expected buffers are computed here and compared byte
 * by byte, what lies between and behind the blocks included.  The digest of all
 * results lets the script compare with a job that runs Open MPI's basic module.
 *
 * Counters prove that coll/wan served: every call with bytes, on every communicator of several
 * sites; or, with --alone, that it is not there at all.
 *
 *     fuzz [--alone] [--seed S] [--calls N | --seconds T] [--largest INTS]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz_served.hpp"
#include "fuzz_types.hpp"
#include "persistent.hpp"
#include "pretended_sites.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr int32_t untouched = 0x5a5a5a5a;

enum what { allgather, allgatherv, allreduce, alltoall, alltoallv, alltoallw, barrier, bcast, exscan, gather, gatherv, reduce,
            reduce_scatter, reduce_scatter_block, scan, scatter, scatterv, kinds };
const char *const names[] = {"allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast",
                             "exscan", "gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block", "scan",
                             "scatter", "scatterv"};
enum form { blocking, nonblocking, persistent };

struct communicator {
    MPI_Comm comm;
    int rank, size;
    bool spans;         // several sites
    int inits = 0;      // of persistent requests: the first 1024 of a communicator are served
};

/** One side of a call: blocks of a buffer. */
struct side {
    const shape *s = nullptr;
    std::vector<int> counts;            // elements, by block
    std::vector<int> displs;            // in extents (alltoallw: in bytes)
    std::vector<const shape *> each;    // alltoallw
    std::vector<MPI_Datatype> types;
    std::vector<int32_t> memory;
    int base = 8;                       // ints before the first element: some types begin before their address
    int32_t *address() { return memory.data() + base; }
    const shape &of(size_t i) const { return each.empty() ? *s : *each[i]; }
    /** Index in memory of int k of block i. */
    size_t at(size_t i, int k) const
    {
        const shape &t = of(i);
        const int begin = each.empty() ? displs[i] * t.extent : displs[i] / static_cast<int>(sizeof(int));
        return static_cast<size_t>(base + begin + k / t.ints() * t.extent + t.at[static_cast<size_t>(k % t.ints())]);
    }
    int ints(size_t i) const { return counts[i] * of(i).ints(); }
};

struct call {
    what w;
    form f;
    communicator c;
    uint64_t number;
    int root;
    bool in_place;
    int op;                     // 0 sum, 1 bitwise xor, 2 composition
    side send, recv;
    std::vector<int32_t> expected;
    bool receives = true;
    MPI_Request request = MPI_REQUEST_NULL;
    bool required = false;      // to be served by coll/wan
    int starts = 1;             // persistent
    uint64_t round = 0;

    MPI_Op mpi_op() const { return op == 0 ? MPI_SUM : op == 1 ? MPI_BXOR : compose; }
    /** Int k of what rank `from` has for rank `to`. */
    int32_t value(int from, int to, int k) const
    {
        return static_cast<int32_t>(mix(number * 977 + round * 31 + static_cast<uint64_t>(from) * 1'000'003
                                        + static_cast<uint64_t>(to) * 7919 + (static_cast<uint64_t>(k) << 32)));
    }
    std::string text() const
    {
        static const char *forms[] = {"", "i", "persistent "};
        std::string t = "call " + std::to_string(number) + ": " + forms[f] + names[w] + " of " + std::to_string(c.size) + " ranks, root "
                        + std::to_string(root) + (in_place ? ", in place" : "") + ", op " + std::to_string(op);
        for (const side *x : {&send, &recv}) {
            if (!x->s && x->each.empty())
                continue;
            t += x == &send ? "; send" : "; recv";
            for (size_t i = 0; i < x->counts.size(); ++i)
                t += ' ' + std::to_string(x->counts[i]) + '*' + x->of(i).name;
        }
        return t;
    }
};

/** Blocks of so many ints each, in memory one after the other or anywhere. */
void side_make(side &x, const std::vector<int> &ints, random_stream &r, bool anywhere, bool own_types)
{
    const size_t n = ints.size();
    x.displs.resize(n);
    x.counts.resize(n);
    if (own_types)
        for (size_t i = 0; i < n; ++i) {
            x.each.push_back(&r.pick(shapes));
            x.types.push_back(x.each.back()->type);
        }
    int next = 0;
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    if (anywhere && r.flip())
        for (size_t i = n; i > 1; --i)
            std::swap(order[i - 1], order[r.below(i)]);
    for (size_t i : order) {
        const shape &t = x.of(i);
        x.counts[i] = ints[i] / t.ints();
        x.displs[i] = own_types ? next * static_cast<int>(sizeof(int)) : next;
        const int gap = anywhere ? static_cast<int>(r.below(3)) : 0;
        next += own_types ? x.counts[i] * t.extent + gap : x.counts[i] + gap;
    }
    x.memory.assign(static_cast<size_t>(next * (own_types ? 1 : x.s->extent) + 16), untouched);
}

bool rooted(what w) { return w == bcast || w == gather || w == gatherv || w == reduce || w == scatter || w == scatterv; }
bool reduces(what w) { return w == allreduce || w == exscan || w == reduce || w == reduce_scatter || w == reduce_scatter_block || w == scan; }

/** Ints that rank i has for rank j. */
int block_ints(const call &c, int i, int j, int largest)
{
    const bool vary = c.w == allgatherv || c.w == gatherv || c.w == scatterv || c.w == reduce_scatter || c.w == alltoallv || c.w == alltoallw;
    uint64_t key = c.number;
    if (vary)
        key = key * 31 + static_cast<uint64_t>(c.w == alltoallv || c.w == alltoallw ? i * 64 + j + 1 : c.w == allgatherv || c.w == gatherv ? i + 1 : j + 1);
    const uint64_t x = mix(key);
    const uint64_t range = x % 16 == 0 ? static_cast<uint64_t>(largest) / 4 : x % 4 == 0 ? 200 : 6;
    return static_cast<int>((x >> 8) % std::max<uint64_t>(1, range)) * 4;   // fits every shape
}

/** Everything about a call that all ranks must know alike, then this rank's buffers. */
void call_make(call &c, random_stream &r, int largest)
{
    const size_t all = static_cast<size_t>(c.c.size);
    const int me = c.c.rank;
    c.root = rooted(c.w) ? static_cast<int>(r.below(all)) : 0;
    c.in_place = c.w != bcast && c.w != barrier && r.below(4) == 0;
    c.op = static_cast<int>(r.below(3));
    const bool any = r.flip();
    // The same types on all ranks or, where bytes are only moved, any that fit.
    random_stream own{mix(r.next() + (reduces(c.w) ? 0 : static_cast<uint64_t>(me) * 7 + 1))};
    if (c.op == 2)
        c.send.s = c.recv.s = own.flip() ? &shapes[2] : &shapes[3];     // two ints
    else
        c.send.s = c.recv.s = &shapes[0];
    if (!reduces(c.w)) {
        c.send.s = &own.pick(shapes);
        c.recv.s = &own.pick(shapes);
    }
    auto ints_of = [&](auto f) {
        std::vector<int> v;
        for (int q = 0; q < c.c.size; ++q)
            v.push_back(f(q));
        return v;
    };
    auto single = [&](side &x, int n) { side_make(x, {n}, own, false, false); };
    auto between = [&](int i, int j) { return block_ints(c, i, j, largest); };
    const bool am_root = me == c.root;
    switch (c.w) {
    case barrier:
        c.receives = false;
        break;
    case bcast:
        single(c.recv, between(0, 0));
        break;
    case allgather:
    case allgatherv:
    case gather:
    case gatherv:
        single(c.send, between(me, me));
        c.receives = c.w == allgather || c.w == allgatherv || am_root;
        if (c.receives)
            side_make(c.recv, ints_of([&](int q) { return between(q, q); }), own, (c.w == allgatherv || c.w == gatherv) && any, false);
        c.in_place = c.in_place && c.receives;
        break;
    case scatter:
    case scatterv:
        single(c.recv, between(c.root, me));
        if (am_root)
            side_make(c.send, ints_of([&](int q) { return between(c.root, q); }), own, c.w == scatterv && any, false);
        c.in_place = c.in_place && am_root;
        break;
    case alltoall:
    case alltoallv:
    case alltoallw:
        if (c.in_place && c.w != alltoall)      // counts must be symmetric
            c.in_place = false;
        side_make(c.send, ints_of([&](int q) { return between(me, q); }), own, c.w != alltoall && any, c.w == alltoallw);
        side_make(c.recv, ints_of([&](int q) { return between(q, me); }), own, c.w != alltoall && any, c.w == alltoallw);
        break;
    case reduce_scatter:
    case reduce_scatter_block:
        side_make(c.send, ints_of([&](int q) { return between(0, q); }), own, false, false);
        if (c.in_place)
            side_make(c.recv, ints_of([&](int q) { return between(0, q); }), own, false, false);
        else
            single(c.recv, between(0, me));
        break;
    default:    // reductions of a whole message
        single(c.send, between(0, 0));
        single(c.recv, between(0, 0));
        c.receives = c.w != reduce || am_root;
        c.in_place = c.in_place && c.receives;
    }
}

void combine(const call &c, std::vector<int32_t> &sum, const std::vector<int32_t> &next)
{
    for (size_t k = 0; k < sum.size(); ++k) {
        if (c.op < 2) {
            sum[k] = c.op == 0 ? static_cast<int32_t>(static_cast<uint32_t>(sum[k]) + static_cast<uint32_t>(next[k])) : sum[k] ^ next[k];
        } else if (k % 2 == 0) {
            // The type map says which int of the pair is which: 'turned' sends the second one first.
            const size_t a = c.recv.s->at[0] == 0 ? k : k + 1, b = a == k ? k + 1 : k;
            const uint32_t xa = static_cast<uint32_t>(sum[a]), xb = static_cast<uint32_t>(sum[b]);
            const uint32_t ya = static_cast<uint32_t>(next[a]), yb = static_cast<uint32_t>(next[b]);
            sum[a] = static_cast<int32_t>(xa * ya);
            sum[b] = static_cast<int32_t>(xa * yb + xb);
        }
    }
}

/** Ints [0, n) of the reduction of ranks [0, end), for block `to`. */
std::vector<int32_t> reduced(const call &c, int end, int to, int n)
{
    std::vector<int32_t> sum, next(static_cast<size_t>(n));
    for (int q = 0; q < end; ++q) {
        for (int k = 0; k < n; ++k)
            next[static_cast<size_t>(k)] = c.value(q, to, k);
        if (q == 0)
            sum = next;
        else
            combine(c, sum, next);
    }
    return sum;
}

/** Fills the buffers for the next start and computes what must be in the receive buffer after it. */
void call_fill(call &c)
{
    const int me = c.c.rank;
    const bool gathers = c.w == allgather || c.w == allgatherv || c.w == gather || c.w == gatherv;
    const bool scatters = c.w == scatter || c.w == scatterv;
    std::fill(c.recv.memory.begin(), c.recv.memory.end(), untouched);
    std::fill(c.send.memory.begin(), c.send.memory.end(), untouched);
    auto put = [&](side &x, size_t block, int from, int to) {
        for (int k = 0; k < x.ints(block); ++k)
            x.memory[x.at(block, k)] = c.value(from, to, k);
    };
    for (size_t i = 0; i < c.send.counts.size(); ++i)
        put(c.send, i, me, gathers || c.send.counts.size() == 1 ? 0 : static_cast<int>(i));
    if (c.w == bcast && me == c.root)
        put(c.recv, 0, c.root, 0);
    if (c.in_place && gathers)
        put(c.recv, static_cast<size_t>(me), me, 0);
    else if (c.in_place && !scatters)
        for (size_t i = 0; i < c.recv.counts.size(); ++i)
            put(c.recv, i, me, c.recv.counts.size() == 1 ? 0 : static_cast<int>(i));

    c.expected = c.recv.memory;
    auto expect = [&](size_t block, auto f) {
        for (int k = 0; k < c.recv.ints(block); ++k)
            c.expected[c.recv.at(block, k)] = f(k);
    };
    if (!c.receives || (c.in_place && scatters))
        return;
    if (c.w == bcast)
        expect(0, [&](int k) { return c.value(c.root, 0, k); });
    else if (scatters)
        expect(0, [&](int k) { return c.value(c.root, me, k); });
    else if (gathers || c.w == alltoall || c.w == alltoallv || c.w == alltoallw)
        for (int q = 0; q < c.c.size; ++q)
            expect(static_cast<size_t>(q), [&](int k) { return c.value(q, gathers ? 0 : me, k); });
    else if (reduces(c.w)) {
        const bool block = c.w == reduce_scatter || c.w == reduce_scatter_block;
        const int end = c.w == scan ? me + 1 : c.w == exscan ? me : c.c.size;
        const size_t own = block && c.in_place ? static_cast<size_t>(me) : 0;
        const int n = c.recv.ints(own);
        const auto sum = reduced(c, end, block ? me : 0, n);
        // In place, the own block goes to the beginning of the buffer.
        if (end > 0)
            for (int k = 0; k < n; ++k)
                c.expected[static_cast<size_t>(c.recv.base + k / c.recv.s->ints() * c.recv.s->extent
                                               + c.recv.s->at[static_cast<size_t>(k % c.recv.s->ints())])] = sum[static_cast<size_t>(k)];
    }
}

void call_issue(call &c)
{
    const void *s = c.in_place && c.w != scatter && c.w != scatterv ? MPI_IN_PLACE : c.send.address();
    void *d = c.in_place && (c.w == scatter || c.w == scatterv) ? MPI_IN_PLACE : c.recv.address();
    auto first = [](const std::vector<int> &v) { return v.empty() ? 0 : v[0]; };
    const int sn = first(c.send.counts), rn = first(c.recv.counts);
    const int *sc = c.send.counts.data(), *sd = c.send.displs.data(), *rc = c.recv.counts.data(), *rd = c.recv.displs.data();
    const MPI_Datatype st = c.send.s->type, rt = c.recv.s->type;
    const MPI_Datatype *sts = c.send.types.data(), *rts = c.recv.types.data();
    const MPI_Op op = c.mpi_op();
    const MPI_Comm comm = c.c.comm;
    MPI_Request *q = &c.request;
#define FORMS(name, NAME, ...)                                                          \
    c.f == blocking      ? MPI_##NAME(__VA_ARGS__ comm)                                 \
    : c.f == nonblocking ? MPI_I##name(__VA_ARGS__ comm, q)                             \
                         : PERSISTENT(NAME)(__VA_ARGS__ comm, MPI_INFO_NULL, q)
#define COMMA ,
    switch (c.w) {
    case allgather: FORMS(allgather, Allgather, s COMMA sn COMMA st COMMA d COMMA rn COMMA rt COMMA); break;
    case allgatherv: FORMS(allgatherv, Allgatherv, s COMMA sn COMMA st COMMA d COMMA rc COMMA rd COMMA rt COMMA); break;
    case allreduce: FORMS(allreduce, Allreduce, s COMMA d COMMA rn COMMA rt COMMA op COMMA); break;
    case alltoall: FORMS(alltoall, Alltoall, s COMMA sn COMMA st COMMA d COMMA rn COMMA rt COMMA); break;
    case alltoallv: FORMS(alltoallv, Alltoallv, s COMMA sc COMMA sd COMMA st COMMA d COMMA rc COMMA rd COMMA rt COMMA); break;
    case alltoallw: FORMS(alltoallw, Alltoallw, s COMMA sc COMMA sd COMMA sts COMMA d COMMA rc COMMA rd COMMA rts COMMA); break;
    case barrier: FORMS(barrier, Barrier, ); break;
    case bcast: FORMS(bcast, Bcast, d COMMA rn COMMA rt COMMA c.root COMMA); break;
    case exscan: FORMS(exscan, Exscan, s COMMA d COMMA rn COMMA rt COMMA op COMMA); break;
    case gather: FORMS(gather, Gather, s COMMA sn COMMA st COMMA d COMMA rn COMMA rt COMMA c.root COMMA); break;
    case gatherv: FORMS(gatherv, Gatherv, s COMMA sn COMMA st COMMA d COMMA rc COMMA rd COMMA rt COMMA c.root COMMA); break;
    case reduce: FORMS(reduce, Reduce, s COMMA d COMMA rn COMMA rt COMMA op COMMA c.root COMMA); break;
    case reduce_scatter: {
        // All ranks give all counts.
        const int *counts = c.send.counts.data();
        FORMS(reduce_scatter, Reduce_scatter, s COMMA d COMMA counts COMMA rt COMMA op COMMA);
        break;
    }
    case reduce_scatter_block: FORMS(reduce_scatter_block, Reduce_scatter_block, s COMMA d COMMA sn COMMA rt COMMA op COMMA); break;
    case scan: FORMS(scan, Scan, s COMMA d COMMA rn COMMA rt COMMA op COMMA); break;
    case scatter: FORMS(scatter, Scatter, s COMMA sn COMMA st COMMA d COMMA rn COMMA rt COMMA c.root COMMA); break;
    case scatterv: FORMS(scatterv, Scatterv, s COMMA sc COMMA sd COMMA st COMMA d COMMA rn COMMA rt COMMA c.root COMMA); break;
    default: break;
    }
}

uint64_t digest = 0, wrong = 0, calls = 0;
std::array<std::array<uint64_t, 3>, kinds> made;
expected_calls to_serve;

void call_check(call &c)
{
    // In place, what reduce_scatter leaves behind the own block is nobody's.
    size_t end = c.receives ? c.recv.memory.size() : 0;
    if (c.in_place && (c.w == reduce_scatter || c.w == reduce_scatter_block))
        end = static_cast<size_t>(c.recv.base + c.recv.counts[static_cast<size_t>(c.c.rank)] * c.recv.s->extent);
    uint64_t mine = mix(c.number * 3 + c.round);        // calls end in any order
    for (size_t k = 0; k < end; ++k) {
        mine = mix(mine ^ static_cast<uint32_t>(c.recv.memory[k]));
        if (c.recv.memory[k] == c.expected[k])
            continue;
        if (++wrong <= 5)
            std::printf("WRONG %s: rank %d, int %zu is %d, expected %d\n", c.text().c_str(), c.c.rank, k, c.recv.memory[k], c.expected[k]);
        break;
    }
    digest += mine;
    ++made[c.w][c.f];
    ++calls;
    if (c.c.spans) {
        bool bytes = c.w == barrier;
        for (const side *s : {&c.send, &c.recv})
            for (size_t i = 0; i < s->counts.size(); ++i)
                bytes |= s->ints(i) > 0;
        to_serve.add(names[c.w], bytes && c.required);
    }
}

std::vector<communicator> communicators(const pretended_sites &sites)
{
    std::vector<communicator> all;
    auto add = [&](MPI_Comm comm) {
        if (comm == MPI_COMM_NULL)
            return;
        communicator c{.comm = comm, .rank = 0, .size = 0, .spans = false};
        MPI_Comm_rank(comm, &c.rank);
        MPI_Comm_size(comm, &c.size);
        c.spans = sites.spanned(comm);
        all.push_back(c);
    };
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    add(MPI_COMM_WORLD);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    add(other);
    MPI_Comm_split(MPI_COMM_WORLD, 0, static_cast<int>(mix(static_cast<uint64_t>(rank)) % 1000), &other);     // other order
    add(other);
    MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? MPI_UNDEFINED : 0, -rank, &other);                       // one less
    add(other);
    return all;
}

} // namespace

int main(int argc, char **argv)
{
    uint64_t seed = 1, limit = 2000;
    double seconds = 0;
    int largest = 20000;
    bool alone = false;
    if (argc > 1 && std::string_view(argv[1]) == "--alone")
        alone = true, ++argv, --argc;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string key = argv[i];
        if (key == "--seed")
            seed = std::strtoull(argv[i + 1], nullptr, 10);
        else if (key == "--calls")
            limit = std::strtoull(argv[i + 1], nullptr, 10);
        else if (key == "--seconds")
            seconds = std::atof(argv[i + 1]), limit = UINT64_MAX;
        else if (key == "--largest")
            largest = std::atoi(argv[i + 1]);
    }
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    int world_rank, world_size;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (world_rank == 0)
        std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    shapes_make();
    MPI_Op_create(composed, 0, &compose);
    pretended_sites sites;
    sites.ask();
    auto comms = communicators(sites);
    const size_t shared = static_cast<size_t>(world_rank == world_size - 1 ? 3 : 4);    // the last one lacks a rank
    random_stream all{mix(seed)}, mine{mix(seed + 1000 + static_cast<uint64_t>(world_rank))};
    served_check served(alone);
    const double began = MPI_Wtime();
    uint64_t number = 0, generation = 0;
    for (bool more = true; more && number < limit;) {
        // New communicators now and then, as each has so many persistent requests only.
        if (const uint64_t age = number / 3000; age != generation) {
            generation = age;
            served.leave_out([&] {
                for (size_t k = 1; k < comms.size(); ++k)
                    MPI_Comm_free(&comms[k].comm);
                const int inits = comms[0].inits;
                comms = communicators(sites);
                comms[0].inits = inits;
            });
        }
        // A few calls at once; a blocking one ends the batch.
        std::vector<std::unique_ptr<call>> batch;
        for (size_t k = 1 + all.below(5); k > 0; --k) {
            const size_t on = all.below(4);
            const auto w = static_cast<what>(all.below(kinds));
            const auto f = static_cast<form>(all.below(3));
            random_stream here{all.next()};
            ++number;
            if (on >= shared)
                continue;
            auto c = std::make_unique<call>();
            c->w = w;
            c->f = f;
            c->c = comms[on];
            c->number = seed * 1'000'000'007 + number;
            c->required = f != persistent || ++comms[on].inits <= 1024;
            call_make(*c, here, largest);
            call_fill(*c);
            if (f == persistent)
                c->starts = 1 + static_cast<int>(here.below(2));
            call_issue(*c);
            if (f == persistent)
                MPI_Start(&c->request);
            if (f == blocking)
                call_check(*c);
            else
                batch.push_back(std::move(c));
        }
        while (!batch.empty()) {
            const size_t k = mine.below(batch.size());
            call &c = *batch[k];
            // Who waits must have started all that others may wait for.
            const bool started = std::all_of(batch.begin(), batch.end(), [](const auto &x) { return x->starts <= 1; });
            if (!started || mine.flip()) {
                int done = 0;
                MPI_Test(&c.request, &done, MPI_STATUS_IGNORE);
                if (!done)
                    continue;
            } else {
                MPI_Wait(&c.request, MPI_STATUS_IGNORE);
            }
            call_check(c);
            if (c.f == persistent && --c.starts > 0) {
                ++c.round;
                call_fill(c);
                MPI_Start(&c.request);
                continue;
            }
            if (c.f == persistent)
                MPI_Request_free(&c.request);
            batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(k));
        }
        if (seconds > 0) {
            int stop = MPI_Wtime() - began > seconds;
            MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (comms[0].spans)
                to_serve.add("bcast", true);
            more = !stop;
        }
    }
    wrong += served.faults(to_serve);
    if (!alone && !comms[0].spans) {
        std::printf("WRONG: OMPI_MCA_coll_wan_cluster_id names no two sites: nothing is tested\n");
        ++wrong;
    }
    for (size_t k = 1; k < comms.size(); ++k)
        MPI_Comm_free(&comms[k].comm);
    uint64_t sums[2] = {calls, wrong}, total[2], mixed = 0;
    digest = mix(digest + static_cast<uint64_t>(world_rank));
    MPI_Reduce(sums, total, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&digest, &mixed, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    MPI_Bcast(&total[1], 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (world_rank == 0) {
        for (int w = 0; w < kinds; ++w)
            std::printf("%-22s %8llu blocking %8llu non-blocking %8llu persistent\n", names[w],
                        static_cast<unsigned long long>(made[static_cast<size_t>(w)][0]), static_cast<unsigned long long>(made[static_cast<size_t>(w)][1]),
                        static_cast<unsigned long long>(made[static_cast<size_t>(w)][2]));
        std::printf("compared %llu results, %llu wrong\ndigest %016llx\n", static_cast<unsigned long long>(total[0]),
                    static_cast<unsigned long long>(total[1]), static_cast<unsigned long long>(mixed));
    }
    MPI_Op_free(&compose);
    shapes_free();
    served.close();
    MPI_T_finalize();   // 4.1.4 crashes when this comes after MPI_Finalize
    MPI_Finalize();
    return total[1] != 0;
}
