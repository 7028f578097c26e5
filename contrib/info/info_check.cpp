/*
 * See info_check.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_check.hpp"

#include "contention/fabric.hpp"
#include "topo/cluster_map.hpp"
#include "topo/site_name.hpp"
#include "topo/site_resolve.hpp"
#include "topo/slurm_topology.hpp"
#include "tune/rules.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include <unistd.h>

namespace info {

namespace {

std::string own_host()
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::string counted(size_t n, const char *what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

struct site_sum {
    std::vector<const host *> hosts;
    std::set<std::string> inside;
    int slots = 0;
};

/** "n1, n2, n3 ... n16". */
std::string some_names(const std::vector<const host *> &hosts)
{
    constexpr size_t shown = 4;
    std::string text;
    for (size_t i = 0; i < hosts.size() && (i < shown || hosts.size() <= shown + 2); ++i)
        text += (i ? ", " : "") + hosts[i]->name;
    return hosts.size() > shown + 2 ? text + " ... " + hosts.back()->name : text;
}

/** Whether a word is another one with one letter too many, too few or wrong, or two in each other's place. */
bool nearly(const std::string &word, const std::string &right)
{
    const auto [less, more] = std::minmax({word.size(), right.size()});
    if (word == right || more - less > 1)
        return false;
    const auto from_front = static_cast<size_t>(std::mismatch(word.begin(), word.end(), right.begin(), right.end()).first - word.begin());
    const auto from_back = static_cast<size_t>(std::mismatch(word.rbegin(), word.rend(), right.rbegin(), right.rend()).first - word.rbegin());
    const size_t apart = more - std::min(more, from_front + from_back);
    return apart <= 1 || (apart == 2 && less == more && word[from_front] == right[from_front + 1] && word[from_front + 1] == right[from_front]);
}

