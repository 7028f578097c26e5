/*
 * See book.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/book.hpp"

#include "report/json.hpp"
#include "report/record.hpp"
#include "wan_config.h"

#include <algorithm>
#include <utility>
#include <ctime>

namespace wan {

namespace {

/** Parameters that differ from their defaults. */
std::string parameters_json(const wan_params_t &params)
{
    json_text out;
    out.object();
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const wan_knob_t &k = *wan_knob_get(i);
        const char *at = reinterpret_cast<const char *>(&params) + k.offset;
        const std::string name = std::string("coll_wan_") + k.name;
        if (k.type == WAN_KNOB_STRING) {
            const char *text = *reinterpret_cast<char *const *>(at);
            if (text && *text)
                out.member(name, text);
            continue;
        }
        const int64_t v = k.type == WAN_KNOB_INT64 ? *reinterpret_cast<const int64_t *>(at) : *reinterpret_cast<const int *>(at);
        const char *word = k.type == WAN_KNOB_ENUM ? wan_knob_enumerator(&k, static_cast<int>(v), nullptr) : nullptr;
        if (v != k.initial && word)
            out.member(name, word);
        else if (v != k.initial)
            out.member(name, v);
    }
    return out.end().text();
}

/** "2026-01-31T23:59:59Z". */
std::string calendar(int64_t s)
{
    const auto t = static_cast<std::time_t>(s);
    std::tm parts{};
    char text[64];
    return gmtime_r(&t, &parts) && std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) ? text : "";
}

std::optional<int64_t> rate_of(int64_t byte_ps)
{
    return byte_ps > 0 ? std::optional(1'000'000'000'000 / byte_ps) : std::nullopt;
}

} // namespace

book::book(process who, const wan_params_t &params, clock now)
    : who_(std::move(who)),
      clock_(std::move(now)),
      began_ns_(clock_()),
      parameters_(parameters_json(params))
{
}

bool book::take(size_t bytes)
{
    std::lock_guard hold(lock_);
    if (bytes > most_bytes - held_)
        return false;
    held_ += bytes;
    return true;
}

void book::give(size_t bytes)
{
    std::lock_guard hold(lock_);
    held_ -= bytes;
}

size_t book::held_bytes() const
{
    std::lock_guard hold(lock_);
    return held_;
}

void book::event(std::string_view what, std::string text)
{
    const int64_t at = now_ns();
    const size_t bytes = sizeof(happening) + text.size();
    const bool room = take(bytes);
    std::lock_guard hold(lock_);
    if (!room || events_.size() == most_events) {
        held_ -= room ? bytes : 0;
        ++events_left_out_;
        return;
    }
    events_.push_back({at, std::string(what), std::move(text)});
}

void book::refused(uint32_t id, int ranks, wan_reason_t reason, const std::string &text)
{
    const int64_t at = now_ns();
    const size_t bytes = sizeof(refusal) + text.size();
    const bool room = take(bytes);
    std::lock_guard hold(lock_);
    const auto it =
        std::find_if(refusals_.begin(), refusals_.end(), [&](const refusal &r) { return r.ranks == ranks && r.text == text; });
    const bool kept = room && it == refusals_.end() && refusals_.size() < most_refusals;
    held_ -= room && !kept ? bytes : 0;
    if (it != refusals_.end())
        ++it->communicators;
    else if (kept)
        refusals_.push_back({id, ranks, reason, text, at});
    else
        ++refusals_left_out_;
}

void book::passed(uint64_t calls)
{
    std::lock_guard hold(lock_);
    sums_.passed += calls;
}

