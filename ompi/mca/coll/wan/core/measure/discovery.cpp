/*
 * See discovery.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/discovery.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace wan {

namespace {

/** Landmarks of the first round; each further one has twice as many as that before, but never more than this. */
constexpr size_t first_landmarks = 8, most_landmarks = 64;
/** Those and first hosts of sites: a way's index has eight bits. */
constexpr size_t most_ways = 192;
/** A gap that is shorter than this spoils no time. */
constexpr int64_t harmless_gap_ns = 3'000'000;
/** The second shortest time confirms the shortest if it is not longer by more than half and this. */
constexpr int64_t agreeing_ns = 50'000;
/** Pings after which the shortest time counts, confirmed or not, if need be a spoilt one. */
constexpr uint32_t enough_pings = 200;
/** Before a way's next ping where there is no hurry; of a short way that is confirmed ever longer, so many times at most. */
constexpr int64_t pause_ns = 10'000'000;
constexpr size_t enough_samples = 12;
/** Of a way that has seemed long: pings without an answer, so long apart that one cause does not delay both. */
constexpr size_t most_under_way = 2;

bool agree(int64_t shortest, int64_t second) { return second <= shortest + shortest / 2 + agreeing_ns; }

} // namespace

discovery::discovery(std::span<const uint64_t> node, int me, sender send_to, site_ways::options o, observer learned)
    : host_of_(node.size()), me_(me), send_(std::move(send_to)),
      ways_between_(o,
                    [this](int rank, site_ways::kind what, uint32_t number, int64_t value, size_t filler) {
                        static constexpr std::array<std::byte, message_max> nothing{};
                        send(rank, {what == site_ways::kind::part ? part : done, number, value},
                             std::span(nothing).first(std::min(filler, message_max - sizeof(header))));
                    }),
      learned_(std::move(learned))
{
    std::unordered_map<uint64_t, int> hosts;
    for (size_t r = 0; r < node.size(); ++r) {
        const auto [at, added] = hosts.try_emplace(node[r], static_cast<int>(delegate_.size()));
        if (added)
            delegate_.push_back(static_cast<int>(r));
        host_of_[r] = at->second;
    }
    host_ = host_of_[static_cast<size_t>(me)];
    std::vector<int> all(delegate_.size());
    std::iota(all.begin(), all.end(), 0);
    landmarks_ = spread(all, first_landmarks);
    if (host_ == 0)
        homeless_ = parent_ = std::move(all);
}

std::vector<int> discovery::spread(const std::vector<int> &hosts, size_t most)
{
    std::vector<int> some;
    const size_t all = hosts.size(), n = std::min(all, most), stride = all / n;
    for (size_t k = 0; k < n; ++k)
        some.push_back(hosts[k * stride + k % stride]);
    return some;
}

void discovery::send(int rank, header h, std::span<const std::byte> more)
{
    std::array<std::byte, message_max> bytes;
    std::memcpy(bytes.data(), &h, sizeof h);
    std::copy(more.begin(), more.end(), bytes.begin() + sizeof h);
    send_(rank, bytes.data(), sizeof h + more.size());
}

void discovery::look(int64_t now_ns)
{
    const bool first = now_ < 0;
    gap_ = first ? 0 : now_ns - now_;
    now_ = now_ns;
    if (first && delegate())
        measure(0, landmarks_);
    for (size_t i = 0; i < ways_.size() && !reported_; ++i)
        if (ways_[i].due && ways_[i].due <= now_)
            send_ping(i);
    ways_between_.look(now_, gap_);
    if (ways_between_.finished() && !std::exchange(gave_ways_, true))
        give_ways();
}

/* ---- every delegate ------------------------------------------------------------------------ */

void discovery::measure(uint32_t round, std::vector<int> hosts)
{
    round_ = round;
    reported_ = false;
    ways_.clear();
    for (int h : hosts)
        ways_.push_back({.host = h, .under_way = {}, .samples = {}});
    open_ways_ = ways_.size();
    for (size_t i = 0; i < ways_.size(); ++i)
        if (ways_[i].host == host_) {
            ways_[i].samples = {0};
            ways_[i].confirmed = true;
            --open_ways_;
        } else {
            send_ping(i);
        }
    if (open_ways_ == 0)
        give_report();
}

