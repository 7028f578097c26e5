/*
 * Names of the persistent collectives: MPI_..._init of MPI-4, which Open MPI
 * 4.1 has as extensions.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_PERSISTENT_HPP
#define WAN_TEST_PERSISTENT_HPP

#include <mpi.h>
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif

#endif
