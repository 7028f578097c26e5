/*
 * See explain.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune/explain.hpp"

#include "collective.hpp"
#include "model/probe.hpp"
#include "ms_text.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <limits>

namespace wan {

namespace {

std::string bytes_text(unsigned size)
{
    if (size == 0)
        return "0 bytes";
    const uint64_t least = uint64_t{1} << (size - 1);
    return std::to_string(least) + (size > 1 ? " to " + std::to_string(2 * least - 1) : "") + (size > 1 ? " bytes" : " byte");
}

constexpr int column = 8;       // width of times that stand below each other

template <typename... T> std::string line(const char *format, T... values)
{
    char text[256];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

bool settled(const tuner::state &x) { return x.phase == tuner::state::phase::settled; }

bool was_tried(const calls_told &c) { return c.tried && c.tried->candidates.size() > 1; }

/** Of what was measured, the least; 0: nothing was. */
const tuner::candidate *quickest(const tuner::state &x)
{
    const tuner::candidate *best = nullptr;
    for (const tuner::candidate &k : x.candidates)
        if (k.measured_ns && (!best || k.measured_ns < best->measured_ns))
            best = &k;
    return best;
}

std::string head(const calls_told &c)
{
    const collective_kind &kind = kind_of(c.what.collective);
    std::string text = line("%s, %s%s%s%s: ", kind.name, c.sizes_local ? "sizes that not all ranks know" : bytes_text(c.what.size).c_str(),
                            kind.root ? line(", root in site %u", c.what.root_site).c_str() : "", c.what.commutative ? "" : ", operator does not commute",
                            c.what.counts_vary && !c.sizes_local ? ", blocks differ" : "");
    if (c.blocking || !c.others)
        text += line("%" PRIu64 " blocking call%s", c.blocking, c.blocking == 1 ? "" : "s");
    if (c.others)
        text += line("%s%" PRIu64 "%s", c.blocking ? ", " : "", c.others, c.others == 1 ? " that does not block" : " that do not block");
    return text + (was_tried(c) && !settled(*c.tried) ? ", trials not ended\n" : "\n");
}

/** What each way that was kept has taken. */
std::string ways(const tuner::state &x)
{
    std::string all;
    const tuner::candidate *best = quickest(x);
    for (size_t k = 0; k < x.candidates.size(); ++k) {
        const tuner::candidate &c = x.candidates[k];
        all += line("  %s %-60s predicted ", k == x.standing ? "*" : " ", print(c.how).c_str()) + ms_text(c.predicted_ns, column);
        if (c.measured_ns)
            all += ", measured " + ms_text(c.measured_ns, column) + line(" (%.2f of the best)", static_cast<double>(c.measured_ns) / static_cast<double>(std::max<int64_t>(1, best->measured_ns)));
        if (c.again_ns)
            all += ", of " + ms_text(c.first_ns) + " and then " + ms_text(c.again_ns);
        if (c.opened_ns && !c.measured_ns && !c.late && settled(x))
            all += ", not called again: its first call took " + ms_text(c.opened_ns);
        if (c.trials)
            all += line(", %u call%s", c.trials, c.trials == 1 ? "" : "s");
        if (c.late)
            all += line(", %u begun too late to tell", c.late);
        all += k ? "\n" : "  (the model's choice)\n";
    }
    return all;
}

/** How many ways there were besides those, and the best of each algorithm that none of those has. */
std::string dropped(const calls_told &c)
{
    const auto kept = [&](const manner &m) {
        const auto same = [&](manner x) { return x.cuts = 0, x == m; };
        return was_tried(c) ? std::any_of(c.tried->candidates.begin(), c.tried->candidates.end(), [&](const auto &x) { return same(x.how); }) : print(m) == c.how;
    };
    std::vector<manner> others;
    std::vector<const algorithm *> seen;
    std::string best;
    for (const plan &p : c.ways) {
        const manner m = manner_of(p);
        const auto named = [&](const manner &x) { return x == m; };
        if (kept(m))
            seen.push_back(p.algo);
        else if (std::none_of(others.begin(), others.end(), named))
            others.push_back(m);
    }
    for (const plan &p : c.ways)
        if (std::find(seen.begin(), seen.end(), p.algo) == seen.end()) {
            seen.push_back(p.algo);
            best += (best.empty() ? "" : ", ") + std::string(p.algo->name) + " " + ms_text(p.predicted_ns);
        }
    size_t count = others.size();
    if (c.own_ns && !kept({}) && c.how != print(manner{})) {
        ++count;
        best += (best.empty() ? "" : ", ") + print(manner{}) + " " + ms_text(*c.own_ns);
    }
    if (!count)
        return "";
    return line("  %s: %zu other way%s", was_tried(c) ? "dropped" : "not tried", count, count == 1 ? "" : "s")
           + (best.empty() ? ", of the same algorithms\n" : "; predicted, the best of each other algorithm: " + best + "\n");
}

