/*
 * One process of a job: its port, its threads, and what goes between them.
 * Turns records that arrive (wire.hpp) into handlers, results and bytes in
 * memory; batches, credits and tickets are here.  It must not know the types
 * of what it carries: those are in invoke.hpp and global_ptr.hpp.
 *
 * Flow control: a node sends at most `window` small messages that ask for
 * something to another one before that has taken them; then the thread that
 * sends waits, and the process goes on serving.  What answers is never held
 * back, so two nodes that flood each other do not stop.  Small writes go
 * together when more than half of the window is under way.
 *
 * One class, although long: sending and taking share credit, batches, tickets.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_NODE_HPP
#define MTTL_NODE_HPP

#include "awaited.hpp"
#include "contributions.hpp"
#include "exception.hpp"
#include "outbox.hpp"
#include "wire.hpp"

#include <cstdio>
#include <deque>

namespace mttl [[gnu::visibility("default")]] {

struct node_options {
    stack_options stacks;
    /** Small messages to one node that it has not taken yet, at most. */
    uint32_t window = 64;       // more are slower: MPI keeps what waits in lists
    collectives collective = collectives::own;
};

namespace detail {

/** An invocation on its way to its function; the arguments are valid until the function has been called. */
struct call {
    int from = -1;
    uint32_t ticket = 0;
    uint8_t flags = 0;
    std::span<const std::byte> arguments;
};

} // namespace detail

class node final : port_sink {
public:
    node(port &p, const node_options &o = {})
        : port_(p), options_(o), scheduler_(o.stacks), outbox_(p, scheduler_, o.window), late_(static_cast<size_t>(p.nodes()))
    {
        port_.recv_any(this);
    }
    node(const node &) = delete;
    node &operator=(const node &) = delete;

    int id() const { return port_.node(); }
    int size() const { return port_.nodes(); }
    port &network() { return port_; }
    scheduler &threads() { return scheduler_; }
    registry &functions() { return registry_; }
    collectives collective() const { return options_.collective; }

    /** The node that runs now; throws outside of one. */
    static node &here()
    {
        if (!current_)
            throw error("used outside a node: before run() or after it");
        return *current_;
    }
    static node *current() { return current_; }
    /** Makes n the node that runs now (null: none). */
    static void enter(node *n)
    {
        current_ = n;
        detail::here = n ? &n->scheduler_ : nullptr;
    }

    // ---- running, from the loop ----

    /** Runs ready threads and takes what has arrived; `may_wait` for something to arrive, when nothing is ready. */
    bool step(bool may_wait)
    {
        const bool ran = scheduler_.has_ready();
        if (ran)
            scheduler_.run_ready();
        flush();
        if (scheduler_.has_ready())
            return port_.probe(), true;
        return (may_wait && !ran ? port_.wait() : port_.probe()) || ran;
    }

    /** Runs until `finished` says so, waiting inside the port. */
    template <class Finished> void run(Finished finished)
    {
        while (!finished()) {
            if (scheduler_.has_ready()) {
                scheduler_.run_ready();
                flush();
                if (scheduler_.has_ready())
                    port_.probe();
            } else {
                flush();
                port_.wait();
            }
        }
        flush();
    }

    // ---- sending, from threads ----

    /** One record with a header H and a payload that `put(writer &)` writes. */
    template <class H, class Put> void send(int to, H header, Put put)
    {
        wire::head &h = header.h;
        detail::peer &q = outbox_.at(to);
        for (;;) {
            if (h.flags & wire::credited)
                outbox_.take_credit(to, q);
            const bool batched = batching_ || q.used || stays(header, q);
            if (batched && q.used + sizeof header + least_payload > port_.small_bytes()) {
                outbox_.flush(to);
                continue;
            }
            std::byte *buffer = batched ? outbox_.batch(to, q) + q.used : port_.send_buffer();
            writer w(buffer + sizeof header, port_.small_bytes() - (batched ? q.used : 0) - sizeof header);
            put(w);
            if (w.spilled() && batched && q.used) {     // alone it may fit
                outbox_.flush(to);
                continue;
            }
            detail::own_data *own = nullptr;
            size_t bytes = sizeof header + w.size();
            if (w.spilled()) {
                own = new detail::own_data(w.take());
                h.flags |= wire::apart;
                const uint64_t length = own->data.size();
                std::memcpy(buffer + sizeof header, &length, sizeof length);
                bytes = sizeof header + sizeof length;
            } else if (w.size()) {
                h.length = static_cast<uint16_t>(w.size());
            }
            std::memcpy(buffer, &header, sizeof header);
            if (!(h.flags & wire::system))
                ++sent_;
            q.credited |= (h.flags & wire::credited) != 0;
            if (!batched)
                outbox_.transmit(to, q, bytes);
            else
                q.used += bytes;
            if (batched && (own || !(batching_ || stays(header, q))))
                outbox_.flush(to);
            if (own)
                send_data(to, 0, own->data.data(), own->data.size(), own);
            return;
        }
    }

