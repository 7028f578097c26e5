/*
 * Host lists as Slurm writes them, `n[001-016,20],gw1,rack[1-2]n[0-3]`: is a
 * host in one, and do two of them share a host.  Neither expands a range, so
 * `n[0-999999999]` costs as much as `n1`.  It resolves no names and reads no
 * files.  Next: host_automaton in hostlist.cpp for the overlap,
 * topo/cluster_map.hpp for the main user.
 *
 * Host names compare without regard to case, as in the DNS.  A pattern
 * without a dot is compared with the host's name up to its first dot, so
 * `n1` is also n1.example.org; a pattern with a dot needs the whole name.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TOPO_HOSTLIST_HPP
#define WAN_TOPO_HOSTLIST_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wan {

/** Numbers lo..hi, written in decimal with at least `width` digits (zeros in front). */
struct host_range {
    uint64_t lo = 0, hi = 0;
    int width = 1;
};

/** A literal, or (where ranges is not empty) a bracket. */
struct host_piece {
    std::string literal;
    std::vector<host_range> ranges;
};

/** One entry of a list: pieces one after the other. */
struct host_pattern {
    std::vector<host_piece> pieces;
    bool dotted = false;    // has a dot: compare with the full host name
};

class hostlist {
public:
    /**
     * Parses comma-separated entries: letters, digits, '.', '_', '-' and
     * brackets of comma-separated numbers and ranges.  The digits of a
     * range's first number give the padding, as in Slurm.  False, and in
     * `what` one clause saying what is wrong, for anything else.
     */
    static bool parse(std::string_view text, hostlist &out, std::string &what);

    bool contains(std::string_view host) const;

    /**
     * Calls visit(name) for every name in order until it returns false;
     * returns false then.  Takes as long as there are names.
     */
    bool for_each(const std::function<bool(const std::string &)> &visit) const;

    const std::vector<host_pattern> &patterns() const { return patterns_; }

private:
    std::vector<host_pattern> patterns_;
};

/**
 * Finds lists that share a host.  For pairs a < b for which wanted(a, b),
 * each at most once per pair of entries, calls found(a, b, host) with an
 * example; stops when that returns false.  The order is the same on every
 * machine.  About n log n for lists that are mostly disjoint.
 */
void hostlist_overlaps(std::span<const hostlist *const> lists,
                       const std::function<bool(size_t, size_t)> &wanted,
                       const std::function<bool(size_t, size_t, const std::string &)> &found);

} // namespace wan

#endif
