/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three processes.  Open MPI gives processes up and meets them again, as other objects: btl/udp knows them by name.  What it
 * is given here is such another object, and then one whose place in memory another process had.  "all right" from rank 0.
 */
#include "opal_config.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"
#include "opal/util/proc.h"

static mca_btl_base_module_t *udp_find(void)
{
    mca_btl_base_selected_module_t *item;

    OPAL_LIST_FOREACH(item, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t) {
        if (0 == strcmp("udp", item->btl_component->btl_version.mca_component_name)) {
            return item->btl_module;
        }
    }
    return NULL;
}

static struct mca_btl_base_endpoint_t *met(mca_btl_base_module_t *udp, opal_proc_t *proc)
{
    struct mca_btl_base_endpoint_t *endpoint = NULL;

    return OPAL_SUCCESS == udp->btl_add_procs(udp, 1, &proc, &endpoint, NULL) ? endpoint : NULL;
}

int main(int argc, char **argv)
{
    mca_btl_base_module_t *udp;
    opal_process_name_t name;
    opal_proc_t *known, *other;
    struct mca_btl_base_endpoint_t *first;
    int rank, size, mine = 0, all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    name = OPAL_PROC_MY_NAME;
    name.vpid = (unsigned) (rank + 1) % (unsigned) size;
    udp = udp_find();
    known = opal_proc_for_name(name);
    if (NULL == udp || NULL == known || NULL == (first = met(udp, known))) {
        fprintf(stderr, "rank %d: btl/udp does not serve\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    other = OBJ_NEW(opal_proc_t);
    other->proc_name = name;
    if (met(udp, other) != first) {
        fprintf(stderr, "rank %d: the same process as another object: not the same peer\n", rank);
        mine = 1;
    }
    other->proc_name.vpid = (unsigned) (rank + 2) % (unsigned) size;
    if (met(udp, other) == first) {
        fprintf(stderr, "rank %d: another process in the place of one that was given up: the same peer\n", rank);
        mine = 1;
    }
    OBJ_RELEASE(other);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (0 == rank && 0 == all) {
        puts("all right");
    }
    MPI_Finalize();
    return all;
}
