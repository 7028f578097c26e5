/*
 * The arguments of MPI's collectives, for all three forms (blocking,
 * non-blocking, persistent) of each: how they are named, taken and passed on.
 * Everything else about them is in coll_wan_call.c.
 *
 * To add a collective: a line in WAN_EACH and three macros below.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COLL_WAN_ARGS_H
#define COLL_WAN_ARGS_H

#include "coll_wan_compat.h"

/* Every collective we fill in: EACH(name in Open MPI's tables, name in the core). */
#define WAN_EACH(EACH)                              \
    EACH(allgather, WAN_ALLGATHER)                  \
    EACH(allgatherv, WAN_ALLGATHER)                 \
    EACH(allreduce, WAN_ALLREDUCE)                  \
    EACH(alltoall, WAN_ALLTOALL)                    \
    EACH(alltoallv, WAN_ALLTOALL)                   \
    EACH(alltoallw, WAN_ALLTOALL)                   \
    EACH(barrier, WAN_BARRIER)                      \
    EACH(bcast, WAN_BCAST)                          \
    EACH(exscan, WAN_EXSCAN)                        \
    EACH(gather, WAN_GATHER)                        \
    EACH(gatherv, WAN_GATHER)                       \
    EACH(neighbor_allgather, WAN_NEIGHBOR)          \
    EACH(neighbor_allgatherv, WAN_NEIGHBOR)         \
    EACH(neighbor_alltoall, WAN_NEIGHBOR)           \
    EACH(neighbor_alltoallv, WAN_NEIGHBOR)          \
    EACH(neighbor_alltoallw, WAN_NEIGHBOR)          \
    EACH(reduce, WAN_REDUCE)                        \
    EACH(reduce_scatter, WAN_REDUCE_SCATTER)        \
    EACH(reduce_scatter_block, WAN_REDUCE_SCATTER)  \
    EACH(scan, WAN_SCAN)                            \
    EACH(scatter, WAN_SCATTER)                      \
    EACH(scatterv, WAN_SCATTER)

typedef enum wan_mpi {
#define WAN_ENUM(name, core) WAN_MPI_##name,
    WAN_EACH(WAN_ENUM)
#undef WAN_ENUM
    WAN_MPI_COLLECTIVES
} wan_mpi_t;

/*
 * Arguments as the caller gave them; what a collective does not have is 0.
 * Collectives with one buffer description have it in the r... members.
 */
typedef struct wan_args {
    wan_mpi_t what;
    const void *sbuf;
    void *rbuf;
    int scount, rcount;
    const int *scounts, *sdispls, *rcounts, *rdispls;
    const MPI_Aint *soffsets, *roffsets;    /* neighbor_alltoallw */
    struct ompi_datatype_t *stype, *rtype;
    struct ompi_datatype_t *const *stypes, *const *rtypes;
    struct ompi_op_t *op;
    int root;
} wan_args_t;

/* Parameters as in Open MPI's tables, up to the communicator. */
#define WAN_PARAMS_SEND const void *sbuf, int scount, struct ompi_datatype_t *stype,
#define WAN_PARAMS_RECV void *rbuf, int rcount, struct ompi_datatype_t *rtype,
#define WAN_PARAMS_SENDV const void *sbuf, const int *scounts, const int *sdispls, struct ompi_datatype_t *stype,
#define WAN_PARAMS_RECVV void *rbuf, const int *rcounts, const int *rdispls, struct ompi_datatype_t *rtype,
#define WAN_PARAMS_allgather WAN_PARAMS_SEND WAN_PARAMS_RECV
#define WAN_PARAMS_allgatherv WAN_PARAMS_SEND WAN_PARAMS_RECVV
#define WAN_PARAMS_allreduce const void *sbuf, WAN_PARAMS_RECV struct ompi_op_t *op,
#define WAN_PARAMS_alltoall WAN_PARAMS_SEND WAN_PARAMS_RECV
#define WAN_PARAMS_alltoallv WAN_PARAMS_SENDV WAN_PARAMS_RECVV
#define WAN_PARAMS_alltoallw                                                                       \
    const void *sbuf, const int *scounts, const int *sdispls, struct ompi_datatype_t *const *stypes, \
    void *rbuf, const int *rcounts, const int *rdispls, struct ompi_datatype_t *const *rtypes,
#define WAN_PARAMS_barrier
#define WAN_PARAMS_bcast WAN_PARAMS_RECV int root,
#define WAN_PARAMS_exscan WAN_PARAMS_allreduce
#define WAN_PARAMS_gather WAN_PARAMS_SEND WAN_PARAMS_RECV int root,
#define WAN_PARAMS_gatherv WAN_PARAMS_SEND WAN_PARAMS_RECVV int root,
#define WAN_PARAMS_reduce WAN_PARAMS_allreduce int root,
#define WAN_PARAMS_reduce_scatter \
    const void *sbuf, void *rbuf, const int *rcounts, struct ompi_datatype_t *rtype, struct ompi_op_t *op,
#define WAN_PARAMS_reduce_scatter_block WAN_PARAMS_allreduce
#define WAN_PARAMS_scan WAN_PARAMS_allreduce
#define WAN_PARAMS_scatter WAN_PARAMS_SEND WAN_PARAMS_RECV int root,
#define WAN_PARAMS_scatterv WAN_PARAMS_SENDV WAN_PARAMS_RECV int root,

#define WAN_PARAMS_neighbor_allgather WAN_PARAMS_allgather
#define WAN_PARAMS_neighbor_allgatherv WAN_PARAMS_allgatherv
#define WAN_PARAMS_neighbor_alltoall WAN_PARAMS_alltoall
#define WAN_PARAMS_neighbor_alltoallv WAN_PARAMS_alltoallv
#define WAN_PARAMS_neighbor_alltoallw                                                              \
    const void *sbuf, const int *scounts, const MPI_Aint *soffsets, struct ompi_datatype_t *const *stypes, \
    void *rbuf, const int *rcounts, const MPI_Aint *roffsets, struct ompi_datatype_t *const *rtypes,

