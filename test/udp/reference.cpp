/*
 * What users read about btl/udp's parameters and messages is what the code has: the reference is
 * written from io/knobs.cpp, the tables of btl_udp_component.c and btl_udp_flow.c and the help texts; README's table of
 * parameters tells the defaults.  To write the reference anew, in the build directory:
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
    const std::regex counter("\\{ \"([a-z_]+)\", \"([^\"]+)\", offsetof");
    for (const char *file : {"btl_udp_component.c", "btl_udp_flow.c"}) {
        const std::string code = read_all(test_file(place + file));
        for (std::sregex_iterator at(code.begin(), code.end(), counter), end; at != end; ++at)
            text << "\n`btl_udp_" << (*at)[1] << "`: " << (*at)[2] << ".\n";
    }
    text << "\n## Messages\n\nEach says what, and what to do about it (`help-mpi-btl-udp.txt`).\n";
    std::istringstream lines(read_all(test_file(place + "help-mpi-btl-udp.txt")));
    std::string sentence;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("["))
            sentence = "\n`" + line.substr(1, line.size() - 2) + "`:";
        else if (line.empty() && !sentence.empty())
            text << std::exchange(sentence, "") << "\n";
        else if (!sentence.empty())
            sentence += " " + line;
    }
    return text.str();
}

std::string check_reference()
{
    const std::string now = reference();
    // No parameter, variable or message has been overlooked by what looks for them.
    WAN_CHECK(udp_knob_count() > 15 && now.find("`btl_udp_datagrams_sent`") != now.npos && now.find("`btl_udp_delay_max`") != now.npos && now.find("`btl_udp_peer_queue`") != now.npos
              && now.find("\n`peer-dead`: A process does not answer any more.\n") != now.npos);
    return golden_compare(test_file(place + "REFERENCE.md"), now);
}

/** Each parameter that README names exists, and where a row tells a default, it is that. */
std::string check_readme()
{
    const std::string readme = read_all(test_file(place + "README.md")) + read_all(test_file("../doc/administrator.md"))
                               + read_all(test_file("../README.md"));
    const std::regex named("btl_udp_([a-z_]+)"), row("\n\\| `btl_udp_([a-z_]+)` \\| ([^|]*?) \\|");
    const std::string variables = reference();
    for (std::sregex_iterator at(readme.begin(), readme.end(), named), end; at != end; ++at) {
        const std::string name = (*at)[1];
        bool known = variables.find("`btl_udp_" + name + "`") != variables.npos
                     || std::filesystem::exists(test_file(place + at->str() + ".c")) || std::filesystem::exists(test_file(place + at->str() + ".h"));
        known |= name.ends_with("_");       // of files: btl_udp_*.c
        WAN_CHECK_THAT(known, "README: there is no " + at->str());
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
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_reference>), cmocka_unit_test(test<check_readme>)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
