/*
 * Very many invocations at once: floods, a bounded number under way, batches,
 * nodes that pass on what comes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mttl_test.hpp"

namespace {

/** Travels, unless it says that it cannot. */
struct reluctant {
    bool refuses = false;
};

} // namespace

template <> struct mttl::serial<reluctant> {
    static void put(writer &w, const reluctant &r)
    {
        if (r.refuses)
            throw std::runtime_error("not this one");
        w.raw(r.refuses);
    }
    static reluctant get(reader &r) { return {r.raw<bool>()}; }
};

namespace {

using namespace mttl_test;

int twice(const int &a) noexcept { return 2 * a; }

// Two nodes that flood each other: bounded, in order, and no standstill.
std::string flood()
{
    static int count[2], wrong;
    options o;
    o.node.window = 8;
    return jobs(2, [](memory_job &job) -> std::string {
        count[0] = count[1] = wrong = 0;
        constexpr int n = 2000;
        future<void> other = ainvoke(1, [] {
            for (int i = 0; i < n; ++i)
                post(0, [](int k) { wrong += count[0]++ != k; }, i);
        });
        const auto take = [](int k) { wrong += count[1]++ != k; };
        for (int i = 0; i < n; ++i) {
            if (i % 3 == 0)
                ainvoke(1, take, i);
            else
                post(1, take, i);
        }
        other.get();
        invoke(1, [] {});
        invoke(1, [] { invoke(0, [] {}); });
        WAN_CHECK(count[0] == n && count[1] == n);
        WAN_CHECK_THAT(wrong == 0, std::to_string(wrong) + " out of order");
        // Windows both ways, and answers: at most one for each that was asked.
        WAN_CHECK_THAT(job.fabric().high_water() <= 4 * 8 + 8, std::to_string(job.fabric().high_water()));
        return "";
    }, o);
}

std::string outstanding()
{
    const int n = wan_test::is_long() ? 1000000 : wan_test::is_short() ? 20000 : 100000;
    return jobs(2, [n](memory_job &job) -> std::string {
        std::vector<future<int>> all;
        for (int i = 0; i < n; ++i)
            all.push_back(ainvoke(1, fn<twice>, i));
        for (int i = 0; i < n; ++i)
            WAN_CHECK(all[static_cast<size_t>(i)].get() == 2 * i);
        // A window, as many results, and credit.
        WAN_CHECK_THAT(job.fabric().high_water() <= 2 * 64 + 8, std::to_string(job.fabric().high_water()));
        WAN_CHECK(job.at(1).threads().made() <= 8);     // handlers that do not block share a stack
        return "";
    }, {}, 1);
}

std::string batches()
{
    return jobs(2, [](memory_job &job) -> std::string {
        static int count;
        count = 0;
        const port_counters &c = node::here().network().counters(), &there = job.at(1).network().counters();
        const uint64_t sends = c.sends, answers = there.sends;
        std::vector<future<int>> all;
        {
            batch b;
            for (int i = 0; i < 1000; ++i) {
                all.push_back(ainvoke(1, [](int x) { ++count; return x; }, i));
                if (i % 100 == 0)       // in between, one that is too long for a batch
                    all.push_back(ainvoke(1, [](std::vector<int> v) { return v[0]; }, std::vector<int>(2000, i)));
            }
        }
        for (auto &f : all)
            f.get();
        WAN_CHECK(count == 1000);
        WAN_CHECK_THAT(c.sends - sends <= 40, std::to_string(c.sends - sends));
        WAN_CHECK_THAT(there.sends - answers <= 40, std::to_string(there.sends - answers));
        // A batch is sent when its node waits, not only when it is full.
        {
            batch b;
            WAN_CHECK(invoke(1, fn<twice>, 2) == 4);
        }
        return "";
    });
}

// Functions that came in one message: those that block or throw are left behind, the others go on; each is started
// once, in order, and the first ones are not taken for those of a later message when they go on.
std::string blocked_in_batches()
{
    static std::vector<int> started, ended;
    static Sync<int> *gate;
    return jobs(2, [](memory_job &job) -> std::string {
        Sync<int> here;
        gate = &here;
        started.clear(), ended.clear();
        std::vector<future<void>> all;
        const uint64_t sent = node::here().network().counters().sends;
        constexpr int n = 90;
        for (int message = 0; message < 3; ++message) {
            batch b;
            for (int i = 0; i < n / 3; ++i)
                all.push_back(ainvoke(1, [](int k) {
                    started.push_back(k);
                    if (k % 3 == 0)
                        gate->read();
                    if (k % 3 == 1)
                        yield();
                    if (k % 7 == 0)
                        throw std::runtime_error("seven");
                    ended.push_back(k);
                }, message * (n / 3) + i));
        }
        WAN_CHECK(node::here().network().counters().sends == sent + 3);
        invoke(1, [] {
            while (ended.size() < 52)       // of those that do not wait: 60 - 8
                yield();
            for (int i = 0; i < 30; ++i)
                gate->write(0);
        });
        int thrown = 0;
        for (future<void> &f : all) {
            try {
                f.get();
            } catch (const std::runtime_error &) {
                ++thrown;
            }
        }
        WAN_CHECK_THAT(thrown == 13 && ended.size() == n - 13, std::to_string(thrown) + " " + std::to_string(ended.size()));
        WAN_CHECK(started.size() == n && std::is_sorted(started.begin(), started.end()));
        std::sort(ended.begin(), ended.end());
        WAN_CHECK(std::adjacent_find(ended.begin(), ended.end()) == ended.end());
        WAN_CHECK(job.at(1).threads().blocked_count() == 0);
        return "";
    });
}

// Node 1 passes on to node 2 what node 0 sends faster than node 2 takes it: without a thread for each, and in order.
std::string relays()
{
    static int got, wrong;
    options o;
    o.node.window = 4;
    return jobs(3, [](memory_job &job) -> std::string {
        got = wrong = 0;
        constexpr int n = 5000;
        {
            batch b;
            for (int i = 0; i < n; ++i)
                post(1, [](int k) {
                    const auto check = [](int x) { wrong += got++ != x; };
                    if (k % 50)
                        post(2, check, k);
                    else        // the argument travels by itself, and the function is another one
                        post(2, [](std::vector<int> v) { wrong += got++ != v[1999]; }, std::vector<int>(2000, k));
                }, i);
        }
        invoke(1, [] {});
        while (invoke(2, [] { return got; }) < n)
            yield();
        WAN_CHECK_THAT(wrong == 0, std::to_string(wrong));
        WAN_CHECK_THAT(job.at(1).threads().made() <= 4, std::to_string(job.at(1).threads().made()));
        // Three ways of a window, of messages that answer or give credit at most as many.
        WAN_CHECK_THAT(job.fabric().high_water() <= 6 * 4 + 8, std::to_string(job.fabric().high_water()));
        return "";
    }, o);
}

// What travels by itself waits for credit with its header, and keeps its place among data, also before a large write.
std::string relays_of_data()
{
    static int got, wrong;
    static std::vector<int> written;
    options o;
    o.node.window = 4;
    return jobs(3, [](memory_job &job) -> std::string {
        got = wrong = 0;
        constexpr int n = 1000;
        written.assign(5000, -1);
        const auto p = invoke(2, [] { return GlobalPtr<int>(written.data()); });
        {
            batch b;
            for (int i = 0; i < n; ++i)
                post(1, [](GlobalPtr<int> q, int k) {
                    post(2, [](std::vector<int> v) { wrong += got++ != v[1249]; }, std::vector<int>(1250, k));
                    if (k == n / 2)
                        q.nwrite(std::vector<int>(5000, k).data(), 5000);
                }, p, i);
        }
        while (invoke(2, [] { return got; }) < n || written[4999] < 0)
            yield();
        WAN_CHECK_THAT(wrong == 0, std::to_string(wrong));
        WAN_CHECK(written == std::vector<int>(5000, n / 2));
        // A window, and some whose headers have been taken.
        WAN_CHECK_THAT(job.fabric().data_high_water() <= n / 10, std::to_string(job.fabric().data_high_water()));
        WAN_CHECK_THAT(job.at(1).threads().made() <= 6, std::to_string(job.at(1).threads().made()));
        return "";
    }, o);
}

// What a function sends where there is no credit left stands before its result.
std::string kept_before_results()
{
    static int posted, written;
    options o;
    o.node.window = 2;
    return jobs(2, [](memory_job &job) -> std::string {
        posted = 0, written = -1;
        constexpr int n = 300;
        const GlobalPtr<int> p(&written);
        std::vector<future<std::string>> all;
        {
            batch b;
            for (int i = 0; i < n; ++i)
                all.push_back(ainvoke(1, [](GlobalPtr<int> q, int k) {
                    if (k % 5 == 0) {       // between those, messages of results alone are kept, which need no credit
                        post(0, [] { ++posted; });
                        q.put(k);
                    }
                    if (k % 7 == 0)
                        throw std::out_of_range("seven");
                    return std::string(k % 11 ? 2500 : 5000, 'r');      // now and then, the result travels by itself
                }, p, i));
        }
        for (int i = 0; i < n; ++i) {
            size_t length = 0;
            try {
                length = all[static_cast<size_t>(i)].get().size();
            } catch (const std::out_of_range &) {
            }
            WAN_CHECK(length == (i % 7 == 0 ? 0u : i % 11 ? 2500u : 5000u));
            WAN_CHECK_THAT(posted > i / 5 && written >= i - i % 5, std::to_string(i) + ": " + std::to_string(posted) + " " + std::to_string(written));
        }
        WAN_CHECK(posted == n / 5 && written == n - 5);
        WAN_CHECK_THAT(job.at(1).threads().made() <= 4, std::to_string(job.at(1).threads().made()));
        // No credit has got lost: as many single ones as before.
        for (int i = 0; i < 10; ++i)
            invoke(1, [] { invoke(0, [] {}); });
        return "";
    }, o);
}

// A function that sends without end waits like any other thread.
std::string kept_is_bounded()
{
    static int got;
    options o;
    o.node.window = 2;
    return jobs(3, [](memory_job &job) -> std::string {
        got = 0;
        const bool waited = invoke(1, [] {
            const bool at_once = node::here().threads().runs_now();
            for (int i = 0; i < 200; ++i)
                post(2, [](int x) { got += got == x; }, i);
            return at_once && !node::here().threads().runs_now();
        });
        WAN_CHECK(waited);
        // It was not the whole process that waited; and those behind it come in its order.
        while (invoke(2, [] { return got; }) < 200)
            yield();
        WAN_CHECK_THAT(job.fabric().high_water() <= 2 * 2 + 4, std::to_string(job.fabric().high_water()));
        return "";
    }, o);
}

// Functions that go to and fro between nodes 1 and 2, and keep the way from 1 to 2 full.
struct circle {
    static constexpr int most = 4000;
    static inline int rounds;
    static inline bool stop;

