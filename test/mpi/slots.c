/*
 * Which functions a communicator's collectives are, by library and offset, and whose modules they are handed: what of coll/wan is in the path of a call.
 * Rank 0 prints, for MPI_COMM_WORLD and a copy of it,
 *
 *     world 3: mca_coll_tuned.so+0x1f40 mca_coll_tuned_module_t
 *
 * Usage: slots N      after N Barriers, 20 ms apart, of each of the two
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coll_wan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void slots_print(const char *name, MPI_Comm comm)
{
    /* Pairs of a function and its module, no more. */
    void *const *slots = (void *const *) comm->c_coll;
    const int pairs = (int) (sizeof(*comm->c_coll) / (2 * sizeof(void *)));

    for (int k = 0; k < pairs; ++k) {
        const mca_coll_base_module_t *module = slots[2 * k + 1];
        Dl_info info;

        if (NULL == slots[2 * k] || 0 == dladdr(slots[2 * k], &info)) {
            printf("%s %d: none\n", name, k);
        } else {
            const char *file = strrchr(info.dli_fname, '/');

            printf("%s %d: %s+%#tx %s\n", name, k, NULL == file ? info.dli_fname : file + 1, (char *) slots[2 * k] - (char *) info.dli_fbase,
                   NULL == module ? "none" : module->super.obj_class->cls_name);
        }
    }
}

int main(int argc, char **argv)
{
    const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
    const int calls = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm copy;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int i = 0; i < calls; ++i) {
        nanosleep(&pause, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(copy);
    }
    if (0 == rank) {
        slots_print("world", MPI_COMM_WORLD);
        slots_print("copy", copy);
    }
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
