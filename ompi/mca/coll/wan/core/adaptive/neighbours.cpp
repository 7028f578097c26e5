/*
 * See neighbours.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/neighbours.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace wan {

namespace {

constexpr int pings_each = 3, bulks_each = 2;
/** Of a way that is doubted, until one was behind no long operations. */
constexpr int most_pings = 12;
/** How often a bandwidth that is known is measured once more, whatever trees ask for. */
constexpr int most_tries = 8;
/** Farther ones have two transfers: an idle TCP connection takes several round trips to get up to speed. */
constexpr int64_t slow_start_ns = 5'000'000;
/** Round trips behind somebody's transfers would be their length: for so long nobody begins any, then not all at once. */
constexpr int64_t pings_alone_ns = 200'000'000;
constexpr size_t pings_at_once = 4;
/** Who has not answered a ping for so long does not look: others do not wait for that.  Its answer counts if it comes by then, the next one if it
 *  does in twice that time, up to a minute: it may be slow, or look seldom. */
constexpr int64_t answers_ns = 2'000'000'000;
constexpr int most_misses = 5;
/** The same for a transfer, at least and at most, and what a way of 0.1 Mb/s takes for a byte. */
constexpr int64_t transfers_ns = 10'000'000'000, most_transfers_ns = 60'000'000'000, transfers_byte_ns = 80'000;
/** While operations are under way, which transfers delay and that delay transfers: one takes that part of the time, as long as all of
 *  them have taken less than half a second; then a hundredth. */
constexpr int64_t first_share = 20, first_ns = 500'000'000, later_share = 100;
constexpr uint64_t bulk_part = 16 << 10;
/** So many times as far as the nearest, or as near as the farthest, is near; but not what may be another site, when the farthest is
 *  on another continent, nor what must be one, when the nearest is. */
constexpr int64_t near_factor = 4, far_part = 6, may_be_site_ns = 3'000'000, must_be_site_ns = 10'000'000;
/** What is measured again since a message took longer than that, or less: half as long again, or less by a third, and a margin. */
constexpr int64_t farther_part = 2, nearer_part = 3, margin_ns = 300'000;
/** A way that has been measured is trusted for so long; if it was doubted, twice as long each time, unless it was not for that long. */
constexpr int64_t first_trusted_ns = 2'000'000'000, most_trusted_ns = 64'000'000'000, forgiven_ns = 60'000'000'000;
/** That part of it where long operations were in the way of what was to show that it has got farther. */
constexpr int64_t loaded_part = 8;
/** A way is measured again, as one that is doubted, where answers may have waited for most of the time that they took, and for so long. */
constexpr int64_t looks_ns = 100'000'000;
constexpr std::array<std::byte, bulk_part> nothing{};

} // namespace

neighbours::neighbours(const adaptive_options &o, int size, int me, sender send, rank_set beside, std::function<bool()> loaded)
    : options_(o), size_(size), me_(me), send_(std::move(send)), loaded_(std::move(loaded)), beside_(o.has(variant_gates) ? std::move(beside) : rank_set{})
{
    if (!beside_.empty() && beside_.first() != me)
        return;     // who looks for a way out of the host is the first on it
    std::vector<int> others(static_cast<size_t>(size));
    std::iota(others.begin(), others.end(), 0);
    std::erase_if(others, [&](int other) { return other == me || beside_.contains(other); });
    std::mt19937_64 random(o.seed * 1'000'003 + static_cast<uint64_t>(me));
    const size_t n = std::min(others.size(), static_cast<size_t>(o.peers));
    for (size_t i = 0; i < n; ++i) {
        std::swap(others[i], others[i + random() % (others.size() - i)]);
        hint(others[i], true);
    }
}

void neighbours::hint(int rank, bool must)
{
    if (rank < 0 || rank == me_ || wanted_.count(rank) || (!must && wanted_.size() >= 3 * static_cast<size_t>(options_.peers)))
        return;
    wanted_.insert(rank);
    queue_.push_back(rank);
}

void neighbours::hint_near(int rank, bool must)
{
    hint(rank, must);
    const auto from = queue_.begin() + static_cast<std::ptrdiff_t>(near_first_), at = std::find(from, queue_.end(), rank);
    if (at == queue_.end())
        return;         // measured, or under way, or among those
    queue_.erase(at);
    queue_.insert(queue_.begin() + static_cast<std::ptrdiff_t>(near_first_++), rank);
}

