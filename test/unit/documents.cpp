/*
 * All documents of the project, and what there is: names of parameters, variables and algorithms, events and members of
 * reports, commands and their options, arguments of configure, variables of the environment.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
// Before cmocka, whose macro is `fail`.
#include <filesystem>
#include <regex>

#include "documentation.hpp"

#include "adaptive/service.hpp"

#include <map>
#include <set>

namespace {

using namespace wan;
using namespace wan_test;

/** All text of a directory's files, or of a file; programs of the build are none. */
std::string sources_of(const std::string &path)
{
    if (!std::filesystem::is_directory(test_file(path)))
        return read_all(test_file(path));
    std::string all;
    for (const auto &entry : std::filesystem::directory_iterator(test_file(path)))
        if (entry.is_directory() ? entry.path().filename() != "results" : entry.path().extension() != ".svg")
            all += sources_of(path + "/" + entry.path().filename().string());
    return all;
}

std::vector<std::filesystem::path> documents()
{
    std::vector<std::filesystem::path> files = {test_file("../README.md"), test_file("../NEWS"), test_file("README.md"),
                                                test_file("../debian/openmpi-wan.README.Debian")};
    for (const char *below : {"../doc", "../contrib", "../opal", "../ompi"})
        for (const auto &entry : std::filesystem::recursive_directory_iterator(test_file(below)))
            if (entry.path().extension() == ".md")
                files.push_back(entry.path());
    return files;
}

} // namespace

/** Every document of the project: what it names, in commands and tables, too, exists. */
std::string wan_test::check_names()
{
    std::set<std::string> known;
    const auto collect = [&](const std::string &text) {
        const std::regex name("(coll_wan|btl_udp)_[a-z0-9_]+");
        for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at)
            known.insert(at->str());
    };
    for (size_t i = 0; i < wan_knob_count(); ++i)
        known.insert("coll_wan_" + std::string(wan_knob_get(i)->name));
    for (size_t i = 0; i < wan_counter_count(); ++i)
        known.insert("coll_wan_" + counter_name(i));
    // Of btl/udp, and of all transports: what ompi_info shows (test/mpi/ompi_info), and its variables (test/udp/reference).
    collect(read_all(test_file("golden/ompi_info_udp.txt")));
    collect(read_all(test_file("../opal/mca/btl/udp/REFERENCE.md")));
    const std::regex name("(?:^|[^a-z_])((?:coll_wan|btl_udp)_[a-z0-9_]+)(\\*|\\.[ch]\\b)?"),
        chosen("(?:coll_wan_|--param )([a-z_]+)_algorithm(?:=| )([a-z]+)");
    const auto files = documents();
    WAN_CHECK(files.size() > 15);
    std::string wrong;
    for (const auto &file : files) {
        const std::string text = read_all(file);
        WAN_CHECK_THAT(!text.empty(), file.string());
        for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
            const std::string named = (*at)[1], after = (*at)[2];
            const auto first = known.lower_bound(named);
            const bool family = after == "*" || named.ends_with("_");
            if (after.starts_with(".") || (first != known.end() && (family ? first->starts_with(named) : *first == named)))
                continue;
            wrong += file.filename().string() + ": there is no " + named + after + "\n";
        }
        for (std::sregex_iterator at(text.begin(), text.end(), chosen), end; at != end; ++at) {
            const std::string how = (*at)[2];
            // Words of a sentence may follow a name, and then a blank.
            const bool given = at->str().find('=') != std::string::npos || text.substr(0, static_cast<size_t>(at->position())).ends_with("--mca ");
            bool exists = how == "automatic";
            for (int c = 0; c < WAN_COLLECTIVES; ++c)
                exists |= collective_name(collective_at(c)) == (*at)[1]
                          && (algorithm_named(collective_at(c), how) || (how == adaptive.name && adaptive_serves(collective_at(c))));
            if (given && !exists)
                wrong += file.filename().string() + ": there is no algorithm " + at->str() + "\n";
        }
    }
    WAN_CHECK_THAT(wrong.empty(), wrong);

    // Events of a report: doc/report.md lists each that the code has, and no other.
    std::set<std::string> told, happen;
    std::string text = read_all(test_file("../doc/report.md"));
    const size_t row = text.find("| `events` | `what` (");
    WAN_CHECK(row != text.npos);
    text = text.substr(row, text.find(')', row) - row);
    const std::regex word("[a-z]+_?[a-z_]*"), event("(?:happened|report_event|[^a-z]event)\\(([^;\"]*)\"([a-z_]+)\"(?: : \"([a-z_]+)\")?");
    const std::string list = text.substr(text.find('(') + 1);
    for (std::sregex_iterator at(list.begin(), list.end(), word), end; at != end; ++at)
        told.insert(at->str());
    for (const auto &entry : std::filesystem::recursive_directory_iterator(test_file("../ompi/mca/coll/wan"))) {
        if (entry.path().extension() != ".c" && entry.path().extension() != ".cpp")
            continue;
        const std::string code = read_all(entry.path());
        for (std::sregex_iterator at(code.begin(), code.end(), event), end; at != end; ++at)
            for (size_t group : {size_t{2}, size_t{3}})
                if ((*at)[group].matched)
                    happen.insert((*at)[group]);
    }
    for (const std::string &e : told)
        WAN_CHECK_THAT(happen.contains(e), "doc/report.md: there is no event " + e);
    for (const std::string &e : happen)
        WAN_CHECK_THAT(told.contains(e), "doc/report.md does not name the event " + e);
    return "";
}

