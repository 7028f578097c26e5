/*
 * Groups about what is sent: datatypes, operators, counts.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_groups.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cmath>
#include <cstring>

namespace groups {

using check::layout;
using check::layout_of;
using check::maker;
using check::now;
using check::random;
using check::reduction;
using check::target;

bool wide = false;

namespace {

template <typename T> void store(char *element, T value)
{
    std::memcpy(element, &value, sizeof value);
}

template <typename T> T load(const char *element)
{
    T value;
    std::memcpy(&value, element, sizeof value);
    return value;
}

void any_int(random &r, char *element)
{
    store(element, static_cast<uint32_t>(r.next()));
}

/* ---- user-defined operators ----------------------------------------------- */

/* The function of an operator gets a handle, no context: where the words of an element are. */
thread_local std::vector<ptrdiff_t> words;
thread_local ptrdiff_t step;

using word_vector = std::array<uint32_t, 4>;

template <size_t N, typename F> void combine(void *in, void *inout, int *count, F f)
{
    for (int i = 0; i < *count; ++i) {
        word_vector a{}, b{};
        for (size_t w = 0; w < N; ++w) {
            a[w] = load<uint32_t>(static_cast<char *>(in) + i * step + words[w]);
            b[w] = load<uint32_t>(static_cast<char *>(inout) + i * step + words[w]);
        }
        const word_vector c = f(a, b);
        for (size_t w = 0; w < N; ++w)
            store(static_cast<char *>(inout) + i * step + words[w], c[w]);
    }
}

/** Commutes: a sum and an exclusive or. */
void user_mix(void *in, void *inout, int *count, MPI_Datatype *)
{
    combine<2>(in, inout, count, [](auto a, auto b) { return word_vector{a[0] + b[0], a[1] ^ b[1]}; });
}

/** x -> a0 x + a1, first b then a: associative, does not commute. */
void user_affine(void *in, void *inout, int *count, MPI_Datatype *)
{
    combine<2>(in, inout, count, [](auto a, auto b) { return word_vector{a[0] * b[0], a[0] * b[1] + a[1]}; });
}

void user_matrix(void *in, void *inout, int *count, MPI_Datatype *)
{
    combine<4>(in, inout, count, [](auto a, auto b) {
        return word_vector{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                           a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    });
}

void use_words(const layout &l)
{
    words.clear();
    for (size_t i = 0; i < l.size(); i += 4)
        words.push_back(l.bytes[i]);
    step = l.extent;
}

void odd_words(random &r, char *element, size_t n)
{
    for (size_t w = 0; w < n; ++w)
        store(element + 4 * w, static_cast<uint32_t>(r.next()) | 1u);
}

/* ---- layouts ---------------------------------------------------------------- */

layout commit(layout l)
{
    MPI_Type_commit(&l.type);
    l.owned = true;
    return l;
}

/** `blocks`: byte offset, number of ints. */
layout int_blocks(const std::string &name, MPI_Aint lb, MPI_Aint extent, const std::vector<std::pair<MPI_Aint, int>> &blocks)
{
    std::vector<MPI_Aint> at;
    std::vector<int> lengths;
    std::vector<std::pair<ptrdiff_t, size_t>> bytes;
    for (auto [offset, n] : blocks) {
        at.push_back(offset);
        lengths.push_back(n);
        bytes.emplace_back(offset, 4 * static_cast<size_t>(n));
    }
    MPI_Datatype inner, type;
    MPI_Type_create_hindexed(static_cast<int>(at.size()), lengths.data(), at.data(), MPI_INT, &inner);
    MPI_Type_create_resized(inner, lb, extent, &type);
    MPI_Type_free(&inner);
    return commit(layout_of(name, type, extent, bytes));
}

layout mixed_struct()
{
    const int lengths[] = {1, 3, 2, 1};
    const MPI_Aint at[] = {0, 8, 16, 28};
    const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_CHAR, MPI_INT, MPI_SHORT};
    MPI_Datatype inner, type;
    MPI_Type_create_struct(4, lengths, at, parts, &inner);
    MPI_Type_create_resized(inner, 0, 40, &type);
    MPI_Type_free(&inner);
    return commit(layout_of("struct with holes", type, 40, {{0, 8}, {8, 3}, {16, 8}, {28, 2}}));
}

layout int_vector(int blocks, int length, int stride)
{
    MPI_Datatype type;
    MPI_Type_vector(blocks, length, stride, MPI_INT, &type);
    std::vector<std::pair<ptrdiff_t, size_t>> bytes;
    for (int b = 0; b < blocks; ++b)
        bytes.emplace_back(4 * b * stride, 4 * static_cast<size_t>(length));
    return commit(layout_of("vector of " + std::to_string(blocks), type, 4 * ((blocks - 1) * stride + length), bytes));
}

