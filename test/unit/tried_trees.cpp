/*
 * Adaptive trees among what is tried: where they are candidates, what they are predicted to take, and that they serve where they
 * were the fastest.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/service.hpp"
#include "matrix.hpp"
#include "planned.hpp"
#include "tune/candidates.hpp"
#include "tune/rules.hpp"
#include "unit.hpp"

#include <algorithm>
#include <optional>

namespace {

using namespace wan;
using namespace wan_test;

constexpr uint64_t threshold = 256 << 10;
constexpr tune_options all_ways{.trials = 7, .excess_percent = 1000};

std::optional<int64_t> predicted(const std::vector<tuner::candidate> &found)
{
    const auto at = std::find_if(found.begin(), found.end(), [](const auto &x) { return x.how.along_trees; });
    return at == found.end() ? std::nullopt : std::optional(at->predicted_ns);
}

int64_t by_name(const topology &t, const facts &f, const request &r, const char *name)
{
    wishes w;
    w.algo = algorithm_named(r.collective, name);
    return choose(t, f, w, r)->predicted_ns;
}

/** Long messages as `chain`; short ones as the fastest, and the bytes for all other hosts of a site; both ways for what goes up and down. */
std::string check_predictions()
{
    const topology t = two_sites(16);
    const facts f = facts_of(t);
    const auto of = [](wan_collective_t c, uint64_t bytes) { return request{.collective = c, .bytes = bytes, .commutative = true}; };
    for (const wan_collective_t c : {WAN_BCAST, WAN_REDUCE})
        WAN_CHECK(trees_ns(t, f, of(c, 4 << 20), threshold) == by_name(t, f, of(c, 4 << 20), "chain"));
    const auto short_ns = [&](uint64_t bytes) { return choose(t, f, {}, of(WAN_BCAST, bytes))->predicted_ns + 15 * static_cast<int64_t>(bytes) * f.byte_ps / 1000; };
    for (const uint64_t bytes : {1, 4096, 65536})
        WAN_CHECK_THAT(trees_ns(t, f, of(WAN_BCAST, bytes), threshold) == short_ns(bytes), std::to_string(bytes));
    WAN_CHECK(trees_ns(t, f, of(WAN_BCAST, 65536), 65536) == by_name(t, f, of(WAN_BCAST, 65536), "chain"));
    for (const uint64_t bytes : {uint64_t{1024}, uint64_t{4} << 20})
        WAN_CHECK_THAT(trees_ns(t, f, of(WAN_ALLREDUCE, bytes), threshold) == *trees_ns(t, f, of(WAN_REDUCE, bytes), threshold) + *trees_ns(t, f, of(WAN_BCAST, bytes), threshold),
                       std::to_string(bytes));
    WAN_CHECK(*trees_ns(t, f, of(WAN_BARRIER, 0), threshold) >= 2 * f.widest_ns());
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        WAN_CHECK_THAT(trees_ns(t, f, of(collective_at(c), 1024), threshold).has_value() == adaptive_serves(collective_at(c)), kind_of(collective_at(c)).name);
    request varying = of(WAN_GATHER, 1024);
    varying.counts_vary = true;
    WAN_CHECK(!trees_ns(t, f, varying, threshold));
    return "";
}

/** Only where they may serve, and not beyond the excess. */
std::string check_candidates()
{
    const topology t = two_sites(16);
    const facts f = facts_of(t);
    unsigned among = 0, beyond = 0;
    for (const wan_collective_t c : {WAN_BCAST, WAN_REDUCE, WAN_ALLREDUCE, WAN_BARRIER, WAN_GATHER})
        for (const uint64_t bytes : {8, 1 << 10, 64 << 10, 4 << 20}) {
            const request r{.collective = c, .bytes = c == WAN_BARRIER ? 0 : bytes, .commutative = true};
            const std::string name = kind_of(c).name + std::string(" of ") + std::to_string(r.bytes);
            WAN_CHECK_THAT(!predicted(candidates_for(t, f, {}, r, all_ways)), name);
            const auto found = candidates_for(t, f, {}, r, {.trials = 7, .excess_percent = 50}, std::nullopt, {}, true);
            const int64_t ns = *trees_ns(t, f, r, threshold), least_ns = candidates(t, f, {}, r)[0].predicted_ns;
            if (const auto told = predicted(found)) {
                ++among;
                WAN_CHECK_THAT(*told == ns && ns <= least_ns + least_ns / 100 * 50, name);
                for (const auto &x : found)     // whose first call makes connections
                    WAN_CHECK_THAT(!x.how.along_trees || x.opening_ns > 0, name);
            }
            beyond += ns > least_ns + least_ns / 100 * 50;
            // What serves is tried, too, whatever is predicted.
            WAN_CHECK_THAT(predicted(candidates_for(t, f, {}, r, {.trials = 3, .excess_percent = 0}, manner{.along_trees = true}, {}, true)) == ns, name);
        }
    WAN_CHECK_THAT(among >= 4 && beyond >= 4, std::to_string(among) + " among them, " + std::to_string(beyond) + " beyond");
    // Open MPI's own module and they are no two forms of one algorithm: each comes by its prediction.
    const request r{.collective = WAN_BARRIER, .commutative = true};
    const auto found = candidates_for(t, f, {}, r, all_ways, std::nullopt, {}, true);
    const auto own = std::find_if(found.begin(), found.end(), [](const auto &x) { return !x.how.ours(); });
    WAN_CHECK(predicted(found) && own != found.end());
    return "";
}

/** Where they are the fastest they serve, also calls that do not block, and are learned; Open MPI's own serves none that do not block. */
std::string check_choice()
{
    const topology t = two_sites(16);
    const call_class what{.collective = WAN_BCAST, .size = 11};
    for (const bool trees : {true, false}) {
        tuner tune;
        tune.limit(100, 3);
        manner first;
        first.algo = algorithm_named(WAN_BCAST, "tree");
        const auto make = [&](const auto &) {
            return std::vector<tuner::candidate>{{.how = first, .predicted_ns = 20'000'000}, {.how = {.along_trees = trees}, .predicted_ns = 25'000'000}};
        };
        for (int call = 0; call < 30; ++call) {
            const auto s = tune.begin(what, make);
            if (s.trial == 0)
                continue;
            WAN_CHECK(s.trial == WAN_TRIAL_SCORES || tune.usual_ns() == 20'000'000);     // by the model's choice, of which more is known
            if (tune.record(s.how && *s.how == first ? 20'000'000 : 15'000'000))
                tune.decide(tune.scores(), 1);
        }
        const auto s = tune.begin(what, make);
        WAN_CHECK(s.how && s.how->along_trees == trees && !s.how->algo);
        const auto later = tune.chosen(what, 1);
        WAN_CHECK(trees ? later && later->along_trees : !later);
        const auto learned = learned_rules(t, tune.classes());
        WAN_CHECK(learned.size() == 1 && print(learned[0].how) == (trees ? "adaptive" : "open_mpi"));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_predictions>),
        cmocka_unit_test(test<check_candidates>),
        cmocka_unit_test(test<check_choice>),
    };
    return cmocka_run_group_tests_name("tried_trees", tests, nullptr, nullptr);
}