/** doc/report.md names each member of a report, and no other. */
std::string wan_test::check_report_members()
{
    const std::regex member("(?:key|member|texts)\\(\"([a-z_0-9]+)\""), word("`([a-z_0-9]+)`");
    std::set<std::string> written, told;
    for (const auto &entry : std::filesystem::directory_iterator(test_file("../ompi/mca/coll/wan/core/report"))) {
        const std::string code = read_all(entry.path());
        for (std::sregex_iterator at(code.begin(), code.end(), member), end; at != end; ++at)
            written.insert((*at)[1]);
    }
    WAN_CHECK(written.size() > 80);
    const std::string text = read_all(test_file("../doc/report.md"));
    for (const std::string &name : written)
        WAN_CHECK_THAT(std::regex_search(text, std::regex("\\b" + name + "\\b")), "doc/report.md does not name the member " + name);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("| `"))
            for (std::sregex_iterator at(line.begin(), line.end(), word), end; at != end; ++at)
                WAN_CHECK_THAT(written.contains((*at)[1]) || (*at)[1] == "mpirun" || is_knob(at->str(1).substr(at->str(1).starts_with("coll_wan_") ? 9 : 0)),
                               "doc/report.md: no report has " + at->str());
    return "";
}

/** Options that documents give to the project's commands, and to configure, exist; those of configure are named somewhere. */
std::string wan_test::check_commands()
{
    // Commands of wan-info and their options: its completion, which test/info compares with the tool.
    std::map<std::string, std::string> commands;
    const std::string completion = read_all(test_file("../contrib/info/wan-info"));
    const std::regex branch("\n    ([a-z]+)\\) words='([^']*)'");
    for (std::sregex_iterator at(completion.begin(), completion.end(), branch), end; at != end; ++at)
        commands[(*at)[1]] = " " + at->str(2) + " ";
    WAN_CHECK(commands.size() >= 7);
    const std::map<std::string, std::string> tools = {
        {"bench/wanbench", sources_of("../contrib/bench")}, {"bench/udpbench", sources_of("../contrib/bench")},
        {"bench/ways", sources_of("../contrib/bench")}, {"bench/figure4", sources_of("../contrib/bench")},
        {"bench/changes", sources_of("../contrib/bench")},
        {"lab/lab", sources_of("../contrib/lab") + "'--mca' '--slice-us'"},       // of mpirun, and of what is run there
        {"sim/wansim", sources_of("../contrib/sim")}, {"demo", sources_of("../contrib/demo")},
        {"check", sources_of("../contrib/check")}, {"intree/into", sources_of("../contrib/intree/into")}};
    std::string configure = sources_of("../configure.ac");
    for (const char *file : {"bench", "cmocka", "crypto", "cxx", "hwloc", "openmpi", "simgrid"})
        configure += read_all(test_file("../config/wan_" + std::string(file) + ".m4"));
    const std::regex told("(wan-info|contrib/[a-z4]+(?:/[a-z4]+)?)(?: ([a-z]+))?((?: [^`|;#\n]*)?)"), option("--[a-z][a-z0-9-]*"),
        with("--(with|without|enable|disable)-([a-z-]+)"), argument("AC_ARG_(WITH|ENABLE)\\(\\[([a-z-]+)\\]");
    const std::regex quoted("\"[^\"]*\"|'[^']*'");      // words for other commands
    const std::set<std::string> of_others = {"ft", "devel-headers"};      // of mpirun, of Open MPI's configure
    std::set<std::string> of_configure, named;
    for (std::sregex_iterator at(configure.begin(), configure.end(), argument), end; at != end; ++at)
        of_configure.insert(at->str(2));
    std::string wrong;
    size_t seen = 0;
    for (const auto &file : documents()) {
        std::string text = read_all(file);
        for (size_t at; (at = text.find("\\\n")) != text.npos;)
            text.replace(at, 2, " ");
        const auto reject = [&](const std::string &what) { wrong += file.string() + ": " + what + "\n"; };
        for (std::sregex_iterator at(text.begin(), text.end(), told), end; at != end; ++at) {
            const std::string tool = (*at)[1], command = (*at)[2], rest = std::regex_replace(at->str(3), quoted, "");
            const bool info = tool == "wan-info", typed = at->position() > 0 && (text[static_cast<size_t>(at->position()) - 1] == '`' || text.substr(0, static_cast<size_t>(at->position())).ends_with("    "));
            const auto known = info ? commands.find(command) : commands.end();
            const auto source = tools.find(tool.substr(tool.find('/') + 1));
            if (info && typed && !command.empty() && known == commands.end())
                reject("wan-info has no command " + command);
            for (std::sregex_iterator o(rest.begin(), rest.end(), option); o != end; ++o, ++seen)
                if (info ? known == commands.end() || known->second.find(" " + o->str() + " ") == std::string::npos
                         : source != tools.end() && source->second.find(o->str()) == std::string::npos)
                    reject(tool + " " + command + " has no " + o->str());
        }
        for (std::sregex_iterator at(text.begin(), text.end(), with), end; at != end; ++at) {
            named.insert(at->str(2));
            if (!of_configure.contains(at->str(2)) && !of_others.contains(at->str(2)))
                reject("configure has no " + at->str());
        }
    }
    WAN_CHECK_THAT(wrong.empty(), wrong);
    WAN_CHECK(seen > 100);
    for (const std::string &name : of_configure)
        WAN_CHECK_THAT(named.contains(name), "no document names configure's argument " + name);
    // mttl's variables of the environment.
    std::set<std::string> read, said;
    const std::string code = sources_of("../contrib/mttl/mttl"), text = read_all(test_file("../contrib/mttl/README.md"));
    const std::regex in_code("\"(MTTL_[A-Z_]+)\""), in_text("(MTTL_[A-Z_]+)");
    for (std::sregex_iterator at(code.begin(), code.end(), in_code), end; at != end; ++at)
        read.insert(at->str(1));
    for (std::sregex_iterator at(text.begin(), text.end(), in_text), end; at != end; ++at)
        said.insert(at->str(1));
    WAN_CHECK(read.size() >= 5 && read == said);
    return "";
}

