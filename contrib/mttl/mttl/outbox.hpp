/*
 * What leaves for other nodes: records (wire.hpp), the batches in which they go
 * together, and credit.
 *
 * Flow control: a node sends at most `window` small messages that ask for
 * something to another one before that has taken them; then the thread that
 * sends waits, and the process goes on serving.  What answers needs no credit,
 * so two nodes that flood each other do not stop: it stands at most behind what
 * is kept (below), and credit behind nothing.  Credit goes along with results
 * where there are any.  Small writes go together when three eighths of
 * the window are used up.  Of those less than two have been taken already, so at
 * least an eighth is on its way: a write to a node that nothing goes to is never
 * held.
 *
 * A function that has been invoked from elsewhere and finds no credit would
 * become a thread that waits, and a node that passes on what comes would have one
 * for each.  So what such a function sends, before it has ever blocked, is kept
 * as bytes behind the last message instead, up to 64 records, and so is what
 * travels apart, which would pile up at the receiver; whatever is sent there
 * afterwards, answers too, stands behind it.  Credit does not, so it always
 * leaves; nor does `ahead`, with which members meet before the process waits
 * inside MPI, where it takes no credit.  flush() sends none of it.  Messages that
 * are kept and threads that wait for credit stand in one line, and credit serves
 * them in the order in which they came: neither holds up the other for ever.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_OUTBOX_HPP
#define MTTL_OUTBOX_HPP

#include "thread.hpp"
#include "wire.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>

namespace [[gnu::visibility("default")]] mttl {
namespace detail {

/** Data that is sent and then given up. */
struct own_data final : completion {
    explicit own_data(std::vector<std::byte> d) : data(std::move(d)) {}
    void done() override { delete this; }
    std::vector<std::byte> data;
};

/** Data that somebody else looks after. */
struct nobody final : completion {
    void done() override {}
};

/** Records that there was no credit for. */
struct kept_message {
    uint64_t place = 0;         // in the line for credit
    std::vector<std::byte> bytes;
    std::unique_ptr<own_data> apart;    // of its last record; leaves behind it
    bool credited = false;      // it needs credit
};

/** A thread that there was no credit for; on its stack. */
struct waits_for_credit {
    uint64_t place = 0;
    thread *who = nullptr;
    bool served = false;
};

/** What this node has for, and owes to, one other node. */
struct peer {
    std::unique_ptr<std::byte[]> batch;
    size_t used = 0;            // bytes in it
    uint32_t credit = 0;
    uint32_t owed = 0;          // messages taken from it that it got no credit for yet
    bool paid = false;          // credit has been taken for the next message
    bool credited = false;      // and the batch has something that needs it
    // The line for credit: who is first in it needs some, and there is none.
    std::deque<kept_message> kept;
    std::deque<waits_for_credit *> waiting;
    uint64_t places = 0;        // that have been given in it
};

class outbox {
public:
    outbox(port &p, scheduler &s, uint32_t window)
        : port_(p), threads_(s), window_(window), small_(p.small_bytes()), own_(p.node()), peers_(static_cast<size_t>(p.nodes()))
    {
        for (peer &q : peers_)
            q.credit = window;
    }

