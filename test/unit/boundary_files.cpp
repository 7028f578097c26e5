/*
 * What is given of links, across the C boundary: a file of an earlier job, which is looked at and believed or not, and a map,
 * which is compared with what is measured.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune/choices.hpp"
#include "watched_job.hpp"

#include <filesystem>
#include <fstream>
#include <memory>

#include <unistd.h>

namespace {

using namespace wan_test;

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

/** Files are read when a job begins: what becomes of them later changes nothing on its communicators, also on those made then. */
std::string check_read_once()
{
    file_of_links links, rules, learned, map;
    rules.path += ".rules";
    learned.path += ".learned";
    map.path += ".map";
    params p;
    p.links_file = links.path.data();
    p.rules = rules.path.data();
    p.tune_file = learned.path.data();
    p.cluster_map = map.path.data();
    const auto write = [&](const char *ns, const char *algorithm) {
        std::ofstream(links.path) << "sites f1 f2\nfarthest_ns " << ns << "\n";
        std::ofstream(map.path) << "link f1 f2 latency=" << ns << "ns\n";
        for (const auto *f : {&rules, &learned})
            std::ofstream(f->path) << "bcast: " << algorithm << "\n";
    };
    const auto begin = [&] {
        wan_message_t faults;
        return wan_params_check(&p, &faults) == WAN_OK;
    };
    const auto votes = [&] { return vote(open(p, peers_of({"f1", "f2"}), 0).get()); };
    write("7000000", "chain");
    WAN_CHECK(begin());
    const ballot first = votes();
    write("8000000", "tree");
    WAN_CHECK(votes() == first);
    write("", "");      // half written
    WAN_CHECK(votes() == first);
    for (const auto *f : {&links, &rules, &learned, &map})
        std::remove(f->path.c_str());
    WAN_CHECK(votes() == first);
    // Another job: of each file on its own.
    size_t differ = 0;
    for (char *params::*file : {&params::links_file, &params::rules, &params::tune_file, &params::cluster_map}) {
        write("7000000", "chain");
        std::remove(p.*file);
        std::ofstream(p.*file) << "";
        WAN_CHECK(begin());
        differ += votes() != first;
    }
    WAN_CHECK_THAT(differ == 4, std::to_string(differ));
    write("7000000", "chain");
    WAN_CHECK(begin() && votes() == first);
    write("7000000", "teleport");
    WAN_CHECK(!begin());
    return "";
}

/** Whether files can be kept is said when the job begins, and nothing is made; where nothing will be learned, nothing is said. */
std::string check_keep()
{
    char name[] = "/tmp/wan-keep-XXXXXX";
    const std::string dir = mkdtemp(name) ? name : "";
    WAN_CHECK(!dir.empty());
    params p;
    std::string said;
    const auto keep = [&](std::string links, std::string learned) {
        said.clear();
        p.links_file = links.data();
        p.tune_file = learned.data();
        wan_message_t m{};
        int code, refused = 0, which = 0;
        for (; (code = wan_params_keep(&p, which, &m)) != WAN_DECLINED && which < 10; ++which)
            if (code == WAN_ERR_INPUT)
                said += std::to_string(++refused) + ": " + m.where + ": " + m.what + ": " + m.remedy + "\n";
        p.links_file = p.tune_file = nullptr;
        return refused;
    };
    p.measure_share = 20;
    p.tune_trials = 3;
    WAN_CHECK(keep("", "") == 0 && keep(dir + "/links", dir + "/learned") == 0 && std::filesystem::is_empty(dir));
    WAN_CHECK(keep(dir + "/none/links", dir + "/learned") == 1);
    WAN_CHECK_THAT(said.find("1: " + dir + "/none/links (coll_wan_links_file): there is no directory " + dir + "/none: Give a path") == 0, said);
    WAN_CHECK(keep(dir + "/links", dir + "/none/learned") == 1 && said.find("learned (coll_wan_tune_file): there is no directory") != said.npos);
    WAN_CHECK_THAT(keep(dir + "/none/links", dir + "/none/learned") == 2, said);
    // Another kind of file: what is learned would not be written into it.
    std::ofstream(dir + "/thesis") << "\\documentclass{book}\n";
    WAN_CHECK_THAT(keep("", dir + "/thesis") == 1 && said.find("none of what jobs learn") != said.npos, said);
    std::ofstream(dir + "/rules") << "bcast: chain\nbcast: teleport\n";
    WAN_CHECK(keep("", dir + "/rules") == 0);
    p.tune_trials = 0;
    WAN_CHECK(keep(dir + "/none/links", dir + "/none/learned") == 1);
    p.measure_share = 0;
    WAN_CHECK(keep(dir + "/none/links", dir + "/none/learned") == 0);
    std::filesystem::remove_all(dir);
    return "";
}

/** What is kept at the end goes where it was when the job began, wherever the program went; that one file fails costs only that one. */
std::string check_save()
{
    file_of_links file;
    watched_job j({"q1", "q1", "q2", "q2"}, 1, file.path.data());
    wan_message_t message{};
    int steps = 0, answer = 0;
    if (std::string why = begin(j, &steps, &answer); !why.empty())
        return why;
    j.p.links_file = file.path.data();
    WAN_CHECK(wan_params_check(&j.p, &message) == WAN_OK);
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path("/");
    const int code = wan_comm_save(j.comms[0].get(), &j.p, &message);
    std::filesystem::current_path(here);
    WAN_CHECK_THAT(code == WAN_OK && file.text().find("sites q1 q2\n") != std::string::npos, std::string(message.what) + ": " + file.text());
    // With something learned, too.
    const int sizes[] = {2, 2};
    const wan::topology t = wan::topology::blocks(sizes);
    wan::rules learned;
    wan::input_error none;
    WAN_CHECK(wan::rules::parse("bcast: chain\n", "f", learned, none));
    wan::chosen().keep(t, "of a test", learned.of(t));
    std::string nowhere = "/nowhere/learned", nor = "/nowhere/links";
    j.p.tune_file = nowhere.data();
    std::remove(file.path.c_str());
    WAN_CHECK(wan_comm_save(j.comms[0].get(), &j.p, &message) == WAN_ERR_INPUT && message.where == nowhere);
    WAN_CHECK_THAT(file.text().find("sites q1 q2\n") != std::string::npos, "links are lost by that");
    j.p.links_file = nor.data();
    WAN_CHECK(wan_comm_save(j.comms[0].get(), &j.p, &message) == WAN_ERR_INPUT && message.where == nowhere);
    WAN_CHECK_THAT(std::string(message.what).find("; " + nor + ": ") != std::string::npos, message.what);
    wan::chosen().forget("of a test");
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
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_file>), cmocka_unit_test(test<check_read_once>), cmocka_unit_test(test<check_keep>), cmocka_unit_test(test<check_save>),
                                cmocka_unit_test(test<check_contradictions>)};
    return cmocka_run_group_tests_name("boundary_files", tests, nullptr, nullptr);
}
