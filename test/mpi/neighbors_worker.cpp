/*
 * Neighbourhood collectives on communicators drawn by seed: Cartesian ones (with
 * dimensions of one and two, periodic or not), graphs, distributed graphs with
 * several edges between two ranks and to oneself, unequal degrees, none at
 * all.  Blocks of all sizes, 0 B, around 64 KB, beyond what goes in pieces;
 * displacements in any order, a datatype with gaps; the five collectives in
 * three forms, several requests under way.  All ranks draw the same graph, so
 * each knows which block of which rank it gets; every byte is compared, what
 * lies between blocks and those for nobody included.
 *
 *     neighbors_worker [--seed S] [--rounds N] [--blocking] [--largest INTS]
 *
 * Ends with "rank N: ok, C calls", or says what was wrong.  With WAN_TEST_SERVED, by counters: coll/wan served all
 * calls on communicators of several sites.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.hpp"
#include "persistent.hpp"
#include "pretended_sites.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

int rank, ranks;
uint64_t served;
std::string now;        // what is being done, for complaints
constexpr int untouched = 0x5a5a5a5a;

[[noreturn]] void complain(const std::string &what)
{
    std::printf("rank %d: wrong: %s: %s\n", rank, now.c_str(), what.c_str());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
    std::abort();
}

/** A block comes from, or goes to, block `block` of rank `peer`; -1: nobody. */
struct end {
    int peer = -1, block = 0;
};

/** Of all ranks. */
struct graph {
    std::vector<std::vector<end>> from, to;     // [rank][block]
    explicit graph(int n) : from(static_cast<size_t>(n)), to(static_cast<size_t>(n)) {}
};

using generator = std::mt19937_64;
int draw(generator &g, int least, int most) { return least + static_cast<int>(g() % static_cast<uint64_t>(most - least + 1)); }

/** Several edges between two ranks: the k-th there is the k-th here. */
graph matched(const std::vector<std::vector<int>> &out)
{
    graph g(ranks);
    for (int r = 0; r < ranks; ++r)
        for (size_t k = 0; k < out[static_cast<size_t>(r)].size(); ++k) {
            const int peer = out[static_cast<size_t>(r)][k];
            g.to[static_cast<size_t>(r)].push_back({peer, static_cast<int>(g.from[static_cast<size_t>(peer)].size())});
            g.from[static_cast<size_t>(peer)].push_back({r, static_cast<int>(k)});
        }
    return g;
}

MPI_Comm draw_cart(generator &g, graph &edges)
{
    const int dims = draw(g, 1, 3);
    std::vector<int> size(static_cast<size_t>(dims), 1), periodic(size.size());
    int left = ranks;
    for (int d = 0; d < dims; ++d) {
        std::vector<int> fits;
        for (int k = 1; k <= left; ++k)
            if (left % k == 0)
                fits.push_back(k);
        size[static_cast<size_t>(d)] = d + 1 == dims ? left : fits[g() % fits.size()];
        left /= size[static_cast<size_t>(d)];
        periodic[static_cast<size_t>(d)] = draw(g, 0, 2) > 0;
        now += " " + std::to_string(size[static_cast<size_t>(d)]) + (periodic[static_cast<size_t>(d)] ? "p" : "");
    }
    for (int r = 0; r < ranks; ++r) {
        int stride = 1;
        std::vector<end> from(static_cast<size_t>(2 * dims)), to(from.size());
        for (int d = dims - 1; d >= 0; --d) {
            const int n = size[static_cast<size_t>(d)], at = r / stride % n;
            for (int up : {0, 1}) {
                const int there = at + (up ? 1 : -1);
                if (!periodic[static_cast<size_t>(d)] && (there < 0 || there >= n))
                    continue;
                const int peer = r + ((there + n) % n - at) * stride;
                // What goes to the one below comes from the one above.
                from[static_cast<size_t>(2 * d + up)] = to[static_cast<size_t>(2 * d + up)] = {peer, 2 * d + !up};
            }
            stride *= n;
        }
        edges.from[static_cast<size_t>(r)] = from;
        edges.to[static_cast<size_t>(r)] = to;
    }
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, dims, size.data(), periodic.data(), 0, &comm);
    return comm;
}

