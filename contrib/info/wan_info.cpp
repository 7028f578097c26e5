/*
 * wan-info: shows what coll/wan would do and whether it is well, without a job.  It links the
 * plugin's core, so that what it tells is what the plugin decides.
 *
 * Here: the command line.  Next: info_cluster.hpp (the job that is thought of), info_plan.hpp,
 * info_check.hpp, info_doctor.hpp.
 *
 * Exit code: 0, 1 (something is wrong with what was looked at), 2 (with the command line, or with reading and writing).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#if !__has_include(<CLI/CLI.hpp>) || !__has_include(<nlohmann/json.hpp>)
#error "wan-info needs CLI11 and nlohmann/json (Debian: apt-get install libcli11-dev nlohmann-json3-dev)"
#endif
#include "info_check.hpp"
#include "info_contention.hpp"
#include "info_doctor.hpp"
#include "info_links.hpp"
#include "info_pages.hpp"
#include "info_plan.hpp"
#include "info_report.hpp"
#include "wan_config.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace {

void hosts_declare(CLI::App &app, info::cluster_words &w)
{
    app.add_option("--map", w.map, "map of hosts and sites, or Slurm's topology.conf; as coll_wan_cluster_map")
        ->type_name("FILE");
    app.add_option("--hosts", w.hosts, "these hosts of the map, such as n[001-016],gw1")->type_name("LIST");
    app.add_option("--hostfile", w.hostfile, "the hosts of mpirun's hostfile, with their slots")->type_name("FILE");
    app.add_option("--shape", w.shape, "no map: 2x16 (sites x hosts) or 3+11+5 (hosts of each site)")->type_name("SHAPE");
    app.add_option("--ranks-per-host", w.per_host, "ranks on each host; 0: its slots in the hostfile, else 1")
        ->type_name("N");
    app.add_option("--param", w.settings, "a parameter of coll/wan, such as links=4 or bcast_algorithm=chain")
        ->type_name("NAME=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void job_declare(CLI::App &app, info::plan_words &w)
{
    hosts_declare(app, w.where);
    app.add_option("collective", w.collective, "bcast, allreduce, ..., also as MPI_Bcast or allgatherv")
        ->type_name("COLLECTIVE")
        ->required();
    app.add_option("--placement", w.where.placement,
                   "ranks over hosts: block, roundrobin (over sites), shuffled or shuffled:SEED")
        ->type_name("HOW")
        ->capture_default_str();
    app.add_option("--latency", w.where.latency, "one way between sites where the map tells none; a job measures it")
        ->type_name("TIME");
    app.add_option("--nic", w.where.nic, "rate of a host's interface, where the map tells none")->type_name("RATE");
    app.add_option("--uplink", w.where.uplink,
                   "rate that the hosts of a site share on their way to others, where the map tells none")
        ->type_name("RATE");
    app.add_option("--inside", w.where.inside, "one way inside a site")->type_name("TIME");
    app.add_option("--message", w.where.message, "what a process spends on a message")->type_name("TIME");
    app.add_option("--step", w.where.step, "a step in which all hosts of a site exchange messages and wait for them")
        ->type_name("TIME");
    app.add_option("--burst", w.where.burst, "bytes that an interface lets pass at once after a pause")
        ->type_name("SIZE");
    app.add_option("--eager", w.where.eager, "Open MPI's limit of what is sent to another host at once (btl_tcp_eager_limit)")
        ->type_name("SIZE");
    app.add_option("--root", w.root, "rank of the root")->type_name("RANK")->capture_default_str();
    app.add_flag("--ordered", w.ordered, "an operator that does not commute");
    app.add_flag("--simulate", w.simulate, "each algorithm's schedules run over these links in simulated time, which no prediction enters");
    app.add_flag("--json", w.json, "for programs");
}

void plan_declare(CLI::App &app, info::plan_words &plan)
{
    job_declare(app, plan);
    app.add_option("size", plan.size,
                   "bytes, 64K, 1M: of the message, or of a rank's block where there are blocks (alltoall: of a pair's)")
        ->type_name("SIZE")
        ->capture_default_str();
    app.add_flag("--all", plan.all, "every candidate, not each algorithm's best");
    app.add_option("--draw", plan.draw, "write an SVG picture of who sends to whom; - is standard output")
        ->type_name("FILE");
    app.add_option("--schedule", plan.schedule_of, "print this rank's operations instead")->type_name("RANK");
}

void doctor_declare(CLI::App &app, info::doctor_words &doctor)
{
    app.add_option("--rate", doctor.rate, "of the way between sites, for which buffers are judged")
        ->type_name("RATE")
        ->capture_default_str();
    app.add_option("--latency", doctor.latency, "one way between sites, for the same")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_flag("--no-jobs", doctor.no_jobs, "start nothing by mpirun");
    app.add_option("--udp", doctor.udp, "does UDP reach this host, and come back? There: wan-info doctor --answer PORT")->type_name("HOST:PORT");
    app.add_option("--answer", doctor.answer, "answer another host's --udp on this port, for two minutes, and do nothing else")
        ->type_name("PORT")
        ->check(CLI::Range(1, 65535));
}

/** An example under each command's --help, which is told, too, where something is wrong. */
constexpr std::string_view example_mark = "Example: ";
void example(CLI::App &command, const char *words) { command.footer(std::string(example_mark) + "wan-info " + command.get_name() + words); }

