/*
 * See discovery.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/discovery.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace wan {

namespace {

/** A gap that is shorter than this spoils no time. */
constexpr int64_t harmless_gap_ns = 3'000'000;
/** The second shortest time confirms the shortest if it is not longer by more than half and this. */
constexpr int64_t agreeing_ns = 50'000;
/** After so long, or so many pings, the shortest time counts, confirmed or not. */
constexpr int64_t enough_ns = 1'500'000'000;
constexpr uint32_t enough_pings = 200;
/** So many times are measured of a way; more of one that may lead to another part of a site, where a shorter time makes a difference. */
constexpr size_t least_samples = 3, part_samples = 8;
/** So many times at most until one tells how long a way takes, not only at most. */
constexpr size_t telling_samples = 24;
/** Before a way's next ping where there is no hurry; of a short way that is confirmed ever longer, so many times at most. */
constexpr int64_t pause_ns = 10'000'000;
/** Half the pause before the first round that nobody waits for; each one's is twice that before: 1.5 s in all. */
constexpr int64_t least_patience_ns = 50'000'000;
constexpr size_t enough_samples = 12;
/** Of a way that has seemed long: pings without an answer, so long apart that one cause does not delay both; more where many told nothing, as far as a host bears it that all others do so. */
constexpr size_t most_under_way = 2, most_in_vain = 16, most_from_all = 4096;
constexpr uint32_t many_answers = 6;

/** Longer is nobody's gap, and sums with it are times still. */
constexpr int64_t most_gap_ns = std::numeric_limits<int64_t>::max() / 4;
/** In a table that is coming: nothing yet; no site has that number. */
constexpr site_finder::place nowhere{.site = std::numeric_limits<uint16_t>::max()};

size_t in_vain(int hosts) { return std::clamp(most_from_all / static_cast<size_t>(hosts), most_under_way, most_in_vain); }

/** Whether sites, and parts in each, are numbered by their lowest hosts, and no number is left out. */
bool in_order(std::span<const site_finder::place> places)
{
    int highest_site = -1;
    std::map<std::pair<size_t, site_finder::place>, int> highest;       // of the parts of what encloses them
    for (const site_finder::place &p : places) {
        if (p.site > highest_site + 1)
            return false;
        highest_site = std::max<int>(highest_site, p.site);
        site_finder::place within{.site = p.site};
        for (size_t level = 0; level < p.inside.size(); ++level) {
            const int part = p.inside[level];
            const auto [at, first] = highest.try_emplace({level, within}, part);
            if (first ? part > 1 : at->second == 0 ? part > 0 : part == 0 || part > at->second + 1)
                return false;
            if (level > 0 && part > 0 && p.inside[level - 1] == 0)
                return false;
            at->second = std::max(at->second, part);
            within.inside[level] = p.inside[level];
        }
    }
    return true;
}

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
    if (me == delegate_[0])
        finder_.emplace(static_cast<int>(delegate_.size()));
}

void discovery::send(int rank, header h, std::span<const std::byte> more)
{
    std::array<std::byte, message_max> bytes;
    std::memcpy(bytes.data(), &h, sizeof h);
    std::copy(more.begin(), more.end(), bytes.begin() + sizeof h);
    send_(rank, bytes.data(), sizeof h + more.size());
}

void discovery::look(int64_t now_ns, int64_t read_ns)
{
    const bool first = now_ < 0;
    gap_ = first ? 0 : now_ns - looks_[turn_];
    if (first || read_ns > 0)
        looks_.fill(first ? now_ns : read_ns);
    looks_[turn_] = now_ns;
    turn_ = (turn_ + 1) % looks_.size();
    now_ = now_ns;
    if (first && delegate())
        measure(0, site_finder::first_targets(hosts()));
    for (size_t i = 0; i < ways_.size() && !reported_; ++i)
        if (ways_[i].due && ways_[i].due <= now_)
            send_ping(i);
    if (ask_at_ && ask_at_ <= now_)
        ask_hosts();
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
    w.under_way.push_back({++w.sent & 0xff, now_});
    w.due = !w.confirmed && w.answers >= many_answers && w.under_way.size() < in_vain(hosts()) ? now_ + pause_ns : 0;
    send(delegate_[static_cast<size_t>(w.host)], {ping, round_ << 16 | static_cast<uint32_t>(i) << 8 | (w.sent & 0xff), 0});
}

