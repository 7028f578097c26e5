/*
 * Mutants of correct schedules: each operation of each rank is damaged in
 * every way listed below, and the verifier must reject the result.  What it
 * accepts must be equivalent for a reason in the table `reasons`, checked here,
 * and an oracle that knows nothing of the verifier (real numbers, real bytes,
 * several orders of delivery) must find nothing wrong with it either.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "matrix.hpp"

#include "exec/memory_port.hpp"
#include "unit.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace {

using namespace wan_test;

using schedules = std::vector<schedule>;

/* ---- schedules in a form that is easy to damage ------------------------------------------------ */

struct loose_op {
    op o;
    std::set<size_t> after;
};
struct loose {
    int me = 0, tmp_count = 0;
    std::vector<loose_op> ops;
};

loose loosen(const schedule &s)
{
    loose l{s.me, s.tmp_count, {}};
    for (const op &o : s.ops) {
        const auto p = s.preds_of(o);
        l.ops.push_back({o, {p.begin(), p.end()}});
    }
    return l;
}

schedule tighten(const loose &l)
{
    schedule s;
    s.me = l.me;
    s.tmp_count = l.tmp_count;
    for (const loose_op &x : l.ops) {
        op o = x.o;
        o.pred_begin = static_cast<uint32_t>(s.preds.size());
        o.pred_count = static_cast<uint32_t>(x.after.size());
        for (size_t p : x.after)
            s.preds.push_back(static_cast<uint16_t>(p));
        s.ops.push_back(o);
    }
    return s;
}

/** Removes operation i; who waited for it waits for what it waited for. */
void drop(loose &l, size_t i)
{
    const auto inherited = l.ops[i].after;
    l.ops.erase(l.ops.begin() + static_cast<long>(i));
    for (auto &x : l.ops) {
        std::set<size_t> after;
        for (size_t p : x.after)
            if (p == i)
                after.insert(inherited.begin(), inherited.end());
            else
                after.insert(p > i ? p - 1 : p);
        x.after = after;
    }
}

/** Runs operation i twice, one after the other; who waited for it waits for the second. */
void twice(loose &l, size_t i)
{
    loose_op again = l.ops[i];
    for (size_t k = i + 1; k < l.ops.size(); ++k) {
        std::set<size_t> after;
        for (size_t p : l.ops[k].after)
            after.insert(p >= i ? p + 1 : p);
        l.ops[k].after = after;
    }
    again.after = {i};
    l.ops.insert(l.ops.begin() + static_cast<long>(i) + 1, again);
}

/** What comes before i, directly or not. */
std::set<size_t> before(const loose &l, size_t i)
{
    std::set<size_t> all;
    for (size_t p : l.ops[i].after) {
        all.insert(p);
        const auto more = before(l, p);
        all.insert(more.begin(), more.end());
    }
    return all;
}

bool writes_into(const op &o, buffer b)
{
    auto one = [](buffer x) { return x == buffer::in ? buffer::out : x; };
    return o.kind != op_kind::send && one(o.dst) == one(b);
}

/* ---- mutants ----------------------------------------------------------------------------------- */

enum reason { none, implied, copied, association, redundant, wider, overwritten, reasons_count };
const char *const reasons[] = {
    "",
    "dropped dependency: the other ones imply it",
    "read from another buffer that holds a copy of the same bytes then",
    "reduced in another order at the one rank that evaluates it: all ranks get the same bits, the operator commutes",
    "a gateway does not keep a block that it gets back in the gathering: it held it before",
    "a local operation on scratch reaches into bytes that nobody reads",
    "a local operation reaches into bytes that are overwritten before anybody reads them",
};

struct mutant {
    const char *kind;
    loose l;
    reason excuse = none;   // why it may be equivalent
};

