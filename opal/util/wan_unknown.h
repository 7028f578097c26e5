/*
 * Parameters that nobody has: `mpirun --mca` puts what it is given into its processes' environment,
 * and Open MPI says nothing of a name that no component has registered.
 *
 * For components' glue; include "opal/mca/base/mca_base_var.h" before.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_UNKNOWN_H
#define WAN_UNKNOWN_H

#include <stdio.h>
#include <string.h>

extern char **environ;

/* prefix: "coll_wan_", all of whose parameters are registered.  say: called with each name in the environment that is none. */
static inline void wan_unknown_parameters(const char *prefix, void (*say)(const char *name))
{
    static const char all[] = "OMPI_MCA_";
    const size_t skipped = sizeof(all) - 1;

    for (char **entry = environ; NULL != entry && NULL != *entry; ++entry) {
        const char *equals = strchr(*entry, '=');
        char name[256];
        int index;

        if (NULL == equals || 0 != strncmp(*entry, all, skipped) || 0 != strncmp(*entry + skipped, prefix, strlen(prefix))) {
            continue;
        }
        snprintf(name, sizeof(name), "%.*s", (int) (equals - *entry - (ptrdiff_t) skipped), *entry + skipped);
        if (0 > mca_base_var_find_by_name(name, &index)) {
            say(name);
        }
    }
}

#endif
