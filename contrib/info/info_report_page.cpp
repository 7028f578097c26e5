/*
 * The page of a report: one file of HTML that needs nothing else, no network, no script; tables
 * scroll on a narrow screen.  It is well-formed XML, too, so that programs can check it.
 *
 * Whatever a report says (names of sites, of communicators) is escaped here, in text().
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_picture.hpp"
#include "info_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numbers>

namespace info {

namespace {

template <typename... A> std::string format(const char *text, A... values)
{
    char out[1024];
    std::snprintf(out, sizeof out, text, values...);
    return out;
}

std::string text(const std::string &plain) { return escaped(plain); }
std::string str(const json &j) { return j.get<std::string>(); }
int64_t number(const json &j) { return j.get<int64_t>(); }

std::string element(const char *name, const std::string &inside, const std::string &attributes = "")
{
    return std::string("<") + name + (attributes.empty() ? "" : " " + attributes) + ">" + inside + "</" + name + ">";
}

std::string cells(const char *kind, const std::vector<std::string> &html)
{
    std::string row;
    for (const std::string &h : html)
        row += element(kind, h);
    return element("tr", row) + "\n";
}

/** A box that scrolls where the screen is narrower than what is in it; by the keyboard, too. */
std::string scrolling(const std::string &inside)
{
    return "<div class=\"wide\" tabindex=\"0\">" + inside + "</div>\n";
}

std::string table(const std::vector<std::string> &head, const std::string &rows, const std::string &groups = "")
{
    return scrolling("<table><thead>" + groups + cells("th", head) + "</thead><tbody>\n" + rows + "</tbody></table>");
}

// The first column of a table stays in sight when it scrolls; shadows tell that there is more.
constexpr const char *style = R"(
:root{color-scheme:light dark;--line:#94a3b8;--soft:#f1f5f9;--far:#c2410c;--near:#0369a1;--ink:#0f172a;--paper:#ffffff;
--good:#15803d;--fair:#a16207;--bad:#b91c1c;--shade:#0f172a40}
@media (prefers-color-scheme:dark){:root{
--line:#475569;--soft:#1e293b;--far:#fb923c;--near:#38bdf8;--ink:#e2e8f0;--paper:#0f172a;
--good:#4ade80;--fair:#facc15;--bad:#f87171;--shade:#e2e8f040}}
body{font:16px/1.45 system-ui,sans-serif;margin:0 auto;max-width:78rem;padding:0 1rem 3rem;
color:var(--ink);background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.4rem}h1 span{white-space:nowrap}h2{font-size:1.15rem;margin-top:2rem}h3{font-size:1rem}
.wide{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 1rem,transparent 2rem) 0 0/3rem 100% no-repeat local,
linear-gradient(270deg,var(--paper) 1rem,transparent 2rem) 100% 0/3rem 100% no-repeat local,
linear-gradient(90deg,var(--shade),transparent) 0 0/.7rem 100% no-repeat scroll,
linear-gradient(270deg,var(--shade),transparent) 100% 0/.7rem 100% no-repeat scroll}
table{border-collapse:collapse;font-size:.9rem;overflow-wrap:normal}
th,td{border-bottom:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top;white-space:nowrap}
th{white-space:normal;vertical-align:bottom}.calls tr:last-child th:nth-child(n+3):nth-child(-n+11){text-align:right}
th[colspan]{text-align:center;border-left:1px solid var(--line)}
td.n{text-align:right;font-variant-numeric:tabular-nums}td.w{white-space:normal;min-width:14rem}
.calls td:first-child,.calls tr:last-child th:first-child{position:sticky;left:0;background:var(--paper);white-space:normal;
min-width:5.5rem;max-width:11rem}
.facts{display:flex;flex-wrap:wrap;gap:.6rem;padding:0}.facts div{background:var(--soft);border-radius:.5rem;padding:.5rem .8rem}
.facts b{display:block;font-size:1.15rem}svg{display:block;min-width:34rem;max-width:46rem;width:100%}svg text{fill:var(--ink)}
.good{color:var(--good)}.fair{color:var(--fair)}.bad{color:var(--bad)}summary{cursor:pointer}
ul.short{padding-left:1.2rem}.ways{margin:.5rem 0}.ways .wide{margin:.5rem 0}
details p{white-space:normal;max-width:24rem;margin:.3rem 0}details table{font-size:.85rem}.calls+.wide{margin-top:1rem}
dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.3rem 1rem}dt{font-weight:600}dd{margin:0}
@media (max-width:40rem){dl{grid-template-columns:1fr}dd{margin:0 0 .4rem}}
)";

