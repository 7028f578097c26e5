/*
 * A seeded network for the processes of adaptive trees: sites, latencies with
 * jitter, one rate out of each process, messages in order between any two and in
 * no order otherwise, processes that do not look for a while.  Time is a number;
 * nothing is random but by the seed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_ADAPTIVE_SIMULATOR_HPP
#define TEST_ADAPTIVE_SIMULATOR_HPP

#include "adaptive/arrivals.hpp"
#include "adaptive/node.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>

namespace adaptive_test {

using namespace wan;

constexpr int64_t us = 1000, ms = 1'000'000, second = 1'000'000'000;

struct network {
    std::vector<int> site;              // of each process
    std::vector<int> host;              // of each process; empty: each has its own
    std::vector<int> order;             // of all; empty: that of ranks
    std::vector<std::map<tree_name, former_place>> former;      // of each process; empty: none was anywhere
    int64_t beside_ns = us;             // one way, on a host
    int64_t near_ns = 50 * us;          // inside a site
    int64_t far_ns = 10 * ms;           // between sites
    double spread = 0.2;                // of a pair's latency, for good
    double jitter = 0.05;               // of a message's
    double stalls = 0, stalled = 30;    // of messages; so many times as long as the others they take (those behind them wait)
    double repeats = 0;                 // of messages: that come once more, later
    double rate = 0;                    // bytes/s out of a process; 0: any
    std::function<double(int, int, int64_t)> slower;      // factor of latency of a pair, at a time
    std::function<double(int, int64_t)> rate_factor;      // of a process's rate, at a time
    std::function<double(int, int, int64_t)> link;        // bytes/s from a site to another, at a time; none: any.  With it room is what is not known to have come
    std::vector<rank_set> unaware;      // of each process: who is beside it, though it does not know; empty: it knows
    bool on_one_host(int a, int b) const { return !host.empty() && host[static_cast<size_t>(a)] == host[static_cast<size_t>(b)]; }
    rank_set beside(int rank) const
    {
        rank_set s;
        for (int other = 0; other < static_cast<int>(host.size()); ++other)
            if (on_one_host(rank, other))
                s |= rank_set::one(other);
        return unaware.empty() ? s : s - unaware[static_cast<size_t>(rank)];
    }
    std::function<int64_t(int, int64_t)> looks;           // when a process has the processor, at a time or then
};

class simulator;

class process final : public adaptive_port {
public:
    process(simulator &s, const adaptive_options &o, int size, int me, adaptive_places where = {}, std::map<tree_name, former_place> former = {})
        : node(o, size, me, *this, std::move(where)), sim_(s), me_(me), former_(std::move(former))
    {
    }
    void send(int to, std::span<const std::byte> head, std::span<const std::byte> payload) override;
    uint64_t under_way(int to) const override;
    uint64_t delivered(int to) const override;
    int64_t round_trip_ns(int to) const override;
    int64_t waited_ns() const override;
    void limited(int to) override;
    uint64_t ahead(int to) const override
    {
        const auto at = ahead_.find(to);
        return at == ahead_.end() ? 0 : at->second;
    }
    void ahead_by(int to, int64_t more) override { ahead_[to] += static_cast<uint64_t>(more); }
    int64_t longest_ns() const override { return 0; }
    former_place former(tree_name tree) const override
    {
        const auto at = former_.find(tree);
        return at == former_.end() ? former_place{} : at->second;
    }

    int64_t away_until = 0;             // it does not look before,
    int64_t away_from = 0;              // from then on
    std::function<void()> work;         // after it has looked
    uint64_t sent = 0, data_sent = 0;
    size_t most_payload = 0;            // of a message of an operation
    adaptive_node node;

private:
    friend class simulator;
    void came(int to, uint64_t bytes);
    /** When there is room again for another message. */
    int64_t room_from() const;
    simulator &sim_;
    int me_;
    int64_t busy_until_ = 0;
    int64_t wakes_ = INT64_MAX;         // the earliest wake-up in line
    std::map<int, uint64_t> there_;     // under way, to whom
    std::map<int, arrivals> seen_;
    /** As in adaptive_service: which messages tell of having come, and which of those how far it is. */
    struct asked {
        uint64_t bytes = 0, messages = 0;       // since the last of them
        int64_t last_ns = 0, asked_ns = 0;
    };
    std::map<int, asked> asked_;
    int64_t blind_since_ = INT64_MAX, looked_ = 0, waited_ = 0;         // something came that it does not see yet; when it saw that, and after how long
    std::map<int, uint64_t> ahead_;
    std::map<tree_name, former_place> former_;
    std::map<int, pace> paces_;
};

class simulator {
public:
    simulator(const network &n, const adaptive_options &o, uint64_t seed) : net(n), random(seed)
    {
        const int size = static_cast<int>(n.site.size());
        pair_.resize(n.site.size() * n.site.size());
        for (double &p : pair_)
            p = 1 + net.spread * uniform(-1, 1);
        last_.assign(pair_.size(), 0);
        for (int r = 0; r < size; ++r)
            all.push_back(std::make_unique<process>(*this, o, size, r, adaptive_places{n.beside(r), n.order}, n.former.empty() ? std::map<tree_name, former_place>{} : n.former[static_cast<size_t>(r)]));
        for (int r = 0; r < size; ++r)
            wake(r, 0);
    }

