/*
 * Adaptive trees among what is tried, across the C boundary: what they serve, and what they never do.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boundary_trees.hpp"
#include "comm.hpp"
#include "unit.hpp"

#include <array>
#include <string>

namespace {

using namespace wan_test;

/** Calls of one class, those of even numbers as trees can serve them; all ranks, which must be served alike. */
struct job_of_calls {
    params p;
    fabric f{4};
    std::vector<comm_ptr> comms;
    unsigned epoch = 0;
    int along = 0, trials = 0;      // calls along trees; trials that were those
    bool last_along = false;

    /** What takes less is along trees where `quick`. */
    std::string call(bool dense, bool blocks, bool quick)
    {
        int ways = 0, flags = 0;
        for (size_t r = 0; r < comms.size(); ++r) {
            std::vector<uint32_t> in(64), out(64);
            wan_call_t c = call_of(WAN_REDUCE, 1, 64, 4, in.data(), out.data());
            c.dense = dense;
            c.blocks = blocks;
            c.epoch = epoch;
            wan_run_t *run = nullptr;
            const int code = wan_run_begin(comms[r].get(), &c, &f.port, &f.ends[r], &run);
            WAN_CHECK(code == WAN_OK || code == WAN_DECLINED);
            const int way = code == WAN_DECLINED ? 0 : wan_run_along_trees(run) ? 1 : 2;
            wan_run_release(run);
            WAN_CHECK(r == 0 || way == ways);
            ways = way;
        }
        last_along = ways == 1;
        along += last_along;
        WAN_CHECK_THAT(dense || !last_along, "trees serve what they cannot");
        if (!blocks)
            return "";
        std::array<int64_t, WAN_TUNE_SCORES> scores{};
        bool combines = false, changes = false;
        int64_t ahead_ns;
        for (const auto &c : comms) {
            flags = wan_comm_trial(c.get(), &ahead_ns);
            WAN_CHECK_THAT(dense || flags == 0 || flags == WAN_TRIAL_LEFT, "what trees cannot serve is tried");
            if (flags == 0 || flags == WAN_TRIAL_LEFT)
                continue;
            combines = wan_comm_tried(c.get(), last_along == quick ? 1'000'000 : 40'000'000, 0, scores.data()) == WAN_DONE;
        }
        trials += last_along && flags == WAN_TRIAL_TIMED;
        for (const auto &c : comms)
            if (combines)
                changes = wan_comm_tune(c.get(), scores.data()) == WAN_DONE;
        epoch += changes;
        return "";
    }
};

std::string check_never_what_they_cannot()
{
    for (const bool asked : {true, false})
        for (const bool quick : {true, false}) {
            job_of_calls j;
            j.p.check_interval = 0;
            j.p.tune_trials = 7;
            j.p.tune_excess = 1000;
            j.p.tune_share = 100;
            j.p.tune_trees = asked;
            j.p.explain = 1;
            j.comms = two_by_two(j.p, quick ? "q1" : "s1", asked ? "q2" : "s2");
            WAN_CHECK(wan_comm_wants_trees(j.comms[0].get()) == asked);
            if (std::string why = bring_up(j.comms, j.f); !why.empty())
                return why;
            j.epoch = static_cast<unsigned>(j.comms[0]->links.known.size() - 1);
            trees_of_job trees(j.p, j.comms);       // as a rule for another collective may begin them
            WAN_CHECK(trees.ready);
            for (int k = 0; k < 80; ++k)
                if (std::string why = j.call(k % 2 == 0, true, quick); !why.empty())
                    return why + ", call " + std::to_string(k);
            const std::string text = explained(j.comms[0]);
            WAN_CHECK_THAT((j.trials > 0) == asked && (asked || j.along == 0), std::to_string(j.trials) + " trials along trees: " + text);
            for (const bool blocks : {true, false})
                for (const bool dense : {true, false}) {
                    if (std::string why = j.call(dense, blocks, quick); !why.empty())
                        return why;
                    WAN_CHECK_THAT(j.last_along == (dense && asked && quick), std::to_string(dense) + std::to_string(asked) + std::to_string(quick) + std::to_string(blocks) + text);
                }
            for (const bool dense : {false, true}) {
                WAN_CHECK(j.call(dense, true, quick).empty());
                const std::string why = explained(j.comms[0]);
                WAN_CHECK_THAT(why.find(dense ? "\n  chosen: the fastest of " : "that they cannot serve is not tried\n") != std::string::npos, why);
            }
        }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_never_what_they_cannot>),
    };
    return cmocka_run_group_tests_name("boundary_tried_trees", tests, nullptr, nullptr);
}
