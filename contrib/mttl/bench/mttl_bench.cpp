/*
 * What the library costs, beside what MPI costs, in one run: each pair of
 * figures is measured in turns, several times: the smallest of each and their
 * ratio (what a machine with other work gives at best), and the ratio's median
 * with its smallest and largest value.  Between nodes 0 and 1.
 *
 *   mpirun -np 2 mttl_bench [ROUNDS]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

#include <chrono>

namespace {

using namespace mttl;

int rounds = 9;

double now_ns()
{
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F> double each_ns(int n, F f)
{
    const double t = now_ns();
    f(n);
    return (now_ns() - t) / n;
}

struct spread {
    std::vector<double> v;
    double at(double q) const
    {
        std::vector<double> s = v;
        std::sort(s.begin(), s.end());
        return s[static_cast<size_t>(q * static_cast<double>(s.size() - 1))];
    }
};

/** Runs both in turns; what a and b take, and b / a. */
template <class A, class B> void compare(const char *what, A a, B b)
{
    spread x, y, ratio;
    a(), b();
    for (int i = 0; i < rounds; ++i) {
        x.v.push_back(a());
        y.v.push_back(b());
        ratio.v.push_back(y.v.back() / x.v.back());
    }
    std::printf("%-44s %9.0f ns %9.0f ns  difference %7.0f ns  ratio %5.2f  median %5.2f (%.2f to %.2f)\n", what, x.at(0), y.at(0),
                y.at(0) - x.at(0), y.at(0) / x.at(0), ratio.at(.5), ratio.at(0), ratio.at(1));
}

template <class A> void alone(const char *what, A a)
{
    spread x;
    a();
    for (int i = 0; i < rounds; ++i)
        x.v.push_back(a());
    std::printf("%-44s %9.1f ns (%.1f to %.1f)\n", what, x.at(.5), x.at(0), x.at(1));
}

// Raw MPI on node 1 runs inside a handler: for that time the process serves nothing else.
constexpr int tag = 77;

void echo(int n, int bytes)
{
    std::vector<char> b(static_cast<size_t>(bytes) + 1);
    for (int i = 0; i < n; ++i) {
        MPI_Recv(b.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(b.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    }
}
void sink(int n, int bytes)
{
    std::vector<char> b(static_cast<size_t>(bytes));
    for (int i = 0; i < n; ++i)
        MPI_Recv(b.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(b.data(), 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
}

double ping_pong(int n, int bytes)
{
    post(1, fn<echo>, n, bytes);
    std::vector<char> b(static_cast<size_t>(bytes) + 1);
    return each_ns(n, [&](int k) {
        for (int i = 0; i < k; ++i) {
            MPI_Send(b.data(), bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(b.data(), bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    });
}
double stream(int n, int bytes)
{
    post(1, fn<sink>, n, bytes);
    std::vector<char> b(static_cast<size_t>(bytes));
    return each_ns(n, [&](int k) {
        for (int i = 0; i < k; ++i)
            MPI_Send(b.data(), bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
        MPI_Recv(b.data(), 1, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
}

std::vector<char> memory;
GlobalPtr<char> there()
{
    memory.resize(1 << 20);
    return GlobalPtr<char>(memory.data());
}
int identity(int x) { return x; }

int measure(int argc, char **argv)
{
    if (nodes() < 2)
        throw error("start it with two processes: mpirun -np 2 mttl_bench");
    if (argc > 1)
        rounds = std::max(3, std::atoi(argv[1]));
    std::printf("%-44s %12s %12s\n", "", "MPI", "mttl");
    const auto p = invoke(1, fn<there>);
    std::vector<char> data(1 << 20, 'x');

    compare("round trip of 4 bytes: ping-pong, invoke", [] { return ping_pong(2000, 4); },
            [] {
                return each_ns(2000, [](int n) {
                    for (int i = 0; i < n; ++i)
                        invoke(1, fn<identity>, i);
                });
            });
    for (const int bytes : {8, 64, 512, 4000, 65536, 1 << 20}) {
        const int n = bytes > 10000 ? 50 : 2000;
        const auto size = static_cast<size_t>(bytes);
        compare(("stream of " + std::to_string(bytes) + " bytes: MPI_Send, nwrite").c_str(), [=] { return stream(n, bytes); },
                [&] {
                    return each_ns(n, [&](int k) {
                        for (int i = 0; i < k; ++i)
                            p.nwrite(data.data(), size);
                        invoke(1, [] {});
                    });
                });
    }
    for (const int bytes : {8, 4000, 65536}) {
        const int n = bytes > 10000 ? 50 : 500;
        const auto size = static_cast<size_t>(bytes);
        compare(("read of " + std::to_string(bytes) + " bytes: ping-pong, nread").c_str(), [=] { return ping_pong(n, bytes); },
                [&] {
                    return each_ns(n, [&](int k) {
                        for (int i = 0; i < k; ++i)
                            p.nread(data.data(), size);
                    });
                });
    }
    static int count;
    const auto posts = [](int n) {
        for (int i = 0; i < n; ++i)
            post(1, [](int x) { count += x; }, 1);
    };
    std::printf("%-44s %12s %12s\n", "", "single", "batch");
    compare("post of a function of 4 bytes", [&] { return each_ns(20000, [&](int n) { posts(n), invoke(1, [] {}); }); },
            [&] {
                return each_ns(20000, [&](int n) {
                    {
                        batch b;
                        posts(n);
                    }
                    invoke(1, [] {});
                });
            });
    alone("switch of threads", [] {
        constexpr int n = 200000;
        const auto turns = [] {
            for (int i = 0; i < n; ++i)
                node::here().threads().yield();
        };
        const double t = now_ns();
        thread_handle a = spawn(turns), b = spawn(turns);
        a.join(), b.join();
        return (now_ns() - t) / (2 * n);
    });
    alone("creation and join of a thread", [] {
        return each_ns(200000, [](int n) {
            for (int i = 0; i < n; ++i)
                spawn([] {}).join();
        });
    });
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, measure);
}
