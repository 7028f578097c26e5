/*
 * See hostlist.hpp.  Three parts: the parser; membership, which walks a host
 * name once per piece with the set of positions reached; and the overlap of
 * two entries, which intersects two small automata over characters.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/hostlist.hpp"

#include "topo/site_name.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

namespace wan {

namespace {

// 10^18 is the largest power of ten whose multiples up to 9 fit in 63 bits.
constexpr size_t digits_max = 18;
// RFC 1035: 255 octets.  Also keeps the automata small.
constexpr size_t host_max_bytes = 255;
// Row, rack, chassis and node are four; twice that bounds the work on hostile input.
constexpr size_t brackets_max = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

char fold(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool host_char(char c)
{
    return is_digit(c) || (fold(c) >= 'a' && fold(c) <= 'z') || c == '.' || c == '_' || c == '-';
}

size_t digits_of(uint64_t v)
{
    size_t n = 1;
    while (v >= 10) {
        v /= 10;
        ++n;
    }
    return n;
}

uint64_t power_of_ten(size_t n)
{
    uint64_t p = 1;
    while (n-- > 0)
        p *= 10;
    return p;
}

std::string digits_padded(uint64_t v, size_t width)
{
    std::string s = std::to_string(v);
    return s.size() < width ? std::string(width - s.size(), '0') + s : s;
}

/* ---- parser -------------------------------------------------------------- */

bool number_parse(std::string_view text, uint64_t &v, std::string &what)
{
    if (text.empty()) {
        what = "a number is missing in the brackets";
        return false;
    }
    if (text.size() > digits_max) {
        what = "the number " + quoted(text) + " has more than " + std::to_string(digits_max) + " digits";
        return false;
    }
    v = 0;
    for (char c : text) {
        if (!is_digit(c)) {
            what = quoted(text) + " is not a number";
            return false;
        }
        v = v * 10 + static_cast<uint64_t>(c - '0');
    }
    return true;
}

bool bracket_parse(std::string_view text, std::vector<host_range> &ranges, std::string &what)
{
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string_view item = text.substr(at, end - at);
        const size_t dash = item.find('-');
        const std::string_view first = item.substr(0, dash);
        host_range r;
        if (!number_parse(first, r.lo, what))
            return false;
        r.hi = r.lo;
        if (dash != item.npos && !number_parse(item.substr(dash + 1), r.hi, what))
            return false;
        if (r.hi < r.lo) {
            what = "the range " + quoted(item) + " runs backwards";
            return false;
        }
        r.width = static_cast<int>(first.size());
        ranges.push_back(r);
        at = end + 1;
    }
    return true;
}

/* Ends the entry that `pattern` holds: shortest host name it stands for. */
bool pattern_check(const host_pattern &pattern, std::string &what)
{
    if (pattern.pieces.empty()) {
        what = "there is an empty entry between commas";
        return false;
    }
    size_t bytes = 0, brackets = 0;
    for (const host_piece &p : pattern.pieces) {
        size_t shortest = p.literal.size();
        if (!p.ranges.empty()) {
            ++brackets;
            shortest = digits_max;
            for (const host_range &r : p.ranges)
                shortest = std::min(shortest, std::max(static_cast<size_t>(r.width), digits_of(r.lo)));
        }
        bytes += shortest;
    }
    if (bytes > host_max_bytes) {
        what = "an entry is longer than a host name can be (" + std::to_string(host_max_bytes) + " bytes)";
        return false;
    }
    if (brackets > brackets_max) {
        what = "an entry has more than " + std::to_string(brackets_max) + " brackets";
        return false;
    }
    return true;
}

} // namespace

