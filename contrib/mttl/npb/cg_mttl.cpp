/*
 * NPB CG on mttl: vectors are exchanged by announced writes, dot products by
 * the library's Reduction.  cg_mpi.cpp is the same on plain MPI.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cg.hpp"

#include <mttl/mttl.hpp>

#include <deque>

using namespace npb;
using namespace npb::cg;

namespace {

/** Two processes that hand each other doubles. */
class exchange {
public:
    exchange(int partner, const double *out, double *in, int n) : out_(out), in_(in, static_cast<size_t>(n), partner), n_(n)
    {
        mttl::invoke(partner, [](int from, mttl::LandingPtr<double> p) { handles[from].write(p); }, mttl::my_node(), in_.handle());
        to_ = handles[partner].read();
    }
    void run()
    {
        in_.arm();
        to_.write(out_, static_cast<size_t>(n_));
        in_.wait();
    }

private:
    static inline std::map<int, mttl::Sync<mttl::LandingPtr<double>>> handles;
    const double *out_;
    mttl::Landing<double> in_;
    mttl::LandingPtr<double> to_;
    int n_;
};

class solver {
public:
    solver(const cg::size &s, int me, int np)
        : size_(s), grid_(s.n, me, np), me_(me), a_(make_matrix(s, grid_)), x_(static_cast<size_t>(grid_.width())), z_(x_), p_(x_),
          q_(x_), r_(x_), w_(static_cast<size_t>(grid_.height())), other_(w_), row_(row_of(grid_))
    {
        // The sum over a row of the grid.  Where columns are half as wide as
        // rows are high, each process ends with the half that it has to give.
        int mask = 1;
        if (!grid_.square()) {
            half_ = grid_.column % 2 * grid_.width();
            sums_.emplace_back(me_ ^ 1, &w_[static_cast<size_t>(grid_.width() - half_)], &other_[static_cast<size_t>(half_)], grid_.width());
            mask = 2;
        }
        const int n = grid_.square() ? grid_.height() : grid_.width();
        for (; mask < grid_.columns; mask *= 2)
            sums_.emplace_back(me_ ^ mask, &w_[static_cast<size_t>(half_)], &other_[static_cast<size_t>(half_)], n);
        if (grid_.transposed != me_)
            transpose_.emplace_back(grid_.transposed, &w_[static_cast<size_t>(half_)], q_.data(), grid_.width());
    }

    /** One iteration from x to the next one; zeta. */
    double iterate(double &norm)
    {
        begin();
        for (int i = 0; i < steps; ++i)
            step();
        return end(norm);
    }
    void reset() { std::fill(x_.begin(), x_.end(), 1.0); }

    // ---- the parts of an iteration: conjugate gradients from x, then the next x ----

    void begin()
    {
        std::fill(z_.begin(), z_.end(), 0.0);
        r_ = p_ = x_;
        rho_ = sum(dot(r_, r_));
    }
    void step()
    {
        multiply_all(p_);
        const double alpha = rho_ / sum(dot(p_, q_));
        add(z_, alpha, p_);
        add(r_, -alpha, q_);
        const double before = rho_;
        rho_ = sum(dot(r_, r_));
        add_to(p_, rho_ / before, r_);
    }
    double end(double &norm)
    {
        multiply_all(z_);
        norm = std::sqrt(sum(distance_squared(x_, q_)));
        const double xz = sum(dot(x_, z_)), zz = sum(dot(z_, z_));
        for (size_t i = 0; i < x_.size(); ++i)
            x_[i] = z_[i] / std::sqrt(zz);
        return size_.shift + 1 / xz;
    }

private:
    /** q = A v, over all processes. */
    void multiply_all(const vector &v)
    {
        multiply(a_, v, w_);
        const size_t from = static_cast<size_t>(half_);
        const size_t to = from + static_cast<size_t>(grid_.square() ? grid_.height() : grid_.width());
        for (exchange &e : sums_) {
            e.run();
            for (size_t i = from; i < to; ++i)
                w_[i] += other_[i];
        }
        for (exchange &e : transpose_)
            e.run();
        if (transpose_.empty())
            std::copy(w_.begin() + half_, w_.begin() + half_ + grid_.width(), q_.begin());
    }

    /** The sum over a row of the grid. */
    double sum(double mine) { return row_.exec(mine); }
    static std::vector<int> row_of(const grid &g)
    {
        std::vector<int> row(static_cast<size_t>(g.columns));
        std::iota(row.begin(), row.end(), g.row * g.columns);
        return row;
    }

    const cg::size &size_;
    grid grid_;
    int me_;
    matrix a_;
    vector x_, z_, p_, q_, r_, w_, other_;
    double rho_ = 0;
    mttl::Reduction<double> row_;
    int half_ = 0;          // where in w the part begins that this process gives
    std::deque<exchange> sums_, transpose_;
};

int run(int argc, char **argv)
{
    const int me = mttl::my_node(), np = mttl::nodes();
    const cg::size &s = size_named(argc > 1 ? argv[1] : nullptr);
    solver solve(s, me, np);
    double norm = 0, zeta = 0;
    solve.reset();
    zeta = solve.iterate(norm);
    solve.reset();
    mttl::Reduction<double> all;
    all.exec(0);
    const mttl::port_counters &now = mttl::node::here().network().counters(), before = now;
    const double t = seconds();
    for (int i = 1; i <= s.niter; ++i) {
        zeta = solve.iterate(norm);
        if (me == 0 && (i == 1 || i == s.niter))
            std::printf("    %5d       %20.14E %20.13f\n", i, norm, zeta);
    }
    const double time = seconds() - t;
    const mttl::port_counters after = now;
    const double longest = all.exec(time, [](double a, double b) { return std::max(a, b); });
    const bool good = std::fabs(zeta - s.zeta) / s.zeta <= 1e-10;
    if (me == 0)
        print({"CG", "MTTL", s.name, static_cast<uint64_t>(s.n), s.niter, np, longest, mops(s, longest), verified(s, zeta),
               after.sends + after.nsends - before.sends - before.nsends, after.probes - before.probes, after.waits - before.waits});
    return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) { return mttl::run(argc, argv, run, mttl::start::spmd); }
