/*
 * See cluster_map.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/cluster_map.hpp"

#include "topo/site_name.hpp"
#include "topo/slurm_topology.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace wan {

namespace {

constexpr std::string_view blanks = " \t\v\f\r";

const char *const line_remedy =
    "Write 'HOSTS SITE' such as 'n[001-016],gw1 eu/paris', 'default SITE', "
    "'link SITE SITE latency=10ms bandwidth=400Mb/s', 'nic SITE bandwidth=40Mb/s' "
    "or 'uplink SITE bandwidth=400Mb/s'.";
const char *const site_remedy =
    "Write one or more levels of letters, digits, '.', '_' and '-', separated by '/' "
    "(':' begins the inside of a site), such as eu/paris/rack3 or paris:rack3.";
const char *const hosts_remedy =
    "Write host names and ranges without blanks between them, such as n[001-016,20],gw1,rack[1-2]n[0-3].";
const char *const rate_remedy =
    "Write a number and a unit: latency=10ms (ns, us, ms, s), bandwidth=400Mb/s (b/s or B/s, with k, M, G or T).";

std::vector<std::string_view> words_of(std::string_view line)
{
    std::vector<std::string_view> words;
    for (size_t at = line.find_first_not_of(blanks); at != line.npos;) {
        const size_t end = std::min(line.find_first_of(blanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(blanks, end);
    }
    return words;
}

/* A positive number at the front of `text`; the rest stays there. */
bool number_take(std::string_view &text, double &v)
{
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v, std::chars_format::fixed);
    if (ec != std::errc() || !std::isfinite(v) || v <= 0)
        return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return true;
}

bool rounded(double v, int64_t &out)
{
    // Up to 2^53 a double holds every integer.
    if (!(v >= 0.5 && v <= 9007199254740992.0))
        return false;
    out = std::llround(v);
    return true;
}

} // namespace

