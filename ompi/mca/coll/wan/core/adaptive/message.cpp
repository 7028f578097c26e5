/*
 * See message.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/message.hpp"

namespace wan {

namespace {

/** As one number. */
template <typename Bool> struct states {
    Bool &connected, &slowed;
};
template <typename Bool> states(Bool &, Bool &) -> states<Bool>;

/** Calls f with each field of a message of this kind, in their order on the wire. */
template <typename Message, typename F> void each_field(Message &m, F f)
{
    switch (m.what) {
    case tell_kind::ping: f(m.value_ns); return;
    case tell_kind::pong: f(m.hint), f(m.value_ns), f(m.slow); return;
    case tell_kind::distance: f(m.value_ns); return;
    case tell_kind::bulk: f(m.last); return;
    case tell_kind::bulk_done: f(m.value_ns); return;
    case tell_kind::pace: f(m.value_ns), f(m.slow); return;
    case tell_kind::when:
    case tell_kind::begun: f(m.op); return;
    default: break;
    }
    f(m.tree.root), f(m.tree.bandwidth);
    switch (m.what) {
    case tell_kind::ask:
    case tell_kind::tell:
        f(m.id), f(states{m.view.connected, m.view.slowed}), f(m.view.dist_ns), f(m.view.est), f(m.view.children), f(m.view.ancestors), f(m.view.gate),
            f(m.view.gate_dist_ns), f(m.view.tip), f(m.view.end), f(m.view.mover);
        if (m.what == tell_kind::tell)
            f(m.value_ns);
        return;
    case tell_kind::attach: f(m.children), f(m.ranks); return;
    case tell_kind::under: f(m.ranks), f(m.hint), f(m.end), f(m.bytes); return;
    case tell_kind::gate: f(m.hint); return;
    case tell_kind::deliver: f(m.op), f(m.ranks), f(m.bytes), f(m.segment_bytes); return;
    case tell_kind::contribute: f(m.op), f(m.index), f(m.last), f(m.ranks); return;
    case tell_kind::segment:
    case tell_kind::accept:
    case tell_kind::confirm:
    case tell_kind::detach:
    case tell_kind::redirect:
    case tell_kind::redirected: f(m.op); return;
    default: return;        // refuse
    }
}

struct putter {
    wire_writer &w;
    void operator()(const rank_set &s) const { s.put(w); }
    void operator()(const states<const bool> &s) const { w.number(uint64_t{s.connected} + 2 * uint64_t{s.slowed}); }
    template <typename T> void operator()(const T &x) const { w.number(static_cast<uint64_t>(static_cast<int64_t>(x) + std::is_same_v<T, int>)); }
};

struct getter {
    wire_reader &r;
    int ranks;
    bool &good;
    void operator()(rank_set &s) const { good = good && s.get(r, ranks); }
    void operator()(const states<bool> &s) const
    {
        const uint64_t both = r.number();
        s.connected = both & 1, s.slowed = both & 2;
    }
    /** A rank, or -1; or how many. */
    void operator()(int &x) const
    {
        const uint64_t y = r.number();
        good = good && y <= static_cast<uint64_t>(ranks);
        x = static_cast<int>(y) - 1;
    }
    template <typename T> void operator()(T &x) const { x = static_cast<T>(r.number()); }
};

} // namespace

std::vector<std::byte> message_put(const tell_message &m, uint64_t number)
{
    wire_writer w;
    w.number(static_cast<uint64_t>(m.what));
    w.number(number);
    each_field(m, putter{w});
    return {w.bytes().begin(), w.bytes().end()};
}

bool message_get(tell_message &m, std::span<const std::byte> bytes, int ranks)
{
    wire_reader r(bytes);
    const uint64_t what = r.number();
    if (!r.good() || what >= static_cast<uint64_t>(tell_kind::kinds))
        return false;
    m = {};
    m.what = static_cast<tell_kind>(what);
    m.number = r.number();
    bool good = true;
    each_field(m, getter{r, ranks, good});
    m.payload = r.rest();
    return good && r.good() && m.tree.root >= 0 && m.tree.root < ranks;
}

} // namespace wan
