/*
 * Links that change, across the C boundary: asked, looked at, measured again, and
 * calls of earlier epochs planned as before.  Time goes on by a tick at each look
 * at the clock, so that a longer tick is a slower network.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boundary_job.hpp"
#include "model/probe.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <unistd.h>
#include <utility>

namespace {

using namespace wan_test;

struct watched_job {
    params p;
    std::vector<comm_ptr> comms;
    fabric f;
    int looks = 0, learned = 0, asked = 0, adopted = 0;
    bool one_differs = false;                               // in what it holds of links measured elsewhere
    bool under_way = false;                                 // the question whether links have changed
    std::array<int64_t, WAN_CHECK_VOTES> votes{};

    /** links_file: of all ranks but `without`. */
    explicit watched_job(const std::vector<const char *> &sites, int64_t interval, char *links_file = nullptr, int without = -1)
        : f(static_cast<int>(sites.size()))
    {
        p.check_interval = interval;
        p.tree_peers = 10;
        for (int r = 0; r < static_cast<int>(sites.size()); ++r) {
            p.links_file = r == without ? nullptr : links_file;
            comms.push_back(open(p, peers_of(sites), r));
        }
        p.links_file = links_file;
    }

    std::string description() const
    {
        char text[500];
        wan_comm_describe(comms[0].get(), text, sizeof text);
        return text;
    }

    /** An allreduce of `count` elements, of what was known in `epoch`; its plan. */
    std::string plan(unsigned epoch, bool blocks, std::string *text, size_t count = 1)
    {
        std::vector<std::vector<uint32_t>> in(comms.size(), std::vector<uint32_t>(count, 1)), out(in);
        f.extent = sizeof(uint32_t);
        for (size_t r = 0; r < comms.size(); ++r) {
            wan_call_t call = call_of(WAN_ALLREDUCE, 0, count, 4, in[r].data(), out[r].data());
            call.epoch = epoch;
            call.blocks = blocks;
            WAN_CHECK(wan_run_begin(comms[r].get(), &call, &f.port, &f.ends[r], &f.ends[r].run) == WAN_OK);
        }
        char said[300];
        wan_run_describe(f.ends[0].run, said, sizeof said);
        *text = said;
        WAN_CHECK(f.run_all() == WAN_DONE && f.empty());
        for (auto &e : f.ends) {
            wan_run_release(e.run);
            e.run = nullptr;
            e.scratch.clear();
        }
        for (const auto &v : out)
            for (uint32_t x : v)
                WAN_CHECK(x == comms.size());
        return "";
    }

    /** What the glue does before a blocking call, on all ranks. */
    std::string ask()
    {
        if (std::string why = refresh(comms, f); !why.empty())
            return why;
        std::array<int64_t, WAN_CHECK_VOTES> mine{};
        size_t due = 0;
        for (size_t r = 0; r < comms.size(); ++r) {
            int code = wan_comm_defers(comms[r].get(), 4, mine.data());
            if (code == WAN_OK)
                code = wan_comm_check(comms[r].get(), WAN_ALLREDUCE, f.port.now_ns(&f.ends[r]), mine.data());
            WAN_CHECK(code == WAN_OK || code == WAN_DONE);
            due += code == WAN_DONE;
            for (size_t i = 0; i < votes.size(); ++i)
                votes[i] = r == 0 ? mine[i] : std::min(votes[i], mine[i]);
        }
        WAN_CHECK(due == 0 || due == comms.size());
        votes[3] -= one_differs;
        under_way = due > 0;
        asked += under_way;
        return "";
    }
    /** And after it. */
    std::string answer()
    {
        if (!std::exchange(under_way, false))
            return "";
        int said = WAN_OK;
        for (size_t r = 0; r < comms.size(); ++r) {
            const int code = wan_comm_check_answer(comms[r].get(), votes.data());
            WAN_CHECK(r == 0 || code == said);
            said = code;
        }
        adopted += said == WAN_DECLINED;
        if (said != WAN_DONE)
            return "";
        ++looks;
        while (said == WAN_DONE)
            if (std::string why = measure(comms, f, &said); !why.empty())
                return why;
        learned += said == WAN_OK;
        return "";
    }
    /** inside: the tick in the calls themselves, not when links are measured; 0: as always. */
    std::string calls(int n, int64_t inside = 0)
    {
        for (int i = 0; i < n; ++i) {
            std::string ignored;
            if (std::string why = ask(); !why.empty())
                return why;
            const int64_t usual = std::exchange(f.tick, inside ? inside : f.tick);
            if (std::string why = plan(1000, true, &ignored); !why.empty())
                return why;
            f.tick = usual;
            if (std::string why = answer(); !why.empty())
                return why;
        }
        return "";
    }
};

