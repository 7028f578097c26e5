/*
 * A result that is not there yet: blocks the thread that wants it (never the
 * process), is continued with then(), combined with when_all(), awaited with
 * co_await.  A continuation runs on a thread of its own, so it may block.
 * Everything here belongs to one process; how results come from others is in
 * node.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_FUTURE_HPP
#define MTTL_FUTURE_HPP

#include "serial.hpp"
#include "thread.hpp"

#include <coroutine>
#include <optional>
#include <tuple>
#include <variant>

namespace [[gnu::visibility("default")]] mttl {

template <class T> class future;
template <class T> class promise;

namespace detail {

/** The scheduler of the node that runs now; set by node.hpp. */
inline constinit thread_local scheduler *here = nullptr;

inline scheduler &scheduler_here()
{
    if (!here)
        throw error("used outside a node: before run() or after it");
    return *here;
}

struct continuation {
    virtual void run() = 0;
    virtual ~continuation() = default;
};

template <class F> struct continuation_of final : continuation {
    explicit continuation_of(F g) : f(std::move(g)) {}
    void run() override { f(); }
    F f;
};

/** Counted by the futures, promises and tickets that hold it. */
struct state_base {
    virtual ~state_base() = default;
    /** Takes a result as it arrives. */
    virtual void take(reader &r) = 0;

    void hold() { ++holders; }
    void drop()
    {
        if (--holders == 0)
            delete this;
    }
    void complete(scheduler &s)
    {
        ready = true;
        waiters.wake_all(s);
        if (then)
            s.spawn_detached([c = std::move(then)] { c->run(); });
    }
    void wait()
    {
        if (!ready)
            waiters.wait(scheduler_here());
    }
    template <class F> void continue_with(F f)
    {
        if (then)
            throw error("a future is continued twice");
        then = std::make_unique<continuation_of<F>>(std::move(f));
        if (ready)
            scheduler_here().spawn_detached([c = std::move(then)] { c->run(); });
    }

    std::exception_ptr failed;
    wait_queue waiters;
    std::unique_ptr<continuation> then;
    uint32_t holders = 0;
    bool ready = false;
};

template <class T> using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T> struct state final : state_base {
    std::optional<stored<T>> value;

    void take([[maybe_unused]] reader &r) override
    {
        if constexpr (std::is_void_v<T>)
            value.emplace();
        else if constexpr (serialisable<T>)
            value.emplace(serial<T>::get(r));
        else
            throw error("a result of this type does not travel");
    }
    stored<T> get()
    {
        wait();
        if (failed)
            std::rethrow_exception(failed);
        if (!value)
            throw error("a future's value was taken twice");
        stored<T> v = std::move(*value);
        value.reset();
        return v;
    }
};

template <class S> class held {
public:
    held() = default;
    explicit held(S *s) : s_(s) { s->hold(); }
    held(const held &o) : s_(o.s_)
    {
        if (s_)
            s_->hold();
    }
    held(held &&o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
    held &operator=(held o) noexcept
    {
        std::swap(s_, o.s_);
        return *this;
    }
    ~held()
    {
        if (s_)
            s_->drop();
    }
    S *operator->() const { return s_; }
    S *get() const { return s_; }
    explicit operator bool() const { return s_; }

private:
    S *s_ = nullptr;
};

template <class F, class T> struct continued {
    using type = std::invoke_result_t<F, T>;
};
template <class F> struct continued<F, void> {
    using type = std::invoke_result_t<F>;
};

template <class T> struct promise_base {
    void return_value(T v) { s->value.emplace(std::move(v)), s->complete(scheduler_here()); }
    held<state<T>> s{new state<T>};
};
template <> struct promise_base<void> {
    void return_void() { s->value.emplace(), s->complete(scheduler_here()); }
    held<state<void>> s{new state<void>};
};

} // namespace detail