MPI_Comm draw_graph(generator &g, graph &edges)
{
    std::vector<std::vector<int>> out(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r)
        for (int other = 0; other < r; ++other)
            if (draw(g, 0, 2) == 0) {
                out[static_cast<size_t>(r)].push_back(other);
                out[static_cast<size_t>(other)].push_back(r);
            }
    std::vector<int> index, flat;
    for (const auto &of : out) {
        flat.insert(flat.end(), of.begin(), of.end());
        index.push_back(static_cast<int>(flat.size()));
    }
    flat.push_back(0);
    // What a rank gets comes in the order of its own list.
    for (int r = 0; r < ranks; ++r)
        for (int peer : out[static_cast<size_t>(r)]) {
            const auto &theirs = out[static_cast<size_t>(peer)];
            const int back = static_cast<int>(std::find(theirs.begin(), theirs.end(), r) - theirs.begin());
            edges.from[static_cast<size_t>(r)].push_back({peer, back});
            edges.to[static_cast<size_t>(r)].push_back({peer, back});
        }
    MPI_Comm comm;
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index.data(), flat.data(), 0, &comm);
    return comm;
}

MPI_Comm draw_dist_graph(generator &g, graph &edges)
{
    std::vector<std::vector<int>> out(static_cast<size_t>(ranks));
    const int most = draw(g, 0, 5);
    for (auto &of : out) {
        of.resize(static_cast<size_t>(draw(g, 0, most)));
        for (int &peer : of)
            peer = draw(g, 0, ranks - 1);
    }
    edges = matched(out);
    std::vector<int> in;
    for (const end &e : edges.from[static_cast<size_t>(rank)])
        in.push_back(e.peer);
    auto mine = out[static_cast<size_t>(rank)];
    const int ins = static_cast<int>(in.size()), outs = static_cast<int>(mine.size());
    in.push_back(0);
    mine.push_back(0);
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, in.data(), MPI_UNWEIGHTED, outs, mine.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    return comm;
}

/** Int k of what rank r puts into its block b, in call c. */
int value(uint64_t c, int r, int b, int k)
{
    uint64_t x = c * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(r) * 0xbf58476d1ce4e5b9ull + static_cast<uint64_t>(b) * 0x94d049bb133111ebull
                 + static_cast<uint64_t>(k) * 0xd6e8feb86659fd93ull;
    x ^= x >> 29;
    return static_cast<int>(x * 0xff51afd7ed558ccdull >> 33);
}

struct buffer {
    std::vector<int> counts, places, displs;    // ints; where blocks begin, in ints, in extents,
    std::vector<MPI_Aint> offsets;              // and in bytes
    std::vector<MPI_Datatype> types;
    std::vector<int> memory;
    int step = 1;                               // 2: every other int
};

enum what { allgather, allgatherv, alltoall, alltoallv, alltoallw, kinds };
const char *const names[] = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};

struct call {
    what w;
    uint64_t number;
    int form;           // 0 blocking, 1 not, 2 persistent
    buffer in, out;
    MPI_Datatype in_type = MPI_INT, out_type = MPI_INT;
    std::vector<end> from;
    MPI_Request request = MPI_REQUEST_NULL;
    std::string said;
};

/** Ints that go from block b of rank r: all ranks draw the same. */
int count_of(uint64_t seed, int r, int b, int largest)
{
    generator g(seed ^ (static_cast<uint64_t>(r) << 20 | static_cast<uint64_t>(b)));
    switch (draw(g, 0, 9)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 16 * 1024 + draw(g, -2, 2);              // 64 KB
    case 3: return std::min(largest, 63 * 256 * draw(g, 1, 40));
    case 4: return draw(g, 0, largest);
    default: return draw(g, 1, 3000);
    }
}

