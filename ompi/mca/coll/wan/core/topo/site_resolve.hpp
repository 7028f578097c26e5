/*
 * Where this process is: the one place that knows the order in which a site
 * is looked for.  It reads files and prints nothing.  Next: wan_core.h
 * (wan_site_resolve, the same behind the C boundary), topo/cluster_map.hpp.
 *
 *   1. cluster_id          parameter, may differ per host or app context
 *   2. cluster_id_file     first line with content of this host's own file
 *   3. cluster_map         the entry of this host; a map that places hosts,
 *                          but not this one, ends the search: a name from
 *                          the runtime would not compare with the map's
 *   4. PMIx cluster id     as a site name, foreign characters become '_'
 *
 * PMIx's switch peers name no site (a leaf switch is none), but the level
 * inside one where what named the site names no such level.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TOPO_SITE_RESOLVE_HPP
#define WAN_TOPO_SITE_RESOLVE_HPP

#include "topo/cluster_map.hpp"
#include "wan_core.h"

#include <string>

namespace wan {

enum class site_source { none, cluster_id, cluster_id_file, cluster_map, pmix_cluster_id };

/** "cluster_id", ...; "none". */
const char *site_source_name(site_source source);

struct site_answer {
    std::string site;                       // canonical; "" when unknown
    site_source source = site_source::none; // what decided, also where it decided for ""
    std::string note;                       // one sentence for a verbose line; why where site is ""
};

/**
 * False with `error` for a malformed name or map or an unreadable file.
 * hints may be nullptr.  Reads each file once.  Throws std::bad_alloc only.
 */
bool site_resolve(const wan_params_t &params, const wan_runtime_hints_t *hints, site_answer &out,
                  input_error &error);

} // namespace wan

#endif
