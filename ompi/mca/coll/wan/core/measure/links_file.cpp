/*
 * See links_file.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/links_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <set>
#include <unistd.h>

namespace wan {

namespace {

std::vector<std::string> words_of(std::string_view line)
{
    std::vector<std::string> words;
    for (size_t at = 0; (at = line.find_first_not_of(" \t", at)) != line.npos;) {
        const size_t end = std::min(line.find_first_of(" \t", at), line.size());
        words.emplace_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

/** A TB/s and the like. */
constexpr int64_t most_number = 1'000'000'000'000;

int64_t most_of(const fact_name &f)
{
    const std::string_view name = f.name;
    return name.ends_with("_ps") ? most_fact_byte_ps : name.ends_with("_ns") ? most_fact_ns : most_number;
}

/** Positive, or 0 where that is allowed. */
std::optional<int64_t> number(const std::string &text, int64_t least = 1, int64_t most = most_number)
{
    int64_t n = 0;
    const char *const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, n);
    return error == std::errc{} && at == end && n >= least && n <= most ? std::optional(n) : std::nullopt;
}

std::optional<size_t> index_of(const known_links &l, const std::string &site)
{
    const auto at = std::find(l.sites.begin(), l.sites.end(), site);
    return at == l.sites.end() ? std::nullopt : std::optional(static_cast<size_t>(at - l.sites.begin()));
}

known_links none_of(std::vector<std::string> sites)
{
    const size_t n = sites.size();
    return {std::move(sites), {}, std::vector<std::vector<site_way>>(n, std::vector<site_way>(n))};
}

/** Two sites of a block that are not the same; what is wrong in `fault`. */
std::optional<std::pair<size_t, size_t>> pair_of(const known_links &l, const std::string &a, const std::string &b, std::string &fault)
{
    const auto x = index_of(l, a), y = index_of(l, b);
    if (x && y && *x != *y)
        return std::pair{*x, *y};
    fault = !x ? "'" + a + "' is none of the sites of this block" : !y ? "'" + b + "' is none of the sites of this block" : "a link from '" + a + "' to itself";
    return std::nullopt;
}

std::string range_of(const fact_name &f)
{
    const int64_t most = most_of(f);
    return std::string("positive whole number, ") + (most == most_fact_byte_ps ? "10^9" : most == most_fact_ns ? "10^11" : "10^12") + " at most";
}

/** A line of a block; what is wrong with it, "" if nothing. */
std::string line_take(known_links &l, const std::vector<std::string> &w)
{
    std::string fault;
    for (const fact_name &f : fact_names)
        if (w[0] == f.name) {
            const auto n = w.size() == 2 ? number(w[1], 1, most_of(f)) : std::nullopt;
            l.facts[f.place] = n.value_or(0);
            return n ? "" : "'" + w[0] + "' wants one " + range_of(f) + (w.size() == 2 ? ", not '" + w[1] + "'" : "");
        }
    for (const fact_name &f : pair_fact_names) {
        if (w[0] != f.name)
            continue;
        const auto n = w.size() == 4 ? number(w[3], 1, most_of(f)) : std::nullopt;
        if (!n)
            return "'" + w[0] + "' wants two sites and a " + range_of(f) + (w.size() == 4 ? ", not '" + w[3] + "'" : "");
        const auto p = pair_of(l, w[1], w[2], fault);
        const auto place = p ? fact_of_pair(static_cast<int>(p->first), static_cast<int>(p->second), static_cast<int>(l.sites.size()), f.place) : std::nullopt;
        if (place)
            l.facts[*place] = *n;
        return p && !place ? "of so many sites no single ways are kept" : fault;
    }
    if (w[0] == "flow") {
        const auto rtt = w.size() == 6 ? number(w[3]) : std::nullopt, rate = rtt ? number(w[4], 0) : std::nullopt, cold = rate ? number(w[5], 0) : std::nullopt;
        if (!cold)
            return "'flow' wants two sites and three whole numbers, 10^12 at most";
        if (const auto p = pair_of(l, w[1], w[2], fault))
            l.ways[p->first][p->second] = {*rtt, *rate, *cold};
        return fault;
    }
    return "'" + w[0] + "' is not known here";
}

} // namespace

