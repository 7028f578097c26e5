/*
 * What users read about algorithms and parameters is what the code has: the
 * reference is written from registry and knobs, README, doc/algorithms.md and doc/tuning.md name each
 * of them, doc/ names nothing else; the example of doc/add-an-algorithm.md is verified; of all documents, see
 * documents.cpp.  To write the reference anew, in the build directory:
 *
 *     make check TESTS=test/unit/documentation WAN_GOLDEN_WRITE=1
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
// Before cmocka, whose macro is `fail`.
#include <filesystem>
#include <regex>

#include "algo/registry.hpp"
#include "wan_core.h"

#include "adaptive/service.hpp"
#include "sched/verifier.hpp"
#include "documentation.hpp"

#include <map>
#include <set>

namespace wan {
extern const algorithm bcast_relay;     // doc/bcast_relay.cpp
}

namespace {

using namespace wan;
using namespace wan_test;

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

/** Topics of a file of help texts, each with its first paragraph, in one line. */
std::vector<std::pair<std::string, std::string>> help_topics(const std::string &file)
{
    std::vector<std::pair<std::string, std::string>> all;
    std::istringstream lines(read_all(test_file(file)));
    bool first = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("[") && line.ends_with("]")) {
            all.emplace_back(line.substr(1, line.size() - 2), "");
            first = true;
        } else if (line.empty()) {
            first = false;
        } else if (first && !line.starts_with("#")) {
            std::string &sentence = all.back().second;
            sentence += (sentence.empty() ? "" : " ") + line;
        }
    }
    return all;
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
            text << "\n" << adaptive_enumerator(c) << " `" << adaptive.name << "`: " << adaptive_summary(c) << ".\n"
                 << "- only by name; its parameters are `coll_wan_tree_*`, `coll_wan_segment`"
                 << (c != WAN_BCAST ? ", `coll_wan_reduce_timeout`" : "") << "\n"
                 << "- source: " << adaptive.source << "\n";
    }
    text << "\n## Performance variables\n\n"
            "Of each process, by MPI_T: counters of 64 bits, over all its communicators, or, `coll_wan_comm_*`, of the\n"
            "communicator that a handle is bound to (MPI_T_BIND_MPI_COMM). A handle counts from when it was made, or reset.\n\n";
    for (size_t i = 0; i < wan_counter_count(); ++i) {
        wan_counter_t counter;
        wan_counter_get(i, &counter);
        text << "`coll_wan_" << counter.name << "`: " << counter.help << ".\n\n";
    }
    text << "## Why a communicator is not served\n\n"
            "With `coll_wan_verbose` 1, in reports, and counted in `coll_wan_refused_*`; then its collectives are Open MPI's own.\n\n";
    for (int i = WAN_REASON_NONE + 1; i < WAN_REASONS; ++i) {
        const auto reason = static_cast<wan_reason_t>(i);
        text << "`" << wan_reason_name(reason) << "`: " << wan_reason_text(reason) << ". What to do: " << wan_reason_remedy(reason) << ".\n\n";
    }
    text << "## Messages\n\n"
            "Each says where, what, and what to do about it (`help-mpi-coll-wan.txt`).\n";
    for (const auto &[topic, sentence] : help_topics("../ompi/mca/coll/wan/help-mpi-coll-wan.txt"))
        text << "\n`" << topic << "`: " << sentence << "\n";
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
    const std::string readme = read_all(test_file("../README.md")), table = read_all(test_file("../doc/algorithms.md"));
    WAN_CHECK(!readme.empty());
    auto rows = [&](const std::string &beginning) {
        size_t found = 0;
        for (size_t at = 0; (at = table.find("\n| " + beginning, at)) != table.npos; ++at)
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
    std::string limits = read_all(test_file("../doc/limits.md"));
    for (char &c : limits)
        c = c == '\n' ? ' ' : c;
    while (limits.find("  ") != limits.npos)
        limits.erase(limits.find("  "), 1);
    const auto number = [](wan_collective_t c, bool l) { return std::to_string(most_sites(c, l)); };
    for (const std::string &said : {"Beyond " + number(WAN_ALLREDUCE, true) + " sites Allreduce is Open MPI's own",
                                    "beyond " + number(WAN_ALLREDUCE, false) + " sites (Bcast: beyond " + number(WAN_BCAST, false) + ")"})
        WAN_CHECK_THAT(limits.find(said) != limits.npos, said);
    WAN_CHECK(most_sites(WAN_BCAST, true) == 1000);     // no such limit
    return "";
}

bool is_counter(const std::string &name)
{
    for (size_t i = 0; i < wan_counter_count(); ++i)
        if (name == counter_name(i))
            return true;
    return false;
}

