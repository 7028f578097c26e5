/*
 * From MPI arguments to a wan_call, and back: what the core is told, where
 * bytes must be packed or copied before a run, and unpacked after it.
 *
 * What is only moved goes to the core in bytes, since ranks may describe the
 * same bytes by different counts and datatypes: in place where the memory is
 * contiguous, else packed.  What is reduced goes in elements.  The core needs
 * `in` and `out` apart for reduce_scatter and alltoall, so that MPI_IN_PLACE
 * there costs a copy.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- one buffer of the caller, in blocks ------------------------------------------- */

/* Block i as the caller describes it. */
static void block_get(const wan_side_t *side, int i, char **address, size_t *count,
                      struct ompi_datatype_t **type)
{
    ptrdiff_t lb, extent, displacement;

    *type = NULL != side->types ? side->types[i] : side->type;
    *count = NULL != side->counts ? side->counts[i] : side->count;
    if (NULL != side->types) {
        displacement = NULL != side->offsets ? side->offsets[i] : side->displs[i];
    } else {
        ompi_datatype_get_extent(*type, &lb, &extent);
        displacement = extent * (NULL != side->displs ? (ptrdiff_t) side->displs[i]
                                                      : (ptrdiff_t) i * (ptrdiff_t) side->count);
    }
    *address = side->user + displacement;
}

static size_t block_bytes(const wan_side_t *side, int i)
{
    char *address;
    size_t count, size;
    struct ompi_datatype_t *type;

    block_get(side, i, &address, &count, &type);
    if (0 == count) {
        return 0;       /* its type need not be a valid one */
    }
    ompi_datatype_type_size(type, &size);
    return count * size;
}

size_t mca_coll_wan_common_bytes(const wan_args_t *args)
{
    size_t size;

    switch (args->what) {
    case WAN_MPI_allgather:
    case WAN_MPI_allreduce:
    case WAN_MPI_alltoall:
    case WAN_MPI_bcast:
    case WAN_MPI_exscan:
    case WAN_MPI_reduce:
    case WAN_MPI_reduce_scatter_block:
    case WAN_MPI_scan:
        break;
    default:
        return 0;
    }
    if (0 >= args->rcount) {
        return 0;
    }
    ompi_datatype_type_size(args->rtype, &size);
    return size * (size_t) args->rcount;
}

/* Once it is prepared. */
static size_t known_bytes(const wan_side_t *side, int i)
{
    return NULL != side->bytes ? side->bytes[i] : side->each;
}

/* All elements of block i to or from packed[bytes]. */
static int block_convert(const wan_side_t *side, int i, bool pack, char *packed, size_t bytes)
{
    opal_convertor_t convertor;
    struct ompi_datatype_t *type;
    size_t count, done = 0;
    char *address;
    int rc;

    if (0 == bytes) {
        return OMPI_SUCCESS;
    }
    block_get(side, i, &address, &count, &type);
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    rc = pack ? opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
                                                         count, address, 0, &convertor)
              : opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
                                                         count, address, 0, &convertor);
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

static bool side_is_direct(const wan_side_t *side)
{
    size_t most = side->count;

    if (NULL != side->types) {
        for (int i = 0; i < side->blocks; ++i) {
            if (0 != known_bytes(side, i) && !ompi_datatype_is_contiguous_memory_layout(side->types[i], side->counts[i])) {
                return false;
            }
        }
        return true;
    }
    for (int i = 0; NULL != side->counts && i < side->blocks; ++i) {
        most = (size_t) side->counts[i] > most ? (size_t) side->counts[i] : most;
    }
    return ompi_datatype_is_contiguous_memory_layout(side->type, most);
}

static int side_convert(wan_side_t *side, bool pack)
{
    size_t at = 0;
    int rc = OMPI_SUCCESS;

    for (int i = 0; i < side->blocks && OMPI_SUCCESS == rc; ++i) {
        size_t bytes = known_bytes(side, i);

        if (0 > side->only || i == side->only) {
            rc = block_convert(side, i, pack, side->packed + at, bytes);
        }
        at += bytes;
    }
    return rc;
}

