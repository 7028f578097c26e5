/*
 * Choice by trial: what is worth one on a network, and what was learned on another one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "matrix.hpp"
#include "planned.hpp"
#include "trial_ranks.hpp"
#include "unit.hpp"

#include <bit>
#include <cstdlib>
#include <tuple>

namespace {

using namespace wan;
using namespace wan_test;

/** What is tried on a network: the model's choice first, then what is predicted to be the fastest, nothing beyond the excess. */
std::string check_candidates()
{
    const topology blocks = two_sites(16), mixed = lay_out({16, 16}, placement::roundrobin, 1, 1);
    const facts f = facts_of(blocks);
    // A link that a few hosts fill: of what is as fast, the model takes what fewest send.
    facts narrow = f;
    narrow.set_pair(narrow.link_ps, 0, 1, f.byte_ps / 2);
    unsigned several = 0, not_first = 0, recut = 0, parameters_first = 0;
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        for (uint64_t bytes = 8; bytes <= 8 << 20; bytes *= 8) {
            const request r{.collective = collective_at(c), .bytes = bytes};
            const auto usual = choose(blocks, narrow, {}, r);
            const auto found = candidates_for(blocks, narrow, {}, r, {});
            WAN_CHECK_THAT(!found.empty() && found[0].how == manner_of(*usual) && found[0].predicted_ns == usual->predicted_ns,
                           kind_of(r.collective).name + std::string(" of ") + std::to_string(bytes) + ": first is " + print(found[0].how) + ", the model takes " + print(*usual));
            not_first += !(manner_of(candidates(blocks, narrow, {}, r)[0]) == manner_of(*usual));
        }
    WAN_CHECK_THAT(not_first > 5, std::to_string(not_first));
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        for (uint64_t bytes : {8, 1024, 65536, 1 << 18, 1 << 20}) {
            request r{.collective = collective_at(c), .bytes = bytes};
            const tune_options o{.trials = 3, .excess_percent = 40};
            const auto found = candidates_for(blocks, f, {}, r, o);
            const auto all = candidates(blocks, f, {}, r);
            const std::string name = kind_of(r.collective).name + std::string(" ") + std::to_string(bytes);
            WAN_CHECK_THAT(!found.empty() && found.size() <= 3 && found[0].how == manner_of(all[0]), name);
            several += found.size() > 1;
            // By prediction, of each algorithm one before any has two: none that is predicted to be slower takes a faster one's place.
            WAN_CHECK_THAT(found.size() < 3 || found[1].predicted_ns <= found[2].predicted_ns || found[1].how.algo == found[2].how.algo, name + ": not by prediction");
            for (const plan &p : all)
                if (found.size() == 3 && p.predicted_ns < found[2].predicted_ns && 10 * all[0].predicted_ns > 13 * f.widest_ns() && !(manner_of(p) == found[0].how))
                    WAN_CHECK_THAT(p.algo == found[1].how.algo || p.algo == found[2].how.algo, name + ": not " + print(p) + ", but " + print(found[2].how));
            parameters_first += found.size() == 3 && found[1].how.algo == all[0].algo && found[2].how.algo != all[0].algo;
            for (const auto &x : found) {
                WAN_CHECK_THAT(x.predicted_ns <= all[0].predicted_ns * 14 / 10 + 100, name + ": " + print(x.how));
                WAN_CHECK_THAT(x.how.algo || bytes < 8192, name + ": Open MPI's own");
                if (x.how.algo) {
                    const auto p = choose(blocks, f, {}, r, x.how);
                    manner chosen = manner_of(*p);
                    chosen.cuts = x.how.cuts;
                    WAN_CHECK_THAT(p && chosen == x.how, name + ": " + print(x.how));
                    // Other segments than the model's: a quarter, or four times as long, of its own way.
                    if (x.how.cuts) {
                        const uint64_t longer = std::max(p->segment_bytes, all[0].segment_bytes), shorter = std::min(p->segment_bytes, all[0].segment_bytes);
                        WAN_CHECK_THAT(manner_of(*p) == found[0].how && std::abs(x.how.cuts) == 2 && longer >= 3 * shorter && longer <= 5 * shorter
                                           && (x.how.cuts > 0) == (shorter == p->segment_bytes) && x.predicted_ns == p->predicted_ns,
                                       name + ": " + print(x.how) + " is " + print(*p));
                        ++recut;
                    }
                    // Half as long or twice: as long as the algorithm serves.
                    for (uint64_t other : {bytes / 2 + 1, 2 * bytes - 1}) {
                        request q = r;
                        q.bytes = other;
                        const auto same = choose(blocks, f, {}, q, x.how);
                        if (!x.how.algo->serves(blocks, q))
                            continue;
                        WAN_CHECK_THAT(same && same->algo == x.how.algo, name + " of " + std::to_string(other));
                    }
                }
            }
            // What serves is tried, too, in place of the last one.
            for (const plan &p : {all.front(), all.back()}) {
                const auto beside = candidates_for(blocks, f, {}, r, o, manner_of(p));
                WAN_CHECK_THAT(beside.size() <= 3 && beside[0].how == found[0].how && std::any_of(beside.begin(), beside.end(), [&](const auto &x) { return x.how == manner_of(p); }),
                               name + ": not " + print(p));
            }
            wishes stable;
            stable.stable = true;
            if (kind_of(r.collective).operation)
                for (const auto &x : candidates_for(blocks, f, stable, r, {.trials = 7, .excess_percent = 1000})) {
                    const auto p = x.how.algo ? choose(blocks, f, stable, r, x.how) : std::nullopt;
                    WAN_CHECK_THAT(p && p->grouping == choose(blocks, f, stable, r)->grouping, name + ", stable: " + print(x.how));
                }
            WAN_CHECK(candidates_for(blocks, f, {}, r, {.trials = 0, .excess_percent = 1000}).size() == 1);
        }
    WAN_CHECK_THAT(several >= 20, "several candidates in " + std::to_string(several));
    WAN_CHECK_THAT(parameters_first >= 5, "parameters before algorithms in " + std::to_string(parameters_first));
    WAN_CHECK_THAT(recut >= 5, "other segments in " + std::to_string(recut));
    // What a class's first call lets Open MPI's own module serve, all of it may be served by.
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        for (uint64_t bytes = 1; bytes <= 1 << 16; bytes *= 2) {
            const request first{.collective = collective_at(c), .bytes = bytes}, last{.collective = collective_at(c), .bytes = 2 * bytes - 1};
            WAN_CHECK(class_of(blocks, first) == class_of(blocks, last));
            const bool most = own_module_ns(blocks, f, last).has_value();
            WAN_CHECK_THAT(own_module_ns(blocks, f, first).has_value() == most && (!most || 2 * bytes - 1 <= (c == WAN_BCAST ? 1024u : 8192u)),
                           kind_of(collective_at(c)).name + std::string(" of ") + std::to_string(bytes));
        }
    // Ranks in blocks: a binomial tree crosses once; hosts of the sites by turns: in each step.
    const request small{.collective = WAN_BCAST, .bytes = 8};
    const auto once = own_module_ns(blocks, f, small), often = own_module_ns(mixed, f, small);
    WAN_CHECK(once && *once < 2 * f.wan_ns && often && *often >= f.wan_ns);
    request scan = small;
    scan.collective = WAN_SCAN;
    WAN_CHECK(*own_module_ns(blocks, f, scan) == f.wan_ns + 30 * f.lan_ns && *own_module_ns(mixed, f, scan) == 31 * f.wan_ns);
    return "";
}

