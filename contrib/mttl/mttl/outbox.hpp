/*
 * What is to leave for other nodes: batches that are being filled, and credit.
 * A node sends at most `window` small messages that ask for something to
 * another one before that has taken them; then the thread that sends waits.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_OUTBOX_HPP
#define MTTL_OUTBOX_HPP

#include "port.hpp"
#include "thread.hpp"

#include <algorithm>
#include <memory>

namespace mttl [[gnu::visibility("default")]] {
namespace detail {

/** What this node has for, and owes to, one other node. */
struct peer {
    std::unique_ptr<std::byte[]> batch;
    size_t used = 0;            // bytes in it
    uint32_t credit = 0;
    uint32_t owed = 0;          // messages taken from it that it got no credit for yet
    bool paid = false;          // credit has been taken for the next message
    bool credited = false;      // and the batch has something that needs it
    wait_queue waiting;         // for credit
};

class outbox {
public:
    outbox(port &p, scheduler &s, uint32_t window) : port_(p), threads_(s), peers_(static_cast<size_t>(p.nodes()))
    {
        for (peer &q : peers_)
            q.credit = window;
    }

    /** Throws std::out_of_range where there is no such node. */
    peer &at(int node)
    {
        if (node < 0 || static_cast<size_t>(node) >= peers_.size())
            throw std::out_of_range("mttl: no node " + std::to_string(node) + " among " + std::to_string(peers_.size()));
        return peers_[static_cast<size_t>(node)];
    }

    /** Blocks until the next message to that node is paid for. */
    void take_credit(int to, peer &q)
    {
        if (q.paid)
            return;
        while (q.credit == 0) {
            if (q.used)
                flush(to);
            q.waiting.wait(threads_);
            if (q.paid)
                return;
        }
        --q.credit;
        q.paid = true;
    }
    void give_credit(int from, uint32_t messages)
    {
        peer &q = at(from);
        q.credit += messages;
        q.waiting.wake_all(threads_);
    }

    /** The batch for that node, of small_bytes(). */
    std::byte *batch(int to, peer &q)
    {
        if (!q.batch)
            q.batch = std::make_unique<std::byte[]>(port_.small_bytes());
        if (!q.used)
            dirty_.push_back(to);
        return q.batch.get();
    }
    /** Sends what is in the port's buffer. */
    void transmit(int to, peer &q, size_t bytes)
    {
        port_.send(to, bytes);
        if (q.credited)
            q.paid = q.credited = false;
    }
    void flush(int to)
    {
        peer &q = at(to);
        dirty_.erase(std::remove(dirty_.begin(), dirty_.end(), to), dirty_.end());
        if (!q.used)
            return;
        std::memcpy(port_.send_buffer(), q.batch.get(), q.used);
        transmit(to, q, std::exchange(q.used, 0));
    }
    void flush()
    {
        while (!dirty_.empty())
            flush(dirty_.back());
    }

private:
    port &port_;
    scheduler &threads_;
    std::vector<peer> peers_;
    std::vector<int> dirty_;    // nodes with something in their batch
};

} // namespace detail
} // namespace mttl

#endif
