/*
 * One process of a job: its port, its threads, its loop, and what a thread asks
 * of other nodes.  What leaves goes through outbox.hpp, what arrives through
 * inbox.hpp.  It must not know the types of what it carries: those are in
 * invoke.hpp and global_ptr.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_NODE_HPP
#define MTTL_NODE_HPP

#include "inbox.hpp"

#include <cstdio>

namespace [[gnu::visibility("default")]] mttl {

struct node_options {
    stack_options stacks;
    /** Small messages to one node that it has not taken yet, at most. */
    uint32_t window = 64;       // more are slower: MPI keeps what waits in lists
    collectives collective = collectives::own;
};

class node {
public:
    node(port &p, const node_options &o = {})
        : port_(p), options_(o), scheduler_(o.stacks, p.node()), outbox_(p, scheduler_, o.window)
    {
        port_.recv_any(&inbox_);
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
        outbox_.flush();
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
                outbox_.flush();
                if (scheduler_.has_ready())
                    port_.probe();
            } else {
                outbox_.flush();
                port_.wait();
            }
        }
        outbox_.flush();
    }

    // ---- sending, from threads ----

    /** What leaves this node; see outbox.hpp. */
    detail::outbox &out() { return outbox_; }

    /** Writes memory of another node.  Small: returns at once; else when it has arrived.
     *  What the thread does to that node afterwards happens after the write.
     *  This and what follows throw std::out_of_range where there is no such node. */
    void write(int to, uint64_t address, const void *data, size_t bytes)
    {
        outbox_.checked(to);
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
        outbox_.checked(to);
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
        outbox_.checked(from);      // before a ticket or a channel is taken, or the port is told of it
        auto *p = static_cast<std::byte *>(data);
        while (bytes > 0) {
            const size_t n = std::min(bytes, port::nsend_bytes);
            wire::read_head h{{wire::read, wire::credited, 0, 0}, address, n};
            detail::transfer t(scheduler_);
            if (n + sizeof(wire::head) > port_.small_bytes()) {
                h.h.length = awaited_.channels.open(&t);
                h.h.flags |= wire::apart;
                port_.recv_node(from, h.h.length, p, n, &t);
                outbox_.send_plain(from, h);
                t.wait();
                awaited_.channels.close(h.h.length);
            } else {
                detail::read_state s(p, n);
                s.hold(), s.hold();     // lives here, on the stack
                h.h.ticket = open_ticket(&s);
                outbox_.send_plain(from, h);
                s.wait();
                if (s.failed)
                    std::rethrow_exception(s.failed);
            }
            p += n, address += n, bytes -= n;
        }
    }

    /** A contribution to a collective of a group; see group.hpp.  `flags`: wire::ahead or none. */
    void send_collective(int to, uint32_t group, uint32_t number, uint32_t step, const void *data, size_t bytes,
                         uint8_t flags = 0)
    {
        outbox_.send(to, wire::collective_head{{wire::collective, flags, 0, group}, number, step},
                     [&](writer &w) { w.bytes(data, bytes); });
    }
    /** Blocks until that contribution has arrived and takes it. */
    void receive_collective(uint32_t group, uint32_t number, uint32_t step, void *data, size_t bytes)
    {
        awaited_.contributions.receive({group, number, step}, data, bytes);
    }

    /** A number for a new object of a group, the same on all members that make them in the same order. */
    uint32_t group_open(const std::vector<int> &members) { return awaited_.contributions.open(members); }

    // ---- announced writes, for landing.hpp ----

    /** A number for a landing; its channel is detail::landing_channel(). */
    uint32_t open_landing() { return awaited_.channels.open_landing(); }
    /** One write more to a landing of that node; false: it has gone. */
    bool writes_to_landing(int to, uint32_t landing) { return awaited_.landings.write(to, landing); }
    /** The one counted last could not be sent. */
    void no_write_to_landing(int to, uint32_t landing) { awaited_.landings.unwrite(to, landing); }
    /** A landing for writes of `from` has gone, after so many of them.  Those that `from` has sent all the same are dropped,
     *  before the channel is used again, and later ones are refused there. */
    void close_landing(int from, uint32_t landing, uint64_t landed)
    {
        outbox_.send(from, wire::plain_head{{wire::gone, 0, 0, landing}}, [&](writer &w) { w.raw(landed); });
    }
    /** Announced writes that came when their landing had gone, and were dropped. */
    uint64_t late_writes() const { return inbox_.late_writes(); }

    // ---- where the process waits inside the network, for group.hpp ----

    /** Held by the thread that makes a group of the network's own, or waits there. */
    detail::network_turn &network_turn() { return network_turn_; }

    // ---- answers, for invoke.hpp ----

    /** Answers an invocation with what is being thrown. */
    void answer_exception(int from, uint32_t ticket, uint8_t flags)
    {
        if (!ticket)
            return lost_exception(from);
        const auto failed = static_cast<uint8_t>(wire::failed | (flags & wire::system));
        outbox_.send(from, wire::plain_head{{wire::reply, failed, 0, ticket}},
                     [](writer &w) { detail::exceptions::put(w); });
    }
    /** Answers an invocation with what `put(writer &)` writes. */
    template <class Put> void answer(int from, uint32_t ticket, uint8_t flags, Put put)
    {
        outbox_.send(from, wire::plain_head{{wire::reply, static_cast<uint8_t>(flags & wire::system), 0, ticket}}, put);
    }

    // ---- tickets ----

    uint32_t open_ticket(detail::state_base *s) { return awaited_.tickets.open(s); }
    void close_ticket(uint32_t t) { awaited_.tickets.close(t); }

    /** Whether nothing that this node has asked of itself waits to be started: then its memory may be used at once. */
    bool own_started() const { return inbox_.own_started(); }

    // ---- the end ----

    /** Messages but for those of the runtime itself. */
    uint64_t sent() const { return outbox_.sent(); }
    uint64_t taken() const { return inbox_.taken(); }
    /** Whether threads are ready, or data is arriving. */
    bool active() const { return scheduler_.has_ready() || inbox_.arriving(); }

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
    void write_small(int to, uint64_t address, const void *data, size_t bytes, uint32_t ticket)
    {
        outbox_.send(to, wire::write_head{{wire::write, wire::credited, 0, ticket}, address},
                     [&](writer &w) { w.bytes(data, bytes); }, bytes);
    }

    void write_apart(int to, uint64_t address, const void *data, size_t bytes)
    {
        detail::transfer t(scheduler_);
        wire::write_head h{{wire::write, wire::credited | wire::apart, 0, static_cast<uint32_t>(bytes)}, address};
        h.h.length = awaited_.channels.open(&t);
        outbox_.send_plain(to, h);
        outbox_.flush(to);
        // Its arrival is reported, which implies that it has been sent; but the request is the port's until then.
        detail::transfer sent(scheduler_);
        outbox_.send_data(to, 0, data, bytes, &sent);
        t.wait();
        sent.wait();
        awaited_.channels.close(h.h.length);
    }

    static void unknown_function(void *argument)
    {
        const auto c = *static_cast<detail::call *>(argument);
        try {
            throw error("this node does not know the function that was invoked: it has not loaded the library with it, or runs "
                        "another program");
        } catch (...) {
            here().answer_exception(c.from, c.ticket, c.flags);
        }
    }

    static inline constinit thread_local node *current_ = nullptr;

    port &port_;
    node_options options_;
    scheduler scheduler_;
    registry registry_;
    detail::outbox outbox_;
    detail::awaited awaited_{scheduler_};
    detail::network_turn network_turn_{scheduler_};
    detail::inbox inbox_{port_, scheduler_, registry_, outbox_, awaited_, &node::unknown_function};
    std::vector<std::shared_ptr<void>> owned_;  // by type
    static inline size_t owned_types_ = 0;
    uint64_t lost_ = 0;
};

} // namespace mttl

#endif