/** Lines about a map that can be read but may not mean what its author wanted. */
std::vector<std::string> doubts(const wan::cluster_map &map, const std::string &file)
{
    std::vector<std::string> found;
    std::set<std::string> sites;
    std::map<std::string, std::set<std::string>> regions;       // and the sites of two parts in them
    const auto add = [&](const std::string &name) {
        const std::string site(wan::wan_site(name));
        if (!site.empty() && sites.insert(site).second)
            if (const size_t slash = site.find('/'); slash != site.npos)
                regions[site.substr(0, slash)].insert(site.substr(slash + 1));
    };
    for (const wan::map_entry &e : map.entries())
        add(e.site);
    if (map.default_site())
        add(*map.default_site());
    const auto at = [&](int line) { return file + ":" + std::to_string(line) + ": "; };
    const auto known = [&](const std::string &site, int line) {
        if (map.places_hosts() && !sites.contains(site))
            found.push_back(at(line) + "no host is in the site '" + site + "': is it spelt as in the lines of hosts?");
    };
    for (const wan::link_hint &l : map.links().links) {
        known(l.site_a, l.line);
        known(l.site_b, l.line);
    }
    for (const auto *rates : {&map.links().nics, &map.links().uplinks})
        for (const wan::rate_hint &r : *rates)
            known(r.site, r.line);
    for (const wan::map_entry &e : map.entries())
        (void)e.hosts.for_each([&](const std::string &name) {
            for (const char *keyword : {"default", "link", "nic", "uplink"})
                if (nearly(name, keyword))
                    found.push_back(at(e.line) + "'" + name + "' is taken for a host: was '" + keyword + "' meant?");
            return false;       // a list's first: none of a list is a keyword
        });
    for (const wan::link_hint &l : map.links().links)
        if (l.latency_ns > 0 && l.latency_ns < 20'000)
            found.push_back(at(l.line) + "less than 20 us between sites: is the unit right?");
        else if (l.latency_ns > 2'000'000'000)
            found.push_back(at(l.line) + "more than 2 s one way: is the unit right?");
    for (const auto &[region, inner] : regions)
        for (const std::string &part : inner)
            if (part.starts_with("rack") || part.starts_with("switch") || part.starts_with("leaf")) {
                found.push_back(
                    file + ": '" + region + "/" + part
                    + "' is a site of its own, across which messages are spared; a rack or switch of the site '"
                    + region + "' is written '" + region + ":" + part + "'");
                break;
            }
    if (map.places_hosts() && sites.size() == 1)
        found.push_back(file + ": all hosts are in one site, '" + *sites.begin()
                        + "': jobs on them run without coll/wan");
    if (map.places_hosts() && sites.empty())
        found.push_back(file + ": no host is in a site: switches are sites where several stand below another one (Switches=)");
    return found;
}

std::string summary(const wan::cluster_map &map)
{
    std::set<std::string> sites;
    for (const wan::map_entry &e : map.entries())
        if (!e.site.empty())
            sites.insert(std::string(wan::wan_site(e.site)));
    if (map.default_site())
        sites.insert(std::string(wan::wan_site(*map.default_site())));
    const wan::link_hints &l = map.links();
    std::string text = counted(sites.size(), "site") + ", " + counted(map.entries().size(), "list") + " of hosts";
    if (map.default_site())
        text += " and a default";
    if (!l.empty())
        text += ", " + counted(l.links.size(), "link") + ", " + counted(l.nics.size(), "interface") + ", "
                + counted(l.uplinks.size(), "uplink");
    return text;
}

using json = nlohmann::ordered_json;

/** The site of this host, as the plugin finds it. */
struct own_site {
    std::string host = own_host();
    wan::site_answer answer;
    wan::input_error error;
    bool read;              // false: `error`
    bool stays_out;         // of all jobs: the map does not have it, or there is no other way to find its site

    explicit own_site(const parameters &params)
    {
        wan_runtime_hints_t hints{host.c_str(), nullptr, nullptr, 0};
        read = wan::site_resolve(params.values(), &hints, answer, error);
        stays_out = read && answer.site.empty() && (in_map() || !params.values().discover);
    }
    bool in_map() const { return answer.source == wan::site_source::cluster_map; }
    bool good() const { return read && !stays_out; }
};

json own_site_json(const own_site &own)
{
    json out = {{"host", own.host}, {"site", nullptr}, {"inside", nullptr}, {"source", nullptr}, {"note", nullptr}};
    if (!own.read)
        out["error"] = {{"where", own.error.where}, {"what", own.error.what}, {"remedy", own.error.remedy}};
    else if (own.answer.site.empty())
        out["note"] = own.answer.note, out["stays_out"] = own.stays_out;
    else {
        out["site"] = wan::wan_site(own.answer.site);
        if (const auto inside = wan::site_inside(own.answer.site); !inside.empty())
            out["inside"] = inside;
        out["source"] = wan::site_source_name(own.answer.source);
    }
    return out;
}

/** Hosts by sites, in the order of the hosts: as a job numbers them. */
struct sites_sum {
    std::vector<std::pair<std::string, site_sum>> sites;
    std::vector<const host *> lost;

    explicit sites_sum(const std::vector<host> &hosts)
    {
        std::map<std::string, size_t> number;
        for (const host &h : hosts) {
            if (h.site.empty()) {
                lost.push_back(&h);
                continue;
            }
            const std::string site(wan::wan_site(h.site));
            const auto [it, fresh] = number.try_emplace(site, sites.size());
            if (fresh)
                sites.emplace_back(site, site_sum{});
            site_sum &s = sites[it->second].second;
            s.hosts.push_back(&h);
            s.slots += h.slots;
            if (const auto inside = wan::site_inside(h.site); !inside.empty())
                s.inside.insert(std::string(inside));
        }
    }
};

/** `each`: of every host its nested site and the map's line, null: its default. */
json sites_json(const sites_sum &sum, bool each)
{
    json out = {{"sites", json::array()},
                {"without_site", json::array()},
                {"served", sum.sites.size() > 1 && sum.lost.empty()}};
    for (const auto &[name, s] : sum.sites) {
        json one = {{"name", name}, {"hosts", json::array()}, {"ranks", s.slots}};
        for (const host *h : s.hosts)
            one["hosts"].push_back(
                each ? json{{"name", h->name}, {"site", h->site}, {"line", h->line ? json(h->line) : json(nullptr)}}
                     : json(h->name));
        out["sites"].push_back(one);
    }
    for (const host *h : sum.lost)
        out["without_site"].push_back(h->name);
    return out;
}

/**
 * What is wrong with a file, line by line: a reader stops at the first, so it gets the text again without that line.  One of Slurm's
 * tells its first only: its other lines hang on it.  true: nothing.
 */
template <typename Parse> bool mistakes_print(const std::string &file, bool lines_alone, const Parse &parse)
{
    constexpr int most = 20;
    std::string text, before;
    wan::input_error error;
    const auto say = [&] {
        std::cout << error.where << ": error: " << error.what << "\n" << (error.remedy == before ? "" : "    " + error.remedy + "\n");
        before = error.remedy;      // the same remedy is said once
    };
    if (!wan::text_file_read(file, text, error)) {
        say();
        return false;
    }
    lines_alone = lines_alone || !wan::slurm_topology_detect(text);
    int found = 0;
    while (!parse(text, error)) {
        if (++found > most) {
            std::cout << file << ": more lines are wrong\n";
            return false;
        }
        const bool of_line = error.where.starts_with(file + ":");    // else nothing is left, which is wrong only from the first
        if (of_line || found == 1)
            say();
        if (!of_line || !lines_alone)
            return false;
        size_t from = 0;
        for (int line = std::stoi(error.where.substr(file.size() + 1)); line > 1; --line)
            from = text.find('\n', from) + 1;
        text.erase(from, std::min(text.find('\n', from), text.size()) - from);
    }
    return found == 0;
}

void sites_print(const sites_sum &sum, bool each, bool by_map)
{
    for (const auto &[name, s] : sum.sites) {
        std::cout << name << ": " << counted(s.hosts.size(), "host") << ", "
                  << counted(static_cast<size_t>(s.slots), "rank");
        if (!s.inside.empty())
            std::cout << ", " << s.inside.size() << (s.inside.size() == 1 ? " rack or switch" : " racks or switches");
        std::cout << ": " << some_names(s.hosts) << "\n";
        for (const host *h : each ? s.hosts : std::vector<const host *>{})
            std::cout << "    " << h->name << "  " << h->site
                      << (h->line ? "  line " + std::to_string(h->line)
                          : by_map ? "  default"
                                   : "")
                      << "\n";
    }
    for (const host *h : sum.lost)
        std::cout << "no site: " << h->name << ": " << h->note << "\n";
    std::cout << (!sum.lost.empty() ? "coll/wan would leave a job on all of these alone: every host needs a site\n"
                  : sum.sites.size() > 1 ? "coll/wan would serve a job on these\n"
                                         : "coll/wan would leave a job on these alone: all ranks are in one site\n");
}

} // namespace

bool own_site_print(const parameters &params)
{
    const own_site own(params);
    const wan::site_answer &answer = own.answer;
    if (!own.read)
        std::cout << "BAD:  " << own.error.where << ": " << own.error.what << "\n      " << own.error.remedy << "\n";
    else if (answer.site.empty())
        std::cout << "note: this host, " << own.host << ", has no site by name: " << answer.note
                  << (own.in_map()
                          ? ": coll/wan stays out of jobs on it; add it to the map, or a line 'default SITE'\n"
                      : params.values().discover ? "; jobs find sites by measuring (coll_wan_discover)\n"
                                                 : ", and coll_wan_discover is 0: coll/wan stays out\n");
    else
        std::cout << "good: this host, " << own.host << ", is in the site " << wan::wan_site(answer.site)
                  << (wan::site_inside(answer.site).empty()
                          ? ""
                          : ", inside it " + std::string(wan::site_inside(answer.site)))
                  << " (" << wan::site_source_name(answer.source) << ")\n";
    return own.good();
}

int sites_run(const cluster_words &words, bool each, bool as_json)
{
    const parameters params = parameters_of(words);
    const std::string map_file = params.values().cluster_map;
    if (map_file.empty() && words.hosts.empty() && words.hostfile.empty() && words.shape.empty()) {
        if (!as_json)
            return own_site_print(params) ? 0 : 1;
        const own_site own(params);
        std::cout << own_site_json(own).dump(2) << "\n";
        return own.good() ? 0 : 1;
    }
    const std::vector<host> hosts = hosts_of(words, map_file);
    const sites_sum sum(hosts);
    if (as_json)
        std::cout << sites_json(sum, each).dump(2) << "\n";
    else
        sites_print(sum, each, !map_file.empty());
    return sum.lost.empty() ? 0 : 1;
}

int check_run(const std::vector<std::string> &maps, const std::vector<std::string> &rules, bool warnings_count)
{
    bool good = true;
    for (const std::string &file : rules) {
        wan::rules all;
        if (mistakes_print(file, true, [&](const std::string &text, wan::input_error &error) { return wan::rules::parse(text, file, all, error); }))
            std::cout << file << ": " << all.size() << (all.size() == 1 ? " rule: good\n" : " rules: good\n");
        else
            good = false;
    }
    for (const std::string &file : maps) {
        wan::cluster_map map;
        const auto parse = [&](const std::string &text, wan::input_error &error) {
            wan::fabric switches;       // what comments in Slurm's file tell wan-info contention
            return wan::cluster_map::parse(text, file, map, error) && (!wan::slurm_topology_detect(text) || wan::fabric::parse(text, file, switches, error));
        };
        if (!mistakes_print(file, false, parse)) {
            good = false;
            wan::rules all;
            wan::input_error ignored;
            if (wan::rules::read(file, false, all, ignored) && all.size() > 0)
                std::cout << file << ": these are rules, not a map: wan-info check --rules " << file << "\n";
            continue;
        }
        const auto found = doubts(map, file);
        for (const std::string &d : found)
            std::cout << "warning: " << d << "\n";
        good &= !warnings_count || found.empty();
        std::cout << file << ": " << summary(map) << (found.empty() ? ": good\n" : "\n");
    }
    return good ? 0 : 1;
}

} // namespace info
