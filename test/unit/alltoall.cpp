/*
 * Alltoall step by step: who exchanges with whom in which step, what must have
 * happened on other ranks before, and what that costs.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "planned.hpp"

#include "matrix.hpp"
#include "unit.hpp"

#include <bit>

namespace {

using namespace wan;
using namespace wan_test;

const std::vector<std::vector<int>> shapes{{1, 1}, {2, 1}, {2, 2}, {3, 2}, {4, 4}, {1, 2, 3}, {5, 2, 2}};
constexpr const char *in_steps[] = {"pair",           "ring",           "pair_light_barrier", "ring_light_barrier", "pair_one_barrier",
                                    "ring_one_barrier", "pair_mpi_barrier", "ring_mpi_barrier"};

plan plan_of(std::string_view name)
{
    plan p;
    p.algo = algorithm_named(WAN_ALLTOALL, name);
    return p;
}

bool is(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

/** Schedules of all ranks, by slot, with what must have happened before what. */
class history {
public:
    history(const topology &t, const plan &p)
    {
        for (int s = 0; s < t.size(); ++s) {
            all.push_back(build_schedule(t, p, t.rank_of(s)));
            first_.push_back(nodes_);
            nodes_ += 1 + 2 * static_cast<int>(all.back().ops.size());
        }
        earlier_.resize(static_cast<size_t>(nodes_));
        for (int s = 0; s < t.size(); ++s) {
            const schedule &mine = all[static_cast<size_t>(s)];
            for (size_t i = 0; i < mine.ops.size(); ++i) {
                const op &o = mine.ops[i];
                at(start(s, i)) = {begin(s)};
                at(end(s, i)) = {start(s, i)};
                for (uint16_t before : mine.preds_of(o))
                    at(start(s, i)).push_back(end(s, before));
                if (!o.receives())
                    continue;
                const int from = t.slot_of(o.peer);
                const auto &theirs = all[static_cast<size_t>(from)].ops;
                for (size_t k = 0; k < theirs.size(); ++k)
                    if (theirs[k].sends() && t.slot_of(theirs[k].peer) == s && theirs[k].label == o.label)
                        at(end(s, i)).push_back(start(from, k));
            }
        }
    }

    int begin(int slot) const { return first_[static_cast<size_t>(slot)]; }
    int start(int slot, size_t i) const { return begin(slot) + 1 + 2 * static_cast<int>(i); }
    int end(int slot, size_t i) const { return start(slot, i) + 1; }

    bool before(int a, int b) const
    {
        std::vector<bool> seen(static_cast<size_t>(nodes_));
        std::vector<int> next{b};
        while (!next.empty()) {
            const int x = next.back();
            next.pop_back();
            if (x == a)
                return true;
            if (!seen[static_cast<size_t>(x)]) {
                seen[static_cast<size_t>(x)] = true;
                next.insert(next.end(), earlier_[static_cast<size_t>(x)].begin(), earlier_[static_cast<size_t>(x)].end());
            }
        }
        return false;
    }

    std::vector<schedule> all;

private:
    std::vector<int> &at(int node) { return earlier_[static_cast<size_t>(node)]; }

    int nodes_ = 0;
    std::vector<int> first_;
    std::vector<std::vector<int>> earlier_;
};

/** The operations of a kind, in the order in which they are posted. */
std::vector<size_t> of_kind(const schedule &s, op_kind kind)
{
    std::vector<size_t> found;
    for (size_t i = 0; i < s.ops.size(); ++i)
        if (s.ops[i].kind == kind)
            found.push_back(i);
    return found;
}