void neighbours::know(int rank, const measured_way &way)
{
    if (rank == me_ || way.rtt_ns <= 0)
        return;
    if (const auto at = std::find(queue_.begin(), queue_.end(), rank); at != queue_.end()) {
        near_first_ -= static_cast<size_t>(at - queue_.begin()) < near_first_;
        queue_.erase(at);
    } else if (!queue_.empty() && !wanted_.count(rank)) {
        wanted_.erase(queue_.back());
        queue_.pop_back();
        near_first_ = std::min(near_first_, queue_.size());
    }
    wanted_.insert(rank);
    peer &p = peers_[rank];
    p.way = way;
    p.pings = pings_each;
    p.bulk_wanted = way.bandwidth > 0;
    p.best = way.bandwidth;
    p.bulks = p.bulk_wanted ? bulks_each : 0;
    if (!p.bulk_wanted)
        inherited_.push_back(rank);
    most_ = std::max(most_, way.bandwidth);
    learned(rank);
}

void neighbours::learned(int rank)
{
    if (std::find(known_.begin(), known_.end(), rank) == known_.end())
        known_.push_back(rank);
    news_.push_back(rank);
    extremes();
}

void neighbours::extremes()
{
    largest_ns_ = 0, least_ns_ = INT64_MAX;
    int64_t beside_ns = INT64_MAX;
    for (int other : known_) {
        largest_ns_ = std::max(largest_ns_, rtt_ns(other));
        int64_t &least = beside_.contains(other) ? beside_ns : least_ns_;
        least = std::min(least, rtt_ns(other));
    }
    if (least_ns_ == INT64_MAX)
        least_ns_ = beside_ns;
}

int64_t neighbours::deadline() const
{
    const size_t awaited = pings_awaited();
    if ((again_ && quiet()) || (awaited < pings_at_once && !queue_.empty()))
        return now_ns_;
    if (awaited == 0 && !inherited_.empty())
        return now_ns_;
    int64_t first = bulk_to_ < 0 ? INT64_MAX : transferred_by(peers_.at(bulk_to_));
    if (awaited == 0 && bulk_to_ < 0 && !bulk_queue_.empty())
        first = std::max({now_ns_, bulks_from_ns_, busy_ ? pauses_until_ns_ : 0});
    for (int rank : pinged_) {
        const peer &p = peers_.at(rank);
        first = std::min(first, is_awaited(p) ? p.since_ns + answers_ns : answers_by(p));
    }
    return first;
}

void neighbours::measure_again()
{
    spent_ns_ = pauses_until_ns_ = 0;
    for (int rank : std::exchange(bulk_queue_, {})) {       // after all distances, and those of near ones anyway
        peers_[rank].bulk_wanted = false;
        if (!near(rank))
            again_wanted_.push_back(rank);
    }
    again_ = !quiet();
    if (again_)
        return;         // when it has ended
    for (int rank : std::exchange(pinged_, {}))
        let_go(rank);
    most_ = 0;
    bulks_ = 0;
    bulks_from_ns_ = -1;
    for (int rank : known_) {
        peer &p = peers_[rank];
        p.pings = p.bulks = p.tries = 0;
        p.bulk_wanted = p.slowed = false;
        p.best_ns = 0;
        queue_.push_back(rank);
    }
    for (int rank : std::exchange(again_wanted_, {}))
        want_bandwidth(rank);
}

void neighbours::want_bandwidth(int rank)
{
    if (rtt_ns(rank) == 0)
        return;
    if (again_) {       // (a transfer would put that off)
        if (std::find(again_wanted_.begin(), again_wanted_.end(), rank) == again_wanted_.end())
            again_wanted_.push_back(rank);
        return;
    }
    const auto at = std::find(bulk_queue_.begin(), bulk_queue_.end(), rank);
    if (at != bulk_queue_.end())
        bulk_queue_.erase(at);
    else if (std::exchange(peers_[rank].bulk_wanted, true))
        return;
    bulk_queue_.push_front(rank);
}

void neighbours::want_bandwidth_now(int rank)
{
    pauses_until_ns_ = 0;
    want_bandwidth(rank);
}

