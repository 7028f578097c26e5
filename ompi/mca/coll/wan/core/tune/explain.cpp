/*
 * What was tried and chosen, for people.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "collective.hpp"
#include "tune/candidates.hpp"

#include <cinttypes>
#include <cstdio>

namespace wan {

namespace {

std::string bytes_text(unsigned size)
{
    if (size == 0)
        return "0 bytes";
    const uint64_t least = uint64_t{1} << (size - 1);
    return std::to_string(least) + (size > 1 ? " to " + std::to_string(2 * least - 1) : "") + (size > 1 ? " bytes" : " byte");
}

double ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

template <typename... T> std::string line(const char *format, T... values)
{
    char text[256];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

} // namespace

std::string explain(const std::vector<tuner::state> &classes, const tune_options &o)
{
    if (o.trials == 0)
        return "nothing, coll_wan_tune_trials is 0 (coll_wan_verbose 3 tells how calls are served)";
    std::string all;
    for (const tuner::state &c : classes) {
        if (c.candidates.empty())
            continue;
        if (all.empty())
            all = "\n(*: chosen; measured: the quickest timed call, from when all ranks had come until the root or rank 0 knew that all had ended)\n";
        const collective_kind &kind = kind_of(c.what.collective);
        all += line("%s, %s%s%s%s: %" PRIu64 " blocking calls", kind.name, bytes_text(c.what.size).c_str(),
                    kind.root ? line(", root in site %u", c.what.root_site).c_str() : "", c.what.commutative ? "" : ", operator does not commute",
                    c.what.counts_vary ? ", blocks differ" : "", c.calls);
        if (c.candidates.size() == 1) {
            all += "; nothing else is predicted to come near " + print(c.candidates[0].how) + "\n";
            continue;
        }
        all += c.phase == tuner::state::phase::settled ? "\n" : ", trials not ended\n";
        int64_t best = 0;
        for (const tuner::candidate &x : c.candidates)
            if (x.measured_ns && (!best || x.measured_ns < best))
                best = x.measured_ns;
        for (size_t k = 0; k < c.candidates.size(); ++k) {
            const tuner::candidate &x = c.candidates[k];
            all += line("  %s %-60s predicted %8.2f ms", k == c.standing ? "*" : " ", print(x.how).c_str(),
                        ms(x.predicted_ns));
            if (x.measured_ns)
                all += line(", measured %8.2f ms (%.2f of the best)", ms(x.measured_ns), static_cast<double>(x.measured_ns) / static_cast<double>(best));
            if (x.again_ns)
                all += line(", of %.2f and then %.2f ms", ms(x.first_ns), ms(x.again_ns));
            if (x.measured_ns)
                all += line(", %u calls", x.trials);
            all += k ? "\n" : "  (the model's choice)\n";
        }
        if (c.phase == tuner::state::phase::settled && !c.candidates.back().measured_ns)
            all += "  others were not tried: it takes hardly longer than the way to another site\n";
        else if (c.phase == tuner::state::phase::settled && c.candidates[c.standing].measured_ns > best)
            all += "  a quickest time that is not chosen: it is less than 3% shorter, or was not so both times\n";
    }
    if (all.empty())
        all = "nothing: trials begin with the third blocking call of a kind (collective, size up to a power of two), once links are measured; calls along a "
              "rule, an algorithm by name or adaptive trees have none";
    return all;
}

} // namespace wan
