/*
 * NPB IS on mttl: keys are written, announced, into the memory of the process
 * that ranks them.  is_mpi.cpp is the same on plain MPI.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "is.hpp"

#include <mttl/mttl.hpp>

#include <map>

using namespace npb;
using namespace npb::is;

namespace {

// Not inside a function: a neighbour may be faster and write before it is reached.
mttl::Sync<int> before_me;
std::map<int, mttl::Sync<int>> counts;                          // keys that each process sends here
std::map<int, mttl::Sync<mttl::LandingPtr<int>>> handles;       // and where it takes mine

class sorter {
public:
    sorter(const is::size &s, int me, int np) : process_(s, me, np), me_(me), np_(np), got_(process_.room())
    {
        for (int k = 0; k < np; ++k) {
            in_.try_emplace(k, nullptr, 0, k);
            mttl::post(k, [](int from, mttl::LandingPtr<int> p) { handles[from].write(p); }, me, in_.at(k).handle());
        }
        for (int k = 0; k < np; ++k)
            out_[k] = handles[k].read();
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
        std::vector<mttl::thread_handle> writers;
        for (int k = 0; k < np_; ++k) {
            const int at = send[k], n = send[k + 1] - at;
            mttl::post(k, [](int from, int n) { counts[from].write(n); }, me_, n);
            if (k != me_)
                writers.push_back(mttl::spawn([=, this] { out_.at(k).write(process_.sorted().data() + at, size_t(n)); }));
        }
        int *land = got_.data();
        for (int k = 0, n; k < np_; ++k, land += n) {
            n = counts[k].read();
            if (k == me_)
                std::copy_n(process_.sorted().begin() + send[k], n, land);
            else
                in_.at(k).arm(land, static_cast<size_t>(n));
        }
        for (int k = 0; k < np_; ++k)
            if (k != me_)
                in_.at(k).wait();
        for (mttl::thread_handle &w : writers)
            w.join();
    }

    process process_;
    int me_, np_;
    std::vector<int> buckets_;
    keys got_;
    mttl::Reduction<int> sum_;
    std::map<int, mttl::Landing<int>> in_;
    std::map<int, mttl::LandingPtr<int>> out_;
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

int main(int argc, char **argv) { return mttl::run(argc, argv, run, mttl::start::spmd); }
