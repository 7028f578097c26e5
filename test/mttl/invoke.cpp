/*
 * Remote invocation: every kind of function and argument, exceptions, futures,
 * order, handlers that block.  Many at once: flow.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mttl_test.hpp"
#include "no_memory.hpp"

#include <list>
#include <map>
#include <unordered_map>

namespace own {

/** Travels by a trait; a pointer inside. */
struct name {
    std::unique_ptr<std::string> text;
};
struct failure {};
struct special : std::range_error {
    using std::range_error::range_error;
};

} // namespace own

template <> struct mttl::serial<own::name> {
    static void put(writer &w, const own::name &n) { serial<std::string>::put(w, *n.text); }
    static own::name get(reader &r) { return {std::make_unique<std::string>(serial<std::string>::get(r))}; }
};

namespace {

using namespace mttl_test;

int add(int a, int b) { return a + 100 * b; }
int add(int a, int b, int c) { return a + b + c; }
int twice(const int &a) noexcept { return 2 * a; }
std::string greet(const std::string &who) { return "hello " + who + " from " + std::to_string(my_node()); }
int fibonacci(int n)
{
    if (n < 2)
        return n;
    const int next = (my_node() + 1) % nodes();
    future<int> a = ainvoke(next, fn<fibonacci>, n - 1);
    return invoke(next, fn<fibonacci>, n - 2) + a.get();
}

std::string functions()
{
    return jobs(3, [](memory_job &) -> std::string {
        for (int to = 0; to < 3; ++to) {
            WAN_CHECK((invoke(to, fn<static_cast<int (*)(int, int)>(add)>, 1, 2) == 201));
            WAN_CHECK((invoke(to, fn<static_cast<int (*)(int, int, int)>(add)>, 1, 2, 3) == 6));
            int i = 0;
            invoke(i, to, fn<twice>, 4);
            WAN_CHECK(i == 8);
            WAN_CHECK(invoke(to, fn<twice>, 4.7) == 8);        // converted as in a call
            WAN_CHECK(invoke(to, fn<greet>, "you") == "hello you from " + std::to_string(to));
            // Lambdas of one signature in one place are two functions.
            WAN_CHECK(invoke(to, [](int x) { return x + 1; }, 1) == 2);
            WAN_CHECK(invoke(to, [](int x) { return x + 2; }, 1) == 3);
            WAN_CHECK(invoke(to, [](auto x) { return x + x; }, std::string("ab")) == "abab");
            WAN_CHECK(invoke(to, std::plus<>(), 2.5, 4.0) == 6.5);
            WAN_CHECK(invoke(to, [] { return my_node(); }) == to);
            invoke(to, [] {});
            WAN_CHECK(invoke(to, fn<fibonacci>, 10) == 55);
        }
        std::string why;
        try {
            invoke(3, fn<twice>, 1);
        } catch (const std::out_of_range &e) {
            why = e.what();
        }
        WAN_CHECK(why == "no node 3 among 3");
        WAN_CHECK(invoke(1, fn<twice>, 3) == 6);
        return "";
    });
}

struct too_long {};

} // namespace

template <> struct mttl::serial<too_long> {
    static void put(writer &w, const too_long &) { w.bytes(nullptr, port::nsend_bytes + 1); }
    static too_long get(reader &) { return {}; }
};

