/*
 * See plan.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plan/plan.hpp"

#include "algo/registry.hpp"

#include <charconv>
#include <sstream>
#include <type_traits>

namespace wan {

namespace {

/** Values of an enumeration by name. */
template <typename E> struct named {
    std::string_view name;
    E value;
};
constexpr named<inner_steps> inner_names[] = {{"circulant", inner_steps::circulant}, {"ring", inner_steps::ring}, {"halving", inner_steps::halving}};
constexpr named<site_order> order_names[] = {{"star", site_order::star}, {"chain", site_order::chain}};
constexpr named<association> grouping_names[] = {
    {"any", association::any}, {"tree", association::tree}, {"runs", association::runs}, {"prefix", association::prefix},
    {"line", association::line}};

template <typename E, size_t N> std::string_view name_of(const named<E> (&names)[N], E value)
{
    for (const auto &n : names)
        if (n.value == value)
            return n.name;
    return "?";
}

template <typename E, size_t N> bool value_of(const named<E> (&names)[N], std::string_view name, E &value)
{
    for (const auto &n : names)
        if (n.name == name) {
            value = n.value;
            return true;
        }
    return false;
}

} // namespace

std::string print(const plan &p)
{
    std::ostringstream text;
    text << wan_collective_name(p.algo->collective) << ' ' << p.algo->name << " root " << p.root << " links " << p.links
         << " lambda " << p.lambda << " entries " << p.entries << " order "
         << name_of(order_names, p.order) << " inner " << name_of(inner_names, p.inner) << " pieces " << p.pieces << " segment "
         << p.segment_bytes << " window " << p.window;
    if (p.grouping != association::any)
        text << " grouping " << name_of(grouping_names, p.grouping);
    return text.str();
}

std::optional<plan> parse_plan(std::string_view text)
{
    std::istringstream words{std::string(text)};
    std::string collective, name, key;
    plan p;
    if (!(words >> collective >> name))
        return std::nullopt;
    for (int c = 0; c < WAN_COLLECTIVES && !p.algo; ++c)
        if (collective == wan_collective_name(static_cast<wan_collective_t>(c)))
            p.algo = algorithm_named(static_cast<wan_collective_t>(c), name);
    if (!p.algo)
        return std::nullopt;
    std::string value;
    auto number = [&](auto &v, std::remove_reference_t<decltype(v)> least) {
        if (!(words >> value))
            return false;
        const char *end = value.data() + value.size();
        const auto [at, error] = std::from_chars(value.data(), end, v);
        return error == std::errc{} && at == end && v >= least;
    };
    while (words >> key) {
        bool good = false;
        if (key == "root")
            good = number(p.root, 0);
        else if (key == "links")
            good = number(p.links, 1);
        else if (key == "lambda")
            good = number(p.lambda, 1);
        else if (key == "entries")
            good = number(p.entries, 1);
        else if (key == "pieces")
            good = number(p.pieces, 1);
        else if (key == "segment")
            good = number(p.segment_bytes, 1);
        else if (key == "window")
            good = number(p.window, 1);
        else if (key == "order" && words >> value)
            good = value_of(order_names, value, p.order);
        else if (key == "inner" && words >> value)
            good = value_of(inner_names, value, p.inner);
        else if (key == "grouping" && words >> value)
            good = value_of(grouping_names, value, p.grouping);
        if (!good)
            return std::nullopt;
    }
    return p;
}

} // namespace wan
