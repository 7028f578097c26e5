/*
 * The page of a report: one file of HTML that needs nothing else, no network, no script; tables
 * scroll on a narrow screen.  It is well-formed XML, too, so that programs can check it.
 *
 * Whatever a report says (names of sites, of communicators) is escaped here, in text().
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace info {

namespace {

template <typename... A> std::string format(const char *text, A... values)
{
    char out[1024];
    std::snprintf(out, sizeof out, text, values...);
    return out;
}

/** Escaped, also for attributes; what XML cannot have is a question mark. */
std::string text(const std::string &plain)
{
    std::string out;
    for (char c : plain)
        out += c == '&'                           ? "&amp;"
               : c == '<'                         ? "&lt;"
               : c == '>'                         ? "&gt;"
               : c == '"'                         ? "&quot;"
               : c == '\''                        ? "&#39;"
               : (c >= 0 && c < ' ') || c == 0x7f ? "?"
                                                  : std::string(1, c);
    return out;
}

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

std::string table(const std::vector<std::string> &head, const std::string &rows)
{
    return "<div class=\"wide\"><table><thead>" + cells("th", head) + "</thead><tbody>\n" + rows
           + "</tbody></table></div>\n";
}

constexpr const char *style = R"(
:root{color-scheme:light dark;--line:#94a3b8;--soft:#f1f5f9;--far:#c2410c;--near:#0369a1;--ink:#0f172a;--paper:#ffffff}
@media (prefers-color-scheme:dark){:root{
--line:#475569;--soft:#1e293b;--far:#fb923c;--near:#38bdf8;--ink:#e2e8f0;--paper:#0f172a}}
body{font:16px/1.45 system-ui,sans-serif;margin:0 auto;max-width:72rem;padding:0 1rem 3rem;
color:var(--ink);background:var(--paper)}
h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2rem}h3{font-size:1rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}
th,td{border-bottom:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top;white-space:nowrap}
td.n{text-align:right;font-variant-numeric:tabular-nums}td.w{white-space:normal;min-width:14rem}
.facts{display:flex;flex-wrap:wrap;gap:.6rem;padding:0}.facts div{background:var(--soft);border-radius:.5rem;padding:.5rem .8rem}
.facts b{display:block;font-size:1.15rem}svg{display:block;min-width:34rem;max-width:60rem;width:100%}svg text{fill:var(--ink)}
.good{color:#15803d}.fair{color:#a16207}.far{color:#b91c1c}details table{font-size:.85rem}
)";

// ---- pictures ------------------------------------------------------------------------

constexpr size_t most_drawn_sites = 40, most_told_links = 15;

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
    const double n = static_cast<double>(sites.size()), radius = sites.size() == 2 ? 210 : 120 + 6 * n, cx = 340,
                 cy = sites.size() == 2 ? 70 : radius + 60;
    std::vector<std::pair<double, double>> at;
    std::vector<std::string> names;
    for (const json &s : sites) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(at.size()) / n
                             - (sites.size() == 2 ? std::numbers::pi : std::numbers::pi / 2);
        at.emplace_back(cx + radius * std::cos(angle), cy + radius * std::sin(angle));
        names.push_back(str(s.at("site")));
    }
    std::string out =
        format("<svg viewBox=\"0 0 680 %.0f\" role=\"img\" font-size=\"13\"><title>Sites and links</title>\n", 2 * cy);
    const bool told = links.at("between").size() <= most_told_links;
    std::string labels;
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
            labels += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"12\">", x + (u - x) * 0.45,
                             y + (v - y) * 0.45 - 6)
                      + text(what) + "</text>\n";
    }
    for (size_t s = 0; s < at.size(); ++s) {
        const auto [x, y] = at[s];
        out +=
            format("<circle class=\"site\" cx=\"%.1f\" cy=\"%.1f\" r=\"15\" fill=\"var(--soft)\" "
                   "stroke=\"var(--near)\" stroke-width=\"2\"/>",
                   x, y)
            + format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, y + 32) + text(names[s]) + "</text>"
            + format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\">%d hosts, %d ranks</text>\n",
                     x, y + 46, sites[s].at("hosts").get<int>(), sites[s].at("ranks").get<int>());
    }
    return element("div", out + labels + "</svg>", "class=\"wide\"") + "\n";
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

