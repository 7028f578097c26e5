/*
 * What an earlier job or communicator learned, across the C boundary: a link that changes is noticed in few calls, whether they are
 * ours or left to Open MPI's own module, and what is learned then takes its place.  What was learned on another network, where
 * something else is far faster here by prediction, is not used once links are measured.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm.hpp"
#include "tune/choices.hpp"
#include "tune/manner.hpp"
#include "watched_job.hpp"

#include <fstream>
#include <set>

namespace {

using namespace wan_test;

constexpr int64_t ms = 1'000'000;

/** Ranks that have read the same file; calls take as long as the test says on each. */
struct learned_job {
    params p;
    std::vector<comm_ptr> comms;
    fabric f;
    unsigned epoch = 0;
    wan_collective_t collective = WAN_ALLREDUCE;
    int looks = 0, learned = 0, measured = 0, asked = 0, left = 0, trials = 0;
    std::string how;            // the last call was served

    learned_job(const std::vector<const char *> &sites, const std::string &text, const char *knob = "coll_wan_tune_file", int64_t interval = 50, int64_t share = 100, int64_t excess = 1000)
        : f(static_cast<int>(sites.size()))
    {
        file_of_links file;
        std::ofstream(file.path) << text;
        p.check_interval = interval;
        p.tune_trials = 3;
        p.tune_excess = excess;
        p.explain = 1;
        p.tune_share = 100;
        p.measure_share = share;
        p.tree_peers = 10;
        (std::string(knob) == "coll_wan_rules" ? p.rules : p.tune_file) = file.path.data();
        wan_message_t faults;
        (void)wan_params_check(&p, &faults);
        for (int r = 0; r < static_cast<int>(sites.size()); ++r)
            comms.push_back(open(p, peers_of(sites), r));
        p.rules = p.tune_file = nullptr;
    }

    std::string begin()
    {
        if (std::string why = agree(comms); !why.empty())
            return why;
        if (wan_comm_affords(comms[0].get()))
            return links();
        for (const auto &c : comms)
            wan_comm_assume(c.get());
        return "";
    }

    /** Measured before a call, as far as calls have taken long enough. */
    std::string links()
    {
        const size_t before = std::max<size_t>(1, comms[0]->links.known.size());
        while (wan_comm_measures(comms[0].get()) && wan_comm_affords(comms[0].get())) {
            int said = WAN_DONE;
            while (said == WAN_DONE)
                if (std::string why = measure(comms, f, &said); !why.empty())
                    return why;
            ++measured;
        }
        epoch += static_cast<unsigned>(std::max<size_t>(1, comms[0]->links.known.size()) - before);
        return "";
    }

    /** Whether all have seen calls take that long. */
    std::string afford()
    {
        std::array<int64_t, WAN_CHECK_VOTES> all{}, mine{};
        size_t due = 0;
        for (size_t r = 0; r < comms.size() && wan_comm_measures(comms[0].get()); ++r) {
            due += wan_comm_defers(comms[r].get(), 32, mine.data()) == WAN_DONE;
            for (size_t i = 0; i < all.size(); ++i)
                all[i] = r == 0 ? mine[i] : std::min(all[i], mine[i]);
        }
        WAN_CHECK(due == 0 || due == comms.size());
        for (size_t r = 0; r < comms.size() && due; ++r)
            WAN_CHECK(wan_comm_check_answer(comms[r].get(), all.data()) >= WAN_OK);
        return "";
    }

    using times = std::function<int64_t(int rank)>;