// ---- pictures ------------------------------------------------------------------------

constexpr size_t most_drawn_sites = 40, most_told_links = 15, most_open_pairs = 15;

/** No longer than so many characters, not cut in the middle of one, and what follows; the whole is in a title. */
std::string shortened(const std::string &name, size_t most, const std::string &after = "")
{
    if (name.size() + after.size() <= most)
        return text(name + after);
    const auto cut = std::find_if(name.begin() + static_cast<ptrdiff_t>(std::min(name.size(), most - 3 - after.size())),
                                  name.end(), [](char b) { return (b & 0xc0) != 0x80; });
    return element("title", text(name + after)) + text(std::string(name.begin(), cut) + "..." + after);
}

std::string people_text(const json &site)
{
    return count_text(site.at("hosts"), "host") + ", " + count_text(site.at("ranks"), "rank");
}

/** Name, hosts and ranks of a site: below its place where there are two, else outside the ring. */
std::string site_label(const json &site, double x, double y, double angle, bool two)
{
    const std::string name = shortened(str(site.at("site")), two ? 20 : 28);
    const double out = std::cos(angle);
    const char *anchor = two || std::abs(out) < 0.1 ? "middle" : out > 0 ? "start" : "end";
    x += two ? 0 : 24 * out;
    y += two ? 32 : 4 + 28 * std::sin(angle) + 9 * std::min(0.0, std::sin(angle));
    return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + name + "</text>"
           + format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"12\">", x, y + 14, anchor) + people_text(site)
           + "</text>\n";
}

/** Sites of the largest communicator on a ring, links as they were known last. */
std::string map_svg(const json &r)
{
    const json *largest = nullptr;
    for (const json &c : r.at("communicators"))
        if (!c.at("links").empty() && (!largest || c.at("ranks").get<int>() > largest->at("ranks").get<int>()))
            largest = &c;
    if (!largest)
        return element("p", "No communicator was served: there is no map.");
    const json &sites = largest->at("sites"), &links = r.at("links").at(largest->at("links").back().get<size_t>());
    if (sites.size() > most_drawn_sites)
        return element("p", std::to_string(sites.size()) + " sites: too many for a picture; the table has them.");
    const double n = static_cast<double>(sites.size());
    const bool two = sites.size() == 2;
    const double radius = two ? 92 : 140 + 7 * n, cx = two ? 165 : radius + 230, cy = two ? 30 : radius + 50;
    std::vector<std::pair<double, double>> at;
    std::vector<std::string> names;
    std::string labels, circles;
    for (const json &s : sites) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(at.size()) / n - (two ? std::numbers::pi : std::numbers::pi / 2);
        const double x = cx + radius * std::cos(angle), y = cy + radius * std::sin(angle);
        at.emplace_back(x, y);
        names.push_back(str(s.at("site")));
        circles += format("<circle class=\"site\" cx=\"%.1f\" cy=\"%.1f\" r=\"15\" fill=\"var(--soft)\" "
                          "stroke=\"var(--near)\" stroke-width=\"2\">",
                          x, y)
                   + element("title", text(names.back() + ": ") + people_text(s)) + "</circle>\n";
        labels += site_label(s, x, y, angle, two);
    }
    std::string out = format("<svg viewBox=\"0 0 %.0f %.0f\" style=\"min-width:%.0fpx;max-width:%.0fpx\" role=\"img\" font-size=\"13\">", 2 * cx,
                             two ? 90 : 2 * radius + 105, 0.95 * 2 * cx, 1.3 * 2 * cx)
                      + "<title>Sites and links</title>\n";
    const bool told = links.at("between").size() <= most_told_links;
    for (const json &l : links.at("between")) {
        const auto a = std::find(names.begin(), names.end(), str(l.at("a"))) - names.begin();
        const auto b = std::find(names.begin(), names.end(), str(l.at("b"))) - names.begin();
        if (a == static_cast<ptrdiff_t>(names.size()) || b == static_cast<ptrdiff_t>(names.size()))
            continue;
        const auto [x, y] = at[static_cast<size_t>(a)];
        const auto [u, v] = at[static_cast<size_t>(b)];
        const std::string what =
            time_text(number(l.at("latency_ns")))
            + (l.at("bytes_per_s").is_null() ? "" : ", " + rate_text(l.at("bytes_per_s").get<double>()));
        out += format("<line class=\"link\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"var(--far)\" "
                      "stroke-width=\"2\">",
                      x, y, u, v)
               + element("title", text(names[static_cast<size_t>(a)] + " to " + names[static_cast<size_t>(b)] + ": "
                                       + what + " one way"))
               + "</line>\n";
        if (told)    // nearer to one end, so that those of crossing lines do not meet in the middle
            labels += format("<text class=\"told\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"12\" "
                             "stroke=\"var(--paper)\" stroke-width=\"4\" paint-order=\"stroke\">",
                             x + (u - x) * (two ? 0.5 : 0.4), y + (v - y) * (two ? 0.5 : 0.4) - (two ? 7 : 0))
                      + text(what) + "</text>\n";
    }
    return scrolling(out + circles + labels + "</svg>");
}

