/*
 * See memory_port.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "exec/memory_port.hpp"

#include <cstring>

namespace wan {

memory_fabric::memory_fabric(int ranks, size_t extent_bytes, uint64_t seed, reduce_function reduce)
    : extent_(extent_bytes), random_(seed), reduce_(std::move(reduce))
{
    for (int r = 0; r < ranks; ++r)
        ends_.push_back({this, r});
    port_.post_send = [](void *ctx, const void *buf, size_t count, int peer, int label, uint32_t token) -> int {
        auto &end = *static_cast<endpoint *>(ctx);
        auto &f = *end.fabric;
        const channel where{end.rank, peer, label};
        posted_send s{{}, static_cast<const char *>(buf), count, token, (f.random_() & 1) != 0};
        if (f.sends_observer_)
            f.sends_observer_(end.rank, peer, count, true);
        if (s.eager) {
            s.bytes.assign(s.from, s.from + count * f.extent_);
            f.finished_.push_back({end.rank, token, peer, count});
        }
        f.mailboxes_[where].sends.push_back(std::move(s));
        f.match(where);
        return WAN_OK;
    };
    port_.post_recv = [](void *ctx, void *buf, size_t count, int peer, int label, uint32_t token) -> int {
        auto &end = *static_cast<endpoint *>(ctx);
        const channel where{peer, end.rank, label};
        end.fabric->mailboxes_[where].recvs.push_back({static_cast<char *>(buf), count, token});
        end.fabric->match(where);
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
        return f.scratch_.emplace_back(count * f.extent_, static_cast<char>(0xee)).data();
    };
    port_.now_ns = [](void *) -> int64_t { return 0; };
}

/* A send and a receive have met on a channel: one more delivery is possible. */
void memory_fabric::match(const channel &at)
{
    mailbox &m = mailboxes_[at];
    if (std::min(m.sends.size(), m.recvs.size()) > m.matched) {
        ++m.matched;
        matchable_.push_back(at);
    }
}

bool memory_fabric::deliver_one(std::vector<std::unique_ptr<engine>> &engines, std::string &why)
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
        return true;
    }
    pick -= finished_.size();
    const channel at = matchable_[pick];
    matchable_[pick] = matchable_.back();
    matchable_.pop_back();
    mailbox &m = mailboxes_[at];
    posted_send s = std::move(m.sends.front());
    posted_recv r = m.recvs.front();
    m.sends.pop_front();
    m.recvs.pop_front();
    --m.matched;
    const auto [from, to, label] = at;
    if (s.count != r.count) {
        why = "rank " + std::to_string(from) + " sent " + std::to_string(s.count) + " elements to rank "
              + std::to_string(to) + " (label " + std::to_string(label) + "), which expects " + std::to_string(r.count);
        return false;
    }
    std::memcpy(r.to, s.eager ? s.bytes.data() : s.from, s.count * extent_);
    if (observer_)
        observer_(from, to, s.count);
    if (!s.eager && sends_observer_)
        sends_observer_(from, to, s.count, false);
    if (!s.eager)
        engines[static_cast<size_t>(from)]->complete(s.token, 0);
    engines[static_cast<size_t>(to)]->complete(r.token, 0);
    return true;
}

std::string memory_fabric::run(std::vector<std::unique_ptr<engine>> &engines)
{
    std::vector<bool> done(engines.size(), false);
    size_t left = engines.size();
    std::string why;
    do {
        for (size_t r = 0; r < engines.size(); ++r) {
            if (done[r] || !engines[r]->pending())
                continue;
            const int rc = engines[r]->progress();
            if (rc < 0)
                return "rank " + std::to_string(r) + ": engine error " + std::to_string(rc);
            if (rc == WAN_DONE) {
                done[r] = true;
                --left;
            }
        }
    } while (deliver_one(engines, why));
    if (!why.empty())
        return why;
    if (left) {
        for (size_t r = 0; r < engines.size(); ++r)
            if (!done[r])
                return "deadlock: rank " + std::to_string(r) + " " + engines[r]->describe();
    }
    for (const auto &[at, box] : mailboxes_)
        if (!box.sends.empty() || !box.recvs.empty())
            return "message from rank " + std::to_string(std::get<0>(at)) + " to rank " + std::to_string(std::get<1>(at))
                   + " (label " + std::to_string(std::get<2>(at)) + ") has no counterpart";
    return "";
}

} // namespace wan
