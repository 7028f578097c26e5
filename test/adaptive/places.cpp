/*
 * Processes that were in a tree of the same root before, in another communicator: where they begin in the next one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
#include "unit.hpp"

#include <array>
#include <set>

namespace {

using namespace adaptive_test;
using namespace wan_test;

constexpr int sites = 4, each = 4, all = sites * each;

/** Their services, over sites 10 ms apart. */
struct clusters : job {
    explicit clusters(uint64_t seed, const adaptive_options &o = {}) : job(all, seed, o)
    {
        rate = 5'000'000;
        delay_of = [](int a, int b) { return a / each == b / each ? 100 * us + 5 * us * std::abs(a - b) : 10 * ms + ms / 10 * std::abs(a - b); };
    }
    /** A communicator of these, which broadcast from process 0 until its trees are at rest. */
    std::string use(uint64_t number, std::vector<int> processes)
    {
        const auto root = static_cast<int>(std::find(processes.begin(), processes.end(), 0) - processes.begin());
        for (int p : processes)
            open(p, number, processes);
        const uint64_t before = sent;
        for (size_t bytes : {1, 400'000, 400'000, 1}) {
            std::vector<std::vector<std::byte>> buffers(processes.size(), std::vector<std::byte>(bytes));
            buffers[static_cast<size_t>(root)].assign(bytes, std::byte{7});
            std::vector<uint64_t> ops;
            for (size_t r = 0; r < processes.size(); ++r)
                ops.push_back(node(processes[r], number).broadcast_begin(root, buffers[r]));
            const auto done = [&] {
                for (size_t r = 0; r < processes.size(); ++r)
                    if (!node(processes[r], number).done(ops[r]))
                        return false;
                return true;
            };
            if (!run(done) || std::any_of(buffers.begin(), buffers.end(), [&](const auto &b) { return b.back() != std::byte{7}; }))
                return "a broadcast of " + std::to_string(bytes) + " bytes is wrong";
            for (size_t r = 0; r < processes.size(); ++r)
                node(processes[r], number).end(ops[r]);
        }
        run([] { return false; });
        messages = sent - before;
        members = std::move(processes);
        return "";
    }
    adaptive_node &node(int process, uint64_t number) { return opened.at({process, number, 0})->node(); }
    const tree &tree_of(int process, uint64_t number, bool bandwidth)
    {
        const auto root = static_cast<int>(std::find(members.begin(), members.end(), 0) - members.begin());
        return *node(process, number).tree_at({root, bandwidth});
    }
    /** By process; -1: none. */
    std::vector<int> parents(uint64_t number, bool bandwidth)
    {
        std::vector<int> those(all, -1);
        for (int p : members)
            if (const int rank = tree_of(p, number, bandwidth).parent(); rank >= 0)
                those[static_cast<size_t>(p)] = members[static_cast<size_t>(rank)];
        return those;
    }
    std::vector<int> members;
    uint64_t messages = 0;
};

/** What comes of processes that leave and come back, drawn by seed: of the bandwidth tree whoever is left is below the nearest that
 *  is left of those that it was below; when all are there again, all are where they were, at once.  (Of the
 *  latency tree one or two may find a better place than before.) */