size_t book::measured(const topology &t, const facts &f, std::string_view how)
{
    json_text out;
    const auto site = [](int s) { return site_id{static_cast<uint32_t>(s)}; };
    const auto rate_at = [](const std::vector<int64_t> &of, size_t i) { return rate_of(i < of.size() ? of[i] : 0); };
    bool several = false;    // hosts in a site: else nothing is measured inside
    for (int s = 0; s < f.sites; ++s)
        several |= t.node_count(site(s)) > 1;
    out.object().member("at_ns", now_ns()).member("how", how).member("farthest_ns", f.widest_ns());
    out.key("inside")
        .object()
        .member("latency_ns", several ? std::optional(f.lan_ns) : std::nullopt)
        .member("message_ns", f.message_ns)
        .member("step_ns", f.step_ns);
    out.key("levels").array();
    for (size_t shared = 0; shared < f.level_ns.size(); ++shared)
        if (f.level_ns[shared] > 0)
            out.object().member("shared", shared).member("latency_ns", f.level_ns[shared]).end();
    out.end().member("level_bytes_per_s", rate_of(f.level_byte_ps)).end();
    out.key("interface").object().member("bytes_per_s", rate_of(f.byte_ps)).member("burst_bytes", f.burst_bytes).end();
    out.member("eager_bytes", f.eager_bytes).member("copy_ps", f.copy_ps).member("reduce_ps", f.reduce_ps);
    out.key("sites").array();
    for (int s = 0; s < f.sites; ++s)
        out.object()
            .member("site", t.site_name(site(s)))
            .member("uplink_bytes_per_s", rate_at(f.uplink_ps, static_cast<size_t>(s)))
            .end();
    out.end().key("between").array();
    size_t pairs = 0;
    for (int a = 0; a < f.sites; ++a)
        for (int b = a + 1; b < f.sites; ++b)
            if (pairs++ < most_pairs) {
                const size_t i = static_cast<size_t>(a) * static_cast<size_t>(f.sites) + static_cast<size_t>(b);
                out.object()
                    .member("a", t.site_name(site(a)))
                    .member("b", t.site_name(site(b)))
                    .member("latency_ns", f.latency_ns(site(a), site(b)));
                out.member("each_measured", i < f.pair_ns.size() && f.pair_ns[i] > 0)
                    .member("bytes_per_s", rate_at(f.link_ps, i))
                    .member("connection_bytes_per_s", rate_at(f.flow_ps, i))
                    .end();
            }
    out.end().member("pairs_left_out", pairs > most_pairs ? pairs - most_pairs : 0).end();
    const bool room = take(out.text().size());
    std::lock_guard hold(lock_);
    if (!room || measurements_.size() == most_measurements) {
        held_ -= room ? out.text().size() : 0;
        ++measurements_left_out_;
        return SIZE_MAX;
    }
    measurements_.push_back(out.text());
    return measurements_.size() - 1;
}

void book::end()
{
    std::lock_guard hold(lock_);
    may_take_ns_ = most_at_end_ns;
    afterthoughts_ns_ = 0;
}

bool book::afterthought(bool brief, const std::function<bool(const std::function<bool()> &)> &f)
{
    int64_t left;
    {
        std::lock_guard hold(lock_);
        left = may_take_ns_ - afterthoughts_ns_ - (brief ? 0 : may_take_ns_ / 10);
        if (left <= 0) {
            afterthoughts_left_out_ = true;
            return false;
        }
    }
    const int64_t from = clock_();
    const bool done = f([&] { return clock_() - from > left; });
    std::lock_guard hold(lock_);
    afterthoughts_ns_ += clock_() - from;
    afterthoughts_left_out_ |= !done;
    return done;
}

void book::enter(record *r)
{
    std::lock_guard hold(lock_);
    live_.push_back(r);
    ++served_;
}

void book::leave(record *r, std::string json, const totals &sums, const highlight &most, uint64_t calls_left_out)
{
    const bool room = !json.empty() && take(json.size());
    std::lock_guard hold(lock_);
    std::erase(live_, r);
    calls_left_out_ += calls_left_out;
    if (room) {
        json.shrink_to_fit();
        ended_.push_back(std::move(json));
    } else {
        ++communicators_left_out_;
        calls_left_out_ += sums.calls;
    }
    sums_.calls += sums.calls + calls_left_out;
    sums_.wan_bytes += sums.wan_bytes;
    sums_.least_bytes += sums.least_bytes;
    sums_.compared_calls += sums.compared_calls;
    sums_.declined += sums.declined;
    sums_.passed += sums.passed;
    sums_.elapsed_ns += sums.elapsed_ns;
    if (most.elapsed_ns > most_.elapsed_ns)
        most_ = most;
}

