/*
 * Alltoall in steps, as in Nanri's report on networks whose links are shared:
 * in each, a rank sends to one other and receives from one, and begins the
 * next when both are done, so that no receiver has to do with many senders.
 *
 *     pair    step k: with slot me xor k; where the number of ranks is no power
 *             of two, with k - me, so that those of a step add up to k
 *     ring    step k: to slot me + k, from slot me - k
 *     simple  no steps: all at once, in the order of slots
 *
 *                         ring, P = 5               pair, P = 5
 *     step             1   2   3   4            0   1   2   3   4
 *     rank 0 sends to  1   2   3   4            -   1   2   3   4
 *     rank 1           2   3   4   0            4   0   -   2   3
 *
 * Ranks drift apart where nothing else keeps them in step:
 *
 *     light barrier  a rank tells from whom it will receive that its step has
 *                    begun, and sends when it has heard so: nobody is sent two
 *                    blocks at once
 *     one barrier    by dissemination, before the first step
 *     MPI barrier    the same before each step: a label each
 *
 *     T = (P - 1) (L + M/(PB) + 2 messages), L where a WAN is crossed; twice L
 *         with light barriers, ceil(log2 P) more steps for each barrier
 *
 * `direct` sends the same bytes and messages in one L, so none of these can be
 * predicted to be faster: by name only, for measurements, and for networks whose
 * inside loses more by contention than a latency for each rank is worth.
 *
 * Source: Nanri, Inadomi; as in contrib/contention/fat_tree.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/step_times.hpp"
#include "algo/turns.hpp"

#include <array>
#include <bit>

namespace wan {

namespace {

enum class peers : uint8_t { all, pair, ring };
enum class barriers : uint8_t { none, light, one, each };

struct form {
    peers with = peers::ring;
    barriers kept = barriers::none;
};

/** Whom a slot has to do with in a step: itself, where it rests. */
struct peers_of_step {
    form how;
    int ranks;

    bool by_bits() const { return std::has_single_bit(static_cast<unsigned>(ranks)); }
    int first_step() const { return how.with == peers::pair && !by_bits() ? 0 : 1; }
    int around(int i) const { return i < 0 ? i + ranks : i < ranks ? i : i - ranks; }
    int to(int slot, int k) const { return how.with == peers::ring ? around(slot + k) : by_bits() ? slot ^ k : around(k - slot); }
    int from(int slot, int k) const { return how.with == peers::ring ? around(slot - k) : to(slot, k); }
};

/** Adds operations that wait for the end of a step, or of a barrier. */
class stepper {
public:
    stepper(const topology &t, builder &b) : topo_(t), b_(b), slot_(t.slot_of(b.me())) {}

    /** The k-th, which has labels of its own, as all have the same peers. */
    void barrier(int k)
    {
        const int ranks = topo_.size();
        for (int d = 1; d < ranks; d *= 2) {
            wait();
            const int told = b_.signal(rank((slot_ + d) % ranks), label::barrier + k);
            wait();
            ended_ = {told, b_.await(rank((slot_ + ranks - d) % ranks), label::barrier + k)};
        }
    }

    void exchange(int to, int from, bool light)
    {
        wait();
        const int received = b_.recv(buffer::out, block_at(from), rank(from), label::direct);
        int heard = builder::none;
        if (light) {
            wait();
            b_.signal(rank(from), label::grant);
            wait();
            heard = b_.await(rank(to), label::grant);
        }
        wait();
        b_.after(heard);
        ended_ = {received, b_.send(buffer::in, block_at(to), rank(to), label::direct)};
    }

private:
    int rank(int slot) const { return topo_.rank_of(slot); }
    void wait()
    {
        for (int i : ended_)
            b_.after(i);
    }

    const topology &topo_;
    builder &b_;
    int slot_;
    std::array<int, 2> ended_{builder::none, builder::none};    // what the next operations wait for
};

void all_at_once(const topology &t, builder &b, int slot)
{
    for (int s = 0; s < t.size(); ++s)
        if (s != slot)
            b.recv(buffer::out, block_at(s), t.rank_of(s), label::direct);
    for (int s = 0; s < t.size(); ++s)
        if (s != slot)
            b.send(buffer::in, block_at(s), t.rank_of(s), label::direct);
}