std::string check_members()
{
    for (uint64_t seed = test_seed(); seed < test_seed() + 3; ++seed) {
        clusters j(seed);
        std::mt19937_64 random(seed);
        WAN_CHECK_THAT(j.use(1, up_to(all)).empty(), "first");
        const std::vector<int> before[2] = {j.parents(1, false), j.parents(1, true)};
        for (int p = 0; p < all; ++p)
            j.close(p, 1, 0);
        const auto wrong = [&](uint64_t number) -> std::string {
            const auto here = [&](int q) { return std::find(j.members.begin(), j.members.end(), q) != j.members.end(); };
            int elsewhere = 0;
            for (int k = j.members.size() == all ? 0 : 1; k < 2; ++k) {
                const std::vector<int> now = j.parents(number, k);
                for (int p : j.members) {
                    int above = before[k][static_cast<size_t>(p)];
                    while (above >= 0 && !here(above))
                        above = before[k][static_cast<size_t>(above)];
                    const tree &t = j.tree_of(p, number, k);
                    if (k == 0 && t.view().connected) {
                        elsewhere += above != now[static_cast<size_t>(p)] || t.changes() > 1;
                        continue;
                    }
                    if (above != now[static_cast<size_t>(p)] || t.changes() != (p ? 1 : 0) || !t.view().connected)
                        return "communicator " + std::to_string(number) + ": process " + std::to_string(p) + " is below " + std::to_string(now[static_cast<size_t>(p)])
                               + " after " + std::to_string(t.changes()) + " changes, in place of " + std::to_string(above);
                }
            }
            return elsewhere > all / 8 ? std::to_string(elsewhere) + " are elsewhere" : "";
        };
        uint64_t number = 2;
        for (int time = 0; time < 2; ++time) {
            // In another order: ranks are others, processes the same.
            std::vector<int> some = up_to(all), again = some;
            std::shuffle(some.begin() + 1, some.end(), random);
            some.resize(all / 2);
            std::shuffle(some.begin(), some.end(), random);
            std::shuffle(again.begin(), again.end(), random);
            for (const std::vector<int> &those : {some, again}) {
                const std::string used = j.use(number, those), bad = used.empty() ? wrong(number) : used;
                WAN_CHECK_THAT(bad.empty(), bad);
                for (int p : those)
                    j.close(p, number, 0);
                ++number;
            }
        }
    }
    return "";
}

/** Beside who remembers nothing: fewer moves, and fewer messages. */
std::string check_helps()
{
    uint64_t messages[2];
    unsigned changes[2] = {};
    for (int k = 0; k < 2; ++k) {
        adaptive_options o;
        o.variants = k ? all_variants : all_variants & ~variant_places;
        clusters j(test_seed(), o);
        for (uint64_t number : {1, 2}) {
            WAN_CHECK_THAT(j.use(number, up_to(all)).empty(), "communicator " + std::to_string(number));
            for (int p = 0; p < all && number == 1; ++p)
                j.close(p, number, 0);
        }
        messages[k] = j.messages;
        for (int p = 0; p < all; ++p)
            changes[k] += j.tree_of(p, 2, false).changes() + j.tree_of(p, 2, true).changes();
    }
    std::printf("of %d processes that have been in such a tree: %u changes of a parent, %llu messages; without places %u, %llu\n", all, changes[1],
                static_cast<unsigned long long>(messages[1]), changes[0], static_cast<unsigned long long>(messages[0]));
    WAN_CHECK(changes[1] < 2 * all + all / 8 && 3 * changes[1] < 2 * changes[0] && messages[1] < messages[0]);
    return "";
}

/** Several processes a host: the first of each takes up its place below the last of another host, all that are below it follow. */
std::string check_hosts()
{
    clusters j(test_seed());
    j.host_of = [](int p) { return p / 2; };
    WAN_CHECK_THAT(j.use(1, up_to(all)).empty(), "first");
    const std::vector<int> before = j.parents(1, true);
    WAN_CHECK_THAT(j.use(2, up_to(all)).empty(), "second");
    for (int p = 0; p < all; ++p)
        WAN_CHECK_THAT(j.tree_of(p, 2, true).resumed() && j.parents(2, true)[static_cast<size_t>(p)] == before[static_cast<size_t>(p)] && j.tree_of(p, 2, true).changes() <= 1,
                       "process " + std::to_string(p));
    // In another order processes of a host have other places: who cannot have its own again is as any other.
    std::vector<int> reversed = up_to(all);
    std::reverse(reversed.begin() + 1, reversed.end());
    WAN_CHECK_THAT(j.use(3, reversed).empty(), "reversed");
    for (int p = 1; p < all; ++p)
        WAN_CHECK_THAT(j.tree_of(p, 3, true).view().connected, "process " + std::to_string(p));
    return "";
}

