/*
 * See verifier.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sched/verifier.hpp"

#include "exec/memory_port.hpp"
#include "sched/terms.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace wan {

namespace {

using memory = std::vector<uint32_t>;

std::string at(int rank, size_t element) { return "rank " + std::to_string(rank) + ", element " + std::to_string(element) + ": "; }

/** Buffers of one rank, and where the blocks of the vector lie in them. */
struct rank_memory {
    memory in, out;
    layout in_blocks, out_blocks, tmp_blocks;
};

/** Elements of the block that `from` has for `to`; collectives that are not alltoall know one of them only. */
size_t block_size(const verify_options &o, int from, int to)
{
    if (o.sizes.empty())
        return o.count;
    const auto i = static_cast<size_t>(o.collective == WAN_ALLTOALL ? 2 * from + to : to);
    return o.sizes[i % o.sizes.size()];
}

/** The layout of a vector whose block of rank r has size(r) elements, and its elements with gaps in `held`. */
template <typename F> layout vector_layout(const topology &t, const verify_options &o, F size, size_t &held)
{
    layout l;
    const auto ranks = static_cast<size_t>(t.size());
    held = ranks * o.count;
    if (o.sizes.empty()) {
        l.each = o.count;
    } else {
        held = 0;
        l.ends.reserve(ranks);
        for (size_t slot = 0; slot < ranks; ++slot)
            l.ends.push_back(held += size(t.rank_of(static_cast<int>(slot))));
    }
    if (!o.scattered)
        return l;
    l.at.resize(ranks);
    held = 0;
    for (int r = 0; r < t.size(); ++r) {
        l.at[static_cast<size_t>(t.slot_of(r))] = static_cast<ptrdiff_t>(held);
        held += size(r) + 1;
    }
    return l;
}

/** The same vector, of which a buffer holds the block of rank r alone. */
layout one_block(const topology &t, layout l, int r)
{
    l.at.clear();
    l.first = static_cast<uint32_t>(t.slot_of(r));
    return l;
}

/** Number of the first element of a block of `in`: leaves are numbered by them. */
size_t element_of(const topology &t, const layout &l, int block_rank)
{
    return l.before({0, 1, static_cast<uint32_t>(t.slot_of(block_rank))});
}

/** At most so many elements in any rank's vector. */
size_t most_elements(const topology &t, const verify_options &o)
{
    const size_t largest = o.sizes.empty() ? o.count : *std::max_element(o.sizes.begin(), o.sizes.end());
    return std::max<size_t>(1, largest * (kind_of(o.collective).blocks ? static_cast<size_t>(t.size()) : 1));
}

rank_memory rank_memory_make(const topology &t, const verify_options &o, int r, const terms &symbols)
{
    rank_memory m;
    size_t in_held = 0, out_held = 0;
    const auto same = [&](int q) { return block_size(o, r, q); };
    const auto column = [&](int q) { return block_size(o, q, r); };
    layout vector = vector_layout(t, o, same, in_held);
    m.tmp_blocks = vector;
    m.tmp_blocks.at.clear();
    m.in_blocks = vector;
    m.out_blocks = o.collective == WAN_ALLTOALL ? vector_layout(t, o, column, out_held) : vector;
    if (o.collective != WAN_ALLTOALL)
        out_held = in_held;
    const bool one_in = kind_of(o.collective).own == single_block::in, one_out = kind_of(o.collective).own == single_block::out;
    if (one_in) {
        m.in_blocks = one_block(t, m.in_blocks, r);
        in_held = block_size(o, r, r);
    }
    if (one_out) {
        m.out_blocks = one_block(t, m.out_blocks, r);
        out_held = block_size(o, r, r);
    }
    if (o.collective == WAN_GATHER && r != o.root)
        out_held = 0;
    if (o.collective == WAN_SCATTER && r != o.root)
        in_held = 0;
    m.in.assign(in_held, UINT32_MAX);
    m.out.assign(out_held, UINT32_MAX);
    for (int q = 0; q < t.size() && in_held; ++q) {
        if (one_in && q != r)
            continue;
        const auto slot = static_cast<uint32_t>(t.slot_of(q));
        uint32_t *const block = m.in.data() + m.in_blocks.offset({0, 1, slot});
        std::iota(block, block + block_size(o, r, q), symbols.leaf(r, element_of(t, m.in_blocks, q)));
    }
    return m;
}

