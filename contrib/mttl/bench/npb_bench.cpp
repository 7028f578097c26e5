/*
 * CG and IS on plain MPI beside the same on mttl, in one job: iterations of
 * both in turns, in alternating order, on the same processes.  Each pair gives
 * one ratio; whatever else the machine does, it does to both.  A time is that
 * of the slowest process after a barrier.  Both must verify.
 *
 *   mpirun -np 2 npb_bench cg|is S|W|A|B|C [PAIRS]      default: as many as the benchmark has iterations
 *
 * Ends with exit code 1 where one does not verify (with fewer pairs than the
 * benchmark has iterations, CG cannot, and says so).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "../npb/cg.hpp"
#include "../npb/is.hpp"

#include <mttl/mttl.hpp>

#include <deque>
#include <numeric>

#include <sys/resource.h>

// The programs as they are, main() included; what they include has been included above.
namespace cg_plain {
#include "../npb/cg_mpi.cpp"
}
namespace cg_on_mttl {
#include "../npb/cg_mttl.cpp"
}
namespace is_plain {
#include "../npb/is_mpi.cpp"
}
namespace is_on_mttl {
#include "../npb/is_mttl.cpp"
}

namespace {

struct pair_of_times {
    double plain_s, mttl_s;
    bool undisturbed;       // no process was preempted
    double ratio() const { return mttl_s / plain_s; }
};

long preempted()
{
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_nivcsw;
}

/** Seconds that f() takes on the slowest process. */
template <class F> double slowest_s(F f)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = npb::seconds();
    f();
    double t = npb::seconds() - start;
    MPI_Allreduce(MPI_IN_PLACE, &t, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return t;
}

/** plain(i) and mttl(i) for i = 0 .. n - 1, in turns. */
template <class Plain, class Mttl> std::vector<pair_of_times> turns(int n, Plain plain, Mttl on_mttl)
{
    std::vector<pair_of_times> all;
    for (int i = 0; i < n; ++i) {
        pair_of_times p{};
        long before = preempted();
        if (i % 2)
            p.mttl_s = slowest_s([&] { on_mttl(i); });
        p.plain_s = slowest_s([&] { plain(i); });
        if (i % 2 == 0)
            p.mttl_s = slowest_s([&] { on_mttl(i); });
        before = preempted() - before;
        MPI_Allreduce(MPI_IN_PLACE, &before, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        p.undisturbed = before == 0;
        all.push_back(p);
    }
    return all;
}

template <class Of> double quantile(const std::vector<pair_of_times> &all, double q, Of of)
{
    std::vector<double> v;
    for (const pair_of_times &p : all)
        v.push_back(of(p));
    std::sort(v.begin(), v.end());
    return v[static_cast<size_t>(q * static_cast<double>(v.size() - 1))];
}

void print_ratios(const char *what, const std::vector<pair_of_times> &all)
{
    if (all.empty())
        return;
    const auto ratio = [](const pair_of_times &p) { return p.ratio(); };
    std::printf("  %-24s plain %9.4f ms, mttl %9.4f ms, mttl / plain %.4f (quartiles %.4f to %.4f, 90%% %.3f to %.3f), %zu pairs\n", what,
                1e3 * quantile(all, .5, [](const pair_of_times &p) { return p.plain_s; }),
                1e3 * quantile(all, .5, [](const pair_of_times &p) { return p.mttl_s; }), quantile(all, .5, ratio), quantile(all, .25, ratio),
                quantile(all, .75, ratio), quantile(all, .05, ratio), quantile(all, .95, ratio), all.size());
}

int print_all(const char *name, char size, const std::vector<pair_of_times> &all, const char *verified, bool good)
{
    if (mttl::my_node() == 0) {
        std::printf("%s class %c on %d processes, times of one iteration, medians; verification: %s\n", name, size, mttl::nodes(), verified);
        print_ratios("all pairs", all);
        std::vector<pair_of_times> some;
        std::copy_if(all.begin(), all.end(), std::back_inserter(some), [](const pair_of_times &p) { return p.undisturbed; });
        print_ratios("nobody was preempted", some);
    }
    return good ? 0 : 1;
}

int cg_turns(const char *size, int pairs)
{
    const npb::cg::size &s = npb::cg::size_named(size);
    const int me = mttl::my_node(), np = mttl::nodes();
    cg_plain::solver plain(s, me, np);
    cg_on_mttl::solver on_mttl(s, me, np);
    double norm = 0, zeta[2] = {0, 0};
    bool tried = false, good = true;
    plain.reset(), on_mttl.reset();
    plain.iterate(norm), on_mttl.iterate(norm);
    const auto all = turns(
        pairs ? pairs : s.niter,
        [&](int i) {
            if (i % s.niter == 0)
                plain.reset();
            zeta[0] = plain.iterate(norm);
        },
        [&](int i) {
            if (i % s.niter == 0)
                on_mttl.reset();
            zeta[1] = on_mttl.iterate(norm);
            if (i % s.niter == s.niter - 1) {
                tried = true;
                good &= std::fabs(zeta[1] - s.zeta) / s.zeta <= 1e-10;
            }
        });
    if (static_cast<int>(all.size()) % s.niter == 0)
        good &= std::fabs(zeta[0] - s.zeta) / s.zeta <= 1e-10;
    return print_all("CG", s.name, all, !tried ? "not reached: fewer pairs than iterations" : good ? "SUCCESSFUL" : "UNSUCCESSFUL", good);
}

int is_turns(const char *size, int pairs)
{
    const npb::is::size &s = npb::is::size_named(size);
    const int me = mttl::my_node(), np = mttl::nodes();
    is_plain::sorter plain(s, me, np);
    is_on_mttl::sorter on_mttl(s, me, np);
    int passed = 0;
    plain.rank(1), on_mttl.rank(1);
    // After the last iteration the keys stay as they are, and so does what is expected of them.
    const auto iteration = [](int i) { return std::min(i + 1, npb::is::iterations); };
    const auto all = turns(
        pairs ? pairs : npb::is::iterations, [&](int i) { passed += plain.rank(iteration(i)); },
        [&](int i) { passed += on_mttl.rank(iteration(i)); });
    passed += plain.check();
    passed += on_mttl.check();
    MPI_Allreduce(MPI_IN_PLACE, &passed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const bool good = passed == 2 * (npb::is::tests * static_cast<int>(all.size()) + np);
    return print_all("IS", s.name, all, good ? "SUCCESSFUL" : "UNSUCCESSFUL", good);
}

int measure(int argc, char **argv)
{
    const std::string name = argc > 1 ? argv[1] : "";
    const int pairs = argc > 3 ? std::atoi(argv[3]) : 0;
    if ((name != "cg" && name != "is") || argc < 3 || argc > 4 || pairs < 0 || (argc > 3 && pairs == 0))
        throw std::runtime_error("usage: npb_bench cg|is S|W|A|B|C [PAIRS]");
    return name == "cg" ? cg_turns(argv[2], pairs) : is_turns(argv[2], pairs);
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, measure, mttl::start::spmd);
}
