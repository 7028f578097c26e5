/*
 * What progresses by itself, called from Open MPI's progress: requests of
 * non-blocking and persistent calls, and questions that nobody waits for.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

/*
 * Items are added from anywhere, without a lock, and stepped by one thread at a time: who finds
 * another one at it leaves.  (Also a step that comes back here through the PML.)
 */
static wan_item_t *added;           /* stack; atomic */
static wan_item_t *under_way;       /* of who holds `busy` */
static int busy;                    /* atomic */
static int registered;              /* atomic */
static int64_t last_ns;             /* when the program was in MPI last, as far as we know; atomic */
static int64_t passed_ns;           /* when we were called last; of who holds `busy` */
static int calls;                   /* items of calls; atomic */
static int prompt;                  /* prompt items; atomic */
static __thread bool inside;        /* this thread holds `busy` */
static int64_t read_ns;             /* when sockets were read, just before these steps; 0: they were not; of who holds `busy` */
static __thread char here;          /* its address tells threads apart */
static char *last_thread;           /* that passed here; atomic */
static bool read_elsewhere;         /* by a thread of btl/tcp's; atomic */
static int64_t turned_ns;           /* when another one than before passed here; 0: never; atomic */

bool mca_coll_wan_progress_inside(void)
{
    return inside;
}

static int64_t now_ns(void)
{
    return mca_coll_wan_port_pml.now_ns(NULL);
}

/* One step of each; how many have worked.  By who holds `busy`. */
static int step_all(void)
{
    wan_item_t *item, *next, **link;
    int steps = 0;

    /* The oldest first. */
    for (link = &under_way; NULL != *link; link = &(*link)->next) {
        continue;
    }
    for (item = __atomic_exchange_n(&added, NULL, __ATOMIC_ACQUIRE); NULL != item; item = next) {
        next = item->next;
        item->next = *link;
        *link = item;
    }
    for (link = &under_way; NULL != (item = *link);) {
        next = item->next;
        const bool call = item->call, hurries = item->prompt;
        const wan_step_t step = item->step(item);

        steps += WAN_STEP_IDLE != step;
        if (WAN_STEP_OVER == step) {
            *link = next;       /* the item may be gone */
            (void) __atomic_sub_fetch(&calls, call, __ATOMIC_RELAXED);
            (void) __atomic_sub_fetch(&prompt, hurries, __ATOMIC_RELAXED);
        } else {
            link = &item->next;
        }
    }
    return steps;
}

/*
 * A program that calls MPI now and then only: what has come since is still in the sockets, since Open
 * MPI reads them after it has called us, and what we post now may let the next step begin.  So its
 * progress goes on until nothing moves: else each step of an algorithm waits for a call of its own,
 * or two.  Not for longer than a part of the program's own time, nor than some steps take.
 */
#define RARE_NS 50000
#define PART_OF_PAUSE 4
#define MOST_NS 5000000

static int catch_up(int64_t pause_ns, int64_t since_ns)
{
    const int64_t most_ns = pause_ns / PART_OF_PAUSE < MOST_NS ? pause_ns / PART_OF_PAUSE : MOST_NS;
    const bool yields = opal_progress_set_yield_when_idle(false);   /* we may just have done what somebody waits for */
    int all = 0, steps;

    do {
        opal_progress();        /* comes back here, and leaves */
        steps = step_all();
        all += steps;
    } while (0 < steps && 0 < __atomic_load_n(&calls, __ATOMIC_RELAXED) && now_ns() - since_ns < most_ns);
    (void) opal_progress_set_yield_when_idle(yields);
    return all;
}

/*
 * Open MPI reads its sockets after it has called us, in each of its passes (btl/tcp, connected) or in every eighth: what came during a pause would be
 * taken some passes after it, and wait for a program's next calls.  Who takes times has it read them at once, after each pause that counts
 * beside a message's way.  While another thread may be reading, nothing is known of what has been read: it may have lost its processor at it.
 * Of the program's, each passes here shortly before or after that, so one that has not done so for long is hardly at it; btl/tcp's own never does.
 */