/** Blocks in any order, with gaps between. */
void lay_out(buffer &b, generator &g, bool dense)
{
    std::vector<size_t> order(b.counts.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    if (!dense)
        std::shuffle(order.begin(), order.end(), g);
    b.places.assign(order.size(), 0);
    b.displs = b.places;
    int at = dense ? 0 : 2 * b.step;
    for (size_t i : order) {
        b.places[i] = at;
        b.displs[i] = at / b.step;
        at += (b.counts[i] + (dense ? 0 : draw(g, 0, 3))) * b.step;
    }
    b.memory.assign(static_cast<size_t>(at) + 4, untouched);
    for (auto *array : {&b.counts, &b.places, &b.displs})
        array->reserve(1);      // Open MPI wants arrays where there is nothing in them, too
    b.offsets.reserve(1);
    for (int p : b.places)
        b.offsets.push_back(p * static_cast<MPI_Aint>(sizeof(int)));
}

/** Every other int, and the next one begins behind the gap. */
MPI_Datatype with_gap()
{
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
    MPI_Type_commit(&type);
    return type;
}

void prepare(call &c, const graph &edges, generator &g, uint64_t seed, int largest, bool gaps_in, bool gaps_out)
{
    const auto &to = edges.to[static_cast<size_t>(rank)], &from = edges.from[static_cast<size_t>(rank)];
    const bool all_alike = c.w == allgather || c.w == alltoall, gathers = c.w == allgather || c.w == allgatherv;
    auto sent = [&](int r, int b) {
        return count_of(seed, all_alike ? 0 : r, all_alike || gathers ? 0 : b, largest);
    };
    c.from = from;
    c.in.step = gaps_in ? 2 : 1;
    c.out.step = gaps_out ? 2 : 1;
    c.in_type = gaps_in ? with_gap() : MPI_INT;
    c.out_type = gaps_out ? with_gap() : MPI_INT;
    if (gathers)
        c.in.counts = {sent(rank, 0)};
    else
        for (size_t b = 0; b < to.size(); ++b)
            c.in.counts.push_back(sent(rank, static_cast<int>(b)));
    for (const end &e : from)
        c.out.counts.push_back(e.peer < 0 ? sent(rank, 0) : sent(e.peer, e.block));
    lay_out(c.in, g, c.w != alltoallv && c.w != alltoallw);
    lay_out(c.out, g, all_alike);
    for (size_t b = 0; b < c.in.counts.size(); ++b)
        for (int k = 0; k < c.in.counts[b]; ++k)
            c.in.memory[static_cast<size_t>(c.in.places[b] + k * c.in.step)] = value(c.number, rank, static_cast<int>(b), k);
    for (buffer *b : {&c.in, &c.out})
        b->types.assign(b->counts.size() + 1, b == &c.in ? c.in_type : c.out_type);
}

void begin(call &c, MPI_Comm comm)
{
    int *in = c.in.memory.data(), *out = c.out.memory.data();
    // (Open MPI compares the two, also where one of them counts for no block.)
    const int in_count = !c.in.counts.empty() ? c.in.counts[0] : c.out.counts.empty() ? 0 : c.out.counts[0];
    const int out_count = c.out.counts.empty() ? in_count : c.out.counts[0];
    const int *ic = c.in.counts.data(), *oc = c.out.counts.data(), *ip = c.in.displs.data(), *op = c.out.displs.data();
    const MPI_Aint *io = c.in.offsets.data(), *oo = c.out.offsets.data();
    const MPI_Datatype *it = c.in.types.data(), *ot = c.out.types.data();
    MPI_Request *r = &c.request;
#define FORMS(name, ...)                                                                \
    if (c.form == 0)                                                                    \
        MPI_Neighbor_##name(__VA_ARGS__, comm);                                         \
    else if (c.form == 1)                                                               \
        MPI_Ineighbor_##name(__VA_ARGS__, comm, r);                                     \
    else                                                                                \
        PERSISTENT(Neighbor_##name)(__VA_ARGS__, comm, MPI_INFO_NULL, r), MPI_Start(r); \
    break
    switch (c.w) {
    case allgather: FORMS(allgather, in, in_count, c.in_type, out, out_count, c.out_type);
    case allgatherv: FORMS(allgatherv, in, in_count, c.in_type, out, oc, op, c.out_type);
    case alltoall: FORMS(alltoall, in, in_count, c.in_type, out, out_count, c.out_type);
    case alltoallv: FORMS(alltoallv, in, ic, ip, c.in_type, out, oc, op, c.out_type);
    default: FORMS(alltoallw, in, ic, io, it, out, oc, oo, ot);
    }
#undef FORMS
}

void compare(const call &c)
{
    now = c.said;
    const bool gathers = c.w == allgather || c.w == allgatherv;
    std::vector<int> expected(c.out.memory.size(), untouched);
    for (size_t b = 0; b < c.from.size(); ++b)
        for (int k = 0; c.from[b].peer >= 0 && k < c.out.counts[b]; ++k)
            expected[static_cast<size_t>(c.out.places[b] + k * c.out.step)] = value(c.number, c.from[b].peer, gathers ? 0 : c.from[b].block, k);
    for (size_t i = 0; i < expected.size(); ++i)
        if (expected[i] != c.out.memory[i])
            complain("int " + std::to_string(i) + " of " + std::to_string(expected.size()) + " is " + std::to_string(c.out.memory[i]) + ", not "
                     + std::to_string(expected[i]));
}

void finish(call &c)
{
    if (c.form > 0)
        MPI_Wait(&c.request, MPI_STATUS_IGNORE);
    compare(c);
    if (c.form == 2) {
        std::fill(c.out.memory.begin(), c.out.memory.end(), untouched);
        MPI_Start(&c.request);
        MPI_Wait(&c.request, MPI_STATUS_IGNORE);
        compare(c);
        MPI_Request_free(&c.request);
    }
    for (MPI_Datatype *t : {&c.in_type, &c.out_type})
        if (*t != MPI_INT)
            MPI_Type_free(t);
}

/**
 * A rank without neighbours has done its part at once (Open MPI does not even ask coll/wan), and may then wait for
 * a message that another sends after its own part; then all go on together.  Beside it, MPI_Comm_idup agrees in the
 * background.
 */
void check_alone()
{
    for (int round = 0; round < 6; ++round) {
        now = "a rank without neighbours, round " + std::to_string(round);
        const int alone = round % ranks;
        std::vector<int> others;
        for (int r = 0; r < ranks && rank != alone; ++r)
            if (r != rank && r != alone)
                others.push_back(r);
        const int n = static_cast<int>(others.size());
        others.push_back(0);
        MPI_Comm comm, copy = MPI_COMM_NULL;
        MPI_Request duplicating = MPI_REQUEST_NULL;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, others.data(), MPI_UNWEIGHTED, n, others.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
        if (round % 2 && served)        // Open MPI's own steps take each other's tags
            MPI_Comm_idup(comm, &copy, &duplicating);
        for (int time = 0; time < 3; ++time) {
            std::vector<int> in(static_cast<size_t>(n) + 1, 1000 * rank + time), out(in.size(), -1);
            const int count = n ? 1 : 0;
            if (time == 1) {
                MPI_Request request;
                MPI_Ineighbor_alltoall(in.data(), count, MPI_INT, out.data(), count, MPI_INT, comm, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                MPI_Neighbor_alltoall(in.data(), count, MPI_INT, out.data(), count, MPI_INT, comm);
            }
            for (int i = 0; i < n; ++i)
                if (out[static_cast<size_t>(i)] != 1000 * others[static_cast<size_t>(i)] + time)
                    complain("block " + std::to_string(i) + " of time " + std::to_string(time));
            int word = time;
            if (rank == (alone + 1) % ranks)
                MPI_Send(&word, 1, MPI_INT, alone, 5, MPI_COMM_WORLD);
            if (rank == alone)
                MPI_Recv(&word, 1, MPI_INT, (alone + 1) % ranks, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (time == 1) {
                int sum = 0;
                MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
                if (sum != ranks * (ranks - 1) / 2)
                    complain("allreduce");
            }
        }
        MPI_Wait(&duplicating, MPI_STATUS_IGNORE);
        if (copy != MPI_COMM_NULL)
            MPI_Comm_free(&copy);
        MPI_Comm_free(&comm);
    }
}

/**
 * One way only, and nothing at the other end: arrays may be missing there.  (Open MPI 4.1 refuses some of these calls; then
 * neither end makes them.)
 */
void check_one_way()
{
    now = "one way, without arrays";
    const bool source = rank == 0, sink = rank == 1;
    int out = 1, in = 0;
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sink, &in, MPI_UNWEIGHTED, source, &out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    constexpr int most = 40'000;
    std::vector<int> from(most), to(most);
    for (int ints : {1, most})
        for (int form : {1, 0}) {
            for (int k = 0; k < ints; ++k)
                from[static_cast<size_t>(k)] = value(7, 0, form, k);
            std::fill(to.begin(), to.end(), untouched);
            const MPI_Datatype type = MPI_INT;
            const MPI_Aint at = 0;
            MPI_Request request = MPI_REQUEST_NULL;
            const int *sends = source ? &ints : nullptr, *receives = sink ? &ints : nullptr;
            const MPI_Aint *sent_at = source ? &at : nullptr, *received_at = sink ? &at : nullptr;
            const MPI_Datatype *sent = source ? &type : nullptr, *received = sink ? &type : nullptr;
            int code = form ? MPI_Ineighbor_alltoallw(from.data(), sends, sent_at, sent, to.data(), receives, received_at, received, comm, &request)
                            : MPI_Neighbor_alltoallw(from.data(), sends, sent_at, sent, to.data(), receives, received_at, received, comm);
            int refused = code != MPI_SUCCESS, any = 0;
            MPI_Allreduce(&refused, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            if (any) {
                if (rank == 0)
                    std::printf("Open MPI refuses calls without arrays\n");
                return;     // with what the others have begun
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int k = 0; sink && k < ints; ++k)
                if (to[static_cast<size_t>(k)] != value(7, 0, form, k))
                    complain("int " + std::to_string(k));
        }
    MPI_Comm_free(&comm);
}

/** More persistent requests than coll/wan has tags for: the last ones are Open MPI's own, on all ranks. */
void check_many_requests()
{
    now = "many persistent requests";
    constexpr int all = 1040;
    const int dims[] = {ranks}, periodic[] = {1};
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periodic, 0, &comm);
    std::vector<int> in(2 * all), out(2 * all, untouched);
    std::vector<MPI_Request> requests(all);
    for (int i = 0; i < all; ++i) {
        in[static_cast<size_t>(2 * i)] = value(1, rank, 0, i);
        in[static_cast<size_t>(2 * i + 1)] = value(1, rank, 1, i);
        PERSISTENT(Neighbor_alltoall)(&in[static_cast<size_t>(2 * i)], 1, MPI_INT, &out[static_cast<size_t>(2 * i)], 1, MPI_INT, comm, MPI_INFO_NULL, &requests[static_cast<size_t>(i)]);
    }
    MPI_Startall(all, requests.data());
    MPI_Waitall(all, requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < all; ++i)
        if (out[static_cast<size_t>(2 * i)] != value(1, (rank + ranks - 1) % ranks, 1, i) || out[static_cast<size_t>(2 * i + 1)] != value(1, (rank + 1) % ranks, 0, i))
            complain("request " + std::to_string(i));
    for (MPI_Request &r : requests)
        MPI_Request_free(&r);
    MPI_Comm_free(&comm);
}

} // namespace

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    int rounds = 40, largest = 40'000;
    bool blocking = false;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--blocking")
            blocking = true;
        else if (i + 1 < argc && word == "--seed")
            seed = std::strtoull(argv[++i], nullptr, 0);
        else if (i + 1 < argc && word == "--rounds")
            rounds = std::atoi(argv[++i]);
        else if (i + 1 < argc && word == "--largest")
            largest = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr, "usage: neighbors_worker [--seed S] [--rounds N] [--blocking] [--largest INTS]\n");
            return 2;
        }
    }
    MPI_Init(&argc, &argv);
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pretended_sites sites;
    sites.ask();
    wan_counters counters;
    const bool there = counters.open({"served_neighbor"});
    uint64_t calls = 0;
    for (int round = 0; round < rounds; ++round) {
        generator g(seed * 1'000'003 + static_cast<uint64_t>(round));   // the same on all ranks
        graph edges(ranks);
        const int kind = draw(g, 0, 2);
        now = "seed " + std::to_string(seed) + " round " + std::to_string(round) + (kind == 0 ? " cart" : kind == 1 ? " graph" : " dist_graph");
        MPI_Comm comm = kind == 0 ? draw_cart(g, edges) : kind == 1 ? draw_graph(g, edges) : draw_dist_graph(g, edges);
        const std::string where = now;
        const uint64_t before = there ? counters[0] : 0;
        uint64_t made = 0, with_bytes = 0;      // Open MPI asks nobody where there are none
        for (int n = draw(g, 1, 6); n > 0;) {
            std::vector<call> together(static_cast<size_t>(std::min(n, draw(g, 1, 3))));
            n -= static_cast<int>(together.size());
            for (call &c : together) {
                c.w = static_cast<what>(draw(g, 0, kinds - 1));
                c.form = blocking ? 0 : draw(g, 0, 2);
                c.number = calls++;
                c.said = where + " " + names[c.w] + " form " + std::to_string(c.form);
                const uint64_t size_seed = g();
                const bool gaps_in = draw(g, 0, 3) == 0, gaps_out = draw(g, 0, 3) == 0;
                generator mine(g() + static_cast<uint64_t>(rank));
                prepare(c, edges, mine, size_seed, largest, gaps_in, gaps_out);
                now = c.said + " counts " + std::to_string(c.in.counts.empty() ? -1 : c.in.counts[0]) + " " + std::to_string(c.out.counts.empty() ? -1 : c.out.counts[0]);
                if (std::getenv("WAN_TEST_TELL")) {
                    std::printf("rank %d: %s\n", rank, now.c_str());
                    std::fflush(stdout);
                }
                begin(c, comm);
                const auto bytes = [](const buffer &b) { return std::any_of(b.counts.begin(), b.counts.end(), [](int n) { return n > 0; }); };
                made += c.form == 2 ? 2 : 1;
                with_bytes += !bytes(c.in) && !bytes(c.out) ? 0 : c.form == 2 ? 2 : 1;
            }
            std::shuffle(together.begin(), together.end(), g);
            for (call &c : together)
                finish(c);
        }
        const uint64_t here = there ? counters[0] - before : 0;
        now = where;
        if (sites.spanned(comm) && std::getenv("WAN_TEST_SERVED") && (here < with_bytes || here > made))
            complain("coll/wan served " + std::to_string(here) + " of " + std::to_string(with_bytes) + " calls with bytes, " + std::to_string(made) + " in all");
        served += here;
        MPI_Comm_free(&comm);
    }
    if (std::getenv("WAN_TEST_SERVED") && served == 0) {
        now = "counters";
        complain("coll/wan served nothing");
    }
    check_alone();
    check_one_way();
    if (!blocking && ranks > 2)
        check_many_requests();
    std::printf("rank %d: ok, %llu calls\n", rank, static_cast<unsigned long long>(calls));
    counters.close();
    MPI_T_finalize();
    MPI_Finalize();
}
