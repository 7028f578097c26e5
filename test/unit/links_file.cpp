/*
 * Files of measured links: what is written is what was read, faults are told by their line; and
 * what of sites and links, as given, contradicts what was measured.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/contradictions.hpp"
#include "collective.hpp"
#include "measure/links_file.hpp"
#include "plan/planner.hpp"

#include "unit.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <unistd.h>

namespace {

using namespace wan;
using namespace wan_test;

const char *const sample = "# by hand\n"
                           "sites eu/paris eu/lyon us\n"
                           "inside_ns 43100\n"
                           "byte_ps 204800\n"
                           "level0_ns 210000\n"
                           "level2_ns 41000\n"
                           "level_byte_ps 310000\n"
                           "one_way_ns eu/paris eu/lyon 10020000   # a comment\n"
                           "one_way_ns us eu/paris 40000000\n"
                           "link_ps us eu/paris 20400\n"
                           "link_hosts us eu/paris 16\n"
                           "connection_ps eu/paris us 160000\n"
                           "flow us eu/lyon 80000000 4860000 0\n"
                           "\n"
                           "sites a b\n"
                           "step_ns 7\n";

std::string check_round()
{
    links_file l, again;
    input_error error;
    WAN_CHECK_THAT(links_file::parse(sample, "f", l, error), error.where + error.what);
    WAN_CHECK(l.all().size() == 2 && l.find({"a", "b"}) && !l.find({"b", "a"}) && !l.find({"a"}));
    const known_links &three = l.all()[0];
    WAN_CHECK(three.facts[fact::inside_ns] == 43100 && three.facts[fact::byte_ps] == 204800 && three.facts[fact::message_ns] == 0);
    WAN_CHECK(three.facts[*fact_of_pair(0, 1, 3)] == 10'020'000 && three.facts[*fact_of_pair(0, 2, 3)] == 40'000'000 && three.facts[*fact_of_pair(1, 2, 3)] == 0);
    WAN_CHECK(three.ways[2][1].rtt_ns == 80'000'000 && three.ways[2][1].bytes_per_s == 4'860'000 && three.ways[1][2].rtt_ns == 0);
    WAN_CHECK(three.facts[*fact_of_pair(0, 2, 3, fact::first_link_ps)] == 20400 && three.facts[*fact_of_pair(0, 2, 3, fact::first_flow_ps)] == 160'000);
    WAN_CHECK(three.facts[*fact_of_pair(0, 2, 3, fact::first_link_hosts)] == 16);
    WAN_CHECK(three.facts[fact::first_level_ns] == 210'000 && three.facts[fact::first_level_ns + 1] == 0 && three.facts[fact::first_level_ns + 2] == 41'000);
    WAN_CHECK(three.facts[fact::level_byte_ps] == 310'000);
    WAN_CHECK(l.all()[1].facts[fact::step_ns] == 7);
    const std::string text = l.print();
    WAN_CHECK_THAT(links_file::parse(text, "f", again, error), error.where + error.what);
    WAN_CHECK(again.print() == text && again.all()[0].facts == three.facts);
    return "";
}

std::string check_faults()
{
    const struct {
        const char *text, *where, *what;
    } cases[] = {
        {"inside_ns 4\n", "f:1", "begins with a line 'sites"},
        {"sites a\n", "f:1", "two names or more"},
        {"sites a a\n", "f:1", "two names or more"},
        {"sites a b\n\ninside_ns\n", "f:3", "'inside_ns' wants one"},
        {"sites a b\ninside_ns -4\n", "f:2", "'inside_ns' wants one"},
        {"sites a b\ninside_ns 4x\n", "f:2", "'inside_ns' wants one"},
        {"sites a b\ninside_ns 99999999999999999999\n", "f:2", "'inside_ns' wants one"},
        {"sites a b\nlink_hosts a b 1000000000001\n", "f:2", "10^12 at most"},
        {"sites a b\ninside_ns 100000000001\n", "f:2", "'inside_ns' wants one"},
        {"sites a b\none_way_ns a b 9000000000000000000\n", "f:2", "'one_way_ns' wants two sites and a positive whole number, 10^11 at most, not '9000000000000000000'"},
        {"sites a b\nlevel3_ns 100000000001\n", "f:2", "'level3_ns' wants one positive whole number, 10^11 at most, not '100000000001'"},
        {"sites a b\nlevel_byte_ps 1000000001\n", "f:2", "'level_byte_ps' wants one positive whole number, 10^9 at most, not '1000000001'"},
        {"sites a b\nbyte_ps 1000000001\n", "f:2", "10^9 at most"},
        {"sites a b\nlink_ps a b 1000000001\n", "f:2", "'link_ps' wants two sites and a positive whole number, 10^9 at most, not '1000000001'"},
        {"sites a b\none_way_ns a c 4\n", "f:2", "'c' is none of the sites"},
        {"sites a b\none_way_ns a a 4\n", "f:2", "from 'a' to itself"},
        {"sites a b\none_way_ns a b\n", "f:2", "wants two sites"},
        {"sites a b\nlink_ps a b\n", "f:2", "'link_ps' wants two sites"},
        {"sites a b\nflow a b 4 5\n", "f:2", "'flow' wants"},
        {"sites a b\nflow a b 0 5 6\n", "f:2", "'flow' wants"},
        {"sites a b\ninside_ns 4\n\nsites a b\nbyte_ps 4\n", "f:4", "these sites have a block already"},
        {"sites a b\nspeed 3\n", "f:2", "'speed' is not known"},
        {"sites a b c d e f g h i j k\none_way_ns a b 4\n", "f:2", "of so many sites"},
    };
    for (const auto &c : cases) {
        links_file l;
        input_error error;
        WAN_CHECK_THAT(!links_file::parse(c.text, "f", l, error), c.text);
        WAN_CHECK_THAT(error.where == c.where && error.what.find(c.what) != std::string::npos && !error.remedy.empty(), error.where + ": " + error.what);
    }
    return "";
}

/** By the greatest figures that a file may hold, together, no prediction of a call of a few GB goes beyond its integers; what was measured beyond them is written as these. */
std::string check_greatest()
{
    std::vector<place> places;
    for (const char *site : {"a", "b"})
        for (uint64_t h = 0; h < 32; ++h)
            places.push_back({site, places.size(), 0, h % 4 < 2 ? "z1/r1" : "z2/r2"});
    const topology t{places};
    const auto most = [](const fact_name &f) {
        const std::string_view name = f.name;
        return name.ends_with("_ps") ? " 1000000000\n" : name.ends_with("_ns") ? " 100000000000\n" : " 1000000000000\n";
    };
    std::string text = "sites a b\n";
    for (const fact_name &f : fact_names)
        text += std::string(f.name) + most(f);
    for (const fact_name &f : pair_fact_names)
        text += std::string(f.name) + " a b" + most(f);
    links_file l;
    input_error error;
    WAN_CHECK_THAT(links_file::parse(text, "f", l, error), error.where + error.what);
    known_links more = l.all()[0];
    for (int64_t &x : more.facts)
        x *= 1000;
    // What was measured has no such end: it is taken for these.
    for (const known_links &k : {l.all()[0], more}) {
        const facts f = facts_from(t, k.facts);
        WAN_CHECK(f.level_byte_ps == 1'000'000'000);
        for (int c = 0; c < WAN_COLLECTIVES; ++c)
            for (const uint64_t bytes : {8ull, 1ull << 20, 1ull << 32})
                for (const plan &p : candidates(t, f, {}, {.collective = collective_at(c), .bytes = bytes}))
                    WAN_CHECK_THAT(p.predicted_ns > 0 && p.predicted_ns < INT64_MAX / 2, print(p));
    }
    links_file beyond, again;
    beyond.keep(more);
    WAN_CHECK_THAT(links_file::parse(beyond.print(), "f", again, error), error.where + error.what);
    WAN_CHECK(again.print() == l.print());
    return "";
}

/** Of other sites nothing is lost, of the same ones nothing is kept; a file that is wrong is not replaced. */
std::string check_save()
{
    const std::string path = "links_file." + std::to_string(getpid());
    const auto put = [&](const std::string &text) { std::ofstream(path) << text; };
    const auto done = [&](const std::string &why) {
        std::remove(path.c_str());
        return why;
    };
    input_error error;
    links_file l;
    known_links mine{{"a", "b"}, {}, {}};
    mine.facts[fact::inside_ns] = 5;
    if (!links_save(path, mine, error))
        return done("no new file: " + error.what);
    put(sample);
    if (!links_save(path, mine, error) || !links_file::read(path, true, l, error))
        return done(error.where + error.what);
    if (l.all().size() != 2 || l.find({"a", "b"})->facts[fact::inside_ns] != 5 || l.find({"a", "b"})->facts[fact::step_ns] != 0
        || l.find({"eu/paris", "eu/lyon", "us"})->facts[fact::inside_ns] != 43100)
        return done("not what was saved: " + l.print());
    put("nonsense\n");
    std::string text;
    if (links_save(path, mine, error) || !text_file_read(path, text, error) || text != "nonsense\n")
        return done("a file of something else was replaced: " + text);
    std::remove(path.c_str());
    if (links_file::read(path, true, l, error) || !links_file::read(path, false, l, error) || !l.all().empty())
        return done("a file that is not there");
    return "";
}

std::string check_contradictions()
{
    const int sizes[] = {2, 2, 2};
    const topology t = topology::blocks(sizes);
    const std::string a = t.site_name(site_id{0}), b = t.site_name(site_id{1}), c = t.site_name(site_id{2});
    fact_vector v{};
    v[fact::inside_ns] = 50'000;
    v[fact::byte_ps] = 200'000;             // 40 Mb/s
    v[*fact_of_pair(0, 1, 3)] = 10'000'000;
    v[*fact_of_pair(0, 2, 3)] = 20'000'000;
    v[*fact_of_pair(1, 2, 3)] = 300'000;
    const fact_vector measured = v;
    link_hints given;
    WAN_CHECK(!contradictions_of(t, given, measured).any());
    given.links = {{a, b, 11'000'000, 0, 1}, {a, c, 14'000'000, 0, 2}, {b, c, 500'000, 0, 3}};     // near, near, little apart
    given.nics = {{a, 7'000'000, 4}, {b, 7'000'000, 4}, {c, 7'000'000, 4}};
    WAN_CHECK_THAT(!contradictions_of(t, given, measured).any(), contradictions_of(t, given, measured).text(500));
    given.links[1].latency_ns = 90'000'000;
    given.links[0].latency_ns = 5'000'000;
    auto found = contradictions_of(t, given, measured);
    WAN_CHECK(found.links.size() == 2 && found.near.empty());
    WAN_CHECK_THAT(found.links[0] == "between " + a + " and " + c + ": 90.00 ms one way given, 20.00 ms measured", found.links[0]);     // the worst first
    // Interfaces: the slowest alone is measured.
    given.links.clear();
    given.nics[0].bandwidth_bytes_per_s = 125'000'000;
    WAN_CHECK(!contradictions_of(t, given, measured).any());
    given.nics = {{a, 125'000'000, 4}, {b, 125'000'000, 4}, {c, 125'000'000, 4}};
    found = contradictions_of(t, given, measured);
    WAN_CHECK_THAT(found.links.size() == 3 && found.links[0].find("1000.0 Mb/s given, 40.0 Mb/s measured") != std::string::npos, found.text(500));
    // As many as fit, and how many do not.
    const std::string little = found.text(100);
    WAN_CHECK_THAT(little.size() <= 100 && little.find("and 2 more") != std::string::npos, little);
    // Names: sites that are as near as hosts.
    given = {};
    v[*fact_of_pair(1, 2, 3)] = 60'000;
    found = contradictions_of(t, given, v);
    WAN_CHECK_THAT(found.links.empty() && found.near.size() == 1 && found.near[0].find("0.0600 ms apart") != std::string::npos, found.text(500));
    given.links = {{b, c, 0, 125'000'000, 1}};      // who tells that link means two
    WAN_CHECK_THAT(!contradictions_of(t, given, v).any(), contradictions_of(t, given, v).text(500));
    given = {};
    v[fact::inside_ns] = 0;                 // sites of one host each: nobody knows what is near
    WAN_CHECK_THAT(!contradictions_of(t, given, v).any(), contradictions_of(t, given, v).text(500));
    v[*fact_of_pair(1, 2, 3)] = 4'000;      // but that is, unless they are pretended, or their link is told
    found = contradictions_of(t, given, v);
    WAN_CHECK_THAT(found.links.empty() && found.near.size() == 1 && found.near[0] == b + " and " + c + " are given as two sites, and are 0.0040 ms apart", found.text(500));
    WAN_CHECK(!contradictions_of(t, given, v, true).any());
    given.links = {{b, c, 0, 125'000'000, 1}};
    WAN_CHECK_THAT(!contradictions_of(t, given, v).any(), contradictions_of(t, given, v).text(500));
    given.links.clear();
    v[*fact_of_pair(1, 2, 3)] = 60'000;
    v[fact::inside_ns] = 50'000;
    v[*fact_of_pair(1, 2, 3)] = 0;          // nobody knows
    WAN_CHECK(!contradictions_of(t, given, v).any());
    // Interfaces: not where no rate was measured, nor of sites of one host.
    given.nics = {{a, 125'000'000, 4}, {b, 125'000'000, 4}, {c, 125'000'000, 4}};
    WAN_CHECK(contradictions_of(t, given, v).links.size() == 3);
    v[fact::byte_ps] = 0;
    WAN_CHECK(!contradictions_of(t, given, v).any());
    v[fact::byte_ps] = 200'000;
    const int lone[] = {1, 1, 2};
    const topology u = topology::blocks(lone);
    given.nics = {{u.site_name(site_id{0}), 125'000'000, 4}, {u.site_name(site_id{1}), 125'000'000, 4}, {u.site_name(site_id{2}), 125'000'000, 4}};
    found = contradictions_of(u, given, v);
    WAN_CHECK_THAT(found.links.size() == 1 && found.links[0].find("of " + u.site_name(site_id{2})) != std::string::npos, found.text(500));
    return "";
}

/** A site that is wider than any, whoever named it so; of which one is known only where one alone has two hosts. */
std::string check_wide_sites()
{
    const int lone[] = {1, 3};
    const topology t = topology::blocks(lone);
    fact_vector v{};
    v[*fact_of_pair(0, 1, 2)] = 20'000'000;
    v[fact::inside_ns] = 2'400'000;
    WAN_CHECK(!contradictions_of(t, {}, v).any());
    v[fact::inside_ns] = 12'000'000;
    auto found = contradictions_of(t, {}, v);
    WAN_CHECK(found.wide.size() == 1 && found.text(500).size() == found.wide[0].size());
    WAN_CHECK_THAT(found.wide[0] == "hosts that are given as one site, " + t.site_name(site_id{1}) + ", are 12.00 ms apart, and no site is wider than 2.50 ms", found.wide[0]);
    WAN_CHECK_THAT(found.remedy().find("different sites") != std::string::npos && found.remedy().find("the map") == std::string::npos, found.remedy());
    WAN_CHECK(!contradictions_of(t, {}, v, true).any());
    const int many[] = {2, 1, 2, 2, 2, 2};
    const topology u = topology::blocks(many);
    found = contradictions_of(u, {}, v);
    const std::string which = u.site_name(site_id{0}) + ", " + u.site_name(site_id{2}) + ", " + u.site_name(site_id{3}) + " or one of 2 more, ";
    WAN_CHECK_THAT(found.wide.size() == 1 && found.wide[0].find(which) != std::string::npos, found.text(500));
    contradictions all;
    all.links = all.widths = all.wide = all.near = {"x"};
    WAN_CHECK_THAT(all.text(500) == "x; x; x; x" && all.remedy().size() < sizeof(wan_message_t::remedy), all.remedy());
    return "";
}

/** Bandwidths: what hosts got contradicts less that is given, and more only where more hosts got no more. */
std::string check_widths()
{
    const int sizes[] = {16, 16};
    const topology t = topology::blocks(sizes);
    const std::string a = t.site_name(site_id{0}), b = t.site_name(site_id{1});
    fact_vector v{};
    v[*fact_of_pair(0, 1, 2)] = 10'000'000;
    link_hints given;
    const auto say = [&](int64_t megabits) { given.links = {{a, b, 0, megabits * 125'000, 1}}; };
    const auto text = [&] { return contradictions_of(t, given, v).text(500); };
    say(1000);
    WAN_CHECK_THAT(text().empty(), text());
    // Eight connections of 100 Mb/s got what two of them would.
    v[*fact_of_pair(0, 1, 2, fact::first_flow_ps)] = 80'000;
    v[*fact_of_pair(0, 1, 2, fact::first_link_ps)] = 40'000;
    v[*fact_of_pair(0, 1, 2, fact::first_link_hosts)] = 8;
    const auto found = contradictions_of(t, given, v);
    WAN_CHECK_THAT(found.links.empty() && found.widths.size() == 1 && text() == "between " + a + " and " + b + ": 1000.0 Mb/s given, 200.0 Mb/s measured", text());
    WAN_CHECK(found.remedy().find("the map") != std::string::npos);
    for (int64_t near : {110, 200, 390}) {
        say(near);
        WAN_CHECK_THAT(text().empty(), text());
    }
    say(90);
    WAN_CHECK_THAT(text().find("90.0 Mb/s given, 200.0 Mb/s measured") != std::string::npos, text());
    // Eight times what one got is not all that there is: it carries so much at least.
    v[*fact_of_pair(0, 1, 2, fact::first_link_ps)] = 10'000;
    for (int64_t more : {1000, 100'000}) {
        say(more);
        WAN_CHECK_THAT(text().empty(), text());
    }
    say(100);
    WAN_CHECK_THAT(text().find("100.0 Mb/s given, 800.0 Mb/s measured") != std::string::npos, text());
    // Nor where all hosts of both sites, or by an older file nobody knows how many, got that.
    for (int64_t hosts : {16, 0}) {
        v[*fact_of_pair(0, 1, 2, fact::first_link_hosts)] = hosts;
        v[*fact_of_pair(0, 1, 2, fact::first_link_ps)] = 5'000;
        say(10'000);
        WAN_CHECK_THAT(text().empty(), text());
    }
    // One connection alone.
    v[*fact_of_pair(0, 1, 2, fact::first_link_ps)] = 0;
    WAN_CHECK_THAT(text().empty(), text());
    say(40);
    WAN_CHECK_THAT(text().find("40.0 Mb/s given, 100.0 Mb/s measured") != std::string::npos, text());
    // An uplink: more passes than it is said to carry; where it is the narrow one, the link behind it may be wider.
    v[*fact_of_pair(0, 1, 2, fact::first_link_hosts)] = 8;
    v[*fact_of_pair(0, 1, 2, fact::first_link_ps)] = 40'000;
    say(1000);
    given.uplinks = {{b, 200 * 125'000, 2}};
    WAN_CHECK_THAT(text().empty(), text());
    given.links.clear();
    given.uplinks = {{b, 20 * 125'000, 2}};
    WAN_CHECK_THAT(text() == "the uplink of " + b + ": 20.0 Mb/s given, 200.0 Mb/s measured", text());
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_round>), cmocka_unit_test(test<check_faults>), cmocka_unit_test(test<check_greatest>), cmocka_unit_test(test<check_save>),
                                cmocka_unit_test(test<check_contradictions>),
                                cmocka_unit_test(test<check_wide_sites>), cmocka_unit_test(test<check_widths>)};
    return cmocka_run_group_tests_name("links_file", tests, nullptr, nullptr);
}
