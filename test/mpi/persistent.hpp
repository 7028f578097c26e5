/*
 * Names of the persistent collectives: MPI_..._init of MPI-4, which Open MPI
 * 4.1 has as extensions.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_PERSISTENT_HPP
#define WAN_TEST_PERSISTENT_HPP

#include <mpi.h>
#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif

#endif
