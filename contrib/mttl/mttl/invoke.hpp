/*
 * Functions run on other nodes.  A function is a type here: a lambda that
 * captures nothing, an empty function object, or fn<f> for a function and
 * fn<&C::m> for a member function; so there is no address to send.  Arguments
 * are converted to the function's parameters, copied there and moved into it,
 * on the caller's own node too.
 *
 *   int sum = mttl::invoke(1, mttl::fn<add>, 2, 3);          blocks this thread
 *   mttl::invoke(sum, 1, mttl::fn<add>, 2, 3);               as the paper writes it
 *   mttl::future<int> f = mttl::ainvoke(1, mttl::fn<add>, 2, 3);
 *   mttl::post(1, [](std::string s) { log(s); }, "hello");   nobody waits
 *
 * Order: what a thread sends to a node is started there in that order.
 * Exceptions arrive at invoke() and future::get(), see exception.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_INVOKE_HPP
#define MTTL_INVOKE_HPP

#include "node.hpp"

#include <functional>
#include <typeinfo>

namespace [[gnu::visibility("default")]] mttl {

/** A function or member function as a value of its own type. */
template <auto P> struct function_constant {
    template <class... A> decltype(auto) operator()(A &&...a) const { return std::invoke(P, std::forward<A>(a)...); }
};
template <auto P> inline constexpr function_constant<P> fn{};

namespace detail {

template <class... T> struct types {};

/** Types of the parameters, without references; void where they are not one list. */
template <class F> struct parameters_of {
    using type = void;
};
template <class R, class... A> struct parameters_of<R (*)(A...)> {
    using type = types<A...>;
};
template <class R, class... A> struct parameters_of<R (*)(A...) noexcept> {
    using type = types<A...>;
};
#define MTTL_MEMBER(qualifiers, object)                                                                                \
    template <class R, class C, class... A> struct parameters_of<R (C::*)(A...) qualifiers> {                          \
        using type = types<A...>;                                                                                      \
        using of = C;                                                                                                  \
    };
MTTL_MEMBER(, C &)
MTTL_MEMBER(const, const C &)
MTTL_MEMBER(noexcept, C &)
MTTL_MEMBER(const noexcept, const C &)
#undef MTTL_MEMBER
template <auto P>
    requires(!std::is_member_pointer_v<decltype(P)>)
struct parameters_of<function_constant<P>> : parameters_of<decltype(P)> {};
template <class F>
    requires requires { &F::operator(); }
struct parameters_of<F> : parameters_of<decltype(&F::operator())> {};

template <class Declared, class... Given> struct sent_as {
    static_assert(sizeof...(Given) == 0 && sizeof...(Given) != 0, "mttl: the function takes another number of arguments");
};
template <class... P, class... Given>
    requires(sizeof...(P) == sizeof...(Given))
struct sent_as<types<P...>, Given...> {
    using type = types<std::remove_cvref_t<P>...>;
};
template <class... Given> struct sent_as<void, Given...> {
    using type = types<std::decay_t<Given>...>;
};

template <class T> constexpr bool may_travel()
{
    static_assert(!std::is_pointer_v<T> && !std::is_member_pointer_v<T>,
                  "mttl: a pointer means nothing on another node: use GlobalPtr, or mttl::fn for a function");
    static_assert(std::is_pointer_v<T> || std::is_member_pointer_v<T> || serialisable<T>,
                  "mttl: this type does not travel: specialise mttl::serial for it; references, views and captures never do");
    return true;
}

template <class F> constexpr bool is_function_type()
{
    static_assert(!std::is_pointer_v<F> && !std::is_member_pointer_v<F>,
                  "mttl: write mttl::fn<f> in place of f: an address of code means nothing on another node");
    static_assert(std::is_pointer_v<F> || std::is_member_pointer_v<F> ||
                      (std::is_empty_v<F> && std::is_default_constructible_v<F>),
                  "mttl: a function that is invoked elsewhere captures nothing: pass what it needs as arguments");
    return true;
}

/** Of what travels; what nobody gets has none. */
template <class T> inline constexpr size_t size_of = sizeof(T);
template <> inline constexpr size_t size_of<void> = 0;

template <class F, class P> struct [[gnu::visibility("hidden")]] handler;
template <class F, class... P> struct [[gnu::visibility("hidden")]] handler<F, types<P...>> {
    static_assert(is_function_type<F>() && (may_travel<P>() && ...));
    static_assert(std::is_invocable_v<const F &, P...>,
                  "mttl: the function cannot take these arguments; a non-const reference parameter would refer to a copy");
    using result = std::remove_cvref_t<std::invoke_result_t<const F &, P...>>;
    static_assert(std::is_void_v<result> || may_travel<std::conditional_t<std::is_void_v<result>, int, result>>());

    static void run(void *argument)
    {
        node &n = node::here();
        const call c = *static_cast<call *>(argument);      // the message is gone when the function blocks
        try {
            reader r(c.arguments);
            std::tuple<P...> arguments{serial<P>::get(r)...};
            r.end();
            if constexpr (std::is_void_v<result>) {
                std::apply(F{}, std::move(arguments));
                if (c.ticket)
                    n.answer(c.from, c.ticket, c.flags, [](writer &) {});
            } else {
                const result value = std::apply(F{}, std::move(arguments));
                if (c.ticket)
                    n.answer(c.from, c.ticket, c.flags, [&](writer &w) { serial<result>::put(w, value); });
            }
        } catch (...) {
            n.answer_exception(c.from, c.ticket, c.flags);
        }
    }

    static void send(node &n, int to, uint32_t ticket, uint8_t flags, const P &...p)
    {
        n.out().send(to, wire::invoke_head{{wire::invoke, flags, 0, ticket}, self.id},
                     [&]([[maybe_unused]] writer &w) { (serial<P>::put(w, p), ...); });
    }

    static constexpr size_t sizes[] = {sizeof(P)..., size_of<result>};
    static inline registration self{typeid(handler), &handler::run, sizes};
};

template <class F, class... A>
using handler_for = handler<F, typename sent_as<typename parameters_of<F>::type, A...>::type>;

template <class H, class... A> auto ask(uint8_t flags, int to, A &&...a)
{
    using R = typename H::result;
    node &n = node::here();
    held<state<R>> s(new state<R>);
    const uint32_t ticket = n.open_ticket(s.get());
    try {
        H::send(n, to, ticket, flags, std::forward<A>(a)...);
    } catch (...) {
        n.close_ticket(ticket);
        throw;
    }
    return future<R>(s.get());
}

} // namespace detail