#define PASSES_A_READ 8
#define PAUSE_NS 100000
#define AWAY_NS 1000000000

static void thread_passes(void)
{
    if (&here != __atomic_load_n(&last_thread, __ATOMIC_RELAXED)
        && NULL != __atomic_exchange_n(&last_thread, &here, __ATOMIC_RELAXED)) {
        const int64_t at_ns = now_ns();
        int64_t turned = __atomic_load_n(&turned_ns, __ATOMIC_RELAXED);

        while (turned < at_ns && !__atomic_compare_exchange_n(&turned_ns, &turned, at_ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            continue;       /* never back: we may have lost the processor since the clock was read */
        }
    }
}

static bool others_are_away(int64_t at_ns)
{
    const int64_t turned = __atomic_load_n(&turned_ns, __ATOMIC_RELAXED);

    return !__atomic_load_n(&read_elsewhere, __ATOMIC_RELAXED)
           && (!ompi_mpi_thread_multiple || 0 == turned || AWAY_NS < at_ns - turned);
}

static bool btl_tcp_has_thread(void)
{
    const int index = mca_base_var_find("opal", "btl", "tcp", "progress_thread");
    const int *has = NULL;

    return 0 <= index && OPAL_SUCCESS == mca_base_var_get_value(index, &has, NULL, NULL) && NULL != has && 0 != *has;
}

static void read_sockets(void)
{
    const bool yields = opal_progress_set_yield_when_idle(false);

    for (int pass = 0; pass < PASSES_A_READ; ++pass) {
        opal_progress();        /* comes back here, and leaves */
    }
    (void) opal_progress_set_yield_when_idle(yields);
}

int64_t mca_coll_wan_progress_read(void)
{
    return read_ns;
}

static int progress(void)
{
    int64_t since_ns, pause_ns;
    int steps;

    if (NULL == __atomic_load_n(&added, __ATOMIC_RELAXED)
        && NULL == __atomic_load_n(&under_way, __ATOMIC_RELAXED)) {
        return 0;
    }
    if (0 < __atomic_load_n(&prompt, __ATOMIC_RELAXED)) {
        thread_passes();
    }
    if (0 != __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        return 0;
    }
    inside = true;
    if (0 < __atomic_load_n(&prompt, __ATOMIC_RELAXED)) {
        since_ns = now_ns();
        if (PAUSE_NS < since_ns - passed_ns) {
            read_sockets();
            read_ns = others_are_away(since_ns) ? since_ns : 0;
        }
    }
    steps = step_all();
    read_ns = 0;
    since_ns = now_ns();
    pause_ns = since_ns - __atomic_load_n(&last_ns, __ATOMIC_RELAXED);
    if (RARE_NS < pause_ns && 0 < __atomic_load_n(&calls, __ATOMIC_RELAXED)) {
        steps += catch_up(pause_ns, since_ns);
        since_ns = now_ns();
    }
    __atomic_store_n(&last_ns, since_ns, __ATOMIC_RELAXED);
    passed_ns = since_ns;
    inside = false;
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return steps;
}

void mca_coll_wan_progress_add(wan_item_t *item)
{
    if (0 == __atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL)) {
        opal_progress_register(progress);
    }
    if (item->call && 0 == __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED)) {
        __atomic_store_n(&last_ns, now_ns(), __ATOMIC_RELAXED);
    }
    if (item->prompt) {
        __atomic_store_n(&read_elsewhere, btl_tcp_has_thread(), __ATOMIC_RELAXED);
        (void) __atomic_add_fetch(&prompt, 1, __ATOMIC_RELAXED);
    }
    item->next = __atomic_load_n(&added, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&added, &item->next, item, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
        continue;
    }
}

void mca_coll_wan_progress_close(void)
{
    if (0 != __atomic_exchange_n(&registered, 0, __ATOMIC_ACQ_REL)) {
        opal_progress_unregister(progress);
    }
}
