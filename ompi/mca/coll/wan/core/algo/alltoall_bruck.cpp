/*
 * Alltoall in ceil(log2 P) steps: a block for the rank i further on goes 2^j
 * ranks further in step j, where i has that bit, along with all others that do.
 *
 *     P = 8, blocks for the rank        0  1  2  3  4  5  6  7  further on
 *     step 0: to the next rank             *     *     *     *
 *     step 1: to the one two further on       *  *        *  *
 *     step 2: four                                  *  *  *  *
 *
 *     T = ceil(log2 P) (L + M/(2B) + 2 messages + copying half of M twice)
 *
 * `direct` takes one L and 2 (P - 1) messages: this is for many ranks of sites
 * that are near each other, and short blocks (10 steps of 100 us and 10 us of
 * messages for 1024 ranks, instead of 10 ms of messages).
 *
 * Blocks are handed on by slots, neighbours of which share a site: those that cross do so up to
 * log2 P times, and go by way of other sites.  Scratch: the vector, sorted by
 * distance, and half of it for what leaves and for what comes.
 *
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/step_times.hpp"
#include "algo/turns.hpp"

namespace wan {

namespace {

constexpr span_of numbers(int from, int to) { return blocks_of(static_cast<uint32_t>(from), static_cast<uint32_t>(to)); }

/** Calls f(from, to, before) for each run of distances that have the bit `d`; `before`: how many come before. */
template <typename F> void each_run(int ranks, int d, F f)
{
    int before = 0;
    for (int i = d; i < ranks; i += 2 * d) {
        const int end = std::min(i + d, ranks);
        f(i, end, before);
        before += end - i;
    }
}

/** The caller's blocks, from the one behind `slot` on, around. */
void sort_by_distance(const topology &t, builder &b, int slot, buffer by_distance)
{
    const auto copy = [&](int from, int to, int shift) {
        for (int s = from; s < to; s = b.scattered() ? s + 1 : to)
            b.copy_shifted(buffer::in, by_distance, numbers(s, b.scattered() ? s + 1 : to), shift);
    };
    copy(slot + 1, t.size(), -slot);
    copy(0, slot, t.size() - slot);
}

void build(const topology &t, const plan &, builder &b)
{
    const int slot = t.slot_of(b.me()), ranks = t.size();
    const auto half = static_cast<uint32_t>(ranks / 2);
    const buffer by_distance = b.scratch_blocks(1, static_cast<uint32_t>(ranks) - 1), leaving = b.scratch_blocks(0, half), coming = b.scratch_blocks(0, half);
    b.copy(buffer::in, buffer::out, block_at(slot));
    sort_by_distance(t, b, slot, by_distance);
    for (int d = 1; d < ranks; d *= 2) {
        const int count = static_cast<int>(hopping(ranks, d));
        b.recv(coming, numbers(0, count), t.rank_of((slot + ranks - d) % ranks), label::direct);
        each_run(ranks, d, [&](int from, int to, int before) { b.copy_shifted(by_distance, leaving, numbers(from, to), before - from); });
        b.send(leaving, numbers(0, count), t.rank_of((slot + d) % ranks), label::direct);
        each_run(ranks, d, [&](int from, int to, int before) {
            b.copy_shifted(coming, by_distance, numbers(before, before + to - from), from - before);
        });
    }
    for (int i = 1; i < ranks; ++i)     // the i-th has come from the rank i before
        b.copy_shifted(by_distance, buffer::out, numbers(i, i + 1), (slot + ranks - i) % ranks - i);
}

/** (Where P is no power of two, the last step need not wait for all before it: up to a latency less.) */
int64_t cost(const topology &t, const facts &f, const request &r, const plan &)
{
    const int64_t all = t.size(), lanes = widest_node(t), bytes = static_cast<int64_t>(r.bytes);
    step_times times(t, f);
    int64_t hops = 0;
    for (int d = 1; d < t.size(); d *= 2) {
        const int64_t blocks = hopping(t.size(), d), part = bytes / all * blocks;
        hops += blocks;
        times.step([&](int s) { return times.slot(s + d); }, [&](int s) { return times.slot(s - d); }, part,
                   wire_part(f, bytes, std::min<int64_t>(lanes, d) * blocks, all) + 2 * copied_ns(f, part), false);
    }
    // What shares an uplink: all that leaves a site.
    int64_t shared = 0;
    for (int s = 0; s < t.site_count(); ++s)
        shared = std::max(shared, untold_uplink_ns(f, site_at(s), bytes, hops * t.rank_count(site_at(s)) - hops_across(t, s, s), all));
    return std::max(times.end_ns(), f.widest_ns() + shared) + 2 * copied_ns(f, bytes);
}

/** Its four operations a rank are copies, which take longer to build than sends; of two ranks it is `direct` with copies. */
bool serves(const topology &t, const request &r)
{
    return t.size() > 2 && t.size() <= most_slots / 2 && !r.counts_vary;
}

} // namespace

extern const algorithm alltoall_bruck;
const algorithm alltoall_bruck = {
    .collective = WAN_ALLTOALL,
    .name = "bruck",
    .summary = "log2 of the ranks steps, each with half of all blocks; for short blocks and many ranks of sites near each other",
    .source = "Bruck et al. 1997",
    .parameters = uses_nothing,
    .automatic = true,
    .long_messages = false,
    .keeps_order = true,
    .senders = all_senders,
    .serves = serves,
    .buffers = [](const topology &, const plan &) { return 2u; },
    .cost = cost,
    .build = build,
    .crosses = crossing::by_hops,
};

} // namespace wan