void neighbours::paced(int rank, uint64_t rate, bool slow, int64_t now_ns)
{
    peer &p = peers_[rank];
    if (p.way.rtt_ns == 0 || rate == 0)
        return;
    p.slowed = slow;
    p.way.bandwidth = p.best = std::min(rate, any_bandwidth);
    p.way.at_ns = std::max(p.way.at_ns, now_ns);
    p.bulks = bulks_each;
    p.bulk_wanted = true;
    news_.push_back(rank);
}

bool neighbours::slowed(int rank) const
{
    const auto at = peers_.find(rank);
    return at != peers_.end() && at->second.slowed;
}

void neighbours::forget_far(int but)
{
    for (auto &[rank, p] : peers_)
        if (rank != but && rank != bulk_to_ && p.way.rtt_ns > 0 && !near(rank)) {
            p.way.bandwidth = p.best = 0;
            p.bulks = 0;
            p.slowed = false;
            p.bulk_wanted = std::find(bulk_queue_.begin(), bulk_queue_.end(), rank) != bulk_queue_.end();
        }
}

void neighbours::try_bandwidth(int rank)
{
    if (bandwidth(rank) > 0 && bulk_to_ != rank && std::find(bulk_queue_.begin(), bulk_queue_.end(), rank) == bulk_queue_.end()
        && peers_[rank].tries++ < most_tries)
        bulk_queue_.push_back(rank);
}

void neighbours::bulk_if_near(int rank)
{
    if (options_.has(variant_hints) && (!near(rank) || ++bulks_ > options_.peers))
        return;
    if (!std::exchange(peers_[rank].bulk_wanted, true))
        bulk_queue_.push_back(rank);
}

measured_way neighbours::way(int rank) const
{
    const auto at = peers_.find(rank);
    return at == peers_.end() ? measured_way{} : at->second.way;
}

int64_t neighbours::rtt_or_largest_ns(int rank) const
{
    const int64_t known = rtt_ns(rank);
    return known ? known : largest_ns_;
}

uint64_t neighbours::bandwidth_or_most(int rank) const
{
    const uint64_t known = bandwidth(rank);
    return known ? known : most_;
}

uint64_t neighbours::bandwidth_or_told(int rank) const
{
    const auto at = peers_.find(rank);
    const uint64_t known = bandwidth(rank), told = at == peers_.end() ? 0 : at->second.told;
    return known ? known : told ? told : near(rank) ? most_ : 0;
}

bool neighbours::is_near(int64_t rtt_ns) const
{
    return rtt_ns > 0 && rtt_ns <= std::max(std::min(near_factor * least_ns_, must_be_site_ns), std::min(largest_ns_ / far_part, may_be_site_ns));
}

bool neighbours::near(int rank) const
{
    return beside_.contains(rank) || is_near(rtt_ns(rank));
}

/** By chance it may have found hardly anybody near. */
bool neighbours::has_few() const
{
    return std::count_if(known_.begin(), known_.end(), [&](int other) { return near(other); }) < options_.peers;
}

void neighbours::answered(int rank, int64_t took_ns)
{
    if (rtt_ns(rank) == 0 || took_ns >= rtt_ns(rank))
        return;
    measured_way &way = peers_[rank].way;
    if (4 * took_ns < 3 * way.rtt_ns)
        news_.push_back(rank);
    way.rtt_ns = std::max<int64_t>(1, took_ns);
    way.at_ns = std::max(way.at_ns, now_ns_);
    extremes();
}

int neighbours::departs(int rank, int64_t took_ns, int64_t waited_ns) const
{
    const int64_t known_ns = rtt_ns(rank);
    if (known_ns == 0 || near(rank) || !options_.has(variant_watch))
        return 0;
    return took_ns < known_ns - known_ns / nearer_part - margin_ns ? -1 : took_ns - waited_ns > known_ns + known_ns / farther_part + margin_ns;
}

bool neighbours::doubted(int rank) const
{
    const auto at = peers_.find(rank);
    return at != peers_.end() && at->second.doubted != 0;
}

void neighbours::doubt(int rank, int departs, int64_t now_ns)
{
    peer &p = peers_[rank];
    if (p.way.rtt_ns == 0 || p.pings < pings_each || p.doubted != 0 || now_ns < p.trusted_until_ns || rank == bulk_to_ || p.late || (departs > 0 && loaded_()))
        return;         // (a transfer there is timed from its own beginning)
    const bool anew = p.trusted_ns == 0 || now_ns - p.trusted_until_ns > forgiven_ns;
    p.trusted_ns = anew ? first_trusted_ns : std::min(2 * p.trusted_ns, most_trusted_ns);
    p.trusted_until_ns = now_ns + p.trusted_ns;
    p.doubted = departs;
    p.pings = 0;
    ++doubts_;
    queue_.push_front(rank);
    ++near_first_;
}