/** That operations name only blocks that the caller's buffers hold. */
std::string check_held(const topology &t, const verify_options &o, int r, const schedule &s)
{
    const bool one_in = kind_of(o.collective).own == single_block::in, one_out = kind_of(o.collective).own == single_block::out;
    const bool no_in = o.collective == WAN_SCATTER && r != o.root, no_out = o.collective == WAN_GATHER && r != o.root;
    const auto mine = static_cast<uint32_t>(t.slot_of(r)), all = static_cast<uint32_t>(t.size());
    for (size_t i = 0; i < s.ops.size(); ++i) {
        const op &x = s.ops[i];
        auto outside = [&](buffer b) {
            if ((b == buffer::in && no_in) || (b == buffer::out && no_out))
                return true;
            const bool one = (b == buffer::in && one_in) || (b == buffer::out && one_out);
            const span_of held = one ? blocks_of(mine, mine + 1) : blocks_of(0, all);
            return b < buffer::tmp && (x.part.lo < held.lo || held.hi < x.part.hi);
        };
        if ((x.reads() && outside(x.src)) || (x.writes() && outside(x.dst)))
            return "rank " + std::to_string(r) + ": operation " + std::to_string(i) + ": a block that the caller's buffer does not hold";
    }
    return "";
}

/** What rank r must hold, block by block. */
std::string check_blocks(const topology &t, const verify_options &o, const terms &symbols, std::vector<rank_memory> &all)
{
    std::vector<int> ranks;
    for (int r = 0; r < t.size(); ++r) {
        const rank_memory &m = all[static_cast<size_t>(r)];
        if (o.collective == WAN_GATHER && r != o.root)
            continue;
        const bool one_out = kind_of(o.collective).own == single_block::out;
        for (int q = 0; q < t.size(); ++q) {
            if (one_out && q != r)
                continue;
            const auto slot = static_cast<uint32_t>(t.slot_of(q));
            // From whom, and which element of that rank's vector.
            const int from = o.collective == WAN_SCATTER ? o.root : q;
            const int of = kind_of(o.collective).own == single_block::in ? q : r;
            const size_t first = element_of(t, all[static_cast<size_t>(from)].in_blocks, of);
            const uint32_t *const block = m.out.data() + m.out_blocks.offset({0, 1, slot});
            const size_t size = block_size(o, o.collective == WAN_ALLTOALL ? q : r, o.collective == WAN_ALLTOALL ? r : q);
            for (size_t e = 0; e < size; ++e) {
                if (o.collective != WAN_REDUCE_SCATTER && block[e] == symbols.leaf(from, first + e))
                    continue;
                const auto where = [&] { return at(r, e) + "of the block of rank " + std::to_string(q) + ' '; };
                ranks.clear();
                if (!symbols.ranks_of(block[e], first + e, ranks))
                    return where() + "holds something that is not this element";
                if (o.collective != WAN_REDUCE_SCATTER)
                    return where() + "is not what rank " + std::to_string(from) + " gave";
                if (!o.commutative && !std::is_sorted(ranks.begin(), ranks.end()))
                    return where() + "contributions are not in the order of ranks";
                std::sort(ranks.begin(), ranks.end());
                for (int k = 0; k < t.size(); ++k)
                    if (static_cast<size_t>(k) >= ranks.size() || ranks[static_cast<size_t>(k)] != k)
                        return where() + "contribution of rank " + std::to_string(k) + " is missing or doubled";
            }
        }
        if (!o.scattered)
            continue;
        // Gaps stay as they were.
        std::vector<bool> covered(m.out.size());
        for (int q = 0; q < t.size() && !m.out_blocks.at.empty(); ++q) {
            const auto slot = static_cast<uint32_t>(t.slot_of(q));
            for (size_t e = 0; e < block_size(o, o.collective == WAN_ALLTOALL ? q : r, o.collective == WAN_ALLTOALL ? r : q); ++e)
                covered[static_cast<size_t>(m.out_blocks.at[slot]) + e] = true;
        }
        for (size_t e = 0; e < covered.size() && !m.out_blocks.at.empty(); ++e)
            if (!covered[e] && m.out[e] != UINT32_MAX)
                return at(r, e) + "between the blocks was written";
    }
    return "";
}

