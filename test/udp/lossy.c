/*
 * Preloaded into the ranks of a test job: a path that loses datagrams, where there is
 * no other network than loopback.
 *
 *   WAN_LOSE=0.01          what share of the datagrams that this process sends over UDP
 *   WAN_LOSE_SECONDS=N     only for so long; default: always
 *   WAN_LOSE_COUNT=FILE    at its end a line: how many it sent, how many of them were lost
 *
 * What is drawn is said to have been sent.  Datagrams that leave as one (UDP_SEGMENT)
 * are lost as one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static unsigned long sent_here, lost_here;

static int drawn(void)
{
    static uint64_t state = 0, limit;
    static time_t until;

    if (0 == state) {
        const char *share = getenv("WAN_LOSE");

        const char *seconds = getenv("WAN_LOSE_SECONDS");

        until = NULL != seconds ? time(NULL) + atoi(seconds) : 0;
        state = ((uint64_t) getpid() + 1) * 0x9e3779b97f4a7c15u;
        limit = (uint64_t) ((NULL != share ? atof(share) : 0) * 4294967296.0);
    }
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    ++sent_here;
    if (0 != until && time(NULL) >= until) {
        return 0;
    }
    lost_here += state >> 32 < limit;
    return state >> 32 < limit;
}

__attribute__((destructor)) static void tell(void)
{
    const char *name = getenv("WAN_LOSE_COUNT");
    FILE *file = NULL != name && sent_here > 0 ? fopen(name, "a") : NULL;

    if (NULL != file) {
        fprintf(file, "%lu %lu\n", sent_here, lost_here);
        fclose(file);
    }
}

__attribute__((visibility("default"))) ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to, socklen_t length)
{
    static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    int type = 0;
    socklen_t room = sizeof(type);

    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "sendto");
    }
    if (NULL != to && 0 == getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &room) && SOCK_DGRAM == type && AF_INET == to->sa_family && drawn()) {
        return (ssize_t) n;
    }
    return real(fd, bytes, n, flags, to, length);
}

__attribute__((visibility("default"))) int sendmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags)
{
    static int (*real)(int, struct mmsghdr *, unsigned, int);
    unsigned first = 0, end = 0;

    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "sendmmsg");
    }
    while (first < n) {
        int lost = 0, sent;

        for (end = first; end < n && !(lost = drawn()); ++end) {
            ;
        }
        if (end > first) {
            sent = real(fd, messages + first, end - first, flags);
            if (sent < (int) (end - first)) {
                return sent > 0 || first > 0 ? (int) first + (sent > 0 ? sent : 0) : sent;
            }
        }
        first = end + (unsigned) lost;
    }
    return (int) n;
}