/** Two ints an element, all first ones before all second ones: extent 4, true extent 4(count + 1). */
layout interleaved(int count)
{
    return int_blocks("interleaved pair", 0, 4, {{0, 1}, {4 * std::max(1, count), 1}});
}

layout subarray()
{
    const int whole[] = {4, 5}, part[] = {2, 3}, from[] = {1, 1};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, whole, part, from, MPI_ORDER_C, MPI_INT, &type);
    return commit(layout_of("subarray", type, 80, {{24, 12}, {44, 12}}));
}

std::vector<layout> layouts(int count)
{
    std::vector<layout> all;
    all.push_back(ints());
    all.push_back(layout_of("char", MPI_CHAR, 1, {{0, 1}}));
    all.push_back(layout_of("double", MPI_DOUBLE, 8, {{0, 8}}));
    all.push_back(int_vector(3, 2, 4));
    all.push_back(mixed_struct());
    all.push_back(int_blocks("negative lower bound", -8, 24, {{-8, 1}, {4, 2}}));
    all.push_back(interleaved(count));
    all.push_back(int_blocks("unordered blocks", 0, 32, {{20, 1}, {0, 2}, {12, 1}}));
    all.push_back(int_blocks("block after a hole", 0, 32, {{12, 5}}));
    all.push_back(int_blocks("negative extent", 0, -8, {{0, 1}}));
    all.push_back(subarray());
    MPI_Datatype nothing;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    all.push_back(commit(layout_of("empty", nothing, 0, {})));
    return all;
}

/* ---- built-in operators ------------------------------------------------------ */

struct builtin {
    const char *name;
    MPI_Op op;
};
const builtin arithmetic[] = {{"MPI_MAX", MPI_MAX}, {"MPI_MIN", MPI_MIN}, {"MPI_SUM", MPI_SUM}, {"MPI_PROD", MPI_PROD}};
const builtin logical[] = {{"MPI_LAND", MPI_LAND}, {"MPI_LOR", MPI_LOR}, {"MPI_LXOR", MPI_LXOR}};
const builtin bitwise[] = {{"MPI_BAND", MPI_BAND}, {"MPI_BOR", MPI_BOR}, {"MPI_BXOR", MPI_BXOR}};
const builtin located[] = {{"MPI_MAXLOC", MPI_MAXLOC}, {"MPI_MINLOC", MPI_MINLOC}};

/** All operators of one type, for a few counts. */
class over_type {
public:
    over_type(const target &t, layout l) : target_(t), layout_(std::move(l)) {}

    void run(const builtin &b, maker make, std::function<bool(const char *, const char *)> same = {})
    {
        const reduction r{b.name, &layout_, b.op, std::move(make), std::move(same)};
        for (int count : {1, now.size + 1, 131, 1021})
            check::allreduce(target_, r, count, (now.calls & 1) != 0);
    }

private:
    const target &target_;
    layout layout_;
};

template <typename T> void integer(const target &t, const char *name, MPI_Datatype type)
{
    int size = 0;
    if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &size) != MPI_SUCCESS || size != sizeof(T))
        return;
    over_type o(t, layout_of(name, type, sizeof(T), {{0, sizeof(T)}}));
    const maker any = [](random &r, char *e) { store(e, static_cast<T>(r.next())); };
    const maker narrow = [](random &r, char *e) { store(e, static_cast<T>(r.below(8))); };
    const maker unit = [](random &r, char *e) { store(e, static_cast<T>(r.below(9) ? 1 : r.below(2) * 2)); };
    const maker truth = [](random &r, char *e) { store(e, static_cast<T>(r.below(4) ? r.next() | 1 : 0)); };
    const bool small = sizeof(T) < 4 && !wide;
    for (const auto &b : arithmetic)
        o.run(b, b.op == MPI_SUM && small ? narrow : b.op == MPI_PROD && small ? unit : any);
    for (const auto &b : logical)
        o.run(b, truth);
    for (const auto &b : bitwise)
        o.run(b, any);
}

