/*
 * See tuner.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune/tuner.hpp"

#include <algorithm>
#include <utility>

namespace wan {

namespace {

/** Calls before trials begin: connections are there, and who calls twice pays nothing. */
constexpr uint64_t calls_before = 2;
/** Of the model's choice, where it seems to be as fast as can be. */
constexpr unsigned calls_watched = 8;
/** Of a class, for which a choice stands at least, whatever else changes but links. */
constexpr uint64_t calls_between = 200;
/** Per mille of what serves: too little to change for. */
constexpr int64_t little = 970;
/** Of a rank that began so much too late, as a part of what the call is predicted to take: it is not known how long that took. */
constexpr int64_t most_late_part = 64;
constexpr int64_t not_known_ns = INT64_MAX;
/** What waking takes: so late any rank may be. */
constexpr int64_t waking_ns = 10'000;
/** So much longer all may wait for a rank that began late, however short calls are: where processes outnumber processors, some wait for one. */
constexpr int64_t slice_ns = 1'000'000;

std::vector<unsigned> numbers(unsigned from, size_t end)
{
    std::vector<unsigned> all;
    for (; from < end; ++from)
        all.push_back(from);
    return all;
}

/** A call by a way that is tried, beside which ranks have word of the clock. */
int64_t clock_adds_ns(const tuner::candidate &first, const tuner::candidate &next)
{
    return std::max<int64_t>(0, next.predicted_ns - first.predicted_ns) + first.words_ns + first.exchange_ns;
}

bool below(int64_t x, int64_t y, int64_t per_mille)
{
    return static_cast<__int128>(x) * 1000 < static_cast<__int128>(y) * per_mille;
}

} // namespace

size_t tuner::find(const call_class &c) const
{
    const auto it = std::find_if(classes_.begin(), classes_.end(), [&](const state &s) { return s.what == c; });
    return static_cast<size_t>(it - classes_.begin());
}

std::optional<manner> tuner::chosen(const call_class &c, unsigned epoch, const std::optional<manner> &known) const
{
    const size_t i = find(c);
    if (i == classes_.size())
        return known;
    const auto &history = slots_[i].history;
    for (auto it = history.rbegin(); it != history.rend(); ++it)
        if (it->since <= epoch)
            return known && !it->doubted ? known : it->ours;
    return known;
}

bool tuner::doubted(const call_class &c) const
{
    const size_t i = find(c);
    return i < classes_.size() && slots_[i].doubted && classes_[i].candidates.size() > 1;
}

tuner::learned tuner::serving(const slot &s)
{
    if (!s.history.empty() && (!s.known || s.history.back().doubted))
        return s.history.back();
    return {0, s.known, s.known && s.known->ours() ? s.known : std::nullopt};
}

void tuner::round_begin(size_t i, enum slot::round which, std::vector<unsigned> candidates)
{
    slot &s = slots_[i];
    s.round = which;
    s.turns = std::move(candidates);
    s.samples.clear();
    s.at = 0;
    s.pressing = false;
    s.watched = 0;
}

tuner::service tuner::begin(const call_class &c, const makes &make, const std::optional<manner> &known)
{
    size_t i = find(c);
    if (i == classes_.size()) {
        if (i == most_classes)
            return {known};
        classes_.push_back({.what = c});
        slots_.emplace_back();
    }
    state &x = classes_[i];
    slot &s = slots_[i];
    ++x.calls;
    s.known = known;
    s.uses_known |= known.has_value();
    const auto standing = [&] { return serving(s).how; };
    if (known && !s.doubted)
        return {standing()};
    if (x.phase == state::phase::counting) {
        if (s.waited++ < calls_before)
            return {standing()};
        if (x.starts == most_starts) {
            x.candidates.resize(1);
            x.phase = state::phase::settled;
            s.settled = x.calls;
            return {standing()};
        }
        const auto was = standing();
        x.candidates = make(was);
        x.standing = 0;
        for (size_t k = 0; was && k < x.candidates.size(); ++k)
            if (x.candidates[k].how == *was)
                x.standing = k;
        if (x.candidates.size() < 2) {
            x.phase = state::phase::settled;
            s.settled = x.calls;
            return {standing()};
        }
        ++x.starts;
        x.candidates[x.standing].opening_ns = 0;
        x.phase = state::phase::trying;
        s.repeated = false;
        late_ns_ /= 2;          // that may have been once
        const bool alone = x.candidates[0].least_ns > 0 && x.standing == 0;
        round_begin(i, alone ? slot::round::alone : slot::round::first, numbers(0, alone ? 1 : x.candidates.size()));
    }
    if (x.phase == state::phase::settled)
        return {standing()};
    candidate &first = x.candidates[0];
    const bool exchanges = s.at == s.turns.size();
    candidate &next = exchanges ? first : x.candidates[s.turns[s.at]];
    if (!exchanges && s.round == slot::round::alone) {
        trying_ = i;
        return {first.how, now_ = WAN_TRIAL_WATCHED};
    }
    const int64_t usual_ns = first.predicted_ns, opening_ns = s.round == slot::round::first ? next.opening_ns : 0;
    const int64_t adds_ns = exchanges ? first.exchange_ns : std::max<int64_t>(0, next.predicted_ns - usual_ns) + opening_ns + next.words_ns + late_ns_;
    if (!std::exchange(s.pressing, false)) {
        const int64_t clock_ns = exchanges ? 0 : clock_adds_ns(first, next);        // which may be old
        if (percent_ < 100 && static_cast<__int128>(x.calls) * usual_ns * percent_ < static_cast<__int128>(s.added_ns + adds_ns + clock_ns) * 100)
            return {standing()};
        s.added_ns += adds_ns;
        s.pressed = false;
    }
    trying_ = i;
    if (exchanges)
        return {standing(), now_ = WAN_TRIAL_SCORES};
    return {next.how, now_ = WAN_TRIAL_TIMED};
}