/* A number: round, way, which ping of it. */
void discovery::send_ping(size_t i)
{
    way &w = ways_[i];
    w.due = 0;
    w.under_way.push_back({++w.sent & 0xff, now_});
    send(delegate_[static_cast<size_t>(w.host)], {ping, round_ << 16 | static_cast<uint32_t>(i) << 8 | (w.sent & 0xff), 0});
}

void discovery::take_pong(uint32_t number, int64_t gap)
{
    const size_t i = number >> 8 & 0xff;
    if (i >= ways_.size() || reported_)
        return;
    way &w = ways_[i];
    if (number >> 16 != (round_ & 0xffff))
        return;     // of an earlier round
    const auto which = std::find_if(w.under_way.begin(), w.under_way.end(), [&](const way::ping &p) { return p.number == (number & 0xff); });
    if (which == w.under_way.end())
        return;
    const int64_t time = std::max<int64_t>(1, now_ - which->since);
    w.under_way.erase(which);
    if (std::max(gap, gap_) <= std::max(harmless_gap_ns, time / 10))
        w.samples.insert(std::upper_bound(w.samples.begin(), w.samples.end(), time), time);
    else
        w.spoilt = w.spoilt ? std::min(w.spoilt, time) : time;
    if (!w.confirmed) {
        if (w.sent >= enough_pings && w.samples.empty())
            w.samples = {w.spoilt};
        w.confirmed = (w.samples.size() >= 3 && agree(w.samples[0], w.samples[1])) || w.sent >= enough_pings;
        if (!w.confirmed) {
            if (w.under_way.empty())
                send_ping(i);
            if (time > most_near_ns && w.under_way.size() < most_under_way)
                w.due = w.under_way.back().since + pause_ns;
            return;
        }
        if (--open_ways_ == 0)
            return give_report();
    }
    // Short ways go on until the longest is known: what is in somebody's way early is gone later.
    if (w.samples.size() < enough_samples && w.samples.front() <= most_near_ns)
        w.due = now_ + (pause_ns << std::max<size_t>(w.samples.size(), 3) >> 3);
}

void discovery::give_report()
{
    reported_ = true;
    std::vector<int64_t> times;
    for (const way &x : ways_) {
        times.push_back(x.samples.front());
        if (learned_ && x.host != host_)
            learned_(delegate_[static_cast<size_t>(x.host)], times.back(), 0, now_);
    }
    if (host_ == 0)
        take_report(0, round_, times);
    else
        send(delegate_[0], {report, round_, 0}, std::as_bytes(std::span(times)));
}

void discovery::receive(int rank, const void *bytes, size_t size)
{
    header h;
    if (size < sizeof h || size > message_max || rank < 0 || static_cast<size_t>(rank) >= host_of_.size())
        return;
    std::memcpy(&h, bytes, sizeof h);
    const std::byte *more = static_cast<const std::byte *>(bytes) + sizeof h;
    const auto take = [&]<typename T>(T) {
        std::vector<T> values((size - sizeof h) / sizeof(T));
        if (!values.empty())
            std::memcpy(values.data(), more, values.size() * sizeof(T));
        return values;
    };
    switch (h.what) {
    case ping: return send(rank, {pong, h.number, gap_});
    case pong: return take_pong(h.number, h.value);
    case report: return take_report(host_of_[static_cast<size_t>(rank)], h.number, take(int64_t{}));
    case ask: {
        std::vector<int> targets = take(int32_t{});
        if (h.number > round_ && targets.size() <= most_ways
            && std::all_of(targets.begin(), targets.end(), [&](int x) { return x >= 0 && x < hosts(); }))
            measure(h.number, std::move(targets));
        return;
    }
    case table: return take_table(h.number, take(uint16_t{}));
    case part: return ways_between_.receive(rank, site_ways::kind::part, h.number, h.value);
    case done: return ways_between_.receive(rank, site_ways::kind::done, h.number, h.value);
    case way_report: return take_way_report(host_of_[static_cast<size_t>(rank)], take(way_between{}));
    case way_table: return take_way_table(static_cast<size_t>(std::max<int64_t>(0, h.value)), take(way_between{}));
    default: return;
    }
}

/* ---- the coordinator ------------------------------------------------------------------------- */