void discovery::take_pong(int rank, uint32_t number, int64_t gap, int64_t taken_ns)
{
    const size_t i = number >> 8 & 0xff;
    if (i >= ways_.size() || reported_ || gap < 0 || delegate_[static_cast<size_t>(ways_[i].host)] != rank)
        return;
    gap = std::min(gap, most_gap_ns);
    way &w = ways_[i];
    if (number >> 16 != (round_ & 0xffff))
        return;     // of an earlier round
    const auto which = std::find_if(w.under_way.begin(), w.under_way.end(), [&](const way::ping &p) { return p.number == (number & 0xff); });
    if (which == w.under_way.end())
        return;
    const int64_t time = std::max<int64_t>(1, taken_ns - which->since), gap_here = gap_ + taken_ns - now_;
    w.under_way.erase(which);
    w.shortest = w.answers ? std::min(w.shortest, time) : time;
    if (++w.answers == 1)
        w.first_answer = now_;
    if ((number & 0xff) > 1) {      // (the first one may have made a connection)
        const auto at = std::upper_bound(w.longer.begin(), w.longer.end(), time - gap - gap_here, std::greater<>());    // it waited for no longer than that
        if (at != w.longer.end()) {
            std::move_backward(at, w.longer.end() - 1, w.longer.end());
            *at = time - gap - gap_here;
        }
    }
    if (std::max(gap, gap_here) <= std::max(harmless_gap_ns, time / 10))
        w.samples.insert(std::upper_bound(w.samples.begin(), w.samples.end(), time), time);
    if (!w.confirmed) {
        const bool apart = w.shortest >= site_finder::least_apart_ns && w.shortest <= site_finder::most_near_ns;
        w.confirmed = (w.samples.size() >= (apart ? part_samples : least_samples) && agree(w.samples[0], w.samples[1]) && (tells(w, w.samples[0]) || w.samples.size() >= telling_samples))
                      || (far(w) && 2 * w.least() >= w.shortest)      // whatever has waited
                      || (w.answers >= telling_samples && w.shortest <= site_finder::most_near_ns)
                      || w.sent >= enough_pings || now_ - w.first_answer >= enough_ns;
        if (!w.confirmed) {
            if (w.under_way.empty())
                send_ping(i);
            if (time > site_finder::most_near_ns && w.under_way.size() < (w.answers < many_answers ? most_under_way : in_vain(hosts())))
                w.due = w.under_way.back().since + pause_ns;
            return;
        }
        if (--open_ways_ == 0)
            return give_report();
    }
    // Short ways go on until the longest is known: what is in somebody's way early is gone later.
    if (w.samples.size() < enough_samples && w.shortest <= site_finder::most_near_ns)
        w.due = now_ + (pause_ns << std::max<size_t>(w.samples.size(), 3) >> 3);
}

/** Whether a way takes longer than any inside a site. */
bool discovery::far(const way &w) { return std::min(w.least(), w.shortest) > site_finder::most_near_ns; }

/** Whether a way takes about that time, or not longer than that, which is all that counts of the shortest ones; or more than any near one. */
bool discovery::tells(const way &w, int64_t time)
{
    return 2 * w.least() >= time || time < site_finder::least_apart_ns || far(w);
}

void discovery::give_report()
{
    reported_ = true;
    std::vector<int64_t> times;
    for (const way &x : ways_) {
        const int64_t time = x.shortest;
        times.push_back(tells(x, time) ? time : -time);
        if (learned_ && x.host != host_ && times.back() > 0)
            learned_(delegate_[static_cast<size_t>(x.host)], time, 0, now_);
    }
    if (host_ == 0)
        take_report(me_, round_, times);
    else
        send(delegate_[0], {report, round_, 0}, std::as_bytes(std::span(times)));
}