/** The adaptive trees of a job, whose messages arrive at once and in order. */
struct trees_of_job {
    struct letter {
        int from, to;
        std::vector<char> bytes;
    };
    struct process {
        trees_of_job *all;
        int rank;
        wan_trees_t *trees = nullptr;
    };
    explicit trees_of_job(watched_job &j) : processes(j.comms.size()), comms(j.comms)
    {
        std::vector<int> ranks;
        for (size_t r = 0; r < comms.size(); ++r)
            ranks.push_back(static_cast<int>(r));
        for (size_t r = 0; r < comms.size(); ++r) {
            process &p = processes[r] = {this, ranks[r]};
            const auto send = [](void *ctx, int to, const void *head, size_t head_size, const void *rest, size_t size, size_t) {
                const auto &from = *static_cast<process *>(ctx);
                letter l{from.rank, to, {}};
                l.bytes.assign(static_cast<const char *>(head), static_cast<const char *>(head) + head_size);
                l.bytes.insert(l.bytes.end(), static_cast<const char *>(rest), static_cast<const char *>(rest) + size);
                from.all->sent.push_back(std::move(l));
            };
            ready = ready && wan_trees_open(&j.p, 1, send, &p, false, &p.trees) == WAN_OK
                    && wan_comm_use_trees(comms[r].get(), p.trees, 1, 0, ranks.data(), now) == WAN_OK;
        }
    }
    ~trees_of_job()
    {
        for (auto &c : comms)
            wan_comm_leave_trees(c.get());
        for (process &p : processes)
            wan_trees_close(p.trees);
    }
    /** Until nothing has been said for a second; how many messages that took. */
    int settle()
    {
        int messages = 0;
        for (int idle = 0; idle < 1000; ++idle, now += 1'000'000) {
            for (process &p : processes)
                (void)wan_trees_step(p.trees, now);
            for (; !sent.empty(); ++messages, idle = 0) {
                const letter l = std::move(sent.front());
                sent.pop_front();
                now += 10'000;
                (void)wan_trees_receive(processes[static_cast<size_t>(l.to)].trees, l.from, l.bytes.data(), l.bytes.size(), now);
            }
        }
        return messages;
    }
    bool ready = true;
    int64_t now = 0;
    std::deque<letter> sent;
    std::vector<process> processes;
    std::vector<comm_ptr> &comms;
};

