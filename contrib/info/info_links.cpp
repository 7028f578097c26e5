/*
 * See info_links.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_links.hpp"

#include "info_words.hpp"
#include "measure/links_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>

namespace info {

namespace {

using json = nlohmann::ordered_json;

/** Whether two figures of the same thing differ by more than noise: as wan::differ() has it. */
bool apart(double a, double b) { return 2 * std::max(a, b) > 3 * std::min(a, b); }

/** A figure of links. */
struct figure {
    std::string name;       // "one way eu/paris eu/lyon"
    std::string unit;       // of the value: "ns" or "bytes_per_s"
    double value;
    /** Of single processes, or of a connection after a rest: they differ from job to job. */
    bool restless = false;

    std::string text() const { return unit == "ns" ? time_text(static_cast<int64_t>(value)) : rate_text(value); }
};

wan::links_file read(const std::string &file)
{
    wan::links_file l;
    wan::input_error error;
    if (!wan::links_file::read(file, true, l, error))
        throw wrong_word(error.where + ": " + error.what + ". " + error.remedy);
    return l;
}

std::vector<figure> figures_of(const wan::known_links &l)
{
    using wan::fact;
    std::vector<figure> all;
    const auto fact_of = [&](fact::place at, const char *name, bool restless) {
        if (l.facts[at] > 0)
            all.push_back({name, "ns", static_cast<double>(l.facts[at]), restless});
    };
    const size_t n = l.sites.size();
    for (size_t a = 0; a < n; ++a)
        for (size_t b = a + 1; b < n; ++b)
            if (const auto at = wan::fact_of_pair(static_cast<int>(a), static_cast<int>(b), static_cast<int>(n)); at && l.facts[*at] > 0)
                all.push_back({"one way " + l.sites[a] + " - " + l.sites[b], "ns", static_cast<double>(l.facts[*at])});
    for (const auto &[first, name] : {std::pair{fact::first_flow_ps, "a connection "}, {fact::first_link_ps, "all hosts together "}})
        for (size_t a = 0; a < n; ++a)
            for (size_t b = a + 1; b < n; ++b)
                if (const auto at = wan::fact_of_pair(static_cast<int>(a), static_cast<int>(b), static_cast<int>(n), first); at && l.facts[*at] > 0)
                    all.push_back({name + l.sites[a] + " - " + l.sites[b], "bytes_per_s", 1e12 / static_cast<double>(l.facts[*at])});
    fact_of(fact::farthest_ns, "one way, the farthest", false);
    if (l.facts[fact::byte_ps] > 0)
        all.push_back({"a host's interface", "bytes_per_s", 1e12 / static_cast<double>(l.facts[fact::byte_ps])});
    for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; b < n; ++b)
            if (const wan::site_way &w = l.ways[a][b]; w.rtt_ns > 0) {
                const std::string way = l.sites[a] + " -> " + l.sites[b];
                all.push_back({"there and back " + way, "ns", static_cast<double>(w.rtt_ns)});
                if (w.bytes_per_s > 0)
                    all.push_back({"a flow " + way, "bytes_per_s", static_cast<double>(w.bytes_per_s)});
                if (w.cold_bytes_per_s > 0)
                    all.push_back({"after a rest " + way, "bytes_per_s", static_cast<double>(w.cold_bytes_per_s), true});
            }
    fact_of(fact::inside_ns, "one way inside a site", true);
    static const char *const sharing[] = {"no level", "one level", "two levels", "three levels or more"};
    for (int shared = 0; shared < wan::facts::levels; ++shared)
        fact_of(wan::level_fact(shared), (std::string("one way, hosts that share ") + sharing[shared]).c_str(), true);
    if (l.facts[fact::level_byte_ps] > 0)
        all.push_back({"a connection, those that share the fewest", "bytes_per_s", 1e12 / static_cast<double>(l.facts[fact::level_byte_ps])});
    fact_of(fact::message_ns, "a process's time for a message", true);
    fact_of(fact::step_ns, "a step of all hosts of a site", true);
    return all;
}

