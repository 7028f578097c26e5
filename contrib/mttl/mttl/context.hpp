/*
 * The switch from one stack to another: what a function call must preserve is
 * pushed, the stack pointer is exchanged, and popped again.  Own assembly for
 * x86-64 (System V) and aarch64; elsewhere, or with MTTL_UCONTEXT defined,
 * ucontext, which makes a system call a switch.  Nothing here knows threads.
 *
 * The floating-point control words are among what a call must preserve: a
 * thread that rounds upwards must not make the next one do so.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_CONTEXT_HPP
#define MTTL_CONTEXT_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if !defined(MTTL_UCONTEXT) && !((defined(__x86_64__) && defined(__ELF__) && !defined(__ILP32__)) || (defined(__aarch64__) && defined(__ELF__)))
#define MTTL_UCONTEXT 1
#endif

#ifdef MTTL_UCONTEXT
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define MTTL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MTTL_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MTTL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MTTL_TSAN 1
#endif
#endif
#ifdef MTTL_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef MTTL_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifndef MTTL_UCONTEXT
extern "C" void mttl_context_switch(void **save, void *load);
extern "C" void mttl_context_start();

// Weak, so that every object file may bring them; hidden, so that no library
// calls another one's through a table.
#if defined(__x86_64__)
__asm__(R"(
        .pushsection .text.mttl_context,"ax",@progbits
        .weak   mttl_context_switch
        .hidden mttl_context_switch
        .type   mttl_context_switch,@function
        .p2align 4
mttl_context_switch:
        .cfi_startproc
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        subq    $8, %rsp
        stmxcsr (%rsp)
        fnstcw  4(%rsp)
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        ldmxcsr (%rsp)
        fldcw   4(%rsp)
        addq    $8, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        popq    %rcx
        jmp     *%rcx
        .cfi_endproc
        .size   mttl_context_switch,.-mttl_context_switch
        .weak   mttl_context_start
        .hidden mttl_context_start
        .type   mttl_context_start,@function
        .p2align 4
mttl_context_start:
        .cfi_startproc
        .cfi_undefined rip
        movq    %r12, %rdi
        xorl    %ebp, %ebp
        callq   *%r13
        hlt
        .cfi_endproc
        .size   mttl_context_start,.-mttl_context_start
        .popsection
)");
#else
__asm__(R"(
        .pushsection .text.mttl_context,"ax",@progbits
        .weak   mttl_context_switch
        .hidden mttl_context_switch
        .type   mttl_context_switch,%function
        .p2align 4
mttl_context_switch:
        .cfi_startproc
        sub     sp, sp, #176
        stp     x19, x20, [sp, #0]
        stp     x21, x22, [sp, #16]
        stp     x23, x24, [sp, #32]
        stp     x25, x26, [sp, #48]
        stp     x27, x28, [sp, #64]
        stp     x29, x30, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mrs     x9, fpcr
        str     x9, [sp, #160]
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        ldp     x19, x20, [sp, #0]
        ldp     x21, x22, [sp, #16]
        ldp     x23, x24, [sp, #32]
        ldp     x25, x26, [sp, #48]
        ldp     x27, x28, [sp, #64]
        ldp     x29, x30, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldr     x9, [sp, #160]
        msr     fpcr, x9
        add     sp, sp, #176
        br      x30
        .cfi_endproc
        .size   mttl_context_switch,.-mttl_context_switch
        .weak   mttl_context_start
        .hidden mttl_context_start
        .type   mttl_context_start,%function
        .p2align 4
mttl_context_start:
        .cfi_startproc
        .cfi_undefined x30
        mov     x0, x19
        mov     x29, xzr
        blr     x20
        brk     #1
        .cfi_endproc
        .size   mttl_context_start,.-mttl_context_start
        .popsection
)");
#endif
#endif

namespace [[gnu::visibility("default")]] mttl {

using context_entry = void (*)(void *);

#ifdef MTTL_UCONTEXT
namespace detail {
inline void ucontext_start(unsigned a, unsigned b, unsigned c, unsigned d)
{
    const auto join = [](unsigned high, unsigned low) { return static_cast<uintptr_t>((uint64_t(high) << 32) | low); };
    reinterpret_cast<context_entry>(join(a, b))(reinterpret_cast<void *>(join(c, d)));
    std::abort();
}
} // namespace detail
#endif

/** Where the stack that runs has got to. */
[[gnu::always_inline]] inline std::byte *stack_pointer()
{
    void *p;
#if defined(__x86_64__) && !defined(__ILP32__)
    __asm__ volatile("movq %%rsp, %0" : "=r"(p));
#elif defined(__aarch64__)
    __asm__ volatile("mov %0, sp" : "=r"(p));
#else
    p = __builtin_frame_address(0);     // above what this function has taken since
#endif
    return static_cast<std::byte *>(p);
}

/** Where a stack left off. */
class context {
public:
    /** Ready to run entry(argument), which must not return, below `top`. */
    void make(void *bottom, std::byte *top, context_entry entry, void *argument)
    {
#ifdef MTTL_UCONTEXT
        getcontext(&at_);
        at_.uc_stack.ss_sp = bottom;
        at_.uc_stack.ss_size = static_cast<size_t>(top - static_cast<std::byte *>(bottom));
        at_.uc_link = nullptr;
        const auto high = [](auto p) { return static_cast<unsigned>(reinterpret_cast<uintptr_t>(p) >> 32); };
        const auto low = [](auto p) { return static_cast<unsigned>(reinterpret_cast<uintptr_t>(p)); };
        makecontext(&at_, reinterpret_cast<void (*)()>(detail::ucontext_start), 4, high(entry), low(entry), high(argument), low(argument));
#else
        (void)bottom;
        auto *p = reinterpret_cast<uint64_t *>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
#if defined(__x86_64__)
        *--p = 0;                                               // start's frame is aligned as a call leaves it
        *--p = 0;
        *--p = reinterpret_cast<uint64_t>(&mttl_context_start);
        *--p = 0;                                               // rbp
        *--p = 0;                                               // rbx
        *--p = reinterpret_cast<uint64_t>(argument);            // r12
        *--p = reinterpret_cast<uint64_t>(entry);               // r13
        *--p = 0;                                               // r14
        *--p = 0;                                               // r15
        --p;
        uint32_t mxcsr;
        uint16_t x87;
        __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
        __asm__ volatile("fnstcw %0" : "=m"(x87));
        *p = mxcsr | uint64_t(x87) << 32;
#else
        p -= 22;
        for (int i = 0; i < 22; ++i)
            p[i] = 0;
        p[0] = reinterpret_cast<uint64_t>(argument);            // x19
        p[1] = reinterpret_cast<uint64_t>(entry);               // x20
        p[11] = reinterpret_cast<uint64_t>(&mttl_context_start);// x30
        uint64_t fpcr;
        __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
        p[20] = fpcr;
#endif
        at_ = p;
#endif
    }

    /** Leaves here, goes on where `next` left off. */
    void switch_to(context &next)
    {
#ifdef MTTL_UCONTEXT
        swapcontext(&at_, &next.at_);
#else
        mttl_context_switch(&at_, next.at_);
#endif
    }

private:
#ifdef MTTL_UCONTEXT
    ucontext_t at_{};
#else
    void *at_ = nullptr;
#endif
};

} // namespace mttl

#endif