std::string check_change()
{
    watched_job j({"l1", "l1", "l2", "l2", "l3"}, 1);
    if (std::string why = bring_up(j.comms, j.f); !why.empty())
        return why;
    trees_of_job trees(j);
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

/** Calls take long by turns, but what is measured does not: not the links.  Who has looked in vain looks ever less often. */
std::string look_in_vain(watched_job &j)
{
    const std::string told = j.description();
    const int learned = j.learned;
    for (int phase = 0; phase < 40; ++phase)
        if (std::string why = j.calls(300, phase % 2 ? 9000 : 1000); !why.empty())
            return why;
    WAN_CHECK_THAT(j.looks >= 1 && j.looks <= 8 && j.learned == learned && j.description() == told,
                   std::to_string(j.looks) + " looks, " + std::to_string(j.learned) + " times learned");
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

std::string links_of(const watched_job &j)
{
    const std::string d = j.description();
    return d.substr(std::min(d.size(), d.find('\n')));
}

/** "farthest 70 us": times of few steps beside it depend on whose turn it is. */
std::string farthest(const watched_job &j)
{
    const std::string l = links_of(j);
    return l.substr(0, l.find(','));
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

/** A file of links, and what a job makes of it. */
struct file_of_links {
    std::string path = "boundary_links." + std::to_string(getpid());
    ~file_of_links() { std::remove(path.c_str()); }
    std::string text() const
    {
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    /** The same of sites with other names: this process remembers what it measured by these. */
    void rename(char from, char to) const
    {
        std::string t = text();
        for (size_t at = 0; (at = t.find(std::string(1, from), at)) != t.npos; ++at)
            if (at > 0 && t[at - 1] == ' ' && at + 1 < t.size() && t[at + 1] >= '1' && t[at + 1] <= '9')
                t[at] = to;
        std::ofstream(path) << t;
    }
};

/** Agreement, and as many measurements as the core wants; their steps, and what it said last. */
std::string begin(watched_job &j, int *steps, int *answer)
{
    if (std::string why = agree(j.comms); !why.empty())
        return why;
    *steps = 0;
    *answer = WAN_DONE;
    while (*answer == WAN_DONE) {
        int runs = 0;
        if (std::string why = measure(j.comms, j.f, answer, &runs); !why.empty())
            return why;
        *steps += runs;
    }
    return refresh(j.comms, j.f);
}

/** What one job wrote is looked at in the next, and believed if it is still so; a rank without it makes all measure. */
std::string check_file()
{
    file_of_links file;
    wan_message_t message;
    const auto job_of = [&](char name, int without = -1) {
        const std::string a{name, '1'}, b{name, '2'};
        return std::make_unique<watched_job>(std::vector<const char *>{a.c_str(), a.c_str(), b.c_str(), b.c_str()}, 1, file.path.data(), without);
    };
    int full = 0, brief = 0, answer = 0;
    const auto first = job_of('u');
    if (std::string why = begin(*first, &full, &answer); !why.empty())
        return why;
    WAN_CHECK(answer == WAN_OK);
    WAN_CHECK(wan_comm_save(first->comms[0].get(), &first->p, &message) == WAN_OK);
    WAN_CHECK_THAT(file.text().find("one_way_ns u1 u2 ") != std::string::npos, file.text());

    file.rename('u', 'v');
    const auto second = job_of('v');
    if (std::string why = begin(*second, &brief, &answer); !why.empty())
        return why;
    WAN_CHECK_THAT(answer == WAN_DECLINED && brief > 0 && 2 * brief < full, std::to_string(brief) + " steps of " + std::to_string(full));
    const auto same_sites = [](const watched_job &j) {
        std::string l = links_of(j);
        for (size_t at = 1; at + 1 < l.size(); ++at)
            if (l[at - 1] == ' ' && l[at] >= 'a' && l[at] <= 'z' && (l[at + 1] == '1' || l[at + 1] == '2'))
                l[at] = 's';
        return l;
    };
    WAN_CHECK_THAT(same_sites(*second) == same_sites(*first) && same_sites(*first).find("link s1 s2") != std::string::npos,
                   links_of(*second) + " in place of" + links_of(*first));

    // To have believed a file makes nobody look more often later than who has measured.
    file.rename('v', 's');
    const auto believing = job_of('s');
    if (std::string why = begin(*believing, &brief, &answer); !why.empty())
        return why;
    WAN_CHECK(answer == WAN_DECLINED);
    if (std::string why = look_in_vain(*believing); !why.empty())
        return "by a file: " + why;
    file.rename('s', 'v');

    // Links that change later: calls of before are planned by the file even then.
    std::string early_plan, late_plan, same_plan;
    if (std::string why = second->plan(0, false, &early_plan, 50'000); !why.empty())
        return why;
    // To have looked at a file's links makes nobody patient: it suspected nothing.
    const auto measured = job_of('t');
    if (std::string why = begin(*measured, &full, &answer); !why.empty())
        return why;
    int questions[2] = {0, 0};
    for (watched_job *j : {measured.get(), second.get()}) {
        if (std::string why = j->calls(200); !why.empty())
            return why;
        const int asked = j->asked;
        j->f.tick = 20'000;
        for (int call = 0; j->looks == 0 && call < 3000; ++call)
            if (std::string why = j->calls(1); !why.empty())
                return why;
        questions[j == second.get()] = j->asked - asked;
    }
    WAN_CHECK_THAT(questions[0] > 0 && questions[1] == questions[0], std::to_string(questions[1]) + " questions instead of " + std::to_string(questions[0]));
    if (std::string why = second->calls(3000); !why.empty())
        return why;
    WAN_CHECK_THAT(second->learned == 1, "learned " + std::to_string(second->learned) + " times");
    if (std::string why = second->plan(0, false, &same_plan, 50'000); !why.empty())
        return why;
    if (std::string why = second->plan(1000, false, &late_plan, 50'000); !why.empty())
        return why;
    WAN_CHECK_THAT(same_plan == early_plan && late_plan != early_plan, early_plan + " | " + same_plan + " | " + late_plan);

    // A slower network: what the file tells must not be used, in the first call either.
    file.rename('v', 'w');
    const auto third = job_of('w'), fresh = job_of('x');
    third->f.tick = fresh->f.tick = 20'000;
    int steps = 0;
    if (std::string why = begin(*third, &steps, &answer); !why.empty())
        return why;
    WAN_CHECK(answer == WAN_OK && steps > full);
    if (std::string why = begin(*fresh, &steps, &answer); !why.empty())
        return why;
    WAN_CHECK_THAT(farthest(*third) == farthest(*fresh) && farthest(*third) != farthest(*first), links_of(*third) + " |" + links_of(*fresh));
    for (unsigned epoch : {0u, 1000u}) {        // (what many hosts get together is known in the latter)
        std::string by_file, by_measuring;
        if (std::string why = third->plan(epoch, true, &by_file, 50'000); !why.empty())
            return why;
        if (std::string why = fresh->plan(epoch, true, &by_measuring, 50'000); !why.empty())
            return why;
        const auto what = [](const std::string &plan) { return plan.substr(0, plan.find(", predicted")); };     // (looked at at other times)
        WAN_CHECK_THAT(what(by_file) == what(by_measuring) && by_file != early_plan, by_file + " | " + by_measuring + " | " + early_plan);
    }

    // On all ranks but one.
    file.rename('w', 'y');
    const auto partly = job_of('y', 2);
    if (std::string why = begin(*partly, &steps, &answer); !why.empty())
        return why;
    WAN_CHECK_THAT(answer == WAN_OK && steps == full, std::to_string(steps));

    // Where nobody can wait: calls begin by the file, and are looked at later.
    file.rename('y', 'z');
    const auto early = job_of('z');
    if (std::string why = agree(early->comms); !why.empty())
        return why;
    for (const auto &c : early->comms)
        WAN_CHECK(wan_comm_assume(c.get()) == WAN_OK);
    WAN_CHECK_THAT(same_sites(*early) == same_sites(*first), links_of(*early));
    std::string before, after;
    if (std::string why = early->plan(0, false, &before, 50'000); !why.empty())
        return why;
    early->f.tick = 20'000;
    for (answer = WAN_DONE; answer == WAN_DONE;)
        if (std::string why = measure(early->comms, early->f, &answer); !why.empty())
            return why;
    WAN_CHECK(answer == WAN_OK && farthest(*early) == farthest(*fresh));
    if (std::string why = early->plan(0, false, &after, 50'000); !why.empty())
        return why;
    WAN_CHECK_THAT(after == before, "calls of the first epoch are planned otherwise: " + before + " | " + after);
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
    for (int call = 0; call < 100'000 && one.learned == 1; ++call)
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

/** What a map tells of bandwidths is compared when these are measured, after the rest; each kind is said once. */
std::string check_contradictions()
{
    file_of_links map;
    std::ofstream(map.path) << "link k1 k2 latency=900ms bandwidth=80b/s\n";
    params p;
    p.cluster_map = map.path.data();
    std::vector<comm_ptr> comms;
    fabric f(4);
    const auto begin_at = [&](std::vector<const char *> sites) {
        comms.clear();
        for (int r = 0; r < 4; ++r)
            comms.push_back(open(p, peers_of(sites), r));
    };
    begin_at({"k1", "k1", "k2", "k2"});
    WAN_CHECK(comms[0]);
    std::vector<std::string> said;
    const auto say = [&] {
        wan_message_t m{};
        said.push_back(std::to_string(wan_comm_contradiction(comms[0].get(), &m)) + ": " + m.what + ": " + m.remedy);
        return said.back();
    };
    WAN_CHECK_THAT(say() == "0: : ", said.back());
    if (std::string why = agree(comms); !why.empty())
        return why;
    int learned = WAN_ERR_INTERNAL;
    if (std::string why = measure(comms, f, &learned); !why.empty())
        return why;
    say();
    WAN_CHECK_THAT(said.back().find(std::to_string(WAN_DONE) + ": between k1 and k2: 900.00 ms one way given") == 0, said.back());
    WAN_CHECK_THAT(said.back().find("Mb/s") == std::string::npos, said.back());
    WAN_CHECK_THAT(say() == "0: : ", said.back());
    if (std::string why = refresh(comms, f); !why.empty())
        return why;
    say();
    WAN_CHECK_THAT(said.back().find(std::to_string(WAN_DONE) + ": between k1 and k2: 0.0 Mb/s given, ") == 0, said.back());
    WAN_CHECK_THAT(said.back().find("one way") == std::string::npos && said.back().find("two sites") == std::string::npos, said.back());
    WAN_CHECK_THAT(say() == "0: : ", said.back());
    // Sites without any word of their link, which are as near as hosts of one.
    for (const char *said_so : {"k3 and k4 are given as two sites, and are ", ""}) {
        begin_at(*said_so ? std::vector{"k3", "k3", "k4", "k4"} : std::vector{"k5", "k5", "k6", "k6"});
        if (std::string why = bring_up(comms, f); !why.empty())
            return why;
        WAN_CHECK_THAT(say().find(*said_so ? std::to_string(WAN_DONE) + ": " + said_so : "0: : ") == 0, said.back());
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_share>), cmocka_unit_test(test<check_change>), cmocka_unit_test(test<check_vain_looks>), cmocka_unit_test(test<check_narrower>), cmocka_unit_test(test<check_file>),
                                cmocka_unit_test(test<check_contradictions>)};
    return cmocka_run_group_tests_name("boundary_links", tests, nullptr, nullptr);
}
