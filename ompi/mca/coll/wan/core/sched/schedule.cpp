/*
 * The text form of schedules.  One line an operation, for people, golden
 * files and tools:
 *
 *     schedule rank 3 tmp 1
 *     0 copy in out 0/1..1/1
 *     1 send out 2/4..3/4 to 11 label 0 after 0
 *     2 recv tmp0 3/4..4/4 from 11 label 0
 *     3 reduce tmp0 out 3/4..4/4 after 0 2
 *     turn 3
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sched/schedule.hpp"

#include <charconv>
#include <sstream>

namespace wan {

size_t schedule::memory_bytes() const
{
    return sizeof *this + ops.capacity() * sizeof(op) + preds.capacity() * sizeof(uint16_t);
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
    const size_t slash = s.find('/');
    if (slash == s.npos)
        return std::nullopt;
    auto n = number(s.substr(0, slash)), d = number(s.substr(slash + 1));
    if (!n || !d || *d == 0 || *n > *d)
        return std::nullopt;
    return fraction{*n, *d};
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
    if (kind == "send" || kind == "recv") {
        o.kind = kind == "send" ? op_kind::send : op_kind::recv;
        if (!take_buffer(o.kind == op_kind::send ? o.src : o.dst))
            return "expected a buffer";
    } else if (kind == "reduce" || kind == "copy") {
        o.kind = kind == "reduce" ? op_kind::reduce : op_kind::copy;
        if (!take_buffer(o.src) || !take_buffer(o.dst))
            return "expected two buffers";
    } else {
        return "expected send, recv, reduce or copy";
    }
    auto part = line >> word ? parse_part(word) : std::nullopt;
    if (!part)
        return "expected a part such as 0/4..1/4";
    o.part = *part;
    if (o.kind == op_kind::send || o.kind == op_kind::recv) {
        std::string peer, label;
        if (!(line >> word >> peer) || word != (o.kind == op_kind::send ? "to" : "from") || !number(peer))
            return "expected 'to' or 'from' and a rank";
        o.peer = static_cast<int32_t>(*number(peer));
        if (!(line >> word >> label) || word != "label" || !number(label) || *number(label) > 255)
            return "expected 'label' and a number";
        o.label = static_cast<uint8_t>(*number(label));
    }
    o.pred_begin = static_cast<uint32_t>(s.preds.size());
    if (line >> word) {
        if (word != "after")
            return "expected 'after' or the end of the line";
        while (line >> word) {
            auto p = number(word);
            if (!p || *p >= s.ops.size())
                return "expected the number of an earlier operation";
            s.preds.push_back(static_cast<uint16_t>(*p));
        }
    }
    o.pred_count = static_cast<uint32_t>(s.preds.size()) - o.pred_begin;
    s.ops.push_back(o);
    return nullptr;
}

} // namespace

std::string print(const schedule &s)
{
    static constexpr const char *kinds[] = {"send", "recv", "reduce", "copy"};
    std::ostringstream text;
    text << "schedule rank " << s.me << " tmp " << s.tmp_count << '\n';
    for (size_t i = 0; i < s.ops.size(); ++i) {
        const op &o = s.ops[i];
        text << i << ' ' << kinds[static_cast<int>(o.kind)];
        if (o.kind != op_kind::recv)
            text << ' ' << name(o.src);
        if (o.kind != op_kind::send)
            text << ' ' << name(o.dst);
        text << ' ' << o.part.lo.num << '/' << o.part.lo.den << ".." << o.part.hi.num << '/' << o.part.hi.den;
        if (o.kind == op_kind::send)
            text << " to " << o.peer << " label " << int{o.label};
        if (o.kind == op_kind::recv)
            text << " from " << o.peer << " label " << int{o.label};
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
