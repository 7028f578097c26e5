/*
 * CG and IS on plain MPI beside the same on mttl, in one job: iterations of
 * both in turns, in alternating order, on the same processes.  Each pair gives
 * one ratio; whatever else the machine does, it does to both.  A time is that
 * of the slowest process after a barrier.  Both must verify.
 *
 *   mpirun -np 2 npb_bench cg|cg_steps|is S|W|A|B|C [PAIRS]     default: as many as the benchmark has iterations
 *
 * cg_steps: turns of one of the 25 steps of an iteration.  Where others use the
 * machine, pairs that short may pass without anybody being preempted; those are
 * listed by themselves.
 *
 * Says how often each side was verified: IS in every iteration and at the end,
 * CG after as many iterations as the benchmark has.  Ends with exit code 1 where
 * one did not verify; CG with fewer pairs than that cannot, and says so.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "../npb/cg.hpp"
#include "../npb/is.hpp"
#include "../npb/plain_mpi.hpp"
#include "spread.hpp"

#include <mttl/mttl.hpp>

#include <deque>
#include <map>
#include <numeric>

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
};

/** Seconds that f() takes on the slowest process. */
template <class F> double slowest_s(F f)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = seconds();
    f();
    double t = seconds() - start;
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

void print_ratios(const char *what, const std::vector<pair_of_times> &all)
{
    if (all.empty())
        return;
    spread plain, on_mttl, ratio;
    for (const pair_of_times &p : all)
        plain.v.push_back(1e3 * p.plain_s), on_mttl.v.push_back(1e3 * p.mttl_s), ratio.v.push_back(p.mttl_s / p.plain_s);
    // The median of all pairs that there could be is between these two with 95% (the binomial's normal form).
    const double half = std::min(.5, .98 / std::sqrt(static_cast<double>(all.size())));
    std::printf("  %-24s plain %9.4f ms, mttl %9.4f ms, mttl / plain %.4f (95%% interval of the median %.4f to %.4f,"
                " quartiles %.4f to %.4f), %zu pairs\n",
                what, plain.median(), on_mttl.median(), ratio.median(), ratio.at(.5 - half), ratio.at(.5 + half), ratio.at(.25),
                ratio.at(.75), all.size());
}

/** `plain`, `on_mttl`: how often each was verified. */
int print_all(const char *name, char size, const std::vector<pair_of_times> &all, int plain, int on_mttl, bool good)
{
    if (mttl::my_node() == 0) {
        std::printf("%s class %c on %d processes, times of one turn, medians; verification: ", name, size, mttl::nodes());
        if (plain && on_mttl)
            std::printf("%s (of plain %d, of mttl %d)\n", good ? "SUCCESSFUL" : "UNSUCCESSFUL", plain, on_mttl);
        else
            std::printf("not reached: fewer pairs than iterations\n");
        print_ratios("all pairs", all);
        std::vector<pair_of_times> some;
        std::copy_if(all.begin(), all.end(), std::back_inserter(some), [](const pair_of_times &p) { return p.undisturbed; });
        print_ratios("nobody was preempted", some);
    }
    return good ? 0 : 1;
}

/** Turns of an iteration or, `in_steps`, of one step of it. */
int cg_turns(const char *size, int pairs, bool in_steps)
{
    constexpr int steps = npb::cg::steps;
    const npb::cg::size &s = npb::cg::size_named(size);
    const int me = mttl::my_node(), np = mttl::nodes();
    cg_plain::solver plain(s, me, np);
    cg_on_mttl::solver on_mttl(s, me, np);
    double norm = 0;
    bool good = true;
    const auto ended = [&](int iteration, double zeta, int &verified) {
        if (iteration % s.niter == s.niter - 1) {
            ++verified;
            good &= std::fabs(zeta - s.zeta) / s.zeta <= 1e-10;
        }
    };
    const auto turn = [&](auto &solver, int i, int &verified) {
        if (i % s.niter == 0)
            solver.reset();
        ended(i, solver.iterate(norm), verified);
    };
    const auto step = [&](auto &solver, int i, int &verified) {
        if (i % (s.niter * steps) == 0)
            solver.reset();
        if (i % steps == 0)
            solver.begin();
        solver.step();
        if (i % steps == steps - 1)
            ended(i / steps, solver.end(norm), verified);
    };
    const auto one = [&](auto &solver, int i, int &verified) {
        in_steps ? step(solver, i, verified) : turn(solver, i, verified);
    };
    int verified[2] = {0, 0};
    plain.reset(), on_mttl.reset();
    plain.iterate(norm), on_mttl.iterate(norm);
    const auto all = turns(
        pairs ? pairs : s.niter * (in_steps ? steps : 1), [&](int i) { one(plain, i, verified[0]); },
        [&](int i) { one(on_mttl, i, verified[1]); });
    return print_all(in_steps ? "CG, in steps," : "CG", s.name, all, verified[0], verified[1], good);
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
    const int times = static_cast<int>(all.size()) + 1;
    return print_all("IS", s.name, all, times, times, good);
}

int measure(int argc, char **argv)
{
    const std::string name = argc > 1 ? argv[1] : "";
    const int pairs = argc > 3 ? std::atoi(argv[3]) : 0;
    if ((name != "cg" && name != "cg_steps" && name != "is") || argc < 3 || argc > 4 || pairs < 0 || (argc > 3 && pairs == 0))
        throw std::runtime_error("usage: npb_bench cg|cg_steps|is S|W|A|B|C [PAIRS]");
    return name == "is" ? is_turns(argv[2], pairs) : cg_turns(argv[2], pairs, name == "cg_steps");
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, measure, mttl::start::spmd);
}
