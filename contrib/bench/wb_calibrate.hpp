// What the network of this job can do, measured in the job itself: sites,
// one-way latency L, bandwidth B of one flow; and the lower bounds from them.
//
// Rank 0 drives, the others answer commands.  L is half of the shortest round
// trip of 4 bytes to the farthest site.  B is the slope of the arrivals in the
// last three quarters of a long flow, so that neither the latency, nor TCP's
// start, nor the burst that a token bucket lets through counts.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef WB_CALIBRATE_HPP
#define WB_CALIBRATE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "wb_control.hpp"
#include "wb_operation.hpp"

namespace wb {

struct facts {
    std::vector<int> site_of;           // per rank, numbered by first appearance
    std::vector<int> site_ranks;        // per site: how many
    std::string sites_from;             // "names" or "latency"
    double latency_ns = 0;              // L
    double near_bytes_per_ns = 0;       // 0: no other rank in rank 0's site
    double far_bytes_per_ns = 0;        // 0: one site
    int near_rank = -1, far_rank = -1;  // whom the flows went to

    double bandwidth_bytes_per_ns() const;  // B: the larger of the two
};

// Lower bound in ns of `kind` (see bound_kind).
double bound_ns(const facts &f, bound_kind kind, std::int64_t bytes, int root);

// Maps the clocks of other kernels to rank 0's; `force`: of every rank.
// Returns the largest uncertainty (half of a shortest round trip), 0 if shared.
ns_t clocks_map(world &w, const std::vector<std::string> &boot_ids, bool force);

// `site_names`: one per rank, "" if unknown.
facts network_calibrate(world &w, const std::vector<std::string> &site_names,
                        std::int64_t flow_bytes);

// The other ranks' part: true if the command was one of these.
bool calibration_answer(world &w, const command &c);

}  // namespace wb
#endif
