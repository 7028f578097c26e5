/*
 * What users read about btl/udp's parameters and messages is what the code has: the reference and the manual page are
 * written from io/knobs.cpp, the tables of btl_udp_component.c and btl_udp_flow.c and the help texts; README's table of
 * parameters tells the defaults.  To write both anew, in the build directory:
 *
 *     make check TESTS=test/udp/reference WAN_GOLDEN_WRITE=1
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
// Before cmocka, whose macro is `fail`.
#include <filesystem>
#include <regex>

#include "udp_core.h"

#include "unit.hpp"
#include "wan_config.h"

#include <utility>

namespace {

using namespace wan_test;

const std::string place = "../opal/mca/btl/udp/";

std::string initial_of(const udp_knob_t &k)
{
    return k.type == UDP_KNOB_STRING ? "empty"
           : k.type == UDP_KNOB_ENUM ? udp_knob_enumerator(&k, static_cast<int>(k.initial))
                                     : std::to_string(k.initial);
}

/** Names, each with its sentence, in the order of the sources. */
using told = std::vector<std::pair<std::string, std::string>>;

told variables()
{
    told all;
    const std::regex counter("\\{ \"([a-z_]+)\", \"([^\"]+)\", offsetof");
    for (const char *file : {"btl_udp_component.c", "btl_udp_flow.c"}) {
        const std::string code = read_all(test_file(place + file));
        for (std::sregex_iterator at(code.begin(), code.end(), counter), end; at != end; ++at)
            all.emplace_back("btl_udp_" + (*at)[1].str(), (*at)[2].str() + ".");
    }
    return all;
}

told messages()
{
    told all;
    std::istringstream lines(read_all(test_file(place + "help-mpi-btl-udp.txt")));
    std::string name, sentence;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("[")) {
            name = line.substr(1, line.size() - 2);
        } else if (line.empty() && !name.empty()) {
            all.emplace_back(std::exchange(name, ""), std::exchange(sentence, ""));
        } else if (!name.empty()) {
            sentence += (sentence.empty() ? "" : " ") + line;
        }
    }
    return all;
}

std::string reference()
{
    std::ostringstream text;
    text << "# Reference of btl/udp\n\n"
            "Written by `test/udp/reference` from the code; `ompi_info --param btl udp --level 9` shows the parameters.\n\n"
            "## Parameters\n";
    for (size_t i = 0; i < udp_knob_count(); ++i) {
        const udp_knob_t &k = *udp_knob_get(i);
        text << "\n`btl_udp_" << k.name << "` (default " << initial_of(k) << ", level " << k.level << "): " << k.help << ".\n";
    }
    text << "\n## Performance variables\n\nBy MPI_T, of each process over all its peers; `btl_udp_peer_*` of a communicator, a value for each rank.\n";
    for (const auto &[name, sentence] : variables())
        text << "\n`" << name << "`: " << sentence << "\n";
    text << "\n## Messages\n\nEach says what, and what to do about it (`help-mpi-btl-udp.txt`).\n";
    for (const auto &[name, sentence] : messages())
        text << "\n`" << name << "`: " << sentence << "\n";
    return text.str();
}

std::string roff(const std::string &text) { return std::regex_replace(text, std::regex("-"), "\\-"); }

/** btl_udp(7): what btl_udp.7.in says, with parameters, variables and messages in their places. */
std::string manual_page()
{
    const auto items = [](const told &all) {
        std::string text;
        for (const auto &[name, sentence] : all)
            text += (text.empty() ? ".TP\n\\fB" : "\n.TP\n\\fB") + roff(name) + "\\fR\n" + roff(sentence);
        return text;
    };
    told parameters;
    for (size_t i = 0; i < udp_knob_count(); ++i) {
        const udp_knob_t &k = *udp_knob_get(i);
        parameters.emplace_back(std::string("btl_udp_") + k.name, std::string(k.help) + ". Default: " + initial_of(k) + ".");
    }
    std::string page = read_all(test_file(place + "btl_udp.7.in"));
    for (const auto &[mark, text] : told{{"@VERSION@", PACKAGE_VERSION}, {"@PARAMETERS@", items(parameters)},
                                         {"@VARIABLES@", items(variables())}, {"@MESSAGES@", items(messages())}}) {
        const size_t at = page.find(mark);
        if (at == page.npos)
            return "btl_udp.7.in has no " + mark;
        page.replace(at, mark.size(), text);
    }
    return page;
}

std::string check_reference()
{
    const std::string now = reference();
    // No parameter, variable or message has been overlooked by what looks for them.
    WAN_CHECK(udp_knob_count() > 15 && now.find("`btl_udp_datagrams_sent`") != now.npos && now.find("`btl_udp_delay_max`") != now.npos && now.find("`btl_udp_peer_queue`") != now.npos
              && now.find("\n`peer-dead`: A process does not answer any more.\n") != now.npos);
    return golden_compare(test_file(place + "REFERENCE.md"), now);
}

std::string check_manual_page() { return golden_compare(test_file(place + "btl_udp.7"), manual_page()); }

/** Each parameter that README names exists, and where a row tells a default, it is that. */
std::string check_readme()
{
    const std::string readme = read_all(test_file(place + "README.md")) + read_all(test_file("../doc/administrator.md"))
                               + read_all(test_file("../README.md"))
                               + std::regex_replace(read_all(test_file(place + "btl_udp.7.in")), std::regex("\\\\f."), "");
    const std::regex named("btl_udp_([a-z_]+)"), row("\n\\| `btl_udp_([a-z_]+)` \\| ([^|]*?) \\|");
    const std::string variables = reference();
    for (std::sregex_iterator at(readme.begin(), readme.end(), named), end; at != end; ++at) {
        const std::string name = (*at)[1];
        bool known = variables.find("`btl_udp_" + name + "`") != variables.npos
                     || std::filesystem::exists(test_file(place + at->str() + ".c")) || std::filesystem::exists(test_file(place + at->str() + ".h"));
        known |= name.ends_with("_");       // of files: btl_udp_*.c
        WAN_CHECK_THAT(known, "README or manual page: there is no " + at->str());
    }
    size_t rows = 0;
    for (std::sregex_iterator at(readme.begin(), readme.end(), row), end; at != end; ++at)
        for (size_t i = 0; i < udp_knob_count(); ++i)
            if (const udp_knob_t &k = *udp_knob_get(i); (*at)[1] == k.name && k.type != UDP_KNOB_STRING) {
                const std::string said = (*at)[2];
                WAN_CHECK_THAT(said.starts_with(initial_of(k)), at->str() + ": it is " + initial_of(k));
                ++rows;
            }
    WAN_CHECK(rows >= 3);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_reference>), cmocka_unit_test(test<check_manual_page>), cmocka_unit_test(test<check_readme>)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