/** Within a manner that leaves parameters open, as the model chooses: of what is as fast, what waits least for late looks, or what fewest send. */
std::string check_within()
{
    const topology t = two_sites(16);
    facts narrow = facts_of(t);
    narrow.set_pair(narrow.link_ps, 0, 1, narrow.byte_ps / 2);
    unsigned not_fastest = 0;
    for (const facts &f : {facts_of(t), narrow})
        for (const bool polled : {false, true})
            for (int c = 0; c < WAN_COLLECTIVES; ++c)
                for (uint64_t bytes = 8; bytes <= 8 << 20; bytes *= 8) {
                    request r{.collective = collective_at(c), .bytes = bytes};
                    r.polled = polled;
                    const auto usual = choose(t, f, {}, r);
                    WAN_CHECK(usual);
                    wishes named;
                    named.algo = usual->algo;
                    const auto by_name = choose(t, f, named, r), within = choose(t, f, {}, r, {.algo = usual->algo});
                    const std::string name = kind_of(r.collective).name + std::string(polled ? ", polled, of " : " of ") + std::to_string(bytes);
                    WAN_CHECK_THAT(by_name && within && print(*by_name) == print(*within) && by_name->window == within->window, name + ": " + print(*within));
                    not_fastest += within->predicted_ns > candidates(t, f, named, r)[0].predicted_ns;
                }
    WAN_CHECK_THAT(not_fastest >= 20, std::to_string(not_fastest));
    return "";
}

