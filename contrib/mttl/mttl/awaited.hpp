/*
 * What a node has asked for and waits for: results by ticket, data by channel,
 * contributions to collectives; and what it may still write to landings of others.
 * A ticket and a channel are numbers that the other side sends back; here they
 * are turned into whoever waits.  Nothing here sends.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_AWAITED_HPP
#define MTTL_AWAITED_HPP

#include "contributions.hpp"
#include "future.hpp"
#include "port.hpp"

#include <unordered_map>

namespace [[gnu::visibility("default")]] mttl {
namespace detail {

/** Data on its way, and the thread that waits for it. */
struct transfer final : completion {
    explicit transfer(scheduler &s) : threads(s) {}
    void done() override
    {
        finished = true;
        waiter.wake_all(threads);
    }
    void wait()
    {
        while (!finished)
            waiter.wait(threads);
    }
    scheduler &threads;
    wait_queue waiter;
    bool finished = false;
};

/** A small remote read that has been asked for; lives on the stack of the thread that waits. */
struct read_state final : state_base {
    read_state(void *d, size_t n) : data(d), bytes(n) {}
    void take(reader &r) override { r.bytes(data, bytes); }
    void *data;
    size_t bytes;
};

/** Results that are awaited, by number; 0 is nobody. */
class ticket_table {
public:
    uint32_t open(state_base *s)
    {
        s->hold();
        if (free_.empty()) {
            states_.push_back(s);
            return static_cast<uint32_t>(states_.size());
        }
        const uint32_t t = free_.back();
        free_.pop_back();
        states_[t - 1] = s;
        return t;
    }
    void close(uint32_t t)
    {
        state_base *s = std::exchange(states_[t - 1], nullptr);
        free_.push_back(t);
        s->drop();
    }
    /** Throws wire_error where nobody waits. */
    state_base *find(uint32_t t) const
    {
        if (t == 0 || t > states_.size() || !states_[t - 1])
            throw wire_error("a reply that nobody waits for");
        return states_[t - 1];
    }

private:
    std::vector<state_base *> states_;
    std::vector<uint32_t> free_;
};

/** Channels of the port that are in use, with the transfer that each is for. */
class channel_table {
public:
    explicit channel_table(scheduler &s) : threads_(s), all_(port::channels), uses_(port::channels), reserved_(s) {}

    /** Blocks while all are in use; 0 is never given. */
    uint16_t open(transfer *t)
    {
        for (;;) {
            for (size_t i = 0; i + 1 < all_.size(); ++i) {
                next_ = next_ % (all_.size() - 1) + 1;
                if (!all_[next_]) {
                    all_[next_] = t;
                    return static_cast<uint16_t>(next_);
                }
            }
            free_.wait(threads_);
        }
    }
    /** One without a transfer, for a landing, which posts the receives itself.  The number has also how often the channel
     *  has been one: who writes there may do so late. */
    uint32_t open_landing()
    {
        const uint16_t i = open(&reserved_);
        return ++uses_[i] * port::channels + i;
    }
    void close(uint16_t i)
    {
        all_[i] = nullptr;
        free_.wake_one(threads_);
    }
    transfer &at(uint32_t i) { return *all_.at(i); }

private:
    scheduler &threads_;
    std::vector<transfer *> all_;
    std::vector<uint32_t> uses_;
    size_t next_ = 0;
    wait_queue free_;
    transfer reserved_;
};

/** The port's channel of a landing. */
inline int landing_channel(uint32_t landing) { return static_cast<int>(landing % port::channels); }

/** What this node has written to the landings of others. */
class landing_table {
public:
    /** One write more; false: it has gone. */
    bool write(int node, uint32_t landing)
    {
        entry &e = at(node, landing);
        if (e.gone || e.landing != landing)
            return false;
        ++e.writes;
        return true;
    }
    /** It has gone, after so many writes; how many more are on their way. */
    uint64_t close(int node, uint32_t landing, uint64_t landed)
    {
        entry &e = at(node, landing);
        if (e.landing != landing)
            return 0;
        e.gone = true;
        if (landed > e.writes)
            throw wire_error("more writes have landed than were sent");
        return e.writes - landed;
    }
    /** The one counted last has not left. */
    void unwrite(int node, uint32_t landing) { --at(node, landing).writes; }

private:
    struct entry {
        uint32_t landing = 0;       // the last one on its channel
        bool gone = true;
        uint64_t writes = 0;
    };
    entry &at(int node, uint32_t landing)
    {
        entry &e = all_[uint64_t{static_cast<uint32_t>(node)} * port::channels + static_cast<uint64_t>(landing_channel(landing))];
        // A channel is used again when this node has been told that its landing has gone; an old handle is behind.
        if (e.gone && static_cast<int32_t>(landing - e.landing) > 0)
            e = {landing, false, 0};
        return e;
    }
    std::unordered_map<uint64_t, entry> all_;
};

/** Of the threads of a process that wait inside the network, one at a time. */
class network_turn {
public:
    explicit network_turn(scheduler &s) : threads_(s) {}
    bool held() const { return held_; }
    /** By a thread that reduces. */
    bool reduces() const { return reduces_; }
    /** Blocks the thread until nobody has it. */
    void take(bool reduces)
    {
        if (held_)
            next_.wait(threads_);       // and gets it from who gives it
        held_ = true, reduces_ = reduces;
    }
    /** To who waits longest at once: nobody comes between. */
    void give()
    {
        reduces_ = false;
        held_ = next_.wake_one(threads_);
    }

private:
    scheduler &threads_;
    bool held_ = false, reduces_ = false;
    wait_queue next_;
};

/** All of it. */
struct awaited {
    explicit awaited(scheduler &s) : channels(s), contributions(s) {}
    ticket_table tickets;
    channel_table channels;
    detail::contributions contributions;
    landing_table landings;
};

} // namespace detail
} // namespace mttl

#endif