    static void there(int)
    {
        post(2, fn<&circle::back>, std::vector<char>(1500));
    }
    static void back(const std::vector<char> &)
    {
        if (!stop && ++rounds < most)
            post(1, fn<&circle::there>, 0);
    }
    /** So many at once; from node 0. */
    static void start(int n)
    {
        rounds = 0, stop = false;
        {
            batch b;
            for (int i = 0; i < n; ++i)
                post(1, fn<&circle::there>, 0);
        }
        while (rounds < n)
            yield();
    }
};

// Credit serves what is kept and the threads that wait in the order in which they came.
std::string threads_in_the_line()
{
    static int small, large;
    static std::vector<int> written;
    options o;
    o.node.window = 4;
    return jobs(3, [](memory_job &) -> std::string {
        constexpr int n = 40;
        small = large = 0;
        written.assign(5000, 0);
        const auto p = invoke(2, [] { return GlobalPtr<int>(written.data()); });
        circle::start(n);
        const int before = circle::rounds;
        invoke(1, [](GlobalPtr<int> q) {
            yield();        // a thread from here on
            post(2, [] { small = circle::rounds; });
            q.nwrite(std::vector<int>(5000, 1).data(), 5000);
            large = circle::rounds;
        }, p);
        circle::stop = true;
        WAN_CHECK_THAT(small > 0 && small - before < 3 * n, std::to_string(small - before) + " rounds before a thread");
        WAN_CHECK_THAT(large - small < 3 * n, std::to_string(large - small) + " rounds before a large write");
        WAN_CHECK(written == std::vector<int>(5000, 1));
        return "";
    }, o);
}

// And threads that keep the way full do not hold up a function.
std::string functions_in_the_line()
{
    static int posted, before, after;
    static bool stop;
    options o;
    o.node.window = 4;
    return jobs(3, [](memory_job &) -> std::string {
        constexpr int most = 3000, threads = 8;
        posted = before = after = 0;
        stop = false;
        std::vector<future<void>> all;
        for (int i = 0; i < threads; ++i)
            all.push_back(ainvoke(1, [] {
                yield();
                while (!stop && posted < most)
                    post(2, [] { ++posted; });
            }));
        while (posted < 100)
            yield();
        invoke(1, [] {
            before = posted;
            post(2, [] { after = posted, stop = true; });
        });
        when_all(std::move(all)).get();
        WAN_CHECK_THAT(after - before < 4 * threads, std::to_string(after - before) + " of threads before one of a function");
        return "";
    }, o);
}

// What a thread has sent that credit has served in between stands before its result, and nothing gets lost.
std::string results_of_the_line()
{
    static std::vector<int> written;
    options o;
    o.node.window = 8;
    return jobs(3, [](memory_job &) -> std::string {
        constexpr int n = 30;
        written.assign(n, -1);
        circle::start(10);
        const int wrong = invoke(2, [] {
            int bad = 0;
            std::vector<thread_handle> all;
            for (int i = 0; i < n; ++i)
                all.push_back(spawn([i, &bad] {
                    for (int k = 0; k < 5; ++k) {
                        invoke(1, [](GlobalPtr<int> q, int x) {
                            if (x % 4)
                                yield();
                            q.put(x);
                        }, GlobalPtr<int>(&written[static_cast<size_t>(i)]), k);
                        bad += written[static_cast<size_t>(i)] != k;
                    }
                }));
            for (thread_handle &t : all)
                t.join();
            return bad;
        });
        circle::stop = true;
        WAN_CHECK_THAT(wrong == 0, std::to_string(wrong));
        WAN_CHECK(circle::rounds < circle::most);
        return "";
    }, o);
}

// What a function has left in the line stands before what it sends when it goes on, also where a message that another
// thread has paid for could take that along.
std::string order_in_the_line()
{
    static std::string trace;
    static Sync<int> *gate;
    static int memory;
    options o;
    o.node.window = 2;
    return jobs(3, [](memory_job &) -> std::string {
        Sync<int> here;
        gate = &here;
        trace.clear();
        future<void> other = ainvoke(1, [] {
            yield();
            const auto fill = [] { trace += '.'; };
            post(2, fill), post(2, fill);
            thread_handle t = spawn([] {
                GlobalPtr<int>(2, GlobalPtr<int>(&memory).address()).put(1);    // waits for others to the same node
                gate->write(0);
            });
            t.join();
        });
        future<void> f = ainvoke(1, [] {
            const auto letter = [](char c) { trace += c; };
            post(2, letter, 'a');
            gate->read();
            post(2, letter, 'b');
        });
        other.get(), f.get();
        invoke(2, [] {});
        while (trace.size() < 4)
            yield();
        WAN_CHECK_THAT(trace.find('a') < trace.find('b'), trace);
        return "";
    }, o);
}

// Threads that have waited and whose records go together take credit for one message.
std::string credit_for_messages()
{
    static int got;
    options o;
    o.node.window = 8;
    return jobs(2, [](memory_job &job) -> std::string {
        got = 0;
        for (int round = 0; round < 20; ++round) {
            for (int i = 0; i < 8; ++i)
                post(1, [] { ++got; });
            std::vector<thread_handle> all;
            const batch b;
            for (int i = 0; i < 20; ++i)
                all.push_back(spawn([] { post(1, [] { ++got; }); }));
            for (thread_handle &t : all)
                t.join();
        }
        invoke(1, [] {});
        WAN_CHECK(got == 20 * 28);
        WAN_CHECK_THAT(job.fabric().high_water() <= 8 + 4, std::to_string(job.fabric().high_water()));
        return "";
    }, o);
}

// A thread that has been served keeps its turn, also where it would have gone with a message that it does not fit.
std::string turns()
{
    static std::vector<int> got;
    options o;
    o.node.window = 8;
    return jobs(2, [](memory_job &job) -> std::string {
        got.clear();
        constexpr int n = 40;
        std::vector<thread_handle> all;
        {
            const batch b;
            for (int i = 0; i < n; ++i)
                all.push_back(spawn([i] {
                    post(1, [](int k, const std::vector<char> &) { got.push_back(k); }, i, std::vector<char>(i % 3 ? 1500 : 2500));
                }));
            for (thread_handle &t : all)
                t.join();
        }
        invoke(1, [] {});
        WAN_CHECK(got.size() == n);
        for (int i = 0; i < n; ++i)
            WAN_CHECK_THAT(got[static_cast<size_t>(i)] == i, std::to_string(got[static_cast<size_t>(i)]) + " for " + std::to_string(i));
        // No credit has got lost or was made.
        for (int round = 0; round < 3; ++round)
            for (int i = 0; i < 8; ++i)
                post(1, [] {});
        invoke(1, [] {});
        WAN_CHECK_THAT(job.fabric().high_water() <= 8 + 8 / 2, std::to_string(job.fabric().high_water()));
        return "";
    }, o);
}

// A thread whose turn it is and that does not send after all gives it to the next one.
std::string refused_in_the_line()
{
    static int got;
    options o;
    o.node.window = 1;
    return jobs(2, [](memory_job &) -> std::string {
        got = 0;
        const auto take = [](reluctant) { ++got; };
        post(1, take, reluctant{});
        std::vector<thread_handle> all;
        for (int i = 0; i < 6; ++i)
            all.push_back(spawn([take, i] { post(1, take, reluctant{i % 3 != 1}); }));
        int thrown = 0;
        for (thread_handle &t : all) {
            try {
                t.join();
            } catch (const std::runtime_error &e) {
                thrown += e.what() == std::string("not this one");
            }
        }
        invoke(1, [] {});
        WAN_CHECK_THAT(thrown == 4 && got == 3, std::to_string(thrown) + " " + std::to_string(got));
        return "";
    }, o);
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<flood>),
        cmocka_unit_test(wan_test::test<outstanding>),
        cmocka_unit_test(wan_test::test<batches>),
        cmocka_unit_test(wan_test::test<blocked_in_batches>),
        cmocka_unit_test(wan_test::test<relays>),
        cmocka_unit_test(wan_test::test<relays_of_data>),
        cmocka_unit_test(wan_test::test<kept_before_results>),
        cmocka_unit_test(wan_test::test<kept_is_bounded>),
        cmocka_unit_test(wan_test::test<threads_in_the_line>),
        cmocka_unit_test(wan_test::test<functions_in_the_line>),
        cmocka_unit_test(wan_test::test<results_of_the_line>),
        cmocka_unit_test(wan_test::test<order_in_the_line>),
        cmocka_unit_test(wan_test::test<credit_for_messages>),
        cmocka_unit_test(wan_test::test<turns>),
        cmocka_unit_test(wan_test::test<refused_in_the_line>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