/** observations::expression of what all ranks hold. */
uint64_t expression_of(const topology &topo, const verify_options &o, terms &t, const std::vector<memory> &out, const std::vector<rank_memory> &vectors)
{
    const bool scan = o.collective == WAN_SCAN || o.collective == WAN_EXSCAN;
    uint64_t all = 0;
    for (int r = 0; r < topo.size(); ++r) {
        const auto i = static_cast<size_t>(r);
        if ((o.collective == WAN_REDUCE && r != o.root) || (o.collective == WAN_EXSCAN && r == 0))
            continue;
        const size_t first = vectors.empty() ? 0 : static_cast<size_t>(vectors[i].out_blocks.offset({0, 1, static_cast<uint32_t>(topo.slot_of(r))}));
        const size_t count = vectors.empty() ? o.count : block_size(o, r, r);
        const memory &held = vectors.empty() ? out[i] : vectors[i].out;
        uint64_t mine = 0;
        for (size_t e = 0; e < count; ++e) {
            const uint64_t x = t.expression(held[first + e]);
            if (mine != 0 && x != mine)
                return 0;
            mine = x;
        }
        if (scan)
            all = all * 0x9e3779b97f4a7c15ull + mine;
        else if (all != 0 && mine != 0 && mine != all)
            return 0;
        else if (mine != 0)
            all = mine;
    }
    return all;
}

std::string check_bcast(const verify_options &o, const terms &t, const std::vector<memory> &out)
{
    for (size_t r = 0; r < out.size(); ++r)
        for (size_t e = 0; e < o.count; ++e) {
            if (out[r][e] != t.leaf(o.root, e))
                return at(static_cast<int>(r), e) + "does not hold the root's data";
        }
    return "";
}

/** That rank r holds element e of the contributions of the ranks below `ranks_below`, each once. */
std::string check_sum(const verify_options &o, const terms &t, int r, size_t e, uint32_t held, int ranks_below, std::vector<int> &ranks)
{
    ranks.clear();
    if (!t.ranks_of(held, e, ranks))
        return at(r, e) + "holds something that is not this element";
    if (!o.commutative && !std::is_sorted(ranks.begin(), ranks.end()))
        return at(r, e) + "contributions are not in the order of ranks";
    std::sort(ranks.begin(), ranks.end());
    for (int k = 0; k < ranks_below; ++k)
        if (static_cast<size_t>(k) >= ranks.size() || ranks[static_cast<size_t>(k)] != k)
            return at(r, e) + "contribution of rank " + std::to_string(k) + " is missing or doubled";
    return static_cast<int>(ranks.size()) == ranks_below ? "" : at(r, e) + "more contributions than ranks";
}

std::string check_reductions(const verify_options &o, const terms &t, const std::vector<memory> &out)
{
    const int all = static_cast<int>(out.size());
    std::vector<int> ranks;     // check_sum's, so that it need not make one each time
    for (size_t e = 0; e < o.count; ++e)
        for (int r = 0; r < all; ++r) {
            const uint32_t held = out[static_cast<size_t>(r)][e];
            const int below = o.collective == WAN_SCAN ? r + 1 : o.collective == WAN_EXSCAN ? r : all;
            if (o.collective == WAN_REDUCE && r != o.root)
                continue;
            if (below == 0) {
                if (held != (o.in_place ? t.leaf(r, e) : UINT32_MAX))
                    return at(r, e) + "nothing stands before it, but its buffer was written";
                continue;
            }
            if (o.collective == WAN_ALLREDUCE && r > 0) {
                if (held != out[0][e])
                    return at(r, e) + "evaluates another expression than rank 0 (bits may differ)";
            } else if (std::string why = check_sum(o, t, r, e, held, below, ranks); !why.empty()) {
                return why;
            }
        }
    return "";
}

