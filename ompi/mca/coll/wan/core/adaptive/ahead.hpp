/*
 * How far a process is ahead of others: what it has sent to each for operations that have not begun there, so that it is
 * kept there until they do, and when they will have.
 *
 * A message of an operation that has begun at its receiver may always be sent; others while what is ahead is less than a
 * limit (adaptive_node::room).  Who has reached half of it, or waits, asks about the operation; the other one answers when that has
 * begun, at once or later.  So nobody waits for anything but that its receiver begins an operation, which no call may rely on not to
 * wait for.
 *
 * Known here: of `there`, what this process has sent and asked; of `asked`, who waits for this one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_AHEAD_HPP
#define WAN_ADAPTIVE_AHEAD_HPP

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace wan {

class lead {
public:
    /** Whether it is known that this operation has begun there. */
    bool has_begun(int to, uint64_t op) const
    {
        const auto at = there_.find(to);
        return at != there_.end() && op < at->second.begun;
    }
    /** So many bytes of it were sent there.  False: it has begun, and they are not kept. */
    bool sent(int to, uint64_t op, uint64_t bytes)
    {
        peer &p = there_[to];
        if (op < p.begun)
            return false;
        p.ahead[op] += bytes;
        return true;
    }
    /** Whether to ask there about this operation: what was asked is answered first otherwise. */
    bool ask(int to, uint64_t op)
    {
        peer &p = there_[to];
        const bool news = op < p.asked;
        p.asked = std::min(p.asked, op);
        return news;
    }
    /** It says that the operations before this one have begun there.  Bytes that are not ahead any more. */
    uint64_t told(int from, uint64_t begun)
    {
        peer &p = there_[from];
        p.begun = std::max(p.begun, begun);
        p.asked = nothing;
        uint64_t bytes = 0;
        for (auto at = p.ahead.begin(); at != p.ahead.end() && at->first < p.begun; at = p.ahead.erase(at))
            bytes += at->second;
        return bytes;
    }

    void asked(int from, uint64_t op)
    {
        const auto [at, fresh] = asked_.try_emplace(from, op);
        if (!fresh)
            at->second = std::min(at->second, op);
    }
    /** f(who), for each who asked about an operation before this one. */
    template <typename F> void answer(uint64_t begun, F f)
    {
        std::erase_if(asked_, [&](const auto &a) {
            if (a.second >= begun)
                return false;
            f(a.first);
            return true;
        });
    }

    /** Forgets everything: f(to, bytes) for what was ahead. */
    template <typename F> void forget(F f)
    {
        for (const auto &[to, p] : std::exchange(there_, {}))
            for (const auto &[op, bytes] : p.ahead)
                f(to, bytes);
        asked_.clear();
    }

private:
    static constexpr uint64_t nothing = UINT64_MAX;
    struct peer {
        uint64_t begun = 0;                     // operations before this one, as it said
        uint64_t asked = nothing;               // about this one, and not answered
        std::map<uint64_t, uint64_t> ahead;     // bytes of others, by operation
    };
    std::map<int, peer> there_;
    std::map<int, uint64_t> asked_;             // about the first of these
};

} // namespace wan

#endif