void discovery::receive(int rank, const void *bytes, size_t size, int64_t now_ns)
{
    const int64_t taken_ns = std::max(now_ns, now_);
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
    case ping: return send(rank, {pong, h.number, gap_ + taken_ns - now_});
    case pong: return take_pong(rank, h.number, h.value, taken_ns);
    case report: return take_report(rank, h.number, take(int64_t{}));
    case ask: return take_ask(rank, h.number, take(int32_t{}));
    case table: return take_table(rank, h.number, take(site_finder::place{}));
    case part: return ways_between_.receive(rank, site_ways::kind::part, h.number, h.value);
    case done: return ways_between_.receive(rank, site_ways::kind::done, h.number, h.value);
    case way_report: return take_way_report(rank, take(way_between{}));
    case way_table: return take_way_table(rank, h.number, static_cast<size_t>(std::max<int64_t>(0, h.value)), take(way_between{}));
    default: return;
    }
}

void discovery::take_ask(int rank, uint32_t round, std::vector<int> targets)
{
    if (rank == delegate_[0] && delegate() && !finished() && round > round_ && round <= 0xffff      // (as pings have it)
        && !targets.empty() && targets.size() <= site_finder::most_targets
        && std::all_of(targets.begin(), targets.end(), [&](int x) { return x >= 0 && x < hosts(); }))
        measure(round, std::move(targets));
}

/* ---- the coordinator ------------------------------------------------------------------------- */

void discovery::take_report(int rank, uint32_t round, std::span<const int64_t> times)
{
    const int host = host_of_[static_cast<size_t>(rank)];
    if (!finder_ || delegate_[static_cast<size_t>(host)] != rank || !finder_->take(host, round, times))
        return;
    if (finder_->finished())
        return take_table(me_, 0, finder_->places());
    if (const int patience = finder_->patience(); patience > patience_) {
        patience_ = patience;
        ask_at_ = now_ + (least_patience_ns << patience);
    } else {
        ask_hosts();
    }
}

void discovery::ask_hosts()
{
    ask_at_ = 0;
    const uint32_t next = finder_->round();
    finder_->ask([&](int h, std::span<const int> targets) {
        const std::vector<int32_t> some(targets.begin(), targets.end());
        send(delegate_[static_cast<size_t>(h)], {ask, next, 0}, std::as_bytes(std::span(some)));
    });
}

/* ---- the result -------------------------------------------------------------------------------- */

int discovery::first_host(std::span<const site_finder::place> places, uint16_t site)
{
    return static_cast<int>(std::find_if(places.begin(), places.end(), [site](const auto &p) { return p.site == site; }) - places.begin());
}

int discovery::told_by(std::span<const site_finder::place> places) const
{
    const int first = first_host(places, places[static_cast<size_t>(host_)].site);
    return delegate_[static_cast<size_t>(!delegate() ? host_ : host_ == first ? 0 : first)];
}

void discovery::take_table(int rank, size_t first, std::span<const site_finder::place> some)
{
    if (finished() || first + some.size() > delegate_.size()
        || std::any_of(some.begin(), some.end(), [&](const site_finder::place &p) { return p.site >= delegate_.size(); }))
        return;
    if (std::exchange(coming_from_, rank) != rank)      // who is to tell this process is known when all is there
        coming_.assign(delegate_.size(), nowhere);
    std::copy(some.begin(), some.end(), coming_.begin() + static_cast<std::ptrdiff_t>(first));
    if (std::find(coming_.begin(), coming_.end(), nowhere) != coming_.end())
        return;
    if (!in_order(coming_) || told_by(coming_) != rank) {
        coming_from_ = -1;
        return;
    }
    place_.swap(coming_);
    for (const site_finder::place &p : place_)
        sites_ = std::max(sites_, 1 + p.site);
    pass_on([this](int other) { tell_sites(other); });
    begin_ways();
}