/** README: each variable that it names exists, and each that exists is named, by itself or as one of a family ("served_*"). */
std::string check_variables()
{
    const std::string readme = read_all(test_file("../README.md"));
    const std::regex named("`coll_wan_([a-z_]+)(\\*)?([a-z_]*)`");
    std::set<std::string> told;
    for (std::sregex_iterator at(readme.begin(), readme.end(), named), end; at != end; ++at) {
        const std::string first = (*at)[1], last = (*at)[3];
        const bool family = (*at)[2].matched;
        size_t fitting = 0;
        for (size_t i = 0; i < wan_counter_count(); ++i)
            if (const std::string name = counter_name(i);
                family ? name.starts_with(first) && name.ends_with(last) : name == first) {
                ++fitting;
                told.insert(name);
            }
        WAN_CHECK_THAT(fitting || (!family && is_knob(first)), "README: there is no " + at->str());
    }
    for (size_t i = 0; i < wan_counter_count(); ++i)
        WAN_CHECK_THAT(told.contains(counter_name(i)), "README does not name coll_wan_" + counter_name(i));
    return "";
}

/** doc/: each parameter, algorithm and file that is named exists; the tuning guide names each parameter and algorithm. */
std::string check_guides()
{
    const std::regex knob("coll_wan_([a-z_]+)(\\.c)?"), named("(" + [] {
        std::string all;
        for (int c = WAN_COLLECTIVES - 1; c >= 0; --c)      // reduce_scatter before reduce
            all += (all.empty() ? "" : "|") + collective_name(collective_at(c));
        return all;
    }() + ") `([a-z_]+)`"), path("`((?:core|doc|contrib|test|ompi|opal)/[A-Za-z0-9_./-]+|[a-z_]+\\.[ch])`");
    const auto each = [](const std::string &text, const std::regex &what, auto f) {
        for (std::sregex_iterator at(text.begin(), text.end(), what), end; at != end; ++at)
            f(*at);
    };
    std::string wrong;
    std::set<std::string> knobs, forms;
    size_t files = 0;
    for (const auto &entry : std::filesystem::directory_iterator(test_file("../doc"))) {
        if (entry.path().extension() != ".md")
            continue;
        ++files;
        const std::string text = read_all(entry.path()), file = entry.path().filename();
        const bool tuning = file == "tuning.md";
        each(text, knob, [&](const std::smatch &m) {
            if (m[2].matched ? !std::filesystem::exists(test_file("../ompi/mca/coll/wan/" + m[0].str())) : !is_knob(m[1]) && !is_counter(m[1]))
                wrong += file + ": there is no " + m[0].str() + "\n";
            if (tuning)
                knobs.insert(m[1]);
        });
        each(text, named, [&](const std::smatch &m) {
            bool exists = false;
            for (int c = 0; c < WAN_COLLECTIVES; ++c)
                exists |= collective_name(collective_at(c)) == m[1]
                          && (algorithm_named(collective_at(c), m[2].str()) || (m[2] == adaptive.name && adaptive_serves(collective_at(c))));
            if (!exists)
                wrong += file + ": there is no algorithm " + m[0].str() + "\n";
            if (tuning)
                forms.insert(m[1].str() + " " + m[2].str());
        });
        each(text, path, [&](const std::smatch &m) {
            bool exists = false;
            for (const char *below : {"../", "../ompi/mca/coll/wan/", "../ompi/mca/coll/wan/core/exec/"})
                for (const char *end : {"", ".hpp"})
                    exists |= std::filesystem::exists(test_file(below + m[1].str() + end));
            const std::string top = m[1].str().substr(0, m[1].str().find('/'));
            if (!exists && m[1].str().starts_with("test/"))
                exists = std::filesystem::exists(test_file(m[1].str().substr(5) + ".cpp"));
            if (!exists)
                wrong += file + ": there is no file " + m[1].str() + "\n";
        });
    }
    WAN_CHECK_THAT(wrong.empty(), wrong);
    WAN_CHECK(files >= 4);
    for (size_t i = 0; i < wan_knob_count(); ++i)
        WAN_CHECK_THAT(knobs.contains(wan_knob_get(i)->name), std::string("doc/tuning.md does not name ") + wan_knob_get(i)->name);
    for (const algorithm *a : algorithms())
        WAN_CHECK_THAT(forms.contains(collective_name(a->collective) + " " + a->name),
                       "doc/tuning.md does not name " + collective_name(a->collective) + " " + a->name);
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        WAN_CHECK(!adaptive_serves(collective_at(c)) || forms.contains(collective_name(collective_at(c)) + " adaptive"));
    return "";
}

/**
 * Messages: each text has place, cause and remedy; each is shown by the code, which shows no other.  What README's table
 * says may be seen is what is said.
 */