int discovery::root_of(int host)
{
    int &up = parent_[static_cast<size_t>(host)];
    return up == host ? host : up = root_of(up);
}

/** The lower one is the root: sites are known by their first host. */
void discovery::unite(int a, int b)
{
    const int x = root_of(a), y = root_of(b);
    parent_[static_cast<size_t>(std::max(x, y))] = std::min(x, y);
}

void discovery::take_report(int host, uint32_t round, std::span<const int64_t> times)
{
    if (host_ != 0 || finished() || round != round_ || times.size() != landmarks_.size()
        || !std::binary_search(homeless_.begin(), homeless_.end(), host))
        return;
    if (times_.try_emplace(host, times.begin(), times.end()).second && times_.size() == homeless_.size())
        decide();
}

/**
 * The far times begin where the step from the times below is the greatest, but for the longest tenth
 * of those: what is near can seem far for a while, never the other way round.
 */
void discovery::find_limit()
{
    std::vector<int64_t> all;
    for (const auto &[host, times] : times_)
        for (size_t k = 0; k < times.size(); ++k)
            if (landmarks_[k] != host)
                all.push_back(times[k]);
    std::sort(all.begin(), all.end());
    limit_ns_ = std::numeric_limits<int64_t>::max();
    double widest = least_gap;
    for (size_t i = 1; i < all.size(); ++i) {
        const auto far = static_cast<double>(all[i]), near = static_cast<double>(all[(i - 1) - (i - 1) / 10]);
        if (all[i] >= least_far_ns && near <= most_near_ns && far / near >= widest) {
            widest = far / near;
            limit_ns_ = static_cast<int64_t>(std::sqrt(far * near));
        }
    }
    if (!all.empty() && all.front() > most_near_ns)
        limit_ns_ = most_near_ns / 2;       // nobody is near anybody
    for (int64_t t : all)
        if (t < limit_ns_)
            near_ns_ = std::max(near_ns_, t);
        else
            far_ns_ = far_ns_ ? std::min(far_ns_, t) : t;
}

void discovery::decide()
{
    if (limit_ns_ == 0)
        find_limit();
    std::vector<int> without;
    for (const auto &[host, times] : times_) {
        bool housed = false;
        for (size_t k = 0; k < times.size(); ++k)
            if (times[k] < limit_ns_) {     // a landmark: itself at least
                unite(host, landmarks_[k]);
                housed = true;
            }
        if (!housed)
            without.push_back(host);
    }
    homeless_ = std::move(without);
    times_.clear();
    if (homeless_.empty())
        return finish();
    // Their own landmarks, and the sites that there are: a first time may have been misleading.
    landmarks_ = spread(homeless_, std::min(first_landmarks << std::min(++round_, 8u), most_landmarks));
    for (int h = 0; h < hosts() && landmarks_.size() < most_ways; ++h)
        if (root_of(h) == h && !std::binary_search(homeless_.begin(), homeless_.end(), h))
            landmarks_.push_back(h);
    const std::vector<int32_t> targets(landmarks_.begin(), landmarks_.end());
    for (int h : homeless_)
        send(delegate_[static_cast<size_t>(h)], {ask, round_, 0}, std::as_bytes(std::span(targets)));
}

void discovery::finish()
{
    std::vector<uint16_t> site(delegate_.size());
    uint16_t next = 0;
    for (int h = 0; h < hosts(); ++h)
        site[static_cast<size_t>(h)] = root_of(h) == h ? next++ : site[static_cast<size_t>(root_of(h))];
    take_table(0, site);
}

/* ---- the result -------------------------------------------------------------------------------- */

void discovery::take_table(uint32_t first, std::span<const uint16_t> part)
{
    if (finished() || first + part.size() > delegate_.size())
        return;
    coming_.resize(delegate_.size());
    std::copy(part.begin(), part.end(), coming_.begin() + first);
    came_ += part.size();
    if (came_ < coming_.size())
        return;
    site_.swap(coming_);
    sites_ = 1 + *std::max_element(site_.begin(), site_.end());
    pass_on([this](int rank) { tell_sites(rank); });
    begin_ways();
}