struct mark {
    int64_t at_ns;
    std::string what;
};

/** What happened, and communicators that were not served. */
std::vector<mark> marks_of(const json &r)
{
    std::vector<mark> all;
    for (const json &e : r.at("events"))
        all.push_back({number(e.at("at_ns")), str(e.at("text"))});
    for (const json &n : r.at("not_served"))
        all.push_back({number(n.at("at_ns")), "communicator " + n.at("communicator").dump() + " of "
                                                  + n.at("ranks").dump()
                                                  + " ranks is not served: " + str(n.at("why"))});
    std::stable_sort(all.begin(), all.end(), [](const mark &a, const mark &b) { return a.at_ns < b.at_ns; });
    return all;
}

/** What follows a communicator's name, or stands in its place. */
std::string number_text(const json &c)
{
    const std::string n = c.at("communicator").dump();
    return str(c.at("name")).empty() ? n : " (" + n + ")";
}

/** A bar for each communicator's life, a stroke for each thing that happened. */
std::string timeline_svg(const json &r)
{
    constexpr size_t most_bars = 30;
    constexpr double left = 158, right = 530, step = 24;
    const auto whole = static_cast<double>(std::max<int64_t>(1, number(r.at("elapsed_ns"))));
    const auto x = [&](int64_t ns) {
        return left + (right - left) * std::clamp(static_cast<double>(ns) / whole, 0.0, 1.0);
    };
    const std::vector<const json *> all = by_time(r);
    const size_t bars = std::min(all.size(), most_bars);
    const double bottom = 24 + step * static_cast<double>(bars) + 14;
    std::string out =
        format("<svg viewBox=\"0 0 560 %.0f\" role=\"img\" font-size=\"12\"><title>Time line</title>\n", bottom + 24);
    for (size_t i = 0; i < bars; ++i) {
        const json &c = *all[i];
        const double y = 20 + step * static_cast<double>(i);
        out += format("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", left - 8, y + 12)
               + shortened(str(c.at("name")), 20, number_text(c)) + "</text>"
               + format("<rect class=\"life\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" rx=\"3\" "
                        "fill=\"var(--near)\" fill-opacity=\"0.35\">",
                        x(number(c.at("from_ns"))), y,
                        std::max(2.0, x(number(c.at("to_ns"))) - x(number(c.at("from_ns")))))
               + element("title", text(communicator_text(c) + ", " + time_text(number(c.at("from_ns"))) + " to "
                                       + time_text(number(c.at("to_ns")))))
               + "</rect>\n";
    }
    for (const mark &m : marks_of(r))
        out += format("<line class=\"event\" x1=\"%.1f\" y1=\"12\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"var(--far)\" "
                      "stroke-width=\"2\">",
                      x(m.at_ns), x(m.at_ns), bottom)
               + element("title", text(time_text(m.at_ns) + ": " + m.what)) + "</line>\n";
    out += format("<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" stroke=\"var(--line)\"/>\n", left, bottom,
                  right, bottom);
    for (int part = 0; part <= 4; ++part) {
        const auto ns = static_cast<int64_t>(whole * part / 4);
        out += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x(ns), bottom + 17)
               + (part ? text(time_text(ns)) : "0") + "</text>\n";
    }
    return element("p", "Bars: how long communicators were served. Strokes: what happened, listed below.") + "\n"
           + scrolling(out + "</svg>")
           + (all.size() > bars ? element("p", std::to_string(all.size() - bars) + " more communicators are not drawn.")
                                : "");
}