namespace {

// More than can be sent is refused before anything leaves, as an argument and as a result; what follows is not in its way.
std::string limits()
{
    return jobs(2, [](memory_job &) -> std::string {
        std::string why;
        for (int k = 0; k < 2; ++k)
            try {
                k ? (void)invoke(1, [] { return too_long(); }) : invoke(1, [](too_long) {}, too_long());
            } catch (const std::exception &e) {
                why += std::string(e.what()) + "; ";
            }
        const std::string what = "one argument or result of more than 1 GiB; ";
        WAN_CHECK_THAT(why.starts_with(what) && why.ends_with(what) && why.size() > what.size(), why);
        WAN_CHECK(invoke(1, fn<twice>, 3) == 6);
        return "";
    });
}

// Records that are no records, behind a function in one message: an error of that node, after the function has run.
std::string malformed()
{
    static int ran;
    for (const bool blocks : {false, true})
        for (const bool cut : {false, true}) {
            ran = 0;
            memory_job job(2, wan_test::test_seed());
            const std::string why = job.run([=] {
                batch b;
                post(1, [](bool wait) {
                    ++ran;
                    if (wait)
                        yield();
                }, blocks);
                if (cut)
                    node::here().out().send_plain(1, wire::invoke_head{{wire::invoke, 0, 100, 0}, 1});
                else
                    node::here().out().send_plain(1, wire::plain_head{{77, 0, 0, 0}});
                return 0;
            });
            WAN_CHECK_THAT(why == (cut ? "node 1: a record is longer than its message" : "node 1: a record of kind 77"), why);
            WAN_CHECK(ran == 1 && job.at(0).network().counters().sends > 0);
        }
    return "";
}

// Where there is no such node, nothing is taken, awaited or sent: not a ticket, not a channel, not a receive.
std::string no_such_node()
{
    return jobs(3, [](memory_job &) -> std::string {
        node &n = node::here();
        detail::state<int> s;
        s.hold();       // lives here, on the stack
        const auto numbers = [&] {      // the next ticket and the next channel: one comes again at once, the other does not
            const uint32_t ticket = n.open_ticket(&s);
            const uint32_t landing = n.open_landing();
            n.close_ticket(ticket);
            n.close_landing(n.id(), landing, 0);
            return std::pair(ticket, detail::landing_channel(landing));
        };
        std::vector<char> data(2 * n.network().small_bytes());
        const auto before = numbers();
        const port_counters counted = n.network().counters();
        int thrown = 0;
        const auto refused = [&](auto f) {
            try {
                f();
            } catch (const std::out_of_range &e) {
                thrown += e.what() == std::string("no node 99 among 3");
            }
        };
        const GlobalPtr<char> p(99, reinterpret_cast<uint64_t>(data.data()));
        for (const size_t bytes : {size_t(1), data.size()}) {
            refused([&] { p.nwrite(data.data(), bytes); });
            refused([&] { p.anwrite(data.data(), bytes).get(); });
            refused([&] { p.nread(data.data(), bytes); });
            refused([&] { p.anread(data.data(), bytes).get(); });
        }
        refused([&] { Landing<char> l(data.data(), 1, 99); });
        refused([&] { LandingPtr<char>(99, 1).write(data.data(), 1); });
        WAN_CHECK_THAT(thrown == 10, std::to_string(thrown));
        const auto after = numbers();
        WAN_CHECK_THAT(after.first == before.first, std::to_string(after.first));
        WAN_CHECK_THAT(after.second == before.second + 1, std::to_string(after.second));
        WAN_CHECK(n.network().counters().recv_nodes == counted.recv_nodes && n.network().counters().nsends == counted.nsends);
        return "";
    });
}

template <class T> bool echoed(const T &t)
{
    return invoke(1, [](T x) { return x; }, t) == t;
}

std::string arguments()
{
    return jobs(2, [](memory_job &) -> std::string {
        WAN_CHECK(echoed(std::vector<int>{1, 2, 3}) && echoed(std::vector<int>()));
        WAN_CHECK(echoed(std::vector<bool>{true, false, true}));
        WAN_CHECK(echoed(std::vector<std::string>{"a", "", std::string(10000, 'x')}));
        WAN_CHECK((echoed(std::map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}})));
        WAN_CHECK((echoed(std::unordered_map<int, std::string>{{1, "x"}, {2, "y"}})));
        WAN_CHECK((echoed(std::set<int>{3, 1, 2}) && echoed(std::list<double>{1.5, 2.5})));
        WAN_CHECK((echoed(std::tuple<int, std::string, double>{1, "x", 2.5}) && echoed(std::tuple<>())));
        WAN_CHECK((echoed(std::pair<char, std::string>{'c', "d"}) && echoed(std::array<std::string, 2>{"a", "b"})));
        WAN_CHECK((echoed(std::optional<std::string>("x")) && echoed(std::optional<std::string>())));
        WAN_CHECK((echoed(std::variant<int, std::string>("x")) && echoed(std::variant<int, std::string>(5))));
        WAN_CHECK(echoed(std::u16string(u"wide")));
        const auto r = invoke(1, [](own::name n) { *n.text += "!"; return n; }, own::name{std::make_unique<std::string>("me")});
        WAN_CHECK(*r.text == "me!");
        // Around the size at which control and data part, and much larger.
        const size_t small = node::here().network().small_bytes();
        for (size_t n = small - 40; n < small + 10; ++n)
            WAN_CHECK(echoed(std::string(n, 'q')));
        WAN_CHECK(echoed(std::vector<double>(100000, 1.25)));
        return "";
    }, {}, 5);
}

