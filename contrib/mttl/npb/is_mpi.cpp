/*
 * NPB IS on plain MPI: what is_mttl.cpp is compared with, line by line.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "is.hpp"
#include "plain_mpi.hpp"

using namespace npb;
using namespace npb::is;

namespace {

uint64_t messages;

class sorter {
public:
    sorter(const is::size &s, int me, int np)
        : process_(s, me, np), me_(me), np_(np), counts_(static_cast<size_t>(np)), got_(process_.room())
    {
    }

    /** One ranking; how many of the keys under test have the right rank here. */
    int rank(int iteration)
    {
        process_.count(iteration, buckets_);
        MPI_Allreduce(MPI_IN_PLACE, buckets_.data(), static_cast<int>(buckets_.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        process_.distribute(buckets_);
        move_keys(process_.send());
        messages += 3;
        return process_.rank(iteration, got_);
    }

    /** The keys here are in order, and none is smaller than those of the process before. */
    bool check()
    {
        const keys k = process_.in_order(got_);
        bool good = std::is_sorted(k.begin(), k.end());
        int last = k.empty() ? 0 : k.back(), before = 0;
        MPI_Sendrecv(&last, 1, MPI_INT, me_ + 1 < np_ ? me_ + 1 : MPI_PROC_NULL, 1, &before, 1, MPI_INT,
                     me_ > 0 ? me_ - 1 : MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return good && (me_ == 0 || k.empty() || before <= k.front());
    }

private:
    void move_keys(const places &send)
    {
        std::vector<int> sizes(counts_.size()), starts(counts_.size()), lands(counts_.size());
        for (size_t k = 0; k < sizes.size(); ++k)
            sizes[k] = send[k + 1] - send[k], starts[k] = send[k];
        MPI_Alltoall(sizes.data(), 1, MPI_INT, counts_.data(), 1, MPI_INT, MPI_COMM_WORLD);
        for (size_t k = 1; k < lands.size(); ++k)
            lands[k] = lands[k - 1] + counts_[k - 1];
        MPI_Alltoallv(process_.sorted().data(), sizes.data(), starts.data(), MPI_INT, got_.data(), counts_.data(), lands.data(), MPI_INT,
                      MPI_COMM_WORLD);
    }

    process process_;
    int me_, np_;
    std::vector<int> buckets_;
    std::vector<int> counts_;       // keys that each process sends here
    keys got_;
};

int run(int argc, char **argv)
{
    int me, np;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    const is::size &s = size_named(argc > 1 ? argv[1] : nullptr);
    sorter sort(s, me, np);
    sort.rank(1);
    MPI_Barrier(MPI_COMM_WORLD);
    const uint64_t before = messages;
    const double t = seconds();
    int passed = 0;
    for (int i = 1; i <= iterations; ++i)
        passed += sort.rank(i);
    double time = seconds() - t, longest = 0;
    const uint64_t after = messages;
    passed += sort.check();
    MPI_Allreduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &passed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const bool good = passed == tests * iterations + np;
    if (me == 0)
        print({"IS", "MPI", s.name, uint64_t(1) << s.log_total, iterations, np, longest, (10.0 * (1 << s.log_total)) / longest / 1e6, good,
               after - before, 0, after - before});
    return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) { return plain_mpi(argc, argv, run); }
