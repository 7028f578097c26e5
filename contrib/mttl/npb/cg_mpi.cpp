/*
 * NPB CG on plain MPI: what cg_mttl.cpp is compared with, line by line.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cg.hpp"
#include "plain_mpi.hpp"

using namespace npb;
using namespace npb::cg;

namespace {

uint64_t messages;

/** Two processes that hand each other doubles. */
class exchange {
public:
    exchange(int partner, const double *out, double *in, int n) : partner_(partner), out_(out), in_(in), n_(n) {}
    void run()
    {
        MPI_Request r;
        MPI_Irecv(in_, n_, MPI_DOUBLE, partner_, 1, MPI_COMM_WORLD, &r);
        MPI_Send(out_, n_, MPI_DOUBLE, partner_, 1, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        ++messages;
    }

private:
    int partner_;
    const double *out_;
    double *in_;
    int n_;
};

class solver {
public:
    solver(const cg::size &s, int me, int np)
        : size_(s), grid_(s.n, me, np), me_(me), a_(make_matrix(s, grid_)), x_(static_cast<size_t>(grid_.width())), z_(x_), p_(x_),
          q_(x_), r_(x_), w_(static_cast<size_t>(grid_.height())), other_(w_)
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
        for (mask = 1; mask < grid_.columns; mask *= 2)
            scalars_.emplace_back(me_ ^ mask, &scalar_[0], &scalar_[1], 1);
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
    double sum(double mine)
    {
        scalar_[0] = mine;
        for (exchange &e : scalars_) {
            e.run();
            scalar_[0] += scalar_[1];
        }
        return scalar_[0];
    }

    const cg::size &size_;
    grid grid_;
    int me_;
    matrix a_;
    vector x_, z_, p_, q_, r_, w_, other_;
    double rho_ = 0;
    double scalar_[2];
    int half_ = 0;          // where in w the part begins that this process gives
    std::vector<exchange> sums_, scalars_, transpose_;
};

int run(int argc, char **argv)
{
    int me, np;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    const cg::size &s = size_named(argc > 1 ? argv[1] : nullptr);
    solver solve(s, me, np);
    double norm = 0, zeta = 0;
    solve.reset();
    zeta = solve.iterate(norm);
    solve.reset();
    MPI_Barrier(MPI_COMM_WORLD);
    const uint64_t before = messages;
    const double t = seconds();
    for (int i = 1; i <= s.niter; ++i) {
        zeta = solve.iterate(norm);
        if (me == 0 && (i == 1 || i == s.niter))
            std::printf("    %5d       %20.14E %20.13f\n", i, norm, zeta);
    }
    double time = seconds() - t, longest = 0;
    MPI_Allreduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const bool good = std::fabs(zeta - s.zeta) / s.zeta <= 1e-10;
    if (me == 0)
        print({"CG", "MPI", s.name, static_cast<uint64_t>(s.n), s.niter, np, longest, mops(s, longest), verified(s, zeta),
               messages - before, 0, messages - before});
    return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) { return plain_mpi(argc, argv, run); }
