/*
 * The component: registers every knob of the core as an MCA variable, finds
 * the site of this process and publishes it before the modex is committed.
 * It must not look at other processes: that is coll_wan_peers.c.
 *
 * Where to read next: coll_wan_module.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"
#include "wan_given.h"
#include "wan_unknown.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/mca_base_var.h"

static int component_register(void);
static int component_open(void);
static int component_close(void);
static int component_init_query(bool progress_threads, bool mpi_threads);

mca_coll_wan_component_t mca_coll_wan_component = {
    .super = {
        .collm_version = {
            WAN_COLL_BASE_VERSION,
            .mca_component_name = "wan",
            MCA_BASE_MAKE_VERSION(component, WAN_VERSION_MAJOR, WAN_VERSION_MINOR,
                                  WAN_VERSION_RELEASE),
            .mca_open_component = component_open,
            .mca_close_component = component_close,
            .mca_register_component_params = component_register,
        },
        .collm_data = { MCA_BASE_METADATA_PARAM_CHECKPOINT },
        .collm_init_query = component_init_query,
        .collm_comm_query = mca_coll_wan_comm_query,
    },
};

/* ---- knobs --------------------------------------------------------------- */

static void *knob_storage(const wan_knob_t *knob)
{
    return (char *) &mca_coll_wan_component.variables + knob->offset;
}

static void knob_reset(const wan_knob_t *knob)
{
    void *storage = knob_storage(knob);

    switch (knob->type) {
    case WAN_KNOB_INT:
    case WAN_KNOB_ENUM:
        *(int *) storage = (int) knob->initial;
        break;
    case WAN_KNOB_INT64:
        *(int64_t *) storage = knob->initial;
        break;
    case WAN_KNOB_STRING:
        *(char **) storage = "";    /* Open MPI copies it */
        break;
    }
}

static void knob_check_number(const wan_knob_t *knob)
{
    int64_t value = WAN_KNOB_INT == knob->type ? *(int *) knob_storage(knob)
                                               : *(int64_t *) knob_storage(knob);
    wan_message_t message;

    if (wan_given_fits("coll_wan", knob->name, value, knob->minimum, knob->maximum, message.what, sizeof(message.what))) {
        return;
    }
    snprintf(message.where, sizeof(message.where), "coll_wan_%s", knob->name);
    snprintf(message.remedy, sizeof(message.remedy),
             "give a number from %" PRId64 " to %" PRId64 "; the default %" PRId64 " is used now",
             knob->minimum, knob->maximum, knob->initial);
    mca_coll_wan_message_show("bad-parameter", &message);
    knob_reset(knob);
}

/* Open MPI has shown the names that there are; not what happens now. */
static void knob_refuse_name(const wan_knob_t *knob)
{
    wan_message_t message;
    char value[384];

    snprintf(message.where, sizeof(message.where), "coll_wan_%s", knob->name);
    snprintf(message.what, sizeof(message.what), "%s is none of its names", wan_given_quoted("coll_wan", knob->name, value, sizeof(value)) ? value : "the value");
    snprintf(message.remedy, sizeof(message.remedy),
             "give one of those that 'ompi_info --param coll wan --level 9' lists; the default '%s' is used now",
             wan_knob_enumerator(knob, (int) knob->initial, NULL));
    mca_coll_wan_message_show("bad-parameter", &message);
    knob_reset(knob);
}

static int knob_enumerator(const wan_knob_t *knob, mca_base_var_enum_t **enumerator)
{
    mca_base_var_enum_value_t *values;
    int n = 0, rc;

    while (NULL != wan_knob_enumerator(knob, n, NULL)) {
        ++n;
    }
    values = calloc(n + 1, sizeof(*values));
    if (NULL == values) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int k = 0; k < n; ++k) {
        values[k].value = k;
        values[k].string = wan_knob_enumerator(knob, k, NULL);
    }
    rc = mca_base_var_enum_create(knob->name, values, enumerator);
    free(values);
    return rc;
}

