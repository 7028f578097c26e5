/*
 * Walkers on plain MPI.  A process asks for an entry and answers others while
 * it waits.
 *
 *   one        a walker after the other, as one writes it: request, answer, next
 *   by_hand    all walkers at once, as a machine of states: what hides latency without threads
 *
 *   mpirun -np N chase_mpi one|by_hand [WALKERS [STEPS]]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "../npb/plain_mpi.hpp"
#include "chase.hpp"

#include <algorithm>

using namespace chase;

namespace {

struct question {
    uint64_t index;
    int64_t walker;
};
struct answer {
    entry found;
    int64_t walker;
};
constexpr int ask_tag = 1, answer_tag = 2;

class walkers {
public:
    walkers(const plan &p, int me, int np) : plan_(p), me_(me), np_(np), part_(part_of(me, np)), left_(static_cast<size_t>(p.walkers), p.steps)
    {
        expect_question();
        expect_answer();
    }

    /** All ways of this process, `at_once` walkers at a time; the sum. */
    uint64_t walk(int at_once)
    {
        int started = 0;
        const auto start = [&] {
            for (; started < plan_.walkers && started - done_ < at_once; ++started)
                go(started, start_of(started, me_, np_));
        };
        for (start(); done_ < plan_.walkers; start())
            serve();
        // The others may still ask.
        MPI_Ibarrier(MPI_COMM_WORLD, &requests_[2]);
        while (!everyone_done_)
            serve();
        for (int i : {0, 1}) {
            MPI_Cancel(&requests_[i]);
            MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
        }
        return sum_;
    }

private:
    void expect_question() { MPI_Irecv(&question_, sizeof question_, MPI_BYTE, MPI_ANY_SOURCE, ask_tag, MPI_COMM_WORLD, &requests_[0]); }
    void expect_answer() { MPI_Irecv(&answer_, sizeof answer_, MPI_BYTE, MPI_ANY_SOURCE, answer_tag, MPI_COMM_WORLD, &requests_[1]); }

    /** A walker goes on from an entry until it needs one that is elsewhere. */
    void go(int walker, uint64_t at)
    {
        int &left = left_[static_cast<size_t>(walker)];
        for (; left > 0; --left) {
            if (owner(at) != me_) {
                const question q{at, walker};
                MPI_Send(&q, sizeof q, MPI_BYTE, owner(at), ask_tag, MPI_COMM_WORLD);
                return;
            }
            const entry e = part_[at % entries_each];
            sum_ += e.value;
            at = e.next;
        }
        ++done_;
    }

    /** Waits for a question or an answer. */
    void serve()
    {
        int which;
        MPI_Status s;
        MPI_Waitany(3, requests_, &which, &s);
        if (which == 0) {
            const answer a{part_[question_.index % entries_each], question_.walker};
            expect_question();
            MPI_Send(&a, sizeof a, MPI_BYTE, s.MPI_SOURCE, answer_tag, MPI_COMM_WORLD);
        } else if (which == 1) {
            const answer a = answer_;
            expect_answer();
            sum_ += a.found.value;
            --left_[static_cast<size_t>(a.walker)];
            go(static_cast<int>(a.walker), a.found.next);
        } else {
            everyone_done_ = true;
        }
    }

    const plan &plan_;
    int me_, np_;
    std::vector<entry> part_;
    std::vector<int> left_;         // steps, of each walker
    int done_ = 0;                  // walkers
    uint64_t sum_ = 0;
    question question_;
    answer answer_;
    MPI_Request requests_[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    bool everyone_done_ = false;
};

int run(int argc, char **argv)
{
    int me, np;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    const std::string how = argc > 1 ? argv[1] : "";
    if (how != "one" && how != "by_hand")
        throw std::runtime_error("usage: chase_mpi one|by_hand [WALKERS [STEPS]]");
    const plan p(argc, argv);
    walkers all(p, me, np);
    MPI_Barrier(MPI_COMM_WORLD);
    const double t = seconds();
    const uint64_t sum = all.walk(how == "one" ? 1 : p.walkers);
    double time = seconds() - t, longest;
    int good = sum == expected(p, me, np);
    MPI_Allreduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (me == 0)
        print(how.c_str(), p, np, longest, good);
    return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) { return plain_mpi(argc, argv, run); }
