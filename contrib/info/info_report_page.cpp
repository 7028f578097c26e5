/*
 * The page of a report: one file of HTML that needs nothing else, no network, no script; on a phone, rows of
 * tables are cards, each figure under its column's name, and large pictures are drawn another time, narrow.  It is well-formed XML, too, so that programs can check it.
 *
 * Whatever a report says (names of sites, of communicators) is escaped, in text() of info_html.hpp; pictures: info_report_pictures.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_html.hpp"
#include "info_report.hpp"
#include "info_report_pictures.hpp"

#include <algorithm>

namespace info {

using namespace html;

namespace {

constexpr size_t most_open_pairs = 15;
constexpr const char *wide = "class=\"w\"", *own = "class=\"own\"";    // text of several lines; on a phone, a line of its own

// The first column of a table stays in sight when it scrolls; shadows tell that there is more.
constexpr const char *style = R"(
:root{color-scheme:light dark;--line:#94a3b8;--soft:#f1f5f9;--far:#c2410c;--near:#0369a1;--ink:#0f172a;--paper:#ffffff;
--good:#15803d;--fair:#a16207;--bad:#b91c1c;--shade:#0f172a40;--name:#475569}
@media (prefers-color-scheme:dark){:root{
--line:#475569;--soft:#1e293b;--far:#fb923c;--near:#38bdf8;--ink:#e2e8f0;--paper:#0f172a;
--good:#4ade80;--fair:#facc15;--bad:#f87171;--shade:#e2e8f040;--name:#cbd5e1}}
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
.narrow{display:none}.narrow ol{columns:8rem;font-size:.8rem;padding-left:1.6rem}
ul.short{padding-left:1.2rem}.ways{margin:.5rem 0}.ways .wide{margin:.5rem 0}
details p{white-space:normal;max-width:24rem;margin:.3rem 0}details table{font-size:.85rem}.calls+.wide{margin-top:1rem}
dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.3rem 1rem}dt{font-weight:600}dd{margin:0}
@media (max-width:40rem){dl{grid-template-columns:1fr}dd{margin:0 0 .4rem}
.broad{display:none}.narrow{display:block}svg{min-width:0!important}
.wide td{white-space:normal;overflow-wrap:anywhere}.wide td.w{min-width:0}.wide>table:not(.cards) td.n{white-space:nowrap}
.cards,.cards>tbody{display:block}.cards>thead{display:none}
.cards>tbody>tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(5.2rem,1fr));gap:.4rem .8rem;
border:1px solid var(--line);border-radius:.5rem;padding:.5rem .7rem;margin:.6rem 0}
.cards>tbody>tr>td{border:0;padding:0;min-width:0;max-width:none;text-align:left;position:static}
.cards>tbody>tr>td::before{content:attr(data-of);display:block;font-size:.8rem;line-height:1.2;color:var(--name)}
.cards>tbody>tr>td:first-child,.cards>tbody>tr>td.w,.cards>tbody>tr>td.own{grid-column:1/-1}
.cards>tbody>tr>td:first-child{font-weight:600}.cards>tbody>tr>td:first-child::before{font-weight:400}}
)";

// ---- tables ----------------------------------------------------------------------------

cell numeric(const std::string &words) { return {text(words), "class=\"n\""}; }

cell near_cell(const json &ratio)
{
    if (ratio.is_null())
        return numeric("-");
    const double v = ratio.get<double>();
    return {format("%.2f", v), format("class=\"n %s\"", v < 1.25 ? "good" : v < 2 ? "fair" : "bad")};
}

/** The ways that calls took; opened, why, and what the others were predicted to take. */
cell choice_cell(const json &k)
{
    std::string ways;
    for (const std::string &way : ways_of(k))
        ways += (ways.empty() ? "" : "<br/>") + text(way);
    if (k.at("choice").is_null())
        return {ways, own};
    std::string rows;
    for (const json &c : k.at("choice").at("candidates"))
        rows += cells("td",
                      {text(str(c.at("algorithm"))), c.at("n").is_null() ? "-" : c.at("n").dump(),
                       c.at("segment_bytes").is_null() ? "-" : text(amount_text(c.at("segment_bytes").get<uint64_t>())),
                       text(time_or_dash(c.at("predicted_ns")))});
    return {element("details", element("summary", ways) + element("p", text(str(k.at("choice").at("why"))))
                                          + (rows.empty() ? ""
                                                          : "<table><thead>"
                                                                + cells("th", {"algorithm", "n", "segment", "predicted"})
                                                                + "</thead><tbody>" + rows + "</tbody></table>")),
            own};
}

