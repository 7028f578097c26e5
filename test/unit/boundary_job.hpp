/*
 * A job in one process for tests of the C boundary: ranks whose messages are
 * delivered in a drawn order, and a clock that goes on by a tick at each look.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_BOUNDARY_JOB_HPP
#define WAN_TEST_BOUNDARY_JOB_HPP

#include "wan_core.h"
#include "unit.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace wan_test {

/** A call with elements of `bytes` bytes, one after the other. */
inline wan_call_t call_of(wan_collective_t collective, int root, size_t count, size_t bytes, const void *in, void *out)
{
    wan_call_t c{};
    c.collective = collective;
    c.root = root;
    c.count = count;
    c.element_bytes = bytes;
    c.extent = static_cast<ptrdiff_t>(bytes);
    c.in = in;
    c.out = out;
    c.commutative = true;
    return c;
}

struct fabric;

struct end {
    fabric *f = nullptr;
    int rank = 0;
    wan_run_t *run = nullptr;
    std::deque<std::vector<char>> scratch;
};

/** Moves elements of `extent` bytes; uint32 sums. */
struct fabric {
    struct message {
        std::vector<char> bytes;
    };
    struct waiting {
        char *to;
        size_t bytes;
        uint32_t token;
    };
    using channel = std::tuple<int, int, int>;
    std::vector<end> ends;
    std::map<channel, std::deque<message>> sent;
    std::map<channel, std::deque<waiting>> wanted;
    size_t extent = 1;
    int64_t clock = 0, tick = 1000;     // ns, from one look to the next
    int fail_code = 0;          // completions of receives of rank 0 carry it
    bool no_scratch = false;
    std::function<void(std::array<int64_t, WAN_FACTS> &found)> otherwise;      // what a measurement is to find instead
    wan_port_t port{};
    std::mt19937_64 random{5};

    explicit fabric(int ranks) : ends(static_cast<size_t>(ranks))
    {
        for (int r = 0; r < ranks; ++r)
            ends[static_cast<size_t>(r)] = {this, r, nullptr, {}};
        port.post_send = [](void *c, const void *b, size_t n, int peer, int label, uint32_t token) -> int {
            auto &e = *static_cast<end *>(c);
            auto *p = static_cast<const char *>(b);
            e.f->sent[{e.rank, peer, label}].push_back({{p, p + n * e.f->extent}});
            wan_run_complete(e.run, token, 0);      // before it returns
            return WAN_OK;
        };
        port.post_recv = [](void *c, void *b, size_t n, int peer, int label, uint32_t token) -> int {
            auto &e = *static_cast<end *>(c);
            e.f->wanted[{peer, e.rank, label}].push_back({static_cast<char *>(b), n * e.f->extent, token});
            return WAN_OK;
        };
        port.reduce = [](void *, const void *src, void *dst, size_t n) -> int {
            for (size_t i = 0; i < n; ++i)
                static_cast<uint32_t *>(dst)[i] += static_cast<const uint32_t *>(src)[i];
            return WAN_OK;
        };
        port.copy = [](void *c, const void *src, void *dst, size_t n) -> int {
            std::memcpy(dst, src, n * static_cast<end *>(c)->f->extent);
            return WAN_OK;
        };
        port.scratch = [](void *c, size_t n) -> void * {
            auto &e = *static_cast<end *>(c);
            return e.f->no_scratch ? nullptr : e.scratch.emplace_back(n * e.f->extent).data();
        };
        port.now_ns = [](void *c) -> int64_t { auto &f = *static_cast<end *>(c)->f; return f.clock += f.tick; };
    }

    bool deliver()
    {
        std::vector<channel> possible;
        for (auto &[at, queue] : wanted)
            if (!queue.empty() && !sent[at].empty())
                possible.push_back(at);
        if (possible.empty())
            return false;
        const channel at = possible[random() % possible.size()];
        message m = std::move(sent[at].front());
        const waiting w = wanted[at].front();
        sent[at].pop_front();
        wanted[at].pop_front();
        if (m.bytes.size() != w.bytes)
            throw std::runtime_error("sizes differ");
        if (w.bytes)
            std::memcpy(w.to, m.bytes.data(), w.bytes);
        wan_run_complete(ends[static_cast<size_t>(std::get<1>(at))].run, w.token, std::get<1>(at) == 0 ? fail_code : 0);
        return true;
    }

    /** Runs all ends that have a run to the end; the worst code. */
    int run_all()
    {
        int worst = WAN_DONE;
        std::vector<bool> done(ends.size());
        size_t left = 0;
        for (size_t r = 0; r < ends.size(); ++r)
            left += !(done[r] = !ends[r].run);
        for (;;) {
            for (size_t r = 0; r < ends.size(); ++r)
                if (!done[r] && wan_run_pending(ends[r].run))
                    if (const int rc = wan_run_progress(ends[r].run); rc != WAN_OK) {
                        done[r] = true;
                        --left;
                        worst = std::min(worst, rc);
                    }
            if (!left || !deliver())
                return left ? std::min(worst, static_cast<int>(WAN_ERR_INTERNAL)) : worst;
        }
    }
    bool empty() const
    {
        for (const auto &[at, q] : sent)
            if (!q.empty())
                return false;
        return true;
    }
};