    /** Writes memory of another node.  Small: returns at once; else when it has arrived.
     *  What the thread does to that node afterwards happens after the write. */
    void write(int to, uint64_t address, const void *data, size_t bytes)
    {
        const auto *p = static_cast<const std::byte *>(data);
        while (bytes > 0) {
            const size_t n = std::min(bytes, port::nsend_bytes);
            if (n + sizeof(wire::write_head) <= port_.small_bytes())
                write_small(to, address, p, n, 0);
            else
                write_apart(to, address, p, n);
            p += n, address += n, bytes -= n;
        }
    }

    /** The same, and says when it has arrived; the data stays untouched until then. */
    future<void> write_async(int to, uint64_t address, const void *data, size_t bytes)
    {
        if (bytes + sizeof(wire::write_head) <= port_.small_bytes()) {
            detail::held<detail::state<void>> s(new detail::state<void>);
            if (bytes == 0) {
                s->value.emplace();
                s->complete(scheduler_);
            } else {
                write_small(to, address, data, bytes, open_ticket(s.get()));
            }
            return future<void>(s.get());
        }
        promise<void> p;
        future<void> f = p.get_future();
        scheduler_.spawn_detached([this, to, address, data, bytes, p = std::move(p)]() mutable {
            p.run([&] { write(to, address, data, bytes); });
        });
        return f;
    }

    /** Reads memory of another node. */
    void read(int from, uint64_t address, void *data, size_t bytes)
    {
        auto *p = static_cast<std::byte *>(data);
        while (bytes > 0) {
            const size_t n = std::min(bytes, port::nsend_bytes);
            wire::read_head h{{wire::read, wire::credited, 0, 0}, address, n};
            detail::transfer t(scheduler_);
            if (n + sizeof(wire::head) > port_.small_bytes()) {
                h.h.length = channels_.open(&t);
                h.h.flags |= wire::apart;
                port_.recv_node(from, h.h.length, p, n, &t);
                send_plain(from, h);
                t.wait();
                channels_.close(h.h.length);
            } else {
                detail::read_state s(p, n);
                s.hold(), s.hold();     // lives here, on the stack
                h.h.ticket = open_ticket(&s);
                send_plain(from, h);
                s.wait();
                if (s.failed)
                    std::rethrow_exception(s.failed);
            }
            p += n, address += n, bytes -= n;
        }
    }

    /** A contribution to a collective of a group; see group.hpp. */
    void send_collective(int to, uint32_t group, uint32_t number, uint32_t step, const void *data, size_t bytes)
    {
        send(to, wire::collective_head{{wire::collective, 0, 0, group}, number, step}, [&](writer &w) { w.bytes(data, bytes); });
    }
    /** Blocks until that contribution has arrived and takes it. */
    void receive_collective(uint32_t group, uint32_t number, uint32_t step, void *data, size_t bytes)
    {
        contributions_.receive({group, number, step}, data, bytes);
    }

    /** A number for a new object of a group, the same on all members that make them in the same order. */
    uint32_t group_open(const std::vector<int> &members) { return contributions_.open(members); }

    /** Messages to all nodes are collected until unbatch(), a full message, or until this node waits. */
    void batch() { ++batching_; }
    void unbatch()
    {
        if (--batching_ == 0)
            flush();
    }
    void flush() { outbox_.flush(); }

    // ---- announced writes, for landing.hpp ----

    /** A number that this node's own recv_node calls may use as a channel. */
    uint16_t open_channel() { return channels_.open(); }
    void close_channel(uint16_t c) { channels_.close(c); }

    // ---- tickets ----

    uint32_t open_ticket(detail::state_base *s) { return tickets_.open(s); }
    void close_ticket(uint32_t t) { tickets_.close(t); }

    // ---- the end ----

    /** Messages but for those of the runtime itself. */
    uint64_t sent() const { return sent_; }
    uint64_t taken() const { return taken_; }
    /** Whether threads are ready, or data is arriving. */
    bool active() const { return scheduler_.has_ready() || arriving_ > 0; }

