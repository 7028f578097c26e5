/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint.hpp"

#include "modern.hpp"
#include "strict.hpp"

#include <algorithm>

namespace udp {
namespace {

uint64_t name_of(uint32_t source, uint32_t token) { return static_cast<uint64_t>(source) << 32 | token; }

} // namespace

endpoint::endpoint(const config &c, uint32_t self, events &up) : config_(c), self_(self), up_(up), permits_(config_), known_(c.ids) {}
endpoint::~endpoint() = default;

uint32_t endpoint::peer_add(uint32_t id, const pair_keys &keys, const address &at, uint32_t mtu_most, uint64_t first, bool local, bool ours)
{
    const uint32_t index = static_cast<uint32_t>(peers_.size());
    if (!by_name_.emplace(name_of(id, keys.token), index).second)
        return ~uint32_t(0);
    if (ours && id < known_.size())
        known_[id] = true;      // one of another job may have the same id
    auto m = std::make_unique<member>();
    m->id = id;
    m->token = keys.token;
    m->at = m->home = at;
    m->mtu_most = mtu_most ? mtu_most : config_.mtu_max;
    m->first = first == ~uint64_t(0) ? grants::first(config_) : first;
    m->local = local;
    m->in = seal(keys.in);
    m->out = seal(keys.out);
    peers_.push_back(std::move(m));
    return index;
}

connection &endpoint::link(uint32_t peer)
{
    member &m = *peers_[peer];
    if (!m.link) {
        if (config_.strict)
            m.link = std::make_unique<strict>(peer, config_, up_, permits_);
        else
            m.link = std::make_unique<modern>(peer, config_, up_, permits_, m.mtu_most, m.first, m.local);
    }
    return *m.link;
}

void endpoint::submit(uint32_t peer, outgoing &o, time_ns now)
{
    link(peer).submit(o, now);
    reschedule(peer, link(peer).deadline(now));
}

bool endpoint::receive(const address &from, std::span<uint8_t> datagram, time_ns now)
{
    wire::header h;
    if (!wire::get_header(datagram, h) || h.destination != self_ || h.mode != config_.security) {
        ++count_.strangers;
        return false;
    }
    auto found = by_name_.find(name_of(h.source, h.token));
    const bool first = found == by_name_.end() && may_ask(h.source, now);
    if (first) {
        ask(h.source, now);
        found = by_name_.find(name_of(h.source, h.token));
    }
    if (found == by_name_.end()) {
        ++count_.strangers;
        return false;
    }
    const uint32_t peer = found->second;
    member &m = *peers_[peer];
    if (m.link && !m.link->seen.fresh(h.number)) {
        ++count_.replays;
        return false;
    }
    std::span<const uint8_t> frames = datagram.subspan(wire::header_bytes);
    if (h.mode != wire::security::off) {
        if (!m.in.open(datagram, h)) {
            ++count_.forgeries;
            return false;
        }
        frames = frames.first(frames.size() - wire::tag_bytes);
    }
    ++count_.received;
    if (first)
        ask_at_ = 0;        // who was asked for was there: the next one need not wait
    connection &l = link(peer);
    if (h.number > l.seen.largest() && !(from == m.at)) {
        m.at = from;
        ++count_.moves;
    }
    if (l.receive(frames, h.number, now))
        l.taken.mark(h.number);
    l.seen.mark(h.number);
    reschedule(peer, l.deadline(now));
    tell_grown(now);
    return true;
}

bool endpoint::may_ask(uint32_t id, time_ns now) const
{
    if (id >= config_.ids || known_[id] || id == self_ || now < ask_at_)
        return false;
    const auto before = in_vain_.find(id);
    return before == in_vain_.end() || now >= before->second.again_at;
}

/** Of somebody who may not be there, or not have sent this. */
void endpoint::ask(uint32_t id, time_ns now)
{
    now = up_.unknown(id, now);
    if (now == never)
        return;
    ask_at_ = now + ask_apart;
    if (known_[id]) {
        in_vain_.erase(id);
        return;
    }
    asked &a = in_vain_[id];
    a.again_at = now + a.wait;
    a.wait = std::min(2 * a.wait, ask_last);
}

void endpoint::tell_grown(time_ns now)
{
    while (!permits_.grown().empty()) {
        const grants::account a = *permits_.grown().back();
        permits_.grown().pop_back();
        if (a.permitted > a.told) {
            peers_[a.peer]->link->permission_grew();
            reschedule(a.peer, now);
        }
    }
}

size_t endpoint::transmit(uint8_t *to, uint32_t &peer, time_ns now)
{
    if (permits_.deadline() <= now) {
        permits_.look(now);
        tell_grown(now);
    }
    while (next_due(now, peer)) {
        member &m = *peers_[peer];
        uint64_t number = 0;
        const size_t frames = m.link->transmit(to + wire::header_bytes, number, now);
        const time_ns next = m.link->deadline(now);
        if (frames == 0) {
            m.burst = 0;
            reschedule(peer, std::max(next, now + 1));
            if (m.link->resting())
                m.out.rest();       // the other one keeps forgeries cheap
            continue;
        }
        if (next <= now && (m.priority || ++m.burst < config_.retransmit_pass)) {
            reschedule(peer, m.key);
        } else {
            m.burst = 0;
            reschedule(peer, std::max(next, now + 1));
        }
        const wire::header h{config_.security, m.id, self_, m.token, number};
        wire::put_header(to, h);
        size_t bytes = wire::header_bytes + frames;
        if (h.mode != wire::security::off) {
            if (!m.out.close({to, bytes}, h))
                continue;       // as if it were lost
            bytes += wire::tag_bytes;
        }
        return bytes;
    }
    return 0;
}

time_ns endpoint::deadline(time_ns)
{
    const time_ns t = heap_.empty() ? never : peers_[heap_[0]]->key;
    return std::min(t, permits_.deadline());
}

void endpoint::too_large(uint32_t peer, uint32_t bytes, time_ns now)
{
    peers_[peer]->link->too_large(bytes, now);
}

size_t endpoint::push(uint32_t peer, time_ns now)
{
    const size_t n = link(peer).push(now);
    reschedule(peer, link(peer).deadline(now));
    return n;
}

bool endpoint::drained() const
{
    for (const auto &m : peers_)
        if (m->link && !m->link->dead() && !m->link->idle())
            return false;
    return true;
}

void endpoint::farewell(time_ns now)
{
    for (uint32_t p = 0; p < peers_.size(); ++p)
        if (peers_[p]->link && !peers_[p]->link->dead()) {
            peers_[p]->link->farewell();
            reschedule(p, now);
        }
}

void endpoint::abandon()
{
    for (uint32_t p = 0; p < peers_.size(); ++p)
        if (peers_[p]->link) {
            peers_[p]->link->abandon(false);
            reschedule(p, 0);
        }
}

peer_view endpoint::view(uint32_t peer) const
{
    return peers_[peer]->link ? peers_[peer]->link->view() : peer_view{};
}

size_t endpoint::memory_bytes(uint32_t peer) const
{
    const member &m = *peers_[peer];
    return sizeof m + (m.link ? m.link->memory_bytes() : 0);
}

// ---- whose turn: the preferred, then an indexed heap --------------------------------------------

bool endpoint::next_due(time_ns now, uint32_t &peer) const
{
    for (uint32_t p : preferred_)
        if (peers_[p]->key <= now) {
            peer = p;
            return true;
        }
    if (heap_.empty() || peers_[heap_[0]]->key > now)
        return false;
    peer = heap_[0];
    return true;
}

void endpoint::priority_set(uint32_t peer, unsigned level)
{
    peers_[peer]->priority = level;
    link(peer).priority_set(level);
    std::erase(preferred_, peer);
    if (level == 0)
        return;
    const auto lower = std::find_if(preferred_.begin(), preferred_.end(), [&](uint32_t p) { return peers_[p]->priority < level; });
    preferred_.insert(lower, peer);
}

void endpoint::reschedule(uint32_t peer, time_ns key)
{
    member &m = *peers_[peer];
    m.key = key;
    if (key == never) {
        if (m.heap == ~size_t(0))
            return;
        const size_t hole = m.heap;
        m.heap = ~size_t(0);
        const uint32_t last = heap_.back();
        heap_.pop_back();
        if (last != peer) {
            heap_[hole] = last;
            peers_[last]->heap = hole;
            sift(hole);
        }
        return;
    }
    if (m.heap == ~size_t(0)) {
        m.heap = heap_.size();
        heap_.push_back(peer);
    }
    sift(m.heap);
}

void endpoint::sift(size_t at)
{
    const auto swap = [&](size_t a, size_t b) {
        std::swap(heap_[a], heap_[b]);
        peers_[heap_[a]]->heap = a;
        peers_[heap_[b]]->heap = b;
    };
    const auto key = [&](size_t i) { return peers_[heap_[i]]->key; };
    while (at > 0 && key(at) < key((at - 1) / 2)) {
        swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap_.size(); ++child)
            if (key(child) < key(least))
                least = child;
        if (least == at)
            return;
        swap(at, least);
        at = least;
    }
}

} // namespace udp
