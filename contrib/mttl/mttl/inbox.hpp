/*
 * What arrives from other nodes: messages are taken apart into records
 * (wire.hpp), and those become functions that run, results, bytes in memory and
 * contributions.  Order is kept here: what one node has sent is started in that
 * order, also where arguments travel by themselves, and a function that blocks
 * holds up nobody.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_INBOX_HPP
#define MTTL_INBOX_HPP

#include "awaited.hpp"
#include "exception.hpp"
#include "outbox.hpp"
#include "registry.hpp"

#include <deque>

namespace [[gnu::visibility("default")]] mttl {
namespace detail {

/** An invocation on its way to its function; the arguments are valid until the function has been called. */
struct call {
    int from = -1;
    uint32_t ticket = 0;
    uint8_t flags = 0;
    std::span<const std::byte> arguments;
};

class inbox final : public port_sink {
public:
    /** `unknown` is called with a `call` whose function nobody knows here. */
    inbox(port &p, scheduler &s, registry &r, outbox &out, awaited &a, handler_function unknown)
        : port_(p), threads_(s), registry_(r), outbox_(out), awaited_(a), unknown_(unknown), own_(p.node()),
          late_(static_cast<size_t>(p.nodes()))
    {
    }

    /** Records that were taken, but for those of the runtime itself. */
    uint64_t taken() const { return taken_; }
    /** Whether all that this node has sent itself has been taken, and its functions have been started. */
    bool own_started() const
    {
        return taken_from_own_ == outbox_.sent_to_own() && late_[static_cast<size_t>(own_)].empty();
    }
    /** Whether data is arriving that travels by itself. */
    bool arriving() const { return arriving_ > 0; }
    /** Announced writes that were dropped. */
    uint64_t late_writes() const { return late_writes_; }

    void message(int from, const std::byte *data, size_t bytes) override
    {
        cursor c{*this, from, data, bytes};
        // First, so that a result takes the credit along.
        const bool early = bytes && (wire::get<wire::head>(data, bytes).flags & wire::credited);
        if (early)
            outbox_.owe_credit(from);
        while (c.bytes) {
            const auto h = wire::get<wire::head>(c.data, c.bytes);
            if (h.kind != wire::invoke || (h.flags & wire::apart)) {
                next(c);
                continue;
            }
            // One spare thread calls function after function; when one blocks, another thread goes on behind it.
            threads_.run_now(&inbox::run_records, &c);
            if (c.taken_over)
                *std::exchange(c.taken_over, nullptr) = true;
            if (c.failed)
                std::rethrow_exception(c.failed);
        }
        if (c.credited && !early)
            outbox_.owe_credit(from);
        if (c.several)
            outbox_.batch_end();
        else if (c.credited)
            outbox_.flush(from);
    }

private:
    /** A payload that travels by itself. */
    struct incoming final : completion {
        incoming(inbox &n, int f, size_t bytes) : owner(n), from(f), data(bytes) { ++owner.arriving_; }
        ~incoming() { --owner.arriving_; }
        void done() override
        {
            const std::span<const std::byte> payload(data);
            switch (kind) {
            case wire::invoke: arrived = true; return owner.run_late(from);
            case wire::reply: owner.resolve(from, head, payload); break;
            default: owner.awaited_.contributions.take(key, payload); break;
            }
            delete this;
        }
        inbox &owner;
        int from;
        uint8_t kind = 0;
        wire::head head{};
        uint32_t function = 0;
        contribution_key key;
        std::vector<std::byte> data;
        bool arrived = false;
    };

    /** An invocation whose arguments travel by themselves, or a record that came after it. */
    struct late {
        std::unique_ptr<incoming> invocation;
        std::vector<std::byte> record;
    };

    struct incoming_write final : completion {
        incoming_write(inbox &n, int f, uint32_t t) : owner(n), from(f), ticket(t) { ++owner.arriving_; }
        ~incoming_write() { --owner.arriving_; }
        void done() override
        {
            owner.outbox_.send_plain(from, wire::plain_head{{wire::written, 0, 0, ticket}});
            delete this;
        }
        inbox &owner;
        int from;
        uint32_t ticket;
    };

    /** Announced writes that come when their landing has gone. */
    struct dropped_writes final : completion {
        dropped_writes(inbox &n, uint32_t l, uint64_t number) : owner(n), landing(l), left(number) { ++owner.arriving_; }
        ~dropped_writes() { --owner.arriving_; }
        void done() override
        {
            ++owner.late_writes_;
            if (--left)
                return;
            owner.awaited_.channels.close(static_cast<uint16_t>(landing_channel(landing)));
            delete this;
        }
        inbox &owner;
        uint32_t landing;
        uint64_t left;
    };

