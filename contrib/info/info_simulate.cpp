/*
 * See info_simulate.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_simulate.hpp"

#include "exec/engine.hpp"
#include "model/cost.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <tuple>

namespace info {

namespace {

/** Something that lets messages pass one after the other, `burst` bytes at once after a pause. */
struct way {
    int64_t byte_ps = 0;        // 0: as fast as can be
    int64_t burst_bytes = 0;
    int64_t until_ns = INT64_MIN / 2;       // what it has promised so far; all of a burst is there at first

    int64_t wire_ns(uint64_t bytes) const { return static_cast<int64_t>(static_cast<__int128>(bytes) * byte_ps / 1000); }
    /** first, last: when its first and last bytes come; then, when they have passed. */
    void pass(uint64_t bytes, int64_t &first, int64_t &last)
    {
        const int64_t takes = wire_ns(bytes), saved = wire_ns(static_cast<uint64_t>(burst_bytes));
        until_ns = std::max(until_ns, first - saved) + takes;
        const int64_t end = std::max(last, until_ns);
        first = std::max(first, std::min(end, until_ns) - takes);
        last = end;
    }
};

struct message {
    int from, to, label;
    uint64_t bytes;
    uint32_t send_token, recv_token = 0;
    int64_t first_ns = 0, last_ns = 0;      // at the way that it comes to next
    size_t stage = 0;
    bool posted = false, here = false, asked = false;   // the receive; it, or where it asks first, the question
    bool eager = true;
};

class network {
public:
    network(const cluster &c, const wan::plan &p, const wan_call_t &call);
    simulated run();

private:
    enum class kind { progress, enter, question, data };
    struct event {
        int64_t at_ns;
        uint64_t serial;
        kind what;
        size_t of;          // rank or message
        bool operator>(const event &o) const { return std::tie(at_ns, serial) > std::tie(o.at_ns, o.serial); }
    };
    struct context {
        network *all;
        int rank;
    };
    struct process {
        int64_t free_ns = 0;        // when it has done what it has begun
        bool done = false;
    };
    /** A stage of a message's journey: a way (nullptr: none), and how far it is to the next. */
    struct leg {
        way *over;
        int64_t far_ns;
    };

    const wan::topology &topo_;
    const wan::facts &facts_;
    size_t element_bytes_;
    wan_port_t port_{};
    std::vector<context> contexts_;
    std::vector<std::unique_ptr<wan::engine>> engines_;
    std::vector<process> processes_;
    std::vector<message> messages_;
    std::map<std::tuple<int, int, int>, std::deque<size_t>> sent_, wanted_;     // not yet matched: messages; receives as such
    std::priority_queue<event, std::vector<event>, std::greater<>> events_;
    uint64_t serial_ = 0;
    int64_t now_ns_ = 0;
    std::vector<way> out_, in_;                 // by host: interfaces
    std::vector<way> up_, down_;                // by site: to and from all others
    std::map<std::pair<int, int>, way> between_;
    std::vector<std::pair<int, uint32_t>> completions_;     // to come: of a rank, a token
    simulated sums_;

    size_t host_of(int rank) const
    {
        const auto at = topo_.locate(rank);
        return static_cast<size_t>(first_host_[value(at.site)] + at.node);
    }
    std::vector<int> first_host_;

    void at(int64_t ns, kind what, size_t of) { events_.push({ns, serial_++, what, of}); }
    int64_t latency_ns(const message &m) const;
    std::vector<leg> legs(const message &m);
    int post_send(int rank, uint64_t bytes, int peer, int label, uint32_t token);
    int post_recv(int rank, int peer, int label, uint32_t token);
    void travel(size_t n, int64_t from_ns);
    void enter(size_t n);
    void meet(size_t n);
    void arrived(size_t n);
    void finish(int rank, uint32_t token, int64_t spent_ns);
    void progress(size_t rank);
};

/** Nobody looks at what is in memory: addresses are counted, no more. */
void *nowhere() { return reinterpret_cast<void *>(uintptr_t{1} << 46); }

