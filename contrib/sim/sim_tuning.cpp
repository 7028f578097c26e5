/*
 * See sim_tuning.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim_tuning.hpp"

#include "measure/drift.hpp"
#include "sim_common.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <time.h>

namespace sim {

namespace {

/** A call of the module's own beside a trial. */
struct word {
    operation what;
    std::optional<runner::prepared> call;

    word(runner &with, wan_collective_t c, size_t bytes, int root, int me)
        : what(c, bytes, root, me, with.topology().size(), false), call(with.prepare(what, {}))
    {
        what.fill(0);
        if (!call)
            throw std::runtime_error("nothing serves a word");
    }
    void run(runner &with)
    {
        with.port().begin(what.elements(), false);
        with.run(*call);
    }
};

wan::request request_of(runner &with, const operation &what)
{
    return wan::request_of(with.topology(), what.call());
}

} // namespace

double latest(double mine, bool everywhere, MPI_Comm comm)
{
    std::vector<double> all{mine};
    combine(all, comm, [](double a, double b) { return std::max(a, b); });
    if (everywhere)
        tell_all(all.data(), sizeof(double), comm);
    return all[0];
}

void sleep_until(double instant_s)
{
    const double left = instant_s - port::now_s();
    if (left <= 0)
        return;
    const timespec rest{static_cast<time_t>(left), static_cast<long>((left - std::floor(left)) * 1e9)};
    nanosleep(&rest, nullptr);
}

noticed calls_until_noticed(const wan::facts &f, int64_t one_way_ns, int64_t before_ns, int64_t after_ns, int64_t interval_ns)
{
    constexpr uint64_t steady = 2000, phases = 64, most = 100'000;
    noticed all;
    for (uint64_t phase = 0; phase < phases; ++phase) {
        wan::drift seen;
        wan::drift_checks checks(interval_ns);
        int64_t now_ns = 0;
        uint64_t call = 0, after = 0;
        for (; after < most; ++call) {
            if (checks.due(now_ns, 8 * f.step_ns)) {
                const wan::drift_votes votes = checks.votes(seen.look(one_way_ns, checks.whole()));
                if (checks.answer(votes))
                    break;
            }
            const bool changed = call >= steady + phase;
            after += changed;
            const int64_t takes_ns = changed ? after_ns : before_ns;
            now_ns += takes_ns;
            seen.record(1, takes_ns);
        }
        if (after == most)
            return {};
        all.mean += static_cast<double>(after) / phases;
        all.most = std::max(all.most, after);
    }
    return all;
}

std::vector<wan::plan> ways_of(runner &with, const operation &what, const wan::wishes &wish)
{
    std::vector<wan::plan> found;
    std::vector<wan::manner> known;
    for (const wan::plan &p : wan::candidates(with.topology(), with.facts(), wish, request_of(with, what)))
        if (const wan::manner m = wan::manner_of(p); std::find(known.begin(), known.end(), m) == known.end()) {
            known.push_back(m);
            found.push_back(p);
        }
    return found;
}

std::string words_of(const wan::manner &m)
{
    std::string words = wan::print(m);
    std::replace(words.begin(), words.end(), ' ', '/');
    return words;
}

std::optional<wan::manner> manner_from(wan_collective_t c, std::string words)
{
    constexpr std::string_view fewer = "/cuts/1/";      // its last '/' is none between words
    std::string fault;
    const size_t at = words.find(fewer), kept = at + fewer.size() - 1;
    std::replace(words.begin(), words.end(), '/', ' ');
    if (at != words.npos && kept + 1 < words.size() && words[kept + 1] >= '0' && words[kept + 1] <= '9')
        words[kept] = '/';
    return wan::parse_manner(c, words, fault);
}

wan::tuner::service tuning::begin(const operation &what, const wan::wishes &wish)
{
    const wan::request r = request_of(with_, what);
    return tuner_.begin(wan::class_of(with_.topology(), r),
                        [&](const std::optional<wan::manner> &standing) { return wan::candidates_for(with_.topology(), with_.facts(), wish, r, options_, standing); });
}

