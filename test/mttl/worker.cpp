/*
 * What the tests of mttl under mpirun run on every kind of MPI: all features
 * once, between every pair of processes, with functions of a shared library.
 * Prints `mttl ok N checks` on node 0.
 *
 * Usage: worker [spmd | throw | lost | code]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

#include "library.hpp"

#include <map>

namespace {

using namespace mttl;

int checks;
void check(bool good, const char *what, int line)
{
    ++checks;
    if (!good)
        throw error("line " + std::to_string(line) + ": " + what);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

std::map<int, std::vector<double>> fields;     // one for each visitor: in an SPMD job all come at once
Sync<int> box;
std::map<std::string, int> words;
int value = 1;
int posted;

int where() { return my_node(); }
GlobalPtr<double> field_of(int visitor)
{
    fields[visitor].resize(20000);
    return GlobalPtr<double>(fields[visitor].data());
}

// From one node to every other one, itself too.
void visit()
{
    for (int to = 0; to < nodes(); ++to) {
        CHECK(invoke(to, fn<where>) == to);
        CHECK(invoke(to, fn<library_square>, 7) == 49);
        CHECK(library_ask(to) == 1000 + to);
        CHECK(invoke(to, [](std::string s) { return s + std::to_string(my_node()); }, "n") == "n" + std::to_string(to));
        const std::vector<double> large(30000, to + 0.5);
        CHECK(invoke(to, [](std::vector<double> v) { return v; }, large) == large);
        bool caught = false;
        try {
            invoke(to, [] { throw std::out_of_range("there"); });
        } catch (const std::out_of_range &e) {
            caught = std::string(e.what()) == "there" && dynamic_cast<const remote_origin &>(e).node == to;
        }
        CHECK(caught);
        const auto p = invoke(to, fn<field_of>, my_node());
        for (const size_t n : {size_t(1), size_t(500), size_t(4000), size_t(20000)}) {
            std::vector<double> out(n, static_cast<double>(n) + my_node()), in(n);
            p.nwrite(out.data(), n);
            p.nread(in.data(), n);
            CHECK(in == out);
        }
        p[3] = 1.25;
        CHECK(p[3] == 1.25 && *(p + 3) == 1.25);
        std::vector<future<int>> many;
        {
            batch b;
            for (int i = 0; i < 3000; ++i)
                many.push_back(ainvoke(to, [](int x) { return x + 1; }, i));
        }
        const std::vector<int> all = when_all(std::move(many)).get();
        for (int i = 0; i < 3000; ++i)
            if (all[static_cast<size_t>(i)] != i + 1)
                CHECK(false);
        future<int> blocked = ainvoke(to, [] { return box.read(); });
        invoke(to, [] { box.write(5); });
        CHECK(blocked.get() == 5);
    }
}

// A process that floods everyone while everyone floods it.
void flood()
{
    for (int i = 0; i < 5000; ++i)
        post(i % nodes(), [] { ++posted; });
}

void together()
{
    const int n = nodes(), me = my_node();
    Barrier all;
    Reduction<double> sum;
    Reduction<int> sum_int;
    for (int i = 0; i < 20; ++i) {
        CHECK(sum.exec(me + i) == n * (n - 1) / 2.0 + n * i);
        all.exec();
    }
    std::vector<double> v(10000, me);
    sum.exec(std::span<double>(v));
    CHECK(v[9999] == n * (n - 1) / 2.0);
    posted = 0;
    all.exec();
    flood();
    for (int to = 0; to < n; ++to)
        invoke(to, [] {});
    all.exec();
    CHECK(sum_int.exec(posted) == 5000 * n);
}

int on_zero(int, char **)
{
    visit();
    for (int to = 1; to < nodes(); ++to)
        invoke(to, fn<visit>);
    std::vector<future<void>> all;
    for (int to = 0; to < nodes(); ++to)
        all.push_back(ainvoke(to, fn<together>));
    when_all(std::move(all)).get();
    // Variables are each process's own.
    for (int to = 1; to < nodes(); ++to) {
        invoke(to, [] { value = 10 + my_node(); });
        CHECK(value == 1 && invoke(to, [] { return value; }) == 10 + to);
    }
    std::printf("mttl ok %d checks\n", checks);
    return 0;
}

int everywhere(int, char **)
{
    visit();
    together();
    if (my_node() == 0)
        std::printf("mttl ok %d checks\n", checks);
    return 0;
}

} // namespace

#ifdef MTTL_TEST_OTHER
// Makes this another program than the one without it.
int only_here(int x) { return x; }
void never() { mttl::invoke(0, mttl::fn<only_here>, 1); }
#endif

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "spmd")
        return run(argc, argv, everywhere, start::spmd);
    if (mode == "throw")
        return run(argc, argv, [](int, char **) -> int { throw std::runtime_error("out of main"); });
    if (mode == "lost")
        return run(argc, argv, [](int, char **) {
            post(nodes() - 1, [] { throw std::runtime_error("nobody asked"); });
            return 0;
        });
    if (mode == "code")
        return run(argc, argv, [](int, char **) { return 3; });
    return run(argc, argv, on_zero);
}
