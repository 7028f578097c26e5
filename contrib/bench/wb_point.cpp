// See wb_point.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "wb_point.hpp"

#include <algorithm>
#include <iterator>

#include "wb_pattern.hpp"

namespace wb {

namespace {

constexpr int values_per_round = 3;         // enter, end (after the start), flags
constexpr std::int64_t flag_late = 1, flag_wrong = 2;
constexpr int batch_rounds = 10;            // then the estimate is renewed
constexpr int settle_rounds = 3;
constexpr int trial_batches = 14;           // at most, of settle_rounds, while coll/wan tries how to serve these calls
constexpr int batches_untried = 2;          // without a trial: they have ended, or not begun since links are looked at first
constexpr int alike_calls = 3, first_calls = 12;    // of a job's first ones: so many take alike, at most so many are made
constexpr int least_credible = 3;           // fewer: all rounds count, and the point is marked
constexpr ns_t short_ns = second_ns;        // operations worth settling rounds
constexpr ns_t long_ns = 10 * second_ns;    // too long to repeat for warmth
constexpr ns_t margin_ns = millisecond_ns;

ns_t scaled(ns_t t, double factor) { return static_cast<ns_t>(static_cast<double>(t) * factor); }

// As counts_add() takes them apart.
std::array<std::int64_t, counts_of_rank> counters_read(counters &c, const point &p) {
    const std::string collective = p.kind->counter();      // served, or left to Open MPI by choice
    return {c.read("served_" + collective) + c.read("left_" + collective), c.read("wan_bytes"),
            c.read("wan_messages"), c.read("predicted_ns")};
}

}  // namespace

point_run::point_run(world &w, counters &c, const point &p)
    : world_(w), counters_(c), point_(p),
      operation_(p.kind->make(*p.kind, p.what, w.rank, w.size)) {
    before_ = counters_read(c, p);
}

void point_run::batch(const command &c) {
    const std::int64_t rounds = c.a[0];
    const ns_t t0 = c.a[1], quiet = c.a[2], period = c.a[3];
    const auto first = static_cast<std::uint64_t>(c.a[4]);
    std::vector<std::int64_t> mine;
    ns_t chores = 0;
    std::uint64_t digest = 0;

    ns_t begun = local_now_ns();
    operation_->fill(first);
    for (std::int64_t k = 0; k < rounds; ++k) {
        const ns_t start = t0 + k * period;
        chores = std::max(chores, local_now_ns() - begun);
        const bool late = world_.clock.now_ns() > start;
        if (!late)
            idle_until(world_, world_.clock.to_local(start - 10 * millisecond_ns));
        local_sleep_until(world_.clock.to_local(start), world_.spin_ns);
        const ns_t enter = world_.clock.now_ns();
        operation_->run(world_.comm);
        const ns_t end = world_.clock.now_ns();
        idle_until(world_, world_.clock.to_local(start + quiet));
        begun = local_now_ns();
        const bool right = operation_->verify(first + static_cast<std::uint64_t>(k));
        if (first == 0 && k == 0)
            digest = operation_->digest();
        if (k + 1 < rounds)
            operation_->fill(first + static_cast<std::uint64_t>(k) + 1);
        chores = std::max(chores, local_now_ns() - begun);
        mine.insert(mine.end(), {enter - start, end - start,
                                 (late ? flag_late : 0) | (right ? 0 : flag_wrong)});
    }
    mine.push_back(static_cast<std::int64_t>(digest));
    mine.push_back(chores);

    const auto all = report_gather(world_, mine);
    if (world_.rank != 0)
        return;
    const auto n = static_cast<std::size_t>(rounds), stride = mine.size();
    last_ = {};
    last_.enter_ns.assign(n, 0);
    last_.end_ns.assign(n, 0);
    last_.late.assign(n, false);
    last_.wrong.assign(n, false);
    last_.emulator_late_ns.assign(n, 0);
    for (std::size_t at = 0; at < all.size(); at += stride) {
        for (std::size_t k = 0; k < n; ++k) {
            const std::int64_t *v = &all[at + k * values_per_round];
            last_.enter_ns[k] = std::max(last_.enter_ns[k], v[0]);
            last_.end_ns[k] = std::max(last_.end_ns[k], v[1]);
            last_.late[k] = last_.late[k] || (v[2] & flag_late);
            last_.wrong[k] = last_.wrong[k] || (v[2] & flag_wrong);
        }
        if (first == 0)
            outcome_.digest = mix(outcome_.digest ^ static_cast<std::uint64_t>(all[at + stride - 2]));
        last_.chores_ns = std::max(last_.chores_ns, all[at + stride - 1]);
    }
    for (std::size_t k = 0; k < n; ++k) {
        const ns_t start = t0 + static_cast<ns_t>(k) * period;
        const auto late = emulator_.late_ns(start, start + last_.end_ns[k]);
        last_.emulator_late_ns[k] = late.value_or(0);
        outcome_.emulator_known = outcome_.emulator_known && late.has_value();
    }
    if (point_.kind->bound == bound_kind::latency)      // nobody may leave before all came
        for (std::size_t at = 0; at < all.size(); at += stride)
            for (std::size_t k = 0; k < n; ++k)
                if (all[at + k * values_per_round + 1] + world_.clock.error_ns + margin_ns <
                    last_.enter_ns[k])
                    last_.wrong[k] = true;
}

const point_run::report &point_run::announce(int rounds, ns_t lead_ns, ns_t quiet_ns,
                                             ns_t period_ns) {
    const command c = {verb::batch,
                       {rounds, world_.clock.now_ns() + lead_ns, quiet_ns, period_ns,
                        static_cast<std::int64_t>(round_)}};
    round_ += static_cast<std::uint64_t>(rounds);
    outcome_.calls += rounds;
    command_send_all(world_, c);
    batch(c);
    outcome_.wrong += static_cast<int>(std::count(last_.wrong.begin(), last_.wrong.end(), true));
    return last_;
}

void point_run::rounds_accept(const std::vector<round> &seen) {
    const auto credible = std::count_if(seen.begin(), seen.end(), [](const round &r) { return r.credible(); });
    const bool choosy = credible >= std::min<std::ptrdiff_t>(least_credible, std::ssize(seen));
    for (const round &r : seen)
        if (!choosy || r.credible()) {
            outcome_.times_ns.push_back(r.time_ns);
            outcome_.idle_ns.push_back(r.idle_ns);
            outcome_.emulator_late_ns = std::max(outcome_.emulator_late_ns, r.emulator_late_ns);
        } else {
            ++outcome_.emulator_rejected;
        }
    outcome_.spoilt = !choosy;
}

outcome point_run::begin(const limits &l) {
    ns_t least = long_ns;
    for (int alike = 0, calls = 0; alike < alike_calls && calls < first_calls; ++calls) {
        const ns_t took = announce(1, l.lead_ns, 0, 0).end_ns[0];
        if (took > long_ns)
            break;
        alike = took > 2 * least ? 0 : 2 * took < least ? 1 : alike + 1;
        least = std::min(least, took);
    }
    return outcome_;
}

outcome point_run::control(const limits &l) {
    ns_t began = local_now_ns();
    const auto budget_left = [&] { return l.point_ns - (local_now_ns() - began); };

    ns_t lead = point_.cold ? std::max(l.lead_ns, l.cold_gap_ns) : l.lead_ns;
    // First call: opens connections, lets components plan; sets the estimate.
    const report *r = &announce(1, lead, 0, 0);
    for (int tries = 0; r->late[0] && tries < 5; ++tries) {
        ++outcome_.rejected;
        lead *= 2;
        r = &announce(1, lead, 0, 0);
    }
    ns_t expected = r->end_ns[0], chores = r->chores_ns;
    if (expected > l.point_ns || (expected > long_ns && 2 * expected > budget_left())) {
        outcome_.only_first = true;
        rounds_accept({{expected, lead, r->emulator_late_ns[0]}});
        return outcome_;
    }

    const auto gap = [&] {      // checking and filling must fit in
        const ns_t asked = point_.cold ? l.cold_gap_ns : l.warm_gap_ns;
        return std::max(asked, scaled(chores, 1.5) + 5 * millisecond_ns);
    };
    const auto lead_now = [&] { return std::max(lead, 2 * chores + 100 * millisecond_ns); };
    const auto quiet_for = [&](ns_t t) { return scaled(t, 1.05) + margin_ns; };

    ns_t quiet = quiet_for(expected);
    if (!point_.cold && expected < std::min(short_ns, l.point_ns / 10)) {
        const ns_t settling = local_now_ns();
        for (int i = 0, untried = 0; i < trial_batches && untried < batches_untried; ++i) {
            const std::int64_t tried = counters_.read("trials");       // -1 without coll/wan: as many rounds for all
            r = &announce(settle_rounds, lead_now(), quiet, quiet + gap());
            chores = r->chores_ns;
            quiet = quiet_for(*std::max_element(r->end_ns.begin() + 1, r->end_ns.end()));
            untried = counters_.read("trials") == tried ? untried + 1 : 0;
        }
        began += local_now_ns() - settling;     // not the point's time
    }

    const bool skip_first = !point_.cold && expected < long_ns;
    int attempts = 3 * point_.rounds + 6, credible = 0;
    std::vector<round> seen;
    while (credible < point_.rounds && attempts > 0) {
        const ns_t period = quiet + gap();
        const auto affordable = static_cast<int>(std::max<ns_t>(budget_left(), 0) / period);
        if (affordable < 1 && !seen.empty())
            break;
        int n = point_.rounds - credible + (skip_first ? 1 : 0);
        n = std::clamp(std::min(n, affordable), skip_first ? 2 : 1, batch_rounds);
        attempts -= n;
        r = &announce(n, lead_now(), quiet, period);
        chores = r->chores_ns;
        ns_t longest = 0;
        bool any_late = false;
        for (int k = 0; k < n; ++k) {
            const auto at = static_cast<std::size_t>(k);
            longest = std::max(longest, r->end_ns[at]);
            any_late = any_late || r->late[at];
            if (r->late[at])
                ++outcome_.rejected;
            else if (k > 0 || !skip_first) {
                seen.push_back({r->end_ns[at], k == 0 ? lead_now() : period - r->end_ns[at - 1],
                                r->emulator_late_ns[at]});
                credible += seen.back().credible();
            }
        }
        quiet = any_late ? std::max(scaled(quiet, 1.3), scaled(longest, 1.1)) : quiet_for(longest);
    }
    rounds_accept(seen);
    return outcome_;
}

std::vector<std::int64_t> point_run::counts() {
    auto now = counters_read(counters_, point_);
    for (std::size_t i = 0; i < now.size(); ++i)
        now[i] = now[i] < 0 ? -1 : now[i] - before_[i];
    return {now.begin(), now.end()};
}

}  // namespace wb
