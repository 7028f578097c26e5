/*
 * Files of rules and of what was learned: what is understood, what is refused and
 * where, which rule serves a call, and that a file survives being added to.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "matrix.hpp"
#include "planned.hpp"
#include "tune/candidates.hpp"
#include "tune/rules.hpp"
#include "unit.hpp"

#include <cstdio>
#include <unistd.h>

namespace {

using namespace wan;
using namespace wan_test;

const char *const text = "# of this site\n"
                         "\n"
                         "bcast bytes 1M- sites 2: vandegeijn links 4   # wide\n"
                         "bcast bytes -4K: tree entries 1\n"
                         "bcast: chain order chain\n"
                         "scan bytes 8 placement blocks: open_mpi\n"
                         "allreduce ranks 33- ranks-per-host 1: leaders\n";

std::string check_parse()
{
    rules all;
    input_error e;
    WAN_CHECK_THAT(rules::parse(text, "f", all, e), e.what);
    const auto two = all.of(two_sites(16)), three = all.of(lay_out({3, 3, 3}, placement::roundrobin, 1, 1));
    WAN_CHECK(two.size() == 4 && three.size() == 2);
    const auto how = [](const std::vector<rule> &of, wan_collective_t c, uint64_t bytes) {
        const rule *r = find(of, {.collective = c, .bytes = bytes});
        return r ? print(r->how) : std::string("-");
    };
    WAN_CHECK(how(two, WAN_BCAST, 1 << 20) == "vandegeijn links 4" && how(two, WAN_BCAST, (1 << 20) - 1) == "chain order chain");
    WAN_CHECK(how(two, WAN_BCAST, 4096) == "tree entries 1" && how(three, WAN_BCAST, 1 << 20) == "chain order chain");
    WAN_CHECK(how(two, WAN_SCAN, 8) == "open_mpi" && how(two, WAN_SCAN, 9) == "-" && how(three, WAN_SCAN, 8) == "-");
    WAN_CHECK(how(two, WAN_ALLREDUCE, 8) == "-");
    WAN_CHECK(digest(two) != digest(three) && digest(two) == digest(all.of(two_sites(16))) && digest({}) == 0);
    // As printed, the same again.
    std::string again;
    for (const rule &r : two)
        again += print(r) + "\n";
    rules back;
    WAN_CHECK_THAT(rules::parse(again, "f", back, e) && digest(back.of(two_sites(16))) == digest(two), again);
    WAN_CHECK(rules::parse("", "f", all, e) && all.empty());
    // Sizes that not all ranks know are in no range.
    WAN_CHECK(rules::parse("gather bytes -4K: bundled\ngather: direct\n", "f", all, e));
    const auto any = all.of(two_sites(16));
    WAN_CHECK(print(find(any, {.collective = WAN_GATHER, .counts_vary = true, .counts_local = true})->how) == "direct"
              && print(find(any, {.collective = WAN_GATHER, .bytes = 8})->how) == "bundled");
    // Adaptive trees, of what they serve.
    WAN_CHECK_THAT(rules::parse("bcast bytes 1M-: adaptive\nbarrier: adaptive\ngather ranks -16384: adaptive\n", "f", all, e), e.what);
    const auto trees = all.of(two_sites(16));
    WAN_CHECK(how(trees, WAN_BCAST, 1 << 20) == "adaptive" && how(trees, WAN_BCAST, 8) == "-" && how(trees, WAN_BARRIER, 0) == "adaptive");
    WAN_CHECK(find(trees, {.collective = WAN_GATHER})->how.along_trees && !(find(trees, {.collective = WAN_GATHER})->how == manner{}));
    // Ranks per host: the most that any has.
    WAN_CHECK(rules::parse("scan ranks-per-host 8: collect\nscan ranks-per-host 2: chain\nscan: leaders\n", "f", all, e));
    for (const auto &[sizes, lanes, said] : {std::tuple{std::vector{9}, 8, "collect"}, {std::vector{1, 8}, 8, "collect"}, {std::vector{9, 1, 1}, 8, "collect"},
                                             {std::vector{4}, 2, "chain"}, {std::vector{2, 2}, 2, "chain"}, {std::vector{3}, 2, "chain"},
                                             {std::vector{4, 4}, 4, "leaders"}, {std::vector{3, 3}, 1, "leaders"}})
        for (placement p : {placement::block, placement::roundrobin}) {
            const auto found = all.of(lay_out(sizes, p, lanes, 1));
            WAN_CHECK_THAT(!found.empty() && print(found[0].how) == said, "of " + std::to_string(lanes) + " ranks a host: " + (found.empty() ? "none" : print(found[0])));
        }
    // By another version, perhaps.
    WAN_CHECK(rules::parse("scan: quick\nscan: collect\n", "f", all, e, true) && all.size() == 1);
    return "";
}

/** What a rule names serves, also where the planner would not take it by itself. */
std::string check_kept()
{
    const topology t = two_sites(16);
    std::string fault;
    for (const auto &[c, how] : {std::pair{WAN_ALLREDUCE, "twotier"}, {WAN_BCAST, "farfirst"},
                                 {WAN_BCAST, "vandegeijn links 4"}, {WAN_BCAST, "tree entries 2"}}) {
        const auto m = parse_manner(c, how, fault);
        wishes w;
        w.threshold_bytes = 1;
        const auto p = choose(t, facts_of(t), w, {.collective = c, .bytes = 65536}, *m);
        WAN_CHECK_THAT(p && fits(*m, *p), std::string(how) + ": " + (p ? print(*p) : "no plan"));
    }
    // What an algorithm, or these sites, do not have leaves the rest as it is; so do more links than there may be.
    for (const auto &[c, how, bytes, kept] : {std::tuple{WAN_BCAST, "tree links 4 entries 4", 65536u, "tree entries 4"}, {WAN_BCAST, "chain links 4 order chain", 1u << 20, "chain links 4"},
                                              {WAN_BCAST, "tree pieces 2 entries 1", 65536u, "tree entries 1"}, {WAN_ALLREDUCE, "flat links 4", 65536u, "flat"},
                                              {WAN_REDUCE, "flat links 4", 65536u, "flat"}, {WAN_ALLGATHER, "direct links 4", 65536u, "direct"}, {WAN_REDUCE_SCATTER, "direct links 4", 65536u, "direct"}, {WAN_ALLREDUCE, "rabenseifner links 8 inner ring", 1u << 20, "rabenseifner inner ring"},
                                              {WAN_ALLREDUCE, "rabenseifner links 8 inner circulant", 1u << 20, "rabenseifner inner circulant"}}) {
        const auto m = parse_manner(c, how, fault), rest = parse_manner(c, kept, fault);
        WAN_CHECK_THAT(m && rest, fault);
        wishes w;
        w.threshold_bytes = 1;
        w.links = m->links == 8 ? 4 : 0;
        const auto p = choose(t, facts_of(t), w, {.collective = c, .bytes = bytes}, *m);
        WAN_CHECK_THAT(p && fits(*rest, *p), std::string(how) + ": " + (p ? print(*p) : "no plan"));
    }
    return "";
}