bool tuner::clock_instead(bool old)
{
    if (trying_ == SIZE_MAX || now_ != WAN_TRIAL_TIMED)
        return false;
    slot &s = slots_[trying_];
    if (!old || std::exchange(s.pressed, true))
        return false;
    const candidate &first = classes_[trying_].candidates[0];
    candidate &next = classes_[trying_].candidates[s.turns[s.at]];
    s.added_ns += clock_adds_ns(first, next);
    next.opening_ns = 0;    // this one has opened its connections, which was counted as well
    s.pressing = true;      // the next call is that, what it adds has been counted
    now_ = WAN_TRIAL_CLOCK;
    return true;
}

int64_t tuner::usual_ns() const
{
    if (trying_ == SIZE_MAX || (now_ != WAN_TRIAL_WATCHED && now_ != WAN_TRIAL_TIMED))
        return 0;
    const slot &s = slots_[trying_];
    const state &x = classes_[trying_];
    const candidate &c = x.candidates[s.turns[s.at]];
    return (c.how.algo ? c : x.candidates[0]).predicted_ns;
}

bool tuner::record(int64_t elapsed_ns, int64_t late_ns)
{
    if (trying_ == SIZE_MAX)        // links were measured anew inside the call
        return false;
    state &x = classes_[trying_];
    slot &s = slots_[trying_];
    if (now_ == WAN_TRIAL_SCORES)
        return true;        // decide() comes next
    if (now_ == WAN_TRIAL_TIMED) {
        candidate &tried = x.candidates[s.turns[s.at]];
        ++tried.trials;
        x.trials_ns += elapsed_ns;
        const bool too_late = late_ns > std::max(waking_ns, tried.predicted_ns / most_late_part);
        s.samples.push_back(too_late ? not_known_ns : elapsed_ns);
        if (too_late)       // beyond what was waited for
            late_here_ns_ = std::max(late_here_ns_, late_ns_ + late_ns);
        ++s.at;
    } else if (now_ == WAN_TRIAL_WATCHED) {
        // Who came first has waited: its quickest ones say most.  (One may be of a rank that came late.)
        if (elapsed_ns) {
            s.samples.push_back(elapsed_ns);
            std::sort(s.samples.begin(), s.samples.end());
            s.samples.resize(std::min<size_t>(s.samples.size(), 2));
        }
        s.at += ++s.watched == calls_watched;
    }
    trying_ = SIZE_MAX;
    return false;
}

tune_scores tuner::scores() const
{
    tune_scores v{};
    const auto &samples = slots_[trying_].samples;
    std::copy(samples.begin(), samples.end(), v.begin());
    if (slots_[trying_].round == slot::round::alone)
        v[0] = samples.size() < 2 ? 0 : samples.back();
    v.back() = late_here_ns_;
    return v;
}

/** What is faster than `standing` by more than noise, in both rounds where that was tried twice; with `ours`, not Open MPI's own. */
size_t tuner::best_of(const state &x, size_t standing, bool ours)
{
    const candidate &now = x.candidates[standing];
    size_t best = standing;
    if (!now.measured_ns && standing == x.standing)     // it began late each time
        return best;
    for (size_t k = 0; k < x.candidates.size(); ++k) {
        const candidate &c = x.candidates[k];
        const bool twice = !now.again_ns || (c.again_ns && below(c.again_ns, now.again_ns, little));
        const bool quicker = !now.measured_ns || below(c.measured_ns, now.measured_ns, little);     // one that was far slower is not measured
        if ((c.how.ours() || !ours) && c.measured_ns && twice && quicker && (!x.candidates[best].measured_ns || c.measured_ns < x.candidates[best].measured_ns))
            best = k;
    }
    return best;
}

/** Whether its first call took more than twice as long as the best so far, connections aside. */
bool tuner::too_slow(const state &x, const candidate &c)
{
    int64_t best_ns = INT64_MAX;
    for (const candidate &y : x.candidates)
        if (y.measured_ns)
            best_ns = std::min(best_ns, y.measured_ns);
    return (c.opened_ns - c.opening_ns) / 2 > best_ns;
}

