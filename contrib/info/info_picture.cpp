/*
 * See info_picture.hpp.  Two sites stand side by side, more of them on a circle; where the width is limited,
 * one below the other, more than two by turns on the left and on the right.  Hosts are dots in their site's box.  What crosses is drawn over what does not, as wide as the root of its bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_picture.hpp"
#include "info_words.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace info {

namespace {

struct point {
    double x = 0, y = 0;
};

struct box {
    point corner;
    int columns = 1, rows = 1;
    double least = 0;           // width, for its name
    static constexpr double pitch = 46, rim = 26, head = 22;
    double inner() const { return columns * pitch + 2 * rim - 20; }
    double width() const { return std::max(inner(), least); }
    double height() const { return rows * pitch + 2 * rim - 20 + head; }
    point dot(size_t host) const
    {
        const auto n = static_cast<int>(host);
        return {corner.x + (width() - inner()) / 2 + rim - 10 + pitch * (n / rows + 0.5), corner.y + head + rim - 10 + pitch * (n % rows + 0.5)};
    }
};

/** Of a site's name; the whole is where the mouse rests. */
constexpr size_t most_shown = 22;
constexpr double letter = 8;            // no letter is wider

std::string name_svg(const std::string &name, double width)
{
    const size_t most = std::clamp(static_cast<size_t>((width - 12) / letter), size_t{4}, most_shown);
    if (name.size() <= most)
        return escaped(name);
    const auto cut = std::find_if(name.begin() + static_cast<std::ptrdiff_t>(most) - 3, name.end(), [](char b) { return (b & 0xc0) != 0x80; });
    return "<title>" + escaped(name) + "</title>" + escaped(std::string(name.begin(), cut)) + "...";
}

/** No wider than so much. */
point boxes_stack(const picture &p, double gap, double most_width, std::vector<box> &boxes)
{
    const bool two = p.sites.size() <= 2;
    const double most = two ? most_width : (most_width - 20) / 2;
    double lowest = 0;
    for (size_t i = 0; i < p.sites.size(); ++i) {
        const int hosts = std::max(1, static_cast<int>(p.sites[i].hosts.size()));
        box b;
        b.least = std::min(most, letter * static_cast<double>(std::min(p.sites[i].name.size(), most_shown)) + 12);
        b.columns = std::clamp(static_cast<int>((most - 2 * box::rim + 20) / box::pitch), 1, hosts);
        b.rows = (hosts + b.columns - 1) / b.columns;
        b.corner.x = two ? (most_width - b.width()) / 2 : i % 2 ? most_width - b.width() : 0;
        if (i > 0) {
            const box &before = boxes[i - 1];
            b.corner.y = before.corner.y + (two ? before.height() + gap : (before.height() + gap) / 2);
        }
        if (i > 1)      // not over that on the same side
            b.corner.y = std::max(b.corner.y, boxes[i - 2].corner.y + boxes[i - 2].height() + gap / 2);
        lowest = std::max(lowest, b.corner.y + b.height());
        boxes.push_back(b);
    }
    return {most_width, lowest};
}

