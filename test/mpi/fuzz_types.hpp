/*
 * What the fuzzer draws from: numbers, datatypes of ints, an operator that
 * does not commute.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_FUZZ_TYPES_HPP
#define WAN_TEST_FUZZ_TYPES_HPP

#include <mpi.h>

#include <cstdint>
#include <vector>

inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

struct random_stream {
    uint64_t state;
    uint64_t next() { return mix(state++); }
    uint64_t below(uint64_t n) { return next() % n; }
    bool flip() { return below(2) != 0; }
    template <typename T> const T &pick(const std::vector<T> &v) { return v[below(v.size())]; }
};

/** An element of `at.size()` ints; extent in ints. */
struct shape {
    const char *name;
    MPI_Datatype type;
    int extent;
    std::vector<int> at;
    int ints() const { return static_cast<int>(at.size()); }
};
inline std::vector<shape> shapes;

inline void shapes_make()
{
    MPI_Datatype four, gaps, gapped, turned, moved;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);               // ints 0 and 2
    MPI_Type_create_resized(gaps, 0, 4 * sizeof(int), &gapped);
    const int lengths[] = {1, 1}, at[] = {1, 0};
    MPI_Type_indexed(2, lengths, at, MPI_INT, &turned);     // the second int comes first
    MPI_Type_create_resized(MPI_INT, -static_cast<MPI_Aint>(sizeof(int)), 3 * sizeof(int), &moved);
    for (MPI_Datatype *t : {&four, &gapped, &turned, &moved})
        MPI_Type_commit(t);
    MPI_Type_free(&gaps);
    shapes = {{"int", MPI_INT, 1, {0}}, {"four", four, 4, {0, 1, 2, 3}}, {"gapped", gapped, 4, {0, 2}},
              {"turned", turned, 2, {1, 0}}, {"moved", moved, 3, {0}}};
}

inline void shapes_free()
{
    for (shape &s : shapes)
        if (s.type != MPI_INT)
            MPI_Type_free(&s.type);
}

/** x -> a x + b over the integers modulo 2^32, composed: does not commute.  Two ints, wherever they lie. */
inline MPI_Op compose;
inline void composed(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int ints, extent_ints;
    MPI_Aint lb, extent;
    MPI_Type_size(*type, &ints);
    MPI_Type_get_extent(*type, &lb, &extent);
    extent_ints = static_cast<int>(extent / static_cast<MPI_Aint>(sizeof(int)));
    const int second = extent_ints == 4 ? 2 : 1;
    auto *x = static_cast<uint32_t *>(in), *y = static_cast<uint32_t *>(inout);
    for (int i = 0; i < *count; ++i, x += extent_ints, y += extent_ints) {
        const uint32_t a = x[0] * y[0], b = x[0] * y[second] + x[second];
        y[0] = a;
        y[second] = b;
    }
}

#endif
