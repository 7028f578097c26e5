/*
 * See info_draw.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_draw.hpp"

#include "info_picture.hpp"

#include <algorithm>
#include <map>

namespace info {

namespace {

constexpr double top = 78, side = 36;       // around the boxes

/** The picture's size, and what it shows. */
std::string head_svg(const drawing &d, const wan::plan &p, const wan::traffic &all, const std::string &title)
{
    std::string svg = format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"100%%\" "
                             "font-family=\"sans-serif\" role=\"img\">\n",
                             std::max(d.width + 2 * side, 680.0), d.height + top + side);
    svg += "<title>" + escaped(title) + "</title>\n<defs>" + d.defs
           + "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    svg += format("<text x=\"%.0f\" y=\"26\" font-size=\"18\">", side) + escaped(title) + "</text>\n";
    svg += format("<text x=\"%.0f\" y=\"46\" font-size=\"12\" fill=\"#475569\">predicted %s; across sites %s in %llu "
                  "messages (red), inside sites %s (grey)</text>\n",
                  side, time_text(p.predicted_ns).c_str(), size_text(all.across.bytes).c_str(),
                  static_cast<unsigned long long>(all.across.messages), size_text(all.inside.bytes).c_str());
    return svg + format("<text x=\"%.0f\" y=\"63\" font-size=\"11\" fill=\"#64748b\">", side) + escaped(print(p))
           + "</text>\n";
}

/** The dot of a host, with the number of its first rank. */
picture::host host_of(const cluster &c, const wan::plan &p, wan::site_id site, int host)
{
    const wan::topology &t = c.topo();
    const bool rooted = wan::kind_of(p.algo->collective).root;
    const int lanes = t.lane_count(site, host), first = t.rank_at(site, host);
    picture::host out{std::to_string(first) + (lanes > 1 ? "+" : ""), c.host_of(first).name + (lanes > 1 ? ": ranks " : ": rank "), false};
    for (int l = 0; l < lanes; ++l) {
        const int rank = t.rank_at(site, host, l);
        out.root |= rooted && rank == p.root;
        out.title += (l ? ", " : "") + std::to_string(rank);
    }
    return out;
}

/** Ranks of a host are one dot: what they send to each other is not drawn. */
std::vector<picture::flow> flows_of(const cluster &c, const wan::traffic &all)
{
    using spot = std::pair<size_t, size_t>;
    std::map<std::pair<spot, spot>, picture::flow> flows;
    for (const auto &[ranks, f] : all.flows) {
        const auto a = c.topo().locate(ranks.first), b = c.topo().locate(ranks.second);
        if (a.site == b.site && a.node == b.node)
            continue;
        const spot from{value(a.site), static_cast<size_t>(a.node)}, to{value(b.site), static_cast<size_t>(b.node)};
        picture::flow &sum = flows[{from, to}];
        sum.from = {from.first, from.second};
        sum.to = {to.first, to.second};
        sum.bytes += f.bytes;
        sum.messages += f.messages;
        sum.title = c.host_of(ranks.first).name + " to " + c.host_of(ranks.second).name + ": " + size_text(sum.bytes) + ", "
                    + std::to_string(sum.messages) + " messages";
    }
    std::vector<picture::flow> out;
    for (auto &[ends, f] : flows)
        out.push_back(std::move(f));
    return out;
}

} // namespace

std::string draw(const cluster &c, const wan::plan &p, const wan::traffic &all, const std::string &title)
{
    const wan::topology &t = c.topo();
    picture seen;
    int hosts = 0;
    for (int s = 0; s < t.site_count(); ++s)
        hosts += t.node_count(wan::site_id{static_cast<uint32_t>(s)});
    if (hosts > most_drawn_hosts)
        throw wrong_word("--draw: a picture of " + std::to_string(hosts) + " hosts shows nothing: draw up to "
                         + std::to_string(most_drawn_hosts) + ", the plan of fewer is of the same kind");
    for (int s = 0; s < t.site_count(); ++s) {
        const wan::site_id site{static_cast<uint32_t>(s)};
        seen.sites.push_back({t.site_name(site), {}});
        for (int n = 0; n < t.node_count(site); ++n)
            seen.sites.back().hosts.push_back(host_of(c, p, site, n));
    }
    seen.flows = flows_of(c, all);
    const drawing d = draw(seen, {}, "");
    return head_svg(d, p, all, title) + format("<g transform=\"translate(%.0f %.0f)\">\n", side, top) + d.body + "</g>\n</svg>\n";
}

} // namespace info