bool latency_parse(std::string_view text, int64_t &ns)
{
    double v = 0;
    if (!number_take(text, v))
        return false;
    static constexpr struct { std::string_view unit; double ns; } units[] = {
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (const auto &u : units)
        if (text == u.unit)
            return rounded(v * u.ns, ns);
    return false;
}

bool bandwidth_parse(std::string_view text, int64_t &bytes_per_s)
{
    double v = 0;
    if (!number_take(text, v) || text.empty())
        return false;
    static constexpr struct { char prefix; double factor; } prefixes[] = {
        {'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
    for (const auto &p : prefixes)
        if (text.front() == p.prefix) {
            v *= p.factor;
            text.remove_prefix(1);
            break;
        }
    if (text == "b/s" || text == "bit/s")
        return rounded(v / 8, bytes_per_s);
    return text == "B/s" && rounded(v, bytes_per_s);
}

std::string_view line_take(std::string_view &text)
{
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);
    return line;
}

std::string_view line_content(std::string_view line)
{
    line = line.substr(0, line.find('#'));
    const size_t first = line.find_first_not_of(blanks);
    if (first == line.npos)
        return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

/* ---- link hints ------------------------------------------------------------ */

namespace {

int64_t rate_find(const std::vector<rate_hint> &rates, std::string_view site)
{
    const auto it = std::find_if(rates.begin(), rates.end(), [&](const rate_hint &r) { return r.site == site; });
    return it == rates.end() ? 0 : it->bandwidth_bytes_per_s;
}

} // namespace

const link_hint *link_hints::link(std::string_view site_a, std::string_view site_b) const
{
    for (const link_hint &l : links)
        if ((l.site_a == site_a && l.site_b == site_b) || (l.site_a == site_b && l.site_b == site_a))
            return &l;
    return nullptr;
}

int64_t link_hints::nic_bytes_per_s(std::string_view site) const { return rate_find(nics, site); }
int64_t link_hints::uplink_bytes_per_s(std::string_view site) const { return rate_find(uplinks, site); }

/* ---- parser ------------------------------------------------------------------ */

/* One pass over the lines; every member function that finds a fault fills the error and says false. */
class cluster_map_parser {
public:
    cluster_map_parser(const std::string &file, cluster_map &map, input_error &error)
        : file_(file), map_(map), error_(error) {}

    bool parse(std::string_view text)
    {
        while (!text.empty()) {
            ++line_;
            const auto words = words_of(line_content(line_take(text)));
            if (!words.empty() && !statement(words))
                return false;
        }
        if (!map_.places_hosts() && map_.links_.empty()) {
            error_ = {file_, "the cluster map says nothing: it is empty or holds comments only", line_remedy};
            return false;
        }
        return hosts_check();
    }

private:
    const std::string &file_;
    cluster_map &map_;
    input_error &error_;
    int line_ = 0;

    bool fail(std::string what, std::string remedy)
    {
        error_ = {file_ + ":" + std::to_string(line_), std::move(what), std::move(remedy)};
        return false;
    }

    bool statement(const std::vector<std::string_view> &w)
    {
        if (w[0] == "link")
            return link_line(w);
        if (w[0] == "nic")
            return rate_line(w, map_.links_.nics);
        if (w[0] == "uplink")
            return rate_line(w, map_.links_.uplinks);
        if (w[0] == "default")
            return default_line(w);
        if (w.size() == 1)
            return fail(quoted(w[0]) + " stands alone: a site is missing", line_remedy);
        if (w.size() > 2)
            return fail("unknown keyword " + quoted(w[0]) + ", or more than hosts and a site", line_remedy);

        map_entry entry;
        std::string what;
        if (!hostlist::parse(w[0], entry.hosts, what))
            return fail("bad host range: " + what, hosts_remedy);
        if (!site(w[1], entry.site))
            return false;
        entry.line = line_;
        map_.entries_.push_back(std::move(entry));
        return true;
    }

    bool site(std::string_view text, std::string &out)
    {
        std::string what;
        if (!site_name_check(text, what))
            return fail(what, site_remedy);
        out = site_name_canonical(text);
        return true;
    }

    bool wan_site_only(std::string_view text, std::string &out)
    {
        if (!site(text, out))
            return false;
        if (const std::string_view outer = wan_site(out); outer != out)
            return fail(quoted(text) + " lies inside the site " + quoted(outer) + ": links and rates belong to sites",
                        "Write " + quoted(outer) + ".");
        return true;
    }

    bool default_line(const std::vector<std::string_view> &w)
    {
        if (w.size() != 2)
            return fail("'default' takes one site", "Write 'default SITE' such as 'default eu/paris'.");
        std::string name;
        if (!site(w[1], name))
            return false;
        if (map_.default_ && *map_.default_ != name)
            return fail("a second default, " + quoted(name) + " after " + quoted(*map_.default_),
                        "Keep one of the two lines.");
        map_.default_ = name;
        return true;
    }

    /* The key=value words from `first` on; a null target is a key that does not belong here. */
    bool attributes(const std::vector<std::string_view> &w, size_t first, int64_t *latency_ns, int64_t *bandwidth)
    {
        if (w.size() == first)
            return fail(quoted(w[0]) + " gives no rate", rate_remedy);
        for (size_t i = first; i < w.size(); ++i) {
            const size_t equals = w[i].find('=');
            const std::string_view key = w[i].substr(0, equals);
            const std::string_view value = equals == w[i].npos ? std::string_view() : w[i].substr(equals + 1);
            int64_t *const target = key == "latency" ? latency_ns : key == "bandwidth" ? bandwidth : nullptr;
            if (equals == w[i].npos || !target)
                return fail("unknown attribute " + quoted(w[i]) + " of " + quoted(w[0]), line_remedy);
            if (*target != 0)
                return fail(quoted(key) + " is given twice", "Keep one of the two.");
            if (!(target == latency_ns ? latency_parse(value, *target) : bandwidth_parse(value, *target)))
                return fail("bad value in " + quoted(w[i]) + ": it must be positive and have a unit", rate_remedy);
        }
        return true;
    }

    bool link_line(const std::vector<std::string_view> &w)
    {
        link_hint link;
        if (w.size() < 3)
            return fail("'link' takes two sites", line_remedy);
        if (!wan_site_only(w[1], link.site_a) || !wan_site_only(w[2], link.site_b))
            return false;
        if (link.site_a == link.site_b)
            return fail("a link from " + quoted(link.site_a) + " to itself", "Name two different sites.");
        if (!attributes(w, 3, &link.latency_ns, &link.bandwidth_bytes_per_s))
            return false;
        if (map_.links_.link(link.site_a, link.site_b))
            return fail("a second link between " + quoted(link.site_a) + " and " + quoted(link.site_b),
                        "Keep one line; it holds for both directions.");
        link.line = line_;
        map_.links_.links.push_back(std::move(link));
        return true;
    }

    bool rate_line(const std::vector<std::string_view> &w, std::vector<rate_hint> &rates)
    {
        rate_hint rate;
        if (w.size() < 2)
            return fail(quoted(w[0]) + " takes a site", line_remedy);
        if (!wan_site_only(w[1], rate.site) || !attributes(w, 2, nullptr, &rate.bandwidth_bytes_per_s))
            return false;
        if (rate_find(rates, rate.site) != 0)
            return fail("a second " + quoted(w[0]) + " line for the site " + quoted(rate.site),
                        "Keep one of the two lines.");
        rate.line = line_;
        rates.push_back(std::move(rate));
        return true;
    }

    /* No host may be in two places, or ranks would disagree about who is where. */
    bool hosts_check()
    {
        std::vector<const hostlist *> lists;
        for (const map_entry &e : map_.entries_)
            lists.push_back(&e.hosts);
        bool good = true;
        hostlist_overlaps(
            lists, [&](size_t a, size_t b) { return map_.entries_[a].site != map_.entries_[b].site; },
            [&](size_t a, size_t b, const std::string &host) {
                const map_entry &first = map_.entries_[a], &second = map_.entries_[b];
                line_ = second.line;
                good = fail("host " + quoted(host) + " is in " + quoted(second.site) + " here and in "
                                + quoted(first.site) + " in line " + std::to_string(first.line),
                            "Keep the host in one of the two lines; a name without a dot also stands for "
                            "every full name that begins with it.");
                return false;
            });
        return good;
    }
};

bool cluster_map::parse(std::string_view text, const std::string &file, cluster_map &out, input_error &error)
{
    out = {};
    if (text.substr(0, 3) == "\xef\xbb\xbf")     // what some editors put in front
        text.remove_prefix(3);
    if (slurm_topology_detect(text)) {
        std::vector<map_entry> entries;
        if (!slurm_topology_parse(text, file, entries, error))
            return false;
        out.entries_ = std::move(entries);
        return true;
    }
    return cluster_map_parser(file, out, error).parse(text);
}

bool cluster_map::read(const std::string &file, cluster_map &out, input_error &error)
{
    std::string text;
    return text_file_read(file, text, error) && parse(text, file, out, error);
}

std::optional<std::string> cluster_map::site_of(std::string_view host) const
{
    for (const map_entry &e : entries_)
        if (e.hosts.contains(host))
            return e.site;
    return default_;
}

bool link_hints_read(const std::string &file, link_hints &out, input_error &error)
{
    cluster_map map;
    if (!cluster_map::read(file, map, error))
        return false;
    out = map.links();
    return true;
}

} // namespace wan
