/*
 * What udpbench runs: one MPI program that measures transports.  Rank 0 prints one
 * JSON object a line.  Bytes of every message are a function of its number and
 * are compared at its end, outside the times.
 *
 *   udpbench_worker OP SIZE[,SIZE...] SECONDS
 *
 *   pingpong   ranks 0 and 1, half a round trip in us
 *   stream     0 to 1 for SECONDS, 8 messages under way, Mb/s
 *   burst      0 to 1, 2 MB at most in messages of SIZE, then one answer, Mb/s
 *   start      0 to 1, one message of SIZE per job after the connection is made, Mb/s
 *   incast     all to 0 at once, ms until the last is there
 *   gather     MPI_Gather to 0, ms
 *   bcast      MPI_Bcast from 0, ms until rank 0 has heard of all
 *   peers      every rank exchanges SIZE with every other: sockets that this took a process,
 *              and kernel memory of all sockets of the machine after it, in KB
 *   behind     round trips in us of 8 bytes: alone, then while 0 sends SIZE to 1
 *   opening    0 to 1, messages of SIZE after a little talk: Mb/s in the 5th, 8th, 10th, 12th,
 *              15th and 20th round trip
 *   idle       after one exchange of SIZE between all, nothing comes any more: ns that a look for messages
 *              (MPI_Iprobe) takes, and ms of processor time that a process uses in each second in which it sleeps
 *   fair       0 to 1 for SECONDS, as stream, beside a plain TCP CUBIC connection between the
 *              same hosts: both rates in Mb/s, and Jain's index of the two
 *
 * Next: udpbench.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using bytes = std::vector<uint8_t>;
int rank, ranks;
double limit;       // s
uint64_t wrong = 0;

void fill(bytes &b, uint32_t number)
{
    uint32_t x = number * 2654435761u + 1;
    for (uint8_t &v : b)
        v = static_cast<uint8_t>((x = x * 1664525u + 1013904223u) >> 24);
}
void compare(const bytes &b, uint32_t number)
{
    bytes expected(b.size());
    fill(expected, number);
    wrong += b != expected;
}

double quantile(std::vector<double> &v, double q)
{
    std::sort(v.begin(), v.end());
    return v.empty() ? 0 : v[std::min(v.size() - 1, static_cast<size_t>(q * static_cast<double>(v.size())))];
}
/** first: of the first round, if that is another case; again: part of btl/udp's datagrams. */
void report(const char *op, size_t size, const char *unit, std::vector<double> v, double first = 0, double again = 0)
{
    if (rank == 0 && !v.empty())
        std::printf("{\"op\": \"%s\", \"bytes\": %zu, \"unit\": \"%s\", \"n\": %zu, \"p10\": %.6g, \"median\": %.6g, \"p99\": %.6g, \"worst\": %.6g, \"first\": %.6g, \"again\": %.6g}\n", op, size,
                    unit, v.size(), quantile(v, 0.1), quantile(v, 0.5), quantile(v, 0.99), quantile(v, 1), first, again);
}
double now() { return MPI_Wtime(); }

/** Datagrams with data that btl/udp sent in all processes, and of these what was sent again; [0, 0] without it. */
struct datagrams {
    double sent = 0, again = 0;

    static datagrams count()
    {
        int provided, session_ok = 0;
        unsigned long long mine[2] = {0, 0}, all[2] = {0, 0};
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
        MPI_T_pvar_session session;
        session_ok = MPI_T_pvar_session_create(&session) == MPI_SUCCESS;
        const char *const names[2] = {"btl_udp_datagrams_sent", "btl_udp_datagrams_again"};
        for (int k = 0; session_ok && k < 2; ++k) {
            int index, elements;
            MPI_T_pvar_handle handle;
            if (MPI_T_pvar_get_index(names[k], MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS
                || MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &elements) != MPI_SUCCESS)
                continue;
            MPI_T_pvar_read(session, handle, &mine[k]);
            MPI_T_pvar_handle_free(session, &handle);
        }
        if (session_ok)
            MPI_T_pvar_session_free(&session);
        MPI_T_finalize();
        MPI_Reduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        return {static_cast<double>(all[0]), static_cast<double>(all[1])};
    }
};

/** Rank 0 says whether there is another round. */
bool again(double began, size_t done, size_t least, size_t most)
{
    int go = done < most && (done < least || now() - began < limit);
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return go;
}

