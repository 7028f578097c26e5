/*
 * What a user gave a parameter, as it is written: Open MPI knows no ranges, reads text that is no
 * number as 0, and keeps the default where an enumerator does not know a name.
 *
 * For components' glue; include "opal/mca/base/mca_base_vari.h" before.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_GIVEN_H
#define WAN_GIVEN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* As Open MPI reads numbers. */
static inline bool wan_given_number(const char *given)
{
    char *end;

    (void) strtoll(given, &end, 0);
    return end != given && strlen(end) <= 1 && NULL != strchr("kKmMgG", *end);
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

#endif