// Bytes that are not what they should be are an error, not a crash.
std::string short_messages()
{
    std::vector<std::byte> b;
    writer w(nullptr, 0);
    serial<std::vector<std::string>>::put(w, {"abc", "defg"});
    b = w.take();
    for (size_t n = 0; n < b.size(); ++n) {
        bool thrown = false;
        try {
            reader r(std::span<const std::byte>(b.data(), n));
            serial<std::vector<std::string>>::get(r);
        } catch (const wire_error &) {
            thrown = true;
        }
        WAN_CHECK(thrown);
    }
    const uint64_t huge = ~uint64_t(0) / 4;
    std::memcpy(b.data(), &huge, sizeof huge);
    bool thrown = false;
    try {
        reader r(b);
        serial<std::vector<double>>::get(r);
    } catch (const wire_error &) {
        thrown = true;
    }
    WAN_CHECK(thrown);
    return "";
}

template <class E, class F> std::string caught(F f)
{
    try {
        f();
    } catch (const E &e) {
        const auto *o = dynamic_cast<const remote_origin *>(&e);
        return std::string(e.what()) + (o ? " at " + std::to_string(o->node) + " of " + o->type : "");
    } catch (const std::exception &e) {
        return std::string("something else: ") + e.what();
    }
    return "nothing";
}

std::string exceptions()
{
    return jobs(2, [](memory_job &) -> std::string {
        for (int to = 0; to < 2; ++to) {
            const std::string at = " at " + std::to_string(to) + " of ";
            std::string s = caught<std::out_of_range>([&] { invoke(to, [] { throw std::out_of_range("far"); }); });
            WAN_CHECK_THAT(s == "far" + at + "std::out_of_range", s);
            s = caught<std::range_error>([&] { invoke(to, [](int x) { if (x) throw own::special("s"); return x; }, 1); });
            WAN_CHECK_THAT(s == "s" + at + "own::special", s);
            s = caught<remote_error>([&] { invoke(to, [] { throw own::failure(); }); });
            WAN_CHECK_THAT(s == "not a std::exception" + at + "own::failure", s);
            s = caught<std::bad_alloc>([&] { invoke(to, [] { throw std::bad_alloc(); }); });
            WAN_CHECK_THAT(s == "std::bad_alloc" + at + "std::bad_alloc", s);
            s = caught<std::invalid_argument>([&] {
                ainvoke(to, [] { throw std::invalid_argument(std::string(9000, 'l')); }).get();
            });
            WAN_CHECK(s == std::string(9000, 'l') + at + "std::invalid_argument");
            // Through two nodes.
            s = caught<std::domain_error>([&] { invoke(to, [] { invoke(1 - my_node(), [] { throw std::domain_error("d"); }); }); });
            WAN_CHECK_THAT(s.starts_with("d at "), s);
        }
        return "";
    });
}