/** What serves calls that do not block. */
size_t tuner::ours_instead(const state &x) { return x.candidates[x.standing].how.ours() ? x.standing : 0; }

bool tuner::decide(const tune_scores &combined, unsigned epoch)
{
    const size_t i = std::exchange(trying_, SIZE_MAX);
    state &x = classes_[i];
    slot &s = slots_[i];
    late_ns_ = std::max(late_ns_, std::min(combined.back(), std::max(slice_ns, x.candidates[0].words_ns)));
    late_here_ns_ = 0;
    std::vector<unsigned> missed;
    for (size_t k = 0; k < s.samples.size() && s.round != slot::round::alone; ++k) {
        candidate &who = x.candidates[s.turns[k]];
        if (s.round == slot::round::first && who.opening_ns) {
            who.opened_ns = combined[k] == not_known_ns ? who.opening_ns : combined[k];
            who.late += combined[k] == not_known_ns;
            continue;
        }
        if (combined[k] == not_known_ns) {
            ++who.late;
            missed.push_back(s.turns[k]);
            continue;
        }
        who.measured_ns = who.measured_ns ? std::min(who.measured_ns, combined[k]) : combined[k];
        (s.round == slot::round::again ? who.again_ns : who.first_ns) = combined[k];
    }
    if (s.repeated = !missed.empty() && !s.repeated; s.repeated) {
        round_begin(i, s.round, std::move(missed));
        return false;
    }
    // Nothing else could be so much faster that it would be changed for.  (Where nobody has waited for others nothing is known.)
    const bool enough = s.round == slot::round::alone && combined[0] > 0 && !below(x.candidates[0].least_ns, combined[0], little);
    if (enough)
        x.standing = 0;
    else if (s.round == slot::round::alone) {
        round_begin(i, slot::round::first, numbers(0, x.candidates.size()));
        return false;
    }
    if (s.round == slot::round::first) {
        std::vector<unsigned> warm;
        for (unsigned k = 0; k < x.candidates.size(); ++k)
            if (x.candidates[k].opening_ns && !too_slow(x, x.candidates[k]))
                warm.push_back(k);
        if (!warm.empty()) {
            round_begin(i, slot::round::warm, std::move(warm));
            return false;
        }
    }
    if (s.round == slot::round::first || s.round == slot::round::warm) {
        // What looks quicker does so by chance now and then: once more, beside what serves.
        std::vector<unsigned> again{static_cast<unsigned>(x.standing)};
        for (const size_t k : {best_of(x, x.standing, false), best_of(x, ours_instead(x), true)})
            if (std::find(again.begin(), again.end(), k) == again.end() && x.candidates.size() - 1 + again.size() <= trials_)
                again.push_back(static_cast<unsigned>(k));
        if (again.size() > 1) {
            round_begin(i, slot::round::again, std::move(again));
            return false;
        }
    }
    x.phase = state::phase::settled;
    s.settled = x.calls;
    s.waited = 0;
    const bool told = s.round != slot::round::again || x.candidates[x.standing].again_ns;      // what serves did not begin late again
    if (told)
        x.standing = best_of(x, x.standing, false);
    const size_t ours = told ? best_of(x, ours_instead(x), true) : ours_instead(x);
    learned now{epoch, std::nullopt, std::nullopt, s.doubted};
    const learned before = serving(s);
    if (x.standing)
        now.how = x.candidates[x.standing].how;
    if (ours)
        now.ours = x.candidates[ours].how;
    if (before.how == now.how && before.ours == now.ours)
        return false;
    s.history.push_back(std::move(now));
    return true;
}

void tuner::forget(unsigned epoch)
{
    trying_ = SIZE_MAX;
    late_ns_ = late_here_ns_ = 0;
    for (state &x : classes_) {
        x.phase = state::phase::counting;
        x.standing = 0;         // the model's choice serves
        for (candidate &c : x.candidates)
            c.opened_ns = c.measured_ns = c.first_ns = c.again_ns = 0, c.trials = c.late = 0;
    }
    for (slot &s : slots_) {
        s.waited = 0;
        s.uses_known = false;   // until it serves again
        if (!s.history.empty() && (s.history.back().how || s.history.back().ours))
            s.history.push_back({epoch, std::nullopt, std::nullopt, s.doubted});
    }
}

void tuner::reopen()
{
    for (size_t i = 0; i < classes_.size(); ++i) {
        state &x = classes_[i];
        slot &s = slots_[i];
        const bool by_known = s.uses_known && !s.doubted && x.phase != state::phase::trying;
        if ((x.phase == state::phase::settled || by_known) && x.starts < most_starts && x.calls >= s.settled + calls_between) {
            x.phase = state::phase::counting;
            s.waited = 0;
            s.doubted = s.uses_known;
        }
    }
}

} // namespace wan
