/*
 * Stand-in: what 5.0's opal/mca/threads/threads.h asks of its POSIX backend.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_STANDIN_THREADS_PTHREADS_THREADS_H
#define WAN_STANDIN_THREADS_PTHREADS_THREADS_H

#include <pthread.h>
#include <sched.h>

static inline void opal_thread_yield(void)
{
    sched_yield();
}

#endif
