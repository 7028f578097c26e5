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

std::string print(const plan &p)
{
    std::ostringstream text;
    text << wan_collective_name(p.algo->collective) << ' ' << p.algo->name << " root " << p.root << " links " << p.links
         << " lambda " << p.lambda << " entries " << p.entries << " order "
         << (p.order == site_order::star ? "star" : "chain") << " inner "
         << (p.inner == inner_steps::ring ? "ring" : "circulant") << " pieces " << p.pieces << " segment " << p.segment_bytes << " window " << p.window;
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
        std::string order;
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
        else if (key == "order" && words >> order && (order == "star" || order == "chain")) {
            p.order = order == "star" ? site_order::star : site_order::chain;
            good = true;
        }
        else if (key == "inner" && words >> order && (order == "ring" || order == "circulant")) {
            p.inner = order == "ring" ? inner_steps::ring : inner_steps::circulant;
            good = true;
        }
        if (!good)
            return std::nullopt;
    }
    return p;
}

} // namespace wan
