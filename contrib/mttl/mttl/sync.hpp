/*
 * Sync<T> of the paper: a queue between threads of one node.  Readers of an
 * empty one block, and get values in the order in which they came, each value
 * going to the reader that has waited longest.  From another node it is
 * reached by a GlobalPtr<Sync<T>>.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_SYNC_HPP
#define MTTL_SYNC_HPP

#include "future.hpp"

#include <deque>

namespace [[gnu::visibility("default")]] mttl {

template <class T> class Sync {
public:
    Sync() = default;
    Sync(const Sync &) = delete;
    Sync &operator=(const Sync &) = delete;

    /** Appends a value. */
    void write(T value)
    {
        values_.push_back(std::move(value));
        serve();
    }
    Sync &operator=(T value)
    {
        write(std::move(value));
        return *this;
    }

    /** Takes the oldest value; blocks while there is none. */
    T read()
    {
        waiter w{{}, true, nullptr};
        wait(w);
        return std::move(*w.value);
    }
    operator T() { return read(); }

    /** Copies the oldest value and leaves it; blocks while there is none. */
    T peek()
        requires std::is_copy_constructible_v<T>
    {
        waiter w{{}, false, nullptr};
        wait(w);
        return std::move(*w.value);
    }

    /** Values that nobody has taken. */
    size_t queueLength() const { return values_.size(); }

private:
    struct waiter {
        std::optional<T> value;
        bool takes;
        detail::thread *thread;
    };

    void wait(waiter &w)
    {
        if (waiters_.empty() && !values_.empty()) {
            give(w);
            return;
        }
        scheduler &s = detail::scheduler_here();
        if (!s.in_thread())
            throw error("blocked outside a thread");
        w.thread = s.current();
        waiters_.push_back(&w);
        while (!w.value)
            s.block();
    }

    void give(waiter &w)
    {
        if (w.takes) {
            w.value.emplace(std::move(values_.front()));
            values_.pop_front();
        } else if constexpr (std::is_copy_constructible_v<T>) {
            w.value.emplace(values_.front());
        }
    }

    // A value is given away at once: a reader that comes later cannot take it first.
    void serve()
    {
        while (!values_.empty() && !waiters_.empty()) {
            waiter &w = *waiters_.front();
            waiters_.pop_front();
            give(w);
            detail::scheduler_here().ready(w.thread);
        }
    }

    std::deque<T> values_;
    std::deque<waiter *> waiters_;
};

} // namespace mttl

#endif
