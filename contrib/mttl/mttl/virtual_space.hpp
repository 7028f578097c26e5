/*
 * What one process knows of the virtual nodes of a space (virtual.hpp), and
 * the protocol by which they move.
 *
 * Each process knows, for each virtual node, an owner and how many moves
 * ago that was true (`epoch`).  A process that is not the owner any more knows
 * to whom it handed over, at a higher epoch, so a message follows the moves and
 * arrives.  The old owner keeps the state until the new one has it, and what
 * comes meanwhile: a state that cannot be read there stays here, and whoever
 * wanted it moved is told.  The owner tells the sender where it is now.  Messages carry a number per sender and virtual
 * node, and these travel with the state: each is taken once, and those of one
 * process are started in the order in which it sent them, whatever way they took.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_VIRTUAL_SPACE_HPP
#define MTTL_VIRTUAL_SPACE_HPP

#include "invoke.hpp"

#include <deque>
#include <map>
#include <unordered_map>

namespace [[gnu::visibility("default")]] mttl {
namespace detail {

/** An invocation of a function of a virtual node, as the function gets it. */
struct virtual_call : call {
    void *object = nullptr;
};

/** What travels with a message to a virtual node. */
struct virtual_head {
    uint32_t space = 0, number = 0;
    uint32_t epoch = 0;             // of the owner that the sender knew of
    int32_t origin = 0;
    uint32_t ticket = 0;            // whom the result is for; 0: nobody
    uint32_t function = 0;          // or move, whose argument is the process, or nothing
    static constexpr uint32_t move = 0, nothing = 1;
    uint64_t place = 0;             // among the messages of its origin to this virtual node
    uint32_t forwarded = 0;
    uint32_t unused = 0;            // 40 bytes, all of them defined
};

struct virtual_message {
    virtual_head head;
    std::vector<std::byte> arguments;
};

} // namespace detail

template <> struct serial<detail::virtual_message> {
    static void put(writer &w, const detail::virtual_message &m)
    {
        w.raw(m.head);
        serial<std::vector<std::byte>>::put(w, m.arguments);
    }
    static detail::virtual_message get(reader &r)
    {
        detail::virtual_message m;
        m.head = r.raw<detail::virtual_head>();
        m.arguments = serial<std::vector<std::byte>>::get(r);
        return m;
    }
};