/** One figure beside another; none: it was not measured there. */
struct pair_of_figures {
    figure first;
    std::optional<double> second;
    bool differs() const { return second && !first.restless && apart(first.value, *second); }
};

/** What both know; sites that one alone knows are left out. */
std::vector<std::pair<std::vector<std::string>, std::vector<pair_of_figures>>> compared(const wan::links_file &a, const wan::links_file &b)
{
    std::vector<std::pair<std::vector<std::string>, std::vector<pair_of_figures>>> all;
    for (const wan::known_links &l : a.all()) {
        const wan::known_links *other = b.find(l.sites);
        if (!other)
            continue;
        const auto theirs = figures_of(*other);
        std::vector<pair_of_figures> rows;
        for (const figure &f : figures_of(l)) {
            const auto at = std::find_if(theirs.begin(), theirs.end(), [&](const figure &x) { return x.name == f.name; });
            rows.push_back({f, at == theirs.end() ? std::nullopt : std::optional(at->value)});
        }
        all.emplace_back(l.sites, std::move(rows));
    }
    return all;
}

int one_print(const wan::links_file &l, bool as_json)
{
    json out = json::array();
    for (const wan::known_links &k : l.all()) {
        json block{{"sites", k.sites}, {"figures", json::array()}};
        if (!as_json)
            std::cout << some_of(k.sites) << "\n";
        for (const figure &f : figures_of(k)) {
            if (as_json)
                block["figures"].push_back({{"name", f.name}, {f.unit, f.value}});
            else
                std::printf("  %-44s %s\n", f.name.c_str(), f.text().c_str()), std::fflush(stdout);
        }
        out.push_back(std::move(block));
    }
    if (as_json)
        std::cout << out.dump(2) << "\n";
    else if (l.all().empty())
        std::cout << "no links are kept in it yet\n";
    return 0;
}

/** "120%", "96 times": more than ten times as much. */
std::string ratio_text(double ratio)
{
    char text[32];
    std::snprintf(text, sizeof text, ratio < 10 ? "%.0f%%" : "%.0f times", ratio < 10 ? 100 * ratio : ratio);
    return text;
}

int both_print(const wan::links_file &a, const wan::links_file &b, bool as_json)
{
    const auto all = compared(a, b);
    json out = json::array();
    int differing = 0;
    for (const auto &[names, rows] : all) {
        json block{{"sites", joined(names, ", ")}, {"figures", json::array()}};
        if (!as_json)
            std::cout << some_of(names) << "\n";
        for (const pair_of_figures &p : rows) {
            differing += p.differs();
            if (as_json) {
                json row{{"name", p.first.name}, {p.first.unit, {p.first.value, p.second ? json(*p.second) : json(nullptr)}}, {"differs", p.differs()}};
                block["figures"].push_back(std::move(row));
                continue;
            }
            figure second = p.first;
            second.value = p.second.value_or(0);
            std::printf("  %-44s %12s %12s  %s%s\n", p.first.name.c_str(), p.first.text().c_str(), p.second ? second.text().c_str() : "-",
                        p.second ? ratio_text(*p.second / p.first.value).c_str() : "",
                        p.differs() ? "  differs" : "");
            std::fflush(stdout);
        }
        out.push_back(std::move(block));
    }
    if (as_json)
        std::cout << out.dump(2) << "\n";
    else if (all.empty())
        std::cout << "the two files know nothing of the same sites\n";
    else
        std::cout << (differing ? std::to_string(differing) + " figures differ by more than half\n" : "no figure of links differs by more than half\n");
    return all.empty() || differing ? 1 : 0;
}

} // namespace

int links_run(const std::vector<std::string> &files, bool as_json)
{
    const wan::links_file first = read(files[0]);
    if (files.size() == 1)
        return one_print(first, as_json);
    if (files.size() > 2)
        throw wrong_word("links: one file, or two to compare, not " + std::to_string(files.size()));
    return both_print(first, read(files[1]), as_json);
}

} // namespace info
