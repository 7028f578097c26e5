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
/** Tries of a candidate in a round; the first may be the one that connects. */
constexpr unsigned tries = 2;
/** Per mille of the best: what is tried again, and what is too little to change for. */
constexpr int64_t near_best = 1300, little = 970;
/** The slowest rank waits so many times as long as the quickest, or the same call takes so much longer once more: ranks come at different times. */
constexpr int64_t uneven = 2, unlike = 1300;
/** What a rank that has nothing to say says of the least. */
constexpr int64_t nothing = INT64_MIN / 2;

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

std::optional<manner> tuner::chosen(const call_class &c, unsigned epoch) const
{
    const size_t i = find(c);
    if (i == classes_.size())
        return std::nullopt;
    const auto &history = slots_[i].history;
    for (auto it = history.rbegin(); it != history.rend(); ++it)
        if (it->since <= epoch)
            return it->ours;
    return std::nullopt;
}

void tuner::round_begin(size_t i, const std::vector<unsigned> &candidates, bool in_turns)
{
    slot &s = slots_[i];
    s.turns.clear();
    s.samples.clear();
    s.turn = 0;
    for (size_t k = 0; k < candidates.size() * tries; ++k)
        s.turns.push_back(candidates[in_turns ? k % candidates.size() : k / tries]);
}

void tuner::first_round(size_t i)
{
    std::vector<unsigned> all(classes_[i].candidates.size());
    for (unsigned k = 0; k < all.size(); ++k)
        all[k] = k;
    slots_[i].round = 0;
    round_begin(i, all, false);
}

/** Whether times say more about when ranks came than about what was tried. */
bool tuner::noisy(size_t i, const tune_scores &combined) const
{
    const auto &samples = slots_[i].samples;
    std::vector<int64_t> again;     // per mille: of a candidate's calls in this round, the last by the one before
    for (size_t k = 0; k < samples.size(); ++k) {
        if (combined[2 * k] > uneven * -combined[2 * k + 1])
            return true;
        for (size_t before = k; before-- > 0;)
            if (samples[before].candidate == samples[k].candidate) {
                again.push_back(static_cast<int64_t>(static_cast<__int128>(combined[2 * k]) * 1000 / std::max<int64_t>(1, combined[2 * before])));
                break;
            }
    }
    // Of most of them the second call should not take longer, which may be the first one that connects.
    const auto longer = std::count_if(again.begin(), again.end(), [](int64_t x) { return x > unlike; });
    return 2 * static_cast<size_t>(longer) >= again.size() && !again.empty();
}

tuner::service tuner::begin(const call_class &c, const std::function<std::vector<candidate>()> &make)
{
    size_t i = find(c);
    if (i == classes_.size()) {
        if (i == most_classes_)
            return {};
        classes_.push_back({.what = c});
        slots_.emplace_back();
    }
    state &x = classes_[i];
    slot &s = slots_[i];
    ++x.calls;
    const auto standing = [&]() -> std::optional<manner> {
        return s.history.empty() ? std::nullopt : s.history.back().how;
    };
    if (x.phase == state::phase::counting) {
        if (s.waited++ < calls_before)
            return {standing()};
        const auto was = standing();
        x.candidates = make();
        x.standing = 0;
        for (size_t k = 0; was && k < x.candidates.size(); ++k)
            if (x.candidates[k].how == *was)
                x.standing = k;
        if (x.candidates.size() < 2) {
            x.phase = state::phase::settled;
            return {standing()};
        }
        x.phase = state::phase::trying;
        x.in_step = false;
        first_round(i);
    }
    if (x.phase == state::phase::settled)
        return {standing()};
    trying_ = i;
    return {x.candidates[s.turns[s.turn]].how, true, x.in_step};
}

bool tuner::record(int64_t elapsed_ns)
{
    state &x = classes_[trying_];
    slot &s = slots_[trying_];
    x.trials_ns += elapsed_ns;
    s.samples.push_back({s.turns[s.turn], elapsed_ns});
    ++x.candidates[s.turns[s.turn]].trials;
    return ++s.turn == s.turns.size();
}

tune_scores tuner::scores() const
{
    tune_scores v;
    v.fill(nothing);
    const auto &samples = slots_[trying_].samples;
    for (size_t i = 0; i < samples.size(); ++i)
        if (samples[i].elapsed_ns > 0) {
            v[2 * i] = samples[i].elapsed_ns;
            v[2 * i + 1] = -samples[i].elapsed_ns;
        }
    return v;
}

/** What is faster than `standing` by more than noise; with `ours`, not Open MPI's own. */
size_t tuner::best_of(const state &x, size_t standing, bool ours)
{
    size_t best = standing;
    for (size_t k = 0; k < x.candidates.size(); ++k)
        if ((x.candidates[k].how.algo || !ours) && x.candidates[k].measured_ns < x.candidates[best].measured_ns)
            best = k;
    return below(x.candidates[best].measured_ns, x.candidates[standing].measured_ns, little) ? best : standing;
}

bool tuner::decide(const tune_scores &combined, unsigned epoch)
{
    const size_t i = std::exchange(trying_, SIZE_MAX);
    state &x = classes_[i];
    slot &s = slots_[i];
    if (!x.in_step && noisy(i, combined)) {
        x.in_step = true;
        for (candidate &c : x.candidates)
            c.measured_ns = 0;
        first_round(i);
        return false;
    }
    for (size_t k = 0; k < s.samples.size(); ++k) {
        candidate &who = x.candidates[s.samples[k].candidate];
        who.measured_ns = who.measured_ns ? std::min(who.measured_ns, combined[2 * k]) : combined[2 * k];
    }
    const auto quicker = [](const candidate &a, const candidate &b) { return a.measured_ns < b.measured_ns; };
    const auto best = static_cast<size_t>(std::min_element(x.candidates.begin(), x.candidates.end(), quicker) - x.candidates.begin());
    if (s.round++ == 0) {
        std::vector<unsigned> close;
        for (unsigned k = 0; k < x.candidates.size(); ++k)
            if (!below(near_best * x.candidates[best].measured_ns / 1000, x.candidates[k].measured_ns, 1000))
                close.push_back(k);
        if (close.size() > 1) {
            round_begin(i, close, true);
            return false;
        }
    }
    x.phase = state::phase::settled;
    s.waited = 0;
    x.standing = best_of(x, x.standing, false);
    const size_t ours = best_of(x, x.candidates[x.standing].how.algo ? x.standing : 0, true);
    learned now{epoch, std::nullopt, std::nullopt};
    if (x.standing)
        now.how = x.candidates[x.standing].how;
    if (ours)
        now.ours = x.candidates[ours].how;
    if (s.history.empty() ? !now.how && !now.ours : s.history.back().how == now.how && s.history.back().ours == now.ours)
        return false;
    s.history.push_back(std::move(now));
    return true;
}

void tuner::forget(unsigned epoch)
{
    reopen();
    for (slot &s : slots_)
        if (!s.history.empty() && (s.history.back().how || s.history.back().ours))
            s.history.push_back({epoch, std::nullopt, std::nullopt});
}

void tuner::reopen()
{
    trying_ = SIZE_MAX;
    for (state &x : classes_)
        x.phase = state::phase::counting;
    for (slot &s : slots_)
        s.waited = 0;
}

} // namespace wan