std::string why_not_tried(const calls_told &c, const tune_options &o)
{
    if (o.trials == 0)
        return "coll_wan_tune_trials is 0";
    if (c.sizes_local)
        return "where not all ranks know the sizes, nothing is";
    if (!c.blocking)
        return "only calls that block are";
    if (!c.tried)
        return "links were not measured, or there are more than " + std::to_string(tuner::most_classes) + " kinds of calls";
    if (c.tried->starts == tuner::most_starts)
        return "trials have begun " + std::to_string(tuner::most_starts) + " times before links changed last";
    if (settled(*c.tried) && c.pairs_alike)
        return "of more than " + std::to_string(fact::most_sites) + " sites ways are not told apart, by which calls would begin together";
    return settled(*c.tried) ? "nothing else is predicted to come near" : "trials begin with the third blocking call of a kind, once links are measured";
}

std::string chosen(const calls_told &c, const tune_options &o)
{
    std::string text = "  chosen: ";
    if (!c.why.empty())
        text += c.why;
    else
        text += !c.how_predicted_ns                          ? "nothing else serves it"
                : !c.instead.empty()                         ? c.instead
                : c.own_ns && *c.own_ns < c.how_predicted_ns ? "of coll/wan's ways predicted to be the fastest"
                                                             : "predicted to be the fastest";
    if (was_tried(c)) {
        const tuner::candidate *best = quickest(*c.tried);
        const tuner::candidate &now = c.tried->candidates[c.tried->standing];
        if (settled(*c.tried) && now.least_ns && c.tried->candidates.back().trials == 0)
            text += "\n  others were not tried: it takes hardly longer than the way to another site";
        else if (settled(*c.tried) && best && now.measured_ns > best->measured_ns)
            text += "\n  a quickest time that is not chosen: it is less than 3% shorter, or was not so both times";
    } else if (c.why.empty() && c.how_predicted_ns) {
        text += "; nothing was tried: " + why_not_tried(c, o);
    }
    if (!c.unused.empty())
        text += "\n  " + c.unused;
    return text + "\n";
}

/** What a call takes longer than by the best that is known. */
std::string regret(const calls_told &c)
{
    int64_t more_ns = -1, best_ns = 0;
    const char *by = "by what was measured";
    const tuner::candidate *best = was_tried(c) && settled(*c.tried) ? quickest(*c.tried) : nullptr;
    if (best && c.tried->candidates[c.tried->standing].measured_ns) {
        more_ns = c.tried->candidates[c.tried->standing].measured_ns - best->measured_ns;
        best_ns = best->measured_ns;
    } else if (c.how_predicted_ns && !c.ways.empty()) {
        best_ns = std::min(c.ways[0].predicted_ns, c.own_ns.value_or(std::numeric_limits<int64_t>::max()));
        more_ns = std::max<int64_t>(0, c.how_predicted_ns - best_ns);
        by = "as predicted";
    }
    if (more_ns < 0)
        return "  regret: not known\n";
    return "  regret, estimated: " + ms_text(more_ns) + line(" a call, %.1f%% (%s)\n", 100.0 * static_cast<double>(more_ns) / static_cast<double>(std::max<int64_t>(1, best_ns)), by);
}

} // namespace

std::string explain(const std::vector<calls_told> &told, const tune_options &o, uint64_t left_out)
{
    if (told.empty())
        return "no calls";
    std::string all = "\n(*: chosen; measured: the quickest timed call, from where all ranks began together until the last one had ended, as of a call of the first "
                      "one's size)\n";
    for (const calls_told &c : told) {
        all += head(c);
        if (was_tried(c))
            all += ways(*c.tried);
        else if (c.how_predicted_ns)
            all += line("  * %-60s predicted ", c.how.c_str()) + ms_text(c.how_predicted_ns, column) + "\n";
        else
            all += "  * " + c.how + "\n";
        all += dropped(c) + chosen(c, o) + regret(c);
    }
    if (left_out)
        all += line("calls of other kinds, of which nothing is told: %" PRIu64 "\n", left_out);
    return all;
}

} // namespace wan