template <typename T> void real(const target &t, const char *name, MPI_Datatype type)
{
    int size = 0;
    if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &size) != MPI_SUCCESS || size != sizeof(T))
        return;
    // Bytes of a value: long double has padding that nobody promises to keep.
    const size_t used = sizeof(T) > 8 ? 10 : sizeof(T);
    auto l = layout_of(name, type, sizeof(T), {{0, used}});
    l.loose = used != sizeof(T);
    over_type o(t, l);
    auto put = [used](char *e, T v) { std::memcpy(e, &v, used); };
    // Values for which every association gives the same bits.
    const maker whole = [put](random &r, char *e) { put(e, static_cast<T>(r.below(2000)) - 1000); };
    const maker power = [put](random &r, char *e) {
        static constexpr T v[] = {1, -1, 2, T(0.5)};
        put(e, v[r.below(4)]);
    };
    const maker any = [put](random &r, char *e) { put(e, static_cast<T>(static_cast<double>(r.below(1 << 30)) / 1024 - (1 << 19))); };
    for (const auto &b : arithmetic)
        o.run(b, b.op == MPI_SUM ? whole : b.op == MPI_PROD ? power : any);
}

template <typename T> void complex(const target &t, const char *name, MPI_Datatype type)
{
    using value = std::complex<T>;
    int size = 0;
    if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &size) != MPI_SUCCESS || size != sizeof(value) || sizeof(T) > 8)
        return;
    over_type o(t, layout_of(name, type, sizeof(value), {{0, sizeof(value)}}));
    o.run(arithmetic[2], [](random &r, char *e) {
        store(e, value(static_cast<T>(r.below(200)), static_cast<T>(r.below(200)) - 100));
    });
    // The sign of a zero depends on the association.
    o.run(arithmetic[3], [](random &r, char *e) {
        static const value units[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}};
        store(e, units[r.below(5)]);
    }, [](const char *a, const char *b) { return load<value>(a) == load<value>(b); });
}

template <typename V, typename I> void pair(const target &t, const char *name, MPI_Datatype type)
{
    struct element { V value; I index; };
    if (type == MPI_DATATYPE_NULL)
        return;
    const size_t used = sizeof(V) > 8 ? 10 : sizeof(V);
    auto l = layout_of(name, type, sizeof(element), {{0, used}, {offsetof(element, index), sizeof(I)}});
    l.loose = sizeof(element) != used + sizeof(I);
    over_type o(t, l);
    for (const auto &b : located)
        o.run(b, [used](random &r, char *e) {
            const V value = static_cast<V>(r.below(6));     // ties
            std::memcpy(e, &value, used);
            store(e + used, static_cast<I>(r.below(1000)));
        });
}

void truths(const target &t, const char *name, MPI_Datatype type, size_t size)
{
    int got = 0;
    if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &got) != MPI_SUCCESS || static_cast<size_t>(got) != size)
        return;
    over_type o(t, layout_of(name, type, static_cast<ptrdiff_t>(size), {{0, size}}));
    for (const auto &b : logical)
        o.run(b, [size](random &r, char *e) {
            std::memset(e, 0, size);
            e[0] = static_cast<char>(r.below(2));
        });
}

} // namespace

/* ---- what other groups use ------------------------------------------------------ */

const layout &ints()
{
    static const layout l = layout_of("int", MPI_INT, 4, {{0, 4}});
    return l;
}

const reduction &int_sum()
{
    static const layout l = layout_of("uint32", MPI_UINT32_T, 4, {{0, 4}});
    static const reduction r{"MPI_SUM", &l, MPI_SUM, any_int, {}};
    return r;
}

const reduction &matrix_product()
{
    static layout l;
    static reduction r{"matrix product", &l, MPI_OP_NULL, [](random &g, char *e) { odd_words(g, e, 4); }, {}};
    if (r.op == MPI_OP_NULL) {
        MPI_Datatype type;
        MPI_Type_contiguous(4, MPI_UINT32_T, &type);
        l = commit(layout_of("matrix", type, 16, {{0, 16}}));
        MPI_Op_create(user_matrix, 0, &r.op);
    }
    use_words(l);
    return r;
}

/* ---- groups ---------------------------------------------------------------------- */

void types(int)
{
    const target t = check::whole();
    for (int count : {0, 1, 2, 7, 61, 1021}) {
        auto all = layouts(count);
        for (size_t i = 0; i < all.size(); ++i)
            for (int root : {0, t.size - 1, static_cast<int>(i) % t.size})
                check::bcast(t, all[i], count, root);
        // The same bytes, described differently.
        layout vector = int_vector(std::max(1, count), 1, 3), triple = int_blocks("three ints", 0, 12, {{0, 3}});
        for (int root = 0; root < t.size; ++root) {
            if (count)
                check::bcast(t, ints(), count, vector, 1, root);
            if (count)
                check::bcast(t, vector, 1, ints(), count, root);
            check::bcast(t, ints(), 3 * count, triple, count, root);
            check::bcast(t, triple, count, all[5], count, root);
            check::bcast(t, triple, 2 * count, all[3], count, root);
        }
        check::free(vector);
        check::free(triple);
        for (auto &l : all)
            check::free(l);
    }
}

