/*
 * The differences between Open MPI's series, and nothing else: the only file
 * that knows versions.  Included first by every file of the glue; whatever
 * differs gets one name here (WAN_*, mca_coll_wan_compat_*), so that the other
 * files read the same for 4.1 and 5.0.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COLL_WAN_COMPAT_H
#define COLL_WAN_COMPAT_H

#include "ompi_config.h"

#include "wan_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/topo/base/base.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/class/opal_hash_table.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_vari.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/arch.h"
#include "opal/util/output.h"
#include "opal/util/show_help.h"

#if OMPI_MAJOR_VERSION >= 5
#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/mutex.h"
#else
#include "opal/mca/pmix/pmix.h"
#include "opal/threads/mutex.h"
#endif

/* ---- component ---------------------------------------------------------- */

#if defined(MCA_COLL_BASE_VERSION_3_0_0)
#error "this Open MPI installs collectives in another way (component interface 3): not supported yet"
#elif defined(MCA_COLL_BASE_VERSION_2_4_0)
#define WAN_COLL_BASE_VERSION MCA_COLL_BASE_VERSION_2_4_0
typedef mca_coll_base_component_2_4_0_t wan_coll_base_component_t;
#else
#define WAN_COLL_BASE_VERSION MCA_COLL_BASE_VERSION_2_0_0
typedef mca_coll_base_component_2_0_0_t wan_coll_base_component_t;
#endif

/* How the version text of the libraries that fit our headers begins. */
#define WAN_TEXT_(x) #x
#define WAN_TEXT(x) WAN_TEXT_(x)
#define WAN_OMPI_SERIES "Open MPI v" WAN_TEXT(OMPI_MAJOR_VERSION) "." WAN_TEXT(OMPI_MINOR_VERSION) "."

/* ---- communicators ------------------------------------------------------ */

static inline uint32_t mca_coll_wan_compat_cid(const ompi_communicator_t *comm)
{
#if OMPI_MAJOR_VERSION >= 5
    return ompi_comm_get_local_cid(comm);
#else
    return comm->c_contextid;
#endif
}

/* The same number on all ranks, of no other communicator that lives at the same time. */
static inline uint32_t mca_coll_wan_compat_cid_everywhere(const ompi_communicator_t *comm)
{
#if OMPI_MAJOR_VERSION >= 5
    const uint64_t both = comm->c_contextid.cid_base * UINT64_C(0x9e3779b97f4a7c15) ^ comm->c_contextid.cid_sub.u64;

    return (uint32_t) (both ^ both >> 32);
#else
    return comm->c_contextid;
#endif
}

/* As the program or Open MPI named it, "" where nobody did. */
static inline const char *mca_coll_wan_compat_name(const ompi_communicator_t *comm)
{
    const char *name = comm->c_name;     /* an array in 4.1, a pointer in later ones */

    return NULL != name ? name : "";
}

/* Of the topology attached to a communicator. */
static inline void mca_coll_wan_compat_neighbors(ompi_communicator_t *comm, int *in, int *out)
{
    *in = *out = 0;
    (void) mca_topo_base_neighbor_count(comm, in, out);
}

/* What follows the other arguments of a function that copies an attribute. */
#if OMPI_MAJOR_VERSION >= 5
#define WAN_ATTRIBUTE_COPIED_TO
#else
#define WAN_ATTRIBUTE_COPIED_TO , MPI_Comm to __opal_attribute_unused__
#endif

/* ---- jobs that a job spawns ------------------------------------------------ */

/* Which one of those of this mpirun this process is in; 0: none.  See wan_report_spawned(). */
static inline int mca_coll_wan_compat_spawned(void)
{
    if (NULL == getenv("OMPI_PARENT_PORT")) {   /* as MPI_Comm_get_parent */
        return 0;
    }
#if OMPI_MAJOR_VERSION >= 5
    return wan_report_spawned(getenv("PMIX_NAMESPACE"));
#else
    {
        const int number = (int) (OPAL_PROC_MY_NAME.jobid & 0xffff);    /* the first job of an mpirun is 1 */

        return 1 < number ? number - 1 : 0;
    }
#endif
}

/* The name of this process' job, as mpirun's own messages have it. */
static inline void mca_coll_wan_compat_job(char *text, size_t size)
{
#if OMPI_MAJOR_VERSION >= 5
    const char *name = getenv("PMIX_NAMESPACE");

    snprintf(text, size, "%s", NULL == name ? "" : name);
#else
    const unsigned job = (unsigned) OPAL_PROC_MY_NAME.jobid;

    snprintf(text, size, "[%u,%u]", job >> 16, job & 0xffff);
#endif
}

/* ---- requests ----------------------------------------------------------- */