std::string check_refused()
{
    const std::pair<const char *, const char *> wrong[] = {
        {"bcast tree", "no ':'"},          {"broadcast: tree", "no collective"},      {"bcast: leaders", "no algorithm of bcast"},
        {"bcast:", "no algorithm is named"}, {"bcast bytes: tree", "'bytes'"},          {"bcast bytes 1k: tree", "'bytes 1k'"},
        {"bcast bytes 9-8: tree", "'bytes 9-8' is no range"},  {"bcast bytes -: tree", "'bytes -'"},      {"bcast bytes 99999999999999999999: tree", "bytes"},
        {"bcast bytes 17179869184G: tree", "bytes"}, {"bcast size 4: tree", "'size 4' says nothing of calls"}, {"bcast placement round: tree", "'placement round' is neither blocks nor mixed"},
        {"bcast: tree links", "'links'"},  {"bcast: tree links 0", "links 0"},        {"bcast: tree order ring", "order ring"},
        {"bcast: open_mpi links 2", "links 2"}, {"bcast bytes 4x: tree", "4x"},
        {"bcast bytes 4-8 bytes -16: tree", "'bytes' is there twice"}, {"bcast bytes 1M- bytes -4K: tree", "'bytes' is there twice"},
        {"bcast placement blocks placement mixed: tree", "'placement' is there twice"}, {"bcast: vandegeijn order star order ring", "'order' is there twice"},
        {"bcast: vandegeijn links 2 links 2", "'links' is there twice"},
        {"scan: adaptive", "adaptive trees serve no scan, but bcast, allreduce, reduce, barrier, gather"},
        {"bcast ranks 16385-: adaptive", "adaptive trees serve 16384 ranks at most"}, {"bcast: adaptive links 2", "'links 2': adaptive has no parameters in a rule (those of all adaptive trees are coll_wan_tree_*"}, {"bcast: open_mpi links 2", "'links 2': open_mpi has no parameters in a rule"},
    };
    for (const auto &[line, words] : wrong) {
        rules all;
        input_error e;
        WAN_CHECK_THAT(!rules::parse("# first\n" + std::string(line) + "\nbcast: tree\n", "rules.txt", all, e), line);
        WAN_CHECK_THAT(e.where == "rules.txt:2" && e.what.find(words) != e.what.npos && e.remedy.find("vandegeijn") != e.remedy.npos,
                       std::string(line) + ": " + e.where + ": " + e.what);
    }
    rules all;
    input_error e;
    WAN_CHECK(!rules::read("/nonexistent/rules", false, all, e) && e.where == "/nonexistent/rules");
    WAN_CHECK(rules::read("/nonexistent/rules", true, all, e) && all.empty());
    WAN_CHECK(!rules::read("/", true, all, e));
    // Of what was learned, such a line is left out, and told: the first, and how many.
    WAN_CHECK(rules::parse("bcast: tree\n\nbcast: tee\n", "learned", all, e, true) && all.size() == 1 && all.left_out() == 1);
    WAN_CHECK_THAT(e.where == "learned:3" && e.what == "'tee' is no algorithm of bcast: this line is left out"
                       && e.remedy == "correct or delete it; 'wan-info check --rules learned' names all such lines", e.where + ": " + e.what + "; " + e.remedy);
    WAN_CHECK(rules::parse("bcast tree\nbcast: tree\nx: y\nz\n", "learned", all, e, true) && all.size() == 1 && all.left_out() == 3);
    WAN_CHECK_THAT(e.where == "learned:1" && e.what.ends_with(": this line is left out, and 2 more"), e.where + ": " + e.what);
    WAN_CHECK(rules::parse("bcast: tree\n", "learned", all, e, true) && all.left_out() == 0);
    return "";
}