/** A bar for each communicator's life, a stroke for each thing that happened. */
std::string timeline_svg(const json &r)
{
    constexpr size_t most_bars = 30;
    constexpr double left = 150, right = 660, step = 22;
    const auto whole = static_cast<double>(std::max<int64_t>(1, number(r.at("elapsed_ns"))));
    const auto x = [&](int64_t ns) {
        return left + (right - left) * std::clamp(static_cast<double>(ns) / whole, 0.0, 1.0);
    };
    const json &all = r.at("communicators");
    const size_t bars = std::min(all.size(), most_bars);
    const double bottom = 24 + step * static_cast<double>(bars) + 14;
    std::string out =
        format("<svg viewBox=\"0 0 680 %.0f\" role=\"img\" font-size=\"12\"><title>Time line</title>\n", bottom + 24);
    for (size_t i = 0; i < bars; ++i) {
        const json &c = all[i];
        const double y = 20 + step * static_cast<double>(i);
        std::string name = communicator_text(c);
        if (name.size() > 22)    // not in the middle of a character
            name = name.substr(0, std::find_if(name.begin() + 20, name.end(), [](char b) { return (b & 0xc0) != 0x80; })
                                      - name.begin())
                   + "...";
        out += format("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" font-size=\"11\">", left - 8, y + 12)
               + text(name) + "</text>"
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
        out += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\">", x(ns), bottom + 16)
               + (part ? text(time_text(ns)) : "0") + "</text>\n";
    }
    return element("div", out + "</svg>", "class=\"wide\"") + "\n"
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
    return element("td", format("%.2f", v), format("class=\"n %s\"", v < 1.25 ? "good" : v < 2 ? "fair" : "far"));
}

std::string choice_cell(const json &k)
{
    if (k.at("choice").is_null())
        return element("td", "");
    std::string rows;
    for (const json &c : k.at("choice").at("candidates"))
        rows += cells("td",
                      {text(str(c.at("algorithm"))), c.at("n").is_null() ? "-" : c.at("n").dump(),
                       c.at("segment_bytes").is_null() ? "-" : text(amount_text(c.at("segment_bytes").get<uint64_t>())),
                       text(time_or_dash(c.at("predicted_ns")))});
    const std::string why = text(str(k.at("choice").at("why")));
    return element("td",
                   rows.empty() ? why
                                : element("details", element("summary", why) + "<table><thead>"
                                                         + cells("th", {"algorithm", "n", "segment", "predicted"})
                                                         + "</thead><tbody>" + rows + "</tbody></table>"),
                   "class=\"w\"");
}

std::string calls_table(const json &c)
{
    std::string rows;
    for (const json &k : c.at("calls")) {
        const json &time = k.at("time_ns"), &wan = k.at("wan");
        const bool crossed = wan.at("calls") != 0;
        std::string ways;
        for (const std::string &way : ways_of(k))
            ways += (ways.empty() ? "" : "<br/>") + text(way);
        rows +=
            element("tr",
                    element("td", text(str(k.at("collective")) + (k.at("form") == "blocking" ? "" : ", non-blocking")
                                       + (k.at("blocks") == "different" ? ", blocks differ" : "")))
                        + element("td", text(class_text(k))) + numeric(k.at("calls").dump())
                        + numeric(time_or_dash(time.at("median"))) + numeric(time_or_dash(time.at("p95")))
                        + numeric(time_or_dash(time.at("sum"))) + numeric(time_or_dash(k.at("predicted_ns")))
                        + numeric(time_or_dash(k.at("bound_ns"))) + near_cell(k.at("times_bound"))
                        + numeric(crossed ? amount_text(wan.at("bytes").get<uint64_t>()) : "-")
                        + numeric(crossed ? amount_text(wan.at("least_bytes").get<uint64_t>()) : "-")
                        + element("td", ways) + choice_cell(k))
            + "\n";
    }
    return table({"call", "bytes", "calls", "median", "95%", "sum", "predicted", "least", "median / least",
                  "across sites", "least", "by", "why"},
                 rows);
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

std::string communicator_section(const json &c)
{
    std::string out =
        element("h3", text(communicator_text(c) + ": " + c.at("ranks").dump() + " ranks"), "class=\"communicator\"")
        + "\n";
    std::string sites;
    for (const json &s : c.at("sites"))
        sites += (sites.empty() ? "" : ", ") + text(str(s.at("site")))
                 + format(" (%d hosts, %d ranks)", s.at("hosts").get<int>(), s.at("ranks").get<int>());
    out += element("p", sites) + "\n";
    out += c.at("calls").empty() ? element("p", "No calls.") : calls_table(c);
    out += trials_table(c);
    for (const json &d : c.at("declined"))
        out += element("p", d.at("calls").dump() + " calls of " + text(str(d.at("collective")))
                                + " went to another component: " + text(str(d.at("why"))))
               + "\n";
    if (c.at("passed") != 0)
        out += element("p", "Calls that went to another component before it was served: " + c.at("passed").dump()) + "\n";
    return out;
}

std::string links_section(const json &r)
{
    std::string out;
    for (const json &l : r.at("links")) {
        const json &in = l.at("inside"), &host = l.at("interface");
        std::string rows;
        for (const json &b : l.at("between"))
            rows += element("tr",
                            element("td", text(str(b.at("a")))) + element("td", text(str(b.at("b"))))
                                + numeric(time_or_dash(b.at("latency_ns")))
                                + numeric(b.at("bytes_per_s").is_null() ? "-"
                                                                        : rate_text(b.at("bytes_per_s").get<double>())))
                    + "\n";
        for (const json &s : l.at("sites"))
            if (!s.at("uplink_bytes_per_s").is_null())
                rows += element("tr", element("td", text(str(s.at("site")))) + element("td", "all others")
                                          + numeric("-") + numeric(rate_text(s.at("uplink_bytes_per_s").get<double>())))
                        + "\n";
        out += element("p",
                       text(str(l.at("how")) + " at " + time_text(number(l.at("at_ns"))) + ": inside sites "
                            + time_text(number(in.at("latency_ns"))) + " one way; a host's interface "
                            + (host.at("bytes_per_s").is_null() ? "-" : rate_text(host.at("bytes_per_s").get<double>()))
                            + ", bursts of " + amount_text(host.at("burst_bytes").get<uint64_t>())
                            + "; a message costs " + time_text(number(in.at("message_ns")))))
               + "\n" + table({"from", "to", "one way", "shared rate, where told"}, rows);
        if (l.at("pairs_left_out") != 0)
            out += element("p", l.at("pairs_left_out").dump() + " more pairs of sites are not listed.") + "\n";
    }
    return out;
}

std::string fact(const std::string &value, const char *what)
{
    return element("div", element("b", text(value)) + what);
}

} // namespace