/** Runs f(a...) on node `to` and blocks this thread until it has returned; throws what it throws. */
template <class F, class... A>
    requires(!std::is_integral_v<F>)
auto invoke(int to, F, A &&...a)
{
    using H = detail::handler_for<F, A...>;
    using R = typename H::result;
    node &n = node::here();
    if (!n.threads().in_thread())
        throw error("blocked outside a thread");
    detail::state<R> s;
    s.hold(), s.hold();     // lives here, on the stack
    const uint32_t ticket = n.open_ticket(&s);
    try {
        H::send(n, to, ticket, wire::credited, std::forward<A>(a)...);
    } catch (...) {
        n.close_ticket(ticket);
        throw;
    }
    detail::state<R> *result = &s;
    __asm__("" : "+r"(result) : : "memory");    // GCC 12 believes that nobody writes s, and warns
    if constexpr (std::is_void_v<R>)
        result->get();
    else
        return result->get();
}

/** The same, as in the paper. */
template <class R, class F, class... A>
    requires(!std::is_integral_v<F>)
void invoke(R &result, int to, F f, A &&...a)
{
    result = invoke(to, f, std::forward<A>(a)...);
}

/** Starts f(a...) on node `to`; the future gets what it returns or throws. */
template <class F, class... A> auto ainvoke(int to, F, A &&...a)
{
    return detail::ask<detail::handler_for<F, A...>>(wire::credited, to, std::forward<A>(a)...);
}

/** Starts f(a...) on node `to`; nobody is told the result.  An exception is reported by that node. */
template <class F, class... A> void post(int to, F, A &&...a)
{
    detail::handler_for<F, A...>::send(node::here(), to, 0, wire::credited, std::forward<A>(a)...);
}

/** While one lives, small messages of this node are collected per receiver and sent when there
 *  are enough, when the node has nothing else to do, and at its end. */
class batch {
public:
    batch() : n_(node::here()) { n_.out().batch_begin(); }
    batch(const batch &) = delete;
    batch &operator=(const batch &) = delete;
    ~batch() { n_.out().batch_end(); }

private:
    node &n_;
};

// ---- threads of the node that runs now ----

/** A thread of this node that runs f(); join() throws what f throws. */
template <class F> thread_handle spawn(F f) { return node::here().threads().spawn(std::move(f)); }
/** Lets other threads and messages go first; small writes that are held leave. */
inline void yield()
{
    node &n = node::here();
    n.out().flush();
    n.threads().yield();
}
inline int my_node() { return node::here().id(); }
inline int nodes() { return node::here().size(); }

} // namespace mttl

#endif
