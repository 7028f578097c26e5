/*
 * A simulated network for discovery (measure/discovery.hpp): hosts in sites and parts of sites, messages that take
 * their time, processes that look for them now and then.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_DISCOVERY_NETWORK_HPP
#define WAN_TEST_DISCOVERY_NETWORK_HPP

#include "measure/discovery.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace wan_test {

using wan::discovery;

constexpr int64_t us = 1'000, ms = 1'000'000;

/** How a process spends its time. */
struct habit {
    int64_t starts = 0;             // first look
    int64_t busy = 0, idle = 0;     // computes so long without a look, then looks all the time so long; 0: always looks
    int64_t pause = 20 * us;        // between looks
};

struct network {
    std::vector<int> site_of_host;
    std::vector<int> host_of_rank;
    std::vector<std::vector<int64_t>> one_way_ns;   // between sites; diagonal: inside
    std::vector<std::vector<int>> part_of_host;     // inside the site, part in part, each numbered in the whole job; empty: none
    std::vector<int64_t> apart_ns;                  // one way between parts of each of those levels
    std::vector<std::vector<double>> bytes_per_ns;  // from site to site, of all messages there together; empty: any number
    double burst_bytes = 0;                         // that such a link lets pass at once after a rest
    wan::site_ways::options ways{.bytes = 0};       // whether they are measured
    double jitter = 0.2;                            // of each message's time, at most, either way
    std::vector<habit> habits;                      // of ranks

    int ranks() const { return static_cast<int>(host_of_rank.size()); }

    int64_t way_ns(int a, int b) const
    {
        const auto from = static_cast<size_t>(a), to = static_cast<size_t>(b);
        if (a == b)
            return us;
        if (site_of_host[from] == site_of_host[to] && !part_of_host.empty())
            for (size_t level = 0; level < apart_ns.size(); ++level)
                if (part_of_host[from][level] != part_of_host[to][level])
                    return apart_ns[level];
        return one_way_ns[static_cast<size_t>(site_of_host[from])][static_cast<size_t>(site_of_host[to])];
    }
};

struct outcome {
    std::vector<std::vector<int>> site;     // by observer, then rank
    std::vector<std::vector<wan::site_finder::place>> place;    // likewise
    std::vector<std::vector<discovery::way_between>> ways;      // by observer
    std::map<std::pair<int, int>, int64_t> learned;             // bytes/s, by observer and rank
    int sites = 0;
    int64_t ended_ns = 0;                   // last rank knows
    int64_t complete_ns = 0;
    uint64_t messages = 0, most_sent = 0;   // all; by one rank
    uint64_t probes = 0;                    // pings among them: each has an answer
};