std::string report_page(const json &r)
{
    const json &who = r.at("process"), &sums = r.at("totals"), &wan = sums.at("wan");
    std::string parameters, marks, refused, sections, notes;
    for (const auto &[name, value] : r.at("parameters").items())
        parameters += cells("td", {text(name), text(value.is_string() ? str(value) : value.dump())});
    for (const mark &m : marks_of(r))
        marks += element("tr", numeric(time_text(m.at_ns)) + element("td", text(m.what), "class=\"w\"")) + "\n";
    for (const json &n : r.at("not_served"))
        refused += element("tr", numeric(n.at("communicators").dump()) + numeric(n.at("ranks").dump())
                                     + element("td", text(str(n.at("why"))), "class=\"w\""))
                   + "\n";
    for (const json &c : r.at("communicators"))
        sections += communicator_section(c);
    for (const std::string &s : left_out_of(r))
        notes += element("p", text(s)) + "\n";
    const std::string title =
        "coll/wan: rank " + who.at("rank").dump() + " of " + who.at("ranks").dump() + ", " + str(r.at("began"));
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
           + element("title", text(title)) + "<style>" + style + "</style></head>\n<body>\n"
           + element("h1", text(title)) + "\n"
           + element("p", "on " + text(str(who.at("host"))) + ", coll/wan " + text(str(r.at("version")))
                              + ". All communicators that this rank is in.")
           + "\n" + "<div class=\"facts\">" + fact(time_text(number(r.at("elapsed_ns"))), "from MPI_Init on")
           + fact(sums.at("communicators_served").dump(), "communicators served")
           + fact(sums.at("calls").dump(), "calls")
           + fact(time_text(number(sums.at("elapsed_ns"))), "in them, on this rank")
           + fact(amount_text(wan.at("bytes").get<uint64_t>()), "across sites")
           + fact(amount_text(wan.at("least_bytes").get<uint64_t>()), "the least possible") + "</div>\n" + notes
           + element("h2", "Sites and links") + "\n" + map_svg(r) + links_section(r) + element("h2", "Time line") + "\n"
           + timeline_svg(r) + table({"at", "what"}, marks) + element("h2", "Calls") + "\n"
           + element(
               "p",
               "Times are those of this rank. \"Least\" is what no algorithm can beat on these links, if all ranks "
               "begin at once; how near "
               "the median came is said of blocking calls in which each rank waits for all others (below 1 where this "
               "rank mostly came "
               "last). \"Across sites\" is what all ranks sent "
               "to other sites, and the fewest bytes that have to cross. \"Predicted\" is what the plan was chosen by.")
           + "\n" + sections
           + (refused.empty()
                  ? ""
                  : element("h2", "Not served") + "\n" + table({"communicators", "of ranks", "why"}, refused))
           + (parameters.empty() ? "" : element("h2", "Parameters") + "\n" + table({"parameter", "value"}, parameters))
           + "</body></html>\n";
}

} // namespace info
