/*
 * Processes that were in a tree of the same root before, in another communicator: where they begin in the next one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
#include "ranks.hpp"
#include "unit.hpp"

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

/** Notes whom a broadcast is begun with, and who is to be served through that one. */
struct recorder final : adaptive_port {
    void send(int to, std::span<const std::byte> head, std::span<const std::byte> payload) override
    {
        std::vector<std::byte> bytes(head.begin(), head.end());
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        tell_message m;
        if (message_get(m, bytes, 6) && m.what == tell_kind::deliver)
            begun.emplace_back(to, m.ranks);
    }
    uint64_t under_way(int) const override { return 0; }
    uint64_t delivered(int) const override { return 0; }
    int64_t round_trip_ns(int) const override { return 0; }
    void limited(int) override {}
    uint64_t ahead(int) const override { return 0; }
    void ahead_by(int, int64_t) override {}
    std::vector<std::pair<int, rank_set>> begun;
};

/** The root of six has one child, with one below it; the others, who were in such a tree before, have no parent yet.  A long message is not sent twice for that: they
 *  get it behind the child's; of a short one two go to them, who share them. */
std::string check_unattached()
{
    for (const size_t bytes : {size_t{4} << 20, size_t{8}}) {
        recorder port;
        adaptive_node node({}, 6, 0, port, {{}, {}, {{{0, true}, {true, {}, 0}}, {{0, false}, {true, {}, 0}}}});
        tell_message m;
        m.what = tell_kind::attach;
        m.tree = node.tree_for(0, bytes);
        m.ranks = ranks({3, 4});
        node.receive(3, message_put(m), 0);
        std::vector<std::byte> buffer(bytes);
        node.broadcast_begin(0, buffer);
        node.step(0);
        const auto &to = port.begun;
        if (m.tree.bandwidth)
            WAN_CHECK(to.size() == 1 && to[0].first == 3 && to[0].second == ranks({1, 2, 3, 4, 5}));
        else
            WAN_CHECK(to.size() == 3 && to[0].first == 3 && to[0].second == ranks({3, 4}) && (to[1].second | to[2].second) == ranks({1, 2, 5}));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_members>), cmocka_unit_test(test<check_helps>), cmocka_unit_test(test<check_contradictions>), cmocka_unit_test(test<check_unattached>)};
    return cmocka_run_group_tests_name("adaptive places", tests, nullptr, nullptr);
}
