/*
 * The component: registers every knob as an MCA variable, opens the engine,
 * publishes its card and joins Open MPI's progress.
 *
 * Next: btl_udp_module.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "btl_udp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/installdirs/installdirs.h"
#include "opal/util/proc.h"
#include "wan_given.h"
#include "wan_show_help.h"
#include "wan_unknown.h"

static int component_register(void);
static int component_open(void);
static int component_close(void);
/*
 * Whether the parameter btl names udp.  Installed, it must not take the place of
 * btl/tcp in jobs that did not ask for it: there it would be slower on short paths.
 */
static bool asked_for(void)
{
    const char *list = opal_btl_base_framework.framework_selection;
    static const char name[] = "udp";

    if (NULL == list || '^' == *list) {
        return false;
    }
    for (const char *at = list; NULL != (at = strstr(at, name)); ++at) {
        const char after = at[sizeof(name) - 1];

        if ((at == list || ',' == at[-1]) && ('\0' == after || ',' == after)) {
            return true;
        }
    }
    return false;
}

static mca_btl_base_module_t **component_init(int *count, bool progress_threads, bool mpi_threads);

mca_btl_udp_component_t mca_btl_udp_component = {
    .super = {
        .btl_version = {
            MCA_BTL_DEFAULT_VERSION("udp"),
            .mca_open_component = component_open,
            .mca_close_component = component_close,
            .mca_register_component_params = component_register,
        },
        .btl_data = { .param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT },
        .btl_init = component_init,
        .btl_progress = mca_btl_udp_progress,
    },
};

/* ---- messages for users ------------------------------------------------------- */

void mca_btl_udp_message_show(const char *topic, const udp_message_t *message)
{
    static const char file[] = "help-mpi-btl-udp.txt";
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    if (wan_help_found(file, &mca_btl_udp_component)) {
        wan_show_help(file, topic, host, message->where, message->what, message->remedy);
    } else {
        opal_output(0, "btl/udp: %s: %s; %s", message->where, message->what, message->remedy);
    }
}

/* ---- knobs -------------------------------------------------------------------- */

static void *knob_storage(const udp_knob_t *knob)
{
    return (char *) &mca_btl_udp_component.params + knob->offset;
}

static void knob_reset(const udp_knob_t *knob)
{
    void *storage = knob_storage(knob);

    switch (knob->type) {
    case UDP_KNOB_INT:
    case UDP_KNOB_ENUM:
        *(int *) storage = (int) knob->initial;
        break;
    case UDP_KNOB_INT64:
        *(int64_t *) storage = knob->initial;
        break;
    case UDP_KNOB_STRING:
        *(char **) storage = "";    /* Open MPI copies it */
        break;
    }
}

static void knob_check(const udp_knob_t *knob)
{
    int64_t value = UDP_KNOB_INT == knob->type ? *(int *) knob_storage(knob) : *(int64_t *) knob_storage(knob);
    udp_message_t message;

    if (wan_given_fits("btl_udp", knob->name, value, knob->minimum, knob->maximum, message.what, sizeof(message.what))) {
        return;
    }
    snprintf(message.where, sizeof(message.where), "btl_udp_%s", knob->name);
    snprintf(message.remedy, sizeof(message.remedy),
             "give a number from %" PRId64 " to %" PRId64 "; the default %" PRId64 " is used now",
             knob->minimum, knob->maximum, knob->initial);
    mca_btl_udp_message_show("bad-parameter", &message);
    knob_reset(knob);
}

/* Text that is none of the names.  Who asked for security that there is none of is not to run with less. */
static void knob_refuse_name(const udp_knob_t *knob)
{
    udp_message_t message;
    char quoted[128];
    size_t length;

    snprintf(message.where, sizeof(message.where), "btl_udp_%s", knob->name);
    length = snprintf(message.what, sizeof(message.what), "%s is none of ",
                      NULL != wan_given_quoted("btl_udp", knob->name, quoted, sizeof(quoted)) ? quoted : "the value");
    for (int k = 0; NULL != udp_knob_enumerator(knob, k) && length < sizeof(message.what); ++k) {
        length += snprintf(message.what + length, sizeof(message.what) - length, "%s%s", 0 == k ? "" : ", ",
                           udp_knob_enumerator(knob, k));
    }
    knob_reset(knob);
    if (&mca_btl_udp_component.params.security == knob_storage(knob)) {
        mca_btl_udp_component.refused = true;
        snprintf(message.remedy, sizeof(message.remedy), "give one of these; btl/udp is not used until then");
    } else {
        snprintf(message.remedy, sizeof(message.remedy), "give one of these; the default '%s' is used now",
                 udp_knob_enumerator(knob, (int) knob->initial));
    }
    mca_btl_udp_message_show("bad-parameter", &message);
}

