/*
 * The life of requests: what a caller may do after a non-blocking or
 * persistent call has returned, on a communicator whose ranks have not agreed
 * yet (each part makes its own) and again when they have.
 *
 *   requests arrays      arrays of counts, displacements and datatypes are overwritten at once, as
 *                        Open MPI's Fortran bindings do; datatypes and operators are freed
 *   requests nothing     persistent calls with nothing to send or receive on some ranks
 *   requests order       a neighbourhood collective after a call that waits for the answer
 *   requests threads     a blocking call while another thread makes progress, with calls in line
 *   requests dup         MPI_Comm_dup first: MPI_COMM_WORLD's first exchange is non-blocking
 *   requests measured    the same; then one vector, blocking and not
 *   requests streams     persistent requests that ranks start and end in different orders, with blocking and other calls
 *                        between; they go and come, and no memory stays (WAN_TEST_TREES=BYTES: nor of adaptive trees, which
 *                        serve all; so much of what Open MPI's lists once held)
 *   requests lists       long broadcasts, blocking and not, with more under way at once than lists of Open MPI's with an end hold
 *   requests rarely      MPI_Test now and then: each call takes all steps that what has come allows
 *
 * Ends with "rank N: ok", or says what was wrong.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.hpp"
#include "persistent.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank, ranks;

void check(bool good, const std::string &what)
{
    if (good)
        return;
    std::printf("rank %d: wrong: %s\n", rank, what.c_str());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/** A new communicator over all ranks: without a collective on the one of its ranks' last call. */
MPI_Comm fresh()
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    return comm;
}

/** Arrays that only live during the call. */
template <typename T> class passing {
public:
    explicit passing(std::vector<T> v) : v_(std::move(v)) {}
    const T *data() const { return v_.data(); }
    void spoil() { std::memset(v_.data(), 0x5a, v_.size() * sizeof(T)); }

private:
    std::vector<T> v_;
};

