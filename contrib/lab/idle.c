/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded into every rank of a lab job: an idle rank sleeps instead of spinning.
 *
 * Dozens of ranks share a few cores here. With mpi_yield_when_idle Open MPI calls
 * sched_yield() at the end of a pass over its progress engine, and spinning on that
 * keeps all cores busy and makes whoever has work wait for its turn. Here
 * sched_yield() sleeps until one of the descriptors that libevent polls (poll or
 * epoll_wait with timeout 0, in this thread) is ready, or WAN_IDLE_US have passed.
 *
 * Two habits of opal_progress() shape the rule "sleep only once after each poll that
 * found nothing": it visits libevent on every 8th pass only, so descriptors added
 * meanwhile are known after the next visit; and it yields also after a visit that
 * completed a message (and then polled once more, in vain), where sleeping would
 * delay the caller by a whole wait.
 * libevent polls level-triggered, so nothing is missed between its poll and ours.
 *
 * In MPI_Init Open MPI does not yield yet, and a spawned process waits there for all others: at real-time
 * priority such ones keep the processors from the daemons that they wait for.  So a visit sleeps itself when many
 * before it found nothing and nobody yielded.
 *
 * btl/udp reads its socket itself, and Open MPI then hardly visits libevent.  After a read
 * that found nothing, a rank sleeps until that socket is ready or its timer (btl_udp_timer,
 * which the lab sets), else only briefly: what is to be sent has its times.
 *
 *   WAN_IDLE_US    longest wait, default 2000; 0: plain sched_yield()
 *   WAN_IDLE_MODE  poll (default) or sleep: nanosleep for WAN_IDLE_US each time
 *
 * It must not change results or order of anything: it only passes time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The build hides symbols by default; hidden ones replace nothing. */
#define REPLACES __attribute__((visibility("default")))

/* opal_progress polls every 8th time; twice that without a poll means it does not. */
enum { FDS_MAX = 512, MORE_MAX = 2, YIELDS_WITHOUT_POLL = 16, POLLS_WITHOUT_YIELD = 64 };

static long wait_ns = 2000 * 1000L;
static int sleep_only = 0;

static __thread struct pollfd watched[FDS_MAX + MORE_MAX];
static __thread nfds_t watched_count;
static __thread int polled_empty;
static __thread int handled;      /* something was ready since the last yield */
static __thread int yields;
static __thread int polls;        /* in vain, since the last yield */
static __thread int read_empty = -1;    /* a datagram socket without any */
static int timer = -1;                  /* when btl/udp has something to do */

__attribute__((constructor)) static void idle_open(void)
{
    const char *us = getenv("WAN_IDLE_US");
    const char *mode = getenv("WAN_IDLE_MODE");
    if (us != NULL) {
        wait_ns = strtol(us, NULL, 10) * 1000L;
    }
    sleep_only = mode != NULL && strcmp(mode, "sleep") == 0;
}

/* How long a visit may take. */
static struct timespec patience(int timeout_ms)
{
    const int sleeps = timeout_ms == 0 && polls >= POLLS_WITHOUT_YIELD && wait_ns > 0;
    return sleeps ? (struct timespec){wait_ns / 1000000000L, wait_ns % 1000000000L}
                  : (struct timespec){timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
}

static int visited(int timeout_ms, int ready)
{
    if (timeout_ms == 0) {
        polls = ready == 0 ? polls + (polls < POLLS_WITHOUT_YIELD) : 0;
        polled_empty = ready == 0;
        handled |= ready > 0;
        yields = 0;
    }
    return ready;
}

/* Replaces the C library's poll; a visit of the progress engine has timeout 0. */
REPLACES int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct timespec t = patience(timeout_ms);
    if (timeout_ms == 0 && count <= FDS_MAX) {
        memcpy(watched, fds, count * sizeof *fds);
        watched_count = count;
    }
    return visited(timeout_ms, ppoll(fds, count, timeout_ms < 0 ? NULL : &t, NULL));
}

REPLACES int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms)
{
    const struct timespec t = patience(timeout_ms);
    if (timeout_ms == 0) {
        watched[0].fd = epfd;
        watched[0].events = POLLIN;
        watched_count = 1;
    }
    return visited(timeout_ms, epoll_pwait(epfd, events, max, timeout_ms < 0 ? -1 : (int) (t.tv_sec * 1000 + t.tv_nsec / 1000000), NULL));
}

REPLACES int timerfd_create(int clock, int flags)
{
    return timer = (int) syscall(SYS_timerfd_create, clock, flags);
}

static void have_read(int fd, int flags, long found)
{
    if (flags & MSG_DONTWAIT) {
        read_empty = found < 0 && errno == EAGAIN ? fd : -1;
        handled |= found > 0;
    }
}

REPLACES ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t n = syscall(SYS_recvmsg, fd, message, flags);
    have_read(fd, flags, n);
    return n;
}

REPLACES int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *wait)
{
    int n = (int) syscall(SYS_recvmmsg, fd, messages, count, flags, wait);
    have_read(fd, flags, n);
    return n;
}

REPLACES int sched_yield(void)
{
    static const struct timespec brief = {0, 50000};
    struct timespec t = {wait_ns / 1000000000L, wait_ns % 1000000000L};
    int saved = errno;
    polls = 0;
    if (wait_ns <= 0) {
        return (int) syscall(SYS_sched_yield);
    }
    if (sleep_only) {
        nanosleep(&t, NULL);
    } else if (handled) {
        handled = 0;
        polled_empty = 0;
    } else if (read_empty >= 0) {
        watched[watched_count] = (struct pollfd){.fd = read_empty, .events = POLLIN};
        watched[watched_count + 1] = (struct pollfd){.fd = timer, .events = POLLIN};
        read_empty = -1;
        ppoll(watched, watched_count + MORE_MAX, timer >= 0 ? &t : &brief, NULL);
    } else if (polled_empty) {
        polled_empty = 0;
        ppoll(watched, watched_count, &t, NULL);
    } else if (++yields > YIELDS_WITHOUT_POLL) {
        /* Something else than a socket is awaited, such as shared memory. */
        nanosleep(&brief, NULL);
    }
    errno = saved;
    return 0;
}