/** One partner a step, the same step on both sides; as the report says which. */
std::string check_partners()
{
    for (const auto &sites : shapes)
        for (placement how : {placement::block, placement::shuffled}) {
            const topology t = lay_out(sites, how, 2, test_seed());
            const int ranks = t.size();
            for (const char *name : in_steps)
                for (int s = 0; s < ranks; ++s) {
                    const schedule mine = build_schedule(t, plan_of(name), t.rank_of(s));
                    const auto sends = of_kind(mine, op_kind::send), receives = of_kind(mine, op_kind::recv);
                    WAN_CHECK_THAT(sends.size() == static_cast<size_t>(ranks) - 1 && receives.size() == sends.size(), name);
                    int step = 0;
                    for (size_t i = 0; i < sends.size(); ++i) {
                        const int to = t.slot_of(mine.ops[sends[i]].peer), from = t.slot_of(mine.ops[receives[i]].peer);
                        if (is(name, "ring")) {
                            WAN_CHECK_THAT((s + ++step) % ranks == to && (from + step) % ranks == s, name);
                            continue;
                        }
                        const int number = std::has_single_bit(static_cast<unsigned>(ranks)) ? s ^ to : (s + to) % ranks;
                        WAN_CHECK_THAT(to == from && (i == 0 || number > step), name);
                        step = number;
                    }
                }
        }
    return "";
}

/** A step begins when the one before is done, and `simple` has none. */
std::string check_steps()
{
    for (const auto &sites : shapes) {
        const topology t = lay_out(sites, placement::block, 1, 0);
        for (const char *name : in_steps) {
            const history h(t, plan_of(name));
            for (int s = 0; s < t.size(); ++s) {
                const schedule &mine = h.all[static_cast<size_t>(s)];
                const auto sends = of_kind(mine, op_kind::send), receives = of_kind(mine, op_kind::recv);
                for (size_t i = 1; i < sends.size(); ++i)
                    for (size_t next : {sends[i], receives[i]})
                        for (size_t done : {sends[i - 1], receives[i - 1]})
                            WAN_CHECK_THAT(h.before(h.end(s, done), h.start(s, next)), name + (":\n" + print(mine)));
            }
        }
        for (int r = 0; r < t.size(); ++r)
            for (const op &o : build_schedule(t, plan_of("simple"), r).ops)
                WAN_CHECK(o.pred_count == 0);
    }
    return "";
}

/** Light: what a receiver did before.  One: that all have come.  MPI: what all did before.  Without: none of these. */
std::string check_barriers()
{
    for (const auto &sites : shapes) {
        const topology t = lay_out(sites, placement::block, 1, 0);
        const auto ranks = static_cast<size_t>(t.size());
        const size_t rounds = static_cast<size_t>(std::bit_width(ranks - 1));
        for (const char *name : in_steps) {
            const history h(t, plan_of(name));
            // Numbers of steps: `pair` rests in one where ranks are no power of two.
            const auto step_of = [&](int s, size_t i) {
                if (!is(name, "pair") || std::has_single_bit(ranks))
                    return i;
                const auto &mine = h.all[static_cast<size_t>(s)];
                return static_cast<size_t>(s + t.slot_of(mine.ops[of_kind(mine, op_kind::send)[i]].peer)) % ranks;
            };
            bool all_came = true, all_done = true, receivers_done = true;
            for (int s = 0; s < t.size(); ++s) {
                const schedule &mine = h.all[static_cast<size_t>(s)];
                const auto sends = of_kind(mine, op_kind::send);
                const size_t steps = is(name, "pair") && !std::has_single_bit(ranks) ? ranks : ranks - 1;
                WAN_CHECK_THAT(of_kind(mine, op_kind::signal).size()
                                   == (is(name, "light") ? ranks - 1 : is(name, "one") ? rounds : is(name, "mpi") ? steps * rounds : 0), name);
                for (size_t i = 0; i < sends.size(); ++i) {
                    const int posted = h.start(s, sends[i]), to = t.slot_of(mine.ops[sends[i]].peer);
                    for (int other = 0; other < t.size(); ++other) {
                        const schedule &theirs = h.all[static_cast<size_t>(other)];
                        const auto sent = of_kind(theirs, op_kind::send), received = of_kind(theirs, op_kind::recv);
                        all_came &= h.before(h.begin(other), posted);
                        for (size_t k = 0; k < sent.size(); ++k)
                            if (other != s && step_of(other, k) < step_of(s, i)) {
                                const bool done = h.before(h.end(other, sent[k]), posted) && h.before(h.end(other, received[k]), posted);
                                all_done &= done;
                                receivers_done &= done || other != to;
                            }
                    }
                }
            }
            const bool few = ranks < 4;     // who waits for the only other ones waits for all
            WAN_CHECK_THAT(!is(name, "light") || receivers_done, name);
            WAN_CHECK_THAT((!is(name, "one") && !is(name, "mpi")) || all_came, name);
            WAN_CHECK_THAT(!is(name, "mpi") || (all_done && receivers_done), name);
            WAN_CHECK_THAT(few || is(name, "mpi") || !all_done, name);
            WAN_CHECK_THAT(few || is(name, "barrier") || (!all_came && !receivers_done), name);
        }
    }
    return "";
}

