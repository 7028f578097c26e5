/*
 * While sites are discovered: verified collectives, blocking ones and
 * non-blocking ones that overlap them, until coll/wan serves MPI_COMM_WORLD or
 * so many rounds have passed.  One line per rank:
 *
 *     rank 0: served from round 12 on
 *     rank 0: not served in 300 rounds
 *     rank 0: out of the path                  (calls do not even pass through coll/wan; else "in the path")
 *
 * and then, of non-blocking calls on MPI_COMM_WORLD, "rank 0: served later", and
 * of a communicator made after that, "rank 0: served again".  Requests are under
 * way all the time: some for rounds, and a persistent one from before the sites
 * are known is started in each round; "rank 0: requests served" is about these.
 *
 * Usage: discover ROUNDS [MILLISECONDS of sleep in each [multiple]]
 *        multiple: with MPI_THREAD_MULTIPLE, where many more starts are Open MPI's
 * Exit code 1 when a result is wrong.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.hpp"
#include "persistent.hpp"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#define COUNT 600
#define FORESEEN 1024       /* starts that other threads might make: coll_wan_request.c */

static wan_counters counters;
static int wrong;

static unsigned long long served() { return counters[0]; }
static unsigned long long served_allreduce() { return counters[1]; }
static unsigned long long passed() { return counters[2]; }

static void round_run(MPI_Comm comm, int round)
{
    int rank, size, values[COUNT], sums[COUNT], later[COUNT], laters[COUNT];
    MPI_Request request;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNT; ++i) {
        values[i] = rank == round % size ? round + i : -1;
        later[i] = rank * i + round;
    }
    MPI_Iallreduce(later, laters, COUNT, MPI_INT, MPI_SUM, comm, &request);
    MPI_Bcast(values, COUNT, MPI_INT, round % size, comm);
    MPI_Allreduce(later, sums, COUNT, MPI_INT, MPI_SUM, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT; ++i) {
        const int sum = size * (size - 1) / 2 * i + size * round;

        wrong += values[i] != round + i || sums[i] != sum || laters[i] != sum;
    }
}

/*
 * Allreduces that are under way across rounds: HELD non-blocking ones, each waited for HELD rounds
 * after it began, and one persistent request, waited for one round after its start.
 */
class standing_calls {
public:
    static const int HELD = 4;

    explicit standing_calls(MPI_Comm comm)
    {
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &size_);
        comm_ = comm;
        for (MPI_Request &request : requests_) {
            request = MPI_REQUEST_NULL;
        }
        PERSISTENT(Allreduce)(given_, sums_, COUNT, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &persistent_);
    }

    void begin()
    {
        const int slot = round_ % HELD;

        wait(slot);
        fill(inputs_[slot], round_, slot + 1);
        MPI_Iallreduce(inputs_[slot], results_[slot], COUNT, MPI_INT, MPI_SUM, comm_, &requests_[slot]);
        ++round_;
    }

    /* Ranks may come to it before and after other calls. */
    void start()
    {
        if (0 < starts_) {
            wait_persistent();
        }
        fill(given_, starts_, HELD + 1);
        MPI_Start(&persistent_);
        ++starts_;
    }

    void end()
    {
        for (int i = 0; i < HELD; ++i) {
            wait((round_ + i) % HELD);
        }
        if (0 < starts_) {
            wait_persistent();
        }
        MPI_Request_free(&persistent_);
    }

