/*
 * CG: the classes, the matrix, and what a process computes by itself.  The
 * smallest eigenvalue of a sparse symmetric matrix by inverse iteration, 25
 * steps of conjugate gradients each.  It must not communicate.
 *
 * Processes stand in a grid, rows x columns, columns = rows or 2 rows.  A
 * process holds a block of the matrix and the part of each vector that belongs
 * to its columns; the parts are the same in all rows of the grid.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NPB_CG_HPP
#define NPB_CG_HPP

#include "npb.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace npb::cg {

struct size {
    char name;
    int n, nonzer, niter;
    double shift, zeta;
};
inline constexpr size sizes[] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648},      {'W', 7000, 8, 15, 12, 10.362595087124},
    {'A', 14000, 11, 15, 20, 17.130235054029},    {'B', 75000, 13, 75, 60, 22.712745482631},
    {'C', 150000, 15, 75, 110, 28.973605592845},
};
inline constexpr double rcond = 0.1;
inline constexpr int steps = 25;        // of conjugate gradients, in each iteration

inline const size &size_named(const char *argument)
{
    for (const size &s : sizes)
        if (argument && argument[0] == s.name && !argument[1])
            return s;
    throw std::runtime_error("usage: cg S|W|A|B|C");
}

struct grid {
    int rows = 1, columns = 1, row = 0, column = 0;
    int first_row, last_row, first_column, last_column;     // of the matrix, half open
    int log_columns = 0;
    int transposed = 0;     // who has what I need after summing rows

    grid(int n, int me, int np)
    {
        while (rows * columns < np) {
            if (columns == rows)
                columns *= 2, ++log_columns;
            else
                rows *= 2;
        }
        if (rows * columns != np || n % columns)
            throw std::runtime_error("CG needs a power of two of processes, and columns that divide its size");
        row = me / columns, column = me % columns;
        first_row = n / rows * row, last_row = n / rows * (row + 1);
        first_column = n / columns * column, last_column = n / columns * (column + 1);
        transposed = square() ? column * columns + row : 2 * (column / 2 * rows + row) + column % 2;
    }
    bool square() const { return rows == columns; }
    int height() const { return last_row - first_row; }
    int width() const { return last_column - first_column; }
};

/** A block of the matrix, by rows. */
struct matrix {
    std::vector<int> begin;
    std::vector<int> column;
    std::vector<double> value;
};

inline matrix make_matrix(const size &s, const grid &g)
{
    struct entry {
        int row, column;
        double value;
    };
    generator random;
    random.next();
    int power = 1;
    while (power < s.n)
        power *= 2;
    std::vector<entry> entries;
    std::vector<int> at;
    std::vector<double> v;
    double weight = 1;
    const double ratio = std::pow(rcond, 1.0 / s.n);
    for (int i = 0; i < s.n; ++i, weight *= ratio) {
        at.clear(), v.clear();
        while (at.size() < static_cast<size_t>(s.nonzer)) {
            const double value = random.next();
            const int where = static_cast<int>(power * random.next());
            if (where >= s.n || std::find(at.begin(), at.end(), where) != at.end())
                continue;
            at.push_back(where), v.push_back(value);
        }
        const auto own = std::find(at.begin(), at.end(), i);
        if (own == at.end())
            at.push_back(i), v.push_back(0.5);
        else
            v[static_cast<size_t>(own - at.begin())] = 0.5;
        for (size_t j = 0; j < at.size(); ++j) {
            if (at[j] < g.first_row || at[j] >= g.last_row)
                continue;
            for (size_t k = 0; k < at.size(); ++k) {
                if (at[k] < g.first_column || at[k] >= g.last_column)
                    continue;
                double value = weight * v[j] * v[k];
                if (at[j] == i && at[k] == i)
                    value += rcond - s.shift;
                entries.push_back({at[j] - g.first_row, at[k] - g.first_column, value});
            }
        }
    }
    // By row and column; what meets is added up in the order in which it came.
    std::vector<int> count(static_cast<size_t>(g.height()) + 1, 0);
    for (const entry &e : entries)
        ++count[static_cast<size_t>(e.row) + 1];
    for (size_t r = 1; r < count.size(); ++r)
        count[r] += count[r - 1];
    std::vector<std::pair<int, double>> sorted(entries.size());
    {
        std::vector<int> next(count.begin(), count.end() - 1);
        for (const entry &e : entries)
            sorted[static_cast<size_t>(next[static_cast<size_t>(e.row)]++)] = {e.column, e.value};
    }
    matrix m;
    m.begin.push_back(0);
    for (size_t r = 0; r + 1 < count.size(); ++r) {
        const auto b = sorted.begin() + count[r], e = sorted.begin() + count[r + 1];
        std::stable_sort(b, e, [](const auto &x, const auto &y) { return x.first < y.first; });
        for (auto i = b; i != e; ++i) {
            if (i != b && i->first == m.column.back())
                m.value.back() += i->second;
            else
                m.column.push_back(i->first), m.value.push_back(i->second);
        }
        m.begin.push_back(static_cast<int>(m.column.size()));
    }
    return m;
}

using vector = std::vector<double>;

// The kernels: never inlined, so that both versions run the same instructions.  Else the compiler may make of the same
// lines loops of which one takes 15% longer.

/** w = A p. */
[[gnu::noinline]] inline void multiply(const matrix &a, const vector &p, vector &w)
{
    const int *column = a.column.data();
    const double *value = a.value.data(), *x = p.data();
    for (size_t r = 0; r + 1 < a.begin.size(); ++r) {
        double sum = 0;
        for (int k = a.begin[r]; k < a.begin[r + 1]; ++k)
            sum += value[k] * x[column[k]];
        w[r] = sum;
    }
}

[[gnu::noinline]] inline double dot(const vector &a, const vector &b)
{
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

/** y += f x. */
[[gnu::noinline]] inline void add(vector &y, double f, const vector &x)
{
    for (size_t i = 0; i < y.size(); ++i)
        y[i] += f * x[i];
}

/** y = x + f y. */
[[gnu::noinline]] inline void add_to(vector &y, double f, const vector &x)
{
    for (size_t i = 0; i < y.size(); ++i)
        y[i] = x[i] + f * y[i];
}

[[gnu::noinline]] inline double distance_squared(const vector &a, const vector &b)
{
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

inline double mops(const size &s, double time_s)
{
    const double k = s.nonzer * (s.nonzer + 1);
    return 2.0 * s.niter * s.n * (3 + k + steps * (5 + k) + 3) / time_s / 1e6;
}

inline bool verified(const size &s, double zeta)
{
    const double off = std::fabs(zeta - s.zeta) / s.zeta;
    std::printf(" Zeta is    %20.13E\n Error is   %20.13E\n", zeta, off);
    return off <= 1e-10;
}

} // namespace npb::cg

#endif