namespace detail {

/** Runs F on the T of a virtual node; registered as the handlers of invoke.hpp are. */
template <class T, class F, class P> struct [[gnu::visibility("hidden")]] virtual_handler;
template <class T, class F, class... P> struct [[gnu::visibility("hidden")]] virtual_handler<T, F, types<P...>> {
    static_assert(is_function_type<F>() && (may_travel<P>() && ...));
    static_assert(std::is_invocable_v<const F &, T &, P...>,
                  "mttl: the function of a virtual node takes T & and these arguments; other references would refer to copies");
    using result = std::remove_cvref_t<std::invoke_result_t<const F &, T &, P...>>;
    static_assert(std::is_void_v<result> || may_travel<std::conditional_t<std::is_void_v<result>, int, result>>());

    static void run(void *argument)
    {
        node &n = node::here();
        const auto c = *static_cast<virtual_call *>(argument);
        try {
            reader r(c.arguments);
            std::tuple<P...> arguments{serial<P>::get(r)...};
            r.end();
            T &object = *static_cast<T *>(c.object);
            const auto call = [&](auto &&...p) -> decltype(auto) { return F{}(object, std::forward<decltype(p)>(p)...); };
            if constexpr (std::is_void_v<result>) {
                std::apply(call, std::move(arguments));
                if (c.ticket)
                    n.answer(c.from, c.ticket, c.flags, [](writer &) {});
            } else {
                const result value = std::apply(call, std::move(arguments));
                if (c.ticket)
                    n.answer(c.from, c.ticket, c.flags, [&](writer &w) { serial<result>::put(w, value); });
            }
        } catch (...) {
            n.answer_exception(c.from, c.ticket, c.flags);
        }
    }
    static constexpr size_t sizes[] = {sizeof(T), sizeof(P)..., size_of<result>};
    static inline registration self{typeid(virtual_handler), &virtual_handler::run, sizes};
};

/** The parameters behind the T. */
template <class List> struct behind_first {
    using type = void;      // not one list: as they are given
};
template <class T, class... P> struct behind_first<types<T, P...>> {
    using type = types<P...>;
};

template <class T, class F, class... A>
using virtual_handler_for =
    virtual_handler<T, F, typename sent_as<typename behind_first<typename parameters_of<F>::type>::type, A...>::type>;

/** The virtual nodes of one space as one process sees them. */
template <class T> class virtual_space {
public:
    virtual_space(uint32_t id, uint32_t count) : id_(id), hints_(count)
    {
        const node &n = node::here();
        for (uint32_t v = 0; v < count; ++v) {
            hints_[v].owner = static_cast<int32_t>(uint64_t(v) * static_cast<uint64_t>(n.size()) / count);
            if (hints_[v].owner == n.id())
                slots_.emplace(v, std::make_unique<slot>());
        }
    }

    /** All spaces of T of this node. */
    static std::map<uint32_t, std::unique_ptr<virtual_space>> &all()
    {
        return node::here().own<std::map<uint32_t, std::unique_ptr<virtual_space>>>();
    }
    static virtual_space &named(uint32_t id)
    {
        const auto it = all().find(id);
        if (it == all().end())
            throw error("no such space of virtual nodes on this node");
        return *it->second;
    }

    size_t count() const { return hints_.size(); }
    std::vector<uint32_t> owned() const
    {
        std::vector<uint32_t> v;
        for (const auto &[number, s] : slots_)
            if (!s->going)
                v.push_back(number);
        std::sort(v.begin(), v.end());
        return v;
    }
    uint64_t forwarded() const { return forwarded_; }

    /** Sends a message of this process on its way. */
    void send(uint32_t v, uint32_t function, uint32_t ticket, std::vector<std::byte> arguments)
    {
        node &n = node::here();
        virtual_head h;
        h.space = id_, h.number = v, h.origin = n.id(), h.ticket = ticket, h.function = function;
        sequence &mine = sequences_[v];
        fill(v, mine);
        h.place = mine.next++;
        try {
            pass_on({h, std::move(arguments)});
        } catch (...) {
            // Nobody may wait for it.  Others may have sent while this thread waited.
            if (mine.next == h.place + 1)
                mine.next = h.place;
            else
                mine.holes.push_back(h.place);
            throw;
        }
    }

    static void deliver(virtual_message m) { named(m.head.space).take(std::move(m)); }

    // What leave() and take_back() need of a process.
    bool left = false;
    std::vector<uint32_t> handed_over;
    /** It is handed over, if it is this process's own: those handed over to this process stay others'. */
    void leave(uint32_t v)
    {
        const auto it = slots_.find(v);
        if (it != slots_.end() && it->second->home < 0)
            it->second->home = node::here().id();
    }
    /** Of this process's own, after a move that was refused: whether it is elsewhere, to be taken back some day. */
    bool still_handed(uint32_t v)
    {
        const auto it = slots_.find(v);
        if (it == slots_.end() || it->second->going)
            return true;
        it->second->home = -1;
        return false;
    }
    bool own(uint32_t v) const
    {
        const auto it = slots_.find(v);
        return it != slots_.end() && it->second->home < 0;
    }

private:
    struct hint {
        int32_t owner = 0;
        uint32_t epoch = 0;
    };
    /** Messages of one process, in their order. */
    struct line {
        uint64_t next = 0;
        std::map<uint64_t, virtual_message> early;
    };
    /** This process's messages to one virtual node. */
    struct sequence {
        uint64_t next = 0;
        std::vector<uint64_t> holes;            // places of messages that could not be sent
    };
    struct slot {
        T object{};
        std::map<int32_t, line> lines;          // by origin
        std::deque<virtual_message> moves;      // asked for, and waiting until nothing is under way
        std::deque<virtual_message> ready;      // in order; a thread for each is queued
        size_t under_way = 0;
        int32_t home = -1;                      // the process that handed it over, until it has it back
        bool going = false;                     // its state has been sent and not been acknowledged
        std::vector<virtual_message> held;      // have come since
    };

    void fill(uint32_t v, sequence &mine)
    {
        while (!mine.holes.empty()) {
            virtual_head h;
            h.space = id_, h.number = v, h.origin = node::here().id(), h.function = virtual_head::nothing;
            h.place = mine.holes.back();
            mine.holes.pop_back();
            try {
                pass_on({h, {}});
            } catch (...) {
                mine.holes.push_back(h.place);
                throw;
            }
        }
    }

    void pass_on(virtual_message m)
    {
        const hint h = hints_[m.head.number];
        m.head.epoch = h.epoch;
        post(h.owner, fn<&virtual_space::deliver>, m);
    }

    void take(virtual_message m)
    {
        const uint32_t v = m.head.number;
        const auto it = slots_.find(v);
        if (it == slots_.end()) {
            forward(std::move(m));
            return;
        }
        slot &s = *it->second;
        if (s.going) {
            s.held.push_back(std::move(m));
            return;
        }
        ++s.under_way;      // it stays, also while this thread waits to send
        if (m.head.forwarded)
            post(m.head.origin, fn<&virtual_space::learn>, id_, v, node::here().id(), hints_[v].epoch);
        accept(v, s, std::move(m));
        if (--s.under_way == 0)
            go(v);
    }

    void forward(virtual_message m)
    {
        ++forwarded_;
        m.head.forwarded = 1;
        pass_on(std::move(m));
    }

    void accept(uint32_t v, slot &s, virtual_message m)
    {
        line &l = s.lines[m.head.origin];
        if (m.head.place != l.next) {
            if (m.head.place < l.next || !l.early.emplace(m.head.place, std::move(m)).second)
                throw wire_error("a message to a virtual node came twice");
            return;
        }
        // What follows is queued before this one runs, which may block.
        ++l.next;
        const bool now = s.ready.empty();
        ++s.under_way;
        if (!now)
            enqueue(v, s, std::move(m));
        for (auto it = l.early.begin(); it != l.early.end() && it->first == l.next; it = l.early.erase(it), ++l.next) {
            ++s.under_way;
            enqueue(v, s, std::move(it->second));
        }
        if (now)
            run(v, s, m);
    }

    void enqueue(uint32_t v, slot &s, virtual_message m)
    {
        s.ready.push_back(std::move(m));
        node::here().threads().spawn_detached([this, v, &s] {
            const virtual_message next = std::move(s.ready.front());
            s.ready.pop_front();
            run(v, s, next);
        });
    }

    void run(uint32_t v, slot &s, const virtual_message &m)
    {
        node &n = node::here();
        if (m.head.function == virtual_head::move) {
            s.moves.push_back(m);
        } else if (m.head.function != virtual_head::nothing) {
            virtual_call c;
            c.from = m.head.origin, c.ticket = m.head.ticket, c.arguments = m.arguments, c.object = &s.object;
            if (const handler_function f = n.functions().find(m.head.function))
                f(&c);
            else
                refuse(n, c);
        }
        if (--s.under_way == 0)
            go(v);
    }
    static void refuse(node &n, const virtual_call &c)
    {
        try {
            throw error("this node does not know the function that was invoked: it was started from another program");
        } catch (...) {
            n.answer_exception(c.from, c.ticket, c.flags);
        }
    }

    /** Nothing is under way: does the first of the moves that wait. */
    void go(uint32_t v)
    {
        const auto it = slots_.find(v);
        slot &s = *it->second;
        node &n = node::here();
        while (!s.going && !s.moves.empty()) {
            const virtual_message m = std::move(s.moves.front());
            s.moves.pop_front();
            reader r(m.arguments);
            const auto to = r.raw<int32_t>();
            if (to == n.id()) {
                if (s.home == to)
                    s.home = -1;
                if (m.head.ticket)
                    n.answer(m.head.origin, m.head.ticket, 0, [](writer &) {});
            } else {
                hand_over(v, s, to, m.head);
            }
        }
    }

    /** Sends the state; who asked for the move is told there, or here when it stays because it does not travel. */
    void hand_over(uint32_t v, slot &s, int32_t to, const virtual_head &asked)
    {
        const uint32_t epoch = hints_[v].epoch + 1;
        s.going = true;
        try {
            virtual_message state{asked, packed(s)};
            state.head.epoch = epoch;
            // It may block, and what comes meanwhile is held: so on a thread of its own.
            node::here().threads().spawn_detached([this, v, to, state = std::move(state)] {
                try {
                    mttl::invoke(to, fn<&virtual_space::install>, state);
                } catch (...) {
                    return stays(v, state.head);
                }
                gone(v, to, state.head.epoch);
            });
        } catch (...) {
            s.going = false;
            refuse_move(asked);
        }
    }
    static void refuse_move(const virtual_head &asked)
    {
        try {
            node::here().answer_exception(asked.origin, asked.ticket, 0);
        } catch (...) {
            node::here().lost_exception(asked.origin);
        }
    }
    /** The new owner has it. */
    void gone(uint32_t v, int32_t to, uint32_t epoch)
    {
        const auto it = slots_.find(v);
        if (it == slots_.end() || !it->second->going || hints_[v].epoch + 1 != epoch)
            return;     // it is back already, see arrive()
        const std::vector<virtual_message> held = std::move(it->second->held);
        slots_.erase(it);
        hints_[v] = {to, epoch};
        each(held, &virtual_space::forward);
    }
    /** On a thread, from which nothing may be thrown. */
    void each(const std::vector<virtual_message> &all, void (virtual_space::*f)(virtual_message))
    {
        for (const virtual_message &m : all) {
            try {
                (this->*f)(m);
            } catch (...) {
                node::here().lost_exception(m.head.origin);
            }
        }
    }
    /** It was not taken there: in a catch clause that says why. */
    void stays(uint32_t v, const virtual_head &asked)
    {
        slot &s = *slots_.at(v);
        refuse_move(asked);
        s.going = false;
        ++s.under_way;
        each(std::exchange(s.held, {}), &virtual_space::take);
        if (--s.under_way == 0)
            go(v);
    }
    static std::vector<std::byte> packed(const slot &s)
    {
        writer w(nullptr, 0);
        serial<T>::put(w, s.object);
        w.raw(static_cast<uint64_t>(s.lines.size()));
        for (const auto &[origin, l] : s.lines) {
            w.raw(origin), w.raw(l.next), w.raw(static_cast<uint64_t>(l.early.size()));
            for (const auto &[place, m] : l.early)
                serial<virtual_message>::put(w, m);
        }
        w.raw(s.home);
        w.raw(static_cast<uint64_t>(s.moves.size()));
        for (const virtual_message &m : s.moves)
            serial<virtual_message>::put(w, m);
        if (w.size() + sizeof(virtual_head) + sizeof(uint64_t) > port::nsend_bytes)
            throw error("a virtual node of more than 1 GiB does not move");
        return w.take();
    }

    static void install(virtual_message m) { named(m.head.space).arrive(std::move(m)); }
    void arrive(virtual_message m)
    {
        const uint32_t v = m.head.number;
        reader r(m.arguments);
        auto fresh = std::make_unique<slot>();
        fresh->object = serial<T>::get(r);
        for (auto lines = r.raw<uint64_t>(); lines > 0; --lines) {
            line &l = fresh->lines[r.raw<int32_t>()];
            l.next = r.raw<uint64_t>();
            for (auto early = r.raw<uint64_t>(); early > 0; --early) {
                virtual_message e = serial<virtual_message>::get(r);
                const uint64_t place = e.head.place;
                l.early.emplace(place, std::move(e));
            }
        }
        fresh->home = r.raw<int32_t>();
        if (fresh->home == node::here().id())
            fresh->home = -1;
        for (auto moves = r.raw<uint64_t>(); moves > 0; --moves)
            fresh->moves.push_back(serial<virtual_message>::get(r));
        r.end();
        slot &s = *fresh;
        s.under_way = 1;    // it stays until those that waited here have been taken
        const auto held = std::make_shared<std::vector<virtual_message>>();
        auto &at = slots_[v];
        // From here on it is here, whatever happens: who sent it must not be told otherwise.
        if (at)             // it has gone all around before this process was told that it had arrived
            *held = std::move(at->held);
        at = std::move(fresh);
        hints_[v] = {node::here().id(), m.head.epoch};
        try {
            if (m.head.ticket)
                node::here().answer(m.head.origin, m.head.ticket, 0, [](writer &) {});
        } catch (...) {
            node::here().lost_exception(m.head.origin);
        }
        // And who sent it is told before it goes on.
        const auto go_on = [this, v, &s, held] {
            each(*held, &virtual_space::take);
            if (--s.under_way == 0)
                go(v);
        };
        try {
            node::here().threads().spawn_detached(go_on);
        } catch (...) {     // no memory for a thread
            go_on();
        }
    }

    static void learn(uint32_t space, uint32_t v, int32_t owner, uint32_t epoch)
    {
        hint &h = named(space).hints_[v];
        if (epoch > h.epoch && !named(space).slots_.count(v))
            h = {owner, epoch};
    }

    uint32_t id_;
    std::vector<hint> hints_;
    std::unordered_map<uint32_t, std::unique_ptr<slot>> slots_;             // those that are here
    std::unordered_map<uint32_t, sequence> sequences_;                      // of messages sent from here
    uint64_t forwarded_ = 0;
};

} // namespace detail

} // namespace mttl

#endif
