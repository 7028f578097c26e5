/*
 * One simulated rank of wanalltoall, and the ten ways of the report of exchanging all with all.
 *
 * A block is known by its number, which its sender makes of itself and of whom it is for.  What a rank
 * has in the end in the place of each other rank is looked at: a way that sends a wrong block, to
 * a wrong rank, or puts it in a wrong place is found out.
 *
 * Messages of up to `eager_bytes` leave at once, and their sender goes on; larger ones leave when
 * the receiver waits for them, too (as with a rendezvous, but without its messages).
 *
 * Source of the ways: Nanri, Inadomi, as in ../contention/fat_tree.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_ALLTOALL_RANK_HPP
#define SIM_ALLTOALL_RANK_HPP

#include "alltoall_network.hpp"

#include <array>
#include <memory>
#include <optional>

namespace sim {

/** What all ranks share. */
class alltoall_ranks {
public:
    alltoall_ranks(const alltoall_network &network, uint64_t eager_bytes);

    const alltoall_network &network;
    const int ranks;
    const uint64_t eager_bytes;
    uint64_t block_bytes = 0;
    uint64_t messages = 0;          // so far, with those that only tell

private:
    friend class alltoall_rank;
    enum kind { word, eager, rendezvous, kinds };
    std::array<std::vector<simgrid::s4u::Mailbox *>, kinds> boxes_;
    simgrid::s4u::Mailbox *box(kind k, int from, int to) const
    {
        return boxes_[k][static_cast<size_t>(from) * static_cast<size_t>(ranks) + static_cast<size_t>(to)];
    }
};

class alltoall_rank {
public:
    /** To be made by the actor that it is. */
    alltoall_rank(alltoall_ranks &all, int me);

    /** Exchanges a block with each of the others; false: what came is not what was to come. */
    bool exchange(wan::exchange way);

private:
    using blocks = std::vector<uint64_t>;
    struct arrival {
        simgrid::s4u::CommPtr comm;
        std::unique_ptr<blocks *> at = std::make_unique<blocks *>(nullptr);
    };
    enum class before { nothing, ready, barrier };      // each step's data

    uint64_t number(int from, int to) const
    {
        return static_cast<uint64_t>(from) * static_cast<uint64_t>(all_.ranks) + static_cast<uint64_t>(to);
    }
    int rank_at(int i) const { return (i % all_.ranks + all_.ranks) % all_.ranks; }
    alltoall_ranks::kind kind_of(size_t count) const;
    void spend() const;
    void tell(int to);
    void hear(int from);
    void barrier();
    void send(int to, blocks b);
    arrival expect(int from, size_t count);
    blocks take(arrival a);
    void sent();
    void simple();
    /** Step by step; pairs: both exchange with each other. */
    void steps(bool pairs, before step);
    void bruck();

    alltoall_ranks &all_;
    int me_;
    std::vector<simgrid::s4u::CommPtr> leaving_;
    std::vector<std::optional<uint64_t>> out_;
};

} // namespace sim

#endif