/** Whether two buffers hold the same in the part of operation i when its turn comes, by value numbers. */
bool same_bytes(const loose &l, size_t i, buffer x, buffer y, int root)
{
    uint32_t cells = 1;
    for (const auto &e : l.ops)
        cells = std::lcm(cells, std::lcm(e.o.part.lo.den, e.o.part.hi.den));
    const size_t buffers = 2 + static_cast<size_t>(l.tmp_count);
    std::vector<std::vector<size_t>> held(buffers, std::vector<size_t>(cells));
    size_t fresh = 0;
    std::set<size_t> result;
    std::set<buffer> mine;      // my contribution alone, of which the owners of blocks send a gateway the rest
    for (auto &b : held)
        for (auto &v : b)
            v = ++fresh;
    if (l.me == root)
        held[1] = held[0];
    auto range = [&](const span_of &p) { return std::pair{p.lo.of(cells), p.hi.of(cells)}; };
    for (size_t k = 0; k < i; ++k) {
        const op &o = l.ops[k].o;
        const auto [lo, hi] = range(o.part);
        if (o.kind == op_kind::copy && o.src == buffer::in && o.dst >= buffer::tmp)
            mine.insert(o.dst);
        else if (o.kind == op_kind::reduce)
            mine.erase(o.dst);
        for (size_t c = lo; c < hi && o.kind != op_kind::send; ++c) {
            // What a gateway computed or forwarded comes back unchanged in the gathering.
            if (o.kind == op_kind::recv && o.label >= label::allgather && result.contains(c))
                continue;
            if (o.dst == buffer::out && (o.kind == op_kind::copy ? o.src >= buffer::tmp : o.label == label::cross))
                result.insert(c);
            if (o.kind == op_kind::recv && mine.contains(o.dst) && o.label >= label::reduce_scatter && o.label < label::allgather) {
                held[static_cast<size_t>(o.dst)][c] = held[static_cast<size_t>(buffer::in)][c];
                continue;
            }
            held[static_cast<size_t>(o.dst)][c] = o.kind == op_kind::copy ? held[static_cast<size_t>(o.src)][c] : ++fresh;
        }
    }
    const auto [lo, hi] = range(l.ops[i].o.part);
    for (size_t c = lo; c < hi; ++c)
        if (held[static_cast<size_t>(x)][c] != held[static_cast<size_t>(y)][c])
            return false;
    return true;
}

/** Whether the first to touch that part of what operation i writes, after i, overwrites it: all of it, or the bytes one by one. */
bool overwritten_later(const loose &l, size_t i, fraction from, fraction to)
{
    const buffer b = l.ops[i].o.dst;
    uint32_t cells = std::lcm(from.den, to.den);
    for (const auto &e : l.ops)
        cells = std::lcm(cells, std::lcm(e.o.part.lo.den, e.o.part.hi.den));
    for (size_t c = from.of(cells); c < to.of(cells); ++c) {
        bool gone = false;
        for (size_t k = i + 1; k < l.ops.size() && !gone; ++k) {
            const op &o = l.ops[k].o;
            if (c < o.part.lo.of(cells) || c >= o.part.hi.of(cells))
                continue;
            const bool reads = o.kind == op_kind::send ? o.src == b : (o.kind != op_kind::recv && o.src == b) || (o.kind == op_kind::reduce && o.dst == b);
            if (reads)
                return false;
            if (o.dst == b && o.kind != op_kind::send) {
                if (!before(l, k).contains(i))
                    return false;
                gone = true;
            }
        }
        if (!gone)
            return false;
    }
    return true;
}

bool message(const op &o) { return o.kind == op_kind::send || o.kind == op_kind::recv; }

