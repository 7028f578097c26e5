/*
 * The beginning of MPI_Finalize, which first deletes the attributes of MPI_COMM_SELF, the program's own before this one.
 *
 * What is measured goes on until here, and what it has sent may still be on its way: over a connection that is being opened,
 * for some round trips.  All processes leave MPI_Finalize about when the last one has come; one that writes to who has left is
 * killed for it (SIGPIPE), or told that its job may hang.  So nothing is begun from here on, and what has been begun leaves
 * first.  Nobody has left by then: all wait for this process.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include "ompi/attribute/attribute.h"

static int finalize_begins(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void) comm, (void) keyval, (void) value, (void) state;
    mca_coll_wan_trees_finalize();
    mca_coll_wan_discover_finalize();
    mca_coll_wan_report_finalizes();
    return MPI_SUCCESS;
}

static int copied_never(MPI_Comm comm, int keyval, void *state, void *value, void *copy, int *copied WAN_ATTRIBUTE_COPIED_TO)
{
    (void) comm, (void) keyval, (void) state, (void) value, (void) copy;
    *copied = 0;
    return MPI_SUCCESS;
}

void mca_coll_wan_finalize_query(struct ompi_communicator_t *comm)
{
    ompi_attribute_fn_ptr_union_t copy = { .attr_communicator_copy_fn = copied_never };
    ompi_attribute_fn_ptr_union_t delete = { .attr_communicator_delete_fn = finalize_begins };
    int keyval;

    if (comm != &ompi_mpi_comm_self.comm
        || OMPI_SUCCESS != ompi_attr_create_keyval(COMM_ATTR, copy, delete, &keyval, NULL, 0, NULL)) {
        return;
    }
    (void) ompi_attr_set_c(COMM_ATTR, comm, &comm->c_keyhash, keyval, NULL, false);
    (void) ompi_attr_free_keyval(COMM_ATTR, &keyval, false);    /* goes with the attribute */
}