// ---- tables ----------------------------------------------------------------------------

std::string numeric(const std::string &words) { return element("td", text(words), "class=\"n\""); }

std::string near_cell(const json &ratio)
{
    if (ratio.is_null())
        return numeric("-");
    const double v = ratio.get<double>();
    return element("td", format("%.2f", v), format("class=\"n %s\"", v < 1.25 ? "good" : v < 2 ? "fair" : "bad"));
}

/** The ways that calls took; opened, why, and what the others were predicted to take. */
std::string choice_cell(const json &k)
{
    std::string ways;
    for (const std::string &way : ways_of(k))
        ways += (ways.empty() ? "" : "<br/>") + text(way);
    if (k.at("choice").is_null())
        return element("td", ways);
    std::string rows;
    for (const json &c : k.at("choice").at("candidates"))
        rows += cells("td",
                      {text(str(c.at("algorithm"))), c.at("n").is_null() ? "-" : c.at("n").dump(),
                       c.at("segment_bytes").is_null() ? "-" : text(amount_text(c.at("segment_bytes").get<uint64_t>())),
                       text(time_or_dash(c.at("predicted_ns")))});
    return element("td",
                   element("details", element("summary", ways) + element("p", text(str(k.at("choice").at("why"))))
                                          + (rows.empty() ? ""
                                                          : "<table><thead>"
                                                                + cells("th", {"algorithm", "n", "segment", "predicted"})
                                                                + "</thead><tbody>" + rows + "</tbody></table>")));
}

std::string calls_table(const json &c)
{
    std::string rows;
    for (const json &k : c.at("calls")) {
        const json &time = k.at("time_ns"), &wan = k.at("wan");
        const bool crossed = wan.at("calls") != 0;
        rows +=
            element("tr",
                    element("td", text(str(k.at("collective")) + (k.at("form") == "blocking" ? "" : ", non-blocking")
                                       + (k.at("blocks") == "different" ? ", blocks differ" : "")))
                        + element("td", text(class_text(k))) + numeric(k.at("calls").dump())
                        + numeric(time_or_dash(time.at("sum"))) + numeric(time_or_dash(time.at("median")))
                        + numeric(time_or_dash(time.at("p95"))) + numeric(time_or_dash(k.at("predicted_ns")))
                        + numeric(time_or_dash(k.at("bound_ns"))) + near_cell(k.at("times_bound"))
                        + numeric(crossed ? amount_text(wan.at("bytes").get<uint64_t>()) : "-")
                        + numeric(crossed ? amount_text(wan.at("least_bytes").get<uint64_t>()) : "-") + choice_cell(k))
            + "\n";
    }
    return "<div class=\"calls\">"
           + table({"call", "bytes", "calls", "in all", "median", "95%", "predicted", "least possible", "median / least",
                    "sent", "least possible", "by (open: why)"},
                   rows,
                   "<tr><th></th><th></th><th></th><th colspan=\"3\">time on this rank</th>"
                   "<th colspan=\"3\">compared with</th><th colspan=\"2\">across sites</th><th></th></tr>\n")
           + "</div>\n";
}

std::string trials_table(const json &c)
{
    std::string rows;
    for (const json &x : c.at("trials"))
        for (const json &y : x.at("ways")) {
            const std::string way = text(str(y.at("way")));
            rows += element("tr", element("td", text(trial_text(x) + (x.at("settled").get<bool>() ? "" : ", not settled")))
                                      + element("td", y.at("serves").get<bool>() ? element("b", way) : way)
                                      + numeric(time_or_dash(y.at("predicted_ns"))) + numeric(time_or_dash(y.at("measured_ns")))
                                      + numeric(y.at("trials").dump()))
                    + "\n";
        }
    return rows.empty() ? "" : table({"tried", "way (bold: serves)", "predicted", "measured", "trials"}, rows);
}

constexpr size_t most_drawn_ways = 4, most_sites_of_ways = 16;