future<int> chain(int depth)
{
    int sum = 0;
    for (int i = 0; i < depth; ++i)
        sum += co_await ainvoke(1, fn<twice>, i);
    co_await ainvoke(1, [] {});
    if (depth == 3)
        throw std::length_error("three");
    co_return sum;
}

std::string futures()
{
    return jobs(2, [](memory_job &) -> std::string {
        future<int> a = ainvoke(1, fn<twice>, 1);
        future<std::string> b = a.then([](int x) { return invoke(1, fn<greet>, std::to_string(x)); });
        WAN_CHECK(!a.valid() && !b.ready());
        WAN_CHECK(b.get() == "hello 2 from 1");
        WAN_CHECK(!b.valid());
        bool ran = false;
        future<void> c = ainvoke(1, [] { throw std::range_error("x"); }).then([&] { ran = true; });
        WAN_CHECK((caught<std::range_error>([&] { c.get(); }).starts_with("x")) && !ran);
        std::vector<future<int>> many;
        for (int i = 0; i < 10; ++i)
            many.push_back(ainvoke(i % 2, fn<twice>, i));
        const std::vector<int> all = when_all(std::move(many)).get();
        for (int i = 0; i < 10; ++i)
            WAN_CHECK(all[static_cast<size_t>(i)] == 2 * i);
        const auto [x, y] = when_all(ainvoke(1, fn<twice>, 5), ainvoke(0, fn<greet>, "z")).get();
        WAN_CHECK(x == 10 && y == "hello z from 0");
        std::vector<future<void>> none;
        none.push_back(ainvoke(1, [] {}));
        none.push_back(ainvoke(1, [] { throw std::range_error("second"); }));
        WAN_CHECK(caught<std::range_error>([&] { when_all(std::move(none)).get(); }).starts_with("second"));
        WAN_CHECK(chain(10).get() == 90);
        WAN_CHECK(caught<std::length_error>([] { chain(3).get(); }) == "three");
        promise<int> p;
        future<int> f = p.get_future();
        spawn([&] { p.set_value(3); });
        WAN_CHECK(f.get() == 3);
        WAN_CHECK(caught<error>([&] { p.set_value(4); }) == "a promise is kept twice");
        // Ready already.
        promise<int> q;
        q.set_value(5);
        future<int> g = q.get_future();
        WAN_CHECK(g.ready() && g.then([](int v) { return v + 1; }).get() == 6);
        // Never.
        const std::string given_up = "a promise was given up: nobody will keep it";
        future<int> never;
        {
            promise<int> r;
            never = r.get_future();
        }
        WAN_CHECK(caught<error>([&] { never.get(); }) == given_up);
        promise<int> r;
        never = r.get_future();
        spawn([&] { r = promise<int>(); });
        WAN_CHECK(caught<error>([&] { never.get(); }) == given_up);
        // At once, also where what it is replaced by lives on.
        promise<int> old, fresh;
        never = old.get_future();
        future<int> kept = fresh.get_future();
        old = std::move(fresh);
        WAN_CHECK(caught<error>([&] { never.get(); }) == given_up && !kept.ready());
        old.set_value(6);
        WAN_CHECK(kept.get() == 6);
        // Without memory, of which giving up needs some, that is an error all the same and not the end; also of what would
        // have followed.
        for (int after = 0; after < 8; ++after) {
            std::string said;
            {
                promise<int> s;
                never = s.get_future();
                future<int> next;
                if (after % 2)
                    next = never.then([](int v) { return v; });
                fail_allocation(1, after / 2);
                s = promise<int>(std::move(old));
                allocation_failed();
                try {
                    (after % 2 ? next : never).get();
                } catch (const error &e) {
                    said = e.what();
                } catch (const std::bad_alloc &) {
                    said = given_up;
                }
            }
            WAN_CHECK_THAT(said == given_up, said);
        }
        return "";
    });
}

std::vector<int> seen;
Sync<int> *box;

