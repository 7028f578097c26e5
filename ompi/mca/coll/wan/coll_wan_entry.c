/*
 * MPI arguments to one wan_call, for every collective we fill in.
 *
 * Each entry has the same shape: pass on what is not served (one pointer
 * check), hand zero bytes back at once, take the call's tag, describe the call
 * to the core, run it, undo what was prepared.  The tag is taken before anything
 * can fail: ranks stay in step whatever happens to one of them.  What the core declines, the same on all ranks, goes
 * to the saved function with the caller's own arguments.
 *
 * Broadcast goes to the core in bytes, since ranks may describe the same bytes
 * by different counts and datatypes; reductions go in elements.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <limits.h>
#include <stdlib.h>

/*
 * The path of a call that we do not serve yet or at all.  True: call the saved
 * function, or return *rc.  False: serving now, go on.
 */
static bool entry_passes(mca_coll_wan_module_t *module, int *rc)
{
    *rc = OMPI_SUCCESS;
    if (WAN_STATE_FIRST == module->state) {
        *rc = mca_coll_wan_module_ask(module);
        if (NULL != module->serving) {
            return false;
        }
    } else if (WAN_STATE_BROKEN == module->state) {
        *rc = module->error;
    }
    if (OMPI_SUCCESS == *rc) {
        ++module->passed;
    }
    return true;
}

/* Runs one call to its end.  *declined: the core has no algorithm for it, nothing was sent. */
static int entry_run(mca_coll_wan_module_t *module, const wan_call_t *call,
                     struct ompi_datatype_t *datatype, struct ompi_op_t *op, int tag,
                     bool *declined)
{
    mca_coll_wan_port_t port;
    wan_run_t *run = NULL;
    int code;

    mca_coll_wan_port_construct(&port, module->comm, datatype, op);
    code = wan_run_begin(module->serving, call, &mca_coll_wan_port_pml, &port, &run);
    *declined = WAN_DECLINED == code;
    if (WAN_OK != code) {
        mca_coll_wan_port_destruct(&port);
        return mca_coll_wan_code(code, NULL, &port);
    }
    mca_coll_wan_run_say(module, run);
    mca_coll_wan_port_bind(&port, run, tag);
    return mca_coll_wan_run_wait(run, &port);
}

/* ---- broadcast ----------------------------------------------------------------- */

/* All elements to or from packed[bytes]. */
static int bytes_convert(bool pack, void *buffer, int count, struct ompi_datatype_t *datatype,
                         char *packed, size_t bytes)
{
    opal_convertor_t convertor;
    size_t done = 0;
    int rc;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    rc = pack ? opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor,
                                                         &datatype->super, count, buffer, 0,
                                                         &convertor)
              : opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor,
                                                         &datatype->super, count, buffer, 0,
                                                         &convertor);
    while (OPAL_SUCCESS == rc && done < bytes) {
        struct iovec piece = { .iov_base = packed + done, .iov_len = bytes - done };
        uint32_t pieces = 1;
        size_t moved = bytes - done;
        int32_t ended = pack ? opal_convertor_pack(&convertor, &piece, &pieces, &moved)
                             : opal_convertor_unpack(&convertor, &piece, &pieces, &moved);

        done += moved;
        if (0 > ended || (0 == moved && done < bytes)) {
            rc = OMPI_ERROR;
        }
    }
    OBJ_DESTRUCT(&convertor);
    return OPAL_SUCCESS == rc ? OMPI_SUCCESS : OMPI_ERROR;
}

static int bcast_serve(mca_coll_wan_module_t *module, void *buffer, int count,
                       struct ompi_datatype_t *datatype, int root, size_t bytes, int tag,
                       bool *declined)
{
    bool am_root = root == ompi_comm_rank(module->comm);
    bool direct = ompi_datatype_is_contiguous_memory_layout(datatype, count);
    ptrdiff_t true_lb = 0, true_extent = 0;
    char *packed = NULL;
    wan_call_t call = {
        .collective = WAN_BCAST, .root = root, .count = bytes, .element_bytes = 1, .extent = 1,
        .commutative = true,
    };
    int rc = OMPI_SUCCESS;

    if (direct) {
        ompi_datatype_get_true_extent(datatype, &true_lb, &true_extent);
        call.out = (char *) buffer + true_lb;
    } else {
        packed = malloc(bytes);
        if (NULL == packed) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        call.out = packed;
    }
    call.in = call.out;
    if (!direct && am_root) {
        rc = bytes_convert(true, buffer, count, datatype, packed, bytes);
        if (OMPI_SUCCESS != rc) {
            goto release;
        }
    }
    rc = entry_run(module, &call, &ompi_mpi_byte.dt, NULL, tag, declined);
    if (OMPI_SUCCESS == rc && !direct && !am_root) {
        rc = bytes_convert(false, buffer, count, datatype, packed, bytes);
    }

release:
    free(packed);
    return rc;
}

int mca_coll_wan_bcast(void *buffer, int count, struct ompi_datatype_t *datatype, int root,
                       struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_wan_module_t *module = (mca_coll_wan_module_t *) base;
    bool declined = false;
    size_t size;
    int rc;

    if (OPAL_UNLIKELY(NULL == module->serving) && entry_passes(module, &rc)) {
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        goto saved;
    }
    ompi_datatype_type_size(datatype, &size);
    if (0 == count || 0 == size) {
        return OMPI_SUCCESS;
    }
    rc = bcast_serve(module, buffer, count, datatype, root, count * size,
                     mca_coll_wan_module_tag(module), &declined);
    if (!declined) {
        return rc;
    }

saved:
    return module->saved.coll_bcast(buffer, count, datatype, root, comm,
                                    module->saved.coll_bcast_module);
}

/* ---- allreduce ------------------------------------------------------------------- */

int mca_coll_wan_allreduce(const void *in, void *out, int count, struct ompi_datatype_t *datatype,
                           struct ompi_op_t *op, struct ompi_communicator_t *comm,
                           mca_coll_base_module_t *base)
{
    mca_coll_wan_module_t *module = (mca_coll_wan_module_t *) base;
    wan_call_t call = { .collective = WAN_ALLREDUCE, .count = count, .out = out };
    bool declined = false;
    ptrdiff_t lb;
    int rc;

    if (OPAL_UNLIKELY(NULL == module->serving) && entry_passes(module, &rc)) {
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        goto saved;
    }
    ompi_datatype_type_size(datatype, &call.element_bytes);
    if (0 == count || 0 == call.element_bytes) {
        return OMPI_SUCCESS;
    }
    ompi_datatype_get_extent(datatype, &lb, &call.extent);
    call.in = MPI_IN_PLACE == in ? out : in;
    call.commutative = ompi_op_is_commute(op);
    rc = entry_run(module, &call, datatype, op, mca_coll_wan_module_tag(module), &declined);
    if (!declined) {
        return rc;
    }

saved:
    return module->saved.coll_allreduce(in, out, count, datatype, op, comm,
                                        module->saved.coll_allreduce_module);
}