/** Every other int: `pairs` of them, with a gap. */
MPI_Datatype gaps(int pairs)
{
    MPI_Datatype type;
    MPI_Type_vector(pairs, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

void sum(void *in, void *out, int *n, MPI_Datatype *)
{
    for (int i = 0; i < *n; ++i)
        static_cast<int *>(out)[i] += static_cast<int *>(in)[i];
}

int value(int from, int to, int i) { return 10000 * from + 100 * to + i; }

/**
 * Each rank sends `each` ints to each other, described by arrays.  With gaps: the datatype is freed,
 * but its array lives on, since Open MPI itself reads it again when the request ends.
 */
void alltoallw(MPI_Comm comm, bool persistent, int each, bool with_gaps)
{
    const int step = with_gaps ? 2 : 1;
    const int span = step * each;
    std::vector<int> in(static_cast<size_t>(span * ranks), -1), out(in.size(), -1);
    for (int to = 0; to < ranks; ++to)
        for (int i = 0; i < each; ++i)
            in[static_cast<size_t>(to * span + step * i)] = value(rank, to, i);
    MPI_Datatype type = with_gaps ? gaps(each) : MPI_INT;
    std::vector<int> at;
    for (int r = 0; r < ranks; ++r)
        at.push_back(r * span * static_cast<int>(sizeof(int)));
    passing<int> counts(std::vector<int>(static_cast<size_t>(ranks), with_gaps ? 1 : each)), places(at);
    passing<MPI_Datatype> types(std::vector<MPI_Datatype>(static_cast<size_t>(ranks), type));
    MPI_Request request;
    if (persistent)
        PERSISTENT(Alltoallw)(in.data(), counts.data(), places.data(), types.data(), out.data(), counts.data(), places.data(), types.data(), comm, MPI_INFO_NULL, &request);
    else
        MPI_Ialltoallw(in.data(), counts.data(), places.data(), types.data(), out.data(), counts.data(), places.data(), types.data(), comm, &request);
    counts.spoil();
    places.spoil();
    if (with_gaps)
        MPI_Type_free(&type);
    else
        types.spoil();
    for (int round = 0; round < (persistent ? 3 : 1); ++round) {
        if (persistent) {
            std::fill(out.begin(), out.end(), -1);
            MPI_Start(&request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int from = 0; from < ranks; ++from)
            for (int i = 0; i < each; ++i) {
                const size_t k = static_cast<size_t>(from * span + step * i);
                check(out[k] == value(from, rank, i) && (!with_gaps || out[k + 1] == -1), (persistent ? "alltoallw_init" : "ialltoallw") + std::string(with_gaps ? ", gaps" : "") + " from " + std::to_string(from) + " at " + std::to_string(i) + " of " + std::to_string(each) + ": " + std::to_string(out[k]));
            }
    }
    if (persistent)
        MPI_Request_free(&request);
}

/** Blocks of r + 1 ints to everyone, gathered at the last rank, scattered from it, combined in blocks. */
void vectors(MPI_Comm comm)
{
    std::vector<int> sizes, places;
    int total = 0;
    for (int r = 0; r < ranks; ++r) {
        sizes.push_back(r + 1);
        places.push_back(total);
        total += r + 1;
    }
    const int root = ranks - 1;
    std::vector<int> mine, all;
    for (int i = 0; i <= rank; ++i)
        mine.push_back(value(rank, 0, i));
    for (int r = 0; r < ranks; ++r)
        for (int i = 0; i <= r; ++i)
            all.push_back(value(r, 0, i));
    std::vector<int> gathered(all.size()), at_root(all.size()), scattered(mine.size()), combined(mine.size());
    std::vector<passing<int>> c(8, passing<int>(sizes)), d(8, passing<int>(places));
    MPI_Request request[4];
    MPI_Op op;
    MPI_Op_create(sum, 0, &op);
    MPI_Datatype ints;
    MPI_Type_contiguous(1, MPI_INT, &ints);
    MPI_Type_commit(&ints);
    const int own = rank + 1;
    MPI_Iallgatherv(mine.data(), own, ints, gathered.data(), c[0].data(), d[0].data(), ints, comm, &request[0]);
    MPI_Igatherv(mine.data(), own, ints, at_root.data(), c[1].data(), d[1].data(), ints, root, comm, &request[1]);
    MPI_Iscatterv(all.data(), c[2].data(), d[2].data(), ints, scattered.data(), own, ints, root, comm, &request[2]);
    MPI_Ireduce_scatter(all.data(), combined.data(), c[3].data(), MPI_INT, op, comm, &request[3]);
    for (auto &x : c)
        x.spoil();
    for (auto &x : d)
        x.spoil();
    MPI_Op_free(&op);
    MPI_Type_free(&ints);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    check(gathered == all, "iallgatherv");
    check(rank != root || at_root == all, "igatherv");
    check(scattered == mine, "iscatterv");
    for (int i = 0; i <= rank; ++i)
        check(combined[static_cast<size_t>(i)] == ranks * value(rank, 0, i), "ireduce_scatter");
}

/** Operator and datatype are freed between the making of a request and its starts. */
void persistent_objects(MPI_Comm comm)
{
    MPI_Op op;
    MPI_Op_create(sum, 1, &op);
    MPI_Datatype type = gaps(50);
    int in[3] = {rank, 1, 2}, out[3], data[100];
    MPI_Request reduce, bcast;
    PERSISTENT(Allreduce)(in, out, 3, MPI_INT, op, comm, MPI_INFO_NULL, &reduce);
    PERSISTENT(Bcast)(data, 1, type, 0, comm, MPI_INFO_NULL, &bcast);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    std::vector<void *> filler;     // so that freed memory is another's
    for (int i = 0; i < 200; ++i)
        filler.push_back(std::memset(std::malloc(static_cast<size_t>(40 + 8 * i)), 0x5a, static_cast<size_t>(40 + 8 * i)));
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 100; ++i)
            data[i] = rank == 0 ? i + round : -1;
        MPI_Start(&bcast);
        MPI_Start(&reduce);
        MPI_Wait(&reduce, MPI_STATUS_IGNORE);
        MPI_Wait(&bcast, MPI_STATUS_IGNORE);
        check(out[0] == ranks * (ranks - 1) / 2 && out[1] == ranks && out[2] == 2 * ranks, "allreduce_init");
        for (int i = 0; i < 99; ++i)
            check(data[i] == (rank == 0 || i % 2 == 0 ? i + round : -1), "bcast_init");
    }
    MPI_Request_free(&reduce);
    MPI_Request_free(&bcast);
    for (void *p : filler)
        std::free(p);
}

void arrays()
{
    for (bool persistent : {false, true}) {
        MPI_Comm comm = fresh();
        for (int each : {5, 3000})
            alltoallw(comm, persistent, each, false);
        MPI_Comm_free(&comm);
        comm = fresh();
        for (int each : {5, 3000})
            alltoallw(comm, false, each, true);
        MPI_Comm_free(&comm);
    }
    MPI_Comm comm = fresh();
    vectors(comm);
    vectors(comm);
    MPI_Comm_free(&comm);
    // Of libnbc's persistent requests, objects that were freed are gone: only where coll/wan keeps them.
    if (std::getenv("WAN_TEST_SERVED")) {
        comm = fresh();
        MPI_Barrier(comm);
        persistent_objects(comm);
        MPI_Comm_free(&comm);
        comm = fresh();
        persistent_objects(comm);
        MPI_Comm_free(&comm);
    }
}

/** Rank 0 has nothing at all. */
void nothing()
{
    for (int first = 0; first < 2; ++first) {
        MPI_Comm comm = fresh();
        if (!first)
            MPI_Barrier(comm);
        std::vector<int> counts(static_cast<size_t>(ranks), rank == 0 ? 0 : 1), places;
        counts[0] = 0;
        for (int r = 0; r < ranks; ++r)
            places.push_back(r);
        std::vector<int> in(static_cast<size_t>(ranks), rank), out(in.size(), -1);
        MPI_Request request;
        PERSISTENT(Alltoallv)(in.data(), counts.data(), places.data(), MPI_INT, out.data(), counts.data(), places.data(), MPI_INT, comm, MPI_INFO_NULL, &request);
        for (int round = 0; round < 3; ++round) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int r = 1; r < ranks && rank > 0; ++r)
                check(out[static_cast<size_t>(r)] == r, "alltoallv_init");
        }
        MPI_Request_free(&request);
        MPI_Comm_free(&comm);
    }
}

