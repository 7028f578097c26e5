/*
 * From facts to a plan: predicts every algorithm of the registry that can
 * serve a call, over the parameters it declares, and takes the fastest.
 * Integers only, so that every rank with the same facts finds the same plan.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_PLAN_PLANNER_HPP
#define WAN_PLAN_PLANNER_HPP

#include "algo/registry.hpp"

#include <optional>

namespace wan {

/** What the user set; 0 and nullptr: automatic. */
struct wishes {
    uint64_t threshold_bytes = 0;
    uint32_t links = 0;
    uint64_t segment_bytes = 0;
    const algorithm *algo = nullptr;
    bool stable = false;        // reductions: the same expression whatever the size, the links, the plan
};

/** nullopt: nothing serves this call within the wishes. */
std::optional<plan> choose(const topology &t, const facts &f, const wishes &w, const request &r);

/** What a plan that was chosen by these or other facts takes: also for connections in another state than usual. */
int64_t predict(const topology &t, const facts &f, const request &r, const plan &p);

/** Of some of a call's candidates the one that choose() would take; none: nullopt. */
std::optional<plan> best_of(const topology &t, const facts &f, const request &r, const std::vector<plan> &some);

/** Why best_of() took a plan though another one is predicted to be faster; "": it is not. */
std::string instead_of(const topology &t, const request &r, const plan &chosen, const plan &fastest);

/** Every candidate with its prediction, fastest first: for tools and reports. */
std::vector<plan> candidates(const topology &t, const facts &f, const wishes &w, const request &r);

} // namespace wan

#endif