    /** How far a message has been taken; on the loop's stack. */
    struct cursor {
        inbox &owner;
        int from;
        const std::byte *data;
        size_t bytes;               // left
        bool several = false, credited = false;
        bool *taken_over = nullptr; // of the thread that goes through the records now
        std::exception_ptr failed = nullptr;
    };

    static void run_records(void *argument)
    {
        auto &c = *static_cast<cursor *>(argument);     // gone when this thread has been taken over
        bool taken_over = false;
        c.taken_over = &taken_over;
        try {
            while (c.bytes) {
                c.owner.next(c);
                if (taken_over)
                    return;
            }
        } catch (...) {
            if (taken_over)
                throw;
            c.failed = std::current_exception();
        }
        c.taken_over = nullptr;
    }

    /** Takes one record.  The cursor stands behind it before a function is called. */
    void next(cursor &c)
    {
        const auto *data = c.data;
        const size_t bytes = c.bytes;
        const auto h = wire::get<wire::head>(data, bytes);
        const auto advance = [&](size_t used) {
            c.data += used, c.bytes -= used;
            if (c.bytes && !c.several) {
                c.several = true;
                outbox_.batch_begin();     // the answers go together, as the questions came
            }
        };
        if (h.kind == wire::invoke && !(h.flags & wire::apart) && late_[static_cast<size_t>(c.from)].empty()) {
            const auto i = wire::get<wire::invoke_head>(data, bytes);
            const auto arguments = wire::payload(data, bytes, sizeof i, h.length);
            count(c.from, h, c.credited);
            advance(sizeof i + h.length);
            run(c.from, h, i.function, arguments);
        } else {
            advance(record(c.from, data, bytes, c.credited));
        }
    }

    void count(int from, const wire::head &h, bool &credited)
    {
        if (from == own_)
            ++taken_from_own_;
        credited |= (h.flags & wire::credited) != 0;
        if (!(h.flags & wire::system))
            ++taken_;
    }

    /** One record; how many bytes it has. */
    size_t record(int from, const std::byte *data, size_t bytes, bool &credited)
    {
        const auto h = wire::get<wire::head>(data, bytes);
        count(from, h, credited);
        auto &behind = late_[static_cast<size_t>(from)];
        const bool ordered = h.kind == wire::read || ((h.kind == wire::invoke || h.kind == wire::write) && !(h.flags & wire::apart));
        if (behind.empty() || !ordered)
            return take(from, h, data, bytes);
        const size_t used = h.kind == wire::invoke  ? sizeof(wire::invoke_head) + h.length
                            : h.kind == wire::write ? sizeof(wire::write_head) + h.length
                                                    : sizeof(wire::read_head);
        wire::payload(data, bytes, used, 0);
        behind.push_back({nullptr, {data, data + used}});
        return used;
    }

    /** Starts, in the order in which they were sent, what has arrived and what had to wait for it. */
    void run_late(int from)
    {
        auto &all = late_[static_cast<size_t>(from)];
        outbox_.batch_begin();
        while (!all.empty() && (!all.front().invocation || all.front().invocation->arrived)) {
            const late next = std::move(all.front());
            all.pop_front();
            if (next.invocation)
                run(from, next.invocation->head, next.invocation->function, next.invocation->data);
            else
                take(from, wire::get<wire::head>(next.record.data(), next.record.size()), next.record.data(), next.record.size());
        }
        outbox_.batch_end();
    }

