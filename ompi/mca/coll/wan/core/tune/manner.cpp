/*
 * See manner.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune/manner.hpp"

#include "adaptive/service.hpp"
#include "algo/registry.hpp"
#include "collective.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <set>
#include <sstream>

namespace wan {

namespace {

constexpr std::string_view own = "open_mpi";
constexpr std::array<std::pair<std::string_view, site_order>, 2> orders{{{"star", site_order::star}, {"chain", site_order::chain}}};
constexpr std::array<std::pair<std::string_view, inner_steps>, 3> inners{
    {{"circulant", inner_steps::circulant}, {"ring", inner_steps::ring}, {"halving", inner_steps::halving}}};

template <typename T, size_t N> std::string_view name_of(const std::array<std::pair<std::string_view, T>, N> &names, T value)
{
    for (const auto &[name, v] : names)
        if (v == value)
            return name;
    return "?";
}

template <typename T, size_t N> bool take(const std::array<std::pair<std::string_view, T>, N> &names, std::string_view word, std::optional<T> &out)
{
    out.reset();
    for (const auto &[name, v] : names)
        if (name == word)
            out = v;
    return out.has_value();
}

bool take(std::string_view word, uint32_t &out)
{
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    return error == std::errc{} && end == word.data() + word.size() && out > 0;
}

/** "4": four times as many segments, "1/4": a quarter. */
bool take_cuts(std::string_view word, int &out)
{
    const bool fewer = word.starts_with("1/");
    uint32_t times = 0;
    if (!take(word.substr(fewer ? 2 : 0), times) || !std::has_single_bit(times) || times > 4096)
        return false;
    out = std::countr_zero(times) * (fewer ? -1 : 1);
    return true;
}

/** " bcast, allreduce, ..." */
std::string served_by_trees()
{
    std::string names;
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        if (adaptive_serves(collective_at(c)))
            names += (names.empty() ? " " : ", ") + std::string(kind_of(collective_at(c)).name);
    return names;
}

} // namespace

manner manner_of(const plan &p)
{
    const auto looks = [&](uint16_t at) { return (p.algo->parameters & at) != 0; };
    manner m;
    m.algo = p.algo;
    if (looks(uses_links))
        m.links = p.links;
    if (looks(uses_entries))
        m.entries = p.entries;
    if (looks(uses_pieces))
        m.pieces = p.pieces;
    if (looks(uses_order))
        m.order = p.order;
    if (looks(uses_inner))
        m.inner = p.inner;
    return m;
}

bool fits(const manner &m, const plan &p)
{
    return p.algo == m.algo && agreed(m, p) == (m.links > 0) + (m.entries > 0) + (m.pieces > 0) + m.order.has_value() + m.inner.has_value();
}

int agreed(const manner &m, const plan &p)
{
    return (m.links && m.links == p.links) + (m.entries && m.entries == p.entries) + (m.pieces && m.pieces == p.pieces) + (m.order == p.order) + (m.inner == p.inner);
}

std::string print(const manner &m)
{
    if (!m.algo)
        return m.along_trees ? adaptive.name : std::string(own);
    std::ostringstream s;
    s << m.algo->name;
    if (m.links)
        s << " links " << m.links;
    if (m.entries)
        s << " entries " << m.entries;
    if (m.order)
        s << " order " << name_of(orders, *m.order);
    if (m.inner)
        s << " inner " << name_of(inners, *m.inner);
    if (m.pieces)
        s << " pieces " << m.pieces;
    if (m.cuts)
        s << " cuts " << (m.cuts < 0 ? "1/" : "") << (1u << std::abs(m.cuts));
    return s.str();
}

std::optional<manner> parse_manner(wan_collective_t c, std::string_view text, std::string &fault)
{
    std::istringstream words{std::string(text)};
    std::string name, value;
    manner m;
    if (!(words >> name)) {
        fault = "no algorithm is named";
        return std::nullopt;
    }
    m.algo = name == own ? nullptr : algorithm_named(c, name);
    m.along_trees = name == adaptive.name && adaptive_serves(c);
    if (name == adaptive.name && !m.along_trees) {
        fault = "adaptive trees serve no " + std::string(kind_of(c).name) + ", but" + served_by_trees();
        return std::nullopt;
    }
    if (!m.algo && !m.along_trees && name != own) {
        fault = "'" + name + "' is no algorithm of " + kind_of(c).name;
        return std::nullopt;
    }
    std::set<std::string> seen;
    while (words >> name) {
        words >> value;
        if (!seen.insert(name).second) {
            fault = "'" + name + "' is there twice";
            return std::nullopt;
        }
        const bool good = m.algo
                          && (name == "links"     ? take(value, m.links)
                              : name == "entries" ? take(value, m.entries)
                              : name == "pieces"  ? take(value, m.pieces)
                              : name == "cuts"    ? take_cuts(value, m.cuts)
                              : name == "order"   ? take(orders, value, m.order)
                              : name == "inner"   ? take(inners, value, m.inner)
                                                  : false);
        if (!good) {
            fault = "'" + name + (value.empty() ? "" : " " + value) + "'"
                    + (m.algo          ? " is no parameter and value"
                       : m.along_trees ? ": adaptive has no parameters in a rule (those of all adaptive trees are coll_wan_tree_* and coll_wan_segment)"
                                       : ": open_mpi has no parameters in a rule");
            return std::nullopt;
        }
        value.clear();
    }
    return m;
}

} // namespace wan
