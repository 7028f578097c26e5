/*
 * Peers, fragments, sending, completions.  Fragments hold a copy of what is sent,
 * so a sender may go on as soon as its fragment is queued, while the engine has room
 * for that peer; beyond that it waits until there is room again.
 *
 * Must not: know the protocol.
 * Next: udp_core.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "btl_udp.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void frag_construct(mca_btl_udp_frag_t *frag)
{
    frag->base.des_segments = &frag->segment;
    frag->base.des_segment_count = 1;
    frag->segment.seg_addr.pval = frag + 1;
}

OBJ_CLASS_INSTANCE(mca_btl_udp_frag_t, mca_btl_base_descriptor_t, frag_construct, NULL);
static void endpoint_construct(mca_btl_udp_endpoint_t *endpoint)
{
    OBJ_CONSTRUCT(&endpoint->waiting, opal_list_t);
}

static void endpoint_destruct(mca_btl_udp_endpoint_t *endpoint)
{
    while (NULL != opal_list_remove_first(&endpoint->waiting)) {
        ;       /* of the end of a job: their list goes, too */
    }
    OBJ_DESTRUCT(&endpoint->waiting);
}

OBJ_CLASS_INSTANCE(mca_btl_udp_endpoint_t, opal_list_item_t, endpoint_construct, endpoint_destruct);

#define SMALL_BYTES 1024    /* of a fragment for control and short messages */

static mca_btl_udp_module_t *udp(mca_btl_base_module_t *btl)
{
    return (mca_btl_udp_module_t *) btl;
}

/* ---- fragments -------------------------------------------------------------- */

size_t mca_btl_udp_frag_room(int k, size_t most)
{
    /* A power of two, as messages often are, and Open MPI's header. */
    return 0 == k ? SMALL_BYTES : UDP_FRAG_ROOMS - 1 == k ? most : ((size_t) SMALL_BYTES << k) + 512;
}

static mca_btl_udp_frag_t *frag_alloc(mca_btl_udp_module_t *module, size_t size, uint32_t flags)
{
    const size_t most = module->super.btl_max_send_size;
    mca_btl_udp_frag_t *frag;
    int k = 0;

    while (k < UDP_FRAG_ROOMS && size > mca_btl_udp_frag_room(k, most)) {
        ++k;
    }
    if (size > most || NULL == (frag = (mca_btl_udp_frag_t *) opal_free_list_get(&module->frags[k]))) {
        return NULL;
    }
    frag->home = &module->frags[k];
    frag->segment.seg_addr.pval = frag + 1;
    frag->segment.seg_len = size;
    frag->base.des_segments = &frag->segment;
    frag->base.des_segment_count = 1;
    frag->base.des_flags = flags;
    frag->base.order = MCA_BTL_NO_ORDER;
    frag->held_above = true;
    frag->held_below = frag->callback_owed = frag->waits = false;
    frag->arrived = true;
    return frag;
}

static void frag_release(mca_btl_udp_frag_t *frag)
{
    if (!frag->held_above && !frag->held_below && !frag->callback_owed) {
        opal_free_list_return(frag->home, (opal_free_list_item_t *) frag);
    }
}

static mca_btl_base_descriptor_t *btl_alloc(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                                            uint8_t order, size_t size, uint32_t flags)
{
    (void) endpoint;
    (void) order;
    return (mca_btl_base_descriptor_t *) frag_alloc(udp(btl), size, flags);
}

static int btl_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    mca_btl_udp_frag_t *frag = (mca_btl_udp_frag_t *) descriptor;

    opal_mutex_lock(&udp(btl)->lock);
    frag->held_above = false;
    frag_release(frag);
    opal_mutex_unlock(&udp(btl)->lock);
    return OPAL_SUCCESS;
}

