/*
 * The adaptive trees of several processes with their services, as Open MPI's glue drives them: a seeded network that carries their messages.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_ADAPTIVE_JOB_HPP
#define TEST_ADAPTIVE_JOB_HPP

#include "adaptive/service.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <numeric>
#include <random>
#include <tuple>

namespace adaptive_test {

using namespace wan;

constexpr int64_t us = 1000, ms = 1'000'000, second_ns = 1'000'000'000;
constexpr int64_t step = 20 * us, quiet_for = 600 * ms;

inline void add(const std::byte *in, std::byte *inout, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i)
        inout[i] = static_cast<std::byte>(static_cast<int>(inout[i]) + static_cast<int>(in[i]));
}

/** Processes whose messages a seeded network carries, in order between any two. */
struct job {
    struct message {
        std::vector<std::byte> bytes;
        uint64_t counted;
        int64_t due;
    };
    struct arrival {
        int from, to;
        uint64_t counted;
        int64_t due;
    };
    explicit job(int n, uint64_t seed, const adaptive_options &o = {}) : random(seed)
    {
        way.resize(static_cast<size_t>(n) * static_cast<size_t>(n));
        free.resize(static_cast<size_t>(n));
        for (int p = 0; p < n; ++p)
            known.push_back(std::make_unique<measured_table>());
        for (int p = 0; p < n; ++p)
            services.push_back(std::make_unique<adaptive_service>(
                o, [this, p](int to, std::span<const std::byte> head, std::span<const std::byte> payload, uint64_t counted) {
                    std::vector<std::byte> bytes(head.begin(), head.end());
                    bytes.insert(bytes.end(), payload.begin(), payload.end());
                    ++sent;
                    if (sends)
                        sends(p, head);
                    auto &free_ns = free[static_cast<size_t>(p)];
                    free_ns = std::max(free_ns, now) + (rate ? static_cast<int64_t>(bytes.size() * 1'000'000'000 / rate) : 0);
                    at(p, to).push_back({std::move(bytes), counted, free_ns + (delay_of ? delay_of(p, to) : delay)});
                }, *known[static_cast<size_t>(p)], 1));
    }
    size_t size() const { return services.size(); }
    std::deque<message> &at(int from, int to) { return way[static_cast<size_t>(from) * size() + static_cast<size_t>(to)]; }

    adaptive_service::member *open(int process, uint64_t number, std::vector<int> processes, uint64_t stream = 0)
    {
        int me = 0;
        while (processes[static_cast<size_t>(me)] != process)
            ++me;
        adaptive_places places;
        for (size_t r = 0; host_of && r < processes.size(); ++r)
            if (host_of(processes[r]) == host_of(process))
                places.beside |= rank_set::one(static_cast<int>(r));
        return opened[{process, number, stream}] = services[static_cast<size_t>(process)]->open({number, 0, stream}, std::move(processes), me, [](int, size_t) {}, now, std::move(places));
    }

    void close(int process, uint64_t number, uint64_t stream)
    {
        services[static_cast<size_t>(process)]->close(opened.at({process, number, stream}));
    }

    /** Carries messages until `until` is true or nothing has been sent for a long time. */
    bool run(const std::function<bool()> &until)
    {
        for (int idle = 0; idle < quiet_for / step;) {
            if (until())
                return true;
            now += step;
            bool any = false;
            for (size_t i = 0; i < way.size(); ++i) {
                auto &q = way[(i + random() % way.size()) % way.size()];
                const auto index = static_cast<size_t>(&q - way.data());
                const int from = static_cast<int>(index / size()), to = static_cast<int>(index % size());
                if (q.empty() || deaf == to || dead.count(to) || q.front().due > now || is_away(to))
                    continue;
                const message m = std::move(q.front());
                q.pop_front();
                any = true;
                services[static_cast<size_t>(to)]->receive(from, m.bytes, now);
                if (m.counted)
                    words.push_back({from, to, m.counted, now + (!words_travel ? 0 : delay_of ? delay_of(to, from) : delay)});
                tell_arrivals();
            }
            any = tell_arrivals() || any;
            for (size_t p = 0; p < size(); ++p)
                if (!is_away(static_cast<int>(p)))
                    services[p]->step(now);
            idle = any ? 0 : idle + 1;
        }
        return until();
    }

    bool is_away(int process) const { return away && away(process, now); }
    /** What has been known there for long enough to be known here. */
    bool tell_arrivals()
    {
        bool any = false;
        for (auto at = words.begin(); at != words.end();) {
            if (at->due > now || is_away(at->from)) {
                ++at;
                continue;
            }
            const arrival a = *at;
            at = words.erase(at);
            any = true;
            services[static_cast<size_t>(a.from)]->arrived(a.to, a.counted, now);
        }
        return any;
    }

    std::mt19937_64 random;
    std::vector<std::unique_ptr<measured_table>> known;
    std::vector<std::unique_ptr<adaptive_service>> services;
    std::vector<std::deque<message>> way;
    std::map<std::tuple<int, uint64_t, uint64_t>, adaptive_service::member *> opened;
    int64_t now = 0, delay = 0;
    std::function<int(int process)> host_of;        // none: a host each
    std::function<int64_t(int from, int to)> delay_of;      // in place of delay
    bool words_travel = true;   // word of what has come does, too
    std::list<arrival> words;
    std::function<bool(int process, int64_t now)> away;         // it does not look then
    uint64_t rate = 0;          // bytes/s out of a process; 0: any
    std::vector<int64_t> free;  // its interface, from then on
    int deaf = -1;              // a process that does not receive
    std::set<int> dead;         // nor do these
    std::function<void(int from, std::span<const std::byte> head)> sends;       // looks at each message
    uint64_t sent = 0;
};

/** As it travels. */
inline std::vector<std::byte> message(uint64_t number, uint64_t stream, const tell_message &m)
{
    wire_writer w;
    for (uint64_t x : {number, uint64_t{0}, stream})
        w.number(x);
    w.append(message_put(m));
    return {w.bytes().begin(), w.bytes().end()};
}

inline std::vector<int> up_to(int n)
{
    std::vector<int> v(static_cast<size_t>(n));
    std::iota(v.begin(), v.end(), 0);
    return v;
}

} // namespace adaptive_test

#endif