void neighbours::distance_set(int rank, int64_t rtt_ns, int64_t now_ns)
{
    measured_way &way = peers_[rank].way;
    way.rtt_ns = rtt_ns;
    way.at_ns = now_ns;
    peers_[rank].trusted_ns = 0;
    peers_[rank].trusted_until_ns = now_ns + first_trusted_ns;
    ++changes_;
    changed_.push_back(rank);
}

/** A computing process, or one that does not get a processor, makes pings slow as well as what they are to confirm: only what cannot have
 *  been spent that way counts. */
void neighbours::doubt_ends(int rank, int64_t now_ns)
{
    peer &p = peers_[rank];
    p.doubted = 0;
    p.pings = pings_each;
    const bool was_unsure = unsure(rank);
    const int departed = departs(rank, p.best_ns, p.best_ns - p.least_ns);
    if (departed > 0 && !p.clear)
        p.trusted_until_ns = now_ns + p.trusted_ns / loaded_part;       // nobody knows yet
    else
        p.way.at_ns = now_ns;
    if (departed < 0 || (departed > 0 && p.clear)) {
        const int64_t trusted_ns = p.trusted_ns;
        distance_set(rank, departed > 0 ? p.least_ns : p.best_ns, now_ns);
        if (departed > 0 || !waited(p)) {
            tell_message m;
            m.what = tell_kind::distance;
            m.value_ns = p.way.rtt_ns;
            send_(rank, m);
        } else {        // nearer, but nobody knows how much
            p.trusted_ns = trusted_ns;
            p.trusted_until_ns = now_ns + trusted_ns;
        }
        bulk_if_near(rank);
    } else if (was_unsure && departed == 0)
        answered(rank, p.best_ns);
    if (departed <= 0 || p.clear)
        measured(rank, departed <= 0 && waited(p));
    learned(rank);
}

bool neighbours::unsure(int rank) const { return std::find(unsure_.begin(), unsure_.end(), rank) != unsure_.end(); }

/** unsure: by what may have been an absence. */
void neighbours::measured(int rank, bool unsure)
{
    std::erase(unsure_, rank);
    if (unsure)
        unsure_.push_back(rank);
}

/** Of what its best answer took, most may have been spent where nobody looked. */
bool neighbours::waited(const peer &p) const
{
    return options_.has(variant_watch) && p.best_ns - p.least_ns > std::max(p.best_ns / farther_part, looks_ns);
}

void neighbours::ping(int rank, int64_t now_ns)
{
    tell_message m;
    m.value_ns = peers_[rank].best_ns;
    m.payload = std::span(nothing).first(std::min(bulk_part, options_.ping_bytes));
    peers_[rank].since_ns = now_ns;
    peers_[rank].loaded = loaded_();
    send_(rank, m);
}

int64_t neighbours::answers_by(const peer &p) const
{
    return p.since_ns + (answers_ns << std::min(p.misses, most_misses));
}

int64_t neighbours::transferred_by(const peer &p) const
{
    return p.bulk_since_ns + std::clamp(static_cast<int64_t>(options_.bulk_bytes) * transfers_byte_ns, transfers_ns, most_transfers_ns);
}

bool neighbours::is_awaited(const peer &p) const { return now_ns_ - p.since_ns < answers_ns; }

size_t neighbours::pings_awaited() const
{
    return static_cast<size_t>(std::count_if(pinged_.begin(), pinged_.end(), [&](int rank) { return is_awaited(peers_.at(rank)); }));
}

bool neighbours::quiet() const
{
    return queue_.empty() && inherited_.empty() && bulk_queue_.empty() && bulk_to_ < 0 && pings_awaited() == 0;
}

/** What is known holds, or the better one of that and what was answered where that may be an absence; who was to become known is asked once
 *  more when it looks. */
void neighbours::let_go(int rank)
{
    peer &p = peers_[rank];
    ++p.given_up;
    ++p.misses;
    const int doubted = std::exchange(p.doubted, 0);
    if (p.pings > 0 && unsure(rank))
        answered(rank, p.best_ns);
    if (doubted == 0)
        return;
    p.pings = pings_each;
    news_.push_back(rank);
}