bool hostlist::parse(std::string_view text, hostlist &out, std::string &what)
{
    out.patterns_.clear();
    host_pattern pattern;
    for (size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == ',') {
            if (!pattern_check(pattern, what))
                return false;
            out.patterns_.push_back(std::exchange(pattern, {}));
        } else if (c == '[') {
            const size_t close = text.find_first_of("[]", at + 1);
            if (close == text.npos || text[close] == '[') {
                what = "a '[' has no ']' in " + quoted(text);
                return false;
            }
            host_piece piece;
            if (!bracket_parse(text.substr(at + 1, close - at - 1), piece.ranges, what))
                return false;
            pattern.pieces.push_back(std::move(piece));
            at = close;
        } else if (host_char(c)) {
            if (pattern.pieces.empty() || !pattern.pieces.back().ranges.empty())
                pattern.pieces.emplace_back();
            pattern.pieces.back().literal += c;
            pattern.dotted |= c == '.';
        } else {
            what = "the character " + quoted({&c, 1}) + " cannot be part of a host name";
            return false;
        }
    }
    if (!pattern_check(pattern, what))
        return false;
    out.patterns_.push_back(std::move(pattern));
    return true;
}

/* ---- membership ------------------------------------------------------------ */

namespace {

bool range_writes(const host_range &r, uint64_t v, size_t digits)
{
    return v >= r.lo && v <= r.hi && digits == std::max(static_cast<size_t>(r.width), digits_of(v));
}

void positions_after(const host_piece &piece, std::string_view host, size_t at, std::vector<bool> &next)
{
    if (piece.ranges.empty()) {
        const std::string_view &l = piece.literal;
        if (host.size() - at >= l.size()
            && std::equal(l.begin(), l.end(), host.begin() + static_cast<std::ptrdiff_t>(at),
                          [](char a, char b) { return fold(a) == fold(b); }))
            next[at + l.size()] = true;
        return;
    }
    uint64_t v = 0;
    for (size_t n = 1; n <= digits_max && at + n <= host.size() && is_digit(host[at + n - 1]); ++n) {
        v = v * 10 + static_cast<uint64_t>(host[at + n - 1] - '0');
        if (std::any_of(piece.ranges.begin(), piece.ranges.end(),
                        [&](const host_range &r) { return range_writes(r, v, n); }))
            next[at + n] = true;
    }
}

bool pattern_matches(const host_pattern &pattern, std::string_view host)
{
    if (!pattern.dotted)
        host = host.substr(0, host.find('.'));
    std::vector<bool> reached(host.size() + 1), next(host.size() + 1);
    reached[0] = true;
    for (const host_piece &piece : pattern.pieces) {
        std::fill(next.begin(), next.end(), false);
        bool any = false;
        for (size_t at = 0; at <= host.size(); ++at)
            if (reached[at]) {
                any = true;
                positions_after(piece, host, at, next);
            }
        if (!any)
            return false;
        reached.swap(next);
    }
    return reached[host.size()];
}

} // namespace

bool hostlist::contains(std::string_view host) const
{
    if (host.empty() || host.size() > host_max_bytes)
        return false;
    return std::any_of(patterns_.begin(), patterns_.end(), [&](const host_pattern &p) {
        // Nearly all entries of a long map fail here, before anything is allocated.
        const std::string &l = p.pieces.front().literal;
        return (l.empty() || fold(l[0]) == fold(host[0])) && pattern_matches(p, host);
    });
}

namespace {

bool pieces_for_each(std::span<const host_piece> pieces, std::string &name,
                     const std::function<bool(const std::string &)> &visit)
{
    if (pieces.empty())
        return visit(name);
    const host_piece &piece = pieces.front();
    const size_t length = name.size();
    if (piece.ranges.empty()) {
        name += piece.literal;
        const bool go_on = pieces_for_each(pieces.subspan(1), name, visit);
        name.resize(length);
        return go_on;
    }
    for (const host_range &r : piece.ranges)
        for (uint64_t v = r.lo; v <= r.hi; ++v) {
            name += digits_padded(v, static_cast<size_t>(r.width));
            const bool go_on = pieces_for_each(pieces.subspan(1), name, visit);
            name.resize(length);
            if (!go_on)
                return false;
        }
    return true;
}

} // namespace