template <form How> void build(const topology &t, const plan &, builder &b)
{
    const int slot = t.slot_of(b.me());
    b.copy(buffer::in, buffer::out, block_at(slot));
    if (How.with == peers::all)
        return all_at_once(t, b, slot);
    const peers_of_step peer{How, t.size()};
    stepper steps(t, b);
    if (How.kept == barriers::one)
        steps.barrier(0);
    for (int k = peer.first_step(); k < t.size(); ++k) {
        if (How.kept == barriers::each)
            steps.barrier(k);
        if (const int to = peer.to(slot, k); to != slot)
            steps.exchange(to, peer.from(slot, k), How.kept == barriers::light);
    }
}

/** Of each of a rank's blocks, while the other ranks of its host send theirs. */
int64_t block_wire_ns(const topology &t, const facts &f, const request &r)
{
    const int64_t all = t.size(), lanes = widest_node(t);
    return all > lanes ? wire_part(f, static_cast<int64_t>(r.bytes), lanes, all) : 0;
}

int64_t all_at_once_ns(const topology &t, const facts &f, const request &r)
{
    const int64_t all = t.size(), lanes = widest_node(t);
    return crossing_ns(f, f.widest_ns(), static_cast<int64_t>(r.bytes) / all)
           + wire_part(f, static_cast<int64_t>(r.bytes), lanes * (all - lanes), all) + 2 * (all - 1) * f.message_ns;
}

template <form How> int64_t cost(const topology &t, const facts &f, const request &r, const plan &)
{
    if (How.with == peers::all)
        return all_at_once_ns(t, f, r);
    const peers_of_step peer{How, t.size()};
    const int64_t bytes = static_cast<int64_t>(r.bytes) / t.size(), wire_ns = block_wire_ns(t, f, r);
    step_times times(t, f);
    if (How.kept == barriers::one)
        times.barrier();
    for (int k = peer.first_step(); k < t.size(); ++k) {
        if (How.kept == barriers::each)
            times.barrier();
        times.step([&](int s) { return peer.to(s, k); }, [&](int s) { return peer.from(s, k); }, bytes, wire_ns, How.kept == barriers::light);
    }
    return times.end_ns();
}

template <form How> bool serves(const topology &t, const request &)
{
    return t.size() <= (How.kept == barriers::each ? WAN_LABELS - label::barrier : most_slots);
}

template <form How> constexpr algorithm in_steps(const char *name, const char *summary)
{
    return {
        .collective = WAN_ALLTOALL,
        .name = name,
        .summary = summary,
        .source = "Nanri, Inadomi: run-time selection with topology-based models",
        .parameters = uses_nothing,
        .automatic = false,
        .long_messages = true,
        .keeps_order = true,
        .senders = all_senders,
        .serves = serves<How>,
        .cost = cost<How>,
        .build = build<How>,
        .any_counts = true,
        .local_counts = true,
    };
}

} // namespace

extern const algorithm alltoall_simple, alltoall_pair, alltoall_ring, alltoall_pair_light_barrier, alltoall_ring_light_barrier,
    alltoall_pair_one_barrier, alltoall_ring_one_barrier, alltoall_pair_mpi_barrier, alltoall_ring_mpi_barrier;

constinit const algorithm alltoall_simple =
    in_steps<form{peers::all, barriers::none}>("simple", "every rank straight to every other, all at once");
constinit const algorithm alltoall_pair =
    in_steps<form{peers::pair, barriers::none}>("pair", "in each step with one other rank: by exclusive or, or by sums where ranks are no power of two");
constinit const algorithm alltoall_ring =
    in_steps<form{peers::ring, barriers::none}>("ring", "in step k to the rank k further on, from the one k before");
constinit const algorithm alltoall_pair_light_barrier =
    in_steps<form{peers::pair, barriers::light}>("pair_light_barrier", "as pair; a block is sent when its receiver has said that its step has begun");
constinit const algorithm alltoall_ring_light_barrier =
    in_steps<form{peers::ring, barriers::light}>("ring_light_barrier", "as ring; a block is sent when its receiver has said that its step has begun");
constinit const algorithm alltoall_pair_one_barrier =
    in_steps<form{peers::pair, barriers::one}>("pair_one_barrier", "as pair, after a barrier by dissemination");
constinit const algorithm alltoall_ring_one_barrier =
    in_steps<form{peers::ring, barriers::one}>("ring_one_barrier", "as ring, after a barrier by dissemination");
constinit const algorithm alltoall_pair_mpi_barrier =
    in_steps<form{peers::pair, barriers::each}>("pair_mpi_barrier", "as pair, with a barrier by dissemination before each step");
constinit const algorithm alltoall_ring_mpi_barrier =
    in_steps<form{peers::ring, barriers::each}>("ring_mpi_barrier", "as ring, with a barrier by dissemination before each step");

} // namespace wan
