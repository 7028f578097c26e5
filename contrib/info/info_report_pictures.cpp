/*
 * See info_report_pictures.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_report_pictures.hpp"

#include "info_html.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace info {

using namespace html;

namespace {

constexpr size_t most_drawn_sites = 40, most_told_links = 15;

/** No longer than so many characters, not cut in the middle of one, and what follows; the whole is in a title. */
std::string shortened(const std::string &name, size_t most, const std::string &after = "")
{
    if (name.size() + after.size() <= most)
        return text(name + after);
    const auto cut = std::find_if(name.begin() + static_cast<ptrdiff_t>(std::min(name.size(), most - 3 - after.size())),
                                  name.end(), [](char b) { return (b & 0xc0) != 0x80; });
    return element("title", text(name + after)) + text(std::string(name.begin(), cut) + "..." + after);
}

constexpr const char *halo = "stroke=\"var(--paper)\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\"";

/** Name, hosts and ranks of a site: below or above its place where there are few, else outside the ring. */
struct site_label {
    std::string name, people;
    double x, y;
    const char *anchor = "middle";

    site_label(const json &site, double at_x, double at_y, double angle, size_t sites)
        : name(shortened(str(site.at("site")), sites % 2 == 0 && sites <= 4 ? 20 : 28)), people(people_text(site)), x(at_x), y(at_y)
    {
        const double out = std::cos(angle), down = std::sin(angle);
        if (sites <= 4) {
            y += sites == 2 || down > 0 ? 32 : -37;
            return;
        }
        if (std::abs(out) >= 0.1)
            anchor = out > 0 ? "start" : "end";
        x += 24 * out;
        y += 4 + 28 * down + 9 * std::min(0.0, down);
    }
    /** What it may take of the picture, from x on, to the left and to the right: no letter is wider than this. */
    std::pair<double, double> reach() const
    {
        const size_t told = std::min<size_t>(name.size(), 28);
        const double wide = std::max(8.2 * static_cast<double>(told), 7.2 * static_cast<double>(people.size())) + 6;
        return *anchor == 'm' ? std::pair{wide / 2, wide / 2} : *anchor == 's' ? std::pair{0.0, wide} : std::pair{wide, 0.0};
    }
    std::string svg() const
    {
        return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" %s>", x, y, anchor, halo) + name + "</text>"
               + format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"12\" %s>", x, y + 14, anchor, halo) + people
               + "</text>\n";
    }
};

/** Pixels that a phone has for a picture: 360, without the page's margins. */
constexpr double phone = 328;

/** A picture for screens that are wide enough, and what stands in its place where they are not. */
std::string for_screens(const std::string &broad, const std::string &narrow)
{
    return "<div class=\"broad\">" + scrolling(broad) + "</div><div class=\"narrow\">" + narrow + "</div>\n";
}

/** Sites on a ring, and the links between them.  Numbered: so small that a phone shows all of it; their names are told below. */
class map_drawn {
public:
    map_drawn(const json &sites, const json &links, bool numbered);
    /** Pixels, with letters that can be read. */
    double least_width() const { return 0.95 * (left_ + right_); }
    std::string svg() const
    {
        const double width = left_ + right_;
        return format("<svg viewBox=\"%.0f 0 %.0f %.0f\" style=\"min-width:%.0fpx;max-width:%.0fpx\" role=\"img\" font-size=\"13\">", -left_, width,
                      height_, least_width(), 1.3 * width)
               + "<title>Sites and links</title>\n" + lines_ + circles_ + labels_ + "</svg>";
    }

private:
    void site(const json &s);
    void link(const json &l, bool told);
    double angle(size_t i) const
    {
        const double n = static_cast<double>(count_);
        return 2 * std::numbers::pi * static_cast<double>(i) / n - std::numbers::pi * (count_ == 2 ? 1 : count_ == 4 ? 0.75 : 0.5);
    }

