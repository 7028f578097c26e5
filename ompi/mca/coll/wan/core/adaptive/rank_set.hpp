/*
 * A set of ranks in runs of neighbours: what a message of an adaptive tree still
 * has to reach, who is below a child, who has contributed.
 *
 * On the wire it is the runs or a bitmap, whichever is shorter: 4096 ranks take
 * at most 515 bytes, a site's block of ranks 4.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_RANK_SET_HPP
#define WAN_ADAPTIVE_RANK_SET_HPP

#include "adaptive/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wan {

class rank_set {
public:
    rank_set() = default;
    /** Ranks first, first+1, ... before end. */
    static rank_set range(int first, int end);
    static rank_set one(int rank) { return range(rank, rank + 1); }
    /** In any order. */
    static rank_set of(std::vector<int> ranks);

    bool empty() const { return runs_.empty(); }
    int size() const;
    bool contains(int rank) const;
    bool intersects(const rank_set &other) const;
    /** The lowest; of a set that is not empty. */
    int first() const { return runs_.front().begin; }
    bool operator==(const rank_set &) const = default;

    rank_set operator|(const rank_set &other) const;
    rank_set operator&(const rank_set &other) const;
    rank_set operator-(const rank_set &other) const;
    rank_set &operator|=(const rank_set &other) { return *this = *this | other; }
    rank_set &operator-=(const rank_set &other) { return *this = *this - other; }

    /** In rising order. */
    template <typename F> void each(F f) const
    {
        for (const run &r : runs_)
            for (int rank = r.begin; rank < r.end; ++rank)
                f(rank);
    }

    /** f(begin, end) of each run of neighbours, in rising order. */
    template <typename F> void each_run(F f) const
    {
        for (const run &r : runs_)
            f(r.begin, r.end);
    }

    void put(wire_writer &w) const;
    /** False: malformed, or with ranks beyond `ranks`. */
    bool get(wire_reader &r, int ranks);
    /** "0-3,7" */
    std::string print() const;

private:
    struct run {
        int begin, end;
        bool operator==(const run &) const = default;
    };
    template <typename Keep> static rank_set merge(const rank_set &a, const rank_set &b, Keep keep);

    std::vector<run> runs_;     // rising, apart by at least one rank, none empty
};

} // namespace wan

#endif
