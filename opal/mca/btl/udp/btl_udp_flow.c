/*
 * The table of udp_flow.h: from a communicator's rank to the engine's peer.  The
 * only file of btl/udp that looks above Open MPI's lowest layer, as communicators
 * are known there.
 *
 * Must not: decide anything; udp_core.h does.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "btl_udp.h"

#include "ompi/communicator/communicator.h"
#include "ompi/group/group.h"
#include "ompi/proc/proc.h"

#include "udp_flow.h"

/* Linked into libopen-pal, this stands below libmpi: Open MPI's tools have the one without the other. */
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_proc_for_name
#pragma weak ompi_group_translate_ranks

static int comm_size(MPI_Comm comm)
{
    return OMPI_COMM_IS_INTER(comm) ? ompi_comm_remote_size(comm) : ompi_comm_size(comm);
}

/* The lock is held afterwards if this returns UDP_FLOW_OK. */
static int peer_lock(MPI_Comm comm, int rank, uint32_t *peer)
{
    mca_btl_udp_module_t *module = &mca_btl_udp_module;
    mca_btl_udp_endpoint_t *endpoint;
    opal_proc_t *proc;

    if (NULL == module->engine || NULL == ompi_proc_for_name) {
        return UDP_FLOW_CLOSED;
    }
    if (ompi_comm_invalid(comm) || rank < 0 || rank >= comm_size(comm)) {
        return UDP_FLOW_RANK;
    }
    proc = &ompi_comm_peer_lookup(comm, rank)->super;
    if (proc == opal_proc_local_get()) {
        return UDP_FLOW_UNREACHED;
    }
    opal_mutex_lock(&module->lock);
    if (NULL == module->engine) {
        opal_mutex_unlock(&module->lock);
        return UDP_FLOW_CLOSED;
    }
    if (NULL == (endpoint = mca_btl_udp_endpoint_get(module, proc))) {
        opal_mutex_unlock(&module->lock);
        return UDP_FLOW_UNREACHED;
    }
    *peer = endpoint->peer;
    return UDP_FLOW_OK;
}

static void peer_unlock(void)
{
    opal_mutex_unlock(&mca_btl_udp_module.lock);
}

static void state_of(uint32_t peer, udp_flow_state_t *state)
{
    udp_view_t v;

    udp_engine_view(mca_btl_udp_module.engine, peer, &v);
    *state = (udp_flow_state_t) {
        .delay_ns = v.delay_ns, .delay_min_ns = v.delay_min_ns, .window = v.window, .window_own = v.window_own,
        .permitted = v.permitted, .under_way = v.under_way, .queue = v.queue, .queue_bytes = v.queue_bytes,
        .sent = v.sent, .sent_again = v.sent_again, .received = v.received, .duplicates = v.duplicates,
        .mtu = v.mtu, .priority = v.priority,
    };
}

static int flow_look(MPI_Comm comm, int rank, udp_flow_state_t *state)
{
    uint32_t peer;
    int rc = peer_lock(comm, rank, &peer);

    if (UDP_FLOW_OK == rc) {
        state_of(peer, state);
        peer_unlock();
    }
    return rc;
}

static int flow_may_write(MPI_Comm comm, int rank, uint64_t bytes)
{
    uint32_t peer;
    int rc = peer_lock(comm, rank, &peer);

    if (UDP_FLOW_OK == rc) {
        rc = udp_engine_may_write(mca_btl_udp_module.engine, peer, bytes);
        peer_unlock();
    }
    return rc;
}

static int64_t flow_push(MPI_Comm comm, int rank)
{
    uint32_t peer;
    int64_t rc = peer_lock(comm, rank, &peer);

    if (UDP_FLOW_OK == rc) {
        rc = (int64_t) udp_engine_push(mca_btl_udp_module.engine, peer);
        peer_unlock();
    }
    return rc;
}

static int flow_window_set(MPI_Comm comm, int rank, uint64_t bytes)
{
    uint32_t peer;
    int rc = peer_lock(comm, rank, &peer);

    if (UDP_FLOW_OK == rc) {
        udp_engine_window_set(mca_btl_udp_module.engine, peer, bytes);
        peer_unlock();
    }
    return rc;
}

static int flow_priority_set(MPI_Comm comm, int rank, unsigned level)
{
    uint32_t peer;
    int rc;

    if (level > UDP_FLOW_PRIORITY_MAX) {
        return UDP_FLOW_LEVEL;
    }
    rc = peer_lock(comm, rank, &peer);
    if (UDP_FLOW_OK == rc) {
        udp_engine_priority_set(mca_btl_udp_module.engine, peer, level);
        peer_unlock();
    }
    return rc;
}