/** What was learned on another network: what is far slower here by prediction, and nothing that could have been learned here. */
std::string check_misfits()
{
    // Eight sites of a rank each: Open MPI's own module takes three ways one after the other, ours one.
    const topology eight = topology::blocks(std::vector<int>(8, 1));
    const facts far = facts_of(eight);
    const request small{.collective = WAN_ALLREDUCE, .bytes = 8};
    const int64_t least_ns = candidates(eight, far, {}, small)[0].predicted_ns, own_ns = *own_module_ns(eight, far, small);
    WAN_CHECK(own_ns == 3 * far.wan_ns && least_ns < 12 * far.wan_ns / 10);
    const auto own = misfit_of(eight, far, {}, small, {}, {});
    WAN_CHECK(own && own->predicted_ns == own_ns && own->bytes >= 8 && own->bytes < 16 && own->least_ns >= least_ns && own->least_ns < 12 * far.wan_ns / 10);
    // As far as trials may go, and no farther.
    const auto within = static_cast<unsigned>((own_ns - least_ns + least_ns / 100 - 1) / (least_ns / 100));
    for (const unsigned excess : {0u, 50u, within - 3, within + 3, 1000u})
        WAN_CHECK_THAT(misfit_of(eight, far, {}, small, {.excess_percent = excess}, {}).has_value() == (excess < within), std::to_string(excess));
    // Where its steps lead elsewhere they take as long as ours: one pair is far apart.
    facts one_far = far;
    for (int a = 0; a < 8; ++a)
        for (int b = 0; b < a; ++b)
            one_far.set_pair(one_far.pair_ns, a, b, a == 1 && b == 0 ? far.wan_ns : far.wan_ns / 100);
    WAN_CHECK(!misfit_of(eight, one_far, {}, small, {}, {}));
    // No telling: too long for Open MPI's own module to be predicted, an algorithm that does not serve, adaptive trees.
    WAN_CHECK(!misfit_of(eight, far, {}, {.collective = WAN_ALLREDUCE, .bytes = 1 << 20}, {.excess_percent = 0}, {}));
    WAN_CHECK(!misfit_of(eight, far, {}, small, {.excess_percent = 0}, {.along_trees = true}));
    const topology two = two_sites(16), mixed = lay_out({5, 7, 4}, placement::roundrobin, 2, 1);
    unsigned none = 0;
    const request scan{.collective = WAN_SCAN, .bytes = 8};
    for (const algorithm *a : algorithms())
        if (a->collective == WAN_SCAN && !a->serves(mixed, scan)) {
            ++none;
            WAN_CHECK(!misfit_of(mixed, facts_of(mixed), {}, scan, {.excess_percent = 0}, {.algo = a}));
        }
    WAN_CHECK(none > 0);

    // What trials of some call of a class could choose counts for all of them; what is far slower for all of them, for none.
    unsigned could = 0, of_others = 0, dropped = 0;
    for (const topology *t : {&eight, &two, &mixed})
        for (const facts &f : {facts_of(*t), lab_facts(*t)})
            for (int c = 0; c < WAN_COLLECTIVES; ++c)
                for (uint64_t unit : {4, 96, 1000, 1 << 14, 1 << 18}) {
                    const tune_options o{.trials = 7, .excess_percent = 40};
                    const auto of = [&](uint64_t bytes) { return request{.collective = collective_at(c), .bytes = bytes}; };
                    const auto ranks = static_cast<uint64_t>(kind_of(collective_at(c)).blocks ? t->size() : 1);
                    const uint64_t least = std::bit_floor(unit * ranks), first = (least + ranks - 1) / ranks * ranks, last = (2 * least - 1) / ranks * ranks;
                    const std::string name = std::string(kind_of(collective_at(c)).name) + " " + std::to_string(unit) + " x " + std::to_string(ranks);
                    for (const uint64_t tried : {first, last})
                        for (const auto &x : candidates_for(*t, f, {}, of(tried), o))
                            for (const uint64_t bytes : {first, unit * ranks, last}) {
                                request r = of(bytes);
                                r.element_bytes = bytes % 8 ? 1 : 8;
                                r.polled = bytes == last;
                                WAN_CHECK_THAT(!misfit_of(*t, f, {}, r, o, x.how), name + ": " + print(x.how) + " of " + std::to_string(tried) + ", as told of " + std::to_string(bytes));
                                const auto as = x.how.algo ? choose(*t, f, {}, r, x.how) : std::nullopt;
                                of_others += as && as->predicted_ns > candidates(*t, f, {}, r)[0].predicted_ns * 14 / 10 + 100;
                                ++could;
                            }
                    const plan slowest = candidates(*t, f, {}, of(unit * ranks)).back();
                    // The same for all calls of the class.
                    std::set<std::tuple<uint64_t, int64_t, int64_t>> told;
                    for (const uint64_t bytes : {first, unit * ranks, last})
                        for (const bool polled : {false, true}) {
                            request r = of(bytes);
                            r.element_bytes = polled ? 8 : 1;
                            r.polled = polled;
                            const auto found = misfit_of(*t, f, {}, r, {.excess_percent = 0}, manner_of(slowest));
                            told.insert(found ? std::tuple(found->bytes, found->predicted_ns, found->least_ns) : std::tuple(uint64_t{0}, int64_t{0}, int64_t{0}));
                            dropped += found.has_value();
                        }
                    WAN_CHECK_THAT(told.size() == 1, name + ": " + print(manner_of(slowest)));
                }
    WAN_CHECK_THAT(could > 1000 && of_others > 0 && dropped > 100, std::to_string(could) + " could, " + std::to_string(of_others) + " of others, " + std::to_string(dropped) + " dropped");
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<check_candidates>), cmocka_unit_test(wan_test::test<check_within>),
        cmocka_unit_test(wan_test::test<check_misfits>),
    };
    return cmocka_run_group_tests_name("tuner_candidates", tests, nullptr, nullptr);
}