/* REQUEST_COMPLETE, which need not be read again in a loop that calls nobody, where another thread completes it. */
static inline bool mca_coll_wan_compat_complete(const ompi_request_t *request)
{
    return REQUEST_COMPLETED == __atomic_load_n(&request->req_complete, __ATOMIC_ACQUIRE);
}

/* ---- peers that die: in 5.0, with fault tolerance -------------------------- */

static inline bool mca_coll_wan_compat_peers_fail(void)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    return ompi_ftmpi_enabled;
#else
    return false;
#endif
}

/* A request to a dead peer ends when somebody asks for it: with its error, by its callback. */
static inline void mca_coll_wan_compat_fail(ompi_request_t *request)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    if (!mca_coll_wan_compat_complete(request)) {
        (void) ompi_request_is_failed(request);
    }
#else
    (void) request;
#endif
}

/* Whether an operation ended with this since a process is dead. */
static inline bool mca_coll_wan_compat_is_failure(int error)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    return MPI_ERR_PROC_FAILED == error || MPI_ERR_PROC_FAILED_PENDING == error || MPI_ERR_REVOKED == error;
#else
    (void) error;
    return false;
#endif
}

/* Whether this process knows that one is dead. */
static inline bool mca_coll_wan_compat_dead(ompi_communicator_t *comm, int rank)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    return ompi_ftmpi_enabled && !ompi_comm_is_proc_active(comm, rank, false);
#else
    (void) comm;
    (void) rank;
    return false;
#endif
}

/* What a collective on it has to end with, since one of its processes is dead or the program has revoked it. */
static inline int mca_coll_wan_compat_broken(ompi_communicator_t *comm)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    if (ompi_ftmpi_enabled && ompi_comm_is_revoked(comm)) {
        return MPI_ERR_REVOKED;
    }
    return ompi_ftmpi_enabled && ompi_comm_coll_revoked(comm) ? MPI_ERR_PROC_FAILED : OMPI_SUCCESS;
#else
    (void) comm;
    return OMPI_SUCCESS;
#endif
}

/*
 * What an error of Open MPI's own collectives means: where a connection broke first, they have no code of a failed process.
 * It is heard of soon.
 */
#define WAN_COMPAT_PASSES_TO_HEAR 10000

static inline int mca_coll_wan_compat_failure(ompi_communicator_t *comm, int rc)
{
    if (OMPI_SUCCESS != rc && mca_coll_wan_compat_peers_fail()) {
        for (int i = 0; i < WAN_COMPAT_PASSES_TO_HEAR && OMPI_SUCCESS == mca_coll_wan_compat_broken(comm); ++i) {
            opal_progress();
        }
        return OMPI_SUCCESS != mca_coll_wan_compat_broken(comm) ? mca_coll_wan_compat_broken(comm) : rc;
    }
    return rc;
}

/*
 * That somebody is dead is heard in progress, which a process never makes whose calls have nothing to wait for: it would
 * send for ever, while the others wait for it in MPIX_Comm_shrink.
 */
static inline void mca_coll_wan_compat_listen(void)
{
    if (mca_coll_wan_compat_peers_fail()) {
        opal_progress();
    }
}

/* What a call that begins has to end with: where all that it sends is taken at once it would succeed.  (Open MPI itself asks
 * only for its blocking collectives.) */
static inline int mca_coll_wan_compat_heard(ompi_communicator_t *comm)
{
    mca_coll_wan_compat_listen();
    return mca_coll_wan_compat_broken(comm);
}

/*
 * A tag of collectives for messages between those who live, also on a communicator where some are dead: there Open MPI
 * drops all messages of collectives, but for a few tags of its own.  It has kept one of them free.
 */
static inline int mca_coll_wan_compat_lasting_tag(int otherwise)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    if (ompi_ftmpi_enabled) {
        return MCA_COLL_BASE_TAG_FT_END;
    }
#endif
    return otherwise;
}

/* ---- modex -------------------------------------------------------------- */

/*
 * Lookups give: OMPI_SUCCESS and a malloc'ed string; OMPI_ERR_NOT_FOUND;
 * OMPI_ERR_TIMEOUT where a server waited 2 s for the key in vain; or another
 * error.  OPTIONAL looks only into what this process already holds,
 * BLOCKING asks the peer's server, which costs about 2 s for a missing key.
 */
typedef enum wan_lookup {
    WAN_LOOKUP_OPTIONAL,
    WAN_LOOKUP_IMMEDIATE,
    WAN_LOOKUP_BLOCKING
} wan_lookup_t;

