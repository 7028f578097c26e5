/*
 * What users read about algorithms and parameters is what the code has: the
 * reference is written from registry and knobs, and README's tables name each
 * of them.  To write the reference anew, in the build directory:
 *
 *     make check TESTS=test/unit/documentation WAN_GOLDEN_WRITE=1
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/registry.hpp"
#include "wan_core.h"

#include "adaptive/service.hpp"
#include "unit.hpp"

#include <map>

namespace {

using namespace wan;
using namespace wan_test;

std::string collective_name(wan_collective_t c) { return kind_of(c).name; }

std::string parameters_of(const algorithm &a)
{
    std::string text;
    auto add = [&](int flag, const char *name) {
        if (a.parameters & flag)
            text += (text.empty() ? "" : ", ") + std::string(name);
    };
    add(uses_links, "n (`coll_wan_links`)");
    add(uses_segment, "segment (`coll_wan_segment`)");
    add(uses_tree, "shape of the tree");
    add(uses_entries, kind_of(a.collective).root && kind_of(a.collective).blocks && std::string(a.name) == "direct" ? "ranks of the root's site at once" : "entries of a remote site");
    add(uses_far_limit, "messages of a rank to other sites at once");
    add(uses_order, "order of sites");
    add(uses_inner, "steps inside a site");
    add(uses_pieces, "pieces of a block");
    constexpr int all = uses_links | uses_segment | uses_tree | uses_entries | uses_order | uses_inner | uses_stripes | uses_pieces | uses_far_limit;
    if (a.parameters & ~all)
        throw std::logic_error(std::string(a.name) + " uses a parameter that the reference does not know");
    if (a.parameters & uses_stripes)
        text += "; n below the allowed where that is faster";
    return text.empty() ? "none" : text;
}

const char *operators_of(const algorithm &a)
{
    return a.only_ordered ? "; operators that do not commute" : a.keeps_order ? "; any operator" : "; operators that commute";
}

std::string value_of(const wan_knob_t &k)
{
    if (k.type == WAN_KNOB_STRING)
        return "empty";
    return k.type == WAN_KNOB_ENUM ? "automatic" : std::to_string(k.initial);
}

std::string reference()
{
    std::ostringstream text;
    text << "# Reference of coll/wan\n\n"
            "Written by `test/unit/documentation` from the code (core/algo/registry.hpp,\n"
            "core/knobs.cpp); `ompi_info --param coll wan --level 9` shows the parameters.\n\n"
            "## Algorithms\n";
    for (int i = 0; i < WAN_COLLECTIVES; ++i) {
        const auto c = collective_at(i);
        text << "\n### coll_wan_" << collective_name(c) << "_algorithm\n\n"
             << "0 `automatic`: chosen for each call from the measured links.\n";
        for (int k = 1; const algorithm *a = algorithm_at(c, k); ++k)
            text << "\n" << k << " `" << a->name << "`: " << a->summary << ".\n"
                 << "- for " << (a->long_messages ? "long" : "short") << " messages"
                 << (a->automatic ? "" : ", only by name")
                 << (kind_of(c).operation ? operators_of(*a) : "") << "\n"
                 << "- parameters: " << parameters_of(*a) << "\n"
                 << "- source: " << a->source << "\n";
        if (adaptive_serves(c))
            text << "\n" << algorithm_count(c) + 1 << " `" << adaptive.name << "`: " << adaptive.summary << ".\n"
                 << "- only by name; its parameters are `coll_wan_tree_*`, `coll_wan_segment`"
                 << (kind_of(c).operation ? ", `coll_wan_reduce_timeout`" : "") << "\n"
                 << "- source: " << adaptive.source << "\n";
    }
    text << "\n## Parameters\n";
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const wan_knob_t &k = *wan_knob_get(i);
        text << "\n`coll_wan_" << k.name << "` (default " << value_of(k) << ", level " << k.level << "): " << k.help << ".\n";
    }
    return text.str();
}

std::string check_reference() { return golden_compare(test_file("../ompi/mca/coll/wan/REFERENCE.md"), reference()); }

std::string check_readme()
{
    const std::string readme = read_all(test_file("../README.md"));
    WAN_CHECK(!readme.empty());
    auto rows = [&](const std::string &beginning) {
        size_t found = 0;
        for (size_t at = 0; (at = readme.find("\n| " + beginning, at)) != readme.npos; ++at)
            ++found;
        return found;
    };
    for (const algorithm *a : algorithms())
        WAN_CHECK_THAT(rows(collective_name(a->collective) + " `" + a->name + "` |") == 1, a->name);
    size_t all = 0, by_trees = 0;
    for (int c = 0; c < WAN_COLLECTIVES; ++c) {
        all += rows(collective_name(collective_at(c)) + " `");
        by_trees += adaptive_serves(collective_at(c));
        WAN_CHECK(rows(collective_name(collective_at(c)) + " `adaptive` |") == adaptive_serves(collective_at(c)));
    }
    WAN_CHECK(all == algorithms().size() + by_trees);
    for (size_t i = 0; i < wan_knob_count(); ++i)
        WAN_CHECK_THAT(readme.find("`coll_wan_" + std::string(wan_knob_get(i)->name) + "`") != readme.npos, wan_knob_get(i)->name);
    return "";
}

/** The table of parameters: `| names | default | meaning |`, each knob once, with its default. */
std::string check_defaults()
{
    std::istringstream readme(read_all(test_file("../README.md")));
    std::string line, names, value;
    std::map<std::string, std::string> told;
    while (std::getline(readme, line)) {
        std::istringstream cells(line);
        if (!line.starts_with("| `coll_wan_") || !std::getline(cells, names, '|') || !std::getline(cells, names, '|')
            || !std::getline(cells, value, '|'))
            continue;
        while (value.ends_with(' '))
            value.pop_back();
        for (size_t at = 0; (at = names.find("`coll_wan_", at)) != names.npos;) {
            const size_t from = at + std::string("`coll_wan_").size();
            at = names.find('`', from);
            const std::string name = names.substr(from, at - from);
            WAN_CHECK_THAT(told.emplace(name, value.empty() ? "empty" : value.substr(1)).second, name);
        }
    }
    WAN_CHECK(told.size() == wan_knob_count());
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const wan_knob_t &k = *wan_knob_get(i);
        WAN_CHECK_THAT(told[k.name] == value_of(k), std::string(k.name) + ": README says " + told[k.name] + ", the knob " + value_of(k));
    }
    return "";
}