/** Ranks differ in when they learn the answer, not in the order of their calls. */
void order()
{
    for (int round = 0; round < 6; ++round) {
        int dims[1] = {ranks}, periods[1] = {1};
        MPI_Comm comm;
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
        int sum_of[4] = {rank, 1, 2, 3}, total[4] = {}, out[2] = {rank, rank + 1000}, in[2] = {-1, -1};
        MPI_Request request[2];
        MPI_Iallreduce(sum_of, total, 4, MPI_INT, MPI_SUM, comm, &request[0]);
        if (rank % 2 == round % 2) {
            int done = 0;
            const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
            while (std::chrono::steady_clock::now() < until)
                MPI_Test(&request[0], &done, MPI_STATUS_IGNORE);
        }
        MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        check(total[0] == ranks * (ranks - 1) / 2 && total[3] == 3 * ranks, "iallreduce before ineighbor_alltoall");
        // To the left went `rank`, to the right rank + 1000.
        check(in[0] == (rank + ranks - 1) % ranks + 1000 && in[1] == (rank + 1) % ranks, "ineighbor_alltoall");
        MPI_Comm_free(&comm);
    }
}

void threads()
{
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    std::atomic<bool> ends{false};
    std::thread progress([&] {
        int flag;
        while (!ends)
            MPI_Iprobe(MPI_ANY_SOURCE, 1, other, &flag, MPI_STATUS_IGNORE);
    });
    for (int round = 0; round < 40; ++round) {
        MPI_Comm comm = fresh();
        constexpr int calls = 6;
        int in[calls], out[calls], data = rank == 0 ? 4711 + round : -1;
        MPI_Request request[calls];
        for (int i = 0; i < calls; ++i) {
            in[i] = rank + i;
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, comm, &request[i]);
            if (i == calls / 2) {
                MPI_Bcast(&data, 1, MPI_INT, 0, comm);
                check(data == 4711 + round, "bcast beside a line");
            }
        }
        MPI_Waitall(calls, request, MPI_STATUSES_IGNORE);
        for (int i = 0; i < calls; ++i)
            check(out[i] == ranks * (ranks - 1) / 2 + ranks * i, "iallreduce in line");
        MPI_Comm_free(&comm);
    }
    ends = true;
    progress.join();
    MPI_Comm_free(&other);
}

void dup()
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < 3; ++round) {
        int in = rank, out = 0, later = 0;
        MPI_Request request;
        MPI_Iallreduce(&in, &later, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(out == ranks * (ranks - 1) / 2 && later == ranks - 1, "allreduce after a dup");
    }
    MPI_Comm_free(&comm);
}