    /** A blocking call of `count` elements, and what the glue does before, beside and after it. */
    std::string call(size_t count, const times &time)
    {
        if (std::string why = links(); !why.empty())
            return why;
        if (std::string why = afford(); !why.empty())
            return why;
        std::vector<std::vector<uint32_t>> in(comms.size(), std::vector<uint32_t>(count, 1)), out(in);
        f.extent = sizeof(uint32_t);
        size_t declined = 0;
        std::set<std::string> plans;
        std::set<int> flags;
        int64_t ahead_ns = 0;
        for (size_t r = 0; r < comms.size(); ++r) {
            wan_call_t call = call_of(collective, 0, count, 4, in[r].data(), out[r].data());
            call.epoch = epoch;
            call.blocks = true;
            const int begun = wan_run_begin(comms[r].get(), &call, &f.port, &f.ends[r], &f.ends[r].run);
            WAN_CHECK(begun == WAN_OK || begun == WAN_DECLINED);
            declined += begun == WAN_DECLINED;
            plans.insert(begun == WAN_OK ? wan::print(wan::manner_of(*f.ends[r].run->plan)) : "open_mpi");
            flags.insert(wan_comm_trial(comms[r].get(), &ahead_ns));
        }
        WAN_CHECK(plans.size() == 1 && flags.size() == 1);
        how = *plans.begin();
        const bool by_own = *flags.begin() == WAN_TRIAL_LEFT, of_trial = *flags.begin() != 0 && !by_own;
        WAN_CHECK(by_own == (declined > 0 && !of_trial));
        left += by_own;
        trials += of_trial;
        std::array<int64_t, WAN_CHECK_VOTES> votes{}, mine{};
        size_t due = 0;
        for (size_t r = 0; r < comms.size() && !of_trial; ++r) {
            due += wan_comm_check(comms[r].get(), collective, f.clock, mine.data()) == WAN_DONE;
            for (size_t i = 0; i < votes.size(); ++i)
                votes[i] = r == 0 ? mine[i] : std::min(votes[i], mine[i]);
        }
        WAN_CHECK(due == 0 || due == comms.size());
        asked += due > 0;
        int64_t longest = 0;
        for (size_t r = 0; r < comms.size(); ++r)
            longest = std::max(longest, time(static_cast<int>(r)));
        if (!declined) {
            WAN_CHECK(f.run_all() == WAN_DONE);
            for (auto &e : f.ends) {
                wan_run_release(e.run);
                e.run = nullptr;
                e.scratch.clear();
            }
        }
        f.clock += declined ? longest : 0;
        for (size_t r = 0; r < comms.size() && by_own; ++r)
            WAN_CHECK(wan_comm_left(comms[r].get(), time(static_cast<int>(r))) == WAN_OK);
        if (of_trial)
            return tried(time);
        for (size_t r = 0; r < comms.size() && due; ++r)
            due += wan_comm_check_answer(comms[r].get(), votes.data()) == WAN_DONE;
        WAN_CHECK(due <= comms.size() || due == 2 * comms.size());
        return due > comms.size() ? look() : "";
    }

    std::string tried(const times &time)
    {
        std::array<int64_t, WAN_TUNE_SCORES> all{}, mine{};
        size_t due = 0, changed = 0;
        for (size_t r = 0; r < comms.size(); ++r) {
            due += wan_comm_tried(comms[r].get(), time(static_cast<int>(r)), 0, mine.data()) == WAN_DONE;
            for (size_t i = 0; i < all.size(); ++i)
                all[i] = std::max(all[i], mine[i]);
        }
        WAN_CHECK(due == 0 || due == comms.size());
        for (size_t r = 0; r < comms.size() && due; ++r)
            changed += wan_comm_tune(comms[r].get(), all.data()) == WAN_DONE;
        WAN_CHECK(changed == 0 || changed == comms.size());
        epoch += changed > 0;
        return "";
    }

    std::string look()
    {
        ++looks;
        int said = WAN_DONE;
        while (said == WAN_DONE)
            if (std::string why = measure(comms, f, &said); !why.empty())
                return why;
        learned += said == WAN_OK;
        epoch += said == WAN_OK;
        return "";
    }

    std::string calls(int n, const times &time, size_t count = 8)
    {
        for (int i = 0; i < n; ++i)
            if (std::string why = call(count, time); !why.empty())
                return why;
        return "";
    }
};

