/*
 * Why calls are served as they are, and what else there was: see comm.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm.hpp"
#include "ms_text.hpp"

#include <algorithm>

namespace {

constexpr const char *of_the_rest = ": of the rest predicted to be the fastest";

} // namespace

std::string wan_comm::why(const wan::request &r, bool blocks, size_t era, const std::optional<wan::plan> &how, const char *unfit) const
{
    const wan::wishes &w = wish[r.collective];
    if (how ? w.algo && w.algo == how->algo : wants_trees[r.collective])
        return wan::algorithm_knob(r.collective) + " names it";
    if (w.algo)
        return how ? wan::serves_not(wan::algorithm_knob(r.collective), *w.algo) + of_the_rest : "";
    const auto told = said(r, blocks, era);
    if (how && (wants_trees[r.collective] || (told && told->how.along_trees))) {
        const std::string refused = trees_refuse(r), what = refused.empty() ? unfit : refused;
        return (wants_trees[r.collective] ? wan::algorithm_knob(r.collective) : told->knob) + " names adaptive trees, which "
               + (what.empty() ? "do not serve such calls" : what) + of_the_rest;
    }
    if (told && (how ? told->how.algo == how->algo : told->how.along_trees))
        return std::string(told->knob) + " says so";
    if (told && how && told->how.algo)
        return wan::serves_not(told->knob, *told->how.algo) + of_the_rest;
    if (how && blocks && !r.counts_vary && tune.trials && !ruled(r, blocks, era) && trees_might_serve(r.collective) && !trees_serve(r, unfit))
        return "predicted to be the fastest; where there are adaptive trees, a call that they cannot serve is not tried";
    for (const wan::tuner::state &s : tuning.classes())
        if (s.what == wan::class_of(topo, r) && s.candidates.size() > 1)
            return s.phase != wan::tuner::state::phase::settled ? "ways to serve it are being tried"
                   : (how ? fits(s.candidates[s.standing].how, *how) : s.candidates[s.standing].how.along_trees)
                       ? (std::all_of(s.candidates.begin(), s.candidates.end(), [](const auto &x) { return x.trials == 0; })
                              ? "predicted to be the fastest, and watched"
                          : s.candidates[s.standing].measured_ns == 0 && s.candidates[s.standing].late > 0
                              ? "served already: ways were tried, and some rank began too late each time to tell how long it takes"
                          : s.candidates[s.standing].again_ns == 0 && s.candidates[s.standing].late > 0
                              ? "served already: beside what looked quicker some rank began too late to tell how long it takes"
                              : "the fastest of " + std::to_string(s.candidates.size()) + " ways that were tried")
                       : "served when ways were tried, or links were others";
    return "";
}

std::string wan_comm::unused(const wan::request &r, bool blocks, size_t era) const
{
    const auto rule = era < links.known.size() ? any_rule(r, blocks, era) : std::nullopt;
    if (!rule || !rule->misfit)
        return "";
    const wan::misfit &m = *rule->misfit;
    return "what was learned was not used: " + std::string(rule->knob) + " says " + wan::print(rule->how) + ", of " + std::to_string(m.bytes) + " bytes predicted to take "
           + wan::ms_text(m.predicted_ns) + ", more than " + std::to_string(tune.excess_percent) + "% longer than " + wan::ms_text(m.least_ns) + " (coll_wan_tune_excess)";
}

void wan_comm::saw(const wan::request &r, bool blocks, size_t era, const std::optional<wan::plan> &how, calls_seen::served by, const char *unfit)
{
    constexpr size_t most = 256;
    const wan::call_class what = wan::class_of(topo, r);
    auto it = std::find_if(seen_calls.begin(), seen_calls.end(), [&](const calls_seen &x) { return x.what == what && x.sizes_local == r.counts_local; });
    if (it == seen_calls.end()) {
        if (seen_calls.size() == most) {
            ++not_seen;
            return;
        }
        it = seen_calls.insert(it, {what, r.counts_local});
    }
    ++(blocks ? it->blocking : it->others);
    if (!blocks && it->blocking)
        return;
    it->like = r;
    it->era = era;
    it->how = how;
    it->by = by;
    it->unfit = unfit;
}

std::string wan_comm::explain() const
{
    using served = calls_seen::served;
    std::lock_guard hold(lock);
    std::vector<wan::calls_told> all;
    for (const calls_seen &x : seen_calls) {
        wan::calls_told c;
        c.what = x.what;
        c.sizes_local = x.sizes_local;
        c.pairs_alike = topo.site_count() > wan::fact::most_sites;
        c.blocking = x.blocking;
        c.others = x.others;
        const bool blocks = x.blocking > 0;
        wan::wishes w = wish[x.what.collective];
        w.algo = nullptr;       // what a name keeps away, too
        if (x.era < links.known.size()) {
            c.ways = wan::candidates(topo, links.known[x.era], w, x.like);
            if (wan::may_leave(w, x.what.collective))
                c.own_ns = wan::own_module_ns(topo, links.known[x.era], x.like);
        }
        for (const wan::tuner::state &s : tuning.classes())
            if (!x.sizes_local && blocks && s.what == x.what)
                c.tried = &s;
        c.how = x.by == served::by_plan       ? wan::print(wan::manner_of(*x.how))
                : x.by == served::along_trees ? "adaptive"
                                              : wan::print(wan::manner{});
        c.how_predicted_ns = x.how ? x.how->predicted_ns : 0;
        if (x.by == served::not_at_all)
            c.why = "no algorithm of coll/wan serves it";
        else if (const auto told = x.by == served::left ? said(x.like, blocks, x.era) : std::nullopt; told)
            c.why = std::string(told->knob) + " says so";
        else if (x.by == served::left)
            c.why = "by trial";
        else
            c.why = why(x.like, blocks, x.era, x.how, x.unfit);
        if (c.why.empty() && x.how && !c.ways.empty())
            c.instead = wan::instead_of(topo, x.like, *x.how, c.ways.front());
        c.unused = unused(x.like, blocks, x.era);
        if (x.by == served::left && c.own_ns)
            c.how_predicted_ns = *c.own_ns;
        all.push_back(std::move(c));
    }
    return wan::explain(all, tune, not_seen);
}
