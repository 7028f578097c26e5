/*
 * See plan.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plan/plan.hpp"

#include "algo/registry.hpp"

#include <sstream>

namespace wan {

std::string print(const plan &p)
{
    std::ostringstream text;
    text << wan_collective_name(p.algo->collective) << ' ' << p.algo->name << " root " << p.root << " links " << p.links
         << " lambda " << p.lambda << " entries " << p.entries << " order "
         << (p.order == site_order::star ? "star" : "chain") << " segment " << p.segment_bytes << " window " << p.window;
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
    while (words >> key) {
        std::string order;
        bool good = false;
        if (key == "root")
            good = static_cast<bool>(words >> p.root);
        else if (key == "links")
            good = static_cast<bool>(words >> p.links) && p.links >= 1;
        else if (key == "lambda")
            good = static_cast<bool>(words >> p.lambda) && p.lambda >= 1;
        else if (key == "entries")
            good = static_cast<bool>(words >> p.entries) && p.entries >= 1;
        else if (key == "segment")
            good = static_cast<bool>(words >> p.segment_bytes) && p.segment_bytes >= 1;
        else if (key == "window")
            good = static_cast<bool>(words >> p.window) && p.window >= 1;
        else if (key == "order" && words >> order && (order == "star" || order == "chain")) {
            p.order = order == "star" ? site_order::star : site_order::chain;
            good = true;
        }
        if (!good)
            return std::nullopt;
    }
    return p;
}

} // namespace wan