/** The hosts of a communicator, numbered as the report does it. */
struct hosts_drawn {
    picture seen;
    std::vector<picture::spot> spots;
    std::vector<std::string> who;

    /** root: a rank; which host is its, or, where it is the first one of its host, -1. */
    hosts_drawn(const json &c, const json &root, int64_t root_host);
    std::string svg(const std::string &title, const std::string &id) const;
};

hosts_drawn::hosts_drawn(const json &c, const json &root, int64_t root_host)
{
    for (const json &s : c.at("sites"))
        seen.sites.push_back({str(s.at("site")), {}});
    for (const json &h : c.at("hosts")) {
        const auto site = h.at(0).get<size_t>();
        const int64_t first = number(h.at(1)), ranks = number(h.at(2));
        auto &hosts = seen.sites.at(site).hosts;
        spots.push_back({site, hosts.size()});
        // Ranks of a host need not follow each other: the first one names it.
        who.push_back("the host of rank " + std::to_string(first) + (ranks > 1 ? " (" + std::to_string(ranks) + " ranks)" : ""));
        hosts.push_back({std::to_string(first) + (ranks > 1 ? "+" : ""), who.back(),
                         root_host >= 0 ? root_host + 1 == static_cast<int64_t>(spots.size()) : root == first});
    }
}

/** Who sends to whom in a call by this plan. */
std::string way_svg(const json &c, const json &plan, const std::string &title, const std::string &id)
{
    hosts_drawn of(c, plan.at("root"), -1);
    for (const json &f : plan.at("flows")) {
        const auto from = f.at(0).get<size_t>(), to = f.at(1).get<size_t>();
        const auto bytes = f.at(2).get<uint64_t>(), messages = f.at(3).get<uint64_t>();
        of.seen.flows.push_back({of.spots.at(from), of.spots.at(to), bytes, messages,
                                 of.who.at(from) + " to " + of.who.at(to) + ": " + amount_text(bytes) + ", " + count_text(messages, "message")});
    }
    return of.svg(title, id);
}

std::string hosts_drawn::svg(const std::string &title, const std::string &id) const
{
    const looks page{150, "var(--ink)", "var(--paper)", "var(--soft)", "var(--line)", "var(--near)", "var(--far)", "var(--line)", "#fde047", "#0f172a"};
    const drawing d = draw(seen, page, id);
    return scrolling(format("<svg class=\"way\" viewBox=\"-4 -4 %.0f %.0f\" style=\"min-width:%.0fpx;max-width:%.0fpx\" role=\"img\">",
                            d.width + 8, d.height + 8, 1.12 * (d.width + 8), 1.12 * (d.width + 8))
                     + element("title", text(title)) + "<defs>" + d.defs + "</defs>\n" + d.body + "</svg>");
}

/** Trees in use: of the calls that took most time, those that have a picture; the first one is open. */
std::string ways_section(const json &c)
{
    if (!c.contains("hosts") || c.at("hosts").empty() || c.at("sites").size() > most_sites_of_ways)
        return "";
    std::vector<std::pair<int64_t, std::pair<const json *, const json *>>> all;    // time, calls, their most frequent plan
    for (const json &k : c.at("calls")) {
        const json *common = nullptr;
        for (const json &p : k.at("plans"))
            if (p.contains("flows") && !p.at("flows").is_null() && (!common || p.at("calls") > common->at("calls")))
                common = &p;
        if (common && !common->at("flows").empty())
            all.push_back({number(k.at("time_ns").at("sum")), {&k, common}});
    }
    std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
    std::string out;
    for (size_t i = 0; i < std::min(all.size(), most_drawn_ways); ++i) {
        const json &k = *all[i].second.first, &p = *all[i].second.second;
        const std::string title = str(k.at("collective")) + (k.at("collective") == "barrier" ? "" : " of " + amount_text(p.at("call_bytes").get<uint64_t>()))
                                  + " by " + str(p.at("algorithm"));
        out += element("details",
                       element("summary", text(title + ": who sends to whom"))
                           + way_svg(c, p, title, "-" + c.at("communicator").dump() + "-" + c.at("from_ns").dump() + "-" + std::to_string(i)),
                       i == 0 ? "class=\"ways\" open=\"open\"" : "class=\"ways\"")
               + "\n";
    }
    return out.empty() ? ""
                       : element("p", "Ways that calls took, of those that took most time. A dot is a host, with its first rank; arrows are as wide as what is "
                                      "sent; between sites they have another colour. Of a broadcast and its like, the root is yellow.")
                             + "\n" + out;
}

