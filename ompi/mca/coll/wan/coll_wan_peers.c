/*
 * What processes tell each other before any collective: one string per
 * process in the modex, its card (wan_core.h), under a key of our own.
 *
 * A lookup has three outcomes that must not be mixed up: a card, definitely
 * none, or an error, which says nothing about the peer.  Errors are tried
 * again; what follows from one that stays is the core's to say
 * (wan_census_decide).  Cards and their absence never change, so that each is
 * looked up once in a process, whatever the number of communicators.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Another key for another form of the text that begins differently. */
static const char modex_key[] = "wan-ompi.card";

/* 64-bit FNV-1a: two hosts get one number with probability 2^-64 per pair. */
uint64_t mca_coll_wan_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; '\0' != *text; ++text) {
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* ---- cache ----------------------------------------------------------------- */

/* Sites are few and shared by many processes: kept once. */
typedef struct wan_site_entry {
    struct wan_site_entry *next;
    char name[];
} wan_site_entry_t;

typedef struct wan_peer_entry {
    wan_peer_state_t state;     /* KNOWN or FOREIGN */
    wan_peer_t peer;            /* if KNOWN */
    wan_reason_t reason;        /* if FOREIGN */
    int differs;                /* its value of the parameter that is the reason */
} wan_peer_entry_t;

static struct {
    opal_mutex_t lock;
    opal_hash_table_t table;    /* opal_process_name_t -> wan_peer_entry_t */
    wan_site_entry_t *sites;
    bool open;
} cache = { .lock = OPAL_MUTEX_STATIC_INIT };

bool mca_coll_wan_peers_open(void)
{
    if (!cache.open) {
        OBJ_CONSTRUCT(&cache.table, opal_hash_table_t);
        cache.open = OPAL_SUCCESS == opal_hash_table_init(&cache.table, 64);
        if (!cache.open) {
            OBJ_DESTRUCT(&cache.table);
        }
    }
    return cache.open;
}

void mca_coll_wan_peers_close(void)
{
    void *key, *value, *node = NULL;
    size_t length;

    if (!cache.open) {
        return;
    }
    for (int rc = opal_hash_table_get_first_key_ptr(&cache.table, &key, &length, &value, &node);
         OPAL_SUCCESS == rc;
         rc = opal_hash_table_get_next_key_ptr(&cache.table, &key, &length, &value, node, &node)) {
        free(value);
    }
    OBJ_DESTRUCT(&cache.table);
    while (NULL != cache.sites) {
        wan_site_entry_t *next = cache.sites->next;

        free(cache.sites);
        cache.sites = next;
    }
    cache.open = false;
}

/* NULL: not there yet. */
static const wan_peer_entry_t *cache_find(opal_process_name_t name)
{
    void *found = NULL;

    opal_mutex_lock(&cache.lock);
    if (OPAL_SUCCESS != opal_hash_table_get_value_ptr(&cache.table, &name, sizeof(name), &found)) {
        found = NULL;
    }
    opal_mutex_unlock(&cache.lock);
    return found;
}

/* With the lock held.  NULL: no memory. */
static const char *site_keep(const char *name)
{
    wan_site_entry_t **at = &cache.sites, *entry;

    while (NULL != *at && 0 != strcmp((*at)->name, name)) {
        at = &(*at)->next;
    }
    entry = *at;
    if (NULL != entry) {
        *at = entry->next;
    } else if (NULL == (entry = malloc(sizeof(*entry) + strlen(name) + 1))) {
        return NULL;
    } else {
        strcpy(entry->name, name);
    }
    entry->next = cache.sites;      /* to the front: the next process is mostly of the same site */
    cache.sites = entry;
    return entry->name;
}

/* Another thread may have been faster: its entry stays, and may be in use.  NULL: no memory. */
static const wan_peer_entry_t *cache_keep(opal_process_name_t name, const wan_peer_entry_t *found)
{
    wan_peer_entry_t *entry = NULL;
    void *there = NULL;

    opal_mutex_lock(&cache.lock);
    if (OPAL_SUCCESS == opal_hash_table_get_value_ptr(&cache.table, &name, sizeof(name), &there)) {
        entry = there;
        goto unlock;
    }
    entry = malloc(sizeof(*entry));
    if (NULL == entry) {
        goto unlock;
    }
    *entry = *found;
    if (WAN_PEER_KNOWN == entry->state) {
        entry->peer.site = site_keep(found->peer.site);
    }
    if ((WAN_PEER_KNOWN == entry->state && NULL == entry->peer.site)
        || OPAL_SUCCESS != opal_hash_table_set_value_ptr(&cache.table, &name, sizeof(name), entry)) {
        free(entry);
        entry = NULL;
    }

unlock:
    opal_mutex_unlock(&cache.lock);
    return entry;
}

/* ---- cards ------------------------------------------------------------------ */

static wan_card_t card_mine(void)
{
    const mca_coll_wan_component_t *component = &mca_coll_wan_component;

    return (wan_card_t) {
        .priority = component->params.priority, .discover = component->params.discover, .arch = opal_local_arch, .node = component->node,
        .domain = component->domain, .site = component->site,
    };
}

int mca_coll_wan_peers_publish(void)
{
    const wan_card_t mine = card_mine();
    char text[WAN_CARD_MAX];

    wan_card_print(&mine, text);
    return mca_coll_wan_compat_publish(modex_key, text);
}

/*
 * Where the fence at start gathered everything, what is not here does not
 * exist.  Otherwise (asynchronous or direct modex, processes of another job),
 * and after an error, the peer's server is asked; only then does a missing key
 * cost its seconds, and the first one ends the search.
 */
static int card_lookup_once(opal_process_name_t *name, char **text)
{
    bool complete = opal_pmix_collect_all_data && !opal_pmix_base_async_modex
                    && name->jobid == OPAL_PROC_MY_NAME.jobid;
    int rc = mca_coll_wan_compat_lookup(WAN_LOOKUP_OPTIONAL, modex_key, name, text);

    if (OMPI_SUCCESS == rc || (OMPI_ERR_NOT_FOUND == rc && complete)) {
        return rc;
    }
    rc = mca_coll_wan_compat_lookup(WAN_LOOKUP_IMMEDIATE, modex_key, name, text);
    if (OMPI_SUCCESS == rc) {
        return rc;
    }
    return mca_coll_wan_compat_lookup(WAN_LOOKUP_BLOCKING, modex_key, name, text);
}

/*
 * An error that stays ends the job: waiting 10, 20, 40, 80 ms in between costs little.
 *
 * Where cards are fetched one by one, a time-out is the only way in which a server tells that
 * there is none: cards were committed before anyone could ask.  It is also what a server gives
 * that was slow, hence three of them.
 */
#define LOOKUP_ATTEMPTS 5
#define LOOKUP_TIMEOUTS 3
#define LOOKUP_PAUSE_US 10000

static int card_lookup(opal_process_name_t *name, char **text)
{
    int rc = OMPI_ERROR, timeouts = 0;

    for (int attempt = 0; attempt < LOOKUP_ATTEMPTS; ++attempt) {
        if (0 < attempt) {
            usleep(LOOKUP_PAUSE_US << (attempt - 1));
        }
        rc = card_lookup_once(name, text);
        if (OMPI_SUCCESS == rc || OMPI_ERR_NOT_FOUND == rc) {
            break;
        }
        if (OMPI_ERR_TIMEOUT == rc && LOOKUP_TIMEOUTS == ++timeouts) {
            return OMPI_ERR_NOT_FOUND;
        }
    }
    return rc;
}

/* NULL: it could not be looked up. */
static const wan_peer_entry_t *peer_find(opal_process_name_t name)
{
    const wan_peer_entry_t *kept = cache_find(name);
    wan_peer_entry_t found = { .state = WAN_PEER_FOREIGN, .reason = WAN_REASON_NO_PLUGIN };
    const wan_card_t mine = card_mine();
    char *text = NULL;
    int rc;

    if (NULL != kept) {
        return kept;
    }
    rc = card_lookup(&name, &text);
    if (OMPI_SUCCESS != rc && OMPI_ERR_NOT_FOUND != rc) {
        return NULL;
    }
    if (OMPI_SUCCESS == rc) {
        wan_card_t card;

        found.reason = wan_card_read(&mine, text, &card);
        if (WAN_REASON_NONE == found.reason) {
            found.state = WAN_PEER_KNOWN;
            found.peer = (wan_peer_t) { .site = card.site, .node = card.node, .domain = card.domain };
        }
        found.differs = WAN_REASON_OTHER_PRIORITY == found.reason ? card.priority : card.discover;
    }
    kept = cache_keep(name, &found);
    free(text);
    return kept;
}

/* ---- a communicator's ranks ----------------------------------------------------- */

/* What it says itself, or what was found by measuring. */
static const char *site_of(const wan_peer_entry_t *entry, opal_process_name_t name)
{
    return '\0' != *entry->peer.site ? entry->peer.site : mca_coll_wan_discover_site(name);
}

wan_stand_t mca_coll_wan_peers_decide(struct ompi_communicator_t *comm, bool discovered,
                                      wan_refusal_t *refusal)
{
    wan_census_t census;
    wan_stand_t stand;

    memset(&census, 0, sizeof(census));
    /* A foreign one decides, and the first one found ends the search: looking for it may cost seconds. */
    for (int i = 0; i < ompi_comm_size(comm) && WAN_REASON_NONE == census.foreign.reason; ++i) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, i);
        const wan_peer_entry_t *entry = peer_find(name);

        if (NULL == entry) {
            wan_census_add(&census, i, WAN_PEER_UNKNOWN, NULL, 0, WAN_REASON_NONE);
        } else {
            const bool finds = discovered && WAN_PEER_KNOWN == entry->state;

            wan_census_add(&census, i, entry->state, finds ? site_of(entry, name) : entry->peer.site,
                           entry->peer.node, entry->reason);
        }
    }
    stand = wan_census_decide(&census, !discovered && 0 != mca_coll_wan_component.params.discover, refusal);
    if (WAN_REASON_OTHER_PRIORITY == refusal->reason || WAN_REASON_OTHER_DISCOVER == refusal->reason) {
        const wan_peer_entry_t *other = cache_find(ompi_group_get_proc_name(comm->c_local_group, refusal->rank));
        const wan_card_t mine = card_mine();

        if (NULL != other) {
            wan_refusal_differs(refusal, ompi_comm_rank(comm), WAN_REASON_OTHER_PRIORITY == refusal->reason ? mine.priority : mine.discover,
                                other->differs);
        }
    }
    return stand;
}

/* Absent cards may take seconds each, so that few are looked for, and only for those who asked for words. */
bool mca_coll_wan_peers_first(struct ompi_communicator_t *comm)
{
    int i = 0;

    for (; i < ompi_comm_rank(comm) && i < 4; ++i) {
        const wan_peer_entry_t *entry = peer_find(ompi_group_get_proc_name(comm->c_local_group, i));

        if (NULL != entry && WAN_PEER_KNOWN == entry->state) {
            return false;
        }
    }
    return i == ompi_comm_rank(comm);
}

bool mca_coll_wan_peers_fill(struct ompi_communicator_t *comm, wan_peer_t *peers)
{
    for (int i = 0; i < ompi_comm_size(comm); ++i) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, i);
        const wan_peer_entry_t *entry = peer_find(name);

        if (NULL == entry || WAN_PEER_KNOWN != entry->state) {
            return false;
        }
        peers[i] = entry->peer;
        peers[i].site = site_of(entry, name);
    }
    return true;
}