bool hostlist::for_each(const std::function<bool(const std::string &)> &visit) const
{
    std::string name;
    return std::all_of(patterns_.begin(), patterns_.end(),
                       [&](const host_pattern &p) { return pieces_for_each(p.pieces, name, visit); });
}

/* ---- overlap ----------------------------------------------------------------- */

namespace {

/*
 * The host names of one entry as a nondeterministic automaton over folded
 * characters.  A range is cut into stretches of equal length; each becomes a
 * small comb that follows its lower and its upper bound and is free between:
 *
 *     127..305:  1 -> 2 -> [7-9]          3 -> 0 -> [0-5]
 *                 \-> [3-9] -> [0-9]      [2] -> [0-9] -> [0-9]
 */
class host_automaton {
public:
    struct edge {
        unsigned char from, to;
        uint32_t target;
    };

    explicit host_automaton(const host_pattern &pattern)
    {
        uint32_t at = node();
        for (const host_piece &piece : pattern.pieces) {
            if (piece.ranges.empty()) {
                for (char c : piece.literal) {
                    const uint32_t n = node();
                    connect(at, fold(c), fold(c), n);
                    at = n;
                }
                continue;
            }
            const uint32_t end = node();
            for (const host_range &r : piece.ranges)
                range(at, end, r);
            at = end;
        }
        accept_ = at;
        tail_ = at;
        if (!pattern.dotted) {      // then also every full name that begins so
            tail_ = node();
            connect(at, '.', '.', tail_);
            connect(tail_, '!', '~', tail_);
        }
    }

    bool accepts(uint32_t n) const { return n == accept_ || n == tail_; }
    const std::vector<edge> &edges(uint32_t n) const { return nodes_[n]; }

private:
    std::vector<std::vector<edge>> nodes_;
    uint32_t accept_ = 0, tail_ = 0;

    uint32_t node()
    {
        nodes_.emplace_back();
        return static_cast<uint32_t>(nodes_.size() - 1);
    }

    void connect(uint32_t a, char from, char to, uint32_t b)
    {
        if (from <= to)
            nodes_[a].push_back({static_cast<unsigned char>(from), static_cast<unsigned char>(to), b});
    }

    void range(uint32_t start, uint32_t end, const host_range &r)
    {
        const size_t width = static_cast<size_t>(r.width);
        for (size_t n = std::max(width, digits_of(r.lo)); n <= std::max(width, digits_of(r.hi)); ++n) {
            const uint64_t lo = std::max(r.lo, n > width ? power_of_ten(n - 1) : 0);
            const uint64_t hi = std::min(r.hi, power_of_ten(n) - 1);
            stretch(start, end, digits_padded(lo, n), digits_padded(hi, n));
        }
    }