    /** One record with a header H and a payload that `put(writer &)` writes; `known`: its bytes, where that is known. */
    template <class H, class Put> void send(int to, H header, Put put, size_t known = 0)
    {
        wire::head &h = header.h;
        peer &q = at(to);
        const size_t least = sizeof header + (known ? known : least_payload);
        bool pays = false;      // for the next message
        bool spare = false;     // has credit that the message of another thread may spare it
        const auto next_message = [&] {
            flush(to);
            q.paid |= std::exchange(spare, false);
        };
        for (;;) {
            if (keeps(h, q)) {
                keep(to, q, header, put);
                return;
            }
            if (h.flags & wire::credited)
                take_credit(to, q, pays, spare);
            if (q.used && q.used + least > small_) {
                next_message();
                continue;
            }
            const bool batched = q.used || stays(header, least, q);
            std::byte *buffer = batched ? batch(to, q) + q.used : port_.send_buffer();
            writer w(buffer + sizeof header, small_ - (batched ? q.used : 0) - sizeof header);
            try {
                put(w);
            } catch (...) {
                if (pays && (spare || !q.credited)) {
                    q.paid &= spare;
                    give_credit(to, 1);
                }
                throw;
            }
            if (w.spilled() && batched && q.used) {     // alone it may fit
                next_message();
                continue;
            }
            own_data *own = nullptr;
            size_t bytes = sizeof header + w.size();
            if (w.spilled()) {
                own = new own_data(w.take());
                h.flags |= wire::apart;
                const uint64_t length = own->data.size();
                std::memcpy(buffer + sizeof header, &length, sizeof length);
                bytes = sizeof header + sizeof length;
            } else if (w.size()) {
                h.length = static_cast<uint16_t>(w.size());
            }
            std::memcpy(buffer, &header, sizeof header);
            count(to, h);
            q.credited |= (h.flags & wire::credited) != 0;
            if (!batched)
                transmit(to, q, bytes);
            else
                q.used += bytes;
            if (batched && (own || !stays(header, least, q)))
                flush(to);
            if (own)
                send_data(to, 0, own->data.data(), own->data.size(), own);
            if (spare)
                give_credit(to, 1);
            return;
        }
    }
    /** A record without a payload. */
    template <class H> void send_plain(int to, const H &header)
    {
        send(to, header, [](writer &) {});
    }
    /** What travels by itself, at most port::nsend_bytes; `data` stays untouched until `c` is done. */
    void send_data(int to, int channel, const void *data, size_t bytes, completion *c)
    {
        port_.nsend(to, channel, data, bytes, c);
    }

