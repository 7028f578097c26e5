/*
 * User-level threads of one process: non-preemptive, first come first served.
 * A thread runs until it blocks, yields or ends.  The `loop` is the context
 * that everything starts from (the process's own stack); it runs when nobody
 * is ready, and now and then so that messages are looked at, see node.hpp.
 *
 * A thread switches straight to the next ready one.  `run_now` runs something
 * on a spare thread at once, without queueing it: what does not block costs two
 * switches, what blocks is a thread like any other from then on.  So a message
 * handler needs no promise not to block.
 *
 * What the C++ runtime keeps per system thread about exceptions in flight is
 * exchanged with the stacks: a thread may block inside a catch clause.
 * A scheduler belongs to one system thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_THREAD_HPP
#define MTTL_THREAD_HPP

#include "context.hpp"
#include "overflow.hpp"
#include "stack.hpp"

#include <cxxabi.h>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] mttl {

class scheduler;

namespace detail {

/** The head of libsupc++'s and libc++abi's __cxa_eh_globals (Itanium C++ ABI, 2.2.2). */
struct exceptions_in_flight {
    void *caught = nullptr;
    unsigned int uncaught = 0;
};

struct thread {
    context at;
    exceptions_in_flight exceptions;
    thread *next = nullptr;             // in the queue that it waits in
    void (*entry)(void *) = nullptr;
    void *argument = nullptr;
    scheduler *home = nullptr;
    stack on{};
    std::byte *top = nullptr;           // of what the thread may use
    size_t number = 0;                  // in the order of making
    thread *joiner = nullptr;
    std::exception_ptr failed;
    bool finished = false;
    bool detached = true;
#ifdef MTTL_ASAN
    void *fake_stack = nullptr;
#endif
#ifdef MTTL_TSAN
    void *fiber = nullptr;
#endif
};

struct thread_queue {
    thread *first = nullptr, *last = nullptr;
    size_t size = 0;

    bool empty() const { return !first; }
    void push(thread *t)
    {
        t->next = nullptr;
        (first ? last->next : first) = t;
        last = t;
        ++size;
    }
    thread *pop()
    {
        thread *t = first;
        first = t->next;
        --size;
        return t;
    }
};

} // namespace detail

/** Waits for the end of a thread; one that is not joined is let go. */
class thread_handle {
public:
    thread_handle() = default;
    explicit thread_handle(detail::thread *t) : t_(t) {}
    thread_handle(thread_handle &&o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
    thread_handle &operator=(thread_handle &&o) noexcept
    {
        if (this != &o) {
            detach();
            t_ = std::exchange(o.t_, nullptr);
        }
        return *this;
    }
    ~thread_handle() { detach(); }

    bool joinable() const { return t_; }
    /** Blocks until the thread has ended; throws what it threw. */
    inline void join();
    inline void detach();

private:
    detail::thread *t_ = nullptr;
};

class scheduler {
public:
    /** `owner`: the node that an overflow is said to be of; below 0: none. */
    explicit scheduler(const stack_options &o = {}, int owner = -1) : stacks_(o), owner_(owner)
    {
#if !defined(MTTL_ASAN) && !defined(MTTL_TSAN)      // they report overflows themselves
        if (o.report)
            watch_.emplace(&scheduler::overflowed, this);
#endif
        flight_ = reinterpret_cast<detail::exceptions_in_flight *>(abi::__cxa_get_globals());
        loop_.home = this;
    }
    scheduler(const scheduler &) = delete;
    scheduler &operator=(const scheduler &) = delete;
    ~scheduler()
    {
        for (detail::thread *t : all_) {
#ifdef MTTL_TSAN
            __tsan_destroy_fiber(t->fiber);
#endif
            t->~thread();
        }
    }

    /** Queues a thread that runs f(). */
    template <class F> thread_handle spawn(F f)
    {
        detail::thread *t = prepare(std::move(f));
        t->detached = false;
        ready_.push(t);
        return thread_handle(t);
    }

    /** The same without a handle; what f throws ends the process. */
    template <class F> void spawn_detached(F f) { ready_.push(prepare(std::move(f))); }