void discovery::pass_on(const std::function<void(int rank)> &tell)
{
    if (!delegate())
        return;
    const uint16_t mine = site_[static_cast<size_t>(host_)];
    const auto first_here = static_cast<int>(std::find(site_.begin(), site_.end(), mine) - site_.begin());
    if (host_ == 0) {
        std::vector<bool> told(static_cast<size_t>(sites_));
        told[static_cast<size_t>(mine)] = true;
        for (int h = 0; h < hosts(); ++h)
            if (const uint16_t s = site_[static_cast<size_t>(h)]; !told[s]) {
                told[s] = true;
                tell(delegate_[static_cast<size_t>(h)]);
            }
    }
    if (host_ == first_here)
        for (int h = host_ + 1; h < hosts(); ++h)
            if (site_[static_cast<size_t>(h)] == mine)
                tell(delegate_[static_cast<size_t>(h)]);
    for (size_t r = static_cast<size_t>(me_) + 1; r < host_of_.size(); ++r)
        if (host_of_[r] == host_)
            tell(static_cast<int>(r));
}

void discovery::tell_sites(int rank)
{
    constexpr size_t most = (message_max - sizeof(header)) / sizeof(uint16_t);
    for (size_t i = 0; i < site_.size(); i += most)
        send(rank, {table, static_cast<uint32_t>(i), 0}, std::as_bytes(std::span(site_).subspan(i, std::min(most, site_.size() - i))));
}

void discovery::tell_ways(int rank)
{
    constexpr size_t most = (message_max - sizeof(header)) / sizeof(way_between);
    for (size_t i = 0; i < between_.size(); i += most)
        send(rank, {way_table, 0, static_cast<int64_t>(between_.size())},
             std::as_bytes(std::span(between_).subspan(i, std::min(most, between_.size() - i))));
}

/* ---- the ways between sites ------------------------------------------------------------------- */

void discovery::begin_ways()
{
    complete_ = sites_ < 2 || sites_ > most_sites_with_ways || !ways_between_.wanted();
    if (complete_ || !delegate())
        return;
    std::vector<int> gateway(static_cast<size_t>(sites_), -1);
    for (int h = 0; h < hosts(); ++h)
        if (int &g = gateway[site_[static_cast<size_t>(h)]]; g < 0)
            g = delegate_[static_cast<size_t>(h)];
    const uint16_t mine = site_[static_cast<size_t>(host_)];
    if (gateway[mine] == me_)
        ways_between_.begin(gateway, mine, now_);
}

void discovery::give_ways()
{
    constexpr size_t most = (message_max - sizeof(header)) / sizeof(way_between);
    const uint16_t mine = site_[static_cast<size_t>(host_)];
    std::vector<way_between> found;
    for (const auto &r : ways_between_.results()) {
        found.push_back({mine, static_cast<uint16_t>(r.site), 0, r.way});
        if (learned_)
            learned_(r.rank, r.way.rtt_ns, r.way.bytes_per_s, now_);
    }
    found.resize(std::min(found.size(), most));
    if (host_ == 0)
        take_way_report(0, found);
    else
        send(delegate_[0], {way_report, 0, 0}, std::as_bytes(std::span(found)));
}

void discovery::take_way_report(int host, std::span<const way_between> some)
{
    if (host_ != 0 || !finished() || complete_)
        return;
    for (const way_between &w : some)
        if (w.from != site_[static_cast<size_t>(host)] || w.to >= sites_)
            return;
    way_reports_.try_emplace(site_[static_cast<size_t>(host)], some.begin(), some.end());
    if (way_reports_.size() < static_cast<size_t>(sites_))
        return;
    std::vector<way_between> all;
    for (const auto &[site, ways] : way_reports_)
        all.insert(all.end(), ways.begin(), ways.end());
    take_way_table(all.size(), all);
}

void discovery::take_way_table(size_t all, std::span<const way_between> some)
{
    if (!finished() || complete_ || all == 0 || between_.size() + some.size() > all
        || std::any_of(some.begin(), some.end(), [&](const way_between &w) { return w.from >= sites_ || w.to >= sites_; }))
        return;
    between_.insert(between_.end(), some.begin(), some.end());
    if (between_.size() < all)
        return;
    complete_ = true;
    pass_on([this](int rank) { tell_ways(rank); });
}

} // namespace wan
