/*
 * What this process's transports and processor are like, as far as predictions count it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <string.h>

#include "ompi/mca/pml/base/base.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"

static bool inside_host(const char *transport)
{
    static const char *const those[] = { "self", "vader", "sm", "smcuda" };

    for (size_t i = 0; i < sizeof(those) / sizeof(those[0]); ++i) {
        if (0 == strcmp(transport, those[i])) {
            return true;
        }
    }
    return false;
}

/* Of what pml/ob1 sends at once to other hosts, by whatever reaches them; 0: another one sends. */
static int64_t eager_bytes(void)
{
    const int64_t most = (int64_t) 1 << 40;     /* some say SIZE_MAX */
    int64_t least = 0;
    mca_btl_base_selected_module_t *x;

    if (0 != strcmp(mca_pml_base_selected_component.pmlm_version.mca_component_name, "ob1")) {
        return 0;
    }
    OPAL_LIST_FOREACH(x, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t) {
        const mca_btl_base_module_t *btl = x->btl_module;

        if (0 != (btl->btl_flags & MCA_BTL_FLAGS_SEND) && !inside_host(x->btl_component->btl_version.mca_component_name)) {
            const int64_t limit = btl->btl_eager_limit < (size_t) most ? (int64_t) btl->btl_eager_limit : most;

            least = 0 == least || limit < least ? limit : least;
        }
    }
    return least;
}

void mca_coll_wan_machine_tell(wan_comm_t *comm)
{
    wan_machine_t machine = { .eager_bytes = eager_bytes() };

    (void) wan_machine_measure(&machine);       /* no memory: as any processor */
    wan_comm_machine(comm, &machine);
}