/** A way that becomes ten times as long: ten calls later what was chosen over the old one serves no more. */
std::string check_change()
{
    int number = 0;
    for (const char *knob : {"coll_wan_tune_file", "coll_wan_rules"})
        for (const bool all_see : {true, false})
            for (int phase = 0; phase < 8; ++phase) {
                const std::string a = "a" + std::to_string(number), b = "b" + std::to_string(number++);
                learned_job j({a.c_str(), a.c_str(), b.c_str(), b.c_str()}, "allreduce: open_mpi\n", knob);
                if (std::string why = j.begin(); !why.empty())
                    return why;
                // (After questions that are far apart, since it is not known yet how long calls take.)
                if (std::string why = j.calls(100 + phase, [](int) { return 12 * ms; }); !why.empty())
                    return why;
                const std::string name = std::string(knob) + ", " + std::to_string(phase) + (all_see ? "" : ", one sees it");
                WAN_CHECK_THAT(j.left == 100 + phase && j.how == "open_mpi" && j.asked > 10 && j.asked < 40 && j.looks == 0 && j.trials == 0,
                               name + ": asked " + std::to_string(j.asked) + ", looked " + std::to_string(j.looks));
                j.f.otherwise = [](auto &found) {
                    found[wan::fact::farthest_ns] *= 10;
                    found[wan::fact::first_pair_ns] *= 10;
                };
                int call = 0;
                for (; call < 30 && j.learned == 0; ++call)
                    if (std::string why = j.call(8, [&](int rank) { return (all_see || rank == 3 ? 120 : 12) * ms; }); !why.empty())
                        return why;
                WAN_CHECK_THAT(j.learned == 1 && call < 10, name + ": " + std::to_string(call) + " calls");
                if (std::string why = j.call(8, [](int) { return 120 * ms; }); !why.empty())
                    return why;
                // Rules are as given, whatever links are like.
                WAN_CHECK_THAT((j.how == "open_mpi") == (std::string(knob) == "coll_wan_rules"), name + ": " + j.how);
            }
    return "";
}

/** What says nothing of links: calls in which not all wait for all, and where nothing asks. */
std::string check_others()
{
    learned_job rooted({"r1", "r1", "r2", "r2"}, "bcast: open_mpi\nscan: open_mpi\n"), never({"n1", "n2"}, "allreduce: open_mpi\n", "coll_wan_tune_file", 0);
    for (learned_job *j : {&rooted, &never})
        if (std::string why = j->begin(); !why.empty())
            return why;
    for (const wan_collective_t c : {WAN_BCAST, WAN_SCAN}) {
        rooted.collective = c;
        for (const int64_t took : {12 * ms, 120 * ms}) {
            if (std::string why = rooted.calls(100, [took](int) { return took; }); !why.empty())
                return why;
            for (const auto &job : rooted.comms)
                WAN_CHECK(job->links.seen.look(ms, true).slower == 1000);
        }
    }
    WAN_CHECK(rooted.left == 400 && rooted.asked == 0);
    for (int call = 0; call < 200; ++call)
        if (std::string why = never.call(8, [&](int) { return (call < 100 ? 12 : 120) * ms; }); !why.empty())
            return why;
    WAN_CHECK(never.left == 200 && never.asked == 0 && never.looks == 0);
    return "";
}

