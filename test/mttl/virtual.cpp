/*
 * Virtual nodes: messages that travel while their receivers move arrive once,
 * in the order in which each process sent them; processes leave and come back.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mttl_test.hpp"
#include "no_memory.hpp"

namespace {

using namespace mttl_test;

struct cell {
    std::map<int, int> last;        // by sender: the last number that it sent
    int taken = 0;
    std::string wrong;
    std::vector<double> values;
    std::array<int, 3> few{};
    int one = 0;
    int add(int n) { return one += n; }
};

struct plant {
    int leaves = 0;
    bool rooted = false;        // it cannot be taken out,
    bool tender = false;        // or not be put in elsewhere
};

} // namespace

template <> struct mttl::serial<plant> {
    static void put(writer &w, const plant &p)
    {
        if (p.rooted)
            throw std::logic_error("it has roots");
        w.raw(p.leaves);
        w.raw(p.tender);
    }
    static plant get(reader &r)
    {
        const int leaves = r.raw<int>();
        if (r.raw<bool>())
            throw std::domain_error("it does not take");
        return {leaves, false, false};
    }
};

template <> struct mttl::serial<cell> {
    static void put(writer &w, const cell &c)
    {
        serial<std::map<int, int>>::put(w, c.last);
        serial<int>::put(w, c.taken);
        serial<std::string>::put(w, c.wrong);
        serial<std::vector<double>>::put(w, c.values);
        serial<std::array<int, 3>>::put(w, c.few);
        serial<int>::put(w, c.one);
    }
    static cell get(reader &r)
    {
        cell c;
        c.last = serial<std::map<int, int>>::get(r);
        c.taken = serial<int>::get(r);
        c.wrong = serial<std::string>::get(r);
        c.values = serial<std::vector<double>>::get(r);
        c.few = serial<std::array<int, 3>>::get(r);
        c.one = serial<int>::get(r);
        return c;
    }
};

namespace {

constexpr int spaces = 8;

// Message number n of a sender, with arguments of any size.
void take(cell &c, int from, int n, const std::vector<char> &load)
{
    if (c.last[from] + 1 != n)
        c.wrong += "after " + std::to_string(c.last[from]) + " of " + std::to_string(from) + " came " + std::to_string(n) + "; ";
    c.last[from] = n;
    c.taken += 1 + static_cast<int>(load.size() > 1 && load.front() != load.back());
}

std::string basics()
{
    return jobs(3, [](memory_job &) -> std::string {
        const auto cells = VirtualNodes<cell>::create(7);
        WAN_CHECK(cells.count() == 7);
        for (uint32_t v = 0; v < 7; ++v) {
            WAN_CHECK(cells.where(v) == static_cast<int>(v * 3 / 7));
            WAN_CHECK(cells.invoke(v, [](cell &c, int n) { return c.one += n; }, 5) == 5);
            WAN_CHECK(cells.invoke(v, fn<&cell::add>, 2) == 7);
            cells.post(v, [](cell &c) { c.one = 100; });
            WAN_CHECK(cells.invoke(v, [](cell &c) { return c.one; }) == 100);
        }
        // The state goes along, also one that does not fit a small message.
        cells.invoke(2, [](cell &c) { c.values.assign(5000, 1.5); });
        for (const int to : {2, 2, 0, 1}) {
            cells.move(2, to).get();
            WAN_CHECK(cells.where(2) == to);
            WAN_CHECK(cells.invoke(2, [](cell &c) { return c.one == 100 && c.values == std::vector<double>(5000, 1.5); }));
        }
        // The handle travels, and exceptions come back from wherever the virtual node is.
        const int where = invoke(2, [](VirtualNodes<cell> s) {
            s.move(5, 0).get();
            return s.invoke(5, [](cell &) { return my_node(); });
        }, cells);
        WAN_CHECK(where == 0);
        std::string what;
        try {
            cells.invoke(2, [](cell &) { throw std::out_of_range("cell"); });
        } catch (const std::out_of_range &e) {
            what = e.what() + std::to_string(dynamic_cast<const remote_origin &>(e).node);
        }
        WAN_CHECK_THAT(what == "cell1", what);
        for (int i = 0; i < 2; ++i) {
            what.clear();
            try {
                i ? cells.move(0, 3).get() : cells.post(7, [](cell &) {});
            } catch (const std::out_of_range &e) {
                what = e.what();
            }
            WAN_CHECK_THAT(what == (i ? "no node 3 among 3" : "no virtual node 7 among 7"), what);
        }
        // A sender that was told finds it at once: one message of two goes the long way.
        const auto forwarded = [&] { return invoke(1, [](VirtualNodes<cell> s) { return s.forwarded(); }, cells); };
        const uint64_t before = forwarded();
        cells.invoke(3, [](cell &) {});
        invoke(2, [](VirtualNodes<cell> s) { s.move(3, 2).get(); }, cells);
        for (int i = 0; i < 5; ++i) {
            cells.invoke(3, [](cell &) {});
            invoke(2, [] {});       // what it posted to me has been sent before it answers
            invoke(0, [] {});
        }
        WAN_CHECK_THAT(forwarded() - before == 1, std::to_string(forwarded() - before));
        const auto others = VirtualNodes<cell>::create(2);
        WAN_CHECK(others.invoke(0, [](cell &c) { return c.one; }) == 0);
        return "";
    });
}

std::string pointers()
{
    return jobs(3, [](memory_job &) -> std::string {
        const auto cells = VirtualNodes<cell>::create(3);
        cells.invoke(1, [](cell &c) { c.values.assign(3000, 0); });
        const VirtualPtr<&cell::values> p(cells, 1);
        std::vector<double> out(2000), in(2000);
        std::iota(out.begin(), out.end(), 0.0);
        for (int to = 0; to < 3; ++to) {
            future<void> moved = cells.move(1, to);
            p[3] = to + 0.25;
            (p + 1000).nwrite(out.data(), out.size());
            (p + 1000).nread(in.data(), in.size());
            WAN_CHECK(in == out && p[3] == to + 0.25 && *(p + 1005 - 2) == 3);
            moved.get();
            WAN_CHECK(p[3] == to + 0.25);
        }
        // From another process, through a pointer that travelled.
        WAN_CHECK(invoke(2, [](VirtualPtr<&cell::values> q) { return (q + 1007).get(); }, p) == 7);
        const VirtualPtr<&cell::few> few(cells, 2);
        const VirtualPtr<&cell::one> one(cells, 2);
        few[2] = 9, one.put(4);
        WAN_CHECK(cells.invoke(2, [](cell &c) { return c.few[2] == 9 && c.one == 4; }) && few[2] == 9 && *one == 4);
        for (const int i : {-1, 3, 1000000}) {
            bool thrown = false;
            try {
                few[i] = 1;
            } catch (const std::out_of_range &) {
                thrown = true;
            }
            WAN_CHECK(thrown);
        }
        return "";
    });
}

// All processes send to all virtual nodes, while all processes move them about.
std::string travel(int nodes, const options &o)
{
    constexpr int rounds = 40;
    return jobs(nodes, [nodes](memory_job &) -> std::string {
        static VirtualNodes<cell> cells;
        cells = VirtualNodes<cell>::create(spaces);
        std::vector<future<uint64_t>> all;
        for (int from = 0; from < nodes; ++from)
            all.push_back(ainvoke(from, [](uint64_t seed) {
                std::mt19937_64 random(seed);
                std::vector<future<void>> moves;
                for (int n = 1; n <= rounds; ++n)
                    for (uint32_t v = 0; v < spaces; ++v) {
                        cells.post(v, fn<take>, my_node(), n, std::vector<char>(random() % 8 ? random() % 50 : 5000, 'x'));
                        if (random() % 5 == 0)
                            moves.push_back(cells.move(v, static_cast<int>(random() % static_cast<uint64_t>(mttl::nodes()))));
                        if (random() % 3 == 0)
                            yield();
                    }
                when_all(std::move(moves)).get();
                for (uint32_t v = 0; v < spaces; ++v)
                    cells.invoke(v, [](cell &) {});
                return cells.forwarded();
            }, wan_test::test_seed() + static_cast<uint64_t>(from)));
        uint64_t forwarded = 0;
        for (auto &f : all)
            forwarded += f.get();
        for (uint32_t v = 0; v < spaces; ++v) {
            const std::string wrong = cells.invoke(v, [](cell &c) { return c.wrong; });
            WAN_CHECK_THAT(wrong.empty(), wrong);
            const int taken = cells.invoke(v, [](cell &c) { return c.taken; });
            WAN_CHECK_THAT(taken == nodes * rounds, std::to_string(taken));
        }
        // Each is in one place.
        std::vector<uint32_t> owned;
        for (int n = 0; n < nodes; ++n)
            for (const uint32_t v : invoke(n, [] { return cells.here(); }))
                owned.push_back(v);
        std::sort(owned.begin(), owned.end());
        WAN_CHECK(owned.size() == spaces && owned.front() == 0 && owned.back() == spaces - 1);
        WAN_CHECK(nodes == 1 || forwarded > 0);     // or nothing was tested
        return "";
    }, o, 10);
}

std::string travelling()
{
    options narrow;
    narrow.small = 256;
    narrow.node.window = 2;
    for (const int nodes : {1, 2, 3, 5}) {
        for (const options &o : {options(), narrow}) {
            const std::string s = travel(nodes, o);
            if (!s.empty())
                return s;
        }
    }
    return "";
}

// A function that blocks delays the move of its virtual node, and nothing else.
std::string blocked()
{
    static Sync<int> *gate;
    return jobs(2, [](memory_job &) -> std::string {
        Sync<int> s;
        gate = &s;
        const auto cells = VirtualNodes<cell>::create(2);
        future<int> waits = cells.ainvoke(1, [](cell &c) {
            c.one = gate->read();
            return my_node() * 10 + c.one;
        });
        future<void> moved = cells.move(1, 0);
        WAN_CHECK(cells.invoke(1, [](cell &c) { return c.one; }) == 0);     // it still answers
        WAN_CHECK(cells.invoke(0, [](cell &c) { return c.one; }) == 0 && !moved.ready());
        invoke(1, [] { gate->write(3); });
        WAN_CHECK(waits.get() == 13);
        moved.get();
        WAN_CHECK(cells.where(1) == 0 && cells.invoke(1, [](cell &c) { return c.one; }) == 3);
        return "";
    });
}

// A process leaves the work while others send, and comes back.
std::string leaving()
{
    return jobs(4, [](memory_job &) -> std::string {
        static VirtualNodes<cell> cells;
        cells = VirtualNodes<cell>::create(13);
        const auto owned = [](int n) { return invoke(n, [] { return cells.here(); }); };
        const std::vector<uint32_t> before = owned(2);
        WAN_CHECK(before.size() == 3);
        constexpr int rounds = 60;
        future<void> sender = ainvoke(3, [] {
            for (int n = 1; n <= rounds; ++n)
                for (uint32_t v = 0; v < 13; ++v)
                    cells.post(v, fn<take>, 3, n, std::vector<char>());
            for (uint32_t v = 0; v < 13; ++v)
                cells.invoke(v, [](cell &) {});
        });
        cells.leave(2);
        WAN_CHECK(owned(2).empty());
        cells.leave(1);
        WAN_CHECK(owned(1).empty() && owned(2).empty() && owned(0).size() + owned(3).size() == 13);
        cells.take_back(2);
        WAN_CHECK(owned(2) == before);
        sender.get();
        cells.take_back(1);
        WAN_CHECK(owned(1).size() == 3 && owned(0).size() == 4 && owned(3).size() == 3);
        for (uint32_t v = 0; v < 13; ++v)
            WAN_CHECK(cells.invoke(v, [](cell &c) { return c.taken == rounds && c.wrong.empty(); }));
        for (int n = 0; n < 3; ++n)
            cells.leave(n);
        WAN_CHECK(owned(3).size() == 13);
        std::string what;
        try {
            cells.leave(3);
        } catch (const error &e) {
            what = e.what();
        } catch (const std::exception &e) {
            what = e.what();
        }
        WAN_CHECK_THAT(what == "no process would be left for the virtual nodes", what);
        WAN_CHECK(owned(3).size() == 13);
        return "";
    });
}

// One whose state does not travel stays, with all that it has, and who wanted it moved is told.
std::string stays()
{
    return jobs(3, [](memory_job &) -> std::string {
        const auto plants = VirtualNodes<plant>::create(3);
        const auto grow = [](plant &p) { return ++p.leaves; };
        plants.invoke(1, [](plant &p) { p.rooted = true; });
        std::vector<future<int>> grown;
        std::vector<future<void>> moves;
        for (int i = 0; i < 10; ++i) {
            grown.push_back(plants.ainvoke(1, grow));
            moves.push_back(plants.move(1, i % 3));
        }
        int refused = 0;
        for (future<void> &m : moves) {
            try {
                m.get();
            } catch (const std::logic_error &e) {
                refused += e.what() == std::string("it has roots");
            }
        }
        for (int i = 0; i < 10; ++i)
            WAN_CHECK(grown[static_cast<size_t>(i)].get() == i + 1);
        WAN_CHECK_THAT(refused == 7 && plants.where(1) == 1, std::to_string(refused));     // not those to where it is
        plants.invoke(1, [](plant &p) { p.rooted = false; });
        plants.move(1, 0).get();
        WAN_CHECK(plants.where(1) == 0 && plants.invoke(1, grow) == 11);
        return "";
    });
}

// One that cannot be read where it is to go stays as well: what was sent meanwhile is taken here, in its order.
std::string comes_back()
{
    return jobs(3, [](memory_job &) -> std::string {
        static VirtualNodes<plant> plants;
        plants = VirtualNodes<plant>::create(3);
        const auto grow = [](plant &p) { return ++p.leaves; };
        plants.invoke(1, [](plant &p) { p.tender = true; });
        const auto tend = [] {
            int refused = 0;
            std::vector<future<int>> grown;
            std::vector<future<void>> moves;
            for (int i = 0; i < 12; ++i) {
                grown.push_back(plants.ainvoke(1, [](plant &p) { return ++p.leaves; }));
                moves.push_back(plants.move(1, i % 3));
                if (i % 4 == 0)
                    invoke(1, [] {});
            }
            for (future<void> &m : moves) {
                try {
                    m.get();
                } catch (const std::domain_error &e) {
                    refused += e.what() == std::string("it does not take");
                }
            }
            int last = 0, wrong = 0;
            for (future<int> &g : grown) {
                const int now = g.get();
                wrong += now <= last;
                last = now;
            }
            return refused * 100 + wrong;
        };
        std::vector<future<int>> all;
        for (int from = 0; from < 3; ++from)
            all.push_back(ainvoke(from, tend));
        for (future<int> &f : all) {
            const int said = f.get();
            WAN_CHECK_THAT(said == 800, std::to_string(said));
        }
        WAN_CHECK(plants.where(1) == 1 && plants.invoke(1, [](plant &p) { return p.leaves; }) == 36);
        plants.invoke(1, [](plant &p) { p.tender = false; });
        for (const int to : {0, 2, 1, 0}) {
            plants.move(1, to).get();
            WAN_CHECK(plants.where(1) == to);
        }
        WAN_CHECK(plants.invoke(1, grow) == 37);
        return "";
    });
}

// A process that cannot leave with all that it has, has not left; what did go is known, and comes back.
std::string leaves_in_part()
{
    return jobs(3, [](memory_job &) -> std::string {
        static VirtualNodes<plant> plants;
        plants = VirtualNodes<plant>::create(12);
        const auto owned = [](int n) { return invoke(n, [] { return plants.here(); }); };
        const std::vector<uint32_t> before = owned(1);
        WAN_CHECK(before == std::vector<uint32_t>({4, 5, 6, 7}));
        for (const bool tender : {false, true}) {
            plants.invoke(5, [](plant &p, bool t) { (t ? p.tender : p.rooted) = true; }, tender);
            std::string what;
            try {
                plants.leave(1);
            } catch (const std::logic_error &e) {
                what = e.what();
            }
            WAN_CHECK_THAT(what == (tender ? "it does not take" : "it has roots"), what);
            WAN_CHECK(owned(1) == std::vector<uint32_t>({5}));
            // It is there still for those that leave now, and has not handed over what it kept.
            plants.leave(0);
            WAN_CHECK(owned(0).empty() && owned(1).size() > 1);
            plants.take_back(0);
            plants.invoke(5, [](plant &p) { p.rooted = p.tender = false; });
            plants.move(5, 2).get();
            plants.take_back(1);
            WAN_CHECK(owned(1) == std::vector<uint32_t>({4, 6, 7}));
            plants.move(5, 1).get();
            // One that does not come back now does later.
            plants.leave(1);
            WAN_CHECK(owned(1).empty());
            plants.invoke(6, [](plant &p) { p.rooted = true; });
            what.clear();
            try {
                plants.take_back(1);
            } catch (const std::logic_error &e) {
                what = e.what();
            }
            WAN_CHECK(what == "it has roots" && owned(1) == std::vector<uint32_t>({4, 5, 7}));
            plants.invoke(6, [](plant &p) { p.rooted = false; });
            plants.take_back(1);
            WAN_CHECK(owned(1) == before);
        }
        return "";
    }, {}, 8);
}

// A message that could not be sent leaves no gap: those behind it are started.
std::string no_gaps()
{
    int failures = 0;
    options narrow;
    narrow.node.window = 1;
    const std::string wrong = jobs(2, [&failures](memory_job &job) -> std::string {
        const auto cells = VirtualNodes<cell>::create(2);
        std::string trace;
        int sent = 0;
        std::vector<thread_handle> all;
        for (int i = 0; i < 12; ++i)
            all.push_back(spawn([&, i] {
                if (i % 4 == 1)     // of what goes to the port, which has a header and some room: of this thread or another one
                    fail_allocation(9100, static_cast<int>(job.fabric().random()() % 3));
                try {
                    cells.post(1, [](cell &c, const std::vector<char> &v) { c.one += static_cast<int>(v.size()); },
                               std::vector<char>(9000));
                    ++sent;
                } catch (const std::bad_alloc &) {
                    ++failures;
                }
            }));
        for (thread_handle &t : all)
            t.join();
        allocation_failed();
        WAN_CHECK_THAT(cells.invoke(1, [](cell &c) { return c.one; }) == 9000 * sent, std::to_string(sent));
        cells.move(1, 0).get();
        return "";
    }, narrow);
    WAN_CHECK_THAT(!wrong.empty() || failures >= 4, std::to_string(failures));
    return wrong;
}

// Exit waits for messages that follow a virtual node, however often it moves.
std::string exit_waits()
{
    static int taken;
    for (int i = 0; i < 20; ++i) {
        taken = 0;
        memory_job job(3, wan_test::test_seed() + static_cast<uint64_t>(i));
        const std::string why = job.run([] {
            const auto cells = VirtualNodes<cell>::create(3);
            for (int n = 0; n < 30; ++n) {
                cells.move(static_cast<uint32_t>(n % 3), n % 2 ? 1 : 2);
                cells.post(static_cast<uint32_t>(n % 3), [](cell &) { ++taken; });
            }
            return 0;
        });
        WAN_CHECK_THAT(why.empty(), why);
        WAN_CHECK_THAT(taken == 30, std::to_string(taken));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<basics>),     cmocka_unit_test(wan_test::test<pointers>),
        cmocka_unit_test(wan_test::test<travelling>), cmocka_unit_test(wan_test::test<blocked>),
        cmocka_unit_test(wan_test::test<leaving>),    cmocka_unit_test(wan_test::test<stays>),
        cmocka_unit_test(wan_test::test<comes_back>), cmocka_unit_test(wan_test::test<leaves_in_part>),
        cmocka_unit_test(wan_test::test<no_gaps>),
        cmocka_unit_test(wan_test::test<exit_waits>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
