/*
 * See site_resolve.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/site_resolve.hpp"

#include "topo/site_name.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <vector>

namespace wan {

namespace {

const char *const name_remedy =
    "Write one or more levels of letters, digits, '.', '_' and '-', separated by '/' "
    "(':' begins the inside of a site), such as eu/paris/rack3 or paris:rack3.";

std::string_view text_of(const char *s) { return s ? std::string_view(s) : std::string_view(); }

bool name_accept(std::string_view name, std::string where, site_answer &out, input_error &error)
{
    std::string what;
    if (!site_name_check(name, what)) {
        error = {std::move(where), what, name_remedy};
        return false;
    }
    out.site = site_name_canonical(name);
    return true;
}

bool from_id_file(const std::string &file, site_answer &out, input_error &error)
{
    std::string text;
    if (!text_file_read(file, text, error)) {
        error.remedy = "coll_wan_cluster_id_file names a file that every host has: its first line is the host's site.";
        return false;
    }
    std::string_view rest = text;
    if (rest.substr(0, 3) == "\xef\xbb\xbf")
        rest.remove_prefix(3);
    for (int line = 1; !rest.empty(); ++line)
        if (const std::string_view content = line_content(line_take(rest)); !content.empty())
            return name_accept(content, file + ":" + std::to_string(line), out, error);
    error = {file, "the file holds no site name", name_remedy};
    return false;
}

/* `settled`: the search ends here, with or without a site. */
bool from_map(const std::string &file, std::string_view host, site_answer &out, bool &settled, input_error &error)
{
    cluster_map map;
    if (!cluster_map::read(file, map, error))
        return false;
    settled = map.places_hosts();
    const auto site = map.site_of(host);
    if (site)
        out.site = *site;
    if (settled && !site)
        out.note = "the map " + file + " does not list the host " + quoted(host);
    else if (settled && site->empty())
        out.note = "the host " + quoted(host) + " is under a lone leaf switch in " + file;
    return true;
}

std::string from_cluster_id(std::string_view id)
{
    std::string what;
    return site_name_check(id, what) ? site_name_canonical(id)
                                     : site_level_from(id.substr(0, site_name_max_bytes));
}

/**
 * The leaf switch whose ranks are `peers` ("0-3,8", in any order, `rank` among them or not): named
 * after the lowest of them, which is another one at every switch.  "" for anything else.
 */
std::string from_switch_peers(std::string_view peers, int rank)
{
    int lowest = rank;
    bool any = false;
    while (!peers.empty()) {
        const std::string_view item = peers.substr(0, peers.find(','));
        int first = 0;
        const auto [end, wrong] = std::from_chars(item.data(), item.data() + item.size(), first);
        if (wrong != std::errc() || first < 0 || (end != item.data() + item.size() && *end != '-'))
            return {};
        lowest = std::min(lowest, first);
        any = true;
        peers.remove_prefix(std::min(item.size() + 1, peers.size()));
    }
    return any ? "switch-" + std::to_string(lowest) : std::string();
}

/** The site; levels inside it as far as its source tells them. */
bool from_sources(const wan_params_t &params, const wan_runtime_hints_t *hints, site_answer &out, input_error &error)
{
    if (const std::string_view id = line_content(text_of(params.cluster_id)); !id.empty()) {
        out.source = site_source::cluster_id;
        return name_accept(id, "coll_wan_cluster_id", out, error);
    }
    if (const std::string file(text_of(params.cluster_id_file)); !file.empty()) {
        out.source = site_source::cluster_id_file;
        return from_id_file(file, out, error);
    }
    if (const std::string file(text_of(params.cluster_map)); !file.empty()) {
        bool settled = false;
        if (!from_map(file, text_of(hints ? hints->hostname : nullptr), out, settled, error))
            return false;
        if (settled) {
            out.source = site_source::cluster_map;
            return true;
        }
    }
    if (const std::string_view id = text_of(hints ? hints->pmix_cluster_id : nullptr); !id.empty()) {
        out.source = site_source::pmix_cluster_id;
        out.site = from_cluster_id(id);
        return true;
    }
    out.note = "neither a parameter nor the runtime names a site";
    return true;
}

} // namespace

const char *site_source_name(site_source source)
{
    switch (source) {
    case site_source::cluster_id: return "cluster_id";
    case site_source::cluster_id_file: return "cluster_id_file";
    case site_source::cluster_map: return "cluster_map";
    case site_source::pmix_cluster_id: return "PMIx cluster id";
    case site_source::none: break;
    }
    return "none";
}

bool site_resolve(const wan_params_t &params, const wan_runtime_hints_t *hints, site_answer &out,
                  input_error &error)
{
    out = {};
    if (!from_sources(params, hints, out, error))
        return false;
    // A map that names no site may still tell of links: its faults are told here, once.
    if (out.source == site_source::cluster_id || out.source == site_source::cluster_id_file)
        if (const std::string file(text_of(params.cluster_map)); !file.empty())
            if (cluster_map map; !cluster_map::read(file, map, error))
                return false;
    if (hints && !out.site.empty() && site_inside(out.site).empty())
        if (const std::string leaf = from_switch_peers(text_of(hints->pmix_switch_peers), hints->rank); !leaf.empty())
            out.site = site_name_join(out.site, std::span(&leaf, 1));
    return true;
}

} // namespace wan

extern "C" int wan_site_resolve(const wan_params_t *params, const wan_runtime_hints_t *hints,
                                char site[WAN_SITE_MAX], wan_message_t *message)
{
    static_assert(wan::site_name_max_bytes + 1 == WAN_SITE_MAX);
    if (!site)
        return WAN_ERR_INTERNAL;
    site[0] = '\0';
    if (message)
        message->where[0] = message->what[0] = message->remedy[0] = '\0';
    if (!params)
        return WAN_ERR_INTERNAL;
    try {
        wan::site_answer answer;
        wan::input_error error;
        if (!wan::site_resolve(*params, hints, answer, error)) {
            if (message)
                wan::message_fill(*message, error);
            return WAN_ERR_INPUT;
        }
        std::memcpy(site, answer.site.c_str(), answer.site.size() + 1);
        if (message && answer.site.empty())
            wan::message_fill(*message, {answer.source == wan::site_source::cluster_map ? params->cluster_map : "", answer.note, ""});
        return WAN_OK;
    } catch (const std::bad_alloc &) {
        return WAN_ERR_NOMEM;
    } catch (...) {
        return WAN_ERR_INTERNAL;
    }
}