#define WAN_PMIX_SWITCH_PEERS "pmix.speers"     /* PMIX_SWITCH_PEERS; Open MPI 4.1 has no name for it */
#define WAN_PMIX_HOSTNAME "pmix.hname"          /* PMIX_HOSTNAME */
#if OMPI_MAJOR_VERSION >= 5
#define WAN_PMIX_GLOBAL PMIX_GLOBAL
#define WAN_PMIX_STRING PMIX_STRING
#define WAN_PMIX_CLUSTER_ID PMIX_CLUSTER_ID
#define WAN_PMIX_LOCALITY PMIX_LOCALITY_STRING
#define WAN_PMIX_RANK_JOB OPAL_VPID_WILDCARD
#define WAN_PMIX_NOT_FOUND(rc) (PMIX_ERR_NOT_FOUND == (rc))
#define WAN_PMIX_TIMEOUT(rc) (PMIX_ERR_TIMEOUT == (rc))
#else
#define WAN_PMIX_GLOBAL OPAL_PMIX_GLOBAL
#define WAN_PMIX_STRING OPAL_STRING
#define WAN_PMIX_CLUSTER_ID OPAL_PMIX_CLUSTER_ID
#define WAN_PMIX_LOCALITY OPAL_PMIX_LOCALITY_STRING
#define WAN_PMIX_RANK_JOB OPAL_VPID_WILDCARD
#define WAN_PMIX_NOT_FOUND(rc) (OPAL_ERR_NOT_FOUND == (rc))
#define WAN_PMIX_TIMEOUT(rc) (OPAL_ERR_TIMEOUT == (rc))
#endif

static inline int mca_coll_wan_compat_publish(const char *key, char *text)
{
    int rc;

#if OMPI_MAJOR_VERSION >= 5
    OPAL_MODEX_SEND_VALUE(rc, WAN_PMIX_GLOBAL, key, text, WAN_PMIX_STRING);
#else
    OPAL_MODEX_SEND_VALUE(rc, WAN_PMIX_GLOBAL, (char *) key, text, WAN_PMIX_STRING);
#endif
    return 0 == rc ? OMPI_SUCCESS : OMPI_ERROR;
}

/* The runtime's own return value; the text is malloc'ed, or NULL. */
static inline int mca_coll_wan_compat_get(wan_lookup_t how, const char *key,
                                          opal_process_name_t *name, char **text)
{
    int rc = 0;

#if OMPI_MAJOR_VERSION >= 5
    /* Not by Open MPI's macros: they say "not found" for every error. */
    pmix_proc_t process;
    pmix_value_t *value = NULL;
    pmix_info_t how_far;

    OPAL_PMIX_CONVERT_NAME(&process, name);
    PMIX_INFO_LOAD(&how_far, WAN_LOOKUP_OPTIONAL == how ? PMIX_OPTIONAL : PMIX_IMMEDIATE, NULL, PMIX_BOOL);
    rc = PMIx_Get(&process, key, &how_far, WAN_LOOKUP_BLOCKING == how ? 0 : 1, &value);
    PMIX_INFO_DESTRUCT(&how_far);
    if (PMIX_ERR_INVALID_NAMESPACE == rc) {
        rc = PMIX_ERR_NOT_FOUND;
    }
    if (NULL != value) {
        if (PMIX_SUCCESS == rc && PMIX_STRING == value->type && NULL != value->data.string) {
            *text = strdup(value->data.string);
            rc = NULL == *text ? PMIX_ERR_NOMEM : rc;
        }
        PMIX_VALUE_RELEASE(value);
    }
#else
    switch (how) {
    case WAN_LOOKUP_OPTIONAL:
        OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, key, name, text, WAN_PMIX_STRING);
        break;
    case WAN_LOOKUP_IMMEDIATE:
        OPAL_MODEX_RECV_VALUE_IMMEDIATE(rc, key, name, text, WAN_PMIX_STRING);
        break;
    case WAN_LOOKUP_BLOCKING:
        OPAL_MODEX_RECV_VALUE(rc, key, name, text, WAN_PMIX_STRING);
        break;
    }
#endif
    return rc;
}

static inline int mca_coll_wan_compat_lookup(wan_lookup_t how, const char *key,
                                             opal_process_name_t *name, char **text)
{
    int rc;

    *text = NULL;
    rc = mca_coll_wan_compat_get(how, key, name, text);
    if (0 == rc && NULL != *text) {
        return OMPI_SUCCESS;
    }
    free(*text);
    *text = NULL;
    if (0 == rc || WAN_PMIX_NOT_FOUND(rc)) {
        return OMPI_ERR_NOT_FOUND;
    }
    return WAN_PMIX_TIMEOUT(rc) ? OMPI_ERR_TIMEOUT : OMPI_ERROR;
}

#endif
