/*
 * See alltoall_rank.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "alltoall_rank.hpp"

#include <string>

namespace sg4 = simgrid::s4u;

namespace sim {

alltoall_ranks::alltoall_ranks(const alltoall_network &network, uint64_t eager_bytes)
    : network(network), ranks(network.ranks()), eager_bytes(eager_bytes)
{
    for (int k = 0; k < kinds; ++k)
        for (int from = 0; from < ranks; ++from)
            for (int to = 0; to < ranks; ++to)
                boxes_[static_cast<size_t>(k)].push_back(
                    sg4::Mailbox::by_name(std::to_string(k) + ":" + std::to_string(from) + ">" + std::to_string(to)));
}

alltoall_rank::alltoall_rank(alltoall_ranks &all, int me) : all_(all), me_(me)
{
    for (int from = 0; from < all.ranks; ++from)
        for (auto k : {alltoall_ranks::word, alltoall_ranks::eager})
            all.box(k, from, me)->set_receiver(sg4::Actor::self());
}

alltoall_ranks::kind alltoall_rank::kind_of(size_t count) const
{
    return count * all_.block_bytes <= all_.eager_bytes ? alltoall_ranks::eager : alltoall_ranks::rendezvous;
}

/** The time of this process for a message. */
void alltoall_rank::spend() const
{
    sg4::this_actor::sleep_for(all_.network.overhead_us * 1e-6);
}

void alltoall_rank::tell(int to)
{
    static char nothing;
    spend();
    ++all_.messages;
    all_.box(alltoall_ranks::word, me_, to)->put_init(&nothing, 1)->detach();
}

void alltoall_rank::hear(int from)
{
    all_.box(alltoall_ranks::word, from, me_)->get<char>();
    spend();
}

/** By dissemination. */
void alltoall_rank::barrier()
{
    for (int distance = 1; distance < all_.ranks; distance *= 2) {
        tell(rank_at(me_ + distance));
        hear(rank_at(me_ - distance));
    }
}

void alltoall_rank::send(int to, blocks b)
{
    spend();
    ++all_.messages;
    const auto kind = kind_of(b.size());
    const uint64_t bytes = b.size() * all_.block_bytes;
    auto comm = all_.box(kind, me_, to)->put_init(new blocks(std::move(b)), bytes);
    if (kind == alltoall_ranks::eager)
        comm->detach();
    else
        leaving_.push_back(comm->start());
}

alltoall_rank::arrival alltoall_rank::expect(int from, size_t count)
{
    arrival a;
    a.comm = all_.box(kind_of(count), from, me_)->get_async<blocks>(a.at.get());
    return a;
}

alltoall_rank::blocks alltoall_rank::take(arrival a)
{
    a.comm->wait();
    spend();
    const std::unique_ptr<blocks> got(*a.at);
    return std::move(*got);
}

/** Waits for what this rank sent. */
void alltoall_rank::sent()
{
    for (auto &comm : leaving_)
        comm->wait();
    leaving_.clear();
}

/** All at once, in the order of ranks. */
void alltoall_rank::simple()
{
    std::vector<arrival> coming;
    std::vector<sg4::CommPtr> comms;
    std::vector<int> from;
    for (int r = 0; r < all_.ranks; ++r)
        if (r != me_) {
            coming.push_back(expect(r, 1));
            comms.push_back(coming.back().comm);
            from.push_back(r);
        }
    for (int r = 0; r < all_.ranks; ++r)
        if (r != me_)
            send(r, {number(me_, r)});
    while (!comms.empty()) {
        const auto i = sg4::Comm::wait_any(comms);
        const auto n = static_cast<size_t>(i);
        out_[static_cast<size_t>(from[n])] = take(std::move(coming[n])).at(0);
        comms.erase(comms.begin() + i);
        coming.erase(coming.begin() + i);
        from.erase(from.begin() + i);
    }
    sent();
}

void alltoall_rank::steps(bool pairs, before step)
{
    const bool power = (all_.ranks & (all_.ranks - 1)) == 0;
    for (int k = pairs && !power ? 0 : 1; k < all_.ranks; ++k) {
        const int to = !pairs ? rank_at(me_ + k) : power ? me_ ^ k : rank_at(k - me_);
        const int from = pairs ? to : rank_at(me_ - k);
        if (step == before::barrier)
            barrier();
        if (to == me_)      // where no rank is left to pair with
            continue;
        arrival coming = expect(from, 1);
        if (step == before::ready) {
            tell(from);
            hear(to);
        }
        send(to, {number(me_, to)});
        out_[static_cast<size_t>(from)] = take(std::move(coming)).at(0);
        sent();
    }
}

void alltoall_rank::bruck()
{
    const auto ranks = static_cast<size_t>(all_.ranks);
    blocks here(ranks);         // the i-th: for the rank i further on
    for (int i = 0; i < all_.ranks; ++i)
        here[static_cast<size_t>(i)] = number(me_, rank_at(me_ + i));
    for (size_t distance = 1; distance < ranks; distance *= 2) {
        std::vector<size_t> go;
        blocks b;
        for (size_t i = 0; i < ranks; ++i)
            if (i & distance) {
                go.push_back(i);
                b.push_back(here[i]);
            }
        arrival coming = expect(rank_at(me_ - static_cast<int>(distance)), go.size());
        send(rank_at(me_ + static_cast<int>(distance)), std::move(b));
        const blocks got = take(std::move(coming));
        for (size_t i = 0; i < go.size(); ++i)
            here[go[i]] = got.at(i);
        sent();
    }
    for (int i = 1; i < all_.ranks; ++i)        // the i-th has come from the rank i before
        out_[static_cast<size_t>(rank_at(me_ - i))] = here[static_cast<size_t>(i)];
}

bool alltoall_rank::exchange(wan::exchange way)
{
    using enum wan::exchange;
    out_.assign(static_cast<size_t>(all_.ranks), std::nullopt);
    switch (way) {
    case simple: this->simple(); break;
    case pair: steps(true, before::nothing); break;
    case ring: steps(false, before::nothing); break;
    case pair_light_barrier: steps(true, before::ready); break;
    case ring_light_barrier: steps(false, before::ready); break;
    case pair_one_barrier: barrier(); steps(true, before::nothing); break;
    case ring_one_barrier: barrier(); steps(false, before::nothing); break;
    case pair_mpi_barrier: steps(true, before::barrier); break;
    case ring_mpi_barrier: steps(false, before::barrier); break;
    case bruck: this->bruck(); break;
    case exchanges: break;
    }
    for (int from = 0; from < all_.ranks; ++from)
        if (from != me_ && out_[static_cast<size_t>(from)] != number(from, me_))
            return false;
    return true;
}

} // namespace sim