tuner::state settled(wan_collective_t c, unsigned size, const char *how)
{
    std::string fault;
    tuner::state s;
    s.what = {.collective = c, .size = size};
    s.phase = tuner::state::phase::settled;
    s.candidates.resize(2);
    s.candidates[1].how = *parse_manner(c, how, fault);
    s.standing = 1;
    return s;
}

std::string check_saved()
{
    char file[] = "/tmp/wan-rules-XXXXXX";
    close(mkstemp(file));
    std::remove(file);
    input_error e;
    const topology t = two_sites(16);
    std::vector<tuner::state> classes{settled(WAN_BCAST, 11, "tree entries 1"), settled(WAN_SCAN, 0, "open_mpi")};
    classes.push_back(settled(WAN_REDUCE, 4, "flat"));
    classes.back().phase = tuner::state::phase::trying;
    auto other_root = settled(WAN_BCAST, 11, "chain");
    other_root.what.root_site = 1;
    classes.push_back(other_root);
    WAN_CHECK(rules_save(file, {}, e) && access(file, F_OK) != 0);
    WAN_CHECK_THAT(rules_save(file, learned_rules(t, classes), e), e.what);
    rules all;
    WAN_CHECK(rules::read(file, false, all, e));
    const auto of = all.of(t);
    WAN_CHECK(of.size() == 2 && print(find(of, {.collective = WAN_BCAST, .bytes = 2047})->how) == "tree entries 1");
    WAN_CHECK(!find(of, {.collective = WAN_BCAST, .bytes = 2048}) && find(of, {.collective = WAN_SCAN, .bytes = 0}));
    WAN_CHECK(all.of(two_sites(8)).empty() && all.of(lay_out({16, 16}, placement::roundrobin, 1, 1)).empty());
    const auto uneven = learned_rules(lay_out({9, 2}, placement::block, 8, 1), classes);
    WAN_CHECK_THAT(print(uneven.at(0)).find(" ranks-per-host 8 placement blocks: ") != std::string::npos, print(uneven[0]));
    // What a person has added stays, what is learned anew takes the place of the old.
    {
        std::ofstream add(file, std::ios::app);
        add << "# mine\nallreduce: leaders\n";
    }
    WAN_CHECK(rules_save(file, learned_rules(t, {settled(WAN_BCAST, 11, "vandegeijn links 2")}), e));
    std::stringstream now;
    now << std::ifstream(file).rdbuf();
    const std::string said = now.str();
    WAN_CHECK_THAT(said.find("# mine\nallreduce: leaders\n") != said.npos && said.find("tree") == said.npos
                       && said.find("placement blocks: vandegeijn links 2") != said.npos && said.find("scan bytes 0 ") != said.npos, said);
    std::remove(file);
    {
        // A map, named by mistake, stays what it is.
        const std::string map = std::string(file) + ".map", text = "host[1-4] paris\ndefault boston\n";
        std::ofstream(map) << text;
        WAN_CHECK(!rules_save(map, learned_rules(t, classes), e) && e.where == map && !e.remedy.empty());
        std::ostringstream now;
        now << std::ifstream(map).rdbuf();
        WAN_CHECK_THAT(now.str() == text, now.str());
        unlink(map.c_str());
    }
    WAN_CHECK(!rules_save("/nonexistent/learned", learned_rules(t, classes), e) && e.where == "/nonexistent/learned" && !e.remedy.empty());
    return "";
}

