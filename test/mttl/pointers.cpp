/*
 * Global pointers, streams of small writes, announced writes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mttl_test.hpp"

namespace {

using namespace mttl_test;

struct counter {
    int value = 0;
    Sync<int> *gate = nullptr;
    int add(int n) { return value += n; }
    int get() const noexcept { return value; }
    int wait() { return gate->read(); }
};

// Node 1's; all nodes of the in-memory job share one address space, so that a
// pointer used on the wrong node is caught by its number only.
int array[100];
counter object;
GlobalPtr<int> pointer_there;

std::string global_pointers()
{
    return jobs(3, [](memory_job &) -> std::string {
        for (int i = 0; i < 100; ++i)
            array[i] = i;
        const auto p = invoke(1, [] { return GlobalPtr<int>(array); });
        WAN_CHECK(p.node() == 1 && !p.is_local());
        WAN_CHECK(*p == 0 && p[7] == 7 && *(p + 9) == 9 && *(2 + p) == 2);
        p[7] = 70;
        WAN_CHECK(array[7] == 70 || invoke(1, [] { return array[7] == 70; }));
        auto q = p;
        WAN_CHECK(*q++ == 0 && *q == 1 && *++q == 2 && *q-- == 2 && *--q == 0 && q == p);
        q += 10, q -= 3;
        WAN_CHECK(q - p == 7 && p < q && q > p && *q == 70 && &*q == q);
        p[8] = p[7];
        WAN_CHECK(p[8] == 70);

        std::vector<int> part(50);
        (p + 10).nread(part.data(), 50);
        for (int i = 0; i < 50; ++i)
            WAN_CHECK(part[static_cast<size_t>(i)] == 10 + i);
        std::fill(part.begin(), part.end(), -1);
        future<void> w = (p + 10).anwrite(part.data(), 50);
        w.get();
        WAN_CHECK(p[10] == -1 && p[59] == -1 && p[60] == 60 && p[9] == 9);
        future<void> r = (p + 60).anread(part.data(), 5);
        r.get();
        WAN_CHECK(part[0] == 60 && part[4] == 64 && part[5] == -1);

        // To a pointer that is on node 2 and points to node 1.
        pointer_there = p + 61;
        const auto pp = invoke(2, [] { return GlobalPtr<GlobalPtr<int>>(&pointer_there); });
        WAN_CHECK(pp.node() == 2 && **pp == 61);
        **pp = 5;
        WAN_CHECK(p[61] == 5);

        std::string why;
        try {
            p.local();
        } catch (const error &e) {
            why = e.what();
        }
        WAN_CHECK(why == "a pointer to node 1 was used as a local one on node 0");
        why.clear();
        try {
            GlobalPtr<int>().get();
        } catch (const error &e) {
            why = e.what();
        }
        WAN_CHECK(why == "a global pointer that points nowhere was used");
        int mine = 3;
        const GlobalPtr<int> here(&mine);
        *here = 4;
        WAN_CHECK(mine == 4 && *here.local() == 4);
        // On one's own node nothing is sent.
        const uint64_t sent = node::here().network().counters().sends;
        const int five = 5;
        int read = 0;
        WAN_CHECK(here.anwrite(&five, 1).ready() && here.anread(&read, 1).ready());
        WAN_CHECK(mine == 5 && read == 5 && node::here().network().counters().sends == sent);
        return "";
    });
}

std::string bulk()
{
    return jobs(2, [](memory_job &) -> std::string {
        static std::vector<double> there;
        there.assign(50000, 0);
        const GlobalPtr<double> p(1, reinterpret_cast<uint64_t>(there.data()));
        // Several at once, in both directions, by several threads.
        std::vector<std::vector<double>> data(8, std::vector<double>(6000));
        std::vector<thread_handle> writers;
        for (size_t k = 0; k < 8; ++k) {
            std::fill(data[k].begin(), data[k].end(), double(k + 1));
            writers.push_back(spawn([&, k] { (p + static_cast<ptrdiff_t>(k * 6000)).nwrite(data[k].data(), 6000); }));
        }
        for (auto &t : writers)
            t.join();
        std::vector<double> back(48001);
        std::vector<future<void>> reads;
        for (size_t k = 0; k < 8; ++k)
            reads.push_back((p + static_cast<ptrdiff_t>(k * 6000)).anread(back.data() + k * 6000, 6000));
        for (auto &f : reads)
            f.get();
        for (size_t i = 0; i < 48000; ++i)
            WAN_CHECK(back[i] == double(i / 6000 + 1));
        WAN_CHECK(back[48000] == 0 && there[48000] == 0);
        return "";
    });
}

// Small writes in a stream go together; the first ones do not wait, and none is forgotten or overtaken.
std::string streams()
{
    constexpr int n = 1000, window = 64, patience = 1000000;
    static int there[n], taken_with;
    return jobs(3, [](memory_job &job) -> std::string {
        std::fill(std::begin(there), std::end(there), -1);
        const GlobalPtr<int> p(1, reinterpret_cast<uint64_t>(there));
        const port_counters &c = node::here().network().counters();
        // Three eighths of a window of writes: each has left when it returns.
        constexpr int single = window * 3 / 8;
        uint64_t before = c.sends;
        for (int i = 0; i < single; ++i) {
            p[i] = i;
            WAN_CHECK_THAT(c.sends == before + static_cast<uint64_t>(i) + 1, std::to_string(i));
        }
        // Those after them go together ...
        before = c.sends;
        for (int i = single; i < n; ++i)
            p[i] = i;
        WAN_CHECK_THAT(c.sends - before <= 10 && there[n - 1] == -1, std::to_string(c.sends - before));
        // ... and before what the thread does next to that node, whatever that is; a post takes them along at once.
        if (job.fabric().random()() % 2) {
            before = c.sends;
            post(1, [] { taken_with = there[n - 1]; });
            WAN_CHECK(c.sends == before + 1 || c.sends == before + 2);
            WAN_CHECK(invoke(1, [] { return taken_with; }) == n - 1);
        }
        if (job.fabric().random()() % 2) {
            WAN_CHECK(invoke(1, [] { return there[n - 1]; }) == n - 1);
        } else {
            WAN_CHECK(p[n - 1] == n - 1);
        }
        for (int i = 0; i < n; ++i)
            WAN_CHECK_THAT(there[i] == i, std::to_string(i));
        // A write to the same place again is the later one.
        for (int i = 0; i < n; ++i)
            p[0] = i;
        invoke(1, [] {});
        WAN_CHECK_THAT(there[0] == n - 1, std::to_string(there[0]));
        // They also leave when the writer only waits for somebody else,
        future<int> seen = ainvoke(1, [] {
            for (int turns = 0; turns < patience && there[n - 1] != 2 * n; ++turns)
                yield();
            return there[n - 1];
        });
        for (int i = 0; i < n; ++i)
            p[i] = n + 1 + i;
        WAN_CHECK(invoke(2, [] { return my_node(); }) == 2 && seen.get() == 2 * n);
        // or yields,
        for (int i = 0; i < n; ++i)
            p[i] = i;
        for (int turns = 0; turns < patience && there[n - 1] != n - 1; ++turns)
            yield();
        WAN_CHECK(there[n - 1] == n - 1);
        // or ends, and nobody else here does anything.
        spawn([p] {
            for (int i = 0; i < n; ++i)
                p[i] = 7;
        }).detach();
        WAN_CHECK(invoke(2, [] {
            for (int turns = 0; turns < patience && there[n - 1] != 7; ++turns)
                yield();
            return there[n - 1];
        }) == 7);
        // Confirmed ones too.
        std::vector<future<void>> all;
        static const int value = 8;
        for (int i = 0; i < n; ++i)
            all.push_back((p + i).anwrite(&value, 1));
        when_all(std::move(all)).get();
        for (int i = 0; i < n; ++i)
            WAN_CHECK_THAT(there[i] == 8, std::to_string(i));
        return "";
    });
}

std::string members()
{
    return jobs(2, [](memory_job &) -> std::string {
        object = {};
        const auto o = invoke(1, [] { return GlobalPtr<counter>(&object); });
        WAN_CHECK(o.invoke<&counter::add>(5) == 5 && o.ainvoke<&counter::add>(2.9).get() == 7);
        o.post<&counter::add>(1);
        WAN_CHECK(o.invoke<&counter::get>() == 8);
        // A pointer that is sent to the wrong node is refused there.
        bool thrown = false;
        try {
            mttl::invoke(0, detail::member_call<&counter::get, counter>{}, o);
        } catch (const std::runtime_error &) {
            thrown = true;
        }
        WAN_CHECK(thrown);
        return "";
    });
}

std::string landings()
{
    static LandingPtr<double> to[2];
    return jobs(2, [](memory_job &) -> std::string {
        const int me = my_node(), other = 1 - me;
        std::vector<double> in(3000), out(3000);
        Landing<double> landing(in.data(), in.size(), other);
        invoke(other, [](int from, LandingPtr<double> p) { to[from] = p; }, me, landing.handle());
        Barrier b;
        b.exec();
        const uint64_t before = node::here().network().counters().sends;
        for (int round = 0; round < 5; ++round) {
            std::fill(out.begin(), out.end(), 10 * round + me);
            if ((round + me) % 2)
                landing.arm();      // before or after the other one writes
            thread_handle w = spawn([&] { to[other].write(out.data(), out.size()); });
            if ((round + me) % 2 == 0)
                landing.arm();
            landing.wait();
            w.join();
            WAN_CHECK(in[0] == 10 * round + other && in[2999] == 10 * round + other);
        }
        WAN_CHECK(node::here().network().counters().sends == before);   // nothing but data
        // Elsewhere, and another number of elements, none too; the writer may be earlier.
        for (const size_t n : {size_t(7), size_t(0), size_t(2000)}) {
            std::fill(in.begin(), in.end(), -1);
            std::fill(out.begin(), out.end(), 100 + static_cast<double>(n));
            thread_handle w = spawn([&] { to[other].write(out.data(), n); });
            if (me)
                yield();
            landing.arm(in.data() + 500, n);
            bool thrown = false;
            try {
                landing.arm(in.data(), n);
            } catch (const error &) {
                thrown = true;
            }
            landing.wait();
            w.join();
            WAN_CHECK(thrown && in[499] == -1 && in[500 + n] == -1);
            WAN_CHECK(n == 0 || (in[500] == 100 + static_cast<double>(n) && in[499 + n] == in[500]));
        }
        // More than a network takes at once: refused on both sides, and nothing is armed then.
        const size_t gib = size_t(1) << 27;
        std::string why;
        for (const size_t n : {gib + 1, ~size_t(0) / sizeof(double), ~size_t(0)}) {
            try {
                landing.arm(in.data(), n);
            } catch (const error &e) {
                why += e.what();
            }
            try {
                to[other].write(out.data(), n);
            } catch (const error &e) {
                why += std::string(", ") + e.what() + "; ";
            }
        }
        const std::string once = "a landing of more than 1 GiB: write in parts, "
                                 "an announced write of more than 1 GiB: write in parts; ";
        WAN_CHECK_THAT(why == once + once + once, why);
        landing.arm(in.data(), 1);
        to[other].write(out.data(), 1);
        landing.wait();
        return "";
    }, spmd());
}

// A landing that goes while a write is expected, as in an exception, waits for none: what comes later is refused where it
// is written or dropped where it arrives, and never lands in another one.
std::string late_writes()
{
    static std::optional<Landing<int>> kept;
    bool refused = false, dropped = false, landed = false;
    const std::string wrong = jobs(2, [&](memory_job &job) -> std::string {
        std::vector<int> in(2000, -1);
        std::string caught;
        LandingPtr<int> never, late;
        try {
            Landing<int> a(in.data(), 3, 1), b(in.data() + 500, 1500, 1);
            never = a.handle(), late = b.handle();
            a.arm();
            b.arm();
            // What is written at once may be on its way when the landing goes.
            post(1, [](LandingPtr<int> p) {
                std::vector<int> out(1500, 7);
                try {
                    p.write(out.data(), 1500);
                    p.write(out.data(), 20);        // and is of no size that is expected
                } catch (const error &) {
                }
            }, late);
            for (auto turns = job.fabric().random()() % 8 * 100; turns > 0; --turns)
                yield();
            throw std::runtime_error("unwound");
        } catch (const std::runtime_error &e) {
            caught = e.what();
        }
        WAN_CHECK(caught == "unwound");
        const std::vector<int> then = in;
        WAN_CHECK(then[0] == -1 && then[1] == -1 && (then[500] == -1 || then[500] == 7));
        landed |= then[500] == 7;
        const auto refusal = [](LandingPtr<int> p) -> std::string {
            const int one = 1;
            try {
                p.write(&one, 1);
            } catch (const error &e) {
                return e.what();
            }
            return "written";
        };
        for (const LandingPtr<int> p : {never, late}) {
            const std::string said = invoke(1, refusal, p);
            WAN_CHECK_THAT(said == "an announced write to node 0, where the landing for it has gone", said);
            refused = true;
        }
        // Each channel once more, and that one too: its new landing gets what is its own.
        for (int i = 0; i < port::channels; ++i)
            Landing<int>(in.data(), 1, 1);
        for (int i = 0; i < 100; ++i)
            invoke(1, [] {});
        WAN_CHECK(node::here().late_writes() <= 2 && in == then);
        dropped |= node::here().late_writes() > 0;
        in[0] = 0;
        std::deque<Landing<int>> all;
        for (int i = 0; i < 10; ++i)
            all.emplace_back(in.data() + i, 1, 1).arm();
        for (int i = 0; i < 10; ++i)
            invoke(1, [](LandingPtr<int> p, int k) { p.write(&k, 1); }, all[static_cast<size_t>(i)].handle(), i);
        for (auto &l : all)
            l.wait();
        for (int i = 0; i < 10; ++i)
            WAN_CHECK(in[static_cast<size_t>(i)] == i);
        // The old handles mean none of them.
        WAN_CHECK(invoke(1, refusal, never) != "written" && invoke(1, refusal, late) != "written");
        return "";
    });
    if (!wrong.empty())
        return wrong;
    WAN_CHECK_THAT(refused && dropped && landed, std::to_string(refused) + std::to_string(dropped) + std::to_string(landed));
    // One that outlives its node does nothing more.
    {
        memory_job job(2, 1);
        int here = 0;
        const std::string why = job.run([&] {
            kept.emplace(&here, 1, 1);
            kept->arm();
            return 0;
        });
        WAN_CHECK_THAT(why.starts_with("data from 1 to 0 on channel") && why.ends_with("was awaited and not sent"), why);
    }
    kept.reset();
    return "";
}

// A write is held only while others are on their way: what has been taken already does not count, whether or not there
// has been credit for it.  And not when no other one of its size fits into its message.
std::string idle_links()
{
    constexpr int window = 64;
    static int there[4 * window];
    static char large[4032];
    return jobs(2, [](memory_job &) -> std::string {
        const GlobalPtr<int> p(1, reinterpret_cast<uint64_t>(there));
        const port_counters &c = node::here().network().counters();
        for (int taken = 0; taken <= window; ++taken) {
            for (int i = 0; i < taken; ++i)
                invoke(1, [] {});
            for (int i = 0; i < window / 8; ++i) {
                const uint64_t before = c.sends;
                p[i] = taken;
                WAN_CHECK_THAT(c.sends == before + 1, std::to_string(taken) + " taken, " + std::to_string(i) + " under way");
            }
            invoke(1, [] {});
        }
        for (int i = 0; i < window; ++i)
            p[i] = i;
        uint64_t before = c.sends;
        p[0] = 1;
        WAN_CHECK(c.sends == before);       // held,
        yield();
        WAN_CHECK(c.sends == before + 1);   // and sent before its thread computes
        // Larger ones by themselves, however many are under way; where two fit into a message, two go together.
        const size_t small = node::here().network().small_bytes(), half = (small - 2 * 16) / 2;
        const GlobalPtr<char> q(1, reinterpret_cast<uint64_t>(large));
        const std::vector<char> data(small, 'z');
        before = c.sends;
        q.nwrite(data.data(), half + 1);
        WAN_CHECK(c.sends == before + 1);
        for (int pair = 0; pair < 3; ++pair) {
            before = c.sends;
            q.nwrite(data.data(), half);
            q.nwrite(data.data() + half, half);
            WAN_CHECK(c.sends == before + (pair > 0));      // the first pair leaves when the second begins
        }
        before = c.sends;
        p[0] = 2;
        q.nwrite(data.data(), half + 1);    // behind those before it, and they do not wait for more
        WAN_CHECK(c.sends == before + 2);
        p[0] = 3;
        q.nwrite(data.data(), 1);
        before = c.sends;
        q.nwrite(data.data(), small - 16);
        WAN_CHECK(c.sends == before + 2);
        {
            batch b;
            before = c.sends;
            q.nwrite(data.data(), half + 1);
            WAN_CHECK(c.sends == before + 1);
            p[1] = 4;
            WAN_CHECK(c.sends == before + 1);
        }
        WAN_CHECK(c.sends == before + 2);
        WAN_CHECK(invoke(1, [] { return there[0] == 3 && there[1] == 4 && large[0] == 'z' && large[4032 - 17] == 'z'; }));
        return "";
    });
}

// A write that travels by itself comes after the small ones to the same memory that are held, and before those after it.
std::string large_over_small()
{
    static char there[10000];
    return jobs(2, [](memory_job &) -> std::string {
        std::fill(std::begin(there), std::end(there), 'a');
        const GlobalPtr<char> p(1, reinterpret_cast<uint64_t>(there));
        const std::vector<char> large(10000, 'L');
        const port_counters &c = node::here().network().counters();
        for (int i = 0; i < 200; ++i)
            p[i] = 's';
        const uint64_t before = c.sends;
        p[9999] = 's';
        WAN_CHECK(c.sends == before);       // held
        p.nwrite(large.data(), large.size());
        p[5000] = 't';
        WAN_CHECK(invoke(1, [] {
            return std::count(there, there + 10000, 'L') == 9999 && there[5000] == 't';
        }));
        return "";
    });
}

// Small writes that are held leave before an announced write to the same node.
std::string writes_before_landings()
{
    static int there[200];
    static Landing<int> *landing;
    static int landed;
    return jobs(2, [](memory_job &) -> std::string {
        std::fill(std::begin(there), std::end(there), -1);
        const GlobalPtr<int> p(1, reinterpret_cast<uint64_t>(there));
        const LandingPtr<int> to = invoke(1, [] {
            landing = new Landing<int>(&landed, 1, 0);
            landing->arm();
            return landing->handle();
        });
        const port_counters &c = node::here().network().counters();
        for (int i = 0; i < 200; ++i)
            p[i] = i;
        const port_counters before = c;
        p[0] = 7;
        WAN_CHECK(c.sends == before.sends);     // held
        const int nine = 9;
        thread_handle w = spawn([&] { to.write(&nine, 1); });
        node::here().threads().yield();     // to that thread and, as it blocks, straight back
        WAN_CHECK(c.nsends == before.nsends + 1 && c.sends == before.sends + 1);
        w.join();
        WAN_CHECK(invoke(1, [] {
            landing->wait();
            delete landing;
            return landed == 9 && there[0] == 7 && there[199] == 199;
        }));
        return "";
    });
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<global_pointers>),
        cmocka_unit_test(wan_test::test<bulk>),
        cmocka_unit_test(wan_test::test<streams>),
        cmocka_unit_test(wan_test::test<members>),
        cmocka_unit_test(wan_test::test<landings>),
        cmocka_unit_test(wan_test::test<late_writes>),
        cmocka_unit_test(wan_test::test<large_over_small>),
        cmocka_unit_test(wan_test::test<writes_before_landings>),
        cmocka_unit_test(wan_test::test<idle_links>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