    /** An exception that nobody waits for. */
    void lost_exception(int from)
    {
        ++lost_;
        std::string what = "not a std::exception";
        try {
            throw;
        } catch (const std::exception &e) {
            what = e.what();
        } catch (...) {
        }
        if (on_lost)
            on_lost(what);
        else
            std::fprintf(stderr, "mttl: node %d: a function that node %d posted threw: %s\n", id(), from, what.c_str());
    }
    uint64_t lost() const { return lost_; }
    std::function<void(const std::string &)> on_lost;
    /** What the runtime keeps with a node; see runtime.hpp. */
    void *runtime = nullptr;

    /** This node's own T, made when it is first asked for; lives as long as the node. */
    template <class T> T &own()
    {
        static const size_t index = owned_types_++;
        if (index >= owned_.size())
            owned_.resize(index + 1);
        if (!owned_[index])
            owned_[index] = std::make_shared<T>();
        return *static_cast<T *>(owned_[index].get());
    }

private:
    static constexpr size_t least_payload = 64;     // a batch with less room is sent

    /** Whether a record may wait for others to the same node, without a batch: a small write in a stream, which
     *  shows in that the receiver has not taken half a window yet.  It leaves when the message is full, when
     *  anything else is sent there, or when the process has nothing to run. */
    template <class H> bool stays(const H &header, const detail::peer &q) const
    {
        if constexpr (std::is_same_v<H, wire::write_head>)
            return !(header.h.flags & wire::apart) && q.credit < options_.window / 2;
        return false;
    }

    /** A payload that travels by itself. */
    struct incoming final : completion {
        incoming(node &n, int f, size_t bytes) : owner(n), from(f), data(bytes) { ++owner.arriving_; }
        ~incoming() { --owner.arriving_; }
        void done() override
        {
            const std::span<const std::byte> payload(data);
            switch (kind) {
            case wire::invoke: arrived = true; return owner.run_late(from);
            case wire::reply: owner.resolve(from, head, payload); break;
            default: owner.contributions_.take(key, payload); break;
            }
            delete this;
        }
        node &owner;
        int from;
        uint8_t kind = 0;
        wire::head head{};
        uint32_t function = 0;
        detail::contribution_key key;
        std::vector<std::byte> data;
        bool arrived = false;
    };

    /** An invocation whose arguments travel by themselves, or a record that came after it. */
    struct late {
        std::unique_ptr<incoming> invocation;
        std::vector<std::byte> record;
    };

    struct incoming_write final : completion {
        incoming_write(node &n, int f, uint32_t t) : owner(n), from(f), ticket(t) { ++owner.arriving_; }
        ~incoming_write() { --owner.arriving_; }
        void done() override
        {
            owner.send_plain(from, wrapped{{wire::written, 0, 0, ticket}});
            delete this;
        }
        node &owner;
        int from;
        uint32_t ticket;
    };

    struct wrapped {
        wire::head h;
    };

    /** A record without a payload. */
    template <class H> void send_plain(int to, const H &header)
    {
        send(to, header, [](writer &) {});
    }

    void send_data(int to, int channel, const void *data, size_t bytes, completion *c)
    {
        if (bytes > port::nsend_bytes)
            throw error("one argument or result of more than 1 GiB");
        port_.nsend(to, channel, data, bytes, c);
    }

    void write_small(int to, uint64_t address, const void *data, size_t bytes, uint32_t ticket)
    {
        send(to, wire::write_head{{wire::write, wire::credited, 0, ticket}, address}, [&](writer &w) { w.bytes(data, bytes); });
    }

    void write_apart(int to, uint64_t address, const void *data, size_t bytes)
    {
        detail::transfer t(scheduler_);
        wire::write_head h{{wire::write, wire::credited | wire::apart, 0, static_cast<uint32_t>(bytes)}, address};
        h.h.length = channels_.open(&t);
        send_plain(to, h);
        outbox_.flush(to);
        // Its arrival is reported, which implies that it has been sent; but the request is the port's until then.
        detail::transfer sent(scheduler_);
        send_data(to, 0, data, bytes, &sent);
        t.wait();
        sent.wait();
        channels_.close(h.h.length);
    }

    // ---- what arrives ----

    /** How far a message has been taken; on the loop's stack. */
    struct cursor {
        node &owner;
        int from;
        const std::byte *data;
        size_t bytes;               // left
        bool several = false, credited = false;
        bool *taken_over = nullptr; // of the thread that goes through the records now
        std::exception_ptr failed = nullptr;
    };