/** An adaptive tree, by root and kind, with the edges that any of the reports told. */
struct grown_tree {
    json root, kind;
    int64_t changes = 0;
    std::map<int64_t, json> edges;      // by the rank at the lower end, which has one parent and knows it best
};

/** Of a communicator of the first report, and the same one of others'. */
std::vector<grown_tree> trees_of(const json &c, const std::vector<const json *> &same)
{
    std::vector<grown_tree> all;
    const auto add = [&](const json &told) {
        for (const json &t : told.value("trees", json::array())) {
            auto it = std::find_if(all.begin(), all.end(), [&](const grown_tree &g) { return g.root == t.at("root") && g.kind == t.at("kind"); });
            if (it == all.end())
                it = all.insert(it, {t.at("root"), t.at("kind"), 0, {}});
            it->changes += number(t.at("changes"));
            for (const json &e : t.at("edges"))
                if (e.at(1) == told.at("rank"))
                    it->edges[number(e.at(1))] = e;
                else
                    it->edges.emplace(number(e.at(1)), e);
        }
    };
    add(c);
    for (const json *s : same)
        add(*s);
    return all;
}

/** Adaptive trees as they were at the end. */
std::string trees_section(const json &c, const std::vector<const json *> &same)
{
    if (!c.contains("hosts") || c.at("hosts").empty() || c.at("sites").size() > most_sites_of_ways)
        return "";
    std::string out;
    size_t shown = 0;
    const std::vector<grown_tree> all = trees_of(c, same);
    for (const grown_tree &g : all) {
        if (shown == most_drawn_ways)
            break;
        int64_t root_host = -1;
        for (const auto &[to, e] : g.edges)
            for (size_t end : {0, 1})
                if (e.at(end) == g.root)
                    root_host = number(e.at(end + 2));
        hosts_drawn of(c, g.root, root_host);
        std::map<std::pair<size_t, size_t>, std::pair<uint64_t, std::string>> between;      // hosts: ranks, and which edges
        for (const auto &[to, e] : g.edges) {
            auto &[ranks, said] = between[{e.at(2).get<size_t>(), e.at(3).get<size_t>()}];
            ranks += e.at(4).get<uint64_t>();
            said += (said.empty() ? "rank " : "; rank ") + e.at(0).dump() + " to rank " + e.at(1).dump() + ", for " + count_text(e.at(4), "rank");
        }
        for (const auto &[hosts, flow] : between)
            if (hosts.first != hosts.second)
                of.seen.flows.push_back({of.spots.at(hosts.first), of.spots.at(hosts.second), flow.first, 1, flow.second});
        const auto ranks = c.at("ranks").get<size_t>();
        const std::string title = str(g.kind) + " tree of root " + g.root.dump() + ": "
                                  + (g.edges.size() + 1 == ranks ? "all " + std::to_string(g.edges.size()) + " edges"
                                                                 : std::to_string(g.edges.size()) + " of its " + std::to_string(ranks - 1) + " edges")
                                  + ", " + std::to_string(g.changes) + (g.changes == 1 ? " change of a parent" : " changes of parents");
        out += element("details",
                       element("summary", text(title))
                           + of.svg(title, "-" + c.at("communicator").dump() + "-" + c.at("from_ns").dump() + "-t" + std::to_string(shown)),
                       shown == 0 ? "class=\"ways trees\" open=\"open\"" : "class=\"ways trees\"")
               + "\n";
        ++shown;
    }
    return out.empty() ? ""
                       : element("p", text("Adaptive trees as they were at the end, away from the root; arrows are as wide as there are ranks behind them, those on "
                                           "one host are not drawn. A rank knows its own edges: with reports of all ranks (coll_wan_report run.%r.json, wan-info "
                                           "report run.*.json --html FILE) trees are whole."))
                             + "\n" + out
                             + (all.size() > shown ? element("p", std::to_string(all.size() - shown) + " more trees are not drawn.") + "\n" : "");
}