    void stretch(uint32_t start, uint32_t end, const std::string &lo, const std::string &hi)
    {
        constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
        uint32_t both = start, low = none, high = none, open = none;
        for (size_t i = 0; i < lo.size(); ++i) {
            const bool last = i + 1 == lo.size();
            const auto next = [&] { return last ? end : node(); };
            const uint32_t open_next = next();
            const char lo_above = static_cast<char>(lo[i] + 1), hi_below = static_cast<char>(hi[i] - 1);
            if (open != none)
                connect(open, '0', '9', open_next);
            if (low != none) {
                connect(low, lo_above, '9', open_next);
                connect(high, '0', hi_below, open_next);
            }
            if (both != none && lo[i] == hi[i]) {
                const uint32_t n = next();
                connect(both, lo[i], lo[i], n);
                both = n;
            } else {
                const uint32_t low_next = next(), high_next = next();
                connect(both != none ? both : low, lo[i], lo[i], low_next);
                connect(both != none ? both : high, hi[i], hi[i], high_next);
                if (both != none)
                    connect(both, lo_above, hi_below, open_next);
                both = none;
                low = low_next;
                high = high_next;
            }
            open = open_next;
        }
    }
};

/* The shortest host name that both entries stand for; "" when there is none. */
std::string patterns_common(const host_pattern &pa, const host_pattern &pb)
{
    const host_automaton a(pa), b(pb);
    struct step {
        uint32_t a, b;
        size_t before;
        char c;
    };
    std::vector<step> steps{{0, 0, 0, 0}};
    std::unordered_set<uint64_t> seen{0};
    for (size_t i = 0; i < steps.size(); ++i) {
        const step at = steps[i];
        if (a.accepts(at.a) && b.accepts(at.b)) {
            std::string host;
            for (size_t k = i; k != 0; k = steps[k].before)
                host += steps[k].c;
            std::reverse(host.begin(), host.end());
            return host;
        }
        for (const auto &ea : a.edges(at.a))
            for (const auto &eb : b.edges(at.b)) {
                const unsigned char from = std::max(ea.from, eb.from);
                if (from <= std::min(ea.to, eb.to)
                    && seen.insert(static_cast<uint64_t>(ea.target) << 32 | eb.target).second)
                    steps.push_back({ea.target, eb.target, i, static_cast<char>(from)});
            }
    }
    return {};
}

/*
 * What all names of an entry (or, for a bracket, of one of its ranges) have
 * in common in front: the text before the first digit, and bounds of the
 * number there.  Names with another head or number differ.
 */
struct front {
    std::string head;
    uint64_t lo, hi;
    uint32_t list, pattern;
};

uint64_t concat(uint64_t v, uint64_t digits, size_t n)
{
    uint64_t out;
    if (__builtin_mul_overflow(v, power_of_ten(n), &out) || __builtin_add_overflow(out, digits, &out))
        return std::numeric_limits<uint64_t>::max();
    return out;
}

/*
 * An entry as text, number, text, number ...: every name splits into these in
 * one way, so names of entries that differ in a text or whose numbers lie
 * apart differ.  Spares nearly all automata where fronts say little (10.x.y.z).
 */
struct segment {
    std::string head;
    uint64_t lo = 0, hi = 0;
};

std::vector<segment> segments_of(const host_pattern &pattern)
{
    std::vector<segment> out(1);
    bool number = false;
    for (const host_piece &piece : pattern.pieces) {
        for (char c : piece.literal) {
            if (!is_digit(c)) {
                if (std::exchange(number, false))
                    out.emplace_back();
                out.back().head += fold(c);
                continue;
            }
            number = true;
            out.back().lo = concat(out.back().lo, static_cast<uint64_t>(c - '0'), 1);
            out.back().hi = concat(out.back().hi, static_cast<uint64_t>(c - '0'), 1);
        }
        if (piece.ranges.empty())
            continue;
        number = true;
        uint64_t lo = std::numeric_limits<uint64_t>::max(), hi = 0;
        for (const host_range &r : piece.ranges) {
            const size_t w = static_cast<size_t>(r.width);
            lo = std::min(lo, concat(out.back().lo, r.lo, std::max(w, digits_of(r.lo))));
            hi = std::max(hi, concat(out.back().hi, r.hi, std::max(w, digits_of(r.hi))));
        }
        out.back().lo = lo;
        out.back().hi = hi;
    }
    return out;
}

bool segments_apart(const std::vector<segment> &a, const std::vector<segment> &b)
{
    if (a.size() != b.size())
        return true;
    for (size_t i = a.size(); i-- > 0;)     // what differs is mostly at the end
        if (a[i].lo > b[i].hi || b[i].lo > a[i].hi || a[i].head != b[i].head)
            return true;
    return false;
}

/* Appends the fronts of a pattern: one per range where the number is a single bracket. */
void fronts_append(const host_pattern &p, uint32_t list, uint32_t pattern, std::vector<front> &out)
{
    std::string head;
    size_t piece = 0, at = 0;
    for (; piece < p.pieces.size() && p.pieces[piece].ranges.empty(); ++piece, at = 0) {
        const std::string &l = p.pieces[piece].literal;
        while (at < l.size() && !is_digit(l[at]) && l[at] != '.')
            head += fold(l[at++]);
        if (at < l.size())
            break;
    }

    std::vector<host_range> first{{0, 0, 1}};     // in front of the number's first piece: nothing
    bool any = false;
    for (; piece < p.pieces.size(); ++piece, at = 0) {
        const host_piece &q = p.pieces[piece];
        if (!q.ranges.empty()) {
            if (!any) {
                first = q.ranges;
            } else {
                host_range r{std::numeric_limits<uint64_t>::max(), 0, 1};
                for (const host_range &f : first) {
                    r.lo = std::min(r.lo, f.lo);
                    r.hi = std::max(r.hi, f.hi);
                }
                uint64_t lo = std::numeric_limits<uint64_t>::max(), hi = 0;
                for (const host_range &g : q.ranges) {
                    const size_t w = static_cast<size_t>(g.width);
                    lo = std::min(lo, concat(r.lo, g.lo, std::max(w, digits_of(g.lo))));
                    hi = std::max(hi, concat(r.hi, g.hi, std::max(w, digits_of(g.hi))));
                }
                r.lo = lo;
                r.hi = hi;
                first = {r};
            }
            any = true;
            continue;
        }
        for (; at < q.literal.size() && is_digit(q.literal[at]); ++at, any = true)
            for (host_range &f : first) {
                f.lo = concat(f.lo, static_cast<uint64_t>(q.literal[at] - '0'), 1);
                f.hi = concat(f.hi, static_cast<uint64_t>(q.literal[at] - '0'), 1);
            }
        if (at < q.literal.size())
            break;
    }
    for (const host_range &f : first)
        out.push_back({head, f.lo, f.hi, list, pattern});
}

} // namespace

