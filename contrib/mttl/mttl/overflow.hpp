/*
 * What a process says when one of its threads has used up its stack: which
 * thread of which node, and what to set.  A fault in a guard page would else be
 * a bare segmentation fault, and one without a stack to say anything on: so
 * SIGSEGV has an alternate stack (of the system thread that runs the threads)
 * and a handler, while there is a scheduler.  A fault anywhere else goes to
 * whoever handled SIGSEGV before, with the mask and the flags that it had asked
 * for (but on the alternate stack), or ends the process as ever.
 *
 * In the handler nothing is called that might be what has overflowed: no
 * allocation, no stdio.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_OVERFLOW_HPP
#define MTTL_OVERFLOW_HPP

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace [[gnu::visibility("default")]] mttl {
namespace detail {

/** Says on stderr that thread `number` of `node` (below 0: none is known) has overflowed; safe in a signal handler. */
inline void say_overflow(int node, size_t number, size_t bytes)
{
    char text[256];
    size_t used = 0;
    const auto word = [&](const char *s) {
        const size_t n = std::strlen(s);
        std::memcpy(text + used, s, n);
        used += n;
    };
    const auto decimal = [&](size_t v) {
        char digits[24];
        size_t n = 0;
        do
            digits[n++] = static_cast<char>('0' + v % 10);
        while (v /= 10);
        while (n)
            text[used++] = digits[--n];
    };
    word("mttl: ");
    if (node >= 0)
        word("node "), decimal(static_cast<size_t>(node)), word(": ");
    word("thread "), decimal(number), word(" has overflowed its stack of "), decimal(bytes);
    word(" bytes: give threads larger ones (MTTL_STACK_BYTES)\n");
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, used);
}

/** While one lives, its `owner` is asked about faults. */
class overflow_watch {
public:
    /** Whether a fault at that address, with the stack where `pointer` says (0: unknown), is an overflow of the
     *  thread that runs; if so, it has said so. */
    using asked = bool (*)(const void *owner, uintptr_t address, uintptr_t pointer);

    overflow_watch(asked ask, const void *owner) : ask_(ask), owner_(owner)
    {
        const std::lock_guard lock(changes_);
        give_stack();
        if (!first_)
            take_signal();
        next_ = first_;
        first_ = this;
    }
    overflow_watch(const overflow_watch &) = delete;
    overflow_watch &operator=(const overflow_watch &) = delete;
    ~overflow_watch()
    {
        const std::lock_guard lock(changes_);
        overflow_watch **at = &first_;
        while (*at != this)
            at = &(*at)->next_;
        *at = next_;
        if (!first_)
            leave_signal();
        take_stack();
    }

private:
    static constexpr size_t stack_bytes = 64 * 1024;        // a frame of all registers is up to 11 KB
    static constexpr size_t guard_bytes = 64 * 1024;        // below it, for handlers of others that need more

    void give_stack()
    {
        stack_t now{};
        if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE))
            return;     // the system thread has one
        void *p = mmap(nullptr, guard_bytes + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            return;     // then there is no message
        stack_t mine{};
        mine.ss_sp = static_cast<std::byte *>(p) + guard_bytes;
        mine.ss_size = stack_bytes;
        if (mprotect(mine.ss_sp, stack_bytes, PROT_READ | PROT_WRITE) == 0 && sigaltstack(&mine, nullptr) == 0)
            stack_ = static_cast<std::byte *>(p);
        else
            munmap(p, guard_bytes + stack_bytes);
    }
    void take_stack()
    {
        if (!stack_)
            return;
        for (overflow_watch *w = first_; w; w = w->next_)
            if (!w->stack_ && pthread_equal(w->thread_, thread_)) {     // it found this one and goes on with it
                w->stack_ = stack_;
                return;
            }
        stack_t now{};
        if (sigaltstack(nullptr, &now) == 0 && now.ss_sp == stack_ + guard_bytes) {
            stack_t none{};
            none.ss_flags = SS_DISABLE;
            sigaltstack(&none, nullptr);
        }
        munmap(stack_, guard_bytes + stack_bytes);
    }

    static void take_signal()
    {
        // A handler that came later and stayed may go on to ours, which must not go on to it.
        struct sigaction now{};
        if (sigaction(SIGSEGV, nullptr, &now) != 0 || (taken_ && ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)))
            return;
        struct sigaction mine{};
        mine.sa_sigaction = &overflow_watch::fault;
        mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
        // Calls that a signal interrupts go on, as with the handler that was there, or where it was ignored.
        if ((now.sa_flags & SA_RESTART) || (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN))
            mine.sa_flags |= SA_RESTART;
        sigemptyset(&mine.sa_mask);
        taken_ |= sigaction(SIGSEGV, &mine, &before_) == 0;
    }
    static void leave_signal()
    {
        struct sigaction now{};
        if (sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &overflow_watch::fault)
            taken_ = sigaction(SIGSEGV, &before_, nullptr) != 0;
    }

    static uintptr_t pointer_of([[maybe_unused]] const void *at)
    {
#if defined(__x86_64__) && defined(__linux__)
        return static_cast<uintptr_t>(static_cast<const ucontext_t *>(at)->uc_mcontext.gregs[15]);     // REG_RSP
#elif defined(__aarch64__) && defined(__linux__)
        return static_cast<uintptr_t>(static_cast<const ucontext_t *>(at)->uc_mcontext.sp);
#else
        return 0;
#endif
    }
    static void fault(int number, siginfo_t *info, void *at)
    {
        for (const overflow_watch *w = first_; w; w = w->next_)
            if (info->si_code > 0 && w->ask_(w->owner_, reinterpret_cast<uintptr_t>(info->si_addr), pointer_of(at))) {
                std::signal(SIGSEGV, SIG_DFL);      // the same fault ends the process now
                return;
            }
        const struct sigaction before = before_;
        const bool sent = info->si_code <= 0;       // by somebody: it does not come again by itself
        if (before.sa_handler == SIG_IGN && sent)
            return;
        if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
            std::signal(SIGSEGV, SIG_DFL);
            if (sent)
                std::raise(SIGSEGV);
            return;
        }
        if (before.sa_flags & SA_RESETHAND) {       // once
            before_ = {};
            before_.sa_handler = SIG_DFL;
        }
        // The kernel has blocked what our handler asked for: SIGSEGV.  What was blocked comes back with the return.
        pthread_sigmask(SIG_BLOCK, &before.sa_mask, nullptr);
        if ((before.sa_flags & SA_NODEFER) && !sigismember(&before.sa_mask, SIGSEGV)) {
            sigset_t own;
            sigemptyset(&own);
            sigaddset(&own, SIGSEGV);
            pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
        }
        if (before.sa_flags & SA_SIGINFO)
            before.sa_sigaction(number, info, at);
        else
            before.sa_handler(number);
    }

    asked ask_;
    const void *owner_;
    overflow_watch *next_ = nullptr;
    std::byte *stack_ = nullptr;        // with its guard
    const pthread_t thread_ = pthread_self();

    static inline std::mutex changes_;
    static inline overflow_watch *first_ = nullptr;
    static inline struct sigaction before_ {};
    static inline bool taken_ = false;      // the handler has been set and not been taken back: somebody may call it
};

} // namespace detail
} // namespace mttl

#endif
