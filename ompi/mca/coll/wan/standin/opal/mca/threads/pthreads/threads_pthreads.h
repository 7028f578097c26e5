/*
 * Stand-in: 5.0's thread layer over POSIX threads needs nothing here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_STANDIN_THREADS_PTHREADS_H
#define WAN_STANDIN_THREADS_PTHREADS_H
#include <pthread.h>
#endif