/** Of several communicators the last one counts that had all of the processes; of those that are closed little is kept. */
std::string check_last()
{
    clusters j(test_seed());
    std::vector<int> before;
    for (uint64_t number : {1, 2}) {
        if (number == 2)        // other sites are near each other
            j.delay_of = [](int a, int b) { return a % each == b % each ? 100 * us + 5 * us * std::abs(a - b) : 10 * ms + ms / 10 * std::abs(a - b); };
        for (auto &k : j.known)
            for (int p = 0; number == 2 && p < all; ++p)
                k->keep(process_of(1, static_cast<uint32_t>(p)), {p % each == (&k - j.known.data()) % each ? 200 * us : 20 * ms, 0, 1'000'000'000'000});
        WAN_CHECK_THAT(j.use(number, up_to(all)).empty(), "communicator " + std::to_string(number));
        if (number == 2)
            for (int p = 0; p < all; ++p)
                j.node(p, number).measure_again();
        j.run([] { return false; });
        WAN_CHECK_THAT(before != j.parents(number, true), "the same tree twice");
        before = j.parents(number, true);
    }
    // Some of them: not all are in it, so it does not count.
    WAN_CHECK_THAT(j.use(3, {0, 1, 2, 3, 4, 5}).empty(), "some");
    WAN_CHECK_THAT(j.use(4, up_to(all)).empty(), "all");
    WAN_CHECK(j.parents(4, true) == before);
    for (uint64_t number = 1; number <= 4; ++number)
        for (int p = 0; p < all; ++p)
            if (j.opened.count({p, number, 0}))
                j.close(p, number, 0);
    for (uint64_t number = 5; number < 20; ++number) {
        WAN_CHECK_THAT(j.use(number, {0, 1, 2}).empty(), "communicator " + std::to_string(number));
        for (int p : {0, 1, 2})
            j.close(p, number, 0);
    }
    WAN_CHECK_THAT(j.services[1]->remembered() > 0 && j.services[1]->remembered() < 10, std::to_string(j.services[1]->remembered()) + " are kept");
    return "";
}

/** What processes remember is of other communicators each, so that it leads round: they find each other all the same. */
std::string check_contradictions()
{
    clusters j(test_seed());
    // Four overlapping ones, in which the order of a chain differs.
    std::mt19937_64 random(test_seed());
    for (uint64_t number = 1; number < 5; ++number) {
        std::vector<int> some = up_to(all);
        std::shuffle(some.begin() + 1, some.end(), random);
        some.resize(all / 2);
        j.delay_of = [number](int a, int b) { return (a * 7 + b * 7) % 5 * ms / 2 + static_cast<int64_t>(number) * us; };
        WAN_CHECK_THAT(j.use(number, some).empty(), "communicator " + std::to_string(number));
        for (int p : some)
            j.close(p, number, 0);
    }
    WAN_CHECK_THAT(j.use(5, up_to(all)).empty(), "all");
    for (int p = 1; p < all; ++p)
        WAN_CHECK_THAT(j.tree_of(p, 5, true).view().connected && j.tree_of(p, 5, false).view().connected, "process " + std::to_string(p) + " is not connected");
    return "";
}

