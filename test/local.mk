# Tests.  `make check` is the unit part: no MPI job, no network, no root.
# `make check-mpi` stages the plugin inside the build directory and runs the
# scripts of test/scripts.list that are marked mpi.
# SPDX-License-Identifier: BSD-3-Clause

include test/unit/local.mk
include test/unit/topo.mk
include test/adaptive/local.mk
include test/algo/local.mk
include test/mpi/local.mk
include test/udp/local.mk
include test/mttl/local.mk