/** What a transfer shows then counts. */
void neighbours::give_up(int64_t now_ns)
{
    std::erase_if(pinged_, [&](int rank) { return now_ns >= answers_by(peers_[rank]) && (let_go(rank), true); });
    if (bulk_to_ >= 0 && now_ns >= transferred_by(peers_[bulk_to_])) {
        peers_[bulk_to_].late = true;
        bulk_to_ = -1;
    }
}

void neighbours::bulk(int64_t now_ns)
{
    tell_message m;
    m.what = tell_kind::bulk;
    peers_[bulk_to_].bulk_since_ns = now_ns;
    for (uint64_t sent = 0; sent < options_.bulk_bytes; sent += bulk_part) {
        const uint64_t part = std::min(bulk_part, options_.bulk_bytes - sent);
        m.last = sent + part == options_.bulk_bytes;
        m.payload = std::span(nothing).first(part);
        send_(bulk_to_, m);
    }
}

void neighbours::step(int64_t now_ns, bool busy)
{
    busy_ = busy;
    now_ns_ = now_ns;
    if (again_ && quiet())
        measure_again();
    give_up(now_ns);
    if (!again_ && queue_.empty() && (bulk_queue_.empty() || (busy && now_ns < pauses_until_ns_)))      // after whoever else waits to be measured
        for (int rank : unsure_)
            if (queue_.size() < pings_at_once)      // who only waits to be asked could be no parent meanwhile
                doubt(rank, -1, now_ns);
    while (pings_awaited() < pings_at_once && !queue_.empty()) {
        pinged_.push_back(queue_.front());
        ping(queue_.front(), now_ns);
        queue_.pop_front();
        near_first_ -= near_first_ > 0;
    }
    if (pings_awaited() == 0)
        for (int rank : std::exchange(inherited_, {}))
            bulk_if_near(rank);
    if (bulks_from_ns_ < 0)
        bulks_from_ns_ = now_ns + pings_alone_ns + me_ * pings_alone_ns / size_;
    std::erase_if(bulk_queue_, [&](int rank) { return peers_[rank].late; });
    if (now_ns >= bulks_from_ns_ && !(busy && now_ns < pauses_until_ns_) && pings_awaited() == 0 && bulk_to_ < 0 && !bulk_queue_.empty()) {
        bulk_to_ = bulk_queue_.front();
        bulk_queue_.pop_front();
        bulk(now_ns);
    }
}

/** By turns those that are as near to us as anybody, but for the one who asks. */
int neighbours::hint_for(int rank)
{
    for (size_t i = 0; i < known_.size(); ++i) {
        const int other = known_[next_hint_++ % known_.size()];
        if (other != rank && near(other))
            return other;
    }
    return -1;
}

void neighbours::pong(int from, const tell_message &m, int64_t now_ns, int64_t waited_ns)
{
    peer &p = peers_[from];
    if (p.given_up > 0) {       // (answers come in the order of pings)
        if (--p.given_up > 0 || std::find(pinged_.begin(), pinged_.end(), from) != pinged_.end())
            return;
        if (p.pings < pings_each && std::find(queue_.begin(), queue_.end(), from) == queue_.end()) {
            queue_.push_front(from);
            near_first_ += near_first_ > 0;
        }
        return;
    }
    const auto at = std::find(pinged_.begin(), pinged_.end(), from);
    if (at == pinged_.end())
        return;         // nobody asked
    const int64_t took_ns = std::max<int64_t>(1, now_ns - p.since_ns);
    const int64_t least_ns = std::max<int64_t>(1, took_ns - std::min(took_ns, waited_ns) - std::clamp<int64_t>(m.value_ns, 0, took_ns));
    p.best_ns = p.pings ? std::min(p.best_ns, took_ns) : took_ns;
    p.least_ns = p.pings ? std::min(p.least_ns, least_ns) : least_ns;
    p.clear = (p.pings ? p.clear : 0) + !(p.loaded || m.slow);
    if (options_.has(variant_hints) && m.hint >= 0)
        hints_.emplace(from, m.hint);
    ++p.pings;
    if ((p.pings < pings_each || (p.doubted > 0 && !p.clear && p.pings < most_pings)) && !(p.doubted > 0 && departs(from, took_ns, took_ns - least_ns) <= 0)) {
        ping(from, now_ns);
        return;
    }
    pinged_.erase(at);
    p.misses = 0;
    if (p.doubted != 0) {
        doubt_ends(from, now_ns);
        return;
    }
    p.way.rtt_ns = p.best_ns;
    p.way.at_ns = now_ns;
    p.trusted_until_ns = now_ns + first_trusted_ns;
    measured(from, waited(p));
    learned(from);
    for (const auto &[who, whom] : hints_)
        if (near(who))
            hint_near(whom, false);
    bulk_if_near(from);
}

