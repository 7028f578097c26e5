/*
 * Choice by trial across the C boundary: what is served how on all ranks of a job, whose calls
 * take as long as the test says.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boundary_job.hpp"
#include "comm.hpp"
#include "tune/choices.hpp"
#include "tune/manner.hpp"

#include <cstdio>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <unistd.h>

namespace {

using namespace wan_test;

struct served {
    std::string how;                // "" where ranks differ
    int64_t predicted_ns = 0;
    bool trial = false;
};

struct tried_job {
    params p;
    std::vector<comm_ptr> comms;
    fabric f;
    unsigned epoch = 0, timed = 0, told = 0;    // calls with word of the clock
    bool told_last = false;
    wan_collective_t collective = WAN_ALLREDUCE;        // of call()
    int slowest = 4;                    // this rank's time counts, others take half of it; -1: all take as long
    int64_t late_ns = 0;                // so late rank 1 begins what is timed
    int64_t most_ahead_ns = 0;          // before what is timed
    int root = 0;
    /** What a call takes, by how it is served; without the words of a trial. */
    std::function<int64_t(const served &)> time = [](const served &s) { return s.predicted_ns; };

    explicit tried_job(const std::vector<const char *> &sites, const std::function<void(params &)> &with = {}) : f(static_cast<int>(sites.size()))
    {
        p.check_interval = 0;
        p.tune_trials = 3;
        p.tune_excess = 1000;
        p.tune_share = 100;
        if (with)
            with(p);
        for (int r = 0; r < static_cast<int>(sites.size()); ++r)
            comms.push_back(open(p, peers_of(sites), r));
    }

    /** Agreement; links are measured. */
    std::string begin()
    {
        std::string why = bring_up(comms, f);
        epoch = static_cast<unsigned>(comms[0]->links.known.size() - 1);
        return why;
    }

    /** Of `count` elements of 4 bytes; `between(rank)`: what happens on a rank before its part. */
    std::string call(size_t count, bool blocks, unsigned of_epoch, served *out, const std::function<void(int)> &between = {})
    {
        std::vector<std::vector<uint32_t>> in(comms.size(), std::vector<uint32_t>(count, 1)), sums(in);
        f.extent = sizeof(uint32_t);
        std::set<std::string> plans;
        for (size_t r = 0; r < comms.size(); ++r) {
            if (between)
                between(static_cast<int>(r));
            wan_call_t call = call_of(collective, root, count, 4, in[r].data(), sums[r].data());
            call.epoch = of_epoch;
            call.blocks = blocks;
            const int begun = wan_run_begin(comms[r].get(), &call, &f.port, &f.ends[r], &f.ends[r].run);
            if (begun == WAN_DECLINED && blocks) {      // Open MPI's own module is tried
                WAN_CHECK(!f.ends[r].run);
                plans.insert("open_mpi");
                *out = {"open_mpi", comms[r]->trial_predicted_ns, false};
                continue;
            }
            WAN_CHECK_THAT(begun == WAN_OK, std::to_string(begun));
            const wan::plan &plan = *f.ends[r].run->plan;
            plans.insert(wan::print(plan));
            *out = {wan::print(wan::manner_of(plan)), plan.predicted_ns, false};
        }
        if (plans.size() > 1)
            return "ranks differ: " + *plans.begin() + " | " + *plans.rbegin();
        if (plans.contains("open_mpi"))
            return trial(out);
        WAN_CHECK(f.run_all() == WAN_DONE && f.empty());
        for (auto &e : f.ends) {
            wan_run_release(e.run);
            e.run = nullptr;
            e.scratch.clear();
        }
        for (const auto &v : sums)
            for (uint32_t x : v)
                WAN_CHECK(x == (collective == WAN_ALLREDUCE ? comms.size() : 1));
        return blocks ? trial(out) : "";
    }

    /** What the glue does after a call that may be a trial. */
    std::string trial(served *out)
    {
        int64_t ahead_ns = -1, least_ns = INT64_MAX;
        int flags = wan_comm_trial(comms[0].get(), &ahead_ns);
        out->trial = flags != 0;
        if (!flags)
            return "";
        for (const auto &c : comms)
            WAN_CHECK(wan_comm_trial(c.get(), &ahead_ns) == flags);
        // What they ask each other takes the way to the farthest site, at least, and no longer than they wait.
        least_ns = comms[0]->links.known.back().widest_ns();
        WAN_CHECK(flags != WAN_TRIAL_TIMED || (ahead_ns >= least_ns && (late_ns > 0 || ahead_ns <= 3 * least_ns)));
        if (flags == WAN_TRIAL_TIMED)
            most_ahead_ns = std::max(most_ahead_ns, ahead_ns);
        if (flags == WAN_TRIAL_TIMED) {
            int64_t age_ns = 0;
            for (const auto &c : comms)
                age_ns = std::max(age_ns, wan_comm_clock_age(c.get(), f.clock));
            size_t instead = 0;
            for (const auto &c : comms)
                instead += static_cast<size_t>(wan_comm_clock_instead(c.get(), age_ns));
            WAN_CHECK_THAT(instead == 0 || instead == comms.size(), "some have word of the clock");
            // When nobody has told of it since links were measured, or so long ago that a clock may be off by more than three hundredths of the way.
            WAN_CHECK(instead == 0 || age_ns > 1500 * least_ns);
            WAN_CHECK(instead != 0 || age_ns <= 1500 * least_ns || told_last);
            told_last = instead != 0;
            if (instead) {
                wan_comm_clock_told(comms[0].get(), f.clock);
                flags = WAN_TRIAL_CLOCK;
                ++told;
            }
        }
        timed += flags == WAN_TRIAL_TIMED;
        std::array<int64_t, WAN_TUNE_SCORES> all{}, mine{};
        size_t due = 0;
        for (size_t r = 0; r < comms.size(); ++r) {
            const int64_t took_ns = time(*out) / (slowest < 0 || static_cast<int>(r) == slowest ? 1 : 2);
            const int code = wan_comm_tried(comms[r].get(), took_ns, r == 1 ? late_ns : 0, mine.data());
            due += code == WAN_DONE;
            for (size_t i = 0; i < all.size(); ++i)
                all[i] = std::max(all[i], mine[i]);
        }
        WAN_CHECK((due > 0) == (flags == WAN_TRIAL_SCORES));
        WAN_CHECK(due == 0 || due == comms.size());
        size_t changed = 0;
        for (size_t r = 0; r < comms.size() && due; ++r)
            changed += wan_comm_tune(comms[r].get(), all.data()) == WAN_DONE;
        WAN_CHECK(changed == 0 || changed == comms.size());
        epoch += changed > 0;
        return "";
    }

    bool settled() const
    {
        const auto &all = comms[0]->tuning.classes();
        return !all.empty() && all[0].phase == wan::tuner::state::phase::settled;
    }
};

