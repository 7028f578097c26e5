/*
 * What the files of the glue share: component, module, endpoint, fragment.  The
 * glue moves descriptors to the engine behind udp_core.h and decides nothing.
 *
 * Where to read next: btl_udp_component.c (parameters, opening, progress),
 * btl_udp_module.c (peers, fragments, sending), btl_udp_watch.c (while nobody calls), btl_udp_flow.c (what programs may ask).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BTL_UDP_H
#define BTL_UDP_H

#include "btl_udp_compat.h"

#include "udp_core.h"

BEGIN_C_DECLS

struct mca_btl_base_endpoint_t {
    opal_list_item_t super;
    opal_process_name_t name;   /* Open MPI gives processes up and meets them again, as other objects */
    uint32_t peer;              /* the engine's */
    opal_list_t waiting;        /* fragments to it that wait for room */
};
typedef struct mca_btl_base_endpoint_t mca_btl_udp_endpoint_t;
OBJ_CLASS_DECLARATION(mca_btl_udp_endpoint_t);

/*
 * Of fragments by what they hold.  The lists keep what was once under way, so that a fragment has little more room than its
 * message: two and a half times as much at most.
 */
#define UDP_FRAG_ROOMS 8
/* Bytes of those of list k; `most`: of the last. */
size_t mca_btl_udp_frag_room(int k, size_t most);

/* A descriptor with its bytes behind it.  Free when neither Open MPI nor the engine holds it. */
typedef struct mca_btl_udp_frag {
    mca_btl_base_descriptor_t base;
    mca_btl_base_segment_t segment;
    udp_outgoing_t record;
    mca_btl_udp_endpoint_t *endpoint;
    opal_free_list_t *home;
    bool held_above, held_below, callback_owed, waits, arrived;
} mca_btl_udp_frag_t;
OBJ_CLASS_DECLARATION(mca_btl_udp_frag_t);

typedef struct mca_btl_udp_component {
    mca_btl_base_component_3_0_0_t super;
    udp_params_t params;
    udp_params_t taken;         /* strings never NULL */
    bool refused;               /* security is to be what there is none of: not opened rather than open to all */
} mca_btl_udp_component_t;

OPAL_DECLSPEC extern mca_btl_udp_component_t mca_btl_udp_component;

typedef struct mca_btl_udp_module {
    mca_btl_base_module_t super;
    udp_engine_t *engine;
    opal_recursive_mutex_t lock;        /* around the engine, also where Open MPI has one thread: btl_udp_watch.c; let go while the layer above is called */
    int above;                          /* such calls that go on */
    unsigned passes;                    /* calls of progress; read without the lock */
    int delivering;                     /* of these, those out of the engine; read without the lock, too */
    opal_free_list_t frags[UDP_FRAG_ROOMS];
    opal_list_t completed;              /* fragments whose callback is owed */
    mca_btl_udp_endpoint_t **peers;     /* by the engine's index */
    size_t peers_room;
    opal_list_t endpoints;
    opal_event_t event, timer;          /* the socket; when something is due, if asked for */
    bool event_added, timer_added;
    mca_btl_base_module_error_cb_fn_t error;
} mca_btl_udp_module_t;

extern mca_btl_udp_module_t mca_btl_udp_module;
extern const udp_events_t mca_btl_udp_events;

int mca_btl_udp_progress(void);
/* btl_udp_watch.c; begin and woken: with the lock. */
void mca_btl_udp_watch_begin(mca_btl_udp_module_t *module);
void mca_btl_udp_watch_woken(void);
void mca_btl_udp_watch_end(void);
void mca_btl_udp_message_show(const char *topic, const udp_message_t *message);
void mca_btl_udp_counters_register(void);
void mca_btl_udp_peers_register(void);
/* NULL: not met yet. */
mca_btl_udp_endpoint_t *mca_btl_udp_endpoint_of(mca_btl_udp_module_t *module, const opal_proc_t *proc);
/* The same, but meets it; NULL: it cannot be reached. */
mca_btl_udp_endpoint_t *mca_btl_udp_endpoint_get(mca_btl_udp_module_t *module, opal_proc_t *proc);

END_C_DECLS

#endif
