/*
 * Of udpbench_worker, what goes between ranks 0 and 1.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ub_rounds.hpp"

#include <algorithm>
#include <atomic>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace ub {

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

namespace {

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

} // namespace

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

} // namespace ub
