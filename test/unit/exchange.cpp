/*
 * Neighbourhood collectives (graph/exchange.hpp) on graphs drawn by seed: both ends of
 * every pair post the same messages in the same order, pieces are short enough to need
 * no consent, what needs it comes first and once, what stays in the site comes after what
 * leaves it, what stays on the host is whole and last; and what engines bring over the in-memory port is what was sent.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "graph/exchange.hpp"

#include "exec/engine.hpp"
#include "exec/memory_port.hpp"
#include "matrix.hpp"
#include "unit.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace {

using namespace wan;
using namespace wan_test;
using generator = std::mt19937_64;

uint64_t draw(generator &g, uint64_t least, uint64_t most) { return least + g() % (most - least + 1); }

uint64_t draw_bytes(generator &g)
{
    constexpr uint64_t kb = 1024;
    switch (draw(g, 0, 7)) {
    case 0: return 0;
    case 1: return 64 * kb + draw(g, 0, 4) - 2;
    case 2: return exchange_piece_bytes * draw(g, 1, exchange_pieces + 4);
    case 3: return exchange_piece_bytes * exchange_pieces + draw(g, 0, 4) - 2;
    case 4: return draw(g, 1, 4000 * kb);
    default: return draw(g, 1, 2000);
    }
}

/** Of all ranks: several edges between two of them, and to oneself, are likely. */
std::vector<edges> draw_graph(generator &g, int ranks, uint64_t most)
{
    std::vector<edges> all(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r)
        for (uint64_t n = draw(g, 0, most); n > 0; --n) {
            const int peer = static_cast<int>(draw(g, 0, static_cast<uint64_t>(ranks) - 1));
            edges &mine = all[static_cast<size_t>(r)], &theirs = all[static_cast<size_t>(peer)];
            const uint64_t bytes = draw_bytes(g);
            mine.to.push_back({peer, static_cast<uint32_t>(mine.to.size()), bytes});
            theirs.from.push_back({r, static_cast<uint32_t>(theirs.from.size()), bytes});
        }
    return all;
}

layout layout_of(const std::vector<edge> &of)
{
    layout l;
    size_t sum = 0;
    for (const edge &e : of)
        l.ends.push_back(sum += e.bytes);
    return l;
}

/** Bytes of what is posted, by other end, in order. */
std::map<int, std::vector<size_t>> posted(const schedule &s, op_kind kind, const layout &l)
{
    std::map<int, std::vector<size_t>> by;
    for (const op &o : s.ops)
        if (o.kind == kind)
            by[o.peer].push_back(l.length(o.part));
    return by;
}

std::string check_posts(const topology &t, int me, const schedule &s, const edges &e)
{
    const layout in = layout_of(e.to), out = layout_of(e.from);
    for (const op_kind kind : {op_kind::send, op_kind::recv}) {
        const auto &of = kind == op_kind::send ? e.to : e.from;
        const layout &l = kind == op_kind::send ? in : out;
        const auto &back = kind == op_kind::send ? e.from : e.to;
        const auto answered = [&](int rank) { return std::any_of(back.begin(), back.end(), [&](const edge &x) { return x.bytes && x.rank == rank; }); };
        std::vector<uint64_t> bytes(of.size()), pieces(of.size());
        bool near_yet = false, piece_yet = false, host_yet = false;
        const auto here = t.locate(me);
        for (const op &o : s.ops) {
            if (o.kind != kind)
                continue;
            WAN_CHECK(o.label == 0 && o.pred_count == 0);
            const size_t length = l.length(o.part), block = o.part.lo.block;
            WAN_CHECK(length > 0 && block < of.size() && of[block].rank == o.peer);
            bytes[block] += length;
            ++pieces[block];
            const auto there = t.locate(o.peer);
            if (there.site == here.site && there.node == here.node) {
                host_yet = true;
                WAN_CHECK(length == of[block].bytes);
                continue;
            }
            WAN_CHECK_THAT(!host_yet, "what stays on the host comes before what leaves it");
            if (there.site == here.site && !near_yet) {
                near_yet = true;
                piece_yet = false;
            }
            WAN_CHECK_THAT(near_yet == (there.site == here.site), "what stays in the site comes before what leaves it");
            // (What nothing comes back for is not cut: it stands among the first pieces.)
            WAN_CHECK_THAT(length < 64 * 1024 || length == of[block].bytes || (!piece_yet && pieces[block] == 1), "what needs consent comes after pieces");
            piece_yet = piece_yet || o.part.lo.num == 0;
        }
        for (size_t b = 0; b < of.size(); ++b) {
            WAN_CHECK(bytes[b] == of[b].bytes);
            WAN_CHECK(pieces[b] <= exchange_pieces + 1);
            // No more than a front goes unasked, and nothing to where nothing comes from.
            const auto there = t.locate(of[b].rank);
            if (!answered(of[b].rank)) {
                WAN_CHECK(pieces[b] == (of[b].bytes > 0));
                continue;
            }
            if ((there.site != here.site || there.node != here.node) && of[b].bytes >= 64 * 1024)
                WAN_CHECK(pieces[b] > 1);
            if ((there.site != here.site || there.node != here.node) && of[b].bytes > exchange_pieces * exchange_piece_bytes + 64 * 1024)
                WAN_CHECK(pieces[b] == exchange_pieces + 1);
        }
    }
    return "";
}