/** before: the sites of the one before, which are not told twice; same: this communicator in reports of other ranks. */
std::string communicator_section(const json &c, const std::vector<const json *> &same, std::string &before)
{
    std::string out =
        element("h3", text(communicator_text(c)) + ": " + count_text(c.at("ranks"), "rank"), "class=\"communicator\"") + "\n";
    std::string sites;
    for (const json &s : c.at("sites"))
        sites += (sites.empty() ? "" : ", ") + text(str(s.at("site"))) + " (" + people_text(s) + ")";
    out += element("p", sites == before ? "On the same sites." : sites) + "\n";
    before = sites;
    out += c.at("calls").empty() ? element("p", "No calls.") : calls_table(c);
    out += ways_section(c);
    out += trees_section(c, same);
    out += trials_table(c);
    for (const json &d : c.at("declined"))
        out += element("p", count_text(d.at("calls"), "call") + " of " + text(str(d.at("collective")))
                                + " went to another component: " + text(str(d.at("why"))))
               + "\n";
    if (c.at("passed") != 0)
        out += element("p", "Calls that went to another component before it was served: " + c.at("passed").dump()) + "\n";
    return out;
}

std::string links_table(const json &l)
{
    const json &in = l.at("inside"), &host = l.at("interface");
    std::string rows;
    for (const json &b : l.at("between"))
        rows += element("tr", element("td", text(str(b.at("a")))) + element("td", text(str(b.at("b"))))
                                  + numeric(time_or_dash(b.at("latency_ns")))
                                  + numeric(b.at("bytes_per_s").is_null() ? "-"
                                                                          : rate_text(b.at("bytes_per_s").get<double>())))
                + "\n";
    for (const json &s : l.at("sites"))
        if (!s.at("uplink_bytes_per_s").is_null())
            rows += element("tr", element("td", text(str(s.at("site")))) + element("td", "all others") + numeric("-")
                                      + numeric(rate_text(s.at("uplink_bytes_per_s").get<double>())))
                    + "\n";
    std::string out =
        element("p", text((in.at("latency_ns").is_null() ? "Each site is one host"
                                                         : "Inside sites " + time_text(number(in.at("latency_ns"))) + " one way")
                          + "; a host's interface "
                          + (host.at("bytes_per_s").is_null() ? "-" : rate_text(host.at("bytes_per_s").get<double>()))
                          + (host.at("burst_bytes") == 0 ? ""
                                                         : ", bursts of " + amount_text(host.at("burst_bytes").get<uint64_t>()))
                          + "; a message costs " + time_text(number(in.at("message_ns")))))
        + "\n";
    const std::string pairs = table({"from", "to", "one way", "shared rate, where told"}, rows);
    out += l.at("between").size() <= most_open_pairs
               ? pairs
               : element("details", element("summary", count_text(l.at("between").size(), "pair") + " of sites") + pairs) + "\n";
    if (l.at("pairs_left_out") != 0)
        out += element("p", l.at("pairs_left_out").dump() + " more pairs of sites are not listed.") + "\n";
    return out;
}

/** What was known of links; what came to the same several times, once. */
std::string links_section(const json &r)
{
    std::vector<std::pair<std::string, std::string>> all;    // table, when
    for (const json &l : r.at("links")) {
        const std::string shown = links_table(l), when = str(l.at("how")) + " at " + time_text(number(l.at("at_ns")));
        const auto it = std::find_if(all.begin(), all.end(), [&](const auto &x) { return x.first == shown; });
        if (it == all.end())
            all.emplace_back(shown, when);
        else
            it->second += "; " + when;
    }
    std::string out;
    for (const auto &[shown, when] : all)
        out += element("p", "Links " + text(when) + ".") + "\n" + shown;
    return out;
}

constexpr const char *legend =
    "<dl><dt>bytes</dt><dd>of the message, or of all ranks' blocks: calls are put together by powers of two</dd>"
    "<dt>calls</dt><dd>those that coll/wan served. Open MPI makes some itself, where communicators are created</dd>"
    "<dt>time</dt><dd>on this rank, from a call's start to its end: where ranks wait for others, that is in it. The root of a "
    "broadcast does not wait</dd>"
    "<dt>predicted</dt><dd>what the way was chosen by</dd>"
    "<dt>least possible time</dt><dd>what no algorithm can beat on these links, if all ranks begin at once</dd>"
    "<dt>median / least</dt><dd>of blocking calls in which each rank waits for all others; below 1 where this rank mostly came "
    "last</dd>"
    "<dt>across sites</dt><dd>bytes that all ranks sent to other sites, and the fewest that have to cross</dd>"
    "<dt>by</dt><dd>the algorithm; n: how many processes of a site send to another one at once; bytes: of a segment</dd></dl>";

