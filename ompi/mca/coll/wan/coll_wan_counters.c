/*
 * What coll/wan did in this process, as MPI_T performance variables.  They are
 * sums over all communicators, closed ones included, and are how tests and the
 * bench prove that a call was served here and not by the module before us.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdio.h>
#include <string.h>

typedef struct wan_sums {
    wan_counters_t core;
    unsigned long long passed;
    unsigned long long served;                  /* communicators */
    unsigned long long refused[WAN_REASONS];
} wan_sums_t;

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static opal_list_t modules;             /* of mca_coll_wan_module_t by its item */
static bool modules_constructed = false;
static wan_sums_t kept;                 /* without those of the modules that are there */

#define MODULE_OF(member) \
    ((mca_coll_wan_module_t *) ((char *) (member) - offsetof(mca_coll_wan_module_t, item)))

static void sums_add(wan_sums_t *sums, const mca_coll_wan_module_t *module)
{
    const wan_counters_t *one = NULL != module->view ? wan_comm_counters(module->view) : NULL;

    sums->passed += module->passed;
    if (NULL == one) {
        return;
    }
    for (int i = 0; i < WAN_COUNTED; ++i) {
        sums->core.served[i] += one->served[i];
        sums->core.declined[i] += one->declined[i];
        sums->core.left[i] += one->left[i];
    }
    sums->core.wan_messages += one->wan_messages;
    sums->core.wan_bytes += one->wan_bytes;
    sums->core.elapsed_ns += one->elapsed_ns;
    sums->core.predicted_ns += one->predicted_ns;
}

/* ---- variables ------------------------------------------------------------ */

/* The context of a variable is the place of its member in wan_sums_t. */
static int value_get(const struct mca_base_pvar_t *variable, void *value, void *object)
{
    opal_list_item_t *item;
    wan_sums_t sums;

    (void) object;
    opal_mutex_lock(&lock);
    sums = kept;
    if (modules_constructed) {
        for (item = opal_list_get_first(&modules); item != opal_list_get_end(&modules);
             item = opal_list_get_next(item)) {
            sums_add(&sums, MODULE_OF(item));
        }
    }
    opal_mutex_unlock(&lock);
    memcpy(value, (char *) &sums + (size_t) variable->ctx, sizeof(unsigned long long));
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
    char name[64], text[160];

    for (int i = 0; i < WAN_COUNTED; ++i) {
        const char *collective = wan_collective_name((wan_collective_t) i);

        snprintf(name, sizeof(name), "served_%s", collective);
        snprintf(text, sizeof(text), "Calls of %s that coll/wan served (all communicators)",
                 collective);
        counter_register(name, text, offsetof(wan_sums_t, core.served) + i * sizeof(uint64_t));
        if (WAN_COLLECTIVES <= i) {
            continue;       /* nothing is chosen */
        }
        snprintf(name, sizeof(name), "declined_%s", collective);
        snprintf(text, sizeof(text),
                 "Calls of %s for which coll/wan had no algorithm, handed to the module before it",
                 collective);
        counter_register(name, text, offsetof(wan_sums_t, core.declined) + i * sizeof(uint64_t));
        snprintf(name, sizeof(name), "left_%s", collective);
        snprintf(text, sizeof(text),
                 "Calls of %s left to the module before coll/wan, to try it or since it was measured to be the fastest",
                 collective);
        counter_register(name, text, offsetof(wan_sums_t, core.left) + i * sizeof(uint64_t));
    }
    counter_register("passed",
                     "Calls handed to the module before coll/wan on communicators that it does "
                     "not serve (communicators in one site do not even pass through it)",
                     offsetof(wan_sums_t, passed));
    counter_register("communicators", "Communicators that coll/wan serves or served",
                     offsetof(wan_sums_t, served));
    for (int i = WAN_REASON_NONE + 1; i < WAN_REASONS; ++i) {
        snprintf(name, sizeof(name), "refused_%s", wan_reason_name((wan_reason_t) i));
        snprintf(text, sizeof(text), "Communicators left to other components: %s",
                 wan_reason_text((wan_reason_t) i));
        counter_register(name, text, offsetof(wan_sums_t, refused) + i * sizeof(unsigned long long));
    }
    counter_register("wan_messages", "Messages that this process sent to another site",
                     offsetof(wan_sums_t, core.wan_messages));
    counter_register("wan_bytes", "Bytes that this process sent to another site",
                     offsetof(wan_sums_t, core.wan_bytes));
    counter_register("elapsed_ns", "Nanoseconds that the calls served took on this process, each from beginning to end",
                     offsetof(wan_sums_t, core.elapsed_ns));
    counter_register("predicted_ns", "Nanoseconds that they were predicted to take",
                     offsetof(wan_sums_t, core.predicted_ns));
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
    sums_add(&kept, module);
    if (modules_constructed) {
        opal_list_remove_item(&modules, &module->item);
    }
    opal_mutex_unlock(&lock);
}

void mca_coll_wan_counters_communicator(wan_reason_t reason)
{
    opal_mutex_lock(&lock);
    if (WAN_REASON_NONE == reason) {
        ++kept.served;
    } else {
        ++kept.refused[reason];
    }
    opal_mutex_unlock(&lock);
}
