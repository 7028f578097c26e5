/*
 * Sites that get farther or nearer while a program makes Bcasts alone, or Reduces: processes notice it by themselves, and have
 * trees that suit within three seconds.  Where nothing changes, nothing is measured, or a few times where processes compute.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "simulator.hpp"
#include "unit.hpp"

#include <algorithm>
#include <numeric>

namespace {

using namespace adaptive_test;
using namespace wan_test;

struct call {
    bool reduces = false;
    size_t bytes = 1;
    int64_t every_ns = 12 * ms;     // until the next one begins, at least
};

/** Processes that make blocking calls. */
class program {
public:
    program(simulator &sim, int root, std::function<call(size_t)> calls, std::function<int64_t(int, size_t)> computes = {})
        : sim_(sim), root_(root), calls_(std::move(calls)), computes_(std::move(computes)), states_(sim.all.size())
    {
        for (int r = 0; r < sim.size(); ++r) {
            sim[r].work = [this, r] { work(r); };
            sim.wake(r, sim.now);
        }
    }
    size_t least_calls() const
    {
        return std::min_element(states_.begin(), states_.end(), [](const state &a, const state &b) { return a.begun < b.begun; })->begun;
    }

private:
    struct state {
        size_t begun = 0;
        bool under_way = false;
        uint64_t op = 0;
        int64_t next_ns = 0;
        std::vector<std::byte> in, out;
    };
    void work(int r)
    {
        state &s = states_[static_cast<size_t>(r)];
        adaptive_node &node = sim_[r].node;
        for (;;) {
            if (s.under_way && node.done(s.op)) {
                node.end(s.op);
                s.under_way = false;
                if (const int64_t takes = computes_ ? computes_(r, s.begun) : 0; takes > 0) {
                    sim_[r].away_from = sim_.now + 1;       // (it takes all that has come)
                    sim_[r].away_until = sim_.now + takes;
                    s.next_ns = std::max(s.next_ns, sim_.now + takes);
                }
            }
            if (s.under_way)
                return;
            if (sim_.now < s.next_ns) {
                sim_.wake(r, s.next_ns);
                return;
            }
            const call c = calls_(s.begun++);
            s.in.resize(c.bytes), s.out.resize(c.bytes);
            s.op = c.reduces ? node.reduce_begin(root_, s.in, s.out.data(), {[](const std::byte *, std::byte *, size_t) {}, 1}) : node.broadcast_begin(root_, s.in);
            s.under_way = true;
            s.next_ns = sim_.now + c.every_ns;
            node.step(sim_.now);
        }
    }

    simulator &sim_;
    int root_;
    std::function<call(size_t)> calls_;
    std::function<int64_t(int, size_t)> computes_;
    std::vector<state> states_;
};

/** Latencies between sites in ms, one way; the diagonal does not count. */
using matrix = std::vector<std::vector<double>>;

double between(const matrix &m, int a, int b) { return m[static_cast<size_t>(std::min(a, b))][static_cast<size_t>(std::max(a, b))]; }

/** What is not right with the latency tree of process 0, which is in site 0; "": nothing. */
std::string wrong_with(simulator &sim, const matrix &ms_between)
{
    const auto site = [&](int r) { return sim.net.site[static_cast<size_t>(r)]; };
    std::vector<double> least(ms_between.size(), 1e9);
    least[0] = 0;
    for (size_t round = 0; round < least.size(); ++round)
        for (size_t a = 0; a < least.size(); ++a)
            for (size_t b = 0; b < least.size(); ++b)
                if (a != b)
                    least[b] = std::min(least[b], least[a] + between(ms_between, static_cast<int>(a), static_cast<int>(b)));
    size_t edges = 0;
    for (int r = 1; r < sim.size(); ++r) {
        double takes = 0;
        int at = r, depth = 0;
        const tree *mine = sim[r].node.tree_at({0, false});
        for (const tree *t = mine; at != 0; t = sim[at].node.tree_at({0, false})) {
            if (!t || t->parent() < 0 || ++depth > sim.size())
                return "rank " + std::to_string(r) + " is not connected";
            const bool far = site(at) != site(t->parent());
            edges += far && depth == 1;
            takes += far ? between(ms_between, site(at), site(t->parent())) : 0.05;
            at = t->parent();
        }
        const double best = least[static_cast<size_t>(site(r))];
        if (takes > 1.3 * best + 1)
            return "rank " + std::to_string(r) + ": " + std::to_string(takes) + " ms, not " + std::to_string(best);
        const double believes = static_cast<double>(mine->view().dist_ns) / 2e6;
        if (site(r) != 0 && (believes < 0.7 * takes || believes > 1.3 * takes + 0.5))
            return "rank " + std::to_string(r) + " takes " + std::to_string(takes) + " ms for " + std::to_string(believes);
    }
    return edges + 1 == least.size() ? "" : std::to_string(edges) + " edges between sites";
}

uint64_t doubts(simulator &sim)
{
    uint64_t n = 0;
    for (const auto &p : sim.all)
        n += p->node.near().doubts();
    return n;
}

