/*
 * Which rank sits in which site, on which host: the only thing the algorithms
 * know about placement.  A value; it does not know links, names of hosts or
 * where the sites came from (topo/site_resolve.hpp).  Next: model/facts.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TOPO_TOPOLOGY_HPP
#define WAN_TOPO_TOPOLOGY_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wan {

/** Number of a WAN site inside one communicator, 0 .. site_count()-1. */
enum class site_id : uint32_t {};

constexpr uint32_t value(site_id s) { return static_cast<uint32_t>(s); }

/**
 * What one rank tells of itself; `site` names its WAN site, `node` its host,
 * `domain` the package and NUMA node in that (equal or not is all that counts),
 * `inside` the levels between site and host as one name ("rack3/sw1": racks,
 * switches; a level ends at '/' or ':', which are the same).
 */
struct place {
    std::string_view site;
    uint64_t node = 0;
    uint64_t domain = 0;
    std::string_view inside = {};
};

/**
 * The ranks of a communicator by site, host and lane (the how-manieth rank of
 * its host).  Sites are numbered by the lowest rank in them; hosts in a site,
 * domains in a host and lanes in a domain likewise, so every rank derives the
 * same numbers; the lanes of a domain follow each other, and so do the hosts of
 * a switch or rack, so that a chain enters each of them once.
 *
 * Memory: 8 bytes a rank, 4 a host and 12 a site; nothing per rank where ranks are laid
 * out in blocks (site after site, host after host), as schedulers do.  A byte a host where hosts share levels.
 */
class topology {
public:
    topology() = default;

    /** `places[r]` describes rank r; at least one.  Throws std::bad_alloc only. */
    explicit topology(std::span<const place> places);

    /** A regular one: sizes[s] hosts in site s, `lanes` ranks each, in blocks. */
    static topology blocks(std::span<const int> sizes, int lanes = 1);

    int size() const { return size_; }
    int site_count() const { return static_cast<int>(site_node_.size()) - 1; }
    const std::string &site_name(site_id s) const { return names_[value(s)]; }

    /** Hosts in a site. */
    int node_count(site_id s) const;
    /** Ranks on a host of a site. */
    int lane_count(site_id s, int node) const;

    /** Where a rank sits. */
    struct position {
        site_id site;
        int node;
        int lane;
    };
    position locate(int rank) const;
    site_id site_of(int rank) const { return locate(rank).site; }

    /**
     * Levels inside the site that a host shares with the one before it in the site's order, 255 at most; the first one:
     * that it is in.  Any two share the least of those behind one up to the other.
     */
    int shared_levels(site_id s, int node) const
    {
        return shared_levels_.empty() ? 0 : shared_levels_[site_node_[value(s)] + static_cast<uint32_t>(node)];
    }
    /** Whether some hosts of a site share more levels than others: where not, all its ways are alike as far as is known. */
    bool has_levels(site_id s) const;

    /** The rank at a position; lane 0 is the host's leader. */
    int rank_at(site_id s, int node, int lane = 0) const;

    /**
     * Ranks in the order of sites, hosts and lanes: each has a slot, those of a site or host follow
     * each other.  (The number of its block in collectives with a block for each rank.)
     */
    int slot_of(int rank) const { return position_.empty() ? rank : static_cast<int>(position_[static_cast<size_t>(rank)]); }
    int rank_of(int slot) const { return order_.empty() ? slot : static_cast<int>(order_[static_cast<size_t>(slot)]); }
    /** First slot of a site, of a host. */
    int first_slot(site_id s, int node = 0) const { return static_cast<int>(start_of(site_node_[value(s)] + static_cast<uint32_t>(node))); }
    /** Whether every rank's slot is its rank. */
    bool in_slot_order() const { return order_.empty(); }

    /** Most ranks on any host. */
    int most_lanes() const { return most_lanes_; }

    /** Ranks in a site. */
    int rank_count(site_id s) const;

    /** Runs: as many neighbouring ranks of one site as there are; of a site, and of all sites. */
    int run_count(site_id s) const { return static_cast<int>(site_runs_[value(s)]); }
    int run_count() const { return runs_; }
    int most_runs() const { return most_runs_; }

    /**
     * A site's ranks in their order go from host to host: how many stays on hosts that makes, and
     * the most stays on one host; as many as there are hosts, and 1, where a host's ranks follow each other.
     */
    int stay_count(site_id s) const { return static_cast<int>(site_stays_[value(s)]); }
    int most_stays() const { return most_stays_; }

    /** A hash of all of the above that is equal on all machines. */
    uint64_t digest() const;

    /** Bytes held, for the memory budget. */
    size_t memory_bytes() const;

private:
    int size_ = 0;
    std::vector<std::string> names_;
    std::vector<uint32_t> site_node_;   // site -> its first host, one more at the end
    std::vector<uint32_t> node_start_;  // host -> first position in order, one more at the end
    uint32_t lanes_ = 0;                // ranks per host where equal everywhere (then no node_start_)
    int most_lanes_ = 0;
    std::vector<uint32_t> site_runs_, site_stays_;
    int runs_ = 0, most_runs_ = 0, most_stays_ = 0;
    std::vector<uint8_t> shared_levels_;        // host -> with the one before, a site's first: its own; empty: nobody is in any
    std::vector<uint32_t> order_;       // position -> rank; empty: the identity
    std::vector<uint32_t> position_;    // rank -> position; empty: the identity

    uint32_t start_of(uint32_t node) const { return lanes_ ? node * lanes_ : node_start_[node]; }
    uint32_t node_of(uint32_t pos) const;
};

} // namespace wan

#endif