/** Most sites of two hosts whose messages of this length are served by themselves. */
int most_sites(wan_collective_t c, bool long_messages)
{
    int most = 0;
    for (int sites = 100; sites <= 1000; sites += 10) {
        const topology t = topology::blocks(std::vector<int>(static_cast<size_t>(sites), 2));
        for (const algorithm *a : algorithms())
            if (a->collective == c && a->automatic && a->long_messages == long_messages && a->serves(t, {.collective = c}) && !a->only_ordered)
                most = std::max(most, sites);
    }
    return most;
}

std::string check_limits()
{
    std::string readme = read_all(test_file("../README.md"));
    readme = readme.substr(readme.find("## Limits"));
    for (char &c : readme)
        c = c == '\n' ? ' ' : c;
    while (readme.find("  ") != readme.npos)
        readme.erase(readme.find("  "), 1);
    const auto number = [](wan_collective_t c, bool l) { return std::to_string(most_sites(c, l)); };
    for (const std::string &said : {"Beyond " + number(WAN_ALLREDUCE, true) + " sites Allreduce is Open MPI's own",
                                    "beyond " + number(WAN_ALLREDUCE, false) + " sites (Bcast: beyond " + number(WAN_BCAST, false) + ")"})
        WAN_CHECK_THAT(readme.find(said) != readme.npos, said);
    WAN_CHECK(most_sites(WAN_BCAST, true) == 1000);     // no such limit
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_reference>), cmocka_unit_test(test<check_readme>),
                                cmocka_unit_test(test<check_defaults>), cmocka_unit_test(test<check_limits>)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