/** One process, 5 of 0 to 9, whom others tell what a test likes: where it begins in each communicator. */
struct alone {
    explicit alone(bool of_bandwidth) : bandwidth(of_bandwidth), service(options(), [](int, std::span<const std::byte>, std::span<const std::byte>, uint64_t) {}, known, 1)
    {
        for (uint32_t p = 0; p < 10; ++p)
            known.keep(process_of(1, p), {ms, 50'000'000, 1});
    }
    static adaptive_options options()
    {
        adaptive_options o;
        o.threshold_bytes = 2;
        return o;
    }
    /** By numbers from `first` on; the jobs: of each process by number, but for those of `other`, the same. */
    void open(uint64_t number, std::vector<int> processes, int first = 0, const std::set<int> &other = {})
    {
        const auto me = static_cast<int>(std::find(processes.begin(), processes.end(), 5) - processes.begin());
        std::vector<int> numbers;
        std::vector<process_id> who;
        for (int p : processes) {
            numbers.push_back(first + p);
            who.push_back(process_of(other.count(p) ? 2 : 1, static_cast<uint32_t>(p)));
        }
        opened[number] = {service.open({number, 0, 0}, numbers, me, [](int, size_t) {}, now, {}, who), processes};
    }
    void close(uint64_t number) { service.close(opened.extract(number).mapped().first); }
    static int rank(const std::vector<int> &processes, int p) { return static_cast<int>(std::find(processes.begin(), processes.end(), p) - processes.begin()); }
    const tree &tree_of(uint64_t number, int root = 0)
    {
        const auto &[m, processes] = opened.at(number);
        return *m->node().tree_at({rank(processes, root), bandwidth});
    }
    /** Which processes it begins below, in the tree of that root: none, where it has been nowhere. */
    std::set<int> begins(uint64_t number, int root = 0)
    {
        auto &[m, processes] = opened.at(number);
        std::array<std::byte, 2> buffer{};
        m->node().broadcast_begin(rank(processes, root), std::span(buffer).first(bandwidth ? 2 : 1));
        std::set<int> those;
        tree_of(number, root).view().ancestors.each([&those, &here = processes](int r) { those.insert(here[static_cast<size_t>(r)]); });
        return those;
    }
    /** It gets below that one, who is below these. */
    bool connect(uint64_t number, int parent, std::vector<int> above, int root = 0)
    {
        const auto &[m, processes] = opened.at(number);
        tell_message t;
        t.what = tell_kind::tell;
        t.tree = {rank(processes, root), bandwidth};
        rank_set ancestors;
        for (int p : above)
            ancestors |= rank_set::one(rank(processes, p));
        const int r = rank(processes, parent);
        t.view = {true, ms, 50'000'000, 0, ancestors, r, ms, r, r, -1};
        service.receive(parent, message(number, 0, t), now += ms);
        t.what = tell_kind::accept;
        service.receive(parent, message(number, 0, t), now += ms);
        return tree_of(number, root).view().connected && tree_of(number, root).parent() == r;
    }
    /** That one says so of itself. */
    void nowhere(uint64_t number, int p)
    {
        const auto &[m, processes] = opened.at(number);
        tell_message t;
        t.what = tell_kind::tell;
        t.tree = {rank(processes, 0), bandwidth};
        service.receive(p, message(number, 0, t), now += ms);
    }
    bool bandwidth;
    int64_t now = ms;
    measured_table known;
    adaptive_service service;
    std::map<uint64_t, std::pair<adaptive_service::member *, std::vector<int>>> opened;
};

/** Places are those of processes, by whatever numbers they are reached; of two of one name there is none. */
std::string check_numbers()
{
    using set = std::set<int>;
    for (const bool first_closed : {false, true}) {
        alone a(true);
        a.open(1, up_to(10));
        WAN_CHECK(a.begins(1).empty() && a.connect(1, 1, {0}));
        if (first_closed)
            a.close(1);
        std::vector<int> reversed = up_to(10);
        std::reverse(reversed.begin(), reversed.end());
        a.open(2, reversed, 100);
        WAN_CHECK(a.begins(2) == set({0, 1}));
        // Others by the same numbers: the root, who was above, one of the rest.
        for (int other : {0, 1, 7}) {
            a.open(10 + static_cast<uint64_t>(other), up_to(10), 0, {other});
            WAN_CHECK_THAT(a.begins(10 + static_cast<uint64_t>(other)).empty(), std::to_string(other));
        }
        // (As those of two mpiruns may be.)
        const auto twice = [&](std::vector<process_id> who) {
            const auto m = a.service.open({30, 0, 0}, {200, 201, 202}, 2, [](int, size_t) {}, a.now, {}, std::move(who));
            std::array<std::byte, 2> buffer{};
            m->node().broadcast_begin(0, buffer);
            const bool none = m->node().tree_at({0, true})->view().ancestors.empty();
            a.service.close(m);
            return none;
        };
        const auto p = [](uint32_t number) { return process_of(1, number); };
        WAN_CHECK(twice({p(0), p(0), p(5)}) && twice({p(0), p(5), p(5)}) && !twice({p(0), p(1), p(5)}));
    }
    return "";
}