std::string calls_table(const json &r, const json &c)
{
    std::vector<std::vector<cell>> rows;
    for (const json &k : c.at("calls")) {
        const json &time = k.at("time_ns"), &wan = k.at("wan");
        const bool crossed = wan.at("calls") != 0;
        rows.push_back({{text(str(k.at("collective")) + (k.at("form") == "blocking" ? "" : ", non-blocking")
                              + (k.at("blocks") == "different" ? ", blocks differ" : ""))},
                        {text(class_text(k))},
                        numeric(k.at("calls").dump()),
                        numeric(time_or_dash(time.at("sum"))),
                        numeric(time_or_dash(time.at("median"))),
                        numeric(time_or_dash(time.at("p95"))),
                        numeric(time_or_dash(k.at("predicted_ns"))),
                        numeric(time_or_dash(k.at("bound_ns"))),
                        near_cell(nearness_of(r, c, k)),
                        numeric(crossed ? amount_text(wan.at("bytes").get<uint64_t>()) : "-"),
                        numeric(crossed ? amount_text(wan.at("least_bytes").get<uint64_t>()) : "-"),
                        choice_cell(k)});
    }
    return "<div class=\"calls\">"
           + table({{"call"}, {"bytes"}, {"calls"}, {"in all", "time in all"}, {"median"}, {"95%"}, {"predicted"}, {"least possible", "least time"},
                    {"median / least"}, {"sent", "sent across"}, {"least possible", "least across"}, {"by (open: why)"}},
                   rows,
                   "<tr><th></th><th></th><th></th><th colspan=\"3\">time on this rank</th>"
                   "<th colspan=\"3\">compared with</th><th colspan=\"2\">across sites</th><th></th></tr>\n")
           + "</div>\n";
}

std::string trials_table(const json &c)
{
    std::vector<std::vector<cell>> rows;
    for (const json &x : c.at("trials"))
        for (const json &y : x.at("ways")) {
            const std::string way = text(str(y.at("way")));
            rows.push_back({{text(trial_text(x) + (x.at("settled").get<bool>() ? "" : ", not settled"))},
                            {y.at("serves").get<bool>() ? element("b", way) : way, own},
                            numeric(time_or_dash(y.at("predicted_ns"))),
                            numeric(time_or_dash(y.at("measured_ns"))),
                            numeric(y.at("trials").dump())});
        }
    return rows.empty() ? "" : table({{"tried"}, {"way (bold: serves)"}, {"predicted"}, {"measured"}, {"trials"}}, rows);
}