/** Runs all ranks until nothing more happens, or so long. */
class simulation {
public:
    simulation(const network &n, uint64_t seed, int64_t until_ns = 600'000 * ms) : until_ns_(until_ns), net_(n), random_(seed), looked_(static_cast<size_t>(n.ranks()), -1), sent_(static_cast<size_t>(n.ranks()))
    {
        std::vector<uint64_t> nodes;
        for (int h : n.host_of_rank)
            nodes.push_back(0x9e3779b97f4a7c15ull * static_cast<uint64_t>(h + 1));
        for (int r = 0; r < n.ranks(); ++r)
            ranks_.push_back(std::make_unique<discovery>(
                nodes, r, [this, r](int to, const void *bytes, size_t size) { send(r, to, bytes, size); }, n.ways,
                [this, r](int to, int64_t, int64_t rate, int64_t) { learned_[{r, to}] = rate; }));
    }

    /** Called with whatever comes to a process that looks; true: it gets that, too. */
    std::function<bool(int64_t now_ns, int from, int to, std::vector<char> &bytes)> on_arrival;
    /** Something more, which nobody has sent. */
    void inject(int64_t at_ns, int from, int to, std::vector<char> bytes) { events_.push({at_ns, order_++, to, from, std::move(bytes), true}); }

    outcome run()
    {
        for (int r = 0; r < net_.ranks(); ++r)
            events_.push({habit_of(r).starts, order_++, r, -1, {}});
        outcome o;
        while (!events_.empty() && now_ < until_ns_) {
            event e = events_.top();
            events_.pop();
            const auto r = static_cast<size_t>(e.to);
            const int64_t now = looks_at(e.to, std::max(e.at, looked_[r]));
            if (now > e.at) {       // not looking just now
                events_.push({now, order_++, e.to, e.from, e.bytes, e.injected});
                continue;
            }
            const int64_t before = last_look(e.to, now);
            for (const int64_t at : {before, now})
                if (at > looked_[r] && (looked_[r] >= 0 || at == now)) {
                    now_ = at;      // what it sends leaves then
                    ranks_[r]->look(at);
                    looked_[r] = at;
                }
            now_ = now;
            const bool knew = ranks_[r]->finished();
            if (e.from >= 0 && (e.injected || !on_arrival || on_arrival(now, e.from, e.to, e.bytes)))
                ranks_[r]->receive(e.from, e.bytes.data(), e.bytes.size());
            if (ranks_[r]->finished() && !knew)
                o.ended_ns = std::max(o.ended_ns, now);
            if (e.from < 0 && !ranks_[r]->complete())
                events_.push({now + 10 * ms, order_++, e.to, -1, {}});      // looks anyway
            if (!ranks_[r]->complete())
                o.complete_ns = std::max(o.complete_ns, now);
        }
        for (const auto &d : ranks_) {
            o.site.emplace_back();
            o.place.emplace_back();
            o.ways.push_back(d->complete() ? d->ways_between() : std::vector<discovery::way_between>{});
            if (d->finished())
                for (int r = 0; r < net_.ranks(); ++r) {
                    o.site.back().push_back(d->site_of(r));
                    o.place.back().push_back(d->place_of(r));
                }
        }
        o.learned = learned_;
        o.sites = ranks_[0]->finished() ? ranks_[0]->sites() : 0;
        o.probes = probes_;
        for (uint64_t s : sent_) {
            o.messages += s;
            o.most_sent = std::max(o.most_sent, s);
        }
        return o;
    }

private:
    struct event {
        int64_t at;
        uint64_t order;
        int to, from;       // from -1: the first look
        std::vector<char> bytes;
        bool injected = false;
        friend bool operator>(const event &a, const event &b) { return std::tie(a.at, a.order) > std::tie(b.at, b.order); }
    };

    /** Looks all the time from `from` to before `until`. */
    struct window {
        int64_t from, until;
    };

    const habit &habit_of(int r) const { return net_.habits[static_cast<size_t>(r)]; }

    /** The window at or after `t`: cycles of no fixed length, else two processes may never meet. */
    const std::vector<window> &windows_to(int r, int64_t t)
    {
        auto &all = windows_[static_cast<size_t>(r)];
        const habit &h = habit_of(r);
        std::uniform_real_distribution<double> some(0.7, 1.3);
        const auto length = [&](int64_t x) { return static_cast<int64_t>(static_cast<double>(x) * some(random_)); };
        while (all.empty() || all.back().until <= t) {
            const int64_t from = all.empty() ? h.starts : all.back().until + length(h.busy);
            all.push_back({from, h.busy ? from + length(h.idle) : INT64_MAX});
        }
        return all;
    }
    /** The first look at or after `t`, in units of an event: while it looks all the time, at once. */
    int64_t looks_at(int r, int64_t t)
    {
        for (const window &w : windows_to(r, t))
            if (t < w.until)
                return std::max(t, w.from);
        return t;
    }
    /** The last look before that one. */
    int64_t last_look(int r, int64_t t)
    {
        int64_t before = habit_of(r).starts;
        for (const window &w : windows_to(r, t)) {
            if (t <= w.from)
                return before;
            if (t < w.until)
                return std::max(w.from, t - habit_of(r).pause);
            before = w.until;
        }
        return before;
    }

    void send(int from, int to, const void *bytes, size_t size)
    {
        if (to < 0 || to >= net_.ranks() || size > discovery::message_max)
            throw std::logic_error("rank " + std::to_string(from) + " sends " + std::to_string(size) + " bytes to rank " + std::to_string(to));
        const int a = net_.host_of_rank[static_cast<size_t>(from)], b = net_.host_of_rank[static_cast<size_t>(to)];
        const int64_t way = net_.way_ns(a, b);
        std::uniform_real_distribution<double> shake(1 - net_.jitter, 1 + net_.jitter);
        int64_t at = leaves(a, b, size) + static_cast<int64_t>(static_cast<double>(way) * shake(random_));
        if (connected_.insert({std::min(from, to), std::max(from, to)}).second)
            at += 4 * way;      // two round trips before the first message
        int64_t &last = order_of_[{from, to}];      // one message after the other
        at = last = std::max(at, last + 1);
        ++sent_[static_cast<size_t>(from)];
        uint32_t what = 0;
        std::memcpy(&what, bytes, sizeof what);
        probes_ += what == 0;       // a ping, by discovery's header
        const char *text = static_cast<const char *>(bytes);
        events_.push({at, order_++, to, from, {text, text + size}});
    }

    /** When it has passed what all messages between two sites share. */
    int64_t leaves(int from_host, int to_host, size_t size)
    {
        const int a = net_.site_of_host[static_cast<size_t>(from_host)], b = net_.site_of_host[static_cast<size_t>(to_host)];
        if (net_.bytes_per_ns.empty() || a == b)
            return now_;
        const double rate = net_.bytes_per_ns[static_cast<size_t>(a)][static_cast<size_t>(b)];
        double &free_ns = busy_until_[{a, b}];
        free_ns = std::max(free_ns, static_cast<double>(now_) - net_.burst_bytes / rate) + static_cast<double>(size) / rate;
        return std::max(now_, static_cast<int64_t>(free_ns));
    }

    const int64_t until_ns_;
    const network &net_;
    std::map<std::pair<int, int>, double> busy_until_;
    std::map<std::pair<int, int>, int64_t> learned_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<discovery>> ranks_;
    std::vector<int64_t> looked_;
    std::map<size_t, std::vector<window>> windows_;
    std::vector<uint64_t> sent_;
    std::priority_queue<event, std::vector<event>, std::greater<>> events_;
    std::set<std::pair<int, int>> connected_;
    std::map<std::pair<int, int>, int64_t> order_of_;
    int64_t now_ = 0;
    uint64_t order_ = 0, probes_ = 0;
};

} // namespace wan_test

#endif
