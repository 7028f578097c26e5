/*
 * The text form of schedules.  One line an operation, for people, golden
 * files and tools:
 *
 *     schedule rank 3 tmp 1
 *     0 copy in out 0/1..1/1
 *     1 send out 2/4..3/4 to 11 label 0 after 0
 *     2 recv tmp0 3/4..4/4 from 11 label 0
 *     3 reduce tmp0 out 3/4..4/4 after 0 2
 *     4 signal to 11 label 1 after 3
 *     5 await from 11 label 1
 *     turn 3
 *
 * Of a vector of blocks, bounds are as in 12+0/1..13+1/2, and the first line
 * ends with the rooms of the scratch buffers: "blocks 0..4 2..3".
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sched/schedule.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace wan {

size_t schedule::memory_bytes() const
{
    return sizeof *this + ops.capacity() * sizeof(op) + preds.capacity() * sizeof(uint16_t) + rooms.capacity() * sizeof(room);
}

namespace {

std::string name(buffer b)
{
    if (b == buffer::in)
        return "in";
    if (b == buffer::out)
        return "out";
    return "tmp" + std::to_string(static_cast<int>(b) - static_cast<int>(buffer::tmp));
}

std::optional<uint32_t> number(std::string_view s)
{
    uint32_t v = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error != std::errc{} || end != s.data() + s.size())
        return std::nullopt;
    return v;
}

std::optional<buffer> parse_buffer(std::string_view s)
{
    if (s == "in")
        return buffer::in;
    if (s == "out")
        return buffer::out;
    if (s.starts_with("tmp"))
        if (auto k = number(s.substr(3)); k && *k < 250)
            return tmp(static_cast<int>(*k));
    return std::nullopt;
}

std::optional<fraction> parse_fraction(std::string_view s)
{
    std::optional<uint32_t> b = 0;
    if (const size_t plus = s.find('+'); plus != s.npos) {
        b = number(s.substr(0, plus));
        s.remove_prefix(plus + 1);
    }
    const size_t slash = s.find('/');
    if (slash == s.npos)
        return std::nullopt;
    auto n = number(s.substr(0, slash)), d = number(s.substr(slash + 1));
    if (!b || !n || !d || *d == 0 || *n > *d || *d > UINT16_MAX)
        return std::nullopt;
    return fraction{*n, *d, *b};
}

std::optional<span_of> parse_part(std::string_view s)
{
    const size_t dots = s.find("..");
    if (dots == s.npos)
        return std::nullopt;
    auto lo = parse_fraction(s.substr(0, dots)), hi = parse_fraction(s.substr(dots + 2));
    if (!lo || !hi)
        return std::nullopt;
    return span_of{*lo, *hi};
}

std::optional<room> parse_room(std::string_view s)
{
    const size_t dots = s.find("..");
    if (dots == s.npos)
        return std::nullopt;
    auto first = number(s.substr(0, dots)), end = number(s.substr(dots + 2));
    if (!first || !end || *end < *first)
        return std::nullopt;
    return room{*first, *end - *first};
}

std::string text_of(const fraction &f)
{
    return (f.block ? std::to_string(f.block) + '+' : "") + std::to_string(f.num) + '/' + std::to_string(f.den);
}

constexpr const char *kinds[] = {"send", "recv", "reduce", "copy", "signal", "await"};

/** Reads the words of one line into the schedule; the reason if it cannot. */
const char *parse_op(std::istringstream &line, schedule &s)
{
    std::string word, kind;
    if (!(line >> word >> kind) || number(word) != s.ops.size())
        return "expected the number of the operation";
    op o{};
    auto take_buffer = [&](buffer &b) {
        auto parsed = line >> word ? parse_buffer(word) : std::nullopt;
        return parsed ? (b = *parsed, true) : false;
    };
    const auto named = std::find(std::begin(kinds), std::end(kinds), kind);
    if (named == std::end(kinds))
        return "expected send, recv, reduce, copy, signal or await";
    o.kind = static_cast<op_kind>(named - std::begin(kinds));
    if ((o.reads() && !take_buffer(o.src)) || (o.writes() && !take_buffer(o.dst)))
        return o.reads() && o.writes() ? "expected two buffers" : "expected a buffer";
    if (o.reads() || o.writes()) {
        auto part = line >> word ? parse_part(word) : std::nullopt;
        if (!part)
            return "expected a part such as 0/4..1/4";
        o.part = *part;
    }
    if (o.sends() || o.receives()) {
        std::string peer, label;
        if (!(line >> word >> peer) || word != (o.sends() ? "to" : "from") || !number(peer))
            return "expected 'to' or 'from' and a rank";
        o.peer = static_cast<int32_t>(*number(peer));
        if (!(line >> word >> label) || word != "label" || !number(label) || *number(label) > UINT16_MAX)
            return "expected 'label' and a number";
        o.label = static_cast<uint16_t>(*number(label));
    }
    o.pred_begin = static_cast<uint32_t>(s.preds.size());
    bool more = static_cast<bool>(line >> word);
    if (more && word == "shift" && o.kind == op_kind::copy) {
        if (!(line >> o.shift))
            return "expected 'shift' and a number of blocks";
        more = static_cast<bool>(line >> word);
    }
    if (more) {
        if (word != "after")
            return "expected 'after' or the end of the line";
        while (line >> word) {
            auto p = number(word);
            if (!p || *p >= s.ops.size())
                return "expected the number of an earlier operation";
            s.preds.push_back(static_cast<uint16_t>(*p));
        }
    }
    o.pred_count = static_cast<uint16_t>(s.preds.size() - o.pred_begin);
    s.ops.push_back(o);
    return nullptr;
}

} // namespace