static mca_btl_base_descriptor_t *btl_prepare_src(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                                                  opal_convertor_t *convertor, uint8_t order, size_t reserve,
                                                  size_t *size, uint32_t flags)
{
    mca_btl_udp_frag_t *frag;
    struct iovec iov;
    uint32_t count = 1;
    size_t bytes = *size;

    (void) endpoint;
    (void) order;
    if (bytes + reserve > btl->btl_max_send_size) {
        bytes = btl->btl_max_send_size - reserve;
    }
    if (NULL == (frag = frag_alloc(udp(btl), bytes + reserve, flags))) {
        return NULL;
    }
    iov.iov_base = (IOVBASE_TYPE *) ((unsigned char *) (frag + 1) + reserve);
    iov.iov_len = bytes;
    if (opal_convertor_pack(convertor, &iov, &count, &bytes) < 0) {
        btl_free(btl, &frag->base);
        return NULL;
    }
    frag->segment.seg_len = reserve + bytes;
    *size = bytes;
    return &frag->base;
}

/* ---- sending ---------------------------------------------------------------- */

static int btl_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    mca_btl_udp_module_t *module = udp(btl);
    mca_btl_udp_frag_t *frag = (mca_btl_udp_frag_t *) descriptor;
    const size_t length = frag->segment.seg_len;
    const bool owned = 0 != (descriptor->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    const bool always = 0 != (descriptor->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    const int stream = 0 != (descriptor->des_flags & MCA_BTL_DES_FLAGS_PRIORITY) ? 0
                       : length <= SMALL_BYTES ? 1 : 2;
    bool room;
    int rc;

    opal_mutex_lock(&module->lock);
    room = udp_engine_room(module->engine, endpoint->peer, length);
    frag->endpoint = endpoint;
    frag->held_below = true;
    frag->callback_owed = true;
    if (owned) {
        frag->held_above = false;
    }
    rc = OPAL_SUCCESS;
    if (room && !always) {
        frag->callback_owed = false;    /* complete as far as the caller is concerned */
        rc = 1;
    } else {
        opal_list_append(room ? &module->completed : &endpoint->waiting, (opal_list_item_t *) frag);
    }
    /* Not again for `sent`: it looks at this. */
    frag->waits = !room;
    frag->arrived = true;
    udp_engine_send(module->engine, endpoint->peer, &frag->record, frag + 1, length, stream, (uint8_t) tag);
    mca_btl_udp_watch_woken();
    opal_mutex_unlock(&module->lock);
    return rc;
}

/* From those that wait for room to those whose callback is owed. */
static void frag_complete(mca_btl_udp_module_t *module, mca_btl_udp_frag_t *frag)
{
    opal_list_remove_item(&frag->endpoint->waiting, (opal_list_item_t *) frag);
    frag->waits = false;
    opal_list_append(&module->completed, (opal_list_item_t *) frag);
}

static void event_sent(void *context, uint32_t peer, udp_outgoing_t *record, bool arrived)
{
    mca_btl_udp_module_t *module = context;
    mca_btl_udp_frag_t *frag = (mca_btl_udp_frag_t *) ((char *) record - offsetof(mca_btl_udp_frag_t, record));
    opal_list_t *waiting = &module->peers[peer]->waiting;

    frag->held_below = false;
    if (frag->waits) {
        frag->arrived = arrived;
        frag_complete(module, frag);
    } else {
        frag_release(frag);
    }
    while (!opal_list_is_empty(waiting) && udp_engine_room(module->engine, peer, 0)) {
        frag_complete(module, (mca_btl_udp_frag_t *) opal_list_get_first(waiting));
    }
}

static void event_deliver(void *context, uint32_t peer, uint8_t user, const void *block, size_t length)
{
    mca_btl_udp_module_t *module = context;
    mca_btl_udp_endpoint_t *endpoint = module->peers[peer];

    /* Who adds a process holds a lock of the layer above and waits for ours; to answer, that layer may have to add one. */
    ++module->above;
    __atomic_add_fetch(&module->delivering, 1, __ATOMIC_RELAXED);
    opal_mutex_unlock(&module->lock);
    mca_btl_udp_compat_deliver(&module->super, endpoint, user, block, length);
    opal_mutex_lock(&module->lock);
    __atomic_sub_fetch(&module->delivering, 1, __ATOMIC_RELAXED);
    --module->above;
}

/* "rank 3 of this job on n07" */
static void peer_name(const opal_process_name_t *name, char *text, size_t size)
{
    const opal_proc_t *proc = opal_proc_for_name(*name);
    const char *host = NULL == proc ? NULL : opal_get_proc_hostname(proc);

    snprintf(text, size, "rank %u of %s job%s%.128s", (unsigned) name->vpid, name->jobid == OPAL_PROC_MY_NAME.jobid ? "this" : "another",
             NULL == host ? "" : " on ", NULL == host ? "" : host);
}

static void event_unheard(void *context, uint32_t peer)
{
    mca_btl_udp_module_t *module = context;
    char where[160];
    udp_message_t message;

    udp_engine_where(module->engine, peer, where, sizeof(where));
    peer_name(&module->peers[peer]->name, message.where, sizeof(message.where));
    snprintf(message.what, sizeof(message.what), "no answer ever came to %s", where);
    snprintf(message.remedy, sizeof(message.remedy), "let UDP pass between all hosts of the job, both ways; "
             "btl_udp_port_min and btl_udp_port_range say on which ports");
    mca_btl_udp_message_show("peer-unheard", &message);
}

static void event_dead(void *context, uint32_t peer)
{
    mca_btl_udp_module_t *module = context;
    mca_btl_udp_endpoint_t *endpoint = module->peers[peer];
    udp_message_t message;

    peer_name(&endpoint->name, message.where, sizeof(message.where));
    snprintf(message.what, sizeof(message.what), "nothing was heard from it for %d s (btl_udp_dead)", mca_btl_udp_component.taken.dead);
    snprintf(message.remedy, sizeof(message.remedy), "where it lives: make btl_udp_dead longer than its longest computation between two calls of MPI");
    mca_btl_udp_message_show("peer-dead", &message);
    if (NULL != module->error) {
        module->error(&module->super, MCA_BTL_ERROR_FLAGS_FATAL, opal_proc_for_name(endpoint->name), "btl/udp: silent peer");
    }
}

static void event_unknown(void *context, uint32_t id);
const udp_events_t mca_btl_udp_events = { event_deliver, event_sent, event_unknown, event_unheard, event_dead };

int mca_btl_udp_progress(void)
{
    mca_btl_udp_module_t *module = &mca_btl_udp_module;
    opal_list_item_t *item;
    int n;

    /* Who hands up a block wants the lock back: others would get nothing out of the engine before, and not fight for it. */
    __atomic_store_n(&module->passes, module->passes + 1, __ATOMIC_RELAXED);
    if (0 != __atomic_load_n(&module->delivering, __ATOMIC_RELAXED) && opal_list_is_empty(&module->completed)) {
        return 0;
    }
    if (NULL == module->engine || opal_mutex_trylock(&module->lock)) {
        return 0;
    }
    if (NULL == module->engine) {
        opal_mutex_unlock(&module->lock);      /* closed while we waited */
        return 0;
    }
    n = udp_engine_progress(module->engine);
    while (NULL != (item = opal_list_remove_first(&module->completed))) {
        mca_btl_udp_frag_t *frag = (mca_btl_udp_frag_t *) item;

        if (NULL != frag->base.des_cbfunc) {
            ++module->above;
            opal_mutex_unlock(&module->lock);      /* as for what comes */
            frag->base.des_cbfunc(&module->super, frag->endpoint, &frag->base,
                                  frag->arrived ? OPAL_SUCCESS : OPAL_ERR_UNREACH);
            opal_mutex_lock(&module->lock);
            --module->above;
        }
        frag->callback_owed = false;
        frag_release(frag);
        ++n;
    }
    opal_mutex_unlock(&module->lock);
    return n;
}

/* ---- peers ------------------------------------------------------------------ */

mca_btl_udp_endpoint_t *mca_btl_udp_endpoint_of(mca_btl_udp_module_t *module, const opal_proc_t *proc)
{
    mca_btl_udp_endpoint_t *endpoint;

    OPAL_LIST_FOREACH(endpoint, &module->endpoints, mca_btl_udp_endpoint_t) {
        if (0 == opal_compare_proc(endpoint->name, proc->proc_name)) {
            return endpoint;
        }
    }
    return NULL;
}

/* Of the first one: what is wrong with it is mostly wrong with many. */
static void bad_peer_say(const opal_proc_t *proc, const udp_message_t *found)
{
    static bool said;
    udp_message_t message = *found;

    if (said) {
        return;
    }
    said = true;
    peer_name(&proc->proc_name, message.where, sizeof(message.where));
    snprintf(message.what, sizeof(message.what), "%.100s: %.150s", found->where, found->what);
    mca_btl_udp_message_show("bad-peer", &message);
}

static mca_btl_udp_endpoint_t *endpoint_add(mca_btl_udp_module_t *module, opal_proc_t *proc)
{
    mca_btl_udp_endpoint_t *endpoint;
    udp_message_t message = { "", "", "" };
    void *card = NULL;
    size_t length = 0;
    uint32_t peer;
    int rc;

    OPAL_MODEX_RECV(rc, &mca_btl_udp_component.super.btl_version, &proc->proc_name, &card, &length);
    if (OPAL_SUCCESS != rc || NULL == card) {
        return NULL;
    }
    rc = udp_engine_peer(module->engine, card, length, &peer, &message);
    free(card);
    if (UDP_OK != rc) {
        bad_peer_say(proc, &message);
        return NULL;
    }
    if (peer >= module->peers_room) {
        size_t room = 2 * (size_t) peer + 16;
        mca_btl_udp_endpoint_t **peers = realloc(module->peers, room * sizeof(*peers));

        if (NULL == peers) {
            return NULL;
        }
        module->peers = peers;
        module->peers_room = room;
    }
    endpoint = OBJ_NEW(mca_btl_udp_endpoint_t);
    endpoint->name = proc->proc_name;
    endpoint->peer = peer;
    module->peers[peer] = endpoint;
    opal_list_append(&module->endpoints, &endpoint->super);
    return endpoint;
}

mca_btl_udp_endpoint_t *mca_btl_udp_endpoint_get(mca_btl_udp_module_t *module, opal_proc_t *proc)
{
    mca_btl_udp_endpoint_t *endpoint = mca_btl_udp_endpoint_of(module, proc);

    return NULL != endpoint ? endpoint : endpoint_add(module, proc);
}

/* Open MPI adds a process when it first sends to it; one that sends to us may be new. */
static void event_unknown(void *context, uint32_t id)
{
    mca_btl_udp_module_t *module = context;
    opal_process_name_t name = { OPAL_PROC_MY_NAME.jobid, id };
    opal_proc_t *proc = opal_proc_for_name(name);

    if (NULL != proc && proc != opal_proc_local_get()) {
        (void) mca_btl_udp_endpoint_get(module, proc);
    }
}

static int btl_add_procs(mca_btl_base_module_t *btl, size_t n, opal_proc_t **procs,
                         struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    mca_btl_udp_module_t *module = udp(btl);
    const opal_proc_t *self = opal_proc_local_get();

    opal_mutex_lock(&module->lock);
    for (size_t i = 0; i < n; ++i) {
        if (procs[i] == self) {
            continue;
        }
        endpoints[i] = mca_btl_udp_endpoint_get(module, procs[i]);
        if (NULL != endpoints[i] && NULL != reachable) {
            opal_bitmap_set_bit(reachable, (int) i);
        }
    }
    if (!module->event_added) {
        mca_btl_udp_watch_begin(module);
        module->event_added = true;
        opal_event_add(&module->event, 0);
        if (udp_engine_timer_fd(module->engine) >= 0) {
            module->timer_added = true;
            opal_event_add(&module->timer, 0);
        }
    }
    opal_mutex_unlock(&module->lock);
    return OPAL_SUCCESS;
}

/* The engine keeps its peers to the end: late datagrams of a peer that left need an answer. */
static int btl_del_procs(mca_btl_base_module_t *btl, size_t n, opal_proc_t **procs,
                         struct mca_btl_base_endpoint_t **endpoints)
{
    (void) btl;
    (void) n;
    (void) procs;
    (void) endpoints;
    return OPAL_SUCCESS;
}

static int btl_finalize(mca_btl_base_module_t *btl)
{
    mca_btl_udp_module_t *module = udp(btl);
    opal_list_item_t *item;
    udp_totals_t t;

    mca_btl_udp_watch_end();
    /* Other threads may be inside, or come: for progress, or to read a counter. */
    opal_mutex_lock(&module->lock);
    if (NULL == module->engine) {
        opal_mutex_unlock(&module->lock);
        return OPAL_SUCCESS;
    }
    /* Who is in the layer above comes back into the engine, and opal_event_del waits for him if an event brought him. */
    while (0 != module->above) {
        opal_mutex_unlock(&module->lock);
        sched_yield();
        opal_mutex_lock(&module->lock);
    }
    if (module->event_added) {
        opal_event_del(&module->event);
    }
    if (module->timer_added) {
        opal_event_del(&module->timer);
    }
    module->event_added = module->timer_added = false;
    udp_engine_totals(module->engine, &t);
    if (mca_btl_udp_component.taken.verbose >= 1) {
        opal_output(0, "btl/udp: %" PRIu64 " datagrams with data, %" PRIu64 " of them again; received %" PRIu64
                    ", strangers %" PRIu64 ", replays %" PRIu64 ", forgeries %" PRIu64 ", refused by the kernel %" PRIu64,
                    t.sent, t.sent_again, t.received, t.strangers, t.replays, t.forgeries, t.refused_by_kernel);
        for (uint32_t p = 0; mca_btl_udp_component.taken.verbose >= 2 && p < t.peers; ++p) {
            udp_view_t v;

            udp_engine_view(module->engine, p, &v);
            opal_output(0, "btl/udp: peer %u: round trip %.3f ms (least %.3f), window %" PRIu64 ", mtu %" PRIu64 ", sent %" PRIu64
                        ", again %" PRIu64 ", received %" PRIu64 ", twice %" PRIu64, p, (double) v.delay_ns / 1e6,
                        (double) v.delay_min_ns / 1e6, v.window, v.mtu, v.sent, v.sent_again, v.received, v.duplicates);
        }
    }
    udp_engine_close(module->engine);
    module->engine = NULL;
    while (NULL != (item = opal_list_remove_first(&module->completed))) {
        ;
    }
    while (NULL != (item = opal_list_remove_first(&module->endpoints))) {
        OBJ_RELEASE(item);
    }
    free(module->peers);
    module->peers = NULL;
    module->peers_room = 0;
    for (int k = 0; k < UDP_FRAG_ROOMS; ++k) {
        OBJ_DESTRUCT(&module->frags[k]);
    }
    OBJ_DESTRUCT(&module->completed);
    OBJ_DESTRUCT(&module->endpoints);
    opal_mutex_unlock(&module->lock);
    return OPAL_SUCCESS;
}

static int btl_register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t error)
{
    udp(btl)->error = error;
    return OPAL_SUCCESS;
}

mca_btl_udp_module_t mca_btl_udp_module = {
    .super = {
        .btl_component = &mca_btl_udp_component.super,
        .btl_add_procs = btl_add_procs,
        .btl_del_procs = btl_del_procs,
        .btl_finalize = btl_finalize,
        .btl_alloc = btl_alloc,
        .btl_free = btl_free,
        .btl_prepare_src = btl_prepare_src,
        .btl_send = btl_send,
        .btl_dump = mca_btl_base_dump,
        .btl_register_error = btl_register_error,
    },
};