    double uniform(double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); }
    uint64_t below(uint64_t n) { return random() % n; }
    int size() const { return static_cast<int>(all.size()); }
    process &operator[](int r) { return *all[static_cast<size_t>(r)]; }

    void wake(int r, int64_t at)
    {
        process &p = (*this)[r];
        if (at >= p.wakes_)
            return;
        p.wakes_ = at;
        events_.push({at, ++number_, r, -1, {}});
    }

    /** Until `stop` is true, at the latest until then; false: it was not. */
    bool run(int64_t until, const std::function<bool()> &stop)
    {
        while (!stop()) {
            if (events_.empty() || events_.top().at > until) {
                now = until;
                return stop();
            }
            event e = events_.top();
            events_.pop();
            now = std::max(now, e.at);
            if (e.leaves) {
                int64_t &until = link_busy_[{net.site[static_cast<size_t>(e.from)], net.site[static_cast<size_t>(e.to)]}];
                until = std::max(until, now) + static_cast<int64_t>(static_cast<double>(e.bytes.size() + 66) / net.link(net.site[static_cast<size_t>(e.from)], net.site[static_cast<size_t>(e.to)], now) * 1e9);
                arrive(e.from, e.to, until + e.leaves, std::move(e.bytes), e.asked_ns, e.tells);
                continue;
            }
            process &p = (*this)[e.to];
            if (const int64_t looks = std::max(now < p.away_from ? now : p.away_until, net.looks ? net.looks(e.to, now) : now); now < looks) {
                p.blind_since_ = std::min(p.blind_since_, now);
                e.at = looks;
                events_.push(e);
                continue;
            }
            if (p.blind_since_ != INT64_MAX) {
                p.looked_ = now;
                p.waited_ = now - std::exchange(p.blind_since_, INT64_MAX);
            }
            if (e.word) {
                if (e.tells)
                    p.node.went(e.from, now - e.asked_ns, now);
                if (p.node.deadline() <= now)
                    wake(e.to, now);
                continue;
            }
            if (e.came) {
                arrived(e.to, e.from, e.came);
                continue;
            }
            ++handled;
            repeated += e.again;
            if (e.from >= 0) {
                if (net.link && !e.again)
                    events_.push({now + static_cast<int64_t>(latency_ns(e.to, e.from)), ++number_, e.from, e.to, {}, 0, e.bytes.size()});
                else if (!e.again)
                    (*this)[e.from].came(e.to, e.bytes.size());     // (it need not look)
                if (e.asked_ns >= 0 && !e.again) {
                    event word{now + static_cast<int64_t>(latency_ns(e.to, e.from)), ++number_, e.from, e.to, {}};
                    word.word = true, word.asked_ns = e.asked_ns, word.tells = e.tells;
                    events_.push(std::move(word));
                }
                p.node.receive(e.from, e.bytes, now);
            }
            else if (p.wakes_ == e.at || p.wakes_ <= now)
                p.wakes_ = INT64_MAX;
            p.node.step(now);
            if (p.work) {
                p.work();
                p.node.step(now);
            }
            if (p.busy_until_ > now)
                wake(e.to, now < p.room_from() ? p.room_from() : p.busy_until_);
            const int64_t next = p.node.deadline();
            if (next != INT64_MAX)
                wake(e.to, std::max(next, now + us));
        }
        return true;
    }

    network net;
    std::mt19937_64 random;
    std::vector<std::unique_ptr<process>> all;
    int64_t now = 0;
    uint64_t handled = 0, repeated = 0;         // events; of them, messages that have come before
    /** May change a message on its way. */
    std::function<void(int from, int to, std::vector<std::byte> &)> meddle;

