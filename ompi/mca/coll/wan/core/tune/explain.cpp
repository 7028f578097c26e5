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

template <typename... T> std::string line(const char *format, T... values)
{
    char text[256];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

} // namespace

std::string explain(const std::vector<tuner::state> &classes)
{
    std::string all;
    for (const tuner::state &c : classes) {
        if (c.candidates.empty())
            continue;
        if (all.empty())
            all = "(*: chosen; measured: the quickest timed call, from when all ranks had come until the root or rank 0 knew that all had ended)\n";
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
                        static_cast<double>(x.predicted_ns) / 1e6);
            if (x.measured_ns)
                all += line(", measured %8.2f ms (%.2f of the best), %u calls", static_cast<double>(x.measured_ns) / 1e6,
                            static_cast<double>(x.measured_ns) / static_cast<double>(best), x.trials);
            all += k ? "\n" : "  (the model's choice)\n";
        }
        if (c.phase == tuner::state::phase::settled && !c.candidates.back().measured_ns)
            all += "  others were not tried: it takes hardly longer than the way to another site\n";
    }
    return all;
}

} // namespace wan