/* From parameters to wan_args_t: an initialiser. */
#define WAN_TAKE_SEND .sbuf = sbuf, .scount = scount, .stype = stype,
#define WAN_TAKE_RECV .rbuf = rbuf, .rcount = rcount, .rtype = rtype,
#define WAN_TAKE_SENDV .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls, .stype = stype,
#define WAN_TAKE_RECVV .rbuf = rbuf, .rcounts = rcounts, .rdispls = rdispls, .rtype = rtype,
#define WAN_TAKE_allgather WAN_TAKE_SEND WAN_TAKE_RECV
#define WAN_TAKE_allgatherv WAN_TAKE_SEND WAN_TAKE_RECVV
#define WAN_TAKE_allreduce .sbuf = sbuf, WAN_TAKE_RECV .op = op,
#define WAN_TAKE_alltoall WAN_TAKE_SEND WAN_TAKE_RECV
#define WAN_TAKE_alltoallv WAN_TAKE_SENDV WAN_TAKE_RECVV
#define WAN_TAKE_alltoallw                                                            \
    .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls, .stypes = stypes, .rbuf = rbuf, \
    .rcounts = rcounts, .rdispls = rdispls, .rtypes = rtypes,
#define WAN_TAKE_barrier
#define WAN_TAKE_bcast WAN_TAKE_RECV .root = root,
#define WAN_TAKE_exscan WAN_TAKE_allreduce
#define WAN_TAKE_gather WAN_TAKE_SEND WAN_TAKE_RECV .root = root,
#define WAN_TAKE_gatherv WAN_TAKE_SEND WAN_TAKE_RECVV .root = root,
#define WAN_TAKE_reduce WAN_TAKE_allreduce .root = root,
#define WAN_TAKE_reduce_scatter .sbuf = sbuf, .rbuf = rbuf, .rcounts = rcounts, .rtype = rtype, .op = op,
#define WAN_TAKE_reduce_scatter_block WAN_TAKE_allreduce
#define WAN_TAKE_scan WAN_TAKE_allreduce
#define WAN_TAKE_scatter WAN_TAKE_SEND WAN_TAKE_RECV .root = root,
#define WAN_TAKE_scatterv WAN_TAKE_SENDV WAN_TAKE_RECV .root = root,

#define WAN_TAKE_neighbor_allgather WAN_TAKE_allgather
#define WAN_TAKE_neighbor_allgatherv WAN_TAKE_allgatherv
#define WAN_TAKE_neighbor_alltoall WAN_TAKE_alltoall
#define WAN_TAKE_neighbor_alltoallv WAN_TAKE_alltoallv
#define WAN_TAKE_neighbor_alltoallw                                                     \
    .sbuf = sbuf, .scounts = scounts, .soffsets = soffsets, .stypes = stypes, .rbuf = rbuf, \
    .rcounts = rcounts, .roffsets = roffsets, .rtypes = rtypes,

/* From wan_args_t *a to arguments, up to the communicator. */
#define WAN_PASS_SEND a->sbuf, a->scount, a->stype,
#define WAN_PASS_RECV a->rbuf, a->rcount, a->rtype,
#define WAN_PASS_SENDV a->sbuf, a->scounts, a->sdispls, a->stype,
#define WAN_PASS_RECVV a->rbuf, a->rcounts, a->rdispls, a->rtype,
#define WAN_PASS_allgather WAN_PASS_SEND WAN_PASS_RECV
#define WAN_PASS_allgatherv WAN_PASS_SEND WAN_PASS_RECVV
#define WAN_PASS_allreduce a->sbuf, WAN_PASS_RECV a->op,
#define WAN_PASS_alltoall WAN_PASS_SEND WAN_PASS_RECV
#define WAN_PASS_alltoallv WAN_PASS_SENDV WAN_PASS_RECVV
#define WAN_PASS_alltoallw \
    a->sbuf, a->scounts, a->sdispls, a->stypes, a->rbuf, a->rcounts, a->rdispls, a->rtypes,
#define WAN_PASS_barrier
#define WAN_PASS_bcast WAN_PASS_RECV a->root,
#define WAN_PASS_exscan WAN_PASS_allreduce
#define WAN_PASS_gather WAN_PASS_SEND WAN_PASS_RECV a->root,
#define WAN_PASS_gatherv WAN_PASS_SEND WAN_PASS_RECVV a->root,
#define WAN_PASS_reduce WAN_PASS_allreduce a->root,
#define WAN_PASS_reduce_scatter a->sbuf, a->rbuf, a->rcounts, a->rtype, a->op,
#define WAN_PASS_reduce_scatter_block WAN_PASS_allreduce
#define WAN_PASS_scan WAN_PASS_allreduce
#define WAN_PASS_scatter WAN_PASS_SEND WAN_PASS_RECV a->root,
#define WAN_PASS_scatterv WAN_PASS_SENDV WAN_PASS_RECV a->root,
#define WAN_PASS_neighbor_allgather WAN_PASS_allgather
#define WAN_PASS_neighbor_allgatherv WAN_PASS_allgatherv
#define WAN_PASS_neighbor_alltoall WAN_PASS_alltoall
#define WAN_PASS_neighbor_alltoallv WAN_PASS_alltoallv
#define WAN_PASS_neighbor_alltoallw \
    a->sbuf, a->scounts, a->soffsets, a->stypes, a->rbuf, a->rcounts, a->roffsets, a->rtypes,

#endif
