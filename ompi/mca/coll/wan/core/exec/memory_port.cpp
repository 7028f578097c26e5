/*
 * See memory_port.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "exec/memory_port.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace wan {

memory_fabric::memory_fabric(int ranks, size_t extent_bytes, uint64_t seed, reduce_function reduce)
    : extent_(extent_bytes), random_{seed}, reduce_(std::move(reduce)), index_(64, nothing)
{
    ends_.reserve(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r)
        ends_.push_back({this, r});
    mailboxes_.reserve(index_.size() / 2);
    sends_.reserve(index_.size());
    recvs_.reserve(index_.size());
    matchable_.reserve(index_.size());
    finished_.reserve(index_.size());
    port_.post_send = [](void *ctx, const void *buf, size_t count, int peer, int label, uint32_t token) -> int {
        auto &end = *static_cast<endpoint *>(ctx);
        auto &f = *end.fabric;
        posted_send s{{}, static_cast<const char *>(buf), count, token, (f.random_() & 1) != 0};
        if (f.sends_observer_)
            f.sends_observer_(end.rank, peer, count, true);
        if (s.eager) {
            s.bytes = std::make_unique_for_overwrite<char[]>(count * f.extent_);
            if (count)
                std::memcpy(s.bytes.get(), s.from, count * f.extent_);
            f.finished_.push_back({end.rank, token, peer, count});
        }
        const uint32_t where = f.mailbox_at(end.rank, peer, label);
        enqueue(f.sends_, f.mailboxes_[where].sends, std::move(s));
        f.match(where);
        return WAN_OK;
    };
    port_.post_recv = [](void *ctx, void *buf, size_t count, int peer, int label, uint32_t token) -> int {
        auto &end = *static_cast<endpoint *>(ctx);
        auto &f = *end.fabric;
        const uint32_t where = f.mailbox_at(peer, end.rank, label);
        enqueue(f.recvs_, f.mailboxes_[where].recvs, posted_recv{static_cast<char *>(buf), count, token});
        f.match(where);
        return WAN_OK;
    };
    port_.reduce = [](void *ctx, const void *src, void *dst, size_t count) -> int {
        static_cast<endpoint *>(ctx)->fabric->reduce_(src, dst, count);
        return WAN_OK;
    };
    port_.copy = [](void *ctx, const void *src, void *dst, size_t count) -> int {
        std::memmove(dst, src, count * static_cast<endpoint *>(ctx)->fabric->extent_);
        return WAN_OK;
    };
    port_.scratch = [](void *ctx, size_t count) -> void * {
        auto &f = *static_cast<endpoint *>(ctx)->fabric;
        // Poisoned: reading scratch that was never written must show.
        f.scratch_.push_back(std::make_unique_for_overwrite<char[]>(count * f.extent_));
        return std::memset(f.scratch_.back().get(), 0xee, count * f.extent_);
    };
    port_.now_ns = [](void *) -> int64_t { return 0; };
}

uint64_t memory_fabric::generator::operator()()
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

uint32_t memory_fabric::mailbox_at(int from, int to, int label)
{
    const auto hash = [](int f, int t, int l) {
        const uint64_t key = uint64_t{static_cast<uint32_t>(f)} << 40 ^ uint64_t{static_cast<uint32_t>(t)} << 16 ^ static_cast<uint32_t>(l);
        return static_cast<size_t>(key * 0x9e3779b97f4a7c15ull >> 32);
    };
    if (2 * mailboxes_.size() >= index_.size()) {
        index_.assign(4 * index_.size(), nothing);
        for (uint32_t i = 0; i < mailboxes_.size(); ++i) {
            size_t k = hash(mailboxes_[i].from, mailboxes_[i].to, mailboxes_[i].label) & (index_.size() - 1);
            while (index_[k] != nothing)
                k = (k + 1) & (index_.size() - 1);
            index_[k] = i;
        }
    }
    size_t k = hash(from, to, label) & (index_.size() - 1);
    for (; index_[k] != nothing; k = (k + 1) & (index_.size() - 1))
        if (const mailbox &m = mailboxes_[index_[k]]; m.from == from && m.to == to && m.label == label)
            return index_[k];
    index_[k] = static_cast<uint32_t>(mailboxes_.size());
    mailboxes_.push_back({from, to, label, {}, {}});
    return index_[k];
}

template <typename T> void memory_fabric::enqueue(std::vector<T> &pool, queue &q, T entry)
{
    const auto i = static_cast<uint32_t>(pool.size());
    pool.push_back(std::move(entry));
    (q.length++ ? pool[q.last].next : q.first) = i;
    q.last = i;
}

template <typename T> T memory_fabric::dequeue(std::vector<T> &pool, queue &q)
{
    T entry = std::move(pool[q.first]);
    q.first = entry.next;
    --q.length;
    return entry;
}

/* A send and a receive have met in a mailbox: one more delivery is possible. */
void memory_fabric::match(uint32_t at)
{
    mailbox &m = mailboxes_[at];
    if (std::min(m.sends.length, m.recvs.length) > m.matched) {
        ++m.matched;
        matchable_.push_back(at);
    }
}