/** contrib/mttl/REFERENCE.md is what mttl may say: the beginnings of its exceptions' texts, and what goes to standard error. */
std::string wan_test::check_mttl_messages()
{
    const std::regex thrown("throw (?:std::out_of_range|error|wire_error)\\(\"((?:[^\"\\\\]|\\\\.)*)\"(\\))?"),
        printed("fprintf\\(stderr, \"((?:[^\"\\\\]|\\\\.)*)\"");
    std::set<std::string> wire, errors, lines;
    for (const auto &entry : std::filesystem::directory_iterator(test_file("../contrib/mttl/mttl"))) {
        const std::string code = read_all(entry.path());
        for (std::sregex_iterator at(code.begin(), code.end(), thrown), end; at != end; ++at)
            (at->str().find("wire_error") != std::string::npos ? wire : errors).insert(at->str(1) + ((*at)[2].matched ? "" : "..."));
        for (std::sregex_iterator at(code.begin(), code.end(), printed), end; at != end; ++at)
            lines.insert(at->str(1).substr(0, at->str(1).rfind("\\n")));
    }
    WAN_CHECK(wire.size() >= 8 && errors.size() >= 25 && lines.size() >= 2);
    std::ostringstream text;
    text << "# What mttl says\n\nWritten by `test/unit/documentation` from the headers; `...` is what depends on the case.\n";
    for (const auto &[head, all] : {std::pair{"Exceptions of wrong use, `mttl::error` or `std::out_of_range`: of the call that is named, or, for what was invoked elsewhere, of "
                                              "its future",
                                              &errors},
                                    {"Exceptions of bytes that mttl has not written so, `mttl::wire_error`: nodes run other versions, or an own `serial<T>` reads other than it writes",
                                     &wire},
                                    {"To standard error", &lines}}) {
        text << "\n## " << head << "\n\n";
        for (const std::string &m : *all)
            text << "- `" << m << "`\n";
    }
    return golden_compare(test_file("../contrib/mttl/REFERENCE.md"), text.str());
}