static int knob_register(const wan_knob_t *knob)
{
    mca_base_var_enum_t *enumerator = NULL;
    mca_base_var_type_t type = MCA_BASE_VAR_TYPE_INT;
    int rc;

    if (WAN_KNOB_INT64 == knob->type) {
        type = MCA_BASE_VAR_TYPE_INT64_T;
    } else if (WAN_KNOB_STRING == knob->type) {
        type = MCA_BASE_VAR_TYPE_STRING;
    } else if (WAN_KNOB_ENUM == knob->type) {
        rc = knob_enumerator(knob, &enumerator);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    knob_reset(knob);
    rc = mca_base_component_var_register(&mca_coll_wan_component.super.collm_version, knob->name,
                                         knob->help, type, enumerator, 0, 0,
                                         (mca_base_var_info_lvl_t) (OPAL_INFO_LVL_1 + knob->level - 1),
                                         MCA_BASE_VAR_SCOPE_READONLY, knob_storage(knob));
    if (NULL != enumerator) {
        OBJ_RELEASE(enumerator);
    }
    if (OPAL_ERR_VALUE_OUT_OF_BOUNDS == rc && WAN_KNOB_ENUM == knob->type) {
        knob_refuse_name(knob);
        return OMPI_SUCCESS;
    }
    if (0 > rc && OPAL_ERR_VALUE_OUT_OF_BOUNDS != rc) {     /* of a number: it is more than an int holds */
        return rc;
    }
    if (WAN_KNOB_INT == knob->type || WAN_KNOB_INT64 == knob->type) {
        knob_check_number(knob);
    }
    return OMPI_SUCCESS;
}

/*
 * Open MPI compares component interfaces, but reads our functions before it does.  The library
 * in this process must be of the series whose headers we were compiled with.
 */
static bool series_fits(void)
{
    char running[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    return MPI_SUCCESS == MPI_Get_library_version(running, &length)
           && 0 == strncmp(running, WAN_OMPI_SERIES, strlen(WAN_OMPI_SERIES));
}

static void unknown_say(const char *name)
{
    wan_message_t message;

    snprintf(message.where, sizeof(message.where), "%s", name);
    snprintf(message.what, sizeof(message.what), "there is no parameter of that name: nobody reads it");
    snprintf(message.remedy, sizeof(message.remedy), "'ompi_info --param coll wan --level 9' lists them");
    mca_coll_wan_message_show("bad-parameter", &message);
}

static int component_register(void)
{
    if (!series_fits()) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        int rc = knob_register(wan_knob_get(i));
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    mca_coll_wan_counters_register();
    wan_unknown_parameters("coll_wan_", unknown_say);
    return OMPI_SUCCESS;
}

/* ---- site ---------------------------------------------------------------- */

/* Strings that a user set to nothing are NULL in Open MPI's variables. */
static void params_take(void)
{
    mca_coll_wan_component_t *component = &mca_coll_wan_component;

    component->params = component->variables;
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const wan_knob_t *knob = wan_knob_get(i);
        char **text = (char **) ((char *) &component->params + knob->offset);

        if (WAN_KNOB_STRING == knob->type && NULL == *text) {
            *text = "";
        }
    }
}

/*
 * Lists of requests and messages that Open MPI keeps may be given an end.  It waits in a send where one is used up, or refuses a
 * receive, and what we have under way at once is more than its own algorithms have: with us, jobs would hang or end that do not without.
 */
static bool lists_have_end(void)
{
    static const char *const layers[] = { "ob1", "cm" };

    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); ++i) {
        const int index = mca_base_var_find("ompi", "pml", layers[i], "free_list_max");
        const int *most = NULL;

        if (0 <= index && OPAL_SUCCESS == mca_base_var_get_value(index, &most, NULL, NULL) && NULL != most && 0 < *most) {
            char why[256];

            snprintf(why, sizeof(why), "this process stays out: pml_%s_free_list_max is %d, and coll/wan needs lists without an end; "
                     "leave that parameter out, or set it to -1", layers[i], *most);
            WAN_VERBOSE(1, "%s", why);
            mca_coll_wan_report_event("stays_out", why);
            return true;
        }
    }
    return false;
}

