/*
 * MPC++ MTTL on MPI: remote invocation, global pointers, user-level threads.
 * The whole library; see README.md for what to begin with.  A program that
 * defines MTTL_NO_MPI gets all but the start over MPI.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_MTTL_HPP
#define MTTL_MTTL_HPP

#include "future.hpp"
#include "global_ptr.hpp"
#include "group.hpp"
#include "invoke.hpp"
#include "landing.hpp"
#include "runtime.hpp"
#include "sync.hpp"
#include "virtual_ptr.hpp"
#ifndef MTTL_NO_MPI
#include "mpi_run.hpp"
#endif

#endif