    size_t count_;
    bool numbered_;
    double radius_, middle_ = 0, height_ = 0, left_ = 0, right_ = 0;
    std::vector<std::pair<double, double>> at_;
    std::vector<std::string> names_;
    struct told_link {
        double x, y, reach;
    };
    std::vector<told_link> told_;
    std::string lines_, circles_, labels_;
};

map_drawn::map_drawn(const json &sites, const json &links, bool numbered) : count_(sites.size()), numbered_(numbered)
{
    const bool two = count_ == 2, four = count_ == 4;
    // Few, on a circle that a phone has room for; four of them on its corners.
    radius_ = two ? 92 : numbered ? 120 : count_ <= 4 ? 120 : 140 + 7 * static_cast<double>(count_);
    const double rim = numbered ? 20 : 55;
    middle_ = two ? 30 : (four ? 0.71 : 1) * radius_ + rim;
    height_ = two ? (numbered ? 60 : 90) : middle_ + (count_ < 5 ? 0.71 : 1) * radius_ + rim;
    left_ = right_ = 20 + (four ? 0.71 * radius_ : radius_);
    for (const json &s : sites)
        site(s);
    const size_t pairs = links.at("between").size();
    for (const json &l : links.at("between"))
        link(l, pairs <= most_told_links && (!numbered || count_ <= 4));
}

void map_drawn::site(const json &s)
{
    const double toward = angle(at_.size()), x = radius_ * std::cos(toward), y = middle_ + radius_ * std::sin(toward);
    at_.emplace_back(x, y);
    names_.push_back(str(s.at("site")));
    circles_ += format("<circle class=\"site\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\" fill=\"var(--soft)\" "
                       "stroke=\"var(--near)\" stroke-width=\"%d\">",
                       x, y, numbered_ && count_ > 12 ? 9.0 : 15.0, numbered_ && count_ > 12 ? 1 : 2)
                + element("title", text(names_.back() + ": ") + people_text(s)) + "</circle>\n";
    if (numbered_) {
        labels_ += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\">%zu</text>\n", x, y + 4, at_.size());
        return;
    }
    const site_label label(s, x, y, toward, count_);
    const auto [before, after] = label.reach();
    left_ = std::max(left_, before - label.x);
    right_ = std::max(right_, after + label.x);
    labels_ += label.svg();
}

void map_drawn::link(const json &l, bool told)
{
    const auto a = std::find(names_.begin(), names_.end(), str(l.at("a"))) - names_.begin();
    const auto b = std::find(names_.begin(), names_.end(), str(l.at("b"))) - names_.begin();
    if (a == static_cast<ptrdiff_t>(names_.size()) || b == static_cast<ptrdiff_t>(names_.size()))
        return;
    const auto [x, y] = at_[static_cast<size_t>(a)];
    const auto [u, v] = at_[static_cast<size_t>(b)];
    const std::string what = time_text(number(l.at("latency_ns")))
                             + (l.at("bytes_per_s").is_null() ? "" : ", " + rate_text(l.at("bytes_per_s").get<double>()));
    lines_ += format("<line class=\"link\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"var(--far)\" "
                     "stroke-width=\"2\">",
                     x, y, u, v)
              + element("title", text(names_[static_cast<size_t>(a)] + " to " + names_[static_cast<size_t>(b)] + ": " + what + " one way"))
              + "</line>\n";
    if (!told)
        return;
    // Nearer to one end, so that those of crossing lines do not meet in the middle; of a square's diagonals each to another.
    const double wished = count_ < 4 ? 0.5 : count_ == 4 && std::abs(a - b) == 2 ? (a % 2 ? 0.7 : 0.3) : 0.4;
    const double reach = 3.6 * static_cast<double>(what.size());
    for (double part : {wished, 0.3, 0.7, 0.25, 0.75, 0.2, 0.8}) {
        const double middle = x + (u - x) * part, base = y + (v - y) * part - (count_ == 2 ? 7 : 0);
        const auto on = [&](const told_link &t) { return std::abs(t.x - middle) < t.reach + reach && std::abs(t.y - base) < 14; };
        if (std::any_of(told_.begin(), told_.end(), on))
            continue;
        told_.push_back({middle, base, reach});
        left_ = std::max(left_, reach - middle);
        right_ = std::max(right_, reach + middle);
        labels_ += format("<text class=\"told\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"12\" %s>", middle, base, halo) + text(what)
                   + "</text>\n";
        return;
    }
}

