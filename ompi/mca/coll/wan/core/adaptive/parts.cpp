/*
 * See parts.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/parts.hpp"

#include <algorithm>
#include <bit>

namespace wan {

namespace {

/** Of ranks begin to end, the widest blocks of 2^k ranks that begin at a multiple of 2^k; those at the end of all may be shorter. */
template <typename F> void each_block(int begin, int end, int first, int width, int size, F &f)
{
    const int last = std::min(first + width, size);
    if (last <= begin || end <= first)
        return;
    if (begin <= first && last <= end) {
        f(first, last);
        return;
    }
    each_block(begin, end, first, width / 2, size, f);
    each_block(begin, end, first + width / 2, width / 2, size, f);
}

/** f(begin, end) for each part. */
template <typename F> void each_part(joining how, const rank_set &ranks, int size, F f)
{
    if (how == joining::any) {
        if (!ranks.empty())
            f(ranks.first(), ranks.first() + 1);
    } else if (how == joining::none)
        ranks.each([&](int rank) { f(rank, rank + 1); });
    else
        ranks.each_run([&](int begin, int end) {
            if (how == joining::neighbours)
                f(begin, end);
            else
                each_block(begin, end, 0, static_cast<int>(std::bit_ceil(static_cast<unsigned>(size))), size, f);
        });
}

/** Whether these two neighbours are both halves of a block. */
bool are_halves(int first, int middle, int end, int size)
{
    const int width = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(middle - first, end - middle))));
    return middle - first == width && first % (2 * width) == 0 && end == std::min(first + 2 * width, size);
}

} // namespace

void parts::add(joining how, const rank_set &ranks, std::span<const std::byte> bytes, size_t part_bytes, int size, const combiner &combine)
{
    each_part(how, ranks, size, [&](int begin, int end) {
        const auto here = bytes.first(std::min(part_bytes, bytes.size()));
        bytes = bytes.subspan(here.size());
        part p{how == joining::any ? ranks : rank_set::range(begin, end), end, {here.begin(), here.end()}};
        p.bytes.resize(part_bytes);
        join(how, how == joining::any ? 0 : begin, std::move(p), size, combine);
    });
}

void parts::join(joining how, int first, part p, int size, const combiner &combine)
{
    if (how == joining::any && !all_.empty()) {
        part &sum = all_.begin()->second;
        combine(p.bytes.data(), sum.bytes.data(), p.bytes.size());
        sum.ranks |= p.ranks;
        return;
    }
    for (bool more = how == joining::neighbours || how == joining::halves; more;) {
        more = false;
        const auto fits = [&](int a, int b, int c) { return how == joining::neighbours || are_halves(a, b, c, size); };
        if (const auto after = all_.find(p.end); after != all_.end() && fits(first, p.end, after->second.end)) {
            combine(p.bytes.data(), after->second.bytes.data(), p.bytes.size());
            p = {p.ranks | after->second.ranks, after->second.end, std::move(after->second.bytes)};
            all_.erase(after);
            more = true;
        }
        const auto next = all_.lower_bound(first);
        if (next == all_.begin())
            continue;
        if (const auto before = std::prev(next); before->second.end == first && fits(before->first, first, p.end)) {
            combine(before->second.bytes.data(), p.bytes.data(), p.bytes.size());
            p.ranks |= before->second.ranks;
            first = before->first;
            all_.erase(before);
            more = true;
        }
    }
    all_.emplace(first, std::move(p));
}

} // namespace wan