std::string order()
{
    return jobs(3, [](memory_job &) -> std::string {
        seen.clear();
        const size_t large = 2 * node::here().network().small_bytes();
        for (int i = 0; i < 50; ++i) {
            std::optional<batch> b;
            if (i % 7 == 0)
                b.emplace();
            post(1, [](int x) { seen.push_back(x); }, i);
        }
        invoke(1, [] {});
        WAN_CHECK(seen.size() == 50 && std::is_sorted(seen.begin(), seen.end()));
        // Arguments that travel by themselves are not overtaken, neither by small ones nor by writes and reads.
        seen.clear();
        static int last;
        last = -1;
        const GlobalPtr<int> place(1, reinterpret_cast<uint64_t>(&last));
        for (int i = 0; i < 30; ++i) {
            if (i % 3 == 0)
                post(1, [](std::vector<int> v) { seen.push_back(v[0]); }, std::vector<int>(large, i));
            else
                post(1, [](int x) { seen.push_back(x); }, i);
            if (i % 7 == 3)
                post(1, [](std::vector<int> v) { last = -2 - v[0]; }, std::vector<int>(large)), place.put(i);
        }
        WAN_CHECK(place.get() == 24);
        WAN_CHECK(seen.size() == 30 && std::is_sorted(seen.begin(), seen.end()));
        // A write is there before what the thread does next.
        static std::vector<char> there;
        for (const size_t n : {size_t(8), large}) {
            there.assign(n, 'a');
            const std::vector<char> data(n, 'b');
            GlobalPtr<char>(1, reinterpret_cast<uint64_t>(there.data())).nwrite(data.data(), n);
            WAN_CHECK(invoke(1, [] { return there.front() == 'b' && there.back() == 'b'; }));
        }
        return "";
    });
}

// The order of what a thread does to its own node is that of any other one, with global pointers too; a write to it is
// there on return.
std::string own_order()
{
    static int place, seen[2];
    static std::vector<int> far;
    return jobs(2, [](memory_job &) -> std::string {
        far.assign(5000, 0);
        const auto posted = [](int value, bool large) {
            if (large)      // its argument travels by itself
                post(my_node(), [](std::vector<int> v) { place = far[4999] = v[0]; }, std::vector<int>(5000, value));
            else
                post(my_node(), [](int v) { place = far[4999] = v; }, value);
        };
        const GlobalPtr<int> p(&place), all(far.data());
        const std::vector<int> block(5000, 7);
        std::vector<int> back(5000);
        for (const bool large : {false, true}) {
            place = 0;
            posted(1, large);
            WAN_CHECK_THAT(p.get() == 1, std::to_string(place));
            posted(2, large);
            p.put(3);
            WAN_CHECK_THAT(place == 3, std::to_string(place));
            posted(4, large);
            const int five = 5;
            p.anwrite(&five, 1).get();
            WAN_CHECK_THAT(place == 5, std::to_string(place));
            posted(6, large);
            if (!large) {
                all.nwrite(block.data(), block.size());
                WAN_CHECK(far == block);
            }
            posted(8, large);
            all.nread(back.data(), back.size());
            WAN_CHECK(back[4999] == 8);
            posted(9, large);
            int value = 0;
            p.anread(&value, 1).get();
            WAN_CHECK_THAT(value == 9, std::to_string(value));
            // Those of one message that are still to come count.
            {
                batch b;
                post(my_node(), [] { seen[0] = place, place = 10; });
                post(my_node(), [] { seen[1] = place, place = 11; });
                WAN_CHECK(p.get() == 11 && seen[0] == 9 && seen[1] == 10);
            }
            // And when they have been started, nothing is sent any more.
            const uint64_t sent = node::here().network().counters().sends;
            p.put(12);
            WAN_CHECK(place == 12 && p.get() == 12 && node::here().network().counters().sends == sent);
        }
        return "";
    });
}