/** All options of all commands, where their callbacks find them. */
struct command_line {
    info::cluster_words hosts;
    info::plan_words plan, compare;
    info::doctor_words doctor;
    info::report_words report;
    info::contention_words contention;
    std::vector<std::string> files, rules, links;
    bool each = false, json = false, strict = false, links_json = false;
    std::string page = "wan-info";
    int code = 0;           // of the command that ran

    void declare(CLI::App &app);
};

void command_line::declare(CLI::App &app)
{
    CLI::App &sites = *app.add_subcommand(
        "sites", "The sites of hosts, as the plugin reads them from a map; without any option, of this host.");
    hosts_declare(sites, hosts);
    example(sites, " --map /etc/wan-sites --hostfile hosts");
    sites.add_flag("--each", each, "a line for each host, with the line of the map");
    sites.add_flag("--json", json, "for programs");
    sites.callback([this] { code = info::sites_run(hosts, each, json); });

    CLI::App &show = *app.add_subcommand(
        "plan", "What would be chosen for one call: all algorithms with their predicted times, the number n of "
                "processes that send across at once, the segment, what crosses between sites.");
    plan_declare(show, plan);
    example(show, " bcast 1M --shape 2x16 --latency 10ms --nic 40Mb/s");
    show.callback([this] { code = info::plan_run(plan); });

    CLI::App &table = *app.add_subcommand("compare", "Predicted times of all algorithms of a collective over sizes.");
    job_declare(table, compare);
    example(table, " allreduce --shape 2x16 --sizes 1..16M:16");
    table.add_option("--sizes", compare.sizes, "1,1K,64K or 1..16M or 64K..16M:4")
        ->type_name("SIZES")
        ->capture_default_str();
    table.callback([this] { code = info::compare_run(compare); });

    CLI::App &check = *app.add_subcommand(
        "check", "Reads maps, Slurm's topology.conf, or files of rules, and says what is wrong in which line, and what to write.");
    CLI::Option *maps = check.add_option("file", files, "the maps")->type_name("FILE");
    CLI::Option *ruled = check.add_option("--rules", rules, "a file for coll_wan_rules or coll_wan_tune_file")->type_name("FILE")->allow_extra_args(false);
    check.add_flag("--strict", strict, "exit code 1 for warnings, too");
    example(check, " /etc/wan-sites");
    check.callback([this, maps, ruled] {
        if (maps->empty() && ruled->empty())
            throw CLI::ValidationError("a map, or --rules FILE, is missing");
        code = info::check_run(files, rules, strict);
    });

    CLI::App &told = *app.add_subcommand(
        "report", "What happened in a job, from the file that it wrote (--mca coll_wan_report FILE.json): sites, links, "
                  "calls, their times and the least possible, plans and why; with two files, both side by side; with more, which is of which job.");
    told.add_option("file", report.files, "the report; two, side by side; more: which is of which rank of which job; for --html those of other ranks of the job behind it, which complete adaptive trees")->type_name("FILE")->required();
    told.add_option("--html", report.html, "write a page with map, trees and time line instead; - is standard output")
        ->type_name("FILE");
    example(told, " run.json --html run.html");
    told.callback([this] { code = info::report_run(report); });

    CLI::App &ways = *app.add_subcommand(
        "links", "What a job has measured of the links between its sites, from the file that it kept (--mca coll_wan_links_file "
                 "FILE); with two files, both side by side: exit code 1 where a figure differs by more than half.");
    ways.add_option("file", links, "the file, or two of them")->type_name("FILE")->required();
    ways.add_flag("--json", links_json, "for programs");
    example(ways, " before.links now.links");
    ways.callback([this] { code = info::links_run(links, links_json); });

    CLI::App &shared = *app.add_subcommand(
        "contention", "What a placement on a fat tree leaves of its links to exchanges of all with all (Alltoall inside a site), on average, "
                      "and the algorithms in the order that this predicts. The tree: Slurm's topology.conf, with comments '#wan: uplinks=4' "
                      "(of each leaf switch, or in the line of one) and '#wan: routing=position' or 'routing=name'.");
    shared.add_option("topology", contention.topology, "Slurm's topology.conf")->type_name("TOPOLOGY")->required();
    shared.add_option("hosts", contention.hosts, "the job's hosts, such as n[001-016],gw1")->type_name("HOSTS")->required();
    shared.add_option("--ranks-per-host", contention.per_host, "ranks on each host")->type_name("N")->capture_default_str();
    shared.add_option("--size", contention.size, "bytes of a pair of ranks: 64K, 1M")->type_name("SIZE")->capture_default_str();
    shared.add_option("--rate", contention.rate, "of a host's link, and of each uplink")->type_name("RATE")->capture_default_str();
    shared.add_option("--latency", contention.latency, "of a message, one way")->type_name("TIME")->capture_default_str();
    shared.add_flag("--json", contention.json, "for programs");
    example(shared, " /etc/slurm/topology.conf n[001-016],n[033-048]");
    shared.callback([this] { code = info::contention_run(contention); });

    CLI::App &heal = *app.add_subcommand(
        "doctor", "Is the plugin found, by Open MPI and by jobs, and if not, why? Versions, the site of this host, "
                  "the kernel's buffers; with --udp, whether UDP reaches another host, for btl/udp. Starts one process by mpirun. OMPI_INFO and MPIRUN in the environment name "
                  "those of another Open MPI.");
    doctor_declare(heal, doctor);
    example(heal, " --rate 10Gb/s --latency 40ms");
    heal.callback([this] { code = info::doctor_run(doctor); });

    CLI::App &manual = *app.add_subcommand("manual", "")->group("");
    example(manual, "");
    manual.add_option("page", page)->check(CLI::IsMember({"wan-info", "coll_wan"}));
    manual.callback([this, &app] { std::cout << (page == "coll_wan" ? info::plugin_page() : info::manual_page(app)); });
    CLI::App &complete = *app.add_subcommand("completion", "")->group("");
    example(complete, "");
    complete.callback([&app] { std::cout << info::completion(app); });
}

