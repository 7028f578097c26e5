/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ring and collectives with every byte checked, and btl/udp's MPI_T variables;
 * rank 0 prints "all right".
 *
 *   ring [SECONDS]     again and again for so long
 *   ring stop          rank 1 stops (SIGSTOP), and rank 0 waits for it
 *   ring without       btl/udp must not have carried anything
 *   ring held          messages to one who does not look take little more memory than they have bytes
 */
#include <malloc.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wrong = 0;

/* MPI_T counters count from when a handle is made. */
static const char *const names[] = { "btl_udp_datagrams_sent", "btl_udp_datagrams_received", "btl_udp_delay_max", "btl_udp_queue",
                                     "btl_udp_forgeries" };
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[5];
static int found = 0;

static void pvars_open(void)
{
    int count, provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; ++i) {
        char name[256], text[1024];
        int name_length = sizeof(name), text_length = sizeof(text), verbosity, class, bind, readonly, continuous, atomic, n;
        MPI_Datatype type;
        MPI_T_enum values;

        if (MPI_SUCCESS != MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &values, text, &text_length,
                                               &bind, &readonly, &continuous, &atomic)) {
            continue;
        }
        for (int k = 0; k < 5; ++k) {
            found += 0 == strcmp(name, names[k]) && MPI_SUCCESS == MPI_T_pvar_handle_alloc(session, i, NULL, &handles[k], &n);
        }
    }
}

static int pvars_right(void)
{
    unsigned long long v[5];

    if (found != 5) {
        return 0;
    }
    for (int k = 0; k < 5; ++k) {
        if (MPI_SUCCESS != MPI_T_pvar_read(session, handles[k], &v[k])) {
            return 0;
        }
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return v[0] > 0 && v[1] > 0 && v[2] > 0 && v[4] == 0;
}

static void exchange(int rank, int size)
{
    for (size_t bytes = 1; bytes <= 4 << 20; bytes *= 7) {
        unsigned char *out = malloc(bytes), *in = malloc(bytes);
        const int before = (rank + size - 1) % size;

        for (int round = 0; round < 4; ++round) {
            for (size_t i = 0; i < bytes; ++i) {
                out[i] = (unsigned char) (i * 31 + rank * 7 + round);
                in[i] = 0;
            }
            MPI_Sendrecv(out, (int) bytes, MPI_BYTE, (rank + 1) % size, 1, in, (int) bytes, MPI_BYTE, before, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (size_t i = 0; i < bytes; ++i) {
                wrong += in[i] != (unsigned char) (i * 31 + before * 7 + round);
            }
            MPI_Bcast(out, (int) bytes, MPI_BYTE, round % size, MPI_COMM_WORLD);
            for (size_t i = 0; i < bytes; ++i) {
                wrong += out[i] != (unsigned char) (i * 31 + round % size * 7 + round);
            }
        }
        free(out);
        free(in);
    }
    for (int n = 1; n <= 100000; n *= 10) {
        long *v = malloc(sizeof(long) * (size_t) n), *sum = malloc(sizeof(long) * (size_t) n);

        for (int i = 0; i < n; ++i) {
            v[i] = i + rank;
        }
        MPI_Allreduce(v, sum, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; ++i) {
            wrong += sum[i] != (long) i * size + size * (size - 1) / 2;
        }
        free(v);
        free(sum);
    }
}

/* Of 64 each: three times their bytes (a fragment has two and a half at most), and a kilobyte of Open MPI's each. */
static void held(int rank)
{
    enum { messages = 64 };
    static const int bytes[] = { 1500, 4096, 5000, 8192, 20000 };
    MPI_Request request[messages];
    char *buffer = calloc(messages, 20000);

    for (int k = 0; k < 5; ++k) {
        const size_t before = mallinfo2().uordblks;

        MPI_Barrier(MPI_COMM_WORLD);
        if (1 == rank) {
            usleep(100000);
        }
        for (int i = 0; i < messages && rank < 2; ++i) {
            if (0 == rank) {
                MPI_Isend(buffer + i * 20000, bytes[k], MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request[i]);
            } else {
                MPI_Irecv(buffer + i * 20000, bytes[k], MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request[i]);
            }
        }
        if (0 == rank) {
            const size_t after = mallinfo2().uordblks;

            if (after > before && after - before > (size_t) messages * (3 * (size_t) bytes[k] + 1024)) {
                printf("%d messages of %d bytes take %zu\n", messages, bytes[k], after - before);
                ++wrong;
            }
        }
        if (rank < 2) {
            MPI_Waitall(messages, request, MPI_STATUSES_IGNORE);
        }
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    int rank, size, all, again;
    double began;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pvars_open();
    began = MPI_Wtime();
    do {
        exchange(rank, size);
        again = argc > 1 && MPI_Wtime() - began < atof(argv[1]);
        MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
    } while (again);
    if (argc > 1 && 0 == strcmp(argv[1], "held")) {
        held(rank);
    }
    if (argc > 1 && 0 == strcmp(argv[1], "stop")) {
        if (rank == 1) {
            raise(SIGSTOP);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            puts("nobody noticed");
        }
    }
    if (argc > 1 && 0 == strcmp(argv[1], "without")) {
        if (pvars_right()) {
            puts("btl/udp carried it");
            ++wrong;
        }
    } else if (!pvars_right()) {
        puts("MPI_T variables are missing or wrong");
        ++wrong;
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        puts(all == 0 ? "all right" : "wrong");
    }
    MPI_Finalize();
    return all != 0;
}