std::string print(const schedule &s)
{
    std::ostringstream text;
    text << "schedule rank " << s.me << " tmp " << s.tmp_count;
    if (s.by_blocks) {
        text << " blocks";
        for (const room &r : s.rooms)
            text << ' ' << r.first << ".." << r.first + r.blocks;
    }
    text << '\n';
    for (size_t i = 0; i < s.ops.size(); ++i) {
        const op &o = s.ops[i];
        text << i << ' ' << kinds[static_cast<int>(o.kind)];
        if (o.reads())
            text << ' ' << name(o.src);
        if (o.writes())
            text << ' ' << name(o.dst);
        if (o.reads() || o.writes())
            text << ' ' << text_of(o.part.lo) << ".." << text_of(o.part.hi);
        if (o.shift)
            text << " shift " << o.shift;
        if (o.sends() || o.receives())
            text << (o.sends() ? " to " : " from ") << o.peer << " label " << o.label;
        if (o.pred_count) {
            text << " after";
            for (uint16_t p : s.preds_of(o))
                text << ' ' << p;
        }
        text << '\n';
    }
    if (s.turn != schedule::no_turn)
        text << "turn " << s.turn << '\n';
    return text.str();
}

std::optional<schedule> parse_schedule(std::string_view text, std::string *why)
{
    schedule s;
    std::istringstream lines{std::string(text)};
    std::string line, word, tmp_word, rank_word;
    int number_of_line = 1;
    auto fail = [&](const std::string &what) {
        if (why)
            *why = "line " + std::to_string(number_of_line) + ": " + what;
        return std::nullopt;
    };
    if (!std::getline(lines, line))
        return fail("empty");
    std::istringstream head(line);
    if (!(head >> word >> rank_word >> s.me >> tmp_word >> s.tmp_count) || word != "schedule" || rank_word != "rank"
        || tmp_word != "tmp")
        return fail("expected 'schedule rank R tmp T'");
    if (head >> word) {
        if (word != "blocks")
            return fail("expected 'blocks' or the end of the line");
        s.by_blocks = true;
        while (head >> word) {
            auto r = parse_room(word);
            if (!r)
                return fail("expected the blocks of a scratch buffer such as 0..4");
            s.rooms.push_back(*r);
        }
        if (static_cast<int>(s.rooms.size()) != s.tmp_count)
            return fail("expected blocks for each scratch buffer");
    }
    while (std::getline(lines, line)) {
        ++number_of_line;
        std::istringstream words(line);
        if (line.empty())
            continue;
        if (line.starts_with("turn ")) {
            const auto op_index = number(std::string_view(line).substr(5));
            if (!op_index || *op_index >= s.ops.size() || s.turn != schedule::no_turn)
                return fail("expected one turn, an earlier operation");
            s.turn = static_cast<int>(*op_index);
            continue;
        }
        if (const char *what = parse_op(words, s))
            return fail(what);
    }
    return s;
}

} // namespace wan