/** One result, taken once; moved, not copied. */
template <class T> class future {
public:
    using value_type = T;

    future() = default;
    explicit future(detail::state<T> *s) : s_(s) {}
    future(future &&) noexcept = default;
    future &operator=(future &&) noexcept = default;

    bool valid() const { return bool(s_); }
    /** Whether get() would not block. */
    bool ready() const { return s_ && s_->ready; }
    void wait() const { checked()->wait(); }

    /** Blocks the thread until the result is there; takes it, or throws what was thrown instead. */
    T get()
    {
        const detail::held<detail::state<T>> s = std::move(checked());
        s_ = {};
        if constexpr (std::is_void_v<T>)
            s->get();
        else
            return s->get();
    }

    /** Runs f(result) when it is there, on a thread of its own; an exception passes by f to the future returned. */
    template <class F> auto then(F f)
    {
        using R = typename detail::continued<F, T>::type;
        promise<R> p;
        future<R> result = p.get_future();
        detail::held<detail::state<T>> s = std::move(checked());
        s_ = {};
        detail::state<T> *at = s.get();
        at->continue_with([s = std::move(s), f = std::move(f), p = std::move(p)]() mutable {
            p.run([&]() -> R {
                if constexpr (std::is_void_v<T>) {
                    s->get();
                    return f();
                } else {
                    return f(s->get());
                }
            });
        });
        return result;
    }

    // ---- co_await, and a coroutine's result ----

    bool await_ready() const { return checked()->ready; }
    void await_suspend(std::coroutine_handle<> h)
    {
        checked()->continue_with([h] { h.resume(); });
    }
    T await_resume() { return get(); }

    struct promise_type : detail::promise_base<T> {
        future get_return_object() { return future(this->s.get()); }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void unhandled_exception()
        {
            this->s->failed = std::current_exception();
            this->s->complete(detail::scheduler_here());
        }
    };

private:
    const detail::held<detail::state<T>> &checked() const
    {
        if (!s_)
            throw error("a future without a result: default constructed, or taken");
        return s_;
    }
    detail::held<detail::state<T>> &checked()
    {
        std::as_const(*this).checked();
        return s_;
    }
    detail::held<detail::state<T>> s_;
};

/** The side that sets a result. */
template <class T> class promise {
public:
    promise() : s_(new detail::state<T>) {}
    promise(promise &&) noexcept = default;
    promise &operator=(promise &&o) noexcept
    {
        promise t(std::move(o));    // what was promised here is given up now
        std::swap(s_, t.s_);
        return *this;
    }
    /** One that has not been kept is an error for who waits; without memory, perhaps std::bad_alloc. */
    ~promise()
    {
        if (!s_ || s_->ready || s_->holders <= 1 || !detail::here)
            return;
        try {
            throw error("a promise was given up: nobody will keep it");
        } catch (...) {
            s_->failed = std::current_exception();
        }
        try {
            s_->complete(*detail::here);
        } catch (...) {     // no thread for the continuation: it has gone, and what it promised is given up as well
        }
    }

    future<T> get_future() { return future<T>(s_.get()); }
    template <class... V> void set_value(V &&...v)
    {
        once();
        s_->value.emplace(std::forward<V>(v)...);
        s_->complete(detail::scheduler_here());
    }
    void set_exception(std::exception_ptr p)
    {
        once();
        s_->failed = std::move(p);
        s_->complete(detail::scheduler_here());
    }
    /** Sets what f() returns or throws. */
    template <class F> void run(F f)
    {
        try {
            if constexpr (std::is_void_v<T>) {
                f();
                s_->value.emplace();
            } else {
                s_->value.emplace(f());
            }
        } catch (...) {
            s_->failed = std::current_exception();
        }
        s_->complete(detail::scheduler_here());
    }

private:
    void once() const
    {
        if (s_->ready)
            throw error("a promise is kept twice");
    }
    detail::held<detail::state<T>> s_;
};

/** All results, in the order of the futures; throws the first exception in that order, when all are there. */
template <class T> auto when_all(std::vector<future<T>> all)
{
    using R = std::conditional_t<std::is_void_v<T>, void, std::vector<detail::stored<T>>>;
    promise<R> p;
    future<R> result = p.get_future();
    detail::scheduler_here().spawn_detached([all = std::move(all), p = std::move(p)]() mutable {
        for (const future<T> &f : all)
            f.wait();
        p.run([&]() -> R {
            if constexpr (std::is_void_v<T>) {
                for (future<T> &f : all)
                    f.get();
            } else {
                R values;
                values.reserve(all.size());
                for (future<T> &f : all)
                    values.push_back(f.get());
                return values;
            }
        });
    });
    return result;
}

/** The same for futures of different types. */
template <class... T>
    requires(sizeof...(T) > 0 && (!std::is_void_v<T> && ...))
future<std::tuple<T...>> when_all(future<T>... each)
{
    promise<std::tuple<T...>> p;
    future<std::tuple<T...>> result = p.get_future();
    detail::scheduler_here().spawn_detached([all = std::tuple(std::move(each)...), p = std::move(p)]() mutable {
        std::apply([](const auto &...f) { (f.wait(), ...); }, all);
        p.run([&] { return std::apply([](auto &...f) { return std::tuple<T...>{f.get()...}; }, all); });
    });
    return result;
}

} // namespace mttl

#endif