/** x -> a x + b, modulo 2^16 each, first that of the lower rank: does not commute. */
void compose(void *in, void *out, int *n, MPI_Datatype *)
{
    const auto *f = static_cast<const unsigned *>(in);
    auto *g = static_cast<unsigned *>(out);
    for (int i = 0; i < *n; ++i) {
        const unsigned a = g[i] >> 16;
        g[i] = a * (f[i] >> 16) << 16 | ((a * f[i] + g[i]) & 0xffff);
    }
}

/** Five persistent requests of so many ints, in place where that can be, and what they are to give. */
class several {
public:
    several(MPI_Comm comm, int n, MPI_Op op, int root) : n_(n), root_(root), type_(gaps(n))
    {
        const size_t size = static_cast<size_t>(n);
        bcast_.resize(2 * size), sum_.resize(size), chain_.resize(size), blocks_.resize(size * static_cast<size_t>(ranks));
        PERSISTENT(Bcast)(bcast_.data(), 1, type_, root, comm, MPI_INFO_NULL, &request[0]);
        PERSISTENT(Allreduce)(MPI_IN_PLACE, sum_.data(), n, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request[1]);
        const bool at_root = rank == root;
        PERSISTENT(Reduce)(at_root ? MPI_IN_PLACE : chain_.data(), at_root ? chain_.data() : nullptr, n, MPI_UNSIGNED, op, root, comm, MPI_INFO_NULL, &request[2]);
        int *own = blocks_.data() + n * rank;
        PERSISTENT(Gather)(at_root ? MPI_IN_PLACE : own, n, MPI_INT, blocks_.data(), n, MPI_INT, root, comm, MPI_INFO_NULL, &request[3]);
        PERSISTENT(Barrier)(comm, MPI_INFO_NULL, &request[4]);
    }
    ~several()
    {
        for (MPI_Request &r : request)
            MPI_Request_free(&r);
        MPI_Type_free(&type_);
    }
    several(const several &) = delete;
    several &operator=(const several &) = delete;
    void fill(int round)
    {
        std::fill(blocks_.begin(), blocks_.end(), -1);
        for (int i = 0; i < n_; ++i) {
            const auto k = static_cast<size_t>(i);
            bcast_[2 * k] = rank == root_ ? value(0, round, i) : -1;
            bcast_[2 * k + 1] = -2;
            sum_[k] = value(rank, round, i);
            chain_[k] = map(rank, round, i);
            blocks_[static_cast<size_t>(n_ * rank) + k] = value(rank, round, i);
        }
    }
    bool right(int round) const
    {
        bool good = true;
        for (int i = 0; i < n_; ++i) {
            const auto k = static_cast<size_t>(i);
            good = good && bcast_[2 * k] == value(0, round, i) && bcast_[2 * k + 1] == -2;
            good = good && sum_[k] == ranks * value(0, round, i) + 10000 * (ranks * (ranks - 1) / 2);
            for (int r = 0; rank == root_ && r < ranks; ++r)
                good = good && blocks_[static_cast<size_t>(n_ * r) + k] == value(r, round, i);
        }
        int n = n_;
        std::vector<unsigned> chain(static_cast<size_t>(n));
        for (int r = 0; rank == root_ && r < ranks; ++r) {
            std::vector<unsigned> next;
            for (int i = 0; i < n_; ++i)
                next.push_back(map(r, round, i));
            if (r > 0)
                compose(chain.data(), next.data(), &n, nullptr);
            chain = next;
        }
        return good && (rank != root_ || chain == chain_);
    }
    MPI_Request request[5];

private:
    static unsigned map(int r, int round, int i) { return static_cast<unsigned>((2 * value(r, round, i) + 1) << 16 | (i + 3 * r)); }

    int n_, root_;
    MPI_Datatype type_;
    std::vector<int> bcast_, sum_, blocks_;
    std::vector<unsigned> chain_;
};

/*
 * Memory of this process, the least in each so many looks: what is on its way, from ranks that are ahead, is gone again in one
 * of them.  Open MPI's lists (fragments of a transport, messages that nobody waits for) keep the most that was ever
 * under way: they grow now and then.  What stays of requests grows each time.
 */
class kept_memory {
public:
    explicit kept_memory(int looks_each) : looks_each_(looks_each) {}
    void look()
    {
        if (looks_++ % looks_each_ == 0)
            least_.push_back(SIZE_MAX);
        least_.back() = std::min<size_t>(least_.back(), mallinfo2().uordblks);
    }
    size_t in_all() const { return grown(0, least_.size() - 1); }
    size_t each_time() const
    {
        size_t n = SIZE_MAX;
        for (size_t i = 1; i < least_.size(); ++i)
            n = std::min(n, grown(i - 1, i));
        return n;
    }

