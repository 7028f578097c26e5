/*
 * User-level threads: order, exceptions, what a switch preserves, stacks and
 * their overflow, very many at once.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mttl_test.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cfenv>
#include <csetjmp>

namespace {

using namespace mttl_test;

void drain(scheduler &s)
{
    while (s.has_ready())
        s.run_ready();
}

std::string order()
{
    scheduler s;
    std::string trace;
    for (const char c : {'a', 'b', 'c'})
        s.spawn_detached([&, c] {
            for (int i = 0; i < 3; ++i) {
                trace += c;
                trace += c;         // nobody comes in between
                s.yield();
            }
        });
    drain(s);
    WAN_CHECK_THAT(trace == "aabbccaabbccaabbcc", trace);
    return "";
}

std::string join_and_reuse()
{
    scheduler s;
    std::string trace, caught;
    int destroyed = 0;
    struct counts {
        int *n;
        bool live = true;
        explicit counts(int *p) : n(p) {}
        counts(counts &&o) noexcept : n(o.n), live(std::exchange(o.live, false)) {}
        ~counts() { *n += live; }
    };
    s.spawn_detached([&] {
        thread_handle h = s.spawn([&] { trace += "1"; });
        trace += "0";
        h.join();
        trace += "2";
        thread_handle t = s.spawn([] { throw std::out_of_range("seven"); });
        try {
            t.join();
        } catch (const std::out_of_range &e) {
            caught = e.what();
        }
        s.spawn([&] { trace += "d"; });         // let go at once
        s.spawn([c = counts(&destroyed)] { (void)c; }).join();
        for (int i = 0; i < 1000; ++i)
            s.spawn([] {}).join();
        // One that has ended before it is joined.
        thread_handle e = s.spawn([&] { trace += "e"; });
        s.yield();
        e.join();
        // What one has thrown that is let go is not the next one's.
        {
            const thread_handle g = s.spawn([] { throw std::out_of_range("eight"); });
            s.yield();
        }
        for (int i = 0; i < 4; ++i)
            s.spawn([&] { trace += "f"; }).join();
    });
    drain(s);
    WAN_CHECK_THAT(trace == "012deffff", trace);
    WAN_CHECK(caught == "seven" && destroyed == 1);
    WAN_CHECK(s.made() <= 4);       // stacks are used again
    return "";
}

// A thread that blocks inside a catch clause keeps its exception.
std::string exceptions_in_flight()
{
    scheduler s;
    std::string trace;
    for (const char *name : {"one", "two", "three"})
        s.spawn_detached([&, name] {
            try {
                try {
                    throw std::runtime_error(name);
                } catch (...) {
                    s.yield();
                    try {
                        throw std::logic_error("inner");
                    } catch (const std::logic_error &) {
                        s.yield();
                    }
                    s.yield();
                    throw;
                }
            } catch (const std::exception &e) {
                trace += std::string(e.what()) + " ";
            }
            WAN_CHECK(std::uncaught_exceptions() == 0);
            return std::string();
        });
    drain(s);
    WAN_CHECK_THAT(trace == "one two three ", trace);
    return "";
}

std::string rounding()
{
    scheduler s;
    int other = -1, own = -1;
    s.spawn_detached([&] {
        std::fesetround(FE_UPWARD);
        s.yield();
        own = std::fegetround();
    });
    s.spawn_detached([&] { other = std::fegetround(); });
    drain(s);
    WAN_CHECK(other == FE_TONEAREST && own == FE_UPWARD && std::fegetround() == FE_TONEAREST);
    return "";
}

// Callee-saved registers: values that live across switches, more than there are scratch registers.
std::string registers()
{
    scheduler s;
    std::string wrong;
    for (uint64_t k = 1; k <= 3; ++k)
        s.spawn_detached([&, k] {
            uint64_t a = k, b = k * 3, c = k * 5, d = k * 7, e = k * 11, f = k * 13, g = k * 17, h = k * 19;
            double x = double(k) / 3, y = double(k) / 7;
            for (int i = 0; i < 1000; ++i) {
                a = a * b + c, b ^= d, c += e, d = d * 5 + f, e ^= g, f += h, g = g * 9 + a, h ^= b;
                x = x * 0.5 + y, y = y * 0.25 + 1;
                s.yield();
            }
            uint64_t a2 = k, b2 = k * 3, c2 = k * 5, d2 = k * 7, e2 = k * 11, f2 = k * 13, g2 = k * 17, h2 = k * 19;
            double x2 = double(k) / 3, y2 = double(k) / 7;
            for (int i = 0; i < 1000; ++i) {
                a2 = a2 * b2 + c2, b2 ^= d2, c2 += e2, d2 = d2 * 5 + f2, e2 ^= g2, f2 += h2, g2 = g2 * 9 + a2, h2 ^= b2;
                x2 = x2 * 0.5 + y2, y2 = y2 * 0.25 + 1;
            }
            if (a != a2 || b != b2 || c != c2 || d != d2 || e != e2 || f != f2 || g != g2 || h != h2 || x != x2 || y != y2)
                wrong = "a register was not preserved";
        });
    drain(s);
    return wrong;
}

// What blocks in run_now is a thread like any other afterwards.
std::string run_now()
{
    scheduler s;
    struct shared {
        scheduler &s;
        std::string trace;
        detail::thread *blocked = nullptr;
    } x{s, "", nullptr};
    s.run_now([](void *p) { static_cast<shared *>(p)->trace += "a"; }, &x);
    s.run_now(
        [](void *p) {
            auto &y = *static_cast<shared *>(p);
            y.blocked = y.s.current();
            y.trace += "b";
            y.s.block();
            y.trace += "d";
        },
        &x);
    WAN_CHECK(s.blocked_count() == 1);
    x.trace += "c";
    s.ready(x.blocked);
    drain(s);
    WAN_CHECK_THAT(x.trace == "abcd", x.trace);
    WAN_CHECK(s.made() == 1 && s.blocked_count() == 0);
    return "";
}

std::string outside()
{
    scheduler s;
    std::string why;
    try {
        s.block();
    } catch (const error &e) {
        why = e.what();
    }
    WAN_CHECK(why == "blocked outside a thread");
    return "";
}

#if defined(MTTL_ASAN) || defined(MTTL_TSAN)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

[[gnu::noinline]] int deep(int n)
{
    volatile char frame[512];
    for (size_t i = 0; i < sizeof frame; ++i)
        frame[i] = static_cast<char>(n);
    const int below = n ? deep(n - 1) : 0;
    return below + frame[0];
}

// Blocks below a frame of so many bytes that nobody writes to.
[[gnu::noinline]] void sink_below(scheduler &s, int bytes)
{
    auto *volatile below = static_cast<char *>(__builtin_alloca(static_cast<size_t>(bytes)));
    below[0] = 1;
    s.yield();
    below[1] = 2;
}

// The third thread of a node goes so deep that its stack does not do, and comes back or blocks down there.
int overflow(size_t guarded, int depth, std::string &said, bool blocks = false)
{
    return in_child(
        [&] {
            stack_options o;
            o.guarded = guarded;
            scheduler s(o, 7);
            const scheduler other(o);       // of another node in the process
            // Below it in a mapping lies another stack, which nobody would miss.
            for (int i = 0; i < 2; ++i)
                s.spawn_detached([&] { s.yield(); });
            drain(s);
            std::vector<thread_handle> kept;
            for (int i = 0; i < 2; ++i)
                kept.push_back(s.spawn([&] { s.block(); }));
            s.spawn_detached([&] {
                if (blocks)
                    sink_below(s, depth);
                else
                    deep(depth);
                s.yield();
            });
            drain(s);
            _exit(0);
        },
        &said);
}

std::string guards()
{
    if (sanitized)
        return "";      // it reports overflows itself
    const std::string words = "mttl: node 7: thread 2 has overflowed its stack of 65536 bytes: give threads larger ones "
                              "(MTTL_STACK_BYTES)\n";
    std::string none, guarded, canary, below;
    WAN_CHECK(overflow(10, 10, none) == 0);
    WAN_CHECK(overflow(0, 10, none) == 0);
    WAN_CHECK_THAT(none.empty(), none);
    WAN_CHECK(overflow(10, 130, guarded) == 1000 + SIGSEGV);
    WAN_CHECK_THAT(guarded == words, guarded);
    WAN_CHECK(overflow(0, 130, canary) == 1000 + SIGABRT);
    WAN_CHECK_THAT(canary == words, canary);
    // Without a word written where the canary is: seen where the thread is switched from.
    const int code = overflow(0, 70000, below, true);
    WAN_CHECK_THAT(code == 1000 + SIGABRT, std::to_string(code) + below);
    WAN_CHECK_THAT(below == words, below);
    // So deep that it leaves the mapping, where nothing may be: a fault, or the canary.
    std::string deeper;
    WAN_CHECK(overflow(0, 600, deeper) >= 1000);
    WAN_CHECK_THAT(deeper == words, deeper);
    // A large frame does not jump over the guard.
    std::string jumped;
    WAN_CHECK(overflow(10, 100000, jumped, true) == 1000 + SIGSEGV);
    WAN_CHECK_THAT(jumped == words, jumped);
    // Below the lowest stack of those that have no guard each, there is one.
    std::string lowest;
    WAN_CHECK(in_child([] {
                  scheduler s({.guarded = 0}, 7);
                  s.spawn_detached([] { deep(130); });
                  drain(s);
              }, &lowest) == 1000 + SIGSEGV);
    WAN_CHECK_THAT(lowest.find("mttl: node 7: thread 0 has overflowed its stack of") == 0, lowest);
    // Of two schedulers, the one that came first goes first.
    std::string left;
    WAN_CHECK(in_child([] {
                  auto first = std::make_unique<scheduler>();
                  scheduler s({}, 7);
                  first.reset();
                  for (int i = 0; i < 2; ++i)
                      s.spawn_detached([&] { s.yield(); });
                  s.spawn_detached([] { deep(130); });
                  drain(s);
              }, &left) == 1000 + SIGSEGV);
    WAN_CHECK_THAT(left == words, left);
    scheduler s({.bytes = 16384, .guarded = 3});
    for (int i = 0; i < 5; ++i)
        s.spawn_detached([&] { s.yield(); });
    WAN_CHECK(s.made() == 5 && s.guarded() == 3);
    drain(s);
    return "";
}

// Faults that are no overflow are whose they were.
std::string other_faults()
{
    if (sanitized)
        return "";
    const auto fault = [] { *static_cast<volatile int *>(nullptr) = 1; };
    const auto in_thread = [&](auto f) {
        scheduler s;
        s.spawn_detached(f);
        drain(s);
    };
    std::string said;
    WAN_CHECK(in_child([&] { in_thread(fault); }, &said) == 1000 + SIGSEGV);
    WAN_CHECK(in_child([&] { in_thread([] { std::raise(SIGSEGV); }); }, &said) == 1000 + SIGSEGV);
    WAN_CHECK(in_child([&] {
                  std::signal(SIGSEGV, [](int) { _exit(42); });
                  in_thread(fault);
              }, &said) == 42);
    WAN_CHECK(in_child([&] {
                  struct sigaction mine{};
                  mine.sa_sigaction = [](int, siginfo_t *info, void *) { _exit(info->si_addr ? 44 : 43); };
                  mine.sa_flags = SA_SIGINFO;
                  sigaction(SIGSEGV, &mine, nullptr);
                  in_thread(fault);
              }, &said) == 43);
    // One that is to be called once, and returns.
    WAN_CHECK(in_child([&] {
                  struct sigaction mine{};
                  mine.sa_handler = [](int) {};
                  mine.sa_flags = static_cast<int>(SA_RESETHAND);
                  sigaction(SIGSEGV, &mine, nullptr);
                  alarm(20);        // or the same fault comes for ever
                  in_thread(fault);
              }, &said) == 1000 + SIGSEGV);
    WAN_CHECK_THAT(said.empty(), said);
    // One that is called gets what it asked for: signals that are blocked meanwhile, and others that are not.
    const auto blocked = [](int signal) {
        sigset_t now;
        sigprocmask(SIG_BLOCK, nullptr, &now);
        return sigismember(&now, signal) == 1;
    };
    const auto handler = [](auto f, int flags, int masked = 0) {
        struct sigaction mine{};
        mine.sa_handler = f;
        mine.sa_flags = flags;
        if (masked)
            sigaddset(&mine.sa_mask, masked);
        sigaction(SIGSEGV, &mine, nullptr);
    };
    WAN_CHECK(in_child([&] {
                  handler([](int) { _exit(decltype(blocked){}(SIGUSR1) && decltype(blocked){}(SIGSEGV) ? 46 : 1); }, 0, SIGUSR1);
                  in_thread(fault);
              }, &said) == 46);
    WAN_CHECK(in_child([&] {
                  handler([](int) { _exit(!decltype(blocked){}(SIGUSR1) && !decltype(blocked){}(SIGSEGV) ? 47 : 1); },
                          static_cast<int>(SA_NODEFER));
                  in_thread(fault);
              }, &said) == 47);
    WAN_CHECK(in_child([&] {
                  handler([](int) { _exit(decltype(blocked){}(SIGSEGV) ? 48 : 1); }, static_cast<int>(SA_NODEFER), SIGSEGV);
                  in_thread(fault);
              }, &said) == 48);
    // A fault in the handler: the handler once more, or the end.
    static int calls;
    const auto nested = [](int) {
        if (++calls == 2)
            _exit(49);
        decltype(fault){}();
    };
    WAN_CHECK(in_child([&] {
                  handler(nested, static_cast<int>(SA_NODEFER));
                  in_thread(fault);
              }, &said) == 49);
    WAN_CHECK(in_child([&] {
                  handler(nested, static_cast<int>(SA_NODEFER | SA_RESETHAND));
                  in_thread(fault);
              }, &said) == 1000 + SIGSEGV);
    WAN_CHECK(in_child([&] {
                  handler(nested, 0);
                  in_thread(fault);
              }, &said) == 1000 + SIGSEGV);
    // After it has returned, or has left, the thread's mask is as before.
    WAN_CHECK(in_child([&] {
                  handler([](int) { ++calls; }, 0, SIGUSR1);
                  in_thread([&] { std::raise(SIGSEGV); });
                  _exit(calls == 1 && !blocked(SIGUSR1) && !blocked(SIGSEGV) ? 50 : 1);
              }, &said) == 50);
    static sigjmp_buf back;
    WAN_CHECK(in_child([&] {
                  handler([](int) { siglongjmp(back, 1); }, 0, SIGUSR1);
                  in_thread([&] {
                      for (static int times = 0; times < 3; ++times)
                          if (sigsetjmp(back, 1) == 0)
                              fault();
                      _exit(!blocked(SIGUSR1) && !blocked(SIGSEGV) ? 51 : 1);
                  });
              }, &said) == 51);
    // Ignored: what somebody sends, not what the thread does.
    WAN_CHECK(in_child([&] {
                  std::signal(SIGSEGV, SIG_IGN);
                  in_thread([] { std::raise(SIGSEGV); });
                  _exit(52);
              }, &said) == 52);
    WAN_CHECK(in_child([&] {
                  std::signal(SIGSEGV, SIG_IGN);
                  in_thread(fault);
              }, &said) == 1000 + SIGSEGV);
    WAN_CHECK_THAT(said.empty(), said);
    // Nothing is left behind, in whatever order schedulers go.
    WAN_CHECK(in_child([&] {
                  auto a = std::make_unique<scheduler>(), b = std::make_unique<scheduler>();
                  a.reset();
                  b.reset();
                  struct sigaction now{};
                  stack_t stack{};
                  sigaction(SIGSEGV, nullptr, &now);
                  sigaltstack(nullptr, &stack);
                  _exit(now.sa_handler == SIG_DFL && (stack.ss_flags & SS_DISABLE) ? 0 : 1);
              }) == 0);
    // One that came later, stays, and goes on to what was there before: no circle.
    WAN_CHECK(in_child([&] {
                  static struct sigaction before;
                  static int depth = 0;
                  {
                      const scheduler s;
                      struct sigaction later{};
                      later.sa_sigaction = [](int n, siginfo_t *info, void *at) {
                          if (++depth > 2)
                              _exit(45);
                          before.sa_sigaction(n, info, at);
                      };
                      later.sa_flags = SA_SIGINFO | SA_ONSTACK;
                      sigaction(SIGSEGV, &later, &before);
                  }
                  in_thread(fault);
              }, &said) == 1000 + SIGSEGV);
    WAN_CHECK_THAT(said.empty(), said);
    // A call that a signal interrupts goes on where it did so before.
    for (const int flags : {static_cast<int>(SA_RESTART), 0, -1})
        WAN_CHECK(in_child([&] {
                      if (flags < 0)
                          std::signal(SIGSEGV, SIG_IGN);
                      else
                          handler([](int) { ++calls; }, flags);
                      scheduler s;
                      int ends[2];
                      if (pipe(ends) != 0)
                          _exit(1);
                      const pid_t self = getpid();
                      if (fork() == 0) {
                          for (int i = 0; i < 100; ++i)     // until it reads
                              if (usleep(1000); getppid() == self)
                                  kill(self, SIGSEGV);
                          [[maybe_unused]] const auto written = write(ends[1], "x", 1);
                          _exit(0);
                      }
                      char c;
                      const bool interrupted = read(ends[0], &c, 1) < 0 && errno == EINTR;
                      std::signal(SIGSEGV, SIG_IGN);
                      _exit(interrupted == (flags == 0) ? 53 : 1);
                  }) == 53);
    // Below the stack that it is called on lies a guard, too: one that needs more of it does not write elsewhere.
    WAN_CHECK(in_child([&] {
                  handler([](int) { ++calls; }, 0);
                  const scheduler s;
                  stack_t stack{};
                  int ends[2];
                  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) || pipe(ends) != 0)
                      _exit(1);
                  char *const lowest = static_cast<char *>(stack.ss_sp);
                  const auto given = [&](const char *at) { return write(ends[1], at, 1) == 1; };
                  const auto mapped = [](char *page) { return msync(page, 4096, MS_ASYNC) == 0; };
                  _exit(given(lowest) && !given(lowest - 1) && mapped(lowest - 4096) && !given(lowest - 65536) &&
                                mapped(lowest - 65536) ? 54 : 1);
              }) == 54);
    // Who wants none has none.
    WAN_CHECK(in_child([&] {
                  scheduler s({.report = false});
                  struct sigaction now{};
                  sigaction(SIGSEGV, nullptr, &now);
                  _exit(now.sa_handler == SIG_DFL ? 0 : 1);
              }) == 0);
    return "";
}

std::string very_many()
{
    const size_t n = sanitized ? 2000 : 100000;
    scheduler s({.bytes = 16384, .guarded = 8192});
    size_t ran = 0, most = 0;
    detail::wait_queue all;
    for (size_t i = 0; i < n; ++i)
        s.spawn_detached([&] {
            all.wait(s);
            ++ran;
        });
    drain(s);
    most = s.blocked_count();
    WAN_CHECK(ran == 0 && most == n);
    all.wake_all(s);
    drain(s);
    WAN_CHECK(ran == n);
    WAN_CHECK(s.made() == n);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<order>),
        cmocka_unit_test(wan_test::test<join_and_reuse>),
        cmocka_unit_test(wan_test::test<exceptions_in_flight>),
        cmocka_unit_test(wan_test::test<rounding>),
        cmocka_unit_test(wan_test::test<registers>),
        cmocka_unit_test(wan_test::test<run_now>),
        cmocka_unit_test(wan_test::test<outside>),
        cmocka_unit_test(wan_test::test<guards>),
        cmocka_unit_test(wan_test::test<other_faults>),
        cmocka_unit_test(wan_test::test<very_many>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
