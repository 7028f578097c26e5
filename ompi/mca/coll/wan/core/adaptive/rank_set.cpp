/*
 * See rank_set.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/rank_set.hpp"

#include <algorithm>
#include <limits>

namespace wan {

rank_set rank_set::range(int first, int end)
{
    rank_set s;
    if (first < end)
        s.runs_.push_back({first, end});
    return s;
}

rank_set rank_set::of(std::vector<int> ranks)
{
    std::sort(ranks.begin(), ranks.end());
    rank_set s;
    for (int rank : ranks)
        if (!s.runs_.empty() && rank <= s.runs_.back().end)
            s.runs_.back().end = rank + 1;
        else
            s.runs_.push_back({rank, rank + 1});
    return s;
}

int rank_set::size() const
{
    int n = 0;
    for (const run &r : runs_)
        n += r.end - r.begin;
    return n;
}

bool rank_set::contains(int rank) const
{
    const auto at = std::upper_bound(runs_.begin(), runs_.end(), rank, [](int x, const run &r) { return x < r.begin; });
    return at != runs_.begin() && rank < std::prev(at)->end;
}

bool rank_set::intersects(const rank_set &other) const
{
    for (auto a = runs_.begin(), b = other.runs_.begin(); a != runs_.end() && b != other.runs_.end();) {
        if (a->end <= b->begin)
            ++a;
        else if (b->end <= a->begin)
            ++b;
        else
            return true;
    }
    return false;
}

/** Walks along the ends of runs of both: keep(in a, in b) says what stays. */
template <typename Keep> rank_set rank_set::merge(const rank_set &a, const rank_set &b, Keep keep)
{
    constexpr int never = std::numeric_limits<int>::max();
    const auto end_at = [](const rank_set &s, size_t i) {
        return i >= 2 * s.runs_.size() ? never : i % 2 ? s.runs_[i / 2].end : s.runs_[i / 2].begin;
    };
    rank_set out;
    bool inside = false;
    for (size_t i = 0, j = 0;;) {
        const int x = end_at(a, i), y = end_at(b, j), at = std::min(x, y);
        if (at == never)
            return out;
        i += x == at;
        j += y == at;
        const bool now = keep(i % 2 == 1, j % 2 == 1);
        if (now && !inside)
            out.runs_.push_back({at, at});
        else if (!now && inside)
            out.runs_.back().end = at;
        inside = now;
    }
}

rank_set rank_set::operator|(const rank_set &other) const
{
    return merge(*this, other, [](bool a, bool b) { return a || b; });
}

rank_set rank_set::operator&(const rank_set &other) const
{
    return merge(*this, other, [](bool a, bool b) { return a && b; });
}

rank_set rank_set::operator-(const rank_set &other) const
{
    return merge(*this, other, [](bool a, bool b) { return a && !b; });
}

void rank_set::put(wire_writer &w) const
{
    wire_writer runs;
    int last = 0;
    for (const run &r : runs_) {
        runs.number(static_cast<uint64_t>(r.begin - last));
        runs.number(static_cast<uint64_t>(r.end - r.begin));
        last = r.end;
    }
    const int base = runs_.empty() ? 0 : runs_.front().begin;
    const size_t map_bytes = runs_.empty() ? 0 : static_cast<size_t>(runs_.back().end - base + 7) / 8;
    if (runs.bytes().size() <= map_bytes + 2) {
        w.number(runs_.size() * 2);
        w.append(runs.bytes());
        return;
    }
    std::vector<std::byte> map(map_bytes);
    each([&](int rank) { map[static_cast<size_t>(rank - base) / 8] |= std::byte{1} << ((rank - base) % 8); });
    w.number(map_bytes * 2 + 1);
    w.number(static_cast<uint64_t>(base));
    w.append(map);
}

bool rank_set::get(wire_reader &r, int ranks)
{
    runs_.clear();
    const uint64_t head = r.number(), most = static_cast<uint64_t>(ranks);
    if (!r.good() || head / 2 > most)
        return false;
    if (head % 2 == 0) {
        uint64_t at = 0;
        for (uint64_t i = 0; i < head / 2; ++i) {
            const uint64_t gap = r.number(), length = r.number();
            if (!r.good() || gap > most || length > most || length == 0 || (i && gap == 0) || at + gap + length > most)
                return false;
            runs_.push_back({static_cast<int>(at + gap), static_cast<int>(at + gap + length)});
            at += gap + length;
        }
        return true;
    }
    const uint64_t base = r.number();
    const auto map = r.take(head / 2);
    if (!r.good() || base > most)
        return false;
    for (size_t i = 0; i < 8 * map.size(); ++i) {
        if (((map[i / 8] >> (i % 8)) & std::byte{1}) == std::byte{0})
            continue;
        if (base + i >= most)
            return false;
        const int rank = static_cast<int>(base + i);
        if (!runs_.empty() && runs_.back().end == rank)
            ++runs_.back().end;
        else
            runs_.push_back({rank, rank + 1});
    }
    return true;
}

std::string rank_set::print() const
{
    std::string text;
    for (const run &r : runs_) {
        text += (text.empty() ? "" : ",") + std::to_string(r.begin);
        if (r.end > r.begin + 1)
            text += "-" + std::to_string(r.end - 1);
    }
    return text;
}

} // namespace wan