/** Calls of 50 KB until ways have been tried, of which all but the model's choice, `first`, take a tenth of what is predicted. */
std::string settle_on_another(tried_job &j, served &first)
{
    served s;
    if (std::string why = j.begin(); !why.empty())
        return why;
    if (std::string why = j.call(50'000, true, j.epoch, &first); !why.empty())
        return why;
    j.time = [&](const served &x) { return x.how == first.how ? x.predicted_ns : x.predicted_ns / 10; };
    for (int call = 0; call < 40 && !j.settled(); ++call)
        if (std::string why = j.call(50'000, true, j.epoch, &s); !why.empty())
            return why;
    return "";
}

/**
 * A call that does not block may be started late on a rank, as where many are under way: before or after links are
 * looked at there.  How it is served must not depend on that.
 */
std::string check_late_starts()
{
    tried_job j({"t1", "t1", "t1", "t2", "t2", "t2"});
    served s, first;
    if (std::string why = settle_on_another(j, first); !why.empty())
        return why;
    WAN_CHECK(j.settled());
    for (const int late : {0, 3, 5}) {
        if (std::string why = j.call(50'000, false, j.epoch, &s); !why.empty())
            return why;
        const std::string chosen = s.how;
        WAN_CHECK_THAT(chosen != first.how, chosen + ": nothing is chosen by trial");
        // Who is late has seen already that links are to be looked at.
        const auto look = [&](int rank) {
            if (rank == late)
                j.comms[static_cast<size_t>(rank)]->links.look();
        };
        if (std::string why = j.call(50'000, false, j.epoch, &s, look); !why.empty())
            return why;
        WAN_CHECK(s.how == chosen);
        for (int rank = 0; rank < static_cast<int>(j.comms.size()); ++rank)
            if (rank != late)
                j.comms[static_cast<size_t>(rank)]->links.look();
        int learned = WAN_DONE;
        while (learned == WAN_DONE)         // what looks changed is looked at once more
            if (std::string why = measure(j.comms, j.f, &learned); !why.empty())
                return why;
        WAN_CHECK(learned == WAN_DECLINED);         // they are as they were
    }
    return "";
}

/** Sizes that change inside a class, up to twice, make no way look quicker than it is, nor hide one that is. */
std::string check_sizes()
{
    int kept = 0, found = 0, jobs = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed)
        for (const size_t least : {16'384, 65'536})
            for (const bool all_alike : {true, false}) {
                const std::string a = "s" + std::to_string(jobs) + "a", b = "s" + std::to_string(jobs++) + "b";
                tried_job j({a.c_str(), a.c_str(), a.c_str(), b.c_str(), b.c_str(), b.c_str()});
                if (std::string why = j.begin(); !why.empty())
                    return why;
                std::mt19937_64 random(seed);
                // Of those tried, the last one in a way of its own (others are the usual one with other segments).
                const auto last = [&j] {
                    const auto &tried = j.comms[0]->tuning.classes()[0].candidates;
                    return std::find_if(tried.rbegin(), tried.rend(), [](const auto &x) { return x.how.cuts == 0; })->how;
                };
                // A quarter longer than predicted; that one takes a fifth of that.
                j.time = [&](const served &s) { return s.predicted_ns * 5 / (!all_alike && s.how == wan::print(last()) ? 20 : 4); };
                served s;
                for (int call = 0; call < 40; ++call)
                    if (std::string why = j.call(least + random() % least, true, j.epoch, &s); !why.empty())
                        return why;
                WAN_CHECK(j.settled());
                const auto &state = j.comms[0]->tuning.classes()[0];
                WAN_CHECK(state.candidates.size() > 1 && !(last() == state.candidates[0].how));
                kept += all_alike && state.standing == 0 && s.how == wan::print(state.candidates[0].how);
                found += !all_alike && state.candidates[state.standing].how == last() && s.how == wan::print(last());
            }
    WAN_CHECK_THAT(kept >= jobs / 2 - 1 && found >= jobs / 2 - 1,
                   std::to_string(kept) + " kept, " + std::to_string(found) + " found, of " + std::to_string(jobs / 2) + " each");
    return "";
}

/** What is timed of Open MPI's own module counts as of a call like the first one, too. */
std::string check_sizes_of_own()
{
    tried_job j({"o1", "o1", "o1", "o2", "o2", "o2"});
    if (std::string why = j.begin(); !why.empty())
        return why;
    for (const auto &c : j.comms)       // a slow one: that short calls are longer or shorter counts
        c->links.known.back().byte_ps = 1'000'000;
    served s;
    std::vector<int64_t> seen;
    j.time = [&](const served &x) {
        if (x.how == "open_mpi")
            seen.push_back(x.predicted_ns);
        return x.predicted_ns;
    };
    for (int call = 0; call < 12; ++call)
        if (std::string why = j.call(call == 2 ? 1024 : 2000, true, j.epoch, &s); !why.empty())
            return why;
    const auto &tried = j.comms[0]->tuning.classes()[0].candidates;
    const int64_t usual_ns = tried[0].predicted_ns;
    WAN_CHECK(!seen.empty() && tried.size() > 1);
    for (const int64_t ns : seen)
        WAN_CHECK_THAT(ns > usual_ns + usual_ns / 20, std::to_string(ns) + ", the first " + std::to_string(usual_ns));
    for (const auto &x : tried)
        if (!x.how.algo) {
            const int64_t told = x.measured_ns ? x.measured_ns : x.opened_ns, off = std::abs(told - usual_ns);
            WAN_CHECK_THAT(off <= usual_ns / 50, std::to_string(told) + ", not " + std::to_string(usual_ns));
        }
    return "";
}

/** What a rank begins late says nothing, and all wait longer. */
std::string check_late()
{
    std::vector<int64_t> ahead;
    for (const int64_t late_ns : {int64_t{0}, int64_t{1'000'000'000}}) {
        const std::string a = "b" + std::to_string(late_ns), b = "c" + std::to_string(late_ns);
        tried_job j({a.c_str(), a.c_str(), a.c_str(), b.c_str(), b.c_str(), b.c_str()});
        j.late_ns = late_ns;
        served first;
        if (std::string why = settle_on_another(j, first); !why.empty())
            return why;
        WAN_CHECK(j.settled() && j.timed > 1);
        const auto &state = j.comms[0]->tuning.classes()[0];
        for (const auto &x : state.candidates)
            WAN_CHECK((x.measured_ns > 0) == (late_ns == 0) && (x.late > 0) == (late_ns > 0));
        WAN_CHECK((state.standing == 0) == (late_ns > 0) && learned_rules(j.comms[0]->topo, j.comms[0]->tuning.classes()).empty() == (late_ns > 0));
        ahead.push_back(j.most_ahead_ns);
    }
    WAN_CHECK_THAT(ahead[1] > ahead[0] + ahead[0] / 2, std::to_string(ahead[0]) + " and " + std::to_string(ahead[1]) + " ns ahead");
    return "";
}

/** A call that takes a rank less than the way shows that others came before: it is no reason to try nothing else. */
std::string check_watched()
{
    for (const bool waits : {true, false}) {
        const std::string a = waits ? "w1" : "v1", b = waits ? "w2" : "v2";
        tried_job j({a.c_str(), a.c_str(), a.c_str(), b.c_str(), b.c_str(), b.c_str()});
        j.f.otherwise = [](auto &found) { found[wan::fact::farthest_ns] = found[wan::fact::first_pair_ns] = 10'000'000; };
        if (std::string why = j.begin(); !why.empty())
            return why;
        j.slowest = -1;
        j.time = [&](const served &x) { return x.predicted_ns * (waits ? 100 : 90) / 100; };
        served s;
        for (int call = 0; call < 40; ++call)
            if (std::string why = j.call(1, true, j.epoch, &s); !why.empty())
                return why;
        WAN_CHECK_THAT(j.settled() && (j.timed == 0) == waits, std::to_string(j.timed) + " timed; predicted " + std::to_string(j.comms[0]->tuning.classes()[0].candidates[0].predicted_ns) + ", the way " + std::to_string(j.comms[0]->links.known.back().widest_ns()));
    }
    return "";
}

/** What rank 0's clock says is known on all ranks, whatever theirs say, by the way to each of them. */
std::string check_clocks()
{
    tried_job j({"m1", "m1", "m2", "m2", "m3", "m3"});
    if (std::string why = j.begin(); !why.empty())
        return why;
    constexpr int64_t near_ns = 50'000'000, sent_ns = 1'000'000'000;
    for (const auto &c : j.comms) {
        wan::facts &f = c->links.known.back();
        f.set_pair(f.pair_ns, 0, 1, near_ns);
        f.set_pair(f.pair_ns, 0, 2, 2 * near_ns);
        f.settle();
        const int64_t apart_ns = c->me * int64_t{3'600'000'000'000}, way_ns = f.latency_ns(c->topo.site_of(0), c->topo.site_of(c->me));
        if (c->me)
            wan_comm_clock_heard(c.get(), sent_ns, sent_ns + apart_ns + way_ns);
        WAN_CHECK(wan_comm_clock(c.get(), sent_ns + apart_ns) == sent_ns && wan_comm_clock_here(c.get(), sent_ns) == sent_ns + apart_ns);
        // How old it is, rank 0 knows.
        WAN_CHECK(wan_comm_clock_age(c.get(), sent_ns) == (c->me ? 0 : INT64_MAX));
        if (c->me == 0)
            wan_comm_clock_told(c.get(), sent_ns);
        WAN_CHECK(wan_comm_clock_age(c.get(), sent_ns + 7) == (c->me ? 0 : 7));
    }
    WAN_CHECK(j.comms[2]->links.known.back().latency_ns(j.comms[0]->topo.site_of(0), j.comms[0]->topo.site_of(2)) == near_ns);
    return "";
}

/** Trials begin again when links have changed, or when calls take longer over the same links, long after a choice. */
std::string check_again()
{
    for (const bool links : {true, false}) {
        const std::string a = links ? "l1" : "u1", b = links ? "l2" : "u2";
        tried_job j({a.c_str(), a.c_str(), a.c_str(), b.c_str(), b.c_str(), b.c_str()});
        if (std::string why = j.begin(); !why.empty())
            return why;
        served s, first;
        if (std::string why = j.call(50'000, true, j.epoch, &first); !why.empty())
            return why;
        j.time = [&](const served &x) { return x.how == first.how ? x.predicted_ns : x.predicted_ns / 10; };
        for (int call = 0; call < 250; ++call)
            if (std::string why = j.call(50'000, true, j.epoch, &s); !why.empty())
                return why;
        WAN_CHECK(j.settled() && s.how != first.how && j.comms[0]->tuning.classes()[0].standing != 0);
        if (links)
            j.f.otherwise = [](auto &found) {
                found[wan::fact::farthest_ns] *= 10;
                found[wan::fact::first_pair_ns] *= 10;
            };
        for (const auto &c : j.comms)
            c->links.look();
        int learned = WAN_DONE;
        while (learned == WAN_DONE)
            if (std::string why = measure(j.comms, j.f, &learned); !why.empty())
                return why;
        WAN_CHECK(learned == (links ? WAN_OK : WAN_DECLINED));
        WAN_CHECK(tried_job({a.c_str(), a.c_str(), a.c_str(), b.c_str(), b.c_str(), b.c_str()}).comms[0]->learned_here.empty() == links);
        for (const auto &c : j.comms) {
            const auto &x = c->tuning.classes()[0];
            WAN_CHECK(x.phase == wan::tuner::state::phase::counting && (x.standing == 0) == links);
            const unsigned now = static_cast<unsigned>(c->links.known.size() + 1);
            WAN_CHECK(c->tuning.chosen(x.what, now).has_value() != links);
            // By other ways what was known of clocks does not count.
            WAN_CHECK(j.told > 0 && (wan_comm_clock_age(c.get(), j.f.clock) == INT64_MAX) == (links && c->me == 0));
        }
    }
    return "";
}

/** Each class of calls is told of, whoever chose how it is served, with trials and without. */
std::string check_told()
{
    const auto text_of_job = [](const tried_job &j) {
        std::string text(static_cast<size_t>(wan_comm_explain(j.comms[0].get(), nullptr, 0)), ' ');
        wan_comm_explain(j.comms[0].get(), text.data(), text.size() + 1);
        return text;
    };
    for (const int how : {0, 1, 2, 3}) {
        const std::string a = "e1" + std::to_string(how), b = "e2" + std::to_string(how);
        tried_job j({a.c_str(), a.c_str(), a.c_str(), b.c_str(), b.c_str(), b.c_str()}, [&](params &p) {
            p.explain = how != 3;
            p.tune_trials = how == 1 ? 3 : 0;
            if (how == 2)
                p.algorithm[WAN_ALLREDUCE] = 1;
        });
        if (std::string why = j.begin(); !why.empty())
            return why;
        WAN_CHECK(text_of_job(j) == "no calls");
        served s;
        for (int call = 0; call < 30; ++call)
            if (std::string why = j.call(4000, true, j.epoch, &s); !why.empty())
                return why;
        if (std::string why = j.call(4000, false, j.epoch, &s); !why.empty())
            return why;
        if (std::string why = j.call(20'000, false, j.epoch, &s); !why.empty())
            return why;
        const std::string text = text_of_job(j);
        if (how == 3) {
            WAN_CHECK(text == "no calls");
            continue;
        }
        for (const char *words : {"\nallreduce, 8192 to 16383 bytes: 30 blocking calls, 1 that does not block\n  ", "\nallreduce, 65536 to 131071 bytes: 1 that does not block\n  ",
                                  how == 0   ? "\n  chosen: predicted to be the fastest; nothing was tried: coll_wan_tune_trials is 0\n"
                                  : how == 1 ? " ways that were tried\n"
                                             : "\n  chosen: coll_wan_allreduce_algorithm names it\n",
                                  "\n  regret, estimated: "})
            WAN_CHECK_THAT(text.find(words) != std::string::npos, text + " does not have " + words);
    }
    return "";
}

/** As begin(), where links are known from another communicator. */
std::string begin_again(tried_job &j)
{
    if (std::string why = agree(j.comms); !why.empty())
        return why;
    std::string why = refresh(j.comms, j.f);
    j.epoch = static_cast<unsigned>(j.comms[0]->links.known.size() - 1);
    return why;
}

/** What was learned serves the next communicator of that shape, if all its ranks know it, and is kept whichever of them ends last. */
std::string check_copies()
{
    const std::vector<const char *> sites{"c1", "c1", "c1", "c2", "c2", "c2"};
    tried_job j(sites);
    served s, first;
    if (std::string why = settle_on_another(j, first); !why.empty())
        return why;
    if (std::string why = j.call(50'000, true, j.epoch, &s); !why.empty())
        return why;
    const std::string chosen = s.how;
    WAN_CHECK(j.settled() && chosen != first.how);

    tried_job copy(sites), partly(sites), other({"c1", "c2", "c1", "c2", "c1", "c2"});
    if (std::string why = begin_again(copy); !why.empty())
        return why;
    for (int call = 0; call < 20; ++call) {
        if (std::string why = copy.call(50'000, true, copy.epoch, &s); !why.empty())
            return why;
        WAN_CHECK_THAT(!s.trial && s.how.starts_with(chosen.substr(0, chosen.find(' '))), s.how + " in place of " + chosen);
    }
    WAN_CHECK(copy.comms[0]->tuning.classes().size() == 1 && copy.comms[0]->tuning.classes()[0].candidates.empty() && other.comms[0]->learned_here.empty());
    partly.comms[3]->learned_here.clear();
    if (std::string why = begin_again(partly); !why.empty())
        return why;
    for (const auto &c : partly.comms)
        WAN_CHECK(c->learned_here.empty());
    for (int call = 0; call < 40 && !partly.settled(); ++call)
        if (std::string why = partly.call(50'000, true, partly.epoch, &s); !why.empty())
            return why;
    WAN_CHECK(partly.settled());

    std::string file = "boundary_trials." + std::to_string(getpid());
    wan_message_t message;
    copy.p.tune_file = file.data();
    const int saved = wan_comm_save(copy.comms[0].get(), &copy.p, &message);
    const std::string text = (std::stringstream() << std::ifstream(file).rdbuf()).str();
    std::remove(file.c_str());
    WAN_CHECK_THAT(saved == WAN_OK && text.find("allreduce bytes 131072-262143 ranks 6 sites 2 ranks-per-host 1 placement blocks: ") != text.npos, text);
    // Links of these sites that have changed make all of it void.
    wan::chosen().forget(other.comms[0]->links.sites_key() + "x\n");
    WAN_CHECK(!tried_job(sites).comms[0]->learned_here.empty());
    wan::chosen().forget(copy.comms[0]->links.sites_key());
    WAN_CHECK(tried_job(sites).comms[0]->learned_here.empty());
    return "";
}

/** A file of what was learned counts if all ranks read the same. */
std::string check_odd_file()
{
    const std::vector<const char *> sites{"o1", "o1", "o2", "o2"};
    std::string file = "boundary_trials." + std::to_string(getpid()), odd_file = file + ".odd", learned = "bcast: chain\n";
    for (const std::string &odd : {learned, std::string("bcast: tree\n"), std::string()}) {
        std::ofstream(file) << learned;
        std::ofstream(odd_file) << odd;
        tried_job j(sites);
        wan_message_t message;
        WAN_CHECK(wan_params_check(&j.p, &message) == WAN_OK);
        for (int r = 0; r < static_cast<int>(sites.size()); ++r) {
            j.p.tune_file = r % 2 ? odd_file.data() : file.data();
            j.comms[static_cast<size_t>(r)] = open(j.p, peers_of(sites), r);
        }
        std::string why = agree(j.comms);
        std::remove(file.c_str());
        std::remove(odd_file.c_str());
        WAN_CHECK_THAT(why.empty(), why);
        for (const auto &c : j.comms)
            WAN_CHECK(c->learned_before.empty() == (odd != learned));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_late_starts>), cmocka_unit_test(test<check_sizes>), cmocka_unit_test(test<check_clocks>), cmocka_unit_test(test<check_late>), cmocka_unit_test(test<check_watched>), cmocka_unit_test(test<check_sizes_of_own>),
                                cmocka_unit_test(test<check_again>), cmocka_unit_test(test<check_told>), cmocka_unit_test(test<check_copies>), cmocka_unit_test(test<check_odd_file>)};
    return cmocka_run_group_tests_name("boundary_trials", tests, nullptr, nullptr);
}
