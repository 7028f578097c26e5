/*
 * The differences between Open MPI's series, and nothing else: the only file of
 * btl/udp with version #ifs.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BTL_UDP_COMPAT_H
#define BTL_UDP_COMPAT_H

#include "opal_config.h"

#include <stdlib.h>
#include <string.h>

#include "opal/class/opal_bitmap.h"
#include "opal/class/opal_free_list.h"
#include "opal/constants.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_vari.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"

#if OPAL_MAJOR_VERSION >= 5
#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/mutex.h"
#include "opal/util/event.h"
#define UDP_PMIX_GLOBAL PMIX_GLOBAL
#else
#include "opal/mca/event/event.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/threads/mutex.h"
#define UDP_PMIX_GLOBAL OPAL_PMIX_GLOBAL
#endif

/*
 * Processes of this job; 0: not known.  In 4.1 only the layer above opal keeps it: asked of who started the job, as that layer
 * does, for only mpirun tells it in the environment, too.
 */
static inline uint32_t mca_btl_udp_compat_job_size(void)
{
#if OPAL_MAJOR_VERSION >= 5
    return opal_process_info.num_procs;
#else
    opal_process_name_t job = { OPAL_PROC_MY_NAME.jobid, OPAL_VPID_WILDCARD };
    const char *text = getenv("OMPI_COMM_WORLD_SIZE");
    uint32_t size = 0, *at = &size;
    int rc;

    OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, OPAL_PMIX_JOB_SIZE, &job, &at, OPAL_UINT32);
    if (OPAL_SUCCESS == rc && 0 != size) {
        return size;
    }
    return NULL != text ? (uint32_t) strtoul(text, NULL, 10) : 0;
#endif
}

/* Hands a block up: bytes are valid during the call. */
static inline void mca_btl_udp_compat_deliver(mca_btl_base_module_t *btl,
                                              struct mca_btl_base_endpoint_t *endpoint,
                                              mca_btl_base_tag_t tag, const void *bytes, size_t length)
{
    mca_btl_active_message_callback_t *reg = mca_btl_base_active_message_trigger + tag;
    mca_btl_base_segment_t segment;

    if (NULL == reg->cbfunc) {
        return;
    }
    segment.seg_addr.pval = (void *) bytes;
    segment.seg_len = length;
#if OPAL_MAJOR_VERSION >= 5
    mca_btl_base_receive_descriptor_t descriptor = {
        .endpoint = endpoint, .des_segments = &segment, .des_segment_count = 1,
        .tag = tag, .cbdata = reg->cbdata,
    };
    reg->cbfunc(btl, &descriptor);
#else
    mca_btl_base_descriptor_t descriptor;

    (void) endpoint;
    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.des_segments = &segment;
    descriptor.des_segment_count = 1;
    reg->cbfunc(btl, tag, &descriptor, reg->cbdata);
#endif
}

#endif