    void message(int from, const std::byte *data, size_t bytes) override
    {
        cursor c{*this, from, data, bytes};
        while (c.bytes) {
            const auto h = header<wire::head>(c.data, c.bytes);
            if (h.kind != wire::invoke || (h.flags & wire::apart)) {
                next(c);
                continue;
            }
            // One spare thread calls function after function; when one blocks, another thread goes on behind it.
            scheduler_.run_now(&node::run_records, &c);
            if (c.taken_over)
                *std::exchange(c.taken_over, nullptr) = true;
            if (c.failed)
                std::rethrow_exception(c.failed);
        }
        if (c.credited && ++outbox_.at(from).owed >= (options_.window + 1) / 2)
            send_plain(from, wrapped{{wire::credit, 0, 0, std::exchange(outbox_.at(from).owed, 0)}});
        if (c.several)
            unbatch();
    }

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
        const auto h = header<wire::head>(data, bytes);
        const auto advance = [&](size_t used) {
            c.data += used, c.bytes -= used;
            if (c.bytes && !c.several) {
                c.several = true;
                ++batching_;        // the answers go together, as the questions came
            }
        };
        if (h.kind == wire::invoke && !(h.flags & wire::apart) && late_[static_cast<size_t>(c.from)].empty()) {
            const auto i = header<wire::invoke_head>(data, bytes);
            const auto arguments = payload(data, bytes, sizeof i, h.length);
            count(h, c.credited);
            advance(sizeof i + h.length);
            run(c.from, h, i.function, arguments);
        } else {
            advance(record(c.from, data, bytes, c.credited));
        }
    }

    void count(const wire::head &h, bool &credited)
    {
        credited |= (h.flags & wire::credited) != 0;
        if (!(h.flags & wire::system))
            ++taken_;
    }

    template <class H> static H header(const std::byte *data, size_t bytes)
    {
        H h;
        if (bytes < sizeof h)
            throw wire_error("a message of " + std::to_string(bytes) + " bytes");
        std::memcpy(&h, data, sizeof h);
        return h;
    }

    /** One record; how many bytes it has. */
    size_t record(int from, const std::byte *data, size_t bytes, bool &credited)
    {
        const auto h = header<wire::head>(data, bytes);
        count(h, credited);
        auto &behind = late_[static_cast<size_t>(from)];
        const bool ordered = h.kind == wire::read || ((h.kind == wire::invoke || h.kind == wire::write) && !(h.flags & wire::apart));
        if (behind.empty() || !ordered)
            return take(from, h, data, bytes);
        const size_t used = h.kind == wire::invoke  ? sizeof(wire::invoke_head) + h.length
                            : h.kind == wire::write ? sizeof(wire::write_head) + h.length
                                                    : sizeof(wire::read_head);
        payload(data, bytes, used, 0);
        behind.push_back({nullptr, {data, data + used}});
        return used;
    }

    /** Starts, in the order in which they were sent, what has arrived and what had to wait for it. */
    void run_late(int from)
    {
        auto &all = late_[static_cast<size_t>(from)];
        ++batching_;
        while (!all.empty() && (!all.front().invocation || all.front().invocation->arrived)) {
            const late next = std::move(all.front());
            all.pop_front();
            if (next.invocation)
                run(from, next.invocation->head, next.invocation->function, next.invocation->data);
            else
                take(from, header<wire::head>(next.record.data(), next.record.size()), next.record.data(), next.record.size());
        }
        unbatch();
    }

    size_t take(int from, const wire::head &h, const std::byte *data, size_t bytes)
    {
        switch (h.kind) {
        case wire::invoke: {
            const auto i = header<wire::invoke_head>(data, bytes);
            if (h.flags & wire::apart) {
                incoming *in = receive_apart(from, h, data + sizeof i, bytes - sizeof i);
                in->function = i.function;
                late_[static_cast<size_t>(from)].push_back({std::unique_ptr<incoming>(in), {}});
                post(from, in);
                return sizeof i + sizeof(uint64_t);
            }
            run(from, h, i.function, payload(data, bytes, sizeof i, h.length));
            return sizeof i + h.length;
        }
        case wire::reply:
            if (h.flags & wire::apart) {
                post(from, receive_apart(from, h, data + sizeof h, bytes - sizeof h));
                return sizeof h + sizeof(uint64_t);
            }
            resolve(from, h, payload(data, bytes, sizeof h, h.length));
            return sizeof h + h.length;
        case wire::write: {
            const auto w = header<wire::write_head>(data, bytes);
            auto *to = reinterpret_cast<std::byte *>(w.address);
            if (h.flags & wire::apart) {
                port_.recv_node(from, 0, to, h.ticket, new incoming_write(*this, from, h.length));
                return sizeof w;
            }
            const auto p = payload(data, bytes, sizeof w, h.length);
            std::memcpy(to, p.data(), p.size());
            if (h.ticket)
                send_plain(from, wrapped{{wire::reply, 0, 0, h.ticket}});
            return sizeof w + h.length;
        }
        case wire::written:
            channels_.at(h.ticket).done();
            return sizeof h;
        case wire::read: {
            const auto r = header<wire::read_head>(data, bytes);
            const auto *at = reinterpret_cast<const std::byte *>(r.address);
            if (h.flags & wire::apart)
                send_data(from, h.length, at, r.bytes, &nobody_);
            else
                send(from, wrapped{{wire::reply, 0, 0, h.ticket}}, [&](writer &w) { w.bytes(at, r.bytes); });
            return sizeof r;
        }
        case wire::collective: {
            const auto c = header<wire::collective_head>(data, bytes);
            const detail::contribution_key k{h.ticket, c.number, c.step};
            if (h.flags & wire::apart) {
                incoming *in = receive_apart(from, h, data + sizeof c, bytes - sizeof c);
                in->key = k;
                post(from, in);
                return sizeof c + sizeof(uint64_t);
            }
            contributions_.take(k, payload(data, bytes, sizeof c, h.length));
            return sizeof c + h.length;
        }
        case wire::credit: {
            outbox_.give_credit(from, h.ticket);
            return sizeof h;
        }
        default: throw wire_error("a record of kind " + std::to_string(h.kind));
        }
    }

    static std::span<const std::byte> payload(const std::byte *data, size_t bytes, size_t head, size_t length)
    {
        if (bytes < head + length)
            throw wire_error("a record is longer than its message");
        return {data + head, length};
    }

    incoming *receive_apart(int from, const wire::head &h, const std::byte *data, size_t bytes)
    {
        const auto length = header<uint64_t>(data, bytes);
        auto *in = new incoming(*this, from, length);
        in->kind = h.kind;
        in->head = h;
        return in;
    }
    void post(int from, incoming *in) { port_.recv_node(from, 0, in->data.data(), in->data.size(), in); }

    void run(int from, const wire::head &h, uint32_t function, std::span<const std::byte> arguments)
    {
        detail::call c{from, h.ticket, h.flags, arguments};
        handler_function f = registry_.find(function);
        if (!f)
            f = &node::unknown_function;
        if (scheduler_.in_thread())
            f(&c);
        else
            scheduler_.run_now(f, &c);
    }

    static void unknown_function(void *argument)
    {
        const auto c = *static_cast<detail::call *>(argument);
        try {
            throw error("this node does not know the function that was invoked: it was started from another program");
        } catch (...) {
            here().answer_exception(c.from, c.ticket, c.flags);
        }
    }

    void resolve(int from, const wire::head &h, std::span<const std::byte> payload)
    {
        detail::state_base *s = tickets_.find(h.ticket);
        reader r(payload);
        try {
            if (h.flags & wire::failed)
                s->failed = detail::exceptions::get(r, from);
            else
                s->take(r);
            r.end();
        } catch (...) {
            s->failed = std::current_exception();
        }
        s->complete(scheduler_);
        close_ticket(h.ticket);
    }