/** ceil(log2 P) messages of a rank, to ranks 1, 2, 4, ... slots further on, of half of the blocks at most. */
std::string check_bruck()
{
    for (int ranks = 2; ranks <= 40; ++ranks)
        for (bool scattered : {false, true}) {
            const topology t = lay_out({ranks - 1, 1}, placement::shuffled, 3, test_seed());
            for (int s = 0; s < ranks; s += 1 + ranks / 4) {
                const schedule mine = build_schedule(t, plan_of("bruck"), t.rank_of(s), scattered);
                const auto sends = of_kind(mine, op_kind::send);
                WAN_CHECK(sends.size() == static_cast<size_t>(std::bit_width(static_cast<unsigned>(ranks - 1))));
                WAN_CHECK(of_kind(mine, op_kind::recv).size() == sends.size() && of_kind(mine, op_kind::copy).size() <= 4 * static_cast<size_t>(ranks));
                uint32_t hops = 0, wanted = 0;
                for (size_t i = 0; i < sends.size(); ++i) {
                    const op &o = mine.ops[sends[i]];
                    const uint32_t blocks = o.part.hi.block - o.part.lo.block;
                    WAN_CHECK(t.slot_of(o.peer) == (s + (1 << i)) % ranks && blocks <= static_cast<uint32_t>(ranks) / 2);
                    hops += blocks;
                }
                for (unsigned distance = 1; distance < static_cast<unsigned>(ranks); ++distance)
                    wanted += static_cast<uint32_t>(std::popcount(distance));
                WAN_CHECK(hops == wanted);
            }
        }
    return "";
}

/** What the planner takes to cross is what does, block by block; rounded up, as copies of all blocks once. */
std::string check_hops()
{
    for (const auto &sites : shapes) {
        const topology t = lay_out(sites, placement::shuffled, 2, test_seed());
        const int ranks = t.size(), count = t.site_count();
        std::vector<int64_t> hops(static_cast<size_t>(count * count));
        for (int from = 0; from < ranks; ++from)
            for (int distance = 1; distance < ranks; ++distance) {
                int at = from;
                for (int bit = 1; bit <= distance; bit *= 2)
                    if (distance & bit) {
                        const int next = (at + bit) % ranks;
                        ++hops[value(t.site_of(t.rank_of(at))) * static_cast<size_t>(count) + value(t.site_of(t.rank_of(next)))];
                        at = next;
                    }
            }
        for (int a = 0; a < count; ++a)
            for (int b = 0; b < count; ++b) {
                const int64_t wanted = hops[static_cast<size_t>(a * count + b)], once = int64_t{t.rank_count(site_at(a))} * t.rank_count(site_at(b));
                WAN_CHECK(hops_across(t, a, b) == wanted);
                const int64_t copies = crossing_copies(t, WAN_ALLTOALL, crossing::by_hops, a, b);
                WAN_CHECK(a == b || (copies * once >= wanted && (copies - 1) * once < wanted));
            }
    }
    return "";
}