bool memory_fabric::deliver_one(std::vector<std::unique_ptr<engine>> &engines, delivery &told, std::string &why)
{
    const size_t choices = matchable_.size() + finished_.size();
    if (choices == 0)
        return false;
    size_t pick = random_() % choices;
    if (pick < finished_.size()) {
        const finished done = finished_[pick];
        finished_[pick] = finished_.back();
        finished_.pop_back();
        if (sends_observer_)
            sends_observer_(done.rank, done.peer, done.count, false);
        engines[static_cast<size_t>(done.rank)]->complete(done.token, 0);
        told = {{done.rank, -1}};
        return true;
    }
    pick -= finished_.size();
    mailbox &m = mailboxes_[matchable_[pick]];
    matchable_[pick] = matchable_.back();
    matchable_.pop_back();
    const posted_send s = dequeue(sends_, m.sends);
    const posted_recv r = dequeue(recvs_, m.recvs);
    --m.matched;
    const int from = m.from, to = m.to, label = m.label;
    if (s.count != r.count) {
        why = "rank " + std::to_string(from) + " sent " + std::to_string(s.count) + " elements to rank "
              + std::to_string(to) + " (label " + std::to_string(label) + "), which expects " + std::to_string(r.count);
        return false;
    }
    if (s.count)
        std::memcpy(r.to, s.eager ? s.bytes.get() : s.from, s.count * extent_);
    if (observer_)
        observer_(from, to, s.count);
    if (!s.eager && sends_observer_)
        sends_observer_(from, to, s.count, false);
    if (!s.eager)
        engines[static_cast<size_t>(from)]->complete(s.token, 0);
    engines[static_cast<size_t>(to)]->complete(r.token, 0);
    told = {{s.eager ? -1 : from, to}};
    return true;
}

std::string memory_fabric::run(std::vector<std::unique_ptr<engine>> &engines, size_t *rounds)
{
    std::vector<bool> done(engines.size(), false);
    size_t left = engines.size();
    std::string why;
    auto progress = [&](int rank) {
        const auto r = static_cast<size_t>(rank);
        if (done[r] || !engines[r]->pending())
            return true;
        const int rc = engines[r]->progress();
        if (rc < 0)
            why = "rank " + std::to_string(r) + ": engine error " + std::to_string(rc);
        else if (rc == WAN_DONE) {
            done[r] = true;
            --left;
        }
        return rc >= 0;
    };
    for (bool moved = true; moved;) {
        for (size_t r = 0; r < engines.size(); ++r)
            if (!progress(static_cast<int>(r)))
                return why;
        moved = false;
        if (rounds)
            for (delivery told; deliver_one(engines, told, why);)
                moved = true;
        if (moved)
            ++*rounds;
    }
    // Nothing but a delivery gives an engine something to do.
    for (delivery told; deliver_one(engines, told, why);)
        for (int rank : told.ranks)
            if (rank >= 0 && !progress(rank))
                return why;
    if (!why.empty())
        return why;
    if (left) {
        for (size_t r = 0; r < engines.size(); ++r)
            if (!done[r])
                return "deadlock: rank " + std::to_string(r) + " " + engines[r]->describe();
    }
    const mailbox *odd = nullptr;
    for (const mailbox &m : mailboxes_)
        if ((m.sends.length || m.recvs.length) && (!odd || std::tie(m.from, m.to, m.label) < std::tie(odd->from, odd->to, odd->label)))
            odd = &m;
    if (odd)
        return "message from rank " + std::to_string(odd->from) + " to rank " + std::to_string(odd->to) + " (label " + std::to_string(odd->label)
               + ") has no counterpart";
    return "";
}

} // namespace wan