public:
    /** Answers an invocation with what is being thrown. */
    void answer_exception(int from, uint32_t ticket, uint8_t flags)
    {
        if (!ticket)
            return lost_exception(from);
        send(from, wrapped{{wire::reply, static_cast<uint8_t>(wire::failed | (flags & wire::system)), 0, ticket}},
             [](writer &w) { detail::exceptions::put(w); });
    }
    /** Answers an invocation with what `put(writer &)` writes. */
    template <class Put> void answer(int from, uint32_t ticket, uint8_t flags, Put put)
    {
        send(from, wrapped{{wire::reply, static_cast<uint8_t>(flags & wire::system), 0, ticket}}, put);
    }

private:
    static inline constinit thread_local node *current_ = nullptr;

    port &port_;
    node_options options_;
    scheduler scheduler_;
    registry registry_;
    detail::outbox outbox_;
    int batching_ = 0;
    detail::ticket_table tickets_;
    detail::channel_table channels_{scheduler_};
    detail::contributions contributions_{scheduler_};
    std::vector<std::deque<late>> late_;        // by node
    std::vector<std::shared_ptr<void>> owned_;  // by type
    static inline size_t owned_types_ = 0;
    uint64_t sent_ = 0, taken_ = 0, lost_ = 0;
    size_t arriving_ = 0;                   // payloads that travel by themselves
    detail::nobody nobody_;
};

} // namespace mttl

#endif
