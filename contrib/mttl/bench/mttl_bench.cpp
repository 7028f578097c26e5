/*
 * What the library costs, beside what MPI costs, in one run, between nodes 0
 * and 1.  Each pair of figures is measured one right after the other, in
 * alternating order, in turns of 0.3 ms (posts: 1 ms) or of 20 items, where
 * those take longer.  A pair counts when neither process was preempted during
 * it (involuntary context switches): so the figures are those of a machine with
 * a core for each process, also where others want the cores.
 * Printed are the medians of both, and of the ratios of pairs the median with
 * quartiles and with the 5th and 95th percentile.
 *
 *   mpirun -np 2 mttl_bench [PAIRS [TEXT]]     default 101; at most 40 times as many are tried, or 20 s;
 *                                              only lines that hold TEXT
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "spread.hpp"

#include <mttl/mttl.hpp>

#include <chrono>

namespace {

using namespace mttl;

size_t pairs = 101;
std::string only;
constexpr double most_ns = 2e10;        // for one line of the output

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

/** Whether neither process was preempted while f() ran. */
template <class F> bool undisturbed(F f)
{
    const long there = invoke(1, fn<preempted>), here = preempted();
    f();
    return preempted() == here && invoke(1, fn<preempted>) == there;
}

/** Runs a(n) and b(n), ns per item, in turns; what they take, and b / a.
 *  A turn is shorter than what a scheduler lets others run. */
template <class A, class B> void compare(const std::string &what, A a, B b, double turn_ns = 3e5)
{
    if (what.find(only) == std::string::npos)
        return;
    a(20), b(20);
    int n = 20;
    for (int round = 0; round < 2; ++round) {    // the first one counts the round trip at the end to few items
        spread first;
        for (int i = 0; i < 5; ++i)
            first.v.push_back(a(n));
        n = std::clamp(static_cast<int>(turn_ns / first.at(0)), 20, 4000);     // the one that was disturbed least
    }
    spread x, y, ratio, all;
    size_t tried = 0;
    const double start = now_ns();
    for (; tried < 40 * pairs && ratio.v.size() < pairs && now_ns() - start < most_ns; ++tried) {
        double ta = 0, tb = 0;
        const bool good = undisturbed([&] {
            if (tried % 2 == 0)
                ta = a(n);
            tb = b(n);
            if (tried % 2)
                ta = a(n);
        });
        all.v.push_back(tb / ta);
        if (!good)
            continue;
        x.v.push_back(ta), y.v.push_back(tb), ratio.v.push_back(tb / ta);
    }
    if (ratio.v.size() < 5) {
        std::printf("%-42s disturbed: %zu of %zu pairs were not, ratio of all %.2f (%.2f to %.2f)\n", what.c_str(),
                    ratio.v.size(), tried, all.median(), all.at(.25), all.at(.75));
        return;
    }
    std::printf("%-42s %8.0f %8.0f ns  difference %7.0f  ratio %5.3f (%.3f to %.3f, 90%% %.2f to %.2f)"
                "  %zu of %zu pairs, %d each\n",
                what.c_str(), x.median(), y.median(), y.median() - x.median(), ratio.median(), ratio.at(.25), ratio.at(.75),
                ratio.at(.05), ratio.at(.95), ratio.v.size(), tried, n);
    std::fflush(stdout);
}

template <class A> void alone(const char *what, A a)
{
    if (std::string(what).find(only) == std::string::npos)
        return;
    spread x;
    size_t tried = 0;
    a();
    const double start = now_ns();
    for (; tried < 40 * pairs && x.v.size() < pairs && now_ns() - start < most_ns; ++tried) {
        double t = 0;
        if (undisturbed([&] { t = a(); }))
            x.v.push_back(t);
    }
    if (x.v.empty())
        std::printf("%-42s disturbed\n", what);
    else
        std::printf("%-42s %8.1f ns (%.1f to %.1f, 90%% %.1f to %.1f)  %zu of %zu turns\n", what, x.median(), x.at(.25),
                    x.at(.75), x.at(.05), x.at(.95), x.v.size(), tried);
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
    MPI_Send(b.data(), 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i)
        MPI_Recv(b.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(b.data(), 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
}

double ping_pong(int n, int bytes)
{
    post(1, fn<echo>, n + 1, bytes);
    std::vector<char> b(static_cast<size_t>(bytes) + 1);
    const auto exchange = [&](int k) {
        for (int i = 0; i < k; ++i) {
            MPI_Send(b.data(), bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(b.data(), bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    };
    exchange(1);    // node 1 is there now
    return each_ns(n, exchange);
}
double stream(int n, int bytes)
{
    post(1, fn<sink>, n, bytes);
    std::vector<char> b(static_cast<size_t>(bytes));
    MPI_Recv(b.data(), 1, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);     // node 1 is there now
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
        pairs = static_cast<size_t>(std::max(5, std::atoi(argv[1])));
    if (argc > 2)
        only = argv[2];
    std::printf("%-42s %8s %8s     ratios: median (quartiles, 5th to 95th percentile)\n", "", "MPI", "mttl");
    const auto p = invoke(1, fn<there>);
    std::vector<char> data(1 << 20, 'x');

    // The first pair of the same thing twice: what the method itself makes of no difference.
    compare("ping-pong of 4 bytes, twice", [](int n) { return ping_pong(n, 4); }, [](int n) { return ping_pong(n, 4); });
    compare("round trip of 4 bytes: ping-pong, invoke", [](int n) { return ping_pong(n, 4); },
            [](int k) {
                return each_ns(k, [](int n) {
                    for (int i = 0; i < n; ++i)
                        invoke(1, fn<identity>, i);
                });
            });
    for (const int bytes : {8, 64, 512, 4000, 65536, 1 << 20}) {
        const auto size = static_cast<size_t>(bytes);
        compare("stream of " + std::to_string(bytes) + " bytes: MPI_Send, nwrite", [=](int n) { return stream(n, bytes); },
                [&](int n) {
                    return each_ns(n, [&](int k) {
                        for (int i = 0; i < k; ++i)
                            p.nwrite(data.data(), size);
                        invoke(1, [] {});
                    });
                });
    }
    compare("alone, 8 bytes: MPI_Send, nwrite, yield", [=](int n) { return stream(n, 8); },
            [&](int n) {
                return each_ns(n, [&](int k) {
                    for (int i = 0; i < k; ++i)
                        p.nwrite(data.data(), 8), yield();
                    invoke(1, [] {});
                });
            });
    for (const int bytes : {8, 4000, 65536}) {
        const auto size = static_cast<size_t>(bytes);
        compare("read of " + std::to_string(bytes) + " bytes: ping-pong, nread", [=](int n) { return ping_pong(n, bytes); },
                [&](int n) {
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
    std::printf("%-42s %8s %8s\n", "", "single", "batch");
    compare("post of a function of 4 bytes", [&](int k) { return each_ns(k, [&](int n) { posts(n), invoke(1, [] {}); }); },
            [&](int k) {
                return each_ns(k, [&](int n) {
                    {
                        batch b;
                        posts(n);
                    }
                    invoke(1, [] {});
                });
            },
            1e6);       // of short streams, the round trip at the end is a part that shows
    alone("switch of threads", [] {
        constexpr int n = 20000;
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
        return each_ns(10000, [](int n) {
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