    /** Records are collected until batch_end(), a full message, or until this node waits. */
    void batch_begin() { ++batches_; }
    void batch_end()
    {
        if (--batches_ == 0)
            flush();
    }
    void flush()
    {
        while (!dirty_.empty())
            flush(dirty_.back());
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

    /** So many messages to that node may leave: those that stand in the line for it go on. */
    void give_credit(int from, uint32_t messages)
    {
        peer &q = at(from);
        q.credit += messages;
        for (;;) {
            if (!q.waiting.empty() && (q.kept.empty() || q.waiting.front()->place < q.kept.front().place)) {
                if (q.credit == 0)
                    return;
                waits_for_credit &next = *q.waiting.front();
                q.waiting.pop_front();
                --q.credit;
                next.served = true;
                threads_.ready(next.who);
                continue;
            }
            if (q.kept.empty() || (q.kept.front().credited && q.credit == 0))
                return;
            kept_message next = std::move(q.kept.front());
            q.kept.pop_front();
            q.credit -= next.credited;
            std::memcpy(port_.send_buffer(), next.bytes.data(), next.bytes.size());
            port_.send(from, next.bytes.size());
            if (own_data *own = next.apart.release())
                send_data(from, 0, own->data.data(), own->data.size(), own);
        }
    }
    /** A function that has been invoked from elsewhere starts. */
    void function_starts() { may_keep_ = most_kept; }
    /** A message that needed credit has been taken; credit goes back for a quarter of a window at once, with what is
     *  sent there next: the caller flushes. */
    void owe_credit(int from)
    {
        peer &q = at(from);
        if (++q.owed >= (window_ + 3) / 4)
            send_plain(from, wire::plain_head{{wire::credit, 0, 0, std::exchange(q.owed, 0)}});
    }

    /** Records but for those of the runtime itself. */
    uint64_t sent() const { return sent_; }
    /** Records from this node to itself. */
    uint64_t sent_to_own() const { return sent_to_own_; }

    /** The same number; throws std::out_of_range where there is no such node. */
    int checked(int node) const
    {
        if (node < 0 || static_cast<size_t>(node) >= peers_.size())
            throw std::out_of_range("no node " + std::to_string(node) + " among " + std::to_string(peers_.size()));
        return node;
    }

private:
    static constexpr size_t least_payload = 64;     // a batch with less room is sent

    static constexpr uint32_t most_kept = 64;       // records that one function leaves before it waits

    peer &at(int node) { return peers_[static_cast<size_t>(checked(node))]; }

    void count(int to, const wire::head &h)
    {
        if (!(h.flags & wire::system))
            ++sent_;
        if (to == own_)
            ++sent_to_own_;
    }

    /** Whether a record is kept for when there is credit; see above.  Not that of a write whose data the caller sends
     *  behind it: that would overtake data that is kept. */
    bool keeps(const wire::head &h, const peer &q)
    {
        if (h.flags & wire::credited)
            return q.credit == 0 && (!q.paid || !q.kept.empty()) && may_keep_ > 0 && threads_.runs_now() &&
                   !(h.kind == wire::write && (h.flags & wire::apart));
        return !q.kept.empty() && h.kind != wire::credit && !(h.flags & wire::ahead);
    }
    template <class H, class Put> void keep(int to, peer &q, H header, Put put)
    {
        if (q.used)
            flush(to);          // of a thread that credit has served, and whose answer this may be
        scratch_.resize(small_);
        writer w(scratch_.data() + sizeof header, small_ - sizeof header);
        put(w);
        size_t bytes = sizeof header + w.size();
        std::unique_ptr<own_data> own;
        if (w.spilled()) {
            own = std::make_unique<own_data>(w.take());
            header.h.flags |= wire::apart;
            const uint64_t length = own->data.size();
            std::memcpy(scratch_.data() + sizeof header, &length, sizeof length);
            bytes = sizeof header + sizeof length;
        } else if (w.size()) {
            header.h.length = static_cast<uint16_t>(w.size());
        }
        std::memcpy(scratch_.data(), &header, sizeof header);
        if (q.kept.empty() || q.kept.back().apart || q.kept.back().bytes.size() + bytes > small_)
            q.kept.emplace_back().place = ++q.places;
        kept_message &m = q.kept.back();
        m.bytes.insert(m.bytes.end(), scratch_.data(), scratch_.data() + bytes);
        if (header.h.flags & wire::credited) {
            m.credited = true;
            --may_keep_;
        }
        m.apart = std::move(own);
        count(to, header.h);
    }

    /** Blocks until the next message to that node is paid for; `pays`: whether this thread has seen to that.  Else not
     *  with one that is paid for already where something is kept, which may be this thread's and goes first.  `spare`: it
     *  has been served when the next message was paid for already; it keeps its credit until it is in that message. */
    void take_credit(int to, peer &q, bool &pays, bool &spare)
    {
        if (q.paid && (pays || q.kept.empty()))
            return;
        pays = true;
        if (q.credit > 0) {
            --q.credit;
        } else {
            if (q.used)
                flush(to);
            if (!threads_.in_thread())
                throw error("blocked outside a thread");
            waits_for_credit me{++q.places, threads_.current()};
            q.waiting.push_back(&me);
            while (!me.served)
                threads_.block();
            spare = q.paid;         // by another thread meanwhile: one message, one credit
        }
        q.paid = true;
    }

    /** Whether a record of at least so many bytes may wait for others to the same node, of which one like it must fit
     *  beside it: any in a batch; outside of one, a small write in a stream, which shows in that three eighths of the
     *  window are used up.  It leaves when the message is full, when anything else is sent there, in yield(), or when the process
     *  has nothing to run. */
    template <class H> bool stays(const H &header, size_t least, const peer &q) const
    {
        if (2 * least > small_)
            return false;
        if (header.h.kind == wire::credit)
            return true;
        if (std::is_same_v<H, wire::write_head> && !(header.h.flags & wire::apart) && q.credit < uint64_t{window_} * 5 / 8)
            return true;
        return batches_ > 0;
    }

    /** The batch for that node, of small_bytes(). */
    std::byte *batch(int to, peer &q)
    {
        if (!q.batch)
            q.batch = std::make_unique<std::byte[]>(small_);
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

    port &port_;
    scheduler &threads_;
    const uint32_t window_;
    const size_t small_;        // the port's, which is asked for with every record
    const int own_;             // as well
    std::vector<peer> peers_;
    std::vector<int> dirty_;    // nodes with something in their batch
    int batches_ = 0;           // that have begun and not ended
    uint32_t may_keep_ = 0;     // records, for the function that was started last
    std::vector<std::byte> scratch_;
    uint64_t sent_ = 0, sent_to_own_ = 0;
};

} // namespace detail
} // namespace mttl

#endif
