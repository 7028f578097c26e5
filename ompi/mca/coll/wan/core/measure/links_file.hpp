/*
 * What was measured of the links between sites, in a file: kept by one job, looked at by
 * people (wan-info links), taken by later jobs for their first guess (coll_wan_links_file).  A block for
 * each set of sites, numbers in the units that their names end in; '#' begins a comment:
 *
 *     sites eu/paris eu/lyon
 *     inside_ns 43100                             one way, the farther of the first two hosts of any site
 *     level0_ns 210000                            one way between two hosts of a site that share none of its levels (zones, racks),
 *     level1_ns 41000                             one of them; likewise level2_ns, and level3_ns: three or more
 *     level_byte_ps 210000                        of one connection between hosts that share the fewest
 *     byte_ps 204800                              of a host's interface
 *     one_way_ns eu/paris eu/lyon 10020000
 *     connection_ps eu/paris eu/lyon 160000       a byte, over one connection between them
 *     link_ps eu/paris eu/lyon 20400              of all hosts of a site together,
 *     link_hosts eu/paris eu/lyon 16              or of so many of each: a job with more measures it again if these did not fill it
 *     flow eu/paris eu/lyon 20100000 4860000 1500000      there and back in ns, bytes/s, bytes/s after a rest
 *
 * What is left out was not measured.  It does not decide whether a file is believed: comm_links.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_LINKS_FILE_HPP
#define WAN_MEASURE_LINKS_FILE_HPP

#include "measure/table.hpp"
#include "topo/cluster_map.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace wan {

/** The links of one set of sites. */
struct known_links {
    std::vector<std::string> sites;
    fact_vector facts{};
    /** [from][to] of `sites`; rtt_ns 0: not known. */
    std::vector<std::vector<site_way>> ways;
};

constexpr fact::place level_fact(int shared) { return static_cast<fact::place>(fact::first_level_ns + shared); }

/** The facts that are not of a pair, by their names in a file. */
struct fact_name {
    fact::place place;
    const char *name;
};
inline constexpr std::array<fact_name, 11> fact_names = {{{fact::inside_ns, "inside_ns"},
                                                          {fact::message_ns, "message_ns"},
                                                          {fact::byte_ps, "byte_ps"},
                                                          {fact::farthest_ns, "farthest_ns"},
                                                          {fact::lone_ns, "lone_ns"},
                                                          {fact::step_ns, "step_ns"},
                                                          {level_fact(0), "level0_ns"},
                                                          {level_fact(1), "level1_ns"},
                                                          {level_fact(2), "level2_ns"},
                                                          {level_fact(3), "level3_ns"},
                                                          {fact::level_byte_ps, "level_byte_ps"}}};
static_assert(facts::levels == 4);

/** And those that are. */
inline constexpr std::array<fact_name, 4> pair_fact_names = {{{fact::first_pair_ns, "one_way_ns"},
                                                              {fact::first_flow_ps, "connection_ps"},
                                                              {fact::first_link_ps, "link_ps"},
                                                              {fact::first_link_hosts, "link_hosts"}}};

class links_file {
public:
    static bool parse(std::string_view text, const std::string &file, links_file &out, input_error &error);
    /** A file that is not there has no links, unless it must be. */
    static bool read(const std::string &file, bool must, links_file &out, input_error &error);

    const std::vector<known_links> &all() const { return all_; }
    /** Of these sites in this order; nullptr: nothing is known. */
    const known_links *find(const std::vector<std::string> &sites) const;
    /** In place of what is there of the same sites. */
    void keep(known_links links);
    std::string print() const;

private:
    std::vector<known_links> all_;
};

/** Adds to a file what is known of one set of sites: see text_file_change(). */
bool links_save(const std::string &file, known_links links, input_error &error);

} // namespace wan

#endif