static void unknown_say(const char *name)
{
    udp_message_t message;

    snprintf(message.where, sizeof(message.where), "%s", name);
    snprintf(message.what, sizeof(message.what), "there is no parameter of that name: nobody reads it");
    snprintf(message.remedy, sizeof(message.remedy), "'ompi_info --param btl udp --level 9' lists them");
    mca_btl_udp_message_show("bad-parameter", &message);
}

static int knob_register(const udp_knob_t *knob)
{
    mca_base_var_enum_t *enumerator = NULL;
    mca_base_var_type_t type = MCA_BASE_VAR_TYPE_INT;
    int rc;

    if (UDP_KNOB_INT64 == knob->type) {
        type = MCA_BASE_VAR_TYPE_INT64_T;
    } else if (UDP_KNOB_STRING == knob->type) {
        type = MCA_BASE_VAR_TYPE_STRING;
    } else if (UDP_KNOB_ENUM == knob->type) {
        mca_base_var_enum_value_t values[8] = { { 0, NULL } };

        for (int k = 0; k < 7 && NULL != udp_knob_enumerator(knob, k); ++k) {
            values[k].value = k;
            values[k].string = udp_knob_enumerator(knob, k);
        }
        rc = mca_base_var_enum_create(knob->name, values, &enumerator);
        if (OPAL_SUCCESS != rc) {
            return rc;
        }
    }
    knob_reset(knob);
    rc = mca_base_component_var_register(&mca_btl_udp_component.super.btl_version, knob->name, knob->help, type,
                                         enumerator, 0, 0,
                                         (mca_base_var_info_lvl_t) (OPAL_INFO_LVL_1 + knob->level - 1),
                                         MCA_BASE_VAR_SCOPE_READONLY, knob_storage(knob));
    if (NULL != enumerator) {
        OBJ_RELEASE(enumerator);
    }
    if (OPAL_ERR_VALUE_OUT_OF_BOUNDS == rc && UDP_KNOB_ENUM == knob->type) {
        knob_refuse_name(knob);
        return OPAL_SUCCESS;
    }
    if (0 > rc && OPAL_ERR_VALUE_OUT_OF_BOUNDS != rc) {     /* of a number: it is more than an int holds */
        return rc;
    }
    if (UDP_KNOB_INT == knob->type || UDP_KNOB_INT64 == knob->type) {
        knob_check(knob);
    }
    return OPAL_SUCCESS;
}

/* Sizes that Open MPI has parameters for: a message may be no longer than a block, nor than a fragment. */
static void limits_check(mca_btl_base_module_t *btl)
{
    const struct {
        const char *name;
        size_t *bytes;
    } limits[] = {
        { "eager_limit", &btl->btl_eager_limit },
        { "rndv_eager_limit", &btl->btl_rndv_eager_limit },
        { "max_send_size", &btl->btl_max_send_size },
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); ++i) {
        udp_message_t message;
        char quoted[192];
        const char *given = wan_given_quoted("btl_udp", limits[i].name, quoted, sizeof(quoted));
        int64_t value = (int64_t) *limits[i].bytes;
        const wan_number_t read = NULL == given ? WAN_NUMBER_GOOD : wan_number_read(given, &value);
        const bool held = WAN_NUMBER_GOOD == read && value >= 0;    /* else Open MPI has made some other number of it */

        if (*limits[i].bytes <= UDP_BLOCK_MAX && (held || WAN_NUMBER_NONE == read)) {
            continue;
        }
        snprintf(message.where, sizeof(message.where), "btl_udp_%s", limits[i].name);
        if (held || NULL == given) {
            snprintf(message.what, sizeof(message.what), "the value %zu is too large", *limits[i].bytes);
        } else {
            snprintf(message.what, sizeof(message.what), "%s is %s", quoted,
                     WAN_NUMBER_TOO_LARGE == read ? "too large" : "no number of bytes");
        }
        snprintf(message.remedy, sizeof(message.remedy), "give %d at most; that is used now", UDP_BLOCK_MAX);
        mca_btl_udp_message_show("bad-parameter", &message);
        *limits[i].bytes = UDP_BLOCK_MAX;
    }
    if (btl->btl_max_send_size < btl->btl_eager_limit) {
        btl->btl_max_send_size = btl->btl_eager_limit;
    }
    if (btl->btl_max_send_size < btl->btl_rndv_eager_limit) {
        btl->btl_max_send_size = btl->btl_rndv_eager_limit;
    }
}