/** That no rank can end before every rank has begun: who is known of where an operation ends. */
std::string check_barrier(const std::vector<std::shared_ptr<const program>> &schedules)
{
    const size_t ranks = schedules.size();
    using known = std::vector<bool>;
    std::map<std::tuple<int, int, int>, std::pair<size_t, size_t>> sent;    // from, to, label: rank and operation
    std::vector<std::vector<known>> at_end(ranks);
    for (size_t r = 0; r < ranks; ++r) {
        const auto &ops = schedules[r]->text().ops;
        known alone(ranks);
        alone[r] = true;
        at_end[r].assign(ops.size(), alone);
        for (size_t i = 0; i < ops.size(); ++i)
            if (ops[i].sends())
                sent[{static_cast<int>(r), ops[i].peer, ops[i].label}] = {r, i};
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t r = 0; r < ranks; ++r)
            for (size_t i = 0; i < at_end[r].size(); ++i) {
                const op &o = schedules[r]->text().ops[i];
                auto learn = [&](const known &from) {
                    for (size_t k = 0; k < ranks; ++k)
                        if (from[k] && !at_end[r][i][k])
                            changed = at_end[r][i][k] = true;
                };
                for (uint16_t p : schedules[r]->text().preds_of(o))
                    learn(at_end[r][p]);
                if (o.receives())
                    if (auto it = sent.find({o.peer, static_cast<int>(r), o.label}); it != sent.end())
                        learn(at_end[it->second.first][it->second.second]);
            }
    }
    for (size_t r = 0; r < ranks; ++r)
        for (size_t k = 0; k < ranks; ++k)
            if (k != r && std::none_of(at_end[r].begin(), at_end[r].end(), [&](const known &x) { return x[k]; }))
                return "rank " + std::to_string(r) + " may leave before rank " + std::to_string(k) + " has come";
    return "";
}

/** That only the root of a Reduce touches the buffer of the result: others have none. */
std::string check_no_result(const schedule &s)
{
    for (size_t i = 0; i < s.ops.size(); ++i)
        if (const op &o = s.ops[i]; (o.reads() && o.src == buffer::out) || (o.writes() && o.dst == buffer::out))
            return "operation " + std::to_string(i) + ": only the root has a buffer for the result";
    return "";
}

/** What an operation touches, for a look at all pairs of them. */
struct access {
    static constexpr int none = -1;
    int read = none, written = none;    // buffers
    uint64_t message = 0;               // direction, peer and label; 0: none
    span_of from, to;

    access(const op &o, bool apart)
    {
        // `apart`: the caller's two buffers have nothing in common.
        auto canonical = [&](buffer x) { return static_cast<int>(x == buffer::in && !apart ? buffer::out : x); };
        if (o.reads())
            read = canonical(o.src), from = o.part;
        if (o.writes())
            written = canonical(o.dst), to = o.written();
        if (o.sends() || o.receives())
            message = uint64_t{1} << 63 | uint64_t{o.sends()} << 62 | uint64_t{static_cast<uint32_t>(o.peer)} << 16 | o.label;
    }
    bool conflicts(const access &b) const
    {
        return (written != none && ((written == b.written && to.overlaps(b.to)) || (written == b.read && to.overlaps(b.from))))
               || (read != none && read == b.written && from.overlaps(b.to));
    }
};

} // namespace

std::string verify_static(const schedule &s, bool apart)
{
    const size_t n = s.ops.size();
    const size_t words = (n + 63) / 64;
    std::vector<uint64_t> before(n * words, 0);     // [op]: set of operations that come before it
    for (size_t i = 0; i < n; ++i)
        for (uint16_t p : s.preds_of(s.ops[i])) {
            if (p >= i)
                return "operation " + std::to_string(i) + " waits for a later one";
            for (size_t w = 0; w < words; ++w)
                before[i * words + w] |= before[p * words + w];
            before[i * words + p / 64] |= uint64_t{1} << (p % 64);
        }
    std::vector<access> touched;
    touched.reserve(n);
    for (const op &o : s.ops)
        touched.emplace_back(o, apart);
    for (size_t i = 0; i < n; ++i) {
        const op &a = s.ops[i];
        const auto known = [&](buffer b) { return static_cast<int>(b) - static_cast<int>(buffer::tmp) < s.tmp_count; };
        if ((a.reads() && !known(a.src)) || (a.writes() && !known(a.dst)))
            return "operation " + std::to_string(i) + ": a scratch buffer that the schedule does not have";
        const auto fits = [&](buffer b, const span_of &part) {
            const auto k = static_cast<size_t>(b) - static_cast<size_t>(buffer::tmp);
            return b < buffer::tmp || !s.by_blocks
                   || (!(part.lo < fraction{0, 1, s.rooms[k].first}) && !(fraction{0, 1, s.rooms[k].first + s.rooms[k].blocks} < part.hi));
        };
        if ((a.reads() && !fits(a.src, a.part)) || (a.writes() && !fits(a.dst, a.written())))
            return "operation " + std::to_string(i) + ": a part for which the scratch buffer has no room";
        if (a.sends() || a.receives()) {
            if (a.label >= WAN_LABELS)
                return "operation " + std::to_string(i) + ": label " + std::to_string(a.label) + " is too large";
            if (a.peer == s.me || a.peer < 0)
                return "operation " + std::to_string(i) + ": peer " + std::to_string(a.peer) + " is not another rank";
        }
        for (size_t j = 0; j < i; ++j) {
            if (touched[i].message && touched[i].message == touched[j].message)
                return "operations " + std::to_string(j) + " and " + std::to_string(i) + " have the same peer and label";
            if (touched[i].conflicts(touched[j]) && !(before[i * words + j / 64] >> (j % 64) & 1))
                return "operations " + std::to_string(j) + " and " + std::to_string(i)
                       + " touch the same bytes and may run at once";
        }
    }
    return "";
}