    /** From the loop: runs entry(argument) on a spare thread until it ends or blocks. */
    void run_now(void (*entry)(void *), void *argument)
    {
        detail::thread *t = idle_ ? pop_idle() : make();
        t->entry = entry;
        t->argument = argument;
        direct_ = true;
        resume(t);
        direct_ = false;
    }

    /** Lets the other ready threads, and messages, go first. */
    void yield()
    {
        if (running_ == &loop_)
            return;
        ready_.push(running_);
        leave();
    }

    /** Leaves the current thread until ready() is called with current(). */
    void block()
    {
        if (running_ == &loop_)
            throw error("blocked outside a thread");
        ++blocked_;
        leave();
        --blocked_;
    }
    void ready(detail::thread *t) { ready_.push(t); }

    detail::thread *current() { return running_; }
    bool in_thread() const { return running_ != &loop_; }
    /** Whether what runs was started by run_now() and has not blocked yet. */
    bool runs_now() const { return direct_; }
    bool has_ready() const { return !ready_.empty(); }
    size_t ready_count() const { return ready_.size; }
    size_t blocked_count() const { return blocked_; }
    /** Threads that exist, with those that are kept for reuse. */
    size_t made() const { return all_.size(); }
    size_t guarded() const { return stacks_.guarded(); }

    /** From the loop: runs ready threads until there are none, or until it is time to look at messages. */
    void run_ready()
    {
        budget_ = switches_per_look;
        if (!ready_.empty())
            resume(ready_.pop());
    }

    // ---- for thread_handle ----

    void join(detail::thread *t)
    {
        if (!t->finished) {
            t->joiner = running_;
            block();
        }
        const std::exception_ptr failed = std::move(t->failed);
        t->failed = nullptr;
        recycle(t);
        if (failed)
            std::rethrow_exception(failed);
    }
    void detach(detail::thread *t)
    {
        if (t->finished)
            recycle(t);
        else
            t->detached = true;
    }

private:
    // A look at the network costs about ten switches: at most a tenth goes into looking.
    static constexpr int switches_per_look = 100;

    template <class F> detail::thread *prepare(F f)
    {
        static_assert(alignof(F) <= 16);
        detail::thread *t = idle_ ? pop_idle() : make();
        if constexpr (std::is_empty_v<F> && std::is_default_constructible_v<F>) {
            t->argument = nullptr;
            t->entry = [](void *) { F{}(); };
        } else {
            // At the upper end of the stack, above the thread's frames.
            static_assert(sizeof(F) <= closure_bytes, "what a thread starts with must fit its stack's head: capture a pointer");
            std::byte *p = t->top - (sizeof(F) + 63) / 64 * 64;
            new (p) F(std::move(f));
            t->argument = p;
            t->entry = [](void *a) {
                struct guard {
                    F *f;
                    ~guard() { f->~F(); }
                } g{static_cast<F *>(a)};
                (*g.f)();
            };
        }
        return t;
    }

    static constexpr size_t closure_bytes = 1024;

    detail::thread *make()
    {
        const stack s = stacks_.make();
        // Staggered: equal offsets in all stacks would meet in the same lines of the cache.
        const size_t colour = (all_.size() % 16) * 128;
        std::byte *at = s.top - colour - (sizeof(detail::thread) + 63) / 64 * 64;
        auto *t = new (at) detail::thread;
        t->on = s;
        t->top = at;
        t->home = this;
        t->number = all_.size();
        t->at.make(s.bottom, at - closure_bytes, &scheduler::body, t);
#ifdef MTTL_TSAN
        t->fiber = __tsan_create_fiber(0);
#endif
        all_.push_back(t);
        return t;
    }

    detail::thread *pop_idle()
    {
        detail::thread *t = idle_;
        idle_ = t->next;
        return t;
    }

    void recycle(detail::thread *t)
    {
        t->finished = false;
        t->detached = true;
        t->joiner = nullptr;
        t->failed = nullptr;        // of one that is let go after it has thrown
        t->next = idle_;
        idle_ = t;
    }

    // A thread's stack is used for one entry after the other without leaving this frame.
    static void body(void *self)
    {
        auto *t = static_cast<detail::thread *>(self);
        scheduler *s = t->home;
        s->arrived(nullptr);
        for (;;) {
            try {
                t->entry(t->argument);
            } catch (...) {
                if (t->detached)
                    std::terminate();
                t->failed = std::current_exception();
            }
            t->finished = true;
            if (t->detached) {
                s->recycle(t);
            } else if (t->joiner) {
                s->ready_.push(t->joiner);
            }
            s->leave();
        }
    }

