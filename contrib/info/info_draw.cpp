/*
 * See info_draw.hpp.  Two sites stand side by side, more of them on a circle; hosts are dots in
 * their site's box.  What crosses is drawn over what does not, as wide as the root of its bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_draw.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace info {

namespace {

struct point {
    double x = 0, y = 0;
};

struct box {
    point corner;
    int columns = 1, rows = 1;
    static constexpr double pitch = 46, rim = 26, head = 22;
    double width() const { return columns * pitch + 2 * rim - 20; }
    double height() const { return rows * pitch + 2 * rim - 20 + head; }
    point dot(int host) const
    {
        return {corner.x + rim - 10 + pitch * (host / rows + 0.5),
                corner.y + head + rim - 10 + pitch * (host % rows + 0.5)};
    }
};

std::string escaped(const std::string &text)
{
    std::string out;
    for (char c : text)
        out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
    return out;
}

template <typename... A> std::string format(const char *text, A... values)
{
    char out[512];
    std::snprintf(out, sizeof out, text, values...);
    return out;
}

/** Where the boxes of sites stand; the size of all in the end. */
point boxes_place(const wan::topology &t, std::vector<box> &boxes)
{
    double widest = 0, highest = 0;
    const int sites = t.site_count();
    for (int s = 0; s < sites; ++s) {
        box b;
        const int hosts = t.node_count(wan::site_id{static_cast<uint32_t>(s)});
        b.rows = sites == 2 ? std::min(hosts, 16) : static_cast<int>(std::ceil(std::sqrt(hosts)));
        b.columns = (hosts + b.rows - 1) / b.rows;
        boxes.push_back(b);
        widest = std::max(widest, b.width());
        highest = std::max(highest, b.height());
    }
    if (sites == 2) {
        boxes[1].corner.x = boxes[0].width() + 320;
        return {boxes[1].corner.x + boxes[1].width(), highest};
    }
    const double step = 2 * std::sin(std::numbers::pi / sites);     // a chord of the unit circle
    const double radius = std::max(widest, highest) * 1.5 / step;
    for (int s = 0; s < sites; ++s) {
        const double angle = 2 * std::numbers::pi * s / sites - std::numbers::pi / 2;
        box &b = boxes[static_cast<size_t>(s)];
        b.corner = {radius * (1 + std::cos(angle)) + widest / 2 - b.width() / 2,
                    radius * (1 + std::sin(angle)) + highest / 2 - b.height() / 2};
    }
    return {2 * radius + widest, 2 * radius + highest};
}

/** How far a bow's control point is from the straight way, at most: the bow itself goes half as far. */
constexpr double most_bend = 90;

/** A bow from dot to dot, which ends at their rims. */
std::string bow(point a, point b, double bend)
{
    const double dx = b.x - a.x, dy = b.y - a.y, far = std::max(1.0, std::hypot(dx, dy));
    bend = std::min(bend, most_bend / far);
    const point middle{(a.x + b.x) / 2 - dy * bend, (a.y + b.y) / 2 + dx * bend};
    const double rim = 13 / far;
    return format("M%.1f %.1fQ%.1f %.1f %.1f %.1f", a.x + dx * rim, a.y + dy * rim, middle.x, middle.y, b.x - dx * rim,
                  b.y - dy * rim);
}

/** A host: its site and its number there. */
using spot = std::pair<uint32_t, int>;
using spot_flows = std::map<std::pair<spot, spot>, wan::flow>;

/** Ranks of a host are one dot: what they send to each other is not drawn. */
spot_flows flows_of_hosts(const wan::topology &t, const wan::traffic &all)
{
    spot_flows flows;
    for (const auto &[ranks, f] : all.flows) {
        const auto a = t.locate(ranks.first), b = t.locate(ranks.second);
        if (a.site == b.site && a.node == b.node)
            continue;
        wan::flow &sum = flows[{{value(a.site), a.node}, {value(b.site), b.node}}];
        sum.bytes += f.bytes;
        sum.messages += f.messages;
    }
    return flows;
}

constexpr double top = 78, side = 36;       // around the boxes

/** The picture's size, arrows' heads, and what it shows. */
std::string head_svg(point size, const wan::plan &p, const wan::traffic &all, const std::string &title)
{
    std::string svg = format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"100%%\" "
                             "font-family=\"sans-serif\" role=\"img\">\n",
                             std::max(size.x + 2 * side, 680.0), size.y + top + side);
    svg += "<title>" + escaped(title)
           + "</title>\n"
             "<defs><marker id=\"far\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" "
             "markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
             "<path d=\"M0 0L8 4L0 8z\" fill=\"#c2410c\"/></marker>"
             "<marker id=\"near\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
             "markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
             "<path d=\"M0 0L8 4L0 8z\" fill=\"#64748b\"/></marker></defs>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    svg += format("<text x=\"%.0f\" y=\"26\" font-size=\"18\">", side) + escaped(title) + "</text>\n";
    svg += format("<text x=\"%.0f\" y=\"46\" font-size=\"12\" fill=\"#475569\">predicted %s; across sites %s in %llu "
                  "messages (red), inside sites %s (grey)</text>\n",
                  side, time_text(p.predicted_ns).c_str(), size_text(all.across.bytes).c_str(),
                  static_cast<unsigned long long>(all.across.messages), size_text(all.inside.bytes).c_str());
    return svg + format("<text x=\"%.0f\" y=\"63\" font-size=\"11\" fill=\"#64748b\">", side) + escaped(print(p))
           + "</text>\n";
}