private:
    void fill(int *values, int round, int factor) const
    {
        for (int i = 0; i < COUNT; ++i) {
            values[i] = factor * (rank_ + round) + i;
        }
    }

    void compare(const int *sums, int round, int factor) const
    {
        for (int i = 0; i < COUNT; ++i) {
            wrong += sums[i] != factor * (size_ * (size_ - 1) / 2 + size_ * round) + size_ * i;
        }
    }

    void wait(int slot)
    {
        if (MPI_REQUEST_NULL != requests_[slot]) {
            MPI_Wait(&requests_[slot], MPI_STATUS_IGNORE);
            compare(results_[slot], round_ - HELD + ((slot - round_ % HELD) + HELD) % HELD, slot + 1);
        }
    }

    void wait_persistent()
    {
        MPI_Wait(&persistent_, MPI_STATUS_IGNORE);
        compare(sums_, starts_ - 1, HELD + 1);
    }

    MPI_Comm comm_;
    int rank_, size_, round_ = 0, starts_ = 0;
    int inputs_[HELD][COUNT], results_[HELD][COUNT], given_[COUNT], sums_[COUNT];
    MPI_Request requests_[HELD], persistent_;
};

/* Messages of a communicator that has another number on some ranks go astray. */
static void ring_run(MPI_Comm comm)
{
    int rank, size, got = -1;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT, (rank + size - 1) % size, 5, comm,
                 MPI_STATUS_IGNORE);
    wrong += got != (rank + size - 1) % size;
}

/*
 * The steps of MPI_Comm_idup go on inside blocking calls, here and there at other times; some
 * ranks wait for it before a call in which others are already.
 */
static void idup_run(int round)
{
    int rank;
    MPI_Request request;
    MPI_Comm comm;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    if (rank % 2 == round % 2) {
        int flag;

        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 4; ++i) {
        if (rank % 8 == round % 9 && i == round % 4) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ring_run(comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const int rounds = 1 < argc ? atoi(argv[1]) : 100, sleep_ms = 2 < argc ? atoi(argv[2]) : 0;
    const bool multiple = 3 < argc;
    int provided, rank, round;
    MPI_Comm comm;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!counters.open({"served_bcast", "served_allreduce", "passed"})) {
        fprintf(stderr, "coll/wan is not there\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    standing_calls standing(MPI_COMM_WORLD);

    for (round = 0; round < rounds && 0 == served(); ++round) {
        standing.begin();
        if (rank % 2 == 0) {
            standing.start();   /* before the call from which on it is served: that start is Open MPI's everywhere */
        }
        idup_run(round);
        round_run(MPI_COMM_WORLD, round);
        if (rank % 2 != 0) {
            standing.start();
        }
        if (0 < sleep_ms && rank % 3 == 1) {
            usleep(1000 * sleep_ms);    /* computes, and does not look */
        }
    }
    if (0 == served()) {
        standing.end();
        printf("rank %d: not served in %d rounds\n", rank, rounds);

        const unsigned long long before = passed();
        round_run(MPI_COMM_WORLD, 0);
        printf("rank %d: %s\n", rank, before == passed() ? "out of the path" : "in the path");
    } else {
        printf("rank %d: served from round %d on\n", rank, round - 1);
        for (int i = 0; multiple && i < FORESEEN; ++i) {
            standing.start();
        }

        unsigned long long before = served_allreduce();
        for (int i = 0; i < standing_calls::HELD; ++i) {
            standing.begin();
            standing.start();
        }
        standing.end();
        printf("rank %d: %s\n", rank, before + 2 * standing_calls::HELD == served_allreduce() ? "requests served" : "requests not served");
        before = served_allreduce();
        for (int i = 0; i < 3; ++i) {
            round_run(MPI_COMM_WORLD, i);
            idup_run(i);
        }
        printf("rank %d: %s\n", rank, before + 6 == served_allreduce() ? "served later" : "not served later");
        before = served();
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        for (int i = 0; i < 3; ++i) {
            round_run(comm, i);
        }
        MPI_Comm_free(&comm);
        printf("rank %d: %s\n", rank, before + 3 == served() ? "served again" : "not served again");
    }
    if (0 != wrong) {
        printf("rank %d: %d wrong values\n", rank, wrong);
    }
    fflush(stdout);
    counters.close();
    MPI_T_finalize();
    MPI_Finalize();
    return 0 != wrong;
}
