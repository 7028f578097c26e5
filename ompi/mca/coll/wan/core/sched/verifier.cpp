/*
 * See verifier.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sched/verifier.hpp"

#include "exec/memory_port.hpp"

#include <algorithm>
#include <unordered_map>

namespace wan {

namespace {

/** Expressions by number: equal numbers, equal expressions. */
class terms {
public:
    uint32_t leaf(int rank, size_t element) { return number({static_cast<uint32_t>(rank), static_cast<uint32_t>(element), true}); }
    uint32_t apply(uint32_t a, uint32_t b) { return number({a, b, false}); }

    /** Ranks in the order in which they stand in the expression; empty if it is not about `element`. */
    bool ranks_of(uint32_t id, size_t element, std::vector<int> &ranks) const
    {
        if (id >= nodes_.size())
            return false;       // never written
        const node n = nodes_[id];
        if (n.is_leaf) {
            ranks.push_back(static_cast<int>(n.a));
            return n.b == element;
        }
        return ranks_of(n.a, element, ranks) && ranks_of(n.b, element, ranks);
    }

private:
    struct node {
        uint32_t a, b;
        bool is_leaf;
        bool operator==(const node &) const = default;
    };
    struct hash {
        size_t operator()(const node &n) const
        {
            return ((uint64_t{n.a} << 32 | n.b) + n.is_leaf) * 0x9e3779b97f4a7c15ull >> 7;
        }
    };
    uint32_t number(const node &n)
    {
        auto [it, fresh] = ids_.try_emplace(n, static_cast<uint32_t>(nodes_.size()));
        if (fresh)
            nodes_.push_back(n);
        return it->second;
    }
    std::vector<node> nodes_;
    std::unordered_map<node, uint32_t, hash> ids_;
};

using memory = std::vector<uint32_t>;

std::string at(int rank, size_t element) { return "rank " + std::to_string(rank) + ", element " + std::to_string(element) + ": "; }

std::string check_bcast(const verify_options &o, const terms &t, const std::vector<memory> &out)
{
    for (size_t r = 0; r < out.size(); ++r)
        for (size_t e = 0; e < o.count; ++e) {
            std::vector<int> ranks;
            if (!t.ranks_of(out[r][e], e, ranks) || ranks != std::vector<int>{o.root})
                return at(static_cast<int>(r), e) + "does not hold the root's data";
        }
    return "";
}

std::string check_allreduce(const verify_options &o, const terms &t, const std::vector<memory> &out)
{
    for (size_t e = 0; e < o.count; ++e) {
        std::vector<int> ranks;
        if (!t.ranks_of(out[0][e], e, ranks))
            return at(0, e) + "holds something that is not this element";
        if (!o.commutative && !std::is_sorted(ranks.begin(), ranks.end()))
            return at(0, e) + "contributions are not in the order of ranks";
        std::sort(ranks.begin(), ranks.end());
        for (size_t r = 0; r < out.size(); ++r)
            if (r >= ranks.size() || ranks[r] != static_cast<int>(r))
                return at(0, e) + "contribution of rank " + std::to_string(r) + " is missing or doubled";
        if (ranks.size() != out.size())
            return at(0, e) + "more contributions than ranks";
        for (size_t r = 1; r < out.size(); ++r)
            if (out[r][e] != out[0][e])
                return at(static_cast<int>(r), e) + "evaluates another expression than rank 0 (bits may differ)";
    }
    return "";
}

struct access {
    bool conflicts(const op &a, const op &b) const
    {
        if (!a.part.overlaps(b.part))
            return false;
        auto canonical = [](buffer x) { return x == buffer::in ? buffer::out : x; };
        const bool a_writes = a.kind != op_kind::send, b_writes = b.kind != op_kind::send;
        const bool a_reads = a.kind != op_kind::recv, b_reads = b.kind != op_kind::recv;
        return (a_writes && b_writes && canonical(a.dst) == canonical(b.dst))
               || (a_writes && b_reads && canonical(a.dst) == canonical(b.src))
               || (a_reads && b_writes && canonical(a.src) == canonical(b.dst));
    }
};

} // namespace

