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

static int progress(void)
{
    wan_item_t *item, *next, **link;
    int steps = 0;

    if (NULL == __atomic_load_n(&added, __ATOMIC_RELAXED)
        && NULL == __atomic_load_n(&under_way, __ATOMIC_RELAXED)) {
        return 0;
    }
    if (0 != __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        return 0;
    }
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
        const wan_step_t step = item->step(item);

        steps += WAN_STEP_IDLE != step;
        if (WAN_STEP_OVER == step) {
            *link = next;       /* the item may be gone */
        } else {
            link = &item->next;
        }
    }
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return steps;
}

void mca_coll_wan_progress_add(wan_item_t *item)
{
    if (0 == __atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL)) {
        opal_progress_register(progress);
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
