/*
 * The grammar of site names and the one rule that says where the WAN site
 * ends in them.  It only looks at text; where names come from is decided in
 * topo/site_resolve.hpp, what ranks make of them in topo/topology.hpp.
 *
 *     eu/paris/rack3/sw1     region / site / inside the site ...
 *     eu/paris:rack3:sw1     the same, with the inside marked
 *     paris:rack3            a site without a region, inside marked
 *     paris                  a site
 *     eu/paris               region / site
 *
 * Levels are separated by '/'.  The first two are region and site, what
 * follows is inside the site: switches, racks.  A ':' ends the site earlier
 * (after the first level, where there is no region); everything after it is
 * inside.  A level is [A-Za-z0-9._-]+; nodes are never part of a name.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TOPO_SITE_NAME_HPP
#define WAN_TOPO_SITE_NAME_HPP

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wan {

/** Bytes of the longest name; WAN_SITE_MAX of wan_core.h less its NUL. */
inline constexpr size_t site_name_max_bytes = 255;

/** True for a well-formed name; otherwise `what` says in one clause what is wrong. */
bool site_name_check(std::string_view name, std::string &what);

/**
 * The WAN site: "eu/paris" of "eu/paris/rack3", "paris" of "paris:rack3",
 * "" of "".  A prefix of `name`, which must be well-formed or empty.
 */
std::string_view wan_site(std::string_view name);

/** What follows the WAN site, as one name: "rack3/sw1" of "eu/paris/rack3/sw1", "" where nothing does.  A view into `name`. */
std::string_view site_inside(std::string_view name);

/** The levels inside the site, outermost first: {"rack3", "sw1"}.  Views into `name`. */
std::vector<std::string_view> site_inner(std::string_view name);

/**
 * One spelling per meaning, so that equal bytes mean equal places: inner
 * levels follow '/' where the site has a region and ':' where it has none.
 */
std::string site_name_canonical(std::string_view name);

/**
 * The canonical name of a site (well-formed, one or two levels) and inner
 * levels (well-formed).  Levels that would exceed site_name_max_bytes are
 * left out, deepest first: they only refine.
 */
std::string site_name_join(std::string_view site, std::span<const std::string> inner);

/** Any foreign text (a switch's name) as one level: other characters become '_'. */
std::string site_level_from(std::string_view foreign);

/** `text` in quotes for a message: unprintable bytes escaped, long text cut. */
std::string quoted(std::string_view text);

} // namespace wan

#endif