static int component_register(void)
{
    mca_btl_base_module_t *btl = &mca_btl_udp_module.super;
    int found;

    mca_btl_udp_component.refused = false;
    for (size_t i = 0; i < udp_knob_count(); ++i) {
        int rc = knob_register(udp_knob_get(i));

        if (OPAL_SUCCESS != rc) {
            return rc;
        }
    }
    mca_btl_udp_counters_register();
    mca_btl_udp_peers_register();
    btl->btl_exclusivity = 200;     /* above tcp (100), below shared memory: it serves in tcp's place */
    btl->btl_eager_limit = 64 * 1024;
    btl->btl_rndv_eager_limit = 64 * 1024;
    btl->btl_max_send_size = 128 * 1024;
    btl->btl_rdma_pipeline_send_length = 128 * 1024;
    btl->btl_rdma_pipeline_frag_size = INT_MAX;
    btl->btl_min_rdma_pipeline_size = 0;
    btl->btl_flags = MCA_BTL_FLAGS_SEND;
    btl->btl_bandwidth = 1000;
    btl->btl_latency = 100;
    found = mca_btl_base_param_register(&mca_btl_udp_component.super.btl_version, btl);
    limits_check(btl);
    wan_unknown_parameters("btl_udp_", unknown_say);
    return found;
}

/* ---- opening ------------------------------------------------------------------ */

static int component_open(void)
{
    OBJ_CONSTRUCT(&mca_btl_udp_module.lock, opal_recursive_mutex_t);     /* longer than the engine that it protects */
    mca_btl_udp_component.taken = mca_btl_udp_component.params;
    for (size_t i = 0; i < udp_knob_count(); ++i) {
        const udp_knob_t *knob = udp_knob_get(i);
        char **text = (char **) ((char *) &mca_btl_udp_component.taken + knob->offset);

        if (UDP_KNOB_STRING == knob->type && NULL == *text) {
            *text = "";
        }
    }
    return OPAL_SUCCESS;
}

static int component_close(void)
{
    OBJ_DESTRUCT(&mca_btl_udp_module.lock);
    return OPAL_SUCCESS;
}

static void event_ready(int fd, short flags, void *context)
{
    (void) fd;
    (void) flags;
    (void) context;
    (void) mca_btl_udp_progress();
}

static int lists_open(mca_btl_udp_module_t *module)
{
    for (int k = 0; k < UDP_FRAG_ROOMS; ++k) {
        const size_t room = mca_btl_udp_frag_room(k, module->super.btl_max_send_size);
        int rc;

        OBJ_CONSTRUCT(&module->frags[k], opal_free_list_t);
        rc = opal_free_list_init(&module->frags[k], sizeof(mca_btl_udp_frag_t) + room, opal_cache_line_size,
                                 OBJ_CLASS(mca_btl_udp_frag_t), 0, opal_cache_line_size, 0, -1, 0 == k ? 32 : 4,
                                 NULL, 0, NULL, NULL, NULL);
        if (OPAL_SUCCESS != rc) {
            return rc;
        }
    }
    return OPAL_SUCCESS;
}