void pingpong(size_t size)
{
    bytes out(size), in(size);
    std::vector<double> half;
    fill(out, 1);
    const double began = now();
    while (again(began, half.size() / 50, 4, 2000)) {
        for (int i = 0; i < 50; ++i) {
            const double t = now();
            if (rank == 0) {
                MPI_Send(out.data(), static_cast<int>(size), MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(in.data(), static_cast<int>(size), MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (rank == 1) {
                MPI_Recv(in.data(), static_cast<int>(size), MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(out.data(), static_cast<int>(size), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            }
            half.push_back((now() - t) / 2 * 1e6);
        }
        if (rank <= 1)
            compare(in, 1);
    }
    half.erase(half.begin(), half.begin() + static_cast<long>(std::min<size_t>(half.size() / 4, 50)));
    report("pingpong", size, "us", half);
}

void stream(size_t size)
{
    constexpr int together = 8;
    std::vector<bytes> buffer(together, bytes(size));
    MPI_Request r[together];
    double rate = 0, late = 0;
    for (int i = 0; i < together; ++i)
        r[i] = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        const double began = now();
        uint32_t n = 0;
        for (bool last = false; !last; ++n) {
            bytes &b = buffer[n % together];
            MPI_Wait(&r[n % together], MPI_STATUS_IGNORE);
            last = now() - began > limit;
            if (n < together)
                fill(b, n);
            MPI_Isend(b.data(), static_cast<int>(size), MPI_BYTE, 1, last ? 2 : 1, MPI_COMM_WORLD, &r[n % together]);
        }
        MPI_Waitall(together, r, MPI_STATUSES_IGNORE);
        double both[2];
        MPI_Recv(both, 2, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        rate = both[0], late = both[1];
    } else if (rank == 1) {
        std::vector<double> at;
        const double began = now();
        for (int i = 0; i < together; ++i)
            MPI_Irecv(buffer[static_cast<size_t>(i)].data(), static_cast<int>(size), MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &r[i]);
        for (uint32_t n = 0;; ++n) {
            MPI_Status s;
            MPI_Wait(&r[n % together], &s);
            at.push_back(now());
            if (s.MPI_TAG == 2)
                break;
            MPI_Irecv(buffer[n % together].data(), static_cast<int>(size), MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &r[n % together]);
        }
        for (MPI_Request &x : r)
            if (x != MPI_REQUEST_NULL) {
                MPI_Cancel(&x);
                MPI_Wait(&x, MPI_STATUS_IGNORE);
            }
        const size_t last = at.size() - 1;
        compare(buffer[last % together], static_cast<uint32_t>(last % together));
        double both[2] = {static_cast<double>(at.size() * size) * 8e-6 / (at.back() - began), 0};
        const size_t half = at.size() / 2;
        both[1] = last > half ? static_cast<double>((last - half) * size) * 8e-6 / (at[last] - at[half]) : both[0];
        MPI_Send(both, 2, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    }
    report("stream", size, "Mb/s", {rate});
    report("stream2", size, "Mb/s", {late});
}

void burst(size_t size, const char *name, size_t total, size_t most)
{
    const int count = static_cast<int>(std::max<size_t>(1, total / size));
    bytes b(size), in(size);
    std::vector<double> rate;
    char done = 0;
    fill(b, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = now();
    while (again(began, rate.size(), 1, most)) {
        const double t = now();
        if (rank == 0) {
            std::vector<MPI_Request> r(static_cast<size_t>(count));
            for (MPI_Request &x : r)
                MPI_Isend(b.data(), static_cast<int>(size), MPI_BYTE, 1, 1, MPI_COMM_WORLD, &x);
            MPI_Waitall(count, r.data(), MPI_STATUSES_IGNORE);
            MPI_Recv(&done, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            for (int i = 0; i < count; ++i)
                MPI_Recv(in.data(), static_cast<int>(size), MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&done, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
            compare(in, 7);
        }
        rate.push_back(static_cast<double>(size) * count * 8e-6 / (now() - t));
    }
    report(name, size, "Mb/s", rate);
}

void to_root(size_t size, bool collective)
{
    bytes out(size), in(rank == 0 ? size * static_cast<size_t>(ranks) : 0);
    std::vector<double> ms;
    std::vector<MPI_Request> r(static_cast<size_t>(ranks), MPI_REQUEST_NULL);
    fill(out, static_cast<uint32_t>(rank));
    const datagrams before = datagrams::count();
    const double began = now();
    while (again(began, ms.size(), 10, 5000)) {
        if (!collective && rank == 0)
            for (int p = 1; p < ranks; ++p)
                MPI_Irecv(&in[size * static_cast<size_t>(p)], static_cast<int>(size), MPI_BYTE, p, 1, MPI_COMM_WORLD, &r[static_cast<size_t>(p)]);
        MPI_Barrier(MPI_COMM_WORLD);
        const double t = now();
        if (collective)
            MPI_Gather(out.data(), static_cast<int>(size), MPI_BYTE, in.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
        else if (rank == 0)
            MPI_Waitall(ranks, r.data(), MPI_STATUSES_IGNORE);
        else
            MPI_Send(out.data(), static_cast<int>(size), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        ms.push_back((now() - t) * 1e3);
        for (int p = 1; rank == 0 && p < ranks; ++p)
            compare(bytes(in.begin() + static_cast<long>(size) * p, in.begin() + static_cast<long>(size) * (p + 1)), static_cast<uint32_t>(p));
    }
    const datagrams after = datagrams::count();
    const double first = ms.front();
    ms.erase(ms.begin());
    report(collective ? "gather" : "incast", size, "ms", ms, first, after.sent > before.sent ? (after.again - before.again) / (after.sent - before.sent) : 0);
}

void bcast(size_t size)
{
    bytes b(size);
    std::vector<double> ms;
    int sum = 0, one = 1;
    const double began = now();
    while (again(began, ms.size(), 10, 5000)) {
        fill(b, rank == 0 ? 9 : 0);
        MPI_Barrier(MPI_COMM_WORLD);
        const double t = now();
        MPI_Bcast(b.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        ms.push_back((now() - t) * 1e3);
        compare(b, 9);
    }
    ms.erase(ms.begin());
    report("bcast", size, "ms", ms);
}

void behind(size_t size)
{
    bytes bulk(size), small(8);
    std::vector<double> trips[2];
    if (rank <= 1)
        for (int loaded = 0; loaded < 2; ++loaded) {
            const double began = now();
            for (int transfer = 0;; ++transfer) {
                MPI_Request r = MPI_REQUEST_NULL;
                int through = 0;
                if (rank == 0) {
                    if (loaded) {
                        fill(bulk, 3);
                        MPI_Isend(bulk.data(), static_cast<int>(size), MPI_BYTE, 1, 9, MPI_COMM_WORLD, &r);
                    }
                    for (int i = 0; !through; ++i) {
                        const double t = now();
                        MPI_Send(small.data(), 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                        MPI_Recv(small.data(), 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                        const double trip = (now() - t) * 1e6;
                        if (loaded)
                            MPI_Test(&r, &through, MPI_STATUS_IGNORE);
                        else
                            through = i == 50;
                        if (loaded || transfer + i > 5)
                            trips[loaded].push_back(trip);
                    }
                    MPI_Send(small.data(), 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
                    MPI_Recv(small.data(), 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    int go = now() - began < limit && transfer < 100;
                    MPI_Send(&go, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
                    if (!go)
                        break;
                } else {
                    if (loaded)
                        MPI_Irecv(bulk.data(), static_cast<int>(size), MPI_BYTE, 0, 9, MPI_COMM_WORLD, &r);
                    for (;;) {
                        MPI_Status s;
                        MPI_Recv(small.data(), 8, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
                        if (s.MPI_TAG == 2)
                            break;
                        MPI_Send(small.data(), 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
                    }
                    MPI_Wait(&r, MPI_STATUS_IGNORE);
                    if (loaded)
                        compare(bulk, 3);
                    MPI_Send(small.data(), 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
                    int go;
                    MPI_Recv(&go, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    if (!go)
                        break;
                }
            }
        }
    report("alone", size, "us", trips[0]);
    report("behind", size, "us", trips[1]);
}

/** Small talk tells the round trip and makes the connection; then how fast the first long transfer gets. */
void opening(size_t size)
{
    constexpr double seconds_most = 3;
    constexpr size_t most = 128 << 20;
    bytes b(size), small(8);
    double trip = 1e9;
    for (int i = 0; i < 20; ++i) {
        const double t = now();
        if (rank == 0) {
            MPI_Send(small.data(), 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(small.data(), 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(small.data(), 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(small.data(), 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
        trip = std::min(trip, now() - t);
    }
    MPI_Bcast(&trip, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);     // rank 1 met its first message on the way
    const double span = std::min(seconds_most, 22 * trip);
    constexpr int points[] = {5, 8, 10, 12, 15, 20};
    double rates[std::size(points)] = {};
    if (rank == 0) {
        fill(b, 5);
        std::vector<MPI_Request> r;
        r.reserve(most / size + 1);
        const double began = now();
        int last = 0;
        while (!last) {
            last = now() - began > span || r.size() >= most / size;
            r.emplace_back();
            MPI_Isend(b.data(), static_cast<int>(size), MPI_BYTE, 1, last ? 3 : 2, MPI_COMM_WORLD, &r.back());
        }
        MPI_Waitall(static_cast<int>(r.size()), r.data(), MPI_STATUSES_IGNORE);
        MPI_Recv(rates, static_cast<int>(std::size(points)), MPI_DOUBLE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        // Rank 0 told the trip half a trip ago, and went on to send at once.
        const double began = now() - trip / 2;
        std::vector<double> at;
        MPI_Status s;
        do {
            MPI_Recv(b.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
            at.push_back(now() - began);
            compare(b, 5);
        } while (s.MPI_TAG == 2);
        for (size_t k = 0; k < std::size(points); ++k) {
            const auto in = std::count_if(at.begin(), at.end(), [&](double t) { return t > (points[k] - 1) * trip && t <= points[k] * trip; });
            rates[k] = static_cast<double>(in) * static_cast<double>(size) * 8e-6 / trip;
        }
        MPI_Send(rates, static_cast<int>(std::size(points)), MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
    }
    for (size_t k = 0; k < std::size(points); ++k)
        report(("trip" + std::to_string(points[k])).c_str(), size, "Mb/s", {rates[k]});
}

double processor_seconds()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void idle(size_t size)
{
    constexpr int looks = 1000;
    const bytes out(size);
    bytes in(size * static_cast<size_t>(ranks));
    MPI_Allgather(out.data(), static_cast<int>(size), MPI_BYTE, in.data(), static_cast<int>(size), MPI_BYTE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<double> each;
    // Ranks by turns: others must not take the processor.  They sleep.
    for (int turn = 0; turn < ranks; ++turn) {
        const double end = now() + limit;
        if (turn == rank)
            while (now() < end) {
                int there;
                const double t = now();
                for (int i = 0; i < looks; ++i)
                    MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
                each.push_back((now() - t) / looks * 1e9);
            }
        else
            std::this_thread::sleep_for(std::chrono::duration<double>(limit));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    report("idle", size, "ns", each);
    const double before = processor_seconds(), began = now();
    std::this_thread::sleep_for(std::chrono::duration<double>(limit));
    report("asleep", size, "ms/s", {(processor_seconds() - before) / (now() - began) * 1e3});
    MPI_Barrier(MPI_COMM_WORLD);
}

/** A plain TCP CUBIC connection from rank 0's host to rank 1's, driven by a thread. */
class plain_flow {
public:
    /** Rank 1 listens, rank 0 connects. */
    plain_flow()
    {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in a = {};
        a.sin_family = AF_INET;
        socklen_t length = sizeof a;
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
        if (rank == 1) {
            char name[256] = "";
            gethostname(name, sizeof name - 1);
            addrinfo hints = {}, *found = nullptr;
            hints.ai_family = AF_INET;
            if (getaddrinfo(name, nullptr, &hints, &found) == 0 && found)
                a.sin_addr = reinterpret_cast<sockaddr_in *>(found->ai_addr)->sin_addr;
            if (found)
                freeaddrinfo(found);
            if (bind(fd, reinterpret_cast<sockaddr *>(&a), sizeof a) != 0 || listen(fd, 1) != 0)
                MPI_Abort(MPI_COMM_WORLD, 3);
            getsockname(fd, reinterpret_cast<sockaddr *>(&a), &length);
            MPI_Send(&a, sizeof a, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            fd_ = accept(fd, nullptr, nullptr);
            close(fd);
        } else {
            MPI_Recv(&a, sizeof a, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (connect(fd, reinterpret_cast<sockaddr *>(&a), sizeof a) != 0)
                MPI_Abort(MPI_COMM_WORLD, 3);
            fd_ = fd;
        }
    }
    void start()
    {
        thread_ = std::thread([this] {
            bytes b(64 << 10);
            for (ssize_t n = 1; n > 0;) {
                n = rank == 0 ? send(fd_, b.data(), b.size(), MSG_NOSIGNAL) : read(fd_, b.data(), b.size());
                moved += n > 0 ? static_cast<uint64_t>(n) : 0;
            }
        });
    }
    ~plain_flow()
    {
        shutdown(fd_, SHUT_RDWR);
        thread_.join();
        close(fd_);
    }
    std::atomic<uint64_t> moved{0};     // bytes

private:
    int fd_ = -1;
    std::thread thread_;
};

void fair(size_t size)
{
    constexpr int together = 8;
    double both[2] = {};
    if (rank <= 1) {
        std::vector<bytes> buffer(together, bytes(size));
        MPI_Request r[together];
        for (int i = 0; i < together; ++i)
            r[i] = MPI_REQUEST_NULL;
        plain_flow plain;
        plain.start();
        const double began = now();
        for (uint32_t n = 0;; ++n) {
            bytes &b = buffer[n % together];
            MPI_Status s;
            if (rank == 0) {
                const bool last = now() - began > limit;
                MPI_Wait(&r[n % together], MPI_STATUS_IGNORE);
                MPI_Isend(b.data(), static_cast<int>(size), MPI_BYTE, 1, last ? 3 : 2, MPI_COMM_WORLD, &r[n % together]);
                if (last)
                    break;
                continue;
            }
            MPI_Recv(b.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
            both[0] = static_cast<double>(n + 1) * static_cast<double>(size) * 8e-6 / (now() - began);
            both[1] = static_cast<double>(plain.moved) * 8e-6 / (now() - began);
            if (s.MPI_TAG == 3)
                break;
        }
        if (rank == 0) {
            MPI_Waitall(together, r, MPI_STATUSES_IGNORE);
            MPI_Recv(both, 2, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(both, 2, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
        }
    }
    report("fair", size, "Mb/s", {both[0]});
    report("beside", size, "Mb/s", {both[1]});
    report("jain", size, "Jain", {(both[0] + both[1]) * (both[0] + both[1]) / 2 / (both[0] * both[0] + both[1] * both[1] + 1e-9)});
}

int sockets_open()
{
    int n = 0;
    for (const auto &fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        n += std::filesystem::read_symlink(fd.path(), gone).string().starts_with("socket:");
    }
    return n;
}
int sockets_first;      // before anybody was talked to

/** KB of all TCP and UDP sockets, as the kernel counts them (in pages of 4 KB). */
double socket_memory()
{
    std::ifstream file("/proc/net/sockstat");
    double pages = 0;
    for (std::string line; std::getline(file, line);)
        if (const size_t at = line.find(" mem "); at != std::string::npos)
            pages += std::atof(line.c_str() + at + 5);
    return 4 * pages;
}

void peers(size_t size)
{
    bytes out(size), in(size);
    const double before = socket_memory();
    for (int away = 1; away < ranks; ++away) {
        const int to = (rank + away) % ranks, from = (rank + ranks - away) % ranks;
        fill(out, static_cast<uint32_t>(rank));
        MPI_Sendrecv(out.data(), static_cast<int>(size), MPI_BYTE, to, 1, in.data(), static_cast<int>(size), MPI_BYTE, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        compare(in, static_cast<uint32_t>(from));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int mine = sockets_open() - sockets_first;
    std::vector<int> all(static_cast<size_t>(ranks));
    MPI_Gather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    report("peers", size, "sockets", std::vector<double>(all.begin(), all.end()));
    report("memory", size, "KB", {std::max(0.0, socket_memory() - before)});
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || ranks < 2) {
        std::fprintf(stderr, "usage: udpbench_worker OP SIZE[,SIZE...] SECONDS, with two ranks at least\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const std::string op = argv[1];
    limit = std::atof(argv[3]);
    sockets_first = sockets_open();
    MPI_Barrier(MPI_COMM_WORLD);
    for (const char *p = argv[2]; *p;) {
        char *end;
        const size_t size = std::strtoull(p, &end, 10);
        p = *end ? end + 1 : end;
        if (op == "pingpong")
            pingpong(size);
        else if (op == "stream")
            stream(size);
        else if (op == "burst")
            burst(size, "burst", 2 << 20, 5000);
        else if (op == "start")
            burst(size, "start", size, 1);
        else if (op == "incast" || op == "gather")
            to_root(size, op == "gather");
        else if (op == "bcast")
            bcast(size);
        else if (op == "peers")
            peers(size);
        else if (op == "behind")
            behind(size);
        else if (op == "opening")
            opening(size);
        else if (op == "idle")
            idle(size);
        else if (op == "fair")
            fair(size);
        else
            MPI_Abort(MPI_COMM_WORLD, 2);
        if (rank == 0)
            std::fflush(stdout);
    }
    uint64_t all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("{\"wrong\": %llu}\n", static_cast<unsigned long long>(all));
    MPI_Finalize();
    return 0;
}