    /** Kilobytes at the looks, for people. */
    std::string course() const
    {
        std::string text;
        for (size_t bytes : least_)
            text += ' ' + std::to_string(bytes / 1024);
        return text;
    }

private:
    size_t grown(size_t from, size_t to) const { return least_[to] - std::min(least_[from], least_[to]); }
    int looks_each_, looks_ = 0;
    std::vector<size_t> least_;
};

void streams()
{
    const char *trees = std::getenv("WAN_TEST_TREES");
    int provided;
    wan_counters along;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check(!trees || along.open({"tree_calls"}), "coll/wan's counters");
    MPI_Comm comm = fresh();
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Op op;
    MPI_Op_create(compose, 0, &op);
    constexpr int warm = 10, cycles = 66, starts = 3, cycles_each = 8;
    kept_memory kept(cycles_each);
    unsigned long long before = along[0], calls = 0;
    for (int cycle = 0; cycle < cycles; ++cycle) {
        several s(comm, cycle % 8 == 7 ? 20000 : 2 * (cycle % 4), op, cycle % ranks);
        for (int round = 0; round < starts; ++round) {
            s.fill(round);
            const auto ones = static_cast<size_t>(round * 40);
            std::vector<int> one(ones, 1), all(ones), data(ones, rank == 1 ? round : -1);
            int number = rank == 0 ? cycle : -1;
            MPI_Request other[2];
            for (int k = 0; k < 5; ++k) {
                MPI_Start(&s.request[(k + rank + cycle) % 5]);
                if (k == 1)
                    MPI_Iallreduce(one.data(), all.data(), static_cast<int>(ones), MPI_INT, MPI_SUM, comm, &other[0]);
                if (k == 2)
                    MPI_Ibcast(data.data(), static_cast<int>(ones), MPI_INT, 1, comm, &other[1]);
            }
            MPI_Bcast(&number, 1, MPI_INT, 0, comm);
            check(number == cycle, "bcast while requests are under way");
            check(MPI_Cancel(&s.request[0]) != MPI_SUCCESS, "a collective cannot be cancelled");
            MPI_Wait(&other[1], MPI_STATUS_IGNORE);
            MPI_Wait(&other[0], MPI_STATUS_IGNORE);
            for (int k = 0; k < 5; ++k)
                MPI_Wait(&s.request[(k + 2 * rank) % 5], MPI_STATUS_IGNORE);
            check(s.right(round), "persistent requests in any order, cycle " + std::to_string(cycle) + ", start " + std::to_string(round));
            for (size_t i = 0; i < ones; ++i)
                check(all[i] == ranks && data[i] == round, "non-blocking calls between starts");
            calls += cycle % 4 ? 6 : 2;
            calls += round ? 2 : 0;
        }
        if (cycle >= warm)
            kept.look();
    }
    if (trees) {
        check(along[0] - before == calls, std::to_string(along[0] - before) + " of " + std::to_string(calls) + " calls went along trees");
        // Of 5 requests each cycle.  Of ours some 60 bytes stay, that they are over.
        check(kept.each_time() < cycles_each * 5 * 1000, std::to_string(kept.each_time()) + " bytes stay of each " + std::to_string(cycles_each * 5) + " requests that are gone; KB in use:" + kept.course());
        check(kept.in_all() < std::strtoull(trees, nullptr, 10), std::to_string(kept.in_all()) + " bytes stay of requests that are gone");
    }
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    if (trees)
        along.close();
    MPI_T_finalize();
}

/*
 * One vector, blocking and then not: of both the plan is said, once if it is the same.  Open MPI's own
 * small exchange in MPI_Comm_dup has one plan, before and after.
 */
void measured()
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int provided;
    wan_counters served;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check(served.open({"served_allreduce"}), "coll/wan's counters");
    const unsigned long long before = served[0];
    const std::vector<double> in(16384, rank);
    std::vector<double> out(in.size(), -1), later(in.size(), -1);
    MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Iallreduce(in.data(), later.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(out == later && out.back() == ranks * (ranks - 1) / 2, "allreduce before and after links are measured");
    check(served[0] == before + 2, "both are served");
    MPI_Comm_free(&comm);
    served.close();
    MPI_T_finalize();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
}

