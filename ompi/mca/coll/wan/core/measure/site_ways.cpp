/*
 * See site_ways.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/site_ways.hpp"

#include <algorithm>

namespace wan {

namespace {

constexpr size_t pings_each = 3, bulks_each = 3;
/** What counts in spite of its faults then. */
constexpr int enough_pings = 40, enough_bulks = 10;
/** A gap between looks that is shorter spoils no round trip, nor one of so small a part of it. */
constexpr int64_t harmless_gap_ns = 50'000, harmless_part = 20;
constexpr int64_t most_parts = 1 << 15;
/** A transfer that takes less longer than a round trip, or less of one, is within its noise. */
constexpr int64_t least_busy_ns = 50'000, least_busy_part = 10;

int64_t rate(int64_t bytes, int64_t took_ns)
{
    return static_cast<int64_t>(static_cast<__int128>(bytes) * 1'000'000'000 / std::max<int64_t>(1, took_ns));
}

/** Within a tenth of each other. */
bool agree(const std::vector<int64_t> &v)
{
    const auto [least, most] = std::minmax_element(v.begin(), v.end());
    return *most - *least <= *most / 10;
}

int64_t middle(std::vector<int64_t> v)
{
    std::sort(v.begin(), v.end());
    return v.empty() ? 0 : v[v.size() / 2];
}

} // namespace

int64_t site_ways::all_parts() const
{
    return std::clamp<int64_t>(static_cast<int64_t>((options_.bytes + options_.part - 1) / options_.part), 2, most_parts);
}

void site_ways::begin(std::span<const int> gateway, size_t site, int64_t now_ns)
{
    begun_ = true;
    due_ns_ = now_ns + rest_ns;
    bulks_from_ns_ = due_ns_ + pings_alone_ns;
    const size_t others = std::min(gateway.size() - 1, static_cast<size_t>(options_.others));
    for (size_t k = 1; k <= others; ++k) {
        const size_t s = (site + k) % gateway.size();
        targets_.push_back({.site = s, .rank = gateway[s]});
    }
}

void site_ways::look(int64_t now_ns, int64_t gap_ns)
{
    now_ns_ = now_ns;
    gap_ns_ = gap_ns;
    if (!begun_ || finished() || now_ns_ < due_ns_)
        return;
    if (pinged_ < targets_.size()) {
        for (target &t : targets_)      // all at once
            if (!t.under_way && t.rtts.size() < pings_each && t.pings < enough_pings)
                transfer(t, 1);
    } else if (target &t = targets_[at_]; now_ns_ >= bulks_from_ns_ && !t.under_way) {
        transfer(t, all_parts());
    }
}

/* A number: which transfer (16 bits), which part. */
void site_ways::transfer(target &t, int64_t parts)
{
    t.transfer = ++transfer_ & 0xffff;
    t.since_ns = now_ns_;
    t.under_way = true;
    ++(parts == 1 ? t.pings : t.bulks);
    for (int64_t i = 0; i < parts; ++i)
        send_(t.rank, kind::part, t.transfer << 16 | static_cast<uint32_t>(i), parts, parts == 1 ? options_.ping : options_.part);
}

void site_ways::receive(int rank, kind what, uint32_t number, int64_t value)
{
    if (what == kind::part)
        take_part(rank, number, value);
    else
        take_done(rank, number, value);
}

void site_ways::take_part(int rank, uint32_t number, int64_t parts)
{
    if (parts < 1 || parts > most_parts)
        return;
    if (parts == 1)
        return send_(rank, kind::done, number >> 16, gap_ns_, options_.ping);
    coming &c = coming_[rank];
    const uint32_t id = number >> 16, index = number & 0xffff;
    if (static_cast<int16_t>(id - c.transfer) > 0)
        c = {.transfer = id};
    if (id != c.transfer || index != c.parts || index >= parts)
        return;     // comes again, or late
    ++c.parts;
    if (c.mark_ns < 0 && 4 * c.parts >= parts)
        c.mark_ns = now_ns_;
    if (c.mark_ns >= 0) {
        c.gap_ns = std::max(c.gap_ns, gap_ns_);     // so long it may have lain there
        const auto t = static_cast<double>(now_ns_ - c.mark_ns), i = static_cast<double>(c.parts);
        c.n += 1, c.t += t, c.i += i, c.ti += t * i, c.tt += t * t;
    }
    if (c.parts < parts)
        return;
    const double spread = c.n * c.tt - c.t * c.t, slope = spread > 0 ? (c.n * c.ti - c.t * c.i) / spread : 0;
    const bool counts = 10 * c.gap_ns <= now_ns_ - c.mark_ns && slope > 0;
    send_(rank, kind::done, number >> 16, counts ? static_cast<int64_t>(slope * 1e9 * static_cast<double>(options_.part)) : 0, 0);
}

void site_ways::take_done(int rank, uint32_t number, int64_t value)
{
    const auto at = std::find_if(targets_.begin(), targets_.end(), [&](const target &t) { return t.rank == rank; });
    if (at == targets_.end() || !at->under_way || number != at->transfer)
        return;
    at->under_way = false;
    const int64_t took_ns = std::max<int64_t>(1, now_ns_ - at->since_ns);
    if (at->bulks == 0)
        take_ping(*at, took_ns, std::max(value, gap_ns_));
    else
        take_bulk(*at, took_ns, value);
}

void site_ways::take_ping(target &t, int64_t took_ns, int64_t gap_ns)
{
    if (gap_ns <= std::max(harmless_gap_ns, took_ns / harmless_part))
        t.rtts.push_back(took_ns);
    else
        t.spoilt_ns = t.spoilt_ns ? std::min(t.spoilt_ns, took_ns) : took_ns;
    if (t.pings == enough_pings && t.rtts.empty())
        t.rtts = {t.spoilt_ns};
    if (t.rtts.size() == pings_each || t.pings == enough_pings)
        ++pinged_;
}

void site_ways::take_bulk(target &t, int64_t took_ns, int64_t rate_there)
{
    const int64_t rtt_ns = *std::min_element(t.rtts.begin(), t.rtts.end());
    const int64_t busy_ns = std::max<int64_t>(1, took_ns - rtt_ns);
    const bool tells = busy_ns >= std::max(least_busy_ns, rtt_ns / least_busy_part);
    const int64_t whole = tells ? rate(all_parts() * static_cast<int64_t>(options_.part), busy_ns) : 0;
    spent_ns_ += busy_ns;
    if (spent_ns_ > budget_ns)
        due_ns_ = now_ns_ + (least_share - 1) * busy_ns;
    if (t.bulks == 1)
        t.cold = whole;
    else if (rate_there > 0)
        t.rates.push_back(rate_there);
    else if (tells)
        t.doubtful.push_back(whole);
    if (t.bulks < enough_bulks && (t.rates.size() < bulks_each || !agree(t.rates)))
        return;
    results_.push_back({t.site, t.rank, {rtt_ns, middle(t.rates.empty() ? t.doubtful : t.rates), t.cold}});
    ++at_;
}

} // namespace wan