std::string fact(const std::string &value, const char *what)
{
    return element("div", element("b", text(value)) + what);
}

/** A communicator's own words, how often there was one like it before. */
size_t occurrence(const json &report, const json &c, const json *&found, size_t wanted)
{
    size_t n = 0;
    for (const json &x : report.at("communicators"))
        if (x.at("communicator") == c.at("communicator") && x.at("name") == c.at("name") && x.at("ranks") == c.at("ranks")
            && x.value("hosts", json()) == c.value("hosts", json())) {
            if (&x == &c)
                return n;
            if (n++ == wanted)
                found = &x;
        }
    return n;
}

/** The same communicator in reports of other ranks, where it is there. */
std::vector<const json *> same_elsewhere(const json &r, const json &c, const std::vector<json> &others)
{
    std::vector<const json *> all;
    const json *found = nullptr;
    const size_t which = occurrence(r, c, found, SIZE_MAX);
    for (const json &other : others) {
        found = nullptr;
        (void) occurrence(other, c, found, which);
        if (found)
            all.push_back(found);
    }
    return all;
}

} // namespace

std::string report_page(const json &r, const std::vector<json> &others)
{
    const json &who = r.at("process"), &sums = r.at("totals"), &wan = sums.at("wan");
    std::string parameters, marks, refused, sections, sites, notes, first;
    for (const auto &[name, value] : r.at("parameters").items())
        parameters += cells("td", {text(name), text(value.is_string() ? str(value) : value.dump())});
    for (const mark &m : marks_of(r))
        marks += element("tr", numeric(time_text(m.at_ns)) + element("td", text(m.what), "class=\"w\"")) + "\n";
    for (const json &n : r.at("not_served"))
        refused += element("tr", numeric(n.at("communicators").dump()) + numeric(n.at("ranks").dump())
                                     + element("td", text(str(n.at("why"))), "class=\"w\"")
                                     + element("td", text(n.value("remedy", "")), "class=\"w\""))
                   + "\n";
    for (const json *c : by_time(r))
        sections += communicator_section(*c, same_elsewhere(r, *c, others), sites);
    for (const std::string &s : left_out_of(r))
        notes += element("p", text(s)) + "\n";
    for (const std::string &s : in_short(r))
        first += element("li", text(s));
    const std::string title =
        "coll/wan: " + process_text(r) + ", " + str(r.at("began"));
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
           + element("title", text(title)) + "<style>" + style + "</style></head>\n<body>\n"
           + element("h1", text("coll/wan: " + process_text(r) + ", ") + element("span", text(str(r.at("began"))))) + "\n"
           + element("p", "on " + text(str(who.at("host"))) + ", coll/wan " + text(str(r.at("version")))
                              + ". All communicators that this rank is in.")
           + "\n" + "<div class=\"facts\">" + fact(time_text(number(r.at("elapsed_ns"))), "from MPI_Init on")
           + fact(sums.at("communicators_served").dump(), "communicators served")
           + fact(sums.at("calls").dump(), "calls")
           + fact(time_text(number(sums.at("elapsed_ns"))), "in them, on this rank")
           + fact(amount_text(wan.at("bytes").get<uint64_t>()), "across sites")
           + fact(amount_text(wan.at("least_bytes").get<uint64_t>()), "across, at least") + "</div>\n" + element("ul", first, "class=\"short\"") + "\n" + notes
           + element("h2", "Sites and links") + "\n" + map_svg(r) + links_section(r) + element("h2", "Time line") + "\n"
           + timeline_svg(r) + table({"at", "what"}, marks) + element("h2", "Calls") + "\n"
           + element("details", element("summary", "What the columns say") + legend, "class=\"legend\"")
           + "\n" + sections
           + (refused.empty()
                  ? ""
                  : element("h2", "Not served") + "\n" + table({"communicators", "of ranks", "why", "what to do"}, refused))
           + (parameters.empty() ? "" : element("h2", "Parameters of this rank, where not the default") + "\n" + table({"parameter", "value"}, parameters))
           + "</body></html>\n";
}

} // namespace info
