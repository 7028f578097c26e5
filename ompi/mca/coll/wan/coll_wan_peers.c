/*
 * What processes tell each other before any collective: one string per
 * process in the modex, `VERSION NODE DOMAIN SITE`, under a key of our own.
 *
 * A lookup has three outcomes that must not be mixed up.  A peer that
 * definitely published nothing, or another version, will not take part in the
 * agreement, so that nobody may start one.  A lookup that failed says nothing
 * about the peer: the others may have seen its string, so that this process
 * must take part, and votes no.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char modex_key[] = "wan-ompi.place";

/* 64-bit FNV-1a: two hosts get one number with probability 2^-64 per pair. */
uint64_t mca_coll_wan_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; '\0' != *text; ++text) {
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

int mca_coll_wan_peers_publish(const char *site, uint64_t node, uint64_t domain)
{
    char text[WAN_SITE_MAX + 80];

    snprintf(text, sizeof(text), WAN_PLUGIN_VERSION " %" PRIx64 " %" PRIx64 " %s", node, domain, site);
    return mca_coll_wan_compat_publish(modex_key, text);
}

/*
 * Where the fence at start gathered everything, what is not here does not
 * exist.  Otherwise (asynchronous or direct modex, processes of another job)
 * the peer's server is asked; only then does a missing key cost its 2 s, and
 * the first one ends the search.
 */
static int peer_lookup(opal_process_name_t *name, char **text)
{
    bool complete = opal_pmix_collect_all_data && !opal_pmix_base_async_modex
                    && name->jobid == OPAL_PROC_MY_NAME.jobid;
    int rc = mca_coll_wan_compat_lookup(WAN_LOOKUP_OPTIONAL, modex_key, name, text);

    if (OMPI_ERR_NOT_FOUND != rc || complete) {
        return rc;
    }
    rc = mca_coll_wan_compat_lookup(WAN_LOOKUP_IMMEDIATE, modex_key, name, text);
    if (OMPI_ERR_NOT_FOUND != rc) {
        return rc;
    }
    return mca_coll_wan_compat_lookup(WAN_LOOKUP_BLOCKING, modex_key, name, text);
}

/* Copies the site into site[]; false for another version. */
static bool peer_parse(const char *text, wan_peer_t *peer, char site[WAN_SITE_MAX])
{
    const size_t length = strlen(WAN_PLUGIN_VERSION);
    char *end;

    if (0 != strncmp(text, WAN_PLUGIN_VERSION, length) || ' ' != text[length]) {
        return false;
    }
    peer->node = strtoull(text + length + 1, &end, 16);
    if (' ' != *end) {
        return false;
    }
    peer->domain = strtoull(end + 1, &end, 16);
    if (' ' != *end || strlen(end + 1) >= WAN_SITE_MAX) {
        return false;
    }
    strcpy(site, end + 1);
    return true;
}

/*
 * Appends a site to *sites, or uses the one before it: ranks of one site mostly
 * follow each other.  The text may move, hence offsets.
 */
static bool site_append(char **sites, size_t *used, size_t *room, size_t previous,
                        const char *site, size_t *offset)
{
    size_t length = strlen(site) + 1;

    if (SIZE_MAX != previous && 0 == strcmp(*sites + previous, site)) {
        *offset = previous;
        return true;
    }
    if (*used + length > *room) {
        size_t wanted = 2 * *room + WAN_SITE_MAX;
        char *grown = realloc(*sites, wanted);
        if (NULL == grown) {
            return false;
        }
        *sites = grown;
        *room = wanted;
    }
    memcpy(*sites + *used, site, length);
    *offset = *used;
    *used += length;
    return true;
}

/* One peer's site into site[]. */
static wan_peers_state_t peer_read(struct ompi_communicator_t *comm, int rank, wan_peer_t *peer,
                                   char site[WAN_SITE_MAX], const char **reason)
{
    opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);
    char *text = NULL;
    bool ours;
    int rc = peer_lookup(&name, &text);

    if (OMPI_ERR_NOT_FOUND == rc) {
        *reason = "a process runs without coll/wan";
        return WAN_PEERS_FOREIGN;
    }
    if (OMPI_SUCCESS != rc) {
        *reason = "the site of a process could not be looked up";
        return WAN_PEERS_UNKNOWN;
    }
    ours = peer_parse(text, peer, site);
    free(text);
    if (!ours) {
        *reason = "a process runs another version of coll/wan";
        return WAN_PEERS_FOREIGN;
    }
    return WAN_PEERS_KNOWN;
}

wan_peers_state_t mca_coll_wan_peers_lookup(struct ompi_communicator_t *comm, wan_peer_t *peers,
                                            char **sites, const char **reason)
{
    wan_peers_state_t state = WAN_PEERS_KNOWN;
    int size = ompi_comm_size(comm);
    size_t used = 0, room = 0, previous = SIZE_MAX;
    size_t *offsets = malloc(size * sizeof(*offsets));
    char site[WAN_SITE_MAX];

    *sites = NULL;
    *reason = "no memory";
    if (NULL == offsets) {
        return WAN_PEERS_UNKNOWN;
    }
    for (int i = 0; i < size && WAN_PEERS_FOREIGN != state; ++i) {
        wan_peers_state_t one = peer_read(comm, i, &peers[i], site, reason);

        if (WAN_PEERS_KNOWN == one
            && !site_append(sites, &used, &room, previous, site, &offsets[i])) {
            one = WAN_PEERS_UNKNOWN;
        }
        if (WAN_PEERS_KNOWN != one) {
            state = one;    /* after an unknown one, a definite absence may follow */
            continue;
        }
        previous = offsets[i];
    }
    for (int i = 0; WAN_PEERS_KNOWN == state && i < size; ++i) {
        peers[i].site = *sites + offsets[i];
    }
    free(offsets);
    return state;
}