tuning::call tuning::one(operation &what, const wan::wishes &wish, const wan::tuner::service &service, uint64_t number)
{
    int me;
    MPI_Comm_rank(comm_, &me);
    const bool left = service.how && !service.how->algo;
    std::optional<runner::prepared> ours;
    if (!left)
        ours = with_.prepare(what, wish, service.how);
    if (!left && !ours)
        throw std::runtime_error("nothing serves the call");
    std::optional<word> tell, beside;
    if (service.trial == WAN_TRIAL_TIMED) {
        beside.emplace(with_, WAN_ALLREDUCE, 2 * sizeof(int64_t), 0, me);
        tell.emplace(with_, WAN_BCAST, sizeof(int64_t), 0, me);
    } else if (service.trial == WAN_TRIAL_SCORES)
        beside.emplace(with_, WAN_ALLREDUCE, sizeof(wan::tune_scores), 0, me);
    what.fill(number);

    const double start = latest(port::now_s(), true, comm_) + lead_s_;
    sleep_until(start);
    double began = start;
    int64_t late_ns = 0;
    if (service.trial == WAN_TRIAL_TIMED) {     // (simulated clocks agree)
        began = start + static_cast<double>(wan::trial_ahead_ns(with_.topology(), with_.facts()) + tuner_.late_ns()) * 1e-9;
        beside->run(with_);
        const double holds_s = static_cast<double>(wan::common_clock::holds_for(with_.facts().widest_ns())) * 1e-9;
        if (tuner_.clock_instead(start + counted_s_ - told_s_ > holds_s)) {
            for (int i = 0; i < wan::common_clock::words; ++i)
                tell->run(with_);
            told_s_ = start + counted_s_;
            began = port::now_s();
        } else if (const double now = port::now_s(); now < began)
            sleep_until(began);
        else {
            late_ns = static_cast<int64_t>((now - began) * 1e9);
            began = now;
        }
    }
    with_.port().begin(what.elements(), false);
    if (left)
        what.by_mpi(comm_);
    else
        with_.run(*ours);
    const auto elapsed_ns = static_cast<int64_t>((port::now_s() - began) * 1e9);
    const bool combining = service.trial && tuner_.record(elapsed_ns, late_ns);
    if (combining)
        beside->run(with_);
    call c{service.how ? words_of(*service.how) : "", service.trial && service.trial != WAN_TRIAL_WATCHED, latest(port::now_s() - start, true, comm_) * 1e6,
           what.call().collective != WAN_BARRIER && !what.verify(number)};
    if (combining) {
        const wan::tune_scores mine = tuner_.scores();
        std::vector<int64_t> all(mine.begin(), mine.end());
        combine(all, comm_, [](int64_t a, int64_t b) { return std::max(a, b); });
        tell_all(all.data(), all.size() * sizeof(all[0]), comm_);
        wan::tune_scores combined;
        std::copy(all.begin(), all.end(), combined.begin());
        epoch_ += tuner_.decide(combined, epoch_ + 1);
    }
    return c;
}

std::vector<tuning::call> tuning::settle(operation &what, const wan::wishes &wish)
{
    constexpr uint64_t most = 100'000;
    std::vector<call> calls;
    bool settled = false;
    for (uint64_t number = 0; number < most && (!settled || calls.back().timed); ++number) {
        const auto service = begin(what, wish);
        const std::string how = service.how ? words_of(*service.how) : "";
        const size_t n = calls.size();
        const auto like = [&](size_t back) { return n >= back && !calls[n - back].timed && calls[n - back].how == how; };
        if (!service.trial && like(1) && like(2)) {
            ++calls.back().count;
            counted_s_ += calls.back().us * 1e-6;
        } else
            calls.push_back(one(what, wish, service, number));
        settled = state().phase == wan::tuner::state::phase::settled;
    }
    return calls;
}

} // namespace sim
