/*
 * What the tests of mttl under mpirun run on every kind of MPI: all features
 * once, between every pair of processes, with functions of a shared library.
 * Prints `mttl ok N checks` on node 0.
 *
 * Usage: worker [spmd | meetings | overlapping | two_reductions | limits | overflow | plugins A B | throw | lost | code]
 *        meetings: of two nodes, before MPI's collectives; for MTTL_WINDOW=2
 *        overflow: a function on the last node takes a quarter of a megabyte of its stack
 *        plugins: also with the libraries A and B (plugin.cpp), loaded in another order on each second process
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

#include "library.hpp"

#include <map>
#include <optional>

#include <dlfcn.h>
#include <sys/resource.h>

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
int slot;

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
    // An operator that is a lambda, on a type that MPI does not know, in the order of the nodes; and one with state.
    struct pair {
        int first, last;
    };
    Reduction<pair> ends;
    const pair p = ends.exec({me, me}, [](pair a, pair b) { return pair{a.first, b.last}; });
    CHECK(p.first == 0 && p.last == n - 1);
    const int factor = 1;
    CHECK(sum_int.exec(me, [factor](int a, int b) { return std::max(factor * a, b); }) == n - 1);
    if (me % 2 == 0) {
        std::vector<int> even;
        for (int i = 0; i < n; i += 2)
            even.push_back(i);
        CHECK(Reduction<long>(even).exec(1) == (n + 1) / 2);
    }
    const bool native = node::here().collective() != collectives::own && n > 1;
    CHECK((node::here().network().counters().collectives > 20) == native);
    // Small writes that are held leave before a barrier begins, also one of MPI's.
    if (n > 1) {
        const auto p = invoke((me + 1) % n, [] { return GlobalPtr<int>(&slot); });
        const port_counters &c = node::here().network().counters();
        uint64_t before = 0;
        bool held = false;
        for (int i = 0; i < 1000 && !held; ++i) {
            before = c.sends;
            p.put(i);
            held = c.sends == before;
        }
        CHECK(held);
        thread_handle t = spawn([&] { all.exec(); });
        node::here().threads().yield();     // to that thread and, as it blocks, straight back
        CHECK(c.sends > before);
        t.join();
    }
    posted = 0;
    all.exec();
    flood();
    for (int to = 0; to < n; ++to)
        invoke(to, [] {});
    all.exec();
    CHECK(sum_int.exec(posted) == 5000 * n);
}

// Node 1 has records that it keeps for want of credit, or a batch, when it waits inside MPI: its part of the meeting
// before has left all the same, or both wait for ever.
Sync<int> gate;

int meetings(int, char **)
{
    CHECK(nodes() == 2);
    Reduction<int> sum;
    for (const char *round : {"exec", "made", "made in a batch"}) {
        const bool batched = round[4] == ' ', makes = round[0] == 'm';
        // What node 0 sends to the meeting comes straight behind this.
        if (my_node() == 0) {
            post(1, [](int n) {
                for (int i = 0; i < n; ++i)
                    post(0, [] { ++posted; });
                gate.write(n);
            }, batched ? 0 : 10);
        } else {
            CHECK(gate.read() == (batched ? 0 : 10));
            if (batched)
                invoke(0, [] {});       // behind what node 0 sends to the meeting: this thread will not wait for it
        }
        if (makes) {
            std::optional<batch> b;
            if (batched)
                b.emplace();
            Reduction<int> another;
            b.reset();
            CHECK(another.exec(1) == 2);
        } else {
            CHECK(sum.exec(1) == 2);
        }
    }
    if (my_node() == 0) {
        while (posted < 20)
            yield();
        std::printf("mttl ok meetings %d checks\n", checks);
    }
    return 0;
}

// Groups that share members are made at the same time, in other orders on other nodes, by threads of which others go on.
int overlapping(int, char **)
{
    const int n = nodes(), me = my_node();
    CHECK(n >= 3);
    long turns = 0;
    bool ended = false;
    thread_handle other = spawn([&] {
        for (; !ended; yield())
            ++turns;
    });
    for (int round = 0; round < 15; ++round) {
        std::vector<std::vector<int>> groups;
        for (int k = 0; k < n; ++k)
            groups.push_back({k, (k + 1) % n, (k + 2) % n});
        // Where one thread makes several, each node in an order of its own; and all at once.
        std::rotate(groups.begin(), groups.begin() + (me * 7 + round) % n, groups.end());
        if (me % 2)
            std::reverse(groups.begin(), groups.end());
        std::vector<thread_handle> all;
        int sum = 0;
        for (const std::vector<int> &g : groups) {
            if (std::find(g.begin(), g.end(), me) == g.end())
                continue;
            all.push_back(spawn([&, g] {
                for (int i = (me + g[0] + round) % 4; i > 0; --i)
                    invoke(g[static_cast<size_t>(i) % 3], [] {});
                Barrier b(g);
                b.exec();
                ++sum;
            }));
        }
        for (thread_handle &t : all)
            t.join();
        CHECK(sum == 3);
    }
    ended = true;
    other.join();
    CHECK(turns > 0);
    if (me == 0)
        std::printf("mttl ok overlapping %d checks\n", checks);
    return 0;
}

// With MPI's reductions that wait, two at a time on one node are an error and no standstill.
int two_reductions(int, char **)
{
    CHECK(nodes() == 2);
    Reduction<int> a, b;
    const auto one = [](Reduction<int> &r) {
        try {
            r.exec(1);
        } catch (const error &e) {
            std::printf("%s\n", e.what());
            std::fflush(stdout);
            throw;
        }
    };
    thread_handle t = spawn([&] { one(my_node() ? a : b); });
    thread_handle u = spawn([&] { one(my_node() ? b : a); });
    u.join();       // the second one gets the error, the first one waits
    t.join();
    return 0;
}

// All processes send to all virtual nodes while each moves one of them on, and leave and come back in turn.
struct counted {
    int taken = 0;
    std::array<int, 8> last{};      // by sender
    int wrong = 0;
    std::vector<double> load;
};

} // namespace
template <> struct mttl::serial<counted> {
    static void put(writer &w, const counted &c)
    {
        serial<std::tuple<int, std::array<int, 8>, int>>::put(w, {c.taken, c.last, c.wrong});
        serial<std::vector<double>>::put(w, c.load);
    }
    static counted get(reader &r)
    {
        const auto [taken, last, wrong] = serial<std::tuple<int, std::array<int, 8>, int>>::get(r);
        return {taken, last, wrong, serial<std::vector<double>>::get(r)};
    }
};
namespace {

VirtualNodes<counted> cells;

void send_to_cells()
{
    for (int n = 1; n <= 50; ++n)
        for (uint32_t v = 0; v < cells.count(); ++v) {
            cells.post(v, [](counted &c, int from, int number) {
                c.wrong += std::exchange(c.last[static_cast<size_t>(from) % 8], number) != number - 1;
                ++c.taken;
            }, my_node(), n);
            if (n % 10 == 0 && v % static_cast<uint32_t>(nodes()) == static_cast<uint32_t>(my_node()))
                cells.move(v, (my_node() + n) % nodes()).get();
        }
    for (uint32_t v = 0; v < cells.count(); ++v)
        cells.invoke(v, [](counted &) {});      // behind those: all of mine have been taken
}

void migrate()
{
    cells = VirtualNodes<counted>::create(static_cast<uint32_t>(3 * nodes()));
    for (int to = 1; to < nodes(); ++to)
        invoke(to, [](VirtualNodes<counted> c) { cells = c; }, cells);
    cells.invoke(0, [](counted &c) { c.load.assign(30000, 1.5); });
    std::vector<future<void>> all;
    for (int from = 0; from < nodes(); ++from)
        all.push_back(ainvoke(from, fn<send_to_cells>));
    for (int who = 1; who < nodes(); ++who) {
        cells.leave(who);
        cells.take_back(who);
    }
    when_all(std::move(all)).get();
    for (uint32_t v = 0; v < cells.count(); ++v)
        CHECK(cells.invoke(v, [](counted &c) { return c.wrong == 0 && c.taken == 50 * nodes(); }));
    CHECK(cells.invoke(0, [](counted &c) { return c.load == std::vector<double>(30000, 1.5); }));
    const int last = nodes() - 1;
    if (last > 0) {
        cells.leave(last);
        CHECK(invoke(last, [] { return cells.here(); }).empty());
    }
}

// Landings that go while a write is expected: it is refused, or dropped, large ones too, and their channels are usable.
std::optional<Landing<double>> outlives;
double outlived;

void late_writes(int from)
{
    std::vector<double> in(100000, -1);
    for (int round = 0; round < 20; ++round) {
        bool thrown = false;
        LandingPtr<double> p;
        const size_t n = round % 2 ? 100000 : 10;
        future<void> written;
        try {
            Landing<double> l(in.data(), n, from);
            p = l.handle();
            l.arm();
            const auto write = [](LandingPtr<double> q, size_t m) { q.write(std::vector<double>(m, 7).data(), m); };
            if (round % 4 < 2)
                written = ainvoke(from, write, p, n);
            for (int turns = round % 5; turns > 0; --turns)
                invoke(from, [] {});
            throw std::runtime_error("unwound");
        } catch (const std::runtime_error &) {
            thrown = true;
        }
        CHECK(thrown);
        if (written.valid()) {
            try {
                written.get();
            } catch (const std::runtime_error &) {
            }
        }
        CHECK(invoke(from, [](LandingPtr<double> q) {
            const double one = 1;
            try {
                q.write(&one, 1);
            } catch (const error &e) {
                return std::string(e.what()).find("where the landing for it has gone") != std::string::npos;
            }
            return false;
        }, p));
    }
    // Armed when the job ends, and gone after it.
    outlives.emplace(&outlived, 1, from);
    outlives->arm();
}

// The most memory that this process has used so far, MiB.
long peak()
{
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss / 1024;
}

// A million results that are awaited at once, from two processes that ask each other.
void ask_million(int other, int n)
{
    std::vector<future<int>> all;
    all.reserve(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i)
        all.push_back(ainvoke(other, [](int x) { return x + 1; }, i));
    for (int i = 0; i < n; ++i)
        if (all[static_cast<size_t>(i)].get() != i + 1)
            CHECK(false);
}

int limits(int, char **)
{
    constexpr int million = 1000000, threads = 100000;
    const int last = nodes() - 1;
    const long before = peak();
    future<void> back = ainvoke(last, fn<ask_million>, 0, million);
    ask_million(last, million);
    back.get();
    // A result that is awaited is about 150 bytes, wherever it waits; what is under way is bounded by the window.
    const long asked = std::max(peak() - before, invoke(last, [] { return peak(); }) - before);
    const size_t made = std::max(node::here().threads().made(), invoke(last, [] { return node::here().threads().made(); }));
    std::printf("a million outstanding both ways: %ld MiB, %zu threads\n", asked, made);
    CHECK(asked < 400 && made < 100);
    // What comes in batches and is passed on at once, faster than it can leave, has no threads either.
    posted = 0;
    {
        batch b;
        for (int i = 0; i < million / 4; ++i)
            post(last, [] { post(0, [] { ++posted; }); });
    }
    while (posted < million / 4)
        yield();
    const size_t passing = invoke(last, [] { return node::here().threads().made(); });
    std::printf("%d passed on, %zu threads\n", million / 4, passing);
    CHECK(passing < 100 && invoke(last, [] { return peak(); }) - before < 400);
    // Handlers that block are threads.
    std::vector<future<int>> all;
    for (int i = 0; i < threads; ++i)
        all.push_back(ainvoke(last, [] { return box.read(); }));
    const auto blocked = invoke(last, [] { return node::here().threads().blocked_count(); });
    for (int i = 0; i < threads; ++i)
        post(last, [](int x) { box.write(x); }, i);
    long sum = 0;
    for (auto &f : all)
        sum += f.get();
    const long used = invoke(last, [] { return peak(); });
    std::printf("%zu threads blocked at once, process of %ld MiB\n", blocked, used);
    CHECK(blocked >= threads && sum == long(threads) * (threads - 1) / 2);
    CHECK(used < 2000);
    std::puts("mttl ok limits");
    return 0;
}

[[gnu::noinline]] int deep(int n)
{
    volatile char frame[512];
    for (char volatile &c : frame)
        c = static_cast<char>(n);
    const int below = n ? deep(n - 1) : 0;
    return below + frame[0];
}

int overflow(int, char **)
{
    invoke(nodes() - 1, [](int n) { deep(n), yield(); }, 512);
    std::puts("mttl ok overflow");
    return 0;
}

template <class F> F symbol_of(void *library, const char *name)
{
    return reinterpret_cast<F>(dlsym(library, name));
}

int plugins(int, char **paths)
{
    using asks = int (*)(int);
    using place = uint64_t (*)();
    Barrier all;
    Reduction<uint64_t> least, most;
    void *library[2];
    const auto load = [&](int k) {
        library[k] = dlopen(paths[2 + k], RTLD_NOW);
        if (!library[k])
            throw error(dlerror());
    };
    const int first = my_node() % 2;
    load(first);
    all.exec();
    // What only this process has is an error of the call, which says so; the job goes on.
    if (nodes() > 1) {
        std::string why;
        try {
            symbol_of<asks>(library[first], "plugin_ask")((my_node() + 1) % 2);
        } catch (const std::runtime_error &e) {
            why = e.what();
        }
        CHECK(why.find("has not loaded the library with it") != why.npos);
    }
    all.exec();
    load(1 - first);
    all.exec();
    for (int k = 0; k < 2; ++k) {
        for (int to = 0; to < nodes(); ++to)
            CHECK(symbol_of<asks>(library[k], "plugin_ask")(to) == 5);
        // Or addresses might travel, and nobody would see it.
        const uint64_t at = symbol_of<place>(library[k], "plugin_place")();
        const auto lower = [](uint64_t a, uint64_t b) { return std::min(a, b); };
        const auto upper = [](uint64_t a, uint64_t b) { return std::max(a, b); };
        const uint64_t lowest = least.exec(at, lower), highest = most.exec(at, upper);
        CHECK(nodes() == 1 || lowest < highest);
    }
    all.exec();
    // Where a library is unmapped at dlclose, its functions have left the registry.
    const auto known = [] { return node::here().functions().names().size(); };
    const size_t with = known();
    dlclose(library[first]);
    if (void *still = dlopen(paths[2 + first], RTLD_NOW | RTLD_NOLOAD)) {
        std::puts("dlclose does not unmap");
        library[first] = still;
    } else {
        CHECK(known() < with);
        const size_t without = known();
        CHECK(symbol_of<asks>(library[1 - first], "plugin_ask")(my_node()) == 5);
        load(first);
        CHECK(without < known());
        CHECK(symbol_of<asks>(library[first], "plugin_ask")(my_node()) == 5);
    }
    all.exec();
    if (my_node() == 0)
        std::printf("mttl ok plugins %d checks\n", checks);
    return 0;
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
    migrate();
    late_writes(nodes() - 1);
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

// Each makes this another program than the one without it.
#ifdef WAN_MTTL_OTHER
int only_here(int x) { return x; }
void never() { mttl::invoke(0, mttl::fn<only_here>, 1); }
#endif
struct point {
    double x, y;
#ifdef WAN_MTTL_LARGER
    double z;
#endif
};
void takes_point(point) {}
void never_either() { mttl::invoke(0, mttl::fn<takes_point>, point{}); }

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "limits")
        return run(argc, argv, limits);
    if (mode == "overflow")
        return run(argc, argv, overflow);
    if (mode == "meetings")
        return run(argc, argv, meetings, start::spmd);
    if (mode == "overlapping")
        return run(argc, argv, overlapping, start::spmd);
    if (mode == "two_reductions")
        return run(argc, argv, two_reductions, start::spmd);
    if (mode == "spmd")
        return run(argc, argv, everywhere, start::spmd);
    if (mode == "plugins")
        return run(argc, argv, plugins, start::spmd);
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