bool links_file::parse(std::string_view text, const std::string &file, links_file &out, input_error &error)
{
    out.all_.clear();
    for (int n = 1; !text.empty(); ++n) {
        const std::vector<std::string> w = words_of(line_content(line_take(text)));
        if (w.empty())
            continue;
        std::string fault;
        if (w[0] == "sites") {
            std::vector<std::string> sites(w.begin() + 1, w.end());
            if (sites.size() < 2 || std::set<std::string>(sites.begin(), sites.end()).size() < sites.size())
                fault = "'sites' wants two names or more, each once";
            else if (out.find(sites))
                fault = "these sites have a block already";
            else
                out.all_.push_back(none_of(std::move(sites)));
        } else if (out.all_.empty()) {
            fault = "a block begins with a line 'sites NAME NAME ...'";
        } else {
            fault = line_take(out.all_.back(), w);
        }
        if (!fault.empty()) {
            error = {file + ":" + std::to_string(n), fault,
                     "Correct the line, or remove the file: a job with coll_wan_links_file measures the links, and writes it again."};
            return false;
        }
    }
    return true;
}

bool links_file::read(const std::string &file, bool must, links_file &out, input_error &error)
{
    out.all_.clear();
    std::string text;
    if (!must && access(file.c_str(), F_OK) != 0 && errno == ENOENT)
        return true;
    return text_file_read(file, text, error) && parse(text, file, out, error);
}

const known_links *links_file::find(const std::vector<std::string> &sites) const
{
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const known_links &l) { return l.sites == sites; });
    return at == all_.end() ? nullptr : &*at;
}

void links_file::keep(known_links links)
{
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const known_links &l) { return l.sites == links.sites; });
    if (at == all_.end())
        all_.push_back(std::move(links));
    else
        *at = std::move(links);
}

std::string links_file::print() const
{
    std::string s = "# Links between sites, as coll/wan measured them: --mca coll_wan_links_file FILE begins with them, wan-info links FILE shows them.\n";
    for (const known_links &l : all_) {
        const size_t n = l.sites.size();
        s += "sites";
        for (const std::string &name : l.sites)
            s += ' ' + name;
        s += '\n';
        for (const fact_name &f : fact_names)
            if (l.facts[f.place] > 0)
                s += std::string(f.name) + ' ' + std::to_string(std::min(l.facts[f.place], most_of(f))) + '\n';
        for (const fact_name &f : pair_fact_names)
            for (size_t a = 0; a < n; ++a)
                for (size_t b = a + 1; b < n; ++b)
                    if (const auto place = fact_of_pair(static_cast<int>(a), static_cast<int>(b), static_cast<int>(n), f.place); place && l.facts[*place] > 0)
                        s += std::string(f.name) + ' ' + l.sites[a] + ' ' + l.sites[b] + ' ' + std::to_string(std::min(l.facts[*place], most_of(f))) + '\n';
        for (size_t a = 0; a < n; ++a)
            for (size_t b = 0; b < n; ++b)
                if (const site_way &w = l.ways[a][b]; w.rtt_ns > 0)
                    s += "flow " + l.sites[a] + ' ' + l.sites[b] + ' ' + std::to_string(w.rtt_ns) + ' ' + std::to_string(w.bytes_per_s) + ' '
                         + std::to_string(w.cold_bytes_per_s) + '\n';
    }
    return s;
}

bool links_save(const std::string &file, known_links links, input_error &error)
{
    links.ways.resize(links.sites.size(), std::vector<site_way>(links.sites.size()));
    return text_file_change(
        file,
        [&](std::string &text, input_error &fault) {
            links_file all;
            if (!links_file::parse(text, file, all, fault))
                return false;
            all.keep(links);
            text = all.print();
            return true;
        },
        error);
}

} // namespace wan
