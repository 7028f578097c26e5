/*
 * The C boundary of btl/udp: an engine is one socket, all peers and the protocol.
 *
 * Files that see Open MPI's headers are C and decide nothing; what decides is C++
 * behind this header.  Plain structs and codes; no exception crosses it and
 * nothing is printed.  An engine is used by one thread at a time.
 *
 * Where to read next: io/engine.cpp (the other side), core/endpoint.hpp (the
 * protocol), btl_udp_component.c (who calls).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_H
#define UDP_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum udp_code {
    UDP_OK = 0,
    UDP_ERR_NOMEM = -1,
    UDP_ERR_INPUT = -2,     /* a parameter is wrong: see the message */
    UDP_ERR_SYSTEM = -3,    /* the system refused: see the message */
    UDP_ERR_PEER = -4       /* the peer cannot be reached: see the message */
};

/* ---- parameters: each is defined once, in io/knobs.cpp --------------------- */

typedef struct udp_params {
    int mode;                   /* enumerator: modern, strict */
    int security;               /* enumerator: off, authenticate, encrypt */
    int control;                /* enumerator: tolerant, cubic, bbr, fixed */
    int64_t rate;               /* Mb/s of the fixed controller */
    char *key_file;             /* "" for none */
    char *interfaces;           /* "" for all */
    char *address;              /* that is told to peers, "" for those of the interfaces */
    int port_min, port_range;
    int mtu;                    /* bytes of an IP packet; 0: that of the device */
    int64_t socket_buffer;      /* bytes asked from the kernel, in each direction */
    int64_t window, unscheduled, incast, buffer;    /* bytes */
    int ack_delay;              /* us */
    int ack_every;              /* datagrams */
    int retransmit_pass;        /* datagrams */
    int dead;                   /* s; 0: never */
    int linger;                 /* s */
    int gso;                    /* 0, 1 */
    int timer;                  /* 0, 1 */
    int watch;                  /* ms; 0: nobody does */
    int verbose;
} udp_params_t;

typedef enum udp_knob_type { UDP_KNOB_INT, UDP_KNOB_INT64, UDP_KNOB_STRING, UDP_KNOB_ENUM } udp_knob_type_t;

typedef struct udp_knob {
    const char *name;           /* "window": Open MPI shows it as btl_udp_window */
    udp_knob_type_t type;
    size_t offset;              /* in udp_params_t */
    int64_t minimum, maximum;   /* inclusive; INT and INT64 only */
    int64_t initial;            /* default; STRING: always "" */
    int level;                  /* 1..9 as MPI_T */
    const char *help;           /* a sentence, with unit and range */
} udp_knob_t;

size_t udp_knob_count(void);
const udp_knob_t *udp_knob_get(size_t i);
/* Enumerator k of an ENUM knob (k = its value), NULL past the end. */
const char *udp_knob_enumerator(const udp_knob_t *knob, int k);

typedef struct udp_message {
    char where[256], what[256], remedy[256];
} udp_message_t;

/* ---- the engine ------------------------------------------------------------ */

typedef struct udp_engine udp_engine_t;

/* The core's record of a block under way; zero-initialised, kept by the caller until sent(). */
typedef struct udp_outgoing {
    uint64_t opaque[6];
} udp_outgoing_t;

typedef struct udp_events {
    /* A whole block; its bytes are valid during the call, which may send. */
    void (*deliver)(void *context, uint32_t peer, uint8_t user, const void *block, size_t length);
    /* The peer has the block, or is given up; the record is the caller's again. */
    void (*sent)(void *context, uint32_t peer, udp_outgoing_t *record, bool arrived);
    /* A datagram came that claims to be from a process of this job that is not known yet: add it, or do nothing.
     * Asked again ever less often for one that is not added. */
    void (*unknown)(void *context, uint32_t id);
    /* Nothing ever came from it, though what was sent has waited for an answer for seconds; told of one peer. */
    void (*unheard)(void *context, uint32_t peer);
    /* Nothing was heard for `dead` seconds. */
    void (*dead)(void *context, uint32_t peer);
} udp_events_t;

#define UDP_CARD_MAX 512
#define UDP_BLOCK_MAX (1 << 20)     /* bytes */