std::string check_messages()
{
    for (const std::string component : {"ompi/mca/coll/wan", "opal/mca/btl/udp"}) {
        const bool wan = component.ends_with("wan");
        const std::string file = "../" + component + "/help-mpi-" + (wan ? "coll-wan" : "btl-udp") + ".txt", texts = read_all(test_file(file));
        std::set<std::string> topics, shown;
        for (const auto &[topic, sentence] : help_topics(file)) {
            WAN_CHECK_THAT(topics.insert(topic).second && !sentence.empty(), topic);
            const size_t at = texts.find("[" + topic + "]");
            std::string text = texts.substr(at, texts.find("\n[", at) - at);
            size_t places = 0;
            for (size_t p = 0; (p = text.find("%s", p)) != text.npos; ++p)
                ++places;
            WAN_CHECK_THAT(places == 4 && text.find("  Host:") != text.npos && text.find("  What:") != text.npos && text.find("  Remedy:") != text.npos, topic);
        }
        const std::regex show("_message_show\\(\"([a-z-]+)\"");
        for (const auto &entry : std::filesystem::directory_iterator(test_file("../" + component))) {
            if (entry.path().extension() != ".c")
                continue;
            const std::string code = read_all(entry.path());
            for (std::sregex_iterator at(code.begin(), code.end(), show), end; at != end; ++at)
                shown.insert((*at)[1]);
        }
        WAN_CHECK(!topics.empty());
        WAN_CHECK_THAT(topics == shown, component);
    }
    const std::string readme = read_all(test_file("../README.md")), head = "| what you see | what to do |\n|---|---|\n";
    size_t at = readme.find(head), rows = 0;
    WAN_CHECK(at != readme.npos);
    std::istringstream table(readme.substr(at + head.size()));
    for (std::string line; std::getline(table, line) && line.starts_with("| "); ++rows) {
        const std::string seen = line.substr(2, line.find(" |", 2) - 2);
        bool known = seen == "no line at all";
        for (int i = WAN_REASON_NONE + 1; i < WAN_REASONS; ++i)
            known |= seen == wan_reason_text(static_cast<wan_reason_t>(i));
        WAN_CHECK_THAT(known, "README: nothing says: " + seen);
    }
    WAN_CHECK(rows >= 6);
    return "";
}

/** The example of the walk-through is right, crosses once a site, and is what the text shows. */
std::string check_example()
{
    for (const std::vector<int> &sizes : {std::vector<int>{2, 2}, {3, 1, 2}, {1, 5}, {4, 4, 4}})
        for (int lanes : {1, 2}) {
            const topology t = topology::blocks(sizes, lanes);
            for (int root = 0; root < t.size(); ++root)
                for (size_t count : {size_t{0}, size_t{1}, size_t{7}}) {
                    plan p;
                    p.algo = &bcast_relay;
                    p.root = root;
                    std::vector<std::shared_ptr<const program>> all;
                    for (int r = 0; r < t.size(); ++r)
                        all.push_back(std::make_shared<program>(build_schedule(t, p, r)));
                    observations seen;
                    const std::string why = verify(t, all, {.collective = WAN_BCAST, .root = root, .count = count, .segment = 3, .window = 2}, &seen);
                    WAN_CHECK_THAT(why.empty(), why);
                    uint64_t crossed = 0;
                    for (const auto &d : seen.between)
                        crossed += d.elements;
                    WAN_CHECK(crossed == count * static_cast<size_t>(t.site_count() - 1));
                    facts f;
                    f.sites = t.site_count();
                    WAN_CHECK(bcast_relay.cost(t, f, {.collective = WAN_BCAST, .bytes = 8 * count}, p) >= f.wan_ns);
                }
        }
    const std::string source = read_all(test_file("../doc/bcast_relay.cpp"));
    std::string text = read_all(test_file("../doc/add-an-algorithm.md"));
    size_t blocks = 0;
    for (size_t at; (at = text.find("```cpp\n")) != text.npos; ++blocks) {
        text.erase(0, at + 7);
        const std::string code = text.substr(0, text.find("```"));
        WAN_CHECK_THAT(source.find(code) != source.npos, "doc/bcast_relay.cpp does not have:\n" + code);
        text.erase(0, code.size() + 3);
    }
    WAN_CHECK(blocks >= 3);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_reference>), cmocka_unit_test(test<check_readme>),
                                cmocka_unit_test(test<check_defaults>), cmocka_unit_test(test<check_limits>),
                                cmocka_unit_test(test<check_variables>), cmocka_unit_test(test<check_guides>), cmocka_unit_test(test<check_messages>), cmocka_unit_test(test<check_names>),
                                cmocka_unit_test(test<check_report_members>), cmocka_unit_test(test<check_commands>), cmocka_unit_test(test<check_mttl_messages>), cmocka_unit_test(test<check_example>)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