uint64_t changes(simulator &sim)
{
    uint64_t n = 0;
    for (const auto &p : sim.all)
        n += p->node.near().changes();
    return n;
}

struct change {
    const char *name;
    int each;
    matrix before, after;
};

struct result {
    int64_t right_ns = -1;      // so long it took until all was right for good; < 0: it was not within 3 s
    std::string wrong;
    uint64_t doubts_before = 0;
};

/** One whose calls go on for 3 s after the change. */
result job_with(const change &c, bool reduces, uint64_t seed, unsigned variants)
{
    result out;
    constexpr int64_t changes_ns = 30 * second, ends_ns = changes_ns + 3 * second;
    network net = shape(static_cast<int>(c.before.size()), c.each);
    net.far_ns = ms;
    net.jitter = 0.2;
    net.spread = 0.1;
    net.slower = [&, site = net.site](int a, int b, int64_t now) {
        const int x = site[static_cast<size_t>(a)], y = site[static_cast<size_t>(b)];
        return x == y ? 1.0 : between(now < changes_ns ? c.before : c.after, x, y);
    };
    adaptive_options o;
    o.seed = seed;
    o.variants = variants;
    simulator sim(net, o, seed);
    // (Long before that nobody looks for a better parent any more.)
    program calls(sim, 0, [reduces](size_t i) { return call{reduces, 1, i == 80 ? 27 * second : 12 * ms}; });
    sim.run(changes_ns, [] { return false; });
    out.wrong = wrong_with(sim, c.before);
    if (!out.wrong.empty()) {
        out.wrong = "before: " + out.wrong;
        return out;
    }
    out.doubts_before = doubts(sim);
    for (int64_t at = changes_ns; at <= ends_ns; at += 10 * ms) {
        sim.run(at, [] { return false; });
        out.wrong = wrong_with(sim, c.after);
        if (!out.wrong.empty())
            out.right_ns = -1;
        else if (out.right_ns < 0)
            out.right_ns = at - changes_ns;
    }
    return out;
}

const change all_changes[] = {
    {"a site of two farther", 8, {{0, 10}, {}}, {{0, 50}, {}}},
    {"a site of two nearer", 8, {{0, 50}, {}}, {{0, 10}, {}}},
    {"one way of three farther", 6, {{0, 10, 10}, {0, 0, 10}, {}}, {{0, 50, 10}, {0, 0, 10}, {}}},
    {"a site of three farther", 6, {{0, 10, 10}, {0, 0, 10}, {}}, {{0, 50, 10}, {0, 0, 50}, {}}},
    {"a site of three nearer", 6, {{0, 50, 10}, {0, 0, 50}, {}}, {{0, 10, 10}, {0, 0, 10}, {}}},
    {"no detour any more", 6, {{0, 100, 8}, {0, 0, 8}, {}}, {{0, 3, 8}, {0, 0, 4}, {}}},
    {"a detour longer", 6, {{0, 36, 10}, {0, 0, 10}, {}}, {{0, 36, 10}, {0, 0, 100}, {}}},
    {"large sites", 24, {{0, 10, 10}, {0, 0, 10}, {}}, {{0, 50, 10}, {0, 0, 10}, {}}},
};

std::string check_changes()
{
    const int jobs = is_short() ? 1 : is_long() ? 40 : 3;
    for (const change &c : all_changes)
        for (bool reduces : {false, true}) {
            std::vector<int64_t> took;
            for (uint64_t seed = test_seed(); seed < test_seed() + static_cast<uint64_t>(jobs); ++seed) {
                const result x = job_with(c, reduces, seed, all_variants);
                const std::string what = std::string(c.name) + ", " + (reduces ? "Reduce" : "Bcast") + ", seed " + std::to_string(seed) + ": ";
                WAN_CHECK_THAT(x.right_ns >= 0, what + x.wrong);
                WAN_CHECK_THAT(x.doubts_before == 0, what + std::to_string(x.doubts_before) + " measurements before");
                took.push_back(x.right_ns);
            }
            std::sort(took.begin(), took.end());
            std::printf("%s, %s alone: right after %lld ms, %lld at most\n", c.name, reduces ? "Reduce" : "Bcast", static_cast<long long>(took[took.size() / 2] / ms),
                        static_cast<long long>(took.back() / ms));
            WAN_CHECK_THAT(took.back() <= 2 * second, "it takes long");
        }
    // Nobody else notices that.
    WAN_CHECK(job_with(all_changes[2], false, test_seed(), all_variants & ~variant_watch).right_ns < 0);
    return "";
}

/** A minute of calls over sites that stay where they are: what is measured again in it. */
struct minute {
    uint64_t doubts = 0, most_doubts = 0, changes = 0, tree_changes = 0;
    std::string text;
};

