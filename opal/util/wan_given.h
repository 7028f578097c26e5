/*
 * What a user gave a parameter, as it is written: Open MPI knows no ranges, reads text that is no
 * number as 0 and numbers beyond 64 bits as others, and keeps the default where an enumerator does not know a name.
 *
 * For components' glue; include "opal/mca/base/mca_base_vari.h" before.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_GIVEN_H
#define WAN_GIVEN_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "wan_number.h"

/*
 * The text of the registered parameter `name` ("coll_wan_links"), NULL for its default.  Open MPI keeps that of parameter
 * files, in *file; values of the command line reach a process in its environment (*file: NULL).
 */
static inline const char *wan_given(const char *name, const char **file)
{
    const mca_base_var_t *variable = NULL;
    char in_environment[160];
    int index;

    *file = NULL;
    if (0 > mca_base_var_find_by_name(name, &index) || OPAL_SUCCESS != mca_base_var_get(index, &variable)) {
        return NULL;
    }
    snprintf(in_environment, sizeof(in_environment), "OMPI_MCA_%s", name);
    switch (variable->mbv_source) {
    case MCA_BASE_VAR_SOURCE_DEFAULT:
        return NULL;
    case MCA_BASE_VAR_SOURCE_FILE:
    case MCA_BASE_VAR_SOURCE_OVERRIDE:
        if (NULL != variable->mbv_file_value) {
            const mca_base_var_file_value_t *value = variable->mbv_file_value;

            *file = value->mbvfv_file;
            return value->mbvfv_value;
        }
        return NULL;
    default:
        return getenv(in_environment);
    }
}

/*
 * The text of the parameter `name` of a component ("coll_wan"), NULL for its default; in `quoted`: "'many'", or "'many', in FILE".
 */
static inline const char *wan_given_quoted(const char *component, const char *name, char *quoted, size_t size)
{
    char full[128];
    const char *file, *given;

    snprintf(full, sizeof(full), "%s_%s", component, name);
    given = wan_given(full, &file);
    if (NULL != given) {
        snprintf(quoted, size, "'%.64s'%s%.256s", given, NULL != file ? ", in " : "", NULL != file ? file : "");
    }
    return given;
}

/*
 * Whether a component's parameter has a number within its range; else false, with what is wrong.  By what was given: the
 * `value` that Open MPI made of it may be another.
 */
static inline bool wan_given_fits(const char *component, const char *name, int64_t value, int64_t least, int64_t most, char *what, size_t size)
{
    char quoted[224];
    const char *given = wan_given_quoted(component, name, quoted, sizeof(quoted));

    switch (NULL == given ? WAN_NUMBER_GOOD : wan_number_read(given, &value)) {
    case WAN_NUMBER_NONE:
        snprintf(what, size, "%s is not a number", quoted);
        return false;
    case WAN_NUMBER_TOO_LARGE:
        snprintf(what, size, "%s is too large", quoted);
        return false;
    case WAN_NUMBER_TOO_SMALL:
        snprintf(what, size, "%s is too small", quoted);
        return false;
    case WAN_NUMBER_GOOD:
        break;
    }
    if (value >= least && value <= most) {
        return true;
    }
    if (NULL == given) {
        snprintf(quoted, sizeof(quoted), "'%" PRId64 "'", value);
    }
    snprintf(what, size, "%s is outside the allowed range", quoted);
    return false;
}

#endif
