/*
 * NPB IS on mttl: keys are written into the memory of the process that ranks
 * them.  is_mpi.cpp is the same on plain MPI.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "is.hpp"

#include <mttl/mttl.hpp>

using namespace npb;
using namespace npb::is;

namespace {

/** Where a process takes what others write to it. */
struct table {
    mttl::GlobalPtr<int> counts, got;
};
table own;
// Not inside a function: a neighbour may be faster and write before it is reached.
mttl::Sync<int> before_me;

class sorter {
public:
    sorter(const is::size &s, int me, int np)
        : process_(s, me, np), me_(me), np_(np), counts_(static_cast<size_t>(np)), got_(process_.room())
    {
        own = {mttl::GlobalPtr<int>(counts_.data()), mttl::GlobalPtr<int>(got_.data())};
        all_.exec();
        for (int k = 0; k < np; ++k)
            tables_.push_back(mttl::invoke(k, [] { return own; }));
    }

    /** One ranking; how many of the keys under test have the right rank here. */
    int rank(int iteration)
    {
        process_.count(iteration, buckets_);
        sum_.exec(std::span<int>(buckets_));
        process_.distribute(buckets_);
        move_keys(process_.send());
        return process_.rank(iteration, got_);
    }

    /** The keys here are in order, and none is smaller than those of the process before. */
    bool check()
    {
        const keys k = process_.in_order(got_);
        bool good = std::is_sorted(k.begin(), k.end());
        if (me_ + 1 < np_)
            mttl::post(me_ + 1, [](int last) { before_me.write(last); }, k.empty() ? 0 : k.back());
        const int before = me_ > 0 ? before_me.read() : 0;
        return good && (me_ == 0 || k.empty() || before <= k.front());
    }

private:
    void move_keys(const places &send)
    {
        // How many keys I have for each process: into its table, at my place.
        std::vector<int> sizes(counts_.size()), lands(counts_.size());
        for (size_t k = 0; k < sizes.size(); ++k)
            sizes[k] = send[k + 1] - send[k];
        std::vector<mttl::future<void>> written;
        for (size_t k = 0; k < sizes.size(); ++k)
            written.push_back((tables_[k].counts + me_).anwrite(&sizes[k], 1));
        mttl::when_all(std::move(written)).get();
        all_.exec();
        // Where they land: behind those of the processes before me.
        std::vector<mttl::future<int>> places;
        for (int k = 0; k < np_; ++k)
            places.push_back(mttl::ainvoke(k, [](int from) { return std::accumulate(own.counts.local(), own.counts.local() + from, 0); }, me_));
        lands = mttl::when_all(std::move(places)).get();
        written.clear();
        for (size_t k = 0; k < sizes.size(); ++k)
            written.push_back((tables_[k].got + lands[k]).anwrite(process_.sorted().data() + send[k], static_cast<size_t>(sizes[k])));
        mttl::when_all(std::move(written)).get();
        all_.exec();
    }

    process process_;
    int me_, np_;
    std::vector<int> buckets_;
    std::vector<int> counts_;       // keys that each process sends here
    keys got_;
    mttl::Barrier all_;
    mttl::Reduction<int> sum_;
    std::vector<table> tables_;
};

int run(int argc, char **argv)
{
    const int me = mttl::my_node(), np = mttl::nodes();
    const is::size &s = size_named(argc > 1 ? argv[1] : nullptr);
    sorter sort(s, me, np);
    sort.rank(1);
    mttl::Barrier all;
    all.exec();
    const mttl::port_counters &now = mttl::node::here().network().counters(), before = now;
    const double t = seconds();
    int passed = 0;
    for (int i = 1; i <= iterations; ++i)
        passed += sort.rank(i);
    const double time = seconds() - t;
    const mttl::port_counters after = now;
    passed += sort.check();
    const double longest = mttl::Reduction<double>().exec(time, [](double a, double b) { return std::max(a, b); });
    passed = mttl::Reduction<int>().exec(passed);
    const bool good = passed == tests * iterations + np;
    if (me == 0)
        print({"IS", "MTTL", s.name, uint64_t(1) << s.log_total, iterations, np, longest, (10.0 * (1 << s.log_total)) / longest / 1e6, good,
               after.sends + after.nsends - before.sends - before.nsends, after.probes - before.probes, after.waits - before.waits});
    return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, run, mttl::start::spmd);
}
