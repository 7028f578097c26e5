/*
 * Arguments that outlive the call: those of non-blocking and persistent ones.
 * A caller may free datatypes and operators as soon as the call has returned,
 * and Open MPI's Fortran bindings free the arrays that they have converted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdlib.h>
#include <string.h>

/* The arrays and the datatype of one side; what is not significant may be anything. */
typedef struct wan_kept_side {
    const int **counts, **displs;
    const MPI_Aint **offsets;
    struct ompi_datatype_t *type;
    struct ompi_datatype_t *const **types;
    int entries;
    bool significant;
} wan_kept_side_t;

static void sides_of(wan_args_t *args, struct ompi_communicator_t *comm, wan_kept_side_t sides[2])
{
    const bool am_root = ompi_comm_rank(comm) == args->root;
    const bool gathers = WAN_MPI_gather == args->what || WAN_MPI_gatherv == args->what;
    const bool scatters = WAN_MPI_scatter == args->what || WAN_MPI_scatterv == args->what;
    int in = ompi_comm_size(comm), out = in;

    if (WAN_NEIGHBOR == mca_coll_wan_core_of(args->what)) {
        mca_coll_wan_compat_neighbors(comm, &in, &out);
    }
    sides[0] = (wan_kept_side_t) { &args->scounts, &args->sdispls, &args->soffsets, args->stype, &args->stypes, out,
                                   MPI_IN_PLACE != args->sbuf && (!scatters || am_root) };
    sides[1] = (wan_kept_side_t) { &args->rcounts, &args->rdispls, &args->roffsets, args->rtype, &args->rtypes, in,
                                   MPI_IN_PLACE != args->rbuf && (!gathers || am_root) };
}

static void *array_copy(char **memory, const void *from, size_t bytes)
{
    char *to = *memory;

    memcpy(to, from, bytes);
    *memory += bytes;
    return to;
}

static void type_hold(struct ompi_datatype_t *type, bool hold)
{
    if (NULL == type || ompi_datatype_is_predefined(type)) {
        return;
    }
    if (hold) {
        OBJ_RETAIN(type);
    } else {
        OBJ_RELEASE(type);
    }
}

static void objects_hold(wan_args_t *args, const wan_kept_side_t sides[2], bool hold)
{
    for (const wan_kept_side_t *side = sides; side < sides + 2; ++side) {
        if (!side->significant) {
            continue;
        }
        type_hold(side->type, hold);
        for (int i = 0; NULL != *side->types && i < side->entries; ++i) {
            if (0 != (*side->counts)[i]) {      /* else it need not be a valid one */
                type_hold((*side->types)[i], hold);
            }
        }
    }
    if (NULL != args->op && !ompi_op_is_intrinsic(args->op)) {
        if (hold) {
            OBJ_RETAIN(args->op);
        } else {
            OBJ_RELEASE(args->op);
        }
    }
}

int mca_coll_wan_args_keep(wan_kept_args_t *kept, const wan_args_t *args,
                           struct ompi_communicator_t *comm)
{
    const size_t each = 2 * sizeof(int) + sizeof(MPI_Aint) + sizeof(struct ompi_datatype_t *);
    wan_kept_side_t sides[2];
    char *at;

    kept->args = *args;
    kept->arrays = NULL;
    sides_of(&kept->args, comm, sides);
    if (NULL != args->scounts || NULL != args->rcounts) {
        kept->arrays = malloc(each * (size_t) (sides[0].entries + sides[1].entries) + 1);
        if (NULL == kept->arrays) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    at = kept->arrays;
#define KEEP(member)                                                                             \
    for (wan_kept_side_t *side = sides; side < sides + 2; ++side) {                              \
        if (!side->significant) {                                                                \
            *side->member = NULL;                                                                \
        } else if (NULL != *side->member) {                                                      \
            *side->member = array_copy(&at, *side->member, sizeof(**side->member) * side->entries); \
        }                                                                                        \
    }
    KEEP(types)     /* the largest first: all stay aligned */
    KEEP(offsets)
    KEEP(counts)
    KEEP(displs)
#undef KEEP
    objects_hold(&kept->args, sides, true);
    return OMPI_SUCCESS;
}

void mca_coll_wan_args_drop(wan_kept_args_t *kept, struct ompi_communicator_t *comm)
{
    wan_kept_side_t sides[2];

    sides_of(&kept->args, comm, sides);
    objects_hold(&kept->args, sides, false);
    free(kept->arrays);
    kept->arrays = NULL;
}