/** All mutants of one rank's schedule. */
std::vector<mutant> mutants_of(const schedule &s, int ranks, int root)
{
    const loose base = loosen(s);
    std::vector<mutant> all;
    auto add = [&](const char *kind, auto change, reason excuse = none) {
        loose l = base;
        change(l);
        all.push_back({kind, std::move(l), excuse});
    };
    for (size_t i = 0; i < base.ops.size(); ++i) {
        const op &o = base.ops[i].o;
        add("drop an operation", [&](loose &l) { drop(l, i); });
        if (o.kind == op_kind::reduce) {
            add("double a reduce", [&](loose &l) { twice(l, i); });
            add("swap the operands of a reduce", [&](loose &l) { std::swap(l.ops[i].o.src, l.ops[i].o.dst); });
            add("copy instead of reduce", [&](loose &l) { l.ops[i].o.kind = op_kind::copy; });
        }
        if (o.kind == op_kind::copy)
            add("reduce instead of copy", [&](loose &l) { l.ops[i].o.kind = op_kind::reduce; });
        if (message(o)) {
            add("another label", [&](loose &l) { l.ops[i].o.label ^= 1; });
            for (int peer = 0; peer < ranks; ++peer)
                if (peer != o.peer && peer != base.me)
                    add("wrong peer", [&](loose &l) { l.ops[i].o.peer = peer; });
        }
        // Fractions: one block on, one back, one block less, one more.
        const auto [lo, hi] = std::pair{o.part.lo, o.part.hi};
        const uint32_t den = std::lcm(std::lcm(lo.den, hi.den), 2u);
        const uint32_t a = lo.num * (den / lo.den), b = hi.num * (den / hi.den);
        auto part = [&](uint32_t x, uint32_t y) {
            const bool reaches = !message(o) && x <= a && y >= b;
            add("shift a fraction", [&](loose &l) { l.ops[i].o.part = {{x, den}, {y, den}}; },
                !reaches                                                                                            ? none
                : o.dst >= buffer::tmp                                                                              ? wider
                : overwritten_later(base, i, {x, den}, {a, den}) && overwritten_later(base, i, {b, den}, {y, den}) ? overwritten
                                                                                                                    : none);
        };
        if (b < den)
            part(a + 1, b + 1), part(a, b + 1);
        if (a > 0)
            part(a - 1, b - 1), part(a - 1, b);
        if (b - a > 1)
            part(a, b - 1), part(a + 1, b);
        for (size_t p : base.ops[i].after) {
            loose l = base;
            l.ops[i].after.erase(p);
            const reason excuse = before(l, i).contains(p) ? implied : none;
            all.push_back({"drop a dependency", std::move(l), excuse});
        }
        // Another buffer, on either side.
        for (int k = 0; k < 2 + base.tmp_count; ++k) {
            const buffer other = static_cast<buffer>(k);
            auto excuse_for = [&](buffer was) { return same_bytes(base, i, was, other, root) ? copied : none; };
            // By several earlier operations together: as far as those that begin in what is held reach.
            auto held_before = [&] {
                if (o.kind != op_kind::recv || o.label < label::allgather)
                    return none;
                const std::set<size_t> earlier = before(base, i);
                fraction held = o.part.lo;
                for (bool further = true; further && held < o.part.hi;) {
                    further = false;
                    for (size_t p : earlier) {
                        const op &e = base.ops[p].o;
                        if (writes_into(e, o.dst) && e.kind != op_kind::send && !(held < e.part.lo) && held < e.part.hi) {
                            held = e.part.hi;
                            further = true;
                        }
                    }
                }
                return held < o.part.hi ? none : redundant;
            };
            if (o.kind != op_kind::recv && other != o.src)
                add("read from the wrong buffer", [&](loose &l) { l.ops[i].o.src = other; }, excuse_for(o.src));
            if (o.kind != op_kind::send && other != o.dst)
                add("write to the wrong buffer", [&](loose &l) { l.ops[i].o.dst = other; }, held_before());
        }
        for (size_t j = 0; j < i; ++j) {
            const op &e = base.ops[j].o;
            if (o.kind == op_kind::recv && e.kind == op_kind::recv && o.dst != e.dst)
                add("swap the buffers of two receives", [&](loose &l) { std::swap(l.ops[i].o.dst, l.ops[j].o.dst); }, association);
            if (o.kind == op_kind::recv && e.kind == op_kind::recv && o.peer != e.peer)
                add("swap the peers of two receives", [&](loose &l) { std::swap(l.ops[i].o.peer, l.ops[j].o.peer); }, association);
            // Two sends of the same bytes with the same label change their order only: no mutant.
            const bool same_message = o.src == e.src && o.label == e.label && o.part.lo == e.part.lo && o.part.hi == e.part.hi;
            if (o.kind == op_kind::send && e.kind == op_kind::send && o.peer != e.peer && !same_message)
                add("swap the peers of two sends", [&](loose &l) { std::swap(l.ops[i].o.peer, l.ops[j].o.peer); });
            if (o.kind == op_kind::reduce && e.kind == op_kind::reduce && o.dst == e.dst && o.src != e.src)
                add("reduce in another order at one rank", [&](loose &l) {
                    // Exchange what they read, with the dependencies on who wrote it.
                    std::swap(l.ops[i].o.src, l.ops[j].o.src);
                    auto writers = [&](buffer b) {
                        std::set<size_t> w;
                        for (size_t k = 0; k < j; ++k)
                            if (writes_into(base.ops[k].o, b))
                                w.insert(k);
                        return w;
                    };
                    l.ops[i].after.merge(writers(l.ops[i].o.src));
                    l.ops[j].after.merge(writers(l.ops[j].o.src));
                }, association);
        }
    }
    return all;
}