std::string verify_texts(const topology &topo, const std::vector<std::shared_ptr<const program>> &schedules, const verify_options &o)
{
    const bool blocks = kind_of(o.collective).blocks;
    for (int r = 0; r < topo.size(); ++r) {
        const schedule &s = schedules[static_cast<size_t>(r)]->text();
        if (std::string why = verify_static(s, kind_of(o.collective).apart); !why.empty())
            return "rank " + std::to_string(r) + ": " + why;
        for (size_t i = 0; i < s.ops.size(); ++i)
            if (const op &a = s.ops[i]; (a.sends() || a.receives()) && a.peer >= topo.size())
                return "rank " + std::to_string(r) + ": operation " + std::to_string(i) + ": there is no rank " + std::to_string(a.peer);
        if (std::string why = blocks ? check_held(topo, o, r, s) : ""; !why.empty())
            return why;
        if (std::string why = o.collective == WAN_REDUCE && r != o.root ? check_no_result(s) : ""; !why.empty())
            return "rank " + std::to_string(r) + ": " + why;
    }
    return "";
}

std::string verify(const topology &topo, const std::vector<std::shared_ptr<const program>> &schedules, const verify_options &o, observations *traffic)
{
    std::string why = verify_texts(topo, schedules, o);
    if (why.empty())
        why = verify_run(topo, schedules, o, traffic);
    return why.empty() && o.collective == WAN_BARRIER ? check_barrier(schedules) : why;
}