/** What follows a communicator's name, or stands in its place. */
std::string number_text(const json &c)
{
    const std::string n = c.at("communicator").dump();
    return str(c.at("name")).empty() ? n : " (" + n + ")";
}

constexpr size_t most_drawn_ways = 4, most_sites_of_ways = 16;
constexpr double readable = 1.12;       // pixels for one of a drawing, so that its letters can be read

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
    looks page{90, "var(--ink)", "var(--paper)", "var(--soft)", "var(--line)", "var(--near)", "var(--far)", "var(--line)", "#fde047", "#0f172a"};
    const auto drawn = [&](const drawing &d) {
        return format("<svg class=\"way\" viewBox=\"-4 -4 %.0f %.0f\" style=\"min-width:%.0fpx;max-width:%.0fpx\" role=\"img\">", d.width + 8,
                      d.height + 8, readable * (d.width + 8), readable * (d.width + 8))
               + element("title", text(title)) + "<defs>" + d.defs + "</defs>\n" + d.body + "</svg>";
    };
    const drawing broad = draw(seen, page, id);
    if (readable * (broad.width + 8) <= phone)
        return scrolling(drawn(broad));
    page.most_width = phone / readable - 8;
    return for_screens(drawn(broad), drawn(draw(seen, page, id + "-narrow")));
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

} // namespace

std::string people_text(const json &site)
{
    return count_text(site.at("hosts"), "host") + ", " + count_text(site.at("ranks"), "rank");
}

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
    const map_drawn named(sites, links, false);
    const std::string broad = named.svg();
    if (named.least_width() <= phone)
        return scrolling(broad);
    std::string legend;
    for (const json &s : sites)
        legend += element("li", text(str(s.at("site"))) + ", " + people_text(s)) + "\n";
    return for_screens(broad, map_drawn(sites, links, true).svg() + element("ol", legend));
}

std::string timeline_svg(const json &r)
{
    constexpr size_t most_bars = 30;
    constexpr double left = 8, right = 298, step = 34;     // as wide as a phone
    const auto whole = static_cast<double>(std::max<int64_t>(1, number(r.at("elapsed_ns"))));
    const auto x = [&](int64_t ns) {
        return left + (right - left) * std::clamp(static_cast<double>(ns) / whole, 0.0, 1.0);
    };
    const std::vector<const json *> all = by_time(r);
    const size_t bars = std::min(all.size(), most_bars);
    const double bottom = 24 + step * static_cast<double>(bars) + 14;
    std::string out =
        format("<svg viewBox=\"0 0 326 %.0f\" style=\"min-width:20rem;max-width:30rem\" role=\"img\" font-size=\"12\"><title>Time line</title>\n", bottom + 24);
    std::string names;
    for (size_t i = 0; i < bars; ++i) {
        const json &c = *all[i];
        const double y = 28 + step * static_cast<double>(i);
        names += format("<text x=\"%.0f\" y=\"%.1f\" %s>", left, y - 4, halo) + shortened(str(c.at("name")), 34, number_text(c)) + "</text>\n";
        out += format("<rect class=\"life\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" rx=\"3\" "
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
           + scrolling(out + names + "</svg>")
           + (all.size() > bars ? element("p", std::to_string(all.size() - bars) + " more communicators are not drawn.")
                                : "");
}

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

} // namespace info