std::string check_one(const topology &t, const std::vector<edges> &graph, generator &g)
{
    const auto ranks = static_cast<size_t>(t.size());
    std::vector<schedule> schedules;
    for (size_t r = 0; r < ranks; ++r) {
        schedules.push_back(build_exchange(t, static_cast<int>(r), graph[r]));
        if (const std::string wrong = check_posts(t, static_cast<int>(r), schedules.back(), graph[r]); !wrong.empty())
            return wrong;
    }
    for (size_t r = 0; r < ranks; ++r)
        for (const auto &[peer, lengths] : posted(schedules[r], op_kind::send, layout_of(graph[r].to))) {
            auto there = posted(schedules[static_cast<size_t>(peer)], op_kind::recv, layout_of(graph[static_cast<size_t>(peer)].from));
            WAN_CHECK_THAT(there[static_cast<int>(r)] == lengths, "the two ends of a pair post other messages");
        }

    memory_fabric fabric(t.size(), 1, g(), [](const void *, void *, size_t) {});
    std::vector<std::vector<unsigned char>> in(ranks), out(ranks);
    std::vector<std::unique_ptr<engine>> engines;
    for (size_t r = 0; r < ranks; ++r) {
        binding b;
        b.blocks[0] = layout_of(graph[r].to);
        b.blocks[1] = layout_of(graph[r].from);
        in[r].resize(b.blocks[0].ends.empty() ? 1 : b.blocks[0].ends.back() + 1);
        out[r].resize(b.blocks[1].ends.empty() ? 1 : b.blocks[1].ends.back() + 1);
        for (auto &x : in[r])
            x = static_cast<unsigned char>(g());
        b.in = in[r].data();
        b.out = out[r].data();
        b.count = b.segment = 1;
        engines.push_back(std::make_unique<engine>(std::make_shared<program>(std::move(schedules[r])), std::move(b), fabric.port(), fabric.context(static_cast<int>(r))));
    }
    const std::string why = fabric.run(engines);
    WAN_CHECK_THAT(why.empty(), why);
    for (size_t r = 0; r < ranks; ++r) {
        std::map<int, size_t> nth;      // edge from that rank
        const layout mine = layout_of(graph[r].from);
        for (const edge &e : graph[r].from) {
            const auto &to = graph[static_cast<size_t>(e.rank)].to;
            size_t n = nth[e.rank]++;
            const auto match = std::find_if(to.begin(), to.end(), [&](const edge &x) { return x.rank == static_cast<int>(r) && n-- == 0; });
            const layout theirs = layout_of(to);
            WAN_CHECK(match != to.end() && match->bytes == e.bytes);
            WAN_CHECK(std::equal(out[r].data() + mine.before({0, 1, e.block}), out[r].data() + mine.before({0, 1, e.block + 1}),
                                 in[static_cast<size_t>(e.rank)].data() + theirs.before({0, 1, match->block})));
        }
    }
    return "";
}

std::string check_drawn()
{
    for (uint64_t round = 0; round < (is_long() ? 2000u : 60u); ++round) {
        generator g(test_seed() + round);
        const std::vector<std::vector<int>> shapes{{2, 2}, {1, 3}, {4, 1, 2}, {3, 3, 3}};
        const topology t = lay_out(shapes[round % shapes.size()], round % 2 ? placement::shuffled : placement::block, 1 + static_cast<int>(round % 3 == 2), g());
        if (const std::string wrong = check_one(t, draw_graph(g, t.size(), 6), g); !wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

/** More operations than a builder can name: 3 times 30000 pieces and rests. */
std::string check_many_edges()
{
    const topology t = lay_out({1, 2}, placement::block, 1, 1);
    std::vector<edges> graph(3);
    for (uint32_t i = 0; i < 30'000; ++i) {
        const int peer = 1 + static_cast<int>(i % 2);
        graph[0].to.push_back({peer, i, 70'000});
        auto &from = graph[static_cast<size_t>(peer)].from;
        from.push_back({0, static_cast<uint32_t>(from.size()), 70'000});
    }
    const schedule s = build_exchange(t, 0, graph[0]);
    WAN_CHECK(s.ops.size() == 30'000);      // nothing comes back
    graph[0].from = graph[0].to;
    const schedule both = build_exchange(t, 0, graph[0]);
    WAN_CHECK(both.ops.size() == 120'000);
    return check_posts(t, 0, both, graph[0]);
}

/** Lengths that nobody has the memory for: bounds have 16 bits, lengths more than 32. */
std::string check_long()
{
    const topology t = lay_out({1, 1}, placement::block, 1, 1);
    for (const uint64_t bytes : {(uint64_t{1} << 31) + 1, 65535 * exchange_piece_bytes - 1, 65535 * exchange_piece_bytes + 1, uint64_t{1} << 33, uint64_t{1} << 40}) {
        const edges mine{{{1, 0, bytes}}, {{1, 0, bytes - 7}}}, theirs{{{0, 0, bytes - 7}}, {{0, 0, bytes}}};
        const schedule a = build_exchange(t, 0, mine), b = build_exchange(t, 1, theirs);
        WAN_CHECK(posted(a, op_kind::send, layout_of(mine.to))[1] == posted(b, op_kind::recv, layout_of(theirs.from))[0]);
        WAN_CHECK(posted(b, op_kind::send, layout_of(theirs.to))[0] == posted(a, op_kind::recv, layout_of(mine.from))[1]);
        const std::vector<size_t> lengths = posted(a, op_kind::send, layout_of(mine.to))[1];
        const uint64_t sum = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
        WAN_CHECK_THAT(sum == bytes, std::to_string(sum) + " of " + std::to_string(bytes));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_drawn>),
        cmocka_unit_test(test<check_many_edges>),
        cmocka_unit_test(test<check_long>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
