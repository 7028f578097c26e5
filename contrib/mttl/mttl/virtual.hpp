/*
 * Virtual nodes: more nodes than processes, each a T that lives on one process
 * and can be moved to another while messages to it travel (after Phoenix:
 * Taura, Kaneda, Endo, Yonezawa).  Messages name the virtual node, not the
 * process; so processes may hand theirs over, leave the work, and take them
 * back, and nobody who sends needs to know.
 *
 *   struct cell { int visits = 0; };                             // serialisable
 *   auto cells = mttl::VirtualNodes<cell>::create(1000);         // one node makes them; the handle travels
 *   int v = cells.invoke(17, [](cell &c, int n) { return c.visits += n; }, 2);
 *   cells.move(17, 3).get();
 *   cells.leave(2);  ...  cells.take_back(2);
 *
 * A virtual node moves when none of its functions is under way: one that blocks
 * delays the move, and never stops the others.
 *
 * How they move: virtual_space.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_VIRTUAL_HPP
#define MTTL_VIRTUAL_HPP

#include "virtual_space.hpp"

namespace [[gnu::visibility("default")]] mttl {

/** Virtual nodes 0 .. count - 1, each with a T; a handle, which travels (8 bytes). */
template <class T> class VirtualNodes {
    static_assert(serialisable<T> && std::is_default_constructible_v<T>,
                  "mttl: a virtual node's T must be serialisable, or it cannot move");

public:
    VirtualNodes() = default;

    /** Makes them, spread evenly over all nodes in blocks; called on one node, blocks until all nodes know. */
    static VirtualNodes create(uint32_t count)
    {
        struct counter {
            uint32_t made = 0;
        };
        const node &n = node::here();
        VirtualNodes s;
        s.id_ = node::here().own<counter>().made++ * static_cast<uint32_t>(n.size()) + static_cast<uint32_t>(n.id());
        s.count_ = count;
        std::vector<future<void>> all;
        for (int to = 0; to < n.size(); ++to)
            all.push_back(mttl::ainvoke(to, [](uint32_t id, uint32_t c) {
                space::all().emplace(id, std::make_unique<space>(id, c));
            }, s.id_, count));
        when_all(std::move(all)).get();
        return s;
    }

    uint32_t count() const { return count_; }

    /** Runs f(T &, a...) where virtual node v is, and blocks this thread until it has returned; throws what it throws. */
    template <class F, class... A> auto invoke(uint32_t v, F f, A &&...a) const
    {
        return ainvoke(v, f, std::forward<A>(a)...).get();
    }
    /** The same without waiting. */
    template <class F, class... A> auto ainvoke(uint32_t v, F, A &&...a) const
    {
        using H = detail::virtual_handler_for<T, F, A...>;
        using R = typename H::result;
        detail::held<detail::state<R>> s(new detail::state<R>);
        send<H>(v, s.get(), std::forward<A>(a)...);
        return future<R>(s.get());
    }
    /** The same, and nobody is told the result; the owner reports an exception. */
    template <class F, class... A> void post(uint32_t v, F, A &&...a) const
    {
        send<detail::virtual_handler_for<T, F, A...>>(v, nullptr, std::forward<A>(a)...);
    }

    /** Moves v to process `to`, after what this process has sent it; ready when it has arrived there. */
    future<void> move(uint32_t v, int to) const
    {
        if (to < 0 || to >= node::here().size())
            throw std::out_of_range("no node " + std::to_string(to) + " among " + std::to_string(node::here().size()));
        detail::held<detail::state<void>> s(new detail::state<void>);
        writer w(nullptr, 0);
        w.raw(static_cast<int32_t>(to));
        start(v, s.get(), 0, w.take());
        return future<void>(s.get());
    }
    /** The process that v is on, when it is asked. */
    int where(uint32_t v) const
    {
        return invoke(v, [](T &) { return my_node(); });
    }
    /** The virtual nodes that are on this process now. */
    std::vector<uint32_t> here() const { return at().owned(); }
    /** Messages that this process has sent on to where a virtual node went. */
    uint64_t forwarded() const { return at().forwarded(); }

    /** Process `p` hands its virtual nodes to the others that have not left, in turn; blocks until all have arrived.
     *  Throws where one could not move: that one stays, and `p` has not left; take_back() brings back the others. */
    void leave(int p) const
    {
        mttl::invoke(p, [](VirtualNodes s) { s.leave_here(); }, *this);
    }
    /** Process `p` gets back what was its own when it left, from wherever that is now. */
    void take_back(int p) const
    {
        mttl::invoke(p, [](VirtualNodes s) { s.take_back_here(); }, *this);
    }

private:
    using space = detail::virtual_space<T>;

    space &at() const { return space::named(id_); }

    template <class H, class... A> void send(uint32_t v, detail::state_base *s, A &&...a) const
    {
        send_as(v, s, types_of<H>(), H::self.id, std::forward<A>(a)...);
    }
    template <class H> struct list;
    template <class F, class... P> struct list<detail::virtual_handler<T, F, detail::types<P...>>> {
        using type = detail::types<P...>;
    };
    template <class H> using types_of = typename list<H>::type;
    template <class... P>
    void send_as(uint32_t v, detail::state_base *s, detail::types<P...>, uint32_t function, const P &...p) const
    {
        writer w(nullptr, 0);
        (serial<P>::put(w, p), ...);
        start(v, s, function, w.size() ? w.take() : std::vector<std::byte>());
    }
    void start(uint32_t v, detail::state_base *s, uint32_t function, std::vector<std::byte> arguments) const
    {
        if (v >= count_)
            throw std::out_of_range("no virtual node " + std::to_string(v) + " among " + std::to_string(count_));
        const uint32_t ticket = s ? node::here().open_ticket(s) : 0;
        try {
            at().send(v, function, ticket, std::move(arguments));
        } catch (...) {
            if (ticket)
                node::here().close_ticket(ticket);
            throw;
        }
    }

    void leave_here() const
    {
        at().left = true;
        try {
            std::vector<int> stay;
            for (int to = 0; to < node::here().size(); ++to)
                if (!mttl::invoke(to, [](VirtualNodes s) { return s.at().left; }, *this))
                    stay.push_back(to);
            if (stay.empty())
                throw error("no process would be left for the virtual nodes");
            const std::vector<uint32_t> all = here();
            std::vector<bool> own;
            for (const uint32_t v : all)
                own.push_back(at().own(v));
            move_all(
                all,
                [&](size_t i) {
                    at().leave(all[i]);
                    return move(all[i], stay[i % stay.size()]);
                },
                [&](size_t i, bool moved) { return own[i] && (moved || at().still_handed(all[i])); });
        } catch (...) {
            at().left = false;
            throw;
        }
    }
    void take_back_here() const
    {
        at().left = false;
        const std::vector<uint32_t> all = std::exchange(at().handed_over, {});
        move_all(
            all, [&](size_t i) { return move(all[i], my_node()); },
            [&](size_t i, bool moved) { return !moved && at().still_handed(all[i]); });
    }
    /** start(i) of each until one throws; waits for those.  What is `out(i, whether it moved)` is handed over then.
     *  Throws the first exception. */
    template <class Start, class Out> void move_all(const std::vector<uint32_t> &all, Start start, Out out) const
    {
        std::exception_ptr failed;
        std::vector<future<void>> moves;
        try {
            for (size_t i = 0; i < all.size(); ++i)
                moves.push_back(start(i));
        } catch (...) {
            failed = std::current_exception();
        }
        for (size_t i = 0; i < all.size(); ++i) {
            bool moved = false;
            try {
                if (i < moves.size()) {
                    moves[i].get();
                    moved = true;
                }
            } catch (...) {
                if (!failed)
                    failed = std::current_exception();
            }
            if (out(i, moved))
                at().handed_over.push_back(all[i]);
        }
        if (failed)
            std::rethrow_exception(failed);
    }

    uint32_t id_ = 0, count_ = 0;
};

} // namespace mttl

#endif