void operators(int)
{
    const target t = check::whole();
    integer<signed char>(t, "MPI_SIGNED_CHAR", MPI_SIGNED_CHAR);
    integer<unsigned char>(t, "MPI_UNSIGNED_CHAR", MPI_UNSIGNED_CHAR);
    integer<short>(t, "MPI_SHORT", MPI_SHORT);
    integer<unsigned short>(t, "MPI_UNSIGNED_SHORT", MPI_UNSIGNED_SHORT);
    integer<int>(t, "MPI_INT", MPI_INT);
    integer<unsigned>(t, "MPI_UNSIGNED", MPI_UNSIGNED);
    integer<long>(t, "MPI_LONG", MPI_LONG);
    integer<unsigned long>(t, "MPI_UNSIGNED_LONG", MPI_UNSIGNED_LONG);
    integer<long long>(t, "MPI_LONG_LONG", MPI_LONG_LONG);
    integer<unsigned long long>(t, "MPI_UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG);
    integer<int8_t>(t, "MPI_INT8_T", MPI_INT8_T);
    integer<int16_t>(t, "MPI_INT16_T", MPI_INT16_T);
    integer<int64_t>(t, "MPI_INT64_T", MPI_INT64_T);
    integer<uint8_t>(t, "MPI_UINT8_T", MPI_UINT8_T);
    integer<uint16_t>(t, "MPI_UINT16_T", MPI_UINT16_T);
    integer<uint64_t>(t, "MPI_UINT64_T", MPI_UINT64_T);
    integer<MPI_Aint>(t, "MPI_AINT", MPI_AINT);
    integer<MPI_Offset>(t, "MPI_OFFSET", MPI_OFFSET);
    integer<MPI_Count>(t, "MPI_COUNT", MPI_COUNT);
    real<float>(t, "MPI_FLOAT", MPI_FLOAT);
    real<double>(t, "MPI_DOUBLE", MPI_DOUBLE);
    real<long double>(t, "MPI_LONG_DOUBLE", MPI_LONG_DOUBLE);
    real<double>(t, "MPI_DOUBLE_PRECISION", MPI_DOUBLE_PRECISION);
    complex<float>(t, "MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX);
    complex<double>(t, "MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX);
    truths(t, "MPI_C_BOOL", MPI_C_BOOL, 1);
    truths(t, "MPI_LOGICAL", MPI_LOGICAL, 4);
    over_type bytes(t, layout_of("MPI_BYTE", MPI_BYTE, 1, {{0, 1}}));
    for (const auto &b : bitwise)
        bytes.run(b, [](random &r, char *e) { *e = static_cast<char>(r.next()); });
    pair<float, int>(t, "MPI_FLOAT_INT", MPI_FLOAT_INT);
    pair<double, int>(t, "MPI_DOUBLE_INT", MPI_DOUBLE_INT);
    pair<long, int>(t, "MPI_LONG_INT", MPI_LONG_INT);
    pair<int, int>(t, "MPI_2INT", MPI_2INT);
    pair<short, int>(t, "MPI_SHORT_INT", MPI_SHORT_INT);
    pair<long double, int>(t, "MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT);
}

void user_operators(int)
{
    const target t = check::whole();
    MPI_Op mix, affine;
    MPI_Op_create(user_mix, 1, &mix);
    MPI_Op_create(user_affine, 0, &affine);
    const maker two = [](random &r, char *e) { odd_words(r, e, 2); };
    for (int count : {0, 1, 2, t.size - 1, t.size, t.size + 1, 61, 1021, 16381}) {
        std::vector<layout> pairs;
        pairs.push_back(int_blocks("pair", 0, 8, {{0, 2}}));
        pairs.push_back(int_blocks("pair with holes", 0, 16, {{0, 1}, {8, 1}}));
        pairs.push_back(int_blocks("pair below its address", -16, 24, {{-16, 1}, {-4, 1}}));
        pairs.push_back(int_blocks("pair far behind its address", 0, 40, {{24, 2}}));
        pairs.push_back(int_blocks("pair in reverse", 0, 8, {{4, 1}, {0, 1}}));
        pairs.push_back(interleaved(count));
        for (auto &l : pairs) {
            use_words(l);
            for (bool in_place : {false, true}) {
                check::allreduce(t, {"mix", &l, mix, two, {}}, count, in_place);
                check::allreduce(t, {"affine", &l, affine, two, {}}, count, in_place);
            }
            check::free(l);
        }
        for (bool in_place : {false, true})
            check::allreduce(t, matrix_product(), count, in_place);
    }
    MPI_Op_free(&mix);
    MPI_Op_free(&affine);
}

void roots(int)
{
    const target t = check::whole();
    for (int count : {0, 1, 3, t.size, 1000, 5003})
        for (int root = 0; root < t.size; ++root)
            check::bcast(t, ints(), count, root);
}

void counts(int)
{
    const target t = check::whole();
    const int p = t.size;
    std::vector<int> all{0, 1, 2, 3, p - 1, p, p + 1, 2 * p - 1, 2 * p, 2 * p + 1, 5, 13, 31, 127, 255, 256, 257, 1009};
    // Around what Open MPI sends at once (4 KB in shared memory, 64 KB by TCP) and our segments.
    for (int bytes : {1024, 2048, 4096, 8192, 65536})
        for (int delta : {-1, 0, 1})
            all.push_back(bytes / 4 + delta);
    for (int count : all) {
        check::bcast(t, ints(), count, static_cast<int>(now.calls % static_cast<uint64_t>(p)));
        check::allreduce(t, int_sum(), count, false);
        check::allreduce(t, int_sum(), count, true);
        if (count < 2100)
            check::allreduce(t, matrix_product(), count, false);
    }
}

void big(int)
{
    const target t = check::whole();
    for (int bytes : {262144, 262148, 1 << 20, 3 << 20}) {
        check::bcast(t, ints(), bytes / 4 + 1, static_cast<int>(now.calls % static_cast<uint64_t>(t.size)));
        check::allreduce(t, int_sum(), bytes / 4 - 1, (bytes & 4) != 0);
    }
    check::allreduce(t, matrix_product(), 40009, false);
}

/* Sums that depend on the association: the same bits everywhere, and near the reference. */
void sums(int)
{
    const target t = check::whole();
    const layout single = layout_of("float", MPI_FLOAT, 4, {{0, 4}}), twice = layout_of("double", MPI_DOUBLE, 8, {{0, 8}});
    const reduction all[] = {
        {"MPI_SUM", &single, MPI_SUM, [](random &r, char *e) { store(e, static_cast<float>(r.next()) * 1e-10f); },
         [](const char *a, const char *b) { return std::fabs(load<float>(a) - load<float>(b)) <= 1e-5f * load<float>(b); }},
        {"MPI_SUM", &twice, MPI_SUM, [](random &r, char *e) { store(e, static_cast<double>(r.next()) / 3); },
         [](const char *a, const char *b) { return std::fabs(load<double>(a) - load<double>(b)) <= 1e-13 * load<double>(b); }},
    };
    for (const auto &r : all)
        for (int count : {1, 2, t.size + 1, 61, 1021, 16411, 131071})
            check::allreduce(t, r, count, (count & 2) != 0);
}

/* And what depends on the order of arguments, or on where in a vector an element lies. */
void floats(int)
{
    sums(0);
    const target t = check::whole();
    const layout twice = layout_of("double", MPI_DOUBLE, 8, {{0, 8}});
    // Zeros of both signs, not-a-numbers: which one wins depends on the order, not on the rank that looks.
    for (const auto &b : arithmetic) {
        const reduction odd{std::string(b.name) + " of odd values", &twice, b.op, [](random &r, char *e) {
            static const double v[] = {0.0, -0.0, 1.0, -1.0, std::nan("1"), std::nan("2"), HUGE_VAL, -HUGE_VAL};
            store(e, v[r.below(16) < 12 ? r.below(4) : r.below(8)]);
        }, [](const char *, const char *) { return true; }};
        for (int count : {1, 3, 61, 1021, 4099})
            check::allreduce(t, odd, count, false);
    }
    // op/avx of Open MPI 4.1 saturates, in whole vectors only: so the sum depends on the order.
    const layout bytes = layout_of("MPI_INT8_T", MPI_INT8_T, 1, {{0, 1}}), shorts = layout_of("MPI_INT16_T", MPI_INT16_T, 2, {{0, 2}});
    for (const layout *l : {&bytes, &shorts})
        for (int count : {1, 61, 1021, 16411})
            check::allreduce(t, {"MPI_SUM that overflows", l, MPI_SUM, [l](random &r, char *e) {
                const uint64_t v = r.next();
                std::memcpy(e, &v, l->size());
            }, [](const char *, const char *) { return true; }}, count, false);
}

} // namespace groups