void discovery::pass_on(const std::function<void(int rank)> &tell)
{
    if (!delegate())
        return;
    const auto mine = static_cast<uint16_t>(site_of(me_));
    const int first_here = first_host(place_, mine);
    if (host_ == 0) {
        std::vector<bool> told(static_cast<size_t>(sites_));
        told[static_cast<size_t>(mine)] = true;
        for (int h = 0; h < hosts(); ++h)
            if (const uint16_t s = place_[static_cast<size_t>(h)].site; !told[s]) {
                told[s] = true;
                tell(delegate_[static_cast<size_t>(h)]);
            }
    }
    if (host_ == first_here)
        for (int h = host_ + 1; h < hosts(); ++h)
            if (place_[static_cast<size_t>(h)].site == mine)
                tell(delegate_[static_cast<size_t>(h)]);
    for (size_t r = static_cast<size_t>(me_) + 1; r < host_of_.size(); ++r)
        if (host_of_[r] == host_)
            tell(static_cast<int>(r));
}

void discovery::tell_sites(int rank)
{
    constexpr size_t most = (message_max - sizeof(header)) / sizeof(site_finder::place);
    for (size_t i = 0; i < place_.size(); i += most)
        send(rank, {table, static_cast<uint32_t>(i), 0}, std::as_bytes(std::span(place_).subspan(i, std::min(most, place_.size() - i))));
}

void discovery::tell_ways(int rank)
{
    constexpr size_t most = (message_max - sizeof(header)) / sizeof(way_between);
    for (size_t i = 0; i < between_.size(); i += most)
        send(rank, {way_table, static_cast<uint32_t>(i), static_cast<int64_t>(between_.size())},
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
        if (int &g = gateway[place_[static_cast<size_t>(h)].site]; g < 0)
            g = delegate_[static_cast<size_t>(h)];
    const auto mine = static_cast<uint16_t>(site_of(me_));
    if (gateway[mine] == me_)
        ways_between_.begin(gateway, mine, now_);
}

void discovery::give_ways()
{
    constexpr size_t most = (message_max - sizeof(header)) / sizeof(way_between);
    const auto mine = static_cast<uint16_t>(site_of(me_));
    std::vector<way_between> found;
    for (const auto &r : ways_between_.results()) {
        found.push_back({mine, static_cast<uint16_t>(r.site), 0, r.way});
        if (learned_)
            learned_(r.rank, r.way.rtt_ns, r.way.bytes_per_s, now_);
    }
    found.resize(std::min(found.size(), most));
    if (host_ == 0)
        take_way_report(me_, found);
    else
        send(delegate_[0], {way_report, 0, 0}, std::as_bytes(std::span(found)));
}

/** Each at most once, as something that was measured. */
bool discovery::are_ways(std::span<const way_between> some) const
{
    std::set<std::pair<int, int>> seen;
    return !some.empty() && std::all_of(some.begin(), some.end(), [&](const way_between &w) {
        return w.from < sites_ && w.to < sites_ && w.from != w.to && w.what.rtt_ns > 0 && w.what.bytes_per_s >= 0 && w.what.cold_bytes_per_s >= 0
               && seen.insert({w.from, w.to}).second;
    });
}

void discovery::take_way_report(int rank, std::span<const way_between> some)
{
    if (!finder_ || !finished() || complete_ || !are_ways(some))
        return;
    const uint16_t site = place_of(rank).site;
    if (delegate_[static_cast<size_t>(first_host(place_, site))] != rank
        || std::any_of(some.begin(), some.end(), [site](const way_between &w) { return w.from != site; }))
        return;
    way_reports_.try_emplace(site, some.begin(), some.end());
    if (way_reports_.size() < static_cast<size_t>(sites_))
        return;
    std::vector<way_between> all;
    for (const auto &[reporting, ways] : way_reports_)
        all.insert(all.end(), ways.begin(), ways.end());
    take_way_table(me_, 0, all.size(), all);
}

void discovery::take_way_table(int rank, size_t first, size_t all, std::span<const way_between> some)
{
    if (!finished() || complete_ || told_by(place_) != rank || first != between_.size() || first + some.size() > all || !are_ways(some))
        return;
    between_.insert(between_.end(), some.begin(), some.end());
    if (between_.size() < all)
        return;
    complete_ = true;
    pass_on([this](int other) { tell_ways(other); });
}

} // namespace wan
