/*
 * See site_name.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/site_name.hpp"

#include <algorithm>
#include <cstdio>

namespace wan {

namespace {

// Not isalnum(): a locale must not change which names are valid.
bool level_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
           || c == '.' || c == '_' || c == '-';
}

} // namespace

bool site_name_check(std::string_view name, std::string &what)
{
    if (name.empty()) {
        what = "the site name is empty";
        return false;
    }
    if (name.size() > site_name_max_bytes) {
        what = "the site name " + quoted(name) + " has " + std::to_string(name.size()) + " bytes, more than "
               + std::to_string(site_name_max_bytes);
        return false;
    }
    bool level_empty = true;
    for (char c : name) {
        if (c == '/' || c == ':') {
            if (level_empty)
                break;
            level_empty = true;
        } else if (level_char(c)) {
            level_empty = false;
        } else {
            what = "the site name " + quoted(name) + " contains the character " + quoted({&c, 1});
            return false;
        }
    }
    if (level_empty) {
        what = "the site name " + quoted(name) + " has an empty level";
        return false;
    }
    return true;
}

std::string_view wan_site(std::string_view name)
{
    const std::string_view outer = name.substr(0, name.find(':'));
    const size_t first = outer.find('/');
    if (first == outer.npos)
        return outer;
    return outer.substr(0, outer.find('/', first + 1));
}

std::string_view site_inside(std::string_view name)
{
    return name.substr(std::min(wan_site(name).size() + 1, name.size()));
}

std::vector<std::string_view> site_inner(std::string_view name)
{
    std::vector<std::string_view> levels;
    std::string_view rest = site_inside(name);
    while (!rest.empty()) {
        const std::string_view level = rest.substr(0, rest.find_first_of("/:"));
        levels.push_back(level);
        rest.remove_prefix(std::min(level.size() + 1, rest.size()));
    }
    return levels;
}

std::string site_name_canonical(std::string_view name)
{
    const auto views = site_inner(name);
    const std::vector<std::string> levels(views.begin(), views.end());
    return site_name_join(wan_site(name), levels);
}

std::string site_name_join(std::string_view site, std::span<const std::string> inner)
{
    const char separator = site.find('/') == site.npos ? ':' : '/';
    std::string name(site);
    for (const std::string &level : inner) {
        if (name.size() + 1 + level.size() > site_name_max_bytes)
            break;
        name += separator;
        name += level;
    }
    return name;
}

std::string site_level_from(std::string_view foreign)
{
    std::string level(foreign);
    for (char &c : level)
        if (!level_char(c))
            c = '_';
    return level;
}

std::string quoted(std::string_view text)
{
    // Messages have 512 bytes in wan_core.h; two quotations and a sentence fit.
    constexpr size_t shown = 80;
    std::string out = "'";
    for (char c : text.substr(0, shown)) {
        if (c >= ' ' && c <= '~') {
            out += c;
        } else {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            out += escape;
        }
    }
    out += text.size() > shown ? "...'" : "'";
    return out;
}

} // namespace wan