std::string box_svg(const box &b, const std::string &name)
{
    return format("<rect class=\"site\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"10\" "
                  "fill=\"#f1f5f9\" stroke=\"#94a3b8\"/>\n",
                  b.corner.x, b.corner.y, b.width(), b.height())
           + format("<text x=\"%.1f\" y=\"%.1f\" font-size=\"13\" text-anchor=\"middle\">", b.corner.x + b.width() / 2,
                    b.corner.y + 18)
           + escaped(name) + "</text>\n";
}

/** `wide`: in pixels; `what`: shown where the mouse rests. */
std::string flow_svg(point from, point to, bool far, double wide, const std::string &what)
{
    return "<path class=\"" + std::string(far ? "far" : "near") + "\" d=\"" + bow(from, to, far ? 0.05 : 0.22)
           + format("\" fill=\"none\" stroke=\"%s\" stroke-opacity=\"%s\" stroke-width=\"%.1f\" marker-end=\"url(#%s)\">",
                    far ? "#c2410c" : "#64748b", far ? "0.75" : "0.45", far ? wide : wide / 2, far ? "far" : "near")
           + "<title>" + escaped(what) + "</title></path>\n";
}

/** The dot of a host, with the number of its first rank; the root's is yellow. */
std::string host_svg(const cluster &c, const wan::plan &p, spot host, point at)
{
    const wan::topology &t = c.topo();
    const wan::site_id site{host.first};
    const bool rooted = wan::kind_of(p.algo->collective).root;
    const int lanes = t.lane_count(site, host.second), first = t.rank_at(site, host.second);
    bool root = false;
    std::string ranks;
    for (int l = 0; l < lanes; ++l) {
        const int rank = t.rank_at(site, host.second, l);
        root |= rooted && rank == p.root;
        ranks += (l ? ", " : "") + std::to_string(rank);
    }
    return format("<circle class=\"host\" cx=\"%.1f\" cy=\"%.1f\" r=\"12\" fill=\"%s\" stroke=\"#334155\">", at.x, at.y,
                  root ? "#fde047" : "#ffffff")
           + "<title>" + escaped(c.host_of(first).name) + ": rank" + (lanes > 1 ? "s " : " ") + ranks
           + "</title></circle>"
           + format("<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"middle\">%d%s</text>\n", at.x,
                    at.y + 3.5, first, lanes > 1 ? "+" : "");
}

} // namespace

std::string draw(const cluster &c, const wan::plan &p, const wan::traffic &all, const std::string &title)
{
    const wan::topology &t = c.topo();
    int hosts = 0;
    for (int s = 0; s < t.site_count(); ++s)
        hosts += t.node_count(wan::site_id{static_cast<uint32_t>(s)});
    if (hosts > most_drawn_hosts)
        throw wrong_word("--draw: a picture of " + std::to_string(hosts) + " hosts shows nothing: draw up to "
                         + std::to_string(most_drawn_hosts) + ", the plan of fewer is of the same kind");

    std::vector<box> boxes;
    const point size = boxes_place(t, boxes);
    const spot_flows flows = flows_of_hosts(t, all);
    uint64_t most = 1;
    for (const auto &[ends, f] : flows)
        most = std::max(most, f.bytes);
    const auto name = [&](spot s) { return c.host_of(t.rank_at(wan::site_id{s.first}, s.second)).name; };
    const auto dot = [&](spot s) { return boxes[s.first].dot(s.second); };

    std::string svg = head_svg(size, p, all, title) + format("<g transform=\"translate(%.0f %.0f)\">\n", side, top);
    for (uint32_t s = 0; s < boxes.size(); ++s)
        svg += box_svg(boxes[s], t.site_name(wan::site_id{s}));
    for (const bool far : {false, true})        // what crosses on top
        for (const auto &[ends, f] : flows) {
            const auto &[from, to] = ends;
            if ((from.first != to.first) != far)
                continue;
            const double wide = 0.7 + 5 * std::sqrt(static_cast<double>(f.bytes) / static_cast<double>(most));
            svg += flow_svg(dot(from), dot(to), far, wide,
                            name(from) + " to " + name(to) + ": " + size_text(f.bytes) + ", "
                                + std::to_string(f.messages) + " messages");
        }
    for (uint32_t s = 0; s < boxes.size(); ++s)
        for (int n = 0; n < t.node_count(wan::site_id{s}); ++n)
            svg += host_svg(c, p, {s, n}, dot({s, n}));
    return svg + "</g>\n</svg>\n";
}

} // namespace info
