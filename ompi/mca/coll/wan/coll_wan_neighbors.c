/*
 * The edges of a communicator's topology, for neighbourhood collectives: in
 * which order ranks name them, so that both ends of several edges between two
 * ranks mean the same one.
 *
 * A Cartesian dimension of two or of one can have the same rank on both sides.
 * What goes to the one below comes from the one above (MPI-4, 8.6): there, the
 * two edges change places.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdlib.h>
#include <string.h>

static void edge_add(wan_edges_t *edges, int *ranks, int *blocks, int rank, int block)
{
    if (MPI_PROC_NULL != rank) {
        ranks[edges->count] = rank;
        blocks[edges->count++] = block;
    }
}

/* Ranks by block of what is sent and received; OMPI_ code. */
static int ranks_take(struct ompi_communicator_t *comm, int *to, int *from, int outs)
{
    if (OMPI_COMM_IS_CART(comm)) {
        const mca_topo_base_comm_cart_t *cart = comm->c_topo->mtc.cart;

        for (int d = 0; d < cart->ndims; ++d) {
            int below = MPI_PROC_NULL, above = MPI_PROC_NULL;

            if (1 < cart->dims[d]) {
                int rc = mca_topo_base_cart_shift(comm, d, 1, &below, &above);

                if (OMPI_SUCCESS != rc) {
                    return rc;
                }
            } else if (cart->periods[d]) {
                below = above = ompi_comm_rank(comm);
            }
            to[2 * d] = from[2 * d] = below;
            to[2 * d + 1] = from[2 * d + 1] = above;
        }
    } else if (OMPI_COMM_IS_GRAPH(comm)) {
        int rc = mca_topo_base_graph_neighbors(comm, ompi_comm_rank(comm), outs, to);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        memcpy(from, to, sizeof(*to) * outs);
    } else {
        const mca_topo_base_comm_dist_graph_t *graph = comm->c_topo->mtc.dist_graph;

        memcpy(to, graph->out, sizeof(*to) * graph->outdegree);
        memcpy(from, graph->in, sizeof(*from) * graph->indegree);
    }
    return OMPI_SUCCESS;
}

void mca_coll_wan_neighbors_open(mca_coll_wan_module_t *module, struct ompi_communicator_t *comm)
{
    module->neighbors.tag = ompi_coll_base_nbc_reserve_tags(comm, WAN_TAGS_NEIGHBOR);
}

/*
 * By what all ranks know when the communicator is made, its ranks' cards; where sites were discovered
 * later, all came to serve it in the same blocking call.
 */
bool mca_coll_wan_neighbors_ours(const mca_coll_wan_module_t *module)
{
    const wan_state_t state = mca_coll_wan_module_state(module);

    return !mca_coll_wan_module_inside(module)
           && (!module->watched || WAN_STATE_SERVING == state || WAN_STATE_BROKEN == state);
}

int mca_coll_wan_neighbors_take(mca_coll_wan_module_t *module)
{
    struct ompi_communicator_t *comm = module->comm;
    wan_neighbors_t *neighbors = &module->neighbors;
    int *to, *from, rc;

    if (module->watched && WAN_STATE_BROKEN == mca_coll_wan_module_state(module)) {
        return module->error;       /* others serve */
    }
    if (NULL == module->view) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (NULL != neighbors->memory) {
        return OMPI_SUCCESS;
    }
    mca_coll_wan_compat_neighbors(comm, &neighbors->ins, &neighbors->outs);
    /* By block; then of each edge its rank and its block; and a block for all. */
    to = calloc(4 * (size_t) neighbors->outs + 3 * (size_t) neighbors->ins + 1, sizeof(*to));
    if (NULL == to) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    from = to + 3 * neighbors->outs;
    rc = ranks_take(comm, to, from, neighbors->outs);
    if (OMPI_SUCCESS != rc) {
        free(to);
        return rc;
    }
    neighbors->memory = to;
    neighbors->to = (wan_edges_t) { .ranks = to + neighbors->outs, .blocks = to + 2 * neighbors->outs };
    neighbors->from = (wan_edges_t) { .ranks = from + neighbors->ins, .blocks = from + 2 * neighbors->ins };
    for (int i = 0; i < neighbors->outs; ++i) {
        edge_add(&neighbors->to, to + neighbors->outs, to + 2 * neighbors->outs, to[i], i);
    }
    for (int i = 0; i < neighbors->ins; ++i) {
        const int block = OMPI_COMM_IS_CART(comm) ? i ^ 1 : i;

        edge_add(&neighbors->from, from + neighbors->ins, from + 2 * neighbors->ins, from[block], block);
    }
    neighbors->first_block = from + 3 * neighbors->ins;
    return OMPI_SUCCESS;
}

void mca_coll_wan_neighbors_close(mca_coll_wan_module_t *module)
{
    free(module->neighbors.memory);
    module->neighbors.memory = NULL;
}