/** Calls that take longer over the same links: after so many calls as for others, what was learned is tried beside the rest. */
std::string check_doubt()
{
    for (const bool own : {true, false})
        for (const bool late : {true, false}) {
            const std::string a = std::string(own ? "o" : "w") + (late ? "1" : "2"), b = a + "b";
            learned_job j({a.c_str(), a.c_str(), b.c_str(), b.c_str()}, own ? "allreduce: open_mpi\n" : "allreduce: rabenseifner\n");
            if (std::string why = j.begin(); !why.empty())
                return why;
            const std::string known = own ? "open_mpi" : "rabenseifner";
            const size_t count = 64;
            const auto usual = [](int) { return 12 * ms; };
            if (std::string why = j.calls(late ? 210 : 40, usual, count); !why.empty())
                return why;
            WAN_CHECK(j.how.starts_with(known) && j.trials == 0);
            for (const auto &c : j.comms)
                c->links.look();
            if (std::string why = j.look(); !why.empty())
                return why;
            WAN_CHECK(j.learned == 0);
            // What is known takes ten times as long as all else.
            const auto slow = [&](int) { return (j.how.starts_with(known) ? 120 : 12) * ms; };
            for (int call = 0; call < 60; ++call) {
                const int before = j.trials;
                if (std::string why = j.call(count, slow); !why.empty())
                    return why;
                WAN_CHECK_THAT(j.trials > before || j.how.starts_with(known) || j.epoch > 1, j.how + " serves before trials have ended");
            }
            WAN_CHECK_THAT((j.trials > 3) == late && j.how.starts_with(known) != late, known + ": " + std::to_string(j.trials) + " trials, " + j.how + " serves");
            if (!late)
                continue;
            // It is kept, and calls that do not block get it.
            const auto rules = wan::chosen().of(j.comms[0]->topo);
            WAN_CHECK(rules.size() == 1 && wan::print(rules[0].how).substr(0, 4) == j.how.substr(0, 4));
            const auto &class_of_all = j.comms[0]->tuning.classes();
            WAN_CHECK(class_of_all.size() == 1 && class_of_all[0].starts == 1);
            WAN_CHECK(std::any_of(class_of_all[0].candidates.begin(), class_of_all[0].candidates.end(), [&](const auto &x) { return print(x.how) == known && x.measured_ns > 0; }));
        }
    return "";
}

/** Calls that are left count towards what measuring takes, as served ones do: by and by links are measured, and watched from then on. */
std::string check_price()
{
    learned_job j({"p1", "p1", "p2", "p2"}, "allreduce: open_mpi\n", "coll_wan_tune_file", 50, 20);
    j.f.tick = ms / 2;
    if (std::string why = j.begin(); !why.empty())
        return why;
    WAN_CHECK(j.measured == 0 && j.comms[0]->links.unsure());
    const auto usual = [](int) { return 24 * ms; };
    int at = 0;
    for (; at < 2000 && j.measured == 0; ++at)
        if (std::string why = j.call(8, usual); !why.empty())
            return why;
    // Four times what it takes on a common network is asked for, beyond the way; ranks ask when that must have passed.
    const auto cost_ns = wan::probe::cost_ns(j.comms[0]->topo, wan::facts_from(j.comms[0]->topo, {}), false);
    const int64_t each_ns = 24 * ms - 10 * ms * 9 / 8;
    WAN_CHECK_THAT(j.measured == 1 && at > 4 * cost_ns / each_ns && at < 13 * cost_ns / each_ns, std::to_string(at) + " calls");
    WAN_CHECK(j.left == at && j.how == "open_mpi" && !j.comms[0]->links.unsure());
    // (They gain nothing by widths.)
    if (std::string why = j.calls(4000, usual); !why.empty())
        return why;
    WAN_CHECK_THAT(j.measured == 1 && j.looks == 0 && j.asked > 10, std::to_string(j.measured) + " times measured, asked " + std::to_string(j.asked));
    j.f.otherwise = [](auto &found) {
        found[wan::fact::farthest_ns] *= 10;
        found[wan::fact::first_pair_ns] *= 10;
    };
    const auto slow = [](int) { return 240 * ms; };
    for (int call = 0; call < 200 && j.learned == 0; ++call)     // a step takes long here: ranks ask each other seldom
        if (std::string why = j.call(8, slow); !why.empty())
            return why;
    if (std::string why = j.call(8, slow); !why.empty())
        return why;
    WAN_CHECK_THAT(j.learned == 1 && j.how != "open_mpi", "looked " + std::to_string(j.looks) + ", " + j.how);
    return "";
}