void hostlist_overlaps(std::span<const hostlist *const> lists,
                       const std::function<bool(size_t, size_t)> &wanted,
                       const std::function<bool(size_t, size_t, const std::string &)> &found)
{
    std::vector<front> fronts;
    std::vector<const host_pattern *> patterns;
    std::vector<std::vector<segment>> segments;
    for (size_t l = 0; l < lists.size(); ++l)
        for (const host_pattern &p : lists[l]->patterns()) {
            fronts_append(p, static_cast<uint32_t>(l), static_cast<uint32_t>(patterns.size()), fronts);
            patterns.push_back(&p);
            segments.push_back(segments_of(p));
        }
    std::sort(fronts.begin(), fronts.end(), [](const front &a, const front &b) {
        if (const int c = a.head.compare(b.head))
            return c < 0;
        return a.lo != b.lo ? a.lo < b.lo : a.pattern < b.pattern;
    });

    std::unordered_set<uint64_t> tried;
    for (size_t i = 0; i < fronts.size(); ++i)
        for (size_t j = i + 1; j < fronts.size() && fronts[j].lo <= fronts[i].hi
                               && fronts[j].head == fronts[i].head; ++j) {
            const bool swapped = fronts[i].pattern > fronts[j].pattern;
            const front &a = fronts[swapped ? j : i], &b = fronts[swapped ? i : j];
            if (a.list == b.list
                || (patterns[a.pattern]->dotted == patterns[b.pattern]->dotted
                    && segments_apart(segments[a.pattern], segments[b.pattern]))
                || !wanted(a.list, b.list)
                || !tried.insert(static_cast<uint64_t>(a.pattern) << 32 | b.pattern).second)
                continue;
            const std::string host = patterns_common(*patterns[a.pattern], *patterns[b.pattern]);
            if (!host.empty() && !found(a.list, b.list, host))
                return;
        }
}

} // namespace wan
