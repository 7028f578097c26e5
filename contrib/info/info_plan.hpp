/*
 * `wan-info plan` and `wan-info compare`: what coll/wan would choose, and what it would not.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_PLAN_HPP
#define INFO_PLAN_HPP

#include "info_cluster.hpp"

namespace info {

struct plan_words {
    cluster_words where;
    std::string collective;
    std::string size = "0";
    std::string sizes = "1..16M:16";
    int root = 0;
    bool ordered = false;       // an operator that does not commute
    bool all = false;           // every candidate, not each algorithm's best
    bool json = false;
    bool simulate = false;      // the best of each algorithm, too
    std::string draw;           // file; "-": standard output
    int schedule_of = -1;       // rank
};

int plan_run(const plan_words &words);
int compare_run(const plan_words &words);

} // namespace info

#endif