network::network(const cluster &c, const wan::plan &p, const wan_call_t &call)
    : topo_(c.topo()), facts_(c.facts()), element_bytes_(call.element_bytes), processes_(static_cast<size_t>(topo_.size()))
{
    port_.post_send = [](void *ctx, const void *, size_t count, int peer, int label, uint32_t token) {
        const auto &c = *static_cast<context *>(ctx);
        return c.all->post_send(c.rank, count * c.all->element_bytes_, peer, label, token);
    };
    port_.post_recv = [](void *ctx, void *, size_t, int peer, int label, uint32_t token) {
        const auto &c = *static_cast<context *>(ctx);
        return c.all->post_recv(c.rank, peer, label, token);
    };
    port_.reduce = [](void *, const void *, void *, size_t) -> int { return WAN_OK; };
    port_.copy = [](void *, const void *, void *, size_t) -> int { return WAN_OK; };
    port_.scratch = [](void *, size_t) { return nowhere(); };
    port_.now_ns = [](void *ctx) { return static_cast<context *>(ctx)->all->now_ns_; };

    for (int s = 0, hosts = 0; s < topo_.site_count(); ++s) {
        const auto shared = static_cast<size_t>(s) < facts_.uplink_ps.size() ? facts_.uplink_ps[static_cast<size_t>(s)] : 0;
        first_host_.push_back(hosts);
        hosts += topo_.node_count(wan::site_id{static_cast<uint32_t>(s)});
        out_.resize(static_cast<size_t>(hosts), {facts_.byte_ps, facts_.burst_bytes});
        up_.push_back({shared});
    }
    in_ = out_;
    down_ = up_;
    contexts_.reserve(processes_.size());
    for (int r = 0; r < topo_.size(); ++r) {
        contexts_.push_back({this, r});
        wan_call_t mine = call;
        mine.in = nowhere();
        mine.out = static_cast<char *>(nowhere()) + (ptrdiff_t{1} << 44);
        auto [where, scattered, far_block_bytes] = wan::bind_call(topo_, r, mine);
        where.segment = std::max<size_t>(1, p.segment_bytes / call.element_bytes);
        where.window = p.window;
        engines_.push_back(std::make_unique<wan::engine>(std::make_shared<wan::program>(wan::build_schedule(topo_, p, r, scattered)),
                                                         std::move(where), &port_, &contexts_.back()));
        at(0, kind::progress, static_cast<size_t>(r));
    }
}

int64_t network::latency_ns(const message &m) const
{
    const auto a = topo_.locate(m.from), b = topo_.locate(m.to);
    if (a.site == b.site && a.node == b.node)
        return 0;
    // What both processes spend is in what was measured.
    return std::max<int64_t>(0, facts_.latency_ns(a.site, b.site) - 2 * facts_.message_ns);
}

std::vector<network::leg> network::legs(const message &m)
{
    const auto a = topo_.locate(m.from), b = topo_.locate(m.to);
    const int64_t far = latency_ns(m);
    if (a.site == b.site)
        return a.node == b.node ? std::vector<leg>{{nullptr, 0}} : std::vector<leg>{{&out_[host_of(m.from)], far}, {&in_[host_of(m.to)], 0}};
    const int x = static_cast<int>(value(a.site)), y = static_cast<int>(value(b.site));
    const size_t pair = static_cast<size_t>(x) * static_cast<size_t>(facts_.sites) + static_cast<size_t>(y);
    const auto it = between_.try_emplace({x, y}, way{pair < facts_.link_ps.size() ? facts_.link_ps[pair] : 0}).first;
    return {{&out_[host_of(m.from)], 0}, {&up_[static_cast<size_t>(x)], 0}, {&it->second, far}, {&down_[static_cast<size_t>(y)], 0},
            {&in_[host_of(m.to)], 0}};
}

int network::post_send(int rank, uint64_t bytes, int peer, int label, uint32_t token)
{
    process &me = processes_[static_cast<size_t>(rank)];
    me.free_ns = std::max(me.free_ns, now_ns_) + facts_.message_ns;
    ++sums_.messages;
    if (topo_.site_of(rank) != topo_.site_of(peer))
        sums_.bytes_across += bytes;
    size_t n;
    auto &receives = wanted_[{rank, peer, label}];
    if (receives.empty()) {
        n = messages_.size();
        messages_.push_back({rank, peer, label, bytes, token});
        sent_[{rank, peer, label}].push_back(n);
    } else {
        n = receives.front();
        receives.pop_front();
        messages_[n].bytes = bytes;
        messages_[n].send_token = token;
    }
    message &m = messages_[n];
    m.eager = !wan::exchange_waits(facts_, bytes) || latency_ns(m) == 0;
    if (m.eager) {
        travel(n, me.free_ns);
        finish(rank, token, 0);
    } else {
        at(me.free_ns + latency_ns(m), kind::question, n);
    }
    return WAN_OK;
}