std::string verify_run(const topology &topo, const std::vector<std::shared_ptr<const program>> &schedules, const verify_options &o, observations *traffic)
{
    const int ranks = topo.size();
    const bool blocks = kind_of(o.collective).blocks;
    // In place: a Reduce only at the root.
    const auto in_place = [&](int r) { return o.in_place && (o.collective != WAN_REDUCE || r == o.root); };

    terms t(ranks, most_elements(topo, o));
    std::vector<memory> in(static_cast<size_t>(ranks)), out(static_cast<size_t>(ranks));
    std::vector<rank_memory> vectors;
    for (int r = 0; r < ranks; ++r) {
        const auto i = static_cast<size_t>(r);
        if (blocks) {
            vectors.push_back(rank_memory_make(topo, o, r, t));
            in[i] = vectors[i].in;      // as it was, for comparison
            continue;
        }
        in[i].resize(std::max<size_t>(1, o.count));
        std::iota(in[i].begin(), in[i].end(), t.leaf(r, 0));
        out[i].assign(std::max<size_t>(1, o.count), UINT32_MAX);
    }
    if (o.collective == WAN_BCAST)
        out[static_cast<size_t>(o.root)] = in[static_cast<size_t>(o.root)];
    else if (o.in_place)
        out = in;

    memory_fabric fabric(ranks, sizeof(uint32_t), o.seed, [&](const void *src, void *dst, size_t count) {
        auto *a = static_cast<const uint32_t *>(src);
        auto *b = static_cast<uint32_t *>(dst);
        for (size_t i = 0; i < count; ++i)
            b[i] = t.apply(a[i], b[i]);
    });
    std::vector<uint32_t> site(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r)
        site[static_cast<size_t>(r)] = value(topo.site_of(r));
    observations seen;
    seen.sites = topo.site_count();
    seen.between.resize(static_cast<size_t>(seen.sites * seen.sites));
    fabric.observe([&](int from, int to, size_t elements) {
        const auto a = site[static_cast<size_t>(from)], b = site[static_cast<size_t>(to)];
        if (a == b)
            return;
        auto &d = seen.between[a * static_cast<size_t>(seen.sites) + b];
        ++d.messages;
        d.elements += elements;
        if (elements == 0)
            return;
        if (auto it = std::lower_bound(d.senders.begin(), d.senders.end(), from); it == d.senders.end() || *it != from)
            d.senders.insert(it, from);
    });

    std::vector<int> under_way(static_cast<size_t>(ranks)), busy(static_cast<size_t>(seen.sites));
    seen.at_once.resize(static_cast<size_t>(seen.sites));
    fabric.observe_sends([&](int from, int to, size_t elements, bool begins) {
        const auto a = site[static_cast<size_t>(from)];
        if (elements == 0 || site[static_cast<size_t>(to)] == a)
            return;
        int &mine = under_way[static_cast<size_t>(from)];
        if (begins && mine++ == 0)
            seen.at_once[a] = std::max(seen.at_once[a], ++busy[a]);
        else if (!begins && --mine == 0)
            --busy[a];
    });

    std::vector<std::unique_ptr<engine>> engines;
    for (int r = 0; r < ranks; ++r) {
        const auto i = static_cast<size_t>(r);
        binding b{.in = in_place(r) ? out[i].data() : in[i].data(), .out = out[i].data(), .count = o.collective == WAN_BARRIER ? 1 : o.count,
                  .segment = o.segment, .window = o.window, .extent = sizeof(uint32_t)};
        if (blocks) {
            rank_memory &m = vectors[i];
            b.in = m.in.data();
            b.out = m.out.data();
            // In place: the smaller buffer is a block of the larger one.
            const auto mine = static_cast<uint32_t>(topo.slot_of(r));
            if (o.in_place && !m.out.empty() && kind_of(o.collective).own == single_block::in) {
                uint32_t *own = m.out.data() + m.out_blocks.offset({0, 1, mine});
                std::copy(m.in.begin(), m.in.end(), own);
                b.in = own;
            } else if (o.in_place && !m.in.empty() && o.collective == WAN_SCATTER) {
                b.out = m.in.data() + m.in_blocks.offset({0, 1, mine});
            }
            b.blocks[0] = m.in_blocks;
            b.blocks[1] = m.out_blocks;
            b.blocks[2] = m.tmp_blocks;
        }
        engines.push_back(std::make_unique<engine>(schedules[i], b, fabric.port(), fabric.context(r)));
    }
    if (std::string why = fabric.run(engines); !why.empty())
        return why;
    if (kind_of(o.collective).operation)
        seen.expression = expression_of(topo, o, t, out, vectors);
    if (traffic)
        *traffic = std::move(seen);
    if (blocks) {
        for (int r = 0; r < ranks; ++r) {
            rank_memory &m = vectors[static_cast<size_t>(r)];
            if (m.in != in[static_cast<size_t>(r)])
                return "rank " + std::to_string(r) + ": the send buffer was overwritten";
            if (o.in_place && o.collective == WAN_SCATTER && r == o.root) {
                const auto at = m.in_blocks.offset({0, 1, static_cast<uint32_t>(topo.slot_of(r))});
                std::copy_n(m.in.begin() + at, m.out.size(), m.out.begin());
            }
        }
        return check_blocks(topo, o, t, vectors);
    }
    for (int r = 0; r < ranks && o.collective != WAN_BCAST; ++r)
        for (size_t e = 0; e < o.count && !in_place(r); ++e)
            if (in[static_cast<size_t>(r)][e] != t.leaf(r, e))
                return at(r, e) + "the send buffer was overwritten";
    if (o.collective == WAN_BARRIER)
        return "";      // verify: nothing of a call matters
    return o.collective == WAN_BCAST ? check_bcast(o, t, out) : check_reductions(o, t, out);
}

} // namespace wan