/** The largest that are served have labels and operations; one more rank is not served. */
std::string check_largest()
{
    for (const algorithm *a : algorithms()) {
        if (a->collective != WAN_ALLTOALL || a->parameters != uses_nothing)
            continue;
        const bool each = is(a->name, "mpi");
        const int most = each ? 896 : is(a->name, "bruck") ? 2048 : 4096;
        const topology t = lay_out({most - 1, 1}, placement::block, 8, 0), more = lay_out({most, 1}, placement::block, 8, 0);
        WAN_CHECK_THAT(a->serves(t, {.collective = WAN_ALLTOALL}) && !a->serves(more, {.collective = WAN_ALLTOALL}), a->name);
        if (!each && std::string_view(a->name) != "bruck" && !is(a->name, "light"))     // a thousand ranks say as much
            continue;
        for (int r : {0, most - 1})
            for (const op &o : build_schedule(t, plan_of(a->name), r).ops)
                WAN_CHECK_THAT(o.label < WAN_LABELS, a->name);
    }
    return "";
}

/**
 * Latencies one after the other, of short blocks and where receivers consent, where nothing else takes time: as simulated by
 * `wan-info plan alltoall --simulate`.
 */
std::string check_latencies()
{
    const struct {
        std::vector<int> sites;
        int shorter[std::size(in_steps)], longer[std::size(in_steps)];
    } rows[] = {
        {{1, 1}, {1, 1, 2, 2, 2, 2, 2, 2}, {3, 3, 4, 4, 4, 4, 4, 4}},
        {{8, 8}, {8, 9, 16, 28, 10, 11, 38, 41}, {24, 37, 32, 58, 26, 38, 54, 69}},
        {{8, 8, 8, 8}, {24, 25, 48, 61, 27, 28, 117, 120}, {72, 85, 96, 123, 75, 87, 165, 180}},
        {{6, 6}, {11, 7, 22, 20, 13, 9, 37, 34}, {33, 27, 44, 42, 35, 29, 57, 55}},
        {{12, 20}, {27, 17, 55, 60, 29, 19, 79, 85}, {83, 72, 111, 122, 85, 73, 135, 144}},
        {{10, 2}, {6, 6, 22, 21, 8, 8, 38, 32}, {28, 26, 44, 43, 30, 28, 58, 54}},
        {{3, 1, 5}, {9, 6, 17, 16, 11, 10, 35, 31}, {27, 22, 35, 32, 29, 26, 51, 47}},
    };
    for (const auto &row : rows) {
        const topology t = topology::blocks(row.sites);
        facts f = facts_of(t);
        f.lan_ns = f.message_ns = f.step_ns = f.copy_ps = 0;
        f.byte_ps = 1;
        const auto latencies = [&](std::string_view name, uint64_t block) {
            const plan p = plan_of(name);
            return static_cast<int>((p.algo->cost(t, f, call(WAN_ALLTOALL, block * static_cast<uint64_t>(t.size()), true, 1), p) + f.wan_ns / 2) / f.wan_ns);
        };
        for (size_t i = 0; i < std::size(in_steps); ++i) {
            const int shorter = latencies(in_steps[i], 1), longer = latencies(in_steps[i], 65536);
            WAN_CHECK_THAT(shorter == row.shorter[i] && longer == row.longer[i],
                           std::to_string(row.sites[0]) + " " + in_steps[i] + " " + std::to_string(shorter) + " " + std::to_string(longer));
        }
        const int bits = static_cast<int>(std::bit_width(static_cast<unsigned>(t.size() - 1)));
        WAN_CHECK(latencies("bruck", 1) <= bits && latencies("bruck", 65536) <= 3 * bits);
    }
    return "";
}

