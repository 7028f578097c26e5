/*
 * A component named coll/wan that claims to be built for another series of
 * Open MPI: another version of the collective interface.  Open MPI must refuse
 * it and the job must go on; its functions must never be called.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "ompi/mca/coll/coll.h"

static int never(void)
{
    abort();
}

typedef struct other_component {
    mca_base_component_t version;
    mca_base_component_data_t data;
    int (*functions[16])(void);     /* wherever the other series has them */
} other_component_t;

OMPI_DECLSPEC extern const other_component_t mca_coll_wan_component;

const other_component_t mca_coll_wan_component = {
    .version = {
        OMPI_MCA_BASE_VERSION_2_1_0("coll", 9, 9, 9),
        .mca_component_name = "wan",
        MCA_BASE_MAKE_VERSION(component, 0, 0, 0),
    },
    .functions = {
        never, never, never, never, never, never, never, never,
        never, never, never, never, never, never, never, never,
    },
};