/** Where the boxes of sites stand; the size of all in the end. */
point boxes_place(const picture &p, double gap, std::vector<box> &boxes)
{
    double widest = 0, highest = 0;
    const auto sites = static_cast<int>(p.sites.size());
    for (const picture::site &s : p.sites) {
        box b;
        const int hosts = std::max(1, static_cast<int>(s.hosts.size()));
        b.rows = sites == 2 ? std::min(hosts, 16) : static_cast<int>(std::ceil(std::sqrt(hosts)));
        b.columns = (hosts + b.rows - 1) / b.rows;
        b.least = letter * static_cast<double>(std::min(s.name.size(), most_shown)) + 12;
        boxes.push_back(b);
        widest = std::max(widest, b.width());
        highest = std::max(highest, b.height());
    }
    if (sites == 2) {
        boxes[1].corner.x = boxes[0].width() + gap;
        return {boxes[1].corner.x + boxes[1].width(), highest};
    }
    const double step = 2 * std::sin(std::numbers::pi / sites);     // a chord of the unit circle
    const double radius = std::max(widest, highest) * 1.5 / step;
    for (int s = 0; s < sites; ++s) {
        const double angle = 2 * std::numbers::pi * s / sites - std::numbers::pi * (sites == 4 ? 0.75 : 0.5);     // four: at the corners
        box &b = boxes[static_cast<size_t>(s)];
        b.corner = {radius * (1 + std::cos(angle)) + widest / 2 - b.width() / 2,
                    radius * (1 + std::sin(angle)) + highest / 2 - b.height() / 2};
    }
    point size;
    double left = boxes[0].corner.x, top = boxes[0].corner.y;
    for (const box &b : boxes)
        left = std::min(left, b.corner.x), top = std::min(top, b.corner.y);
    for (box &b : boxes) {
        b.corner.x -= left, b.corner.y -= top;
        size.x = std::max(size.x, b.corner.x + b.width());
        size.y = std::max(size.y, b.corner.y + b.height());
    }
    return size;
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

std::string head_svg(const std::string &name, const std::string &colour, int size)
{
    return "<marker id=\"" + name + "\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
           + format("markerWidth=\"%d\" markerHeight=\"%d\" ", size, size)
           + "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"" + colour + "\"></path></marker>";
}

std::string box_svg(const box &b, const looks &c)
{
    return format("<rect class=\"place\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"10\" ", b.corner.x, b.corner.y,
                  b.width(), b.height())
           + "fill=\"" + c.soft + "\" stroke=\"" + c.line + "\"/>\n";
}

/** Over what flows, which it keeps from its letters. */
std::string box_name_svg(const box &b, const std::string &name, const looks &c)
{
    return format("<text x=\"%.1f\" y=\"%.1f\" font-size=\"13\" text-anchor=\"middle\" ", b.corner.x + b.width() / 2, b.corner.y + 18)
           + "stroke=\"" + c.soft + "\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\">" + name_svg(name, b.width()) + "</text>\n";
}

/** `wide`: in pixels. */
std::string flow_svg(point from, point to, bool far, double wide, const std::string &title, const looks &c, const std::string &id)
{
    return "<path class=\"" + std::string(far ? "far" : "near") + "\" d=\"" + bow(from, to, far ? 0.05 : 0.22)
           + "\" fill=\"none\" stroke=\"" + (far ? c.far : c.near)
           + format("\" stroke-opacity=\"%s\" stroke-width=\"%.1f\"", far ? "0.75" : "0.45", far ? wide : wide / 2)
           + " marker-end=\"url(#" + (far ? "far" : "near") + id + ")\"><title>" + escaped(title) + "</title></path>\n";
}

std::string host_svg(const picture::host &h, point at, const looks &c)
{
    return format("<circle class=\"host\" cx=\"%.1f\" cy=\"%.1f\" r=\"12\" ", at.x, at.y) + "fill=\"" + (h.root ? c.root : c.paper)
           + "\" stroke=\"" + c.rim + "\"><title>" + escaped(h.title) + "</title></circle>"
           + format("<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"middle\" style=\"fill:", at.x, at.y + 3.5)
           + (h.root ? c.root_ink : c.ink) + "\">" + escaped(h.mark) + "</text>\n";
}

} // namespace

std::string escaped(const std::string &text)
{
    std::string out;
    for (char c : text)
        out += c == '&'                           ? "&amp;"
               : c == '<'                         ? "&lt;"
               : c == '>'                         ? "&gt;"
               : c == '"'                         ? "&quot;"
               : c == '\''                        ? "&#39;"
               : (c >= 0 && c < ' ') || c == 0x7f ? "?"
                                                  : std::string(1, c);
    return out;
}

drawing draw(const picture &p, const looks &c, const std::string &id)
{
    std::vector<box> boxes;
    const point size = c.most_width > 0 ? boxes_stack(p, c.gap, c.most_width, boxes) : boxes_place(p, c.gap, boxes);
    drawing out{size.x, size.y, head_svg("far" + id, c.far, 9) + head_svg("near" + id, c.near, 7), {}};
    uint64_t most = 1;
    for (const picture::flow &f : p.flows)
        most = std::max(most, f.bytes);
    for (size_t s = 0; s < boxes.size(); ++s)
        out.body += box_svg(boxes[s], c);
    for (const bool far : {false, true})        // what crosses on top
        for (const picture::flow &f : p.flows)
            if ((f.from.site != f.to.site) == far)
                out.body += flow_svg(boxes[f.from.site].dot(f.from.host), boxes[f.to.site].dot(f.to.host), far,
                                     0.7 + 5 * std::sqrt(static_cast<double>(f.bytes) / static_cast<double>(most)), f.title, c, id);
    for (size_t s = 0; s < boxes.size(); ++s)
        out.body += box_name_svg(boxes[s], p.sites[s].name, c);
    for (size_t s = 0; s < boxes.size(); ++s)
        for (size_t n = 0; n < p.sites[s].hosts.size(); ++n)
            out.body += host_svg(p.sites[s].hosts[n], boxes[s].dot(n), c);
    return out;
}

} // namespace info