static mca_btl_base_module_t **component_init(int *count, bool progress_threads, bool mpi_threads)
{
    mca_btl_udp_module_t *module = &mca_btl_udp_module;
    mca_btl_base_module_t **modules;
    udp_message_t message;
    uint8_t card[UDP_CARD_MAX];
    size_t length;
    int rc;

    (void) progress_threads;
    (void) mpi_threads;
    *count = 0;
    if (!asked_for() || mca_btl_udp_component.refused) {
        return NULL;
    }
    rc = udp_engine_open(&module->engine, &mca_btl_udp_component.taken,
                         (uint64_t) OPAL_PROC_MY_NAME.jobid << 32 | OPAL_PROC_MY_NAME.vpid,
                         mca_btl_udp_compat_job_size(), udp_engine_host(),
                         &mca_btl_udp_events, module, &message);
    if (UDP_OK != rc) {
        module->engine = NULL;
        mca_btl_udp_message_show("not-opened", &message);
        return NULL;
    }
    if (0 == strncmp(message.where, "btl_udp_", sizeof("btl_udp_") - 1)) {
        mca_btl_udp_message_show("bad-parameter", &message);
    } else if ('\0' != message.what[0]) {
        mca_btl_udp_message_show("small-buffers", &message);
    }
    if (NULL == (modules = malloc(sizeof(*modules)))) {
        udp_engine_close(module->engine);
        module->engine = NULL;
        return NULL;
    }
    length = udp_engine_card(module->engine, card);
    OPAL_MODEX_SEND(rc, UDP_PMIX_GLOBAL, &mca_btl_udp_component.super.btl_version, card, length);
    OBJ_CONSTRUCT(&module->completed, opal_list_t);
    OBJ_CONSTRUCT(&module->endpoints, opal_list_t);
    if (OPAL_SUCCESS != rc || OPAL_SUCCESS != lists_open(module)) {
        free(modules);
        udp_engine_close(module->engine);
        module->engine = NULL;
        return NULL;
    }
    /* Whoever sleeps on Open MPI's event base wakes up; otherwise progress reads the socket itself. */
    opal_event_set(opal_sync_event_base, &module->event, udp_engine_fd(module->engine),
                   OPAL_EV_READ | OPAL_EV_PERSIST, event_ready, module);
    if (udp_engine_timer_fd(module->engine) >= 0) {
        opal_event_set(opal_sync_event_base, &module->timer, udp_engine_timer_fd(module->engine),
                       OPAL_EV_READ | OPAL_EV_PERSIST, event_ready, module);
    }
    modules[0] = &module->super;
    *count = 1;
    return modules;
}

/* ---- counters: MPI_T ------------------------------------------------------------ */

static int counter_get(const mca_base_pvar_t *pvar, void *value, void *object)
{
    mca_btl_udp_module_t *module = &mca_btl_udp_module;
    udp_totals_t totals;

    (void) object;
    memset(&totals, 0, sizeof(totals));
    if (NULL != module->engine) {
        opal_mutex_lock(&module->lock);
        if (NULL != module->engine) {
            udp_engine_totals(module->engine, &totals);
        }
        opal_mutex_unlock(&module->lock);
    }
    *(unsigned long long *) value = *(uint64_t *) ((char *) &totals + (size_t) pvar->ctx);
    return OPAL_SUCCESS;
}

void mca_btl_udp_counters_register(void)
{
    static const struct {
        const char *name, *text;
        size_t at;
        int class;
    } counters[] = {
        { "datagrams_sent", "Datagrams with data that this process sent", offsetof(udp_totals_t, sent), MCA_BASE_PVAR_CLASS_COUNTER },
        { "datagrams_again", "Of these, datagrams that carried what had been sent before", offsetof(udp_totals_t, sent_again), MCA_BASE_PVAR_CLASS_COUNTER },
        { "datagrams_received", "Genuine datagrams that arrived", offsetof(udp_totals_t, received), MCA_BASE_PVAR_CLASS_COUNTER },
        { "strangers", "Datagrams from nobody of this job, not answered", offsetof(udp_totals_t, strangers), MCA_BASE_PVAR_CLASS_COUNTER },
        { "replays", "Datagrams that had been received before, not answered", offsetof(udp_totals_t, replays), MCA_BASE_PVAR_CLASS_COUNTER },
        { "forgeries", "Datagrams whose seal did not hold, not answered", offsetof(udp_totals_t, forgeries), MCA_BASE_PVAR_CLASS_COUNTER },
        { "queue", "Blocks that peers have not acknowledged, all peers", offsetof(udp_totals_t, queue), MCA_BASE_PVAR_CLASS_LEVEL },
        { "queue_bytes", "Bytes that peers have not acknowledged, all peers", offsetof(udp_totals_t, queue_bytes), MCA_BASE_PVAR_CLASS_LEVEL },
        { "delay_max", "Largest smoothed round trip of all peers in ns, 0 if none was measured", offsetof(udp_totals_t, delay_max_ns), MCA_BASE_PVAR_CLASS_LEVEL },
    };

    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); ++i) {
        (void) mca_base_component_pvar_register(
            &mca_btl_udp_component.super.btl_version, counters[i].name, counters[i].text, OPAL_INFO_LVL_4,
            counters[i].class, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, counter_get, NULL, NULL,
            (void *) counters[i].at);
    }
}