/** Eight sites of a rank each, whose names begin alike. */
std::vector<std::string> eight_sites(const std::string &name)
{
    std::vector<std::string> all;
    for (int i = 0; i < 8; ++i)
        all.push_back(name + std::to_string(i));
    return all;
}

std::vector<const char *> names_of(const std::vector<std::string> &all)
{
    std::vector<const char *> names;
    for (const std::string &name : all)
        names.push_back(name.c_str());
    return names;
}

/** All sites are so far from each other: Open MPI's own Allreduce crosses three times, ours once; but where only the first two are far apart. */
void all_far(wan::fact_vector &found, int64_t ns, int64_t others_ns)
{
    found = {};
    found[wan::fact::message_ns] = 5'000;
    found[wan::fact::byte_ps] = 8'000;
    found[wan::fact::step_ns] = 50'000;
    found[wan::fact::farthest_ns] = ns;
    for (int a = 0; a < 8; ++a)
        for (int b = a + 1; b < 8; ++b)
            found[*wan::fact_of_pair(a, b, 8)] = a == 0 && b == 1 ? ns : others_ns;
}

const auto quick = [](int) { return 12 * ms; };

/** What was learned elsewhere serves as long as links are assumed, and not once they are measured, where what it takes is beyond the excess. */
std::string check_elsewhere()
{
    struct told {
        const char *name, *text, *knob;
        int64_t excess;
        bool far, serves;
    };
    for (const told &x : {told{"ea", "open_mpi", "coll_wan_tune_file", 50, true, false}, {"eb", "open_mpi", "coll_wan_tune_file", 250, true, true},
                          {"ec", "open_mpi", "coll_wan_tune_file", 50, false, true}, {"ed", "open_mpi", "coll_wan_rules", 50, true, true},
                          {"ee", "counterpart", "coll_wan_tune_file", 50, true, false}, {"ef", "counterpart", "coll_wan_rules", 50, true, true},
                          {"eg", "counterpart", "coll_wan_tune_file", 250, true, true}, {"eh", "rabenseifner", "coll_wan_tune_file", 50, true, true}}) {
        const auto sites = eight_sites(x.name);
        learned_job j(names_of(sites), std::string("allreduce: ") + x.text + "\n", x.knob, 50, 20, x.excess);
        j.f.tick = 2 * ms;
        j.f.otherwise = [&](auto &found) { all_far(found, 10 * ms, x.far ? 10 * ms : ms / 10); };
        if (std::string why = j.begin(); !why.empty())
            return why;
        const wan_comm &c = *j.comms[0];
        const auto by_it = [&] { return j.how.starts_with(x.text); };
        WAN_CHECK(c.links.known.size() == 1 && c.links.known[0].assumed);
        for (int call = 0; call < 2000 && j.measured == 0; ++call) {
            if (std::string why = j.call(2 + static_cast<size_t>(call % 2), [](int) { return 24 * ms; }); !why.empty())
                return why;
            WAN_CHECK_THAT(j.measured > 0 || by_it(), std::string(x.name) + ": by assumed links " + j.how);
        }
        WAN_CHECK_THAT(j.measured == 1 && c.links.known.size() == 2 && !c.links.known[1].assumed, std::string(x.name) + ": " + std::to_string(j.measured));
        WAN_CHECK_THAT(by_it() == x.serves && j.trials == 0, std::string(x.name) + ": measured links, " + j.how);
        // Then the kind of calls is tuned as if nothing had been learned.
        if (std::string why = j.calls(20, quick, 3); !why.empty())
            return why;
        WAN_CHECK_THAT(by_it() == x.serves && (j.trials > 0) != x.serves, std::string(x.name) + ": " + std::to_string(j.trials) + " trials, " + j.how);
        WAN_CHECK(std::string(x.knob) == "coll_wan_rules" || wan::chosen().of(c.topo).empty() == x.serves);
        // Of calls that were begun by what was assumed it counts; of those that do not block, too.
        wan::request r{.collective = WAN_ALLREDUCE, .bytes = 12, .element_bytes = 4};
        WAN_CHECK(c.ruled(r, true, 0) && c.ruled(r, true, 1).has_value() == x.serves);
        r.polled = true;
        if (std::string(x.text) != "open_mpi")
            WAN_CHECK(c.ruled(r, false, 0) && c.ruled(r, false, 1).has_value() == x.serves);
        // And that is said.
        const std::string text = c.explain(), said = std::string("\n  what was learned was not used: coll_wan_tune_file says ") + x.text + ", of ";
        WAN_CHECK_THAT((text.find(said) != text.npos) == !x.serves && (text.find("chosen: " + std::string(x.knob) + " says so") != text.npos) == x.serves, text);
        WAN_CHECK_THAT(x.serves || std::string(x.text) != "open_mpi" || text.find(" bytes predicted to take 30.00 ms, more than 50% longer than 10.") != text.npos, text);
    }
    return "";
}