    // Gives the processor to whoever is next; returns when this thread is.
    void leave()
    {
        // Below its end it may be without having met the canary.
        if (!running_->on.intact() || stack_pointer() < running_->on.bottom)
            overflow(*running_);
        if (direct_ || ready_.empty() || --budget_ <= 0)
            switch_to(&loop_);
        else
            resume(ready_.pop());
    }

    void resume(detail::thread *t)
    {
        if (t != running_)
            switch_to(t);
    }

    void switch_to(detail::thread *next)
    {
        detail::thread *self = running_;
        self->exceptions = *flight_;
        *flight_ = next->exceptions;
        running_ = next;
#ifdef MTTL_ASAN
        __sanitizer_start_switch_fiber(&self->fake_stack, next->on.bottom,
                                       static_cast<size_t>(next->on.top - next->on.bottom));
#endif
#ifdef MTTL_TSAN
        if (!loop_.fiber)
            loop_.fiber = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(next->fiber, 0);
#endif
        self->at.switch_to(next->at);
        arrived(self);
    }

    void arrived([[maybe_unused]] detail::thread *self)
    {
#ifdef MTTL_ASAN
        const void *bottom;
        size_t size;
        __sanitizer_finish_switch_fiber(self ? self->fake_stack : nullptr, &bottom, &size);
        if (!self && !loop_.on.bottom) {    // the first switch ever tells where the loop's stack is
            loop_.on.bottom = static_cast<std::byte *>(const_cast<void *>(bottom));
            loop_.on.top = loop_.on.bottom + size;
            loop_.on.guarded = true;
        }
#endif
    }

    void say_overflow(const detail::thread &t) const { detail::say_overflow(owner_, t.number, stacks_.stack_bytes()); }
    [[noreturn]] void overflow(const detail::thread &t) const
    {
        say_overflow(t);
        std::abort();
    }
    /** For overflow_watch: in the guard, or, without one, with a broken canary or below the end. */
    static bool overflowed(const void *self, uintptr_t address, uintptr_t pointer)
    {
        const auto *s = static_cast<const scheduler *>(self);
        const detail::thread &t = *s->running_;
        const auto bottom = reinterpret_cast<uintptr_t>(t.on.bottom);
        const auto below = [bottom](uintptr_t a, size_t most) { return a < bottom && a >= bottom - most; };
        if (&t == &s->loop_)
            return false;
        if (t.on.guarded ? !below(address, stack_source::guard_bytes) : t.on.intact() && !below(pointer, s->stacks_.stack_bytes()))
            return false;
        s->say_overflow(t);
        return true;
    }

    stack_source stacks_;
    detail::thread loop_;
    detail::thread *running_ = &loop_;
    detail::thread_queue ready_;
    detail::thread *idle_ = nullptr;
    detail::exceptions_in_flight *flight_;
    std::vector<detail::thread *> all_;
    size_t blocked_ = 0;
    int budget_ = switches_per_look;
    bool direct_ = false;       // run_now: a thread that leaves returns to the loop
    const int owner_;
    std::optional<detail::overflow_watch> watch_;
};

inline void thread_handle::join()
{
    if (!t_)
        throw error("join of no thread");
    detail::thread *t = std::exchange(t_, nullptr);
    t->home->join(t);
}

inline void thread_handle::detach()
{
    if (t_) {
        detail::thread *t = std::exchange(t_, nullptr);
        t->home->detach(t);
    }
}

namespace detail {

/** Threads that wait for one thing, first come first served. */
class wait_queue {
public:
    bool empty() const { return q_.empty(); }
    size_t size() const { return q_.size; }
    void wait(scheduler &s)
    {
        if (!s.in_thread())
            throw error("blocked outside a thread");
        q_.push(s.current());
        s.block();
    }
    bool wake_one(scheduler &s)
    {
        if (q_.empty())
            return false;
        s.ready(q_.pop());
        return true;
    }
    void wake_all(scheduler &s)
    {
        while (wake_one(s)) {
        }
    }

private:
    thread_queue q_;
};

} // namespace detail
} // namespace mttl

#endif
