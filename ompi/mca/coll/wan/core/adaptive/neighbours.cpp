/*
 * See neighbours.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/neighbours.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace wan {

namespace {

constexpr int pings_each = 3, bulks_each = 2;
/** Farther ones have two transfers: an idle TCP connection takes several round trips to get up to speed. */
constexpr int64_t slow_start_ns = 5'000'000;
/** Round trips behind somebody's transfers would be their length: for so long nobody begins any, then not all at once. */
constexpr int64_t pings_alone_ns = 200'000'000;
constexpr int pings_at_once = 4;
constexpr uint64_t bulk_part = 16 << 10;
/** So many times as far as the nearest, or as near as the farthest, is near. */
constexpr int64_t near_factor = 4, far_factor = 6;
constexpr uint64_t any_bandwidth = 100'000'000'000;
constexpr std::array<std::byte, bulk_part> nothing{};

} // namespace

neighbours::neighbours(const adaptive_options &o, int size, int me, sender send)
    : options_(o), size_(size), me_(me), send_(std::move(send))
{
    std::vector<int> others(static_cast<size_t>(size));
    std::iota(others.begin(), others.end(), 0);
    others.erase(others.begin() + me);
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

void neighbours::know(int rank, int64_t rtt_ns, uint64_t bandwidth)
{
    if (rank == me_ || rtt_ns <= 0)
        return;
    if (const auto at = std::find(queue_.begin(), queue_.end(), rank); at != queue_.end())
        queue_.erase(at);
    else if (!queue_.empty() && !wanted_.count(rank)) {
        wanted_.erase(queue_.back());
        queue_.pop_back();
    }
    wanted_.insert(rank);
    peer &p = peers_[rank];
    p.rtt_ns = rtt_ns;
    p.bandwidth = bandwidth;
    p.pings = pings_each;
    p.bulk_wanted = bandwidth > 0;
    most_ = std::max(most_, bandwidth);
    learned(rank);
}

void neighbours::learned(int rank)
{
    if (std::find(known_.begin(), known_.end(), rank) == known_.end())
        known_.push_back(rank);
    news_.push_back(rank);
    largest_ns_ = least_ns_ = peers_[rank].rtt_ns;
    for (int other : known_) {
        largest_ns_ = std::max(largest_ns_, peers_[other].rtt_ns);
        least_ns_ = std::min(least_ns_, peers_[other].rtt_ns);
    }
}

int64_t neighbours::deadline() const
{
    if (under_way_ < pings_at_once && !queue_.empty())
        return now_ns_;
    return under_way_ == 0 && bulk_to_ < 0 && !bulk_queue_.empty() ? std::max(now_ns_, bulks_from_ns_) : INT64_MAX;
}

void neighbours::measure_again()
{
    if (!quiet())
        return;         // it is at it
    most_ = 0;
    bulks_ = 0;
    bulks_from_ns_ = -1;
    for (int rank : known_) {
        peer &p = peers_[rank];
        p.pings = p.bulks = 0;
        p.bulk_wanted = false;
        p.best_ns = 0;
        queue_.push_back(rank);
    }
}

void neighbours::want_bandwidth(int rank)
{
    if (rtt_ns(rank) == 0 || peers_[rank].bulk_wanted)
        return;
    peers_[rank].bulk_wanted = true;
    bulk_queue_.push_back(rank);
}

void neighbours::bulk_if_near(int rank)
{
    if (options_.has(variant_hints) && (!near(rank) || ++bulks_ > options_.peers))
        return;
    want_bandwidth(rank);
}

int64_t neighbours::rtt_ns(int rank) const
{
    const auto at = peers_.find(rank);
    return at == peers_.end() ? 0 : at->second.rtt_ns;
}

bool neighbours::is_near(int64_t rtt_ns) const
{
    return rtt_ns > 0 && rtt_ns <= std::max(near_factor * least_ns_, largest_ns_ / far_factor);
}

bool neighbours::near(int rank) const
{
    return is_near(rtt_ns(rank));
}

void neighbours::answered(int rank, int64_t took_ns)
{
    if (rtt_ns(rank) == 0 || took_ns >= rtt_ns(rank))
        return;
    peer &p = peers_[rank];
    if (4 * took_ns < 3 * p.rtt_ns)
        news_.push_back(rank);
    p.rtt_ns = std::max<int64_t>(1, took_ns);
    least_ns_ = std::min(least_ns_, p.rtt_ns);
}

uint64_t neighbours::bandwidth(int rank) const
{
    const auto at = peers_.find(rank);
    return at == peers_.end() ? 0 : at->second.bandwidth;
}

void neighbours::ping(int rank, int64_t now_ns)
{
    tell_message m;
    m.value_ns = peers_[rank].best_ns;
    peers_[rank].since_ns = now_ns;
    send_(rank, m);
}

void neighbours::bulk(int64_t now_ns)
{
    tell_message m;
    m.what = tell_kind::bulk;
    peers_[bulk_to_].since_ns = now_ns;
    for (uint64_t sent = 0; sent < options_.bulk_bytes; sent += bulk_part) {
        const uint64_t part = std::min(bulk_part, options_.bulk_bytes - sent);
        m.last = sent + part == options_.bulk_bytes;
        m.payload = std::span(nothing).first(part);
        send_(bulk_to_, m);
    }
}

void neighbours::step(int64_t now_ns)
{
    for (; under_way_ < pings_at_once && !queue_.empty(); ++under_way_) {
        ping(queue_.front(), now_ns);
        queue_.pop_front();
    }
    now_ns_ = now_ns;
    if (bulks_from_ns_ < 0)
        bulks_from_ns_ = now_ns + pings_alone_ns + me_ * pings_alone_ns / size_;
    if (now_ns >= bulks_from_ns_ && under_way_ == 0 && bulk_to_ < 0 && !bulk_queue_.empty()) {
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

void neighbours::receive(int from, const tell_message &m, int64_t now_ns)
{
    peer &p = peers_[from];
    tell_message answer;
    switch (m.what) {
    case tell_kind::ping:
        answer.what = tell_kind::pong;
        answer.hint = options_.has(variant_hints) ? hint_for(from) : -1;
        send_(from, answer);
        if (options_.has(variant_hints) && is_near(m.value_ns))
            hint(from, true);       // by chance it may have found no one near
        return;
    case tell_kind::pong: {
        const int64_t took_ns = std::max<int64_t>(1, now_ns - p.since_ns);
        p.best_ns = p.pings ? std::min(p.best_ns, took_ns) : took_ns;
        if (m.hint >= 0)
            hints_.emplace_back(from, m.hint);
        if (++p.pings < pings_each) {
            ping(from, now_ns);
            return;
        }
        --under_way_;
        p.rtt_ns = p.best_ns;
        learned(from);
        for (const auto &[who, whom] : hints_)
            if (near(who))
                hint(whom);
        bulk_if_near(from);
        return;
    }
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
    case tell_kind::bulk_done: {
        // All but the first part came in that time there; who did not look saw them come at once, but the whole took longer.
        const int64_t parts = static_cast<int64_t>((options_.bulk_bytes + bulk_part - 1) / bulk_part);
        const int64_t there_ns = parts > 1 ? m.value_ns / (parts - 1) * parts : 0;
        const int64_t took_ns = std::max<int64_t>({1, there_ns, now_ns - p.since_ns - p.rtt_ns});
        const uint64_t bandwidth = static_cast<uint64_t>(static_cast<__int128>(options_.bulk_bytes) * 1'000'000'000 / took_ns);
        p.best = std::max(p.bulks ? p.best : 0, std::min(bandwidth, any_bandwidth));
        p.bandwidth = p.best;
        most_ = std::max(most_, p.bandwidth);
        news_.push_back(from);
        if (++p.bulks < bulks_each && (p.rtt_ns > slow_start_ns || !options_.has(variant_hints)))
            bulk(now_ns);
        else
            bulk_to_ = -1;
        return;
    }
    default: return;
    }
}

} // namespace wan