private:
    friend class process;
    struct event {
        int64_t at;
        uint64_t number;
        int to, from;               // from -1: a wake-up
        std::vector<std::byte> bytes;
        int64_t leaves = 0;         // it comes to the link between sites, and arrives so long after it
        uint64_t came = 0;          // so many bytes have come there, it says
        bool again = false;         // it has come before
        int64_t asked_ns = -1;      // word is to be given of when it has come; when it was sent
        bool tells = false;         // and that tells how far it is
        bool word = false;          // it is that
        bool operator<(const event &other) const { return std::pair(at, number) > std::pair(other.at, other.number); }
    };
    void arrived(int from, int to, uint64_t bytes)
    {
        process &p = (*this)[from];
        p.came(to, bytes);
        const auto others = static_cast<uint64_t>(std::count_if(p.paces_.begin(), p.paces_.end(), [](const auto &x) { return x.second.is_limited(); }));
        if (p.paces_[to].came(now, bytes, others))
            p.node.paced(to, p.paces_[to].rate(), now);
        wake(from, now);
    }

    size_t pair_index(int a, int b) const { return static_cast<size_t>(a) * all.size() + static_cast<size_t>(b); }

    bool is_far(int a, int b) const { return net.site[static_cast<size_t>(a)] != net.site[static_cast<size_t>(b)]; }

    /** Without jitter. */
    double latency_ns(int from, int to) const
    {
        const int64_t one_ns = is_far(from, to) ? net.far_ns : net.on_one_host(from, to) ? net.beside_ns : net.near_ns;
        return static_cast<double>(one_ns) * pair_[pair_index(std::min(from, to), std::max(from, to))] * (net.slower ? net.slower(from, to, now) : 1);
    }

    void carry(int from, int to, std::vector<std::byte> bytes)
    {
        process &p = (*this)[from];
        double rate = net.rate;
        if (rate > 0 && net.rate_factor)
            rate *= net.rate_factor(from, now);
        const int64_t takes = rate > 0 ? static_cast<int64_t>(static_cast<double>(bytes.size() + 66) / rate * 1e9) : 0;
        p.busy_until_ = std::max(p.busy_until_, now) + takes;
        double latency = latency_ns(from, to) * (1 + net.jitter * uniform(0, 1));
        if (net.stalls > 0 && uniform(0, 1) < net.stalls)
            latency *= net.stalled;
        if (meddle)
            meddle(from, to, bytes);
        process::asked &a = p.asked_[to];
        const bool brief = bytes.size() <= 8 << 10 && p.there_[to] <= 32 << 10 && now - a.last_ns >= ms;
        a.bytes += bytes.size(), a.last_ns = now;
        const bool asks = ++a.messages >= 16 || a.bytes >= 32 << 10 || (brief && now - a.asked_ns >= tells_every_ns), tells = asks && brief;
        if (asks)
            a.bytes = a.messages = 0, a.asked_ns = now;
        p.seen_[to].sent(now, p.there_[to] == 0);
        p.there_[to] += bytes.size();
        if (net.link && is_far(from, to))
            events_.push({p.busy_until_, ++number_, to, from, std::move(bytes), static_cast<int64_t>(latency), 0, false, asks ? now : -1, tells});
        else
            arrive(from, to, p.busy_until_ + static_cast<int64_t>(latency), std::move(bytes), asks ? now : -1, tells);
    }

    /** Not before what was sent there before. */
    void arrive(int from, int to, int64_t at, std::vector<std::byte> bytes, int64_t asked_ns, bool tells)
    {
        int64_t &last = last_[pair_index(from, to)];
        last = std::max(last + 1, at);
        if (net.repeats > 0 && uniform(0, 1) < net.repeats)
            events_.push({last + 1 + static_cast<int64_t>(uniform(0, 1) * (below(2) ? 100 : 2) * static_cast<double>(net.far_ns)), ++number_, to, from, bytes, 0, 0, true});
        events_.push({last, ++number_, to, from, std::move(bytes), 0, 0, false, asked_ns, tells});
    }

    std::vector<double> pair_;
    std::map<std::pair<int, int>, int64_t> link_busy_;      // of sites
    std::vector<int64_t> last_;
    std::priority_queue<event> events_;
    uint64_t number_ = 0;
};

inline void process::send(int to, std::span<const std::byte> head, std::span<const std::byte> payload)
{
    std::vector<std::byte> bytes(head.begin(), head.end());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    ++sent;
    if (!head.empty() && static_cast<uint8_t>(head[0]) >= static_cast<uint8_t>(tell_kind::deliver)) {
        ++data_sent;
        most_payload = std::max(most_payload, payload.size());
    }
    sim_.carry(me_, to, std::move(bytes));
}

/** A message or two that wait in the network card are as much as there may be: of each byte there so many count. */
constexpr double room_counts = 8, room_bytes = 128 << 10;

inline uint64_t process::under_way(int to) const
{
    if (sim_.net.link) {
        const auto at = there_.find(to);
        return at == there_.end() ? 0 : at->second;
    }
    return sim_.net.rate > 0 ? static_cast<uint64_t>(static_cast<double>(std::max<int64_t>(0, busy_until_ - sim_.now)) * sim_.net.rate / 1e9 * room_counts) : 0;
}

inline void process::came(int to, uint64_t bytes)
{
    there_[to] -= bytes;
    seen_[to].came(sim_.now, bytes);
}

inline uint64_t process::delivered(int to) const
{
    const auto at = seen_.find(to);
    return at == seen_.end() ? 0 : at->second.rate(sim_.now);
}

inline int64_t process::round_trip_ns(int to) const
{
    const auto at = seen_.find(to);
    return at == seen_.end() ? 0 : at->second.round_trip_ns(sim_.now);
}

inline int64_t process::waited_ns() const
{
    return looked_ == sim_.now ? waited_ : 0;
}

inline void process::limited(int to)
{
    paces_[to].limited(sim_.now);
}

inline int64_t process::room_from() const
{
    return busy_until_ - static_cast<int64_t>(room_bytes / room_counts / sim_.net.rate * 1e9);
}

/** Sites of so many processes each. */
inline network shape(int sites, int each)
{
    network n;
    for (int i = 0; i < sites * each; ++i)
        n.site.push_back(i / each);
    return n;
}

} // namespace adaptive_test

#endif