/** Judged anew with new facts of the same links, by those of each call; what was learned in this job is not judged. */
std::string check_judged_again()
{
    const auto sites = eight_sites("f");
    learned_job j(names_of(sites), "allreduce: open_mpi\n", "coll_wan_tune_file", 0, 100, 50);
    j.p.tune_trials = 0;
    for (const auto &c : j.comms)
        c->tune.trials = 0;
    j.f.otherwise = [&](auto &found) { all_far(found, 10 * ms, 10 * ms); };
    if (std::string why = j.begin(); !why.empty())
        return why;
    bool far = true;
    for (int time = 0; time < 4; ++time, far = !far) {
        for (int call = 0; call < 3; ++call) {
            if (std::string why = j.call(2, quick); !why.empty())
                return why;
            WAN_CHECK_THAT((j.how == "open_mpi") != far, std::to_string(time) + ": " + j.how);
        }
        for (const auto &c : j.comms) {
            all_far(c->links.learned, 10 * ms, far ? ms / 10 : 10 * ms);
            c->links.learn();
        }
        ++j.epoch;
    }
    // Calls of before are served as then.
    const wan::request r{.collective = WAN_ALLREDUCE, .bytes = 8, .element_bytes = 4};
    const auto &c = *j.comms[0];
    WAN_CHECK(c.links.known.size() == 5);
    for (size_t era = 0; era < 5; ++era)
        WAN_CHECK_THAT(c.ruled(r, true, era).has_value() == (era % 2 == 1), std::to_string(era));

    // Another communicator of this job has found that it is so, whatever is predicted.
    wan::rules all;
    wan::input_error error;
    WAN_CHECK(wan::rules::parse("allreduce: open_mpi\n", "f", all, error, true));
    const auto others = eight_sites("g");
    for (const bool here : {true, false}) {
        learned_job next(names_of(others), here ? "" : "allreduce: open_mpi\n", "coll_wan_tune_file", 50, 100, 50);
        const wan_comm &first = *next.comms[0];
        if (here)
            for (const auto &x : next.comms)
                x->learned_here = all.of(first.topo);
        next.f.otherwise = j.f.otherwise;
        if (std::string why = next.begin(); !why.empty())
            return why;
        if (std::string why = next.calls(10, quick, 2); !why.empty())
            return why;
        WAN_CHECK_THAT((next.how == "open_mpi") == here && (next.trials == 0) == here, next.how);
        WAN_CHECK_THAT((first.explain().find("chosen: an earlier communicator says so") != std::string::npos) == here, first.explain());
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_change>), cmocka_unit_test(test<check_others>), cmocka_unit_test(test<check_doubt>), cmocka_unit_test(test<check_price>),
                                cmocka_unit_test(test<check_elsewhere>), cmocka_unit_test(test<check_judged_again>)};
    return cmocka_run_group_tests_name("boundary_learned", tests, nullptr, nullptr);
}
