/*
 * What Open MPI calls: each collective in its three forms.  All alike: where
 * we do not stand in the path any more, or the call is not ours, the saved
 * function gets the caller's own arguments (one check of the state).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#define SAVED(name) module->saved.coll_##name
#define SAVED_MODULE(name) module->saved.coll_##name##_module

#define ENTRIES(name, core)                                                                 \
    int mca_coll_wan_##name(WAN_PARAMS_##name struct ompi_communicator_t *comm,             \
                            mca_coll_base_module_t *base)                                   \
    {                                                                                       \
        mca_coll_wan_module_t *module = (mca_coll_wan_module_t *) base;                     \
        const wan_args_t args = { WAN_TAKE_##name .what = WAN_MPI_##name }, *a = &args;     \
        int rc = mca_coll_wan_call(module, a);                                              \
                                                                                            \
        if (WAN_NOT_OURS != rc) {                                                           \
            return rc;                                                                      \
        }                                                                                   \
        return mca_coll_wan_tried(module, SAVED(name)(WAN_PASS_##name comm, SAVED_MODULE(name)));\
    }                                                                                       \
                                                                                            \
    int mca_coll_wan_i##name(WAN_PARAMS_##name struct ompi_communicator_t *comm,            \
                             ompi_request_t **request, mca_coll_base_module_t *base)        \
    {                                                                                       \
        mca_coll_wan_module_t *module = (mca_coll_wan_module_t *) base;                     \
        const wan_args_t args = { WAN_TAKE_##name .what = WAN_MPI_##name }, *a = &args;     \
        int rc = mca_coll_wan_icall(module, a, false, request);                             \
                                                                                            \
        if (WAN_NOT_OURS != rc) {                                                           \
            return rc;                                                                      \
        }                                                                                   \
        return SAVED(i##name)(WAN_PASS_##name comm, request, SAVED_MODULE(i##name));        \
    }                                                                                       \
                                                                                            \
    int mca_coll_wan_##name##_init(WAN_PARAMS_##name struct ompi_communicator_t *comm,      \
                                   struct ompi_info_t *info, ompi_request_t **request,      \
                                   mca_coll_base_module_t *base)                            \
    {                                                                                       \
        mca_coll_wan_module_t *module = (mca_coll_wan_module_t *) base;                     \
        const wan_args_t args = { WAN_TAKE_##name .what = WAN_MPI_##name }, *a = &args;     \
        int rc = mca_coll_wan_icall(module, a, true, request);                              \
                                                                                            \
        if (WAN_NOT_OURS != rc) {                                                           \
            return rc;                                                                      \
        }                                                                                   \
        return SAVED(name##_init)(WAN_PASS_##name comm, info, request,                      \
                                  SAVED_MODULE(name##_init));                               \
    }
WAN_EACH(ENTRIES)
#undef ENTRIES

int mca_coll_wan_saved_start(mca_coll_wan_module_t *module, const wan_args_t *a, bool persistent,
                             ompi_request_t **request)
{
    struct ompi_communicator_t *comm = module->comm;

    switch (a->what) {
#define START(name, core)                                                                   \
    case WAN_MPI_##name:                                                                    \
        return persistent ? SAVED(name##_init)(WAN_PASS_##name comm, &ompi_mpi_info_null.info, \
                                               request, SAVED_MODULE(name##_init))          \
                          : SAVED(i##name)(WAN_PASS_##name comm, request, SAVED_MODULE(i##name));
    WAN_EACH(START)
#undef START
    default:
        return OMPI_ERR_NOT_SUPPORTED;
    }
}