std::string verify_static(const schedule &s)
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
    for (size_t i = 0; i < n; ++i) {
        const op &a = s.ops[i];
        const auto known = [&](buffer b) { return static_cast<int>(b) - static_cast<int>(buffer::tmp) < s.tmp_count; };
        if ((a.kind != op_kind::recv && !known(a.src)) || (a.kind != op_kind::send && !known(a.dst)))
            return "operation " + std::to_string(i) + ": a scratch buffer that the schedule does not have";
        if (a.kind == op_kind::send || a.kind == op_kind::recv) {
            if (a.label >= WAN_LABELS)
                return "operation " + std::to_string(i) + ": label " + std::to_string(a.label) + " is too large";
            if (a.peer == s.me || a.peer < 0)
                return "operation " + std::to_string(i) + ": peer " + std::to_string(a.peer) + " is not another rank";
        }
        for (size_t j = 0; j < i; ++j) {
            const op &b = s.ops[j];
            if (a.kind == b.kind && (a.kind == op_kind::send || a.kind == op_kind::recv) && a.peer == b.peer
                && a.label == b.label)
                return "operations " + std::to_string(j) + " and " + std::to_string(i) + " have the same peer and label";
            if (!(before[i * words + j / 64] >> (j % 64) & 1) && access{}.conflicts(a, b))
                return "operations " + std::to_string(j) + " and " + std::to_string(i)
                       + " touch the same bytes and may run at once";
        }
    }
    return "";
}

std::string verify(const topology &topo, const std::vector<std::shared_ptr<const program>> &schedules,
                   const verify_options &o, wan_traffic *traffic)
{
    const int ranks = topo.size();
    for (int r = 0; r < ranks; ++r)
        if (std::string why = verify_static(schedules[static_cast<size_t>(r)]->text()); !why.empty())
            return "rank " + std::to_string(r) + ": " + why;

    terms t;
    std::vector<memory> in(static_cast<size_t>(ranks)), out(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
        auto &mine = in[static_cast<size_t>(r)];
        for (size_t e = 0; e < o.count; ++e)
            mine.push_back(t.leaf(r, e));
        out[static_cast<size_t>(r)].assign(o.count, UINT32_MAX);
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
    wan_traffic seen;
    seen.sites = topo.site_count();
    seen.between.resize(static_cast<size_t>(seen.sites * seen.sites));
    fabric.observe([&](int from, int to, size_t elements) {
        const auto a = value(topo.site_of(from)), b = value(topo.site_of(to));
        if (a == b)
            return;
        auto &d = seen.between[a * static_cast<size_t>(seen.sites) + b];
        ++d.messages;
        d.elements += elements;
        if (auto it = std::lower_bound(d.senders.begin(), d.senders.end(), from); it == d.senders.end() || *it != from)
            d.senders.insert(it, from);
    });

    std::vector<std::unique_ptr<engine>> engines;
    for (int r = 0; r < ranks; ++r) {
        const auto i = static_cast<size_t>(r);
        binding b{.in = o.in_place ? out[i].data() : in[i].data(), .out = out[i].data(), .count = o.count,
                  .segment = o.segment, .window = o.window, .extent = sizeof(uint32_t)};
        engines.push_back(std::make_unique<engine>(schedules[i], b, fabric.port(), fabric.context(r)));
    }
    if (std::string why = fabric.run(engines); !why.empty())
        return why;
    if (traffic)
        *traffic = std::move(seen);
    for (int r = 0; r < ranks && !o.in_place && o.collective != WAN_BCAST; ++r)
        for (size_t e = 0; e < o.count; ++e)
            if (in[static_cast<size_t>(r)][e] != t.leaf(r, e))
                return at(r, e) + "the send buffer was overwritten";
    return o.collective == WAN_BCAST ? check_bcast(o, t, out) : check_allreduce(o, t, out);
}

} // namespace wan