/** None of those by name only is predicted to be faster than what the planner takes, by more than formulas round: that is why. */
std::string check_by_name()
{
    for (const std::vector<int> &sites : {std::vector<int>{1, 1}, {8, 8}, {3, 1, 5}, {10, 2}, {16, 16}, {8, 8, 8, 8}})
        for (int lanes : {1, 2})
            for (int64_t wan_ns : {50'000, 1'000'000, 10'000'000})
                for (int64_t byte_ps : {80, 8'000, 209'000})
                    for (auto between : {connections::usual, connections::warm, connections::closed})
                        for (uint64_t block : {uint64_t{0}, uint64_t{1}, uint64_t{1024}, uint64_t{16384}, uint64_t{131072}, uint64_t{1} << 20}) {
                            const topology t = topology::blocks(sites, lanes);
                            facts f = facts_of(t);
                            f.wan_ns = wan_ns;
                            f.byte_ps = byte_ps;
                            f.between_sites = between;
                            const request r = call(WAN_ALLTOALL, block * static_cast<uint64_t>(t.size()), true, 1);
                            const auto best = choose(t, f, {}, r);
                            // All ranks send across: not where fewer may.
                            for (const algorithm *a : algorithms())
                                if (a->collective == WAN_ALLTOALL && a->parameters == uses_nothing)
                                    WAN_CHECK_THAT(t.size() == 2 || choose(t, f, {.links = 1, .algo = a}, r)->algo != a, a->name);
                            for (const algorithm *a : algorithms())
                                if (a->collective == WAN_ALLTOALL && !a->automatic) {
                                    const auto p = choose(t, f, {.algo = a}, r);
                                    WAN_CHECK_THAT(p->algo == a && p->predicted_ns >= best->predicted_ns - best->predicted_ns / 1000,
                                                   print(*p) + " " + std::to_string(p->predicted_ns) + " < " + print(*best) + " " + std::to_string(best->predicted_ns));
                                }
                        }
    return "";
}

/** Many ranks of sites that are near each other, short blocks: steps of doubling distances.  Far sites: never. */
std::string check_choice()
{
    const auto chosen = [](const topology &t, int64_t wan_ns, uint64_t block, int64_t link_ps = 0) {
        facts f = facts_of(t);
        f.wan_ns = wan_ns;
        if (link_ps > 0)
            f.set_pair(f.link_ps, 0, 1, link_ps);
        return std::string(choose(t, f, {}, call(WAN_ALLTOALL, block * static_cast<uint64_t>(t.size()), true, 1))->algo->name);
    };
    for (const std::vector<int> &sites : {std::vector<int>{8, 8}, {16, 16}, {8, 8, 8, 8}, {128, 128}})
        for (uint64_t block : {1, 64, 1024, 65536})
            WAN_CHECK_THAT(chosen(topology::blocks(sites), 10'000'000, block) != "bruck", std::to_string(sites[0]) + " " + std::to_string(block));
    const topology wide = two_sites(512);
    WAN_CHECK_THAT(chosen(wide, 50'000, 1) == "bruck", chosen(wide, 50'000, 1));
    WAN_CHECK(chosen(wide, 50'000, 16384) != "bruck");
    // A link on which blocks that cross twice take longer than messages of all with all.
    WAN_CHECK(chosen(wide, 50'000, 1, 50'000) != "bruck");
    WAN_CHECK(algorithm_named(WAN_ALLTOALL, "bruck")->automatic);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_partners>), cmocka_unit_test(test<check_steps>),     cmocka_unit_test(test<check_barriers>),
        cmocka_unit_test(test<check_bruck>),    cmocka_unit_test(test<check_largest>),   cmocka_unit_test(test<check_latencies>),
        cmocka_unit_test(test<check_by_name>),  cmocka_unit_test(test<check_choice>),    cmocka_unit_test(test<check_hops>),
    };
    return cmocka_run_group_tests_name("alltoall", tests, nullptr, nullptr);
}