minute quiet_minute(network net, std::function<call(size_t)> calls, std::function<int64_t(int, size_t)> computes)
{
    minute out;
    net.jitter = 0.2;
    net.spread = 0.1;
    simulator sim(net, {}, test_seed());
    const auto tree_changes = [&] {
        uint64_t n = 0;
        for (const auto &p : sim.all)
            n += p->node.tree_changes();
        return n;
    };
    program all(sim, 0, std::move(calls), std::move(computes));
    sim.run(5 * second, [] { return false; });
    out.tree_changes = tree_changes();
    const size_t before = all.least_calls();
    sim.run(65 * second, [] { return false; });
    out.tree_changes = tree_changes() - out.tree_changes;
    for (const auto &p : sim.all)
        out.most_doubts = std::max(out.most_doubts, p->node.near().doubts());
    out.doubts = doubts(sim), out.changes = changes(sim);
    out.text = std::to_string(all.least_calls() - before) + " calls; measured again " + std::to_string(out.doubts) + " times (" + std::to_string(out.most_doubts)
               + " by one process), " + std::to_string(out.changes) + " had changed; " + std::to_string(out.tree_changes) + " changes of trees";
    return out;
}

std::string check_quiet()
{
    const auto mixed = [](size_t i) { return call{i % 3 == 1, i % 40 == 39 ? size_t{256} << 10 : i % 2 ? size_t{1} : size_t{1} << 10}; };
    for (int sites : {2, 3}) {
        network net = shape(sites, sites == 2 ? 8 : 5);
        net.rate = 5e6;
        const minute steady = quiet_minute(net, mixed, {});
        std::printf("%d sites: %s\n", sites, steady.text.c_str());
        WAN_CHECK_THAT(steady.doubts == 0 && steady.tree_changes == 0, steady.text);
        net.rate = 125e6;
        net.link = [](int, int, int64_t) { return 5e6; };
        const minute narrow = quiet_minute(net, mixed, {});
        std::printf("narrow links: %s\n", narrow.text.c_str());
        WAN_CHECK_THAT(narrow.most_doubts <= 8 && narrow.changes == 0 && narrow.tree_changes == 0, narrow.text);
    }
    for (int who : {0, 1, 9, -1})       // the root, one beside it, one elsewhere, all
        for (int k = 0; k < 3; ++k) {
            network net = shape(2, 8);
            net.rate = 5e6;
            const std::function<call(size_t)> calls[] = {[](size_t) { return call{false, 1}; }, [](size_t) { return call{true, 1}; }, mixed};
            const minute x = quiet_minute(net, calls[k], [who](int r, size_t) { return who < 0 || r == who ? 50 * ms : 0; });
            const std::string what = std::to_string(who) + " computes, " + (k == 0 ? "Bcast: " : k == 1 ? "Reduce: " : "all kinds: ") + x.text;
            std::printf("%s\n", what.c_str());
            WAN_CHECK_THAT(x.most_doubts <= 10, what);
            WAN_CHECK_THAT(k == 2 || (x.changes == 0 && x.tree_changes == 0), what);
        }
    return "";
}

/** Long calls, one after the other, fill their ways: nothing that waits behind them has got farther, for a minute.  What has shows
 *  nevertheless, where short ones come in between. */
std::string check_long()
{
    for (bool reduces : {false, true})
        for (bool link : {false, true}) {
            network net = shape(2, 8);
            net.rate = link ? 125e6 : 5e6;
            if (link)
                net.link = [](int, int, int64_t) { return 5e6; };
            const minute x = quiet_minute(net, [reduces](size_t) { return call{reduces, size_t{4} << 20, 0}; }, {});
            std::printf("long %s, narrow %s: %s\n", reduces ? "Reduces" : "Bcasts", link ? "links" : "interfaces", x.text.c_str());
            WAN_CHECK_THAT(x.changes == 0, x.text);
        }
    network net = shape(3, 6);
    net.far_ns = ms;
    net.rate = 20e6;
    net.jitter = 0.2;
    net.slower = [site = net.site](int a, int b, int64_t now) {
        const int x = site[static_cast<size_t>(a)], y = site[static_cast<size_t>(b)];
        return x == y ? 1.0 : between(now < 20 * second ? all_changes[3].before : all_changes[3].after, x, y);
    };
    simulator sim(net, {}, test_seed());
    program calls(sim, 0, [](size_t i) { return call{false, i % 10 == 9 ? size_t{1} << 20 : size_t{1}}; });
    sim.run(20 * second, [] { return false; });
    WAN_CHECK_THAT(wrong_with(sim, all_changes[3].before).empty(), wrong_with(sim, all_changes[3].before));
    WAN_CHECK_THAT(changes(sim) == 0, std::to_string(changes(sim)));
    int64_t right_ns = -1;
    for (int64_t at = 20 * second; at <= 26 * second; at += 10 * ms) {
        sim.run(at, [] { return false; });
        right_ns = !wrong_with(sim, all_changes[3].after).empty() ? -1 : right_ns < 0 ? at - 20 * second : right_ns;
    }
    std::printf("a long call in ten: right after %lld ms\n", static_cast<long long>(right_ns / ms));
    WAN_CHECK_THAT(right_ns >= 0, wrong_with(sim, all_changes[3].after));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_changes>), cmocka_unit_test(test<check_quiet>), cmocka_unit_test(test<check_long>)};
    return cmocka_run_group_tests_name("adaptive distances", tests, nullptr, nullptr);
}
