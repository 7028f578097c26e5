/*
 * What coll/wan did in this process, as MPI_T performance variables.  They are
 * sums over all communicators, closed ones included, and are how tests and the
 * bench prove that a call was served here and not by the module before us.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdio.h>

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static opal_list_t modules;             /* of mca_coll_wan_module_t by its item */
static bool modules_constructed = false;
static wan_counters_t closed;           /* sums of the modules that are gone */
static unsigned long long closed_passed;

#define MODULE_OF(member) \
    ((mca_coll_wan_module_t *) ((char *) (member) - offsetof(mca_coll_wan_module_t, item)))

static void sums_add(wan_counters_t *sums, const mca_coll_wan_module_t *module)
{
    const wan_counters_t *one = NULL != module->view ? wan_comm_counters(module->view) : NULL;

    if (NULL == one) {
        return;
    }
    for (int i = 0; i < WAN_COLLECTIVES; ++i) {
        sums->served[i] += one->served[i];
        sums->declined[i] += one->declined[i];
    }
    sums->wan_messages += one->wan_messages;
    sums->wan_bytes += one->wan_bytes;
}

static void sums_get(wan_counters_t *sums, unsigned long long *passed)
{
    opal_list_item_t *item;

    opal_mutex_lock(&lock);
    *sums = closed;
    *passed = closed_passed;
    if (modules_constructed) {
        for (item = opal_list_get_first(&modules); item != opal_list_get_end(&modules);
             item = opal_list_get_next(item)) {
            sums_add(sums, MODULE_OF(item));
            *passed += MODULE_OF(item)->passed;
        }
    }
    opal_mutex_unlock(&lock);
}

/* ---- variables ------------------------------------------------------------ */

/* The context of a variable: which member of wan_counters_t, or the passed calls. */
#define CONTEXT_PASSED ((size_t) -1)

static int value_get(const struct mca_base_pvar_t *variable, void *value, void *object)
{
    wan_counters_t sums;
    unsigned long long passed;
    size_t context = (size_t) variable->ctx;

    (void) object;
    sums_get(&sums, &passed);
    *(unsigned long long *) value = CONTEXT_PASSED == context
                                        ? passed
                                        : *(uint64_t *) ((char *) &sums + context);
    return OMPI_SUCCESS;
}

static void counter_register(const char *name, const char *text, size_t context)
{
    (void) mca_base_component_pvar_register(
        &mca_coll_wan_component.super.collm_version, name, text, OPAL_INFO_LVL_4,
        MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
        MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
        value_get, NULL, NULL, (void *) context);
}

void mca_coll_wan_counters_register(void)
{
    char name[64], text[128];

    for (int i = 0; i < WAN_COLLECTIVES; ++i) {
        const char *collective = wan_collective_name((wan_collective_t) i);

        snprintf(name, sizeof(name), "served_%s", collective);
        snprintf(text, sizeof(text), "Calls of %s that coll/wan served (all communicators)",
                 collective);
        counter_register(name, text, offsetof(wan_counters_t, served) + i * sizeof(uint64_t));
        snprintf(name, sizeof(name), "declined_%s", collective);
        snprintf(text, sizeof(text),
                 "Calls of %s for which coll/wan had no algorithm, handed to the module before it",
                 collective);
        counter_register(name, text, offsetof(wan_counters_t, declined) + i * sizeof(uint64_t));
    }
    counter_register("passed",
                     "Calls handed to the module before coll/wan on communicators that it does "
                     "not serve (communicators in one site do not even pass through it)",
                     CONTEXT_PASSED);
    counter_register("wan_messages", "Messages that this process sent to another site",
                     offsetof(wan_counters_t, wan_messages));
    counter_register("wan_bytes", "Bytes that this process sent to another site",
                     offsetof(wan_counters_t, wan_bytes));
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
        OBJ_DESTRUCT(&modules);
        modules_constructed = false;
    }
}

void mca_coll_wan_counters_add(mca_coll_wan_module_t *module)
{
    opal_mutex_lock(&lock);
    opal_list_append(&modules, &module->item);
    opal_mutex_unlock(&lock);
}

void mca_coll_wan_counters_remove(mca_coll_wan_module_t *module)
{
    if (NULL == module->comm) {
        return;     /* never enabled, so never added */
    }
    opal_mutex_lock(&lock);
    sums_add(&closed, module);
    closed_passed += module->passed;
    if (modules_constructed) {
        opal_list_remove_item(&modules, &module->item);
    }
    opal_mutex_unlock(&lock);
}