int network::post_recv(int rank, int peer, int label, uint32_t token)
{
    auto &sends = sent_[{peer, rank, label}];
    size_t n;
    if (sends.empty()) {
        n = messages_.size();
        messages_.push_back({peer, rank, label, 0, 0});
        wanted_[{peer, rank, label}].push_back(n);
    } else {
        n = sends.front();
        sends.pop_front();
    }
    messages_[n].posted = true;
    messages_[n].recv_token = token;
    meet(n);
    return WAN_OK;
}

/** Its bytes set out. */
void network::travel(size_t n, int64_t from_ns)
{
    messages_[n].stage = 0;
    messages_[n].first_ns = messages_[n].last_ns = from_ns;
    at(from_ns, kind::enter, n);
}

void network::enter(size_t n)
{
    message &m = messages_[n];
    const auto all = legs(m);
    const leg &l = all[m.stage];
    if (l.over)
        l.over->pass(m.bytes, m.first_ns, m.last_ns);
    if (m.stage == 0 && !m.eager)
        finish(m.from, m.send_token, m.last_ns - now_ns_);      // when its last byte has left
    m.first_ns += l.far_ns;
    m.last_ns += l.far_ns;
    if (++m.stage < all.size())
        at(m.first_ns, kind::enter, n);
    else
        at(m.last_ns, kind::data, n);
}

/** A question has come, or a receive was posted: with both, the sender is told to send. */
void network::meet(size_t n)
{
    message &m = messages_[n];
    if (m.here && m.posted)
        arrived(n);
    else if (m.asked && m.posted && !m.eager) {
        m.asked = false;
        travel(n, now_ns_ + latency_ns(m));
    }
}

/** The receiver takes it, when it is free. */
void network::arrived(size_t n)
{
    const message &m = messages_[n];
    process &to = processes_[static_cast<size_t>(m.to)];
    to.free_ns = std::max(to.free_ns, now_ns_) + facts_.message_ns;
    finish(m.to, m.recv_token, to.free_ns - now_ns_);
}

void network::finish(int rank, uint32_t token, int64_t later_ns)
{
    if (later_ns <= 0) {
        engines_[static_cast<size_t>(rank)]->complete(token, 0);
        return at(now_ns_, kind::progress, static_cast<size_t>(rank));
    }
    completions_.push_back({rank, token});
    at(now_ns_ + later_ns, kind::progress, processes_.size() + completions_.size() - 1);
}

void network::progress(size_t of)
{
    size_t rank = of;
    if (of >= processes_.size()) {
        const auto &[who, token] = completions_[of - processes_.size()];
        rank = static_cast<size_t>(who);
        engines_[rank]->complete(token, 0);
    }
    process &me = processes_[rank];
    if (me.done)
        return;
    const int code = engines_[rank]->progress();
    if (code == WAN_DONE) {
        me.done = true;
        sums_.ns = std::max({sums_.ns, now_ns_, me.free_ns});
    } else if (code != WAN_OK) {
        throw std::logic_error("a schedule failed in the simulation: code " + std::to_string(code));
    }
}

simulated network::run()
{
    while (!events_.empty()) {
        const event e = events_.top();
        events_.pop();
        now_ns_ = e.at_ns;
        switch (e.what) {
        case kind::progress:
            progress(e.of);
            break;
        case kind::enter:
            enter(e.of);
            break;
        case kind::question:
            messages_[e.of].asked = true;
            meet(e.of);
            break;
        case kind::data:
            messages_[e.of].here = true;
            meet(e.of);
            break;
        }
    }
    for (size_t r = 0; r < processes_.size(); ++r)
        if (!processes_[r].done)
            throw std::logic_error("rank " + std::to_string(r) + " does not end in the simulation: " + engines_[r]->describe());
    return sums_;
}

} // namespace

simulated simulate(const cluster &c, const wan::plan &p, const wan_call_t &call)
{
    if (c.topo().size() > most_simulated_ranks)
        throw wrong_word("--simulate: up to " + std::to_string(most_simulated_ranks) + " ranks; the plan of fewer is of the same kind");
    return network(c, p, call).run();
}

} // namespace info