struct params : wan_params_t {
    char nothing[1] = {0};
    params() : wan_params_t{}
    {
        cluster_id = cluster_id_file = cluster_map = nothing;
        priority = 50;
        measure_share = 100;        // in the first call
    }
};

struct comm_close {
    void operator()(wan_comm_t *c) const { wan_comm_close(c); }
};
using comm_ptr = std::unique_ptr<wan_comm_t, comm_close>;

inline std::string text_of(const wan_refusal_t &why)
{
    char text[256];
    const int length = wan_refusal_describe(&why, text, sizeof text);
    return length == static_cast<int>(std::strlen(text)) ? text : "";
}

inline comm_ptr open(const wan_params_t &p, const std::vector<wan_peer_t> &peers, int me, std::string *reason = nullptr)
{
    wan_comm_t *c = nullptr;
    wan_refusal_t why;
    const int rc = wan_comm_open(&p, peers.data(), static_cast<int>(peers.size()), me, &c, &why);
    if (reason)
        *reason = rc == WAN_OK ? "" : text_of(why);
    return comm_ptr(rc == WAN_OK ? c : nullptr);
}

using ballot = std::array<int64_t, WAN_VOTES>;

inline ballot vote(const wan_comm_t *c)
{
    ballot v;
    wan_comm_vote(c, v.data());
    return v;
}

inline ballot least(const ballot &a, const ballot &b)
{
    ballot m;
    for (size_t i = 0; i < m.size(); ++i)
        m[i] = std::min(a[i], b[i]);
    return m;
}

/** Sites are numbered anew for each test: facts are remembered by their names. */
inline std::vector<wan_peer_t> peers_of(const std::vector<const char *> &sites)
{
    std::vector<wan_peer_t> p;
    for (size_t r = 0; r < sites.size(); ++r)
        p.push_back({sites[r], r, 0});
    return p;
}

/** One measurement on all ranks, as the core wants it; *learned: what it says to that, on all ranks. */
inline std::string measure(const std::vector<comm_ptr> &comms, fabric &f, int *learned, int *runs = nullptr)
{
    f.extent = 1;
    for (int step = 0;; ++step) {
        size_t ended = 0;
        for (size_t r = 0; r < comms.size(); ++r) {
            const int rc = wan_comm_probe(comms[r].get(), &f.port, &f.ends[r], &f.ends[r].run);
            WAN_CHECK(rc == WAN_OK || rc == WAN_DONE);
            WAN_CHECK((rc == WAN_DONE) == (f.ends[r].run == nullptr));
            ended += rc == WAN_DONE;
        }
        WAN_CHECK(ended == 0 || ended == comms.size());
        if (runs)
            *runs = step;
        if (ended)
            break;
        WAN_CHECK(f.run_all() == WAN_DONE);
        for (auto &e : f.ends) {
            wan_run_release(e.run);
            e.run = nullptr;
        }
    }
    std::array<int64_t, WAN_FACTS> facts{}, mine{};
    for (const auto &c : comms) {
        wan_comm_facts(c.get(), mine.data());
        for (size_t i = 0; i < facts.size(); ++i)
            facts[i] = std::max(facts[i], mine[i]);
    }
    if (f.otherwise)
        f.otherwise(facts);
    *learned = wan_comm_learn(comms[0].get(), facts.data());
    for (size_t r = 1; r < comms.size(); ++r)
        WAN_CHECK(wan_comm_learn(comms[r].get(), facts.data()) == *learned);
    return f.empty() ? "" : "messages are left";
}

/** What the glue does before a blocking call: measures what is left, if it is time to. */
inline std::string refresh(const std::vector<comm_ptr> &comms, fabric &f)
{
    while (wan_comm_measures(comms[0].get()) && wan_comm_affords(comms[0].get())) {
        int learned = WAN_DONE;
        while (learned == WAN_DONE)
            if (std::string why = measure(comms, f, &learned); !why.empty())
                return why;
    }
    return "";
}

/** Agreement on all ranks. */
inline std::string agree(const std::vector<comm_ptr> &comms)
{
    ballot all = vote(comms[0].get());
    for (const auto &c : comms)
        all = least(all, vote(c.get()));
    for (const auto &c : comms) {
        wan_refusal_t why;
        WAN_CHECK_THAT(wan_comm_agree(c.get(), all.data(), &why) == WAN_OK, text_of(why));
    }
    return "";
}

/** And measuring; "" when all know the same. */
inline std::string bring_up(const std::vector<comm_ptr> &comms, fabric &f, int *runs = nullptr)
{
    if (std::string why = agree(comms); !why.empty())
        return why;
    int learned = WAN_ERR_INTERNAL;
    if (std::string why = measure(comms, f, &learned, runs); !why.empty())
        return why;
    WAN_CHECK(learned == WAN_OK);
    return refresh(comms, f);
}

} // namespace wan_test

#endif