static void flow_progress(void)
{
    opal_progress();
}

OPAL_DECLSPEC extern const udp_flow_table_t mca_btl_udp_flow;
const udp_flow_table_t mca_btl_udp_flow = {
    UDP_FLOW_VERSION, flow_look, flow_may_write, flow_push, flow_window_set, flow_priority_set, flow_progress,
};

/* ---- the same for tools: MPI_T variables of a communicator, a value for each of its ranks -------------------------- */

static int peers_notify(mca_base_pvar_t *pvar, mca_base_pvar_event_t event, void *object, int *count)
{
    (void) pvar;
    if (MCA_BASE_PVAR_HANDLE_BIND == event) {
        *count = comm_size(object);
    }
    return OPAL_SUCCESS;
}

/* A tool only looks: what was never talked to is not looked up, and has 0, as has the process itself. */
static int peers_get(const mca_base_pvar_t *pvar, void *values, void *object)
{
    mca_btl_udp_module_t *module = &mca_btl_udp_module;
    unsigned long long *value = values;
    const int size = comm_size(object);

    memset(value, 0, (size_t) size * sizeof(*value));
    if (NULL == module->engine) {
        return OPAL_SUCCESS;
    }
    opal_mutex_lock(&module->lock);
    for (int rank = 0; NULL != module->engine && rank < size; ++rank) {
        const ompi_proc_t *proc = ompi_group_peer_lookup_existing(((ompi_communicator_t *) object)->c_remote_group, rank);
        const mca_btl_udp_endpoint_t *endpoint = NULL != proc ? mca_btl_udp_endpoint_of(module, &proc->super) : NULL;
        udp_flow_state_t state;

        if (NULL != endpoint) {
            state_of(endpoint->peer, &state);
            value[rank] = *(uint64_t *) ((char *) &state + (size_t) pvar->ctx);
        }
    }
    opal_mutex_unlock(&module->lock);
    return OPAL_SUCCESS;
}

void mca_btl_udp_peers_register(void)
{
    static const struct {
        const char *name, *text;
        size_t at;
        int class;
    } variables[] = {
        { "peer_delay", "Smoothed round trip in ns, 0 if none was measured", offsetof(udp_flow_state_t, delay_ns), MCA_BASE_PVAR_CLASS_LEVEL },
        { "peer_delay_min", "Shortest round trip of late in ns", offsetof(udp_flow_state_t, delay_min_ns), MCA_BASE_PVAR_CLASS_LEVEL },
        { "peer_window", "Bytes that congestion control lets be under way", offsetof(udp_flow_state_t, window), MCA_BASE_PVAR_CLASS_LEVEL },
        { "peer_window_own", "Bytes that the peer may have under way to this process", offsetof(udp_flow_state_t, window_own), MCA_BASE_PVAR_CLASS_LEVEL },
        { "peer_under_way", "Bytes under way, headers included", offsetof(udp_flow_state_t, under_way), MCA_BASE_PVAR_CLASS_LEVEL },
        { "peer_queue", "Blocks not acknowledged", offsetof(udp_flow_state_t, queue), MCA_BASE_PVAR_CLASS_LEVEL },
        { "peer_queue_bytes", "Bytes not acknowledged", offsetof(udp_flow_state_t, queue_bytes), MCA_BASE_PVAR_CLASS_LEVEL },
        { "peer_sent", "Datagrams with data sent", offsetof(udp_flow_state_t, sent), MCA_BASE_PVAR_CLASS_COUNTER },
        { "peer_again", "Of these, datagrams that carried what had been sent before", offsetof(udp_flow_state_t, sent_again), MCA_BASE_PVAR_CLASS_COUNTER },
        { "peer_received", "Datagrams received that asked for an Ack", offsetof(udp_flow_state_t, received), MCA_BASE_PVAR_CLASS_COUNTER },
        { "peer_mtu", "Bytes of a datagram that the path is known to carry", offsetof(udp_flow_state_t, mtu), MCA_BASE_PVAR_CLASS_LEVEL },
    };

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); ++i) {
        (void) mca_base_component_pvar_register(
            &mca_btl_udp_component.super.btl_version, variables[i].name, variables[i].text, OPAL_INFO_LVL_5,
            variables[i].class, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_MPI_COMM,
            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, peers_get, NULL, peers_notify,
            (void *) variables[i].at);
    }
}