/** More messages than an Open MPI has entries for, and then a copy of the communicator that is made meanwhile. */
void lists()
{
    constexpr int calls = 8, ints = 75000;
    for (int round = 0; round < 2 * ranks; ++round) {
        std::vector<std::vector<int>> data(calls + 1);
        MPI_Request request[calls + 1];
        MPI_Comm copy;
        const auto fill = [&](int i) {
            const int root = (round + i) % ranks;
            data[static_cast<size_t>(i)].assign(ints, rank == root ? value(root, round, i) : -1);
            return root;
        };
        for (int i = 0; i < calls; ++i) {
            const int root = fill(i);
            MPI_Ibcast(data[static_cast<size_t>(i)].data(), ints, MPI_INT, root, MPI_COMM_WORLD, &request[i]);
        }
        MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request[calls]);
        const int root = fill(calls);
        MPI_Bcast(data[calls].data(), ints, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Waitall(calls + 1, request, MPI_STATUSES_IGNORE);
        for (int i = 0; i <= calls; ++i)
            check(std::count(data[static_cast<size_t>(i)].begin(), data[static_cast<size_t>(i)].end(), value((round + i) % ranks, round, i)) == ints,
                  "broadcast " + std::to_string(i) + " of round " + std::to_string(round));
        MPI_Comm_free(&copy);
    }
}

/** Ranks of one host after each other, without a word of MPI. */
class turns {
public:
    turns()
    {
        MPI_Aint size;
        int unit;
        MPI_Win_allocate_shared(rank == 0 ? sizeof(std::atomic<int>) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &next_, &window_);
        MPI_Win_shared_query(window_, 0, &size, &unit, &next_);
        if (rank == 0)
            *next_ = 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~turns() { MPI_Win_free(&window_); }
    template <typename F> void take(int number, F f)
    {
        while (*next_ != number)
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        f();
        *next_ = number + 1;
    }

private:
    MPI_Win window_;
    std::atomic<int> *next_ = nullptr;
};

/*
 * Messages go from lower to higher ranks (a tree from rank 0, sites by turns), and higher ones call
 * first: so a message never comes in the round in which it leaves, and a round is a step of the tree.
 * TCP's messages are there as soon as they are sent.
 */
void rarely()
{
    const int root = 0, most = 3;       // site to site, and two steps to four ranks of a host
    std::vector<char> data(1000);
    turns t;
    int turn = 0;
    for (int round = 0; round < 3; ++round) {       // the first two measure and connect
        std::fill(data.begin(), data.end(), rank == root ? static_cast<char>(round + 1) : '\0');
        MPI_Barrier(MPI_COMM_WORLD);
        if (round < 2) {
            MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_CHAR, root, MPI_COMM_WORLD);
        } else {
            MPI_Request request = MPI_REQUEST_NULL;
            int done = 0, tests = 0;
            t.take(turn + ranks - 1 - rank, [&] { MPI_Ibcast(data.data(), static_cast<int>(data.size()), MPI_CHAR, root, MPI_COMM_WORLD, &request); });
            turn += ranks;
            for (int call = 0; call < 4 * most; ++call, turn += ranks)
                t.take(turn + ranks - 1 - rank, [&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    if (!done && ++tests)
                        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                });
            check(done != 0, "ibcast has not ended after " + std::to_string(tests) + " calls of MPI_Test");
            check(tests <= most, "ibcast needed " + std::to_string(tests) + " calls of MPI_Test, not " + std::to_string(most));
        }
        check(data.back() == static_cast<char>(round + 1), "what the broadcast brings");
    }
}

} // namespace

int main(int argc, char **argv)
{
    const std::string part = argc > 1 ? argv[1] : "";
    int provided;
    MPI_Init_thread(&argc, &argv, part == "threads" || (part == "lists" && std::getenv("WAN_TEST_THREADS")) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (part == "arrays")
        arrays();
    else if (part == "nothing")
        nothing();
    else if (part == "order")
        order();
    else if (part == "threads" && provided == MPI_THREAD_MULTIPLE)
        threads();
    else if (part == "dup")
        dup();
    else if (part == "measured")
        measured();
    else if (part == "streams")
        streams();
    else if (part == "lists")
        lists();
    else if (part == "rarely")
        rarely();
    else
        check(false, "no part '" + part + "', or no threads");
    std::printf("rank %d: ok\n", rank);
    MPI_Finalize();
    return 0;
}
