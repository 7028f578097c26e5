/*
 * Flow control of btl/udp for programs: the operations of Suci (Yabiku and Kono),
 * per peer.  A header alone; needs a job that names btl/udp:
 *
 *     mpirun --mca btl self,udp ./program
 *
 *     #include <openmpi-wan/udp_flow.hpp>
 *
 *     namespace flow = wan::udp_flow;
 *     if (auto bytes = flow::ready(comm, MPI_ANY_SOURCE, 0.001))    // a message is there:
 *         ...                                                       // MPI_Recv will not wait
 *     if (flow::wait(comm, peer, n, 0.001))                         // n bytes would leave at once:
 *         MPI_Isend(...);
 *     if (flow::queue_length(comm, peer) > 16)                      // the peer owes Acks:
 *         flow::retransmission(comm, peer);                         // do not wait for the timeout
 *
 * A peer is a rank of a communicator; of an intercommunicator, of its other side.
 * Threads may call at the same time where MPI allows that.  What cannot be done is a
 * std::runtime_error that says why and what helps.
 *
 * In mode strict a priority orders what leaves here, not permission.
 * Reference: udp_flow.h; the same numbers as MPI_T variables: README.md.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_FLOW_HPP
#define UDP_FLOW_HPP

#include "udp_flow.h"

#include <chrono>
#include <cstddef>
#include <dlfcn.h>
#include <optional>
#include <stdexcept>
#include <string>

namespace wan::udp_flow {

using state = udp_flow_state_t;

namespace detail {

/** nullptr: the component is not loaded. */
inline const udp_flow_table_t *find()
{
    const auto *t = static_cast<const udp_flow_table_t *>(dlsym(RTLD_DEFAULT, "mca_btl_udp_flow"));
    return t && t->version == UDP_FLOW_VERSION ? t : nullptr;
}

[[noreturn]] inline void refuse(int64_t code, int rank)
{
    const std::string who = "btl/udp, rank " + std::to_string(rank) + ": ";
    switch (code) {
    case UDP_FLOW_RANK:
        throw std::runtime_error(who + "there is no such rank in this communicator");
    case UDP_FLOW_UNREACHED:
        throw std::runtime_error(who + "not reached by btl/udp; ask MPI_Comm_rank which rank this process itself is");
    case UDP_FLOW_LEVEL:
        throw std::runtime_error(who + "a priority is from 0 to " + std::to_string(UDP_FLOW_PRIORITY_MAX));
    default:
        throw std::runtime_error("btl/udp takes no part in this job, or MPI is not initialized; start it with: mpirun --mca btl self,udp");
    }
}

inline const udp_flow_table_t &table()
{
    const udp_flow_table_t *t = find();
    if (!t)
        refuse(UDP_FLOW_CLOSED, 0);
    return *t;
}

template <class Code> Code checked(Code code, int rank)
{
    if (code < 0)
        refuse(code, rank);
    return code;
}

/** Asks `holds` now, and then while MPI works, for `seconds` at most. */
template <class Holds> bool within(double seconds, Holds &&holds)
{
    using clock = std::chrono::steady_clock;
    const auto began = clock::now();
    while (!holds()) {
        if (std::chrono::duration<double>(clock::now() - began).count() >= seconds)
            return false;
        table().progress();
    }
    return true;
}

} // namespace detail

/** Whether this process has btl/udp open: everything else here needs that. */
inline bool open()
{
    state s;
    return detail::find() && detail::find()->look(MPI_COMM_WORLD, 0, &s) != UDP_FLOW_CLOSED;
}

/** What is known of the path to a peer, and what was sent and received on it. */
inline state look(MPI_Comm comm, int rank)
{
    state s;
    detail::checked(detail::table().look(comm, rank, &s), rank);
    return s;
}

/** datagram_ready: waits for a message at most so long; its bytes, or nothing.  MPI_ANY_SOURCE, MPI_ANY_TAG are allowed. */
inline std::optional<std::size_t> ready(MPI_Comm comm, int source, double seconds, int tag = MPI_ANY_TAG)
{
    MPI_Status status;
    int there = 0, bytes = 0;
    (void) detail::table();
    if (!detail::within(seconds, [&] { return MPI_Iprobe(source, tag, comm, &there, &status) == MPI_SUCCESS && there; }))
        return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    return static_cast<std::size_t>(bytes);
}

/** datagram_wait: until `bytes` would leave at once instead of queueing, at most so long.  More than the path takes at a time: as many as it takes. */
inline bool wait(MPI_Comm comm, int rank, std::size_t bytes, double seconds)
{
    return detail::within(seconds, [&] { return detail::checked(detail::table().may_write(comm, rank, bytes), rank) == 1; });
}

/** datagram_queue_length: blocks (messages or their fragments) that the peer has not acknowledged. */
inline std::size_t queue_length(MPI_Comm comm, int rank) { return look(comm, rank).queue; }

/** datagram_retransmission: sends again what was not acknowledged within a round trip; how many datagrams that concerns. */
inline std::size_t retransmission(MPI_Comm comm, int rank)
{
    return static_cast<std::size_t>(detail::checked(detail::table().push(comm, rank), rank));
}

/** Bytes that the peer may have under way to us from now on; at most btl_udp_window, at least what three of its largest blocks take. */
inline void window(MPI_Comm comm, int rank, std::size_t bytes) { detail::checked(detail::table().window_set(comm, rank, bytes), rank); }

/** 0, as all have, to 7: its datagrams leave before those of lower ones, and it is permitted to send to us before them. */
inline void priority(MPI_Comm comm, int rank, unsigned level) { detail::checked(detail::table().priority_set(comm, rank, level), rank); }

} // namespace wan::udp_flow

#endif
