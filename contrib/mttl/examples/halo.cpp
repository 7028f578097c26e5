/*
 * Halo exchange: a rod, cut into one piece a node, cools down.  Edges are
 * written straight into the neighbours' pieces; Landing announces them, so a
 * step costs one message a neighbour, and inner cells are computed meanwhile.
 *
 *   mpirun -np 4 halo [CELLS STEPS]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

#include <cmath>

namespace {

using edge = mttl::LandingPtr<double>;
mttl::Sync<edge> from_left, from_right;     // where my edges go

/** Cells 1 .. n; 0 and n + 1 are the neighbours'. */
struct piece {
    piece(int first, int n) : now(static_cast<size_t>(n) + 2), next(now)
    {
        for (int i = 0; i < n + 2; ++i)
            now[static_cast<size_t>(i)] = std::sin(0.01 * (first + i));
    }
    void step(size_t from, size_t to)
    {
        for (size_t i = from; i < to; ++i)
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
    }
    std::vector<double> now, next;
};

double cool(int n, int steps)
{
    const int me = mttl::my_node(), nodes = mttl::nodes();
    piece p(me * n, n);
    const auto last = static_cast<size_t>(n);
    double left = p.now[0], right = p.now[last + 1];    // the ends of the rod stay as they are
    std::optional<mttl::Landing<double>> in_left, in_right;
    edge to_left, to_right;
    if (me > 0) {
        in_left.emplace(&left, 1, me - 1);
        mttl::post(me - 1, [](edge e) { from_right.write(e); }, in_left->handle());
        to_left = from_left.read();
    }
    if (me + 1 < nodes) {
        in_right.emplace(&right, 1, me + 1);
        mttl::post(me + 1, [](edge e) { from_left.write(e); }, in_right->handle());
        to_right = from_right.read();
    }
    for (int s = 0; s < steps; ++s) {
        if (in_left)
            in_left->arm(), to_left.write(&p.now[1], 1);
        if (in_right)
            in_right->arm(), to_right.write(&p.now[last], 1);
        p.step(2, last);
        if (in_left)
            in_left->wait();
        if (in_right)
            in_right->wait();
        p.now[0] = left, p.now[last + 1] = right;
        p.step(1, 2), p.step(last, last + 1);
        std::swap(p.now, p.next);
    }
    double sum = 0;
    for (size_t i = 1; i <= last; ++i)
        sum += p.now[i];
    return mttl::Reduction<double>().exec(sum);
}

/** The same on one node. */
double alone(int n, int steps)
{
    piece p(0, n);
    for (int s = 0; s < steps; ++s) {
        p.step(1, static_cast<size_t>(n) + 1);
        p.next.front() = p.now.front(), p.next.back() = p.now.back();
        std::swap(p.now, p.next);
    }
    double sum = 0;
    for (size_t i = 1; i <= static_cast<size_t>(n); ++i)
        sum += p.now[i];
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, [](int k, char **a) {      // on every node
        const int n = k > 1 ? std::atoi(a[1]) : 1000, steps = k > 2 ? std::atoi(a[2]) : 200;
        const double sum = cool(n, steps);
        if (mttl::my_node() != 0)
            return 0;
        const double wanted = alone(n * mttl::nodes(), steps);
        const bool good = std::fabs(sum - wanted) <= 1e-9 * std::fabs(wanted);
        std::printf("%d nodes, %d cells each, %d steps: %.6f, %s\n", mttl::nodes(), n, steps, sum, good ? "right" : "WRONG");
        return good ? 0 : 1;
    }, mttl::start::spmd);
}