/* Where this process is, for udp_engine_open: processes with the same value reach each other by loopback. */
uint64_t udp_engine_host(void);
/* id: unique among all processes that may ever meet; ids: how many lower halves of it this job has.  host: the same for processes of one host.
 * UDP_OK with message->what not empty: works, but the user should know. */
int udp_engine_open(udp_engine_t **engine, const udp_params_t *params, uint64_t id, uint32_t ids, uint64_t host,
                    const udp_events_t *events, void *context, udp_message_t *message);
/* What peers must know of us; returns its bytes, at most UDP_CARD_MAX. */
size_t udp_engine_card(const udp_engine_t *engine, void *card);
int udp_engine_fd(const udp_engine_t *engine);
/* Readable when udp_engine_progress has something to do though nothing came; -1: not asked for. */
int udp_engine_timer_fd(const udp_engine_t *engine);
int udp_engine_peer(udp_engine_t *engine, const void *card, size_t length, uint32_t *peer, udp_message_t *message);

/* Where datagrams to it go, and where its answers should come: "UDP from port 1234 to 192.0.2.1 port 5678". */
void udp_engine_where(const udp_engine_t *engine, uint32_t peer, char *text, size_t room);

/* stream 0: control, 1: small, 2: bulk. */
void udp_engine_send(udp_engine_t *engine, uint32_t peer, udp_outgoing_t *record, const void *data,
                     size_t length, int stream, uint8_t user);
/* Receives, calls back, sends what may leave.  Returns how many datagrams came. */
int udp_engine_progress(udp_engine_t *engine);
/*
 * For another thread, in place of a caller who does not come: answers, sends what may leave and what was lost, but calls nobody; what there
 * is to tell waits for udp_engine_progress.
 */
enum udp_kept {
    UDP_KEPT_ALL,       /* nothing more to do until something is sent, or comes */
    UDP_KEPT,           /* again after some time */
    UDP_KEPT_SOON       /* something came: again when its Acks are due */
};
int udp_engine_keep(udp_engine_t *engine);
/* Whether it would be UDP_KEPT_ALL. */
bool udp_engine_rests(const udp_engine_t *engine);
/* Waits until peers have what was sent (at most `linger`), says farewell, closes the socket. */
void udp_engine_close(udp_engine_t *engine);

/* ---- what an application may look at: the paper's operations, per peer ------- */

typedef struct udp_view {
    int64_t delay_ns, delay_min_ns;     /* round trip; 0: not measured */
    uint64_t window, window_own, permitted, under_way, queue, queue_bytes, sent, sent_again, received, duplicates;
    uint64_t mtu, priority;
} udp_view_t;

typedef struct udp_totals {
    uint64_t received, strangers, replays, forgeries, moves;    /* datagrams; peers */
    uint64_t sent, sent_again;                                  /* datagrams with data */
    uint64_t queue, queue_bytes, peers;
    uint64_t refused_by_kernel;                                 /* datagrams not sent for want of buffers */
    int64_t delay_max_ns;                                       /* largest smoothed round trip of all peers */
} udp_totals_t;

void udp_engine_view(const udp_engine_t *engine, uint32_t peer, udp_view_t *view);
void udp_engine_totals(const udp_engine_t *engine, udp_totals_t *totals);
/* Whether `bytes` more to the peer would leave at once, or as many of them as the path takes at a time. */
bool udp_engine_may_write(udp_engine_t *engine, uint32_t peer, uint64_t bytes);
/* Sends again what the peer has not acknowledged within a round trip; returns how many datagrams that concerns. */
uint64_t udp_engine_push(udp_engine_t *engine, uint32_t peer);
/* Bytes that the peer may have under way to us; at most btl_udp_window; raised to what three of its largest blocks take. */
void udp_engine_window_set(udp_engine_t *engine, uint32_t peer, uint64_t bytes);
/* 0 as all, above: its datagrams leave before those of others, and it is permitted to send before them. */
void udp_engine_priority_set(udp_engine_t *engine, uint32_t peer, unsigned level);
/* Whether a sender should go on: no more than `buffer` is queued to the peer, nor than keeps the path busy. */
bool udp_engine_room(const udp_engine_t *engine, uint32_t peer, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
