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

#include "unit.hpp"

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
    add(uses_order, "order of sites");
    add(uses_inner, "steps inside a site");
    add(uses_pieces, "pieces of a block");
    constexpr int all = uses_links | uses_segment | uses_tree | uses_entries | uses_order | uses_inner | uses_stripes | uses_pieces;
    if (a.parameters & ~all)
        throw std::logic_error(std::string(a.name) + " uses a parameter that the reference does not know");
    if (a.parameters & uses_stripes)
        text += "; n below the allowed where that is faster";
    return text.empty() ? "none" : text;
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
                 << (kind_of(c).operation ? a->keeps_order ? "; any operator" : "; operators that commute" : "") << "\n"
                 << "- parameters: " << parameters_of(*a) << "\n"
                 << "- source: " << a->source << "\n";
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
    size_t all = 0;
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        all += rows(collective_name(collective_at(c)) + " `");
    WAN_CHECK(all == algorithms().size());
    for (size_t i = 0; i < wan_knob_count(); ++i)
        WAN_CHECK_THAT(readme.find("`coll_wan_" + std::string(wan_knob_get(i)->name) + "`") != readme.npos, wan_knob_get(i)->name);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_reference>), cmocka_unit_test(test<check_readme>)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