/** Each way that can be tried is said and understood again. */
std::string check_manners()
{
    const topology t = two_sites(6, 2);
    unsigned n = 0;
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        for (uint64_t bytes : {8, 65536})
            for (const plan &p : candidates(t, facts_of(t), {}, {.collective = collective_at(c), .bytes = bytes})) {
                manner m = manner_of(p);
                std::string fault;
                for (int cuts : {0, 2, -2, 12, -1}) {
                    m.cuts = cuts;
                    const auto back = parse_manner(collective_at(c), print(m), fault);
                    WAN_CHECK_THAT(back && *back == m && fits(m, p), print(m) + ": " + fault);
                }
                ++n;
            }
    for (const char *wrong : {"cuts", "cuts 0", "cuts 3", "cuts 1/0", "cuts 1/3", "cuts -2", "cuts 1/", "cuts 8192", "cuts 2/4"}) {
        std::string fault;
        WAN_CHECK_THAT(!parse_manner(WAN_BCAST, std::string("vandegeijn ") + wrong, fault) && fault.find("cuts") != fault.npos, wrong + (": " + fault));
    }
    WAN_CHECK(n > 200);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(wan_test::test<check_parse>), cmocka_unit_test(wan_test::test<check_kept>),
                                cmocka_unit_test(wan_test::test<check_refused>),
                                cmocka_unit_test(wan_test::test<check_saved>), cmocka_unit_test(wan_test::test<check_manners>)};
    return cmocka_run_group_tests_name("rules", tests, nullptr, nullptr);
}