/** Which communicator counts: the last one before that had all and in which it was connected, open or closed; little is kept of those. */
std::string check_lookup()
{
    using set = std::set<int>;
    const auto list = [](const set &s) {
        std::string text;
        for (int p : s)
            text += " " + std::to_string(p);
        return "begins below" + text;
    };
    for (const bool bandwidth : {false, true})
        for (const bool first_closed : {false, true})
            for (const bool last_closed : {false, true}) {
                alone a(bandwidth);
                a.open(1, up_to(10));
                WAN_CHECK(a.begins(1).empty() && a.connect(1, 1, {0}));
                if (first_closed)
                    a.close(1);
                // In another order of ranks.
                std::vector<int> reversed = up_to(10);
                std::reverse(reversed.begin(), reversed.end());
                a.open(3, reversed);
                WAN_CHECK(a.begins(3) == set({0, 1}) && a.connect(3, 1, {0, 2}));
                // Without one that is wanted then, and one in which it does not get anywhere.
                a.open(4, {0, 1, 3, 4, 5, 6, 7});
                WAN_CHECK(a.begins(4) == set({0, 1}) && a.connect(4, 1, {0, 3}));
                a.open(5, up_to(10));
                WAN_CHECK(a.begins(5) == set({0, 1, 2}));
                a.nowhere(5, 1);
                WAN_CHECK(!a.tree_of(5).resumed());
                if (last_closed)
                    for (uint64_t number : {3, 4, 5})
                        a.close(number);
                a.open(6, {8, 5, 2, 1, 0});
                WAN_CHECK_THAT(a.begins(6) == set({0, 1, 2}), list(a.begins(6)));
                WAN_CHECK(a.begins(6, 8).empty());      // a tree of another root
                // What comes after it does not count.
                a.open(2, up_to(10));
                WAN_CHECK_THAT(a.begins(2) == set({0, 1}), list(a.begins(2)));
                // Those of the other kind of tree neither.
                a.bandwidth = !bandwidth;
                a.open(7, up_to(10));
                WAN_CHECK(a.begins(7).empty());
            }
    // The last ones that were closed are kept, of so many trees.
    alone a(true);
    a.open(1, up_to(10));
    WAN_CHECK(a.begins(1).empty() && a.connect(1, 1, {0}));
    a.close(1);
    for (uint64_t number = 2; number < 40; ++number) {
        a.open(number, {0, 1, 2, 5});
        a.begins(number);
        WAN_CHECK(a.connect(number, 1, number == 39 ? std::vector{0, 2} : std::vector{0}));
        a.close(number);
        a.open(1000 + number, {0, 5});      // in which it gets nowhere
        a.begins(1000 + number);
        a.close(1000 + number);
        WAN_CHECK(a.service.remembered() <= 8);
    }
    a.open(2000, {0, 1, 2, 5});
    WAN_CHECK_THAT(a.begins(2000) == set({0, 1, 2}), list(a.begins(2000)));
    a.open(2001, up_to(10));
    WAN_CHECK(a.begins(2001).empty());
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_members>), cmocka_unit_test(test<check_helps>), cmocka_unit_test(test<check_contradictions>),
                                cmocka_unit_test(test<check_hosts>), cmocka_unit_test(test<check_last>), cmocka_unit_test(test<check_lookup>), cmocka_unit_test(test<check_numbers>)};
    return cmocka_run_group_tests_name("adaptive places", tests, nullptr, nullptr);
}
