/*
 * The grammar of site names, and where the WAN site ends in them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/site_name.hpp"

#include <string>

#include "unit.hpp"

namespace {

using namespace wan_test;

struct good_name {
    const char *name, *site, *inner, *canonical;    // inner: levels joined by '|'
};

const good_name good_names[] = {
    {"paris", "paris", "", "paris"},
    {"eu/paris", "eu/paris", "", "eu/paris"},
    {"eu/paris/rack3", "eu/paris", "rack3", "eu/paris/rack3"},
    {"eu/paris/rack3/sw1", "eu/paris", "rack3|sw1", "eu/paris/rack3/sw1"},
    {"eu/paris:rack3:sw1", "eu/paris", "rack3|sw1", "eu/paris/rack3/sw1"},
    {"eu/paris:rack3/sw1", "eu/paris", "rack3|sw1", "eu/paris/rack3/sw1"},
    {"eu/paris/rack3:sw1", "eu/paris", "rack3|sw1", "eu/paris/rack3/sw1"},
    {"core:leaf7", "core", "leaf7", "core:leaf7"},
    {"core:mid/leaf7", "core", "mid|leaf7", "core:mid:leaf7"},
    {"A-1_b.c", "A-1_b.c", "", "A-1_b.c"},
    {"a/./..", "a/.", "..", "a/./.."},
};

std::string check_good()
{
    for (const auto &g : good_names) {
        std::string what, inner;
        if (!wan::site_name_check(g.name, what))
            return std::string(g.name) + " refused: " + what;
        for (auto level : wan::site_inner(g.name))
            inner += (inner.empty() ? "" : "|") + std::string(level);
        if (wan::wan_site(g.name) != g.site || inner != g.inner)
            return std::string(g.name) + " read as " + std::string(wan::wan_site(g.name)) + " and " + inner;
        const std::string canonical = wan::site_name_canonical(g.name);
        if (canonical != g.canonical || wan::site_name_canonical(canonical) != canonical)
            return std::string(g.name) + " became " + canonical;
    }
    return {};
}

std::string check_bad()
{
    const std::string longest(255, 'x'), too_long(256, 'x');
    std::string what;
    if (!wan::site_name_check(longest, what))
        return "255 bytes refused";
    const struct {
        std::string name;
        const char *says;
    } bad[] = {
        {"", "is empty"}, {"/", "empty level"}, {"/a", "empty level"}, {"a/", "empty level"},
        {"a//b", "empty level"}, {":a", "empty level"}, {"a:", "empty level"}, {"a/:b", "empty level"},
        {"a b", "' '"}, {"a\tb", "\\x09"}, {"a\n", "\\x0a"}, {std::string("a\0b", 3), "\\x00"},
        {"caf\xc3\xa9", "\\xc3"}, {"a\\b", "'\\'"}, {"a,b", "','"}, {too_long, "256 bytes"},
    };
    for (const auto &b : bad) {
        what.clear();
        if (wan::site_name_check(b.name, what))
            return "accepted " + wan::quoted(b.name);
        if (what.find(b.says) == what.npos || what.size() > 400)
            return "no '" + std::string(b.says) + "' in: " + what;
    }
    return {};
}

std::string check_edges()
{
    if (!wan::wan_site("").empty() || !wan::site_inner("").empty())
        return "the unknown site has a site";
    if (wan::site_level_from("ib sw/1:a\xff") != "ib_sw_1_a_")
        return "foreign characters survive: " + wan::site_level_from("ib sw/1:a\xff");
    const std::vector<std::string> deep(10, std::string(60, 'x'));
    const std::string joined = wan::site_name_join("core", deep);
    if (joined.size() != 4 + 4 * 61)
        return "joined name has " + std::to_string(joined.size()) + " bytes";
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_good>),
        cmocka_unit_test(test<check_bad>),
        cmocka_unit_test(test<check_edges>),
    };
    return cmocka_run_group_tests_name("topo_site_name", tests, nullptr, nullptr);
}
