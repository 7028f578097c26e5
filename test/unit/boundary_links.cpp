/*
 * Links that change, across the C boundary: asked, looked at, measured again, and
 * calls of earlier epochs planned as before.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/service.hpp"
#include "boundary_trees.hpp"
#include "comm.hpp"
#include "model/probe.hpp"
#include "tune/choices.hpp"
#include "watched_job.hpp"

#include <memory>
#include <utility>

namespace {

using namespace wan_test;

/** Blocks of a Gather from coll_wan_tree_threshold on are not for trees, whose relays would keep them all; the same on all ranks. */
std::string check_long_gather()
{
    params p;
    p.tree_threshold = 1024;
    p.algorithm[WAN_GATHER] = wan::adaptive_enumerator(WAN_GATHER);
    p.explain = 1;
    fabric f(4);
    std::vector<comm_ptr> comms = two_by_two(p, "r1", "r2");
    if (std::string why = bring_up(comms, f); !why.empty())
        return why;
    trees_of_job trees(p, comms);
    WAN_CHECK(trees.ready);
    for (const size_t count : {0, 255, 256, 100'000})
        for (size_t r = 0; r < comms.size(); ++r) {
            std::vector<uint32_t> in(count), out(r == 1 ? 4 * count : 0);
            const wan_call_t call = [&] {
                wan_call_t c = call_of(WAN_GATHER, 1, count, 4, in.data(), out.data());
                c.dense = c.blocks = true;
                return c;
            }();
            wan_run_t *run = nullptr;
            WAN_CHECK(wan_run_begin(comms[r].get(), &call, &f.port, &f.ends[r], &run) == WAN_OK);
            char said[300];
            wan_run_describe(run, said, sizeof said);
            wan_run_release(run);
            WAN_CHECK_THAT((std::string(said).find("adaptive") != std::string::npos) == (count < 256), std::to_string(count) + ": " + said);
        }
    const std::string text = explained(comms[0]);
    const auto count_of = [&](const std::string &words) {
        int n = 0;
        for (size_t at = 0; (at = text.find(words, at)) != text.npos; ++at)
            ++n;
        return n;
    };
    WAN_CHECK_THAT(count_of("\n  chosen: coll_wan_gather_algorithm names it\n") == 2 && count_of("\n  chosen: coll_wan_gather_algorithm names adaptive trees, which take no blocks of 1024 bytes (coll_wan_tree_threshold) or more: of the rest predicted to be the fastest\n") == 2, text);
    return "";
}

/**
 * Why trees do not serve a Reduce is told as it is: that is its type, where Open MPI has not predefined that or it has gaps, and not the operator,
 * which need not commute for them.
 */
std::string check_unfit()
{
    params p;
    p.algorithm[WAN_REDUCE] = wan::adaptive_enumerator(WAN_REDUCE);
    p.explain = 1;
    fabric f(4);
    std::vector<comm_ptr> comms = two_by_two(p, "u1", "u2");
    if (std::string why = bring_up(comms, f); !why.empty())
        return why;
    trees_of_job trees(p, comms);
    WAN_CHECK(trees.ready);
    for (const bool dense : {true, false})
        for (const bool commutative : {true, false})
            for (size_t r = 0; r < comms.size(); ++r) {
                std::vector<uint32_t> in(dense ? 64 : 4096), out(in.size());
                wan_call_t call = call_of(WAN_REDUCE, 1, in.size(), 4, in.data(), out.data());
                call.dense = dense;
                call.commutative = commutative;
                call.blocks = true;
                wan_run_t *run = nullptr;
                WAN_CHECK(wan_run_begin(comms[r].get(), &call, &f.port, &f.ends[r], &run) == WAN_OK);
                WAN_CHECK(wan_run_along_trees(run) == dense);
                wan_run_release(run);
            }
    const std::string text = explained(comms[0]);
    const auto count_of = [&](const std::string &words) {
        int n = 0;
        for (size_t at = 0; (at = text.find(words, at)) != text.npos; ++at)
            ++n;
        return n;
    };
    WAN_CHECK_THAT(count_of(": 1 blocking call\n") == 4 && count_of(", operator does not commute: ") == 2 && count_of("\n  chosen: coll_wan_reduce_algorithm names it\n") == 2
                       && count_of("\n  chosen: coll_wan_reduce_algorithm names adaptive trees, which reduce predefined types without gaps alone, whatever the "
                                   "operator: of the rest predicted to be the fastest\n") == 2,
                   text);
    return "";
}

/** A name, or a rule, that cannot serve a call is told of. */
std::string check_named_in_vain()
{
    file_of_links rules;
    std::ofstream(rules.path) << "allreduce: counterpart\n";
    for (const bool by_rule : {false, true}) {
        params p;
        int k = 1;
        while (std::string(wan::algorithm_at(WAN_ALLREDUCE, k)->name) != "counterpart")     // which is for three sites
            ++k;
        if (by_rule)
            p.rules = rules.path.data();
        else
            p.algorithm[WAN_ALLREDUCE] = k;
        p.explain = 1;
        fabric f(4);
        std::vector<comm_ptr> comms = two_by_two(p, "n1", "n2");
        if (std::string why = bring_up(comms, f); !why.empty())
            return why;
        for (size_t r = 0; r < comms.size(); ++r) {
            std::vector<uint32_t> in(64), out(64);
            wan_call_t call = call_of(WAN_ALLREDUCE, 0, in.size(), 4, in.data(), out.data());
            call.blocks = true;
            wan_run_t *run = nullptr;
            WAN_CHECK(wan_run_begin(comms[r].get(), &call, &f.port, &f.ends[r], &run) == WAN_OK);
            wan_run_release(run);
        }
        const std::string text = explained(comms[0]);
        WAN_CHECK_THAT(text.find(std::string("\n  chosen: ") + (by_rule ? "coll_wan_rules" : "coll_wan_allreduce_algorithm")
                                 + " names counterpart, which does not serve it here: of the rest predicted to be the fastest\n") != text.npos, text);
    }
    return "";
}

std::string check_change()
{
    watched_job j({"l1", "l1", "l2", "l2", "l3"}, 1);
    if (std::string why = bring_up(j.comms, j.f); !why.empty())
        return why;
    trees_of_job trees(j.p, j.comms);
    WAN_CHECK(trees.ready && trees.settle() > 0 && trees.settle() == 0);
    std::string before, first, latest;
    if (std::string why = j.plan(0, false, &before); !why.empty())
        return why;
    if (std::string why = j.calls(2000); !why.empty())
        return why;
    WAN_CHECK_THAT(j.asked > 3 && j.looks == 0 && j.learned == 0,
                   std::to_string(j.asked) + " questions, " + std::to_string(j.looks) + " looks though nothing changed");
    WAN_CHECK(trees.settle() == 0);
    j.f.tick = 5000;
    if (std::string why = j.calls(2000); !why.empty())
        return why;
    WAN_CHECK_THAT(j.looks >= 1 && j.learned == 1, std::to_string(j.looks) + " looks, " + std::to_string(j.learned) + " times learned");
    WAN_CHECK_THAT(trees.settle() > 0, "adaptive trees do not measure again");
    // Who asks for the first epoch gets the plan of then, and its prediction.
    if (std::string why = j.plan(0, false, &first); !why.empty())
        return why;
    if (std::string why = j.plan(1000, false, &latest); !why.empty())
        return why;
    WAN_CHECK_THAT(first == before && latest != before, before + " | " + first + " | " + latest);
    // Also where no such call was planned then.
    if (std::string why = j.plan(0, false, &first, 5); !why.empty())
        return why;
    if (std::string why = j.plan(1000, false, &latest, 5); !why.empty())
        return why;
    WAN_CHECK_THAT(first != latest, first + " | " + latest);
    j.f.tick = 1000;
    if (std::string why = j.calls(3000); !why.empty())
        return why;
    WAN_CHECK_THAT(j.learned == 2, "links became faster, learned " + std::to_string(j.learned) + " times");
    return "";
}

/**
 * A level inside sites that is looked at first is no change: trees stay, and what was learned; links that change are one.  So it is where they
 * were measured on another communicator.
 */
std::string check_levels()
{
    for (const bool elsewhere : {false, true}) {
        const std::string a = elsewhere ? "g1/s/r" : "h1/s/r", b = elsewhere ? "g2/s/r" : "h2/s/r", a1 = a + "1", a2 = a + "2", b1 = b + "1", b2 = b + "2";
        watched_job j({a1.c_str(), a2.c_str(), b1.c_str(), b2.c_str()}, 0);
        const auto levels = [](auto &found, int64_t ns) {
            for (size_t i = wan::fact::first_level_ns; i < wan::fact::end; ++i)
                found[i] = i < wan::fact::level_byte_ps ? ns : 0;
        };
        j.f.otherwise = [&](auto &found) { levels(found, 0); };
        if (std::string why = bring_up(j.comms, j.f); !why.empty())
            return why;
        trees_of_job trees(j.p, j.comms);
        WAN_CHECK(trees.ready && trees.settle() > 0 && trees.settle() == 0);
        const wan_comm &c = *j.comms[0];
        const auto knows_levels = [&] { return c.links.known.back().level_ns != decltype(c.links.known.back().level_ns){}; };
        WAN_CHECK(!knows_levels());
        wan::rules learned;
        wan::input_error error;
        WAN_CHECK(wan::rules::parse("allreduce: rabenseifner\n", "f", learned, error, true));
        wan::chosen().keep(c.topo, c.links.sites_key(), learned.of(c.topo));
        for (const int64_t farther : {1, 10}) {
            wan::fact_vector now = c.links.learned;
            j.f.otherwise = [&](auto &found) {
                levels(found, 300'000'000);
                if (found[wan::fact::farthest_ns] > 0)
                    found[wan::fact::farthest_ns] *= farther, found[wan::fact::first_pair_ns] *= farther;
            };
            j.f.otherwise(now);
            int said = WAN_DONE;
            for (const auto &x : j.comms)
                elsewhere ? x->links.adopt(now) : x->links.look();
            while (!elsewhere && said == WAN_DONE)
                if (std::string why = measure(j.comms, j.f, &said); !why.empty())
                    return why;
            const std::string name = std::string(elsewhere ? "elsewhere, " : "here, ") + std::to_string(farther) + ": ";
            WAN_CHECK_THAT(knows_levels() && (elsewhere || said == WAN_OK), name + j.description());
            WAN_CHECK_THAT(elsewhere || c.counters.links_changed == (farther == 10), name + std::to_string(c.counters.links_changed));
            WAN_CHECK_THAT((trees.settle() > 0) == (farther == 10), name + "trees");
            WAN_CHECK_THAT(elsewhere || wan::chosen().of(c.topo).empty() == (farther == 10), name + "what was learned");
        }
    }
    return "";
}

/** coll_wan_reduce_timeout is in microseconds. */
std::string check_timeout()
{
    watched_job j({"s1", "s2"}, 1);
    j.p.reduce_timeout = 5000;
    if (std::string why = bring_up(j.comms, j.f); !why.empty())
        return why;
    trees_of_job trees(j.p, j.comms);
    WAN_CHECK(trees.ready);
    const wan::operation_host &node = j.comms[1]->node->node();
    WAN_CHECK(node.timeout_ns({0, false}, 1) == 5'000'000);
    return "";
}

/** What one communicator sees is measured for all; a tree changes where that is so, and else stays. */
std::string check_all_trees()
{
    const std::vector<const char *> sites{"t1", "t1", "t2", "t2", "t3"};
    watched_job j(sites, 1);
    j.p.tree_threshold = 1024;
    if (std::string why = bring_up(j.comms, j.f); !why.empty())
        return why;
    trees_of_job trees(j.p, j.comms);
    std::vector<comm_ptr> more;
    for (int r = 0; r < 5; ++r)
        more.push_back(open(j.p, peers_of(sites), r));
    if (std::string why = bring_up(more, j.f); !why.empty())
        return why;
    bool moved = false;
    // Rank 4 is near t2 first, then near t1.
    trees.delay = [&](int from, int to) {
        const int a = std::min(from, to), b = std::max(from, to);
        return b < 4 ? (a / 2 == b / 2 ? 50'000 : 10'000'000) : (a < 2) == moved ? 5'000'000 : 30'000'000;
    };
    int known;
    std::vector<char> byte(5);
    for (int r = 0; r < 5; ++r) {
        const auto i = static_cast<size_t>(r);
        WAN_CHECK(wan_comm_use_trees(more[i].get(), trees.processes[i].trees, 2, 0, trees.peers.data(), trees.now, &known) == WAN_OK);
    }
    for (int r = 0; r < 5; ++r)
        for (auto *comms : {&j.comms, &more})
            (*comms)[static_cast<size_t>(r)]->node->node().broadcast_begin(0, std::as_writable_bytes(std::span(byte).subspan(static_cast<size_t>(r), 1)));
    const auto parents = [&](const std::vector<comm_ptr> &comms) {
        std::string s;
        for (size_t r = 1; r < comms.size(); ++r)
            s += std::to_string(comms[r]->node->node().tree_at({0, false})->parent()) + " ";
        return s;
    };
    const auto both = [&] { return parents(j.comms) + "| " + parents(more); };
    const auto above_last = [&](const std::vector<comm_ptr> &comms) { return comms[4]->node->node().tree_at({0, false})->parent(); };
    WAN_CHECK(trees.ready && known == 0 && trees.settle() > 0 && trees.settle() == 0);
    const std::string before = both();
    for (const auto *comms : {&j.comms, &more})
        WAN_CHECK_THAT(above_last(*comms) == 2 || above_last(*comms) == 3, before);
    for (const auto &c : j.comms)
        c->trees->measure_again();
    WAN_CHECK(trees.settle() > 0);
    WAN_CHECK_THAT(both() == before, before + " || " + both());
    if (std::string why = j.calls(2000); !why.empty())
        return why;
    WAN_CHECK(j.learned == 0 && trees.settle() == 0);
    moved = true;
    j.f.tick = 5000;
    for (int call = 0; call < 2000 && j.learned == 0; ++call)
        if (std::string why = j.calls(1); !why.empty())
            return why;
    WAN_CHECK(j.learned == 1 && trees.settle() > 0);
    for (const auto *comms : {&j.comms, &more})
        WAN_CHECK_THAT(above_last(*comms) == 0 || above_last(*comms) == 1, before + " || " + both());
    return "";
}

std::string check_vain_looks()
{
    watched_job j({"m1", "m1", "m2", "m2", "m3"}, 1);
    if (std::string why = bring_up(j.comms, j.f); !why.empty())
        return why;
    if (std::string why = look_in_vain(j); !why.empty())
        return why;
    // Also where each look sees a change that a whole measurement does not.
    watched_job torn({"o1", "o1", "o2", "o2", "o3"}, 1);
    if (std::string why = bring_up(torn.comms, torn.f); !why.empty())
        return why;
    torn.f.otherwise = [](auto &found) {
        if (found[wan::fact::inside_ns] > 0 && found[wan::fact::step_ns] == 0)
            found[wan::fact::farthest_ns] *= 3, found[wan::fact::first_pair_ns] *= 3;
    };
    if (std::string why = look_in_vain(torn); !why.empty())
        return "looks that are not confirmed: " + why;
    watched_job never({"n1", "n2"}, 0);
    if (std::string why = bring_up(never.comms, never.f); !why.empty())
        return why;
    if (std::string why = never.calls(500); !why.empty())
        return why;
    WAN_CHECK(never.asked == 0);
    return "";
}

/** A way that carries a third, at the same distance: calls take longer, and a look finds why, if a second one does, too. */
std::string check_narrower()
{
    for (const int looks_that_see : {1, 2, 1000}) {
        const std::string a = std::string(1, static_cast<char>('d' + looks_that_see % 4)) + '1', b = a.substr(0, 1) + '2';     // others than before
        watched_job j({a.c_str(), a.c_str(), b.c_str(), b.c_str()}, 1);
        if (std::string why = bring_up(j.comms, j.f); !why.empty())
            return why;
        const std::string before = j.description();
        WAN_CHECK_THAT(before.find("link " + a + " " + b) != std::string::npos, before);
        int seen = 0;
        j.f.otherwise = [&](auto &found) {
            const size_t flow = wan::fact::first_flow_ps, link = wan::fact::first_link_ps;
            if (found[flow] > 0 && found[wan::fact::inside_ns] == 0 && seen++ < looks_that_see) {
                found[flow] *= 3;
                found[link] *= 3;
            }
        };
        for (int call = 0; call < 3000; ++call)
            if (std::string why = j.calls(1, call >= 1000 && j.learned == 0 ? 9000 : 1000); !why.empty())
                return why;
        const std::string what = std::to_string(looks_that_see) + " looks that see it: " + std::to_string(j.looks) + " looks, learned " + std::to_string(j.learned) + " times: ";
        if (looks_that_see == 1)
            WAN_CHECK_THAT(j.looks > 0 && j.learned == 0 && j.description() == before, what + j.description());
        else        // (two have seen it, and what is measured after that has not)
            WAN_CHECK_THAT(j.learned == 1 && (j.description() == before) == (looks_that_see == 2), what + j.description());
        WAN_CHECK_THAT(farthest(j) == before.substr(before.find('\n'), farthest(j).size()), what + j.description());
    }
    return "";
}

/** Agrees on all ranks, of which `poor` has counted no call; whether what is to be measured can be afforded, then. */
std::string agree(watched_job &j, int poor, bool *affords)
{
    ballot all = vote(j.comms[0].get());
    for (size_t r = 0; r < j.comms.size(); ++r) {
        ballot mine = vote(j.comms[r].get());
        if (static_cast<int>(r) == poor)
            mine[WAN_VOTES - 1] = 0;
        all = least(all, mine);
    }
    for (const auto &c : j.comms) {
        wan_refusal_t why;
        WAN_CHECK(wan_comm_agree(c.get(), all.data(), &why) == WAN_OK);
    }
    *affords = wan_comm_affords(j.comms[0].get());
    for (const auto &c : j.comms)
        WAN_CHECK(wan_comm_affords(c.get()) == *affords);
    return "";
}

/** A job's calls until it has measured, as many that do not block besides. */
std::string until_measured(watched_job &j, int *calls)
{
    bool affords = false;
    if (std::string why = agree(j, 0, &affords); !why.empty())
        return why;
    WAN_CHECK(wan_comm_measures(j.comms[0].get()) && !affords);
    for (const auto &c : j.comms)
        WAN_CHECK(wan_comm_assume(c.get()) == WAN_OK);
    WAN_CHECK_THAT(j.description().find("assumed: ") != std::string::npos, j.description());
    for (*calls = 0; j.learned == 0; ++*calls) {
        std::string ignored;
        WAN_CHECK(*calls < 10'000);
        if (std::string why = j.plan(0, false, &ignored); !why.empty())
            return why;
        if (std::string why = j.calls(1); !why.empty())
            return why;
    }
    WAN_CHECK(j.looks == 1);
    WAN_CHECK_THAT(j.description().find("assumed") == std::string::npos, j.description());
    return "";
}

/** Links are measured when calls have taken long enough for that to be its share. */
std::string check_share()
{
    struct with_share : watched_job {
        explicit with_share(int64_t share, const char *a = "u1", const char *b = "u2", std::string learned_file = {})
            : watched_job({a, a, b, b, "u3"}, 1)
        {
            const auto peers = peers_of({a, a, b, b, "u3"});
            if (!learned_file.empty())
                p.tune_file = learned_file.data();
            p.tune_excess = 1000;       // whatever is predicted for it
            p.measure_share = share;
            f.tick = 300'000;
            for (size_t r = 0; r < comms.size(); ++r)
                comms[r] = open(p, peers, static_cast<int>(r));
        }
    };
    // Four times what it costs, and once, in calls of one kind, of which a sixteenth counts, as they take hardly longer than the way is assumed
    // to; asked a few times: after each question up to three times as many calls.
    int fifth = 0, half = 0;
    with_share at_fifth(20), at_half(50, "v1", "v2");
    if (std::string why = until_measured(at_fifth, &fifth); !why.empty())
        return why;
    if (std::string why = until_measured(at_half, &half); !why.empty())
        return why;
    WAN_CHECK_THAT(10 * fifth > 35 * half && 10 * fifth < 45 * half && half > 20, std::to_string(fifth) + " calls, " + std::to_string(half) + " calls");
    WAN_CHECK_THAT(at_fifth.asked <= 12 && at_half.asked <= 12, std::to_string(at_fifth.asked) + " and " + std::to_string(at_half.asked) + " questions");
    std::string before, after;
    if (std::string why = at_fifth.plan(0, true, &before, 50'000); !why.empty())
        return why;
    if (std::string why = at_fifth.plan(1, true, &after, 50'000); !why.empty())
        return why;
    WAN_CHECK_THAT(before != after, before);

    // How long calls on one communicator took counts for the next one, if all ranks know of it.
    bool affords = false;
    with_share first(20, "x1", "x2"), next(20, "x1", "x2"), another(20, "x1", "x2");
    if (std::string why = agree(first, -1, &affords); !why.empty())
        return why;
    WAN_CHECK(!affords);
    for (const auto &c : first.comms)
        WAN_CHECK(wan_comm_assume(c.get()) == WAN_OK);
    for (int call = 0; call < fifth; ++call)
        if (std::string why = first.plan(0, true, &before); !why.empty())
            return why;
    if (std::string why = agree(next, -1, &affords); !why.empty())
        return why;
    WAN_CHECK(affords);
    if (std::string why = agree(another, 3, &affords); !why.empty())
        return why;
    WAN_CHECK(!affords);

    // Measured meanwhile on another communicator between these sites, as all ranks know: taken from there.
    with_share one(80, "y1", "y2"), other(80, "y1", "y2"), doubtful(80, "y1", "y2");
    for (watched_job *j : {&one, &other, &doubtful}) {
        if (std::string why = agree(*j, -1, &affords); !why.empty())
            return why;
        WAN_CHECK(!affords);
        for (const auto &c : j->comms)
            WAN_CHECK(wan_comm_assume(c.get()) == WAN_OK);
    }
    for (int call = 0; call < 2 * fifth && one.learned == 0; ++call)
        if (std::string why = one.calls(1); !why.empty())
            return why;
    WAN_CHECK(one.learned == 1 && one.adopted == 0);
    if (std::string why = other.calls(3); !why.empty())
        return why;
    WAN_CHECK(other.adopted == 1 && other.looks == 0 && links_of(other) == links_of(one));
    if (std::string why = one.plan(1, true, &before, 50'000); !why.empty())
        return why;
    if (std::string why = other.plan(1, true, &after, 50'000); !why.empty())
        return why;
    WAN_CHECK_THAT(before == after, before + " | " + after);
    // So is how wide they are, which is measured later.
    WAN_CHECK(links_of(one).find("; link y1 y2 ") == std::string::npos);
    int short_ones = 0, others = 0;     // of short ones less counts
    for (; short_ones < 12'000; ++short_ones)
        if (std::string why = one.calls(1); !why.empty())
            return why;
    WAN_CHECK(one.learned == 1);
    one.count = 65;
    for (; others < 12'000 && one.learned == 1; ++others)
        if (std::string why = one.calls(1); !why.empty())
            return why;
    WAN_CHECK_THAT(one.learned == 2 && links_of(one).find("; link y1 y2 ") != std::string::npos, one.description());
    if (std::string why = other.calls(3); !why.empty())
        return why;
    WAN_CHECK_THAT(other.adopted == 2 && other.looks == 0 && links_of(other) == links_of(one), other.description());
    doubtful.one_differs = true;
    if (std::string why = doubtful.calls(3); !why.empty())
        return why;
    WAN_CHECK(doubtful.asked > 0 && doubtful.adopted == 0 && wan_comm_measures(doubtful.comms[0].get()));

    // What an earlier job learned holds before and after.
    const file_of_links file;
    std::ofstream(file.path) << "allreduce: rabenseifner\n";
    const auto by_rabenseifner = [](const std::string &text) { return text.find("rabenseifner") != text.npos; };
    with_share learned(20, "z1", "z2", file.path), not_learned(20, "q1", "q2");
    for (with_share *j : {&learned, &not_learned}) {
        if (std::string why = until_measured(*j, &half); !why.empty())
            return why;
        for (unsigned epoch : {0u, 1u}) {
            if (std::string why = j->plan(epoch, true, &before); !why.empty())
                return why;
            WAN_CHECK_THAT(by_rabenseifner(before) == (j == &learned), before);
        }
    }

    // Never: what is assumed stays, and nobody asks.
    with_share never(0, "w1", "w2");
    if (std::string why = agree(never, -1, &affords); !why.empty())
        return why;
    WAN_CHECK(!wan_comm_measures(never.comms[0].get()));
    if (std::string why = never.calls(500); !why.empty())
        return why;
    WAN_CHECK(never.asked == 0);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_share>), cmocka_unit_test(test<check_long_gather>), cmocka_unit_test(test<check_unfit>), cmocka_unit_test(test<check_named_in_vain>), cmocka_unit_test(test<check_change>), cmocka_unit_test(test<check_levels>), cmocka_unit_test(test<check_timeout>), cmocka_unit_test(test<check_all_trees>), cmocka_unit_test(test<check_vain_looks>), cmocka_unit_test(test<check_narrower>)};
    return cmocka_run_group_tests_name("boundary_links", tests, nullptr, nullptr);
}