static int component_open(void)
{
    mca_coll_wan_component_t *component = &mca_coll_wan_component;
    wan_runtime_hints_t hints = { .rank = (int) OPAL_PROC_MY_NAME.vpid };
    wan_message_t message;
    opal_process_name_t job = { OPAL_PROC_MY_NAME.jobid, WAN_PMIX_RANK_JOB };
    char hostname[256] = "", *cluster = NULL, *peers = NULL, *locality = NULL;
    int rc = OMPI_ERR_NOT_AVAILABLE;

    component->active = false;
    params_take();
    mca_coll_wan_counters_open();
    mca_coll_wan_report_open();
    if (0 > component->params.priority || lists_have_end()) {
        return OMPI_SUCCESS;    /* stays in sight, publishes nothing, serves nobody */
    }
    gethostname(hostname, sizeof(hostname) - 1);
    hints.hostname = hostname;
    if (OMPI_SUCCESS == mca_coll_wan_compat_lookup(WAN_LOOKUP_OPTIONAL, WAN_PMIX_CLUSTER_ID, &job,
                                                   &cluster)) {
        hints.pmix_cluster_id = cluster;
    }
    if (OMPI_SUCCESS == mca_coll_wan_compat_lookup(WAN_LOOKUP_OPTIONAL, WAN_PMIX_SWITCH_PEERS,
                                                   &OPAL_PROC_MY_NAME, &peers)) {
        hints.pmix_switch_peers = peers;
    }
    memset(&message, 0, sizeof(message));
    rc = wan_site_resolve(&component->params, &hints, component->site, &message);
    free(cluster);
    free(peers);
    if (WAN_ERR_INPUT == rc) {
        mca_coll_wan_message_show("bad-site", &message);
        return OMPI_SUCCESS;
    }
    if (WAN_OK == rc) {
        wan_message_t faults;

        rc = wan_params_check(&component->params, &faults);
        if (WAN_ERR_INPUT == rc) {
            mca_coll_wan_message_show("bad-rules", &faults);
            return OMPI_SUCCESS;
        }
        if (WAN_OK == rc && '\0' != faults.what[0] && 0 == OPAL_PROC_MY_NAME.vpid) {
            WAN_VERBOSE(1, "%s: %s; %s", faults.where, faults.what, faults.remedy);
        }
        for (int which = 0, code = WAN_OK; 0 == OPAL_PROC_MY_NAME.vpid && WAN_DECLINED != code; ++which) {
            code = wan_params_keep(&component->params, which, &faults);
            if (WAN_ERR_INPUT == code) {
                mca_coll_wan_message_show("cannot-keep", &faults);
            }
        }
    }
    if (WAN_OK != rc) {
        WAN_VERBOSE(1, "this process stays out: %s", WAN_ERR_NOMEM == rc ? "no memory" : "a defect of coll/wan");
        return OMPI_SUCCESS;
    }
    if ('\0' == component->site[0]) {
        WAN_VERBOSE('\0' == message.where[0] ? 4 : 2, "this process is at no known site: %s", message.what);
    } else {
        WAN_VERBOSE(4, "this process is at %s", component->site);
    }
    component->node = mca_coll_wan_hash(hostname);
    if (OMPI_SUCCESS != mca_coll_wan_compat_lookup(WAN_LOOKUP_OPTIONAL, WAN_PMIX_LOCALITY,
                                                   &OPAL_PROC_MY_NAME, &locality)) {
        locality = NULL;        /* not bound, or a runtime that does not tell */
    }
    WAN_VERBOSE(4, "locality on this host: %s", NULL == locality ? "unknown" : locality);
    component->domain = NULL == locality ? 0 : wan_locality_domain(locality);
    free(locality);
    component->active = mca_coll_wan_peers_open() && OMPI_SUCCESS == mca_coll_wan_peers_publish();
    return OMPI_SUCCESS;
}

static int component_close(void)
{
    mca_coll_wan_component.active = false;
    mca_coll_wan_progress_close();
    mca_coll_wan_discover_close();
    mca_coll_wan_trees_close();
    mca_coll_wan_counters_close();
    mca_coll_wan_report_close();
    mca_coll_wan_peers_close();
    return OMPI_SUCCESS;
}

static int component_init_query(bool progress_threads, bool mpi_threads)
{
    (void) progress_threads;
    (void) mpi_threads;
    return OMPI_SUCCESS;
}