// A handler that blocks stops neither its node nor those that come after it.
std::string blocking()
{
    return jobs(2, [](memory_job &) -> std::string {
        Sync<int> s;
        box = &s;
        future<int> f = ainvoke(1, [] { return box->read() + box->read(); });
        future<int> g = ainvoke(1, [] { return box->read(); });
        invoke(1, [] {});
        WAN_CHECK(!f.ready() && !g.ready());
        for (int i = 1; i <= 3; ++i)
            invoke(1, [](int v) { box->write(v); }, i);
        // f reads 1; g was next, gets 2; f again.
        WAN_CHECK(f.get() == 4 && g.get() == 2);
        return "";
    });
}

// Node 1 greets as a program with that magic and version of mttl, another digest or node 0's, and these names. What
// both are told, which must be the same; neither may wait for ever.
std::string told(uint32_t magic, uint32_t version, bool same_digest, const std::string &its)
{
    memory_fabric fabric(2, wan_test::test_seed());
    node zero(fabric.at(0), {}), other(fabric.at(1), {});
    node::enter(&zero);
    detail::life life(zero, start::main_on_zero), unused(other, start::main_on_zero);
    bool started = false;
    life.begin([&] { return started = true, 0; });
    std::string text = "nothing";
    node::enter(&other);
    other.threads().spawn_detached([&] {
        struct {
            uint32_t magic, version;
            uint64_t digest, bytes;
        } const hello{magic, version, other.functions().digest() + !same_digest, its.size()};
        other.send_collective(0, 0, 0, 1, &hello, sizeof hello);
        uint64_t bytes = 0;
        other.receive_collective(0, 1, 0, &bytes, sizeof bytes);
        if (!bytes)
            return;
        other.send_collective(0, 0, 2, 1, its.data(), its.size());
        other.receive_collective(0, 3, 0, &bytes, sizeof bytes);
        std::string all(bytes, ' ');
        other.receive_collective(0, 3, 1, all.data(), all.size());
        text = all;
    });
    for (bool progress = true; progress;) {
        progress = false;
        for (node *n : {&zero, &other}) {
            node::enter(n);
            progress |= n->step(false);
            n->out().flush();
        }
    }
    node::enter(nullptr);
    for (node *n : {&zero, &other})
        n->network().finish();
    if (started || !life.failed())
        return "node 0 started";
    const std::string why = detail::text_of(life.failed());
    return why == text ? text : "node 0: " + why + "; node 1: " + text;
}

// Programs that were compiled with another version of mttl: all nodes are told so.
std::string other_versions()
{
    constexpr uint32_t magic = 0x6D74746C, version = 2;
    const std::string anew = "node 1 was compiled with another version of mttl than node 0. Compile all anew.";
    for (const std::string its : {"3old\n3one\n", "", "3old\t4 \n", "no end"}) {
        for (const bool same_digest : {false, true}) {
            for (const auto &[m, v] :
                 {std::pair(magic, version - 1), std::pair(magic, version + 1), std::pair(magic + 1, version)}) {
                const std::string t = told(m, v, same_digest, its);
                WAN_CHECK_THAT(t == anew, t);
            }
        }
        const std::string t = told(magic, version, false, its);
        WAN_CHECK_THAT(t.starts_with("node 1 runs another program than node 0: it lacks the function "), t);
    }
    const std::string t = told(magic, version, true, "");
    WAN_CHECK_THAT(t == "node 0 started", t);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<other_versions>),
        cmocka_unit_test(wan_test::test<functions>),   cmocka_unit_test(wan_test::test<no_such_node>),
        cmocka_unit_test(wan_test::test<limits>),      cmocka_unit_test(wan_test::test<malformed>),
        cmocka_unit_test(wan_test::test<arguments>),
        cmocka_unit_test(wan_test::test<short_messages>), cmocka_unit_test(wan_test::test<exceptions>),
        cmocka_unit_test(wan_test::test<futures>),     cmocka_unit_test(wan_test::test<order>),
        cmocka_unit_test(wan_test::test<own_order>),
        cmocka_unit_test(wan_test::test<blocking>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