    size_t take(int from, const wire::head &h, const std::byte *data, size_t bytes)
    {
        switch (h.kind) {
        case wire::invoke: {
            const auto i = wire::get<wire::invoke_head>(data, bytes);
            if (h.flags & wire::apart) {
                incoming *in = receive_apart(from, h, data + sizeof i, bytes - sizeof i);
                in->function = i.function;
                late_[static_cast<size_t>(from)].push_back({std::unique_ptr<incoming>(in), {}});
                post(from, in);
                return sizeof i + sizeof(uint64_t);
            }
            run(from, h, i.function, wire::payload(data, bytes, sizeof i, h.length));
            return sizeof i + h.length;
        }
        case wire::reply:
            if (h.flags & wire::apart) {
                post(from, receive_apart(from, h, data + sizeof h, bytes - sizeof h));
                return sizeof h + sizeof(uint64_t);
            }
            resolve(from, h, wire::payload(data, bytes, sizeof h, h.length));
            return sizeof h + h.length;
        case wire::write: {
            const auto w = wire::get<wire::write_head>(data, bytes);
            auto *to = reinterpret_cast<std::byte *>(w.address);
            if (h.flags & wire::apart) {
                port_.recv_node(from, 0, to, h.ticket, new incoming_write(*this, from, h.length));
                return sizeof w;
            }
            const auto p = wire::payload(data, bytes, sizeof w, h.length);
            std::memcpy(to, p.data(), p.size());
            if (h.ticket)
                outbox_.send_plain(from, wire::plain_head{{wire::reply, 0, 0, h.ticket}});
            return sizeof w + h.length;
        }
        case wire::written:
            awaited_.channels.at(h.ticket).done();
            return sizeof h;
        case wire::read: {
            const auto r = wire::get<wire::read_head>(data, bytes);
            const auto *at = reinterpret_cast<const std::byte *>(r.address);
            if (h.flags & wire::apart)
                outbox_.send_data(from, h.length, at, r.bytes, &nobody_);
            else
                outbox_.send(from, wire::plain_head{{wire::reply, 0, 0, h.ticket}}, [&](writer &w) { w.bytes(at, r.bytes); });
            return sizeof r;
        }
        case wire::collective: {
            const auto c = wire::get<wire::collective_head>(data, bytes);
            const contribution_key k{h.ticket, c.number, c.step};
            if (h.flags & wire::apart) {
                incoming *in = receive_apart(from, h, data + sizeof c, bytes - sizeof c);
                in->key = k;
                post(from, in);
                return sizeof c + sizeof(uint64_t);
            }
            awaited_.contributions.take(k, wire::payload(data, bytes, sizeof c, h.length));
            return sizeof c + h.length;
        }
        case wire::gone: {
            const auto p = wire::payload(data, bytes, sizeof h, h.length);
            const uint64_t late = awaited_.landings.close(from, h.ticket, wire::get<uint64_t>(p.data(), p.size()));
            outbox_.send(from, wire::plain_head{{wire::late, 0, 0, h.ticket}}, [&](writer &w) { w.raw(late); });
            return sizeof h + h.length;
        }
        case wire::late: {
            const auto p = wire::payload(data, bytes, sizeof h, h.length);
            const auto late = wire::get<uint64_t>(p.data(), p.size());
            const int channel = landing_channel(h.ticket);
            if (late == 0)
                awaited_.channels.close(static_cast<uint16_t>(channel));
            auto *all = late ? new dropped_writes(*this, h.ticket, late) : nullptr;
            for (uint64_t i = 0; i < late; ++i)
                port_.discard(from, channel, all);
            return sizeof h + h.length;
        }
        case wire::credit: {
            outbox_.give_credit(from, h.ticket);
            return sizeof h;
        }
        default: throw wire_error("a record of kind " + std::to_string(h.kind));
        }
    }

    incoming *receive_apart(int from, const wire::head &h, const std::byte *data, size_t bytes)
    {
        const auto length = wire::get<uint64_t>(data, bytes);
        auto *in = new incoming(*this, from, length);
        in->kind = h.kind;
        in->head = h;
        return in;
    }
    void post(int from, incoming *in) { port_.recv_node(from, 0, in->data.data(), in->data.size(), in); }

    void run(int from, const wire::head &h, uint32_t function, std::span<const std::byte> arguments)
    {
        call c{from, h.ticket, h.flags, arguments};
        handler_function f = registry_.find(function);
        if (!f)
            f = unknown_;
        outbox_.function_starts();
        if (threads_.in_thread())
            f(&c);
        else
            threads_.run_now(f, &c);
    }

    void resolve(int from, const wire::head &h, std::span<const std::byte> payload)
    {
        state_base *s = awaited_.tickets.find(h.ticket);
        reader r(payload);
        try {
            if (h.flags & wire::failed)
                s->failed = exceptions::get(r, from);
            else
                s->take(r);
            r.end();
        } catch (...) {
            s->failed = std::current_exception();
        }
        s->complete(threads_);
        awaited_.tickets.close(h.ticket);
    }

    port &port_;
    scheduler &threads_;
    registry &registry_;
    outbox &outbox_;
    awaited &awaited_;
    const handler_function unknown_;
    const int own_;
    std::vector<std::deque<late>> late_;    // by node
    uint64_t taken_ = 0, taken_from_own_ = 0;
    size_t arriving_ = 0;                   // payloads that travel by themselves
    uint64_t late_writes_ = 0;
    nobody nobody_;
};

} // namespace detail
} // namespace mttl

#endif