void neighbours::receive(int from, const tell_message &m, int64_t now_ns, int64_t waited_ns)
{
    peer &p = peers_[from];
    tell_message answer;
    switch (m.what) {
    case tell_kind::ping:
        answer.what = tell_kind::pong;
        answer.payload = std::span(nothing).first(std::min<size_t>(bulk_part, m.payload.size()));
        answer.hint = options_.has(variant_hints) ? hint_for(from) : -1;
        answer.value_ns = waited_ns;
        answer.slow = loaded_();
        send_(from, answer);
        if (options_.has(variant_hints) && is_near(m.value_ns) && has_few())
            hint_near(from, true);
        return;
    case tell_kind::pong: pong(from, m, now_ns, waited_ns); return;
    case tell_kind::bulk:
        if (p.coming_ns < 0)
            p.coming_ns = now_ns;
        if (m.last) {
            answer.what = tell_kind::bulk_done;
            answer.value_ns = now_ns - p.coming_ns;
            p.coming_ns = -1;
            send_(from, answer);
        }
        return;
    case tell_kind::pace: paced(from, static_cast<uint64_t>(std::max<int64_t>(0, m.value_ns)), m.slow, now_ns); return;
    case tell_kind::distance:
        if (m.value_ns > 0 && departs(from, m.value_ns) != 0) {
            distance_set(from, m.value_ns, now_ns);
            learned(from);
        }
        return;
    case tell_kind::bulk_done: {
        if (from != bulk_to_ && !p.late)
            return;         // nobody asked
        // All but the first part came in that time there; who did not look saw them come at once, but the whole took longer.
        const int64_t parts = static_cast<int64_t>((options_.bulk_bytes + bulk_part - 1) / bulk_part);
        const int64_t whole_ns = now_ns - p.bulk_since_ns;
        const int64_t there_ns = parts > 1 ? std::clamp<int64_t>(m.value_ns, 0, whole_ns) / (parts - 1) * parts : 0;
        const int64_t took_ns = std::max<int64_t>({1, there_ns, whole_ns - p.way.rtt_ns});
        const uint64_t bandwidth = static_cast<uint64_t>(static_cast<__int128>(options_.bulk_bytes) * 1'000'000'000 / took_ns);
        const bool counts = !p.late || p.bulk_wanted;
        if (counts) {     // (else it was away, perhaps, and nobody is to try that again)
            p.best = std::max(p.bulks ? p.best : 0, std::min(bandwidth, any_bandwidth));
            p.way.bandwidth = p.best;
            p.way.at_ns = now_ns;
            most_ = std::max(most_, p.best);
            news_.push_back(from);
        }
        if (std::exchange(p.late, false)) {
            // Who was away for most of that is tried once more, if still wanted; what has been seen to come took that time.
            const int64_t seen_ns = std::clamp<int64_t>(m.value_ns, 0, whole_ns);
            spent_ns_ += seen_ns;
            if (busy_ && options_.has(variant_hints))
                pauses_until_ns_ = std::max(pauses_until_ns_, now_ns + (spent_ns_ < first_ns ? first_share : later_share) * seen_ns);
            if (counts && ++p.bulks < bulks_each && p.bulk_wanted && std::find(bulk_queue_.begin(), bulk_queue_.end(), from) == bulk_queue_.end())
                bulk_queue_.push_back(from);
            return;
        }
        spent_ns_ += whole_ns;
        if (++p.bulks < bulks_each && (p.way.rtt_ns > slow_start_ns || !options_.has(variant_hints)))
            bulk(now_ns);
        else {
            bulk_to_ = -1;
            if (busy_ && options_.has(variant_hints))
                pauses_until_ns_ = now_ns + (spent_ns_ < first_ns ? first_share : later_share) * whole_ns;
        }
        return;
    }
    default: return;
    }
}

} // namespace wan
