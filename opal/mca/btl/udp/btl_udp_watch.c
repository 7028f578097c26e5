/*
 * A thread that keeps the engine going while nobody else does: the process computes, or waits inside Open MPI for what is no message
 * (a spawned process, its end).  What it sent last may be lost; with the kernel's transports the kernel sends it again.
 *
 * It calls nothing of Open MPI's but the lock: Open MPI may believe that there is one thread.  While the process calls progress it does
 * nothing, and where nothing has been under way for a second it sleeps until something is sent.
 *
 * Next: io/engine.cpp (keep()).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "btl_udp.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { ACK_MS = 2 };        /* after which those of what came are due, by btl_udp_ack_delay */

static struct {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool runs, ends;
    bool asleep;                /* until woken; written with the module's lock, too */
} watch = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* Until `period` has passed (0: until woken), or the end. */
static void rest(int period_ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += period_ms / 1000;
    until.tv_nsec += (long) (period_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        ++until.tv_sec;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&watch.mutex);
    while (!watch.ends && (0 == period_ms ? watch.asleep : true)) {
        if (0 == period_ms) {
            pthread_cond_wait(&watch.changed, &watch.mutex);
        } else if (ETIMEDOUT == pthread_cond_timedwait(&watch.changed, &watch.mutex, &until)) {
            break;
        }
    }
    pthread_mutex_unlock(&watch.mutex);
}

static bool ends(void)
{
    bool is;

    pthread_mutex_lock(&watch.mutex);
    is = watch.ends;
    pthread_mutex_unlock(&watch.mutex);
    return is;
}

static void *watch_run(void *context)
{
    mca_btl_udp_module_t *module = context;
    const int period_ms = mca_btl_udp_component.taken.watch;
    const int most_quiet = 1 + 1000 / period_ms;
    unsigned seen = 0;
    int quiet = 0;

    while (!ends()) {
        const unsigned passes = __atomic_load_n(&module->passes, __ATOMIC_RELAXED);
        const bool alone = passes == seen;
        int kept = UDP_KEPT;

        seen = passes;
        if (0 == opal_mutex_trylock(&module->lock)) {
            /* Who called the layer above from within the engine comes back. */
            kept = NULL == module->engine                   ? UDP_KEPT_ALL
                   : alone && 0 == module->above            ? udp_engine_keep(module->engine)
                   : udp_engine_rests(module->engine)       ? UDP_KEPT_ALL
                                                            : UDP_KEPT;
            quiet = UDP_KEPT_ALL == kept ? quiet + 1 : 0;
            __atomic_store_n(&watch.asleep, quiet > most_quiet, __ATOMIC_RELAXED);
            opal_mutex_unlock(&module->lock);
        }
        if (quiet > most_quiet) {
            rest(0);
            quiet = 0;
        }
        rest(UDP_KEPT_SOON == kept && ACK_MS < period_ms ? ACK_MS : period_ms);
    }
    return NULL;
}

/* Also of a process that leaves without MPI_Finalize: what it uses is taken down then. */
static void watch_end_at_exit(void)
{
    mca_btl_udp_watch_end();
}

void mca_btl_udp_watch_begin(mca_btl_udp_module_t *module)
{
    static bool registered;
    pthread_condattr_t by_monotonic;
    sigset_t all, before;

    if (watch.runs || 0 == mca_btl_udp_component.taken.watch) {
        return;
    }
    pthread_condattr_init(&by_monotonic);
    pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.changed, &by_monotonic);
    pthread_condattr_destroy(&by_monotonic);
    watch.ends = watch.asleep = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);        /* signals are the program's */
    watch.runs = 0 == pthread_create(&watch.thread, NULL, watch_run, module);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!registered) {
        registered = 0 == atexit(watch_end_at_exit);
    }
}

void mca_btl_udp_watch_woken(void)
{
    if (!__atomic_load_n(&watch.asleep, __ATOMIC_RELAXED)) {
        return;
    }
    pthread_mutex_lock(&watch.mutex);
    __atomic_store_n(&watch.asleep, false, __ATOMIC_RELAXED);
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.mutex);
}

void mca_btl_udp_watch_end(void)
{
    if (!watch.runs) {
        return;
    }
    pthread_mutex_lock(&watch.mutex);
    watch.ends = true;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.mutex);
    pthread_join(watch.thread, NULL);
    pthread_cond_destroy(&watch.changed);
    watch.runs = false;
}
