/*
 * What coll/wan did in this process, as MPI_T performance variables: those of
 * core/counters.cpp.  Most are sums over all communicators, closed ones included, and
 * are how tests and the bench prove that a call was served here and not by the module before us;
 * some are of the communicator that a tool binds its handle to.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <string.h>

/* Who holds it may wait for the lock of adaptive trees, in wan_comm_count(): so nobody takes it who may have that one, as all may
 * who make a communicator, by Open MPI's progress inside a send. */
static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static opal_list_t modules;             /* of mca_coll_wan_module_t by its item; under the lock, as `kept` */
static opal_list_item_t *added;         /* those that are not in the list yet: stack; atomic */
static bool modules_constructed = false;
static wan_counters_t kept;             /* without those of the modules that are there, and without */
static wan_counters_t met;              /* those of communicators; atomic */

#define MODULE_OF(member) \
    ((mca_coll_wan_module_t *) ((char *) (member) - offsetof(mca_coll_wan_module_t, item)))

static void module_count(const mca_coll_wan_module_t *module, wan_counters_t *sum)
{
    const wan_comm_t *view = __atomic_load_n(&module->view, __ATOMIC_ACQUIRE);

    sum->passed += module->passed;
    if (NULL != view) {
        wan_comm_count(view, sum);
    }
}

/* With the lock: the list, in the order in which modules were added. */
static void modules_merge(void)
{
    opal_list_item_t *next, *before = opal_list_get_end(&modules);

    for (opal_list_item_t *item = __atomic_exchange_n(&added, NULL, __ATOMIC_ACQUIRE); NULL != item; item = next) {
        next = (opal_list_item_t *) item->opal_list_next;
        item->opal_list_next = NULL;
        opal_list_insert_pos(&modules, before, item);
        before = item;
    }
}

static void met_count(wan_counters_t *sum)
{
    sum->communicators += __atomic_load_n(&met.communicators, __ATOMIC_RELAXED);
    for (size_t i = 0; i < WAN_REASONS; ++i) {
        sum->refused[i] += __atomic_load_n(&met.refused[i], __ATOMIC_RELAXED);
    }
}

/* ---- variables ------------------------------------------------------------ */

/* The context of a variable is its number.  object: the communicator of a handle that is bound to one. */
static int value_get(const struct mca_base_pvar_t *variable, void *value, void *object)
{
    unsigned long long number;
    opal_list_item_t *item;
    wan_counter_t counter;
    wan_counters_t sum;

    wan_counter_get((size_t) (uintptr_t) variable->ctx, &counter);
    memset(&sum, 0, sizeof(sum));
    opal_mutex_lock(&lock);
    if (!counter.of_communicator) {
        sum = kept;
        met_count(&sum);
    }
    if (modules_constructed) {
        modules_merge();
        for (item = opal_list_get_first(&modules); item != opal_list_get_end(&modules);
             item = opal_list_get_next(item)) {
            if (!counter.of_communicator || MODULE_OF(item)->comm == object) {
                module_count(MODULE_OF(item), &sum);
            }
        }
    }
    opal_mutex_unlock(&lock);
    number = wan_counter_value(&counter, &sum);
    memcpy(value, &number, sizeof(number));
    return OMPI_SUCCESS;
}

void mca_coll_wan_counters_register(void)
{
    wan_counter_t counter;

    for (size_t i = 0; i < wan_counter_count(); ++i) {
        wan_counter_get(i, &counter);
        (void) mca_base_component_pvar_register(
            &mca_coll_wan_component.super.collm_version, counter.name, counter.help, OPAL_INFO_LVL_4,
            MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
            counter.of_communicator ? MCA_BASE_VAR_BIND_MPI_COMM : MCA_BASE_VAR_BIND_NO_OBJECT,
            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, value_get, NULL, NULL, (void *) (uintptr_t) i);
    }
}

/* ---- modules --------------------------------------------------------------- */

void mca_coll_wan_counters_open(void)
{
    if (!modules_constructed) {
        OBJ_CONSTRUCT(&modules, opal_list_t);
        modules_constructed = true;
    }
}

void mca_coll_wan_counters_close(void)
{
    if (modules_constructed) {
        modules_merge();
        OBJ_DESTRUCT(&modules);
        modules_constructed = false;
    }
}

void mca_coll_wan_counters_add(mca_coll_wan_module_t *module)
{
    opal_list_item_t *item = &module->item, *first = __atomic_load_n(&added, __ATOMIC_RELAXED);

    do {
        item->opal_list_next = first;
    } while (!__atomic_compare_exchange_n(&added, &first, item, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void mca_coll_wan_counters_remove(mca_coll_wan_module_t *module)
{
    if (NULL == module->comm) {
        return;     /* never enabled, so never added */
    }
    opal_mutex_lock(&lock);
    module_count(module, &kept);
    if (modules_constructed) {
        modules_merge();
        opal_list_remove_item(&modules, &module->item);
    }
    opal_mutex_unlock(&lock);
}

void mca_coll_wan_counters_each(void (*f)(const mca_coll_wan_module_t *module))
{
    opal_list_item_t *item;

    opal_mutex_lock(&lock);
    if (modules_constructed) {
        modules_merge();
        for (item = opal_list_get_first(&modules); item != opal_list_get_end(&modules); item = opal_list_get_next(item)) {
            f(MODULE_OF(item));
        }
    }
    opal_mutex_unlock(&lock);
}

void mca_coll_wan_counters_communicator(wan_reason_t reason)
{
    __atomic_add_fetch(WAN_REASON_NONE == reason ? &met.communicators : &met.refused[reason], 1, __ATOMIC_RELAXED);
}