std::string book::json(int ranks)
{
    std::vector<record *> live;
    {
        std::lock_guard hold(lock_);
        live = live_;
    }
    for (record *r : live)
        r->finish();
    const int64_t now = now_ns();
    std::lock_guard hold(lock_);
    json_text out;
    out.reserve(held_ + (64 << 10));
    out.object().member("what", "report of coll/wan").member("format", format).member("version", PACKAGE_VERSION);
    out.key("process").object().member("rank", who_.rank).member("ranks", ranks).member("host", who_.host);
    out.member("spawned", who_.spawned).end();
    out.key("job").object().member("name", who_.job).member("batch", who_.batch).member("command", who_.command).end();
    out.member("began", calendar(who_.began_s)).member("elapsed_ns", now);
    out.key("parameters").as_it_is(parameters_);
    out.key("totals")
        .object()
        .member("communicators_served", served_)
        .member("calls", sums_.calls)
        .member("elapsed_ns", sums_.elapsed_ns);
    out.key("wan")
        .object()
        .member("calls", sums_.compared_calls)
        .member("bytes", sums_.wan_bytes)
        .member("least_bytes", sums_.least_bytes)
        .end();
    out.member("declined", sums_.declined).member("passed", sums_.passed).end();
    const auto texts = [&](const char *name, std::vector<std::string> &all) {
        out.key(name).array();
        for (std::string &text : all)
            out.line(std::exchange(text, {}));
        out.end();
    };
    texts("links", measurements_);
    texts("communicators", ended_);
    out.key("not_served").array();
    for (const refusal &r : refusals_)
        out.object()
            .member("communicator", r.id)
            .member("ranks", r.ranks)
            .member("reason", wan_reason_name(r.reason))
            .member("why", r.text)
            .member("remedy", r.reason == WAN_REASON_NONE ? "" : wan_reason_remedy(r.reason))
            .member("at_ns", r.at_ns)
            .member("communicators", r.communicators)
            .end();
    out.end().key("events").array();
    std::stable_sort(events_.begin(), events_.end(), [](const happening &a, const happening &b) { return a.at_ns < b.at_ns; });
    for (const happening &e : events_)
        out.object().member("at_ns", e.at_ns).member("what", e.what).member("text", e.text).end();
    out.end().key("left_out").object().member("communicators", communicators_left_out_).member("calls", calls_left_out_);
    out.member("not_served", refusals_left_out_)
        .member("measurements", measurements_left_out_)
        .member("events", events_left_out_);
    out.member("afterthoughts", afterthoughts_left_out_).end().end();
    return out.take() + "\n";
}

std::string book::summary()
{
    std::lock_guard hold(lock_);
    uint64_t refused = refusals_left_out_;
    for (const refusal &r : refusals_)
        refused += r.communicators;
    std::string text = "report of rank " + std::to_string(who_.rank)
                       + (who_.spawned ? " of spawned job " + std::to_string(who_.spawned) : "")
                       + (who_.job.empty() ? "" : ", job " + who_.job) + (who_.batch.empty() ? "" : " (" + who_.batch + ")") + ": " + std::to_string(served_) + (served_ == 1 ? " communicator served, " : " communicators served, ")
                       + std::to_string(refused) + " not; " + std::to_string(sums_.calls) + (sums_.calls == 1 ? " call, " : " calls, ")
                       + std::to_string(sums_.elapsed_ns / 1'000'000) + " ms in them, "
                       + std::to_string(sums_.declined + sums_.passed) + " handed to other components";
    if (sums_.compared_calls)
        text += "\nacross sites, by all ranks: " + std::to_string(sums_.wan_bytes) + " bytes, the least possible "
                + std::to_string(sums_.least_bytes)
                + (sums_.compared_calls < sums_.calls ? " (of " + std::to_string(sums_.compared_calls) + (sums_.compared_calls == 1 ? " call" : " calls") + " of which that is known)" : "");
    if (most_.elapsed_ns >= 0)
        text += "\nmost time: " + most_.text;
    return text + "\n";
}

} // namespace wan