/* ---- the oracle ---------------------------------------------------------------------------------- */

/** Runs on numbers: doubles that are summed, or affine maps that are composed where order counts. */
bool oracle_accepts(const programs &all, const verify_options &o)
{
    const size_t ranks = all.size(), n = o.count;
    using map = std::pair<uint32_t, uint32_t>;
    auto number_of = [&](size_t r, size_t e) {
        return o.commutative ? std::bit_cast<uint64_t>(1.0 / static_cast<double>(3 + 7 * r + 31 * e))
                             : uint64_t{static_cast<uint32_t>(2 * (r * 977 + e) + 3)} << 32 | static_cast<uint32_t>(r * 7919 + e);
    };
    auto combine = [&](uint64_t a, uint64_t b) -> uint64_t {
        if (o.commutative)
            return std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
        const map f{static_cast<uint32_t>(a >> 32), static_cast<uint32_t>(a)}, g{static_cast<uint32_t>(b >> 32), static_cast<uint32_t>(b)};
        return uint64_t{f.first * g.first} << 32 | static_cast<uint32_t>(f.first * g.second + f.second);
    };
    std::vector<std::vector<uint64_t>> in(ranks, std::vector<uint64_t>(n)), out(ranks, std::vector<uint64_t>(n, 0x7ff8dead));
    for (size_t r = 0; r < ranks; ++r)
        for (size_t e = 0; e < n; ++e)
            in[r][e] = number_of(r, e);
    const bool is_bcast = o.collective == WAN_BCAST;
    if (is_bcast)
        out[static_cast<size_t>(o.root)] = in[static_cast<size_t>(o.root)];
    else if (o.in_place)
        out = in;
    memory_fabric fabric(static_cast<int>(ranks), 8, o.seed, [&](const void *src, void *dst, size_t count) {
        for (size_t i = 0; i < count; ++i)
            static_cast<uint64_t *>(dst)[i] = combine(static_cast<const uint64_t *>(src)[i], static_cast<uint64_t *>(dst)[i]);
    });
    std::vector<std::unique_ptr<engine>> engines;
    for (size_t r = 0; r < ranks; ++r)
        engines.push_back(std::make_unique<engine>(all[r], binding{.in = is_bcast || o.in_place ? out[r].data() : in[r].data(), .out = out[r].data(),
                                                                   .count = n, .segment = o.segment, .window = o.window, .extent = 8},
                                                   fabric.port(), fabric.context(static_cast<int>(r))));
    if (!fabric.run(engines).empty())
        return false;
    for (size_t e = 0; e < n; ++e) {
        uint64_t wanted = number_of(is_bcast ? static_cast<size_t>(o.root) : ranks - 1, e);
        if (!is_bcast)
            for (size_t r = ranks - 1; r-- > 0;)
                wanted = combine(number_of(r, e), wanted);
        for (size_t r = 0; r < ranks; ++r) {
            if (out[r][e] != out[0][e])
                return false;
            if (is_bcast || !o.commutative ? out[r][e] != wanted
                                           : !(std::abs(std::bit_cast<double>(out[r][e]) - std::bit_cast<double>(wanted)) < 1e-12))
                return false;
            if (!is_bcast && !o.in_place && in[r][e] != number_of(r, e))
                return false;
        }
    }
    return true;
}

/* ---- the run --------------------------------------------------------------------------------------- */

struct tally {
    size_t made = 0, rejected = 0, equivalent[reasons_count] = {};
};

struct subject {
    topology t;
    plan p;
    bool commutative;
};

/** The lines that differ. */
std::string changes(const std::string &was, const std::string &is)
{
    std::istringstream a(was), b(is);
    std::string x, y, text;
    while (std::getline(a, x) && std::getline(b, y))
        if (x != y)
            text += "was " + x + "\nis  " + y + "\n";
    return text;
}

