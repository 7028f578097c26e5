/*
 * The thin layer: what the library needs of a network, in the eight primitives
 * of MTTL-MPI (Sakae et al., Table 1).  Everything above knows only this file;
 * another network is another class.  It must not know what a message means.
 *
 *   paper             here        MPI (mpi_port.hpp)
 *   _pmttl_cominit    constructor MPI_Init_thread, MPI_Comm_dup
 *   _pmttl_comfinish  finish      MPI_Cancel, MPI_Wait, MPI_Finalize
 *   _pmttl_prob       probe       MPI_Test, MPI_Testsome: look, do not wait
 *   _pmttl_asend      send        MPI_Isend out of memory that the port owns
 *   _pmttl_nsend      nsend       MPI_Isend
 *   _pmttl_senddone   wait        MPI_Wait, MPI_Waitsome
 *   _pmttl_brecnode   recv_node   MPI_Irecv from a node
 *   _pmttl_brecany    recv_any    MPI_Irecv from any node, posted ahead
 *
 * And two for what is not wanted any more: `cancel` (MPI_Cancel, MPI_Test) of a
 * receive, `discard` (MPI_Mprobe, MPI_Imrecv) of data that nobody waits for.
 *
 * Two things differ from the paper.  A receive from any node is posted before
 * the message comes, so that nothing is probed: a process that has nothing to
 * run waits once per message, inside MPI.  And `send` never waits for the
 * receiver (MPI_Send may), because a process must go on serving.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_PORT_HPP
#define MTTL_PORT_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] mttl {

/** Broken invariants of the library and of its network. */
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** Someone to tell that an nsend or recv_node is done; lives until told. */
struct completion {
    virtual void done() = 0;
    /** Instead of done(), where cancel() has said false and nothing came after all. */
    virtual void withdrawn() { done(); }

protected:
    ~completion() = default;
};

/** Who takes what comes in. */
struct port_sink {
    /** A small message; `data` is valid during the call. */
    virtual void message(int from, const std::byte *data, size_t bytes) = 0;

protected:
    ~port_sink() = default;
};

/** An operator of a reduction, for a network that has reductions of its own. */
struct native_operation {
    using function = void (*)(void *left, void *right_and_result, int *elements, void *unused);
    enum sum_of : uint8_t { none, int32, uint32, int64, uint64, float32, float64 };
    size_t element_bytes = 0;
    sum_of sum = none;              // a sum of this type; none: `apply` says
    function apply = nullptr;
};

/** Collectives of the network's own among the members of one group. */
class native_group {
public:
    virtual ~native_group() = default;
    virtual void barrier(completion *c) = 0;
    /** In place; `c` is told when the values are the result. */
    virtual void allreduce(void *values, size_t n, const native_operation &o, completion *c) = 0;
};

/** Whose collectives Barrier and Reduction are. */
enum class collectives {
    own,                // the library's, out of small messages
    mpi,                // the network's, where the process waits, but for others that are there
    mpi_nonblocking,    // the network's, where only the thread waits
};

/** What a port has done since it was opened; each is a number of calls. */
struct port_counters {
    uint64_t probes = 0;        // probe(): looks and tests that do not wait
    uint64_t waits = 0;
    uint64_t sends = 0;         // messages, small ones
    uint64_t nsends = 0;        // messages, data of their own
    uint64_t send_bytes = 0;    // of both
    uint64_t messages = 0;      // small ones received
    uint64_t recv_nodes = 0;
    uint64_t collectives = 0;   // of the network's own
};

class port {
public:
    virtual ~port() = default;

    virtual int node() const = 0;
    virtual int nodes() const = 0;
    /** Largest message that send() takes, bytes; at most 65535. */
    virtual size_t small_bytes() const = 0;

    /** Ends communication; everything sent must have been received. */
    virtual void finish() = 0;

    /** Memory of small_bytes() for the next send(); not kept beyond it. */
    virtual std::byte *send_buffer() = 0;
    /** Sends the first `bytes` of send_buffer(); never waits.  Ordered per pair of nodes. */
    virtual void send(int to, size_t bytes) = 0;

    /** Sends caller's memory on a channel; `c` is told when it may be reused. */
    virtual void nsend(int to, int channel, const void *data, size_t bytes, completion *c) = 0;
    /** Receives into caller's memory, exactly `bytes`; ordered per node and channel. */
    virtual void recv_node(int from, int channel, void *data, size_t bytes, completion *c) = 0;
    /** Withdraws a recv_node.  True: nothing had come for it, and `c` is not told.  False: `c` has been told, or will be. */
    virtual bool cancel(completion *c) = 0;
    /** Receives the next data on a channel, of any size, and drops it.  It must have been sent: the process may wait here. */
    virtual void discard(int from, int channel, completion *c) = 0;

    /** Posts the receives from any node; messages then go to `sink`. */
    virtual void recv_any(port_sink *sink) = 0;
    /** Takes what has arrived or completed, at least one if there is any; false: nothing. */
    virtual bool probe() = 0;
    /** Takes what arrives or completes, at least one; false: this port cannot wait. */
    virtual bool wait() = 0;

    /** The network's own collectives; made by all members at the same time.  Null: it has none. */
    virtual std::unique_ptr<native_group> native(const std::vector<int> &members, uint32_t id, collectives how)
    {
        (void)members, (void)id, (void)how;
        return nullptr;
    }

    /** Ends the whole job at once. */
    [[noreturn]] virtual void abort(int code) = 0;

    const port_counters &counters() const { return counters_; }

    /** Channels of nsend and recv_node: 0 .. channels - 1. */
    static constexpr int channels = 16384;
    /** Largest nsend, bytes; longer ones are cut by the caller. */
    static constexpr size_t nsend_bytes = size_t(1) << 30;

protected:
    port_counters counters_;
};

} // namespace mttl

#endif