/** before: the sites of the one before, which are not told twice; same: this communicator in reports of other ranks. */
std::string communicator_section(const json &r, const json &c, const std::vector<const json *> &same, std::string &before)
{
    std::string out =
        element("h3", text(communicator_text(c)) + ": " + count_text(c.at("ranks"), "rank"), "class=\"communicator\"") + "\n";
    std::string sites;
    for (const json &s : c.at("sites"))
        sites += (sites.empty() ? "" : ", ") + text(str(s.at("site"))) + " (" + people_text(s) + ")";
    out += element("p", sites == before ? "On the same sites." : sites) + "\n";
    before = sites;
    out += c.at("calls").empty() ? element("p", "No calls.") : calls_table(r, c);
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

/** What one connection gets of a link, where it is told apart. */
std::string connection_text(const json &between)
{
    const auto at = between.find("connection_bytes_per_s");
    return at == between.end() || at->is_null() ? "" : ", " + rate_text(at->get<double>()) + " a connection";
}

std::string links_table(const json &l)
{
    const json &in = l.at("inside"), &host = l.at("interface");
    const auto pair = [](const std::string &ends, const json &x) -> std::vector<cell> {
        return {{text(ends)}, numeric(time_or_dash(x.at("latency_ns"))),
                numeric(x.at("bytes_per_s").is_null() ? "-" : rate_text(x.at("bytes_per_s").get<double>()) + connection_text(x))};
    };
    std::vector<std::vector<cell>> rows;
    for (const json &b : l.at("between"))
        rows.push_back(pair(str(b.at("a")) + " - " + str(b.at("b")), b));
    // Those that are all alike need one line: assumed ones are.
    const auto alike = [&](const auto &row) { return row[1].inside == rows[0][1].inside && row[2].inside == rows[0][2].inside; };
    if (rows.size() > 1 && l.at("pairs_left_out") == 0 && std::all_of(rows.begin(), rows.end(), alike))
        rows = {pair("each of " + std::to_string(rows.size()) + " pairs of sites", l.at("between")[0])};
    for (const json &s : l.at("sites"))
        if (!s.at("uplink_bytes_per_s").is_null())
            rows.push_back({{text(str(s.at("site")) + " - all others")}, numeric("-"), numeric(rate_text(s.at("uplink_bytes_per_s").get<double>()))});
    std::string out =
        element("p", text((in.at("latency_ns").is_null() ? "Each site is one host"
                                                         : "Inside sites " + time_text(number(in.at("latency_ns"))) + " one way")
                          + "; a host's interface "
                          + (host.at("bytes_per_s").is_null() ? "-" : rate_text(host.at("bytes_per_s").get<double>()))
                          + (host.at("burst_bytes") == 0 ? ""
                                                         : ", bursts of " + amount_text(host.at("burst_bytes").get<uint64_t>()))
                          + "; a message costs " + time_text(number(in.at("message_ns")))))
        + "\n";
    const std::string pairs = table({{"between"}, {"one way"}, {"shared rate, where known"}}, rows);
    out += rows.size() <= most_open_pairs
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
    "<dt>median / least</dt><dd>of blocking calls in which each rank waits for all others, on links that were measured; below 1 where this "
    "rank mostly came last</dd>"
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
    std::string sections, sites, notes, first;
    std::vector<std::vector<cell>> parameters, marks, refused;
    for (const auto &[name, value] : r.at("parameters").items())
        parameters.push_back({{text(name)}, {text(value.is_string() ? str(value) : value.dump()), own}});
    for (const mark &m : marks_of(r))
        marks.push_back({numeric(time_text(m.at_ns)), {text(m.what), wide}});
    for (const json &n : r.at("not_served"))
        refused.push_back({numeric(n.at("communicators").dump()), numeric(n.at("ranks").dump()), {text(str(n.at("why"))), wide}, {text(n.value("remedy", "")), wide}});
    for (const json *c : by_time(r))
        sections += communicator_section(r, *c, same_elsewhere(r, *c, others), sites);
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
           + (job_text(r).empty() ? "" : element("p", text(job_text(r)), "class=\"job\"") + "\n")
           + element("p", "on " + text(str(who.at("host"))) + ", coll/wan " + text(str(r.at("version")))
                              + ". All communicators that this rank is in.")
           + "\n" + "<div class=\"facts\">" + fact(time_text(number(r.at("elapsed_ns"))), "from MPI_Init on")
           + fact(sums.at("communicators_served").dump(), "communicators served")
           + fact(sums.at("calls").dump(), "calls")
           + fact(time_text(number(sums.at("elapsed_ns"))), "in them, on this rank")
           + fact(amount_text(sent_across(r)), "sent across sites, by this rank")
           + (wan.at("calls") == 0 ? "" : fact(amount_text(wan.at("bytes").get<uint64_t>()), "across sites, by all ranks")
                                              + fact(amount_text(wan.at("least_bytes").get<uint64_t>()), "across, at least")) + "</div>\n" + element("ul", first, "class=\"short\"") + "\n" + notes
           + element("h2", "Sites and links") + "\n" + map_svg(r) + links_section(r) + element("h2", "Time line") + "\n"
           + timeline_svg(r) + table({{"at"}, {"what"}}, marks) + element("h2", "Calls") + "\n"
           + element("details", element("summary", "What the columns say") + legend, "class=\"legend\"")
           + "\n" + sections
           + (refused.empty()
                  ? ""
                  : element("h2", "Not served") + "\n" + table({{"communicators"}, {"of ranks"}, {"why"}, {"what to do"}}, refused))
           + (parameters.empty() ? "" : element("h2", "Parameters of this rank, where not the default") + "\n" + table({{"parameter"}, {"value"}}, parameters))
           + "</body></html>\n";
}

} // namespace info
