/*
 * See coll_knobs.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include "coll_knobs.h"

#include "ompi/mca/coll/base/base.h"

#include <stdlib.h>
#include <string.h>

static wan_params_t given;
static bool taken;

static mca_coll_wan_component_t *the_component(void)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &ompi_coll_base_framework.framework_components, mca_base_component_list_item_t) {
        if (0 == strcmp(item->cli_component->mca_component_name, "wan")) {
            return (mca_coll_wan_component_t *) item->cli_component;
        }
    }
    return NULL;
}

int coll_knob_set(const char *name, const char *value)
{
    mca_coll_wan_component_t *component = the_component();
    const mca_base_var_t *variable;
    char *at;
    int index, number;

    if (NULL == component) {
        return 0;
    }
    index = mca_base_var_find("ompi", "coll", "wan", name);
    if (0 > index || OPAL_SUCCESS != mca_base_var_get(index, &variable)) {
        return 1;
    }
    if (!taken) {
        given = component->params;
        taken = true;
    }
    at = (char *) &component->params + ((char *) variable->mbv_storage - (char *) &component->variables);
    if (MCA_BASE_VAR_TYPE_INT64_T == variable->mbv_type) {
        *(int64_t *) at = strtoll(value, NULL, 0);
        return 0;
    }
    number = atoi(value);
    if (MCA_BASE_VAR_TYPE_INT != variable->mbv_type
        || (NULL != variable->mbv_enumerator
            && OPAL_SUCCESS != variable->mbv_enumerator->value_from_string(variable->mbv_enumerator, value, &number))) {
        return 1;
    }
    *(int *) at = number;
    return 0;
}

void coll_knobs_reset(void)
{
    if (taken) {
        the_component()->params = given;
    }
}

unsigned coll_number(MPI_Comm comm)
{
    return mca_coll_wan_compat_cid(comm);
}
