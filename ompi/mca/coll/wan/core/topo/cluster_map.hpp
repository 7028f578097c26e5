/*
 * The cluster map: a file that says which hosts form which site and, where
 * known, what the links between the sites are like.  Or Slurm's
 * topology.conf as it is (topo/slurm_topology.hpp).  It does not decide
 * whether the map is asked at all: topo/site_resolve.hpp does.
 *
 *     # hosts              site
 *     n[001-016],gw1       eu/paris
 *     t[1-16]              jp/tokyo/rack1
 *     default              eu/lyon
 *
 *     link   eu/paris jp/tokyo  latency=120ms bandwidth=1Gb/s
 *     nic    eu/paris           bandwidth=40Mb/s
 *     uplink eu/paris           bandwidth=400Mb/s
 *
 * Latencies (one way) and the rates of nics and links count more than what is measured.
 * Uplinks, that all hosts of a site share, are not measured.
 *
 * One statement a line, '#' begins a comment.  The words default, link, nic
 * and uplink name no hosts.  Units: ns us ms s; b/s or bit/s (bits) and B/s
 * (bytes) with k, M, G, T = 10^3 .. 10^12 in front.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TOPO_CLUSTER_MAP_HPP
#define WAN_TOPO_CLUSTER_MAP_HPP

#include "input_error.hpp"
#include "text_file.hpp"
#include "topo/hostlist.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wan {

/** A WAN link between two sites, the same in both directions. */
struct link_hint {
    std::string site_a, site_b;
    int64_t latency_ns = 0;             // one way; 0: not given
    int64_t bandwidth_bytes_per_s = 0;  // of the whole link; 0: not given
    int line = 0;                       // of the map
};

/** A rate that belongs to one site. */
struct rate_hint {
    std::string site;
    int64_t bandwidth_bytes_per_s = 0;
    int line = 0;
};

/** What a map tells about links; the planner's first guess before anything is measured. */
struct link_hints {
    std::vector<link_hint> links;
    std::vector<rate_hint> nics;        // of one host of the site
    std::vector<rate_hint> uplinks;     // of the site as a whole, each direction

    /** In either order of the sites (WAN sites); nullptr when the map says nothing. */
    const link_hint *link(std::string_view site_a, std::string_view site_b) const;
    /** 0 when the map says nothing. */
    int64_t nic_bytes_per_s(std::string_view site) const;
    int64_t uplink_bytes_per_s(std::string_view site) const;
    bool empty() const { return links.empty() && nics.empty() && uplinks.empty(); }
};

/** One statement that places hosts. */
struct map_entry {
    hostlist hosts;
    std::string site;       // canonical name; "": known hosts in no WAN site (Slurm's lone leaf switches)
    int line = 0;
};

class cluster_map {
public:
    /** Parses the text of a map; `file` is only named in errors. */
    static bool parse(std::string_view text, const std::string &file, cluster_map &out, input_error &error);

    /** Reads and parses a file; also false when it cannot be read. */
    static bool read(const std::string &file, cluster_map &out, input_error &error);

    /**
     * Site of a host: the entry that lists it, else the default.  nullopt:
     * the map does not know the host.  "": it does, and it is in no WAN site.
     */
    std::optional<std::string> site_of(std::string_view host) const;

    /** False for a map that holds links only. */
    bool places_hosts() const { return !entries_.empty() || default_; }

    const std::vector<map_entry> &entries() const { return entries_; }
    const link_hints &links() const { return links_; }
    /** Site of the hosts that no entry lists. */
    const std::optional<std::string> &default_site() const { return default_; }

private:
    std::vector<map_entry> entries_;
    std::optional<std::string> default_;
    link_hints links_;
    friend class cluster_map_parser;
};

/** The link hints of a map file alone.  False with `error` as cluster_map::read(). */
bool link_hints_read(const std::string &file, link_hints &out, input_error &error);

/** "10ms" -> 10000000; false unless positive, with a unit, and at most 2^53 ns. */
bool latency_parse(std::string_view text, int64_t &ns);

/** "400Mb/s" -> 50000000 bytes per second; false unless at least 1, with a unit. */
bool bandwidth_parse(std::string_view text, int64_t &bytes_per_s);

/** Takes the next line off the front of `text`, without its end ("\n", "\r\n", or none). */
std::string_view line_take(std::string_view &text);

/** A line without its comment and without blanks at both ends. */
std::string_view line_content(std::string_view line);

} // namespace wan

#endif
