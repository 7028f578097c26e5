/*
 * What mca_btl_udp.so offers to programs, as a table of functions: the flow control
 * of btl/udp per peer.  Programs use udp_flow.hpp, which finds the table.
 *
 * A peer is a rank of a communicator (of an intercommunicator: of its other side).
 * Functions return a code below 0 or what they are asked for; they print nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_FLOW_H
#define UDP_FLOW_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UDP_FLOW_VERSION 1

enum udp_flow_code {
    UDP_FLOW_OK = 0,
    UDP_FLOW_CLOSED = -1,       /* before MPI_Init, after MPI_Finalize, or the job did not name btl/udp */
    UDP_FLOW_RANK = -2,         /* no such communicator, or no such rank in it */
    UDP_FLOW_UNREACHED = -3,    /* btl/udp does not reach it: this process itself, or one that published no address */
    UDP_FLOW_LEVEL = -4         /* a priority outside 0..UDP_FLOW_PRIORITY_MAX */
};

#define UDP_FLOW_PRIORITY_MAX 7

typedef struct udp_flow_state {
    int64_t delay_ns, delay_min_ns;     /* round trip: smoothed, shortest; 0: not measured yet */
    uint64_t window;                    /* bytes that congestion control lets be under way to the peer */
    uint64_t window_own;                /* bytes that the peer may have under way to us */
    uint64_t permitted;                 /* bytes that the peer permits beyond what was sent */
    uint64_t under_way;                 /* bytes, headers included */
    uint64_t queue, queue_bytes;        /* blocks, bytes that the peer has not acknowledged */
    uint64_t sent, sent_again;          /* datagrams with data */
    uint64_t received, duplicates;      /* datagrams; pieces that brought nothing new */
    uint64_t mtu;                       /* bytes of a datagram that the path is known to carry */
    uint64_t priority;
} udp_flow_state_t;

typedef struct udp_flow_table {
    uint32_t version;
    int (*look)(MPI_Comm comm, int rank, udp_flow_state_t *state);
    /* 1: `bytes` more would leave at once, or as many of them as the path takes at a time; 0: they would queue. */
    int (*may_write)(MPI_Comm comm, int rank, uint64_t bytes);
    /* Sends again what was not acknowledged within a round trip; returns how many datagrams that concerns. */
    int64_t (*push)(MPI_Comm comm, int rank);
    /* Bytes that the peer may have under way to us: at most btl_udp_window, at least what three of its largest blocks take. */
    int (*window_set)(MPI_Comm comm, int rank, uint64_t bytes);
    int (*priority_set)(MPI_Comm comm, int rank, unsigned level);
    /* Lets MPI work, as MPI_Test does. */
    void (*progress)(void);
} udp_flow_table_t;

#ifdef __cplusplus
}
#endif

#endif