/** Words that nobody has taken, as they stand in the command line. */
std::string unknown_words(const CLI::App &app, const std::vector<std::string> &line)
{
    std::vector<std::string> left = app.remaining(true), found;     // in an order of CLI11's own
    for (const std::string &word : line)
        if (const auto it = std::find(left.begin(), left.end(), word); it != left.end()) {
            found.push_back("'" + word + "'");
            left.erase(it);
        }
    return info::joined(found, ", ") + (found.size() == 1 ? " is" : " are") + " not known here";
}

/** What is wrong with the command line, and what to write, which CLI11's own words do not say. */
std::string fault_text(const CLI::App &app, const CLI::ParseError &e, const std::vector<std::string> &line)
{
    const std::string first = line.empty() ? "" : line[0];
    if (app.get_subcommands().empty()) {
        std::string all;
        for (const CLI::App *c : app.get_subcommands([](const CLI::App *x) { return !x->get_group().empty(); }))
            all += (all.empty() ? "" : ", ") + c->get_name();
        return "wan-info: " + (first.empty() ? "a command is missing" : "'" + first + "' is no command") + ": write one of " + all
               + "; wan-info COMMAND --help says more";
    }
    const CLI::App &command = *app.get_subcommands().front();
    std::string what = e.what();
    std::string option;     // what is before such words of CLI11's
    const auto has = [&](const char *words) {
        const size_t at = what.find(words);
        option = what.substr(0, at);
        return at != what.npos;
    };
    if (dynamic_cast<const CLI::ExtrasError *>(&e)) {
        what = unknown_words(app, line);
    } else if (dynamic_cast<const CLI::RequiredError *>(&e)) {
        for (const CLI::Option *o : command.get_options())
            if (o->get_required() && o->count() == 0)
                what = o->get_type_name() + " is missing";
    } else if (has(": 1 required ")) {
        what = option + ": what belongs to it is missing";
    } else if (has(": At Most 1 required ")) {
        what = option + " is given more than once";
    } else if (dynamic_cast<const CLI::ConversionError *>(&e) && what.starts_with("Could not convert: ") && has(" = ")) {
        what = option.substr(option.find(": ") + 2) + ": '" + what.substr(option.size() + 3) + "' is no number that it may be";
    }
    const std::string name = "wan-info " + command.get_name();
    return name + ": " + what + ": write, for example, " + command.get_footer().substr(example_mark.size()) + "; " + name
           + " --help says what else there is";
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Shows which sites coll/wan would find, what it would choose for a collective and what that would "
                 "take, checks maps of hosts, and finds out why an installation does not work.",
                 "wan-info");
    app.require_subcommand(1);
    app.set_version_flag("--version", "wan-info " PACKAGE_VERSION);
    command_line given;
    given.declare(app);
    // A variable of a shell that has nothing in it, mostly.
    for (CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
        for (CLI::Option *o : command->get_options())
            if (o->get_type_size() > 0)
                o->check([](const std::string &value) { return std::string(value.empty() ? "nothing is given" : ""); });
    try {
        app.parse(argc, argv);
        errno = 0;
        if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout))
            throw info::wrong_word(std::string("standard output takes no more: what is told there is not whole") + (errno ? std::string(": ") + std::strerror(errno) : ""));
        return given.code;
    } catch (const CLI::ParseError &e) {
        if (e.get_exit_code() == 0)     // --help, --version
            return app.exit(e);
        std::cerr << fault_text(app, e, {argv + std::min(argc, 1), argv + argc}) << "\n";
        return 2;
    } catch (const std::exception &e) {
        std::cerr << "wan-info: " << e.what() << "\n";
        return 2;
    }
}
