/*
 * What threads wait for besides results: Sync, Barrier, Reduction; that none of
 * it blocks the process; and the life of a job, to its exit.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mttl_test.hpp"

namespace {

using namespace mttl_test;

std::string syncs()
{
    return jobs(2, [](memory_job &) -> std::string {
        Sync<std::string> s;
        std::string trace;
        std::vector<thread_handle> readers;
        for (const char *who : {"a", "b", "c"})
            readers.push_back(spawn([&, who] { trace += who + s.read() + " "; }));
        readers.push_back(spawn([&] { trace += "peek" + s.peek() + " "; }));
        readers.push_back(spawn([&] { trace += "d" + s.read() + " "; }));
        yield();
        WAN_CHECK(s.queueLength() == 0 && trace.empty());
        for (const char *v : {"1", "2", "3", "4", "5"})
            s.write(v);
        // A reader that comes now must not overtake those that wait.
        WAN_CHECK(s.queueLength() == 1);
        WAN_CHECK(s.peek() == "5" && s.queueLength() == 1);
        WAN_CHECK(s.read() == "5" && s.queueLength() == 0);
        for (auto &r : readers)
            r.join();
        WAN_CHECK_THAT(trace == "a1 b2 c3 peek4 d4 ", trace);

        Sync<future<int>> moved;        // what is moved, not copied
        spawn([&] { moved.write(ainvoke(1, [] { return 4; })); });
        WAN_CHECK(moved.read().get() == 4);

        Sync<int> far;
        const GlobalPtr<Sync<int>> p(1, reinterpret_cast<uint64_t>(&far));
        future<int> f = p.ainvoke<&Sync<int>::read>();
        p.invoke<&Sync<int>::write>(9);
        WAN_CHECK(f.get() == 9 && p.invoke<&Sync<int>::queueLength>() == 0);
        return "";
    });
}

std::string groups()
{
    static int arrived[8];
    for (int n = 1; n <= 8; ++n) {
        const std::string s = jobs(n, [n](memory_job &) -> std::string {
            const int me = my_node();
            // What does not commute: the order of the members must come out.
            struct word {
                char text[16];
            };
            Reduction<word> letters;
            Reduction<double> sum;
            Barrier all;
            word w{};
            w.text[0] = static_cast<char>('a' + me);
            const auto join = [](const word &a, const word &b) {
                word r = a;
                std::strcat(r.text, b.text);
                return r;
            };
            for (int round = 0; round < 3; ++round)
                WAN_CHECK_THAT(std::string(letters.exec(w, join).text) == std::string("abcdefgh").substr(0, static_cast<size_t>(n)),
                               letters.exec(w, join).text);
            std::vector<double> v(2000, me + 1.0);
            v[0] = 1.0 / (me + 3);
            sum.exec(std::span<double>(v));
            WAN_CHECK(v[1] == n * (n + 1) / 2.0 && v[1999] == v[1]);
            // The same bits everywhere.
            static double bits[8];
            bits[me] = v[0];
            WAN_CHECK(sum.exec(me, [](double a, double b) { return std::max(a, b); }) == n - 1);
            WAN_CHECK(bits[0] == v[0]);

            // Nobody leaves before all have come.
            for (int round = 1; round <= 3; ++round) {
                arrived[me] = round;
                for (int i = 0; i < me * 3; ++i)
                    yield();
                all.exec();
                for (int r = 0; r < n; ++r)
                    WAN_CHECK(arrived[r] >= round);
                all.exec();
            }
            // Groups that overlap.
            std::vector<int> part;
            for (int r = n - 1; r >= 0; r -= 2)
                part.push_back(r);
            if (std::find(part.begin(), part.end(), me) != part.end()) {
                Reduction<int> some(part);
                WAN_CHECK(some.exec(1) == static_cast<int>(part.size()));
            } else {
                bool thrown = false;
                try {
                    Barrier wrong(part);
                } catch (const error &) {
                    thrown = true;
                }
                WAN_CHECK(thrown);
            }
            // What is no group is no standstill later, but an error now, on each node.
            int refused = 0;
            for (const int wrong : {me, n, -1}) {
                try {
                    Barrier none({me, wrong});
                } catch (const error &e) {
                    refused += e.what() == "node " + std::to_string(me) + " is in a group twice";
                } catch (const std::out_of_range &) {
                    ++refused;
                }
            }
            WAN_CHECK(refused == 3);
            all.exec();
            arrived[me] = 0;
            all.exec();
            return "";
        }, spmd(), 8);
        if (!s.empty())
            return s;
    }
    return "";
}

// Below the groups: one thread waits for a contribution, and gets it; who comes as well is refused.
std::string contributed()
{
    scheduler s;
    detail::contributions c(s);
    const detail::contribution_key key{1, 2, 3};
    int got = 0;
    std::string why;
    s.spawn_detached([&] { c.receive(key, &got, sizeof got); });
    s.spawn_detached([&] {
        int none = 0;
        try {
            c.receive(key, &none, sizeof none);
        } catch (const error &e) {
            why = e.what();
        }
    });
    while (s.has_ready())
        s.run_ready();
    WAN_CHECK_THAT(why == "two threads are in the same collective of a group", why);
    const int seven = 7;
    c.take(key, std::as_bytes(std::span(&seven, 1)));
    while (s.has_ready())
        s.run_ready();
    WAN_CHECK(got == 7 && s.blocked_count() == 0);
    // Outside a thread, what has not come is an error; what has come is there, once.
    why.clear();
    try {
        c.receive(key, &got, sizeof got);
    } catch (const error &e) {
        why = e.what();
    }
    WAN_CHECK(why == "blocked outside a thread");
    const int eight = 8;
    c.take(key, std::as_bytes(std::span(&eight, 1)));
    bool twice = false;
    try {
        c.take(key, std::as_bytes(std::span(&eight, 1)));
    } catch (const wire_error &) {
        twice = true;
    }
    c.receive(key, &got, sizeof got);
    WAN_CHECK(twice && got == 8);
    return "";
}

// What goes wrong in a collective is an error of who did it.
std::string wrong_groups()
{
    return jobs(2, [](memory_job &) -> std::string {
        Barrier all;
        Reduction<int> sum;
        const int me = my_node();
        // Two threads at once: the second is refused, the first goes on.
        std::string why;
        thread_handle first = spawn([&] {
            if (me == 0)
                all.exec();
        });
        yield();
        if (me == 0) {
            try {
                all.exec();
            } catch (const error &e) {
                why = e.what();
            }
            post(1, [] {});
        } else {
            for (int i = 0; i < 300; ++i)
                yield();
            all.exec();
        }
        first.join();
        WAN_CHECK_THAT(me || why == "two threads are in the same collective of a group", why);
        // The second brings more values: what the first receives still lands where it will look.
        std::vector<int> few{1, 2}, many(100'000, 7);
        why.clear();
        thread_handle reducing = spawn([&] {
            if (me == 0)
                sum.exec(std::span<int>(few));
        });
        yield();
        if (me == 0) {
            try {
                sum.exec(std::span<int>(many));
            } catch (const error &e) {
                why = e.what();
            }
        } else {
            for (int i = 0; i < 300; ++i)
                yield();
            sum.exec(std::span<int>(few));
        }
        reducing.join();
        WAN_CHECK_THAT(me || why == "two threads are in the same collective of a group", why);
        WAN_CHECK(few[0] == 2 && few[1] == 4);
        WAN_CHECK(sum.exec(1) == 2);
        // Of different sizes.
        why.clear();
        std::vector<int> v(static_cast<size_t>(me ? 3 : 2), 1);
        try {
            sum.exec(std::span<int>(v));
        } catch (const error &e) {
            why = e.what();
        }
        const std::string wanted = "nodes disagree on the size of a collective: ";
        WAN_CHECK_THAT(why == wanted + (me ? "8 bytes came, 12 were expected" : "12 bytes came, 8 were expected"), why);
        Barrier after;
        after.exec();
        return "";
    }, spmd());
}

// Whatever blocks a thread lets the others of its node run until it goes on: none of it blocks the process.
std::string everything_yields()
{
    static std::vector<char> there;
    static LandingPtr<char> landing_there[2];
    struct cell {
        int value;
    };
    return jobs(2, [](memory_job &) -> std::string {
        const int me = my_node(), other = 1 - me;
        const size_t large = 3 * node::here().network().small_bytes();
        if (me == 0)
            there.assign(2 * large, 'a');
        Barrier all, meeting;
        Reduction<int> sum;
        std::vector<char> in(large), out(large, 'b');
        Landing<char> landing(in.data(), large, other);
        invoke(other, [](int from, LandingPtr<char> l) { landing_there[from] = l; }, me, landing.handle());
        const auto cells = me == 0 ? VirtualNodes<cell>::create(2) : VirtualNodes<cell>();
        all.exec();
        const GlobalPtr<char> p(other, reinterpret_cast<uint64_t>(there.data() + static_cast<size_t>(me) * large));
        // f() ten times, as it need not wait each time: whether another thread came meanwhile.
        std::string wrong;
        const auto during = [&](const char *what, auto f) {
            int turns = 0;
            for (int i = 0; i < 10; ++i) {
                bool ended = false;
                thread_handle watcher = spawn([&] {
                    while (!ended) {
                        ++turns;
                        node::here().threads().yield();
                    }
                });
                f();
                ended = true;
                watcher.join();
            }
            if (turns == 0)
                wrong += std::string(what) + " ";
        };
        const auto value = [] { return 1; };
        during("invoke", [&] { invoke(other, value); });
        during("get", [&] { ainvoke(other, value).get(); });
        during("when_all", [&] { when_all(ainvoke(other, value), ainvoke(me, value)).get(); });
        during("yield", [&] { yield(); });
        during("read", [&] { p.get(); });
        during("nread", [&] { p.nread(in.data(), large); });
        during("nwrite", [&] { p.nwrite(out.data(), large); });
        during("anwrite", [&] { p.anwrite(out.data(), 1).get(); });
        Sync<int> answer;
        const auto write = [&] { spawn([&] { answer.write(1); }).detach(); };
        during("Sync::read", [&] { write(), answer.read(); });
        during("Sync::peek", [&] { write(), answer.peek(), answer.read(); });
        during("join", [&] { spawn([&] { invoke(other, value); }).join(); });
        all.exec();     // nobody reads into `in` any more
        during("Landing", [&] {
            landing.arm();
            landing_there[other].write(out.data(), large);
            landing.wait();
        });
        during("Barrier", [&] { meeting.exec(); });
        during("Reduction", [&] { sum.exec(1); });
        if (me == 0) {
            int there_now = 1;
            during("VirtualNodes::invoke", [&] { cells.invoke(1, [](cell &c) { return c.value; }); });
            during("VirtualPtr", [&] { (void)VirtualPtr<&cell::value>(cells, 1).get(); });
            during("VirtualNodes::move", [&] { cells.move(1, there_now = 1 - there_now).get(); });
            during("VirtualNodes::leave", [&] { cells.leave(0), cells.take_back(0); });
        }
        all.exec();
        WAN_CHECK_THAT(wrong.empty(), "blocks its process: " + wrong);
        return "";
    }, spmd());
}

// Exit waits for what was only posted, however far it goes.
int hops;
void hop(int left)
{
    ++hops;
    if (left)
        post((my_node() + 1) % nodes(), fn<hop>, left - 1);
}
std::string exit_waits()
{
    for (int round = 0; round < 20; ++round) {
        hops = 0;
        memory_job job(4, wan_test::test_seed() + static_cast<uint64_t>(round));
        const std::string why = job.run([] {
            post(1, fn<hop>, 500);
            post(2, [](std::vector<int>) { ++hops; }, std::vector<int>(5000));
            return 7;
        });
        WAN_CHECK_THAT(why.empty(), why);
        WAN_CHECK_THAT(hops == 502 && job.code() == 7, std::to_string(hops));
    }
    return "";
}

std::string blocked_at_exit()
{
    static Sync<int> *never;
    memory_job job(2, 1);
    const std::string why = job.run([] {
        never = new Sync<int>;
        post(1, [] { never->read(); });
        return 0;
    });
    WAN_CHECK_THAT(why.empty(), why);
    WAN_CHECK(job.at(1).threads().blocked_count() == 1);
    return "";
}

std::string failures()
{
    {
        memory_job job(2, 1);
        std::string lost;
        job.at(1).on_lost = [&](const std::string &s) { lost = s; };
        const std::string why = job.run([] {
            post(1, [] { throw std::runtime_error("gone"); });
            return 0;
        });
        WAN_CHECK(why.empty() && lost == "gone" && job.code() == 1);
    }
    {
        memory_job job(2, 1);
        WAN_CHECK(job.run([]() -> int { throw std::runtime_error("main's"); }) == "main on node 0: main's");
    }
    {
        memory_job job(2, 1);
        const std::string why = job.run([] {
            Sync<int> s;
            return s.read();
        });
        WAN_CHECK_THAT(why == "no node can go on", why);
    }
    {   // In an SPMD job the first code that is not 0 counts.
        memory_job job(3, 1, spmd());
        WAN_CHECK(job.run([] { return my_node() == 2 ? 9 : 0; }).empty() && job.code() == 9);
    }
    setenv("MTTL_STACK_BYTES", "12k", 1);
    std::string why;
    try {
        options::from_environment();
    } catch (const error &e) {
        why = e.what();
    }
    unsetenv("MTTL_STACK_BYTES");
    WAN_CHECK_THAT(why.starts_with("MTTL_STACK_BYTES=12k: a number from"), why);
    WAN_CHECK_THAT(options::from_environment().unknown.empty(), options::from_environment().unknown);
    setenv("MTTL_WINDW", "2", 1);
    const options with = options::from_environment();
    unsetenv("MTTL_WINDW");
    WAN_CHECK_THAT(with.unknown == "MTTL_WINDW" && with.node.window == options().node.window, with.unknown);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<syncs>),
        cmocka_unit_test(wan_test::test<groups>),
        cmocka_unit_test(wan_test::test<wrong_groups>),
        cmocka_unit_test(wan_test::test<contributed>),
        cmocka_unit_test(wan_test::test<everything_yields>),
        cmocka_unit_test(wan_test::test<exit_waits>),
        cmocka_unit_test(wan_test::test<blocked_at_exit>),
        cmocka_unit_test(wan_test::test<failures>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
