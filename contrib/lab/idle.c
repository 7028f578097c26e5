/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded into every rank of a lab job: an idle rank sleeps instead of spinning.
 *
 * Dozens of ranks share a few cores here. With mpi_yield_when_idle Open MPI calls
 * sched_yield() whenever a pass over its progress engine found nothing; spinning on
 * that keeps all cores busy and makes whoever has work wait for its turn. Here
 * sched_yield() waits until one of the descriptors that the progress engine polled
 * last (libevent's poll or epoll_wait with timeout 0, in this thread) is ready, or
 * until WAN_IDLE_US have passed. As libevent polls level-triggered, nothing is
 * missed between its pass and ours.
 *
 *   WAN_IDLE_US    longest wait, default 1000; 0: plain sched_yield()
 *   WAN_IDLE_SPIN  plain yields before the first wait, default 0
 *   WAN_IDLE_MODE  poll (default) or sleep: nanosleep for WAN_IDLE_US
 *
 * It must not change results or order of anything: it only passes time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FDS_MAX = 512 };

static long wait_ns = 1000 * 1000L;
static int spin = 0;
static int sleep_only = 0;

static __thread struct pollfd watched[FDS_MAX];
static __thread nfds_t watched_count;
static __thread int spun;

__attribute__((constructor)) static void idle_open(void)
{
    const char *us = getenv("WAN_IDLE_US");
    const char *yields = getenv("WAN_IDLE_SPIN");
    const char *mode = getenv("WAN_IDLE_MODE");
    if (us != NULL) {
        wait_ns = strtol(us, NULL, 10) * 1000L;
    }
    if (yields != NULL) {
        spin = (int) strtol(yields, NULL, 10);
    }
    sleep_only = mode != NULL && strcmp(mode, "sleep") == 0;
}

/* Wraps the C library's poll; a pass of the progress engine is one with timeout 0. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct timespec t = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
    int ready;
    if (timeout_ms == 0 && count > 0 && count <= FDS_MAX) {
        memcpy(watched, fds, count * sizeof *fds);
        watched_count = count;
    }
    ready = ppoll(fds, count, timeout_ms < 0 ? NULL : &t, NULL);
    if (ready != 0) {
        spun = 0;
    }
    return ready;
}

int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms)
{
    int ready = epoll_pwait(epfd, events, max, timeout_ms, NULL);
    if (timeout_ms == 0) {
        watched[0].fd = epfd;
        watched[0].events = POLLIN;
        watched_count = 1;
    }
    if (ready != 0) {
        spun = 0;
    }
    return ready;
}

int sched_yield(void)
{
    struct timespec t = {wait_ns / 1000000000L, wait_ns % 1000000000L};
    int saved = errno;
    if (wait_ns <= 0 || spun < spin) {
        ++spun;
        return (int) syscall(SYS_sched_yield);
    }
    if (sleep_only || watched_count == 0) {
        /* Nothing to watch: some other thread's event is awaited, keep it short. */
        if (!sleep_only && t.tv_nsec > 50000) {
            t.tv_nsec = 50000;
            t.tv_sec = 0;
        }
        nanosleep(&t, NULL);
    } else {
        /* Not the wrapped poll: watched must stay what the progress engine polls. */
        ppoll(watched, watched_count, &t, NULL);
    }
    errno = saved;
    return 0;
}