/*
 * Fills what the core is told: base, bytes of each block, where it begins.  pack: the caller's
 * data is taken along where it must be packed; copy: packs even what is contiguous.
 */
static int side_prepare(wan_side_t *side, bool pack, bool copy)
{
    size_t total = 0;
    bool direct;

    if (NULL != side->edges && 0 == side->edges->count) {
        side->base = side->user;        /* arrays and datatypes may be NULL */
        return OMPI_SUCCESS;
    }
    if (NULL != side->counts || NULL != side->edges) {
        side->bytes = calloc(side->blocks + 1, sizeof(*side->bytes));
        if (NULL == side->bytes) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    side->each = NULL == side->bytes ? block_bytes(side, 0) : 0;
    for (int i = 0; NULL != side->edges && i < side->edges->count; ++i) {
        side->bytes[side->edges->blocks[i]] = block_bytes(side, side->edges->blocks[i]);
    }
    for (int i = 0; i < side->blocks; ++i) {
        if (NULL != side->counts && NULL == side->edges) {
            side->bytes[i] = block_bytes(side, i);
        }
        total += known_bytes(side, i);
    }
    side->total = total;
    direct = !copy && side_is_direct(side);
    if (!direct) {
        side->base = side->packed = malloc(0 != total ? total : 1);
        if (NULL == side->packed) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        return pack ? side_convert(side, true) : OMPI_SUCCESS;
    }
    {
        ptrdiff_t lb = 0, true_extent = 0;
        char *first, *second;
        size_t count;
        struct ompi_datatype_t *type;

        if (NULL == side->types) {
            ompi_datatype_get_true_extent(side->type, &lb, &true_extent);
        }
        side->base = side->user + lb;
        if (1 == side->blocks && NULL == side->edges && NULL == side->types) {
            return OMPI_SUCCESS;
        }
        if (NULL == side->displs && NULL == side->edges) {
            block_get(side, 0, &first, &count, &type);
            block_get(side, 1, &second, &count, &type);
            if (second - first == (ptrdiff_t) side->each) {
                return OMPI_SUCCESS;
            }
        }
        side->at = calloc(side->blocks + 1, sizeof(*side->at));
        if (NULL == side->at) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        for (int i = 0; i < side->blocks; ++i) {
            if (0 == known_bytes(side, i)) {
                continue;       /* its type need not be a valid one */
            }
            block_get(side, i, &first, &count, &type);
            if (NULL != side->types) {
                ompi_datatype_get_true_extent(type, &lb, &true_extent);
            }
            side->at[i] = first - side->user + (NULL != side->types ? lb : 0);
        }
    }
    return OMPI_SUCCESS;
}

/* Where the core finds block i. */
static char *side_block(const wan_side_t *side, int i)
{
    size_t at = 0;

    if (NULL != side->at) {
        return side->base + side->at[i];
    }
    if (NULL == side->bytes) {
        return side->base + side->each * i;
    }
    for (int k = 0; k < i; ++k) {
        at += side->bytes[k];
    }
    return side->base + at;
}

static wan_vector_t side_vector(const wan_side_t *side)
{
    wan_vector_t vector = { .counts = side->bytes, .displs = side->at };

    return vector;
}

static void side_release(wan_side_t *side)
{
    free(side->packed);
    free(side->bytes);
    free(side->at);
    memset(side, 0, sizeof(*side));
}

/* The caller's descriptions of what this rank sends and receives. */
static void sides_take(mca_coll_wan_bound_t *bound, const wan_args_t *args, int ranks, const wan_neighbors_t *neighbors)
{
    wan_side_t *send = &bound->send, *recv = &bound->recv;
    const bool in_place = MPI_IN_PLACE == args->sbuf;

    send->only = recv->only = -1;
    send->user = in_place ? NULL : (char *) args->sbuf;
    send->count = args->scount;
    send->counts = args->scounts;
    send->displs = args->sdispls;
    send->offsets = args->soffsets;
    send->type = args->stype;
    send->types = args->stypes;
    recv->user = MPI_IN_PLACE == args->rbuf ? NULL : args->rbuf;
    recv->count = args->rcount;
    recv->counts = args->rcounts;
    recv->displs = args->rdispls;
    recv->offsets = args->roffsets;
    recv->type = args->rtype;
    recv->types = args->rtypes;
    send->blocks = recv->blocks = 1;
    switch (args->what) {
    case WAN_MPI_allgather:
    case WAN_MPI_allgatherv:
    case WAN_MPI_gather:
    case WAN_MPI_gatherv:
        recv->blocks = ranks;
        break;
    case WAN_MPI_scatter:
    case WAN_MPI_scatterv:
        send->blocks = ranks;
        break;
    case WAN_MPI_alltoall:
    case WAN_MPI_alltoallv:
    case WAN_MPI_alltoallw:
        send->blocks = recv->blocks = ranks;
        if (in_place) {
            *send = *recv;
        }
        break;
    case WAN_MPI_neighbor_alltoall:
    case WAN_MPI_neighbor_alltoallv:
    case WAN_MPI_neighbor_alltoallw:
        send->blocks = neighbors->outs;
        recv->blocks = neighbors->ins;
        send->edges = &bound->call.to;
        recv->edges = &bound->call.from;
        break;
    case WAN_MPI_neighbor_allgather:
    case WAN_MPI_neighbor_allgatherv:
        recv->blocks = neighbors->ins;
        bound->call.to.blocks = neighbors->first_block;
        send->edges = &bound->call.to;
        recv->edges = &bound->call.from;
        break;
    default:
        break;
    }
}

/* ---- collectives that move bytes ------------------------------------------------------- */

static int bind_bcast(mca_coll_wan_bound_t *bound, bool am_root)
{
    wan_side_t *buffer = &bound->recv;
    int rc = side_prepare(buffer, am_root, false);

    bound->unpack = !am_root;
    bound->call.in = bound->call.out = buffer->base;
    bound->call.count = buffer->total;
    bound->nothing = 0 == buffer->total;
    return rc;
}

/* Allgather and gather: the own block to all, or to the root. */
static int bind_gather(mca_coll_wan_bound_t *bound, const wan_args_t *args, int me, bool receives)
{
    const bool in_place = MPI_IN_PLACE == args->sbuf;
    wan_side_t *send = &bound->send, *recv = &bound->recv;
    wan_call_t *call = &bound->call;
    int rc = OMPI_SUCCESS;

    call->counts_vary = WAN_MPI_allgatherv == args->what || WAN_MPI_gatherv == args->what;
    if (receives) {
        recv->only = me;        /* in place, the own block is all there is to be packed */
        rc = side_prepare(recv, in_place, false);
        recv->only = -1;
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        call->out = recv->base;
        call->out_vector = side_vector(recv);
        call->count = recv->each;
        call->own_count = NULL != recv->bytes ? recv->bytes[me] : recv->each;
        bound->unpack = true;
        /* Who does not know all counts runs: so do all. */
        bound->nothing = 0 == recv->total && !call->counts_vary;
    }
    if (in_place) {
        call->in = side_block(recv, me);
        return OMPI_SUCCESS;
    }
    rc = side_prepare(send, true, false);
    call->in = send->base;
    if (!receives) {
        call->count = call->own_count = send->each;
        bound->nothing = 0 == send->each && !call->counts_vary;
    }
    return rc;
}

static int bind_scatter(mca_coll_wan_bound_t *bound, const wan_args_t *args, int me, bool am_root)
{
    const bool in_place = MPI_IN_PLACE == args->rbuf;
    wan_side_t *send = &bound->send, *recv = &bound->recv;
    wan_call_t *call = &bound->call;
    int rc;

    call->counts_vary = WAN_MPI_scatterv == args->what;
    if (am_root) {
        rc = side_prepare(send, true, false);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        call->in = send->base;
        call->in_vector = side_vector(send);
        call->count = send->each;
        call->own_count = NULL != send->bytes ? send->bytes[me] : send->each;
        bound->nothing = 0 == send->total && !call->counts_vary;
    }
    if (am_root && in_place) {
        call->out = side_block(send, me);
        return OMPI_SUCCESS;
    }
    rc = side_prepare(recv, false, false);
    call->out = recv->base;
    bound->unpack = true;
    if (!am_root) {
        call->count = call->own_count = recv->each;
        bound->nothing = 0 == recv->each && !call->counts_vary;
    }
    return rc;
}

static int bind_alltoall(mca_coll_wan_bound_t *bound, const wan_args_t *args)
{
    wan_side_t *send = &bound->send, *recv = &bound->recv;
    wan_call_t *call = &bound->call;
    int rc = side_prepare(send, true, MPI_IN_PLACE == args->sbuf);

    if (OMPI_SUCCESS == rc) {
        rc = side_prepare(recv, false, false);
    }
    call->counts_vary = WAN_MPI_alltoall != args->what;
    call->in = send->base;
    call->out = recv->base;
    call->in_vector = side_vector(send);
    call->out_vector = side_vector(recv);
    call->count = recv->each;
    bound->unpack = true;
    bound->nothing = 0 == recv->total && !call->counts_vary;
    return rc;
}

static int bind_neighbor(mca_coll_wan_bound_t *bound)
{
    wan_side_t *send = &bound->send, *recv = &bound->recv;
    wan_call_t *call = &bound->call;
    int rc = side_prepare(send, true, false);

    if (OMPI_SUCCESS == rc) {
        rc = side_prepare(recv, false, false);
    }
    call->in = send->base;
    call->out = recv->base;
    call->in_vector = side_vector(send);
    call->out_vector = side_vector(recv);
    bound->unpack = true;
    return rc;
}

/* ---- collectives that reduce ---------------------------------------------------------------- */

/* Memory for count elements; what is returned fits their addresses. */
static char *elements_alloc(mca_coll_wan_bound_t *bound, size_t count, struct ompi_datatype_t *type)
{
    ptrdiff_t gap = 0;
    ptrdiff_t span = opal_datatype_span(&type->super, count, &gap);

    bound->temporary = malloc(0 < span ? span : 1);
    return NULL == bound->temporary ? NULL : (char *) bound->temporary - gap;
}

static int bind_reduction(mca_coll_wan_bound_t *bound, const wan_args_t *args, int ranks, bool am_root)
{
    const bool in_place = MPI_IN_PLACE == args->sbuf;
    wan_call_t *call = &bound->call;
    size_t total = args->rcount;
    ptrdiff_t lb;

    ompi_datatype_type_size(args->rtype, &call->element_bytes);
    ompi_datatype_get_extent(args->rtype, &lb, &call->extent);
    bound->datatype = args->rtype;
    bound->op = args->op;
    call->commutative = ompi_op_is_commute(args->op);
    call->count = args->rcount;
    call->out = args->rbuf;
    call->in = in_place ? args->rbuf : args->sbuf;
    if (WAN_MPI_reduce_scatter == args->what) {
        bound->counts = malloc(sizeof(*bound->counts) * ranks);
        if (NULL == bound->counts) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        total = 0;
        for (int i = 0; i < ranks; ++i) {
            total += bound->counts[i] = args->rcounts[i];
        }
        call->counts_vary = true;
        call->in_vector.counts = bound->counts;
    }
    if (WAN_MPI_reduce_scatter_block == args->what) {
        total *= ranks;
    }
    /* Of predefined types all ranks know it alike; others may begin beside their address. */
    call->dense = ompi_datatype_is_predefined(args->rtype) && (ptrdiff_t) call->element_bytes == call->extent;
    bound->nothing = 0 == total || 0 == call->element_bytes;
    if (bound->nothing) {
        return OMPI_SUCCESS;
    }
    if (WAN_REDUCE_SCATTER == call->collective && in_place) {
        char *copy = elements_alloc(bound, total, args->rtype);

        if (NULL == copy) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        call->in = copy;
        return ompi_datatype_copy_content_same_ddt(args->rtype, total, copy, args->rbuf);
    }
    if (WAN_REDUCE == call->collective && !am_root) {
        /* The core may use `out` everywhere; here the caller has none. */
        call->out = elements_alloc(bound, total, args->rtype);
        return NULL == call->out ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    }
    return OMPI_SUCCESS;
}

/* ---- any call --------------------------------------------------------------------------------- */

static const wan_collective_t core_of[WAN_MPI_COLLECTIVES] = {
#define CORE(name, core) [WAN_MPI_##name] = core,
    WAN_EACH(CORE)
#undef CORE
};

wan_collective_t mca_coll_wan_core_of(wan_mpi_t what)
{
    return core_of[what];
}

int mca_coll_wan_bind(mca_coll_wan_bound_t *bound, const wan_args_t *args,
                      mca_coll_wan_module_t *module)
{
    struct ompi_communicator_t *comm = module->comm;
    const int ranks = ompi_comm_size(comm), me = ompi_comm_rank(comm);
    const bool am_root = me == args->root;
    int rc = OMPI_SUCCESS;

    memset(bound, 0, sizeof(*bound));
    bound->call.collective = core_of[args->what];
    if (WAN_NEIGHBOR == bound->call.collective && OMPI_SUCCESS != (rc = mca_coll_wan_neighbors_take(module))) {
        return rc;
    }
    bound->call.root = args->root;
    bound->call.element_bytes = 1;
    bound->call.extent = 1;
    bound->call.commutative = bound->call.dense = true;
    bound->datatype = &ompi_mpi_byte.dt;
    bound->call.to = module->neighbors.to;
    bound->call.from = module->neighbors.from;
    sides_take(bound, args, ranks, &module->neighbors);
    switch (bound->call.collective) {
    case WAN_BCAST:
        rc = bind_bcast(bound, am_root);
        break;
    case WAN_BARRIER:
        bound->call.in = bound->call.out = bound->token;
        bound->call.count = 1;
        break;
    case WAN_ALLGATHER:
        rc = bind_gather(bound, args, me, true);
        break;
    case WAN_GATHER:
        rc = bind_gather(bound, args, me, am_root);
        break;
    case WAN_SCATTER:
        rc = bind_scatter(bound, args, me, am_root);
        break;
    case WAN_ALLTOALL:
        rc = bind_alltoall(bound, args);
        break;
    case WAN_NEIGHBOR:
        rc = bind_neighbor(bound);
        break;
    default:
        rc = bind_reduction(bound, args, ranks, am_root);
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_wan_bound_release(bound);
    }
    return rc;
}

int mca_coll_wan_bound_finish(mca_coll_wan_bound_t *bound)
{
    if (bound->unpack && NULL != bound->recv.packed) {
        return side_convert(&bound->recv, false);
    }
    return OMPI_SUCCESS;
}

void mca_coll_wan_bound_release(mca_coll_wan_bound_t *bound)
{
    side_release(&bound->send);
    side_release(&bound->recv);
    free(bound->temporary);
    free(bound->counts);
    bound->temporary = NULL;
    bound->counts = NULL;
}

void mca_coll_wan_bound_abandon(mca_coll_wan_bound_t *bound)
{
    bound->send.packed = bound->recv.packed = NULL;
    bound->temporary = NULL;
}