std::string try_subject(const subject &x, std::map<std::string, tally> &counts)
{
    const size_t ranks = static_cast<size_t>(x.t.size());
    schedules right;
    for (size_t r = 0; r < ranks; ++r)
        right.push_back(build_schedule(x.t, x.p, static_cast<int>(r)));
    programs all;
    for (const auto &s : right)
        all.push_back(std::make_shared<program>(s));
    std::vector<verify_options> cuts;
    for (bool in_place : {false, true})
        for (uint64_t seed : {1, 2, 3}) {
            verify_options o;
            o.collective = x.p.algo->collective;
            o.root = x.p.root;
            o.count = 126;       // 2 segments and a bit; every block has an element
            o.segment = 60;
            o.window = 2;
            o.in_place = in_place;
            o.commutative = x.commutative;
            o.seed = seed;
            cuts.push_back(o);
        }
    for (const auto &o : cuts) {
        const std::string why = verify(x.t, all, o);
        WAN_CHECK_THAT(why.empty(), describe(x.t, x.p, o) + ": " + why);
        WAN_CHECK_THAT(oracle_accepts(all, o), describe(x.t, x.p, o));
    }
    for (size_t r = 0; r < ranks; ++r) {
        const auto sound = all[r];
        for (mutant &m : mutants_of(right[r], static_cast<int>(ranks), x.p.algo->collective == WAN_BCAST ? x.p.root : -1)) {
            tally &n = counts[m.kind];
            ++n.made;
            const schedule s = tighten(m.l);
            all[r] = std::make_shared<program>(s);
            bool rejected = false;
            for (const auto &o : cuts)
                if (!verify(x.t, all, o).empty()) {
                    rejected = true;
                    break;
                }
            if (rejected) {
                ++n.rejected;
                continue;
            }
            const std::string what = std::string(m.kind) + " survived: " + describe(x.t, x.p, cuts[0]) + "\n" + changes(print(right[r]), print(s)) + print(right[r]);
            WAN_CHECK_THAT(m.excuse != none, what);
            WAN_CHECK_THAT(m.excuse != association || (x.p.algo->collective == WAN_ALLREDUCE && x.commutative), what);
            for (const auto &o : cuts)
                WAN_CHECK_THAT(oracle_accepts(all, o), "the oracle rejects what the verifier accepts: " + what);
            ++n.equivalent[m.excuse];
        }
        all[r] = sound;
    }
    return "";
}

std::string check_mutants()
{
    std::map<std::string, tally> counts;
    struct shape {
        std::vector<int> sizes;
        placement how;
        int lanes;
    };
    std::vector<shape> shapes{{{2, 2}, placement::block, 1}, {{3, 2}, placement::roundrobin, 1}, {{2, 1, 1}, placement::shuffled, 1},
                              {{4, 2}, placement::block, 2}, {{2, 2, 2}, placement::block, 1}};
    if (is_long())
        shapes.insert(shapes.end(), {{{3, 3, 2}, placement::shuffled, 1}, {{5, 4}, placement::block, 1}, {{4, 4}, placement::roundrobin, 2}});
    for (const auto &[sizes, how, lanes] : shapes) {
        const topology t = lay_out(sizes, how, lanes, 11);
        for (const algorithm *a : algorithms())
            for (plan p : plans_of(*a, t)) {
                if (!is_long() && p.root != 0 && p.root != t.size() - 1)
                    continue;
                for (bool commutative : {true, false}) {
                    verify_options o;
                    o.count = 1;
                    o.commutative = commutative;
                    // The oracle knows these two; test/unit/verifier.cpp has the defects of the others.
                    if ((a->collective != WAN_BCAST && a->collective != WAN_ALLREDUCE) || !serves(*a, t, o) || (!commutative && !kind_of(a->collective).operation))
                        continue;
                    if (std::string why = try_subject({t, p, commutative}, counts); !why.empty())
                        return why;
                }
            }
    }
    size_t made = 0, rejected = 0;
    std::printf("%-38s %8s %9s %8s %8s %11s %9s %8s %11s\n", "mutants", "made", "rejected", "implied", "copied", "association", "redundant", "wider", "overwritten");
    for (const auto &[kind, n] : counts) {
        std::printf("%-38s %8zu %9zu %8zu %8zu %11zu %9zu %8zu %11zu\n", kind.c_str(), n.made, n.rejected, n.equivalent[implied], n.equivalent[copied], n.equivalent[association],
                    n.equivalent[redundant], n.equivalent[wider], n.equivalent[overwritten]);
        made += n.made;
        rejected += n.rejected;
        WAN_CHECK_THAT(n.rejected > 0, kind);
    }
    std::printf("%zu mutants, %zu rejected, %zu equivalent:\n", made, rejected, made - rejected);
    for (int i = implied; i < reasons_count; ++i)
        std::printf("  %s\n", reasons[i]);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_mutants>)};
    return cmocka_run_group_tests_name("mutation", tests, nullptr, nullptr);
}
